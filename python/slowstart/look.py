"""A look at a path without TCP: what a queue that is never empty gets of it, and what probes say.

:func:`watch` looks, :class:`Look` has the packets and probes as arrays, :func:`numbers` says in
numbers what :func:`figure` draws. All times are in seconds, all rates in bit/s of packets as the
link counts them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart import busy, colors, plots, tables
from slowstart._native import look, version

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.busy import Busy

    Series = NDArray[np.float64]

PERCENTILES = (5, 25, 50, 75, 95)
DELAY_PERCENTILES = (5, 50, 95, 99)
GAP_PERCENTILES = (50, 90, 99)
# The statistics of network-models, section A.10.
_BIN_S = 0.1
_LAGS_S = (0.1, 1.0, 5.0, 10.0)
_BINS_S = (0.02, 0.1, 1.0)
_LONG_GAP_S = 0.2
# A gap beyond this many mean gaps of its tenth of a second ends a burst.
_BURST_GAP = 2.0
# Most points of a line over time, and the window in which single packets are drawn.
_POINTS = 600
# Shares of the rate are of so much time.
_SHARE_S = 1.0
_ZOOM_S, _MOST_ZOOM_S, _ZOOM_PACKETS = 0.05, 2.0, 40
# A gap below this, in ms, is none: packets of one burst.
_NO_GAP_MS = 1e-3
# Columns of a terminal below which the tables have fewer columns.
_NARROW = 72
# The most packets of a link that are watched (crates/simulator/src/look.rs).
_MOST_PACKETS = 4_000_000
_UNITS_BPS = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0}
_BUSY = colors.PURPLE
_COLORS = {"forward": colors.BLUE, "reverse": colors.ORANGE, "round trip": colors.GREEN}


@dataclass(frozen=True)
class Link:
    """What came out of a link whose queue was never empty."""

    name: str
    end_s: float
    """Until when it was watched."""
    packet_bytes: int
    times_s: Series
    """When each packet came out, without propagation."""


@dataclass(frozen=True)
class Look:
    """A path, looked at."""

    path: dict[str, Any]
    """As resolved."""
    seed: int
    links: tuple[Link, ...]
    """The forward link and the reverse one, where their rate has an end."""
    probes: pl.DataFrame
    """``time_s``, ``forward_s``, ``reverse_s``; null where the probe or its answer was lost."""
    busy: Busy | None = None
    """The same path with its other traffic, where it has some."""

    @property
    def end_s(self) -> float:
        """Until when anything was watched."""
        last = float(self.probes["time_s"][-1])
        return max([last, *(each.end_s for each in self.links)])

    def delays(self) -> dict[str, tuple[Series, Series]]:
        """When probes left and how long they took: forward, reverse, and there and back."""
        both = pl.col("forward_s") + pl.col("reverse_s")
        frame = self.probes.with_columns(both.alias("round trip"))
        frame = frame.rename({"forward_s": "forward", "reverse_s": "reverse"})
        found = {}
        for name in ("forward", "reverse", "round trip"):
            kept = frame.select("time_s", name).drop_nulls()
            found[name] = (kept["time_s"].to_numpy(), kept[name].to_numpy())
        return found


def watch(path: str, *, seed: int = 1, duration: str = "60 s", every: str = "10 ms") -> Look:
    """Looks at ``path`` for ``duration``, with a small probe each ``every``.

    Where there is other traffic on it, it is looked at with it, too, and by its warm-up longer.

    Raises:
        InputError: The path, the duration or the time between probes is wrong.
    """
    resolved, packets, ends, probes = look(path, seed=seed, duration=duration, every=every)
    frame = pl.DataFrame(packets)
    links = tuple(
        Link(name, end, size, frame.filter(pl.col("link") == name)["time_s"].to_numpy())
        for name, end, size in ends
    )
    about = json.loads(resolved)
    with_traffic = None
    if about["traffic"]:
        with_traffic = busy.watch(path, about, seed=seed, duration=duration)
    return Look(about, seed, links, pl.DataFrame(probes), with_traffic)


def rates(link: Link, width_s: float) -> Series:
    """The rate in each whole ``width_s`` of the time that the link was watched."""
    count = int(link.end_s / width_s + 1e-9)
    edges = np.arange(count + 1) * width_s
    packets = np.diff(np.searchsorted(link.times_s, edges))
    return packets * (8.0 * link.packet_bytes / width_s)


def variation(values: Series) -> float | None:
    """Standard deviation over mean; ``None`` where that means nothing."""
    mean = float(values.mean()) if len(values) > 1 else 0.0
    return None if mean == 0 else float(values.std()) / mean


def autocorrelation(values: Series, lag: int) -> float | None:
    """Correlation with the values ``lag`` later; ``None`` for too few, or if all are the same."""
    if len(values) < lag + 10:
        return None
    centred = values - values.mean()
    power = float((centred**2).mean())
    # A steady rate differs by a packet from bin to bin.
    if power <= (1e-3 * float(values.mean())) ** 2:
        return None
    return float((centred[:-lag] * centred[lag:]).mean()) / power


def bursts(link: Link) -> tuple[Series, Series]:
    """Start and number of packets of each burst; none where packets are evenly spaced.

    A burst ends at a gap of more than two mean gaps, taken over the tenth of a second in which the
    gap begins.
    """
    times = link.times_s
    gaps = np.diff(times)
    places = (times[:-1] / _BIN_S).astype(np.int64)
    counts = np.bincount(places, minlength=1)
    ends = np.flatnonzero(gaps * np.maximum(1, counts[places]) > _BURST_GAP * _BIN_S)
    if len(ends) < 2:
        return np.empty(0), np.empty(0)
    # The last one may go on after the end.
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


def numbers(seen: Look) -> dict[str, Any]:
    """What was seen, as the document of ``slowstart path --json``."""
    delays: dict[str, Any] = {}
    for name, (_, values) in seen.delays().items():
        delays[name.replace(" ", "_")] = _delays_ms(values * 1e3)
    there = seen.probes["forward_s"].null_count()
    return {
        "format": 1,
        "version": version(),
        "look": {
            "path": seen.path,
            "seed": seen.seed,
            "links": [_link_numbers(each) for each in seen.links],
            "probes": {
                "sent": len(seen.probes),
                "lost_forward": there,
                "lost_reverse": seen.probes["reverse_s"].null_count() - there,
                "delay_ms": delays,
            },
            "busy": None if seen.busy is None else _busy_numbers(seen, seen.busy),
        },
    }


def _busy_numbers(seen: Look, found: Busy) -> dict[str, Any]:
    links = []
    for link in seen.links:
        begin = int(np.ceil(found.begin_s / _SHARE_S))
        shares = found.shares(link.name, rates(link, _SHARE_S), _SHARE_S)[begin:]
        shares = shares[~np.isnan(shares)]
        links.append(
            {
                "name": link.name,
                "share_mean": float(shares.mean()) if len(shares) else None,
                "share_1s": _percentiles(shares, PERCENTILES) if len(shares) else None,
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
    """Prints the numbers to standard output."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    found = document["look"]
    out = tables.console()
    path = found["path"]
    out.print(
        Text.assemble((tables.short(path["name"]), "bold"), "  ", (tables.describe(path), "dim"))
    )
    if path["summary"]:
        out.print(Text(path["summary"], "dim"))

    # Where the terminal is narrow, the columns that say least are left out.
    narrow = out.width < _NARROW

    def table(*heads: str) -> Table:
        made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for place, head in enumerate(heads):
            # In a narrow terminal heads and cells are broken at spaces, and no number is cut.
            made.add_column(
                head, justify="left" if place == 0 else "right", min_width=8 if place == 0 else 5
            )
        return made

    def row(values: dict[str, float] | None, keys: tuple[str, ...]) -> list[str]:
        return [_number(None if values is None else values[key]) for key in keys]

    if found["links"]:
        percent = tuple(f"p{each}" for each in PERCENTILES)
        spreads = () if narrow else ("CV 20 ms", "100 ms", "1 s")
        rate = table("never empty", "mean", *(f"{each} %" for each in PERCENTILES), *spreads)
        for each in found["links"]:
            tenths = each["rate_100ms_bps"]
            # One unit for all of them: that of the mean.
            unit = tables.rate(each["mean_bps"]).partition(" ")[2]
            least = _UNITS_BPS[unit]
            values = [each["mean_bps"], *(tenths[key] if tenths else None for key in percent)]
            shares = [_number(None if it is None else it / least) for it in values]
            spread = ["-" if it is None else f"{it:.2f}" for it in each["variation"].values()]
            rate.add_row(f"{each['name']}, {unit}", *shares, *spread[: len(spreads)])
        out.print(rate)
        gap_keys = (*(f"p{each}" for each in GAP_PERCENTILES), "max")
        burst_heads = () if narrow else ("packets in a burst (5, 50, 95 %)", "burst to burst, ms")
        gap = table(
            "between packets, ms",
            *(f"{each} %" for each in GAP_PERCENTILES),
            "max",
            "> 200 ms",
            *burst_heads,
        )
        for each in found["links"]:
            burst = each["bursts"]
            spaced = (
                ["evenly spaced", "-"]
                if burst is None
                else [
                    " / ".join(_number(burst[key][p]) for p in ("p5", "p50", "p95"))
                    for key in ("packets", "spacing_ms")
                ]
            )
            gap.add_row(
                each["name"],
                *row(each["gap_ms"], gap_keys),
                str(each["gaps_over_200_ms"]),
                *spaced[: len(burst_heads)],
            )
        out.print(gap)
        for each in found["links"]:
            if each["packets"] >= _MOST_PACKETS:
                out.print(
                    f"{each['name']} was watched for {tables.seconds(each['end_s'])} alone: "
                    f"a look holds {_MOST_PACKETS // 1_000_000} million packets"
                )
    keys = ("min", *(f"p{each}" for each in DELAY_PERCENTILES), "max")
    delay = table(
        "delay of a probe, ms", "min", *(f"{each} %" for each in DELAY_PERCENTILES), "max", "lost"
    )
    probes = found["probes"]
    for name in ("forward", "reverse"):
        delay.add_row(name, *row(probes["delay_ms"][name], keys), str(probes[f"lost_{name}"]))
    delay.add_row(
        "round trip", *row(probes["delay_ms"]["round_trip"], keys), f"of {probes['sent']}"
    )
    if found["busy"] is not None:
        delay.add_row(
            "round trip, busy",
            *row(found["busy"]["probe"]["round_trip_ms"], keys),
            f"{found['busy']['probe']['lost']} of {found['busy']['probe']['sent']}",
        )
    out.print(delay)
    if found["busy"] is None:
        return
    share = table("taken by other traffic", "mean", *(f"{each} %" for each in PERCENTILES))
    for each in found["busy"]["links"]:
        known = [each["share_mean"], *(each["share_1s"] or {}).values()]
        share.add_row(each["name"], *(f"{100 * it:.1f} %" for it in known if it is not None))
    out.print(share)


