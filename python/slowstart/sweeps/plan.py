"""Which runs there are, which of them are stored, and what their tables say.

A :class:`Plan` is a sequence of points, each a scenario with a number of runs. It knows nothing of
axes: :func:`plan_of` makes one of any scenarios, and :class:`~slowstart.sweeps.sweep.Sweep` one of
a definition.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import planning
from slowstart._native import Scenario
from slowstart.store.runs import definition_key, sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from slowstart.store.archive import Archive
    from slowstart.studies.files import Scalar

    Columns = Mapping[str, Sequence[Scalar | None] | NDArray[Any]]

# Rows of a block, and so of a row group of the table.
BLOCK = 1 << 16
# Points whose scenarios are made at a time.
_PART = 1 << 13


@dataclass(frozen=True)
class Point:
    """A scenario, whose runs have the seeds from ``scenario.seed`` on."""

    scenario: Scenario
    runs: int = 1
    labels: Mapping[str, Scalar] = field(default_factory=dict)
    """What tables say about it."""


@dataclass
class Plan:
    """The runs of a sweep.

    Attributes:
        count: The number of points.
        scenarios: Makes the scenarios of some points, each with one run.
        runs: The number of runs of a point; one where nothing is random.
        columns: What the tables say about some points.
        tables: The tables to keep.
        text: The TOML of a point's scenario, and the folder of its traces; only a cluster needs it.
    """

    count: int
    scenarios: Callable[[Sequence[int]], Sequence[Scenario]]
    runs: int | Callable[[int], int]
    columns: Callable[[NDArray[np.int64]], Columns]
    tables: tuple[str, ...] = ("flows",)
    text: Callable[[int], str] | None = None
    folder: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """What tables say instead of some names of flows."""
    wanted: int = 1
    """The most runs that a point has where something is random."""
    modules: dict[str, str | None] = field(default_factory=dict)
    """The file of each start-up written in Python."""
    more: list[tuple[str, ...]] = field(default_factory=list)
    """What enters the keys of a point's runs, next to its scenario and the version."""

    def resolve(self, progress: Callable[[int, int], object] | None = None) -> None:
        """Makes every scenario once: this finds errors before anything runs, and the keys.

        Raises:
            InputError: A point is not valid.
        """
        keys: list[str] = []
        counts = np.ones(self.count, dtype=np.int64)
        seeds = np.zeros(self.count, dtype=np.uint64)
        kept = () if self.tables == ("flows",) else (f"tables {' '.join(self.tables)}",)
        self.modules = {}
        self.more = []
        for begin, scenarios, definitions in self._made():
            for point, scenario, definition in zip(
                range(begin, self.count), scenarios, definitions, strict=False
            ):
                more = kept
                for each in sources(definition):
                    more = (*more, each.said)
                    self.modules[each.name] = each.file
                keys.append(definition_key(definition, "simulated", more))
                self.more.append(more)
                runs = self.runs if isinstance(self.runs, int) else self.runs(point)
                self.wanted = max(self.wanted, runs)
                if runs > 1 and planning.is_random(scenario):
                    counts[point] = runs
                seeds[point] = scenario.seed
            if progress is not None:
                progress(begin, self.count)
        self.keys = pl.Series("key", keys, dtype=pl.String)
        self.counts = counts
        self.seeds = seeds
        self.begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])

    def _made(self) -> Iterator[tuple[int, Sequence[Scenario], Sequence[str]]]:
        """The scenarios of all points with their definitions, by the number of the first one.

        While one part is hashed, all cores make the next one.
        """

        def make(begin: int) -> tuple[int, Sequence[Scenario], Sequence[str]]:
            scenarios = self.scenarios(range(begin, min(begin + _PART, self.count)))
            return begin, scenarios, Scenario.definitions(scenarios)

        with ThreadPoolExecutor(1) as making:
            coming: Future[tuple[int, Sequence[Scenario], Sequence[str]]] | None = None
            for begin in range(0, self.count, _PART):
                following = making.submit(make, begin)
                if coming is not None:
                    yield coming.result()
                coming = following
            if coming is not None:
                yield coming.result()

    @property
    def total(self) -> int:
        """The number of runs."""
        return int(self.begins[-1])

    def units(self, begin: int, end: int) -> pl.DataFrame:
        """The runs ``begin`` to ``end``: unit, point, run, key and seed."""
        unit = np.arange(begin, end, dtype=np.int64)
        point = np.searchsorted(self.begins, unit, side="right") - 1
        run = unit - self.begins[point]
        return pl.DataFrame(
            {
                "unit": unit,
                "point": point,
                "run": run.astype(np.uint32),
                "seed": self.seeds[point] + run.astype(np.uint64),
            }
        ).with_columns(key=self.keys.gather(point))

    def missing(self, archive: Archive, shard: tuple[int, int] = (1, 1)) -> pl.DataFrame:
        """The runs of a shard that are not stored, as :meth:`units` has them, each once."""
        number, count = shard
        there = archive.index().select("key", "seed")
        frames = []
        for begin in range(0, self.total, 16 * BLOCK):
            units = self.units(begin, min(begin + 16 * BLOCK, self.total))
            if count > 1:
                units = units.filter(pl.col("unit") % count == number - 1)
            frames.append(units.join(there, on=["key", "seed"], how="anti", maintain_order="left"))
        if not frames:
            return self.units(0, 0)
        # Two points may have the same runs.
        return pl.concat(frames).unique(["key", "seed"], keep="first", maintain_order=True)

    def rows(self, archive: Archive, table: str = "flows") -> Iterator[pl.DataFrame]:
        """The rows of a table in the order of the plan, block by block, with ``columns``.

        Runs that are not stored have no rows. The blocks depend on the plan only.
        """
        index = archive.index()
        held: dict[int, pl.DataFrame] = {}
        for begin in range(0, self.total, BLOCK):
            units = self.units(begin, min(begin + BLOCK, self.total))
            found = units.join(index, on=["key", "seed"], how="inner", maintain_order="left")
            wanted = found["record"].unique().sort().to_list()
            for old in [each for each in held if each not in wanted]:
                del held[old]
            parts = []
            for place in wanted:
                if place not in held:
                    held[place] = archive.records[place].table(table).with_row_index("_row")
                mine = found.filter(pl.col("record") == place)
                parts.append(mine.join(held[place], on="at", how="inner"))
            if not parts:
                continue
            frame = pl.concat(parts).sort("unit", "_row")
            labels = self.columns(frame["point"].to_numpy())
            left = pl.DataFrame([pl.Series(name, values) for name, values in labels.items()])
            rest = frame.drop("unit", "point", "record", "at", "_row")
            measured = rest.drop("run", "seed", "key")
            measured = measured.drop([each for each in left.columns if each in measured.columns])
            if self.names and "name" in measured.columns:
                measured = measured.with_columns(pl.col("name").replace(self.names))
            yield pl.concat(
                [left, rest.select("run", "seed", "key"), measured], how="horizontal"
            ).rechunk()

    def frame(self, archive: Archive, table: str = "flows") -> pl.DataFrame:
        """All rows of a table."""
        frames = list(self.rows(archive, table))
        return pl.concat(frames, rechunk=False) if frames else pl.DataFrame()


def plan_of(points: Sequence[Point], tables: Sequence[str] = ("flows",)) -> Plan:
    """A plan of any scenarios; the labels become columns."""
    names = list(dict.fromkeys(name for each in points for name in each.labels))

    def columns(chosen: NDArray[np.int64]) -> Columns:
        return {name: [points[each].labels.get(name) for each in chosen] for name in names}

    return Plan(
        len(points),
        lambda chosen: [points[each].scenario for each in chosen],
        lambda point: points[point].runs,
        columns,
        tuple(dict.fromkeys(("flows", *tables))),
    )
