"""The figures of Kachooei 2024, chapter 4: SEARCH's computation and its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart import plots
from slowstart.studies.figures import count_of

from .norm import (
    BINS,
    LN2,
    WINDOW,
    delivered,
    measured_norm,
    norm,
    norm_of_bins,
    numbers,
    spectrum,
)
from .runs import (
    BLUE,
    DIAMOND,
    GREEN,
    GREY,
    MEGA,
    MOMENTS,
    ORANGE,
    RED,
    entry,
    kept_runs,
    left_at,
    mark_moments,
    networks_of,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Values = NDArray[np.float64]

# Fractions that coincide stay visible: later lines and marks, drawn on top, are smaller.
_EDGE: Any = {"mec": "white", "mew": 0.6}
_LOOKS: dict[str, dict[str, Any]] = {
    "early": {"color": RED, "marker": "s", "ms": 7, "linewidth": 3.4, **_EDGE},
    "chokepoint": {"color": GREEN, "marker": "D", "ms": 5, "linewidth": 2, **_EDGE},
    "late": {"color": BLUE, "marker": "o", "ms": 4, "linewidth": 1, **_EDGE},
}


def norm_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.9: the closed forms, and a simulated flow on a path without noise."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    windows = {2.0: "#3060b0", 3.5: "#c07010", 5.0: "#2a8a3e"}
    time = np.linspace(-2, 8, 801)
    with plots.styled():
        figure = plots.new_figure(8.6, 3.9)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, queue in zip(panels, (False, True), strict=True):
            axes.set_title("look-back: base RTT" if not queue else "look-back: current RTT")
            for window, color in windows.items():
                axes.plot(time, norm(time, window, queue=queue), color=color)
                for flow, series in kept:
                    base = flow["rtt_min_ms"] / 1e3
                    # At time 0 of the closed form 1/ln 2 BDP have been acknowledged.
                    at_capacity = capacity_moment(flow, series)
                    times = at_capacity + np.arange(-2, 8, 0.35) * base
                    found = measured_norm(series, times, window * base, None if queue else base)[2]
                    axes.plot(
                        (times - at_capacity) / base, found, color=color, marker="o",
                        markersize=2.6, linestyle="none", alpha=0.45,
                    )  # fmt: skip
            axes.axhline(0.35, color=GREY, linewidth=0.8, linestyle=":")
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
        look: Any = {"color": GREY, "linestyle": "none"}
        handles.append(Line2D([], [], marker="o", markersize=3, label="simulated", **look))
        handles.append(
            Line2D([], [], marker="D", markerfacecolor="white", label="published", **look)
        )
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, plots.plural(len(kept), "run"), stack))


def capacity_moment(flow: Mapping[str, Any], series: pl.DataFrame) -> float:
    """Time 0 of the closed form, extrapolated from the steady ACK rate at capacity."""
    time, acked = numbers(series, "time_s"), numbers(series, "acked_bytes")
    base = flow["rtt_min_ms"] / 1e3
    begin = flow["capacity_true_s"] + flow["start_s"] + 2 * base
    inside = (time >= begin) & (time <= begin + 4 * base)
    rate, start = np.polyfit(time[inside], acked[inside], 1)
    return float(base / LN2 - start / rate)


def spectrum_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.7: the RTT before capacity, and its spectrum, for each network."""
    published = {"geo": 0.5, "leo": 10.0, "lte": 6.0}
    networks = networks_of(findings, drawing, stack)
    counts = set()
    with plots.styled():
        figure = plots.new_figure(9.6, 5.2)
        grid = figure.subplots(2, len(networks), squeeze=False)
        for column, network in zip(grid.T, networks, strict=True):
            kept = kept_runs(
                findings, drawing.experiment, stack, {**drawing.select, "network": network}
            )
            column[0].set_title(network, fontweight="bold")
            spectra, used = [], []
            for flow, series in kept:
                end = flow["capacity_true_s"]
                rows = series.drop_nulls("rtt_ms")
                time, rtt = numbers(rows, "time_s"), numbers(rows, "rtt_ms")
                found = None if end is None else spectrum(time, rtt, end)
                if found is None:
                    continue
                inside = time <= end
                column[0].plot(
                    *plots.thin(time[inside], rtt[inside]), color=GREY, alpha=0.3, lw=0.7
                )
                spectra.append(found)
                used.append((flow, series))
            if not spectra:
                continue
            counts.add(len(spectra))
            limit = 6 * published[network]
            frequency = np.linspace(0, limit, 600)
            mean = np.mean([np.interp(frequency, *each) for each in spectra], axis=0)
            column[1].plot(frequency, mean, color=BLUE)
            moments, average = mean_rtt(used)
            column[0].plot(moments, average, color=ORANGE, linewidth=1.2)
            found = spectrum(moments, average, float(moments[-1]))
            if found is not None:
                column[1].plot(frequency, np.interp(frequency, *found), color=ORANGE)
            column[1].axvline(published[network], color=GREY, linestyle="--", linewidth=1)
            column[0].set_xlabel("time (s)")
            column[1].set_xlabel("frequency (Hz)")
            column[1].set_ylim(bottom=0)
        grid[0][0].set_ylabel("RTT (ms)")
        grid[1][0].set_ylabel("mean amplitude (ms)")
        handles = [
            entry("a run", GREY, linewidth=0.7),
            entry("mean of the runs' spectra", BLUE),
            entry("mean of the runs, and its spectrum", ORANGE),
            entry("published peak", GREY, linestyle="--"),
        ]
        plots.legend(figure, handles)
        words = f"{plots.plurals(counts or {0}, 'run')} each"
        return plots.finish(figure, titled(drawing, words, stack))


