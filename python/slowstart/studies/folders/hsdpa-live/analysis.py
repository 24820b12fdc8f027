"""The analysis of ``hsdpa-live``: a figure of all its ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from slowstart import plots
from slowstart.figures import colors
from slowstart.studies.estimates import Estimate, ratio_of_means
from slowstart.studies.figures import count_of
from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.studies.claims import Claim
    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

# The experiments in which ratios are measured: label, colour and marker.
_PLACES = {
    "live": ("model", colors.BLACK, "o"),
    "drive": ("T-Mobile's trace", colors.BLUE, "s"),
    "norway": ("Norwegian traces", colors.GREEN, "D"),
    "today": ("model, senders of Linux 6.x", colors.ORANGE, "v"),
}
_WORDS = {
    "goodput_bps": "goodput",
    "rtt_mean_ms": "mean RTT",
    "100.0 * segments_retransmitted / segments_sent": "retransmitted",
    "timeouts": "timeouts",
    "segments_sent": "packets sent",
}
_DIRECTIONS = ("downlink", "uplink")
_BAND = "#dfe9df"


def ratios_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Each ratio that a claim about the model names, in every experiment that has it."""
    claims = [
        each
        for each in findings.study.claims
        if each.experiment == drawing.experiment and each.relation == "ratio of means"
    ]
    tables = {name: findings.table(name, stack) for name in _PLACES}
    there = {name: rows for name, rows in tables.items() if not rows.is_empty()}
    if drawing.experiment not in there:
        return None
    groups = [
        [each for each in claims if each.select["direction"] == direction]
        for direction in _DIRECTIONS
    ]
    with plots.styled():
        figure = plots.new_figure(13.0, 1.6 + 0.36 * max(map(len, groups)))
        for axes, direction, group in zip(
            figure.subplots(1, 2, squeeze=False)[0], _DIRECTIONS, groups, strict=True
        ):
            axes.set_title(direction, fontweight="bold")
            for row, claim in enumerate(group):
                _draw(axes, row, claim, findings, there)
            axes.axvline(1.0, color="#888888", linewidth=0.8, zorder=1)
            axes.set_yticks(range(len(group)), [_words(each) for each in group])
            axes.set_ylim(len(group) - 0.4, -0.6)
            axes.set_xscale("log")
            axes.set_xlim(0.4, 10.0)
            axes.set_xticks([0.5, 1, 2, 4, 8])
            axes.xaxis.set_major_formatter(plots.PLAIN)
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_xlabel("ratio of means")
            axes.grid(visible=False, axis="y")
        handles: list[Artist] = []
        for name, (words, color, marker) in _PLACES.items():
            if name in there:
                shared = {"direction", "variant"} & set(findings.study.experiments[name].axes)
                label = f"{words}, {count_of(there[name], shared)}"
                look: Any = {"color": color, "marker": marker, "linestyle": "none"}
                handles.append(Line2D([], [], label=label, **look))
        handles.append(Patch(color=_BAND, label="agrees"))
        plots.legend(figure, handles)
        return plots.finish(figure, drawing.title)


def least_ratio(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The smallest ratio of means, CUBIC over NewReno, along an ``axis`` of an ``experiment``."""
    rows = findings.table(parameters["experiment"], stack)
    if rows.is_empty():
        return None
    rows = rows.with_columns(value=pl.sql_expr(parameters["metric"]))
    found = []
    for _, part in rows.group_by(parameters["axis"], maintain_order=True):
        one, other = (filtered(part, {"variant": each}) for each in ("CUBIC", "NewReno"))
        found.append(ratio_of_means(one, other))
    return min((each for each in found if each), key=lambda each: each.value, default=None)


def _words(claim: Claim) -> str:
    other = (claim.against or {})["variant"]
    return f"{_WORDS.get(claim.metric, claim.metric)}: {claim.select['variant']} / {other}"


def _draw(
    axes: Axes, row: int, claim: Claim, findings: Findings, there: Mapping[str, pl.DataFrame]
) -> None:
    if claim.expected is not None:
        low = 0.01 if claim.expected.low is None else claim.expected.low
        high = 100.0 if claim.expected.high is None else claim.expected.high
        axes.fill_betweenx([row - 0.42, row + 0.42], low, high, color=_BAND, linewidth=0)
    for place, (name, rows) in enumerate(there.items()):
        _, color, marker = _PLACES[name]
        found = _ratio(claim, findings, name, rows)
        if found is None:
            continue
        y = row + (place - (len(there) - 1) / 2) * 0.19
        axes.plot(found.value, y, color=color, marker=marker, markersize=4.5, zorder=6)
        if found.low is not None and found.high is not None:
            axes.hlines(y, found.low, found.high, color=color, linewidth=1.2, zorder=5)


def _ratio(
    claim: Claim, findings: Findings, experiment: str, rows: pl.DataFrame
) -> Estimate | None:
    """The claim's ratio in another experiment, for the claim's direction."""
    axes = findings.study.experiments[experiment].axes
    direction = claim.select["direction"]
    if "direction" in axes:
        rows = rows.filter(pl.col("direction") == direction)
    elif direction != "downlink":
        return None
    rows = rows.with_columns(value=pl.sql_expr(claim.metric))
    one, other = (
        filtered(rows, {"variant": labels["variant"]})
        for labels in (claim.select, claim.against or {})
    )
    open_axes = [axis for axis in axes if axis not in ("direction", "variant")]
    return ratio_of_means(one, other, open_axes)


def answer(findings: Findings, stack: Stack) -> list[str]:
    """What the page claims, beside what these runs say."""
    rows = findings.table("live", stack)
    sentences = []
    for direction, claimed in (("downlink", "1, higher, 2 and 3"), ("uplink", "1 throughout")):
        parts = []
        mine = rows if rows.is_empty() else rows.filter(pl.col("direction") == direction)
        base = mine if mine.is_empty() else mine.filter(pl.col("variant") == "NewReno")
        for variant in ("BIC", "CUBIC") if not mine.is_empty() else ():
            other = mine.filter(pl.col("variant") == variant)
            ratios = []
            for name in ("goodput_bps", "rtt_mean_ms", "segments_retransmitted", "timeouts"):
                above, below = (float(each[name].sum()) for each in (other, base))
                ratios.append(above / below if below else float("nan"))
            parts.append(f"{variant} {', '.join(f'{each:.2f}' for each in ratios)}")
        if parts:
            sentences.append(
                f"On the {direction}, goodput, RTT, retransmissions and timeouts over those of "
                f"NewReno: {'; '.join(parts)} (published: {claimed})."
            )
    return [*sentences, findings.counted_on(stack)]
