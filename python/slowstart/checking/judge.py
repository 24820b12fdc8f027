"""Decides whether each rule holds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from slowstart._native import median_interval
from slowstart.checking.kinds import KINDS, METRICS, NEVER, OTHERS, SHARES, Sample
from slowstart.errors import InputError
from slowstart.report.tables import number, rate, seconds, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slowstart.checking.baseline import Baseline
    from slowstart.checking.kinds import Metric
    from slowstart.checking.rules import Case, Rule, Suite
    from slowstart.checking.runs import Job, Outcome

# Stands for what never happened among the numbers of an interval, which are finite.
_HUGE = 1e300
_DIGITS = 5


@dataclass(frozen=True)
class Measured:
    """A measurement of all flows under test in all runs of a case."""

    value: float
    low: float | None
    """The 95 % interval of the median; ``None`` for fewer than six flows, and where all agree."""
    high: float | None
    count: int


@dataclass(frozen=True)
class Verdict:
    """Whether a rule holds, or why it was not tested."""

    case: str
    source: str
    line: int
    outcome: str
    """``passed``, ``failed`` or ``skipped``."""
    sentence: str
    """What the rule demands, and what was measured; or why it was skipped."""
    rule: str = ""
    stack: str = ""
    version: str = ""
    algorithm: str = ""
    value: float | None = None
    limit: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0

    @property
    def text(self) -> str:
        """One line."""
        who = f" ({self.stack}, {self.algorithm})" if self.stack else ""
        return f"{self.outcome:<8}{self.case}{who}: {self.sentence}"


def amount(value: float, unit: str) -> str:
    """A value with its unit."""
    if math.isinf(value):
        return "never"
    if unit == "s":
        return seconds(value, _DIGITS)
    if unit == "bit/s":
        return rate(value, _DIGITS)
    if unit == "B":
        return "0 B" if value == 0 else size(value, _DIGITS)
    if unit == "1":
        return f"{number(100 * value, 4)} %"
    text = f"{value:.0f}" if value == int(value) else number(value, 4)
    return f"{text} {unit}".rstrip()


def values(outcome: Outcome, metric: Metric) -> list[float | None]:
    """The measurement of each flow under test in each run."""
    resolved = outcome.job.scenario.resolved
    return [metric.of(Sample(flow, run, resolved)) for flow, run in outcome.flows]


def measured(found: Sequence[float], metric: Metric, statistic: str) -> Measured:
    """The median, or the worst value; of a share, the mean."""
    if metric.name in SHARES:
        return Measured(fmean(found), None, None, len(found))
    if statistic != "median":
        worst = max(found) if statistic == "greatest" else min(found)
        return Measured(worst, None, None, len(found))
    middle, low, high = median_interval([min(each, _HUGE) for each in found])
    return Measured(_never(middle) or 0.0, _never(low), _never(high), len(found))


def _never(value: float | None) -> float | None:
    return NEVER if value is not None and value >= _HUGE / 2 else value


def judge(suite: Suite, outcomes: Sequence[Outcome], baseline: Baseline | None) -> list[Verdict]:
    """The verdict on each rule, in the order of the file.

    Raises:
        InputError: The baseline does not belong to the suite.
    """
    by_case: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.job.case.name, []).append(outcome)
    found = []
    for case in suite.cases:
        if case.skip:
            found.append(_skipped(case, case.skip))
            continue
        why = f"it is meant for {', '.join(case.only)}"
        found += [_skipped(case, why, each) for each in case.stacks if not case.runs_on(each)]
        for outcome in by_case.get(case.name, ()):
            found += [_one(outcome, rule, baseline) for rule in case.rules]
    return found


def _skipped(case: Case, why: str, stack: str = "") -> Verdict:
    shown = f"not run on {stack}: {why}" if stack else why
    return Verdict(case.name, case.source, case.node.line(), "skipped", shown)


def _one(outcome: Outcome, rule: Rule, baseline: Baseline | None) -> Verdict:
    if rule.key in KINDS:
        return _limited(outcome, rule)
    if rule.key == "not_worse" and baseline is not None:
        return _compared(outcome, rule, baseline)
    flows = [flow for flow, _ in outcome.flows]
    if rule.key == "completes":
        good = sum(flow["completed"] for flow in flows)
        closed = next((flow["closed"] for flow in flows if flow.get("closed")), None)
        why = f"; closed: {closed}" if closed else ""
        return _verdict(outcome, rule, OTHERS[rule.key], good == len(flows),
                        f"{good} of {len(flows)} flows{why}")  # fmt: skip
    reasons = [(flow["slow_start_exit"] or {}).get("reason") for flow in flows]
    counted = Counter(each or "no exit" for each in reasons)
    text = ", ".join(f"{name} {count} of {len(flows)}" for name, count in sorted(counted.items()))
    if rule.key == "leaves_slow_start":
        demand = OTHERS[rule.key] if rule.expected else "stays in slow start"
        good = all((each is not None) == rule.expected for each in reasons)
    else:
        demand = OTHERS[rule.key].format(" or ".join(rule.words))
        good = all(each in rule.words for each in reasons)
    return _verdict(outcome, rule, demand, good, text)


def _verdict(
    outcome: Outcome,
    rule: Rule,
    demand: str,
    passed: bool,
    text: str,
    number: Measured | None = None,
    limit: float | None = None,
) -> Verdict:
    job = outcome.job
    return Verdict(
        job.case.name,
        job.case.source,
        rule.line,
        "passed" if passed else "failed",
        f"{demand}: {text}",
        rule.key if rule.key != "not_worse" else f"{rule.key} {rule.words[0]}",
        job.stack,
        outcome.version,
        job.algorithm,
        None if number is None else _finite(number.value),
        None if limit is None else _finite(limit),
        None if number is None else _finite(number.low),
        None if number is None else _finite(number.high),
        len(list(outcome.flows)),
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _words(found: Measured, metric: Metric) -> str:
    text = amount(found.value, metric.unit)
    if found.low is None or found.high is None or found.low == found.high:
        return text
    low, high = (amount(each, metric.unit) for each in (found.low, found.high))
    return f"{text} ({low} to {high})"


def _missing(found: Sequence[float | None], metric: Metric) -> str | None:
    missing = sum(each is None for each in found)
    if not missing:
        return None
    what = "without a slow-start exit" if metric.name.startswith("exit") else "without a value"
    return f"{missing} of {len(found)} flows {what}"


def _limited(outcome: Outcome, rule: Rule) -> Verdict:
    kind = KINDS[rule.key]
    metric = METRICS[kind.metric]
    demand = kind.sentence.format(*rule.words)
    every = values(outcome, metric)
    present = [each for each in every if each is not None]
    missing = _missing(every, metric)
    if missing is not None:
        return _verdict(outcome, rule, demand, False, missing)
    at_most = kind.sense == "at most"
    statistic = outcome.job.case.statistic
    if statistic == "worst":
        statistic = "greatest" if at_most else "least"
    found = measured(present, metric, statistic)
    limit = _limit(outcome.job, rule, metric)
    passed = found.value <= limit if at_most else found.value >= limit
    return _verdict(outcome, rule, demand, passed, _words(found, metric), found, limit)


def _limit(job: Job, rule: Rule, metric: Metric) -> float:
    if rule.unit != "bdp":
        return rule.limit
    key = "bdp_packets" if metric.unit == "packets" else "bdp_bytes"
    bdp = job.scenario.resolved["path"].get(key)
    if not bdp:
        raise job.case.node.refuse(f"{rule.key}: the path has no BDP", "rules", rule.key)
    return rule.limit * float(bdp)


def _compared(outcome: Outcome, rule: Rule, baseline: Baseline) -> Verdict:
    (name,) = rule.words
    metric = METRICS[name]
    every = values(outcome, metric)
    present = [each for each in every if each is not None]
    missing = _missing(every, metric)
    entry = baseline.entry(outcome.job, name)
    demand = OTHERS[rule.key].format(metric.words)
    if missing is not None:
        return _verdict(outcome, rule, demand, False, missing)
    found = measured(present, metric, "median")
    lower = metric.better == "lower"
    edge = entry.high if lower else entry.low
    limit = entry.value if edge is None else edge
    slack = outcome.job.case.margin * abs(limit)
    if math.isfinite(slack):
        limit += slack if lower else -slack
    passed = found.value <= limit if lower else found.value >= limit
    bound = "at most" if lower else "at least"
    text = f"{_words(found, metric)}, {bound} {amount(limit, metric.unit)}"
    if entry.algorithm != outcome.job.algorithm:
        text += f" of {entry.algorithm}"
    return _verdict(outcome, rule, demand, passed, text, found, limit)


def recorded(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, Metric, Measured]]:
    """What a baseline records: every measurement in which there is a better and a worse."""
    for outcome in outcomes:
        for metric in METRICS.values():
            found = values(outcome, metric)
            present = [each for each in found if each is not None]
            if metric.better and present and len(present) == len(found):
                yield outcome, metric, measured(present, metric, "median")


def check_baseline(suite: Suite, baseline: Baseline | None) -> None:
    """Rejects rules that need a baseline if there is none.

    Raises:
        InputError: With file and line.
    """
    for case in suite.cases:
        for rule in case.rules:
            if rule.key == "not_worse" and baseline is None:
                raise InputError(
                    f"{suite.file}:{rule.line}: not_worse needs a baseline: make it with "
                    '--record FILE, and name it with baseline = "FILE" or --baseline FILE'
                )


def check_entries(jobs: Sequence[Job], baseline: Baseline) -> None:
    """Rejects a baseline that lacks what the rules of ``jobs`` need.

    Raises:
        InputError: With the case.
    """
    for job in jobs:
        for rule in job.case.rules:
            if rule.key == "not_worse":
                baseline.entry(job, rule.words[0])
