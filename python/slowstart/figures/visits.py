"""The figure of visits: completion and losses of each, and what Careful Resume made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.lines import Line2D

from slowstart.figures import colors
from slowstart.figures.canvas import finish, legend, new_figure, styled
from slowstart.labels import displayed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A marker for each end of a visit with saved state, and its words.
_ENDS = {
    "validated": ("o", "jump validated"),
    "retreated": ("X", "safe retreat"),
    "unused": ("s", "jump not used"),
    "other-rtt": ("D", "RTT of another path"),
    "no-gain": ("v", "no jump: no gain"),
    "congested": ("^", "congestion before the jump"),
}


def visits(table: pl.DataFrame, names: Sequence[str], rates: Mapping[int, float]) -> Figure:
    """Completion time and lost segments of each visit, with the rate of the bottleneck.

    Args:
        table: What :func:`slowstart.visits.visits` returns, for one path.
        names: All names in the result.
        rates: The rate of the bottleneck at the start of each visit (Mbit/s); empty if it does not
            change in steps.
    """
    styles = colors.styles(names)
    count = 3 if rates else 2
    with styled():
        figure = new_figure(8.0, 1.2 + 1.7 * count)
        panels = list(figure.subplots(count, 1, sharex=True))
        if rates:
            _rate(panels.pop(0), rates)
        _numbers(panels[0], table, "fct_s", styles)
        panels[0].set_ylabel("completion (s)")
        _numbers(panels[1], table, "segments_lost", styles)
        panels[1].set_ylabel("lost segments")
        panels[1].set_xlabel("visit")
        legend(figure, [*panels[0].get_legend_handles_labels()[0], *_marks(table)])
        return finish(figure, "Visits of one client to one server")


def _rate(axes: Axes, rates: Mapping[int, float]) -> None:
    axes.step(list(rates), list(rates.values()), where="mid", color=colors.GREY)
    axes.set_ylim(0, 1.1 * max(rates.values()))
    axes.set_ylabel("bottleneck\n(Mbit/s)")


def _numbers(
    axes: Axes, table: pl.DataFrame, column: str, styles: Mapping[str, colors.Style]
) -> None:
    """The median over the runs by visit, a mark where saved state was used in the first of them."""
    for name in table["name"].unique(maintain_order=True):
        mine = table.filter(pl.col("name") == name)
        median = mine.group_by("visit", maintain_order=True).agg(pl.col(column).median())
        style = styles[name]
        axes.plot(median["visit"], median[column], color=style.color, linestyle=style.dashes,
                  label=displayed(name))  # fmt: skip
        ends = mine.filter(pl.col("run") == mine["run"].min()).drop_nulls("end")
        heights = dict(median.iter_rows())
        for visit, end in ends.select("visit", "end").iter_rows():
            axes.plot(visit, heights[visit], _ENDS[end][0], color=style.color)
    axes.set_ylim(bottom=0)


def _marks(table: pl.DataFrame) -> list[Line2D]:
    found = table["end"].drop_nulls().unique().to_list()
    return [
        Line2D([], [], marker=marker, linestyle="", color=colors.GREY, label=words)
        for end, (marker, words) in _ENDS.items()
        if end in found
    ]
