"""Confidence intervals of proportions, and empirical distributions.

The native module computes medians and their distribution-free intervals by order statistics
(``summary`` of the result document).
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """The Wilson score interval of a proportion; ``None`` without trials.

    Source: E. B. Wilson, 1927. Unlike the textbook interval it stays within 0 to 1, and it is
    meaningful for 0 of 77.
    """
    if trials == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    proportion = successes / trials
    scale = 1 + z * z / trials
    middle = (proportion + z * z / (2 * trials)) / scale
    variance = proportion * (1 - proportion) / trials
    half = z / scale * sqrt(variance + z * z / (4 * trials * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def ecdf(values: Iterable[float]) -> tuple[list[float], list[float]]:
    """Steps of the empirical CDF: the sorted values, and the fraction of values up to each.

    Draw it with ``drawstyle="steps-post"``; the first point has fraction zero.
    """
    ordered = sorted(values)
    if not ordered:
        return [], []
    count = len(ordered)
    fractions = [(rank + 1) / count for rank in range(count)]
    return [ordered[0], *ordered], [0.0, *fractions]
