"""Colours, intervals, number formats, and every figure from a small run."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import slowstart
from slowstart import plots, stats
from slowstart._native import median_interval
from slowstart.figures import canvas, colors, vector
from slowstart.figures.runs import facts
from slowstart.report import kinds, redraw, tables

NAMES = ["cubic+search", "reno+standard"]


def test_well_known_names_have_their_own_fixed_colours() -> None:
    known = ["cubic+hystart", "cubic+hystart++", "cubic+search", "cubic+standard", "bbr"]
    alone = {name: colors.styles([name])[name] for name in known}
    assert len({style.color for style in alone.values()}) == len(known)
    for size in range(1, len(known) + 1):
        for some in itertools.permutations([*known, "cubic+search:version=4.0"], size):
            assert all(colors.styles(some)[n] == alone[n] for n in some if n in alone)


def test_a_variant_never_has_the_colour_of_another_start_up() -> None:
    well_known = {*colors.BY_STARTUP.values(), *colors.BY_MONOLITHIC.values()}
    names = ["cubic+search:version=4.0", "cubic+hystart++:form=patch", "reno+suss:round=2"]
    assert not {each.color for each in colors.styles(names).values()} & well_known


def test_no_two_names_look_the_same() -> None:
    kin = [f"{avoidance}+standard" for avoidance in ("cubic", "reno", "bic", "westwood", "hybla")]
    assert len(set(colors.styles(kin).values())) == len(kin)
    names = [f"cubic+search:window={n}" for n in range(24)] + ["cubic+search", "reno+search", "bbr"]
    styles = colors.styles(names)
    assert len(set(styles.values())) == len(names)
    assert styles == colors.styles(reversed(names))


# Exits of 77 and 55 runs in Kachooei 2024.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(3, 77, 1.3, 10.8), (0, 77, 0.0, 4.8), (72, 77, 85.7, 97.2), (33, 55, 46.8, 71.9)],
)
def test_wilson_intervals(successes: int, trials: int, low: float, high: float) -> None:
    interval = stats.wilson(successes, trials)
    assert interval is not None
    assert [round(100 * end, 1) for end in interval] == [low, high]
    assert stats.wilson(0, 0) is None


def test_median_intervals_are_order_statistics() -> None:
    # Ranks (6, 15) of 20.
    assert median_interval([float(n) for n in range(1, 21)]) == (10.5, 6.0, 15.0)
    assert median_interval([3.0, 1.0]) == (2.0, None, None)
    assert median_interval([]) == (None, None, None)


def test_ecdf_steps() -> None:
    assert stats.ecdf([3.0, 1.0]) == ([1.0, 1.0, 3.0], [0.0, 0.5, 1.0])
    assert stats.ecdf([]) == ([], [])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.01234, "0.0123"), (9.999, "10.0"), (1234.5, "1234"), (14.55, "14.6")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert tables.number(value) in (text, "14.5")


def test_units() -> None:
    assert tables.rate(14.6e6) == "14.6 Mbit/s"
    assert tables.size(20_000_000) == "20.0 MB"
    assert tables.seconds(0.574) == "574 ms"
    assert tables.short("trace:../a/b.down,../a/b.up") == "b.down, b.up"
    assert tables.short("my-path") == "my-path"


def _texts(figure: object) -> str:
    import matplotlib.text

    found = figure.findobj(matplotlib.text.Text)  # type: ignore[attr-defined]
    joined = " | ".join(text.get_text() for text in found)
    return joined.replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")


def test_the_evolution_is_drawn(small: slowstart.Result, tmp_path: Path) -> None:
    columns = []
    for index, name in enumerate(NAMES):
        one = small.select(index)
        first = pl.col("run") == 0
        columns.append(
            plots.Evolution(
                name,
                pl.DataFrame(one.flows()).filter(first).to_dicts(),
                pl.DataFrame(one.flow_traces()).filter(first),
                pl.DataFrame(one.link_traces()).filter(first),
            )
        )
    path = json.loads(small.to_json())["scenario"]["scenarios"][0]["path"]
    known = facts(path)
    # 413 packets of 1448 bytes.
    assert known.bdp_payload_bytes == pytest.approx(413 * 1448, rel=0.002)
    figure = plots.evolution(known, columns, NAMES)
    texts = _texts(figure)
    for label in ("window (MB)", "RTT (ms)", "queue (packets)", "delivered (MB)", "time (s)"):
        assert label in texts
    for label in ("BDP", "BDP + buffer", "ssthresh", "first drop", "true capacity", "one run"):
        assert label in texts
    drawn = np.asarray(figure.axes[0].lines[0].get_ydata(), dtype=float)
    windows = columns[0].flow_traces["cwnd_bytes"]
    assert drawn.max() * 1e6 == pytest.approx(float(windows.to_numpy().max()))
    plots.save(figure, tmp_path, "evolution", png=True)
    assert (tmp_path / "evolution.svg").read_text().count("<path") > 50
    assert (tmp_path / "evolution.png").stat().st_size > 20_000


def test_distributions_and_exit_classes_are_drawn(small: slowstart.Result) -> None:
    flows = pl.DataFrame(small.flows())
    assert flows["segments_retransmitted"].sum() == 0
    figure = plots.distributions(flows.with_columns(segments_retransmitted=pl.col("run")), NAMES)
    texts = _texts(figure)
    assert "flow completion time (s)" in texts
    assert "retransmitted segments (%)" in texts
    assert "over 2 runs" in texts
    exits = plots.exit_shares(json.loads(small.to_json())["summary"], NAMES)
    texts = _texts(exits)
    assert "2 flows of each" in texts
    for kind in ("early", "chokepoint", "late", "percentage of flows"):
        assert kind in texts
    assert sum(bar.get_height() for bar in exits.axes[0].patches) == pytest.approx(200)  # type: ignore[attr-defined]


def test_completion_against_size_is_drawn() -> None:
    rows = [
        {
            "path": "wired", "name": name, "size_bytes": size, "median_s": size / 5e6 + 0.4,
            "low_s": size / 6e6 + 0.4, "high_s": size / 4e6 + 0.4, "ratio": 1.0, "ratio_low": 0.9,
            "ratio_high": 1.1,
        }
        for name in NAMES
        for size in (1e5, 1e6, 1e7)
    ]  # fmt: skip
    texts = _texts(plots.completion_by_size(pl.DataFrame(rows), NAMES, 20))
    for label in ("flow completion time (s)", "size (MB)", "ratio to cubic+search", "20 runs"):
        assert label in texts


def test_spikes_of_a_long_series_are_kept() -> None:
    values = np.ones(100_000)
    values[77_777] = 9.0
    values[12_345] = np.nan
    time, thinned = plots.thin(np.arange(100_000.0), values)
    assert len(time) <= 2 * canvas._VERTICES
    assert thinned[time == 77_777] == 9.0


def test_both_forms_of_a_figure_are_those_that_are_drawn_alone(small: slowstart.Result) -> None:
    figure = plots.exit_shares(json.loads(small.overview())["summary"], NAMES)
    with plots.styled():
        text, outlines = vector.both(figure)
        assert vector.with_text(figure) == text
        assert vector.outlined(figure) == outlines
    words = [each.text for each in ElementTree.fromstring(text).iter() if each.text]
    assert "early" in words
    assert b"<text" not in outlines
    ElementTree.fromstring(outlines)


def test_a_stacked_figure_has_one_column_of_labelled_panels(small: slowstart.Result) -> None:
    table = pl.DataFrame(small.flows()).with_columns(segments_retransmitted=pl.col("run"))
    other = table.with_columns(path=pl.lit("other"))
    figure = plots.distributions(pl.concat([table, other]), NAMES)
    before = [[line.get_xdata() for line in axes.lines] for axes in figure.axes]
    assert plots.stacked(figure) is figure
    assert len({round(axes.get_position().x0, 3) for axes in figure.axes}) == 1
    tops = [axes.get_position().y1 for axes in figure.axes]
    # The panels of the first path, then those of the second.
    assert [figure.axes[place] for place in (0, 2, 1, 3)] == [
        axes for _, axes in sorted(zip(tops, figure.axes, strict=True), key=lambda each: -each[0])
    ]
    for axes in figure.axes:
        assert axes.get_ylabel() == "CDF of flows"
        assert axes.yaxis.get_tick_params()["labelleft"]
    after = [[line.get_xdata() for line in axes.lines] for axes in figure.axes]
    assert all(
        a is b for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True)
    )
    assert len(figure.legends) == 1
    assert plots.stacked(figure) is None
    assert plots.outlined(figure) == plots.outlined(figure)


def test_the_kinds_of_figures_are_those_that_are_drawn_again() -> None:
    assert list(redraw.KINDS) == list(kinds.Kind)
    assert kinds.of("completion-by-size-2") == "completion"
    assert kinds.of("response-distributions") == "response-distributions"
    assert kinds.of("nodes-adhoc") is None
