"""What a study found: its tables and verdicts, and the result document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart._version import __version__
from slowstart.studies import claims as judging
from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from slowstart.studies.claims import Claim, Verdict
    from slowstart.studies.estimates import Estimate
    from slowstart.studies.evidence import Filled
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Measure
    from slowstart.studies.plan import Cell
    from slowstart.studies.store import Job
    from slowstart.studies.study import Study

# What a claim does, and what several do.
_SAID = {
    judging.AGREES: ("agrees", "agree"),
    judging.DIFFERS: ("differs", "differ"),
    judging.UNDECIDED: ("is undecided", "are undecided"),
    judging.NOT_IDENTIFIED: ("is not identified", "are not identified"),
    judging.CANNOT_TEST: ("cannot be tested", "cannot be tested"),
}
_Key = tuple[str, "Stack"]


@dataclass
class Findings:
    """The findings of a study. Tables are polars data frames."""

    study: Study
    stacks: Sequence[Stack]
    quick: bool
    jobs: Mapping[_Key, Sequence[Job]]
    unsupported: Mapping[tuple[Stack, str, int], str]
    """Cells (stack, experiment, place) that a kernel cannot run, and why."""
    tables: dict[tuple[str, Stack, str], pl.DataFrame] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    over_set: bool = False
    """Whether claims about calibrated networks were judged over the sets that the baseline allows,
    not at the chosen points alone."""
    _explanations: dict[str, Filled] = field(default_factory=dict)
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    def table(self, experiment: str, stack: Stack, table: str = "flows") -> pl.DataFrame:
        """Rows of an experiment: a table of ``TABLES``, ``flow_traces`` or ``link_traces``.

        Further columns are the axes of the grid, ``job``, ``run`` and ``seed``.
        """
        return self.tables.get((experiment, stack, table), pl.DataFrame())

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` returns, made once: a page draws a figure for wide and narrow screens."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def explanation(self, claim: Claim) -> Filled:
        """The explanation of a claim's difference, with the numbers of these runs."""
        if claim.name not in self._explanations:
            self._explanations[claim.name] = claim.explanation.fill(self, self.stacks)
        return self._explanations[claim.name]

    def why_left_out(self, experiment: str, stack: Stack) -> str | None:
        """Why an experiment was left out; ``None`` if it was not."""
        if (experiment, stack) not in self.jobs:
            if self.study.replay is not None and not self.study.experiments[experiment].is_replay:
                return f"the experiment {experiment} does not replay connection vectors"
            return f"the experiment {experiment} was left out"
        if stack not in self.study.experiments[experiment].stacks:
            return f"the experiment {experiment} does not run on the stack {stack}"
        return None

    def why_empty(self, experiment: str, stack: Stack, labels: Mapping[str, Any]) -> str | None:
        """Why cells with these labels were not run; ``None`` if they were."""
        left_out = self.why_left_out(experiment, stack)
        if left_out is not None:
            return left_out
        plan = self.study.experiments[experiment]
        cells = plan.select(labels)
        for cell in cells:
            reason = self.why_not(experiment, cell, stack)
            if reason is not None:
                return reason
        if self.quick and not any(cell.in_quick for cell in cells):
            return "a quick run leaves this out"
        runs = filtered(self.table(experiment, stack, "runs"), labels)
        if not runs.is_empty() and not runs["counts"].any():
            return f"every run failed the timing self-check: {runs['reasons'].drop_nulls()[0]}"
        return None

    def why_not(self, experiment: str, cell: Cell, stack: Stack) -> str | None:
        """Why this version, or the kernel, cannot run a cell; ``None`` if it can."""
        if cell.unavailable is not None:
            return cell.unavailable
        if stack == "simulated":
            return None
        place = self.study.experiments[experiment].cells.index(cell)
        return self.unsupported.get((stack, experiment, place))

    def left_out(self, stack: Stack) -> dict[str, list[str]]:
        """The requested experiments and cells that a stack does not run, by reason."""
        reasons: dict[str, list[str]] = {}
        for name, plan in self.study.experiments.items():
            if (name, stack) not in self.jobs:
                continue
            if stack not in plan.stacks:
                reasons.setdefault("the study runs it only in the simulator", []).append(name)
                continue
            for cell in plan.cells:
                reason = self.why_not(name, cell, stack)
                if reason is not None:
                    shown = ", ".join(str(value) for value in cell.labels.values())
                    reasons.setdefault(reason, []).append(f"{name} ({shown})")
        return reasons

    def failed_check(self, stack: Stack) -> list[str]:
        """The runs that failed the timing self-check, and why."""
        entries = []
        for name, plan in self.study.experiments.items():
            runs = self.table(name, stack, "runs")
            if runs.is_empty():
                continue
            for row in runs.filter(~pl.col("counts")).iter_rows(named=True):
                shown = ", ".join(str(row[axis]) for axis in plan.axes)
                entries.append(f"{name} ({shown}), run {row['run']}: {row['reasons']}")
        return entries

    @cached_property
    def equal_runs(self) -> list[str]:
        """A sentence for each experiment with simulations in which nothing is random."""
        said = []
        for (name, stack), jobs in self.jobs.items():
            several = [job for job in jobs if job.runs > 1]
            fixed = sum(not job.scenario.is_random for job in several)
            if stack == "simulated" and fixed:
                which = name if fixed == len(jobs) else f"{fixed} of {len(jobs)} cells of {name}"
                said.append(
                    f"Nothing is random in {which}: the simulated runs of a cell are equal, and "
                    "one would do."
                )
            if self.study.replay is not None and (same := _cells_of_one_order(jobs)):
                cells = len({_place(job) for job in jobs})
                said.append(
                    f"{same} of {cells} cells of {name} replay the file in the same "
                    "order in each run: scaled to the load, it has too few parts."
                )
        return said

    @cached_property
    def answer(self) -> list[str]:
        """The study's answer to its question, from these runs; empty if it gives none."""
        if self.study.answer is None:
            return []
        several = len(self.stacks) > 1
        return [
            f"{stack}: {sentence}" if several else str(sentence)
            for stack in self.stacks
            for sentence in self.study.answer(self, stack)
        ]

    @property
    def totals(self) -> dict[str, int]:
        """The published numbers by verdict; each counts once on each stack."""
        every = [self.numbers_of(stack) for stack in self.stacks]
        return {word: sum(each[word] for each in every) for word in judging.WORDS}

    def numbers_of(self, stack: Stack) -> dict[str, int]:
        """The published numbers by verdict on a stack."""
        mine = [each for each in self.verdicts if each.stack == stack]
        words = list(judging.by_number(mine).values())
        return {word: words.count(word) for word in judging.WORDS}

    def claims_of(self, standing: str, stack: Stack | None = None) -> dict[str, int]:
        """The number of verdicts of each kind on claims of a standing, by default on all stacks."""
        words = [
            each.word
            for each in self.verdicts
            if each.claim.standing == standing and stack in (None, each.stack)
        ]
        return {word: words.count(word) for word in judging.WORDS}

    def counted_on(self, stack: Stack) -> str:
        """The totals of a stack in a sentence."""
        totals = self.numbers_of(stack)
        decided = {word: count for word, count in totals.items() if count}
        parts = [f"{count} {_SAID[word][count > 1]}" for word, count in decided.items()]
        claims = sum(self.claims_of(judging.INDEPENDENT, stack).values())
        return (
            f"Of {sum(totals.values())} published numbers and statements {', '.join(parts)} "
            f"({claims} independent claims judge them)."
        )

    @cached_property
    def counted_once(self) -> list[str]:
        """A sentence for each group of numbers that count once: they are one measurement."""
        said = []
        for stack in self.stacks:
            where = f" on {stack}" if len(self.stacks) > 1 else ""
            mine = [each for each in self.verdicts if each.stack == stack]
            said += [
                f"Counted once, because these runs measure them in one number{where}: "
                f"{', '.join(those)}."
                for those in judging.measured_once(mine)
            ]
        return said

    @property
    def dependent(self) -> dict[str, int]:
        """The number of claims that leave the totals, by standing."""
        counts = {
            standing: sum(self.claims_of(standing, self.stacks[0]).values())
            for standing in judging.STANDINGS
            if standing != judging.INDEPENDENT
        }
        return {standing: count for standing, count in counts.items() if count}

    def runs_of(self, stack: Stack) -> pl.DataFrame:
        """All runs on a stack."""
        frames = [self.table(name, stack, "runs") for name in self.study.experiments]
        return pl.concat([each for each in frames if not each.is_empty()] or [pl.DataFrame()],
                         how="diagonal_relaxed")  # fmt: skip

    def document(self) -> dict[str, Any]:
        """The result as one JSON document. The same runs give the same bytes."""
        return {
            "format": 1,
            "kind": "study",
            "version": __version__,
            "study": self.study.name,
            "title": self.study.title,
            "document": self.study.document,
            "claimed": self.study.claimed,
            "quick": self.quick,
            **self._replay(),
            "stacks": [self._stack(stack) for stack in self.stacks],
            "totals": self.totals,
            "claims_totals": self.claims_of(judging.INDEPENDENT),
            "left_totals": self.dependent,
            "over_set": self.over_set,
            "headline": [
                {"row": row.name, "claims": {key: list(each) for key, each in row.claims.items()}}
                for row in self.study.headline
            ],
            "calibrations": [_calibration(name, self.study) for name in self.study.allowed],
            "readings": [
                {
                    "name": each.name,
                    "about": each.about,
                    "answer": each.answer,
                    "further": list(each.further),
                }
                for each in self.study.readings
            ],
            **({"answer": self.answer} if self.study.answer else {}),
            "claims": [_claim(each, self) for each in self.verdicts],
        }

    def _replay(self) -> dict[str, Any]:
        """The user's connection vectors, if the runs replay some."""
        replay = self.study.replay
        if replay is None:
            return {}
        return {"tmix": {"file": replay.file.name, "sha256": replay.sha256, "about": replay.said}}

    def _stack(self, stack: Stack) -> dict[str, Any]:
        runs = self.runs_of(stack)
        if runs.is_empty():
            return {
                "stack": stack,
                "runs": 0,
                "counted": 0,
                "simulated_s": 0.0,
                "seeds": None,
                "left_out": self.left_out(stack),
            }
        return {
            "stack": stack,
            "runs": len(runs),
            "counted": int(runs["counts"].sum()),
            "simulated_s": round(float(runs["end_s"].sum()), 6),
            "seeds": [runs["seed"].min(), runs["seed"].max()],
            "left_out": self.left_out(stack),
        }