def _draw_rates(axes: Axes, seen: Look) -> None:
    for link in seen.links:
        width = max(_BIN_S, link.end_s / _POINTS)
        values = rates(link, width) / 1e6
        edges = np.arange(len(values) + 1) * width
        axes.stairs(values, edges, baseline=None, lw=1, color=_COLORS[link.name], label=link.name)
    axes.set(ylabel="rate of a queue that\nis never empty (Mbit/s)", xlabel="time (s)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, seen.end_s)


def _draw_delays(axes: Axes, seen: Look) -> None:
    # Where both directions take as long, the first is seen on the second.
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
    axes.set(ylabel="one-way delay\nof a probe (ms)", xlabel="time (s)")
    axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.set_xlim(0, seen.end_s)


def _draw_packets(axes: Axes, seen: Look) -> None:
    """So many milliseconds that the slowest link, too, has something to show."""
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
    axes.set(xlabel="time in the middle (ms)", ylabel="packets through")
    axes.set_xlim(0, span * 1e3)
    axes.set_ylim(bottom=0)


def _draw_gaps(axes: Axes, seen: Look) -> None:
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
        ylabel="share of gaps not below",
    )
    if seen.links:
        plots.plain_log(axes.xaxis)


def _draw_distribution(axes: Axes, seen: Look) -> None:
    for name, (_, values) in seen.delays().items():
        if len(values):
            axes.step(
                np.sort(values) * 1e3,
                np.arange(1, len(values) + 1) / len(values),
                where="post",
                color=_COLORS[name],
                label=name,
            )
    axes.set(xlabel="delay of a probe (ms)", ylabel="share of probes not above")
    axes.set_xlim(left=0)