Curve = tuple["Values", "Values", float]
"""The RTT of a run: its times, its values in ms, and when it reached capacity."""


def mean_rtt(kept: Sequence[tuple[Mapping[str, Any], pl.DataFrame]]) -> tuple[Values, Values]:
    """Times until capacity (the median of the runs), and the RTT averaged over runs."""
    return mean_curve(rtt_curves(kept))


def rtt_curves(kept: Sequence[tuple[Mapping[str, Any], pl.DataFrame]]) -> list[Curve | None]:
    """The RTT of each run; ``None`` for one without a sample or that did not reach capacity."""
    found: list[Curve | None] = []
    for flow, series in kept:
        rows = series.drop_nulls("rtt_ms")
        if flow["capacity_true_s"] is None or rows.is_empty():
            found.append(None)
        else:
            times, values = numbers(rows, "time_s"), numbers(rows, "rtt_ms")
            found.append((times, values, flow["capacity_true_s"]))
    return found


def mean_curve(curves: Sequence[Curve | None]) -> tuple[Values, Values]:
    """What :func:`mean_rtt` returns, of the curves of its runs."""
    there = [each for each in curves if each is not None]
    end = float(np.median([each[2] for each in there]))
    moments = np.linspace(max(time[0] for time, _, _ in there), end, 2000)
    return moments, np.mean([np.interp(moments, *each[:2]) for each in there], axis=0)


def sensitivity_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figures 4.10 and 4.11: fractions of exits against the threshold, for each window."""
    rows = _settings(findings.table(drawing.experiment, stack))
    networks = networks_of(findings, drawing, stack)
    windows = sorted(set(rows["window"].to_list()))
    with plots.styled():
        figure = plots.new_figure(1.2 + 1.75 * len(windows), 1.1 + 2.0 * len(networks))
        grid = figure.subplots(len(networks), len(windows), squeeze=False, sharey=True, sharex=True)
        for axes, window in zip(grid[0], windows, strict=True):
            axes.set_title(f"window {window:g} RTTs", fontweight="bold")
        for line, network in zip(grid, networks, strict=True):
            line[0].set_ylabel(f"{network}\nfraction of runs")
            for axes, window in zip(line, windows, strict=True):
                mine = rows.filter(network=network, window=window).sort("threshold")
                for word, look in _LOOKS.items():
                    means = mine.group_by("threshold", maintain_order=True).agg(
                        share=(pl.col("exit_class") == word).mean()
                    )
                    axes.plot(means["threshold"], means["share"], **look)
        for axes in grid[-1]:
            axes.set_xlabel("threshold (%)")
        plots.legend(figure, [Line2D([], [], label=w, **look) for w, look in _LOOKS.items()])
        words = count_of(rows, ("network", "window", "threshold"))
        return plots.finish(figure, titled(drawing, words, stack))


def _settings(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns window and threshold, parsed from the setting."""

    def option(name: str) -> pl.Expr:
        return pl.col("setting").str.extract(rf"{name} ([0-9.]+)").cast(pl.Float64).alias(name)

    return rows.with_columns(option("window"), option("threshold"))


