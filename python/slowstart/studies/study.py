"""A study: a folder with ``study.toml``, ``claims.toml`` and ``README.md``.

Without ``claims.toml`` it is a set of runs with figures, and needs no ``README.md``. A function or
an :class:`~slowstart.studies.store.Extract` in the study's analysis
(:mod:`slowstart.studies.analysis`) expresses what these files cannot.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import traces as recorded
from slowstart._native import run_batch
from slowstart.errors import InputError
from slowstart.fidelity import STUDY as FIDELITY
from slowstart.studies.allowed import Allowed, read_allowed
from slowstart.studies.analysis import load_analysis
from slowstart.studies.calibration import Calibration, read_calibrations
from slowstart.studies.catalogue import CLAIMS, FOLDERS, STUDY, names
from slowstart.studies.claims import Claim, count_once, read_claim
from slowstart.studies.drawings import Drawing, read_drawing
from slowstart.studies.files import Node, listed, nearest
from slowstart.studies.grid import STACKS, Stack
from slowstart.studies.headline import Row, read_headline
from slowstart.studies.measures import TABLES, Known
from slowstart.studies.plan import Experiment, baseline, points_beside, read_experiment
from slowstart.studies.readings import Reading, points_of, read_readings
from slowstart.studies.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slowstart.studies.files import Scalar
    from slowstart.studies.store import Job

_README = "README.md"
# The keys that a study of a publication requires.
_HEAD = ("title", "document", "summary", "minutes")


@dataclass(frozen=True)
class Publication:
    """What a study repeats: ``[publication]`` of ``study.toml``."""

    authors: str
    title: str
    year: int
    url: str
    """Its address; empty if it has none."""


@dataclass(frozen=True)
class Study:
    """The content of a study's folder."""

    name: str
    folder: Path
    title: str
    document: str
    """The key of the publication in the project's list of sources."""
    publication: Publication | None
    claimed: str
    """What the publication claims, in a sentence or two; empty if the study does not say."""
    summary: str
    minutes: Mapping[str, float]
    """Measured durations of a full and of a quick run."""
    experiments: Mapping[str, Experiment]
    claims: tuple[Claim, ...]
    drawings: tuple[Drawing, ...]
    module: Any
    answer: Any = None
    """Returns sentences for findings and a stack: the report's first lines."""
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    """Its calibrated networks."""
    headline: tuple[Row, ...] = ()
    """The first table of the report: headline statements of the publication."""
    allowed: Mapping[str, Allowed] = field(default_factory=dict)
    """The sets of parameters that the published baseline allows, as far as searched."""
    readings: tuple[Reading, ...] = ()
    """What the publication leaves open about algorithms and workloads."""
    points: tuple[str, ...] = ()
    """The further points at which claims are judged, in words."""
    replay: Replay | None = None
    """The user's connection vectors, in place of the study's own workload."""

    @cached_property
    def readme(self) -> str:
        """What the publication leaves open, and our choices (Markdown)."""
        file = self.folder / _README
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    @property
    def mark(self) -> str:
        """What its output folder belongs to: the study, on one file if it replays one."""
        return self.name if self.replay is None else f"{self.name}, tmix {self.replay.sha256}"

    def jobs(
        self,
        stack: Stack,
        *,
        quick: bool = False,
        runs: int | None = None,
        only: Sequence[str] = (),
    ) -> dict[str, list[Job]]:
        """The jobs on a stack, by experiment."""
        return {
            name: each.jobs(stack, quick=quick, runs=runs) if stack in each.stacks else []
            for name, each in self.experiments.items()
            if not only or name in only
        }

    def cost(self, *, quick: bool = False) -> tuple[int, float]:
        """The number of simulations, and their duration in minutes."""
        groups = self.jobs("simulated", quick=quick).values()
        runs = sum(job.runs for group in groups for job in group)
        return runs, self.minutes["quick" if quick else "full"]

    def baseline(
        self, calibration: Calibration, point: Mapping[str, Scalar], runs: int
    ) -> list[Job]:
        """The runs of a calibration's plain baseline at a point."""
        return baseline(
            calibration, point, runs, (self.folder,), lambda word: getattr(self.module, word, None)
        )


