"""What can go wrong, for callers to catch. The compiled half raises the same classes."""

from __future__ import annotations


class InputError(ValueError):
    """The input was wrong. The message is one sentence that names the place and the fix."""


class RunError(RuntimeError):
    """A run failed though its input was accepted. The message is one sentence."""
