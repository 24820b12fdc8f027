"""The figures of a sweep, by the number of numeric keys that it varies.

One key: lines with bands. Two: heat maps, and lines over the first of them. Three: heat maps for
each value of the third. More: the effect of each key alone, over all values of the others. An
algorithm, or another key that takes words, becomes the colours of lines and the columns of maps.
With a baseline, each figure is drawn once more with the ratios to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D

from slowstart import quantities
from slowstart._native import median_interval
from slowstart.figures import colors
from slowstart.plots import (
    MOST_COLUMNS,
    finish,
    label_left,
    legend,
    line_widths,
    new_figure,
    panels,
    plain_log,
    plural,
    plurals,
    styled,
)
from slowstart.studies.bands import plain
from slowstart.sweeps import against

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.studies.files import Scalar
    from slowstart.sweeps.axes import Axis
    from slowstart.sweeps.definition import Definition

# More values than this, as those of a sample, are put into classes.
_MOST_VALUES, _CLASSES = 60, 10
_MOST_PANELS = 6
_MOST_LINES = 10
_MOST_NUMBERS = 12
_MEASURES = {
    "fct_s": "completion time (s)",
    "goodput_bps": "goodput (Mbit/s)",
    "segments_lost": "lost segments",
    "segments_retransmitted": "retransmitted segments",
    "segments_dropped": "dropped segments",
    "loss_ratio": "loss (share of segments)",
    "exit_s": "end of slow start (s)",
    "exit_cwnd_bytes": "window at the exit (MB)",
    "capacity_true_s": "time to capacity (s)",
    "near_capacity_s": "time to 90 % of capacity (s)",
    "overshoot_bytes": "overshoot (MB)",
    "rtt_p95_ms": "95th percentile of RTT (ms)",
    "rtt_mean_ms": "mean RTT (ms)",
}
_SCALES = {"bps": ("Mbit/s", 1e6), "bytes": ("MB", 1e6), "s": ("s", 1.0), "ms": ("ms", 1.0)}


@dataclass(frozen=True)
class Drawn:
    """A figure with its file name and caption."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class _Scale:
    """A swept key as an axis of a figure."""

    name: str
    column: str
    unit: str
    factor: float
    log: bool
    edges: tuple[float, ...]
    """Of the classes, if it has too many values; in units of the figure."""

    @property
    def label(self) -> str:
        words = self.name.replace("_", " ")
        words = "RTT" if words == "rtt" else words
        return f"{words} ({self.unit})" if self.unit else words


def measure_label(column: str) -> tuple[str, float]:
    """What a measurement is called on an axis, with its unit, and by what it is divided."""
    suffix = column.rpartition("_")[2]
    unit, factor = _SCALES.get(suffix, ("", 1.0))
    words = column.removesuffix(f"_{suffix}") if unit else column
    plain = f"{words.replace('_', ' ')} ({unit})" if unit else words.replace("_", " ")
    return _MEASURES.get(column, plain), factor


def draw(definition: Definition, table: pl.DataFrame, measures: Sequence[str]) -> list[Drawn]:
    """The figures of each measurement."""
    if table.is_empty():
        return []
    numeric, words = _split(definition, table)
    made = []
    for measure in measures:
        label, factor = measure_label(measure)
        name = re.sub(r"\W+", "-", measure)
        made += _measure(name, label, table, numeric, words, measure, factor)
        if definition.baseline:
            ratios = against.ratios(definition, table, measure, definition.baseline)
            words_of = label.partition(" (")[0]
            ratio = f"{words_of}, ratio to {definition.baseline}"
            made += _measure(
                f"{name}-ratio", ratio, ratios, numeric, words, measure, 1.0, ratio=True
            )
    return made


def _measure(
    name: str,
    label: str,
    table: pl.DataFrame,
    numeric: Sequence[_Scale],
    words: Sequence[str],
    measure: str,
    factor: float,
    *,
    ratio: bool = False,
) -> list[Drawn]:
    """The figures of one measurement, or of its ratio to that of the baseline."""
    frame = table.with_columns(_y=pl.col(measure).cast(pl.Float64) / factor)
    frame = _classed(frame, numeric)
    frame, series = _series(frame, words)
    if not len(frame) - int(frame["_y"].null_count()):
        return []
    if len(numeric) == 1 and len(words) <= 2:
        return [_lines(name, label, frame, numeric[0], series, measure, ratio=ratio)]
    if len(numeric) in (2, 3) and len(series) <= _MOST_PANELS:
        made = [_maps(name, label, frame, numeric, series, measure, ratio=ratio)]
        if len(numeric) == 2 and len(series) >= 2:
            made.append(_sections(f"{name}-lines", label, frame, numeric, series, measure, ratio))
        return made
    if not numeric:
        return [_categories(name, label, frame, series, measure, ratio=ratio)]
    return [
        _lines(f"{name}-{each.name}", label, frame, each, series, measure, alone=False, ratio=ratio)
        for each in numeric
    ]


