"""How often ``--identify`` is right on connections of the running kernel.

The runs are those of :mod:`slowstart.analysis.kernel`: uploads of 0.5 to 8 MB over emulated paths,
captured at the sender or at the receiver.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart._native import analyze_file
from slowstart.analysis import identify, kernel
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIDES = ("sender", "receiver")
_HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")


def truth(algorithm: str) -> str:
    """The start-up of a congestion control of the kernel."""
    if algorithm == "cubic" and _HYSTART.exists() and _HYSTART.read_text().strip() == "0":
        return "standard"
    return {"reno": "standard", "cubic": "hystart"}.get(algorithm) or identify.start_up(algorithm)


def run(
    runs: int, folder: Path, progress: Callable[[int, int], None], *, quick: bool
) -> dict[str, Any]:
    """Records and identifies connections; returns rows, notes, and runs that were late."""
    rows: list[dict[str, Any]] = []
    late = 0
    with kernel.controls() as (names, notes):
        chosen = [each for each in kernel.cases(runs, names, quick=quick) if each.side in SIDES]
        for number, case in enumerate(chosen, 1):
            late += not kernel.record(case, folder)
            rows += _identified(case, folder)
            progress(number, len(chosen))
    (folder / "server.py").unlink(missing_ok=True)
    return {"rows": rows, "notes": notes, "late_runs": late}


def _identified(case: kernel.Case, folder: Path) -> list[dict[str, Any]]:
    file = folder / f"{case.name}.pcapng"
    rows = []
    for one in json.loads(analyze_file(file))["connections"]:
        if one["bytes"] < min(kernel.SIZES):
            continue
        (found,) = identify.identify(file, [one])
        best = found.best
        rows.append({
            "path": case.path, "algorithm": case.algorithm, "place": case.side, "run": case.run,
            "bytes": one["bytes"], "start_up": truth(case.algorithm),
            "right": best is not None and truth(case.algorithm) in best.names,
            "names": list(found.candidates[0].names) if found.candidates else [],
            **found.document(),
        })  # fmt: skip
    return rows


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Prints how many connections are right by congestion control, path and place."""
    heads = ("control", "path", "place", "connections", "answers", "right", "right, one name")
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["algorithm"], row["path"], row["place"]), []).append(row)
    tables.print_table(heads, [
        [*key, str(len(each)), str(sum(one["why"] is None for one in each)),
         str(sum(one["right"] for one in each)),
         str(sum(one["right"] and len(one["names"]) == 1 for one in each))]
        for key, each in groups.items()
    ])  # fmt: skip
