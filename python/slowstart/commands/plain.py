"""Rewrites Typer's usage errors in the style of the other messages."""

from __future__ import annotations

import difflib
import re

_REASONS = (
    (r"Input should be a valid integer.*", "expected an integer"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
)


def usage(text: str, command: str, commands: list[str]) -> str:
    """Describes the error in one clause, without a full stop."""
    text = text.rstrip(".")
    for pattern, words in _REASONS:
        text = re.sub(pattern, words, text)
    text = re.sub(r"^Invalid value for '([^']*)'(?: / '([^']*)')?: ", _named, text)
    choice = re.search(r"Value error, '(.*)' is not one of (.*)$", text)
    if choice:
        known = re.findall(r"'([^']*)'", choice[2])
        text = f"{text[: choice.start()]}there is no {choice[1]}{_nearest(choice[1], known)}"
    unknown = re.fullmatch(r"No such command '(.*)'", text)
    if unknown:
        return f"there is no command {unknown[1]}{_nearest(unknown[1], commands)}"
    if text.startswith("No such option") and command.endswith(" emulate"):
        text += "; if the option belongs to the command, put -- before the command"
    return text


def _named(match: re.Match[str]) -> str:
    name = match[2] or match[1]
    return f"{name}: "


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else f" (known: {', '.join(known)})"
