"""The runs as cells, and workloads: how often each cell occurs.

A cell is a kind of upload over an uplink with a rate of random loss. Firefox's numbers are about a
mixture of such connections, which is not published. Its counts are fractions: of the connections
whose window grew, those that left slow start; of these, those that left by a test. A workload is a
weight for each cell.

*Allowed* is every workload in which classic slow start ends in the published fraction of the
connections that grow. This is one linear equation. The extremes of a fraction of sums over its
solutions are at solutions with at most two cells (:meth:`Cells.corners`), and every value between
them is that of some solution. The *even* workload is one of them: kinds that end classic slow start
more often than published have one weight, the others another one, uplinks and loss rates count
alike, and the equation determines the ratio of the two weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Values = NDArray[np.float64]

EXPERIMENT = "uploads"
CLASSIC, HYSTART, SEARCH, IDEAL = "classic", "HyStart++", "SEARCH", "ideal"
EXITED = 0.0442
"""Published: the fraction of the connections with a grown window that leave slow start."""
BY_TEST = {HYSTART: 0.025, SEARCH: 0.126}
"""Published: exits by a test, as a fraction of all exits."""
_CONGESTION = ("loss", "ecn", "timeout")
_INITIAL_WINDOW = 10 * 1448
_KEYS = ("uplink", "kind", "loss")


def _final(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    windows = series["cwnd_bytes"].drop_nulls()
    return None if windows.is_empty() else float(windows[-1])


def _threshold(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    thresholds = series["ssthresh_bytes"].drop_nulls()
    return None if thresholds.is_empty() else float(thresholds[0])


final_window = Extract("final_window", _final, links=False)
"""The window when the connection ends, in bytes: it grew if that is above the initial one."""
threshold = Extract("threshold", _threshold, links=False)
"""The slow-start threshold after the first exit, in bytes."""


@dataclass(frozen=True)
class Arm:
    """The connections of a start-up: a row for each cell, a column for each seed."""

    grew: Values
    exited: Values
    """Left slow start, of those that grew."""
    by_test: Values
    false: Values
    """By a test, before capacity, while the application limited the sender."""
    early: Values
    """By a test, before capacity."""
    loss_percent: Values
    goodput_bps: Values
    threshold_bytes: Values
    """``nan`` without an exit."""
    fct_s: Values
    reason: NDArray[Any]
    """Why slow start ended, whether or not the window grew; empty if it did not."""


@dataclass(frozen=True)
class Cells:
    """All connections."""

    keys: tuple[tuple[str, str, str], ...]
    """Uplink, kind and loss of each cell."""
    arms: Mapping[str, Arm]

    @property
    def seeds(self) -> int:
        """The number of runs of each cell."""
        return int(self.arms[CLASSIC].grew.shape[1])

    def cost(self, startup: str) -> Values:
        """Completion time less that with the ideal exit, in seconds."""
        return self.arms[startup].fct_s - self.arms[IDEAL].fct_s

    def kinds(self) -> list[str]:
        """The kinds of uploads, in the order of the study."""
        return list(dict.fromkeys(kind for _, kind, _ in self.keys))

    def excess(self, counts: Values | None = None) -> Values:
        """For each cell: exits of classic slow start beyond the published fraction.

        The equation of the allowed workloads is that the weighted sum of these is zero. ``counts``
        says how often each seed counts (a resample); once by default.
        """
        classic = self.arms[CLASSIC]
        found = classic.exited - EXITED * classic.grew
        if counts is None:
            return np.asarray(found.mean(axis=1))
        return np.asarray(found @ counts / counts.sum())

    def corners(self) -> list[tuple[NDArray[np.int64], Values]]:
        """The allowed workloads of two cells: their places and weights."""
        excess = self.excess()
        more, less = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
        return [
            (np.array([one, other]), np.array([-excess[other], excess[one]]))
            for one in more
            for other in less
        ]

    def even(self, counts: Values | None = None) -> Values | None:
        """The weights of the even workload; ``None`` if it is not allowed."""
        excess = self.excess(counts)
        kinds = np.array([kind for _, kind, _ in self.keys])
        base = self.excess()
        heavy = np.isin(kinds, [each for each in set(kinds) if base[kinds == each].sum() > 0])
        above, below = excess[heavy].sum(), excess[~heavy].sum()
        if not above > 0 > below:
            return None
        return np.where(heavy, -below / above, 1.0)


def cells(findings: Findings, stack: Stack) -> Cells | None:
    """The connections of a study's run; ``None`` if it has none, or not those of the claims."""
    rows = findings.table(EXPERIMENT, stack, "flows")
    if rows.is_empty():
        return None
    keys = rows.select(_KEYS).unique(maintain_order=True).with_row_index("cell")
    rows = rows.join(keys, on=_KEYS, how="left").sort("cell", "seed")
    seeds = rows["seed"].n_unique()
    arms = {}
    for startup in rows["startup"].unique(maintain_order=True).to_list():
        part = rows.filter(pl.col("startup") == startup)
        if len(part) == len(keys) * seeds:
            arms[startup] = _arm(part, (len(keys), seeds))
    if CLASSIC not in arms or IDEAL not in arms:
        return None
    return Cells(tuple(keys.select(_KEYS).iter_rows()), arms)


def _arm(rows: pl.DataFrame, shape: tuple[int, int]) -> Arm:
    reason = pl.col("exit_reason").fill_null("")
    grew = pl.col("final_window") > _INITIAL_WINDOW
    exited = grew & (reason != "")
    by_test = exited & ~reason.is_in([*_CONGESTION, "ssthresh"])

    def take(expression: pl.Expr) -> Values:
        values = rows.select(expression.cast(pl.Float64).alias("v"))["v"]
        return values.fill_null(float("nan")).to_numpy().reshape(shape)

    return Arm(
        grew=take(grew),
        exited=take(exited),
        by_test=take(by_test),
        false=take(by_test & pl.col("false_exit").fill_null(value=False)),
        early=take(by_test & (pl.col("exit_class") == "early").fill_null(value=False)),
        loss_percent=take(100 * pl.col("loss_ratio")),
        goodput_bps=take(pl.col("goodput_bps")),
        threshold_bytes=take(pl.when(exited).then(pl.col("threshold"))),
        fct_s=take(pl.col("fct_s")),
        reason=rows.select(reason)["exit_reason"].to_numpy().reshape(shape),
    )


def resamples(seeds: int, count: int, seed: int) -> Iterator[Values]:
    """How often each seed counts, in each resample."""
    drawn = np.random.default_rng(seed).integers(0, seeds, size=(count, seeds))
    for row in drawn:
        yield np.bincount(row, minlength=seeds).astype(np.float64)
