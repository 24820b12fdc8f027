"""An ad-hoc network of 40 nodes in ns-3 and in slowstart, on equal work, in turns.

    python benches/ns3/adhoc.py DIR --ns3 PREFIX --ours target/release/bench [--repeat N]

The network is that of adhoc.toml: places, range, rates, protocols and flows are the same, and no
radio senses beyond the range. PREFIX has ns-3's ``include`` and ``lib64`` (``pip install ns3``: the
folder ``ns3`` of site-packages). The script compiles adhoc.cc (g++) into DIR, runs one process of
each program in turn, and prints frames on the air, bytes that arrived in order, and CPU time of
the run without its construction. Both programs are deterministic: only times differ between rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from build import HERE, compiled

import slowstart

SCENARIO = "A40R"


def received() -> tuple[int, int]:
    """Frames and bytes of the scenario in slowstart."""
    result = slowstart.run(slowstart.Scenario.from_file(HERE / "adhoc.toml"))
    run = json.loads(result.to_json())["runs"][0]
    return run["network"]["air"]["frames"], sum(flow["bytes_acked"] for flow in run["flows"])


def measured(command: list[str]) -> list[float]:
    """The numbers that a process prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return [float(word) for word in done.stdout.split()]


def quartiles(values: list[float]) -> str:
    """Median and quartiles."""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ns3", type=Path, required=True)
    parser.add_argument("--ours", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    parts = ("wifi", "mobility", "propagation", "spectrum", "antenna")
    other = [str(compiled("adhoc", parts, given.ns3, given.folder)),
             f"--positions={HERE / 'positions.csv'}"]  # fmt: skip
    frames, arrived = received()
    times: dict[str, list[float]] = {"slowstart": [], "ns-3": []}
    for index in range(given.repeat):
        # The order turns, so that drift of the machine favours neither program.
        for name in list(times)[:: 1 if index % 2 else -1]:
            sys.stderr.write(f"\r{index + 1}/{given.repeat} {name:10}")
            if name == "ns-3":
                its_frames, seconds, its_bytes, *_ = measured(other)
            else:
                own_frames, seconds, *_ = measured([str(given.ours), "--one", SCENARIO])
                if own_frames != frames:
                    sys.exit("bench and the installed slowstart do not run the same code")
            times[name].append(seconds)
    sys.stderr.write("\n")
    write = sys.stdout.write
    write("| | frames | bytes that arrived | CPU seconds | frames per CPU second |\n")
    write("| --- | --- | --- | --- | --- |\n")
    for name, count, total in (("slowstart", frames, arrived), ("ns-3", its_frames, its_bytes)):
        rates = [count / seconds for seconds in times[name]]
        write(f"| {name} | {count:.0f} | {total:.0f} | {quartiles(times[name])} "
              f"| {quartiles(rates)} |\n")  # fmt: skip
    pairs = zip(times["ns-3"], times["slowstart"], strict=True)
    per_frame = [(a / its_frames) / (b / frames) for a, b in pairs]
    write(f"\nA frame takes ns-3 {quartiles(per_frame)} times as long\n")


if __name__ == "__main__":
    main()
