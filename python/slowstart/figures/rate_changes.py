"""The figure of a path whose rate or RTT changes: rates, and what rises cost each algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from slowstart.figures import colors
from slowstart.figures.canvas import finish, legend, line_widths, new_figure, styled
from slowstart.labels import displayed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Capacity = tuple[Sequence[float], Sequence[float]]

# What is shown before the first change.
_BEFORE_S = 1.0
_WHEN = ("before", "after")


def rate_changes(
    links: Mapping[str, tuple[Numbers, Numbers]],
    changes: pl.DataFrame,
    capacity: Capacity,
    base_rtt_s: float,
    names: Sequence[str],
) -> Figure:
    """What the bottleneck carries over time, and for each rise of its BDP the time lost.

    Args:
        links: What the bottleneck carried in one run, by the name of the flows: times, and bytes.
        changes: What :func:`slowstart.capacity_changes.rate_changes` returns, for all names.
        capacity: Times at which the path has a new rate or RTT, and the rates (Mbit/s).
        base_rtt_s: Half a bin of the rate that is drawn.
        names: All names in the result.
    """
    styles = colors.styles(names)
    before, after = (pl.col(f"{when}_bps") * pl.col(f"{when}_rtt_ms") for when in _WHEN)
    rises = changes.filter(after > before)
    new_rtts = changes.filter(pl.col("after_rtt_ms") != pl.col("before_rtt_ms"))
    with styled():
        figure = new_figure(9.2, 3.2 + 0.22 * len(links))
        left, right = figure.subplots(1, 2, width_ratios=(2.0, 1.0))
        _rates(left, links, capacity, max(2 * base_rtt_s, 0.05), names)
        for at, rtt in sorted(set(new_rtts.select("change_s", "after_rtt_ms").iter_rows())):
            left.axvline(at, color=colors.GREY, linewidth=0.8, linestyle=":")
            left.annotate(f"RTT {rtt:g} ms", (at, 0), (3, 3), textcoords="offset points",
                          fontsize="small", color=colors.GREY)  # fmt: skip
        _lost(right, rises, list(links), styles)
        legend(figure, left.get_legend_handles_labels()[0])
        return finish(figure, "Use of the capacity after the path changes")


def _rates(
    axes: Axes,
    links: Mapping[str, tuple[Numbers, Numbers]],
    capacity: Capacity,
    bin_s: float,
    names: Sequence[str],
) -> None:
    styles = colors.styles(names)
    times, rates = capacity
    begin = max(0.0, times[1] - _BEFORE_S)
    axes.step(times, rates, where="post", color=colors.GREY, linewidth=3, alpha=0.5,
              label="capacity")  # fmt: skip
    for (name, (time, total)), width in zip(links.items(), line_widths(len(links)), strict=True):
        edges = np.arange(begin, min(times[-1], time[-1]) + bin_s / 100, bin_s)
        until = np.interp(edges, time, total)
        axes.plot(edges[1:], np.diff(until) * 8 / bin_s / 1e6, color=styles[name].color,
                  linestyle=styles[name].dashes, linewidth=width,
                  label=displayed(name))  # fmt: skip
    axes.set_xlim(begin, times[-1])
    axes.set_ylim(0, 1.1 * max(rates))
    axes.set_xlabel("time (s)")
    axes.set_ylabel("carried by the bottleneck (Mbit/s)")


def _lost(
    axes: Axes, rises: pl.DataFrame, names: Sequence[str], styles: Mapping[str, colors.Style]
) -> None:
    """The time that each name loses at rises of the BDP: a point for each run and rise."""
    for place, name in enumerate(reversed(names)):
        mine = rises.filter(pl.col("name") == name)
        for used, marker in ((True, "o"), (False, "x")):
            some = mine.filter(pl.col("used_s").is_not_null() == used)
            axes.plot(some["unused_s"], [place] * len(some), marker, color=styles[name].color)
    axes.set_yticks(range(len(names)), list(reversed(names)))
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("time lost at a rise of the BDP (s)")
    if rises["used_s"].null_count():
        axes.set_title("x: 90 % was not reached", fontsize="small")
