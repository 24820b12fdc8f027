"""The figures: evolution of a run, completion time against size, distributions, exit classes.

Every function takes tables and returns a :class:`matplotlib.figure.Figure`, without displaying it
or changing matplotlib's global state. Each figure states the number of its runs. Formats, width
and theme are those of :func:`slowstart.figure_style.using`; :func:`write` writes the files.

The functions that draw (:func:`over_time`, :func:`evolution`, :func:`completion_by_size`,
:func:`exit_cost`, :func:`distributions`, :func:`exit_shares`) and :func:`write` are public; the
guide "From Python" has an example. A notebook shows a figure that is the last value of a cell.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from slowstart import stats
from slowstart.errors import InputError
from slowstart.figures import colors
from slowstart.figures.canvas import (
    MOST_COLUMNS,
    OUTLINE,
    PLAIN,
    WIDEST,
    across,
    columns_on_a_page,
    few_ticks,
    finish,
    label_left,
    leave_out,
    legend,
    line_widths,
    new_figure,
    note_of,
    note_zeros,
    numbers,
    outlined,
    panel_width,
    panels,
    plain_log,
    plural,
    plurals,
    save,
    scaled,
    stacked,
    styled,
    thin,
    widen,
    with_values,
    write,
    write_and_outline,
)
from slowstart.figures.runs import Evolution, PathFacts, columns_of, facts
from slowstart.labels import displayed, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart._native import Result, Scenario

__all__ = [
    "EXIT_CLASSES",
    "MOST_COLUMNS",
    "NEGLIGIBLE",
    "OUTLINE",
    "PLAIN",
    "WIDEST",
    "Evolution",
    "PathFacts",
    "across",
    "columns_of",
    "columns_on_a_page",
    "completion_by_size",
    "distributions",
    "evolution",
    "exit_cost",
    "exit_shares",
    "facts",
    "few_ticks",
    "finish",
    "label_left",
    "leave_out",
    "legend",
    "line_widths",
    "new_figure",
    "note_of",
    "note_zeros",
    "numbers",
    "outlined",
    "over_time",
    "panel_width",
    "panels",
    "plain_log",
    "plural",
    "plurals",
    "save",
    "scaled",
    "stacked",
    "styled",
    "thin",
    "widen",
    "write",
    "write_and_outline",
]  # fmt: skip

_MEGA = 1e6
_GREY = "#777777"


def _from_zero(axes: Axes) -> None:
    """Makes the x axis of a percentage start near zero."""
    high = max(1.0, axes.get_xlim()[1])
    axes.set_xlim(-0.03 * high, high)


# --- evolution -----------------------------------------------------------------------------------

_MARK = "#555555"
# The scale of the windows, in largest windows, if reasons of exits stand above them.
_HEADROOM = 1.5
# The height of two labels in a low panel.
_NEAR = 0.3
_MARKS: tuple[tuple[str, Any, str], ...] = (
    ("true capacity time", ":", "o"),
    ("slow-start exit", "-", "v"),
    ("first drop", "--", "X"),
)


def _marks(flow: dict[str, Any]) -> list[float | None]:
    leave = flow["exit_s"] if flow["passive_exit_s"] is None else flow["passive_exit_s"]
    times = (flow["capacity_true_s"], leave, flow["first_drop_s"])
    return [None if time is None else flow["start_s"] + time for time in times]


def _draw_window(axes: Axes, trace: pl.DataFrame, style: colors.Style) -> float:
    """Draws window and threshold; returns the largest window in MB."""
    time = numbers(trace, "time_s")
    cwnd = numbers(trace, "cwnd_bytes") / _MEGA
    ssthresh = numbers(trace, "ssthresh_bytes") / _MEGA
    axes.plot(*thin(time, cwnd), color=style.color, linestyle=style.dashes, zorder=3)
    axes.plot(*thin(time, ssthresh), color=style.color, linewidth=0.9, linestyle=(0, (4, 2)))
    return float(np.nanmax(cwnd)) if len(cwnd) else 0.0


def over_time(scenarios: Sequence[Scenario], result: Result) -> Figure:
    """The figure :func:`evolution` of a result: the first run of each scenario over one path.

    Args:
        scenarios: The scenarios, as they were given to :func:`slowstart.run`.
        result: What it returned with ``traces=True``.

    Returns:
        A figure with a column for each scenario: window, RTT, delivered bytes, and queue.

    Raises:
        InputError: The scenarios have several paths, or there are no time series.

    Example:
        >>> import slowstart
        >>> scenarios = slowstart.compare("wired", ["cubic+search", "cubic"], size="1 MB")
        >>> figure = over_time(scenarios, slowstart.run(scenarios, traces=True))
        >>> len(figure.axes)
        8
    """
    if len({each.path for each in scenarios}) != 1:
        raise InputError("over_time draws one path: select the scenarios of one path")
    columns = columns_of([(each, result.select(i)) for i, each in enumerate(scenarios)])
    names = list(dict.fromkeys(name for each in scenarios for name in each.flows))
    return evolution(facts(scenarios[0].resolved["path"]), columns, names)


def evolution(path: PathFacts, columns: Sequence[Evolution], names: Sequence[str]) -> Figure:
    """One run of each algorithm: window, RTT, delivered bytes, and queue over time.

    ``names`` are all names in the result, so that the colours match the other figures.
    """
    styles = colors.styles(names)
    short = shortened(names)
    columns = [each._replace(title=short.get(each.title, each.title)) for each in columns]
    with styled():
        labels = ["window (MB)", "RTT (ms)", "delivered (MB)", "queue (packets)"]
        zeros = []
        if path.bottleneck is None:  # A queue at each node.
            labels.pop()
        elif not any(_ever(each.link_traces, path.bottleneck) for each in columns):
            zeros = [labels.pop()]
        width, height = max(5.0, 0.9 + 3.0 * len(columns)), 0.6 + 1.9 * len(labels)
        figure, grid = panels(width, height, len(labels), len(columns), sharex="all", sharey="row")
        top = 0.0
        for axes, column in zip(grid.T, columns, strict=True):
            top = max(top, _draw_evolution(axes, path, column, styles))
        for row, label in zip(grid, labels, strict=True):
            label_left(row, label)
            row[0].set_ylim(bottom=0)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
            axes.set_xlim(left=_begin(path, axes.get_xlim()[1]))
        said = [
            len(column.flows) == 1 and _write_reason(axes, column.flows[0])
            for axes, column in zip(grid[0], columns, strict=True)
        ]
        if any(said):
            top *= _HEADROOM
            grid[0][0].set_ylim(top=top)
        if (bdp := path.bdp_payload_bytes) is not None:
            levels = [bdp, bdp + (path.buffer_payload_bytes or 0)]
            room = _HEADROOM if any(said) else 1.0
            shown = [level / _MEGA for level in levels]
            _draw_levels(list(zip(grid[0], said, strict=True)), shown, top / room, path, room)
        handles = [Line2D([], [], color=_GREY, label="cwnd")]
        handles.append(
            Line2D([], [], color=_GREY, linewidth=0.9, linestyle=(0, (4, 2)), label="ssthresh")
        )
        handles += [
            Line2D([], [], color=_MARK, linestyle=dashes, linewidth=1, marker=mark, label=label)
            for label, dashes, mark in _MARKS
        ]
        titles = {each.title for each in columns}
        handles += [
            Line2D([], [], color=styles[name].color, label=f"{brief}: {displayed(name)}")
            for name, brief in short.items()
            if displayed(name) != brief and brief in titles
        ]
        legend(figure, handles)
        note_zeros(figure, zeros)
        return finish(figure, f"{path.name}: one run of each algorithm (the first seed)")


def _ever(links: pl.DataFrame, name: str) -> bool:
    """Whether packets ever wait at a link."""
    return links.filter((pl.col("link") == name) & (pl.col("queue_packets") > 0)).height > 0


def _begin(path: PathFacts, end_s: float) -> float:
    """Start of the time axis: it shows only the last part of the traffic's warm-up."""
    return max(0.0, path.warm_up_s - 0.15 * (end_s - path.warm_up_s))


