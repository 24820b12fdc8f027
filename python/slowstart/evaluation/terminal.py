"""The scorecard on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from slowstart.evaluation import words
from slowstart.evaluation.scores import outliers
from slowstart.report.tables import console

if TYPE_CHECKING:
    from rich.console import Console

    from slowstart.evaluation.kernel import Kernel
    from slowstart.evaluation.scores import Card, Outlier


def show(card: Card, report: str, kernel: Kernel | None = None) -> None:
    """Prints the headline rows, what stands out, and the path of the page."""
    out = console()
    long = not sys.stdout.isatty()
    found = outliers(card)
    marked = {id(each.row): each for each in found if each.but is None}
    out.print(Text(f"Scorecard of {card.algorithm}", "bold"), soft_wrap=long)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measured", overflow="fold")
    for name in card.algorithms:
        table.add_column(name, justify="right", overflow="fold")
    for criterion in card.table.criteria:
        for row in criterion.rows:
            values = card.values.get(row, {})
            if not row.headline or not values:
                continue
            section = f"{criterion.section}  " if criterion.section else ""
            cells = [
                Text(
                    words.shown(values[name], row)
                    if name in values
                    else words.absent(card, row, name)
                )
                for name in card.algorithms
            ]
            if id(row) in marked:
                style = {True: "dark_orange3", False: "green", None: "bold"}
                cells[0].stylize(style[marked[id(row)].worse])
            table.add_row(section + row.words, *cells)
    out.print(table)
    _outliers(out, "Worse than every other algorithm here",
              [each for each in found if each.worse and not each.but], long=long)  # fmt: skip
    _outliers(out, "Worse than all but one",
              [each for each in found if each.worse and each.but], long=long)  # fmt: skip
    _outliers(out, "Better than every other algorithm here",
              [each for each in found if each.worse is False and not each.but],
              long=long)  # fmt: skip
    _outliers(out, "Better than all but one",
              [each for each in found if each.worse is False and each.but],
              long=long)  # fmt: skip
    if kernel is not None:
        _kernel(out, kernel, long=long)
    missing = [each for each in card.table.criteria if not each.rows]
    if missing:
        names = ", ".join(f"{each.section} {each.title.lower()}" for each in missing)
        out.print(Text(f"Not evaluated: {names}."), soft_wrap=long)
    out.print(Text(words.note_on_runs(card), "dim"), soft_wrap=long)
    out.print(Text(f"Report: {report}"), soft_wrap=True)


def _outliers(out: Console, head: str, some: list[Outlier], *, long: bool) -> None:
    out.print(Text(f"{head}:", "bold"), soft_wrap=long)
    for each in some[: words.MOST]:
        out.print(Text(f"  {words.sentence(each)}"), soft_wrap=long)
    if len(some) > words.MOST:
        out.print(Text(f"  and {len(some) - words.MOST} more in the report"), soft_wrap=long)
    if not some:
        out.print(Text("  nothing"), soft_wrap=long)


def _kernel(out: Console, kernel: Kernel, *, long: bool) -> None:
    lines = kernel.lines()
    out.print(Text(f"On {lines['name']}", "bold"), soft_wrap=long)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measured", overflow="fold")
    table.add_column("algorithm")
    for head in ("simulated", lines["short"], "difference"):
        table.add_column(head, justify="right")
    for line in lines["rows"]:
        table.add_row(*line)
    out.print(table)
    for note in lines["notes"]:
        out.print(Text(note), soft_wrap=long)
