"""Themes of figures: colours by label, font, font size and line width, from a TOML file."""

from __future__ import annotations

import difflib
import os
import re
from typing import Any

from slowstart._native import parse_toml, read_text
from slowstart.errors import InputError
from slowstart.figure_style import Theme

_KEYS = ("font", "font_size", "line_width", "title", "colors")
_LIMIT = 1_000_000
# Points.
_SIZES, _WIDTHS = (4.0, 24.0), (0.2, 6.0)


def read(file: str | os.PathLike[str]) -> Theme:
    """Reads a theme file.

    Raises:
        InputError: With file and line: a key is unknown, a value is not valid, or the font is not
            installed.
    """
    name = os.fspath(file)
    tree, lines = parse_toml(read_text(file, _LIMIT), name)

    def refuse(message: str, *keys: str) -> InputError:
        return InputError(f"{name}:{lines.get(keys, 1)}: {message}")

    def number(key: str, low: float, high: float) -> float | None:
        value: Any = tree.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refuse(f"{key} is a number of points", key)
        if not low <= value <= high:
            raise refuse(f"{key} is out of range: {low:g} to {high:g} points", key)
        return float(value)

    for key in tree:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(_KEYS)})"
            raise refuse(f"unknown key {key!r}{hint}", key)
    chosen: Any = tree.get("colors", {})
    if not isinstance(chosen, dict):
        raise refuse('colors is a table: [colors], then "label" = "#rrggbb"', "colors")
    for label, color in chosen.items():
        if not isinstance(color, str) or not re.fullmatch(r"#[0-9A-Fa-f]{6}", color):
            raise refuse(f"the colour of {label!r} is not of the form #rrggbb", "colors", label)
    title = tree.get("title", True)
    if not isinstance(title, bool):
        raise refuse("title is true or false", "title")
    font = tree.get("font")
    if font is not None:
        if not isinstance(font, str) or not font:
            raise refuse("font is the name of a font", "font")
        if not _is_installed(font):
            raise refuse(f"the font {font!r} is not installed on this machine", "font")
    return Theme(
        colors=tuple(chosen.items()),
        font=font,
        font_size=number("font_size", *_SIZES),
        line_width=number("line_width", *_WIDTHS),
        title=title,
    )


def _is_installed(font: str) -> bool:
    from matplotlib import font_manager

    return font in font_manager.get_font_names()
