"""The tables, figures, document and page of the comparison in groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from slowstart import plots, stats
from slowstart._version import __version__
from slowstart.fidelity.distributions import rows
from slowstart.fidelity.groups import SUMMARIES
from slowstart.figures import colors
from slowstart.plots import finish, new_figure, styled
from slowstart.report import page as report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from slowstart.fidelity.distributions import Distribution, Row

HEADS = (
    "group", "quantity", "starts", "errors", "median", "95th percentile", "bias",
    "chance alone", "holds", "largest error",
)  # fmt: skip
_KERNEL, _SIMULATED = colors.BLACK, colors.VERMILLION
_COLUMNS = 4


def _percent(value: float) -> str:
    return f"{100 * value:.2g}"


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, as text; errors are in percent, with their 90 % intervals."""

    def between(value: float, interval: tuple[float, float]) -> str:
        return f"{_percent(value)} ({_percent(interval[0])} to {_percent(interval[1])}) %"

    return (
        row.group,
        row.quantity.label,
        str(row.starts),
        str(row.errors),
        between(row.median, row.median_interval),
        between(row.p95, row.p95_interval),
        f"{100 * row.bias:+.2g} %",
        f"up to {_percent(row.chance_median)}, {_percent(row.chance_p95)} %",
        row.verdict,
        row.worst,
    )


def show(found: Sequence[Distribution], lost: int, where: str) -> None:
    """Prints the table."""
    from rich.table import Table

    from slowstart.report import tables

    console = tables.console(wide=220)
    table = Table(*HEADS, title="Difference of the distributions, simulated against the kernel")
    for row in rows(found):
        table.add_row(*cells(row))
    console.print(table)
    console.print(
        "holds: median error at most 3 %, 95th percentile at most 10 %; chance: not within "
        "these,\nbut exchanging the stacks of some starts makes errors as large"
    )
    if lost:
        console.print(
            f"Excluded: {lost} kernel runs, which failed the emulator's timing self-check"
        )
    console.print(f"The report is {where}")


def markdown(found: Sequence[Distribution]) -> str:
    """The table as Markdown, for the documentation."""
    lines = ["| " + " | ".join(HEADS) + " |", "| " + " | ".join("---" for _ in HEADS) + " |"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows(found)]
    return "\n".join(lines) + "\n"


def document(found: Sequence[Distribution], facts: dict[str, Any]) -> dict[str, Any]:
    """The document of ``--json`` and ``groups.json``."""
    return {
        "format": 1,
        "version": __version__,
        **facts,
        "quantities": [
            {
                "group": row.group,
                "quantity": row.quantity.key,
                "starts": row.starts,
                "errors": row.errors,
                "median": row.median,
                "median_interval": row.median_interval,
                "p95": row.p95,
                "p95_interval": row.p95_interval,
                "bias": row.bias,
                "chance_median": row.chance_median,
                "chance_p95": row.chance_p95,
                "twin_median": row.twin_median,
                "twin_p95": row.twin_p95,
                "holds": row.holds,
                "verdict": row.verdict,
                "worst": row.worst,
            }
            for row in rows(found)
        ],
        "distributions": [
            {
                "group": each.workload.group,
                "workload": each.workload.name,
                "quantity": each.quantity.key,
                "unit": each.quantity.unit,
                "class": each.label or None,
                "starts": len(each.simulated),
                "levels": each.levels,
                "simulated": each.quantiles(each.simulated).tolist(),
                "twin": each.quantiles(each.twin).tolist(),
                "kernel": each.quantiles(each.kernel).tolist(),
                "errors": each.errors().tolist(),
            }
            for each in found
        ],
    }


def figure(found: Sequence[Distribution], kernel: str) -> Figure:
    """The CDFs of all quantities of one workload, of both stacks."""
    count = -(-len(found) // _COLUMNS)
    with styled():
        drawn = new_figure(11.0, 0.9 + 2.3 * count)
        grid = drawn.subplots(count, _COLUMNS, squeeze=False, sharey=True)
        for axes, each in zip(grid.flat, found, strict=False):
            for values, color, width in (
                (each.twin, colors.ORANGE, 0.8),
                (each.kernel, _KERNEL, 1.2),
                (each.simulated, _SIMULATED, 1.6),
            ):
                steps, fractions = stats.ecdf(np.concatenate(values).tolist())
                axes.plot(steps, fractions, drawstyle="steps-post", color=color, linewidth=width)
            title = each.quantity.label + (f"\n{each.label}" if each.label else "")
            axes.set_title(title, fontsize=8)
            axes.set_xlabel(each.quantity.unit, fontsize=8)
        for axes in list(grid.flat)[len(found) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("CDF")
        handles = [
            Line2D([], [], color=_KERNEL, linewidth=1.2, label=kernel),
            Line2D([], [], color=_SIMULATED, linewidth=1.6, label="simulated"),
            Line2D([], [], color=colors.ORANGE, linewidth=0.8, label="simulated, starts shifted"),
        ]
        plots.legend(drawn, handles)
        workload = found[0].workload
        starts = plots.plural(len(found[0].simulated), "start")
        return finish(drawn, f"{workload.group}: {workload.name}, {starts}")


def write(folder: Path, found: Sequence[Distribution], facts: dict[str, Any]) -> Path:
    """Writes the figures, ``groups.json``, ``groups.md`` and ``report.html`` to ``folder``.

    Returns:
        The path of the report.
    """
    drawings = []
    for workload in dict.fromkeys(each.workload for each in found):
        part = [each for each in found if each.workload == workload]
        name = f"group-{report.slug(f'{workload.group} {workload.name}')}"
        plots.save(figure(part, facts["kernel"]), folder, name)
        caption = f"{SUMMARIES[workload.group]}: {workload.name}, distributions on both stacks"
        drawings.append((name, caption))
    page = report.render(
        "groups.html.j2",
        version=__version__,
        facts=facts,
        summaries={name: SUMMARIES[name] for name in facts["groups"]},
        heads=HEADS,
        rows=[cells(row) for row in rows(found)],
        figures=[(name, caption, report.inline(folder, name)) for name, caption in drawings],
    )
    contents = {
        "groups.json": json.dumps(document(found, facts), indent=2, allow_nan=False) + "\n",
        "groups.md": markdown(found),
        "report.html": page,
    }
    for name, content in contents.items():
        aside = folder / f".{name}.part"
        aside.write_text(content, encoding="utf-8")
        aside.replace(folder / name)
    return folder / "report.html"
