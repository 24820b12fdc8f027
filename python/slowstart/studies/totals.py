"""The verdicts of all built-in studies by published number: what ``slowstart study totals`` prints.

The numbers are those of the document ``result.json`` in each study's folder of results.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError
from slowstart.studies.catalogue import names
from slowstart.studies.claims import DIFFERS, INDEPENDENT, WORDS

if TYPE_CHECKING:
    from pathlib import Path

RESULT = "result.json"


def gather(folder: Path) -> list[dict[str, Any]]:
    """An entry for each built-in study that has results in ``folder``/study-NAME.

    Of the independent claims that differ, ``without_experiment`` are those whose explanation rests
    on no experiment of the study, ``arguments`` those whose explanation no run can contradict, and
    ``refuted`` those whose explanation these runs contradict.

    Raises:
        InputError: No study has results there, or one of the documents cannot be read.
    """
    found = []
    for name in names():
        file = folder / f"study-{name}" / RESULT
        if file.is_file():
            found.append(_entry(name, file))
    if not found:
        raise InputError(
            f"{folder} has no results of a study (study-NAME/{RESULT}): run slowstart study NAME "
            "there first"
        )
    return found


def _entry(name: str, file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        totals = {word: int(document["totals"][word]) for word in WORDS}
        differing = [
            each
            for each in document["claims"]
            if each["verdict"] == DIFFERS and each["standing"] == INDEPENDENT
        ]
        return {
            "name": name,
            "quick": bool(document["quick"]),
            "stacks": [each["stack"] for each in document["stacks"]],
            "totals": totals,
            "numbers": sum(totals.values()),
            "without_experiment": [each["id"] for each in differing if not each["evidence"]],
            "arguments": [each["id"] for each in differing if _is_argument(each["evidence"])],
            "refuted": [each["id"] for each in differing if not each["holds"]],
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is not the result of a study: {error}") from error


def _is_argument(evidence: dict[str, Any]) -> bool:
    """Whether an explanation requires nothing of the numbers that it rests on."""
    return bool(evidence) and not any(each.get("required") for each in evidence.values())
