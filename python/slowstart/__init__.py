"""A laboratory for the first seconds of a transport connection.

Public names, all importable from ``slowstart``:

- :func:`compare` makes scenarios, :func:`run` runs them, :func:`sweep` runs many and resumes.
- :class:`Scenario`, :class:`Result` and :class:`Table` are what these take and return.
- :func:`algorithms` and :func:`paths` list what can be named.
- :class:`InputError` and :class:`RunError` are the exceptions.
- ``__version__`` is the version.

Seven submodules are public, too: :mod:`slowstart.startup` (algorithms written in Python),
:mod:`slowstart.characterization` (a path without TCP), :mod:`slowstart.metrics` (many connections),
:mod:`slowstart.plots` and :mod:`slowstart.figure_style` (figures), :mod:`slowstart.sweeps` and
:mod:`slowstart.studies`. Everything else is internal and may change.

>>> import polars, slowstart
>>> scenarios = slowstart.compare("geo", ["cubic+search", "cubic+hystart"], size="20 MB", runs=20)
>>> result = slowstart.run(scenarios)
>>> flows = polars.DataFrame(result.flows())
>>> flows.group_by("algorithm").len().sort("algorithm").rows()
[('cubic+hystart', 20), ('cubic+search', 20)]

Invalid input raises :class:`InputError`, a failed run :class:`RunError`. The message is one
sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowstart._native import Result, Scenario, Table, algorithms, paths
from slowstart._version import __version__
from slowstart.errors import InputError, RunError
from slowstart.running import compare, run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from typing import Any

    from slowstart.sweeps import Sweep

    Name = str | os.PathLike[str]

__all__ = [
    "InputError",
    "Result",
    "RunError",
    "Scenario",
    "Table",
    "__version__",
    "algorithms",
    "compare",
    "paths",
    "run",
    "sweep",
]


def sweep(
    definition: Name | Mapping[str, Any],
    *,
    folder: Name | None = None,
    runs: int | None = None,
    shard: tuple[int, int] = (1, 1),
    threads: int | None = None,
    on: str | None = None,
    progress: Callable[[int, int], object] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Sweep:
    """Runs a scenario over values of its keys, as ``slowstart sweep`` does, and resumes.

    >>> import slowstart
    >>> done = slowstart.sweep(
    ...     {
    ...         "scenario": {
    ...             "path": {"rtt": "100 ms", "buffer": "1 bdp"},
    ...             "flow": [{"algorithm": "cubic+search", "size": "1 MB"}],
    ...         },
    ...         "grid": {"path.rate": ["10 Mbit/s", "50 Mbit/s", "250 Mbit/s"]},
    ...     }
    ... )
    >>> len(done.table)
    3

    Args:
        definition: A sweep file, or a dictionary of the same structure (docs/guides/sweeps.md).
        folder: Keeps every finished run, under a hash of resolved scenario, seed and version. A
            call executes only those that are missing there. By default a temporary folder.
        runs: Runs of each point, instead of the definition's number.
        shard: Make only the i-th of n parts of the runs; the others may be made at the same time.
        threads: Number of runs in parallel; one per core by default.
        on: The address of a Dask scheduler (``tcp://host:8786``), whose workers make the runs.
        progress: Called from time to time with the number of finished runs and of all that were
            missing.
        labels: ``{"Ours": "cubic+search:threshold=30"}``, next to those of the definition: what
            tables and figures show instead of an algorithm. The runs stay the same.

    Returns:
        The sweep. ``table`` is the table of flows (polars), ``to_xarray()`` the same as arrays.

    Raises:
        InputError: With file and line, if there is a file; or a library is missing.
        RunError: A run failed.
    """
    from slowstart.extras import need_report

    need_report("slowstart.sweep")
    from slowstart import sweeps

    return sweeps.sweep(
        definition, folder=folder, runs=runs, shard=shard, threads=threads, on=on,
        progress=progress, labels=labels,
    )  # fmt: skip
