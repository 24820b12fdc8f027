"""Paired comparisons of each algorithm with the baseline: effects, intervals and tests.

Run i of every algorithm has the same seed, and so the same channel realization: the difference of
such a pair has less scatter than that of two medians. The baseline is the first algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from slowstart import stats
from slowstart._native import median_interval
from slowstart.report import tables
from slowstart.report.tables import Cell, Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHANGE = 0.05
"""The difference for which the number of runs is given."""
_DIGITS = 2


@dataclass(frozen=True)
class Measure:
    """A measurement that is compared."""

    column: str
    head: str
    ratio: bool
    """Whether the effect is a ratio; otherwise it is a difference, because zeros are usual."""


_TIME = Measure("fct_s", "completion", ratio=True)
_GOODPUT = Measure("goodput_bps", "goodput", ratio=True)
_MEASURES = (
    Measure("segments_retransmitted", "retransmitted", ratio=False),
    Measure("rtt_p95_ms", "95 % of RTTs", ratio=True),
)


@dataclass(frozen=True)
class Effect:
    """One algorithm against the baseline over one path, in one measurement."""

    path: str
    name: str
    baseline: str
    measure: Measure
    pairs: int
    value: float | None
    """The median of the ratios or differences; ``None`` without pairs."""
    low: float | None
    high: float | None
    p: float | None
    """Of Wilcoxon's signed-rank test."""
    p_holm: float | None
    """The same, adjusted over all tests of the comparison."""
    needed: int | None
    """Runs that show a change of :data:`CHANGE`; ``None`` if that is unknown."""


def effects(flows: pl.DataFrame, baseline: str | None = None) -> list[Effect]:
    """All effects in a table of flows; flows match by path, run and number.

    Args:
        flows: The table of flows of a comparison.
        baseline: The name that the others are compared with; by default the first.
    """
    names = flows["name"].unique(maintain_order=True).to_list()
    if len(names) < 2:
        return []
    first = names[0] if baseline is None else baseline
    sized = flows["fct_s"].null_count() < len(flows)
    measures = (_TIME if sized else _GOODPUT, *_MEASURES)
    found = []
    for path in flows["path"].unique(maintain_order=True):
        here = flows.filter(pl.col("path") == path)
        base = here.filter(pl.col("name") == first)
        for name in names:
            mine = here.filter(pl.col("name") == name)
            if name == first or mine.is_empty() or base.is_empty():
                continue
            found += [_effect(path, name, first, each, mine, base) for each in measures]
    tested = [each for each in found if each.p is not None]
    adjusted = iter(stats.holm([each.p or 0.0 for each in tested]))
    return [
        Effect(**{**vars(each), "p_holm": None if each.p is None else next(adjusted)})
        for each in found
    ]


def _effect(
    path: str, name: str, first: str, measure: Measure, mine: pl.DataFrame, base: pl.DataFrame
) -> Effect:
    keys = ["run", "flow"]
    value = pl.col(measure.column).cast(pl.Float64).alias("value")
    both = mine.select(*keys, value).join(base.select(*keys, value.alias("other")), on=keys)
    both = both.drop_nulls()
    if measure.ratio:
        both = both.filter(pl.col("other") > 0)
        values = (both["value"] / both["other"]).to_list()
    else:
        values = (both["value"] - both["other"]).to_list()
    middle, low, high = median_interval(values)
    # Flows of one run are not independent: the test needs one flow in each.
    alone = both["run"].n_unique() == len(both)
    p = stats.wilcoxon((both["value"] - both["other"]).to_list()) if alone else None
    needed = stats.pairs_needed(values, CHANGE) if measure.ratio and alone else None
    interval = (low, high) if alone else (None, None)
    return Effect(path, name, first, measure, len(values), middle, *interval, p, None, needed)


def _amount(effect: Effect, value: float) -> str:
    if effect.measure.ratio:
        value = 100 * (value - 1)
    shown = tables.number(abs(value), _DIGITS)
    sign = "" if float(shown) == 0 else "+" if value > 0 else "-"
    return sign + shown


def cell(effect: Effect) -> Cell:
    """The effect with its unit, and its interval and p-value as small print."""
    if effect.value is None:
        return Cell("-")
    shown = _amount(effect, effect.value) + (" %" if effect.measure.ratio else "")
    details = []
    if effect.low is not None and effect.high is not None:
        details.append(f"[{_amount(effect, effect.low)}, {_amount(effect, effect.high)}]")
    if effect.p_holm is not None:
        details.append(p_value(effect.p_holm))
    return Cell(shown, " ".join(details))


def p_value(p: float) -> str:
    """A p-value in words: ``p 0.021`` or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p {tables.number(p, _DIGITS)}"


def columns(found: Sequence[Effect]) -> list[Column]:
    """The columns of :func:`rows`."""
    measures = dict.fromkeys(each.measure for each in found)
    note = (
        "median over pairs of runs with the same seed, its 95 % interval, and the p-value of "
        "Wilcoxon's signed-rank test, adjusted over all tests of this comparison (Holm)"
    )
    return [
        Column(f"against {found[0].baseline}", "avoidance + start-up"),
        Column("pairs", "pairs of runs"),
        *(Column(each.head, ("ratio less 1: " if each.ratio else "difference: ") + note)
          for each in measures),
        Column(
            f"runs for {100 * CHANGE:g} %",
            f"runs that show a change of {100 * CHANGE:g} % in the first measurement at the 5 % "
            "level with 80 % power, if pairs scatter as these do",
        ),
    ]  # fmt: skip


def words(found: Sequence[Effect]) -> str:
    """What the numbers are, in one or two sentences."""
    tests = sum(each.p is not None for each in found)
    if not tests:
        return "Medians over pairs of runs with the same seed; too few pairs for a test."
    return (
        "Medians over pairs of runs with the same seed, with 95 % intervals. p: Wilcoxon's "
        f"signed-rank test, adjusted by Holm's method over {tests} tests."
    )


def rows(found: Sequence[Effect]) -> dict[str, list[list[Cell]]]:
    """The cells of :func:`columns` by path, one row for each algorithm but the baseline."""
    groups: dict[tuple[str, str], list[Effect]] = {}
    for each in found:
        groups.setdefault((each.path, each.name), []).append(each)
    made: dict[str, list[list[Cell]]] = {}
    for (path, name), some in groups.items():
        needed = some[0].needed
        made.setdefault(path, []).append(
            [
                Cell(name),
                Cell(str(max(each.pairs for each in some))),
                *map(cell, some),
                Cell("-" if needed is None else str(needed)),
            ]
        )
    return made


def frame(found: Sequence[Effect]) -> pl.DataFrame:
    """The effects as a table, with every digit."""
    rows: list[Mapping[str, object]] = [
        {
            "path": each.path,
            "name": each.name,
            "baseline": each.baseline,
            "measure": each.measure.column,
            "effect": "ratio" if each.measure.ratio else "difference",
            "pairs": each.pairs,
            "median": each.value,
            "low": each.low,
            "high": each.high,
            "p": each.p,
            "p_holm": each.p_holm,
            "runs_needed": each.needed,
        }
        for each in found
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
