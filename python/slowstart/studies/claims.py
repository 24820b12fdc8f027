"""A study's claims, and the verdict on each.

A claim is a published number or statement: its place in the publication, our wording, how it is
measured (runs, metric, statistic, comparison), and which values agree with it. The tolerance is set
from the publication before any run. A verdict is ``agrees``, ``differs`` or ``cannot-test``;
``differs`` is a result, not a failure.

If the expected range has two ends, the measured value has to lie in it. A claim about an order (one
end) agrees only if the whole confidence interval lies on the claimed side.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slowstart.studies import measures
from slowstart.studies.bands import Expected, plain, read_expected
from slowstart.studies.estimates import Estimate, holm
from slowstart.studies.evidence import Explanation, read_explanation
from slowstart.studies.files import nearest
from slowstart.studies.measures import Known, Measure, read_measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Rows

AGREES, DIFFERS, CANNOT_TEST = "agrees", "differs", "cannot-test"
_NO_RANGE = "the claim has no expected range"
_KEYS = (
    *measures.KEYS, "id", "where", "words", "unit", "expected", "published", "reason", "decide",
    "cannot_test", "explanation", "explanation_of", "evidence",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Claim(Measure):
    """A published number or statement."""

    name: str
    where: str
    words: str
    unit: str
    expected: Expected | None
    published: float | None
    reason: str
    certain: bool
    """Whether the whole interval has to lie in the range, not the value alone."""
    cannot_test: str | None
    explanation: Explanation = field(default_factory=Explanation)
    """The explanation of a difference, if one was found."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim for one stack."""

    claim: Claim
    stack: Stack
    word: str
    reason: str
    estimate: Estimate | None = None
    p_adjusted: float | None = None


# --- reading -------------------------------------------------------------------------------------


def read_claim(node: Node, known: Known, earlier: Mapping[str, Claim]) -> Claim:
    """Reads ``[[claim]]``.

    Args:
        node: The table.
        known: The names that the study defines.
        earlier: The claims above it.

    Raises:
        InputError: With file and line.
    """
    node.only(*_KEYS)
    cannot_test = node.text("cannot_test") if node.has("cannot_test") else None
    measure = read_measure(node, known, needed=cannot_test is None)
    expected = read_expected(node) if node.has("expected") else None
    if cannot_test is None:
        node.need("expected")
        node.need("reason")
    one_end = expected is not None and (expected.low is None or expected.high is None)
    decide = node.choice("decide", ("value", "interval"), "interval" if one_end else "value")
    published = None if expected is None else expected.value
    if node.has("published"):
        published = node.number("published")
    if node.has("explanation_of"):
        other = node.text("explanation_of")
        if other not in earlier or not earlier[other].explanation.words:
            those = [name for name, each in earlier.items() if each.explanation.words]
            message = f"no claim {other} above has an explanation{nearest(other, those)}"
            raise node.refuse(message, "explanation_of")
        if node.has("explanation"):
            raise node.refuse("give explanation or explanation_of, not both", "explanation_of")
        explanation = earlier[other].explanation
    else:
        explanation = read_explanation(node, measure, known)
    return Claim(
        **vars(measure),
        name=node.text("id"),
        where=node.text("where"),
        words=node.text("words"),
        unit=node.text("unit", "-").strip("-"),
        expected=expected,
        published=published,
        reason=node.text("reason", "-").strip("-"),
        certain=decide == "interval",
        cannot_test=cannot_test,
        explanation=explanation,
    )


# --- the verdict ---------------------------------------------------------------------------------


def judge(claims: Sequence[Claim], rows: Rows, stack: Stack) -> list[Verdict]:
    """The verdicts for a stack, with p-values adjusted within each experiment."""
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
        return Verdict(claim, stack, CANNOT_TEST, claim.cannot_test or _NO_RANGE)
    missing = claim.missing(rows, stack)
    if missing is not None:
        return Verdict(claim, stack, CANNOT_TEST, missing)
    found = claim.take(rows, stack)
    if found is None:
        return Verdict(claim, stack, CANNOT_TEST, "no run has a value for this")
    return decide(claim, found, stack)


def decide(claim: Claim, found: Estimate, stack: Stack) -> Verdict:
    """Whether the measured estimate agrees with the claim."""
    expected = claim.expected
    if expected is None:
        return Verdict(claim, stack, CANNOT_TEST, _NO_RANGE, found)
    ends: list[float] = [found.value]
    if found.low is not None and found.high is not None:
        ends += [found.low, found.high]
    inside = [expected.holds(end) for end in ends]
    agrees = all(inside) if claim.certain else inside[0]
    band = expected.words(claim.unit)
    if agrees:
        reason = f"{band}, as claimed" if claim.certain else f"within {band}"
        if not all(inside):
            reason += "; the interval extends beyond, so more runs could change the verdict"
    elif inside[0]:
        reason = f"{band} is not certain: the interval extends beyond"
    else:
        bound = expected.high if expected.high is not None and found.value > expected.high else None
        edge = bound if bound is not None else expected.low
        side = "above" if bound is not None else "below"
        reason = f"{side} {plain(edge or 0.0)}{' ' + claim.unit if claim.unit else ''}"
        if any(inside[1:]):
            reason += "; the interval overlaps the expected range"
    if found.missing:
        reason += f"; {found.missing} rows without a value"
    return Verdict(claim, stack, AGREES if agrees else DIFFERS, reason, found)
