"""Reads the table of criteria and scenarios. Errors name file and line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart._native import algorithms
from slowstart.evaluation.measures import MEASURES
from slowstart.studies.files import Node, Scalar, nearest
from slowstart.studies.grid import Axis, Repetitions, read_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent
ALGORITHM = "$ALGORITHM"
ROUTERS = "$ROUTER"
"""Stands for the protocol by which the evaluated algorithm asks routers."""
ASKING = tuple(each["name"] for each in algorithms() if "routers" in each["needs"])
"""The start-ups and congestion controls that ask routers, which are also the words of
``router_support``."""
ORACLE, REFERENCE = "oracle", "cubic+oracle"
"""An ideal exit before the algorithm's own avoidance, and the same reference for all algorithms."""
STRENGTHS = ("MUST", "SHOULD", "should", "named", "start-up")
OVERS = ("mean", "gmean", "median", "p95", "min", "max", "sum", "share", "jain", "worst")
RELATIONS = ("difference", "ratio", "harm", "starved")
KINDS = ("points", "lines", "grid")


@dataclass(frozen=True)
class Setup:
    """A scenario with its grid."""

    name: str
    about: str
    runs: Repetitions
    oracle: bool
    """Whether it is run with an ideal exit, too."""
    linux: str
    """When ``--stack linux`` runs it: ``always``, ``full`` (without --quick), or ``never``."""
    windows: tuple[tuple[float, float], ...]
    share_bps: float | None
    base: Mapping[str, Any]
    axes: tuple[Axis, ...]
    kept: Mapping[str, tuple[Scalar, ...]]
    """The values that a quick run keeps, by axis."""
    node: Node

    @property
    def fixed(self) -> bool:
        """Whether it is a reference without the evaluated algorithm."""
        return not _mentions(self.base, ALGORITHM)

    @property
    def asks_routers(self) -> bool:
        """Whether it is only for algorithms that ask routers."""
        return _mentions(self.base, ROUTERS)

    def applies(self, algorithm: str) -> bool:
        """Whether it says anything about an algorithm."""
        return not self.asks_routers or protocol(algorithm) is not None


@dataclass(frozen=True, eq=False)
class Row:
    """A number, and the runs that it is taken from; equal to itself only."""

    words: str
    setup: str
    measure: str
    select: Mapping[str, Any]
    flow: str | None
    over: str
    against: str | None
    relation: str | None
    window: str | None
    limit: float | None
    """What a flow without a value counts as, at least."""
    headline: bool
    stands_out: float | None
    among: str | None = None
    """A measure: only flows in which it is not zero have a value."""

    @property
    def unit(self) -> str:
        """The unit of its values."""
        if self.over in ("share", "jain"):
            return "%" if self.over == "share" else ""
        if self.relation in ("harm", "starved"):
            return "%"
        return "x" if self.relation == "ratio" else MEASURES[self.measure].unit

    @property
    def better(self) -> str | None:
        """``higher`` or ``lower``, or ``None`` if neither is better."""
        if self.relation in ("harm", "starved"):
            return "lower"
        return "higher" if self.over == "jain" else MEASURES[self.measure].better


@dataclass(frozen=True)
class Figure:
    """A picture of a row along an axis of its scenario."""

    kind: str
    title: str
    row: Row
    axis: str
    rows: str | None
    panels: str | None
    log: bool


@dataclass(frozen=True)
class Criterion:
    """What is asked for, and what answers it."""

    name: str
    title: str
    strength: str
    asks: str
    missing: str | None
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...]

    @property
    def section(self) -> str | None:
        """The section of RFC 9743."""
        return self.name if self.name[0].isdecimal() else None


@dataclass(frozen=True)
class Group:
    """Criteria that belong together."""

    name: str
    title: str
    about: str
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True)
class Table:
    """All of it."""

    groups: tuple[Group, ...]
    setups: Mapping[str, Setup]

    @property
    def criteria(self) -> list[Criterion]:
        """The criteria in order."""
        return [each for group in self.groups for each in group.criteria]


def protocol(algorithm: str) -> str | None:
    """The protocol by which an algorithm asks routers."""
    parts = (part.partition(":")[0] for part in algorithm.split("+"))
    return next((part for part in parts if part in ASKING), None)


def _mentions(value: Any, word: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(each, word) for each in value.values())
    if isinstance(value, list):
        return any(_mentions(each, word) for each in value)
    return bool(value == word)


@lru_cache
def read(folder: Path = FOLDER) -> Table:
    """Reads ``scenarios.toml`` and ``criteria/*.toml`` of a folder.

    Raises:
        InputError: With file and line.
    """
    root = Node.read(folder / "scenarios.toml")
    root.only("scenario")
    setups = {}
    for node in root.tables("scenario"):
        setup = _setup(node)
        if setup.name in setups:
            raise node.refuse(f"two scenarios are named {setup.name}", "name")
        setups[setup.name] = setup
    groups = tuple(
        _group(Node.read(file), setups) for file in sorted((folder / "criteria").glob("*.toml"))
    )
    return Table(groups, setups)


