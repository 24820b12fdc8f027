"""Searches the parameters of a study's networks that the published plain baseline allows.

Each point of a calibration (:mod:`slowstart.studies.calibration`) runs the baseline as often as the
study says. The distance of a point to a target is the difference of the two numbers beyond the
rounding of the print, in standard errors of that difference (both samples). A point is allowed if
no target is farther than the bound that all targets together exceed in one search of twenty
(Bonferroni). The nearest point is chosen. If no point is allowed, the set is the nearest one, and
it says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.errors import InputError
from slowstart.store.output import replace_file, writing
from slowstart.studies.calibration import FOLDER, Allowed, write_allowed
from slowstart.studies.files import nearest
from slowstart.studies.measures import filtered
from slowstart.studies.store import Store

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
    plain: float
    """The root mean square of the distances without the allowance for rounding: breaks ties."""

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
    """The nearest first."""
    runs: int
    allowed: Allowed

    @property
    def accepted(self) -> tuple[Tried, ...]:
        """The points within the bound."""
        return tuple(each for each in self.tried if each.distance <= self.bound)

    def table(self) -> pl.DataFrame:
        """Every point, with the targets' values and distances."""
        return pl.DataFrame(
            [
                {
                    **each.point,
                    **{f"{name}": value for name, value in each.found.items()},
                    **{f"{name} (SE)": value for name, value in each.distances.items()},
                    "distance": each.distance,
                    "allowed": each.distance <= self.bound,
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
        jobs = {
            each.name: [
                study.baseline(each, point, runs or each.runs.of("simulated", quick=quick))
                for point in each.points()
                if each.targets
            ]
            for each in chosen
        }
        every = [job for points in jobs.values() for point in points for job in point]
        store.complete(every, threads=threads, progress=progress)
        # Points of mixtures share most of their runs: they are read once.
        for each in chosen:
            mine = [job for point in jobs[each.name] for job in point]
            flows = store.flows(mine)
            tried, first = [], 0
            for point, own in zip(each.points(), jobs[each.name], strict=False):
                rows = flows.filter(pl.col("job").is_between(first, first + len(own) - 1))
                tried.append(_try(each, point, rows))
                first += len(own)
            count = sum(job.runs for mine in jobs[each.name][:1] for job in mine)
            done.append(conclude(each, tried, count, command))
        with writing(folder):
            (folder / FOLDER).mkdir(exist_ok=True)
            for found in done:
                name = found.calibration.name
                replace_file(folder / FOLDER / f"{name}.toml", write_allowed(found.allowed))
                replace_file(folder / FOLDER / f"{name}.csv", found.table().write_csv())
    return done


def conclude(calibration: Calibration, tried: Sequence[Tried], runs: int, command: str) -> Search:
    """The set of the points tried: its chosen point, and a spread-out subset of the others.

    Without targets every point is allowed, and the calibration names the one to choose.
    """
    if not calibration.targets:
        tried = [Tried(point, {}, {}, 0.0) for point in calibration.points()]
        ranked = sorted(tried, key=lambda each: each.point != calibration.fixed)
        bound = 0.0
    else:
        ranked = sorted(tried, key=lambda each: (each.distance, each.plain))
        bound = _bound(len(calibration.targets))
    inside = [each for each in ranked if each.distance <= bound]
    allowed = inside or ranked[:1]
    ranges: dict[str, tuple[Scalar, ...]] = {}
    for name, axis in calibration.parameters.items():
        values = sorted({each.point[name] for each in allowed}, key=axis.place)
        ranges[name] = tuple(values if axis.values else (values[0], values[-1]))
    made = Allowed(
        chosen=allowed[0].point,
        judged=tuple(_spread(calibration, [each.point for each in allowed])),
        ranges=ranges,
        size=len(allowed),
        searched=len(ranked),
        met=bool(inside),
        distance=allowed[0].distance,
        found=allowed[0].found,
        reach={
            name: (min(values), max(values))
            for name in allowed[0].found
            for values in [[each.found[name] for each in allowed]]
        },
        command=command,
        definition=calibration.definition,
    )
    return Search(calibration, bound, tuple(ranked), runs, made)


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


def _bound(targets: int) -> float:
    """The distance that the true point exceeds for some target with a probability of 5 %."""
    from scipy import stats as tests

    return float(tests.norm.ppf(1 - _RISK / 2 / targets))


def _try(calibration: Calibration, point: Mapping[str, Scalar], flows: pl.DataFrame) -> Tried:
    found, distances, raw = {}, {}, []
    for target in calibration.targets:
        value, error = _measure(target, flows)
        found[target.name] = value
        if math.isnan(value):
            distances[target.name] = math.inf
            raw.append(math.inf)
            continue
        gap = abs(value - target.published)
        beyond = max(0.0, gap - target.rounding)
        distances[target.name] = beyond / error if error else (math.inf if beyond else 0.0)
        raw.append(gap / error if error else (math.inf if beyond else 0.0))
    plain = math.sqrt(sum(each * each for each in raw) / len(raw)) if raw else 0.0
    return Tried(point, found, distances, plain)


def _measure(target: Target, flows: pl.DataFrame) -> tuple[float, float]:
    """The target's value in these runs, and the standard error of its difference."""
    rows = filtered(flows, target.labels).select(value=pl.sql_expr(target.metric))
    column = rows["value"].cast(pl.Float64)
    if target.limit is not None:
        column = column.fill_null(target.limit)
    values = column.drop_nulls().to_numpy()
    if len(values) < 2:
        return math.nan, math.nan
    return compared(values, target)


def compared(values: np.ndarray[Any, np.dtype[np.float64]], target: Target) -> tuple[float, float]:
    """A statistic of ``values``, and the standard error of its difference to the published one."""
    count, mean = len(values), float(np.mean(values))
    sd = float(np.std(values, ddof=1))
    if target.statistic == "mean":
        theirs = sd if target.sd is None else target.sd
        return mean, math.sqrt(theirs**2 / target.n + sd**2 / count)
    if target.statistic == "share":
        pooled = (mean * count + target.published * target.n) / (count + target.n)
        return mean, math.sqrt(pooled * (1 - pooled) * (1 / count + 1 / target.n))
    # The variance of a standard deviation depends on the fourth moment: ours serves for both.
    kurtosis = float(np.mean((values - mean) ** 4)) / max(float(np.var(values)), 1e-300) ** 2
    share = max(kurtosis - 1, 0.0) / 4
    return sd, math.sqrt(share * (target.published**2 / target.n + sd**2 / count))
