"""What a fitted path answers about chosen connections: the cost of an exit, and other start-ups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slowstart._native import analyze_file, replay_file
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowstart.analysis import path_fit

ALL = "all"
"""The name that asks for every start-up."""
HEADS = ("algorithm", "completion", "difference", "interval", "answer", "exit", "retr.", "queue")
_ANSWERS = {-1: "faster", 0: "cannot tell", 1: "slower"}
# Ends of a replay that decide nothing by themselves.
_UNDECIDED = {"window-differs", "real-sender-differs", "real-exit", "nothing"}


def fit_paths(
    chosen: Sequence[dict[str, Any]],
    files: Sequence[str],
    most: int,
    progress: Callable[[int, int], None],
) -> dict[int, path_fit.Fit]:
    """Fits paths to the first ``most`` connections, and adds what their exits cost as ``cost``.

    Returns the fits by the place of the connection. One without a fit gets a cost that says why.
    """
    if most == 0:
        return {}
    need_report("the cost of an exit")
    from slowstart.analysis import path_fit
    from slowstart.analysis.situation import POINTS

    fits = {}
    modelled = list(chosen[:most])
    by_file: dict[str, list[int]] = {}
    for each in modelled:
        by_file.setdefault(each.get("file", files[0]), []).append(each["number"])
    drawn: dict[tuple[str, int], dict[str, Any]] = {}
    for file, numbers in by_file.items():
        report = json.loads(analyze_file(file, points=POINTS, numbers=numbers))
        drawn |= {(file, each["number"]): each for each in report["connections"]}
    for place, each in enumerate(modelled):
        progress(place, len(modelled))
        try:
            found = path_fit.fit(drawn[each.get("file", files[0]), each["number"]])
        except InputError as error:
            each["cost"] = path_fit.Cost(None, str(error)).document()
            continue
        fits[place] = found
        each["cost"] = path_fit.cost(found).document()
        each["fit"] = found.document()
    progress(len(modelled), len(modelled))
    return fits


def cost_text(connection: dict[str, Any]) -> str:
    """The cost of an exit with its interval, as the terminal and the report show it."""
    cost = connection.get("cost")
    if cost is None:
        return "-"
    if cost["seconds"] is None:
        return "cannot tell"
    low, high = tables.seconds(cost["low_s"]), tables.seconds(cost["high_s"])
    return f"{tables.seconds(cost['seconds'])} [{low}, {high}]"


def cost_sentence(connection: dict[str, Any]) -> str | None:
    """The cost of an exit in a sentence; ``None`` if it was not asked for."""
    cost = connection.get("cost")
    if cost is None:
        return None
    if cost["seconds"] is None:
        return f"The cost of the exit is unknown: {cost['why']}."
    return (
        f"Against an ideal exit on the fitted path, the exit cost {cost_text(connection)} "
        "of the completion time."
    )


def answer(
    found: path_fit.Fit | None,
    connection: dict[str, Any],
    file: str,
    asked: Sequence[str],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """What other algorithms would have done: ``replays``, and ``answers`` of the fitted path.

    Raises:
        InputError: An algorithm is unknown.
    """
    from slowstart.analysis import path_fit

    names = list(dict.fromkeys(
        name for each in asked for name in (path_fit.start_ups() if each == ALL else [each])
    ))  # fmt: skip
    replays = json.loads(replay_file(file, numbers=[connection["number"]], algorithms=names))
    answers = []
    for place, name in enumerate(names if found is not None else []):
        progress(place, len(names))
        one = path_fit.answer(found, name, replays[place]) if found is not None else None
        if one is not None:
            answers.append(one.document())
    return {"replays": replays, "answers": answers}


def rows(answers: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The answers as rows of :data:`HEADS`, the fastest first."""
    made = []
    for each in sorted(answers, key=lambda one: one["difference"]["seconds"]):
        outcome, change = each["outcome"], each["difference"]
        left = outcome["exit"]
        made.append([
            each["algorithm"],
            tables.seconds(outcome["completion_s"]),
            _signed(change["seconds"]),
            f"[{_signed(change['low_s'])}, {_signed(change['high_s'])}]",
            _ANSWERS[each["sign"]],
            "none" if left is None else f"{tables.seconds(left[0])}, {left[2]}",
            str(outcome["retransmissions"]),
            "-" if outcome["queue_ms"] is None else tables.seconds(outcome["queue_ms"] / 1e3),
        ])  # fmt: skip
    return made


def _signed(value: float) -> str:
    text = tables.seconds(abs(value))
    return f"-{text}" if value < 0 else f"+{text}"


def lines(
    found: path_fit.Fit | None, replays: Sequence[dict[str, Any]], names: Sequence[str]
) -> list[str]:
    """Sentences beside the table: the error of the fit first, then replays that decide."""
    from slowstart.analysis import path_fit

    made = [] if found is None else [path_fit.sentence(found), *found.best.situation.notes]
    if ALL in names:
        return made
    return made + [each["sentence"] for each in replays if each["end"] not in _UNDECIDED]
