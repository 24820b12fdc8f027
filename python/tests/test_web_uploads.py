"""The study ``web-uploads``: workloads and their numbers from tables worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from slowstart import studies

if TYPE_CHECKING:
    from slowstart.studies.library import Study

Q = 0.0442
GROWN, NOT_GROWN = 100_000.0, 14_480.0


@pytest.fixture(scope="module")
def study() -> Study:
    return studies.load("web-uploads")


class Tables:
    """What an analysis sees of findings."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self._rows = rows

    def table(self, _experiment: str, _stack: str, table: str = "flows") -> pl.DataFrame:
        return self._rows if table == "flows" else pl.DataFrame()


def flows(cells: dict[str, dict[str, list[tuple[str | None, float, float]]]]) -> Tables:
    """Connections by kind and start-up: a reason, a completion time and a final window for each."""
    rows = [
        {"startup": startup, "uplink": "u", "kind": kind, "loss": "0 %", "seed": seed + 1,
         "exit_reason": reason, "fct_s": fct, "final_window": window, "false_exit": False,
         "exit_class": "early", "loss_ratio": 0.01 * (reason == "loss"), "goodput_bps": 1e6,
         "threshold": None if reason is None else 50_000.0}
        for kind, startups in cells.items()
        for startup, runs in startups.items()
        for seed, (reason, fct, window) in enumerate(runs)
    ]  # fmt: skip
    return Tables(pl.DataFrame(rows, schema_overrides={"exit_reason": pl.String}))


def quiet(fct: float = 1.0) -> tuple[str | None, float, float]:
    return (None, fct, GROWN)


# `bulk` ends classic slow start in every run, `light` in none. With HyStart++ one bulk run of two
# ends by its test, half a second later than ideal; with SEARCH both do, at the ideal time.
CELLS: dict[str, dict[str, list[tuple[str | None, float, float]]]] = {
    "bulk": {
        "classic": [("loss", 2.0, GROWN), ("loss", 2.0, GROWN)],
        "HyStart++": [("css-rounds", 1.5, GROWN), ("loss", 2.0, GROWN)],
        "SEARCH": [("search", 1.0, GROWN), ("search", 1.0, GROWN)],
        "ideal": [("capacity", 1.0, GROWN), ("capacity", 1.0, GROWN)],
    },
    "light": {name: [quiet(), quiet()] for name in ("classic", "HyStart++", "SEARCH", "ideal")},
    "requests": {
        name: [("loss", 1.0, NOT_GROWN), (None, 1.0, NOT_GROWN)]
        for name in ("classic", "HyStart++", "SEARCH", "ideal")
    },
}


def said(quantity: str, startup: str, **more: Any) -> dict[str, Any]:
    return {"quantity": quantity, "startup": startup, **more}


def test_the_weight_makes_classic_slow_start_end_as_often_as_published(study: Study) -> None:
    made = study.module.cells(flows(CELLS), "simulated")
    weights = made.even()
    bulk, light = weights[0], weights[1]
    assert bulk / (bulk + light) == pytest.approx(Q)
    found = study.module.number(flows(CELLS), "simulated", said("exited", "classic"))
    assert found.value == pytest.approx(100 * Q)
    assert found.reach == pytest.approx((100 * Q, 100 * Q))


def test_connections_that_never_grow_have_no_exit(study: Study) -> None:
    made = study.module.cells(flows(CELLS), "simulated")
    assert not made.arms["classic"].exited[2].any()
    assert made.excess()[2] == 0


def test_rates_are_fractions_of_the_exits(study: Study) -> None:
    tables = flows(CELLS)
    rates = {
        startup: study.module.number(tables, "simulated", said("by test", startup)).value
        for startup in ("classic", "HyStart++", "SEARCH")
    }
    assert rates == pytest.approx({"classic": 0, "HyStart++": 50, "SEARCH": 100})
    cost = study.module.number(tables, "simulated", said("cost", "HyStart++"))
    assert cost.value == pytest.approx(0.5)
    beside = said("by test", "SEARCH", beside="HyStart++", relation="difference")
    assert study.module.number(tables, "simulated", beside).value == pytest.approx(50)


def test_a_percentile_counts_connections_by_their_weight(study: Study) -> None:
    tables = flows(CELLS)
    # 4.42 % of the connections lose: the 95th percentile does not, the 96th does.
    for percentile, expected in ((95, 0.0), (96, 1.0)):
        found = study.module.number(
            tables, "simulated", said("loss", "classic", percentile=percentile)
        )
        assert found.value == pytest.approx(expected)


def test_the_reach_is_over_all_allowed_workloads(study: Study) -> None:
    cells = {**CELLS, "other bulk": {**CELLS["bulk"], "HyStart++": CELLS["bulk"]["classic"]}}
    found = study.module.number(flows(cells), "simulated", said("by test", "HyStart++"))
    assert found.reach == pytest.approx((0, 50))
    assert found.value == pytest.approx(25)
    # Random allowed workloads stay inside.
    made = study.module.cells(flows(cells), "simulated")
    excess = made.excess()
    rng = np.random.default_rng(1)
    arm = made.arms["HyStart++"]
    for _ in range(200):
        weights = rng.random(4)
        weights[1] = -(weights[[0, 2, 3]] @ excess[[0, 2, 3]]) / excess[1]
        share = (weights @ arm.by_test.mean(axis=1)) / (weights @ arm.exited.mean(axis=1))
        assert 0 <= 100 * share <= 50


def test_bounds_have_all_published_counts(study: Study) -> None:
    # A third kind ends every slow start by a loss: it dilutes the exits by tests. Two kinds with
    # tests of one start-up each make the two counts independent.
    only_hystart = {**CELLS["bulk"], "SEARCH": CELLS["bulk"]["classic"]}
    only_search = {**CELLS["bulk"], "HyStart++": CELLS["bulk"]["classic"]}
    losses = {**only_search, "SEARCH": CELLS["bulk"]["classic"]}
    cells = {
        "light": CELLS["light"], "hystart": only_hystart, "search": only_search, "losses": losses,
    }  # fmt: skip
    made = study.module.cells(flows(cells), "simulated")
    assert study.module.bounds(made, "HyStart++") == pytest.approx((0.5, 0.5))
    assert study.module.bounds(made, "SEARCH") == pytest.approx((0.0, 0.0))
    assert study.module.possible(flows(cells), "simulated", {}).value == 1
    # Without the kind that dilutes, every second exit or more is by a test.
    del cells["losses"]
    assert study.module.possible(flows(cells), "simulated", {}).value == 0


def test_without_runs_there_is_no_number(study: Study) -> None:
    nothing = Tables(pl.DataFrame())
    assert study.module.number(nothing, "simulated", said("cost", "SEARCH")) is None
    assert study.module.possible(nothing, "simulated", {}) is None
