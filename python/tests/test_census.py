"""The command ``census``: tables, counts, interruption, broken files, archives."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from slowstart import InputError
from slowstart._native import analyze_file
from slowstart.analysis import census as analysis
from slowstart.commands.cli import invoke

SCENARIO = """
[path]
preset = "wired"
[[flow]]
algorithm = "cubic+hystart"
size = "4 MB"
[[flow]]
algorithm = "reno+standard"
size = "4 MB"
start = "6 s"
[[flow]]
algorithm = "reno+standard"
size = "20 kB"
start = "12 s"
"""
SOCKET = b"ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 cwnd:10\n"
LOG = b"1700000000.5\n" + SOCKET + b"1700000001.5\n" + SOCKET


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures in a folder of folders, an archive, and three files that are no capture."""
    made = tmp_path_factory.mktemp("census")
    scenario = made / "scenario.toml"
    scenario.write_text(SCENARIO)
    captures = made / "captures"
    (captures / "2026" / "09").mkdir(parents=True)
    first = captures / "a.pcapng"
    assert invoke(["export", str(scenario), "--vantage", "sender", "-o", str(first)]) == 0
    for number in range(4):
        (captures / "2026" / "09" / f"{number}.pcapng.gz").write_bytes(
            gzip.compress(first.read_bytes(), 1, mtime=0)
        )
    with tarfile.open(captures / "logs.tgz", "w:gz") as archive:
        for name, content in (("ss.txt", LOG), ("words.txt", b"nothing")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (captures / "README").write_text("no capture\n")
    (captures / "cut.pcapng.gz").write_bytes(gzip.compress(first.read_bytes())[:50_000])
    (captures / "nowhere.pcap").symlink_to("absent")
    (captures / ".hidden.pcapng").write_bytes(b"not read")
    return captures


def contents(folder: Path) -> dict[str, bytes]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


def test_each_connection_has_a_row_as_analyze_describes_it(folder: Path, tmp_path: Path) -> None:
    file = folder / "a.pcapng"
    analysis.census([file], tmp_path / "out")
    rows = analysis.table(tmp_path / "out").collect().sort("start_unix_s").to_dicts()
    report = json.loads(analyze_file(file))
    found = sorted(report["connections"], key=lambda each: each["start_unix_s"])
    assert len(rows) == len(found) == 3
    for row, each in zip(rows, found, strict=True):
        same = ("sender", "receiver", "bytes", "segments", "start_unix_s", "duration_s", "rounds",
                "vantage", "goodput_bps", "initial_window_bytes")  # fmt: skip
        assert {key: row[key] for key in same} == {key: each[key] for key in same}
        assert row["verdict_reason"] == each["verdict"]["reason"]
        assert row["verdict_rule"] == each["verdict"]["rule"]
        assert row["rtt_min_ms"] == each["rtt_ms"][0]
        exit_ = each["verdict"]["exit"] or {}
        assert row["exit_time_s"] == exit_.get("time_s")
        assert row["exit_cwnd_bytes"] == exit_.get("cwnd_bytes")
        assert (row["cannot_tell_because"] is None) == (row["verdict_reason"] != "cannot-tell")
    assert rows[0]["first_packet"] == 1
    reasons = [row["verdict_reason"] for row in rows]
    assert reasons[:2] == ["heuristic", "loss"]


def test_broken_files_are_counted_and_do_not_stop_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert invoke(["census", str(folder), "-o", str(out), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found == json.loads((out / analysis.SUMMARY).read_text())
    files = found["files"]
    # Five captures, a cut one, two members, a text and a link that leads nowhere.
    assert (files["read"], files["broken"], files["noted"]) == (10, 3, 1)
    named = {Path(each["file"]).name for each in found["broken"]}
    assert named == {"README", "nowhere.pcap", "logs.tgz:words.txt"}
    assert files["formats"] == {"pcapng": 6, "ss": 1}
    rows = analysis.table(out).collect()
    assert found["connections"] == rows.height
    with_data = rows.filter(pl.col("bytes") > 0)
    shares = found["with_data"]["reasons"]
    assert found["with_data"]["connections"] == with_data.height
    for reason, share in shares.items():
        count = with_data.filter(pl.col("verdict_reason") == reason).height
        assert share["connections"] == count
        low, high = share["ci95"]
        assert low <= share["fraction"] <= high
    why = with_data["cannot_tell_because"].drop_nulls().value_counts().rows()
    assert {name: share["connections"] for name, share in found["cannot_tell"].items()} == dict(why)
    for groups in (found["by_rtt_ms"], found["by_size_bytes"]):
        assert sum(group["connections"] for group in groups) <= with_data.height
    loss = with_data.filter(pl.col("verdict_reason") == "loss")["exit_time_s"]
    median = found["exits"]["loss"]["time_s"]["quantiles"]["0.5"]
    assert loss.min() * 31 / 32 <= median <= loss.max() * 33 / 32  # type: ignore[operator]
    assert {each.name for each in out.glob("*.svg")} == {"reasons.svg", "exits.svg", "groups.svg"}


def test_the_bytes_are_the_same_with_any_number_of_threads(folder: Path, tmp_path: Path) -> None:
    for threads in (1, 2, 5):
        analysis.census([folder], tmp_path / str(threads), threads=threads)
    assert contents(tmp_path / "1") == contents(tmp_path / "2") == contents(tmp_path / "5")


KILLED = """
import os, sys, threading
from slowstart.analysis.census import census
def kill():
    # As soon as a part is there.
    while True:
        try:
            there = os.listdir(sys.argv[2] + "/connections")
        except FileNotFoundError:
            continue
        if any(each[0] != "." for each in there):
            os.kill(os.getpid(), 9)
threading.Thread(target=kill, daemon=True).start()
census([sys.argv[1]], sys.argv[2], threads=1)
"""


def test_a_census_without_some_parts_continues_with_the_same_bytes(
    folder: Path, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    analysis.census([folder], whole)
    parts = len(list((whole / "connections").iterdir()))
    assert parts > 1
    # A part that is half written, and one that has no table yet.
    analysis.census([folder], killed)
    (killed / analysis.SUMMARY).unlink()
    (killed / "connections" / "00001.parquet").rename(killed / "connections" / ".00001.parquet")
    with (killed / "connections" / ".00001.parquet").open("r+b") as half:
        half.truncate(100)
    (killed / "files" / "00001.json").write_text("{")
    before = (killed / "connections" / "00000.parquet").stat().st_mtime_ns
    analysis.census([folder], killed)
    assert contents(killed) == contents(whole)
    assert (killed / "connections" / "00000.parquet").stat().st_mtime_ns == before


def test_a_process_that_is_killed_leaves_what_is_complete(folder: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    analysis.census([folder], whole)
    command = [sys.executable, "-c", KILLED, str(folder), str(killed)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.returncode == -signal.SIGKILL, process.stderr
    assert not (killed / analysis.SUMMARY).exists()
    analysis.census([folder], killed)
    assert contents(killed) == contents(whole)


def test_wrong_inputs_and_folders_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(sentence: str, *words: str) -> None:
        assert invoke(["census", *words]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1

    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    refused("there is no file in this folder", str(tmp_path / "empty"), "-o", str(out))
    refused("No such file", str(tmp_path / "absent"), "-o", str(out))
    (tmp_path / "empty" / "words").write_text("nothing")
    refused("not a pcap", str(tmp_path / "empty"), "-o", str(out))
    assert not out.exists()
    refused("something other than a census", str(folder), "-o", str(tmp_path))
    assert invoke(["census", str(folder / "a.pcapng"), "-o", str(out), "--no-figures", "-q"]) == 0
    assert capsys.readouterr().out == ""
    kept = contents(out)
    refused("of other files", str(folder), "-o", str(out))
    assert contents(out) == kept
    with pytest.raises(InputError, match="threads"):
        analysis.census([folder / "a.pcapng"], tmp_path / "new", threads=0)


def test_two_processes_do_not_write_to_one_folder(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    analysis.census([folder / "a.pcapng"], out)
    lock = os.open(out, os.O_RDONLY)
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with pytest.raises(InputError, match="another census"):
            analysis.census([folder / "a.pcapng"], out)
    finally:
        os.close(lock)


def test_the_result_may_lie_within_the_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pcapng").write_bytes((folder / "a.pcapng").read_bytes())
    began = time.monotonic()
    for _ in range(2):
        found = analysis.census([tmp_path / "in"], tmp_path / "in" / "out")
        assert found["files"]["read"] == 1
    assert time.monotonic() - began < 20


def test_quantiles_come_from_bins() -> None:
    values = [0.01 * (1.01**step) for step in range(500)]
    bins: dict[int, int] = {}
    for value in values:
        place = _bin(value)
        bins[place] = bins.get(place, 0) + 1
    for part in (0.05, 0.5, 0.95):
        exact = values[int(part * len(values))]
        assert analysis.quantile(bins, part * len(values)) == pytest.approx(exact, rel=1 / 32)
    assert analysis.distribution({}) is None


def _bin(value: float) -> int:
    """As ``bin`` of tally.rs: by search in the edges."""
    low, high = 0, 2047 * 32
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if analysis.edge(middle) <= value else (low, middle)
    return low
