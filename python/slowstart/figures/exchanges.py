"""Figures of connections in which both sides write: response times, and the queues behind them.

As in :mod:`slowstart.plots`, every function takes tables and returns a figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import stats
from slowstart.figures import colors
from slowstart.figures.canvas import (
    finish,
    label_left,
    legend,
    line_widths,
    note_zeros,
    numbers,
    panels,
    plain_log,
    plural,
    styled,
    thin,
    with_values,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KILO = 1e3
# Sizes in bytes that separate the panels of distributions: what fits a few packets, and bulk data.
PANELS = (0, 10_000, 200_000)


def response_times(responses: pl.DataFrame) -> Figure:
    """Response time against the size of the response: median and 95th percentile, log-log.

    ``responses`` is the table of responses of a result. A point is the mean over the runs,
    weighted by their epochs, at the geometric middle of the class. The times include the
    acceptor's wait.
    """
    names = responses["traffic"].unique(maintain_order=True).to_list()
    paths = responses["path"].unique(maintain_order=True).to_list()
    styles = colors.styles(names)
    widths = line_widths(len(names))
    count = pl.col("count").cast(pl.Float64)
    classes = (
        responses.filter(pl.col("to_bytes").is_not_null())
        .group_by("path", "traffic", "from_bytes", "to_bytes")
        .agg(
            *(
                ((count * pl.col(f"duration_{each}_s")).sum() / count.sum()).alias(each)
                for each in ("median", "p95")
            )
        )
        .sort("from_bytes")
    )
    with styled():
        figure, (row,) = panels(max(5.2, 0.8 + 3.4 * len(paths)), 4.4, 1, len(paths), sharey="all")
        for axes, path in zip(row, paths, strict=True):
            axes.set_title(path, fontweight="bold")
            for name, width in zip(names, widths, strict=True):
                here = classes.filter((pl.col("path") == path) & (pl.col("traffic") == name))
                low = np.maximum(numbers(here, "from_bytes"), 50.0)
                size = np.sqrt(low * numbers(here, "to_bytes")) / _KILO
                look: Any = {"color": styles[name].color, "linewidth": width, "markersize": 3.5}
                axes.plot(size, numbers(here, "median"), "o-", label=f"{name}: median", **look)
                label = f"{name}: 95th percentile"
                axes.plot(size, numbers(here, "p95"), "^:", label=label, **look)
            axes.set_xscale("log")
            axes.set_yscale("log")
            plain_log(axes.xaxis)
            plain_log(axes.yaxis)
            axes.set_xlabel("size of the response (kB)")
        label_left(row, "response time (s)")
        legend(figure, row[0].get_legend_handles_labels()[0])
        runs = plural(responses["run"].n_unique(), "run")
        return finish(figure, f"Response time against size: {runs}")


def response_cdfs(epochs: pl.DataFrame) -> Figure:
    """Distributions of response times: a column of panels for each range of response sizes.

    ``epochs`` is the table of epochs of a result (``list_flows = true``).
    """
    names = epochs["traffic"].unique(maintain_order=True).to_list()
    paths = epochs["path"].unique(maintain_order=True).to_list()
    styles = colors.styles(names)
    widths = line_widths(len(names))
    ends = [*PANELS[1:], None]
    with styled():
        width, height = 0.8 + 3.4 * len(PANELS), 0.8 + 2.6 * len(paths)
        figure, grid = panels(width, height, len(paths), len(PANELS), sharey="all")
        for row, path in zip(grid, paths, strict=True):
            for axes, low, high in zip(row, PANELS, ends, strict=True):
                sizes = pl.col("response_bytes") >= low
                if high is not None:
                    sizes &= pl.col("response_bytes") < high
                here = epochs.filter((pl.col("path") == path) & sizes)
                for name, width in zip(names, widths, strict=True):
                    times = here.filter(pl.col("traffic") == name)["duration_s"]
                    steps = [np.asarray(each) for each in stats.ecdf(times)]
                    look: Any = {"color": styles[name].color, "linewidth": width, "label": name}
                    axes.plot(*thin(*steps), drawstyle="steps-post", **look)
                axes.set_title(_sizes(low, high) + (f", {path}" if len(paths) > 1 else ""))
                if here.is_empty():
                    axes.text(0.5, 0.5, "no epochs", ha="center", transform=axes.transAxes)
                else:
                    axes.set_xscale("log")
                    plain_log(axes.xaxis)
                axes.set_ylim(0, 1.02)
            label_left(row, "CDF of epochs")
        for axes in grid[-1]:
            axes.set_xlabel("response time (s)")
        legend(figure, grid[0][0].get_legend_handles_labels()[0])
        runs = plural(epochs["run"].n_unique(), "run")
        return finish(figure, f"Distributions of response times by size: {runs}")


def _sizes(low: int, high: int | None) -> str:
    if not low:
        return f"below {(high or 0) / _KILO:g} kB"
    return f"from {low / _KILO:g} kB" + ("" if high is None else f" to {high / _KILO:g} kB")


def queues(table: pl.DataFrame) -> Figure:
    """Distribution of the queue over time, by link: a panel for each path.

    ``table`` is the table of queues of a result: percentiles of the queue over time. Those of
    several runs are averaged.
    """
    links = table["link"].unique(maintain_order=True).to_list()
    paths = table["path"].unique(maintain_order=True).to_list()
    styles = colors.styles(links)
    widths = line_widths(len(links))
    mean = table.group_by("path", "link", "percent").agg(pl.col("queue_packets").mean())
    paths, zeros = with_values(mean, paths, pl.col("queue_packets") > 0)
    with styled():
        figure, (row,) = panels(max(5.2, 0.8 + 3.4 * len(paths)), 4.4, 1, len(paths), sharey="all")
        for axes, path in zip(row, paths, strict=True):
            axes.set_title(path, fontweight="bold")
            for link, width in zip(links, widths, strict=True):
                here = mean.filter((pl.col("path") == path) & (pl.col("link") == link))
                here = here.sort("percent")
                look: Any = {"color": styles[link].color, "linewidth": width, "label": link}
                share = numbers(here, "percent") / 100
                axes.plot(numbers(here, "queue_packets"), share, drawstyle="steps-pre", **look)
            axes.set_xlabel("queue (packets)")
            axes.set_ylim(0, 1.02)
            axes.set_xlim(left=0)
        label_left(row, "fraction of the time")
        legend(figure, row[0].get_legend_handles_labels()[0])
        runs = plural(table["run"].n_unique(), "run")
        note_zeros(figure, zeros)
        return finish(figure, f"Queues over time: {runs}")
