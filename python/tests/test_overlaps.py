"""No two texts of a figure overlap, and none is cut, at the widths of papers."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import slowstart
from slowstart import figure_style, plots
from slowstart.figures import tradeoff
from slowstart.figures.runs import facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

ALGORITHMS = (
    "cubic+search", "cubic+hystart++", "cubic+hystart", "cubic+search:threshold=30,exit=drain",
)  # fmt: skip
PATHS = ("wired", "ethernet")


@cache
def result() -> slowstart.Result:
    scenarios = slowstart.compare(list(PATHS), list(ALGORITHMS), size="3 MB", runs=1)
    return slowstart.run(scenarios, traces=True)


@cache
def flows() -> pl.DataFrame:
    return pl.DataFrame(result().flows())


def names() -> list[str]:
    return flows()["name"].unique(maintain_order=True).to_list()


def evolution() -> Figure:
    first = pl.col("path") == "wired"
    links = pl.DataFrame(result().link_traces()).filter(first)
    scenarios = slowstart.compare(["wired"], list(ALGORITHMS), size="3 MB", runs=1)
    columns = [
        plots.Evolution(
            name,
            flows().filter(first & (pl.col("name") == name)).to_dicts(),
            pl.DataFrame(result().flow_traces()).filter(first & (pl.col("algorithm") == name)),
            links.filter(pl.col("flows") == name),
        )
        for name in names()[: plots.columns_on_a_page()]
    ]
    return plots.evolution(facts(scenarios[0].resolved["path"]), columns, names())


def by_size() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "path": path, "name": name, "size_bytes": size, "median_s": size / 1e6 * place,
                "low_s": size / 1.2e6 * place, "high_s": size / 0.8e6 * place,
                "ratio": place / 3, "ratio_low": place / 4, "ratio_high": place / 2,
                "cost_s": place - 2.0, "cost_low_s": place - 3.0, "cost_high_s": place * 1.0,
            }
            for path in PATHS
            for place, name in enumerate(names(), 1)
            for size in (1e5, 3e5, 1e6, 3e6, 1e7)
        ]
    )  # fmt: skip


def many_runs() -> pl.DataFrame:
    return pl.concat(
        flows().with_columns(
            run=pl.lit(run, dtype=flows()["run"].dtype),
            rtt_p95_ms=pl.col("rtt_p95_ms") * (1 + run / 20),
        )
        for run in range(8)
    )


KINDS: dict[str, Callable[[], Figure]] = {
    "evolution": evolution,
    "completion": lambda: plots.completion_by_size(by_size(), names(), 20),
    "exit-cost": lambda: plots.exit_cost(by_size(), names()),
    "distributions": lambda: plots.distributions(many_runs(), names()),
    "exit-shares": lambda: plots.exit_shares(json.loads(result().overview())["summary"], names()),
    "throughput-delay": lambda: tradeoff.throughput_delay(many_runs(), names()),
}


def texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """The visible texts and their boxes in pixels; tick labels beyond the axis are not drawn."""
    canvas: Any = FigureCanvasAgg(figure)
    with plots.styled():  # as files are written
        canvas.draw()
    found = []
    hidden = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not axes.axison or not _is_drawn(axes, axis.axis_name, tick.get_loc())
    }
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        shown = text.get_visible() and text.get_text().strip() and id(text) not in hidden
        if not shown or (text.axes is not None and not text.axes.get_visible()):
            continue
        found.append((text, text.get_window_extent(canvas.get_renderer())))
    return found


def _is_drawn(axes: Axes, name: str, place: float) -> bool:
    low, high = sorted(axes.get_xlim() if name == "x" else axes.get_ylim())
    return low <= place <= high


@pytest.mark.parametrize("width", [3.3, 7.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_texts_overlap(kind: str, width: float) -> None:
    with figure_style.using(figure_style.Look(width_in=width)):
        figure = KINDS[kind]()
    assert_apart(figure)


def assert_apart(figure: Figure) -> None:
    """No two texts overlap by more than a pixel, and none is outside the figure."""
    found = texts(figure)
    assert len(found) > 4
    wrong = []
    for (one, box), (other, beside) in combinations(found, 2):
        across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        up = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        if across > 1 and up > 1:
            wrong.append(f"{one.get_text()!r} over {other.get_text()!r}: {across:.0f} x {up:.0f}")
    for text, box in found:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            wrong.append(f"{text.get_text()!r} is cut at the edge")
    assert not wrong, "\n".join(wrong)
