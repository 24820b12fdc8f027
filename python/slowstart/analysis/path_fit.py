"""The path that a captured connection shows, as a scenario, and what other start-ups do on it.

The fit has four numbers: rate, smallest RTT, buffer and random loss. The real flow itself judges
it: the scenario is simulated with each of a few likely senders, and the one whose duration, exit
and retransmissions come nearest is kept, with its errors.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from slowstart._native import Scenario, analyze_simulated
from slowstart.errors import InputError

# IP and TCP headers with timestamps.
HEADERS = 52
# Senders that are tried; the first is Linux's default.
SENDERS = ("cubic", "cubic+standard", "bbr")
# The buffer of a flow that never filled it, in BDPs, at least.
_LEAST_BUFFER = 1.0
# Beyond this difference in the part of the time that pacing takes, the sender is of another kind.
_PACES, _OTHER_KIND = 0.15, 2.0
_VANTAGES = ("sender", "receiver", "middle")
# Below this ratio of the largest to the smallest RTT, losses are no overflow.
_NO_QUEUE = 1.25


@dataclass(frozen=True)
class Outcome:
    """A flow: its seconds, its exit (seconds, bytes, reason), its retransmissions.

    ``rtt_ms`` is its mean RTT, and ``paced`` the part of its time in which it waited between ACKs:
    both tell senders by the rate from senders by the window.
    """

    duration_s: float
    exit: tuple[float, int, str] | None
    retransmissions: int
    rtt_ms: float | None = None
    paced: float = 0.0


@dataclass(frozen=True)
class Fit:
    """A fitted path: the keys of its table, the flow's keys, the sender, and both outcomes."""

    path: str
    flow: str
    sender: str
    real: Outcome
    simulated: Outcome
    notes: list[str]
    # Where the real flow was captured; the simulated one is captured there, too.
    vantage: str = "sender"

    def toml(self, source: str) -> str:
        """The scenario as a file."""
        notes = "".join(f"# {each}\n" for each in self.notes)
        return (
            f"# A model: the path that a connection of {source} showed.\n{notes}"
            f'name = "fitted"\nruns = 1\n\n[path]\n{self.path}\n'
            f'[[flow]]\nalgorithm = "{self.sender}"\n{self.flow}'
        )

    def errors(self) -> dict[str, float | None]:
        """Relative errors of the simulated flow, and the exit's time in seconds."""
        real, made = self.real, self.simulated
        both = real.exit is not None and made.exit is not None
        return {
            "duration": made.duration_s / real.duration_s - 1,
            "exit_time_s": made.exit[0] - real.exit[0] if both else None,  # type: ignore[index]
            "exit_window": made.exit[1] / real.exit[1] - 1 if both else None,  # type: ignore[index]
            "retransmissions": float(made.retransmissions - real.retransmissions),
        }

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"sender": self.sender, "errors": self.errors(), "real": self.real.__dict__,
                "simulated": self.simulated.__dict__, "notes": self.notes}  # fmt: skip


def _outcome(connection: dict[str, Any]) -> Outcome:
    verdict = connection["verdict"]
    found = verdict["exit"]
    left = None if found is None else (found["time_s"], found["cwnd_bytes"], verdict["reason"])
    limits, rtt = connection["limits"], connection["rtt_ms"]
    paced = limits["pacing_s"] / max(limits["pacing_s"] + limits["congestion_window_s"], 1e-9)
    return Outcome(
        connection["duration_s"], left, connection["retransmissions"]["segments"],
        None if rtt is None else rtt[1], paced,
    )  # fmt: skip


def _simulated(text: str, vantage: str) -> Outcome:
    pairs = json.loads(analyze_simulated(Scenario.from_toml(text), run=0, vantage=vantage))
    if pairs[0]["found"] is None:
        raise InputError("the fitted path delivers nothing")
    return _outcome(pairs[0]["found"])


