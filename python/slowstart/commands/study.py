"""The command ``slowstart study``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart._version import __version__
from slowstart.commands import options as command_options
from slowstart.commands.grouping import spread
from slowstart.commands.options import Quick, RunOptions  # noqa: TC001 (Typer reads them)
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.fidelity import STUDY
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from pathlib import Path

    from slowstart.studies.library import Study

EPILOG = """\b
Examples:
  slowstart study
  slowstart study suss-testbed --quick
  slowstart study suss-testbed -o testbed --json
  slowstart study search-thesis --calibrate --only leo
  sudo slowstart study suss-testbed --stack simulated --stack linux --only wired
  sudo slowstart study linux-fidelity --quick
  slowstart study fast-startup --tmix trace.cvec --quick
  slowstart study ./my-study --seal
  slowstart study show throughput-geo
  slowstart study totals

\b
Without a name, list the studies. NAME may also be the folder of your own study; see
docs/guides/studies.md. DIR keeps every finished run, so a repeated command resumes where
it was interrupted, and a full run reuses the runs of a quick one.


show CLAIM prints all about one claim, by the id that the report's addresses end with: its
published number and source, its measure and band, its runs, what they found (in -o DIR, by default
the study's own folder of results), its figure, and the command that repeats it. Write STUDY/CLAIM
for a study of your own.

totals prints the verdicts of every built-in study by published number, from the results in
study-NAME in this folder (or in -o DIR), and how many claims differ without an experiment that
looks for the cause.

--tmix FILE runs the experiments that replay connections (of the built-in studies, fast-startup has
some) on a file of yours, in either format of Tmix and of at most 4 MB. What is measured is shown
beside each claim without a verdict, because the published numbers belong to other connections.

--seal belongs before the first run of your own study: it shows that no band was chosen after
a result was seen. A changed claim is refused until its line is deleted by hand.

--calibrate runs the published plain baseline over the ranges in the study's calibration.toml,
and writes the parameters that it allows into DIR/calibration (and into the study's folder, if
NAME is one): the points that hold 95 % of the weight. It also says whether the shipped presets
meet the baseline. A full run judges each claim about such a network at a spread-out subset of them:
it agrees at all, differs at all, or the publication does not identify it. --quick judges at the
chosen point alone.
Exit status: 0 done (even if a claim differs), 1 a run failed, 2 invalid input.
"""


@spread(
    runs=command_options.runs(1_000_000, "each scenario"),
    stack=Annotated[
        list[str] | None,
        typer.Option(
            "--stack", metavar="STACK", show_default=False,
            help="simulated [default], linux or linux-vm; repeatable, for a report with all of "
            "them. A kernel makes only the experiments that it supports. linux needs root or "
            "/dev/net/tun; linux-vm is a kernel in virtual time, for a busy machine.",
        ),
    ],
    output=command_options.folder("the study's runs and report", "study-NAME"),
)  # fmt: skip
def study(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A study, a study folder, show or totals.",
                       show_default=False),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Argument(metavar="CLAIM", help="After show: the claim to show.",
                       show_default=False),
    ] = None,
    quick: Quick = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Search the parameters that the published plain baseline "
                     "allows, instead of running the study."),
    ] = False,
    seal: Annotated[
        bool,
        typer.Option("--seal", help="Write the SHA-256 of each new claim's measure and band into "
                     "the study's claims.lock, instead of running the study. Refused where DIR "
                     "has results."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPERIMENT", show_default=False,
                     help="Run only this experiment (with --calibrate: this calibration); "
                     "repeatable. Claims about others are not tested."),
    ] = None,
    traces: Annotated[
        str | None,
        typer.Option(metavar="DIR", show_default=False,
                     help="The folder of recorded traces, for studies that need them [default: "
                     "$SLOWSTART_TRACES, or the folder of slowstart traces fetch]."),
    ] = None,
    tmix: Annotated[
        str | None,
        typer.Option(metavar="FILE", show_default=False,
                     help="Replay a file of Tmix connection vectors in place of the study's own "
                     "workload (fast-startup). Claims then have no verdict."),
    ] = None,
    *,
    options: RunOptions,
) -> int:  # fmt: skip
    """Reproduce a publication, with a verdict on each of its claims."""
    if name is None:
        _list(options)
        return 0
    need_report("slowstart study NAME")
    if name == "show":
        if (
            quick or calibrate or seal or only or tmix
            or options.stack or options.runs or options.threads
        ):  # fmt: skip
            raise InputError(
                "study show runs nothing: leave out the other options but -o and --json"
            )
        return _show(claim, options)
    if name == "totals":
        if (
            quick or calibrate or seal or only or tmix or claim
            or options.stack or options.runs or options.threads
        ):  # fmt: skip
            raise InputError("study totals runs nothing: leave out everything but -o and --json")
        return _totals(options)
    if claim is not None:
        raise InputError(f"a study has no second name {claim}: for a claim, study show {claim}")
    chosen = any((options.stack, options.force, options.switch_hystart, traces, tmix))
    if seal:
        if chosen or only or quick or calibrate:
            raise InputError("--seal runs nothing: leave out the other options but -o")
        return _seal(name, options)
    if name == STUDY:
        if chosen or only or options.threads or calibrate:
            raise InputError(
                f"{name} runs both stacks over its own grid: leave out --stack, --only, --force, "
                "--switch-hystart, --threads, --traces, --tmix and --calibrate (see slowstart "
                "validate --help)"
            )
        from slowstart.commands import validate as fidelity

        fidelity.validate(
            quick=quick, runs=options.runs, output=str(options.folder(f"study-{name}")),
            as_json=options.as_json, quiet=options.quiet,
        )  # fmt: skip
        return 0
    if calibrate:
        if chosen:
            raise InputError(
                "--calibrate simulates the plain baseline: leave out --stack, --force, "
                "--switch-hystart, --traces and --tmix"
            )
        return _calibrate(name, quick=quick, only=only or [], options=options)
    options.enter_namespace()
    from slowstart import studies

    return _run(
        studies.load(name, traces, tmix=tmix), quick=quick, only=only or [], options=options
    )


def _show(claim: str | None, options: RunOptions) -> int:
    """Prints all about one claim."""
    from slowstart import studies
    from slowstart.studies import showing, terminal

    if claim is None:
        raise InputError("study show needs the id of a claim: study show CLAIM")
    given, called = showing.home(claim)
    chosen = studies.load(given)
    one = showing.claim_of(chosen, called)
    made = showing.document(chosen, one, options.folder(f"study-{chosen.name}"), given)
    options.print(
        lambda: _text({"format": 1, "kind": "claim", "version": __version__, **made}),
        lambda: terminal.show_claim(made["words"], showing.lines(made)),
    )
    return 0


def _totals(options: RunOptions) -> int:
    """Prints the verdicts of all studies that have results."""
    from slowstart.studies import terminal, totals

    found = totals.gather(options.folder("."))
    document = {"format": 1, "kind": "study-totals", "version": __version__, "studies": found}
    options.print(lambda: _text(document), lambda: terminal.show_totals(found))
    return 0


def _list(options: RunOptions) -> None:
    from slowstart.commands import listing

    found = {"studies": listing.CATALOGUE["studies"]()}
    options.print(
        lambda: _text({"format": 1, "version": __version__, **found}), lambda: listing.show(found)
    )


def _run(chosen: Study, *, quick: bool, only: list[str], options: RunOptions) -> int:
    """Runs a study and prints its verdicts."""
    from slowstart.studies import terminal

    options.check_stacks()
    file = "" if chosen.replay is None else f"-{chosen.replay.file.stem}"
    folder = options.folder(f"study-{chosen.name}{file}")
    try:
        with Meter(f"running {chosen.name}", quiet=options.quiet) as meter:
            findings = chosen.run(
                folder,
                quick=quick,
                stacks=options.stacks,
                runs=options.runs,
                only=only,
                threads=options.threads,
                progress=meter,
                remaining=meter.remaining,
                force=options.force,
                switch_hystart=options.switch_hystart,
            )
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    options.print(
        lambda: _text(findings.document()),
        lambda: terminal.show(findings, str(folder / "report.html")),
    )
    return 0


def _calibrate(name: str, *, quick: bool, only: list[str], options: RunOptions) -> int:
    """Searches the parameters that a study's baseline allows, and prints them."""
    from slowstart import studies
    from slowstart.store.output import writing
    from slowstart.studies import terminal
    from slowstart.studies.calibration import FOLDER
    from slowstart.studies.folder import claim_folder

    chosen = studies.load(name, sets=False)
    folder = options.folder(f"study-{chosen.name}")
    with writing(folder):
        claim_folder(folder, chosen.name)
    words = [*(["--quick"] if quick else []), *([f"-n {options.runs}"] if options.runs else [])]
    command = " ".join(["slowstart study", chosen.name, "--calibrate", *words])
    try:
        with Meter(f"calibrating {chosen.name}", quiet=options.quiet) as meter:
            found = chosen.calibrate(
                folder, only=only, quick=quick, runs=options.runs, threads=options.threads,
                progress=meter, command=command,
            )  # fmt: skip
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    if name not in studies.names():
        _keep(found, folder / FOLDER, chosen.folder / FOLDER)
    options.print(
        lambda: _text(terminal.searches(chosen.name, found)),
        lambda: terminal.show_searches(chosen.title, found, str(folder / FOLDER)),
    )
    return 0


def _seal(name: str, options: RunOptions) -> int:
    """Seals the claims of a study that have no seal yet."""
    from slowstart import studies
    from slowstart.studies import seals

    chosen = studies.load(name)
    results = options.folder(f"study-{chosen.name}")
    fresh = seals.write(chosen.claims, chosen.folder, results)
    file = chosen.folder / seals.LOCK
    words = f"sealed {', '.join(fresh)}" if fresh else "every claim has its seal already"
    options.print(
        lambda: _text({"format": 1, "version": __version__, "file": str(file), "sealed": fresh}),
        lambda: sys.stdout.write(f"{file}: {words}\n"),
    )
    return 0


def _keep(found: list[Any], made: Path, place: Path) -> None:
    """Copies the files of a calibration from the folder ``made`` into the study's own."""
    from slowstart.store.output import replace_file, writing

    with writing(place):
        place.mkdir(exist_ok=True)
        for each in found:
            for ending in ("toml", "csv"):
                file = f"{each.calibration.name}.{ending}"
                replace_file(place / file, (made / file).read_text(encoding="utf-8"))


def _text(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)
