"""Draws the figures of a study together with the published values.

Published values are open diamonds. Measured values are filled circles with their intervals, or
squares for the kernel (triangles in virtual time) if several stacks were run. Every figure states
its number of runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from slowstart import plots, stats
from slowstart.figures import colors
from slowstart.studies.bands import plain
from slowstart.studies.estimates import Estimate, estimate
from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.figures.canvas import Series
    from slowstart.studies.drawings import Drawing
    from slowstart.studies.files import Scalar
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack
    from slowstart.studies.plan import Experiment

_MEGA = 1e6
# Axis labels longer than this are broken at their colon; the width of a character in inches.
_LONG, _CHARACTER = 18, 0.075
# The distance of the intervals of neighbouring lines, as a fraction of the axis.
_APART = 0.006
_GREY = "#555555"
_PUBLISHED: Any = {
    "marker": "D",
    "markersize": 7.5,
    "markerfacecolor": "white",
    "markeredgewidth": 1.5,
    "linestyle": "none",
    "zorder": 4,
}
_UNITS = {
    "B": 1e-6, "bytes": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3, "KiB": 1.024e-3, "MiB": 1.048576,
    "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4,
    "bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1.0, "Gbit/s": 1e3,
}  # fmt: skip


@dataclass(frozen=True)
class Point:
    """A statistic at one position of a figure or table."""

    panel: Scalar | None
    x: Scalar
    series: Scalar | None
    found: Estimate | None
    published: float | None


def grouped(drawing: Drawing, stacks: Sequence[Stack]) -> list[list[Stack]]:
    """The stacks that share a figure or table."""
    together = drawing.kind in ("points", "lines", "table") or (
        drawing.kind == "evolution" and drawing.columns is None
    )
    return [list(stacks)] if together else [[stack] for stack in stacks]


def draw(findings: Findings, drawing: Drawing, stacks: Sequence[Stack]) -> Figure | None:
    """The figure of stacks that share one; ``None`` if nothing of it was run."""
    # A function may draw runs without flows.
    table = "runs" if drawing.kind == "function" else "flows"
    there = [stack for stack in stacks if not _rows(findings, drawing, stack, table).is_empty()]
    if not there:
        return None
    if drawing.kind == "function":
        figure: Figure | None = drawing.function(findings, drawing, there[0])
        return figure
    if drawing.kind == "evolution":
        return _evolution(findings, drawing, there)
    if drawing.kind == "ecdf":
        return _ecdf(findings, drawing, there[0])
    return _points(findings, drawing, there)


def _rows(findings: Findings, drawing: Drawing, stack: Stack, table: str = "flows") -> pl.DataFrame:
    return filtered(findings.table(drawing.experiment, stack, table), drawing.select)


def _plan(findings: Findings, drawing: Drawing) -> Experiment:
    return findings.study.experiments[drawing.experiment]


def _values(
    findings: Findings, drawing: Drawing, axis: str | None, rows: pl.DataFrame
) -> list[Any]:
    """The values of an axis that were run, in grid order; one ``None`` if there is no axis."""
    if axis is None:
        return [None]
    there = set(rows[axis].to_list())
    return [value for value in _plan(findings, drawing).axes[axis] if value in there]


def _styles(
    findings: Findings, drawing: Drawing, axis: str | None, stacks: Sequence[Stack]
) -> dict[Any, colors.Style]:
    """The style of each value: that of its algorithm, if it has a single one.

    All figures of an experiment use the same styles, whichever values they draw.
    """
    tables = [findings.table(drawing.experiment, stack) for stack in stacks]
    rows = pl.concat([each for each in tables if not each.is_empty()], how="diagonal_relaxed")
    names = {}
    for value in _values(findings, drawing, axis, rows):
        mine = rows if axis is None else rows.filter(pl.col(axis) == value)
        algorithms = mine["name"].unique().to_list()
        names[value] = algorithms[0] if len(algorithms) == 1 else str(value)
    if len(set(names.values())) < len(names):
        names = {value: str(value) for value in names}
    styles = colors.styles(names.values())
    return {value: styles[name] for value, name in names.items()}


def count_of(rows: pl.DataFrame, axes: Iterable[str | None]) -> str:
    """``4 runs each``, or ``2 to 4 runs each``."""
    names = sorted({axis for axis in axes if axis is not None})
    runs = rows.select("job", "run", *names).unique()
    counts = runs.group_by(names).len()["len"].to_list() if names else [len(runs)]
    each = "\N{NO-BREAK SPACE}each" if names else ""
    return plots.plurals(counts, "run") + each


def _key(style: colors.Style, label: object, **more: Any) -> Line2D:
    """An entry of a legend."""
    look: Any = {"color": style.color, "linestyle": style.dashes, "label": str(label), **more}
    return Line2D([], [], **look)


# --- statistics over an axis ---------------------------------------------------------------------


def points(findings: Findings, drawing: Drawing, stack: Stack) -> list[Point]:
    """Every statistic of a figure or table, with its published value."""
    made: list[Point] = findings.once(
        ("points", drawing.name, stack), lambda: _all_points(findings, drawing, stack)
    )
    return made


def _all_points(findings: Findings, drawing: Drawing, stack: Stack) -> list[Point]:
    rows = _rows(findings, drawing, stack)
    if rows.is_empty():
        return []
    made = []
    for panel in _values(findings, drawing, drawing.columns, rows):
        for series in _values(findings, drawing, drawing.series, rows):
            for x in _values(findings, drawing, drawing.x, rows):
                if drawing.x is not None and drawing.x == drawing.series and x != series:
                    continue
                places = {drawing.columns: panel, drawing.series: series, drawing.x: x}
                labels = {axis: value for axis, value in places.items() if axis is not None}
                here = filtered(rows, labels)
                for name, metric in drawing.metrics.items():
                    found = None
                    if not here.is_empty():
                        valued = here.with_columns(value=pl.sql_expr(metric))
                        found = estimate(valued, drawing.statistic)
                    place = {**drawing.select, **labels}
                    value = _published(findings, drawing, name, place)
                    made.append(Point(panel, name if x is None else x, series, found, value))
    return made


def _published(
    findings: Findings, drawing: Drawing, name: str, labels: Mapping[str, Any]
) -> float | None:
    """The published value for the same runs, from the figure's list or from a claim."""
    metric = drawing.metrics[name]
    for each in drawing.known:
        if each.labels.items() <= labels.items() and each.metric in (None, name):
            return each.value
    plan = _plan(findings, drawing)
    mine = [id(cell) for cell in plan.select(labels)]
    for claim in findings.study.claims:
        if (
            claim.published is not None
            and claim.against is None
            and claim.function is None
            and (claim.experiment, claim.metric, claim.statistic)
            == (drawing.experiment, metric, drawing.statistic)
            and [id(cell) for cell in plan.select(claim.select)] == mine
        ):
            return claim.published
    return None


