"""The axes of a sweep: which key of the scenario takes which values.

An axis is a list of values (``"path.buffer" = ["0.5 bdp", "1 bdp"]``), a range
(``{ from = "1 Mbit/s", to = "1 Gbit/s", points = 10, scale = "log" }``), or a table of named
points, each a partial scenario that is merged into the base.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart import quantities
from slowstart._native import run_batch
from slowstart.studies.files import Node, Scalar, toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RANGE = ("from", "to", "points", "step", "scale", "values", "name")
MOST = 10_000_000
"""The most values of an axis, and points of a sweep."""


@dataclass(frozen=True)
class Value:
    """A value of an axis."""

    label: Scalar
    """As a table shows it, if its axis has no common unit."""
    text: str
    """The value as TOML; empty for a named point."""
    number: float | None
    """In base units; ``None`` for a word."""
    patch: Mapping[str, Any] | None = None
    """The partial scenario of a named point."""


@dataclass(frozen=True)
class Axis:
    """A swept key, or a set of named points."""

    key: str
    """As in the file, which is where errors refer to."""
    name: str
    """The name in expressions and figures."""
    values: tuple[Value, ...]
    unit: str | None
    """The base unit of all values; empty for plain numbers; ``None`` for words."""
    shown: str = ""
    """The unit of its values as written, if they all have it."""
    log: bool = False
    """Whether a figure shows it on a logarithmic scale."""

    @property
    def named(self) -> bool:
        """Whether its values are named points, which set several keys."""
        return self.values[0].patch is not None

    def column(self) -> str:
        """Its column in the table, which says the unit."""
        return column(self.key, self.name, self.unit or "")

    def cells(self) -> list[Scalar]:
        """What its column says for each value."""
        if self.unit is None:
            return [str(each.label) for each in self.values]
        numbers = [each.number for each in self.values]
        if self.unit == "" and all(isinstance(each.label, int) for each in self.values):
            return [int(each or 0) for each in numbers]
        return [float(each or 0) for each in numbers]


@cache
def _measured() -> frozenset[str]:
    """The columns that no swept key may replace: it does replace names that the runs write out."""
    columns = run_batch([]).flows().column_names
    return frozenset({*columns, "key"} - {"algorithm", "path", "name", "stack"})


def column(key: str, name: str, unit: str) -> str:
    """The column of a swept key or derived quantity: its name and unit.

    If a measurement has this name, such as ``loss_ratio``, all of the key: ``path_loss_ratio``.
    """
    suffix = f"_{quantities.SUFFIX.get(unit, unit.replace('/', '_per_'))}" if unit else ""
    found = f"{name}{suffix}"
    if found not in _measured():
        return found
    found = f"{key.replace('.', '_')}{suffix}"
    return f"swept_{found}" if found in _measured() else found


def name_of(key: str, keys: Sequence[str]) -> str:
    """The last part of a dotted key, or all of it where that is a number's or is not unique."""
    last = key.rpartition(".")[2]
    twice = sum(each.rpartition(".")[2] == last for each in keys) > 1
    indexed = any(part.isdecimal() for part in key.split("."))
    return key.replace(".", "_") if twice or indexed else last


def read_axis(grid: Node, key: str, keys: Sequence[str]) -> Axis:
    """The axis at ``key`` of ``[grid]``.

    Raises:
        InputError: With file and line.
    """
    value = grid.value[key]
    name = name_of(key, keys)
    if isinstance(value, list):
        return _listed(grid, key, name, value)
    if not isinstance(value, dict):
        raise grid.refuse(f"{key}: expected a list of values, a range, or named points", key)
    table = grid.table(key)
    if not table.value:
        raise grid.refuse(f"{key} has no values", key)
    if all(isinstance(each, dict) for each in table.value.values()):
        points = tuple(
            Value(label, "", None, dict(table.table(label).value)) for label in table.value
        )
        return Axis(key, name, points, None)
    table.only(*_RANGE)
    name = table.text("name", name)
    if not name.isidentifier():
        raise table.refuse(f"{name} is not a name of letters, digits and _", "name")
    if table.has("values"):
        for other in ("from", "to", "points", "step"):
            if table.has(other):
                raise table.refuse(f"values and {other} exclude each other", other)
        scale = table.choice("scale", ("linear", "log"), "linear")
        made = _listed(grid, key, name, table.scalars("values"))
        positive = made.unit is not None and all((each.number or 0) > 0 for each in made.values)
        if scale == "log" and not positive:
            raise table.refuse("scale: only numbers above zero have a logarithm", "scale")
        return Axis(key, name, made.values, made.unit, made.shown, scale == "log")
    span = Span.read(grid, key, name, more=("points", "step"))
    return span.axis(_steps(table, span))


def _listed(grid: Node, key: str, name: str, values: Sequence[Any]) -> Axis:
    if not values or any(isinstance(each, list) for each in values):
        raise grid.refuse(f"{key}: expected a list of values", key)
    seen = [toml(each) for each in values]
    for place, each in enumerate(seen):
        if each in seen[:place]:
            raise grid.refuse(f"{key} has the value {each} twice", key, place)
    read = [None if isinstance(each, dict) else quantities.read(each) for each in values]
    bases = {None if each is None else each.base for each in read}
    unit = bases.pop() if len(bases) == 1 else None
    units = {each.unit for each in read if each is not None}
    made = tuple(
        Value(
            each if not isinstance(each, dict) else text,
            text,
            None if number is None else number.value,
        )
        for each, text, number in zip(values, seen, read, strict=True)
    )
    shown = units.pop() if unit and len(units) == 1 else (unit or "")
    return Axis(key, name, made, unit, shown, _looks_log(made, unit))


