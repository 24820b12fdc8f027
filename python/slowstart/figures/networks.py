"""Figures of ad-hoc networks and constellations: what they did, and their maps.

As in :mod:`slowstart.plots`, every function takes tables or a map and returns a figure. A map is
what :func:`read` returns: nodes, links and routes at some moments, and the routes over time.
"""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.collections import LineCollection
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from slowstart import plots
from slowstart._native import characterize_network
from slowstart.figures import colors
from slowstart.figures.stacking import LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Columns of the table of networks, their labels, and the divisors to the units of the labels.
_MEASURES = (
    ("throughput_bps", "throughput (Mbit/s)", 1e6),
    ("delay_mean_ms", "delay (s)", 1e3),
    ("delivery_ratio", "delivered (%)", 0.01),
    ("drop_ratio", "dropped (%)", 0.01),
    ("energy_used_w", "energy (J/s)", 1.0),
)
# More bars would be unreadable.
_MOST_NODES = 60
_LINK, _NODE, _SATELLITE = "#c4c4c4", "#333333", "#8a8a8a"
_COAST = "#9fb8c8"
# A link that crosses this many degrees of longitude passes the edge of the map.
_AROUND = 180.0


def _groups(runs: pl.DataFrame) -> list[str]:
    return runs["flows"].unique(maintain_order=True).to_list()


def _short(flows: str) -> str:
    """The different names among those of the flows of a run."""
    return ", ".join(dict.fromkeys(flows.split(" ")))


def totals(runs: pl.DataFrame) -> Figure:
    """The measures of the whole network, run by run, for each set of flows."""
    groups = _groups(runs)
    styles = colors.styles([_short(each) for each in groups])
    known = [each for each in _MEASURES if runs[each[0]].null_count() < len(runs)]
    shown = [each for each in known if (runs[each[0]] != 0).any()] or known
    with plots.styled():
        made, (row,) = plots.panels(max(5.0, 0.6 + 2.3 * len(shown)), 3.6, 1, len(shown))
        for axes, (column, label, unit) in zip(row, shown, strict=True):
            for place, group in enumerate(groups):
                mine = runs.filter(pl.col("flows") == group)[column].drop_nulls()
                values = mine.to_numpy() / unit
                if len(values) == 0:
                    continue
                # Spread by rank, so that equal runs stay visible.
                beside = place + np.linspace(-0.18, 0.18, len(values)) * (len(values) > 1)
                color = styles[_short(group)].color
                axes.plot(beside, values, "o", color=color, markersize=3.2, alpha=0.6)
                axes.hlines(np.median(values), place - 0.3, place + 0.3, color=color, lw=2.2)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.set_xticks([])
            axes.set_xlim(-0.6, len(groups) - 0.4)
        handles = [
            Line2D([], [], color=styles[_short(each)].color, marker="o", label=_short(each))
            for each in groups
        ]
        plots.legend(made, handles)
        plots.note_zeros(made, [each[1] for each in known if each not in shown])
        return plots.finish(made, "The network: runs and medians")


