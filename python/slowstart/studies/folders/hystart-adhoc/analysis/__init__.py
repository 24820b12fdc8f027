"""The analysis of ``hystart-adhoc``.

:mod:`.runs` holds the numbers of a run, :mod:`.numbers` those of the claims, :mod:`.calibration`
what the document leaves unsaid, :mod:`.drawings` the figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.store import Extract

from .calibration import agreement, nearest, over_settings, settings, spread
from .drawings import (
    allowed_figure,
    choices_figure,
    few_figure,
    length_figure,
    lowpan_figure,
    node_figure,
    ranges_figure,
    table_figure,
    wifi_figure,
    windows_figure,
)
from .numbers import (
    chance,
    change,
    exits,
    exits_more,
    level,
    points_below,
    silent,
    window,
)
from .runs import BASELINE, PORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

__all__ = [
    "ack_gap_ms", "allowed_figure", "answer", "chance", "change", "choices_figure", "exits",
    "exits_more", "few_figure", "hystart_exits", "length_figure", "level", "lowpan_figure",
    "nearest", "node_figure", "points_below", "ranges_figure", "settings", "silent", "spread",
    "table_figure", "wifi_figure", "window", "windows_figure",
]  # fmt: skip


_PAYLOAD = 1024


# --- the ACKs of slow start ----------------------------------------------------------------------


def _slow_start(flow: Mapping[str, Any], series: pl.DataFrame) -> pl.DataFrame:
    """The ACKs until the first slow start ends; of a flow that stays in it, all."""
    if flow["exit_s"] is None:
        return series
    return series.filter(pl.col("time_s") <= flow["start_s"] + flow["exit_s"])


def _gap(flow: Mapping[str, Any], series: pl.DataFrame, _: pl.DataFrame) -> float | None:
    gaps = _slow_start(flow, series)["time_s"].diff().drop_nulls()
    found = gaps.median()
    return 1000 * found if isinstance(found, float) else None


def _exits(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float:
    """How often the threshold falls to the window itself.

    A loss lowers it to 0.7 of the window. Below five segments the two cannot be told apart, but
    there HyStart has no ten ACKs in a round.
    """
    threshold, window = pl.col("ssthresh_bytes"), pl.col("cwnd_bytes").shift(1)
    before = threshold.shift(1)
    falls = threshold.is_not_null() & (before.is_null() | (threshold < before))
    at_window = (threshold >= 0.95 * window) & (threshold >= 5 * _PAYLOAD)
    return float(series.select((falls & at_window).sum()).item())


ack_gap_ms = Extract("ack_gap_ms", _gap, links=False)
"""The median time between the ACKs of the first slow start."""
hystart_exits = Extract("hystart_exits", _exits, links=False)
"""How many slow starts of the connection HyStart ended, those after timeouts included."""


# --- the answer ----------------------------------------------------------------------------------

_TABLE = {
    "throughput": "throughput",
    "delay": "delay",
    "delivery": "delivery ratio",
    "drops": "drop ratio",
}


def answer(findings: Findings, stack: Stack) -> list[str]:
    """Whether HyStart helps in ad-hoc networks, and why it hardly ever acts."""
    found = [_helps(findings, stack), _why(findings, stack), _choice(findings, stack)]
    return [each for each in found if each]


def _said(experiment: str, **select: object) -> dict[str, Any]:
    return {"experiment": experiment, "select": {"scheme": PORT, **select}, "against": None}


def _helps(findings: Findings, stack: Stack) -> str | None:
    parts, certain = [], []
    for measure, words in _TABLE.items():
        found = change(findings, stack, {**_said("table"), "measure": measure})
        if found is None or found.low is None or found.high is None:
            continue
        parts.append(f"{words} {found.value:+.2f} % [{found.low:+.2f}, {found.high:+.2f}]")
        if found.low > 0 or found.high < 0:
            certain.append(words)
    ended = exits(findings, stack, _said("table"))
    if not parts or ended is None:
        return None
    every = exits(findings, stack, _said("acks", count=20))
    later = "" if every is None else f" (any slow start of {100 * every.value:.0f} %)"
    helps = f"it changes the {' and the '.join(certain)}" if certain else "no"
    return (
        f"Does HyStart help in ad-hoc networks? With 20 flows: {helps}. The port ends the first "
        f"slow start of {100 * ended.value:.1f} % of the flows{later}, and changes over the same "
        f"placements are {', '.join(parts)}."
    )


def _why(findings: Findings, stack: Stack) -> str | None:
    base = _said("table", scheme=BASELINE)
    small = window(findings, stack, {**base, "segments": 16})
    smaller = window(findings, stack, {**base, "segments": 10})
    typical = window(findings, stack, base)
    if small is None or smaller is None or typical is None:
        return None
    gaps = findings.table("acks", stack, "flows")
    spacing = ""
    if not gaps.is_empty():
        gap = gaps.filter((pl.col("count") == 20) & (pl.col("scheme") == BASELINE))[
            "ack_gap_ms"
        ].median()
        if isinstance(gap, float):
            spacing = f"; its ACKs are {gap:.0f} ms apart, and a train allows 2 ms (the port: 4 ms)"
    drops = findings.table("table", stack, "network_drops").filter(pl.col("scheme") == BASELINE)
    full = pl.col("packets").filter(pl.col("cause") == "queue-full").sum()
    queue = drops.select(full / pl.col("packets").sum()).item()
    return (
        f"Why does it hardly ever act? {100 * queue:.0f} % of the drops are in full interface "
        "queues of 50 packets, and a loss ends slow start at a window of "
        f"{typical.value:.0f} segments (median): {100 * small.value:.0f} % of the flows never have "
        f"the 16 segments that the paper and Linux ask for, and {100 * smaller.value:.0f} % not "
        f"even the ten ACKs in a round of the port{spacing}."
    )


def _choice(findings: Findings, stack: Stack) -> str | None:
    parts = []
    for each in findings.study.claims:
        measure = str(each.parameters.get("measure"))
        if each.experiment != "table" or not each.name.startswith("table-") or not each.expected:
            continue
        changes = [found for _, found in over_settings(findings, stack, measure)]
        if changes:
            band = each.expected
            parts.append(f"{_TABLE[measure]}: {agreement(band.low, band.high, changes)}")
    if not parts:
        return None
    return (
        "How do the verdicts on the table hang on what the document leaves unsaid? "
        f"{'; '.join(parts)}."
    )