def _place(job: Job) -> tuple[Any, ...]:
    """The cell of a job."""
    return tuple(job.labels.values())


def _cells_of_one_order(jobs: Sequence[Job]) -> int:
    """The number of cells whose orders of a replayed file are all the same."""
    keys: dict[tuple[Any, ...], list[str]] = {}
    for job in jobs:
        keys.setdefault(_place(job), []).append(job.key)
    return sum(len(each) > 1 and len(set(each)) == 1 for each in keys.values())


def _claim(verdict: Verdict, findings: Findings) -> dict[str, Any]:
    claim, found = verdict.claim, verdict.estimate
    explanation = findings.explanation(claim)
    expected = verdict.expected or claim.expected
    return {
        "id": claim.name,
        "where": claim.where,
        "words": claim.words,
        "number": claim.number,
        "stack": verdict.stack,
        **_of(claim),
        "unit": claim.unit,
        "standing": claim.standing,
        "standing_reason": claim.standing_reason,
        "seal": claim.seal,
        "published": claim.published,
        "expected": None if expected is None else {"low": expected.low, "high": expected.high},
        "points": {
            "judged": verdict.points,
            "agreeing": verdict.agreeing,
            "low": verdict.low,
            "high": verdict.high,
            "weight": verdict.weight,
        },
        "tolerance_reason": claim.reason,
        "verdict": verdict.word,
        "reason": verdict.reason,
        "runs_to_decide": verdict.runs_to_decide,
        "explanation": explanation.text,
        "holds": explanation.holds,
        "evidence": {
            name: {
                **_number(number),
                **_of(claim.explanation.evidence[name].measure),
                "required": claim.explanation.evidence[name].is_required,
            }
            for name, number in explanation.numbers.items()
        },
        "measured": None
        if found is None
        else {
            **_number(found),
            "missing": found.missing,
            "censored": found.censored,
            "test": found.test,
            "p": found.p,
            "p_holm": verdict.p_adjusted,
        },
    }


