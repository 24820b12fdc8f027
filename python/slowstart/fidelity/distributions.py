"""Compares the distributions of both stacks over the starts of a workload.

The error at a level of a quantity is the simulation's quantile divided by the kernel's, minus one.
If the kernel's quantile of a count is below 50, the difference is divided by 50 instead. A
quantity's errors are those at all levels of all its distributions in a group.

Two resamplings show chance. The bootstrap draws the starts again, the same on both stacks. The
permutation exchanges the stacks of some starts: if the stacks do not differ, this changes nothing
but chance, so errors up to the 95th percentile of all permutations are no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart.fidelity.groups import response_class
from slowstart.fidelity.judge import MEDIAN_BOUND, P95_BOUND
from slowstart.fidelity.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from slowstart.fidelity.groups import Workload

_LEAST_COUNT = 50.0
# With fewer values than this, only the quartiles are compared.
_FEW = 40
_DECILES = tuple(level / 10 for level in range(1, 10))
_QUARTILES = (0.25, 0.5, 0.75)
_RESAMPLES = 300
_INTERVAL = (0.05, 0.95)


QUANTITIES = (
    Quantity("fct_s", "completion or response time", "s"),
    Quantity("retransmitted", "segments retransmitted, per run", "segments", count=True),
    Quantity("drops", "packets dropped, per run", "packets", count=True),
    Quantity("marks", "packets marked, per run", "packets", count=True),
    Quantity("queue_packets", "mean queue, per run", "packets"),
    Quantity("jain", "Jain's index of goodputs", ""),
)


def measure(workload: Workload, start: int, run: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a run's document, by quantity and class."""
    flows = workload.flows(start)
    labels = list(dict.fromkeys(flow.label for flow in flows))
    times: dict[str, list[float]] = {label: [] for label in labels}
    again = dict.fromkeys(labels, 0)
    goodputs = []
    for flow, result in zip(flows, run["flows"], strict=True):
        if result["fct_s"] is not None:
            times[flow.label].append(result["fct_s"])
        again[flow.label] += result["segments_retransmitted"]
        goodputs.append(result["goodput_bps"])
    for table in run.get("traffic", ()):
        again["connections"] = again.get("connections", 0) + table["segments_lost"]
        for epoch in table["exchanges"]["list"]:
            label = response_class(epoch["response_bytes"])
            times.setdefault(label, []).append(epoch["duration_s"])
    link = run["links"][0]
    squares = sum(each * each for each in goodputs)
    jain = sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else None
    return {
        "fct_s": times,
        "retransmitted": {label: [float(count)] for label, count in again.items()},
        "drops": {"": [float(link["drops"])]},
        "marks": {"": [float(link["marks"])]} if link["marks"] or "ecn = true" in workload.path
        else {},
        "queue_packets": {"": [link["queue_mean_packets"] or 0.0]},
        "jain": {"": [] if jain is None else [jain]},
        "unfinished": sum(result["fct_s"] is None for result in run["flows"]),
    }  # fmt: skip


Runs = dict[int, dict[str, Any]]
"""The measured runs of a stack by start."""


