"""Executes the missing runs of a plan on this machine, in batches of about a second.

While the cores simulate a batch, one thread makes the scenarios of the next one, and another one
stores the batch before.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from slowstart.errors import RunError
from slowstart.running import run
from slowstart.store.archive import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from slowstart._native import Scenario
    from slowstart.store.archive import Archive
    from slowstart.sweeps.plan import Plan

    Progress = Callable[[int, int], object]

BATCH_S = 1.0
"""The approximate duration of a batch: the most work that a kill can lose, next to what runs."""
_MOST_IN_BATCH = 16_384
_IN_FIRST = 64


@dataclass(frozen=True)
class Piece:
    """Consecutive runs of a point."""

    point: int
    seed: int
    """Of the first of them."""
    runs: int


@dataclass(frozen=True)
class Batch:
    """Runs that are made and stored together."""

    pieces: Sequence[Piece]
    keys: Sequence[str]
    """Of each run."""
    seeds: Sequence[int]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.keys)


def cut(missing: pl.DataFrame, begin: int, size: int) -> Batch:
    """The batch of at most ``size`` missing runs that begins at ``begin``."""
    part = missing.slice(begin, size)
    point, seed = part["point"].to_numpy(), part["seed"].to_numpy()
    breaks = np.flatnonzero((np.diff(point) != 0) | (np.diff(seed) != 1)) + 1
    starts = [0, *breaks.tolist()] if len(point) else []
    ends = [*breaks.tolist(), len(point)]
    pieces = [
        Piece(int(point[start]), int(seed[start]), end - start)
        for start, end in zip(starts, ends, strict=False)
    ]
    return Batch(pieces, part["key"].to_list(), part["seed"].to_list())


def simulate(
    scenarios: Sequence[Scenario],
    tables: Sequence[str],
    threads: int | None,
    progress: Progress | None = None,
) -> dict[str, pl.DataFrame]:
    """Runs scenarios, and returns their tables with ``at``, the place of each row's run."""
    result = run(scenarios, threads=threads, progress=progress)
    counts = np.array([each.runs for each in scenarios])
    made = {}
    for name in tables:
        frame = pl.DataFrame(getattr(result, name)())
        rows = np.array([len(each.flows) for each in scenarios])
        if name == "flows" and int((rows * counts).sum()) == len(frame):
            at = np.repeat(np.arange(counts.sum()), np.repeat(rows, counts))
            made[name] = _placed(frame, at)
            continue
        # Of other tables, only a scenario's own rows say how many a run has.
        parts, begin = [], 0
        for place, count in enumerate(counts):
            part = pl.DataFrame(getattr(result.select(place), name)())
            parts.append(_placed(part, begin + part["run"].to_numpy().astype(np.int64)))
            begin += int(count)
        made[name] = pl.concat(parts)
    return made


def _placed(frame: pl.DataFrame, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pl.DataFrame:
    column = pl.Series("at", at, dtype=pl.UInt32)
    return frame.drop("run", "seed", "scenario", strict=False).with_columns(column)


def record(
    batch: Batch,
    scenarios: Sequence[Scenario],
    tables: Sequence[str],
    threads: int | None,
    progress: Progress | None = None,
) -> bytes:
    """Makes the runs of a batch, and returns them as a record of an archive.

    If one fails, it runs each alone: the record then names those that failed.
    """
    began = time.monotonic()
    failed: list[tuple[str, int, str]] = []
    keys, seeds = batch.keys, batch.seeds
    try:
        made = simulate(scenarios, tables, threads, progress)
    except RunError:
        kept, frames = [], []
        place = 0
        for piece, scenario in zip(batch.pieces, scenarios, strict=True):
            for number in range(piece.runs):
                alone = scenario.with_runs(runs=1, seed=piece.seed + number)
                try:
                    frames.append(simulate([alone], tables, threads))
                    kept.append(place)
                except RunError as error:
                    failed.append((keys[place], seeds[place], str(error)))
                place += 1
        made = {
            name: pl.concat(
                [
                    each[name].with_columns(at=pl.lit(number, pl.UInt32))
                    for number, each in enumerate(frames)
                ]
            )
            for name in (tables if frames else ())
        }
        keys, seeds = [keys[each] for each in kept], [seeds[each] for each in kept]
    took = time.monotonic() - began
    return pack(keys, seeds, made, {"wall_s": took, "count": batch.runs, "failed": failed})


def local(
    plan: Plan,
    archive: Archive,
    missing: pl.DataFrame,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Makes the missing runs on this machine and stores them.

    Raises:
        RunError: The disk is full.
    """
    total = len(missing)
    cores = threads or os.cpu_count() or 1

    def prepare(begin: int, size: int) -> tuple[Batch, list[Scenario]]:
        batch = cut(missing, begin, size)
        made = plan.scenarios([piece.point for piece in batch.pieces])
        return batch, [
            each
            if each.runs == piece.runs and each.seed == piece.seed
            else each.with_runs(runs=piece.runs, seed=piece.seed)
            for each, piece in zip(made, batch.pieces, strict=True)
        ]

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    def tell_from(before: int, done: int, _: int) -> None:
        tell(before + done)

    begin, size = 0, max(cores, min(_IN_FIRST, total // 8))
    stored: Future[None] | None = None
    tell(0)
    with ThreadPoolExecutor(1) as preparing, ThreadPoolExecutor(1) as storing:
        coming = preparing.submit(prepare, begin, size) if total else None
        while coming is not None:
            batch, scenarios = coming.result()
            after = begin + batch.runs
            coming = preparing.submit(prepare, after, size) if after < total else None
            began = time.monotonic()
            made = record(batch, scenarios, plan.tables, threads, partial(tell_from, begin))
            took = time.monotonic() - began
            if stored is not None:
                stored.result()
            stored = storing.submit(archive.append, made)
            begin = after
            tell(begin)
            size = max(
                cores, min(_MOST_IN_BATCH, int(batch.runs * min(4.0, BATCH_S / max(took, 1e-3))))
            )
        if stored is not None:
            stored.result()
