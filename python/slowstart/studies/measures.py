"""Measures: a statistic of a metric over selected runs, optionally compared with other runs.

A claim is judged by a measure, and explanations name further ones
(:mod:`slowstart.studies.evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from slowstart.studies.estimates import (
    RELATIONS,
    STATISTICS,
    Estimate,
    censor,
    estimate,
    relate,
)
from slowstart.studies.files import Node, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from slowstart.studies.grid import Stack
    from slowstart.studies.plan import Experiment

    Hooks = Callable[[str], object | None]

TABLES = (
    "flows", "links", "traffic", "responses", "queues", "networks", "network_drops", "nodes",
    "runs",
)  # fmt: skip
KEYS = (
    "experiment", "select", "against", "table", "metric", "statistic", "relation", "paired",
    "function", "parameters", "limit",
)  # fmt: skip


class Rows(Protocol):
    """The source of a measure: the rows of an experiment on one stack."""

    def table(self, experiment: str, stack: Stack, table: str) -> pl.DataFrame:
        """The rows of one of :data:`TABLES`, with labels; empty if nothing was run."""

    def why_left_out(self, experiment: str, stack: Stack) -> str | None:
        """Why an experiment was left out; ``None`` if it was not."""

    def why_empty(self, experiment: str, stack: Stack, labels: Mapping[str, Any]) -> str | None:
        """Why cells were not run; ``None`` if all were."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The runs that a number is taken from, and how."""

    experiment: str | None
    select: Mapping[str, Any]
    against: Mapping[str, Any] | None = None
    table: str = "flows"
    metric: str = "fct_s"
    statistic: str = "median"
    relation: str = "ratio"
    paired: bool = True
    function: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    limit: float | None = None
    """When observation ends: a row without a value counts as at least this, and is not dropped."""
    pair_by: tuple[str, ...] = ()
    """The axes that it leaves open: compared runs have equal values of these, and equal seeds."""

    def identity(self, plans: Mapping[str, Experiment]) -> Hashable:
        """Equal for two measures that take the same number from the same runs."""
        plan = None if self.experiment is None else plans[self.experiment]

        def cells(labels: Mapping[str, Any] | None) -> Hashable:
            if plan is None or labels is None:
                return labels if labels is None else repr(sorted(labels.items()))
            chosen = {id(cell) for cell in plan.select(labels)}
            return tuple(place for place, cell in enumerate(plan.cells) if id(cell) in chosen)

        runs = self.experiment, cells(self.select), cells(self.against)
        if self.function is not None:
            # Which runs a function takes, its parameters say.
            return (*runs, repr(self.select), self.function, repr(sorted(self.parameters.items())))
        compared = (self.relation, self.paired) if self.against is not None else None
        return (*runs, self.table, self.metric, self.statistic, compared, self.limit)

    def missing(self, rows: Rows, stack: Stack) -> str | None:
        """Why its runs are missing; ``None`` if they are there."""
        if self.experiment is None:
            return None
        for labels in (self.select, self.against):
            if labels is None:
                continue
            if self.function is not None and not labels:  # it selects its runs itself
                reason = rows.why_left_out(self.experiment, stack)
            else:
                reason = rows.why_empty(self.experiment, stack, labels)
            if reason is not None:
                return reason
        return None

    def take(self, rows: Rows, stack: Stack) -> Estimate | None:
        """The number; ``None`` if no run has a value."""
        if self.function is not None:
            # What the claim says about its runs, unless its parameters say so themselves.
            said = {
                "experiment": self.experiment,
                "select": self.select,
                "against": self.against,
                **self.parameters,
            }
            result: Estimate | None = self.function(rows, stack, said)
            return result
        if self.experiment is None:
            return None
        every = rows.table(self.experiment, stack, self.table)
        if every.is_empty():
            return None
        every = every.with_columns(value=pl.sql_expr(self.metric))
        one = filtered(every, self.select)
        other = None if self.against is None else filtered(every, self.against)
        censored = 0
        if self.limit is not None:
            # A quantile of a ratio or a difference exists if that of both sides does. A pair with
            # one row at the limit has the bound nearest to equality.
            sides = [censor(each, self.limit, self.statistic) for each in (one, other)
                     if each is not None]  # fmt: skip
            known = [each for each in sides if each is not None]
            if len(known) < len(sides):
                return None
            one, other = known[0][0], known[1][0] if other is not None else None
            censored = sum(count for _, count in known)
        if other is None:
            found = estimate(one, self.statistic)
        else:
            found = relate(
                one, other, self.statistic, self.relation, paired=self.paired, pair_by=self.pair_by
            )
        return found if found is None else replace(found, censored=censored)


