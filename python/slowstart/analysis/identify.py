"""Names the start-up of captured connections.

A capture shows what a sender did, and :mod:`slowstart.analysis.likelihood` how probable each
start-up is. Start-ups that leave the same packets on the path of the capture are named together.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart._native import algorithms, analyze_file, compare_file
from slowstart.analysis import likelihood
from slowstart.errors import InputError
from slowstart.report import tables

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

HEADS = ("start-up", "probability", "initial window", "sending", "left slow start")
# Start-ups that no capture of one connection can show: they need routers, an earlier connection or
# knowledge of the path; or they count ACKs in another way, which is an option and no start-up.
_UNMET = {"routers", "memory", "known-path"}
_OPTIONS = {"abc"}
# Congestion controls whose start-up is their own.
_WHOLE = ("bbr", "bbr3", "bbrp")
_AVOIDANCES = ("hybla+standard", "vegas+standard")
# Congestion avoidance says little in the few round trips that are compared.
_AVOIDANCE = "cubic"
# More probable ones are not distinguished.
_SURE, _LEAST_SHOWN = 0.99, 0.001
# What most servers use comes first in a set.
_USUAL = ("standard", "hystart", "hystart++", "bbr", "bbr3", "search")
# Less probable sets are not shown.
_SHOWN = 0.01
# Flights that never exceed so many segments show no growth: the sender was idle, or a capture at an
# unknown place saw data and ACKs together.
_NO_GROWTH = 4
# Less than this part of a segment is none.
_PART = 0.05
MOST = 50
"""Connections of one server that are compared, at most."""


def candidates() -> list[str]:
    """The algorithms that are compared."""
    found = [each for each in algorithms() if each["kind"] == "start-up"]
    names = [
        f"{_AVOIDANCE}+{each['name']}"
        for each in found
        if _UNMET.isdisjoint(each["needs"]) and each["name"] not in _OPTIONS
    ]
    return [*names, *_AVOIDANCES, *_WHOLE]


def start_up(algorithm: str) -> str:
    """The name of an algorithm's start-up: the whole name, where the rest decides it, too.

    >>> start_up("cubic+hystart"), start_up("hybla+standard"), start_up("bbr")
    ('hystart', 'hybla', 'bbr')
    """
    avoidance, _, name = algorithm.partition("+")
    if not name:
        # The default of Linux.
        return "hystart" if avoidance == _AVOIDANCE else avoidance
    return avoidance if algorithm in _AVOIDANCES else name


@dataclass(frozen=True)
class Candidate:
    """Start-ups that leave the same packets on this path, and how probable they are together."""

    names: tuple[str, ...]
    """What most servers use comes first."""
    probability: float
    initial_window: int
    """In segments."""
    paced: bool
    exit: dict[str, Any] | None
    """Where it leaves slow start on the captured ACKs: time, window, reason and evidence."""

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "names": list(self.names),
            "probability": self.probability,
            "initial_window_segments": self.initial_window,
            "paced": self.paced,
            "exit": self.exit,
        }


@dataclass(frozen=True)
class Identification:
    """The likeliest start-ups of one connection, or of several of one server."""

    connections: tuple[int, ...]
    """Their numbers in the file."""
    candidates: tuple[Candidate, ...]
    """Sets of start-ups, the most probable first."""
    none_of_these: float
    """Probability that it was another start-up."""
    moments: int
    """Moments that were compared."""
    why: str | None
    """Why the capture cannot tell; None if it can."""
    unlike: tuple[tuple[str, str], ...] = ()
    """Senders of connections that by themselves exclude the most probable set, with what each
    resembles.
    """

    @property
    def best(self) -> Candidate | None:
        """The most probable set; None if the capture cannot tell, or another is more probable."""
        if self.why is not None or self.none_of_these > self.candidates[0].probability:
            return None
        return self.candidates[0]

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "connections": list(self.connections),
            "candidates": [each.document() for each in self.candidates],
            "none_of_these": self.none_of_these,
            "moments": self.moments,
            "why": self.why,
            "unlike": [{"sender": sender, "nearest": name} for sender, name in self.unlike],
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """The answer in a sentence or two."""
        if self.why is not None:
            return f"The capture cannot tell which start-up it was: {self.why}."
        best = self.best
        if best is None:
            return (
                f"It was probably none of these start-ups ({percent(self.none_of_these)}); "
                f"the nearest is {self.candidates[0].names[0]}."
            )
        text = f"The start-up was {listed(best.names)} ({percent(best.probability)})"
        text += f", with an initial window of {best.initial_window} segments, "
        text += "paced" if best.paced else "not paced"
        if len(best.names) > 1:
            text += "; these leave the same packets on this path"
        text = f"{text}. {_left(best, 'It left', 'It had not left')}"
        if self.unlike:
            others = ", ".join(f"{sender} ({name})" for sender, name in self.unlike)
            text += f" By themselves, these connections look like another start-up: {others}."
        return text

    def rows(self) -> list[list[str]]:
        """Rows of :data:`HEADS`."""
        made = [
            [
                ", ".join(each.names),
                _bounded(each.probability),
                str(each.initial_window),
                "paced" if each.paced else "bursts",
                "no"
                if each.exit is None
                else f"{tables.seconds(each.exit['time_s'])}, {each.exit['evidence']}",
            ]
            for each in self.candidates
            if each.probability >= _SHOWN
        ]
        if self.candidates:
            made.append(["none of these", _bounded(self.none_of_these), "-", "-", "-"])
        return made


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _left(best: Candidate, left: str, stayed: str) -> str:
    if best.exit is None:
        return f"{stayed} slow start by itself when the comparison ended."
    return (
        f"{left} slow start after {best.exit['time_s']:.3g} s with a window of "
        f"{best.exit['cwnd_bytes'] / 1e3:.4g} kB ({best.exit['evidence']})."
    )


def judge(
    connections: Sequence[dict[str, Any]],
    comparisons: Sequence[dict[str, Any]],
    *,
    fault: float = 0.0,
) -> Identification:
    """Identifies the start-up of connections that have the same one.

    Args:
        connections: Connections of a report.
        comparisons: Those of :func:`slowstart._native.compare_file` for the same connections.
        fault: Probability that a connection shows something else than its sender's start-up, so
            that it says nothing.

    Returns:
        The most probable start-ups.
    """
    numbers = tuple(each["number"] for each in connections)
    usable = []
    why = "it has no connection"
    for connection, comparison in zip(connections, comparisons, strict=True):
        found = likelihood.fits(comparison) if comparison["why"] is None else []
        moments = len(found[0].in_flight) if found else 0
        if comparison["why"] is not None:
            why = comparison["why"]
        elif moments < likelihood.LEAST:
            why = _too_short(connection, comparison)
        elif (why_not := _hidden(comparison)) is not None:
            why = why_not
        else:
            usable.append((connection, comparison, found, moments))
    if not usable:
        return Identification(numbers, (), 0.0, 0, why)
    every = [{each.algorithm for each in found} for _, _, found, _ in usable]
    names = [each.algorithm for each in usable[0][2] if all(each.algorithm in one for one in every)]
    logs = np.zeros(len(names) + 1)
    alone = []
    for connection, _, found, moments in usable:
        place = likelihood.place(connection["vantage"])
        by_name = {each.algorithm: each.surprise for each in found}
        weights, none = likelihood.probabilities(
            [by_name[name] for name in names], moments, likelihood.CONSTANTS[place]
        )
        each = np.array([*weights, none])
        alone.append((connection["sender"], each))
        # What it says is its weights over those before the capture.
        before = likelihood.before(len(names))
        shown = (1 - fault) * each / before + fault
        logs += np.log(np.maximum(shown, 1e-300))
    logs += np.log(likelihood.before(len(names)))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    made = _sets(names, weights[:-1], usable)
    total = sum(each[3] for each in usable)
    unlike = tuple(_unlike(made[0], names, alone))
    return Identification(numbers, tuple(made), float(weights[-1]), total, None, unlike)


def _unlike(
    best: Candidate, names: Sequence[str], alone: Sequence[tuple[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Connections that exclude the common answer, with what each resembles most."""
    words = [*(start_up(name) for name in names), "none of these"]
    for sender, weights in alone:
        chosen = sum(
            weight for word, weight in zip(words, weights, strict=True) if word in best.names
        )
        if chosen < 1 - _SURE:
            yield sender, words[int(np.argmax(weights))]


