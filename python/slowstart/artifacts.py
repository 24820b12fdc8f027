"""What a folder of results holds: the document, tables, figures, the report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import plots, report, run, tables
from slowstart._native import median_interval
from slowstart.output import RESULT
from slowstart.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from slowstart import Result, Scenario

# Sizes of network-models D.1, and on in the same steps.
SIZES_MB = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# An evolution figure beyond this many segments would need gigabytes of series.
_MOST_TRACED_SEGMENTS = 3_000_000
# Panels beside each other, whatever they show: more would be shrunk on a page.
_COLUMNS = 4
# What a full segment carries with timestamps, of a full packet of 1500 bytes (DESIGN.md section 4).
_PAYLOAD, _PACKET = 1448, 1500


@dataclass(frozen=True)
class Drawing:
    """A figure that was saved under ``name``, with the words under it."""

    name: str
    path: str | None
    """The path it is about; ``None`` for all."""
    caption: str


def _facts(path: dict[str, Any]) -> plots.PathFacts:
    share = _PAYLOAD / (_PACKET + path["forward"]["overhead_bytes"])
    buffer = path["buffer_bytes"]
    return plots.PathFacts(
        name=tables.short(path["name"]),
        base_rtt_ms=path["base_rtt_ms"],
        bdp_payload_bytes=share * path["bdp_bytes"],
        buffer_payload_bytes=None if buffer is None else share * buffer,
        bottleneck=path["forward"]["name"],
        warm_up_s=path["warm_up_s"],
    )


def write(
    folder: Path,
    scenarios: Sequence[Scenario],
    result: Result,
    document_text: str,
    *,
    threads: int | None = None,
    quiet: bool = False,
    traces: bool = False,
    linux: bool = False,
    at_size: Callable[[str], list[Scenario]] | None = None,
) -> None:
    """Writes everything about ``result`` into ``folder``, which is there and empty.

    Args:
        folder: Where to.
        scenarios: What was run.
        result: What was measured.
        document_text: The result document.
        threads: Runs at a time, for the runs behind some figures.
        quiet: Whether no progress is shown.
        traces: Whether the time series of every run are written too.
        linux: Whether ``result`` is of a kernel. It then has the time series of each
            scenario's first run that counts, or of all; nothing is run for the figures.
        at_size: The same scenarios with transfers of another size, for the figure of completion
            time against size.
    """
    document = json.loads(document_text)
    (folder / RESULT).write_text(document_text + "\n", encoding="utf-8")
    flows = pl.DataFrame(result.flows())
    flows.write_parquet(folder / "flows.parquet")
    pl.DataFrame(result.links()).write_parquet(folder / "links.parquet")
    others = pl.DataFrame(result.traffic())
    if not others.is_empty():
        others.write_parquet(folder / "traffic.parquet")
    pl.DataFrame(result.summary()).write_csv(folder / "summary.csv")
    if traces:
        traced = result
        if not linux:
            with Meter("tracing", quiet=quiet) as meter:
                traced = run(scenarios, threads=threads, traces=True, progress=meter)
        pl.DataFrame(traced.flow_traces()).write_parquet(folder / "flow_traces.parquet")
        pl.DataFrame(traced.link_traces()).write_parquet(folder / "link_traces.parquet")

    names = list(dict.fromkeys(row["name"] for row in document["summary"]))
    resolved = [json.loads(each.to_json()) for each in scenarios]
    painter = _Painter(folder, quiet)
    if linux:
        painter.notes.append(
            "Runs of other sizes are not made on the kernel, so there is no figure of completion "
            "time against size."
        )
        left_out = sum(not each["counts"] for each in document["runs"])
        if left_out:
            painter.notes.append(
                f"Left out: {left_out} of {len(document['runs'])} runs, in which the emulator did "
                "not keep its bounds; result.json says why."
            )
    for path, indices in _by_path(scenarios).items():
        facts = _facts(resolved[indices[0]]["path"])
        if linux:
            measured = [(scenarios[i], result.select(i)) for i in indices]
            painter.measured_evolutions(path, facts, measured, names)
            continue
        painter.evolutions(path, facts, [scenarios[i] for i in indices], names, flows, threads)
    by_size = _by_size(document, result, None if linux else at_size, threads, quiet)
    if by_size is not None:
        caption = (
            "Flow completion time against the size of the transfer; each size is run by itself. "
            "Below: the ratio to the first algorithm in the same run, over the same channel; less "
            f"than {100 * plots.NEGLIGIBLE:.0f} % (grey) makes no difference in practice."
        )
        runs = document["summary"][0]["runs"]
        for name, some in _figures("completion-by-size", by_size["path"].to_list()):
            part = by_size.filter(pl.col("path").is_in(some))
            painter.draw(name, None, caption, plots.completion_by_size(part, names, runs))
    caption = "Empirical distributions over runs: for each value, the share of flows not above it."
    short = flows.with_columns(pl.col("path").map_elements(tables.short, return_dtype=pl.String))
    for name, some in _figures("distributions", short["path"].to_list()):
        part = short.filter(pl.col("path").is_in(some))
        painter.draw(name, None, caption, plots.distributions(part, names))
    caption = (
        "Where slow start ended: early (before the bottleneck was busy for one base RTT), at the "
        "chokepoint (after that, not because of a loss), or late (because of a loss). Lines are "
        "95 % Wilson intervals."
    )
    rows = [{**row, "path": tables.short(row["path"])} for row in document["summary"]]
    for name, some in _figures("exit-shares", [row["path"] for row in rows]):
        mine = [row for row in rows if row["path"] in some]
        painter.draw(name, None, caption, plots.exit_shares(mine, names))
    paths = {each["path"]["name"]: each["path"] for each in resolved}
    report.write(folder, document, paths, painter.drawings, painter.notes)


def _by_path(scenarios: Sequence[Scenario]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for index, each in enumerate(scenarios):
        groups.setdefault(each.path, []).append(index)
    return groups


def _figures(name: str, paths: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The names of the figures that it takes to show all of ``paths``, and which each shows."""
    each = list(dict.fromkeys(paths))
    parts = [each[begin : begin + _COLUMNS] for begin in range(0, len(each), _COLUMNS)]
    return [(name + (f"-{number}" if number > 1 else ""), part)
            for number, part in enumerate(parts, 1)]  # fmt: skip


