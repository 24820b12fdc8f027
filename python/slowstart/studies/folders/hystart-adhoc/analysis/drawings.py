"""The figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import plots
from slowstart.figures import colors
from slowstart.studies.estimates import Estimate, estimate
from slowstart.studies.measures import filtered

from .calibration import over_settings, settings
from .numbers import PUBLISHED, WITHIN, chance, change
from .runs import BASELINE, PORT, SCHEMES, flows, networks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

DOCUMENT = {"throughput": -0.08906, "delay": -1.4576, "delivery": 6.545, "drops": -20.434}
"""The column %Difference of the document's table."""
_COLORS = {
    BASELINE: colors.BLACK,
    PORT: colors.VERMILLION,
    "paper": colors.GREEN,
    "Linux 6.14": colors.BLUE,
    "Linux 5.16": colors.SKY_BLUE,
    "ns-2 port, 2 ms": colors.ORANGE,
    "ns-2 excerpt": colors.PURPLE,
}
_MARKERS = dict(zip(_COLORS, "osD^vPX", strict=True))
_WORDS = {
    "throughput": "throughput (kbit/s)",
    "delay": "mean delay (s)",
    "delivery": "delivery ratio",
    "drops": "drop ratio",
    "energy": "energy (J/s)",
}
_FACTOR = {"throughput": 1e-3}
_AXES = {
    "nodes": "number of nodes",
    "count": "number of flows",
    "every": "packets per second and flow",
    "multiplier": "multiplier of the power",
    "speed": "speed (m/s)",
}
_GREY = "#777777"


def _present(rows: pl.DataFrame) -> list[str]:
    there = set(rows["scheme"].to_list())
    return [each for each in _COLORS if each in there]


def _error(found: Estimate) -> tuple[float, float]:
    if found.low is None or found.high is None:
        return 0.0, 0.0
    return max(0.0, found.value - found.low), max(0.0, found.high - found.value)


def _number(label: object) -> float:
    """A label of an axis as a number; a time between packets as packets per second."""
    value, _, unit = str(label).partition(" ")
    return 1000 / float(value) if unit == "ms" else float(value)


def _runs(rows: pl.DataFrame) -> str:
    return plots.plural(rows["seed"].n_unique(), "run") + " for each point"


def _from_zero(axes: Axes) -> None:
    """Lets the vertical axis begin at zero, with some space above the largest value."""
    _, high = axes.get_ylim()
    axes.set_ylim(0.0, 1.06 * high)


# --- metrics against an axis ---------------------------------------------------------------------


