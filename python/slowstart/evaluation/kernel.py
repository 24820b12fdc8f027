"""The rows of the scorecard that the running kernel answers, beside the simulated ones."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart._native import check_linux
from slowstart.errors import InputError
from slowstart.evaluation import jobs, words
from slowstart.evaluation.scores import Reader
from slowstart.evaluation.table import ORACLE, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.evaluation.jobs import Cell, Runs
    from slowstart.evaluation.scores import Card, Value
    from slowstart.evaluation.table import Row, Table


@dataclass(frozen=True)
class Kernel:
    """The values on both stacks."""

    rows: tuple[tuple[Row, str, Value, Value], ...]
    """Row, algorithm, simulated, on the kernel."""
    refused: dict[str, str]
    """Why an algorithm was not run."""
    excluded: int = 0
    """Runs that failed the timing self-check of the emulator."""

    def document(self) -> dict[str, Any]:
        """For the document of the scorecard."""
        return {
            "kernel": platform.release(),
            "not_run": self.refused,
            "excluded_runs": self.excluded,
            "rows": [
                {
                    "words": row.words,
                    "algorithm": algorithm,
                    "simulated": simulated.value,
                    "linux": real.value,
                    "difference": real.value - simulated.value,
                    "runs": real.runs,
                }
                for row, algorithm, simulated, real in self.rows
            ],
        }

    def lines(self) -> dict[str, Any]:
        """For the page and the terminal."""
        rows = []
        for row, algorithm, simulated, real in self.rows:
            apart = real.value - simulated.value
            sign = "+" if apart > 0 else "-" if apart < 0 else ""
            relative = f" ({100 * apart / simulated.value:+.0f} %)" if simulated.value else ""
            rows.append(
                (
                    row.words, algorithm, words.shown(simulated, row), words.shown(real, row),
                    sign + words.amount(abs(apart), row).lstrip("+") + relative,
                )
            )  # fmt: skip
        notes = [f"{name} was not run: {reason}." for name, reason in self.refused.items()]
        if self.excluded:
            runs = "1 run that" if self.excluded == 1 else f"{self.excluded} runs that"
            notes.append(f"Excluded: {runs} failed the emulator's timing self-check.")
        return {"release": platform.release(), "notes": notes, "rows": rows}


def answers(row: Row, table: Table, *, quick: bool) -> bool:
    """Whether the kernel can answer a row: it has no ideal exit."""
    when = table.setups[row.setup].linux
    chosen = when == "always" or (when == "full" and not quick)
    return chosen and row.against not in (ORACLE, REFERENCE)


def cells(
    table: Table, algorithms: Sequence[str], *, quick: bool, runs: int | None = None
) -> tuple[list[Cell], dict[str, str]]:
    """The cells that the kernel supports, and why it does not run the other algorithms.

    Raises:
        InputError: The kernel or the user's privileges are insufficient.
    """
    check_linux([])
    rows = [row for each in table.criteria for row in each.rows if answers(row, table, quick=quick)]
    made = jobs.cells(
        table, algorithms, quick=quick, runs=runs, stack="linux", only=lambda row: row in rows
    )
    refused: dict[str, str] = {}
    chosen = []
    for cell in made:
        if cell.algorithm in refused:
            continue
        try:
            check_linux([cell.job.scenario])
        except InputError as error:
            reason = str(error).partition("; known are ")[0].rstrip(".")
            refused[cell.algorithm or f"the scenario {cell.setup}"] = reason
            continue
        chosen.append(cell)
    return [each for each in chosen if each.algorithm not in refused], refused


def compare(card: Card, runs: Runs, refused: dict[str, str]) -> Kernel:
    """The values on both stacks, of the rows that both have."""
    reader = Reader(runs)
    found = []
    for criterion in card.table.criteria:
        for row in criterion.rows:
            if not answers(row, card.table, quick=card.quick):
                continue
            for name in card.algorithms:
                simulated = card.values.get(row, {}).get(name)
                real = reader.value(row, name)
                if simulated is not None and real is not None:
                    found.append((row, name, simulated, real))
    return Kernel(tuple(found), refused, runs.excluded)
