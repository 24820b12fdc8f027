"""Explanations of differences: sentences whose numbers come from the runs.

A number typed into a sentence goes stale when a model changes. So ``{name}`` in a sentence is
evaluated from the study's own runs when the report is written. If the sentence depends on a number,
``expected`` gives the range in which the sentence holds, or the number above or below which it has
to lie; the report states when it does not. A sentence that no run can contradict is an argument.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slowstart.studies import measures
from slowstart.studies.bands import Expected, plain, read_expected
from slowstart.studies.files import nearest
from slowstart.studies.measures import read_elsewhere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.estimates import Estimate
    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Known, Measure, Rows

# Our own format: the number with its confidence interval.
_INTERVAL = "interval"
# What an order may name next to the explanation's evidence: the number of its claim.
_CLAIM = "claim"
_ORDERS = ("above", "below")
_ARGUMENT = " (This is an argument: no number here could contradict it.)"


@dataclass(frozen=True)
class Evidence:
    """A number that an explanation names."""

    measure: Measure
    expected: Expected | None
    """The range in which the explanation holds."""
    orders: Mapping[str, str] = field(default_factory=dict)
    """``above`` and ``below``: the name of the number on whose side it has to lie."""

    @property
    def is_required(self) -> bool:
        """Whether the explanation requires something of it, which a run can contradict."""
        return self.expected is not None or bool(self.orders)


@dataclass(frozen=True)
class Filled:
    """An explanation with its numbers filled in."""

    text: str
    numbers: Mapping[str, Estimate | None]
    """``None`` if nothing was run, or no run has a value."""
    holds: bool
    """Whether every available number lies in its expected range."""


@dataclass(frozen=True)
class Explanation:
    """A sentence and the numbers that it names."""

    words: str = ""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    base: Measure | None = None
    """The number of the claim that it was written for."""
    is_argument: bool = False
    """Whether the study marks it as one that no run can contradict."""

    def fill(self, rows: Rows, stacks: Sequence[Stack]) -> Filled:
        """Fills in each number, from the first stack that has it."""
        shown: dict[str, _Shown] = {}
        numbers: dict[str, Estimate | None] = {}
        wrong = []
        for name, each in self.evidence.items():
            found, instead = _take(each.measure, rows, stacks)
            numbers[name], shown[name] = found, _Shown(found, instead)
            if found is None or each.expected is None:
                continue
            if not each.expected.holds(found.value):
                wrong.append(_violation(found.value, each.expected, self._form(name)))
        wrong += self._out_of_order(numbers, rows, stacks)
        text = self.words.format(**shown)
        if wrong:
            text += f" (In these runs this explanation does not hold: {'; '.join(wrong)}.)"
        return Filled(text + _ARGUMENT * self.is_argument, numbers, not wrong)

    def _out_of_order(
        self, numbers: Mapping[str, Estimate | None], rows: Rows, stacks: Sequence[Stack]
    ) -> list[str]:
        """A sentence for each number that lies on the wrong side of another one."""
        known = dict(numbers)
        if self.base is not None and any(
            _CLAIM in each.orders.values() for each in self.evidence.values()
        ):
            known[_CLAIM] = _take(self.base, rows, stacks)[0]
        wrong = []
        for name, each in self.evidence.items():
            for side, other in each.orders.items():
                found, bound = known[name], known[other]
                if found is None or bound is None:
                    continue
                if (found.value > bound.value) if side == "above" else (found.value < bound.value):
                    continue
                measured, limit = (_formatted(x.value, self._form(name)) for x in (found, bound))
                if measured == limit:  # They differ in digits that the format drops.
                    measured, limit = repr(found.value), repr(bound.value)
                what = "more" if side == "above" else "less"
                wrong.append(f"it requires {what} than {limit}, and {measured} was measured")
        return wrong

    def _form(self, name: str) -> str:
        """The format of a number in the sentence."""
        forms = (form or "" for _, each, form, _ in _parts(self.words) if each == name)
        return next(forms).replace(_INTERVAL, "")


def _take(measure: Measure, rows: Rows, stacks: Sequence[Stack]) -> tuple[Estimate | None, str]:
    """A number from the first stack that has it, and what to write if none does."""
    there = [stack for stack in stacks if measure.missing(rows, stack) is None]
    found = measure.take(rows, there[0]) if there else None
    return found, "(no run has a value)" if there else "(not run)"


def _violation(value: float, expected: Expected, form: str) -> str:
    """What the explanation requires and what was measured, formatted as in the sentence."""
    measured, required = _formatted(value, form), expected.words("", lambda x: _formatted(x, form))
    if f" {measured} " in f" {required} ":  # They differ in digits that the format drops.
        measured, required = repr(value), expected.words("", repr)
    return f"it requires {required}, and {measured} was measured"


@dataclass(frozen=True)
class _Shown:
    """A number in an explanation."""

    found: Estimate | None
    instead: str = ""

    def __format__(self, form: str) -> str:
        found = self.found
        if found is None:
            return self.instead
        if form != _INTERVAL:
            return _formatted(found.value, form)
        text = plain(found.value, 3)
        if found.low is None or found.high is None:
            return text
        return f"{text} [{plain(found.low, 3)}, {plain(found.high, 3)}]"


def _formatted(value: float, form: str) -> str:
    """Python's format, but with a space before ``%``; three digits by default."""
    text = format(value, form) if form else plain(value, 3)
    return f"{text[:-1]} %" if text.endswith("%") else text


