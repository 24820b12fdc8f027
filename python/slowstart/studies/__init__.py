"""Studies: published documents repeated, with a verdict on each of their claims.

>>> from slowstart import studies
>>> findings = studies.load("suss-testbed").run("out", quick=True)
>>> findings.totals
>>> findings.table("wired", "simulated", "flows")

A study is a folder (:mod:`slowstart.studies.study`) of experiments (:mod:`~slowstart.studies.plan`)
and claims (:mod:`~slowstart.studies.claims`). Runs are made once and kept
(:mod:`~slowstart.studies.store`); what comes of them is judged and written by
:mod:`~slowstart.studies.runner`.
"""

from slowstart.studies.runner import Findings
from slowstart.studies.store import Extract, Job, Store, time_to
from slowstart.studies.study import Study, catalogue, load, names

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
