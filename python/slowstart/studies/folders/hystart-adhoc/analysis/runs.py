"""The runs of an experiment as numbers: one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

BASELINE = "none"
PORT = "ns-2 port"
# Without HyStart, the port that the document measured, the paper, and both forms of Linux.
SCHEMES = (BASELINE, PORT, "paper", "Linux 6.14", "Linux 5.16")
HYSTART = ("ack-train", "delay")
"""The reasons for which HyStart ends slow start."""
_KEYS = ("job", "run", "seed")
NUMBERS = (
    "throughput", "delay", "delivery", "drops", "delivery_by_packet", "drops_by_packet",
    "delivered_bytes", "energy", "joules_per_mb", "empty_nodes", "first_empty_s", "degree",
    "connected",
)  # fmt: skip


def networks(findings: Findings, stack: Stack, experiment: str) -> pl.DataFrame:
    """One row for each run, with its labels, ``job``, ``run`` and ``seed``, and :data:`NUMBERS`.

    ``throughput`` in bit/s and ``delay`` in s: of data packets, first copies. ``delivery``: data
    packets delivered, divided by the copies that the source sent; ``drops``: copies that the
    network dropped, divided by these. ``delivery_by_packet`` and ``drops_by_packet``: divided by
    the packets. ``energy`` in J/s. ``connected``: fraction of the pairs of nodes with a path.
    """
    rows = findings.table(experiment, stack, "networks")
    if rows.is_empty():
        return rows
    # The labels of the grid stand between the seed and the columns of the table itself.
    labels = rows.columns[rows.columns.index("seed") + 1 : rows.columns.index("path")]
    return rows.select(
        *_KEYS,
        *labels,
        throughput=pl.col("throughput_bps").fill_null(0.0),
        delay=pl.col("delay_mean_ms") / 1000,
        delivery=pl.col("data_delivered") / pl.col("data_copies"),
        drops=pl.col("data_dropped") / pl.col("data_copies"),
        delivery_by_packet=pl.col("data_delivered") / pl.col("data_sent"),
        drops_by_packet=pl.col("data_dropped") / pl.col("data_sent"),
        delivered_bytes=pl.col("data_bytes_delivered"),
        energy=pl.col("energy_used_w"),
        joules_per_mb=pl.col("energy_j_per_mb"),
        empty_nodes=pl.col("empty_nodes"),
        first_empty_s=pl.col("first_empty_s"),
        degree=pl.col("mean_degree"),
        connected=pl.col("pairs_connected"),
    )


def flows(findings: Findings, stack: Stack, experiment: str) -> pl.DataFrame:
    """The table of flows, with ``by_hystart``: whether HyStart ended the first slow start.

    Where time series tell, whether it ended any slow start of the flow.
    """
    rows = findings.table(experiment, stack, "flows")
    if rows.is_empty():
        return rows
    ended = pl.col("exit_reason").is_in(HYSTART).fill_null(value=False)
    if "hystart_exits" in rows.columns:
        ended = ended | (pl.col("hystart_exits") > 0)
    return rows.with_columns(by_hystart=ended)
