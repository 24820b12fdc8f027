"""What the library for command lines says of a wrong word, in the words of the other messages."""

from __future__ import annotations

import difflib
import re

_REASONS = (
    (r"Input should be a valid integer.*", "a whole number is expected"),
    (r"Input should be a valid number.*", "a number is expected"),
    (r"Input should be greater than or equal to (\S+)", r"it has to be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"it has to be at most \1"),
)
# Commands that other tools have, and what does their work here.
_ELSEWHERE = {
    "sweep": "a sweep is a study folder without claims (docs/guides/studies.md), or a loop in "
    "Python over slowstart.compare",
    "analyze": "a capture is analyzed with other tools; the time series of runs are in "
    "Result.flow_traces() of Python, and in run --traces",
}


def usage(text: str, command: str, commands: list[str]) -> str:
    """One clause about what was wrong, without a full stop."""
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
        word = unknown[1]
        hint = f"; {_ELSEWHERE[word]}" if word in _ELSEWHERE else _nearest(word, commands)
        return f"there is no command {word}{hint}"
    if text.startswith("No such option") and command.endswith(" emulate"):
        text += "; if it belongs to the command, put -- before the command"
    return text


def _named(match: re.Match[str]) -> str:
    name = match[2] or match[1]
    return f"{name}: "


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else f" (known: {', '.join(known)})"
