"""The figures that ``study.toml`` declares.

| kind | draws |
| --- | --- |
| `evolution` | the stored time series, one line per run, overlaid for the values of `series` |
| `points` | a statistic with its interval against `x`, side by side for the values of `series` |
| `lines` | the same against a numeric axis, connected by lines |
| `ecdf` | empirical distributions over runs |
| `table` | a statistic for each value of `x` and of `series` |
| `function` | what a function of the study's module returns |

A figure also shows the published values: those of claims about the same runs, metric and
statistic, and those that the figure lists under ``published``. An entry of that list is ``{ panel,
time, value, series }`` in panels of time series, else axis labels with a ``value`` (and a
``metric`` if the figure has several); in a distribution also ``share``, the CDF at that value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart.studies.estimates import STATISTICS
from slowstart.studies.files import Node, nearest
from slowstart.studies.measures import check_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart.studies.plan import Experiment

KINDS = ("evolution", "points", "lines", "ecdf", "table", "function")
PANELS = ("window", "rtt", "queue", "delivered", "losses")
_KEYS = (
    "name", "kind", "title", "where", "caption", "experiment", "select", "x", "series", "columns",
    "metric", "metrics", "statistic", "label", "x_label", "log", "panels", "until", "published",
    "function", "claims",
)  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A published point in a panel of time series."""

    panel: str
    time_s: float
    value: float
    series: Any


@dataclass(frozen=True)
class Known:
    """A published value of a statistic, for the cells with these labels."""

    labels: Mapping[str, Any]
    value: float
    metric: str | None = None
    """The metric, if the figure has several."""
    share: float = 1.0
    """In a distribution, the CDF at the value; 1 if the value is the maximum."""


@dataclass(frozen=True)
class Drawing:
    """A figure or table of the report."""

    name: str
    kind: str
    title: str
    where: str
    """The corresponding figure or table of the publication."""
    caption: str
    experiment: str
    select: Mapping[str, Any]
    x: str | None
    series: str | None
    columns: str | None
    """The axis that has a panel for each value."""
    metrics: Mapping[str, str]
    """Expressions by their names."""
    statistic: str
    label: str
    x_label: str
    log: str
    panels: tuple[str, ...]
    until_s: float | None
    marks: tuple[Mark, ...]
    known: tuple[Known, ...]
    function: Any
    claims: tuple[str, ...] | None = None
    """Patterns of the claims that the report puts beside it; ``None`` to find them by ``where``."""


def read_drawing(
    node: Node,
    experiments: Mapping[str, Experiment],
    columns: Sequence[str],
    hooks: Callable[[str], object | None],
    *,
    judged: bool = True,
) -> Drawing:
    """Reads ``[[figure]]``; ``where`` is required only if the study has claims (``judged``).

    Raises:
        InputError: With file and line.
    """
    node.only(*_KEYS)
    needed = ["name", "kind", "title", "caption", "experiment"]
    node.need(*needed, *(["where"] if judged else []))
    kind = node.choice("kind", KINDS)
    experiment = node.text("experiment")
    if experiment not in experiments:
        message = f"there is no experiment {experiment}{nearest(experiment, experiments)}"
        raise node.refuse(message, "experiment")
    plan = experiments[experiment]
    select = node.table("select")
    select.only(*plan.axes)
    axes = {}
    for key in ("x", "series", "columns"):
        axes[key] = node.choice(key, list(plan.axes)) if node.has(key) else None
    metrics: dict[str, str] = {}
    label = node.text("label", "-").strip("-")
    drawn = kind == "function" or (kind == "table" and node.has("function"))
    if kind in ("points", "lines", "ecdf", "table") and not drawn:
        if node.has("metrics"):
            table = node.table("metrics")
            metrics = {key: table.text(key) for key in table.value}
        else:
            metrics = {label: node.text("metric")}
            node.need("label")
        for expression in metrics.values():
            key = "metrics" if node.has("metrics") else "metric"
            check_metric(node, key, expression, plan, columns)
    measured = kind in ("points", "lines", "table") and not drawn
    if measured and axes["x"] is None and len(metrics) < 2:
        raise node.refuse("x (an axis) is missing; only several metrics do without")
    function = None
    if drawn:
        function = hooks(node.text("function"))
        if not callable(function):
            name = node.text("function")
            raise node.refuse(f"the study's analysis has no function {name}", "function")
    if kind == "evolution":
        node.need("series")
        if not plan.traces:
            raise node.refuse(f"{experiment} stores no time series: set traces = 1", "kind")
    panels = node.texts("panels", ["window", "rtt", "delivered", "losses"])
    for each in panels:
        if each not in PANELS:
            raise node.refuse(f"there is no panel {each}{nearest(each, PANELS)}", "panels")
    return Drawing(
        name=node.text("name"),
        kind=kind,
        title=node.text("title"),
        where=node.text("where", ""),
        caption=node.text("caption"),
        experiment=experiment,
        select=select.value,
        metrics=metrics,
        statistic=node.choice("statistic", STATISTICS, "median"),
        label=label,
        x_label=node.text("x_label", axes["x"] or "-").strip("-"),
        log=node.choice("log", ("none", "x", "y", "both"), "none"),
        panels=tuple(panels),
        until_s=node.number("until") if node.has("until") else None,
        marks=tuple(_read_marks(node, panels)) if kind == "evolution" else (),
        known=() if kind == "evolution" else tuple(_read_known(node, kind, plan, metrics)),
        function=function,
        claims=tuple(node.texts("claims")) if node.has("claims") else None,
        **axes,
    )


def _read_marks(node: Node, panels: Sequence[str]) -> list[Mark]:
    marks = []
    for each in node.tables("published"):
        each.only("panel", "time", "value", "series")
        each.need("series")
        marks.append(
            Mark(
                each.choice("panel", panels),
                each.number("time"),
                each.number("value"),
                each.value["series"],
            )
        )
    return marks


def _read_known(node: Node, kind: str, plan: Experiment, metrics: Mapping[str, str]) -> list[Known]:
    known = []
    own = ("value", "metric", "share") if kind == "ecdf" else ("value", "metric")
    for each in node.tables("published"):
        each.only(*own, *plan.axes)
        labels = {axis: label for axis, label in each.value.items() if axis in plan.axes}
        metric = each.choice("metric", list(metrics)) if each.has("metric") else None
        for axis, label in labels.items():
            if label not in plan.axes[axis]:
                hint = nearest(str(label), plan.axes[axis])
                raise each.refuse(f"{axis} has no value {label}{hint}", axis)
        share = each.number("share") if each.has("share") else 1.0
        known.append(Known(labels, each.number("value"), metric, share))
    return known
