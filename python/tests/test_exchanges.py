"""Response times in the terminal and in figures, from tables worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from slowstart.figures import exchanges as exchange_plots
from slowstart.report import tables

if TYPE_CHECKING:
    from matplotlib.lines import Line2D


def points(line: Line2D, axis: str) -> list[float]:
    data = line.get_xdata() if axis == "x" else line.get_ydata()
    return [float(each) for each in np.asarray(data)]


SPREAD = {"mean_s": 0.3, "geometric_mean_s": 0.2, "median_s": 0.25, "p95_s": 0.9}
TRANSFER = {"mean_s": 0.28, "geometric_mean_s": 0.19, "median_s": 0.24, "p95_s": 0.8}


def overview() -> dict[str, object]:
    def response(low: int, high: int | None, count: int) -> dict[str, object]:
        return {
            "from_bytes": low,
            "to_bytes": high,
            "count": count,
            "duration": SPREAD,
            "transfer": TRANSFER,
            "think_mean_s": 0.02,
        }

    traffic = {
        "path": "dumbbell", "name": "web", "beside": [], "runs": 2, "started": 20, "finished": 18,
        "rejected": 0, "segments_sent": 100, "segments_lost": 1, "fct_mean_s": None,
        "load_offered": 0.35, "load_delivered": 0.34,
        "responses": [response(0, None, 9), response(10_000, 20_000, 4), response(500, 1000, 5)],
    }  # fmt: skip
    paths = [{"path": "dumbbell", "runs": 2, "stopped": 0}]
    return {"summary": [], "traffic": [traffic], "repeats": [], "paths": paths}


def test_a_path_without_measured_flows_has_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    path = {"rate_bps": 1e7, "base_rtt_ms": 0.0, "bdp_bytes": 0, "buffer_bytes": 75_000}
    tables.show(overview(), {"dumbbell": path})
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert lines[0][0] == "dumbbell"
    assert lines[3][:3] == ["responses", "size", "epochs"]
    whole, small, large = lines[4:]
    assert whole[:3] == ["web", "all", "4.50"]
    assert " ".join(small) == "500 B to 1.00 kB 2.50 250 ms 900 ms 300 ms 280 ms"
    assert large[:5] == ["10.0", "kB", "to", "20.0", "kB"]


def test_traffic_without_responses_has_no_such_table() -> None:
    found = overview()
    found["traffic"][0]["responses"] = []  # type: ignore[index]
    assert tables.responses_by_path(found) == {}


def test_the_figure_of_response_times_weights_runs_by_their_epochs() -> None:
    rows = [
        {"path": "p", "run": run, "traffic": "web", "from_bytes": low, "to_bytes": high,
         "count": count, "duration_median_s": median, "duration_p95_s": 2 * median}
        for run, low, high, count, median in [
            (0, 0, None, 4, 9.0),
            (0, 10_000, 20_000, 1, 0.1),
            (1, 10_000, 20_000, 3, 0.5),
            (0, 20_000, 50_000, 2, 0.7),
        ]
    ]  # fmt: skip
    figure = exchange_plots.response_times(pl.DataFrame(rows, infer_schema_length=None))
    (axes,) = figure.axes
    median, p95 = axes.lines[:2]
    assert points(median, "y") == pytest.approx([0.4, 0.7])
    assert points(p95, "y") == pytest.approx([0.8, 1.4])
    assert points(median, "x") == pytest.approx([200**0.5, 1000**0.5])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_figure_of_distributions_has_a_panel_for_each_range_of_sizes() -> None:
    sizes = [700, 14_600, 15_000, 500_000]
    epochs = pl.DataFrame(
        {"path": "p", "run": 0, "traffic": "web", "response_bytes": sizes,
         "duration_s": [0.1, 0.2, 0.4, 3.0]}
    )  # fmt: skip
    figure = exchange_plots.response_cdfs(epochs)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["below 10 kB", "from 10 kB to 200 kB", "from 200 kB"]
    middle = figure.axes[1].lines[0]
    assert points(middle, "x") == [0.2, 0.2, 0.4]
    assert points(middle, "y") == [0.0, 0.5, 1.0]


def test_the_figure_of_queues_is_a_distribution_over_time() -> None:
    table = pl.DataFrame(
        {"path": "p", "run": [0] * 101 + [1] * 101, "link": "bottleneck",
         "percent": [*range(101)] * 2, "queue_packets": [0] * 51 + [10] * 50 + [0] * 101}
    )  # fmt: skip
    (axes,) = exchange_plots.queues(table).axes
    line = axes.lines[0]
    assert points(line, "x")[50:52] == [0.0, 5.0]
    assert points(line, "y")[-1] == 1.0


def test_flows_that_were_not_started_are_counted() -> None:
    found = overview()
    assert tables.remarks(found) == []
    traffic = found["traffic"]
    assert isinstance(traffic, list)
    traffic[0]["rejected"] = 12
    assert tables.remarks(found) == [
        "12 flows of web over dumbbell were not started, because more than a million were open."
    ]
