"""The commands ``slowstart compare`` and ``slowstart run``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import extras
from slowstart._native import Scenario
from slowstart.commands.grouping import spread
from slowstart.commands.options import ReportOptions, Stack
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.labels import canonical, labelled, meanings, names, split
from slowstart.running import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowstart.commands.execution import How
    from slowstart.figure_style import Look
    from slowstart.planning import Plan

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
  sudo slowstart compare wired -a cubic+search -a own --stack quinn --clock real
  slowstart compare geo -a cubic+search -a cubic+hystart --cost
  slowstart compare geo -a "Ours=cubic+search:threshold=30" -a Linux=cubic+hystart
  slowstart compare geo -n 20 -a cubic+search -a cubic --baseline cubic
  slowstart compare geo lte -n 20 -o paper --format pdf --width 3.3in
  slowstart compare wired lte --size 1MB -n 100000 -o flows.parquet

{SYNTAX}"""

RUN_EPILOG = """\b
Examples:
  slowstart run scenario.toml
  slowstart run scenario.toml --seed 7 -n 20 --json
  slowstart run scenario.toml -o report --traces
  slowstart run scenario.toml -a cubic+search -a cubic+hystart
  slowstart run scenario.toml --cost
  slowstart run scenarios/tcp-and-quic.toml -n 20 --harm
  slowstart run scenario.toml -n 1000000 -o flows.parquet --links links.parquet
  slowstart run suite/access-60 -a cubic+search      (see: slowstart list scenarios)
  slowstart run scenario.toml --stack quinn -a own

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

StackChoices = Annotated[
    list[str] | None,
    typer.Option(
        "--stack",
        metavar="STACK",
        show_default=False,
        help="What runs: simulated, the TCP of this project in virtual time [default]; linux, the "
        "running kernel's TCP over an emulated path, in real time (root or /dev/net/tun); "
        "linux-vm, a kernel in a virtual machine, in virtual time (see: slowstart vm); or a QUIC "
        "stack, such as quinn (see: slowstart list stacks), in virtual time unless --clock real. "
        "QUIC stacks and simulated may stand in one table: repeat the option.",
    ),
]


@spread(
    runs=(
        Annotated[int, typer.Option("-n", "--runs", metavar="N", help="Runs of each algorithm.")],
        1,
    ),
    stack=StackChoices,
)
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
    baseline: Annotated[
        str | None,
        typer.Option(metavar="ALG", show_default=False,
                     help="The algorithm, or its label, that the others are compared with run by "
                     "run; it stands first [default: the first]."),
    ] = None,
    *,
    options: ReportOptions,
) -> None:  # fmt: skip
    """Compare algorithms over one or more paths."""
    from slowstart.commands import execution, stacks

    settings: dict[str, Any] = {
        "runs": options.runs,
        "seed": seed,
        "initial_window": initial_window,
        "pacing": pacing,
        "flows": flows,
        "stagger": stagger,
    }
    amount = SIZE if size is None and duration is None else size
    algorithms = _first(algorithm or list(ALGORITHMS), baseline)
    kind, beside = stacks.chosen(options.stacks, options.clock)
    if options.traces and not options.report:
        raise InputError("--traces writes files, so it needs a folder, -o DIR")
    look = options.look()
    how = execution.How(kind, options)
    quic = [each for each in beside if each != Stack.SIMULATED.value]
    sized = amount is not None
    lacks_oracle = how.kernel or bool(quic)
    options.check_cost(kernel=lacks_oracle, sized=sized, remedy="give --size, not --duration")
    settings["stack"] = beside
    plan = _plan(paths, algorithms, amount, duration, settings, how, options)
    remarks = []
    notes = [*plan.notes, *stacks.remarks(beside, pacing=pacing)]
    plan = replace(plan, notes=notes)
    remarks += [
        f"{each} has flows of its own, which compare leaves out: slowstart run {each} runs them."
        for each in paths
        if _has_flows(each)
    ]
    if not algorithm:
        remarks.append("These are the default algorithms; choose others with -a.")
    if extras.missing():
        remarks.append(f"For a report with figures (-o DIR): {extras.INSTALL}")
    plan = replace(plan, remarks=remarks)
    _make(plan, how, options, look)


def _has_flows(path: str) -> bool:
    """Whether a path is a file with flows of its own."""
    if not Path(path).is_file():
        return False
    try:
        return bool(Scenario.from_file(path).flows)
    except InputError:  # There is nothing to run.
        return False


def _first(algorithms: list[str], baseline: str | None) -> list[str]:
    """The algorithms with the baseline first.

    Raises:
        InputError: The baseline is not one of them.
    """
    if baseline is None:
        return algorithms
    plain, labels = split(algorithms)
    known = [label or each for each, label in zip(plain, labels, strict=True)]
    for names_of in (known, plain, algorithms):
        if baseline in names_of:
            first = algorithms[names_of.index(baseline)]
            return [first, *(each for each in algorithms if each != first)]
    raise InputError(
        f"--baseline {baseline} is not compared: name one of {', '.join(known)}, or add it with -a"
    )


def _plan(
    paths: list[str],
    algorithms: list[str],
    size: str | None,
    duration: str | None,
    settings: dict[str, Any],
    how: How,
    options: ReportOptions,
) -> Plan:
    """The plan of a comparison on one stack."""
    from slowstart.planning import Plan, once, remark_once

    scenarios = compare(paths, algorithms, size=size, duration=duration, **settings)
    only_simulated = settings["stack"] == [Stack.SIMULATED.value]
    compared = [each.resolved["flows"][0]["algorithm"] for each in scenarios[: len(algorithms)]]
    fixed: list[str] = []
    if not how.kernel:
        scenarios, fixed = once(scenarios)
    many = {each.path: each.runs for each in scenarios}

    def at_size(smaller: str | None, names: list[str] = algorithms) -> list[Scenario]:
        made = compare(paths, names, size=smaller or size, **settings)
        return [each.with_runs(runs=many[each.path]) for each in made]

    def with_oracle(smaller: str | None) -> list[Scenario]:
        from slowstart.report.exits import ideal

        return at_size(smaller, list(dict.fromkeys(map(ideal, compared))))

    has_ideal = (options.cost or options.report) and size and not how.kernel and only_simulated
    labels = names(compared, split(algorithms)[1]) if only_simulated else {}
    return Plan(
        scenarios,
        report=options.report,
        traces=options.traces,
        kernel=how.kernel,
        at_size=at_size,
        with_oracle=with_oracle if has_ideal else None,
        paired=True,
        notes=[*remark_once(fixed, settings["runs"]), *meanings(labels)],
    )


def _make(plan: Plan, how: How, options: ReportOptions, look: Look) -> None:
    """Makes the runs of a plan, into the files or the folder that the options name."""
    from slowstart.commands import execution

    files = options.files()
    if files:
        execution.execute_to_files(plan, how, files)
    else:
        execution.execute(plan, how, look)


@spread(
    runs=Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", help="Number of runs, instead of the file's.",
                     show_default=False),
    ],
    stack=StackChoices,
)  # fmt: skip
def run_file(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False,
                       help="A scenario file (TOML), or the name of a scenario (suite/access-60)."),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="The algorithm under test, if you like with a label (LABEL=ALG): in a "
                     "file that of the first flow, and of all flows with its name. Repeat it to "
                     "compare several, with the same seeds. On a QUIC stack own, or own:bbr: all "
                     "flows have the stack's own controller."),
    ] = None,
    harm: Annotated[
        bool,
        typer.Option("--harm", help="Print how flows share the path, how much goodput those of "
                     "each name lose to the others, and how much to as many flows of their own "
                     "kind: each name's flows run again alone, and among their own kind."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of the first run, instead of the file's.",
                     show_default=False),
    ] = None,
    *,
    options: ReportOptions,
) -> None:  # fmt: skip
    """Run a scenario file, or a scenario that ships with slowstart."""
    from slowstart.commands import execution, stacks
    from slowstart.planning import Plan, once, remark_once
    from slowstart.stacks import is_own, placed
    from slowstart.store import shipped

    if options.traces and options.output is None:
        raise InputError("--traces writes files, so it needs -o DIR")
    kind, (stack, *others) = stacks.chosen(options.stacks, options.clock)
    if others:
        raise InputError("a scenario runs on one stack: name one with --stack")
    tested, given = split(algorithm or [])
    own = next((each for each in tested if is_own(each)), None)
    if own and len(tested) > 1:
        raise InputError(f"-a {own} is the stack's own controller: it stands alone")
    under_test: list[str | None] = [None] if own or not tested else [*tested]
    loaded = [shipped.load(file, each) for each in under_test]
    shown = {} if own else names([canonical(each) for each in tested], given)
    made = labelled([each.with_runs(runs=options.runs, seed=seed) for each in loaded], shown)
    chosen = [placed(each, stack, own) for each in made]
    scenario = chosen[0]
    how = execution.How(kind, options)
    look = options.look()
    notes = meanings(shown)
    if not how.kernel:
        chosen, fixed = once(chosen)
        notes = [*remark_once(fixed, scenario.runs), *notes, *stacks.remarks([stack], pacing=True)]
    sized = any(each["size_bytes"] is not None for each in scenario.resolved["flows"])
    lacks_oracle = how.kernel or stack != Stack.SIMULATED.value
    options.check_cost(kernel=lacks_oracle, sized=sized, remedy="give a flow of the file a size")
    if options.cost and len(chosen) > 1:
        raise InputError("--cost is about one algorithm: give -a once")
    with_oracle = _ideal_exits(scenario) if options.cost else None
    beside = _for_harm(chosen, how, options) if harm else []
    plan = Plan(
        chosen,
        report=options.report,
        traces=options.traces,
        kernel=how.kernel,
        with_oracle=with_oracle,
        beside=beside,
        paired=len(chosen) > 1,
        notes=notes,
    )
    _make(plan, how, options, look)


def _for_harm(chosen: Sequence[Scenario], how: How, options: ReportOptions) -> list[Scenario]:
    """The scenarios for ``--harm``.

    Raises:
        InputError: No flow has one of another name beside it, a library is missing, or the runs
            are not made in virtual time, or go to Parquet files.
    """
    if how.kernel:
        raise InputError("--harm runs in virtual time: leave out --stack and --clock real")
    if options.files():
        raise InputError("--harm compares runs: write a folder (-o DIR) or none")
    need_report("--harm")
    from slowstart.report import sharing

    found = sharing.others(chosen)
    if not found:
        raise InputError("--harm needs flows of two names: the file has flows of one")
    return found


def _ideal_exits(scenario: Scenario) -> Callable[[str | None], list[Scenario]]:
    """Makes the scenario with ideal exits, for ``--cost``."""
    from slowstart.report.exits import has_bottleneck, ideals

    if not has_bottleneck(scenario.resolved["path"]):
        raise InputError("--cost compares exits at a bottleneck, and this file has no [path]")
    return lambda _: ideals(scenario)
