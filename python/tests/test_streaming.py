"""Tables that are written while the runs go on have the rows of an ordinary result."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import Command, stop_at_once

import slowstart

LOSSY = """
runs = 70
[path]
rate = "20 Mbit/s"
rtt = "60 ms"
buffer = "40 packets"
loss = "0.5 %"
"""
FLOWS = """
[[flow]]
algorithm = "cubic+search"
size = "300 kB"
[[flow]]
algorithm = "reno"
duration = "800 ms"
start = "300 ms"
[[flow]]
algorithm = "cubic+search"
size = "100 kB"
start = "500 ms"
"""
TRAFFIC = """
[[traffic]]
kind = "web"
load = "30 %"
[[traffic]]
kind = "datagrams"
rate = "1 Mbit/s"
direction = "reverse"
"""
SLOW = """
runs = 9
time_limit = "1 s"
[path]
rate = "1 Mbit/s"
rtt = "60 ms"
buffer = "20 packets"
jitter = "5 ms"
[[flow]]
algorithm = "cubic"
size = "300 kB"
[[flow]]
algorithm = "bbr"
size = "20 kB"
"""
SCENARIOS = {
    "flows, losses and background traffic": LOSSY + FLOWS + TRAFFIC,
    "flows that do not complete": SLOW,
    "a preset": 'runs = 3\n[path]\npreset = "lte"\n[[flow]]\nalgorithm = "bbr"\nsize = "500 kB"\n',
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("threads", [1, None])
def test_the_rows_are_those_of_a_result(tmp_path: Path, name: str, threads: int | None) -> None:
    scenario = slowstart.Scenario.from_toml(SCENARIOS[name])
    result = slowstart.run(scenario)
    to = {table: tmp_path / f"{table}.parquet" for table in ("flows", "links", "traffic")}
    summary = slowstart.run(scenario, to=to, threads=threads)
    for table, file in to.items():
        expected = pl.DataFrame(getattr(result, table)())
        found = pl.read_parquet(file)
        assert found.schema == expected.schema
        assert found.equals(expected), table
        other = pl.DataFrame(pq.read_table(file))  # another reader of the format
        assert other.equals(expected), table
    assert pl.DataFrame(summary).equals(pl.DataFrame(result.summary()))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        f"{each}.parquet" for each in to
    )


def test_a_comparison_has_all_scenarios_in_order(tmp_path: Path) -> None:
    scenarios = slowstart.compare(["wired", "leo"], ["reno", "cubic"], size="50 kB", runs=70)
    summary = slowstart.run(scenarios, to=tmp_path / "flows.parquet")
    result = slowstart.run(scenarios)
    assert pl.read_parquet(tmp_path / "flows.parquet").equals(pl.DataFrame(result.flows()))
    assert pl.DataFrame(summary).equals(pl.DataFrame(result.summary()))


def test_the_bytes_do_not_depend_on_the_threads(tmp_path: Path) -> None:
    scenarios = slowstart.compare("leo", ["reno", "cubic"], size="3 kB", runs=5000)
    for threads in (1, 2, 7):
        slowstart.run(scenarios, to=tmp_path / f"{threads}.parquet", threads=threads)
    first, *others = (each.read_bytes() for each in tmp_path.iterdir())
    assert others == [first, first]


def test_the_file_says_what_ran(tmp_path: Path) -> None:
    (scenario,) = slowstart.compare("wired", "cubic", size="3 kB", runs=70_000)
    file = tmp_path / "flows.parquet"
    slowstart.run(scenario, to=file, runs=2)
    facts = pq.read_metadata(file).metadata
    assert facts[b"slowstart.version"].decode() == slowstart.__version__
    assert json.loads(facts[b"slowstart.scenario"]) == scenario.resolved
    slowstart.run(scenario, to=file)
    groups = pq.read_metadata(file)
    assert (groups.num_rows, groups.num_row_groups) == (70_000, 2)
    expected = pl.DataFrame(slowstart.run(scenario).flows())
    assert pl.read_parquet(file).equals(expected)
    assert pl.DataFrame(pq.read_table(file)).equals(expected)


def test_memory_hardly_grows_with_the_runs(tmp_path: Path) -> None:
    code = (
        "import resource, slowstart, sys;"
        "(one,) = slowstart.compare('leo', 'cubic', size='1 B', runs=int(sys.argv[1]));"
        "slowstart.run(one, to='flows.parquet');"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", code, runs], cwd=tmp_path, text=True))
        for runs in ("66000", "200000")
    ]
    # The rows would take 40 MB, and the numbers behind the medians 12 MB.
    assert peaks[1] < peaks[0] + 6_000


def test_an_exception_leaves_the_earlier_file(tmp_path: Path) -> None:
    file = tmp_path / "flows.parquet"
    scenarios = slowstart.compare("wired", "cubic", size="3 kB", runs=3)
    slowstart.run(scenarios, to=file)
    earlier = file.read_bytes()

    def stop(_done: int, total: int) -> None:
        assert total == 2
        raise KeyError

    endless = slowstart.compare("ethernet", "cubic", duration="3000 s", runs=2)
    with pytest.raises(KeyError):
        slowstart.run(endless, to=file, progress=stop)
    assert [each.name for each in tmp_path.iterdir()] == ["flows.parquet"]
    assert file.read_bytes() == earlier


def test_a_failing_start_up_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_start_up.py").write_text(
        "class Broken:\n"
        "    def __init__(self, smss, window): pass\n"
        "    def on_ack(self, ack, window): raise ValueError('no idea')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    scenarios = slowstart.compare("wired", "cubic+broken_start_up:Broken", size="1 MB", runs=3)
    with pytest.raises(slowstart.RunError, match="no idea"):
        slowstart.run(scenarios, to=tmp_path / "flows.parquet")
    assert not (tmp_path / "flows.parquet").exists()


def test_python_rejects_what_does_not_go_together(tmp_path: Path) -> None:
    scenarios = slowstart.compare("wired", "cubic", size="3 kB")
    for more in ({"traces": True}, {"stack": "linux"}, {"force": True}):
        with pytest.raises(slowstart.InputError, match="leave out"):
            slowstart.run(scenarios, to=tmp_path / "x.parquet", **more)
    with pytest.raises(slowstart.InputError, match="there is no table flow:"):
        slowstart.run(scenarios, to={"flow": tmp_path / "x.parquet"})
    with pytest.raises(slowstart.InputError, match="at least one table"):
        slowstart.run(scenarios, to={})
    with pytest.raises(slowstart.InputError, match="threads"):
        slowstart.run(scenarios, to=tmp_path / "x.parquet", threads=0)
    assert list(tmp_path.iterdir()) == []


def test_no_permission_is_one_sentence(tmp_path: Path) -> None:
    # Root may write everywhere, so the program becomes nobody once all its modules are there.
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    code = (
        "import os, slowstart;"
        "one = slowstart.compare('wired', 'cubic', size='3 kB');"
        "slowstart.run(one, to='warm.parquet');"
        "os.geteuid() == 0 and os.seteuid(65534);"
        "slowstart.run(one, to='closed/x.parquet')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("slowstart.errors.InputError: cannot write")
    assert last.endswith("permission denied")
    assert [path.name for path in tmp_path.iterdir() if path != closed] == ["warm.parquet"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    # The limit of a file's size stands for a full disk: both fail in the middle of writing.
    code = (
        "import resource, signal, slowstart;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "one = slowstart.compare('leo', 'cubic', size='1 B', runs=100_000);"
        "slowstart.run(one, to='flows.parquet')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "slowstart.errors.RunError" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_what_it_prints_without_a_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(LOSSY + FLOWS + TRAFFIC)
    (tmp_path / "slow.toml").write_text(SLOW)
    for file in ("one.toml", "slow.toml"):
        plain = command("run", file, "-n", "8")
        streamed = command(
            "run", file, "-n", "8", "-o", "flows.parquet", "--links", "links.parquet"
        )
        assert (plain.returncode, streamed.returncode) == (0, 0)
        ends = "The table of flows is flows.parquet\nThe table of links is links.parquet\n"
        assert streamed.stdout == plain.stdout + ends
        assert streamed.stderr == plain.stderr
    assert "stopped at their time limit" in streamed.stderr
    assert pq.read_metadata(tmp_path / "flows.parquet").num_rows == 16
    assert pq.read_metadata(tmp_path / "links.parquet").num_rows > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_command_stops_at_once_and_leaves_nothing(tmp_path: Path, number: int) -> None:
    words = ["compare", "ethernet", "--duration", "3000s", "-o", "x.parquet"]
    stop_at_once(words, tmp_path, number)
