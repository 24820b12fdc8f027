"""The numbers of the scorecard, and what stands out among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import metrics
from slowstart.evaluation.measures import MEASURES
from slowstart.evaluation.table import ORACLE, REFERENCE
from slowstart.report.exits import ideal
from slowstart.studies.estimates import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.evaluation.jobs import Cell, Runs
    from slowstart.evaluation.table import Criterion, Row, Table

# A flow that keeps less of its rate than this is starved.
_STARVED = 0.1


@dataclass(frozen=True)
class Value:
    """A number over runs: their median, or a fraction of them."""

    value: float
    low: float | None
    high: float | None
    confidence: float | None
    """Of the interval from ``low`` to ``high``; below six runs it is the range of the runs."""
    runs: int
    count: int
    """The flows (or links, or runs) behind it, and how many of them there are in all."""
    of: int
    censored: int = 0
    """How many of them count as at least the limit of the row."""
    at: str | None = None
    """The point of the scenario with this value, where the row asks for the worst."""


@dataclass(frozen=True)
class Card:
    """All numbers of an evaluation."""

    table: Table
    algorithm: str
    baselines: tuple[str, ...]
    quick: bool
    values: Mapping[Row, Mapping[str, Value]]
    """By row and algorithm; an algorithm without a value is absent."""

    @property
    def algorithms(self) -> list[str]:
        """The evaluated algorithm and the baselines."""
        return [self.algorithm, *self.baselines]

    def applies(self, row: Row, algorithm: str) -> bool:
        """Whether a row says anything about an algorithm."""
        return self.table.setups[row.setup].applies(algorithm)


class Reader:
    """Takes values from runs."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._by_setup: dict[str, list[tuple[int, Cell]]] = {}
        for place, cell in enumerate(runs.cells):
            self._by_setup.setdefault(cell.setup, []).append((place, cell))
        self._frames: dict[tuple[str, str, str | None], pl.DataFrame] = {}

    def _frame(self, setup: str, table: str, window: str | None) -> pl.DataFrame:
        """The rows of a scenario, with what the measures need to know about its paths."""
        key = (setup, table, window)
        if key not in self._frames:
            source = table if table in ("flows", "links") else "traffic"
            frame = self._runs.tables.get((setup, source), pl.DataFrame())
            if not frame.is_empty():
                if source == "traffic":
                    frame = frame.filter(pl.col("traffic") == table)
                if source == "links":
                    frame = frame.group_by("cell", "run", maintain_order=True).first()
                frame = frame.join(self._facts(setup), on="cell", how="left")
                if window is not None:
                    place = window.replace("-", "_")
                    frame = frame.with_columns(
                        window_bps=pl.col(f"rate_{place}"), window_rtt_ms=pl.col(f"rtt_{place}")
                    )
            self._frames[key] = frame
        return self._frames[key]

    def _facts(self, setup: str) -> pl.DataFrame:
        rows = []
        for place, cell in self._by_setup.get(setup, ()):
            entry = cell.job.scenario.resolved
            path = entry["path"]
            rows.append(
                {
                    "cell": place,
                    "base_rtt_ms": float(path["base_rtt_ms"]),
                    "bdp_bytes": float(path["bdp_bytes"]),
                    "packet_bytes": 1500.0 + path["forward"]["overhead_bytes"],
                    "duration_s": entry["duration_s"],
                }
            )
        return pl.DataFrame(rows, schema_overrides={"duration_s": pl.Float64, "cell": pl.Int64})

    def _selected(
        self, setup: str, algorithm: str | None, select: Mapping[str, Any]
    ) -> dict[int, Mapping[str, Any]]:
        """The cells with an algorithm and these labels, with all their labels."""
        chosen = {}
        for place, cell in self._by_setup.get(setup, ()):
            mine = cell.algorithm in (None, algorithm)
            wanted = {
                axis: value if isinstance(value, list) else [value]
                for axis, value in select.items()
                if axis in cell.labels
            }
            if mine and all(cell.labels[axis] in values for axis, values in wanted.items()):
                chosen[place] = cell.labels
        return chosen

    def _values(
        self, row: Row, setup: str, algorithm: str, axes: set[str] | None = None
    ) -> pl.DataFrame:
        """Columns point, place, run, flow, value; ``place`` is the point on ``axes`` alone."""
        known = MEASURES[row.measure]
        frame = self._frame(setup, known.table, row.window)
        empty = pl.DataFrame(
            schema={
                "point": pl.String, "place": pl.String, "run": pl.UInt32, "flow": pl.UInt32,
                "value": pl.Float64,
            }
        )  # fmt: skip
        chosen = self._selected(setup, algorithm, row.select)
        if frame.is_empty() or not chosen:
            return empty
        frame = frame.filter(pl.col("cell").is_in(list(chosen)))
        if row.flow is not None and "name" in frame.columns:
            frame = frame.filter(pl.col("name") == row.flow)
        if row.among is not None and axes is None:
            frame = frame.filter(MEASURES[row.among].expression.cast(pl.Float64) != 0)
        flow = pl.col("flow") if known.table == "flows" else pl.lit(0)
        points = {place: _point(labels, None) for place, labels in chosen.items()}
        places = {place: _point(labels, axes) for place, labels in chosen.items()}
        return frame.select(
            pl.col("cell").replace_strict(points, return_dtype=pl.String).alias("point"),
            pl.col("cell").replace_strict(places, return_dtype=pl.String).alias("place"),
            pl.col("run").cast(pl.UInt32),
            flow.cast(pl.UInt32).alias("flow"),
            known.expression.cast(pl.Float64).alias("value"),
        )

    def rows(self, row: Row, algorithm: str) -> pl.DataFrame:
        """The values of a row for an algorithm, one for each flow: point, run, flow, value."""
        mine = self._values(row, row.setup, algorithm)
        if row.limit is not None:
            mine = mine.with_columns(
                censored=pl.col("value").is_null(), value=pl.col("value").fill_null(row.limit)
            )
        if row.against is None or mine.is_empty():
            return mine.drop("place")
        setup, other_algorithm = row.setup, algorithm
        if row.against == ORACLE:
            other_algorithm = ideal(algorithm)
        elif row.against == REFERENCE:
            other_algorithm = REFERENCE
        else:
            # The flow in question is the first of its scenario, and so of the reference.
            setup = row.against
        # A reference without an axis stands for each of its points.
        axes = self._axes(setup) & self._axes(row.setup)
        labels = self._selected(row.setup, algorithm, row.select)
        places = {_point(each, None): _point(each, axes) for each in labels.values()}
        mine = mine.with_columns(place=pl.col("point").replace_strict(places))
        other = self._values(row, setup, other_algorithm, axes)
        keys = ["place", "run", "flow"]
        other = other.select(*keys, other="value")
        both = mine.join(other, on=keys, how="left", maintain_order="left")
        a, b = pl.col("value"), pl.col("other")
        higher = MEASURES[row.measure].better == "higher"
        combined = {
            "difference": a - b,
            "ratio": pl.when(b != 0).then(a / b),
            "harm": 100 * (b - a) / b if higher else 100 * (a - b) / a,
            "starved": (a < _STARVED * b).cast(pl.Float64),
        }[str(row.relation)]
        return both.with_columns(value=combined).drop("place", "other")

    def _axes(self, setup: str) -> set[str]:
        return {axis for _, cell in self._by_setup.get(setup, ()) for axis in cell.labels}

    def _worst(self, row: Row, algorithm: str, found: pl.DataFrame) -> Value:
        """The value at the point where it is worst; of several, at the first."""
        by_point: dict[str, Value] = {}
        for labels in self._selected(row.setup, algorithm, row.select).values():
            each = found.filter(pl.col("point") == _point(labels, None))
            value = _number(replace(row, over="mean"), each)
            if value is not None:
                by_point[", ".join(str(label) for label in labels.values())] = value
        pick = min if row.better == "higher" else max
        at = pick(by_point, key=lambda point: by_point[point].value)
        return replace(by_point[at], at=at)

    def value(self, row: Row, algorithm: str) -> Value | None:
        """The value of a row for an algorithm, if any run has one."""
        found = self.rows(row, algorithm)
        if row.over == "worst" and not found.drop_nulls("value").is_empty():
            return self._worst(row, algorithm, found)
        return _number(row, found)


