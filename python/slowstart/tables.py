"""Tables for the terminal and for the report, from the summary of a result document."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

# Where nobody looks (a pipe, a file) lines are as long as they need to be.
_WIDE = 160
# Columns of a terminal from which the details of a cell stand beside its value, not below it.
_ROOMY = 132
# Below this many there is no room for the columns that say least.
_NARROW = 92
_DISPENSABLE = ("capacity",)


@dataclass(frozen=True)
class Cell:
    """A value and the smaller print after it."""

    value: str
    detail: str = ""


@dataclass(frozen=True)
class Column:
    """A head over cells; ``note`` says in a few words what is under it."""

    head: str
    note: str


COLUMNS = (
    Column("algorithm", "avoidance + start-up"),
    Column("runs", "flows measured; completed of all where some did not complete"),
    Column("completion", "flow completion time: median and its 95 % interval"),
    Column("goodput", "median"),
    Column("resent", "segments sent more than once, and share declared lost: medians"),
    Column("exit", "end of slow start: median time and window"),
    Column("capacity", "when the bottleneck first stayed busy for one base RTT: median"),
    Column(
        "early/ choke/ late, %",
        "flows that left slow start before capacity, at it, at loss; the rest did not leave it",
    ),
)


def number(value: float, digits: int = 3) -> str:
    """``value`` with so many significant digits, never in scientific notation."""
    if value == 0:
        return "0"
    magnitude = f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - int(magnitude.split("e")[1]))
    return f"{value:.{decimals}f}"


def _scaled(value: float, steps: Sequence[tuple[float, str]]) -> str:
    for least, unit in steps:
        if abs(value) >= least:
            return f"{number(value / least)} {unit}"
    least, unit = steps[-1]
    return f"{number(value / least)} {unit}"


def rate(bits_per_second: float) -> str:
    """A rate with its unit."""
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
    return _scaled(bits_per_second, steps)


def size(count: float) -> str:
    """A number of bytes with its unit, in powers of ten."""
    return _scaled(count, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")))


def seconds(value: float) -> str:
    """A time with its unit."""
    if value == 0:
        return "0 s"
    return _scaled(value, ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")))


def _median(interval: dict[str, Any] | None) -> float | None:
    return None if interval is None else float(interval["median"])


def _completion(interval: dict[str, Any] | None) -> Cell:
    if interval is None:
        return Cell("-")
    ci = interval["ci95"]
    detail = "" if ci is None else f"[{number(ci[0])}, {number(ci[1])}]"
    return Cell(seconds(interval["median"]), detail)


def _optional(value: float | None, text: Any) -> str:
    return "-" if value is None else text(value)


def _percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def row(summary: dict[str, Any]) -> list[Cell]:
    """The cells of one row of the summary, in the order of :data:`COLUMNS`."""
    flows = summary["flows"]
    sized = summary["fct_s"] is not None or summary["completed"] > 0
    partly = sized and summary["completed"] < flows
    shares = summary["exit_class"]
    percent = "/".join(
        f"{100 * shares[kind] / flows:.0f}" for kind in ("early", "chokepoint", "late")
    )
    resent = _median(summary["segments_retransmitted"])
    window = _median(summary["exit_cwnd_bytes"])
    return [
        Cell(summary["name"]),
        Cell(f"{summary['completed']} of {flows}" if partly else str(flows)),
        _completion(summary["fct_s"]),
        Cell(_optional(_median(summary["goodput_bps"]), rate)),
        Cell(_optional(resent, number), f"lost {_percent(_median(summary['loss_ratio']) or 0)}"),
        Cell(
            _optional(_median(summary["exit_s"]), seconds),
            "" if window is None else f"at {size(window)}",
        ),
        Cell(_optional(_median(summary["capacity_s"]), seconds)),
        Cell(percent),
    ]


def by_path(summary: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each path, paths in order of first appearance."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in summary:
        groups.setdefault(each["path"], []).append(each)
    return groups


def short(path: str) -> str:
    """The name of a path without the folders of a trace, for titles."""
    kind, colon, files = path.partition(":")
    if kind != "trace" or not colon:
        return path
    return ", ".join(file.rsplit("/", 1)[-1] for file in files.split(","))


def describe(path: dict[str, Any]) -> str:
    """One line about a resolved path: rate, base round trip, buffer."""
    parts = [rate(path["rate_bps"]), f"base RTT {number(path['base_rtt_ms'])} ms"]
    parts.append(f"BDP {size(path['bdp_bytes'])}")
    buffer = path["buffer_bytes"]
    parts.append("no end to the buffer" if buffer is None else f"buffer {size(buffer)}")
    return ", ".join(parts)


def console() -> Console:
    """Standard output, wide where nobody looks."""
    from rich.console import Console

    class Plain(Console):
        """A console that leaves it to the command what a closed pipe means."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(width=None if sys.stdout.isatty() else _WIDE, highlight=False)


def show(summary: Sequence[dict[str, Any]], paths: dict[str, dict[str, Any]]) -> None:
    """Prints the summary to standard output, one table for each path.

    ``paths`` are the resolved paths by name.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    between = " " if out.width >= _ROOMY else "\n"
    for name, rows in by_path(summary).items():
        title = Text.assemble((short(name), "bold"), "  ", (describe(paths[name]), "dim"))
        out.print(title)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        shown = [
            place
            for place, column in enumerate(COLUMNS)
            if out.width >= _NARROW or column.head not in _DISPENSABLE
        ]
        for place in shown:
            head = COLUMNS[place].head
            # Goodput and the last head can be broken where the terminal is narrow; names cannot.
            table.add_column(
                head,
                justify="left" if place == 0 else "right",
                no_wrap=head not in ("goodput", COLUMNS[-1].head),
                min_width=7,
            )
        for each in rows:
            cells = row(each)
            table.add_row(
                *(
                    Text.assemble(cell.value, (between + cell.detail if cell.detail else "", "dim"))
                    for cell in (cells[place] for place in shown)
                )
            )
        out.print(table)
