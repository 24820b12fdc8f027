"""Why slow start ended, in words, and what that cost."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import slowstart
from slowstart import metrics, planning
from slowstart.report import exits

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

PATH = exits.Facts(bdp_bytes=625_000, packet_bytes=1514, payload_bps=47.8e6)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("cubic+hystart", "cubic+oracle"),
        ("cubic:rfc9438=true+search:version=4.0,exit=drain", "cubic:rfc9438=true+oracle"),
        ("reno+hystart+++newreno", "reno+oracle+newreno"),
        ("cubic+hystart++", "cubic+oracle"),
        ("reno+mine:Glide:divisor=4", "reno+oracle"),
        ("bbr", "cubic+oracle"),
    ],
)
def test_the_ideal_keeps_everything_but_the_start_up(algorithm: str, expected: str) -> None:
    assert exits.ideal(algorithm) == expected


def table(name: str, times: list[float | None]) -> pl.DataFrame:
    rows = [
        {
            "path": "here", "run": run, "flow": 0, "name": name, "fct_s": time,
            "overshoot_bytes": 100 * run,
        }
        for run, time in enumerate(times)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_the_cost_is_the_median_of_the_differences_run_by_run() -> None:
    ideal = table("oracle", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    mine = table("mine", [1.5, 2.1, 3.2, 4.3, 5.4, 6.6, None])
    (row,) = metrics.exit_cost(mine, ideal).to_dicts()
    assert (row["n"], row["of"]) == (6, 7)
    assert row["cost_s"] == pytest.approx(0.35)
    assert (row["cost_low_s"], row["cost_high_s"]) == pytest.approx((0.1, 0.6))
    assert (row["oracle_fct_s"], row["overshoot_bytes"]) == (4.0, 300.0)
    assert row["others_fct_s"] is None
    (few,) = metrics.exit_cost(mine.head(3), ideal).to_dicts()
    assert few["cost_low_s"] is None


def test_the_cost_to_others_is_that_of_their_traffic() -> None:
    def traffic(fct_s: float, lost: int) -> pl.DataFrame:
        rows = {"path": ["here"], "fct_mean_s": [fct_s], "segments_sent": [1000]}
        return pl.DataFrame({**rows, "segments_lost": [lost]})

    flows = table("mine", [1.0])
    found = metrics.exit_cost(
        flows, flows, traffic=traffic(0.5, 30), oracle_traffic=traffic(0.4, 10)
    )
    assert found["others_fct_s"].item() == pytest.approx(0.1)
    assert found["others_lost"].item() == pytest.approx(0.02)


def flow(**given: Any) -> dict[str, Any]:
    return {
        "name": "cubic+hystart",
        "algorithm": "cubic+hystart",
        "bytes_acked": 20_000_000,
        "exit_s": 0.8312,
        "exit_reason": "delay",
        "exit_evidence": "delay: 131 ms > 100 ms + 12.5 ms in 8 samples",
        "exit_measured": 131.0,
        "exit_threshold": 112.5,
        "exit_round_trips": 7,
        "exit_queue_packets": 124,
        "exit_delivered_bps": 31_000_000,
        "capacity_true_s": 0.95,
        "false_exit": False,
        **given,
    }


def cost(seconds: float) -> dict[str, Any]:
    return {"cost_s": seconds, "against": "cubic+oracle", "n": 20, "of": 20}


def test_an_exit_is_described_in_words() -> None:
    assert exits.explain(flow(), PATH, cost(0.31)) == (
        "cubic+hystart left slow start after 7 round trips (831 ms) because the smallest RTT of a "
        "round trip rose to 131 ms (delay: 131 ms > 100 ms + 12.5 ms in 8 samples); at that moment "
        "the queue held 124 packets (0.30 BDP) and the path had delivered 31.0 Mbit/s of "
        "47.8 Mbit/s in the last round trip; capacity was reached 119 ms later. Compared with an "
        "ideal exit (cubic+oracle), this cost 310 ms of the 20.0 MB transfer."
    )
    late = flow(exit_reason="loss", exit_evidence="loss", capacity_true_s=0.5312)
    words = exits.explain(late, PATH, cost(-0.1), runs=20)
    assert "because a segment was lost; at that moment" in words
    assert "capacity had been reached 300 ms before." in words
    assert words.startswith("In the first run, ")
    assert words.endswith(
        " Median over 20 of 20 flows: the 20.0 MB transfer takes 100 ms less than with an ideal "
        "exit (cubic+oracle)."
    )
    own = flow(exit_reason="slope", exit_evidence="slope: 0.40 > 0.35", false_exit=True)
    words = exits.explain(own, PATH, None)
    assert "of slope: 0.40 > 0.35;" in words
    assert words.endswith("a false exit.")
    assert "did not leave" in exits.explain(flow(exit_s=None), PATH, None)


def test_medians_over_part_of_the_flows_name_it() -> None:
    from slowstart.report import tables

    values = {"median": 27.1, "ci95": None, "n": 1}
    result = slowstart.run(slowstart.compare("wired", "cubic", size="100 kB"))
    (summary,) = json.loads(result.overview())["summary"]
    summary |= {"flows": 5, "completed": 1, "fct_s": values}
    assert tables.row(summary)[2].value == "27.1 s (1 of 5)"


def test_only_paths_without_anything_random_run_once(tmp_path: Path) -> None:
    lossy = tmp_path / "lossy.toml"
    lossy.write_text('[path]\nrate = "10 Mbit/s"\nrtt = "20 ms"\nloss = "1 %"\n')
    paths = ["wired", str(lossy), "lte"]
    for algorithm, random in (("cubic+hystart++", {"lossy", "lte"}), ("bbr", None)):
        made = slowstart.compare(paths, algorithm, size="100 kB", runs=4)
        assert {each.path for each in made if each.is_random} == (
            random or {"wired", "lossy", "lte"}
        )
    made = slowstart.compare(paths, ["cubic", "cubic+search"], size="100 kB", runs=4)
    chosen, fixed = planning.once(made)
    assert fixed == ["wired"]
    assert {(each.path, each.runs) for each in chosen} == {("wired", 1), ("lossy", 4), ("lte", 4)}
    both = slowstart.compare("wired", ["cubic", "bbr"], size="100 kB", runs=4)
    assert planning.once(both) == (both, [])


def test_what_runs_once_is_not_random() -> None:
    for algorithm in ("reno", "cubic+search", "cubic+suss", "cubic+oracle", "vegas"):
        (made,) = slowstart.compare("wired", algorithm, size="2 MB", runs=3)
        assert not made.is_random
        flows = pl.DataFrame(slowstart.run(made).flows()).drop("run", "seed")
        assert flows.n_unique() == 1


def test_compare_prints_the_cost(command: Command) -> None:
    words = ("compare", "wired", "-a", "cubic+hystart", "-a", "cubic+standard", "--size", "5MB")
    done = command(*words, "--cost", "-n", "3")
    assert done.returncode == 0, done.stderr
    assert "cost of exit" in done.stdout
    assert "Compared with an ideal exit (cubic+oracle), this cost" in done.stdout
    assert "Nothing is random over wired, so its one run stands for all 3" in done.stdout
    done = command(*words, "--cost", "--json")
    document = json.loads(done.stdout)
    found = {row["name"]: row for row in document["exit_cost"]}
    assert found["cubic+standard"]["cost_s"] > 0.05
    assert found["cubic+standard"]["against"] == "cubic+oracle"
    assert found["cubic+standard"]["overshoot_bytes"] > 0
    assert found["cubic+standard"]["oracle_overshoot_bytes"] == 0


MIXED = """
[path]
rate = "20 Mbit/s"
rtt = "80 ms"
buffer = "1 bdp"
[[flow]]
algorithm = "cubic+hystart"
name = "first"
size = "2 MB"
[[flow]]
algorithm = "reno"
name = "second"
size = "2 MB"
start = "3 s"
"""


def test_run_prints_the_cost_as_compare_does(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        '[path]\npreset = "wired"\n[[flow]]\nalgorithm = "cubic+standard"\nsize = "5 MB"\n'
    )
    done = command("run", str(file), "--cost", "--json")
    assert done.returncode == 0, done.stderr
    (mine,) = json.loads(done.stdout)["exit_cost"]
    words = ("compare", "wired", "-a", "cubic+standard", "--size", "5MB")
    (theirs,) = json.loads(command(*words, "--cost", "--json").stdout)["exit_cost"]
    assert mine["cost_s"] == theirs["cost_s"] > 0
    assert (mine["against"], theirs["against"]) == ("cubic+oracle", "cubic+oracle")
    done = command("run", str(file), "--cost")
    assert "Compared with an ideal exit (cubic+oracle), this" in done.stdout


def test_each_algorithm_of_a_file_has_an_ideal_exit_of_its_own(
    command: Command, tmp_path: Path
) -> None:
    """The other flow keeps its algorithm: the first is over before the second begins."""
    file = tmp_path / "mixed.toml"
    file.write_text(MIXED)
    done = command("run", str(file), "--cost", "--json")
    found = {row["name"]: row for row in json.loads(done.stdout)["exit_cost"]}
    assert {name: row["against"] for name, row in found.items()} == {
        "first": "cubic+oracle", "second": "reno+oracle",
    }  # fmt: skip
    for name, algorithm in (("first", "cubic+oracle"), ("second", "reno+oracle")):
        alone = MIXED.replace(
            'algorithm = "cubic+hystart"' if name == "first" else 'algorithm = "reno"',
            f'algorithm = "{algorithm}"',
        )
        flows = pl.DataFrame(slowstart.run(slowstart.Scenario.from_toml(alone)).flows())
        ideal = flows.filter(pl.col("name") == name)["fct_s"][0]
        assert found[name]["oracle_fct_s"] == ideal


@pytest.mark.parametrize(
    ("keys", "words", "sentence"),
    [
        ('duration = "2 s"', ("--cost",), "give a flow of the file a size"),
        ('size = "1 MB"', ("--cost", "-o", "x.parquet"), "--cost compares completed runs"),
        ('size = "1 MB"', ("--cost", "--stack", "linux"), "needs the simulator's knowledge"),
    ],
)
def test_cost_of_a_file_is_refused_where_it_means_nothing(
    command: Command, tmp_path: Path, keys: str, words: tuple[str, ...], sentence: str
) -> None:
    file = tmp_path / "one.toml"
    file.write_text(f'[path]\npreset = "wired"\n[[flow]]\nalgorithm = "cubic"\n{keys}\n')
    done = command("run", str(file), *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--duration", "5 s", "--cost"), "--cost is a difference of completion times"),
        (("--stack", "linux", "--cost"), "--cost compares with the start-up `oracle`"),
        (("-o", "x.parquet", "--cost"), "--cost compares completed runs"),
    ],
)
def test_cost_is_refused_where_it_means_nothing(
    command: Command, words: tuple[str, ...], sentence: str
) -> None:
    done = command("compare", "wired", "-a", "cubic", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


OWN = """
from slowstart.startup import Exit

