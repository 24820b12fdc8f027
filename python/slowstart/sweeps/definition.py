"""A sweep as its file says it: a base scenario, the axes, the sample, and what derives from them.

The number of a point determines it: the axes vary in the order of the file, the last one fastest,
and each combination is run at every point of the sample.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import labels, quantities, stacks
from slowstart._native import Scenario, parse_toml, run_batch
from slowstart.errors import InputError
from slowstart.studies.files import Node, Scalar, nearest, toml
from slowstart.studies.grid import merge, put
from slowstart.sweeps import against
from slowstart.sweeps.axes import MOST, Axis, Span, column, latin, name_of, read_axis
from slowstart.sweeps.expressions import Expression

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

_PLACE = re.compile(r"^sweep(:\d+)*: ")
_SLOT = "\N{SYMBOL FOR DELETE}"
_ROOT = (
    "about", "runs", "seed", "scenario", "grid", "latin_hypercube", "derived", "tables", "figures",
    "baseline",
    "labels", "stack",
)  # fmt: skip
TABLES = (
    "flows", "links", "traffic", "responses", "queues", "networks", "network_drops", "nodes",
)  # fmt: skip
"""The tables that a sweep can keep."""


class _Given(Node):
    """A sweep that a program defines: there are no lines."""

    def line(self, *below: str | int) -> int:
        raise AssertionError(below)

    def refuse(self, message: str, *below: str | int) -> InputError:
        steps = ".".join(str(each) for each in (*self.steps, *below[:1]))
        return InputError(
            f"{self.file}: {steps}: {message}" if steps else f"{self.file}: {message}"
        )

    def only(self, *known: str) -> None:
        for key in self.value:
            if key not in known:
                raise self.refuse(f"unknown key {key}{nearest(key, known)}")

    def table(self, key: str) -> Node:
        below = super().table(key)
        return _Given(self.file, below.value, {}, below.steps)


@dataclass(frozen=True)
class Derived:
    """A number computed from others, which sets a key if its name is one."""

    name: str
    key: str | None
    expression: Expression
    unit: str

    def number(self, numbers: Mapping[str, float]) -> tuple[float, str]:
        """Its value in base units, and the same as TOML."""
        found = self.expression.value(numbers)
        scale = float(quantities.factor(self.unit))
        number = quantities.rounded(found / scale, self.unit)
        if not self.unit and number == number.to_integral_value():
            return float(number), toml(int(number))
        text = quantities.written(number, self.unit)
        return float(number) * scale, toml(text) if self.unit else text

    def column(self) -> str:
        """Its column in the table, which says the unit."""
        return column(self.key or self.name, self.name, quantities.base(self.unit))


@dataclass(frozen=True)
class Definition:
    """A sweep."""

    node: Node
    folder: Path
    """Names of trace files in the scenario are relative to it."""
    base: Mapping[str, Any]
    runs: int
    seed: int
    axes: tuple[Axis, ...]
    spans: tuple[Span, ...]
    """The keys of the sample."""
    sample: tuple[Sequence[float], ...]
    """For each key of the sample, its position at every point."""
    derived: tuple[Derived, ...]
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    """The measurements to draw."""
    about: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """The label of each labelled algorithm, by its canonical name."""
    baseline: str = ""
    """The value of a swept key with which figures compare the others; empty: they do not."""
    _templates: dict[tuple[int, ...], tuple[list[str], list[int]]] = field(default_factory=dict)

    # --- reading -------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        given: str | os.PathLike[str] | Mapping[str, Any],
        folder: Path | None = None,
        labels: Mapping[str, str] | None = None,
        stack: str | None = None,
    ) -> Definition:
        """Reads a file, or a dictionary of the same structure, and checks every value alone.

        ``folder`` is that of the traces of a dictionary's scenario, the working directory by
        default. ``labels`` are further ones. ``stack`` replaces that of the sweep.

        Raises:
            InputError: With file and line, if there is a file.
        """
        node: Node
        if isinstance(given, Mapping):
            node, place = _Given("the sweep", copy.deepcopy(dict(given)), {}), folder or Path()
        else:
            file = Path(given)
            node, place = Node.read(file), file.parent
        if labels:
            node.value["labels"] = {**node.table("labels").value, **labels}
        if stack is not None:
            node.value["stack"] = stack
        made = cls.read(node, place)
        made.check()
        return made

    @classmethod
    def read(cls, node: Node, folder: Path) -> Definition:
        """Reads the tables of a sweep; :meth:`check` then tries its values."""
        node.only(*_ROOT)
        node.need("scenario")
        base = _base(node, folder)
        if node.has("stack"):
            base["stack"] = node.text("stack")
        for key in ("runs", "seed"):
            if key in base:
                raise node.refuse(f"{key} belongs at the top of the sweep, not in its scenario",
                                  "scenario", key)  # fmt: skip
        grid, drawn = node.table("grid"), node.table("latin_hypercube")
        drawn.only("points", "seed", "keys")
        spread = drawn.table("keys")
        keys = [*grid.value, *spread.value]
        for table in (grid, spread):
            for key, value in table.value.items():
                named = value.values() if isinstance(value, dict) else ()
                for each in ("runs", "seed"):
                    if key == each or any(isinstance(one, dict) and each in one for one in named):
                        raise table.refuse(f"{each} belongs at the top of the sweep", key)
        for key in spread.value:
            if key in grid.value:
                raise spread.refuse(f"{key} is in [grid], too", key)
        axes = tuple(read_axis(grid, key, keys) for key in grid.value)
        shown, axes = _labelled(node.table("labels"), axes, base)
        spans = tuple(Span.read(spread, key, name_of(key, keys)) for key in spread.value)
        sample: list[list[float]] = []
        if node.has("latin_hypercube"):
            drawn.need("points", "keys")
            if not spans:
                raise drawn.refuse("keys has no ranges", "keys")
            count = drawn.integer("points", 1)
            if count > MOST:
                raise drawn.refuse(f"the limit is {MOST} points", "points")
            sample = latin(count, len(spans), drawn.integer("seed", 1, least=0))
        names = [*(each.name for each in axes), *(each.name for each in spans)]
        for name in names:
            if names.count(name) > 1:
                raise grid.refuse(f"two axes are named {name}")
        tables = node.texts("tables", ["flows"])
        for each in tables:
            if each not in TABLES:
                raise node.refuse(f"there is no table {each}{nearest(each, TABLES)}", "tables")
        runs = node.integer("runs", 1)
        made = cls(
            node,
            folder,
            base,
            runs,
            node.integer("seed", 1, least=0),
            axes,
            spans,
            tuple(sample),
            _read_derived(node.table("derived"), axes, spans, base),
            tuple(dict.fromkeys(("flows", *tables))),
            tuple(node.texts("figures")),
            node.text("about", ""),
            shown,
            node.text("baseline", ""),
        )
        if made.points * runs > MOST * 10:
            raise node.refuse(f"{made.points} points of {runs} runs: the limit is {MOST * 10} runs")
        return made

    @property
    def points(self) -> int:
        """The number of points."""
        return math.prod(self.shape)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis, and at last that of the sample's points."""
        drawn = (len(self.sample[0]),) if self.sample else ()
        return (*(len(axis.values) for axis in self.axes), *drawn)

    # --- points --------------------------------------------------------------------------------

    def places(self, point: int) -> tuple[int, ...]:
        """A point's place on each axis, and in the sample."""
        places = []
        for size in reversed(self.shape):
            point, place = divmod(point, size)
            places.append(place)
        return tuple(reversed(places))

    def text(self, point: int) -> str:
        """The scenario of a point, as TOML."""
        return self._text(self.places(point))[0]

    def scenario(self, point: int) -> Scenario:
        """The scenario of a point, with one run and the sweep's seed.

        Raises:
            InputError: The values do not go together; with the file and the point.
        """
        text = self.text(point)
        try:
            return self.parse(text)
        except InputError as error:
            said = ", ".join(f"{name} = {value}" for name, value in self.labels(point).items())
            reason = _PLACE.sub("", str(error))
            raise self.node.refuse(f"the point {said}: {reason}", "scenario") from error

    def scenarios(self, points: Sequence[int]) -> list[Scenario]:
        """The scenarios of some points; see :meth:`scenario`."""
        texts = self._texts(points)
        if any(map(stacks.is_named, texts[:1])) or any(axis.key == "stack" for axis in self.axes):
            return [self.scenario(each) for each in points]
        try:
            return Scenario.from_tomls(texts, name="sweep", folder=str(self.folder), seed=self.seed)
        except InputError:
            # One after the other, for an error that says which point it is.
            return [self.scenario(each) for each in points]

    def _texts(self, points: Sequence[int]) -> list[str]:
        """The texts of many points; see :meth:`text`."""
        if self.derived or any(axis.named for axis in self.axes):
            return [self.text(each) for each in points]
        # One template and no formula: what goes between its parts depends on one place each.
        parts, slots = self._templates.get(key := (-1,) * len(self.axes)) or self._template(key)
        places = np.unravel_index(np.asarray(points), self.shape) if self.shape else ()
        columns: list[list[str]] = []
        for axis, place in zip(self.axes, places, strict=False):
            words = [value.text for value in axis.values]
            columns.append([words[each] for each in place.tolist()])
        for span, drawn in zip(self.spans, self.sample, strict=True):
            columns.append([span.quick(drawn[each])[0] for each in places[-1].tolist()])
        text = "".join(
            f"{part.replace('{', '{{').replace('}', '}}')}{{{slot}}}"
            for slot, part in zip(slots, parts, strict=False)
        ) + parts[-1].replace("{", "{{").replace("}", "}}")
        if not columns:
            return [text.format()] * len(points)
        return [text.format(*row) for row in zip(*columns, strict=True)]

    def file_of(self, point: int) -> str:
        """The scenario of a point as a file, to be read."""
        tree, _ = parse_toml(stacks.plain(self.text(point)), "sweep")
        return _file({"name": "sweep", **tree})

    def numbers(self, point: int) -> list[float]:
        """The derived numbers of a point, in base units."""
        return self._text(self.places(point))[1]

    def parse(self, text: str) -> Scenario:
        """A scenario of this sweep from its text."""
        return parse(text, str(self.folder), self.seed)

    def labels(self, point: int) -> dict[str, Scalar]:
        """The values of a point as the file writes them, by the names of the axes."""
        places = self.places(point)
        found: dict[str, Scalar] = {
            axis.name: axis.values[place].label
            for axis, place in zip(self.axes, places, strict=False)
        }
        for span, drawn in zip(self.spans, self.sample, strict=True):
            found[span.name] = span.value(drawn[places[-1]]).label
        return found

    def _text(self, places: tuple[int, ...]) -> tuple[str, list[float]]:
        """The scenario at these places, and the derived numbers."""
        named = tuple(
            place if axis.named else -1 for axis, place in zip(self.axes, places, strict=False)
        )
        parts, slots = self._templates.get(named) or self._template(named)
        values = [axis.values[place] for axis, place in zip(self.axes, places, strict=False)]
        texts = [value.text for value in values]
        drawn = [
            span.quick(column[places[-1]])
            for span, column in zip(self.spans, self.sample, strict=True)
        ]
        texts += [text for text, _ in drawn]
        numbers = []
        if self.derived:
            known = dict(self._fixed)
            for axis, value in zip(self.axes, values, strict=True):
                if value.number is not None:
                    known[axis.name] = known[axis.key] = value.number
            for span, (_, number) in zip(self.spans, drawn, strict=True):
                known[span.name] = known[span.key] = number
            for one in self.derived:
                try:
                    found, text = one.number(known)
                except InputError as error:
                    where = one.key or one.name
                    raise self.node.refuse(f"{where}: {error}", "derived", where) from None
                known[one.name] = found
                numbers.append(found)
                texts.append(text)
        made = [parts[0]]
        for slot, part in zip(slots, parts[1:], strict=True):
            made.append(texts[slot])
            made.append(part)
        return "".join(made), numbers

    @cached_property
    def _fixed(self) -> dict[str, float]:
        """The numbers of the base that derived quantities name."""
        known = {}
        for each in self.derived:
            for name in each.expression.names:
                if (found := _number(self.base, name)) is not None:
                    known[name] = found
        return known

    def _template(self, named: tuple[int, ...]) -> tuple[list[str], list[int]]:
        """The text of all points with these named points: its parts, and what goes between them."""
        tree = copy.deepcopy(dict(self.base))
        for number, axis in enumerate(self.axes):
            if axis.named:
                merge(tree, axis.values[named[number]].patch or {})
            else:
                self._put(tree, axis.key, f"{_SLOT}{number}{_SLOT}")
        count = len(self.axes)
        for number, span in enumerate(self.spans):
            self._put(tree, span.key, f"{_SLOT}{count + number}{_SLOT}")
        count += len(self.spans)
        for number, each in enumerate(self.derived):
            if each.key is not None:
                self._put(tree, each.key, f"{_SLOT}{count + number}{_SLOT}")
        text = "".join(f"{toml(key)} = {toml(value)}\n" for key, value in tree.items())
        pieces = re.split(f'"{_SLOT}(\\d+){_SLOT}"', text)
        made = pieces[::2], [int(each) for each in pieces[1::2]]
        self._templates[named] = made
        return made

    def _put(self, tree: dict[str, Any], key: str, value: str) -> None:
        try:
            put(tree, key.split("."), value)
        except (AttributeError, TypeError):
            parent = key.rpartition(".")[0]
            table = "grid" if any(each.key == key for each in self.axes) else "derived"
            table = "latin_hypercube" if any(each.key == key for each in self.spans) else table
            raise self.node.refuse(
                f"{key}: {parent} of the scenario is a value, not a table", table,
                *(("keys",) if table == "latin_hypercube" else ()), key,
            ) from None  # fmt: skip

    # --- checks --------------------------------------------------------------------------------

    def check(self) -> None:
        """Tries each value of each axis once, with the first values of the others.

        Raises:
            InputError: With the line of the value that is not valid.
        """
        measured = pl.DataFrame(run_batch([]).flows())
        known = [name for name, kind in measured.schema.items() if kind.is_numeric()]
        for name in self.figures:
            if name not in known:
                raise self.node.refuse(
                    f"figures: there is no measurement {name}{nearest(name, known)}", "figures"
                )
        if self.baseline:
            try:
                against.column(self, self.baseline)
            except InputError as error:
                raise self.node.refuse(str(error), "baseline") from error
        first = [0] * len(self.shape)
        self._try(first, None)
        for number, axis in enumerate(self.axes):
            for place in range(1, len(axis.values)):
                places = [*first]
                places[number] = place
                self._try(places, (number, place))

    def _try(self, places: list[int], culprit: tuple[int, int] | None) -> None:
        text, _ = self._text(tuple(places))
        try:
            self.parse(text)
        except InputError as error:
            reason = _PLACE.sub("", str(error))
            raise self._refused(reason, culprit) from error

    def _refused(self, reason: str, culprit: tuple[int, int] | None) -> InputError:
        """The error of a scenario, at the line in the sweep that caused it."""
        if culprit is not None:
            axis = self.axes[culprit[0]]
            grid = self.node.table("grid")
            value = axis.values[culprit[1]]
            reason = reason.removeprefix(f"{axis.key.rpartition('.')[2]} = {value.text}: ")
            if axis.named:
                return grid.refuse(f"{axis.key}, {value.label}: {reason}", axis.key, value.label)  # type: ignore[arg-type]
            below = (
                (axis.key, culprit[1]) if isinstance(grid.value[axis.key], list) else (axis.key,)
            )
            return grid.refuse(f"{axis.key} = {value.label}: {reason}", *below)
        word = re.match(r'unknown key "?([\w.-]+)|([\w.-]+) = ', reason)
        key = (word[1] or word[2]) if word else None
        for table, keys in (
            ("grid", [axis.key for axis in self.axes]),
            ("derived", [each.key for each in self.derived if each.key]),
        ):
            for each in keys:
                if key is not None and key in each.split("."):
                    return self.node.refuse(f"{each}: {reason}", table, each)
        for span in self.spans:
            if key is not None and key in span.key.split("."):
                return self.node.refuse(
                    f"{span.key}: {reason}", "latin_hypercube", "keys", span.key
                )
        steps = next(_below(self.base, key), ()) if key is not None else ()
        return self.node.refuse(f"the scenario: {reason}", "scenario", *steps)


