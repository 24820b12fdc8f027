"""The canvas of all figures: style, size, panels, legend, and the files that they become.

The look of :mod:`slowstart.figure_style` that holds at the time determines width and formats.
"""

from __future__ import annotations

import io
import re
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib import patheffects
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from slowstart import figure_style
from slowstart.errors import InputError
from slowstart.figures import vector
from slowstart.figures.layout import OnePass, fix_labels, free_labels
from slowstart.figures.stacking import PanelFigure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Series = NDArray[np.float64]

# Any: the keys and their types differ between versions of matplotlib.
_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    # The second is for the text of SVG files where the first is not installed.
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "slowstart",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
# Makes dark marks visible on every bar and line, including black ones.
OUTLINE = [patheffects.withStroke(linewidth=2.6, foreground="white")]
# Inches: a page as wide as a laptop screen would shrink a wider figure.
WIDEST = 13.3
# Panels in a row: a page would shrink a figure with more.
MOST_COLUMNS = 4
# Inches: a panel of a figure of given width is at least so wide, and a page so high.
_LEAST_PANEL, _PAGE = 2.1, 9.0
# Inches: width and height of what surrounds the panels, and width of a panel by default.
_SIDE, _AROUND, _USUAL_PANEL = 0.5, 0.9, 3.0
# Letters of an axis label on an inch.
_LETTERS = 13
# Maximum number of vertices of a line: more than a figure has pixels across.
_VERTICES = 1200


@contextmanager
def styled() -> Iterator[None]:
    """Applies the style of all figures within the block."""
    with mpl.rc_context(_style()):
        yield


def _style() -> Any:
    """The style with the changes of the current theme."""
    theme = figure_style.current().theme
    style = dict(_STYLE)
    for key, value in _STYLE.items():
        if key.endswith("size"):
            style[key] = scaled(value)
    if theme.font is not None:
        style["font.family"] = [theme.font, *_STYLE["font.family"]]
    if theme.line_width is not None:
        style["lines.linewidth"] = theme.line_width
    return style


def scaled(points: float) -> float:
    """A font size, in proportion to that of the current theme."""
    size = figure_style.current().theme.font_size
    return points if size is None else points * size / _STYLE["font.size"]


