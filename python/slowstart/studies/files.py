"""Reads a study's files and checks them: every error names file and line."""

from __future__ import annotations

import difflib
import json
import math
from typing import TYPE_CHECKING, Any

from slowstart._native import parse_toml, read_text
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Scalar = str | int | float | bool

_LARGEST = 16_000_000
"""The size limit of a study's file, in bytes."""


def nearest(word: str, known: Iterable[object]) -> str:
    """``; did you mean X?`` if one of ``known`` is similar, else the list of ``known``."""
    words = [str(each) for each in known]
    close = difflib.get_close_matches(word, words, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f" (known: {', '.join(words)})" if words else ""


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(toml(each) for each in value)}]"
    # JSON strings and numbers are valid TOML.
    return json.dumps(value, ensure_ascii=False)


class Node:
    """A table of a TOML file, with its position."""

    def __init__(
        self,
        file: str,
        value: dict[str, Any],
        lines: dict[tuple[str | int, ...], int],
        steps: tuple[str | int, ...] = (),
    ) -> None:
        self.file = file
        self.value = value
        self._lines = lines
        self.steps = steps

    @classmethod
    def read(cls, file: Path) -> Node:
        """The root of a file.

        Raises:
            InputError: The file cannot be read, or is not valid TOML.
        """
        value, lines = parse_toml(read_text(file, _LARGEST), str(file))
        return cls(str(file), value, lines)

    def line(self, *below: str | int) -> int:
        """The line of the key at ``below``, or of the nearest enclosing table."""
        steps = self.steps + below
        while steps:
            if steps in self._lines:
                return self._lines[steps]
            steps = steps[:-1]
        return 1

    def refuse(self, message: str, *below: str | int) -> InputError:
        """An error about the key at ``below``."""
        return InputError(f"{self.file}:{self.line(*below)}: {message}")

    def only(self, *known: str) -> None:
        """Rejects the first key that is not among ``known``."""
        unknown = [key for key in self.value if key not in known]
        if unknown:
            key = min(unknown, key=self.line)
            raise self.refuse(f"unknown key {key}{nearest(key, known)}", key)

    def has(self, key: str) -> bool:
        """Whether the table has ``key``."""
        return key in self.value

    def _get(self, key: str, kinds: tuple[type, ...], what: str) -> Any:
        value = self.value[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.refuse(f"{key}: expected {what}", key)
        return value

    def need(self, *keys: str) -> None:
        """Rejects the table if any of ``keys`` are missing, and names them all."""
        missing = [key for key in keys if key not in self.value]
        if missing:
            verb = "are" if len(missing) > 1 else "is"
            raise self.refuse(f"{listed(missing)} {verb} missing")

    def text(self, key: str, default: str | None = None) -> str:
        """A nonempty string; required unless there is a default."""
        if default is not None and key not in self.value:
            return default
        self.need(key)
        value = str(self._get(key, (str,), "a quoted string")).strip()
        if not value:
            raise self.refuse(f"{key} is empty", key)
        return value

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of some words."""
        value = self.text(key, default)
        if value not in choices:
            raise self.refuse(f'{key} = "{value}" is not known{nearest(value, choices)}', key)
        return value

    def number(self, key: str) -> float:
        """A finite number."""
        self.need(key)
        value = float(self._get(key, (int, float), "a number"))
        if not math.isfinite(value):
            raise self.refuse(f"{key}: expected a finite number", key)
        return value

    def integer(self, key: str, default: int, least: int = 1) -> int:
        """An integer of at least ``least``."""
        if key not in self.value:
            return default
        value = int(self._get(key, (int,), "an integer"))
        if value < least:
            raise self.refuse(f"{key} is {value}; it must be at least {least}", key)
        return value

    def boolean(self, key: str, *, default: bool) -> bool:
        """``true`` or ``false``."""
        return default if key not in self.value else bool(self._get(key, (bool,), "true or false"))

    def texts(self, key: str, default: Sequence[str] = ()) -> list[str]:
        """A list of strings."""
        if key not in self.value:
            return list(default)
        values = self._get(key, (list,), "a list of strings")
        if not all(isinstance(each, str) for each in values):
            raise self.refuse(f"{key}: expected a list of strings", key)
        return list(values)

    def scalars(self, key: str) -> list[Scalar]:
        """A nonempty list of strings, numbers or booleans."""
        values: list[Scalar] = self._get(key, (list,), "a list of values")
        if not values or any(isinstance(each, (dict, list)) for each in values):
            raise self.refuse(f"{key}: expected a list of values", key)
        return values

    def as_if(self, value: dict[str, Any]) -> Node:
        """A table with other content at the same position."""
        return Node(self.file, value, self._lines, self.steps)

    def table(self, key: str) -> Node:
        """The table at ``key``; empty if the key is absent."""
        value = self._get(key, (dict,), "a table") if key in self.value else {}
        return Node(self.file, value, self._lines, (*self.steps, key))

    def tables(self, key: str) -> Iterator[Node]:
        """The tables of an array of tables."""
        values = self._get(key, (list,), f"tables [[{key}]]") if key in self.value else []
        for place, value in enumerate(values):
            if not isinstance(value, dict):
                raise self.refuse(f"{key}: expected tables [[{key}]]", key, place)
            yield Node(self.file, value, self._lines, (*self.steps, key, place))
