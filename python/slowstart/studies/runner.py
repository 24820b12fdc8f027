"""Executes the runs of a study and judges its claims.

The output folder of a study holds ``store/`` (finished runs, see :mod:`slowstart.studies.store`)
and, once all runs are finished, its results (:mod:`slowstart.studies.page`). A killed study resumes
where it stopped; a full run reuses the runs of a quick one.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError
from slowstart.store.output import writing
from slowstart.studies import claims as judging
from slowstart.studies.files import nearest
from slowstart.studies.findings import Findings
from slowstart.studies.folder import claim_folder, clear
from slowstart.studies.measures import TABLES
from slowstart.studies.points import jobs_at, over_set
from slowstart.studies.replay import ORDERS
from slowstart.studies.store import Store, check_kernel
from slowstart.studies.study import all_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slowstart.studies.grid import Stack
    from slowstart.studies.store import Job
    from slowstart.studies.study import Study


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
    write: Callable[[Findings, Path], object] | None = None,
    sets: bool = True,
) -> Findings:
    """Executes the missing runs and judges the claims.

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
        write: Writes the findings into ``output``, while no other process may.
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
    if study.replay is not None:
        only = _replaying(study, only, runs)
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
        claim_folder(folder, study.mark)
    findings = Findings(study, chosen, quick, plan, unsupported)
    if output is None:
        weakref.finalize(findings, shutil.rmtree, folder, ignore_errors=True)
    judged = sets and not quick and study.replay is None
    further = jobs_at(study, only, runs) if judged and "simulated" in chosen else []
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
        if study.replay is not None:
            reason = f"no verdict: measured on the connections of {study.replay.file.name}"
            findings.verdicts[:] = [
                judging.without_verdict(each, reason) for each in findings.verdicts
            ]
        if further:
            findings.over_set = True
            verdicts = over_set(study, findings, findings.verdicts, further, store)
            findings.verdicts[:] = verdicts
        if write is not None and output is not None:
            # The lock of the store keeps other processes from writing here.
            clear(folder)
            with writing(folder):
                write(findings, folder)
    return findings


def _replaying(study: Study, only: Sequence[str], runs: int | None) -> list[str]:
    """The experiments to run on a user's connection vectors; the others are as without them."""
    for name in only:
        if not study.experiments[name].is_replay:
            raise InputError(
                f"the experiment {name} does not replay connection vectors: leave out --tmix"
            )
    if runs is not None and runs > ORDERS:
        raise InputError(
            f"-n {runs}: a cell has at most {ORDERS} runs with --tmix, one in each order of the "
            "file's parts"
        )
    return list(only) or [name for name, each in study.experiments.items() if each.is_replay]


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
    study: Study,
    plan: dict[tuple[str, Stack], list[Job]],
    unsupported: Mapping[tuple[Stack, str, int], str],
) -> None:
    refused = {
        (stack, id(part.scenario))
        for stack, name, place in unsupported
        for part in study.experiments[name].cells[place].parts
    }
    for key, jobs in plan.items():
        plan[key] = [job for job in jobs if (key[1], id(job.scenario)) not in refused]
