"""Knife's edges: cases whose slow-start exit a slightly different rate moves by a round.

HyStart, and the detection of a full pipe, compare measurements with thresholds once per round. If
a measurement is close to its threshold, a microsecond decides in which round slow start ends, and
so about everything that follows. Such a case says nothing about the accuracy of the simulation.
The simulation alone identifies it: the case runs again at rates within one percent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slowstart.fidelity.grid import Case

FACTORS = (0.99, 0.995, 1.005, 1.01)
# A round of slow start takes at least the round-trip time, less what the other rate changes.
_ROUND = 0.9
# A round of slow start without delayed ACKs doubles the window, with delayed ones it adds half.
_GROWTH = 1.5


@dataclass(frozen=True)
class Edge:
    """A knife's edge."""

    case: Case
    exits_s: tuple[float | None, ...]
    """The simulated times of the exit at the case's own rate and at each of :data:`FACTORS`."""
    windows: tuple[float | None, ...]
    """The windows at these exits, in segments."""


def neighbours(case: Case) -> list[Case]:
    """The case at rates within one percent; none where the path has no fixed rate."""
    if case.path.rate_mbit is None:
        return []
    return [replace(case, path=case.path.with_rate(factor)) for factor in FACTORS]


def around(case: Case, simulated: Callable[[Case], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """The simulated runs of a case and of its neighbours; none where one is missing."""
    near = neighbours(case)
    runs = [run for each in (case, *near) if (run := simulated(each)) is not None]
    return runs if near and len(runs) > len(near) else []


def find(
    cases: Iterable[Case], simulated: Callable[[Case], dict[str, Any] | None]
) -> dict[Case, Edge]:
    """The knife's edges among ``cases``.

    Args:
        cases: The grid.
        simulated: Returns the first simulated run of a case.
    """
    found = {}
    for case in cases:
        runs = around(case, simulated)
        if not runs:
            continue
        exits = tuple(run["exit_s"] for run in runs)
        known = [each for each in exits if each is not None]
        rtt_s = (case.path.rtt_ms or 0.0) / 1e3
        windows = tuple(run["exit_cwnd"] for run in runs)
        sizes = [each for each in windows if each is not None]
        if known and (
            len(known) < len(exits)
            or max(known) - min(known) >= _ROUND * rtt_s
            or max(sizes) >= _GROWTH * min(sizes)
        ):
            found[case] = Edge(case, exits, windows)
    return found
