"""Numbers with units: read, interpolated, and written as scenario files write them.

A number counts base units: bit/s, seconds, bytes, and a fraction for per cent. A unit that is not
listed is its own base unit, such as ``bdp`` and ``packets``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*?)\s*")

# By unit: the base unit and the factor, as in the language of scenario files.
_UNITS: dict[str, tuple[str, Decimal]] = {
    **{
        f"{prefix}{unit}": ("bit/s", Decimal(factor) * size)
        for unit, size in (("bit/s", 1), ("bps", 1), ("b/s", 1), ("B/s", 8))
        for prefix, factor in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12))
    },
    **{
        unit: ("s", Decimal(factor))
        for unit, factor in (
            ("ns", "1e-9"), ("us", "1e-6"), ("\u00b5s", "1e-6"), ("\u03bcs", "1e-6"),
            ("ms", "1e-3"), ("s", "1"), ("min", "60"), ("h", "3600"),
        )
    },
    **{
        unit: ("B", Decimal(factor))
        for unit, factor in (
            ("B", 1), ("byte", 1), ("bytes", 1), ("kB", 10**3), ("MB", 10**6), ("GB", 10**9),
            ("TB", 10**12), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
        )
    },
    "%": ("1", Decimal("0.01")),
    "BDP": ("bdp", Decimal(1)),
    **dict.fromkeys(("packets", "packet", "pkts", "pkt"), ("packets", Decimal(1))),
}  # fmt: skip
# The smallest amount of a base unit that a scenario can say.
_SMALLEST = {
    "bit/s": Decimal(1),
    "s": Decimal("1e-9"),
    "B": Decimal(1),
    "packets": Decimal(1),
    "bdp": Decimal("1e-6"),
}
# How many of the smallest amounts a base unit has, and the unit in which their number is written.
_COUNTED = {
    "bit/s": (1, "bit/s"),
    "s": (10**9, "ns"),
    "B": (1, "B"),
    "packets": (1, "packets"),
}
# Digits of a value between the ends of a range.
_DIGITS = 6
# The end of a column's name, by base unit.
SUFFIX = {"bit/s": "bps", "s": "s", "B": "bytes", "1": "ratio"}


@dataclass(frozen=True)
class Quantity:
    """A number with a unit."""

    number: Decimal
    unit: str
    """As written; empty for a plain number."""

    @property
    def base(self) -> str:
        """The base unit; empty for a plain number."""
        return _UNITS.get(self.unit, (self.unit, None))[0]

    @property
    def value(self) -> float:
        """The number of base units."""
        return float(self.number * factor(self.unit))


def factor(unit: str) -> Decimal:
    """How many base units a unit has."""
    return _UNITS.get(unit, (unit, Decimal(1)))[1]


def base(unit: str) -> str:
    """The base unit of a unit."""
    return _UNITS.get(unit, (unit, None))[0]


def read(value: object) -> Quantity | None:
    """The number with its unit; ``None`` for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return Quantity(Decimal(repr(value)), "")
    found = _NUMBER.fullmatch(value)
    if found is None or (found[2] and not _is_unit(found[2])):
        return None
    if not found[2]:
        return None  # a quoted number is a word
    return Quantity(Decimal(found[1]), found[2])


def _is_unit(text: str) -> bool:
    return (
        text in _UNITS
        or re.fullmatch(r"[A-Za-z\u00b0%][A-Za-z0-9/\u00b2]*|/[a-z]+", text) is not None
    )


def rounded(value: float, unit: str) -> Decimal:
    """A number of ``unit`` to six digits, and no finer than scenarios can say."""
    number = Decimal(f"{value:.{_DIGITS - 1}e}")
    smallest = _SMALLEST.get(base(unit))
    if smallest is not None:
        scale = factor(unit)
        number = (number * scale / smallest).to_integral_value() * smallest / scale
    return number


def written(number: Decimal, unit: str) -> str:
    """A number with its unit, without an exponent."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}" if unit else text


def quick(value: float, scale: float, base: str) -> tuple[str, float] | None:
    """A number of units of ``scale`` base units, rounded, with its unit as TOML, and in base units.

    The same as :func:`rounded` and :func:`written`, in smaller units and without decimals; ``None``
    for a unit that needs them.
    """
    if base not in _COUNTED:
        return None
    per, unit = _COUNTED[base]
    count = round(float(f"{value:.{_DIGITS - 1}e}") * scale * per)
    return f'"{count} {unit}"', count / per
