"""The error of ``slowstart analyze`` on captures of QUIC connections whose start-up is known.

QUIC stacks send in virtual time, each with its own controllers and with some of ours. What a host
captures of them has sizes, times and the spin bit, and the stack's controller says when and why it
left slow start. The rows are those of :mod:`slowstart.analysis.truth`.

The thresholds of the rules for QUIC were chosen on the flows with an even seed; those with an odd
seed are held out.
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
from slowstart.report import tables

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


def is_held_out(row: dict[str, Any]) -> bool:
    """Whether no threshold was chosen on the flow of a row."""
    return bool(row["run"] % 2)


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
        "hidden": hides, "shows": True, "spins": found["rtt_ms"] is not None,
        "verdict": verdict["reason"], "rule": verdict["rule"],
        "confidence": verdict["confidence"], "seen_as": found["vantage"], "segments_equal": None,
        "limits": None, **truth.errors_of(known, verdict, hides=hides),
    }  # fmt: skip


def run(
    chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Observes all cases, in their order."""
    rows = truth.observe_all(observe, chosen, threads, progress)
    return [row for row in rows if row is not None]


def score(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The tables of :func:`truth.score` over the held-out rows, and the rows of :func:`groups`."""
    held_out = [row for row in rows if is_held_out(row)]
    return {**truth.score(held_out or rows), "groups": groups(rows)}


def groups(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errors of each half, by vantage and by whether the spin bit shows round trips."""
    made = []
    for held_out, spins in ((False, True), (True, True), (False, False), (True, False)):
        for vantage in truth.VANTAGES:
            chosen = [
                row for row in rows
                if (is_held_out(row), row["spins"], row["vantage"]) == (held_out, spins, vantage)
            ]  # fmt: skip
            if chosen:
                made.append({
                    "half": "held out" if held_out else "training", "spins": spins,
                    "vantage": vantage, **truth.errors(chosen),
                    "exits_by_sign": _kinds(chosen),
                })  # fmt: skip
    return made


def _kinds(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Exits by a loss and by a heuristic with a verdict, and those taken for the other kind."""
    kinds = ("loss", "heuristic")
    shown = [row for row in rows if row["truth"] in kinds and row["verdict"] != truth.ABSTAINS]
    made = {}
    for kind in kinds:
        mine = [row for row in shown if row["truth"] == kind]
        made[kind] = len(mine)
        made[f"{kind}_confused"] = sum(row["verdict"] in kinds and row["verdict"] != kind
                                       for row in mine)  # fmt: skip
    return made


def show(found: dict[str, Any]) -> None:
    """Prints the rows of :func:`groups`."""
    heads = ("flows", "spin bit", "captured", "connections", "with a verdict", "reason right",
             "exits", "within 1 mean RTT", "window, median", "window, p95", "losses confused",
             "heuristics confused")  # fmt: skip
    percent = truth.percent
    tables.print_table(heads, [
        [each["half"], "yes" if each["spins"] else "no", each["vantage"],
         str(each["connections"]), percent(each["told"] / each["connections"]),
         percent(each["right"]), str(each["exits"]), percent(each["within_one_mean_rtt"]),
         percent(each["window_error_median"]), percent(each["window_error_p95"]),
         *(f"{each['exits_by_sign'][kind + '_confused']} of {each['exits_by_sign'][kind]}"
           for kind in ("loss", "heuristic"))]
        for each in found["groups"]
    ])  # fmt: skip
