"""Conformance vectors on the command line: passed, failed, and invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

VECTORS = Path(__file__).parents[2] / "conformance"
VECTOR = VECTORS / "hystart++-exit.vec"


def _spoiled(folder: Path) -> tuple[str, int]:
    """Writes a vector with one wrong window; returns its name and the line."""
    lines = VECTOR.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if "=>" in line and "cwnd=" in line)
    before, _, after = lines[number].partition("cwnd=")
    rest = after.split(" ", 1)[1:]
    lines[number] = " ".join([f"{before}cwnd=1s", *rest])
    (folder / "spoiled.vec").write_text("\n".join(lines) + "\n")
    return "spoiled.vec", number + 1


def test_every_vector_of_the_project_passes(command: Command) -> None:
    done = command("conformance", str(VECTORS))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == len(list(VECTORS.glob("*.vec"))) > 20
    assert all("are as expected" in line for line in lines)


def test_the_first_difference_has_its_line(command: Command, tmp_path: Path) -> None:
    name, line = _spoiled(tmp_path)
    done = command("conformance", str(VECTOR), name)
    assert (done.returncode, done.stderr) == (1, "")
    good, bad, held = done.stdout.splitlines()
    assert "are as expected" in good
    assert bad.startswith(f"{name}:{line}: ")
    assert "cwnd is" in bad
    assert "values before it" in held


def test_json_has_every_vector(command: Command, tmp_path: Path) -> None:
    name, line = _spoiled(tmp_path)
    done = command("conformance", name, str(VECTOR), "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert [each["passed"] for each in document["vectors"]] == [False, True]
    (mismatch,) = document["vectors"][0]["mismatches"]
    assert (mismatch["line"], mismatch["quantity"]) == (line, "cwnd")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("absent.vec",), "absent.vec"),
        (("no-vector.vec",), "no-vector.vec:1:"),
        ((str(VECTOR), "no-vector.vec"), "no-vector.vec:1:"),
        (("empty",), "empty"),
        ((), "FILE"),
    ],
)
def test_an_invalid_vector_is_rejected(
    command: Command, tmp_path: Path, words: tuple[str, ...], named: str
) -> None:
    (tmp_path / "no-vector.vec").write_text("hello\n")
    (tmp_path / "empty").mkdir()
    done = command("conformance", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
