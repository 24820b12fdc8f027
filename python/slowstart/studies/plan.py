"""Experiments: a base scenario and the grid that it is run over.

An experiment's ``grid`` is a product of axes. An axis given as a list lists the values of a
scenario key (``"path.buffer"``, ``"flow.algorithm"`` of every flow, ``"flow.0.start"`` of the
first). An axis given as a table has named points, each a partial scenario that is merged into the
base. Each axis becomes a column of the result tables, named after the last part of the key. Run n
of every cell has the same seed, and so the same channel realization.

A cell over a calibrated network has the settings of the chosen point, and in an experiment with
``calibrated = true`` (or a number of runs) variants with those of further points that the published
baseline allows (:mod:`slowstart.studies.calibration`). A key that a cell sets itself stays. Further
variants have the other answers to what the publication leaves open
(:mod:`slowstart.studies.readings`).
"""

from __future__ import annotations

import copy
import functools
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import stacks
from slowstart._native import Scenario, paths
from slowstart.errors import InputError
from slowstart.studies.calibration import applied, takes
from slowstart.studies.files import Node, Scalar, nearest, toml
from slowstart.studies.grid import STACKS, Axis, Repetitions, Stack, merge, points, read_axes
from slowstart.studies.readings import answers_of
from slowstart.studies.replay import ORDERS
from slowstart.studies.store import Extract, Job, time_to

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart.studies.allowed import Allowed
    from slowstart.studies.calibration import Calibration
    from slowstart.studies.readings import Reading
    from slowstart.studies.replay import Replay

    Networks = Sequence[tuple[Calibration, Allowed | None]]


@dataclass(frozen=True)
class Part:
    """A scenario, and which runs of its cell it has: those that a mixture gives it."""

    make: Callable[[], Scenario]
    low: float = 0.0
    high: float = 1.0
    turn: tuple[int, int] | None = None
    """In place of a mixture: every how many runs it takes one, and from which on."""

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, made when it is first used: one that replays a file is large."""
        return self.make()

    @classmethod
    def of(cls, scenario: Scenario, low: float = 0.0, high: float = 1.0) -> Part:
        """The part of a scenario that exists."""
        return cls(lambda: scenario, low, high)

    def numbers(self, runs: int) -> tuple[int, ...]:
        """Its runs among the first ``runs`` of the cell."""
        if self.turn is not None:
            step, first = self.turn
            return tuple(range(first, runs, step))
        return tuple(each for each in range(runs) if takes(each, self.low, self.high))


@dataclass(frozen=True)
class Cell:
    """A point of the grid."""

    labels: Mapping[str, Scalar]
    runs: Repetitions
    parts: tuple[Part, ...]
    """Its scenario; several in a mixture; none if it is unavailable."""
    unavailable: str | None
    """Why there is no scenario: this version, or this machine, lacks something."""
    in_quick: bool
    calibrations: tuple[str, ...] = ()
    """The calibrations that determine its network."""
    variants: tuple[tuple[Part, ...], ...] = ()
    """The same at further points: those that the published baseline allows, then the other answers
    of each reading; empty where the cell does not depend on the point."""

    def at(self, point: int) -> tuple[Part, ...]:
        """Its scenario at a further point; empty if it is that of the chosen one."""
        return self.variants[point] if point < len(self.variants) else ()

    @property
    def scenario(self) -> Scenario | None:
        """Its scenario, or that of the first part of a mixture."""
        return self.parts[0].scenario if self.parts else None


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
    few: int | None = None
    """The most runs of a cell at a further point; ``None`` for as many as at the chosen one."""
    is_replay: bool = False
    """Whether it replays the user's connection vectors."""

    def chosen(self, *, quick: bool) -> list[Cell]:
        """The cells that are run."""
        return [cell for cell in self.cells if cell.in_quick or not quick]

    def jobs(self, stack: Stack, *, quick: bool, runs: int | None = None) -> list[Job]:
        """The jobs on a stack."""
        made: list[Job] = []
        for cell in self.chosen(quick=quick):
            count = runs or cell.runs.of(stack, quick=quick)
            made += jobs_of(
                cell.parts, count, stack, labels=cell.labels, traces=self.traces,
                extracts=self.extracts,
            )  # fmt: skip
        return made

    @property
    def points(self) -> int:
        """The number of points, next to the chosen one, at which its claims are judged."""
        return max((len(cell.variants) for cell in self.cells), default=0)

    def variant_jobs(self, point: int, runs: int | None = None) -> list[Job]:
        """The simulations at such a point, of the cells that have it; without time series."""
        made: list[Job] = []
        for cell in self.cells:
            if parts := cell.at(point):
                count = min(runs or cell.runs.full, self.few or cell.runs.full)
                made += jobs_of(parts, count, labels=cell.labels, extracts=self.extracts)
        return made

    def select(self, labels: Mapping[str, Any]) -> list[Cell]:
        """The cells with these labels; a list matches any of its values."""

        def fits(cell: Cell) -> bool:
            return all(
                cell.labels[axis] in (value if isinstance(value, list) else [value])
                for axis, value in labels.items()
            )

        return [cell for cell in self.cells if fits(cell)]