class _Painter:
    """Draws and saves figures, and keeps what the report says about them."""

    def __init__(self, folder: Path, quiet: bool) -> None:
        self._folder = folder
        self._quiet = quiet
        self._taken: set[str] = set()
        self.drawings: list[Drawing] = []
        self.notes: list[str] = []

    def draw(self, name: str, path: str | None, caption: str, figure: Figure) -> None:
        while name in self._taken:
            name += "-more"
        self._taken.add(name)
        plots.save(figure, self._folder, name)
        self.drawings.append(Drawing(name, path, caption))

    def evolutions(
        self,
        path: str,
        facts: plots.PathFacts,
        scenarios: Sequence[Scenario],
        names: Sequence[str],
        flows: pl.DataFrame,
        threads: int | None,
    ) -> None:
        """One run of each scenario over ``path``, four to a figure."""
        first = flows.filter((pl.col("path") == path) & (pl.col("run") == 0))
        if int(first["segments_sent"].sum()) > _MOST_TRACED_SEGMENTS:
            self.notes.append(
                f"No evolution over {facts.name} is drawn: one run has more than "
                f"{_MOST_TRACED_SEGMENTS // 1_000_000} million segments."
            )
            return
        with Meter(f"drawing {facts.name}", quiet=self._quiet) as meter:
            traced = run(scenarios, threads=threads, traces=True, runs=1, progress=meter)
        parts = [(scenario, traced.select(index)) for index, scenario in enumerate(scenarios)]
        self.measured_evolutions(path, facts, parts, names)

    def measured_evolutions(
        self,
        path: str,
        facts: plots.PathFacts,
        parts: Sequence[tuple[Scenario, Result]],
        names: Sequence[str],
    ) -> None:
        """The first run that counts of each of ``parts``, which have its time series."""
        columns = []
        for scenario, one in parts:
            counted = pl.DataFrame(one.flows())["run"]
            if counted.is_empty():
                continue
            first = counted[0]
            columns.append(
                plots.Evolution(
                    title=scenario.flows[0] if len(set(scenario.flows)) == 1 else scenario.name,
                    flows=json.loads(one.to_json())["runs"][first]["flows"],
                    flow_traces=pl.DataFrame(one.flow_traces()).filter(pl.col("run") == first),
                    link_traces=pl.DataFrame(one.link_traces()).filter(pl.col("run") == first),
                )
            )
        for begin in range(0, len(columns), _COLUMNS):
            part = columns[begin : begin + _COLUMNS]
            number = begin // _COLUMNS + 1
            name = f"evolution-{report.slug(path)}" + (f"-{number}" if number > 1 else "")
            caption = (
                "The first run of each algorithm. Window: cwnd (solid), ssthresh (dashed), BDP and "
                "BDP + buffer in payload bytes (dotted); RTT: each sample, base RTT (dotted); "
                "queue: waiting packets of the bottleneck; delivered: bytes in order at the "
                "receiving application."
            )
            self.draw(name, path, caption, plots.evolution(facts, part, names))


def _by_size(
    document: dict[str, Any],
    result: Result,
    at_size: Callable[[str], list[Scenario]] | None,
    threads: int | None,
    quiet: bool,
) -> pl.DataFrame | None:
    """Completion times at the standard sizes below that of ``result``, each run by itself.

    ``None`` where there is nothing to compare: fewer than two sizes at which a transfer completes.
    """
    if at_size is None:
        return None
    flows = [flow for each in document["runs"] for flow in each["flows"]]
    largest = min(flow["bytes_acked"] for flow in flows)
    whole = all(flow["completed"] for flow in flows)
    sizes = [round(mega * 1_000_000) for mega in SIZES_MB]
    smaller = [size for size in sizes if size < largest or (size == largest and not whole)]
    groups = [at_size(f"{size} bytes") for size in smaller]
    with Meter("running other sizes", quiet=quiet) as meter:
        others = run([each for group in groups for each in group], threads=threads, progress=meter)
    rows: list[dict[str, Any]] = []
    position = 0
    for size, group in zip(smaller, groups, strict=True):
        parts = [others.select(position + place) for place in range(len(group))]
        position += len(group)
        rows += _completions(size, parts)
    if whole:
        rows += _completions(largest, [result.select(place) for place in range(len(result))])
    if len({row["size_bytes"] for row in rows}) < 2:
        return None
    return pl.DataFrame(rows, infer_schema_length=None)


def _completions(size: int, parts: Sequence[Result]) -> list[dict[str, Any]]:
    """A row for each part, which is one algorithm over one path."""
    base: dict[str, dict[tuple[int, int], float]] = {}
    rows = []
    for part in parts:
        flows = pl.DataFrame(part.flows()).drop_nulls("fct_s")
        if flows.is_empty():
            continue
        path = flows["path"][0]
        times = dict(
            zip(zip(flows["run"], flows["flow"], strict=True), flows["fct_s"], strict=True)
        )
        first = base.setdefault(path, times)
        ratios = [time / first[key] for key, time in times.items() if key in first]
        median, low, high = median_interval(list(times.values()))
        ratio, ratio_low, ratio_high = median_interval(ratios)
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
