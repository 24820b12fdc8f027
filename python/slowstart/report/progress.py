"""Shows progress and remaining time on standard error, for work longer than a second."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

# Every command that takes longer than this shows progress.
_PATIENCE_S = 1.0


class Meter:
    """Shows ``done`` of ``total`` after a second, if standard error is a terminal."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what = what
        self._silent = quiet or not sys.stderr.isatty()
        self._began = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None
        self._ends: float | None = None

    def __call__(self, done: int, total: int) -> None:
        """Reports that ``done`` of ``total`` runs are finished."""
        if self._silent:
            return
        if self._shown is None:
            soon = self._ends is None or self._ends - self._began < _PATIENCE_S
            if soon and time.monotonic() - self._began < _PATIENCE_S:
                return
            self._shown = self._open(total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)

    def remaining(self, seconds: float) -> None:
        """Sets the remaining time, for runs too different to estimate it from their number."""
        self._ends = time.monotonic() + seconds

    def _left(self) -> str | None:
        """The remaining time as h:mm:ss, if known."""
        if self._ends is None:
            return None
        seconds = max(0, round(self._ends - time.monotonic()))
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    def _open(self, total: int) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            Task,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        left = self._left

        class Left(TimeRemainingColumn):
            """The remaining time that was set, or else an estimate from the pace of the runs."""

            def render(self, task: Task) -> Text:
                known = left()
                return super().render(task) if known is None else Text(known, "progress.remaining")

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            Left(),
            TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(self._what, total=total)

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