def jobs_of(
    parts: Sequence[Part],
    runs: int,
    stack: Stack = "simulated",
    *,
    labels: Mapping[str, Scalar],
    traces: int = 0,
    extracts: tuple[Extract, ...] = (),
) -> list[Job]:
    """The jobs of a cell's parts, which share its runs."""
    whole = len(parts) == 1
    return [
        Job(
            part.scenario,
            runs if whole else len(part.numbers(runs)),
            stack,
            labels=labels,
            traces=traces,
            extracts=extracts,
            numbers=None if whole else part.numbers(runs),
        )
        for part in parts
        if whole or part.numbers(runs)
    ]


def read_experiment(
    node: Node,
    folders: Sequence[Path],
    hooks: Callable[[str], object | None],
    networks: Networks = (),
    readings: Sequence[Reading] = (),
    replay: Replay | None = None,
) -> Experiment:
    """Reads ``[[experiment]]``.

    Args:
        node: The table.
        folders: Searched for traces, in this order.
        hooks: Looks up a name in the study's analysis.
        networks: The calibrated networks.
        readings: What the publication leaves open about algorithms and workloads.
        replay: The file that its connections come from, if the user gives one.

    Raises:
        InputError: With file and line.
    """
    node.only(
        "name", "about", "stacks", "runs", "seed", "traces", "time_to", "extract", "scenario",
        "grid", "quick", "calibrated",
    )  # fmt: skip
    node.need("name", "scenario")
    name = node.text("name")
    stacks = tuple(_stack(node, each) for each in node.texts("stacks", ["simulated"]))
    if "linux" in stacks and "linux-vm" not in stacks:
        # What the running kernel can do is tried on the one in virtual time, too.
        stacks = (*stacks, "linux-vm")
    base = node.table("scenario")
    for key in ("runs", "seed"):
        if base.has(key):
            raise base.refuse(f"{key} belongs in the experiment, not in its scenario", key)
    axes = read_axes(node)
    kept = _read_quick(node, axes)
    runs = Repetitions.read(node, "runs")
    seed = node.integer("seed", 1, least=0)
    over_set, few = _read_calibrated(node)
    most = points_beside(networks)
    cells = []
    for place, repeated in points(axes, runs):
        labels = {axis.name: point.label for axis, point in zip(axes, place, strict=True)}
        tree = copy.deepcopy(base.value)
        for point in place:
            point.apply(tree)
        shown = ", ".join(f"{axis} = {value}" for axis, value in labels.items())
        where = _Where(node, name + (f" ({shown})" if shown else ""))
        in_quick = all(labels[axis] in values for axis, values in kept.items())
        if replay is not None and replay.applies(tree):
            parts = _replaying(tree, replay, folders, where, seed)
            cells.append(Cell(labels, replay.runs(repeated), parts, None, in_quick))
            continue
        own = _networks_of(tree, networks)
        chosen = {each.name: allowed.chosen for each, allowed in own if allowed is not None}
        parts, unavailable = _parts(tree, own, chosen, folders, where, seed)
        variants: list[tuple[Part, ...]] = []
        for number in range(points_beside(own) if over_set and unavailable is None else 0):
            further = {
                each.name: (allowed.judged[number] if number < len(allowed.judged)
                            else allowed.chosen)
                for each, allowed in own if allowed is not None
            }  # fmt: skip
            variants.append(_parts(tree, own, further, folders, where, seed)[0])
        about = [each for each in readings if each.is_about(name, labels)]
        if about and unavailable is None:
            variants += [()] * (most - len(variants))
            for words in answers_of(readings):
                patches = [each.further[words] for each in about if words in each.further]
                other = copy.deepcopy(tree)
                for patch in patches:
                    merge(other, patch)
                there = _parts(other, own, chosen, folders, where, seed)[0] if patches else ()
                variants.append(there)
        names = tuple(each.name for each, _ in own)
        cells.append(Cell(labels, repeated, parts, unavailable, in_quick, names, tuple(variants)))
    return Experiment(
        name=name,
        about=node.text("about", ""),
        stacks=stacks,
        traces=node.integer("traces", 0, least=0),
        extracts=_read_extracts(node, hooks),
        axes={axis.name: tuple(point.label for point in axis.points) for axis in axes},
        cells=tuple(cells),
        few=few,
        is_replay=replay is not None and replay.applies(base.value),
    )


