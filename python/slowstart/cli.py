"""The command ``slowstart``.

Exit status: 0 done, 2 the input was wrong, 1 a run failed, 130 interrupted. Errors are one
sentence on standard error. Only what every command needs is imported here, so that help is there
at once; tables, figures and their libraries are imported where they are used.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import InputError, RunError, Scenario, __version__, compare, run
from slowstart.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from slowstart import Result

ALGORITHMS = ("cubic+hystart", "cubic+hystart++", "cubic+search", "cubic+standard")
SIZE = "20 MB"

_SYNTAX = """\b
Algorithms are written avoidance+startup[:option=value,...], for example
  cubic+search   cubic+search:version=4.0,exit=drain   reno+hystart++   bbr
and "cubic" alone is Linux's default, cubic+hystart.  See: slowstart list algorithms

\b
Paths are presets (geo, lte, wired, ...; see: slowstart list paths), recorded
traces in Mahimahi's format (trace:FILE, trace:DOWN,UP, and with recorded delays
trace:FILE,delay=FILE), or path files:
  [path]
  rate = "50 Mbit/s"
  rtt = "100 ms"
  buffer = "1.5 bdp"
"""

app = typer.Typer(
    name="slowstart",
    help="Compare how TCP start-up algorithms find the capacity of a path.",
    epilog=f"""\b
Examples:
  slowstart compare geo lte -a cubic+search -a cubic+hystart --size 20MB -n 20
  slowstart compare trace:FILE my-path.toml -o report
  slowstart run scenario.toml --json
  slowstart list algorithms

{_SYNTAX}""",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Write result.json, Parquet and CSV tables, figures and report.html into this "
        "folder. It is whole or absent; an earlier result there is replaced.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result document, and nothing else.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no table and no progress.")]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=4096,
        help="Runs at a time [default: one for each core]; the result does not depend on it.",
        show_default=False,
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"slowstart {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


@app.command(
    "compare",
    epilog=f"""\b
Examples:
  slowstart compare geo -a cubic+search -a cubic+hystart -a cubic+standard --size 20MB -n 50
  slowstart compare lte wifi-strong my-path.toml -a bbr -a cubic --json
  slowstart compare trace:FILE -a cubic+search --duration 10s -o report
  slowstart compare wired -a reno --flows 4 --stagger "500 ms" --size 5MB

{_SYNTAX}""",
)
def _compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Presets, trace:FILE, or path files.",
                       show_default=False),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help=f"An algorithm; repeat it [default: {', '.join(ALGORITHMS)}]."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", show_default=False,
                     help=f'Bytes that each flow sends, with unit [default: "{SIZE}"].'),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False,
                     help='How long each flow sends instead, with unit ("10 s").'),
    ] = None,
    runs: Annotated[
        int, typer.Option("-n", "--runs", metavar="N", help="Runs of each algorithm.")
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed of the first run. Runs of one number meet the same "
                     "channel, whatever the algorithm."),
    ] = 1,
    initial_window: Annotated[
        int, typer.Option(metavar="N", help="Initial window in segments.")
    ] = 10,
    pacing: Annotated[bool, typer.Option("--pacing", help="Pace segments, as under fq.")] = False,
    flows: Annotated[int, typer.Option(metavar="N", help="Flows in each run.")] = 1,
    stagger: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time from one flow's start to the next.",
                     show_default=False),
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compare algorithms over one or several paths."""
    settings: dict[str, Any] = {
        "runs": runs,
        "seed": seed,
        "initial_window": initial_window,
        "pacing": pacing,
        "flows": flows,
        "stagger": stagger,
    }
    amount = SIZE if size is None and duration is None else size
    algorithms = algorithm or list(ALGORITHMS)
    scenarios = compare(paths, algorithms, size=amount, duration=duration, **settings)

    def at_size(smaller: str) -> list[Scenario]:
        return compare(paths, algorithms, size=smaller, **settings)

    _execute(scenarios, threads, as_json, output, quiet, at_size=at_size)


