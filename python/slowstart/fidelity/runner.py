"""Runs the grid on both stacks, keeps each finished run, and goes on where it was killed."""

from __future__ import annotations

import contextlib
import json
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from slowstart import run, vm
from slowstart._native import check_linux, check_vm, enter_user_namespace
from slowstart.errors import InputError, RunError
from slowstart.fidelity.measuring import measure
from slowstart.run_store import RunStore, run_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from typing import Self

    from slowstart.fidelity.grid import Case

# Stacks with which the simulation can be compared.
KERNELS = ("linux", "linux-vm")
# A run that fails the emulator's self-check is made again so often.
ATTEMPTS = 4
# Emulations at a time, where each carries at most so much.
_LANES = 2
_LIGHT_MBIT = 50


@dataclass(frozen=True)
class Job:
    """One run of one case on one stack."""

    case: Case
    stack: str
    run: int

    @property
    def seed(self) -> int:
        """Runs of one number meet the same channel on both stacks."""
        return self.run + 1

    @cached_property
    def key(self) -> str:
        """What it has in common with the case's other runs on the stack, hashed."""
        return run_key(self.case.scenario(), self.stack)


class Store(RunStore):
    """Finished runs: what was measured of each, as JSON."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "runs")
        self._there: dict[tuple[str, int], str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        runs = self.read("runs")
        if not runs.is_empty():
            rows = runs.select("key", "seed", "values").iter_rows()
            self._there = {(key, seed): values for key, seed, values in rows}
        return self

    def has(self, job: Job) -> bool:
        """Whether the run was finished."""
        return (job.key, job.seed) in self._there

    def load(self, job: Job) -> dict[str, Any] | None:
        """The run, if it was finished."""
        text = self._there.get((job.key, job.seed))
        if text is None:
            return None
        found: dict[str, Any] = json.loads(text)
        return found

    def save(self, job: Job, values: dict[str, Any]) -> None:
        """Keeps the run; it is whole or absent."""
        text = json.dumps(values)
        row = {"key": job.key, "seed": job.seed, "stack": job.stack, "values": text}
        self.write(f"{job.key} {job.seed}", {"runs": pl.DataFrame([row])})
        self._there[job.key, job.seed] = text


def check(case: Case, stack: str) -> None:
    """Refuses what cannot be run here.

    Raises:
        InputError: What is missing, in one sentence.
    """
    scenario = case.scenario()
    if stack == "linux-vm":
        check_vm(vm.parts(), [scenario])
    elif stack == "linux":
        with contextlib.suppress(InputError):  # the check says it better
            enter_user_namespace()
        check_linux([scenario])


def kernel_name(stack: str) -> str:
    """What the simulation is held against, in words."""
    if stack == "linux-vm":
        return f"{vm.kernel()} in virtual time"
    return f"Linux {os.uname().release}" if stack == "linux" else stack


def execute(job: Job) -> dict[str, Any]:
    """Runs ``job`` and measures it; ``valid`` is whether it passed the self-check."""
    scenario = job.case.scenario(job.seed)
    if job.stack == "simulated":
        return {**measure(run(scenario, traces=True, threads=1)), "valid": True, "attempts": 1}
    # In virtual time a second attempt would be the same.
    stack: Literal["linux", "linux-vm"] = "linux-vm" if job.stack == "linux-vm" else "linux"
    attempts = ATTEMPTS if stack == "linux" else 1
    for attempt in range(1, attempts + 1):
        result = run(scenario, traces=True, stack=stack, threads=1, force=True)
        checked = json.loads(result.to_json())["runs"][0]["check"]
        if checked["valid"] or attempt == attempts:
            break
    reasons = checked["reasons"]
    return {**measure(result), "valid": checked["valid"], "attempts": attempt, "reasons": reasons}


def run_all(
    jobs: Iterable[Job],
    store: Store,
    tell: Callable[[int, int], object],
    say: Callable[[str], object],
) -> None:
    """Runs what is not in ``store`` yet: light emulations two at a time, heavy ones alone.

    Every case is run once before any is run twice, so that what is there early covers the grid.

    Raises:
        InputError: A run cannot be made here.
    """
    waiting = [job for job in jobs if not store.has(job)]
    groups: dict[tuple[int, bool], list[Job]] = {}
    for job in waiting:
        groups.setdefault((job.run, not _is_light(job)), []).append(job)
    done = 0
    for (_, heavy), group in sorted(groups.items()):
        lanes = 1 if heavy else _LANES
        done = _run_group(group, lanes, store, (done, len(waiting)), tell, say)


def _is_light(job: Job) -> bool:
    rate = job.case.path.rate_mbit
    return job.stack != "linux" or (rate is not None and rate <= _LIGHT_MBIT)


def _run_group(
    group: Sequence[Job],
    lanes: int,
    store: Store,
    progress: tuple[int, int],
    tell: Callable[[int, int], object],
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
                    say(f"{job.case.name}, run {job.run} on {job.stack} failed: {error}")
                done += 1
                tell(done, total)
        except BaseException:
            for future in running:
                future.cancel()
            raise
    return done
