"""How probable each start-up is, given what the captured sender had in flight.

:func:`slowstart._native.compare_file` predicts, for each start-up, the bytes in flight at the half
and at the end of each round trip. Its *surprise* is the mean of the logarithms of
predicted over real bytes, without sign. The prediction's error has a Laplace distribution of
unknown width, so that the likelihood of a start-up falls with a power of its surprise: a capture
whose best start-up is off by 0.2 % excludes one that is off by 2 %, and a capture of bursts, where
all are off by 5 %, does not. "None of these" surprises by a constant. Before the capture,
all start-ups are equally probable, and "none of these" has a tenth of them together.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CAP = 1.5
"""A larger surprise at one moment counts as this: beyond, all are equally wrong."""
LEAST = 6
"""Moments that a comparison needs: a start-up shows itself from the second round trip on."""
UNKNOWN = 0.1
"""How probable another start-up is before the capture, as a ratio to all that are known."""


FLOOR = 0.003
"""Surprise below which nothing is distinguished."""
DECIDES = 20.0
"""A capture decides between two start-ups if one is so many times as probable as the other."""


@dataclass(frozen=True)
class Constants:
    """How fast the likelihood falls, and how much "none of these" surprises."""

    weight: float
    """The power of the surprise, if there were one moment."""
    power: float
    """It grows with the number of moments to this power, as their errors are not independent."""
    none: float
    """Surprise of "none of these"."""


# `slowstart validate identify fit` fits them again, and prints these lines.
CONSTANTS = {
    "sender": Constants(weight=0.751, power=0.6, none=0.0804),
    "elsewhere": Constants(weight=0.549, power=0.564, none=0.308),
    "quic": Constants(weight=0.683, power=0.546, none=0.0444),
}


def place(vantage: str) -> str:
    """The key of :data:`CONSTANTS` for the place of a capture."""
    if vantage == "log":
        return "quic"
    return "sender" if vantage in {"sender", "unknown"} else "elsewhere"


def before(count: int) -> NDArray[np.float64]:
    """The probabilities of ``count`` start-ups and of "none of these" before a capture."""
    weights = np.ones(count + 1)
    weights[-1] = UNKNOWN * max(count, 1)
    made: NDArray[np.float64] = weights / weights.sum()
    return made


@dataclass(frozen=True)
class Fitted:
    """One start-up, as it fits a connection best: unpaced or paced."""

    algorithm: str
    paced: bool
    """Whether its segments are paced, by itself or by the transport."""
    surprise: float
    exit: dict[str, Any] | None
    in_flight: NDArray[np.float64]
    own_window: int | None = None
    """Bytes of the initial window that it sets itself, whatever that of its QUIC stack is."""
    begun: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """``in_flight`` with each initial window that some start-up sets."""


def fits(comparison: dict[str, Any]) -> list[Fitted]:
    """The start-ups of a comparison, the least surprising first.

    Args:
        comparison: One of :func:`slowstart._native.compare_file`.

    Returns:
        One entry per algorithm, for a QUIC sender per algorithm that its stack can run; empty if
        no moment counts.
    """
    segment = comparison["segment_bytes"]
    counts = np.array([each["counts"] for each in comparison["moments"]], dtype=bool)
    real = np.array([each["in_flight_bytes"] for each in comparison["moments"]], dtype=float)
    if not counts.any():
        return []
    by_stack: dict[Any, dict[str, Fitted]] = {}
    own = {}
    for track in comparison["tracks"]:
        best = by_stack.setdefault(tuple(track.get("stack", ())), {})
        made = np.array(track["in_flight_bytes"], dtype=float)[counts]
        off = np.abs(np.log((made + segment) / (real[counts] + segment)))
        surprise = float(np.minimum(off, CAP).mean())
        name = track["algorithm"]
        own[name] = track.get("own_window")
        if name not in best or surprise < best[name].surprise - 1e-9:
            paced = track["paced"] or track["paces"]
            best[name] = Fitted(name, paced, surprise, track["exit"], made)
    # A QUIC sender is one stack: that in which one start-up fits best.
    chosen = min(by_stack, key=lambda key: min(each.surprise for each in by_stack[key].values()))
    found = list(by_stack[chosen].values())
    begun = {window: by_stack[chosen[0], window] for window in own.values() if window is not None}
    if begun:
        found = [
            dataclasses.replace(
                each,
                own_window=own[each.algorithm],
                begun={window: best[each.algorithm].in_flight for window, best in begun.items()},
            )
            for each in found
        ]
    return sorted(found, key=lambda each: each.surprise)


def is_same(one: Fitted, other: Fitted, segment: int, constants: Constants) -> bool:
    """Whether two start-ups leave the same packets on this path, up to a segment.

    A start-up that sets its initial window is the same sender as one that its stack begins with
    that window, unless the capture decides between them.
    """
    if _are_equal(one.in_flight, other.in_flight, segment):
        return True
    ratio = abs(math.log((one.surprise + FLOOR) / (other.surprise + FLOOR)))
    if ratio * _exponent(len(one.in_flight), constants) > math.log(DECIDES):
        return False
    return any(
        _are_equal(one.begun[each], other.begun[each], segment)
        for each in (one.own_window, other.own_window)
        if each is not None
    )


def _are_equal(one: NDArray[np.float64], other: NDArray[np.float64], segment: int) -> bool:
    return bool(np.all(np.abs(one - other) <= segment))


def _exponent(moments: int, constants: Constants) -> float:
    """The power of the surprise with which the likelihood falls."""
    return constants.weight * float(max(moments, 1) ** constants.power)


def probabilities(
    surprises: Sequence[float], moments: int, constants: Constants
) -> tuple[NDArray[np.float64], float]:
    """The probability of each start-up, and that of "none of these".

    Args:
        surprises: That of each start-up.
        moments: How many moments were compared.
        constants: One of :data:`CONSTANTS`.

    Returns:
        Probabilities that add up to 1 with the last one.
    """
    logs = -_exponent(moments, constants) * np.log(np.array([*surprises, constants.none]) + FLOOR)
    logs += np.log(before(len(surprises)))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights[:-1], float(weights[-1])


def _loss(cases: Sequence[tuple[Any, Any, int]], values: NDArray[np.float64]) -> float:
    """Minus the logarithm of the probability of the right answers."""
    constants = Constants(*(float(each) for each in np.exp(values)))
    total = 0.0
    for surprises, same, moments in cases:
        weights, _ = probabilities(surprises, moments, constants)
        total -= math.log(max(float(weights[same].sum()), 1e-12))
        if not same.all():
            _, none = probabilities(surprises[~same], moments, constants)
            total -= UNKNOWN * math.log(max(none, 1e-12))
    return total / max(len(cases), 1)


def fit(cases: Sequence[tuple[Any, Any, int]]) -> Constants:
    """The constants under which the right answers are most probable.

    Args:
        cases: For each flow the surprises of the start-ups, which of them leave the same packets
            as the true one, and the number of moments.

    Returns:
        The constants, rounded to three digits.
    """
    values = np.log([0.5, 0.6, 0.1])
    best = _loss(cases, values)
    step = 1.0
    while step > 0.02:
        improved = False
        for place in range(len(values)):
            for change in (-step, step):
                tried = values.copy()
                tried[place] += change
                loss = _loss(cases, tried)
                if loss < best - 1e-9:
                    values, best, improved = tried, loss, True
        if not improved:
            step /= 2
    return Constants(*(float(f"{each:.3g}") for each in np.exp(values)))