def _draw_evolution(
    axes: Sequence[Axes], path: PathFacts, column: Evolution, styles: dict[str, colors.Style]
) -> float:
    window, rtt, delivered, *queue = axes
    window.set_title(column.title, fontweight="bold", pad=9)
    top = 0.0
    for flow in column.flows:
        style = styles[flow["name"]]
        trace = column.flow_traces.filter(pl.col("flow") == flow["flow"])
        time = numbers(trace, "time_s")
        top = max(top, _draw_window(window, trace, style))
        sampled = trace.filter(pl.col("rtt_ms").is_not_null())
        series = thin(numbers(sampled, "time_s"), numbers(sampled, "rtt_ms"))
        rtt.plot(*series, color=style.color, linestyle=style.dashes)
        series = thin(time, numbers(trace, "delivered_bytes") / _MEGA)
        delivered.plot(*series, color=style.color, linestyle=style.dashes)
    for each in queue:
        waiting = column.link_traces.filter(pl.col("link") == path.bottleneck)
        series = thin(numbers(waiting, "time_s"), numbers(waiting, "queue_packets"))
        each.plot(*series, color="#444444", linewidth=1.0)
    if path.base_rtt_ms is not None:
        rtt.axhline(path.base_rtt_ms, color=_GREY, linewidth=0.8, linestyle=":")
    if len(column.flows) == 1:
        for time_s, (_, dashes, mark) in zip(_marks(column.flows[0]), _MARKS, strict=True):
            if time_s is not None:
                for each in axes:
                    each.axvline(time_s, color=_MARK, linestyle=dashes, linewidth=0.9, zorder=1)
                window.plot(
                    time_s, 1, mark, color=_MARK, markersize=5.5, clip_on=False,
                    transform=window.get_xaxis_transform(), zorder=5,
                )  # fmt: skip
    return top


