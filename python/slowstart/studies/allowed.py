"""The set that the search of a calibration allows: ``calibration/NAME.toml``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart.studies.calibration import FILE, FOLDER
from slowstart.studies.files import Node, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from slowstart.studies.calibration import Calibration


@dataclass(frozen=True)
class Shipped:
    """A preset beside the set: the point that users get."""

    preset: str
    point: Mapping[str, Scalar]
    distance: float
    """In standard errors, to its worst target."""
    met: bool
    """Whether it meets all targets."""

    @property
    def words(self) -> str:
        """The point, and how far it is from the baseline."""
        values = ", ".join(f"{name} {value}" for name, value in self.point.items())
        meets = "meets the baseline" if self.met else "misses the baseline"
        return f"preset {self.preset} ({values}): {meets}, {self.distance:.1f} standard errors away"


@dataclass(frozen=True)
class Allowed:
    """The result of a search: ``calibration/NAME.toml``."""

    chosen: Mapping[str, Scalar]
    """The preset's point if it is in the set, otherwise the heaviest."""
    judged: tuple[Mapping[str, Scalar], ...]
    """Further points at which claims are judged."""
    shares: tuple[float, ...]
    """How much of the set's weight is nearest to the chosen point, and to each of these."""
    ranges: Mapping[str, tuple[Scalar, ...]]
    """The values of each parameter that occur in the set, in order."""
    size: int
    searched: int
    runs: int
    """The most runs of a point."""
    low: float
    """The set holds at least so much of the weight in 19 of 20 resamples of the runs."""
    stable: bool
    """Whether that is enough; otherwise the search ended at the stated limit of runs."""
    met: bool
    """Whether any point of the set meets all targets."""
    distance: float
    """Of the chosen point, in standard errors, to its worst target."""
    found: Mapping[str, float]
    """The targets' values at the chosen point."""
    reach: Mapping[str, tuple[float, float]]
    """Their smallest and largest values over the whole set."""
    presets: tuple[Shipped, ...]
    """The presets of the calibration."""
    command: str
    definition: str

    @property
    def words(self) -> str:
        """How large the set is, and what is certain of it."""
        if not self.found:
            return (
                f"the publication has no number of the baseline: all {self.searched} plausible "
                "points are allowed"
            )
        held = f"{self.size} of {self.searched} points hold 95 % of the weight"
        parts = [f"{held}, and at least {self.low:.0%} in 19 of 20 resamples of {self.runs} runs"]
        if not self.stable:
            parts.append("more runs could change the set")
        if not self.met:
            parts.append(
                "none of them meets all targets: the chosen one is "
                f"{self.distance:.1f} standard errors away"
            )
        return "; ".join(parts)


def read_allowed(folder: Path, calibration: Calibration) -> Allowed | None:
    """The stored set of a calibration; ``None`` if there is none yet.

    Raises:
        InputError: The file is invalid, or another search than the calibration's made it.
    """
    file = folder / FOLDER / f"{calibration.name}.toml"
    if not file.is_file():
        return None
    node = Node.read(file)
    node.only(
        "command", "definition", "searched", "size", "runs", "low", "stable", "met", "distance",
        "chosen", "judged", "shares", "found", "reach", "ranges", "presets",
    )  # fmt: skip
    node.need("command", "definition", "runs", "low", "stable", "distance", "chosen", "shares")
    if node.text("definition") != calibration.definition:
        raise node.refuse(
            f"{calibration.name} in {FILE} has changed since this set was made: repeat the "
            f"calibration ({node.text('command')})"
        )
    points = [node.table("chosen").value, *(each.value for each in node.tables("judged"))]
    for point in points:
        if set(point) != set(calibration.parameters):
            raise node.refuse("a point needs a value of each parameter", "chosen")
    found, ranges, reach = (node.table(key) for key in ("found", "ranges", "reach"))
    return Allowed(
        chosen=points[0],
        judged=tuple(points[1:]),
        shares=_shares(node, len(points)),
        ranges={key: tuple(ranges.scalars(key)) for key in ranges.value},
        size=node.integer("size", 0, least=0),
        searched=node.integer("searched", 0, least=0),
        runs=node.integer("runs", 0, least=0),
        low=node.number("low"),
        stable=node.boolean("stable", default=True),
        met=node.boolean("met", default=True),
        distance=node.number("distance"),
        found={key: found.number(key) for key in found.value},
        reach={key: _reach(reach, key) for key in reach.value},
        presets=tuple(_shipped(each) for each in node.tables("presets")),
        command=node.text("command"),
        definition=node.text("definition"),
    )


def _shipped(node: Node) -> Shipped:
    node.only("preset", "point", "distance", "met")
    node.need("preset", "point", "distance", "met")
    return Shipped(
        node.text("preset"),
        node.table("point").value,
        node.number("distance"),
        node.boolean("met", default=False),
    )


def _shares(node: Node, points: int) -> tuple[float, ...]:
    values = node.scalars("shares")
    if len(values) != points or any(isinstance(each, (str, bool)) for each in values):
        raise node.refuse("shares: expected a number for each point", "shares")
    return tuple(float(each) for each in values)


def _reach(node: Node, key: str) -> tuple[float, float]:
    values = node.scalars(key)
    if len(values) != 2 or any(isinstance(each, (str, bool)) for each in values):
        raise node.refuse(f"{key}: expected the smallest and the largest value", key)
    return float(values[0]), float(values[1])


def write_allowed(allowed: Allowed) -> str:
    """The text of ``calibration/NAME.toml``."""

    def row(values: Mapping[str, Any]) -> str:
        inside = ", ".join(
            f"{json.dumps(key)} = {json.dumps(each)}" for key, each in values.items()
        )
        return f"{{ {inside} }}" if inside else "{}"

    def short(value: float) -> float:
        return float(f"{value:.6g}")

    lines = [
        f"# Made by: {allowed.command}",
        "# The points that the published baseline allows. Do not edit: repeat the command.",
        f"command = {json.dumps(allowed.command)}",
        f"definition = {json.dumps(allowed.definition)}",
        f"searched = {allowed.searched}",
        f"size = {allowed.size}",
        f"runs = {allowed.runs}",
        f"low = {short(allowed.low)}",
        f"stable = {json.dumps(allowed.stable)}",
        f"met = {json.dumps(allowed.met)}",
        f"distance = {json.dumps(round(allowed.distance, 4))}",
        f"chosen = {row(allowed.chosen)}",
        f"found = {row({key: short(each) for key, each in allowed.found.items()})}",
        f"reach = {row({key: [short(x) for x in each] for key, each in allowed.reach.items()})}",
        f"ranges = {row({key: list(each) for key, each in allowed.ranges.items()})}",
        f"shares = {json.dumps([round(each, 3) for each in allowed.shares])}",
        "judged = [",
        *(f"  {row(point)}," for point in allowed.judged),
        "]",
        *(
            line
            for each in allowed.presets
            for line in (
                "",
                "[[presets]]",
                f"preset = {json.dumps(each.preset)}",
                f"point = {row(each.point)}",
                f"distance = {json.dumps(round(each.distance, 4))}",
                f"met = {json.dumps(each.met)}",
            )
        ),
    ]
    return "\n".join(lines) + "\n"
