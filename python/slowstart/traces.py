"""Finds and fetches recorded traces, which are not part of slowstart."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from slowstart.errors import InputError, RunError
from slowstart.store.output import sync_file, writing

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
    """Its file in the folder of traces."""
    sha256: str
    url: str | None
    """Its address; ``None`` if it has to be obtained by hand from the collection's source."""


@dataclass(frozen=True)
class Collection:
    """Traces from one source."""

    title: str
    source: str
    terms: str
    traces: tuple[Trace, ...]


@lru_cache
def collections() -> tuple[Collection, ...]:
    """All traces that the studies use."""
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
    """The user's folder of traces, the default target of ``fetch``."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "slowstart", "traces")


def folder(given: str | Path | None = None) -> Path | None:
    """The folder of traces: ``given``, ``SLOWSTART_TRACES``, the user's folder, or ``None``.

    Raises:
        InputError: ``given`` or ``SLOWSTART_TRACES`` is not a folder.
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
    """The traces that are not in ``where``, or have another content there."""
    for each in collections():
        for trace in each.traces:
            if state(trace, where) != "there":
                yield each, trace


def fetch(trace: Trace, where: Path) -> None:
    """Fetches a trace to ``where``, and stores it only if its checksum is right.

    Raises:
        RunError: The download failed, or its checksum differs.
    """
    from urllib.error import URLError
    from urllib.request import urlopen

    if trace.url is None:
        raise RunError(f"{trace.name} has no address to fetch it from")
    try:
        with urlopen(trace.url, timeout=_PATIENCE_S) as answer:  # noqa: S310 (https, from our table)
            content = answer.read(_MOST_BYTES)
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise RunError(f"cannot fetch {trace.url}: {reason}") from error
    if hashlib.sha256(content).hexdigest() != trace.sha256:
        raise RunError(f"the checksum of {trace.url} differs from that of {trace.name}")
    target = where / trace.name
    with writing(where):
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.part")
        aside.write_bytes(content)
        sync_file(aside)
        aside.replace(target)
