"""Intervals of proportions and their differences, paired tests, and empirical distributions.

The native module computes medians and their distribution-free intervals by order statistics
(``summary`` of the result document).
"""

from __future__ import annotations

from math import ceil, erfc, hypot, log, pi, sqrt
from statistics import NormalDist, stdev
from typing import TYPE_CHECKING

FEWEST_PAIRS = 6
"""With fewer pairs, no signed-rank test has a p-value below 0.05."""
# More pairs have the normal approximation of the signed-rank test.
_MOST_EXACT = 50

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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


def wilcoxon(differences: Iterable[float]) -> float | None:
    """The two-sided p-value of Wilcoxon's signed-rank test; ``None`` below six pairs.

    Pairs without a difference are left out, as Wilcoxon (1945) does. Up to 50 differences the
    distribution over all signs is exact, also with ties; beyond, it is normal with the correction
    for ties. It needs no library, so that a comparison can print it without the time of scipy.
    """
    pairs = list(differences)
    if len(pairs) < FEWEST_PAIRS:
        return None
    ordered = sorted((each for each in pairs if each), key=abs)
    count = len(ordered)
    if not count:
        return 1.0
    # Twice the rank, so that the middle of tied ranks is whole.
    ranks: list[int] = []
    while len(ranks) < count:
        first = len(ranks)
        last = first
        while last < count and abs(ordered[last]) == abs(ordered[first]):
            last += 1
        ranks += [first + last + 1] * (last - first)
    positive = sum(rank for rank, each in zip(ranks, ordered, strict=True) if each > 0)
    total = sum(ranks)
    least = min(positive, total - positive)
    if count > _MOST_EXACT:
        # The variance of twice the statistic: its ranks have it.
        z = (abs(positive - total / 2) - 1) / sqrt(sum(rank * rank for rank in ranks) / 4)
        return min(1.0, erfc(max(0.0, z) / sqrt(2)))
    ways = [1] + [0] * least
    for rank in ranks:
        for reached in range(least, rank - 1, -1):
            ways[reached] += ways[reached - rank]
    return min(1.0, 2 * sum(ways) / (1 << count))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted by Holm's method."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def pairs_needed(ratios: Iterable[float], change: float = 0.05) -> int | None:
    """How many pairs show a ratio of ``1 + change`` with 80 % power at the 5 % level.

    From the scatter of the logarithms of paired ratios, by the formula of the t-test and the
    efficiency 3 / pi of the signed-rank test for normal differences. ``None`` below six ratios.
    """
    logs = [log(each) for each in ratios if each > 0]
    if len(logs) < FEWEST_PAIRS:
        return None
    normal = NormalDist()
    quantiles = normal.inv_cdf(0.975) + normal.inv_cdf(0.8)
    needed = (quantiles * stdev(logs) / log(1 + change)) ** 2 * pi / 3
    return max(FEWEST_PAIRS, ceil(needed))
