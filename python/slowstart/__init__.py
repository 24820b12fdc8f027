"""A laboratory for the first seconds of a transport connection.

>>> import polars, slowstart
>>> scenarios = slowstart.compare("geo", ["cubic+search", "cubic+hystart"], size="20 MB", runs=20)
>>> result = slowstart.run(scenarios)
>>> polars.DataFrame(result.flows())

Wrong input raises :class:`InputError`, a failed run :class:`RunError`; the message is one
sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from slowstart._native import (
    Result,
    Scenario,
    Table,
    algorithms,
    check_linux,
    check_vm,
    paths,
    run_batch,
    run_linux,
    run_vm,
    version,
)
from slowstart.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__version__ = version()
__all__ = [
    "InputError",
    "Result",
    "RunError",
    "Scenario",
    "Table",
    "__version__",
    "algorithms",
    "compare",
    "paths",
    "run",
]


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
) -> list[Scenario]:
    """One scenario for each path and each algorithm, all else alike.

    Args:
        path: Names of presets (:func:`paths`), ``trace:FILE``, or path files; one or several.
        algorithm: ``avoidance+startup[:option=value,...]`` or a monolithic congestion control; one or
            several. See :func:`algorithms`.
        size: How much each flow sends, with its unit (``"20 MB"``); either this or ``duration``.
        duration: How long each flow sends, with its unit (``"10 s"``).
        runs: Runs of each scenario. Run number n has the seed ``seed + n``, whatever the
            algorithm, so that algorithms meet the same channel.
        seed: Seed of the first run.
        initial_window: Initial window, in segments.
        pacing: Whether segments are paced as under Linux's ``fq``.
        flows: Flows of the algorithm in each run.
        stagger: Time from the start of one flow to the next, with its unit.

    Raises:
        InputError: Something above is unknown, out of range, or given twice.
    """
    paths_given = [path] if isinstance(path, str) else list(path)
    algorithms_given = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    if not paths_given:
        raise InputError("there is no path to compare over: name at least one")
    for name, given, example in (
        ("size", size, "20 MB"),
        ("duration", duration, "10 s"),
        ("stagger", stagger, "500 ms"),
    ):
        if given is not None and not isinstance(given, str):
            raise InputError(f'{name} is a text with a unit, such as "{example}", not {given!r}')
    for each in algorithms_given:
        words = each.split(",")
        if len(words) > 1 and all(re.fullmatch(r"[\w+:.-]+", word) for word in words):
            raise InputError(
                f"`{each}` names several algorithms: give each by itself (repeat -a, or a list)"
            )
    scenarios: list[Scenario] = []
    seen: dict[tuple[str, str], tuple[int, str]] = {}
    for place, each in enumerate(paths_given):
        made = Scenario.compare(
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
        for given, scenario in zip(algorithms_given, made, strict=True):
            key = (scenario.path, scenario.flows[0])
            if key in seen:
                path_before, algorithm_before = seen[key]
                if path_before == place:
                    raise InputError(
                        f"{algorithm_before} and {given} are the same algorithm: give it once"
                    )
                raise InputError(
                    f"{paths_given[path_before]} and {each} are both a path named {key[0]}: "
                    "give it once, or another name"
                )
            seen[key] = (place, given)
        scenarios += made
    return scenarios


def run(
    scenario: Scenario | Iterable[Scenario],
    *,
    threads: int | None = None,
    traces: bool = False,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    stack: Literal["simulated", "linux", "linux-vm"] = "simulated",
    force: bool = False,
    switch_hystart: bool = False,
) -> Result:
    """Runs scenarios and returns what was measured.

    Simulations, and runs in virtual machines, give the same for any number of threads. The
    interpreter lock is released meanwhile. Ctrl-C stops the runs at once.

    Args:
        scenario: One or several.
        threads: Runs at a time; one for each core by default. Runs on the running kernel are made
            one at a time.
        traces: Whether time series are kept, for ``flow_traces`` and ``link_traces``.
        runs: Only so many first runs of each scenario.
        progress: Called now and then with the runs that are over, and all runs.
        stack: ``linux`` for the TCP of the running kernel over an emulated path, in real time. That
            needs root, or a user namespace in which ``/dev/net/tun`` can be opened. ``linux-vm``
            for that of a kernel in a virtual machine, in virtual time, which needs what
            ``slowstart vm`` says.
        force: Whether runs on the kernel count that the emulator's check of itself does not trust
            (``Result.untrusted``). Otherwise they are in the document alone.
        switch_hystart: Leave to switch HyStart off for the whole machine while a run of
            ``cubic+standard`` on the kernel lasts.

    Raises:
        InputError: The kernel, or the user's rights, do not suffice for the stack.
        RunError: A run failed.
    """
    if isinstance(scenario, str):
        raise InputError(
            "run() takes scenarios: make them with slowstart.compare or Scenario.from_file"
        )
    scenarios = [scenario] if isinstance(scenario, Scenario) else list(scenario)
    if not scenarios:
        raise InputError("there is no scenario to run: give at least one")
    if stack == "simulated":
        if force or switch_hystart:
            raise InputError("force and switch_hystart are for runs on the kernel: stack='linux'")
        return run_batch(scenarios, threads=threads, traces=traces, runs=runs, progress=progress)
    if stack == "linux-vm":
        if switch_hystart:
            raise InputError("switch_hystart is for the running kernel: stack='linux'")
        from slowstart.vm import parts

        machine = parts()
        check_vm(machine, scenarios)
        return run_vm(
            machine,
            scenarios,
            traces="all" if traces else "none",
            runs=runs,
            threads=threads,
            force=force,
            progress=progress,
        )
    if stack != "linux":
        raise InputError(f"there is no stack {stack!r}: simulated, linux or linux-vm")
    if threads not in (None, 1):
        raise InputError("runs on the kernel are made one at a time: leave the threads out")
    check_linux(scenarios, switch_hystart=switch_hystart)
    return run_linux(
        scenarios,
        traces="all" if traces else "none",
        runs=runs,
        force=force,
        switch_hystart=switch_hystart,
        progress=progress,
    )
