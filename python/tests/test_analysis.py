"""The commands ``analyze`` and ``export``, and the comparison with the simulator."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from slowstart import InputError
from slowstart._native import (
    Scenario,
    analyze_file,
    analyze_simulated,
    replay_file,
    write_capture,
)
from slowstart.analysis import connections as analysis
from slowstart.analysis import costs, path_fit
from slowstart.analysis import kernel as analysis_kernel
from slowstart.analysis import truth as analysis_truth
from slowstart.analysis.situation import POINTS
from slowstart.commands.cli import invoke

SCENARIO = """
runs = 2
[path]
preset = "wired"
[[flow]]
algorithm = "cubic+hystart"
size = "4 MB"
[[flow]]
algorithm = "reno+standard"
size = "4 MB"
start = "6 s"
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capture")
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO)
    file = folder / "both.pcapng"
    assert invoke(["export", str(scenario), "-o", str(file)]) == 0
    return file


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert invoke(["analyze", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_simulated_capture_has_each_flow_from_both_hosts(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, str(capture))
    connections = found["connections"]
    assert isinstance(connections, list)
    assert sorted((each["sender"][-5:], each["vantage"]) for each in connections) == [
        ("49152", "receiver"), ("49152", "sender"), ("49153", "receiver"), ("49153", "sender"),
    ]  # fmt: skip
    for each in connections:
        assert each["bytes"] == 4_000_000
        expected = "heuristic" if each["sender"].endswith("49152") else "loss"
        assert each["verdict"]["reason"] == expected
        assert 0.6 < each["verdict"]["exit"]["time_s"] < 1.3


def test_conditions_and_order_choose_connections(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def chosen(*arguments: str) -> list[dict[str, Any]]:
        found = document(capsys, str(capture), *arguments)["connections"]
        assert isinstance(found, list)
        return found

    assert len(chosen("--where", "reason=loss", "--where", "vantage=sender")) == 1
    assert len(chosen("--where", "bytes>=4MB")) == 4
    assert chosen("--where", "bytes>4MB") == []
    starts = [each["start_unix_s"] for each in chosen("--sort", "-start", "--limit", "3")]
    assert len(starts) == 3
    assert starts == sorted(starts, reverse=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bytes", "is not a condition"),
        ("size>1", "`size` is not a key"),
        ("bytes>big", "big is not a number"),
        ("reason>loss", "compared with = or !="),
    ],
)
def test_wrong_conditions_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        analysis.condition(text)


def test_the_folder_has_table_report_and_figures(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    assert invoke(["analyze", str(capture), "--figures", "1", "-o", str(folder)]) == 0
    table = pl.read_parquet(folder / "connections.parquet")
    assert table.height == 4
    assert set(table["verdict_reason"]) == {"heuristic", "loss"}
    page = (folder / "report.html").read_text()
    assert page.count("<figure>") == 1
    assert re.findall(r'<th><button type="button">([^<]+)', page) == list(analysis.HEADS)
    # The same folder may be written again.
    assert invoke(["analyze", str(capture), "-o", str(folder)]) == 0


def test_bad_input_is_one_sentence_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.pcap"
    text.write_text("no capture\n")
    assert invoke(["analyze", str(text), "-o", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "text.pcap: not a pcap" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert invoke(["analyze", str(tmp_path / "absent")]) == 2
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    assert invoke(["export", str(scenario), "--run", "2", "-o", str(tmp_path / "x.pcapng")]) == 2
    assert invoke(["export", str(scenario), "-o", str(tmp_path / "x.txt")]) == 2
    assert not list(tmp_path.glob("x.*"))


def test_a_cut_capture_is_read_up_to_the_cut(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(capture.read_bytes()[:100_001])
    found = document(capsys, str(cut))
    files = found["files"]
    assert isinstance(files, list)
    assert "is cut at byte" in files[0]["notes"][0]
    assert found["connections"]


def test_most_verdicts_on_known_connections_are_right() -> None:
    # The whole grid is `slowstart validate analyze`; these bounds are those of its goals.
    chosen = [
        each
        for each in analysis_truth.cases(quick=True, runs=1)
        if each.path == "wired" and each.algorithm in {"cubic", "reno+standard"}
    ]
    rows = analysis_truth.run(chosen, 2, lambda *_: None)
    assert len(rows) == len(chosen) == 30
    found = analysis_truth.score(rows)
    assert found["all"]["right"] >= 0.95
    assert found["all"]["within_one_rtt"] >= 0.95
    assert found["all"]["window_error_median"] < 0.03
    assert found["segments_right"] == 1
    assert found["vantage_right"] == 1


def test_an_exit_after_the_last_new_data_counts_as_none() -> None:
    # HyStart decides while the last segments are in flight, so no packet can tell.
    case = analysis_truth.Case(
        "wifi-strong-reduced", "cubic", analysis_truth.WORKLOADS[0], "sender", 0
    )
    row = analysis_truth.observe(case)
    assert row is not None
    assert row["hidden"]
    assert row["truth"] == "completed"
    assert row["time_error_rtt"] is None


def test_the_limits_are_those_of_the_simulator() -> None:
    kinds = {"20 MB": "congestion-window", "small receive buffer": "receive-window",
             "periodic writes": "application"}  # fmt: skip
    for workload in analysis_truth.WORKLOADS:
        if workload.name not in kinds:
            continue
        case = analysis_truth.Case("wired", "reno+standard", workload, "sender", 0)
        row = analysis_truth.observe(case)
        assert row is not None
        found = analysis_truth.limits([row])
        kind = kinds[workload.name]
        assert found["main"][kind][kind] == 1, workload.name
        assert found["share_right"] > 0.9, workload.name


def test_a_capture_in_the_middle_tells_the_exit() -> None:
    for algorithm in ("cubic", "reno+standard"):
        case = analysis_truth.Case("wired", algorithm, analysis_truth.WORKLOADS[2], "middle", 0)
        row = analysis_truth.observe(case)
        assert row is not None
        assert row["seen_as"] == "middle"
        assert row["verdict"] == row["truth"]
        assert abs(row["time_error_rtt"]) < 1


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")
def test_counts_are_those_of_tcptrace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    file = tmp_path / "sender.pcapng"
    options = ["--vantage", "sender", "-o", str(file)]
    assert invoke(["export", str(scenario), *options]) == 0
    program = ["tcptrace", "-l", "-r", "-n", str(file)]
    text = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    parts = re.split(r"\nTCP connection \d+:", text)[1:]
    connections = document(capsys, str(file))["connections"]
    assert len(parts) == len(connections) == 2
    for part, connection in zip(parts, connections, strict=True):

        def first(label: str, part: str = part) -> int:
            found = re.search(rf"{label}:\s+(\d+)", part.split("host", 3)[-1])
            assert found is not None, label
            return int(found.group(1))

        repaired = connection["retransmissions"]
        assert first("actual data pkts") == connection["segments"]
        assert first("unique bytes sent") == connection["bytes"]
        assert first("rexmt data pkts") == repaired["segments"]
        # A FIN takes one sequence number, and tcptrace counts that of each repeated FIN.
        ends = re.search(r"SYN/FIN pkts sent:\s+1/(\d+)", part)
        assert ends is not None
        assert first("rexmt data bytes") == repaired["bytes"] + int(ends.group(1)) - 1
        assert first("initial window") == connection["initial_window_bytes"]
        smallest = re.search(r"RTT min:\s+([0-9.]+) ms", part)
        assert smallest is not None
        assert connection["rtt_ms"][0] == pytest.approx(float(smallest.group(1)), abs=1)


@pytest.mark.parametrize("path", ["wired", "dsl", "leo", "lte"])
def test_a_replay_decides_as_the_simulator_does(path: str, tmp_path: Path) -> None:
    def scenario(algorithm: str) -> Scenario:
        flow = f'[[flow]]\nalgorithm = "{algorithm}"\nsize = "20 MB"\n'
        return Scenario.from_toml(f'[path]\npreset = "{path}"\n{flow}')

    file = tmp_path / "sender.pcapng"
    write_capture(scenario("cubic+standard"), file, run=0, vantages=["sender"])
    replays = json.loads(replay_file(file, numbers=[1], algorithms=["cubic", "cubic+search"]))
    for replay in replays:
        known = json.loads(
            analyze_simulated(scenario(replay["algorithm"]), run=0, vantage="sender")
        )
        left = known[0]["truth"]["slow_start_exit"]
        assert replay["end"] == ("congestion" if left["reason"] == "loss" else "exit")
        assert abs(replay["until_s"] - left["time_s"]) < 0.002
        assert abs(replay["cwnd_bytes"] / left["cwnd_bytes"] - 1) < 0.03


def test_the_fitted_path_runs_and_states_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "scenario.toml"
    source.write_text('[path]\npreset = "wired"\n[[flow]]\nalgorithm = "cubic+standard"\n'
                      'size = "8 MB"\n')  # fmt: skip
    file, fitted = tmp_path / "sender.pcapng", tmp_path / "fitted.toml"
    assert invoke(["export", str(source), "--vantage", "sender", "-o", str(file)]) == 0
    options = ["-a", "cubic+suss", "--scenario", str(fitted), "--json"]
    capsys.readouterr()
    assert invoke(["analyze", str(file), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["replays"][0]["end"] == "window-differs"
    (answer,) = found["answers"]
    assert answer["outcome"]["completion_s"] > 0
    change = answer["difference"]
    assert change["low_s"] <= change["seconds"] <= change["high_s"]
    fit = found["connections"][0]["fit"]
    assert abs(fit["errors"]["duration"]) < 0.05
    assert abs(fit["errors"]["exit_window"]) < 0.05
    assert invoke(["run", str(fitted), "-q"]) == 0
    # Not over a file of somebody else.
    assert invoke(["analyze", str(file), "--scenario", str(source)]) == 2
    capsys.readouterr()
    # One connection at a time.
    both = tmp_path / "both.pcapng"
    assert invoke(["export", str(source), "-o", str(both)]) == 0
    assert invoke(["analyze", str(both), "-a", "cubic"]) == 2
    assert "2 are chosen" in capsys.readouterr().err
    assert invoke(["analyze", str(file), "-a", "nonsense"]) == 2


@pytest.mark.parametrize("path", ["geo", "wired"])
def test_the_cost_is_that_of_compare(path: str) -> None:
    case = costs.Case(path, "cubic", "4 MB", "sender")
    row = costs.observe(case)
    assert row is not None
    assert row["cost_s"] == pytest.approx(row["true_cost_s"], abs=0.1 * row["completion_s"])
    assert row["low_s"] <= row["cost_s"] <= row["high_s"]


def test_a_path_that_repeats_nothing_predicts_nothing(capture: Path) -> None:
    read = json.loads(analyze_file(str(capture), points=POINTS))
    connection = read["connections"][0]
    # As if the flow had taken three times as long: no path of a constant rate explains that.
    connection["goodput_bps"] /= 3
    found = path_fit.fit(connection)
    cost = path_fit.cost(found).document()
    assert not found.predicts
    assert cost["seconds"] is None
    assert path_fit.answer(found, "cubic+search", {"end": "window-differs"}) is None
    assert "predicts nothing" in path_fit.sentence(found)
    with pytest.raises(InputError, match="not simulated"):
        path_fit.fit({**connection, "bytes": 10**10})


def test_exports_have_what_their_readers_need(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"csv": "x.csv", "qlog": "x.qlog", "flent": "x.flent.gz", "xplot": "x.xpl"}
    for form, name in files.items():
        assert invoke(["export", str(capture), "--format", form, "-o", str(tmp_path / name)]) == 0
    table = pl.read_csv(tmp_path / "x.csv")
    assert table["flow"].n_unique() == 4
    flent = json.loads(gzip.decompress((tmp_path / "x.flent.gz").read_bytes()))
    assert flent["version"] == 4
    assert all(len(each) == len(flent["x_values"]) for each in flent["results"].values())
    assert (tmp_path / "x.xpl").read_text().startswith("timeval")
    capsys.readouterr()
    # Our own reader of qlog finds the windows again.
    found = document(capsys, str(tmp_path / "x.qlog"))["connections"]
    assert isinstance(found, list)
    assert len(found) == 4
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    log = tmp_path / "x.log"
    assert invoke(["export", str(scenario), "--format", "mahimahi", "-o", str(log)]) == 0
    lines = [each.split() for each in log.read_text().splitlines() if not each.startswith("#")]
    counts = {kind: sum(each[1] == kind for each in lines) for kind in "+-d#"}
    assert counts["+"] == counts["-"] + counts["d"] > 5000
    assert counts["-"] == counts["#"]
    # Packets at both hosts are known of scenarios only.
    assert invoke(["export", str(capture), "--format", "mahimahi", "-o", str(log)]) == 2
    assert invoke(["export", str(tmp_path), "--format", "csv", "-o", str(tmp_path / "y.csv")]) == 2
    assert not (tmp_path / "y.csv").exists()
    folder = tmp_path / "result"
    assert invoke(["run", str(scenario), "--traces", "-q", "-o", str(folder)]) == 0
    for form, name in files.items():
        target = tmp_path / f"run-{name}"
        assert invoke(["export", str(folder), "--format", form, "-o", str(target)]) == 0
    windows = pl.read_csv(tmp_path / "run-x.csv")["cwnd_bytes"]
    assert windows.null_count() == 0
    # A result of the simulator is simulated again, with the same packets.
    for source, name in ((scenario, "of-scenario.pcapng"), (folder, "of-result.pcapng")):
        options = ["-o", str(tmp_path / name)]
        assert invoke(["export", str(source), *options]) == 0
    packets = [(tmp_path / f"of-{each}.pcapng").read_bytes() for each in ("scenario", "result")]
    assert packets[0] == packets[1]
    again = ["export", str(folder), "--format", "mahimahi"]
    assert invoke([*again, "-o", str(tmp_path / "again.log")]) == 0
    assert invoke([*again, "--run", "2", "-o", str(tmp_path / "no.log")]) == 2
    (folder / "scenarios.json").unlink()
    capsys.readouterr()
    assert invoke([*again, "-o", str(tmp_path / "no.log")]) == 2
    assert "without --traces" in capsys.readouterr().err


def test_the_kernels_log_gives_the_truth_of_each_connection(tmp_path: Path) -> None:
    def line(time: float, port: int, cwnd: int, ssthresh: int) -> str:
        return (
            f"  x-1 [000] b..1. {time:.6f}: tcp_probe: family=AF_INET src=10.77.0.1:{port} "
            f"dest=10.77.0.2:5001 mark=0x0 data_len=0 snd_nxt=0x1 snd_una=0x0 snd_cwnd={cwnd} "
            f"ssthresh={ssthresh} snd_wnd=65160 srtt=100\n"
        )

    infinite = 2147483647
    log = tmp_path / "x.probe"
    log.write_text(
        "# offset 1000.5\n# tracer: nop\n"
        + line(1.0, 1, 10, infinite) + line(1.1, 1, 20, infinite) + line(1.2, 1, 21, 21)
        + line(2.0, 2, 100, infinite) + line(2.1, 2, 99, 50) + line(3.0, 3, 10, infinite)
    )  # fmt: skip
    known = analysis_kernel.known(log)
    assert (known["1"].reason, known["1"].time_s, known["1"].exit_cwnd) == ("heuristic", 1001.6, 21)
    assert (known["2"].reason, known["2"].time_s, known["2"].exit_cwnd) == ("loss", 1002.5, 100)
    assert (known["3"].reason, known["3"].exit_cwnd) == ("completed", None)
    assert known["1"].is_hidden
    assert invoke(["validate", "analyze", "wired"]) == 2


def test_the_report_sorts_by_numbers(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    assert (
        invoke(["analyze", str(capture), "--figures", "0", "--cost", "0", "-o", str(folder)]) == 0
    )
    page = (folder / "report.html").read_text()
    values = [float(each) for each in re.findall(r'data-value="([^"]+)"', page)]
    report = analysis.read([str(capture)])[0]["connections"]
    wanted = [each for one in report for each in analysis.sort_values(one) if each is not None]
    assert values == pytest.approx(wanted)
    assert "4 of 4" in page
