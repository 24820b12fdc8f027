"""``slowstart study totals``: the verdicts of all studies by published number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slowstart import InputError, studies
from slowstart.studies import totals
from slowstart.studies.catalogue import names
from slowstart.studies.claims import INDEPENDENT, WORDS

if TYPE_CHECKING:
    from conftest import Command

WRONG: dict[str, object] = {"half": {"value": 3, "required": True}}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "study-totals.md"


def write(folder: Path, name: str, counts: list[int], claims: list[dict[str, object]]) -> None:
    place = folder / f"study-{name}"
    place.mkdir()
    document = {
        "quick": True,
        "stacks": [{"stack": "simulated"}],
        "totals": dict(zip(WORDS, counts, strict=True)),
        "claims": claims,
    }
    (place / "result.json").write_text(json.dumps(document))


def claim(
    name: str, verdict: str, standing: str, evidence: dict[str, object], *, holds: bool = True
) -> dict[str, object]:
    place = {"id": name, "verdict": verdict, "standing": standing}
    return {**place, "evidence": evidence, "holds": holds}


def test_the_totals_of_all_studies(command: Command, tmp_path: Path) -> None:
    claims = [
        claim("shown", "differs", INDEPENDENT, {"half": {"value": 1, "required": True}}),
        claim("illustrated", "differs", INDEPENDENT, {"half": {"value": 1, "required": False}}),
        claim("argued", "differs", INDEPENDENT, {}),
        claim("again", "differs", "duplicate", {}),
        claim("fits", "agrees", INDEPENDENT, {}),
        claim("wrong", "differs", INDEPENDENT, WRONG, holds=False),
        claim("again-wrong", "differs", "duplicate", WRONG, holds=False),
    ]
    write(tmp_path, "suss-testbed", [1, 2, 0, 0, 0], claims)
    write(tmp_path, "hsdpa-live", [5, 0, 3, 1, 4], [])
    done = command("study", "totals", "-o", str(tmp_path))
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["study", "hsdpa-live", "suss-testbed", "all"]
    assert rows[2] == ["suss-testbed", "quick", "3", "1", "2", "0", "0", "0", "1", "1", "1"]
    assert rows[3][2:] == ["16", "6", "2", "3", "1", "4", "1", "1", "1"]
    entries = json.loads(command("study", "totals", "-o", str(tmp_path), "--json").stdout)
    assert entries["studies"][1]["without_experiment"] == ["argued"]
    assert entries["studies"][1]["arguments"] == ["illustrated"]
    assert entries["studies"][1]["refuted"] == ["wrong"]


def test_totals_need_results_and_no_other_option(command: Command, tmp_path: Path) -> None:
    done = command("study", "totals", "-o", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no results of a study" in done.stderr
    assert command("study", "totals", "--quick").returncode == 2
    (tmp_path / "study-suss-testbed").mkdir()
    (tmp_path / "study-suss-testbed" / "result.json").write_text("{}")
    with pytest.raises(InputError, match="is not the result of a study"):
        totals.gather(tmp_path)


def test_every_explanation_rests_on_a_run() -> None:
    argued = [
        f"{name}/{each.name}"
        for name in names()
        for each in studies.load(name).claims
        if each.standing == INDEPENDENT and each.explanation.words and not each.explanation.evidence
    ]
    assert argued == []


def test_a_run_can_contradict_every_explanation_that_is_no_argument() -> None:
    open_ended = [
        f"{name}/{each.name}"
        for name in names()
        for each in studies.load(name).claims
        if each.explanation.words
        and not each.explanation.is_argument
        and not any(one.is_required for one in each.explanation.evidence.values())
    ]
    assert open_ended == []


def test_the_page_of_totals_has_every_study_and_its_numbers() -> None:
    text = PAGE.read_text().partition("## Before")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| (?:quick|full) \| ([\d |]+) \|$", text, re.MULTILINE)
    counts = {name: [int(each) for each in cells.split(" | ")] for name, cells in rows}
    assert sorted(counts) == sorted(names())
    for name in names():
        numbers, *words = counts[name]
        known = {each.number for each in studies.load(name).claims if each.standing == INDEPENDENT}
        assert sum(words[: len(WORDS)]) == numbers
        # Numbers that rest on one measurement count once, so there may be fewer than are named.
        assert len(known) / 2 < numbers <= len(known), name
