"""The analysis of ``fast-startup``: speed-up by size, loss, and the effect on unchanged stacks.

A speed-up pools the epochs of all runs: the mean time of the baseline divided by that of the
scheme. Its interval resamples the seeds, which both sides share.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import plots
from slowstart.figures import colors
from slowstart.studies.estimates import Estimate, quotient
from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Values = NDArray[np.float64]

BOTTLENECK = "forward"
BASELINE = "standard"
# The schemes of the document, then what came later.
SCHEMES = (
    "standard", "IW10", "Jump-Start", "Quick-Start", "RCP", "XCP", "paced IW10", "Rapid Start",
    "Linux 6.x",
)  # fmt: skip
_COLORS = dict(
    zip(
        SCHEMES,
        (
            colors.BLACK, colors.VERMILLION, colors.BLUE, colors.GREEN, colors.ORANGE,
            colors.SKY_BLUE, colors.WINE, colors.PURPLE, colors.GREY,
        ),
        strict=True,
    )
)  # fmt: skip
_RESAMPLES = 2000
_SEED = 20_110_325
_KILO = 1e3
_FEWEST = 30
"""Epochs of a class in a run's pool, below which a figure leaves the class out."""


# --- sums by seed --------------------------------------------------------------------------------


def _sums(rows: pl.DataFrame, parameters: Mapping[str, Any]) -> pl.DataFrame:
    """For each seed the number of epochs between two sizes, and the sum of their transfer times.

    Without sizes, of all epochs. Sizes must be ends of classes.
    """
    low, high = parameters.get("from"), parameters.get("to")
    if low is None and high is None:
        rows = rows.filter(pl.col("to_bytes").is_null())
    else:
        rows = rows.filter(pl.col("to_bytes").is_not_null())
        if low is not None:
            rows = rows.filter(pl.col("from_bytes") >= low)
        if high is not None:
            rows = rows.filter(pl.col("to_bytes") <= high)
    if "traffic" in parameters:
        rows = rows.filter(pl.col("traffic") == parameters["traffic"])
    count = pl.col("count").cast(pl.Float64)
    return rows.group_by("seed").agg(
        count.sum().alias("epochs"), (count * pl.col("transfer_mean_s")).sum().alias("time_s")
    )


def _pairs(one: pl.DataFrame, other: pl.DataFrame) -> tuple[Values, Values]:
    """The numbers of both sides for the seeds that both have: a row for each seed."""
    both = one.join(other, on="seed", how="inner", suffix="_other").sort("seed")
    names = [name for name in one.columns if name != "seed"]
    left = both.select(names).to_numpy().astype(np.float64)
    right = both.select([f"{name}_other" for name in names]).to_numpy().astype(np.float64)
    return left, right


def _estimate(
    one: Values, other: Values, function: Callable[[Values, Values], Values]
) -> Estimate | None:
    """A function of the sums over the seeds, with a percentile bootstrap over the seeds.

    The function takes a sum of each resample, one in each row.
    """
    seeds = len(one)
    if not seeds:
        return None
    value = float(function(one.sum(axis=0), other.sum(axis=0)))
    if not np.isfinite(value):
        return None
    low = high = confidence = None
    if seeds > 1:
        drawn = np.random.default_rng(_SEED).integers(0, seeds, size=(_RESAMPLES, seeds))
        found = function(one[drawn].sum(axis=1), other[drawn].sum(axis=1))
        low, high = map(float, np.nanquantile(found, [0.025, 0.975]))
        confidence = 0.95
    return Estimate(value, low, high, confidence, seeds, seeds)


def _ratio_of_means(other: Values, one: Values) -> Values:
    """Mean time of the baseline (``other``) divided by that of the scheme."""
    return quotient(quotient(other[..., 1], other[..., 0]), quotient(one[..., 1], one[..., 0]))


def _gain(other: Values, one: Values) -> Values:
    gain: Values = quotient(other[..., 1], other[..., 0]) - quotient(one[..., 1], one[..., 0])
    return gain