def _quantity(value: Scalar) -> float | None:
    """The number in a quantity: sizes in MB, times in ms, rates in Mbit/s, else unchanged."""
    if isinstance(value, (int, float)):
        return float(value)
    match = re.fullmatch(r"([0-9.]+)\s*(\S*)", value)
    if match is None:
        return None
    return float(match[1]) * _UNITS.get(match[2], 1.0)


def _places(
    drawing: Drawing, xs: Sequence[Scalar], joined: Mapping[Scalar, float] | None, place: float
) -> tuple[Mapping[Scalar, float], Mapping[Scalar, float]]:
    """The positions of the values ``xs`` of a series on the axis, and of their intervals.

    ``place`` is the offset from the middle of all series, in series widths. Points are shifted to
    be side by side; of lines, only the intervals are shifted, so that none hides another.
    """
    if joined is None:
        there = {x: number + place for number, x in enumerate(xs)}
        return there, there
    low, high = min(joined.values()), max(joined.values())
    if drawing.log in ("x", "both"):
        factor = (high / low) ** (_APART * place)
        return joined, {x: value * factor for x, value in joined.items()}
    return joined, {x: value + _APART * place * (high - low) for x, value in joined.items()}


def _points(findings: Findings, drawing: Drawing, stacks: Sequence[Stack]) -> Figure:
    of_stack = {stack: points(findings, drawing, stack) for stack in stacks}
    every = [each for mine in of_stack.values() for each in mine]
    panels = list(dict.fromkeys(each.panel for each in every))
    series = list(dict.fromkeys(each.series for each in every))
    xs = list(dict.fromkeys(each.x for each in every))
    styles = _styles(findings, drawing, drawing.series, stacks)
    numbers = {x: number for x in xs if (number := _quantity(x)) is not None}
    joined = drawing.kind == "lines" and len(numbers) == len(xs)
    alone = joined or drawing.x == drawing.series
    words = [str(x).replace(":", ":\n") if len(str(x)) > _LONG else str(x) for x in xs]
    with plots.styled():
        longest = max(len(line) for each in words for line in each.split("\n"))
        slot = max(0.3 if alone else 0.3 * len(series), _CHARACTER * (longest + 2))
        each = 4.7 if joined else max(3.1, slot * len(xs))
        wide = max(5.2, 0.9 + each * len(panels))
        figure = plots.new_figure(min(wide, plots.WIDEST), 3.9)
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, panel in zip(grid, panels, strict=True):
            if panel is not None:
                axes.set_title(str(panel), fontweight="bold")
            for place, one in enumerate(series):
                middle = place - (len(series) - 1) / 2
                side = middle if joined else 0.0 if alone else middle * 0.8 / len(series)
                for rank, (stack, found) in enumerate(of_stack.items()):
                    mine = [each for each in found if each.panel == panel and each.series == one]
                    if not mine:
                        continue
                    beside = (rank - (len(stacks) - 1) / 2) * min(0.3, 0.4 / len(series))
                    places = _places(
                        drawing, xs, numbers if joined else None, side if joined else side + beside
                    )
                    # Only the first stack is drawn as a line: the kernel has few runs.
                    line = joined and rank == 0
                    width = plots.line_widths(len(series))[place] if line else 0.0
                    _draw_points(axes, places, mine, styles[one], width, _marker(stack, stacks))
                here = [each for each in every if each.panel == panel and each.series == one]
                where, _ = _places(drawing, xs, numbers if joined else None, side)
                _draw_published(axes, here, where, styles[one])
            if not joined:
                axes.set_xticks(range(len(xs)), words)
                axes.set_xlim(-0.6, len(xs) - 0.4)
                axes.grid(visible=False, axis="x")
            axes.set_xlabel(drawing.x_label)
        _scale(grid, drawing, sorted(numbers.values()) if joined else None)
        default = "fraction of flows" if drawing.statistic == "share" else drawing.statistic
        grid[0].set_ylabel(drawing.label or default)
        handles = _keys_of_points(drawing, every, series, styles, stacks)
        if handles:
            plots.legend(figure, handles)
        return plots.finish(figure, _title(findings, drawing, stacks))


