"""The path that a captured connection shows, what its exit cost, and what others do on it.

Each :mod:`situation <slowstart.analysis.situation>` is simulated with a few senders. Those that
complete the transfer in the time of the real connection within :data:`REFUSES` are the fit, the
nearest first. The cost of the exit is, as everywhere in slowstart, the completion time less that of
the same transfer with an ideal exit (``cubic+oracle``), here on the fitted path. Its interval is
the range over the fits, and over the real and the simulated completion. A path that the flow never
filled may be faster by any factor: there the cost lies between that on the fitted path and that on
an unlimited one, and is given as their middle. A fit that does not repeat the connection predicts
nothing.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart._native import Scenario, algorithms, analyze_simulated
from slowstart.analysis.situation import Situation, situations
from slowstart.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterable

REFUSES = 0.1
"""Relative error of the completion beyond which a fit predicts nothing."""
# A larger transfer would be simulated for too long, and its start-up matters little.
_LARGEST = 200_000_000
# An interval wider than this part of the completion gives no cost.
_WIDE = 0.3
# Fits that are kept, and how much farther than the best they may be.
_KEPT, _FARTHER = 5, 0.15
# The default of Linux, Windows and macOS. A short transfer does not tell Reno from it, and after an
# ideal exit both differ much.
_AVOIDANCE = "cubic"
_KNOWN = "slowstart.analysis.known_window:KnownWindow:cwnd="
_VANTAGES = ("sender", "receiver", "middle")
# Needs that a path without explicit router support and an earlier connection does not meet.
_UNMET = {"known-path", "routers", "memory"}


@dataclass(frozen=True)
class Outcome:
    """A flow: its seconds, its exit (seconds, bytes, reason), its retransmissions.

    ``duration_s`` is the time from its first data to the last ACK. ``completion_s`` is that from
    its SYN to the last byte at the receiving application in a simulation, and the same as
    ``duration_s`` in a capture.
    """

    duration_s: float
    completion_s: float
    exit: tuple[float, int, str] | None
    retransmissions: int
    rtt_ms: float | None = None
    queue_ms: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A situation with a sender: what it does there, and how far that is from the real flow."""

    situation: Situation
    sender: str
    simulated: Outcome
    distance: float

    def error(self, real: Outcome) -> float:
        """Relative error of the completion."""
        return self.simulated.duration_s / max(real.duration_s, 1e-9) - 1


@dataclass(frozen=True)
class Difference:
    """Seconds with the interval that the fits allow."""

    seconds: float
    low: float
    high: float

    @staticmethod
    def over(values: Iterable[float], more: Iterable[float] = ()) -> Difference:
        """The first value, and the range of all."""
        listed = list(values)
        every = [*listed, *more]
        return Difference(listed[0], min(every), max(every))

    def document(self) -> dict[str, float]:
        """For ``--json``."""
        return {"seconds": self.seconds, "low_s": self.low, "high_s": self.high}


@dataclass(frozen=True)
class Fit:
    """The fits of a connection, the nearest first; the real outcome, and where it was captured."""

    candidates: tuple[Candidate, ...]
    real: Outcome
    vantage: str

    @property
    def best(self) -> Candidate:
        """The nearest."""
        return self.candidates[0]

    @property
    def error(self) -> float:
        """Relative error of the completion of the nearest fit."""
        return self.best.error(self.real)

    @property
    def predicts(self) -> bool:
        """Whether the fit repeats the connection."""
        return abs(self.error) <= REFUSES

    def toml(self, source: str) -> str:
        """The scenario as a file."""
        best = self.best
        notes = "".join(f"# {each}\n" for each in best.situation.notes)
        return (
            f"# A model: the path that a connection of {source} showed.\n"
            f"# {sentence(self)}\n{notes}"
            f'name = "fitted"\nruns = 1\n\n[path]\n{best.situation.path}\n'
            f'[[flow]]\nalgorithm = "{best.sender}"\n{best.situation.flow}'
        )

    def errors(self) -> dict[str, float | None]:
        """Relative errors of the simulated flow, and the exit's time in seconds."""
        real, made = self.real, self.best.simulated
        errors: dict[str, float | None] = {
            "duration": self.error, "exit_time_s": None, "exit_window": None,
            "retransmissions": float(made.retransmissions - real.retransmissions),
        }  # fmt: skip
        if real.exit is not None and made.exit is not None:
            errors["exit_time_s"] = made.exit[0] - real.exit[0]
            errors["exit_window"] = made.exit[1] / max(real.exit[1], 1) - 1
        return errors

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        best = self.best
        return {
            "predicts": self.predicts, "errors": self.errors(), "sender": best.sender,
            "real": self.real.__dict__, "simulated": best.simulated.__dict__,
            "notes": list(best.situation.notes), "fits": len(self.candidates),
            "path": best.situation.path, "flow": best.situation.flow,
        }  # fmt: skip


