"""A census: when and why slow start ended in all connections of many files.

:func:`census` reads captures and logs in parts, on all cores, and can be interrupted and continued.
Its folder has one row per connection (``connections/*.parquet``), what each input file gave
(``files/*.json``), and the summary (``census.json``). docs/reference/analysis.md lists the columns.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import struct
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import stats
from slowstart._native import Census, census_edges
from slowstart._version import __version__
from slowstart.errors import InputError
from slowstart.store.output import replace_file, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl

FORMAT = 1
"""Format of the document of ``slowstart census --json``."""
SUMMARY, PLAN = "census.json", "plan.json"
REASONS = (
    "loss", "ecn", "heuristic", "receiver-limited", "application-limited", "completed",
    "cannot-tell",
)  # fmt: skip
"""Why slow start ended or did not, as in a verdict of ``slowstart analyze``."""
EXITS = REASONS[:3]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Broken files that the summary names; files/*.json names all.
_NAMED = 1000
# The bins of crates/analysis/src/census/tally.rs.
_BELOW = 52 - 5

Name = str | os.PathLike[str]
Bins = Counter[int]


def census(
    inputs: Sequence[Name],
    output: Name,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Analyzes all connections of captures, logs, tar archives, and folders of them.

    Args:
        inputs: Files and folders; folders with all that is in them.
        output: The folder of the result. One that an interrupted census of the same files left is
            continued.
        threads: Number of threads; one for each core by default. It does not affect the result.
        progress: Called with the bytes read so far and those of all files.

    Returns:
        The summary, as in ``census.json``.

    Raises:
        InputError: An input cannot be read, none has a file, or ``output`` holds something else.
        RunError: The result cannot be written.

    Example:
        >>> found = census(["captures"], "result")  # doctest: +SKIP
        >>> table("result").filter(pl.col("verdict_reason") == "loss")  # doctest: +SKIP
    """
    folder = Path(os.path.abspath(output))  # noqa: PTH100 (resolve() would follow a link)
    plan = Census(inputs, folder)
    if plan.files == 0:
        names = ", ".join(os.fspath(each) for each in inputs)
        raise InputError(f"{names}: there is no file in this folder")
    known = {"format": FORMAT, "version": __version__, "files": plan.files, "bytes": plan.bytes,
             "parts": plan.parts, "digest": plan.digest}  # fmt: skip
    with _locked(folder, output, known), writing(output):
        plan.run(folder, threads=threads, progress=progress)
        made = summarize(folder, plan.parts)
        if made["files"]["broken"] == made["files"]["read"] and not made["connections"]:
            shutil.rmtree(folder)
            first = made["broken"][0]
            more = f" (and {count} more files)" if (count := made["files"]["broken"] - 1) else ""
            raise InputError(f"{first['file']}{more}: {first['error']}")
        replace_file(folder / SUMMARY, json.dumps(made, indent=1) + "\n")
    return made


def table(folder: Name) -> pl.LazyFrame:
    """The connections of a finished census as a lazy table of polars: one row each."""
    import polars as pl

    return pl.scan_parquet(Path(folder) / "connections" / "*.parquet")


@contextmanager
def _locked(folder: Path, name: Name, known: Mapping[str, Any]) -> Iterator[None]:
    """Holds ``folder`` for one process; makes it, or checks that it has a census of the same files.

    Raises:
        InputError: It has something else, or cannot be written.
    """
    what = f"the folder -o {os.fspath(name)}"
    text = json.dumps(known, indent=1) + "\n"
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"-o {os.fspath(name)} is not a folder: name a new one")
        if folder.is_dir() and any(folder.iterdir()):
            plan = folder / PLAN
            if not plan.is_file():
                raise InputError(f"{what} holds something other than a census: name a new folder")
            if plan.read_text(encoding="utf-8", errors="replace") != text:
                raise InputError(
                    f"{what} holds a census of other files, or of files that have changed since, "
                    "or by another version: name a new folder"
                )
        else:
            folder.mkdir(exist_ok=True)
            replace_file(folder / PLAN, text)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write {what}: {reason}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"another census writes to {what}") from error
        yield
    finally:
        os.close(lock)


def edge(place: int) -> float:
    """The lower edge of a bin of times or windows."""
    return float(struct.unpack("<d", struct.pack("<Q", place << _BELOW))[0])


def quantile(bins: Mapping[int, int], rank: float) -> float:
    """The value of a rank from 0 to the number of values, by its bin: at most 1/32 wrong."""
    before = 0
    for place in sorted(bins):
        count = bins[place]
        if before + count >= rank:
            part = (rank - before) / count
            return edge(place) + part * (edge(place + 1) - edge(place))
        before += count
    return 0.0


def distribution(bins: Mapping[int, int]) -> dict[str, Any] | None:
    """Quantiles, and the 95 % interval of the median by the normal approximation of its ranks."""
    count = sum(bins.values())
    if not count:
        return None
    half = 0.98 * count**0.5
    low, high = max(0.0, count / 2 - half), min(float(count), count / 2 + half)
    return {
        "quantiles": {f"{each:g}": quantile(bins, each * count) for each in QUANTILES},
        "median_ci95": [quantile(bins, low), quantile(bins, high)],
    }


