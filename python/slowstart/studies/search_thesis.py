"""What ``studies/search-thesis`` cannot express as a statistic of runs.

Numbers that are taken from time series (:mod:`~slowstart.studies.search_norm`), those that are
calculated, and the figures of both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart import colors, plots
from slowstart.studies.claims import filtered
from slowstart.studies.estimates import Estimate, estimate
from slowstart.studies.figures import count_of
from slowstart.studies.search_norm import (
    BINS,
    LN2,
    WINDOW,
    crossing,
    loss_seen,
    measured_norm,
    norm,
    norm_of_bins,
    numbers,
    spectrum,
)
from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.runner import Findings
    from slowstart.studies.store import Stack

    Values = NDArray[np.float64]

_GREY, _RED, _BLUE, _GREEN = "#555555", "#c03030", "#3060b0", "#2a8a3e"
_CLASSES = {"early": _RED, "chokepoint": _GREEN, "late": _BLUE}
_MEGA = 1e6
_GEO = {"network": "geo", "algorithm": "cubic+search:passive=true"}


def closed(_: Findings, __: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """A number of the closed form: ``value`` names which."""
    if parameters["value"] == "maximum":
        value = float(norm(np.linspace(0, 20, 2001)).max())
    elif parameters["value"] == "after one round":
        value = float(norm(np.array([1.0]), 4)[0])
    else:
        value = crossing(parameters["threshold"], queue=parameters.get("queue", False))
    return Estimate(value, None, None, None, 0, 0)


# --- numbers from time series --------------------------------------------------------------------


def _first_rtt(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    samples = series["rtt_ms"].drop_nulls()
    return None if samples.is_empty() else float(samples[0])


def _leave(flow: Mapping[str, Any]) -> float | None:
    """When slow start ended, or SEARCH said that it should, on the clock of the time series."""
    end = flow["passive_exit_s"] if flow["passive_exit_s"] is not None else flow["exit_s"]
    return None if end is None else float(end) + float(flow["start_s"])


def _largest_rtt(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = _leave(flow)
    if end is None:
        return None
    samples = series.filter(pl.col("time_s") <= end)["rtt_ms"].drop_nulls()
    return None if samples.is_empty() else float(samples.max())  # type: ignore[arg-type]


def _rates(series: pl.DataFrame) -> pl.DataFrame:
    """The document's bitrate, window over RTT, at each ACK."""
    rates = series.select("time_s", "cwnd_bytes", pl.col("rtt_ms").forward_fill()).drop_nulls()
    return rates.with_columns(rate=8e3 * pl.col("cwnd_bytes") / pl.col("rtt_ms"))


