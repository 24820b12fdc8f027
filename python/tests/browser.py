"""How wide a page is in a browser, for tests; Chromium is a package of most distributions."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_REPORT = """
<script>
addEventListener("load", () => {
  const wide = document.documentElement.clientWidth;
  const over = [...document.querySelectorAll("body *")].filter((each) => {
    for (let up = each; up; up = up.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(up).overflowX)) return false;
    return each.getBoundingClientRect().right > wide + 1;
  });
  const names = over.slice(0, 4).map((each) => each.tagName + "." + each.className);
  const size = document.documentElement;
  parent.postMessage(`${size.scrollWidth}|${size.scrollHeight}|${names.join(" ")}`, "*");
});
</script>
"""
_FRAME = """<body><p></p><script>
addEventListener("message", (event) => { document.querySelector("p").textContent += event.data; });
</script><iframe style="width:{width}px;height:900px;border:0" src="page.html"></iframe>"""


def widths(page: Path, scratch: Path, at: Sequence[int]) -> dict[int, tuple[int, int, str]]:
    """By the width of the window: width and height of the page, and what sticks out.

    A window of a browser has a least width, so the page is shown in a frame.
    """
    assert CHROMIUM is not None
    (scratch / "page.html").write_text(page.read_text(encoding="utf-8") + _REPORT, encoding="utf-8")
    found = {}
    for width in at:
        frame = scratch / "frame.html"
        frame.write_text(_FRAME.replace("{width}", str(width)), encoding="utf-8")
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={scratch / 'profile'}", f"--window-size={width + 400},1000",
                "--virtual-time-budget=20000", "--dump-dom", frame.as_uri(),
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        said = re.search(r"<p>(\d+)\|(\d+)\|(.*?)</p>", done.stdout, re.DOTALL)
        assert said is not None, done.stdout[:500]
        found[width] = (int(said[1]), int(said[2]), said[3])
    return found