def parse(text: str, folder: str, seed: int) -> Scenario:
    """The scenario of a point from its text, with one run."""
    made = stacks.read(text, name="sweep", folder=folder)
    return made.with_runs(runs=1, seed=seed)


def _file(tree: Mapping[str, Any]) -> str:
    """A scenario as TOML with a line for each key."""

    def lines(table: Mapping[str, Any]) -> str:
        return "".join(
            f"{key if re.fullmatch(r'[A-Za-z0-9_-]+', key) else toml(key)} = {toml(value)}\n"
            for key, value in table.items()
        )

    def is_tables(value: object) -> bool:
        return isinstance(value, list) and all(isinstance(each, dict) for each in value)

    plain = {key: value for key, value in tree.items()
             if not isinstance(value, dict) and not is_tables(value)}  # fmt: skip
    made = [lines(plain)]
    for key, value in tree.items():
        if isinstance(value, dict):
            made.append(f"[{key}]\n{lines(value)}")
        elif is_tables(value):
            made += [f"[[{key}]]\n{lines(each)}" for each in value]
    return "\n".join(made)


def _below(tree: object, key: str) -> Iterator[tuple[str | int, ...]]:
    """Where ``key`` is in a tree."""
    parts: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(tree, Mapping):
        if key in tree:
            yield (key,)
        parts = iter(tree.items())
    elif isinstance(tree, list):
        parts = iter(enumerate(tree))
    for step, inside in parts:
        for steps in _below(inside, key):
            yield (step, *steps)


