"""The command ``slowstart analyze``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import extras
from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError, complain

if TYPE_CHECKING:
    from slowstart.analysis.connections import Asked
    from slowstart.analysis.path_fit import Fit

EPILOG = """\b
Examples:
  slowstart analyze flow.pcapng
  slowstart analyze site.pcap.zst --where "bytes>=1MB" --sort -cost --limit 20
  slowstart analyze *.jsonl.zst --where reason=heuristic --json
  slowstart analyze flow.pcapng -o report
  slowstart analyze flow.pcapng -a cubic+search -a cubic+suss
  slowstart analyze flow.pcapng --identify
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
The cost of an exit is the completion time less that of the same transfer with an ideal exit,
on a path that is fitted to the connection, with an interval. The fit's own error on the
connection comes first; beyond 10 % it predicts nothing, and the cost is "cannot tell". --cost N
fits paths to more connections than the first.

\b
-a asks what another algorithm would have done: it and the sender of the capture transfer the
same bytes over the fitted path, and the difference in seconds has an interval. -a all asks
every start-up. Where the captured ACKs alone decide when a start-up would have left, a
sentence says so. --scenario writes the fitted path for slowstart run. Both look at one
connection: choose it with --where, --sort and --limit.

\b
--identify names the likeliest start-ups of each sending host, with probabilities and "none of
these", from a capture or from the packets of a qlog. Start-ups that leave the same packets on
the captured path are named together.

\b
Keys of --where and --sort: number, start, duration, bytes, goodput, rtt, retransmissions,
rounds, in-flight, reason, class, exit, window, cost, limit, vantage, host. Conditions compare
with =, !=, <, <=, > and >=, and all must hold. A dash before the key of --sort sorts in
descending order.
"""


def _ask(
    chosen: list[dict[str, Any]],
    files: list[str],
    algorithms: list[str],
    scenario: str | None,
    fits: dict[int, Fit],
) -> Asked:
    """What --algorithm and --scenario add."""
    from slowstart.analysis.connections import Asked
    from slowstart.report.progress import Meter

    asked = Asked()
    if not algorithms and scenario is None:
        return asked
    from slowstart.analysis import path_fit, questions

    one = chosen[0]
    file = one.get("file", files[0])
    fit = fits.get(0)
    if fit is None:
        asked.lines.append(f"No path can be fitted: {one['cost']['why']}.")
    if algorithms:
        with Meter("simulating", quiet=False) as meter:
            asked.document = questions.answer(fit, one, file, algorithms, meter)
        asked.rows = questions.rows(asked.document["answers"])
        asked.lines += questions.lines(fit, asked.document["replays"], algorithms)
    elif fit is not None:
        asked.lines.append(path_fit.sentence(fit))
    if scenario is not None and fit is not None:
        from slowstart.store.output import SCENARIO, output_file

        with output_file(scenario, SCENARIO) as aside:
            aside.write_text(fit.toml(Path(file).name), encoding="utf-8")
        asked.lines.append(f"The fitted path is {scenario}")
    return asked


def _identify(chosen: list[dict[str, Any]], files: list[str], asked: Asked) -> None:
    """What --identify adds."""
    from slowstart.analysis import identify
    from slowstart.report.progress import Meter

    with Meter("replaying start-ups", quiet=False) as meter:
        groups = identify.by_server(chosen)
        for place, group in enumerate(groups):
            meter(place, len(groups))
            asked.identified += identify.identify(group[0].get("file", files[0]), group)
        meter(len(groups), len(groups))
    asked.document["identification"] = [each.document() for each in asked.identified]


def _lacks_cost(cost: int, *, needed: bool) -> bool:
    """Whether the cost of exits is left out because a library is missing; then says so.

    Raises:
        InputError: A library is missing, and ``needed``.
    """
    if needed:
        extras.need_report("-o, -a, --identify, --scenario or a condition on the cost")
    libraries = extras.missing() if cost else []
    if libraries:
        complain(extras.sentence("the cost of an exit", libraries))
    return bool(libraries)


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
        typer.Option(metavar="N", min=1, show_default=False,
                     help="Maximum number of connections to print."),
    ] = None,
    figures: Annotated[
        int, typer.Option(metavar="N", min=0, help="With -o, connections to draw in the report.")
    ] = 20,
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="Ask what this algorithm would have done; repeatable."),
    ] = None,
    cost: Annotated[
        int, typer.Option(metavar="N", min=0,
                          help="Number of connections to fit a path to, for what the exit cost.")
    ] = 1,
    identify: Annotated[
        bool, typer.Option("--identify", help="Name the likeliest start-ups of each sending host.")
    ] = False,
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
    from slowstart.analysis import questions
    from slowstart.report.progress import Meter
    from slowstart.store.output import output_folder

    # Wrong conditions are reported before a long file is read.
    conditions, algorithms = where or [], algorithm or []
    analysis.select([], where=conditions, sort=sort, limit=limit)
    by_cost = any("cost" in each for each in (*conditions, sort or ""))
    asks = bool(algorithms) or scenario is not None
    lacks_cost = _lacks_cost(cost, needed=output is not None or by_cost or asks or identify)
    with output_folder(output) as folder:
        points = 1000 if folder is not None else 0
        reports = analysis.read(files, points=points)
        several = len(files) > 1
        found = [
            {"file": report["file"], **each} if several else each
            for report in reports
            for each in report["connections"]
        ]
        if by_cost:
            # The cost decides which connections are chosen, so all need a fit.
            with Meter("fitting paths", quiet=False) as meter:
                questions.fit_paths(found, files, len(found), meter)
        chosen = analysis.select(found, where=conditions, sort=sort, limit=limit)
        if asks and len(chosen) != 1:
            raise InputError(
                f"-a and --scenario look at one connection, and {len(chosen)} are chosen: "
                "use --where, --sort and --limit 1"
            )
        with Meter("fitting paths", quiet=False) as meter:
            most = 1 if asks else 0 if by_cost or lacks_cost else cost
            fits = questions.fit_paths(chosen, files, most, meter)
        asked = _ask(chosen, files, algorithms, scenario, fits)
        if identify:
            _identify(chosen, files, asked)
        if folder is not None:
            analysis.write(folder, reports, chosen, figures, asked)
    if as_json:
        document = {**analysis.document(reports, chosen), **asked.document}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        analysis.show(reports, chosen, asked)
        if output is not None:
            page = os.path.join(output, "report.html")  # noqa: PTH118
            sys.stdout.write(f"The report is {page}\n")
