"""Validation of several flows by distributions, and knife's edges. Nothing here needs a kernel."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command

from slowstart import Scenario, run
from slowstart.commands.execution import unmarked
from slowstart.errors import InputError
from slowstart.fidelity import compare, distributions, edges, grid, groups, judge, kernels, runner
from slowstart.fidelity.quantities import QUANTITIES

WORKLOAD = groups.of_group("pacing")[0]


def runs(times: list[list[float]], drops: list[float] | None = None) -> distributions.Runs:
    """Runs with these completion times, and drops, by start."""
    drops = drops or [0.0] * len(times)
    return {
        start: {
            "fct_s": {"cubic": each},
            "retransmitted": {},
            "drops": {"": [dropped]},
            "marks": {},
            "queue_packets": {},
            "jain": {},
            "unfinished": 0,
        }
        for start, (each, dropped) in enumerate(zip(times, drops, strict=True))
    }


def row(simulated: distributions.Runs, kernel: distributions.Runs, key: str) -> distributions.Row:
    found = distributions.distributions(WORKLOAD, simulated, kernel, simulated)
    return next(each for each in distributions.rows(found) if each.quantity.key == key)


def some_times(scale: float, seed: int) -> list[list[float]]:
    random = np.random.default_rng(seed)
    return [(scale * random.uniform(1, 2, 20)).tolist() for _ in range(12)]


def test_equal_distributions_have_no_error() -> None:
    same = runs(some_times(1.0, 1))
    found = row(same, same, "fct_s")
    assert (found.median, found.p95, found.bias) == (0, 0, 0)
    assert found.errors == 9
    assert found.verdict == "yes"


def test_a_shifted_distribution_has_its_shift_as_error() -> None:
    times = some_times(1.0, 1)
    slower = runs([[1.2 * each for each in of_start] for of_start in times])
    found = row(slower, runs(times), "fct_s")
    for value in (found.median, found.p95, found.bias):
        assert value == pytest.approx(0.2)
    assert found.twin_p95 == 0
    assert found.chance_median < 0.2
    # Each start is shifted alike, so the resampled starts are, too.
    assert found.median_interval == pytest.approx((0.2, 0.2))
    assert found.verdict == "no"


def test_a_difference_by_chance_is_named() -> None:
    # Few values of one distribution, which vary by more than the goals.
    random = np.random.default_rng(3)
    few = [[[float(each)] for each in random.lognormal(0, 0.3, 8)] for _ in range(2)]
    found = row(runs(few[0]), runs(few[1]), "fct_s")
    assert not found.holds
    assert found.verdict == "chance"
    assert found.median_interval[0] <= found.median_interval[1]
    assert found.errors == 3
    # The same values on one stack, each a little larger, are no chance: the stacks differ in every
    # start.
    larger = runs([[1.3 * each for each in of_start] for of_start in some_times(1.0, 1)])
    assert row(larger, runs(some_times(1.0, 1)), "fct_s").verdict == "no"


def test_a_small_count_is_divided_by_fifty() -> None:
    times = [[1.0]] * 4
    found = row(runs(times, [10.0] * 4), runs(times, [5.0] * 4), "drops")
    assert found.median == pytest.approx(0.1)
    found = row(runs(times, [110.0] * 4), runs(times, [100.0] * 4), "drops")
    assert found.median == pytest.approx(0.1)


def test_only_starts_that_ran_on_both_stacks_are_compared() -> None:
    ours = runs([[1.0], [2.0], [50.0]])
    theirs = {start: each for start, each in runs([[1.0], [2.0], [9.0]]).items() if start < 2}
    found = row(ours, theirs, "fct_s")
    assert (found.starts, found.median) == (2, 0)


@pytest.mark.parametrize("workload", groups.WORKLOADS, ids=lambda each: each.name)
def test_a_start_is_the_same_on_each_stack_and_its_twin_is_later(
    workload: groups.Workload,
) -> None:
    flows = workload.flows(3)
    assert flows == workload.flows(3)
    assert bool(flows) is (not workload.traffic)
    assert not flows or flows != workload.flows(4)
    assert workload.group in groups.SUMMARIES
    starts = [
        [
            each["start_s"]
            for resolved in [workload.scenario(3, twin=twin).resolved]
            for each in (*resolved["flows"], *resolved["path"]["traffic"])
        ]
        for twin in (False, True)
    ]
    later = [twin - own for own, twin in zip(*starts, strict=True)]
    assert len(later) == len(flows) + bool(workload.traffic)
    assert all(-1e-6 <= each <= groups.TWIN_S + 1e-6 for each in later)
    assert max(later) > 0
    hosts = kernels.Kernel(tick_us=4000, autotuning="linux-6.6")
    job = runner.StartJob(workload, "simulated", 3, hosts)
    exact = json.loads(job.scenario().to_exact_json())
    simulated = [*exact["flows"], *(each["flow"] for each in exact["path"]["traffic"])]
    assert simulated
    for flow in simulated:
        assert (flow["settings"]["tick"], flow["settings"]["autotuning"]) == (4_000_000, "Linux66")
    jobs = [runner.StartJob(workload, stack, 3) for stack in ("simulated", runner.TWIN)]
    assert jobs[0].key != jobs[1].key


def test_a_run_is_measured_by_class() -> None:
    workload = groups.of_group("staggered")[1]
    document = json.loads(run(workload.scenario(0), threads=1).to_json())["runs"][0]
    measured = distributions.measure(workload, 0, document)
    classes = [flow.label for flow in workload.flows(0)]
    assert list(measured["fct_s"]) == classes
    expected = [flow["fct_s"] for flow in document["flows"]]
    assert [value for values in measured["fct_s"].values() for value in values] == expected
    again = sum(value for (value,) in measured["retransmitted"].values())
    assert again == sum(flow["segments_retransmitted"] for flow in document["flows"])
    (jain,) = measured["jain"][""]
    assert 0.25 < jain <= 1
    assert measured["unfinished"] == 0
    assert measured["marks"] == {}


def test_responses_are_measured_by_their_size() -> None:
    workload = groups.of_group("connections")[0]
    document = json.loads(run(workload.scenario(0), threads=1).to_json())["runs"][0]
    measured = distributions.measure(workload, 0, document)
    epochs = document["traffic"][0]["exchanges"]["list"]
    assert sum(map(len, measured["fct_s"].values())) == len(epochs) > 100
    small = [each for each in epochs if 10_000 < each["response_bytes"] <= 100_000]
    expected = [each["duration_s"] for each in small]
    assert measured["fct_s"]["10 to 100 kB"] == expected
    assert measured["jain"][""] == []


def test_a_group_that_does_not_exist_is_refused(command: Command) -> None:
    done = command("validate", "--group", "reordering", "-o", "company")
    assert done.returncode == 2
    assert "--group reordering: use one of staggered, short" in done.stderr
    done = command("validate", "wired", "--group", "ecn", "-o", "company")
    assert done.returncode == 2
    assert "leave out PATH" in done.stderr


def test_a_path_with_a_marking_queue_says_that_no_flow_is_capable() -> None:
    text = '[path]\nrate = "20 Mbit/s"\nrtt = "20 ms"\naqm = "codel"\necn = true\n'
    flow = '[[flow]]\nalgorithm = "cubic"\nsize = "50 kB"\n'
    background = "[[traffic]]\nkind = 'bulk'\necn = true\n"
    for more, said in (("", 1), ("ecn = true\n", 0), (background, 0)):
        found = unmarked([Scenario.from_toml(text + flow + more, name="queue")])
        assert len(found) == said
        assert all(each.startswith("Nothing will be marked over queue") for each in found)
    plain = text.replace("ecn = true\n", "")
    assert unmarked([Scenario.from_toml(plain + flow, name="queue")]) == []


def exits(*values: float | None) -> dict[float, dict[str, Any]]:
    factors = (1.0, *edges.FACTORS)
    return {
        factor: {"exit_s": value, "exit_cwnd": None if value is None else 100.0}
        for factor, value in zip(factors, values, strict=True)
    }


@pytest.mark.parametrize(
    ("values", "is_edge"),
    [
        ((0.50, 0.505, 0.502, 0.498, 0.495), False),
        ((0.50, 0.505, 0.45, 0.498, 0.495), True),
        ((0.50, None, 0.502, 0.498, 0.495), True),
        ((None,) * 5, False),
    ],
)
def test_a_knifes_edge_is_an_exit_that_another_rate_moves_by_a_round(
    values: tuple[float | None, ...], is_edge: bool
) -> None:
    case = grid.Case(grid.quick()[0], "cubic")
    assert case.path.rtt_ms == 50
    found = exits(*values)
    by_case = dict(zip([case, *edges.neighbours(case)], found.values(), strict=True))
    assert bool(edges.find([case], by_case.get)) is is_edge


def test_an_exit_at_the_same_time_with_another_window_is_a_knifes_edge() -> None:
    case = grid.Case(grid.quick()[0], "bbr")
    around = [case, *edges.neighbours(case)]
    for windows, is_edge in (
        ((632, 1239, 631, 632, 1247), True),
        ((632, 640, 631, 632, 650), False),
    ):
        runs = [{"exit_s": 0.71, "exit_cwnd": float(window)} for window in windows]
        assert bool(edges.find([case], dict(zip(around, runs, strict=True)).get)) is is_edge


def test_the_neighbours_differ_in_the_rate_alone() -> None:
    case = grid.Case(grid.quick()[0], "cubic")
    rates = [each.scenario().resolved["path"]["rate_bps"] for each in edges.neighbours(case)]
    assert rates == pytest.approx([5e6 * factor for factor in edges.FACTORS])
    own = case.scenario().resolved["path"]
    for each in edges.neighbours(case):
        path = each.scenario().resolved["path"]
        assert path["forward"]["queue_limit_packets"] == own["forward"]["queue_limit_packets"]
        assert path["base_rtt_ms"] == own["base_rtt_ms"]
    preset = grid.disturbed()[-1]
    assert edges.neighbours(grid.Case(preset, "cubic")) == []


def test_a_knifes_edge_is_no_error_but_is_still_reported() -> None:
    case = grid.Case(grid.quick()[0], "cubic")
    window = next(each for each in QUANTITIES if each.key == "exit_cwnd")
    fine = compare.Difference(case, window, 100.0, 100.0, 0.0, 0.0, (1, 1))
    edge = replace(fine, simulated=200.0, error=1.0, edge=True)
    (verdict, same) = judge.verdicts([fine, edge])
    assert verdict.holds
    assert verdict.cases == 1
    assert "with 1 knife's edges: median 0 %, 95th percentile 1e+02 %" in verdict.measured
    assert same.measured.startswith("1 of 1 cases; with 1 knife's edges: 1 of 2")
    assert [each.cases for each in compare.rows([fine, edge])] == [1]
    assert not judge.verdicts([replace(edge, edge=False)])[0].holds


def test_an_error_within_what_a_slightly_different_rate_moves_is_named() -> None:
    case, other = (grid.Case(grid.quick()[0], each) for each in ("cubic", "reno"))

    def runs(*counts: int | None) -> list[dict[str, Any]]:
        return [{"run": 0, "valid": True, "retransmitted": count} for count in counts]

    # The kernel has 60 and 100; at another rate, the simulation has 62, and never less than 88.
    ours = {case: runs(80, 81, 79, 62, 55), other: runs(90, 88, 91, 90, 92)}
    theirs = {case: runs(60), other: runs(100)}

    def load(which: grid.Case, stack: str) -> list[dict[str, Any]]:
        return ours[which][:1] if stack == "simulated" else theirs[which]

    first, second = compare.compare([case, other], load, "linux-vm", (), ours.__getitem__)
    assert first.moved == pytest.approx(25 / 60)
    assert second.moved == pytest.approx(0.02)
    assert [first.within, second.within] == [True, False]
    (verdict,) = judge.verdicts([first, second])
    alone = judge.verdicts([replace(each, moved=None) for each in (first, second)])[0]
    assert alone == replace(verdict, chance="")
    assert verdict.chance == (
        "of the 1 cases with an error of 33 % or more, 1 lie within what the simulation itself "
        f"moves at a rate within 1 %: {case.name}"
    )
    # A quantity that only some rates have.
    ours[case] = runs(80, None, 79, 62, 55)
    assert compare.compare([case], load, "linux-vm", (), ours.__getitem__)[0].moved == math.inf
    assert compare.compare([case], load, "linux-vm")[0].moved is None


def test_the_simulated_hosts_follow_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "linux-image-6.12.1"
    kept.mkdir()
    (kept / "vmlinuz").touch()
    (tmp_path / "current").write_text(kept.name)
    monkeypatch.setenv("SLOWSTART_VM_CACHE", str(tmp_path))
    with pytest.raises(InputError, match="slowstart vm prepare"):
        kernels.of_stack("linux-vm")
    (kept / "config").write_text("# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n")
    assert kernels.of_stack("linux-vm") == kernels.Kernel(1000, "linux-6.6", 3_150_000_000)
    assert kernels.of_stack("linux-vm", 0.0) == kernels.Kernel(0, "linux-6.6", 3_150_000_000)
    # A kernel's own run is left as it is.
    case = grid.Case(grid.quick()[0], "cubic")
    simulated, own = (
        runner.Job(case, stack, 0, kernels.Kernel(1000)).scenario().resolved["flows"][0]
        for stack in ("simulated", "linux-vm")
    )
    assert simulated["tick_ms"] == 1
    assert own["tick_ms"] == 0
