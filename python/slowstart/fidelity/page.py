"""The tables, the document and the report of the validation."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from slowstart import plots
from slowstart._version import __version__
from slowstart.fidelity import figures
from slowstart.fidelity.compare import Difference, Row, counted, rows
from slowstart.fidelity.judge import LONG, Verdict, over_long_paths, percent, verdicts
from slowstart.report import page as report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from slowstart.fidelity.grid import Case

# Number of cases with a drawn trajectory.
_DRAWN = 12
_ERRORS = (
    "CDF of the absolute error over all cases. Thin: the spread of the kernel's own runs of a case "
    "(half their range) on paths without randomness, which bounds the accuracy of any simulation."
)
_WORST = (
    "The cases with the largest error of any quantity: congestion window over time, for all runs "
    "of both stacks."
)
_CASES = (
    "error in percent of each quantity on each path; positive if the simulation's value is larger. "
    "Empty if neither stack has the quantity."
)
_HEADS = ("quantity", "cases", "median", "95th percentile", "kernel's spread", "largest error")


def cells(row: Row) -> tuple[str, ...]:
    """The table cells of a row."""
    worst = row.worst
    return (
        row.quantity.label,
        str(row.cases),
        percent(row.median),
        percent(row.p95),
        _spread(row),
        (
            f"{percent(abs(worst.error))}: {worst.case.name} "
            f"(simulated {_number(worst.simulated)}, kernel {_number(worst.kernel)} "
            f"{worst.quantity.unit})"
        ),
    )


def _spread(row: Row) -> str:
    if row.spread_median is None or row.spread_p95 is None:
        return "-"
    return f"{percent(row.spread_median)}, {percent(row.spread_p95)}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def show(differences: Sequence[Difference], lost: int, where: str) -> None:
    """Prints the tables."""
    from rich.table import Table

    from slowstart.report import tables

    console = tables.console(wide=200)
    table = Table(*_HEADS, title="Absolute error of the simulation against the kernel")
    for row in rows(differences):
        table.add_row(*cells(row))
    console.print(table)
    for head, group in (("", verdicts(differences)), (LONG, over_long_paths(differences))):
        if head and group:
            console.print(f"{head}:")
        for verdict in group:
            console.print(f"{'holds ' if verdict.holds else 'FAILS '} {_sentence(verdict)}")
            if verdict.chance:
                console.print(f"       {verdict.chance}")
    edges = knife_edges(differences)
    if edges:
        console.print(f"Knife's edges, not counted ({len(edges)}): {'; '.join(edges)}")
    if lost:
        console.print(
            f"Excluded: {lost} kernel runs, which failed the emulator's timing self-check"
        )
    console.print(f"The report is {where}")


def knife_edges(differences: Sequence[Difference]) -> list[str]:
    """The names of the cases that are knife's edges."""
    return list(dict.fromkeys(each.case.name for each in differences if each.edge))


def _sentence(verdict: Verdict) -> str:
    return f"{verdict.claim}: {verdict.measured}"


