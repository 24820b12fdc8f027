"""How long a sender takes to use the new capacity after its path changes, and what this costs.

docs/concepts/rate-changes.md defines the numbers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

USED = 0.9
"""The fraction of the new capacity that counts as used, as for the time to capacity."""
_LAST_PACKET_S = 0.002
"""The last packet before a step may have left so long before it."""
_OF_FLOWS = ("run", "name", "time_s", "rtt_ms")
_OF_LINKS = ("run", "link", "time_s", "drops", "transmitted_bytes")


class Change(NamedTuple):
    """A step of the bottleneck's rate, of the base RTT, or of both."""

    at_s: float
    until_s: float
    """The next step, or the end."""
    before_bps: float
    after_bps: float
    before_rtt_s: float
    after_rtt_s: float


def steps(path: Mapping[str, Any], end_s: float) -> list[Change]:
    """The changes of the rate and of the base RTT of a resolved path until ``end_s``.

    Raises:
        InputError: Neither changes in steps.
    """
    forward, reverse = path.get("forward", {}), path.get("reverse", {})
    service = forward.get("service", {})
    rates = _lap(service, "steps_s_bps")
    delays = [lap for each in (forward, reverse) if (lap := _delays(each)) is not None]
    if rates is None and delays and service.get("kind") == "fixed":
        rates = [(end_s, float(service["rate_bps"]))]
    if rates is None:
        raise InputError(
            f"neither the rate of the path {path.get('name')} changes in steps, nor its delay at a "
            "fixed rate"
        )
    # The rate, and what each direction adds to the base RTT.
    base_s = path["base_rtt_ms"] / 1000
    series = [np.array(list(_unrolled(lap, end_s))).reshape(-1, 2).T for lap in (rates, *delays)]
    times = np.unique(np.concatenate([begins for begins, _ in series]))
    values = [each[np.searchsorted(begins, times, "right") - 1] for begins, each in series]
    rtts = base_s + sum(values[1:], np.zeros(len(times))) / 1000
    made: list[Change] = []
    for n in np.flatnonzero((np.diff(values[0]) != 0) | (np.diff(rtts) != 0)):
        at = float(times[n + 1])
        if made:
            made[-1] = made[-1]._replace(until_s=at)
        of_both = (float(each[m]) for each in (values[0], rtts) for m in (n, n + 1))
        made.append(Change(at, end_s, *of_both))
    return made


def _lap(table: Mapping[str, Any], key: str) -> list[tuple[float, float]] | None:
    """Steps of a rate or of a delay, if the resolved form lists them."""
    listed = table.get(key)
    return None if listed is None else [(float(span), float(value)) for span, value in listed]


def _delays(link: Mapping[str, Any]) -> list[tuple[float, float]] | None:
    """The steps of what a link adds to its smallest delay (s, ms)."""
    return _lap(link.get("jitter") or {}, "steps_s_ms")


def _unrolled(lap: Sequence[tuple[float, float]], end_s: float) -> Iterator[tuple[float, float]]:
    """When each step of laps that repeat begins, with its value."""
    at, number = 0.0, 0
    while at < end_s:
        span, value = lap[number % len(lap)]
        yield at, value
        at, number = at + span, number + 1


def rate_changes(flow_traces: Any, link_traces: Any, path: Mapping[str, Any]) -> pl.DataFrame:
    """How long it takes until a new capacity of the path is used, and what the change costs.

    The rate of the bottleneck changes, or the base RTT, or both. All that the bottleneck carries
    counts, retransmissions and background traffic too. An outage (a rate of zero) has no row.

    Args:
        flow_traces: The time series of flows of one scenario (``Result.flow_traces``).
        link_traces: Those of its links (``Result.link_traces``).
        path: The resolved path (``Scenario.resolved["path"]``), whose rate or delay is an array of
            steps.

    Returns:
        One row for each run and change: ``name`` (of the flows), ``change_s``, ``before_bps``,
        ``after_bps``, ``before_rtt_ms``, ``after_rtt_ms`` (the base RTT), ``used_s`` (from the
        change to the end of the first base RTT in which the bottleneck carried 90 % of its rate;
        null if not before the next change or the end; a change of the RTT reaches the bottleneck
        within an RTT, so that the next RTT is then the first that counts), ``unused_s`` (what it
        could have carried besides until then, or until the next change, as time at the new rate),
        ``rtt_max_ms`` and ``drops`` (the largest RTT, and the packets that the bottleneck dropped,
        until the next change).

    Raises:
        InputError: Neither the rate nor the delay of the path changes in steps, or a table lacks a
            column.

    Example:
        >>> from slowstart.capacity_changes import steps
        >>> rates = {"kind": "steps", "steps_s_bps": [[5, 1e7], [9, 5e7]]}
        >>> steps({"base_rtt_ms": 50, "forward": {"service": rates}}, 10.0)[0][:4]
        (5.0, 10.0, 10000000.0, 50000000.0)
    """
    rows = list(_rows(*tables(flow_traces, link_traces), path))
    numbers = ("used_s", "unused_s", "rtt_max_ms")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))


