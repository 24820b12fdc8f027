"""The measurements that rules are about, and the kinds of rules: one row each.

A measurement is a number of one flow of one run, from the result document
(docs/concepts/measurements.md). A new kind of rule is one row of :data:`KINDS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Flow = Mapping[str, Any]
    Run = Mapping[str, Any]
    Resolved = Mapping[str, Any]

# IP and TCP with timestamps.
_HEADERS = 52
NEVER = math.inf
"""The time of what did not happen, and the window at an exit that did not."""


class Sample(NamedTuple):
    """A flow of a run."""

    flow: Flow
    run: Run
    resolved: Resolved
    """The resolved scenario."""

    @property
    def exit(self) -> Mapping[str, Any]:
        """Its slow-start exit; empty without one."""
        found: Mapping[str, Any] = self.flow["slow_start_exit"] or {}
        return found

    @property
    def mss(self) -> int:
        """The payload of its full segments, in bytes."""
        return int(self.resolved["flows"][self.flow["flow"]]["mss_bytes"])

    def startup(self, key: str) -> Any:
        """A number of its start-up; ``None`` if the stack does not measure it."""
        return self.flow.get("startup", {}).get(key)

    def forward(self, key: str) -> Any:
        """A number of the bottleneck."""
        links = [link for link in self.run["links"] if link["name"] == "forward"]
        return links[0][key] if links else None


@dataclass(frozen=True)
class Metric:
    """A measurement of a flow."""

    name: str
    unit: str
    """The base unit of :mod:`slowstart.quantities`: ``1`` is a fraction, nothing is a count."""
    words: str
    better: Literal["lower", "higher", ""]
    """Which change is an improvement; nothing if neither always is."""
    of: Callable[[Sample], float | None]
    """Its value; ``None`` if the flow has none."""


def _exit_window(one: Sample) -> float:
    if not one.exit:
        return NEVER
    packets = one.exit.get("cwnd_packets")
    return float(one.exit["cwnd_bytes"] / one.mss if packets is None else packets)


def _exit_rate(one: Sample) -> float | None:
    """The delivery rate at the exit, as a fraction of what the bottleneck carries of payload."""
    path, delivered = one.resolved["path"], one.exit.get("path", {}).get("delivered_bps")
    if delivered is None or not path.get("rate_bps"):
        return None
    packet = one.mss + _HEADERS + path["forward"]["overhead_bytes"]
    return float(delivered * packet / (one.mss * path["rate_bps"]))


def _jain(one: Sample) -> float | None:
    """Jain's index of the goodputs of all flows (Jain, Chiu and Hawe 1984)."""
    rates = [flow["goodput_bps"] for flow in one.run["flows"]]
    squares = math.fsum(each * each for each in rates)
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else None


def _near_capacity(one: Sample) -> float | None:
    if "startup" not in one.flow:
        return None
    return _or_never(one.startup("near_capacity_s"))


def _or_never(value: float | None) -> float:
    return NEVER if value is None else value


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


METRICS = {
    each.name: each
    for each in (
        Metric("completion", "s", "completion time", "lower",
               lambda one: _or_never(one.flow["fct_s"])),
        Metric("goodput", "bit/s", "goodput", "higher", lambda one: one.flow["goodput_bps"]),
        Metric("exit", "s", "slow-start exit", "", lambda one: _or_never(one.exit.get("time_s"))),
        Metric("exit_window", "packets", "window at the exit", "", _exit_window),
        Metric("exit_rate", "1", "delivery rate at the exit", "higher", _exit_rate),
        Metric("near_capacity", "s", "time to 90 % of the capacity", "lower", _near_capacity),
        Metric("delivered_1s", "B", "data delivered in the first second", "higher",
               lambda one: one.startup("delivered_1s_bytes")),
        Metric("overshoot", "B", "overshoot", "lower", lambda one: one.startup("overshoot_bytes")),
        Metric("loss", "1", "lost segments", "lower", lambda one: one.flow["loss_ratio"]),
        Metric("drops", "packets", "dropped packets", "lower",
               lambda one: one.flow["segments_dropped"]),
        Metric("timeouts", "", "timeouts", "lower", lambda one: one.flow["timeouts"]),
        Metric("rtt", "s", "mean RTT", "lower", lambda one: _seconds(one.flow["rtt_mean_ms"])),
        Metric("rtt_p95", "s", "95th percentile of the RTT", "lower",
               lambda one: _seconds(one.flow["rtt_p95_ms"])),
        Metric("startup_queue", "packets", "longest queue of the start-up", "lower",
               lambda one: one.startup("queue_max_packets")),
        Metric("queue", "packets", "longest queue", "lower",
               lambda one: one.forward("queue_max_packets")),
        Metric("utilization", "1", "utilization", "higher",
               lambda one: one.forward("utilization")),
        Metric("fairness", "", "Jain's index", "higher", _jain),
        Metric("early", "1", "early exits", "lower",
               lambda one: float(one.flow["exit_class"] == "early")),
        Metric("late", "1", "late exits", "lower",
               lambda one: float(one.flow["exit_class"] == "late")),
    )
}  # fmt: skip
"""The measurements, by name."""
SHARES = ("early", "late")
"""Of these, the mean over all flows and runs is the fraction that is so."""


