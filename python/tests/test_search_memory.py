"""The memory of SEARCH 1.0 and 2.0 that the README of ``search-thesis`` states.

It is counted from the struct of the kernel programs, by the compiler (``make -C bpf memory``). An
installed package has no source of these programs; the test then skips.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from slowstart.studies.catalogue import FOLDERS

SOURCE = Path(__file__).resolve().parents[2] / "bpf" / "host" / "memory.c"


@pytest.mark.skipif(not SOURCE.is_file(), reason="needs the source of a checkout")
def test_the_memory_of_search_is_what_the_study_says(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    program = tmp_path / "memory"
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE], check=True
    )
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    two, equal, window = map(int, re.findall(r": (\d+) bytes", printed))
    assert two < window < equal
    readme = (FOLDERS / "search-thesis" / "README.md").read_text(encoding="utf-8")
    said = " ".join(readme.split())
    ring = equal - two
    saved = [round(100 * (1 - two / other)) for other in (equal, window)]
    assert f"takes {two} bytes for 2.0, of which a ring is {ring}." in said
    assert f"take {equal} or {window} bytes for 1.0" in said
    assert f"2.0 saves {saved[0]} or {saved[1]} %." in said
