"""Comparisons of pairs of runs: effects, tests, and their files."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import polars as pl
import pytest
from scipy import stats as scipy_stats

from slowstart import stats
from slowstart.report import pairs, table_files
from slowstart.report.tables import Cell

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

DIFFERENCES = [0.3, -0.1, 0.8, 0.25, -0.6, 1.1, 0.07, 0.9, -0.02, 0.41]


def test_wilcoxon_is_that_of_scipy() -> None:
    for some in (DIFFERENCES, DIFFERENCES[:6], [-each for each in DIFFERENCES]):
        assert stats.wilcoxon(some) == pytest.approx(scipy_stats.wilcoxon(some).pvalue)
    tied = [1.0, 1, -1, 2, 2, 3, -4, 0]
    assert stats.wilcoxon(tied) == pytest.approx(scipy_stats.wilcoxon(tied).pvalue)
    many = [(-1) ** each * (each % 13) + 1.5 for each in range(90)]
    normal = scipy_stats.wilcoxon(many, correction=True).pvalue
    assert stats.wilcoxon(many) == pytest.approx(normal, rel=1e-6)


def test_wilcoxon_of_few_or_equal_pairs() -> None:
    assert stats.wilcoxon(DIFFERENCES[:5]) is None
    assert stats.wilcoxon([0.0] * 8) == 1.0


def test_runs_needed_grow_with_the_square_of_the_scatter() -> None:
    ratios = [1.1, 0.9, 1.3, 0.8, 1.2, 1.0, 0.7]
    few = stats.pairs_needed(ratios)
    many = stats.pairs_needed([each**2 for each in ratios])
    assert few is not None
    assert many is not None
    assert many / few == pytest.approx(4, rel=0.05)
    assert stats.pairs_needed([1.0] * 6) == 6
    assert stats.pairs_needed(ratios[:5]) is None


def flows(factor: float) -> pl.DataFrame:
    """Two algorithms over a path; the second takes ``factor`` times as long, up to 1 %."""
    rows = [
        {
            "path": "p", "name": name, "run": run, "flow": 0, "goodput_bps": 1.0,
            "fct_s": (1 + run / 10) * (1.0 if name == "one" else factor * (1 + run % 3 / 100)),
            "segments_retransmitted": run if name == "one" else run + 2, "rtt_p95_ms": 50.0,
        }
        for name in ("one", "two")
        for run in range(8)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_effects_are_those_of_pairs() -> None:
    time, lost, rtt = pairs.effects(flows(0.5))
    assert (time.pairs, time.baseline, time.name) == (8, "one", "two")
    assert time.value == pytest.approx(0.505, abs=0.006)
    assert time.p == pytest.approx(2 / 2**8)
    assert time.p_holm == pytest.approx(6 / 2**8)
    assert (lost.value, lost.measure.ratio) == (2.0, False)
    assert (rtt.value, rtt.p) == (1.0, 1.0)
    assert pairs.cell(time).value.startswith("-5")
    (other, *_) = pairs.effects(flows(0.5), baseline="two")
    assert other.value == pytest.approx(1 / 0.505, rel=0.02)


def test_several_flows_of_a_run_have_no_test() -> None:
    some = flows(0.5)
    both = pl.concat([some, some.with_columns(flow=pl.lit(1, dtype=pl.Int64))])
    (time, *_) = pairs.effects(both)
    assert time.pairs == 16
    assert (time.p, time.low, time.needed) == (None, None, None)


def test_a_table_is_written_as_latex_and_csv(tmp_path: Path) -> None:
    rows = [[Cell("a_b"), Cell("5 %", "[1, 2]")], [Cell("c"), Cell("-")]]
    table_files.write(tmp_path, "one", ["name", "R&D"], rows)
    made = (tmp_path / "tables" / "one.tex").read_text()
    assert r"a\_b & 5 \% [1, 2] \\" in made
    assert r"name & R\&D \\" in made
    with (tmp_path / "tables" / "one.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["name", "R&D", "R&D, detail"], ["a_b", "5 %", "[1, 2]"], ["c", "-", ""],
        ]  # fmt: skip


def test_compare_prints_the_tests(command: Command) -> None:
    given = ["compare", "lte", "-a", "cubic", "-a", "Ours=cubic+search", "-n", "8", "--size", "1MB"]
    done = command(*given, "--baseline", "Ours")
    assert done.returncode == 0
    assert "against Ours" in done.stdout
    assert "signed-rank test" in done.stdout
    refused = command(*given, "--baseline", "reno")
    assert refused.returncode == 2
    assert "--baseline reno is not compared: name one of cubic, Ours" in refused.stderr


def test_one_run_has_no_test(command: Command) -> None:
    done = command("compare", "wired", "-a", "cubic", "-a", "reno", "--size", "100kB", "-n", "3")
    assert "against" not in done.stdout
