"""The public functions say what they take and return, and their examples run."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import slowstart
from slowstart import characterization, figure_style, metrics, startup, traces

MODULES = ("", ".running", ".metrics", ".characterization", ".figure_style", ".startup", ".traces")
# Each public function of these is described.
WHOLE = (metrics, figure_style, startup, traces)


def functions_of(module: ModuleType) -> list[Callable[..., Any]]:
    """The public functions that are defined in ``module``."""
    found: list[Callable[..., Any]] = []
    for name, each in vars(module).items():
        plain = inspect.unwrap(each) if callable(each) else each
        if inspect.isfunction(plain) and plain.__module__ == module.__name__:
            found += [] if name.startswith("_") else [plain]
    return found


PUBLIC: list[Callable[..., Any]] = [
    *(each for each in vars(slowstart).values() if inspect.isfunction(each)),
    characterization.resolved,
    characterization.watch,
    *(each for module in WHOLE for each in functions_of(module)),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = import_module(f"slowstart{name}")
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert done.failed == 0
    assert done.attempted > 0


@pytest.mark.parametrize("function", PUBLIC, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_public_functions_are_described(function: Callable[..., Any]) -> None:
    words = inspect.getdoc(function) or ""
    for part in ("Returns:", ">>> "):
        assert part in words
    assert "Args:" in words or not inspect.signature(function).parameters
    arguments = words.partition("Args:")[2].partition("Returns:")[0]
    for name in inspect.signature(function).parameters:
        assert f"  {name}: " in arguments, name


# The native module has one line for each method; this page has the rest, with examples.
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
# Of Scenario, what serves stores and sweeps inside the package.
INTERNAL = {
    "compare",
    "definition",
    "definitions",
    "from_exact_json",
    "from_tomls",
    "to_exact_json",
}


def native_names() -> list[str]:
    """The public names of the native module, with the methods of its classes."""
    found = ["algorithms", "paths"]
    for kind in (slowstart.Result, slowstart.Table, slowstart.Scenario):
        names = [name for name in dir(kind) if not name.startswith("_") and name not in INTERNAL]
        found += [f"{kind.__name__}.{name}" for name in names]
    return found


def section(name: str) -> str:
    """The section of the page with this heading, without those below it."""
    for part in PAGE.read_text(encoding="utf-8").split("\n#"):
        heading, _, words = part.partition("\n")
        if heading.lstrip("# ") == name:
            return words
    return ""


@pytest.mark.parametrize("name", native_names())
def test_native_names_have_a_section_with_an_example(name: str) -> None:
    words = section(name)
    assert "Returns: " in words
    assert ">>> " in words


def test_examples_of_the_page_run() -> None:
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    done = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert done.failed == 0
    assert done.attempted > 30


def test_every_public_name_is_described() -> None:
    for name in slowstart.__all__:
        found = getattr(slowstart, name)
        if inspect.isfunction(found):
            assert found in PUBLIC, name
        elif callable(found):
            assert section(name) or issubclass(found, Exception), name


# What classes written in Python receive, and what they return.
SIGNALS = (startup.Ack, startup.Sent, startup.Window, startup.Congestion)
ANSWERS = (startup.Set, startup.Exit)
INTERFACES = (startup.Startup, startup.Avoidance, startup.CongestionControl)


def fields_in(file: Path) -> dict[str, dict[str, str]]:
    """The text under each annotated field of each class of a file, with single backticks."""
    found: dict[str, dict[str, str]] = {}
    for each in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(each, ast.ClassDef):
            continue
        fields = found.setdefault(each.name, {})
        for place, field in enumerate(each.body):
            if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
                continue
            words = ""
            match each.body[place + 1 : place + 2]:
                case [ast.Expr(ast.Constant(str(text)))]:
                    words = plain(text)
            fields[field.target.id] = words
    return found


def plain(text: str | None) -> str:
    """The words of a docstring, with single backticks and without roles."""
    words = " ".join((text or "").split()).replace("``", "`")
    return words.replace(":class:", "")


def cells(heading: str) -> dict[str, str]:
    """The last cell of each row of the tables of a section, by the name in its first one."""
    rows = [line for line in section(heading).split("\n") if line.startswith("| `")]
    parts = [row.replace("\\|", "\0").strip("| ").split(" | ") for row in rows]
    return {
        each[0].strip("`").partition("(")[0]: each[-1].replace("\0", "|").strip() for each in parts
    }


@pytest.mark.parametrize("kind", SIGNALS, ids=lambda each: each.__name__)
def test_every_field_that_a_class_receives_is_described_alike(kind: type) -> None:
    names = [name for name in dir(kind) if not name.startswith("_")]
    stub = fields_in(Path(slowstart.__file__).with_name("_native.pyi"))[kind.__name__]
    page = cells(kind.__name__)
    assert list(stub) == list(page)
    assert sorted(stub) == names
    for name in names:
        said = plain(getattr(kind, name).__doc__)
        assert said.endswith("."), name
        assert stub[name] == said
        assert page[name] == said


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda each: each.__name__)
def test_every_field_that_a_class_returns_is_described(kind: Any) -> None:
    said = fields_in(Path(startup.__file__))[kind.__name__]
    assert list(said) == [field.name for field in dataclasses.fields(kind)]
    assert all(said.values())
    assert cells(kind.__name__) == said


@pytest.mark.parametrize("kind", INTERFACES, ids=lambda each: each.__name__)
def test_every_method_and_attribute_of_an_interface_is_described(kind: type) -> None:
    attributes = fields_in(Path(startup.__file__))[kind.__name__]
    methods = {
        name: plain(each.__doc__)
        for name, each in vars(kind).items()
        if inspect.isfunction(each) and not name.startswith("_")
    }
    assert all({**attributes, **methods}.values())
    assert cells(kind.__name__) == {**methods, **attributes}