def nodes(receivers: pl.DataFrame) -> Figure:
    """Throughput of each node that received data, a mean over runs, for each set of flows."""
    groups = _groups(receivers)
    styles = colors.styles([_short(each) for each in groups])
    runs = receivers.group_by("flows").agg(pl.col("run").n_unique().alias("runs"))
    means = (
        receivers.group_by("flows", "node", maintain_order=True)
        .agg(pl.col("throughput_bps").sum())
        .join(runs, on="flows")
        .with_columns((pl.col("throughput_bps") / pl.col("runs") / 1e3).alias("mean"))
    )
    order = (
        means.group_by("node", maintain_order=True)
        .agg(pl.col("mean").max())
        .sort("mean", descending=True)["node"]
        .to_list()[:_MOST_NODES]
    )
    with plots.styled():
        width = min(plots.WIDEST, max(5.0, 1.0 + 0.28 * len(order)))
        made, ((axes,),) = plots.panels(width, 3.8, 1, 1)
        thick = 0.8 / len(groups)
        for place, group in enumerate(groups):
            mine = dict(means.filter(pl.col("flows") == group).select("node", "mean").iter_rows())
            at = np.arange(len(order)) + (place - (len(groups) - 1) / 2) * thick
            heights = [mine.get(node, 0.0) for node in order]
            axes.bar(at, heights, thick, color=styles[_short(group)].color, label=_short(group))
        inches = made.get_figwidth() - 0.8
        every = max(1, -(-len(order) // int(inches / LINE)))  # so many labels fit
        axes.set_xticks(
            range(0, len(order), every), order[::every], rotation=90, fontsize=plots.scaled(7)
        )
        axes.set_ylabel("throughput (kbit/s)")
        plots.legend(made, axes.get_legend_handles_labels()[0])
        return plots.finish(made, "Throughput of receiving nodes")


def read(path: str, *, seed: int, duration: str) -> dict[str, Any] | None:
    """The network of a path over ``duration`` after its warm-up; ``None`` if it has none.

    Raises:
        InputError: There is no such path, its file is invalid, or the duration is.
    """
    text = characterize_network(path, seed=seed, duration=duration)
    return None if text is None else dict(json.loads(text))


def _routes(found: dict[str, Any]) -> list[Line2D]:
    """The legend of the routes."""
    return [
        Line2D([], [], color=colors.ROUTES[place % len(colors.ROUTES)], lw=1.8,
               label=f"{each['from']} to {each['to']}")
        for place, each in enumerate(found["routes"])
    ]  # fmt: skip


def _segments(points: Sequence[Sequence[float]], pairs: Any, around: bool) -> list[Any]:
    """Lines between pairs of points; on a globe, without those across the edge of the map."""
    lines = []
    for one, other in pairs:
        a, b = points[one], points[other]
        if around and abs(a[0] - b[0]) > _AROUND:
            east, west = (a, b) if a[0] > b[0] else (b, a)
            lines += [[east, [west[0] + 360.0, west[1]]], [[east[0] - 360.0, east[1]], west]]
        else:
            lines.append([a, b])
    return lines


@cache
def coasts() -> tuple[tuple[tuple[float, float], ...], ...]:
    """The coast lines of the world: pieces of longitudes and latitudes in degrees."""
    text = Path(__file__).with_name("coast.txt").read_text(encoding="utf-8")
    pieces = []
    for line in text.splitlines():
        if not line.startswith("#"):
            pairs = (point.partition(",") for point in line.split())
            pieces.append(tuple((float(x), float(y)) for x, _, y in pairs))
    return tuple(pieces)


def _draw_frame(axes: Axes, found: dict[str, Any], frame: dict[str, Any]) -> None:
    points = frame["points"]
    count = len(found["nodes"])
    globe = found["kind"] == "constellation"
    axes.add_collection(
        LineCollection(_segments(points, frame["links"], globe), colors=_LINK, lw=0.6, zorder=1)
    )
    for place, route in enumerate(frame["routes"]):
        passed = route["points"]
        if passed is None:
            continue
        pairs = itertools.pairwise(passed)
        axes.add_collection(
            LineCollection(
                _segments(points, pairs, globe),
                colors=colors.ROUTES[place % len(colors.ROUTES)],
                lw=1.8,
                zorder=2,
                alpha=0.85,
            )
        )
    xs, ys = zip(*points, strict=True)
    axes.plot(xs[count:], ys[count:], ".", color=_SATELLITE, markersize=2.5, zorder=3)
    axes.plot(xs[:count], ys[:count], "o", color=_NODE, markersize=4.0, zorder=4)
    if globe:
        axes.add_collection(LineCollection(coasts(), colors=_COAST, lw=0.5, zorder=0.5))
        axes.set_xlim(-180, 180)
        axes.set_ylim(-90, 90)
        axes.set_xticks(range(-180, 181, 90))
        axes.set_yticks(range(-90, 91, 45))
    else:
        axes.set_aspect("equal")
        if found["area_m"] is not None:
            width, height = found["area_m"]
            axes.set_xlim(-0.03 * width, 1.03 * width)
            axes.set_ylim(-0.03 * height, 1.03 * height)
    axes.set_title(f"{frame['time_s']:.4g} s", fontsize=9)


def figure(found: dict[str, Any], title: str) -> Figure:
    """The map at some moments: nodes, the links between those that hear each other, and routes.

    Below, over a constellation, propagation delay over the routes; over a network that moves, their
    number of hops.
    """
    frames = found["frames"]
    globe = found["kind"] == "constellation"
    across = min(len(frames), 2 if globe else 3)
    rows = -(-len(frames) // across)
    over_time = found["moves"] and any(
        each is not None for route in found["routes"] for each in route["hops"]
    )
    drawn = any(route["points"] is not None for frame in frames for route in frame["routes"])
    cell = (4.6, 2.6) if globe else ((5.6, 5.2) if len(frames) == 1 else (3.7, 3.5))
    with plots.styled():
        height = rows * cell[1] + (2.2 if over_time else 0.0) + 0.9
        made = plots.new_figure(max(5.6, across * cell[0]), height)
        heights = [cell[1]] * rows + ([2.0] if over_time else [])
        grid = made.add_gridspec(len(heights), across, height_ratios=heights)
        for place, frame in enumerate(frames):
            axes = made.add_subplot(grid[place // across, place % across])
            _draw_frame(axes, found, frame)
            east, north = ("longitude (°)", "latitude (°)") if globe else ("x (m)", "y (m)")
            if place % across == 0:
                axes.set_ylabel(north)
            if place + across >= len(frames):
                axes.set_xlabel(east)
        if over_time:
            _draw_series(made.add_subplot(grid[-1, :]), found, globe)
        if drawn:
            plots.legend(made, _routes(found))
        plots.finish(made, title)
        for axes, frame in zip(made.axes, frames, strict=False):
            name_nodes(axes, frame["points"], found["nodes"], 6.5 if globe else 6.0)
        return made


# Places of a label around its point, in points to the right and up.
_BESIDE = [(3, 3), (-3, 3), (3, -3), (-3, -3), (0, 5), (0, -5), (5, 0), (-5, 0)]
_PLACES = [(far * x, far * y) for far in (1, 2, 3) for x, y in _BESIDE]
_ALIGNED = {-1: ("right", "top"), 0: ("center", "center"), 1: ("left", "bottom")}


def name_nodes(
    axes: Axes, points: Sequence[Sequence[float]], names: Sequence[str], size: float
) -> None:
    """Writes the names of the first nodes beside them, where no other name or node is.

    The layout of the figure must be fixed.
    """
    made: Any = axes.figure
    scale = made.dpi / 72
    at = axes.transData.transform(np.asarray(points, dtype=float)) / scale
    # Left, bottom, right and top of what may not be covered: nodes at first.
    taken = [(x - 2, y - 2, x + 2, y + 2) for x, y in at[: len(names)]]
    font = FontProperties(family=mpl.rcParams["font.family"], size=size)
    for place, name in enumerate(names):
        text = name.removeprefix("node ")
        width = TextPath((0, 0), text, size=size, prop=font).get_extents().width
        tried = []
        for right, up in _PLACES:
            x, y = at[place][0] + right, at[place][1] + up
            left = x - width * (1 - np.sign(right)) / 2
            bottom = y - size * (1 - np.sign(up)) / 2
            box = (left, bottom, left + width, bottom + size)
            others = (each for number, each in enumerate(taken) if number != place)
            tried.append((sum(_overlap(box, each) for each in others), box, (right, up)))
            if tried[-1][0] == 0:
                break
        _, box, (right, up) = min(tried, key=lambda each: each[0])
        taken.append(box)
        across, along = _ALIGNED[int(np.sign(right))][0], _ALIGNED[int(np.sign(up))][1]
        axes.annotate(
            text, (points[place][0], points[place][1]), (right, up), ha=across, va=along,
            textcoords="offset points", fontsize=size, zorder=5,
        )  # fmt: skip


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """The area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, up)


def _draw_series(axes: Axes, found: dict[str, Any], globe: bool) -> None:
    key = "delay_ms" if globe else "hops"
    for place, route in enumerate(found["routes"]):
        values = [float("nan") if each is None else each for each in route[key]]
        color = colors.ROUTES[place % len(colors.ROUTES)]
        axes.plot(route["time_s"], values, color=color, lw=1.1, drawstyle="steps-post")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("one-way propagation (ms)" if globe else "hops")
    axes.set_ylim(bottom=0)


def numbers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """For each route the fraction of time with a route, and medians of its hops and its delay."""
    rows = []
    for route in found["routes"]:
        hops = [each for each in route["hops"] if each is not None]
        delays = [each for each in route["delay_ms"] if each is not None]
        rows.append(
            {
                "from": route["from"],
                "to": route["to"],
                "routed": len(hops) / max(1, len(route["hops"])),
                "hops_median": float(np.median(hops)) if hops else None,
                "delay_min_ms": min(delays) if delays else None,
                "delay_median_ms": float(np.median(delays)) if delays else None,
                "delay_max_ms": max(delays) if delays else None,
            }
        )
    return rows


def degree(frame: dict[str, Any], count: int) -> float:
    """The mean number of neighbours of the nodes."""
    ends = sum((a < count) + (b < count) for a, b in frame["links"])
    return float(ends / max(1, count))


def show(found: dict[str, Any]) -> None:
    """Prints the network and its routes to standard output."""
    from rich import box
    from rich.table import Table

    from slowstart.report import tables

    out = tables.console()
    count = len(found["nodes"])
    if found["kind"] == "adhoc":
        mean = np.mean([degree(each, count) for each in found["frames"]])
        out.print(f"{plots.plural(count, 'node')}; mean number of neighbours {mean:.3g}")
    rows = numbers(found)
    if not rows:
        return
    way = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(("from", "to", "time with a route", "hops", "propagation, ms")):
        way.add_column(head, justify="left" if place < 2 else "right")
    for each in rows:
        ends = [each["delay_min_ms"], each["delay_median_ms"], each["delay_max_ms"]]
        delay = "-" if ends[0] is None else " / ".join(tables.number(it) for it in ends)
        hops = each["hops_median"]
        way.add_row(
            each["from"],
            each["to"],
            f"{100 * each['routed']:.0f} %",
            "-" if hops is None else f"{hops:g}",
            delay,
        )
    out.print(way)
    out.print("Propagation: minimum / median / maximum over time, one way.")
