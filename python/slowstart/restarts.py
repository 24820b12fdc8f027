"""How a sender resumes after its application has paused: the window, and the time to the old rate.

docs/concepts/rate-changes.md defines the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.capacity_changes import USED, carried, drops, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LEAST_S = 0.2
"""The shortest idle time that counts: the smallest RTO of Linux, before which no window shrinks."""
_ROUNDING_S = 1e-6
"""The first packets after the idle time arrive at the link at once, and times are rounded."""
_FLOW = ("run", "flow", "name")
_OF_FLOWS = (*_FLOW, "time_s", "cwnd_bytes", "in_flight_bytes", "rtt_ms", "acked_bytes")


def restarts(
    flow_traces: Any, link_traces: Any, path: Mapping[str, Any], *, least_s: float = LEAST_S
) -> pl.DataFrame:
    r"""What a flow does after each idle time, in which nothing of it was in flight.

    The rates are those of the bottleneck, so all that it carries counts: retransmissions, other
    flows and background traffic too. A trace has a row when a packet arrives at the link, so what
    the queue holds when the application pauses does not count: what is written at once has to last
    for several round trips.

    Args:
        flow_traces: The time series of flows of one scenario (``Result.flow_traces``).
        link_traces: Those of its links (``Result.link_traces``).
        path: The resolved path (``Scenario.resolved["path"]``).
        least_s: The shortest idle time that counts, in seconds.

    Returns:
        One row for each idle time of each flow of each run: ``idle_from_s`` (when all data was
        acknowledged), ``idle_s``, ``before_cwnd_bytes`` (the window then), ``first_flight_bytes``
        (what the sender sends before its first ACK: the window after the idle time, unless the
        application or pacing limits it), ``before_bps`` (the most that the bottleneck carried in
        one base RTT since the idle time before), ``used_s`` (from the first segment to the end of
        the first base RTT in which it carried 90 % of this; null if not before the next idle time
        or the end) and ``drops`` (packets that it dropped from the first segment to the next idle
        time).

    Raises:
        InputError: A table lacks a column.

    Example:
        >>> import slowstart
        >>> paused = "{ write = '4 MB', pause = '3 s' }"
        >>> flow = f"algorithm = 'reno'\nsize = '8 MB'\napplication = {paused}"
        >>> made = slowstart.Scenario.from_toml(f"path.preset = 'wired'\n[[flow]]\n{flow}")
        >>> result = slowstart.run(made, traces=True)
        >>> found = restarts(result.flow_traces(), result.link_traces(), made.resolved["path"])
        >>> found["idle_s", "first_flight_bytes"].row(0)
        (3.0, 14480)
    """
    flows, links = tables(flow_traces, link_traces, _OF_FLOWS)
    rows = [
        {"path": path["name"], **dict(zip(_FLOW, names, strict=True)), **row}
        for names, flow in flows.group_by(*_FLOW, maintain_order=True)
        for row in _of_flow(flow, links.filter(pl.col("run") == names[0]), path, least_s)
    ]
    numbers = ("idle_from_s", "idle_s", "before_bps", "used_s")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))


def _of_flow(
    flow: pl.DataFrame, link: pl.DataFrame, path: Mapping[str, Any], least_s: float
) -> Iterator[dict[str, Any]]:
    time, acked, rtt_ms = (
        flow[each].cast(pl.Float64).to_numpy() for each in ("time_s", "acked_bytes", "rtt_ms")
    )
    in_flight = flow["in_flight_bytes"].to_numpy()
    base_s = path["base_rtt_ms"] / 1000
    times, total = carried(link, path)
    brought = total - np.interp(times - base_s, times, total, left=0.0)
    # The first ACK after an idle time has a sample, because nothing was retransmitted.
    idle = np.diff(time) - rtt_ms[1:] / 1000
    ends = [int(at) for at in np.flatnonzero((in_flight[:-1] == 0) & (idle >= least_s))]
    begins = [0.0, *(float(time[at] + idle[at]) for at in ends)]
    for number, at in enumerate(ends):
        begin = begins[number + 1]
        until = float(time[ends[number + 1]] if number + 1 < len(ends) else time[-1])
        before = brought[(times > begins[number] + base_s) & (times <= time[at])]
        most = float(before.max()) if len(before) else 0.0
        after = (times >= begin + base_s) & (times <= until) & (brought >= USED * most)
        used = float(times[after][0] - begin) if most and after.any() else None
        yield {
            "idle_from_s": float(time[at]),
            "idle_s": round(float(idle[at]), 9),
            "before_cwnd_bytes": int(flow["cwnd_bytes"][at]),
            "first_flight_bytes": int(in_flight[at + 1] + acked[at + 1] - acked[at]),
            "before_bps": 8 * most / base_s,
            "used_s": used,
            "drops": drops(link, until) - drops(link, begin - _ROUNDING_S),
        }
