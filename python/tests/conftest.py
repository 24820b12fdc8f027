"""Shared fixtures: the command in its own process, and one small result."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import Forks

import slowstart
from slowstart._native import check_linux
from slowstart.commands.cli import GARBAGE

Command = Callable[..., "subprocess.CompletedProcess[str]"]

PATH = """
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
buffer = "1 bdp"
"""


def pytest_configure() -> None:
    """Searches for garbage as rarely as the command, which saves 7 % of the time of the tests."""
    gc.set_threshold(*GARBAGE)


def pytest_collection_finish() -> None:
    """Keeps modules out of these searches, as they stay until the end."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that the wall clock judges: ``make test`` runs one after another."""
    for item in items:
        if "right" in getattr(item, "fixturenames", ()):
            item.add_marker("realtime")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records a skipped test for the count of ``make test``."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # The process that started this worker records it.
    notes = os.environ.get("SLOWSTART_NOT_JUDGED")
    if notes and report.skipped and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2].removeprefix("Skipped: ")
        reason = reason.replace("\n", " ").replace("\t", " ")
        with Path(notes).open("a", encoding="utf-8") as file:
            file.write(f"{reason}\t{report.nodeid}\n")


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """The process whose forks are the commands of the tests."""
    made = Forks()
    yield made
    made.close()


@pytest.fixture
def command(tmp_path: Path, forks: Forks) -> Command:
    """Runs ``slowstart`` in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return forks.run(arguments, tmp_path, timeout_s=120)

    return run


@pytest.fixture
def module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], str]]:
    """Writes a module to the working directory; returns its name, the tests' ``MODULE``."""
    monkeypatch.chdir(tmp_path)
    name: str = request.module.MODULE

    def write(text: str) -> str:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        sys.modules.pop(name, None)
        return name

    yield write
    sys.modules.pop(name, None)


def flows(*algorithms: str, path: str = "wired", size: str = "2 MB") -> list[dict[str, Any]]:
    """The first flow of each run over a path."""
    result = slowstart.run(slowstart.compare(path, list(algorithms), size=size))
    return [run["flows"][0] for run in json.loads(result.to_json())["runs"]]


@pytest.fixture
def path_file(tmp_path: Path) -> Path:
    """A small path: 20 Mbit/s, 40 ms, one BDP of buffer."""
    file = tmp_path / "small.toml"
    file.write_text(PATH)
    return file


@pytest.fixture(scope="session")
def small() -> slowstart.Result:
    """Two algorithms over a preset, two runs of each, with time series."""
    scenarios = slowstart.compare(
        "wired", ["cubic+search", "reno+standard"], size="2 MB", runs=2, seed=7
    )
    return slowstart.run(scenarios, traces=True)


@pytest.fixture(scope="session")
def right() -> None:
    """Skips the test (in CI: fails it) if this process may not emulate paths."""
    try:
        check_linux([])
    except slowstart.InputError as error:
        if any(os.environ.get(name) for name in ("CI", "SLOWSTART_REQUIRE_ROOT_TESTS")):
            pytest.fail(str(error))
        pytest.skip(str(error))


def stop_at_once(words: list[str], folder: Path, number: int) -> None:
    """Signals a long command, and checks that it ends and leaves nothing in ``folder``."""
    code = "from slowstart.commands.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 30
        while not os.listdir(folder):  # noqa: PTH208 (until the folder aside is there)
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert out == ""
    assert "Traceback" not in err
    assert list(folder.iterdir()) == []
