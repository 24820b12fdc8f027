"""A study on both stacks: claims, figures, and what is left out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from test_studies import CLAIMS, MODULE, STUDY

from slowstart import InputError, Scenario, studies, vm
from slowstart.studies import claims, figures
from slowstart.studies import page as drawn
from slowstart.studies.findings import Findings
from slowstart.studies.grid import Stack
from slowstart.studies.store import real_time_s

BOTH: list[Stack] = ["simulated", "linux"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "small"
    made.mkdir()
    (made / "study.toml").write_text(
        STUDY.replace("traces = 1", 'traces = 1\nstacks = ["simulated", "linux"]')
    )
    (made / "claims.toml").write_text(CLAIMS)
    (made / "README.md").write_text("Nothing.\n")
    (made / "analysis.py").write_text(MODULE)
    return made


@pytest.fixture
def both(folder: Path, tmp_path: Path) -> Findings:
    """Results as if the kernel behaved like the simulator, except for what it lacks."""
    found: Findings = studies.load(folder).run(tmp_path / "out", quick=True)
    plan = found.study.experiments["short"]
    place = next(
        place
        for place, cell in enumerate(plan.cells)
        if cell.labels == {"algorithm": "cubic+standard", "size": "1 MB"}
    )
    without: dict[tuple[Stack, str, int], str] = {("linux", "short", place): "the kernel has none"}
    made: Findings = dataclasses.replace(
        found, stacks=BOTH, unsupported=without, tables=dict(found.tables), verdicts=[]
    )
    made.jobs = {**found.jobs, ("short", "linux"): [], ("named", "linux"): []}
    for (name, _, table), frame in found.tables.items():
        if name == "short" and not frame.is_empty():
            mine = frame.filter(pl.col("algorithm") == "cubic+hystart")
            if table == "runs":
                untrusted = pl.col("run") > 0
                mine = mine.with_columns(
                    counts=~untrusted,
                    reasons=pl.when(untrusted).then(pl.lit("too late")).otherwise(None),
                )
            made.tables[name, "linux", table] = mine
    for stack in BOTH:
        made.verdicts += claims.judge(made.study.claims, made, stack)
    return made


def test_the_report_has_a_column_for_each_stack(both: Findings, tmp_path: Path) -> None:
    drawn.write(both, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    for head in ("simulated: measured", "linux: measured"):
        assert f"<th>{head}</th>" in page
    assert "<p>Left out on linux:</p>" in page
    assert "<li>named: the study runs it only in the simulator.</li>" in page
    assert "<li>short (cubic+standard, 1 MB): the kernel has none.</li>" in page
    assert "<li>short (cubic+hystart, 1 MB), run 1: too late</li>" in page
    # One image if a figure shows both stacks.
    assert (tmp_path / "out" / "time.png").exists()
    assert not (tmp_path / "out" / "time-linux.png").exists()
    assert (tmp_path / "out" / "distribution-linux.png").exists()
    on_linux = both.document()["stacks"][1]
    assert on_linux["counted"] == 1
    assert on_linux["left_out"]["the kernel has none"] == ["short (cubic+standard, 1 MB)"]


def test_figures_and_tables_have_both_stacks(both: Findings) -> None:
    drawings = {each.name: each for each in both.study.drawings}
    lines = figures.draw(both, drawings["time"], BOTH)
    assert lines is not None
    markers = [line.get_marker() for line in lines.axes[0].lines]
    # Two algorithms of one stack, one of the other, and the published value.
    assert sorted(map(str, markers)) == ["D", "o", "o", "s"]
    assert "simulated; " in lines.get_suptitle().replace("\n", " ")
    series = figures.draw(both, drawings["series"], BOTH)
    assert series is not None
    assert [axes.get_title() for axes in series.axes[:2]] == BOTH
    alone = figures.draw(both, drawings["series"], ["simulated"])
    assert alone is not None
    assert alone.axes[0].get_title() == ""
    time = dataclasses.replace(drawings["time"], kind="table")
    heads, rows = figures.table(both, time, BOTH)
    assert heads == [
        "size", "cubic+hystart, simulated", "cubic+hystart, linux", "cubic+standard, simulated",
    ]  # fmt: skip
    assert all(row[1] == row[2] for row in rows)


def test_a_study_without_runs_for_the_kernel_is_refused(command: Command, tmp_path: Path) -> None:
    made = tmp_path / "plain"
    made.mkdir()
    (made / "study.toml").write_text(STUDY)
    (made / "claims.toml").write_text(CLAIMS)
    (made / "README.md").write_text("Nothing.\n")
    (made / "analysis.py").write_text(MODULE)
    done = command("study", "plain", "--stack", "linux", "-o", "out")
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
    # Without permission to use the kernel, the message says that instead.
    assert "no experiment for the kernel" in done.stderr or "needs" in done.stderr


@pytest.mark.parametrize(
    ("flow", "seconds"),
    [("duration = '7 s'", 8.0), ("size = '50 MB'\nstart = '2 s'", 2 + 1 + 8.5 + 1)],
)
def test_the_time_of_a_kernel_run_is_estimated(flow: str, seconds: float) -> None:
    text = (
        f"path = {{ rate = '50 Mbit/s', rtt = '100 ms' }}\n[[flow]]\nalgorithm = 'cubic'\n{flow}\n"
    )
    assert real_time_s(Scenario.from_toml(text)) == pytest.approx(seconds)


def test_an_unknown_stack_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="there is no stack lunix; did you mean linux"):
        studies.load(folder).run(stacks=["lunix"])


def test_a_kernel_in_virtual_time_runs_what_the_kernel_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = studies.load(folder)
    assert study.experiments["short"].stacks == ("simulated", "linux", "linux-vm")
    assert study.experiments["named"].stacks == ("simulated",)
    monkeypatch.setattr(vm, "_current", lambda: None)
    with pytest.raises(InputError, match="--stack linux-vm needs"):
        study.run(tmp_path / "out", quick=True, stacks=["linux-vm"])
