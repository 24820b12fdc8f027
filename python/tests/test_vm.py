"""A kernel in virtual time.

Where QEMU, a kernel or the machine's program are missing these tests are skipped with the reason;
they fail instead where ``SLOWSTART_REQUIRE_ROOT_TESTS`` is set.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Command

import slowstart
from slowstart import studies, vm


@pytest.fixture(scope="session")
def machine() -> None:
    """Skips the test unless the virtual machine is installed."""
    lacks = vm.missing()
    if lacks is not None:
        if os.environ.get("SLOWSTART_REQUIRE_ROOT_TESTS"):
            pytest.fail(lacks)
        pytest.skip(lacks)


@pytest.mark.usefixtures("machine")
def test_a_run_repeats_to_the_bit_and_leaves_slow_start_where_the_simulator_does(
    path_file: Path,
) -> None:
    scenarios = slowstart.compare(str(path_file), "cubic+standard", size="1 MB")
    first, second = (
        slowstart.run(scenarios, stack="linux-vm", traces=True, threads=1) for _ in range(2)
    )
    assert first.to_json() == second.to_json()
    (run,) = json.loads(first.to_json())["runs"]
    assert (run["stack"], run["congestion"]) == ("linux-vm", ["cubic"])
    assert run["check"]["valid"], run["check"]["reasons"]
    assert len(first.flow_traces()) > 100
    (simulated,) = json.loads(slowstart.run(scenarios).to_json())["runs"]
    (seen,), (expected,) = run["flows"], simulated["flows"]
    assert seen["completed"]
    windows = [each["slow_start_exit"]["cwnd_bytes"] for each in (seen, expected)]
    assert windows[0] == pytest.approx(windows[1], rel=0.01)
    assert seen["first_drop_s"] == pytest.approx(expected["first_drop_s"], rel=0.01)


STUDY = """
[[experiment]]
name = "short"
about = "Two start-ups."
stacks = ["simulated", "linux"]
traces = 1
time_to = ["100 kB"]
scenario = { path = { rate = "20 Mbit/s", rtt = "40 ms" }, flow = [{ size = "300 kB" }] }

[experiment.grid]
"flow.algorithm" = ["cubic+hystart", "cubic+standard", "cubic+search"]
"""


@pytest.mark.usefixtures("machine")
def test_a_study_runs_beside_the_simulator(tmp_path: Path) -> None:
    made = tmp_path / "small"
    made.mkdir()
    (made / "study.toml").write_text(STUDY)
    found = studies.load(made).run(tmp_path / "out", stacks=["simulated", "linux-vm"], runs=1)
    flows = {stack: found.table("short", stack) for stack in found.stacks}
    simulated, kernel = flows["simulated"], flows["linux-vm"]
    # Debian's kernel has no SEARCH.
    assert kernel["algorithm"].to_list() == ["cubic+hystart", "cubic+standard"]
    assert kernel["completed"].all()
    assert kernel["fct_s"].to_list() == pytest.approx(simulated["fct_s"][:2].to_list(), rel=0.02)
    assert kernel["time_to_100kB_s"].null_count() == 0
    assert not found.table("short", "linux-vm", "flow_traces").is_empty()
    runs = found.table("short", "linux-vm", "runs")
    assert runs["counts"].all(), runs["reasons"].to_list()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "linux-vm" in page
    # Nothing is run twice.
    before = runs["wall_s"].to_list()
    again = studies.load(made).run(tmp_path / "out", stacks=["linux-vm"], runs=1)
    assert again.table("short", "linux-vm", "runs")["wall_s"].to_list() == before


@pytest.mark.usefixtures("machine")
def test_the_modules_of_the_kernel_exist(command: Command, path_file: Path) -> None:
    done = command(
        "compare", path_file.name, "-a", "vegas", "--size", "100 kB", "--stack", "linux-vm",
        "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["congestion"] == ["vegas"]


@pytest.mark.usefixtures("machine")
def test_what_the_kernel_lacks_is_rejected_first(command: Command, path_file: Path) -> None:
    done = command("compare", path_file.name, "-a", "cubic+search", "--stack", "linux-vm")
    assert done.returncode == 2
    assert "cubic+search" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_missing_parts_are_reported(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWSTART_VM_CACHE", str(tmp_path / "none"))
    for arguments in (("vm",), ("compare", "wired", "-a", "cubic", "--stack", "linux-vm")):
        done = command(*arguments)
        assert done.returncode == 2
        assert "slowstart vm prepare" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "none").exists()


def test_only_packages_of_kernels_are_fetched(command: Command) -> None:
    done = command("vm", "prepare", "bash")
    assert done.returncode == 2
    assert "linux-image-" in done.stderr
