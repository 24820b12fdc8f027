"""Speed of `bench` and of csg-htsim on the same links, in turns, and the figure of it.

    python benches/htsim/run.py --ours target/release/bench --htsim SIM --build DIR [SCENARIO ...]
        [--before BENCH] [--repeat N] [--rows FILE]
    python benches/htsim/run.py --figure FILE [--rows FILE]

SIM is the folder ``sim`` of csg-htsim. The script compiles bench.cc against it into DIR, once with
csg-htsim's own flags and once tuned, and then runs one process of each program in turn. Each row
of the table is one process. ``--figure`` draws the rows that exist.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SINGLE = ("S1", "S2", "S3", "S4", "S6", "S7")
FLOWS = ("F10", "F100", "F1000", "F10000")
HOSTS = ("H10", "H100", "H1000", "H10000", "H100000")
# What bench.cc links to. The rest of csg-htsim is other transports.
PARTS = ("config", "eth_pause_packet", "eventlist", "fairpullqueue", "loggers", "logfile", "mtcp",
         "ndppacket", "network", "pipe", "queue", "queue_lossless", "route", "switch", "tcp",
         "tcppacket", "trigger")  # fmt: skip
FLAGS = {
    "csg-htsim": ["-g", "-O3", "-fPIE"],
    "csg-htsim tuned": ["-O3", "-DNDEBUG", "-march=native", "-flto"],
}
FIELDS = ("date", "scenario", "program", "round", "packets", "cpu_s", "load")


def compiled(sim: Path, folder: Path) -> dict[str, list[str]]:
    """Compiles the program with each set of flags."""
    folder.mkdir(parents=True, exist_ok=True)
    commands = {}
    for name, flags in FLAGS.items():
        program = folder / name.replace(" ", "-")
        if not program.exists() or program.stat().st_mtime < (HERE / "bench.cc").stat().st_mtime:
            sys.stderr.write(f"compiling {name}\n")
            sources = [HERE / "bench.cc", *(sim / f"{part}.cpp" for part in PARTS)]
            command = ["g++", "-std=c++11", "-w", *flags, f"-I{sim}", *map(str, sources),
                       "-o", str(program)]  # fmt: skip
            subprocess.run(command, check=True)  # noqa: S603
        commands[name] = [str(program)]
    return commands


def measured(command: list[str]) -> tuple[int, float] | None:
    """Packets and CPU seconds of a process; ``None`` without that scenario."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    words = done.stdout.split()
    if done.returncode or len(words) < 2:
        return None
    return int(words[0]), float(words[1])


def run(given: argparse.Namespace) -> None:
    """Measures, and appends each process to the table."""
    commands = {"slowstart": [str(given.ours), "--one"]}
    if given.before:
        commands["slowstart before"] = [str(given.before), "--one"]
    commands.update(compiled(given.htsim, given.build))
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    is_new = not given.rows.exists()
    with given.rows.open("a", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        if is_new:
            table.writerow(FIELDS)
        for name in given.scenarios or (*SINGLE, *FLOWS, "L1000", *HOSTS):
            for index in range(given.repeat):
                # The order turns, so that drift of the machine favours no program.
                order = list(commands)
                for program in order[index % len(order) :] + order[: index % len(order)]:
                    sys.stderr.write(f"\r{name:8} {index + 1}/{given.repeat} {program:20}")
                    found = measured([*commands[program], name])
                    if found is None:
                        continue
                    packets, seconds = found
                    table.writerow([today, name, program, index, packets, f"{seconds:.6f}",
                                    f"{os.getloadavg()[0]:.1f}"])  # fmt: skip
                    file.flush()
    sys.stderr.write("\n")


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


Costs = dict[tuple[str, str], dict[tuple[str, str], float]]


def costs(rows: Path) -> Costs:
    """Nanoseconds per packet by scenario, program and round."""
    found: Costs = {}
    with rows.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            each = found.setdefault((row["scenario"], row["program"]), {})
            each[row["date"], row["round"]] = float(row["cpu_s"]) / int(row["packets"]) * 1e9
    return found


def show(rows: Path) -> None:
    """Prints medians, and how many times as fast slowstart is in the same rounds."""
    found = costs(rows)
    write = sys.stdout.write
    write("| scenario | program | ns per packet | slowstart, times as fast | rounds |\n")
    write("| --- | --- | --- | --- | --- |\n")
    for (scenario, program), each in found.items():
        low, middle, high = quartiles(list(each.values()))
        ours = found.get((scenario, "slowstart"), {})
        ratios = [value / ours[turn] for turn, value in each.items() if turn in ours]
        text = ""
        if program != "slowstart" and ratios:
            a, b, c = quartiles(ratios)
            text = f"{b:.2f} ({a:.2f} to {c:.2f})"
        write(f"| {scenario} | {program} | {middle:.0f} ({low:.0f} to {high:.0f}) | {text} "
              f"| {len(each)} |\n")  # fmt: skip


def draw(rows: Path, picture: Path) -> None:
    """Draws the cost of a packet over the number of flows and of hosts."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    found = costs(rows)
    styles = {
        "slowstart": ("#0072b2", "o", "-"),
        "slowstart before": ("#56b4e9", "s", "--"),
        "csg-htsim": ("#d55e00", "^", "-"),
        "csg-htsim tuned": ("#e69f00", "v", "--"),
    }
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    labels = ("flows, 1 Gbit/s, 50 ms", "hosts, HTTP/1.0 at 35 % of 100 Mbit/s")
    for axes, names, label in zip(panels, (FLOWS, HOSTS), labels, strict=True):
        for program, (color, marker, line) in styles.items():
            points = [(int(name[1:]), quartiles(list(found[name, program].values())))
                      for name in names if (name, program) in found]  # fmt: skip
            if not points:
                continue
            places = [place for place, _ in points]
            middles = [middle for _, (_, middle, _) in points]
            spread = [[middle - low for _, (low, middle, _) in points],
                      [high - middle for _, (_, middle, high) in points]]  # fmt: skip
            axes.errorbar(places, middles, yerr=spread, color=color, marker=marker, ls=line,
                          ms=4, lw=1.3, capsize=2, label=program)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.grid(visible=True, which="major", color="#dddddd", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
    panels[0].set_ylabel("CPU time per packet, ns")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=200)


def main() -> None:
    """Measures if programs are given, draws if a figure is, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--ours", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--htsim", type=Path)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rows", type=Path, default=HERE / "rows.csv")
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    if given.ours:
        if not (given.htsim and given.build):
            parser.error("--ours needs --htsim and --build")
        for program in filter(None, (given.ours, given.before)):
            if not program.is_file():
                parser.error(f"there is no program {program}: build slowstart-benches")
        if not (given.htsim / "tcp.cpp").is_file():
            parser.error(f"{given.htsim} is not the folder sim of csg-htsim: it has no tcp.cpp")
        run(given)
    if not given.rows.exists():
        parser.error(f"{given.rows} does not exist: measure with --ours")
    if given.figure:
        draw(given.rows, given.figure)
    show(given.rows)


if __name__ == "__main__":
    main()
