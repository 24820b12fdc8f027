"""The figures."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from slowstart import plots
from slowstart.figures import colors
from slowstart.studies.bands import plain

from .numbers import bounds, taken
from .workload import BY_TEST, CLASSIC, HYSTART, IDEAL, SEARCH, cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    from .workload import Cells

_COLORS = {
    CLASSIC: colors.BLACK,
    HYSTART: colors.ORANGE,
    SEARCH: colors.BLUE,
    "SEARCH, draft": colors.SKY_BLUE,
    "SEARCH 3.1": colors.GREEN,
    "SEARCH 2.0": colors.PURPLE,
}
# How slow start ends, with a colour and a hatch.
_ENDS = {
    "by a test": (colors.BLUE, ""),
    "congestion": (colors.VERMILLION, "//"),
    "not ended": ("#dddddd", ""),
}
_GREY = "#777777"
# Costs are drawn on a linear scale up to this, beyond it on a logarithmic one.
_LINEAR_S = 0.01
_TICKS_S = (-100.0, -10.0, -1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0, 10.0, 100.0)


def _startups(made: Cells) -> list[str]:
    return [each for each in _COLORS if each in made.arms and each != IDEAL]


def _runs(made: Cells) -> str:
    return f"{plots.plural(made.seeds, 'run')} of each"


def kinds_figure(findings: Findings, _: Drawing, stack: Stack) -> Figure | None:
    """For each start-up: the fractions of the connections of each kind by the end of slow start."""
    made = cells(findings, stack)
    if made is None:
        return None
    kinds = made.kinds()
    mine = np.array([kind for _, kind, _ in made.keys])
    startups = _startups(made)
    with plots.styled():
        figure = plots.new_figure(2.6 + 1.75 * len(startups), 0.9 + 0.36 * len(kinds))
        grid = np.atleast_1d(figure.subplots(1, len(startups), sharey=True))
        for axes, startup in zip(grid, startups, strict=True):
            arm = made.arms[startup]
            left = np.zeros(len(kinds))
            parts = {
                "by a test": arm.by_test,
                "congestion": arm.exited - arm.by_test,
                "not ended": 1 - arm.exited,
            }
            for name, values in parts.items():
                width = np.array([100 * values[mine == kind].mean() for kind in kinds])
                color, hatch = _ENDS[name]
                axes.barh(range(len(kinds)), width, 0.72, left, color=color, hatch=hatch,
                          edgecolor="white", linewidth=0)  # fmt: skip
                left += width
            axes.set_title(startup, fontweight="bold")
            axes.set_xlim(0, 100)
            axes.set_xticks([0, 50, 100])
            axes.set_xlabel("connections (%)")
            axes.grid(visible=False, axis="y")
        _rows_from_above(grid[0], [textwrap.fill(each, 22) for each in kinds])
        handles = [
            Patch(facecolor=color, hatch=hatch, edgecolor="white", linewidth=0, label=name)
            for name, (color, hatch) in _ENDS.items()
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, f"How slow start ends: {_runs(made)} cell")


def _rows_from_above(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _range(axes: Axes, place: float, found: Any, color: str) -> None:
    """A number with its interval, over its reach."""
    if found.reach is not None:
        axes.plot(found.reach, [place, place], color=color, linewidth=1.2, alpha=0.5,
                  marker="|", markersize=9)  # fmt: skip
    if found.low is not None:
        axes.plot([found.low, found.high], [place, place], color=color, linewidth=4, alpha=0.55,
                  solid_capstyle="butt")  # fmt: skip
    axes.plot([found.value], [place], "o", color=color, markersize=5, zorder=4)


def rates_figure(findings: Findings, _: Drawing, stack: Stack) -> Figure | None:
    """Exits by a test of each start-up, beside the published ones."""
    made = cells(findings, stack)
    if made is None:
        return None
    startups = [each for each in _startups(made) if each != CLASSIC]
    with plots.styled():
        figure = plots.new_figure(7.2, 0.9 + 0.42 * len(startups))
        axes = figure.subplots()
        for place, startup in enumerate(startups):
            found = taken(made, {"quantity": "by test", "startup": startup})
            if found is not None:
                _range(axes, place, found, _COLORS[startup])
            if startup in BY_TEST:
                axes.plot([100 * BY_TEST[startup]], [place], "D", markerfacecolor="none",
                          markeredgecolor=colors.BLACK, markersize=8, zorder=5)  # fmt: skip
        _rows_from_above(axes, startups)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("exits by a test (% of the exits)")
        axes.grid(visible=False, axis="y")
        handles = [
            Line2D([], [], color=_GREY, marker="o", linewidth=4, alpha=0.8, label="kinds alike"),
            Line2D([], [], color=_GREY, marker="|", linewidth=1.2, label="any allowed workload"),
            Line2D([], [], color=colors.BLACK, marker="D", markerfacecolor="none", linestyle="",
                   label="published"),
        ]  # fmt: skip
        plots.legend(figure, handles)
        return plots.finish(figure, f"Exits by a test: {_runs(made)} connection")


def costs_figure(findings: Findings, _: Drawing, stack: Stack) -> Figure | None:
    """The cost of every exit by a test, for each kind of upload."""
    made = cells(findings, stack)
    if made is None:
        return None
    startups = [each for each in _startups(made) if made.arms[each].by_test.any()]
    kinds = [
        kind
        for kind in made.kinds()
        if any(made.arms[each].by_test[_rows(made, kind)].any() for each in startups)
    ]
    if not kinds:
        return None
    with plots.styled():
        figure = plots.new_figure(7.4, 1.0 + 0.16 * len(kinds) * (len(startups) + 1))
        axes = figure.subplots()
        step = 0.8 / len(startups)
        for place, kind in enumerate(kinds):
            rows = _rows(made, kind)
            for number, startup in enumerate(startups):
                chosen = made.arms[startup].by_test[rows] > 0
                costs = np.sort(made.cost(startup)[rows][chosen])
                at = place + (number - (len(startups) - 1) / 2) * step
                axes.plot(costs, np.full(len(costs), at), "|", color=_COLORS[startup],
                          markersize=5, alpha=0.6)  # fmt: skip
                if len(costs):
                    axes.plot([float(costs.mean())], [at], "o", color=_COLORS[startup],
                              markersize=4.5, markeredgecolor="white", zorder=4)  # fmt: skip
        axes.axvline(0, color=_GREY, linewidth=0.8, zorder=1)
        axes.set_xscale("symlog", linthresh=_LINEAR_S)
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, -_LINEAR_S), max(high, _LINEAR_S))
        ticks = [each for each in _TICKS_S if low <= each <= high] or [0.0]
        axes.set_xticks(ticks, [plain(each) for each in ticks])
        _rows_from_above(axes, [textwrap.fill(each, 22) for each in kinds])
        axes.set_xlabel("cost of the exit (s): circles are means")
        axes.grid(visible=False, axis="y")
        handles = [
            Line2D([], [], color=_COLORS[each], marker="o", linestyle="", label=each)
            for each in startups
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, f"Cost of exits by a test: {_runs(made)} cell")


def _rows(made: Cells, kind: str) -> Any:
    return np.array([each == kind for _, each, _ in made.keys])


def identified_figure(findings: Findings, _: Drawing, stack: Stack) -> Figure | None:
    """What the published counts allow for the mean cost of an exit by a test."""
    made = cells(findings, stack)
    if made is None:
        return None
    startups = [each for each in BY_TEST if each in made.arms]
    with plots.styled():
        figure = plots.new_figure(7.2, 1.0 + 0.5 * len(startups))
        axes = figure.subplots()
        for place, startup in enumerate(startups):
            color = _COLORS[startup]
            found = taken(made, {"quantity": "cost", "startup": startup})
            if found is not None and found.reach is not None:
                low, high = found.reach
                axes.barh(place, high - low, 0.5, low, color=color, alpha=0.25)
                axes.plot([found.value], [place], "o", color=color, markersize=7, zorder=4,
                          markeredgecolor="white")  # fmt: skip
            inside = bounds(made, startup)
            if inside is not None:
                low, high = inside
                axes.barh(place, high - low, 0.22, low, color=color, alpha=0.8)
        axes.axvline(0, color=_GREY, linewidth=0.8)
        _rows_from_above(axes, startups)
        axes.set_xlabel("mean cost of an exit by the test (s)")
        axes.grid(visible=False, axis="y")
        return plots.finish(figure, f"What the counts allow: {_runs(made)} connection")
