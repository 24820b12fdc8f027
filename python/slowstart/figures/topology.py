"""Draws the topology of a path, and prints its links and routes.

:func:`read` gets the map of nodes, links, hosts and routes, :func:`figure` draws it, and
:func:`show` prints tables. The layout depends on the map alone: nodes stand from left to right by
their number of links from the left end of the path, and within a column near what they are linked
with (Sugiyama, Tagawa and Toda 1981, with barycentres).
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch

from slowstart import plots
from slowstart._native import topology
from slowstart.figures import colors
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Point = tuple[float, float]

# Rounds of ordering the columns; more change nothing in graphs of a dozen nodes.
_SWEEPS = 8
# Inches between columns and between rows, and the size of nodes and of boxes of hosts.
_COLUMN, _ROW = 2.4, 1.25
_NODE, _BOX_WIDTH, _BOX_HEIGHT = 0.17, 1.0, 0.5
# Gap between routes over one link.
_LANE = 0.055
# Boxes of hosts side by side below a node.
_ABREAST = 2
# Characters of a name that fit into a box.
_LONGEST = 18
# Routes with a colour of their own.
_MOST_ROUTES = 10
_LINK, _PATH, _HOST = "#9a9a9a", "#333333", "#f1f1f1"


def read(path: str) -> dict[str, Any]:
    """The map of a path: ``nodes``, ``links``, ``hosts`` and ``routes``.

    Raises:
        InputError: There is no such path, or its file is invalid.
    """
    found: dict[str, Any] = json.loads(topology(path))
    return found


def is_worth_drawing(found: dict[str, Any]) -> bool:
    """Whether there is more than the path alone."""
    return bool(found["hosts"]) or len(found["links"]) > 1


def _wired(found: dict[str, Any]) -> dict[str, Any]:
    """The part of a map with links: of a network only the nodes that links or hosts join."""
    joined = {link[end] for link in found["links"] for end in ("from", "to")}
    joined |= {hosts["at"] for hosts in found["hosts"]}
    nodes = [each for each in found["nodes"] if "in_network" not in each or each["name"] in joined]
    return {
        **found,
        "nodes": nodes,
        "routes": [each for each in found["routes"] if _is_wired(each)],
    }


def _is_wired(route: dict[str, Any] | None) -> bool:
    """Whether a route takes only links, so that it can be drawn over them."""
    return route is not None and "links" in route and "network" not in route["links"]


@dataclass
class _Layout:
    """Positions in inches."""

    nodes: dict[str, Point] = field(default_factory=dict)
    hosts: dict[str, Point] = field(default_factory=dict)
    bends: dict[int, list[Point]] = field(default_factory=dict)
    """Where a link passes the columns between its nodes, from the left one on."""


def _columns(found: dict[str, Any]) -> dict[str, int]:
    hops = {each["name"]: each["hops"] for each in found["nodes"]}
    beyond = 1 + max((each for each in hops.values() if each is not None), default=-1)
    return {name: beyond if each is None else each for name, each in hops.items()}


def _order(
    columns: dict[int, list[Any]], linked: dict[Any, list[Any]], column_of: dict[Any, int]
) -> None:
    """Sorts each column by the mean position of what its entries are linked with."""
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for column in sorted(columns, reverse=not forward):
            places: dict[Any, float] = {}
            for other in columns.values():
                for place, each in enumerate(other):
                    places[each] = place - (len(other) - 1) / 2
            before = column - 1 if forward else column + 1

            def mean(each: Any, before: int = before, places: dict[Any, float] = places) -> float:
                near = [places[it] for it in linked[each] if column_of[it] == before]
                return sum(near) / len(near) if near else places[each]

            columns[column].sort(key=mean)


def _lay_out(found: dict[str, Any]) -> _Layout:
    column_of: dict[Any, int] = dict(_columns(found))
    columns: dict[int, list[Any]] = {}
    linked: dict[Any, list[Any]] = {}
    for name in [each["name"] for each in found["nodes"]]:
        columns.setdefault(column_of[name], []).append(name)
        linked[name] = []
    chains: dict[int, list[Any]] = {}
    for number, link in enumerate(found["links"]):
        start, end = sorted((link["from"], link["to"]), key=lambda name: column_of[name])
        chain = [start]
        for column in range(column_of[start] + 1, column_of[end]):
            bend = (number, column)
            column_of[bend] = column
            columns[column].append(bend)
            linked[bend] = []
            chain.append(bend)
        chain.append(end)
        for one, other in itertools.pairwise(chain):
            linked[one].append(other)
            linked[other].append(one)
        chains[number] = chain
    _order(columns, linked, column_of)
    last = max(columns)
    hosts: dict[str, list[str]] = {}
    for each in found["hosts"]:
        hosts.setdefault(each["at"], []).append(each["name"])
    placed = _Layout()
    heights = {
        column: _heights(entries, hosts, column, last) for column, entries in columns.items()
    }
    places: dict[Any, Point] = {}
    for column, entries in columns.items():
        top = 0.0
        for entry, height in zip(entries, heights[column], strict=True):
            below = _below(hosts.get(entry, []), column, last)
            places[entry] = (column * _COLUMN, top - (height - below * _ROW * 0.75) / 2)
            top -= height
        # All columns have their mean at the same height, so that a chain is a straight line.
        middle = sum(places[entry][1] for entry in entries) / len(entries)
        for entry in entries:
            places[entry] = (places[entry][0], places[entry][1] - middle)
    for name, point in places.items():
        if isinstance(name, str):
            placed.nodes[name] = point
            _place_hosts(placed, hosts.get(name, []), point, (column_of[name], last))
    for number, chain in chains.items():
        placed.bends[number] = [places[each] for each in chain[1:-1]]
    return placed


def _below(hosts: Sequence[str], column: int, last: int) -> int:
    """The rows of hosts below a node; those at the ends stand beside it."""
    return 0 if column in (0, last) else -(-len(hosts) // _ABREAST)


def _heights(
    entries: Sequence[Any], hosts: dict[str, list[str]], column: int, last: int
) -> list[float]:
    """The height that each node, and each bend of a link, takes in its column."""
    heights = []
    for each in entries:
        own = hosts.get(each, [])
        beside = len(own) * (_BOX_HEIGHT + 0.14) if column in (0, last) else 0.0
        rows = _below(own, column, last)
        heights.append(max(_ROW, beside) + rows * _ROW * 0.75)
    return heights


def _place_hosts(
    placed: _Layout, hosts: Sequence[str], node: Point, columns: tuple[int, int]
) -> None:
    x, y = node
    column, last = columns
    if column in (0, last):
        side = -1 if column == 0 else 1
        step = _BOX_HEIGHT + 0.14
        for place, name in enumerate(hosts):
            placed.hosts[name] = (x + side * 1.35, y + ((len(hosts) - 1) / 2 - place) * step)
        return
    for place, name in enumerate(hosts):
        row, seat = divmod(place, _ABREAST)
        abreast = min(_ABREAST, len(hosts) - row * _ABREAST)
        across = (seat - (abreast - 1) / 2) * (_BOX_WIDTH + 0.1)
        placed.hosts[name] = (x + across, y - _ROW * 0.75 * (row + 1))


def _buffer(side: dict[str, Any]) -> str:
    if side["queue_limit_packets"] is not None:
        return plots.plural(side["queue_limit_packets"], "packet")
    bytes_ = side["queue_limit_bytes"]
    return "" if bytes_ is None else tables.size(bytes_)


def _rate(side: dict[str, Any]) -> str:
    kind = side["service"]["kind"]
    rate = "unlimited" if side["mean_bps"] is None else tables.rate(side["mean_bps"])
    return rate if kind in ("fixed", "unlimited") else f"{kind}, {rate}"


def _facts(side: dict[str, Any]) -> list[str]:
    """One direction of a link: rate, delay and queue."""
    aqm = side["aqm"]["kind"]
    queue = ", ".join(it for it in ("" if aqm == "drop-tail" else aqm, _buffer(side)) if it)
    routers = f", {plots.plural(side['routers'], 'router')} before" if side["routers"] else ""
    return [_rate(side), f"{side['delay_ms']:.3g} ms{routers}", queue]


def _link_label(link: dict[str, Any]) -> str:
    """Rate and delay, then the queue, then what differs in the reverse direction."""
    rate, delay, queue = there = _facts(link["forward"])
    lines = [f"{rate}, {delay}", queue]
    if link["reverse"] is None:
        lines.append(f"one way, to {link['to']}")
    else:
        differs = [b for a, b in zip(there, _facts(link["reverse"]), strict=True) if a != b]
        lines.append(f"back: {', '.join(it or 'no queue' for it in differs)}" if differs else "")
    return "\n".join(line for line in lines if line)


def _host_label(hosts: dict[str, Any]) -> str:
    name = hosts["name"] if hosts["count"] == 1 else f"{hosts['name']} x {hosts['count']}"
    delays = hosts["delays_ms"]
    ends = sorted({min(delays), max(delays)})
    delay = " to ".join(f"{each:.3g}" for each in ends)
    rate = hosts["rate_bps"]
    lines = [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"]
    lines += [] if rate is None else [tables.rate(rate)]
    return "\n".join([*lines, *([] if ends == [0.0] else [f"{delay} ms"])])


def _route_label(route: dict[str, Any]) -> str:
    names = ", ".join(route["names"][:3]) + (", ..." if len(route["names"]) > 3 else "")
    count = route["count"]
    many = f" x {count}" if count is not None and count > 1 else ""
    return f"{names}{many}: {route['from']} to {route['to']}, RTT {_rtt(route)} ms"


def _rtt(route: dict[str, Any]) -> str:
    if route.get("base_rtt_min_ms") is None:
        return "-"
    ends = sorted({route["base_rtt_min_ms"], route["base_rtt_max_ms"]})
    return " to ".join(f"{each:.3g}" for each in ends)


def _points(found: dict[str, Any], placed: _Layout, route: dict[str, Any]) -> list[Point]:
    """Where a route passes: hosts, nodes, and the bends of its links."""
    by_name = {link["forward"]["name"]: number for number, link in enumerate(found["links"])}
    for number, link in enumerate(found["links"]):
        if link["reverse"] is not None:
            by_name[link["reverse"]["name"]] = number
    points = []
    if route["from"] in placed.hosts:
        points.append(placed.hosts[route["from"]])
    points.append(placed.nodes[route["nodes"][0]])
    for name, node in zip(route["links"], route["nodes"][1:], strict=True):
        bends = placed.bends[by_name[name]]
        end = placed.nodes[node]
        leftward = end[0] < points[-1][0]
        points += [*(reversed(bends) if leftward else bends), end]
    if route["to"] in placed.hosts:
        points.append(placed.hosts[route["to"]])
    return points


def _middles(found: dict[str, Any], placed: _Layout) -> list[tuple[list[Point], int, Point]]:
    """For each link its points, the first one of its middle part, and the middle of that."""
    middles = []
    for number, link in enumerate(found["links"]):
        ends = sorted((placed.nodes[link["from"]], placed.nodes[link["to"]]))
        points = [ends[0], *placed.bends[number], ends[1]]
        place = (len(points) - 1) // 2
        (x, y), (to_x, to_y) = points[place], points[place + 1]
        middles.append((points, place, ((x + to_x) / 2, (y + to_y) / 2)))
    return middles


def _draw_links(axes: Axes, found: dict[str, Any], placed: _Layout, lift: float) -> None:
    middles = _middles(found, placed)
    for number, link in reversed(list(enumerate(found["links"]))):
        points, middle, center = middles[number]
        color, width = (_PATH, 3.0) if link["is_path"] else (_LINK, 2.0)
        axes.plot(
            *zip(*points, strict=True), color=color, lw=width, zorder=1, solid_capstyle="round"
        )
        (x, y), (to_x, to_y) = points[middle], points[middle + 1]
        # It follows the link, so that labels of neighbouring links do not cross.
        upright = abs(to_x - x) < 1e-6
        angle = 0.0 if upright else math.atan2(to_y - y, to_x - x)
        # Above the upper links between two columns, below the lower ones.
        beside = [at[1] for _, _, at in middles if abs(at[0] - center[0]) < _COLUMN / 4]
        above = center[1] > sum(beside) / len(beside) - 1e-6
        away = (3 + lift) * (1 if above else -1)
        across = "bottom" if above else "top"
        offset = (abs(away), 0.0) if upright else (-away * math.sin(angle), away * math.cos(angle))
        axes.annotate(
            _link_label(link),
            center,
            xytext=offset,
            textcoords="offset points",
            ha="left" if upright else "center",
            va="center" if upright else across,
            rotation=math.degrees(angle),
            rotation_mode="anchor",
            fontsize=6.5,
            color="#222222",
            linespacing=1.15,
            path_effects=plots.OUTLINE,
            zorder=6,
        )


def _draw_hosts(axes: Axes, found: dict[str, Any], placed: _Layout) -> None:
    for hosts in found["hosts"]:
        (x, y), node = placed.hosts[hosts["name"]], placed.nodes[hosts["at"]]
        axes.plot([x, node[0]], [y, node[1]], color=_LINK, lw=0.9, zorder=1)
        # A second box behind the first stands for many.
        for shift in (0.05, 0.0) if hosts["count"] > 1 else (0.0,):
            box = FancyBboxPatch(
                (x - _BOX_WIDTH / 2 + shift, y - _BOX_HEIGHT / 2 + shift),
                _BOX_WIDTH,
                _BOX_HEIGHT,
                boxstyle="round,pad=0,rounding_size=0.06",
                fc=_HOST,
                ec="#777777",
                lw=0.8,
                zorder=4,
            )
            axes.add_patch(box)
        axes.text(x, y, _host_label(hosts), ha="center", va="center", fontsize=6.5, zorder=5)


def _draw_nodes(axes: Axes, found: dict[str, Any], placed: _Layout) -> None:
    for node in found["nodes"]:
        name, is_proxy = node["name"], "proxy_buffer_bytes" in node
        x, y = placed.nodes[name]
        shape = "s" if is_proxy else "o"
        axes.plot(x, y, shape, ms=_NODE * 90, mfc="white", mec=_PATH, mew=1.3, zorder=4)
        axes.annotate(
            f"{name}\n(proxy)" if is_proxy else name,
            (x, y),
            xytext=(0, -_NODE * 45 - 3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            fontweight="bold",
            path_effects=plots.OUTLINE,
            zorder=7,
        )


def figure(found: dict[str, Any], title: str) -> Figure:
    """Draws nodes, links with rate, delay and queue, hosts, and the routes of data."""
    found = _wired(found)
    placed = _lay_out(found)
    xs, ys = zip(*placed.nodes.values(), *placed.hosts.values(), strict=True)
    left, right = min(xs) - _BOX_WIDTH * 0.7, max(xs) + _BOX_WIDTH * 0.7
    low, high = min(ys) - 0.55, max(ys) + 0.6
    routes = [each for each in found["routes"] if each is not None]
    drawn = routes[:_MOST_ROUTES]
    scale = min(1.0, plots.WIDEST / (right - left))
    rows = max(1, -(-len(drawn) // 2))
    with plots.styled():
        height = scale * (high - low) + 0.5 + 0.22 * rows
        made = plots.new_figure(max(6.5, scale * (right - left)), height)
        axes = made.subplots()
        axes.set_axis_off()
        axes.set_xlim(left, right)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        _draw_links(axes, found, placed, lift=72 * scale * _LANE * len(drawn) / 2)
        _draw_hosts(axes, found, placed)
        _draw_nodes(axes, found, placed)
        handles = []
        for place, route in enumerate(drawn):
            color = colors.ROUTES[place]
            shift = (place - (len(drawn) - 1) / 2) * _LANE
            points = [(x - shift / 2, y + shift) for x, y in _points(found, placed, route)]
            dashes: Any = "-" if route["what"] == "flow" else (0, (4, 1.5))
            axes.plot(
                *zip(*points, strict=True),
                color=color,
                lw=1.5,
                ls=dashes,
                zorder=2.5,
                solid_joinstyle="round",
            )
            label = _route_label(route)
            handles.append(Line2D([], [], color=color, ls=dashes, label=label))
        if len(routes) > len(drawn):
            rest = plots.plural(len(routes) - len(drawn), "more route")
            handles.append(Line2D([], [], ls="", label=f"{rest} not drawn"))
        if handles:
            plots.legend(made, handles)
        return plots.finish(made, title)


def show(found: dict[str, Any]) -> None:
    """Prints the links and the routes to standard output."""
    from rich import box
    from rich.table import Table

    out = tables.console()

    def table(*heads: str, left: int) -> Table:
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for place, head in enumerate(heads):
            made.add_column(head, justify="left" if place < left else "right")
        return made

    links = table("link", "from", "to", "rate", "delay, ms", "buffer", "queue", left=3)
    for link in found["links"]:
        for side, ends in (("forward", ("from", "to")), ("reverse", ("to", "from"))):
            of = link[side]
            if of is not None:
                links.add_row(
                    of["name"],
                    *(link[end] for end in ends),
                    _rate(of),
                    tables.number(of["delay_ms"]),
                    _buffer(of) or "unlimited",
                    of["aqm"]["kind"],
                )
    out.print(links)
    if found["hosts"]:
        hosts = table("hosts", "at", "count", "rate", "delay, ms", left=2)
        for each in found["hosts"]:
            delays = sorted({min(each["delays_ms"]), max(each["delays_ms"])})
            rate = each["rate_bps"]
            hosts.add_row(
                each["name"],
                each["at"],
                str(each["count"]),
                "unlimited" if rate is None else tables.rate(rate),
                " to ".join(tables.number(it) for it in delays),
            )
        out.print(hosts)
    proxies = [each for each in found["nodes"] if "proxy_buffer_bytes" in each]
    if proxies:
        splits = table("proxy at", "buffer", left=1)
        for each in proxies:
            splits.add_row(each["name"], tables.size(each["proxy_buffer_bytes"]))
        out.print(splits)
    routes = [each for each in found["routes"] if each is not None]
    if routes:
        way = table("route", "from", "to", "over", "hops", "base RTT, ms", "bottleneck", left=4)
        for each in routes:
            slowest = each.get("bottleneck_bps")
            rated = "links" in each and "network" not in each["links"]
            way.add_row(
                ", ".join(each["names"]),
                each["from"],
                each["to"],
                " ".join(each["links"]) if "links" in each else "network",
                str(len(each["links"])) if "links" in each else "1",
                _rtt(each),
                ("unlimited" if rated else "-") if slowest is None else tables.rate(slowest),
            )
        out.print(way)
