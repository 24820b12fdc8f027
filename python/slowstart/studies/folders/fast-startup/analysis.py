"""The analysis of ``fast-startup``: speed-up by size, loss, and the effect on unchanged stacks.

A speed-up pools the epochs of all runs: the mean time of the baseline divided by that of the
scheme. Its interval resamples the seeds, which both sides share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart import colors, plots
from slowstart.studies.estimates import Estimate
from slowstart.studies.measures import filtered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from slowstart.studies.drawings import Drawing
    from slowstart.studies.grid import Stack
    from slowstart.studies.runner import Findings

    Values = NDArray[np.float64]

BOTTLENECK = "forward"
BASELINE = "standard"
# The schemes of the document, then what came later.
SCHEMES = (
    "standard", "IW10", "Jump-Start", "Quick-Start", "RCP", "XCP", "paced IW10", "Rapid Start",
    "Linux 6.x",
)  # fmt: skip
_COLORS = dict(
    zip(
        SCHEMES,
        (
            colors.BLACK, colors.VERMILLION, colors.BLUE, colors.GREEN, colors.ORANGE,
            colors.SKY_BLUE, colors.WINE, colors.PURPLE, colors.GREY,
        ),
        strict=True,
    )
)  # fmt: skip
_RESAMPLES = 2000
_SEED = 20_110_325
_KILO = 1e3
_FEWEST = 30
"""Epochs of a class in a run's pool, below which a figure leaves the class out."""


# --- sums by seed --------------------------------------------------------------------------------


def _sums(rows: pl.DataFrame, parameters: Mapping[str, Any]) -> pl.DataFrame:
    """For each seed the number of epochs between two sizes, and the sum of their transfer times.

    Without sizes, of all epochs. Sizes must be ends of classes.
    """
    low, high = parameters.get("from"), parameters.get("to")
    if low is None and high is None:
        rows = rows.filter(pl.col("to_bytes").is_null())
    else:
        rows = rows.filter(pl.col("to_bytes").is_not_null())
        if low is not None:
            rows = rows.filter(pl.col("from_bytes") >= low)
        if high is not None:
            rows = rows.filter(pl.col("to_bytes") <= high)
    if "traffic" in parameters:
        rows = rows.filter(pl.col("traffic") == parameters["traffic"])
    count = pl.col("count").cast(pl.Float64)
    return rows.group_by("seed").agg(
        count.sum().alias("epochs"), (count * pl.col("transfer_mean_s")).sum().alias("time_s")
    )


def _pairs(one: pl.DataFrame, other: pl.DataFrame) -> tuple[Values, Values]:
    """The numbers of both sides for the seeds that both have: a row for each seed."""
    both = one.join(other, on="seed", how="inner", suffix="_other").sort("seed")
    names = [name for name in one.columns if name != "seed"]
    left = both.select(names).to_numpy().astype(np.float64)
    right = both.select([f"{name}_other" for name in names]).to_numpy().astype(np.float64)
    return left, right


def _estimate(
    one: Values, other: Values, function: Callable[[Values, Values], float]
) -> Estimate | None:
    """A function of the sums over the seeds, with a percentile bootstrap over the seeds."""
    seeds = len(one)
    if not seeds:
        return None
    value = function(one.sum(axis=0), other.sum(axis=0))
    if not np.isfinite(value):
        return None
    low = high = confidence = None
    if seeds > 1:
        drawn = np.random.default_rng(_SEED).integers(0, seeds, size=(_RESAMPLES, seeds))
        found = [function(one[row].sum(axis=0), other[row].sum(axis=0)) for row in drawn]
        low, high = map(float, np.nanquantile(found, [0.025, 0.975]))
        confidence = 0.95
    return Estimate(float(value), low, high, confidence, seeds, seeds)


def _ratio_of_means(other: Values, one: Values) -> float:
    """Mean time of the baseline (``other``) divided by that of the scheme."""
    if not (one[0] and other[0] and one[1]):
        return float("nan")
    return float((other[1] / other[0]) / (one[1] / one[0]))


