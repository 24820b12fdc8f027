"""How long a new rate of the bottleneck stays unused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import slowstart
from slowstart.capacity_changes import carried, steps
from slowstart.commands.cli import invoke
from slowstart.errors import InputError
from slowstart.metrics import rate_changes

STEP = str(Path(__file__).parents[2] / "scenarios/rate-step.toml")
LONGER = str(Path(__file__).parents[2] / "scenarios/rtt-step.toml")
PATH: dict[str, Any] = {
    "name": "by hand",
    "base_rtt_ms": 100.0,
    "forward": {
        "delay_ms": 50.0,
        "service": {"kind": "steps", "steps": 2, "steps_s_bps": [[8.0, 10e6], [4.0, 50e6]]},
    },
}


def by_hand(until_s: float) -> pl.DataFrame:
    """10 Mbit/s until 8 s, then 20, and 50 from 10 s on, each packet 50 ms later."""
    time = np.arange(0, round(until_s * 1000) + 1) / 1000
    carried = np.interp(time, [0, 8, 10, 14], [0, 80e6, 120e6, 320e6]) / 8
    return pl.DataFrame(
        {
            "run": 0,
            "link": "forward",
            "time_s": time + 0.05,
            "transmitted_bytes": carried,
            "drops": np.where(time > 9, 7, 0) + np.where(time > 3, 5, 0),
        }
    )


FLOWS = pl.DataFrame({"run": 0, "name": "a", "time_s": [1.0, 9.0], "rtt_ms": [500.0, 120.0]})


def test_a_rise_that_is_used_in_two_steps() -> None:
    (row,) = rate_changes(FLOWS, by_hand(12), PATH).rows(named=True)
    assert (row["change_s"], row["before_bps"], row["after_bps"]) == (8.0, 10e6, 50e6)
    # In the RTT of 0.1 s that ends x after 10 s: 20 (0.1 - x) + 50 x = 0.9 * 5, so x = 0.0833 s.
    assert row["used_s"] == pytest.approx(2.0833, abs=0.0011)
    # 30 Mbit/s for 2 s were not used: 1.2 s of the new rate.
    assert row["unused_s"] == pytest.approx(1.2, abs=0.001)
    assert (row["drops"], row["rtt_max_ms"]) == (7, 120.0)


def test_a_rise_that_ends_before_it_is_used() -> None:
    (row,) = rate_changes(FLOWS, by_hand(9.5), PATH).rows(named=True)
    assert row["used_s"] is None
    # The end of the trace is 9.5 s at the link: 30 of 50 Mbit/s for 1.5 s.
    assert row["unused_s"] == pytest.approx(0.9, abs=0.001)


def test_steps_repeat_and_outages_have_no_row() -> None:
    found = steps(PATH, 20.0)
    assert [(each.at_s, each.until_s, each.after_bps) for each in found] == [
        (8.0, 12.0, 50e6),
        (12.0, 20.0, 10e6),
    ]
    service = {"kind": "steps", "steps": 3, "steps_s_bps": [[1, 1e6], [1, 0], [8, 1e6]]}
    outage = {**PATH, "forward": {**PATH["forward"], "service": service}}
    rows = rate_changes(FLOWS, by_hand(5), outage)
    assert rows["change_s"].to_list() == [2.0]


def by_hand_rtt() -> dict[str, Any]:
    """50 Mbit/s; 50 ms, from 8 s on 100 ms, and from 16 s on 50 ms."""
    delays = {"delay_ms": 25.0, "jitter": {"steps_s_ms": [[8.0, 0.0], [8.0, 25.0], [8.0, 0.0]]}}
    fixed = {"service": {"kind": "fixed", "rate_bps": 50e6}}
    return {"name": "by hand", "base_rtt_ms": 50.0, "forward": {**fixed, **delays},
            "reverse": delays}  # fmt: skip


def test_steps_of_the_delay_are_changes_of_the_rtt() -> None:
    found = steps(by_hand_rtt(), 24.0)
    assert [each[:2] for each in found] == [(8.0, 16.0), (16.0, 24.0)]
    assert [each[2:4] for each in found] == [(50e6, 50e6)] * 2
    assert [each[4:] for each in found] == [
        pytest.approx((0.05, 0.1)),
        pytest.approx((0.1, 0.05)),
    ]
    # A handover changes both at once, and is one change.
    both = {**by_hand_rtt()}
    service = {"kind": "steps", "steps": 3, "steps_s_bps": [[8, 5e7], [4, 2e7], [12, 5e7]]}
    both["forward"] = {**both["forward"], "service": service}
    assert [each.at_s for each in steps(both, 24.0)] == [8.0, 12.0, 16.0]
    first = steps(both, 24.0)[0]
    assert (first.before_bps, first.after_bps, first.until_s) == (5e7, 2e7, 12.0)
    assert (first.before_rtt_s, first.after_rtt_s) == pytest.approx((0.05, 0.1))


def test_what_a_link_of_varying_delay_has_carried() -> None:
    path = by_hand_rtt()
    left = np.arange(0, 20, 0.001)
    delay = np.where((left >= 8) & (left < 16), 0.05, 0.025)
    arrived = np.maximum.accumulate(left + delay)
    link = pl.DataFrame({"time_s": arrived, "transmitted_bytes": 6250.0 * np.arange(len(left))})
    time, total = carried(link, path)
    # At 50 Mbit/s, 6250 bytes leave in each millisecond.
    apart = np.abs(np.interp(left, time, total) - 6250.0 * np.arange(len(left)))
    assert apart[left < 15.9].max() < 10
    # After the delay has fallen, packets arrive together; only the last one's time is known.
    assert apart[left < 19.9].max() <= 2 * 6250


def test_a_longer_rtt_leaves_capacity_unused_and_a_shorter_one_costs_packets() -> None:
    (scenario,) = slowstart.compare(LONGER, "reno", duration="24 s")
    result = slowstart.run(scenario, traces=True)
    path = scenario.resolved["path"]
    table = rate_changes(result.flow_traces(), result.link_traces(), path)
    longer, shorter = table.rows(named=True)
    assert (longer["before_rtt_ms"], longer["after_rtt_ms"]) == (50.0, 100.0)
    # Reno's window is between half and all of 406 packets, and the new BDP is 413 packets: it has
    # 90 % after so many round trips as it lacks packets.
    assert 1.0 < longer["used_s"] < 8.0
    assert 0.2 < longer["unused_s"] < longer["used_s"]
    # After the fall, two RTTs are the least that the measure knows.
    assert shorter["used_s"] == pytest.approx(0.1, abs=0.01)
    assert shorter["drops"] > longer["drops"]


def test_reno_uses_a_rise_linearly_and_abba_at_once() -> None:
    made = slowstart.compare(STEP, ["reno", "abba"], duration="24 s")
    found = []
    for each in made:
        result = slowstart.run(each, traces=True)
        table = rate_changes(result.flow_traces(), result.link_traces(), each.resolved["path"])
        assert table["change_s"].to_list() == [8.0, 16.0]
        found.append(table.row(0, named=True))
    reno, abba = found
    # A segment per round trip of about 0.1 s: 80 in 8 s, of the 330 that the rise needs.
    assert reno["used_s"] is None
    assert reno["unused_s"] > 3
    assert abba["used_s"] < 3
    assert abba["unused_s"] < 1


def test_the_figure_of_a_saved_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "result")
    words = ["compare", STEP, "-a", "reno", "-a", "abba", "--duration", "24 s", "-q"]
    assert invoke([*words, "-o", out, "--traces"]) == 0
    assert invoke(["plot", out, "rate-changes", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "rate-changes-rate-step.svg").stat().st_size > 10_000
    plain = str(tmp_path / "plain")
    assert invoke(["compare", "wired", "-a", "reno", "--size", "1 MB", "-q", "-o", plain,
                   "--traces"]) == 0  # fmt: skip
    capsys.readouterr()
    assert invoke(["plot", plain, "rate-changes", "-o", str(tmp_path)]) == 2
    assert "neither the rate of the path wired changes in steps" in capsys.readouterr().err


def test_tables_without_traces_are_refused() -> None:
    with pytest.raises(InputError, match="no column transmitted_bytes: make it with traces"):
        rate_changes(FLOWS, by_hand(9).drop("transmitted_bytes"), PATH)
