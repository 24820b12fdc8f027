"""The figures of a census: reasons, times and windows of the exits, and groups of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from slowstart import plots
from slowstart.analysis.census import EXITS, REASONS
from slowstart.figures import colors
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {
    "loss": colors.VERMILLION,
    "ecn": colors.PURPLE,
    "heuristic": colors.BLUE,
    "receiver-limited": colors.ORANGE,
    "application-limited": colors.GREEN,
    "completed": colors.SKY_BLUE,
    "cannot-tell": colors.GREY,
}
_MARKERS = dict(zip(REASONS, "os^DvP.", strict=True))
INTERVALS = "95 % Wilson intervals"


def draw(summary: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each; those without data are left out."""
    if not summary["with_data"]["connections"]:
        return
    yield "reasons", reasons(summary)
    if summary["exits"]:
        yield "exits", exits(summary)
    yield "groups", groups(summary)


def _of_all(summary: Mapping[str, Any]) -> str:
    count: int = summary["with_data"]["connections"]
    return f"{count:,} connections with data"


def _bars(axes: Axes, shares: Mapping[str, Any], filling: Mapping[str, str]) -> None:
    for place, (name, share) in enumerate(shares.items()):
        percentage = 100 * share["fraction"]
        low, high = (100 * end for end in share["ci95"])
        axes.barh(place, percentage, 0.7, color=filling.get(name, colors.GREY))
        error = [[max(0.0, percentage - low)], [max(0.0, high - percentage)]]
        axes.errorbar(percentage, place, xerr=error, fmt="none", ecolor="#333333", elinewidth=1,
                      path_effects=plots.OUTLINE)  # fmt: skip
        axes.annotate(f"{percentage:.3g} %", (high, place), xytext=(4, 0),
                      textcoords="offset points", va="center", fontsize="small")  # fmt: skip
    axes.set_yticks(range(len(shares)), list(shares), fontsize="small")
    axes.set_ylim(max(len(shares), 1) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.25 * max([100 * share["ci95"][1] for share in shares.values()] or [1]))
    axes.set_xlabel("percentage of connections with data")


def reasons(summary: Mapping[str, Any]) -> Figure:
    """Percentages of the reasons, and of why the analysis cannot tell, with intervals."""
    why = summary["cannot_tell"]
    with plots.styled():
        figure, (grid,) = plots.panels(9.6, 3.8, 1, 2 if why else 1)
        _bars(grid[0], summary["with_data"]["reasons"], COLORS)
        grid[0].set_title("why slow start ended, or did not", fontweight="bold")
        if why:
            _bars(grid[1], why, {})
            grid[1].set_title("cannot-tell, by cause", fontweight="bold")
        return plots.finish(figure, f"Slow start of {_of_all(summary)}, {INTERVALS}")


def exits(summary: Mapping[str, Any]) -> Figure:
    """CDFs of time and window of the exits, by reason."""
    found = summary["exits"]
    with plots.styled():
        figure, (grid,) = plots.panels(9.6, 3.8, 1, 2, sharey="all")
        labels = (("time_bins", 1.0, "time of the exit (s)"),
                  ("cwnd_bins", 1e3, "congestion window at the exit (kB)"))  # fmt: skip
        for axes, (key, unit, label) in zip(grid, labels, strict=True):
            for reason in EXITS:
                if reason not in found:
                    continue
                edges, counts = np.array(found[reason][key]).T
                steps = 100 * np.cumsum(counts) / counts.sum()
                values = np.concatenate(([edges[0]], edges)) / unit
                axes.plot(values, np.concatenate(([0], steps)), drawstyle="steps-post",
                          color=COLORS[reason], linewidth=1.6)  # fmt: skip
            axes.set_xscale("log")
            plots.plain_log(axes.xaxis)
            axes.set_xlabel(label)
            axes.set_ylim(0, 100)
        plots.label_left(grid, "percentage of exits")
        counts = summary["with_data"]["reasons"]
        handles = [
            Line2D([], [], color=COLORS[each],
                   label=f"{each} ({counts[each]['connections']:,})")
            for each in EXITS if each in found
        ]  # fmt: skip
        plots.legend(figure, handles)
        return plots.finish(figure, f"Slow-start exits of {_of_all(summary)}")


def groups(summary: Mapping[str, Any]) -> Figure:
    """Percentages of the reasons in groups of the smallest RTT and of the size."""
    with plots.styled():
        figure, (grid,) = plots.panels(11.0, 4.2, 1, 2, sharey="all")
        by_rtt, by_size = summary["by_rtt_ms"], summary["by_size_bytes"]
        _draw_groups(grid[0], by_rtt, lambda value: tables.seconds(value / 1e3, 1))
        grid[0].set_xlabel("smallest RTT")
        _draw_groups(grid[1], by_size, lambda value: tables.size(value, 1))
        grid[1].set_xlabel("payload of the connection")
        plots.label_left(grid, "percentage of the group")
        shown = [
            each for each in REASONS
            if summary["with_data"]["reasons"][each]["connections"]
        ]  # fmt: skip
        handles = [
            Line2D([], [], color=COLORS[each], marker=_MARKERS[each], label=each) for each in shown
        ]
        plots.legend(figure, handles)
        return plots.finish(figure, f"Slow start of {_of_all(summary)}, {INTERVALS}")


def _draw_groups(axes: Axes, rows: Sequence[Mapping[str, Any]], text: Any) -> None:
    present = [
        reason for reason in REASONS
        if any(row["reasons"][reason]["connections"] for row in rows)
    ]  # fmt: skip
    for number, reason in enumerate(present):
        shares = [row["reasons"][reason] for row in rows]
        values = np.array([100 * share["fraction"] for share in shares])
        low = values - [100 * share["ci95"][0] for share in shares]
        high = [100 * share["ci95"][1] for share in shares] - values
        # Side by side, so that no interval covers another.
        places = np.arange(len(rows)) + 0.07 * (number - (len(present) - 1) / 2)
        axes.errorbar(places, values, yerr=[np.maximum(low, 0), np.maximum(high, 0)],
                      color=COLORS[reason], marker=_MARKERS[reason], markersize=4.5,
                      linewidth=1.1, elinewidth=1.1)  # fmt: skip
    axes.set_xticks(range(len(rows)), [_label(row, text) for row in rows])
    axes.grid(visible=False, axis="x")
    axes.set_ylim(-3, 103)


def _label(row: Mapping[str, Any], text: Any) -> str:
    if row["below"] is None:
        bounds = f"≥ {text(row['from'])}"
    elif row["from"] <= 1:
        bounds = f"< {text(row['below'])}"
    else:
        bounds = f"{text(row['from'])} to\n{text(row['below'])}"
    return f"{bounds}\n({row['connections']:,})"
