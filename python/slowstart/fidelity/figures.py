"""Figures of the validation: errors by quantity and by case, and the worst trajectories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from slowstart import stats
from slowstart.fidelity.judge import MEDIAN_BOUND, P95_BOUND
from slowstart.fidelity.quantities import QUANTITIES
from slowstart.figures import colors
from slowstart.plots import PLAIN, finish, legend, new_figure, plural, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.fidelity.compare import Difference
    from slowstart.fidelity.grid import Case


# Errors are clipped to this range, in percent, because a logarithmic scale has no zero.
_LEAST, _MOST = 0.01, 200.0
_COLUMNS = 3
_KERNEL, _SIMULATED = colors.BLACK, colors.VERMILLION


def distributions(differences: Sequence[Difference], name: str) -> Figure:
    """The CDF of the absolute error of each quantity, and that of the kernel's own spread."""
    shown = [q for q in QUANTITIES if any(d.quantity == q for d in differences)]
    rows = -(-len(shown) // 4)
    with styled():
        figure = new_figure(11.0, 0.9 + 2.3 * rows)
        grid = figure.subplots(rows, 4, squeeze=False, sharex=True, sharey=True)
        for axes, quantity in zip(grid.flat, shown, strict=False):
            group = [d for d in differences if d.quantity == quantity]
            for values, color, width in (
                ([d.spread for d in group if d.spread is not None], _KERNEL, 1.0),
                ([abs(d.error) for d in group], _SIMULATED, 1.8),
            ):
                if not values:
                    continue
                steps, fractions = stats.ecdf(_percent(value) for value in values)
                axes.plot(
                    [_LEAST, *steps, _MOST], [0, *fractions, fractions[-1]],
                    drawstyle="steps-post", color=color, linewidth=width,
                )  # fmt: skip
            axes.axvline(100 * MEDIAN_BOUND, color="#777777", linewidth=0.8, linestyle="--")
            axes.axvline(100 * P95_BOUND, color="#777777", linewidth=0.8, linestyle=":")
            axes.set_title(f"{quantity.label} ({plural(len(group), 'case')})", fontsize=8.5)
            axes.set_xlim(_LEAST, _MOST)
            axes.set_ylim(0, 1.02)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(PLAIN)
        for axes in list(grid.flat)[len(shown) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("CDF of cases")
        for place, axes in enumerate(grid.flat[: len(shown)]):
            if place + 4 >= len(shown):
                axes.set_xlabel("error (%)")
                axes.tick_params(labelbottom=True)
        handles = [
            Line2D([], [], color=_SIMULATED, linewidth=1.8, label="simulation against kernel"),
            Line2D([], [], color=_KERNEL, linewidth=1.0, label="spread of the kernel's runs"),
            Line2D([], [], color="#777777", linestyle="--", label="3 %, bound of the median"),
            Line2D([], [], color="#777777", linestyle=":", label="10 %, bound of 95 % of cases"),
        ]
        legend(figure, handles)
        runs = sorted({d.runs for d in differences})
        title = f"Error of the simulation against {name}, {_runs(runs)}"
        return finish(figure, title)


def _runs(runs: Sequence[tuple[int, int]]) -> str:
    counts = [count for pair in runs for count in pair]
    low, high = min(counts), max(counts)
    each = plural(low, "run") if low == high else f"{low} to {high} runs"
    return f"{each} of each case on each stack"


def _percent(fraction: float) -> float:
    return min(_MOST, max(_LEAST, 100 * abs(fraction)))


def by_case(differences: Sequence[Difference], algorithm: str) -> Figure:
    """All errors of one algorithm: a row per path, a column per quantity."""
    group = [d for d in differences if d.case.algorithm == algorithm]
    paths = list(dict.fromkeys(d.case.path.name for d in group))
    shown = [q for q in QUANTITIES if any(d.quantity == q for d in group)]
    table = np.full((len(paths), len(shown)), np.nan)
    for each in group:
        table[paths.index(each.case.path.name), shown.index(each.quantity)] = 100 * each.error
    with styled():
        figure = new_figure(3.2 + 0.78 * len(shown), 1.9 + 0.24 * len(paths))
        axes = figure.subplots()
        image = axes.imshow(
            np.clip(table, -_COLOR_LIMIT, _COLOR_LIMIT), cmap="PuOr", vmin=-_COLOR_LIMIT,
            vmax=_COLOR_LIMIT, aspect="auto",
        )  # fmt: skip
        for row, column in np.ndindex(table.shape):
            _write_error(axes, row, column, float(table[row, column]))
        axes.set_xticks(
            range(len(shown)), [q.label for q in shown], rotation=35, ha="right", fontsize=8
        )
        axes.set_yticks(range(len(paths)), paths, fontsize=7.5)
        axes.grid(visible=False)
        bar = figure.colorbar(image, ax=axes, shrink=0.6)
        bar.set_label("simulation against kernel (%)")
        runs = sorted({d.runs for d in group})
        # The first layout underestimates the width of the labels.
        figure.draw_without_rendering()
        return finish(figure, f"{algorithm}: error of each quantity on each path, {_runs(runs)}")


_COLOR_LIMIT = 10.0


def _write_error(axes: Axes, row: int, column: int, error: float) -> None:
    if math.isnan(error):
        return
    text = "one stack" if math.isinf(error) else f"{error:+.1f}"
    color = "white" if abs(error) > 0.75 * _COLOR_LIMIT else "black"
    axes.text(column, row, text, ha="center", va="center", fontsize=6.5, color=color)


def trajectories(
    cases: Sequence[tuple[Case, str]],
    load: Callable[[Case, str], list[dict[str, Any]]],
    kernel: str,
) -> Figure:
    """Window over time of ``cases``, with all runs of both stacks overlaid.

    Args:
        cases: The cases, each with a line about its error.
        load: Returns the finished runs of a case on a stack.
        kernel: The stack to compare the simulation with.
    """
    rows = -(-len(cases) // _COLUMNS)
    with styled():
        figure = new_figure(11.0, 0.8 + 2.6 * rows)
        grid = figure.subplots(rows, _COLUMNS, squeeze=False)
        for axes, (case, words) in zip(grid.flat, cases, strict=False):
            numbers = {run["run"] for run in load(case, kernel) if run["valid"]}
            for stack, color in ((kernel, _KERNEL), ("simulated", _SIMULATED)):
                runs = [run for run in load(case, stack) if run["run"] in numbers]
                for run in runs:
                    time, cwnd, _ = zip(*run["trajectory"], strict=True)
                    axes.plot(time, cwnd, color=color, linewidth=0.9, alpha=0.75)
                    if run["exit_s"] is not None:
                        axes.plot(run["exit_s"], run["exit_cwnd"], "v", color=color, markersize=5)
            axes.set_title(f"{case.name}\n{words}", fontsize=7.5)
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        for axes in list(grid.flat)[len(cases) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("cwnd (segments)")
        for axes in list(grid.flat)[max(0, len(cases) - _COLUMNS) : len(cases)]:
            axes.set_xlabel("time (s)")
        handles = [
            Line2D([], [], color=_KERNEL, label=f"{kernel}"),
            Line2D([], [], color=_SIMULATED, label="simulated"),
            Line2D([], [], color="#777777", marker="v", linestyle="", label="slow-start exit"),
        ]
        legend(figure, handles)
        return finish(figure, "Largest errors: all runs of both stacks")
