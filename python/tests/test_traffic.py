"""Background traffic: in documents, tables and reports; rejected on kernels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import slowstart

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

BUSY = """
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
reverse.rate = "5 Mbit/s"

[[traffic]]
kind = "web"
load = "35 %"
warm_up = "2 s"
list_flows = true

[[traffic]]
kind = "bulk"
name = "upload"
direction = "reverse"
"""


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    file = tmp_path / "busy.toml"
    file.write_text(BUSY)
    return file


def test_every_algorithm_gets_the_same(busy: Path) -> None:
    scenarios = slowstart.compare(str(busy), ["cubic", "bbr"], size="2 MB", runs=2, seed=3)
    result = slowstart.run(scenarios)
    document = json.loads(result.to_json())
    for each in document["scenario"]["scenarios"]:
        assert each["flows"][0]["start_s"] == each["path"]["warm_up_s"] == 2.0
        assert [other["name"] for other in each["path"]["traffic"]] == ["web", "upload"]
    by_run: dict[int, list[list[tuple[float, int]]]] = {}
    for run in document["runs"]:
        web = run["traffic"][0]
        assert web["started"] == len(web["flows"]) > 0
        started = [(flow["start_s"], flow["size_bytes"]) for flow in web["flows"]]
        by_run.setdefault(run["run"], []).append(started)
    for cubic, bbr in by_run.values():
        both = min(len(cubic), len(bbr))
        assert cubic[:both] == bbr[:both]
    assert by_run[0][0][:9] != by_run[1][0][:9]

    table = pl.DataFrame(result.traffic())
    assert table["traffic"].to_list() == ["web", "upload"] * 4
    assert table["started"].to_list() == [
        each["started"] for run in document["runs"] for each in run["traffic"]
    ]
    assert table["flows"].unique().sort().to_list() == ["bbr", "cubic+hystart"]


def test_there_is_none_by_default(small: slowstart.Result) -> None:
    assert len(small.traffic()) == 0
    assert all("traffic" not in run for run in json.loads(small.to_json())["runs"])


def test_it_is_shown_and_reported(command: Command, tmp_path: Path, busy: Path) -> None:
    done = command("compare", str(busy), "-a", "cubic", "-a", "reno", "--size", "1 MB", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "background" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    beside = [line[1] for line in lines if line[:1] == ["web"]]
    assert beside == ["cubic+hystart", "reno+standard"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<td>upload</td>") == 2
    assert len(pl.read_parquet(tmp_path / "out" / "traffic.parquet")) == 4
    assert len(pl.read_parquet(tmp_path / "out" / "flows.parquet")) == 2
    plain = command("compare", "wired", "-a", "cubic", "--size", "100 kB")
    assert "background" not in plain.stdout


def test_an_error_has_its_line(command: Command, busy: Path) -> None:
    busy.write_text(BUSY.replace('load = "35 %"', 'load = "35 %"\narrivals = "3 /s"'))
    done = command("compare", str(busy))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("busy.toml:10:1: [[traffic]] takes load or arrivals, not both\n")


@pytest.mark.usefixtures("right")
def test_kernels_reject_it(command: Command, busy: Path, tmp_path: Path) -> None:
    words = ("compare", str(busy), "-a", "cubic", "--size", "1 MB", "--stack", "linux", "-o", "out")
    done = command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'slowstart: traffic `web`: `kind = "web"` is not supported on the kernel: background '
        "traffic of this kind is available in simulations only\n"
    )
    assert not (tmp_path / "out").exists()
    done = command("emulate", str(busy), "--", "true")
    assert done.returncode == 2
    message = "`[[traffic]]` is not supported on an emulated path: background traffic is available"
    assert message in done.stderr
