"""The error of ``slowstart analyze`` on connections whose start-up is known.

The simulator knows when and why slow start ended. Its flows are captured at the sender, at the
receiver and between, as pcapng in memory, and analyzed; :func:`score` compares. Truth is the
simulator's exit; of a flow without one, the cause is what its workload was made for: a small
receive buffer, an application that writes now and then, or a transfer that ends before.

The rules of the analysis were made on the grid of :func:`cases`. Those of :func:`held_out` have
other senders, sizes, initial windows and random numbers, and no rule was made on them.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from slowstart._native import Scenario, analyze_simulated, paths
from slowstart.analysis import census
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_Case = TypeVar("_Case")
_Row = TypeVar("_Row")
ALGORITHMS = (
    "cubic", "cubic+standard", "reno+standard", "cubic+search", "cubic+hystart++", "bbr",
)  # fmt: skip
QUICK_PATHS = ("wired", "geo", "lte", "wifi-strong")
HELD_OUT_ALGORITHMS = ("cubic", "reno+hystart", "westwood+standard", "reno+search", "bbr")
VANTAGES = ("sender", "receiver", "middle")
LIMITS = ("congestion-window", "receive-window", "application", "pacing", "recovery")
*REASONS, ABSTAINS = census.REASONS
# The goals, set before the first run: errors of time and window, and the reasons that are right.
GOALS = (
    "95 % of the exit times within one RTT",
    "median error of the exit window below 3 %",
    "95 % of the reasons right",
)
# A window counts as filled if so much of it was in flight once.
_FILLED = 0.9
_NAMES = {"loss": "loss", "timeout": "loss", "ecn": "ecn"}


@dataclass(frozen=True)
class Workload:
    """A kind of flow: keys of its table, and the cause if slow start does not end."""

    name: str
    keys: str
    cause: str
    path: str = ""
    # The receive buffer in bytes, where it is the cause.
    buffer: int = 0


WORKLOADS = (
    Workload("200 kB", 'size = "200 kB"', "completed"),
    Workload("2 MB", 'size = "2 MB"', "completed"),
    Workload("20 MB", 'size = "20 MB"', "completed"),
    Workload("small receive buffer",
             'size = "2 MB"\nreceive_buffer = "48 kB"\nautotuning = "off"', "receiver-limited",
             buffer=48_000),
    Workload("periodic writes",
             'size = "1 MB"\napplication = { write = "20 kB", every = "150 ms" }',
             "application-limited"),
    Workload("ECN and CoDel", 'size = "20 MB"\necn = true', "completed",
             'aqm = { kind = "codel", target = "5 ms", interval = "100 ms" }\necn = true\n'),
)  # fmt: skip


HELD_OUT_WORKLOADS = (
    Workload("600 kB, 4 segments first", 'size = "600 kB"\ninitial_window = 4', "completed"),
    Workload("5 MB, 16 segments first", 'size = "5 MB"\ninitial_window = 16', "completed"),
    Workload("14 MB", 'size = "14 MB"', "completed"),
    Workload("receive buffer of 100 kB",
             'size = "3 MB"\nreceive_buffer = "100 kB"\nautotuning = "off"', "receiver-limited",
             buffer=100_000),
    Workload("writes of 40 kB",
             'size = "2 MB"\napplication = { write = "40 kB", every = "220 ms" }',
             "application-limited"),
    Workload("ECN and CoDel, 8 MB", 'size = "8 MB"\necn = true', "completed",
             'aqm = { kind = "codel", target = "5 ms", interval = "100 ms" }\necn = true\n'),
)  # fmt: skip
_HELD_OUT_RUN = 50


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


def held_out(*, quick: bool) -> list[Case]:
    """A grid on which no rule was made."""
    chosen = QUICK_PATHS if quick else tuple(each["name"] for each in paths())
    return [
        Case(path, algorithm, workload, vantage, _HELD_OUT_RUN)
        for path in chosen
        for algorithm in HELD_OUT_ALGORITHMS
        for workload in HELD_OUT_WORKLOADS
        for vantage in VANTAGES
    ]


def _scenario(case: Case, algorithm: str | None = None) -> Scenario:
    flow = f'[[flow]]\nalgorithm = "{algorithm or case.algorithm}"\n{case.workload.keys}\n'
    text = f'runs = {case.run + 1}\n[path]\npreset = "{case.path}"\n{case.workload.path}{flow}'
    return Scenario.from_toml(text, name=f"{case.path}, {case.algorithm}")


def label(
    truth: dict[str, Any],
    cause: str,
    max_in_flight: int,
    buffer: int = 0,
    last_limit: str | None = None,
) -> str:
    """The true reason of a flow whose receiver has a buffer of ``buffer`` bytes.

    An exit at a window that the sender never filled shows in no packet: then the receiver or the
    application had stopped the growth before, and that is the reason. ``last_limit`` is what the
    sender waited for before its last new data: a transfer that the receive window held until its
    end is limited by the receiver, whatever its workload was made for.
    """
    left = truth["slow_start_exit"]
    if cause == "completed" and last_limit == "receive-window":
        cause = "receiver-limited"
    if left is None:
        return cause
    if cause != "completed" and max_in_flight < _FILLED * left["cwnd_bytes"]:
        return cause
    # The receiver of the data counts the flight with an error of a segment or two.
    if buffer and left["cwnd_bytes"] > _FILLED * buffer:
        return cause
    return _NAMES.get(left["reason"], "heuristic")


def _hides(case: Case, one: dict[str, Any]) -> bool:
    """Whether the exit of a flow left no trace in its packets.

    A decision after the last new data changes nothing that the sender does. One shortly before may
    change nothing either: then the same flow with the standard slow start, which does not decide,
    leaves the same packets.
    """
    left = one["truth"]["slow_start_exit"]
    if left is None or left["reason"] in _NAMES or one["last_new_s"] is None:
        return False
    if left["time_s"] >= one["last_new_s"]:
        return True
    round_trip = (one["truth"]["rtt_mean_ms"] or 0.0) / 1e3
    if "bbr" in case.algorithm or one["last_new_s"] - left["time_s"] > round_trip:
        return False
    twin = _scenario(case, case.algorithm.split("+")[0] + "+standard")
    pairs = json.loads(analyze_simulated(twin, run=case.run, vantage=case.vantage))
    return bool(pairs[0]["digest"] == one["digest"])


def observe(case: Case) -> dict[str, Any] | None:
    """Truth and verdict of a case; ``None`` if the flow sent nothing."""
    one = json.loads(analyze_simulated(_scenario(case), run=case.run, vantage=case.vantage))[0]
    truth, found = one["truth"], one["found"]
    if found is None or not truth["segments_sent"]:
        return None
    verdict = found["verdict"]
    hides = _hides(case, one)
    left = truth["slow_start_exit"]
    return {
        "path": case.path,
        "algorithm": case.algorithm,
        "workload": case.workload.name,
        "vantage": case.vantage,
        "run": case.run,
        "truth": label(
            {**truth, "slow_start_exit": None} if hides else truth,
            case.workload.cause, found["max_in_flight_bytes"], case.workload.buffer,
            one["last_limit"],
        ),
        "hidden": hides,
        "shows": left is None or one["exit_flight_bytes"] >= _FILLED * left["cwnd_bytes"],
        "verdict": verdict["reason"],
        "confidence": verdict["confidence"],
        "seen_as": found["vantage"],
        **errors_of(truth, verdict, hides=hides),
        "segments_equal": found["segments"] == truth["segments_sent"],
        "limits": one["limits"],
    }  # fmt: skip


def errors_of(truth: dict[str, Any], verdict: dict[str, Any], *, hides: bool) -> dict[str, Any]:
    """The errors of an exit, in RTTs and as a fraction of the window; ``None`` without one."""
    left, found = truth["slow_start_exit"], verdict["exit"]
    names = ("time_error_rtt", "time_error_mean_rtt", "window_error", "in_interval")
    if left is None or found is None or hides:
        return dict.fromkeys(names)
    error = found["time_s"] - left["time_s"]
    least, most = found["time_interval_s"]
    return {
        "time_error_rtt": error / (truth["rtt_min_ms"] / 1e3),
        "time_error_mean_rtt": error / (truth["rtt_mean_ms"] / 1e3),
        "window_error": found["cwnd_bytes"] / left["cwnd_bytes"] - 1,
        "in_interval": least <= left["time_s"] <= most,
    }


def run(
    chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Observes all cases, in their order."""
    rows = observe_all(observe, chosen, threads, progress)
    return [row for row in rows if row is not None]


