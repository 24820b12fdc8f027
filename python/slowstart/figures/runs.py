"""What figures show of runs: the properties of a path, and one run as a column of panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart._native import Result, Scenario


@dataclass(frozen=True)
class PathFacts:
    """The properties of a path that figures use."""

    name: str
    base_rtt_ms: float | None
    """``None``, like the next three, for an ad-hoc network or a constellation without a path."""
    bdp_payload_bytes: float | None
    """The payload of one BDP, that is, without headers."""
    buffer_payload_bytes: float | None
    """The same for the bottleneck's buffer; ``None`` if it is unlimited."""
    bottleneck: str | None
    """Name of the forward link."""
    warm_up_s: float = 0.0
    """Time for which background traffic runs before the first flow may start."""


# Payload of a full segment with TCP timestamps, and size of its IP packet, in bytes.
_PAYLOAD, _PACKET = 1448, 1500


def facts(path: dict[str, Any]) -> PathFacts:
    """What figures need to know about a resolved path."""
    if "forward" not in path:  # an ad-hoc network or a constellation alone
        name = tables.short(path["name"])
        return PathFacts(name, None, None, None, None, path["warm_up_s"])
    fraction = _PAYLOAD / (_PACKET + path["forward"]["overhead_bytes"])
    buffer = path["buffer_bytes"]
    return PathFacts(
        name=tables.short(path["name"]),
        base_rtt_ms=path["base_rtt_ms"],
        bdp_payload_bytes=fraction * path["bdp_bytes"],
        buffer_payload_bytes=None if buffer is None else fraction * buffer,
        bottleneck=path["forward"]["name"],
        warm_up_s=path["warm_up_s"],
    )


class Evolution(NamedTuple):
    """One run, as a column of the evolution figure."""

    title: str
    flows: list[dict[str, Any]]
    """The run's flows, as in the result document."""
    flow_traces: pl.DataFrame
    link_traces: pl.DataFrame


def columns_of(parts: Sequence[tuple[Scenario, Result]]) -> list[Evolution]:
    """The first valid run of each of ``parts``, which hold its time series."""
    columns = []
    for scenario, one in parts:
        flows = pl.DataFrame(one.flows())
        if flows.is_empty():
            continue
        first = flows["run"][0]
        columns.append(
            Evolution(
                title=scenario.flows[0] if len(set(scenario.flows)) == 1 else scenario.name,
                flows=flows.filter(pl.col("run") == first).to_dicts(),
                flow_traces=pl.DataFrame(one.flow_traces()).filter(pl.col("run") == first),
                link_traces=pl.DataFrame(one.link_traces()).filter(pl.col("run") == first),
            )
        )
    return columns
