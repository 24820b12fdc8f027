"""Numbers from the time series of a connection: what slow start did, and the first ACK of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping


def _growth(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    """By how much the window grew in slow start, for each byte delivered meanwhile."""
    left = flow["exit_s"]
    until = float("inf") if left is None else flow["start_s"] + left
    rows = series.filter((pl.col("time_s") < until) & (pl.col("delivered_bytes") > 0))
    rows = rows.select("cwnd_bytes", "delivered_bytes").drop_nulls()
    if len(rows) < 2:
        return None
    delivered = rows["delivered_bytes"][-1] - rows["delivered_bytes"][0]
    grown = rows["cwnd_bytes"][-1] - rows["cwnd_bytes"][0]
    return float(grown / delivered) if delivered else None


def _reduction(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    """The first slow-start threshold, as a fraction of the window at the exit."""
    found = series["ssthresh_bytes"].drop_nulls()
    if found.is_empty() or not flow["exit_cwnd_bytes"]:
        return None
    return float(found[0] / flow["exit_cwnd_bytes"])


def _first_ack(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    """The time from the first packet to the first ACK of data."""
    found = series.filter(pl.col("delivered_bytes") > 0)["time_s"]
    return None if found.is_empty() else float(found[0] - flow["start_s"])


growth = Extract("growth", _growth, links=False)
reduction = Extract("reduction", _reduction, links=False)
first_ack_s = Extract("first_ack_s", _first_ack, links=False)
