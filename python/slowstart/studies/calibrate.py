"""Searches the parameters of a study's networks that the published plain baseline allows.

Each point of a calibration (:mod:`slowstart.studies.calibration`) runs the baseline as often as the
study says, and has a weight (:mod:`slowstart.studies.weights`). The set is the fewest points that
hold 95 % of it. If another draw of the runs could give another set, the points that may be in it
run twice as often, up to the limit that the calibration states.

A weight compares points with each other. Whether a point meets the publication at all is a question
of its own. The distance of a point to a target is the difference of the two numbers beyond the
rounding of the print, in standard errors of that difference (both samples, and the target's model
discrepancy). A point meets the targets if none is farther than the bound that all of them together
exceed in one search of twenty (Bonferroni). A set without such a point says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.errors import InputError
from slowstart.store.output import replace_file, writing
from slowstart.studies.allowed import Allowed, Shipped, write_allowed
from slowstart.studies.calibration import FOLDER
from slowstart.studies.files import nearest
from slowstart.studies.measures import filtered
from slowstart.studies.store import Store
from slowstart.studies.weights import Sample, Weights, compared, weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from slowstart.studies.calibration import Calibration, Target
    from slowstart.studies.files import Scalar
    from slowstart.studies.study import Study

_RISK = 0.05


@dataclass(frozen=True)
class Tried:
    """A point, and how far the baseline at it is from the targets."""

    point: Mapping[str, Scalar]
    found: Mapping[str, float]
    """The value of each target; NaN if no run has one."""
    distances: Mapping[str, float]
    """In standard errors."""
    weight: float = 1.0
    error: float = 0.0
    """The standard error of the weight."""
    inside: bool = True
    """Whether the point is in the set."""

    @property
    def distance(self) -> float:
        """To the worst target."""
        return max(self.distances.values(), default=0.0)


@dataclass(frozen=True)
class Search:
    """The finished search of one calibration."""

    calibration: Calibration
    bound: float
    tried: tuple[Tried, ...]
    """The heaviest first."""
    allowed: Allowed

    def table(self) -> pl.DataFrame:
        """Every point, with the targets' values and distances."""
        return pl.DataFrame(
            [
                {
                    **each.point,
                    **{f"{name}": value for name, value in each.found.items()},
                    **{f"{name} (SE)": value for name, value in each.distances.items()},
                    "distance": each.distance,
                    "weight": each.weight,
                    "weight (SE)": each.error,
                    "allowed": each.inside,
                }
                for each in self.tried
            ],
            infer_schema_length=None,
        )


def search(
    study: Study,
    folder: Path,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    runs: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    command: str = "",
) -> list[Search]:
    """Runs the missing baselines, and writes the set of each calibration.

    Args:
        study: From :func:`slowstart.studies.load`.
        folder: The output folder. Its ``store/`` keeps the runs, so a killed search resumes; the
            sets and every point tried are written into its ``calibration/``.
        only: The calibrations to search; all by default.
        quick: Fewer runs of each point.
        runs: Runs of each point, instead of the study's number.
        threads: Number of simulations in parallel; one per core by default.
        progress: Called with the number of runs executed and their total.
        command: Named in the set as what made it.

    Raises:
        InputError: The study has no such calibration, or the folder cannot be used.
        RunError: A run failed.
    """
    known = study.calibrations
    if not known:
        raise InputError(f"{study.name} has no calibration.toml: there is nothing to calibrate")
    for name in only:
        if name not in known:
            raise InputError(f"{study.name} has no calibration {name}{nearest(name, known)}")
    chosen = [known[name] for name in (only or known)]
    done = []
    with Store(folder / "store") as store:
        for each in chosen:
            first = runs or each.runs.of("simulated", quick=quick)
            most = first if quick or runs else each.most
            runs_of = _Runs(study, each, store, threads, progress)
            tried, weights, count = _run(runs_of, first, most)
            shipped = _shipped(runs_of, count)
            done.append(conclude(each, tried, weights, count, shipped, command))
        with writing(folder):
            (folder / FOLDER).mkdir(exist_ok=True)
            for found in done:
                name = found.calibration.name
                replace_file(folder / FOLDER / f"{name}.toml", write_allowed(found.allowed))
                replace_file(folder / FOLDER / f"{name}.csv", found.table().write_csv())
    return done


@dataclass(frozen=True)
class _Runs:
    """Where the runs of a calibration are made and kept."""

    study: Study
    calibration: Calibration
    store: Store
    threads: int | None
    progress: Callable[[int, int], object] | None

    def samples(
        self, points: Sequence[Mapping[str, Scalar]], counts: Sequence[int]
    ) -> list[dict[str, Sample]]:
        """The samples of each target at each point, from so many runs."""
        targets = self.calibration.targets
        if not targets:
            return [{} for _ in points]
        jobs = [
            self.study.baseline(self.calibration, point, each)
            for point, each in zip(points, counts, strict=True)
        ]
        every = [job for mine in jobs for job in mine]
        self.store.complete(every, threads=self.threads, progress=self.progress)
        # Points of mixtures share most of their runs: they are read once.
        flows = self.store.flows(every)
        samples, place = [], 0
        for mine in jobs:
            rows = flows.filter(pl.col("job").is_between(place, place + len(mine) - 1))
            samples.append({each.name: _sample(each, rows) for each in targets})
            place += len(mine)
        return samples