def observe_all(
    observe: Callable[[_Case], _Row],
    chosen: Sequence[_Case],
    threads: int,
    progress: Callable[[int, int], None],
) -> list[_Row]:
    """What ``observe`` finds in each case, in their order; an interruption ends it at once."""
    rows: dict[int, _Row] = {}
    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(observe, case): number for number, case in enumerate(chosen)}
        try:
            for finished in as_completed(waiting):
                rows[waiting[finished]] = finished.result()
                progress(len(rows), len(chosen))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [rows[number] for number in sorted(rows)]


def errors(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """How many verdicts there are, how many are right, and the errors of their exits."""
    rows = list(rows)

    def values(key: str, *, shown: bool = False) -> list[float]:
        chosen = [row for row in rows if row[key] is not None and (row["shows"] or not shown)]
        return [abs(float(row[key])) for row in chosen]

    def within(key: str, *, shown: bool = False) -> float | None:
        found = values(key, shown=shown)
        return sum(each <= 1 for each in found) / len(found) if found else None

    def mean(key: str) -> float | None:
        return float(np.mean(values(key))) if len(values(key)) else None

    def quantile(key: str, share: float) -> float | None:
        return float(np.quantile(values(key), share)) if len(values(key)) else None

    told = [row for row in rows if row["verdict"] != ABSTAINS]
    right = sum(row["verdict"] == row["truth"] for row in told)
    return {
        "connections": len(rows),
        "told": len(told),
        "right": right / len(told) if told else None,
        "exits": len(values("time_error_rtt")),
        "within_one_rtt": within("time_error_rtt"),
        "within_one_mean_rtt": within("time_error_mean_rtt"),
        "shown": len(values("time_error_rtt", shown=True)),
        "shown_within_one_rtt": within("time_error_rtt", shown=True),
        "in_interval": mean("in_interval"),
        "time_error_rtt_p95": quantile("time_error_rtt", 0.95),
        "window_error_median": quantile("window_error", 0.5),
        "window_error_p95": quantile("window_error", 0.95),
    }


def limits(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What held the senders: by the truth (rows), and by the analysis (columns).

    ``share`` is the mean share of a connection's time, so that each connection counts the same;
    ``main`` counts connections by the cause of the longest time.
    """
    share = {truth: dict.fromkeys(LIMITS, 0.0) for truth in LIMITS}
    main = {truth: dict.fromkeys(LIMITS, 0) for truth in LIMITS}
    count = 0
    for row in rows:
        seconds = row["limits"] or {}
        total = sum(sum(each.values()) for each in seconds.values())
        if not total:
            continue
        count += 1
        found = dict.fromkeys(LIMITS, 0.0)
        for truth, each in seconds.items():
            for name, value in each.items():
                share[truth][name] += value / total
                found[name] += value
        longest = max(seconds, key=lambda name: sum(seconds[name].values()))
        main[longest][max(found, key=found.__getitem__)] += 1
    share = {
        truth: {name: value / max(count, 1) for name, value in each.items()}
        for truth, each in share.items()
    }
    return {
        "connections": count,
        "share": share,
        "share_right": sum(share[each][each] for each in LIMITS),
        "main": main,
        "main_right": sum(main[each][each] for each in LIMITS) / max(count, 1),
    }


def score(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The error table: all, by algorithm, vantage and path, and the confusion matrices."""

    def by(key: str) -> dict[str, Any]:
        values = list(dict.fromkeys(row[key] for row in rows))
        return {value: errors(row for row in rows if row[key] == value) for value in values}

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
        "all": errors(rows),
        "without_bbr": errors(by_window),
        "by_algorithm": by("algorithm"),
        "by_vantage": by("vantage"),
        "by_workload": by("workload"),
        "by_path": by("path"),
        "confusion": matrix,
        "hidden": sum(row["hidden"] for row in rows),
        "limits": {
            vantage: limits(row for row in rows if row["vantage"] == vantage)
            for vantage in dict.fromkeys(row["vantage"] for row in rows)
        },
        "vantage_right": sum(row["seen_as"] == row["vantage"] for row in rows) / max(len(rows), 1),
        "segments_right": sum(counted) / max(len(counted), 1),
    }


def percent(value: float | None, scale: float = 100, unit: str = " %") -> str:
    """A fraction for a table."""
    return "-" if value is None else f"{scale * value:.3g}{unit}"


def show(found: dict[str, Any]) -> None:
    """Prints the error table and the confusion matrix."""
    text = percent
    heads = ("connections", "number", "reason right", "told", "exits", "within 1 RTT",
             "if it shows", "within 1 mean RTT", "in interval", "p95 (RTT)", "window, median",
             "window, p95")  # fmt: skip
    rows = []
    groups = {"all": found["all"], "without bbr": found["without_bbr"], **found["by_algorithm"],
              **found["by_vantage"], **found["by_workload"], **found["by_path"]}  # fmt: skip
    for name, each in groups.items():
        rows.append([
            name, str(each["connections"]), text(each["right"]),
            text(each["told"] / each["connections"]), str(each["exits"]),
            text(each["within_one_rtt"]), text(each["shown_within_one_rtt"]),
            text(each["within_one_mean_rtt"]), text(each["in_interval"]),
            text(each["time_error_rtt_p95"], 1, ""),
            text(each["window_error_median"]), text(each["window_error_p95"]),
        ])  # fmt: skip
    tables.print_table(heads, rows)
    columns = (*REASONS, ABSTAINS)
    matrix = [
        [truth, *(str(found["confusion"][truth][verdict]) for verdict in columns)]
        for truth in REASONS
    ]
    tables.print_table(("truth \\ verdict", *columns), matrix)
    for vantage, each in found["limits"].items():
        if each["connections"]:
            table = [
                [truth, *(text(each["share"][truth][name]) for name in LIMITS),
                 str(sum(each["main"][truth].values())), str(each["main"][truth][truth])]
                for truth in LIMITS
            ]  # fmt: skip
            tables.print_table(
                (f"limit, {vantage}: truth \\ found", *LIMITS, "mainly", "right"), table
            )
