"""What other traffic does to a path: the share of the rate that it takes, and a probe's round trip.

The path's ``[[traffic]]`` runs as beside any flow of the same seed. One flow is measured, the
probe: it sends a full packet in the time of a hundred, and each is acknowledged by itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import run
from slowstart._native import probing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]


@dataclass(frozen=True)
class Busy:
    """A path with its other traffic, looked at."""

    begin_s: float
    """When the traffic has warmed up, and the probe starts."""
    end_s: float
    probe: dict[str, Any]
    """The probe, as a flow of the result document."""
    traffic: list[dict[str, Any]]
    """What the traffic came to, as in the result document."""
    round_trips: pl.DataFrame
    """``time_s``, ``rtt_ms`` of each packet of the probe that was acknowledged."""
    carried: dict[str, tuple[Series, Series]]
    """Of each link with a rate: moments, and the bytes that it had carried then."""

    def shares(self, name: str, rates: Series, width_s: float) -> Series:
        """The share of ``rates``, those of a queue that is never empty, that is taken.

        Both are of each whole ``width_s``; where the link stands still there is no share.
        """
        edges = np.arange(len(rates) + 1) * width_s
        times, carried = self.carried[name]
        there = np.concatenate(([0.0], carried))
        taken = 8 * np.diff(there[np.searchsorted(times, edges, side="right")]) / width_s
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rates > 0, taken / rates, np.nan)


def watch(path: str, resolved: dict[str, Any], *, seed: int, duration: str) -> Busy:
    """Looks at ``path`` with its other traffic, for ``duration`` after that has warmed up."""
    result = run(probing(path, seed=seed, duration=duration), traces=True)
    document = json.loads(result.to_json())["runs"][0]
    flows, links = pl.DataFrame(result.flow_traces()), pl.DataFrame(result.link_traces())
    carried = {}
    for name, ways in (("forward", resolved["forward"]), ("reverse", resolved["reverse"])):
        mine = links.filter(pl.col("link") == ways["name"])
        if not mine.is_empty():
            # Counted behind the propagation, of which nothing is to be seen here.
            late = ways["delay_ms"] if isinstance(ways["delay_ms"], float) else 0.0
            times = mine["time_s"].to_numpy() - late / 1e3
            carried[name] = (times, mine["transmitted_bytes"].cast(pl.Float64).to_numpy())
    return Busy(
        begin_s=float(resolved["warm_up_s"]),
        end_s=float(document["end_s"]),
        probe=document["flows"][0],
        traffic=document["traffic"],
        # The handshake's packets are small ones.
        round_trips=flows.filter(pl.col("acked_bytes") > 0).select("time_s", "rtt_ms").drop_nulls(),
        carried=carried,
    )
