"""A sweep: its definition, the folder of its runs, and its table."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart._version import __version__
from slowstart.errors import InputError, RunError
from slowstart.store.archive import Archive, check_complete
from slowstart.store.output import output_file, replace_file, writing
from slowstart.store.runs import read_mark
from slowstart.sweeps import execute
from slowstart.sweeps.definition import Definition
from slowstart.sweeps.plan import BLOCK, Plan, Point, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.sweeps.plan import Columns

    Progress = Callable[[int, int], object]
    Shard = tuple[int, int]

MARK = "sweep.json"
RUNS = "runs"
_FORMAT = 1
# Bytes of the definition of a sweep, which may list many values.
_LARGEST = 64_000_000


def plan_for(definition: Definition, runs: int | None = None) -> Plan:
    """The plan of a definition."""
    count = definition.runs if runs is None else runs
    columns = _Columns(definition)
    return Plan(
        definition.points,
        definition.scenarios,
        count,
        columns.at,
        definition.tables,
        definition.text,
        str(definition.folder.resolve()),
        definition.names,
    )


class _Columns:
    """What the table says about the points of a definition."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._cells = [np.array(axis.cells(), dtype=object) for axis in definition.axes]

    def at(self, points: NDArray[np.int64]) -> Columns:
        """The columns of some points."""
        definition = self._definition
        places = np.unravel_index(points, definition.shape) if definition.shape else ()
        found: dict[str, Any] = {}
        for axis, cells, place in zip(definition.axes, self._cells, places, strict=False):
            found[axis.column()] = pl.Series(cells[place].tolist())
        for span, drawn in zip(definition.spans, definition.sample, strict=True):
            numbers = [span.quick(drawn[place])[1] for place in places[-1]]
            cells = np.array(numbers, dtype=np.int64 if span.whole else np.float64)
            found[span.head().column()] = pl.Series(cells)
        if definition.derived:
            alone, back = np.unique(points, return_inverse=True)
            computed = np.array([definition.numbers(int(each)) for each in alone])
            for number, each in enumerate(definition.derived):
                found[each.column()] = pl.Series(computed[back, number])
        return found


@dataclass(frozen=True)
class Status:
    """How far the runs of a plan are."""

    total: int
    done: int
    failed: int
    """Of those that are missing: the runs that failed when they were last tried."""
    pace_s: float | None
    """The average time of a run on this machine's cores; ``None`` before the first."""
    reasons: Sequence[str] = ()
    """Why runs failed."""

    @property
    def missing(self) -> int:
        """The number of runs that are not stored."""
        return self.total - self.done

    @property
    def left_s(self) -> float | None:
        """The time left, on one machine like those that made the runs so far."""
        return None if self.pace_s is None else self.missing * self.pace_s


def status(plan: Plan, archive: Archive, shard: Shard = (1, 1)) -> Status:
    """How far the runs of a resolved plan are; of a shard's, if it is one of several."""
    archive.refresh()
    missing = plan.missing(archive, shard)
    number, count = shard
    total = plan.total if count == 1 else len(range(number - 1, plan.total, count))
    failures = archive.failures()
    pairs = set(missing.select("key", "seed").iter_rows()) if failures else set()
    reasons = [said for pair, said in failures.items() if pair in pairs]
    # A point's runs may also be those of another one: count what the table will have.
    copies = 0
    if count == 1:
        every = pl.concat([plan.keys.to_frame(), pl.Series("count", plan.counts).to_frame()],
                          how="horizontal")  # fmt: skip
        copies = int(plan.counts.sum() - every.unique("key")["count"].sum())
    return Status(
        total - copies, total - copies - len(missing), len(reasons), archive.pace(),
        tuple(dict.fromkeys(reasons)),
    )  # fmt: skip


def complete(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    shard: Shard = (1, 1),
    threads: int | None = None,
    on: str | None = None,
    progress: Progress | None = None,
) -> Status:
    """Makes the runs of a resolved plan that ``folder`` does not hold, and stores them there.

    Args:
        plan: The plan, after ``Plan.resolve``.
        folder: Holds the files of an :class:`~slowstart.store.archive.Archive`.
        shard: Which part of the runs: the i-th of n.
        threads: Number of runs in parallel on this machine; one per core by default.
        on: The address of a Dask scheduler, whose workers make the runs.
        progress: Called with the number of runs made and of those missing at the start.

    Raises:
        InputError: The folder cannot be written, or another process writes there; or the cluster
            cannot be used.
        RunError: The disk is full.
    """
    with Archive(Path(folder), shard) as archive:
        archive.refresh()
        missing = plan.missing(archive, shard)
        if len(missing):
            if on is None:
                execute.local(plan, archive, missing, threads, progress)
            else:
                from slowstart.sweeps import cluster

                cluster.run(plan, archive, missing, on, progress)
        return status(plan, archive, shard)


