"""The commands ``slowstart analyze`` and ``slowstart export``."""

from __future__ import annotations

import json
import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from slowstart.errors import InputError

EPILOG = """\b
Examples:
  slowstart analyze flow.pcapng
  slowstart analyze site.pcap.zst --where "bytes>=1MB" --sort -cost --limit 20
  slowstart analyze *.jsonl.zst --where reason=heuristic --json
  slowstart analyze flow.pcapng -o report

\b
Reads pcap and pcapng (also .gz, .zst), M-Lab tcp-info archives, ss -tin logs with times,
ftrace lines of tcp:tcp_probe, and qlog; it recognizes them by their contents. One line per
connection: when and at which window slow start ended, why (loss, ecn, heuristic), or why it
did not (receiver-limited, application-limited, completed), and the confidence of that.
"cannot-tell" is a verdict too: the capture began late, or the flow is too short.

\b
A capture may come from the sender, the receiver, or a point between; it is best at the
sender, with the SYN, and with at least 96 bytes of each packet.

\b
Keys of --where and --sort: number, start, duration, bytes, goodput, rtt, retransmissions,
rounds, in-flight, reason, class, exit, window, cost, limit, vantage, host. Conditions compare
with =, !=, <, <=, > and >=, and all must hold. A dash before the key of --sort sorts in
descending order.
"""

EXPORT_EPILOG = """\b
Examples:
  slowstart export scenario.toml -o run.pcapng
  slowstart export scenario.toml --vantage receiver --run 3 -o receiver.pcapng
  slowstart export scenario.toml -o run.pcapng && slowstart analyze run.pcapng

\b
Simulates one run and writes the packets of its flows as a host captures them: headers with
all options, nanoseconds, and a comment on the packet where slow start ended. Background
traffic, and flows over proxies, are left out.
"""


class Vantage(str, Enum):
    """The hosts whose packets are written."""

    SENDER = "sender"
    RECEIVER = "receiver"
    BOTH = "both"


def analyze(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Captures or logs.", show_default=False),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", show_default=False,
                     help="Only connections that meet this, such as bytes>=1MB; repeatable."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(metavar="KEY", show_default=False,
                     help="Order of the connections [default: as in the files]."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default=False, help="At most so many connections."),
    ] = None,
    figures: Annotated[
        int, typer.Option(metavar="N", min=0, help="With -o, connections to draw in the report.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Write result.json, connections.parquet and report.html to this folder. "
                     "It appears only when complete, and replaces an earlier result."),
    ] = None,
) -> None:  # fmt: skip
    """Report when and why slow start ended in captured connections."""
    from slowstart import analysis
    from slowstart.output import output_folder

    # Wrong conditions are reported before a long file is read.
    analysis.select([], where=where or [], sort=sort, limit=limit)
    with output_folder(output) as folder:
        reports = analysis.read(files, points=1000 if folder is not None else 0)
        several = len(files) > 1
        found = [
            {"file": report["file"], **each} if several else each
            for report in reports
            for each in report["connections"]
        ]
        chosen = analysis.select(found, where=where or [], sort=sort, limit=limit)
        if folder is not None:
            analysis.write(folder, reports, chosen, figures)
    if as_json:
        document = analysis.document(reports, chosen)
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        analysis.show(reports, chosen)
        if output is not None:
            page = os.path.join(output, "report.html")  # noqa: PTH118
            sys.stdout.write(f"The report is {page}\n")


def export(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file.", show_default=False)
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The new file.",
                          show_default=False),
    ],
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="The format: pcapng.")
    ] = "pcapng",
    run: Annotated[int, typer.Option(metavar="N", min=0, help="The run, from 0.")] = 0,
    vantage: Annotated[
        Vantage, typer.Option(help="The host whose packets are written; both have an interface "
                              "each.")
    ] = Vantage.BOTH,
) -> None:  # fmt: skip
    """Simulate a run and write its packets as a capture."""
    from slowstart._native import Scenario, write_capture
    from slowstart.output import PCAPNG, output_file

    if form != "pcapng":
        raise InputError(f"--format {form}: the format is pcapng")
    if not Path(scenario).is_file():
        raise InputError(f"{scenario}: no such file")
    loaded = Scenario.from_file(scenario)
    if run >= loaded.runs:
        raise InputError(f"--run {run}: the scenario has runs 0 to {loaded.runs - 1}")
    hosts = ["sender", "receiver"] if vantage is Vantage.BOTH else [vantage.value]
    with output_file(output, PCAPNG) as aside:
        packets = write_capture(loaded, aside, run=run, vantages=hosts)
        if not packets:
            raise InputError(f"{scenario}: no flow of this scenario can be captured")
    sys.stdout.write(f"{output}: {packets} packets\n")