def _looks_log(values: Sequence[Value], unit: str | None) -> bool:
    """Whether numbers are closer to a geometric than to an arithmetic sequence."""
    numbers = [each.number for each in values]
    if unit is None or len(numbers) < 3 or any(each is None or each <= 0 for each in numbers):
        return False
    ordered = sorted(each for each in numbers if each is not None)
    return ordered[-1] / ordered[0] > 8 and ordered[len(ordered) // 2] < ordered[-1] / 3


def _steps(table: Node, span: Span) -> list[float]:
    """The positions of a range's points, from 0 to 1."""
    if table.has("points") and table.has("step"):
        raise table.refuse("points and step exclude each other", "step")
    if table.has("step"):
        if span.log:
            raise table.refuse("a logarithmic range has points, not a step", "step")
        step = quantities.read(table.value["step"])
        if step is None or step.base != quantities.base(span.unit) or step.value <= 0:
            raise table.refuse("step: expected a number above zero with the unit of from", "step")
        count = (span.high - span.low) / float(step.number * quantities.factor(step.unit)
                                               / quantities.factor(span.unit))  # fmt: skip
        whole = math.floor(count + 1e-9) + 1
        if whole > MOST:
            raise table.refuse(f"the limit is {MOST} values", "step")
        return [place / count for place in range(whole)] if count else [0.0]
    if not table.has("points"):
        raise table.refuse("a range needs points (their number), or a step", "from")
    points = table.integer("points", 2, least=2)
    if points > MOST:
        raise table.refuse(f"the limit is {MOST} points", "points")
    return [place / (points - 1) for place in range(points)]


@dataclass(frozen=True)
class Span:
    """A range of numbers with a unit."""

    key: str
    name: str
    low: float
    high: float
    """In ``unit``."""
    unit: str
    log: bool
    whole: bool
    """Whether its values are integers."""

    @classmethod
    def read(cls, node: Node, key: str, name: str, *, more: Sequence[str] = ()) -> Span:
        """The range at ``key``; ``more`` are keys that it may have next to its own.

        Raises:
            InputError: With file and line.
        """
        table = node.table(key)
        table.only("from", "to", "scale", "name", *more)
        table.need("from", "to")
        ends = []
        for end in ("from", "to"):
            found = quantities.read(table.value[end])
            if found is None:
                raise table.refuse(f"{end}: expected a number, with its unit if it has one", end)
            ends.append(found)
        low, high = ends
        if low.base != high.base:
            raise table.refuse(
                f"from and to have different units: {low.unit or 'none'}, {high.unit or 'none'}",
                "to",
            )
        if low.value >= high.value:
            raise table.refuse("from must be below to", "from")
        log = table.choice("scale", ("linear", "log"), "linear") == "log"
        if log and low.value <= 0:
            raise table.refuse("from: only numbers above zero have a logarithm", "from")
        unit = high.unit if abs(high.number) < abs(low.number) else low.unit
        scale = quantities.factor(unit)
        return cls(
            key,
            table.text("name", name),
            float(low.number * quantities.factor(low.unit) / scale),
            float(high.number * quantities.factor(high.unit) / scale),
            unit,
            log,
            not unit and all(each.number == each.number.to_integral_value() for each in ends)
            and all(isinstance(table.value[end], int) for end in ("from", "to")),
        )  # fmt: skip

    def value(self, place: float) -> Value:
        """The value at a position from 0 to 1."""
        if self.log:
            found = self.low * (self.high / self.low) ** place
        else:
            found = self.low + (self.high - self.low) * place
        number = Decimal(round(found)) if self.whole else quantities.rounded(found, self.unit)
        text = quantities.written(number, self.unit)
        label: Scalar = text if self.unit else (int(number) if self.whole else float(number))
        return Value(label, toml(label), float(number * quantities.factor(self.unit)))

    def quick(self, place: float) -> tuple[str, float]:
        """The text and the number of :meth:`value`, for a million of them."""
        if not self.whole:
            low, high = self.low, self.high
            at = low * (high / low) ** place if self.log else low + (high - low) * place
            found = quantities.quick(at, self._scale, self._base)
            if found is not None:
                return found
        value = self.value(place)
        return value.text, value.number or 0.0

    @cached_property
    def _scale(self) -> float:
        return float(quantities.factor(self.unit))

    @cached_property
    def _base(self) -> str:
        return quantities.base(self.unit)

    def axis(self, places: Sequence[float]) -> Axis:
        """An axis with the values at these positions; equal ones once."""
        values = {value.text: value for value in map(self.value, places)}
        return Axis(
            self.key, self.name, tuple(values.values()), quantities.base(self.unit), self.unit,
            self.log,
        )  # fmt: skip

    def head(self) -> Axis:
        """An axis of its two ends: what it has in common with a range."""
        return self.axis([0.0, 1.0])


def latin(points: int, columns: int, seed: int) -> list[list[float]]:
    """A Latin hypercube: for each column, one position in each of ``points`` equal intervals.

    Source: McKay, Beckman and Conover, 1979. Only ``Random.random`` is used, whose sequence Python
    guarantees, so a seed gives the same points everywhere.
    """
    chance = Random(seed)  # noqa: S311 (not for secrets)
    made = []
    for _ in range(columns):
        order = np.argsort([chance.random() for _ in range(points)], kind="stable")
        within = np.array([chance.random() for _ in range(points)])
        made.append(((order + within) / points).tolist())
    return made
