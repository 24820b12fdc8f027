"""quiche as a worker (``make quiche``): deterministic, and its HyStart++ changes the exit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import slowstart

WORKER = Path(__file__).parents[2] / "target/quiche/release/slowstart-quiche"
STACK = f"worker: {WORKER}"

pytestmark = pytest.mark.skipif(
    not WORKER.exists(), reason="make quiche has not built target/quiche/release/slowstart-quiche"
)


def run(algorithm: str) -> dict[str, Any]:
    """The run of a transfer over the wired path."""
    (scenario,) = slowstart.compare("wired", [algorithm], size="5 MB", stack=STACK)
    document: dict[str, Any] = json.loads(slowstart.run(scenario).to_json())["runs"][0]
    return document


def test_two_processes_give_the_same_result() -> None:
    """Clock, random numbers and hash order come from the run."""
    assert run("own") == run("own")


def test_hystart_changes_the_exit() -> None:
    """The exit with HyStart++ of quiche is another than without, at a smaller window."""
    with_it, without = (run(each)["flows"][0]["slow_start_exit"] for each in ("own", "own:cubic"))
    assert with_it["cwnd_bytes"] < without["cwnd_bytes"]
