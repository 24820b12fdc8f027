"""Runs a command behind an emulated path."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

from slowstart._native import emulate, enter_user_namespace
from slowstart.errors import InputError, complain
from slowstart.report.tables import number, rate
from slowstart.running import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds between updates of the live line, long enough to measure a rate.
_PERIOD_S = 0.5


class _Live:
    """A status line on standard error: rate, queue, drops and any marks of the forward link."""

    def __init__(self) -> None:
        self._shown = time.monotonic()
        self._before = (0.0, 0)

    def __call__(self, seconds: float, count: int, waiting: int, drops: int, marks: int) -> None:
        now = time.monotonic()
        if now - self._shown < _PERIOD_S:
            return
        since, before = self._before
        if seconds <= since:
            return
        speed = rate(8 * (count - before) / (seconds - since)) if count > before else "0 bit/s"
        # Return the cursor, so that the command's own output starts at the beginning of the line.
        lost = f"{drops} drops" + (f"  {marks} marks" if marks else "")
        sys.stderr.write(f"\r\x1b[K{number(seconds)} s  {speed}  queue {waiting} packets  {lost}\r")
        sys.stderr.flush()
        self._shown, self._before = now, (seconds, count)

    def end(self) -> None:
        """Removes the line."""
        sys.stderr.write("\r\x1b[K")


def run(
    path: str,
    command: Sequence[str],
    *,
    seed: int,
    upload: bool,
    capture: str | None,
    capture_side: str,
    log: str | None,
    force: bool,
    server_command: str | None,
    live: bool,
) -> int:
    """Runs ``command`` behind ``path`` and returns its exit status.

    Raises:
        InputError: An argument is invalid, or this machine lacks something.
    """
    if shutil.which(command[0]) is None:
        raise InputError(f"cannot run `{command[0]}`: there is no such program")
    with contextlib.suppress(InputError):  # emulate() reports what is missing
        enter_user_namespace()
    if sys.stdin.isatty():
        # The terminal sends Ctrl-C to the command too, which handles it, as in a shell.
        signal.signal(signal.SIGINT, lambda *_: None)
    reverse = compare(path, "cubic", size="1 kB")[0].resolved["path"].get("reverse")
    line = _Live() if live else None
    try:
        status, reasons, listened = emulate(
            path,
            command,
            seed=seed,
            upload=upload,
            capture=capture,
            capture_side=capture_side,
            log=log,
            force=force,
            server_command=server_command,
            watch=line,
        )
    finally:
        if line is not None:
            line.end()
    if reverse is not None and reverse["service"]["kind"] == "unlimited":
        what = "downloads" if upload else "uploads"
        complain(
            f"the reverse direction of this path has no rate limit: the command's {what} were not "
            "limited"
        )
    if not listened:
        complain(
            "the server command did not listen on a port within 10 s; the command was started "
            "anyway"
        )
    if reasons:
        complain(f"the emulation failed its timing self-check: {'; '.join(reasons)}")
    return status
