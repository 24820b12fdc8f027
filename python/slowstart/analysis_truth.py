"""The error of ``slowstart analyze`` on connections whose start-up is known.

The simulator knows when and why slow start ended. Its flows are captured at the sender and at the
receiver, as pcapng in memory, and analyzed; :func:`score` compares. Truth is the simulator's exit;
of a flow without one, the cause is what its workload was made for: a small receive buffer, an
application that writes now and then, or a transfer that ends before.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart import tables
from slowstart._native import Scenario, analyze_simulated, paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ALGORITHMS = (
    "cubic", "cubic+standard", "reno+standard", "cubic+search", "cubic+hystart++", "bbr",
)  # fmt: skip
QUICK_PATHS = ("wired", "geo", "lte", "wifi-strong")
VANTAGES = ("sender", "receiver")
REASONS = ("loss", "ecn", "heuristic", "receiver-limited", "application-limited", "completed")
ABSTAINS = "cannot-tell"
# The goals, set before the first run: errors of time and window, and the reasons that are right.
GOALS = (
    "95 % of the exit times within one RTT",
    "median error of the exit window below 3 %",
    "95 % of the reasons right",
)
# A window counts as filled if so much of it was in flight once.
_FILLED = 0.9
_RECEIVE_BUFFER = 48_000
_NAMES = {"loss": "loss", "timeout": "loss", "ecn": "ecn"}


@dataclass(frozen=True)
class Workload:
    """A kind of flow: keys of its table, and the cause if slow start does not end."""

    name: str
    keys: str
    cause: str
    path: str = ""


WORKLOADS = (
    Workload("200 kB", 'size = "200 kB"', "completed"),
    Workload("2 MB", 'size = "2 MB"', "completed"),
    Workload("20 MB", 'size = "20 MB"', "completed"),
    Workload("small receive buffer",
             'size = "2 MB"\nreceive_buffer = "48 kB"\nautotuning = "off"', "receiver-limited"),
    Workload("periodic writes",
             'size = "1 MB"\napplication = { write = "20 kB", every = "150 ms" }',
             "application-limited"),
    Workload("ECN and CoDel", 'size = "20 MB"\necn = true', "completed",
             'aqm = { kind = "codel", target = "5 ms", interval = "100 ms" }\necn = true\n'),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A path, an algorithm, a workload, a vantage, and the number of a run."""

    path: str
    algorithm: str
    workload: Workload
    vantage: str
    run: int


def cases(*, quick: bool, runs: int) -> list[Case]:
    """The grid: every preset, algorithm, workload and vantage."""
    chosen = QUICK_PATHS if quick else tuple(each["name"] for each in paths())
    workloads = [each for each in WORKLOADS if not quick or each.name != "20 MB"]
    return [
        Case(path, algorithm, workload, vantage, run)
        for path in chosen
        for algorithm in ALGORITHMS
        for workload in workloads
        for vantage in VANTAGES
        for run in range(runs)
    ]


def _scenario(case: Case) -> Scenario:
    flow = f'[[flow]]\nalgorithm = "{case.algorithm}"\n{case.workload.keys}\n'
    text = f'runs = {case.run + 1}\n[path]\npreset = "{case.path}"\n{case.workload.path}{flow}'
    return Scenario.from_toml(text, name=f"{case.path}, {case.algorithm}")


def label(truth: dict[str, Any], cause: str, max_in_flight: int) -> str:
    """The true reason of a flow.

    An exit at a window that the sender never filled shows in no packet: then the receiver or the
    application had stopped the growth before, and that is the reason.
    """
    left = truth["slow_start_exit"]
    if left is None:
        return cause
    if cause != "completed" and max_in_flight < _FILLED * left["cwnd_bytes"]:
        return cause
    # The receiver of the data counts the flight with an error of a segment or two.
    if cause == "receiver-limited" and left["cwnd_bytes"] > _FILLED * _RECEIVE_BUFFER:
        return cause
    return _NAMES.get(left["reason"], "heuristic")


