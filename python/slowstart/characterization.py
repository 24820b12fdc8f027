"""Characterizes a path without TCP: link throughput under saturation, and delay of probes.

:func:`watch` measures, :class:`Characterization` holds packets and probes as arrays,
:func:`numbers` computes statistics, and :func:`figure` draws them. Times are in seconds. Rates are
in bit/s and include the link's overhead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart import busy, plots
from slowstart._native import characterize, version
from slowstart.figures import colors, topology
from slowstart.report import tables

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from rich.table import Table

    from slowstart.busy import Busy

    Series = NDArray[np.float64]

PERCENTILES = (5, 25, 50, 75, 95)
DELAY_PERCENTILES = (5, 50, 95, 99)
GAP_PERCENTILES = (50, 90, 99)
# Statistics of a link (docs/reference/sources.md, "Recorded traces").
_BIN_S = 0.1
_LAGS_S = (0.1, 1.0, 5.0, 10.0)
_BINS_S = (0.02, 0.1, 1.0)
_LONG_GAP_S = 0.2
# A gap longer than this many mean gaps of its 100 ms interval ends a burst.
_BURST_GAP = 2.0
# Maximum number of points of a line over time.
_POINTS = 600
# Interval over which the used fraction of the rate is measured.
_FRACTION_S = 1.0
# The window in which single packets are drawn: its least and greatest length, and its packets.
_ZOOM_S, _MOST_ZOOM_S, _ZOOM_PACKETS = 0.05, 2.0, 40
# A shorter gap, in ms, counts as zero: the packets belong to one burst.
_NO_GAP_MS = 1e-3
# In a terminal with fewer columns the tables have fewer columns.
_NARROW = 72
# Maximum number of packets recorded per link (crates/simulator/src/characterize.rs).
_MOST_PACKETS = 4_000_000
_UNITS_BPS = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0}
_BUSY = colors.PURPLE
_COLORS = {"forward": colors.BLUE, "reverse": colors.ORANGE, "round trip": colors.GREEN}


@dataclass(frozen=True)
class Link:
    """The output of a saturated link."""

    name: str
    end_s: float
    """End of the observation."""
    packet_bytes: int
    times_s: Series
    """Departure time of each packet, before propagation."""


@dataclass(frozen=True)
class Characterization:
    """The measurements of a path."""

    path: dict[str, Any]
    """As resolved."""
    seed: int
    links: tuple[Link, ...]
    """The forward and the reverse link, if their rate is limited."""
    probes: pl.DataFrame
    """``time_s``, ``forward_s``, ``reverse_s``; null if the probe or its reply was lost."""
    busy: Busy | None = None
    """The same path under its background traffic, if it has any."""
    topology: dict[str, Any] | None = None
    """The map of nodes, links, hosts and routes, if there is more than the path."""

    @property
    def end_s(self) -> float:
        """End of the last observation."""
        last = float(self.probes["time_s"][-1])
        return max([last, *(each.end_s for each in self.links)])

    def delays(self) -> dict[str, tuple[Series, Series]]:
        """Send times and delays of probes: forward, reverse, and round trip."""
        both = pl.col("forward_s") + pl.col("reverse_s")
        frame = self.probes.with_columns(both.alias("round trip"))
        frame = frame.rename({"forward_s": "forward", "reverse_s": "reverse"})
        found = {}
        for name in ("forward", "reverse", "round trip"):
            kept = frame.select("time_s", name).drop_nulls()
            found[name] = (kept["time_s"].to_numpy(), kept[name].to_numpy())
        return found


def resolved(path: str) -> dict[str, Any]:
    """The resolved form of a path.

    Args:
        path: A preset, ``trace:FILE``, or a path file.

    Returns:
        The keys of the path with their values; names carry their unit.

    Raises:
        InputError: There is no such path, or its file is invalid.

    Example:
        >>> resolved("wired")["base_rtt_ms"]
        100.0
    """
    from slowstart.running import compare

    return dict(compare(path, "cubic", size="1 B")[0].resolved["path"])


def is_pathless(path: str) -> bool:
    """Whether there is no path, only an ad-hoc network or a constellation."""
    return "rate_bps" not in resolved(path)


def watch(
    path: str, *, seed: int = 1, duration: str = "60 s", every: str = "10 ms"
) -> Characterization:
    """Measures ``path`` for ``duration``, with a small probe every ``every``.

    If the path has background traffic, this also measures it under that traffic, with the traffic's
    warm-up added to the duration.

    Args:
        path: A preset, ``trace:FILE``, or a path file.
        seed: Seed of the channel.
        duration: Time of the observation, with unit.
        every: Time between two probes, with unit.

    Returns:
        The departures of each link under saturation, and the delays of the probes.

    Raises:
        InputError: The path, the duration or the probe interval is invalid.

    Example:
        >>> seen = watch("wired", duration="1 s")
        >>> [float(round(each / 1e6)) for each in rates(seen.links[0], 0.5)]
        [50.0, 50.0]
    """
    resolved, packets, ends, probes = characterize(path, seed=seed, duration=duration, every=every)
    frame = pl.DataFrame(packets)
    links = tuple(
        Link(name, end, size, frame.filter(pl.col("link") == name)["time_s"].to_numpy())
        for name, end, size in ends
    )
    about = json.loads(resolved)
    with_traffic = None
    if about["traffic"]:
        with_traffic = busy.watch(path, about, seed=seed, duration=duration)
    found = topology.read(path)
    around = found if topology.is_worth_drawing(found) else None
    return Characterization(about, seed, links, pl.DataFrame(probes), with_traffic, around)


def rates(link: Link, width_s: float) -> Series:
    """The rate in each complete interval of ``width_s`` while the link was observed."""
    count = int(link.end_s / width_s + 1e-9)
    edges = np.arange(count + 1) * width_s
    packets = np.diff(np.searchsorted(link.times_s, edges))
    return packets * (8.0 * link.packet_bytes / width_s)


def variation(values: Series) -> float | None:
    """The coefficient of variation; ``None`` if it is undefined."""
    mean = float(values.mean()) if len(values) > 1 else 0.0
    return None if mean == 0 else float(values.std()) / mean


def autocorrelation(values: Series, lag: int) -> float | None:
    """Autocorrelation at ``lag``; ``None`` for too few values or a constant rate."""
    if len(values) < lag + 10:
        return None
    centred = values - values.mean()
    power = float((centred**2).mean())
    # A constant rate still varies by one packet between bins.
    if power <= (1e-3 * float(values.mean())) ** 2:
        return None
    return float((centred[:-lag] * centred[lag:]).mean()) / power


def bursts(link: Link) -> tuple[Series, Series]:
    """Start and number of packets of each burst; empty if packets are evenly spaced.

    A burst ends at a gap longer than twice the mean gap of the 100 ms interval in which it starts.
    """
    times = link.times_s
    gaps = np.diff(times)
    places = (times[:-1] / _BIN_S).astype(np.int64)
    counts = np.bincount(places, minlength=1)
    ends = np.flatnonzero(gaps * np.maximum(1, counts[places]) > _BURST_GAP * _BIN_S)
    if len(ends) < 2:
        return np.empty(0), np.empty(0)
    # The last burst may be incomplete.
    starts = np.concatenate(([0], ends + 1))
    return times[starts[:-1]], np.diff(starts).astype(np.float64)


def _percentiles(values: Series, which: tuple[int, ...], scale: float = 1.0) -> dict[str, float]:
    return {f"p{each}": float(np.percentile(values, each)) * scale for each in which}


def _delays_ms(values: Series) -> dict[str, float] | None:
    if len(values) == 0:
        return None
    percentiles = _percentiles(values, DELAY_PERCENTILES)
    return {"min": float(values.min()), **percentiles, "max": float(values.max())}


def _link_numbers(link: Link) -> dict[str, Any]:
    gaps = np.diff(link.times_s)
    tenths = rates(link, _BIN_S)
    starts, sizes = bursts(link)
    found: dict[str, Any] = {
        "name": link.name,
        "end_s": link.end_s,
        "packets": len(link.times_s),
        "mean_bps": 8.0 * link.packet_bytes * len(link.times_s) / link.end_s,
        "rate_100ms_bps": _percentiles(tenths, PERCENTILES) if len(tenths) else None,
        "variation": {f"{width * 1e3:g}_ms": variation(rates(link, width)) for width in _BINS_S},
        "autocorrelation_100ms": {
            f"{lag:g}_s": autocorrelation(tenths, round(lag / _BIN_S)) for lag in _LAGS_S
        },
        "gap_ms": None,
        "gaps_over_200_ms": int((gaps > _LONG_GAP_S).sum()),
        "bursts": None,
    }
    if len(gaps):
        found["gap_ms"] = {
            **_percentiles(gaps, GAP_PERCENTILES, 1e3),
            "max": float(gaps.max()) * 1e3,
        }
    if len(starts) > 1:
        found["bursts"] = {
            "packets": _percentiles(sizes, PERCENTILES),
            "spacing_ms": _percentiles(np.diff(starts), PERCENTILES, 1e3),
        }
    return found


def numbers(seen: Characterization) -> dict[str, Any]:
    """The statistics, as in the document of ``slowstart path --json``."""
    delays: dict[str, Any] = {}
    for name, (_, values) in seen.delays().items():
        delays[name.replace(" ", "_")] = _delays_ms(values * 1e3)
    lost_forward = seen.probes["forward_s"].null_count()
    drawn = {} if seen.topology is None else {"topology": seen.topology}
    return {
        "format": 1,
        "version": version(),
        "characterization": {
            "path": seen.path,
            "seed": seen.seed,
            "links": [_link_numbers(each) for each in seen.links],
            "probes": {
                "sent": len(seen.probes),
                "lost_forward": lost_forward,
                "lost_reverse": seen.probes["reverse_s"].null_count() - lost_forward,
                "delay_ms": delays,
            },
            "busy": None if seen.busy is None else _busy_numbers(seen, seen.busy),
            **drawn,
        },
    }


def _busy_numbers(seen: Characterization, found: Busy) -> dict[str, Any]:
    links = []
    for link in seen.links:
        begin = int(np.ceil(found.begin_s / _FRACTION_S))
        used = found.fractions(link.name, rates(link, _FRACTION_S), _FRACTION_S)[begin:]
        used = used[~np.isnan(used)]
        links.append(
            {
                "name": link.name,
                "share_mean": float(used.mean()) if len(used) else None,
                "share_1s": _percentiles(used, PERCENTILES) if len(used) else None,
            }
        )
    trips = found.round_trips["rtt_ms"].to_numpy()
    return {
        "warm_up_s": found.begin_s,
        "end_s": found.end_s,
        "traffic": [{**each, "flows": None} for each in found.traffic],
        "links": links,
        "probe": {
            "sent": found.probe["segments_sent"],
            "lost": found.probe["segments_lost"],
            "round_trip_ms": _delays_ms(trips),
        },
    }


def _number(value: float | None) -> str:
    return "-" if value is None else tables.number(value)


def show(document: dict[str, Any]) -> None:
    """Prints the statistics to standard output."""
    from rich.text import Text

    found = document["characterization"]
    out = tables.console()
    path = found["path"]
    out.print(
        Text.assemble((tables.short(path["name"]), "bold"), "  ", (tables.describe(path), "dim"))
    )
    if path["summary"]:
        out.print(Text(path["summary"], "dim"))
    if "topology" in found:
        topology.show(found["topology"])
    if found["links"]:
        # A narrow terminal gets only the most informative columns.
        narrow = out.width < _NARROW
        out.print(_rate_table(found["links"], narrow=narrow))
        out.print(_gap_table(found["links"], narrow=narrow))
        for each in found["links"]:
            if each["packets"] >= _MOST_PACKETS:
                out.print(
                    f"{each['name']} was observed for {tables.seconds(each['end_s'])} only: "
                    f"the limit is {_MOST_PACKETS // 1_000_000} million packets per link"
                )
    out.print(_delay_table(found["probes"], found["busy"]))
    if found["busy"] is not None:
        out.print(_busy_table(found["busy"]["links"]))


def _table(*heads: str) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        # A narrow terminal wraps heads and cells at spaces, without cutting numbers.
        made.add_column(
            head, justify="left" if place == 0 else "right", min_width=8 if place == 0 else 5
        )
    return made


def _heads(percentiles: tuple[int, ...]) -> list[str]:
    return [f"{each} %" for each in percentiles]


def _cells(values: dict[str, float] | None, keys: tuple[str, ...]) -> list[str]:
    return [_number(None if values is None else values[key]) for key in keys]


def _rate_table(links: list[dict[str, Any]], *, narrow: bool) -> Table:
    percent = tuple(f"p{each}" for each in PERCENTILES)
    spreads = () if narrow else ("CV 20 ms", "100 ms", "1 s")
    made = _table("link rate", "mean", *_heads(PERCENTILES), *spreads)
    for each in links:
        tenths = each["rate_100ms_bps"]
        # Use the unit of the mean for the whole row.
        unit = tables.rate(each["mean_bps"]).partition(" ")[2]
        least = _UNITS_BPS[unit]
        values = [each["mean_bps"], *(tenths[key] if tenths else None for key in percent)]
        scaled = [_number(None if it is None else it / least) for it in values]
        spread = ["-" if it is None else f"{it:.2f}" for it in each["variation"].values()]
        made.add_row(f"{each['name']}, {unit}", *scaled, *spread[: len(spreads)])
    return made


def _gap_table(links: list[dict[str, Any]], *, narrow: bool) -> Table:
    keys = (*(f"p{each}" for each in GAP_PERCENTILES), "max")
    heads = () if narrow else ("packets per burst (5, 50, 95 %)", "burst spacing, ms")
    made = _table("packet gap, ms", *_heads(GAP_PERCENTILES), "max", "> 200 ms", *heads)
    for each in links:
        burst = each["bursts"]
        spaced = ["evenly spaced", "-"]
        if burst is not None:
            spaced = [
                " / ".join(_number(burst[key][p]) for p in ("p5", "p50", "p95"))
                for key in ("packets", "spacing_ms")
            ]
        made.add_row(
            each["name"],
            *_cells(each["gap_ms"], keys),
            str(each["gaps_over_200_ms"]),
            *spaced[: len(heads)],
        )
    return made


def _delay_table(probes: dict[str, Any], loaded: dict[str, Any] | None) -> Table:
    keys = ("min", *(f"p{each}" for each in DELAY_PERCENTILES), "max")
    made = _table("probe delay, ms", "min", *_heads(DELAY_PERCENTILES), "max", "lost")
    for name in ("forward", "reverse"):
        made.add_row(name, *_cells(probes["delay_ms"][name], keys), str(probes[f"lost_{name}"]))
    made.add_row(
        "round trip", *_cells(probes["delay_ms"]["round_trip"], keys), f"of {probes['sent']}"
    )
    if loaded is not None:
        probe = loaded["probe"]
        cells = _cells(probe["round_trip_ms"], keys)
        made.add_row("round trip, loaded", *cells, f"{probe['lost']} of {probe['sent']}")
    return made


def _busy_table(links: list[dict[str, Any]]) -> Table:
    made = _table("background traffic", "mean", *_heads(PERCENTILES))
    for each in links:
        known = [each["share_mean"], *(each["share_1s"] or {}).values()]
        made.add_row(each["name"], *(f"{100 * it:.1f} %" for it in known if it is not None))
    return made


def _draw_rates(axes: Axes, seen: Characterization) -> None:
    for link in seen.links:
        width = max(_BIN_S, link.end_s / _POINTS)
        values = rates(link, width) / 1e6
        edges = np.arange(len(values) + 1) * width
        axes.stairs(values, edges, baseline=None, lw=1, color=_COLORS[link.name], label=link.name)
    axes.set(ylabel="rate under\nsaturation (Mbit/s)", xlabel="time (s)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, seen.end_s)


def _draw_delays(axes: Axes, seen: Characterization) -> None:
    # The forward points are smaller, so that equal delays of both directions stay visible.
    for name, size in (("reverse", 3.0), ("forward", 1.5)):
        times, values = seen.delays()[name]
        axes.plot(
            times, values * 1e3, ".", ms=size, color=_COLORS[name], label=name, rasterized=True
        )
    lost = seen.probes.filter(pl.col("forward_s").is_null() | pl.col("reverse_s").is_null())
    if len(lost):
        bottom = np.zeros(len(lost))
        axes.plot(
            lost["time_s"],
            bottom,
            "|",
            color=colors.VERMILLION,
            label=f"lost ({len(lost)})",
            clip_on=False,
        )
    axes.set(ylabel="one-way probe\ndelay (ms)", xlabel="time (s)")
    axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.set_xlim(0, seen.end_s)


def _draw_packets(axes: Axes, seen: Characterization) -> None:
    """Draws single packets over a time in which the slowest link sends some, too."""
    slowest = max((each.end_s / max(1, len(each.times_s)) for each in seen.links), default=0.0)
    span = min(max(_ZOOM_S, _ZOOM_PACKETS * slowest), _MOST_ZOOM_S)
    for link in seen.links:
        begin = link.end_s / 2
        inside = link.times_s[(link.times_s >= begin) & (link.times_s < begin + span)] - begin
        axes.step(
            np.concatenate(([0.0], inside, [span])) * 1e3,
            [*range(len(inside) + 1), len(inside)],
            where="post",
            color=_COLORS[link.name],
        )
    axes.set(xlabel="time from mid-observation (ms)", ylabel="packets transmitted")
    axes.set_xlim(0, span * 1e3)
    axes.set_ylim(bottom=0)


def _draw_gaps(axes: Axes, seen: Characterization) -> None:
    for link in seen.links:
        gaps = np.sort(np.diff(link.times_s)) * 1e3
        if len(gaps) == 0:
            continue
        above = 1 - np.arange(len(gaps)) / len(gaps)
        kept = np.unique(np.geomspace(1, len(gaps), 800).astype(np.int64))
        places = len(gaps) - kept
        axes.step(np.maximum(gaps[places], _NO_GAP_MS), above[places], color=_COLORS[link.name])
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="gap between packets (ms)",
        ylabel="CCDF of gaps",
    )
    if seen.links:
        plots.plain_log(axes.xaxis)


def _draw_distribution(axes: Axes, seen: Characterization) -> None:
    for name, (_, values) in seen.delays().items():
        if len(values):
            axes.step(
                np.sort(values) * 1e3,
                np.arange(1, len(values) + 1) / len(values),
                where="post",
                color=_COLORS[name],
                label=name,
            )
    axes.set(xlabel="probe delay (ms)", ylabel="CDF of probes")
    axes.set_xlim(left=0)


def _draw_busy(axes: Axes, below: Axes, seen: Characterization, found: Busy) -> None:
    """Draws the used fraction of each link's rate, and the RTT with background traffic."""
    width = max(_FRACTION_S, found.end_s / _POINTS)
    for link in seen.links:
        used = found.fractions(link.name, rates(link, width), width)
        edges = np.arange(len(used) + 1) * width
        axes.stairs(used, edges, baseline=None, lw=1.2, color=_COLORS[link.name])
    axes.set_ylabel("used fraction\nof the rate")
    axes.set_ylim(0, 1.05)
    times, values = seen.delays()["round trip"]
    below.plot(times, values * 1e3, ".", ms=1.5, color=_COLORS["round trip"], rasterized=True)
    trips = found.round_trips
    size = 2.5 if len(trips) > _POINTS else 5.0
    below.plot(trips["time_s"], trips["rtt_ms"], ".", ms=size, color=_BUSY, rasterized=True)
    below.set_ylabel("probe\nRTT (ms)")
    below.set_ylim(0, 1.05 * below.get_ylim()[1])
    for each in (axes, below):
        each.set_xlabel("time (s)")
        each.set_xlim(0, seen.end_s)
        if found.begin_s:
            each.axvline(found.begin_s, color="#777777", linestyle=":", linewidth=1)


