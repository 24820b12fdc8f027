"""The accuracy claims about the simulator, and their verdicts for the cases run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from slowstart.fidelity.compare import Difference, counted, quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Bounds of the error of a quantity over all cases.
MEDIAN_BOUND, P95_BOUND = 0.03, 0.10
# Bound of the error of CUBIC's and Reno's windows at the exit on a clean path.
EXIT_BOUND = 0.01
# SEARCH decides once per bin, and its window of ten bins spans 3.5 initial RTTs
# (draft-chung-ccwg-search, section 3.2).
_BIN_ROUNDS = 0.35
_BINS = 2
BOUNDED = ("exit_cwnd", "mb1_s", "mb5_s", "mb20_s", "retransmitted")
_NEAR = ("search", "hystart++")
# The bounded quantities, the exit of CUBIC and Reno, and the exit of each start-up.
CLAIMS = len(BOUNDED) + 1 + len(_NEAR)


@dataclass(frozen=True)
class Verdict:
    """A claim, and its measured value."""

    claim: str
    cases: int
    holds: bool
    measured: str
    chance: str = ""
    """Which of the largest errors the simulation itself makes at a rate within one percent."""


def verdicts(differences: Sequence[Difference]) -> list[Verdict]:
    """The verdicts for all claims that have cases, without the knife's edges.

    Where there are knife's edges, what was measured is followed by the same with them.
    """
    makers: list[Callable[[Sequence[Difference]], Verdict | None]] = [
        *(partial(_bounded, key=key) for key in BOUNDED),
        _same_exit,
        *(partial(_near_exit, startup=name) for name in _NEAR),
    ]
    found = []
    for make in makers:
        verdict, whole = make(counted(differences)), make(differences)
        if verdict is None or whole is None:
            continue
        left_out = whole.cases - verdict.cases
        if left_out:
            words = f"{verdict.measured}; with {left_out} knife's edges: {whole.measured}"
            verdict = replace(verdict, measured=words)
        found.append(verdict)
    return found


# On shorter paths the wake-up latency of idle CPUs is several percent of the RTT.
LONG_RTT_MS = 20.0
LONG = f"Only paths with an RTT of at least {LONG_RTT_MS:g} ms"


def over_long_paths(differences: Sequence[Difference]) -> list[Verdict]:
    """The verdicts for paths on which the delay of the hosts is negligible."""
    return verdicts([each for each in differences if (each.case.path.rtt_ms or 0) >= LONG_RTT_MS])


def _bounded(differences: Sequence[Difference], key: str) -> Verdict | None:
    group = [each for each in differences if each.quantity.key == key]
    if not group:
        return None
    errors = [abs(each.error) for each in group]
    middle, high = quantile(errors, 0.5), quantile(errors, 0.95)
    return Verdict(
        f"{group[0].quantity.label}: median error at most 3 %, 95th percentile at most 10 %",
        len(group),
        middle <= MEDIAN_BOUND and high <= P95_BOUND,
        f"median {percent(middle)}, 95th percentile {percent(high)}",
        _within(group, high),
    )


def _within(group: Sequence[Difference], high: float) -> str:
    """Which errors from ``high`` on are no larger than what a slightly different rate makes.

    A rate within one percent also moves times and rates by as much, so small errors all lie within.
    """
    largest = [each for each in group if abs(each.error) >= high > 0 and each.moved is not None]
    if not largest:
        return ""
    names = [each.case.name for each in largest if each.within]
    words = (
        f"of the {len(largest)} cases with an error of {percent(high)} or more, {len(names)} lie"
    )
    words += " within what the simulation itself moves at a rate within 1 %"
    return f"{words}: {'; '.join(names)}" if names else words


def _same_exit(differences: Sequence[Difference]) -> Verdict | None:
    group = [
        each
        for each in differences
        if each.quantity.key == "exit_cwnd"
        and each.case.path.kind == "clean"
        and each.case.algorithm in ("cubic", "cubic+standard", "reno")
    ]
    if not group:
        return None
    # A window is a whole number of segments, so a difference of one segment is allowed.
    kept = [each for each in group if _apart(each) <= max(1.0, EXIT_BOUND * (each.kernel or 0))]
    return Verdict(
        "CUBIC and Reno on clean paths: window at the exit within 1 % (or one segment)",
        len(group),
        len(kept) == len(group),
        f"{len(kept)} of {len(group)} cases",
    )


def _near_exit(differences: Sequence[Difference], startup: str) -> Verdict | None:
    group = [
        each
        for each in differences
        if each.quantity.key == "exit_s"
        and each.case.path.kind == "clean"
        and each.case.algorithm.partition("+")[2].split(":")[0] == startup
    ]
    if not group:
        return None
    rounds, words = (1.0, "one round") if startup == "hystart++" else (
        _BINS * _BIN_ROUNDS, "two bins"
    )  # fmt: skip
    kept = [
        each
        for each in group
        if _apart(each) <= rounds * (each.case.path.rtt_ms or math.nan) / 1000
    ]
    return Verdict(
        f"{startup} on clean paths: leaves slow start within {words} of the kernel's exit",
        len(group),
        len(kept) == len(group),
        f"{len(kept)} of {len(group)} cases",
    )


def _apart(each: Difference) -> float:
    if each.simulated is None or each.kernel is None:
        return math.inf
    return abs(each.simulated - each.kernel)


def percent(fraction: float) -> str:
    """``1.2 %``; infinity means that only one stack has the quantity."""
    return "one stack only" if math.isinf(fraction) else f"{100 * fraction:.2g} %"
