"""Calibrations: what a study's networks may be, given the published plain baseline alone.

``calibration.toml`` in a study's folder has a ``[[calibration]]`` for each network: the published
numbers of plain slow start (targets), the parameters that may move and their plausible ranges, and
the points to search. ``slowstart study NAME --calibrate`` searches
(:mod:`slowstart.studies.calibrate`) and writes ``calibration/NAME.toml``
(:mod:`slowstart.studies.allowed`): the points that hold 95 % of the weight that the targets give
(:mod:`slowstart.studies.weights`). Claims about the network are judged at one of them, and at
a spread-out subset of the others.

A point sets scenario keys. A mixture gives a ``share`` of the runs the keys of its first part, and
the others those of its second.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart._native import parse_toml, paths
from slowstart.studies.files import Node, Scalar, nearest
from slowstart.studies.grid import Repetitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Tree = dict[str, Any]

FILE, FOLDER = "calibration.toml", "calibration"
SEARCHES = ("grid", "latin hypercube")
STATISTICS = ("mean", "sd", "share")
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, are evenly spread: any first n runs have the mixture's share."""
# Parts of a path whose keys add to those of a preset; other tables replace the preset's.
_SECTIONS = ("path", "forward", "reverse")


@dataclass(frozen=True)
class Parameter:
    """A parameter that may move: a list of values, or a range in a unit."""

    name: str
    keys: tuple[str, ...]
    """The dotted scenario keys that it sets; none for the share of a mixture."""
    values: tuple[Scalar, ...]
    low: float
    high: float
    unit: str
    digits: int
    part: int | None
    """The part of a mixture that it belongs to; ``None`` for both."""
    reason: str
    edge: str
    """Why no values beyond the first and the last are searched; empty if there may be some."""

    def is_edge(self, value: Scalar) -> bool:
        """Whether a chosen value leaves open what lies beyond it."""
        return not self.edge and len(self.values) > 1 and value in (self.values[0], self.values[-1])

    @property
    def is_share(self) -> bool:
        """Whether it is the share of runs in the first part of a mixture."""
        return not self.keys

    def at(self, place: float) -> Scalar:
        """The value at a place from 0 to 1."""
        if self.values:
            return self.values[min(int(place * len(self.values)), len(self.values) - 1)]
        value = round(self.low + place * (self.high - self.low), self.digits)
        return f"{value:.{self.digits}f} {self.unit}" if self.unit else value

    def place(self, value: Scalar) -> float:
        """The place of a value, from 0 to 1."""
        if self.values:
            known = self.values.index(value) if value in self.values else 0
            return known / max(1, len(self.values) - 1)
        number = float(str(value).split()[0])
        return (number - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Target:
    """A published number of the plain baseline."""

    name: str
    words: str
    where: str
    metric: str
    statistic: str
    published: float
    sd: float | None
    """The published standard deviation of runs, for a mean; if ``None``, ours is taken."""
    n: int
    rounding: float
    """Half of the last printed digit."""
    discrepancy: float
    """How far the best point of the model may be from the truth (a standard deviation)."""
    limit: float | None
    """What a run without a value counts as (the observation ended there)."""
    labels: Mapping[str, Any]
    """The runs that it is measured on: values of ``cases``; empty for all."""


@dataclass(frozen=True)
class Calibration:
    """A ``[[calibration]]``: one network."""

    name: str
    about: str
    presets: tuple[str, ...]
    runs: Repetitions
    most: int
    """The most runs of a point: a search makes more until the set is stable."""
    judged: int
    """The number of allowed points, next to the chosen one, at which claims are judged."""
    scenario: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Any]]
    """Variants of the scenario, each with its own runs of the baseline."""
    extract: tuple[str, ...]
    kind: str
    count: int
    seed: int
    parameters: Mapping[str, Parameter]
    targets: tuple[Target, ...]
    fixed: Mapping[str, Scalar]
    """The point to choose if there are no targets."""
    apart: Mapping[str, str]
    """Presets that are not the chosen point, and why."""
    definition: str
    """A hash of the table: it identifies the search that made a set."""
    node: Node

    def points(self) -> list[dict[str, Scalar]]:
        """The points to search, without those that mean the same (a mixture of equal parts)."""
        found: list[dict[str, Scalar]] = []
        known: set[tuple[tuple[str, float], ...]] = set()
        for point in self._every():
            shares: dict[str, float] = {}
            for share, settings in self.parts(point):
                key = json.dumps(settings, sort_keys=True)
                shares[key] = round(shares.get(key, 0.0) + share, 9)
            meaning = tuple(sorted(shares.items()))
            if meaning not in known:
                known.add(meaning)
                found.append(point)
        return found

    def _every(self) -> list[dict[str, Scalar]]:
        """The points of the grid or the hypercube."""
        axes = list(self.parameters.values())
        if self.kind == "grid":
            rows: Iterator[Any] = itertools.product(*(axis.values for axis in axes))
            return [dict(zip(self.parameters, row, strict=True)) for row in rows]
        rng = np.random.default_rng(self.seed)
        places = [(rng.permutation(self.count) + 0.5) / self.count for _ in axes]
        return [
            {
                axis.name: axis.at(float(place[row]))
                for axis, place in zip(axes, places, strict=True)
            }
            for row in range(self.count)
        ]

    def parts(self, point: Mapping[str, Scalar]) -> list[tuple[float, dict[str, Scalar]]]:
        """The parts of the mixture at a point: their share of the runs, and their settings."""
        share = next(
            (float(point[each.name]) for each in self.parameters.values() if each.is_share), 1.0
        )
        made = []
        for part, fraction in enumerate((share, 1 - share)):
            settings = {
                key: point[each.name]
                for each in self.parameters.values()
                if each.part in (None, part)
                for key in each.keys
            }
            made.append((fraction, settings))
        return made if share < 1 else made[:1]

    def edges(self, point: Mapping[str, Scalar]) -> list[str]:
        """The parameters whose values should be widened, because the chosen point is on their edge.

        None without targets: nothing then says on which side a better point lies.
        """
        if not self.targets:
            return []
        whole = any(each.is_share and point[name] == 1 for name, each in self.parameters.items())
        return [
            name
            for name, each in self.parameters.items()
            # The second part of a mixture has no runs if the first has all.
            if each.is_edge(point[name]) and not (whole and each.part == 1)
        ]

    def at_preset(self, preset: str) -> dict[str, Scalar] | None:
        """The point that a preset is, a single network; ``None`` if it lacks a parameter's key."""
        point: dict[str, Scalar] = {}
        for name, each in self.parameters.items():
            value: Any = 1.0 if each.is_share else {"path": _table(preset)}
            for step in each.keys[0].split(".") if each.keys else ():
                value = value.get(step) if isinstance(value, dict) else None
            if value is None:
                return None
            point[name] = value
        return point

    def distance_between(self, one: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> float:
        """How far apart two points are, with each range scaled to 1."""
        return math.dist(
            [axis.place(one[name]) for name, axis in self.parameters.items()],
            [axis.place(other[name]) for name, axis in self.parameters.items()],
        )


# --- reading -------------------------------------------------------------------------------------


def read_calibrations(
    folder: Path, hooks: Callable[[str], object | None]
) -> dict[str, Calibration]:
    """The calibrations of the study in ``folder``; none without ``calibration.toml``.

    Raises:
        InputError: The file is invalid (with file and line).
    """
    if not (folder / FILE).is_file():
        return {}
    root = Node.read(folder / FILE)
    root.only("calibration")
    found: dict[str, Calibration] = {}
    taken: dict[str, str] = {}
    for node in root.tables("calibration"):
        each = _read(node, hooks)
        if each.name in found:
            raise node.refuse(f"there are two calibrations {each.name}", "name")
        for preset in each.presets:
            if preset in taken:
                raise node.refuse(f"{taken[preset]} calibrates {preset}, too", "presets")
            taken[preset] = each.name
        found[each.name] = each
    return found


def _read(node: Node, hooks: Callable[[str], object | None]) -> Calibration:
    node.only(
        "name", "about", "presets", "runs", "most", "judged", "scenario", "cases", "extract",
        "search", "parameters", "target", "fixed", "apart",
    )  # fmt: skip
    node.need("name", "about", "presets", "scenario", "parameters", "search")
    name = node.text("name")
    if not name.replace("-", "").isalnum():
        raise node.refuse("name: expected letters, digits and dashes", "name")
    presets = node.texts("presets")
    known = [each["name"] for each in paths()]
    for preset in presets:
        if preset not in known:
            raise node.refuse(f"there is no path {preset}{nearest(preset, known)}", "presets")
    search = node.table("search")
    search.only("kind", "points", "seed")
    kind = search.choice("kind", SEARCHES)
    table = node.table("parameters")
    parameters = {each: _parameter(table.table(each), each, kind) for each in table.value}
    if not parameters:
        raise node.refuse("a calibration needs at least one parameter", "parameters")
    if sum(each.is_share for each in parameters.values()) > 1:
        raise table.refuse("a mixture has one share")
    if any(each.part is not None for each in parameters.values()) and not any(
        each.is_share for each in parameters.values()
    ):
        raise table.refuse("parts need a share: a parameter without keys")
    apart = node.table("apart")
    apart.only(*presets)
    cases = node.table("cases")
    for extract in node.texts("extract"):
        if hooks(extract) is None:
            raise node.refuse(f"extract: the study's analysis has no Extract {extract}", "extract")
    targets = tuple(_target(each, cases) for each in node.tables("target"))
    repeated = Repetitions.read(node, "runs")
    most = node.integer("most", repeated.full)
    if most < repeated.full:
        raise node.refuse(f"most: a full search begins with {repeated.full} runs", "most")
    fixed = node.table("fixed")
    fixed.only(*parameters)
    if not targets:
        for parameter in parameters:
            fixed.need(parameter)
    return Calibration(
        name=name,
        about=node.text("about"),
        presets=tuple(presets),
        runs=repeated,
        most=most,
        judged=node.integer("judged", 4, least=0),
        scenario=node.table("scenario").value,
        cases={each: cases.table(each).value for each in cases.value} or {"": {}},
        extract=tuple(node.texts("extract")),
        kind=kind,
        count=search.integer("points", 1),
        seed=search.integer("seed", 1, least=0),
        parameters=parameters,
        targets=targets,
        fixed=fixed.value,
        apart={preset: apart.text(preset) for preset in apart.value},
        definition=_definition(node.value),
        node=node,
    )


_PROSE = ("about", "words", "where", "reason", "edge", "apart")


def _definition(table: Mapping[str, Any]) -> str:
    """A hash of all that determines a search; its prose does not."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key not in _PROSE}
        return [bare(each) for each in value] if isinstance(value, list) else value

    return hashlib.sha256(json.dumps(bare(table), sort_keys=True).encode()).hexdigest()[:16]


def _parameter(node: Node, name: str, kind: str) -> Parameter:
    node.only("keys", "values", "low", "high", "unit", "digits", "part", "reason", "edge")
    node.need("reason")
    values = tuple(node.scalars("values")) if node.has("values") else ()
    if values and (node.has("low") or node.has("high")):
        raise node.refuse(f"{name} has values, or low and high, not both")
    if not values:
        if kind == "grid":
            raise node.refuse(f"{name}: a grid needs values")
        node.need("low", "high")
        if not node.number("low") < node.number("high"):
            raise node.refuse(f"{name}: low must be below high", "low")
    part = node.integer("part", 0, least=1) - 1 if node.has("part") else None
    if part is not None and part > 1:
        raise node.refuse(f"{name}: a mixture has the parts 1 and 2", "part")
    keys = tuple(node.texts("keys"))
    if not keys:
        for value in values or (node.number("low"), node.number("high")):
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise node.refuse(f"{name} has no keys, so it is a share: from 0 to 1")
    return Parameter(
        name,
        keys,
        values,
        0.0 if values else node.number("low"),
        1.0 if values else node.number("high"),
        node.text("unit", "-").strip("-"),
        node.integer("digits", 0, least=0),
        part,
        node.text("reason"),
        node.text("edge", ""),
    )


def _target(node: Node, cases: Node) -> Target:
    node.only(
        "id", "words", "where", "metric", "statistic", "published", "sd", "n", "rounding",
        "discrepancy", "limit", "select",
    )  # fmt: skip
    node.need("id", "words", "where", "metric", "published", "n", "rounding", "discrepancy")
    metric = node.text("metric")
    try:
        pl.sql_expr(metric)
    except Exception as error:
        raise node.refuse(f'metric = "{metric}" is not a valid expression', "metric") from error
    statistic = node.choice("statistic", STATISTICS, "mean")
    if node.has("sd") and statistic != "mean":
        raise node.refuse("sd belongs to a mean", "sd")
    discrepancy = node.number("discrepancy")
    if discrepancy < 0:
        raise node.refuse("discrepancy: expected a standard deviation, 0 or more", "discrepancy")
    labels = node.table("select")
    labels.only("case")
    if labels.has("case") and labels.text("case") not in cases.value:
        raise labels.refuse(f"there is no case {labels.text('case')}", "case")
    return Target(
        name=node.text("id"),
        words=node.text("words"),
        where=node.text("where"),
        metric=metric,
        statistic=statistic,
        published=node.number("published"),
        sd=node.number("sd") if node.has("sd") else None,
        n=node.integer("n", 1, least=2),
        rounding=node.number("rounding"),
        discrepancy=discrepancy,
        limit=node.number("limit") if node.has("limit") else None,
        labels=labels.value,
    )


# --- applying ------------------------------------------------------------------------------------


def applied(tree: Tree, settings: Mapping[str, Scalar], *, force: bool = False) -> Tree:
    """A scenario with these settings, except (without ``force``) for keys that it sets itself."""
    made = copy.deepcopy(tree)
    model = _preset(made)
    for key, value in settings.items():
        steps = key.split(".")
        if force or not _has(tree, steps):
            _put(made, steps, value, model)
    return made


def takes(number: int, low: float, high: float) -> bool:
    """Whether run ``number`` belongs to the part of a mixture from ``low`` to ``high``."""
    return low <= ((number + 0.5) * _GOLDEN) % 1 < high


def _preset(tree: Mapping[str, Any]) -> Tree:
    """The table of the preset that a scenario uses, as ``{path = ...}``."""
    path = tree.get("path")
    name = path.get("preset") if isinstance(path, dict) else None
    return {"path": _table(str(name))} if name is not None else {}


@functools.cache
def _table(preset: str) -> Tree:
    """The ``[path]`` table of a preset."""
    toml = next((each["toml"] for each in paths() if each["name"] == preset), "")
    return parse_toml(toml, preset)[0]


def _has(tree: Any, steps: Sequence[str]) -> bool:
    """Whether a scenario sets a key, or a table that replaces the preset's table around it."""
    for place, step in enumerate(steps):
        if isinstance(tree, list):
            return any(_has(each, steps[place:]) for each in tree)
        if not isinstance(tree, dict) or step not in tree:
            return False
        tree = tree[step]
        if place + 1 < len(steps) and step not in _SECTIONS and steps[0] == "path":
            return True
    return True


def _put(tree: Any, steps: Sequence[str], value: Scalar, model: Any) -> None:
    """Sets a key; tables around it that replace the preset's are copied from it first."""
    step = steps[0]
    if isinstance(tree, list):
        for each in tree:
            _put(each, steps, value, model)
        return
    below = model.get(step) if isinstance(model, dict) else None
    if len(steps) == 1:
        tree[step] = value
        return
    if step not in tree:
        whole = isinstance(below, dict) and step not in _SECTIONS
        tree[step] = copy.deepcopy(below) if whole else {}
    _put(tree[step], steps[1:], value, below)