def _exit_rate(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = _leave(flow)
    if end is None:
        return None
    rates = _rates(series).filter(pl.col("time_s") < end)["rate"]
    return None if rates.is_empty() else float(rates[-1])


def _rate_capacity(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    median = flow["capacity_median_throughput_bps"]
    if median is None:
        return None
    reached = _rates(series).filter(pl.col("rate") > median)["time_s"]
    return None if reached.is_empty() else float(reached[0]) - float(flow["start_s"])


def _peak(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = flow["capacity_true_s"]
    if end is None:
        return None
    rows = series.drop_nulls("rtt_ms")
    found = spectrum(numbers(rows, "time_s"), numbers(rows, "rtt_ms"), end + flow["start_s"])
    if found is None:
        return None
    frequency, amplitude = found
    # A trend is no oscillation: two periods at least.
    there = frequency >= 2 / end
    return float(frequency[there][int(np.argmax(amplitude[there]))])


first_rtt_ms = Extract("first_rtt_ms", _first_rtt)
largest_rtt_ms = Extract("largest_rtt_ms", _largest_rtt)
exit_rate_bps = Extract("exit_rate_bps", _exit_rate)
rate_capacity_s = Extract("rate_capacity_s", _rate_capacity)
rtt_peak_hz = Extract("rtt_peak_hz", _peak)


def bin_error(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """Mean difference, on GEO until the exit, between a norm from bins and one from every ACK.

    With ``hold`` at every moment, the norm from bins being that of the last bin that ended; else
    at the ends of bins alone.
    """
    errors = []
    for flow, series in _kept(findings, "passive", stack, _GEO):
        end = _leave(flow)
        if end is None or flow["first_rtt_ms"] is None:
            continue
        step = WINDOW / BINS * flow["first_rtt_ms"] / 1e3
        bounds = np.arange(float(series["time_s"][0]), end, step)
        binned = norm_of_bins(series, bounds)
        times = bounds
        if parameters["hold"]:
            times = np.arange(bounds[0], bounds[-1], step / 10)
            binned = binned[np.searchsorted(bounds, times, side="right") - 1]
        exact = measured_norm(series, times, BINS * step)[2]
        difference = np.abs(exact - binned)
        errors.append(float(np.nanmean(difference)))
    if not errors:
        return None
    rows = pl.DataFrame({"value": errors, "job": [0] * len(errors), "run": range(len(errors))})
    return estimate(rows, "mean")


def _kept(
    findings: Findings, experiment: str, stack: Stack, labels: Mapping[str, Any]
) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """The flows whose time series are kept, with these."""
    flows = filtered(findings.table(experiment, stack), labels)
    series = filtered(findings.table(experiment, stack, "flow_traces"), labels)
    if flows.is_empty() or series.is_empty():
        return []
    kept = []
    for (job, run), part in series.group_by("job", "run", maintain_order=True):
        (flow,) = flows.filter(job=job, run=run).iter_rows(named=True)
        kept.append((flow, part))
    return kept


# --- figures -------------------------------------------------------------------------------------


def _title(drawing: Drawing, words: str, stack: Stack) -> str:
    return f"{drawing.title} ({words}{'' if stack == 'simulated' else f', {stack}'})"


def _legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    longest = max(len(str(each.get_label())) for each in handles)
    columns = max(1, min(len(handles), int(figure.get_figwidth() * 12 / (longest + 7))))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def _entry(label: str, color: str, **look: Any) -> Line2D:
    return Line2D([], [], color=color, label=label, **look)


def _networks(findings: Findings, drawing: Drawing, stack: Stack) -> list[str]:
    there = set(findings.table(drawing.experiment, stack)["network"].to_list())
    axes = findings.study.experiments[drawing.experiment].axes
    return [str(each) for each in axes["network"] if each in there]


def norm_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.9: the closed forms, and a simulated flow on a path without noise."""
    kept = _kept(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    windows = {2.0: "#3060b0", 3.5: "#c07010", 5.0: "#2a8a3e"}
    time = np.linspace(-2, 8, 801)
    with plots.styled():
        figure = plots.new_figure(8.6, 3.9)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, queue in zip(panels, (False, True), strict=True):
            axes.set_title("looking back one base RTT" if not queue else "looking back the RTT now")
            for window, color in windows.items():
                axes.plot(time, norm(time, window, queue=queue), color=color)
                for flow, series in kept:
                    base = flow["rtt_min_ms"] / 1e3
                    # Time 0 of the closed form: acknowledged is what capacity brings in 1/ln 2 RTT.
                    at_capacity = _capacity_moment(flow, series)
                    times = at_capacity + np.arange(-2, 8, 0.35) * base
                    found = measured_norm(series, times, window * base, None if queue else base)[2]
                    axes.plot(
                        (times - at_capacity) / base, found, color=color, marker="o",
                        markersize=2.6, linestyle="none", alpha=0.45,
                    )  # fmt: skip
            axes.axhline(0.35, color=_GREY, linewidth=0.8, linestyle=":")
            axes.set_xlabel("base RTTs since capacity")
            axes.set_ylim(-0.12, 0.56)
        panels[0].plot(
            2, 0.35, marker="D", markersize=7.5, markerfacecolor="white",
            markeredgecolor=windows[3.5], markeredgewidth=1.5, linestyle="none", zorder=4,
        )  # fmt: skip
        panels[0].set_ylabel("normalized difference")
        handles = [
            Line2D([], [], color=color, label=f"window {window:g} RTTs")
            for window, color in windows.items()
        ]
        look: Any = {"color": _GREY, "linestyle": "none"}
        handles.append(Line2D([], [], marker="o", markersize=3, label="simulated", **look))
        handles.append(
            Line2D([], [], marker="D", markerfacecolor="white", label="published", **look)
        )
        _legend(figure, handles)
        return plots.finish(figure, _title(drawing, plots.plural(len(kept), "run"), stack))


def _capacity_moment(flow: Mapping[str, Any], series: pl.DataFrame) -> float:
    """Time 0 of the closed form: extrapolated from where ACKs come steadily at capacity."""
    time, acked = numbers(series, "time_s"), numbers(series, "acked_bytes")
    base = flow["rtt_min_ms"] / 1e3
    begin = flow["capacity_true_s"] + flow["start_s"] + 2 * base
    inside = (time >= begin) & (time <= begin + 4 * base)
    rate, start = np.polyfit(time[inside], acked[inside], 1)
    return float(base / LN2 - start / rate)


def buffer_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Where SEARCH leaves slow start, over the buffer: predicted and measured."""
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
            (late, "share that a loss ends"),
        ):
            axes.set_ylabel(label)
            axes.set_xlabel("drop-tail buffer (BDP)")
        handles = [
            Line2D([], [], color=styles[f"threshold {each} %"].color, label=f"threshold {each} %")
            for each in thresholds
        ]
        handles.append(Line2D([], [], color=_GREY, label="predicted"))
        handles.append(
            Line2D([], [], color=_GREY, marker="o", linestyle="none", label="median and range")
        )
        _legend(figure, handles)
        return plots.finish(figure, _title(drawing, count_of(rows, ("buffer", "threshold")), stack))


def spectrum_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.7: the RTT before capacity, and its spectrum, for each network."""
    published = {"geo": 0.5, "leo": 10.0, "lte": 6.0}
    networks = _networks(findings, drawing, stack)
    count = 0
    with plots.styled():
        figure = plots.new_figure(9.6, 5.2)
        grid = figure.subplots(2, len(networks), squeeze=False)
        for column, network in zip(grid.T, networks, strict=True):
            kept = _kept(
                findings, drawing.experiment, stack, {**drawing.select, "network": network}
            )
            count = max(count, len(kept))
            column[0].set_title(network, fontweight="bold")
            spectra = []
            for flow, series in kept:
                end = flow["capacity_true_s"]
                rows = series.drop_nulls("rtt_ms")
                time, rtt = numbers(rows, "time_s"), numbers(rows, "rtt_ms")
                found = None if end is None else spectrum(time, rtt, end)
                if found is None:
                    continue
                inside = time <= end
                column[0].plot(
                    *plots.thin(time[inside], rtt[inside]), color=_GREY, alpha=0.3, lw=0.7
                )
                spectra.append(found)
            if not spectra:
                continue
            limit = 6 * published[network]
            frequency = np.linspace(0, limit, 600)
            mean = np.mean([np.interp(frequency, *each) for each in spectra], axis=0)
            column[1].plot(frequency, mean, color=_BLUE)
            column[1].axvline(published[network], color=_GREY, linestyle="--", linewidth=1)
            column[0].set_xlabel("time (s)")
            column[1].set_xlabel("frequency (Hz)")
            column[1].set_ylim(bottom=0)
        grid[0][0].set_ylabel("RTT (ms)")
        grid[1][0].set_ylabel("mean amplitude (ms)")
        handles = [
            Line2D([], [], color=_BLUE, label="mean of the runs' spectra"),
            _entry("published peak", _GREY, linestyle="--"),
        ]
        _legend(figure, handles)
        return plots.finish(figure, _title(drawing, f"{plots.plural(count, 'run')} each", stack))


def _marks(axes: Axes, flow: Mapping[str, Any]) -> None:
    for value, color, dashes in (
        (flow["capacity_true_s"], _BLUE, "--"),
        (flow["capacity_latency_offset_s"], _BLUE, ":"),
        (_leave(flow), _GREEN, "--"),
        (flow["first_loss_s"], _RED, "--"),
    ):
        if value is not None:
            axes.axvline(value, color=color, linestyle=dashes, linewidth=1)


_MARKS = (
    ("capacity", _BLUE, "--"),
    ("capacity by latency", _BLUE, ":"),
    ("SEARCH's exit", _GREEN, "--"),
    ("first loss seen", _RED, "--"),
)


def examples_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.6: delivered bytes, twice those of an RTT before, and their difference."""
    networks = _networks(findings, drawing, stack)
    with plots.styled():
        figure = plots.new_figure(8.8, 1.2 + 1.9 * len(networks))
        grid = figure.subplots(len(networks), 2, squeeze=False)
        for row, network in zip(grid, networks, strict=True):
            kept = _kept(
                findings, drawing.experiment, stack, {**drawing.select, "network": network}
            )
            if not kept:
                continue
            flow, series = kept[0]
            ends = [flow["first_loss_s"], _leave(flow)]
            end = 1.1 * max([each for each in ends if each is not None] or [1.0])
            window = WINDOW * flow["first_rtt_ms"] / 1e3
            times = np.arange(float(series["time_s"][0]) + window / BINS, end, window / BINS)
            current, expected, difference = measured_norm(series, times, window)
            row[0].plot(times, expected / _MEGA, color=_BLUE)
            row[0].plot(times, current / _MEGA, color=_GREEN)
            row[1].plot(times, difference, color="#4aa3df")
            row[1].axhline(0.35, color=_GREY, linestyle=":", linewidth=0.8)
            row[1].set_ylim(-0.3, 0.8)
            row[0].set_ylabel(f"{network}\nin the window (MB)")
            row[1].set_ylabel("normalized difference")
            for axes in row:
                _marks(axes, flow)
                axes.set_xlim(0, end)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
        handles = [
            Line2D([], [], color=_GREEN, label="delivered"),
            Line2D([], [], color=_BLUE, label="twice that of one RTT before"),
        ]
        handles += [_entry(label, color, linestyle=dashes) for label, color, dashes in _MARKS]
        _legend(figure, handles)
        return plots.finish(figure, _title(drawing, "the first run of each", stack))


def latency_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 5.4: the one-way latency offset (the wait in the queue) and what is read from it."""
    kept = _kept(findings, drawing.experiment, stack, drawing.select)
    links = filtered(findings.table(drawing.experiment, stack, "link_traces"), drawing.select)
    if not kept or links.is_empty():
        return None
    flow, _ = kept[0]
    mine = links.filter(
        job=flow.get("job", 0), run=flow["run"], link=links.drop_nulls("queue_bytes")["link"][0]
    )
    offset = numbers(mine, "queue_bytes") * 8 / 25e6 * 1e3
    with plots.styled():
        figure = plots.new_figure(8.6, 3.9)
        axes = figure.subplots()
        axes.plot(*plots.thin(numbers(mine, "time_s"), offset), color="#4aa3df")
        for level in (0.5, 2):
            axes.axhline(level * flow["rtt_min_ms"], color=_GREY, linestyle=":", linewidth=0.8)
        _marks(axes, flow)
        axes.set_xlim(0, 30)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("wait in the queue (ms)")
        diamond: Any = {"marker": "D", "markerfacecolor": "white", "linestyle": "none"}
        axes.plot([10.5, 12, 17], [300, 1200, 0], ms=7, color=_GREY, clip_on=False, **diamond)
        handles = [_entry(label, color, linestyle=dashes) for label, color, dashes in _MARKS]
        label = "published: capacity, 1.2 s, first loss"
        handles.append(Line2D([], [], color=_GREY, label=label, **diamond))
        _legend(figure, handles)
        return plots.finish(figure, _title(drawing, "one run", stack))


def sensitivity_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figures 4.10 and 4.11: shares of exits over the threshold, for each window."""
    rows = _settings(findings.table(drawing.experiment, stack))
    networks = _networks(findings, drawing, stack)
    windows = sorted(set(rows["window"].to_list()))
    with plots.styled():
        figure = plots.new_figure(1.2 + 1.75 * len(windows), 1.1 + 2.0 * len(networks))
        grid = figure.subplots(len(networks), len(windows), squeeze=False, sharey=True, sharex=True)
        for line, network in zip(grid, networks, strict=True):
            line[0].set_ylabel(f"{network}\nshare of runs")
            for axes, window in zip(line, windows, strict=True):
                axes.set_title(f"window {window:g} RTTs")
                mine = rows.filter(network=network, window=window).sort("threshold")
                for word, color in _CLASSES.items():
                    means = mine.group_by("threshold", maintain_order=True).agg(
                        share=(pl.col("exit_class") == word).mean()
                    )
                    axes.plot(means["threshold"], means["share"], color=color, marker="o", ms=3)
        for axes in grid[-1]:
            axes.set_xlabel("threshold (%)")
        _legend(figure, [Line2D([], [], color=c, marker="o", label=w) for w, c in _CLASSES.items()])
        words = count_of(rows, ("network", "window", "threshold"))
        return plots.finish(figure, _title(drawing, words, stack))


def _settings(rows: pl.DataFrame) -> pl.DataFrame:
    """With window and threshold, which stand in the algorithm's name."""

    def option(name: str) -> pl.Expr:
        return pl.col("setting").str.extract(rf"{name} ([0-9.]+)").cast(pl.Float64).alias(name)

    return rows.with_columns(option("window"), option("threshold"))


def best_setting(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """By how much the best setting's share of exits at the chokepoint exceeds that of 3.5, 35."""
    network = parameters["network"]
    rows = findings.table("sensitivity", stack).filter(pl.col("network") == network)
    if rows.is_empty():
        return None
    shares = rows.group_by("setting").agg(
        share=(pl.col("exit_class") == "chokepoint").fill_null(value=False).mean()
    )
    own = shares.filter(pl.col("setting") == "window 3.5, threshold 35")["share"]
    if own.is_empty():
        return None
    ahead = float(shares["share"].max()) - float(own[0])  # type: ignore[arg-type]
    runs = int(rows.group_by("setting").len()["len"].min())  # type: ignore[arg-type]
    return Estimate(ahead, None, None, None, runs, len(rows))


def downloads_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figures 5.10a and 5.11a: mean time to download so much."""
    rows = findings.table(drawing.experiment, stack)
    networks = _networks(findings, drawing, stack)
    algorithms = list(dict.fromkeys(rows["algorithm"].to_list()))
    styles = colors.styles(algorithms)
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
            for name in algorithms:
                mine = rows.filter(network=network, algorithm=name)
                # The mean of those that came so far would be that of the fast ones.
                whole = [(size, column) for size, column in sizes.items()
                         if mine[column].null_count() == 0]  # fmt: skip
                means = [float(mine[column].mean()) for _, column in whole]  # type: ignore[arg-type]
                axes.plot([size for size, _ in whole], means, color=styles[name].color,
                          linestyle=styles[name].dashes, marker="o", ms=3, label=name)  # fmt: skip
                leave = mine["exit_s"].mean()
                if leave is not None:
                    axes.axhline(float(leave), color=styles[name].color, lw=0.8, ls=":")  # type: ignore[arg-type]
            axes.set_xlabel("downloaded (MB)")
        grid[0].set_ylabel("mean time (s)")
        handles = [_entry(n, styles[n].color, linestyle=styles[n].dashes) for n in algorithms]
        handles.append(Line2D([], [], color=_GREY, lw=0.8, ls=":", label="mean exit of slow start"))
        _legend(figure, handles)
        return plots.finish(
            figure, _title(drawing, count_of(rows, ("network", "algorithm")), stack)
        )
