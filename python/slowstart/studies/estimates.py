"""Estimates from runs, each with a confidence interval.

- Quantiles: order statistics, as in every summary; with fewer than six runs, the range of the
  values and its confidence.
- Means: BCa bootstrap over runs, 10,000 resamples.
- Fractions (``share``): Wilson's interval.
- Flows of one run are not independent: if a run has several rows, whole runs are resampled.
- Paired comparisons: the ratio or difference of each pair of runs with the same seed (and so the
  same channel realization), and the statistic of these; Wilcoxon's signed-rank test, for fractions
  the exact McNemar test.
- Unpaired comparisons: the ratio or difference of the two statistics, both bootstrapped; the
  Mann-Whitney test, for fractions Fisher's, for standard deviations the Brown-Forsythe test.
- The ratio of the means over pairs, which are resampled: for counts that are zero in most flows, so
  that the ratio of a pair does not exist.

The bootstrap's seed is fixed, so that the same runs give the same interval. scipy is imported where
it is used, because importing it is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import stats
from slowstart.stats import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["CONFIDENCE", "RELATIONS", "STATISTICS", "Estimate", "censor", "estimate", "holm",
           "place", "ratio_of_means", "relate"]  # fmt: skip

CONFIDENCE = 0.95
_RESAMPLES = 10_000
_SEED = 20_241_121
# The columns that identify a pair: the run and the flow in it.
_PAIR = ("seed", "flow")
# With fewer pairs, or fewer runs on each side, no p-value below 0.05 exists.
_FEWEST_PAIRS, _FEWEST_RUNS = 6, 4
STATISTICS = ("median", "mean", "min", "max", "p05", "p10", "p25", "p75", "p90", "p95", "p99",
              "share", "sum", "sd")  # fmt: skip
RELATIONS = ("ratio", "difference", "ratio of means")


@dataclass(frozen=True)
class Estimate:
    """A measured number."""

    value: float
    low: float | None
    high: float | None
    confidence: float | None
    """The confidence of the interval from ``low`` to ``high``; ``None`` if there is no interval."""
    runs: int
    rows: int
    missing: int = 0
    """Rows without a value."""
    p: float | None = None
    test: str | None = None
    censored: int = 0
    """Rows that ended at the limit of observation and count as at least that."""
    reach: tuple[float, float] | None = None
    """The least and the greatest value over all that the publication allows, and every value
    between them; ``None`` if it allows nothing else. A function of an analysis may know it."""


def place(values: Values, one: float) -> Estimate:
    """The fraction of ``values`` below a single other value, ties counting half.

    If the other value is a draw from the same distribution, each of the places between ``n`` values
    is as probable as any other. The interval is its place, ``k`` to ``k + 1`` parts of ``n + 1``.
    It has no confidence of its own, and the places of other numbers may equal it.
    """
    count = len(values)
    below = float((values < one).sum() + 0.5 * (values == one).sum())
    return Estimate(
        below / count, below / (count + 1), (below + 1) / (count + 1), None, count, count
    )


def censor(rows: pl.DataFrame, limit: float, statistic: str) -> tuple[pl.DataFrame, int] | None:
    """Counts a row without ``value`` as at least ``limit``; how many there are.

    All observations end at the same time, so the Kaplan-Meier estimate is the empirical
    distribution up to ``limit``: its quantiles are those of the rows with ``limit`` filled in, and
    a mean is the mean up to ``limit``. ``None`` if the statistic is a quantile beyond it, of which
    only a bound is known.
    """
    filled = rows.with_columns(pl.col("value").cast(pl.Float64).fill_null(limit))
    censored = int(rows["value"].null_count())
    quantile = _quantile(statistic)
    if quantile is not None and censored > (1 - quantile) * len(rows):
        return None
    return filled, censored


def estimate(rows: pl.DataFrame, statistic: str) -> Estimate | None:
    """A statistic of the column ``value``; ``None`` if no row has a value.

    Args:
        rows: With the columns ``value``, and ``job`` and ``run``, which identify a run.
        statistic: One of :data:`STATISTICS`. ``share`` is the fraction of rows whose value is true.
    """
    there = rows.drop_nulls("value")
    if there.is_empty():
        return None
    groups = [
        group["value"].cast(pl.Float64).to_numpy()
        for _, group in there.group_by("job", "run", maintain_order=True)
    ]
    values = np.concatenate(groups)
    value = float(_function(statistic)(values))
    low, high, confidence = _interval(groups, values, statistic, value)
    missing = len(rows) - len(there)
    return Estimate(value, low, high, confidence, len(groups), len(values), missing)


_PLAIN: dict[str, Callable[[Values], Any]] = {
    "median": np.median,
    "mean": np.mean,
    "share": np.mean,
    "min": np.min,
    "max": np.max,
    "sum": np.sum,
}


def _sd(values: Values, axis: int = -1) -> Any:
    return np.std(values, ddof=1 if values.shape[axis] > 1 else 0, axis=axis)


def _function(statistic: str) -> Callable[..., Any]:
    if statistic == "sd":
        return _sd
    if statistic in _PLAIN:
        return _PLAIN[statistic]
    fraction = int(statistic.removeprefix("p")) / 100
    return lambda values, axis=None: np.quantile(values, fraction, axis=axis)


def quotient(above: Values, below: Values) -> Values:
    """``above / below``; NaN where the divisor is zero."""
    nothing = np.full(np.shape(below), np.nan)
    found: Values = np.divide(above, below, where=below != 0, out=nothing)
    return found


def _quantile(statistic: str) -> float | None:
    if statistic == "median":
        return 0.5
    return int(statistic[1:]) / 100 if statistic[1:].isdecimal() else None


_Interval = tuple[float | None, float | None, float | None]
_Test = tuple[float | None, str | None]
"""The p-value and the name of the test; ``None`` if there are too few runs."""


def _interval(groups: list[Values], values: Values, statistic: str, value: float) -> _Interval:
    if len(groups) < 2 or statistic in ("min", "max", "sum"):
        return None, None, None
    if len(groups) < len(values):
        return _by_runs(groups, statistic)
    quantile = _quantile(statistic)
    if quantile is not None:
        return _order_statistics(values, quantile)
    if statistic == "share":
        low, high = stats.wilson(round(value * len(values)), len(values)) or (0.0, 1.0)
        return low, high, CONFIDENCE
    if np.ptp(values) == 0:
        return value, value, CONFIDENCE
    from scipy import stats as tests

    found = tests.bootstrap(
        (values,),
        _function(statistic),
        vectorized=statistic in ("mean", "sd"),
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa" if statistic == "mean" else "percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return float(found.low), float(found.high), CONFIDENCE


def _order_statistics(values: Values, quantile: float) -> _Interval:
    """The narrowest 95 % interval of order statistics for a quantile, else the range.

    For the median it is symmetric.
    """
    ordered = np.sort(values)
    low, high, confidence = _ranks(len(ordered), quantile)
    return float(ordered[low - 1]), float(ordered[high - 1]), confidence


@cache
def _ranks(count: int, quantile: float) -> tuple[int, int, float]:
    """The ranks of such an interval among ``count`` values, and its confidence."""
    from scipy.stats import binom

    tail = (1 - CONFIDENCE) / 2
    # The probability that fewer values than each rank are below the quantile.
    below = binom.cdf(np.arange(count), count, quantile)
    beneath, above = np.flatnonzero(below <= tail), np.flatnonzero(below >= 1 - tail)
    low = int(beneath[-1]) + 1 if beneath.size else 1
    high = int(above[0]) + 1 if above.size else count
    confidence = float(below[high - 1]) - float(below[low - 1])
    if confidence < CONFIDENCE:
        low, high = 1, count
        confidence = float(below[high - 1]) - float(below[low - 1])
    return low, high, min(CONFIDENCE, confidence)


def _by_runs(groups: list[Values], statistic: str) -> _Interval:
    """Percentile bootstrap over whole runs."""
    rng = np.random.default_rng(_SEED)
    function = _function(statistic)
    drawn = rng.integers(0, len(groups), size=(_RESAMPLES // 5, len(groups)))
    found = [float(function(np.concatenate([groups[i] for i in row]))) for row in drawn]
    low, high = np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high), CONFIDENCE


def relate(
    rows: pl.DataFrame,
    others: pl.DataFrame,
    statistic: str,
    relation: str,
    *,
    paired: bool,
    pair_by: Sequence[str] = (),
) -> Estimate | None:
    """Compares ``rows`` with ``others``: the ratio or difference of the column ``value``.

    If ``paired``, ``statistic`` is that of the ratios (or differences) of runs with the same seed
    and the same values of the axes ``pair_by``. ``None`` if there is nothing to compare.
    """
    if not paired:
        if relation == "ratio of means":
            statistic, relation = "mean", "ratio"
        return _unpaired(rows, others, statistic, relation)
    both = _pairs(rows, others, pair_by)
    if relation == "ratio of means":
        found = _ratio_of_means(both)
    else:
        if relation == "ratio":
            both = both.filter(pl.col("other") != 0)
            combined = pl.col("value") / pl.col("other")
        else:
            combined = pl.col("value").cast(pl.Float64) - pl.col("other").cast(pl.Float64)
        # The difference of two fractions is the mean of -1, 0 and 1.
        taken = "mean" if statistic == "share" else statistic
        found = estimate(both.with_columns(value=combined), taken)
    if found is None:
        return None
    p, test = _paired_test(both)
    missing = max(len(rows), len(others)) - len(both)
    return Estimate(
        found.value, found.low, found.high, found.confidence, found.runs, found.rows, missing,
        p, test,
    )  # fmt: skip


def _paired_test(both: pl.DataFrame) -> _Test:
    """Tests the hypothesis that the columns ``value`` and ``other`` do not differ."""
    if len(both) < _FEWEST_PAIRS:
        return None, None
    from scipy import stats as tests

    differences = (both["value"].cast(pl.Float64) - both["other"].cast(pl.Float64)).to_numpy()
    if both["value"].dtype == pl.Boolean:
        changed = int((differences != 0).sum())
        more = int((differences > 0).sum())
        return (float(tests.binomtest(more, changed).pvalue) if changed else 1.0), "McNemar"
    if (differences == 0).all():
        return 1.0, "Wilcoxon"
    return float(tests.wilcoxon(differences).pvalue), "Wilcoxon"


def _unpaired_test(one: Values, other: Values, statistic: str) -> _Test:
    """Tests the hypothesis that two groups do not differ in the statistic's quantity."""
    if min(len(one), len(other)) < _FEWEST_RUNS:
        return None, None
    from scipy import stats as tests

    if statistic == "sd":
        return float(tests.levene(one, other, center="median").pvalue), "Brown-Forsythe"
    if statistic == "share":
        counts = [[each.sum(), len(each) - each.sum()] for each in (one, other)]
        return float(tests.fisher_exact(counts).pvalue), "Fisher"
    return float(tests.mannwhitneyu(one, other).pvalue), "Mann-Whitney"


