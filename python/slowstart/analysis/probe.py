"""Downloads from a server over a few emulated paths, and the start-up that fits all of them.

Each path is chosen so that other start-ups differ on it: a long one and a short one, a buffer that
holds several BDP, so that delay or the rate decides before a loss, and one that overflows early.
The capture is made at the server's end of the path, where its ACKs are exact, or at the client's.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from slowstart._native import analyze_file, compare_file, emulate
from slowstart.analysis import identify
from slowstart.errors import InputError, RunError
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SERVER = "10.77.0.2"
"""The server's address on every emulated path."""
PATHS = {
    "wired": 'rate = "50 Mbit/s"\nrtt = "100 ms"\nbuffer = "1 bdp"',
    "deep": 'rate = "20 Mbit/s"\nrtt = "60 ms"\nbuffer = "5 bdp"',
    "shallow": 'rate = "40 Mbit/s"\nrtt = "70 ms"\nbuffer = "40 packets"',
    "geo": 'rate = "40 Mbit/s"\nrtt = "600 ms"\nbuffer = "1 bdp"',
    "dsl": 'rate = "10 Mbit/s"\nrtt = "40 ms"\nbuffer = "2 bdp"',
}
"""The paths of a probe unless others are named."""
TRIES = 3
"""Downloads of a path until one passes the emulator's timing self-check."""
FAULT = 0.02
"""How often a download shows something else than the server's start-up, such as a stall."""
HEADS = ("path", "received", "by itself", "initial window", "sending", "left slow start")
_OWN_HOSTS = {"localhost", "127.0.0.1", "0.0.0.0", "::1", SERVER}  # noqa: S104 (not bound)
# The standard library alone, so that it starts at once.
_CLIENT = r"""
import json, signal, socket, ssl, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)  # the emulation ends it by SIGTERM
scheme, host, port, target, most, seconds, report = sys.argv[1:]
begun, got, status = time.monotonic(), 0, None
try:
    link = socket.socket()
    try:
        link.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE: not the limit
    except OSError:
        pass
    link.settimeout(10)
    link.connect((host, int(port)))
    if scheme == "https":
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        link = trust.wrap_socket(link, server_hostname=host)
    head = b""
    if scheme != "tcp":
        ask = f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: slowstart-probe\r\n"
        link.sendall((ask + "Accept-Encoding: identity\r\nConnection: close\r\n\r\n").encode())
    while got < int(most) and time.monotonic() - begun < float(seconds):
        data = link.recv(1 << 18)
        if not data:
            break
        if len(head) < 64:
            head += data[:64]
        got += len(data)
    if scheme != "tcp":
        status = head.decode("latin-1").split("\r\n")[0]
    error = None
except OSError as raised:
    error = str(raised)
made = {"bytes": got, "seconds": time.monotonic() - begun, "status": status, "error": error}
with open(report, "w") as file:
    json.dump(made, file)
"""


def path_file(name: str, folder: Path) -> Path:
    """Writes one of :data:`PATHS` as a path file."""
    file = folder / f"{name}.toml"
    file.write_text(f"[path]\n{PATHS[name]}\n", encoding="utf-8")
    return file


@dataclass(frozen=True)
class Target:
    """What the client asks for."""

    url: str | None
    """``None`` if a command of the user is the client."""
    client: str | None = None
    most: int = 12_000_000
    """Bytes after which the client closes the connection."""
    seconds: float = 20.0
    """Seconds after which it does."""

    def command(self, report: Path) -> list[str]:
        """The client's command; what it received is then in ``report``."""
        if self.client is not None:
            return ["/bin/sh", "-c", self.client.replace("{server}", SERVER)]
        parts = address(self.url or "")
        return [sys.executable, "-I", "-c", _CLIENT, *parts, str(self.most), str(self.seconds),
                str(report)]  # fmt: skip


