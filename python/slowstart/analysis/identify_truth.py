"""How often ``slowstart analyze --identify`` is right, on simulated flows whose start-up is known.

The constants of :mod:`slowstart.analysis.likelihood` were fitted on the flows of :func:`training`.
Those of :func:`held_out` have other paths, sizes and random numbers.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart._native import Scenario, analyze_simulated
from slowstart.analysis import identify, likelihood
from slowstart.analysis.truth import observe_all
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NONE, CANNOT = "none of these", "cannot tell"
GOAL = 0.9
"""Set before the first run: so many of the sets at the sender have the true start-up."""
PLACES = ("sender", "receiver")
# The constants of the likelihood at a place; the name of a QUIC stack is one, too.
_CONSTANTS = {"sender": "sender", "receiver": "elsewhere"}
_TRAINING = {
    "50 Mbit/s, 60 ms": 'rate = "50 Mbit/s"\nrtt = "60 ms"\nbuffer = "1 bdp"',
    "120 Mbit/s, 25 ms": 'rate = "120 Mbit/s"\nrtt = "25 ms"\nbuffer = "1 bdp"',
    "10 Mbit/s, 40 ms": 'rate = "10 Mbit/s"\nrtt = "40 ms"\nbuffer = "2 bdp"',
    "small buffer": 'rate = "80 Mbit/s"\nrtt = "45 ms"\nbuffer = "60 packets"',
    "loss of 0.2 %": 'rate = "20 Mbit/s"\nrtt = "90 ms"\nbuffer = "1 bdp"\nloss = "0.2 %"',
    "5g": 'preset = "5g"',
    "leo": 'preset = "leo"',
    "wifi-weak": 'preset = "wifi-weak"',
}
_HELD_OUT = {
    "wired": 'preset = "wired"',
    "geo": 'preset = "geo"',
    "lte": 'preset = "lte"',
    "wifi-strong": 'preset = "wifi-strong"',
    "shallow": 'rate = "40 Mbit/s"\nrtt = "70 ms"\nbuffer = "40 packets"',
    "lossy": 'rate = "30 Mbit/s"\nrtt = "80 ms"\nbuffer = "1 bdp"\nloss = "0.3 %"',
}
_TRAINING_FLOWS = {
    "4 MB": 'size = "4 MB"',
    "4 MB, paced": 'size = "4 MB"\npacing = true',
    "2 MB, 20 segments first": 'size = "2 MB"\ninitial_window = 20',
}
_HELD_OUT_FLOWS = {
    "6 MB": 'size = "6 MB"',
    "6 MB, paced": 'size = "6 MB"\npacing = true',
    "6 MB, 32 segments first": 'size = "6 MB"\ninitial_window = 32',
    "1 MB": 'size = "1 MB"',
}
_QUICK_FLOWS = ("6 MB", "6 MB, paced")
_BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
# Seeds of the training lie far from those of the test.
_TRAINING_SEED, _TEST_SEED = 9_000, 100


@dataclass(frozen=True)
class Case:
    """A flow: name and keys of its path and of its table, its algorithm, where it is captured."""

    path: str
    path_keys: str
    flow: str
    flow_keys: str
    algorithm: str
    place: str
    seed: int


def _cases(
    paths: dict[str, str], flows: dict[str, str], seeds: Sequence[int], places: Sequence[str]
) -> list[Case]:
    return [
        Case(path, path_keys, flow, flow_keys, algorithm, place, seed)
        for path, path_keys in paths.items()
        for flow, flow_keys in flows.items()
        for algorithm in identify.candidates()
        for place in places
        for seed in seeds
    ]


def training() -> list[Case]:
    """The flows on which the constants are fitted."""
    return _cases(_TRAINING, _TRAINING_FLOWS, (_TRAINING_SEED,), PLACES)


def held_out(*, quick: bool, runs: int) -> list[Case]:
    """The flows of the test."""
    flows = {
        name: keys for name, keys in _HELD_OUT_FLOWS.items() if not quick or name in _QUICK_FLOWS
    }
    return _cases(_HELD_OUT, flows, range(_TEST_SEED, _TEST_SEED + runs), PLACES)


@dataclass(frozen=True)
class Row:
    """What was found about one flow."""

    case: Case
    found: identify.Identification
    truth: str
    initial_window: int
    """Segments of the true sender's first flight, where it is the flow's key."""
    surprises: tuple[float, ...]
    """Of each candidate, in the order of :func:`slowstart.analysis.identify.candidates`."""
    same: tuple[bool, ...]
    """Which candidates leave the same packets as the true one; none if it is no candidate."""


def observe(case: Case) -> Row:
    """Simulates a flow and identifies its start-up."""
    text = (
        f"seed = {case.seed}\nruns = 1\n[path]\n{case.path_keys}\n"
        f'[[flow]]\nalgorithm = "{case.algorithm}"\n{case.flow_keys}\n'
    )
    scenario = Scenario.from_toml(text, name=case.path)
    one = json.loads(
        analyze_simulated(scenario, run=0, vantage=case.place, algorithms=identify.candidates())
    )[0]  # fmt: skip
    return judged(case, one["found"], one["comparison"])


def judged(case: Case, connection: dict[str, Any], comparison: dict[str, Any]) -> Row:
    """The row of a case whose flow was analyzed and compared."""
    names = identify.candidates()
    found = identify.judge([connection], [comparison])
    fitted = {each.algorithm: each for each in likelihood.fits(comparison)}
    surprises, same = [], []
    if fitted:
        true, size = fitted.get(case.algorithm), comparison["segment_bytes"]
        constants = likelihood.CONSTANTS[likelihood.place(connection["vantage"])]
        # What the sender's stack cannot run is excluded.
        surprises = [fitted[name].surprise if name in fitted else math.inf for name in names]
        same = [true is not None and name in fitted
                and likelihood.is_same(true, fitted[name], size, constants)
                for name in names]  # fmt: skip
    wanted = case.flow_keys.partition("initial_window = ")[2]
    return Row(
        case, found, identify.start_up(case.algorithm), int(wanted or 10),
        tuple(surprises), tuple(same),
    )  # fmt: skip


def run(chosen: Sequence[Case], threads: int, progress: Callable[[int, int], None]) -> list[Row]:
    """Observes all cases, in their order."""
    return observe_all(observe, chosen, threads, progress)


def answer(row: Row) -> tuple[str, float, bool]:
    """What was answered, how sure, and whether it is right: the true start-up is in the set."""
    found = row.found
    if found.why is not None:
        return CANNOT, 0.0, False
    best = found.best
    if best is None:
        return NONE, found.none_of_these, row.truth == NONE
    right = row.truth in best.names
    return row.truth if right else best.names[0], best.probability, right


def _without(row: Row) -> tuple[float, float]:
    """The probabilities of "none of these" and of the best one, if the true one were unknown."""
    place = _CONSTANTS.get(row.case.place, "quic")
    others = [one for one, same in zip(row.surprises, row.same, strict=True) if not same]
    if not others:
        return 1.0, 0.0
    weights, none = likelihood.probabilities(
        others, row.found.moments, likelihood.CONSTANTS[place]
    )  # fmt: skip
    return none, float(weights.max())


def _rate(rows: Iterable[Row]) -> dict[str, Any]:
    rows = list(rows)
    answers = [answer(row) for row in rows]
    answered = [each for each in answers if each[0] != CANNOT]
    alone = [row for row, each in zip(rows, answers, strict=True)
             if each[2] and row.truth != NONE
             and len(row.found.candidates[0].names) == 1]  # fmt: skip
    # Start-ups that differ from every other one on the path of the flow.
    distinct = [each for row, each in zip(rows, answers, strict=True)
                if sum(row.same) == 1 and each[0] != CANNOT]  # fmt: skip
    compared = [row for row in rows if row.surprises]
    sizes = [len(row.found.candidates[0].names) for row in rows if row.found.candidates]
    unknown = [_without(row) for row in compared]
    return {
        "flows": len(rows),
        "cannot_tell": len(rows) - len(answered),
        "right": sum(each[2] for each in answered),
        "right_fraction": sum(each[2] for each in answered) / len(answered) if answered else None,
        "right_alone": len(alone),
        "distinct": len(distinct),
        "distinct_right": sum(each[2] for each in distinct),
        "names_in_set_mean": float(np.mean(sizes)) if sizes else None,
        "none_said": sum(each[0] == NONE for each in answered),
        "none_said_if_unknown": sum(none > best for none, best in unknown),
        "unknown": len(unknown),
    }


def _initial_windows(rows: Iterable[Row]) -> dict[str, int]:
    """Rows whose sender begins with the initial window of its flow, and how many are found."""
    plain = {"jump-start", "halfback", "rapid-start", "initial-start", "hybla"}
    chosen = [row for row in rows if row.truth not in plain and row.found.candidates]
    right = [row for row in chosen
             if row.found.candidates[0].initial_window == row.initial_window]  # fmt: skip
    return {"flows": len(chosen), "right": len(right)}


def reliability(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """How often answers of about the same probability are right.

    Each flow counts twice: as it is, and with the true start-up unknown, when "none of these" is
    the right answer; the second with a weight of a tenth.
    """
    points = []
    for row in rows:
        if not row.surprises or row.found.why is not None:
            continue
        _, sure, right = answer(row)
        points.append((sure, float(right), 1.0))
        none, best = _without(row)
        points.append((max(none, best), float(none > best), likelihood.UNKNOWN))
    made = []
    for low, high in itertools.pairwise(_BINS):
        here = [each for each in points if low <= each[0] < high or each[0] == high == 1.0]
        if here:
            weight = sum(each[2] for each in here)
            made.append({
                "from": low, "to": high, "answers": len(here), "weight": weight,
                "probability": sum(each[0] * each[2] for each in here) / weight,
                "right": sum(each[1] * each[2] for each in here) / weight,
            })  # fmt: skip
    return made


def pairs(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Pairs of start-ups that leave the same packets, with the part of the flows of either."""
    names = [identify.start_up(each) for each in identify.candidates()]
    count: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        for name, same in zip(names, row.same, strict=False):
            if name == row.truth:
                continue
            key = (min(name, row.truth), max(name, row.truth))
            entry = count.setdefault(key, [0, 0])
            entry[0] += same
            entry[1] += 1
    made = [{"pair": list(key), "same": same, "flows": flows}
            for key, (same, flows) in count.items() if same]  # fmt: skip
    return sorted(made, key=lambda each: (-each["same"] / each["flows"], each["pair"]))


