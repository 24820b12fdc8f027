"""The search for the path where a start-up does worst."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import slowstart
from slowstart.errors import InputError
from slowstart.sweeps import worst
from slowstart.sweeps.search_space import OBJECTIVES, SPACE, read_space

COMMAND = [sys.executable, "-c", "from slowstart.commands.cli import main; main()", "sweep"]
# Nothing is random: a point has one run with each algorithm.
PLAIN = """\
[scenario.path]
rtt = "100 ms"
buffer = "100000 packets"
[[scenario.flow]]
size = "5 MB"
[latin_hypercube]
points = 6
keys."path.rate" = { from = "5 Mbit/s", to = "5 Gbit/s", scale = "log" }
"""
NOISY = """\
runs = 6
[scenario.path]
rtt = "40 ms"
[[scenario.flow]]
size = "300 kB"
[latin_hypercube]
points = 6
keys."path.rate" = { from = "5 Mbit/s", to = "100 Mbit/s", scale = "log" }
keys."path.loss" = { from = "0.01 %", to = "1 %", scale = "log" }
[grid]
"path.aqm" = ["drop-tail", "codel"]
"""
BUDGET = 620


def written(folder: Path, text: str = NOISY) -> Path:
    file = folder / "space.toml"
    file.write_text(text)
    return file


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )


def outputs(folder: Path) -> list[bytes]:
    names = ("worst.json", "worst.toml", "search.parquet", "worst.svg")
    return [(folder / name).read_bytes() for name in names]


def test_limited_slow_start_does_worst_where_the_rate_is_highest(tmp_path: Path) -> None:
    # 5 MB are 3454 segments. Doubling from 10 sends them in 9 rounds: 10 RTTs with the handshake.
    # RFC 3742 grows by at most 50 segments per RTT above 100: 10, 20, 40, 80, then about 130, 180,
    # ..., of which ten make 3550: 14 rounds, so 15 RTTs.
    found = worst(
        "reno+limited", "reno+standard", space=written(tmp_path, PLAIN), budget=420,
        runs=1, folder=tmp_path / "out",
    )  # fmt: skip
    assert 1.4 < found.worst.value < 1.6
    assert found.worst.low is None
    assert found.found
    rate = found.table.sort("value")["rate_bps"][-1]
    slow = found.table.filter(pl.col("rate_bps") < 16e6)["value"].to_list()
    assert rate > 100e6
    assert slow
    assert max(slow) < 1.1


def test_cost_is_the_time_lost_against_the_ideal_exit(tmp_path: Path) -> None:
    found = worst(
        "reno+limited", objective="cost", space=written(tmp_path, PLAIN), budget=420, runs=1,
        folder=tmp_path / "out",
    )  # fmt: skip
    assert found.search.algorithms == ("reno+limited", "reno+oracle")
    # The same five round trips.
    assert 0.4 < found.worst.value < 0.6
    words = f"reno+limited loses {found.worst.value:.3g} s against reno+oracle"
    assert found.sentence() == words


def test_the_reported_number_is_that_of_the_written_scenario(tmp_path: Path) -> None:
    found = worst("cubic+search", "cubic+standard", space=written(tmp_path), budget=BUDGET,
                  folder=tmp_path / "out")  # fmt: skip
    found.write()
    text = (tmp_path / "out" / "worst.toml").read_text()
    times = []
    for name in ("cubic+search", "cubic+standard"):
        file = tmp_path / "again.toml"
        file.write_text(text.replace('"cubic+search"', f'"{name}"'))
        scenario = slowstart.Scenario.from_file(str(file))
        assert scenario.runs == 32
        times.append(pl.DataFrame(slowstart.run(scenario).flows())["fct_s"].to_numpy())
    assert np.median(times[0] / times[1]) == found.worst.value
    assert found.worst.low is not None
    assert found.worst.high is not None
    assert found.worst.low <= found.worst.value <= found.worst.high
    # No run of the search, or of the choice among its best points, has served again.
    assert found.seed == 1 + 6 + 16


def test_harm_is_what_the_other_flow_suffers(tmp_path: Path) -> None:
    text = PLAIN.replace('"5 Gbit/s"', '"50 Mbit/s"').replace('"100000 packets"', '"1 bdp"')
    found = worst("cubic+standard", "cubic+limited", objective="harm", budget=420, runs=1,
                  space=written(tmp_path, text), folder=tmp_path / "out")  # fmt: skip
    one, two = found.scenarios()
    assert one.flows == ["cubic+standard", "other"]
    other = [pl.DataFrame(slowstart.run(each).flows())["fct_s"][1] for each in (one, two)]
    assert other[0] / other[1] == found.worst.value
    # The flow starts ten round trips after the other one.
    assert one.resolved["flows"][0]["start_s"] == pytest.approx(1.0)


def test_no_difference_is_no_find(tmp_path: Path) -> None:
    # Without a window of this size the threshold changes nothing.
    done = command(tmp_path, str(written(tmp_path)), "--worst",
                   "cubic+limited:max_ssthresh=1000000 against cubic+standard",
                   "--budget", str(BUDGET))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "takes 1 [1, 1] times as long" in done.stdout
    assert "The interval includes no difference" in done.stdout


def test_kills_and_threads_change_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    words = ["space.toml", "--worst", "cubic+search against cubic+standard"]
    words += ["--budget", str(BUDGET)]
    whole = worst("cubic+search", "cubic+standard", space=tmp_path / "space.toml", budget=BUDGET,
                  folder=tmp_path / "whole", threads=1)  # fmt: skip
    whole.write()
    assert whole.search.used <= BUDGET
    process = subprocess.Popen([*COMMAND, *words, "-o", "killed", "-q"], cwd=tmp_path)
    runs = tmp_path / "killed" / "runs"
    while not list(runs.glob("*.runs")) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / "killed" / "worst.json").exists()
    again = worst("cubic+search", "cubic+standard", space=tmp_path / "space.toml", budget=BUDGET,
                  folder=tmp_path / "killed", threads=3)  # fmt: skip
    again.write()
    assert json.loads((tmp_path / "killed" / "worst.json").read_text()) == again.document()
    assert outputs(tmp_path / "killed") == outputs(tmp_path / "whole")


def test_every_point_of_a_combination_has_its_values(tmp_path: Path) -> None:
    file = written(tmp_path)
    space = read_space(file, ("reno", "cubic"), OBJECTIVES["completion"])
    assert [space.labels(place) for place in range(2)] == [{"aqm": "drop-tail"}, {"aqm": "codel"}]
    for start, aqm in enumerate(("drop-tail", "codel")):
        made = space.at(start, np.array([[0.0, 0.0], [1.0, 1.0]]), 1)
        texts = [made.text(point) for point in range(made.points)]
        assert len(texts) == 4
        assert all(f'"{aqm}"' in text for text in texts)
        assert [('"reno"' in text) for text in texts] == [True, True, False, False]
        assert "5000000 bit/s" in texts[0]
        assert "100000000 bit/s" in texts[1]


def test_the_default_space_is_valid() -> None:
    space = read_space(SPACE, ("cubic+hystart", "cubic+standard"), OBJECTIVES["harm"])
    assert len(space.starts) == 6
    for place in range(6):
        space.at(place, space.first[:2], 1).scenario(0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--objective", "cost"], "--objective needs --worst"),
        (["--worst", "reno"], "completion compares two algorithms: name the other one, too"),
        (["--worst", "reno against reno+standard"], "both algorithms are reno+standard"),
        (["--worst", "reno against cubic", "--objective", "cost"], "name one algorithm only"),
        (["--worst", "reno against cubic", "--objective", "harms"], "did you mean harm?"),
        (["--worst", "reno against cubic", "--budget", "100"], "final runs need 608"),
        (["--worst", "reno against cubic", "--shard", "1/2"], "leave out --shard"),
        (["--worst", "reno against cubik"], "cubik"),
        (["--worst", "reno against cubic", "-o", "."], "holds something other than a search"),
        (["--worst", "a against b against c"], "write \"cubic+hystart against"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, words: list[str], said: str) -> None:
    written(tmp_path)
    done = command(tmp_path, "space.toml", *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["space.toml"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[latin_hypercube]", "[never]\n[latin_hypercube]", ":6: unknown key never"),
        (NOISY[NOISY.index("[latin") : NOISY.index("[grid]")], "", "space.toml:1: a search needs"),
        ('"path.aqm"', '"flow.algorithm" = ["reno"]\n"path.aqm"', ":11: --worst names the"),
        ("points = 6", "points = 4", ":7: points: a generation has at least five"),
        ('"codel"]', '"coddle"]', "coddle"),
    ],
)
def test_wrong_spaces_name_the_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = written(tmp_path, NOISY.replace(old, new))
    with pytest.raises(InputError) as error:
        worst("reno", "cubic", space=file, folder=tmp_path / "out")
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()
