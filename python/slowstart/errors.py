"""The exceptions that callers can catch, and how the command reports them.

The native module raises the same classes.
"""

from __future__ import annotations

import sys


class InputError(ValueError):
    """The input is invalid. The message is one sentence that names the location and the fix."""


class RunError(RuntimeError):
    """A run failed although its input was valid. The message is one sentence."""


def complain(sentence: str, status: int = 0) -> int:
    """Prints ``sentence`` to standard error and returns ``status``, the exit status."""
    line = " ".join(sentence.split())
    sys.stderr.write(f"slowstart: {line}\n")
    return status
