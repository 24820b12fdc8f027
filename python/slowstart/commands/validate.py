"""The command ``slowstart validate``."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart._native import enter_user_namespace
from slowstart.commands.options import Json, Quiet  # noqa: TC001 (Typer reads them)
from slowstart.errors import InputError, RunError
from slowstart.extras import need_report
from slowstart.fidelity import STUDY
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.fidelity.edges import Edge
    from slowstart.fidelity.grid import Case
    from slowstart.fidelity.kernels import Kernel
    from slowstart.fidelity.runner import Job, Store

EPILOG = """\b
Examples:
  sudo slowstart validate --quick
  sudo slowstart validate -o fidelity
  sudo slowstart validate -o fidelity -a cubic -a reno -n 3
  sudo slowstart validate my-path.toml -a cubic+search --size 20MB
  sudo slowstart validate --reordering -a cubic -a bbr -o reordered
  sudo slowstart validate --group staggered --group ecn -o company
  sudo slowstart validate analyze
  slowstart validate analyze simulated --quick
  sudo slowstart validate analyze kernel -o table
  slowstart validate identify --quick -o identified
  slowstart validate --group all --stack linux-vm -n 10 -o company
  sudo slowstart validate --streams 20 --seed 100 -o differences

\b
Runs the same scenarios with the simulated TCP and with the kernel's, in real time over
emulated paths, and compares: window and time at slow-start exit, first drop and loss,
retransmissions, times to 0.1, 1, 5 and 20 MB, RTT, goodput. The whole grid takes hours,
--quick takes some minutes. DIR/runs keeps every finished run, so a repeated command
resumes where it was interrupted.

\b
--group compares several flows at once: staggered (starts and RTTs differ), short (20 and
150 connections of 30 kB to 1 MB), connections (requests and responses with think times),
application (periodic writes beside a bulk), aqm (CoDel), ecn (CoDel, PIE, FQ-CoDel),
pacing, or all. Each workload runs from -n random starts
[default: 20, with --quick 6] on both stacks. Compared are the distributions of completion
times by class, retransmissions, drops, marks, queue and Jain's index. Each error has a
bootstrap interval, and beside it the largest difference that chance alone makes: that
between both stacks with the runs of some starts exchanged.

\b
validate analyze makes the error table of slowstart analyze (docs/reference/analysis.md): exit
time, exit window, reason and limits against the truth, for captures at the sender, at the
receiver and between. It has five parts, which may be named: simulated (flows over all
presets), held-out (senders, sizes and random numbers on which no rule was made), quic (captures
of quinn and noq, which show sizes, times and the spin bit), cost (what an exit cost and what
other start-ups would have gained, from the capture alone), and kernel (uploads by this kernel
over emulated paths, against its trace event tcp:tcp_probe; needs root). -o keeps the kernel's
captures.

\b
validate identify reports how often slowstart analyze --identify is right, on simulated flows
over paths on which nothing was fitted: captures at the sender and at the receiver, all
start-ups; on qlogs of quinn and noq; and with root on uploads by this kernel over emulated
paths. validate identify simulated, quic and kernel make one of these, validate identify probe
probes servers of this kernel (root, minutes), and validate identify fit fits the constants
again. -o writes the confusion matrices and the reliability as figures.

\b
--streams feeds the same random ACKs (losses, reordering, duplicates, ACK loss, ECN echoes,
window changes, pauses) to both, and compares every packet and eleven fields of tcp_info
after every event. A difference is shrunk and kept as a script in DIR (slowstart
packetdrill). Exit status: 1 if a stream differs.

