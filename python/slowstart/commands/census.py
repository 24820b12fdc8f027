"""The command ``slowstart census``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import extras
from slowstart.commands.options import Json, Quiet  # noqa: TC001 (Typer reads them)
from slowstart.errors import complain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EPILOG = """\b
Examples:
  slowstart census captures -o result
  slowstart census 2026/09/*.tgz -o september
  slowstart census site.pcap.zst --json

\b
Reads what slowstart analyze reads (pcap and pcapng, M-Lab tcp-info archives, ss -tin, tcp_probe
and qlog, also .gz and .zst) from folders with all that is in them, and from tar archives (.tar,
.tgz). One row per connection goes to DIR/connections/*.parquet; memory does not grow with the
input. DIR/census.json has the fractions of the reasons with 95 % intervals, times and windows of
the exits, and both by RTT and by size; DIR/*.svg draws them.

\b
An interrupted census continues where it was: give the same command again. The result has the
same bytes, with any number of threads. A file that cannot be read is counted and named, and
does not stop the census.

\b
At most 65,536 connections of a capture are open at a time. Beyond, the oldest SYN without an
answer is written out and forgotten, or else the connection that was silent for longest; so is
one that is silent for 10 minutes. The column ended_by says so.

\b
Fractions are of the connections with payload; those without (scans, for example) are counted
apart. An interval is that of independent connections; many of one host are not independent.
"""


def _rows(shares: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            f"{share['connections']:,}",
            f"{100 * share['fraction']:.3g} %",
            "{:.3g} to {:.3g} %".format(*(100 * end for end in share["ci95"])),
        ]
        for name, share in shares.items()
        if share["connections"]
    ]


def _exit_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    from slowstart.report import tables

    def words(found: Mapping[str, Any], text: Callable[[float], str]) -> list[str]:
        five, median, most = (found["quantiles"][each] for each in ("0.05", "0.5", "0.95"))
        return [text(median), f"{text(five)} to {text(most)}"]

    return [
        [reason, *words(each["time_s"], tables.seconds), *words(each["cwnd_bytes"], tables.size)]
        for reason, each in summary["exits"].items()
    ]


def _show(summary: Mapping[str, Any]) -> None:
    from slowstart.report import tables

    out, files = tables.console(), summary["files"]
    some = summary["with_data"]["connections"]
    out.print(
        f"{files['read']:,} files, {summary['connections']:,} connections, "
        f"{some:,} of them with data ({tables.size(summary['bytes'])})."
    )
    if quic := summary["quic_connections"]:
        out.print(f"Beside them {quic:,} QUIC connections, which a census counts only.")
    heads = ("connections", "fraction", "95 % interval")
    reasons = _rows(summary["with_data"]["reasons"]) if some else []
    causes = _rows(summary["cannot_tell"])
    exits = ("exit by", "time, median", "5 to 95 %", "cwnd, median", "5 to 95 %")
    for title, names, rows in (
        ("Slow start", ("slow start", *heads), reasons),
        ("Why the analysis cannot tell", ("cannot-tell because", *heads), causes),
        ("Exits", exits, _exit_rows(summary)),
    ):
        if rows:
            tables.print_table(names, rows, title)
    if files["evicted"]:
        out.print(f"{files['evicted']:,} connections ended early because too many were open.")
    if files["dropped"]:
        out.print(f"The captures lost {files['dropped']:,} packets.")
    if files["broken"]:
        out.print(f"{files['broken']:,} of {files['read']:,} files could not be read, such as:")
        for each in summary["broken"][:5]:
            out.print(f"  {each['file']}: {each['error']}")
    if files["noted"]:
        out.print(f"Files with notes, such as where one is cut: {files['noted']:,}; see files/.")


def _draw(summary: Mapping[str, Any], folder: Path) -> None:
    libraries = extras.missing()
    if libraries:
        complain(extras.sentence("a figure", libraries))
        return
    from slowstart import plots
    from slowstart.analysis.census_figures import draw

    for name, figure in draw(summary):
        plots.write(figure, folder, name)


def census(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...", help="Folders, captures, logs, tar archives.", show_default=False
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Folder of the result; an interrupted census there is continued."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=1024, show_default=False,
                     help="Number of threads [default: one per core]. It does not affect the "
                     "result."),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="With -o, draw the figures.")
    ] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Count when and why slow start ended in all connections of many files."""
    from slowstart.analysis import census as analysis
    from slowstart.report.progress import Meter

    with Meter("reading (MB)", quiet=quiet) as meter, tempfile.TemporaryDirectory() as scratch:

        def progress(done: int, total: int) -> None:
            meter(done // 1_000_000, max(total // 1_000_000, 1))

        folder = Path(scratch) / "census" if output is None else Path(output)
        summary = analysis.census(inputs, folder, threads=threads, progress=progress)
    if output is not None and figures:
        _draw(summary, Path(output))
    if as_json:
        sys.stdout.write(json.dumps(summary, indent=1) + "\n")
        return
    if quiet:
        return
    _show(summary)
    if output is not None:
        sys.stdout.write(f"The result is in {output}\n")
