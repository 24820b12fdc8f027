"""What the simulated hosts take from the kernel that they are compared with."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowstart import vm
from slowstart._native import kernel_tick_us

if TYPE_CHECKING:
    from slowstart._native import Scenario

_CURRENT_RECEIVER = (6, 16)
"""The first release of Linux whose receivers size their windows as the simulated ones do."""


@dataclass(frozen=True)
class Kernel:
    """The settings of simulated hosts."""

    tick_us: int = 0
    """The length of their tick in microseconds; 0 for exact timers."""
    older_receiver: bool = False
    """Whether their receivers size the window as Linux before 6.16."""

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with such hosts."""
        return scenario.with_hosts(tick_us=self.tick_us, older_receiver=self.older_receiver)

    @property
    def words(self) -> str:
        """What a reader of results has to know of the simulated hosts."""
        tick = f"a tick of {self.tick_us / 1000:g} ms" if self.tick_us else "exact timers"
        return f"{tick}, receive window as {'before' if self.older_receiver else 'since'} 6.16"


EXACT = Kernel()
"""The hosts of a simulation that is compared with no kernel."""


def of_stack(stack: str, tick_ms: float | None = None) -> Kernel:
    """The kernel of ``stack``, with another tick if one is given.

    Raises:
        InputError: The configuration of the machine's kernel is missing.
    """
    if tick_ms is not None:
        found = Kernel(round(tick_ms * 1000))
    elif stack == "linux-vm":
        found = Kernel(vm.tick_us())
    else:
        found = Kernel(kernel_tick_us())
    return replace(found, older_receiver=_has_older_receiver(stack))


def name(stack: str) -> str:
    """The name of the kernel of ``stack``."""
    if stack == "linux-vm":
        return f"{vm.kernel()} in virtual time"
    return f"Linux {os.uname().release}" if stack == "linux" else stack


def _has_older_receiver(stack: str) -> bool:
    release = vm.kernel() if stack == "linux-vm" else os.uname().release
    found = re.search(r"(\d+)\.(\d+)", release or "")
    return found is not None and (int(found[1]), int(found[2])) < _CURRENT_RECEIVER
