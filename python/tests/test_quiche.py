"""quiche as a worker, where `make quiche` has built it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowstart.commands.cli import invoke

PROGRAM = Path(__file__).parents[2] / "stacks/quiche/target/release/slowstart-quiche"
STACK = f"worker: {PROGRAM}"

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="quiche is not built: make quiche builds it in some minutes"
)


def test_check_stack_finds_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Among its trials: the same seed gives the same bytes, though TLS draws random numbers."""
    assert invoke(["check-stack", STACK]) == 0, capsys.readouterr().out
    printed = capsys.readouterr().out
    for controller in ("cubic", "reno", "bbr2_gcongestion", "cubic+standard", "reno+standard"):
        assert f"passed  {controller}: the same seed gives the same bytes" in printed


def test_hystart_decides_when_cubic_leaves_slow_start(capsys: pytest.CaptureFixture[str]) -> None:
    """On LTE: with HyStart++ some runs leave without a loss, and without it none does."""
    words = ["compare", "lte", "-a", "own", "-a", "own:cubic+standard", "--stack", STACK]
    words += ["-n", "3", "--size", "20 MB", "--json"]
    printed = []
    for _ in range(2):
        assert invoke(words) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    exits: dict[str, list[str]] = {}
    for run in json.loads(printed[0])["runs"]:
        (flow,) = run["flows"]
        assert flow["completed"]
        exits.setdefault(flow["algorithm"], []).append(flow["slow_start_exit"]["reason"])
    assert "stack" in exits["own:cubic"]
    assert set(exits["own:cubic+standard"]) == {"loss"}
