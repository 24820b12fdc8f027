"""What can go wrong, for callers to catch, and how the command says so.

The compiled half raises the same classes.
"""

from __future__ import annotations

import sys


class InputError(ValueError):
    """The input was wrong. The message is one sentence that names the place and the fix."""


class RunError(RuntimeError):
    """A run failed though its input was accepted. The message is one sentence."""


def complain(sentence: str, status: int = 0) -> int:
    """Says ``sentence`` on standard error, and returns the exit status that goes with it."""
    line = " ".join(sentence.split())
    sys.stderr.write(f"slowstart: {line}\n")
    return status
