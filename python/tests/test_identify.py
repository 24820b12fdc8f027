"""``analyze --identify`` and ``validate identify``."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowstart import InputError
from slowstart._native import Scenario, analyze_file, compare_file, write_capture
from slowstart.analysis import identify, identify_truth, likelihood
from slowstart.commands.cli import invoke

WIRED = 'preset = "wired"'


def capture(
    folder: Path, algorithm: str, *, path: str = WIRED, flow: str = 'size = "4 MB"',
    vantage: str = "sender", name: str = "flow.pcapng",
) -> Path:  # fmt: skip
    text = f'[path]\n{path}\n[[flow]]\nalgorithm = "{algorithm}"\n{flow}\n'
    file = folder / name
    write_capture(Scenario.from_toml(text), file, run=0, vantages=[vantage])
    return file


@pytest.mark.parametrize("vantage", ["sender", "receiver"])
@pytest.mark.parametrize(
    "algorithm",
    ["cubic+hystart", "cubic+suss", "cubic+limited", "cubic+jump-start", "cubic+halfback",
     "bbr"],
)  # fmt: skip
def test_the_start_up_of_a_clean_path_is_named(
    algorithm: str, vantage: str, tmp_path: Path
) -> None:
    (found,) = identify.identify(capture(tmp_path, algorithm, vantage=vantage))
    assert found.why is None
    best = found.candidates[0]
    assert identify.start_up(algorithm) in best.names
    assert best.probability > found.none_of_these


def test_start_ups_of_the_same_packets_are_named_together(tmp_path: Path) -> None:
    (found,) = identify.identify(capture(tmp_path, "cubic+standard"))
    best = found.candidates[0]
    # Neither decided before the loss.
    assert {"standard", "initial-start", "search"} <= set(best.names)
    assert best.exit is None
    assert "these leave the same packets on this path" in found.sentence()


def test_initial_window_and_pacing_are_reported(tmp_path: Path) -> None:
    flow = 'size = "4 MB"\ninitial_window = 16\npacing = true'
    (found,) = identify.identify(capture(tmp_path, "cubic+hystart", flow=flow))
    best = found.candidates[0]
    assert (best.initial_window, best.paced) == (16, True)
    (found,) = identify.identify(capture(tmp_path, "cubic+hystart", name="burst.pcapng"))
    best = found.candidates[0]
    assert (best.names[0], best.initial_window, best.paced) == ("hystart", 10, False)
    assert best.exit is not None
    assert best.exit["reason"] == "ack-train"


def test_the_exit_of_the_replay_is_that_of_the_simulator(tmp_path: Path) -> None:
    file = capture(tmp_path, "cubic+hystart")
    (found,) = json.loads(compare_file(file, numbers=[1], algorithms=["cubic+hystart"]))
    unpaced, paced = found["tracks"]
    assert (unpaced["paced"], paced["paced"]) == (False, True)
    assert unpaced["exit"]["time_s"] == pytest.approx(0.7528, abs=1e-3)
    real = np.array([each["in_flight_bytes"] for each in found["moments"] if each["counts"]])
    made = np.array(unpaced["in_flight_bytes"])[[each["counts"] for each in found["moments"]]]
    assert np.mean(np.abs(made - real) / found["segment_bytes"]) < 2


def test_a_start_up_that_is_not_known_is_none_of_these(tmp_path: Path) -> None:
    file = capture(tmp_path, "cubic+suss")
    connections = json.loads(analyze_file(file))["connections"]
    known = ["cubic+standard", "cubic+hystart", "cubic+limited"]
    comparisons = json.loads(compare_file(file, numbers=[1], algorithms=known))
    found = identify.judge(connections, comparisons)
    assert found.none_of_these > 0.5
    assert found.sentence().startswith("It was probably none of these start-ups")


@pytest.mark.parametrize(
    ("flow", "reason"),
    [
        ('size = "12 kB"', "fewer than two round trips"),
        (
            'size = "1 MB"\napplication = { write = "4 kB", every = "150 ms" }',
            "the application held",
        ),
    ],
)
def test_a_capture_that_cannot_tell_says_why(flow: str, reason: str, tmp_path: Path) -> None:
    (found,) = identify.identify(capture(tmp_path, "cubic", flow=flow))
    assert found.why is not None
    assert reason in found.sentence()
    assert found.rows() == []


def test_several_connections_of_a_server_count_together(tmp_path: Path) -> None:
    text = "".join(
        f'[[flow]]\nalgorithm = "cubic+hystart++"\nsize = "2 MB"\nstart = "{8 * place} s"\n'
        for place in range(2)
    )
    file = tmp_path / "two.pcapng"
    scenario = Scenario.from_toml(f"[path]\n{WIRED}\n{text}")
    write_capture(scenario, file, run=0, vantages=["sender"])
    connections = json.loads(analyze_file(file))["connections"]
    (both,) = identify.identify(file)
    assert both.connections == (1, 2)
    (one,) = identify.identify(file, connections[:1])
    assert both.moments > one.moments
    assert both.candidates[0].probability > 0


def test_connections_that_differ_from_the_common_answer_are_named(tmp_path: Path) -> None:
    text = f"""[path]
{WIRED}
[[flow]]
algorithm = "cubic+hystart"
size = "8 MB"
[[flow]]
algorithm = "cubic+jump-start"
size = "4 MB"
start = "20 s"
"""
    file = tmp_path / "two.pcapng"
    write_capture(Scenario.from_toml(text), file, run=0, vantages=["sender"])
    (found,) = identify.identify(file)
    names = ("hystart", "jump-start")
    (common,) = (each for each in names if each in found.candidates[0].names)
    ((sender, nearest),) = found.unlike
    assert {common, nearest} == set(names)
    assert f"{sender} ({nearest})" in found.sentence()
    assert found.document()["unlike"] == [{"sender": sender, "nearest": nearest}]


def test_probabilities_add_up() -> None:
    constants = likelihood.CONSTANTS["sender"]
    weights, none = likelihood.probabilities([0.001, 0.05, 0.3], 20, constants)
    assert weights.sum() + none == pytest.approx(1)
    assert weights[0] > weights[1] > weights[2]
    _, alone = likelihood.probabilities([0.3, 0.4], 20, constants)
    assert alone > 0.9


def test_the_fit_finds_constants_that_make_right_answers_probable() -> None:
    right = (np.array([0.002, 0.05, 0.1]), np.array([True, False, False]), 20)
    made = likelihood.fit([right] * 4)
    weights, _ = likelihood.probabilities([0.002, 0.05, 0.1], right[2], made)
    assert weights[0] > 0.9
    assert made.none > 0.002


def test_the_command_shows_and_writes_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = capture(tmp_path, "cubic+suss")
    capsys.readouterr()
    assert invoke(["analyze", str(file), "--identify", "--json", "-o", str(tmp_path / "page")]) == 0
    (found,) = json.loads(capsys.readouterr().out)["identification"]
    assert found["candidates"][0]["names"] == ["suss"]
    assert found["why"] is None
    page = (tmp_path / "page" / "report.html").read_text()
    assert "Which start-up 10.77.0.1:49152 used" in page
    assert html.escape(found["sentence"]) in page
    assert invoke(["analyze", str(file), "--identify"]) == 0
    assert "suss\t" in capsys.readouterr().out


def test_without_the_beginning_there_is_no_answer() -> None:
    connection: dict[str, Any] = {"number": 1, "vantage": "sender"}
    comparison = {"number": 1, "why": "the capture lacks its beginning"}
    found = identify.judge([connection], [comparison])
    assert found.sentence().endswith("the capture lacks its beginning.")


def test_a_file_without_connections_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no connection to identify"):
        identify.identify(tmp_path / "none.pcapng", [])


def test_the_validation_scores_its_flows() -> None:
    chosen = [
        case
        for case in identify_truth.held_out(quick=True, runs=1)
        if case.path == "wired" and case.flow == "6 MB" and case.place == "sender"
    ]
    rows = identify_truth.run(chosen, 2, lambda *_: None)
    scored = identify_truth.score(rows)["sender"]
    assert scored["all"]["flows"] == len(identify.candidates())
    assert scored["all"]["right_fraction"] >= identify_truth.GOAL
    assert scored["initial_window"]["flows"] == scored["initial_window"]["right"]
    assert sum(sum(line.values()) for line in scored["confusion"].values()) == len(rows)
    assert any(each["pair"] == ["search", "standard"] for each in scored["pairs"])
    # No training flow is a test flow.
    train, test = (
        {(case.path_keys, case.seed) for case in cases}
        for cases in (identify_truth.training(), identify_truth.held_out(quick=False, runs=5))
    )
    assert not train & test


def test_the_validation_refuses_what_it_does_not_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["validate", "identify", "nothing"]) == 2
    assert "validate identify has its own paths" in capsys.readouterr().err
