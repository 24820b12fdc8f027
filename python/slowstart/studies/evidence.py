"""Explanations of differences: sentences whose numbers come from the runs.

A number typed into a sentence goes stale when a model changes. So ``{name}`` in a sentence is
evaluated from the study's own runs when the report is written. If the sentence depends on a number,
``expected`` gives the range in which the sentence holds; the report states when it does not.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slowstart.studies import measures
from slowstart.studies.bands import Expected, plain, read_expected
from slowstart.studies.measures import read_elsewhere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.estimates import Estimate
    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Known, Measure, Rows

# Our own format: the number with its confidence interval.
_INTERVAL = "interval"


@dataclass(frozen=True)
class Evidence:
    """A number that an explanation names."""

    measure: Measure
    expected: Expected | None
    """The range in which the explanation holds."""


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

    def fill(self, rows: Rows, stacks: Sequence[Stack]) -> Filled:
        """Fills in each number, from the first stack that has it."""
        shown: dict[str, _Shown] = {}
        numbers: dict[str, Estimate | None] = {}
        wrong = []
        for name, each in self.evidence.items():
            there = [stack for stack in stacks if each.measure.missing(rows, stack) is None]
            found = each.measure.take(rows, there[0]) if there else None
            numbers[name] = found
            if found is None:
                shown[name] = _Shown(None, "(no run has a value)" if there else "(not run)")
                continue
            shown[name] = _Shown(found)
            if each.expected is not None and not each.expected.holds(found.value):
                wrong.append(_violation(found.value, each.expected, self._form(name)))
        text = self.words.format(**shown)
        if wrong:
            text += f" (In these runs this explanation does not hold: {'; '.join(wrong)}.)"
        return Filled(text, numbers, not wrong)

    def _form(self, name: str) -> str:
        """The format of a number in the sentence."""
        forms = (form or "" for _, each, form, _ in _parts(self.words) if each == name)
        return next(forms).replace(_INTERVAL, "")


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
    evidence = {name: _read(table.table(name), base, known) for name in table.value}
    if not node.has("explanation"):
        if evidence:
            raise node.refuse("evidence needs an explanation that names it", "evidence")
        return Explanation()
    words = node.text("explanation")
    named = _named(node, words)
    for name in named:
        if name not in evidence:
            message = f"explanation names {{{name}}}, which is not in evidence"
            raise node.refuse(message, "explanation")
    for name in evidence:
        if name not in named:
            raise node.refuse(f"explanation does not name {{{name}}}", "evidence", name)
    return Explanation(words, evidence)


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


def _read(node: Node, base: Measure, known: Known) -> Evidence:
    node.only(*measures.KEYS, "expected")
    expected = read_expected(node) if node.has("expected") else None
    return Evidence(read_elsewhere(node, base, known), expected)