def _base(node: Node, folder: Path) -> dict[str, Any]:
    """The base scenario: a table, or the name of a file."""
    if isinstance(node.value["scenario"], str):
        file = folder / node.value["scenario"]
        try:
            tree = dict(Node.read(file).value)
        except InputError as error:
            raise node.refuse(f"scenario: {error}", "scenario") from error
        for key in ("runs", "seed"):
            tree.pop(key, None)
        return tree
    return dict(node.table("scenario").value)


def _labelled(
    node: Node, axes: tuple[Axis, ...], base: Mapping[str, Any]
) -> tuple[dict[str, str], tuple[Axis, ...]]:
    """``[labels]``: the label of each algorithm by its canonical name, and the axes with labels."""
    if not node.value:
        return {}, axes
    flows = base.get("flow")
    tables = [each for each in flows if isinstance(each, dict)] if isinstance(flows, list) else []
    there = [each["algorithm"] for each in tables if isinstance(each.get("algorithm"), str)]
    swept = [axis for axis in axes if axis.key.split(".")[-1] == "algorithm" and not axis.named]
    there += [str(value.label) for axis in swept for value in axis.values]
    try:
        names = {each: labels.canonical(each) for each in dict.fromkeys(there)}
        shown = labels.by_name(node.value, names.values())
    except InputError as error:
        raise node.refuse(str(error)) from error
    made = []
    for axis in axes:
        if axis in swept:
            words = [shown.get(names[str(value.label)], value.label) for value in axis.values]
            values = [
                replace(value, label=word) for value, word in zip(axis.values, words, strict=True)
            ]
            axis = replace(axis, values=tuple(values))
        made.append(axis)
    return shown, tuple(made)


