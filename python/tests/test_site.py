"""The site: its pages link to pages that exist, and each command has a page with an example."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="modules")
def _modules(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "site"))
    yield importlib.import_module("build"), importlib.import_module("commands")
    for name in ("build", "commands"):
        del sys.modules[name]


@pytest.mark.parametrize("repository", ["", "https://example.org/slowstart"])
def test_links_lead_to_pages_that_exist(modules: Any, tmp_path: Path, repository: str) -> None:
    build, _ = modules
    build.build(tmp_path / "docs", repository)
    outside = 0
    for page in (tmp_path / "docs").rglob("*.md"):
        text = build.FENCE.sub("", page.read_text())
        for _, target in build.LINK.findall(text):
            if target.startswith(("http:", "https:")):
                outside += repository != "" and target.startswith(repository)
                continue
            if target.startswith("#"):
                continue
            place = page.parent / target.partition("#")[0]
            assert place.is_file() or place.name == "slowstart.wasm", f"{page}: {target}"
    assert (outside > 100) == bool(repository)


def test_the_menu_has_the_words_of_each_page(modules: Any, tmp_path: Path) -> None:
    build, _ = modules
    build.build(tmp_path / "docs", "")
    settings = json.loads((tmp_path / "mkdocs.yml").read_text())
    assert not any(Path(settings[each]).is_absolute() for each in ("docs_dir", "site_dir"))
    named = dict(_named(settings["nav"]))
    assert named["hystart++"] == "reference/algorithms/hystart++.md"
    for title, target in named.items():
        if target.startswith(("reference/", "design/")):
            assert f"\n# {title}\n" in "\n" + (ROOT / "docs" / target).read_text().replace("`", "")


def _named(menu: list[Any]) -> Iterator[tuple[str, str]]:
    for entry in menu:
        for title, below in entry.items() if isinstance(entry, dict) else ():
            if isinstance(below, str):
                yield title, below
            else:
                yield from _named(below)


def test_each_figure_of_an_algorithm_is_in_the_gallery(modules: Any) -> None:
    build, _ = modules
    figures = set((ROOT / "docs/reference/algorithms/figures").iterdir())
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", build.gallery())
    assert {ROOT / "docs" / each for each in shown} >= figures


def test_each_command_has_an_example_and_a_manual_page(modules: Any, tmp_path: Path) -> None:
    _, commands = modules
    listed = list(commands.commands())
    for name, command in listed:
        examples = [lines for is_commands, lines in commands.epilog(command) if is_commands]
        assert any(f"slowstart {name}" in lines for lines in examples), name
        assert "bound method" not in commands.page(name, command)
    assert commands.write(tmp_path) == len(listed) + 1
    if shutil.which("groff"):
        for page in tmp_path.iterdir():
            done = subprocess.run(
                ["groff", "-man", "-Tascii", "-ww", "-z", page], capture_output=True, check=True
            )
            assert done.stderr == b"", page
