"""Shared by the figures and numbers of ``search-thesis``: runs with time series, styles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

    Floats = NDArray[np.float64]

GREY, RED, BLUE, GREEN, ORANGE = "#555555", "#c03030", "#3060b0", "#2a8a3e", "#c07010"
MEGA = 1e6
PASSIVE = "cubic+search:passive=true"
GEO = {"network": "geo", "algorithm": PASSIVE}
WIFI = {"network": "strong", "algorithm": "cubic+search"}
DIAMOND: Any = {"marker": "D", "markerfacecolor": "white", "linestyle": "none", "zorder": 4}
"""The style of a published point."""


def left_at(flow: Mapping[str, Any]) -> float | None:
    """The time of SEARCH's exit decision, or of the slow-start exit, in the time series."""
    end = flow["passive_exit_s"] if flow["passive_exit_s"] is not None else flow["exit_s"]
    return None if end is None else float(end) + float(flow["start_s"])


def rate_arrays(series: pl.DataFrame) -> tuple[Floats, Floats]:
    """The bitrate of Kachooei 2024, cwnd / RTT: the moment of each ACK, and the bitrate there."""
    moments, window, rtt = (
        series[name].cast(pl.Float64).to_numpy() for name in ("time_s", "cwnd_bytes", "rtt_ms")
    )
    # The last RTT so far; at the rows before the first one there is none.
    last = np.maximum.accumulate(np.where(np.isnan(rtt), -1, np.arange(rtt.size)))
    known = (last >= 0) & ~np.isnan(window)
    return moments[known], 8e3 * window[known] / rtt[last[known]]


def kept_runs(
    findings: Findings, experiment: str, stack: Stack, labels: Mapping[str, Any]
) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """The flows with stored time series, and these series."""
    flows = filtered(findings.table(experiment, stack), labels)
    series = filtered(findings.table(experiment, stack, "flow_traces"), labels)
    if flows.is_empty() or series.is_empty():
        return []
    kept = []
    for (job, run), part in series.group_by("job", "run", maintain_order=True):
        (flow,) = flows.filter(job=job, run=run).iter_rows(named=True)
        kept.append((flow, part))
    return kept


def titled(drawing: Drawing, words: str, stack: Stack) -> str:
    """The drawing's title with its number of runs."""
    return f"{drawing.title} ({words}{'' if stack == 'simulated' else f', {stack}'})"


def entry(label: str, color: str, **look: Any) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], color=color, label=label, **look)


def networks_of(findings: Findings, drawing: Drawing, stack: Stack) -> list[str]:
    """The networks that were run, in the order of the grid."""
    there = set(findings.table(drawing.experiment, stack)["network"].to_list())
    axes = findings.study.experiments[drawing.experiment].axes
    return [str(each) for each in axes["network"] if each in there]


def mark_moments(axes: Axes, flow: Mapping[str, Any]) -> None:
    """Draws vertical lines at capacity, SEARCH's exit and the first detected loss."""
    for value, color, dashes in (
        (flow["capacity_true_s"], BLUE, "--"),
        (flow["capacity_latency_offset_s"], BLUE, ":"),
        (left_at(flow), GREEN, "--"),
        (flow["first_loss_s"], RED, "--"),
    ):
        if value is not None:
            axes.axvline(value, color=color, linestyle=dashes, linewidth=1)


MOMENTS = (
    ("capacity", BLUE, "--"),
    ("capacity by latency", BLUE, ":"),
    ("SEARCH's exit", GREEN, "--"),
    ("first loss detected", RED, "--"),
)
"""The legend entries of :func:`mark_moments`."""
