"""Makes the scenarios of cases, and runs each on its stacks with its algorithms."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slowstart import running, stacks
from slowstart._native import Scenario, paths, run_batch
from slowstart._version import __version__
from slowstart.checking.rules import KERNEL, OF_PATH
from slowstart.errors import InputError
from slowstart.labels import canonical, split
from slowstart.store import shipped
from slowstart.studies.files import toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from slowstart._native import Result
    from slowstart.checking.kinds import Flow, Run
    from slowstart.checking.rules import Case, Suite

# Paths and trace files in a scenario that a program writes are relative to the folder of the rules.
_PLACE = re.compile(r"^(.*?:\d+):\d+: ")


@dataclass(frozen=True)
class Job:
    """A case on one stack, with one algorithm."""

    case: Case
    stack: str
    algorithm: str
    """What the output calls it."""
    scenario: Scenario
    tested: tuple[str, ...]
    """The names of the flows that the rules judge."""

    @property
    def definition(self) -> str:
        """A hash of the scenario, its runs and its seed, whatever the algorithm under test."""
        same = self.scenario.with_algorithms(dict.fromkeys(self.tested, stacks.PLACEHOLDER))
        flows = {name: f"flow {number}" for number, name in enumerate(self.tested)}
        same = same.with_names(self.case.name, flows=flows).on(stacks.SIMULATED)
        resolved = self.scenario.resolved
        text = json.dumps([same.definition(), resolved["runs"], resolved["seed"]])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """The runs of a job."""

    job: Job
    version: str
    """The version of the stack."""
    runs: tuple[Run, ...]

    @property
    def flows(self) -> Iterator[tuple[Flow, Run]]:
        """The flows under test, with their runs."""
        for run in self.runs:
            for flow in run["flows"]:
                if flow["name"] in self.job.tested:
                    yield flow, run


def jobs(suite: Suite) -> list[Job]:
    """All jobs of a suite, checked.

    Raises:
        InputError: A scenario is wrong, or a stack does not support it; with file and line.
    """
    found = []
    for case in suite.cases:
        if case.skip:
            continue
        for stack in case.stacks:
            if not case.runs_on(stack):
                continue
            for algorithm, label in zip(*split(case.algorithms), strict=True):
                found.append(_job(suite, case, stack, algorithm, label))
            if not case.algorithms:
                found.append(_job(suite, case, stack, None, None))
    return found


def _job(suite: Suite, case: Case, stack: str, algorithm: str | None, label: str | None) -> Job:
    node = case.node
    key = "path" if node.has("path") else "scenario"
    is_own = algorithm is not None and stacks.is_own(algorithm)
    within = None if algorithm is None else stacks.placeholder(algorithm)
    try:
        made = _of_path(suite, case, within or "") if key == "path" else _of_scenario(suite, case)
        tested = _tested(case, made)
        if key == "scenario" and within is not None:
            made, tested = _with_algorithm(made, tested, within)
        made = made.with_runs(runs=case.runs, seed=case.seed)
        if is_own and set(tested) != set(made.flows):
            raise InputError(f"{algorithm}: either all flows have it or none, but there are others")
        if stack != KERNEL:
            flows = made.flows
            made = stacks.placed(made, stack, algorithm if is_own else None)
            tested = [made.flows[flows.index(name)] for name in tested]
        elif is_own:
            raise InputError(f"{algorithm}: {stack} has no controllers of its own")
        else:
            running.check_stack([made], stack, switch_hystart=False)
    except InputError as error:
        text = str(error)
        if text.startswith(f"{suite.file}:"):
            raise InputError(_PLACE.sub(r"\1: ", text, count=1)) from error
        raise node.refuse(f"{case.name}: {text}", key) from error
    if not made.is_random:
        made = made.with_runs(runs=1)  # the others would be equal
    if label is not None:
        shown = label
    elif algorithm is None:
        shown = ", ".join(tested)
    else:
        shown = stacks.own_name(stack, algorithm) if is_own else canonical(algorithm)
    return Job(case, stack, shown, made, tuple(dict.fromkeys(tested)))


def _of_path(suite: Suite, case: Case, algorithm: str) -> Scenario:
    settings: dict[str, Any] = {key: case.node.value[key] for key in OF_PATH if case.node.has(key)}
    for key, kind in (("flows", int), ("initial_window", int), ("pacing", bool)):
        if key in settings and (type(settings[key]) is not kind):
            expected = "true or false" if kind is bool else "an integer"
            raise case.node.refuse(f"{key}: expected {expected}", key)
    (made,) = running.compare([_path(suite.folder, case.node.text("path"))], algorithm, **settings)
    return made


def _path(folder: Path, name: str) -> str:
    """The name of a path, with files relative to ``folder``."""
    kind, colon, files = name.partition(":")
    if colon and kind == "trace":
        parts = [
            f"delay={folder / part.removeprefix('delay=')}" if part.startswith("delay=")
            else str(folder / part)
            for part in files.split(",")
        ]  # fmt: skip
        return f"trace:{','.join(parts)}"
    return name if name in [each["name"] for each in paths()] else str(folder / name)


def _of_scenario(suite: Suite, case: Case) -> Scenario:
    node = case.node
    value = node.value["scenario"]
    if isinstance(value, str):
        found = shipped.find(value)
        return shipped.load(value) if found else Scenario.from_file(suite.folder / value)
    table = node.table("scenario")
    for key in ("runs", "seed", "name"):
        if table.has(key):
            raise table.refuse(f"{key} belongs to the case, not to its scenario", key)
    # Each key stands in the line in which the file has it, so that messages name that line.
    placed = []
    for key, inside in table.value.items():
        if key == "path" and isinstance(inside, dict):
            path = table.table(key)
            placed += [(path.line(each), f"path.{each} = {toml(inside[each])}") for each in inside]
        else:
            placed.append((table.line(key), f"{key} = {toml(inside)}"))
    text = ""
    for line, words in sorted(placed):
        text += "\n" * max(line - text.count("\n") - 1, 0) + f"{words}\n"
    made = Scenario.from_toml(text, name=suite.file, folder=suite.folder)
    return made.with_names(case.name)


def _tested(case: Case, made: Scenario) -> list[str]:
    if not case.node.has("under_test"):
        return list(dict.fromkeys(made.flows))
    value = case.node.value["under_test"]
    names = [value] if isinstance(value, str) else case.node.texts("under_test")
    for name in names:
        if name not in made.flows:
            raise case.node.refuse(
                f'under_test: there is no flow "{name}" (there are: {", ".join(made.flows)})',
                "under_test",
            )
    return names


def _with_algorithm(
    made: Scenario, tested: Sequence[str], algorithm: str
) -> tuple[Scenario, list[str]]:
    """The scenario with another algorithm under test, after which unnamed flows are named."""
    name = canonical(algorithm)
    before = {flow["name"]: flow["algorithm"] for flow in made.resolved["flows"]}
    made = made.with_algorithms(dict.fromkeys(tested, algorithm))
    renamed = {each: name for each in tested if before[each] == each}
    return made.with_names(flows=renamed), [renamed.get(each, each) for each in tested]


def execute(
    chosen: Sequence[Job], threads: int | None, progress: Callable[[int, int], object]
) -> list[Outcome]:
    """Makes all runs; results do not depend on the number of threads."""
    virtual = [job for job in chosen if job.stack != KERNEL]
    kernel = [job for job in chosen if job.stack == KERNEL]
    total = sum(job.scenario.runs for job in chosen)
    found: dict[int, Outcome] = {}
    done = 0
    if virtual:
        result = run_batch(
            [job.scenario for job in virtual],
            threads=threads,
            progress=lambda made, _: progress(made, total),
        )
        found |= _outcomes(virtual, result)
        done = sum(job.scenario.runs for job in virtual)
    if kernel:
        result = running.on_stack(
            [job.scenario for job in kernel],
            KERNEL,
            keep="none",
            threads=threads,
            progress=lambda made, _: progress(done + made, total),
        )
        found |= _outcomes(kernel, result)
    return [found[id(job)] for job in chosen]


def _outcomes(some: Sequence[Job], result: Result) -> dict[int, Outcome]:
    found = {}
    for place, job in enumerate(some):
        runs = tuple(json.loads(result.select(place).to_json())["runs"])
        version = next((run["stack_version"] for run in runs if "stack_version" in run), None)
        found[id(job)] = Outcome(job, version or __version__, runs)
    return found