def _sides(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any], table: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the claim's runs, and of the runs that it compares them with."""
    rows = findings.table(parameters["experiment"], stack, table)
    against = parameters["against"]
    return filtered(rows, parameters["select"]), filtered(rows, against or parameters["select"])


# --- numbers for claims --------------------------------------------------------------------------


def speed_up(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The mean transfer time in ``against``, divided by that in ``select``.

    ``from`` and ``to`` limit the sizes of the responses, and ``traffic`` names a table.
    """
    one, other = _sides(findings, stack, parameters, "responses")
    if one.is_empty() or other.is_empty():
        return None
    return _estimate(*_pairs(_sums(other, parameters), _sums(one, parameters)), _ratio_of_means)


def _by_class(
    findings: Findings,
    stack: Stack,
    parameters: Mapping[str, Any],
    function: Callable[[Values, Values], Values],
) -> list[tuple[float, float, Estimate]]:
    """A number for each class of sizes from ``from`` to ``to`` that has enough epochs."""
    one, other = _sides(findings, stack, parameters, "responses")
    if one.is_empty() or other.is_empty():
        return []
    found = []
    classes = one.drop_nulls("to_bytes").select("from_bytes", "to_bytes").unique()
    for low, high in classes.sort("from_bytes").iter_rows():
        if low < parameters.get("from", 0) or high > parameters.get("to", high):
            continue
        sizes = {**parameters, "from": low, "to": high}
        left, right = _pairs(_sums(other, sizes), _sums(one, sizes))
        if not len(left) or left.sum(axis=0)[0] < _FEWEST:
            continue
        estimate = _estimate(left, right, function)
        if estimate is not None:
            found.append((float(low), float(high), estimate))
    return found


def peak_size(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The geometric middle of the class of sizes with the largest speed-up."""
    classes = _by_class(findings, stack, parameters, _ratio_of_means)
    if not classes:
        return None
    low, high, best = max(classes, key=lambda each: each[2].value)
    return Estimate(float(np.sqrt(max(low, 50.0) * high)), None, None, None, best.runs, best.rows)


def largest_gain(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """The largest mean gain in seconds of a class of sizes."""
    classes = _by_class(findings, stack, parameters, _gain)
    return max((each for _, _, each in classes), key=lambda each: each.value, default=None)


def _packets(rows: pl.DataFrame) -> pl.DataFrame:
    """For each seed the packets offered to the bottleneck, and those dropped."""
    rows = rows.filter(pl.col("link") == BOTTLENECK)
    offered = (pl.col("packets") + pl.col("drops")).cast(pl.Float64)
    return rows.group_by("seed").agg(
        offered.sum().alias("offered"), pl.col("drops").cast(pl.Float64).sum().alias("drops")
    )


def _percent(packets: Values) -> Values:
    return quotient(100 * packets[..., 1], packets[..., 0])


def loss(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The loss probability at the bottleneck, in percent."""
    rows, _ = _sides(findings, stack, parameters, "links")
    if rows.is_empty():
        return None
    packets = _packets(rows)
    return _estimate(*_pairs(packets, packets), lambda one, _: _percent(one))


def loss_increase(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """The loss probability in ``select`` minus that in ``against``, in percentage points."""
    one, other = _sides(findings, stack, parameters, "links")
    if one.is_empty() or other.is_empty():
        return None
    pairs = _pairs(_packets(one), _packets(other))
    return _estimate(*pairs, lambda a, b: _percent(a) - _percent(b))


def loss_ratio(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The loss probability in ``select`` divided by that in ``against``."""
    one, other = _sides(findings, stack, parameters, "links")
    if one.is_empty() or other.is_empty():
        return None

    def ratio(a: Values, b: Values) -> Values:
        return quotient(_percent(a), _percent(b))

    return _estimate(*_pairs(_packets(one), _packets(other)), ratio)


def effect(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The mean transfer time of one ``half`` in ``select``, divided by that in ``against``."""
    swapped = {**parameters, "traffic": parameters["half"]}
    one, other = _sides(findings, stack, swapped, "responses")
    if one.is_empty() or other.is_empty():
        return None
    return _estimate(*_pairs(_sums(one, swapped), _sums(other, swapped)), _ratio_of_means)


# --- the answer ----------------------------------------------------------------------------------


def answer(findings: Findings, stack: Stack) -> list[str]:
    """Whether a fast start-up pays, for whom, and at what price for the others."""
    found = [_pays(findings, stack), _price(findings, stack), _rapid(findings, stack)]
    return [each for each in found if each]


def _said(scheme: str, low: int | None = None, high: int | None = None) -> dict[str, Any]:
    """What a claim about responses between two sizes at 35 % load says."""
    load = "35 %"
    return {
        "experiment": "loads",
        "select": {"scheme": scheme, "load": load},
        "against": {"scheme": BASELINE, "load": load},
        "from": low,
        "to": high,
    }


def _pays(findings: Findings, stack: Stack) -> str | None:
    parts = []
    for scheme in ("IW10", "Jump-Start", "Quick-Start", "RCP"):
        whole = speed_up(findings, stack, _said(scheme))
        middle = speed_up(findings, stack, _said(scheme, 10_000, 200_000))
        small = speed_up(findings, stack, _said(scheme, high=10_000))
        if whole is None or middle is None or small is None:
            continue
        parts.append(
            f"{scheme} {whole.value:.2f} (below 10 kB {small.value:.2f}, "
            f"10 to 200 kB {middle.value:.2f})"
        )
    if not parts:
        return None
    return (
        "Does it pay, and for whom? Mean response time of standard slow start divided by that of "
        f"the scheme, at 35 % load: {'; '.join(parts)}."
    )


def _price(findings: Findings, stack: Stack) -> str | None:
    parts = []
    for scheme in ("IW10", "Jump-Start", "Quick-Start", "RCP"):
        more = loss_increase(findings, stack, _said(scheme))
        said = {
            "experiment": "mixed",
            "select": {"other": scheme},
            "against": {"other": BASELINE},
            "half": "unchanged",
        }
        others = effect(findings, stack, said)
        if more is None or others is None:
            continue
        percent = 100 * (others.value - 1)
        parts.append(
            f"{scheme} changes the loss probability by {more.value:+.2f} percentage points if all "
            f"use it; if half do, the mean time of the others changes by {percent:+.1f} %"
        )
    return f"At what price for the others? {'; '.join(parts)}." if parts else None


def _rapid(findings: Findings, stack: Stack) -> str | None:
    runs = findings.table("rapid", stack, "runs")
    if runs.is_empty():
        return None
    cells = runs.filter(pl.col("other") == BASELINE).select("rtt", "buffer", "load").unique()
    found: dict[str, list[tuple[float, str]]] = {"unchanged": [], "changed": []}
    losses: list[tuple[float, str]] = []
    for cell in cells.sort("rtt", "buffer", "load").iter_rows(named=True):
        for half, values in found.items():
            said = {
                "experiment": "rapid",
                "select": {**cell, "other": "Rapid Start"},
                "against": {**cell, "other": BASELINE},
                "half": half,
            }
            estimate = effect(findings, stack, said)
            if estimate is not None:
                values.append((100 * (estimate.value - 1), _where(cell)))
        said = {
            "experiment": "rapid",
            "select": {**cell, "other": "Rapid Start"},
            "against": {**cell, "other": BASELINE},
        }
        more = loss_increase(findings, stack, said)
        if more is not None:
            losses.append((more.value, _where(cell)))
    if not found["unchanged"] or not losses:
        return None
    least, most = min(found["unchanged"]), max(found["unchanged"])
    best, worst = min(found["changed"]), max(found["changed"])
    return (
        "Slow start and Rapid Start at one bottleneck: beside Rapid Start, the mean time of "
        f"stacks with slow start changes by {least[0]:+.1f} % ({least[1]}) to {most[0]:+.1f} % "
        f"({most[1]}), and that of its users by {best[0]:+.1f} % ({best[1]}) to "
        f"{worst[0]:+.1f} % ({worst[1]}); the loss probability changes by "
        f"{min(losses)[0]:+.2f} ({min(losses)[1]}) to {max(losses)[0]:+.2f} percentage points "
        f"({max(losses)[1]})."
    )


def _where(cell: Mapping[str, Any]) -> str:
    return f"{cell['load']} load, {cell['buffer']}, {cell['rtt']}"


# --- figures -------------------------------------------------------------------------------------


def _present(findings: Findings, stack: Stack, experiment: str, axis: str) -> list[str]:
    """The schemes that were run, in the order of :data:`SCHEMES`."""
    rows = findings.table(experiment, stack, "runs")
    there = set() if rows.is_empty() else set(rows[axis].to_list())
    return [each for each in SCHEMES if each in there]


def _error(estimate: Estimate) -> tuple[float, float]:
    if estimate.low is None or estimate.high is None:
        return 0.0, 0.0
    return max(0.0, estimate.value - estimate.low), max(0.0, estimate.high - estimate.value)


def _runs(findings: Findings, stack: Stack, experiment: str) -> str:
    seeds = findings.table(experiment, stack, "runs")["seed"].n_unique()
    return plots.plural(seeds, "seed")


def speed_up_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Speed-up and mean gain by size of the response."""
    schemes = [
        each for each in _present(findings, stack, drawing.experiment, "scheme") if each != BASELINE
    ]
    if not schemes:
        return None
    panels = (
        (_ratio_of_means, "speed-up: mean time of\nstandard slow start / of the scheme", 1.0),
        (_gain, "mean gain (s)", 0.0),
    )
    with plots.styled():
        figure = plots.new_figure(11.0, 4.8)
        for axes, (function, label, level) in zip(figure.subplots(1, 2), panels, strict=True):
            for place, scheme in enumerate(schemes):
                said = {
                    "experiment": drawing.experiment,
                    "select": {**drawing.select, "scheme": scheme},
                    "against": {**drawing.select, "scheme": BASELINE},
                }
                classes = _by_class(findings, stack, said, function)
                apart = 1.015 ** (place - (len(schemes) - 1) / 2)
                sizes = [apart * np.sqrt(max(a, 50.0) * b) / _KILO for a, b, _ in classes]
                values = [each.value for _, _, each in classes]
                errors = np.array([_error(each) for _, _, each in classes]).T.reshape(2, -1)
                axes.errorbar(
                    sizes, values, errors, color=_COLORS[scheme], marker="o", markersize=3.5,
                    linewidth=1.3, elinewidth=0.8, label=scheme,
                )  # fmt: skip
            axes.axhline(level, color="#777777", linewidth=0.8)
            axes.axvline(10, color="#777777", linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            plots.plain_log(axes.xaxis)
            axes.set_xlabel("size of the response (kB)")
            axes.set_ylabel(label)
        plots.legend(figure, figure.axes[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}, intervals by bootstrap of the seeds")


def _number(label: object) -> float:
    return float(str(label).split()[0])


def _against(
    findings: Findings,
    drawing: Drawing,
    stack: Stack,
    axis: str,
    label: str,
    marks: Sequence[float],
) -> Figure | None:
    """Loss probability, its increase, and the mean transfer time against a numeric axis."""
    schemes = _present(findings, stack, drawing.experiment, "scheme")
    if not schemes:
        return None
    there = findings.table(drawing.experiment, stack, "runs")[axis].unique().to_list()
    labels = sorted(there, key=_number)
    panels: tuple[tuple[str, Callable[..., Estimate | None], bool], ...] = (
        ("loss probability (%)", loss, False),
        ("increase over standard\n(percentage points)", loss_increase, True),
        ("mean time of standard slow start\n/ of the scheme", speed_up, True),
    )
    with plots.styled():
        figure = plots.new_figure(13.0, 4.6)
        for axes, (words, function, compared) in zip(figure.subplots(1, 3), panels, strict=True):
            for scheme in schemes:
                if compared and scheme == BASELINE:
                    continue
                found = []
                for each in labels:
                    select = {**drawing.select, "scheme": scheme, axis: each}
                    said = {
                        "experiment": drawing.experiment,
                        "select": select,
                        "against": {**select, "scheme": BASELINE} if compared else None,
                    }
                    estimate = function(findings, stack, said)
                    if estimate is not None:
                        found.append((_number(each), estimate))
                axes.errorbar(
                    [x for x, _ in found],
                    [each.value for _, each in found],
                    np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                    color=_COLORS[scheme], marker="o", markersize=3.5, linewidth=1.3,
                    elinewidth=0.8, label=scheme,
                )  # fmt: skip
            for mark in marks:
                axes.axvline(mark, color="#777777", linewidth=0.8, linestyle=":")
            axes.set_xlabel(label)
            axes.set_ylabel(words)
            if axis == "buffer":
                axes.set_xscale("log")
                plots.plain_log(axes.xaxis)
        plots.legend(figure, figure.axes[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")


def load_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Loss probability and mean time against load; the document stopped at 40 %."""
    label = "offered load of the downlink (%)"
    return _against(findings, drawing, stack, "load", label, (40.0,))


def buffer_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Loss probability and mean time against the buffer; the document names 50 and 100 packets."""
    return _against(findings, drawing, stack, "buffer", "buffer (packets)", (50.0, 100.0))


def fairness_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Mean transfer time of both halves, relative to the same half beside unchanged stacks."""
    others = _present(findings, stack, drawing.experiment, "other")
    others = [each for each in others if each != BASELINE]
    if not others:
        return None
    sizes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("all responses", {}),
        ("below 10 kB", {"to": 10_000}),
        ("10 to 200 kB", {"from": 10_000, "to": 200_000}),
        ("above 200 kB", {"from": 200_000}),
    )
    halves = (("unchanged", "unchanged half (L)", ""), ("changed", "changed half (G)", "//"))
    with plots.styled():
        figure = plots.new_figure(13.0, 4.6)
        row = figure.subplots(1, len(sizes), sharey=True)
        for axes, (title, limits) in zip(row, sizes, strict=True):
            axes.set_title(title, fontweight="bold")
            for shift, (half, words, hatch) in zip((-0.2, 0.2), halves, strict=True):
                for place, other in enumerate(others):
                    said = {
                        "experiment": drawing.experiment,
                        "select": {"other": other},
                        "against": {"other": BASELINE},
                        "half": half,
                        **limits,
                    }
                    found = effect(findings, stack, said)
                    if found is None:
                        continue
                    axes.bar(
                        place + shift, found.value, 0.38, color=_COLORS[other], hatch=hatch,
                        edgecolor="white", linewidth=0,
                        yerr=np.array([_error(found)]).T,
                        error_kw={"elinewidth": 1, "path_effects": plots.OUTLINE},
                        label=words if place == 0 else None,
                    )  # fmt: skip
            axes.axhline(1.0, color="#777777", linewidth=0.8)
            axes.set_xticks(range(len(others)), others, rotation=60, ha="right")
            axes.grid(visible=False, axis="x")
        row[0].set_ylabel("mean time, relative to the same half\nbeside unchanged stacks")
        plots.legend(figure, row[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")


def queue_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """The distribution over time of the bottleneck's queue."""
    rows = filtered(findings.table(drawing.experiment, stack, "queues"), drawing.select)
    schemes = _present(findings, stack, drawing.experiment, "scheme")
    if rows.is_empty():
        return None
    rows = rows.filter(pl.col("link") == BOTTLENECK)
    rows = rows.group_by("scheme", "percent").agg(pl.col("queue_packets").mean())
    with plots.styled():
        figure = plots.new_figure(7.0, 4.6)
        axes = figure.subplots()
        for scheme in schemes:
            here = rows.filter(pl.col("scheme") == scheme).sort("percent")
            axes.plot(
                plots.numbers(here, "queue_packets"), plots.numbers(here, "percent"),
                color=_COLORS[scheme], linewidth=1.3, label=scheme,
            )  # fmt: skip
        axes.set_xlabel("queue (packets)")
        axes.set_ylabel("time with at most this queue (%)")
        axes.set_ylim(40, 101)
        plots.legend(figure, axes.get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")


def recovery_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Speed-up and loss probability of each kind of recovery."""
    rows = findings.table(drawing.experiment, stack, "runs")
    if rows.is_empty():
        return None
    names = rows["recovery"].unique(maintain_order=True).to_list()
    panels: tuple[tuple[str, Callable[..., Estimate | None], dict[str, Any]], ...] = (
        ("speed-up, all responses", speed_up, {}),
        ("speed-up, 10 to 200 kB", speed_up, {"from": 10_000, "to": 200_000}),
        ("loss probability (%)", loss, {}),
    )
    with plots.styled():
        figure = plots.new_figure(13.0, 1.2 + 0.34 * len(names))
        row = figure.subplots(1, len(panels), sharey=True)
        for axes, (words, function, limits) in zip(row, panels, strict=True):
            for place, name in enumerate(names):
                said = {
                    "experiment": drawing.experiment,
                    "select": {"recovery": name},
                    "against": {"recovery": BASELINE},
                    **limits,
                }
                found = function(findings, stack, said)
                if found is None:
                    continue
                color = _COLORS.get(name.partition(",")[0], colors.BLACK)
                axes.errorbar(
                    found.value, place, xerr=np.array([_error(found)]).T, color=color, marker="o",
                    markersize=4.5, linestyle="none",
                )  # fmt: skip
            axes.set_xlabel(words)
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")


def rapid_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """L and G against the load: a row for each pair of round-trip times, a column per buffer."""
    runs = findings.table(drawing.experiment, stack, "runs")
    if runs.is_empty():
        return None
    ratios, others = (runs[axis].unique(maintain_order=True).to_list() for axis in ("rtt", "other"))
    buffers, loads = (
        sorted(runs[axis].unique().to_list(), key=_number) for axis in ("buffer", "load")
    )
    others = [each for each in others if each != BASELINE]
    looks = {"unchanged": ("o-", "unchanged half (L)"), "changed": ("s--", "changed half (G)")}
    shades = {"Rapid Start": _COLORS["Rapid Start"], "HyStart": colors.BLUE}
    with plots.styled():
        figure = plots.new_figure(3.6 * len(buffers) + 1.0, 2.4 * len(ratios) + 1.4)
        grid = figure.subplots(len(ratios), len(buffers), squeeze=False, sharex=True, sharey=True)
        for row, ratio in zip(grid, ratios, strict=True):
            for axes, buffer in zip(row, buffers, strict=True):
                axes.set_title(f"{buffer}; {ratio}", fontsize=8.5)
                for other in others:
                    for half, (look, words) in looks.items():
                        found = []
                        for load in loads:
                            cell = {"rtt": ratio, "buffer": buffer, "load": load}
                            said = {
                                "experiment": drawing.experiment,
                                "select": {**cell, "other": other},
                                "against": {**cell, "other": BASELINE},
                                "half": half,
                            }
                            estimate = effect(findings, stack, said)
                            if estimate is not None:
                                found.append((_number(load), estimate))
                        axes.errorbar(
                            [x for x, _ in found],
                            [each.value for _, each in found],
                            np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                            fmt=look, color=shades.get(other, colors.GREY), markersize=3.5,
                            linewidth=1.2, elinewidth=0.8, label=f"{other}: {words}",
                        )  # fmt: skip
                axes.axhline(1.0, color="#777777", linewidth=0.8)
        for axes in grid[-1]:
            axes.set_xlabel("offered load (%)")
        for row in grid:
            row[0].set_ylabel("relative mean time")
        plots.legend(figure, grid[0][0].get_legend_handles_labels()[0])
        return plots.finish(
            figure, f"{drawing.title}: {_runs(findings, stack, drawing.experiment)}"
        )


# --- an idle dumbbell ----------------------------------------------------------------------------

_PACKET_MS = 1.2
"""A packet of 1500 bytes at 10 Mbit/s."""
_PAYLOAD = 1448
_INITIAL_WINDOWS = {"standard": 3, "IW10": 10, "Jump-Start": 3}
_JUMP = 44
"""Segments of Jump-Start's first flight at most: 64 kB."""


def ideal_ms(scheme: str, packets: int, rtt_ms: float, early: float = 0.0) -> float:
    """The duration of an epoch alone on the path, without losses, by hand.

    The request takes half a round trip. The server sends its window at once. Jump-Start spreads it
    over a round trip; ``early`` is the part of an interval by which the second packet and all after
    it leave early, one half where pacing follows Linux. A packet leaves the bottleneck 1.2 ms after
    it came, or after the one before it, and its ACK comes back a round trip later. Each ACK lets
    two packets go.
    """
    window = _INITIAL_WINDOWS[scheme]
    spacing = 0.0
    if scheme == "Jump-Start":
        window = min(packets, _JUMP)
        spacing = rtt_ms / window
    sent = [max(0.0, place - early) * spacing for place in range(min(packets, window))]
    left: list[float] = []
    for place in range(packets):
        before = left[-1] if left else 0.0
        left.append(max(before, sent[place]) + _PACKET_MS)
        sent += [left[-1] + rtt_ms] * min(2, packets - len(sent))
    return rtt_ms / 2 + left[-1] + rtt_ms / 2


def _idle(findings: Findings, stack: Stack) -> pl.DataFrame:
    """The simulated epochs on the idle path, with the times worked out by hand."""
    rows = findings.table("idle", stack, "responses")
    if rows.is_empty():
        return rows
    rows = rows.filter(pl.col("to_bytes").is_null())
    packets = pl.col("size").str.extract(r"(\d+)").cast(pl.Int64) // _PAYLOAD
    rows = rows.select(
        "scheme",
        packets.alias("packets"),
        pl.col("rtt").str.extract(r"(\d+)").cast(pl.Float64).alias("rtt_ms"),
        (1000 * pl.col("duration_mean_s")).alias("simulated_ms"),
    )
    ideal = [
        ideal_ms(scheme, count, rtt, early=0.5)
        for scheme, count, rtt in rows.select("scheme", "packets", "rtt_ms").iter_rows()
    ]
    return rows.with_columns(pl.Series("ideal_ms", ideal))


def idle_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Simulated response times on an idle path, beside those worked out by hand."""
    rows = _idle(findings, stack)
    if rows.is_empty():
        return None
    worst = float(np.abs((rows["simulated_ms"] - rows["ideal_ms"]).to_numpy()).max())
    with plots.styled():
        figure = plots.new_figure(7.0, 4.6)
        axes = figure.subplots()
        for scheme in _INITIAL_WINDOWS:
            here = rows.filter((pl.col("scheme") == scheme) & (pl.col("rtt_ms") == 100.0))
            here = here.sort("packets")
            size = plots.numbers(here, "packets") * _PAYLOAD / _KILO
            look: Any = {"color": _COLORS[scheme]}
            axes.plot(size, plots.numbers(here, "ideal_ms"), linewidth=1.0, **look)
            axes.plot(size, plots.numbers(here, "simulated_ms"), "o", label=scheme, **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        plots.plain_log(axes.xaxis)
        plots.plain_log(axes.yaxis)
        axes.set_xlabel("size of the response (kB)")
        axes.set_ylabel("response time (ms)")
        plots.legend(figure, axes.get_legend_handles_labels()[0])
        return plots.finish(figure, f"{drawing.title}: largest difference {worst:.2f} ms")


# --- implementation effort -----------------------------------------------------------------------


def effort_table(findings: Findings, _: Drawing) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """What router support takes to implement: counts of slowstart's own source."""
    file = findings.study.folder / "effort.csv"
    with file.open(encoding="utf-8", newline="") as text:
        head, *rows = csv.reader(text)
    return (
        ["counted in slowstart's source", *head[2:]],
        [[(what, counted), *((each, "") for each in counts)] for what, counted, *counts in rows],
    )
