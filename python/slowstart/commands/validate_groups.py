"""``slowstart validate --group``: several flows on both stacks."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError, RunError
from slowstart.fidelity import group_page, groups, kernels, runner
from slowstart.fidelity.distributions import distributions
from slowstart.fidelity.runner import TWIN, StartJob
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from slowstart.fidelity.distributions import Runs
    from slowstart.fidelity.groups import Workload
    from slowstart.fidelity.kernels import Kernel

STARTS, STARTS_QUICK = 20, 6
ALL = "all"


def chosen_groups(named: Sequence[str]) -> list[str]:
    """The groups that ``--group`` names, each once.

    Raises:
        InputError: There is no such group.
    """
    for each in named:
        if each != ALL and each not in groups.SUMMARIES:
            known = ", ".join(groups.SUMMARIES)
            raise InputError(f"--group {each}: use one of {known}, or {ALL}")
    if ALL in named:
        return list(groups.SUMMARIES)
    return list(dict.fromkeys(named))


def validate(
    named: Sequence[str],
    stack: str,
    kernel: Kernel,
    starts: int,
    folder: Path,
    *,
    as_json: bool,
    quiet: bool,
    say: Callable[[str], object],
) -> None:
    """Runs the groups on both stacks and reports how their distributions differ.

    Raises:
        InputError: Something is missing.
        RunError: No run on the kernel is valid.
    """
    workloads = [each for name in named for each in groups.of_group(name)]
    for each in workloads:
        runner.check_scenario(each.scenario(0), stack)
    jobs = [
        StartJob(workload, which, start, kernel)
        for which in ("simulated", TWIN, stack)
        for start in range(starts)
        for workload in workloads
    ]
    with runner.Store(folder) as store:
        with Meter("running", quiet=quiet) as meter:
            runner.run_all(jobs, store, meter, say)

        def load(workload: Workload, which: str) -> Runs:
            found = {
                start: store.load(StartJob(workload, which, start, kernel))
                for start in range(starts)
            }
            return {start: run for start, run in found.items() if run is not None}

        finished = {
            (each, which): load(each, which)
            for each in workloads
            for which in ("simulated", TWIN, stack)
        }
    found, left_out = [], 0
    for each in workloads:
        theirs = {start: run for start, run in finished[each, stack].items() if run["valid"]}
        left_out += len(finished[each, stack]) - len(theirs)
        _say_unfinished(each, {**theirs}, stack, say)
        found += distributions(each, finished[each, "simulated"], theirs, finished[each, TWIN])
    if not found:
        raise RunError(
            "every run on the kernel failed the emulator's timing self-check on this machine"
        )
    facts: dict[str, Any] = {
        "stack": stack,
        "kernel": kernels.name(stack),
        "groups": list(named),
        "starts": starts,
        "simulated_hosts": kernel.words,
        "left_out": left_out,
    }
    written = group_page.write(folder, found, facts)
    if as_json:
        document = group_page.document(found, facts)
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
    elif not quiet:
        group_page.show(found, left_out, os.path.relpath(written))


def _say_unfinished(
    workload: Workload, runs: Runs, stack: str, say: Callable[[str], object]
) -> None:
    flows = sum(run["unfinished"] for run in runs.values())
    if flows:
        say(f"{workload.name} on {stack}: {flows} flows did not finish and have no completion time")
