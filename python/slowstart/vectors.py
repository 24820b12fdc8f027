"""Conformance vectors: what the algorithms answer to them."""

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
        InputError: One of them cannot be read or is no vector.
    """
    return [report for file in files for report in json.loads(run_vector(file))]


def show(found: Iterable[dict[str, Any]]) -> None:
    """Prints a line for each vector that holds, and two for each that does not."""
    for report in found:
        if report["passed"]:
            sys.stdout.write(report["text"] + "\n")
            continue
        first = report["text"].split("\n", 1)[0]
        held = report["checks"] - len(report["mismatches"])
        sys.stdout.write(f"{first}\n  {held} answers before it are as expected\n")
