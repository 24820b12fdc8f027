"""The options ``--stack`` and ``--clock``: which stacks run, together or alone, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowstart import stacks
from slowstart.commands.options import Stack
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_KERNELS = (Stack.LINUX.value, Stack.LINUX_VM.value)


def chosen(given: Sequence[str], clock: str | None) -> tuple[Stack, list[str]]:
    """The kind of a stack, and the names of those for which scenarios are made.

    Raises:
        InputError: A stack is unknown or given twice, a kernel stands beside others, or a stack
            does not have the clock.
    """
    stacks.check_names(given, _KERNELS)
    stacks.check_clock(given, clock)
    if clock == "real" and given != [Stack.LINUX.value]:
        return Stack.REAL, list(given)
    if len(given) == 1 and given[0] in _KERNELS:
        return Stack(given[0]), [stacks.SIMULATED]
    for name in given:
        if name in _KERNELS:
            raise InputError(
                f"--stack {name} runs alone: beside QUIC stacks and the simulated TCP, every stack "
                "runs in virtual time over the same links"
            )
    return Stack.SIMULATED, list(given)


def remarks(names: Sequence[str], *, pacing: bool) -> list[str]:
    """What a reader of a table of several stacks has to know."""
    found = []
    quic = [stacks.title(name) for name in names if name != stacks.SIMULATED]
    paced = [name for name in names if name in stacks.known()[1:]]
    if stacks.SIMULATED in names and paced and not pacing:
        found.append(
            f"{' and '.join(paced)} pace their packets, the simulated TCP does not: differences "
            "between them are also differences of pacing (--pacing)."
        )
    if quic:
        found.append(
            "Windows of QUIC count datagrams of 1472 bytes, those of TCP segments of 1448: compare "
            "them in packets."
        )
    return found
