"""What the simulator is held to, and whether it keeps it on the cases that were run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowstart.fidelity.compare import Difference, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

# The bounds of the errors of a quantity over all cases.
MEDIAN_BOUND, P95_BOUND = 0.03, 0.10
# On a clean path CUBIC's and Reno's windows at the exit are the same within this.
EXIT_BOUND = 0.01
# SEARCH decides once per bin, and its window of ten bins is 3.5 initial round trips
# (draft-chung-ccwg-search, section 3.2).
_BIN_ROUNDS = 0.35
_BINS = 2
BOUNDED = ("exit_cwnd", "mb1_s", "mb5_s", "mb20_s", "retransmitted")
_NEAR = ("search", "hystart++")
# Those, the exit of CUBIC and Reno, and that of each start-up.
CLAIMS = len(BOUNDED) + 1 + len(_NEAR)


@dataclass(frozen=True)
class Verdict:
    """A sentence that can be wrong, and what was measured."""

    claim: str
    cases: int
    holds: bool
    measured: str


def verdicts(differences: Sequence[Difference]) -> list[Verdict]:
    """Those for which there are cases."""
    found = [_bounded(differences, key) for key in BOUNDED]
    found.append(_same_exit(differences))
    found += [_near_exit(differences, name) for name in _NEAR]
    return [verdict for verdict in found if verdict is not None]


# Below it the wake-ups of idle processors are several percent of the round trip.
LONG_RTT_MS = 20.0
LONG = f"Paths with a round trip of {LONG_RTT_MS:g} ms and more alone"


def over_long_paths(differences: Sequence[Difference]) -> list[Verdict]:
    """The same of the paths where the hosts' own delay does not count."""
    return verdicts([each for each in differences if (each.case.path.rtt_ms or 0) >= LONG_RTT_MS])


def _bounded(differences: Sequence[Difference], key: str) -> Verdict | None:
    group = [each for each in differences if each.quantity.key == key]
    if not group:
        return None
    errors = [abs(each.error) for each in group]
    middle, high = quantile(errors, 0.5), quantile(errors, 0.95)
    return Verdict(
        f"{group[0].quantity.label}: median error at most 3 %, 95 of 100 cases at most 10 %",
        len(group),
        middle <= MEDIAN_BOUND and high <= P95_BOUND,
        f"median {percent(middle)}, 95th percentile {percent(high)}",
    )


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
    # A window is a whole number of segments, so one segment is always allowed.
    kept = [each for each in group if _apart(each) <= max(1.0, EXIT_BOUND * (each.kernel or 0))]
    return Verdict(
        "CUBIC and Reno on clean paths: the window at the exit within 1 % (or one segment)",
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
        f"{startup} on clean paths: leaves slow start within {words} of the kernel",
        len(group),
        len(kept) == len(group),
        f"{len(kept)} of {len(group)} cases",
    )


def _apart(each: Difference) -> float:
    if each.simulated is None or each.kernel is None:
        return math.inf
    return abs(each.simulated - each.kernel)


def percent(fraction: float) -> str:
    """``1.2 %``; infinity is where one stack alone has the quantity."""
    return "one stack alone" if math.isinf(fraction) else f"{100 * fraction:.2g} %"
