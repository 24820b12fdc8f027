"""The runs of a study at a further point: one that the published baseline allows, or a reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from slowstart.studies.claims import Verdict, over_points, verdict_on
from slowstart.studies.measures import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.studies.claims import Claim
    from slowstart.studies.grid import Stack
    from slowstart.studies.measures import Rows
    from slowstart.studies.plan import Cell
    from slowstart.studies.store import Job, Store
    from slowstart.studies.study import Study


@dataclass(frozen=True)
class PointRows:
    """The rows of a study at one point; the cells without that point have those of the chosen one.

    Whatever else a study's functions ask of its findings, they are answered by the findings
    themselves. Time series are not stored at further points.
    """

    findings: Rows
    tables: Mapping[tuple[str, str], pl.DataFrame]
    """By experiment and table: the rows of the cells that have the point."""
    axes: Mapping[str, Sequence[str]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.findings, name)

    def table(self, experiment: str, stack: Stack, table: str = "flows") -> pl.DataFrame:
        """As :meth:`slowstart.studies.findings.Findings.table`."""
        chosen = self.findings.table(experiment, stack, table)
        if stack != "simulated" or not any(name == experiment for name, _ in self.tables):
            return chosen
        rows = self.tables.get((experiment, table), pl.DataFrame())
        if rows.is_empty():
            return rows
        axes = list(self.axes[experiment])
        if chosen.is_empty() or not axes:
            return rows
        others = chosen.join(rows.select(axes).unique(), on=axes, how="anti")
        # The jobs of the two parts are numbered separately.
        others = others.with_columns(job=pl.col("job") + rows["job"].max() + 1)
        return pl.concat([rows, others], how="diagonal_relaxed")

    def why_left_out(self, experiment: str, stack: Stack) -> str | None:
        """As in the findings."""
        return self.findings.why_left_out(experiment, stack)

    def why_empty(self, experiment: str, stack: Stack, labels: Mapping[str, Any]) -> str | None:
        """As in the findings."""
        return self.findings.why_empty(experiment, stack, labels)


def jobs_at(
    study: Study, only: Sequence[str], runs: int | None = None
) -> list[dict[str, list[Job]]]:
    """The jobs at each further point, by experiment; with ``runs``, so many of each cell."""
    plans = {name: each for name, each in study.experiments.items() if not only or name in only}
    count = max((each.points for each in plans.values()), default=0)
    return [
        {name: jobs for name, each in plans.items() if (jobs := each.variant_jobs(place, runs))}
        for place in range(count)
    ]


def over_set(
    study: Study, findings: Rows, verdicts: Sequence[Verdict], jobs: Sequence[Any], store: Store
) -> list[Verdict]:
    """The verdicts over the allowed sets; those on other claims stay."""
    others: dict[str, dict[str, Verdict]] = {}
    axes = {name: list(each.axes) for name, each in study.experiments.items()}
    for place, (words, by_experiment) in enumerate(zip(study.points, jobs, strict=False)):
        tables = {
            (name, table): getattr(store, table)(mine)
            for name, mine in by_experiment.items()
            for table in TABLES
        }
        rows = PointRows(findings, tables, axes)
        for each in verdicts:
            if each.stack == "simulated" and rests_on(study, each.claim, place):
                found = verdict_on(each.claim, rows, "simulated")
                others.setdefault(each.claim.name, {})[words] = found
    return [
        over_points(each, others.get(each.claim.name, {}), _shares(study, each.claim))
        if each.stack == "simulated"
        else each
        for each in verdicts
    ]


def _shares(study: Study, claim: Claim) -> dict[str, float] | None:
    """The weights nearest to the points of the only calibrated network that a claim is about."""
    names = {name for cell in _cells(study, claim) for name in cell.calibrations}
    if len(names) != 1:
        return None
    (name,) = names
    allowed = study.allowed.get(name)
    if allowed is None or not study.calibrations[name].targets:
        return None
    words = ["", *study.points]
    return dict(zip(words, allowed.shares, strict=False))


def rests_on(study: Study, claim: Claim, place: int = 0) -> bool:
    """Whether a claim is about cells that have a further point of this number."""
    return any(bool(cell.at(place)) for cell in _cells(study, claim))


def _cells(study: Study, claim: Claim) -> list[Cell]:
    """The cells that a claim is about."""
    if claim.experiment is None:
        return []
    plan = study.experiments[claim.experiment]
    sides = [claim.select] if claim.against is None else [claim.select, claim.against]
    if claim.function is not None:
        # A function selects its runs by its parameters.
        named = {key: value for key, value in claim.parameters.items() if key in plan.axes}
        sides = [{**claim.select, **named}]
    return [cell for labels in sides for cell in plan.select(labels)]
