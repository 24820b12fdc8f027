"""Makes the runs of the scorecard: the points of each scenario, for each algorithm."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import stacks
from slowstart.errors import InputError
from slowstart.evaluation.table import (
    ALGORITHM,
    FOLDER,
    ORACLE,
    REFERENCE,
    ROUTERS,
    protocol,
)
from slowstart.report.exits import ideal
from slowstart.running import compare
from slowstart.studies.files import toml
from slowstart.studies.grid import points
from slowstart.studies.store import Extract, Job, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from slowstart._native import Scenario
    from slowstart.evaluation.table import Row, Setup, Table
    from slowstart.studies.files import Scalar
    from slowstart.studies.grid import Stack

    Progress = Callable[[int, int], object]

TABLES = ("flows", "links", "traffic")
BASELINES = ("cubic+hystart", "reno", "cubic+hystart++", "cubic+search", "bbr")
_SEED = 1
_LEAST_SETTLED_S = 1.0


@dataclass(frozen=True)
class Cell:
    """A point of a scenario's grid with an algorithm; ``None`` in a reference without one."""

    setup: str
    algorithm: str | None
    labels: Mapping[str, Scalar]
    job: Job


@dataclass
class Runs:
    """The cells, with the tables of their runs."""

    cells: list[Cell]
    tables: Mapping[tuple[str, str], pl.DataFrame] = field(default_factory=dict)
    """By scenario and table; the column ``cell`` is an index into ``cells``."""
    excluded: int = 0
    """Runs on the kernel that failed the timing self-check of the emulator."""


def canonical(algorithms: Iterable[str]) -> dict[str, str]:
    """The canonical form of each algorithm, without those that are the same.

    Returns:
        By the name as given.

    Raises:
        InputError: There is no such algorithm.
    """
    known: dict[str, str] = {}
    for each in algorithms:
        (scenario,) = compare("wired", each, size="1 kB")
        name = scenario.flows[0]
        if name not in known.values():
            known[each] = name
    return known


def cells(
    table: Table,
    algorithms: Sequence[str],
    *,
    quick: bool,
    runs: int | None = None,
    only: Callable[[Row], bool] = lambda _: True,
    stack: Stack = "simulated",
) -> list[Cell]:
    """The cells from which rows and figures for which ``only`` holds take values.

    Args:
        table: The criteria.
        algorithms: In canonical form.
        quick: Fewer points and repetitions.
        runs: Repetitions of each cell, instead of the scenario's.
        only: Which rows are wanted.
        stack: Where they run.

    Raises:
        InputError: A scenario of the table is wrong.
    """
    rows = [row for each in table.criteria for row in each.rows]
    drawn = [figure.row for each in table.criteria for figure in each.figures]
    chosen = [row for row in [*rows, *drawn] if only(row)]
    wanted: dict[str, set[str | None]] = {}
    for row in chosen:
        wanted.setdefault(row.setup, set()).add(row.against)
        if row.against not in (None, ORACLE, REFERENCE):
            wanted.setdefault(str(row.against), set())
    made = []
    for name, setup in table.setups.items():
        if name not in wanted:
            continue
        named: list[str | None] = [None] if setup.fixed else [*algorithms]
        if ORACLE in wanted[name]:
            named += [ideal(each) for each in algorithms]
        if REFERENCE in wanted[name]:
            named.append(REFERENCE)
        for algorithm in dict.fromkeys(named):
            if algorithm is not None and not setup.applies(algorithm):
                continue
            made += _cells_of(setup, algorithm, quick=quick, runs=runs, stack=stack)
    return [each for each in made if any(_needs(row, each) for row in chosen)]


def _needs(row: Row, cell: Cell) -> bool:
    """Whether a row takes values from a cell."""
    return cell.setup in (row.setup, row.against) and all(
        cell.labels[axis] in (value if isinstance(value, list) else [value])
        for axis, value in row.select.items()
        if axis in cell.labels
    )


def _cells_of(
    setup: Setup, algorithm: str | None, *, quick: bool, runs: int | None, stack: Stack
) -> list[Cell]:
    made = []
    extracts = _extracts(setup)
    for place, repeated in points(list(setup.axes), setup.runs):
        labels = {axis.name: point.label for axis, point in zip(setup.axes, place, strict=True)}
        if quick and any(labels[axis] not in values for axis, values in setup.kept.items()):
            continue
        tree = copy.deepcopy(dict(setup.base))
        for point in place:
            point.apply(tree)
        scenario = build(_named(tree, algorithm), setup)
        count = runs or repeated.of(stack, quick=quick)
        job = Job(scenario, count, stack, extracts=extracts)
        made.append(Cell(setup.name, algorithm, labels, job))
    return made