\b
Exit status: 0 done (even if a claim fails), 1 no valid kernel run, 2 invalid input.
"""
_FOLDER = "fidelity"
_QUICK_RUNS, _RUNS = 3, 5
# Estimated from measurements on two busy cores: 464 kernel runs, which are in real time, in 50
# minutes, and one run of each quick case in two minutes.
_MINUTES, _MINUTES_QUICK = 130.0, 7.0


def catalogue_entry() -> dict[str, Any]:
    """The entry for this comparison in the list of studies."""
    from slowstart.fidelity import grid, judge

    paths = len(grid.clean()) + len(grid.disturbed())
    algorithms = len(grid.ALGORITHMS) + len(grid.STARTUPS)
    return {
        "name": STUDY,
        "document": "kernel",
        "summary": "Validates the simulated TCP against the running kernel (slowstart validate; "
        "needs root).",
        "claims": judge.CLAIMS,
        "experiments": ["grid"],
        "runs": 2 * paths * algorithms * _RUNS,
        "minutes": _MINUTES,
        "minutes_quick": _MINUTES_QUICK,
    }


def validate(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Presets, trace:FILE, or path files, instead of "
                       "the grid.", show_default=False),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help="An algorithm; repeatable [default: those of the grid that this kernel "
                     "has]."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few paths, three runs each.")] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="Only paths with a fixed rate and without random loss.")
    ] = False,
    reordering: Annotated[
        bool, typer.Option("--reordering", help="Instead: paths that reorder packets.")
    ] = False,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="GROUP", show_default=False,
                     help="Several flows instead of the grid: staggered, short, "
                     "connections, application, aqm, ecn, pacing, or all; repeatable."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", min=1, show_default=False,
                     help="Runs of each case on each stack [default: 5, with --quick 3; with "
                     "--group 20 and 6]."),
    ] = None,
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="With PATH, the size of each flow, in whole MB.")
    ] = "20 MB",
    stack: Annotated[
        str, typer.Option(metavar="STACK", help="The kernel to compare with: linux or linux-vm.")
    ] = "linux",
    tick_ms: Annotated[
        float | None,
        typer.Option("--tick", metavar="MS", min=0, max=10, show_default=False,
                     help="Tick of the simulated hosts, 0 for exact timers [default: the "
                     "kernel's]."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Folder for the runs and the report [default: fidelity]; with analyze, "
                     "for result.json and the kernel's captures and logs [default: none]."),
    ] = None,
    streams: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default=False,
                     help="Random streams of ACKs instead of the grid, N of each profile: every "
                     "packet and eleven fields of tcp_info are compared."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, help="With --streams, the first seed.")
    ] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Validate the simulated TCP against the Linux kernel over a grid of paths.

    ``validate analyze`` validates ``slowstart analyze`` on connections whose start-up is known,
    and ``validate identify`` its option ``--identify``.
    """
    if streams is not None:
        if paths or algorithm or group or clean or reordering or quick or tick_ms is not None:
            raise InputError("--streams has its own paths and algorithms, and the kernel's tick")
        from slowstart.commands import validate_streams

        return validate_streams.validate(
            streams, seed=seed, output=output, as_json=as_json, quiet=quiet
        )
    _validate_kernel(
        paths, algorithm, group, quick=quick, clean=clean, reordering=reordering, runs=runs,
        size=size, stack=stack, tick_ms=tick_ms, output=output, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    return 0


def _validate_kernel(
    paths: list[str] | None,
    algorithm: list[str] | None,
    group: list[str] | None,
    *,
    quick: bool,
    clean: bool,
    reordering: bool,
    runs: int | None,
    size: str,
    stack: str,
    tick_ms: float | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Validates over the grid, over paths, groups, or with ``analyze`` the analysis."""
    need_report("slowstart validate")
    if paths and paths[0] in ("analyze", "identify"):
        from slowstart.commands import validate_analyze, validate_identify

        word, *parts = paths
        other = validate_analyze if word == "analyze" else validate_identify
        own = f"validate {word} has its own paths and algorithms"
        if algorithm or clean or reordering or group or tick_ms is not None:
            raise InputError(own)
        for part in parts:
            if part not in other.PARTS:
                raise InputError(f"{own}: it takes {', '.join(other.PARTS)}, not `{part}`")
        other.validate(parts, quick=quick, runs=runs, output=output, as_json=as_json, quiet=quiet)
        return
    output = output or _FOLDER
    if stack == "linux":
        # Before the import below, whose libraries start threads: a process with threads cannot
        # enter a user namespace.
        with contextlib.suppress(InputError):  # check_linux reports it better
            enter_user_namespace()
    from slowstart.fidelity import grid, kernels, runner

    folder = Path(output)
    _check_folder(folder)
    if stack not in runner.KERNELS:
        raise InputError(f"--stack {stack}: use one of {', '.join(runner.KERNELS)}")
    if reordering and (paths or clean):
        raise InputError("--reordering has its own paths: leave out PATH and --clean")
    if group:
        if paths or algorithm or clean or reordering:
            raise InputError(
                "--group has its own paths and algorithms: leave out PATH, -a, --clean, "
                "--reordering"
            )
        from slowstart.commands import validate_groups as group_command

        group_command.validate(
            group_command.chosen_groups(group),
            stack,
            kernels.of_stack(stack, tick_ms),
            runs or (group_command.STARTS_QUICK if quick else group_command.STARTS),
            folder,
            as_json=as_json,
            quiet=quiet,
            say=_complain,
        )
        return
    if paths:
        chosen = [grid.given(each, size) for each in paths]
    elif reordering:
        chosen = grid.reordering()
    else:
        chosen = grid.quick() if quick else grid.clean() + ([] if clean else grid.disturbed())
    named = algorithm or [*grid.ALGORITHMS, *([] if quick else grid.STARTUPS)]
    usable = _usable(chosen[0], named, stack, asked=algorithm is not None)
    cases = [grid.Case(path, each) for path in chosen for each in usable]
    count = runs or (_QUICK_RUNS if quick else _RUNS)
    kernel = kernels.of_stack(stack, tick_ms)
    _validate_grid(cases, stack, kernel, count, folder, quick=quick, as_json=as_json, quiet=quiet)


def _validate_grid(
    cases: Sequence[Case],
    stack: str,
    kernel: Kernel,
    count: int,
    folder: Path,
    *,
    quick: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Runs each case ``count`` times on both stacks, and writes and shows the differences."""
    from slowstart.fidelity import compare, edges, kernels, page

    finished, found, around = _run(cases, stack, kernel, count, folder, quiet=quiet)

    def load(case: Case, which: str) -> list[dict[str, Any]]:
        return finished[case, which]

    differences = compare.compare(cases, load, stack, found, around.__getitem__)
    if not differences:
        raise RunError(
            "every run on the kernel failed the emulator's timing self-check on this machine"
        )
    left_out = sum(not run["valid"] for case in cases for run in load(case, stack))
    facts = {
        "stack": stack,
        "kernel": kernels.name(stack),
        "simulated_hosts": kernel.words,
        "machine": platform.machine(),
        "paths": len({case.path for case in cases}),
        "algorithms": list(dict.fromkeys(case.algorithm for case in cases)),
        "cases": len(cases),
        "runs": count,
        "quick": quick,
        "left_out": left_out,
        "knife_edges": [
            {
                "case": each.case.name,
                "rates": [1.0, *edges.FACTORS],
                "exits_s": each.exits_s,
                "windows": each.windows,
            }
            for each in found.values()
        ],
    }
    written = page.write(folder, differences, load, facts)
    if as_json:
        document = json.dumps(page.document(differences, facts), indent=2, allow_nan=False)
        sys.stdout.write(document + "\n")
    elif not quiet:
        page.show(differences, left_out, os.path.relpath(written))


def _run(
    cases: Sequence[Case], stack: str, kernel: Kernel, count: int, folder: Path, *, quiet: bool
) -> tuple[
    dict[tuple[Case, str], list[dict[str, Any]]],
    dict[Case, Edge],
    dict[Case, list[dict[str, Any]]],
]:
    """Makes the missing runs; returns them, the knife's edges, and what lies around each case.

    The last are the simulated runs at the case's own rate and at those within one percent.
    """
    from slowstart.fidelity import edges, runner

    jobs = [
        runner.Job(case, each, number, kernel)
        for each in ("simulated", stack)
        for number in range(count)
        for case in cases
    ]
    jobs += [
        runner.Job(near, "simulated", 0, kernel)
        for case in cases
        for near in edges.neighbours(case)
    ]
    with runner.Store(folder) as store:
        with Meter("running", quiet=quiet) as meter:
            runner.run_all(jobs, store, meter, _complain)
        finished = {
            (case, which): _finished(
                store, [runner.Job(case, which, number, kernel) for number in range(count)]
            )
            for case in cases
            for which in ("simulated", stack)
        }

        def simulated(case: Case) -> dict[str, Any] | None:
            return store.load(runner.Job(case, "simulated", 0, kernel))

        found = edges.find(cases, simulated)
        around = {case: edges.around(case, simulated) for case in cases}
    return finished, found, around


def _usable(path: Any, named: Sequence[str], stack: str, *, asked: bool) -> list[str]:
    """The algorithms that the kernel can run; others are reported, or an error if asked for."""
    from slowstart.fidelity import grid, runner

    usable = []
    for each in named:
        try:
            runner.check(grid.Case(path, each), stack)
        except InputError as error:
            if asked:
                raise
            if not _about_algorithm(error):
                raise
            _complain(f"{each} is left out: {error}")
            continue
        usable.append(each)
    return usable


def _about_algorithm(error: InputError) -> bool:
    """Whether the kernel lacks an algorithm, as opposed to the machine lacking something."""
    return str(error).startswith("flow ")


def _finished(store: Store, jobs: list[Job]) -> list[dict[str, Any]]:
    runs = ((job.run, store.load(job)) for job in jobs)
    return [{**run, "run": number} for number, run in runs if run is not None]


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"-o {folder} is not a folder: name a new one")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "runs").is_dir():
        raise InputError(
            f"the folder -o {folder} holds something other than such a result: name a new folder"
        )


def _complain(sentence: str) -> None:
    sys.stderr.write(f"slowstart: {sentence}\n")
