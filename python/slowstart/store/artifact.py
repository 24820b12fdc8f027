"""One archive of a study: inputs, results, figures, versions, and the commands that repeat it.

The archive is a ``tar.gz`` whose bytes depend only on its content. ``SHA256SUMS`` lists every other
file, ``artifact.json`` has the versions and the commands, and ``zenodo.json`` the metadata that a
repository for research data asks for.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FACTS, SUMS = "artifact.json", "SHA256SUMS"
INPUTS, RESULTS = "inputs", "results"
# Runs that are kept to resume a study: the tables beside them have their content.
_KEPT = "store"
_MOST = 4_000_000_000

README = """# {title}

An archive of slowstart {version}: the study `{study}`, with everything that repeats it.

- `{inputs}/{study}`: the study: experiments, claims, and what was chosen.
- `{results}`: verdicts, tables, figures and the report.
- `artifact.json`: versions and commands. `SHA256SUMS`: the checksum of each file.

Check the files, and repeat the runs:

```sh
{commands}
```
"""


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a folder in the order of their names, without caches and stored runs."""
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if file.is_file() and not hidden and parts[0] != _KEPT:
            yield PurePosixPath(*parts).as_posix(), file.read_bytes()


def contents(
    study: str, title: str, inputs: Path, results: Path, facts: Mapping[str, Any]
) -> dict[str, bytes]:
    """The files of an archive by name, checksums included."""
    found = {f"{INPUTS}/{study}/{name}": data for name, data in _files(inputs)}
    found |= {f"{RESULTS}/{name}": data for name, data in _files(results)}
    found[FACTS] = _json({"format": 1, "study": study, "title": title, **facts})
    found["zenodo.json"] = _json(
        {
            "title": f"slowstart: {title}",
            "upload_type": "dataset",
            "description": f"Inputs, results and figures of the study {study} of slowstart.",
            "creators": [{"name": "The slowstart authors"}],
            "keywords": ["TCP", "congestion control", "slow start", "reproducibility"],
            "version": facts["version"],
            "license": "MIT",
        }
    )
    found["README.md"] = README.format(
        title=title, version=facts["version"], study=study, inputs=INPUTS, results=RESULTS,
        commands="\n".join(facts["commands"]),
    ).encode()  # fmt: skip
    sums = [f"{hashlib.sha256(found[name]).hexdigest()}  {name}\n" for name in sorted(found)]
    found[SUMS] = "".join(sums).encode()
    return found


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def packed(files: Mapping[str, bytes], folder: str) -> bytes:
    """The archive, with all files in ``folder``."""
    whole = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=whole, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(files):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(files[name]), 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return whole.getvalue()


def read(file: Path) -> dict[str, bytes]:
    """The files of an archive, whose checksums are right.

    Raises:
        InputError: It is no such archive, or a file is missing, added or changed.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, "r:gz") as archive:
            for entry in archive:
                parts = PurePosixPath(entry.name).parts
                if not entry.isfile() or len(parts) < 2 or ".." in parts or parts[0] == "/":
                    raise InputError(f"{file} has the entry `{entry.name}`, which is no plain file")
                if sum(map(len, found.values())) + entry.size > _MOST:
                    raise InputError(f"{file} has more than {_MOST // 10**9} GB")
                opened = archive.extractfile(entry)
                found["/".join(parts[1:])] = opened.read() if opened else b""
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"cannot read the archive {file}: {str(error).lower()}") from error
    if SUMS not in found or FACTS not in found:
        raise InputError(f"{file} is no archive of slowstart artifact: it has no {SUMS}")
    sums = {}
    for line in found[SUMS].decode(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        sums[name] = digest
    for name in sorted({*sums, *found} - {SUMS}):
        if name not in found:
            raise InputError(f"{file}: {name} is missing")
        if sums.get(name) != hashlib.sha256(found[name]).hexdigest():
            raise InputError(f"{file}: {name} is not what {SUMS} lists")
    return found
