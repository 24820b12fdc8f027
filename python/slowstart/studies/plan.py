"""Experiments: a base scenario and the grid that it is run over.

An experiment's ``grid`` is a product of axes. An axis given as a list lists the values of a
scenario key (``"path.buffer"``, ``"flow.algorithm"`` of every flow, ``"flow.0.start"`` of the
first). An axis given as a table has named points, each a partial scenario that is merged into the
base. Each axis becomes a column of the result tables, named after the last part of the key. Run n
of every cell has the same seed, and so the same channel realization.
"""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import InputError, Scenario, paths
from slowstart.studies.files import Node, Scalar, nearest
from slowstart.studies.grid import STACKS, Axis, Repetitions, Stack, points, read_axes
from slowstart.studies.store import Extract, Job, time_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class Cell:
    """A point of the grid."""

    labels: Mapping[str, Scalar]
    runs: Repetitions
    scenario: Scenario | None
    unavailable: str | None
    """Why there is no scenario: this version, or this machine, lacks something."""
    in_quick: bool


@dataclass(frozen=True)
class Experiment:
    """A base scenario over a grid."""

    name: str
    about: str
    stacks: tuple[Stack, ...]
    traces: int
    extracts: tuple[Extract, ...]
    axes: Mapping[str, tuple[Scalar, ...]]
    cells: tuple[Cell, ...]

    def chosen(self, *, quick: bool) -> list[Cell]:
        """The cells that are run."""
        return [cell for cell in self.cells if cell.in_quick or not quick]

    def jobs(self, stack: Stack, *, quick: bool, runs: int | None = None) -> list[Job]:
        """The jobs on a stack."""
        return [
            Job(
                cell.scenario,
                runs or cell.runs.of(stack, quick=quick),
                stack,
                labels=cell.labels,
                traces=self.traces,
                extracts=self.extracts,
            )
            for cell in self.chosen(quick=quick)
            if cell.scenario is not None
        ]

    def select(self, labels: Mapping[str, Any]) -> list[Cell]:
        """The cells with these labels; a list matches any of its values."""

        def fits(cell: Cell) -> bool:
            return all(
                cell.labels[axis] in (value if isinstance(value, list) else [value])
                for axis, value in labels.items()
            )

        return [cell for cell in self.cells if fits(cell)]


def read_experiment(
    node: Node, folders: Sequence[Path], hooks: Callable[[str], object | None]
) -> Experiment:
    """Reads ``[[experiment]]``.

    Args:
        node: The table.
        folders: Searched for traces, in this order.
        hooks: Looks up a name in the study's analysis.

    Raises:
        InputError: With file and line.
    """
    node.only(
        "name", "about", "stacks", "runs", "seed", "traces", "time_to", "extract", "scenario",
        "grid", "quick",
    )  # fmt: skip
    node.need("name", "scenario")
    name = node.text("name")
    stacks = tuple(_stack(node, each) for each in node.texts("stacks", ["simulated"]))
    base = node.table("scenario")
    for key in ("runs", "seed"):
        if base.has(key):
            raise base.refuse(f"{key} belongs in the experiment, not in its scenario", key)
    axes = read_axes(node)
    kept = _read_quick(node, axes)
    runs = Repetitions.read(node, "runs")
    seed = node.integer("seed", 1, least=0)
    cells = []
    for place, repeated in points(axes, runs):
        labels = {axis.name: point.label for axis, point in zip(axes, place, strict=True)}
        tree = copy.deepcopy(base.value)
        for point in place:
            point.apply(tree)
        shown = ", ".join(f"{axis} = {value}" for axis, value in labels.items())
        where = _Where(node, name + (f" ({shown})" if shown else ""))
        scenario, unavailable = _build(tree, folders, where, seed)
        in_quick = all(labels[axis] in values for axis, values in kept.items())
        cells.append(Cell(labels, repeated, scenario, unavailable, in_quick))
    return Experiment(
        name=name,
        about=node.text("about", ""),
        stacks=stacks,
        traces=node.integer("traces", 0, least=0),
        extracts=_read_extracts(node, hooks),
        axes={axis.name: tuple(point.label for point in axis.points) for axis in axes},
        cells=tuple(cells),
    )


def _stack(node: Node, word: str) -> Stack:
    for stack in STACKS:
        if stack == word:
            return stack
    raise node.refuse(f"there is no stack {word}{nearest(word, STACKS)}", "stacks")


