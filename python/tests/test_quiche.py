"""quiche as a worker (``make quiche``): deterministic, and its HyStart++ changes the exit."""

from __future__ import annotations

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
    """The result of a run over the wired path."""
    return slowstart.compare("wired", [algorithm], runs=1, stack=STACK).runs[0].document


def test_two_processes_give_the_same_result() -> None:
    """Clock, random numbers and hash order come from the run."""
    assert run("own") == run("own")


def test_hystart_loses_less() -> None:
    """With HyStart++ of quiche, fewer packets are lost in slow start than without."""
    with_it, without = (run(each)["flows"][0] for each in ("own", "own:cubic"))
    assert with_it["slow_start_exit"] != without["slow_start_exit"]
    assert with_it["segments_retransmitted"] < without["segments_retransmitted"]
