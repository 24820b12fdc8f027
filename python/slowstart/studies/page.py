"""Draws a study: its report (a single self-contained HTML page), tables, figures and document.

The folder then holds ``report.html``, ``result.json``, ``claims.csv``, the tables as Parquet, and
each figure as SVG.
"""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING, Any

import markdown_it
import polars as pl

from slowstart import plots, vm
from slowstart._version import __version__
from slowstart.report import page as report
from slowstart.studies import figures, headline
from slowstart.studies.bands import plain
from slowstart.studies.calibration import FOLDER
from slowstart.studies.claims import INDEPENDENT, STANDINGS, WORDS
from slowstart.studies.findings import row
from slowstart.studies.folder import aside
from slowstart.studies.measures import TABLES
from slowstart.studies.store import ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slowstart.studies.claims import Claim, Verdict
    from slowstart.studies.drawings import Drawing
    from slowstart.studies.estimates import Estimate
    from slowstart.studies.findings import Findings
    from slowstart.studies.grid import Stack


def write(findings: Findings, folder: Path) -> None:
    """Writes report, tables and figures; each file is replaced atomically."""
    with aside(folder) as made:
        _write_page(findings, made)
        for table in TABLES:
            for (name, stack, kind), frame in findings.tables.items():
                if kind == table and not frame.is_empty():
                    frame.write_parquet(made / f"{table}-{name}-{stack}.parquet")
        rows = [row(each, findings) for each in findings.verdicts]
        pl.DataFrame(rows, infer_schema_length=None).write_csv(made / "claims.csv")
        document = json.dumps(findings.document(), indent=2, ensure_ascii=False)
        (made / "result.json").write_text(document + "\n", encoding="utf-8")


def _write_page(findings: Findings, folder: Path) -> None:
    """Writes ``report.html`` and the figures in it into ``folder``."""
    rows = claims_table(findings)
    by_name = {row["claim"].name: row for row in rows}
    resting = headline.beside(
        findings.study.drawings, findings.study.claims, findings.study.experiments
    )
    sections = [
        {
            "drawing": drawing,
            "claims": [by_name[each.name] for each in resting[drawing.name]],
            "parts": [
                _part(findings, drawing, stacks, folder)
                for stacks in figures.grouped(drawing, findings.stacks)
            ],
        }
        for drawing in findings.study.drawings
    ]
    page = report.render(
        "study.html.j2",
        study=findings.study,
        publication=findings.study.publication,
        plural=plots.plural,
        quick=findings.quick,
        equal_runs=findings.equal_runs,
        totals={each: findings.numbers_of(each) for each in findings.stacks},
        claims_counted=sum(findings.claims_of(INDEPENDENT, findings.stacks[0]).values()),
        counted_once=findings.counted_once,
        dependent=findings.dependent,
        standings=STANDINGS,
        words=WORDS,
        matrix=matrix(findings),
        columns=headline.columns(findings.study.headline),
        headline=headline_table(findings),
        signs=headline.SIGNS,
        calibrations=[_calibration(findings, name) for name in findings.study.allowed],
        over_set=findings.over_set,
        plain=plain,
        answer=findings.answer,
        stacks=[_facts(findings, stack) for stack in findings.stacks],
        claims=rows,
        claim_groups=claim_groups(rows),
        shown={word: sum(_has(row, word) for row in rows) for word in WORDS},
        several=len(findings.stacks) > 1,
        sections=sections,
        experiments=[_experiment(findings, name) for name in findings.study.experiments],
        readme=_html(findings.study.readme),
        attempts=ATTEMPTS,
        version=__version__,
        kernels=_kernels(findings.stacks),
    )
    (folder / "report.html").write_text(page, encoding="utf-8")


def _kernels(stacks: Sequence[Stack]) -> str:
    """The kernels that ran, in words; empty if none did."""
    names = []
    if "linux" in stacks:
        names.append(f"Linux {platform.release()}")
    if "linux-vm" in stacks:
        names.append(f"{vm.kernel()} in virtual time")
    return " and ".join(names)


def _html(markdown: str) -> str:
    return str(
        markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    )


def _part(
    findings: Findings, drawing: Drawing, stacks: Sequence[Stack], folder: Path
) -> dict[str, Any]:
    """An image or a table, and what is missing from it."""
    several = len(findings.stacks) > 1
    part: dict[str, Any] = {"image": None, "narrow": None, "table": None, "note": ""}
    part["missing"] = [
        f"{reason} ({stack})" if several else reason
        for stack in stacks
        for reason in _missing(findings, drawing, stack)
    ]
    if drawing.kind == "table":
        if drawing.function is None:
            part["table"] = figures.table(findings, drawing, stacks)
        else:
            # It draws no run.
            part |= {"table": drawing.function(findings, drawing), "missing": []}
        return part
    figure = figures.draw(findings, drawing, stacks)
    if figure is not None:
        name = drawing.name if "simulated" in stacks else f"{drawing.name}-{stacks[0]}"
        plots.save(figure, folder, name)
        part["image"] = report.inline(folder, name)
        part["note"] = plots.note_of(figure)
        narrow = plots.stacked(figure)
        if narrow is not None:
            part["narrow"] = report.data_url(plots.outlined(narrow))
    return part


def _missing(findings: Findings, drawing: Drawing, stack: Stack) -> list[str]:
    """Why cells are missing from a figure."""
    plan = findings.study.experiments[drawing.experiment]
    why = findings.why_empty(drawing.experiment, stack, {})
    if not any(cell.parts for cell in plan.select(drawing.select)) or (
        (drawing.experiment, stack) not in findings.jobs or stack not in plan.stacks
    ):
        return [why] if why else []
    reasons: dict[str, None] = {}
    for cell in plan.select(drawing.select):
        reason = findings.why_not(drawing.experiment, cell, stack)
        if reason is not None:
            reasons[reason] = None
    return list(reasons)


