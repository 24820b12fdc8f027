"""The analysis of ``search-thesis``: numbers from time series and from closed forms.

Both are computed in :mod:`.norm`. The figures are in :mod:`.chapter4` and :mod:`.chapter5`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.studies.estimates import Estimate, estimate, place
from slowstart.studies.measures import filtered
from slowstart.studies.store import Extract

from .chapter4 import (
    bins_figure,
    capacity_moment,
    mean_curve,
    norm_figure,
    norms_of,
    rounds_figure,
    rtt_curves,
    sensitivity_figure,
    sent_figure,
    spectrum_figure,
    windows_figure,
)
from .chapter5 import (
    buffer_figure,
    downloads_figure,
    examples_figure,
    latency_figure,
    rate_figure,
    rssi_figure,
)
from .norm import (
    crossing,
    norm,
    numbers,
    spectrum,
)
from .runs import GEO, kept_runs, left_at, rate_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

__all__ = [
    "ahead", "answer", "bin_error", "bins_figure", "buffer_figure", "closed", "downloads_figure",
    "examples_figure", "exit_rate_bps", "first_rtt_ms", "largest_rtt_ms", "latency_figure",
    "mean_peak", "noiseless_exit", "norm_figure", "outliers", "place_among", "rate_capacity_s",
    "rate_figure", "rounds_figure", "rssi_figure", "rtt_peak_hz", "sensitivity_figure",
    "sent_figure", "spectrum_figure", "windows_figure",
]  # fmt: skip


_PUBLISHED = {"geo": 93.5, "leo": 39.0, "lte": 60.0, "strong": 91.0, "weak": 90.5}
"""Kachooei 2024, table 5.3: SEARCH's exits at the chokepoint, in per cent."""


def answer(findings: Findings, stack: Stack) -> list[str]:
    """What the thesis claims, beside what these runs say."""
    sentences = []
    shares = []
    for network, published in _PUBLISHED.items():
        wifi = network in ("strong", "weak")
        rows = findings.table("wifi" if wifi else "passive", stack)
        if rows.is_empty():
            continue
        algorithm = "cubic+search" if wifi else GEO["algorithm"]
        mine = filtered(rows, {"network": network, "algorithm": algorithm})
        share = (mine["exit_class"] == "chokepoint").fill_null(value=False).mean()
        if mine.is_empty() or share is None:
            continue
        name = {"strong": "Wi-Fi strong", "weak": "Wi-Fi weak"}.get(network, network.upper())
        shares.append(f"{name} {100 * float(share):.0f} % ({published:.0f} %)")  # type: ignore[arg-type]
    if shares:
        sentences.append(
            "SEARCH exits slow start after capacity and before a loss, at the chosen points "
            "(published): "
            f"{', '.join(shares)}."
        )
    rows = findings.table("active", stack)
    gains = []
    for network in ("geo", "leo", "lte") if not rows.is_empty() else ():
        medians = [
            filtered(rows, {"network": network, "algorithm": each})["goodput_bps"].median()
            for each in ("cubic+search", "cubic+hystart")
        ]
        if None not in medians:
            gains.append(f"{network.upper()} {float(medians[0]) / float(medians[1]):.2f}")  # type: ignore[arg-type]
    if gains:
        sentences.append(f"Its throughput over HyStart's is {', '.join(gains)} (published: more).")
    return [*sentences, findings.counted_on(stack)]


