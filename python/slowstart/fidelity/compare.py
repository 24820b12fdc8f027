"""The errors of the simulation, case by case and quantity by quantity.

The error of a quantity is the simulation's median over the runs, divided by the kernel's, minus
one. A count below 50 is measured against 50, so that 5 more or less are 10 %. A quantity that one
stack has and the other has not (an exit, a drop) has an infinite error. What the kernel itself
varies by, from run to run over a path on which nothing is random, stands beside it: no simulation
can come closer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from slowstart.fidelity.quantities import QUANTITIES, Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    """Signed, as a fraction; infinite where one stack alone has the quantity."""
    spread: float | None
    """Half the range of the kernel's runs, relative as the error is; ``None`` where they met
    different channels or there are fewer than two."""
    runs: tuple[int, int]
    """Runs that count: simulated, kernel."""


def compare(
    cases: Iterable[Case], load: Callable[[Case, str], list[dict[str, Any]]], kernel: str
) -> list[Difference]:
    """The differences of all cases that both stacks have run.

    Args:
        cases: The grid.
        load: The finished runs of a case on a stack.
        kernel: Which stack the simulation is held against.
    """
    found = []
    for case in cases:
        theirs = [values for values in load(case, kernel) if values["valid"]]
        # Runs of one number meet the same channel, so only these are compared.
        numbers = {values["run"] for values in theirs}
        ours = [values for values in load(case, "simulated") if values["run"] in numbers]
        if ours and theirs:
            found += [
                each for q in QUANTITIES if (each := _difference(case, q, ours, theirs)) is not None
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
        scale = max(kernel, _LEAST_COUNT) if quantity.count else kernel
        values = [run[quantity.key] for run in theirs if run[quantity.key] is not None]
        error = (simulated - kernel) / scale
        if len(values) > 1 and case.path.repeats:
            spread = (max(values) - min(values)) / 2 / scale
    runs = (len(ours), len(theirs))
    return Difference(case, quantity, simulated, kernel, error, spread, runs)


def _median(runs: Sequence[dict[str, Any]], key: str) -> float | None:
    """The median; ``None`` where most runs do not have the quantity."""
    values = [run[key] for run in runs if run[key] is not None]
    return median(values) if 2 * len(values) > len(runs) else None


def quantile(values: Sequence[float], level: float) -> float:
    """The smallest value that a share ``level`` of ``values`` does not exceed."""
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


def rows(differences: Iterable[Difference]) -> list[Row]:
    """One row for each quantity."""
    groups: dict[str, list[Difference]] = {}
    for each in differences:
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
