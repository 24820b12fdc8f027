"""The commands ``slowstart compare`` and ``slowstart run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart.commands import figure_options, stacks
from slowstart.commands.execution import How, Stack, execute, execute_to_files
from slowstart.commands.figure_options import Formats, ThemeFile, Width  # noqa: TC001 (Typer reads them)
from slowstart.commands.options import (  # noqa: TC001 (Typer reads them)
    Force,
    Json,
    Quiet,
    SwitchHyStart,
    Threads,
)
from slowstart.errors import InputError
from slowstart.labels import canonical, labelled, meanings, names, split
from slowstart.planning import Plan, once, remark_once
from slowstart.running import compare

if TYPE_CHECKING:
    from slowstart._native import Scenario
    from slowstart.figure_style import Look

ALGORITHMS = ("cubic+hystart", "cubic+hystart++", "cubic+search", "cubic+standard")
SIZE = "20 MB"

SYNTAX = """\b
Write an algorithm as avoidance+startup[:option=value,...], for example
  cubic+search   cubic+search:version=4.0,exit=drain   reno+hystart++   bbr
"cubic" alone means Linux's default, cubic+hystart.  See: slowstart list algorithms

\b
A path is a preset (geo, lte, wired, ...; see: slowstart list paths), a recorded
trace in Mahimahi's format (trace:FILE, trace:DOWN,UP, or with recorded delays
trace:FILE,delay=FILE), or a path file:
  [path]
  rate = "50 Mbit/s"
  rtt = "100 ms"
  buffer = "1.5 bdp"
"""

COMPARE_EPILOG = f"""\b
Examples:
  slowstart compare geo -a cubic+search -a cubic+hystart -a cubic+standard --size 20MB -n 50
  slowstart compare lte wifi-strong my-path.toml -a bbr -a cubic --json
  slowstart compare trace:FILE -a cubic+search --duration 10s -o report
  slowstart compare wired -a reno --flows 4 --stagger "500 ms" --size 5MB
  sudo slowstart compare wired -a cubic -a bbr --size 5MB --stack linux
  slowstart compare wired -a cubic -a westwood --size 5MB --stack linux-vm
  slowstart compare geo -a cubic+search -a own --stack quinn --stack noq
  slowstart compare geo -a cubic+search -a cubic+hystart --cost
  slowstart compare geo -a "Ours=cubic+search:threshold=30" -a Linux=cubic+hystart
  slowstart compare geo lte -n 20 -o paper --format pdf --width 3.3in
  slowstart compare wired lte --size 1MB -n 100000 -o flows.parquet

{SYNTAX}"""

RUN_EPILOG = """\b
Examples:
  slowstart run scenario.toml
  slowstart run scenario.toml --seed 7 -n 20 --json
  slowstart run scenario.toml -o report --traces
  slowstart run scenario.toml --cost
  slowstart run scenario.toml -n 1000000 -o flows.parquet --links links.parquet
  slowstart run suite/access-60 -a cubic+search      (see: slowstart list scenarios)

\b
For many runs, write a Parquet file: one row for each flow of each run, in order. It takes
less than a hundred bytes a row, and less than 100 MB of memory for a million runs. Read it with
  polars.scan_parquet("flows.parquet")

\b
A scenario file defines the path, the flows, and the number of runs:
  runs = 20
  [path]
  preset = "geo"
  [[flow]]
  algorithm = "cubic+search"
  size = "20 MB"
