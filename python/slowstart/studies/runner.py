"""Runs a study, and holds its findings.

The output folder of a study holds ``store/`` (finished runs, see :mod:`slowstart.studies.store`)
and, once all runs are finished, ``report.html``, ``result.json``, ``claims.csv``, the tables as
Parquet, and each figure as SVG and PNG. These are written to a temporary folder and renamed. A
killed study resumes where it stopped; a full run reuses the runs of a quick one.
"""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import InputError, __version__
from slowstart.planning import is_random
from slowstart.store.output import replace_file, sync_file, sync_folder, writing
from slowstart.store.runs import read_mark
from slowstart.studies import claims as judging
from slowstart.studies.files import nearest
from slowstart.studies.measures import TABLES, filtered
from slowstart.studies.points import jobs_at, over_set
from slowstart.studies.store import Store, check_kernel
from slowstart.studies.study import all_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slowstart.studies.claims import Claim, Verdict
    from slowstart.studies.estimates import Estimate
    from slowstart.studies.evidence import Filled
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Measure
    from slowstart.studies.plan import Cell
    from slowstart.studies.store import Job
    from slowstart.studies.study import Study

_MARK = "study.json"
# What a claim does, and what several do.
_SAID = {
    judging.AGREES: ("agrees", "agree"),
    judging.DIFFERS: ("differs", "differ"),
    judging.NOT_IDENTIFIED: ("is not identified", "are not identified"),
    judging.CANNOT_TEST: ("cannot be tested", "cannot be tested"),
}
_ASIDE = ".report."
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

    def table(self, experiment: str, stack: Stack, table: str = "flows") -> pl.DataFrame:
        """Rows of an experiment: a table of ``TABLES``, ``flow_traces`` or ``link_traces``.

        Further columns are the axes of the grid, ``job``, ``run`` and ``seed``.
        """
        return self.tables.get((experiment, stack, table), pl.DataFrame())

    def explanation(self, claim: Claim) -> Filled:
        """The explanation of a claim's difference, with the numbers of these runs."""
        if claim.name not in self._explanations:
            self._explanations[claim.name] = claim.explanation.fill(self, self.stacks)
        return self._explanations[claim.name]

    def why_left_out(self, experiment: str, stack: Stack) -> str | None:
        """Why an experiment was left out; ``None`` if it was not."""
        if (experiment, stack) not in self.jobs:
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
            fixed = sum(not is_random(job.scenario) for job in several)
            if stack == "simulated" and fixed:
                which = name if fixed == len(jobs) else f"{fixed} of {len(jobs)} cells of {name}"
                said.append(
                    f"Nothing is random in {which}: the simulated runs of a cell are equal, and "
                    "one would do."
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
        """The number of verdicts of each kind on independent claims."""
        return self.totals_of(judging.INDEPENDENT)

    def totals_of(self, standing: str, stack: Stack | None = None) -> dict[str, int]:
        """The number of verdicts of each kind on claims of a standing, by default on all stacks."""
        words = [
            each.word
            for each in self.verdicts
            if each.claim.standing == standing and stack in (None, each.stack)
        ]
        return {word: words.count(word) for word in judging.WORDS}

    def counted_on(self, stack: Stack) -> str:
        """The totals of a stack in a sentence."""
        totals = self.totals_of(judging.INDEPENDENT, stack)
        decided = {word: count for word, count in totals.items() if count}
        parts = [f"{count} {_SAID[word][count > 1]}" for word, count in decided.items()]
        return f"Of {sum(totals.values())} independent claims {', '.join(parts)}."

    @property
    def dependent(self) -> dict[str, int]:
        """The number of claims that leave the totals, by standing."""
        counts = {
            standing: sum(self.totals_of(standing, self.stacks[0]).values())
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
            "stacks": [self._stack(stack) for stack in self.stacks],
            "totals": self.totals,
            "left_totals": self.dependent,
            "over_set": self.over_set,
            "headline": [
                {"row": row.name, "claims": {key: list(each) for key, each in row.claims.items()}}
                for row in self.study.headline
            ],
            "calibrations": [_calibration(name, self.study) for name in self.study.allowed],
            **({"answer": self.answer} if self.study.answer else {}),
            "claims": [_claim(each, self) for each in self.verdicts],
        }

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


def _claim(verdict: Verdict, findings: Findings) -> dict[str, Any]:
    claim, found = verdict.claim, verdict.estimate
    explanation = findings.explanation(claim)
    expected = verdict.expected or claim.expected
    return {
        "id": claim.name,
        "where": claim.where,
        "words": claim.words,
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
        },
        "tolerance_reason": claim.reason,
        "verdict": verdict.word,
        "reason": verdict.reason,
        "explanation": explanation.text,
        "holds": explanation.holds,
        "evidence": {
            name: {**_number(number), **_of(claim.explanation.evidence[name].measure)}
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


def run(
    study: Study,
    output: str | Path | None = None,
    *,
    quick: bool = False,
    stacks: Iterable[str] = ("simulated",),
    runs: int | None = None,
    only: Sequence[str] = (),
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    remaining: Callable[[float], object] | None = None,
    force: bool = False,
    switch_hystart: bool = False,
    report: bool = True,
    sets: bool = True,
) -> Findings:
    """Executes the missing runs, judges the claims, and writes the report.

    Args:
        study: From :func:`slowstart.studies.load`.
        output: The output folder; without one, a temporary folder is used and deleted.
        quick: Fewer repetitions, and only the part of each grid that the study selects for this.
        stacks: Any of ``simulated``, ``linux`` and ``linux-vm``.
        runs: Repetitions of every cell, instead of the study's.
        only: The experiments to run; claims about others cannot be tested then.
        threads: Number of simulations in parallel; one per core by default.
        progress: Called with the number of runs executed and their total.
        remaining: As in :meth:`slowstart.studies.Store.complete`.
        force: As in :func:`slowstart.run`.
        switch_hystart: As in :func:`slowstart.run`.
        report: Whether report, tables and figures are written into ``output``.
        sets: Whether a full run judges claims over the sets that the baseline allows, too.

    Raises:
        InputError: Something above is wrong, or the kernel cannot be used.
        RunError: A run failed.
    """
    chosen = all_stacks(list(stacks))
    for name in only:
        if name not in study.experiments:
            raise InputError(
                f"{study.name} has no experiment {name}{nearest(name, study.experiments)}"
            )
    plan = {
        (name, stack): jobs
        for stack in chosen
        for name, jobs in study.jobs(stack, quick=quick, runs=runs, only=only).items()
    }
    unsupported = {}
    for stack in chosen:
        if stack == "simulated":
            continue
        check_kernel(stack, [], switch_hystart)
        possible = any(stack in each.stacks for each in study.experiments.values())
        if chosen == [stack] and not possible:
            raise InputError(
                f"{study.name} has no experiment for the kernel: leave out --stack {stack}"
            )
        unsupported.update(_unsupported(study, stack, switch_hystart))
    _leave_out(study, plan, unsupported)
    folder = Path(output or tempfile.mkdtemp(prefix="slowstart-study-"))
    with writing(folder):
        claim_folder(folder, study.name)
    findings = Findings(study, chosen, quick, plan, unsupported)
    if output is None:
        weakref.finalize(findings, shutil.rmtree, folder, ignore_errors=True)
    further = jobs_at(study, only, runs) if sets and not quick and "simulated" in chosen else []
    with Store(folder / "store") as store:
        store.complete(
            [
                *(job for jobs in plan.values() for job in jobs),
                *(job for point in further for jobs in point.values() for job in jobs),
            ],
            threads=threads,
            progress=progress,
            remaining=remaining,
            force=force,
            switch_hystart=switch_hystart,
        )
        for (name, stack), jobs in plan.items():
            for table in (*TABLES, "flow_traces", "link_traces"):
                findings.tables[name, stack, table] = getattr(store, table)(jobs)
        for stack in chosen:
            findings.verdicts += judging.judge(study.claims, findings, stack)
        if further:
            findings.over_set = True
            verdicts = over_set(study, findings, findings.verdicts, further, store)
            findings.verdicts[:] = verdicts
        if report and output is not None:
            # The lock of the store keeps other processes from writing here.
            for leftover in folder.glob(f"{_ASIDE}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            for leftover in folder.glob(f".{_MARK}.*"):
                leftover.unlink(missing_ok=True)
            with writing(folder):
                write(findings, folder)
    return findings


def _unsupported(
    study: Study, stack: Stack, switch_hystart: bool
) -> dict[tuple[Stack, str, int], str]:
    reasons = {}
    for name, plan in study.experiments.items():
        for place, cell in enumerate(plan.cells):
            if cell.scenario is None or stack not in plan.stacks:
                continue
            try:
                check_kernel(stack, [cell.scenario], switch_hystart)
            except InputError as error:
                # Drops the list of alternatives.
                reasons[stack, name, place] = str(error).partition("; known are ")[0]
    return reasons


def _leave_out(
    study: Study, plan: dict[_Key, list[Job]], unsupported: Mapping[tuple[Stack, str, int], str]
) -> None:
    refused = {
        (stack, id(part.scenario))
        for stack, name, place in unsupported
        for part in study.experiments[name].cells[place].parts
    }
    for key, jobs in plan.items():
        plan[key] = [job for job in jobs if (key[1], id(job.scenario)) not in refused]


def claim_folder(folder: Path, name: str) -> None:
    """Creates the folder, or checks that it belongs to this study."""
    mark = folder / _MARK
    try:
        if not folder.exists():
            folder.mkdir()
        elif mark.exists():
            # A damaged mark identifies no study; the stored runs are keyed by their scenarios.
            there = read_mark(mark).get("study")
            if there not in (None, name):
                raise InputError(f"the folder {folder} holds another study: choose a new folder")
            if there == name:
                return
        elif any(not each.name.startswith(f".{_MARK}.") for each in folder.iterdir()):
            raise InputError(
                f"the folder {folder} holds something else than a study: choose a new folder"
            )
        replace_file(mark, json.dumps({"format": 1, "study": name}) + "\n")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write the folder {folder}: {reason}") from error


def write(findings: Findings, folder: Path) -> None:
    """Writes report, tables and figures; each file is replaced atomically."""
    from slowstart.studies import page

    aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=folder))
    try:
        page.write(findings, aside)
        for table in TABLES:
            for (name, stack, kind), frame in findings.tables.items():
                if kind == table and not frame.is_empty():
                    frame.write_parquet(aside / f"{table}-{name}-{stack}.parquet")
        rows = [_row(each, findings) for each in findings.verdicts]
        pl.DataFrame(rows, infer_schema_length=None).write_csv(aside / "claims.csv")
        document = json.dumps(findings.document(), indent=2, ensure_ascii=False)
        (aside / "result.json").write_text(document + "\n", encoding="utf-8")
        made = sorted(aside.iterdir(), key=lambda each: each.name == "report.html")
        for file in made:
            sync_file(file)
        for file in made:
            file.replace(folder / file.name)
        sync_folder(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _row(verdict: Verdict, findings: Findings) -> dict[str, Any]:
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