def fit(connection: dict[str, Any]) -> Fit:
    """Fits a path to an analyzed connection.

    Raises:
        InputError: The connection shows no RTT or no delivery rate.
    """
    rtt, capacity = connection["rtt_ms"], connection["capacity"]
    if rtt is None or capacity is None or not connection["bytes"]:
        raise InputError(
            f"connection {connection['number']} is too short to fit a path: it has no RTT sample "
            "or no full round trip"
        )
    segment = min(max(connection["largest_segment_bytes"], 88), 1448)
    rate = capacity["delivery_rate_bps"] * (segment + HEADERS) / segment
    least, _, largest = rtt
    notes = []
    limits = connection["limits"]
    held = limits["receive_window_s"] + limits["application_s"]
    if held > 0.5 * max(sum(limits.values()), 1e-9):
        notes.append("The receiver or the application was the limit: the rate is a lower bound.")
    queue = rate / 8 * (largest - least) / 1e3
    bdp = rate / 8 * least / 1e3
    lost = connection["retransmissions"]["segments"]
    buffer = max(queue, 4 * (segment + HEADERS))
    if not lost:
        buffer = max(buffer, _LEAST_BUFFER * bdp)
        notes.append("No loss: the buffer is a lower bound.")
    path = f'rate = "{rate / 1e6:.6g} Mbit/s"\nrtt = "{max(least, 0.01):.6g} ms"\n'
    path += f'buffer = "{math.ceil(buffer / (segment + HEADERS))} packets"\n'
    if lost and largest < _NO_QUEUE * least:
        share = min(lost / max(connection["segments"], 1), 0.5)
        path += f'loss = "{100 * share:.4g} %"\n'
        notes.append("Losses without a queue: they are taken as random.")
    window = connection["initial_window_bytes"] or 10 * segment
    flow = f'size = "{connection["bytes"]} B"\nmss = "{segment} B"\n'
    flow += f"initial_window = {min(max(round(window / segment), 1), 65535)}\n"
    if connection["verdict"]["reason"] == "receiver-limited":
        room = max(connection["max_in_flight_bytes"], 2896)
        flow += f'receive_buffer = "{room} B"\nautotuning = "off"\n'
    real = _outcome(connection)
    vantage = connection["vantage"] if connection["vantage"] in _VANTAGES else "sender"
    made = {}
    for sender in SENDERS:
        text = f'runs = 1\n[path]\n{path}[[flow]]\nalgorithm = "{sender}"\n{flow}'
        made[sender] = _simulated(text, vantage)
    best = min(SENDERS, key=lambda each: _distance(real, made[each]))
    return Fit(path, flow, best, real, made[best], notes, vantage)


def _distance(real: Outcome, made: Outcome) -> float:
    """How far a simulated flow is from the real one; 0 if both are the same."""
    total = abs(math.log(max(made.duration_s, 1e-6) / max(real.duration_s, 1e-6)))
    # A sender by the rate paces all the time; one by the window waits for ACKs.
    total += _OTHER_KIND if abs(made.paced - real.paced) > _PACES else 0.0
    if real.rtt_ms and made.rtt_ms:
        total += abs(math.log(made.rtt_ms / real.rtt_ms))
    if (real.exit is None) != (made.exit is None):
        return total + 2.0
    if real.exit is not None and made.exit is not None:
        total += abs(math.log(max(made.exit[0], 1e-6) / max(real.exit[0], 1e-6)))
        total += abs(math.log(max(made.exit[1], 1) / max(real.exit[1], 1)))
        total += 0.0 if real.exit[2] == made.exit[2] else 0.5
    return total


def model(found: Fit, algorithm: str) -> Outcome:
    """What a sender does on the fitted path: a model, not a replay."""
    return _simulated(
        f'runs = 1\n[path]\n{found.path}[[flow]]\nalgorithm = "{algorithm}"\n{found.flow}',
        found.vantage,
    )


def sentence(found: Fit) -> str:
    """The errors of the fit in one sentence."""
    errors = found.errors()
    parts = [f"duration {100 * (errors['duration'] or 0):+.1f} %"]
    if errors["exit_time_s"] is not None and errors["exit_window"] is not None:
        parts.append(f"exit {1e3 * errors['exit_time_s']:+.0f} ms")
        parts.append(f"exit window {100 * errors['exit_window']:+.1f} %")
    elif found.real.exit != found.simulated.exit:
        parts.append("only one of both leaves slow start")
    parts.append(f"retransmissions {errors['retransmissions']:+.0f}")
    return f"The fit with {found.sender}, against the real flow: {', '.join(parts)}."


def describe(algorithm: str, outcome: Outcome, real: Outcome) -> str:
    """A model's outcome beside the real one, in one sentence."""
    change = 100 * (outcome.duration_s / real.duration_s - 1)
    where = "never leaves slow start"
    if outcome.exit is not None:
        where = f"leaves slow start after {outcome.exit[0]:.3f} s by {outcome.exit[2]}"
    return (
        f"Model: {algorithm} on the fitted path {where}, and takes {outcome.duration_s:.3f} s "
        f"({change:+.1f} % against the real flow), with {outcome.retransmissions} retransmissions."
    )