def _number(row: Row, found: pl.DataFrame) -> Value | None:
    """The value of a row, if any run has one; ``found`` has the columns of :meth:`Reader.rows`."""
    there = found.drop_nulls("value")
    if there.is_empty():
        return None
    censored = int(found["censored"].sum()) if "censored" in found.columns else 0
    if row.over == "share":
        frame = there.with_columns(job=pl.col("point"), value=pl.col("value") > 0)
        made = estimate(frame, "share")
        scale = 100.0
    else:
        by_run = there.group_by("run", maintain_order=True).agg(_over(row.over).alias("value"))
        made = estimate(by_run.with_columns(job=pl.lit(0)), "median")
        scale = 1.0
    if made is None:
        return None
    low, high = made.low, made.high
    return Value(
        value=scale * made.value,
        low=None if low is None else scale * low,
        high=None if high is None else scale * high,
        confidence=made.confidence,
        runs=there["run"].n_unique(),
        count=len(there),
        of=len(found),
        censored=censored,
    )


def _point(labels: Mapping[str, Any], axes: set[str] | None) -> str:
    """A point of a grid, or what some axes say of it, as a word."""
    return repr(sorted(each for each in labels.items() if axes is None or each[0] in axes))


def _over(word: str) -> pl.Expr:
    """How the values of one run become one."""
    value = pl.col("value")
    if word == "p95":
        return value.quantile(0.95, "linear")
    if word == "gmean":
        return value.log().mean().exp()
    if word == "jain":
        return value.map_batches(
            lambda each: pl.Series([metrics.jain(each.to_list())]),
            return_dtype=pl.Float64, returns_scalar=True,
        )  # fmt: skip
    named: pl.Expr = getattr(value, word)()
    return named


