"""QUIC stacks in ``compare`` and ``list``."""

from __future__ import annotations

import json

import pytest

from slowstart._native import refusal, stacks
from slowstart.commands.cli import invoke

PATH = ["compare", "wired", "--size", "1 MB", "--quiet"]


def test_one_table_has_every_stack(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-a", "cubic+search", "-a", "own", "--json"]
    beside = ["--stack", "quinn", "--stack", "noq", "--stack", "simulated"]
    assert invoke([*PATH, *given, *beside]) == 0
    document = json.loads(capsys.readouterr().out)
    runs = [(run["stack"], run["flows"][0]["algorithm"]) for run in document["runs"]]
    assert runs == [
        ("quinn", "cubic+search"),
        ("noq", "cubic+search"),
        ("simulated", "cubic+search"),
        ("quinn", "own:cubic"),
        ("noq", "own:cubic"),
    ]
    assert all(run["flows"][0]["completed"] for run in document["runs"])
    versions = [run.get("stack_version") for run in document["runs"]]
    assert versions == ["0.11.19", "1.4.0", None, "0.11.19", "1.4.0"]
    names = [row["name"] for row in document["summary"]]
    assert "own:cubic, noq" in names


def test_the_same_bytes_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-a", "cubic+hystart++", "-n", "2", "--json", "--stack", "noq"]
    printed = []
    for _ in range(2):
        assert invoke([*PATH, *given]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_every_start_up_runs_or_is_refused_with_a_sentence() -> None:
    for stack in stacks():
        assert refusal(stack["name"], "cubic+search") is None
        sentence = refusal(stack["name"], "cubic+jump-start")
        assert sentence is not None
        assert sentence.endswith(": cubic+jump-start needs it")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-a", "bbr", "--stack", "quinn"], "lets no controller set the pace: bbr needs it"),
        (["-a", "own:vegas", "--stack", "noq"], "it has cubic, newreno, bbr"),
        (["-a", "cubic", "--stack", "quin"], "unknown stack quin"),
        (["-a", "cubic", "--stack", "quinn", "--stack", "linux"], "runs alone"),
        (["-a", "cubic", "--stack", "quinn", "--stack", "quinn"], "given twice"),
    ],
)
def test_what_does_not_run_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([*PATH, *arguments]) == 2
    assert sentence in capsys.readouterr().err