def _number(tree: object, key: str) -> float | None:
    """The number at a dotted key of the base, in the first table of a list."""
    for step in key.split("."):
        if isinstance(tree, list):
            tree = tree[0] if tree else None
        if not isinstance(tree, Mapping) or step not in tree:
            return None
        tree = tree[step]
    found = quantities.read(tree)
    return None if found is None else found.value


def _read_derived(
    node: Node, axes: Sequence[Axis], spans: Sequence[Span], base: Mapping[str, Any]
) -> tuple[Derived, ...]:
    """``[derived]``: keys and columns, each a formula, in order."""
    known = {axis.name for axis in axes if axis.unit is not None}
    known |= {axis.key for axis in axes if axis.unit is not None}
    known |= {span.name for span in spans} | {span.key for span in spans}
    taken = {axis.key for axis in axes} | {span.key for span in spans}
    names = {each.name for each in axes} | {each.name for each in spans}
    made: list[Derived] = []
    for key in node.value:
        if isinstance(node.value[key], str):
            text, unit = node.text(key), ""
        else:
            table = node.table(key)
            table.only("value", "unit")
            text, unit = table.text("value"), table.text("unit", "none")
            unit = "" if unit == "none" else unit
            if unit and quantities.read(f"1 {unit}") is None:
                raise table.refuse(f'"{unit}" is not a unit', "unit")
        if key in taken:
            raise node.refuse(f"{key} is swept, so it cannot be derived", key)
        name = name_of(key, [*taken, key]) if "." in key else key
        if name in names:
            raise node.refuse(f"{name} is the name of an axis", key)
        if not name.isidentifier():
            raise node.refuse(f"{name} is not a name of letters, digits and _", key)
        try:
            formula = Expression(
                text,
                lambda word: word in known or _number(base, word) is not None,
                sorted(known),
            )
        except InputError as error:
            raise node.refuse(f"{key}: {error}", key) from None
        made.append(Derived(name, key if "." in key else None, formula, unit))
        known.add(name)
        names.add(name)
    return tuple(made)