"""

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR|FILE",
        help="Write result.json, Parquet and CSV tables, figures and report.html to this folder. "
        "A name that ends with .parquet is a file: only the table of flows is written, while the "
        "simulations run. Either appears only when complete, and replaces an earlier result.",
        show_default=False,
    ),
]
Links = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="With -o FILE.parquet, write the table of links, too.",
        show_default=False,
    ),
]
Traffic = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="With -o FILE.parquet, write the table of background traffic, too.",
        show_default=False,
    ),
]
StackChoice = Annotated[
    Stack,
    typer.Option(
        "--stack",
        help="The TCP to run: the simulated one, in virtual time; the running kernel's over an "
        "emulated path, in real time, one run at a time (root or /dev/net/tun); or a kernel in a "
        "virtual machine, in virtual time and reproducible (see: slowstart vm).",
    ),
]
StackChoices = Annotated[
    list[str] | None,
    typer.Option(
        "--stack",
        metavar="STACK",
        show_default=False,
        help="What runs: simulated, the TCP of this project in virtual time [default]; linux, the "
        "running kernel's TCP over an emulated path, in real time (root or /dev/net/tun); "
        "linux-vm, a kernel in a virtual machine, in virtual time (see: slowstart vm); or a QUIC "
        "stack in virtual time, such as quinn (see: slowstart list stacks). QUIC stacks and "
        "simulated may stand in one table: repeat the option.",
    ),
]
Cost = Annotated[
    bool,
    typer.Option(
        "--cost",
        help="Print what each slow-start exit cost: the completion time less that of the same run "
        "with an ideal exit (avoidance+oracle), what it cost others, and more about the start-up. "
        "A report of compare (-o DIR) always has it.",
    ),
]


Traces = Annotated[
    bool,
    typer.Option("--traces", help="With -o, write the time series of every run as Parquet."),
]


def _look(formats: list[str] | None, width: str | None, theme: str | None, *, report: bool) -> Look:
    """How the figures of a report look."""
    given = {"--format": formats, "--width": width, "--theme": theme}
    for option, value in given.items():
        if value and not report:
            raise InputError(f"{option} is for figures: write a folder, -o DIR")
    return figure_options.look(formats, width, theme)


def compare_paths(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Presets, trace:FILE, or path files.",
                       show_default=False),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="An algorithm, if you like with a label (LABEL=ALG); repeatable "
                     f"[default: {', '.join(ALGORITHMS)}]."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", show_default=False,
                     help=f'Amount of data each flow sends, with unit [default: "{SIZE}"].'),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False,
                     help='Time for which each flow sends, instead of --size ("10 s").'),
    ] = None,
    runs: Annotated[
        int, typer.Option("-n", "--runs", metavar="N", help="Runs of each algorithm.")
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed of the first run. Run i uses the same seed, and so "
                     "the same channel realization, for every algorithm."),
    ] = 1,
    initial_window: Annotated[
        int, typer.Option(metavar="N", help="Initial window, in segments.")
    ] = 10,
    pacing: Annotated[bool, typer.Option("--pacing", help="Pace segments, as fq does.")] = False,
    flows: Annotated[int, typer.Option(metavar="N", help="Flows in each run.")] = 1,
    stagger: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time between the starts of consecutive flows.",
                     show_default=False),
    ] = None,
    stack: StackChoices = None,
    force: Force = False,
    switch_hystart: SwitchHyStart = False,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    links: Links = None,
    traffic: Traffic = None,
    cost: Cost = False,
    traces: Traces = False,
    formats: Formats = None,
    width: Width = None,
    theme: ThemeFile = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compare algorithms over one or more paths."""
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
    only, beside = stacks.chosen(stack or [Stack.SIMULATED.value])
    files = _files(output, links, traffic)
    report = output is not None and not files
    if traces and not report:
        raise InputError("--traces writes files, so it needs a folder, -o DIR")
    look = _look(formats, width, theme, report=report)
    if only is None:
        if files or cost:
            raise InputError("tables of QUIC stacks have no --cost and no Parquet file: use -o DIR")
        settings |= {"size": amount, "duration": duration}
        scenarios, on, own = stacks.scenarios_of(paths, algorithms, beside, settings)
        several = stacks.Stacks(
            Stack.SIMULATED, force, switch_hystart, threads, names=tuple(on), own=tuple(own)
        )
        notes = stacks.remarks(beside, pacing=pacing)
        # No additional simulations: they would be of the simulated TCP.
        plan = Plan(scenarios, report=report, traces=traces, kernel=True, notes=notes)
        execute(plan, several, as_json, output, quiet, look)
        return
    how = How(only, force, switch_hystart, threads)
    scenarios = compare(paths, algorithms, size=amount, duration=duration, **settings)
    compared = [each.resolved["flows"][0]["algorithm"] for each in scenarios[: len(algorithms)]]
    chosen = names(compared, split(algorithms)[1])
    fixed: list[str] = []
    if not how.kernel:
        scenarios, fixed = once(scenarios)
    many = {each.path: each.runs for each in scenarios}

    def as_many(made: list[Scenario]) -> list[Scenario]:
        return [each.with_runs(runs=many[each.path]) for each in made]

    def at_size(smaller: str) -> list[Scenario]:
        return as_many(compare(paths, algorithms, size=smaller, **settings))

    def with_oracle(smaller: str | None) -> list[Scenario]:
        from slowstart.report.exits import ideal

        ideals = list(dict.fromkeys(map(ideal, compared)))
        return as_many(compare(paths, ideals, size=smaller or amount, **settings))

    _check_cost(cost, how, files, sized=amount is not None, remedy="give --size, not --duration")
    plan = Plan(
        scenarios,
        report=report,
        traces=traces,
        kernel=how.kernel,
        at_size=at_size,
        with_oracle=with_oracle if (cost or report) and amount and not how.kernel else None,
        notes=[*remark_once(fixed, runs), *meanings(chosen)],
        remarks=() if algorithm else ("These are the default algorithms; choose others with -a.",),
    )
    if files:
        execute_to_files(plan, how, files, as_json=as_json, quiet=quiet)
    else:
        execute(plan, how, as_json, output, quiet, look)


