"""The numbers of the claims over workloads, and what the published counts allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart.studies.estimates import CONFIDENCE, Estimate

from .workload import BY_TEST, CLASSIC, Cells, cells, resamples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    from .workload import Arm, Values

_RESAMPLES = 400
_SEED = 20_260_721
_TINY = 1e-12


@dataclass(frozen=True)
class Quantity:
    """A weighted mean of ``value`` over the connections for which ``among`` is 1, or a quantile."""

    value: Callable[[Cells, str], Values]
    among: Callable[[Arm], Values]
    unit: str = ""


def _of(name: str, factor: float = 1.0) -> Callable[[Cells, str], Values]:
    return lambda made, startup: factor * getattr(made.arms[startup], name)


QUANTITIES = {
    "exited": Quantity(_of("exited", 100), lambda arm: arm.grew, "%"),
    "by test": Quantity(_of("by_test", 100), lambda arm: arm.exited, "%"),
    "false": Quantity(_of("false", 100), lambda arm: arm.by_test, "%"),
    "early": Quantity(_of("early", 100), lambda arm: arm.by_test, "%"),
    "loss": Quantity(_of("loss_percent"), lambda arm: arm.grew, "%"),
    "lost": Quantity(
        lambda made, startup: np.where(made.arms[startup].loss_percent > 0, 100.0, 0.0),
        lambda arm: arm.grew,
        "%",
    ),
    "goodput": Quantity(_of("goodput_bps", 1e-6), lambda arm: arm.grew, "Mbit/s"),
    "threshold": Quantity(_of("threshold_bytes", 1e-3), lambda arm: arm.exited, "kB"),
    "cost": Quantity(lambda made, startup: made.cost(startup), lambda arm: arm.by_test, "s"),
}


class Taken:
    """A quantity of a start-up, to be taken over workloads."""

    def __init__(self, made: Cells, startup: str, name: str, percentile: float | None) -> None:
        quantity = QUANTITIES[name]
        self._among = quantity.among(made.arms[startup])
        self._value = np.where(self._among > 0, quantity.value(made, startup), 0.0)
        self._percentile = percentile
        self._of, self._total = self._among.mean(axis=1), (self._among * self._value).mean(axis=1)

    def over(
        self,
        weights: Values,
        places: NDArray[np.int64] | None = None,
        counts: Values | None = None,
    ) -> float:
        """Over a workload of all cells, or of the cells at ``places``; ``nan`` over none."""
        where = slice(None) if places is None else places
        if self._percentile is None and counts is None:
            below = float(weights @ self._of[where])
            return float(weights @ self._total[where]) / below if below > _TINY else float("nan")
        among, value = self._among[where], self._value[where]
        times = np.ones(among.shape[1]) if counts is None else counts
        each = among * weights[:, None] * times
        total = float(each.sum())
        if total <= _TINY:
            return float("nan")
        if self._percentile is None:
            return float((each * value).sum()) / total
        order = np.argsort(value, axis=None, kind="stable")
        reached = np.cumsum(each.ravel()[order]) >= total * self._percentile / 100 * (1 - 1e-9)
        return float(value.ravel()[order][int(np.argmax(reached))])


def _combined(made: Cells, said: Mapping[str, Any]) -> Callable[..., float]:
    """The number of a claim as a function of a workload."""
    name, percentile = said["quantity"], said.get("percentile")
    mine = Taken(made, said["startup"], name, percentile)
    if "beside" not in said:
        return mine.over
    other = Taken(made, said["beside"], name, percentile)

    def both(*given: Any) -> float:
        one, base = mine.over(*given), other.over(*given)
        if said["relation"] == "difference":
            return one - base
        return one / base if base else float("nan")

    return both


def number(findings: Findings, stack: Stack, said: Mapping[str, Any]) -> Estimate | None:
    """A quantity of a start-up (``beside`` another one) in the even workload.

    Its interval resamples the seeds. Its reach is over the allowed workloads.
    """
    made = cells(findings, stack)
    if made is None or not {said["startup"], said.get("beside", CLASSIC)} <= set(made.arms):
        return None
    return taken(made, said)


def taken(made: Cells, said: Mapping[str, Any]) -> Estimate | None:
    """As :func:`number`, of given cells."""
    weights = made.even()
    if weights is None:
        return None
    function = _combined(made, said)
    value = function(weights)
    if not np.isfinite(value):
        return None
    low = high = None
    if made.seeds > 1:
        drawn = []
        for counts in resamples(made.seeds, _RESAMPLES, _SEED):
            resampled = made.even(counts)
            if resampled is not None:
                drawn.append(function(resampled, None, counts))
        if np.isfinite(drawn).any():
            tail = (1 - CONFIDENCE) / 2
            low, high = map(float, np.nanquantile(drawn, [tail, 1 - tail]))
    return Estimate(
        value, low, high, None if low is None else CONFIDENCE, made.seeds,
        int(made.arms[said["startup"]].grew.size), reach=reach(made, function),
    )  # fmt: skip


def reach(made: Cells, function: Callable[..., float]) -> tuple[float, float] | None:
    """The least and the greatest value over the allowed workloads of two cells."""
    found = np.array([function(weights, places) for places, weights in made.corners()])
    found = found[np.isfinite(found)]
    return (float(found.min()), float(found.max())) if len(found) else None


# --- workloads with all published counts ---------------------------------------------------------


def bounds(made: Cells, startup: str) -> tuple[float, float] | None:
    """The least and the greatest mean cost of an exit by the test of ``startup``, in seconds.

    Over the workloads that have the published exits of classic slow start, and the published
    exits by a test of HyStart++ and of SEARCH; ``None`` if there is no such workload. A linear
    program: the weights are scaled so that one connection leaves by the test.
    """
    from scipy.optimize import linprog

    equations = [made.excess()]
    for each, fraction in BY_TEST.items():
        if each not in made.arms:
            return None
        arm = made.arms[each]
        equations.append((arm.by_test - fraction * arm.exited).mean(axis=1))
    arm = made.arms[startup]
    equations.append(arm.by_test.mean(axis=1))
    cost = np.where(arm.by_test > 0, made.cost(startup), 0.0).mean(axis=1)
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            sign * cost, A_eq=np.array(equations), b_eq=[0.0] * (len(equations) - 1) + [1.0],
            method="highs",
        )  # fmt: skip
        if not found.success:
            return None
        ends.append(sign * float(found.fun))
    return ends[0], ends[1]


def possible(findings: Findings, stack: Stack, _: Mapping[str, Any]) -> Estimate | None:
    """1 if some workload has all published counts, else 0."""
    made = cells(findings, stack)
    if made is None or not set(BY_TEST) <= set(made.arms):
        return None
    found = all(bounds(made, each) is not None for each in BY_TEST)
    return Estimate(float(found), None, None, None, made.seeds, made.arms[CLASSIC].grew.size)
