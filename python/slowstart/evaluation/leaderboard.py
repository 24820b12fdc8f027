"""The start-ups of slowstart in one table."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from slowstart._native import algorithms
from slowstart._version import __version__
from slowstart.evaluation import words
from slowstart.evaluation.jobs import canonical

if TYPE_CHECKING:
    from slowstart.evaluation.scores import Reader, Value
    from slowstart.evaluation.table import Row, Table

_MARKS = {"routers": " (1)", "memory": " (2)", "known-path": " (3)"}
_NOTES = """\
Values are medians over runs, small numbers their 95 % intervals (below six runs the range of the \
runs). Fractions have Wilson's interval. A dash: no transfer has such a value, because none has a \
false exit.{partial}
An ideal exit is that of the start-up `oracle` with the same avoidance; see \
[What a slow-start exit costs](../concepts/exit-cost.md). The reference of a monolithic congestion \
control is `cubic+oracle`, which is that of column A for all. So column B does not compare \
congestion avoidances: it says what the same start-up costs before each of them.
The paths: {paths}.
An exit is early if the bottleneck was not yet busy for a base RTT. Where the rate of the path \
varies, the ideal exit is often early, too.{scenarios}
(1) asks routers, and none here supports it, so this is its fallback.
(2) uses what an earlier connection saved, and there was none.
(3) needs the simulator's knowledge of the path: it is the reference, not a competitor.
`slowstart evaluate ALGORITHM` makes the whole scorecard of one of them, or of yours \
([guide](../guides/evaluate.md))."""
_PARTIAL = """
"({count} of {of})" behind a number: {count} of the {of} transfers count. The others did not end \
within the time limit of their scenario, with this start-up or with the ideal exit that it is \
compared with.\
"""
# The number of the row by which the table is sorted.
_SORTED_BY = 1
# Versions whose numbers differ from those of the default, by start-up.
_VERSIONS = {"search": (":version=4.0",)}


def entrants() -> dict[str, dict[str, Any]]:
    """The algorithms, by name.

    Each start-up with CUBIC, each congestion avoidance with its own start-up, and each monolithic
    congestion control.
    """
    found: dict[str, dict[str, Any]] = {}
    for entry in algorithms():
        each: dict[str, Any] = {**entry}
        if each["kind"] == "start-up":
            for version in ("", *_VERSIONS.get(each["name"], ())):
                found[f"cubic+{each['name']}{version}"] = each
        elif each["kind"] in ("avoidance", "congestion control") and each["name"] != "cubic":
            found[each["name"]] = each
    return {name: found[given] for given, name in canonical(found).items()}


def chosen(row: Row, table: Table) -> bool:
    """Whether a row is in the table: the headlines of the start-up, and the harm to others."""
    return row in rows(table)


def rows(table: Table) -> list[Row]:
    """The rows of the leaderboard, which are columns there."""
    return [row for each in table.groups[0].criteria for row in each.rows if row.headline]


def standings(table: Table, reader: Reader) -> list[tuple[str, dict[str, Any], list[Value | None]]]:
    """The algorithms with their values, sorted by the cost of the exit."""
    found = []
    for name, entry in entrants().items():
        values = [reader.value(row, name) for row in rows(table)]
        found.append((name, entry, values))

    def place(entry: tuple[str, dict[str, Any], list[Value | None]]) -> tuple[bool, float, str]:
        value = entry[2][_SORTED_BY]
        return value is None, value.value if value else 0.0, entry[0]

    return sorted(found, key=place)


def document(table: Table, reader: Reader, command: str, *, quick: bool) -> dict[str, Any]:
    """The leaderboard as one JSON document."""
    heads = rows(table)
    return {
        "format": 1,
        "kind": "leaderboard",
        "version": __version__,
        "quick": quick,
        "command": command,
        "columns": [{"words": row.words, "unit": row.unit, "better": row.better} for row in heads],
        "algorithms": [
            {
                "algorithm": name,
                "source": entry["source"],
                "provenance": entry["provenance"],
                "values": [
                    None if value is None
                    else {"value": value.value, "low": value.low, "high": value.high,
                          "confidence": value.confidence, "runs": value.runs}
                    for value in values
                ],
            }
            for name, entry, values in standings(table, reader)
        ],
    }  # fmt: skip


def markdown(table: Table, reader: Reader, command: str, *, quick: bool) -> str:
    """The leaderboard as a page of the documentation."""
    heads = rows(table)
    lines = [
        "# Leaderboard of start-ups",
        "",
        "All start-ups of slowstart with CUBIC, the congestion avoidances with their own start-up,",
        "and the monolithic congestion controls, over the same paths and seeds. This page is",
        "written by a command; do not edit it:",
        "",
        "```",
        command,
        "```",
        "",
        f"slowstart {__version__}."
        + (" Quick numbers: fewer repetitions and fewer paths." if quick else ""),
        "",
        "| | column | better |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {chr(65 + n)} | {row.words} | {row.better} |" for n, row in enumerate(heads)]
    letters = " | ".join(chr(65 + n) for n in range(len(heads)))
    lines += ["", f"| algorithm | {letters} | source |"]
    lines += ["| --- |" + " ---: |" * len(heads) + " --- |"]
    found = standings(table, reader)
    partial = next(
        (value for _, _, values in found for value in values if value and value.count < value.of),
        None,
    )
    for name, entry, values in found:
        cells = []
        for row, value in zip(heads, values, strict=True):
            if value is None:
                cells.append("-")
                continue
            small = words.interval(value, row)
            cells.append(words.shown(value, row) + (f"<br><sub>{small}</sub>" if small else ""))
        mark = _mark(entry["name"])
        source = f"{entry['source']}<br><sub>{entry['provenance']}</sub>"
        lines.append(f"| `{name}`{mark} | {' | '.join(cells)} | {source} |")
    lines += ["", *_notes(table, heads, partial, quick=quick)]
    return "\n".join(lines) + "\n"


def _mark(name: str) -> str:
    needs = next((each["needs"] for each in algorithms() if each["name"] == name), [])
    return next((mark for need, mark in _MARKS.items() if need in needs), "")


def _notes(table: Table, heads: list[Row], partial: Value | None, *, quick: bool) -> list[str]:
    """``partial`` is a value that some of its transfers do not have."""
    setups = {row.setup: table.setups[row.setup] for row in heads}
    setup = setups["startup"]
    (axis,) = setup.axes
    chosen = [point.label for point in axis.points]
    if quick:
        chosen = [each for each in chosen if each in setup.kept[axis.name]]
    paths = ", ".join(str(each).replace(",", " with") for each in chosen)
    scenarios = "".join(f"\nScenario `{name}`: {each.about}." for name, each in setups.items())
    counts = "" if partial is None else _PARTIAL.format(count=partial.count, of=partial.of)
    notes = _NOTES.format(paths=paths, scenarios=scenarios, partial=counts).splitlines()
    return [
        f"Sorted by column {chr(65 + _SORTED_BY)}. No column alone says which start-up is best: a",
        "fast one may take its time from others, and a slow one may spare them.",
        "",
        *(
            line
            for note in notes
            for line in textwrap.wrap(
                note, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
            )
        ),
    ]
