"""Metrics of many connections: speed-up, fairness, loss probability, effects of a mixed population.

The functions take the tables of a :class:`~slowstart.Result` (anything that ``polars.DataFrame``
accepts) and return numbers or polars data frames. docs/concepts/measurements.md defines each
metric. ``metrics.speed_up(slow.epochs(), fast.epochs())`` compares two results.

A population of several kinds of hosts is a scenario with one ``[[traffic]]`` table for each kind.
The column ``traffic`` of the tables then names the class of a row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from slowstart._native import median_interval
from slowstart.capacity_changes import rate_changes
from slowstart.errors import InputError
from slowstart.reconfigurations import reconfigurations
from slowstart.restarts import restarts
from slowstart.visits import visits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "SIZES",
    "Effect",
    "effect",
    "exit_cost",
    "jain",
    "loss_increase",
    "loss_probability",
    "rate_changes",
    "reconfigurations",
    "restarts",
    "speed_up",
    "speed_up_by_class",
    "visits",
]

SIZES = (0, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Where the classes of response sizes begin, in bytes. The last has no upper end."""

_EPOCH = ("path", "run", "traffic", "connection", "epoch")
_CLASS = ("from_bytes", "to_bytes")
_TIMES = ("transfer", "duration")


def _frame(table: Any, *columns: str) -> pl.DataFrame:
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    missing = [each for each in columns if each not in frame.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]}")
    return frame


def _time(frame: pl.DataFrame, time: str) -> pl.Expr:
    if time not in _TIMES:
        raise InputError(f"unknown time {time!r}: use transfer or duration")
    duration = pl.col("duration_s")
    think = pl.col("think_s") if "think_s" in frame.columns else pl.lit(0.0)
    return duration - think if time == "transfer" else duration


def speed_up(
    baseline: Any,
    other: Any,
    *,
    time: str = "transfer",
    sizes: Sequence[int] = SIZES,
    by: Sequence[str] = (),
) -> pl.DataFrame:
    """The speed-up of ``other`` against ``baseline``, epoch by epoch, by size of the response.

    Epochs match if they have the same path, run, traffic table, connection and number. Runs of the
    same seed offer the same connections whatever the algorithm. An epoch that ended in one of the
    results only is left out.

    Args:
        baseline: The table of epochs of the baseline (``Result.epochs``; ``list_flows = true``).
        other: The table of epochs to compare with it.
        time: ``transfer``: without the acceptor's wait; or ``duration``: with it.
        sizes: Where the classes of response sizes begin, in bytes.
        by: Further columns by which to group, such as ``traffic``.

    Returns:
        One row for all sizes (``from_bytes`` is null), then one for each class with epochs:
        ``epochs``, ``baseline_mean_s``, ``mean_s``, ``speed_up`` (the ratio of these means),
        ``gain_s`` (the mean of the differences) and ``geometric_speed_up`` (the geometric mean of
        the ratios of each epoch).

    Raises:
        InputError: A table has not the columns of epochs, or ``time`` is neither of the two.

    Example:
        >>> import polars
        >>> same = {"path": "a", "run": 0, "traffic": 0, "connection": 0, "epoch": [0, 1]}
        >>> both = {"response_bytes": 9000, "wait_s": 0.0}
        >>> slow = polars.DataFrame({**same, **both, "duration_s": [2.0, 4.0]})
        >>> fast = polars.DataFrame({**same, **both, "duration_s": [1.0, 2.0]})
        >>> speed_up(slow, fast, time="duration")["epochs", "speed_up"].row(0)
        (2, 2.0)
    """
    keys = [each for each in _EPOCH if each in _frame(other, "duration_s").columns]
    sides = [_frame(each, *keys, "response_bytes", "duration_s") for each in (baseline, other)]
    before, after = (
        side.select(*dict.fromkeys((*keys, *by, "response_bytes")), _time(side, time).alias(name))
        for side, name in zip(sides, ("before", "after"), strict=True)
    )
    both = before.join(after.select(*keys, "after"), on=keys, how="inner")
    edges = pl.Series("from_bytes", sorted(sizes), dtype=pl.UInt64)
    classes = both.sort("response_bytes").join_asof(
        pl.DataFrame({"from_bytes": edges, "to_bytes": edges.shift(-1)}),
        left_on=pl.col("response_bytes").cast(pl.UInt64),
        right_on="from_bytes",
        coalesce=False,
    )
    numbers = (
        pl.len().alias("epochs"),
        pl.col("before").mean().alias("baseline_mean_s"),
        pl.col("after").mean().alias("mean_s"),
        (pl.col("before").mean() / pl.col("after").mean()).alias("speed_up"),
        (pl.col("before") - pl.col("after")).mean().alias("gain_s"),
        (pl.col("before") / pl.col("after")).log().mean().exp().alias("geometric_speed_up"),
    )
    whole = both.group_by(by).agg(*numbers) if by else both.select(*numbers)
    whole = whole.filter(pl.col("epochs") > 0)
    none = pl.lit(None, dtype=pl.UInt64)
    whole = whole.with_columns(none.alias("from_bytes"), none.alias("to_bytes"))
    parts = classes.group_by(*by, *_CLASS).agg(*numbers)
    order = (*by, *_CLASS, *(each.meta.output_name() for each in numbers))
    found = pl.concat([whole.select(order), parts.select(order)], how="vertical_relaxed")
    return found.sort(*by, "from_bytes", nulls_last=False)