def document(differences: Sequence[Difference], facts: dict[str, Any]) -> dict[str, Any]:
    """The document of ``--json`` and ``fidelity.json``."""

    def judged(group: Sequence[Verdict]) -> list[dict[str, Any]]:
        return [
            {
                "claim": v.claim,
                "cases": v.cases,
                "holds": v.holds,
                "measured": v.measured,
                "chance": v.chance,
            }
            for v in group
        ]

    return {
        "format": 1,
        "version": __version__,
        **facts,
        "verdicts": judged(verdicts(differences)),
        "verdicts_long_paths": judged(over_long_paths(differences)),
        "quantities": [
            {
                "quantity": row.quantity.key,
                "cases": row.cases,
                "median": _finite(row.median),
                "p95": _finite(row.p95),
                "kernel_spread_median": row.spread_median,
                "kernel_spread_p95": row.spread_p95,
                "worst": row.worst.case.name,
            }
            for row in rows(differences)
        ],
        "cases": [
            {
                "path": each.case.path.name,
                "kind": each.case.path.kind,
                "algorithm": each.case.algorithm,
                "quantity": each.quantity.key,
                "unit": each.quantity.unit,
                "simulated": each.simulated,
                "kernel": each.kernel,
                "error": _finite(each.error),
                "knife_edge": each.edge,
                "moved": None if each.moved is None else _finite(each.moved),
                "kernel_spread": each.spread,
                "runs": {"simulated": each.runs[0], "kernel": each.runs[1]},
            }
            for each in differences
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def markdown(differences: Sequence[Difference]) -> str:
    """The tables as Markdown, for the documentation."""
    lines: list[str] = []
    edges = knife_edges(differences)
    if edges:
        lines += [f"Knife's edges, not counted ({len(edges)}): {'; '.join(edges)}.", ""]
    heads = ("All paths", LONG)
    for head, group in zip(
        heads, (verdicts(differences), over_long_paths(differences)), strict=True
    ):
        lines += [f"{head}:", "", "| claim | cases | holds | measured |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [
            f"| {each.claim} | {each.cases} | {'yes' if each.holds else 'no'} | {each.measured} |"
            for each in group
        ]
        lines.append("")
        lines += [f"- {each.claim}: {each.chance}." for each in group if each.chance]
        lines.append("")
    for algorithm in (None, *dict.fromkeys(each.case.algorithm for each in differences)):
        these = [each for each in differences if algorithm in (None, each.case.algorithm)]
        lines += [f"{algorithm or 'All algorithms'}:", ""]
        lines += ["| " + " | ".join(_HEADS) + " |", "| " + " | ".join("---" for _ in _HEADS) + " |"]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in rows(these)]
        lines.append("")
    return "\n".join(lines)


def worst_cases(differences: Sequence[Difference]) -> list[tuple[Case, str]]:
    """The cases with the largest errors, each with a description of its error, largest first."""
    ordered = sorted(counted(differences), key=lambda each: -abs(each.error))
    found: dict[Case, str] = {}
    for each in ordered:
        if len(found) == _DRAWN:
            break
        words = percent(each.error) if math.isinf(each.error) else f"{100 * each.error:+.1f} %"
        found.setdefault(each.case, f"{each.quantity.label}: {words}")
    return list(found.items())


def write(
    folder: Path,
    differences: Sequence[Difference],
    load: Callable[[Case, str], list[dict[str, Any]]],
    facts: dict[str, Any],
) -> Path:
    """Writes the figures, ``fidelity.json``, ``fidelity.md`` and ``report.html`` to ``folder``.

    Returns:
        The path of the report.
    """
    kernel = facts["stack"]
    drawings = [
        ("errors", _ERRORS, figures.distributions(counted(differences), facts["kernel"])),
        ("worst", _WORST, figures.trajectories(worst_cases(differences), load, kernel)),
    ]
    algorithms = dict.fromkeys(each.case.algorithm for each in differences)
    drawings += [
        (f"cases-{report.slug(name)}", f"{name}: {_CASES}", figures.by_case(differences, name))
        for name in algorithms
    ]
    for name, _, figure in drawings:
        plots.save(figure, folder, name)
    text = json.dumps(document(differences, facts), indent=2, allow_nan=False)
    page = report.render(
        "fidelity.html.j2",
        version=__version__,
        facts=facts,
        heads=_HEADS,
        rows=[cells(row) for row in rows(differences)],
        verdicts={
            "All paths": verdicts(differences),
            LONG: over_long_paths(differences),
        },
        edges=knife_edges(differences),
        figures=[(name, caption, report.inline(folder, name)) for name, caption, _ in drawings],
    )
    contents = {
        "fidelity.json": text + "\n",
        "fidelity.md": markdown(differences),
        "report.html": page,
    }
    for name, content in contents.items():
        aside = folder / f".{name}.part"
        aside.write_text(content, encoding="utf-8")
        aside.replace(folder / name)
    return folder / "report.html"
