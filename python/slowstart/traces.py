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
    """All traces that the studies use.

    Returns:
        One collection for each source, in the order of the table.

    Example:
        >>> all(len(trace.sha256) == 64 for each in collections() for trace in each.traces)
        True
    """
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
    """The user's folder of traces, the default target of ``fetch``.

    Returns:
        ``$XDG_DATA_HOME/slowstart/traces``, by default below ``~/.local/share``. It may not exist.

    Example:
        >>> home().parts[-2:]
        ('slowstart', 'traces')
    """
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "slowstart", "traces")


def folder(given: str | Path | None = None) -> Path | None:
    """The folder of traces.

    Args:
        given: The folder that the user names, if any.

    Returns:
        ``given``, else ``SLOWSTART_TRACES``, else the user's folder; ``None`` without any.

    Raises:
        InputError: ``given`` or ``SLOWSTART_TRACES`` is not a folder.

    Example:
        >>> folder("no-such-folder")
        Traceback (most recent call last):
        slowstart.errors.InputError: there is no folder no-such-folder (--traces)
    """
    for chosen, name in ((given, "--traces"), (os.environ.get(VARIABLE), VARIABLE)):
        if chosen:
            if not Path(chosen).is_dir():
                raise InputError(f"there is no folder {chosen} ({name})")
            return Path(chosen)
    return home() if home().is_dir() else None


def state(trace: Trace, where: Path) -> str:
    """Whether a trace is in a folder, by its checksum.

    Args:
        trace: The trace.
        where: The folder of traces.

    Returns:
        ``there``, ``missing`` or ``another content``.

    Example:
        >>> state(collections()[0].traces[0], Path("no-such-folder"))
        'missing'
    """
    try:
        found = hashlib.sha256((where / trace.name).read_bytes()).hexdigest()
    except OSError:
        return "missing"
    return "there" if found == trace.sha256 else "another content"


def missing(where: Path) -> Iterator[tuple[Collection, Trace]]:
    """The traces that are not in a folder, or have another content there.

    Args:
        where: The folder of traces.

    Returns:
        Pairs of a collection and a trace, one after the other.

    Example:
        >>> known = sum(len(each.traces) for each in collections())
        >>> len(list(missing(Path("no-such-folder")))) == known
        True
    """
    for each in collections():
        for trace in each.traces:
            if state(trace, where) != "there":
                yield each, trace


def fetch(trace: Trace, where: Path) -> None:
    """Fetches a trace, and stores it only if its checksum is right.

    Args:
        trace: The trace.
        where: The folder of traces, which need not exist.

    Returns:
        Nothing; the file has the name of the trace, and is whole or absent.

    Raises:
        RunError: The download failed, its checksum differs, or the trace has no address.

    Example:
        >>> fetch(Trace("mine.down", "0" * 64, None), Path("no-such-folder"))
        Traceback (most recent call last):
        slowstart.errors.RunError: mine.down has no address to fetch it from
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
