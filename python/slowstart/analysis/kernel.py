"""The error of ``slowstart analyze`` on connections of the running kernel.

The kernel's own TCP uploads over emulated paths, with its own congestion controls and with
programs of this project (``slowstart kernel``). Each run is captured at the sender, at the receiver
or behind the bottleneck, while the kernel's trace event ``tcp:tcp_probe`` reports the real window
and threshold, which are the truth. A run has several connections, one after the other, and they
count even if the emulator's timing was late, because truth and capture are of the same run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart._native import (
    analyze_file,
    emulate,
    kernel_load,
    kernel_status,
    kernel_unload,
)
from slowstart.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PATHS = ("wired", "dsl", "lte", "leo", "docsis")
ALGORITHMS = ("cubic", "reno", "bbr")
# Loaded as programs.
PROGRAMS = ("cubic+standard", "cubic+search", "cubic+hystart++")
QUICK_PATHS = ("wired", "lte")
SIDES = ("sender", "receiver", "middle")
SIZES = (500_000, 2_000_000, 4_000_000, 8_000_000)
_TRACING = Path("/sys/kernel/tracing")
_PORT = 5001
_INFINITE = 2147483647
# How long after its departure a SYN passes the capture, in smallest RTTs: the links delay both
# directions alike, and the point in the middle is half of a link before the receiver.
_AFTER = {"sender": 0.0, "middle": 0.25, "receiver": 0.5}
# A threshold below this part of the window is a response (CUBIC: 0.7, Reno: 0.5).
_RESPONSE = 0.85
_LINE = re.compile(
    r" (?P<time>[0-9]+\.[0-9]+): tcp_probe: .*src=\S+:(?P<port>[0-9]+) dest="
    r".* snd_nxt=(?P<next>0x[0-9a-f]+) .* snd_cwnd=(?P<cwnd>[0-9]+) ssthresh=(?P<ssthresh>[0-9]+)"
)
# The client opens a connection for each size; cached metrics would begin with the last threshold.
# The kernel logs established connections only, so they stay so until all is acknowledged.
_CLIENT = """
import fcntl, socket, struct, sys, termios, time
try:
    open("/proc/sys/net/ipv4/tcp_no_metrics_save", "w").write("1")
except OSError:
    pass
for size in map(int, sys.argv[2:]):
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
        s.connect(("10.77.0.2", 5001))
        s.sendall(bytes(size))
        while struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)))[0]:
            time.sleep(0.02)
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
    time.sleep(0.2)
"""
_SERVER = """
import socket
with socket.create_server(("", 5001)) as server:
    while True:
        peer, _ = server.accept()
        with peer:
            while peer.recv(1 << 20):
                pass
"""


@dataclass(frozen=True)
class Case:
    """A run: its path, congestion control and its name in the kernel, captured side, number."""

    path: str
    algorithm: str
    control: str
    side: str
    run: int

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.path}-{self.algorithm}-{self.side}-{self.run}"


@contextlib.contextmanager
def controls() -> Iterator[tuple[dict[str, str], list[str]]]:
    """The kernel's name of each algorithm that it has, and sentences about those left out.

    Loads the programs, and unloads those that it has loaded.
    """
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    usable = file.read_text(encoding="ascii").split() if file.exists() else []
    names = {each: each for each in ALGORITHMS if each in usable}
    absent = [each for each in ALGORITHMS if each not in usable]
    notes = [f"Left out: {', '.join(absent)}, which this kernel does not have."] if absent else []
    loaded: list[str] = []
    try:
        try:
            for algorithm in PROGRAMS:
                (control,) = json.loads(kernel_status([algorithm]))["controls"]
                if not control["loaded"]:
                    kernel_load([algorithm])
                    loaded.append(control["name"])
                names[algorithm] = control["name"]
        except (InputError, RunError) as error:
            lacking = [each for each in PROGRAMS if each not in names]
            notes.append(f"Left out: {', '.join(lacking)} on the kernel, because {error}")
        yield names, notes
    finally:
        if loaded:
            kernel_unload(loaded)


def cases(runs: int, names: Mapping[str, str], *, quick: bool = False) -> list[Case]:
    """The grid, for the algorithms in ``names``."""
    return [
        Case(path, algorithm, name, side, run)
        for path in (QUICK_PATHS if quick else PATHS)
        for algorithm, name in names.items()
        for side in SIDES
        for run in range(runs)
    ]


def missing() -> str | None:
    """Why this machine cannot make the comparison, in a sentence."""
    if os.geteuid():
        return "the trace event tcp:tcp_probe needs root"
    if not (_TRACING / "events/tcp/tcp_probe/enable").exists():
        return (
            f"{_TRACING} has no event tcp:tcp_probe: mount it with "
            f"`mount -t tracefs nodev {_TRACING}` as root"
        )
    return None


@contextlib.contextmanager
def _probing(file: Path) -> Iterator[None]:
    """Writes the lines of ``tcp:tcp_probe`` to ``file``."""
    instance = _TRACING / "instances" / "slowstart"
    instance.mkdir(exist_ok=True)
    event = instance / "events/tcp/tcp_probe"
    try:
        (instance / "buffer_size_kb").write_text("16384")
        (instance / "trace_clock").write_text("mono")
        (instance / "trace").write_text("")
        (event / "filter").write_text(f"dport == {_PORT}")
        (event / "enable").write_text("1")
        yield
        (event / "enable").write_text("0")
        lines = (instance / "trace").read_bytes()
        # The capture has the time of day, the trace the monotonic clock.
        offset = time.time() - time.monotonic()
        file.write_bytes(b"# offset %.9f\n" % offset + lines)
    finally:
        with contextlib.suppress(OSError):
            (event / "enable").write_text("0")
        instance.rmdir()


def record(case: Case, folder: Path) -> bool:
    """Makes the capture and the log of a case; says whether the timing self-check passed."""
    capture, log = folder / f"{case.name}.pcapng", folder / f"{case.name}.probe"
    sizes = [str(each) for each in SIZES]
    client = [sys.executable, "-c", _CLIENT, case.control, *sizes]
    server = folder / "server.py"
    server.write_text(_SERVER, encoding="utf-8")
    with _probing(log):
        status, late, _ = emulate(
            case.path, client, seed=1 + case.run, upload=True, capture=capture,
            capture_side=case.side, force=True,
            server_command=f"{sys.executable} {server}",
        )  # fmt: skip
        time.sleep(0.1)
    if status:
        raise InputError(f"{case.name}: the client ended with status {status}")
    return not late


@dataclass
class Known:
    """What the kernel's log says of a connection: the end of slow start, or none."""

    time_s: float = 0.0
    cwnd: int = 0
    ssthresh: int = _INFINITE
    reason: str = "completed"
    exit_cwnd: int | None = None
    # The next byte to send: at the end of slow start, and at last.
    exit_next: int | None = None
    next: int = 0

    @property
    def is_hidden(self) -> bool:
        """Whether a decision came after the last new data, so that no packet shows it."""
        return self.reason == "heuristic" and self.exit_next == self.next


