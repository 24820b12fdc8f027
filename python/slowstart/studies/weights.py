"""How much each point of a calibration weighs, given the published baseline and our runs.

The weight of a point is a synthetic likelihood (Wood, *Statistical inference for noisy nonlinear
ecological dynamic systems*, Nature 466, 2010): each published statistic is a draw from a normal
distribution around ours, and its likelihood is the probability that the draw rounds to what is
printed. The variance is the sum of the sampling errors of both samples, and of the square of the
model discrepancy that the target states (Kennedy and O'Hagan, *Bayesian calibration of computer
models*, Journal of the Royal Statistical Society B 63, 2001).

The targets depend on each other: one sample has a mean and a deviation. The product of their
likelihoods would count what they share more than once. Its logarithm is therefore multiplied by the
number of targets over the sum of the squares of all their correlations: 1 if they are independent,
and one over their number if they are the same (a composite likelihood: Pauli, Racugno and Ventura,
*Bayesian composite marginal likelihoods*, Statistica Sinica 21, 2011; with the degrees of freedom
of Satterthwaite 1946). The correlations are those of the influence functions of our runs, averaged
over the points. The joint normal distribution would be sharper, and trust the model more than it
deserves: two counts that hardly differ in our runs would outweigh all other targets.

Before the search every point of the grid has the same weight. The number of our runs is finite, so
the weights have errors: the runs are resampled, the same runs at every point, because equal run
numbers meet the same channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.calibration import Target

    Numbers = np.ndarray[Any, np.dtype[np.float64]]
    Places = np.ndarray[Any, np.dtype[np.intp]]

HELD = 0.95
"""The part of the weight that a set holds."""
STABLE = 0.8
"""A set is stable if it holds so much of the weight in 19 of 20 resamples of the runs."""
_RESAMPLES = 1000


@dataclass(frozen=True)
class Sample:
    """The values of a target's metric in the runs of a point, and the number of each one's run."""

    values: Numbers
    runs: Places


@dataclass(frozen=True)
class Statistic:
    """A statistic of our runs beside the published one."""

    value: float
    ours: float
    """Its standard error."""
    theirs: float
    """That of the published one."""

    @property
    def error(self) -> float:
        """The standard error of their difference."""
        return math.hypot(self.ours, self.theirs)


def compared(values: Numbers, target: Target) -> Statistic:
    """A statistic of ``values``, and the standard errors of it and of the published one."""
    count, mean = len(values), float(np.mean(values))
    sd = float(np.std(values, ddof=1))
    if target.statistic == "mean":
        theirs = sd if target.sd is None else target.sd
        return Statistic(mean, sd / math.sqrt(count), theirs / math.sqrt(target.n))
    if target.statistic == "share":
        pooled = (mean * count + target.published * target.n) / (count + target.n)
        each = math.sqrt(pooled * (1 - pooled))
        return Statistic(mean, each / math.sqrt(count), each / math.sqrt(target.n))
    # The variance of a standard deviation depends on the fourth moment: ours serves for both.
    kurtosis = float(np.mean((values - mean) ** 4)) / max(float(np.var(values)), 1e-300) ** 2
    share = math.sqrt(max(kurtosis - 1, 0.0) / 4)
    return Statistic(
        sd, share * sd / math.sqrt(count), share * target.published / math.sqrt(target.n)
    )


@dataclass(frozen=True)
class Weights:
    """The weights of the points of a search, and what resampling the runs makes of them."""

    of: Numbers
    """The weight of each point; their sum is 1."""
    resampled: Numbers
    """The same for each resample: a row each."""

    @cached_property
    def errors(self) -> Numbers:
        """The standard error of each weight."""
        errors: Numbers = np.std(self.resampled, axis=0)
        return errors

    @cached_property
    def inside(self) -> Places:
        """The points of the set, the heaviest first."""
        return _heaviest(self.of, HELD)

    @cached_property
    def low(self) -> float:
        """The part of the weight that the set holds in at least 19 of 20 resamples."""
        return float(np.quantile(self.resampled[:, self.inside].sum(axis=1), 0.05))

    @property
    def is_stable(self) -> bool:
        """Whether more runs would hardly change the set."""
        return self.low >= STABLE

    @property
    def candidates(self) -> Places:
        """The points that may be in the set, given the errors: all others weigh nothing."""
        return _heaviest(self.resampled.mean(axis=0), 0.999)


def weigh(targets: Sequence[Target], points: Sequence[Mapping[str, Sample]], runs: int) -> Weights:
    """The weights of points.

    Args:
        targets: The published numbers.
        points: For each point, the sample of each target.
        runs: The number of runs of a point, at most.
    """
    rng = np.random.default_rng(1)
    counts = rng.multinomial(runs, [1 / runs] * runs, size=_RESAMPLES).astype(float)
    # The first row is the runs themselves.
    counts = np.vstack([np.ones(runs), counts])
    logs = np.column_stack([_logs(targets, each, counts) for each in points])
    logs *= len(targets) / _shared(targets, points)
    top = logs.max(axis=1, keepdims=True)
    # Where no point has a value of each target, none is better than another.
    weights = np.exp(np.where(np.isfinite(top), logs - top, 0.0))
    weights /= weights.sum(axis=1, keepdims=True)
    return Weights(weights[0], weights[1:])


def _logs(targets: Sequence[Target], point: Mapping[str, Sample], counts: Numbers) -> Numbers:
    """The logarithm of a point's product for each row of ``counts``: how often a run counts."""
    total: Numbers = np.zeros(len(counts))
    for target in targets:
        sample = point[target.name]
        if len(sample.values) < 2:
            return np.full(len(counts), -math.inf)
        gaps = _weighted(target, sample, counts) - target.published
        error = math.hypot(compared(sample.values, target).error, target.discrepancy)
        # A print without rounding is an interval that is far narrower than any error.
        least = 1e-7 * max(abs(target.published), 1e-9)
        total += _log_inside(gaps, max(target.rounding, least), max(error, least))
    return np.where(np.isfinite(total), total, -math.inf)