def _run(runs: _Runs, first: int, most: int) -> tuple[list[Tried], Weights | None, int]:
    """Every point with its distances, their weights, and the runs of a point in the end."""
    calibration = runs.calibration
    if not calibration.targets:
        return [Tried(each, {}, {}) for each in calibration.points()], None, 0
    points = calibration.points()
    counts, count = [first] * len(points), first
    while True:
        samples = runs.samples(points, counts)
        weights = weigh(calibration.targets, samples, count)
        if weights.is_stable or count >= most:
            break
        count = min(2 * count, most)
        for candidate in weights.candidates:
            counts[candidate] = count
    tried = [_try(calibration, point, mine) for point, mine in zip(points, samples, strict=True)]
    return tried, weights, count


def _shipped(runs: _Runs, count: int) -> list[Shipped]:
    """How far each preset of a calibration is from its targets."""
    calibration = runs.calibration
    made = []
    for preset in calibration.presets if calibration.targets else ():
        point = calibration.at_preset(preset)
        if point is not None:
            (samples,) = runs.samples([point], [count])
            distance = _try(calibration, point, samples).distance
            made.append(Shipped(preset, point, distance, distance <= _bound(calibration)))
    return made


def conclude(
    calibration: Calibration,
    tried: Sequence[Tried],
    weights: Weights | None,
    runs: int,
    shipped: Sequence[Shipped],
    command: str,
) -> Search:
    """The set of the points tried: its chosen point, and a spread-out subset of the others.

    The chosen point is the preset's if the set has it, and otherwise the heaviest. Without targets
    every point weighs the same, and the calibration names the one to choose.
    """
    if weights is None:
        ranked = sorted(tried, key=lambda each: each.point != calibration.fixed)
        ranked = [replace(each, weight=1 / len(ranked)) for each in ranked]
    else:
        inside = set(weights.inside.tolist())
        every = [
            replace(each, weight=float(weight), error=float(error), inside=place in inside)
            for place, (each, weight, error) in enumerate(
                zip(tried, weights.of, weights.errors, strict=True)
            )
        ]
        ranked = sorted(every, key=lambda each: (-each.weight, each.distance))
    bound = _bound(calibration)
    allowed = [each for each in ranked if each.inside]
    if weights is not None:
        # A preset that is in the set stays: users and the study then have the same network.
        ours = [calibration.parts(each.point) for each in shipped]
        allowed.sort(key=lambda each: calibration.parts(each.point) not in ours)
    ranges: dict[str, tuple[Scalar, ...]] = {}
    for name, axis in calibration.parameters.items():
        values = sorted({each.point[name] for each in allowed}, key=axis.place)
        ranges[name] = tuple(values if axis.values else (values[0], values[-1]))
    judged = _spread(calibration, [each.point for each in allowed])
    made = Allowed(
        chosen=allowed[0].point,
        judged=tuple(judged),
        shares=_shares(calibration, [allowed[0].point, *judged], allowed),
        ranges=ranges,
        size=len(allowed),
        searched=len(ranked),
        runs=runs,
        low=1.0 if weights is None else weights.low,
        stable=weights is None or weights.is_stable,
        met=any(each.distance <= bound for each in allowed),
        distance=allowed[0].distance,
        found=allowed[0].found,
        reach={
            name: (min(values), max(values))
            for name in allowed[0].found
            for values in [[each.found[name] for each in allowed]]
        },
        presets=tuple(shipped),
        command=command,
        definition=calibration.definition,
    )
    return Search(calibration, bound, tuple(ranked), made)


def _shares(
    calibration: Calibration, judged: Sequence[Mapping[str, Scalar]], allowed: Sequence[Tried]
) -> tuple[float, ...]:
    """The part of the set's weight that is nearest to each judged point."""
    shares = [0.0] * len(judged)
    for each in allowed:
        gaps = [calibration.distance_between(each.point, one) for one in judged]
        shares[gaps.index(min(gaps))] += each.weight
    return tuple(share / sum(shares) for share in shares)


def _spread(calibration: Calibration, points: Sequence[Mapping[str, Scalar]]) -> list[Any]:
    """Points far from the first and from each other, each the farthest from those before it."""
    taken, rest = [points[0]], list(points[1:])
    while rest and len(taken) <= calibration.judged:
        far = max(
            rest, key=lambda each: min(calibration.distance_between(each, one) for one in taken)
        )
        taken.append(far)
        rest.remove(far)
    return taken[1:]


def _bound(calibration: Calibration) -> float:
    """The distance that the true point exceeds for some target with a probability of 5 %."""
    targets = len(calibration.targets)
    if not targets:
        return 0.0
    from scipy import stats as tests

    return float(tests.norm.ppf(1 - _RISK / 2 / targets))


def _try(
    calibration: Calibration, point: Mapping[str, Scalar], samples: Mapping[str, Sample]
) -> Tried:
    found, distances = {}, {}
    for target in calibration.targets:
        values = samples[target.name].values
        if len(values) < 2:
            found[target.name], distances[target.name] = math.nan, math.inf
            continue
        statistic = compared(values, target)
        found[target.name] = statistic.value
        error = math.hypot(statistic.error, target.discrepancy)
        beyond = max(0.0, abs(statistic.value - target.published) - target.rounding)
        distances[target.name] = beyond / error if error else (math.inf if beyond else 0.0)
    return Tried(point, found, distances)


def _sample(target: Target, flows: pl.DataFrame) -> Sample:
    """The values of the target's metric, with the numbers of their runs."""
    rows = filtered(flows, target.labels).select(
        value=pl.sql_expr(target.metric).cast(pl.Float64), run=pl.col("run").cast(pl.Int64)
    )
    if target.limit is not None:
        rows = rows.with_columns(pl.col("value").fill_null(target.limit))
    rows = rows.drop_nulls()
    return Sample(rows["value"].to_numpy(), rows["run"].to_numpy())
