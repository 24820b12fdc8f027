"""Measures a run, in the same way for both stacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.fidelity.quantities import MARKS_MB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slowstart._native import Result

SMSS = 1448
# Maximum number of points of a trajectory: more than a figure can show.
_POINTS = 1500


def measure(result: Result) -> dict[str, Any]:
    """Measures the quantities of a result with one run of one flow and its traces.

    A quantity that the run lacks (no exit, no drop) is ``None``.
    """
    run = json.loads(result.to_json())["runs"][0]
    flow = run["flows"][0]
    trace = pl.DataFrame(result.flow_traces())
    leave = flow["slow_start_exit"]
    time = trace["time_s"].to_numpy() - flow["start_s"]
    delivered = trace["delivered_bytes"].to_numpy()
    values: dict[str, Any] = {
        "exit_cwnd": leave and leave["cwnd_bytes"] / SMSS,
        "exit_s": leave and leave["time_s"],
        "exit_reason": leave and leave["reason"],
        "first_drop_s": flow["first_drop_s"],
        "first_loss_s": flow["first_loss_s"],
        "retransmitted": flow["segments_retransmitted"],
        "spurious": spurious(flow),
        "undone": rises(trace["ssthresh_bytes"]),
        "goodput_mbit": flow["goodput_bps"] / 1e6,
        "completed": flow["completed"],
        "timeouts": flow["timeouts"],
    }
    for mark in MARKS_MB:
        values[f"mb{mark:g}_s"] = _reached(time, delivered, mark * 1e6)
    rtts = trace.drop_nulls("rtt_ms")
    values.update(_percentiles(rtts["time_s"].to_numpy(), rtts["rtt_ms"].to_numpy()))
    cwnd = trace["cwnd_bytes"].to_numpy() / SMSS
    values["trajectory"] = _thin(time, cwnd, delivered)
    return values


def spurious(flow: dict[str, Any]) -> int | None:
    """Retransmissions of what was not dropped; unknown unless all data arrived."""
    if not flow["completed"] or flow["segments_dropped"] is None:
        return None
    return int(flow["segments_retransmitted"] - flow["segments_dropped"])


def rises(threshold: pl.Series) -> int:
    """How often the threshold rises: in a bulk flow, only the undo of a reduction raises it."""
    known = threshold.cast(pl.Float64).fill_null(np.inf).to_numpy()
    return int((known[1:] > known[:-1]).sum())


def _reached(time: NDArray[Any], delivered: NDArray[Any], amount: float) -> float | None:
    place = int(np.searchsorted(delivered, amount))
    return None if place == len(delivered) else float(time[place])


def _percentiles(time: NDArray[Any], rtt: NDArray[Any]) -> dict[str, float | None]:
    """Percentiles weighted by time until the next sample, to be independent of the sample rate."""
    if len(rtt) < 2:
        return {"rtt_p50_ms": None, "rtt_p95_ms": None}
    weight = np.diff(time)
    order = np.argsort(rtt[:-1], kind="stable")
    cdf = np.cumsum(weight[order]) / weight.sum()
    pick = [float(rtt[:-1][order][np.searchsorted(cdf, level)]) for level in (0.5, 0.95)]
    return {"rtt_p50_ms": pick[0], "rtt_p95_ms": pick[1]}


def _thin(time: NDArray[Any], cwnd: NDArray[Any], delivered: NDArray[Any]) -> list[list[float]]:
    if len(time) == 0:
        return []
    if len(time) > _POINTS:
        # Points evenly spaced in time, with the peak of the window in each interval.
        edges = np.searchsorted(time, np.linspace(time[0], time[-1], _POINTS // 2))
        pieces = np.unique(edges)
        peaks = np.maximum.reduceat(cwnd, pieces)
        return [
            [round(float(time[at]), 5), round(float(peak), 1), int(delivered[at])]
            for at, peak in zip(pieces, peaks, strict=True)
        ]
    rows = zip(time, cwnd, delivered, strict=True)
    return [[round(float(t), 5), round(float(w), 1), int(d)] for t, w, d in rows]
