"""Seals of claims: proof that a claim's band is older than the study's first run.

``claims.lock`` in a study's folder has a line for each claim: its name and the SHA-256 of its
place, measure and band. ``slowstart study NAME --seal`` writes the lines of new claims, and refuses
where the study has results. A line of a claim that changed stays: whoever changes a band deletes
the line by hand, and gives the reason in ``CHANGELOG.md``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError
from slowstart.store.output import replace_file, writing
from slowstart.studies import measures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slowstart.studies.claims import Claim

LOCK = "claims.lock"
_HEAD = "# SHA-256 of each claim's place, measure and band, from before its first run."
_SEALED = (
    *measures.KEYS, "unit", "expected", "published", "decide", "where", "cannot_test",
)  # fmt: skip


def seal_of(table: Mapping[str, Any]) -> str:
    """A SHA-256 of a claim's place, measure and band; wording and explanation are not part."""
    sealed = {key: table[key] for key in sorted(_SEALED) if key in table}
    text = json.dumps(sealed, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read(text: str) -> dict[str, str]:
    """The seals in the text of a ``claims.lock``, by the claims' names."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {line[0]: line[1] for line in lines}


def differences(claims: Sequence[Claim], folder: Path) -> list[str]:
    """What differs between claims and their seals, a sentence each; empty if nothing does."""
    return [*_changed(claims, _read(folder)), *_unsealed(claims, _read(folder))]


def write(claims: Sequence[Claim], folder: Path, results: Path) -> list[str]:
    """Seals the claims that have no seal yet; their names.

    Args:
        claims: The claims of the study.
        folder: The study's folder.
        results: The folder of its runs, in which nothing may have run.

    Raises:
        InputError: There are results, or a sealed claim has changed. Nothing is written then.
    """
    file, sealed = folder / LOCK, _read(folder)
    changed = _changed(claims, sealed)
    if changed:
        raise InputError(f"{file}: {changed[0]}; a band may change only with a reason: delete its "
                         "line by hand and give the reason in the changelog")  # fmt: skip
    fresh = [each for each in claims if each.name not in sealed]
    if fresh and (results / "result.json").exists():
        raise InputError(
            f"{results} has results: a seal shows that the claims are older than the first run, "
            "so it cannot be written now"
        )
    if fresh:
        before = file.read_text(encoding="utf-8") if file.is_file() else f"{_HEAD}\n"
        with writing(file):
            replace_file(file, before + "".join(f"{each.name} {each.seal}\n" for each in fresh))
    return [each.name for each in fresh]


def _read(folder: Path) -> dict[str, str]:
    file = folder / LOCK
    return read(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _changed(claims: Sequence[Claim], sealed: Mapping[str, str]) -> list[str]:
    names = {each.name for each in claims}
    return [
        *(
            f"{each.name} is not what was sealed"
            for each in claims
            if sealed.get(each.name, each.seal) != each.seal
        ),
        *(f"{name} was sealed and is gone" for name in sealed if name not in names),
    ]


def _unsealed(claims: Sequence[Claim], sealed: Mapping[str, str]) -> list[str]:
    return [f"{each.name} is not sealed" for each in claims if each.name not in sealed]
