"""Pages fit a laptop and a phone, and have contents; needs Chromium."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from browser import CHROMIUM, widths
from test_figures import run_study
from test_overlaps_elsewhere import CAPTURE
from test_overlaps_every import Scores

from slowstart.evaluation import page as scorecard
from slowstart.evaluation import scores, table
from slowstart.report.page import render, with_contents

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine (apt install chromium)"
)


def assert_fits(page: Path, scratch: Path) -> None:
    for width, (wide, _, over) in widths(page, scratch, (1280, 390)).items():
        assert wide <= width, f"{page.name} is {wide} pixels wide on {width}: {over}"


@needs_browser
def test_a_comparison_fits_both_screens(command: Command, path_file: Path, tmp_path: Path) -> None:
    names = ("-a", "cubic+search:threshold=30,exit=drain", "-a", "cubic+hystart++", "-a", "bbr")
    words = (str(path_file), "lte", *names, "--size", "200kB", "-n", "6", "-o", "out", "-q")
    assert command("compare", *words).stderr == ""
    assert_fits(path_file.parent / "out" / "report.html", tmp_path)


@needs_browser
def test_a_sweep_of_long_values_fits_both_screens(tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    values = ", ".join(f"cubic+search:threshold={each},exit=drain" for each in range(26, 36))
    made = render(
        "sweep.html.j2", version="1", title="x", points="1 point", runs="1 run", seed=1, notes=[],
        keys=[("flow.algorithm", "algorithm", values)], figures=[], heads=["a"] * 9,
        rows=[["1.23 [1.2, 1.3]"] * 9], more=False, text="x" * 300,
    )  # fmt: skip
    page.write_text(made, encoding="utf-8")
    assert_fits(page, tmp_path)


@needs_browser
def test_a_study_fits_both_screens(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    run_study(tmp_path / "study", tmp_path / "out")
    assert_fits(tmp_path / "out" / "report.html", tmp_path)


@needs_browser
def test_a_scorecard_fits_both_screens(tmp_path: Path) -> None:
    known = table.read()
    names = ["cubic+search:threshold=30,exit=drain", "cubic+hystart", "reno", "bbr"]
    rows = [row for each in known.criteria for row in each.rows]
    reader: Any = Scores()
    values = {row: {name: reader.value(row, name) for name in names} for row in rows}
    card = scores.Card(known, names[0], tuple(names[1:]), True, values)
    text = scorecard.write(tmp_path, card, reader, "slowstart evaluate x --quick", None)
    (tmp_path / "scorecard.html").write_text(text, encoding="utf-8")
    assert_fits(tmp_path / "scorecard.html", tmp_path)


@needs_browser
def test_the_page_of_a_capture_fits_both_screens(command: Command, tmp_path: Path) -> None:
    assert command("analyze", str(CAPTURE), "-o", str(tmp_path / "out")).returncode == 0
    (page,) = (tmp_path / "out").glob("*.html")
    assert_fits(page, tmp_path)


def test_contents_name_every_section_and_lead_there() -> None:
    page = with_contents(
        '<h1>T</h1><h2 id="a">A <em>b</em></h2><section class="panel" id="figure-f"><strong>F'
        "</strong></section><h2>All paths</h2><h2>All paths</h2>"
    )
    found = re.findall(r'<a href="#([^"]+)">(.*?)</a>', page)
    assert found == [
        ("a", "A b"), ("figure-f", "F"), ("all-paths", "All paths"), ("all-paths-2", "All paths"),
    ]  # fmt: skip
    for name, _ in found:
        assert page.count(f'id="{name}"') == 1
    assert "<nav" not in with_contents("<h1>T</h1><h2>One</h2>")
