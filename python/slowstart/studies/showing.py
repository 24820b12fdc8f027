"""One claim of a study: how it is measured and judged, its runs, its figure, and its command.

This is what ``slowstart study show CLAIM`` prints; the numbers of finished runs are those of the
document ``result.json`` in the study's folder of results.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError
from slowstart.studies import headline
from slowstart.studies.bands import plain
from slowstart.studies.catalogue import CLAIMS, FOLDERS, names
from slowstart.studies.files import Node, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.claims import Claim
    from slowstart.studies.study import Study

RESULT = "result.json"


def home(word: str) -> tuple[str, str]:
    """The study and the claim that a word names: ``CLAIM``, or ``STUDY/CLAIM``.

    Raises:
        InputError: No built-in study has the claim.
    """
    study, _, claim = word.rpartition("/")
    if study:
        return study, claim
    known: dict[str, str] = {}
    for name in names():
        for each in Node.read(FOLDERS / name / CLAIMS).value["claim"]:
            known.setdefault(each["id"], name)
    if claim not in known:
        close = nearest(claim, known)
        hint = close if "did you mean" in close else ": write STUDY/CLAIM for a study of your own"
        raise InputError(f"no built-in study has the claim {claim}{hint}")
    return known[claim], claim


def claim_of(study: Study, name: str) -> Claim:
    """The claim of a study with this name.

    Raises:
        InputError: There is none.
    """
    by_name = {each.name: each for each in study.claims}
    if name not in by_name:
        raise InputError(f"{study.name} has no claim {name}{nearest(name, by_name)}")
    return by_name[name]


def document(study: Study, claim: Claim, folder: Path, given: str) -> dict[str, Any]:
    """All about a claim.

    Args:
        study: Its study.
        claim: The claim.
        folder: Where the study's results are, or will be.
        given: The name of the study on the command line.
    """
    drawings = headline.beside(study.drawings, study.claims, study.experiments)
    publication = study.publication
    return {
        "id": claim.name,
        "study": study.name,
        "words": claim.words,
        "where": claim.where,
        "source": None
        if publication is None
        else f"{publication.authors}: {publication.title}, {publication.year}",
        "published": claim.published,
        "unit": claim.unit,
        "agrees_if": None if claim.expected is None else claim.expected.words(claim.unit),
        "tolerance_reason": claim.reason,
        "standing": claim.standing,
        "measure": measure(claim),
        "runs": _runs(study, claim),
        "found": _found(folder, claim),
        "figures": [name for name, those in drawings.items() if claim in those],
        "report": str(folder / "report.html"),
        "command": _command(claim, given, folder),
    }


def measure(claim: Claim) -> str:
    """What is computed, in words."""
    if claim.function is not None:
        given = ", ".join(f"{name} = {value!r}" for name, value in claim.parameters.items())
        return f"{claim.function.__name__}({given}) of the study's analysis"
    if claim.experiment is None:
        return "not measured"
    words = f"{claim.statistic} of {claim.metric}"
    if claim.against is not None and claim.relation == "ratio of means":
        words = f"ratio of the means of {claim.metric}"
    elif claim.against is not None and claim.paired:
        words = f"{claim.statistic} of the {claim.relation}s of {claim.metric} between runs with "
        words += "equal seeds"
    elif claim.against is not None:
        words = f"{claim.relation} of the {claim.statistic}s of {claim.metric}"
    if claim.limit is not None:
        words += f"; a run without a value counts as at least {plain(claim.limit)}"
    return words


def _runs(study: Study, claim: Claim) -> dict[str, Any] | None:
    """Which runs of which experiment; ``None`` for a claim that needs no run."""
    if claim.experiment is None:
        return None
    plan = study.experiments[claim.experiment]
    cells = plan.select(claim.select)
    counts = {each.runs.of("simulated", quick=False) for each in cells}
    return {
        "experiment": claim.experiment,
        "about": plan.about,
        "select": dict(claim.select),
        "against": None if claim.against is None else dict(claim.against),
        "cells": len(cells),
        "runs_of_each": sorted(counts),
        "table": f"{claim.table}-{claim.experiment}-simulated.parquet",
    }


def _found(folder: Path, claim: Claim) -> list[dict[str, Any]]:
    """What finished runs found, on each stack; empty without results."""
    made = _made(folder)
    keys = ("stack", "verdict", "reason", "measured", "explanation", "holds")
    return [
        {**{key: each[key] for key in keys}, "quick": made["quick"]}
        for each in made.get("claims", [])
        if each["id"] == claim.name
    ]


def _made(folder: Path) -> dict[str, Any]:
    """The result document in a folder; empty without one."""
    try:
        made = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return {}
    return made if isinstance(made, dict) else {}


def _command(claim: Claim, given: str, folder: Path) -> str:
    only = [] if claim.experiment is None else ["--only", claim.experiment]
    place = [] if str(folder) == f"study-{Path(given).name}" else ["-o", str(folder)]
    tmix = _made(folder).get("tmix")
    file = [] if tmix is None else ["--tmix", tmix["file"]]
    return shlex.join(["slowstart", "study", given, *file, *only, *place])


def lines(made: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A :func:`document` as pairs of a head and a sentence."""
    unit = f" {made['unit']}" if made["unit"] else ""
    number = "" if made["published"] is None else f"{plain(made['published'])}{unit}, "
    said = f"{number}{made['where']}"
    if made["source"]:
        said += f" of {made['source']}"
    rows = [("published", said)]
    reason = f" ({made['tolerance_reason']})" if made["tolerance_reason"] else ""
    rows.append(("agrees if", f"{made['agrees_if'] or 'never: it cannot be tested'}{reason}"))
    rows.append(("measure", made["measure"]))
    if made["runs"] is not None:
        rows += _run_lines(made["runs"])
    for each in made["found"]:
        rows.append((f"on {each['stack']}", _found_line(each, unit)))
        if each["explanation"] and each["verdict"] == "differs":
            rows.append(("because", each["explanation"]))
    if not made["found"]:
        rows.append(("found", "nothing yet: the command below runs it"))
    places = [f"{made['report']}#figure-{name}" for name in made["figures"]]
    rows.append(("figure", ", ".join(places) or "none"))
    rows.append(("in report", f"{made['report']}#{made['id']}"))
    rows.append(("repeat", made["command"]))
    return rows


def _run_lines(runs: Mapping[str, Any]) -> list[tuple[str, str]]:
    def where(labels: Mapping[str, Any]) -> str:
        return ", ".join(f"{axis} = {value}" for axis, value in labels.items()) or "all cells"

    each = " or ".join(map(str, runs["runs_of_each"]))
    cells = "1 cell" if runs["cells"] == 1 else f"{runs['cells']} cells"
    rows = [("runs", f"{runs['experiment']}: {where(runs['select'])} ({cells}, {each} runs each)")]
    if runs["against"] is not None:
        rows.append(("against", where(runs["against"])))
    rows.append(("table", runs["table"]))
    return rows


def _found_line(each: Mapping[str, Any], unit: str) -> str:
    measured = each["measured"]
    words = "no value"
    if measured is not None:
        words = f"found {plain(measured['value'])}{unit}"
        if measured["low"] is not None and measured["confidence"] is not None:
            interval = f"{plain(measured['low'])} to {plain(measured['high'])}"
            words += f" ({100 * measured['confidence']:.0f} % interval {interval})"
        if measured["runs"]:
            words += f" in {measured['runs']} runs"
    quick = " of a quick run" if each["quick"] else ""
    return f"{words}: {each['verdict']}{quick}, {each['reason']}"
