"""The report of a study: a single self-contained HTML page."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import markdown_it

from slowstart import __version__, plots, report
from slowstart.studies import figures
from slowstart.studies.bands import plain
from slowstart.studies.claims import INDEPENDENT, STANDINGS, WORDS
from slowstart.studies.store import ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slowstart.studies.claims import Verdict
    from slowstart.studies.drawings import Drawing
    from slowstart.studies.estimates import Estimate
    from slowstart.studies.grid import Stack
    from slowstart.studies.runner import Findings


def write(findings: Findings, folder: Path) -> None:
    """Writes ``report.html`` and the figures in it into ``folder``."""
    sections = [
        {
            "drawing": drawing,
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
        totals=findings.totals,
        dependent=findings.dependent,
        standings=STANDINGS,
        words=WORDS,
        matrix=matrix(findings),
        calibrations=findings.document()["calibrations"],
        over_set=findings.over_set,
        plain=plain,
        answer=findings.answer,
        stacks=[_facts(findings, stack) for stack in findings.stacks],
        claims=claims_table(findings),
        several=len(findings.stacks) > 1,
        sections=sections,
        experiments=[_experiment(findings, name) for name in findings.study.experiments],
        readme=_html(findings.study.readme),
        attempts=ATTEMPTS,
        version=__version__,
        kernel=platform.release() if "linux" in findings.stacks else None,
    )
    (folder / "report.html").write_text(page, encoding="utf-8")


def _html(markdown: str) -> str:
    return str(
        markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    )


def _part(
    findings: Findings, drawing: Drawing, stacks: Sequence[Stack], folder: Path
) -> dict[str, Any]:
    """An image or a table, and what is missing from it."""
    several = len(findings.stacks) > 1
    part: dict[str, Any] = {"image": None, "table": None}
    part["missing"] = [
        f"{reason} ({stack})" if several else reason
        for stack in stacks
        for reason in _missing(findings, drawing, stack)
    ]
    if drawing.kind == "table":
        part["table"] = figures.table(findings, drawing, stacks)
        return part
    figure = figures.draw(findings, drawing, stacks)
    if figure is not None:
        name = drawing.name if "simulated" in stacks else f"{drawing.name}-{stacks[0]}"
        plots.save(figure, folder, name)
        part["image"] = report.inline(folder, name)
    return part


def _missing(findings: Findings, drawing: Drawing, stack: Stack) -> list[str]:
    """Why cells are missing from a figure."""
    plan = findings.study.experiments[drawing.experiment]
    why = findings.why_empty(drawing.experiment, stack, {})
    if not any(cell.scenario for cell in plan.select(drawing.select)) or (
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


def matrix(findings: Findings) -> list[dict[str, Any]]:
    """The independent claims by their place in the publication and by verdict.

    With several stacks, those of the first.
    """
    rows: dict[str, dict[str, Any]] = {}
    for verdict in findings.verdicts:
        claim = verdict.claim
        if claim.standing != INDEPENDENT or verdict.stack != findings.stacks[0]:
            continue
        where = claim.where.partition(",")[0]
        row = rows.setdefault(where, {"where": where, "claims": {word: [] for word in WORDS}})
        row["claims"][verdict.word].append(claim)
    return list(rows.values())


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
