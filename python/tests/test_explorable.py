"""The explorable: its module gives the bytes of the command, and its page names what exists."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from slowstart import Scenario, run

PAGE = Path(__file__).parents[2] / "docs" / "explorable"
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


def answers(texts: list[str]) -> list[tuple[int, str]]:
    assert NODE is not None
    script = Path(__file__).with_name("explorable.mjs")
    done = subprocess.run(
        [NODE, str(script), str(MODULE)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return [(failed, text) for failed, text in json.loads(done.stdout)]


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


@pytest.mark.skipif(
    NODE is None or not MODULE.exists(), reason="needs node, and the module of `make explorable`"
)
def test_the_module_gives_the_bytes_of_the_command() -> None:
    texts = [
        scenario(path, algorithm, seed)
        for seed, (path, algorithm) in enumerate(itertools.product(PATHS, ALGORITHMS), start=1)
    ]
    assert len(texts) == 50
    scenarios = [Scenario.from_toml(text, name="explorable.toml") for text in texts]
    for text, native, (failed, answer) in zip(texts, scenarios, answers(texts), strict=True):
        assert (failed, answer) == (0, run([native]).to_json()), text


@pytest.mark.skipif(
    NODE is None or not MODULE.exists(), reason="needs node, and the module of `make explorable`"
)
def test_the_module_refuses_with_one_sentence() -> None:
    [(failed, answer)] = answers(["[path]\nrat = 1\n"])
    assert failed == 1
    assert answer.startswith("explorable.toml:2:1:")
    assert MODULE.stat().st_size < 3_000_000
