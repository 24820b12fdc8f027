"""Searches the paths of a sweep for the one where a start-up does worst.

The file of a sweep says where to search: the ranges of its Latin hypercube are searched together,
and each combination of the values of its grid separately. The optimiser is differential evolution
(Storn and Price, "Differential Evolution - A Simple and Efficient Heuristic for Global Optimization
over Continuous Spaces", 1997) as scipy has it; its first generation is the Latin hypercube. A point
has the same seeds with both algorithms, which makes pairs of runs.

The largest of many noisy values is too large. The search therefore makes the lower end of the 95 %
interval of the median as large as it can, runs the best points again with other seeds, chooses one
by these runs, and reports a number from seeds that have served neither.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import labels, quantities
from slowstart._native import Scenario, median_interval
from slowstart._version import __version__
from slowstart.errors import InputError, RunError
from slowstart.report.exits import ideal
from slowstart.store.archive import Archive
from slowstart.store.output import output_file, replace_file, writing
from slowstart.studies.files import nearest
from slowstart.sweeps import execute
from slowstart.sweeps.search_space import (
    OBJECTIVES,
    SPACE,
    Candidate,
    Measured,
    Objective,
    Space,
    read_space,
)
from slowstart.sweeps.sweep import RUNS, plan_for

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from slowstart.studies.files import Scalar
    from slowstart.sweeps.definition import Definition

    Numbers = NDArray[np.float64]
    Progress = Callable[[int, int], object]

BUDGET = 30_000
_MARK = "worst.json"
_FORMAT = 1
_FINALISTS = 8
_CHOOSING, _REPORTING = 16, 32
"""Pairs of runs by which a finalist is chosen, and from which the number is reported."""
# The default of a scenario.
_TIME_LIMIT_S = 600.0


class Search:
    """A search, and the folder of its runs."""

    def __init__(
        self,
        space: Space,
        algorithms: tuple[str, str],
        objective: Objective,
        *,
        budget: int,
        runs: int,
        seed: int,
        folder: Path,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.space = space
        self.algorithms = algorithms
        self.objective = objective
        self.budget = budget
        self.runs = runs
        self.seed = seed
        self.folder = folder
        self.used = 0
        """Runs that the search has used, stored ones among them."""
        self.seen: list[Candidate] = []
        self._threads = threads
        self._progress = progress
        self._archive = Archive(folder / RUNS)
        limit = quantities.read(space.definition.base.get("time_limit"))
        self._limit_s = limit.value if limit is not None else _TIME_LIMIT_S

    def run(self) -> Worst:
        """Searches, and measures the worst point again.

        Raises:
            InputError: The folder cannot be written, or the budget is too small.
            RunError: A run failed.
        """
        size = 2 * self.runs * len(self.space.first)
        starts = len(self.space.starts)
        reserved = 2 * (_FINALISTS * _CHOOSING + _REPORTING)
        least = reserved + 2 * starts * size
        if self.budget < least:
            raise InputError(
                f"a budget of {self.budget} runs is too small: two generations of each of "
                f"{starts} combinations and the final runs need {least}"
            )
        self._claim()
        with self._archive:
            for start in range(starts):
                left = self.budget - reserved - self.used
                self._evolve(start, self.used + left // (starts - start), size)
            best = self._finalists()
            chosen = [self._measure(each, self.seed + self.runs, _CHOOSING) for each in best]
            winner = max(chosen, key=Measured.sure)
            fresh = self.seed + self.runs + _CHOOSING
            worst = self._measure(winner.candidate, fresh, _REPORTING)
        return Worst(self, worst, chosen, fresh)

    def _claim(self) -> None:
        if self.folder.exists():
            ours = (RUNS, "worst", f".{_MARK}", "search.")
            strangers = not self.folder.is_dir() or any(
                not each.name.startswith(ours) for each in self.folder.iterdir()
            )
            if strangers:
                raise InputError(f"{self.folder} holds something other than a search")

    def _evolve(self, start: int, end: int, size: int) -> None:
        """Searches one combination until ``end`` runs are used."""
        from scipy.optimize import differential_evolution

        def lost(places: Numbers) -> Numbers:
            # A column for each point; the optimiser minimises.
            found = self.evaluate(start, np.clip(places.T, 0.0, 1.0), self.seed, self.runs)
            rows = places.T.tolist()
            for row, each in zip(rows, found, strict=True):
                self.seen.append(Candidate(start, tuple(row), each.value))
            return np.array([-each.value for each in found])

        def stop(intermediate_result: Any) -> None:
            del intermediate_result  # scipy passes it by this name
            if self.used + size > end:
                raise StopIteration

        spans = len(self.space.definition.spans)
        differential_evolution(
            lost,
            [(0.0, 1.0)] * spans,
            init=self.space.first,
            rng=np.random.default_rng([self.seed, start]),
            maxiter=self.budget,
            tol=0.0,
            atol=1e-9,
            polish=False,
            updating="deferred",
            vectorized=True,
            callback=stop,
        )

    def _finalists(self) -> list[Candidate]:
        """The best points, each scenario once."""
        best: dict[tuple[int, str], Candidate] = {}
        order = sorted(self.seen, key=lambda each: each.value, reverse=True)
        for each in order:
            said = json.dumps(self.space.values(each.places))
            best.setdefault((each.start, said), each)
            if len(best) == _FINALISTS:
                break
        return list(best.values())

    def _measure(self, candidate: Candidate, seed: int, runs: int) -> Measured:
        places = np.array([candidate.places])
        return self.evaluate(candidate.start, places, seed, runs)[0].with_candidate(candidate)

    def evaluate(self, start: int, places: Numbers, seed: int, runs: int) -> list[_Pairs]:
        """The value of each point, a row of ``places``, over runs from ``seed`` on."""
        plan = plan_for(self.space.at(start, places, seed), runs)
        plan.resolve()
        archive = self._archive
        archive.refresh()
        before = self.used
        execute.local(plan, archive, plan.missing(archive), self._threads,
                      lambda done, _: self._tell(before + done))  # fmt: skip
        archive.refresh()
        if len(plan.missing(archive)):
            reasons = list(dict.fromkeys(archive.failures().values()))
            raise RunError(f"runs failed: {'; '.join(reasons[:3])}")
        self.used += plan.total
        self._tell(self.used)
        frame = plan.frame(archive)
        flows = len(frame) // plan.total
        point = np.repeat(np.arange(plan.count), plan.counts * flows)
        counted = pl.col("flow") > 0 if self.objective.others else pl.col("flow") == 0
        table = frame.with_columns(_point=point).filter(counted)
        times = (
            table.group_by("_point", "run", maintain_order=True)
            .agg(
                pl.col("fct_s").fill_null(self._limit_s).mean(),
                pl.col("completed").all(),
            )
            .partition_by("_point", maintain_order=True)
        )
        count = len(places)
        return [
            _Pairs.of(self.objective, times[place], times[count + place]) for place in range(count)
        ]

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, self.budget)


@dataclass(frozen=True)
class _Pairs:
    """The pairs of runs of a point."""

    mine: Numbers
    theirs: Numbers
    incomplete: tuple[int, int]
    values: Numbers

    @classmethod
    def of(cls, objective: Objective, mine: pl.DataFrame, theirs: pl.DataFrame) -> _Pairs:
        sides = [each["fct_s"].to_numpy() for each in (mine, theirs)]
        # Where nothing is random for one algorithm, its one run stands for all.
        most = max(map(len, sides))
        one, two = (np.broadcast_to(each, most) if len(each) == 1 else each for each in sides)
        left = tuple(int((~each["completed"]).sum()) for each in (mine, theirs))
        return cls(one, two, (left[0], left[1]), objective.of(one, two))

    @property
    def value(self) -> float:
        """What the search compares: the lower end of the interval, or the median without one."""
        _, low, _ = median_interval(self.values.tolist())
        return float(np.median(self.values)) if low is None else low

    def with_candidate(self, candidate: Candidate) -> Measured:
        _, low, high = median_interval(self.values.tolist())
        value = float(np.median(self.values))
        return Measured(
            candidate, self.mine.tolist(), self.theirs.tolist(), self.incomplete, value, low, high
        )


@dataclass
class Worst:
    """What a search found."""

    search: Search
    worst: Measured
    finalists: Sequence[Measured]
    seed: int
    """Of the first of the runs from which the number is reported."""

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self.search.folder

    @property
    def found(self) -> bool:
        """Whether the interval lies above no difference; without one, whether the number does."""
        return self.worst.sure() > self.search.objective.nothing

    def path(self, candidate: Candidate | None = None) -> dict[str, Scalar]:
        """The values of the worst point, or another one, by the name of the key."""
        at = candidate or self.worst.candidate
        space = self.search.space
        return {**space.labels(at.start), **space.values(at.places)}

    def scenarios(self) -> list[Scenario]:
        """The worst point with each of the two algorithms, with one run."""
        definition = self._definition()
        return [definition.scenario(0), definition.scenario(1)]

    def _definition(self) -> Definition:
        at = self.worst.candidate
        return self.search.space.at(at.start, np.array([at.places]), self.seed)

    def scenario_file(self) -> str:
        """The worst point as a scenario file, with the algorithm that does badly there."""
        named, against = self.search.algorithms
        runs = f"runs = {max(1, len(self.worst.mine))}\nseed = {self.seed}\n"
        about = f"# {self.sentence()}\n# The other algorithm: {against}\n"
        return f"{about}{runs}{self._definition().file_of(0)}".replace(
            'name = "sweep"', f"name = {json.dumps(f'worst of {named}')}", 1
        )

    def sentence(self) -> str:
        """The result in words."""
        one, two = self.search.algorithms
        worst, objective = self.worst, self.search.objective
        return objective.words.format(one, worst.said, two)

    @property
    def table(self) -> pl.DataFrame:
        """All points in the order of the search: a row each, with the best value until then."""
        space, seen = self.search.space, self.search.seen
        definition = space.definition
        columns: dict[str, list[Any]] = {"evaluation": list(range(1, len(seen) + 1))}
        heads = [space.labels(place) for place in range(len(space.starts))]
        for axis in definition.axes[:-1]:
            columns[axis.column()] = [heads[each.start][axis.name] for each in seen]
        for number, span in enumerate(definition.spans):
            columns[span.head().column()] = [span.quick(each.places[number])[1] for each in seen]
        values = [each.value for each in seen]
        columns["value"] = values
        columns["best"] = np.maximum.accumulate(values).tolist() if values else []
        return pl.DataFrame(columns)

    def document(self) -> dict[str, Any]:
        """The result as JSON."""
        search, worst = self.search, self.worst
        return {
            "format": _FORMAT,
            "version": __version__,
            "objective": search.objective.name,
            "unit": search.objective.unit,
            "algorithm": search.algorithms[0],
            "against": search.algorithms[1],
            "space": search.space.definition.about,
            "seed": search.seed,
            "runs_per_point": search.runs,
            "budget": search.budget,
            "runs": search.used,
            "evaluations": len(search.seen),
            "worst": {
                "path": self.path(),
                "value": worst.value,
                "ci95": None if worst.low is None else [worst.low, worst.high],
                "pairs": len(worst.mine),
                "first_seed": self.seed,
                "searched_value": worst.candidate.value,
                "found": self.found,
                "fct_s": {
                    "algorithm": float(np.median(worst.mine)),
                    "against": float(np.median(worst.theirs)),
                },
                "incomplete": {"algorithm": worst.incomplete[0], "against": worst.incomplete[1]},
            },
            "combinations": [
                {
                    "labels": search.space.labels(start),
                    "evaluations": len(mine),
                    "searched_value": max(each.value for each in mine),
                }
                for start, mine in self._by_start()
            ],
            "finalists": [
                {
                    "path": self.path(each.candidate),
                    "searched_value": each.candidate.value,
                    "value": each.value,
                    "ci95": None if each.low is None else [each.low, each.high],
                }
                for each in sorted(self.finalists, key=Measured.sure, reverse=True)
            ],
        }

    def _by_start(self) -> Iterator[tuple[int, list[Candidate]]]:
        for start in range(len(self.search.space.starts)):
            yield start, [each for each in self.search.seen if each.start == start]

    def write(self) -> list[Path]:
        """Writes ``worst.json``, ``worst.toml``, ``search.parquet`` and the picture.

        Raises:
            RunError: The disk is full.
        """
        from slowstart.figures.canvas import save
        from slowstart.sweeps import worst_figure

        folder = self.folder
        text = json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n"
        with writing(folder):
            with output_file(folder / "search.parquet") as file:
                self.table.write_parquet(file, compression="zstd", compression_level=3)
            replace_file(folder / "worst.toml", self.scenario_file())
            save(worst_figure.draw(self), folder, "worst", png=True)
            replace_file(folder / _MARK, text)
        return [folder / name for name in (_MARK, "worst.toml", "search.parquet", "worst.svg")]


def worst(
    algorithm: str,
    against: str | None = None,
    *,
    objective: str = "completion",
    space: str | os.PathLike[str] | None = None,
    budget: int = BUDGET,
    runs: int | None = None,
    seed: int | None = None,
    folder: str | os.PathLike[str],
    threads: int | None = None,
    progress: Progress | None = None,
) -> Worst:
    """Searches for the path where ``algorithm`` does worst, and resumes.

    Args:
        algorithm: The one that is searched for.
        against: What it is compared with; for ``cost`` nothing, because that is an ideal exit.
        objective: ``completion``: the ratio of completion times. ``cost``: the seconds lost against
            an ideal exit. ``harm``: the ratio of the completion times of a competing flow.
        space: The file of a sweep whose ranges and grid are searched; :data:`SPACE` by default.
        budget: The number of runs.
        runs: Seeds of each point during the search, instead of the file's.
        seed: Of the first run, and of the optimiser, instead of the file's.
        folder: Keeps every finished run, so that a call resumes, and has the results.
        threads: Number of runs in parallel; one per core by default.
        progress: Called with the number of runs made and the budget.

    Returns:
        The result. Equal arguments, and the same version of scipy, give the same bytes, with any
        number of threads.

    Raises:
        InputError: An argument is not valid.
        RunError: A run failed.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"unknown objective {objective}{nearest(objective, OBJECTIVES)}")
    chosen = OBJECTIVES[objective]
    mine = labels.canonical(algorithm)
    if chosen.name == "cost":
        if against is not None:
            raise InputError("cost compares with an ideal exit: name one algorithm only")
        theirs = ideal(mine)
    elif against is None:
        raise InputError(f"{objective} compares two algorithms: name the other one, too")
    else:
        theirs = labels.canonical(against)
    if mine == theirs:
        raise InputError(f"both algorithms are {mine}")
    for name, value in (("runs", runs), ("budget", budget)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}; it must be at least 1")
    room = read_space(SPACE if space is None else space, (mine, theirs), chosen)
    return Search(
        room, (mine, theirs), chosen, budget=budget, runs=runs or room.definition.runs,
        seed=room.definition.seed if seed is None else seed, folder=Path(folder), threads=threads,
        progress=progress,
    ).run()  # fmt: skip
