"""Readings: what a publication leaves open about an algorithm or a workload.

A ``[[reading]]`` of ``study.toml`` is one open question: the cells that it is about, in some
experiments or by experiment (all, if it does not say), and further answers to it, each a partial
scenario that replaces the cells' own. The scenarios of the experiments are the first answer. A full
run judges each claim about such cells with every answer, one question at a time: the claim agrees
or differs with all of them, or the publication does not identify it
(:func:`slowstart.studies.claims.over_points`). Readings that give an answer in the same words give
it together: the cells of each change at once, each by its own part of a scenario.

.. code-block:: toml

    [[reading]]
    name = "after-the-jump"
    about = "The slides call the modification slight, and do not describe it."
    answer = "congestion avoidance follows the jump"
    cells = { scheme = "Jump-Start" }
    [reading.further]
    "slow start follows the jump" = { traffic = { algorithm = "cubic+jump-start:cap=65535" } }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.files import Node, Scalar


@dataclass(frozen=True)
class Reading:
    """An open question, and its answers."""

    name: str
    about: str
    """What the publication says, and what it does not."""
    answer: str
    """The answer of the experiments' own scenarios, in a few words."""
    cells: Mapping[str | None, Mapping[str, Sequence[Scalar]]]
    """The labels of the cells that it is about, by experiment; with ``None``, in every experiment
    that has such axes."""
    further: Mapping[str, Mapping[str, Any]]
    """The other answers: words, and the part of a scenario that they change."""
    node: Node

    def is_about(self, experiment: str, labels: Mapping[str, Scalar]) -> bool:
        """Whether a cell with these labels depends on the answer."""
        cells = self.cells.get(experiment, self.cells.get(None))
        return cells is not None and all(
            axis in labels and labels[axis] in values for axis, values in cells.items()
        )


def read_readings(root: Node) -> tuple[Reading, ...]:
    """Reads ``[[reading]]``.

    Raises:
        InputError: With file and line.
    """
    found: list[Reading] = []
    for node in root.tables("reading"):
        node.only("name", "about", "answer", "experiments", "cells", "further")
        node.need("name", "about", "answer", "further")
        name = node.text("name")
        if any(each.name == name for each in found):
            raise node.refuse(f"there are two readings {name}", "name")
        labels, further = node.table("cells"), node.table("further")
        if not further.value:
            raise node.refuse("a reading needs at least one further answer", "further")
        patches = {words: further.table(words).value for words in further.value}
        found.append(
            Reading(
                name,
                node.text("about"),
                node.text("answer"),
                _cells(node, labels),
                patches,
                node,
            )
        )
    return tuple(found)


def _cells(node: Node, labels: Node) -> dict[str | None, dict[str, tuple[Scalar, ...]]]:
    """The cells of a reading: the same in each of its experiments, or a table for each."""
    by_experiment = [name for name in labels.value if isinstance(labels.value[name], dict)]
    if by_experiment and len(by_experiment) < len(labels.value):
        raise node.refuse("cells: expected labels, or a table of labels by experiment", "cells")
    if by_experiment and node.has("experiments"):
        raise node.refuse("cells names the experiments: leave out experiments", "experiments")

    def read(table: Node) -> dict[str, tuple[Scalar, ...]]:
        values = table.value.items()
        return {axis: tuple(each if isinstance(each, list) else [each]) for axis, each in values}

    if by_experiment:
        return {name: read(labels.table(name)) for name in by_experiment}
    named: Sequence[str | None] = node.texts("experiments") or [None]
    return {name: read(labels) for name in named}


def answers_of(readings: Sequence[Reading]) -> list[str]:
    """The words of all further answers, each once."""
    return list(dict.fromkeys(words for each in readings for words in each.further))


def points_of(readings: Sequence[Reading], networks: int) -> list[str]:
    """The words of the points at which claims are judged: of ``networks``, then of each answer."""
    return [
        *(f"point {number + 2} of the allowed set" for number in range(networks)),
        *answers_of(readings),
    ]
