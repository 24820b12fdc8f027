"""The study ``cuback-abba``: its profiles and its measured interval, and a few of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from slowstart import studies

if TYPE_CHECKING:
    from pathlib import Path

    from slowstart.studies.library import Study

# Rate, idle round trip and queue of quicly's t/simulator-plot.rb.
PROFILES = {
    "Corporate_WiFi": (500e6, 0.010, 0.020),
    "WiFi@Office": (710e6, 0.004, 0.011),
    "5G": (100e6, 0.040, 0.080),
    "Home_WiFi": (100e6, 0.025, 0.015),
    "LTE": (30e6, 0.060, 0.120),
    "LEO": (50e6, 0.040, 0.080),
}
PACKET = 1280


@pytest.fixture(scope="module")
def study() -> Study:
    return studies.load("cuback-abba")


@pytest.mark.parametrize(
    ("experiment", "queued", "cells"), [("losses", 1.0, 48), ("idle-path", 0.0, 12)]
)
def test_a_loss_per_round_trip_over_each_profile(
    study: Study, experiment: str, queued: float, cells: int
) -> None:
    found = study.experiments[experiment].cells
    assert len(found) == cells
    for cell in found:
        assert cell.unavailable is None
        assert cell.scenario is not None
        name, losses = str(cell.labels["profile"]).split(", ")
        rate, rtt, queue = PROFILES[name]
        (flow,) = cell.scenario.resolved["flows"]
        assert flow["mss_bytes"] == PACKET - 52
        link = cell.scenario.resolved["path"]["forward"]
        assert link["overhead_bytes"] == 0
        assert link["queue_limit_bytes"] == pytest.approx(rate * queue / 8)
        packets = rate * (rtt + queued * queue) / 8 / PACKET
        assert link["loss"]["probability"] == pytest.approx(
            float(losses[:-2]) / 100 / packets, rel=0.01
        )


def test_the_measured_bytes_are_those_of_30_seconds_after_the_warm_up(study: Study) -> None:
    (extract,) = study.experiments["shares"].extracts
    series = pl.DataFrame(
        {"time_s": [9.0, 10.0, 25.0, 40.0, 41.0], "delivered_bytes": [90, 100, 250, 400, 410]}
    )
    none = pl.DataFrame()
    assert extract.function({}, series, none) == 300
    assert extract.function({}, series.filter(pl.col("time_s") > 10), none) == 400
    assert extract.function({}, series.clear(), none) is None


def test_two_flows_share_a_small_link(study: Study, tmp_path: Path) -> None:
    found = study.run(tmp_path, quick=True, only=["shares"], runs=4, report=False)
    words = {each.claim.name: each for each in found.verdicts}
    for name in ("share-bdp20-cubic", "share-bdp20-cuback", "share-bdp40-cubic"):
        estimate = words[name].estimate
        assert estimate is not None
        assert 40 < estimate.value < 60
    assert words["pico"].word == "cannot-test"
    # The lossy links were not run, so the answer is the count alone.
    (sentence,) = found.answer
    assert "published numbers" in sentence