def _split(definition: Definition, table: pl.DataFrame) -> tuple[list[_Scale], list[str]]:
    """The numeric keys that vary, those with most values first, and the columns of words."""
    numeric: list[_Scale] = []
    words = []
    for axis in definition.axes:
        if len(axis.values) < 2:
            continue
        if axis.unit is None:
            words.append(axis.column())
        else:
            numeric.append(_scale(axis, table))
    for span in definition.spans:
        axis = span.head()
        numeric.append(_scale(axis, table))
    count = {each.column: table[each.column].n_unique() for each in numeric}
    numeric.sort(key=lambda each: -min(count[each.column], _MOST_VALUES))
    return numeric, words


def _scale(axis: Axis, table: pl.DataFrame) -> _Scale:
    unit = axis.shown or axis.unit or ""
    factor = float(quantities.factor(unit))
    edges: tuple[float, ...] = ()
    column = axis.column()
    if table[column].n_unique() > _MOST_VALUES:
        values = table[column].cast(pl.Float64).to_numpy() / factor
        low, high = float(values.min()), float(values.max())
        spread = np.geomspace if axis.log else np.linspace
        edges = tuple(float(each) for each in spread(low, high, _CLASSES + 1))
    return _Scale(axis.name, column, unit, factor, axis.log, edges)


def _classed(frame: pl.DataFrame, numeric: Sequence[_Scale]) -> pl.DataFrame:
    """The positions of all rows on the axes; the middle of its class for a value of a sample."""
    for scale in numeric:
        values = frame[scale.column].cast(pl.Float64).to_numpy() / scale.factor
        if scale.edges:
            edges = np.array(scale.edges)
            place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
            middle = np.sqrt(edges[:-1] * edges[1:]) if scale.log else (edges[:-1] + edges[1:]) / 2
            values = middle[place]
        frame = frame.with_columns(pl.Series(f"_{scale.column}", values))
    return frame


