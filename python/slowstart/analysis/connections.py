"""Analyzes captures and logs of real connections: reports, selection, table, figures.

A report is the dictionary that :func:`slowstart._native.analyze_file` returns for a file; its
connections are described in docs/reference/analysis.md.
"""

from __future__ import annotations

import json
import operator
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slowstart._native import analyze_file
from slowstart.analysis import questions
from slowstart.errors import InputError
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from slowstart.analysis.identify import Identification

FORMAT = 1
"""Format of the document of ``slowstart analyze --json``."""

# Rows of the report's table; more would be slow in a browser.
SHOWN = 10_000

# Keys for --sort and --where: how a connection's value is found.
KEYS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "number": ("position in the file", lambda each: each["number"]),
    "start": ("first packet, in seconds since 1970", lambda each: each["start_unix_s"]),
    "duration": ("seconds", lambda each: each["duration_s"]),
    "bytes": ("payload", lambda each: each["bytes"]),
    "goodput": ("bit/s", lambda each: each["goodput_bps"]),
    "rtt": ("smallest RTT in ms", lambda each: (each["rtt_ms"] or [None])[0]),
    "retransmissions": ("segments", lambda each: each["retransmissions"]["segments"]),
    "rounds": ("round trips with data", lambda each: each["rounds"]),
    "in-flight": ("largest flight in bytes", lambda each: each["max_in_flight_bytes"]),
    "reason": ("why slow start ended", lambda each: each["verdict"]["reason"]),
    "class": ("exit against capacity", lambda each: each["verdict"]["class"]),
    "exit": ("exit time in seconds", lambda each: _exit(each, "time_s")),
    "window": ("exit window in bytes", lambda each: _exit(each, "cwnd_bytes")),
    "cost": ("seconds that the exit cost", lambda each: (each.get("cost") or {}).get("seconds")),
    "limit": ("what limited the sender", lambda each: main_limit(each)),
    "vantage": ("where the capture was made", lambda each: each["vantage"]),
    "host": ("part of either address", lambda each: f"{each['sender']} {each['receiver']}"),
}
_COMPARE = {
    "=": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le,
    ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_UNITS = {"": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "ms": 1e-3,
          "s": 1.0, "b": 1.0, "kbit/s": 1e3, "mbit/s": 1e6, "gbit/s": 1e9}  # fmt: skip
HEADS = (
    "connection", "bytes", "RTT", "IW", "slow start ended by", "after", "cwnd", "class", "cost",
    "limit", "retr.",
)  # fmt: skip


def _exit(connection: dict[str, Any], key: str) -> Any:
    found = connection["verdict"]["exit"]
    return None if found is None else found[key]


def main_limit(connection: dict[str, Any]) -> str | None:
    """The cause that limited the sender for the longest time."""
    limits = connection["limits"]
    longest = max(limits, key=limits.__getitem__)
    if not limits[longest]:
        return None
    return str(longest).removesuffix("_s").replace("_", "-")


def read(files: Sequence[str], *, points: int = 0) -> list[dict[str, Any]]:
    """Analyzes files; each report has the key ``file``.

    Raises:
        InputError: A file cannot be read or has no known format.
    """
    reports = []
    for file in files:
        report = json.loads(analyze_file(file, points=points))
        reports.append({"file": file, **report})
    return reports


def _key(name: str) -> Callable[[dict[str, Any]], Any]:
    if name not in KEYS:
        raise InputError(f"`{name}` is not a key; the keys are {', '.join(KEYS)}")
    return KEYS[name][1]


def condition(text: str) -> Callable[[dict[str, Any]], bool]:
    """Parses a condition such as ``bytes>=1MB`` or ``reason=loss``.

    Raises:
        InputError: It is not valid.
    """
    match = re.fullmatch(r"\s*([a-z-]+)\s*(!=|>=|<=|=|>|<)\s*(\S.*?)\s*", text)
    if match is None:
        raise InputError(f"`{text}` is not a condition such as bytes>=1MB or reason=loss")
    name, sign, wanted = match.groups()
    value_of, compare = _key(name), _COMPARE[sign]
    number = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)\s*([a-zA-Z/]*)", wanted)
    is_word = name in {"reason", "class", "limit", "vantage", "host"}
    if is_word:
        if sign not in {"=", "!="}:
            raise InputError(f"`{text}`: {name} is compared with = or !=")

        def holds(connection: dict[str, Any]) -> bool:
            value = str(value_of(connection))
            same = wanted in value if name == "host" else wanted == value
            return same if sign == "=" else not same

        return holds
    if number is None or number.group(2).lower() not in _UNITS:
        raise InputError(f"`{text}`: {wanted} is not a number with a unit such as MB, ms or Mbit/s")
    unit = number.group(2).lower()
    # The key rtt is in milliseconds.
    scale = _UNITS[unit] * (1e3 if name == "rtt" and unit in {"s", "ms"} else 1.0)
    limit = float(number.group(1)) * scale

    def passes(connection: dict[str, Any]) -> bool:
        value = value_of(connection)
        return value is not None and bool(compare(value, limit))

    return passes