def score(rows: Sequence[Row]) -> dict[str, Any]:
    """The tables: all, by path, flow and start-up; confusion matrix, reliability, and pairs."""
    made: dict[str, Any] = {}
    for place in dict.fromkeys(row.case.place for row in rows):
        here = [row for row in rows if row.case.place == place]
        matrix: dict[str, dict[str, int]] = {}
        for row in here:
            line = matrix.setdefault(row.truth, {})
            said = answer(row)[0]
            line[said] = line.get(said, 0) + 1

        def by(key: Callable[[Row], str], here: list[Row] = here) -> dict[str, Any]:
            values = dict.fromkeys(key(row) for row in here)
            return {each: _rate(row for row in here if key(row) == each) for each in values}

        made[place] = {
            "all": _rate(here),
            "by_path": by(lambda row: row.case.path),
            "by_flow": by(lambda row: row.case.flow),
            "by_start_up": by(lambda row: row.truth),
            "initial_window": _initial_windows(here),
            "confusion": matrix,
            "reliability": reliability(here),
            "pairs": pairs(here),
        }
    return made


def show(scored: dict[str, Any]) -> None:
    """Prints the tables of :func:`score`."""

    def percent(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f} %"

    heads = ("flows", "number", "right", "right, one name", "right, if distinct", "names in set",
             "cannot tell", "none said", "none said if unknown")  # fmt: skip
    for place, each in scored.items():
        where = f"at the {place}" if place in PLACES else f"qlogs of {place}"
        groups = {f"all, {where}": each["all"], **each["by_path"], **each["by_flow"],
                  **each["by_start_up"]}  # fmt: skip
        rows = [
            [name, str(one["flows"]), percent(one["right_fraction"]),
             percent(one["right_alone"] / max(one["flows"], 1)),
             f"{one['distinct_right']} of {one['distinct']}",
             "-" if one["names_in_set_mean"] is None else f"{one['names_in_set_mean']:.1f}",
             str(one["cannot_tell"]), str(one["none_said"]),
             f"{one['none_said_if_unknown']} of {one['unknown']}"]
            for name, one in groups.items()
        ]  # fmt: skip
        tables.print_table(heads, rows)
        window = each["initial_window"]
        sys.stdout.write(f"Initial window right: {window['right']} of {window['flows']}.\n")
        tables.print_table(
            ("probability", "answers", "mean probability", "right"),
            [[f"{one['from']:g} to {one['to']:g}", str(one["answers"]),
              percent(one["probability"]), percent(one["right"])] for one in each["reliability"]],
        )  # fmt: skip


def fit(rows: Sequence[Row]) -> dict[str, likelihood.Constants]:
    """The constants under which the true answers of the training are most probable."""
    cases: dict[str, list[Any]] = {}
    for row in rows:
        if row.surprises and row.found.why is None and any(row.same):
            case = (np.array(row.surprises), np.array(row.same), row.found.moments)
            cases.setdefault(_CONSTANTS.get(row.case.place, "quic"), []).append(case)
    return {key: likelihood.fit(each) for key, each in cases.items()}
