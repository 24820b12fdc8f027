"""The study ``hystart-adhoc``: its numbers from tables worked by hand, and a few of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from slowstart import studies
from slowstart.studies.files import Node

if TYPE_CHECKING:
    from slowstart.studies.library import Study

PORT, BASELINE = "ns-2 port", "none"


@pytest.fixture(scope="module")
def study() -> Study:
    return studies.load("hystart-adhoc")


class Tables:
    """What an analysis sees of findings."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self._tables = tables

    def table(self, _experiment: str, _stack: str, table: str = "flows") -> pl.DataFrame:
        return self._tables.get(table, pl.DataFrame())


SAID: dict[str, Any] = {"experiment": "table", "select": {"scheme": PORT}, "against": None}


def networks(values: dict[str, dict[int, list[float]]]) -> pl.DataFrame:
    """Throughputs by scheme, number of nodes and run; the other numbers follow from them."""
    rows = [
        {"job": 0, "run": run, "seed": run + 1, "scheme": scheme, "nodes": nodes, "path": "p",
         "throughput_bps": value, "delay_mean_ms": 500.0, "data_sent": 80, "data_copies": 100,
         "data_delivered": 75, "data_dropped": 20, "data_bytes_delivered": 1000,
         "energy_used_w": 2.0, "energy_j_per_mb": 1.0, "empty_nodes": 0, "first_empty_s": None,
         "mean_degree": 3.0, "pairs_connected": 1.0 if run else 0.5}
        for scheme, points in values.items()
        for nodes, column in points.items()
        for run, value in enumerate(column)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"first_empty_s": pl.Float64})


def test_ratios_count_copies_and_packets(study: Study) -> None:
    tables = Tables(networks=networks({BASELINE: {20: [1.0]}}))
    said = {**SAID, "select": {"scheme": BASELINE}}
    levels = {
        name: study.module.level(tables, "simulated", {**said, "measure": name}).value
        for name in ("delivery", "drops", "delivery_by_packet", "drops_by_packet", "delay")
    }
    assert levels == pytest.approx(
        {"delivery": 0.75, "drops": 0.2, "delivery_by_packet": 0.9375, "drops_by_packet": 0.25,
         "delay": 0.5}
    )  # fmt: skip


def test_a_change_is_the_mean_over_the_points_of_an_axis(study: Study) -> None:
    base = {20: [100.0, 300.0], 40: [10.0, 10.0]}
    mine = {20: [110.0, 330.0], 40: [8.0, 8.0]}
    tables = Tables(networks=networks({BASELINE: base, PORT: mine}))
    said = {**SAID, "measure": "throughput"}
    found = study.module.change(tables, "simulated", said)
    assert found.value == pytest.approx((10 - 20) / 2)
    assert (found.low, found.high, found.runs) == pytest.approx((-5, -5, 2))
    here = {**said, "select": {"scheme": PORT, "nodes": 20}}
    assert study.module.change(tables, "simulated", here).value == pytest.approx(10)
    assert study.module.points_below(tables, "simulated", said).value == 0.5


def test_medians_are_those_of_both_sides(study: Study) -> None:
    base, mine = {20: [1.0, 2.0, 30.0]}, {20: [3.0, 1.0, 90.0]}
    tables = Tables(networks=networks({BASELINE: base, PORT: mine}))
    found = study.module.change(
        tables, "simulated", {**SAID, "measure": "throughput", "by": "median"}
    )
    assert found.value == pytest.approx(50)


def test_a_run_that_delivers_nothing_counts(study: Study) -> None:
    base, mine = {20: [0.0, 2.0]}, {20: [0.0, 3.0]}
    tables = Tables(networks=networks({BASELINE: base, PORT: mine}))
    found = study.module.change(tables, "simulated", {**SAID, "measure": "throughput"})
    assert found.value == pytest.approx(50)
    below = {**SAID, "measure": "connected", "below": 1.0}
    assert study.module.level(tables, "simulated", below).value == 0.5


def test_chance_is_two_standard_errors_of_a_difference(study: Study) -> None:
    tables = Tables(networks=networks({BASELINE: {20: [9.0, 11.0, 9.0, 11.0]}}))
    said = {**SAID, "select": {"scheme": BASELINE}, "measure": "throughput", "iterations": 50}
    deviation = (4 / 3) ** 0.5
    found = study.module.chance(tables, "simulated", said)
    assert found.value == pytest.approx(100 * 1.96 * (2 / 50) ** 0.5 * deviation / 10)


EXITS: tuple[tuple[int, str | None, int | None, int], ...] = (
    (0, "loss", 8, 10), (0, "delay", 16, 10), (0, None, None, 0),
    (1, "loss", 4, 10), (1, "timeout", 2, 10), (1, "loss", 12, 10),
)  # fmt: skip
"""Run, reason of the exit, window in segments, bytes acknowledged."""


def flows() -> pl.DataFrame:
    rows = [
        {"job": 0, "run": run, "seed": run + 1, "flow": place % 3, "scheme": PORT, "count": 3,
         "exit_reason": reason, "exit_cwnd_bytes": None if window is None else 1024 * window,
         "bytes_acked": acked}
        for place, (run, reason, window, acked) in enumerate(EXITS)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_exits_are_counted_by_flow_and_by_run(study: Study) -> None:
    tables = Tables(flows=flows())
    assert study.module.exits(tables, "simulated", SAID).value == pytest.approx(1 / 6)
    assert study.module.exits(tables, "simulated", {**SAID, "per": "run"}).value == 0.5
    window = study.module.window
    assert window(tables, "simulated", SAID).value == 8
    assert window(tables, "simulated", {**SAID, "segments": 10}).value == pytest.approx(3 / 5)
    assert study.module.silent(tables, "simulated", SAID).value == pytest.approx(1 / 6)


def test_numbers_are_missing_without_runs(study: Study) -> None:
    for name in ("change", "points_below", "level", "chance", "exits", "window", "silent"):
        said = {**SAID, "measure": "delay"}
        assert getattr(study.module, name)(Tables(), "simulated", said) is None


def test_the_nearest_setting_is_the_chosen_one(study: Study) -> None:
    """The other experiments use the first of the allowed settings."""
    root = Node.read(study.folder / "study.toml")
    experiments = {each["name"]: each for each in root.value["experiment"]}
    first, *_ = experiments["allowed"]["grid"]["setting"].values()
    table = experiments["table"]["scenario"]
    assert first["network"]["mac"] == table["network"]["mac"]


def test_schemes_share_placements_and_sinks(study: Study) -> None:
    findings = study.run(quick=True, only=["table"], runs=2)
    tables = findings.table("table", "simulated", "nodes")
    sinks = {
        scheme: rows.filter(pl.col("data_delivered") > 0).select("seed", "node").rows()
        for (scheme,), rows in tables.group_by("scheme")
    }
    assert len(sinks) == 2
    assert sinks[BASELINE] == sinks[PORT]
    networks = findings.table("table", "simulated", "networks")
    assert not networks.is_empty()
    assert (networks["pairs_connected"] == 1.0).all()
    assert (networks["energy_used_w"] > 0).all()
