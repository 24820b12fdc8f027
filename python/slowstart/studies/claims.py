"""A study's claims, and the verdict on each.

A claim is a published number or statement: its place in the publication, our wording, how it is
measured (runs, metric, statistic, comparison), and which values agree with it. The tolerance is set
from the publication before any run. ``differs`` is a result, not a failure.

If the expected range has two ends, the measured value has to lie in it. A claim about an order (one
end) agrees only if the whole confidence interval lies on the claimed side. A claim that does not
agree differs if chance does not explain the distance (:meth:`Expected.refutes`); otherwise it is
``undecided``, and the verdict says about how many runs would decide.

A claim about a calibrated network is judged at every point that is tested of those that the
published baseline allows (:mod:`slowstart.studies.calibration`). It agrees or differs if it does so
at all of them. Otherwise the publication does not decide it: ``not-identified``. The same holds for
a number whose function gives its range over all that the publication allows (``Estimate.reach``).

Only independent claims enter the totals (:data:`STANDINGS`), and the totals count published
numbers: claims with the same ``number`` count once (:func:`by_number`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from slowstart.studies import measures
from slowstart.studies.bands import Expected, plain, read_expected
from slowstart.studies.estimates import Estimate, holm
from slowstart.studies.evidence import Explanation, read_explanation
from slowstart.studies.files import nearest
from slowstart.studies.measures import Known, Measure, read_measure
from slowstart.studies.seals import seal_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.files import Node
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Rows
    from slowstart.studies.plan import Experiment

AGREES, DIFFERS, CANNOT_TEST = "agrees", "differs", "cannot-test"
UNDECIDED, NOT_IDENTIFIED = "undecided", "not-identified"
WORDS = (AGREES, DIFFERS, UNDECIDED, NOT_IDENTIFIED, CANNOT_TEST)
_JUDGED = (AGREES, DIFFERS, UNDECIDED)
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
    "cannot_test", "explanation", "explanation_of", "evidence", "argument", "standing",
    "standing_reason", "number",
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
    number: str = ""
    """The published number or statement that it judges; claims that share one count once."""
    seal: str = ""
    """A hash of what it claims and how it is judged (:mod:`slowstart.studies.seals`)."""


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
    weight: float | None = None
    """The part of the calibrated set's weight that is nearest to the points at which it agrees."""
    runs_to_decide: int | None = None
    """Of an undecided claim: about how many runs would decide it, if the value stayed."""


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
        number=node.text("number", node.text("id")),
        seal=seal_of(node.value),
    )


def count_once(
    claim: Claim, seen: dict[Any, Claim], plans: Mapping[str, Experiment], node: Node
) -> None:
    """Notes what an independent claim measures, and refuses it if one above measures the same.

    Two claims about the same runs would count one number twice, unless they share its ``number``.

    Raises:
        InputError: With file and line.
    """
    if claim.standing != INDEPENDENT or claim.cannot_test is not None:
        return
    other = seen.setdefault(claim.identity(plans), claim)
    if other.number != claim.number:
        message = (
            f"{claim.name} measures the same runs as {other.name} in the same way: give both the "
            'same number = "...", or one of them the standing "duplicate"'
        )
        raise node.refuse(message, "id")


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
    needed = None
    if agrees:
        word = AGREES
        reason = f"{band}, as claimed" if claim.certain else f"within {band}"
        if not all(inside):
            reason += "; the interval extends beyond, so more runs could change the verdict"
    elif not claim.expected.refutes(found):
        word = UNDECIDED
        needed = claim.expected.runs_to_decide(found)
        where = "the interval extends beyond" if inside[0] else "chance explains the distance"
        reason = f"{band} is not certain: {where}; {_would_decide(needed)}"
    else:
        word = DIFFERS
        bound = expected.high if expected.high is not None and found.value > expected.high else None
        edge = bound if bound is not None else expected.low
        side = "above" if bound is not None else "below"
        reason = f"{side} {plain(edge or 0.0)}{' ' + claim.unit if claim.unit else ''}"
    if found.missing:
        reason += f"; {found.missing} rows without a value"
    if found.censored:
        reason += (
            f"; {found.censored} rows count as at least the limit of {plain(claim.limit or 0)}"
        )
    verdict = Verdict(
        claim, stack, word, reason, found, expected=expected, agreeing=int(agrees),
        low=found.value, high=found.value, runs_to_decide=needed,
    )  # fmt: skip
    return verdict if found.reach is None else over_range(verdict, found.reach)


def without_verdict(verdict: Verdict, reason: str) -> Verdict:
    """What was measured, without a verdict on it."""
    if verdict.estimate is None:
        return verdict
    return replace(verdict, word=CANNOT_TEST, reason=reason, agreeing=0, runs_to_decide=None)


