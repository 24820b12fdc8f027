"""How a sender resumes after its application has paused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import slowstart
from slowstart.errors import InputError
from slowstart.metrics import restarts

FILE = Path(__file__).parents[2] / "scenarios/idle-restart.toml"
SMSS = 1448
PATH: dict[str, Any] = {"name": "by hand", "base_rtt_ms": 100.0, "forward": {"delay_ms": 50.0}}
# 10 segments until 1 s; from 4 s on 4 segments, one of them dropped, and then 10 again.
FLOW = pl.DataFrame(
    {
        "run": 0,
        "flow": 0,
        "name": "a",
        "time_s": [0.9, 1.0, 4.1, 4.2, 4.3],
        "cwnd_bytes": [10 * SMSS, 10 * SMSS, 5 * SMSS, 8 * SMSS, 10 * SMSS],
        "in_flight_bytes": [5 * SMSS, 0, 3 * SMSS, 8 * SMSS, 0],
        "rtt_ms": [100.0, 100.0, 100.0, None, 100.0],
        "acked_bytes": [5 * SMSS, 10 * SMSS, 11 * SMSS, 14 * SMSS, 24 * SMSS],
    }
)
LINK = pl.DataFrame(
    {
        "run": 0,
        "link": "forward",
        "time_s": [0.75, 0.85, 0.95, 4.0, 4.15, 4.25, 4.35],
        "transmitted_bytes": [0, 5000, 15000, 15000, 19000, 28000, 38000],
        "drops": [2, 2, 3, 4, 4, 4, 5],
    }
)


def test_an_idle_time_by_hand() -> None:
    (row,) = restarts(FLOW, LINK, PATH).rows(named=True)
    assert (row["idle_from_s"], row["idle_s"]) == (1.0, 3.0)
    assert (row["before_cwnd_bytes"], row["first_flight_bytes"]) == (10 * SMSS, 4 * SMSS)
    # At the link, 50 ms before the other end: 10 kB in the RTT that ends at 0.9 s, 9 kB in the one
    # that ends at 4.2 s.
    assert row["before_bps"] == pytest.approx(8 * 10_000 / 0.1)
    assert row["used_s"] == pytest.approx(0.2)
    # After 0.95 s; the last one is dropped after all data of the flow was acknowledged.
    assert row["drops"] == 1


def test_shorter_pauses_do_not_count() -> None:
    found = restarts(FLOW, LINK, PATH, least_s=3.5)
    assert found.is_empty()
    with pytest.raises(InputError, match="no column acked_bytes"):
        restarts(FLOW.drop("acked_bytes"), LINK, PATH)


@pytest.mark.parametrize(("keep", "flight"), [(False, 10), (True, 849)])
def test_linux_restarts_with_its_initial_window_unless_it_may_not(keep: bool, flight: int) -> None:
    text = FILE.read_text() + ("restart_after_idle = false\n" if keep else "")
    scenario = slowstart.Scenario.from_toml(text, name="idle")
    result = slowstart.run(scenario, traces=True)
    path = scenario.resolved["path"]
    found = restarts(result.flow_traces(), result.link_traces(), path).to_dicts()
    assert [row["idle_s"] for row in found] == [3.0, 3.0]
    assert found[0]["before_cwnd_bytes"] == 849 * SMSS
    assert found[0]["first_flight_bytes"] == flight * SMSS
    # Slow start from 10 segments needs six round trips; a kept window leaves within one.
    assert 0.5 < found[0]["used_s"] < 0.8 if not keep else found[0]["used_s"] < 0.2