def _hidden(comparison: dict[str, Any]) -> str | None:
    """Why a comparison shows no growth; None if it does."""
    flights = [each["in_flight_bytes"] for each in comparison["moments"] if each["counts"]]
    if max(flights) <= _NO_GROWTH * comparison["segment_bytes"]:
        return f"never more than {_NO_GROWTH} segments were in flight where the capture was made"
    return None


def _ordered(algorithms: Sequence[str]) -> tuple[str, ...]:
    names = dict.fromkeys(start_up(each) for each in algorithms)
    first = [each for each in _USUAL if each in names]
    return (*first, *(each for each in names if each not in first))


def _too_short(connection: dict[str, Any], comparison: dict[str, Any]) -> str:
    reason = connection["verdict"]["reason"]
    idle = sum(not each["counts"] for each in comparison["moments"])
    if reason == "receiver-limited":
        return "the receive window held the sender back before its start-up showed itself"
    if reason == "application-limited" or idle >= likelihood.LEAST:
        return "the application held the sender back before its start-up showed itself"
    return "fewer than two round trips show how its window grew"


def percent(probability: float) -> str:
    """A probability; never "100 %", because other start-ups are always possible."""
    return "more than 99 %" if probability > _SURE else f"{100 * probability:.0f} %"


def _bounded(probability: float) -> str:
    """The same in a table."""
    if probability < _LEAST_SHOWN:
        return "< 0.1 %"
    return "> 99.9 %" if probability > 1 - _LEAST_SHOWN else f"{100 * probability:.1f} %"


