"""Studies as Python users hold them: read, run and drawn by one object."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.studies import calibrate, page, runner, study

if TYPE_CHECKING:
    from slowstart.studies.calibrate import Search
    from slowstart.studies.findings import Findings


@dataclass(frozen=True)
class Study(study.Study):
    """The content of a study's folder, which can be run."""

    def run(self, output: str | Path | None = None, *, report: bool = True, **how: Any) -> Findings:
        """Executes the missing runs, judges the claims, and writes the report.

        Args:
            output: The output folder; without one, a temporary folder is used and deleted.
            report: Whether report, tables and figures are written into ``output``.
            how: As in :func:`slowstart.studies.runner.run`.

        Returns:
            The verdicts, and the tables of all runs.

        Raises:
            InputError: An argument is wrong, or the kernel cannot be used.
            RunError: A run failed.
        """
        return runner.run(self, output, write=page.write if report else None, **how)

    def calibrate(self, output: str | Path, **how: Any) -> list[Search]:
        """Searches its calibrations; see :func:`slowstart.studies.calibrate.search`."""
        return calibrate.search(self, Path(output), **how)


def load(
    name: str | Path,
    traces: str | Path | None = None,
    *,
    sets: bool = True,
    tmix: str | Path | None = None,
) -> Study:
    """Reads a study, by name or by folder; see :func:`slowstart.studies.study.load`."""
    found = study.load(name, traces, sets=sets, tmix=tmix)
    return Study(**{each.name: getattr(found, each.name) for each in fields(found)})
