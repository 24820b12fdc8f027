"""QUIC stacks beside the simulated TCP: ``--stack quinn --stack simulated`` of ``compare``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowstart import stacks
from slowstart._native import check_stacks, run_stacks
from slowstart.commands.execution import How
from slowstart.commands.options import Stack
from slowstart.errors import InputError
from slowstart.labels import split
from slowstart.running import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart._native import Result, Scenario

_KERNELS = (Stack.LINUX.value, Stack.LINUX_VM.value)


@dataclass(frozen=True)
class Stacks(How):
    """The settings for runs on stacks in virtual time, one stack for each scenario."""

    names: tuple[str, ...] = ()
    own: tuple[str | None, ...] = ()

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """Rejects invalid settings before any run starts."""
        if self.options.force or self.options.switch_hystart:
            raise InputError("--force and --switch-hystart are for the kernel: --stack linux")
        check_stacks(scenarios, self.names, self.own)

    def run(
        self, scenarios: Sequence[Scenario], keep: str, progress: Callable[[int, int], object]
    ) -> Result:
        """Runs them, keeping the time series unless ``keep`` is ``none``."""
        return run_stacks(
            scenarios,
            self.names,
            self.own,
            threads=self.options.threads,
            traces=keep != "none",
            progress=progress,
        )


def chosen(given: list[str]) -> tuple[Stack | None, list[str]]:
    """The stack of a comparison that has one of :class:`Stack`; or those of one in virtual time.

    Raises:
        InputError: A stack is unknown or given twice, or a kernel stands beside others.
    """
    stacks.check_names(given, _KERNELS)
    if len(given) == 1 and given[0] in tuple(Stack):
        return Stack(given[0]), []
    for name in given:
        if name in _KERNELS:
            raise InputError(
                f"--stack {name} runs alone: beside QUIC stacks and the simulated TCP, every stack "
                "runs in virtual time over the same links"
            )
    return None, list(given)


def scenarios_of(
    paths: Sequence[str],
    algorithms: Sequence[str],
    names: Sequence[str],
    settings: Mapping[str, object],
) -> tuple[list[Scenario], list[str], list[str | None]]:
    """The scenarios of a comparison, with the stack and the own controller of each."""
    made: list[Scenario] = []
    on: list[str] = []
    own: list[str | None] = []
    for path in paths:
        for algorithm, label in zip(*split(algorithms), strict=True):
            is_own = stacks.is_own(algorithm)
            for stack in names:
                if is_own and stack == Stack.SIMULATED.value and len(names) > 1:
                    continue  # the simulated TCP has none
                (scenario,) = compare([path], [stacks.placeholder(algorithm)], **settings)  # type: ignore[arg-type]
                name = label or (stacks.own_name(stack, algorithm) if is_own else scenario.flows[0])
                shown = f"{name}, {stack}" if len(names) > 1 else name
                present = dict.fromkeys(scenario.flows, shown)
                made.append(scenario.with_names(flows=present))
                on.append(stack)
                own.append(algorithm if is_own else None)
    return made, on, own


def remarks(names: Sequence[str], *, pacing: bool) -> list[str]:
    """What a reader of a table of several stacks has to know."""
    found = []
    quic = [name for name in names if name != "simulated"]
    if "simulated" in names and not pacing:
        found.append(
            f"{' and '.join(quic)} pace their packets, the simulated TCP does not: differences "
            "between them are also differences of pacing (--pacing)."
        )
    if quic:
        found.append(
            "Windows of QUIC count datagrams of 1472 bytes, those of TCP segments of 1448: compare "
            "them in packets."
        )
    return found