def _write_reason(axes: Axes, flow: dict[str, Any]) -> bool:
    """Writes why slow start ended beside the line of its exit, on the side with more room.

    Returns whether it did.
    """
    if flow["exit_s"] is None or flow["passive_exit_s"] is not None:
        return False
    at = flow["start_s"] + flow["exit_s"]
    low, high = axes.get_xlim()
    is_left = at > (low + high) / 2
    letters = 26
    if (width := panel_width()) is not None:
        # Left of the line there is a label of the BDP, too. A letter is 0.055 inches wide.
        room = width * max(at - low, high - at) / (high - low) - (0.45 if is_left else 0.05)
        letters = max(12, min(letters, int(room / 0.055)))
    text = axes.annotate(
        textwrap.fill(flow["exit_evidence"], letters), (at, 0.97),
        xycoords=axes.get_xaxis_transform(), ha="right" if is_left else "left", va="top",
        fontsize=scaled(6.5), color=_MARK, xytext=(-3 if is_left else 3, 0),
        textcoords="offset points",
        path_effects=OUTLINE, zorder=6, annotation_clip=True,
    )  # fmt: skip
    text.set_in_layout(False)
    return True


def _draw_levels(
    row: Sequence[tuple[Axes, bool]],
    levels: list[float],
    top: float,
    path: PathFacts,
    room: float,
) -> None:
    """Draws BDP and BDP + buffer if they are within the scale of the windows reached.

    Above the highest of all there is space for reasons: the scale is ``room`` times as high.

    Args:
        row: Panels, and whether each has a reason.
        levels: In MB.
        top: The largest window in MB.
        path: The path.
        room: How high the scale is.
    """
    labels = ["BDP", "BDP + buffer"]
    if path.buffer_payload_bytes is None:
        labels = labels[:1]
    # A level far above every window would flatten the curves, so it is left out.
    pairs = zip(levels, labels, strict=False)
    shown = [(level, label) for level, label in pairs if level < 2 * top]
    if not shown:
        return
    high = max(1.12, room) * max(top, *(level for level, _ in shown))
    for axes, has_reason in row:
        for place, (level, label) in enumerate(shown):
            # The highest label is below its line if a reason stands above it, and a lower one if
            # the next line is near.
            last = place + 1 == len(shown)
            near = not last and shown[place + 1][0] - level < _NEAR * high
            below = level > _NEAR * high / 2 and (has_reason if last else near)
            # Below its line it would cover the label above the other one.
            is_right = last and place and below and level - shown[0][0] < 2 * _NEAR * high
            axes.axhline(level, color=_GREY, linewidth=0.8, linestyle=":")
            axes.annotate(
                label, (int(is_right), level), xycoords=("axes fraction", "data"),
                ha="right" if is_right else "left", va="top" if below else "bottom",
                fontsize=scaled(7), color=_GREY,
                xytext=(-3 if is_right else 3, -2 if below else 1), textcoords="offset points",
                path_effects=OUTLINE, zorder=7,
            )  # fmt: skip
    row[0][0].set_ylim(top=high)