def _check_cost(cost: bool, how: How, files: dict[str, str], *, sized: bool, remedy: str) -> None:
    if not cost:
        return
    if how.kernel:
        raise InputError(
            "--cost compares with the start-up `oracle`, which needs the simulator's knowledge of "
            "the path: leave out --stack"
        )
    if files:
        raise InputError("--cost compares completed runs: write a folder (-o DIR) or none")
    if not sized:
        raise InputError(f"--cost is a difference of completion times: {remedy}")


def run_file(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False,
                       help="A scenario file (TOML), or the name of a scenario (suite/access-60)."),
    ],
    algorithm: Annotated[
        str | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="With the name of a scenario: the algorithm under test, if you like with "
                     "a label (LABEL=ALG)."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", help="Number of runs, instead of the file's.",
                     show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of the first run, instead of the file's.",
                     show_default=False),
    ] = None,
    traces: Traces = False,
    stack: StackChoice = Stack.SIMULATED,
    force: Force = False,
    switch_hystart: SwitchHyStart = False,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    links: Links = None,
    traffic: Traffic = None,
    cost: Cost = False,
    formats: Formats = None,
    width: Width = None,
    theme: ThemeFile = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a scenario file, or a scenario that ships with slowstart."""
    from slowstart.report.exits import has_bottleneck, ideals
    from slowstart.store import shipped

    if traces and output is None:
        raise InputError("--traces writes files, so it needs -o DIR")
    (tested,), given = ([None], [None]) if algorithm is None else split([algorithm])
    scenario = shipped.load(file, tested).with_runs(runs=runs, seed=seed)
    shown = {} if tested is None else names([canonical(tested)], given)
    (scenario,) = labelled([scenario], shown)
    how = How(stack, force, switch_hystart, threads)
    files = _files(output, links, traffic)
    report = output is not None and not files
    look = _look(formats, width, theme, report=report)
    chosen, notes = [scenario], meanings(shown)
    if not how.kernel:
        chosen, fixed = once(chosen)
        notes = [*remark_once(fixed, scenario.runs), *notes]
    sized = any(each["size_bytes"] is not None for each in scenario.resolved["flows"])
    _check_cost(cost, how, files, sized=sized, remedy="give a flow of the file a size")
    if cost and not has_bottleneck(scenario.resolved["path"]):
        raise InputError("--cost compares exits at a bottleneck, and this file has no [path]")
    plan = Plan(
        chosen,
        report=report,
        traces=traces,
        kernel=how.kernel,
        with_oracle=(lambda _: ideals(chosen[0])) if cost else None,
        notes=notes,
    )
    if files:
        execute_to_files(plan, how, files, as_json=as_json, quiet=quiet)
    else:
        execute(plan, how, as_json, output, quiet, look)


def _files(output: str | None, links: str | None, traffic: str | None) -> dict[str, str]:
    """The Parquet file of each table; empty if ``output`` is not such a file."""
    others = {"links": links, "traffic": traffic}
    asked = {table: file for table, file in others.items() if file is not None}
    if output is not None and output.endswith(".parquet"):
        return {"flows": output, **asked}
    for table in asked:
        raise InputError(f"--{table} needs -o FILE.parquet; a folder (-o DIR) has every table")
    return {}
