"""Computes the errors of the simulation by case and quantity.

The error of a quantity is the simulation's median over the runs, divided by the kernel's median,
minus one. If the kernel's count is below 50, the difference is divided by 50 instead, so that a
difference of 5 is 10 %. The error is infinite if only one stack has the quantity (an exit, a drop).
The spread of the kernel's own runs over a path without randomness bounds the accuracy that a
simulation can reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from slowstart.fidelity.quantities import QUANTITIES, Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from slowstart.fidelity.grid import Case

_LEAST_COUNT = 50.0


@dataclass(frozen=True)
class Difference:
    """One quantity of one case."""

    case: Case
    quantity: Quantity
    simulated: float | None
    kernel: float | None
    error: float
    """Signed, as a fraction; infinite if only one stack has the quantity."""
    spread: float | None
    """Half the range of the kernel's runs, relative like the error; ``None`` if their channels
    differ or there are fewer than two."""
    runs: tuple[int, int]
    """Number of valid runs: simulated, kernel."""
    edge: bool = False
    """Whether the case is a knife's edge (:mod:`slowstart.fidelity.edges`)."""
    moved: float | None = None
    """The largest change of the simulated value at the rates of :data:`edges.FACTORS`.

    A fraction like the error; infinite if some of them lack the quantity; ``None`` if unknown.
    """

    @property
    def within(self) -> bool:
        """Whether a rate within one percent moves the simulation itself by more than the error."""
        return self.moved is not None and (
            self.moved > abs(self.error) or (math.isinf(self.moved) and math.isinf(self.error))
        )


def compare(
    cases: Iterable[Case],
    load: Callable[[Case, str], list[dict[str, Any]]],
    kernel: str,
    edges: Collection[Case] = (),
    around: Callable[[Case], Sequence[dict[str, Any]]] = lambda _: (),
) -> list[Difference]:
    """The differences of all cases that ran on both stacks.

    Args:
        cases: The grid.
        load: Returns the finished runs of a case on a stack.
        kernel: The stack to compare the simulation with.
        edges: The cases that are knife's edges.
        around: Returns simulated runs of a case: at its own rate, and then at those around it.
    """
    found = []
    for case in cases:
        theirs = [values for values in load(case, kernel) if values["valid"]]
        # Runs with equal numbers share the channel realization, so compare only those.
        numbers = {values["run"] for values in theirs}
        ours = [values for values in load(case, "simulated") if values["run"] in numbers]
        if ours and theirs:
            each_quantity = (_difference(case, q, ours, theirs) for q in QUANTITIES)
            near = around(case)
            found += [
                replace(each, edge=case in edges, moved=_moved(each, near))
                for each in each_quantity
                if each is not None
            ]
    return found


def _difference(
    case: Case, quantity: Quantity, ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]
) -> Difference | None:
    simulated, kernel = _median(ours, quantity.key), _median(theirs, quantity.key)
    if simulated is None and kernel is None:
        return None
    error, spread = math.inf, None
    if simulated is not None and kernel is not None:
        scale = _scale(quantity, kernel)
        values = [run[quantity.key] for run in theirs if run.get(quantity.key) is not None]
        error = (simulated - kernel) / scale
        if len(values) > 1 and case.path.repeats:
            spread = (max(values) - min(values)) / 2 / scale
    runs = (len(ours), len(theirs))
    return Difference(case, quantity, simulated, kernel, error, spread, runs)


def _scale(quantity: Quantity, kernel: float) -> float:
    """What an error is relative to."""
    return max(kernel, _LEAST_COUNT) if quantity.count else kernel


def _moved(difference: Difference, around: Sequence[dict[str, Any]]) -> float | None:
    """See :attr:`Difference.moved`."""
    values = [run.get(difference.quantity.key) for run in around]
    known = [value for value in values if value is not None]
    if len(values) < 2 or not known:
        return None
    if len(known) < len(values):
        return math.inf
    scale = _scale(difference.quantity, difference.kernel or known[0])
    return max(abs(value - known[0]) for value in known) / scale if scale else None


def _median(runs: Sequence[dict[str, Any]], key: str) -> float | None:
    """The median; ``None`` if half of the runs or more lack the quantity."""
    values = [run[key] for run in runs if run.get(key) is not None]
    return median(values) if 2 * len(values) > len(runs) else None


def quantile(values: Sequence[float], level: float) -> float:
    """The smallest value that a fraction ``level`` of ``values`` does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(level * len(ordered)) - 1)]


@dataclass(frozen=True)
class Row:
    """The distribution of the absolute errors of a quantity."""

    quantity: Quantity
    cases: int
    median: float
    p95: float
    spread_median: float | None
    spread_p95: float | None
    worst: Difference


def counted(differences: Iterable[Difference]) -> list[Difference]:
    """Those that count as errors: without the knife's edges."""
    return [each for each in differences if not each.edge]


def rows(differences: Iterable[Difference]) -> list[Row]:
    """One row for each quantity, without the knife's edges."""
    groups: dict[str, list[Difference]] = {}
    for each in counted(differences):
        groups.setdefault(each.quantity.key, []).append(each)
    found = []
    for quantity in QUANTITIES:
        group = groups.get(quantity.key)
        if group:
            errors = [abs(each.error) for each in group]
            spreads = [each.spread for each in group if each.spread is not None]
            found.append(
                Row(
                    quantity=quantity,
                    cases=len(group),
                    median=quantile(errors, 0.5),
                    p95=quantile(errors, 0.95),
                    spread_median=quantile(spreads, 0.5) if spreads else None,
                    spread_p95=quantile(spreads, 0.95) if spreads else None,
                    worst=max(group, key=lambda each: abs(each.error)),
                )
            )
    return found