def _named(value: Any, algorithm: str | None) -> Any:
    """``value`` with the algorithm, and what it asks routers, in their places."""
    if isinstance(value, dict):
        return {key: _named(each, algorithm) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, algorithm) for each in value]
    if value == ROUTERS and algorithm is not None:
        return protocol(algorithm)
    return algorithm if value == ALGORITHM else value


def build(tree: Mapping[str, Any], setup: Setup) -> Scenario:
    """A scenario of the table.

    Raises:
        InputError: It is wrong.
    """
    text = "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in tree.items())
    try:
        made = stacks.read(text, name=setup.name, folder=str(FOLDER))
    except InputError as error:
        raise setup.node.refuse(f"scenario {setup.name}: {error}") from error
    return made.with_runs(runs=1, seed=_SEED)


def _extracts(setup: Setup) -> tuple[Extract, ...]:
    made: list[Extract] = []
    for low, high in setup.windows:
        made.append(Extract(f"rate_{low:g}_{high:g}", _rate(low, high), f"{low} {high}", False))
        made.append(Extract(f"rtt_{low:g}_{high:g}", _rtt(low, high), f"{low} {high}", False))
    if setup.share_bps is not None:
        fraction = 0.8 * setup.share_bps
        made.append(Extract("settled_s", _settled(fraction), f"{fraction}", False))
    return tuple(made)


def _delivered(series: pl.DataFrame, at_s: float) -> float:
    before = series.filter(pl.col("time_s") <= at_s)["delivered_bytes"].drop_nulls()
    return float(before[-1]) if len(before) else 0.0


def _rate(low: float, high: float) -> Callable[..., float | None]:
    def find(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
        return 8 * (_delivered(series, high) - _delivered(series, low)) / (high - low)

    return find


def _rtt(low: float, high: float) -> Callable[..., float | None]:
    def find(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
        inside = series.filter(pl.col("time_s").is_between(low, high))["rtt_ms"].drop_nulls()
        return None if inside.is_empty() else float(inside.quantile(0.95))  # type: ignore[arg-type]

    return find


def _settled(least_bps: float) -> Callable[..., float | None]:
    """The time from a flow's start to the end of the first second at a rate."""

    def find(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
        seconds = series.with_columns(
            second=((pl.col("time_s") - flow["start_s"]) // _LEAST_SETTLED_S).cast(pl.Int64)
        )
        ends = seconds.group_by("second", maintain_order=True).agg(
            pl.col("delivered_bytes").max().alias("bytes")
        )
        before = 0.0
        last = -1
        for second, count in ends.iter_rows():
            if second < 0 or count is None:
                continue
            rate = 8 * (count - before) / (_LEAST_SETTLED_S * max(1, second - last))
            if rate >= least_bps:
                return float(second + 1) * _LEAST_SETTLED_S
            before, last = float(count), second
        return None

    return find


def execute(
    made: Sequence[Cell],
    folder: Path,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    remaining: Callable[[float], object] | None = None,
    force: bool = False,
) -> Runs:
    """Makes the runs that ``folder`` does not have yet, and reads all of them.

    This is the only place of the scorecard where something runs.

    Raises:
        RunError: A run failed; finished runs are kept.
    """
    with Store(folder) as store:
        jobs = [each.job for each in made]
        store.complete(jobs, threads=threads, progress=progress, remaining=remaining, force=force)
        tables = {}
        excluded = 0
        by_setup: dict[str, list[int]] = {}
        for place, each in enumerate(made):
            by_setup.setdefault(each.setup, []).append(place)
        for name, places in by_setup.items():
            mine = [made[place].job for place in places]
            there = store.runs(mine)
            excluded += 0 if there.is_empty() else len(there.filter(~pl.col("counts")))
            counting = there.filter("counts").select("job", "run") if len(there) else None
            for table in TABLES:
                frame = getattr(store, table)(mine)
                if frame.is_empty() or counting is None:
                    continue
                frame = frame.join(counting, on=["job", "run"], how="semi", maintain_order="left")
                number = pl.Series(places, dtype=pl.Int64)
                frame = frame.with_columns(cell=number.gather(frame["job"]))
                tables[name, table] = frame
    return Runs(list(made), tables, excluded)
