"""Writes a result folder: the document, tables, figures and the report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import figure_style, plots
from slowstart._native import median_interval
from slowstart._version import __version__
from slowstart.figures import exchanges as exchange_plots
from slowstart.figures import networks as network_plots
from slowstart.figures import sharing as sharing_plots
from slowstart.figures import tradeoff
from slowstart.figures.runs import facts
from slowstart.planning import MOST_AT_A_SIZE, transferred
from slowstart.report import exits, pairs, sharing, tables
from slowstart.report import page as report
from slowstart.report.page import Drawing
from slowstart.store.output import RESULT, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from slowstart._native import Result, Scenario
    from slowstart.planning import Plan, Runs

BY_SIZE = "completion_by_size.csv"
SHARING = "sharing.csv"


def write(folder: Path, plan: Plan, runs: Runs) -> None:
    """Writes everything about ``runs`` to ``folder``, which exists and is empty."""
    overview, result = runs.overview, runs.main
    result.write_json(folder / RESULT)
    flows = runs.flows
    flows.write_parquet(folder / "flows.parquet")
    pl.DataFrame(result.links()).write_parquet(folder / "links.parquet")
    traffic = pl.DataFrame(result.traffic())
    if not traffic.is_empty():
        traffic.write_parquet(folder / "traffic.parquet")
    networks = {
        name: pl.DataFrame(getattr(result, name)())
        for name in ("networks", "network_drops", "nodes")
    }
    for name, frame in networks.items():
        if not frame.is_empty():
            frame.write_parquet(folder / f"{name}.parquet")
    exchanges = {
        name: pl.DataFrame(getattr(result, name)()) for name in ("responses", "epochs", "queues")
    }
    for name, frame in exchanges.items():
        if not frame.is_empty():
            frame.write_parquet(folder / f"{name}.parquet")
    pl.DataFrame(result.summary()).write_csv(folder / "summary.csv")
    if plan.traces:
        if not plan.kernel:
            # For slowstart export, which simulates a run again with its packets.
            exact = [json.loads(each.to_exact_json()) for each in plan.scenarios]
            made_by = {"version": __version__, "scenarios": exact}
            (folder / SCENARIOS).write_text(json.dumps(made_by) + "\n", encoding="utf-8")
        pl.DataFrame(result.flow_traces()).write_parquet(folder / "flow_traces.parquet")
        pl.DataFrame(result.link_traces()).write_parquet(folder / "link_traces.parquet")

    names = list(dict.fromkeys(row["name"] for row in overview["summary"]))
    paths = {each.path: each.resolved["path"] for each in plan.scenarios}
    painter = _Painter(folder, plan)
    painter.notes += [*tables.remarks(overview, plan.steady), *plan.notes, *runs.notes]
    kernel = None
    if plan.kernel:
        painter.notes.append(
            "This report has no figure of completion time against size, because only simulations "
            "repeat the runs with other sizes."
        )
        made = json.loads(runs.text)["runs"]
        kernel = report.kernel(made[0])
        left_out = sum(not each["counts"] for each in made)
        if left_out:
            painter.notes.append(
                f"Excluded: {left_out} of {len(made)} runs, which failed the "
                "emulator's timing self-check; result.json has the reasons."
            )
    for path, parts in runs.evolutions.items():
        painter.evolutions(path, facts(paths[path]), parts, names)
    by_size = _by_size(runs, flows)
    if by_size is not None:
        caption = (
            "Flow completion time against transfer size; each size has its own runs. Below: the "
            "ratio to the first algorithm in the same run, over the same channel. A difference "
            f"below {100 * plots.NEGLIGIBLE:.0f} % (grey) is negligible in practice."
        )
        count = min(overview["summary"][0]["runs"], MOST_AT_A_SIZE)
        by_size.with_columns(runs=pl.lit(count)).write_csv(folder / BY_SIZE)
        for name, some in pages("completion-by-size", by_size["path"].to_list()):
            part = by_size.filter(pl.col("path").is_in(some))
            painter.draw(name, None, caption, plots.completion_by_size, part, names, count)
    caption = "Empirical distribution functions (CDFs) over all flows of all runs."
    short = flows.with_columns(pl.col("path").map_elements(tables.short, return_dtype=pl.String))
    # A path on which nothing is random has one run, and one value has no distribution.
    several = short.filter((pl.col("run").n_unique() > 1).over("path"))
    for name, some in pages("distributions", several["path"].to_list()):
        part = short.filter(pl.col("path").is_in(some))
        painter.draw(name, None, caption, plots.distributions, part, names)
    for name, some in pages("throughput-delay", short.drop_nulls("rtt_p95_ms")["path"].to_list()):
        part = short.filter(pl.col("path").is_in(some))
        painter.draw(name, None, tradeoff.CAPTION, tradeoff.throughput_delay, part, names)
    caption = (
        "Slow-start exits: early (before the bottleneck was busy for one base RTT), at the "
        "chokepoint (after that, without a loss), or late (because of a loss). Error bars are 95 % "
        "Wilson intervals."
    )
    classed = filter(tables.has_exit_classes, overview["summary"])
    rows = [{**row, "path": tables.short(row["path"])} for row in classed]
    for name, some in pages("exit-shares", [row["path"] for row in rows]):
        mine = [row for row in rows if row["path"] in some]
        painter.draw(name, None, caption, plots.exit_shares, mine, names)
    _draw_networks(painter, networks["networks"], networks["nodes"])
    _draw_exchanges(painter, exchanges)
    cost = _costs(folder, painter, plan, runs, names)
    judged = [name for name, path in paths.items() if exits.has_bottleneck(path)]
    simulated = flows.filter(
        pl.col("startup_queue_max_packets").is_not_null() & pl.col("path").is_in(judged)
    )
    block = report.Block(
        exits.sentences(simulated, paths, cost),
        exits.rows(simulated, paths, cost),
        exits.columns(cost),
    )
    report.write(
        folder, overview, plan.scenarios, painter.drawings, painter.notes, block, kernel,
        _pairs(folder, plan, flows), _sharing(folder, painter, plan, runs, names),
    )  # fmt: skip


def _sharing(
    folder: Path, painter: _Painter, plan: Plan, runs: Runs, names: Sequence[str]
) -> report.Shared:
    """How flows share the paths; writes and draws it."""
    found = sharing.shares(plan.scenarios, runs.main, runs.beside)
    if not found:
        return report.Shared()
    table = sharing.frame(found)
    table.write_csv(folder / SHARING)
    drawn = sharing_plots.mixed(table)
    if not drawn.is_empty():
        painter.draw("sharing", None, sharing_plots.CAPTION, sharing_plots.sharing, drawn, names)
    return report.Shared(sharing.rows(found), sharing.columns(found))


def _pairs(folder: Path, plan: Plan, flows: pl.DataFrame) -> report.Paired:
    """Compares each algorithm with the first, and writes the numbers to ``pairs.csv``."""
    found = pairs.effects(flows) if plan.paired else []
    if not found:
        return report.Paired()
    pairs.frame(found).write_csv(folder / "pairs.csv")
    return report.Paired(pairs.words(found), pairs.rows(found), pairs.columns(found))


def _costs(
    folder: Path, painter: _Painter, plan: Plan, runs: Runs, names: Sequence[str]
) -> pl.DataFrame:
    """What the exits cost in the main runs; writes and draws it for all sizes."""
    if not runs.oracles:
        return pl.DataFrame()
    main = exits.costs(plan.scenarios, runs.main, runs.oracles[None])
    parts = [main.with_columns(size_bytes=pl.lit(transferred(runs.flows)[0]))]
    for size, results in runs.sizes.items():
        for place, result in enumerate(results):
            one = exits.costs([plan.scenarios[place]], result, runs.oracles[size])
            parts.append(one.with_columns(size_bytes=pl.lit(size)))
    parts = [each for each in parts if len(each)]
    if not parts:
        return main
    whole = pl.concat(parts, how="vertical_relaxed")
    whole = whole.sort("size_bytes", maintain_order=True)
    whole.write_csv(folder / "exit_cost.csv")
    caption = (
        "Cost of the slow-start exit: completion time less that of the same run with an ideal exit "
        "(the start-up oracle), by size of the transfer: median and its 95 % interval. Below zero, "
        "the algorithm is faster than with an ideal exit, for example because it grows faster."
    )
    drawn = whole.drop_nulls("cost_s").with_columns(
        pl.col("path").map_elements(tables.short, return_dtype=pl.String)
    )
    for name, some in pages("exit-cost", drawn["path"].to_list()):
        part = drawn.filter(pl.col("path").is_in(some))
        painter.draw(name, None, caption, plots.exit_cost, part, names)
    return main


def _draw_networks(painter: _Painter, runs: pl.DataFrame, nodes: pl.DataFrame) -> None:
    """Draws what ad-hoc networks and constellations did."""
    if runs.is_empty():
        return
    caption = (
        "The whole network: payload delivered per second, mean delay of data packets, data packets "
        "delivered, copies lost, and energy used per second. Each point is a run, the line the "
        "median."
    )
    for path in runs["path"].unique(maintain_order=True):
        mine = runs.filter(pl.col("path") == path)
        slug = report.slug(path)
        painter.draw(f"network-{slug}", path, caption, network_plots.totals, mine)
        receivers = nodes.filter((pl.col("path") == path) & (pl.col("data_delivered") > 0))
        if not receivers.is_empty():
            words = "Payload delivered per second at each node that received any; mean over runs."
            painter.draw(f"nodes-{slug}", path, words, network_plots.nodes, receivers)


def _draw_exchanges(painter: _Painter, found: dict[str, pl.DataFrame]) -> None:
    """Draws the response times and queues of connections in which both sides write."""
    drawings = {
        "responses": (
            "response-times",
            """Time from the request to the last byte of the response, against the size of the \