def run_points(
    points: Sequence[Point],
    folder: str | os.PathLike[str],
    *,
    tables: Sequence[str] = ("flows",),
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, pl.DataFrame]:
    """Runs scenarios, resumably, and returns their tables with the points' labels as columns.

    Finished runs are kept in ``folder``, and any plan may use them. Nothing random is run twice:
    such a point has one run.

    Raises:
        InputError: The folder cannot be written.
        RunError: Runs failed.
    """
    plan = plan_of(points, tables)
    plan.resolve()
    found = complete(plan, folder, threads=threads, progress=progress)
    if found.missing:
        raise RunError(f"{found.failed} runs failed: {'; '.join(found.reasons[:3])}")
    archive = Archive(Path(folder))
    archive.refresh()
    return {name: plan.frame(archive, name) for name in plan.tables}


@dataclass
class Sweep:
    """A sweep and its folder.

    ``sweep.table`` is the table of flows: a row for each flow of each run, in the order of the
    points, with a column for each swept key and derived quantity, ``run``, ``seed``, ``key`` (which
    ``slowstart sweep show`` takes), and the measurements.
    """

    definition: Definition
    folder: Path
    runs: int | None = None
    baseline: str = ""
    """Figures compare with it; empty: with that of the definition, if it has one."""

    @classmethod
    def load(
        cls,
        given: str | os.PathLike[str] | Mapping[str, Any],
        folder: str | os.PathLike[str] | None = None,
        runs: int | None = None,
        labels: Mapping[str, str] | None = None,
        stack: str | None = None,
    ) -> Sweep:
        """Reads a sweep file, or a dictionary of the same structure; ``labels`` are further ones.

        ``stack`` replaces that of the sweep.

        Raises:
            InputError: With file and line.
        """
        if runs is not None and runs < 1:
            raise InputError(f"the number of runs is {runs}; it must be at least 1")
        definition = Definition.load(given, labels=labels, stack=stack)
        if folder is not None:
            return cls(definition, Path(folder), runs)
        made = cls(definition, Path(tempfile.mkdtemp(prefix="slowstart-sweep-")), runs)
        weakref.finalize(made, shutil.rmtree, made.folder, ignore_errors=True)
        return made

    @classmethod
    def open(cls, folder: str | os.PathLike[str], runs: int | None = None) -> Sweep:
        """The sweep of a folder.

        Raises:
            InputError: It is not the folder of a sweep.
        """
        mark = Path(folder) / MARK
        said = read_mark(mark, _LARGEST) if mark.exists() else {}
        if said.get("format") != _FORMAT or not isinstance(said.get("sweep"), dict):
            raise InputError(f"{os.fspath(folder)} is not the folder of a sweep")
        definition = Definition.load(said["sweep"], Path(said["folder"]))
        return cls(definition, Path(folder), said["runs"] if runs is None else runs)

    def resolve(self, progress: Progress | None = None) -> Plan:
        """Makes every scenario once, for :attr:`plan`.

        Raises:
            InputError: A point is not valid.
        """
        if "plan" not in self.__dict__:
            made = plan_for(self.definition, self.runs)
            made.resolve(progress)
            self.__dict__["plan"] = made
        return self.plan

    @cached_property
    def plan(self) -> Plan:
        """Its runs, after every scenario was made once."""
        made = plan_for(self.definition, self.runs)
        made.resolve()
        return made

    def find(self, key: str, seed: int | None = None) -> tuple[int, int]:
        """The point and the seed of a run, by the first digits of its key.

        Raises:
            InputError: There is no such run, or there are several points.
        """
        keys = self.plan.keys
        places = keys.str.starts_with(key).arg_true().to_list()
        if not places:
            raise InputError(f"the sweep has no run with the key {key}")
        if keys.gather(places).n_unique() > 1:
            raise InputError(f"{key} is the beginning of several keys: write more digits")
        point = places[0]
        first = int(self.plan.seeds[point])
        count = int(self.plan.counts[point])
        if seed is not None and not first <= seed < first + count:
            raise InputError(f"the runs of {key} have the seeds {first} to {first + count - 1}")
        return point, first if seed is None else seed

    def report(self) -> Path:
        """Draws the figures and writes the report of a finished sweep."""
        from slowstart.sweeps import page

        return page.write(self.folder, self._against(), self.plan, self.table)

    def figures(self) -> dict[str, Figure]:
        """The figures of the report as matplotlib objects, by the names of their files."""
        from slowstart.sweeps import figures

        definition = self._against()
        measures = figures.chosen(definition, self.table)
        return {each.name: each.figure for each in figures.draw(definition, self.table, measures)}

    def _against(self) -> Definition:
        if not self.baseline:
            return self.definition
        return replace(self.definition, baseline=self.baseline)

    def to_xarray(self) -> Any:
        """The table as an ``xarray.Dataset``, which needs the package xarray.

        Its dimensions are the keys of the grid, ``sample`` if there is one, ``run``, and ``flow``
        if there are several. A point of fewer runs, because nothing is random, has missing values.

        Raises:
            InputError: xarray is not installed.
        """
        from slowstart.sweeps import arrays

        return arrays.dataset(self.definition, self.plan, self.table)

    @property
    def archive(self) -> Archive:
        """Its finished runs, to read."""
        found = Archive(self.folder / RUNS)
        found.refresh()
        return found

    def status(self, shard: Shard = (1, 1)) -> Status:
        """How far it is."""
        return status(self.plan, self.archive, shard)

    def execute(
        self,
        *,
        shard: Shard = (1, 1),
        threads: int | None = None,
        on: str | None = None,
        progress: Progress | None = None,
    ) -> Status:
        """Makes the missing runs; see :func:`complete`."""
        plan = self.plan
        self._claim()
        return complete(plan, self.folder / RUNS, shard=shard, threads=threads, on=on,
                        progress=progress)  # fmt: skip

    def _claim(self) -> None:
        """Marks the folder as that of this sweep.

        Raises:
            InputError: It holds something else.
        """
        mark = self.folder / MARK
        if self.folder.exists() and not mark.exists():
            if not self.folder.is_dir():
                raise InputError(f"{self.folder} is not a folder")
            ours = (RUNS, f".{MARK}.")
            if any(not each.name.startswith(ours) for each in self.folder.iterdir()):
                raise InputError(f"the folder {self.folder} holds something other than a sweep")
        elif mark.exists() and read_mark(mark, _LARGEST).get("format") != _FORMAT:
            raise InputError(f"the folder {self.folder} is not that of a sweep")
        said = {
            "format": _FORMAT,
            "version": __version__,
            "sweep": self.definition.node.value,
            "folder": str(self.definition.folder.resolve()),
            "runs": self.runs,
        }
        try:
            with writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                replace_file(mark, json.dumps(said, indent=1) + "\n")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot write the folder {self.folder}: {reason}") from error

    def file(self, table: str = "flows") -> Path:
        """The Parquet file of a table."""
        return self.folder / f"{table}.parquet"

    def write(self) -> list[Path]:
        """Writes the tables as Parquet files; equal runs give equal bytes.

        Raises:
            RunError: Runs are missing.
        """
        archive = self.archive
        found = status(self.plan, archive)
        check_complete(found.total, found.missing, found.failed, self.folder)
        made = []
        for table in self.plan.tables:
            frame = self.plan.frame(archive, table)
            with output_file(self.file(table)) as file:
                frame.write_parquet(
                    file, compression="zstd", compression_level=3, row_group_size=BLOCK
                )
            made.append(self.file(table))
            if table == "flows":
                self.__dict__["table"] = frame
        return made

    @cached_property
    def table(self) -> pl.DataFrame:
        """The table of flows, once every run is made."""
        return self.read("flows")

    def read(self, table: str) -> pl.DataFrame:
        """One of the tables that the sweep keeps."""
        if table not in self.plan.tables:
            raise InputError(f"the sweep keeps no table {table}: name it in `tables`")
        if self.file(table).exists():
            return pl.read_parquet(self.file(table))
        return self.plan.frame(self.archive, table)


def sweep(
    definition: str | os.PathLike[str] | Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] | None = None,
    runs: int | None = None,
    shard: Shard = (1, 1),
    threads: int | None = None,
    on: str | None = None,
    progress: Progress | None = None,
    labels: Mapping[str, str] | None = None,
) -> Sweep:
    """See :func:`slowstart.sweep`."""
    made = Sweep.load(definition, folder, runs, labels)
    found = made.execute(shard=shard, threads=threads, on=on, progress=progress)
    if found.failed:
        raise RunError(f"{found.failed} runs failed: {'; '.join(found.reasons[:3])}")
    if not (found.missing if shard[1] == 1 else made.status().missing):
        made.write()
    return made
