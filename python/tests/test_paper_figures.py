"""Figures for papers: formats, widths, labels, themes, and drawing saved results again."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import re
import struct
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from matplotlib.figure import Figure

import slowstart
from slowstart import InputError, figure_style, labels, plots
from slowstart.figures import canvas
from slowstart.figures import theme as figure_theme

if TYPE_CHECKING:
    from conftest import Command


def _flows() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "path": path, "name": name, "run": run, "fct_s": 1.0 + run, "goodput_bps": 1e6,
                "segments_retransmitted": run, "segments_sent": 100,
            }
            for path in ("near", "far", "farther")
            for name in ("cubic", "reno")
            for run in range(3)
        ]
    )  # fmt: skip


def _draw(look: figure_style.Look) -> Figure:
    with figure_style.using(look):
        return plots.distributions(_flows(), ["cubic", "reno"])


def test_a_narrow_figure_has_its_panels_in_one_column() -> None:
    figure = _draw(figure_style.Look(width_in=3.3))
    assert figure.get_figwidth() == pytest.approx(3.3)
    lefts = {round(axes.get_position().x0, 2) for axes in figure.axes}
    assert len(figure.axes) == 6
    assert max(lefts) - min(lefts) < 0.03
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["near", "far", "farther"]
    boxes = sorted((axes.get_position() for axes in figure.axes), key=lambda box: box.y0)
    assert all(low.y1 < high.y0 for low, high in pairwise(boxes))


def test_axis_labels_of_a_narrow_figure_are_no_longer_than_their_panels() -> None:
    rows = [
        {
            "path": path, "name": "cubic", "size_bytes": size, "median_s": size / 1e6,
            "low_s": None, "high_s": None, "ratio": 1.0, "ratio_low": None, "ratio_high": None,
        }
        for path in ("near", "far", "farther")
        for size in (1e5, 1e6)
    ]  # fmt: skip
    with figure_style.using(figure_style.Look(width_in=3.3)):
        figure = plots.completion_by_size(pl.DataFrame(rows), ["cubic"], 3)
    for axes in figure.axes:
        label = axes.yaxis.label.get_window_extent()
        assert label.height < 1.05 * axes.get_window_extent().height


def test_without_a_width_panels_lie_side_by_side() -> None:
    figure = _draw(figure_style.Look())
    assert figure.get_figwidth() == pytest.approx(0.8 + 3.1 * 3)
    assert len({round(axes.get_position().x0, 2) for axes in figure.axes}) == 3


def test_text_remains_text_and_files_hold_no_date(tmp_path: Path) -> None:
    look = figure_style.Look(formats=("pdf", "svg", "png"), width_in=3.3)
    figure = _draw(look)
    with figure_style.using(look):
        made = plots.write(figure, tmp_path, "one")
        first = [hashlib.sha256(each.read_bytes()).hexdigest() for each in made]
        again = plots.write(_draw(look), tmp_path, "two")
    assert [hashlib.sha256(each.read_bytes()).hexdigest() for each in again] == first
    pdf, svg, png = (each.read_bytes() for each in made)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    assert ">CDF of flows</text>" in svg.decode()
    assert "sans-serif" in svg.decode()
    assert "dc:date" not in svg.decode()
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(3.3 * 300, abs=1)
    assert b"<text" not in plots.outlined(figure)


@pytest.mark.parametrize(
    ("text", "inches"), [("3.3in", 3.3), ("8.4 cm", 8.4 / 2.54), ("84mm", 84 / 25.4)]
)
def test_widths_have_units(text: str, inches: float) -> None:
    assert figure_style.width(text) == pytest.approx(inches)


@pytest.mark.parametrize("text", ["3.3", "in", "3,3in", "-3in", "1mm", "1e3in", "999cm"])
def test_other_widths_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--width "):
        figure_style.width(text)


def test_formats_are_repeatable_and_separated_by_commas() -> None:
    assert figure_style.formats(["pdf,svg", "PDF"]) == ("pdf", "svg")
    assert figure_style.formats([]) == figure_style.USUAL
    for wrong in ("gif", "", "pdf,"):
        with pytest.raises(InputError, match="use pdf, svg or png"):
            figure_style.formats([wrong])


def test_a_comparison_writes_the_formats_only_and_its_report_shows_all(
    command: Command, path_file: Path
) -> None:
    arguments = ("compare", str(path_file), "-a", "cubic", "--size", "500kB", "-q")
    done = command(*arguments, "-o", "out", "--format", "pdf", "--width", "3.3in")
    assert done.stderr == ""
    folder = path_file.parent / "out"
    pictures = {each.suffix for each in folder.iterdir()} & {".pdf", ".svg", ".png"}
    assert pictures == {".pdf"}
    page = (folder / "report.html").read_text()
    assert len(re.findall("data:image/svg", page)) == len(list(folder.glob("*.pdf")))


def test_formats_need_a_folder(command: Command, path_file: Path) -> None:
    for option in (("--format", "pdf"), ("--width", "3in")):
        done = command("compare", str(path_file), "-a", "cubic", *option)
        assert done.returncode == 2
        assert done.stderr == f"slowstart: {option[0]} is for figures: write a folder, -o DIR\n"


@pytest.fixture
def random_path(path_file: Path) -> Path:
    """The small path with jitter: where nothing is random, runs have no distribution."""
    with path_file.open("a") as file:
        file.write('jitter = "1 ms"\n')
    return path_file


def test_a_label_replaces_the_name_everywhere(command: Command, random_path: Path) -> None:
    names = ("-a", "Our own=cubic+search:threshold=30", "-a", "reno+standard")
    settings = ("--size", "500kB", "-n", "2", "-o", "out", "--format", "svg")
    done = command("compare", str(random_path), *names, *settings)
    assert done.stderr == ""
    shown = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert {"Our own", "reno+standard"} <= set(shown)
    assert "cubic+search:threshold=30 " not in done.stdout
    folder = random_path.parent / "out"
    document = json.loads((folder / "result.json").read_text())
    assert {row["name"] for row in document["summary"]} == {"Our own", "reno+standard"}
    assert {flow["name"] for run in document["runs"] for flow in run["flows"]} == {
        "Our own", "reno+standard",
    }  # fmt: skip
    first = document["scenario"]["scenarios"][0]["flows"][0]
    assert first["name"] == "Our own"
    assert first["algorithm"].startswith("cubic+search:")
    flows = pl.read_parquet(folder / "flows.parquet")
    assert set(flows["name"]) == {"Our own", "reno+standard"}
    assert set(pl.read_csv(folder / "exit_cost.csv")["name"]) == {"Our own", "reno+standard"}
    for figure in ("evolution-small", "distributions", "completion-by-size", "exit-shares"):
        assert ">Our own</text>" in (folder / f"{figure}.svg").read_text(), figure
    page = (folder / "report.html").read_text()
    assert "<h1>Our own, reno+standard over small</h1>" in page
    assert "Labels: Our own is cubic+search:threshold=30." in page


def test_labels_change_no_measurement(command: Command, path_file: Path) -> None:
    arguments = ("compare", str(path_file), "--size", "500kB", "--json", "-n", "2")
    plain = json.loads(command(*arguments, "-a", "reno", "-a", "cubic").stdout)
    named = command(*arguments, "-a", "A=reno", "-a", "cubic").stdout
    assert json.loads(named.replace('"A"', '"reno+standard"')) == plain


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["=cubic"], "`=cubic` has an empty label: write LABEL=ALGORITHM"),
        (["A=cubic", "A=reno"], "the label A is given twice: give each algorithm its own"),
        (
            ["reno+standard=cubic", "reno"],
            "the label reno+standard of cubic+hystart is another algorithm's name",
        ),
    ],
)
def test_invalid_labels_are_refused(
    command: Command, path_file: Path, names: list[str], sentence: str
) -> None:
    given = [word for name in names for word in ("-a", name)]
    done = command("compare", str(path_file), *given, "--size", "100kB", "-o", "out")
    assert (done.returncode, done.stderr) == (2, f"slowstart: {sentence}\n")
    assert not (path_file.parent / "out").exists()


def test_saved_results_are_drawn_again_with_the_same_bytes(
    command: Command, random_path: Path
) -> None:
    names = ("-a", "A b=cubic+search", "-a", "reno")
    made = command(
        "compare", str(random_path), *names, "--size", "500kB", "-n", "2", "-o", "out", "--traces"
    )
    assert made.stderr == ""
    folder = random_path.parent
    kinds = ("evolution", "completion", "distributions", "exit-shares", "exit-cost")
    done = command("plot", "out", *kinds, "-o", "again")
    assert done.stderr == ""
    files = [line.removeprefix("again/") for line in done.stdout.splitlines()]
    assert len(files) == len(kinds)
    for file in files:
        assert (folder / "again" / file).read_bytes() == (folder / "out" / file).read_bytes(), file
    done = command("plot", "out", "exit-shares", "-o", "paper", "--format", "pdf", "--width", "3in")
    assert done.stdout == "paper/exit-shares.pdf\n"


def test_a_height_without_room_for_the_labels_is_refused(tmp_path: Path) -> None:
    with figure_style.using(figure_style.Look(height_in=2.0)):
        figure = canvas.new_figure(6.0, 6.0)
        for axes in figure.subplots(6, 1):
            axes.set_ylabel("completion time (s)")
        with pytest.raises(InputError, match="--height 2in leaves the labels of the axes no room"):
            canvas.write(figure, tmp_path, "low")


def test_plot_draws_what_it_is_asked_for(command: Command, path_file: Path) -> None:
    names = ("-a", "A=cubic+search", "-a", "reno+standard", "-a", "cubic+standard")
    made = command("compare", str(path_file), "wired", *names, "--size", "200kB", "-o", "out", "-q")
    assert made.stderr == ""
    given = ("plot", "out", "distributions")
    chosen = ("--paths", "small", "--algorithms", "A,reno+standard", "--height", "4in")
    done = command(*given, *chosen, "--width", "3.3in", "-o", "some")
    assert done.stderr == ""
    picture = (path_file.parent / "some" / "distributions.svg").read_text()
    assert ">A</text>" in picture
    assert ">cubic+standard</text>" not in picture
    assert ">wired</text>" not in picture
    assert 'height="288pt"' in picture
    for option, word, known in (
        ("--paths", "geo", "small, wired"),
        ("--algorithms", "B", "A, reno+standard, cubic+standard"),
    ):
        done = command(*given, option, word, "-o", "none")
        assert done.returncode == 2
        assert done.stderr == f"slowstart: {option} {word}: the result has {known}\n"
    assert not (path_file.parent / "none").exists()


def test_classes_keep_their_names() -> None:
    assert labels.shortened(["cubic+__main__:Cautious:percent=5", "__main__:Rise+hystart"]) == {
        "cubic+__main__:Cautious:percent=5": "cubic+Cautious:percent=5",
        "__main__:Rise+hystart": "Rise+hystart",
    }
    long = "mine:Cautious:percent=5+search:version=4.0"
    assert labels.shortened([long]) == {long: "mine:Cautious+search"}


def test_a_class_of_a_notebook_stands_in_the_legend() -> None:
    flows = pl.DataFrame(
        {
            "name": ["__main__:Rise+hystart"] * 2,
            "path": ["wired"] * 2,
            "run": [0, 1],
            "fct_s": [1.0, 2.0],
            "goodput_bps": [1e6, 2e6],
            "segments_sent": [10, 10],
            "segments_retransmitted": [0, 1],
        }
    )
    figure = plots.distributions(flows, ["__main__:Rise+hystart"])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Rise+hystart"]


def test_the_functions_of_the_guide_return_matplotlib_figures() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "python.md").read_text()
    named = re.findall(r"^\| `plots\.(\w+)`", guide, re.MULTILINE)
    assert len(named) >= 6
    for name in named:
        assert inspect.signature(getattr(plots, name)).return_annotation == "Figure", name
    assert isinstance(plots.new_figure(3, 2), Figure)
    sweep = slowstart.sweep(
        {
            "scenario": {
                "path": {"rtt": "20 ms", "buffer": "1 bdp"},
                "flow": [{"algorithm": "cubic", "size": "100 kB"}],
            },
            "grid": {"path.rate": ["10 Mbit/s", "20 Mbit/s", "50 Mbit/s"]},
        }
    )
    assert sweep.figures()
    assert all(isinstance(each, Figure) for each in sweep.figures().values())


def test_long_names_are_shortened() -> None:
    long = "cubic+search:exit=drain,threshold=30"
    assert labels.shortened(["cubic+search", long]) == {
        "cubic+search": "cubic+search", long: "cubic+search (2)",
    }  # fmt: skip
    assert labels.shortened(["reno+standard", long])[long] == "cubic+search"
    assert canvas.wrapped("ratio to cubic+search", 11) == "ratio to\ncubic+\nsearch"
    assert canvas.wrapped("ratio to cubic+search", 12) == "ratio to\ncubic+search"


def test_figures_without_data_are_refused(command: Command, path_file: Path) -> None:
    scenario = path_file.read_text() + '[[flow]]\nalgorithm = "reno"\nsize = "200 kB"\n'
    path_file.with_name("scenario.toml").write_text(scenario)
    made = command("run", "scenario.toml", "-o", "out", "-q")
    assert made.stderr == ""
    for words, sentence in (
        (
            ("out", "evolution"),
            (
                "out has no flow_traces.parquet: make the result with --traces, which keeps the "
                "time series"
            ),
        ),
        (
            ("out", "completion"),
            (
                "out has no completion_by_size.csv: only simulated comparisons (slowstart "
                "compare) have it"
            ),
        ),
        (
            ("out", "exit-cost"),
            (
                "out has no exit_cost.csv: only simulated comparisons of transfers (slowstart "
                "compare --size) have it"
            ),
        ),
        (
            ("none", "evolution"),
            "none is not the folder of a result: write one with compare or run, -o DIR",
        ),
    ):
        done = command("plot", *words, "-o", "paper")
        assert (done.returncode, done.stderr) == (2, f"slowstart: {sentence}\n")
    unknown = command("plot", "out", "distributions", "pie", "-o", "paper")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("slowstart: there is no figure 'pie': use evolution, ")
    assert not (path_file.parent / "paper").exists()


THEME = """
font = "DejaVu Serif"
font_size = 7
line_width = 0.8
title = false

