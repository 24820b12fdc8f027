"""Labels of algorithms: names of one's own in tables, figures, reports and results.

A label is the name of a flow. A flow that its scenario does not name is named after its algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowstart._native import Scenario
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def split(given: Sequence[str]) -> tuple[list[str], list[str | None]]:
    """Splits algorithms that may have a label into algorithms and labels.

    In ``Ours=cubic+search:threshold=30`` the label stands before the first ``=``. An equals sign
    behind a colon belongs to an option.

    Raises:
        InputError: A label is empty or given twice.
    """
    algorithms: list[str] = []
    labels: list[str | None] = []
    for each in given:
        before, equals, after = each.partition("=")
        if not equals or ":" in before:
            algorithms.append(each)
            labels.append(None)
            continue
        label = before.strip()
        check(label, each)
        if label in labels:
            raise InputError(f"the label {label} is given twice: give each algorithm its own")
        algorithms.append(after.strip())
        labels.append(label)
    return algorithms, labels


def check(label: object, given: str) -> None:
    """Rejects what is not a label.

    Raises:
        InputError: It is empty, or no text.
    """
    if not isinstance(label, str) or not label.strip() or not label.isprintable():
        shown = " ".join(given.split())
        raise InputError(f"`{shown}` has an empty label: write LABEL=ALGORITHM")


def canonical(algorithm: str) -> str:
    """The canonical form of an algorithm, which names its flows.

    Raises:
        InputError: There is no such algorithm.
    """
    (made,) = Scenario.compare(
        "wired", [algorithm], size="1 kB", runs=1, seed=1, initial_window=10, flows=1
    )
    return made.flows[0]


def names(algorithms: Sequence[str], labels: Sequence[str | None]) -> dict[str, str]:
    """The label of each labelled algorithm, by its canonical name.

    Raises:
        InputError: A label is the name of another algorithm in the comparison.
    """
    found = {}
    for algorithm, label in zip(algorithms, labels, strict=True):
        if label is None or label == algorithm:
            continue
        if label in algorithms:
            raise InputError(f"the label {label} of {algorithm} is another algorithm's name")
        found[algorithm] = label
    return found


def by_name(labels: Mapping[str, str], known: Iterable[str]) -> dict[str, str]:
    """The label of each algorithm by its canonical name, from algorithms by their labels.

    Args:
        labels: Such as ``{"Ours": "cubic+search:threshold=30"}``.
        known: The canonical names that may have a label.

    Raises:
        InputError: A label is empty, two are of one algorithm, or its algorithm is not there.
    """
    there = list(dict.fromkeys(known))
    given: dict[str, str] = {}
    for label, algorithm in labels.items():
        if not isinstance(algorithm, str):
            raise InputError(f"the label {label} is of {algorithm!r}, which is not an algorithm")
        check(label, f"{label}={algorithm}")
        name = canonical(algorithm)
        if name not in there:
            raise InputError(
                f"the label {label} is of {name}, which does not run (these do: {', '.join(there)})"
            )
        if name in given:
            raise InputError(f"{name} has two labels, {given[name]} and {label}")
        given[name] = label
    return names(there, [given.get(each) for each in there])


def shortened(names: Sequence[str], most: int = 26) -> dict[str, str]:
    """A name of at most about ``most`` letters for each, for titles of panels.

    A longer name loses its options. Where several names are then the same, the shortened ones have
    their numbers among all ``names``.
    """
    found = {name: displayed(name) for name in names}
    for place, (name, words) in enumerate(list(found.items()), 1):
        if len(words) <= most or ":" not in words:
            continue
        base = "+".join(_without_options(part) for part in words.split("+"))
        same = [
            each for each in map(displayed, names) if each == base or each.startswith(f"{base}:")
        ]
        found[name] = base if len(same) < 2 else f"{base} ({place})"
    return found


def _without_options(part: str) -> str:
    """A part of an algorithm without its options; of a class module and name remain."""
    name, _, rest = part.partition(":")
    word = rest.partition(":")[0]
    return f"{name}:{word}" if word.isidentifier() else name


def displayed(name: str) -> str:
    """A name in a figure: of a class that a notebook defines without its module, ``__main__``.

    Matplotlib also leaves labels that begin with an underscore out of legends.
    """
    return name.replace("__main__:", "")


def labelled(scenarios: Sequence[Scenario], labels: Mapping[str, str]) -> list[Scenario]:
    """The scenarios with labels in place of the flow names that are the keys of ``labels``."""
    if not labels:
        return list(scenarios)

    def own(scenario: Scenario) -> dict[str, str]:
        return {flow: labels[flow] for flow in scenario.flows if flow in labels}

    return [each.with_names(flows=own(each)) for each in scenarios]


def meanings(labels: Mapping[str, str]) -> list[str]:
    """A sentence that says which algorithm each label stands for; none without labels."""
    if not labels:
        return []
    words = ", ".join(f"{label} is {algorithm}" for algorithm, label in labels.items())
    return [f"Labels: {words}."]
