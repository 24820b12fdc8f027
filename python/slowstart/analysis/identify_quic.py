"""How often ``slowstart analyze --identify`` is right on qlogs of QUIC stacks in virtual time.

quinn and noq send with their own controllers and with start-ups of this project inside of them.
Their packets are written as qlog, which is read as any other. The paths and flows of the test and
of the fit are those of :mod:`slowstart.analysis.identify_truth`.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import stacks
from slowstart._native import Scenario, analyze_file, compare_file
from slowstart.analysis import identify, identify_truth
from slowstart.analysis.identify_truth import Case
from slowstart.analysis.truth import observe_all
from slowstart.errors import InputError
from slowstart.report import tables
from slowstart.store import exports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STACKS = ("quinn", "noq")
# The start-up of each stack's own controllers (docs/guides/quic-stacks.md). Their BBR is code of
# the stack, which no replay runs, so it is none of the candidates.
_OWN = {
    ("quinn", "own:cubic"): "cubic+standard",
    ("quinn", "own:newreno"): "cubic+standard",
    ("quinn", "own:bbr"): identify_truth.NONE,
    ("noq", "own:cubic"): "cubic+standard",
    ("noq", "own:newreno"): "cubic+standard",
    ("noq", "own:bbr"): identify_truth.NONE,
}
_FLOWS = ("6 MB", "1 MB")
_FIT_FLOWS = ("4 MB",)
_TEST_SEED = 101


@dataclass(frozen=True)
class QuicCase(Case):
    """A flow of a QUIC stack, its place; ``algorithm`` is the true candidate, or that none is."""

    control: str
    """What the stack runs: ``own:cubic``, ``cubic+search``."""


def _takes(stack: str, control: str) -> bool:
    text = f'[path]\npreset = "wired"\n[[flow]]\nalgorithm = "{stacks.placeholder(control)}"\n'
    text += 'size = "1 MB"\n'
    try:
        stacks.placed(Scenario.from_toml(text), stack, control)
    except InputError:
        return False
    return True


def controls(stack: str) -> list[tuple[str, str]]:
    """What a stack can run, each with the candidate that is then true."""
    own = [(control, truth) for (each, control), truth in _OWN.items() if each == stack]
    ours = [(each, each) for each in identify.candidates() if _takes(stack, each)]
    return own + ours


def _cases(like: Sequence[Case], flows: Sequence[str], seeds: Sequence[int]) -> list[QuicCase]:
    """The paths of ``like`` for everything that the stacks run."""
    keys = dict.fromkeys(
        (each.path, each.path_keys, each.flow, each.flow_keys)
        for each in like
        if each.flow in flows
    )
    return [
        QuicCase(path, path_keys, flow, flow_keys, truth, stack, seed, control)
        for stack in STACKS
        for control, truth in controls(stack)
        for path, path_keys, flow, flow_keys in keys
        for seed in seeds
    ]


def training() -> list[QuicCase]:
    """The flows on which the constants are fitted."""
    like = identify_truth.training()
    return _cases(like, _FIT_FLOWS, (like[0].seed,))


def held_out(*, quick: bool, runs: int) -> list[QuicCase]:
    """The flows of the test."""
    like = identify_truth.held_out(quick=False, runs=1)
    # Odd ones: the replay was developed on even ones.
    seeds = range(_TEST_SEED, _TEST_SEED + 2 * runs, 2)
    return _cases(like, _FLOWS[:1] if quick else _FLOWS, seeds)


def observe(case: QuicCase) -> identify_truth.Row:
    """Runs a flow, writes its packets as qlog, and identifies its start-up."""
    algorithm = stacks.placeholder(case.control)
    text = (
        f"seed = {case.seed}\nruns = 1\n[path]\n{case.path_keys}\n"
        f'[[flow]]\nalgorithm = "{algorithm}"\n{case.flow_keys}\n'
    )
    scenario = stacks.placed(Scenario.from_toml(text, name=case.path), case.place, case.control)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flow.qlog"
        file.write_bytes(exports.as_qlog(exports.of_packets(scenario, 0)))
        (connection,) = json.loads(analyze_file(file))["connections"]
        (comparison,) = json.loads(
            compare_file(file, numbers=[1], algorithms=identify.candidates())
        )
    return identify_truth.judged(case, connection, comparison)


def run(
    chosen: Sequence[QuicCase], threads: int, progress: Callable[[int, int], None]
) -> list[identify_truth.Row]:
    """Observes all cases, in their order."""
    return observe_all(observe, chosen, threads, progress)


def by_control(rows: Sequence[identify_truth.Row]) -> list[dict[str, Any]]:
    """How many flows of each controller of a stack are right."""
    groups: dict[tuple[str, str], list[identify_truth.Row]] = {}
    for row in rows:
        control = row.case.control if isinstance(row.case, QuicCase) else row.case.algorithm
        groups.setdefault((row.case.place, control), []).append(row)
    made = []
    for (stack, control), each in groups.items():
        said = [identify_truth.answer(row) for row in each]
        answered = [one for one in said if one[0] != identify_truth.CANNOT]
        made.append({
            "stack": stack, "control": control, "start_up": each[0].truth, "flows": len(each),
            "answers": len(answered), "right": sum(one[2] for one in answered),
        })  # fmt: skip
    return made


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Prints the rows of :func:`by_control`."""
    heads = ("stack", "controller", "start-up", "flows", "answers", "right")
    keys = ("stack", "control", "start_up", "flows", "answers", "right")
    tables.print_table(heads, [[str(each[key]) for key in keys] for each in rows])
