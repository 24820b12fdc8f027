"""The study of De Cicco and Mascolo 2012, and the features that only it uses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from slowstart import InputError, studies, traces
from slowstart.studies.estimates import relate

TRACES = traces.folder()
VARIANTS = {"NewReno", "Westwood+", "BIC", "CUBIC"}


def test_a_full_run_is_as_large_as_the_published_campaign() -> None:
    jobs = studies.load("hsdpa-live").jobs("simulated", only=["live"])["live"]
    assert {job.labels["variant"] for job in jobs} <= VARIANTS
    flows = sum(job.runs for job in jobs)
    hours = sum(job.runs * 72 for job in jobs) / 3600
    if not jobs:
        pytest.skip("this version has no path hsdpa")
    assert flows >= 3000
    assert hours >= 60


def test_claims_about_missing_traces_cannot_be_tested(tmp_path: Path) -> None:
    study = studies.load("hsdpa-live", tmp_path)
    assert study.jobs("simulated", only=["drive", "norway"]) == {"drive": [], "norway": []}
    findings = study.run(tmp_path / "out", quick=True, only=["drive", "norway"], report=False)
    (verdict,) = [each for each in findings.verdicts if each.claim.name == "drive-bic-goodput"]
    assert verdict.word == "cannot-test"
    assert "TMobile-UMTS-driving.down is not on this machine" in verdict.reason
    with pytest.raises(InputError, match="there is no folder"):
        studies.load("hsdpa-live", tmp_path / "nowhere")


@pytest.mark.skipif(TRACES is None, reason="the recorded traces are not here: set SLOWSTART_TRACES")
def test_with_traces_flows_are_paired_in_time(tmp_path: Path) -> None:
    study = studies.load("hsdpa-live", TRACES)
    findings = study.run(tmp_path / "out", only=["drive"], report=False)
    flows = findings.table("drive", "simulated", "flows")
    assert len(flows) == 2 * 12 * 4
    by_name = {each.claim.name: each for each in findings.verdicts}
    found = by_name["drive-cubic-sent-again"].estimate
    assert found is not None
    assert (found.runs, found.test) == (12, "Wilcoxon")
    # Whatever the traces, CUBIC retransmits more than NewReno.
    assert found.low is not None
    assert found.low > 1


def rows(values: list[float], seeds: list[int], place: str = "a") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "job": place,
            "run": range(len(values)),
            "seed": seeds,
            "flow": 0,
            "place": place,
            "value": values,
        }
    )


def test_a_ratio_of_means_is_over_pairs() -> None:
    one = rows([4.0, 0.0, 8.0, 99.0], [1, 2, 3, 7])
    other = rows([1.0, 0.0, 5.0, 1000.0], [1, 2, 3, 9])
    found = relate(one, other, "mean", "ratio of means", paired=True)
    assert found is not None
    assert (found.value, found.runs, found.missing) == (2.0, 3, 1)
    assert found.low is not None
    assert found.high is not None
    # The smallest and largest ratios that can be drawn from three pairs, without 0/0.
    assert 1.6 <= found.low <= 2.0 <= found.high <= 4.0


def test_pairs_have_equal_values_of_open_axes() -> None:
    one = pl.concat([rows([2.0], [1], "a"), rows([30.0], [1], "b")])
    other = pl.concat([rows([10.0], [1], "b"), rows([1.0], [1], "a")])
    found = relate(one, other, "median", "ratio", paired=True, pair_by=["place"])
    assert found is not None
    assert (found.value, found.low, found.high) == (2.5, 2.0, 3.0)
    with pytest.raises(ValueError, match="identifies several runs"):
        relate(one, other, "median", "ratio", paired=True)


def test_a_ratio_to_zero_is_none() -> None:
    none = rows([0.0, 0.0], [1, 2])
    assert relate(none, none, "mean", "ratio of means", paired=True) is None
