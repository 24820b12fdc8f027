"""QUIC stacks in ``compare`` and ``list``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars
import pytest

import slowstart
from slowstart import InputError, Scenario, studies
from slowstart import stacks as stacks_module
from slowstart._native import refusal, stacks
from slowstart.commands.cli import invoke
from slowstart.evaluation import kernel, table

PATH = ["compare", "wired", "--size", "1 MB", "--quiet"]


def test_one_table_has_every_stack(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-a", "cubic+search", "-a", "own", "--json"]
    beside = ["--stack", "quinn", "--stack", "noq", "--stack", "simulated"]
    assert invoke([*PATH, *given, *beside]) == 0
    document = json.loads(capsys.readouterr().out)
    runs = [(run["stack"], run["flows"][0]["algorithm"]) for run in document["runs"]]
    assert runs == [
        ("quinn", "cubic+search"),
        ("noq", "cubic+search"),
        ("simulated", "cubic+search"),
        ("quinn", "own:cubic"),
        ("noq", "own:cubic"),
    ]
    assert all(run["flows"][0]["completed"] for run in document["runs"])
    versions = [run.get("stack_version") for run in document["runs"]]
    assert versions == ["0.11.19", "1.4.0", None, "0.11.19", "1.4.0"]
    names = [row["name"] for row in document["summary"]]
    assert "own:cubic, noq" in names


def test_the_same_bytes_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-a", "cubic+hystart++", "-n", "2", "--json", "--stack", "noq"]
    printed = []
    for _ in range(2):
        assert invoke([*PATH, *given]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_every_start_up_runs_or_is_refused_with_a_sentence() -> None:
    for stack in stacks():
        assert refusal(stack["name"], "cubic+search") is None
        sentence = refusal(stack["name"], "cubic+jump-start")
        assert sentence is not None
        assert sentence.endswith(": cubic+jump-start needs it")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-a", "bbr", "--stack", "quinn"], "lets no controller set the pace: bbr needs it"),
        (["-a", "own"], "the simulated TCP has no controllers of its own"),
        (["-a", "own:vegas", "--stack", "noq"], "it has cubic, newreno, bbr"),
        (["-a", "cubic", "--stack", "quin"], "unknown stack quin"),
        (["-a", "cubic", "--stack", "quinn", "--stack", "linux"], "runs alone"),
        (["-a", "cubic", "--stack", "quinn", "--stack", "quinn"], "given twice"),
    ],
)
def test_what_does_not_run_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([*PATH, *arguments]) == 2
    assert sentence in capsys.readouterr().err


SCENARIO = """\
[path]
rate = "50 Mbit/s"
rtt = "100 ms"
buffer = "413 packets"
[[flow]]
algorithm = "cubic+search"
size = "5 MB"
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    made = tmp_path / "scenario.toml"
    made.write_text(SCENARIO)
    return made


