"""Tables of two columns: the lines fit, and lose no word."""

from __future__ import annotations

import pytest

from slowstart.report import definitions
from slowstart.report.definitions import BOLD, DIM, Words, write_definitions

SUMMARY = "adds one segment per round trip, and halves the window on congestion"
ROWS = [
    (Words("reno", BOLD), Words(SUMMARY), Words("from published code", DIM)),
    (Words("  :hz=250", DIM), Words("ticks per second")),
]


def test_lines_fit_and_keep_every_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(definitions, "_width", lambda: 40)
    write_definitions("avoidance", ROWS)
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 40
    words = ["avoidance", "reno", *SUMMARY.split(), "from", "published", "code"]
    assert shown.split() == [*words, ":hz=250", "ticks", "per", "second"]
    # Every text begins in the same column.
    column = lines[2].index("adds")
    assert all(line[:column].strip() == "" for line in lines[3:5])
    assert any(line[column:] == "ticks per second" for line in lines)


def test_a_terminal_shows_styles_and_a_pipe_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_definitions("avoidance", ROWS)
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    write_definitions("avoidance", ROWS)
    assert "\x1b[1mreno\x1b[0m" in capsys.readouterr().out