def _keys_of_points(
    drawing: Drawing,
    every: Sequence[Point],
    series: Sequence[Scalar | None],
    styles: Mapping[Any, colors.Style],
    stacks: Sequence[Stack],
) -> list[Line2D]:
    """The legend of a figure of points; empty if there is nothing to distinguish."""
    named = [] if drawing.x == drawing.series else [each for each in series if each is not None]
    handles = [_key(styles[one], one, marker="o") for one in named]
    grey = colors.Style(_GREY, "none")
    published = any(each.published is not None for each in every)
    if len(stacks) > 1:
        handles += [_key(grey, each, marker=_marker(each, stacks)) for each in stacks]
    elif published and not named:
        handles = [_key(grey, "measured", marker="o")]
    if published:
        handles.append(Line2D([], [], color=_GREY, label="published", **_PUBLISHED))
    return handles


def _marker(stack: Stack, stacks: Sequence[Stack]) -> str:
    """If several stacks are drawn: a square for the kernel, a triangle for the one in a machine."""
    return {"linux": "s", "linux-vm": "^"}.get(stack, "o") if len(stacks) > 1 else "o"


def _draw_points(
    axes: Axes,
    places: tuple[Mapping[Scalar, float], Mapping[Scalar, float]],
    mine: Sequence[Point],
    style: colors.Style,
    width: float,
    marker: str,
) -> None:
    where, aside = places
    there = [(each.x, each.found) for each in mine if each.found]
    there.sort(key=lambda each: where[each[0]])
    axes.plot(
        [where[x] for x, _ in there], [found.value for _, found in there], color=style.color,
        marker=marker, markersize=4.2 + width / 2, linestyle=style.dashes if width else "none",
        linewidth=width, zorder=6, clip_on=False,
    )  # fmt: skip
    for x, found in there:
        if found.low is not None and found.high is not None:
            axes.vlines(
                aside[x], found.low, found.high, color=style.color, linewidth=1.3, zorder=6,
                clip_on=False,
            )  # fmt: skip


