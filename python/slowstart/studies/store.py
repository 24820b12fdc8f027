"""Runs of a study's jobs, stored in a :class:`~slowstart.store.runs.RunStore`.

The store holds each run's rows of the tables of flows, links, background traffic, responses,
queues and networks, and time series only of the runs for which they are requested. Runs are
executed in batches of a few seconds.

>>> jobs = [Job(scenario, runs=20, labels={"network": "geo"}) for scenario in scenarios]
>>> with Store(folder) as store:
...     store.complete(jobs)
...     flows = store.flows(jobs)
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import vm
from slowstart._native import Scenario, check_linux, check_vm, run_batch, run_linux
from slowstart.running import on_stack
from slowstart.store.runs import RunStore, run_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from slowstart._native import Result
    from slowstart.studies.grid import Stack

    Progress = Callable[[int, int], object]

# Attempts at a run on the kernel, until one passes the timing self-check.
ATTEMPTS = 3
# The approximate duration of a batch: the most work that a kill can lose.
_BATCH_S = 2.0
_MOST_IN_BATCH = 2000
# The most runs whose time series are in memory at a time.
_MOST_TRACED = 64
_ALWAYS = (
    "flows", "links", "traffic", "responses", "queues", "networks", "network_drops", "nodes",
)  # fmt: skip
_TABLES = ("runs", *_ALWAYS, "flow_traces", "link_traces")


@dataclass(frozen=True)
class Extract:
    """A number computed from a flow's time series, so that these need not be stored.

    It becomes the column ``name`` of the table of flows.
    """

    name: str
    function: Callable[[Mapping[str, Any], pl.DataFrame, pl.DataFrame], float | None]
    """Its arguments are the flow's row, the flow's time series and those of the run's links."""
    version: str = "1"
    """Identifies ``function`` and its parameters: if it changes, finished runs are repeated."""
    links: bool = True
    """Whether ``function`` reads the time series of links; without, it gets an empty table."""
    columns: tuple[str, ...] | None = None
    """The columns of the flow's time series that ``function`` reads, which may be all that it gets;
    without, it gets all. Words in each row take most of the time to make them."""


def first(conditions: pl.Series) -> int | None:
    """The place of the first ``True``; ``None`` without one."""
    # Each ``arg_true`` would be a query of its own, which costs more than the search.
    place = conditions.arg_max()
    return place if place is not None and conditions[place] else None


