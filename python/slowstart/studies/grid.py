"""The grid of an experiment: its axes, and how often each of its points is run.

Nothing here builds a scenario, so that the list of studies needs nothing else.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from slowstart.studies.files import Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Stack = Literal["simulated", "linux"]
STACKS: tuple[Stack, ...] = ("simulated", "linux")


@dataclass(frozen=True)
class Repetitions:
    """How often every cell is run."""

    full: int
    quick: int
    linux: int
    linux_quick: int

    @classmethod
    def read(cls, node: Node, key: str) -> Repetitions:
        """A number, or a table of numbers."""
        if isinstance(node.value.get(key), dict):
            table = node.table(key)
            table.only("full", "quick", "linux", "linux_quick")
            table.need("full")
        else:
            table = Node(node.file, {"full": node.value.get(key, 1)}, {}, ())
            node.whole(key, 1)
        full = table.whole("full", 1)
        linux = table.whole("linux", min(full, 5))
        quick = table.whole("quick", min(full, max(2, full // 10)))
        return cls(full, quick, linux, table.whole("linux_quick", 1))

    def of(self, stack: Stack, *, quick: bool) -> int:
        """How often, on a stack."""
        if stack == "linux":
            return self.linux_quick if quick else self.linux
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Point:
    """A place on an axis."""

    label: Scalar
    key: str | None
    """The scenario's key that gets the label as value; else a part of a scenario is laid over."""
    patch: Mapping[str, Any]
    runs: Repetitions | None = None

    def apply(self, tree: dict[str, Any]) -> None:
        """Lays the point over a scenario."""
        if self.key is not None:
            _set(tree, self.key.split("."), self.label)
        _lay(tree, self.patch)


@dataclass(frozen=True)
class Axis:
    """A label, and the points that it goes through."""

    name: str
    points: tuple[Point, ...]

    @classmethod
    def read(cls, grid: Node, key: str) -> Axis:
        """The axis that stands at ``key`` of an experiment's grid."""
        value = grid.value[key]
        if isinstance(value, list):
            labels = grid.scalars(key)
            if len(set(labels)) < len(labels):
                raise grid.refuse(f"{key} has the same value twice", key)
            return cls(key.rpartition(".")[2], tuple(Point(each, key, {}) for each in labels))
        table = grid.table(key)
        if not table.value:
            raise grid.refuse(f"{key} has no points", key)
        points = []
        for label in table.value:
            patch = table.table(label)
            runs = Repetitions.read(patch, "runs") if patch.has("runs") else None
            rest = {each: part for each, part in patch.value.items() if each != "runs"}
            points.append(Point(label, None, rest, runs))
        return cls(key, tuple(points))


def _set(tree: Any, steps: list[str], value: Scalar) -> None:
    """Sets a dotted key; where the path comes to a list, in each of its tables."""
    if isinstance(tree, list):
        if steps[0].isdecimal() and int(steps[0]) < len(tree):
            _set(tree[int(steps[0])], steps[1:], value)
        else:
            for each in tree:
                _set(each, steps, value)
    elif len(steps) == 1:
        tree[steps[0]] = value
    else:
        _set(tree.setdefault(steps[0], {}), steps[1:], value)


def _lay(tree: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Lays a part of a scenario over ``tree``; a table over a list, over each of its tables."""
    for key, value in patch.items():
        there = tree.get(key)
        if isinstance(value, dict) and isinstance(there, list):
            for each in there:
                _lay(each, value)
        elif isinstance(value, dict) and isinstance(there, dict):
            _lay(there, value)
        else:
            tree[key] = copy.deepcopy(value)


def read_axes(node: Node) -> list[Axis]:
    """The axes of an ``[[experiment]]``.

    Raises:
        InputError: With file and line.
    """
    grid = node.table("grid")
    axes = [Axis.read(grid, key) for key in grid.value]
    names = [axis.name for axis in axes]
    for axis in axes:
        if names.count(axis.name) > 1:
            raise node.refuse(f"two axes are named {axis.name}", "grid")
    return axes


def points(axes: list[Axis], runs: Repetitions) -> Iterator[tuple[tuple[Point, ...], Repetitions]]:
    """Every point of the grid, and how often it is run."""
    for each in itertools.product(*(axis.points for axis in axes)):
        repeated = [point.runs for point in each if point.runs is not None]
        yield each, repeated[-1] if repeated else runs
