"""How probable each start-up is, given what the captured sender had in flight.

:func:`slowstart._native.compare_file` predicts, for each start-up, the bytes in flight at the half
and at the end of each round trip. The *surprise* of a start-up is the sum of the logarithms of
predicted over real bytes, without sign; the prediction has a Laplace distribution, whose width is a
constant of :data:`CONSTANTS`. "None of these" surprises by a constant at each moment. Before the
capture, all start-ups are equally probable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CAP = 1.5
"""A larger surprise at one moment counts as this: beyond, all are equally wrong."""
LEAST = 6
"""Moments that a comparison needs: a start-up shows itself from the second round trip on."""


@dataclass(frozen=True)
class Constants:
    """The width of the prediction's error, and how much "none of these" surprises."""

    width: float
    """Surprise at which the likelihood is down to 1/e."""
    power: float
    """The widths add up as the number of moments to this power; their errors are not independent."""
    none: float
    """Surprise of "none of these" at each moment."""
    none_once: float
    """What is added once."""


# Fitted by `slowstart validate identify --fit`, which prints these lines.
CONSTANTS = {
    "sender": Constants(width=0.03, power=0.5, none=0.1, none_once=0.2),
    "elsewhere": Constants(width=0.1, power=0.5, none=0.2, none_once=0.2),
}


@dataclass(frozen=True)
class Fitted:
    """One start-up, as it fits a connection best: unpaced or paced."""

    algorithm: str
    paced: bool
    """Whether its segments are paced, by itself or by the transport."""
    surprise: float
    exit: dict[str, Any] | None
    in_flight: NDArray[np.float64]


def fits(comparison: dict[str, Any]) -> list[Fitted]:
    """The start-ups of a comparison, the least surprising first.

    Parameters
    ----------
    comparison
        One of :func:`slowstart._native.compare_file`.

    Returns
    -------
    list
        One entry per algorithm; empty if no moment counts.
    """
    segment = comparison["segment_bytes"]
    counts = np.array([each["counts"] for each in comparison["moments"]], dtype=bool)
    real = np.array([each["in_flight_bytes"] for each in comparison["moments"]], dtype=float)
    if not counts.any():
        return []
    best: dict[str, Fitted] = {}
    for track in comparison["tracks"]:
        made = np.array(track["in_flight_bytes"], dtype=float)[counts]
        off = np.abs(np.log((made + segment) / (real[counts] + segment)))
        surprise = float(np.minimum(off, CAP).sum())
        name = track["algorithm"]
        if name not in best or surprise < best[name].surprise - 1e-9:
            paced = track["paced"] or track["paces"]
            best[name] = Fitted(name, paced, surprise, track["exit"], made)
    return sorted(best.values(), key=lambda each: each.surprise)


def is_same(one: Fitted, other: Fitted, segment: int) -> bool:
    """Whether two start-ups leave the same packets on this path, up to a segment."""
    return bool(np.all(np.abs(one.in_flight - other.in_flight) <= segment))


def probabilities(
    surprises: Sequence[float], moments: int, constants: Constants
) -> tuple[NDArray[np.float64], float]:
    """The probability of each start-up, and that of "none of these".

    Parameters
    ----------
    surprises
        One sum for each start-up.
    moments
        How many moments the sums have.
    constants
        One of :data:`CONSTANTS`.

    Returns
    -------
    tuple
        Probabilities that add up to 1 with the last one.
    """
    none = constants.none * moments + constants.none_once
    scale = constants.width * max(moments, 1) ** constants.power
    logs = -np.array([*surprises, none]) / scale
    # As probable before the capture as all start-ups together are numerous.
    logs[-1] += math.log(max(len(surprises), 1)) - math.log(10)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return weights[:-1], float(weights[-1])