def _gain(other: Values, one: Values) -> float:
    if not (one[0] and other[0]):
        return float("nan")
    return float(other[1] / other[0] - one[1] / one[0])


def _sides(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any], table: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the claim's runs, and of the runs that it compares them with."""
    rows = findings.table(parameters["experiment"], stack, table)
    against = parameters["against"]
    return filtered(rows, parameters["select"]), filtered(rows, against or parameters["select"])


# --- numbers for claims --------------------------------------------------------------------------


def speed_up(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The mean transfer time in ``against``, divided by that in ``select``.

    ``from`` and ``to`` limit the sizes of the responses, and ``traffic`` names a table.
    """
    one, other = _sides(findings, stack, parameters, "responses")
    if one.is_empty() or other.is_empty():
        return None
    return _estimate(*_pairs(_sums(other, parameters), _sums(one, parameters)), _ratio_of_means)


def _by_class(
    findings: Findings,
    stack: Stack,
    parameters: Mapping[str, Any],
    function: Callable[[Values, Values], float],
) -> list[tuple[float, float, Estimate]]:
    """A number for each class of sizes from ``from`` on that has enough epochs."""
    one, other = _sides(findings, stack, parameters, "responses")
    if one.is_empty() or other.is_empty():
        return []
    found = []
    classes = one.drop_nulls("to_bytes").select("from_bytes", "to_bytes").unique()
    for low, high in classes.sort("from_bytes").iter_rows():
        if low < parameters.get("from", 0):
            continue
        sizes = {**parameters, "from": low, "to": high}
        left, right = _pairs(_sums(other, sizes), _sums(one, sizes))
        if not len(left) or left.sum(axis=0)[0] < _FEWEST:
            continue
        estimate = _estimate(left, right, function)
        if estimate is not None:
            found.append((float(low), float(high), estimate))
    return found


def peak_size(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The geometric middle of the class of sizes with the largest speed-up."""
    classes = _by_class(findings, stack, parameters, _ratio_of_means)
    if not classes:
        return None
    low, high, best = max(classes, key=lambda each: each[2].value)
    return Estimate(float(np.sqrt(max(low, 50.0) * high)), None, None, None, best.runs, best.rows)


def largest_gain(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """The largest mean gain in seconds of a class of sizes."""
    classes = _by_class(findings, stack, parameters, _gain)
    return max((each for _, _, each in classes), key=lambda each: each.value, default=None)


def _packets(rows: pl.DataFrame) -> pl.DataFrame:
    """For each seed the packets offered to the bottleneck, and those dropped."""
    rows = rows.filter(pl.col("link") == BOTTLENECK)
    offered = (pl.col("packets") + pl.col("drops")).cast(pl.Float64)
    return rows.group_by("seed").agg(
        offered.sum().alias("offered"), pl.col("drops").cast(pl.Float64).sum().alias("drops")
    )


def _percent(packets: Values) -> float:
    return float(100 * packets[1] / packets[0]) if packets[0] else float("nan")


def loss(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The loss probability at the bottleneck, in percent."""
    rows, _ = _sides(findings, stack, parameters, "links")
    if rows.is_empty():
        return None
    packets = _packets(rows)
    return _estimate(*_pairs(packets, packets), lambda one, _: _percent(one))


def loss_increase(
    findings: Findings, stack: Stack, parameters: Mapping[str, Any]
) -> Estimate | None:
    """The loss probability in ``select`` minus that in ``against``, in percentage points."""
    one, other = _sides(findings, stack, parameters, "links")
    if one.is_empty() or other.is_empty():
        return None
    pairs = _pairs(_packets(one), _packets(other))
    return _estimate(*pairs, lambda a, b: _percent(a) - _percent(b))


def loss_ratio(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The loss probability in ``select`` divided by that in ``against``."""
    one, other = _sides(findings, stack, parameters, "links")
    if one.is_empty() or other.is_empty():
        return None

    def ratio(a: Values, b: Values) -> float:
        return _percent(a) / _percent(b) if b[1] else float("nan")

    return _estimate(*_pairs(_packets(one), _packets(other)), ratio)


def effect(findings: Findings, stack: Stack, parameters: Mapping[str, Any]) -> Estimate | None:
    """The mean transfer time of one ``half`` in ``select``, divided by that in ``against``."""
    swapped = {**parameters, "traffic": parameters["half"]}
    one, other = _sides(findings, stack, swapped, "responses")
    if one.is_empty() or other.is_empty():
        return None
    return _estimate(*_pairs(_sums(one, swapped), _sums(other, swapped)), _ratio_of_means)


# --- figures -------------------------------------------------------------------------------------


def _present(findings: Findings, stack: Stack, experiment: str, axis: str) -> list[str]:
    """The schemes that were run, in the order of :data:`SCHEMES`."""
    rows = findings.table(experiment, stack, "runs")
    there = set() if rows.is_empty() else set(rows[axis].to_list())
    return [each for each in SCHEMES if each in there]


def _error(estimate: Estimate) -> tuple[float, float]:
    if estimate.low is None or estimate.high is None:
        return 0.0, 0.0
    return max(0.0, estimate.value - estimate.low), max(0.0, estimate.high - estimate.value)


def _runs(findings: Findings, stack: Stack, experiment: str) -> str:
    seeds = findings.table(experiment, stack, "runs")["seed"].n_unique()
    return plots.plural(seeds, "seed")


def speed_up_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Speed-up and mean gain by size of the response."""
    schemes = [
        each for each in _present(findings, stack, drawing.experiment, "scheme") if each != BASELINE
    ]
    if not schemes:
        return None
    panels = (
        (_ratio_of_means, "speed-up: mean time of\nstandard slow start / of the scheme", 1.0),
        (_gain, "mean gain (s)", 0.0),
    )
    with plots.styled():
        figure = plots.new_figure(11.0, 4.8)
        for axes, (function, label, level) in zip(figure.subplots(1, 2), panels, strict=True):
            for place, scheme in enumerate(schemes):
                said = {
                    "experiment": drawing.experiment,
                    "select": {**drawing.select, "scheme": scheme},
                    "against": {**drawing.select, "scheme": BASELINE},
                }
                classes = _by_class(findings, stack, said, function)
                apart = 1.015 ** (place - (len(schemes) - 1) / 2)
                sizes = [apart * np.sqrt(max(a, 50.0) * b) / _KILO for a, b, _ in classes]
                values = [each.value for _, _, each in classes]
                errors = np.array([_error(each) for _, _, each in classes]).T.reshape(2, -1)
                axes.errorbar(
                    sizes, values, errors, color=_COLORS[scheme], marker="o", markersize=3.5,
                    linewidth=1.3, elinewidth=0.8, label=scheme,
                )  # fmt: skip
            axes.axhline(level, color="#777777", linewidth=0.8)
            axes.axvline(10, color="#777777", linewidth=0.8, linestyle=":")
            axes.set_xscale("log")
            plots.plain_log(axes.xaxis)
            axes.set_xlabel("size of the response (kB)")
            axes.set_ylabel(label)
        plots.legend(figure, figure.axes[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}, intervals by bootstrap of the seeds")


def _number(label: object) -> float:
    return float(str(label).split()[0])


def _against(
    findings: Findings,
    drawing: Drawing,
    stack: Stack,
    axis: str,
    label: str,
    marks: Sequence[float],
) -> Figure | None:
    """Loss probability, its increase, and the mean transfer time against a numeric axis."""
    schemes = _present(findings, stack, drawing.experiment, "scheme")
    if not schemes:
        return None
    there = findings.table(drawing.experiment, stack, "runs")[axis].unique().to_list()
    labels = sorted(there, key=_number)
    panels: tuple[tuple[str, Callable[..., Estimate | None], bool], ...] = (
        ("loss probability (%)", loss, False),
        ("increase over standard\n(percentage points)", loss_increase, True),
        ("mean time of standard slow start\n/ of the scheme", speed_up, True),
    )
    with plots.styled():
        figure = plots.new_figure(13.0, 4.6)
        for axes, (words, function, compared) in zip(figure.subplots(1, 3), panels, strict=True):
            for scheme in schemes:
                if compared and scheme == BASELINE:
                    continue
                found = []
                for each in labels:
                    select = {**drawing.select, "scheme": scheme, axis: each}
                    said = {
                        "experiment": drawing.experiment,
                        "select": select,
                        "against": {**select, "scheme": BASELINE} if compared else None,
                    }
                    estimate = function(findings, stack, said)
                    if estimate is not None:
                        found.append((_number(each), estimate))
                axes.errorbar(
                    [x for x, _ in found],
                    [each.value for _, each in found],
                    np.array([_error(each) for _, each in found]).T.reshape(2, -1),
                    color=_COLORS[scheme], marker="o", markersize=3.5, linewidth=1.3,
                    elinewidth=0.8, label=scheme,
                )  # fmt: skip
            for mark in marks:
                axes.axvline(mark, color="#777777", linewidth=0.8, linestyle=":")
            axes.set_xlabel(label)
            axes.set_ylabel(words)
            if axis == "buffer":
                axes.set_xscale("log")
                plots.plain_log(axes.xaxis)
        plots.legend(figure, figure.axes[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")


def load_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Loss probability and mean time against load; the document stopped at 40 %."""
    label = "offered load of the downlink (%)"
    return _against(findings, drawing, stack, "load", label, (40.0,))


def buffer_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Loss probability and mean time against the buffer; the document names 50 and 100 packets."""
    return _against(findings, drawing, stack, "buffer", "buffer (packets)", (50.0, 100.0))


def fairness_figure(findings: Findings, drawing: Drawing, stack: Stack) -> Figure | None:
    """Mean transfer time of both halves, relative to the same half beside unchanged stacks."""
    others = _present(findings, stack, drawing.experiment, "other")
    others = [each for each in others if each != BASELINE]
    if not others:
        return None
    sizes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("all responses", {}),
        ("below 10 kB", {"to": 10_000}),
        ("10 to 200 kB", {"from": 10_000, "to": 200_000}),
        ("above 200 kB", {"from": 200_000}),
    )
    halves = (("unchanged", "unchanged half (L)", ""), ("changed", "changed half (G)", "//"))
    with plots.styled():
        figure = plots.new_figure(13.0, 4.6)
        row = figure.subplots(1, len(sizes), sharey=True)
        for axes, (title, limits) in zip(row, sizes, strict=True):
            axes.set_title(title, fontweight="bold")
            for shift, (half, words, hatch) in zip((-0.2, 0.2), halves, strict=True):
                for place, other in enumerate(others):
                    said = {
                        "experiment": drawing.experiment,
                        "select": {"other": other},
                        "against": {"other": BASELINE},
                        "half": half,
                        **limits,
                    }
                    found = effect(findings, stack, said)
                    if found is None:
                        continue
                    axes.bar(
                        place + shift, found.value, 0.38, color=_COLORS[other], hatch=hatch,
                        edgecolor="white", linewidth=0,
                        yerr=np.array([_error(found)]).T,
                        error_kw={"elinewidth": 1, "path_effects": plots.OUTLINE},
                        label=words if place == 0 else None,
                    )  # fmt: skip
            axes.axhline(1.0, color="#777777", linewidth=0.8)
            axes.set_xticks(range(len(others)), others, rotation=60, ha="right")
            axes.grid(visible=False, axis="x")
        row[0].set_ylabel("mean time, relative to the same half\nbeside unchanged stacks")
        plots.legend(figure, row[0].get_legend_handles_labels()[0])
        runs = _runs(findings, stack, drawing.experiment)
        return plots.finish(figure, f"{drawing.title}: {runs}")
