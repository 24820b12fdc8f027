"""Confidence intervals of proportions and of their differences, and empirical distributions.

The native module computes medians and their distribution-free intervals by order statistics
(``summary`` of the result document).
"""

from __future__ import annotations

from math import hypot, sqrt
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
    # The ends of 0 and of all are exact; their rounding errors would exclude the proportion itself.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == trials else min(1.0, middle + half)


def newcombe(
    proportion: float, trials: int, other: float, other_trials: int
) -> tuple[float, float] | None:
    """The 95 % interval of ``proportion - other``, two fractions of independent trials.

    ``None`` without trials. Source: R. G. Newcombe, "Interval estimation for the difference between
    independent proportions", 1998, method 10: Wilson's interval of each, combined.
    """
    one = wilson(round(proportion * trials), trials)
    two = wilson(round(other * other_trials), other_trials)
    if one is None or two is None:
        return None
    below = hypot(proportion - one[0], two[1] - other)
    above = hypot(one[1] - proportion, other - two[0])
    difference = proportion - other
    return difference - below, difference + above


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
