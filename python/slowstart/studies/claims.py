"""A study's claims, and the verdict on each.

A claim is a published number or statement: where it stands, our words for it, how it is measured
(which runs, which metric, which statistic, compared with what), and which values agree with it. The
tolerance is set from what was published, before anything is run. A verdict is ``agrees``,
``differs`` or ``cannot-test``; ``differs`` is a result and stays.

Where the expectation is a band with two ends, the measured value has to lie in it. An order (one
end) has to be certain: the whole interval of what was measured lies on that side.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from slowstart.studies.estimates import (
    RELATIONS,
    STATISTICS,
    Estimate,
    estimate,
    holm,
    relate,
)
from slowstart.studies.files import Node, nearest
from slowstart.tables import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart.studies.plan import Experiment
    from slowstart.studies.store import Stack

AGREES, DIFFERS, CANNOT_TEST = "agrees", "differs", "cannot-test"
TABLES = ("flows", "links", "runs")
_KEYS = (
    "id", "where", "words", "experiment", "select", "against", "table", "metric", "statistic",
    "relation", "paired", "unit", "expected", "published", "reason", "decide", "cannot_test",
    "function", "parameters", "looked_into", "quantities",
)  # fmt: skip


class Rows(Protocol):
    """What a verdict is found from: the rows of an experiment on one stack."""

    def table(self, experiment: str, stack: Stack, table: str) -> pl.DataFrame:
        """One row for each flow, link or run, with labels; empty where nothing was run."""

    def why_left_out(self, experiment: str, stack: Stack) -> str | None:
        """Why nothing of an experiment was to be run; ``None`` if something was."""

    def why_empty(self, experiment: str, stack: Stack, labels: Mapping[str, Any]) -> str | None:
        """Why cells were not run; ``None`` if all were."""


Function = "Callable[[Rows, Stack, Mapping[str, Any]], Estimate | None]"


@dataclass(frozen=True)
class Expected:
    """The values that agree."""

    low: float | None
    high: float | None
    value: float | None = None
    """The middle, where the band is one value and a tolerance."""

    def holds(self, value: float) -> bool:
        """Whether ``value`` is one of them."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def words(self, unit: str) -> str:
        """The band in a few words."""
        unit = f" {unit}" if unit else ""
        if self.value is not None and self.low is not None and self.high is not None:
            both = self.value - self.low, self.high - self.value
            if math.isclose(*both, rel_tol=1e-6):
                return f"{plain(self.value)} ± {plain(both[0])}{unit}"
        if self.low is None and self.high is not None:
            return f"at most {plain(self.high)}{unit}"
        if self.high is None and self.low is not None:
            return f"at least {plain(self.low)}{unit}"
        return f"{plain(self.low or 0.0)} to {plain(self.high or 0.0)}{unit}"


@dataclass(frozen=True)
class Quantity:
    """A statistic of an experiment's flows that the text of a claim tells."""

    experiment: str
    select: Mapping[str, Any]
    metric: str
    statistic: str


@dataclass(frozen=True)
class Claim:
    """A published number or statement."""

    name: str
    where: str
    words: str
    experiment: str | None
    select: Mapping[str, Any]
    against: Mapping[str, Any] | None
    table: str
    metric: str
    statistic: str
    relation: str
    paired: bool
    unit: str
    expected: Expected | None
    published: float | None
    reason: str
    certain: bool
    """Whether the whole interval has to agree, not the value alone."""
    cannot_test: str | None
    function: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    looked_into: str = ""
    """What was found about the difference, where there is one; ``{name}`` is a quantity."""
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    pair_by: tuple[str, ...] = ()
    """Axes that the claim leaves open: runs are compared that agree in them, and in the seed."""


@dataclass(frozen=True)
class Verdict:
    """What came of a claim on a stack."""

    claim: Claim
    stack: Stack
    word: str
    reason: str
    estimate: Estimate | None = None
    p_adjusted: float | None = None


def plain(value: float) -> str:
    """A number as people write it: no needless digits."""
    if value == 0:
        return "0"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    text = number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- reading -------------------------------------------------------------------------------------


