"""The range of values that agrees with a claim, and number formatting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowstart.report.tables import number
from slowstart.stats import newcombe, wilson

if TYPE_CHECKING:
    from collections.abc import Callable

    from slowstart.studies.estimates import Estimate
    from slowstart.studies.files import Node


_NORMAL_95 = 1.959964
_MOST_RUNS = 1_000_000
"""Beyond this many runs, no run of a study decides a claim."""


@dataclass(frozen=True)
class Expected:
    """A range of values; ``None`` is an open end."""

    low: float | None
    high: float | None
    value: float | None = None
    """The centre, if the range was given as a value and a tolerance, or as a published mean."""
    sd: float | None = None
    """Of a published mean: the standard deviation of its runs."""
    n: int = 0
    """Of a published mean or fraction: the number of its runs."""
    rounding: float = 0.0
    """Of a published mean: half of its last printed digit."""
    count: int | None = None
    """Of a published fraction: the runs of ``n`` that count."""

    def beside(self, low: float | None, high: float | None) -> Expected:
        """The range beside our 95 % interval of the same mean.

        A published mean agrees with ours if they differ by no more than the rounding of the print
        and the 95 % interval of a difference of two means: the standard errors of both samples,
        added in quadrature. The range never exceeds one published standard deviation of runs.
        """
        if self.sd is None or self.value is None:
            return self
        ours = (high - low) / 2 if low is not None and high is not None else 0.0
        theirs = _NORMAL_95 * self.sd / math.sqrt(self.n)
        tolerance = min(self.rounding + math.hypot(theirs, ours), self.sd)
        return replace(self, low=self.value - tolerance, high=self.value + tolerance, sd=None)

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies in the range."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def refutes(self, found: Estimate) -> bool:
        """Whether a value outside the range is outside it by more than chance explains.

        The errors of both samples count where the publication has a sample: of a mean, both
        standard errors; of a fraction, Newcombe's interval of the difference. Otherwise no value of
        our interval may lie in the range. A value without an interval is exact.
        """
        if self.holds(found.value):
            return False
        return self._refutes_with(found, 1.0)

    def runs_to_decide(self, found: Estimate) -> int | None:
        """About how many runs bring the interval to one side of the edge, if the value stays.

        The width of an interval falls with the square root of the number of runs. ``None`` if more
        than a million runs would be needed, or no number suffices, because the publication's own
        sample is too small.
        """
        if found.low is None or found.high is None or not found.runs:
            return None
        factor = 1.0
        while found.runs * factor < _MOST_RUNS:
            if self._decides_with(found, factor):
                return math.ceil(found.runs * factor)
            factor *= 1.05
        return None

    def _decides_with(self, found: Estimate, factor: float) -> bool:
        """Whether ``factor`` times the runs would put the whole interval on one side."""
        if not self.holds(found.value):
            return self._refutes_with(found, factor)
        low, high = _narrowed(found, factor)
        return self.holds(low) and self.holds(high)

    def _refutes_with(self, found: Estimate, factor: float) -> bool:
        """:meth:`refutes`, with an interval as narrow as ``factor`` times the runs make it."""
        low, high = _narrowed(found, factor)
        if self.sd is not None and self.value is not None:
            theirs = _NORMAL_95 * self.sd / math.sqrt(self.n)
            chance = self.rounding + math.hypot(theirs, (high - low) / 2)
            return abs(found.value - self.value) > chance
        if self.count is not None:
            ours = round(found.runs * factor)
            apart = newcombe(found.value, ours, self.count / self.n, self.n)
            return apart is not None and not apart[0] <= 0 <= apart[1]
        return (self.low is not None and high < self.low) or (
            self.high is not None and low > self.high
        )

    def words(self, unit: str, show: Callable[[float], str] | None = None) -> str:
        """The range in a few words; ``show`` formats its numbers (default: :func:`plain`)."""
        show = show or plain
        unit = f" {unit}" if unit else ""
        if self.sd is not None and self.value is not None:
            return f"{show(self.value)}{unit} within both standard errors"
        if self.count is not None:
            return f"{self._ends(unit, show)}: {self.count} of {self.n}"
        if self.value is not None and self.low is not None and self.high is not None:
            both = self.value - self.low, self.high - self.value
            if math.isclose(*both, rel_tol=1e-6):
                return f"{show(self.value)} ± {show(both[0])}{unit}"
        return self._ends(unit, show)

    def _ends(self, unit: str, show: Callable[[float], str]) -> str:
        if self.low is None and self.high is not None:
            if self.high < 0:  # of a difference
                return f"less by at least {show(-self.high)}{unit}"
            return f"at most {show(self.high)}{unit}"
        if self.high is None and self.low is not None:
            return f"at least {show(self.low)}{unit}"
        return f"{show(self.low or 0.0)} to {show(self.high or 0.0)}{unit}"


def _narrowed(found: Estimate, factor: float) -> tuple[float, float]:
    """The interval that ``factor`` times the runs would give about the same value."""
    if found.low is None or found.high is None:
        return found.value, found.value
    root = math.sqrt(factor)
    return (
        found.value - (found.value - found.low) / root,
        found.value + (found.high - found.value) / root,
    )


def plain(value: float, digits: int = 4) -> str:
    """A number with ``digits`` significant digits and no trailing zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_expected(node: Node) -> Expected:
    """Reads ``expected``.

    A value and a tolerance, a published mean and its sd, a published fraction as a count, or low
    and high.
    """
    table = node.table("expected")
    table.only("value", "tolerance", "low", "high", "sd", "n", "rounding", "count", "better")
    if table.has("count"):
        return _read_fraction(table)
    if table.has("better"):
        raise table.refuse("better belongs to a count of n runs", "better")
    if table.has("sd"):
        for key in ("tolerance", "low", "high"):
            if table.has(key):
                raise table.refuse(f"expected has a published mean with its sd, or {key}, not both")
        table.need("value", "n", "rounding")
        value, sd = table.number("value"), table.number("sd")
        if not sd > 0:
            raise table.refuse("sd must be above 0", "sd")
        n, rounding = table.integer("n", 0, least=2), table.number("rounding")
        return Expected(value - sd, value + sd, value, sd, n, rounding)
    if table.has("value"):
        value = table.number("value")
        if table.has("low") or table.has("high"):
            raise table.refuse("expected has a value with a tolerance, or low and high, not both")
        table.need("tolerance")
        given = table.value["tolerance"]
        if isinstance(given, str):
            percent = given.strip().removesuffix("%").strip()
            try:
                tolerance = abs(value) * float(percent) / 100
            except ValueError as error:
                message = 'tolerance: expected a number, or a percentage such as "5 %"'
                raise table.refuse(message, "tolerance") from error
        else:
            tolerance = table.number("tolerance")
        if not tolerance >= 0:
            raise table.refuse("tolerance is negative", "tolerance")
        return Expected(value - tolerance, value + tolerance, value)
    low = table.number("low") if table.has("low") else None
    high = table.number("high") if table.has("high") else None
    if low is None and high is None:
        raise table.refuse("expected needs a value with a tolerance, or low, or high")
    if low is not None and high is not None and low > high:
        raise table.refuse("low is above high", "low")
    return Expected(low, high)


def _read_fraction(table: Node) -> Expected:
    """Reads ``{ count = 72, n = 77 }``: Wilson's interval, open on its ``better`` side."""
    for key in ("value", "tolerance", "low", "high", "sd", "rounding"):
        if table.has(key):
            raise table.refuse(f"expected has a count of n runs, or {key}, not both")
    table.need("n")
    n = table.integer("n", 0, least=1)
    count = table.integer("count", 0, least=0)
    if count > n:
        raise table.refuse(f"count is above n, which is {n}", "count")
    low, high = wilson(count, n) or (0.0, 1.0)
    better = table.choice("better", ("neither", "more", "fewer"), "neither")
    return Expected(
        0.0 if better == "fewer" else low,
        1.0 if better == "more" else high,
        count / n,
        n=n,
        count=count,
    )
