"""Tables as files for papers and spreadsheets: LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from slowstart.store.output import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from slowstart.report.tables import Cell

FOLDER = "tables"
_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "\N{NO-BREAK SPACE}": "~",
    **{each: "\\" + each for each in "&%$#_{}"},
}  # fmt: skip


def write(
    folder: Path, name: str, heads: Sequence[str], rows: Iterable[Sequence[Cell | str]]
) -> None:
    r"""Writes ``tables/NAME.csv`` and ``tables/NAME.tex`` in ``folder``.

    The CSV file has a column of its own for the small print of cells. The LaTeX file is a
    ``tabular`` with the rules of the package booktabs, to be read with ``\input``.

    Raises:
        RunError: The disk is full.
    """
    cells = [[_parts(each) for each in row] for row in rows]
    place = folder / FOLDER
    with writing(folder):
        place.mkdir(exist_ok=True)
        (place / f"{name}.csv").write_text(_csv(heads, cells), encoding="utf-8")
        (place / f"{name}.tex").write_text(latex(heads, cells), encoding="utf-8")


def _parts(cell: Cell | str) -> tuple[str, str]:
    return (cell, "") if isinstance(cell, str) else (cell.value, cell.detail)


def _csv(heads: Sequence[str], cells: Sequence[Sequence[tuple[str, str]]]) -> str:
    detailed = [any(row[place][1] for row in cells) for place in range(len(heads))]
    made = io.StringIO()
    out = csv.writer(made, lineterminator="\n")

    def line(parts: Sequence[tuple[str, str]]) -> list[str]:
        return [
            text
            for (value, detail), both in zip(parts, detailed, strict=True)
            for text in ([value, detail] if both else [value])
        ]

    out.writerow(line([(head, f"{head}, detail") for head in heads]))
    out.writerows(map(line, cells))
    return made.getvalue()


def latex(heads: Sequence[str], cells: Sequence[Sequence[tuple[str, str]]]) -> str:
    """A ``tabular``: the first column is left-aligned, as are columns of words."""
    wide = range(len(heads))
    columns = "".join(
        "l" if not place or not any(re.search(r"\d", row[place][0]) for row in cells) else "r"
        for place in wide
    )
    lines = [
        "% slowstart; needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(escaped, heads)) + r" \\",
        r"\midrule",
        *(" & ".join(escaped(" ".join(filter(None, cell))) for cell in row) + r" \\"
          for row in cells),
        r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """``text`` with LaTeX's special characters escaped."""
    return "".join(_SPECIAL.get(each, each) for each in text)
