"""The figure of one analyzed connection: sequence, flight, RTT and delivery rate over time.

The sequence panel is the graph that tcptrace and Wireshark draw: data sent, each retransmission at
its own sequence number, SACK blocks, the cumulative ACK, and the edge of the receive window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slowstart import plots
from slowstart.analysis import situation
from slowstart.figures import colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_REASONS = {"loss": "a loss", "ecn": "a congestion mark", "heuristic": "the sender's decision"}


def _column(points: list[dict[str, Any]], key: str, scale: float) -> NDArray[np.float64]:
    values = [np.nan if each[key] is None else each[key] / scale for each in points]
    return np.array(values, dtype=float)


def figure(connection: dict[str, Any]) -> Figure:
    """Draws a connection over time; a vertical line marks the slow-start exit, with its reason."""
    points = connection["series"]
    time = _column(points, "time_s", 1.0)
    drawn = plots.new_figure(11.0, 7.5)
    grid: list[Axes] = [drawn.add_subplot(2, 2, place) for place in range(1, 5)]
    sequence, flight, rtt, rate = grid
    for axes in grid[1:]:
        axes.sharex(sequence)
    _draw_sequence(sequence, time, connection)
    window = "cwnd" if connection["vantage"] == "log" else "cwnd, estimated"
    highest = max(connection["max_in_flight_bytes"], 1)
    lines = [("in_flight_bytes", colors.BLUE, "in flight"), ("cwnd_bytes", colors.ORANGE, window)]
    receive = _column(points, "receive_window_bytes", 1e3)
    # A window far above the flight would lie outside of the panel.
    if np.any(receive <= 1.4 * highest / 1e3):
        lines.append(("receive_window_bytes", colors.PURPLE, "receive window"))
    for key, color, label in lines:
        flight.plot(time, _column(points, key, 1e3), color=color, label=label, linewidth=1.2)
    flight.set_ylim(0, 1.4 * highest / 1e3)
    flight.set_ylabel("kB")
    flight.legend(loc="upper left", fontsize="small")
    rtt.plot(time, _column(points, "rtt_ms", 1.0), color=colors.BLUE, linewidth=1.0)
    rtt.set_ylabel("RTT (ms)")
    rtt.set_ylim(bottom=0)
    _draw_rate(rate, connection)
    for axes in (rtt, rate):
        axes.set_xlabel("time (s)")
    _draw_exit(grid, connection)
    title = f"{connection['sender']} > {connection['receiver']}".removesuffix(" > ")
    return plots.finish(drawn, title)


def _draw_exit(grid: list[Axes], connection: dict[str, Any]) -> None:
    verdict = connection["verdict"]
    found = verdict["exit"]
    if found is None:
        return
    for axes in grid:
        axes.axvline(found["time_s"], color=colors.BLACK, linewidth=1.0, linestyle="--")
    # Above the panel, where it covers no line.
    text = f"slow-start exit: {_REASONS.get(verdict['reason'], verdict['reason'])}"
    grid[0].annotate(
        text,
        (found["time_s"], 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize="small",
        ha="right" if found["time_s"] > 0.6 * grid[0].get_xlim()[1] else "left",
        va="bottom",
        annotation_clip=False,
    )


def _draw_sequence(axes: Axes, time: NDArray[np.float64], connection: dict[str, Any]) -> None:
    points = connection["series"]
    sent, acked = _column(points, "sent_bytes", 1e6), _column(points, "acked_bytes", 1e6)
    edge = acked + _column(points, "receive_window_bytes", 1e6)
    axes.plot(time, sent, color=colors.BLUE, label="sent", linewidth=1.0)
    axes.plot(time, acked, color=colors.GREEN, label="acknowledged", linewidth=1.0)
    if not np.all(np.isnan(edge)):
        axes.plot(time, edge, color=colors.PURPLE, label="receive window's edge", linewidth=1.0)
    for key, color, label, width in (
        ("sacked", colors.SKY_BLUE, "SACK blocks", 1.5),
        ("retransmitted", colors.VERMILLION, "retransmissions", 2.5),
    ):
        spans = connection.get(key) or []
        if spans:
            axes.vlines(
                _column(spans, "time_s", 1.0), _column(spans, "begin_bytes", 1e6),
                _column(spans, "end_bytes", 1e6), colors=color, label=label, linewidth=width,
            )  # fmt: skip
            if key == "retransmitted":
                # A segment of a large transfer is lower than a pixel.
                axes.plot(_column(spans, "time_s", 1.0), _column(spans, "begin_bytes", 1e6), ".",
                          color=color, markersize=3)  # fmt: skip
    axes.set_ylim(0, 1.15 * max(float(np.nanmax(sent)), 1e-6))
    axes.set_ylabel("sequence (MB)")
    axes.legend(loc="upper left", fontsize="small")


def _draw_rate(axes: Axes, connection: dict[str, Any]) -> None:
    """The delivery rate over a base RTT each: a shorter time would show the bursts of ACKs."""
    points, rtt = connection["series"], connection["rtt_ms"]
    found = None if rtt is None else situation.rates(points, rtt[0] / 1e3, rtt[0] / 1e3)
    if found is not None:
        middle = found.at_s + found.width_s / 2
        axes.plot(middle, found.rate / 1e6, color=colors.GREEN, linewidth=1.2)
    axes.set_ylabel("delivery rate per RTT (Mbit/s)")
    axes.set_ylim(bottom=0)