def bins_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.2: the normalized difference from every ACK and from bins, and their difference."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    errors = []
    with plots.styled():
        figure = plots.new_figure(9.4, 3.9)
        left, right = figure.subplots(1, 2, sharex=True)
        for place, (flow, series) in enumerate(kept):
            end = left_at(flow)
            if end is None or flow["first_rtt_ms"] is None:
                continue
            times, exact, binned = norms_of(series, flow["first_rtt_ms"] / 1e3, end, hold=True)
            difference = np.abs(exact - binned)
            errors.append(float(np.nanmean(difference)))
            right.plot(times, difference, color=RED if place == 0 else GREY,
                       linewidth=1.2 if place == 0 else 0.6,
                       alpha=1.0 if place == 0 else 0.35)  # fmt: skip
            if place == 0:
                left.plot(times, exact, color=BLUE, linewidth=1)
                left.plot(times, binned, color=ORANGE, linewidth=1.2, drawstyle="steps-post")
                left.axhline(0.35, color=GREY, linestyle=":", linewidth=0.8)
        if not errors:
            return None
        right.axhline(float(np.mean(errors)), color=RED, linestyle="--", linewidth=1)
        right.plot(right.get_xlim()[1], 0.02, color=GREY, markersize=7, clip_on=False, **DIAMOND)
        left.set_ylabel("normalized difference")
        right.set_ylabel("absolute difference of both")
        right.set_ylim(bottom=0)
        for axes in (left, right):
            axes.set_xlabel("time (s)")
        handles = [
            entry("from every ACK", BLUE),
            entry("from bins", ORANGE),
            entry("error, first run", RED),
            entry("the others", GREY, linewidth=0.6),
            entry("mean", RED, linestyle="--"),
            entry("published mean", GREY, **DIAMOND),
        ]
        plots.legend(figure, handles)
        words = f"one run; errors of {plots.plural(len(errors), 'run')}"
        return plots.finish(figure, titled(drawing, words, stack))


def norms_of(
    series: pl.DataFrame, first_rtt_s: float, end: float, *, hold: bool
) -> tuple[Values, Values, Values]:
    """Times until ``end``, and the normalized difference there from every ACK and from bins.

    By default only at the ends of bins; with ``hold`` on a finer grid, where the value from bins is
    that of the last completed bin.
    """
    step = WINDOW / BINS * first_rtt_s
    bounds = np.arange(float(series["time_s"][0]), end, step)
    if len(bounds) < 2:
        return (np.empty(0),) * 3
    binned, times = norm_of_bins(series, bounds), bounds
    if hold:
        times = np.arange(bounds[0], bounds[-1], step / 10)
        binned = binned[np.searchsorted(bounds, times, side="right") - 1]
    return times, measured_norm(series, times, BINS * step)[2], binned


def sent_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.5: data sent one RTT before and data delivered, as in version 1.0."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    flow, series = kept[0]
    window = WINDOW * flow["first_rtt_ms"] / 1e3
    moments = [flow["first_loss_s"], left_at(flow)]
    end = 1.1 * max([each for each in moments if each is not None] or [1.0])
    times = np.arange(float(series["time_s"][0]) + window / BINS, end, window / BINS)
    current, expected, of_sent = measured_norm(series, times, window, of_sent=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_delivered = np.where(np.isnan(of_sent), np.nan, (expected - current) / current)
    with plots.styled():
        figure = plots.new_figure(9.4, 3.9)
        left, right = figure.subplots(1, 2, sharex=True)
        left.plot(times, expected / MEGA, color=BLUE)
        left.plot(times, current / MEGA, color=GREEN)
        right.plot(times, of_sent, color="#4aa3df")
        right.plot(times, of_delivered, color=ORANGE, linewidth=1)
        right.axhline(0.35, color=GREY, linestyle=":", linewidth=0.8)
        right.set_ylim(-0.3, 1.1)
        left.set_ylabel("in the window (MB)")
        right.set_ylabel("normalized difference")
        for axes in (left, right):
            mark_moments(axes, flow)
            axes.set_xlim(0, end)
            axes.set_xlabel("time (s)")
        handles = [
            entry("sent, one RTT before", BLUE),
            entry("delivered", GREEN),
            entry("of what was sent", "#4aa3df"),
            entry("of what was delivered", ORANGE),
        ]
        handles += [entry(label, color, linestyle=dashes) for label, color, dashes in MOMENTS]
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, "one run", stack))