@dataclass(frozen=True)
class Kind:
    """A kind of rule about a number: a key of ``[case.rules]``."""

    key: str
    metric: str
    sense: Literal["at most", "at least"]
    sentence: str
    """What the rule demands; ``{}`` is its limit."""


KINDS = {
    each.key: each
    for each in (
        Kind("exit_within", "exit", "at most", "leaves slow start within {}"),
        Kind("exit_after", "exit", "at least", "leaves slow start no earlier than after {}"),
        Kind("exit_window_at_least", "exit_window", "at least",
             "leaves slow start with a window of at least {}"),
        Kind("exit_window_at_most", "exit_window", "at most",
             "leaves slow start with a window of at most {}"),
        Kind("exit_rate_at_least", "exit_rate", "at least",
             "delivers at least {} of the bottleneck's rate when it leaves slow start"),
        Kind("exit_rate_at_most", "exit_rate", "at most",
             "delivers at most {} of the bottleneck's rate when it leaves slow start"),
        Kind("early_at_most", "early", "at most", "leaves slow start early in at most {} of runs"),
        Kind("late_at_most", "late", "at most", "leaves slow start late in at most {} of runs"),
        Kind("near_capacity_within", "near_capacity", "at most",
             "delivers 90 % of the capacity within {}"),
        Kind("delivered_1s_at_least", "delivered_1s", "at least",
             "delivers at least {} in the first second"),
        Kind("overshoot_at_most", "overshoot", "at most",
             "has at most {} of what slow start sent dropped"),
        Kind("startup_queue_at_most", "startup_queue", "at most",
             "queues at most {} until one RTT after the exit"),
        Kind("completion_within", "completion", "at most", "completes within {}"),
        Kind("goodput_at_least", "goodput", "at least", "has a goodput of at least {}"),
        Kind("loss_at_most", "loss", "at most", "loses at most {} of its segments"),
        Kind("loss_at_least", "loss", "at least", "loses at least {} of its segments"),
        Kind("drops_at_most", "drops", "at most", "has at most {} dropped"),
        Kind("timeouts_at_most", "timeouts", "at most", "has at most {} timeouts"),
        Kind("rtt_at_most", "rtt", "at most", "keeps the mean RTT within {}"),
        Kind("rtt_p95_at_most", "rtt_p95", "at most",
             "keeps the 95th percentile of the RTT within {}"),
        Kind("queue_at_most", "queue", "at most", "queues at most {} at the bottleneck"),
        Kind("utilization_at_least", "utilization", "at least",
             "keeps the bottleneck busy for at least {} of the time"),
        Kind("fairness_at_least", "fairness", "at least",
             "shares with a Jain's index of at least {}"),
    )
}  # fmt: skip
"""The kinds of rules about a number, by key."""
OTHERS = {
    "completes": "delivers all of its data",
    "leaves_slow_start": "leaves slow start",
    "exit_reason": "leaves slow start because of {}",
    "not_worse": "has no worse {} than the baseline",
}
"""The other kinds of rules, by key."""
