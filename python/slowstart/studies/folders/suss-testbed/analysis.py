"""The analysis of ``suss-testbed``: the BDP, and extracts from time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.studies.estimates import Estimate, place
from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack


_MEGA = 1_000_000


def bdp_packets(findings: Findings, _: Stack, __: Mapping[str, Any]) -> Estimate | None:
    """The BDP of the wired path in full packets, as resolved."""
    for cell in findings.study.experiments["wired"].cells:
        if cell.scenario is not None:
            path = cell.scenario.resolved["path"]
            return Estimate(float(path["bdp_packets"]), None, None, None, 0, 0)
    return None


def _acknowledged(series: pl.DataFrame, count: int) -> float | None:
    """The time at which ``count`` bytes have been acknowledged."""
    reached = series.filter(pl.col("acked_bytes") >= count)["time_s"]
    return None if reached.is_empty() else float(reached[0])


def _clock(megabytes: int) -> Extract:
    """The time from the first ACK of data to that of a size, as in a log of ACKs at the sender."""

    def find(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
        first, last = _acknowledged(series, 1), _acknowledged(series, megabytes * _MEGA)
        return None if first is None or last is None else last - first

    return Extract(f"acknowledged_{megabytes}mb_s", find, links=False)


def _losses(megabytes: int) -> Extract:
    """Data packets dropped by the time at which a size has been acknowledged."""

    def find(_: Mapping[str, Any], series: pl.DataFrame, links: pl.DataFrame) -> float | None:
        last = _acknowledged(series, megabytes * _MEGA)
        if last is None or links.is_empty():
            return None
        before = links.filter((pl.col("time_s") <= last) & (pl.col("link") != "reverse"))
        return float(before.group_by("link").agg(pl.col("drops").max())["drops"].sum())

    return Extract(f"lost_of_{megabytes}mb", find)


def _largest(series: pl.DataFrame) -> tuple[float, float] | None:
    """The time and the size of the largest window before the first reduction."""
    windows = series.select("time_s", "cwnd_bytes").drop_nulls()
    if windows.is_empty():
        return None
    peaks = windows.with_columns(so_far=pl.col("cwnd_bytes").cum_max())
    # A reduction leaves less than 0.9 of the window.
    fallen = peaks.filter(pl.col("cwnd_bytes") < 0.9 * pl.col("so_far"))
    before = peaks if fallen.is_empty() else peaks.filter(pl.col("time_s") < fallen["time_s"][0])
    place = int(before["cwnd_bytes"].arg_max() or 0)
    return float(before["time_s"][place]), float(before["cwnd_bytes"][place])


def _largest_window(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    found = _largest(series)
    return None if found is None else found[1] / _MEGA


def _largest_log(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    found, first = _largest(series), _acknowledged(series, 1)
    return None if found is None or first is None else found[0] - first


largest_window_mb = Extract("largest_window_mb", _largest_window, links=False)
"""The largest window before its first reduction, in MB."""
largest_window_log_s = Extract("largest_window_log_s", _largest_log, links=False)
"""When it is reached, from the first ACK of data."""

_FIGURE_2 = {
    "cubic+standard": (2.65, 1105),
    "cubic+hystart": (1.38, 40),
    "cubic+hystart++:form=patch": (2.07, 704),
    "cubic+suss:override_window=true": (1.38, 35),
}
"""SUSS developers 2025, figure 2: the largest window in MB, and the packets lost of 20 MB."""
_FEW = 100
"""Packets: smaller losses are judged by claims of their own, not as a ratio."""


def one_buffer(findings: Findings, stack: Stack, _: Mapping[str, Any]) -> Estimate | None:
    """The best buffer's largest relative error over the published windows and losses."""
    rows = findings.table("wired-buffers", stack)
    if rows.is_empty():
        return None
    worst: dict[str, float] = {}
    for row in rows.iter_rows(named=True):
        window, lost = _FIGURE_2[row["algorithm"]]
        error = abs(row["largest_window_mb"] / window - 1)
        if lost > _FEW:
            error = max(error, abs(row["segments_dropped"] / lost - 1))
        worst[row["buffer"]] = max(worst.get(row["buffer"], 0.0), error)
    return Estimate(min(worst.values()), None, None, None, len(rows), len(rows))


