"""Builds tables for the terminal and the report.

They show the overview of a result, a dictionary: ``summary`` as in the result document, sums of the
background ``traffic``, the flows that it ``repeats``, and per path how many runs were stopped. The
native module computes it in one pass over the runs (``measure::Overview``).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart.report.definitions import WIDE, is_piped

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rich.console import Console

# Minimum width of a terminal for printing a cell's details beside its value, not below it.
_ROOMY = 132
# Minimum number of values for a 95 % interval of the median by order statistics.
LEAST_FOR_INTERVAL = 6


@dataclass(frozen=True)
class Cell:
    """A value, with optional small print."""

    value: str
    detail: str = ""


@dataclass(frozen=True)
class Column:
    """A column head; ``note`` explains the column in a few words."""

    head: str
    note: str


COLUMNS = (
    Column("algorithm", "avoidance + start-up"),
    Column("runs", "measured flows; if some did not complete, completed flows of all"),
    Column(
        "completion",
        "flow completion time: median over the flows that completed (with their number if some "
        "did not) and its 95 % interval",
    ),
    Column("goodput", "median"),
    Column("retransmitted", "retransmitted segments, and loss rate as seen by the sender: medians"),
    Column("marked", "packets ECN-marked instead of dropped, on all links: median over runs"),
    Column(
        "exit",
        "slow-start exit: median time and window of the flows that left slow start; if some did "
        "not, their number",
    ),
    Column("capacity", "time at which the bottleneck first stayed busy for one base RTT: median"),
    Column(
        "early/ choke/ late/ none, %",
        "percentage of flows that left slow start before reaching capacity, at capacity, at a "
        "loss, or not at all",
    ),
)


TRAFFIC_COLUMNS = (
    Column("background", "name of the background traffic in the scenario"),
    Column("with", "the measured flows in the same runs"),
    Column("flows", "flows started per run, and the percentage that finished: means over runs"),
    Column("completion", "mean flow completion time of the finished flows"),
    Column("offered", "offered payload, as a percentage of the link's payload capacity: mean"),
    Column("delivered", "delivered payload, as a percentage of the same: mean"),
    Column("lost", "percentage of its segments that senders declared lost"),
)


RESPONSE_COLUMNS = (
    Column("responses", "name of the traffic in the scenario"),
    Column("size", "size of the response; a class includes its lower end"),
    Column("epochs", "requests with their responses, per run"),
    Column("median", "time from the request to the last byte of the response"),
    Column("95 %", "95th percentile of the same"),
    Column("mean", "mean of the same"),
    Column("without wait", "mean without the acceptor's own wait"),
)


NETWORK_COLUMNS = (
    Column("network with", "the measured flows in the same runs"),
    Column("runs", "runs"),
    Column(
        "throughput",
        "payload of all data packets delivered, per second from the first one sent to the last "
        "one delivered: median and its 95 % interval",
    ),
    Column("delay", "mean delay of a data packet from its first copy on: median over runs"),
    Column("delivered", "percentage of the data packets sent that arrived: median"),
    Column("dropped", "percentage of their copies that the network lost: median"),
    Column("energy", "energy that all nodes used per second: median"),
)


def number(value: float, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits, never in scientific notation."""
    if value == 0:
        return "0"
    magnitude = f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - int(magnitude.split("e")[1]))
    return f"{value:.{decimals}f}"


def _scaled(value: float, steps: Sequence[tuple[float, str]], digits: int) -> str:
    least, unit = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{number(value / least, digits)} {unit}"


def rate(bits_per_second: float, digits: int = 3) -> str:
    """A rate with its unit."""
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
    return _scaled(bits_per_second, steps, digits)


