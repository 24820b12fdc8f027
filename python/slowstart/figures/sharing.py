"""The figure of flows that share a path: what each name gets of it, against an equal share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.lines import Line2D

from slowstart.figures import colors
from slowstart.figures.canvas import finish, legend, panels, styled
from slowstart.labels import displayed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

_NUMBERS = ("share", "share_low", "share_high", "equal_share", "harm", "harm_low", "harm_high",
            "own_harm")  # fmt: skip
CAPTION = (
    "Share of the sum of all goodputs that the flows of each name get, a row for each scenario: "
    "median and its 95 % interval over runs. Grey: the share if all flows had the same goodput."
)


def mixed(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of names that share a path with another one, with numbers as such."""
    rows = table.filter(pl.col("share").is_not_null())
    return rows.with_columns(pl.col(each).cast(pl.Float64) for each in _NUMBERS)


def sharing(table: pl.DataFrame, names: Sequence[str]) -> Figure:
    """The shares, one row for each scenario, and one panel for each path.

    Args:
        table: The rows of :func:`mixed`.
        names: All names in the result.
    """
    styles = colors.styles(names)
    paths = table["path"].unique(maintain_order=True).to_list()
    most = max(table.filter(pl.col("path") == path)["names"].n_unique() for path in paths)
    with styled():
        figure, (grid,) = panels(max(5.2, 0.8 + 3.1 * len(paths)), 1.5 + 0.45 * most, 1, len(paths))
        for axes, path in zip(grid, paths, strict=True):
            mine = table.filter(pl.col("path") == path)
            mixes = mine["names"].unique(maintain_order=True).to_list()
            axes.set_title(path, fontweight="bold")
            for row in mine.iter_rows(named=True):
                beside = mine.filter(pl.col("names") == row["names"])["name"].to_list()
                place = mixes.index(row["names"]) + 0.3 * (
                    beside.index(row["name"]) / max(1, len(beside) - 1) - 0.5
                )
                color, share = styles[row["name"]].color, 100 * row["share"]
                low, high = row["share_low"], row["share_high"]
                equal = 100 * row["equal_share"]
                axes.plot([equal, equal], [place - 0.12, place + 0.12], color=colors.GREY)
                if low is not None and high is not None:
                    axes.plot([100 * low, 100 * high], [place, place], color=color)
                axes.plot(share, place, "o", color=color)
            axes.set_yticks([])
            axes.set_ylim(len(mixes) - 0.5, -0.5)
            axes.set_xlim(0, 100)
            axes.set_xlabel("share of all goodput (%)")
        shown = [name for name in names if name in table["name"].to_list()]
        handles = [
            Line2D([], [], color=styles[name].color, marker="o", label=displayed(name))
            for name in shown
        ]
        legend(figure, handles)
        return finish(figure, "How flows share the path")
