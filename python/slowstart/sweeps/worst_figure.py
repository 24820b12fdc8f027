"""The picture of a search: its values in order, and both algorithms at the worst path."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart.figures import colors
from slowstart.figures.canvas import finish, legend, new_figure, plain_log, plural, styled
from slowstart.running import run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slowstart.sweeps.adversary import Worst

_DOTS = (colors.SKY_BLUE, colors.ORANGE, colors.GREEN, colors.PURPLE, colors.YELLOW, colors.INDIGO)
_LABELS = {
    "completion": "completion time, as a ratio",
    "cost": "time lost against an ideal exit (s)",
    "harm": "completion of the other flow, as a ratio",
}


def draw(found: Worst) -> Figure:
    """The search beside the data that each algorithm delivers at the worst path."""
    with styled():
        figure = new_figure(9.2, 4.4)
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
        handles = _trace(left, found) + _delivered(right, found)
        legend(figure, handles)
        points = plural(len(found.search.seen), "path")
        return finish(figure, f"{found.sentence()}; {points} searched")


def _trace(axes: Axes, found: Worst) -> list[Line2D]:
    search = found.search
    values = np.array([each.value for each in search.seen])
    starts = np.array([each.start for each in search.seen])
    number = np.arange(1, len(values) + 1)
    handles = []
    for start in range(len(search.space.starts)):
        here = starts == start
        said = ", ".join(map(str, search.space.labels(start).values())) or "searched paths"
        color = _DOTS[start % len(_DOTS)]
        axes.plot(number[here], values[here], ".", color=color, markersize=3, alpha=0.6)
        handles.append(Line2D([], [], color=color, marker="o", linestyle="", label=said))
    axes.plot(number, np.maximum.accumulate(values), color=colors.BLACK, drawstyle="steps-post")
    handles.append(Line2D([], [], color=colors.BLACK, label="largest so far"))
    axes.axhline(search.objective.nothing, color=colors.GREY, linewidth=0.8, linestyle=":")
    worst = found.worst
    middle = np.array([[worst.value]])
    around = None
    if worst.low is not None and worst.high is not None:
        around = np.array([[worst.value - worst.low], [worst.high - worst.value]])
    axes.errorbar(len(values) * 1.03, middle[0], yerr=around, fmt="D", color=colors.VERMILLION,
                  markersize=5, capsize=3, clip_on=False)  # fmt: skip
    handles.append(
        Line2D(
            [], [], color=colors.VERMILLION, marker="D", linestyle="", label="worst, fresh seeds"
        )
    )
    if search.objective.unit == "x":
        axes.set_yscale("log")
        plain_log(axes.yaxis)
    axes.set_xlabel("evaluation")
    axes.set_ylabel(_LABELS[search.objective.name])
    axes.set_title("The lower end of the interval of each path", fontsize="small")
    return handles


def _delivered(axes: Axes, found: Worst) -> list[Line2D]:
    scenarios = found.scenarios()
    names = list(found.search.algorithms)
    styles = colors.styles(names)
    flow = 1 if found.search.objective.others else 0
    handles = []
    for place, name in enumerate(names):
        one = run(scenarios[place], traces=True)
        series = pl.DataFrame(one.flow_traces()).filter(pl.col("flow") == flow)
        series = series.drop_nulls("delivered_bytes")
        style = styles[name]
        handles += axes.plot(
            series["time_s"], series["delivered_bytes"] / 1e6, color=style.color,
            linestyle=style.dashes, label=f"beside {name}" if flow else name,
        )  # fmt: skip
    begin = min(float(line.get_xdata()[0]) for line in handles)  # type: ignore[index,arg-type]
    axes.set_xlim(left=begin)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time in the run (s)")
    axes.set_ylabel("delivered data (MB)")
    words = ", ".join(f"{name} {value}" for name, value in found.path().items())
    axes.set_title(textwrap.fill(words, 56), fontsize="small")
    return handles