def _draw_busy(axes: Axes, below: Axes, seen: Look, found: Busy) -> None:
    """The share of each link's rate that is taken, and round trips with other traffic."""
    width = max(_SHARE_S, found.end_s / _POINTS)
    for link in seen.links:
        shares = found.shares(link.name, rates(link, width), width)
        edges = np.arange(len(shares) + 1) * width
        axes.stairs(shares, edges, baseline=None, lw=1.2, color=_COLORS[link.name])
    axes.set_ylabel("share of the rate\nthat is taken")
    axes.set_ylim(0, 1.05)
    times, values = seen.delays()["round trip"]
    below.plot(times, values * 1e3, ".", ms=1.5, color=_COLORS["round trip"], rasterized=True)
    trips = found.round_trips
    size = 2.5 if len(trips) > _POINTS else 5.0
    below.plot(trips["time_s"], trips["rtt_ms"], ".", ms=size, color=_BUSY, rasterized=True)
    below.set_ylabel("round trip\nof a probe (ms)")
    below.set_ylim(0, 1.05 * below.get_ylim()[1])
    for each in (axes, below):
        each.set_xlabel("time (s)")
        each.set_xlim(0, seen.end_s)
        if found.begin_s:
            each.axvline(found.begin_s, color="#777777", linestyle=":", linewidth=1)


