"""The analysis of ``cuback-abba``: bytes from 10 to 40 s, and the answer beside the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.store import Extract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack

# quicly #688: a warm-up of 10 s, then 30 s of measurement.
_FROM_S = 10.0
_UNTIL_S = 40.0
# Stream data in a full link of quicly's simulator (quicly #689: no value is larger).
_FULL = 97.7
# Fraction of a packet that is payload.
_PAYLOAD = 1228 / 1280
_RATES_BPS = {
    "Corporate_WiFi": 500e6, "WiFi@Office": 710e6, "5G": 100e6, "Home_WiFi": 100e6, "LTE": 30e6,
    "LEO": 50e6,
}  # fmt: skip
_STOCK = ("cubic+rapid-start", "cuback+rapid-start")


def _measured(_: Mapping[str, Any], series: pl.DataFrame, __: pl.DataFrame) -> float | None:
    """The bytes that the receiver has in order after the warm-up, in the measured interval."""
    rows = series.select("time_s", "delivered_bytes").drop_nulls()
    before = rows.filter(pl.col("time_s") <= _FROM_S)["delivered_bytes"]
    until = rows.filter(pl.col("time_s") <= _UNTIL_S)["delivered_bytes"]
    return None if until.is_empty() else float(until[-1] - (0 if before.is_empty() else before[-1]))


measured_bytes = Extract("measured_bytes", _measured, links=False)


def answer(findings: Findings, stack: Stack) -> list[str]:
    """How much of the lossy links each sender used, beside the published ranges."""
    rows = findings.table("losses", stack)
    sentences = []
    if not rows.is_empty():
        rate = pl.col("profile").str.split(",").list.first().replace_strict(_RATES_BPS)
        payload = pl.col("goodput_bps") / rate / _PAYLOAD
        used = rows.group_by("algorithm", "profile").agg((_FULL * payload).mean().alias("used"))
        stock = used.filter(pl.col("algorithm").is_in(_STOCK))["used"]
        abba = used.filter(~pl.col("algorithm").is_in(_STOCK))["used"]
        sentences.append(
            f"Without ABBA, CUBIC and CUBACK use {_span(stock)} % of the lossy links (published: "
            f"34 to 90 %), with it {_span(abba)} % (published: 88 to 98 %)."
        )
    return [*sentences, findings.counted_on(stack)]


def _span(values: pl.Series) -> str:
    found = [float(each) for each in values]
    return f"{min(found):.0f} to {max(found):.0f}"
