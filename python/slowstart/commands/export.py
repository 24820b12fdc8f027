"""The command ``slowstart export``."""

from __future__ import annotations

import json
import sys
import tempfile
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowstart import stacks
from slowstart.errors import InputError

if TYPE_CHECKING:
    from slowstart._native import Scenario
    from slowstart.store.exports import Series

EPILOG = """\b
Examples:
  slowstart export scenario.toml -o run.pcapng
  slowstart export scenario.toml --vantage receiver --run 3 -o receiver.pcapng
  slowstart export scenario.toml --format flent -o run.flent.gz && flent -i run.flent.gz -p totals
  slowstart run scenario.toml --traces -o result && slowstart export result --format qlog -o r.qlog
  slowstart export scenario.toml --format qlog --stack quinn -a own -o quinn.qlog
  slowstart export capture.pcap --format xplot -o capture.xpl && xplot capture.xpl

\b
RESULT is a scenario (one run is simulated), a folder that slowstart run --traces -o wrote
(simulator or kernel), or a capture or log that slowstart analyze reads. Formats: pcapng and
mahimahi, which have the packets at both hosts (simulations only), qlog, flent, csv, xplot.
Windows from a capture are estimates.

\b
pcapng has the packets of the flows as a host captures them: headers with all options,
nanoseconds, and a comment on the packet where slow start ended. Background traffic, and
flows over proxies, are left out.
"""


class Vantage(str, Enum):
    """Where the packets are captured."""

    SENDER = "sender"
    RECEIVER = "receiver"
    MIDDLE = "middle"
    BOTH = "both"


class Format(str, Enum):
    """The formats of ``slowstart export``."""

    PCAPNG = "pcapng"
    QLOG = "qlog"
    FLENT = "flent"
    MAHIMAHI = "mahimahi"
    CSV = "csv"
    XPLOT = "xplot"


_PACKETS = (Format.PCAPNG, Format.MAHIMAHI)


def export(
    result: Annotated[
        str,
        typer.Argument(metavar="RESULT", show_default=False,
                       help="A scenario, a folder with traces, or a capture or log."),
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The new file.",
                          show_default=False),
    ],
    form: Annotated[Format, typer.Option("--format", help="The format.")] = Format.PCAPNG,
    run: Annotated[int, typer.Option(metavar="N", min=0, help="The run, from 0.")] = 0,
    vantage: Annotated[
        Vantage, typer.Option(help="With a scenario, the host whose packets are written, or a "
                              "point between, a quarter of the RTT from the sender; a pcapng file "
                              "of both hosts has an interface for each.")
    ] = Vantage.BOTH,
    stack: Annotated[
        str,
        typer.Option(metavar="STACK", help="With a scenario, but not with mahimahi: the stack that "
                          "runs it, such as quinn.")
    ] = "simulated",
    algorithm: Annotated[
        str | None,
        typer.Option("-a", metavar="own[:NAME]", show_default=False,
                     help="With --stack: the stack's own controller for all flows."),
    ] = None,
) -> None:  # fmt: skip
    """Write a run, a result or a capture in the format of another tool."""
    from slowstart._native import Scenario, write_capture, write_mahimahi
    from slowstart.store import exports
    from slowstart.store import output as files

    kinds = {"pcapng": files.PCAPNG, "qlog": files.QLOG, "flent": files.FLENT,
             "mahimahi": files.MAHIMAHI, "csv": files.CSV, "xplot": files.XPLOT}  # fmt: skip
    kind = kinds[form.value]
    source = Path(result)
    scenario = None
    if source.suffix == ".toml":
        if not source.is_file():
            raise InputError(f"{result}: no such file")
        scenario = Scenario.from_file(result)
        if run >= scenario.runs:
            raise InputError(f"--run {run}: the scenario has runs 0 to {scenario.runs - 1}")
        scenario = _placed(scenario, form, stack, algorithm)
    elif stack != stacks.SIMULATED or algorithm is not None:
        raise InputError("--stack and -a run a scenario (.toml): a result has its stack")
    elif form in _PACKETS:
        scenario = _simulated_again(source, form, run)
    with files.output_file(output, kind) as aside:
        if scenario is not None and form is Format.PCAPNG:
            hosts = ["sender", "receiver"] if vantage is Vantage.BOTH else [vantage.value]
            count = write_capture(scenario, aside, run=run, vantages=hosts)
            what = "packets"
        elif scenario is not None and form is Format.MAHIMAHI:
            count, what = write_mahimahi(scenario, aside, run=run), "packets"
        else:
            if scenario is not None and stack != stacks.SIMULATED:
                series = exports.of_run(scenario, run, packets=form is Format.QLOG)
            else:
                series = _flows(source, scenario, run, vantage)
            flows = [each for each in series if each.rows]
            if not flows:
                raise InputError(f"{result}: no flow with data")
            aside.write_bytes(exports.WRITERS[form.value](flows))
            count, what = len(flows), "flows"
        if not count:
            raise InputError(f"{result}: no flow of this scenario can be captured")
    sys.stdout.write(f"{output}: {count} {what}\n")


