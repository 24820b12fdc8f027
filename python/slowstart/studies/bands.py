"""The range of values that agrees with a claim, and number formatting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slowstart.report.tables import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from slowstart.studies.files import Node


_NORMAL_95 = 1.959964


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
    """Of a published mean: the number of its runs."""
    rounding: float = 0.0
    """Of a published mean: half of its last printed digit."""

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

    def words(self, unit: str, show: Callable[[float], str] | None = None) -> str:
        """The range in a few words; ``show`` formats its numbers (default: :func:`plain`)."""
        show = show or plain
        unit = f" {unit}" if unit else ""
        if self.sd is not None and self.value is not None:
            return f"{show(self.value)}{unit} within both standard errors"
        if self.value is not None and self.low is not None and self.high is not None:
            both = self.value - self.low, self.high - self.value
            if math.isclose(*both, rel_tol=1e-6):
                return f"{show(self.value)} ± {show(both[0])}{unit}"
        if self.low is None and self.high is not None:
            return f"at most {show(self.high)}{unit}"
        if self.high is None and self.low is not None:
            return f"at least {show(self.low)}{unit}"
        return f"{show(self.low or 0.0)} to {show(self.high or 0.0)}{unit}"


def plain(value: float, digits: int = 4) -> str:
    """A number with ``digits`` significant digits and no trailing zeros."""
    if value == 0:
        return "0"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    text = number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_expected(node: Node) -> Expected:
    """Reads ``expected``: a value and a tolerance, a published mean and its sd, or low and high."""
    table = node.table("expected")
    table.only("value", "tolerance", "low", "high", "sd", "n", "rounding")
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