def _draw_published(
    axes: Axes, mine: Sequence[Point], where: Mapping[Scalar, float], style: colors.Style
) -> None:
    for x, value in {each.x: each.published for each in mine}.items():
        if value is not None:
            axes.plot(where[x], value, markeredgecolor=style.color, clip_on=False, **_PUBLISHED)


def _scale(grid: Sequence[Axes], drawing: Drawing, numbers: Sequence[float] | None) -> None:
    """Scales the axes of the panels: a shared y axis, and an x axis with ``numbers``."""
    limits = [axes.dataLim for axes in grid if np.isfinite(axes.dataLim.y1)]
    if drawing.log in ("y", "both"):
        grid[0].set_yscale("log")
        grid[0].autoscale(axis="y")
        plots.plain_log(grid[0].yaxis)
    elif drawing.statistic == "share":
        grid[0].set_ylim(0, 1.04)
    elif limits:
        low, high = min(each.y0 for each in limits), max(each.y1 for each in limits)
        margin = 0.05 * (max(high, 0.0) - min(low, 0.0)) or 1.0
        grid[0].set_ylim(low - margin if low < 0 else 0.0, max(high, 0.0) + margin)
    if numbers is None or drawing.log not in ("x", "both"):
        return
    for axes in grid:
        axes.set_xscale("log")
        plots.plain_log(axes.xaxis)
        if len(numbers) < 9 and all(b / a > 1.4 for a, b in pairwise(numbers)):
            axes.set_xticks(numbers)
            axes.xaxis.set_minor_locator(NullLocator())


def _title(
    findings: Findings, drawing: Drawing, stacks: Sequence[Stack], table: str = "flows"
) -> str:
    axes = (drawing.columns, drawing.series, drawing.x)
    parts = []
    for stack in stacks:
        words = count_of(_rows(findings, drawing, stack, table), axes)
        alone = len(findings.stacks) == 1 and stack == "simulated"
        parts.append(words if alone else f"{words}, {stack}")
    return f"{drawing.title} ({'; '.join(parts)})"


# --- distributions -------------------------------------------------------------------------------


def _ecdf(findings: Findings, drawing: Drawing, stack: Stack) -> Figure:
    rows = _rows(findings, drawing, stack)
    panels = _values(findings, drawing, drawing.columns, rows)
    series = _values(findings, drawing, drawing.series, rows)
    styles = _styles(findings, drawing, drawing.series, [stack])
    with plots.styled():
        figure = plots.new_figure(
            min(plots.WIDEST, max(5.2, 0.9 + 3.1 * len(panels))), 0.9 + 2.6 * len(drawing.metrics)
        )
        grid = figure.subplots(len(drawing.metrics), len(panels), squeeze=False, sharey=True)
        for axes, panel in zip(grid[0], panels, strict=True):
            axes.set_title("" if panel is None else str(panel), fontweight="bold")
        for row, (name, metric) in zip(grid, drawing.metrics.items(), strict=True):
            row[0].set_ylabel("CDF")
            for axes, panel in zip(row, panels, strict=True):
                for one, width in zip(series, plots.line_widths(len(series)), strict=True):
                    labels = {drawing.columns: panel, drawing.series: one}
                    kept = {axis: value for axis, value in labels.items() if axis is not None}
                    here = filtered(rows, kept)
                    values = here.select(value=pl.sql_expr(metric))["value"].drop_nulls()
                    axes.plot(
                        *stats.ecdf(values.to_list()), drawstyle="steps-post",
                        color=styles[one].color, linestyle=styles[one].dashes, linewidth=width,
                        label=str(one),
                    )  # fmt: skip
                    place = {**drawing.select, **kept}
                    for known in drawing.known:
                        if known.metric in (None, name) and known.labels.items() <= place.items():
                            axes.plot(
                                known.value, known.share, markeredgecolor=styles[one].color,
                                clip_on=False, **_PUBLISHED,
                            )  # fmt: skip
                axes.set_xlabel(name)
                axes.set_ylim(0, 1.02)
                plots.widen(axes, least=0.1)
                if drawing.log in ("x", "both"):
                    axes.set_xscale("log")
                    plots.plain_log(axes.xaxis)
                else:
                    whole = bool(rows.select((pl.sql_expr(metric) % 1 == 0).all()).item())
                    plots.few_ticks(axes.xaxis, whole=whole)
        handles = grid[0][0].get_legend_handles_labels()[0] if series != [None] else []
        if drawing.known:
            handles.append(Line2D([], [], color=_GREY, label="published", **_PUBLISHED))
        if handles:
            plots.legend(figure, handles)
        return plots.finish(figure, _title(findings, drawing, [stack]))


