"""The figures of Kachooei 2024, chapter 5: downloads, time of capacity, and the buffer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart import plots, stats
from slowstart.figures import colors
from slowstart.studies.figures import count_of
from slowstart.studies.measures import filtered

from .norm import (
    BINS,
    LN2,
    WINDOW,
    crossing,
    loss_seen,
    measured_norm,
    numbers,
)
from .runs import (
    BLUE,
    GREEN,
    GREY,
    MEGA,
    MOMENTS,
    ORANGE,
    WIFI,
    entry,
    kept_runs,
    left_at,
    mark_moments,
    networks_of,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Values = NDArray[np.float64]


def examples_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.6: bytes delivered, twice those of one RTT before, and their difference."""
    runs = [
        (network, kept_runs(findings, drawing.experiment, stack, each))
        for network in networks_of(findings, drawing, stack)
        for each in [{**drawing.select, "network": network}]
    ]
    runs.append(("wifi", kept_runs(findings, "wifi", stack, WIFI)))
    rows = [(network, *kept[0]) for network, kept in runs if kept]
    with plots.styled():
        figure = plots.new_figure(8.8, 1.2 + 1.9 * len(rows))
        grid = figure.subplots(len(rows), 2, squeeze=False)
        for row, (network, flow, series) in zip(grid, rows, strict=True):
            ends = [flow["first_loss_s"], left_at(flow)]
            end = 1.1 * max([each for each in ends if each is not None] or [1.0])
            window = WINDOW * flow["first_rtt_ms"] / 1e3
            times = np.arange(float(series["time_s"][0]) + window / BINS, end, window / BINS)
            current, expected, difference = measured_norm(series, times, window)
            _trace(row[0], times, expected / MEGA, BLUE)
            _trace(row[0], times, current / MEGA, GREEN)
            _trace(row[1], times, difference, "#4aa3df")
            row[1].axhline(0.35, color=GREY, linestyle=":", linewidth=0.8)
            row[1].set_ylim(-0.3, 0.8)
            row[0].set_ylabel(f"{network}\nin the window (MB)")
            row[1].set_ylabel("normalized difference")
            for axes in row:
                mark_moments(axes, flow)
                axes.set_xlim(0, end)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
        handles = [
            entry("delivered", GREEN),
            entry("twice that of one RTT before", BLUE),
        ]
        handles += [entry(label, color, linestyle=dashes) for label, color, dashes in MOMENTS]
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, "the first run of each", stack))


# A panel shows so many changes of a line apart, and a band has so many parts.
_APART, _PARTS = 200, 60


def _trace(axes: Axes, times: Values, values: Values, color: str) -> None:
    """A line; of one that changes too often, its median and the middle 80 % of each part."""
    known = ~np.isnan(values)
    times, values = times[known], values[known]
    if len(times) <= _APART:
        axes.plot(times, values, color=color)
        return
    parts = np.array_split(np.arange(len(times)), _PARTS)
    middle = [float(np.mean(times[part])) for part in parts]
    low, median, high = np.transpose([np.percentile(values[part], (10, 50, 90)) for part in parts])
    axes.fill_between(middle, low, high, color=color, alpha=0.25, linewidth=0)
    axes.plot(middle, median, color=color)


def latency_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.4: the one-way latency offset at the client, and the times derived from it."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    links = filtered(findings.table(drawing.experiment, stack, "link_traces"), drawing.select)
    if not kept or links.is_empty():
        return None
    flow, series = kept[0]
    mine = links.filter(job=flow.get("job", 0), run=flow["run"], link="forward")
    offset = numbers(mine, "queue_bytes") / _full_rate(flow, series) * 1e3
    # A packet that joins such a queue arrives after its wait and half of the base RTT.
    arrival = numbers(mine, "time_s") + offset / 1e3 + flow["rtt_min_ms"] / 2e3
    with plots.styled():
        figure = plots.new_figure(8.6, 3.9)
        axes = figure.subplots()
        axes.plot(*plots.thin(arrival, offset), color="#4aa3df")
        for level in (0.5, 2):
            axes.axhline(level * flow["rtt_min_ms"], color=GREY, linestyle=":", linewidth=0.8)
        mark_moments(axes, flow)
        axes.set_xlim(0, 30)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("latency offset (ms)")
        diamond: Any = {"marker": "D", "markerfacecolor": "white", "linestyle": "none"}
        axes.plot([10.5, 12, 17], [300, 1200, 0], ms=7, color=GREY, clip_on=False, **diamond)
        handles = [entry(label, color, linestyle=dashes) for label, color, dashes in MOMENTS]
        label = "published: capacity, 1.2 s, first loss"
        handles.append(Line2D([], [], color=GREY, label=label, **diamond))
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, "one run", stack))