# A smaller relative difference between completion times is negligible in practice (our choice).
NEGLIGIBLE = 0.03

# --- completion time against size ----------------------------------------------------------------


def completion_by_size(by_size: pl.DataFrame, names: Sequence[str], runs: int) -> Figure:
    """Median completion time of transfers of several sizes, and relative to the first algorithm.

    Args:
        by_size: One row for each path, name and size, with the columns ``path``, ``name``,
            ``size_bytes``, ``median_s``, ``low_s``, ``high_s`` (completion time and the 95 %
            interval of its median) and ``ratio``, ``ratio_low``, ``ratio_high`` (the same of the
            ratio to the first algorithm in the same run). Intervals are null for too few runs.
        names: All names in the result; the first is what the others are compared with.
        runs: Runs of each size.
    """
    styles = colors.styles(names)
    paths = by_size["path"].unique(maintain_order=True).to_list()
    widths = line_widths(len(names))
    with styled():
        width = max(5.2, 0.8 + 3.1 * len(paths))
        figure, grid = panels(width, 5.8, 2, len(paths), sharex="col", height_ratios=(3, 2))
        for (top, bottom), path in zip(grid.T, paths, strict=True):
            top.set_title(path, fontweight="bold")
            for place, name in enumerate(names):
                here = (pl.col("path") == path) & (pl.col("name") == name)
                rows = by_size.filter(here).sort("size_bytes")
                # Shift neighbours apart, so that no interval hides another.
                apart = 1.025 ** (place - (len(names) - 1) / 2)
                times = ("median_s", "low_s", "high_s")
                _draw_intervals(top, rows, times, styles[name], name, apart, widths[place])
                ratios = ("ratio", "ratio_low", "ratio_high")
                _draw_intervals(bottom, rows, ratios, styles[name], name, apart, widths[place])
            _log_axes(top, bottom)
        label_left(grid[0], "flow completion time (s)")
        label_left(grid[1], f"ratio to {shortened(names)[names[0]]}")
        legend(figure, grid[0][0].get_legend_handles_labels()[0])
        title = f"Flow completion time against transfer size: {plural(runs, 'run')} of each size"
        return finish(figure, title + (", medians with 95 % intervals" if runs >= 6 else ""))


def _draw_intervals(
    axes: Axes,
    rows: pl.DataFrame,
    columns: tuple[str, str, str],
    style: colors.Style,
    name: str,
    apart: float,
    width: float,
) -> None:
    size = apart * numbers(rows, "size_bytes") / _MEGA
    middle, low, high = (numbers(rows, column) for column in columns)
    axes.plot(
        size, middle, color=style.color, linestyle=style.dashes, marker="o",
        markersize=2 + width, linewidth=width, label=displayed(name),
    )  # fmt: skip
    axes.vlines(size, low, high, color=style.color, linewidth=1.1)


