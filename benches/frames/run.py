"""Prints the times of the explorable's frames in Chromium, without a window.

    python3 benches/frames/run.py       after `make explorable`

Chromium draws without a graphics card here, so a frame costs more than in a window.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parents[1]
sys.path.insert(0, str(HOME / "python" / "tests"))

import browser  # noqa: E402

HEAD = "scenario", "frames", "script: median", "95 %", "largest", "interval: median", "95 %"


def main() -> None:
    """Plays each chapter, and two long paths."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page"
        shutil.copytree(HOME / "docs" / "explorable", page)
        shutil.copy(HERE / "frames.js", page)
        index = page / "index.html"
        text = index.read_text(encoding="utf-8")
        scripts = '<script src="chapters.js">'
        if text.count(scripts) != 1:
            sys.exit(f"{index.name} does not load {scripts}")
        measured = text.replace(scripts, f'<script src="frames.js"></script>{scripts}')
        index.write_text(measured, encoding="utf-8")
        load = os.getloadavg()[0]
        rows = json.loads(browser.posted(page, "index.html", "--window-size=1280,900"))
    for row in (HEAD, *rows):
        print("".join(str(each).ljust(50 if each == row[0] else 18) for each in row).rstrip())  # noqa: T201
    print(f"Milliseconds. Load of the machine: {load:.1f} on {os.cpu_count()} processors.")  # noqa: T201


main()
