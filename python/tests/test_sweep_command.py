"""The command ``slowstart sweep``: kills, shards, status, repeated runs, clusters, figures."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import slowstart
from slowstart.commands.cli import invoke
from slowstart.sweeps import Archive, against
from slowstart.sweeps import figures as drawing
from slowstart.sweeps.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = [sys.executable, "-c", "from slowstart.commands.cli import main; main()", "sweep"]
FILE = """\
runs = 150
[scenario.path]
rtt = "20 ms"
buffer = "1 bdp"
loss = "0.5 %"
[[scenario.flow]]
size = "3 MB"
[grid]
"flow.algorithm" = ["cubic+search", "reno"]
"path.rate" = ["20 Mbit/s", "80 Mbit/s"]
"""
SMALL = FILE.replace("runs = 150", "runs = 3").replace("3 MB", "100 kB")
STARTUP = """\
class Slow:
    def __init__(self, smss, initial_window, part=2):
        self.part = part

    def on_ack(self, ack, window):
        if FAILS and self.part == 4:
            raise ValueError("no fourth part")
        return ack.delivered // self.part
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def written(folder: Path, text: str = SMALL) -> Path:
    (folder / "s.toml").write_text(text)
    return folder


def table_bytes(folder: Path) -> bytes:
    return (folder / "flows.parquet").read_bytes()


def test_kills_change_nothing_and_no_stored_run_is_repeated(tmp_path: Path) -> None:
    written(tmp_path, FILE)
    assert command(tmp_path, "s.toml", "-o", "whole").returncode == 0
    chance = random.Random(1)
    killed = 0
    for _ in range(3):
        process = subprocess.Popen([*COMMAND, "s.toml", "-o", "killed", "-q"], cwd=tmp_path)
        runs = tmp_path / "killed" / "runs"
        while not list(runs.glob("*.runs")) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.15))
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed > 0
    assert command(tmp_path, "s.toml", "-o", "killed").returncode == 0
    archive = Archive(tmp_path / "killed" / "runs")
    archive.refresh()
    assert sum(len(record.runs()) for record in archive.records) == len(archive.index()) == 600
    assert table_bytes(tmp_path / "killed") == table_bytes(tmp_path / "whole")


def test_the_last_shard_writes_the_table(tmp_path: Path) -> None:
    written(tmp_path)
    first = command(tmp_path, "s.toml", "--shard", "1/2")
    assert first.stdout == "Part 1 of 2 is complete. The sweep has 6 of 12 runs.\n"
    assert not (tmp_path / "sweep-s" / "flows.parquet").exists()
    status = json.loads(command(tmp_path, "status", "sweep-s", "--json").stdout)
    assert (status["done"], status["missing"], status["failed"]) == (6, 6, 0)
    assert status["left_s"] > 0
    assert command(tmp_path, "s.toml", "--shard", "2/2").returncode == 0
    assert "12 of 12" in command(tmp_path, "status", "s.toml").stdout
    whole = command(tmp_path, "s.toml", "-o", "whole")
    assert whole.returncode == 0
    assert table_bytes(tmp_path / "sweep-s") == table_bytes(tmp_path / "whole")


def test_csv_is_the_table(tmp_path: Path) -> None:
    done = command(written(tmp_path), "s.toml", "--csv")
    assert pl.read_csv(done.stdout.encode())["fct_s"].to_list() == (
        pl.read_parquet(tmp_path / "sweep-s" / "flows.parquet")["fct_s"].to_list()
    )


