"""The notebook of the documentation runs, and shows what it says it shows."""

from __future__ import annotations

import ast
import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from slowstart.figures.canvas import ShownFigure

FILE = Path(__file__).parents[2] / "docs" / "guides" / "notebook.ipynb"


def cells(kind: str) -> list[str]:
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    return ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == kind]


def shown(code: str, name: str, variables: dict[str, Any]) -> Any:
    """Executes a cell as Jupyter does; returns the value of its last line, if that has one."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), variables)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), variables)


def execute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each code cell shows. Like a kernel, it executes them as the module ``__main__``."""
    monkeypatch.chdir(folder)
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    found = []
    for number, code in enumerate(cells("code"), 1):
        value = shown(code, f"cell {number}", vars(main))
        # The representation at this moment: a later cell may change the object.
        found.append(value._repr_png_() if isinstance(value, ShownFigure) else repr(value))
    return found


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = execute(tmp_path, monkeypatch)
    figures = [each for each in found if isinstance(each, bytes)]
    tables = [each for each in found if "shape: (" in str(each)]
    assert len(figures) == 4
    assert len(tables) == 4
    assert all(each.startswith(b"\x89PNG") for each in figures)
    assert len(set(figures)) == 4, "the second is the first one, changed"
    assert not list(tmp_path.iterdir()), "a notebook writes no files"
    assert execute(tmp_path, monkeypatch) == found, "the same cells give the same"


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    ids = [each["id"] for each in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for each in notebook["cells"]:
        assert each["cell_type"] == "markdown" or each["outputs"] == []
        assert each.get("execution_count") is None
    assert FILE.read_text(encoding="utf-8") == (
        json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    )


def test_links_of_the_notebook_lead_somewhere() -> None:
    targets = [
        target.partition(")")[0] for cell in cells("markdown") for target in cell.split("](")[1:]
    ]
    assert targets
    for target in targets:
        assert (FILE.parent / target).is_file(), target
