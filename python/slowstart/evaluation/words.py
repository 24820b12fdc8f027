"""Values of the scorecard as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowstart.evaluation.table import protocol
from slowstart.report import tables
from slowstart.studies.files import listed

if TYPE_CHECKING:
    from slowstart.evaluation.scores import Card, Outlier, Value
    from slowstart.evaluation.table import Criterion, Row

# The most sentences about rows in which the algorithm stands out, in each direction.
MOST = 8


def amount(value: float, row: Row) -> str:
    """A value with its unit; differences have a sign."""
    if row.relation != "difference":
        return _plain(value, row.unit)
    text = _plain(abs(value), row.unit)
    if text.split()[0].strip("0.") == "":
        return text
    return ("-" if value < 0 else "+") + text


def _plain(value: float, unit: str) -> str:
    if unit == "s":
        return tables.seconds(value) if value >= 5e-4 else "0 s"
    if unit == "B":
        return tables.size(value) if value >= 1 else "0 B"
    if unit == "%":
        return f"{value:.1f} %" if abs(value) < 10 else f"{value:.0f} %"
    if unit == "ms":
        return f"{value:.1f} ms" if abs(value) < 10 else f"{value:.0f} ms"
    text = f"{value:.0f}" if abs(value) >= 100 else tables.number(value)
    if unit in ("segments", ""):  # the row's words say what is counted
        return text
    return f"{text}{'' if unit == 'x' else ' '}{unit}"


def shown(value: Value, row: Row) -> str:
    """A value, with the flows behind it if some have none or only a bound, and with its point."""
    bound = value.censored and row.limit is not None and value.value >= row.limit
    text = ("> " if bound else "") + amount(value.value, row)
    if value.count < value.of:
        text += f" ({value.count} of {value.of})"
    return text if value.at is None else f"{text} ({value.at})"


def interval(value: Value, row: Row) -> str:
    """Its interval, or nothing."""
    if value.low is None or value.high is None:
        return ""
    low, high = amount(value.low, row), amount(value.high, row)
    unit = low.rpartition(" ")[2]
    if low != unit and high.endswith(f" {unit}"):
        low = low.removesuffix(f" {unit}")
    return f"{low} to {high}"


def sentence(outlier: Outlier) -> str:
    """What stands out, with the range of the baselines."""
    row = outlier.row
    smallest, largest = (amount(each, row) for each in outlier.baselines)
    there = smallest if smallest == largest else f"{smallest} to {largest}"
    where = f" ({outlier.criterion.section})" if outlier.criterion.section else ""
    text = row.words[0].upper() + row.words[1:]
    others = "the others"
    if outlier.but is not None:
        name, value = outlier.but
        others = f"{name}: {shown(value, row)}; the others"
    return f"{text}{where}: {shown(outlier.value, row)}; {others}: {there}."


def absent(card: Card, row: Row, algorithm: str) -> str:
    """What stands for a value that is not there."""
    return "-" if card.applies(row, algorithm) else "n/a"


def inapplicable(card: Card, criterion: Criterion) -> str | None:
    """Which rows of a criterion say nothing about some algorithms, and why."""
    rows = [row for row in criterion.rows if card.table.setups[row.setup].asks_routers]
    without = [name for name in card.algorithms if protocol(name) is None]
    if not rows or not without:
        return None
    if len(without) == len(card.algorithms):
        asked = "; ".join(row.words for row in rows)
        return f"No algorithm here asks routers, so these rows are left out: {asked}."
    verb = "asks" if len(without) == 1 else "ask"
    return f"n/a: {listed(without)} {verb} no routers, so that lying ones do not matter."


def note_on_runs(card: Card) -> str:
    """How the values and intervals are to be read."""
    return (
        "Each value is the median over runs, with its 95 % interval by order statistics; below six "
        "runs the interval is the range of the runs, whose confidence is lower. Fractions have "
        "Wilson's interval. Run i of every algorithm has the same seed."
        + (" This is a quick run: few repetitions, fewer paths." if card.quick else "")
    )
