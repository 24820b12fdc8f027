"""``slowstart kernel``, and runs that load what they need. Most of it needs root.

Where that, or a part of the build, is missing, these tests are skipped with the reason; they fail
instead where ``CI`` or ``SLOWSTART_REQUIRE_ROOT_TESTS`` is set and the kernel has BTF.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Command

from slowstart._native import kernel_status
from slowstart.analysis import kernel as analysis_kernel

NAMES = [
    "ss_search",
    "ss_search31",
    "ss_search40",
    "ss_hspp",
    "ss_hspatch",
    "ss_hspaper",
    "ss_suss",
    "ss_cubic_std",
    "ss_bic",
    "ss_westwood",
]
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> set[str]:
    return set(AVAILABLE.read_text().split())


@pytest.fixture(scope="session")
def loading() -> None:
    """Skips the test (in CI: fails it) unless loading is possible."""
    needs = json.loads(kernel_status([]))["needs"]
    missing = {need["what"]: need["missing"] for need in needs if need["missing"]}
    if not missing:
        return
    required = any(os.environ.get(name) for name in ("CI", "SLOWSTART_REQUIRE_ROOT_TESTS"))
    if required and "types" not in missing:
        pytest.fail("; ".join(missing.values()))
    pytest.skip("; ".join(missing.values()))


def test_status_lists_requirements_and_controls(command: Command) -> None:
    done = command("kernel", "status", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == 1
    assert [control["name"] for control in document["controls"]] == NAMES
    assert {control["name"] for control in document["controls"] if control["loaded"]} == (
        available() & set(NAMES)
    )
    assert [need["what"] for need in document["needs"]][:2] == ["kernel", "types"]
    done = command("kernel", "status", "cubic+search:version=4.0", "--json")
    assert [each["name"] for each in json.loads(done.stdout)["controls"]] == ["ss_search40"]
    done = command("kernel", "status", "ss_hspp")
    assert done.returncode == 0, done.stderr
    assert "cubic+hystart++" in done.stdout
    assert "TCP_CONGESTION" in done.stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("load", "bbr"), "`bbr` cannot be loaded"),
        (("load", "cubic+search:bins=12"), "bins=12"),
        (("unload", "nonsense"), "nonsense"),
        (("status", "nonsense"), "nonsense"),
        (("load", "--json"), "--json"),
        (("lend",), "lend"),
        ((), "verb"),
    ],
)
def test_it_is_refused_in_one_sentence(
    command: Command, words: tuple[str, ...], named: str
) -> None:
    done = command("kernel", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


@pytest.mark.usefixtures("loading")
def test_a_loaded_control_stays_until_unloaded(command: Command) -> None:
    if "ss_search31" in available():
        pytest.skip("ss_search31 is loaded already and may be in use")
    done = command("kernel", "load", "cubic+search:version=3.1,exit=rollback")
    try:
        assert done.returncode == 0, done.stderr
        assert "net.ipv4.tcp_congestion_control=ss_search31" in done.stdout
        assert "ss_search31" in available()
        again = command("kernel", "load", "ss_search31")
        assert (again.returncode, again.stderr.count("\n")) == (2, 1)
        assert "already loaded" in again.stderr
    finally:
        done = command("kernel", "unload", "cubic+search:version=3.1")
    assert done.returncode == 0, done.stderr
    assert "ss_search31" not in available()
    done = command("kernel", "unload", "ss_search31")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not loaded" in done.stderr


@pytest.mark.usefixtures("loading")
def test_a_comparison_loads_what_it_needs_and_leaves_nothing(
    command: Command, tmp_path: Path
) -> None:
    before = available()
    # The buffer is large enough that SEARCH exits before a drop.
    (tmp_path / "deep.toml").write_text(
        '[path]\nrate = "20 Mbit/s"\nrtt = "40 ms"\nbuffer = "8 bdp"\n'
    )
    done = command(
        "compare", "deep.toml", "-a", "cubic+search", "-a", "cubic+search:version=4.0",
        "-a", "cubic+hystart++", "-a", "cubic+standard", "--size", "2 MB",
        "--stack", "linux", "--force", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    controls = [run["congestion"] for run in runs]
    assert controls == [["ss_search"], ["ss_search40"], ["ss_hspp"], ["ss_cubic_std"]]
    for run in runs:
        assert run["sampler"] == "tcp_probe"
        assert run["samples_lost"] == 0
        # 1382 segments, of which each ACK covers at most a few.
        assert run["samples"] > 100
        assert run["flows"][0]["completed"]
    search = runs[0]
    assert search["flows"][0]["slow_start_exit"]["reason"] == "search"
    (decision,) = search["decisions"]
    cwnd = search["flows"][0]["slow_start_exit"]["cwnd_bytes"]
    assert decision["cwnd_segments"] * 1448 == cwnd
    assert decision["norm_permille"] >= 350
    assert available() == before


@pytest.mark.usefixtures("loading")
def test_the_error_table_has_the_programs_and_leaves_nothing() -> None:
    """``slowstart validate analyze kernel`` runs what it loads, beside what the kernel has."""
    before = available()
    with analysis_kernel.controls() as (names, notes):
        assert set(names.values()) <= available()
        assert {"cubic+standard", "cubic+search", "cubic+hystart++"} <= set(names)
        assert all("does not have" in note for note in notes)
        chosen = analysis_kernel.cases(1, names)
        assert len({case.name for case in chosen}) == len(names) * 15
    assert available() == before
