"""The command ``slowstart study``."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from slowstart import __version__
from slowstart._native import enter_user_namespace
from slowstart.errors import InputError
from slowstart.fidelity import command as fidelity
from slowstart.progress import Meter

EPILOG = """\b
Examples:
  slowstart study
  slowstart study suss-testbed --quick
  slowstart study suss-testbed -o testbed --json
  sudo slowstart study suss-testbed --stack simulated --stack linux --only wired
  sudo slowstart study linux-fidelity --quick

\b
Without a name it lists the studies. NAME may be the folder of a study of your own, see
docs/guides/studies.md. Every finished run is kept in DIR, so a command that was killed
goes on where it was, and a full run takes over what a quick one made.
Exit status: 0 done (also where a claim differs), 1 a run failed, 2 wrong input.
"""


def study(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A study, or the folder of one.",
                       show_default=False),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer repetitions: an answer in about a minute."),
    ] = False,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            "--stack", metavar="STACK", show_default=False,
            help="What runs: simulated [default], linux, or both if given twice; linux makes those "
            "experiments alone that the kernel can make (needs root).",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", min=1, max=1_000_000, show_default=False,
                     help="Repetitions of every scenario, instead of the study's."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", show_default=False,
                     help="Only this experiment; repeat it. Claims about others are not tested."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --stack linux, count runs that the emulator's check of "
                     "itself does not trust."),
    ] = False,
    switch_hystart: Annotated[
        bool,
        typer.Option("--switch-hystart", help="With --stack linux, switch HyStart off for the "
                     "whole machine while a run of cubic+standard lasts, if there is no other "
                     "way."),
    ] = False,
    traces: Annotated[
        str | None,
        typer.Option(metavar="DIR", show_default=False,
                     help="The folder of recorded traces, for studies that need some [default: "
                     "$SLOWSTART_TRACES, or where slowstart traces fetch puts them]."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=4096, show_default=False,
                     help="Simulations at a time [default: one for each core]."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="The folder of the study's runs and report [default: study-NAME]."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no table.")] = False,
) -> int:  # fmt: skip
    """Repeat a published document, with a verdict on each of its claims."""
    if name is None:
        from slowstart import listing

        found = {"studies": listing.CATALOGUE["studies"]()}
        if as_json:
            _print_json({"format": 1, "version": __version__, **found})
        elif not quiet:
            listing.show(found)
        return 0
    if name == fidelity.STUDY:
        if stack or only or force or switch_hystart or threads or traces:
            raise InputError(
                f"{name} runs both stacks over its own grid: leave out --stack, --only, --force, "
                "--switch-hystart, --threads and --traces (see slowstart validate --help)"
            )
        kept = output or f"study-{name}"
        fidelity.validate(quick=quick, runs=runs, output=kept, as_json=as_json, quiet=quiet)
        return 0
    from slowstart import studies
    from slowstart.studies import terminal

    chosen = studies.load(name, traces)
    stacks = stack or ["simulated"]
    if "linux" in stacks:
        with contextlib.suppress(InputError):  # the check says it better
            enter_user_namespace()
    elif force or switch_hystart:
        raise InputError("--force and --switch-hystart need --stack linux")
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
        sys.stderr.write(
            f"slowstart: interrupted; finished runs are kept in {folder}, and the same command "
            "goes on\n"
        )
        return 130
    if as_json:
        _print_json(findings.document())
    elif not quiet:
        terminal.show(findings, str(folder / "report.html"))
    return 0


def _print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
