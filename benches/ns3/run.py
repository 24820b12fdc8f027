"""TCP of ns-3 over the clean grid, with its errors against the kernel beside those of slowstart.

    python benches/ns3/run.py DIR --ns3 PREFIX [-a ALGORITHM]... [--jobs N]

DIR is the folder of ``slowstart validate --clean -o DIR``. It has the runs of the kernel and of the
simulated TCP, and fidelity.json has the knife's edges, which count in neither column. PREFIX has
ns-3's ``include`` and ``lib64`` (``pip install ns3``: the folder ``ns3`` of site-packages). The
script compiles flow.cc (g++), runs each case once, keeps the values in DIR/ns3.json, and continues
there after an interruption. The rows are those of the report of ``slowstart validate``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build import compiled

from slowstart.fidelity import compare, grid, kernels, runner

if TYPE_CHECKING:
    from collections.abc import Callable

# The congestion control of ns-3 that stands for each algorithm of the grid, with its options.
CONTROLS = {
    "cubic": ["--control=ns3::TcpCubic"],
    "cubic+standard": ["--control=ns3::TcpCubic", "--hystart=false"],
    "reno": ["--control=ns3::TcpLinuxReno"],
    "bbr": ["--control=ns3::TcpBbr"],
}
SHOWN = ("exit_cwnd", "exit_s", "retransmitted", "mb1_s", "mb5_s", "mb20_s", "goodput_mbit")


def measured(program: Path, case: grid.Case) -> dict[str, Any]:
    """Runs a case in ns-3."""
    facts = case.scenario().resolved["path"]
    path = case.path
    arguments = [f"--rate={path.rate_mbit}e6", f"--rtt={path.rtt_ms}",
                 f"--packets={facts['forward']['queue_limit_packets']}",
                 f"--bytes={path.size_mb * 1_000_000}"]  # fmt: skip
    done = subprocess.run([str(program), *arguments, *CONTROLS[case.algorithm]],  # noqa: S603
                          check=True, capture_output=True, text=True)  # fmt: skip
    return {**json.loads(done.stdout), "rtt_p50_ms": None, "rtt_p95_ms": None,
            "first_drop_s": None, "first_loss_s": None}  # fmt: skip


def _kernel_runs(cases: list[grid.Case], folder: Path) -> dict[tuple[grid.Case, str], Any]:
    """The first run of each case on the kernel and in the simulation, as far as it finished."""
    kernel = kernels.of_stack("linux-vm")
    found = {}
    with runner.Store(folder) as store:
        for case in cases:
            for stack in ("simulated", "linux-vm"):
                run = store.load(runner.Job(case, stack, 0, kernel))
                found[case, stack] = [] if run is None else [{**run, "run": 0}]
    return found


def main() -> None:
    """Runs what is missing, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ns3", type=Path, required=True)
    parser.add_argument("-a", "--algorithm", action="append", choices=list(CONTROLS))
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    algorithms = given.algorithm or list(CONTROLS)
    cases = [grid.Case(path, each) for path in grid.clean() for each in algorithms]
    runs = _kernel_runs(cases, given.folder)
    report = given.folder / "fidelity.json"
    edges: set[str] = set()
    if report.exists():
        document = json.loads(report.read_text(encoding="utf-8"))
        edges = {each["case"] for each in document["knife_edges"]}
    cases = [case for case in cases if runs[case, "linux-vm"] and case.name not in edges]
    kept = given.folder / "ns3.json"
    values = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    missing = [case for case in cases if case.name not in values]
    if missing:
        program = compiled("flow", ("point-to-point",), given.ns3, given.folder)
        with ThreadPoolExecutor(given.jobs) as pool:
            found = pool.map(lambda case: measured(program, case), missing)
            for done, (case, run) in enumerate(zip(missing, found, strict=True), 1):
                values[case.name] = run
                aside = kept.with_suffix(".new")
                aside.write_text(json.dumps(values, indent=1), encoding="utf-8")
                aside.replace(kept)
                sys.stderr.write(f"\r{done} of {len(missing)} cases")
        sys.stderr.write("\n")
    _show(cases, runs, values)


def _show(cases: list[grid.Case], runs: dict[Any, Any], values: dict[str, Any]) -> None:
    def errors(ours: Callable[[grid.Case], list[dict[str, Any]]]) -> dict[str, compare.Row]:
        def load(case: grid.Case, stack: str) -> list[dict[str, Any]]:
            return ours(case) if stack == "simulated" else runs[case, stack]

        found = compare.compare(cases, load, "linux-vm")
        return {row.quantity.key: row for row in compare.rows(found)}

    own = errors(lambda case: runs[case, "simulated"])
    other = errors(lambda case: [{**values[case.name], "run": 0}])
    write = sys.stdout.write
    write(f"{len(cases)} cases\n\n")
    write("| quantity | slowstart: median, 95th percentile | ns-3 | largest error of ns-3 |\n")
    write("| --- | --- | --- | --- |\n")
    for key in SHOWN:
        if key in own and key in other:
            sizes = [f"{100 * each[key].median:.2g} %, {100 * each[key].p95:.2g} %"
                     for each in (own, other)]  # fmt: skip
            worst = other[key].worst
            write(f"| {worst.quantity.label} | {sizes[0]} | {sizes[1]} | {worst.case.name}: "
                  f"{worst.simulated} for {worst.kernel} {worst.quantity.unit} |\n")  # fmt: skip


if __name__ == "__main__":
    main()
