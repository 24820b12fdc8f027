"""Intervals for shares, and empirical distributions.

Medians and their intervals are computed with the results themselves (``summary`` of the result
document): order statistics, distribution-free.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """The Wilson score interval of a share, as fractions of one; ``None`` without trials.

    Source: E. B. Wilson, 1927. Unlike the textbook interval it stays inside 0 to 1 and means
    something for 0 of 77.
    """
    if trials == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / scale
    half = z / scale * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def ecdf(values: Iterable[float]) -> tuple[list[float], list[float]]:
    """Steps of the empirical distribution: sorted values, and the share not above each.

    Drawn with ``drawstyle="steps-post"``; the first point is at share zero.
    """
    ordered = sorted(values)
    if not ordered:
        return [], []
    count = len(ordered)
    shares = [(rank + 1) / count for rank in range(count)]
    return [ordered[0], *ordered], [0.0, *shares]
