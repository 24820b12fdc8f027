"""The error of ``slowstart analyze`` on captures of QUIC connections whose start-up is known.

QUIC stacks send in virtual time, each with its own controllers and with some of ours. What a host
captures of them has sizes, times and the spin bit, and the stack's controller says when and why it
left slow start. The rows are those of :mod:`slowstart.analysis.truth`.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import stacks
from slowstart._native import Scenario, analyze_file, paths, quic_packets, write_capture
from slowstart.analysis import truth

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STACKS = ("quinn", "noq")
CONTROLS = ("own:cubic", "own:newreno", "cubic+hystart", "cubic+search")
SIZES = ("2 MB", "12 MB")
_SEED = 40


@dataclass(frozen=True)
class Case:
    """A path, a stack with a controller, the bytes of a transfer, a vantage, and a seed."""

    path: str
    stack: str
    control: str
    size: str
    vantage: str
    seed: int


def cases(*, quick: bool, runs: int) -> list[Case]:
    """Every preset, stack, controller, size and vantage."""
    chosen = truth.QUICK_PATHS if quick else tuple(each["name"] for each in paths())
    return [
        # A stack draws from the seed whether a connection spins: each case has its own.
        Case(path, stack, control, size, vantage, _SEED + 1000 * place + 100 * number + run)
        for place, path in enumerate(chosen)
        for stack in STACKS
        for number, control in enumerate(CONTROLS)
        for size in (SIZES[1:] if quick else SIZES)
        for vantage in truth.VANTAGES
        for run in range(runs)
    ]


def _scenario(case: Case) -> Scenario:
    text = (
        f'seed = {case.seed}\n[path]\npreset = "{case.path}"\n'
        f'[[flow]]\nalgorithm = "{stacks.placeholder(case.control)}"\nsize = "{case.size}"\n'
    )
    return stacks.placed(Scenario.from_toml(text, name=case.path), case.stack, case.control)


def observe(case: Case) -> dict[str, Any] | None:
    """Truth and verdict of a case; ``None`` if the flow sent nothing."""
    scenario = _scenario(case)
    (known,) = (each["result"] for each in json.loads(quic_packets(scenario, run=0)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flow.pcapng"
        write_capture(scenario, file, run=0, vantages=[case.vantage])
        connections = json.loads(analyze_file(file))["connections"]
    if not connections or not known["segments_sent"]:
        return None
    (found,) = connections
    left, verdict = known["slow_start_exit"], found["verdict"]
    # A decision after the last new data changes nothing that the sender does.
    hides = left is not None and left["time_s"] >= (found["last_new_data_s"] or 0.0)
    return {
        "path": case.path, "algorithm": f"{case.stack}, {case.control}", "workload": case.size,
        "vantage": case.vantage, "run": case.seed,
        "truth": truth.label({**known, "slow_start_exit": None} if hides else known, "completed",
                             found["max_in_flight_bytes"]),
        "hidden": hides, "shows": True, "verdict": verdict["reason"], "rule": verdict["rule"],
        "confidence": verdict["confidence"], "seen_as": found["vantage"], "segments_equal": None,
        "limits": None, **truth.errors_of(known, verdict, hides=hides),
    }  # fmt: skip


def run(
    chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Observes all cases, in their order."""
    rows = truth.observe_all(observe, chosen, threads, progress)
    return [row for row in rows if row is not None]
