"""The figure of one analyzed connection: sequence, flight, RTT and delivery rate over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart import plots
from slowstart.figures import colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


def _column(points: list[dict[str, Any]], key: str, scale: float) -> NDArray[np.float64]:
    values = [np.nan if each[key] is None else each[key] / scale for each in points]
    return np.array(values, dtype=float)


def figure(connection: dict[str, Any]) -> Figure:
    """Draws a connection over time; a vertical line marks the end of slow start."""
    points = connection["series"]
    found = connection["verdict"]["exit"]
    time = _column(points, "time_s", 1.0)
    drawn = plots.new_figure(11.0, 7.5)
    grid: list[Axes] = [drawn.add_subplot(2, 2, place) for place in range(1, 5)]
    sequence, flight, rtt, rate = grid
    for axes in grid[1:]:
        axes.sharex(sequence)
    _draw_sequence(sequence, time, points)
    window = "cwnd" if connection["vantage"] == "log" else "cwnd, estimated"
    lines = (("in_flight_bytes", colors.BLUE, "in flight"),
             ("cwnd_bytes", colors.ORANGE, window),
             ("receive_window_bytes", colors.GREEN, "receive window"))  # fmt: skip
    for key, color, label in lines:
        flight.plot(time, _column(points, key, 1e3), color=color, label=label, linewidth=1.2)
    highest = max(connection["max_in_flight_bytes"], 1)
    flight.set_ylim(0, 1.4 * highest / 1e3)
    flight.set_ylabel("kB")
    flight.legend(loc="upper right", fontsize="small")
    rtt.plot(time, _column(points, "rtt_ms", 1.0), color=colors.BLUE, linewidth=1.0)
    rtt.set_ylabel("RTT (ms)")
    rtt.set_ylim(bottom=0)
    rate.plot(time, _column(points, "delivery_rate_bps", 1e6), color=colors.GREEN, linewidth=1.0)
    rate.set_ylabel("delivery rate (Mbit/s)")
    rate.set_ylim(bottom=0)
    for axes in (rtt, rate):
        axes.set_xlabel("time (s)")
    for axes in grid:
        if found is not None:
            axes.axvline(found["time_s"], color=colors.PURPLE, linewidth=1.0, linestyle="--")
    title = f"{connection['sender']} > {connection['receiver']}".removesuffix(" > ")
    return plots.finish(drawn, title)


def _draw_sequence(axes: Axes, time: NDArray[np.float64], points: list[dict[str, Any]]) -> None:
    axes.plot(time, _column(points, "sent_bytes", 1e6), color=colors.BLUE, label="sent",
              linewidth=1.0)  # fmt: skip
    axes.plot(time, _column(points, "acked_bytes", 1e6), color=colors.GREEN, label="acknowledged",
              linewidth=1.0)  # fmt: skip
    repaired = [each for each in points if each["retransmitted"]]
    if repaired:
        axes.plot(_column(repaired, "time_s", 1.0), _column(repaired, "acked_bytes", 1e6), "x",
                  color=colors.ORANGE, label="retransmission", markersize=4)  # fmt: skip
    axes.set_ylabel("sequence (MB)")
    axes.legend(loc="upper left", fontsize="small")
