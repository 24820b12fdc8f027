"""Studies: repetitions of published evaluations, with a verdict on each of their claims.

>>> from slowstart import studies
>>> findings = studies.load("suss-testbed").run("out", quick=True)
>>> findings.totals
>>> findings.table("wired", "simulated", "flows")

A study is a folder (:mod:`slowstart.studies.study`) of experiments (:mod:`~slowstart.studies.plan`)
and claims (:mod:`~slowstart.studies.claims`), optionally with its own analysis code
(:mod:`~slowstart.studies.analysis`). Every run is executed once and stored
(:mod:`~slowstart.studies.store`). :mod:`~slowstart.studies.runner` judges the claims, and
:mod:`~slowstart.studies.page` draws the report.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowstart.studies.catalogue import catalogue, names
    from slowstart.studies.findings import Findings
    from slowstart.studies.library import Study, load
    from slowstart.studies.store import Extract, Job, Store, time_to

__all__ = [
    "Extract",
    "Findings",
    "Job",
    "Store",
    "Study",
    "catalogue",
    "load",
    "names",
    "time_to",
]

_HOMES = {
    "catalogue": ("catalogue", "names"),
    "findings": ("Findings",),
    "store": ("Extract", "Job", "Store", "time_to"),
    "library": ("Study", "load"),
}


def __getattr__(name: str) -> object:
    """Imports a member on first use: listing the studies needs no data library."""
    for home, members in _HOMES.items():
        if name in members:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
