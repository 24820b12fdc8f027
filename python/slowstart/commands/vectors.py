"""Runs conformance vectors and prints their reports."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from slowstart._native import run_vector

if TYPE_CHECKING:
    from collections.abc import Iterable


def reports(files: Iterable[str]) -> list[dict[str, Any]]:
    """A report for each vector of ``files``, which may be folders.

    Raises:
        InputError: A file cannot be read, or is not a valid vector.
    """
    return [report for file in files for report in json.loads(run_vector(file))]


def show(found: Iterable[dict[str, Any]]) -> None:
    """Prints one line for each vector that passed, and two for each that failed."""
    for report in found:
        if report["passed"]:
            sys.stdout.write(report["text"] + "\n")
            continue
        first = report["text"].split("\n", 1)[0]
        held = report["checks"] - len(report["mismatches"])
        sys.stdout.write(f"{first}\n  {held} values before it are as expected\n")
