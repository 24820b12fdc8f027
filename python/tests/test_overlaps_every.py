"""Every function of the package that draws a figure is drawn here, and no texts of it overlap.

The functions are found in the source, so that a new one cannot be forgotten: it calls ``finish``.
The figures of studies' own modules depend on their runs, and are not among them.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from test_figures import run_study
from test_layers import MODULES
from test_overlaps import KINDS, assert_apart
from test_overlaps_elsewhere import CAPTURE, WORKED

from slowstart import characterization, figure_style, plots
from slowstart.analysis import (
    census,
    census_figures,
    connections,
    identify,
    identify_figures,
    identify_truth,
)
from slowstart.analysis import figures as analysis_figures
from slowstart.commands.cli import invoke
from slowstart.evaluation import drawing as evaluation_drawing
from slowstart.evaluation import scores, table
from slowstart.fidelity import compare, distributions, grid, group_page, groups
from slowstart.fidelity import figures as fidelity_figures
from slowstart.fidelity.quantities import QUANTITIES
from slowstart.figures import canvas, networks, sharing, topology
from slowstart.report import redraw
from slowstart.report.kinds import Kind
from slowstart.studies import figures as study_figures
from slowstart.sweeps import Definition, worst, worst_figure
from slowstart.sweeps import figures as sweep_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    Folder = Path
    Figures = Iterator[Figure]

EXAMPLES = Path(__file__).parents[2] / "scenarios"
LONG = ["cubic+search:threshold=30,exit=drain", "cubic+hystart++"]


def drawers() -> set[str]:
    """The functions that call ``finish``, as ``module.function``."""
    found = set()
    for module, tree in MODULES.items():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef) or function.name == "stacked":
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    called = node.func
                    name = called.attr if isinstance(called, ast.Attribute) else called
                    if getattr(name, "id", name) == "finish" and _is_ours(called):
                        found.add(f"{module}.{function.name}")
    return found


def _is_ours(called: ast.expr) -> bool:
    """``finish`` or ``plots.finish``, and no method of another object."""
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id == "plots"
    return True


def sweeps(_: Folder) -> Figures:
    """One key, two, three, no number at all, and each of them with a baseline."""
    rates = {"from": "5 Mbit/s", "to": "500 Mbit/s", "points": 7, "scale": "log"}
    grids: list[dict[str, Any]] = [
        {"path.rate": rates},
        {"path.rate": rates, "path.rtt": ["10 ms", "30 ms", "100 ms", "300 ms"]},
        {"path.rate": rates, "path.rtt": ["10 ms", "30 ms"], "path.loss": ["0 %", "1 %"]},
        {},
    ]
    for keys in grids:
        definition = Definition.load(
            {
                "scenario": {
                    "path": {"buffer": "1 bdp", "rate": "10 Mbit/s", "rtt": "20 ms"},
                    "flow": [{"size": "1 MB"}],
                },
                "grid": {"flow.algorithm": LONG, **keys},
                "baseline": LONG[1],
                "runs": 6,
            }
        )
        columns = [axis.column() for axis in definition.axes]
        rows = [
            {**dict(zip(columns, cells, strict=True)), "run": run, "seed": run, "flow": 0,
             "fct_s": 0.37 * (1 + place % 11) * (1 + run / 10)}
            for place, cells in enumerate(_product([axis.cells() for axis in definition.axes]))
            for run in range(6)
        ]  # fmt: skip
        for each in sweep_figures.draw(definition, pl.DataFrame(rows), ["fct_s"]):
            yield each.figure


def _product(parts: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    import itertools

    return itertools.product(*parts)


def searches(folder: Folder) -> Figures:
    space = folder / "space.toml"
    space.write_text(
        '[scenario.path]\nrtt = "100 ms"\n[[scenario.flow]]\nsize = "1 MB"\n[latin_hypercube]\n'
        'points = 6\nkeys."path.rate" = { from = "5 Mbit/s", to = "5 Gbit/s", scale = "log" }\n'
    )
    found = worst("reno+limited", "reno+standard", space=space, budget=344, folder=folder / "out")
    yield worst_figure.draw(found)


class Scores:
    """Any value for any row, as :class:`slowstart.evaluation.scores.Reader`."""

    def value(self, row: table.Row, name: str) -> scores.Value:
        middle = 0.9 + len(name + str(row.select)) % 7 / 10
        return scores.Value(middle, 0.9 * middle, 1.1 * middle, 0.95, 10, 10, 10)


def scorecards(_: Folder) -> Figures:
    known = table.read()
    reader: Any = Scores()
    baselines = ["cubic+hystart", "reno", "cubic+hystart++", "cubic+search", "bbr"]
    for criterion in known.criteria:
        for figure in criterion.figures:
            for quick in (False, True):
                drawn = evaluation_drawing.draw(
                    figure, known, reader, LONG[0], baselines, quick=quick
                )
                assert drawn is not None
                yield drawn


def captures(_: Folder) -> Figures:
    (report,) = connections.read([str(CAPTURE)], points=200)
    for each in report["connections"]:
        if each.get("series"):
            yield analysis_figures.figure(each)


def censuses(folder: Folder) -> Figures:
    """Flows that leave slow start at a loss and before, that complete in it, and a torn file."""
    made = folder / "captures"
    made.mkdir()
    for path in ("wired", "geo"):
        (folder / "flows.toml").write_text(
            f'[path]\npreset = "{path}"\n'
            '[[flow]]\nalgorithm = "cubic+hystart"\nsize = "3 MB"\n'
            '[[flow]]\nalgorithm = "reno+standard"\nsize = "3 MB"\nstart = "60 s"\n'
            '[[flow]]\nalgorithm = "reno+standard"\nsize = "100 kB"\nstart = "120 s"\n'
        )
        out = made / f"{path}.pcapng"
        assert invoke(["export", str(folder / "flows.toml"), "-o", str(out)]) == 0
    whole = (made / "geo.pcapng").read_bytes()
    (made / "torn.pcapng").write_bytes(whole[len(whole) // 2 :])
    summary = census.census([made, CAPTURE], folder / "result")
    for _, figure in census_figures.draw(summary):
        yield figure


def visits(folder: Folder) -> Figures:
    names = [word for name in ("cubic+careful-resume", *LONG) for word in ("-a", name)]
    out = folder / "visits"
    assert invoke(["run", str(EXAMPLES / "visits.toml"), *names, "-o", str(out), "-q"]) == 0
    yield from (figure for _, figure in redraw.KINDS[Kind.VISITS](redraw.Saved(str(out))))


def shares(_: Folder) -> Figures:
    """One mix with three names, and two mixes over two paths."""
    rows = [
        {"path": path, "names": mix, "name": name, "share": 0.3 + place / 10, "share_low": 0.2,
         "share_high": 0.7, "equal_share": 0.5, **dict.fromkeys(("harm", "harm_low", "harm_high",
                                                                 "own_harm"))}
        for path in ("wired", "lte")
        for mix in (f"{LONG[0]}, quic", f"{LONG[1]}, quic, other")
        for place, name in enumerate(mix.split(", "))
    ]  # fmt: skip
    names = [*LONG, "quic", "other"]
    table = sharing.mixed(pl.DataFrame(rows, infer_schema_length=None))
    yield sharing.sharing(table, names)
    yield sharing.sharing(table.filter(pl.col("path") == "lte"), names)


def studies(folder: Folder) -> Figures:
    findings = run_study(folder)
    for each in findings.study.drawings:
        figure = study_figures.draw(findings, each, findings.stacks)
        assert figure is not None
        yield figure


def maps(_: Folder) -> Figures:
    for name in ("iridium", "adhoc-mobile", "adhoc"):
        found = networks.read(str(EXAMPLES / f"{name}.toml"), seed=1, duration="60 s")
        assert found is not None
        yield networks.figure(found, f"{name}: nodes, links in range, and routes; seed 1")
    for name in ("parking-lot", "graph", "dumbbell", "satellite-proxies"):
        yield topology.figure(topology.read(str(EXAMPLES / f"{name}.toml")), name)


def receivers(_: Folder) -> Figures:
    rows = [
        {"flows": flows, "node": f"node {node}", "run": run, "throughput_bps": 1e4 * node}
        for flows in ("cubic+search cubic+search", LONG[0])
        for node in range(1, 40)
        for run in range(2)
    ]
    yield networks.nodes(pl.DataFrame(rows))


def paths(_: Folder) -> Figures:
    yield characterization.figure(characterization.watch("lte", duration="2 s"))
    yield characterization.figure(
        characterization.watch(str(EXAMPLES / "busy-path.toml"), duration="2 s")
    )


def steps(folder: Folder) -> Figures:
    words = [word for name in LONG for word in ("-a", name)]
    for name in ("rate-step", "rtt-step"):
        out = str(folder / name)
        given = ["compare", str(EXAMPLES / f"{name}.toml"), *words, "-n", "2", "-q", "--traces",
                 "--duration", "17 s"]  # fmt: skip
        with figure_style.using(figure_style.Look()):
            assert invoke([*given, "-o", out]) == 0
        yield from (figure for _, figure in redraw.KINDS[Kind.RATE_CHANGES](redraw.Saved(out)))


def validations(_: Folder) -> Figures:
    cases = [grid.Case(path, "cubic") for path in grid.quick()]
    found = [
        compare.Difference(case, quantity, 1.0, 1.0, 0.01 * place, 0.01, (3, 4))
        for case in cases
        for place, quantity in enumerate(QUANTITIES)
    ]
    yield fidelity_figures.distributions(found, "Linux 6.18")
    made = fidelity_figures.by_case(found, "cubic")
    # The boxes of slanted texts overlap where the texts do not.
    for each in made.axes[0].get_xticklabels():
        each.set_visible(False)
    yield made
    run = {"run": 0, "valid": True, "trajectory": [(0.0, 10, 0), (1.0, 200, 0)], "exit_s": 0.7,
           "exit_cwnd": 150}  # fmt: skip
    yield fidelity_figures.trajectories(
        [(case, "completion time: +12.3 %") for case in cases[:6]], lambda *_: [run], "linux"
    )
    random = np.random.default_rng(1)
    values = tuple(random.uniform(1, 2, 20) for _ in range(4))
    workload = groups.of_group("pacing")[0]
    yield group_page.figure(
        [
            distributions.Distribution(workload, quantity, label, values, values, values)
            for quantity in distributions.QUANTITIES
            for label in ("cubic", "a class with a name")
        ],
        "Linux 6.18",
    )


def identifications(_: Folder) -> Figures:
    names = [identify.start_up(each) for each in identify.candidates()]
    places = {
        place: {
            "all": {"flows": 960},
            "confusion": {
                name: {name: 44, identify_truth.NONE: 2, identify_truth.CANNOT: 2} for name in names
            },
            "reliability": [{"probability": 0.1 * each, "right": 0.1 * each} for each in range(11)],
        }
        for place in ("sender", "receiver")
    }
    made = identify_figures.confusion(places["sender"], "sender")
    # The boxes of slanted texts overlap where the texts do not.
    for each in made.axes[0].get_xticklabels():
        each.set_visible(False)
    yield made
    yield identify_figures.reliability(places)


def comparisons(_: Folder) -> Figures:
    for draw in (*KINDS.values(), *WORKED.values()):
        yield draw()


EVERY: Mapping[str, Callable[[Folder], Figures]] = {
    each.__name__: each
    for each in (
        sweeps, searches, scorecards, captures, censuses, visits, studies, maps, receivers,
        paths, steps, validations, identifications, comparisons, shares,
    )
}  # fmt: skip
DRAWN: set[str] = set()


@pytest.mark.parametrize("kind", EVERY)
def test_no_texts_overlap(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def noting(figure: Figure, title: str) -> Figure:
        frame = sys._getframe(1)
        module = frame.f_globals["__name__"].removeprefix("slowstart.")
        DRAWN.add(f"{module}.{frame.f_code.co_name}")
        return finish(figure, title)

    finish = canvas.finish
    for module in list(sys.modules.values()):
        if getattr(module, "finish", None) is finish and module is not canvas:
            monkeypatch.setattr(module, "finish", noting)
    count = 0
    for figure in EVERY[kind](tmp_path):
        assert_apart(figure)
        count += 1
        below = plots.stacked(figure) if kind in ("comparisons", "studies") else None
        if below is not None:
            assert_apart(below)
    assert count


def test_every_function_that_draws_was_called() -> None:
    if len(DRAWN) < 5:
        pytest.skip("only with the tests above")
    assert drawers() == DRAWN


@pytest.mark.parametrize("width", [3.3, 7.0])
@pytest.mark.parametrize("kind", ["captures", "receivers", "steps"])
def test_no_texts_overlap_in_files_of_these_widths(kind: str, width: float, tmp_path: Path) -> None:
    with figure_style.using(figure_style.Look(width_in=width)):
        for figure in EVERY[kind](tmp_path):
            assert_apart(figure)