def _rounds(flow: Mapping[str, Any], series: pl.DataFrame) -> tuple[Values, Values, float]:
    """Base RTTs since capacity, the data delivered in each (in BDP), and the base RTT."""
    base = flow["rtt_min_ms"] / 1e3
    time, acked = numbers(series, "time_s"), numbers(series, "acked_bytes")
    capacity = capacity_moment(flow, series)
    ends = capacity + np.arange(-7, 9) * base
    last = np.searchsorted(time, ends, side="right") - 1
    counts = np.where(last >= 0, acked[np.maximum(last, 0)], 0.0)
    later = (time >= capacity + 2 * base) & (time <= capacity + 6 * base)
    bdp = float(np.polyfit(time[later], acked[later], 1)[0]) * base
    return np.arange(-6, 9).astype(float), np.diff(counts) / bdp, base


def rounds_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.6: data delivered in each RTT, and twice that of the previous RTT."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    round_, count, _ = _rounds(*kept[0])
    with plots.styled():
        figure = plots.new_figure(6.4, 3.8)
        axes = figure.subplots()
        axes.plot(round_[1:], 2 * count[:-1], color=BLUE, marker="o", ms=4)
        axes.plot(round_, count, color=GREEN, marker="o", ms=4)
        axes.axvline(0, color=BLUE, linestyle="--", linewidth=1)
        axes.set_xlabel("base RTTs since capacity, at the end of each")
        axes.set_ylabel("delivered in an RTT (BDP)")
        axes.set_ylim(bottom=0)
        handles = [
            entry("delivered", GREEN, marker="o"),
            entry("twice the previous RTT", BLUE, marker="o"),
            entry("capacity", BLUE, linestyle="--"),
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, plots.plural(len(kept), "run"), stack))


def windows_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Figure 4.8: windows before, across and after capacity, and their closed-form norms."""
    kept = kept_runs(findings, drawing.experiment, stack, drawing.select)
    if not kept:
        return None
    round_, count, _ = _rounds(*kept[0])
    time = np.linspace(-6, 8, 1401)
    with plots.styled():
        figure = plots.new_figure(7.4, 3.9)
        axes = figure.subplots()
        rate = np.where(time <= 0, np.exp2(np.minimum(time, 0)), 1.0)
        axes.plot(time, rate, color=BLUE)
        # The mean of the closed form over the round of each point.
        axes.plot(round_ - 0.5, count, color=GREEN, marker="o", ms=4, linestyle="none")
        mean = np.diff(delivered(np.arange(-7.0, 9.0)))
        axes.plot(round_ - 0.5, mean, color=BLUE, marker="_", ms=10, linestyle="none")
        for name, end, color in (("x", -1.0, BLUE), ("y", 1.75, ORANGE), ("z", 6.5, RED)):
            inside = (time >= end - WINDOW) & (time <= end)
            axes.fill_between(time[inside], rate[inside], color=color, alpha=0.18)
            value = float(norm(np.array([end]))[0])
            axes.annotate(
                f"{name}: {value:.3f}", (end - WINDOW / 2, 0.05), ha="center",
                path_effects=plots.OUTLINE, zorder=7,
            )  # fmt: skip
        axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
        axes.set_ylim(0, 1.25)
        axes.set_xlabel("base RTTs since capacity")
        axes.set_ylabel("delivered per RTT (BDP)")
        handles = [
            entry("closed form", BLUE),
            entry("its mean over an RTT", BLUE, marker="_", linestyle="none"),
            entry("simulated, over an RTT", GREEN, marker="o", linestyle="none"),
            entry("capacity", GREY, linestyle="--"),
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, titled(drawing, plots.plural(len(kept), "run"), stack))
