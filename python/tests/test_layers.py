"""A module imports only from its own layer and from those below."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "slowstart"

# From the bottom up. Modules of one layer may import each other without cycles.
FLOORS = (
    # What needs no other module, and the rooms' own names.
    ("_native", "analysis", "checking", "commands", "fidelity", "figures", "report", "store"),
    (
        "_version",
        "errors",
        "quantities",
        "stats",
        "startup",
        "figures.colors",
        "figures.layout",
        "figures.stacking",
        "figures.vector",
        "report.definitions",
        "report.kinds",
    ),
    (
        "extras",
        "figure_style",
        "labels",
        "figures.theme",
        "capacity_changes",
        "reconfigurations",
        "restarts",
        "visits",
    ),
    ("store.output", "store.streaming", "vm", "metrics", "report.tables", "report.progress"),
    ("running", "stacks", "traces"),
    ("store.artifact",),
    ("planning", "busy", "store.shipped", "store.exports", "store.archive", "store.runs"),
    # Figures, words and pages.
    ("figures.canvas", "figures.runs", "plots"),
    ("figures.exchanges", "figures.networks", "figures.topology", "figures.tradeoff"),
    ("figures.rate_changes", "figures.sharing", "figures.visits"),
    ("report.pairs", "report.sharing", "report.table_files"),
    ("report.page", "report.exits", "characterization"),
    ("report.artifacts",),
    ("report.redraw",),
    # Captures.
    ("analysis.situation", "analysis.known_window", "analysis.likelihood", "analysis.census"),
    ("analysis.figures", "analysis.path_fit", "analysis.identify", "analysis.census_figures"),
    ("analysis.questions",),
    ("analysis.connections",),
    ("analysis.truth", "analysis.kernel"),
    ("analysis.probe",),
    ("analysis.costs", "analysis.identify_truth", "analysis.identify_kernel"),
    ("analysis.identify_quic", "analysis.identify_probe", "analysis.quic_truth"),
    ("analysis.identify_figures",),
    # Validation against the kernel.
    ("fidelity.quantities", "fidelity.grid", "fidelity.groups", "fidelity.kernels"),
    ("fidelity.measuring", "fidelity.compare", "fidelity.edges"),
    ("fidelity.judge",),
    ("fidelity.distributions",),
    ("fidelity.runner",),
    ("fidelity.figures",),
    ("fidelity.page", "fidelity.group_page"),
    # The framework of studies.
    ("studies.files", "studies.grid", "studies.estimates", "studies.analysis"),
    ("studies.catalogue", "studies.bands", "studies.store", "studies.calibration"),
    ("studies.readings", "studies.replay", "studies.weights", "studies.allowed"),
    ("studies.plan",),
    ("studies.measures",),
    ("studies.evidence", "studies.drawings", "studies.seals"),
    ("studies.claims",),
    ("studies.headline",),
    ("studies.study",),
    ("studies.findings", "studies.folder"),
    ("studies.points", "studies.calibrate"),
    ("studies.runner", "studies.figures"),
    ("studies.page",),
    ("studies.library", "studies.showing", "studies.terminal", "studies.totals"),
    ("studies",),
    # Sweeps.
    ("sweeps.expressions",),
    ("sweeps.axes", "sweeps.against"),
    ("sweeps.definition", "sweeps.plan"),
    ("sweeps.execute", "sweeps.search_space"),
    ("sweeps.cluster",),
    ("sweeps.figures",),
    ("sweeps.page", "sweeps.arrays"),
    ("sweeps.sweep",),
    ("sweeps.worst_figure", "sweeps.adversary"),
    ("sweeps",),
    ("",),  # the package itself: what users import from it
    # The scorecard.
    ("evaluation.measures",),
    ("evaluation.table",),
    ("evaluation.jobs",),
    ("evaluation.scores",),
    ("evaluation.words",),
    ("evaluation.kernel", "evaluation.drawing", "evaluation.leaderboard"),
    ("evaluation.page", "evaluation.terminal"),
    ("evaluation",),
    # Rules for continuous integration.
    ("checking.kinds",),
    ("checking.rules",),
    ("checking.runs",),
    ("checking.judge", "checking.baseline"),
    ("checking.output",),
    # The command line.
    ("commands.plain", "commands.grouping", "commands.figure_options", "commands.vectors"),
    ("commands.options",),
    ("commands.kernel", "commands.emulate", "commands.probe", "commands.execution"),
    (
        "commands.validate_groups",
        "commands.validate_analyze",
        "commands.validate_identify",
        "commands.validate_streams",
    ),
    ("commands.validate",),
    ("commands.listing", "commands.stacks", "commands.worst"),
    (
        "commands.analyze",
        "commands.artifact",
        "commands.census",
        "commands.check",
        "commands.check_stack",
        "commands.evaluate",
        "commands.export",
        "commands.packetdrill",
        "commands.path",
        "commands.plot",
        "commands.run",
        "commands.study",
        "commands.sweep",
        "commands.traces",
        "commands.vm",
    ),
    ("commands.cli",),
    ("__main__",),
)
FLOOR = {module: number for number, floor in enumerate(FLOORS) for module in floor}


def modules() -> dict[str, ast.Module]:
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        # Studies, and examples for users: programs that no module imports.
        if {"folders", "include"} & set(file.parts):
            continue
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix("__init__").rstrip(".")] = ast.parse(file.read_text())
    return found


MODULES = modules()


def imports(tree: ast.Module) -> set[str]:
    """The package's modules that are imported, including in functions, except for types only."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            package, _, below = node.module.partition(".")
            if package == "slowstart":
                for alias in node.names:
                    inner = f"{below}.{alias.name}".lstrip(".")
                    found.add(inner if inner in FLOOR else below)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return found


def test_every_module_has_a_layer() -> None:
    assert set(MODULES) == set(FLOOR) - {"_native"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    above = {each for each in imports(MODULES[module]) if FLOOR[each] > FLOOR[module]}
    assert above == set()


def test_imports_have_no_cycle() -> None:
    graph = {
        module: {each for each in imports(tree) if each in MODULES}
        for module, tree in MODULES.items()
    }
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for each in graph[module]:
                walk(each, (*way, module))
            done.add(module)

    for module in graph:
        walk(module, ())
