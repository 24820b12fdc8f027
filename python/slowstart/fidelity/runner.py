"""Runs the grid on both stacks, keeps each finished run, and goes on where it was killed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from slowstart import run, vm
from slowstart._native import check_linux, check_vm, enter_user_namespace
from slowstart.errors import InputError, RunError
from slowstart.fidelity.quantities import measure
from slowstart.studies.store import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from slowstart.fidelity.grid import Case

# Stacks that the simulation can be held against.
KERNELS = ("linux", "linux-vm")
# A run that the emulator does not vouch for is made again so often.
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


class Store:
    """A folder with one file for each finished run, named by what was run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "runs"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot write the folder {folder}: {reason}") from error

    def _file(self, job: Job) -> Path:
        what = job.case.scenario(job.seed).definition()
        key = "\0".join([what, str(job.seed), job.stack, *build(job.stack)])
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.json"

    def has(self, job: Job) -> bool:
        """Whether the run was finished."""
        return self._file(job).exists()

    def load(self, job: Job) -> dict[str, Any] | None:
        """The run, if it was finished."""
        try:
            found: dict[str, Any] = json.loads(self._file(job).read_bytes())
        except FileNotFoundError:
            return None
        return found

    def save(self, job: Job, values: dict[str, Any]) -> None:
        """Keeps the run; the file is whole or absent."""
        target = self._file(job)
        aside = target.with_suffix(".part")
        aside.write_text(json.dumps(values), encoding="utf-8")
        aside.replace(target)


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
    """Runs ``job`` and measures it; ``valid`` tells whether the emulator vouches for it."""
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