def measured(found: Estimate | None) -> tuple[str, str]:
    """A value, and its interval with the number of runs."""
    if found is None:
        return "-", ""
    runs = plots.plural(found.runs, "run")
    if found.low is None or found.high is None or found.confidence is None:
        return plain(found.value), runs
    interval = f"[{plain(found.low)}, {plain(found.high)}]"
    return plain(found.value), f"{interval} {100 * found.confidence:.0f} %, {runs}"


def test_of(verdict: Verdict) -> str:
    """The test behind a comparison, in a few words."""
    found = verdict.estimate
    if found is None or found.p is None or verdict.p_adjusted is None:
        return ""
    p = "< 0.001" if verdict.p_adjusted < 0.001 else f"= {plain(verdict.p_adjusted)}"
    return f"{found.test}, p {p} (Holm)"


def claims_table(findings: Findings) -> list[dict[str, Any]]:
    """A row for each claim, with its verdict on each stack."""
    rows: dict[str, dict[str, Any]] = {}
    for verdict in findings.verdicts:
        claim = verdict.claim
        row = rows.setdefault(claim.name, {"claim": claim, "verdicts": []})
        row["explanation"] = findings.explanation(claim)
        row["expected"] = "-" if claim.expected is None else claim.expected.words(claim.unit)
        row["published"] = "-" if claim.published is None else plain(claim.published)
        value, detail = measured(verdict.estimate)
        row["verdicts"].append(
            {"verdict": verdict, "value": value, "detail": detail, "test": test_of(verdict)}
        )
    return list(rows.values())


def claim_groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of :func:`claims_table` by the place in the publication."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in rows:
        groups.setdefault(_place(each["claim"]), []).append(each)
    return list(groups.items())


def _place(claim: Claim) -> str:
    """The figure, table or section in which a claim is published."""
    return claim.where.partition(",")[0]


def matrix(findings: Findings) -> list[dict[str, Any]]:
    """The independent claims by their place in the publication and by verdict.

    With several stacks, those of the first.
    """
    rows: dict[str, dict[str, Any]] = {}
    for verdict in findings.verdicts:
        claim = verdict.claim
        if claim.standing != INDEPENDENT or verdict.stack != findings.stacks[0]:
            continue
        where = _place(claim)
        row = rows.setdefault(where, {"where": where, "claims": {word: [] for word in WORDS}})
        row["claims"][verdict.word].append(claim)
    return list(rows.values())


def headline_table(findings: Findings) -> list[dict[str, Any]]:
    """The rows of the report's first table: for each column, its verdicts."""
    those: dict[str, list[Verdict]] = {}
    for verdict in findings.verdicts:
        those.setdefault(verdict.claim.name, []).append(verdict)
    names = headline.columns(findings.study.headline)
    return [
        {
            "name": row.name,
            "cells": [
                [
                    (verdict, headline.numbers(verdict))
                    for name in row.claims.get(column, ())
                    for verdict in those[name]
                ]
                for column in names
            ],
        }
        for row in findings.study.headline
    ]


def _has(row: dict[str, Any], word: str) -> bool:
    """Whether a claim has a verdict on any stack."""
    return any(each["verdict"].word == word for each in row["verdicts"])


def _calibration(findings: Findings, name: str) -> dict[str, Any]:
    """What a calibration allows, what it was fitted to, and what it predicts."""
    study = findings.study
    calibration, allowed = study.calibrations[name], study.allowed[name]
    file = study.folder / FOLDER / f"{name}.csv"
    tried = pl.read_csv(file) if file.is_file() else pl.DataFrame()
    if not tried.is_empty():
        tried = tried.filter(pl.col("allowed")).drop("allowed")
    verdicts = findings.verdicts
    return {
        "calibration": calibration,
        "allowed": allowed,
        "fitted": headline.fitted(calibration, allowed),
        "predicted": [
            (each, headline.numbers(each))
            for each in headline.predicted(
                calibration, verdicts, study.experiments, findings.stacks[0]
            )
        ],
        "heads": tried.columns,
        "points": [
            [plain(each) if isinstance(each, float) else str(each) for each in row]
            for row in tried.iter_rows()
        ],
    }


def _facts(findings: Findings, stack: Stack) -> dict[str, Any]:
    runs = findings.runs_of(stack)
    facts: dict[str, Any] = {"stack": stack, "runs": len(runs)}
    facts["left_out"] = findings.left_out(stack)
    if runs.is_empty():
        return facts
    return {
        **facts,
        "failed_check": findings.failed_check(stack),
        "counted": int(runs["counts"].sum()),
        "hours": plain(float(runs["end_s"].sum()) / 3600),
        "minutes": plain(float(runs["wall_s"].sum()) / 60),
        "seeds": (runs["seed"].min(), runs["seed"].max()),
    }


def _experiment(findings: Findings, name: str) -> dict[str, Any]:
    plan = findings.study.experiments[name]
    counts = []
    for stack in findings.stacks:
        jobs = findings.jobs.get((name, stack), [])
        runs = sum(job.runs for job in jobs)
        counts.append(f"{plots.plural(len(jobs), 'scenario')}, {plots.plural(runs, 'run')}")
    return {"name": name, "about": plan.about, "axes": plan.axes, "counts": counts}
