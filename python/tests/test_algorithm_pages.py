"""The examples of the algorithms' pages: each command runs, and its figure shows what it does.

``SLOWSTART_SNAPSHOT=write pytest -k algorithm_pages`` draws the figures again.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import slowstart
from slowstart import _native
from slowstart.figures.canvas import wrapped

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "algorithms"
NAMES = [each["name"] for each in _native.algorithms()]
SECTIONS = ("Options", "Example", "What it does", "Deviations", "Conformance vectors")
# The picture, in pixels: the whole, and the panel in it.
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 300, 56, 34, 12, 42
COLORS = ("#767676", "#0b5fa5")
MOST_POINTS = 240
# Pixels: where the titles begin, how far apart they are, the width of a letter in wide fonts, and
# the height of a line. A longer title would end beyond the picture or in the other title.
TITLE, APART, LETTER, LINE = 6, 290, 7.2, 14
MOST_LETTERS = int(min(APART, WIDTH - RIGHT - LEFT - TITLE - APART) / LETTER)


def command(page: str) -> list[str]:
    """The words of a page's example."""
    found = re.search(r"```sh\n(slowstart compare .*)\n```", page)
    assert found is not None
    return shlex.split(found[1])


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_its_sections_in_order(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    found = [re.search(f"\n##+ {section}", page) for section in SECTIONS]
    places = [-1 if each is None else each.start() for each in found]
    assert min(places) > 0, [each for each, at in zip(SECTIONS, places, strict=True) if at < 0]
    assert places == sorted(places)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs_and_the_figure_shows_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = command((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    path, *_ = words[2:]
    algorithms = [words[at + 1] for at, word in enumerate(words) if word == "-a"]
    assert words[-2:] == ["--size", "10 MB"]
    scenarios = slowstart.compare(path, algorithms, size=words[-1])
    result = slowstart.run(scenarios, traces=True)
    assert isinstance(result, slowstart.Result)
    flows, traces = pl.DataFrame(result.flows()), pl.DataFrame(result.flow_traces())
    assert flows["fct_s"].null_count() == 0
    drawn = picture(algorithms, flows, traces)
    file = PAGES / "figures" / f"{name}.svg"
    if os.environ.get("SLOWSTART_SNAPSHOT") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn, f"{file.name} is stale: see this file's head"
    assert len(drawn) < 40_000


@pytest.mark.parametrize("name", NAMES)
def test_no_title_ends_beyond_the_picture(name: str) -> None:
    drawn = (PAGES / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    titles = re.findall(r'<(?:text|tspan) x="(\d+)" y="(?:12|18|26)"[^>]*>([^<]+)<', drawn)
    assert len(titles) >= 2
    for x, words in titles:
        end = WIDTH - RIGHT if int(x) > APART else LEFT + TITLE + APART
        assert int(x) + LETTER * len(words) <= end, words


def test_a_title_too_long_for_two_lines_is_refused() -> None:
    with pytest.raises(AssertionError, match="too long"):
        heading("cubic+" + "x" * (MOST_LETTERS + 1), 0, COLORS[0])


def test_no_figure_is_left_over() -> None:
    assert {each.stem for each in (PAGES / "figures").iterdir()} == set(NAMES)


def picture(algorithms: list[str], flows: pl.DataFrame, traces: pl.DataFrame) -> str:
    """The windows over time as SVG: a step line for each flow, and a dot where slow start ends."""
    rows = list(flows.iter_rows(named=True))
    lines = [windows(traces, row) for row in rows]
    end = ceiling(max(line[-1][0] for line in lines))
    most = ceiling(max(value for line in lines for _, value in line))

    def x(time: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * time / end:.1f}"

    def y(kilobytes: float) -> str:
        return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * kilobytes / most:.1f}"

    style = 'font-family="sans-serif" font-size="12" fill="#767676"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>']
    for part in range(5):
        time, value = end * part / 4, most * part / 4
        parts.append(
            f'<path d="M{LEFT} {y(value)}H{WIDTH - RIGHT}" stroke="#76767640" fill="none"/>'
            f'<text x="{LEFT - 6}" y="{y(value)}" dy="4" text-anchor="end">{value:g}</text>'
            f'<text x="{x(time)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{time:g}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) // 2
    upright = f"translate(14 {(TOP + HEIGHT - BOTTOM) // 2}) rotate(-90)"
    parts += [
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">time (s)</text>',
        f'<text transform="{upright}" text-anchor="middle">congestion window (kB)</text>',
    ]
    for place, (algorithm, line, row) in enumerate(zip(algorithms, lines, rows, strict=True)):
        color, width = COLORS[place], (3.5, 1.5)[place]  # lines that coincide stay visible
        steps = f"M{x(line[0][0])} {y(line[0][1])}" + "".join(
            f"H{x(time)}V{y(value)}" for time, value in line[1:]
        )
        parts.append(f'<path d="{steps}" stroke="{color}" stroke-width="{width}" fill="none"/>')
        if row["exit_s"] is not None:
            window = row["exit_cwnd_bytes"] / 1000
            parts.append(f'<circle cx="{x(row["exit_s"])}" cy="{y(window)}" r="4" fill="{color}"/>')
        parts.append(heading(algorithm, LEFT + TITLE + place * APART, color))
    return "\n".join([*parts, "</svg>"]) + "\n"


def heading(algorithm: str, x: int, color: str) -> str:
    """The name of an algorithm above the panel, in two lines if one does not hold it."""
    lines = wrapped(algorithm, MOST_LETTERS).split("\n")
    assert len(lines) <= 2, f"{algorithm} is too long for a title"
    assert max(map(len, lines)) <= MOST_LETTERS, f"{algorithm} has too long a part for a title"
    if len(lines) == 1:
        return f'<text x="{x}" y="18" fill="{color}">{algorithm}</text>'
    spans = "".join(
        f'<tspan x="{x}" y="{12 + LINE * place}">{each}</tspan>' for place, each in enumerate(lines)
    )
    return f'<text fill="{color}">{spans}</text>'


def windows(traces: pl.DataFrame, row: dict[str, Any]) -> list[tuple[float, float]]:
    """The window after each change, thinned to the least and the most of each part of the time."""
    mine = traces.filter(pl.col("name") == row["name"]).sort("time_s", maintain_order=True)
    points = list(zip(mine["time_s"].to_list(), (mine["cwnd_bytes"] / 1000).to_list(), strict=True))
    edges = [len(points) * part // (MOST_POINTS // 2) for part in range(MOST_POINTS // 2 + 1)]
    kept = {0, len(points) - 1}
    for low, high in pairwise(edges):
        part = range(low, high)
        if part:
            kept |= {
                min(part, key=lambda at: points[at][1]),
                max(part, key=lambda at: points[at][1]),
            }
    return [points[at] for at in sorted(kept)]


def ceiling(value: float) -> float:
    """The next number of one digit, or of one and a half, at or above ``value``."""
    scale = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 1.0
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10)
    return next(scale * each for each in steps if scale * each >= value)
