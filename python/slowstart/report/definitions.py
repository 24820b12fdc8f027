"""Tables of two columns, a name and what it means, on standard output.

``slowstart list`` writes hundreds of their rows. The library for tables of results takes a
tenth of a second of CPU time for these.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# The codes of a terminal (ECMA-48, select graphic rendition).
BOLD, DIM, _ITALIC = "1", "2", "3"
# Output to a pipe or a file has lines as long as necessary.
WIDE = 160
# A column of text has at least so many characters.
_LEAST = 20


class Words(NamedTuple):
    """A text, and how a terminal shows it."""

    text: str
    style: str = ""


def is_piped() -> bool:
    """Whether standard output is not a terminal, and needs neither line breaks nor boxes."""
    return not sys.stdout.isatty()


def _width() -> int:
    return WIDE if is_piped() else shutil.get_terminal_size().columns


def _styled(line: str, style: str) -> str:
    is_shown = style and not is_piped() and os.environ.get("TERM") != "dumb"
    return f"\x1b[{style}m{line}\x1b[0m" if is_shown else line


def _wrapped(text: str, width: int) -> list[str]:
    lines = (textwrap.wrap(each, width, break_on_hyphens=False) for each in text.splitlines())
    return [each for line in lines for each in line]


def write_text(text: str) -> None:
    """Writes a paragraph."""
    sys.stdout.write("\n".join(_wrapped(text, _width())) + "\n")


def write_definitions(title: str, rows: Sequence[tuple[Words, ...]]) -> None:
    """Writes a titled table. A row has a name, and one or several texts below each other."""
    names = max((len(row[0].text) for row in rows), default=0)
    width = max(_LEAST, _width() - names - 6)
    lines = [_styled(title, _ITALIC), ""]
    for name, *texts in rows:
        head = _styled(name.text, name.style) + " " * (names - len(name.text))
        for words in texts:
            for line in _wrapped(words.text, width):
                lines.append(f"  {head}   {_styled(line, words.style)}".rstrip())
                head = " " * names
    sys.stdout.write("\n".join(lines) + "\n\n")
