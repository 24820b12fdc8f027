"""Stacks of others: the examples as shared object and workers, in each command with --stack."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import slowstart
from slowstart.commands.check_stack import INCLUDE
from slowstart.commands.cli import invoke

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = INCLUDE / "examples"
PYTHON = f"worker: {sys.executable} {EXAMPLES / 'worker.py'}"


@pytest.fixture(scope="module")
def minimal(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example in C as a shared object."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    made = tmp_path_factory.mktemp("c") / "minimal.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-I{INCLUDE}", "-o", made, EXAMPLES / "minimal.c"],
        check=True,
    )
    return str(made)


def output(capsys: pytest.CaptureFixture[str], words: list[str], status: int = 0) -> str:
    """What a command prints."""
    assert invoke(words) == status, capsys.readouterr().err
    return capsys.readouterr().out


def test_compare_runs_both_examples_beside_tcp(
    minimal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Same seed, same bytes; the names and versions are those that the stacks state."""
    words = ["compare", "wired", "-a", "own", "-a", "reno", "--size", "400 kB", "--json"]
    plain = [*words, "--stack"]
    assert invoke([*words, "--stack", minimal]) == 2
    assert "minimal runs its own controllers only: choose -a own" in capsys.readouterr().err
    both = [*plain, minimal, "--stack", PYTHON, "--stack", "simulated"]
    first = output(capsys, both)
    assert output(capsys, both) == first
    runs = json.loads(first)["runs"]
    assert [(run["stack"], run.get("stack_version")) for run in runs] == [
        ("minimal", "1.0"),
        ("python-example", "1.0"),
        ("simulated", None),
    ]
    flows = [run["flows"][0] for run in runs]
    assert [flow["name"] for flow in flows] == [
        "own:newreno, minimal",
        "own:newreno, python-example",
        "reno+standard, simulated",
    ]
    assert all(flow["completed"] for flow in flows)


def test_run_python_and_sweep_take_a_stack(
    minimal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file, Python and a sweep give the same run."""
    text = 'path.preset = "wired"\nflow = [{algorithm = "cubic", size = "300 kB"}]\n'
    file = tmp_path / "one.toml"
    file.write_text(text)
    found = json.loads(
        output(capsys, ["run", str(file), "-a", "own", "--stack", minimal, "--json"])
    )
    (run,) = found["runs"]
    made = slowstart.Scenario.from_file(str(file)).on(minimal, "own")
    assert (made.stack, made.own) == (minimal, "own")
    again = json.loads(slowstart.run(made).to_json())["runs"][0]
    assert again["flows"][0]["fct_s"] == run["flows"][0]["fct_s"]
    copy = slowstart.Scenario.from_exact_json(made.to_exact_json())
    assert copy.definition() == made.definition()
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'[scenario]\nstack = "{minimal}"\npath.preset = "wired"\n'
        'flow = [{algorithm = "own", size = "300 kB"}]\n[grid]\n"path.rtt" = ["20 ms", "40 ms"]\n'
    )
    folder = tmp_path / "out"
    assert invoke(["sweep", str(sweep), "-o", str(folder), "-q"]) == 0, capsys.readouterr().err


def test_check_stack_judges_both_forms(minimal: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The examples pass; what is no stack fails with one sentence, or is refused."""
    assert output(capsys, ["check-stack", "--include"]).strip() == str(INCLUDE)
    for given in (minimal, PYTHON):
        text = output(capsys, ["check-stack", given])
        assert text.endswith("8 passed, 0 failed\n"), text
    broken = f"worker: {sys.executable} -c exit(3)"
    document = json.loads(output(capsys, ["check-stack", broken, "--json"], 1))
    (rule,) = document["rules"]
    assert not rule["holds"]
    assert "ended with exit status 3" in rule["fault"]
    mine = ["compare", "wired", "-a", "own", "--stack"]
    for words, sentence in (
        (["check-stack", "quinn"], "neither a shared object"),
        (["check-stack"], "name a stack"),
        (["check-stack", "./missing.so"], "cannot be read"),
        ([*mine, broken], "ended with exit status 3"),
        ([*mine, "mine"], "and your own (./mine.so, "),
        ([*mine, minimal, "--stack", minimal.replace("/minimal", "/./minimal")],
         "both state the name minimal"),
    ):  # fmt: skip
        assert invoke(words) == 2
        assert sentence in capsys.readouterr().err


def test_a_stack_that_fails_in_a_run_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, and a sentence with the stack, the end and the time."""
    text = (EXAMPLES / "worker.py").read_text()
    worker = tmp_path / "worker.py"
    worker.write_text(
        text.replace("self.finished = self", "raise SystemExit(4)\n            _ = self")
    )
    given = f"worker: {sys.executable} {worker}"
    assert invoke(["compare", "wired", "-a", "own", "--stack", given, "--size", "50 kB"]) == 1
    error = capsys.readouterr().err
    assert "ended with exit status 4 (server, at 0." in error