def _would_decide(needed: int | None) -> str:
    """How many runs an undecided claim needs, in words; two digits, because it is a guess."""
    if needed is None:
        return "no number of runs here would decide"
    digits = 10 ** max(0, len(str(needed)) - 2)
    return f"about {plain(math.ceil(needed / digits) * digits)} runs would decide"


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
    elif chosen.word == UNDECIDED and (all(inside) or apart):
        word, reason = UNDECIDED, f"{chosen.reason}; so over all that is allowed: {span}"
    else:
        word = NOT_IDENTIFIED
        reason = f"what the publication leaves open allows {span}; at the chosen point: "
        reason += chosen.reason
    return replace(
        chosen, word=word, reason=reason, points=2, agreeing=sum(inside), low=low, high=high
    )


def over_points(
    chosen: Verdict, others: Mapping[str, Verdict], shares: Mapping[str, float] | None = None
) -> Verdict:
    """The verdict over what the publication leaves open: ``chosen`` and ``others``, by their words.

    ``shares`` are the parts of a calibrated set's weight that are nearest to these points; that of
    the chosen point has the key "". A point at which the claim has no value is left out. An
    undecided point contradicts no other: with points that all agree, or all differ, the claim is
    undecided.
    """
    judged = {
        words: each for words, each in others.items() if each.word in _JUDGED and each.estimate
    }
    if chosen.word not in _JUDGED or not judged:
        return chosen
    every = [chosen, *judged.values()]
    words = {each.word for each in every}
    values = [each.estimate.value for each in every if each.estimate]
    agreeing = sum(each.word == AGREES for each in every)
    low, high = min(values), max(values)
    unit = f" {chosen.claim.unit}" if chosen.claim.unit else ""
    span = f"{plain(low)} to {plain(high)}{unit}"
    weight = None
    if shares is not None and set(judged) <= set(shares):
        known = {"": chosen, **judged}
        total = sum(shares[name] for name in known)
        weight = sum(shares[name] for name, each in known.items() if each.word == AGREES) / total
    if len(words) == 1:
        word = chosen.word
        reason = f"{chosen.reason}; so at all {len(every)} points that are left open: {span}"
    elif not {AGREES, DIFFERS} <= words:
        unclear = sum(each.word == UNDECIDED for each in every)
        word = UNDECIDED
        reason = (
            f"undecided at {unclear} of {len(every)} points that the publication leaves open: "
            f"{span}; at the chosen one: {chosen.reason}"
        )
    else:
        word = NOT_IDENTIFIED
        turning = [
            name for name, each in judged.items() if each.word in (AGREES, DIFFERS)
            and each.word != chosen.word
        ]  # fmt: skip
        weighed = "" if weight is None else f" ({weight:.0%} of the weight)"
        reason = (
            f"agrees at {agreeing} of {len(every)} points that the publication leaves open"
            f"{weighed}: {span}; at the chosen one: {chosen.reason}; otherwise at: "
            f"{', '.join(turning)}"
        )
    return replace(
        chosen, word=word, reason=reason, points=len(every), agreeing=agreeing, low=low, high=high,
        weight=weight,
    )  # fmt: skip


def by_number(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """The word for each published number that independent claims judge on one stack.

    Numbers whose measured value is the same (:func:`measured_once`) count as the first of them. A
    number agrees if every claim about it does, as far as it can be tested. Otherwise the word of
    the claim that is farthest from agreeing stands.
    """
    first = {name: those[0] for those in measured_once(verdicts) for name in those}
    words: dict[str, list[str]] = {}
    for each in verdicts:
        if each.claim.standing == INDEPENDENT:
            number = first.get(each.claim.number, each.claim.number)
            words.setdefault(number, []).append(each.word)
    farthest = (DIFFERS, NOT_IDENTIFIED, UNDECIDED, AGREES, CANNOT_TEST)
    return {number: min(those, key=farthest.index) for number, those in words.items()}


def measured_once(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """The numbers that rest on one measurement, in groups of at least two.

    Two measurements do not agree in every digit of the value and of both ends of its interval by
    chance. Shares, places and values without an interval are left out: these have few values.
    """
    groups: dict[tuple[float, float, float, int], dict[str, None]] = {}
    for each in verdicts:
        found, claim = each.estimate, each.claim
        if claim.standing != INDEPENDENT or found is None:
            continue
        if found.low is None or found.high is None or found.low == found.high:
            continue
        if found.confidence is None:
            continue
        if claim.statistic == "share" and claim.function is None:
            continue
        key = (found.value, found.low, found.high, found.runs)
        groups.setdefault(key, {})[claim.number] = None
    return [list(those) for those in groups.values() if len(those) > 1]
