"""Visits of one client to one server: what a start-up with memory gains at each, and its phases.

docs/concepts/careful-resume.md defines the numbers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart._native import Result
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Document = Mapping[str, Any]

PHASES = ("reconnaissance_s", "unvalidated_s", "validating_s", "safe_retreat_s", "normal_s")
"""When each phase of RFC 9959 began, in seconds since the SYN."""
_SAVED = ("age_s", "saved_cwnd_bytes", "saved_rtt_ms", "jump_cwnd_bytes")
_REAL = ("fct_s", "age_s", "saved_rtt_ms", *PHASES)
_WHOLE = ("saved_cwnd_bytes", "jump_cwnd_bytes")


def visits(result: Result | Document, against: str | None = None) -> pl.DataFrame:
    """Each visit of a client: its completion, its losses, and the phases of Careful Resume.

    The flows of one name are the visits of one client, in the order of their starts. They share
    the memory of their path.

    Args:
        result: The result of ``compare`` or ``run``, or its document.
        against: A name in the result without memory. Each visit is compared with its visit of the
            same number, over the same path and with the same seed.

    Returns:
        One row for each visit: ``path``, ``run``, ``name``, ``visit`` (from 1), ``start_s``,
        ``fct_s``, ``segments_lost``, what was saved (``age_s``, ``saved_cwnd_bytes``,
        ``saved_rtt_ms``, ``jump_cwnd_bytes``), when each phase of RFC 9959 began
        (``reconnaissance_s``, ``unvalidated_s``, ``validating_s``, ``safe_retreat_s``,
        ``normal_s``) and how it ended (``end``), all null without saved state. With ``against``
        also ``against_s``, ``gain_s`` (the time that this visit took less) and ``lost_more`` (the
        segments that it lost beyond those of the other).

    Raises:
        InputError: ``against`` is not in the result.

    Example:
        >>> from slowstart.visits import visits
        >>> flow = {"flow": 0, "name": "a", "start_s": 0.0, "fct_s": 1.0, "segments_lost": 0}
        >>> run = {"run": 0, "path": "p", "flows": [flow, {**flow, "start_s": 20.0}]}
        >>> visits({"runs": [run]})["visit"].to_list()
        [1, 2]
    """
    document: Document = json.loads(result.to_json()) if isinstance(result, Result) else result
    schema = {"path": pl.String, "run": pl.Int64, "name": pl.String, "visit": pl.Int64,
              "start_s": pl.Float64, "segments_lost": pl.Int64, "end": pl.String,
              **dict.fromkeys(_REAL, pl.Float64), **dict.fromkeys(_WHOLE, pl.Int64)}  # fmt: skip
    table = pl.DataFrame(list(_rows(document)), schema=schema)
    table = table.select("path", "run", "name", "visit", "start_s", "fct_s", "segments_lost",
                         *_SAVED, *PHASES, "end")  # fmt: skip
    if against is None:
        return table
    if against not in table["name"].to_list():
        known = ", ".join(table["name"].unique(maintain_order=True))
        raise InputError(f"the result has no {against}: it has {known}")
    keys = ["path", "run", "visit"]
    other = table.filter(pl.col("name") == against).select(
        *keys, pl.col("fct_s").alias("against_s"), pl.col("segments_lost").alias("_lost")
    )
    return (
        table.join(other, on=keys, how="left", maintain_order="left")
        .with_columns(
            (pl.col("against_s") - pl.col("fct_s")).alias("gain_s"),
            (pl.col("segments_lost") - pl.col("_lost")).alias("lost_more"),
        )
        .drop("_lost")
    )


def _rows(document: Document) -> Iterator[dict[str, Any]]:
    for run in document["runs"]:
        seen: dict[str, int] = {}
        for flow in sorted(run["flows"], key=lambda flow: flow["start_s"]):
            name = flow["name"]
            seen[name] = seen.get(name, 0) + 1
            resumption = flow.get("resumption") or {}
            yield {
                "path": run["path"],
                "run": run["run"],
                "name": name,
                "visit": seen[name],
                "start_s": flow["start_s"],
                "fct_s": flow["fct_s"],
                "segments_lost": flow["segments_lost"],
                "end": resumption.get("end"),
                **{key: resumption.get(key) for key in (*_SAVED, *PHASES)},
            }