@dataclass(frozen=True)
class Distribution:
    """One quantity of one class of one workload, on both stacks and in the twin."""

    workload: Workload
    quantity: Quantity
    label: str
    simulated: tuple[NDArray[Any], ...]
    """Values by start."""
    kernel: tuple[NDArray[Any], ...]
    twin: tuple[NDArray[Any], ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels at which quantiles are compared."""
        return _QUARTILES if sum(map(len, self.kernel)) < _FEW else _DECILES

    def quantiles(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The quantiles of the values of some starts, at each level."""
        return np.asarray(np.quantile(np.concatenate(values), self.levels))

    def exchanged(self, swaps: NDArray[Any]) -> Distribution:
        """The same with the stacks of some starts exchanged."""
        pairs = zip(self.simulated, self.kernel, swaps, strict=True)
        turned = [(theirs, ours) if swap else (ours, theirs) for ours, theirs, swap in pairs]
        ours, theirs = zip(*turned, strict=True)
        return replace(self, simulated=ours, kernel=theirs)

    def errors(self, chosen: NDArray[Any] | None = None, *, twin: bool = False) -> NDArray[Any]:
        """The error at each level; with ``twin``, that of the simulation against its twin."""
        ours, theirs = self.simulated, self.twin if twin else self.kernel
        if chosen is not None:
            ours = tuple(ours[each] for each in chosen)
            theirs = tuple(theirs[each] for each in chosen)
        if not sum(map(len, ours)) or not sum(map(len, theirs)):
            return np.array([])
        of_ours, of_theirs = self.quantiles(ours), self.quantiles(theirs)
        scale = np.maximum(of_theirs, _LEAST_COUNT) if self.quantity.count else of_theirs
        # Times and queues are positive; an idle queue on both stacks is no error.
        safe = np.where(scale > 0, scale, 1.0)
        return np.asarray((of_ours - of_theirs) / safe)


def distributions(
    workload: Workload, simulated: Runs, kernel: Runs, twin: Runs
) -> list[Distribution]:
    """All distributions of a workload, over the starts that ran on both stacks."""
    starts = sorted(simulated.keys() & kernel.keys() & twin.keys())
    found = []
    for quantity in QUANTITIES:
        labels = dict.fromkeys(label for start in starts for label in kernel[start][quantity.key])
        for label in labels:
            ours, theirs, other = (
                tuple(np.array(runs[s][quantity.key].get(label, []), float) for s in starts)
                for runs in (simulated, kernel, twin)
            )
            if all(sum(map(len, each)) for each in (ours, theirs, other)):
                found.append(Distribution(workload, quantity, label, ours, theirs, other))
    return found


@dataclass(frozen=True)
class Row:
    """The errors of a quantity in a group."""

    group: str
    quantity: Quantity
    starts: int
    errors: int
    """Number of errors: levels of all distributions."""
    median: float
    median_interval: tuple[float, float]
    p95: float
    p95_interval: tuple[float, float]
    bias: float
    """The median of the signed errors."""
    chance_median: float
    """The 95th percentile of the median over permutations of the stacks."""
    chance_p95: float
    """The same of the 95th percentile."""
    twin_median: float
    """The median of the errors of the simulation against its twin."""
    twin_p95: float
    """Their 95th percentile."""
    worst: str

    @property
    def holds(self) -> bool:
        """Whether the errors are within the goals."""
        return self.median <= MEDIAN_BOUND and self.p95 <= P95_BOUND

    @property
    def verdict(self) -> str:
        """``yes``; ``no``; or ``chance`` if what exceeds a goal is not more than chance makes."""
        if self.holds:
            return "yes"
        middle = self.median <= max(MEDIAN_BOUND, self.chance_median)
        high = self.p95 <= max(P95_BOUND, self.chance_p95)
        return "chance" if middle and high else "no"


def rows(found: Sequence[Distribution]) -> list[Row]:
    """One row for each quantity of each group, in the order of ``found``."""
    parts: dict[tuple[str, str], list[Distribution]] = {}
    for each in found:
        parts.setdefault((each.workload.group, each.quantity.key), []).append(each)
    return [_row(part) for part in parts.values()]


def _row(part: Sequence[Distribution]) -> Row:
    errors = [each.errors() for each in part]
    pooled = np.concatenate(errors)
    middle, high = _both(pooled)
    twin = _both(np.concatenate([each.errors(twin=True) for each in part]))
    random = np.random.default_rng(1)
    counts = {each.workload.name: len(each.simulated) for each in part}
    resampled, permuted = [], []
    for _ in range(_RESAMPLES):
        # The distributions of one workload share the starts.
        chosen = {name: random.integers(0, count, count) for name, count in counts.items()}
        again = [each.errors(chosen[each.workload.name]) for each in part]
        resampled.append(_both(np.concatenate(again)))
        swaps = {name: random.random(count) < 0.5 for name, count in counts.items()}
        again = [each.exchanged(swaps[each.workload.name]).errors() for each in part]
        permuted.append(_both(np.concatenate(again)))
    low, up = np.quantile(np.array(resampled), _INTERVAL, axis=0)
    chance = np.quantile(np.array(permuted), _INTERVAL[1], axis=0)
    largest = max(zip(part, errors, strict=True), key=lambda pair: np.abs(pair[1]).max())
    where, error = largest
    place = int(np.argmax(np.abs(error)))
    words = ", ".join(filter(None, (where.workload.name, where.label)))
    return Row(
        group=part[0].workload.group,
        quantity=part[0].quantity,
        starts=min(len(each.simulated) for each in part),
        errors=len(pooled),
        median=middle,
        median_interval=(float(low[0]), float(up[0])),
        p95=high,
        p95_interval=(float(low[1]), float(up[1])),
        bias=float(np.median(pooled)),
        chance_median=float(chance[0]),
        chance_p95=float(chance[1]),
        twin_median=twin[0],
        twin_p95=twin[1],
        worst=f"{100 * error[place]:+.2g} % at {100 * where.levels[place]:g} %: {words}",
    )


def _both(errors: NDArray[Any]) -> tuple[float, float]:
    sizes = np.abs(errors)
    middle, high = np.quantile(sizes, (0.5, 0.95), method="inverted_cdf")
    return float(middle), float(high)
