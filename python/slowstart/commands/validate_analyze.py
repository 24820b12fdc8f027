"""The error table of ``slowstart analyze``: the command ``slowstart validate analyze``.

The table has five parts: the simulated grid, a simulated grid on which no rule of the analysis was
made, captures of QUIC stacks, the cost of exits and the difference to other start-ups, and the
running kernel over emulated paths.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.analysis import costs, quic_truth
from slowstart.analysis import kernel as analysis_kernel
from slowstart.analysis import truth as analysis_truth
from slowstart.errors import InputError
from slowstart.report.progress import Meter
from slowstart.store.output import output_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("simulated", "held-out", "quic", "cost", "kernel")
_TITLES = {
    "simulated": "Simulated connections",
    "held-out": "Simulated connections on which no rule was made",
    "quic": "Captures of QUIC stacks in virtual time",
    "cost": "Cost of the exit, and difference to other start-ups, from the capture alone",
    "kernel": "Connections of this kernel",
}
_RUNS = 2


def _simulated(part: str, runs: int | None, *, quick: bool, quiet: bool) -> dict[str, Any]:
    if part == "simulated":
        chosen = analysis_truth.cases(quick=quick, runs=runs or (1 if quick else _RUNS))
    else:
        chosen = analysis_truth.held_out(quick=quick)
    with Meter(f"analyzing ({part})", quiet=quiet) as meter:
        rows = analysis_truth.run(chosen, os.cpu_count() or 1, meter)
    return {**analysis_truth.score(rows), "rows": rows}


def _quic(runs: int | None, *, quick: bool, quiet: bool) -> dict[str, Any]:
    with Meter("analyzing (quic)", quiet=quiet) as meter:
        chosen = quic_truth.cases(quick=quick, runs=runs or (1 if quick else _RUNS))
        rows = quic_truth.run(chosen, os.cpu_count() or 1, meter)
    return {**quic_truth.score(rows), "rows": rows}


def _costs(*, quick: bool, quiet: bool) -> dict[str, Any]:
    with Meter("fitting paths", quiet=quiet) as meter:
        rows = costs.run(costs.cases(quick=quick), os.cpu_count() or 1, meter)
    return {**costs.score(rows), "rows": rows}


def _kernel(folder: Path, runs: int | None, *, quick: bool, quiet: bool) -> dict[str, Any]:
    with analysis_kernel.controls() as (names, notes):
        chosen = analysis_kernel.cases(runs or 1, names, quick=quick)
        with Meter("recording (kernel)", quiet=quiet) as meter:
            rows, late = analysis_kernel.run(chosen, folder, meter)
    return {**analysis_truth.score(rows), "late_runs": late, "notes": notes, "rows": rows}


def validate(
    parts: Sequence[str],
    *,
    quick: bool,
    runs: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Makes the parts of the table, all if none is named, and prints or writes them.

    A part that this machine cannot make is left out with a sentence, unless it is named.

    Raises:
        InputError: This machine cannot make a part that is named.
    """
    from slowstart._version import __version__

    skipped = []
    found: dict[str, Any] = {}
    with output_folder(output) as folder, tempfile.TemporaryDirectory() as aside:
        for part in parts or PARTS:
            if part == "cost":
                found[part] = _costs(quick=quick, quiet=quiet)
            elif part == "quic":
                found[part] = _quic(runs, quick=quick, quiet=quiet)
            elif part != "kernel":
                found[part] = _simulated(part, runs, quick=quick, quiet=quiet)
            elif (sentence := analysis_kernel.missing()) is None:
                captures = Path(aside) if folder is None else folder
                found[part] = _kernel(captures, runs, quick=quick, quiet=quiet)
            elif parts:
                raise InputError(sentence)
            else:
                skipped.append(f"Left out: connections of this kernel, because {sentence}")
        document = {"format": 2, "version": __version__, "goals": analysis_truth.GOALS,
                    "skipped": skipped, **found}  # fmt: skip
        text = json.dumps(document, indent=1) + "\n"
        if folder is not None:
            (folder / "result.json").write_text(text, encoding="utf-8")
    if as_json:
        sys.stdout.write(text)
    elif not quiet:
        for part, each in found.items():
            sys.stdout.write(f"{_TITLES[part]}\n")
            if part == "cost":
                costs.show(each)
                sys.stdout.write("\n")
                continue
            analysis_truth.show(each)
            if part == "quic":
                quic_truth.show(each)
            sys.stdout.write(_notes(each))
        for sentence in skipped:
            sys.stdout.write(f"{sentence}\n")


def _notes(found: dict[str, Any]) -> str:
    text = (
        f"{found['hidden']} exits left no trace in the packets, and count as none. The vantage is "
        f"right in {100 * found['vantage_right']:.1f} %.\n"
    )
    if "late_runs" in found:
        text += f"{found['late_runs']} runs failed the emulator's timing self-check.\n"
        text += "".join(f"{each}\n" for each in found["notes"])
    return text + "\n"
