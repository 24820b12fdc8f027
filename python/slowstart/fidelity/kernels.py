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

_RECEIVERS = (((6, 6), "linux-6.1"), ((6, 16), "linux-6.6"))
"""Before which release of Linux a receiver sizes its window in which older way."""
_BURST_BPS = 3_150_000_000
"""How fast a host in virtual time sends a burst: the mean of 108 bursts of 42 packets
(docs/guides/accuracy.md, "Periodic writes and a bulk transfer"). Virtual time counts instructions,
so it is the same on every machine."""


@dataclass(frozen=True)
class Kernel:
    """The settings of simulated hosts."""

    tick_us: int = 0
    """The length of their tick in microseconds; 0 for exact timers."""
    autotuning: str | None = None
    """How their receivers size the window; ``None`` as Linux since 6.16."""
    burst_bps: int | None = None
    """The rate at which a burst leaves them, in bit/s; ``None`` for all at once."""

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with such hosts."""
        return scenario.with_hosts(
            tick_us=self.tick_us, autotuning=self.autotuning, burst_bps=self.burst_bps
        )

    @property
    def words(self) -> str:
        """What a reader of results has to know of the simulated hosts."""
        tick = f"a tick of {self.tick_us / 1000:g} ms" if self.tick_us else "exact timers"
        burst = f", bursts at {self.burst_bps / 1e9:g} Gbit/s" if self.burst_bps else ""
        return f"{tick}, receive window as {self.autotuning or 'since Linux 6.16'}{burst}"


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
    burst_bps = _BURST_BPS if stack == "linux-vm" else None
    return replace(found, autotuning=_autotuning(stack), burst_bps=burst_bps)


def name(stack: str) -> str:
    """The name of the kernel of ``stack``."""
    if stack == "linux-vm":
        return f"{vm.kernel()} in virtual time"
    return f"Linux {os.uname().release}" if stack == "linux" else stack


def _autotuning(stack: str) -> str | None:
    release = vm.kernel() if stack == "linux-vm" else os.uname().release
    found = re.search(r"(\d+)\.(\d+)", release or "")
    if found is None:
        return None
    version = (int(found[1]), int(found[2]))
    return next((word for before, word in _RECEIVERS if version < before), None)
