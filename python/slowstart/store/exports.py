"""Time series of flows in the formats of other tools: CSV, qlog, flent, xplot.

A :class:`Series` comes from a simulated run, from the traces of a finished run (simulator or
kernel), or from the analysis of a capture or log. Formats: docs/reference/export.md.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import itertools
import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from slowstart import running, stacks
from slowstart._native import quic_packets
from slowstart.errors import InputError
from slowstart.extras import need_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from slowstart._native import Scenario

TRACES = "flow_traces.parquet"
# Points per connection; the analysis keeps fewer where this is more than it has room for.
POINTS = 100_000
# Flent's curves have a value for each interval of so many seconds.
STEP = 0.05
COLUMNS = ("time_s", "flow", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "sent_bytes",
           "acked_bytes", "receive_window_bytes", "rtt_ms", "delivery_rate_bps",
           "retransmitted")  # fmt: skip
_Row = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """One flow over time: rows with the keys of :data:`COLUMNS` except ``flow``.

    ``exit`` is the end of slow start: time in seconds, window in bytes, reason.
    """

    name: str
    start_unix_s: float
    rows: list[_Row]
    exit: tuple[float, int, str] | None
    is_estimate: bool
    protocol: str = "TCP"
    packets: tuple[_Row, ...] = ()
    """Packets of a QUIC sender, as :func:`slowstart._native.quic_packets` has them."""


def of_connection(connection: dict[str, Any]) -> Series:
    """The series of an analyzed connection; its windows are estimates unless it is a log's."""
    verdict = connection["verdict"]
    found = verdict["exit"]
    left = None if found is None else (found["time_s"], found["cwnd_bytes"], verdict["reason"])
    rows = [{**each, "ssthresh_bytes": None} for each in connection.get("series", [])]
    name = f"{connection['sender']} > {connection['receiver']}".removesuffix(" > ")
    if connection["interface"]:
        name += f" (interface {connection['interface']})"
    is_log = connection["vantage"] == "log"
    return Series(name, connection["start_unix_s"], rows, left, is_estimate=not is_log)


def of_traces(folder: Path, run: int) -> list[Series]:
    """The flows of a run in a folder that ``slowstart run --traces -o`` wrote.

    Raises:
        InputError: The folder has no traces, or not of this run.
    """
    need_report("a result folder")
    import polars as pl

    file = folder / TRACES
    if not file.is_file():
        raise InputError(f"{folder}: no {TRACES}; slowstart run --traces -o {folder} writes it")
    try:
        table = pl.read_parquet(file).filter(pl.col("run") == run)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file}: not a table of traces ({error})") from error
    if table.is_empty():
        raise InputError(f"{file}: no run {run}")
    flows = folder / "flows.parquet"
    return of_tables(table, pl.read_parquet(flows) if flows.is_file() else None, run)


def of_run(scenario: Scenario, run: int, *, packets: bool) -> list[Series]:
    """The flows of a run of a scenario on its stack, which is executed with time series.

    Once more, if it is to have the ``packets`` of the senders, which only a qlog holds.

    Raises:
        RunError: The run failed.
    """
    need_report("a run of a QUIC stack")
    import polars as pl

    result = running.run(scenario, runs=run + 1, traces=True)
    table = pl.DataFrame(result.flow_traces()).filter(pl.col("run") == run)
    made = of_tables(table, pl.DataFrame(result.flows()), run)
    if not packets:
        return made
    sent = {each["flow"]: each["packets"]
            for each in json.loads(quic_packets(scenario, run=run))}  # fmt: skip
    flows = [flow for (flow,), _ in table.group_by(["flow"], maintain_order=True)]
    return [dataclasses.replace(each, packets=tuple(sent.get(flow, ())))
            for flow, each in zip(flows, made, strict=True)]  # fmt: skip


def of_packets(scenario: Scenario, run: int) -> list[Series]:
    """The packets alone of the flows of a run on a QUIC stack."""
    return [
        Series(each["name"], 0.0, [], None, is_estimate=False, protocol="QUIC",
               packets=tuple(each["packets"]))
        for each in json.loads(quic_packets(scenario, run=run))
    ]  # fmt: skip


