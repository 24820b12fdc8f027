"""What a captured connection shows of its path, its receiver and its sender, as scenarios.

A connection rarely shows one value for each: a flow that never filled the path shows a lower bound
of its rate, and a link that delivers in bursts hides its base RTT. So there are several
*situations*; :mod:`slowstart.analysis.path_fit` simulates each and keeps those that repeat the
connection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# IP and TCP headers with timestamps, and what a link counts beside them (Ethernet).
HEADERS, OVERHEAD = 52, 14
POINTS = 2048
"""Points of a connection's series that a situation needs."""
# Shortest time over which a rate is taken, in seconds; else one base RTT.
_SHORTEST = 0.02
# A queue lengthens the RTT by more than this fraction of the base RTT, and this many seconds.
_QUEUED, _QUEUED_S = 0.1, 0.002
# The rate varies if the 90th percentile of the busy times is this much above the 10th.
_VARIES = 1.4
_MOST_STEPS = 400
# Below this ratio of the largest to the smallest RTT, losses are no overflow.
_NO_QUEUE = 1.25
# Fraction of the time from which a limit belongs to the situation.
_COUNTS = 0.05
# The sender paces if it waited so much of the time between ACKs.
_PACES = 0.3
# ACKs per segment from which the receiver acknowledges every segment.
_EVERY = 0.8
_LONG = "100000 s"
# The path filled if a queue shows for this fraction of the time.
_FILLS = 0.1
# A queue that shows so often at the end does not come from a delay that varies.
_STAYS_BUSY = 0.8
# A flight that grows by less from the second quarter to the last stays.
_GROWS = 1.2
# Steps of a varying rate are at least so many base RTTs long: shorter ones would repeat the bursts.
_STEP = 4
# A rate so many times the fitted one is no limit.
_FREE = 20


@dataclass(frozen=True)
class Situation:
    """The keys of a path and of a flow, and what was assumed."""

    path: str
    flow: str
    rate_bps: float
    notes: tuple[str, ...]
    # Whether the flow filled the path; else the rate is a lower bound.
    filled: bool = True

    def unlimited(self) -> Situation:
        """The same with a path that is never the limit."""
        _, rest = self.path.split("\n", 1)
        path = f'rate = "{_FREE * self.rate_bps / 1e6:.6g} Mbit/s"\n{rest}'
        path = "".join(line for line in path.splitlines(True) if not line.startswith("buffer"))
        return Situation(f'{path}buffer = "2 bdp"\n', self.flow, _FREE * self.rate_bps, self.notes)


@dataclass(frozen=True)
class Rates:
    """Delivery rates over at least a base RTT each, in bits of payload per second."""

    at_s: NDArray[np.float64]
    rate: NDArray[np.float64]
    busy: NDArray[np.bool_]
    """Whether the RTT shows a queue meanwhile."""
    width_s: float


