"""The grid of an experiment: its axes, and the number of runs of each of its points.

This module builds no scenario, so that listing the studies needs nothing else.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from slowstart.studies.files import Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Stack = Literal["simulated", "linux", "linux-vm"]
STACKS: tuple[Stack, ...] = ("simulated", "linux", "linux-vm")


@dataclass(frozen=True)
class Repetitions:
    """The number of runs of each cell."""

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
            node.integer(key, 1)
        full = table.integer("full", 1)
        linux = table.integer("linux", min(full, 5))
        quick = table.integer("quick", min(full, max(2, full // 10)))
        return cls(full, quick, linux, table.integer("linux_quick", 1))

    def of(self, stack: Stack, *, quick: bool) -> int:
        """The number of runs on a stack."""
        if stack != "simulated":
            return self.linux_quick if quick else self.linux
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Point:
    """A point on an axis."""

    label: Scalar
    key: str | None
    """The scenario key that is set to the label; ``None`` if ``patch`` is merged instead."""
    patch: Mapping[str, Any]
    runs: Repetitions | None = None

    def apply(self, tree: dict[str, Any]) -> None:
        """Applies the point to a scenario."""
        if self.key is not None:
            put(tree, self.key.split("."), self.label)
        merge(tree, self.patch)


@dataclass(frozen=True)
class Axis:
    """A name, and the points along the axis."""

    name: str
    points: tuple[Point, ...]

    @classmethod
    def read(cls, grid: Node, key: str) -> Axis:
        """The axis at ``key`` of an experiment's grid."""
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


def put(tree: Any, steps: Sequence[str], value: Scalar) -> None:
    """Sets a dotted key; if the path reaches a list, in each of its tables."""
    if isinstance(tree, list):
        if steps[0].isdecimal() and int(steps[0]) < len(tree):
            put(tree[int(steps[0])], steps[1:], value)
        else:
            for each in tree:
                put(each, steps, value)
    elif len(steps) == 1:
        tree[steps[0]] = value
    else:
        put(tree.setdefault(steps[0], {}), steps[1:], value)


def merge(tree: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Merges a partial scenario into ``tree``; a table into each table of a list.

    A table whose only keys are numbers is merged into the tables at these places of the list.
    """
    for key, value in patch.items():
        there = tree.get(key)
        if isinstance(value, dict) and isinstance(there, list):
            by_place = bool(value) and all(each.isdecimal() for each in value)
            for place, each in enumerate(there):
                merge(each, value.get(str(place), {}) if by_place else value)
        elif isinstance(value, dict) and isinstance(there, dict):
            merge(there, value)
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
    """Every point of the grid, with its number of runs."""
    for each in itertools.product(*(axis.points for axis in axes)):
        repeated = [point.runs for point in each if point.runs is not None]
        yield each, repeated[-1] if repeated else runs
