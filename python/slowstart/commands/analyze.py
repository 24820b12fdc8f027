"""The command ``slowstart analyze``."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError
from slowstart.store.output import SCENARIO, output_file

EPILOG = """\b
Examples:
  slowstart analyze flow.pcapng
  slowstart analyze site.pcap.zst --where "bytes>=1MB" --sort -cost --limit 20
  slowstart analyze *.jsonl.zst --where reason=heuristic --json
  slowstart analyze flow.pcapng -o report
  slowstart analyze flow.pcapng -a cubic+search -a cubic+suss
  slowstart analyze flow.pcapng --scenario mine.toml && slowstart run mine.toml

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
-a asks what another algorithm would have done. A start-up that only decides when to leave
gets the ACKs of the capture; that is sound until its window would differ, and the answer
says when. Others are simulated on the path that the connection shows: a model, with the
error of that path on the real flow itself. --scenario writes that path for slowstart run.
Both look at one connection: choose it with --where, --sort and --limit.

\b
Keys of --where and --sort: number, start, duration, bytes, goodput, rtt, retransmissions,
rounds, in-flight, reason, class, exit, window, cost, limit, vantage, host. Conditions compare
with =, !=, <, <=, > and >=, and all must hold. A dash before the key of --sort sorts in
descending order.
"""


@dataclass
class _Asked:
    """What --algorithm and --scenario add: keys of the document, and lines."""

    document: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def _ask(
    chosen: list[dict[str, Any]], files: list[str], algorithms: list[str], scenario: str | None
) -> _Asked:
    from slowstart._native import replay_file
    from slowstart.analysis import path_fit

    asked = _Asked()
    if not algorithms and scenario is None:
        return asked
    if len(chosen) != 1:
        raise InputError(
            f"-a and --scenario look at one connection, and {len(chosen)} are chosen: "
            "use --where, --sort and --limit 1"
        )
    one = chosen[0]
    file = one.get("file", files[0])
    replays = json.loads(replay_file(file, numbers=[one["number"]], algorithms=algorithms))
    modelled = {"window-differs", "real-sender-differs", "nothing"}
    fit = None
    if scenario is not None or any(each["end"] in modelled for each in replays):
        fit = path_fit.fit(one)
        asked.document["fit"] = fit.document()
    if algorithms:
        asked.document["replays"] = replays
    for each in replays:
        asked.lines.append(each["sentence"])
        if fit is not None and each["end"] in modelled:
            outcome = path_fit.model(fit, each["algorithm"])
            each["model"] = outcome.__dict__
            asked.lines.append(path_fit.describe(each["algorithm"], outcome, fit.real))
    if fit is not None:
        asked.lines += [path_fit.sentence(fit), *fit.notes]
    if scenario is not None and fit is not None:
        with output_file(scenario, SCENARIO) as aside:
            aside.write_text(fit.toml(Path(file).name), encoding="utf-8")
        asked.lines.append(f"The fitted path is {scenario}")
    return asked


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
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="Ask what this algorithm would have done; repeatable."),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False,
                     help="Write the path that the connection shows as a scenario (.toml)."),
    ] = None,
    as_json: Json = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Write result.json, connections.parquet and report.html to this folder. "
                     "It appears only when complete, and replaces an earlier result."),
    ] = None,
) -> None:  # fmt: skip
    """Report when and why slow start ended in captured connections."""
    from slowstart.analysis import connections as analysis
    from slowstart.store.output import output_folder

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
        asked = _ask(chosen, files, algorithm or [], scenario)
        if folder is not None:
            analysis.write(folder, reports, chosen, figures)
    if as_json:
        document = {**analysis.document(reports, chosen), **asked.document}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        analysis.show(reports, chosen)
        for line in asked.lines:
            sys.stdout.write(line + "\n")
        if output is not None:
            page = os.path.join(output, "report.html")  # noqa: PTH118
            sys.stdout.write(f"The report is {page}\n")
