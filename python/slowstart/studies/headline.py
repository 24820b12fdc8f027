"""A report's first table, the claims beside a figure, and what is fitted and what is predicted.

``[[headline]]`` of ``study.toml`` is a row (a network, an experiment) with the claims that stand
for the headline statements of the publication:

.. code-block:: toml

    [[headline]]
    row = "GEO"
    [headline.claims]
    "SEARCH exits in time" = "search-chokepoint-geo"
    "more throughput than HyStart" = ["throughput-geo"]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from slowstart.studies.bands import plain
from slowstart.studies.claims import INDEPENDENT
from slowstart.studies.files import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.allowed import Allowed
    from slowstart.studies.calibration import Calibration
    from slowstart.studies.claims import Claim, Verdict
    from slowstart.studies.drawings import Drawing
    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.plan import Experiment

SIGNS = {"agrees": "✓", "differs": "✗", "undecided": "±", "not-identified": "?", "cannot-test": "-"}
"""A sign for each verdict, so that no reader depends on the colours."""

# "figure 5.10b", "figures 4.10 and 4.11", "tables 5.2 and 5.3", "figure 4(a)", "section 5.2"
_PLACES = re.compile(
    r"\b(figure|table|section|chapter)s?\s((?:\d+(?:\.\d+)*(?:\([a-z]\)|[a-z])?(?:,\s|\sand\s)?)+)"
)
_PLACE = re.compile(r"(\d+(?:\.\d+)*)(?:\(?([a-z])\)?)?")


@dataclass(frozen=True)
class Row:
    """A row of the report's first table."""

    name: str
    claims: Mapping[str, tuple[str, ...]]
    """The claims of each column, by their names."""


def read_headline(root: Node, claims: Mapping[str, Claim]) -> tuple[Row, ...]:
    """Reads ``[[headline]]``.

    Raises:
        InputError: A row is not valid, or names a claim that does not exist (with file and line).
    """
    rows: list[Row] = []
    for node in root.tables("headline"):
        node.only("row", "claims")
        name = node.text("row")
        if any(each.name == name for each in rows):
            raise node.refuse(f"there are two rows {name}", "row")
        table = node.table("claims")
        if not table.value:
            raise node.refuse("claims (a table of columns, with the claims of each) is missing")
        cells = {}
        for column, value in table.value.items():
            names = [table.text(column)] if isinstance(value, str) else table.texts(column)
            if not names:
                raise table.refuse(f"{column} names no claim", column)
            for each in names:
                if each not in claims:
                    raise table.refuse(f"there is no claim {each}{nearest(each, claims)}", column)
            cells[column] = tuple(names)
        rows.append(Row(name, cells))
    return tuple(rows)


def columns(rows: Sequence[Row]) -> list[str]:
    """The columns of the table, in the order in which they appear."""
    return list(dict.fromkeys(column for row in rows for column in row.claims))


def numbers(verdict: Verdict) -> str:
    """What is published and what was found, in a few characters."""
    claim, found = verdict.claim, verdict.estimate
    if found is None:
        return "not tested"
    unit = f" {claim.unit}" if claim.unit else ""
    here = plain(found.value, 3)
    if verdict.points > 1 and verdict.low is not None and verdict.high is not None:
        low, high = plain(verdict.low, 3), plain(verdict.high, 3)
        here = here if low == high else f"{low} to {high}"
    if claim.published is not None:
        return f"found {here}{unit}, published {plain(claim.published, 3)}"
    band = "-" if claim.expected is None else claim.expected.words("", lambda x: plain(x, 3))
    return f"found {here}{unit}, claimed {band}"


# --- the claims beside a figure ------------------------------------------------------------------


def places(where: str) -> set[tuple[str, str, str]]:
    """The figures, tables and sections that a text names: kind, number and letter."""
    return {
        (kind, number, letter or "")
        for kind, those in _PLACES.findall(where)
        for number, letter in _PLACE.findall(those)
    }


def beside(
    drawings: Sequence[Drawing], claims: Sequence[Claim], plans: Mapping[str, Experiment]
) -> dict[str, list[Claim]]:
    """The claims that rest on each figure, by its name.

    A figure may list them (``claims``). Any other claim belongs to the figures that stand for the
    same figure or table of the publication: to those of its own experiment and runs, if there are
    any.
    """
    found: dict[str, list[Claim]] = {each.name: [] for each in drawings}
    for claim in claims:
        listed = [each for each in drawings if _lists(each, claim)]
        if not listed:
            free = [each for each in drawings if each.claims is None]
            there = [each for each in free if _same_place(each, claim)]
            mine = [each for each in there if each.experiment == claim.experiment]
            if mine:
                apt = [each for each in mine if _same_runs(each, claim, plans[each.experiment])]
                listed = (apt or mine)[:1]
            else:
                listed = there[:1] if claim.experiment is None else []
        for each in listed:
            found[each.name].append(claim)
    return found


def _lists(drawing: Drawing, claim: Claim) -> bool:
    return any(fnmatchcase(claim.name, pattern) for pattern in drawing.claims or ())


def _same_place(drawing: Drawing, claim: Claim) -> bool:
    theirs = places(claim.where)
    return any(
        (kind, number) == (other, same) and (not letter or not one or letter == one)
        for kind, number, letter in places(drawing.where)
        for other, same, one in theirs
    )


def _same_runs(drawing: Drawing, claim: Claim, plan: Experiment) -> bool:
    """Whether the figure draws the claim's metric, of cells that the claim is about."""
    mine = {id(cell) for cell in plan.select(drawing.select)}
    theirs = {id(cell) for cell in plan.select(claim.select)}
    return bool(mine & theirs) and claim.metric in drawing.metrics.values()


# --- what is fitted and what is predicted --------------------------------------------------------


def fitted(calibration: Calibration, allowed: Allowed) -> list[dict[str, Any]]:
    """The targets of a calibration: published, at the chosen point, and over the allowed set."""
    return [
        {
            "words": target.words,
            "where": target.where,
            "statistic": target.statistic,
            "published": target.published,
            "found": allowed.found.get(target.name),
            "reach": allowed.reach.get(target.name),
        }
        for target in calibration.targets
    ]


def predicted(
    calibration: Calibration,
    verdicts: Sequence[Verdict],
    plans: Mapping[str, Experiment],
    stack: Stack,
) -> list[Verdict]:
    """The verdicts on independent published numbers about the networks of a calibration."""
    return [
        each
        for each in verdicts
        if each.stack == stack
        and each.claim.standing == INDEPENDENT
        and each.claim.published is not None
        and each.estimate is not None
        and _about(calibration, each.claim, plans)
    ]


def _about(calibration: Calibration, claim: Claim, plans: Mapping[str, Experiment]) -> bool:
    """Whether any cell that a claim is about has a path of the calibration."""
    if claim.experiment is None:
        return False
    plan = plans[claim.experiment]
    labels = dict(claim.select)
    if claim.function is not None:
        named = {key: value for key, value in claim.parameters.items() if key in plan.axes}
        labels |= named
    return any(calibration.name in cell.calibrations for cell in plan.select(labels))