def observe(case: Case) -> dict[str, Any] | None:
    """Truth and verdict of a case; ``None`` if the flow sent nothing."""
    pairs = json.loads(analyze_simulated(_scenario(case), run=case.run, vantage=case.vantage))
    truth, found = pairs[0]["truth"], pairs[0]["found"]
    if found is None or not truth["segments_sent"]:
        return None
    verdict = found["verdict"]
    row = {
        "path": case.path,
        "algorithm": case.algorithm,
        "workload": case.workload.name,
        "vantage": case.vantage,
        "run": case.run,
        "truth": label(truth, case.workload.cause, found["max_in_flight_bytes"]),
        "verdict": verdict["reason"],
        "confidence": verdict["confidence"],
        "seen_as": found["vantage"],
        "time_error_rtt": None,
        "window_error": None,
        "segments_equal": found["segments"] == truth["segments_sent"],
    }
    left, exit_ = truth["slow_start_exit"], verdict["exit"]
    if left is not None and exit_ is not None:
        rtt = truth["rtt_min_ms"] / 1e3
        row["time_error_rtt"] = (exit_["time_s"] - left["time_s"]) / rtt
        row["window_error"] = exit_["cwnd_bytes"] / left["cwnd_bytes"] - 1
    return row


def run(
    chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Observes all cases, in their order."""
    rows: dict[int, dict[str, Any] | None] = {}
    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(observe, case): number for number, case in enumerate(chosen)}
        try:
            for finished in as_completed(waiting):
                rows[waiting[finished]] = finished.result()
                progress(len(rows), len(chosen))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [row for number in sorted(rows) if (row := rows[number]) is not None]


def _errors(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    rows = list(rows)
    times = np.array([row["time_error_rtt"] for row in rows if row["time_error_rtt"] is not None])
    windows = np.array([row["window_error"] for row in rows if row["window_error"] is not None])
    told = [row for row in rows if row["verdict"] != ABSTAINS]
    right = sum(row["verdict"] == row["truth"] for row in told)
    return {
        "connections": len(rows),
        "told": len(told),
        "right": right / len(told) if told else None,
        "exits": len(times),
        "within_one_rtt": float(np.mean(np.abs(times) <= 1)) if len(times) else None,
        "time_error_rtt_p95": float(np.quantile(np.abs(times), 0.95)) if len(times) else None,
        "window_error_median": float(np.median(np.abs(windows))) if len(windows) else None,
        "window_error_p95": float(np.quantile(np.abs(windows), 0.95)) if len(windows) else None,
    }


def score(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The error table: all, by algorithm, vantage and path, and the confusion matrix."""

    def by(key: str) -> dict[str, Any]:
        values = list(dict.fromkeys(row[key] for row in rows))
        return {value: _errors(row for row in rows if row[key] == value) for value in values}

    # What a sender decides by its window; BBR leaves its start-up by its rate.
    by_window = [row for row in rows if row["algorithm"] != "bbr"]
    columns = (*REASONS, ABSTAINS)
    at_sender = [row["segments_equal"] for row in rows if row["vantage"] == "sender"]
    # The kernel's log has no count of segments.
    counted = [each for each in at_sender if each is not None]
    matrix = {
        truth: {
            verdict: sum(row["truth"] == truth and row["verdict"] == verdict for row in rows)
            for verdict in columns
        }
        for truth in REASONS
    }
    return {
        "all": _errors(rows),
        "without_bbr": _errors(by_window),
        "by_algorithm": by("algorithm"),
        "by_vantage": by("vantage"),
        "by_workload": by("workload"),
        "by_path": by("path"),
        "confusion": matrix,
        "vantage_right": sum(row["seen_as"] == row["vantage"] for row in rows) / max(len(rows), 1),
        "segments_right": sum(counted) / max(len(counted), 1),
    }


def show(found: dict[str, Any]) -> None:
    """Prints the error table and the confusion matrix."""

    def text(value: float | None, scale: float = 100, unit: str = " %") -> str:
        return "-" if value is None else f"{scale * value:.3g}{unit}"

    heads = ("connections", "number", "reason right", "told", "exits", "within 1 RTT",
             "p95 (RTT)", "window, median", "window, p95")  # fmt: skip
    rows = []
    groups = {"all": found["all"], "without bbr": found["without_bbr"], **found["by_algorithm"],
              **found["by_vantage"], **found["by_workload"], **found["by_path"]}  # fmt: skip
    for name, each in groups.items():
        rows.append([
            name, str(each["connections"]), text(each["right"]),
            text(each["told"] / each["connections"]), str(each["exits"]),
            text(each["within_one_rtt"]), text(each["time_error_rtt_p95"], 1, ""),
            text(each["window_error_median"]), text(each["window_error_p95"]),
        ])  # fmt: skip
    _print(heads, rows)
    columns = (*REASONS, ABSTAINS)
    matrix = [
        [truth, *(str(found["confusion"][truth][verdict]) for verdict in columns)]
        for truth in REASONS
    ]
    _print(("truth \\ verdict", *columns), matrix)


def _print(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    if tables.write_plain(heads, rows):
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*row)
    tables.console().print(table)
