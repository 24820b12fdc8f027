"""The kinds of figures that can be drawn from a saved result."""

from __future__ import annotations

from enum import Enum


class Kind(str, Enum):
    """The kinds, by their names in ``slowstart plot``. The names of their files begin with these.

    :data:`slowstart.report.redraw.KINDS` has what draws each of them.
    """

    EVOLUTION = "evolution"
    COMPLETION = "completion"
    DISTRIBUTIONS = "distributions"
    EXIT_SHARES = "exit-shares"
    EXIT_COST = "exit-cost"
    SHARING = "sharing"
    THROUGHPUT_DELAY = "throughput-delay"
    NETWORK = "network"
    RATE_CHANGES = "rate-changes"
    VISITS = "visits"
    RESPONSE_TIMES = "response-times"
    RESPONSE_DISTRIBUTIONS = "response-distributions"
    QUEUES = "queues"


NAMES = tuple(kind.value for kind in Kind)
"""Those names."""


def of(file: str) -> str | None:
    """The kind of the figure of this name; ``None`` if nothing draws it again."""
    return next((name for name in NAMES if file.startswith(name)), None)
