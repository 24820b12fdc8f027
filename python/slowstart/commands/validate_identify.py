"""How often ``--identify`` is right: the command ``slowstart validate identify``."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from slowstart.analysis import identify_truth
from slowstart.errors import InputError
from slowstart.report.progress import Meter
from slowstart.store.output import output_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PARTS = ("simulated", "fit")
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
        InputError: A part is unknown.
    """
    from slowstart._version import __version__

    for part in parts:
        if part not in PARTS:
            raise InputError(
                f"validate identify has its own paths and algorithms: it takes {', '.join(PARTS)}, "
                f"not `{part}`"
            )
    if "fit" in parts:
        _fit(quiet=quiet)
        return
    chosen = identify_truth.held_out(quick=quick, runs=runs or (1 if quick else _RUNS))
    with output_folder(output) as folder:
        with Meter("identifying", quiet=quiet) as meter:
            rows = identify_truth.run(chosen, os.cpu_count() or 1, meter)
        scored = identify_truth.score(rows)
        made = {"format": 2, "version": __version__, "analysis": True, "goal": identify_truth.GOAL,
                "simulated": scored, "rows": [_row(each) for each in rows]}  # fmt: skip
        text = json.dumps(made, indent=1) + "\n"
        if folder is not None:
            (folder / "result.json").write_text(text, encoding="utf-8")
            _draw(folder, scored)
    if as_json:
        sys.stdout.write(text)
    elif not quiet:
        identify_truth.show(scored)


def _row(row: identify_truth.Row) -> dict[str, Any]:
    said, probability, right = identify_truth.answer(row)
    case = row.case
    return {
        "path": case.path, "flow": case.flow, "place": case.place, "seed": case.seed,
        "algorithm": case.algorithm, "start_up": row.truth, "said": said,
        "probability": probability, "right": right,
        "candidates": [each.document() for each in row.found.candidates[:3]],
    }  # fmt: skip


def _draw(folder: Path, scored: dict[str, Any]) -> None:
    from slowstart.analysis import identify_figures
    from slowstart.plots import save, styled

    with styled():
        for place, each in scored.items():
            save(identify_figures.confusion(each, place), folder, f"confusion-{place}", png=True)
        save(identify_figures.reliability(scored), folder, "reliability", png=True)


def _fit(*, quiet: bool) -> None:
    with Meter("identifying", quiet=quiet) as meter:
        rows = identify_truth.run(identify_truth.training(), os.cpu_count() or 1, meter)
    for name, constants in identify_truth.fit(rows).items():
        keys = ", ".join(f"{key}={value}" for key, value in dataclasses.asdict(constants).items())
        sys.stdout.write(f'    "{name}": Constants({keys}),\n')