def known(log: Path) -> dict[str, Known]:
    """The truth for each port of the sender: the first change of the slow-start threshold.

    The event comes before the kernel processes an ACK, so a line shows what the ACK of the line
    before has done. A threshold of the window is a decision of the sender; one far below it is the
    response to a loss. BBR lowers it only when its start-up ends. Times are of the time of day, and
    windows in segments.
    """
    found: dict[str, Known] = {}
    with log.open(encoding="ascii", errors="replace") as lines:
        offset = float(next(lines).split()[-1])
        for line in lines:
            match = _LINE.search(line)
            if match is None:
                continue
            time_s, port = float(match["time"]) + offset, match["port"]
            cwnd, ssthresh = int(match["cwnd"]), int(match["ssthresh"])
            one = found.setdefault(port, Known())
            before, one.next = one.next, int(match["next"], 16)
            if one.exit_cwnd is None and ssthresh < _INFINITE:
                is_response = ssthresh < _RESPONSE * one.cwnd
                one.reason = "loss" if is_response else "heuristic"
                one.exit_cwnd = one.cwnd if is_response else ssthresh
                one.ssthresh, one.exit_next = ssthresh, before
            elif one.exit_cwnd is None:
                one.time_s, one.cwnd = time_s, cwnd
    return found


def observe(case: Case, folder: Path) -> list[dict[str, Any]]:
    """Truth and verdict of every connection of a case."""
    found = json.loads(analyze_file(folder / f"{case.name}.pcapng"))["connections"]
    truths = known(folder / f"{case.name}.probe")
    rows = []
    for one in found:
        truth = truths.get(one["sender"].rsplit(":", 1)[-1])
        if truth is None or not one["bytes"]:
            continue
        # BBR's threshold is its estimate of the BDP, not its window.
        is_bbr = case.algorithm == "bbr"
        if is_bbr and truth.exit_cwnd is not None:
            truth.reason = "heuristic"
        hides = truth.is_hidden
        reason = "completed" if hides else truth.reason
        exit_ = one["verdict"]["exit"]
        row: dict[str, Any] = {
            "path": case.path, "algorithm": case.algorithm, "workload": f"{one['bytes']} B",
            "vantage": case.side, "run": case.run, "truth": reason,
            "verdict": one["verdict"]["reason"], "confidence": one["verdict"]["confidence"],
            "seen_as": one["vantage"], "time_error_rtt": None, "time_error_mean_rtt": None,
            "window_error": None, "in_interval": None, "segments_equal": None, "hidden": hides,
            "shows": True, "limits": None,
        }  # fmt: skip
        if truth.exit_cwnd is not None and exit_ is not None and one["rtt_ms"] and not hides:
            least = one["rtt_ms"][0] / 1e3
            began = one["start_unix_s"] - _AFTER[case.side] * least
            error = began + exit_["time_s"] - truth.time_s
            row["time_error_rtt"] = error / least
            row["time_error_mean_rtt"] = error / (one["rtt_ms"][1] / 1e3)
            lowest, highest = (began + each for each in exit_["time_interval_s"])
            row["in_interval"] = lowest <= truth.time_s <= highest
            window = (truth.cwnd if is_bbr else truth.exit_cwnd) * one["largest_segment_bytes"]
            row["window_error"] = exit_["cwnd_bytes"] / window - 1
        rows.append(row)
    return rows


def run(
    chosen: Sequence[Case], folder: Path, progress: Callable[[int, int], None]
) -> tuple[list[dict[str, Any]], int]:
    """Records and observes all cases; also returns how many failed the timing self-check."""
    rows: list[dict[str, Any]] = []
    late = 0
    for number, case in enumerate(chosen, 1):
        late += not record(case, folder)
        rows += observe(case, folder)
        progress(number, len(chosen))
    (folder / "server.py").unlink(missing_ok=True)
    return rows, late
