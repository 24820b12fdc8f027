"""How long a sender takes to use the new capacity after a bottleneck's rate changes, and its cost.

docs/concepts/rate-changes.md defines the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

USED = 0.9
"""The fraction of the new capacity that counts as used, as for the time to capacity."""
_OF_FLOWS = ("run", "name", "time_s", "rtt_ms")
_OF_LINKS = ("run", "link", "time_s", "drops", "transmitted_bytes")


class Change(NamedTuple):
    """A step of the bottleneck's rate."""

    at_s: float
    until_s: float
    """The next step, or the end."""
    before_bps: float
    after_bps: float


def steps(path: Mapping[str, Any], end_s: float) -> list[Change]:
    """The changes of the rate of a resolved path until ``end_s``.

    Raises:
        InputError: The path has no rate in steps.
    """
    service = path.get("forward", {}).get("service", {})
    if service.get("kind") != "steps" or len(service["steps_s_bps"]) != service["steps"]:
        raise InputError(f"the rate of the path {path.get('name')} does not change in steps")
    made: list[Change] = []
    lap = service["steps_s_bps"]
    at, number = 0.0, 0
    while at < end_s:
        lasts, rate = lap[number % len(lap)]
        before = lap[(number - 1) % len(lap)][1]
        if number and rate != before:
            made.append(Change(at, min(end_s, at + lasts), before, rate))
        elif made:
            made[-1] = made[-1]._replace(until_s=min(end_s, at + lasts))
        at, number = at + lasts, number + 1
    return made


def rate_changes(flow_traces: Any, link_traces: Any, path: Mapping[str, Any]) -> pl.DataFrame:
    """How long it takes until a new rate of the bottleneck is used, and what the change costs.

    All that the bottleneck carries counts, retransmissions and background traffic too. An outage
    (a rate of zero) has no row.

    Args:
        flow_traces: The time series of flows of one scenario (``Result.flow_traces``).
        link_traces: Those of its links (``Result.link_traces``).
        path: The resolved path (``Scenario.resolved["path"]``), whose rate is an array of steps.

    Returns:
        One row for each run and change: ``name`` (of the flows), ``change_s``, ``before_bps``,
        ``after_bps``, ``used_s`` (from the change to the end of the first base RTT in which the
        bottleneck carried 90 % of its new rate; null if not before the next change or the end),
        ``unused_s`` (what it could have carried besides until then, or until the next change, as
        time at the new rate), ``rtt_max_ms`` and ``drops`` (the largest RTT, and the packets that
        the bottleneck dropped, until the next change).

    Raises:
        InputError: The rate of the path does not change in steps, or a table lacks a column.

    Example:
        >>> from slowstart.capacity_changes import steps
        >>> rates = {"kind": "steps", "steps": 2, "steps_s_bps": [[5, 1e7], [9, 5e7]]}
        >>> steps({"forward": {"service": rates}}, 10.0)
        [Change(at_s=5.0, until_s=10.0, before_bps=10000000.0, after_bps=50000000.0)]
    """
    flows, links = pl.DataFrame(flow_traces), pl.DataFrame(link_traces)
    for table, columns in ((flows, _OF_FLOWS), (links, _OF_LINKS)):
        for each in columns:
            if each not in table.columns:
                raise InputError(f"the table has no column {each}: make it with traces")
    rows = list(_rows(flows, links.filter(pl.col("link") == "forward"), path))
    numbers = ("used_s", "unused_s", "rtt_max_ms")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))


def _rows(
    flows: pl.DataFrame, links: pl.DataFrame, path: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    base_s = path["base_rtt_ms"] / 1000
    for (run,), link in links.group_by("run", maintain_order=True):
        mine = flows.filter(pl.col("run") == run)
        time, total = carried(link, path)
        for change in steps(path, float(time[-1])):
            if change.after_bps <= 0:
                continue
            rate = change.after_bps / 8
            used = _used(time, total, change, rate, base_s)
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
                "used_s": used,
                "unused_s": max(0.0, float(end - change.at_s - brought / rate)),
                "rtt_max_ms": inside["rtt_ms"].max(),
                "drops": _drops(link, change.until_s) - _drops(link, change.at_s),
            }


def carried(link: pl.DataFrame, path: Mapping[str, Any]) -> tuple[Numbers, Numbers]:
    """What a link has carried: times, and bytes until then, with the link's overhead.

    A trace counts packets when they arrive; the times here are those at the link.
    """
    delay = path["forward"].get("delay_ms")
    later = delay / 1000 if isinstance(delay, (int, float)) else 0.0
    series = link.select(
        pl.col("time_s").cast(pl.Float64) - later, pl.col("transmitted_bytes").cast(pl.Float64)
    )
    return series["time_s"].to_numpy(), series["transmitted_bytes"].to_numpy()


def _used(
    time: Numbers, total: Numbers, change: Change, rate: float, base_s: float
) -> float | None:
    """The end of the first base RTT after the change in which the link carried enough."""
    ends = time[(time >= change.at_s + base_s) & (time <= change.until_s)]
    enough = np.interp(ends, time, total) - np.interp(ends - base_s, time, total)
    found = np.flatnonzero(enough >= USED * rate * base_s)
    return float(ends[found[0]] - change.at_s) if len(found) else None


def _drops(link: pl.DataFrame, when: float) -> int:
    """The packets that the link has dropped until ``when``."""
    before = link.filter(pl.col("time_s") <= when)["drops"]
    return 0 if before.is_empty() else int(before[-1])
