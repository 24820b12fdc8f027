"""The quantities that the validation compares."""

from __future__ import annotations

from dataclasses import dataclass

MARKS_MB = (0.1, 1, 5, 20)


@dataclass(frozen=True)
class Quantity:
    """A number that both stacks measure."""

    key: str
    label: str
    unit: str
    count: bool = False
    """A count: below 50, the error is the difference divided by 50."""


QUANTITIES = (
    Quantity("exit_cwnd", "window at slow-start exit", "segments"),
    Quantity("exit_s", "time of slow-start exit", "s"),
    Quantity("first_drop_s", "first drop", "s"),
    Quantity("first_loss_s", "first loss detected", "s"),
    Quantity("retransmitted", "retransmitted segments", "segments", count=True),
    Quantity("spurious", "spurious retransmissions", "segments", count=True),
    Quantity("undone", "reductions undone", "", count=True),
    *(Quantity(f"mb{mark:g}_s", f"time to {mark:g} MB", "s") for mark in MARKS_MB),
    Quantity("rtt_p50_ms", "RTT, median over time", "ms"),
    Quantity("rtt_p95_ms", "RTT, 95th percentile over time", "ms"),
    Quantity("goodput_mbit", "goodput", "Mbit/s"),
)
