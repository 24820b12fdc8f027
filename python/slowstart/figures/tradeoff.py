"""Throughput against delay, with an ellipse for the scatter over runs.

The form of the figure is that of Yan et al., "Pantheon: the training ground for Internet
congestion-control research", 2018: delay grows to the left, so that better is up and to the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from slowstart.figures import colors
from slowstart.figures.canvas import (
    few_ticks,
    finish,
    label_left,
    legend,
    panels,
    plural,
    styled,
    widen,
)
from slowstart.labels import displayed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

# Fewer points have no ellipse: their covariance says little.
_FEWEST = 6
_MARKS = "osD^vP*X<>"
CAPTION = (
    "Goodput against the 95th percentile of the RTT, which grows to the left: better is up and to "
    "the right. Small points are flows, a large one is the mean, and the ellipse is one standard "
    "deviation of both around it (from six flows on)."
)


def throughput_delay(flows: pl.DataFrame, names: Sequence[str]) -> Figure:
    """Goodput against the 95th percentile of the RTT of each flow, a panel for each path.

    Args:
        flows: The table of flows of a result.
        names: All names in the result.
    """
    styles = colors.styles(names)
    both = flows.drop_nulls(["goodput_bps", "rtt_p95_ms"])
    paths = both["path"].unique(maintain_order=True).to_list()
    marks = {name: _MARKS[place % len(_MARKS)] for place, name in enumerate(names)}
    with styled():
        figure, (grid,) = panels(max(5.2, 0.8 + 3.1 * len(paths)), 3.8, 1, len(paths))
        for axes, path in zip(grid, paths, strict=True):
            axes.set_title(path, fontweight="bold")
            for name in names:
                here = (pl.col("path") == path) & (pl.col("name") == name)
                points = both.filter(here).select(
                    pl.col("rtt_p95_ms").cast(pl.Float64), pl.col("goodput_bps") / 1e6
                )
                if not points.is_empty():
                    _draw(axes, points.to_numpy(), styles[name].color, marks[name])
            axes.margins(0.12)
            widen(axes, least=0.1)
            few_ticks(axes.xaxis)
            few_ticks(axes.yaxis)
            axes.set_ylim(bottom=max(0.0, axes.get_ylim()[0]))
            axes.xaxis.set_inverted(True)
            axes.set_xlabel("95th percentile of RTT (ms)")
        label_left(grid, "goodput (Mbit/s)")
        handles = [
            Line2D(
                [],
                [],
                color=styles[name].color,
                marker=marks[name],
                linestyle="",
                label=displayed(name),
            )
            for name in names
        ]
        legend(figure, handles)
        count = plural(both["run"].n_unique(), "run")
        return finish(figure, f"Goodput against delay, {count} of each algorithm")


def _draw(axes: Axes, points: NDArray[np.float64], color: str, mark: str) -> None:
    """The points of one algorithm, their mean, and the ellipse of their covariance."""
    middle = points.mean(axis=0)
    if len(points) > 1:
        axes.plot(*points.T, mark, color=color, markersize=2.5, alpha=0.35, markeredgewidth=0)
    if len(points) >= _FEWEST:
        lengths, directions = np.linalg.eigh(np.cov(points.T))
        half = np.sqrt(np.maximum(lengths, 0))
        angle = np.degrees(np.arctan2(directions[1, 1], directions[0, 1]))
        axes.add_patch(
            Ellipse(tuple(middle), 2 * half[1], 2 * half[0], angle=angle, facecolor=color,
                    edgecolor=color, alpha=0.2, linewidth=1)
        )  # fmt: skip
    axes.plot(*middle, mark, color=color, markersize=7, markeredgecolor="white", zorder=4)