def load(
    name: str | Path,
    traces: str | Path | None = None,
    *,
    sets: bool = True,
    tmix: str | Path | None = None,
) -> Study:
    """Reads a study, by name or by folder.

    Args:
        name: The name of a built-in study, or a folder.
        traces: A further folder to search for recorded traces; by default that of
            ``SLOWSTART_TRACES``, or else the user's (``slowstart traces``). Experiments whose
            traces are missing are left out.
        sets: Whether the stored sets of its calibrations are used (not to repeat a search).
        tmix: A file of Tmix connection vectors that its experiments replay in place of the
            traffic ``synthetic``. Claims then have no verdict.

    Raises:
        InputError: There is no such study, or one of its files is invalid (with file and line).
    """
    where = recorded.folder(traces)
    folder = FOLDERS / name
    if str(name) not in names():
        folder = Path(name)
        if not (folder / STUDY).is_file():
            raise InputError(f"there is no study {name}{nearest(str(name), [*names(), FIDELITY])}")
    root = Node.read(folder / STUDY)
    root.only("title", "document", "publication", "claimed", "summary", "minutes", "answer",
              "experiment", "figure", "headline", "reading")  # fmt: skip
    judged = (folder / CLAIMS).is_file()
    _check_complete(root, folder, judged=judged)
    known_as = folder.resolve().name
    module = load_analysis(folder)

    def hooks(word: str) -> object | None:
        return getattr(module, word, None)

    calibrations = read_calibrations(folder, hooks)
    allowed: dict[str, Allowed] = {}
    for calibration in calibrations.values() if sets else ():
        there = read_allowed(folder, calibration)
        if there is not None:
            allowed[calibration.name] = there
    networks = [(each, allowed.get(each.name)) for each in calibrations.values()]
    replay = None if tmix is None else Replay.read(tmix)
    # Readings decide verdicts, and a replay has none.
    readings = read_readings(root) if replay is None else ()
    experiments: dict[str, Experiment] = {}
    for node in root.tables("experiment"):
        folders = (folder,) if where is None else (folder, where)
        each = read_experiment(node, folders, hooks, networks, readings, replay)
        if each.name in experiments:
            raise node.refuse(f"there are two experiments {each.name}", "name")
        experiments[each.name] = each
    if not experiments:
        raise root.refuse("a study needs at least one [[experiment]]")
    if replay is not None and not any(each.is_replay for each in experiments.values()):
        raise InputError(
            f"{known_as} has no experiment whose workload a file of connection vectors could "
            "replace: leave out --tmix"
        )
    for reading in readings:
        _check_cells(reading, experiments)
    known = Known(experiments, _columns(), hooks)
    claims: dict[str, Claim] = {}
    measured: dict[Any, Claim] = {}
    sheet = Node.read(folder / CLAIMS) if judged else root.as_if({})
    sheet.only("claim")
    for node in sheet.tables("claim"):
        claim = read_claim(node, known, claims)
        if claim.name in claims:
            raise node.refuse(f"there are two claims {claim.name}", "id")
        count_once(claim, measured, experiments, node)
        claims[claim.name] = claim
    minutes = root.table("minutes")
    minutes.only("full", "quick", "linux")
    drawings = []
    for node in root.tables("figure"):
        drawing = read_drawing(node, experiments, known.columns["flows"], hooks, judged=judged)
        for pattern in drawing.claims or ():
            if not fnmatch.filter(claims, pattern):
                message = f"no claim is called {pattern}{nearest(pattern, claims)}"
                raise node.refuse(message, "claims")
        drawings.append(drawing)
    return Study(
        name=known_as,
        folder=folder,
        title=root.text("title", known_as),
        document=root.text("document", "none"),
        publication=_publication(root),
        claimed=root.text("claimed", ""),
        summary=root.text("summary", ""),
        minutes={key: minutes.number(key) for key in minutes.value},
        experiments=experiments,
        claims=tuple(claims.values()),
        drawings=tuple(drawings),
        module=module,
        answer=_answer(root, hooks),
        calibrations=calibrations,
        headline=read_headline(root, claims),
        allowed=allowed,
        readings=readings,
        points=tuple(points_of(readings, points_beside(networks))),
        replay=replay,
    )


def _check_cells(reading: Reading, experiments: Mapping[str, Experiment]) -> None:
    """Refuses a reading that is about no cell of an experiment that it names."""
    for name, axes in reading.cells.items():
        there = experiments.values() if name is None else filter(None, [experiments.get(name)])
        if not any(
            reading.is_about(each.name, cell.labels) for each in there for cell in each.cells
        ):
            shown = " and ".join(f"{axis} = {list(values)}" for axis, values in axes.items())
            where = name or "any experiment"
            raise reading.node.refuse(f"there is no cell with {shown or 'a scenario'} in {where}")


def _answer(root: Node, hooks: Callable[[str], object | None]) -> Any:
    """The function of the analysis that answers the study's question; ``None`` without one."""
    if not root.has("answer"):
        return None
    function = hooks(root.text("answer"))
    if not callable(function):
        name = root.text("answer")
        raise root.refuse(f"the study's analysis has no function {name}", "answer")
    return function


def _publication(root: Node) -> Publication | None:
    if not root.has("publication"):
        return None
    node = root.table("publication")
    node.only("authors", "title", "year", "url")
    node.need("authors", "title", "year")
    url = node.text("url", "")
    if url and not url.startswith(("https://", "http://")):
        raise node.refuse("url: expected an address that starts with https:// or http://", "url")
    year = node.integer("year", 0)
    return Publication(node.text("authors"), node.text("title"), year, url)


def _columns() -> dict[str, list[str]]:
    """The columns of the tables that claims may use."""
    nothing = run_batch([])
    tables = [each for each in TABLES if each != "runs"]
    columns = {name: getattr(nothing, name)().column_names for name in tables}
    return {
        **{name: [each for each in those if each != "scenario"] for name, those in columns.items()},
        "runs": ["path", "run", "seed", "stack", "end_s", "counts", "wall_s"],
    }


def _check_complete(root: Node, folder: Path, *, judged: bool) -> None:
    """Rejects an incomplete study, and names everything that is missing.

    Raises:
        InputError: The study is incomplete.
    """
    if not root.has("experiment"):
        raise root.refuse("a study needs at least one [[experiment]]")
    if not judged:
        return
    missing = [key for key in _HEAD if not root.has(key)]
    readme = [] if (folder / _README).is_file() else [f"{folder / _README} is missing"]
    if missing:
        verb = "are" if len(missing) > 1 else "is"
        raise root.refuse("; ".join([f"{listed(missing)} {verb} missing", *readme]))
    if readme:
        raise InputError(f"{readme[0]}: it describes the choices made, and why")


def all_stacks(words: Sequence[str]) -> list[Stack]:
    """The stacks with these names, without duplicates.

    Raises:
        InputError: There is no such stack.
    """
    for word in words:
        if word not in STACKS:
            raise InputError(f"there is no stack {word}{nearest(word, STACKS)}")
    return [stack for stack in STACKS if stack in words]