def _against(findings: Findings, drawing: Drawing, stack: Stack, statistic: str) -> Figure | None:
    """A panel for each metric and a line for each scheme, against the axis of the experiment."""
    rows = networks(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    axis = next(each for each in _AXES if each in rows.columns)
    labels = sorted(rows[axis].unique().to_list(), key=_number)
    schemes = _present(rows)
    widths = plots.line_widths(len(schemes))
    with plots.styled():
        figure = plots.new_figure(13.2, 3.3)
        for axes, (metric, words) in zip(figure.subplots(1, 5), _WORDS.items(), strict=True):
            for scheme, width in zip(schemes, widths, strict=True):
                found = []
                for label in labels:
                    here = filtered(rows, {"scheme": scheme, axis: label})
                    value = pl.col(metric) * _FACTOR.get(metric, 1.0)
                    each = estimate(here.with_columns(value=value), statistic)
                    if each is not None:
                        found.append((_number(label), each))
                axes.errorbar(
                    [x for x, _ in found],
                    [each.value for _, each in found],
                    np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                    color=_COLORS[scheme], marker=_MARKERS[scheme], markersize=2 + 1.6 * width,
                    linewidth=width, elinewidth=0.6 * width, label=scheme,
                )  # fmt: skip
            axes.set_xlabel(_AXES[axis])
            axes.set_title(words, fontweight="bold")
            _from_zero(axes)
        plots.legend(figure, figure.axes[0].get_legend_handles_labels()[0])
        return plots.finish(figure, f"{drawing.title}: {_runs(rows)}")


def wifi_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Static 802.11: means."""
    return _against(findings, drawing, stack, "mean")


def lowpan_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Mobile 802.15.4: medians, as the document takes them."""
    return _against(findings, drawing, stack, "median")


# --- the table, and what is left unsaid ----------------------------------------------------------


def _zero(axes: Axes) -> None:
    axes.axvline(0.0, color=_GREY, linewidth=0.8)
    axes.grid(visible=False, axis="y")


def table_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """The change of each number of the table, by scheme."""
    rows = networks(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    schemes = [each for each in _present(rows) if each != BASELINE]
    metrics = [*DOCUMENT, "energy"]
    with plots.styled():
        figure = plots.new_figure(13.2, 1.5 + 0.34 * len(schemes))
        row = figure.subplots(1, len(metrics), sharey=True)
        for axes, metric in zip(row, metrics, strict=True):
            said = {"experiment": drawing.experiment, "measure": metric, "against": None}
            noise = chance(findings, stack, {**said, "select": {"scheme": BASELINE}})
            if noise is not None:
                axes.axvspan(-noise.value, noise.value, color="#eeeeee")
            for place, scheme in enumerate(schemes):
                found = change(findings, stack, {**said, "select": {"scheme": scheme}})
                if found is not None:
                    axes.errorbar(
                        found.value, place, xerr=np.array([_error(found)]).T, color=_COLORS[scheme],
                        marker=_MARKERS[scheme], markersize=5, linestyle="none",
                    )  # fmt: skip
            if metric in DOCUMENT:
                axes.plot(
                    DOCUMENT[metric], schemes.index(PORT), "D", markersize=7, fillstyle="none",
                    color=colors.BLACK,
                )  # fmt: skip
            _zero(axes)
            axes.set_xlabel(f"change of {_WORDS[metric].partition(' (')[0]} (%)")
            axes.set_yticks(range(len(schemes)), schemes)
            axes.set_ylim(len(schemes) - 0.5, -0.5)
        return plots.finish(figure, f"{drawing.title}: {_runs(rows)}")


def choices_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Every setting: its four numbers, and its distance from the published ones."""
    rows = settings(findings, stack)
    if rows.is_empty():
        return None
    rates = rows["rates"].unique(maintain_order=True).sort().to_list()
    shades = dict(zip(rates, colors.ORDER, strict=False))
    with plots.styled():
        figure = plots.new_figure(13.2, 4.2)
        row = figure.subplots(1, len(PUBLISHED), sharey=True)
        for axes, (metric, published) in zip(row, PUBLISHED.items(), strict=True):
            factor = _FACTOR.get(metric, 1.0)
            for rate in rates:
                for multiplier, marker in (("range", "o"), ("power", "^")):
                    here = rows.filter(
                        (pl.col("rates") == rate) & (pl.col("multiplier") == multiplier)
                    )
                    axes.plot(
                        factor * here[metric].to_numpy(), 100 * here["distance"].to_numpy(), marker,
                        color=shades[rate], markersize=4, alpha=0.8, linestyle="none",
                        label=f"{rate} Mbit/s, {multiplier} x 3",
                    )  # fmt: skip
            axes.axvline(factor * published, color=_GREY, linewidth=1.0, linestyle=":")
            axes.axhline(100 * WITHIN, color=_GREY, linewidth=1.0, linestyle="--")
            axes.set_xlabel(_WORDS[metric])
            axes.set_yscale("log")
            plots.plain_log(axes.yaxis)
        row[0].set_ylabel("distance from the column Base (%)")
        plots.legend(figure, row[0].get_legend_handles_labels()[0])
        return plots.finish(figure, f"{drawing.title}: {len(rows)} settings")


def allowed_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """The change of each number of the table at every allowed setting."""
    claims = {
        each.parameters.get("measure"): each.expected
        for each in findings.study.claims
        if each.experiment == "table" and each.name.startswith("table-")
    }
    with plots.styled():
        figure = plots.new_figure(13.2, 4.2)
        row = figure.subplots(1, len(DOCUMENT), sharey=True)
        names: list[str] = []
        for axes, metric in zip(row, DOCUMENT, strict=True):
            found = over_settings(findings, stack, metric)
            if not found:
                return None
            band = claims.get(metric)
            if band is not None and band.low is not None and band.high is not None:
                axes.axvspan(band.low, band.high, color="#eeeeee")
            names = [name for name, _ in found]
            for place, (_, each) in enumerate(found):
                axes.errorbar(
                    each.value, place, xerr=np.array([_error(each)]).T, color=_COLORS[PORT],
                    marker=_MARKERS[PORT], markersize=4, linestyle="none",
                )  # fmt: skip
            _zero(axes)
            axes.set_xlabel(f"change of {_WORDS[metric].partition(' (')[0]} (%)")
        row[0].set_yticks(range(len(names)), names)
        row[0].set_ylim(len(names) - 0.5, -0.5)
        runs = networks(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {_runs(runs)}")


# --- nodes, exits, windows -----------------------------------------------------------------------


def node_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """The distribution of the throughput of the nodes that receive."""
    rows = findings.table(drawing.experiment, stack, "nodes")
    if rows.is_empty():
        return None
    rows = rows.filter(pl.col("data_delivered") > 0)
    schemes = [each for each in _present(rows) if each in SCHEMES]
    with plots.styled():
        figure = plots.new_figure(7.5, 4.4)
        axes = figure.subplots()
        for scheme, width in zip(schemes, plots.line_widths(len(schemes)), strict=True):
            values = np.sort(rows.filter(pl.col("scheme") == scheme)["throughput_bps"].to_numpy())
            share = 100 * np.arange(1, len(values) + 1) / len(values)
            axes.step(
                values / 1000, share, where="post", color=_COLORS[scheme], linewidth=width,
                label=f"{scheme} (mean {values.mean() / 1000:.1f})",
            )  # fmt: skip
        axes.set_xlabel("throughput of a receiving node (kbit/s)")
        axes.set_ylabel("nodes with at most this (%)")
        plots.legend(figure, axes.get_legend_handles_labels()[0])
        return plots.finish(figure, f"{drawing.title}: {_runs(rows)}")


_REASONS = {
    "ack-train": ("HyStart: ACK train", colors.VERMILLION),
    "delay": ("HyStart: delay", colors.ORANGE),
    "loss": ("loss", colors.BLUE),
    "timeout": ("timeout", colors.SKY_BLUE),
    None: ("not ended", "#cccccc"),
}


def few_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """What ends the first slow start, by number of flows, and the changes that follow."""
    rows = flows(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    schemes = _present(rows)
    counts = sorted(rows["count"].unique().to_list())
    others = [each for each in schemes if each != BASELINE]
    widths = plots.line_widths(len(others))
    with plots.styled():
        figure = plots.new_figure(13.2, 7.0)
        parts: Any = figure.subfigures(2, 1)
        upper, lower = parts
        for axes, count in zip(upper.subplots(1, len(counts), sharey=True), counts, strict=True):
            for place, scheme in enumerate(schemes):
                here = filtered(rows, {"scheme": scheme, "count": count})
                start = 0.0
                for reason, (words, color) in _REASONS.items():
                    match = pl.col("exit_reason").eq_missing(pl.lit(reason, dtype=pl.String))
                    share = 100 * float(here.select(match.mean()).item() or 0.0)
                    axes.barh(
                        place, share, 0.8, left=start, color=color,
                        label=words if place == 0 else None,
                    )  # fmt: skip
                    start += share
            axes.set_title(plots.plural(count, "flow"), fontweight="bold")
            axes.set_yticks(range(len(schemes)), schemes)
            axes.set_ylim(len(schemes) - 0.5, -0.5)
            axes.set_xlim(0, 100)
            axes.set_xlabel("flows (%)")
            axes.grid(visible=False, axis="y")
        upper.legend(
            handles=upper.axes[0].get_legend_handles_labels()[0],
            loc="outside lower center",
            ncols=5,
        )
        for axes, metric in zip(lower.subplots(1, 4), DOCUMENT, strict=True):
            for scheme, width in zip(others, widths, strict=True):
                found = []
                for count in counts:
                    said = {
                        "experiment": drawing.experiment,
                        "select": {"scheme": scheme, "count": count},
                        "against": None,
                        "measure": metric,
                    }
                    each = change(findings, stack, said)
                    if each is not None:
                        found.append((count, each))
                axes.errorbar(
                    [x for x, _ in found],
                    [each.value for _, each in found],
                    np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                    color=_COLORS[scheme], marker=_MARKERS[scheme], markersize=2 + 1.6 * width,
                    linewidth=width, elinewidth=0.6 * width, label=scheme,
                )  # fmt: skip
            axes.axhline(0.0, color=_GREY, linewidth=0.8)
            axes.set_xscale("log")
            axes.set_xticks(counts, [str(count) for count in counts])
            axes.minorticks_off()
            axes.set_xlabel("number of flows")
            axes.set_ylabel(f"change of {_WORDS[metric].partition(' (')[0]} (%)")
        lower.legend(
            handles=lower.axes[0].get_legend_handles_labels()[0],
            loc="outside lower center",
            ncols=6,
        )
        title = f"{drawing.title}: {_runs(networks(findings, stack, drawing.experiment))}"
        return plots.finish(figure, title)


def windows_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Windows at the end of the first slow start, and the spacing of its ACKs."""
    rows = flows(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    rows = filtered(rows, {"scheme": BASELINE})
    counts = sorted(rows["count"].unique().to_list())
    shades = dict(zip(counts, (colors.GREEN, colors.ORANGE, colors.BLUE), strict=False))
    with plots.styled():
        figure = plots.new_figure(11.0, 4.4)
        left, right = figure.subplots(1, 2)
        for count in counts:
            here = filtered(rows, {"count": count}).drop_nulls("exit_cwnd_bytes")
            window = np.sort(here["exit_cwnd_bytes"].to_numpy() / 1024)
            if not len(window):
                continue
            share = 100 * np.arange(1, len(window) + 1) / len(window)
            label = plots.plural(count, "flow")
            left.step(window, share, where="post", color=shades[count], label=label)
            gaps = here.drop_nulls("ack_gap_ms")
            right.plot(
                gaps["exit_cwnd_bytes"].to_numpy() / 1024, gaps["ack_gap_ms"].to_numpy(), "o",
                color=shades[count], markersize=4, alpha=0.8, label=label,
            )  # fmt: skip
        for axes in (left, right):
            for segments in (10, 16):
                axes.axvline(segments, color=_GREY, linewidth=1.0, linestyle=":")
            axes.set_xscale("log")
            plots.plain_log(axes.xaxis)
            axes.set_xlabel("window at the end of the first slow start (segments)")
        for gap in (2, 4):
            right.axhline(gap, color=_GREY, linewidth=1.0, linestyle="--")
        right.set_yscale("log")
        plots.plain_log(right.yaxis)
        left.set_ylabel("flows with at most this (%)")
        right.set_ylabel("median time between ACKs of slow start (ms)")
        plots.legend(figure, left.get_legend_handles_labels()[0])
        runs = _runs(networks(findings, stack, drawing.experiment))
        return plots.finish(figure, f"{drawing.title}: {runs}")


# --- 802.15.4 ------------------------------------------------------------------------------------


def ranges_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Connectivity, silent flows, throughput and exits against the range of the radios."""
    rows = networks(findings, stack, drawing.experiment)
    every = flows(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    labels = sorted(rows["range"].unique().to_list(), key=_number)
    base = {"scheme": BASELINE}
    panels: tuple[tuple[str, pl.DataFrame, pl.Expr, str, dict[str, Any]], ...] = (
        ("disconnected topologies (%)", rows, 100 * (pl.col("connected") < 1), "mean", base),
        ("pairs of nodes with a path (%)", rows, 100 * pl.col("connected"), "mean", base),
        ("flows that deliver nothing (%)", every, 100 * (pl.col("bytes_acked") == 0), "mean", base),
        ("throughput (kbit/s)", rows, pl.col("throughput") / 1000, "median", base),
        ("flows that leave by HyStart (%)", every, 100 * pl.col("by_hystart"), "mean",
         {"scheme": PORT}),
    )  # fmt: skip
    with plots.styled():
        figure = plots.new_figure(13.2, 3.2)
        for axes, (words, table, value, statistic, select) in zip(
            figure.subplots(1, len(panels)), panels, strict=True
        ):
            found = []
            for label in labels:
                here = filtered(table, {**select, "range": label})
                each = estimate(here.with_columns(value=value.cast(pl.Float64)), statistic)
                if each is not None:
                    found.append((_number(label), each))
            axes.errorbar(
                [x for x, _ in found],
                [each.value for _, each in found],
                np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                color=_COLORS[select["scheme"]], marker="o", markersize=4,
            )  # fmt: skip
            axes.set_xlabel("range (m)")
            axes.set_title(words, fontsize=9)
            _from_zero(axes)
        return plots.finish(figure, f"{drawing.title}: {_runs(rows)}")


def length_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Delivery with lengths modulo 256, and with each battery."""
    rows = networks(findings, stack, drawing.experiment)
    if rows.is_empty():
        return None
    batteries = rows["battery"].unique(maintain_order=True).to_list()
    counts = sorted(rows["nodes"].unique().to_list())
    looks = {
        "fragments": (colors.BLUE, "6LoWPAN fragments", 7.0),
        "modulo 256": (colors.VERMILLION, "lengths modulo 256, as in ns-2", 4.0),
    }
    with plots.styled():
        figure = plots.new_figure(11.0, 3.4)
        row = figure.subplots(1, len(batteries), sharey=True, squeeze=False)[0]
        for axes, battery in zip(row, batteries, strict=True):
            for length, (color, words, size) in looks.items():
                found = []
                for count in counts:
                    here = filtered(rows, {"battery": battery, "length": length, "nodes": count})
                    value = pl.col("delivered_bytes") / 1e3
                    each = estimate(here.with_columns(value=value), "mean")
                    if each is not None:
                        found.append((count, each))
                axes.errorbar(
                    [x for x, _ in found],
                    [each.value for _, each in found],
                    np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                    color=color, marker="o", markersize=size, linewidth=size / 3, label=words,
                )  # fmt: skip
            axes.set_title(
                {"unlimited": "no battery"}.get(battery, f"300 J, powers in {battery}"),
                fontweight="bold",
            )
            axes.set_xlabel("number of nodes")
        row[0].set_ylim(bottom=0)
        row[0].set_ylabel("delivered (kB)")
        plots.legend(figure, row[0].get_legend_handles_labels()[0])
        return plots.finish(figure, f"{drawing.title}: {_runs(rows)}")