def speed_up_by_class(
    baseline: Any, other: Any, *, time: str = "transfer", by: Sequence[str] = ()
) -> pl.DataFrame:
    """The speed-up from the tables of responses (``Result.responses``), which need no list.

    All runs of a class are pooled. The result is that of :func:`speed_up` as long as every epoch
    ends in both results; the classes are those of the tables, and ``gain_s`` is the difference of
    the means.

    Args:
        baseline: The table of responses to compare with.
        other: The table of responses of the other result.
        time: ``transfer`` (without the acceptor's wait) or ``duration``.
        by: Further columns of both tables, such as ``path``: a row for each of their values.

    Returns:
        One row per class of sizes (bytes), and one without ``to_bytes`` for all sizes: ``epochs``,
        ``baseline_mean_s``, ``mean_s``, ``speed_up``, ``gain_s`` and ``geometric_speed_up``.

    Raises:
        InputError: ``time`` is unknown, or a column is missing.

    Example:
        >>> import polars
        >>> size = {"from_bytes": [0], "to_bytes": [1000], "count": [10]}
        >>> slow, fast = (
        ...     polars.DataFrame(
        ...         {**size, "transfer_mean_s": [mean], "transfer_geometric_mean_s": [mean]}
        ...     )
        ...     for mean in (2.0, 1.0)
        ... )
        >>> speed_up_by_class(slow, fast)["epochs", "speed_up", "gain_s"].row(0)
        (10, 2.0, 1.0)
    """
    if time not in _TIMES:
        raise InputError(f"unknown time {time!r}: use transfer or duration")
    mean, geometric = f"{time}_mean_s", f"{time}_geometric_mean_s"
    needed = (*_CLASS, *by, "count", mean, geometric)
    keys = [*by, *_CLASS]
    count = pl.col("count").cast(pl.Float64)

    def pooled(table: Any) -> pl.DataFrame:
        frame = _frame(table, *needed)
        return frame.group_by(keys).agg(
            pl.col("count").sum().alias("epochs"),
            ((count * pl.col(mean)).sum() / count.sum()).alias("mean_s"),
            ((count * pl.col(geometric).log()).sum() / count.sum()).exp().alias("geometric"),
        )

    before, after = pooled(baseline), pooled(other)
    both = after.join(before, on=keys, how="inner", suffix="_before", nulls_equal=True)
    return both.select(
        *by,
        # The class of all sizes has no upper end.
        *(pl.when(pl.col("to_bytes").is_not_null()).then(pl.col(each)).alias(each)
          for each in _CLASS),
        "epochs",
        pl.col("mean_s_before").alias("baseline_mean_s"),
        "mean_s",
        (pl.col("mean_s_before") / pl.col("mean_s")).alias("speed_up"),
        (pl.col("mean_s_before") - pl.col("mean_s")).alias("gain_s"),
        (pl.col("geometric_before") / pl.col("geometric")).alias("geometric_speed_up"),
    ).sort(*by, "from_bytes", nulls_last=False)  # fmt: skip


