"""The command ``slowstart packetdrill``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from slowstart import __version__
from slowstart._native import run_script
from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError, complain

EPILOG = """\b
Examples:
  slowstart packetdrill conformance/packetdrill
  slowstart packetdrill my-test.pkt -a reno
  slowstart packetdrill my-test.pkt -a cubic+search --json
  sudo slowstart packetdrill my-test.pkt --stack linux

\b
A script has the system calls of an application, the packets of its peer, and the packets
that the tested TCP must send, each with its time. The part of the language that concerns
the transport is supported; a script with anything else is refused with line and reason
(docs/reference/packetdrill.md). With --stack linux the same script tests the running
kernel, through a TUN device in a network namespace of its own; -a is then a name that the
kernel knows. A script that differs there is tried three times, since a busy host is late.

\b
Exit status: 0 all passed, 1 some differ, 2 a script was refused.
"""


def scripts_of(files: list[str]) -> list[Path]:
    """The scripts (``*.pkt``) among ``files``, which may be folders.

    Raises:
        InputError: A file does not exist, or a folder has no script.
    """
    found: list[Path] = []
    for name in files:
        path = Path(name)
        inside = sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
        if not inside:
            raise InputError(f"{name}: contains no *.pkt file")
        found += inside
    return found


def packetdrill(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Scripts, or folders of scripts (*.pkt).",
                       show_default=False),
    ],
    algorithm: Annotated[
        str | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="The algorithm to test [default: what the script names, or cubic]."),
    ] = None,
    tolerance: Annotated[
        int,
        typer.Option(metavar="MS", min=0, max=1000,
                     help="How many milliseconds a time may differ, if the script does not "
                     "permit more; one clock tick of 4 ms is added."),
    ] = 10,
    stack: Annotated[
        str, typer.Option(metavar="STACK", help="The TCP to test: simulated, or linux (as root).")
    ] = "simulated",
    as_json: Json = False,
) -> int:  # fmt: skip
    """Run packetdrill scripts against a TCP, and print the first difference of each."""
    if stack not in ("simulated", "linux"):
        raise InputError(f"unknown stack `{stack}`: expected simulated or linux")
    reports: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for script in scripts_of(files):
        try:
            report = json.loads(run_script(str(script), stack, algorithm, tolerance))
        except InputError as error:
            refused.append({"file": str(script), "reason": str(error)})
            complain(str(error))
            continue
        reports.append(report)
        if not as_json:
            _show(report)
    differ = sum(not report["passed"] for report in reports)
    if as_json:
        for report in reports:
            if report["difference"] is not None:
                del report["difference"]["text"]
        document = {"format": 1, "version": __version__, "scripts": reports, "refused": refused}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    elif len(reports) + len(refused) > 1:
        passed = len(reports) - differ
        sys.stdout.write(f"{passed} passed, {differ} differ, {len(refused)} refused\n")
    return 2 if refused else int(differ > 0)


def _show(report: dict[str, Any]) -> None:
    if report["passed"]:
        counts = f"{report['packets']} packets, {report['assertions']} assertions"
        sys.stdout.write(f"{report['file']}: passed ({counts})\n")
    else:
        sys.stdout.write(report["difference"]["text"] + "\n")
    for note in report["notes"]:
        sys.stdout.write(f"  note: line {note['line']}: {note['note']}\n")
