"""Where a search for the worst path looks, and what it compares there.

The file of a sweep says both: the ranges of its Latin hypercube are searched together, and each
combination of the values of its grid separately.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slowstart.studies.files import Node
from slowstart.sweeps.definition import Definition

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from slowstart.studies.files import Scalar

    Numbers = NDArray[np.float64]

SPACE = Path(__file__).with_name("worst.toml")
"""Where a search looks if no file is named."""
_ALGORITHM = "flow.0.algorithm"
# The competing flow of `harm`, which is established when the other one starts.
_RIVAL = {"name": "other", "algorithm": "cubic", "size": "20 MB"}
_RIVAL_AHEAD = "10 * path.rtt"


@dataclass(frozen=True)
class Objective:
    """What a search makes as large as it can."""

    name: str
    unit: str
    words: str
    """What the number says about the first algorithm, `{}`, and the other one."""
    nothing: float
    """The number without any difference."""
    others: bool = False
    """Whether the completion of the other flows counts."""

    def of(self, mine: Numbers, theirs: Numbers) -> Numbers:
        """The number of each pair of completion times."""
        return mine - theirs if self.unit == "s" else mine / theirs


OBJECTIVES = {
    each.name: each
    for each in (
        Objective("completion", "x", "{} takes {} times as long as {}", 1.0),
        Objective("cost", "s", "{} loses {} s against {}", 0.0),
        Objective("harm", "x", "beside {} the other flow takes {} times as long as beside {}", 1.0,
                  others=True),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """A point of the search."""

    start: int
    """Which combination of the grid's values it has."""
    places: tuple[float, ...]
    """Its position in each range, from 0 to 1."""
    value: float


@dataclass(frozen=True)
class Measured:
    """A point with the pairs of runs behind its number."""

    candidate: Candidate
    mine: Sequence[float]
    theirs: Sequence[float]
    """Completion times of each pair, in s."""
    incomplete: tuple[int, int]
    """Runs of each algorithm in which the counted flows did not complete."""
    value: float
    low: float | None
    high: float | None

    @property
    def said(self) -> str:
        """The number with its interval."""
        if self.low is None or self.high is None:
            return f"{self.value:.3g}"
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def sure(self) -> float:
        """The lower end of the interval, or the median without one."""
        return self.value if self.low is None else self.low


@dataclass
class Space:
    """The paths of a search: one sweep for each combination of the grid's values."""

    definition: Definition
    combinations: list[tuple[int, ...]]
    starts: list[Definition] = field(init=False)

    def __post_init__(self) -> None:
        axes = self.definition.axes
        self.starts = []
        for places in self.combinations:
            one = [
                replace(axis, values=(axis.values[place],))
                for axis, place in zip(axes[:-1], places, strict=True)
            ]
            made = replace(self.definition, axes=(*one, axes[-1]), _templates={})
            self.starts.append(made)

    @property
    def first(self) -> Numbers:
        """The first generation: positions from 0 to 1, a row for each point."""
        return np.array(self.definition.sample).T

    def at(self, start: int, places: Numbers, seed: int) -> Definition:
        """The sweep of some points, a row of ``places`` for each."""
        return replace(self.starts[start], sample=tuple(places.T.tolist()), seed=seed)

    def labels(self, start: int) -> dict[str, Scalar]:
        """The values that a combination has."""
        return {axis.name: axis.values[0].label for axis in self.starts[start].axes[:-1]}

    def values(self, places: Sequence[float]) -> dict[str, Scalar]:
        """What a point has in each range, as a file says it."""
        spans = self.definition.spans
        return {
            span.name: span.value(place).label for span, place in zip(spans, places, strict=True)
        }


def read_space(
    space: str | os.PathLike[str], algorithms: Sequence[str], objective: Objective
) -> Space:
    """Reads the file of a sweep as the space of a search for these two algorithms.

    Raises:
        InputError: With file and line.
    """
    node = Node.read(Path(space))
    grid = node.table("grid")
    for key in grid.value:
        if key.startswith("flow") and key.endswith("algorithm"):
            raise grid.refuse(f"--worst names the algorithms: leave out {key}", key)
    if not node.has("latin_hypercube"):
        raise node.refuse("a search needs ranges: name them in [latin_hypercube]")
    value = copy.deepcopy(node.value)
    flows = value.get("scenario", {}).get("flow") if isinstance(value.get("scenario"), dict) else []
    if objective.others and isinstance(flows, list) and len(flows) == 1:
        flows.append(dict(_RIVAL))
        value.setdefault("derived", {})["flow.0.start"] = {"value": _RIVAL_AHEAD, "unit": "s"}
    value["grid"] = {**grid.value, _ALGORITHM: list(algorithms)}
    definition = Definition.read(node.as_if(value), Path(space).parent)
    if len(definition.sample[0]) < 5:
        raise node.refuse("points: a generation has at least five", "latin_hypercube", "points")
    definition.check()
    shape = definition.shape[:-2]
    return Space(definition, [tuple(map(int, each)) for each in np.ndindex(shape)])
