"""A bulk flow (S1) and an ad-hoc network of 40 nodes (A40R) in ns-3 and in slowstart, in turns.

    python benches/ns3/speed.py DIR --ns3 PREFIX --ours target/release/bench [--repeat N]

PREFIX has ns-3's ``include`` and ``lib64`` (``pip install ns3``: the folder ``ns3`` of
site-packages). The script compiles flow.cc and adhoc.cc (g++) into DIR and runs one process of each
program in turn. All programs are deterministic: only times differ between rounds.

S1 is a CUBIC flow over 50 Mbit/s, 100 ms and 413 packets for 60 s. ns-3 sends as many bytes as such
a link carries in that time, and the time of its whole process counts. The network of A40R is that
of adhoc.toml: places, range, rates, protocols and flows are the same, no radio senses beyond the
range, and construction does not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from build import HERE, compiled

import slowstart

# Bytes of S1 in ns-3, and what of them a packet carries.
BULK, SEGMENT = 355_000_000, 1448


def received() -> tuple[int, int]:
    """Frames and bytes of A40R in slowstart."""
    result = slowstart.run(slowstart.Scenario.from_file(HERE / "adhoc.toml"))
    run = json.loads(result.to_json())["runs"][0]
    return run["network"]["air"]["frames"], sum(flow["bytes_acked"] for flow in run["flows"])


def measured(command: list[str]) -> list[float]:
    """The numbers that a process prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return [float(word) for word in done.stdout.split()]


def cpu_seconds(command: list[str]) -> float:
    """CPU time of a process, its start included."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return used() - before


def quartiles(values: list[float]) -> str:
    """Median and quartiles, with three digits."""

    def rounded(value: float) -> str:
        return f"{float(f'{value:.3g}'):,.{0 if value >= 100 else 1}f}"

    if len(values) == 1:
        return rounded(values[0])
    low, middle, high = map(rounded, statistics.quantiles(values, n=4, method="inclusive"))
    return f"{middle} ({low} to {high})"


class Bulk:
    """S1: packets and CPU seconds of each program."""

    name, unit = "S1", "packet"

    def __init__(self, given: argparse.Namespace) -> None:
        """Compiles ns-3's program."""
        program = compiled("flow", ("point-to-point",), given.ns3, given.folder)
        self._other = [str(program), "--rate=50e6", "--rtt=100", "--packets=413",
                       f"--bytes={BULK}", "--control=ns3::TcpCubic"]  # fmt: skip
        self._ours = [str(given.ours), "--one", "S1"]

    def ns3(self) -> tuple[float, float]:
        """Data packets of the flow, and seconds."""
        return BULK / SEGMENT, cpu_seconds(self._other)

    def slowstart(self) -> tuple[float, float]:
        """Data packets through the bottleneck, and seconds."""
        packets, seconds, *_ = measured(self._ours)
        return packets, seconds


class Adhoc:
    """A40R: frames on the air and CPU seconds of each program."""

    name, unit = "A40R", "frame"

    def __init__(self, given: argparse.Namespace) -> None:
        """Compiles ns-3's program, and compares what slowstart and its benchmark run."""
        parts = ("wifi", "mobility", "propagation", "spectrum", "antenna")
        program = compiled("adhoc", parts, given.ns3, given.folder)
        self._other = [str(program), f"--positions={HERE / 'positions.csv'}"]
        self._ours = [str(given.ours), "--one", self.name]
        self._frames, arrived = received()
        frames, _, other = measured(self._other)
        sys.stdout.write(f"A40R: {self._frames} frames bring {arrived} bytes in slowstart, "
                         f"{frames:.0f} frames {other:.0f} bytes in ns-3\n")  # fmt: skip

    def ns3(self) -> tuple[float, float]:
        """Frames and seconds."""
        frames, seconds, *_ = measured(self._other)
        return frames, seconds

    def slowstart(self) -> tuple[float, float]:
        """Frames and seconds."""
        frames, seconds, *_ = measured(self._ours)
        if frames != self._frames:
            sys.exit("bench and the installed slowstart do not run the same code")
        return frames, seconds


def main() -> None:
    """Measures, and prints a table for each scenario."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ns3", type=Path, required=True)
    parser.add_argument("--ours", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for scenario in (Bulk(given), Adhoc(given)):
        times: dict[str, list[float]] = {"slowstart": [], "ns-3": []}
        for index in range(given.repeat):
            # The order turns, so that drift of the machine favours neither program.
            for name in list(times)[:: 1 if index % 2 else -1]:
                sys.stderr.write(f"\r{scenario.name} {index + 1}/{given.repeat} {name:10}")
                count, seconds = scenario.ns3() if name == "ns-3" else scenario.slowstart()
                times[name].append(seconds / count)
        sys.stderr.write("\n")
        write = sys.stdout.write
        write(f"\n| {scenario.name} | {scenario.unit}s per CPU second | ns a {scenario.unit} |\n")
        write("| --- | --- | --- |\n")
        for name, each in times.items():
            rates, costs = [1 / cost for cost in each], [cost * 1e9 for cost in each]
            write(f"| {name} | {quartiles(rates)} | {quartiles(costs)} |\n")
        ratios = [a / b for a, b in zip(times["ns-3"], times["slowstart"], strict=True)]
        write(f"\nA {scenario.unit} takes ns-3 {quartiles(ratios)} times as long\n")


if __name__ == "__main__":
    main()
