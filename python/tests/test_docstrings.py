"""The public functions say what they take and return, and their examples run."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import slowstart
from slowstart import look, metrics

MODULES = ("", ".running", ".metrics", ".look")
PUBLIC: list[Callable[..., Any]] = [
    slowstart.compare,
    slowstart.run,
    slowstart.sweep,
    look.resolved,
    look.watch,
    metrics.effect,
    metrics.exit_cost,
    metrics.jain,
    metrics.loss_increase,
    metrics.loss_probability,
    metrics.speed_up,
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = import_module(f"slowstart{name}")
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0
    assert done.attempted > 0


@pytest.mark.parametrize("function", PUBLIC, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_public_functions_are_described(function: Callable[..., Any]) -> None:
    words = inspect.getdoc(function) or ""
    for part in ("Args:", "Returns:", ">>> "):
        assert part in words
    arguments = words.partition("Args:")[2].partition("Returns:")[0]
    for name in inspect.signature(function).parameters:
        assert f"  {name}: " in arguments, name
