"""Reads a file of rules: cases, each a scenario with what must hold in it.

docs/guides/ci.md describes the keys. Every error names file and line.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart import quantities, stacks
from slowstart._native import parse_toml
from slowstart.checking.kinds import KINDS, METRICS, OTHERS
from slowstart.errors import InputError
from slowstart.labels import canonical, split
from slowstart.studies.files import Node, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUITES = Path(__file__).parent / "suites"
KERNEL = "linux-vm"
"""The kernel that may run a case: in virtual time, so that runs are the same each time."""
OF_PATH = ("size", "duration", "flows", "stagger", "initial_window", "pacing")
"""Settings of the flows over a path, as those of ``slowstart compare``."""
_ROOT = ("about", "baseline", "stack", "algorithm", "runs", "seed", "statistic", "case")
_CASE = (
    "name", "about", "source", "path", *OF_PATH, "scenario", "under_test", "stack", "algorithm",
    "runs", "seed", "statistic", "rules", "skip", "margin",
)  # fmt: skip
_STATISTICS = ("median", "worst")
_EXAMPLES = {
    "s": '"1.5 s"', "1": '"2 %"', "packets": '"400 packets"', "B": '"1 MB"', "bit/s": '"40 Mbit/s"',
    "": "0",
}  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """What must hold in a case."""

    key: str
    line: int
    limit: float = math.nan
    unit: str = ""
    """The base unit of the limit: that of the measurement, or ``bdp``."""
    words: tuple[str, ...] = ()
    """What is not a number: the limit as written, reasons, or the name of a measurement."""
    expected: bool = True


@dataclass(frozen=True)
class Case:
    """A scenario with rules, on some stacks with some algorithms."""

    name: str
    source: str
    stacks: tuple[str, ...]
    only: tuple[str, ...]
    """The stacks for which the case is meant; empty for all."""
    algorithms: tuple[str, ...]
    """As written, perhaps with a label; empty: those of the scenario."""
    runs: int | None
    seed: int | None
    statistic: str
    margin: float
    """By how much more than the baseline's interval a measurement may be worse, as a fraction."""
    rules: tuple[Rule, ...]
    skip: str
    """Why it does not run; empty if it does."""
    node: Node

    def runs_on(self, stack: str) -> bool:
        """Whether it is meant for the stack."""
        return not self.only or stack in self.only


@dataclass(frozen=True)
class Suite:
    """A file of rules."""

    file: str
    """Its name in messages: a file, or that of a suite that ships with the package."""
    folder: Path
    about: str
    baseline: str | None
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Override:
    """What the command line sets instead of the file."""

    stacks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    runs: int | None = None


def suites() -> list[str]:
    """The names of the suites that ship with the package."""
    return sorted(f"suite/{file.stem}" for file in SUITES.glob("*.toml"))


def load(name: str, instead: Override) -> Suite:
    """Reads a file, or the suite of that name.

    Raises:
        InputError: With file and line.
    """
    stacks.check_names(list(instead.stacks), (KERNEL,))
    _check_algorithms(instead.algorithms)
    if name in suites() and not Path(name).exists():
        file = SUITES / f"{name.removeprefix('suite/')}.toml"
        node = Node(name, *parse_toml(file.read_text(encoding="utf-8"), name))
    else:
        if name.startswith("suite/") and not Path(name).exists():
            raise InputError(f'there is no suite "{name}"{nearest(name, suites())}')
        file = Path(name)
        node = Node.read(file)
    node.only(*_ROOT)
    cases = tuple(_cases(node, instead))
    if not cases:
        raise node.refuse("there is no case: write [[case]] tables")
    baseline = node.text("baseline") if node.has("baseline") else None
    return Suite(node.file, file.parent, node.text("about", " ").strip(), baseline, cases)