def test_show_prints_a_script_that_repeats_the_run(tmp_path: Path) -> None:
    table = slowstart.sweep(written(tmp_path) / "s.toml", folder=tmp_path / "out").table
    row = table.row(7, named=True)
    script = command(tmp_path, "show", f"{row['key']}:{row['seed']}", "out").stdout
    assert "algorithm = reno, rate = 20 Mbit/s" in script
    entry = f"{sys.executable} -c 'from slowstart.commands.cli import main; main()' run"
    script = script.replace("slowstart run", entry) + " --json"
    script = script.replace("-n 1\n", "-n 1")
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, check=True)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["seed"] == row["seed"]
    assert run["flows"][0]["fct_s"] == row["fct_s"]
    assert "no run with the key" in command(tmp_path, "show", "0123456789", "out").stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "name one sweep file"),
        (("nosuch.toml",), "nosuch.toml"),
        (("s.toml", "--shard", "3/2"), "--shard 3/2"),
        (("s.toml", "--csv", "--json"), "--json works with status and --worst"),
        (("status", "s.toml", "--csv"), "runs nothing"),
        (("show", "s.toml"), "needs a key"),
        (("s.toml", "--on", "scheduler"), "write the address"),
        (("s.toml", "-o", "s.toml"), "not a folder"),
        (("status", "."), "not the folder of a sweep"),
        (("s.toml", "-n", "0"), "--runs"),
    ],
)
def test_bad_arguments_are_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], word: str
) -> None:
    done = command(written(tmp_path), *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert word in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_scheduler_that_does_not_answer_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from slowstart.sweeps import cluster as module

    monkeypatch.setattr(module, "_PATIENCE_S", 0.5)
    monkeypatch.chdir(written(tmp_path))
    assert invoke(["sweep", "s.toml", "--on", "tcp://127.0.0.1:9"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no Dask scheduler answers" in printed.err
    assert printed.err.count("\n") == 1


def test_startups_in_python_with_options_are_values(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("FAILS = False\n" + STARTUP)
    text = SMALL.replace('"reno"', '"cubic+mine:Slow", "cubic+mine:Slow:part=4"')
    done = command(written(tmp_path, text), "s.toml", "--csv")
    assert done.returncode == 0, done.stderr
    medians = pl.read_csv(done.stdout.encode()).group_by("algorithm").agg(pl.col("fct_s").median())
    times = dict(medians.iter_rows())
    assert times["cubic+search"] < times["cubic+mine:Slow"] < times["cubic+mine:Slow:part=4"]
    # A change of the class is another run.
    (tmp_path / "mine.py").write_text("FAILS = True\n" + STARTUP)
    failed = command(tmp_path, "s.toml")
    assert failed.returncode == 1
    assert "mine:Slow:part=4: mine.py:8, in on_ack: ValueError: no fourth part" in failed.stderr
    assert "6 of 18 runs failed" in failed.stderr
    status = json.loads(command(tmp_path, "status", "s.toml", "--json").stdout)
    assert (status["done"], status["failed"]) == (12, 6)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers on this machine."""
    pytest.importorskip("distributed")
    note = folder / "scheduler.json"
    module = [sys.executable, "-m"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begun = [
        subprocess.Popen(
            [*module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
             "--no-dashboard", "--scheduler-file", str(note)], **quiet,
        )
    ]  # fmt: skip
    try:
        while not note.exists():
            assert begun[0].poll() is None
            time.sleep(0.05)
        address = json.loads(note.read_text())["address"]
        begun += [
            subprocess.Popen(
                [*module, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny",
                 "--no-dashboard", "--local-directory", str(folder / f"worker-{number}")],
                **quiet,
            )
            for number in range(workers)
        ]  # fmt: skip
        yield address, begun[1:]
    finally:
        for process in begun:
            process.kill()
            process.wait()


def test_a_cluster_makes_the_same_bytes_even_if_a_worker_is_killed(tmp_path: Path) -> None:
    written(tmp_path, FILE)
    (tmp_path / "mine.py").write_text("FAILS = False\n" + STARTUP)
    with cluster(tmp_path, workers=2) as (address, workers):
        process = subprocess.Popen(
            [*COMMAND, "s.toml", "-o", "far", "-q", "--on", address], cwd=tmp_path
        )
        while not list((tmp_path / "far" / "runs").glob("*.runs")) and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None
        workers[0].kill()
        assert process.wait(120) == 0
        text = SMALL.replace('"reno"', '"cubic+mine:Slow"')
        written(tmp_path, text)
        done = command(tmp_path, "s.toml", "-o", "far-python", "-q", "--on", address)
        assert done.returncode == 0, done.stderr
    assert command(tmp_path, "s.toml", "-o", "near-python", "-q").returncode == 0
    assert table_bytes(tmp_path / "far-python") == table_bytes(tmp_path / "near-python")
    written(tmp_path, FILE)
    assert command(tmp_path, "s.toml", "-o", "near", "-q").returncode == 0
    assert table_bytes(tmp_path / "far") == table_bytes(tmp_path / "near")


def test_a_worker_of_another_version_is_refused() -> None:
    from slowstart.sweeps import cluster as module

    class Client:
        def wait_for_workers(self, *_: object, **__: object) -> None:
            pass

        def run(self, *_: object, **__: object) -> dict[str, Any]:
            return {"tcp://a": module.versions(), "tcp://b": ("0.0.1", "other")}

    with pytest.raises(slowstart.InputError, match=r"tcp://b has slowstart 0\.0\.1"):
        module._check(Client(), "tcp://s")


def test_arrays_have_the_keys_as_dimensions(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    done = slowstart.sweep(written(tmp_path) / "s.toml")
    arrays = done.to_xarray()
    assert dict(arrays.sizes) == {"algorithm": 2, "rate": 2, "run": 3}
    row = done.table.row(10, named=True)
    found = arrays["fct_s"].sel(algorithm=row["algorithm"], rate=row["rate_bps"], run=row["run"])
    assert float(found) == row["fct_s"]


GRIDS: dict[str, tuple[dict[str, Any], int, str]] = {
    "words": ({"flow.algorithm": ["cubic", "reno"]}, 1, "completion time"),
    "one key": ({"path.rate": ["10 Mbit/s", "20 Mbit/s"]}, 1, "completion time over rate"),
    "two keys": (
        {"path.rate": ["10 Mbit/s", "20 Mbit/s"], "path.rtt": ["5 ms", "10 ms"]},
        1,
        "completion time over rate and RTT",
    ),
    "three keys": (
        {
            "path.rate": ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"],
            "path.rtt": ["5 ms", "10 ms"],
            "path.buffer": ["1 bdp", "2 bdp"],
        },
        1,
        "completion time over rate and RTT",
    ),
    "four keys": (
        {
            "path.rate": ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"],
            "path.rtt": ["5 ms", "10 ms"],
            "path.buffer": ["1 bdp", "2 bdp"],
            "flow.initial_window": [4, 10],
        },
        4,
        "over all values of the other keys",
    ),
}


@pytest.mark.parametrize("kind", GRIDS)
def test_the_number_of_keys_chooses_the_figure(kind: str) -> None:
    grid, count, title = GRIDS[kind]
    tree = {
        "runs": 2,
        "scenario": {
            "path": {"rate": "10 Mbit/s", "rtt": "10 ms", "buffer": "1 bdp", "loss": "1 %"},
            "flow": [{"algorithm": "cubic", "size": "50 kB"}],
        },
        "grid": grid,
    }
    done = slowstart.sweep(tree)
    drawn = drawing.draw(done.definition, done.table, ["fct_s"])
    assert len(drawn) == count
    assert title in (drawn[0].figure.get_suptitle() or "").replace("\n", " ")
    labels = " ".join(each.get_xlabel() + each.get_ylabel() for each in drawn[0].figure.axes)
    if kind != "words":
        assert "rate (Mbit/s)" in labels
    assert "completion time (s)" in labels


def test_ratios_to_a_baseline_are_those_of_runs_with_the_same_seed() -> None:
    tree = {
        "runs": 6,
        "baseline": "reno",
        "scenario": {
            "path": {"rate": "10 Mbit/s", "buffer": "1 bdp", "loss": "1 %"},
            "flow": [{"size": "50 kB"}],
        },
        "grid": {
            "flow.algorithm": ["cubic+hystart", "reno"],
            "path.rate": ["10 Mbit/s", "20 Mbit/s"],
            "path.rtt": ["5 ms", "10 ms"],
        },
    }
    done = slowstart.sweep(tree)
    # Twice as fast in every run, so that every interval excludes 1.
    slow = pl.col("algorithm") != "cubic+hystart"
    table = done.table.sort("algorithm", "rate_bps", "rtt_s", "run")
    base = table.filter(slow)["fct_s"].to_numpy()
    table = table.with_columns(fct_s=pl.Series([*(base / 2), *base]))
    found = against.ratios(done.definition, table, "fct_s", "reno")
    assert found["fct_s"].to_list() == pytest.approx([0.5] * 24)
    drawn = {each.name: each for each in drawing.draw(done.definition, table, ["fct_s"])}
    assert list(drawn) == ["fct_s", "fct_s-lines", "fct_s-ratio"]
    ratio = drawn["fct_s-ratio"]
    marks = [line for axes in ratio.figure.axes for line in axes.lines if line.get_marker() == "o"]
    assert len(marks) == 4
    assert "excludes 1" in ratio.caption


def test_a_baseline_is_a_value_of_a_swept_key(tmp_path: Path) -> None:
    done = command(written(tmp_path), "s.toml", "--baseline", "cubic+serch")
    assert done.returncode == 2
    assert "the baseline cubic+serch is no value of a swept key" in done.stderr
    assert not (tmp_path / "sweep-s").exists()
    written(tmp_path, f'baseline = "vegas"\n{SMALL}')
    done = command(tmp_path, "s.toml")
    assert done.returncode == 2
    assert "s.toml:1: the baseline vegas is no value" in done.stderr


def test_the_report_shows_the_sweep(tmp_path: Path) -> None:
    done = command(written(tmp_path), "s.toml")
    assert done.returncode == 0
    page = (tmp_path / "sweep-s" / "report.html").read_text()
    assert page.count("<img") == 1
    assert "path.rate" in page
    assert "4\N{NO-BREAK SPACE}points" in page
    names = sorted(each.name for each in (tmp_path / "sweep-s" / "figures").iterdir())
    assert names == ["fct_s.svg"]
    # A second run of the command runs nothing, and writes the same report.
    again = command(tmp_path, "s.toml")
    assert again.stdout == done.stdout
    assert (tmp_path / "sweep-s" / "report.html").read_text() == page


def test_a_sweep_opened_by_its_folder_is_the_same(tmp_path: Path) -> None:
    text = f'about = "{"long " * 30_000}"\n{SMALL}'
    done = slowstart.sweep(written(tmp_path, text) / "s.toml", folder=tmp_path / "out", runs=2)
    again = Sweep.open(tmp_path / "out")
    assert again.status() == done.status()
    assert again.table.equals(done.table)
