"""How flows that run at the same time share a path: shares, Jain's index, and harm.

Harm is the fraction of its goodput that a flow loses to others (Ware, Mukerjee, Seshan and Sherry
2019). Those of one name are run again alone, and with the others replaced by flows of their own
kind: an algorithm that does no more harm than the other's own kind is acceptable beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart._native import Scenario, median_interval
from slowstart.metrics import jain
from slowstart.report import tables
from slowstart.report.tables import Cell, Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slowstart._native import Result

ALONE, OWN_KIND = "alone", "own kind"
_KIND = ("algorithm", "stack", "settings", "application")
"""What a flow has from its kind; name, times, size and ends stay."""


@dataclass(frozen=True)
class Interval:
    """A median over runs with its 95 % interval."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Share:
    """The flows of one name in one scenario, or all of them."""

    path: str
    names: str
    """All names of the scenario, in order."""
    name: str
    """Empty for all flows."""
    flows: int
    goodput_bps: Interval
    """Mean of the flows, for all flows their sum."""
    share: Interval | None
    fair: float | None
    """The share if all flows had the same goodput."""
    jain: Interval | None
    harm: Interval | None = None
    own_harm: Interval | None = None
    """The harm by as many flows of its own kind."""


def _interval(values: Iterable[float | None]) -> Interval | None:
    known = [each for each in values if each is not None]
    median, low, high = median_interval(known)
    return None if median is None else Interval(median, low, high)


def _meet(flows: pl.DataFrame) -> bool:
    """Whether two flows of a run are open at the same time."""
    end = pl.col("start_s") + pl.col("fct_s").fill_null(float("inf"))
    spans = flows.sort("run", "start_s").select(
        "run", "start_s", end.cum_max().shift(1).over("run").alias("before")
    )
    return bool(spans.select((pl.col("start_s") < pl.col("before")).any()).item())


def shares(
    scenarios: Sequence[Scenario], main: Result, beside: Sequence[Result] = ()
) -> list[Share]:
    """The shares of each scenario in which flows are open at the same time.

    Args:
        scenarios: The scenarios that ran.
        main: Their result.
        beside: The results of :func:`others`, for the harm.
    """
    harms = dict(zip(_cases(scenarios), beside, strict=True)) if beside else {}
    found = []
    for place in range(len(scenarios)):
        flows = pl.DataFrame(main.select(place).flows())
        if flows["flow"].n_unique() < 2 or not _meet(flows):
            continue
        found += _of_scenario(place, flows, harms)
    return found


def _of_scenario(
    place: int, flows: pl.DataFrame, harms: Mapping[tuple[int, str, str], Result]
) -> list[Share]:
    names = flows["name"].unique(maintain_order=True).to_list()
    path, called = flows["path"][0], ", ".join(names)
    rate = pl.col("goodput_bps")
    every = flows.group_by("run", maintain_order=True).agg(rate.sum().alias("all"), rate)
    count = flows["flow"].n_unique()
    made = []
    for name in names if len(names) > 1 else ():
        own = (
            flows.filter(pl.col("name") == name)
            .group_by("run", maintain_order=True)
            .agg(rate.mean().alias("mean"), rate.sum().alias("sum"), rate)
            .join(every.select("run", "all"), on="run")
        )
        some = flows.filter(pl.col("name") == name)["flow"].n_unique()
        parts = own.filter(pl.col("all") > 0).select(pl.col("sum") / pl.col("all"))
        share = _interval(parts["sum"].to_list())
        within = _interval(map(jain, own["goodput_bps"].to_list())) if some > 1 else None
        alone = harms.get((place, name, ALONE))
        kind = harms.get((place, name, OWN_KIND))
        goodput = _interval(own["mean"].to_list())
        if goodput is None:
            continue
        made.append(
            Share(
                path, called, name, some, goodput, share, some / count, within,
                _harm(alone, own), None if kind is None else _harm(alone, _means(kind, name)),
            )
        )  # fmt: skip
    total = _interval(every["all"].to_list())
    if total is not None:
        index = _interval(map(jain, every["goodput_bps"].to_list()))
        made.append(Share(path, called, "", count, total, None, None, index))
    return made


def _means(result: Result, name: str) -> pl.DataFrame:
    flows = pl.DataFrame(result.flows()).filter(pl.col("name") == name)
    return flows.group_by("run", maintain_order=True).agg(
        pl.col("goodput_bps").mean().alias("mean")
    )


