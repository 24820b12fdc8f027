"""Readings: what a publication leaves open about an algorithm or a workload.

A ``[[reading]]`` of ``study.toml`` is one open question: the experiments and the cells that it is
about (all, if it does not say), and further answers to it, each a partial scenario that replaces
the cells' own. The scenarios of the experiments are the first answer. A full run judges each claim
about such cells with every answer, one question at a time: the claim agrees or differs with all of
them, or the publication does not identify it (:func:`slowstart.studies.claims.over_points`).
Readings that give an answer in the same words give it together: the cells of each change at once,
each by its own part of a scenario.

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
    experiments: Sequence[str]
    """The experiments that it is about; all if empty."""
    cells: Mapping[str, Sequence[Scalar]]
    """The labels of the cells that it is about; an experiment without such an axis has none."""
    further: Mapping[str, Mapping[str, Any]]
    """The other answers: words, and the part of a scenario that they change."""
    node: Node

    def is_about(self, experiment: str, labels: Mapping[str, Scalar]) -> bool:
        """Whether a cell with these labels depends on the answer."""
        return (not self.experiments or experiment in self.experiments) and all(
            axis in labels and labels[axis] in values for axis, values in self.cells.items()
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
        cells = {
            axis: tuple(value if isinstance(value, list) else [value])
            for axis, value in labels.value.items()
        }
        patches = {words: further.table(words).value for words in further.value}
        found.append(
            Reading(
                name,
                node.text("about"),
                node.text("answer"),
                node.texts("experiments"),
                cells,
                patches,
                node,
            )
        )
    return tuple(found)


def answers_of(readings: Sequence[Reading]) -> list[str]:
    """The words of all further answers, each once."""
    return list(dict.fromkeys(words for each in readings for words in each.further))


def points_of(readings: Sequence[Reading], networks: int) -> list[str]:
    """The words of the points at which claims are judged: of ``networks``, then of each answer."""
    return [
        *(f"point {number + 2} of the allowed set" for number in range(networks)),
        *answers_of(readings),
    ]
