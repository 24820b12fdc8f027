"""``slowstart artifact``: the archive of a study."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import slowstart
from slowstart.commands.cli import invoke
from slowstart.store import artifact

if TYPE_CHECKING:
    from collections.abc import Callable

RESULT = {
    "format": 1,
    "kind": "study",
    "version": slowstart.__version__,
    "study": "suss-testbed",
    "title": "A testbed",
    "quick": True,
    "stacks": [{"stack": "simulated"}],
    "claims": [],
}


@pytest.fixture(name="results")
def _results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "testbed"
    (folder / "store").mkdir(parents=True)
    (folder / "store" / "big.runs").write_text("stored runs")
    (folder / "result.json").write_text(json.dumps(RESULT))
    (folder / "report.html").write_text("<p>A report.</p>")
    return folder


def changed(file: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    files = artifact.read(file)
    change(files)
    file.write_bytes(artifact.packed(files, "testbed"))


def test_an_archive_has_what_repeats_the_study_and_always_the_same_bytes(results: Path) -> None:
    for name in ("one.tar.gz", "two/one.tar.gz"):
        Path(name).parent.mkdir(exist_ok=True)
        assert invoke(["artifact", str(results), "-o", name]) == 0
    assert Path("one.tar.gz").read_bytes() == Path("two/one.tar.gz").read_bytes()
    files = artifact.read(Path("one.tar.gz"))
    assert {"inputs/suss-testbed/claims.toml", "results/report.html", "zenodo.json"} <= set(files)
    assert not any("store" in name for name in files)
    facts = json.loads(files["artifact.json"])
    assert facts["options"] == ["--quick"]
    assert facts["commands"][-1] == "slowstart study suss-testbed --quick"
    assert invoke(["artifact", "verify", "one.tar.gz"]) == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda files: files.pop("results/report.html"), "results/report.html is missing"),
        (lambda files: files.update(extra=b"x"), "extra is not what SHA256SUMS lists"),
        (lambda files: files.update({"artifact.json": b"{}"}), "artifact.json is not what"),
        (lambda files: files.pop("SHA256SUMS"), "is no archive of slowstart artifact"),
    ],
)
def test_a_changed_archive_is_refused(
    results: Path,
    change: Callable[[dict[str, bytes]], object],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["artifact", str(results)]) == 0
    changed(Path("testbed.tar.gz"), change)
    assert invoke(["artifact", "verify", "testbed.tar.gz"]) == 2
    assert sentence in capsys.readouterr().err


def test_an_entry_outside_of_the_archive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.tar.gz"
    with (
        gzip.open(file, "wb") as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        archive.addfile(tarfile.TarInfo("a/../../b"), io.BytesIO())
    assert invoke(["artifact", "verify", str(file)]) == 2
    assert "no plain file" in capsys.readouterr().err
    file.write_bytes(b"nothing")
    assert invoke(["artifact", "verify", str(file)]) == 2
    assert "cannot read the archive" in capsys.readouterr().err


def test_wrong_words_are_one_sentence(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["verify"], [str(results), "b"], ["nothing"], [str(results), "--repeat"]):
        assert invoke(["artifact", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    Path("testbed.tar.gz").write_text("mine")
    assert invoke(["artifact", str(results)]) == 2
    assert Path("testbed.tar.gz").read_text() == "mine"
