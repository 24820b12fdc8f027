"""Runs whose tables go to Parquet files while they run, so that no result is kept in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from slowstart._native import run_to_files
from slowstart.errors import InputError
from slowstart.store.output import output_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowstart._native import Scenario, Table

    Name = str | os.PathLike[str]


def stream(
    scenarios: Sequence[Scenario],
    to: Name | Mapping[str, Name],
    *,
    threads: int | None = None,
    runs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[Table, str]:
    """Runs scenarios and writes their tables; see :func:`slowstart.run`.

    Returns the summary, and the overview of :mod:`slowstart.report.tables` as JSON.
    """
    named: Mapping[Any, Name] = to if isinstance(to, Mapping) else {"flows": to}
    places = [os.path.abspath(name) for name in named.values()]  # noqa: PTH100
    if not places or len(set(places)) < len(places):
        raise InputError("give each table a file of its own, and at least one table")
    with ExitStack() as stack:
        files = {table: stack.enter_context(output_file(name)) for table, name in named.items()}
        scratch = next(iter(files.values())).with_name("scratch")
        return run_to_files(
            scenarios, files, scratch, threads=threads, runs=runs, progress=progress
        )