def jain(values: Iterable[float]) -> float | None:
    """Jain's fairness index of goodputs: 1 if all are equal, 1/n if one flow has everything.

    Args:
        values: Goodputs, in any unit.

    Returns:
        A number without unit; ``None`` without values, or if all are zero. Source: Jain, Chiu and
        Hawe 1984.

    Example:
        >>> jain([10.0, 10.0]), jain([10.0, 0.0])
        (1.0, 0.5)
    """
    numbers = [float(each) for each in values]
    squares = math.fsum(each * each for each in numbers)
    if not squares:
        return None
    return math.fsum(numbers) ** 2 / (len(numbers) * squares)


def loss_probability(links: Any, link: str | None = None) -> float | None:
    """Dropped packets as a fraction of those offered, over all rows of a table of links.

    Args:
        links: The table of links.
        link: The name of the link; without it, all links together.

    Returns:
        A fraction of 0 to 1; ``None`` if no packet was offered.

    Raises:
        InputError: The table has no such link.

    Example:
        >>> import polars
        >>> links = polars.DataFrame({"link": ["a", "b"], "packets": [90, 100], "drops": [10, 0]})
        >>> loss_probability(links), loss_probability(links, "a")
        (0.05, 0.1)
    """
    frame = _frame(links, "link", "packets", "drops")
    if link is not None:
        frame = frame.filter(pl.col("link") == link)
        if frame.is_empty():
            raise InputError(f"the table has no link {link}")
    drops, packets = int(frame["drops"].sum()), int(frame["packets"].sum())
    return drops / (drops + packets) if drops + packets else None


def loss_increase(links: Any, baseline: Any, link: str | None = None) -> float | None:
    """The difference of two loss probabilities.

    Args:
        links: The table of links.
        baseline: That of the baseline.
        link: The name of the link; without it, all links together.

    Returns:
        Percentage points; ``None`` if no packet was offered in one of the two.

    Raises:
        InputError: A table has no such link.

    Example:
        >>> import polars
        >>> before = polars.DataFrame({"link": ["a"], "packets": [100], "drops": [0]})
        >>> after = polars.DataFrame({"link": ["a"], "packets": [75], "drops": [25]})
        >>> loss_increase(after, before)
        25.0
    """
    after, before = loss_probability(links, link), loss_probability(baseline, link)
    return None if after is None or before is None else 100 * (after - before)


class Effect(NamedTuple):
    """What changing one half of a population does to both halves."""

    others: float
    """L: the unchanged half beside the changed one, divided by the same beside unchanged hosts."""
    users: float
    """G: the changed half, divided by the same before the change."""


def effect(
    others_before: float, users_before: float, others_after: float, users_after: float
) -> Effect:
    """L and G of the Common TCP Evaluation Suite (section "Impact on standard TCP").

    Its values are throughputs of two halves A (which stays) and B (which changes) with the same
    sizes, times and paths, before and after the change. Any other mean of the halves has such
    ratios, too; of times, a ratio below 1 is an improvement.

    Args:
        others_before: The mean of A before the change.
        users_before: That of B.
        others_after: The mean of A after the change.
        users_after: That of B.

    Returns:
        Two ratios without unit.

    Example:
        >>> effect(10.0, 10.0, 8.0, 15.0)
        Effect(others=0.8, users=1.5)
    """
    return Effect(others_after / others_before, users_after / users_before)


