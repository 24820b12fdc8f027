"""How often ``--identify`` is right: the command ``slowstart validate identify``."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.analysis import (
    identify_kernel,
    identify_probe,
    identify_quic,
    identify_truth,
    kernel,
)
from slowstart.errors import InputError
from slowstart.report.progress import Meter
from slowstart.store.output import output_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("simulated", "quic", "kernel", "probe", "fit")
_RUNS = 2


def validate(
    parts: Sequence[str],
    *,
    quick: bool,
    runs: int | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Identifies held-out flows, or fits the constants again, and prints or writes the tables.

    Raises:
        InputError: This machine cannot make a part that is named.
    """
    from slowstart._version import __version__

    if "fit" in parts:
        _fit(quiet=quiet)
        return
    made: dict[str, Any] = {"format": 2, "version": __version__, "analysis": True,
                            "goal": identify_truth.GOAL, "skipped": []}  # fmt: skip
    with output_folder(output) as folder, tempfile.TemporaryDirectory() as aside:
        if not parts or "simulated" in parts:
            made |= _simulated(folder, runs or (1 if quick else _RUNS), quick=quick, quiet=quiet)
        if not parts or "quic" in parts:
            made |= _quic(folder, runs or 1, quick=quick, quiet=quiet)
        if not parts or "kernel" in parts:
            captures = Path(aside) if folder is None else folder
            made |= _kernel(captures, runs or 1, quick=quick, quiet=quiet, named=bool(parts))
        if "probe" in parts:
            captures = Path(aside) if folder is None else folder
            made["probe"] = _probe(captures, runs or 1, quick=quick, quiet=quiet)
        text = json.dumps(made, indent=1) + "\n"
        if folder is not None:
            (folder / "result.json").write_text(text, encoding="utf-8")
    if as_json:
        sys.stdout.write(text)
    elif not quiet:
        if "simulated" in made:
            identify_truth.show(made["simulated"])
        if "quic" in made:
            identify_truth.show(made["quic"])
            identify_quic.show(made["quic_controls"])
        if "kernel" in made:
            identify_kernel.show(made["kernel"]["rows"])
            sys.stdout.writelines(f"{each}\n" for each in made["kernel"]["notes"])
        if "probe" in made:
            identify_probe.show(made["probe"])
        sys.stdout.writelines(f"{each}\n" for each in made["skipped"])


def _simulated(folder: Path | None, runs: int, *, quick: bool, quiet: bool) -> dict[str, Any]:
    chosen = identify_truth.held_out(quick=quick, runs=runs)
    with Meter("identifying", quiet=quiet) as meter:
        rows = identify_truth.run(chosen, os.cpu_count() or 1, meter)
    return {"simulated": _scored(rows, folder), "rows": [_row(each) for each in rows]}


def _quic(folder: Path | None, runs: int, *, quick: bool, quiet: bool) -> dict[str, Any]:
    chosen = identify_quic.held_out(quick=quick, runs=runs)
    with Meter("identifying (QUIC)", quiet=quiet) as meter:
        rows = identify_quic.run(chosen, os.cpu_count() or 1, meter)
    return {"quic": _scored(rows, folder, "quic-"),
            "quic_controls": identify_quic.by_control(rows),
            "quic_rows": [_row(each) for each in rows]}  # fmt: skip


def _scored(
    rows: Sequence[identify_truth.Row], folder: Path | None, prefix: str = ""
) -> dict[str, Any]:
    """The rows in numbers; a folder gets the figures."""
    scored = identify_truth.score(rows)
    if folder is not None:
        _draw(folder, scored, prefix)
    return scored


def _probe(folder: Path, runs: int, *, quick: bool, quiet: bool) -> list[dict[str, Any]]:
    """Probes of servers of this kernel; only if they are named, because they take minutes.

    Raises:
        InputError: This machine cannot make them.
    """
    if (sentence := identify_probe.missing()) is not None:
        raise InputError(sentence)
    with Meter("probing", quiet=quiet) as meter:
        return identify_probe.run(runs, folder, meter, quick=quick)


def _kernel(folder: Path, runs: int, *, quick: bool, quiet: bool, named: bool) -> dict[str, Any]:
    """The part of the running kernel, or why it is left out.

    Raises:
        InputError: It is named, and this machine cannot make it.
    """
    if (sentence := kernel.missing()) is not None:
        if named:
            raise InputError(sentence)
        return {"skipped": [f"Left out: connections of this kernel, because {sentence}"]}
    with Meter("recording (kernel)", quiet=quiet) as meter:
        return {"kernel": identify_kernel.run(runs, folder, meter, quick=quick)}


def _row(row: identify_truth.Row) -> dict[str, Any]:
    said, probability, right = identify_truth.answer(row)
    case = row.case
    return {
        "path": case.path, "flow": case.flow, "place": case.place, "seed": case.seed,
        "algorithm": case.algorithm, "start_up": row.truth, "said": said,
        "probability": probability, "right": right,
        "candidates": [each.document() for each in row.found.candidates[:3]],
    }  # fmt: skip


def _draw(folder: Path, scored: dict[str, Any], prefix: str) -> None:
    from slowstart.analysis import identify_figures
    from slowstart.plots import save, styled

    with styled():
        for place, each in scored.items():
            save(
                identify_figures.confusion(each, place),
                folder,
                f"{prefix}confusion-{place}",
                png=True,
            )
        save(identify_figures.reliability(scored), folder, f"{prefix}reliability", png=True)


def _fit(*, quiet: bool) -> None:
    with Meter("identifying", quiet=quiet) as meter:
        threads = os.cpu_count() or 1
        rows = identify_truth.run(identify_truth.training(), threads, meter)
        rows += identify_quic.run(identify_quic.training(), threads, meter)
    for name, constants in identify_truth.fit(rows).items():
        keys = ", ".join(f"{key}={value}" for key, value in dataclasses.asdict(constants).items())
        sys.stdout.write(f'    "{name}": Constants({keys}),\n')
