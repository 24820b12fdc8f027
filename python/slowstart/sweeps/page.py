"""The report of a sweep: one HTML page, and its figures as SVG and PNG."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart._version import __version__
from slowstart.plots import plural, save
from slowstart.report.page import inline, render
from slowstart.report.tables import LEAST_FOR_INTERVAL
from slowstart.store.output import replace_file, writing
from slowstart.studies.files import toml
from slowstart.sweeps import figures

if TYPE_CHECKING:
    import polars as pl

    from slowstart.sweeps.definition import Definition
    from slowstart.sweeps.plan import Plan

REPORT = "report.html"
_MOST_ROWS = 200
_MOST_SHOWN = 8


def write(folder: Path, definition: Definition, plan: Plan, table: pl.DataFrame) -> Path:
    """Writes the report of a finished sweep next to its tables.

    Raises:
        RunError: The disk is full.
    """
    measures = figures.chosen(definition, table)
    drawn = figures.draw(definition, table, measures)
    heads, rows = figures.rows(definition, table, measures, _MOST_ROWS)
    with writing(folder), tempfile.TemporaryDirectory(prefix=".figures-", dir=folder) as aside:
        shown = []
        for each in drawn:
            save(each.figure, Path(aside), each.name)
            shown.append((each.name, each.caption, inline(Path(aside), each.name)))
        page = render(
            "sweep.html.j2",
            version=__version__,
            title=definition.about or "sweep",
            points=plural(definition.points, "point"),
            runs=plural(plan.total, "run"),
            seed=definition.seed,
            notes=notes(plan),
            keys=_keys(definition),
            figures=shown,
            heads=heads,
            rows=rows,
            more=definition.points > len(rows),
            text=_text(definition),
        )
        kept = folder / "figures"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for file in sorted(Path(aside).iterdir()):
            shutil.move(file, kept / file.name)
        replace_file(folder / REPORT, page)
    return folder / REPORT


def notes(plan: Plan) -> list[str]:
    """What a reader of the numbers must know."""
    said = []
    once = int((plan.counts == 1).sum())
    if plan.wanted > 1 and once == plan.count:
        return [f"Nothing is random, so one run of each point stands for all {plan.wanted}."]
    if plan.wanted > 1 and once:
        said.append(
            f"Nothing is random at {once} of {plan.count} points, so their one run stands for "
            f"all {plan.wanted}: no interval there."
        )
    if plan.wanted < LEAST_FOR_INTERVAL:
        said.append(
            f"With fewer than {LEAST_FOR_INTERVAL} values a median has no 95 % interval: make more "
            "runs (-n)."
        )
    return said


def _keys(definition: Definition) -> list[tuple[str, str, str]]:
    made = []
    for axis in definition.axes:
        labels = [str(value.label) for value in axis.values]
        said = ", ".join(labels[:_MOST_SHOWN])
        if len(labels) > _MOST_SHOWN:
            said += f", ... {labels[-1]} ({len(labels)} values)"
        made.append((axis.key, axis.column(), said))
    for span in definition.spans:
        low, high = (value.label for value in span.head().values)
        scale = ", logarithmic" if span.log else ""
        made.append((span.key, span.head().column(), f"{low} to {high}{scale} (Latin hypercube)"))
    made += [
        (each.key or "", each.column(), f"= {each.expression.text}") for each in definition.derived
    ]
    return made


def _text(definition: Definition) -> str:
    """The file of the sweep, or the same as TOML."""
    file = Path(definition.node.file)
    if file.is_file():
        return file.read_text(encoding="utf-8")
    return "".join(f"{key} = {toml(value)}\n" for key, value in definition.node.value.items())