def size(count: float, digits: int = 3) -> str:
    """A number of bytes with its unit, in powers of ten."""
    return _scaled(count, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")), digits)


def seconds(value: float, digits: int = 3) -> str:
    """A time with its unit."""
    if value == 0:
        return "0 s"
    return _scaled(value, ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")), digits)


def _median(interval: dict[str, Any] | None) -> float | None:
    return None if interval is None else float(interval["median"])


def _completion(interval: dict[str, Any] | None, flows: int) -> Cell:
    if interval is None:
        return Cell("-")
    ci = interval["ci95"]
    detail = "" if ci is None else f"[{number(ci[0])}, {number(ci[1])}]"
    return Cell(seconds(interval["median"]) + _of_all(interval, flows), detail)


def _optional(value: float | None, text: Any) -> str:
    return "-" if value is None else text(value)


def _count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else number(value)


def _of_all(interval: dict[str, Any] | None, flows: int) -> str:
    """The number of flows behind a median, if it is not all flows."""
    if interval is None or interval["n"] == flows:
        return ""
    return f" ({interval['n']} of {flows})"


def _percent(fraction: float) -> str:
    return f"{number(100 * fraction, 2)} %"


def has_exit_classes(summary: dict[str, Any]) -> bool:
    """Whether its exits are early, at the chokepoint or late: there is a bottleneck to judge by."""
    return summary["exit_s"] is None or summary["exit_class"]["none"] < summary["flows"]


def row(summary: dict[str, Any]) -> list[Cell]:
    """The cells of one row of the summary, in the order of :data:`COLUMNS`."""
    flows = summary["flows"]
    sized = summary["fct_s"] is not None or summary["completed"] > 0
    partly = sized and summary["completed"] < flows
    exits = summary["exit_class"]
    percent = "-"
    if has_exit_classes(summary):
        percent = "/".join(
            f"{100 * exits[kind] / flows:.0f}" for kind in ("early", "chokepoint", "late", "none")
        )
    retransmitted = _median(summary["segments_retransmitted"])
    window = _median(summary["exit_cwnd_bytes"])
    return [
        Cell(summary["name"]),
        Cell(f"{summary['completed']} of {flows}" if partly else str(flows)),
        _completion(summary["fct_s"], flows),
        Cell(_optional(_median(summary["goodput_bps"]), rate)),
        Cell(
            _optional(retransmitted, _count),
            f"loss {_percent(_median(summary['loss_ratio']) or 0)}",
        ),
        Cell(_optional(_median(summary["marks"]), _count)),
        Cell(
            _optional(_median(summary["exit_s"]), seconds) + _of_all(summary["exit_s"], flows),
            "" if window is None else f"at {size(window)}",
        ),
        Cell(
            "not reached"
            if summary["capacity_s"] is None
            else seconds(summary["capacity_s"]["median"]) + _of_all(summary["capacity_s"], flows)
        ),
        Cell(percent),
    ]


def columns(rows: Sequence[dict[str, Any]]) -> list[int]:
    """The indices of the :data:`COLUMNS` to show for these rows: marks only if there are any."""
    marked = any(_median(each["marks"]) for each in rows)
    return [place for place, each in enumerate(COLUMNS) if marked or each.head != "marked"]


def _traffic_row(row: Mapping[str, Any]) -> list[Cell]:
    started, finished, sent = (row[key] for key in ("started", "finished", "segments_sent"))
    return [
        Cell(row["name"]),
        Cell(", ".join(row["beside"])),
        Cell(
            f"{started / row['runs']:.0f}",
            f"{_percent(finished / started)} done" if finished else "",
        ),
        Cell(_optional(row["fct_mean_s"], seconds)),
        Cell(_optional(row["load_offered"], _percent)),
        Cell(_optional(row["load_delivered"], _percent)),
        Cell(_percent(row["segments_lost"] / sent) if sent else "-"),
    ]


def traffic_by_path(overview: Mapping[str, Any]) -> dict[str, list[list[Cell]]]:
    """The cells for background traffic by path, in the order of :data:`TRAFFIC_COLUMNS`."""
    groups = by_path(overview["traffic"])
    return {
        path: [_traffic_row(row) for row in sorted(rows, key=lambda row: str(row["name"]))]
        for path, rows in groups.items()
    }


def _response_rows(row: Mapping[str, Any]) -> list[list[Cell]]:
    """A row for all sizes, then one for each class."""
    cells = []
    for each in sorted(row["responses"], key=lambda each: each["to_bytes"] or 0):
        whole = each["to_bytes"] is None
        duration, transfer = each["duration"], each["transfer"]
        low, high = size(each["from_bytes"]), size(each["to_bytes"] or 0)
        cells.append(
            [
                Cell(row["name"] if whole else ""),
                Cell("all" if whole else f"{low} to {high}"),
                Cell(_count(each["count"] / row["runs"])),
                *(Cell(seconds(duration[key])) for key in ("median_s", "p95_s", "mean_s")),
                Cell(seconds(transfer["mean_s"])),
            ]
        )
    return cells


def responses_by_path(overview: Mapping[str, Any]) -> dict[str, list[list[Cell]]]:
    """The cells for response times by path, in the order of :data:`RESPONSE_COLUMNS`."""
    groups = by_path(overview["traffic"])
    found = {
        path: [
            cells
            for row in sorted(rows, key=lambda row: str(row["name"]))
            for cells in _response_rows(row)
        ]
        for path, rows in groups.items()
    }
    return {path: rows for path, rows in found.items() if rows}


def _network_row(row: Mapping[str, Any]) -> list[Cell]:
    interval = row["throughput_bps"]
    ci = None if interval is None else interval["ci95"]
    delay = _median(row["delay_mean_ms"])
    return [
        Cell(", ".join(row["beside"])),
        Cell(str(row["runs"])),
        Cell(
            _optional(_median(interval), rate),
            "" if ci is None else f"[{rate(ci[0])}, {rate(ci[1])}]",
        ),
        Cell(_optional(None if delay is None else delay / 1e3, seconds)),
        Cell(_optional(_median(row["delivery_ratio"]), _percent)),
        Cell(_optional(_median(row["drop_ratio"]), _percent)),
        Cell(_optional(_median(row["energy_used_w"]), lambda watts: f"{number(watts)} J/s")),
    ]


def networks_by_path(overview: Mapping[str, Any]) -> dict[str, list[list[Cell]]]:
    """The cells for ad-hoc networks and constellations by path, as :data:`NETWORK_COLUMNS`."""
    groups = by_path(overview.get("networks", []))
    return {path: [_network_row(row) for row in rows] for path, rows in groups.items()}


def by_path(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Groups the rows by path, in order of first appearance."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in rows:
        groups.setdefault(each["path"], []).append(each)
    return groups


def short(path: str) -> str:
    """The name of a path without the folders of trace files, for titles."""
    kind, colon, files = path.partition(":")
    if kind != "trace" or not colon:
        return path
    return ", ".join(file.rsplit("/", 1)[-1] for file in files.split(","))


def describe_network(network: Mapping[str, Any]) -> str:
    """Describes an ad-hoc network or a constellation in one line."""
    if network["kind"] == "adhoc":
        width, height = network["area_m"]
        mobility = network["mobility"]["kind"]
        moves = "" if mobility == "static" else f", {mobility}"
        return (
            f"ad-hoc network: {network['nodes']} nodes in {width:g} m x {height:g} m{moves}, "
            f"{network['mac']['kind']}, {network['routing']['kind']}"
        )
    if network["kind"] == "constellation":
        count = len(network["terminals"])
        satellites = network["planes"] * network["satellites"]
        terminals = "terminal" if count == 1 else "terminals"
        return f"constellation {network['preset']}: {satellites} satellites, {count} {terminals}"
    return f"network without radios: {network['nodes']} nodes"


def _base(path: Mapping[str, Any]) -> tuple[str, str]:
    """The base RTT and the BDP in words: from smallest to largest where the path has hosts."""
    ends = [
        [
            delay
            for group in path.get("hosts", ())
            if group["at"] == end
            for delay in group["delays_ms"]
        ]
        for end in ("left", "right")
    ]
    delays = [[pick(each, default=0) for each in ends] for pick in (min, max)]
    rtts = [path["base_rtt_ms"] + 2 * sum(each) for each in delays]
    if rtts == [path["base_rtt_ms"]] * 2:
        return f"base RTT {number(rtts[0])} ms", f"BDP {size(path['bdp_bytes'])}"
    times = dict.fromkeys(number(each) for each in rtts)
    sizes = dict.fromkeys(size(path["rate_bps"] * each / 8e3) for each in rtts)
    return f"base RTT {' to '.join(times)} ms", f"BDP {' to '.join(sizes)}"


def describe(path: Mapping[str, Any]) -> str:
    """Describes a resolved path in one line: rate, base RTT, BDP, buffer; and its network."""
    network = path.get("network")
    if "rate_bps" not in path:
        return describe_network(path["network"])
    parts = [rate(path["rate_bps"]), *_base(path)]
    buffer = path["buffer_bytes"]
    parts.append("unlimited buffer" if buffer is None else f"buffer {size(buffer)}")
    if network is not None:
        parts.append(describe_network(network))
    return ", ".join(parts)


def console(wide: int = WIDE) -> Console:
    """A console on standard output, with lines of ``wide`` characters unless that is a terminal."""
    from rich.console import Console

    class Plain(Console):
        """A console that lets the command handle a closed pipe."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(width=wide if is_piped() else None, highlight=False)


def write_plain(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Writes one line of tab-separated cells per row, unless standard output is a terminal.

    Returns whether it did.
    """
    if not is_piped():
        return False
    for cells in (heads, *rows):
        sys.stdout.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")
    return True


def show(overview: Mapping[str, Any], paths: dict[str, dict[str, Any]]) -> None:
    """Prints the overview of a result to standard output, with one table per path.

    ``paths`` are the resolved paths by name.
    """
    from rich.text import Text

    out = console()
    background = traffic_by_path(overview)
    networks = networks_by_path(overview)
    responses = responses_by_path(overview)
    measured = by_path(overview["summary"])
    for name in dict.fromkeys(each["path"] for each in overview["paths"]):
        rows = measured.get(name, [])
        out.print(Text.assemble((short(name), "bold"), "  ", (describe(paths[name]), "dim")),
                  soft_wrap=is_piped())  # fmt: skip
        if rows:
            shown = columns(rows)
            heads = [COLUMNS[place].head for place in shown]
            cells = [row(each) for each in rows]
            grid(out, heads, [[each[place] for place in shown] for each in cells], left=1)
        if name in networks:
            grid(out, [column.head for column in NETWORK_COLUMNS], networks[name], left=1)
        if name in background:
            grid(out, [column.head for column in TRAFFIC_COLUMNS], background[name], left=2)
        if name in responses:
            grid(out, [column.head for column in RESPONSE_COLUMNS], responses[name], left=2)


def print_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
    *,
    left: Collection[int] = (0,),
) -> bool:
    """Prints a table below its title; the columns in ``left`` have words.

    To a pipe it writes tab-separated cells without the title, and returns False.
    """
    from rich.table import Table

    if write_plain(heads, rows):
        return False
    if title is not None:
        console().print(title)
    if rows:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for place, head in enumerate(heads):
            table.add_column(head, justify="left" if place in left else "right")
        for row in rows:
            table.add_row(*row)
        console().print(table)
    return True


def grid(out: Console, heads: Sequence[str], rows: Sequence[Sequence[Cell]], left: int) -> None:
    """Prints a table: as plain text to a pipe, and as one paragraph per row if it is too wide.

    The first ``left`` columns are left-aligned.
    """
    if is_piped():
        lines = [list(heads), *([_plain(cell) for cell in cells] for cells in rows)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
        for line in lines:
            parts = [
                text.ljust(width) if place < left else text.rjust(width)
                for place, (text, width) in enumerate(zip(line, widths, strict=True))
            ]
            out.file.write("  ".join(parts).rstrip() + "\n")
        out.file.write("\n")
        return
    from rich import box
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    between = " " if out.width >= _ROOMY else "\n"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        # Only goodput and the last head may wrap in a narrow terminal.
        table.add_column(
            head,
            justify="left" if place < left else "right",
            no_wrap=head not in ("goodput", COLUMNS[-1].head),
            min_width=7,
        )
    for cells in rows:
        table.add_row(
            *(
                Text.assemble(cell.value, (between + cell.detail if cell.detail else "", "dim"))
                for cell in cells
            )
        )
    if Measurement.get(out, out.options.update(max_width=10_000), table).minimum <= out.width:
        out.print(table)
        return
    for cells in rows:
        out.print(Text(cells[0].value, "bold"), overflow="fold")
        for head, cell in zip(heads[1:], cells[1:], strict=True):
            out.print(Text.assemble((f"  {head}: ", "dim"), _plain(cell)), overflow="fold")
    out.print()


def _plain(cell: Cell) -> str:
    return f"{cell.value} {cell.detail}" if cell.detail else cell.value


def remarks(overview: Mapping[str, Any], steady: Collection[str] = ()) -> list[str]:
    """Remarks that a reader of the tables needs to interpret these runs.

    On the paths ``steady`` nothing is random, so that more runs would give no interval.
    """
    sentences = []
    random = []
    for path, flows in by_path(overview["repeats"]).items():
        fixed = [each["name"] for each in flows if each["runs"] > 1 and each["identical"]]
        if path not in steady:
            random += [each for each in flows if each["name"] not in fixed]
        if fixed:
            which = "" if len(fixed) == len(flows) else f" of {', '.join(fixed)}"
            sentences.append(
                f"All runs{which} over {short(path)} are identical, because nothing in them is "
                "random: one run is enough."
            )
    sentences += [
        f"{row['rejected']} flows of {row['name']} over {short(row['path'])} were not started, "
        "because more than a million were open."
        for row in overview["traffic"]
        if row["rejected"]
    ]
    if any(each["runs"] < LEAST_FOR_INTERVAL for each in random):
        sentences.append(
            f"With fewer than {LEAST_FOR_INTERVAL} values a median has no 95 % interval: make more "
            "runs (-n)."
        )
    return sentences