def _read_quick(node: Node, axes: list[Axis]) -> dict[str, list[Scalar]]:
    """The values that a quick run keeps, by axis."""
    quick = node.table("quick")
    by_name = {axis.name: axis for axis in axes}
    quick.only(*by_name)
    kept = {}
    for axis in quick.value:
        values = quick.scalars(axis)
        labels = [point.label for point in by_name[axis].points]
        for value in values:
            if value not in labels:
                message = f"{axis} has no value {value}{nearest(str(value), labels)}"
                raise quick.refuse(message, axis)
        kept[axis] = values
    return kept


def _read_extracts(node: Node, hooks: Callable[[str], object | None]) -> tuple[Extract, ...]:
    extracts = []
    for text in node.texts("time_to"):
        try:
            (probe,) = Scenario.compare(
                "wired", ["cubic"], size=text, runs=1, seed=1, initial_window=10, flows=1
            )
        except InputError as error:
            raise node.refuse(f'time_to: "{text}": {error}', "time_to") from error
        count = probe.resolved["flows"][0]["size_bytes"]
        extracts.append(time_to(f"time_to_{text.replace(' ', '')}_s", count))
    for text in node.texts("extract"):
        found = hooks(text)
        if not isinstance(found, Extract):
            raise node.refuse(f"extract: the study's analysis has no Extract {text}", "extract")
        extracts.append(found)
    return tuple(extracts)


@dataclass(frozen=True)
class _Where:
    node: Node
    cell: str

    def refuse(self, message: object) -> InputError:
        return self.node.refuse(f"experiment {self.cell}: {message}")


def _build(
    tree: dict[str, Any], folders: Sequence[Path], where: _Where, seed: int
) -> tuple[Scenario | None, str | None]:
    """The scenario, or the reason why it cannot be run here."""
    missing = _find_traces(tree, folders) or _missing(tree)
    if missing is not None:
        return None, missing
    text = "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in tree.items())
    try:
        made = Scenario.from_toml(text, name="scenario", folder=folders[0])
    except InputError as error:
        # Drops the line number: it refers to the generated text.
        raise where.refuse(str(error).removeprefix("scenario:").lstrip("0123456789: ")) from error
    return made.with_runs(runs=1, seed=seed), None


def _find_traces(tree: dict[str, Any], folders: Sequence[Path]) -> str | None:
    """Sets the file of each trace in a scenario, or returns which trace is missing."""
    path = tree.get("path")
    for part in (path, _below(path, "forward"), _below(path, "reverse")):
        if not isinstance(part, dict):
            continue
        for holder, key in (
            (part, "trace"),
            (part.get("trace"), "file"),
            (part.get("delay"), "trace"),
        ):
            name = _below(holder, key)
            if not isinstance(holder, dict) or not isinstance(name, str):
                continue
            found = next((each / name for each in folders if (each / name).is_file()), None)
            if found is None:
                # One reason for all traces of a collection.
                whole = Path(name).parent.name
                what = f"the traces of {whole} are" if whole else f"the trace {name} is"
                return f"{what} not on this machine (see: slowstart traces)"
            holder[key] = str(found.resolve())
    return None


@functools.cache
def _presets() -> frozenset[str]:
    """The names of path presets, cached: some take milliseconds to resolve."""
    return frozenset(each["name"] for each in paths())


def _missing(tree: dict[str, Any]) -> str | None:
    """The path or algorithm in a scenario that this version does not have."""
    path = tree.get("path")
    preset = _below(path, "preset")
    if isinstance(preset, str) and preset not in _presets():
        return f"this version has no path {preset}"
    flows = tree.get("flow")
    for flow in flows if isinstance(flows, list) else []:
        algorithm = _below(flow, "algorithm")
        if not isinstance(algorithm, str):
            continue
        try:
            Scenario.compare(
                "wired", [algorithm], size="1 kB", runs=1, seed=1, initial_window=10, flows=1
            )
        except InputError as error:
            known = str(error).partition(" (known")[0]
            return f"this version cannot run {algorithm}: {known}"
    return None


def _below(value: object, key: str) -> object | None:
    return value.get(key) if isinstance(value, dict) else None


def _toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    # JSON strings and numbers are valid TOML.
    return json.dumps(value, ensure_ascii=False)