def _outcome(connection: dict[str, Any], completion_s: float | None = None) -> Outcome:
    verdict = connection["verdict"]
    found = verdict["exit"]
    left = None if found is None else (found["time_s"], found["cwnd_bytes"], verdict["reason"])
    rtt, goodput = connection["rtt_ms"], connection["goodput_bps"]
    active = connection["bytes"] * 8 / goodput if goodput else connection["duration_s"]
    return Outcome(
        duration_s=active,
        completion_s=active if completion_s is None else completion_s,
        exit=left,
        retransmissions=connection["retransmissions"]["segments"],
        rtt_ms=None if rtt is None else rtt[1],
        queue_ms=None if rtt is None else rtt[2] - rtt[0],
    )


def _simulated(text: str, vantage: str) -> Outcome:
    pairs = json.loads(analyze_simulated(Scenario.from_toml(text), run=0, vantage=vantage))
    found, truth = pairs[0]["found"], pairs[0]["truth"]
    if found is None or truth["fct_s"] is None:
        raise InputError("the fitted path does not complete the transfer")
    return _outcome(found, truth["fct_s"])


def _on(situation: Situation, sender: str, vantage: str) -> Outcome:
    flow = situation.flow
    text = f'runs = 1\n[path]\n{situation.path}[[flow]]\nalgorithm = "{sender}"\n{flow}'
    return _simulated(text, vantage)


def _senders(connection: dict[str, Any]) -> list[str]:
    """Senders that may leave slow start where the real one did."""
    verdict = connection["verdict"]
    found = verdict["exit"]
    if found is not None and verdict["reason"] == "heuristic":
        names = [f"{_AVOIDANCE}+{_KNOWN}{found['cwnd_bytes']}"]
    else:
        names = [f"{_AVOIDANCE}+standard"]
    if connection["limits"]["pacing_s"] > 0:
        names.append("bbr")
    if found is None:
        # A window that the sender never filled hides the exit of the usual start-up.
        names.append("cubic")
    return names


def fit(connection: dict[str, Any]) -> Fit:
    """Fits paths to an analyzed connection with a series.

    Raises:
        InputError: The connection is encrypted, or shows no RTT or no delivery rate.
    """
    if connection["encrypted"]:
        raise InputError(f"connection {connection['number']} is encrypted: only TCP is simulated")
    if connection["bytes"] > _LARGEST:
        raise InputError(
            f"connection {connection['number']} has more than {_LARGEST // 10**6} MB: it is not "
            "simulated"
        )
    real = _outcome(connection)
    vantage = connection["vantage"] if connection["vantage"] in _VANTAGES else "sender"
    made = []
    for situation in situations(connection):
        for sender in _senders(connection):
            try:
                outcome = _on(situation, sender, vantage)
            except (InputError, RunError):
                continue
            made.append(Candidate(situation, sender, outcome, _distance(real, outcome)))
    if not made:
        raise InputError(
            f"connection {connection['number']}: no fitted path completes the transfer"
        )
    made.sort(key=lambda each: each.distance)
    kept = [
        each
        for each in made
        if each.distance <= made[0].distance + _FARTHER and abs(each.error(real)) <= REFUSES
    ]
    return Fit(tuple(kept[:_KEPT]) or (made[0],), real, vantage)


def _distance(real: Outcome, made: Outcome) -> float:
    """How far a simulated flow is from the real one; 0 if both are the same."""
    # The completion counts most: it is what the fit predicts.
    total = 3 * abs(math.log(max(made.duration_s, 1e-6) / max(real.duration_s, 1e-6)))
    if real.rtt_ms and made.rtt_ms:
        total += abs(math.log(made.rtt_ms / real.rtt_ms))
    total += 0.1 * abs(math.log((made.retransmissions + 1) / (real.retransmissions + 1)))
    if real.exit is not None and made.exit is not None:
        total += 0.2 * min(abs(math.log(max(made.exit[0], 1e-6) / max(real.exit[0], 1e-6))), 2.0)
    elif (real.exit is None) != (made.exit is None):
        total += 0.2
    return total


IDEAL = f"{_AVOIDANCE}+oracle"
"""The reference of every cost; that of a monolithic congestion control is CUBIC's, too."""


@dataclass(frozen=True)
class Cost:
    """What an exit cost, or why it is unknown."""

    difference: Difference | None
    why: str | None

    def document(self) -> dict[str, Any]:
        """For ``--json``; ``seconds`` is null if it is unknown."""
        made = self.difference
        keys = made.document() if made else {"seconds": None, "low_s": None, "high_s": None}
        return {**keys, "seconds": None if self.why else keys["seconds"], "why": self.why}