def _setup(node: Node) -> Setup:
    node.only(
        "name", "about", "runs", "oracle", "linux", "windows", "share", "base", "grid", "quick"
    )
    node.need("name", "about", "base")
    axes = tuple(read_axes(node))
    quick = node.table("quick")
    kept = {}
    for key in quick.value:
        axis = next((each for each in axes if each.name == key), None)
        if axis is None:
            known = [each.name for each in axes]
            raise quick.refuse(f"there is no axis {key}{nearest(key, known)}", key)
        labels = [point.label for point in axis.points]
        kept[key] = tuple(quick.scalars(key))
        for value in kept[key]:
            if value not in labels:
                raise quick.refuse(f"{key} has no value {value}{nearest(str(value), labels)}", key)
    return Setup(
        name=node.text("name"),
        about=node.text("about"),
        runs=Repetitions.read(node, "runs"),
        oracle=node.boolean("oracle", default=False),
        linux=node.choice("linux", ("always", "full", "never"), "never"),
        windows=tuple((float(low), float(high)) for low, high in node.value.get("windows", ())),
        share_bps=node.number("share") * 1e6 if node.has("share") else None,
        base=node.table("base").value,
        axes=axes,
        kept=kept,
        node=node,
    )


def _group(root: Node, setups: Mapping[str, Setup]) -> Group:
    root.only("group", "criterion")
    group = root.table("group")
    group.only("name", "title", "about")
    criteria = []
    for node in root.tables("criterion"):
        node.only("id", "title", "strength", "asks", "missing", "row", "figure")
        criterion = Criterion(
            name=node.text("id"),
            title=node.text("title"),
            strength=node.choice("strength", STRENGTHS),
            asks=node.text("asks"),
            missing=node.text("missing") if node.has("missing") else None,
            rows=tuple(_row(each, setups) for each in node.tables("row")),
            figures=tuple(_figure(each, setups) for each in node.tables("figure")),
        )
        if not criterion.rows and criterion.missing is None:
            raise node.refuse("a criterion needs a row, or the reason why it has none (missing)")
        criteria.append(criterion)
    return Group(group.text("name"), group.text("title"), group.text("about"), tuple(criteria))


_ROW = (
    "words", "scenario", "measure", "select", "flow", "over", "against", "as", "window", "limit",
    "headline", "stands_out", "among",
)  # fmt: skip


def _row(node: Node, setups: Mapping[str, Setup], words: str | None = None) -> Row:
    if words is None:
        node.only(*_ROW)
    setup = setups[node.choice("scenario", list(setups))]
    select = node.table("select")
    for key, value in select.value.items():
        axis = next((each for each in setup.axes if each.name == key), None)
        if axis is None:
            known = [each.name for each in setup.axes]
            raise select.refuse(f"{setup.name} has no axis {key}{nearest(key, known)}", key)
        labels = [point.label for point in axis.points]
        for each in value if isinstance(value, list) else [value]:
            if each not in labels:
                raise select.refuse(f"{key} has no value {each}{nearest(str(each), labels)}", key)
    against = node.choice("against", [ORACLE, REFERENCE, *setups]) if node.has("against") else None
    if against in (ORACLE, REFERENCE) and not setup.oracle:
        raise node.refuse(f"{setup.name} is not run with an ideal exit: set oracle", "against")
    if (against is None) == node.has("as"):
        raise node.refuse("against and as belong together", "against" if against else "as")
    window = node.text("window") if node.has("window") else None
    windows = [window_name(each) for each in setup.windows]
    if window is not None and window not in windows:
        message = f"{setup.name} has no window {window}{nearest(window, windows)}"
        raise node.refuse(message, "window")
    return Row(
        words=words or node.text("words"),
        setup=setup.name,
        measure=node.choice("measure", list(MEASURES)),
        select=select.value,
        flow=node.text("flow") if node.has("flow") else None,
        over=node.choice("over", OVERS, "mean"),
        against=against,
        relation=node.choice("as", RELATIONS) if against else None,
        window=window,
        limit=node.number("limit") if node.has("limit") else None,
        headline=node.boolean("headline", default=False),
        stands_out=node.number("stands_out") if node.has("stands_out") else None,
        among=node.choice("among", list(MEASURES)) if node.has("among") else None,
    )


def _figure(node: Node, setups: Mapping[str, Setup]) -> Figure:
    node.only(*_ROW, "kind", "title", "axis", "rows", "panels", "log")
    title = node.text("title")
    row = _row(node, setups, title)
    axes = [each.name for each in setups[row.setup].axes]
    kind = node.choice("kind", KINDS)
    grid = kind == "grid"
    return Figure(
        kind=kind,
        title=title,
        row=row,
        axis=node.choice("axis", axes),
        rows=node.choice("rows", axes) if grid else None,
        panels=node.choice("panels", axes) if grid else None,
        log=node.boolean("log", default=False),
    )


def window_name(window: tuple[float, float]) -> str:
    """The name of a window in rows: ``10-30``."""
    return f"{window[0]:g}-{window[1]:g}"
