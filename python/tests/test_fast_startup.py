"""The study ``fast-startup``: its numbers from tables worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from slowstart import studies

if TYPE_CHECKING:
    from slowstart.studies.library import Study


@pytest.fixture(scope="module")
def study() -> Study:
    return studies.load("fast-startup")


class Tables:
    """What an analysis sees of findings."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self._tables = tables

    def table(self, _experiment: str, _stack: str, table: str = "flows") -> pl.DataFrame:
        return self._tables.get(table, pl.DataFrame())


SAID: dict[str, Any] = {
    "experiment": "loads",
    "select": {"scheme": "IW10"},
    "against": {"scheme": "standard"},
}


def responses() -> pl.DataFrame:
    """Two seeds: a class below 10 kB that gains nothing, and one that takes 0.4 s, not 0.6 s."""
    rows = [
        {"scheme": scheme, "seed": seed, "traffic": "web", "from_bytes": low, "to_bytes": high,
         "count": count, "transfer_mean_s": mean}
        for scheme, slow in (("standard", 0.6), ("IW10", 0.4))
        for seed, count in ((1, 100), (2, 300))
        for low, high, mean in (
            (0, None, (0.1 + slow) / 2), (5_000, 10_000, 0.1), (20_000, 50_000, slow)
        )
    ]  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def links() -> pl.DataFrame:
    rows = [
        {"scheme": scheme, "seed": seed, "link": link, "packets": 1000 - drops, "drops": drops}
        for scheme, lost in (("standard", 10), ("IW10", 15))
        for seed in (1, 2)
        for link, drops in (("forward", lost), ("reverse", 500))
    ]
    return pl.DataFrame(rows)


def test_speed_up_pools_the_epochs_of_all_seeds(study: Study) -> None:
    tables = Tables(responses=responses())
    number = study.module.speed_up
    small = number(tables, "simulated", {**SAID, "to": 10_000})
    assert small.value == pytest.approx(1.0)
    middle = number(tables, "simulated", {**SAID, "from": 10_000, "to": 200_000})
    assert middle.value == pytest.approx(1.5)
    assert number(tables, "simulated", SAID).value == pytest.approx(0.35 / 0.25)
    assert (middle.runs, middle.low, middle.high) == pytest.approx((2, 1.5, 1.5))
    assert study.module.largest_gain(tables, "simulated", SAID).value == pytest.approx(0.2)
    peak = study.module.peak_size(tables, "simulated", SAID)
    assert peak.value == pytest.approx((20_000 * 50_000) ** 0.5)


def test_the_effect_on_a_half_is_above_one_if_it_slows_down(study: Study) -> None:
    swapped = {**SAID, "select": SAID["against"], "against": SAID["select"], "half": "web"}
    found = study.module.effect(Tables(responses=responses()), "simulated", swapped)
    assert found.value == pytest.approx(0.35 / 0.25)


def test_loss_is_of_the_packets_offered_to_the_bottleneck(study: Study) -> None:
    tables = Tables(links=links())
    assert study.module.loss(tables, "simulated", SAID).value == pytest.approx(1.5)
    found = study.module.loss_increase(tables, "simulated", SAID)
    assert found.value == pytest.approx(0.5)
    assert study.module.loss_ratio(tables, "simulated", SAID).value == pytest.approx(1.5)


def test_numbers_are_missing_without_runs(study: Study) -> None:
    for name in ("speed_up", "largest_gain", "peak_size", "loss", "loss_increase", "loss_ratio"):
        assert getattr(study.module, name)(Tables(), "simulated", SAID) is None


@pytest.mark.parametrize(
    ("packets", "standard", "iw10", "jump_start"),
    [
        (1, 101.2, 101.2, 101.2),
        (4, 202.4, 104.8, 176.2),
        (10, 303.6, 112.0, 191.2),
        (14, 308.4, 206.0, 194.057),
        (44, 431.2, 319.2, 198.927),
        (137, 658.8, 484.0, 312.8),
        (685, 1316.4, 1146.8, 970.4),
        (3425, 4604.4, 4434.8, 4258.4),
    ],
)
def test_ideal_epochs_at_100_ms(
    study: Study, packets: int, standard: float, iw10: float, jump_start: float
) -> None:
    ideal = study.module.ideal_ms
    found = [ideal(each, packets, 100.0) for each in ("standard", "IW10", "Jump-Start")]
    assert found == pytest.approx([standard, iw10, jump_start], abs=1e-3)


def test_ideal_epochs_over_the_nine_round_trip_times(study: Study) -> None:
    times = (4, 28, 54, 74, 98, 124, 150, 174, 200)
    for packets, standard, iw10 in ((4, 203.733, 105.467), (69, 540.8, 354.044)):
        for scheme, expected in (("standard", standard), ("IW10", iw10)):
            mean = sum(study.module.ideal_ms(scheme, packets, rtt) for rtt in times) / len(times)
            assert mean == pytest.approx(expected, abs=1e-3)


def test_the_idle_dumbbell_takes_the_time_worked_out_by_hand(study: Study) -> None:
    findings = study.run(only=["idle"])
    rows = study.module._idle(findings, "simulated")
    assert len(rows) == len(study.experiments["idle"].cells)
    worst = (rows["simulated_ms"] - rows["ideal_ms"]).abs().max()
    assert worst < 0.2, rows.sort("simulated_ms").to_dicts()