def _log_axes(top: Axes, bottom: Axes) -> None:
    top.set_xscale("log")
    top.set_yscale("log")
    plain_log(top.yaxis)
    bottom.xaxis.set_major_formatter(PLAIN)
    bottom.xaxis.set_minor_formatter(NullFormatter())
    bottom.axhline(1, color=_GREY, linewidth=0.8, zorder=1)
    bottom.axhspan(1 - NEGLIGIBLE, 1 + NEGLIGIBLE, color="#eeeeee", zorder=0)
    low, high = bottom.get_ylim()
    bottom.set_ylim(min(low, 1 - 1.5 * NEGLIGIBLE), max(high, 1 + 1.5 * NEGLIGIBLE))
    bottom.set_xlabel("size (MB)")


def exit_cost(costs: pl.DataFrame, names: Sequence[str]) -> Figure:
    """Cost of the slow-start exit against transfer size, with its 95 % interval.

    ``costs`` has the columns of :func:`slowstart.metrics.exit_cost`, and ``size_bytes``.
    """
    styles = colors.styles(names)
    paths = costs["path"].unique(maintain_order=True).to_list()
    widths = line_widths(len(names))
    columns = ("cost_s", "cost_low_s", "cost_high_s")
    paths, zeros = with_values(costs, paths, pl.any_horizontal(pl.col(*columns) != 0))
    with styled():
        figure, (grid,) = panels(max(5.2, 0.8 + 3.1 * len(paths)), 3.8, 1, len(paths))
        for axes, path in zip(grid, paths, strict=True):
            axes.set_title(path, fontweight="bold")
            for place, name in enumerate(names):
                here = (pl.col("path") == path) & (pl.col("name") == name)
                rows = costs.filter(here).sort("size_bytes")
                apart = 1.025 ** (place - (len(names) - 1) / 2)
                _draw_intervals(axes, rows, columns, styles[name], name, apart, widths[place])
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(PLAIN)
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.axhline(0, color=_GREY, linewidth=0.8, zorder=1)
            axes.set_xlabel("size (MB)")
        label_left(grid, "cost of the exit (s)")
        legend(figure, grid[0].get_legend_handles_labels()[0])
        note_zeros(figure, zeros)
        return finish(figure, "Completion time less that with an ideal slow-start exit")


# --- distributions -------------------------------------------------------------------------------


def distributions(flows: pl.DataFrame, names: Sequence[str]) -> Figure:
    """Empirical distributions of completion time (or goodput) and of retransmissions, by path.

    ``flows`` is the table of flows of a result. Where no flow completes, goodput is drawn.
    """
    styles = colors.styles(names)
    paths = flows["path"].unique(maintain_order=True).to_list()
    sized = flows["fct_s"].null_count() < len(flows)
    measure = (
        (pl.col("fct_s"), "flow completion time (s)")
        if sized
        else (pl.col("goodput_bps") / _MEGA, "goodput (Mbit/s)")
    )
    retransmitted = 100 * pl.col("segments_retransmitted") / pl.col("segments_sent")
    second = "retransmitted segments (%)"
    lossy, zeros = with_values(flows, paths, pl.col("segments_retransmitted") > 0)
    measures = [measure, (retransmitted, second)]
    if lossy == paths and not (flows["segments_retransmitted"] > 0).any():
        lossy, zeros = [], paths
        measures.pop()
    runs = flows["run"].n_unique()
    widths = line_widths(len(names))
    with styled():
        width = max(5.2, 0.8 + 3.1 * len(paths))
        height = 0.4 + 2.6 * len(measures)
        figure, grid = panels(width, height, len(measures), len(paths), sharey="all")
        for place, (column, path) in enumerate(zip(grid.T, paths, strict=True)):
            column[0].set_title(path, fontweight="bold")
            here = flows.filter(pl.col("path") == path)
            for axes, (expression, label) in zip(column, measures, strict=True):
                for name, width in zip(names, widths, strict=True):
                    rows = here.filter(pl.col("name") == name)
                    values = rows.select(expression.alias("v"))["v"].drop_nulls().drop_nans()
                    steps = stats.ecdf(values)
                    style = styles[name]
                    axes.plot(
                        *steps, drawstyle="steps-post", color=style.color,
                        linestyle=style.dashes, linewidth=width, label=displayed(name),
                    )  # fmt: skip
                axes.set_xlabel(label)
                axes.set_ylim(0, 1.02)
                axes.margins(x=0.05)
                few_ticks(axes.xaxis)
                widen(axes, least=0.1)
            if path in lossy:
                _from_zero(column[1])
            elif len(measures) > 1:
                leave_out(figure, grid, (1, place))
        for row in grid:
            label_left(row, "CDF of flows")
        legend(figure, grid[0][0].get_legend_handles_labels()[0])
        note_zeros(figure, [f"{second} over {path}" for path in zeros])
        return finish(figure, f"Distributions over {plural(runs, 'run')} of each algorithm")


