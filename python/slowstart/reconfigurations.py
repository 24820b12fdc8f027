"""What a sender carries of a link that is reconfigured at intervals, such as that of Starlink.

docs/concepts/rate-changes.md defines the numbers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.capacity_changes import USED, carried, tables
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_ENOUGH = 0.5
"""A round trip in which the link could carry less than this part of its mean does not count: it
lies in an interruption."""


def reconfigurations(
    flow_traces: Any, link_traces: Any, path: Mapping[str, Any], capacity: Mapping[int, Any]
) -> pl.DataFrame:
    """How much of each new capacity of a link is used after its reconfigurations.

    The path has the model ``leo`` with a ``phase``. What its forward link could have carried is
    what :func:`slowstart.characterization.watch` measures with the seed of the run.

    Args:
        flow_traces: The time series of flows of one scenario (``Result.flow_traces``).
        link_traces: Those of its links (``Result.link_traces``).
        path: The resolved path (``Scenario.resolved["path"]``).
        capacity: By the number of the run, the forward link of a saturated path
            (``watch(...).links[0]``).

    Returns:
        One row for each run and interval that begins and ends within the run: ``run``, ``name`` (of
        the flows), ``change_s``, ``before_bps``, ``after_bps`` (the mean capacity of the interval
        before it, and of this one), ``used_s`` (from the reconfiguration to the end of the first
        base RTT in which the link carried 90 % of what it could; null if never), ``unused_s``
        (what it could have carried besides until then, or until the next reconfiguration, as time
        at the mean capacity), ``carried`` (the fraction of the interval's capacity that was
        carried) and ``rtt_max_ms`` (the largest RTT in it).

    Raises:
        InputError: The path has no such model or no phase, a run has no capacity, or a table lacks
            a column.

    Example:
        >>> from slowstart.reconfigurations import instants
        >>> leo = {"interval_s": 15.0, "phase_s": 12.0}
        >>> instants({"forward": {"service": leo}}, 60.0)
        [12.0, 27.0, 42.0, 57.0]
    """
    flows, links = tables(flow_traces, link_traces)
    rows: list[dict[str, Any]] = []
    for (run,), link in links.group_by("run", maintain_order=True):
        if run not in capacity:
            raise InputError(f"there is no capacity for run {run}")
        rows += _rows(run, flows.filter(pl.col("run") == run), link, path, capacity[run])
    numbers = ("used_s", "unused_s", "rtt_max_ms")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))


def instants(path: Mapping[str, Any], end_s: float) -> list[float]:
    """When the forward link of a resolved path is reconfigured until ``end_s``.

    Raises:
        InputError: The path has another model, or no phase.
    """
    service = path.get("forward", {}).get("service", {})
    interval, phase = service.get("interval_s"), service.get("phase_s")
    if interval is None or phase is None:
        raise InputError(
            f"the forward link of the path {path.get('name')} has no model leo with a phase"
        )
    # As the model does: the first one lies within the first interval.
    return [float(at) for at in np.arange(phase % interval, end_s, interval)]


def _rows(
    run: Any, flows: pl.DataFrame, link: pl.DataFrame, path: Mapping[str, Any], capacity: Any
) -> Iterator[dict[str, Any]]:
    time, total = carried(link, path)
    times = np.asarray(capacity.times_s, dtype=np.float64)
    could: Numbers = np.arange(1, len(times) + 1, dtype=np.float64) * capacity.packet_bytes
    base_s = path["base_rtt_ms"] / 1000
    changes = [0.0, *instants(path, float(min(time[-1], capacity.end_s)))]
    before = None
    for begin, end in pairwise(changes):
        most = np.interp(end, times, could) - np.interp(begin, times, could)
        rate = most / (end - begin)
        if before is not None:
            used = _used(time, total, (times, could), (begin, end, base_s, rate))
            until = end if used is None else begin + used
            unused = np.interp(until, times, could) - np.interp(begin, times, could)
            unused -= np.interp(until, time, total) - np.interp(begin, time, total)
            whole = np.interp(end, time, total) - np.interp(begin, time, total)
            inside = flows.filter(pl.col("time_s").is_between(begin, end))
            yield {
                "path": path["name"],
                "run": run,
                "name": " ".join(flows["name"].unique(maintain_order=True)),
                "change_s": begin,
                "before_bps": 8 * before,
                "after_bps": 8 * rate,
                "used_s": used,
                "unused_s": max(0.0, float(unused / rate)),
                "carried": float(whole / most),
                "rtt_max_ms": inside["rtt_ms"].max(),
            }
        before = rate


def _used(
    time: Numbers, total: Numbers, could: tuple[Numbers, Numbers], slot: tuple[float, ...]
) -> float | None:
    """The end of the first base RTT in which the link carried enough of what it could."""
    begin, end, base_s, rate = slot
    ends = time[(time >= begin + base_s) & (time <= end)]
    most = np.interp(ends, *could) - np.interp(ends - base_s, *could)
    brought = np.interp(ends, time, total) - np.interp(ends - base_s, time, total)
    found = np.flatnonzero((brought >= USED * most) & (most >= _ENOUGH * rate * base_s))
    return float(ends[found[0]] - begin) if len(found) else None
