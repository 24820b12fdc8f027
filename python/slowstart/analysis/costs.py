"""The error of what ``slowstart analyze`` says of a cost and of other start-ups.

Truth is the simulator's: the flow, the flow with an ideal exit, and the flow with each asked
start-up, over the same path with the same random numbers. The analysis has the capture alone.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart._native import (
    Scenario,
    analyze_file,
    analyze_simulated,
    paths,
    replay_file,
    write_capture,
)
from slowstart.analysis import path_fit
from slowstart.analysis.situation import POINTS
from slowstart.analysis.truth import observe_all
from slowstart.errors import InputError
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SENDERS = ("cubic", "cubic+standard", "cubic+search", "bbr")
ASKED = ("cubic+standard", "cubic+hystart", "cubic+search", "cubic+hystart++")
SIZES = ("1 MB", "4 MB", "20 MB")
VANTAGES = ("sender", "receiver")
QUICK_PATHS = ("wired", "geo", "leo", "lte")
GOALS = (
    "error of the cost: median at most 10 % of the completion or 100 ms, 95th percentile 30 %",
    "sign of the difference right in 90 % of those above 5 % of the completion",
)
_RUN = 70
_LEAST_S = 0.1
_DIFFERS = 0.05


@dataclass(frozen=True)
class Case:
    """A flow: its path, sender, size, and where it is captured."""

    path: str
    sender: str
    size: str
    vantage: str


def cases(*, quick: bool) -> list[Case]:
    """Every preset, sender, size and vantage; random numbers that no rule has seen."""
    chosen = QUICK_PATHS if quick else tuple(each["name"] for each in paths())
    return [
        Case(path, sender, size, vantage)
        for path in chosen
        for sender in SENDERS
        for size in (SIZES[1:2] if quick else SIZES)
        for vantage in VANTAGES
    ]


def _scenario(case: Case, algorithm: str) -> Scenario:
    return Scenario.from_toml(
        f'runs = {_RUN + 1}\n[path]\npreset = "{case.path}"\n[[flow]]\n'
        f'algorithm = "{algorithm}"\nsize = "{case.size}"\n'
    )


def _completion(case: Case, algorithm: str) -> float | None:
    pairs = json.loads(analyze_simulated(_scenario(case, algorithm), run=_RUN, vantage="sender"))
    value = pairs[0]["truth"]["fct_s"]
    return None if value is None else float(value)


def observe(case: Case) -> dict[str, Any] | None:
    """Truth and answer of a case; ``None`` if the flow does not complete."""
    real, ideal = _completion(case, case.sender), _completion(case, path_fit.IDEAL)
    if real is None or ideal is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flow.pcapng"
        write_capture(_scenario(case, case.sender), file, run=_RUN, vantages=[case.vantage])
        connections = json.loads(analyze_file(file, points=POINTS))["connections"]
        replays = json.loads(replay_file(file, numbers=[1], algorithms=ASKED))
    row: dict[str, Any] = {
        "path": case.path, "algorithm": case.sender, "size": case.size, "vantage": case.vantage,
        "completion_s": real, "true_cost_s": real - ideal, "cost_s": None, "low_s": None,
        "high_s": None, "fit_error": None, "differences": [],
    }  # fmt: skip
    try:
        found = path_fit.fit(connections[0])
    except InputError as error:
        return {**row, "why": str(error)}
    cost = path_fit.cost(found).document()
    row |= {"cost_s": cost["seconds"], "low_s": cost["low_s"], "high_s": cost["high_s"],
            "why": cost["why"], "fit_error": found.error}  # fmt: skip
    for name, replay in zip(ASKED, replays, strict=True):
        if name == case.sender or (case.sender == "cubic" and name == "cubic+hystart"):
            continue
        truth, said = _completion(case, name), path_fit.answer(found, name, replay)
        if truth is not None and said is not None:
            row["differences"].append({
                "algorithm": name, "true_s": truth - real, "said_s": said.difference.seconds,
                "low_s": said.difference.low, "high_s": said.difference.high, "sign": said.sign,
            })  # fmt: skip
    return row


def run(
    chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Observes all cases, in their order."""
    rows = observe_all(observe, chosen, threads, progress)
    return [row for row in rows if row is not None]


def _errors(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if row["cost_s"] is not None]
    seconds = np.array([abs(row["cost_s"] - row["true_cost_s"]) for row in known])
    taken = np.array([row["completion_s"] for row in known])
    within = (seconds <= 0.1 * taken) | (seconds <= _LEAST_S)
    covered = [row["low_s"] <= row["true_cost_s"] <= row["high_s"] for row in known]
    large = [
        each
        for row in rows
        for each in row["differences"]
        if abs(each["true_s"]) > _DIFFERS * row["completion_s"]
    ]
    decided = [each for each in large if each["sign"]]
    right = [each["true_s"] * each["sign"] > 0 for each in decided]
    errors = [
        abs(each["true_s"] - each["said_s"]) / row["completion_s"]
        for row in rows
        for each in row["differences"]
    ]

    def quantile(values: Any, share: float) -> float | None:
        return float(np.quantile(values, share)) if len(values) else None

    return {
        "connections": len(rows),
        "known": len(known),
        "error_median": quantile(seconds / taken, 0.5),
        "error_p95": quantile(seconds / taken, 0.95),
        "error_median_s": quantile(seconds, 0.5),
        "within": float(np.mean(within)) if known else None,
        "covered": float(np.mean(covered)) if known else None,
        "differences": len(large),
        "decided": len(decided),
        "sign_right": float(np.mean(right)) if right else None,
        "difference_error_median": quantile(errors, 0.5),
        "difference_error_p95": quantile(errors, 0.95),
    }


def score(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The table: all, and by vantage, sender, size and path."""
    groups = {"all": _errors(rows)}
    for key in ("vantage", "algorithm", "size", "path"):
        for value in dict.fromkeys(row[key] for row in rows):
            groups[str(value)] = _errors([row for row in rows if row[key] == value])
    return {"groups": groups, "goals": GOALS}


def show(found: dict[str, Any]) -> None:
    """Prints the table."""

    def text(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.3g} %"

    heads = ("connections", "number", "with a cost", "cost: median", "p95", "10 % or 100 ms",
             "in the interval", "differences", "decided", "sign right",
             "difference: median", "p95")  # fmt: skip
    rows = [
        [
            name, str(each["connections"]), text(each["known"] / max(each["connections"], 1)),
            text(each["error_median"]), text(each["error_p95"]), text(each["within"]),
            text(each["covered"]), str(each["differences"]), str(each["decided"]),
            text(each["sign_right"]),
            text(each["difference_error_median"]), text(each["difference_error_p95"]),
        ]
        for name, each in found["groups"].items()
    ]  # fmt: skip
    tables.print_table(heads, rows)
