"""The runs of an experiment as numbers: one row each, from the part ``network`` of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from slowstart.studies.grid import Stack
    from slowstart.studies.runner import Findings

BASELINE = "none"
PORT = "ns-2 port"
# Without HyStart, the port that the document measured, the paper, and both forms of Linux.
SCHEMES = (BASELINE, PORT, "paper", "Linux 6.14", "Linux 5.16")
HYSTART = ("ack-train", "delay")
"""The reasons for which HyStart ends slow start."""
METRICS = ("throughput", "delay", "delivery", "drops", "energy")
_DATA = ("sent", "copies", "delivered", "bytes_delivered", "dropped")
_NUMBER = pl.Float64
_NODE = pl.Struct({"delivered": _NUMBER, "throughput_bps": _NUMBER})
_NETWORK = pl.Struct(
    {
        "data": pl.Struct(
            {
                **dict.fromkeys((*_DATA, "delivery_ratio", "drop_ratio"), _NUMBER),
                "throughput_bps": _NUMBER,
                "delay_mean_ms": _NUMBER,
            }
        ),
        "packets": pl.Struct(
            {"drops": pl.Struct(dict.fromkeys(
                ("queue-full", "arp", "retry-limit", "channel-busy", "length", "reassembly",
                 "no-route", "energy", "link-down"), _NUMBER))}
        ),
        "energy": pl.Struct(
            dict.fromkeys(("used_w", "j_per_mb", "empty_nodes", "first_empty_s"), _NUMBER)
        ),
        "topology": pl.Struct({"mean_degree": _NUMBER, "pairs_connected": _NUMBER}),
        "nodes": pl.List(_NODE),
    }
)  # fmt: skip


def networks(findings: Findings, stack: Stack, experiment: str) -> pl.DataFrame:
    """One row for each run, with its labels, ``job``, ``run`` and ``seed``, and these numbers.

    ``throughput`` in bit/s and ``delay`` in s: of data packets, first copies. ``delivery``: data
    packets delivered, divided by the copies that the source sent; ``drops``: copies that the
    network dropped, divided by these. ``delivery_by_packet`` and ``drops_by_packet``: divided by
    the packets. ``energy`` in J/s. ``connected``: fraction of the pairs of nodes with a path.
    ``dropped_CAUSE``: dropped packets of any kind. ``node_throughput``: a list.
    """
    rows = findings.table(experiment, stack, "runs")
    if rows.is_empty():
        return rows
    known = {"end_s", "counts", "reasons", "facts", "traced", "wall_s", "stack"}
    labels = [name for name in rows.columns if name not in known]
    decoded = rows["facts"].str.json_decode(pl.Struct({"network": _NETWORK}))
    network = pl.DataFrame({"network": decoded.struct.field("network")})["network"].struct
    data, energy = network.field("data").struct, network.field("energy").struct
    topology, nodes = network.field("topology").struct, network.field("nodes")
    drops = network.field("packets").struct.field("drops").struct
    copies, sent = data.field("copies"), data.field("sent")
    return rows.select(labels).with_columns(
        throughput=data.field("throughput_bps").fill_null(0.0),
        delay=data.field("delay_mean_ms") / 1000,
        delivery=data.field("delivered") / copies,
        drops=data.field("dropped") / copies,
        delivery_by_packet=data.field("delivered") / sent,
        drops_by_packet=data.field("dropped") / sent,
        delivered_bytes=data.field("bytes_delivered"),
        energy=energy.field("used_w"),
        joules_per_mb=energy.field("j_per_mb"),
        empty_nodes=energy.field("empty_nodes"),
        first_empty_s=energy.field("first_empty_s"),
        degree=topology.field("mean_degree"),
        connected=topology.field("pairs_connected"),
        dropped_length=drops.field("length").fill_null(0.0),
        dropped_no_route=drops.field("no-route").fill_null(0.0),
        dropped_queue=drops.field("queue-full").fill_null(0.0),
        dropped_all=pl.sum_horizontal(
            pl.Series(name, drops.field(name)).fill_null(0.0) for name in drops.fields
        ),
        node_throughput=nodes.list.eval(pl.element().struct.field("throughput_bps")),
        node_delivered=nodes.list.eval(pl.element().struct.field("delivered")),
    )


def flows(findings: Findings, stack: Stack, experiment: str) -> pl.DataFrame:
    """The table of flows, with ``by_hystart``: whether HyStart ended the first slow start."""
    rows = findings.table(experiment, stack, "flows")
    if rows.is_empty():
        return rows
    return rows.with_columns(
        by_hystart=pl.col("exit_reason").is_in(HYSTART).fill_null(value=False)
    )
