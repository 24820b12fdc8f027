"""The analysis of ``suss-testbed``: the BDP, and extracts from time series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.estimates import Estimate
from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.grid import Stack
    from slowstart.studies.runner import Findings


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

    return Extract(f"acknowledged_{megabytes}mb_s", find)


def _losses(megabytes: int) -> Extract:
    """Data packets dropped by the time at which a size has been acknowledged."""

    def find(_: Mapping[str, Any], series: pl.DataFrame, links: pl.DataFrame) -> float | None:
        last = _acknowledged(series, megabytes * _MEGA)
        if last is None or links.is_empty():
            return None
        before = links.filter((pl.col("time_s") <= last) & (pl.col("link") != "reverse"))
        return float(before.group_by("link").agg(pl.col("drops").max())["drops"].sum())

    return Extract(f"lost_of_{megabytes}mb", find)


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