def _full_rate(flow: Mapping[str, Any], series: pl.DataFrame) -> float:
    """Bytes per second on the saturated link."""
    time, count = numbers(series, "time_s"), numbers(series, "delivered_bytes")
    begin = flow["start_s"] + (flow["capacity_true_s"] or 0.0) + 2 * flow["rtt_min_ms"] / 1e3
    end = flow["start_s"] + (flow["first_loss_s"] or float(time[-1]))
    inside = (time >= begin) & (time <= end)
    if inside.sum() < 2:
        return float("nan")
    # A full packet has 1448 bytes of payload; its Ethernet frame has 1514 bytes.
    return float(np.polyfit(time[inside], count[inside], 1)[0]) * 1514 / 1448


def downloads_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figures 5.10a and 5.11a: mean download time against size."""
    rows = findings.table(drawing.experiment, stack)
    networks = networks_of(findings, drawing, stack)
    algorithms = list(dict.fromkeys(rows["algorithm"].to_list()))
    styles, count = colors.styles(algorithms), len(algorithms)
    sizes = {
        float(match[1]) * (0.001 if match[2] == "k" else 1.0): column
        for column in rows.columns
        if (match := re.fullmatch(r"time_to_([0-9.]+)([kM])B_s", column))
    }
    with plots.styled():
        figure = plots.new_figure(9.0, 4.1)
        grid = figure.subplots(1, len(networks), squeeze=False, sharey=True)[0]
        for axes, network in zip(grid, networks, strict=True):
            axes.set_title(network, fontweight="bold")
            reached, averages = _times(rows.filter(network=network), algorithms, sizes)
            # Algorithms often coincide, so their points stand side by side, and the dots of an
            # exit lie in the gaps of the others.
            slots = np.arange(len(reached))
            for place, name in enumerate(algorithms):
                means, errors = averages[name]
                color, dashes = styles[name].color, styles[name].dashes
                beside = slots + 0.8 / count * (place - (count - 1) / 2)
                axes.plot(beside, means, color=color, linestyle=dashes, lw=0.7, marker="o", ms=3.5)
                axes.vlines(beside, means - errors, means + errors, color=color, lw=1.2)
                leave = rows.filter(network=network, algorithm=name)["exit_s"].mean()
                if leave is not None:
                    dots = (2 * place, (2, 2 * count - 2))
                    axes.axhline(float(leave), color=color, lw=1.2, ls=dots)  # type: ignore[arg-type]
            axes.set_xticks(slots, [f"{size:g}" for size in reached])
            axes.grid(visible=False, axis="x")
            axes.set_xlabel("downloaded (MB)")
        grid[0].set_ylabel("mean time (s)")
        handles: list[Artist] = [
            entry(n, styles[n].color, linestyle=styles[n].dashes, lw=0.7, marker="o", ms=3.5)
            for n in algorithms
        ]
        bar: Any = {"marker": "|", "markersize": 11, "linestyle": "none"}
        handles.append(Line2D([], [], color=GREY, label="standard error", **bar))
        handles.append(Line2D([], [], color=GREY, lw=0.8, ls=":", label="mean slow-start exit"))
        plots.legend(figure, handles)
        return plots.finish(
            figure, titled(drawing, count_of(rows, ("network", "algorithm")), stack)
        )


def _times(
    rows: pl.DataFrame, algorithms: Sequence[str], sizes: Mapping[float, str]
) -> tuple[list[float], dict[str, tuple[Values, Values]]]:
    """The sizes, and for each algorithm the mean times with their standard errors.

    A mean is over the seeds with which all algorithms reached the size; otherwise each algorithm
    would be averaged over different channels. Sizes reached with fewer than half of the seeds are
    left out.
    """
    reached, found = [], []
    for size, column in sizes.items():
        wide = rows.pivot(on="algorithm", index="seed", values=column).drop_nulls()
        if 2 * len(wide) >= rows["seed"].n_unique() and len(wide) > 1:
            times = wide.select(algorithms).to_numpy()
            reached.append(size)
            found.append((times.mean(axis=0), times.std(axis=0, ddof=1) / np.sqrt(len(times))))
    shape = (len(found), len(algorithms))
    means, errors = (np.reshape([each[side] for each in found], shape) for side in (0, 1))
    return reached, {
        name: (means[:, place], errors[:, place]) for place, name in enumerate(algorithms)
    }


def buffer_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """SEARCH's slow-start exit against the buffer: predicted and measured."""
    rows = findings.table(drawing.experiment, stack).with_columns(
        depth=pl.col("buffer").str.replace(" bdp", "").cast(pl.Float64),
        bdp=pl.col("rate").str.replace(" Mbit/s", "").cast(pl.Float64) * 1e6 / 8 * 0.1 / 1514,
    )
    rows = rows.with_columns(
        window=pl.col("exit_cwnd_bytes") / 1448 / pl.col("bdp"),
        after=(pl.col("exit_s") - pl.col("capacity_true_s")) / 0.1,
    )
    thresholds = list(dict.fromkeys(rows["threshold"].to_list()))
    styles = colors.styles([f"threshold {each} %" for each in thresholds])
    depth = np.linspace(0.5, 4, 200)
    with plots.styled():
        figure = plots.new_figure(10.2, 4.0)
        window, after, late = figure.subplots(1, 3)
        for each in thresholds:
            style = styles[f"threshold {each} %"]
            mine = rows.filter(pl.col("threshold") == each)
            found = crossing(float(each) / 100, queue=True)
            leave = np.minimum(found, loss_seen(depth))
            window.plot(depth, 1 / LN2 + leave, color=style.color, linewidth=1.1)
            after.plot(depth, 1 + leave, color=style.color, linewidth=1.1)
            late.plot(depth, loss_seen(depth) < found, color=style.color, linewidth=1.1)
            places = sorted(set(mine["depth"].to_list()))
            for axes, column in ((window, "window"), (after, "after")):
                middles = []
                for place in places:
                    values = mine.filter(pl.col("depth") == place)[column].drop_nulls()
                    middles.append(values.median())
                    axes.vlines(
                        place, values.min(), values.max(), color=style.color, linewidth=1, alpha=0.5
                    )
                axes.plot(places, middles, color=style.color, marker="o", markersize=4, ls="none")
            shares = [
                (mine.filter(pl.col("depth") == place)["exit_class"] == "late").mean()
                for place in places
            ]
            late.plot(places, shares, color=style.color, marker="o", markersize=4, ls="none")
        for axes, label in (
            (window, "window at the exit (BDP)"),
            (after, "exit after capacity (base RTTs)"),
            (late, "fraction of late exits"),
        ):
            axes.set_ylabel(label)
            axes.set_xlabel("drop-tail buffer (BDP)")
        handles = [
            Line2D([], [], color=styles[f"threshold {each} %"].color, label=f"threshold {each} %")
            for each in thresholds
        ]
        handles.append(Line2D([], [], color=GREY, label="predicted"))
        handles.append(
            Line2D([], [], color=GREY, marker="o", linestyle="none", label="median and range")
        )
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, count_of(rows, ("buffer", "threshold")), stack))


