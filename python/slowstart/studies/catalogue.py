"""The built-in studies, read from the heads of their files alone.

This module builds no scenario and loads no data library, so that listing is fast.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.studies.files import Node
from slowstart.studies.grid import Repetitions, points, read_axes

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDERS = Path(__file__).parent / "folders"
STUDY, CLAIMS = "study.toml", "claims.toml"


def names() -> list[str]:
    """The names of the built-in studies."""
    if not FOLDERS.is_dir():
        return []
    return sorted(each.name for each in FOLDERS.iterdir() if (each / STUDY).is_file())


def catalogue() -> list[dict[str, Any]]:
    """The entries of ``slowstart list studies``."""
    return [_entry(name) for name in names()]


def _entry(name: str) -> dict[str, Any]:
    root = Node.read(FOLDERS / name / STUDY)
    minutes = root.table("minutes")
    return {
        "name": name,
        "document": root.text("document"),
        "summary": root.text("summary"),
        "claims": _claims(FOLDERS / name / CLAIMS),
        "experiments": [each.text("name") for each in root.tables("experiment")],
        "runs": _runs(root, "simulated", lambda each: each.full),
        "minutes": minutes.number("full"),
        "minutes_quick": minutes.number("quick"),
        "runs_linux": _runs(root, "linux", lambda each: each.linux),
        "minutes_linux": minutes.number("linux") if minutes.has("linux") else 0.0,
    }


def _claims(file: Path) -> int:
    """The number of claims, counted without parsing them."""
    return file.read_text(encoding="utf-8").splitlines().count("[[claim]]")


def _runs(root: Node, stack: str, count: Callable[[Repetitions], int]) -> int:
    """The number of runs of all experiments on a stack, including those of recorded traces."""
    return sum(
        sum(count(runs) for _, runs in points(read_axes(each), Repetitions.read(each, "runs")))
        for each in root.tables("experiment")
        if stack in each.texts("stacks", ["simulated"])
    )
