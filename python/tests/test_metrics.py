"""Metrics of many connections, worked by hand."""

from __future__ import annotations

import polars as pl
import pytest

from slowstart import InputError, metrics

# Four epochs with standard slow start and with a fast start: the times of Scharf's metric, worked
# by hand.
SLOW = {"a": 0.42, "b": 0.11, "c": 1.3, "d": 0.25}
FAST = {"a": 0.32, "b": 0.11, "c": 0.9, "d": 0.275}
BYTES = {"a": 14_600, "b": 700, "c": 200_000, "d": 5_000}


def epochs(times: dict[str, float], wait: float = 0.0, traffic: str = "web") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "path": "dumbbell",
            "run": 0,
            "traffic": traffic,
            "connection": range(len(times)),
            "epoch": 0,
            "response_bytes": [BYTES[name] for name in times],
            "duration_s": [time + wait for time in times.values()],
            "think_s": wait,
        }
    )


def test_speed_up_of_the_worked_example() -> None:
    found = metrics.speed_up(epochs(SLOW), epochs(FAST))
    whole = found.row(0, named=True)
    assert whole["from_bytes"] is None
    assert whole["epochs"] == 4
    assert whole["baseline_mean_s"] == pytest.approx(0.52)
    assert whole["mean_s"] == pytest.approx(0.40125)
    assert whole["gain_s"] == pytest.approx(0.11875)
    assert whole["speed_up"] == pytest.approx(1.29595, abs=1e-5)
    assert whole["geometric_speed_up"] == pytest.approx(1.145782, abs=1e-6)
    classes = found.filter(pl.col("from_bytes").is_not_null())
    assert classes["from_bytes"].to_list() == [100, 1_000, 10_000, 100_000]
    expected = [1.0, 0.909091, 1.3125, 1.444444]
    assert classes["speed_up"].to_list() == pytest.approx(expected, abs=1e-6)


def test_epochs_match_by_connection_and_number_whatever_their_order() -> None:
    fast = epochs(FAST).sample(fraction=1.0, shuffle=True, seed=3)
    other = fast.filter(pl.col("connection") != 2)  # one did not end
    found = metrics.speed_up(epochs(SLOW), other).row(0, named=True)
    assert found["epochs"] == 3
    assert found["gain_s"] == pytest.approx((0.1 + 0.0 - 0.025) / 3)


def test_the_acceptors_wait_is_left_out_unless_asked_for() -> None:
    slow, fast = epochs(SLOW, wait=1.0), epochs(FAST, wait=1.0)
    assert metrics.speed_up(slow, fast)["speed_up"][0] == pytest.approx(0.52 / 0.40125)
    found = metrics.speed_up(slow, fast, time="duration")["speed_up"][0]
    assert found == pytest.approx(1.52 / 1.40125)
    with pytest.raises(InputError, match="use transfer or duration"):
        metrics.speed_up(slow, fast, time="fct")


def responses(times: dict[str, float]) -> pl.DataFrame:
    """The same epochs in two runs, as classes."""
    frame = epochs(times).with_columns(part=pl.col("connection") // 2)
    mean = pl.col("duration_s").mean().alias("transfer_mean_s")
    geometric = pl.col("duration_s").log().mean().exp().alias("transfer_geometric_mean_s")
    whole = frame.group_by("part").agg(pl.len().alias("count"), mean, geometric)
    return whole.with_columns(
        pl.lit(0, dtype=pl.UInt64).alias("from_bytes"),
        pl.lit(None, dtype=pl.UInt64).alias("to_bytes"),
    )


def test_classes_give_the_speed_up_without_a_list() -> None:
    found = metrics.speed_up_by_class(responses(SLOW), responses(FAST)).row(0, named=True)
    assert found["epochs"] == 4
    assert found["from_bytes"] is None
    assert found["speed_up"] == pytest.approx(1.29595, abs=1e-5)
    assert found["gain_s"] == pytest.approx(0.11875)
    assert found["geometric_speed_up"] == pytest.approx(1.145782, abs=1e-6)


def test_speed_up_of_each_class_of_a_mixed_population() -> None:
    slow = pl.concat([epochs(SLOW), epochs(SLOW, traffic="changed")])
    fast = pl.concat([epochs(SLOW), epochs(FAST, traffic="changed")])
    found = metrics.speed_up(slow, fast, by=["traffic"])
    whole = dict(found.filter(pl.col("from_bytes").is_null()).select("traffic", "speed_up").rows())
    assert whole["web"] == pytest.approx(1.0)
    assert whole["changed"] == pytest.approx(1.29595, abs=1e-5)


def test_jains_index() -> None:
    assert metrics.jain([5.0, 5.0, 5.0]) == pytest.approx(1.0)
    assert metrics.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert metrics.jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert metrics.jain([]) is None
    assert metrics.jain([0.0]) is None


def test_loss_probability_is_of_the_packets_offered() -> None:
    links = pl.DataFrame(
        {"link": ["bottleneck", "uplink"], "packets": [980, 500], "drops": [20, 0]}
    )
    assert metrics.loss_probability(links, "bottleneck") == pytest.approx(0.02)
    assert metrics.loss_probability(links) == pytest.approx(20 / 1500)
    assert metrics.loss_probability(links.clear()) is None
    more = links.with_columns(drops=pl.Series([25, 0]), packets=pl.Series([975, 500]))
    assert metrics.loss_increase(more, links, "bottleneck") == pytest.approx(0.5)
    with pytest.raises(InputError, match="no link elsewhere"):
        metrics.loss_probability(links, "elsewhere")
    with pytest.raises(InputError, match="no column drops"):
        metrics.loss_probability(links.drop("drops"))


def test_effect_of_a_change_on_both_halves() -> None:
    found = metrics.effect(100.0, 100.0, 97.0, 108.0)
    assert found.others == pytest.approx(0.97)
    assert found.users == pytest.approx(1.08)
