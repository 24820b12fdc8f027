"""The numbers of the claims: changes against the runs without HyStart, and how often it acts.

A change compares the statistic (a mean, or a median where the document takes medians) over the
runs of both schemes, which share their seeds and so the positions of the nodes, the ends of the
flows and the motion. Over an axis it is the mean of the changes at the axis's points. Its interval
resamples the seeds.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.studies.estimates import Estimate, estimate
from slowstart.studies.measures import filtered

from .runs import BASELINE, flows, networks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Values = NDArray[np.float64]

_RESAMPLES = 2000
_SEED = 20_230_226
_STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.nanmean, "median": np.nanmedian}
PUBLISHED = {"throughput": 418_016.244, "delay": 0.80988, "delivery": 0.81554, "drops": 0.2396}
"""The column Base of the document's table."""
WITHIN = 0.35
"""Settings at most this far from the column Base are allowed."""


# --- changes -------------------------------------------------------------------------------------


def _matrix(rows: pl.DataFrame, metric: str, points: list[str]) -> pl.DataFrame:
    """A row for each point and a column for each seed."""
    rows = rows.with_columns(point=pl.struct(points).struct.json_encode() if points else pl.lit(""))
    return rows.select("point", "seed", pl.col(metric).cast(pl.Float64).alias("value"))


def sides(
    rows: pl.DataFrame, metric: str, select: Mapping[str, Any], against: Mapping[str, Any]
) -> tuple[Values, Values]:
    """The values of both sides that have a partner: a row for each point, a column for each seed.

    The points are those of the axes that ``select`` leaves open.
    """
    own = {"job", "run", "seed"}
    axes = rows.columns[: rows.columns.index("throughput")]
    points = [axis for axis in axes if axis not in own and axis not in select]
    one = _matrix(filtered(rows, select), metric, points)
    other = _matrix(filtered(rows, against), metric, points)
    both = one.join(other, on=["point", "seed"], how="inner", suffix="_other")
    if both.is_empty():
        return np.empty((0, 0)), np.empty((0, 0))
    found = []
    for column in ("value", "value_other"):
        wide = both.pivot(on="seed", index="point", values=column, sort_columns=True).sort("point")
        found.append(wide.drop("point").to_numpy().astype(np.float64))
    return found[0], found[1]


def resampled(
    one: Values, other: Values, function: Callable[[Values, Values], float]
) -> Estimate | None:
    """A function of both sides, with a percentile bootstrap over the columns."""
    if not one.size:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        value = function(one, other)
        if not np.isfinite(value):
            return None
        seeds = one.shape[1]
        low = high = confidence = None
        if seeds > 1:
            drawn = np.random.default_rng(_SEED).integers(0, seeds, size=(_RESAMPLES, seeds))
            found = np.array([function(one[:, each], other[:, each]) for each in drawn])
            if np.isfinite(found).any():
                low, high = map(float, np.nanquantile(found, [0.025, 0.975]))
                confidence = 0.95
    return Estimate(float(value), low, high, confidence, seeds, int(np.isfinite(one).sum()))


def _changes(one: Values, other: Values, statistic: str) -> Values:
    """The change at each point, in percent."""
    function = _STATISTICS[statistic]
    pairs = np.isfinite(one) & np.isfinite(other)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a point without a pair has no change
        mine = function(np.where(pairs, one, np.nan), axis=1)
        base = function(np.where(pairs, other, np.nan), axis=1)
        return np.asarray(np.where(base != 0, 100 * (mine / base - 1), np.nan))


def _said(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    select = dict(parameters["select"])
    against = dict(parameters["against"] or {**select, "scheme": BASELINE})
    return select, against, parameters.get("by", "mean")


def change(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The change of ``measure`` in percent, ``by`` means or medians."""
    rows = networks(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    select, against, statistic = _said(parameters)
    pair = sides(rows, parameters["measure"], select, against)
    return resampled(*pair, lambda a, b: _mean(_changes(a, b, statistic)))


def _mean(values: Values) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def points_below(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """The fraction of the points of the axis at which ``measure`` is lower."""
    rows = networks(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    select, against, statistic = _said(parameters)
    one, other = sides(rows, parameters["measure"], select, against)
    if not one.size:
        return None
    changes = _changes(one, other, statistic)
    return Estimate(float((changes < 0).mean()), None, None, None, one.shape[1], one.size)


def level(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The mean (or ``by = "median"``) of ``measure`` over the selected runs.

    If ``above`` is given, the fraction of the runs in which ``measure`` is larger, and with
    ``below`` that of those in which it is smaller.
    """
    rows = networks(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    value = pl.col(parameters["measure"])
    statistic = parameters.get("by", "mean")
    if "above" in parameters:
        value, statistic = value > parameters["above"], "share"
    if "below" in parameters:
        value, statistic = value < parameters["below"], "share"
    return estimate(filtered(rows, parameters["select"]).with_columns(value=value), statistic)


def chance(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The change in percent that chance exceeds in 5 % of the comparisons of two campaigns.

    Both have ``iterations`` runs of the selected scheme, each with positions of its own.
    """
    rows = networks(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    rows = filtered(rows, parameters["select"])
    values = rows[parameters["measure"]].drop_nulls().to_numpy()[np.newaxis, :]
    iterations = parameters.get("iterations", 50)

    def exceeded(one: Values, _: Values) -> float:
        deviation = np.std(one, ddof=1) if one.size > 1 else np.nan
        return float(100 * 1.96 * np.sqrt(2 / iterations) * deviation / np.mean(one))

    return resampled(values, values, exceeded)


# --- how often HyStart acts ----------------------------------------------------------------------


def exits(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of the flows whose first slow start HyStart ended.

    ``per = "run"``: of the runs in which it ended that of at least one flow.
    """
    rows = flows(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    rows = filtered(rows, parameters["select"]).with_columns(value=pl.col("by_hystart"))
    if parameters.get("per") == "run":
        rows = rows.group_by("job", "run", maintain_order=True).agg(pl.col("value").any())
    return estimate(rows, "share")


def exits_more(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """How many more exits by HyStart (by ``reason``) the axis has than in ``against``."""
    rows = flows(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    value = pl.col("by_hystart")
    if "reason" in parameters:
        value = (pl.col("exit_reason") == parameters["reason"]).fill_null(value=False)
    rows = rows.with_columns(value=value.cast(pl.Float64))
    one, other = (
        filtered(rows, parameters[side]).group_by("seed").agg(pl.col("value").sum())
        for side in ("select", "against")
    )
    both = one.join(other, on="seed", how="inner", suffix="_other").sort("seed")
    left, right = (both[name].to_numpy()[np.newaxis, :] for name in ("value", "value_other"))
    return resampled(left, right, lambda a, b: float(np.mean(a - b)))


def window(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of the flows whose window is below ``segments`` when slow start ends.

    Without ``segments``, the median window in segments.
    """
    rows = flows(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    rows = filtered(rows, parameters["select"])
    windows = pl.col("exit_cwnd_bytes") / parameters.get("payload", 1024)
    if "segments" in parameters:
        rows = rows.with_columns(value=windows < parameters["segments"])
        return estimate(rows.drop_nulls("value"), "share")
    return estimate(rows.with_columns(value=windows).drop_nulls("value"), "median")


def silent(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of the flows that deliver nothing."""
    rows = flows(findings, stack, parameters["experiment"])
    if rows.is_empty():
        return None
    rows = filtered(rows, parameters["select"])
    return estimate(rows.with_columns(value=pl.col("bytes_acked") == 0), "share")