def _rows(
    flows: pl.DataFrame, links: pl.DataFrame, path: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for (run,), link in links.group_by("run", maintain_order=True):
        mine = flows.filter(pl.col("run") == run)
        time, total = carried(link, path)
        for change in steps(path, float(time[-1])):
            if change.after_bps <= 0:
                continue
            rate = change.after_bps / 8
            used = _used(time, total, change)
            end = change.until_s if used is None else change.at_s + used
            brought = np.interp(end, time, total) - np.interp(change.at_s, time, total)
            inside = mine.filter(pl.col("time_s").is_between(change.at_s, change.until_s))
            yield {
                "path": path["name"],
                "run": run,
                "name": " ".join(mine["name"].unique(maintain_order=True)),
                "change_s": change.at_s,
                "before_bps": change.before_bps,
                "after_bps": change.after_bps,
                "before_rtt_ms": 1000 * change.before_rtt_s,
                "after_rtt_ms": 1000 * change.after_rtt_s,
                "used_s": used,
                "unused_s": max(0.0, float(end - change.at_s - brought / rate)),
                "rtt_max_ms": inside["rtt_ms"].max(),
                "drops": drops(link, change.until_s) - drops(link, change.at_s),
            }


def tables(
    flow_traces: Any, link_traces: Any, of_flows: Iterable[str] = _OF_FLOWS
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The time series of flows, and those of the forward link.

    Raises:
        InputError: A table lacks a column.
    """
    flows, links = pl.DataFrame(flow_traces), pl.DataFrame(link_traces)
    for table, columns in ((flows, of_flows), (links, _OF_LINKS)):
        for each in columns:
            if each not in table.columns:
                raise InputError(f"the table has no column {each}: make it with traces")
    return flows, links.filter(pl.col("link") == "forward")


def carried(link: pl.DataFrame, path: Mapping[str, Any]) -> tuple[Numbers, Numbers]:
    """What a link has carried: times, and bytes until then, with the link's overhead.

    A trace counts packets when they arrive; the times here are those at the link.
    """
    delay = path["forward"].get("delay_ms")
    least_s = delay / 1000 if isinstance(delay, (int, float)) else 0.0
    time = link["time_s"].cast(pl.Float64).to_numpy()
    total = link["transmitted_bytes"].cast(pl.Float64).to_numpy()
    lap = _delays(path["forward"])
    if lap is None:
        return time - least_s, total
    lap = [(span, least_s + more / 1000) for span, more in lap]
    time, known = _left(time, lap)
    return time[known], total[known]


def _left(
    arrived: Numbers, lap: Sequence[tuple[float, float]]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """When packets left a link whose delay changes in steps, and whether this is known.

    Packets never overtake each other: what leaves for a while after the delay has fallen arrives
    together with the last packet before.
    """
    at_end, at_link = [0.0], [-lap[0][1]]
    known = np.ones(len(arrived), dtype=np.bool_)
    begins = [*_unrolled(lap, float(arrived[-1])), (float(arrived[-1]), lap[0][1])]
    for (begin, delay), (until, _) in pairwise(begins):
        latest = at_end[-1]
        if latest > begin + delay:
            known &= (arrived < latest - _LAST_PACKET_S) | (arrived >= latest)
            at_end.append(float(np.nextafter(latest, np.inf)))
            at_link.append(latest - delay)
        else:
            at_end.append(begin + delay)
            at_link.append(begin)
        at_end.append(until + delay)
        at_link.append(until)
    left = np.interp(arrived, np.maximum.accumulate(at_end), np.maximum.accumulate(at_link))
    return left, known


def _used(time: Numbers, total: Numbers, change: Change) -> float | None:
    """The end of the first base RTT after the change in which the link carried enough."""
    base_s = change.after_rtt_s
    least_s = base_s if change.before_rtt_s == base_s else 2 * base_s
    ends = time[(time >= change.at_s + least_s) & (time <= change.until_s)]
    enough = np.interp(ends, time, total) - np.interp(ends - base_s, time, total)
    found = np.flatnonzero(enough >= USED * change.after_bps / 8 * base_s)
    return float(ends[found[0]] - change.at_s) if len(found) else None


def drops(link: pl.DataFrame, when: float) -> int:
    """The packets that the link has dropped until ``when``."""
    before = link.filter(pl.col("time_s") <= when)["drops"]
    return 0 if before.is_empty() else int(before[-1])