def _harm(alone: Result | None, beside: pl.DataFrame) -> Interval | None:
    """The fraction of the goodput of ``alone`` that ``beside`` lacks, run by run."""
    if alone is None:
        return None
    solo = pl.DataFrame(alone.flows()).group_by("run", maintain_order=True)
    both = solo.agg(pl.col("goodput_bps").mean().alias("solo")).join(
        beside.select("run", "mean"), on="run"
    )
    lost = both.filter(pl.col("solo") > 0).select(1 - pl.col("mean") / pl.col("solo"))
    return _interval(lost.to_series().to_list())


def _cases(scenarios: Sequence[Scenario]) -> list[tuple[int, str, str]]:
    """What :func:`others` makes, in order: the place of the scenario, the name, and the case."""
    return [
        (place, name, case)
        for place, scenario in enumerate(scenarios)
        for name in dict.fromkeys(scenario.flows)
        if len(set(scenario.flows)) > 1
        for case in (ALONE, OWN_KIND)
    ]


def others(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios for the harm: the flows of each name alone, and among their own kind."""
    return [_other(scenarios[place], name, case) for place, name, case in _cases(scenarios)]


def _other(scenario: Scenario, name: str, case: str) -> Scenario:
    whole: dict[str, Any] = json.loads(scenario.to_exact_json())
    mine = [flow for flow in whole["flows"] if flow["name"] == name]
    if case == ALONE:
        whole["flows"] = mine
    else:
        kind = {key: mine[0][key] for key in _KIND if key in mine[0]}
        whole["flows"] = [
            flow
            if flow["name"] == name
            else {**{key: flow[key] for key in flow if key not in _KIND}, **kind}
            for flow in whole["flows"]
        ]
    made = Scenario.from_exact_json(json.dumps(whole))
    return made if scenario.stack == "simulated" else made.on(scenario.stack, scenario.own)


def columns(found: Sequence[Share]) -> list[Column]:
    """The columns of :func:`rows`."""
    over = "median over runs and its 95 % interval"
    heads = [
        Column("flows together", "flows of one name; the last row has all flows of the scenario"),
        Column("number", "such flows in a run"),
        Column("goodput", f"mean of the flows, for all flows their sum: {over}"),
        Column("share", f"of the sum of all flows' goodputs: {over}"),
        Column("equal share", "the share if all flows had the same goodput"),
        Column(
            "Jain's index",
            f"1 if all have the same goodput, 1/n if one of n has everything: {over}",
        ),
    ]
    if any(each.harm for each in found):
        heads += [
            Column(
                "harm",
                f"fraction of their goodput that they lose to the others, run by run: {over}",
            ),
            Column(
                "harm by own kind",
                f"the same if the others are replaced by flows of their own kind: {over}",
            ),
        ]
    return heads


def rows(found: Sequence[Share]) -> dict[str, list[list[Cell]]]:
    """The cells of :func:`columns` by path."""
    made: dict[str, list[list[Cell]]] = {}
    with_harm = any(each.harm for each in found)
    for each in found:
        cells = [
            Cell(each.name or f"all of {each.names}"),
            Cell(str(each.flows)),
            _cell(each.goodput_bps, tables.rate),
            _cell(each.share, _percent),
            Cell("-" if each.fair is None else _percent(each.fair)),
            _cell(each.jain, tables.number),
        ]
        if with_harm:
            cells += [_cell(each.harm, _percent), _cell(each.own_harm, _percent)]
        made.setdefault(each.path, []).append(cells)
    return made


def _percent(fraction: float) -> str:
    return f"{tables.number(100 * fraction, 3)} %"


def _cell(interval: Interval | None, words: Callable[[float], str]) -> Cell:
    if interval is None:
        return Cell("-")
    if interval.low is None or interval.high is None:
        return Cell(words(interval.median))
    if interval.low == interval.high:  # Nothing is random in these runs.
        return Cell(words(interval.median))
    low, high = words(interval.low), words(interval.high)
    number, _, unit = low.partition(" ")
    if high.endswith(f" {unit}"):
        low, high = number, high.removesuffix(f" {unit}")
    return Cell(words(interval.median), f"[{low}, {high}]")


def frame(found: Sequence[Share]) -> pl.DataFrame:
    """The shares as a table, with every digit."""
    made: list[dict[str, object]] = []
    for each in found:
        row: dict[str, object] = {
            "path": tables.short(each.path),
            "names": each.names,
            "name": each.name or "all",
            "flows": each.flows,
            "equal_share": each.fair,
        }
        for key in ("goodput_bps", "share", "jain", "harm", "own_harm"):
            interval: Interval | None = getattr(each, key)
            row |= {
                key: None if interval is None else interval.median,
                f"{key}_low": None if interval is None else interval.low,
                f"{key}_high": None if interval is None else interval.high,
            }
        made.append(row)
    return pl.DataFrame(made, infer_schema_length=None)
