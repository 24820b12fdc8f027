"""The command ``slowstart sweep``."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowstart import stacks
from slowstart._version import __version__
from slowstart.commands import options as command_options
from slowstart.commands import worst
from slowstart.commands.grouping import spread
from slowstart.commands.options import RunOptions  # noqa: TC001 (Typer reads it)
from slowstart.commands.worst import SearchOptions  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError, RunError, complain
from slowstart.extras import need_report
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from slowstart._native import Scenario
    from slowstart.sweeps import Status
    from slowstart.sweeps.sweep import Sweep

EPILOG = """\b
Examples:
  slowstart sweep scenarios/sweeps/sweep.toml
  slowstart sweep my.toml --baseline cubic+hystart
  slowstart sweep my.toml -o results --csv > table.csv
  slowstart sweep status my.toml
  slowstart sweep show 3f9a0c1d my.toml | sh
  slowstart sweep my.toml --shard 3/16        (of a SLURM or CI array, in a shared folder)
  slowstart sweep my.toml --on tcp://scheduler:8786
  slowstart sweep --worst "cubic+hystart against cubic+standard"
  slowstart sweep my.toml --worst cubic+search --objective cost --budget 10000

\b
A sweep is a scenario and the values of its keys:
  runs = 10
  [scenario.path]
  buffer = "1 bdp"
  loss = "0.1 %"
  [[scenario.flow]]
  size = "1 MB"
  [grid]
  "flow.algorithm" = ["cubic+search", "cubic+hystart"]
  "path.rate" = { from = "5 Mbit/s", to = "500 Mbit/s", points = 7, scale = "log" }
  "path.rtt" = ["10 ms", "30 ms", "100 ms", "300 ms"]

\b
DIR keeps every finished run under a hash of its resolved scenario, seed and version. The
command runs only what is missing there, so it resumes after any interruption, and a
changed sweep keeps the runs that it shares. DIR/flows.parquet is the table, with a column
for each swept key; DIR/report.html shows it. See docs/guides/sweeps.md.

\b
--worst searches for the path where one algorithm does worst, by differential evolution:
within the ranges of [latin_hypercube], and separately for each combination of [grid]. It
measures that path again with fresh seeds, and writes worst.json, worst.toml (a scenario for
slowstart run and compare), search.parquet and a picture. See docs/guides/worst-paths.md.

