"""Writes files and folders atomically: after an interruption they are complete or absent."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESULT = "result.json"
# The simulated scenarios of a result with traces.
SCENARIOS = "scenarios.json"
# Next to the result: the folder being written, and the earlier result that it replaces.
_ASIDE, _EARLIER = ".slowstart-new-", ".slowstart-earlier-"
_FULL = "No space left on device"


@contextmanager
def writing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Turns the errors of a full disk into one sentence.

    Raises:
        RunError: The disk is full.
    """
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or _FULL in str(error):  # libraries raise their own errors
            raise RunError(f"cannot write {os.fspath(folder)}: no space left") from error
        raise


def sync_folder(folder: Path) -> None:
    """Flushes the directory entries of ``folder`` to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(file: Path) -> None:
    """Flushes a file's content to disk."""
    with file.open("rb") as open_file:
        os.fsync(open_file.fileno())


def replace_file(file: Path, text: str) -> None:
    """Writes ``file`` atomically: an interruption leaves its earlier content or ``text``."""
    replace_file_with(file, text.encode())


def replace_file_with(file: Path, data: bytes) -> None:
    """As :func:`replace_file`, with bytes."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    aside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as open_file:
            open_file.write(data)
            open_file.flush()
            os.fsync(open_file.fileno())
        aside.chmod(0o666 & ~_mask())
        aside.replace(file)
        sync_folder(file.parent)
    finally:
        aside.unlink(missing_ok=True)


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_FORMATS = (1, 2)
"""Formats of result documents that slowstart has written."""


def _is_ours(folder: Path) -> bool:
    """Whether ``folder`` holds an earlier result document, so that it may be replaced."""
    if not (folder / RESULT).is_file():
        return False  # reading from a pipe would block
    try:
        document = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return False
    if not isinstance(document, dict) or document.get("format") not in _FORMATS:
        return False
    return any(key in document for key in ("runs", "characterization", "analysis"))


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
                f"the folder -o {target} holds something other than a slowstart result: "
                "name a new folder"
            )


@contextmanager
def output_folder(name: str | None) -> Iterator[Path | None]:
    """Yields a folder to write to, which becomes ``name`` when the block ends without an error.

    The folder is a temporary sibling of ``name``. When the block ends, it replaces ``name``, and an
    earlier result is removed afterwards. If the block raises, the folder is removed. The next call
    removes leftovers of killed processes. Yields ``None`` if ``name`` is ``None``.

    Raises:
        InputError: ``name`` cannot be written, or holds something other than a result.
        RunError: The disk is full.
    """
    if name is None:
        yield None
        return
    what = f"the folder -o {name}"
    target = Path(os.path.abspath(name))  # noqa: PTH100 (resolve() would follow a link)
    with _beside(target, _check, what) as aside, writing(name):
        yield aside
        try:
            _put_in_place(aside, target)
        except PermissionError as error:
            raise InputError(f"cannot write {what}: {_reason(error)}") from error


@contextmanager
def _beside(target: Path, check: Callable[[Path], None], what: str) -> Iterator[Path]:
    """Yields a temporary folder next to ``target``, once ``check`` has accepted that place."""
    try:
        _remove_leftovers(target)
        check(target)
        aside, lock = _new_folder(target, _ASIDE)
    except OSError as error:
        raise InputError(f"cannot write {what}: {_reason(error)}") from error
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(lock)


"""The first bytes of every Parquet file."""


@dataclass(frozen=True)
class Kind:
    """A kind of file that may be replaced: its extension, first bytes and name in messages."""

    suffix: str
    start: bytes
    name: str


PARQUET = Kind(".parquet", b"PAR1", "a Parquet table")
FLENT = Kind(".gz", b"\x1f\x8b", "a compressed file (.flent.gz)")
QLOG = Kind(".qlog", b"{", "a qlog document")
SCENARIO = Kind(".toml", b"# A model", "a fitted scenario")
CSV = Kind(".csv", b"time_s,", "a table of ours (csv)")
XPLOT = Kind(".xpl", b"timeval", "a graph of xplot")
MAHIMAHI = Kind(".log", b"# mahimahi", "a log of Mahimahi")
PCAPNG = Kind(".pcapng", b"\n\r\r\n", "a capture (pcapng)")


def _check_file(target: Path, kind: Kind) -> None:
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise InputError(f"{target} is not a file: name one that is new or holds {kind.name}")
    if target.exists() and target.stat().st_size > 0:
        with target.open("rb") as file:
            if file.read(len(kind.start)) != kind.start:
                raise InputError(
                    f"the file {target} holds something other than {kind.name}: name a new file"
                )


@contextmanager
def output_file(name: str | os.PathLike[str], kind: Kind = PARQUET) -> Iterator[Path]:
    """Yields a path for a new file of a kind, which becomes ``name`` as :func:`output_folder` does.

    The folder of this path is temporary, and other files may be created there.

    Raises:
        InputError: ``name`` cannot be written, or holds something of another kind.
        RunError: The disk is full.
    """
    if Path(name).suffix != kind.suffix:
        raise InputError(
            f"the file {os.fspath(name)} must have a name that ends with {kind.suffix}"
        )
    target = Path(os.path.abspath(name))  # noqa: PTH100 (resolve() would follow a link)
    check = functools.partial(_check_file, kind=kind)
    with _beside(target, check, os.fspath(name)) as aside, writing(name):
        file = aside / f"table{kind.suffix}"
        yield file
        sync_file(file)
        check(target)
        file.replace(target)
        sync_folder(target.parent)


def _prefix(target: Path, kind: str) -> str:
    # A file name has at most 255 bytes, and a character up to four.
    return f".{target.name[:40]}{kind}"


def _new_folder(target: Path, kind: str) -> tuple[Path, int]:
    """Makes a folder next to ``target``, locked for the lifetime of this process."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=_prefix(target, kind), dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(made, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if made.exists():
                return made, lock
            os.close(lock)  # another process removed it as a leftover before it was locked


def _remove_leftovers(target: Path) -> None:
    """Removes leftovers of killed processes, and restores an earlier result that lost its place."""
    if not target.parent.is_dir():
        return
    for kind in (_EARLIER, _ASIDE):
        prefix = _prefix(target, kind)
        for each in target.parent.iterdir():
            if not each.name.startswith(prefix) or each.is_symlink():
                continue
            with contextlib.suppress(OSError):
                lock = os.open(each, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if kind == _EARLIER and not target.exists() and _is_ours(each):
                        each.rename(target)
                    else:
                        shutil.rmtree(each)
                finally:
                    os.close(lock)


def _put_in_place(aside: Path, target: Path) -> None:
    # mkdtemp makes folders private; a result gets the mode of any new folder.
    aside.chmod(0o777 & ~_mask())
    for each in aside.rglob("*"):
        (sync_folder if each.is_dir() else sync_file)(each)
    sync_folder(aside)
    if not target.exists():
        aside.rename(target)
        sync_folder(target.parent)
        return
    _check(target)
    earlier = Path(tempfile.mkdtemp(prefix=_prefix(target, _EARLIER), dir=target.parent))
    lock = os.open(target, os.O_RDONLY)  # survives renaming the folder
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        target.rename(earlier)
        try:
            aside.rename(target)
        except BaseException:
            with contextlib.suppress(OSError):
                earlier.rename(target)
            raise
        sync_folder(target.parent)
    finally:
        if target.exists():
            shutil.rmtree(earlier, ignore_errors=True)
        os.close(lock)
