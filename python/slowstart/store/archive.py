"""Finished runs of a sweep in a few append-only files, which a kill at any moment leaves readable.

A process appends records to a file of its own, and flushes each record to the disk. A record has
the runs of a batch: their keys and seeds, and the rows of their tables as Parquet. A checksum ends
it, so a record that a kill cut off counts as absent, and its runs are made again. No process
changes a file of another one: shards write at the same time, and files from other machines can be
copied into the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import secrets
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.errors import InputError, RunError, complain
from slowstart.store.output import sync_folder, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO, Self

_MARK = b"slowstart runs 1\n"
_HEAD = struct.Struct("<4sIQ")
_MAGIC = b"RUNS"
_SUM = 32
_ENDING = ".runs"
_RUNS = "runs"


def pack(
    keys: Sequence[str],
    seeds: Sequence[int],
    tables: Mapping[str, pl.DataFrame],
    facts: Mapping[str, Any],
) -> bytes:
    """A record of the runs with these keys and seeds.

    Args:
        keys: The key of each run.
        seeds: Its seed.
        tables: Rows with the column ``at``, the place of their run in ``keys``.
        facts: What else to remember: the time that it took, and runs that failed.
    """
    runs = pl.DataFrame({"key": keys, "seed": seeds}, schema={"key": pl.String, "seed": pl.UInt64})
    parts = []
    blobs = []
    for name, frame in ((_RUNS, runs), *tables.items()):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", compression_level=3, statistics=False)
        blobs.append(buffer.getvalue())
        parts.append((name, len(blobs[-1])))
    head = json.dumps({"parts": parts, **facts}, sort_keys=True).encode()
    body = b"".join((head, *blobs))
    start = _HEAD.pack(_MAGIC, len(head), len(body))
    return b"".join((start, body, hashlib.sha256(start + body).digest()))


@dataclass(frozen=True)
class Record:
    """A complete record of a file."""

    file: Path
    parts: Mapping[str, tuple[int, int]]
    """By table: where its bytes begin, and how many they are."""
    facts: Mapping[str, Any]

    def table(self, name: str) -> pl.DataFrame:
        """The rows of a table."""
        begin, size = self.parts[name]
        with self.file.open("rb") as file:
            file.seek(begin)
            return pl.read_parquet(io.BytesIO(file.read(size)))

    def runs(self) -> pl.DataFrame:
        """The keys and seeds of its runs."""
        return self.table(_RUNS)


def records(file: Path, say: Callable[[str], object] = complain) -> Iterator[Record]:
    """The complete records of a file; reports one that is damaged, and goes on after it."""
    with file.open("rb") as opened:
        if opened.read(len(_MARK)) != _MARK:
            return
        at = len(_MARK)
        while len(start := opened.read(_HEAD.size)) == _HEAD.size:
            magic, head, size = _HEAD.unpack(start)
            left = os.fstat(opened.fileno()).st_size - at - _HEAD.size
            if magic != _MAGIC or size + _SUM > left:
                return  # the end of a killed process
            body = opened.read(size)
            if hashlib.sha256(start + body).digest() != opened.read(_SUM):
                say(f"a record of {file} is damaged: its runs will be repeated")
            else:
                facts = json.loads(body[:head])
                place = at + _HEAD.size + head
                parts = {}
                for name, length in facts.pop("parts"):
                    parts[name] = (place, length)
                    place += length
                yield Record(file, parts, facts)
            at += _HEAD.size + size + _SUM


class Archive:
    """The files of a folder. To write, use it as a context manager.

    One process at a time may write the runs of a whole sweep, or one for each shard.
    """

    def __init__(
        self,
        folder: Path,
        shard: tuple[int, int] = (1, 1),
        say: Callable[[str], object] = complain,
    ) -> None:
        self.folder = folder
        self._shard = shard
        self._say = say
        self._locks: list[Any] = []
        self._file: BinaryIO | None = None
        self.records: list[Record] = []
        self._read: dict[Path, int] = {}

    def __enter__(self) -> Self:
        number, count = self._shard
        alone = count == 1
        try:
            with writing(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                names = [("lock", alone), (f"lock-{number}-of-{count}", True)]
                for name, exclusive in names[: 1 if alone else 2]:
                    lock = (self.folder / name).open("w")
                    self._locks.append(lock)
                    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
                    fcntl.flock(lock, mode | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise InputError(
                f"another process is executing runs in {self.folder.parent}"
            ) from error
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot write the folder {self.folder}: {reason}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file, and lets others write."""
        if self._file is not None:
            self._file.close()
            self._file = None
        for lock in self._locks:
            lock.close()
        self._locks = []

    def append(self, record: bytes) -> None:
        """Stores a record: once this returns, no kill can lose it.

        Raises:
            RunError: The disk is full.
        """
        with writing(self.folder):
            if self._file is None:
                # Never another process's file: a name is used once.
                path = self.folder / f"{secrets.token_hex(8)}{_ENDING}"
                self._file = path.open("xb")
                self._file.write(_MARK)
                sync_folder(self.folder)
            self._file.write(record)
            self._file.flush()
            os.fsync(self._file.fileno())

    def refresh(self) -> None:
        """Reads the lists of runs of files that are new or have grown."""
        found: list[Record] = []
        for file in sorted(self.folder.glob(f"*{_ENDING}")):
            with contextlib.suppress(FileNotFoundError):
                found += records(file, self._say)
        self.records = found

    def index(self) -> pl.DataFrame:
        """Every stored run once: key, seed, the place of its record, and its place there."""
        schema = {"key": pl.String, "seed": pl.UInt64, "record": pl.UInt32, "at": pl.UInt32}
        frames = [pl.DataFrame(schema=schema)]
        for place, record in enumerate(self.records):
            frames.append(
                record.runs().with_row_index("at").select(
                    "key", "seed", pl.lit(place, pl.UInt32).alias("record"), "at"
                )
            )  # fmt: skip
        return pl.concat(frames).unique(["key", "seed"], keep="first", maintain_order=True)

    def failures(self) -> dict[tuple[str, int], str]:
        """The runs that failed, with what their last failure said."""
        found = {}
        for record in self.records:
            for key, seed, said in record.facts.get("failed", ()):
                found[key, seed] = said
        return found

    def pace(self) -> float | None:
        """The seconds that a run took on average, over all processors of its process."""
        took = sum(record.facts.get("wall_s", 0.0) for record in self.records)
        count = sum(record.facts.get("count", 0) for record in self.records)
        return took / count if count else None


def check_complete(count: int, missing: int, failed: int, folder: Path) -> None:
    """Refuses to make a table without all runs.

    Raises:
        RunError: Some are missing.
    """
    if missing:
        why = f", {failed} of which failed" if failed else ""
        raise RunError(f"{missing} of {count} runs are missing in {folder}{why}")
