"""Panels in which all values are zero are left out, and the caption says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from test_figures import run_study
from test_overlaps_elsewhere import network_runs, queue_table

from slowstart import plots
from slowstart.figures import exchanges, networks
from slowstart.studies import figures as study_figures

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

SAID = "Left out, because all values are zero: {}."


def flows(lossy: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(
        {"path": path, "name": name, "run": run, "fct_s": 1.0 + run, "goodput_bps": 1e6,
         "segments_sent": 100, "segments_retransmitted": run * (path in lossy)}
        for path in ("near", "far")
        for name in ("a", "b")
        for run in range(3)
    )  # fmt: skip


def x_labels(figure: Figure) -> list[str]:
    return [axes.get_xlabel() for axes in figure.axes]


@pytest.mark.parametrize(
    ("lossy", "left", "note"),
    [
        (("near", "far"), 2, ""),
        (("near",), 1, SAID.format("retransmitted segments (%) over far")),
        (("far",), 1, SAID.format("retransmitted segments (%) over near")),
        ((), 0, SAID.format("retransmitted segments (%) over near, "
                            "retransmitted segments (%) over far")),
    ],
)  # fmt: skip
def test_distributions_without_retransmissions(
    lossy: tuple[str, ...], left: int, note: str
) -> None:
    figure = plots.distributions(flows(lossy), ["a", "b"])
    assert x_labels(figure).count("retransmitted segments (%)") == left
    assert x_labels(figure).count("flow completion time (s)") == 2
    assert plots.note_of(figure) == note
    # The first panel that is left has the label and the ticks of its row.
    below = [axes for axes in figure.axes if axes.get_xlabel().startswith("retr")]
    if below:
        assert below[0].get_ylabel() == "CDF of flows"
        assert below[0].yaxis.get_tick_params()["labelleft"]
    stacked = plots.stacked(figure)
    assert stacked is not None
    assert all(axes.get_ylabel() == "CDF of flows" for axes in stacked.axes)


def test_a_queue_in_which_no_packet_ever_waits() -> None:
    path = plots.PathFacts("p", 10.0, 1e6, 1e6, "forward")
    flow = {"flow": 0, "name": "a", "start_s": 0.0, "exit_s": None, "passive_exit_s": None,
            "capacity_true_s": None, "first_drop_s": None}  # fmt: skip
    series = pl.DataFrame(
        {"flow": 0, "time_s": [0.0, 1.0], "cwnd_bytes": [1e4, 2e4], "ssthresh_bytes": None,
         "rtt_ms": [10.0, 10.0], "delivered_bytes": [0.0, 1e4]}
    )  # fmt: skip
    for waiting, panels, note in ((0, 3, SAID.format("queue (packets)")), (1, 4, "")):
        links = pl.DataFrame(
            {"link": "forward", "time_s": [0.0, 1.0], "queue_packets": [0, waiting]}
        )
        figure = plots.evolution(path, [plots.Evolution("a", [flow], series, links)], ["a"])
        assert len(figure.axes) == panels
        assert plots.note_of(figure) == note


def test_a_cost_of_zero() -> None:
    table = pl.DataFrame(
        {"path": path, "name": "a", "size_bytes": size, "cost_s": cost, "cost_low_s": cost,
         "cost_high_s": cost}
        for path, cost in (("near", 0.0), ("far", 1.0))
        for size in (1e5, 1e6)
    )  # fmt: skip
    figure = plots.exit_cost(table, ["a"])
    assert [axes.get_title() for axes in figure.axes] == ["far"]
    assert plots.note_of(figure) == SAID.format("near")
    # A figure of nothing but zeros says so itself.
    figure = plots.exit_cost(table.filter(pl.col("path") == "near"), ["a"])
    assert [axes.get_title() for axes in figure.axes] == ["near"]


def test_a_network_that_drops_nothing() -> None:
    figure = networks.totals(network_runs().with_columns(drop_ratio=pl.lit(0.0)))
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "throughput (Mbit/s)", "delay (s)", "delivered (%)", "energy (J/s)",
    ]  # fmt: skip
    assert plots.note_of(figure) == SAID.format("dropped (%)")


def test_a_path_without_queues() -> None:
    empty = queue_table().with_columns(path=pl.lit("empty"), queue_packets=pl.lit(0.0))
    full = queue_table().with_columns(pl.col("queue_packets").cast(pl.Float64))
    figure = exchanges.queues(pl.concat([full, empty]))
    assert [axes.get_title() for axes in figure.axes] == ["dumbbell"]
    assert plots.note_of(figure) == SAID.format("empty")


def test_a_study_whose_flows_lose_nothing(tmp_path: Path) -> None:
    findings = run_study(tmp_path)
    (drawing,) = (each for each in findings.study.drawings if each.name == "evolution")
    assert "losses" in drawing.panels
    for (_, _, table), rows in findings.tables.items():
        if table == "link_traces":
            findings.tables["short", "simulated", "link_traces"] = rows.with_columns(
                drops=pl.lit(0)
            )
            break
    figure = study_figures.draw(findings, drawing, findings.stacks)
    assert figure is not None
    assert plots.note_of(figure) == SAID.format("dropped packets")
    assert "dropped packets" not in [axes.get_ylabel() for axes in figure.axes]