class ShownFigure(PanelFigure):
    """A figure that a notebook shows without :mod:`matplotlib.pyplot`."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        _png(self, file, 100)
        return file.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    height = figure_style.current().height_in or height
    figure = ShownFigure(figsize=(width, height), layout=OnePass())
    FigureCanvasAgg(figure)
    return figure


def across(columns: int) -> int:
    """How many of ``columns`` fit side by side into the width of the current look."""
    width, most = figure_style.current().width_in, figure_style.current().across
    if most is not None:
        columns = min(columns, most)
    if width is None:
        return columns
    return max(1, min(columns, int((width - _SIDE) / _LEAST_PANEL)))


def columns_on_a_page() -> int:
    """How many columns of four panels a figure may have: two on top of each other fill a page."""
    return min(MOST_COLUMNS, 2 * across(MOST_COLUMNS))


def panel_width() -> float | None:
    """About the width of a panel of :func:`panels`, if as many as fit lie side by side; inches.

    ``None`` in a look without a width.
    """
    width = figure_style.current().width_in
    return None if width is None else (width - _SIDE) / across(100) - 0.3


def panels(
    width: float,
    height: float,
    rows: int,
    columns: int,
    *,
    sharex: Literal["none", "all", "col"] = "none",
    sharey: Literal["none", "all", "row"] = "none",
    height_ratios: Sequence[float] | None = None,
) -> tuple[Figure, Any]:
    """A figure of ``rows`` times ``columns`` panels, and an array of its axes of that shape.

    ``width`` and ``height`` are those of the figure with all columns side by side, in inches. In a
    look with a width, the columns that do not fit lie below the others, each with all its rows.
    """
    chosen = figure_style.current().width_in
    wide = across(columns)
    blocks = -(-columns // wide)
    if chosen is None:
        whole = _SIDE + (width - _SIDE) * wide / columns
        figure = new_figure(whole, _AROUND + (height - _AROUND) * blocks)
    else:
        scale = min(1.0, max(0.6, (chosen - _SIDE) / wide / _USUAL_PANEL))
        each = scale * (height - _AROUND) / rows
        count = rows * blocks
        figure = new_figure(chosen, _AROUND + count * max(0.85, min(each, _PAGE / count)))
    if blocks == 1:
        return figure, figure.subplots(
            rows, columns, squeeze=False, sharex=sharex, sharey=sharey, height_ratios=height_ratios
        )
    grid = figure.add_gridspec(
        rows * blocks, wide, height_ratios=[*(height_ratios or [1] * rows)] * blocks
    )
    axes = np.empty((rows, columns), dtype=object)
    for row, column in np.ndindex(rows, columns):
        block, place = divmod(column, wide)
        x = {"none": None, "all": axes[0, 0], "col": axes[0, column]}[sharex]
        y = {"none": None, "all": axes[0, 0], "row": axes[row, 0]}[sharey]
        one = figure.add_subplot(grid[block * rows + row, place], sharex=x, sharey=y)
        one.tick_params(
            labelbottom=sharex == "none" or row == rows - 1,
            labelleft=sharey == "none" or place == 0,
        )
        axes[row, column] = one
    return figure, axes


def label_left(row: Sequence[Axes | None], text: str) -> None:
    """Labels the y axis of those of a row of :func:`panels` that have no panel to the left."""
    for number, axes in enumerate(row):
        if axes is None:
            continue
        place = axes.get_subplotspec()
        alone = bool(number) and row[number - 1] is None
        if place is None or place.is_first_col() or alone:
            axes.set_ylabel(text)
            axes.tick_params(labelleft=True)


def leave_out(figure: Figure, grid: Any, panel: tuple[int, int]) -> None:
    """Removes one of the panels that :func:`panels` has made, and the row if it is empty then."""
    place = grid[panel].get_subplotspec()
    grid[panel].remove()
    grid[panel] = None
    if isinstance(figure, PanelFigure) and figure.grid is not None:
        figure.grid[panel] = None
    rows = place.get_gridspec()
    others = (each.get_subplotspec() for each in figure.axes)
    if any(each is not None and each.rowspan == place.rowspan for each in others):
        return
    ratios = list(rows.get_height_ratios() or [1] * rows.nrows)
    gone = ratios[place.rowspan.start] / sum(ratios)
    ratios[place.rowspan.start] = 1e-3 * sum(ratios)
    rows.set_height_ratios(ratios)
    height = figure.get_figheight()
    figure.set_figheight(height - gone * (height - _AROUND))


def note_zeros(figure: Figure, names: Sequence[str]) -> None:
    """Notes which panels are left out because all their values are zero."""
    if names and isinstance(figure, PanelFigure):
        figure.note = f"Left out, because all values are zero: {', '.join(names)}."


def with_values(
    table: pl.DataFrame, paths: list[str], there: pl.Expr
) -> tuple[list[str], list[str]]:
    """The paths that have a row where ``there`` holds, and the others; all if none has one."""
    kept = [path for path in paths if table.filter((pl.col("path") == path) & there).height]
    return (kept, [each for each in paths if each not in kept]) if kept else (paths, [])


def note_of(figure: Figure) -> str:
    """A sentence for the figure's caption about what is left out; empty if nothing is."""
    return figure.note if isinstance(figure, PanelFigure) else ""


def finish(figure: Figure, title: str) -> Figure:
    """Adds a title wrapped to the figure's width, and fixes the layout."""
    width = int(figure.get_figwidth() * 13)
    size = 10.5
    if figure_style.current().width_in is not None:
        size, width = 9.5, int(figure.get_figwidth() * 12.5)
    if figure_style.current().theme.title:
        _write_title(figure, title, scaled(size), int(width / scaled(1)))
    if isinstance(figure, PanelFigure):
        figure.title = title
    if figure_style.current().width_in is not None:
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)  # gives the heights of the panels
        for axes in figure.axes:
            fitting = int(
                axes.get_position().height * figure.get_figheight() * _LETTERS / scaled(1)
            )
            axes.set_ylabel(wrapped(axes.get_ylabel(), max(fitting, 8)))
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")
    fix_labels(figure)
    return figure