def figure(seen: Characterization) -> Figure:
    """Draws rate and delay over time, single packets, and the distributions of gaps and delays.

    With background traffic, also the fraction of the rate that it uses, and the RTT alongside it.
    """
    over_time = ["rate", "delay"] if seen.busy is None else ["rate", "delay", "used", "trip"]
    with plots.styled():
        made = plots.new_figure(10, 3.0 + 2.5 * len(over_time))
        rows: list[Any] = [[each] * 3 for each in over_time]
        places = made.subplot_mosaic([*rows, ["packets", "gaps", "spread"]])
        if seen.busy is not None:
            _draw_busy(places["used"], places["trip"], seen, seen.busy)
            trips = np.sort(seen.busy.round_trips["rtt_ms"].to_numpy())
            places["spread"].step(
                trips, np.arange(1, len(trips) + 1) / len(trips), where="post", color=_BUSY
            )
        _draw_rates(places["rate"], seen)
        _draw_delays(places["delay"], seen)
        _draw_packets(places["packets"], seen)
        _draw_gaps(places["gaps"], seen)
        _draw_distribution(places["spread"], seen)
        lines = [Line2D([], [], color=color, label=name) for name, color in _COLORS.items()]
        if seen.busy is not None:
            lines.append(Line2D([], [], color=_BUSY, label="round trip, with background traffic"))
            if seen.busy.begin_s:
                look: Any = {"color": "#777777", "ls": ":", "lw": 1}
                lines.append(Line2D([], [], label="end of the traffic's warm-up", **look))
        if seen.probes["reverse_s"].null_count():
            tick: Any = {"ls": "", "marker": "|", "color": colors.VERMILLION}
            lines.append(Line2D([], [], label="probe lost", **tick))
        plots.legend(made, lines)
        name = tables.short(seen.path["name"])
        how = "without TCP" if seen.busy is None else "idle and with its background traffic"
        return plots.finish(
            made, f"{name} {how}: {tables.describe(seen.path)}; seed\N{NO-BREAK SPACE}{seen.seed}"
        )


def write(folder: Path, seen: Characterization) -> None:
    """Writes the document, the figure, and tables of packets and probes to ``folder``."""
    document = json.dumps(numbers(seen), indent=2)
    (folder / "result.json").write_text(document + "\n", encoding="utf-8")
    plots.save(figure(seen), folder, "path", png=True)
    if seen.topology is not None:
        title = f"{tables.short(seen.path['name'])}: nodes, links and routes"
        plots.save(topology.figure(seen.topology, title), folder, "topology", png=True)
    seen.probes.write_parquet(folder / "probes.parquet")
    if seen.busy is not None:
        seen.busy.round_trips.write_parquet(folder / "round_trips.parquet")
    packets = [
        pl.DataFrame({"link": [link.name] * len(link.times_s), "time_s": link.times_s})
        for link in seen.links
    ]
    empty = pl.DataFrame(schema={"link": pl.String, "time_s": pl.Float64})
    pl.concat([empty, *packets]).write_parquet(folder / "packets.parquet")
