"""The files for releases name the versions, libraries and actions of this project."""

from __future__ import annotations

import re
from pathlib import Path

HOME = Path(__file__).parents[2]
RECIPE = (HOME / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
PROJECT = (HOME / "pyproject.toml").read_text(encoding="utf-8")


def listed(name: str) -> list[str]:
    """The requirements of a list in pyproject.toml, such as ``typer>=0.12``."""
    found = re.search(rf"^{name} = \[\n(.*?)^\]", PROJECT, re.DOTALL | re.MULTILINE)
    assert found is not None
    return re.findall(r'^    "([^"]+)"', found[1], re.MULTILINE)


def test_the_conda_recipe_has_the_version_and_the_libraries() -> None:
    version = re.search(
        r'^version = "(.+)"', (HOME / "Cargo.toml").read_text("utf-8"), re.MULTILINE
    )
    assert version is not None
    assert f'  version: "{version[1]}"\n' in RECIPE
    run = re.search(r"^  run:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    assert run is not None
    wanted = [each.replace(">=", " >=") for each in ("python", *listed("dependencies"))]
    assert re.findall(r"    - (.*)\n", run[1]) == wanted
    for each in listed("report"):
        assert each.replace(">=", " >=") in RECIPE
    maturin = re.search(r'requires = \["(maturin)(.*)"\]', PROJECT)
    assert maturin is not None
    assert RECIPE.count(f"- {maturin[1]} {maturin[2]}\n") == 2


def test_the_conda_recipe_has_a_c_library_for_each_system() -> None:
    assert 'stdlib("c")' in RECIPE
    pins = (HOME / "packaging" / "conda" / "variants.yaml").read_text(encoding="utf-8")
    named = pins.partition("c_stdlib:\n")[2].partition("c_stdlib_version:")[0]
    assert re.findall(r"- if: (\w+)", named) == ["linux", "osx", "win"]


def test_the_container_has_the_wheel_of_today() -> None:
    text = (HOME / "Containerfile").read_text(encoding="utf-8")
    # A build keeps a step whose mounted files have changed; it repeats one that copies them.
    assert "COPY dist /dist\n" in text
    assert "--mount" not in text


def test_actions_are_pinned_by_commit() -> None:
    files = sorted((HOME / ".github" / "workflows").glob("*.yml"))
    uses = [line for file in files for line in re.findall(r"uses: (.*)", file.read_text("utf-8"))]
    assert len(uses) > 20
    for each in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each
