"""Everything drawn in a study's figures lies inside the axes and is legible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slowstart import studies
from slowstart.studies import figures

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from slowstart.studies.findings import Findings

STUDY = """
title = "A small study"
document = "none"
summary = "Two start-ups over a near path and a far one."
minutes = { full = 0.1, quick = 0.1 }

[[experiment]]
name = "short"
about = "Two networks, two sizes."
runs = 2
traces = 1
scenario = { path = { preset = "wired" }, flow = [{ algorithm = "cubic" }] }

[experiment.grid.network]
near = { path = { rtt = "10 ms" } }
far = { path = { rtt = "300 ms" } }

[experiment.grid]
"flow.algorithm" = ["cubic+hystart", "cubic+hystart++:form=patch"]
"flow.size" = ["200 kB", "1 MB", "2 MB"]
"""

FIGURE = """
[[figure]]
name = "time"
title = "Time"
where = "nowhere"
caption = "Medians."
experiment = "short"
label = "time (ms)"
metric = "1000 * fct_s"
columns = "network"
"""

KINDS = {
    "points": 'kind = "points"\nx = "algorithm"\nseries = "size"',
    "own x": 'kind = "points"\nx = "algorithm"\nseries = "algorithm"\nselect = { size = "1 MB" }',
    "lines": 'kind = "lines"\nx = "size"\nseries = "algorithm"',
    "log": 'kind = "lines"\nx = "size"\nseries = "algorithm"\nlog = "both"',
    "share": 'kind = "points"\nx = "algorithm"\nseries = "size"\nstatistic = "share"',
    "ecdf": 'kind = "ecdf"\nseries = "algorithm"',
    "known": 'kind = "ecdf"\npublished = [{ network = "near", value = 9, share = 0.8 }]',
    "evolution": 'kind = "evolution"\nseries = "network"\nselect = { size = "2 MB" }\nuntil = 0.5',
}


def run_study(folder: Path, output: Path | None = None) -> Findings:
    """A study with a figure of each kind; ``output`` receives its page."""
    text = STUDY
    for name, lines in KINDS.items():
        part = FIGURE.replace('"time"', f'"{name}"') + lines + "\n"
        if name == "share":
            part = part.replace("1000 * fct_s", "fct_s > 1")
        if name == "evolution":
            part = part.replace('label = "time (ms)"\nmetric = "1000 * fct_s"\n', "")
        text += part
    (folder / "study.toml").write_text(text)
    (folder / "claims.toml").write_text("")
    (folder / "README.md").write_text("Nothing.\n")
    return studies.load(folder).run(output)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    findings = run_study(tmp_path_factory.mktemp("figures"))
    made = {}
    for drawing in findings.study.drawings:
        figure = figures.draw(findings, drawing, findings.stacks)
        assert figure is not None
        made[drawing.name] = figure
    return made


@pytest.mark.parametrize("name", [each for each in KINDS if each != "evolution"])
def test_everything_lies_inside_its_axes(drawn: dict[str, Figure], name: str) -> None:
    # Flows take thirty times as long on the far path as on the near one, the first panel.
    for axes in drawn[name].axes:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        data = axes.dataLim
        assert left <= data.x0 <= data.x1 <= right
        # A distribution rises vertically at its smallest value.
        assert bottom <= data.y0 <= data.y1 <= top


def test_axes_begin_at_zero_and_fractions_end_at_one(drawn: dict[str, Figure]) -> None:
    assert drawn["points"].axes[0].get_ylim()[0] == 0
    bottom, top = drawn["share"].axes[0].get_ylim()
    assert bottom == 0
    assert 1 <= top < 1.1


def test_logarithmic_axes_have_plain_numbers(drawn: dict[str, Figure]) -> None:
    figure = drawn["log"]
    for axes in figure.axes:
        assert [each.get_text() for each in axes.get_xticklabels()] == ["0.2", "1", "2"]
        assert not any(each.get_text() for each in axes.get_xticklabels(minor=True))
    labels = [each.get_text() for each in figure.axes[0].get_yticklabels()]
    assert {"100", "200", "500", "1000"} <= set(labels)


def test_a_legend_repeats_no_title_or_axis_label(drawn: dict[str, Figure]) -> None:
    # The axis names the algorithms, the panels' titles the networks.
    assert not drawn["own x"].legends
    assert not drawn["evolution"].legends
    assert drawn["points"].legends


def test_data_beyond_the_end_do_not_stretch_an_axis(drawn: dict[str, Figure]) -> None:
    for axes in drawn["evolution"].axes:
        assert axes.dataLim.x1 <= 0.5


def test_titles_are_above_the_first_row_only_and_state_the_runs(drawn: dict[str, Figure]) -> None:
    for name, figure in drawn.items():
        title = figure.get_suptitle().replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")
        assert "each)" in title, name
        titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
        assert titles == ["near", "far"], name