\b
Exit status: 0 done, 1 a run failed, 2 invalid input.
"""
_MOST_ROWS = 40
_PATIENCE_S = 120.0


@spread()
@spread(
    runs=command_options.runs(100_000_000, "each point"),
    stack=Annotated[
        str | None,
        typer.Option(
            "--stack",
            metavar="STACK",
            show_default=False,
            help="The stack in virtual time that runs all points, instead of the file's: "
            "simulated, or a QUIC stack such as quinn (see: slowstart list stacks).",
        ),
    ],
    force=None,
    switch_hystart=None,
    output=command_options.folder("runs, tables and report", "sweep-NAME, worst-ALGORITHM"),
    as_json=Annotated[
        bool, typer.Option("--json", help="With status and --worst: print one JSON document.")
    ],
)
def sweep(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE | status FILE|DIR | show KEY FILE|DIR", show_default=False,
                       help="Run the sweep of a file; or print how far it is; or print the "
                       "command that repeats the run with this key of its table."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", show_default=False,
                     help="Make only the I-th of N parts of the runs. Parts may run at the same "
                     "time; the last one writes the table."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", show_default=False,
                     help="Run on the workers of this Dask scheduler (tcp://host:8786) [default: "
                     "all cores of this machine]."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="VALUE", show_default=False,
                     help="A value of a swept key, such as an algorithm: figures also show the "
                     "ratios to it, run by run [default: `baseline` of the file]."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    *,
    options: RunOptions,
    search: SearchOptions,
) -> int:  # fmt: skip
    """Run a scenario over values of its keys, resumably, on one machine or many."""
    what = what or []
    if search.worst is not None:
        if shard or on or baseline or csv or options.stack:
            raise InputError(
                "a search for the worst path runs on this machine's simulator: leave out --shard, "
                "--on, --baseline, --csv and --stack"
            )
        return worst.search(what, search, options)
    search.check_unused()
    verb = what[0] if what and what[0] in ("status", "show") else "run"
    rest = what if verb == "run" else what[1:]
    expected = {"run": 1, "status": 1, "show": 2}[verb]
    if len(rest) != expected:
        usage = {
            "run": "name one sweep file (or: status FILE, show KEY FILE)",
            "status": "status needs the sweep's file or folder",
            "show": "show needs a key of the sweep's table, and the sweep's file or folder",
        }
        raise InputError(usage[verb])
    part = _shard(shard)
    if verb != "run" and (
        on or options.threads or csv or baseline or (verb == "show" and part[1] > 1)
    ):
        raise InputError(
            f"{verb} runs nothing: leave out --on, --threads, --csv, --baseline and --shard"
        )
    if options.as_json and verb != "status":
        raise InputError("--json works with status and --worst; --csv prints the table")
    if on is not None and options.threads is not None:
        raise InputError("--threads is for this machine: leave it or --on out")
    stack = options.stack if isinstance(options.stack, str) else None
    need_report("slowstart sweep")
    made = _load(rest[-1], options.output, options.runs, stack)
    if baseline is not None:
        from slowstart.sweeps import against

        against.column(made.definition, baseline)
        made.baseline = baseline
    if verb == "status":
        _print_status(made.status(part), options.as_json)
        return 0
    if verb == "show":
        sys.stdout.write(_show(made, rest[0]))
        return 0
    return _run(made, part, on, csv, options)


def _run(
    made: Sweep,
    part: tuple[int, int],
    on: str | None,
    csv: bool,
    options: RunOptions,
) -> int:
    folder = made.folder
    try:
        with Meter("planning", quiet=options.quiet) as meter:
            made.resolve(meter)
        with Meter("running", quiet=options.quiet) as meter:
            found = made.execute(shard=part, threads=options.threads, on=on, progress=meter)
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    if found.failed:
        for reason in found.reasons[:5]:
            complain(reason)
        raise RunError(
            f"{found.failed} of {found.total} runs failed; the same command tries them again"
        )
    whole = found if part[1] == 1 else made.status()
    if whole.missing:
        if csv:
            raise RunError(
                f"{whole.missing} runs of other parts are missing: there is no table yet"
            )
        if not options.quiet:
            sys.stdout.write(
                f"Part {part[0]} of {part[1]} is complete. The sweep has {whole.done} of "
                f"{whole.total} runs.\n"
            )
        return 0
    made.write()
    made.report()
    if csv:
        made.table.write_csv(sys.stdout.buffer)
        return 0
    if not options.quiet:
        _print(made)
    return 0


def _print(made: Sweep) -> None:
    from slowstart.report import tables
    from slowstart.sweeps import figures, page

    measures = figures.chosen(made.definition, made.table)
    heads, rows = figures.rows(made.definition, made.table, measures, _MOST_ROWS)
    out = tables.console()
    left = len(heads) - len(measures) - 1
    cells = [[tables.Cell(each) for each in row] for row in rows]
    tables.grid(out, heads, cells, left=left)
    if made.definition.points > len(rows):
        out.print(f"... and {made.definition.points - len(rows)} more points", markup=False)
    for note in page.notes(made.plan):
        out.print(note, markup=False)
    sys.stdout.write(
        f"The table is {made.file()}, the report {os.path.join(made.folder, page.REPORT)}\n"  # noqa: PTH118
    )


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"--shard {text}: write i/n with i from 1 to n, such as 3/16")
    return int(found[1]), int(found[2])


def _load(given: str, output: str | None, runs: int | None, stack: str | None) -> Sweep:
    from slowstart.sweeps.sweep import Sweep

    place = Path(given)
    if place.is_dir():
        if output is not None:
            raise InputError(f"{given} is the folder of a sweep: leave out -o")
        if stack is not None:
            raise InputError(f"{given} is the folder of a sweep, which has its stack")
        return Sweep.open(place, runs)
    return Sweep.load(given, output or f"sweep-{place.stem}", runs, stack=stack)


def _print_status(found: Status, as_json: bool) -> None:
    if as_json:
        document = {
            "format": 1,
            "version": __version__,
            "total": found.total,
            "done": found.done,
            "missing": found.missing,
            "failed": found.failed,
            "left_s": found.left_s,
            "reasons": list(found.reasons),
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    share = f" ({100 * found.done / found.total:.1f} %)" if found.total else ""
    said = f"{found.done} of {found.total} runs are done{share}, {found.missing} are missing"
    sys.stdout.write(f"{said}, {found.failed} of which failed.\n" if found.failed else f"{said}.\n")
    for reason in found.reasons[:5]:
        sys.stdout.write(f"  {reason}\n")
    if found.missing and found.left_s is not None:
        seconds = round(found.left_s)
        clock = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        sys.stdout.write(f"Time left: about {clock}, on machines like those that made them.\n")


def _on_stack(scenario: Scenario) -> str:
    """The options that put a scenario on its stack."""
    words = f" --stack {shlex.quote(scenario.stack)}" if scenario.stack != stacks.SIMULATED else ""
    return words + (f" -a {scenario.own}" if scenario.own else "")


def _show(made: Sweep, key: str) -> str:
    """A shell script that repeats a run."""
    word, _, seed = key.partition(":")
    if not re.fullmatch(r"[0-9a-f]{4,24}", word) or (seed and not seed.isdecimal()):
        raise InputError(
            f"`{key}` is not a key: write the column key of the table, or its first digits, and "
            ":SEED for a run other than the first"
        )
    point, run = made.find(word, int(seed) if seed else None)
    labels = made.definition.labels(point)
    said = ", ".join(f"{name} = {value}" for name, value in labels.items())
    name = f"run-{word[:8]}.toml"
    lines = [f"# point {point + 1} of {made.definition.points}{': ' * bool(said)}{said}"]
    folder = made.definition.folder.resolve()
    if folder != Path.cwd():
        lines.append(f"cd {shlex.quote(str(folder))}")
    lines += [
        f"cat > {name} <<'END'",
        made.definition.file_of(point).rstrip("\n"),
        "END",
        f"slowstart run {name} --seed {run} -n 1{_on_stack(made.definition.scenario(point))}",
    ]
    return "\n".join(lines) + "\n"