@dataclass(frozen=True)
class Known:
    """The names that a measure may use."""

    experiments: Mapping[str, Experiment]
    columns: Mapping[str, Sequence[str]]
    """The columns of each table, without labels and extracts."""
    hooks: Hooks
    """Looks up a name in the study's analysis."""


def read_measure(node: Node, known: Known, *, needed: bool = True) -> Measure:
    """Reads a measure from ``node``.

    Args:
        node: The table, which may have other keys, too.
        known: The names that the study defines.
        needed: Whether an experiment and a metric, or a function, are required.

    Raises:
        InputError: With file and line.
    """
    experiment = _experiment(node, known) if node.has("experiment") else None
    function = None
    if node.has("function"):
        function = known.hooks(node.text("function"))
        if not callable(function):
            name = node.text("function")
            raise node.refuse(f"the study's analysis has no function {name}", "function")
    elif needed:
        node.need("experiment")
        node.need("metric")
    plan = known.experiments[experiment] if experiment is not None else None
    select = read_labels(node, "select", plan)
    against = None
    if node.has("against"):
        against = {**select, **read_labels(node, "against", plan)}
    elif node.has("relation"):
        raise node.refuse("a relation needs the runs to compare with: against = {...}", "relation")
    table = node.choice("table", TABLES, "flows")
    metric = node.text("metric", "fct_s")
    if plan is not None and function is None:
        check_metric(node, "metric", metric, plan, known.columns[table])
    paired = node.boolean("paired", default=table == "flows")
    if paired and table != "flows" and against is not None:
        raise node.refuse("only flows can be paired: write paired = false", "paired")
    return Measure(
        experiment=experiment,
        select=select,
        against=against,
        table=table,
        metric=metric,
        statistic=node.choice("statistic", STATISTICS, "median"),
        limit=node.number("limit") if node.has("limit") else None,
        relation=node.choice("relation", RELATIONS, "ratio"),
        paired=paired,
        function=function,
        parameters=node.table("parameters").value,
        pair_by=_open_axes(plan, against),
    )


def read_elsewhere(node: Node, base: Measure, known: Known) -> Measure:
    """Reads a measure that inherits from ``base`` whatever ``node`` does not set.

    Labels of axes that its experiment does not have are dropped. If ``node`` has its own metric or
    function, statistic and comparison are not inherited.

    Raises:
        InputError: With file and line.
    """
    value = dict(node.value)
    name = _experiment(node, known) if node.has("experiment") else base.experiment
    if name is not None:
        value["experiment"] = name
    axes = known.experiments[name].axes if name is not None else {}
    own = node.has("metric") or node.has("function")
    compared = {} if own or base.against is None else base.against
    inherited = {
        "select": base.select,
        "against": {axis: it for axis, it in compared.items() if base.select.get(axis) != it},
    }
    for key, labels in inherited.items():
        there = {axis: it for axis, it in labels.items() if axis in axes}
        if there:
            value[key] = {**there, **node.table(key).value}
    if not own and base.function is None:
        for key in ("table", "metric", "statistic", "paired"):
            value.setdefault(key, getattr(base, key))
        if base.limit is not None:
            value.setdefault("limit", base.limit)
        if "against" in value:
            value.setdefault("relation", base.relation)
    found = read_measure(node.as_if(value), known, needed=own or base.function is None)
    if own or base.function is None:
        return found
    parameters = {**base.parameters, **found.parameters}
    return replace(found, function=base.function, parameters=parameters)


def _experiment(node: Node, known: Known) -> str:
    name = node.text("experiment")
    if name not in known.experiments:
        message = f"there is no experiment {name}{nearest(name, known.experiments)}"
        raise node.refuse(message, "experiment")
    return name


def _open_axes(plan: Experiment | None, against: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The axes for which a comparison names no value, or several."""
    if plan is None or against is None:
        return ()
    return tuple(axis for axis in plan.axes if isinstance(against.get(axis, []), list))


def read_labels(node: Node, key: str, plan: Experiment | None) -> dict[str, Any]:
    """Labels: values of axes, each of which must be in the grid."""
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


def check_metric(
    node: Node, key: str, metric: str, plan: Experiment, columns: Sequence[str]
) -> None:
    """Rejects an invalid expression, and one that names an unknown column."""
    known = [*columns, *plan.axes, *(each.name for each in plan.extracts)]
    try:
        names = pl.sql_expr(metric).meta.root_names()
    except Exception as error:
        raise node.refuse(f'{key} = "{metric}" is not a valid expression', key) from error
    for name in names:
        if name not in known:
            raise node.refuse(f"there is no column {name}{nearest(name, known)}", key)


def filtered(rows: pl.DataFrame, labels: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with these labels; a list matches any of its values."""
    if rows.is_empty():
        return rows
    for axis, value in labels.items():
        rows = rows.filter(pl.col(axis).is_in(value if isinstance(value, list) else [value]))
    return rows