response. Each point is a class of sizes; the time includes the acceptor's own wait.""",
            exchange_plots.response_times,
        ),
        "epochs": (
            "response-distributions",
            "Empirical distribution functions (CDFs) of the same times, by size of the response.",
            exchange_plots.response_cdfs,
        ),
        "queues": (
            "queues",
            """The fraction of the time in which a link's queue is no longer than this, without \
the packet in service.""",
            exchange_plots.queues,
        ),
    }
    for table, (called, caption, draw) in drawings.items():
        frame = found[table]
        if frame.is_empty():
            continue
        frame = frame.with_columns(pl.col("path").map_elements(tables.short, pl.String))
        for name, some in pages(called, frame["path"].to_list()):
            part = frame.filter(pl.col("path").is_in(some))
            painter.draw(name, None, caption, draw, part)


def pages(name: str, paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Splits ``paths`` over several figures; returns the name and paths of each figure."""
    each = list(dict.fromkeys(paths))
    parts = [
        each[begin : begin + plots.MOST_COLUMNS]
        for begin in range(0, len(each), plots.MOST_COLUMNS)
    ]
    return [(name + (f"-{number}" if number > 1 else ""), part)
            for number, part in enumerate(parts, 1)]  # fmt: skip


class _Painter:
    """Draws and saves figures, and collects their captions for the report."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder = folder
        self._plan = plan
        self._taken: set[str] = set()
        self._look = figure_style.current()
        self.drawings: list[Drawing] = []
        self.notes: list[str] = []

    def draw(
        self,
        name: str,
        path: str | None,
        caption: str,
        draw: Callable[..., Figure],
        *tables: object,
    ) -> None:
        """Draws, saves and keeps a figure, then with stacked panels for narrow screens."""
        while name in self._taken:
            name += "-more"
        self._taken.add(name)
        page = draw(*tables)
        caption = f"{caption} {plots.note_of(page)}".strip()
        # The width is that of the files: the page has the usual one.
        usual = replace(self._look, width_in=None, height_in=None, across=None)
        if usual == self._look:
            shown = plots.write_and_outline(page, self._folder, name)
        else:
            plots.write(page, self._folder, name)
        with figure_style.using(usual):
            if usual != self._look:
                page = draw(*tables)
                shown = plots.outlined(page)
            below = plots.stacked(page)
            narrow = None if below is None else plots.outlined(below)
            self.drawings.append(Drawing(name, path, caption, shown, narrow))

    def evolutions(
        self,
        path: str,
        facts: plots.PathFacts,
        parts: Sequence[tuple[Scenario, Result]],
        names: Sequence[str],
    ) -> None:
        """Draws the first valid run of each of ``parts``, which hold its time series."""
        columns = plots.columns_of(parts)
        many = plots.columns_on_a_page()
        for begin in range(0, len(columns), many):
            part = columns[begin : begin + many]
            number = begin // many + 1
            name = f"evolution-{report.slug(path)}" + (f"-{number}" if number > 1 else "")
            caption = (
                "The first run of each algorithm. Window: cwnd (solid), ssthresh (dashed), BDP and "
                "BDP + buffer in payload bytes (dotted). RTT: each sample, base RTT (dotted). "
                "Queue: packets queued at the bottleneck. Delivered: in-order bytes received by "
                "the application."
            )
            self.draw(name, path, caption, plots.evolution, facts, part, names)


def _by_size(runs: Runs, flows: pl.DataFrame) -> pl.DataFrame | None:
    """Completion times at the standard sizes, and at the size of the main runs.

    ``None`` if transfers completed at fewer than two sizes.
    """
    if not runs.sizes:
        return None
    rows: list[dict[str, Any]] = []
    for size, parts in runs.sizes.items():
        rows += _completions(size, parts)
    largest, whole = transferred(flows)
    if whole:
        rows += _completions(largest, [runs.main.select(place) for place in range(len(runs.main))])
    if len({row["size_bytes"] for row in rows}) < 2:
        return None
    return pl.DataFrame(rows, infer_schema_length=None)


def _completions(size: int, parts: Sequence[Result]) -> list[dict[str, Any]]:
    """One row for each part, that is, for one algorithm over one path."""
    base: dict[str, pl.DataFrame] = {}
    rows = []
    for part in parts:
        flows = pl.DataFrame(part.flows()).drop_nulls("fct_s")
        flows = flows.filter(pl.col("run") < MOST_AT_A_SIZE)
        if flows.is_empty():
            continue
        path = flows["path"][0]
        times = flows.select("run", "flow", "fct_s")
        both = times.join(base.setdefault(path, times), on=("run", "flow"), suffix="_first")
        ratios = both["fct_s"] / both["fct_s_first"]
        median, low, high = median_interval(flows["fct_s"].to_list())
        ratio, ratio_low, ratio_high = median_interval(ratios.to_list())
        rows.append(
            {
                "path": tables.short(path),
                "name": flows["name"][0],
                "size_bytes": float(size),
                "median_s": median,
                "low_s": low,
                "high_s": high,
                "ratio": ratio,
                "ratio_low": ratio_low,
                "ratio_high": ratio_high,
            }
        )
    return rows