def ratio_of_means(
    rows: pl.DataFrame, others: pl.DataFrame, pair_by: Sequence[str] = ()
) -> Estimate | None:
    """The ratio of means of :func:`relate`, without a test."""
    return _ratio_of_means(_pairs(rows, others, pair_by))


def _pairs(rows: pl.DataFrame, others: pl.DataFrame, pair_by: Sequence[str]) -> pl.DataFrame:
    """The rows of ``rows`` with a partner in ``others``, whose value is in the column ``other``."""
    keys = (*_PAIR, *pair_by)
    if max(_most_in_a_pair(rows, keys), _most_in_a_pair(others, keys)) > 1:
        raise ValueError("a seed identifies several runs on one side")
    partners = others.drop_nulls("value").select(*keys, other="value")
    return rows.drop_nulls("value").join(partners, on=keys, how="inner")


def _ratio_of_means(both: pl.DataFrame) -> Estimate | None:
    """For the columns ``value`` and ``other``; percentile bootstrap over the rows."""
    # The draws depend on the order of the rows, which a join does not define.
    both = both.sort("job", "run", *_PAIR)
    one, other = (both[name].cast(pl.Float64).to_numpy() for name in ("value", "other"))
    count = len(both)
    if not other.sum():
        return None
    low = high = None
    if count > 1:
        drawn = np.random.default_rng(_SEED).integers(0, count, size=(_RESAMPLES, count))
        above, below = one[drawn].sum(axis=1), other[drawn].sum(axis=1)
        found = above[below > 0] / below[below > 0]
        low, high = map(float, np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    confidence = None if low is None else CONFIDENCE
    return Estimate(float(one.sum() / other.sum()), low, high, confidence, count, count)


def _most_in_a_pair(rows: pl.DataFrame, keys: Sequence[str]) -> int:
    return 0 if rows.is_empty() else int(rows.group_by(*keys).len()["len"].max())  # type: ignore[arg-type]


def _unpaired(
    rows: pl.DataFrame, others: pl.DataFrame, statistic: str, relation: str
) -> Estimate | None:
    one = rows["value"].drop_nulls().cast(pl.Float64).to_numpy()
    other = others["value"].drop_nulls().cast(pl.Float64).to_numpy()
    if not len(one) or not len(other):
        return None
    function = _function(statistic)

    def combine(a: Values, b: Values) -> Values:
        above, below = function(a, axis=-1), function(b, axis=-1)
        if relation == "difference":
            return np.asarray(above - below)
        return quotient(above, below)

    value = float(combine(one, other))
    if np.isnan(value):
        return None
    rng = np.random.default_rng(_SEED)
    # The two sides take turns, so that the draws of one do not depend on how many there are.
    turns = [
        (rng.integers(0, len(one), len(one)), rng.integers(0, len(other), len(other)))
        for _ in range(_RESAMPLES // 5)
    ]
    drawn_one, drawn_other = (np.array(each) for each in zip(*turns, strict=True))
    draws = combine(one[drawn_one], other[drawn_other])
    few = min(len(one), len(other))
    low = high = None
    if few > 1:
        low, high = map(float, np.nanquantile(draws, [0.025, 0.975]))
    p, test = _unpaired_test(one, other, statistic)
    missing = len(rows) + len(others) - len(one) - len(other)
    return Estimate(
        value, low, high, None if low is None else CONFIDENCE, few, len(one) + len(other), missing,
        p, test,
    )  # fmt: skip