def cost(found: Fit) -> Cost:
    """What the exit cost, in seconds."""
    if not found.predicts:
        return Cost(None, f"the fitted path completes with an error of {100 * found.error:+.0f} %")
    values = []
    for each in found.candidates:
        taken = each.simulated.completion_s
        try:
            ideal = _on(each.situation, IDEAL, found.vantage)
            # What nothing shows to be full may be faster by any factor.
            free = None if each.situation.filled else each.situation.unlimited()
            best = ideal if free is None else _on(free, IDEAL, found.vantage)
        except (InputError, RunError):
            continue
        low, high = taken - ideal.completion_s, taken - best.completion_s
        real = found.real.duration_s - ideal.duration_s
        values.append(((low + high) / 2, min(low, real), max(high, real)))
    if not values:
        return Cost(None, "no fitted path completes the transfer with an ideal exit")
    made = Difference(
        values[0][0], min(low for _, low, _ in values), max(high for *_, high in values)
    )
    is_wide = made.high - made.low > _WIDE * found.real.duration_s
    return Cost(made, "the fitted paths leave a wide interval" if is_wide else None)


@dataclass(frozen=True)
class Answer:
    """What an algorithm does on the fitted path, and how much longer it takes than the sender."""

    algorithm: str
    outcome: Outcome
    difference: Difference
    by_replay: bool
    """Whether the captured ACKs decided when it leaves slow start."""

    @property
    def sign(self) -> int:
        """-1 if it is faster than the sender, 1 if slower, 0 if the interval has both."""
        return (self.difference.low > 0) - (self.difference.high < 0)

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"sign": self.sign, "by_replay": self.by_replay,
                "algorithm": self.algorithm, "outcome": self.outcome.__dict__,
                "difference": self.difference.document()}  # fmt: skip


def start_ups() -> list[str]:
    """Every start-up that needs neither routers nor an earlier connection, with CUBIC."""
    found = [each for each in algorithms() if each["kind"] == "start-up"]
    return [f"cubic+{each['name']}" for each in found if _UNMET.isdisjoint(each["needs"])]


def stand_in(algorithm: str, replay: dict[str, Any]) -> str:
    """The sender that repeats on a fitted path what the captured ACKs made a start-up decide.

    The ACKs have the delays of the real path, which the fitted one does not: where they decide,
    they count. Otherwise it is the algorithm itself.
    """
    avoidance = algorithm.split("+", maxsplit=1)[0]
    if replay["end"] == "exit":
        return f"{avoidance}+{_KNOWN}{replay['cwnd_bytes']}"
    return f"{avoidance}+standard" if replay["end"] == "congestion" else algorithm


def answer(found: Fit, algorithm: str, replay: dict[str, Any]) -> Answer | None:
    """Runs an algorithm and the sender on the fitted paths; ``None`` if the fit is too bad.

    ``replay`` is what the captured ACKs say of the algorithm.

    Raises:
        InputError: The algorithm is unknown.
    """
    if not found.predicts:
        return None
    outcomes, values, every = [], [], []
    sender = stand_in(algorithm, replay)
    for each in found.candidates:
        other = _on(each.situation, sender, found.vantage)
        outcomes.append(other)
        change = other.completion_s - each.simulated.completion_s
        free = change
        if not each.situation.filled:
            fast = each.situation.unlimited()
            free = _on(fast, sender, found.vantage).completion_s
            free -= _on(fast, each.sender, found.vantage).completion_s
        values.append((change + free) / 2)
        every += [change, free]
    by_replay = sender != algorithm
    return Answer(algorithm, outcomes[0], Difference.over(values, every), by_replay=by_replay)


def sentence(found: Fit) -> str:
    """The errors of the fit in one sentence."""
    errors = found.errors()
    parts = [f"completion {100 * found.error:+.1f} %"]
    if errors["exit_time_s"] is not None and errors["exit_window"] is not None:
        parts.append(f"exit {1e3 * errors['exit_time_s']:+.0f} ms")
        parts.append(f"exit window {100 * errors['exit_window']:+.1f} %")
    elif (found.real.exit is None) != (found.best.simulated.exit is None):
        parts.append("only one of both leaves slow start")
    parts.append(f"retransmissions {errors['retransmissions']:+.0f}")
    text = f"Error of the fitted path on this connection: {', '.join(parts)}."
    if not found.predicts:
        text += f" Beyond {100 * REFUSES:.0f} % of the completion, it predicts nothing."
    return text