def figure(seen: Look) -> Figure:
    """Rate and delay over time, single packets, gaps, and how delays are distributed.

    With other traffic, the share of the rate that it takes, and round trips beside it, too.
    """
    over_time = ["rate", "delay"] if seen.busy is None else ["rate", "delay", "share", "trip"]
    with plots.styled():
        made = plots.new_figure(10, 3.0 + 2.5 * len(over_time))
        rows: list[Any] = [[each] * 3 for each in over_time]
        places = made.subplot_mosaic([*rows, ["packets", "gaps", "spread"]])
        if seen.busy is not None:
            _draw_busy(places["share"], places["trip"], seen, seen.busy)
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
            lines.append(Line2D([], [], color=_BUSY, label="round trip, with other traffic"))
            if seen.busy.begin_s:
                look: Any = {"color": "#777777", "ls": ":", "lw": 1}
                lines.append(Line2D([], [], label="other traffic is warm", **look))
        if seen.probes["reverse_s"].null_count():
            tick: Any = {"ls": "", "marker": "|", "color": colors.VERMILLION}
            lines.append(Line2D([], [], label="probe lost", **tick))
        plots.legend(made, lines)
        name = tables.short(seen.path["name"])
        how = "without TCP" if seen.busy is None else "alone and with its other traffic"
        return plots.finish(made, f"{name} {how}: {tables.describe(seen.path)}; seed {seen.seed}")


def write(folder: Path, seen: Look) -> None:
    """Writes the document, the figure and the packets and probes as tables into ``folder``."""
    document = json.dumps(numbers(seen), indent=2)
    (folder / "result.json").write_text(document + "\n", encoding="utf-8")
    plots.save(figure(seen), folder, "path")
    seen.probes.write_parquet(folder / "probes.parquet")
    if seen.busy is not None:
        seen.busy.round_trips.write_parquet(folder / "round_trips.parquet")
    packets = [
        pl.DataFrame({"link": [link.name] * len(link.times_s), "time_s": link.times_s})
        for link in seen.links
    ]
    empty = pl.DataFrame(schema={"link": pl.String, "time_s": pl.Float64})
    pl.concat([empty, *packets]).write_parquet(folder / "packets.parquet")
