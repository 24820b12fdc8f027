"""A start-up that leaves slow start at a window that is known: a stand-in for a real sender.

A capture shows at which window slow start ended, whatever the sender's algorithm is. On a fitted
path this start-up repeats that exit.
"""

from __future__ import annotations

from slowstart.startup import Ack, Exit, Window


class KnownWindow:
    """Slow start (RFC 5681, section 3.1) until the window is ``cwnd`` bytes."""

    def __init__(self, smss: int, initial_window: int, cwnd: int) -> None:
        self._cwnd = max(cwnd, smss, initial_window)

    def on_ack(self, ack: Ack, window: Window) -> int | Exit:
        """Grows by what was delivered, or leaves at the known window."""
        if window.cwnd + ack.delivered >= self._cwnd:
            return Exit(self._cwnd, self._cwnd, reason="known-window")
        return ack.delivered