@app.command(
    "run",
    epilog="""\b
Examples:
  slowstart run scenario.toml
  slowstart run scenario.toml --seed 7 -n 20 --json
  slowstart run scenario.toml -o report --traces

\b
A scenario file says the path, the flows, and how often they run:
  runs = 20
  [path]
  preset = "geo"
  [[flow]]
  algorithm = "cubic+search"
  size = "20 MB"
""",
)
def _run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A scenario file (TOML).", show_default=False)
    ],
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", help="Runs, instead of the file's.",
                     show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of the first run, instead of the file's.",
                     show_default=False),
    ] = None,
    traces: Annotated[
        bool,
        typer.Option("--traces", help="With -o, write the time series of every run as Parquet."),
    ] = False,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a scenario file."""
    if traces and output is None:
        raise InputError("--traces writes files, so it needs -o DIR")
    scenario = Scenario.from_file(file).with_runs(runs=runs, seed=seed)
    _execute([scenario], threads, as_json, output, quiet, traces=traces)


class Topic(str, Enum):
    """What ``list`` lists."""

    ALGORITHMS = "algorithms"
    PATHS = "paths"
    STUDIES = "studies"


@app.command(
    "list",
    epilog="""\b
Examples:
  slowstart list
  slowstart list algorithms
  slowstart list paths --json
""",
)
def _list(
    topic: Annotated[
        Topic | None, typer.Argument(help="What to list; everything if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the algorithms, paths and studies there are."""
    from slowstart import listing

    topics = [each.value for each in Topic] if topic is None else [topic.value]
    found = {each: listing.CATALOGUE[each]() for each in topics}
    if as_json:
        _print_json(json.dumps({"format": 1, "version": __version__, **found}, indent=2))
    else:
        listing.show(found)


def _execute(
    scenarios: Sequence[Scenario],
    threads: int | None,
    as_json: bool,
    output: str | None,
    quiet: bool,
    **extras: Any,
) -> None:
    """Runs scenarios, prints what is wanted, and writes ``output``."""
    from slowstart.output import output_folder

    with output_folder(output) as folder:
        with Meter("running", quiet=quiet) as meter:
            result = run(scenarios, threads=threads, progress=meter)
        text = result.to_json()
        if folder is not None:
            from slowstart import artifacts

            artifacts.write(folder, scenarios, result, text, threads=threads, quiet=quiet, **extras)
    if as_json:
        _print_json(text)
    elif not quiet:
        _print_tables(scenarios, result, output)


def _print_json(text: str) -> None:
    sys.stdout.write(text + "\n")


def _print_tables(scenarios: Sequence[Scenario], result: Result, output: str | None) -> None:
    from slowstart import tables

    document = json.loads(result.to_json())
    paths = {each.path: json.loads(each.to_json())["path"] for each in scenarios}
    tables.show(document["summary"], paths)
    if output is not None:
        sys.stdout.write(f"The report is {os.path.join(output, 'report.html')}\n")  # noqa: PTH118


def _terminated(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def invoke(arguments: Sequence[str]) -> int:
    """Runs the command with ``arguments`` and returns its exit status."""
    try:
        status = app(args=list(arguments), prog_name="slowstart", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _complain(str(error), 2)
    except RunError as error:
        return _complain(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted, and nothing was written", 130)
    except BrokenPipeError:
        # The reader has seen enough. Nothing may be left for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {(error.strerror or '').lower()}", 1)
    except MemoryError:
        return _complain("the memory of this machine does not suffice for these runs", 1)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            kind = type(error).__name__
            return _complain(f"a mistake in slowstart, please report it: {kind}: {error}", 1)
        command = getattr(getattr(error, "ctx", None), "command_path", "slowstart")
        return _complain(f"{usage().rstrip('.')} (see {command} --help)", 2)
    return status if isinstance(status, int) else 0


def _complain(sentence: str, status: int) -> int:
    line = " ".join(sentence.split())
    sys.stderr.write(f"slowstart: {line}\n")
    return status


def main() -> None:
    """The entry point of the command."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(invoke(sys.argv[1:]))