[colors]
cubic = "#cc0000"
"""


def test_a_theme_chooses_colours_font_sizes_and_lines(tmp_path: Path) -> None:
    (tmp_path / "theme.toml").write_text(THEME)
    theme = figure_theme.read(tmp_path / "theme.toml")
    figure = _draw(figure_style.Look(width_in=3.3, theme=theme))
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert lines["cubic"].get_color() == "#cc0000"
    assert lines["reno"].get_color() != "#cc0000"
    plain = {line.get_label(): line for line in _draw(figure_style.Look()).axes[0].lines}
    for name, line in lines.items():
        assert line.get_linewidth() == pytest.approx(plain[name].get_linewidth() * 0.8 / 1.4)
    label = figure.axes[0].yaxis.label
    assert label.get_fontsize() == pytest.approx(7)
    assert label.get_fontfamily()[0] == "DejaVu Serif"
    assert figure.get_suptitle() == ""
    # It holds within its block only.
    after = {
        line.get_label(): line.get_color() for line in _draw(figure_style.Look()).axes[0].lines
    }
    assert after == {name: line.get_color() for name, line in plain.items()}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("font_size = 8\n\nfont_siz = 7", "3: unknown key 'font_siz'; did you mean font_size?"),
        ("pie = 1", "1: unknown key 'pie' (known: font, font_size, line_width, title, colors)"),
        ("[colors]\nx = 'red'", "2: the colour of 'x' is not of the form #rrggbb"),
        ("colors = 3", '1: colors is a table: [colors], then "label" = "#rrggbb"'),
        ("font = 'Nope'", "1: the font 'Nope' is not installed on this machine"),
        ("font = 3", "1: font is the name of a font"),
        ("font_size = 99", "1: font_size is out of range: 4 to 24 points"),
        ("line_width = true", "1: line_width is a number of points"),
        ("line_width = nan", "1: line_width is out of range: 0.2 to 6 points"),
        ("title = 1", "1: title is true or false"),
    ],
)
def test_invalid_themes_are_refused_with_their_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "theme.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        figure_theme.read(file)
    assert str(caught.value) == f"{file}:{sentence}"


def test_a_theme_colours_the_tables_of_the_report(command: Command, path_file: Path) -> None:
    path_file.with_name("theme.toml").write_text('[colors]\nOurs = "#12ab34"\n')
    arguments = ("compare", str(path_file), "-a", "Ours=cubic", "--size", "200kB", "-q")
    assert command(*arguments, "-o", "out", "--theme", "theme.toml").stderr == ""
    page = (path_file.parent / "out" / "report.html").read_text()
    assert 'style="background:#12ab34"' in page
    refused = command(*arguments, "--theme", "theme.toml")
    assert refused.returncode == 2
    assert refused.stderr == "slowstart: --theme is for figures: write a folder, -o DIR\n"


def test_panels_of_a_report_lie_below_each_other_on_a_phone(
    command: Command, path_file: Path
) -> None:
    arguments = ("compare", str(path_file), "-a", "cubic", "-a", "reno", "--size", "200kB", "-q")
    assert command(*arguments, "-o", "out").stderr == ""
    page = (path_file.parent / "out" / "report.html").read_text()
    pictures = re.findall(r"<picture>(.*?)</picture>", page)
    narrow = [each for each in pictures if 'media="screen and (max-width: 46rem)"' in each]
    # Only the evolution has panels side by side: one path, two algorithms.
    assert ["evolution" in each.split("alt=")[1] for each in narrow] == [True]
    assert len(pictures) > 3
    sizes = []
    for source in re.findall(r"base64,([^\"]+)", narrow[0]):
        svg = base64.b64decode(source).decode()
        found = re.search(
            r'width="([\d.]+)pt" height="([\d.]+)pt"|viewBox="0 0 ([\d.]+) ([\d.]+)"', svg
        )
        assert found is not None
        width, height = (float(each) for each in found.groups() if each is not None)
        sizes.append(height / width)
    # Two columns of together 6.9 inches become one of 5 inches, twice as high.
    assert sizes[0] == pytest.approx(2 * sizes[1] * 6.9 / 5, rel=0.01)
