"""The command ``slowstart study``."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from slowstart._native import enter_user_namespace
from slowstart._version import __version__
from slowstart.commands import options as command_options
from slowstart.commands import validate as fidelity
from slowstart.commands.options import (  # noqa: TC001 (Typer reads them)
    Force,
    Json,
    Quick,
    Quiet,
    SwitchHyStart,
    Threads,
)
from slowstart.errors import InputError
from slowstart.report.progress import Meter

EPILOG = """\b
Examples:
  slowstart study
  slowstart study suss-testbed --quick
  slowstart study suss-testbed -o testbed --json
  slowstart study search-thesis --calibrate --only leo
  sudo slowstart study suss-testbed --stack simulated --stack linux --only wired
  sudo slowstart study linux-fidelity --quick

\b
Without a name, list the studies. NAME may also be the folder of your own study; see
docs/guides/studies.md. DIR keeps every finished run, so a repeated command resumes where
it was interrupted, and a full run reuses the runs of a quick one.


--calibrate runs the published plain baseline over the ranges in the study's calibration.toml,
and writes the parameters that it allows into DIR/calibration (and into the study's folder, if
NAME is one). A full run judges each claim about such a network at a spread-out subset of them:
it agrees at all, differs at all, or the publication does not identify it. --quick judges at the
chosen point alone.
Exit status: 0 done (even if a claim differs), 1 a run failed, 2 invalid input.
"""


def study(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A study, or a study folder.",
                       show_default=False),
    ] = None,
    quick: Quick = False,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            "--stack", metavar="STACK", show_default=False,
            help="simulated [default], linux or linux-vm; repeatable, for a report with all of "
            "them. A kernel makes only the experiments that it supports. linux needs root or "
            "/dev/net/tun; linux-vm is a kernel in virtual time, for a busy machine.",
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Search the parameters that the published plain baseline "
                     "allows, instead of running the study."),
    ] = False,
    runs: Annotated[int | None, command_options.runs(1_000_000, "each scenario")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", show_default=False,
                     help="Run only this experiment (with --calibrate: this calibration); "
                     "repeatable. Claims about others are not tested."),
    ] = None,
    force: Force = False,
    switch_hystart: SwitchHyStart = False,
    traces: Annotated[
        str | None,
        typer.Option(metavar="DIR", show_default=False,
                     help="The folder of recorded traces, for studies that need them [default: "
                     "$SLOWSTART_TRACES, or the folder of slowstart traces fetch]."),
    ] = None,
    threads: Threads = None,
    output: Annotated[
        str | None, command_options.folder("the study's runs and report", "study-NAME")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Reproduce a publication, with a verdict on each of its claims."""
    if name is None:
        from slowstart.commands import listing

        found = {"studies": listing.CATALOGUE["studies"]()}
        if as_json:
            _print_json({"format": 1, "version": __version__, **found})
        elif not quiet:
            listing.show(found)
        return 0
    if name == fidelity.STUDY:
        if stack or only or force or switch_hystart or threads or traces or calibrate:
            raise InputError(
                f"{name} runs both stacks over its own grid: leave out --stack, --only, --force, "
                "--switch-hystart, --threads, --traces and --calibrate (see slowstart validate "
                "--help)"
            )
        kept = output or f"study-{name}"
        fidelity.validate(quick=quick, runs=runs, output=kept, as_json=as_json, quiet=quiet)
        return 0
    if calibrate:
        if stack or force or switch_hystart or traces:
            raise InputError(
                "--calibrate simulates the plain baseline: leave out --stack, --force, "
                "--switch-hystart and --traces"
            )
        return _calibrate(name, quick, runs, only or [], threads, output, as_json, quiet)
    stacks = stack or ["simulated"]
    if "linux" in stacks:
        # Before the imports below, whose libraries start threads: a process with threads cannot
        # enter a user namespace.
        with contextlib.suppress(InputError):  # check_linux reports it better
            enter_user_namespace()
    from slowstart import studies
    from slowstart.studies import terminal

    chosen = studies.load(name, traces)
    if force and set(stacks) <= {"simulated"}:
        raise InputError("--force needs --stack linux or linux-vm")
    if switch_hystart and "linux" not in stacks:
        raise InputError("--switch-hystart needs --stack linux")
    folder = Path(output or f"study-{chosen.name}")
    try:
        with Meter(f"running {chosen.name}", quiet=quiet) as meter:
            findings = chosen.run(
                folder,
                quick=quick,
                stacks=stacks,
                runs=runs,
                only=only or [],
                threads=threads,
                progress=meter,
                remaining=meter.remaining,
                force=force,
                switch_hystart=switch_hystart,
            )
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    if as_json:
        _print_json(findings.document())
    elif not quiet:
        terminal.show(findings, str(folder / "report.html"))
    return 0


def _calibrate(
    name: str,
    quick: bool,
    runs: int | None,
    only: list[str],
    threads: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    from slowstart import studies
    from slowstart.store.output import replace_file, writing
    from slowstart.studies import terminal
    from slowstart.studies.calibration import FOLDER
    from slowstart.studies.folder import claim_folder

    chosen = studies.load(name, sets=False)
    folder = Path(output or f"study-{chosen.name}")
    with writing(folder):
        claim_folder(folder, chosen.name)
    options = [*(["--quick"] if quick else []), *([f"-n {runs}"] if runs else [])]
    command = " ".join(["slowstart study", chosen.name, "--calibrate", *options])
    try:
        with Meter(f"calibrating {chosen.name}", quiet=quiet) as meter:
            found = chosen.calibrate(
                folder, only=only, quick=quick, runs=runs, threads=threads, progress=meter,
                command=command,
            )  # fmt: skip
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    if name not in studies.names():
        place = chosen.folder / FOLDER
        with writing(place):
            place.mkdir(exist_ok=True)
            for each in found:
                for ending in ("toml", "csv"):
                    file = f"{each.calibration.name}.{ending}"
                    replace_file(place / file, (folder / FOLDER / file).read_text(encoding="utf-8"))
    if as_json:
        _print_json(terminal.searches(chosen.name, found))
    elif not quiet:
        terminal.show_searches(chosen.title, found, str(folder / FOLDER))
    return 0


def _print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