def _replaying(
    tree: dict[str, Any], replay: Replay, folders: Sequence[Path], where: _Where, seed: int
) -> tuple[Part, ...]:
    """The scenarios of a cell that replays a file: one for each order of the file."""

    def make(order: int) -> Scenario:
        scenario, reason = _build(replay.applied(tree, order), folders, where, seed)
        if scenario is None:
            raise where.refuse(reason)
        return scenario

    return tuple(
        Part(functools.partial(make, order), turn=(ORDERS, order)) for order in range(ORDERS)
    )


def points_beside(networks: Networks) -> int:
    """The number of points of calibrated networks, next to the chosen one."""
    return max((len(each.judged) for _, each in networks if each is not None), default=0)


def _read_calibrated(node: Node) -> tuple[bool, int | None]:
    """``calibrated``: whether there are variants, and the number of their runs."""
    if isinstance(node.value.get("calibrated", False), bool):
        return node.boolean("calibrated", default=False), None
    return True, node.integer("calibrated", 1)


def baseline(
    calibration: Calibration,
    point: Mapping[str, Scalar],
    runs: int,
    folders: Sequence[Path],
    hooks: Callable[[str], object | None],
) -> list[Job]:
    """The runs of the published plain baseline at a point, with the label ``case``.

    Raises:
        InputError: With file and line.
    """
    extracts = []
    for name in calibration.extract:
        found = hooks(name)
        if not isinstance(found, Extract):
            raise calibration.node.refuse(f"extract: {name} is not an Extract", "extract")
        extracts.append(found)
    made: list[Job] = []
    for case, patch in calibration.cases.items():
        tree = copy.deepcopy(dict(calibration.scenario))
        merge(tree, patch)
        where = _Where(calibration.node, f"{calibration.name} ({point})", "calibration")
        own = [(calibration, None)]
        parts, reason = _parts(tree, own, {calibration.name: point}, folders, where, 1)
        if reason is not None:
            raise calibration.node.refuse(reason, "scenario")
        made += jobs_of(parts, runs, labels={"case": case}, extracts=tuple(extracts))
    return made


def _networks_of(tree: Mapping[str, Any], networks: Networks) -> Networks:
    """The calibrations of the path of a scenario."""
    preset = _below(tree.get("path"), "preset")
    return [(each, allowed) for each, allowed in networks if preset in each.presets]


def _parts(
    tree: dict[str, Any],
    networks: Networks,
    points: Mapping[str, Mapping[str, Scalar]],
    folders: Sequence[Path],
    where: _Where,
    seed: int,
) -> tuple[tuple[Part, ...], str | None]:
    """The scenarios of a cell at these points of its networks, or why there are none."""
    mixture: list[tuple[float, dict[str, Scalar]]] = [(1.0, {})]
    for each, _ in networks:
        if each.name in points:
            mixture = each.parts(points[each.name])
    made: list[Part] = []
    low = 0.0
    for share, settings in mixture:
        # The scenario of a calibration is its own base: the point's settings replace it.
        force = where.what == "calibration"
        scenario, reason = _build(applied(tree, settings, force=force), folders, where, seed)
        if scenario is None:
            return (), reason
        high = min(1.0, low + share)
        if made and made[-1].scenario.definition() == scenario.definition():
            made[-1] = Part.of(scenario, made[-1].low, high)
        elif share > 0:
            made.append(Part.of(scenario, low, high))
        low = high
    return tuple(made), None


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
    what: str = "experiment"

    def refuse(self, message: object) -> InputError:
        return self.node.refuse(f"{self.what} {self.cell}: {message}")


def _build(
    tree: dict[str, Any], folders: Sequence[Path], where: _Where, seed: int
) -> tuple[Scenario | None, str | None]:
    """The scenario, or the reason why it cannot be run here."""
    missing = _find_traces(tree, folders) or _missing(tree)
    if missing is not None:
        return None, missing
    text = "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in tree.items())
    try:
        made = stacks.read(text, name="scenario", folder=str(folders[0]))
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
        if not isinstance(algorithm, str) or stacks.is_own(algorithm):
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