def test_compare_says_that_it_leaves_out_the_flows_of_a_file(
    scenario_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-a", "cubic", "--size", "1 MB"]
    assert invoke(["compare", str(scenario_file), *words]) == 0
    printed = capsys.readouterr().out
    assert "has flows of its own, which compare leaves out: slowstart run" in printed
    bare = tmp_path / "path.toml"
    bare.write_text(SCENARIO.partition("[[flow]]")[0])
    assert invoke(["compare", str(bare), *words]) == 0
    assert "leaves out" not in capsys.readouterr().out


def test_run_takes_a_stack_and_its_own_controller(
    scenario_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, name in (([], "cubic+search"), (["-a", "own:newreno"], "own:newreno")):
        assert invoke(["run", str(scenario_file), "--stack", "quinn", "--json", *words]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        (flow,) = run["flows"]
        assert (run["stack"], run["stack_version"]) == ("quinn", "0.11.19")
        assert (flow["algorithm"], flow["name"], flow["completed"]) == (name, name, True)
    assert invoke(["run", str(scenario_file), "-a", "own"]) == 2
    assert "the simulated TCP has no controllers of its own" in capsys.readouterr().err
    assert invoke(["run", str(scenario_file), "-a", "own", "--stack", "quinn", "--cost"]) == 2
    assert "leave out --stack" in capsys.readouterr().err


def test_windows_are_in_packets_on_every_stack(scenario_file: Path) -> None:
    for stack, packet in (("simulated", 1448), ("quinn", 1472), ("noq", 1472)):
        scenario = Scenario.from_file(scenario_file).on(stack)
        document = json.loads(slowstart.run(scenario).to_json())
        left = document["runs"][0]["flows"][0]["slow_start_exit"]
        assert left["cwnd_packets"] == left["cwnd_bytes"] // packet
        # The window that overflows path and buffer: two BDPs, and one doubling at most.
        assert 826 < left["cwnd_packets"] < 2 * 826 + 20


def test_from_python() -> None:
    made = slowstart.compare(
        "wired", ["cubic+search", "own"], size="1 MB", stack=["quinn", "simulated"]
    )
    assert [(each.stack, each.own, each.flows) for each in made] == [
        ("quinn", None, ["cubic+search, quinn"]),
        ("simulated", None, ["cubic+search, simulated"]),
        ("quinn", "own", ["own:cubic, quinn"]),
    ]
    flows = polars.DataFrame(slowstart.run(made).flows())
    assert flows["stack"].to_list() == ["quinn", "simulated", "quinn"]
    assert flows["algorithm"].to_list() == ["cubic+search", "cubic+search", "own:cubic"]
    (plain,) = slowstart.compare("wired", "cubic+search", size="1 MB")
    assert plain.stack == "simulated"
    one = slowstart.run(plain, stack="quinn").to_json()
    assert json.loads(one)["runs"] == json.loads(slowstart.run(plain.on("quinn")).to_json())["runs"]
    with pytest.raises(InputError, match="unknown stack 'bsd': there are simulated, quinn, noq"):
        slowstart.run(plain, stack="bsd")
    with pytest.raises(InputError, match="own:vegas: quinn has no such controller"):
        slowstart.compare("wired", "own:vegas", size="1 MB", stack="quinn")
    with pytest.raises(InputError, match="does not run on linux"):
        slowstart.run(plain.on("quinn"), stack="linux")


def test_a_scenario_keeps_its_stack() -> None:
    (made,) = slowstart.compare("wired", "own:newreno", size="1 MB", stack="noq")
    for other in (made.with_runs(runs=3), made.with_names("x"), made.with_hosts(tick_us=0)):
        assert (other.stack, other.own) == ("noq", "own:newreno")
    again = Scenario.from_exact_json(made.to_exact_json())
    assert (again.stack, again.own, again.definition()) == ("noq", "own:newreno", made.definition())
    assert made.definition() != made.on("quinn", "own:newreno").definition()
    assert made.definition() != made.on("noq").definition()
    # Packet numbers are skipped at random, so that runs differ.
    assert made.is_random
    assert not made.on("simulated").is_random


def test_tables_go_to_files_while_stacks_run(tmp_path: Path) -> None:
    file = tmp_path / "flows.parquet"
    words = ["-a", "own", "--stack", "quinn", "-n", "3", "-o", str(file)]
    assert invoke([*PATH, *words]) == 0
    table = polars.read_parquet(file)
    assert table["stack"].to_list() == ["quinn"] * 3
    assert table["algorithm"].to_list() == ["own:cubic"] * 3


def test_a_report_has_the_stack(tmp_path: Path) -> None:
    words = ["-a", "own", "-a", "cubic+search", "--stack", "quinn", "-o", str(tmp_path / "report")]
    assert invoke([*PATH, *words]) == 0
    assert "own:cubic" in (tmp_path / "report" / "report.html").read_text()


def test_export_runs_a_stack(scenario_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = scenario_file.parent / "quinn.qlog"
    words = ["export", str(scenario_file), "--format", "qlog", "--stack", "quinn", "-o", str(out)]
    assert invoke([*words, "-a", "own"]) == 0
    (trace,) = json.loads(out.read_text())["traces"]
    assert trace["common_fields"]["protocol_type"] == ["QUIC"]
    windows = [event["data"].get("congestion_window") for event in trace["events"]]
    assert max(each for each in windows if each is not None) > 2_400_000
    (left,) = (each for each in trace["events"] if "congestion_state_updated" in each["name"])
    # quinn's CUBIC leaves slow start by the loss at 1.06 s (docs/guides/quic-stacks.md).
    assert left["data"]["new"] == "recovery"
    assert 1050 < left["time"] < 1080
    out = scenario_file.parent / "quinn.tar"
    words = ["export", str(scenario_file), "--format", "mahimahi", "--stack", "quinn"]
    assert invoke([*words, "-o", str(out)]) == 2
    assert "has segments of TCP" in capsys.readouterr().err


def test_a_text_of_a_program_names_its_stack() -> None:
    text = 'stack = "quinn"\npath.preset = "wired"\nflow = [{algorithm = "own", size = "1 MB"}]\n'
    made = stacks_module.read(text)
    assert (made.stack, made.own, made.flows) == ("quinn", "own", ["own:cubic"])
    plain = stacks_module.read(text.replace('stack = "quinn"\n', "").replace("own", "reno"))
    assert (plain.stack, plain.own, plain.flows) == ("simulated", None, ["reno+standard"])
    two = text.replace("]", ', {algorithm = "reno", size = "1 MB"}]')
    with pytest.raises(InputError, match="either all flows have it or none"):
        stacks_module.read(two)


def test_a_sweep_takes_stacks(tmp_path: Path) -> None:
    definition = {
        "scenario": {
            "path": {"rate": "50 Mbit/s", "rtt": "100 ms"},
            "flow": [{"size": "200 kB"}],
        },
        "grid": {"stack": ["quinn", "noq"], "flow.algorithm": ["cubic+search", "own:newreno"]},
    }
    rows = slowstart.sweep(definition, folder=tmp_path / "sweep").table
    assert rows.select("stack", "name", "algorithm", "completed").rows() == [
        ("quinn", "cubic+search", "cubic+search", True),
        ("quinn", "own:newreno", "own:newreno", True),
        ("noq", "cubic+search", "cubic+search", True),
        ("noq", "own:newreno", "own:newreno", True),
    ]


def test_the_option_of_sweep_sets_the_stack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        '[scenario]\npath.preset = "wired"\nflow = [{ algorithm = "cubic+search" }]\n'
        '[grid]\n"flow.size" = ["100 kB", "200 kB"]\n'
    )
    folder = tmp_path / "out"
    words = ["sweep", str(file), "-q"]
    assert invoke([*words, "-o", str(folder), "--stack", "quinn"]) == 0
    found = polars.read_parquet(folder / "flows.parquet")
    assert found["stack"].to_list() == ["quinn", "quinn"]
    capsys.readouterr()
    # The command that repeats a run names the stack.
    assert invoke(["sweep", "show", found["key"][0], str(folder)]) == 0
    assert capsys.readouterr().out.endswith("--seed 1 -n 1 --stack quinn\n")
    assert invoke([*words, "-o", str(tmp_path / "other"), "--stack", "bsd"]) == 2
    assert "unknown stack bsd" in capsys.readouterr().err


def test_the_scorecard_asks_a_stack_what_it_supports() -> None:
    cells, refused = kernel.cells_of_quic(
        table.read(), ["cubic+search", "cubic+jump-start"], "quinn", quick=True
    )
    assert {each.job.scenario.stack for each in cells} == {"quinn"}
    # Some rows compare with flows of their own.
    assert {each.algorithm for each in cells} == {None, "cubic+search"}
    assert refused["cubic+jump-start"].endswith(": cubic+jump-start needs it")
    assert "`extra_delay` is not supported" in refused["the scenario rtt-fairness"]
    # Traffic of the simulated TCP passes beside the flows of a stack.
    assert "web" in {each.setup for each in cells}


def test_the_study_of_stacks_runs_every_sender_over_every_path() -> None:
    study = studies.load("stacks")
    cells = study.experiments["matrix"].cells
    assert len(cells) == 19 * 6
    assert {cell.unavailable for cell in cells} == {None}
    for cell in cells:
        stack, algorithm = str(cell.labels["sender"]).split(", ")
        assert cell.scenario is not None
        assert cell.scenario.stack == stack
        assert cell.scenario.own == (algorithm if algorithm.startswith("own:") else None)
        (flow,) = cell.scenario.resolved["flows"]
        assert flow["pacing"]


def test_the_numbers_of_the_study_of_stacks(tmp_path: Path) -> None:
    study = studies.load("stacks")
    matrix = study.experiments["matrix"]
    # The claims below are about the stacks' own controllers.
    cells = tuple(
        replace(cell, in_quick="own:" in str(cell.labels["sender"])) for cell in matrix.cells
    )
    study = replace(study, experiments={"matrix": replace(matrix, cells=cells)})
    found = study.run(tmp_path, quick=True, report=False)
    by_name = {each.claim.name: each for each in found.verdicts}
    # RFC 9002 halves the window, RFC 9438 leaves 0.7 of it; slow start counts bytes of datagrams.
    for stack in ("quinn", "noq"):
        for name, value in (("newreno", 0.5), ("cubic", 0.7)):
            reduction = by_name[f"{stack}-{name}-reduction"]
            assert reduction.word == "agrees"
            assert reduction.estimate is not None
            assert reduction.estimate.value == pytest.approx(value, abs=0.001)
            growth = by_name[f"{stack}-{name}-growth"].estimate
            assert growth is not None
            assert growth.value == pytest.approx(1.025, abs=0.01)
            assert by_name[f"{stack}-{name}-buffers"].word == "differs"
    assert by_name["quinn-handshake"].word == "agrees"
    assert by_name["noq-handshake"].word == "differs"
