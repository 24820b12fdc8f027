"""Without the libraries of the extra ``report``, a command works or names the extra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slowstart
from slowstart import extras
from slowstart._native import parse_toml
from slowstart.commands import cli

ROOT = Path(__file__).parents[2]
SCENARIO = str(ROOT / "scenarios/two-flows.toml")
SWEEP = str(ROOT / "scenarios/sweeps/sweep.toml")
SMALL = ("compare", "wired", "-a", "cubic", "--size", "100kB")
RULES = """
algorithm = "cubic"
[[case]]
name = "clean"
path = "wired"
size = "100 kB"
[case.rules]
loss_at_most = "0 %"
"""

# Commands that need no library of the extra, and a part of their output.
WORKS = (
    (SMALL, f"For a report with figures (-o DIR): {extras.INSTALL}"),
    ((*SMALL, "--json"), '"format"'),
    ((*SMALL, "-o", "flows.parquet"), "The table of flows is flows.parquet"),
    ((*SMALL, "--stack", "quinn"), "cubic"),
    (("run", SCENARIO), "two-flows"),
    (("run", SCENARIO, "--json"), '"format"'),
    (("export", SCENARIO, "-o", "run.pcapng"), "packets"),
    (("export", SCENARIO, "--format", "csv", "-o", "run.csv"), "flows"),
    (("analyze", "capture.pcapng"), "10.77.0."),
    (("packetdrill", str(ROOT / "conformance/packetdrill/slow-start.pkt")), "passed"),
    (("conformance", str(ROOT / "conformance/hystart++-exit.vec")), "as expected"),
    (("list",), "cubic"),
    (("check", "rules.toml"), "1 passed"),
    (("study",), "search-thesis"),
    (("traces",), "Folder of traces"),
    (("--help",), "compare"),
)
# Commands that need one.
NEEDS = (
    (*SMALL, "-o", "report"),
    (*SMALL, "--cost"),
    ("run", SCENARIO, "-o", "report"),
    ("analyze", "capture.pcapng", "-o", "report"),
    ("analyze", "capture.pcapng", "-a", "cubic+search"),
    ("analyze", "capture.pcapng", "--identify"),
    ("export", ".", "--format", "csv", "-o", "run.csv"),
    ("path", "geo", "-o", "look"),
    ("plot", ".", "evolution"),
    ("study", "suss-testbed", "--quick"),
    ("evaluate", "cubic+search", "--quick"),
    ("sweep", SWEEP),
    ("validate", "--quick"),
)


def _short(words: tuple[str, ...] | str) -> str:
    return "" if isinstance(words, str) else " ".join(Path(each).name for each in words)


def without_extra(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs ``slowstart`` in a process that cannot import the libraries of the extra."""
    block = "".join(f"sys.modules[{each!r}] = None;" for each in extras.LIBRARIES)
    code = f"import sys; {block} from slowstart.commands.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("words", "shown"), WORKS, ids=_short)
def test_it_works_without_the_extra(tmp_path: Path, words: tuple[str, ...], shown: str) -> None:
    if words[0] == "analyze":
        assert without_extra(tmp_path, "export", SCENARIO, "-o", words[1]).returncode == 0
    (tmp_path / "rules.toml").write_text(RULES)
    done = without_extra(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


@pytest.mark.parametrize("words", NEEDS, ids=_short)
def test_it_names_the_extra_and_writes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = without_extra(tmp_path, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f" and scipy: {extras.INSTALL}\n"), done.stderr
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("name", [*cli.COMMANDS, *cli.GROUPS])
def test_every_help_works_without_the_extra(tmp_path: Path, name: str) -> None:
    done = without_extra(tmp_path, name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: slowstart {name}" in done.stdout


def test_a_forgotten_check_still_names_the_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "missing", list)
    monkeypatch.setitem(sys.modules, "slowstart.characterization", None)
    monkeypatch.setattr(cli, "program", lambda _: __import__("polars_of_another_name"))
    with pytest.raises(ModuleNotFoundError):
        cli.invoke(["path", "geo"])

    def without_polars(_: object) -> object:
        raise ModuleNotFoundError("No module named 'polars'", name="polars")

    monkeypatch.setattr(cli, "program", without_polars)
    assert cli.invoke(["path", "geo"]) == 2
    assert capsys.readouterr().err == f"slowstart: this needs polars: {extras.INSTALL}\n"


def test_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "missing", lambda: ["numpy", "polars"])
    with pytest.raises(slowstart.InputError, match=r"slowstart\.sweep needs numpy and polars: pip"):
        slowstart.sweep({})


def test_the_extra_installs_the_libraries() -> None:
    tree, _ = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "pyproject.toml")
    project = tree["project"]
    modules = {
        each.replace("-py", "").replace("-", "_")
        for each in map(_name, project["optional-dependencies"]["report"])
    }
    assert modules == set(extras.LIBRARIES)
    assert {_name(each) for each in project["dependencies"]} == {"typer", "rich"}


def _name(requirement: str) -> str:
    return requirement.partition(">=")[0]
