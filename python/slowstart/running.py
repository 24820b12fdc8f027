"""Makes scenarios of paths and algorithms, and runs them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

from slowstart import labels as names_of_flows
from slowstart import stacks
from slowstart._native import (
    Scenario,
    check_linux,
    check_real,
    check_vm,
    run_batch,
    run_linux,
    run_real,
    run_vm,
)
from slowstart.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from slowstart._native import Result, Table

    Name = str | os.PathLike[str]
    Stack = str

REAL = "real"
"""The kind of a QUIC stack in real time, in :func:`on_stack`; each scenario names its own stack."""


def compare(
    path: str | Iterable[str],
    algorithm: str | Iterable[str],
    *,
    size: str | None = None,
    duration: str | None = None,
    runs: int = 1,
    seed: int = 1,
    initial_window: int = 10,
    pacing: bool = False,
    flows: int = 1,
    stagger: str | None = None,
    labels: Mapping[str, str] | None = None,
    stack: str | Iterable[str] = "simulated",
) -> list[Scenario]:
    """Makes one scenario for each path, algorithm and stack, with all other settings equal.

    Args:
        path: Presets (:func:`paths`), ``trace:FILE``, or path files; one or several.
        algorithm: ``avoidance+startup[:option=value,...]`` or a monolithic congestion control; one
            or several. See :func:`algorithms`. ``"Ours=cubic+search:threshold=30"`` has a label.
            On a QUIC stack also ``own``, the stack's own controller, or ``own:bbr``.
        size: Amount of data that each flow sends, with unit (``"20 MB"``). Give either this or
            ``duration``.
        duration: Time for which each flow sends, with unit (``"10 s"``).
        runs: Number of runs of each scenario. Run n uses the seed ``seed + n`` for every
            algorithm, so every algorithm gets the same channel realization.
        seed: Seed of the first run.
        initial_window: Initial window, in segments.
        pacing: Pace segments as Linux's ``fq`` does.
        flows: Number of flows in each run.
        stagger: Time between the starts of consecutive flows, with unit.
        labels: Further labels, ``{"Ours": "cubic+search:threshold=30"}``: tables, figures and
            results then show ``Ours`` as the name of its flows.
        stack: What runs the scenarios in virtual time: ``simulated``, or QUIC stacks such as
            ``quinn``; one or several. Names of flows then have that of the stack. Kernels are a
            matter of :func:`run`.

    Returns:
        The scenarios: those of the first path in the order of the algorithms, and of the stacks,
        then those of the next path.

    Raises:
        InputError: An argument is unknown, out of range, or given twice.

    Example:
        >>> import slowstart
        >>> made = slowstart.compare(["geo", "lte"], "cubic+search", size="1 MB", runs=2)
        >>> [(each.path, each.flows, each.runs) for each in made]
        [('geo', ['cubic+search'], 2), ('lte', ['cubic+search'], 2)]
    """
    paths_given = _strings(path, "path", "geo")
    algorithms_given, given_labels = names_of_flows.split(
        _strings(algorithm, "algorithm", "cubic+search")
    )
    stacks_given = _strings(stack, "stack", "quinn")
    if not paths_given:
        raise InputError("no path given: name at least one")
    # A stack's own controller in the simulated TCP is refused there.
    if stacks_given != [stacks.SIMULATED] or any(map(stacks.is_own, algorithms_given)):
        settings: dict[str, Any] = {
            "size": size, "duration": duration, "runs": runs, "seed": seed, "flows": flows,
            "initial_window": initial_window, "pacing": pacing, "stagger": stagger,
        }  # fmt: skip
        if labels:
            raise InputError('labels on several stacks belong to algorithms: "Ours=cubic+search"')
        stacks.check_names(stacks_given)
        asked = list(zip(algorithms_given, given_labels, strict=True))
        return _on_stacks(paths_given, asked, stacks_given, settings)
    _check_units(size=size, duration=duration, stagger=stagger)
    _check_single(algorithms_given)
    made = [
        Scenario.compare(
            each,
            algorithms_given,
            size=size,
            duration=duration,
            runs=runs,
            seed=seed,
            initial_window=initial_window,
            pacing=pacing,
            flows=flows,
            stagger=stagger,
        )
        for each in paths_given
    ]
    _check_unique(paths_given, algorithms_given, made)
    known = [each.flows[0] for each in itertools.chain(*made[:1])]
    shown = names_of_flows.names(known, given_labels)
    for name, label in names_of_flows.by_name(labels or {}, known).items():
        if name in shown or label in shown.values():
            raise InputError(f"the label {label} of {name} is given twice")
        shown[name] = label
    return names_of_flows.labelled(list(itertools.chain(*made)), shown)


def _on_stacks(
    paths: Sequence[str],
    algorithms: Sequence[tuple[str, str | None]],
    names: Sequence[str],
    settings: dict[str, Any],
) -> list[Scenario]:
    """The scenarios of a comparison of stacks in virtual time."""
    made: list[Scenario] = []
    ours = [each for each, _ in algorithms if not stacks.is_own(each)]
    if ours:
        compare(paths, ours, **settings)  # rejects what is given twice
    for path in paths:
        for algorithm, label in algorithms:
            (plain,) = compare([path], [stacks.placeholder(algorithm)], **settings)
            for name in names:
                if stacks.is_own(algorithm) and name == stacks.SIMULATED and len(names) > 1:
                    continue  # the simulated TCP has none
                if stacks.is_foreign(name) and not stacks.is_own(algorithm) and len(names) > 1:
                    continue  # a stack of others has its own only
                one = stacks.placed(plain, name, algorithm)
                shown = label or one.flows[0]
                shown = f"{shown}, {stacks.title(name)}" if len(names) > 1 else shown
                made.append(one.with_names(flows=dict.fromkeys(one.flows, shown)))
    return made


# An example of each amount.
_AMOUNTS = {"size": "20 MB", "duration": "10 s", "stagger": "500 ms"}


def _check_units(**amounts: object) -> None:
    """Rejects amounts that are not strings."""
    for name, given in amounts.items():
        if given is not None and not isinstance(given, str):
            raise InputError(
                f'{name} must be a string with a unit, such as "{_AMOUNTS[name]}", not {given!r}'
            )


def _check_single(algorithms: Sequence[str]) -> None:
    """Rejects a string that lists several algorithms."""
    for each in algorithms:
        words = each.split(",")
        if len(words) > 1 and all(re.fullmatch(r"[\w+:.-]+", word) for word in words):
            raise InputError(
                f"`{each}` names several algorithms: give them separately (repeat -a, or a list)"
            )


def _check_unique(
    paths: Sequence[str], algorithms: Sequence[str], made: Sequence[Sequence[Scenario]]
) -> None:
    """Rejects a path, or an algorithm over a path, that is given twice under one name."""
    seen: dict[tuple[str, str], tuple[int, str]] = {}
    for place, over in enumerate(made):
        for algorithm, scenario in zip(algorithms, over, strict=True):
            key = (scenario.path, scenario.flows[0])
            before, other = seen.setdefault(key, (place, algorithm))
            if before != place:
                raise InputError(
                    f"{paths[before]} and {paths[place]} are both paths named {key[0]}: "
                    "leave one out, or rename it"
                )
            if other != algorithm or list(algorithms).count(algorithm) > 1:
                raise InputError(f"{other} and {algorithm} are the same algorithm: name it once")


def _strings(given: object, name: str, example: str) -> list[str]:
    """The strings of an argument that is one string or several.

    Raises:
        InputError: It is, or contains, something else.
    """
    if isinstance(given, str):
        return [given]
    # Iterating over bytes gives numbers, which would be a confusing message.
    several = isinstance(given, Iterable) and not isinstance(given, bytes | bytearray)
    found = list(given) if several and isinstance(given, Iterable) else [given]
    for each in found:
        if not isinstance(each, str):
            raise InputError(
                f'{name} must be a string such as "{example}", or several strings, not {each!r}'
            )
    return [str(each) for each in found]


@overload
def run(
    scenario: Scenario | Iterable[Scenario],
    *,
    to: None = None,
    threads: int | None = None,
    traces: bool = False,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    stack: Stack = "simulated",
    force: bool = False,
    switch_hystart: bool = False,
    clock: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Result: ...


@overload
def run(
    scenario: Scenario | Iterable[Scenario],
    *,
    to: Name | Mapping[str, Name],
    threads: int | None = None,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Table: ...


def run(
    scenario: Scenario | Iterable[Scenario],
    *,
    to: Name | Mapping[str, Name] | None = None,
    threads: int | None = None,
    traces: bool = False,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    stack: Stack = "simulated",
    force: bool = False,
    switch_hystart: bool = False,
    clock: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Result | Table:
    """Runs scenarios and returns their measurements.

    The results of simulations, and of runs in virtual machines, do not depend on the number of
    threads. The function releases the interpreter lock while it runs. Ctrl-C stops the runs at
    once.

    Args:
        scenario: One or several.
        to: Write the table of flows to this Parquet file while the simulations run, and return only
            their summary (``Result.summary``). A million runs need less than 100 MB of memory. A
            dictionary such as ``{"flows": "flows.parquet", "links": "links.parquet"}``
            selects among ``flows``, ``links``, ``traffic``, ``responses``, ``epochs`` and
            ``queues``. The files appear when all runs are done, and replace earlier ones.
        threads: Number of runs to execute in parallel; one per core by default. With
            ``stack="linux"`` or ``clock="real"``, runs execute one at a time.
        traces: Keep time series, for ``flow_traces`` and ``link_traces``.
        runs: Make only this many runs of each scenario, starting with the first.
        progress: Called from time to time with the number of finished runs and of all runs.
        stack: ``simulated``: the simulated TCP, or the stack that a scenario has already. A QUIC
            stack in virtual time, such as ``quinn``. ``linux``: the running kernel's TCP over an
            emulated path, in real time; this needs root, or a user namespace in which
            ``/dev/net/tun`` can be opened. ``linux-vm``: the TCP of a kernel in a virtual machine,
            in virtual time; ``slowstart vm`` reports what this needs.
        force: Include kernel runs that failed the emulator's timing self-check
            (``Result.untrusted``). Without it they appear in the result document only.
        switch_hystart: Allow switching HyStart off for the whole machine during each kernel run
            of ``cubic+standard``.
        clock: ``virtual`` or ``real``; by default virtual, and real with ``stack="linux"``. With
            ``stack="quinn"`` and ``clock="real"``, quinn runs with its own sockets, timers and TLS
            over an emulated path, as the kernel does.
        labels: ``{"Ours": "cubic+search:threshold=30"}``: tables, also in files, show ``Ours`` as
            the name of the flows that are named after this algorithm. The column ``scenario``
            tells several scenarios apart (``Scenario.with_names`` gives one another name).

    Returns:
        The result, whose methods give its tables (``flows``, ``links``, ``summary``, ...), one row
        for each flow, link or scenario and algorithm; column names carry their unit. With ``to``,
        the table of the summary.

    Raises:
        InputError: The kernel or the user's privileges are insufficient for the stack, or a file
            cannot be written.
        RunError: A run failed.

    Example:
        >>> import polars, slowstart
        >>> scenarios = slowstart.compare("wired", ["cubic+search", "reno"], size="1 MB")
        >>> result = slowstart.run(scenarios)
        >>> polars.DataFrame(result.flows())["algorithm", "completed"].rows()
        [('cubic+search', True), ('reno+standard', True)]
    """
    if isinstance(scenario, str):
        raise InputError(
            "run() takes scenarios: make them with slowstart.compare or Scenario.from_file"
        )
    scenarios = [scenario] if isinstance(scenario, Scenario) else list(scenario)
    if not scenarios:
        raise InputError("no scenario given: give at least one")
    if labels:
        named = [name for each in scenarios for name in each.flows]
        shown = names_of_flows.by_name(labels, named)
        scenarios = names_of_flows.labelled(scenarios, shown)
    if stacks.is_quic(stack):
        scenarios = [stacks.placed(each, stack) for each in scenarios]
        stack = stacks.SIMULATED
    if stack not in ("simulated", "linux", "linux-vm"):
        every = ", ".join([*stacks.known(), "linux", "linux-vm"])
        raise InputError(f"unknown stack {stack!r}: there are {every}")
    placed = {each.stack for each in scenarios} if stack == stacks.SIMULATED else {stack}
    stacks.check_clock(sorted(placed), clock)
    if clock == "real" and stack == stacks.SIMULATED:
        stack = REAL
    if to is not None:
        if stack != "simulated" or traces or force or switch_hystart:
            raise InputError(
                "to writes the tables of runs in virtual time: leave out traces, force, "
                "switch_hystart, a kernel's stack and the real clock"
            )
        from slowstart.store.streaming import stream

        summary, _ = stream(scenarios, to, threads=threads, runs=runs, progress=progress)
        return summary
    if stack == "simulated" and (force or switch_hystart):
        raise InputError("force and switch_hystart are for kernel runs only: stack='linux'")
    if stack in ("linux-vm", REAL) and switch_hystart:
        raise InputError("switch_hystart applies to the running kernel only: use stack='linux'")
    if stack in ("linux", REAL) and threads not in (None, 1):
        raise InputError("runs in real time execute one at a time: leave threads out")
    check_stack(scenarios, stack, switch_hystart=switch_hystart)
    return on_stack(
        scenarios,
        stack,
        keep="all" if traces else "none",
        runs=runs,
        threads=threads,
        force=force,
        switch_hystart=switch_hystart,
        progress=progress,
    )


def check_stack(scenarios: Sequence[Scenario], stack: str, *, switch_hystart: bool) -> None:
    """Rejects scenarios that a kernel or a stack in real time cannot run, or a machine cannot.

    Raises:
        InputError: With the reason.
    """
    if stack in ("linux", "linux-vm"):
        for each in scenarios:
            if each.stack != stacks.SIMULATED:
                raise InputError(f"a scenario on the stack {each.stack} does not run on {stack}")
    if stack == REAL:
        check_real(scenarios)
    elif stack == "linux":
        check_linux(scenarios, switch_hystart=switch_hystart)
    elif stack == "linux-vm":
        from slowstart.vm import parts

        check_vm(parts(), scenarios)


def on_stack(
    scenarios: Sequence[Scenario],
    stack: str,
    *,
    keep: str,
    runs: int | None = None,
    threads: int | None = None,
    force: bool = False,
    switch_hystart: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs checked scenarios, keeping the time series of ``none``, the ``first`` or ``all`` runs.

    A simulation keeps those of all runs or of none; with ``flows``, those of all runs without those
    of links, which other stacks keep, too.
    """
    several: dict[str, Any] = {"runs": runs, "progress": progress}
    if stack == "simulated":
        several |= {"traces": keep in ("all", "flows"), "links": keep != "flows"}
        return run_batch(scenarios, threads=threads, **several)
    several |= {"traces": "all" if keep == "flows" else keep, "force": force}
    if stack == REAL:
        return run_real(scenarios, **several)
    if stack == "linux":
        return run_linux(scenarios, switch_hystart=switch_hystart, **several)
    from slowstart.vm import parts

    return run_vm(parts(), scenarios, threads=threads, **several)
