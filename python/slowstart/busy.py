"""How background traffic loads a path: the fraction of the rate it uses, and the probe RTT.

The path's ``[[traffic]]`` runs as it does beside any flow of the same seed. The only measured flow
is the probe, which uses one percent of the rate: it sends one full-size packet in the transmission
time of a hundred, and the receiver acknowledges each packet.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart._native import probing
from slowstart.running import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Series = NDArray[np.float64]


@dataclass(frozen=True)
class Busy:
    """The measurements of a path under its background traffic."""

    begin_s: float
    """When the warm-up of the traffic ends and the probe starts."""
    end_s: float
    probe: dict[str, Any]
    """The probe, as a flow of the result document."""
    traffic: list[dict[str, Any]]
    """The totals of the traffic, as in the result document."""
    round_trips: pl.DataFrame
    """``time_s``, ``rtt_ms`` of each acknowledged packet of the probe."""
    transmitted: dict[str, tuple[Series, Series]]
    """For each link with a rate: times, and the bytes transmitted until then."""

    def fractions(self, name: str, rates: Series, width_s: float) -> Series:
        """The fraction of the saturated link's ``rates`` that is used, per interval of ``width_s``.

        NaN for intervals in which the link stands still.
        """
        edges = np.arange(len(rates) + 1) * width_s
        times, transmitted = self.transmitted[name]
        totals = np.concatenate(([0.0], transmitted))
        used = 8 * np.diff(totals[np.searchsorted(times, edges, side="right")]) / width_s
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rates > 0, used / rates, np.nan)


def watch(path: str, resolved: dict[str, Any], *, seed: int, duration: str) -> Busy:
    """Measures ``path`` under its background traffic, for ``duration`` after the warm-up."""
    result = run(probing(path, seed=seed, duration=duration), traces=True)
    document = json.loads(result.to_json())["runs"][0]
    flows, links = pl.DataFrame(result.flow_traces()), pl.DataFrame(result.link_traces())
    transmitted = {}
    for name, link in (("forward", resolved["forward"]), ("reverse", resolved["reverse"])):
        mine = links.filter(pl.col("link") == link["name"])
        if not mine.is_empty():
            # The trace counts bytes after propagation; shift them to the time of transmission.
            late = link["delay_ms"] if isinstance(link["delay_ms"], float) else 0.0
            times = mine["time_s"].to_numpy() - late / 1e3
            transmitted[name] = (times, mine["transmitted_bytes"].cast(pl.Float64).to_numpy())
    return Busy(
        begin_s=float(resolved["warm_up_s"]),
        end_s=float(document["end_s"]),
        probe=document["flows"][0],
        traffic=document["traffic"],
        # Leave out the small packets of the handshake.
        round_trips=flows.filter(pl.col("acked_bytes") > 0).select("time_s", "rtt_ms").drop_nulls(),
        transmitted=transmitted,
    )