def read_claim(
    node: Node,
    experiments: Mapping[str, Experiment],
    columns: Mapping[str, Sequence[str]],
    hooks: Callable[[str], object | None],
) -> Claim:
    """Reads ``[[claim]]``.

    Args:
        node: The table.
        experiments: Those of the study.
        columns: Of each table, without labels and extracts.
        hooks: Finds a name in the study's Python module.

    Raises:
        InputError: With file and line.
    """
    node.only(*_KEYS)
    cannot_test = node.text("cannot_test") if node.has("cannot_test") else None
    function = None
    if node.has("function"):
        function = hooks(node.text("function"))
        if not callable(function):
            name = node.text("function")
            raise node.refuse(f"the study's module has no function {name}", "function")
    experiment = node.text("experiment") if node.has("experiment") else None
    if experiment is not None and experiment not in experiments:
        message = f"there is no experiment {experiment}{nearest(experiment, experiments)}"
        raise node.refuse(message, "experiment")
    if cannot_test is None and function is None:
        node.need("experiment")
        node.need("metric")
    expected = read_expected(node) if node.has("expected") else None
    if cannot_test is None:
        node.need("expected")
        node.need("reason")
    plan = experiments[experiment] if experiment is not None else None
    select = _labels(node, "select", plan)
    against = None
    if node.has("against"):
        changed = _labels(node, "against", plan)
        against = {**select, **changed}
    elif node.has("relation"):
        raise node.refuse("a relation needs the runs that it is to: against = {...}", "relation")
    table = node.choice("table", TABLES, "flows")
    metric = node.text("metric", "fct_s")
    if plan is not None and function is None:
        check_metric(node, "metric", metric, plan, columns[table])
    one_end = expected is not None and (expected.low is None or expected.high is None)
    decide = node.choice("decide", ("value", "interval"), "interval" if one_end else "value")
    published = None if expected is None else expected.value
    if node.has("published"):
        published = node.number("published")
    paired = node.truth("paired", default=table == "flows")
    if paired and table != "flows" and against is not None:
        raise node.refuse("only flows can be paired: write paired = false", "paired")
    return Claim(
        name=node.text("id"),
        where=node.text("where"),
        words=node.text("words"),
        experiment=experiment,
        select=select,
        against=against,
        table=table,
        metric=metric,
        statistic=node.choice("statistic", STATISTICS, "median"),
        relation=node.choice("relation", RELATIONS, "ratio"),
        paired=paired,
        pair_by=_open_axes(plan, against),
        unit=node.text("unit", "-").strip("-"),
        expected=expected,
        published=published,
        reason=node.text("reason", "-").strip("-"),
        certain=decide == "interval",
        cannot_test=cannot_test,
        function=function,
        parameters=node.table("parameters").value,
        looked_into=node.text("looked_into", "-").strip("-"),
        quantities=_read_quantities(node, experiments, columns["flows"]),
    )


