"""Workloads of several flows for validating the simulator against the kernel, in groups.

A trajectory of several flows is chaotic: a drop that moves from one flow to another changes
everything after it. So each workload runs from many starts, which differ by random offsets and
sizes, on both stacks, and :mod:`slowstart.fidelity.distributions` compares distributions. A
workload's *twin* is the same with each flow delayed by up to 4 ms more, simulated. What differs
between a workload and its twin is chance.

No group has a path that reorders packets: :func:`slowstart.fidelity.grid.reordering` has.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import TYPE_CHECKING

from slowstart._native import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Largest additional delay of a flow in a twin: a tick of a kernel with HZ=250.
TWIN_S = 0.004
_SMALLEST, _LARGEST = 30_000, 1_000_000
_CLASSES = ((100_000, "30 to 100 kB"), (300_000, "100 to 300 kB"), (_LARGEST, "0.3 to 1 MB"))
_RESPONSES = ((10_000, "responses to 10 kB"), (100_000, "10 to 100 kB"), (_LARGEST, "to 1 MB"))


def _random(name: str) -> Random:
    """The random numbers of a start, which are no secret."""
    return Random(name)  # noqa: S311


@dataclass(frozen=True)
class Flow:
    """One flow of a workload."""

    label: str
    """The class in which its results are compared."""
    algorithm: str
    size: int
    """Bytes."""
    start_s: float
    more: str = ""
    """Further lines of its table."""

    def toml(self, shift_s: float) -> str:
        """Its ``[[flow]]`` table."""
        return (
            f'[[flow]]\nname = "{self.label}"\nalgorithm = "{self.algorithm}"\n'
            f'size = "{self.size} bytes"\nstart = "{self.start_s + shift_s:.6f} s"\n'
            f"{self.more}"
        )


@dataclass(frozen=True)
class Workload:
    """Flows over a path; ``make`` draws the flows of a start."""

    group: str
    name: str
    path: str
    """The lines of the ``[path]`` table after its name."""
    make: Callable[[Random], Iterator[Flow]]
    duration_s: float | None = None
    """How long a run lasts; ``None`` until its flows have finished."""
    traffic: str = ""
    """The lines of a ``[[traffic]]`` table of connections in which both sides write; the dialogues
    follow from the seed."""

    def flows(self, start: int) -> list[Flow]:
        """The flows of a start, the same on every stack."""
        return list(self.make(_random(f"{self.name} {start}")))

    def scenario(self, start: int, *, twin: bool = False) -> Scenario:
        """One run.

        Args:
            start: The number of the start.
            twin: Whether to shift each flow by up to :data:`TWIN_S`.
        """
        shifts = _random(f"{self.name} {start} twin")
        text = "" if self.duration_s is None else f'duration = "{self.duration_s:g} s"\n'
        text += f'[path]\nname = "{self.name}"\n{self.path}'
        for flow in self.flows(start):
            text += flow.toml(shifts.uniform(0, TWIN_S) if twin else 0.0)
        if self.traffic:
            later = shifts.uniform(0, TWIN_S) if twin else 0.0
            text += f'[[traffic]]\nlist_flows = true\nstart = "{later:.6f} s"\n{self.traffic}'
        return Scenario.from_toml(text, name=self.name).with_runs(runs=1, seed=start + 1)


def _path(rate_mbit: int, rtt_ms: int, packets: int, more: str = "") -> str:
    return f'rate = "{rate_mbit} Mbit/s"\nrtt = "{rtt_ms} ms"\nbuffer = "{packets} packets"\n{more}'


def _far(delay_ms: float) -> str:
    return f'extra_delay = "{delay_ms:g} ms"\n'


def _five_rtts(random: Random) -> Iterator[Flow]:
    starts = [0.6 * place + random.uniform(0, 0.1) for place in range(5)]
    random.shuffle(starts)
    for rtt_ms, start in zip((40, 60, 90, 130, 190), starts, strict=True):
        yield Flow(f"RTT {rtt_ms} ms", "cubic", 2_000_000, start, _far((rtt_ms - 40) / 2))


def _mixed(random: Random) -> Iterator[Flow]:
    near = [("cubic", 4_000_000, 0.0), ("reno", 2_000_000, 0.7), ("bbr", 2_000_000, 1.4)]
    for algorithm, size, start in near:
        yield Flow(algorithm, algorithm, size, start + random.uniform(0, 0.2))
    yield Flow("cubic, RTT 140 ms", "cubic", 2_000_000, random.uniform(0.3, 1.0), _far(40))


def _size(random: Random) -> tuple[int, str]:
    """A size whose logarithm is uniform, and its class."""
    size = round(exp(random.uniform(log(_SMALLEST), log(_LARGEST))))
    return size, next(name for limit, name in _CLASSES if size <= limit)


def response_class(size: int) -> str:
    """The class of a response of a connection."""
    return next(name for limit, name in _RESPONSES if size <= limit or limit == _LARGEST)


def _short(count: int, per_second: float, far_ms: float) -> Callable[[Random], Iterator[Flow]]:
    def make(random: Random) -> Iterator[Flow]:
        start = 0.0
        for _ in range(count):
            start += random.expovariate(per_second)
            size, label = _size(random)
            far = _far(random.uniform(0, far_ms)) if far_ms else ""
            yield Flow(label, "cubic", size, start, far)

    return make


def _application(random: Random) -> Iterator[Flow]:
    for _ in range(4):
        application = 'application = { write = "60 kB", every = "200 ms" }\n'
        yield Flow("periodic", "cubic", 1_200_000, random.uniform(0, 0.5), application)
    yield Flow("bulk", "cubic", 4_000_000, random.uniform(0.5, 1.0))


def _three(scale: float, more: str) -> Callable[[Random], Iterator[Flow]]:
    def make(random: Random) -> Iterator[Flow]:
        flows = (("first cubic", 8e6, 0.0), ("second cubic", 3e6, 1.0), ("bbr", 3e6, 2.0))
        for label, size, start in flows:
            offset = random.uniform(0, 0.08)
            algorithm = label.split()[-1]
            yield Flow(label, algorithm, round(scale * size), scale * start + offset, more)

    return make


def _paced(algorithm: str) -> Callable[[Random], Iterator[Flow]]:
    def make(random: Random) -> Iterator[Flow]:
        for place in range(3):
            start = 0.5 * place + random.uniform(0, 0.1)
            yield Flow(algorithm, algorithm, 2_000_000, start, "pacing = true\n")

    return make


def _none(_random: Random) -> Iterator[Flow]:
    return iter(())


# Clients think for longer than the RTO, so that their windows restart after idle.
_CLIENTS = """kind = "request-response"
name = "clients"
algorithm = "cubic"
count = 20
spread = "1 s"
requests = 12
mean = "100 kB"
cut = "1 MB"
think = "500 ms"
"""
_SESSIONS = """kind = "persistent"
name = "sessions"
algorithm = "cubic"
load = "70 %"
mean = "60 kB"
cut = "1 MB"
requests = 5
think = "500 ms"
"""
_ECN = "ecn = true\n"

WORKLOADS = (
    Workload("staggered", "five RTTs", _path(20, 40, 100), _five_rtts),
    Workload("staggered", "cubic, reno and bbr", _path(20, 60, 100), _mixed),
    Workload("short", "20 flows at once", _path(20, 40, 60), _short(20, 20.0, 0)),
    # The mean size is 277 kB, so seven flows per second load the link by 80 %.
    Workload("short", "150 flows at 80 % load", _path(20, 40, 60), _short(150, 7.0, 0)),
    Workload("short", "150 flows, RTT 20 to 220 ms", _path(20, 20, 60), _short(150, 7.0, 100)),
    Workload("connections", "20 clients", _path(20, 40, 60), _none, 12.0, _CLIENTS),
    Workload("connections", "persistent sessions", _path(20, 40, 60), _none, 12.0, _SESSIONS),
    Workload("application", "periodic writes and a bulk", _path(20, 50, 80), _application),
    Workload("aqm", "codel, three flows", _path(20, 80, 132, 'aqm = "codel"\n'), _three(1, "")),
    Workload("ecn", "codel", _path(20, 80, 132, f'aqm = "codel"\n{_ECN}'), _three(1, _ECN)),
    Workload("ecn", "pie", _path(20, 80, 264, f'aqm = "pie"\n{_ECN}'), _three(0.5, _ECN)),
    Workload("ecn", "fq-codel", _path(20, 80, 264, f'aqm = "fq-codel"\n{_ECN}'), _three(0.5, _ECN)),
    Workload("pacing", "cubic", _path(20, 60, 50), _paced("cubic")),
    Workload("pacing", "reno", _path(20, 60, 50), _paced("reno")),
)

SUMMARIES = {
    "staggered": "several flows with staggered starts and different RTTs",
    "short": "20 and 150 connections of 30 kB to 1 MB into a short buffer",
    "connections": "requests and responses with think times, over connections used again",
    "application": "senders limited by the application, beside a bulk transfer",
    "aqm": "three flows over CoDel, not ECN-capable",
    "ecn": "three ECN-capable flows over CoDel, PIE and FQ-CoDel",
    "pacing": "paced flows (SO_MAX_PACING_RATE)",
}


def of_group(name: str) -> list[Workload]:
    """The workloads of a group."""
    return [each for each in WORKLOADS if each.group == name]
