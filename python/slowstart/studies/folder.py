"""The output folder of a study: it belongs to one study, and its results are whole or absent."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError
from slowstart.store.output import replace_file, sync_file, sync_folder
from slowstart.store.runs import read_mark

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = "study.json"
_ASIDE = ".report."


def claim_folder(folder: Path, name: str) -> None:
    """Creates the folder, or checks that it belongs to this study."""
    mark = folder / _MARK
    try:
        if not folder.exists():
            folder.mkdir()
        elif mark.exists():
            # A damaged mark identifies no study; the stored runs are keyed by their scenarios.
            there = read_mark(mark).get("study")
            if there not in (None, name):
                raise InputError(f"the folder {folder} holds another study: choose a new folder")
            if there == name:
                return
        elif any(not each.name.startswith(f".{_MARK}.") for each in folder.iterdir()):
            raise InputError(
                f"the folder {folder} holds something else than a study: choose a new folder"
            )
        replace_file(mark, json.dumps({"format": 1, "study": name}) + "\n")
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write the folder {folder}: {reason}") from error


def clear(folder: Path) -> None:
    """Removes what an interrupted process left behind."""
    for leftover in folder.glob(f"{_ASIDE}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for leftover in folder.glob(f".{_MARK}.*"):
        leftover.unlink(missing_ok=True)


@contextmanager
def aside(folder: Path) -> Iterator[Path]:
    """A folder beside the results, whose files replace them at the end, the report last."""
    made = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=folder))
    try:
        yield made
        files = sorted(made.iterdir(), key=lambda each: each.name == "report.html")
        for file in files:
            sync_file(file)
        for file in files:
            file.replace(folder / file.name)
        sync_folder(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