def _share(count: int, of: int) -> dict[str, Any]:
    interval = stats.wilson(count, of)
    return {
        "connections": count,
        "fraction": count / of if of else None,
        "ci95": None if interval is None else list(interval),
    }


def _shares(cells: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The fraction of each reason."""
    counts: Counter[str] = Counter()
    for cell in cells:
        counts[cell["reason"]] += cell["connections"]
    total = counts.total()
    return {
        "connections": total,
        "reasons": {each: _share(counts[each], total) for each in REASONS},
    }


class _Sum:
    """The counts of all parts."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.formats: Counter[str] = Counter()
        self.broken: list[dict[str, str]] = []
        self.cells: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.ended_by: Counter[str] = Counter()
        self.bytes = 0

    def add(self, part: Mapping[str, Any]) -> None:
        """Adds a part."""
        for note in part["files"]:
            broken, is_archive = note.get("error"), note["format"] is None and "error" not in note
            if is_archive:  # only what is wrong with the archive itself
                self.files["noted"] += 1
                continue
            self.files["read"] += 1
            self.files["broken"] += broken is not None
            self.files["noted"] += "notes" in note
            for key in ("records", "skipped", "dropped", "evicted", "quic_connections"):
                self.files[key] += note[key]
            if broken is None:
                self.formats[note["format"]] += 1
            elif len(self.broken) < _NAMED:
                self.broken.append({"file": note["file"], "error": broken})
        tally = part["tally"]
        self.ended_by.update(tally["ended_by"])
        self.bytes += tally["bytes"]
        keys = ("reason", "because", "vantage", "class", "rtt", "size")
        for cell in tally["cells"]:
            values = tuple(cell[each] for each in keys)
            empty = {"connections": 0, "exit_time_s": Counter(), "exit_cwnd_bytes": Counter()}
            named = dict(zip(keys, values, strict=True))
            kept = self.cells.setdefault(values, named | empty)
            kept["connections"] += cell["connections"]
            for name in ("exit_time_s", "exit_cwnd_bytes"):
                kept[name].update({int(place): count for place, count in cell[name].items()})


def _merged(cells: Iterable[Mapping[str, Any]], name: str) -> Bins:
    bins: Bins = Counter()
    for cell in cells:
        bins.update(cell[name])
    return bins


def _groups(
    cells: Sequence[Mapping[str, Any]], key: str, edges: Sequence[float]
) -> list[dict[str, Any]]:
    bounds = list(itertools.pairwise([0, *edges, None]))
    groups = []
    for place, (low, high) in enumerate(bounds):
        mine = [cell for cell in cells if cell[key] == place]
        if mine:
            groups.append({"from": low, "below": high, **_shares(mine)})
    return groups


def summarize(folder: Path, parts: int) -> dict[str, Any]:
    """The summary of a census of ``parts`` parts, from the counts beside their tables."""
    sums = _Sum()
    for part in range(parts):
        sums.add(json.loads((folder / "files" / f"{part:05}.json").read_bytes()))
    # A connection without payload says nothing, and scans have a great many.
    cells = [cell for cell in sums.cells.values() if cell["size"] > 0]
    total = sum(cell["connections"] for cell in sums.cells.values())
    shares = _shares(cells)
    because: Counter[str] = Counter()
    vantages: Counter[str] = Counter()
    for cell in cells:
        vantages[cell["vantage"]] += cell["connections"]
        if cell["because"] is not None:
            because[cell["because"]] += cell["connections"]
    exits = {}
    for reason in EXITS:
        mine = [cell for cell in cells if cell["reason"] == reason]
        times, windows = _merged(mine, "exit_time_s"), _merged(mine, "exit_cwnd_bytes")
        classes: Counter[str] = Counter()
        for cell in mine:
            classes[cell["class"]] += cell["connections"]
        if times:
            exits[reason] = {
                "time_s": distribution(times),
                "cwnd_bytes": distribution(windows),
                "classes": dict(sorted(classes.items())),
                "time_bins": _bins(times),
                "cwnd_bins": _bins(windows),
            }
    rtts, sizes = census_edges()
    files = {key: sums.files[key] for key in
             ("read", "broken", "noted", "records", "skipped", "dropped", "evicted")}  # fmt: skip
    return {
        "format": FORMAT,
        "version": __version__,
        "census": True,
        "files": {**files, "formats": dict(sorted(sums.formats.items()))},
        "connections": total,
        "without_data": total - shares["connections"],
        "quic_connections": sums.files["quic_connections"],
        "bytes": sums.bytes,
        "with_data": shares,
        "cannot_tell": {
            each: _share(count, shares["connections"])
            for each, count in sorted(because.items(), key=lambda item: (-item[1], item[0]))
        },
        "exits": exits,
        "by_rtt_ms": _groups(cells, "rtt", rtts),
        "by_size_bytes": _groups(cells, "size", [float(each) for each in sizes]),
        "vantages": dict(sorted(vantages.items())),
        "ended_by": dict(sorted(sums.ended_by.items())),
        "broken": sums.broken,
    }


def _bins(bins: Bins) -> list[list[float]]:
    """Upper edge and number of each bin, for a CDF."""
    return [[edge(place + 1), bins[place]] for place in sorted(bins)]