def _sets(names: list[str], weights: Any, usable: list[Any]) -> list[Candidate]:
    """Start-ups that leave the same packets in all connections, together."""
    order = [names[place] for place in np.argsort(-weights, kind="stable")]
    probability = dict(zip(names, (float(each) for each in weights), strict=True))
    fitted = [
        (
            {each.algorithm: each for each in found},
            comparison["segment_bytes"],
            likelihood.CONSTANTS[likelihood.place(connection["vantage"])],
        )
        for connection, comparison, found, _ in usable
    ]
    made = []
    while order:
        first = order[0]
        same = [
            name
            for name in order
            if all(likelihood.is_same(each[first], each[name], *how) for each, *how in fitted)
        ]
        order = [name for name in order if name not in same]
        one, segment = fitted[0][0][first], fitted[0][1]
        made.append(Candidate(
            _ordered(same),
            sum(probability[name] for name in same),
            # Servers of HTTP write a short segment first.
            math.ceil(usable[0][1]["first_flight_bytes"] / segment - _PART),
            one.paced,
            one.exit,
        ))  # fmt: skip
    return sorted(made, key=lambda each: -each.probability)


def by_server(connections: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The connections of each sending host, in the order of the first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in connections:
        host = each["sender"].rpartition(":")[0] or each["sender"]
        groups.setdefault((each.get("file", ""), host), []).append(each)
    return list(groups.values())


def identify(
    file: str | os.PathLike[str], connections: Sequence[dict[str, Any]] | None = None
) -> list[Identification]:
    """Identifies the start-up of the servers of a capture.

    >>> import slowstart
    >>> from slowstart._native import write_capture
    >>> scenario = slowstart.compare("wired", ["cubic+suss"], size="2 MB", runs=1)[0]
    >>> _ = write_capture(scenario, "suss.pcapng", run=0, vantages=["sender"])
    >>> identify("suss.pcapng")[0].candidates[0].names
    ('suss',)

    Args:
        file: A capture, best made at the sender.
        connections: Those to identify, as its report has them; all by default.

    Returns:
        One identification for each host that sent data. Connections of one host count together,
        at most :data:`MOST` with the most data.

    Raises:
        InputError: The file cannot be read, or it has no connection.
    """
    if connections is None:
        connections = json.loads(analyze_file(file))["connections"]
    if not connections:
        raise InputError(f"{file}: there is no connection to identify")
    made = []
    for group in by_server(connections):
        group.sort(key=lambda each: -each["bytes"])
        chosen = sorted(group[:MOST], key=lambda each: each["number"])
        numbers = [each["number"] for each in chosen]
        found = json.loads(compare_file(file, numbers=numbers, algorithms=candidates()))
        by_number = {each["number"]: each for each in found}
        made.append(judge(chosen, [by_number[number] for number in numbers]))
    return made