# --- exit classes --------------------------------------------------------------------------------

EXIT_CLASSES = {"early": "early", "chokepoint": "chokepoint", "late": "late", "none": "not ended"}


def exit_shares(summary: Sequence[dict[str, Any]], names: Sequence[str]) -> Figure:
    """Percentages of early, chokepoint and late slow-start exits, with Wilson intervals.

    ``summary`` is that of the result document.
    """
    styles = colors.styles(names)
    paths = list(dict.fromkeys(row["path"] for row in summary))
    width = 0.8 / max(1, len(names))
    classes = [kind for kind in EXIT_CLASSES if kind != "none" or _any_left(summary)]
    with styled():
        across_all = max(5.2, 0.8 + 3.1 * len(paths))
        figure, (grid,) = panels(across_all, 3.6, 1, len(paths), sharey="all")
        for axes, path in zip(grid, paths, strict=True):
            axes.set_title(path, fontweight="bold")
            for row in (row for row in summary if row["path"] == path):
                name = row["name"]
                place = names.index(name) - (len(names) - 1) / 2
                _draw_shares(axes, row, classes, place * width, width, styles[name])
            axes.set_xticks(range(len(classes)), [EXIT_CLASSES[kind] for kind in classes])
            axes.grid(visible=False, axis="x")
            axes.set_ylim(0, 103)
        label_left(grid, "percentage of flows")
        handles = [Patch(label=displayed(name), **_filling(styles[name])) for name in names]
        legend(figure, handles)
        runs = sorted({row["flows"] for row in summary})
        count = plural(runs[0], "flow") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} flows"
        title = f"Slow-start exits: {count} of each"
        return finish(figure, title + (", 95 % Wilson intervals" if runs[-1] > 1 else ""))


def _any_left(summary: Sequence[dict[str, Any]]) -> bool:
    return any(row["exit_class"]["none"] for row in summary)


def _filling(style: colors.Style) -> dict[str, Any]:
    """The filling of a bar, with hatches in place of a line's dashes."""
    hatch = {"-": None, "--": "//", "-.": "xx", ":": ".."}[style.dashes]
    return {"facecolor": style.color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _draw_shares(
    axes: Axes,
    row: dict[str, Any],
    classes: Sequence[str],
    shift: float,
    width: float,
    style: colors.Style,
) -> None:
    counts = row["exit_class"]
    for place, kind in enumerate(classes):
        percentage = 100 * counts[kind] / row["flows"]
        axes.bar(place + shift, percentage, width * 0.92, **_filling(style))
        low, high = stats.wilson(counts[kind], row["flows"]) or (0.0, 0.0)
        if row["flows"] > 1:  # One flow stands for all where nothing is random.
            axes.errorbar(
                place + shift, percentage,
                yerr=[[max(0.0, percentage - 100 * low)], [max(0.0, 100 * high - percentage)]],
                fmt="none", elinewidth=1, ecolor="#333333", path_effects=OUTLINE,
            )  # fmt: skip