def exit_cost(
    flows: Any,
    oracle: Any,
    *,
    traffic: Any = None,
    oracle_traffic: Any = None,
    name: str | None = None,
) -> pl.DataFrame:
    """What the slow-start exits of an algorithm cost, against the same runs with an ideal exit.

    Flows match if they have the same path, run and number. The cost of an exit is the completion
    time of the flow less that of the flow with the start-up ``oracle``.

    Args:
        flows: The table of flows of the algorithm (``Result.flows``), with one name on each path.
        oracle: The same of runs with ``avoidance+oracle``, the same size and seeds.
        traffic: The tables of background traffic of both (``Result.traffic``), if there is any.
        oracle_traffic: See ``traffic``.
        name: The flows that have the ideal exit in ``oracle``, if there are others in the same run;
            all by default.

    Returns:
        One row for each path and name: ``cost_s`` (the median), ``cost_low_s`` and ``cost_high_s``
        (its 95 % interval; null for fewer than six flows), ``n`` (flows that completed in both
        results) ``of`` (all flows), ``oracle_fct_s`` (median), ``overshoot_bytes`` and
        ``oracle_overshoot_bytes`` (medians). With flows of other names or background traffic also
        what these suffer: ``others_fct_s``, how much longer they take on average (flows, or without
        such background traffic), ``others_rtt_ms``, how much larger the mean RTT of the flows is,
        and ``others_lost``, how much more of all their segments are lost, as a fraction (means over
        runs); null without any.

    Raises:
        InputError: A table has not the columns of flows.

    Example:
        >>> import slowstart
        >>> scenarios = slowstart.compare("wired", ["cubic+standard", "cubic+oracle"], size="5 MB")
        >>> result = slowstart.run(scenarios)
        >>> found = exit_cost(result.select(0).flows(), result.select(1).flows())
        >>> found["name", "n", "of"].row(0), found["cost_s"][0] > 0
        (('cubic+standard', 1, 1), True)
    """
    keys = ["path", "run", "flow"]
    mine = every = _frame(flows, *keys, "name", "fct_s")
    ideal = beside = _frame(oracle, *keys, "fct_s", "overshoot_bytes")
    if name is not None:
        mine = every.filter(pl.col("name") == name)
    ideal = ideal.select(
        *keys,
        pl.col("fct_s").alias("oracle_fct_s"),
        pl.col("overshoot_bytes").alias("oracle_overshoot_bytes"),
    )
    both = mine.join(ideal, on=keys, how="inner", maintain_order="left")
    both = both.with_columns((pl.col("fct_s") - pl.col("oracle_fct_s")).alias("cost_s"))
    rows = []
    for (path, label), part in both.group_by("path", "name", maintain_order=True):
        cost = part["cost_s"].drop_nulls().to_list()
        median, low, high = median_interval(cost)
        here = pl.col("path") == path
        others = [
            (each.filter(here & (pl.col("name") != name)) if name is not None else pl.DataFrame())
            for each in (every, beside)
        ]
        back = [
            pl.DataFrame() if each is None else pl.DataFrame(each)
            for each in (traffic, oracle_traffic)
        ]
        back = [each if each.is_empty() else each.filter(here) for each in back]
        rows.append(
            {
                "path": path,
                "name": label,
                "cost_s": median,
                "cost_low_s": low,
                "cost_high_s": high,
                "n": len(cost),
                "of": len(part),
                "oracle_fct_s": part["oracle_fct_s"].median(),
                "overshoot_bytes": part["overshoot_bytes"].cast(pl.Float64).median(),
                "oracle_overshoot_bytes": part["oracle_overshoot_bytes"].cast(pl.Float64).median(),
                **_others(others, back, keys),
            }
        )
    columns = ("cost_s", "cost_low_s", "cost_high_s", "oracle_fct_s", "overshoot_bytes")
    more = ("oracle_overshoot_bytes", "others_fct_s", "others_rtt_ms", "others_lost")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys((*columns, *more), pl.Float64))


def _others(
    flows: Sequence[pl.DataFrame], traffic: Sequence[pl.DataFrame], keys: Sequence[str]
) -> dict[str, float | None]:
    """What others suffer: the flows beside, and the background traffic.

    Each is a pair: beside the algorithm, and beside the ideal exit.
    """
    found: dict[str, float | None] = dict.fromkeys(("others_fct_s", "others_rtt_ms"))
    if not any(each.is_empty() for each in flows):
        mine, ideal = flows
        both = mine.join(ideal, on=keys, how="inner", suffix="_ideal")
        for name, column in (("others_fct_s", "fct_s"), ("others_rtt_ms", "rtt_mean_ms")):
            mean = (both[column] - both[f"{column}_ideal"]).mean()
            found[name] = None if mean is None else float(mean)  # type: ignore[arg-type]
    if found["others_fct_s"] is None and not any(each.is_empty() for each in traffic):
        found["others_fct_s"] = _less(*(each["fct_mean_s"].mean() for each in traffic))
    lost = []
    for pair in zip(flows, traffic, strict=True):
        frames = [each for each in pair if not each.is_empty()]
        sent = sum(int(each["segments_sent"].sum()) for each in frames)
        gone = sum(int(each["segments_lost"].sum()) for each in frames)
        lost.append(gone / sent if sent else None)
    return {**found, "others_lost": _less(*lost)}


def _less(value: Any, other: Any) -> float | None:
    return None if value is None or other is None else float(value) - float(other)
