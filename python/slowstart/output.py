"""A folder of results that is whole or absent."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = "result.json"

_FORMATS = (1, 2)
"""Formats of result documents that slowstart has written."""


def _is_ours(folder: Path) -> bool:
    """Whether ``folder`` holds an earlier result document, so that it may be replaced."""
    if not (folder / RESULT).is_file():
        return False  # a pipe would be waited for
    try:
        document = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return False
    if not isinstance(document, dict) or document.get("format") not in _FORMATS:
        return False
    return "runs" in document or "look" in document


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _check(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"-o {target} is not a folder: name one that is new or holds a result")
    if target.is_dir():
        try:
            empty = not any(target.iterdir())
        except OSError as error:
            raise InputError(f"cannot read the folder -o {target}: {_reason(error)}") from error
        if not empty and not _is_ours(target):
            raise InputError(
                f"the folder -o {target} holds something else than a slowstart result: "
                "name a new folder"
            )


@contextmanager
def output_folder(name: str | None) -> Iterator[Path | None]:
    """A folder to write into, which takes its place when the block ends without an error.

    The work is done in a sibling of ``name`` with a name of its own. When the block ends, it
    replaces ``name`` (an earlier result there is removed after that); when the block raises,
    nothing is left of it. Yields ``None`` for no name.

    Raises:
        InputError: ``name`` cannot be written, or holds something that is not a result.
    """
    if name is None:
        yield None
        return
    target = Path(os.path.abspath(name))  # noqa: PTH100 (resolve() would follow a link)
    _check(target)
    try:
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot write the folder -o {name}: {_reason(error)}") from error
    try:
        yield aside
        _put_in_place(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(aside: Path, target: Path) -> None:
    # What mkdtemp makes is for its owner alone; a result has the modes of any new folder.
    mask = os.umask(0)
    os.umask(mask)
    aside.chmod(0o777 & ~mask)
    if not target.exists():
        aside.rename(target)
        return
    _check(target)
    earlier = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        target.rename(earlier)
        try:
            aside.rename(target)
        except BaseException:
            with contextlib.suppress(OSError):
                earlier.rename(target)
            raise
    finally:
        if target.exists():
            shutil.rmtree(earlier, ignore_errors=True)