def select(
    connections: Iterable[dict[str, Any]], *, where: Sequence[str], sort: str | None,
    limit: int | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The connections that meet all conditions, sorted, the first ``limit`` of them.

    ``sort`` is a key, with a dash before it for descending order. Connections without a value come
    last.
    """
    conditions = [condition(each) for each in where]
    chosen = [each for each in connections if all(holds(each) for holds in conditions)]
    if sort is not None:
        descending = sort.startswith("-")
        value_of = _key(sort.removeprefix("-"))
        having = [each for each in chosen if value_of(each) is not None]
        having.sort(key=value_of, reverse=descending)
        chosen = having + [each for each in chosen if value_of(each) is None]
    return chosen if limit is None else chosen[:limit]


def cells(connection: dict[str, Any]) -> list[str]:
    """The row of a connection, one text per column of :data:`HEADS`."""
    verdict = connection["verdict"]
    found = verdict["exit"]
    window = connection["initial_window_bytes"]
    segment = max(connection["largest_segment_bytes"], 1)
    rtt = connection["rtt_ms"]
    name = f"{connection['sender']} > {connection['receiver']}".removesuffix(" > ")
    if connection["encrypted"]:
        name += " (QUIC)"
    return [
        name,
        tables.size(connection["bytes"]),
        "-" if rtt is None else f"{rtt[0]:.3g} ms",
        "-" if window is None else f"{window / segment:.0f}",
        f"{verdict['reason']} ({100 * verdict['confidence']:.0f} %)",
        "-" if found is None else tables.seconds(found["time_s"]),
        "-" if found is None else tables.size(found["cwnd_bytes"]),
        verdict["class"],
        questions.cost_text(connection),
        main_limit(connection) or "-",
        "-" if connection["encrypted"] else str(connection["retransmissions"]["segments"]),
    ]


def sort_values(connection: dict[str, Any]) -> list[float | None]:
    """What the report sorts the columns of :func:`cells` by; ``None`` sorts by the text."""
    found = connection["verdict"]["exit"]
    rtt = connection["rtt_ms"]
    window = connection["initial_window_bytes"]
    return [
        None,
        connection["bytes"],
        None if rtt is None else rtt[0],
        window,
        None,
        None if found is None else found["time_s"],
        None if found is None else found["cwnd_bytes"],
        None,
        (connection.get("cost") or {}).get("seconds"),
        None,
        None if connection["encrypted"] else connection["retransmissions"]["segments"],
    ]


def show(reports: Sequence[dict[str, Any]], chosen: Sequence[dict[str, Any]], asked: Asked) -> None:
    """Prints one line per connection, the answers, and the notes of the files."""
    rows = [cells(each) for each in chosen]
    if tables.print_table(HEADS, rows, left={0, 4, 7, 9}):
        out = tables.console()
        if len(chosen) == 1:
            out.print(chosen[0]["verdict"]["sentence"])
            if (cost := questions.cost_sentence(chosen[0])) is not None:
                out.print(cost)
        for report in reports:
            for note in report["notes"]:
                out.print(f"{report['file']}: {note}")
    _show_answers(asked)
    _show_identified(asked, chosen)


def _host(found: Identification, chosen: Sequence[dict[str, Any]]) -> str:
    """The sender of identified connections: its port, too, if it is one."""
    for each in chosen:
        if each["number"] == found.connections[0]:
            sender = str(each["sender"])
            return sender if len(found.connections) == 1 else sender.rpartition(":")[0]
    return ""


def _show_identified(asked: Asked, chosen: Sequence[dict[str, Any]]) -> None:
    if not asked.identified:
        return
    from slowstart.analysis import identify  # needs numpy

    for found in asked.identified:
        several = f" ({len(found.connections)} connections)" if len(found.connections) > 1 else ""
        answer = f"{_host(found, chosen)}{several}: {found.sentence()}"
        tables.print_table(identify.HEADS, found.rows(), answer, left={0, 3, 4})


def _show_answers(asked: Asked) -> None:
    for line in asked.lines:
        tables.console().print(line)
    if asked.rows:
        tables.print_table(questions.HEADS, asked.rows, left={0, 4, 5})


def frame(chosen: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """One row per connection, with nested fields as columns ``group_field``."""
    import polars as pl

    def flat(connection: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for key, value in connection.items():
            if key in {"series", "retransmitted", "sacked", "fit"}:
                continue
            if key == "verdict":
                found = value["exit"] or {}
                row |= {f"verdict_{name}": each for name, each in value.items() if name != "exit"}
                names = ("time_s", "cwnd_bytes", "ssthresh_bytes", "round", "conservative")
                row |= {f"exit_{name}": found.get(name) for name in names}
            elif isinstance(value, dict):
                row |= {f"{key}_{name}": each for name, each in value.items()}
            elif key == "rtt_ms":
                low, mean, high = value or (None, None, None)
                row |= {"rtt_min_ms": low, "rtt_mean_ms": mean, "rtt_max_ms": high}
            elif key == "packets":
                row |= {"packets_sent": value[0], "packets_received": value[1]}
            elif key == "capacity":
                row |= {"capacity_delivery_rate_bps": None, "capacity_bdp_bytes": None}
            else:
                row[key] = value
        return row

    return pl.DataFrame([flat(each) for each in chosen], infer_schema_length=None)


@dataclass
class Asked:
    """What the fitted path of one connection answers: keys of the document, sentences, rows."""

    document: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    identified: list[Identification] = field(default_factory=list)


def document(reports: Sequence[dict[str, Any]], chosen: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The document of ``--json``: the files, and the chosen connections."""
    from slowstart._version import __version__

    files = [{key: each[key] for key in each if key != "connections"} for each in reports]
    return {"format": FORMAT, "version": __version__, "files": files, "connections": chosen}


def write(
    folder: Path,
    reports: Sequence[dict[str, Any]],
    chosen: Sequence[dict[str, Any]],
    drawn: int,
    asked: Asked | None = None,
) -> None:
    """Writes ``result.json``, ``connections.parquet`` and ``report.html``.

    The report has the figures of the first ``drawn`` connections, and the answers of ``asked``.
    """
    from slowstart._version import __version__
    from slowstart.analysis import identify  # needs numpy, as figures do
    from slowstart.analysis.figures import figure
    from slowstart.plots import save, styled
    from slowstart.report.page import inline, render

    asked = asked or Asked()
    made = {"analysis": True, **document(reports, chosen), **asked.document}
    (folder / "result.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    if chosen:
        frame(chosen).write_parquet(folder / "connections.parquet")
    figures = []
    with styled():
        for each in chosen[:drawn]:
            if each.get("series"):
                name = f"connection-{each['number']}"
                save(figure(each), folder, name)
                figures.append((name, each["verdict"]["sentence"], inline(folder, name)))
    page = render(
        "analysis.html.j2",
        version=__version__,
        heads=HEADS,
        rows=[list(zip(cells(each), sort_values(each), strict=True)) for each in chosen[:SHOWN]],
        total=len(chosen),
        files=[{"name": each["file"], "notes": each["notes"], "format": each["format"],
                "records": each["records"]} for each in reports],
        figures=figures,
        command=f"slowstart analyze {shlex.join(each['file'] for each in reports)} -o DIR",
        answer_heads=questions.HEADS,
        answers=asked.rows,
        identify_heads=identify.HEADS,
        identified=[{"host": _host(each, chosen), "sentence": each.sentence(), "rows": each.rows()}
                    for each in asked.identified],
        sentences=asked.lines,
    )  # fmt: skip
    (folder / "report.html").write_text(page, encoding="utf-8")