def _open_axes(plan: Experiment | None, against: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The axes of which a comparison names no value, or several."""
    if plan is None or against is None:
        return ()
    return tuple(axis for axis in plan.axes if isinstance(against.get(axis, []), list))


def _read_quantities(
    node: Node, experiments: Mapping[str, Experiment], columns: Sequence[str]
) -> dict[str, Quantity]:
    """Those that ``looked_into`` names, no more and no fewer."""
    table = node.table("quantities")
    found = {}
    for name in table.value:
        each = table.table(name)
        each.only("experiment", "select", "metric", "statistic")
        plan = experiments[each.choice("experiment", list(experiments))]
        each.need("metric")
        metric = each.text("metric")
        check_metric(each, "metric", metric, plan, columns)
        statistic = each.choice("statistic", STATISTICS, "median")
        found[name] = Quantity(plan.name, _labels(each, "select", plan), metric, statistic)
    if not found:
        return found
    try:
        parts = list(string.Formatter().parse(node.text("looked_into")))
    except ValueError as error:
        raise node.refuse(f"looked_into: {error}", "looked_into") from error
    named = {name for _, name, _, _ in parts if name is not None}
    for name in sorted(named - set(found)):
        raise node.refuse(
            f"looked_into names {{{name}}}, which is not in quantities", "looked_into"
        )
    for name in sorted(set(found) - named):
        raise node.refuse(f"looked_into does not name {{{name}}}", "quantities", name)
    return found


def _labels(node: Node, key: str, plan: Experiment | None) -> dict[str, Any]:
    """Values of axes; each has to be in the grid."""
    table = node.table(key)
    if plan is None:
        return dict(table.value)
    table.only(*plan.axes)
    for axis, value in table.value.items():
        for each in value if isinstance(value, list) else [value]:
            if each not in plan.axes[axis]:
                hint = nearest(str(each), plan.axes[axis])
                raise table.refuse(f"{axis} has no value {each} in {plan.name}{hint}", axis)
    return dict(table.value)


def read_expected(node: Node) -> Expected:
    """Reads ``expected = { value, tolerance }`` or ``{ low, high }``."""
    table = node.table("expected")
    table.only("value", "tolerance", "low", "high")
    if table.has("value"):
        value = table.number("value")
        if table.has("low") or table.has("high"):
            raise table.refuse("expected has a value with a tolerance, or low and high, not both")
        table.need("tolerance")
        given = table.value["tolerance"]
        if isinstance(given, str):
            percent = given.strip().removesuffix("%").strip()
            try:
                tolerance = abs(value) * float(percent) / 100
            except ValueError as error:
                message = 'tolerance: a number, or a percentage such as "5 %", is expected'
                raise table.refuse(message, "tolerance") from error
        else:
            tolerance = table.number("tolerance")
        if not tolerance >= 0:
            raise table.refuse("tolerance is negative", "tolerance")
        return Expected(value - tolerance, value + tolerance, value)
    low = table.number("low") if table.has("low") else None
    high = table.number("high") if table.has("high") else None
    if low is None and high is None:
        raise table.refuse("expected needs a value with a tolerance, or low, or high")
    if low is not None and high is not None and low > high:
        raise table.refuse("low is above high", "low")
    return Expected(low, high)


def check_metric(
    node: Node, key: str, metric: str, plan: Experiment, columns: Sequence[str]
) -> None:
    """Refuses an expression that is none, or that names a column that is not there."""
    known = [*columns, *plan.axes, *(each.name for each in plan.extracts)]
    try:
        names = pl.sql_expr(metric).meta.root_names()
    except Exception as error:
        raise node.refuse(f'{key} = "{metric}" is no expression', key) from error
    for name in names:
        if name not in known:
            raise node.refuse(f"there is no column {name}{nearest(name, known)}", key)


def looked_into(claim: Claim, rows: Rows, stacks: Sequence[Stack]) -> str:
    """What was found about a difference, with numbers of the first stack that has them."""
    if not claim.quantities:
        return claim.looked_into
    shown = dict.fromkeys(claim.quantities, "(not run)")
    for name, each in claim.quantities.items():
        for stack in stacks:
            mine = filtered(rows.table(each.experiment, stack, "flows"), each.select)
            if mine.is_empty():
                continue
            found = estimate(mine.with_columns(value=pl.sql_expr(each.metric)), each.statistic)
            if found is not None:
                shown[name] = plain(found.value)
                break
    return claim.looked_into.format(**shown)


# --- the verdict ---------------------------------------------------------------------------------


def filtered(rows: pl.DataFrame, labels: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with these labels; a list as label is any of its values."""
    if rows.is_empty():
        return rows
    for axis, value in labels.items():
        rows = rows.filter(pl.col(axis).is_in(value if isinstance(value, list) else [value]))
    return rows


def judge(claims: Sequence[Claim], rows: Rows, stack: Stack) -> list[Verdict]:
    """The verdicts on a stack. p-values are adjusted together, experiment by experiment."""
    verdicts = [_judge(claim, rows, stack) for claim in claims]
    for experiment in {claim.experiment for claim in claims}:
        places = [
            place
            for place, each in enumerate(verdicts)
            if each.claim.experiment == experiment and each.estimate and each.estimate.p is not None
        ]
        p_values = [each.estimate.p for each in (verdicts[place] for place in places)
                    if each.estimate and each.estimate.p is not None]  # fmt: skip
        for place, p in zip(places, holm(p_values), strict=True):
            verdicts[place] = replace(verdicts[place], p_adjusted=p)
    return verdicts


def _judge(claim: Claim, rows: Rows, stack: Stack) -> Verdict:
    if claim.cannot_test is not None or claim.expected is None:
        return Verdict(claim, stack, CANNOT_TEST, claim.cannot_test or "no expectation is given")
    if claim.experiment is not None:
        for labels in (claim.select, claim.against):
            if labels is None:
                continue
            if claim.function is not None and not labels:  # it looks for its runs itself
                missing = rows.why_left_out(claim.experiment, stack)
            else:
                missing = rows.why_empty(claim.experiment, stack, labels)
            if missing is not None:
                return Verdict(claim, stack, CANNOT_TEST, missing)
    found = _measure(claim, rows, stack)
    if found is None:
        return Verdict(claim, stack, CANNOT_TEST, "no run has a value for this")
    return decide(claim, found, stack)


def _measure(claim: Claim, rows: Rows, stack: Stack) -> Estimate | None:
    if claim.function is not None:
        result: Estimate | None = claim.function(rows, stack, claim.parameters)
        return result
    if claim.experiment is None:
        return None
    every = rows.table(claim.experiment, stack, claim.table)
    if every.is_empty():
        return None
    every = every.with_columns(value=pl.sql_expr(claim.metric))
    one = filtered(every, claim.select)
    if claim.against is None:
        return estimate(one, claim.statistic)
    other = filtered(every, claim.against)
    return relate(
        one, other, claim.statistic, claim.relation, paired=claim.paired, pair_by=claim.pair_by
    )


def decide(claim: Claim, found: Estimate, stack: Stack) -> Verdict:
    """Whether what was found is what was claimed."""
    expected = claim.expected
    if expected is None:
        return Verdict(claim, stack, CANNOT_TEST, "no expectation is given", found)
    ends: list[float] = [found.value]
    if found.low is not None and found.high is not None:
        ends += [found.low, found.high]
    inside = [expected.holds(end) for end in ends]
    agrees = all(inside) if claim.certain else inside[0]
    band = expected.words(claim.unit)
    if agrees:
        reason = f"{band}, as claimed" if claim.certain else f"within {band}"
        if not all(inside):
            reason += "; the interval reaches beyond, so more runs could change this"
    elif inside[0]:
        reason = f"{band} is not certain: the interval reaches beyond"
    else:
        bound = expected.high if expected.high is not None and found.value > expected.high else None
        edge = bound if bound is not None else expected.low
        side = "above" if bound is not None else "below"
        reason = f"{side} {plain(edge or 0.0)}{' ' + claim.unit if claim.unit else ''}"
        if any(inside[1:]):
            reason += "; the interval reaches into what was claimed"
    if found.missing:
        reason += f"; {found.missing} without a value"
    return Verdict(claim, stack, AGREES if agrees else DIFFERS, reason, found)