def of_tables(traces: pl.DataFrame, flows: pl.DataFrame | None, run: int) -> list[Series]:
    """The flows of a run, from the tables of time series and of flows."""
    exits, quic = _exits(flows, run)
    made = []
    for (path, flow), part in traces.group_by(["path", "flow"], maintain_order=True):
        rows = [_traced(each) for each in part.iter_rows(named=True)]
        name = f"{path}, flow {flow}, {part['algorithm'][0]}"
        left = exits.get((path, flow))
        protocol = "QUIC" if quic else "TCP"
        made.append(Series(name, 0.0, rows, left, is_estimate=False, protocol=protocol))
    return made


def _traced(each: dict[str, Any]) -> _Row:
    return {
        "time_s": each["time_s"],
        "cwnd_bytes": each["cwnd_bytes"],
        "ssthresh_bytes": each["ssthresh_bytes"],
        "in_flight_bytes": each["in_flight_bytes"],
        "sent_bytes": each["delivered_bytes"] + each["in_flight_bytes"],
        "acked_bytes": each["acked_bytes"],
        "receive_window_bytes": None,
        "rtt_ms": each["rtt_ms"],
        "delivery_rate_bps": None,
        "retransmitted": False,
    }


# Every other stack counts datagrams.
_TCP = (stacks.SIMULATED, "linux", "linux-vm")


def _exits(flows: pl.DataFrame | None, run: int) -> tuple[dict[Any, tuple[float, int, str]], bool]:
    """The slow-start exit of each flow of a run, and whether a QUIC stack made it."""
    names = ("exit_s", "exit_cwnd_bytes", "exit_reason")
    if flows is None or not {"path", "run", "flow", "stack", *names} <= set(flows.columns):
        return {}, False
    rows = [row for row in flows.iter_rows(named=True) if row["run"] == run]
    found = {
        (row["path"], row["flow"]): (row[names[0]], row[names[1]], row[names[2]])
        for row in rows
        if row[names[0]] is not None
    }
    return found, any(row["stack"] not in _TCP for row in rows)