def score(
    table: Table, runs: Runs, algorithm: str, baselines: Sequence[str], *, quick: bool
) -> Card:
    """The values of all rows; ``algorithm`` and ``baselines`` are in canonical form."""
    reader = Reader(runs)
    values: dict[Row, dict[str, Value]] = {}
    for criterion in table.criteria:
        for row in criterion.rows:
            for each in (algorithm, *baselines):
                found = reader.value(row, each)
                if found is not None:
                    values.setdefault(row, {})[each] = found
    return Card(table, algorithm, tuple(baselines), quick, values)


@dataclass(frozen=True)
class Outlier:
    """A row in which the algorithm lies outside the range of the baselines."""

    criterion: Criterion
    row: Row
    worse: bool | None
    """``None`` if neither direction is better."""
    value: Value
    baselines: tuple[float, float]
    """The smallest and the largest value of the baselines."""
    severity: float
    """The distance from the nearest, in units of the smallest that matters."""
    but: tuple[str, Value] | None = None
    """The only baseline that is not between."""


# With fewer baselines, "all but one" would say little.
_LEAST_FOR_BUT = 4


def outliers(card: Card) -> list[Outlier]:
    """The rows in which the algorithm is worse or better than every baseline.

    Headline rows come first, and of these the widest.

    A row counts if the difference from the nearest baseline is at least the row's ``stands_out``,
    and the interval of the algorithm does not include that baseline. After these follow headline
    rows in which the same holds for all baselines but one.
    """
    whole, but_one = [], []
    for criterion in card.table.criteria:
        for row in criterion.rows:
            values = card.values.get(row, {})
            mine = values.get(card.algorithm)
            others = {name: values[name] for name in card.baselines if name in values}
            if mine is None or row.stands_out is None or not others:
                continue
            found = _beyond(criterion, row, mine, others)
            if found is not None:
                whole.append(found)
            elif row.headline and len(others) >= _LEAST_FOR_BUT:
                order = sorted(others, key=lambda name: others[name].value)
                for but in (order[0], order[-1]):
                    rest = {name: each for name, each in others.items() if name != but}
                    found = _beyond(criterion, row, mine, rest)
                    if found is not None:
                        but_one.append(replace(found, but=(but, others[but])))

    def place(each: Outlier) -> tuple[bool, float]:
        return not each.row.headline, -each.severity

    return [*sorted(whole, key=place), *sorted(but_one, key=place)]


def _beyond(
    criterion: Criterion, row: Row, mine: Value, others: Mapping[str, Value]
) -> Outlier | None:
    """What stands out, if the value lies clearly outside the range of all others."""
    numbers = [each.value for each in others.values()]
    smallest, largest = min(numbers), max(numbers)
    if mine.value > largest:
        apart = mine.value - largest
        clear = mine.low is None or mine.low > largest
    else:
        apart = smallest - mine.value
        clear = mine.high is None or mine.high < smallest
    least = row.stands_out or 0.0
    if apart < least or not clear or apart <= 0:
        return None
    worse = None
    if row.better is not None:
        worse = (mine.value > largest) == (row.better == "lower")
    return Outlier(criterion, row, worse, mine, (smallest, largest), apart / (least or 1.0))