def _of(measure: Measure) -> dict[str, Any]:
    """The definition of a measure."""
    return {
        "experiment": measure.experiment,
        "select": dict(measure.select),
        "against": None if measure.against is None else dict(measure.against),
        **_number_of(measure),
    }


def _number_of(measure: Measure) -> dict[str, Any]:
    """What is computed: by a function with parameters, or a statistic of a metric."""
    if measure.function is not None:
        return {
            "metric": None,
            "statistic": None,
            "relation": None,
            "limit": None,
            "function": measure.function.__name__,
            "parameters": dict(measure.parameters),
        }
    compared = measure.against is not None
    # A ratio of means takes no other statistic.
    of_means = compared and measure.relation == "ratio of means"
    return {
        "metric": measure.metric,
        "statistic": "mean" if of_means else measure.statistic,
        "relation": measure.relation if compared else None,
        "limit": measure.limit,
        "function": None,
        "parameters": {},
    }


def _calibration(name: str, study: Study) -> dict[str, Any]:
    """What a calibration allows."""
    calibration, allowed = study.calibrations[name], study.allowed[name]
    return {
        "name": name,
        "paths": list(calibration.presets),
        "command": allowed.command,
        "searched": allowed.searched,
        "allowed": allowed.size,
        "runs": allowed.runs,
        "held_at_least": allowed.low,
        "stable": allowed.stable,
        "meets_targets": allowed.met,
        "distance_se": allowed.distance,
        "chosen": dict(allowed.chosen),
        "ranges": {key: list(each) for key, each in allowed.ranges.items()},
        "targets": [
            {
                "id": each.name,
                "where": each.where,
                "words": each.words,
                "statistic": each.statistic,
                "published": each.published,
                "found": allowed.found.get(each.name),
                "reach": allowed.reach.get(each.name),
            }
            for each in calibration.targets
        ],
    }


def _number(found: Estimate | None) -> dict[str, Any]:
    """A number with its interval; every value is ``None`` if there is no number."""
    keys = ("value", "low", "high", "confidence", "runs", "rows")
    return {key: None if found is None else getattr(found, key) for key in keys}


def row(verdict: Verdict, findings: Findings) -> dict[str, Any]:
    """A verdict as a row of ``claims.csv``."""
    entry = _claim(verdict, findings)
    expected = entry.pop("expected") or {"low": None, "high": None}
    measured = entry.pop("measured") or {}
    for key in ("select", "against", "evidence", "parameters"):
        entry[key] = json.dumps(entry[key])
    points = entry.pop("points")
    entry.update({f"points_{key}": value for key, value in points.items()})
    entry["expected_low"], entry["expected_high"] = expected["low"], expected["high"]
    for key in ("value", "low", "high", "confidence", "runs", "rows", "censored", "p", "p_holm"):
        entry[f"measured_{key}"] = measured.get(key)
    return entry