def address(url: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and request target of a URL of a server on this machine.

    >>> address("http://localhost:8000/file")
    ('http', '10.77.0.2', '8000', '/file')

    Raises:
        InputError: It has another form, or another host.
    """
    form = "a URL has the form http://{server}:PORT/FILE, https://... or tcp://{server}:PORT"
    text = url.replace("{server}", SERVER)
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise InputError(f"--url {url}: {form} ({error})") from error
    if parts.scheme not in {"http", "https", "tcp"} or not parts.hostname:
        raise InputError(f"--url {url}: {form}")
    if parts.hostname not in _OWN_HOSTS:
        raise InputError(
            f"--url {url}: no packet leaves this machine, so the server must be on it: write "
            "{server} for its address. For a server elsewhere, capture a download at the client "
            "(tcpdump -w FILE) and use slowstart analyze FILE --identify"
        )
    if port is None:
        if parts.scheme == "tcp":
            raise InputError(f"--url {url}: tcp needs a port")
        port = 443 if parts.scheme == "https" else 80
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if re.search(r"[\s\x00-\x1f]", target):
        raise InputError(f"--url {url}: write spaces of the path as %20")
    return parts.scheme, SERVER, str(port), target


@dataclass(frozen=True)
class Download:
    """One download, and what it shows by itself."""

    path: str
    run: int
    file: str
    """The capture's name."""
    received: int
    seconds: float
    status: str | None
    """The status line of HTTP."""
    late: tuple[str, ...]
    """Why the emulation failed its timing self-check, three times; empty if it passed."""
    report: dict[str, Any]
    """Of the capture, as :mod:`slowstart.analysis.connections` has it."""
    connection: dict[str, Any] | None
    comparison: dict[str, Any] | None
    alone: identify.Identification | None

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        verdict = None if self.connection is None else self.connection["verdict"]
        return {
            "path": self.path, "run": self.run, "capture": self.file, "bytes": self.received,
            "seconds": self.seconds, "status": self.status, "self_check": list(self.late),
            "verdict": verdict, "identification": self.alone and self.alone.document(),
        }  # fmt: skip

    def row(self) -> list[str]:
        """A row of :data:`HEADS`."""
        name = self.path if not self.run else f"{self.path} ({self.run + 1})"
        got = f"{self.received / 1e6:.3g} MB"
        if self.alone is None or self.alone.why is not None:
            why = "no data came from the server" if self.alone is None else self.alone.why
            return [name, got, f"cannot tell: {why}", "-", "-", "-"]
        best = self.alone.candidates[0]
        chance = identify.percent(best.probability)
        # The packets say when growth stopped; the replay of the likeliest start-up says why.
        left = "no"
        verdict = self.connection and self.connection["verdict"]
        if best.exit is not None:
            left = f"{tables.seconds(best.exit['time_s'])}, {best.exit['evidence']}"
        elif verdict and verdict["exit"]:
            left = f"{tables.seconds(verdict['exit']['time_s'])}, {verdict['reason']}"
        names = ", ".join(best.names)
        if self.alone.best is None:
            names, chance = "none of these", identify.percent(self.alone.none_of_these)
        return [name, got, f"{names} ({chance})", str(best.initial_window),
                "paced" if best.paced else "bursts", left]  # fmt: skip


def download(
    path: tuple[str, str],
    run: int,
    target: Target,
    server: str | None,
    *,
    side: str,
    folder: Path,
) -> Download:
    """Downloads over the path, a name and a path file, and identifies the sender by itself.

    Args:
        path: Name, and what :func:`slowstart._native.emulate` takes as a path.
        run: From 0; the seed of the channel follows from it.
        target: What to download.
        server: Command of the server; None if it listens on this host already.
        side: ``sender`` or ``receiver``: where the capture is made.
        folder: Where the capture is written.

    Raises:
        InputError: This machine cannot emulate, or the server ended.
        RunError: The client could not reach the server.
    """
    name, model = path
    capture = folder / (f"{name}.pcapng" if not run else f"{name}-{run + 1}.pcapng")
    note = folder / ".client.json"
    late: list[str] = []
    for _ in range(TRIES):
        note.unlink(missing_ok=True)
        code, late, listened = emulate(
            model, target.command(note), seed=1 + run, capture=capture, capture_side=side,
            force=True, server_command=server, host=server is None,
        )  # fmt: skip
        made = json.loads(note.read_bytes()) if note.is_file() else None
        note.unlink(missing_ok=True)
        error = made["error"] if made else None
        if made and error and not made["bytes"]:
            silent = "" if listened else "; the server command did not listen within 10 s"
            where = f"{target.url} over {name}"
            raise RunError(f"the client received nothing from {where}: {error}{silent}")
        if made and made["status"] and made["status"].split()[1:2] not in (["200"], ["206"]):
            raise RunError(f"the server answers {target.url} with {made['status']}")
        if target.client is not None and code:
            raise RunError(f"{name}: the client command ended with status {code}")
        if not late:
            break
    report = json.loads(analyze_file(capture, points=1000))
    connection, comparison, alone = _identified(capture, report["connections"])
    received = made["bytes"] if made else (connection["bytes"] if connection else 0)
    return Download(
        name, run, capture.name, received, made["seconds"] if made else 0.0,
        made["status"] if made else None, tuple(late), report, connection, comparison, alone,
    )  # fmt: skip


def _identified(
    capture: Path, connections: list[dict[str, Any]]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, identify.Identification | None]:
    """The connection of a capture in which the server sent most, its comparison, and its answer."""
    sent = [
        each for each in connections if each["sender"].startswith(f"{SERVER}:") and each["bytes"]
    ]
    if not sent:
        return None, None, None
    one = max(sent, key=lambda each: each["bytes"])
    (comparison,) = json.loads(
        compare_file(capture, numbers=[one["number"]], algorithms=identify.candidates())
    )
    return one, comparison, identify.judge([one], [comparison])


def together(downloads: Sequence[Download]) -> identify.Identification:
    """The start-up that fits all downloads."""
    usable = [each for each in downloads if each.connection is not None]
    return identify.judge(
        [{**each.connection, "sender": each.row()[0]} for each in usable if each.connection],
        [each.comparison for each in usable if each.comparison],
        fault=FAULT if len(usable) > 1 else 0.0,
    )


def sentence(found: identify.Identification, downloads: Sequence[Download]) -> str:
    """The answer over all downloads."""
    if found.why is not None:
        return f"The downloads cannot tell which start-up it was: {found.why}."
    best = found.best
    if best is None:
        return (
            "The server's start-up is probably none of these "
            f"({identify.percent(found.none_of_these)}); "
            f"the nearest is {found.candidates[0].names[0]}."
        )
    windows = [each.alone.candidates[0].initial_window for each in downloads
               if each.alone is not None and each.alone.candidates]  # fmt: skip
    low, high = min(windows), max(windows)
    window = f"{low}" if low == high else f"{low} to {high}"
    chance, names = identify.percent(best.probability), identify.listed(best.names)
    text = (
        f"The server's start-up is {names} ({chance}), with an initial window of {window} "
        f"segments, {'paced' if best.paced else 'not paced'}."
    )
    if len(best.names) > 1:
        text += " These leave the same packets on all of these paths."
    return text


def alike(found: identify.Identification) -> list[tuple[str, ...]]:
    """Start-ups that left the same packets in every download, and so are not distinguished."""
    return [each.names for each in found.candidates if len(each.names) > 1]


def run(
    paths: Sequence[tuple[str, str]],
    repeat: int,
    target: Target,
    server: str | None,
    *,
    side: str,
    folder: Path,
    progress: Callable[[int, int], None],
) -> list[Download]:
    """Makes all downloads."""
    made = []
    progress(0, len(paths) * repeat)
    for path in paths:
        for number in range(repeat):
            made.append(download(path, number, target, server, side=side, folder=folder))
            progress(len(made), len(paths) * repeat)
    return made
