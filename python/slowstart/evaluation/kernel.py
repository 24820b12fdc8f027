"""The rows of the scorecard that another stack answers, beside the simulated ones.

The stack is the running kernel, or a QUIC stack in virtual time.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slowstart._native import check_linux, refusal
from slowstart.errors import InputError
from slowstart.evaluation import jobs, words
from slowstart.evaluation.scores import Reader
from slowstart.evaluation.table import ORACLE, REFERENCE
from slowstart.stacks import described, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.evaluation.jobs import Cell, Runs
    from slowstart.evaluation.scores import Card, Value
    from slowstart.evaluation.table import Row, Table

LINUX = "linux"


@dataclass(frozen=True)
class Kernel:
    """The values on both stacks."""

    rows: tuple[tuple[Row, str, Value, Value], ...]
    """Row, algorithm, simulated, on the other stack."""
    refused: dict[str, str]
    """Why an algorithm, or a scenario, was not run."""
    excluded: int = 0
    """Runs that failed the timing self-check of the emulator."""
    stack: str = LINUX

    @property
    def version(self) -> str:
        """The version of the stack."""
        if self.stack == LINUX:
            return platform.release()
        return str(described(self.stack)["version"])

    def document(self) -> dict[str, Any]:
        """For the document of the scorecard."""
        return {
            "kernel" if self.stack == LINUX else "version": self.version,
            "not_run": self.refused,
            "excluded_runs": self.excluded,
            "rows": [
                {
                    "words": row.words,
                    "algorithm": algorithm,
                    "simulated": simulated.value,
                    self.stack: real.value,
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
        is_kernel = self.stack == LINUX
        if not is_kernel:
            notes.append(f"{self.stack} paces its packets, the simulated TCP does not.")
        whose = (
            "The rows that the running kernel can answer, for the algorithms that it has"
            if is_kernel
            else f"The rows that {self.stack} can answer, for the algorithms that it runs"
        )
        name = f"{'Linux' if is_kernel else self.stack} {self.version}"
        return {
            "id": self.stack, "name": name, "short": "Linux" if is_kernel else self.stack,
            "whose": whose, "notes": notes, "rows": rows,
        }  # fmt: skip


def answers(row: Row, table: Table, *, quick: bool, stack: str = LINUX) -> bool:
    """Whether a stack can answer a row: it has no ideal exit, and a kernel runs in real time."""
    when = table.setups[row.setup].linux
    chosen = stack != LINUX or when == "always" or (when == "full" and not quick)
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


def cells_of_quic(
    table: Table,
    algorithms: Sequence[str],
    stack: str,
    *,
    quick: bool,
    runs: int | None = None,
) -> tuple[list[Cell], dict[str, str]]:
    """The cells that a QUIC stack supports, and why it does not run the others."""
    rows = [
        row
        for each in table.criteria
        for row in each.rows
        if answers(row, table, quick=quick, stack=stack)
    ]
    made = jobs.cells(table, algorithms, quick=quick, runs=runs, only=lambda row: row in rows)
    refused: dict[str, str] = {}
    chosen = []
    for cell in made:
        # Capabilities are of an algorithm; everything else of a scenario.
        why = refusal(stack, cell.algorithm) if cell.algorithm else None
        name = cell.algorithm if why and cell.algorithm else f"the scenario {cell.setup}"
        try:
            scenario = placed(cell.job.scenario, stack)
        except InputError as error:
            refused[name] = str(error).rstrip(".")
            continue
        chosen.append(replace(cell, job=replace(cell.job, scenario=scenario)))
    left = {f"the scenario {each.setup}" for each in made} & set(refused)
    return [each for each in chosen if f"the scenario {each.setup}" not in left], refused


def compare(card: Card, runs: Runs, refused: dict[str, str], stack: str = LINUX) -> Kernel:
    """The values on both stacks, of the rows that both have."""
    reader = Reader(runs)
    found = []
    for criterion in card.table.criteria:
        for row in criterion.rows:
            if not answers(row, card.table, quick=card.quick, stack=stack):
                continue
            for name in card.algorithms:
                simulated = card.values.get(row, {}).get(name)
                real = reader.value(row, name)
                if simulated is not None and real is not None:
                    found.append((row, name, simulated, real))
    return Kernel(tuple(found), refused, runs.excluded, stack)