def _series(frame: pl.DataFrame, words: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """The rows with ``_series``, what the words say, and all of these in order."""
    shown = [pl.col(each).cast(pl.String) for each in words]
    frame = frame.with_columns(
        _series=pl.concat_str(shown, separator=", ") if shown else pl.lit("")
    )
    return frame, frame["_series"].unique(maintain_order=True).to_list()


def _medians(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The median of each group with its 95 % interval (null below six values), and its size."""
    rows = []
    for *place, values in frame.group_by(by, maintain_order=True).agg("_y").iter_rows():
        numbers = [each for each in values if each is not None]
        rows.append((*place, *median_interval(numbers), len(numbers)))
    schema = {name: frame.schema[name] for name in by}
    numbers_schema = dict.fromkeys(("middle", "low", "high"), pl.Float64())
    return pl.DataFrame(
        rows, schema={**schema, **numbers_schema, "count": pl.Int64()}, orient="row"
    )


def _caption(frame: pl.DataFrame, found: pl.DataFrame, measure: str, more: str = "") -> str:
    counts = found.filter(pl.col("count") > 0)["count"].to_list() or [0]
    said = f"Medians of {plurals(counts, 'value')} each"
    if max(counts) > 5:
        said += ", with 95 % intervals" if found["low"].is_not_null().any() else ""
    missing = int(frame[measure].null_count())
    if missing:
        said += f". {missing} of {plural(len(frame), 'row')} have no {measure} and are left out"
    return f"{said}. {more}".strip()


def _lines(
    name: str,
    label: str,
    frame: pl.DataFrame,
    scale: _Scale,
    series: Sequence[str],
    measure: str,
    *,
    alone: bool = True,
    ratio: bool = False,
) -> Drawn:
    """Lines with bands over one key."""
    column = f"_{scale.column}"
    shown = series[:_MOST_LINES]
    found = _medians(frame, ["_series", column])
    with styled():
        figure = new_figure(7.0, 4.3)
        axes = figure.subplots()
        styles = colors.styles(shown)
        _draw_lines(axes, found, column, shown, styles)
        _x(axes, scale)
        _y(axes, found, label, ratio=ratio)
        if len(shown) > 1 or ratio:
            legend(figure, _handles(shown, styles))
        pooled = "" if alone else ", over all values of the other keys"
        finish(figure, f"{label.partition(' (')[0]} over {scale.label.partition(' (')[0]}{pooled}")
    more = "" if alone else "Each point covers all values of the other swept keys. "
    more += (
        "The values of the sample are in classes; a point is in the middle of its class. "
        * bool(scale.edges)
    )
    if len(series) > len(shown):
        more += f"The first {len(shown)} of {len(series)} lines."
    return Drawn(name, _caption(frame, found, measure, more), figure)


def _handles(series: Sequence[str], styles: dict[str, colors.Style]) -> list[Line2D]:
    return [
        Line2D([], [], color=styles[each].color, label=each or "all runs", **_dashes(styles[each]))
        for each in series
    ]


def _draw_lines(
    axes: Axes,
    found: pl.DataFrame,
    column: str,
    series: Sequence[str],
    styles: dict[str, colors.Style],
) -> None:
    """A line of medians with the band of its intervals for each of ``series``."""
    for each, width in zip(series, line_widths(len(series)), strict=True):
        line = found.filter(pl.col("_series") == each).sort(column)
        style = styles[each]
        axes.plot(
            line[column].to_numpy(), line["middle"].cast(pl.Float64).to_numpy(),
            color=style.color, linestyle=style.dashes, linewidth=width, marker="o", markersize=3,
        )  # fmt: skip
        band = line.drop_nulls(["low", "high"])
        axes.fill_between(
            band[column].to_numpy(), band["low"].to_numpy(), band["high"].to_numpy(),
            color=style.color, alpha=0.18, linewidth=0,
        )  # fmt: skip


def _sections(
    name: str,
    label: str,
    frame: pl.DataFrame,
    numeric: Sequence[_Scale],
    series: Sequence[str],
    measure: str,
    ratio: bool,
) -> Drawn:
    """All algorithms as lines over the first of two keys, a panel for each value of the second."""
    across, by = numeric
    x, panel = f"_{across.column}", f"_{by.column}"
    every = frame[panel].unique().sort().to_list()
    total = len(every)
    places = np.unique(np.linspace(0, total - 1, min(total, MOST_COLUMNS)).round().astype(int))
    values = [every[place] for place in places]
    frame = frame.filter(pl.col(panel).is_in(values))
    found = _medians(frame, ["_series", x, panel])
    with styled():
        figure, (grid,) = panels(0.8 + 3.1 * len(values), 3.6, 1, len(values), sharey="all")
        styles = colors.styles(series)
        for axes, value in zip(grid, values, strict=True):
            _draw_lines(axes, found.filter(pl.col(panel) == value), x, series, styles)
            axes.set_title(_valued(by, value))
            _x(axes, across)
        _y(grid[0], found, label, ratio=ratio)
        label_left(grid, label)
        legend(figure, _handles(series, styles))
        finish(figure, f"{label.partition(' (')[0]} over {across.label.partition(' (')[0]}")
    more = f"Panels show {len(values)} of {total} values of {by.name}." * (len(values) < total)
    return Drawn(name, _caption(frame, found, measure, more), figure)


def _valued(scale: _Scale, value: float) -> str:
    """A value of a swept key with its name and unit."""
    return f"{scale.label.partition(' (')[0]} {value:.3g} {scale.unit}".strip()


def _dashes(style: colors.Style) -> dict[str, Any]:
    return {"linestyle": style.dashes}


def _x(axes: Axes, scale: _Scale) -> None:
    axes.set_xlabel(scale.label)
    if scale.log:
        axes.set_xscale("log")
        plain_log(axes.xaxis)


def _spread(values: Sequence[float]) -> bool:
    """Whether positive values span more than a factor of 20."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > 20


def _y(axes: Axes, found: pl.DataFrame, label: str, *, ratio: bool = False) -> None:
    axes.set_ylabel(label)
    if ratio:
        axes.set_yscale("log")
        plain_log(axes.yaxis)
        axes.axhline(1, color="#777777", linewidth=0.8, zorder=1)
    elif _spread(found["middle"].drop_nulls().to_list()):
        axes.set_yscale("log")
        plain_log(axes.yaxis)
    else:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def _maps(
    name: str,
    label: str,
    frame: pl.DataFrame,
    numeric: Sequence[_Scale],
    series: Sequence[str],
    measure: str,
    *,
    ratio: bool = False,
) -> Drawn:
    """Heat maps: the two keys with most values, columns for words, rows for a third key."""
    x, y, *third = numeric
    columns = [f"_{each.column}" for each in numeric]
    found = _medians(frame, ["_series", *columns])
    rows: list[float | None] = [None]
    total = 1
    if third:
        every = found[columns[2]].unique().sort().to_list()
        total = len(every)
        places = np.unique(np.linspace(0, total - 1, min(total, _MOST_PANELS)).round().astype(int))
        rows = [every[place] for place in places]
        found = found.filter(pl.col(columns[2]).is_in(rows))
    across = found[columns[0]].unique().sort().to_list()
    up = found[columns[1]].unique().sort().to_list()
    middles = found["middle"].drop_nulls().to_list()
    ends = (min(middles, default=0.0), max(middles, default=1.0))
    norm = LogNorm(*ends) if _spread(middles) else Normalize(*ends)
    if ratio:  # Equal factors below and above 1 have colours of equal strength.
        most = max([1.05, *(max(each, 1 / each) for each in middles if each > 0)])
        norm = LogNorm(1 / most, most)
    palette = "RdBu_r" if ratio else "viridis"
    with styled():
        width = max(4.6, 1.3 + 3.3 * len(series))
        figure = new_figure(min(13.3, width), 0.9 + (2.9 if len(rows) == 1 else 2.2) * len(rows))
        grid = figure.subplots(len(rows), len(series), squeeze=False, sharex=True, sharey=True)
        image = None
        for row, value in zip(grid, rows, strict=True):
            for axes, each in zip(row, series, strict=True):
                part = found.filter(pl.col("_series") == each)
                if value is not None:
                    part = part.filter(pl.col(columns[2]) == value)
                cells = np.full((len(up), len(across)), np.nan)
                for one in part.iter_rows(named=True):
                    if one["middle"] is not None:
                        place = up.index(one[columns[1]]), across.index(one[columns[0]])
                        cells[place] = one["middle"]
                image = axes.imshow(cells, origin="lower", aspect="auto", norm=norm, cmap=palette)
                axes.grid(visible=False)
                sure = _excluded(part, columns, across, up) if ratio else None
                _numbers(axes, cells, norm, sure)
                title = [each] if each else []
                if value is not None:
                    title.append(_valued(third[0], value))
                axes.set_title(", ".join(title).strip())
                _ticks(axes, across, up)
            row[0].set_ylabel(y.label)
        for axes in grid[-1]:
            axes.set_xlabel(x.label)
        if image is not None:
            bar = figure.colorbar(image, ax=grid.ravel().tolist(), label=label)
            if isinstance(norm, LogNorm):
                plain_log(bar.ax.yaxis)
        what = f"{label.partition(' (')[0]} over {x.label.partition(' (')[0]} and "
        what += y.label.partition(" (")[0]
        finish(figure, f"{what}, by {third[0].name.replace('_', ' ')}" if third else what)
    more = (
        f"Rows show {len(rows)} of {total} values of {third[0].name}. " if len(rows) < total else ""
    )
    if any(each.edges for each in numeric):
        more += "The values of the sample are in classes, named by their middle. "
    if ratio:
        more += (
            "Ratios of runs with the same seed; below 1 (blue) the value is smaller than the "
            "baseline's. A dot marks a cell whose 95 % interval excludes 1. A cell with fewer "
            "than six runs has no interval. "
        )
    else:
        more += "A white cell has no value."
    return Drawn(name, _caption(frame, found, measure, more).replace(", with 95 % intervals", ""),
                 figure)  # fmt: skip


def _excluded(
    part: pl.DataFrame, columns: Sequence[str], across: Sequence[float], up: Sequence[float]
) -> np.ndarray:
    """The cells whose interval of a ratio excludes 1."""
    sure = np.zeros((len(up), len(across)), dtype=bool)
    for one in part.drop_nulls(["low", "high"]).iter_rows(named=True):
        place = up.index(one[columns[1]]), across.index(one[columns[0]])
        sure[place] = one["low"] > 1 or one["high"] < 1
    return sure


def _numbers(
    axes: Axes, cells: np.ndarray, norm: Normalize, sure: np.ndarray | None = None
) -> None:
    """Writes the value of each cell, if they are few enough, and marks those that are ``sure``."""
    written = max(cells.shape) <= _MOST_NUMBERS
    size = 7 if max(cells.shape) <= 8 else 5.5
    for (row, column), value in np.ndenumerate(cells):
        if np.isnan(value):
            continue
        place = float(norm(value))
        # A map of ratios is dark at both ends, that of values at its lower end.
        dark = place < 0.6 if sure is None else abs(place - 0.5) > 0.3
        color = "white" if dark else "black"
        if written:
            axes.text(
                column, row, f"{value:.3g}", ha="center", va="center", color=color, fontsize=size
            )
        if sure is not None and sure[row, column]:
            axes.plot(column, row - 0.32 * written, "o", color=color, markersize=2.5)


def _ticks(axes: Axes, across: Sequence[float], up: Sequence[float]) -> None:
    for axis, values in ((axes.xaxis, across), (axes.yaxis, up)):
        step = -(-len(values) // 8)
        places = list(range(0, len(values), step))
        axis.set_ticks(places, [f"{values[place]:.3g}" for place in places])


def _categories(
    name: str,
    label: str,
    frame: pl.DataFrame,
    series: Sequence[str],
    measure: str,
    *,
    ratio: bool = False,
) -> Drawn:
    """The median of each word, with its interval."""
    found = _medians(frame, ["_series"])
    with styled():
        figure = new_figure(7.0, 1.3 + 0.32 * len(series))
        axes = figure.subplots()
        styles = colors.styles(series)
        for place, each in enumerate(series):
            row = found.filter(pl.col("_series") == each).row(0, named=True)
            if row["middle"] is None:
                continue
            color = styles[each].color
            axes.plot(row["middle"], place, "o", color=color)
            if row["low"] is not None:
                axes.plot([row["low"], row["high"]], [place, place], color=color)
        axes.set_yticks(range(len(series)), [each or "all runs" for each in series])
        axes.set_ylim(len(series) - 0.5, -0.5)
        if ratio:
            axes.axvline(1, color="#777777", linewidth=0.8, zorder=1)
        else:
            axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.set_xlabel(label)
        finish(figure, label.partition(" (")[0])
    return Drawn(name, _caption(frame, found, measure), figure)


def chosen(definition: Definition, table: pl.DataFrame) -> list[str]:
    """The measurements to draw: those that the sweep names, or one that it has."""
    if definition.figures:
        return list(definition.figures)
    for each in ("fct_s", "goodput_bps"):
        if each in table.columns and table[each].null_count() < len(table):
            return [each]
    return []


def rows(
    definition: Definition, table: pl.DataFrame, measures: Sequence[str], most: int
) -> tuple[list[str], list[list[str]]]:
    """The medians of each point, as a table of at most ``most`` rows; values have their units."""
    said: dict[str, dict[Scalar, Scalar]] = {}
    units: dict[str, str] = {}
    for axis in definition.axes:
        labels = [value.label for value in axis.values]
        said[axis.column()] = dict(zip(axis.cells(), labels, strict=True))
    names = list(said)
    heads = [axis.name for axis in definition.axes]
    for span in definition.spans:
        names.append(span.head().column())
        heads.append(span.name)
        units[names[-1]] = span.unit
    heads = [*heads, *(measure_label(each)[0] for each in measures), "rows"]
    if not names:
        table = table.with_columns(_all=pl.lit("all runs"))
        names, heads = ["_all"], ["", *heads]
    made = []
    wanted = [pl.col(each).cast(pl.Float64) for each in measures]
    first = table.select(names).unique(maintain_order=True).head(most)
    table = table.join(first, on=names, how="semi", nulls_equal=True, maintain_order="left")
    grouped = table.group_by(names, maintain_order=True).agg(*wanted, pl.len().alias("_count"))
    for row in grouped.iter_rows(named=True):
        cells = [
            _cell(said.get(name, {}).get(row[name], row[name]), units.get(name, ""))
            for name in names
        ]
        for each in measures:
            factor = measure_label(each)[1]
            values = [value / factor for value in row[each] if value is not None]
            middle, low, high = median_interval(values)
            shown = "-" if middle is None else plain(middle)
            if low is not None and high is not None:
                shown += f" [{plain(low)}, {plain(high)}]"
            if 0 < len(values) < row["_count"]:
                shown += f" ({len(values)} of {row['_count']})"
            cells.append(shown)
        made.append([*cells, str(row["_count"])])
    return heads, made


def _cell(value: Scalar, unit: str) -> str:
    """A value of a swept key; a number counts base units, and is shown in ``unit``."""
    if not unit or isinstance(value, str):
        return plain(value, 6) if isinstance(value, float) else str(value)
    scale = float(quantities.factor(unit))
    return quantities.written(quantities.rounded(float(value) / scale, unit), unit)