def closed(_: Findings, __: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """A number of the closed form, selected by ``value``."""
    if parameters["value"] == "maximum":
        value = float(norm(np.linspace(0, 20, 2001)).max())
    elif parameters["value"] == "after one round":
        value = float(norm(np.array([1.0]), 4)[0])
    elif parameters["value"] == "whole rounds":
        rounds = np.minimum(2.0 ** np.arange(6), 16)
        value = 1 - float(rounds[-4:].sum()) / (2 * float(rounds[-5:-1].sum()))
    else:
        value = crossing(parameters["threshold"], queue=parameters.get("queue", False))
    return Estimate(value, None, None, None, 0, 0)


def noiseless_exit(findings: Findings, stack: Stack, _: Mapping[str, Any]) -> Estimate | None:
    """SEARCH's exit without noise, in base RTTs after time 0 of the closed form."""
    for flow, series in kept_runs(findings, "noiseless", stack, {}):
        end = left_at(flow)
        if end is not None:
            value = (end - capacity_moment(flow, series)) / (flow["rtt_min_ms"] / 1e3)
            return Estimate(value, None, None, None, 1, 1)
    return None


# --- numbers from time series --------------------------------------------------------------------


def _first_rtt(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    samples = series["rtt_ms"].drop_nulls()
    return None if samples.is_empty() else float(samples[0])


def _largest_rtt(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = left_at(flow)
    if end is None:
        return None
    largest = series["rtt_ms"].filter(series["time_s"] <= end).max()
    return None if largest is None else float(largest)  # type: ignore[arg-type]


def _exit_rate(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = left_at(flow)
    if end is None:
        return None
    moments, rate = rate_arrays(series)
    before = int(np.searchsorted(moments, end))
    return float(rate[before - 1]) if before else None


def _rate_capacity(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    median = flow["capacity_median_throughput_bps"]
    if median is None:
        return None
    moments, rate = rate_arrays(series)
    reached = np.flatnonzero(rate > median)
    return float(moments[reached[0]]) - float(flow["start_s"]) if reached.size else None


def _peak(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    end = flow["capacity_true_s"]
    if end is None:
        return None
    rows = series.drop_nulls("rtt_ms")
    found = spectrum(numbers(rows, "time_s"), numbers(rows, "rtt_ms"), end + flow["start_s"])
    if found is None:
        return None
    frequency, amplitude = found
    # Fewer than two periods are a trend, not an oscillation.
    there = frequency >= 2 / end
    return float(frequency[there][int(np.argmax(amplitude[there]))])


_RTT = ("time_s", "rtt_ms")
_RATE = ("time_s", "cwnd_bytes", "rtt_ms")

first_rtt_ms = Extract("first_rtt_ms", _first_rtt, links=False, columns=_RTT)
largest_rtt_ms = Extract("largest_rtt_ms", _largest_rtt, links=False, columns=_RTT)
exit_rate_bps = Extract("exit_rate_bps", _exit_rate, links=False, columns=_RATE)
rate_capacity_s = Extract("rate_capacity_s", _rate_capacity, links=False, columns=_RATE)
rtt_peak_hz = Extract("rtt_peak_hz", _peak, links=False, columns=_RTT)


def mean_peak(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The peak of the spectrum of the RTT averaged over runs, as in figure 4.7, in Hz.

    It is taken on a ``network`` over the runs with time series, which are resampled for the
    interval; with ``period`` its inverse, in minimum RTTs. Less than one period is no oscillation.
    """
    kept = kept_runs(findings, "passive", stack, {**GEO, "network": parameters["network"]})
    kept = [each for each in kept if each[0]["capacity_true_s"] is not None]
    if not kept:
        return None

    curves = rtt_curves(kept)
    shortest = [flow["rtt_min_ms"] for flow, _ in kept]

    def peak(places: Sequence[int]) -> float:
        moments, average = mean_curve([curves[place] for place in places])
        found = spectrum(moments, average, float(moments[-1]))
        if found is None:
            return float("nan")
        frequency, amplitude = found
        there = frequency >= 1 / (moments[-1] - moments[0])
        value = float(frequency[there][int(np.argmax(amplitude[there]))])
        if parameters.get("period"):
            return 1e3 / value / float(np.median([shortest[place] for place in places]))
        return value

    value = peak(range(len(kept)))
    if np.isnan(value):
        return None
    rng = np.random.default_rng(len(kept))
    drawn = rng.integers(0, len(kept), size=(500, len(kept))) if len(kept) > 1 else np.empty((0, 0))
    found = [peak(row.tolist()) for row in drawn]
    low, high = map(float, np.nanquantile(found, [0.025, 0.975])) if found else (None, None)
    return Estimate(value, low, high, 0.95 if found else None, len(kept), len(kept))


def place_among(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of our runs below a single published run; one without a value is above."""
    rows = findings.table(parameters["experiment"], stack)
    column, value = parameters["column"], parameters["value"]
    mine = filtered(rows, parameters["select"])
    if mine.is_empty():
        return None
    return place(mine[column].fill_null(float("inf")).to_numpy(), value)


def memory(_: Findings, __: Stack, ___: Mapping[str, Any]) -> Estimate:
    """The bins of SEARCH 2.0, as a fraction of those of 1.0: counted in sections 4.3 and 4.4.1.

    2.0 keeps the 10 bins of a window and 15 extra ones. 1.0 keeps as many for the sent bytes. Its
    window of delivered bytes is smaller (figure 4.4): 10 bins, or as many as for the sent bytes.
    """
    window, extra = 10, 15
    two, least, most = window + extra, (window + extra) + window, 2 * (window + extra)
    return Estimate(two / most, None, None, None, 0, 0, reach=(two / most, two / least))


def outliers(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of runs whose ``column`` exceeds ``factor`` times the median."""
    rows = findings.table(parameters["experiment"], stack)
    if rows.is_empty():
        return None
    limit = parameters["factor"] * pl.col(parameters["column"]).median()
    return estimate(rows.with_columns(value=pl.col(parameters["column"]) > limit), "share")


def bin_error(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """Mean difference, until the exit, of the norm from bins and the norm from every ACK.

    On GEO, or on ``network``; ``hold`` as in :func:`~.chapter4.norms_of`.
    """
    errors = []
    labels = {**GEO, "network": parameters.get("network", GEO["network"])}
    for flow, series in kept_runs(findings, "passive", stack, labels):
        end = left_at(flow)
        if end is None or flow["first_rtt_ms"] is None:
            continue
        first = flow["first_rtt_ms"] / 1e3
        _, exact, binned = norms_of(series, first, end, hold=parameters["hold"])
        deviation = np.abs(exact - binned)
        # A run may leave slow start before the first norm from bins.
        if not np.isnan(deviation).all():
            errors.append(float(np.nanmean(deviation)))
    if not errors:
        return None
    rows = pl.DataFrame({"value": errors, "job": [0] * len(errors), "run": range(len(errors))})
    return estimate(rows, "mean")


def ahead(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """How far the best value of an ``axis`` exceeds its value ``own`` in exits of a ``kind``.

    For an ``experiment`` on a ``network``, as a difference of fractions over the same runs, with
    the interval of that difference; with ``least``, the best value is the one with the fewest such
    exits.
    """
    axis, kind = parameters["axis"], parameters["kind"]
    rows = findings.table(parameters["experiment"], stack)
    if rows.is_empty():
        return None
    rows = rows.filter(pl.col("network") == parameters["network"]).with_columns(
        hit=(pl.col("exit_class") == kind).fill_null(value=False).cast(pl.Float64)
    )
    own = rows.filter(pl.col(axis) == parameters["own"])
    if own.is_empty():
        return None
    sign = -1.0 if parameters.get("least") else 1.0
    shares = rows.group_by(axis).agg(share=sign * pl.col("hit").mean())
    best = shares.sort([-pl.col("share"), axis])[axis][0]
    pairs = rows.filter(pl.col(axis) == best).join(own.select("seed", own="hit"), on="seed")
    return estimate(pairs.with_columns(value=sign * (pl.col("hit") - pl.col("own"))), "mean")
