"""Runs commands in forks of one process that has imported the libraries that commands import.

A command is a process of its own, as for a user, but for the second that Python needs to import
matplotlib, polars and pydantic. No module of slowstart but the entry is imported before the fork,
so each command still imports what it needs. ``test_light.py`` has commands from nothing.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

LIBRARIES = (
    "jinja2",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "numpy",
    "polars",
    "pydantic",
    "rich.console",
    "rich.progress",
    "slowstart.commands.cli",
)


class Forks:
    """The process that forks, and how to ask it for a command."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, arguments: tuple[str, ...], folder: Path, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``slowstart`` with ``arguments`` in ``folder``.

        Raises:
            TimeoutExpired: after ``timeout_s`` seconds; the command has ended then.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as outputs:
            request = {
                "arguments": arguments,
                "folder": str(folder),
                "outputs": outputs,
                "environment": dict(os.environ),
                "timeout_s": timeout_s,
            }
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            status = json.loads(self._process.stdout.readline())
            out, err = (Path(outputs, name).read_text(encoding="utf-8") for name in ("out", "err"))
        if status is None:
            raise subprocess.TimeoutExpired(list(arguments), timeout_s, out, err)
        return subprocess.CompletedProcess(["slowstart", *arguments], status, out, err)

    def close(self) -> None:
        """Ends the process that forks."""
        self._process.communicate()


def _run(request: dict[str, Any]) -> NoReturn:
    """Becomes the command, and ends as the interpreter does."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(request["outputs"], name), flags), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    status = 0
    try:
        from slowstart.commands.cli import main

        main()
    except SystemExit as exit_:
        if isinstance(exit_.code, str):
            sys.stderr.write(exit_.code + "\n")
        status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    except BaseException:  # As the interpreter.
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _wait(child: int, timeout_s: float) -> int | None:
    """The exit status of a child, or ``None`` if it had to be ended."""
    deadline = time.monotonic() + timeout_s
    pause = 0.001
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def _serve() -> None:
    """Forks once for each line of standard input."""
    sys.path[0] = ""  # As with ``python -c``.
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request)
        sys.stdout.write(json.dumps(_wait(child, request["timeout_s"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
