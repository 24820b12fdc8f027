"""No two texts overlap in the figures of exchanges, networks, studies, sweeps and captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from test_figures import KINDS as STUDIES
from test_figures import run_study
from test_overlaps import assert_apart

from slowstart import figure_style
from slowstart.analysis import connections
from slowstart.analysis.figures import figure as connection_figure
from slowstart.fidelity import compare, grid
from slowstart.fidelity import figures as fidelity_figures
from slowstart.fidelity.quantities import QUANTITIES
from slowstart.figures import exchanges, networks
from slowstart.studies import figures as study_figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

WIDTHS = [None, 3.3, 7.0]
CAPTURE = Path(__file__).parents[2] / "fuzz" / "corpus" / "analyze" / "small.pcapng"


def responses() -> Figure:
    rows = [
        {"path": path, "run": 0, "traffic": name, "from_bytes": low, "to_bytes": 10 * low,
         "count": 5, "duration_median_s": low / 3e5, "duration_p95_s": low / 1e5}
        for path in ("dumbbell", "parking-lot")
        for name in ("web", "a source with a long name")
        for low in (100, 1000, 10_000, 100_000)
    ]  # fmt: skip
    return exchanges.response_times(pl.DataFrame(rows))


def epochs() -> Figure:
    sizes = [700, 14_600, 15_000, 500_000]
    rows = pl.DataFrame(
        {"path": "dumbbell", "run": 0, "traffic": "web", "response_bytes": sizes,
         "duration_s": [0.1, 0.2, 0.4, 3.0]}
    )  # fmt: skip
    return exchanges.response_cdfs(rows)


def queue_table() -> pl.DataFrame:
    rows = [
        {"path": "dumbbell", "run": 0, "link": link, "percent": percent,
         "queue_packets": percent * (1 + place)}
        for place, link in enumerate(("bottleneck", "reverse of the bottleneck"))
        for percent in range(101)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def network_runs() -> pl.DataFrame:
    columns = {name: [1.0 * run for run in range(1, 7)] for name, *_ in networks._MEASURES}
    groups = ["cubic+search"] * 3 + ["cubic+hystart++"] * 3
    return pl.DataFrame({"flows": groups, **columns})


WORKED: dict[str, Callable[[], Figure]] = {
    "responses": responses, "epochs": epochs,
    "queues": lambda: exchanges.queues(queue_table()),
    "network": lambda: networks.totals(network_runs()),
}  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", WORKED)
def test_no_texts_overlap_in_figures_of_tables(kind: str, width: float | None) -> None:
    with figure_style.using(figure_style.Look(width_in=width)):
        figure = WORKED[kind]()
    assert_apart(figure)


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_study(tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize("kind", STUDIES)
def test_no_texts_overlap_in_figures_of_studies(kind: str, findings: Any) -> None:
    (drawing,) = (each for each in findings.study.drawings if each.name == kind)
    figure = study_figures.draw(findings, drawing, findings.stacks)
    assert figure is not None
    assert_apart(figure)


def test_no_texts_overlap_in_the_figure_of_a_connection() -> None:
    (report,) = connections.read([str(CAPTURE)], points=200)
    drawn = 0
    for each in report["connections"]:
        if each.get("series"):
            assert_apart(connection_figure(each))
            drawn += 1
    assert drawn


def test_no_texts_overlap_in_the_errors_of_a_validation() -> None:
    cases = [grid.Case(path, "cubic") for path in grid.quick()]
    found = [
        compare.Difference(case, quantity, 1.0, 1.0, 0.01 * place, 0.0, (1, 1))
        for case in cases
        for place, quantity in enumerate(QUANTITIES)
    ]
    figure = fidelity_figures.by_case(found, "cubic")
    # The boxes of slanted texts overlap where the texts do not.
    for each in figure.axes[0].get_xticklabels():
        each.set_visible(False)
    assert_apart(figure)
