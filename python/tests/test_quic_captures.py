"""Captures of QUIC stacks, and what ``slowstart analyze`` sees of them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from slowstart import stacks
from slowstart._native import Scenario, analyze_file, quic_packets
from slowstart.analysis import census, quic_truth, truth
from slowstart.commands.cli import invoke

SCENARIO = """
seed = 40
[path]
preset = "wired"
[[flow]]
algorithm = "cubic"
size = "12 MB"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "quinn.toml"
    file.write_text(SCENARIO)
    return file


def capture(scenario: Path, vantage: str) -> Path:
    file = scenario.with_suffix(f".{vantage}.pcapng")
    words = ["export", str(scenario), "--stack", "quinn", "-a", "own", "--vantage", vantage]
    assert invoke([*words, "-o", str(file)]) == 0
    return file


def analyzed(file: Path) -> dict[str, Any]:
    (found,) = json.loads(analyze_file(file))["connections"]
    assert found["encrypted"]
    return dict(found)


def test_the_exit_of_quinn_is_that_of_its_controller(scenario: Path) -> None:
    placed = stacks.placed(Scenario.from_toml(SCENARIO), "quinn", "own")
    (known,) = json.loads(quic_packets(placed, run=0))
    left = known["result"]["slow_start_exit"]
    found = analyzed(capture(scenario, "sender"))
    assert found["vantage"] == "sender"
    verdict = found["verdict"]
    assert verdict["rule"] == "reported-gap"
    assert verdict["exit"]["time_s"] == pytest.approx(left["time_s"], abs=0.01)
    assert verdict["exit"]["cwnd_bytes"] == pytest.approx(left["cwnd_bytes"], rel=0.01)
    assert found["rtt_ms"][0] == pytest.approx(known["result"]["rtt_min_ms"], rel=0.01)
    between = analyzed(capture(scenario, "middle"))
    assert between["vantage"] == "middle"
    assert between["verdict"]["exit"]["cwnd_bytes"] == pytest.approx(left["cwnd_bytes"], rel=0.02)


def unspun(file: Path) -> Path:
    """The capture with the spin bit of every packet cleared."""
    packets, place = bytearray(file.read_bytes()), 0
    while place < len(packets):
        kind, length = struct.unpack_from("<II", packets, place)
        # Of an enhanced packet block, 28 bytes of fields and the headers of IP and UDP come first.
        first = place + 28 + 20 + 8
        if kind == 6 and not packets[first] & 0x80:
            packets[first] &= ~0x20
        place += length
    made = file.with_suffix(".unspun.pcapng")
    made.write_bytes(packets)
    return made


def test_without_a_spin_bit_acks_are_counted(scenario: Path) -> None:
    placed = stacks.placed(Scenario.from_toml(SCENARIO), "quinn", "own")
    (known,) = json.loads(quic_packets(placed, run=0))
    left = known["result"]["slow_start_exit"]
    for vantage in ("sender", "middle"):
        found = analyzed(unspun(capture(scenario, vantage)))
        assert (found["vantage"], found["rtt_ms"]) == (vantage, None)
        verdict = found["verdict"]
        assert verdict["rule"] == "reported-gap"
        assert verdict["exit"]["time_s"] == pytest.approx(left["time_s"], abs=0.05)
        assert verdict["exit"]["cwnd_bytes"] == pytest.approx(left["cwnd_bytes"], rel=0.02)
    found = analyzed(unspun(capture(scenario, "receiver")))
    assert found["verdict"]["rule"] == "no-spin-bit"


def test_a_census_counts_connections(scenario: Path, tmp_path: Path) -> None:
    made = census.census([capture(scenario, "sender")], tmp_path / "result", threads=1)
    assert (made["quic_connections"], made["connections"]) == (1, 0)


def test_at_the_receiver_a_loss_does_not_show(scenario: Path) -> None:
    found = analyzed(capture(scenario, "receiver"))
    assert found["vantage"] == "receiver"
    assert found["verdict"]["rule"] == "unseen-loss"


def test_what_needs_tcp_says_so(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = capture(scenario, "sender")
    capsys.readouterr()
    assert invoke(["analyze", str(file), "--identify"]) == 0
    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if "10.77.0.2:443 (QUIC)" in line)
    # What QUIC repeats is hidden.
    assert row.endswith("\t-")
    assert invoke(["analyze", str(file), "-a", "cubic+search", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "only TCP is simulated" in document["connections"][0]["cost"]["why"]


def test_other_datagrams_are_skipped(tmp_path: Path) -> None:
    def packet(payload: bytes) -> bytes:
        udp = struct.pack(">HHHH", 443, 5000, 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                         bytes(4), bytes(4))  # fmt: skip
        return struct.pack("<IIII", 1, 0, 20 + len(udp), 20 + len(udp)) + ip + udp

    # A short header alone has no mark of QUIC, and a query of DNS has none.
    file = tmp_path / "udp.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    file.write_bytes(head + packet(b"\x40" + bytes(30)) + packet(bytes(12)) + packet(b""))
    report = json.loads(analyze_file(file))
    assert (report["records"], report["skipped"], report["connections"]) == (3, 3, [])


def test_the_error_is_measured() -> None:
    case = quic_truth.Case("wired", "quinn", "own:cubic", "12 MB", "sender", 40)
    row = quic_truth.observe(case)
    assert row is not None
    assert (row["truth"], row["verdict"]) == ("loss", "loss")
    assert abs(row["window_error"]) < 0.01
    assert truth.score([row])["all"]["right"] == 1
    assert len({each.vantage for each in quic_truth.cases(quick=True, runs=1)}) == 3


def test_flows_with_an_odd_seed_are_held_out() -> None:
    rows = [
        row
        for seed in (40, 41)
        if (row := quic_truth.observe(
            quic_truth.Case("wired", "quinn", "own:cubic", "2 MB", "sender", seed)
        )) is not None
    ]  # fmt: skip
    scored = quic_truth.score(rows)
    assert scored["all"]["connections"] == 1
    assert {each["half"] for each in scored["groups"]} == {"training", "held out"}
    assert sum(each["connections"] for each in scored["groups"]) == 2
