"""The command ``slowstart evaluate``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from slowstart import stacks
from slowstart.commands import options as command_options
from slowstart.commands.grouping import spread
from slowstart.commands.options import Quick, RunOptions  # noqa: TC001 (Typer reads them)
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from pathlib import Path

    from slowstart.evaluation.scores import Card, Reader

# Of Store, RunStore and the page.
_STORE, _PAGE, _RESULT, _BOARD = "store", "report.html", "result.json", "leaderboard.md"

EPILOG = """\b
Examples:
  slowstart evaluate cubic+search --quick
  slowstart evaluate cubic+search:version=4.0 -o card
  slowstart evaluate cubic+mine:Glide:divisor=4 --against cubic+search --against bbr
  sudo slowstart evaluate cubic+hystart --quick --stack linux
  slowstart evaluate cubic+search --quick --stack quinn
  slowstart evaluate --all --quick -o board

\b
RFC 9743 (BCP 133) lists what a new congestion control should be evaluated for, and sets no
thresholds. The scorecard has a row for each measurement, with the values of well-known
algorithms beside it, and says which criteria are not evaluated, and why. mine:Glide is a
start-up written in Python, in mine.py (docs/guides/python.md).

\b
DIR keeps every finished run: a repeated command makes only what is missing, a full run
uses those of a quick one, and another algorithm uses those of the baselines. It takes
about a minute with --quick on two cores, and five without.

\b
--all writes DIR/leaderboard.md: the start-up rows for every built-in start-up.
Exit status: 0 done, 1 a run failed, 2 invalid input.
"""


@spread(
    runs=command_options.runs(100_000, "each scenario"),
    stack=Annotated[
        str | None,
        typer.Option("--stack", metavar="STACK", show_default=False,
                     help="linux: also run the rows and algorithms that the running kernel has, "
                     "in real time, and print the differences (needs root or /dev/net/tun). A "
                     "QUIC stack, such as quinn: the same in virtual time."),
    ],
    switch_hystart=None,
    output=command_options.folder("runs, report.html and result.json", "evaluation"),
)  # fmt: skip
def evaluate(
    algorithm: Annotated[
        str | None,
        typer.Argument(metavar="ALGORITHM", show_default=False,
                       help="avoidance+startup[:option=value,...], a monolithic congestion "
                       "control, or one with a Python class (docs/guides/python.md)."),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("-a", "--against", metavar="ALG", show_default=False,
                     help="An algorithm to compare with; repeatable [default: cubic+hystart, "
                     "reno, cubic+hystart++, cubic+search, bbr]."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Instead: a leaderboard of all built-in start-ups."),
    ] = False,
    quick: Quick = False,
    *,
    options: RunOptions,
) -> int:  # fmt: skip
    """Evaluate an algorithm by the criteria of RFC 9743, beside well-known ones."""
    if every == (algorithm is not None):
        raise InputError("name one algorithm to evaluate, or give --all for the leaderboard")
    (stack,) = options.stacks
    stacks.check_names([stack], ("linux",))
    linux = stack == "linux"
    if every and (stack != stacks.SIMULATED or against):
        raise InputError("--all simulates every built-in start-up: leave out --stack and --against")
    need_report("slowstart evaluate")
    options.check_stacks(["linux"])
    options.enter_namespace()
    from slowstart.evaluation import jobs, kernel, leaderboard, scores, table
    from slowstart.store.output import writing
    from slowstart.studies.folder import claim_folder

    known = table.read()
    if every:
        names = list(leaderboard.entrants())
    else:
        others = jobs.canonical(against or jobs.BASELINES)
        names = list(dict.fromkeys([*jobs.canonical([str(algorithm)]).values(), *others.values()]))
        if len(names) < 2:
            raise InputError(f"{names[0]} has nothing to be compared with: name another --against")
    made = jobs.cells(
        known, names, quick=quick, runs=options.runs,
        only=lambda row: not every or leaderboard.chosen(row, known),
    )  # fmt: skip
    on_kernel: list[jobs.Cell] = []
    refused: dict[str, str] = {}
    if linux:
        on_kernel, refused = kernel.cells(known, names, quick=quick, runs=options.runs)
    elif stack != stacks.SIMULATED:
        on_kernel, refused = kernel.cells_of_quic(
            known, names, stack, quick=quick, runs=options.runs
        )
    folder = options.folder("evaluation")
    with writing(folder):
        claim_folder(folder, "evaluate")
    command = _command(algorithm, against, quick=quick, runs=options.runs, stack=stack)
    try:
        with Meter("evaluating", quiet=options.quiet) as meter:
            found = jobs.execute(made, folder / _STORE, threads=options.threads, progress=meter)
        if on_kernel:
            with Meter(f"measuring on {stack}", quiet=options.quiet) as meter:
                real = jobs.execute(
                    on_kernel, folder / _STORE, progress=meter, remaining=meter.remaining,
                    threads=options.threads, force=options.force,
                )  # fmt: skip
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    reader = scores.Reader(found)
    if every:
        _write_board(folder, reader, command, quick=quick, options=options)
        return 0
    card = scores.score(known, found, names[0], names[1:], quick=quick)
    compared = kernel.compare(card, real, refused, stack) if on_kernel else None
    if stack != stacks.SIMULATED and compared is None:
        compared = kernel.Kernel((), refused, stack=stack)
    _write_card(folder, card, reader, command, compared, options)
    return 0


def _command(
    algorithm: str | None, against: list[str] | None, *, quick: bool, runs: int | None, stack: str
) -> str:
    words = ["slowstart evaluate", algorithm or "--all"]
    words += [f"-a {each}" for each in against or []]
    words += ["--quick"] if quick else []
    words += [f"-n {runs}"] if runs else []
    words += [f"--stack {stack}"] if stack != stacks.SIMULATED else []
    return " ".join(words)


def _write_card(
    folder: Path,
    card: Card,
    reader: Reader,
    command: str,
    compared: object,
    options: RunOptions,
) -> None:
    from slowstart.evaluation import kernel, page, terminal
    from slowstart.store.output import replace_file, writing

    real = compared if isinstance(compared, kernel.Kernel) else None
    document = json.dumps(page.document(card, command, real), indent=2, ensure_ascii=False)
    with writing(folder):
        text = page.write(folder, card, reader, command, real)
        replace_file(folder / _RESULT, document + "\n")
        replace_file(folder / _PAGE, text)
    options.print(lambda: document, lambda: terminal.show(card, str(folder / _PAGE), real))


def _write_board(
    folder: Path, reader: Reader, command: str, *, quick: bool, options: RunOptions
) -> None:
    from slowstart.evaluation import leaderboard, table
    from slowstart.store.output import replace_file, writing

    known = table.read()
    found = leaderboard.document(known, reader, command, quick=quick)
    document = json.dumps(found, indent=2, ensure_ascii=False)
    text = leaderboard.markdown(known, reader, command, quick=quick)
    with writing(folder):
        replace_file(folder / _RESULT, document + "\n")
        replace_file(folder / _BOARD, text)
    options.print(lambda: document, lambda: sys.stdout.write(text))