def time_to(name: str, count: int) -> Extract:
    """The time from a flow's SYN until the receiving application has ``count`` bytes.

    Null for a flow that does not reach them. The resolution is that of the time series: one ACK.
    """

    def find(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
        place = first(series["delivered_bytes"] >= count)
        return None if place is None else float(series["time_s"][place]) - float(flow["start_s"])

    return Extract(
        name, find, f"time to {count}", links=False, columns=("time_s", "delivered_bytes")
    )


@dataclass(frozen=True)
class Job:
    """Runs of one scenario: run n has the seed ``scenario.seed + n``."""

    scenario: Scenario
    runs: int
    stack: Stack = "simulated"
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Columns added to its rows; they do not affect the runs."""
    traces: int = 0
    """The number of runs, counted from the first, whose time series are stored."""
    extracts: tuple[Extract, ...] = ()
    numbers: tuple[int, ...] | None = None
    """Which runs; the first ``runs`` by default. A mixture divides them between several jobs."""

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The numbers of its runs."""
        return tuple(range(self.runs)) if self.numbers is None else self.numbers

    @cached_property
    def key(self) -> str:
        """A hash of everything that its runs share."""
        extracts = (f"{each.name}:{each.version}" for each in self.extracts)
        return run_key(self.scenario, self.stack, extracts)

    @cached_property
    def simulation(self) -> str:
        """A hash of what determines its runs, whatever is computed from their time series."""
        return run_key(self.scenario, self.stack) if self.extracts else self.key


@dataclass(frozen=True)
class _Unit:
    """One run to be executed."""

    job: Job
    number: int
    traced: bool

    @property
    def seed(self) -> int:
        return self.job.scenario.seed + self.number

    @property
    def keeps(self) -> str:
        """Which time series it needs: ``all``, those of ``flows`` alone, or ``none``."""
        if self.traced or any(each.links for each in self.job.extracts):
            return "all"
        return "flows" if self.job.extracts else "none"


class Store(RunStore):
    """The folder. One process at a time may open it."""

    def __enter__(self) -> Self:
        super().__enter__()
        self._read_runs()
        return self

    # --- stored runs ---------------------------------------------------------------------------

    def _read_runs(self) -> None:
        """Reads the list of runs. Of duplicates, the run with time series is used."""
        runs = self.read("runs")
        if not runs.is_empty():
            runs = runs.sort("traced", "batch", descending=[True, False])
            runs = runs.unique(["key", "seed"], keep="first", maintain_order=True)
        self._runs = runs
        self._whole: dict[str, pl.DataFrame] = {}

    def missing(self, jobs: Sequence[Job]) -> int:
        """The number of runs of ``jobs`` that are not stored."""
        return len(self._pending(jobs))

    def _pending(self, jobs: Sequence[Job]) -> list[_Unit]:
        """The missing runs, ordered by run, then by job: early results cover all jobs."""
        there: dict[tuple[str, int], bool] = {}
        if not self._runs.is_empty():
            columns = self._runs.select("key", "seed", "traced").iter_rows()
            there = {(key, seed): traced for key, seed, traced in columns}
        wanted: dict[tuple[str, int], _Unit] = {}
        by_number: dict[int, list[Job]] = {}
        for job in jobs:
            for number in job.chosen:
                by_number.setdefault(number, []).append(job)
        for number in sorted(by_number):
            for job in by_number[number]:
                unit = _Unit(job, number, number < job.traces)
                place = (job.key, unit.seed)
                if place in there and there[place] >= unit.traced:
                    continue
                if place not in wanted or unit.traced:
                    wanted[place] = unit
        return list(wanted.values())

    # --- executing -----------------------------------------------------------------------------

    def complete(
        self,
        jobs: Sequence[Job],
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        remaining: Callable[[float], object] | None = None,
        attempts: int = ATTEMPTS,
        force: bool = False,
        switch_hystart: bool = False,
    ) -> None:
        """Executes the runs of ``jobs`` that are not stored yet.

        Args:
            jobs: The wanted jobs.
            threads: Number of simulations in parallel; one per core by default.
            progress: Called with the number of runs executed, and the number missing at the start.
            remaining: Called with an estimate of the remaining seconds: runs on the kernel execute
                one after the other, in real time.
            attempts: Number of attempts at a run on the kernel that fails the emulator's timing
                self-check. After the last, it is stored and excluded from statistics.
            force: Whether to include such runs.
            switch_hystart: As in :func:`slowstart.run`.

        Raises:
            InputError: The kernel or the user's permissions do not allow ``linux``, or the virtual
                machine of ``linux-vm`` is not complete.
            RunError: A run failed. All finished batches are stored.
        """
        pending = self._pending(jobs)
        total = len(pending)
        simulated = [unit for unit in pending if unit.job.stack == "simulated"]
        real = [unit for unit in pending if unit.job.stack == "linux"]
        virtual = [unit for unit in pending if unit.job.stack == "linux-vm"]
        for stack, units in (("linux", real), ("linux-vm", virtual)):
            if units:
                check_kernel(stack, [unit.job.scenario for unit in units], switch_hystart)
        done = 0

        def tell(so_far: int) -> None:
            if progress is not None:
                progress(done + so_far, total)

        groups = _same_simulation(simulated)
        for keep in ("all", "flows", "none"):
            left = [group for group in groups if _keeps(group) == keep]
            cores = threads or os.cpu_count() or 1
            most = _MOST_IN_BATCH if keep == "none" else _MOST_TRACED
            size = cores
            while left:
                batch, left = left[:size], left[size:]
                took = self._simulate(batch, keep, threads, tell)
                done += sum(map(len, batch))
                tell(0)
                size = max(cores, min(most, int(size * min(4.0, _BATCH_S / max(took, 1e-3)))))
        cores = threads or os.cpu_count() or 1
        for keep in ("all", "flows", "none"):
            units = [unit for unit in virtual if unit.keeps == keep]
            for place in range(0, len(units), cores):
                alone = [[unit] for unit in units[place : place + cores]]
                self._simulate(alone, keep, threads, tell, "linux-vm", force=force)
                done += len(alone)
                tell(0)
        expected = [real_time_s(unit.job.scenario) for unit in real]
        began, passed = time.monotonic(), 0.0
        for place, unit in enumerate(real):
            if remaining is not None:
                # Repeated attempts and overhead are extrapolated from the runs so far.
                took = (time.monotonic() - began) / passed if passed else 1.0
                remaining(max(1.0, took) * sum(expected[place:]))
                tell(0)
            self._measure(unit, attempts, force, switch_hystart)
            passed += expected[place]
            done += 1
            tell(0)
        self._read_runs()

    def _simulate(
        self,
        groups: Sequence[Sequence[_Unit]],
        keep: str,
        threads: int | None,
        tell: Callable[[int], None],
        stack: Stack = "simulated",
        *,
        force: bool = False,
    ) -> float:
        """Runs each group once and writes the rows of all its units."""
        scenarios = [_alone(group[0]) for group in groups]
        began = time.monotonic()
        result = on_stack(
            scenarios, stack, keep=keep, threads=threads, force=force,
            progress=lambda done, _: tell(done),
        )  # fmt: skip
        took = time.monotonic() - began
        outcomes = [
            _Outcome(unit, result.select(place), took / len(groups) / len(group))
            for place, group in enumerate(groups)
            for unit in group
        ]
        self._write(outcomes)
        return took

    def _measure(self, unit: _Unit, attempts: int, force: bool, switch_hystart: bool) -> None:
        began = time.monotonic()
        for attempt in range(max(1, attempts)):
            result = run_linux(
                [_alone(unit)],
                traces="none" if unit.keeps == "none" else "all",
                force=force,
                switch_hystart=switch_hystart,
            )
            if force or not result.untrusted() or attempt + 1 >= attempts:
                break
        self._write([_Outcome(unit, result, time.monotonic() - began)])

    def _write(self, outcomes: Sequence[_Outcome]) -> None:
        words = [f"{each.unit.job.key} {each.unit.seed} {each.unit.traced}" for each in outcomes]
        tables = {"runs": _table_of_runs(outcomes)}
        for table in _TABLES[1:]:
            made = [
                (each.unit, frame) for each in outcomes if (frame := each.table(table)) is not None
            ]
            if made:
                tables[table] = _labelled(made)
        self.write("\n".join(words), tables)

    # --- reading -------------------------------------------------------------------------------

    def runs(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """One row for each finished run of ``jobs``.

        ``counts``: whether statistics include it; ``reasons``: why not; ``facts``: further facts of
        a run on the kernel (JSON); ``wall_s``: its wall-clock time.
        """
        return self._rows("runs", jobs)

    def flows(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The table of flows, with ``job`` (an index into ``jobs``), labels and extracts."""
        return self._rows("flows", jobs, "flow")

    def links(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The table of links, with ``job`` and labels."""
        return self._rows("links", jobs, "link")

    def traffic(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The table of background traffic, with ``job`` and labels."""
        return self._rows("traffic", jobs, "traffic")

    def responses(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The table of responses by size, with ``job`` and labels."""
        return self._rows("responses", jobs, "traffic")

    def queues(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The percentiles of the queues, with ``job`` and labels."""
        return self._rows("queues", jobs, "link")

    def networks(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The table of ad-hoc networks and constellations, with ``job`` and labels."""
        return self._rows("networks", jobs)

    def network_drops(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The packets that such networks lost, by cause, with ``job`` and labels."""
        return self._rows("network_drops", jobs, "cause")

    def nodes(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The nodes of such networks, with ``job`` and labels."""
        return self._rows("nodes", jobs)

    def flow_traces(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The stored time series of flows, with ``job`` and labels."""
        if not any(job.traces for job in jobs):
            return pl.DataFrame()
        return self._rows("flow_traces", jobs, "flow", "time_s")

    def link_traces(self, jobs: Sequence[Job]) -> pl.DataFrame:
        """The stored time series of links, with ``job`` and labels."""
        if not any(job.traces for job in jobs):
            return pl.DataFrame()
        return self._rows("link_traces", jobs, "link", "time_s")

    def _stored(self, table: str, chosen: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table for the chosen keys, seeds and batches."""
        if table not in _ALWAYS:
            return self.read(table, chosen)
        # Each batch has runs of many experiments, and each experiment asks for its own. Time series
        # are large and of few runs.
        if table not in self._whole:
            self._whole[table] = self.read(table)
        whole = self._whole[table]
        if whole.is_empty():
            return whole
        return whole.join(chosen, on=["key", "seed", "batch"], how="semi", maintain_order="left")

    def _rows(self, table: str, jobs: Sequence[Job], *order: str) -> pl.DataFrame:
        if self._runs.is_empty() or not jobs:
            return pl.DataFrame()
        rows = self._runs.filter(pl.col("key").is_in([job.key for job in jobs]))
        if table != "runs":
            rows = self._stored(table, rows.select("key", "seed", "batch"))
        if rows.is_empty():
            return pl.DataFrame()
        wanted = pl.concat(
            [_wanted(place, job) for place, job in enumerate(jobs)], how="diagonal_relaxed"
        )
        # Runs are numbered within their job, a run may belong to several jobs, and a label
        # replaces a column of the same name.
        shadowed = set(wanted.columns) - {"key", "seed"}
        rows = rows.drop(shadowed, strict=False).with_row_index("_place")
        joined = wanted.join(rows, on=["key", "seed"], how="inner")
        joined = joined.sort("job", "run", *order[:1], "_place").drop("_place", "batch", "key")
        if table != "flows":
            return joined
        # Other jobs in the store may have different extracts.
        extracts = list(dict.fromkeys(each.name for job in jobs for each in job.extracts))
        first = [*wanted.columns, *run_batch([]).flows().column_names]
        columns = dict.fromkeys([*first, *extracts])
        return joined.select(name for name in columns if name in joined.columns)


def _wanted(place: int, job: Job) -> pl.DataFrame:
    numbers = job.chosen
    return pl.DataFrame(
        {
            "job": [place] * len(numbers),
            "key": [job.key] * len(numbers),
            "run": list(numbers),
            "seed": [job.scenario.seed + number for number in numbers],
            **{name: [value] * len(numbers) for name, value in job.labels.items()},
        },
        schema_overrides={"run": pl.UInt32, "seed": pl.UInt64},
    )


def _same_simulation(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """The units, those together that differ only in what is computed from one simulation."""
    groups: dict[tuple[str, int], list[_Unit]] = {}
    for unit in units:
        groups.setdefault((unit.job.simulation, unit.seed), []).append(unit)
    return list(groups.values())


def _keeps(units: Sequence[_Unit]) -> str:
    """The time series that one of the units needs."""
    needed = {unit.keeps for unit in units}
    return next(keep for keep in ("all", "flows", "none") if keep in needed)


def _alone(unit: _Unit) -> Scenario:
    return unit.job.scenario.with_runs(runs=1, seed=unit.seed)


def check_kernel(stack: str, scenarios: Sequence[Scenario], switch_hystart: bool = False) -> None:
    """Checks that the kernel of ``stack`` can run ``scenarios`` here.

    Raises:
        InputError: Something is missing.
    """
    if stack == "linux":
        check_linux(scenarios, switch_hystart=switch_hystart)
        return
    machine = vm.parts()
    if scenarios:
        check_vm(machine, scenarios)


def real_time_s(scenario: Scenario) -> float:
    """The approximate duration of a run in real time: until its last flow ends, plus a second."""
    entry = scenario.resolved
    path = entry["path"]
    rtt_s = (path.get("base_rtt_ms") or 0.0) / 1000
    ends = [1.0]
    for flow in entry["flows"]:
        lasts = flow["duration_s"]
        if lasts is None:
            # A few round trips of slow start, and the rest at the path's rate.
            rate = path.get("rate_bps") or 1e7
            lasts = 10 * rtt_s + 8.5 * (flow["size_bytes"] or 0) / rate
        ends.append(flow["start_s"] + lasts)
    limit = entry["duration_s"] or entry["time_limit_s"]
    return float(min(max(ends), limit)) + 1.0


_RUNS = {
    "end_s": pl.Float64,
    "counts": pl.Boolean,
    "reasons": pl.String,
    "facts": pl.String,
    "traced": pl.Boolean,
    "wall_s": pl.Float64,
}
"""The columns of the table of runs, next to those of :func:`_placed`."""


def _table_of_runs(outcomes: Sequence[_Outcome]) -> pl.DataFrame:
    """The table of runs."""
    rows = pl.DataFrame([each.run() for each in outcomes], schema=_RUNS)
    return _placed(rows, [each.unit for each in outcomes])


def _labelled(made: Sequence[tuple[_Unit, pl.DataFrame]]) -> pl.DataFrame:
    """The rows of several runs in one table. The labels of a job say which scenario a row is of."""
    rows = pl.concat([frame for _, frame in made], how="diagonal_relaxed")
    counts = [frame.height for _, frame in made]
    places = np.repeat(np.arange(len(made)), counts).tolist()
    return _placed(rows.drop("scenario", strict=False), [made[place][0] for place in places])


def _placed(rows: pl.DataFrame, units: Sequence[_Unit]) -> pl.DataFrame:
    """The rows with the run that each is of."""
    return rows.with_columns(
        pl.Series("key", [each.job.key for each in units], dtype=pl.String),
        pl.Series("seed", [each.seed for each in units], dtype=pl.UInt64),
        pl.Series("stack", [each.job.stack for each in units], dtype=pl.String),
    )


def _read_by(extracts: Sequence[Extract]) -> list[str] | None:
    """The columns of time series that the extracts read, and whose flow a row is of."""
    names = ["flow"]
    for each in extracts:
        if each.columns is None:
            return None
        names += each.columns
    return list(dict.fromkeys(names))


@dataclass(frozen=True)
class _Outcome:
    """A finished run, as rows."""

    unit: _Unit
    result: Result
    wall_s: float

    def table(self, name: str) -> pl.DataFrame | None:
        """The rows of a table; ``None`` if the run has none."""
        if name == "flows":
            return self._flows()
        if name not in _ALWAYS and not self.unit.traced:
            return None
        rows = getattr(self.result, name)()
        return pl.DataFrame(rows) if len(rows) or name == "links" else None

    def run(self) -> dict[str, Any]:
        """Its row of the table of runs, without its place."""
        (entry,) = json.loads(self.result.to_json())["runs"]
        known = {
            "run", "seed", "stack", "path", "end_s", "flows", "links", "traffic", "network",
            "counts",
        }  # fmt: skip
        facts = {name: value for name, value in entry.items() if name not in known}
        reasons = [reason for _, _, each in self.result.untrusted() for reason in each]
        return {
            "end_s": entry["end_s"],
            "counts": entry.get("counts", True),
            "reasons": "; ".join(reasons) or None,
            "facts": json.dumps(facts, sort_keys=True) if facts else None,
            "traced": self.unit.traced,
            "wall_s": self.wall_s,
        }

    def _flows(self) -> pl.DataFrame:
        flows = pl.DataFrame(self.result.flows())
        extracts = self.unit.job.extracts
        if not extracts:
            return flows
        if flows.is_empty():
            return flows.with_columns(
                pl.lit(None, dtype=pl.Float64).alias(each.name) for each in extracts
            )
        flow_series = pl.DataFrame(self.result.flow_traces(_read_by(extracts)))
        # The series of the links have most of a run's rows.
        reads_links = any(each.links for each in extracts)
        link_series = pl.DataFrame(self.result.link_traces()) if reads_links else pl.DataFrame()
        columns: dict[str, list[float | None]] = {each.name: [] for each in extracts}
        for row in flows.iter_rows(named=True):
            alone = flows.height == 1  # then all rows are of it
            mine = flow_series if alone else flow_series.filter(pl.col("flow") == row["flow"])
            for each in extracts:
                columns[each.name].append(each.function(row, mine, link_series))
        made = [pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()]
        return flows.with_columns(made)
