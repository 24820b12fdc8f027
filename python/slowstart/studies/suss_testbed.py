"""What ``studies/suss-testbed`` cannot express as a statistic of runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.estimates import Estimate
from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.runner import Findings
    from slowstart.studies.store import Stack


def bdp_packets(findings: Findings, _: Stack, __: Mapping[str, Any]) -> Estimate | None:
    """The BDP of the wired path in full packets, as resolved."""
    for cell in findings.study.experiments["wired"].cells:
        if cell.scenario is not None:
            path = json.loads(cell.scenario.to_json())["path"]
            return Estimate(float(path["bdp_packets"]), None, None, None, 0, 0)
    return None


def _acknowledged(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    first = series.filter(pl.col("acked_bytes") > 0)["time_s"]
    last = series.filter(pl.col("acked_bytes") >= 5_000_000)["time_s"]
    return None if last.is_empty() else float(last[0]) - float(first[0])


# From the first ACK of data to that of 5 MB: what a log at the sender sees that begins with ACKs.
acknowledged_5mb_s = Extract("acknowledged_5mb_s", _acknowledged)
