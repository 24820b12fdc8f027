"""The kernel's TCP and commands behind emulated paths. Most tests need root.

Where the right is missing these tests are skipped with the reason; they fail instead where ``CI``
or ``SLOWSTART_REQUIRE_ROOT_TESTS`` is set.
"""

from __future__ import annotations

import json
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

import slowstart

BEHIND = "import os, sys; sys.exit(7 if os.environ['SLOWSTART_PEER'] == '10.77.0.2' else 1)"
MAIN = "from slowstart.commands.cli import main; main()"


@pytest.mark.usefixtures("right")
def test_a_comparison_on_the_kernel_has_the_same_document(
    command: Command, tmp_path: Path, path_file: Path
) -> None:
    # A busy machine may fail the self-check; the numbers still meet the assertions.
    done = command(
        "compare", path_file.name, "-a", "cubic", "-a", "reno", "--size", "1 MB", "-n", "2",
        "--stack", "linux", "--force", "--json", "-o", "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == 2
    assert [each["stack"] for each in document["runs"]] == ["linux"] * 4
    assert {each["stack_version"] for each in document["runs"]} == {platform.release()}
    assert [each["run"] for each in document["runs"]] == [0, 1, 0, 1]
    assert {row["runs"] for row in document["summary"]} == {2}
    for run in document["runs"]:
        (flow,) = run["flows"]
        assert flow["completed"]
        assert flow["bytes_acked"] == 1_000_000
        assert 0.04 + 8e6 / 20e6 < flow["fct_s"] < 2.0
        assert isinstance(run["check"]["valid"], bool)
    assert [each["congestion"] for each in document["runs"]] == [["cubic"]] * 2 + [["reno"]] * 2
    out = tmp_path / "out"
    assert set(pl.read_parquet(out / "flows.parquet")["stack"]) == {"linux"}
    report = (out / "report.html").read_text()
    assert "Run on the TCP of Linux" in report
    assert "Simulated by" not in report
    names = {each.name for each in out.glob("*.svg")}
    assert "completion-by-size.svg" not in names
    assert any(name.startswith("evolution") for name in names)


@pytest.mark.usefixtures("right")
def test_a_scenario_file_runs_with_time_series(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        'runs = 2\n[path]\nrate = "20 Mbit/s"\nrtt = "20 ms"\nbuffer = "1 bdp"\n'
        '[[flow]]\nalgorithm = "cubic"\nsize = "200 kB"\n'
    )
    done = command("run", "one.toml", "--stack", "linux", "--force", "--traces", "-o", "out", "-q")
    assert done.returncode == 0, done.stderr
    assert set(pl.read_parquet(tmp_path / "out" / "flow_traces.parquet")["run"]) == {0, 1}


@pytest.mark.usefixtures("right")
def test_from_python_runs_that_failed_the_self_check_are_in_the_document_only() -> None:
    scenarios = slowstart.compare("wired", "reno", size="200 kB", runs=2)
    reported: list[tuple[int, int]] = []
    result = slowstart.run(
        scenarios, stack="linux", traces=True, progress=lambda *done: reported.append(done)
    )
    left_out = {number for _, number, _ in result.untrusted()}
    document = json.loads(result.to_json())
    assert [each["run"] for each in document["runs"]] == [0, 1]
    assert {each["run"] for each in document["runs"] if not each["counts"]} == left_out
    assert set(pl.DataFrame(result.flows())["run"]) == {0, 1} - left_out
    assert set(pl.DataFrame(result.flow_traces())["run"]) == {0, 1} - left_out
    assert reported[0][1] == 2


@pytest.mark.usefixtures("right")
def test_runs_that_failed_the_self_check_are_reported_and_excluded(
    command: Command, tmp_path: Path
) -> None:
    # No current machine can emulate this rate in one thread.
    (tmp_path / "fast.toml").write_text(
        '[path]\nrate = "40 Gbit/s"\nrtt = "1 ms"\nbuffer = "1000 packets"\n'
    )
    words = ("compare", "fast.toml", "-a", "reno", "--duration", "500 ms", "--stack", "linux")
    done = command(*words, "-o", "out")
    assert (done.returncode, done.stdout) == (1, "")
    repeated, excluded, refused = done.stderr.splitlines()
    assert repeated == (
        "slowstart: the runs were made 3 times, because runs failed the emulator's timing "
        "self-check: 1 of 1, then 1 of 1, then 1 of 1"
    )
    assert excluded.startswith("slowstart: reno+standard over fast, run 0, excluded: ")
    assert "--force" in refused
    assert not (tmp_path / "out").exists()
    done = command(*words, "--force", "--json")
    assert done.returncode == 0
    assert "included because of --force" in done.stderr
    document = json.loads(done.stdout)
    assert not document["runs"][0]["check"]["valid"]
    assert document["runs"][0]["counts"]
    assert document["summary"][0]["runs"] == 1


@pytest.mark.usefixtures("right")
def test_ctrl_c_stops_the_kernel_at_once(tmp_path: Path) -> None:
    # It takes ten minutes unless stopped.
    words = ("compare", "geo", "-a", "reno", "--size", "10 GB", "--stack", "linux", "-o", "out")
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *words],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not list(tmp_path.iterdir()):  # until the folder aside is there
        assert process.poll() is None
        time.sleep(0.01)
    # Usually the flow runs by then; the assertions hold at any time.
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("right")
def test_what_the_kernel_lacks_is_rejected_first(command: Command, tmp_path: Path) -> None:
    done = command("compare", "wired", "-a", "reno+search", "--stack", "linux", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "reno+search" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("right")
def test_a_command_behind_a_path_keeps_its_status(command: Command, tmp_path: Path) -> None:
    done = command("emulate", "wired", "--seed", "3", "--", sys.executable, "-c", BEHIND)
    assert done.returncode == 7, done.stderr
    (tmp_path / "page").write_bytes(b"x" * 100_000)
    fetch = (
        "import urllib.request as u;"
        "assert len(u.urlopen('http://10.77.0.2:8000/page').read()) == 100_000"
    )
    done = command(
        "emulate", "wired", "--capture", "a.pcapng", "--log", "a.log",
        "--server-command", f"exec {sys.executable} -m http.server",
        "--", sys.executable, "-c", fetch,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.pcapng").stat().st_size > 100_000
    assert (tmp_path / "a.log").stat().st_size > 0
    # Both sides capture the same amount; the file names its side.
    done = command(
        "emulate", "wired", "--capture", "b.pcapng", "--capture-side", "receiver",
        "--server-command", f"exec {sys.executable} -m http.server",
        "--", sys.executable, "-c", fetch,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sides = [b"sender" in (tmp_path / name).read_bytes() for name in ("a.pcapng", "b.pcapng")]
    assert sides == [True, False]
    assert (tmp_path / "b.pcapng").stat().st_size > 100_000


@pytest.mark.usefixtures("right")
def test_a_missing_command_is_rejected(command: Command, tmp_path: Path) -> None:
    done = command("emulate", "wired", "--log", "a.log", "--", "no-such-command")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no-such-command" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("right")
def test_existing_files_are_kept_and_names_must_differ(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    for words, named in (
        (("--log", "a"), "--force"),
        (("--capture", "a"), "--force"),
        (("--capture", "b", "--log", "./b"), "one name"),
    ):
        done = command("emulate", "wired", *words, "--", "true")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert named in done.stderr
        assert [each.name for each in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "mine"
    done = command("emulate", "wired", "--log", "a", "--force", "--", "true")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a").read_text() != "mine"


REFUSED = {
    "forced simulations": (("compare", "wired", "--force"), "--stack linux"),
    "switched simulations": (("compare", "wired", "--switch-hystart"), "--stack linux"),
    "unknown stack": (("compare", "wired", "--stack", "bsd"), "bsd"),
    "threads": (("compare", "wired", "--stack", "linux", "--threads", "2"), "--threads"),
    "no command": (("emulate", "wired"), "COMMAND"),
    "a side of no capture": (
        ("emulate", "wired", "--capture-side", "sender", "--", "true"),
        "--capture FILE",
    ),
    "an unknown side": (
        ("emulate", "wired", "--capture", "a", "--capture-side", "left", "--", "true"),
        "left",
    ),
    "unknown path": (("emulate", "wierd", "--", "true"), "wierd"),
    "negative seed": (("emulate", "wired", "--seed", "-1", "--", "true"), "seed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_in_one_sentence(command: Command, name: str) -> None:
    words, named = REFUSED[name]
    done = command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


def test_without_permission_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    # A process that may open no files cannot open the device.
    code = """
import resource, sys
from slowstart import running
from slowstart.commands import cli, emulate

def without(function):
    def call(*words, **options):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        return function(*words, **options)
    return call

running.check_linux = without(running.check_linux)
emulate.emulate = without(emulate.emulate)
sys.exit(cli.invoke(sys.argv[1:]))
"""
    for words in (
        ("compare", "wired", "-a", "reno", "--stack", "linux", "-o", "out"),
        ("emulate", "wired", "--", "true"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1
        assert "emulation needs /dev/net/tun" in done.stderr
        assert list(tmp_path.iterdir()) == []


class _Made:
    """A result whose given runs failed the self-check."""

    def __init__(self, *failed: tuple[int, int]) -> None:
        self.failed = failed

    def untrusted(self) -> list[tuple[int, int, list[str]]]:
        return [(*each, ["late"]) for each in self.failed]


def test_runs_on_the_kernel_are_made_again_until_each_algorithm_has_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from slowstart.commands import execution

    repeated: Any = execution.repeated
    scenarios = slowstart.compare("wired", ["cubic", "reno"], size="200 kB", runs=2)
    # One failed run of two is excluded, and no reason to repeat all.
    some = _Made((0, 1))
    made = iter([some])
    assert repeated(scenarios, lambda: next(made)) is some
    assert capsys.readouterr().err == ""
    made = iter([_Made((1, 0), (1, 1), (0, 0)), some])
    assert repeated(scenarios, lambda: next(made)) is some
    assert capsys.readouterr().err.endswith("self-check: 3 of 4, then 1 of 4\n")
    # A complete one is shown, even if fewer runs failed before.
    made = iter([_Made((1, 0), (1, 1)), both := _Made((0, 0), (1, 1))])
    assert repeated(scenarios, lambda: next(made)) is both
    assert capsys.readouterr().err.endswith("self-check: 2 of 4, then 2 of 4\n")
    # None is complete: the one with the fewest failures is shown.
    two = _Made((1, 0), (1, 1))
    made = iter([_Made((1, 0), (1, 1), (0, 0)), two, _Made((0, 0), (0, 1), (1, 1))])
    assert repeated(scenarios, lambda: next(made)) is two
    assert "made 3 times" in capsys.readouterr().err
