"""A folder of finished runs, which survives a kill at any moment; no run is executed twice.

A run is identified by its key and its seed; :func:`run_key` hashes everything that determines a run
into the key. Runs are stored in batches. A batch is a folder with Parquet tables and their
checksums. It is written under a temporary name, flushed to the disk and renamed, so that it is
complete or absent. A damaged batch is reported and moved to ``damaged/``, and its runs count as
missing.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from weakref import WeakKeyDictionary

import polars as pl

from slowstart import _native, startup, vm
from slowstart._version import __version__
from slowstart.errors import InputError, complain
from slowstart.store.output import replace_file, sync_folder, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from slowstart._native import Scenario

_FORMAT = 2
_MARK = "store.json"
_SUMS = "checksums.json"
_ALGORITHM = re.compile(r'"algorithm":"([^"]+)"')
_CLASS = re.compile(r"([\w.]+:\w+)(?::.*)?")
"""A part of an algorithm written in Python."""
_LARGEST_MARK = 64_000
"""Bytes."""


def run_key(scenario: Scenario, stack: str, more: Iterable[str] = ()) -> str:
    """A hash of everything that determines the runs of ``scenario`` on ``stack``, except the seed.

    That is the resolved scenario with recorded traces, the version of the software, the text of
    algorithms written in Python, and ``more``.
    """
    definition = scenario.definition()
    return definition_key(definition, stack, (*more, *(each.said for each in sources(definition))))


def definition_key(definition: str, stack: str, more: Iterable[str] = ()) -> str:
    """The hash of a definition (``Scenario.definition``), the version, and ``more``."""
    parts = [definition, stack, *build(stack), *more]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


class Source(NamedTuple):
    """A class that is an algorithm or a part of one."""

    name: str
    """``module:Class``."""
    said: str
    """The name and a hash of the module."""
    file: str | None


def sources(definition: str) -> list[Source]:
    """The classes that a definition names as algorithms or parts of them."""
    algorithms = dict.fromkeys(_ALGORITHM.findall(definition))
    parts = (part for algorithm in algorithms for part in algorithm.split("+"))
    named = dict.fromkeys(found[1] for part in parts if (found := _CLASS.fullmatch(part)))
    return [_source(name) for name in named]


def _source(name: str) -> Source:
    module, _, word = name.partition(":")
    found = startup.find(module, word)
    file = getattr(sys.modules[module], "__file__", None)
    # In a notebook a class has no file: every definition of it is another one.
    text = _digest(file) if file else _DEFINED.setdefault(found, uuid4().hex)
    return Source(name, f"{name} {text}", file)


_DEFINED: WeakKeyDictionary[type, str] = WeakKeyDictionary()


@lru_cache
def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@lru_cache
def build(stack: str) -> tuple[str, ...]:
    """The versions that determine a run: the package, and the native module or the kernel."""
    if stack == "linux":
        return (__version__, platform.release())
    if stack == "linux-vm":
        inside = hashlib.sha256(vm.GUEST.read_bytes()).hexdigest()
        return (__version__, vm.kernel() or "", inside)
    return (__version__, _sum(Path(_native.__file__)))


class RunStore:
    """The folder. One process at a time may open it."""

    def __init__(
        self, folder: str | os.PathLike[str], say: Callable[[str], object] = complain
    ) -> None:
        self.folder = Path(folder)
        self._batches = self.folder / "batches"
        self._lock: Any = None
        self._say = say

    def __enter__(self) -> Self:
        if not (self.folder / _MARK).exists() and self.folder.exists():
            if not self.folder.is_dir():
                raise InputError(f"{self.folder} is not a folder")
            ours = {"lock", "batches", "damaged"}
            if any(each.name not in ours for each in self.folder.iterdir() if not _is_aside(each)):
                raise InputError(f"the folder {self.folder} holds something other than runs")
        try:
            with writing(self.folder):
                self._batches.mkdir(parents=True, exist_ok=True)
                self._lock = (self.folder / "lock").open("w")
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._tidy()
        except BlockingIOError as error:
            self._lock.close()
            raise InputError(f"another process is executing runs in {self.folder}") from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot write the folder {self.folder}: {reason}") from error
        except InputError:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.close()

    def _tidy(self) -> None:
        """Removes incomplete files of a killed process, and sets unusable batches aside."""
        mark = self.folder / _MARK
        for leftover in self._batches.glob(".*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for leftover in self.folder.glob(f".{_MARK}.*"):
            leftover.unlink(missing_ok=True)
        if mark.exists() and read_mark(mark).get("format") == 1 and any(self._batches.iterdir()):
            aside = _free(self.folder / "damaged" / "format-1")
            aside.parent.mkdir(exist_ok=True)
            self._batches.rename(aside)
            self._batches.mkdir()
            self._say(
                f"{self.folder} holds runs of an earlier version of slowstart, which this version "
                f"cannot use: they were moved to {aside} and will be repeated"
            )
        replace_file(mark, json.dumps({"format": _FORMAT}) + "\n")
        for batch in sorted(self._batches.iterdir()):
            reason = _damage(batch)
            if reason is not None:
                aside = _free(self.folder / "damaged" / batch.name)
                aside.parent.mkdir(exist_ok=True)
                batch.rename(aside)
                self._say(
                    f"the runs in {batch} are damaged ({reason}): they were moved to {aside} and "
                    "will be repeated"
                )

    def read(self, table: str, chosen: pl.DataFrame | None = None) -> pl.DataFrame:
        """A table of all batches, or only of the runs with the chosen keys, seeds and batches."""
        if chosen is None:
            folders = sorted(self._batches.iterdir())
        else:
            folders = [self._batches / name for name in sorted(set(chosen["batch"]))]
        frames = []
        for batch in folders:
            file = batch / f"{table}.parquet"
            if file.exists():
                frame = pl.scan_parquet(file).with_columns(batch=pl.lit(batch.name))
                if chosen is not None:
                    on = ["key", "seed", "batch"]
                    frame = frame.join(chosen.lazy(), on=on, how="semi", maintain_order="left")
                frames.append(frame.collect())
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()

    def write(self, identity: str, tables: Mapping[str, pl.DataFrame]) -> None:
        """Stores a batch. It replaces one of the same ``identity``.

        Raises:
            RunError: The disk is full.
        """
        name = hashlib.sha256(identity.encode()).hexdigest()[:24]
        with writing(self.folder):
            aside = Path(tempfile.mkdtemp(prefix=".", dir=self._batches))
            try:
                sums = {}
                for table, frame in tables.items():
                    file = aside / f"{table}.parquet"
                    with file.open("wb") as open_file:
                        frame.write_parquet(open_file, compression="zstd")
                        open_file.flush()
                        os.fsync(open_file.fileno())
                    sums[file.name] = _sum(file)
                replace_file(aside / _SUMS, json.dumps(sums) + "\n")
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(self._batches / name)
                sync_folder(aside)
                aside.rename(self._batches / name)
                sync_folder(self._batches)
            finally:
                shutil.rmtree(aside, ignore_errors=True)


def _is_aside(path: Path) -> bool:
    """Whether a file is an incomplete mark of a killed process."""
    return path.name.startswith(f".{_MARK}.")


def read_mark(mark: Path, largest: int = _LARGEST_MARK) -> dict[str, Any]:
    """The content of the file that identifies a folder; empty if the file is damaged.

    Raises:
        InputError: It is not a regular file, or has more than ``largest`` bytes.
    """
    if not mark.is_file():
        raise InputError(f"{mark} is not a regular file")
    try:
        there = json.loads(_native.read_text(mark, largest))
    except ValueError:
        return {}
    return there if isinstance(there, dict) else {}


def _free(path: Path) -> Path:
    """``path``, with a number appended if it exists."""
    number = 2
    free = path
    while free.exists():
        free = path.with_name(f"{path.name}-{number}")
        number += 1
    return free


def _sum(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as open_file:
        while part := open_file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def _damage(batch: Path) -> str | None:
    """What is wrong with a batch; ``None`` if every table has its checksum."""
    try:
        sums = json.loads((batch / _SUMS).read_bytes())
        if not isinstance(sums, dict) or not sums:
            return f"{_SUMS} is not a list of checksums"
        for name, expected in sums.items():
            if _sum(batch / name) != expected:
                return f"the checksum of {name} differs"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except OSError as error:
        return f"{Path(error.filename or batch).name}: {(error.strerror or str(error)).lower()}"
    except (ValueError, TypeError):
        return f"{_SUMS} cannot be read"
    return None
