"""How figures look: their files' formats, their width, and their theme.

Figures that are drawn and saved within :func:`using` have the look that it sets.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slowstart.errors import InputError
from slowstart.figures import colors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMATS = ("pdf", "svg", "png")
USUAL = ("svg",)
_UNITS_IN = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LEAST_IN, _MOST_IN = 2.0, 40.0


@dataclass(frozen=True)
class Theme:
    """Colours, font and lines of figures; ``None`` is as without a theme."""

    colors: tuple[tuple[str, str], ...] = ()
    """Pairs of a label, or an algorithm's name, and its colour (``#rrggbb``)."""
    font: str | None = None
    """The name of an installed font."""
    font_size: float | None = None
    """Size of axis labels in points; other text keeps its proportion to it."""
    line_width: float | None = None
    """Width of lines in points; lines that may coincide keep their proportions to it."""
    title: bool = True
    """Whether figures have a title, which a paper's caption may replace."""


@dataclass(frozen=True)
class Look:
    """How figures are drawn and saved."""

    formats: tuple[str, ...] = USUAL
    """The formats of a figure's files: some of :data:`FORMATS`."""
    width_in: float | None = None
    """The width of every figure in inches; ``None``: what its panels need side by side."""
    height_in: float | None = None
    """The height of every figure in inches; ``None``: what its panels need."""
    across: int | None = None
    """The most panels side by side; ``None``: as many as fit."""
    theme: Theme = field(default_factory=Theme)
    """Colours, font and lines."""


_look: ContextVar[Look] = ContextVar("look", default=Look())  # noqa: B039 (a Look is frozen)


def current() -> Look:
    """The look that holds now.

    Returns:
        That of the innermost :func:`using`, or else the default.

    Example:
        >>> current().formats
        ('svg',)
    """
    return _look.get()


@contextmanager
def using(look: Look) -> Iterator[None]:
    """Draws and saves figures with ``look`` within the block.

    Args:
        look: Formats, width and theme.

    Returns:
        A context manager, which restores the previous look.

    Example:
        >>> with using(Look(formats=("pdf",), width_in=3.3)):
        ...     current().width_in
        3.3
    """
    token, before = _look.set(look), colors.CHOSEN.set(dict(look.theme.colors))
    try:
        yield
    finally:
        _look.reset(token)
        colors.CHOSEN.reset(before)


def formats(given: Sequence[str]) -> tuple[str, ...]:
    """The formats named by the values of ``--format``; :data:`USUAL` if there is none.

    Args:
        given: Words, each with one format or with several separated by commas.

    Returns:
        Some of :data:`FORMATS`, each once, in the order given.

    Raises:
        InputError: One is unknown or empty.

    Example:
        >>> formats(["pdf,png", "PDF"])
        ('pdf', 'png')
    """
    named = [each.strip().lower() for value in given for each in value.split(",")]
    for each in named:
        if each not in FORMATS:
            raise InputError(f"--format {each or 'with an empty name'}: use pdf, svg or png")
    return tuple(dict.fromkeys(named)) or USUAL


def width(text: str | None, option: str = "--width") -> float | None:
    """A width or height such as ``3.3in``, ``84 mm`` or ``8.4cm`` in inches.

    Args:
        text: The length with its unit: ``in``, ``cm`` or ``mm``.
        option: What errors call it.

    Returns:
        The width in inches, from 2 to 40; ``None`` for ``None``.

    Raises:
        InputError: It has no known unit, or is out of range.

    Example:
        >>> width("127 mm")
        5.0
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(in|cm|mm)\s*", text)
    if match is None:
        raise InputError(f"{option} {text!r} is not a {option[2:]}: write 3.3in, 8.4cm or 84mm")
    inches = float(match[1]) * _UNITS_IN[match[2]]
    if not _LEAST_IN <= inches <= _MOST_IN:
        raise InputError(
            f"{option} {text.strip()} is out of range: a figure is {_LEAST_IN:g} to "
            f"{_MOST_IN:g} inches {'wide' if option == '--width' else 'high'}"
        )
    return inches