def delivered(points: list[dict[str, Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, and bytes that were acknowledged or SACKed by then."""
    time = np.array([each["time_s"] for each in points])
    count = np.array([each["sent_bytes"] - each["in_flight_bytes"] for each in points], dtype=float)
    return time, np.maximum.accumulate(count)


def rates(points: list[dict[str, Any]], base_s: float, idle_s: float) -> Rates | None:
    """Delivery rates while the sender had data; ``None`` if that was less than a base RTT.

    A rate over less than a round trip would be that of a burst: ACKs come in bunches from Wi-Fi,
    cells and satellites. ``idle_s`` is the RTT without a queue, which may exceed the smallest where
    the delay varies.
    """
    if len(points) < 4:
        return None
    time, count = delivered(points)
    rtt = np.array([np.nan if each["rtt_ms"] is None else each["rtt_ms"] / 1e3 for each in points])
    width = max(base_s, _SHORTEST)
    first = time[np.argmax(count > 0)]
    last = time[np.argmax(count >= count[-1])]
    if last - first < width:
        return None
    begins = np.arange(first, last - width + 1e-9, max(width / 2, (last - first) / 2000))
    amount = np.interp(begins + width, time, count) - np.interp(begins, time, count)
    limit = idle_s * (1 + _QUEUED) + _QUEUED_S
    places = np.searchsorted(time, begins), np.searchsorted(time, begins + width)
    busy = np.zeros(len(begins), dtype=bool)
    for index, (low, high) in enumerate(zip(*places, strict=True)):
        here = rtt[low : max(high, low + 1)]
        here = here[~np.isnan(here)]
        busy[index] = bool(len(here)) and bool(here.min() > limit)
    return Rates(begins, amount * 8 / width, busy, width)


def _steps(found: Rates, scale: float, base_s: float) -> str | None:
    """The rate over time, between busy times interpolated; ``None`` if it is steady."""
    if found.busy.sum() < 8 or len(found.rate) < 4 * _STEP:
        return None
    # Windows overlap by half.
    smooth = np.convolve(found.rate, np.ones(2 * _STEP) / (2 * _STEP), mode="same")
    busy = smooth[found.busy]
    low, high = np.quantile(busy, (0.1, 0.9))
    if high < _VARIES * max(low, 1.0):
        return None
    between = np.interp(found.at_s, found.at_s[found.busy], busy)
    rate = np.where(found.busy, smooth, np.maximum(smooth, between))
    # What the sender sees delivered passed the bottleneck half a base RTT before.
    at = np.maximum(found.at_s + found.width_s / 2 - base_s / 2, 0.0)
    stride = max(2 * _STEP, math.ceil(len(at) / _MOST_STEPS))
    usable = len(at) // stride * stride
    if not usable:
        return None
    rate = rate[:usable].reshape(-1, stride).mean(axis=1) * scale
    at = at[:usable:stride]
    steps, begin = [], 0.0
    for value, until in zip(rate, [*at[1:], None], strict=True):
        length = _LONG if until is None else f"{max(until - begin, 1e-4):.6f} s"
        mean = float(np.median(busy)) * scale if until is None else float(value)
        steps.append(f'{{ for = "{length}", rate = "{max(mean, 1e4) / 1e6:.6g} Mbit/s" }}')
        begin = until or begin
    return f"[{', '.join(steps)}]"


def _flow(connection: dict[str, Any], segment: int) -> tuple[str, list[str]]:
    """The keys of the flow: sizes, receiver, application, pacing."""
    limits, notes = connection["limits"], []
    total = max(sum(limits.values()), 1e-9)
    window = connection["initial_window_bytes"] or 10 * segment
    flow = f'size = "{connection["bytes"]} B"\nmss = "{segment} B"\n'
    flow += f"initial_window = {min(max(round(window / segment), 1), 65535)}\n"
    if limits["receive_window_s"] > _COUNTS * total:
        seen = [each["receive_window_bytes"] or 0 for each in connection["series"]]
        # A window that was never full says little; the flight is a lower bound of it.
        room = max(connection["max_in_flight_bytes"], 2896)
        if max(seen, default=0) < 1.2 * room:
            room = max(max(seen, default=0), room)
        flow += f'receive_buffer = "{room} B"\nautotuning = "off"\n'
        notes.append(f"The receive window is {room / 1e3:.4g} kB.")
    waits = limits["pacing_s"] / max(limits["pacing_s"] + limits["congestion_window_s"], 1e-9)
    if waits > _PACES:
        flow += "pacing = true\n"
        notes.append("The sender paces.")
    sent, back = connection["packets"]
    lost = connection["retransmissions"]["segments"]
    if connection["vantage"] != "log" and not lost and back > _EVERY * max(sent, 1):
        flow += 'ack_policy = "every-segment"\n'
        notes.append("The receiver acknowledges every segment.")
    return flow, notes


def _fills(points: list[dict[str, Any]], found: Rates) -> bool:
    """Whether more in flight no longer delivered more, at the end of the flow.

    On a path that is not full, the delivery rate grows as the flight does; on a full one, the RTT
    grows instead.
    """
    time = np.array([each["time_s"] for each in points])
    flight = np.array([each["in_flight_bytes"] for each in points], dtype=float)
    flown = np.interp(found.at_s, time, flight)
    part = max(len(flown) // 4, 1)
    middle, end = slice(part, 2 * part), slice(3 * part, None)
    if float(found.busy[end].mean()) > _STAYS_BUSY:
        return True
    grown = float(np.mean(flown[end])) / max(float(np.mean(flown[middle])), 1.0)
    if grown < _GROWS:
        return float(found.busy.mean()) > _FILLS
    faster = float(np.mean(found.rate[end])) / max(float(np.mean(found.rate[middle])), 1.0)
    return math.log(max(faster, 1e-3)) < 0.5 * math.log(grown)


def _idle(points: list[dict[str, Any]], least_ms: float) -> float:
    """RTT in ms without a queue: the median of the first tenth, in which the window is small."""
    early = [each["rtt_ms"] for each in points[: max(len(points) // 10, 20)]]
    early = [each for each in early if each is not None]
    return max(float(np.median(early)), least_ms) if early else least_ms


def situations(connection: dict[str, Any]) -> list[Situation]:
    """The situations that an analyzed connection with a series may have been in.

    Raises:
        InputError: It shows no RTT or no round trip of data.
    """
    rtt = connection["rtt_ms"]
    points = connection.get("series") or []
    idle = None if rtt is None else _idle(points, rtt[0])
    found = None if idle is None else rates(points, rtt[0] / 1e3, idle / 1e3)
    capacity = connection["capacity"]
    if (
        rtt is None
        or idle is None
        or not connection["bytes"]
        or (found is None and capacity is None)
    ):
        raise InputError(
            f"connection {connection['number']} is too short to fit a path: it has no RTT sample "
            "or no full round trip"
        )
    segment = min(max(connection["largest_segment_bytes"], 88), 1448)
    scale = (segment + HEADERS + OVERHEAD) / segment
    flow, notes = _flow(connection, segment)
    bases: list[float] = [rtt[0]]
    if idle > 1.03 * rtt[0]:
        bases.append(idle)
    limits = connection["limits"]
    if limits["receive_window_s"] > 0.5 * max(sum(limits.values()), 1e-9):
        # A window per RTT is the rate, so the usual RTT counts.
        bases.append(rtt[1])
    shown: list[tuple[str, float]] = []
    if found is not None:
        every, busy = found.rate, found.rate[found.busy]
        values = [float(np.quantile(every, 0.9)), float(every.max())]
        if len(busy) >= 4:
            values += [float(np.median(busy)), float(np.quantile(busy, 0.9))]
        for value in values:
            rate = float(value) * scale
            if rate > 0 and all(abs(rate / other - 1) > 0.02 for _, other in shown):
                shown.append((f'"{rate / 1e6:.6g} Mbit/s"', rate))
        varying = _steps(found, scale, rtt[0] / 1e3)
        if varying is not None:
            shown.append((varying, float(np.mean(busy)) * scale))
    if not shown:
        rate = capacity["delivery_rate_bps"] * scale
        shown.append((f'"{rate / 1e6:.6g} Mbit/s"', rate))
    lost, largest = connection["retransmissions"]["segments"], rtt[2]
    made = []
    for text, rate in shown:
        for base in bases:
            queue, bdp = rate / 8 * (largest - base) / 1e3, rate / 8 * base / 1e3
            buffer = max(queue, 4 * (segment + HEADERS))
            said = list(notes)
            filled = bool(lost) or (found is not None and _fills(points, found))
            if not filled:
                said.append("The flow never filled the path: the rate is a lower bound.")
            if not lost:
                buffer = max(buffer, bdp)
                said.append("No loss: the buffer is a lower bound.")
            path = f'rate = {text}\nrtt = "{max(base, 0.01):.6g} ms"\n'
            path += f'buffer = "{math.ceil(buffer / (segment + HEADERS))} packets"\n'
            if lost and largest < _NO_QUEUE * base:
                share = min(lost / max(connection["segments"], 1), 0.5)
                path += f'loss = "{100 * share:.4g} %"\n'
                said.append("Losses without a queue: they are taken as random.")
            made.append(Situation(path, flow, rate, tuple(said), filled))
    return made