def _placed(scenario: Scenario, form: Format, stack: str, algorithm: str | None) -> Scenario:
    stacks.check_names([stack])
    if algorithm is not None and not stacks.is_own(algorithm):
        raise InputError(f"-a {algorithm}: a file has its own algorithms; -a takes own or own:NAME")
    if form is Format.MAHIMAHI and stack != stacks.SIMULATED:
        raise InputError(
            f"--format mahimahi has segments of TCP: leave out --stack {stack}, or choose pcapng"
        )
    return stacks.placed(scenario, stack, algorithm)


def _simulated_again(source: Path, form: Format, run: int) -> Scenario:
    """The scenario of a result folder, to simulate a run again with its packets."""
    from slowstart._native import Scenario
    from slowstart._version import __version__
    from slowstart.store.output import RESULT, SCENARIOS

    needs = f"--format {form.value} has the packets at both hosts"
    if not source.is_dir():
        raise InputError(
            f"{needs}, and a capture or log has those of one: name a scenario (.toml), or a folder "
            "of slowstart run --traces -o"
        )
    file = source / SCENARIOS
    if not file.is_file():
        why = "it is no result folder"
        if (source / RESULT).is_file():
            why = "the kernel made it, or it was written without --traces"
        raise InputError(
            f"{needs}, and {source} does not tell how to simulate them: {why}; for packets of the "
            "kernel, use slowstart emulate --capture FILE --log FILE"
        )
    try:
        made = json.loads(file.read_bytes())
        version, exact = made["version"], made["scenarios"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: not the scenarios of a result ({error})") from error
    if version != __version__:
        raise InputError(f"{file}: written by version {version}, and this is {__version__}")
    if len(exact) != 1:
        raise InputError(
            f"{source} has {len(exact)} scenarios (paths and algorithms), and {form.value} has "
            "one run: use slowstart run with one of them"
        )
    try:
        scenario = Scenario.from_exact_json(json.dumps(exact[0]))
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    if run >= scenario.runs:
        raise InputError(f"--run {run}: the result has runs 0 to {scenario.runs - 1}")
    return scenario


def _flows(source: Path, scenario: Scenario | None, run: int, vantage: Vantage) -> list[Series]:
    from slowstart._native import analyze_file, write_capture
    from slowstart.store import exports

    if source.is_dir():
        return exports.of_traces(source, run)
    if scenario is None:
        report = json.loads(analyze_file(str(source), points=exports.POINTS))
    else:
        host = "receiver" if vantage is Vantage.RECEIVER else "sender"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.pcapng"
            write_capture(scenario, file, run=run, vantages=[host])
            report = json.loads(analyze_file(file, points=exports.POINTS))
    return [exports.of_connection(each) for each in report["connections"]]
