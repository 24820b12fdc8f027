"""Runs scenarios on the chosen stack, and prints and writes the result."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from slowstart import extras, running
from slowstart.commands.options import Stack
from slowstart.errors import InputError, RunError, complain
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart._native import Result, Scenario
    from slowstart.commands.options import RunOptions
    from slowstart.figure_style import Look
    from slowstart.planning import Plan, Runs


# How often the runs on the kernel are made, as long as an algorithm has none that counts.
ATTEMPTS = 3


@dataclass(frozen=True)
class How:
    """The stack that runs scenarios, and the options of the command."""

    stack: Stack
    options: RunOptions

    @property
    def kernel(self) -> bool:
        """Whether a kernel runs them, or sockets of the kernel."""
        return self.stack is not Stack.SIMULATED

    @property
    def real(self) -> bool:
        """Whether they run in real time."""
        return self.stack in (Stack.LINUX, Stack.REAL)

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """Rejects invalid settings before any run starts."""
        self.options.check_stacks()
        if self.real and self.options.threads not in (None, 1):
            raise InputError("runs in real time execute one at a time: leave out --threads")
        self.options.enter_namespace()
        running.check_stack(scenarios, self.stack.value, switch_hystart=self.options.switch_hystart)

    def run(
        self, scenarios: Sequence[Scenario], keep: str, progress: Callable[[int, int], object]
    ) -> Result:
        """Runs them, keeping the time series of ``none``, the ``first`` or ``all`` runs.

        In real time all runs are made again while a scenario has none that passed the
        timing self-check. In virtual time a second attempt would give the same result.
        """

        def made() -> Result:
            return running.on_stack(
                scenarios,
                self.stack.value,
                keep=keep,
                threads=self.options.threads,
                force=self.options.force,
                switch_hystart=self.options.switch_hystart,
                progress=progress,
            )

        if not self.real or self.options.force:
            return made()
        return repeated(scenarios, made)


def repeated(scenarios: Sequence[Scenario], make: Callable[[], Result]) -> Result:
    """The first result in which each scenario has a valid run; else the one with most of them.

    ``make`` is called at most :data:`ATTEMPTS` times, and the number of calls is reported.
    """
    made: list[tuple[int, Result]] = []
    is_complete = False
    while not is_complete and len(made) < ATTEMPTS:
        result = make()
        failed = Counter(place for place, _, _ in result.untrusted())
        made.append((failed.total(), result))
        is_complete = all(failed[place] < each.runs for place, each in enumerate(scenarios))
    if len(made) > 1:
        total = sum(each.runs for each in scenarios)
        words = ", then ".join(f"{count} of {total}" for count, _ in made)
        complain(
            f"the runs were made {len(made)} times, because runs failed the emulator's timing "
            f"self-check: {words}"
        )
    return result if is_complete else min(made, key=itemgetter(0))[1]


def execute_to_files(plan: Plan, how: How, files: Mapping[str, str]) -> None:
    """Runs ``plan``, writes each table of ``files`` while it runs, and prints the summary."""
    from slowstart.store.streaming import stream

    options = how.options
    if how.kernel:
        raise InputError("only simulations can write Parquet files: name a folder, -o DIR")
    if options.as_json:
        raise InputError(
            "--json prints every run, and Parquet files are for more runs than that: "
            "leave out one of them"
        )
    if plan.traces:
        raise InputError("--traces writes a folder: name one, -o DIR")
    _check(plan, how)
    with Meter("running", quiet=options.quiet) as meter:
        _, overview = stream(plan.scenarios, files, threads=options.threads, progress=meter)
    if not options.quiet:
        _print_tables(plan, json.loads(overview))
        for table, file in files.items():
            sys.stdout.write(f"The table of {table} is {file}\n")


def execute(plan: Plan, how: How, look: Look | None = None) -> None:
    """Runs ``plan``, prints the result, and writes it to -o, with figures of ``look``."""
    from slowstart import planning
    from slowstart.store.output import output_folder

    options = how.options
    _check(plan, how)
    with output_folder(options.output) as folder:
        with Meter("running", quiet=options.quiet) as meter:
            runs = planning.execute(
                plan,
                lambda keep, progress: how.run(plan.scenarios, keep, progress),
                lambda *given, **more: running.run(*given, threads=options.threads, **more),
                meter,
            )
        _say_untrusted(plan.scenarios, runs.main, options.force)
        if folder is not None:
            from slowstart import figure_style
            from slowstart.report import artifacts

            with figure_style.using(look or figure_style.Look()):
                artifacts.write(folder, plan, runs)
    options.print(lambda: _document(plan, runs), lambda: _show(plan, runs, options.output))


def _check(plan: Plan, how: How) -> None:
    """Rejects invalid settings, and reports paths that will mark nothing."""
    how.check(plan.scenarios)
    if not how.options.quiet:
        for sentence in unmarked(plan.scenarios):
            complain(sentence)


def _show(plan: Plan, runs: Runs, output: str | None) -> None:
    _print_tables(plan, runs.overview)
    if runs.beside or output is not None:
        # Without, a run prints what one prints whose flows go to a file.
        _print_sharing(plan, runs)
    _print_pairs(plan, runs)
    _print_costs(plan, runs)
    if plan.kernel:
        from slowstart.report import page

        sys.stdout.write(f"Run on {page.kernel(json.loads(runs.text)['runs'][0])}.\n")
    if output is not None:
        sys.stdout.write(f"The report is {os.path.join(output, 'report.html')}\n")  # noqa: PTH118


def _say_untrusted(scenarios: Sequence[Scenario], result: Result, force: bool) -> None:
    """Reports runs that failed the timing self-check; raises an error if no other run is left."""
    untrusted = result.untrusted()
    for place, number, reasons in untrusted:
        names = " and ".join(dict.fromkeys(scenarios[place].flows))
        which = f"{names} over {scenarios[place].path}, run {number}"
        fate = "included because of --force" if force else "excluded"
        complain(f"{which}, {fate}: {'; '.join(reasons)}")
    if untrusted and not force and len(result.flows()) == 0:
        raise RunError(
            "every run failed the emulator's timing self-check on this machine; use --force to "
            "include them anyway"
        )


def _say_unfinished(scenarios: Sequence[Scenario], paths: Sequence[dict[str, Any]]) -> None:
    """Reports the paths with runs that hit their time limit, which tables show only as a dash."""
    limits = {each.path: each.resolved["time_limit_s"] for each in scenarios}
    for row in paths:
        if row["stopped"]:
            which = f"{row['stopped']} of {row['runs']} runs over {row['path']}"
            complain(f"{which} were stopped at their time limit, {limits[row['path']]:g} s")


def unmarked(scenarios: Sequence[Scenario]) -> list[str]:
    """A sentence for each path with a marking queue but without an ECN-capable flow."""
    marked: dict[str, bool] = {}
    for each in scenarios:
        path = each.resolved["path"]
        if "forward" not in path:  # an ad-hoc network or a constellation alone
            continue
        links = (path["forward"], path["reverse"], *(one["link"] for one in path["routers"]))
        if any(link["aqm"].get("ecn") for link in links):
            capable = any(flow["ecn"] for flow in (*each.resolved["flows"], *path["traffic"]))
            marked[each.path] = marked.get(each.path, False) or capable
    return [
        f"Nothing will be marked over {path}: its queue marks ECN-capable packets (ecn = true in "
        "[path]), but no flow is ECN-capable (ecn = true in [[flow]])"
        for path, capable in marked.items()
        if not capable
    ]


def _print_tables(plan: Plan, overview: dict[str, Any]) -> None:
    from slowstart.report import tables

    paths = {each.path: each.resolved["path"] for each in plan.scenarios}
    tables.show(overview, paths)
    out = tables.console()
    for sentence in (*tables.remarks(overview, plan.steady), *plan.notes, *plan.remarks):
        out.print(sentence, markup=False)
    _say_unfinished(plan.scenarios, overview["paths"])


def _document(plan: Plan, runs: Runs) -> str:
    """The result document, with the costs of the exits if they were asked for."""
    if plan.report or not runs.oracles:
        return runs.text
    from slowstart.report import exits

    found = exits.costs(plan.scenarios, runs.main, runs.oracles[None]).to_dicts()
    return json.dumps({**json.loads(runs.text), "exit_cost": found}, sort_keys=True)


def _print_pairs(plan: Plan, runs: Runs) -> None:
    """Prints each algorithm against the first, if there are enough pairs of runs for a test."""
    if not plan.paired or extras.missing() or max(each.runs for each in plan.scenarios) < 6:
        return
    from slowstart.report import pairs, tables

    found = pairs.effects(runs.flows)
    tested = {each.path for each in found if each.p is not None}
    if not tested:
        return
    out = tables.console()
    heads = [column.head for column in pairs.columns(found)]
    for path, cells in pairs.rows(found).items():
        if path in tested:
            out.print(f"{tables.short(path)}: pairs of runs", style="bold", markup=False)
            tables.grid(out, heads, cells, left=1)
    out.print(pairs.words(found), markup=False, soft_wrap=not sys.stdout.isatty())


def _print_sharing(plan: Plan, runs: Runs) -> None:
    """Prints how flows that run at the same time share the path."""
    if extras.missing() or all(len(each.flows) < 2 for each in plan.scenarios):
        return
    from slowstart.report import sharing, tables

    found = sharing.shares(plan.scenarios, runs.main, runs.beside)
    out = tables.console()
    heads = [column.head for column in sharing.columns(found)]
    for path, cells in sharing.rows(found).items():
        out.print(f"{tables.short(path)}: flows together", style="bold", markup=False)
        tables.grid(out, heads, cells, left=1)


def _print_costs(plan: Plan, runs: Runs) -> None:
    """Prints the start-up block, if the runs with an ideal exit were made."""
    if not runs.oracles:
        return
    from slowstart.report import exits, tables

    cost = exits.costs(plan.scenarios, runs.main, runs.oracles[None])
    paths = {each.path: each.resolved["path"] for each in plan.scenarios}
    judged = [name for name, path in paths.items() if exits.has_bottleneck(path)]
    flows = runs.flows.filter(runs.flows["path"].is_in(judged))
    out = tables.console()
    words = exits.sentences(flows, paths, cost)
    for path, cells in exits.rows(flows, paths, cost).items():
        out.print(f"{tables.short(path)}: start-up", style="bold", markup=False)
        tables.grid(out, [column.head for column in exits.columns(cost)], cells, left=2)
        for sentence in words[path]:
            out.print(sentence, markup=False, soft_wrap=not sys.stdout.isatty())
        out.print()
