"""Runs the grid on both stacks; keeps each finished run, and resumes after an interruption."""

from __future__ import annotations

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from slowstart import vm
from slowstart._native import check_linux, check_vm, enter_user_namespace
from slowstart.errors import InputError, RunError
from slowstart.fidelity import distributions
from slowstart.fidelity.kernels import EXACT, Kernel
from slowstart.fidelity.measuring import measure
from slowstart.running import run
from slowstart.store.runs import RunStore, run_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import Self

    from slowstart._native import Result, Scenario
    from slowstart.fidelity.grid import Case
    from slowstart.fidelity.groups import Workload

# Stacks to compare the simulation with.
KERNELS = ("linux", "linux-vm")
# Maximum number of attempts for a run that fails the emulator's timing self-check.
ATTEMPTS = 4
# Number of parallel emulations, for rates up to this limit.
_LANES = 2
_LIGHT_MBIT = 50


@dataclass(frozen=True)
class Job:
    """One run of one case on one stack."""

    case: Case
    stack: str
    run: int
    kernel: Kernel = EXACT
    """The kernel that the simulated hosts follow."""

    @property
    def seed(self) -> int:
        """The seed: runs with equal numbers get the same channel realization on both stacks."""
        return self.run + 1

    @cached_property
    def key(self) -> str:
        """The key that all runs of the case on the stack share."""
        return run_key(self.scenario(), self.stack)

    def scenario(self, seed: int = 1) -> Scenario:
        """What runs, on the simulated stack with the kernel's kind of receiver."""
        made = self.case.scenario(seed)
        return self.kernel.applied(made) if self.stack == "simulated" else made

    @property
    def name(self) -> str:
        """What runs."""
        return self.case.name

    @property
    def light(self) -> bool:
        """Whether two such runs may execute at once."""
        rate = self.case.path.rate_mbit
        return self.stack != "linux" or (rate is not None and rate <= _LIGHT_MBIT)


TWIN = "twin"
"""As a stack: a simulation with each flow shifted by chance."""


@dataclass(frozen=True)
class StartJob:
    """One start of a workload of several flows on one stack."""

    workload: Workload
    stack: str
    run: int
    kernel: Kernel = EXACT
    """The kernel that the simulated hosts follow."""

    @property
    def seed(self) -> int:
        """The seed: equal on both stacks."""
        return self.run + 1

    def scenario(self) -> Scenario:
        """What runs."""
        made = self.workload.scenario(self.run, twin=self.stack == TWIN)
        return self.kernel.applied(made) if self.stack in ("simulated", TWIN) else made

    @cached_property
    def key(self) -> str:
        """The key of the start on the stack."""
        stack = "simulated" if self.stack == TWIN else self.stack
        return run_key(self.scenario(), stack, (_MEASURES,))

    @property
    def name(self) -> str:
        """What runs."""
        return f"{self.workload.group}, {self.workload.name}"

    @property
    def light(self) -> bool:
        """Whether two such runs may execute at once: not on the running kernel."""
        return self.stack != "linux"


_MEASURES = "groups 1"
"""Changes with the measured values."""

AnyJob = Job | StartJob


class Store(RunStore):
    """The finished runs, each with its measurements as JSON."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "runs")
        self._runs: dict[tuple[str, int], str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        runs = self.read("runs")
        if not runs.is_empty():
            rows = runs.select("key", "seed", "values").iter_rows()
            self._runs = {(key, seed): values for key, seed, values in rows}
        return self

    def has(self, job: AnyJob) -> bool:
        """Whether the run is finished."""
        return (job.key, job.seed) in self._runs

    def load(self, job: AnyJob) -> dict[str, Any] | None:
        """The run, if it is finished."""
        text = self._runs.get((job.key, job.seed))
        if text is None:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def save(self, job: AnyJob, values: dict[str, Any]) -> None:
        """Stores the run atomically."""
        text = json.dumps(values)
        row = {"key": job.key, "seed": job.seed, "stack": job.stack, "values": text}
        self.write(f"{job.key} {job.seed}", {"runs": pl.DataFrame([row])})
        self._runs[job.key, job.seed] = text


def check(case: Case, stack: str) -> None:
    """Checks that ``case`` can run here on ``stack``.

    Raises:
        InputError: Something is missing.
    """
    check_scenario(case.scenario(), stack)


def check_scenario(scenario: Scenario, stack: str) -> None:
    """Checks that ``scenario`` can run here on ``stack``.

    Raises:
        InputError: Something is missing.
    """
    if stack == "linux-vm":
        check_vm(vm.parts(), [scenario])
    elif stack == "linux":
        with contextlib.suppress(InputError):  # check_linux reports it better
            enter_user_namespace()
        check_linux([scenario])


def execute(job: AnyJob) -> dict[str, Any]:
    """Runs ``job`` and measures it; ``valid`` is whether it passed the self-check."""
    of_groups = isinstance(job, StartJob)
    scenario = job.scenario() if isinstance(job, StartJob) else job.scenario(job.seed)

    def measured(result: Result) -> dict[str, Any]:
        if isinstance(job, StartJob):
            document = json.loads(result.to_json())["runs"][0]
            return distributions.measure(job.workload, job.run, document)
        return measure(result)

    if job.stack in ("simulated", TWIN):
        result = run(scenario, traces=not of_groups, threads=1)
        return {**measured(result), "valid": True, "attempts": 1}
    # In virtual time a second attempt would give the same result.
    stack: Literal["linux", "linux-vm"] = "linux-vm" if job.stack == "linux-vm" else "linux"
    attempts = ATTEMPTS if stack == "linux" else 1
    for attempt in range(1, attempts + 1):
        result = run(scenario, traces=not of_groups, stack=stack, threads=1, force=True)
        checked = json.loads(result.to_json())["runs"][0]["check"]
        if checked["valid"] or attempt == attempts:
            break
    reasons = checked["reasons"]
    return {**measured(result), "valid": checked["valid"], "attempts": attempt, "reasons": reasons}


def run_all(
    jobs: Iterable[AnyJob],
    store: Store,
    report: Callable[[int, int], object],
    say: Callable[[str], object],
) -> None:
    """Runs the jobs that ``store`` lacks: light emulations two at a time, heavy ones one by one.

    Every case runs once before any runs twice, so that partial results cover the grid.

    Raises:
        InputError: A run is not possible here.
    """
    waiting = [job for job in jobs if not store.has(job)]
    groups: dict[tuple[int, bool], list[AnyJob]] = {}
    for job in waiting:
        groups.setdefault((job.run, not job.light), []).append(job)
    done = 0
    for (_, heavy), group in sorted(groups.items()):
        lanes = 1 if heavy else _LANES
        done = _run_group(group, lanes, store, (done, len(waiting)), report, say)


def _run_group(
    group: Sequence[AnyJob],
    lanes: int,
    store: Store,
    progress: tuple[int, int],
    report: Callable[[int, int], object],
    say: Callable[[str], object],
) -> int:
    done, total = progress
    with ThreadPoolExecutor(lanes) as pool:
        running = {pool.submit(execute, job): job for job in group}
        try:
            for future in as_completed(running):
                job = running[future]
                try:
                    store.save(job, future.result())
                except RunError as error:
                    say(f"{job.name}, run {job.run} on {job.stack} failed: {error}")
                done += 1
                report(done, total)
        except BaseException:
            for future in running:
                future.cancel()
            raise
    return done