def curve(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The geometric mean, over the points of figure 4(a), of our mean time over the published one.

    The runs are resampled for the interval.
    """
    algorithm = parameters["select"]["algorithm"]
    rows = findings.table("wifi-log", stack).filter(pl.col("algorithm") == algorithm)
    drawing = next(each for each in findings.study.drawings if each.name == "wifi-completion")
    known = [
        (drawing.metrics[each.metric], each.value)
        for each in drawing.known
        if each.labels["algorithm"] == algorithm and each.metric is not None
    ]
    values = rows.select([name for name, _ in known]).drop_nulls().to_numpy()
    if not len(values):
        return None
    published = np.array([value for _, value in known])
    drawn = np.random.default_rng(1).integers(0, len(values), size=(2000, len(values)))

    def ratio(places: Any) -> float:
        return float(np.exp(np.mean(np.log(values[places].mean(axis=0) / published))))

    low, high = np.quantile([ratio(each) for each in drawn], [0.025, 0.975])
    every = ratio(np.arange(len(values)))
    return Estimate(every, float(low), float(high), 0.95, len(values), len(values))


def place_among(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The fraction of our flows below a single published flow, ties counting half."""
    algorithm = parameters["select"]["algorithm"]
    rows = findings.table("wifi-log", stack).filter(pl.col("algorithm") == algorithm)
    column, value = parameters["column"], parameters["value"]
    numbers = rows[column].drop_nulls()
    if numbers.is_empty():
        return None
    return place(numbers.to_numpy(), value)


acknowledged_5mb_s = _clock(5)
acknowledged_1mb_s, lost_of_1mb = _clock(1), _losses(1)
acknowledged_2mb_s, lost_of_2mb = _clock(2), _losses(2)
acknowledged_4mb_s, lost_of_4mb = _clock(4), _losses(4)
acknowledged_6mb_s, lost_of_6mb = _clock(6), _losses(6)
acknowledged_8mb_s, lost_of_8mb = _clock(8), _losses(8)
acknowledged_10mb_s, lost_of_10mb = _clock(10), _losses(10)
acknowledged_12mb_s, lost_of_12mb = _clock(12), _losses(12)
acknowledged_16mb_s, lost_of_16mb = _clock(16), _losses(16)
acknowledged_20mb_s, lost_of_20mb = _clock(20), _losses(20)
acknowledged_24mb_s, lost_of_24mb = _clock(24), _losses(24)
acknowledged_28mb_s, lost_of_28mb = _clock(28), _losses(28)


def answer(findings: Findings, stack: Stack) -> list[str]:
    """What the page claims, beside what these runs say."""
    sentences = []
    for experiment, column, words, published in (
        ("wired", "acknowledged_5mb_s", "5 MB over the wire", (1.50, 1.29, 1.50, 1.11)),
        ("wifi-log", "acknowledged_4mb_s", "4 MB over Wi-Fi", (3.53, 2.18, 2.22, 1.87)),
    ):
        rows = findings.table(experiment, stack)
        if rows.is_empty():
            continue
        parts = []
        for name, algorithm, value in zip(_NAMES, _FIGURE_2, published, strict=True):
            found = rows.filter(pl.col("algorithm") == algorithm)[column].mean()
            if found is not None:
                parts.append(f"{name} {float(found):.2f} s ({value:.2f} s)")  # type: ignore[arg-type]
        sentences.append(f"{words} take (published): {', '.join(parts)}.")
    return [*sentences, findings.counted_on(stack)]


_NAMES = ("slow start alone", "HyStart", "the authors' HyStart++", "SUSS")