# --- time series ---------------------------------------------------------------------------------

_LABELS = {
    "window": "cwnd (MB)",
    "rtt": "RTT (ms)",
    "queue": "queue (packets)",
    "delivered": "delivered (MB)",
    "losses": "dropped packets",
}
# Columns of the time series of links.
_OF_LINKS = {"queue": "queue_packets", "losses": "drops"}


def _evolution(findings: Findings, drawing: Drawing, stacks: Sequence[Stack]) -> Figure | None:
    """A column for each stack, or for each value of the drawing's axis of columns."""
    traced = {stack: _rows(findings, drawing, stack, "flow_traces") for stack in stacks}
    stacks = [stack for stack in stacks if not traced[stack].is_empty()]
    if not stacks:
        return None
    flows = pl.concat([traced[stack] for stack in stacks], how="diagonal_relaxed")
    panels = _values(findings, drawing, drawing.columns, flows)
    columns = [(stack, panel) for stack in stacks for panel in panels]
    series = _values(findings, drawing, drawing.series, flows)
    styles = _styles(findings, drawing, drawing.series, stacks)
    bottlenecks = _bottlenecks(findings, drawing)
    every = [_rows(findings, drawing, stack, "link_traces") for stack in stacks]
    zeros = [
        name
        for name in drawing.panels
        if name in _OF_LINKS
        and not any(_ever(each, name, bottlenecks) for each in every)
        and not any(mark.panel == name for mark in drawing.marks)
    ]
    if len(zeros) == len(drawing.panels):
        zeros = []
    drawing = replace(drawing, panels=tuple(each for each in drawing.panels if each not in zeros))
    with plots.styled():
        figure = plots.new_figure(
            min(plots.WIDEST, max(6.4, 0.9 + 4.2 * len(columns))), 1.0 + 1.9 * len(drawing.panels)
        )
        grid = figure.subplots(
            len(drawing.panels), len(columns), squeeze=False, sharex="col", sharey="row"
        )
        for column, (stack, panel) in zip(grid.T, columns, strict=True):
            links = _rows(findings, drawing, stack, "link_traces")
            if panel is not None or len(stacks) > 1:
                column[0].set_title(str(panel or stack), fontweight="bold")
            for one in series:
                if drawing.columns == drawing.series and one != panel:
                    continue
                labels = {drawing.columns: panel, drawing.series: one}
                kept = {axis: value for axis, value in labels.items() if axis is not None}
                link = filtered(links, kept)
                link = link.filter(pl.col("link").is_in(bottlenecks))
                _draw_series(column, drawing, filtered(traced[stack], kept), link, styles[one])
            marks = [mark for mark in drawing.marks if mark.series in styles]
            for place, mark in enumerate(marks):
                # Coinciding marks get smaller from first to last, so that all stay visible.
                hidden = [(each.panel, each.time_s, each.value) for each in marks[place + 1 :]]
                size = 7.5 + 4 * hidden.count((mark.panel, mark.time_s, mark.value))
                column[drawing.panels.index(mark.panel)].plot(
                    mark.time_s, mark.value, markeredgecolor=styles[mark.series].color,
                    **{**_PUBLISHED, "markersize": size},
                )  # fmt: skip
            column[-1].set_xlabel("time (s)")
            column[-1].set_xlim(0, drawing.until_s)
        for row, name in zip(grid, drawing.panels, strict=True):
            row[0].set_ylabel(_LABELS[name])
            row[0].set_ylim(bottom=0)
        titled = drawing.columns == drawing.series
        handles = [] if titled else [_key(styles[one], one) for one in series]
        if drawing.marks:
            handles.append(Line2D([], [], color=_GREY, label="published", **_PUBLISHED))
        if handles:
            plots.legend(figure, handles)
        plots.note_zeros(figure, [_LABELS[each] for each in zeros])
        return plots.finish(figure, _title(findings, drawing, stacks, "flow_traces"))


