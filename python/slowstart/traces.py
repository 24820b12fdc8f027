"""Recorded traces, which are no part of slowstart: where they are looked for, and their sources."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError, RunError
from slowstart.output import sync_file, writing

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "SLOWSTART_TRACES"
_TABLE = Path(__file__).parent / "traces.json"
_MOST_BYTES = 1 << 28
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Trace:
    """A recorded trace."""

    name: str
    """The file, in the folder of traces."""
    sha256: str
    url: str | None
    """Where it can be fetched; ``None`` where only ``source`` says how to get it."""


@dataclass(frozen=True)
class Collection:
    """Traces of one origin."""

    title: str
    source: str
    terms: str
    traces: tuple[Trace, ...]


@lru_cache
def collections() -> tuple[Collection, ...]:
    """Every trace that the studies use."""
    table = json.loads(_TABLE.read_text(encoding="utf-8"))
    return tuple(
        Collection(
            title=each["title"],
            source=each["source"],
            terms=each["terms"],
            traces=tuple(
                Trace(name, sha256, each["base"] and each["base"] + name.rpartition("/")[2])
                for name, sha256 in each["files"].items()
            ),
        )
        for each in table
    )


def home() -> Path:
    """The user's folder of traces, to which they are fetched."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "slowstart", "traces")


def folder(given: str | Path | None = None) -> Path | None:
    """The folder of traces: ``given``, that of ``SLOWSTART_TRACES``, or the user's; else ``None``.

    Raises:
        InputError: What was given is not a folder.
    """
    for chosen, name in ((given, "--traces"), (os.environ.get(VARIABLE), VARIABLE)):
        if chosen:
            if not Path(chosen).is_dir():
                raise InputError(f"there is no folder {chosen} ({name})")
            return Path(chosen)
    return home() if home().is_dir() else None


def state(trace: Trace, where: Path) -> str:
    """``there``, ``missing`` or ``another content``."""
    try:
        found = hashlib.sha256((where / trace.name).read_bytes()).hexdigest()
    except OSError:
        return "missing"
    return "there" if found == trace.sha256 else "another content"


def missing(where: Path) -> Iterator[tuple[Collection, Trace]]:
    """What is not in ``where`` as it should be."""
    for each in collections():
        for trace in each.traces:
            if state(trace, where) != "there":
                yield each, trace


def fetch(trace: Trace, where: Path) -> None:
    """Fetches a trace into ``where``; the file is whole, with the right checksum, or absent.

    Raises:
        RunError: It cannot be had, or is another file than it was.
    """
    from urllib.error import URLError
    from urllib.request import urlopen

    if trace.url is None:
        raise RunError(f"{trace.name} has no address of its own")
    try:
        with urlopen(trace.url, timeout=_PATIENCE_S) as answer:  # noqa: S310 (https, from our table)
            content = answer.read(_MOST_BYTES)
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise RunError(f"{trace.url} cannot be fetched: {reason}") from error
    if hashlib.sha256(content).hexdigest() != trace.sha256:
        raise RunError(f"{trace.url} is another file than {trace.name} was: the checksum differs")
    target = where / trace.name
    with writing(where):
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.part")
        aside.write_bytes(content)
        sync_file(aside)
        aside.replace(target)
