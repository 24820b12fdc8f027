"""What a browser makes of a page, for tests; Chromium is a package of most distributions."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from subprocess import Popen
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
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


def posted(folder: Path, page: str, *options: str) -> str:
    """What ``page`` in ``folder`` sends by ``fetch(..., {method: "POST"})`` to its web server."""
    assert CHROMIUM is not None
    bodies: SimpleQueue[bytes] = SimpleQueue()

    class Server(SimpleHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()
            bodies.put(body)

        def log_message(self, *_: object) -> None:
            pass

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=folder)) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={profile}", "--remote-debugging-port=0", *options,
                f"http://127.0.0.1:{server.server_port}/{page}",
            ],
            stderr=subprocess.DEVNULL,
        ) as browser,
    ):  # fmt: skip
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            return bodies.get(timeout=120).decode()
        finally:
            browser.terminate()
            server.shutdown()