def _write_title(figure: Figure, title: str, size: float, letters: int) -> None:
    """Wraps the title to about ``letters``, and to less where they are wide."""
    canvas: Any = figure.canvas
    for fewer in range(letters, letters // 2, -2):
        written = figure.suptitle("\n".join(textwrap.wrap(title, fewer)), fontsize=size)
        if written.get_window_extent(canvas.get_renderer()).width <= figure.bbox.width - 4:
            return


def stacked(figure: Figure) -> Figure | None:
    """Puts the panels of a finished figure below each other, for narrow screens.

    The figure is changed, so its files come first. It must have been drawn in a look without a
    width. ``None`` if it is narrow already, or its panels are not known.
    """
    if not isinstance(figure, PanelFigure) or not figure.can_stack():
        return None
    with styled():
        free_labels(figure)
        figure.stack()
        if figure.handles:
            figure.legends[0].remove()
            legend(figure, figure.handles)
        figure.set_layout_engine(OnePass())
        return finish(figure, figure.title)


def wrapped(text: str, letters: int) -> str:
    """``text`` in lines of at most ``letters``, broken at spaces.

    An algorithm's name that is longer is broken behind ``+``, ``:`` or ``,``; a part that is
    longer still has a line of its own.
    """
    lines = [""]
    for word in text.split(" "):
        parts = [word] if len(word) <= letters else re.split(r"(?<=[+:,])", word)
        for place, part in enumerate(parts):
            gap = " " if not place and lines[-1] else ""
            if lines[-1] and len(lines[-1] + gap + part) > letters:
                lines.append(part)
            else:
                lines[-1] += gap + part
    return "\n".join(lines)


def save(figure: Figure, folder: Path, name: str, *, png: bool = False) -> None:
    """Writes ``name.svg``, with text as outlines, for pages; with ``png`` also ``name.png``.

    Equal figures give equal bytes.
    """
    (folder / f"{name}.svg").write_bytes(outlined(figure))
    if png:
        _png(figure, folder / f"{name}.png")


def write(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes the figure in the formats of the current look, and returns the files.

    Text remains text: in SVG files as such, in PDF files as TrueType (type 42). Equal figures give
    equal bytes.
    """
    return _write(figure, folder, name, None)


def write_and_outline(figure: Figure, folder: Path, name: str) -> bytes:
    """As :func:`write`; returns what :func:`outlined` does, from the same drawing."""
    with styled():
        text, outlines = vector.both(figure)
    _write(figure, folder, name, text)
    return outlines


def _write(figure: Figure, folder: Path, name: str, svg: bytes | None) -> list[Path]:
    made = []
    for suffix in figure_style.current().formats:
        file = folder / f"{name}.{suffix}"
        if suffix == "svg":
            with styled():
                file.write_bytes(vector.with_text(figure) if svg is None else svg)
        elif suffix == "pdf":
            from matplotlib.backends.backend_pdf import FigureCanvasPdf

            with styled():
                page: Any = FigureCanvasPdf(figure)
                page.print_pdf(file, metadata={"CreationDate": None})
        else:
            _png(figure, file)
        made.append(file)
    if (height := figure_style.current().height_in) is not None:
        _check_height(figure, height)
    return made


def _check_height(figure: Figure, height: float) -> None:
    """Refuses a height at which the labels of vertical axes cover each other."""
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    labels = [each.yaxis.label for each in figure.axes if each.yaxis.label.get_text()]
    boxes = [each.get_window_extent(renderer) for each in labels]
    for place, one in enumerate(boxes):
        if any(one.overlaps(other) for other in boxes[place + 1 :]):
            raise InputError(
                f"--height {height:.3g}in leaves the labels of the axes no room: choose a larger "
                "height, more --panels side by side, or fewer algorithms"
            )


def outlined(figure: Figure) -> bytes:
    """The figure as SVG with its text as outlines, which looks the same everywhere."""
    with styled():
        return vector.outlined(figure)


def _png(figure: Figure, file: Path | io.BytesIO, dpi: int | None = None) -> None:
    with styled():
        before = figure.dpi
        usual = 300 if figure_style.current().width_in is not None else 150
        figure.set_dpi(dpi or usual)
        pixels: Any = FigureCanvasAgg(figure)
        pixels.print_png(file, metadata={"Software": None})
        figure.set_dpi(before)


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """Adds a legend below the figure, in as many columns as fit, with rows of similar length."""
    if isinstance(figure, PanelFigure):
        figure.handles = handles
    longest = max(len(str(each.get_label())) for each in handles)
    # 13.5 characters of 8.5 points fit on an inch; a handle and its gaps take the width of eight.
    fitting = max(1, int(figure.get_figwidth() * 13.5 / scaled(1) / (longest + 8)))
    rows = -(-len(handles) // fitting)
    figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))


def line_widths(count: int) -> list[float]:
    """Line widths for lines that may coincide: later lines, drawn on top, are thinner."""
    width = figure_style.current().theme.line_width
    scale = 1.0 if width is None else width / _STYLE["lines.linewidth"]
    return [scale * (1.2 + 1.5 * (count - 1 - place) / max(1, count - 1)) for place in range(count)]


def widen(axes: Axes, *, least: float) -> None:
    """Widens the x axis to at least ``least`` of its values, so that noise looks like noise."""
    low, high = axes.get_xlim()
    middle = (low + high) / 2
    half = max((high - low) / 2, least * abs(middle) / 2, 1e-9)
    axes.set_xlim(middle - half, middle + half)


def plain_log(axis: Axis) -> None:
    """Labels a logarithmic axis of fixed range with plain numbers, also at 2 and 5 if they fit.

    The ticks of a range of less than 5 % would all read alike, so such a range grows.
    """
    low, high = axis.get_view_interval()
    if high < 1.05 * low:
        low, high = low / 2, 2 * high
        (axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim)(low, high)
    if high < 5 * low:
        few_ticks(axis)
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    axis.set_major_formatter(PLAIN)
    axis.set_minor_formatter(NullFormatter())


def few_ticks(axis: Axis, *, whole: bool = False) -> None:
    """Limits the ticks to what fits a narrow panel, at integers if ``whole``."""
    axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 2.5, 5, 10), integer=whole))


def plural(count: int, noun: str) -> str:
    """``1 run`` or ``20 runs``, without a line break between."""
    return f"{count}\N{NO-BREAK SPACE}{noun}" + ("" if count == 1 else "s")


def plurals(counts: Collection[int], noun: str) -> str:
    """``4 runs``, or ``2 to 4 runs`` if the counts differ."""
    most = plural(max(counts), noun)
    return most if min(counts) == max(counts) else f"{min(counts)} to {most}"


def thin(time: Series, values: Series) -> tuple[Series, Series]:
    """Keeps the minimum and maximum of each part of a long series, so that spikes stay visible."""
    if len(time) <= _VERTICES:
        return time, values
    starts = np.linspace(0, len(time), _VERTICES // 2 + 1).astype(int)[:-1]
    part = np.repeat(np.arange(len(starts)), np.diff([*starts, len(time)]))
    chosen = np.zeros(len(time), dtype=bool)
    chosen[[0, -1]] = True
    # NaN is neither the least nor the most of a part, and a part of NaN alone has no vertex.
    known = ~np.isnan(values)
    for reduce, filled in (
        (np.minimum, np.where(known, values, np.inf)),
        (np.maximum, np.where(known, values, -np.inf)),
    ):
        extreme = reduce.reduceat(filled, starts)[part]
        places = np.flatnonzero(known & (filled == extreme))
        # The first of equal ones in each part.
        chosen[places[np.unique(part[places], return_index=True)[1]]] = True
    return time[chosen], values[chosen]


def numbers(frame: pl.DataFrame, name: str) -> Series:
    """A column as floats; null becomes NaN."""
    return frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
