"""A study's claims, and the verdict on each.

A claim is a published number or statement: its place in the publication, our wording, how it is
measured (runs, metric, statistic, comparison), and which values agree with it. The tolerance is set
from the publication before any run. A verdict is ``agrees``, ``differs`` or ``cannot-test``;
``differs`` is a result, not a failure.

If the expected range has two ends, the measured value has to lie in it. A claim about an order (one
end) agrees only if the whole confidence interval lies on the claimed side.

A claim about a calibrated network is judged at every point that is tested of those that the
published baseline allows (:mod:`slowstart.studies.calibration`). It agrees or differs if it does so
at all of them. Otherwise the publication does not decide it: ``not-identified``. The same holds for
a number whose function gives its range over all that the publication allows (``Estimate.reach``).

Only independent claims enter the totals (:data:`STANDINGS`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slowstart.studies import measures
from slowstart.studies.bands import Expected, plain, read_expected
from slowstart.studies.estimates import Estimate, holm
from slowstart.studies.evidence import Explanation, read_explanation
from slowstart.studies.files import nearest
from slowstart.studies.measures import Known, Measure, read_measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Rows

AGREES, DIFFERS, CANNOT_TEST = "agrees", "differs", "cannot-test"
NOT_IDENTIFIED = "not-identified"
WORDS = (AGREES, DIFFERS, NOT_IDENTIFIED, CANNOT_TEST)
INDEPENDENT = "independent"
STANDINGS = {
    INDEPENDENT: "a prediction",
    "target": "the network was calibrated to it",
    "duplicate": "another claim judges the same published number",
    "construction": "true of any model of this kind",
    "own": "not of the publication: our own statement",
}
"""What a claim is worth as evidence; all but the first leave the totals."""
_NO_RANGE = "the claim has no expected range"
_KEYS = (
    *measures.KEYS, "id", "where", "words", "unit", "expected", "published", "reason", "decide",
    "cannot_test", "explanation", "explanation_of", "evidence", "standing", "standing_reason",
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
    standing: str = INDEPENDENT
    standing_reason: str = ""
    """Why it is not independent."""
    seal: str = ""
    """A hash of what it claims and how it is judged (:func:`seal_of`)."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim for one stack."""

    claim: Claim
    stack: Stack
    word: str
    reason: str
    estimate: Estimate | None = None
    p_adjusted: float | None = None
    expected: Expected | None = None
    """The range that the value was compared with."""
    points: int = 1
    """The number of allowed points at which the claim was judged; of a range, its two ends."""
    agreeing: int = 0
    """At how many of them it agrees."""
    low: float | None = None
    high: float | None = None
    """The smallest and the largest value over the points."""


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
        standing=node.choice("standing", tuple(STANDINGS), INDEPENDENT),
        standing_reason=node.text("standing_reason", "-").strip("-"),
        seal=seal_of(node.value),
    )


_SEALED = (
    *measures.KEYS, "unit", "expected", "published", "decide", "where", "cannot_test",
)  # fmt: skip


