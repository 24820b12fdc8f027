"""The explorable: its module gives the bytes of the command, and its page names what exists."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import CHROMIUM, posted

from slowstart import Scenario, run

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parent
PAGE = TESTS.parents[1] / "docs" / "explorable"
MODULE = PAGE / "slowstart.wasm"
NODE = shutil.which("node") or shutil.which("nodejs")

PATHS = [
    'rate = "20 Mbit/s"\nrtt = "60 ms"\nbuffer = "1 bdp"',
    'rate = "4 Mbit/s"\nrtt = "300 ms"\nbuffer = "0.2 bdp"\nloss = "0.5 %"',
    'rate = "50 Mbit/s"\nrtt = "30 ms"\nbuffer = "4 bdp"\njitter = "6 ms"',
    *(f'preset = "{name}"' for name in ("lte", "5g", "geo", "leo", "wifi-strong", "wifi-weak")),
    'preset = "docsis"',
]
ALGORITHMS = ["cubic+hystart", "cubic+hystart++", "cubic+search", "cubic+oracle", "bbr"]


def scenario(path: str, algorithm: str, seed: int = 1) -> str:
    flow = f'[[flow]]\nalgorithm = "{algorithm}"\nsize = "600 kB"\n'
    return f"seed = {seed}\n[path]\n{path}\n{flow}"


def in_node(texts: list[str]) -> str:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(TESTS / "explorable.mjs"), str(MODULE)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def in_browser(texts: list[str], folder: Path) -> str:
    for each in (MODULE, TESTS / "explorable.html", TESTS / "explorable.mjs"):
        shutil.copy(each, folder)
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    return posted(folder, "explorable.html")


def choices(name: str) -> list[str]:
    """The values of a list of choices in the page's script."""
    text = (PAGE / "page.js").read_text()
    found = re.search(rf"const {name} = \[\n(.*?)\n  \];", text, re.DOTALL)
    assert found
    return re.findall(r'^    \["([^"]+)"', found[1], re.MULTILINE)


def test_the_page_offers_what_exists() -> None:
    startups, kinds = choices("STARTUPS"), choices("KINDS")
    assert len(startups) >= 10
    assert kinds.pop(0) == "own"
    for startup in startups:
        Scenario.from_toml(scenario(PATHS[0], startup))
    for kind in kinds:
        Scenario.from_toml(scenario(f'preset = "{kind}"', "cubic"))
    chapters = (PAGE / "chapters.js").read_text()
    named = re.findall(r'\b[ab]: "([^"]+)"', chapters)
    assert set(named) <= set(startups)
    assert chapters.count("question:") == chapters.count("try:") == 8


needs_module = pytest.mark.skipif(
    not MODULE.exists(), reason="needs the module of `make explorable`"
)
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine (apt install chromium)"
)


def assert_bytes_of_the_command(answers: Callable[[list[str]], str]) -> None:
    """Each path with each algorithm, with a seed of its own: 50 scenarios."""
    pairs = itertools.product(PATHS, ALGORITHMS)
    texts = [scenario(path, algorithm, seed) for seed, (path, algorithm) in enumerate(pairs, 1)]
    found = json.loads(answers(texts))
    assert len(found) == len({text for _, text in found}) == 50
    for text, (failed, answer) in zip(texts, found, strict=True):
        native = run([Scenario.from_toml(text, name="explorable.toml")]).to_json()
        assert (failed, answer) == (0, native), text


@needs_module
@needs_node
def test_the_module_in_node_gives_the_bytes_of_the_command() -> None:
    assert_bytes_of_the_command(in_node)


@needs_module
@needs_browser
def test_the_module_in_a_browser_gives_the_bytes_of_the_command(tmp_path: Path) -> None:
    assert_bytes_of_the_command(lambda texts: in_browser(texts, tmp_path))


@needs_module
@needs_node
def test_the_module_refuses_with_one_sentence() -> None:
    [(failed, answer)] = json.loads(in_node(["[path]\nrat = 1\n"]))
    assert failed == 1
    assert answer.startswith("explorable.toml:2:1:")
    assert MODULE.stat().st_size < 3_000_000
