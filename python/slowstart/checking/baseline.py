"""Recorded measurements, with which later runs are compared.

A JSON document with one line for each measurement of a case, so that differences are readable.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart._native import read_text
from slowstart._version import __version__
from slowstart.checking.judge import recorded
from slowstart.checking.kinds import NEVER
from slowstart.errors import InputError
from slowstart.store.output import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from slowstart.checking.runs import Job, Outcome

FORMAT = 1
_LARGEST = 64_000_000


@dataclass(frozen=True)
class Entry:
    """A recorded measurement."""

    algorithm: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Baseline:
    """A recorded baseline."""

    file: str
    jobs: Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
    """By case and stack, and then by algorithm."""

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Reads a file.

        Raises:
            InputError: It is not a baseline.
        """
        try:
            document = json.loads(read_text(file, _LARGEST))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            line = getattr(error, "lineno", 1)
            raise InputError(f"{file}:{line}: this is not a baseline: {error}") from error
        found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        try:
            if document["format"] != FORMAT:
                raise InputError(
                    f"{file}: the format is {document['format']}, and this version reads {FORMAT}"
                )
            for job in document["baseline"]:
                where = found.setdefault((job["case"], job["stack"]), {})
                where[job["algorithm"]] = {"definition": job["definition"], **job["measurements"]}
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{file}: this is not a baseline: make one with slowstart check RULES --record FILE"
            ) from error
        return cls(str(file), found)

    def entry(self, job: Job, metric: str) -> Entry:
        """The measurement to compare with: of the same algorithm, or of the only one.

        Raises:
            InputError: There is none, or its scenario was another one.
        """
        again = "record it again with --record"
        which = f"case {job.case.name} on {job.stack}"
        by_algorithm = self.jobs.get((job.case.name, job.stack))
        if by_algorithm is None:
            raise InputError(f"{self.file}: nothing is recorded of {which}: {again}")
        name = job.algorithm
        if name not in by_algorithm and len(by_algorithm) == 1:
            (name,) = by_algorithm
        found = by_algorithm.get(name)
        if found is None:
            raise InputError(f"{self.file}: nothing is recorded of {name} in {which}: {again}")
        if found["definition"] != job.definition:
            raise InputError(
                f"{self.file}: {which} was recorded with another scenario, seed or number of runs: "
                f"{again}"
            )
        numbers = found.get(metric)
        if not isinstance(numbers, list) or len(numbers) != 3:
            raise InputError(f"{self.file}: no {metric} is recorded of {which}: {again}")
        value, low, high = numbers
        return Entry(
            name, NEVER if value is None else float(value), low,
            NEVER if high is None and low is not None else high,
        )  # fmt: skip


def write(file: Path, outcomes: Sequence[Outcome]) -> int:
    """Writes the measurements of all outcomes, and returns how many there are."""
    measured: dict[int, dict[str, list[float | None]]] = {}
    for outcome, metric, found in recorded(outcomes):
        triple = [_number(each) for each in (found.value, found.low, found.high)]
        measured.setdefault(id(outcome), {})[metric.name] = triple
    lines = []
    for outcome in outcomes:
        job = outcome.job
        head = {
            "case": job.case.name, "stack": job.stack, "stack_version": outcome.version,
            "algorithm": job.algorithm, "definition": job.definition,
        }  # fmt: skip
        numbers = measured.get(id(outcome), {})
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        rows = [f"   {json.dumps(name)}: {json.dumps(each)}" for name, each in numbers.items()]
        parts.append('"measurements": {\n' + ",\n".join(rows) + "\n  }")
        lines.append(" {" + ",\n  ".join(parts) + "}")
    text = f'{{"format": {FORMAT}, "version": "{__version__}", "baseline": [\n'
    replace_file(file, text + ",\n".join(lines) + "\n]}\n")
    return sum(len(each) for each in measured.values())


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