def seal_of(table: Mapping[str, Any]) -> str:
    """A SHA-256 of a claim's place, measure and tolerance.

    ``claims.lock`` of a study keeps it from before the claim's first run, so that a later change
    of any of these is seen. Wording, explanation and standing are not part of it.
    """
    sealed = {key: table[key] for key in sorted(_SEALED) if key in table}
    text = json.dumps(sealed, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_lock(claims: Sequence[Claim], file: Path, *, write: bool = False) -> list[str]:
    """What differs between claims and their seals in ``claims.lock``; empty if nothing does.

    With ``write``, claims that have no seal yet get one. A seal that differs stays: whoever changes
    a measure or a tolerance deletes its line, so that the change is seen in review.
    """
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    sealed = dict(line.split() for line in lines if line and not line.startswith("#"))
    changed = [
        f"{each.name} is not what was sealed"
        for each in claims
        if each.name in sealed and sealed[each.name] != each.seal
    ]
    fresh = [each for each in claims if each.name not in sealed]
    names = {each.name for each in claims}
    gone = [f"{name} was sealed and is gone" for name in sealed if name not in names]
    if write and fresh:
        added = [f"{each.name} {each.seal}" for each in fresh]
        head = lines or [
            "# SHA-256 of each claim's place, measure and tolerance, from before its first run."
        ]
        file.write_text("\n".join([*head, *added]) + "\n", encoding="utf-8")
        fresh = []
    return [*changed, *gone, *(f"{each.name} is not sealed" for each in fresh)]


# --- the verdict ---------------------------------------------------------------------------------


def judge(claims: Sequence[Claim], rows: Rows, stack: Stack) -> list[Verdict]:
    """The verdicts for a stack, with p-values adjusted within each experiment."""
    verdicts = [verdict_on(claim, rows, stack) for claim in claims]
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


def verdict_on(claim: Claim, rows: Rows, stack: Stack) -> Verdict:
    """The verdict on one claim."""
    if claim.cannot_test is not None or claim.expected is None:
        return Verdict(claim, stack, CANNOT_TEST, claim.cannot_test or _NO_RANGE)
    missing = claim.missing(rows, stack)
    if missing is not None:
        return Verdict(claim, stack, CANNOT_TEST, missing)
    found = claim.take(rows, stack)
    if found is None:
        beyond = "" if claim.limit is None else ", or more runs end at the limit than its statistic"
        return Verdict(claim, stack, CANNOT_TEST, f"no run has a value for this{beyond}")
    return decide(claim, found, stack)


def decide(claim: Claim, found: Estimate, stack: Stack) -> Verdict:
    """Whether the measured estimate agrees with the claim."""
    if claim.expected is None:
        return Verdict(claim, stack, CANNOT_TEST, _NO_RANGE, found)
    expected = claim.expected.beside(found.low, found.high)
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
    if found.censored:
        reason += (
            f"; {found.censored} rows count as at least the limit of {plain(claim.limit or 0)}"
        )
    word = AGREES if agrees else DIFFERS
    verdict = Verdict(
        claim, stack, word, reason, found, expected=expected, agreeing=int(agrees),
        low=found.value, high=found.value,
    )  # fmt: skip
    return verdict if found.reach is None else over_range(verdict, found.reach)


def over_range(chosen: Verdict, reach: tuple[float, float]) -> Verdict:
    """The verdict over a range of values that the publication allows."""
    if chosen.expected is None:
        return chosen
    low, high = reach
    band = chosen.expected
    inside = [band.holds(end) for end in reach]
    apart = (band.low is not None and high < band.low) or (
        band.high is not None and low > band.high
    )
    unit = f" {chosen.claim.unit}" if chosen.claim.unit else ""
    span = f"{plain(low)} to {plain(high)}{unit}"
    if all(inside) and chosen.word == AGREES:
        word, reason = AGREES, f"{chosen.reason}; so over all that is allowed: {span}"
    elif apart and chosen.word == DIFFERS:
        word, reason = DIFFERS, f"{chosen.reason}; so over all that is allowed: {span}"
    else:
        word = NOT_IDENTIFIED
        reason = f"what the publication leaves open allows {span}; at the chosen point: "
        reason += chosen.reason
    return replace(
        chosen, word=word, reason=reason, points=2, agreeing=sum(inside), low=low, high=high
    )


def over_points(chosen: Verdict, others: Sequence[Verdict]) -> Verdict:
    """The verdict over the points that the baseline allows: ``chosen`` and ``others``.

    A point at which the claim has no value is left out.
    """
    judged = [each for each in others if each.word in (AGREES, DIFFERS) and each.estimate]
    if chosen.word not in (AGREES, DIFFERS) or not judged:
        return chosen
    every = [chosen, *judged]
    values = [each.estimate.value for each in every if each.estimate]
    agreeing = sum(each.word == AGREES for each in every)
    low, high = min(values), max(values)
    unit = f" {chosen.claim.unit}" if chosen.claim.unit else ""
    span = f"{plain(low)} to {plain(high)}{unit}"
    if agreeing in (0, len(every)):
        word = chosen.word
        reason = f"{chosen.reason}; so at all {len(every)} points of the allowed set: {span}"
    else:
        word = NOT_IDENTIFIED
        reason = (
            f"agrees at {agreeing} of {len(every)} points that the published baseline allows: "
            f"{span}; at the chosen one: {chosen.reason}"
        )
    return replace(
        chosen, word=word, reason=reason, points=len(every), agreeing=agreeing, low=low, high=high
    )