def _check_algorithms(given: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name, label in zip(*split(given), strict=True):
        shown = label or (name if stacks.is_own(name) else canonical(name))
        if shown in seen:
            raise InputError(f"{seen[shown]} and {name} are the same algorithm: name it once")
        seen[shown] = name


def _cases(root: Node, instead: Override) -> Iterator[Case]:
    names: dict[str, int] = {}
    for node in root.tables("case"):
        node.only(*_CASE)
        name = node.text("name")
        if not name.isprintable():
            raise node.refuse("name has characters that cannot be printed", "name")
        if name in names:
            raise node.refuse(
                f'"{name}" is also the name of the case in line {names[name]}', "name"
            )
        names[name] = node.line()
        yield _case(root, node, name, instead)


def _several(root: Node, node: Node, key: str) -> tuple[list[str], Node]:
    """The strings of a key that is one or several, of the case or else of the file."""
    where = node if node.has(key) else root
    if not where.has(key):
        return [], where
    value = where.value[key]
    found = [value] if isinstance(value, str) else where.texts(key)
    if not found:
        raise where.refuse(f"{key} is empty", key)
    return found, where


def _case(root: Node, node: Node, name: str, instead: Override) -> Case:
    on, where = _several(root, node, "stack")
    given, whose = _several(root, node, "algorithm")
    with _in_line(where, "stack"):
        stacks.check_names(on, (KERNEL,))
    with _in_line(whose, "algorithm"):
        _check_algorithms(given)
    skip = node.text("skip") if node.has("skip") else ""
    if skip and any(node.has(key) for key in ("rules", "path", "scenario")):
        raise node.refuse("a case with skip has no path, scenario or rules", "skip")
    algorithms = list(instead.algorithms) or given
    if not skip:
        _check_scenario(node)
        if node.has("path") and not algorithms:
            raise node.refuse("algorithm is missing, here and at the top of the file (or give -a)")
        node.need("rules")
    rules = tuple(_rules(node.table("rules")))
    if not rules and not skip:
        raise node.refuse("there are no rules", "rules")
    counted, seeded, judged = (
        node if node.has(key) else root for key in ("runs", "seed", "statistic")
    )
    runs = counted.integer("runs", 1) if counted.has("runs") else None
    return Case(
        name=name,
        source=node.text("source", " ").strip(),
        stacks=tuple(instead.stacks or on or [stacks.SIMULATED]),
        # A stack that a case names is what the case is meant for; that of the file is a default.
        only=tuple(on) if node.has("stack") else (),
        algorithms=tuple(algorithms),
        runs=instead.runs or runs,
        seed=seeded.integer("seed", 1, least=0) if seeded.has("seed") else None,
        statistic=judged.choice("statistic", _STATISTICS, "median"),
        margin=_margin(node),
        rules=rules,
        skip=skip,
        node=node,
    )


@contextmanager
def _in_line(node: Node, key: str) -> Iterator[None]:
    """Gives errors the line of a key."""
    try:
        yield
    except InputError as error:
        raise node.refuse(str(error), key) from error


def _check_scenario(node: Node) -> None:
    if node.has("path") == node.has("scenario"):
        raise node.refuse("a case needs either path or scenario")
    if node.has("path"):
        node.text("path")
        if node.has("under_test"):
            raise node.refuse("under_test names flows of a scenario", "under_test")
        return
    for key in OF_PATH:
        if node.has(key):
            raise node.refuse(f"{key} belongs to the flows of the scenario", key)


def _margin(node: Node) -> float:
    if not node.has("margin"):
        return 0.0
    found = quantities.read(node.value["margin"])
    if found is None or found.base not in ("1", "") or not 0 <= found.value <= 10:
        raise node.refuse('margin: expected a percentage, such as "2 %"', "margin")
    return found.value


def _rules(node: Node) -> Iterator[Rule]:
    node.only(*KINDS, *OTHERS)
    for key in node.value:
        line = node.line(key)
        if key in KINDS:
            yield _limit(node, key)
        elif key == "exit_reason":
            value = node.value[key]
            words = [value] if isinstance(value, str) else node.texts(key)
            if not words:
                raise node.refuse(f"{key} is empty", key)
            yield Rule(key, line, words=tuple(words))
        elif key == "not_worse":
            directed = [name for name, metric in METRICS.items() if metric.better]
            value = node.value[key]
            for name in [value] if isinstance(value, str) else node.texts(key):
                if name not in directed:
                    raise node.refuse(
                        f'not_worse: "{name}" is not known{nearest(name, directed)}', key
                    )
                yield Rule(key, line, words=(name,))
        else:
            expected = node.boolean(key, default=True)
            if key == "completes" and not expected:
                raise node.refuse("completes can only be true", key)
            yield Rule(key, line, expected=expected)


def _limit(node: Node, key: str) -> Rule:
    kind = KINDS[key]
    unit = METRICS[kind.metric].unit
    value = node.value[key]
    found = quantities.read(value)
    fits = found is not None and (
        found.base == unit or (unit in ("packets", "B") and found.base.lower() == "bdp")
        or (unit == "1" and found.unit == "")
    )  # fmt: skip
    if found is None or not fits or not 0 <= found.value < math.inf:
        raise node.refuse(f"{key}: expected a value such as {_EXAMPLES[unit]}", key)
    base = "bdp" if found.base.lower() == "bdp" else unit
    shown = quantities.written(found.number, found.unit)
    return Rule(key, node.line(key), found.value, base, (shown,))
