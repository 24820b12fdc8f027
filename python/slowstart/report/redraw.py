"""Draws the figures of a saved result again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import figure_style, plots
from slowstart.capacity_changes import carried, rate_changes, steps
from slowstart.errors import InputError
from slowstart.figures import colors, tradeoff
from slowstart.figures import exchanges as exchange_plots
from slowstart.figures import networks as network_plots
from slowstart.figures import rate_changes as change_plots
from slowstart.figures import sharing as sharing_plots
from slowstart.figures import visits as visit_plots
from slowstart.figures.runs import facts
from slowstart.report import page as report
from slowstart.report import tables
from slowstart.report.artifacts import BY_SIZE, SHARING, pages
from slowstart.report.kinds import NAMES, Kind
from slowstart.store.output import RESULT
from slowstart.visits import visits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    Drawn = Iterator[tuple[str, Figure]]


class Saved:
    """The folder of a result of ``compare`` or ``run``.

    Raises:
        InputError: It is not such a folder.
    """

    def __init__(
        self, folder: str, paths: Sequence[str] = (), algorithms: Sequence[str] = ()
    ) -> None:
        self.folder = Path(folder)
        try:
            self.document = json.loads((self.folder / RESULT).read_bytes())
            scenario = self.document["scenario"]
            self.summary: list[dict[str, Any]] = self.document["summary"]
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{folder} is not the folder of a result: write one with compare or run, -o DIR"
            ) from None
        self.scenarios: list[dict[str, Any]] = scenario.get("scenarios", [scenario])
        self.names = list(dict.fromkeys(row["name"] for row in self.summary))
        self.paths = {each["path"]["name"]: each["path"] for each in self.scenarios}
        self.every = self.names
        if algorithms:
            self.names = chosen("--algorithms", algorithms, {name: name for name in self.names})
        if paths:
            known = {each: name for name in self.paths for each in (name, tables.short(name))}
            kept = chosen("--paths", paths, known)
            self.paths = {name: self.paths[name] for name in kept}
        self.summary = [
            row for row in self.summary if row["path"] in self.paths and row["name"] in self.names
        ]

    def table(self, file: str, why: str) -> pl.DataFrame:
        """A table of the result.

        Raises:
            InputError: The folder does not have it, because ``why``.
        """
        place = self.folder / file
        if not place.is_file():
            raise InputError(f"{self.folder} has no {file}: {why}")
        try:
            found = pl.read_parquet(place) if file.endswith(".parquet") else pl.read_csv(place)
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(f"{place} is not a table") from None
        shown = [*self.paths, *map(tables.short, self.paths)]
        if "path" in found.columns:
            found = found.filter(pl.col("path").is_in(shown))
        if "name" in found.columns:
            left_out = [each for each in self.every if each not in self.names]
            found = found.filter(~pl.col("name").is_in(left_out))
        return found


def chosen(option: str, given: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """The names that the values of an option mean, each once; ``known`` has them by word.

    Raises:
        InputError: One of them is not known.
    """
    found = []
    for value in given:
        # The options of an algorithm have commas, too.
        words = [value] if value.strip() in known else value.split(",")
        for word in map(str.strip, words):
            if word not in known:
                shown = ", ".join(dict.fromkeys(known.values()))
                raise InputError(f"{option} {word}: the result has {shown}")
            found.append(known[word])
    return list(dict.fromkeys(found))


def _short(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("path").map_elements(tables.short, return_dtype=pl.String, skip_nulls=True)
    )


def _paged(name: str, table: pl.DataFrame, draw: Callable[[pl.DataFrame], Figure]) -> Drawn:
    for called, some in pages(name, table["path"].to_list()):
        yield called, draw(table.filter(pl.col("path").is_in(some)))


def _evolution(saved: Saved) -> Drawn:
    why = "make the result with --traces, which keeps the time series"
    flow_traces = saved.table("flow_traces.parquet", why)
    link_traces = saved.table("link_traces.parquet", why)
    flows = saved.table("flows.parquet", "it is incomplete")
    for name, path in saved.paths.items():
        columns = []
        for scenario in saved.scenarios:
            if scenario["path"]["name"] != name:
                continue
            called = [flow["name"] for flow in scenario["flows"]]
            algorithms = [flow["algorithm"] for flow in scenario["flows"]]
            here = (pl.col("path") == name) & pl.col("algorithm").is_in(algorithms)
            mine = flows.filter(here)
            if mine.is_empty():
                continue
            first = pl.col("run") == mine["run"][0]
            words = [" ".join(called), " ".join(dict.fromkeys(called))]
            links = first & (pl.col("path") == name) & pl.col("flows").is_in(words)
            columns.append(
                plots.Evolution(
                    called[0] if len(set(called)) == 1 else scenario["name"],
                    mine.filter(first).to_dicts(),
                    flow_traces.filter(here & first),
                    link_traces.filter(links),
                )
            )
        many = plots.columns_on_a_page()
        for number, begin in enumerate(range(0, len(columns), many), 1):
            suffix = f"-{number}" if number > 1 else ""
            part = columns[begin : begin + many]
            figure = plots.evolution(facts(path), part, saved.names)
            yield f"evolution-{report.slug(name)}{suffix}", figure


def _completion(saved: Saved) -> Drawn:
    why = "only simulated comparisons (slowstart compare) have it"
    table = saved.table(BY_SIZE, why)
    numeric = [each for each in table.columns if each not in ("path", "name", "runs")]
    table = table.with_columns(pl.col(each).cast(pl.Float64) for each in numeric)
    runs = int(table["runs"][0])
    yield from _paged(
        "completion-by-size",
        table,
        lambda part: plots.completion_by_size(part, saved.names, runs),
    )


def _distributions(saved: Saved) -> Drawn:
    table = _short(saved.table("flows.parquet", "it is incomplete"))
    if table.is_empty():
        raise InputError(f"{saved.folder} has no flows, whose distributions could be drawn")
    yield from _paged("distributions", table, lambda part: plots.distributions(part, saved.names))


def _throughput_delay(saved: Saved) -> Drawn:
    table = _short(saved.table("flows.parquet", "it is incomplete")).drop_nulls("rtt_p95_ms")
    if table.is_empty():
        raise InputError(f"{saved.folder} has no flow with an RTT")
    yield from _paged(
        "throughput-delay", table, lambda part: tradeoff.throughput_delay(part, saved.names)
    )


def _exit_shares(saved: Saved) -> Drawn:
    rows = [
        {**row, "path": tables.short(row["path"])}
        for row in saved.summary
        if tables.has_exit_classes(row)
    ]
    if not rows:
        raise InputError(f"{saved.folder} has no path with a bottleneck, by which exits are judged")
    for called, some in pages("exit-shares", [row["path"] for row in rows]):
        yield called, plots.exit_shares([row for row in rows if row["path"] in some], saved.names)


def _sharing(saved: Saved) -> Drawn:
    why = "only scenarios whose flows run at the same time have it"
    table = sharing_plots.mixed(saved.table(SHARING, why))
    if table.is_empty():
        raise InputError(f"{saved.folder} has no flows of two names that run at the same time")
    yield "sharing", sharing_plots.sharing(table, saved.every)


def _exit_cost(saved: Saved) -> Drawn:
    why = "only simulated comparisons of transfers (slowstart compare --size) have it"
    table = saved.table("exit_cost.csv", why)
    numbers = [each for each in table.columns if each.startswith("cost_")]
    table = table.with_columns(pl.col(each).cast(pl.Float64) for each in numbers)
    table = _short(table.drop_nulls("cost_s"))
    if table.is_empty():
        raise InputError(f"{saved.folder} has no transfer that completed, so no cost of an exit")
    yield from _paged("exit-cost", table, lambda part: plots.exit_cost(part, saved.names))


def _network(saved: Saved) -> Drawn:
    why = "only results over ad-hoc networks and constellations have it"
    table = saved.table("networks.parquet", why)
    for path in table["path"].unique(maintain_order=True):
        figure = network_plots.totals(table.filter(pl.col("path") == path))
        yield f"network-{report.slug(path)}", figure


def _rate_changes(saved: Saved) -> Drawn:
    why = "make the result with --traces, which keeps the time series"
    flow_traces = saved.table("flow_traces.parquet", why)
    link_traces = saved.table("link_traces.parquet", why)
    for name, path in saved.paths.items():
        end = float(flow_traces["time_s"].max() or 0)  # type: ignore[arg-type]
        found = steps(path, end)
        if not found:
            raise InputError(f"the path {name} does not change in {end:.3g} s")
        series, found_in = {}, []
        for scenario in saved.scenarios:
            called = list(dict.fromkeys(flow["name"] for flow in scenario["flows"]))
            if scenario["path"]["name"] != name or len(called) != 1 or called[0] not in saved.names:
                continue
            mine = flow_traces.filter((pl.col("path") == name) & (pl.col("name") == called[0]))
            words = [" ".join([*called] * len(scenario["flows"])), called[0]]
            links = link_traces.filter((pl.col("path") == name) & pl.col("flows").is_in(words))
            found_in.append(rate_changes(mine, links, path))
            first = links.filter(
                (pl.col("link") == "forward") & (pl.col("run") == links["run"].min())
            )
            series[called[0]] = carried(first, path)
        if not series:
            raise InputError(f"{saved.folder} has no scenario whose flows have one name")
        times = [0.0, *(each.at_s for each in found), found[-1].until_s]
        rates = [found[0].before_bps, *(each.after_bps for each in found), found[-1].after_bps]
        capacity = (times, [rate / 1e6 for rate in rates])
        base_s = path["base_rtt_ms"] / 1000
        changes = pl.concat(found_in)
        figure = change_plots.rate_changes(series, changes, capacity, base_s, saved.every)
        yield f"rate-changes-{report.slug(name)}", figure


def _visits(saved: Saved) -> Drawn:
    table = visits(saved.document)
    for name, path in saved.paths.items():
        mine = table.filter((pl.col("path") == name) & pl.col("name").is_in(saved.names))
        if mine.is_empty() or mine["visit"].max() == 1:
            raise InputError(
                f"{saved.folder} has no name with several flows over {name}: a client visits a "
                "server again with --flows N --stagger TIME"
            )
        figure = visit_plots.visits(mine, saved.every, _rates(mine, path))
        yield f"visits-{report.slug(name)}", figure


def _rates(table: pl.DataFrame, path: Mapping[str, Any]) -> dict[int, float]:
    """The rate of the bottleneck at the start of each visit, if it changes in steps (Mbit/s)."""
    end = float(table["start_s"].max()) + 1  # type: ignore[arg-type]
    if path.get("forward", {}).get("service", {}).get("kind") != "steps":
        return {}
    found = steps(path, end)
    starts = dict(table.select("visit", "start_s").iter_rows())
    return (
        {
            visit: next(
                (each.after_bps for each in reversed(found) if each.at_s <= at),
                found[0].before_bps,
            )
            / 1e6
            for visit, at in starts.items()
        }
        if found
        else {}
    )


def _exchange(
    kind: str, table: str, draw: Callable[[pl.DataFrame], Figure]
) -> Callable[[Saved], Drawn]:
    def drawn(saved: Saved) -> Drawn:
        why = "only scenarios whose traffic measures it have it"
        yield from _paged(kind, _short(saved.table(f"{table}.parquet", why)), draw)

    return drawn


KINDS: dict[Kind, Callable[[Saved], Drawn]] = {
    Kind.EVOLUTION: _evolution,
    Kind.COMPLETION: _completion,
    Kind.DISTRIBUTIONS: _distributions,
    Kind.EXIT_SHARES: _exit_shares,
    Kind.EXIT_COST: _exit_cost,
    Kind.SHARING: _sharing,
    Kind.THROUGHPUT_DELAY: _throughput_delay,
    Kind.NETWORK: _network,
    Kind.RATE_CHANGES: _rate_changes,
    Kind.VISITS: _visits,
    Kind.RESPONSE_TIMES: _exchange(Kind.RESPONSE_TIMES, "responses", exchange_plots.response_times),
    Kind.RESPONSE_DISTRIBUTIONS: _exchange(
        Kind.RESPONSE_DISTRIBUTIONS, "epochs", exchange_plots.response_cdfs
    ),
    Kind.QUEUES: _exchange(Kind.QUEUES, "queues", exchange_plots.queues),
}
"""By the name of a figure: what draws it from a saved result, on one or several pages."""


def redraw(
    result: str,
    kinds: list[str],
    folder: Path,
    paths: Sequence[str] = (),
    algorithms: Sequence[str] = (),
) -> list[str]:
    """Draws figures of the result in a folder in the current look; returns their files' names.

    Args:
        result: The folder of the result.
        kinds: Some of :data:`KINDS`.
        folder: Where to write.
        paths: The paths to draw; all by default.
        algorithms: The names to draw; all by default.

    Raises:
        InputError: A kind, path or algorithm is unknown, or the result does not have its data.
    """
    for kind in kinds:
        if kind not in NAMES:
            raise InputError(f"there is no figure {kind!r}: use {', '.join(NAMES)}")
    saved = Saved(result, paths, algorithms)
    made = []
    styles = colors.styles(saved.every)
    kept = tuple((name, styles[name].color) for name in saved.names)
    usual = figure_style.current()
    look = (
        usual
        if saved.names == saved.every
        else replace(usual, theme=replace(usual.theme, colors=kept))
    )
    with figure_style.using(look):
        for kind in dict.fromkeys(map(Kind, kinds)):
            for name, figure in KINDS[kind](saved):
                made += [each.name for each in plots.write(figure, folder, name)]
    return made
