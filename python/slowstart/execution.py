"""Runs scenarios on whatever runs them, prints what is wanted of the result, and writes it."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from slowstart import run
from slowstart._native import check_linux, check_vm, enter_user_namespace, run_linux, run_vm
from slowstart.errors import InputError, RunError, complain
from slowstart.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowstart import Result, Scenario
    from slowstart.planning import Plan


# Congestion controls of Linux that are modules of their own.
_MODULES = ("bic", "hybla", "westwood")


class Stack(str, Enum):
    """What runs a scenario."""

    SIMULATED = "simulated"
    LINUX = "linux"
    LINUX_VM = "linux-vm"


@dataclass(frozen=True)
class How:
    """How scenarios are run."""

    stack: Stack
    force: bool
    switch_hystart: bool
    threads: int | None

    @property
    def kernel(self) -> bool:
        """Whether a kernel runs them."""
        return self.stack is not Stack.SIMULATED

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """Refuses what cannot be, before anything is made."""
        if self.force and not self.kernel:
            raise InputError("--force needs --stack linux or linux-vm")
        if self.switch_hystart and self.stack is not Stack.LINUX:
            raise InputError("--switch-hystart needs --stack linux")
        if self.stack is Stack.SIMULATED:
            return
        if self.stack is Stack.LINUX_VM:
            from slowstart.vm import parts

            check_vm(parts(), scenarios)
            return
        if self.threads not in (None, 1):
            raise InputError("runs on the kernel are made one at a time: leave out --threads")
        with contextlib.suppress(InputError):  # the check says it better
            enter_user_namespace()
        try:
            check_linux(scenarios, switch_hystart=self.switch_hystart)
        except InputError as error:
            raise InputError(_with_module(str(error))) from error

    def run(
        self, scenarios: Sequence[Scenario], keep: str, progress: Callable[[int, int], object]
    ) -> Result:
        """Runs them, and keeps the time series of ``none``, the ``first`` or ``all`` runs."""
        if self.stack is Stack.SIMULATED:
            series = keep == "all"
            return run(scenarios, threads=self.threads, traces=series, progress=progress)
        if self.stack is Stack.LINUX_VM:
            from slowstart.vm import parts

            return run_vm(
                parts(),
                scenarios,
                traces=keep,
                threads=self.threads,
                force=self.force,
                progress=progress,
            )
        return run_linux(
            scenarios,
            traces=keep,
            force=self.force,
            switch_hystart=self.switch_hystart,
            progress=progress,
        )


def _with_module(refusal: str) -> str:
    """Adds which module of the kernel may have the congestion control that it lacks."""
    lacking = re.search(r"no congestion control of the kernel is `(\w+)\+standard`", refusal)
    if lacking is None or lacking[1] not in _MODULES:
        return refusal
    module = f"tcp_{lacking[1]}"
    return f"{refusal}; it may be the module {module}, which is not loaded (modprobe {module})"


def execute(plan: Plan, how: How, as_json: bool, output: str | None, quiet: bool) -> None:
    """Runs ``plan``, prints what is wanted, and writes ``output``."""
    from slowstart import planning
    from slowstart.output import output_folder

    how.check(plan.scenarios)
    with output_folder(output) as folder:
        with Meter("running", quiet=quiet) as meter:
            runs = planning.execute(
                plan,
                lambda keep, progress: how.run(plan.scenarios, keep, progress),
                functools.partial(run, threads=how.threads),
                meter,
            )
        _say_untrusted(plan.scenarios, runs.main, how.force)
        if folder is not None:
            from slowstart import artifacts

            artifacts.write(folder, plan, runs)
    if as_json:
        sys.stdout.write(runs.text + "\n")
    elif not quiet:
        _print_tables(plan, runs.document, output)


def _say_untrusted(scenarios: Sequence[Scenario], result: Result, force: bool) -> None:
    """Says which runs the emulator does not trust, and refuses a result without any other."""
    untrusted = result.untrusted()
    for place, number, reasons in untrusted:
        names = " and ".join(dict.fromkeys(scenarios[place].flows))
        which = f"{names} over {scenarios[place].path}, run {number}"
        fate = "counts, as forced" if force else "is left out"
        complain(f"{which}, {fate}: {'; '.join(reasons)}")
    if untrusted and not force and len(result.flows()) == 0:
        raise RunError(
            "every run failed the emulator's timing self-check on this machine; use --force to "
            "include them anyway"
        )


def _say_unfinished(scenarios: Sequence[Scenario], runs: Sequence[dict[str, Any]]) -> None:
    """Says over which paths runs were cut at their time limit: a table has only a dash for that."""
    limits = {each.path: each.resolved["time_limit_s"] for each in scenarios}
    for path, limit in limits.items():
        there = [each for each in runs if each["path"] == path]
        cut = sum(
            each["end_s"] >= limit and not all(flow["completed"] for flow in each["flows"])
            for each in there
        )
        if cut:
            which = f"{cut} of {len(there)} runs over {path}"
            complain(f"{which} were cut at their time limit, {limit:g} s")


def _print_tables(plan: Plan, document: dict[str, Any], output: str | None) -> None:
    from slowstart import tables

    paths = {each.path: each.resolved["path"] for each in plan.scenarios}
    tables.show(document, paths)
    out = tables.console()
    for sentence in (*tables.remarks(document), *plan.remarks):
        out.print(sentence, markup=False)
    _say_unfinished(plan.scenarios, document["runs"])
    if output is not None:
        sys.stdout.write(f"The report is {os.path.join(output, 'report.html')}\n")  # noqa: PTH118
