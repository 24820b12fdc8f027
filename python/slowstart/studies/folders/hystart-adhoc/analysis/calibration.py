"""What the document leaves unsaid: the distance of each setting from its column Base.

Only runs without HyStart enter it. The distance is the root of the mean square of the relative
differences of throughput, delay, delivery ratio and drop ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.estimates import Estimate

from .numbers import PUBLISHED, WITHIN, change
from .runs import PORT, networks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

AXES = ("rates", "multiplier", "warm_up", "duration", "window", "ack_policy", "application")


def settings(findings: Findings, stack: Stack) -> pl.DataFrame:
    """One row for each setting of ``choices``: its means and its ``distance``, nearest first."""
    rows = networks(findings, stack, "choices")
    if rows.is_empty():
        return rows
    means = rows.group_by(AXES, maintain_order=True).agg(
        *(pl.col(name).mean() for name in (*PUBLISHED, "delivery_by_packet", "drops_by_packet")),
        pl.len().alias("runs"),
    )
    squares = [((pl.col(name) / value) - 1) ** 2 for name, value in PUBLISHED.items()]
    distance = pl.mean_horizontal(squares).sqrt().alias("distance")
    return means.with_columns(distance).sort("distance", maintain_order=True)


def nearest(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """A number of the nearest setting: its ``measure``, or its distance in percent.

    ``count = true``: the number of allowed settings.
    """
    found = settings(findings, stack)
    if found.is_empty():
        return None
    if parameters.get("count"):
        value = float((found["distance"] <= WITHIN).sum())
    elif "measure" in parameters:
        value = float(found[parameters["measure"]][0])
    else:
        value = 100 * float(found["distance"][0])
    return Estimate(value, None, None, None, int(found["runs"].sum()), len(found))


def over_settings(
    findings: Findings, stack: Stack, measure: str, scheme: str = PORT
) -> list[tuple[str, Estimate]]:
    """The change of ``measure`` at each allowed setting, with the setting's name."""
    rows = findings.table("allowed", stack, "runs")
    if rows.is_empty():
        return []
    found = []
    for setting in rows["setting"].unique(maintain_order=True).to_list():
        said = {
            "experiment": "allowed",
            "select": {"setting": setting, "scheme": scheme},
            "against": None,
            "measure": measure,
        }
        estimate = change(findings, stack, said)
        if estimate is not None:
            found.append((setting, estimate))
    return found


def spread(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The ``end`` (least or most) of the changes of ``measure`` over the allowed settings."""
    every = [each for _, each in over_settings(findings, stack, parameters["measure"])]
    if not every:
        return None
    choose = min if parameters["end"] == "least" else max
    return choose(every, key=lambda each: each.value)


def agreement(low: float | None, high: float | None, changes: list[Estimate]) -> str:
    """What a band says over the allowed settings: agrees, differs, or hangs on the choice."""
    inside = [
        (low is None or each.value >= low) and (high is None or each.value <= high)
        for each in changes
    ]
    if all(inside):
        return "agrees at every allowed setting"
    if not any(inside):
        return "differs at every allowed setting"
    return f"hangs on the choice: agrees at {sum(inside)} of {len(inside)} allowed settings"
