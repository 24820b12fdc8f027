"""Executes the missing runs of a plan on the workers of a Dask scheduler.

A task is a batch of runs that takes about a second on one thread of a worker, and its result is a
record of the archive, which this process stores as it arrives. Dask repeats the tasks of a worker
that it loses. The runs of a task depend on nothing but the task, so the table is the same as that
of a local sweep.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError, RunError
from slowstart.store.runs import build, definition_key
from slowstart.sweeps.definition import parse
from slowstart.sweeps.execute import Batch, Piece, cut, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from slowstart.store.archive import Archive
    from slowstart.sweeps.plan import Plan

    Progress = Callable[[int, int], object]
    Sent = Sequence[tuple[str, int, int]]

_BATCH_S = 1.5
_MOST_IN_BATCH = 16_384
_IN_FIRST = 32
# Tasks in the queue of each thread, so that it never waits for the next one.
_AHEAD = 2
_PATIENCE_S = 10.0
_ATTEMPTS = 3
# Classes in Python share the state of their process; see `Plan.modules`.
_ALONE = threading.Lock()


def versions() -> tuple[str, ...]:
    """What must be equal on all machines: the versions of the package and of the native module."""
    return build("simulated")


def make(
    folder: str,
    tables: Sequence[str],
    sent: Sent,
    keys: Sequence[str],
    seeds: Sequence[int],
    more: Sequence[str],
    alone: bool,
) -> tuple[bytes, float]:
    """Makes a batch on a worker. Returns its record, and how long it took.

    Args:
        folder: The folder of the traces that scenarios name.
        tables: The tables to keep.
        sent: For each piece of the batch: its scenario as TOML, its first seed and its runs.
        keys: The key of each run.
        seeds: Its seed.
        more: What enters the keys of these runs, next to the scenario and the version.
        alone: Whether the process makes one such batch at a time.
    """
    began = time.monotonic()
    scenarios, pieces = [], []
    first = 0
    for place, (text, seed, runs) in enumerate(sent):
        scenario = parse(text, folder, seed)
        if definition_key(scenario.definition(), "simulated", more) != keys[first]:
            raise InputError("a worker has another version of slowstart, or of a trace")
        scenarios.append(scenario.with_runs(runs=runs))
        pieces.append(Piece(place, seed, runs))
        first += runs
    with _ALONE if alone else nullcontext():
        made = record(Batch(pieces, keys, seeds), scenarios, tables, 1)
    return made, time.monotonic() - began


def run(
    plan: Plan,
    archive: Archive,
    missing: pl.DataFrame,
    address: str,
    progress: Progress | None = None,
) -> None:
    """Makes the missing runs on a cluster, and stores them here.

    Raises:
        InputError: Dask is not installed, no scheduler answers, or a worker differs.
        RunError: The scheduler was lost, or a batch failed on several workers.
    """
    client = _connect(address)
    try:
        threads = _check(client, address)
        for file in sorted({file for file in plan.modules.values() if file}):
            client.upload_file(file)
        _run(client, threads, plan, archive, missing, progress)
    finally:
        client.close()


def _connect(address: str) -> Any:
    try:
        from distributed import Client as Connection
    except ModuleNotFoundError:
        raise InputError("--on needs Dask: pip install 'slowstart[cluster]'") from None
    if re.fullmatch(r"(tcp|tls|ws|wss)://[^\s/]+:\d+", address) is None:
        raise InputError(f"--on {address}: write the address of a Dask scheduler, tcp://host:port")
    try:
        client: Any = Connection
        return client(address, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError):
        raise InputError(
            f"no Dask scheduler answers at {address}; start one with: dask scheduler"
        ) from None


def _check(client: Any, address: str) -> int:
    """The number of threads of all workers, which have the same versions as this process.

    Raises:
        InputError: There is no worker, or one differs.
    """
    try:
        client.wait_for_workers(1, timeout=_PATIENCE_S)
    except TimeoutError:
        raise InputError(
            f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}"
        ) from None
    mine = versions()
    for worker, theirs in sorted(client.run(versions, on_error="return").items()):
        if isinstance(theirs, BaseException):
            raise InputError(f"the worker {worker} cannot load this version of slowstart: {theirs}")
        if tuple(theirs) != mine:
            what = (
                f"slowstart {theirs[0]}" if theirs[0] != mine[0] else "another build of slowstart"
            )
            raise InputError(
                f"the worker {worker} has {what}, and this machine {mine[0]}: results could "
                "differ, so install the same wheel everywhere"
            )
    return sum(client.nthreads().values())


def _run(
    client: Any,
    threads: int,
    plan: Plan,
    archive: Archive,
    missing: pl.DataFrame,
    progress: Progress | None,
) -> None:
    import distributed

    dask: Any = distributed
    total = len(missing)
    begin = done = 0
    size = max(1, min(_IN_FIRST, total // (4 * threads)))
    waiting: dict[Any, tuple[Batch, int]] = {}
    finished = dask.as_completed(loop=client.loop)

    def submit(batch: Batch, attempt: int) -> None:
        text = plan.text
        if text is None:
            raise InputError("only sweeps of a definition run on a cluster")
        sent = [(text(each.point), each.seed, each.runs) for each in batch.pieces]
        future = client.submit(
            make, plan.folder, plan.tables, sent, batch.keys, batch.seeds,
            plan.more[batch.pieces[0].point], bool(plan.modules), pure=False,
            retries=_ATTEMPTS - 1,
        )  # fmt: skip
        waiting[future] = (batch, attempt)
        finished.add(future)

    def fill() -> None:
        nonlocal begin
        while begin < total and len(waiting) < threads * _AHEAD + 1:
            batch = cut(missing, begin, size)
            # Runs of a task share what enters their keys.
            first = plan.more[batch.pieces[0].point]
            alike = [plan.more[each.point] == first for each in batch.pieces]
            if not all(alike):
                runs = sum(each.runs for each in batch.pieces[: alike.index(False)])
                batch = cut(missing, begin, runs)
            begin += batch.runs
            submit(batch, 1)

    if progress is not None:
        progress(0, total)
    fill()
    for future in finished:
        batch, attempt = waiting.pop(future)
        if future.status != "finished":
            if future.status == "cancelled":
                raise RunError(
                    "the connection to the scheduler was lost; finished runs are kept, and the "
                    "same command resumes"
                )
            reason = future.exception()
            if isinstance(reason, InputError):
                raise reason
            if attempt >= _ATTEMPTS:
                raise RunError(f"a batch failed on {_ATTEMPTS} workers: {reason}")
            submit(batch, attempt + 1)
            continue
        made, took = future.result()
        archive.append(made)
        done += batch.runs
        if progress is not None:
            progress(done, total)
        pace = max(took, 1e-3) / batch.runs
        size = max(1, min(_MOST_IN_BATCH, int(_BATCH_S / pace), 4 * batch.runs))
        threads = max(1, sum(client.nthreads().values()))
        fill()