def _ever(links: pl.DataFrame, panel: str, names: Sequence[str]) -> bool:
    """Whether a series of the links of these names is ever above zero."""
    here = pl.col("link").is_in(names) & (pl.col(_OF_LINKS[panel]) > 0)
    return not links.is_empty() and links.filter(here).height > 0


def _bottlenecks(findings: Findings, drawing: Drawing) -> list[str]:
    scenarios = [cell.scenario for cell in _plan(findings, drawing).cells if cell.scenario]
    paths = (each.resolved["path"] for each in scenarios)
    return sorted({path["forward"]["name"] for path in paths if "forward" in path})


def _draw_series(
    column: Sequence[Axes],
    drawing: Drawing,
    flows: pl.DataFrame,
    links: pl.DataFrame,
    style: colors.Style,
) -> None:
    """One line for each flow of each run; for the bottleneck, one for each run."""
    look: Any = {"color": style.color, "linestyle": style.dashes, "linewidth": 1.2, "alpha": 0.85}
    if drawing.until_s is not None:
        # Data beyond the end must not affect the range of the y axis.
        flows, links = (each.filter(pl.col("time_s") <= drawing.until_s) for each in (flows, links))
    for axes, name in zip(column, drawing.panels, strict=True):
        if name in _OF_LINKS:
            for _, part in links.group_by("job", "run", maintain_order=True):
                axes.plot(*_line(part, _OF_LINKS[name]), **look)
            continue
        quantity, scale = {
            "window": ("cwnd_bytes", _MEGA),
            "rtt": ("rtt_ms", 1.0),
            "delivered": ("delivered_bytes", _MEGA),
        }[name]
        for _, part in flows.group_by("job", "run", "flow", maintain_order=True):
            time, values = _line(part.drop_nulls(quantity), quantity)
            axes.plot(time, values / scale, **look)


def _line(part: pl.DataFrame, quantity: str) -> tuple[Series, Series]:
    return plots.thin(plots.numbers(part, "time_s"), plots.numbers(part, quantity))


# --- tables --------------------------------------------------------------------------------------


def table(
    findings: Findings, drawing: Drawing, stacks: Sequence[Stack]
) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """The heads of a table, and its rows of cells: measured and published values."""
    of_stack = {stack: points(findings, drawing, stack) for stack in stacks}
    every = [each for mine in of_stack.values() for each in mine]
    there = {
        (stack, each.panel, each.x, each.series): each
        for stack, mine in of_stack.items()
        for each in mine
    }
    columns = [
        (stack, one)
        for one in dict.fromkeys(each.series for each in every)
        for stack in stacks
        if any(each.series == one for each in of_stack[stack])
    ]
    rows = []
    for panel, x in dict.fromkeys((each.panel, each.x) for each in every):
        cells = [(str(x) if panel is None else f"{panel}, {x}", "")]
        for stack, one in columns:
            point = there.get((stack, panel, x, one))
            cells.append(("-", "") if point is None else (_shown(point.found), _beside(point)))
        rows.append(cells)
    heads = [
        (drawing.label if one is None else str(one)) + (f", {stack}" if len(stacks) > 1 else "")
        for stack, one in columns
    ]
    return [drawing.x_label, *heads], rows


def _shown(found: Estimate | None) -> str:
    return "-" if found is None else plain(found.value)


def _beside(point: Point) -> str:
    parts = []
    if point.found is not None and point.found.low is not None and point.found.high is not None:
        parts.append(f"[{plain(point.found.low)}, {plain(point.found.high)}]")
    if point.published is not None:
        parts.append(f"published {plain(point.published)}")
    return " ".join(parts)
