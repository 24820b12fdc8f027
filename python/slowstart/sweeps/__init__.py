"""Sweeps: any key of a scenario over lists, ranges and samples, resumable, on one machine or many.

>>> import slowstart
>>> done = slowstart.sweep("sweep.toml", folder="results")
>>> done.table.group_by("rate_bps", "algorithm").agg(polars.col("fct_s").median())

A sweep is a dictionary or a TOML file; docs/guides/sweeps.md describes its keys. Its runs are kept
in ``folder`` under a hash of resolved scenario, seed and version, so an interrupted sweep resumes,
and a changed one runs only what is missing.

:func:`run_points` does the same with any scenarios:

>>> from slowstart.sweeps import Point, run_points
>>> points = [Point(each, runs=20, labels={"path": each.path}) for each in scenarios]
>>> flows = run_points(points, "results")["flows"]

:func:`worst` searches for the path where an algorithm does worst:

>>> from slowstart.sweeps import worst
>>> found = worst("cubic+hystart", "cubic+standard", budget=30000, folder="worst")
>>> found.sentence(), found.path()
"""

from slowstart.store.archive import Archive
from slowstart.sweeps.adversary import Worst, worst
from slowstart.sweeps.definition import Definition
from slowstart.sweeps.plan import Plan, Point, plan_of
from slowstart.sweeps.sweep import Status, Sweep, complete, run_points, status, sweep

__all__ = [
    "Archive",
    "Definition",
    "Plan",
    "Point",
    "Status",
    "Sweep",
    "Worst",
    "complete",
    "plan_of",
    "run_points",
    "status",
    "sweep",
    "worst",
]
