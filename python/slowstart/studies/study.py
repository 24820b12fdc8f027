"""A study: a folder with ``study.toml``, ``claims.toml`` and ``README.md``.

Whatever these cannot express is a function, or an :class:`~slowstart.studies.store.Extract`, in a
Python module that they name things of: ``slowstart.studies.<name>`` for a study that comes with
slowstart (a hyphen becomes an underscore), ``analysis.py`` in the folder of any other.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import InputError
from slowstart._native import run_batch
from slowstart.studies.claims import Claim, read_claim
from slowstart.studies.drawings import Drawing, read_drawing
from slowstart.studies.files import Node, nearest
from slowstart.studies.measures import Known
from slowstart.studies.plan import Experiment, read_experiment
from slowstart.studies.store import STACKS, Job, Stack, real_time_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

# Beside this file in a wheel; in a checkout a link to where they are.
FOLDERS = Path(__file__).parent / "folders"
# Data are no part of the project: where they lie beside a checkout, for a command in it.
TRACES = Path("..", "shared", "data", "traces")
_STUDY, _CLAIMS, _README = "study.toml", "claims.toml", "README.md"


@dataclass(frozen=True)
class Study:
    """What a folder says."""

    name: str
    folder: Path
    title: str
    document: str
    summary: str
    minutes: Mapping[str, float]
    """How long a full and a quick run took where it was measured."""
    experiments: Mapping[str, Experiment]
    claims: tuple[Claim, ...]
    drawings: tuple[Drawing, ...]
    module: Any

    @cached_property
    def readme(self) -> str:
        """What the document did not say, and what was chosen (Markdown)."""
        return (self.folder / _README).read_text(encoding="utf-8")

    def jobs(
        self,
        stack: Stack,
        *,
        quick: bool = False,
        runs: int | None = None,
        only: Sequence[str] = (),
    ) -> dict[str, list[Job]]:
        """What is run on a stack, by experiment."""
        return {
            name: each.jobs(stack, quick=quick, runs=runs) if stack in each.stacks else []
            for name, each in self.experiments.items()
            if not only or name in only
        }

    def cost(self, *, quick: bool = False) -> tuple[int, float]:
        """Simulations, and the minutes that they take."""
        groups = self.jobs("simulated", quick=quick).values()
        runs = sum(job.runs for group in groups for job in group)
        return runs, self.minutes["quick" if quick else "full"]

    def kernel_cost(self) -> tuple[int, float]:
        """Runs on the kernel, and about how many minutes they take: they are made in real time."""
        jobs = [job for group in self.jobs("linux").values() for job in group]
        seconds = sum(job.runs * real_time_s(job.scenario) for job in jobs)
        return sum(job.runs for job in jobs), round(seconds / 60, 1)

    def run(self, output: str | Path | None = None, **how: Any) -> Any:
        """Runs it; see :func:`slowstart.studies.runner.run`."""
        from slowstart.studies.runner import run

        return run(self, output, **how)


def names() -> list[str]:
    """The studies that come with slowstart."""
    if not FOLDERS.is_dir():
        return []
    return sorted(each.name for each in FOLDERS.iterdir() if (each / _STUDY).is_file())


def load(name: str | Path, traces: str | Path | None = None) -> Study:
    """Reads a study, by name or by folder.

    Args:
        name: Of a study that comes with slowstart, or a folder.
        traces: A folder where recorded traces are looked for, too; by default that of the data
            beside a checkout. Experiments whose trace is nowhere are left out.

    Raises:
        InputError: There is no such study, or one of its files is wrong, with file and line.
    """
    if traces is not None and not Path(traces).is_dir():
        raise InputError(f"there is no folder {traces}")
    folder = FOLDERS / name
    if str(name) not in names():
        folder = Path(name)
        if not (folder / _STUDY).is_file():
            raise InputError(f"there is no study {name}{nearest(str(name), names())}")
    root = Node.read(folder / _STUDY)
    root.only("title", "document", "summary", "minutes", "experiment", "figure")
    known_as = folder.resolve().name
    module = _module(known_as, folder)

    def hooks(word: str) -> object | None:
        return getattr(module, word, None)

    experiments: dict[str, Experiment] = {}
    for node in root.tables("experiment"):
        each = read_experiment(node, (folder, Path(traces or TRACES)), hooks)
        if each.name in experiments:
            raise node.refuse(f"there are two experiments {each.name}", "name")
        experiments[each.name] = each
    if not experiments:
        raise root.refuse("a study has at least one [[experiment]]")
    known = Known(experiments, _columns(), hooks)
    claims: dict[str, Claim] = {}
    sheet = Node.read(folder / _CLAIMS)
    sheet.only("claim")
    for node in sheet.tables("claim"):
        claim = read_claim(node, known, claims)
        if claim.name in claims:
            raise node.refuse(f"there are two claims {claim.name}", "id")
        claims[claim.name] = claim
    if not (folder / _README).is_file():
        raise InputError(f"{folder / _README} is missing: it says what was chosen, and why")
    minutes = root.table("minutes")
    minutes.only("full", "quick")
    drawings = [
        read_drawing(node, experiments, known.columns["flows"], hooks)
        for node in root.tables("figure")
    ]
    return Study(
        name=known_as,
        folder=folder,
        title=root.text("title"),
        document=root.text("document"),
        summary=root.text("summary"),
        minutes={key: minutes.number(key) for key in ("full", "quick")},
        experiments=experiments,
        claims=tuple(claims.values()),
        drawings=tuple(drawings),
        module=module,
    )


def _columns() -> dict[str, list[str]]:
    """The columns of the tables that claims are about."""
    nothing = run_batch([])
    return {
        "flows": nothing.flows().column_names,
        "links": nothing.links().column_names,
        "runs": ["path", "run", "seed", "stack", "end_s", "counts", "wall_s"],
    }


def _module(name: str, folder: Path) -> ModuleType | None:
    own = folder / "analysis.py"
    if own.is_file():
        spec = importlib.util.spec_from_file_location(f"slowstart_study_{name}", own)
        if spec is None or spec.loader is None:
            raise InputError(f"{own} is no Python module")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise InputError(f"{own}: {type(error).__name__}: {error}") from error
        return module
    word = f"slowstart.studies.{name.replace('-', '_')}"
    if folder.parent != FOLDERS or importlib.util.find_spec(word) is None:
        return None
    return importlib.import_module(word)


def all_stacks(words: Sequence[str]) -> list[Stack]:
    """Stacks by their names, each once.

    Raises:
        InputError: There is no such stack.
    """
    for word in words:
        if word not in STACKS:
            raise InputError(f"there is no stack {word}{nearest(word, STACKS)}")
    return [stack for stack in STACKS if stack in words]


def catalogue() -> list[dict[str, Any]]:
    """What ``slowstart list studies`` lists."""
    entries = []
    for name in names():
        study = load(name)
        runs, minutes = study.cost()
        kernel_runs, kernel_minutes = study.kernel_cost()
        entries.append(
            {
                "name": name,
                "document": study.document,
                "summary": study.summary,
                "claims": len(study.claims),
                "experiments": list(study.experiments),
                "runs": runs,
                "minutes": minutes,
                "minutes_quick": study.minutes["quick"],
                "runs_linux": kernel_runs,
                "minutes_linux": kernel_minutes,
            }
        )
    return entries
