"""The figures of the scorecard; each fits the width of a phone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from slowstart import plots
from slowstart.evaluation.jobs import BASELINES
from slowstart.figures import colors
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

    from slowstart.evaluation.scores import Reader, Value
    from slowstart.evaluation.table import Figure, Table

_WIDTH = 5.2
_INCH_OF_A_POINT = 0.34
_AXES = {
    "s": "seconds", "B": "", "%": "percent", "ms": "milliseconds", "x": "ratio",
    "Mbit/s": "Mbit/s", "segments": "segments", "BDP": "BDP", "": "",
}  # fmt: skip


def styles(algorithm: str, baselines: Sequence[str]) -> dict[str, colors.Style]:
    """The styles of the algorithms: the baselines have the same in every scorecard."""
    return colors.styles([*BASELINES, *baselines, algorithm])


def labels(figure: Figure, table: Table, *, quick: bool) -> list[Any]:
    """The points on the axis of a figure that were run."""
    setup = table.setups[figure.row.setup]
    (axis,) = (each for each in setup.axes if each.name == figure.axis)
    chosen = [point.label for point in axis.points]
    if quick and figure.axis in setup.kept:
        chosen = [each for each in chosen if each in setup.kept[figure.axis]]
    selected = figure.row.select.get(figure.axis)
    return [each for each in chosen if selected is None or each in selected]


def draw(
    figure: Figure, table: Table, reader: Reader, algorithm: str, baselines: Sequence[str], *,
    quick: bool,
) -> Picture | None:  # fmt: skip
    """A figure of the table, or nothing if no run has a value for it."""
    if figure.kind == "grid":
        return _grid(figure, table, reader, algorithm, quick=quick)
    points = labels(figure, table, quick=quick)
    found: dict[str, dict[int, Value]] = {}
    for name in (*baselines, algorithm):
        for place, label in enumerate(points):
            row = replace(figure.row, select={**figure.row.select, figure.axis: label})
            value = reader.value(row, name)
            if value is not None:
                found.setdefault(name, {})[place] = value
    if not found:
        return None
    style = styles(algorithm, baselines)
    with plots.styled():
        upright = figure.kind == "points"
        height = 1.6 + _INCH_OF_A_POINT * len(points) if upright else 3.4
        picture = plots.new_figure(_WIDTH, height)
        axes = picture.subplots()
        (_points if upright else _lines)(axes, found, style, algorithm)
        quantity = _AXES[figure.row.unit]
        if upright:
            axes.set_yticks(range(len(points)), [str(each) for each in points])
            axes.set_ylim(len(points) - 0.5, -0.5)
            axes.set_xlabel(quantity)
            if figure.row.unit == "B":
                axes.xaxis.set_major_formatter(
                    lambda value, _: tables.size(value) if value else "0"
                )
                axes.xaxis.set_major_locator(MaxNLocator(5))
            if figure.row.relation in ("ratio", "difference"):
                axes.axvline(figure.row.relation == "ratio", color="#777777", linewidth=0.8)
        else:
            axes.set_xticks(range(len(points)), [str(each) for each in points])
            axes.set_xlabel(figure.axis)
            axes.set_ylabel(quantity)
            if figure.log:
                axes.set_yscale("log")
                plots.plain_log(axes.yaxis)
            elif figure.row.relation is None:
                axes.set_ylim(bottom=0)
        plots.legend(picture, _handles(style, [algorithm, *baselines], algorithm, found))
        return plots.finish(picture, figure.title)


def _handles(
    style: Mapping[str, colors.Style],
    names: Sequence[str],
    algorithm: str,
    found: Mapping[str, Any],
) -> list[Line2D]:
    handles = []
    for name in names:
        if name in found:
            mine = name == algorithm
            look: Any = style[name].dashes
            handles.append(
                Line2D([], [], color=style[name].color, linestyle=look, marker=_marker(mine),
                       markersize=_size(mine), label=name)
            )  # fmt: skip
    return handles


def _marker(mine: bool) -> str:
    return "D" if mine else "o"


def _size(mine: bool) -> float:
    return 6.0 if mine else 4.0


def _points(
    axes: Axes, found: Mapping[str, Mapping[int, Value]], style: Mapping[str, colors.Style],
    algorithm: str,
) -> None:  # fmt: skip
    for number, (name, values) in enumerate(found.items()):
        apart = 0.6 * (number / max(1, len(found) - 1) - 0.5)
        mine = name == algorithm
        for place, value in values.items():
            y = place + apart
            if value.low is not None and value.high is not None:
                axes.plot(
                    [value.low, value.high], [y, y], color=style[name].color, linewidth=1, alpha=0.4
                )
            axes.plot(value.value, y, _marker(mine), color=style[name].color,
                      markersize=_size(mine), zorder=3 + mine)  # fmt: skip


def _lines(
    axes: Axes, found: Mapping[str, Mapping[int, Value]], style: Mapping[str, colors.Style],
    algorithm: str,
) -> None:  # fmt: skip
    for name, values in found.items():
        mine = name == algorithm
        places = list(values)
        axes.plot(places, [each.value for each in values.values()], marker=_marker(mine),
                  color=style[name].color, linestyle=style[name].dashes, markersize=_size(mine),
                  linewidth=2.2 if mine else 1.2, zorder=3 + mine)  # fmt: skip
        bands = [(x, each.low, each.high) for x, each in values.items() if each.low is not None]
        axes.fill_between([x for x, _, _ in bands], [low for _, low, _ in bands],
                          [high or 0.0 for _, _, high in bands],
                          color=style[name].color, alpha=0.12, linewidth=0)  # fmt: skip


def _grid(figure: Figure, table: Table, reader: Reader, algorithm: str, *, quick: bool) -> Picture:
    """A table of one algorithm's values, coloured, for each value of a third axis."""
    setup = table.setups[figure.row.setup]
    by_name = {axis.name: [point.label for point in axis.points] for axis in setup.axes}
    kept = {**by_name, **({name: list(each) for name, each in setup.kept.items()} if quick else {})}
    columns, lines = kept[figure.axis], kept[str(figure.rows)]
    panels = kept[str(figure.panels)]
    with plots.styled():
        picture = plots.new_figure(_WIDTH, 0.9 + 1.45 * len(panels))
        for axes, panel in zip(picture.subplots(len(panels), 1, squeeze=False)[:, 0], panels,
                               strict=True):  # fmt: skip
            values = []
            for line in lines:
                cells = []
                for column in columns:
                    select = {
                        figure.axis: column,
                        str(figure.rows): line,
                        str(figure.panels): panel,
                    }
                    found = reader.value(replace(figure.row, select=select), algorithm)
                    cells.append(float("nan") if found is None else found.value)
                values.append(cells)
            axes.imshow(values, cmap="RdYlBu", vmin=0.5, vmax=1.5, aspect="auto")
            for y, cells in enumerate(values):
                for x, value in enumerate(cells):
                    if value == value:
                        axes.text(x, y, tables.number(value, 2), ha="center", va="center",
                                  fontsize=8, path_effects=plots.OUTLINE)  # fmt: skip
            axes.grid(visible=False)
            axes.set_xticks(range(len(columns)), [str(each) for each in columns])
            axes.set_yticks(range(len(lines)), [str(each) for each in lines])
            axes.set_title(f"buffer of {panel}")
        return plots.finish(picture, f"{figure.title}: {algorithm}")
