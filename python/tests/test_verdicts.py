"""Estimates with their intervals, and verdicts on both sides of a bound and at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from slowstart import stats
from slowstart.studies import bands, claims, estimates
from slowstart.studies.bands import Expected
from slowstart.studies.claims import Claim, decide, judge
from slowstart.studies.estimates import Estimate, estimate, holm, relate

CLAIM = Claim(
    name="c", where="page 1", words="Words.", experiment="e", select={"side": "a"}, against=None,
    table="flows", metric="fct_s", statistic="median", relation="ratio", paired=True, unit="s",
    expected=Expected(0.9, 1.1, 1.0), published=1.0, reason="because", certain=False,
    cannot_test=None,
)  # fmt: skip


def rows(values: Sequence[float | None], side: str = "a", flows: int = 1) -> pl.DataFrame:
    """A row for each value; ``flows`` consecutive rows are one run."""
    count = len(values)
    return pl.DataFrame(
        {
            "job": [0] * count,
            "run": [place // flows for place in range(count)],
            "seed": [place // flows for place in range(count)],
            "flow": [place % flows for place in range(count)],
            "side": [side] * count,
            "fct_s": values,
            "value": values,
        },
        schema_overrides={"fct_s": pl.Float64, "value": pl.Float64},
    )


@pytest.mark.parametrize(
    ("count", "low", "high", "confidence"),
    # Order statistics of the binomial distribution; with fewer than six values, the range.
    [(20, 6, 15, 0.95), (30, 10, 21, 0.95), (50, 18, 33, 0.95), (77, 30, 48, 0.95),
     (200, 86, 115, 0.95), (6, 1, 6, 0.95), (4, 1, 4, 0.875), (2, 1, 2, 0.5)],
)  # fmt: skip
def test_a_median_has_an_interval_of_order_statistics(
    count: int, low: int, high: int, confidence: float
) -> None:
    found = estimate(rows([float(each + 1) for each in range(count)]), "median")
    assert found is not None
    assert (found.low, found.high, found.confidence) == (low, high, confidence)
    assert found.value == (count + 1) / 2


def test_one_run_has_no_interval_and_none_no_value() -> None:
    found = estimate(rows([3.0, None]), "median")
    assert found == Estimate(3.0, None, None, None, 1, 1, missing=1)
    assert estimate(rows([None]), "median") is None
    assert estimate(rows([]), "mean") is None


def test_a_share_has_wilsons_interval() -> None:
    # 72 of 77 exits: 93.5 % [85.7, 97.2].
    frame = rows([1.0] * 72 + [0.0] * 5).with_columns(value=pl.col("value") == 1)
    found = estimate(frame, "share")
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    shown = [round(100 * each, 1) for each in (found.value, found.low, found.high)]
    assert shown == [93.5, 85.7, 97.2]


def test_each_kind_of_number_has_its_test() -> None:
    # 44 late exits of 77 against 77 of 77: Fisher's p = 2.9e-12.
    late = rows([1.0] * 44 + [0.0] * 33).with_columns(value=pl.col("value") == 1)
    every = rows([1.0] * 77, "b").with_columns(value=pl.col("value") == 1)
    unpaired = relate(late, every, "share", "difference", paired=False)
    assert unpaired is not None
    assert unpaired.test == "Fisher"
    assert unpaired.p == pytest.approx(2.9e-12, rel=0.02)
    # With equal seeds, 33 pairs changed, all in one direction: p = 2 * 2 ** -33.
    paired = relate(late, every, "share", "difference", paired=True)
    assert paired is not None
    assert paired.test == "McNemar"
    assert paired.p == pytest.approx(2.0**-32)
    assert paired.value == pytest.approx(-33 / 77)
    assert paired.low is not None
    assert paired.high is not None
    assert -0.6 < paired.low < paired.value < paired.high < -0.2
    # The same median, ten times the spread: a test of location would find no difference.
    near: list[float | None] = [float(each) for each in range(-10, 11)]
    wide = [10 * each for each in near if each is not None]
    spread = relate(rows(near), rows([*wide], "b"), "sd", "ratio", paired=False)
    assert spread is not None
    assert spread.test == "Brown-Forsythe"
    assert spread.p is not None
    assert spread.p < 1e-4


def test_a_mean_is_bootstrapped_the_same_each_time() -> None:
    values: list[float | None] = [1.0, 2.0, 2.5, 3.0, 7.0, 4.0, 2.0, 1.5, 9.0, 3.5]
    one, two = (estimate(rows(values), "mean") for _ in range(2))
    assert one == two
    assert one is not None
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.value < one.high
    # The values are skewed to the right, and so is the interval.
    assert one.high - one.value > one.value - one.low


def test_flows_of_one_run_are_not_independent() -> None:
    # Ten runs of ten equal flows carry as much information as ten flows, not a hundred.
    values: list[float | None] = [float(run) for run in range(10) for _ in range(10)]
    together = estimate(rows(values, flows=10), "mean")
    apart = estimate(rows(values), "mean")
    assert together is not None
    assert apart is not None
    assert (together.runs, together.rows, apart.runs) == (10, 100, 100)
    assert together.low is not None
    assert apart.low is not None
    assert together.value - together.low > 2 * (apart.value - apart.low)


def test_pairs_are_runs_of_one_seed() -> None:
    # The channel varies by a factor of eight; the ratio is constant.
    base: list[float | None] = [1.0, 2.0, 4.0, 8.0, 3.0, 5.0]
    half = [each / 2 for each in base if each is not None]
    found = relate(rows([*half]), rows(base, "b"), "median", "ratio", paired=True)
    assert found is not None
    assert (found.value, found.low, found.high, found.runs) == (0.5, 0.5, 0.5, 6)
    assert (found.test, found.p) == ("Wilcoxon", 0.03125)
    gap = relate(rows([*half]), rows(base, "b"), "mean", "difference", paired=True)
    assert gap is not None
    assert gap.value == pytest.approx(-23 / 12)
    unpaired = relate(rows([*half]), rows(base, "b"), "median", "ratio", paired=False)
    assert unpaired is not None
    assert unpaired.test == "Mann-Whitney"
    assert unpaired.p is not None
    assert unpaired.p > 0.05
    assert unpaired.low is not None
    assert unpaired.high is not None
    assert unpaired.low < 0.5 < unpaired.high


def test_runs_without_common_seeds_cannot_be_compared() -> None:
    shifted = rows([1.0]).with_columns(seed=pl.lit(99))
    assert relate(rows([1.0]), shifted, "median", "ratio", paired=True) is None
    assert relate(rows([1.0]), rows([0.0]), "median", "ratio", paired=True) is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def found(value: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, None if low is None else 0.95, 20, 20)


@pytest.mark.parametrize(
    ("value", "word"),
    [(1.0, "agrees"), (0.9, "agrees"), (1.1, "agrees"), (0.899, "differs"), (1.101, "differs")],
)
def test_a_band_has_two_ends(value: float, word: str) -> None:
    verdict = decide(CLAIM, found(value), "simulated")
    assert verdict.word == word
    if word == "differs":
        assert verdict.reason == ("below 0.9 s" if value < 1 else "above 1.1 s")


def test_an_interval_across_a_bound_is_reported() -> None:
    inside = decide(CLAIM, found(1.05, 1.0, 1.2), "simulated")
    assert inside.word == "agrees"
    assert "more runs could change the verdict" in inside.reason
    outside = decide(CLAIM, found(1.15, 1.05, 1.2), "simulated")
    assert outside.word == "undecided"
    assert "chance explains the distance" in outside.reason


@pytest.mark.parametrize(
    ("value", "low", "high", "word"),
    [
        (0.9, 0.85, 0.95, "agrees"),
        (0.9, 0.85, 1.05, "undecided"),
        (1.2, 1.1, 1.3, "differs"),  # the opposite order
        (0.9, None, None, "agrees"),
    ],
)
def test_an_order_must_be_certain(
    value: float, low: float | None, high: float | None, word: str
) -> None:
    order = replace(CLAIM, expected=Expected(None, 1.0), certain=True, unit="")
    verdict = decide(order, found(value, low, high), "simulated")
    assert verdict.word == word
    assert ("not certain" in verdict.reason) == (word == "undecided")


class Table:
    """Runs of two sides; those of side b may be missing."""

    def __init__(self, missing: str | None = None) -> None:
        self.missing = missing

    def table(self, experiment: str, stack: str, table: str) -> pl.DataFrame:
        assert (experiment, stack, table) == ("e", "simulated", "flows")
        slow = [each + 0.5 for each in (1.0, 1.1, 0.9, 1.0, 1.2, 1.05)]
        return pl.concat([rows([1.0, 1.1, 0.9, 1.0, 1.2, 1.05]), rows([*slow], "b")])

    def why_left_out(self, _: str, __: str) -> str | None:
        return self.missing

    def why_empty(self, _: str, __: str, labels: Mapping[str, Any]) -> str | None:
        return self.missing if labels["side"] == "b" else None


def test_claims_are_judged_together() -> None:
    sooner = replace(
        CLAIM, name="sooner", against={"side": "b"}, expected=Expected(None, 0.97), certain=True
    )
    later = replace(sooner, name="later", expected=Expected(1.03, None))
    closed = replace(CLAIM, name="closed", cannot_test="not measurable")
    verdicts = judge([CLAIM, sooner, later, closed], Table(), "simulated")
    assert [each.word for each in verdicts] == ["agrees", "agrees", "differs", "cannot-test"]
    assert [each.p_adjusted for each in verdicts] == [None, 0.0625, 0.0625, None]
    assert verdicts[3].reason == "not measurable"


def test_missing_runs_cannot_be_tested() -> None:
    against = replace(CLAIM, against={"side": "b"})
    own, other = judge([CLAIM, against], Table("this version has no b"), "simulated")
    assert own.word == "agrees"
    assert (other.word, other.reason) == ("cannot-test", "this version has no b")
    nothing = replace(CLAIM, select={"side": "c"})
    (verdict,) = judge([nothing], Table(), "simulated")
    assert verdict.word == claims.CANNOT_TEST


def test_number_formatting() -> None:
    shown = [bands.plain(each) for each in (0.0, 413.0, 1.605, 0.97, 12345.6, -1.0, 0.00012345)]
    assert shown == [
        "0",
        "413",
        "1.605",
        "0.97",
        "12\N{NARROW NO-BREAK SPACE}346",
        "-1",
        "0.0001234",
    ]
    assert Expected(1, 3, 2).words("s") == "2 ± 1 s"
    assert Expected(1, 3).words("s") == "1 to 3 s"
    assert Expected(None, 3).words("") == "at most 3"
    assert Expected(None, -1).words("packets") == "less by at least 1 packets"
    assert set(estimates.STATISTICS) >= {"median", "mean", "share"}


def test_the_difference_of_two_fractions_has_newcombes_interval() -> None:
    # Newcombe 1998, table II, example (a): 56 of 70 against 48 of 80.
    found = stats.newcombe(56 / 70, 70, 48 / 80, 80)
    assert found is not None
    assert [round(each, 4) for each in found] == [0.0524, 0.3339]


def test_all_of_a_sample_lie_in_its_own_interval() -> None:
    for trials in range(1, 200):
        assert (stats.wilson(0, trials) or (1, 0))[0] == 0
        assert (stats.wilson(trials, trials) or (1, 0))[1] == 1


LOW, HIGH = stats.wilson(72, 77) or (0.0, 1.0)
PUBLISHED = Expected(LOW, HIGH, 72 / 77, n=77, count=72)


@pytest.mark.parametrize(
    ("count", "runs", "word"),
    # 8 of 8 lies beyond Wilson's interval of 72 of 77, and does not differ from it.
    [(71, 77, "agrees"), (8, 8, "undecided"), (77, 77, "differs"), (30, 77, "differs")],
)
def test_a_fraction_is_judged_with_the_errors_of_both_samples(
    count: int, runs: int, word: str
) -> None:
    low, high = stats.wilson(count, runs) or (0.0, 1.0)
    found = Estimate(count / runs, low, high, 0.95, runs, runs)
    verdict = decide(replace(CLAIM, expected=PUBLISHED), found, "simulated")
    assert verdict.word == word
    if word == "undecided":
        # The number of runs that would decide does decide, and is not far above the least.
        needed = verdict.runs_to_decide
        assert needed is not None
        assert PUBLISHED.refutes(replace(found, runs=needed, rows=needed))
        assert not PUBLISHED.refutes(replace(found, runs=needed // 2, rows=needed // 2))
        assert "runs would decide" in verdict.reason


@pytest.mark.parametrize(
    ("value", "low", "high", "word", "needed"),
    # The band is 0.9 to 1.1, and 10 runs were made.
    [
        (1.0, 0.8, 1.2, "agrees", None),
        (1.2, 1.15, 1.25, "differs", None),
        # The half-width 0.2 has to become 0.1: four times the runs.
        (1.2, 1.0, 1.4, "undecided", 40),
        (1.2, 0.5, 1.9, "undecided", 490),
        # Without an interval the value is exact.
        (1.2, None, None, "differs", None),
    ],
)
def test_chance_that_explains_the_distance_leaves_a_claim_undecided(
    value: float, low: float | None, high: float | None, word: str, needed: int | None
) -> None:
    verdict = decide(CLAIM, Estimate(value, low, high, 0.95, 10, 10), "simulated")
    assert verdict.word == word
    if needed is None:
        assert verdict.runs_to_decide is None
    else:
        assert verdict.runs_to_decide == pytest.approx(needed, rel=0.06)


def test_an_order_is_undecided_while_its_interval_holds_the_edge() -> None:
    order = replace(CLAIM, expected=Expected(1.03, None), certain=True)
    found = Estimate(1.45, 0.84, 2.24, 0.95, 8, 8)
    verdict = decide(order, found, "simulated")
    assert verdict.word == "undecided"
    # (0.61 / 0.42) squared times 8 runs.
    assert verdict.runs_to_decide == pytest.approx(16.9, rel=0.12)
    assert decide(order, replace(found, low=1.1), "simulated").word == "agrees"
    assert decide(order, replace(found, value=0.9, high=1.0), "simulated").word == "differs"


def test_a_published_mean_within_both_errors_but_beyond_its_deviation_is_undecided() -> None:
    mean = replace(CLAIM, expected=Expected(0.9, 1.1, 1.0, sd=0.1, n=4), published=1.0)
    # Theirs: 1.96 * 0.1 / 2 = 0.098; with ours 0.2 both are 0.223, but the band ends at one sd.
    assert decide(mean, Estimate(1.15, 0.95, 1.35, 0.95, 5, 5), "simulated").word == "undecided"
    assert decide(mean, Estimate(1.3, 1.1, 1.5, 0.95, 5, 5), "simulated").word == "differs"
    # Their own error alone explains this distance: no number of our runs decides.
    small = replace(mean, expected=Expected(0.9, 1.1, 1.0, sd=0.1, n=2))
    verdict = decide(small, Estimate(1.12, 1.0, 1.24, 0.95, 5, 5), "simulated")
    assert (verdict.word, verdict.runs_to_decide) == ("undecided", None)


def test_a_number_counts_once_and_agrees_if_every_claim_does() -> None:
    def word(name: str, number: str, word: str, standing: str = "independent") -> claims.Verdict:
        claim = replace(CLAIM, name=name, number=number, standing=standing)
        return claims.Verdict(claim, "simulated", word, "")

    found = claims.by_number(
        [
            word("a", "one", "agrees"),
            word("b", "one", "differs"),
            word("c", "two", "agrees"),
            word("d", "two", "cannot-test"),
            word("e", "three", "differs", "duplicate"),
        ]
    )
    assert found == {"one": "differs", "two": "agrees"}


def test_numbers_with_one_measured_value_count_once() -> None:
    measured = Estimate(-4.552, -5.1, -4.0, 0.95, 8, 8)
    others = [("a", measured), ("b", measured), ("c", replace(measured, low=-5.2))]
    found = [
        claims.Verdict(replace(CLAIM, name=name, number=name), "simulated", "agrees", "", estimate)
        for name, estimate in others
    ]
    assert claims.measured_once(found) == [["a", "b"]]
    assert claims.by_number(found) == {"a": "agrees", "c": "agrees"}
    # Two shares of a few runs are equal by chance.
    share = [replace(each, claim=replace(each.claim, statistic="share")) for each in found]
    assert len(claims.by_number(share)) == 3