def rate_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.5: the throughput of a download, its median, and the bitrate at the exit."""
    networks = networks_of(findings, drawing, stack)
    with plots.styled():
        figure = plots.new_figure(8.6, 3.7)
        grid = figure.subplots(1, len(networks), squeeze=False, sharey=True)[0]
        for axes, network in zip(grid, networks, strict=True):
            axes.set_title(network, fontweight="bold")
            axes.set_xlabel("throughput (Mbit/s)")
            kept = kept_runs(
                findings, drawing.experiment, stack, {**drawing.select, "network": network}
            )
            kept = [each for each in kept if left_at(each[0]) is not None]
            if not kept:
                continue
            # After a loss, in-order delivery stalls for most of a download.
            flow, series = min(kept, key=lambda each: each[0]["exit_class"] == "late")
            throughput = _throughput(series, left_at(flow) or 0.0)
            axes.plot(*stats.ecdf(throughput.tolist()), drawstyle="steps-post", color=GREY)
            for value, color in (
                (flow["capacity_median_throughput_bps"], "#4aa3df"),
                (flow["exit_rate_bps"], ORANGE),
            ):
                if value is not None:
                    axes.axvline(value / MEGA, color=color, linestyle="--")
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1.02)
        grid[0].set_ylabel("CDF of intervals")
        handles = [
            entry("intervals of 100 ms after slow start", GREY),
            entry("their median", "#4aa3df", linestyle="--"),
            entry("window over RTT at the exit", ORANGE, linestyle="--"),
        ]
        plots.legend(figure, handles)
        words = "the first run of each without a late exit, if any"
        return plots.finish(figure, titled(drawing, words, stack))


def _throughput(series: pl.DataFrame, begin: float, width_s: float = 0.1) -> np.ndarray:
    """In-order throughput at the receiver in Mbit/s, for each interval after ``begin``."""
    time, count = numbers(series, "time_s"), numbers(series, "delivered_bytes")
    bounds = np.arange(begin, float(time[-1]), width_s)
    last = np.maximum(np.searchsorted(time, bounds, side="right") - 1, 0)
    return np.diff(count[last]) * 8 / width_s / MEGA


def rssi_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.8: the throughput of downloads against the received signal strength."""
    rows = findings.table(drawing.experiment, stack).with_columns(
        level=pl.col("signal").str.replace(" dBm", "").cast(pl.Float64),
        mbps=pl.col("goodput_bps") / MEGA,
    )
    medians = rows.group_by("level").agg(pl.col("mbps").median()).sort("level")
    with plots.styled():
        figure = plots.new_figure(6.6, 3.9)
        axes = figure.subplots()
        axes.plot(rows["level"], rows["mbps"], color=BLUE, marker="o", ms=3, ls="none", alpha=0.3)
        axes.plot(medians["level"], medians["mbps"], color=ORANGE, marker="o", ms=5)
        for place in (-53, -64):
            axes.axvline(place, color=GREY, linestyle=":", linewidth=1)
        axes.set_xlabel("received signal strength (dBm)")
        axes.set_ylabel("throughput (Mbit/s)")
        axes.set_ylim(bottom=0)
        handles = [
            entry("a download", BLUE, marker="o", markersize=3, linestyle="none"),
            entry("median", ORANGE, marker="o"),
            entry("the two published locations", GREY, linestyle=":"),
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, count_of(rows, ("signal",)), stack))