def _log_inside(mean: Numbers, half: float, sd: float) -> Numbers:
    """The logarithm of the probability that a normal variate lies within ``half`` of 0."""
    from scipy.special import log_ndtr

    # The probability is that of the interval in the lower tail, where it is exact.
    low, high = (log_ndtr((each - np.abs(mean)) / sd) for each in (-half, half))
    logs: Numbers = high + np.log1p(-np.exp(low - high))
    return logs


def _weighted(target: Target, sample: Sample, counts: Numbers) -> Numbers:
    """The statistic, if run ``n`` counts ``counts[:, n]`` times."""
    each = counts[:, sample.runs]
    total = each.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Numbers = each @ sample.values / total
        if target.statistic != "sd":
            return mean
        centre = float(np.mean(sample.values))
        square = each @ (sample.values - centre) ** 2 / total - (mean - centre) ** 2
        deviation: Numbers = np.sqrt(np.maximum(square, 0.0) * total / (total - 1))
        return deviation


def _shared(targets: Sequence[Target], points: Sequence[Mapping[str, Sample]]) -> float:
    """The sum of the squares of the targets' correlations, averaged over the points."""
    found = [
        _correlations(targets, [point[each.name] for each in targets])
        for point in points
        if all(len(point[each.name].values) > 1 for each in targets)
    ]
    return float((np.mean(found, axis=0) ** 2).sum()) if found else float(len(targets))


def _correlations(targets: Sequence[Target], samples: Sequence[Sample]) -> Numbers:
    """The correlations of the statistics of one sample of runs."""
    runs = 1 + max(int(each.runs.max()) for each in samples)
    influences = np.zeros((len(targets), runs))
    for row, target, sample in zip(influences, targets, samples, strict=True):
        gaps = sample.values - float(np.mean(sample.values))
        influence = gaps**2 - float(np.mean(gaps**2)) if target.statistic == "sd" else gaps
        np.add.at(row, sample.runs, influence)
    norms = np.sqrt((influences**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        like: Numbers = np.nan_to_num(influences @ influences.T / np.outer(norms, norms))
    np.fill_diagonal(like, 1.0)
    return like


def _heaviest(weights: Numbers, part: float) -> Places:
    """The fewest points that hold at least ``part`` of the weight, the heaviest first."""
    order = np.argsort(-weights, kind="stable")
    held = np.cumsum(weights[order])
    return order[: int(np.searchsorted(held, part * held[-1] - 1e-12)) + 1]