def as_csv(flows: Sequence[Series]) -> bytes:
    """One row per moment, with the columns :data:`COLUMNS`; an unknown value is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for flow in flows:
        for row in flow.rows:
            cells = {**row, "flow": flow.name, "retransmitted": int(row["retransmitted"])}
            writer.writerow(["" if cells[each] is None else cells[each] for each in COLUMNS])
    return text.getvalue().encode()


def as_qlog(flows: Sequence[Series]) -> bytes:
    """A qlog document (version 0.3, draft-ietf-quic-qlog-main-schema) with a trace per flow."""
    traces = []
    for flow in flows:
        events: list[dict[str, Any]] = []
        least = math.inf
        left = flow.exit
        for row in flow.rows:
            if left is not None and row["time_s"] >= left[0]:
                events.append(_state(left))
                left = None
            data: dict[str, Any] = {}
            if row["rtt_ms"] is not None:
                least = min(least, row["rtt_ms"])
                data |= {"min_rtt": least, "latest_rtt": row["rtt_ms"]}
            for key, name in (("cwnd_bytes", "congestion_window"), ("ssthresh_bytes", "ssthresh"),
                              ("in_flight_bytes", "bytes_in_flight")):  # fmt: skip
                if row[key] is not None:
                    data[name] = row[key]
            events.append({"time": 1e3 * row["time_s"], "name": "recovery:metrics_updated",
                           "data": data})  # fmt: skip
        if left is not None:
            events.append(_state(left))
        if flow.packets:
            events = sorted([*_packets(flow.packets), *events], key=lambda each: each["time"])
        note = "windows are estimates from a capture" if flow.is_estimate else "windows are exact"
        traces.append({
            "title": flow.name,
            "description": note,
            "vantage_point": {"name": "sender", "type": "server"},
            "common_fields": {"time_format": "relative",
                              "reference_time": 1e3 * flow.start_unix_s,
                              "protocol_type": [flow.protocol]},
            "events": events,
        })  # fmt: skip
    document = {"qlog_version": "0.3", "qlog_format": "JSON", "title": "slowstart export",
                "traces": traces}  # fmt: skip
    return (json.dumps(document) + "\n").encode()


def _packets(packets: Sequence[_Row]) -> Iterator[dict[str, Any]]:
    """Events of packets. Numbers that one frame acknowledges are one event."""
    last = max(each["space"] for each in packets)
    kinds = {0: "initial", last: "1RTT"}
    for (at, what, space, _), group in itertools.groupby(
        packets, key=lambda each: (each["at_ns"], each["event"], each["space"], each["frame"])
    ):
        kind = kinds.get(space, "handshake")
        together = list(group)
        made: list[tuple[str, dict[str, Any]]]
        if what == "acked":
            ranges = _ranges([each["number"] for each in together])
            frame = {"frame_type": "ack", "acked_ranges": ranges}
            made = [("transport:packet_received",
                     {"header": {"packet_type": kind}, "frames": [frame]})]  # fmt: skip
        else:
            name = "transport:packet_sent" if what == "sent" else "recovery:packet_lost"
            made = [
                (name, {"header": {"packet_type": kind, "packet_number": each["number"]},
                        "raw": {"length": each["bytes"]}})
                for each in together
            ]  # fmt: skip
        for name, data in made:
            yield {"time": at / 1e6, "name": name, "data": data}


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    made: list[list[int]] = []
    for number in sorted(numbers):
        if made and number == made[-1][1] + 1:
            made[-1][1] = number
        else:
            made.append([number, number])
    return made


def _state(left: tuple[float, int, str]) -> dict[str, Any]:
    data = {"old": "slow_start", "new": "congestion_avoidance"}
    if left[2] in {"loss", "timeout"}:
        data["new"] = "recovery"
    return {"time": 1e3 * left[0], "name": "recovery:congestion_state_updated", "data": data}


def as_flent(flows: Sequence[Series]) -> bytes:
    """A data file of flent, version 4: throughput and RTT of each flow.

    One flow has the form of the test ``tcp_1up``; several that of ``tcp_nup``.
    """
    start = min(flow.start_unix_s for flow in flows)
    end = max(flow.start_unix_s - start + flow.rows[-1]["time_s"] for flow in flows)
    count = max(2, math.ceil(end / STEP) + 1)
    times = [index * STEP for index in range(count)]
    results: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, Any]]] = {}
    pings: list[dict[str, Any]] = []
    several = len(flows) > 1
    for number, flow in enumerate(flows, 1):
        name = f"TCP upload::{number}" if several else "TCP upload"
        shift = flow.start_unix_s - start
        rate = _rates(flow, shift, count)
        results[name] = list(rate)
        raw[name] = [
            {"t": start + time, "dur": STEP, "val": value}
            for time, value in zip(times, rate, strict=True)
        ]
        results[f"{name}::tcp_cwnd"] = _latest(flow, "cwnd_bytes", shift, count, 1 / 1448)
        results[f"{name}::tcp_rtt"] = _latest(flow, "rtt_ms", shift, count, 1.0)
        pings += [{"t": flow.start_unix_s + row["time_s"], "val": row["rtt_ms"], "seq": index}
                  for index, row in enumerate(flow.rows) if row["rtt_ms"] is not None]  # fmt: skip
    results["Ping (ms) ICMP"] = _latest(flows[0], "rtt_ms", 0.0, count, 1.0)
    raw["Ping (ms) ICMP"] = sorted(pings, key=lambda each: float(each["t"]))
    if several:
        sums = zip(*(results[f"TCP upload::{n}"] for n in range(1, len(flows) + 1)), strict=True)
        results["TCP upload sum"] = [sum(each or 0.0 for each in values) for values in sums]
        total = results["TCP upload sum"]
        results["TCP upload avg"] = [(each or 0.0) / len(flows) for each in total]
    began = datetime.fromtimestamp(start, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata: dict[str, Any] = {
        "NAME": "tcp_nup" if several else "tcp_1up",
        "TITLE": flows[0].name, "TIME": began, "T0": began, "NOTE": "written by slowstart export",
        "LOCAL_HOST": "sender", "REMOTE_HOST": "receiver", "HOST": "receiver", "HOSTS": [],
        "LENGTH": times[-1], "TOTAL_LENGTH": times[-1], "STEP_SIZE": STEP, "IP_VERSION": 4,
        "DATA_FILENAME": "slowstart.flent.gz", "FLENT_VERSION": "2.0.0",
        "TEST_PARAMETERS": {"upload_streams": str(len(flows))}, "FAILED_RUNNERS": 0,
        "SERIES_META": {}, "BATCH_NAME": None, "BATCH_TIME": None, "BATCH_TITLE": None,
        "BATCH_UUID": None, "HTTP_GETTER_DNS": None, "HTTP_GETTER_URLLIST": None,
        "HTTP_GETTER_WORKERS": None, "PLOT_TYPE": None, "EGRESS_INFO": None,
        "IP_ADDRS": {}, "GATEWAYS": [], "SYSCTLS": {}, "MODULE_VERSIONS": {},
        "KERNEL_NAME": None, "KERNEL_RELEASE": None, "REMOTE_METADATA": {},
    }  # fmt: skip
    document = {"version": 4, "metadata": metadata, "x_values": times, "results": results,
                "raw_values": raw}  # fmt: skip
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def _rates(flow: Series, shift: float, count: int) -> list[float]:
    """Acknowledged payload in Mbit/s for each interval."""
    acked = [0.0] * count
    before = 0
    for row in flow.rows:
        place = min(count - 1, int((row["time_s"] + shift) / STEP))
        acked[place] += max(0, row["acked_bytes"] - before)
        before = max(before, row["acked_bytes"])
    return [each * 8 / STEP / 1e6 for each in acked]


def _latest(flow: Series, key: str, shift: float, count: int, scale: float) -> list[float | None]:
    values: list[float | None] = [None] * count
    for row in flow.rows:
        if row[key] is not None:
            values[min(count - 1, int((row["time_s"] + shift) / STEP))] = row[key] * scale
    latest = None
    for index, value in enumerate(values):
        latest = value if value is not None else latest
        values[index] = latest
    return values


def as_xplot(flows: Sequence[Series]) -> bytes:
    """A time-sequence graph for xplot: segments, ACKs, the receive window, the exit."""
    lines = ["timeval unsigned", f"title\n{flows[0].name} (time-sequence graph)",
             "xlabel\ntime", "ylabel\nsequence number"]  # fmt: skip
    for flow in flows:
        began = flow.start_unix_s
        sent = acked = 0
        edge: int | None = None
        before: str | None = None
        for row in flow.rows:
            time = f"{began + row['time_s']:.6f}"
            if row["sent_bytes"] > sent:
                kind = "red" if row["retransmitted"] else "white"
                lines += [kind, f"line {time} {sent} {time} {row['sent_bytes']}"]
                sent = row["sent_bytes"]
            elif row["retransmitted"]:
                lines += ["red", f"dot {time} {row['acked_bytes']}"]
            if before is not None:
                lines += ["green", f"line {before} {acked} {time} {acked}"]
                if row["acked_bytes"] > acked:
                    lines.append(f"line {time} {acked} {time} {row['acked_bytes']}")
            window = row["receive_window_bytes"]
            now = None if window is None else row["acked_bytes"] + window
            if before is not None and edge is not None:
                lines += ["yellow", f"line {before} {edge} {time} {edge}"]
            acked, edge, before = max(acked, row["acked_bytes"]), now, time
        if flow.exit is not None:
            time = f"{began + flow.exit[0]:.6f}"
            lines += ["purple", f"line {time} 0 {time} {sent}",
                      f"atext {time} {sent}\nslow start ended: {flow.exit[2]}"]  # fmt: skip
    return ("\n".join([*lines, "go"]) + "\n").encode()


WRITERS = {"csv": as_csv, "qlog": as_qlog, "flent": as_flent, "xplot": as_xplot}
