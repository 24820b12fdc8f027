"""The runs of a comparison: those requested, and those that the figures of its report need.

There are three steps: a :class:`Plan` names the runs, :func:`execute` makes them, and
:mod:`slowstart.report.artifacts` draws and writes their results without running anything.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from slowstart._native import Result, Scenario

    Progress = Callable[[int, int], object]

# Sizes at which a report compares completion times, in steps of 1, 2 and 5.
SIZES_MB = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Runs of each scenario in the figure of several sizes. More would not move a median visibly.
MOST_AT_A_SIZE = 1000
# Time series of more segments than this, for one path or for all, would need gigabytes.
_MOST_OF_A_PATH, _MOST_OF_ALL = 3_000_000, 10_000_000


def steady(scenarios: Sequence[Scenario]) -> set[str]:
    """The paths on which nothing is random, whichever scenario runs there."""
    return {each.path for each in scenarios} - {each.path for each in scenarios if each.is_random}


def once(scenarios: Sequence[Scenario]) -> tuple[list[Scenario], list[str]]:
    """The scenarios, with one run on each path on which nothing is random, and these paths.

    All scenarios on a path keep as many runs as each other, because runs are compared one by one.
    """
    fixed = {each.path for each in scenarios if each.runs > 1} & steady(scenarios)
    chosen = [each.with_runs(runs=1) if each.path in fixed else each for each in scenarios]
    return chosen, [path for path in dict.fromkeys(each.path for each in chosen) if path in fixed]


def remark_once(paths: Sequence[str], runs: int) -> list[str]:
    """Says which paths :func:`once` ran once instead of ``runs`` times."""
    if not paths:
        return []
    names = ", ".join(tables.short(path) for path in paths)
    return [
        f"Nothing is random over {names}, so its one run stands for all {runs}: no interval there."
    ]


@dataclass(frozen=True)
class Plan:
    """The runs to make."""

    scenarios: Sequence[Scenario]
    report: bool = False
    """Write a report, with figures that need additional runs."""
    traces: bool = False
    """Keep the time series of every run."""
    kernel: bool = False
    """A kernel runs them; then no additional runs are made for figures."""
    at_size: Callable[[str], list[Scenario]] | None = None
    """Makes the same scenarios with another transfer size."""
    with_oracle: Callable[[str | None], list[Scenario]] | None = None
    """Makes the same scenarios with an ideal exit, at a transfer size or at their own."""
    beside: Sequence[Scenario] = ()
    """Further scenarios, for the harm (:func:`slowstart.report.sharing.others`)."""
    paired: bool = False
    """Each scenario is an algorithm over a path, and run i of all has the same seed."""
    remarks: Sequence[str] = ()
    """Sentences to print below the tables."""
    notes: Sequence[str] = ()
    """Sentences to print there, and to write into the report."""

    @property
    def keep(self) -> str:
        """Which runs keep their time series: ``none``, ``first`` or ``all``."""
        if not self.report:
            return "none"
        return "all" if self.traces else "first" if self.kernel else "none"

    @cached_property
    def steady(self) -> set[str]:
        """The paths on which all runs are equal."""
        return set() if self.kernel else steady(self.scenarios)

    @property
    def runs(self) -> int:
        """The number of requested runs."""
        return sum(each.runs for each in self.scenarios)

    @cached_property
    def ideal_runs(self) -> int:
        """The number of runs with an ideal exit at one size."""
        group = [] if self.with_oracle is None else self.with_oracle(None)
        return sum(min(each.runs, MOST_AT_A_SIZE) for each in group)

    def expected(self) -> int:
        """The total number of runs, as far as it is known before the first."""
        total = self.runs + self.ideal_runs + sum(each.runs for each in self.beside)
        if not self.report or self.kernel:
            return total
        if not self.traces:
            total += len(self.scenarios)
        if self.at_size is not None:
            flows = [flow for each in self.scenarios for flow in each.resolved["flows"]]
            largest = min((flow["size_bytes"] or 0) for flow in flows)
            sizes = len(_below(largest, whole=True))
            total += (self.runs_at_a_size + self.ideal_runs) * sizes
        return total

    @property
    def runs_at_a_size(self) -> int:
        """The number of runs at each other size."""
        return sum(min(each.runs, MOST_AT_A_SIZE) for each in self.scenarios)


@dataclass
class Runs:
    """The results of a plan."""

    main: Result
    evolutions: dict[str, list[tuple[Scenario, Result]]] = field(default_factory=dict)
    """By path: each scenario, with a result that holds the time series of its first run."""
    sizes: dict[int, list[Result]] = field(default_factory=dict)
    """By transfer size in bytes: one result for each scenario."""
    beside: list[Result] = field(default_factory=list)
    """The results of the plan's further scenarios."""
    oracles: dict[int | None, list[Result]] = field(default_factory=dict)
    """By transfer size (``None``: that of the main runs): results with an ideal exit."""
    notes: list[str] = field(default_factory=list)
    """Sentences of the report about omitted figures."""

    @cached_property
    def text(self) -> str:
        """The result document."""
        return self.main.to_json()

    @cached_property
    def overview(self) -> dict[str, Any]:
        """What tables in terminal and report show; see :mod:`slowstart.report.tables`."""
        overview: dict[str, Any] = json.loads(self.main.overview())
        return overview

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The table of the flows of the main runs."""
        import polars as pl

        return pl.DataFrame(self.main.flows())


def execute(
    plan: Plan,
    run_main: Callable[[str, Progress], Result],
    simulate: Callable[..., Result],
    progress: Progress,
) -> Runs:
    """Makes every run of ``plan``.

    Args:
        plan: The runs to make.
        run_main: Runs the plan's scenarios, keeping the given time series.
        simulate: Like :func:`slowstart.run`, for the additional runs of the figures.
        progress: Called with the number of finished runs and of all runs.
    """
    total = plan.expected()
    main = run_main(plan.keep, lambda done, _: progress(done, total))
    runs = Runs(main)
    done = plan.runs
    if plan.beside:
        result = simulate(plan.beside, progress=_from(done, total, progress))
        runs.beside = [result.select(place) for place in range(len(plan.beside))]
        done += sum(each.runs for each in plan.beside)
    if not plan.report:
        runs.oracles = _ideal(plan, (), simulate, _from(done, total, progress))
        return runs
    traced = _traceable(plan, runs)
    if plan.kernel or plan.traces:
        runs.evolutions = {
            path: [(plan.scenarios[place], main.select(place)) for place in places]
            for path, places in traced.items()
        }
        traced = {}
    groups = {} if plan.kernel else _sizes(plan, runs)
    total = done + sum(map(len, traced.values())) + plan.runs_at_a_size * len(groups)
    total += plan.ideal_runs * (len(groups) + 1)
    for path, places in traced.items():
        chosen = [plan.scenarios[place] for place in places]
        result = simulate(chosen, traces=True, runs=1, progress=_from(done, total, progress))
        done += len(chosen)
        parts = [(each, result.select(place)) for place, each in enumerate(chosen)]
        runs.evolutions[path] = parts
    if groups:
        every = [each for group in groups.values() for each in group]
        every = [each.with_runs(runs=min(MOST_AT_A_SIZE, each.runs)) for each in every]
        result = simulate(every, progress=_from(done, total, progress))
        position = 0
        for size, group in groups.items():
            runs.sizes[size] = [result.select(position + place) for place in range(len(group))]
            position += len(group)
        done += plan.runs_at_a_size * len(groups)
    runs.oracles = _ideal(plan, list(groups), simulate, _from(done, total, progress))
    return runs


def _ideal(
    plan: Plan, sizes: Sequence[int], simulate: Callable[..., Result], progress: Progress
) -> dict[int | None, list[Result]]:
    """Runs the scenarios with an ideal exit, at their own size and at ``sizes``."""
    make = plan.with_oracle
    if make is None:
        return {}
    found: dict[int | None, list[Result]] = {}
    whole: tuple[int | None, ...] = (None, *sizes)
    for number, size in enumerate(whole):
        group = make(None if size is None else f"{size} bytes")
        group = [each.with_runs(runs=min(MOST_AT_A_SIZE, each.runs)) for each in group]
        done = number * plan.ideal_runs
        result = simulate(group, progress=_from(done, 0, progress))
        found[size] = [result.select(place) for place in range(len(group))]
    return found


def _from(before: int, total: int, progress: Progress) -> Progress:
    """Reports the progress of a part of the runs as overall progress, after ``before`` others."""
    return lambda done, _: progress(before + done, total)


def _traceable(plan: Plan, runs: Runs) -> dict[str, list[int]]:
    """By path: the indices of its scenarios, if their first runs are short enough to draw."""
    groups: dict[str, list[int]] = {}
    for place, each in enumerate(plan.scenarios):
        groups.setdefault(each.path, []).append(place)
    if plan.kernel:
        return groups
    import polars as pl

    chosen, total = {}, 0
    for path, places in groups.items():
        first = runs.flows.filter((pl.col("path") == path) & (pl.col("run") == 0))
        segments = int(first["segments_sent"].sum())
        if segments > _MOST_OF_A_PATH:
            why = f"one run has more than {_MOST_OF_A_PATH // 1_000_000} million segments"
        elif total + segments > _MOST_OF_ALL:
            why = f"the figures above show {_MOST_OF_ALL // 1_000_000} million segments already"
        else:
            total += segments
            chosen[path] = places
            continue
        runs.notes.append(f"There is no figure of the evolution over {tables.short(path)}: {why}.")
    return chosen


def _below(largest: int, *, whole: bool) -> list[int]:
    """The standard sizes below ``largest``, and ``largest`` itself if not all completed it."""
    sizes = [round(mega * 1_000_000) for mega in SIZES_MB]
    return [size for size in sizes if size < largest or (size == largest and not whole)]


def _sizes(plan: Plan, runs: Runs) -> dict[int, list[Scenario]]:
    """The scenarios at the standard sizes below the size of the main runs."""
    if plan.at_size is None:
        return {}
    largest, whole = transferred(runs.flows)
    return {size: plan.at_size(f"{size} bytes") for size in _below(largest, whole=whole)}


def transferred(flows: pl.DataFrame) -> tuple[int, bool]:
    """The smallest number of bytes that a flow delivered, and whether all flows completed."""
    return int(flows["bytes_acked"].min()), bool(flows["completed"].all())  # type: ignore[arg-type]
