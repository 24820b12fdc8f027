"""The measures that rows of the scorecard name: a number of each flow, link or traffic of a run."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_PAYLOAD = 1448
_LOST = 100 * pl.col("segments_lost") / pl.col("segments_sent")
# The payload of one BDP.
_BDP_PAYLOAD = pl.col("bdp_bytes") * _PAYLOAD / pl.col("packet_bytes")


@dataclass(frozen=True)
class Measure:
    """A number with its unit."""

    unit: str
    better: str | None
    """``higher`` or ``lower``, or ``None`` if neither is better."""
    expression: pl.Expr
    table: str = "flows"
    """``flows``, ``links`` (the bottleneck), ``web`` or ``datagrams`` (background traffic)."""


# Slow start ended, and neither congestion nor a threshold that was set before ended it.
_BY_TEST = ~pl.col("exit_reason").fill_null("none").is_in(
    ["none", "loss", "ecn", "timeout", "ssthresh"]
)


def _class(name: str) -> pl.Expr:
    return pl.col("exit_class").fill_null("none") == name


MEASURES = {
    # Start-up.
    # A transfer that never reached it counts with its completion.
    "near capacity": Measure("s", "lower", pl.coalesce("near_capacity_s", "fct_s")),
    "completion": Measure("s", "lower", pl.col("fct_s")),
    "first second": Measure("B", "higher", pl.col("delivered_1s_bytes")),
    "overshoot": Measure("B", "lower", pl.col("overshoot_bytes")),
    "early exit": Measure("", "lower", _class("early")),
    "late exit": Measure("", "lower", _class("late")),
    "test exit": Measure("", None, _BY_TEST),
    "loss exit": Measure("", None, (pl.col("exit_reason") == "loss").fill_null(value=False)),
    "false exit": Measure("", "lower", pl.col("false_exit")),
    "exit window": Measure("BDP", None, pl.col("exit_cwnd_bytes") / _BDP_PAYLOAD),
    "start-up queue": Measure(
        "BDP", "lower",
        pl.col("startup_queue_max_packets") * pl.col("packet_bytes") / pl.col("bdp_bytes"),
    ),
    # A flow.
    "goodput": Measure("Mbit/s", "higher", pl.col("goodput_bps") / 1e6),
    "loss": Measure("%", "lower", 100 * pl.col("loss_ratio")),
    "segments lost": Measure("segments", "lower", pl.col("segments_lost")),
    "segments dropped": Measure("segments", "lower", pl.col("segments_dropped")),
    "segments sent": Measure("segments", "lower", pl.col("segments_sent")),
    "sent per RTT": Measure(
        "segments", "lower",
        pl.col("segments_sent") * pl.col("base_rtt_ms") / 1e3 / pl.col("duration_s"),
    ),
    "timeouts": Measure("", "lower", pl.col("timeouts")),
    "queueing delay, mean": Measure("ms", "lower", pl.col("rtt_mean_ms") - pl.col("base_rtt_ms")),
    "queueing delay, p95": Measure("ms", "lower", pl.col("rtt_p95_ms") - pl.col("base_rtt_ms")),
    # A flow in a window of time.
    "rate": Measure("Mbit/s", "higher", pl.col("window_bps") / 1e6),
    "starved": Measure("", "higher", pl.col("window_bps") / 1e6),
    "RTT, p95": Measure("ms", "lower", pl.col("window_rtt_ms")),
    "settled": Measure("s", "lower", pl.col("settled_s")),
    # Others.
    "drops": Measure(
        "%", "lower", 100 * pl.col("drops") / (pl.col("drops") + pl.col("packets")), "links"
    ),
    "web completion": Measure("s", "lower", pl.col("fct_mean_s"), "web"),
    "web loss": Measure("%", "lower", _LOST, "web"),
    "datagrams lost": Measure("%", "lower", _LOST, "datagrams"),
}  # fmt: skip
