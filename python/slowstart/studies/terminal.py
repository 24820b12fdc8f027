"""Studies on the terminal: the table of claims, and the list."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from slowstart.studies.claims import AGREES, CANNOT_TEST, DIFFERS
from slowstart.tables import console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.runner import Findings

# Columns of a terminal from which the list of studies is a table.
_ROOMY = 120
_STYLES = {AGREES: "green", DIFFERS: "dark_orange3", CANNOT_TEST: "dim"}


def show(findings: Findings, report: str | None) -> None:
    """Prints the claims with their verdicts, and where the report is."""
    from slowstart.studies.page import claims_table

    out = console()
    several = len(findings.stacks) > 1
    out.print(Text(findings.study.title, "bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("claim", ratio=3)
    table.add_column("agrees if", ratio=1)
    for stack in findings.stacks:
        table.add_column(stack if several else "measured", ratio=1)
        table.add_column("verdict", no_wrap=True)
        if not several:
            table.add_column("because", ratio=2)
    rows = claims_table(findings)
    for row in rows:
        claim = row["claim"]
        cells = [
            Text.assemble(claim.words, ("  " + claim.where, "dim")),
            Text(row["expected"]),
        ]
        for each in row["verdicts"]:
            verdict = each["verdict"]
            unit = f" {claim.unit}" if claim.unit and each["value"] != "-" else ""
            cells += [
                Text.assemble(each["value"] + unit, ("  " + each["detail"], "dim")),
                Text(verdict.word, _STYLES[verdict.word]),
            ]
            if not several:
                cells.append(Text(verdict.reason))
        table.add_row(*cells)
    out.print(table)
    for stack in findings.stacks:
        for reason, parts in findings.left_out(stack).items():
            out.print(Text(f"Left out on {stack}: {_few(parts)}: {reason}", "dim"))
        for entry in findings.untrusted(stack):
            out.print(Text(f"Not vouched for, and in no statistic: {entry}", "dim"))
    totals = findings.totals
    out.print(
        f"{totals[AGREES]} agree, {totals[DIFFERS]} differ, {totals[CANNOT_TEST]} cannot be tested"
    )
    wrong = [row["claim"].name for row in rows if _differs(row) and not row["explanation"].holds]
    if wrong and not findings.quick:
        out.print(Text(f"What was found out does not hold in these runs: {_few(wrong)}"))
    if findings.quick:
        out.print("This was a quick run: fewer repetitions, so the verdicts are provisional.")
    if report is not None:
        sys.stdout.write(f"The report is {report}\n")


def _differs(row: Mapping[str, Any]) -> bool:
    """Whether a claim differs on a stack."""
    return any(each["verdict"].word == DIFFERS for each in row["verdicts"])


def _few(parts: Sequence[str]) -> str:
    """The first of many."""
    few = ", ".join(parts[:4])
    return few if len(parts) <= 4 else f"{few} and {len(parts) - 4} more"


def show_list(entries: Sequence[Mapping[str, Any]]) -> None:
    """Prints which studies there are and what they cost."""
    out = console()
    if not entries:
        out.print("There are no studies in this version.")
        return
    if out.width < _ROOMY:
        # What does not fit beside the summary stands below it.
        table = Table(title="studies", title_justify="left", box=None, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for entry in entries:
            cost = (
                f"\n{entry['document']}: {entry['claims']} claims, {entry['runs']} runs; "
                f"minutes: {_minutes(entry)}; on the kernel: {_on_the_kernel(entry)}"
            )
            words = Text.assemble(entry["summary"], (cost, "dim"))
            table.add_row(Text(entry["name"], "bold"), words)
    else:
        table = Table(title="studies", title_justify="left", box=box.SIMPLE_HEAD)
        heads = ("claims", "runs", "minutes", "on the kernel")
        for head in ("study", "document", "what it repeats", *heads):
            right = head in heads
            table.add_column(head, justify="right" if right else "left", no_wrap=head == "study")
        for entry in entries:
            table.add_row(
                Text(entry["name"], "bold"),
                entry["document"],
                entry["summary"],
                str(entry["claims"]),
                str(entry["runs"]),
                _minutes(entry),
                _on_the_kernel(entry),
            )
    out.print(table)
    out.print(
        "Minutes are on two cores; on the kernel (--stack linux) those of real time. Run one with: "
        "slowstart study NAME [--quick]"
    )


def _minutes(entry: Mapping[str, Any]) -> str:
    return f"{entry['minutes']:g}, quick {entry['minutes_quick']:g}"


def _on_the_kernel(entry: Mapping[str, Any]) -> str:
    runs = entry.get("runs_linux")
    return f"{runs} in {entry['minutes_linux']:g} min" if runs else "-"
