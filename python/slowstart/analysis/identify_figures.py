"""Figures of ``slowstart validate identify``: confusion matrix and reliability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart import plots
from slowstart.analysis.identify_truth import CANNOT, NONE, PLACES
from slowstart.figures import colors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _where(place: str) -> str:
    """A place of capture, or the stack whose qlog it was."""
    return f"captured at the {place}" if place in PLACES else f"qlogs of {place}"


def confusion(scored: dict[str, Any], place: str) -> Figure:
    """Draws true start-ups against answers, in per cent of the flows of each start-up.

    A set with the true start-up in it counts as the true one.
    """
    matrix = scored["confusion"]
    last = (NONE, CANNOT)
    said = {each for line in matrix.values() for each in line}
    names, columns = (
        [*sorted(chosen - set(last)), *(each for each in last if each in chosen)]
        for chosen in (set(matrix), set(matrix) | said)
    )
    share = np.array([
        [100 * matrix[truth].get(name, 0) / max(sum(matrix[truth].values()), 1) for name in columns]
        for truth in names
    ])  # fmt: skip
    figure = plots.new_figure(9.0, 7.5)
    axes = figure.add_subplot(1, 1, 1)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False)
    for row, column in np.argwhere(share > 0):
        value = share[row, column]
        axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize="small",
                  color="white" if value > 60 else "black")  # fmt: skip
    axes.set_xlabel("answer")
    axes.set_ylabel("true start-up")
    figure.colorbar(image, ax=axes, label="flows of the true start-up (%)")
    flows = scored["all"]["flows"]
    return plots.finish(figure, f"Identified start-ups, {_where(place)} ({flows} flows)")


def reliability(scored: dict[str, Any]) -> Figure:
    """Draws how often answers are right over the probability that they state."""
    figure = plots.new_figure(6.0, 5.0)
    axes = figure.add_subplot(1, 1, 1)
    axes.plot([0, 100], [0, 100], color="0.6", linewidth=1.0, label="as stated")
    for (place, each), color, marker in zip(
        scored.items(), (colors.BLUE, colors.ORANGE), ("o", "s"), strict=False
    ):
        name = _where(place)
        points = each["reliability"]
        axes.plot([100 * one["probability"] for one in points],
                  [100 * one["right"] for one in points],
                  color=color, marker=marker, label=name)  # fmt: skip
    axes.set_xlabel("stated probability (%)")
    axes.set_ylabel("right (%)")
    axes.set_xlim(0, 102)
    axes.set_ylim(0, 102)
    axes.legend(loc="upper left")
    return plots.finish(figure, "Reliability of --identify")
