"""Compares the speed of a census with tshark and tcptrace on the same capture, in turn.

    run.py FILE.pcap [--rounds N]

Each round runs every program once, one after another, on one thread. It prints the median of MB of
the file per second of CPU time (user and system, children included), and the peak memory. tshark
runs twice: its table of connections, and the fields of its TCP analysis; -n looks up no names.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

FIELDS = ("tcp.stream", "tcp.analysis.bytes_in_flight", "tcp.analysis.ack_rtt",
          "tcp.analysis.retransmission")  # fmt: skip


def commands(file: str, scratch: str) -> dict[str, list[str]]:
    """Each program that is installed, with its command line."""
    fields = [word for each in FIELDS for word in ("-e", each)]
    known = {
        "slowstart census": ["slowstart", "census", file, "-o", f"{scratch}/census",
                             "--threads", "1", "--no-figures"],
        "slowstart analyze": ["slowstart", "analyze", file, "--cost", "0", "--limit", "1"],
        "tshark, connections": ["tshark", "-n", "-r", file, "-q", "-z", "conv,tcp"],
        "tshark, analysis": ["tshark", "-n", "-r", file, "-T", "fields", *fields],
        "tcptrace": ["tcptrace", "-n", "-l", "-r", file],
    }  # fmt: skip
    return {name: words for name, words in known.items() if shutil.which(words[0])}


def measure(words: list[str]) -> tuple[float, float]:
    """CPU seconds, and peak memory in MB."""
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(words, stdout=nowhere, stderr=nowhere)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words[0]} failed with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Reads the command line, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    size = Path(given.file).stat().st_size / 1e6
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            for name, words in commands(given.file, scratch).items():
                found.setdefault(name, []).append(measure(words))
    best = statistics.median(cpu for cpu, _ in found["slowstart census"])
    print(f"{given.file}: {size:.0f} MB, {given.rounds} rounds, page size "  # noqa: T201
          f"{resource.getpagesize()}")  # fmt: skip
    print(f"{'program':<22}{'CPU s':>8}{'MB/CPU s':>10}{'times':>7}{'peak MB':>9}")  # noqa: T201
    for name, all_ in found.items():
        cpu, peak = statistics.median(c for c, _ in all_), max(p for _, p in all_)
        print(f"{name:<22}{cpu:8.2f}{size / cpu:10.1f}{cpu / best:7.1f}{peak:9.0f}")  # noqa: T201


if __name__ == "__main__":
    main()