def read_explanation(node: Node, base: Measure, known: Known) -> Explanation:
    """Reads ``explanation`` and ``evidence``, which holds exactly the numbers that it names.

    Args:
        node: The claim's table.
        base: The number that the claim is about.
        known: The names that the study defines.

    Raises:
        InputError: With file and line.
    """
    table = node.table("evidence")
    evidence = {name: _read(table.table(name), base, known, table) for name in table.value}
    argument = node.boolean("argument", default=False)
    if not node.has("explanation"):
        if evidence:
            raise node.refuse("evidence needs an explanation that names it", "evidence")
        if argument:
            raise node.refuse("an argument needs an explanation", "argument")
        return Explanation()
    if argument and any(each.is_required for each in evidence.values()):
        message = "evidence with expected can contradict the explanation: it is no argument"
        raise node.refuse(message, "argument")
    words = node.text("explanation")
    named = _named(node, words)
    for name in named:
        if name not in evidence:
            message = f"explanation names {{{name}}}, which is not in evidence"
            raise node.refuse(message, "explanation")
    for name in evidence:
        if name not in named:
            raise node.refuse(f"explanation does not name {{{name}}}", "evidence", name)
    return Explanation(words, evidence, base, argument)


def _parts(words: str) -> list[tuple[Any, ...]]:
    """The literal text, name, format and conversion of each part of a sentence."""
    return list(string.Formatter().parse(words))


def _named(node: Node, words: str) -> list[str]:
    """The names in a sentence."""
    try:
        parts = _parts(words)
    except ValueError as error:
        raise node.refuse(f"explanation: {error}", "explanation") from error
    named = []
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if not name.isidentifier() or conversion:
            message = f"explanation: {{{name}}} is not a name of evidence"
            raise node.refuse(message, "explanation")
        try:
            _formatted(0.5, "" if form == _INTERVAL else str(form))
        except ValueError as error:
            message = f"explanation: {{{name}:{form}}}: {form} is not a number format"
            raise node.refuse(message, "explanation") from error
        named.append(name)
    return named


def _read(node: Node, base: Measure, known: Known, siblings: Node) -> Evidence:
    node.only(*measures.KEYS, "expected")
    measure = read_elsewhere(node, base, known)
    given = node.table("expected")
    orders = {side: given.text(side) for side in _ORDERS if given.has(side)}
    for side, other in orders.items():
        others = [_CLAIM, *(name for name in siblings.value if name != node.steps[-1])]
        if other not in others:
            message = f"there is no other evidence {other}{nearest(other, others)}"
            raise given.refuse(message, side)
    rest = {key: value for key, value in given.value.items() if key not in _ORDERS}
    if not node.has("expected") or (orders and not rest):
        return Evidence(measure, None, orders)
    return Evidence(measure, read_expected(node.as_if({**node.value, "expected": rest})), orders)
