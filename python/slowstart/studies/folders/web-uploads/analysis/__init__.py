"""The analysis of ``web-uploads``.

:mod:`.workload` holds the runs as cells and the workloads that the published counts allow,
:mod:`.numbers` the numbers of the claims, :mod:`.drawings` the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowstart.report import exits
from slowstart.studies.bands import plain

from .drawings import costs_figure, identified_figure, kinds_figure, rates_figure
from .numbers import bounds, number, possible, taken
from .workload import (
    BY_TEST,
    CLASSIC,
    HYSTART,
    IDEAL,
    SEARCH,
    cells,
    final_window,
    threshold,
)

if TYPE_CHECKING:
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    from .workload import Cells

__all__ = [
    "answer", "bounds", "cells", "costs_figure", "final_window", "identified_figure",
    "kinds_figure", "number", "possible", "rates_figure", "threshold",
]  # fmt: skip


def answer(findings: Findings, stack: Stack) -> list[str]:
    """What an exit by a test costs, and what the published counts decide."""
    made = cells(findings, stack)
    if made is None or not set(BY_TEST) <= set(made.arms):
        return []
    found = [_rates(made), _good_or_bad(made), _decided(made), _losses(made), _versions(made)]
    return [each for each in found if each]


def _rates(made: Cells) -> str | None:
    parts = []
    for startup, published in BY_TEST.items():
        found = taken(made, {"quantity": "by test", "startup": startup})
        if found is None or found.reach is None:
            return None
        low, high = found.reach
        parts.append(
            f"{startup} {plain(found.value, 2)} % (published {plain(100 * published)} %; "
            f"{plain(low, 2)} to {plain(high, 2)} % over all workloads with 4.42 %)"
        )
    return (
        "How many exits are by a test? With uploads of which 4.42 % end classic slow start: "
        f"{', '.join(parts)}."
    )


def _cost(made: Cells, startup: str) -> str | None:
    """What an exit by the test of a start-up costs, and how many come early."""
    found = {
        quantity: taken(made, {"quantity": quantity, "startup": startup})
        for quantity in ("cost", "early", "false")
    }
    cost, early, false = found["cost"], found["early"], found["false"]
    if cost is None or early is None or false is None or cost.low is None or cost.high is None:
        return None
    return (
        f"{startup} {exits.signed(cost.value)} on average [{exits.signed(cost.low)}, "
        f"{exits.signed(cost.high)}], {plain(early.value, 2)} % of these exits before capacity, "
        f"{plain(false.value, 2)} % while the application limits the sender"
    )


def _good_or_bad(made: Cells) -> str | None:
    parts = [_cost(made, startup) for startup in BY_TEST]
    if None in parts:
        return None
    return (
        "Is an early exit good, or bad? Costs of an exit by a test in that workload: "
        f"{'; '.join(str(each) for each in parts)}. A negative cost is time saved against an exit "
        "at capacity."
    )


def _versions(made: Cells) -> str | None:
    """The same of the versions of SEARCH that Firefox did not run."""
    parts = []
    for startup in made.arms:
        rate = taken(made, {"quantity": "by test", "startup": startup})
        cost = taken(made, {"quantity": "cost", "startup": startup})
        if startup in (CLASSIC, IDEAL, *BY_TEST) or rate is None or cost is None:
            continue
        words = _cost(made, startup)
        if words is None or cost.reach is None:
            continue
        parts.append(
            f"{words}, {plain(rate.value, 2)} % of all exits, at most "
            f"{exits.signed(cost.reach[1])} in any workload"
        )
    return f"And other versions of SEARCH? {'; '.join(parts)}." if parts else None


def _decided(made: Cells) -> str:
    parts = []
    for startup in BY_TEST:
        found = bounds(made, startup)
        if found is None:
            return (
                "Do the counts decide it? No workload of these kinds has all three published "
                "counts at once."
            )
        low, high = found
        parts.append(f"{startup} {exits.signed(low)} to {exits.signed(high)}")
    return (
        "Do the counts decide it? Workloads that have all three published counts give mean costs "
        f"of an exit by the test of {', '.join(parts)}."
    )


def _losses(made: Cells) -> str | None:
    parts = []
    for startup in (CLASSIC, HYSTART, SEARCH):
        found = taken(made, {"quantity": "exited", "startup": startup})
        if found is None:
            return None
        parts.append(f"{startup} {plain(found.value, 3)} %")
    return f"How many connections that grow leave slow start at all? {', '.join(parts)}."
