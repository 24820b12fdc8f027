"""Why slow start ended, in words, and what that cost: the start-up block of terminal and report.

docs/concepts/exit-cost.md defines the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart import metrics
from slowstart._native import algorithms, median_interval
from slowstart.report import tables
from slowstart.report.tables import Cell, Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart._native import Result, Scenario

# The reference of algorithms that have no separate start-up.
_MONOLITHIC = "cubic+oracle"
# A smaller difference in completion time is no difference.
_NOTHING_S = 0.0005

COLUMNS = (
    Column("start-up", "avoidance + start-up"),
    Column("left because", "reasons of the slow-start exits, with the number of flows"),
    Column(
        "cost of exit",
        "completion time less that of the same run with an ideal exit (+oracle): median and its "
        "95 % interval",
    ),
    Column(
        "90 % of capacity",
        "end of the first base RTT in which ACKs delivered 90 % of what the bottleneck carries: "
        "median",
    ),
    Column("in 1/3/10 s", "payload delivered 1, 3 and 10 s after the SYN: medians"),
    Column("overshoot", "payload sent in slow start that the network dropped: median"),
    Column(
        "longest queue",
        "longest queue at the bottleneck until one base RTT after the exit, in BDP: median",
    ),
    Column(
        "false exits",
        "exits by a test, before capacity, while the application limited the sender",
    ),
)
OTHERS = Column(
    "harm to others",
    "what the other flows and the background traffic suffer, against the same beside an ideal "
    "exit: longer completion, RTT, and lost segments (means over the runs)",
)


def columns(cost: pl.DataFrame) -> list[Column]:
    """The columns of :func:`rows`: with :data:`OTHERS` only if there are others."""
    return [*COLUMNS, *([OTHERS] if has_others(cost) else [])]


def has_others(cost: pl.DataFrame) -> bool:
    """Whether flows beside those of the algorithms were measured."""
    suffered = [name for name in ("others_fct_s", "others_rtt_ms", "others_lost")
                if name in cost.columns]  # fmt: skip
    return any(cost[name].is_not_null().any() for name in suffered)


@dataclass(frozen=True)
class Facts:
    """What the words need to know of a path."""

    bdp_bytes: float
    packet_bytes: float
    """A full packet with the overhead of the bottleneck."""
    payload_bps: float
    """Payload that the bottleneck carries at its mean rate."""


def has_bottleneck(path: Mapping[str, Any]) -> bool:
    """Whether a resolved path has one; an ad-hoc network or a constellation alone has none."""
    return "forward" in path


def facts(path: Mapping[str, Any]) -> Facts:
    """The facts of a resolved path."""
    packet = 1500 + path["forward"]["overhead_bytes"]
    return Facts(path["bdp_bytes"], packet, path["rate_bps"] * 1448 / packet)


def ideal(algorithm: str) -> str:
    """The same algorithm with an ideal exit; ``algorithm`` is in canonical form.

    A monolithic congestion control has no separate start-up: its reference is CUBIC with one.
    """
    kinds = {each["name"]: each["kind"] for each in algorithms()}
    avoidance, _, startup = algorithm.partition("+")
    if not startup:
        return _MONOLITHIC
    last = startup.rpartition("+")[2]
    recovery = f"+{last}" if kinds.get(last.split(":")[0]) == "recovery" else ""
    return f"{avoidance}+oracle{recovery}"


def costs(scenarios: Sequence[Scenario], main: Result, oracles: Sequence[Result]) -> pl.DataFrame:
    """What the exits of each of ``scenarios`` cost, against the results with an ideal exit.

    One row for each scenario; see :func:`slowstart.metrics.exit_cost`, with the column ``against``.
    """
    ideals: dict[tuple[str, str], Result] = {}
    for each in oracles:
        flows = pl.DataFrame(each.flows())
        if not flows.is_empty():
            ideals[flows["path"][0], flows["algorithm"][0]] = each
    if len(scenarios) == 1 and len(set(scenarios[0].flows)) > 1:
        return _costs_of_flows(scenarios[0], main, oracles)
    rows = []
    for place, scenario in enumerate(scenarios):
        against = ideal(scenario.resolved["flows"][0]["algorithm"])
        oracle = ideals.get((scenario.path, against))
        mine = main.select(place)
        judged = has_bottleneck(scenario.resolved["path"])
        if oracle is None or not judged or len(mine.flows()) == 0:
            continue
        found = metrics.exit_cost(
            mine.flows(),
            oracle.flows(),
            traffic=mine.traffic(),
            oracle_traffic=oracle.traffic(),
        )
        rows.append(found.with_columns(against=pl.lit(against)))
    return pl.concat(rows) if rows else pl.DataFrame()


def ideals(scenario: Scenario) -> list[Scenario]:
    """The same scenario with an ideal exit of the flows of each name, the others unchanged."""
    algorithms = {flow["name"]: flow["algorithm"] for flow in reversed(scenario.resolved["flows"])}
    made = {name: ideal(algorithm) for name, algorithm in reversed(algorithms.items())}
    return [
        scenario.with_algorithms({name: against})
        for name, against in made.items()
        if against != algorithms[name]
    ]


def _costs_of_flows(scenario: Scenario, main: Result, oracles: Sequence[Result]) -> pl.DataFrame:
    """The costs of a scenario with several flows: in each oracle, those of one name are ideal."""
    flows = pl.DataFrame(main.flows())
    rows = []
    for each in oracles:
        beside = pl.DataFrame(each.flows())
        pairs = flows.select("flow", "name", "algorithm").unique("flow").join(
            beside.select("flow", pl.col("algorithm").alias("against")).unique("flow"), on="flow"
        )  # fmt: skip
        changed = pairs.filter(pl.col("algorithm") != pl.col("against"))
        if changed.is_empty() or not has_bottleneck(scenario.resolved["path"]):
            continue
        found = metrics.exit_cost(
            flows, beside, traffic=main.traffic(), oracle_traffic=each.traffic(),
            name=changed["name"][0],
        )  # fmt: skip
        rows.append(found.with_columns(against=pl.lit(changed["against"][0])))
    return pl.concat(rows) if rows else pl.DataFrame()


def _median(values: pl.Series) -> float | None:
    return median_interval(values.drop_nulls().to_list())[0]


def _shown(values: pl.Series, text: Callable[[float], str]) -> str:
    """The median of ``values``, with the number of flows behind it if it is not all flows."""
    median = _median(values)
    if median is None:
        return "-"
    known = len(values) - values.null_count()
    return text(median) + (f" ({known} of {len(values)})" if known < len(values) else "")


def _cost(row: Mapping[str, Any] | None) -> Cell:
    if row is None or row["cost_s"] is None:
        return Cell("-")
    part = f" ({row['n']} of {row['of']})" if row["n"] < row["of"] else ""
    detail = ""
    if row["cost_low_s"] is not None:
        detail = f"[{tables.number(row['cost_low_s'])}, {tables.number(row['cost_high_s'])}]"
    return Cell(signed(row["cost_s"]) + part, detail)


def _harm(row: Mapping[str, Any] | None) -> Cell:
    """What others suffer; empty without others."""
    if row is None:
        return Cell("-")
    parts = []
    if row["others_fct_s"] is not None:
        parts.append(signed(row["others_fct_s"]))
    if row["others_rtt_ms"] is not None:
        parts.append(f"RTT {signed(row['others_rtt_ms'] / 1e3)}")
    if row["others_lost"] is not None:
        lost = 100 * row["others_lost"]
        sign = "+" if lost > 0 else "-" if lost < 0 else ""
        parts.append(f"lost {sign}{tables.number(abs(lost), 2)} %")
    return Cell(parts[0], ", ".join(parts[1:])) if parts else Cell("-")


def signed(value: float) -> str:
    """A difference of times with sign and unit."""
    if abs(value) < _NOTHING_S:
        return "0 s"
    return ("+" if value > 0 else "-") + tables.seconds(abs(value))


def row(flows: pl.DataFrame, path: Facts, cost: Mapping[str, Any] | None) -> list[Cell]:
    """The cells of one algorithm over one path, in the order of :data:`COLUMNS`."""
    reasons = flows["exit_reason"].fill_null("still in slow start")
    counts = reasons.value_counts(sort=True).sort("count", "exit_reason", descending=[True, False])
    why = ", ".join(
        name if len(counts) == 1 else f"{name} {count}" for name, count in counts.iter_rows()
    )
    queue = flows["startup_queue_max_packets"] * (path.packet_bytes / max(path.bdp_bytes, 1.0))
    delivered = "/".join(
        _shown(flows[f"delivered_{mark}s_bytes"], tables.size) for mark in (1, 3, 10)
    )
    return [
        Cell(flows["name"][0]),
        Cell(why),
        _cost(cost),
        Cell(_shown(flows["near_capacity_s"], tables.seconds)),
        Cell(delivered),
        Cell(_shown(flows["overshoot_bytes"], tables.size)),
        Cell(_shown(queue, lambda value: tables.number(value, 2))),
        Cell(str(int(flows["false_exit"].sum()))),
    ]


def rows(
    flows: pl.DataFrame, paths: Mapping[str, Mapping[str, Any]], cost: pl.DataFrame
) -> dict[str, list[list[Cell]]]:
    """The cells by path, for simulated flows; :func:`columns` has their heads.

    Args:
        flows: The table of flows of a result.
        paths: The resolved paths by name.
        cost: What :func:`costs` returns; it may be empty.
    """
    known = {(each["path"], each["name"]): each for each in cost.to_dicts()}
    found: dict[str, list[list[Cell]]] = {}
    beside = has_others(cost)
    for (path, name), part in flows.group_by("path", "name", maintain_order=True):
        mine = known.get((path, name))
        cells = row(part, facts(paths[str(path)]), mine)
        cells += [_harm(mine)] if beside else []
        found.setdefault(str(path), []).append(cells)
    return found


# --- words ----------------------------------------------------------------------------------------


def _because(flow: Mapping[str, Any]) -> str:
    """The reason of an exit as a clause; ``flow`` is a row of the table of flows."""
    reason, evidence = flow["exit_reason"], flow["exit_evidence"]
    measured, threshold = flow["exit_measured"], flow["exit_threshold"]
    known = measured is not None and threshold is not None
    clauses = {
        "loss": "a segment was lost",
        "ecn": "the network marked a packet",
        "timeout": "the retransmission timer expired",
        "ssthresh": "the window reached a threshold that was set before",
        "decision": "the start-up decided so",
        "css-rounds": "the RTT stayed high in conservative slow start",
        "bandwidth": "the window reached the BDP of the estimated bandwidth",
        "full-pipe": "the bandwidth stopped growing",
        "capacity": "the window held the BDP",
        "busy": "the bottleneck was busy for a base RTT",
    }
    if known:
        clauses |= {
            "ack-train": "the ACKs of a round trip arrived as one train over "
            f"{tables.number(measured)} ms",
            "delay": f"the smallest RTT of a round trip rose to {tables.number(measured)} ms",
            "search": f"delivery fell {100 * measured:.0f} % behind what was expected",
        }
    clause = clauses.get(reason)
    if clause is None:
        return f"of {evidence}"
    return f"because {clause}" + (f" ({evidence})" if evidence != reason else "")


def explain(
    flow: Mapping[str, Any], path: Facts, cost: Mapping[str, Any] | None, *, runs: int = 1
) -> str:
    """Describes one flow's slow-start exit and its cost in a sentence or two.

    Args:
        flow: A row of the table of flows.
        path: The facts of its path.
        cost: The row of :func:`costs` of its algorithm, if it is known.
        runs: The number of runs behind ``cost``. With several, ``flow`` is one of the first.
    """
    name = flow["name"]
    if runs > 1:
        name = f"In the first run, {name}"
    if flow["exit_s"] is None:
        text = f"{name} did not leave slow start before its data ended."
        return text + _costs(flow, cost, runs)
    trips = flow["exit_round_trips"]
    after = tables.seconds(flow["exit_s"])
    if trips is not None:
        after = f"{trips} round trip{'' if trips == 1 else 's'} ({after})"
    text = f"{name} left slow start after {after} {_because(flow)}"
    if flow["exit_queue_packets"] is not None:
        packets = flow["exit_queue_packets"]
        share = tables.number(packets * path.packet_bytes / max(path.bdp_bytes, 1.0), 2)
        text += (
            f"; at that moment the queue held {packets} packet{'' if packets == 1 else 's'} "
            f"({share} BDP)"
        )
        if flow["exit_delivered_bps"] is not None:
            text += (
                f" and the path had delivered {tables.rate(flow['exit_delivered_bps'])} of "
                f"{tables.rate(path.payload_bps)} in the last round trip"
            )
    capacity = flow["capacity_true_s"]
    if capacity is None:
        text += "; capacity was never reached."
    elif capacity > flow["exit_s"]:
        text += f"; capacity was reached {tables.seconds(capacity - flow['exit_s'])} later."
    else:
        before = tables.seconds(flow["exit_s"] - capacity)
        text += f"; capacity had been reached {before} before."
    if flow["false_exit"]:
        text += (
            " The application limited the sender, so the test had too little data: a false exit."
        )
    return text + _costs(flow, cost, runs)


def _costs(flow: Mapping[str, Any], cost: Mapping[str, Any] | None, runs: int) -> str:
    if cost is None or cost["cost_s"] is None or flow["algorithm"] == cost["against"]:
        return ""
    value = cost["cost_s"]
    transfer = f"the {tables.size(flow['bytes_acked'])} transfer"
    if runs > 1:
        return _median_cost(cost, transfer)
    if abs(value) < _NOTHING_S:
        return f" An ideal exit ({cost['against']}) would have taken as long for {transfer}."
    verb = "cost" if value > 0 else "saved"
    return (
        f" Compared with an ideal exit ({cost['against']}), this {verb} "
        f"{tables.seconds(abs(value))} of {transfer}."
    )


def _median_cost(cost: Mapping[str, Any], transfer: str) -> str:
    """The cost over several runs, in a sentence apart from that on the first run."""
    value, against = cost["cost_s"], cost["against"]
    flows = f"Median over {cost['n']} of {cost['of']} flows"
    if abs(value) < _NOTHING_S:
        return f" {flows}: {transfer} takes as long as with an ideal exit ({against})."
    more = "longer" if value > 0 else "less"
    return (
        f" {flows}: {transfer} takes {tables.seconds(abs(value))} {more} than with an ideal exit "
        f"({against})."
    )


def sentences(
    flows: pl.DataFrame, paths: Mapping[str, Mapping[str, Any]], cost: pl.DataFrame
) -> dict[str, list[str]]:
    """By path: one description for each algorithm, of the first flow of its first run.

    The arguments are those of :func:`rows`.
    """
    known = {(each["path"], each["name"]): each for each in cost.to_dicts()}
    found: dict[str, list[str]] = {}
    for (path, name), part in flows.group_by("path", "name", maintain_order=True):
        first = part.row(0, named=True)
        runs = part["run"].n_unique()
        words = explain(first, facts(paths[str(path)]), known.get((path, name)), runs=runs)
        found.setdefault(str(path), []).append(words)
    return found