class Own:
    def __init__(self, smss, initial_window):
        self.limit = 40 * smss

    def on_ack(self, ack, window):
        if window.cwnd >= self.limit:
            return Exit(window.cwnd, window.cwnd, {arguments})
        return ack.delivered
"""


def own_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_exit.py").write_text(textwrap.dedent(OWN.format(arguments=arguments)))
    sys.modules.pop("own_exit", None)
    made = slowstart.compare("wired", "cubic+own_exit:Own", size="1 MB")
    (run,) = json.loads(slowstart.run(made).to_json())["runs"]
    found: dict[str, Any] = run["flows"][0]["slow_start_exit"]
    return found


@pytest.mark.parametrize(
    ("arguments", "evidence", "measured"),
    [
        ("reason='slope', measured=0.4, threshold=0.35", "slope: 0.40 > 0.35", [0.4, 0.35]),
        (
            "reason='gap', measured=2e6, threshold=2.5e6, unit='ns'",
            "gap: 2.00 ms < 2.50 ms",
            [2.0, 2.5],
        ),
        ("reason='window'", "window", None),
        ("", "decision", None),
    ],
)
def test_a_start_up_in_python_gives_its_reason(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    evidence: str,
    measured: list[float] | None,
) -> None:
    found = own_exit(tmp_path, monkeypatch, arguments)
    assert found["evidence"] == evidence
    assert found.get("measured") == measured
    assert found["reason"] == evidence.split(":")[0]
    assert found["path"]["round_trips"] > 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("reason='Slope'", "it must be a word"),
        ("reason='loss'", "none of loss, ecn"),
        ("reason='slope', measured=1.0", "together"),
        ("reason='slope', measured=1, threshold=2, unit='ms'", "unit is"),
        ("reason='slope', measured='x', threshold=2", "must be a number"),
    ],
)
def test_a_bad_reason_stops_the_run_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, sentence: str
) -> None:
    with pytest.raises(slowstart.RunError, match=sentence):
        own_exit(tmp_path, monkeypatch, arguments)


BESIDE = """
runs = 6
path = { rate = "20 Mbit/s", rtt = "40 ms", buffer = "1 bdp", jitter = "500 us" }
[[flow]]
name = "running"
algorithm = "cubic"
size = "8 MB"
[[flow]]
name = "joining"
algorithm = "cubic+standard"
size = "2 MB"
start = "1 s"
"""


def test_a_scenario_says_what_each_flow_costs_the_others(command: Command, tmp_path: Path) -> None:
    (tmp_path / "beside.toml").write_text(BESIDE)
    done = command("run", "beside.toml", "--cost")
    assert done.returncode == 0, done.stderr
    assert "harm to others" in done.stdout
    done = command("run", "beside.toml", "--cost", "--json")
    costs = {each["name"]: each for each in json.loads(done.stdout)["exit_cost"]}
    assert set(costs) == {"running", "joining"}
    # The joining flow overshoots: the running one loses segments, beside an ideal exit fewer.
    scenario = slowstart.Scenario.from_file(tmp_path / "beside.toml")
    main = pl.DataFrame(slowstart.run(scenario).flows())
    ideal = scenario.with_algorithms({"joining": "cubic+oracle"})
    beside = pl.DataFrame(slowstart.run(ideal).flows())
    assert beside["name"].unique().sort().to_list() == ["joining", "running"]
    running = [each.filter(pl.col("name") == "running").sort("run") for each in (main, beside)]
    expected = (running[0]["fct_s"] - running[1]["fct_s"]).mean()
    assert costs["joining"]["others_fct_s"] == pytest.approx(expected)
    delay = (running[0]["rtt_mean_ms"] - running[1]["rtt_mean_ms"]).mean()
    assert costs["joining"]["others_rtt_ms"] == pytest.approx(delay)
    lost = [
        float(each["segments_lost"].sum()) / float(each["segments_sent"].sum()) for each in running
    ]
    assert costs["joining"]["others_lost"] == pytest.approx(lost[0] - lost[1])
    assert lost[0] > lost[1]


def test_harm_is_left_out_where_there_are_no_others(command: Command) -> None:
    done = command("compare", "wired", "-a", "cubic", "--size", "1MB", "--cost")
    assert done.returncode == 0, done.stderr
    assert "harm to others" not in done.stdout
