"""``slowstart packetdrill``: reports, refusals and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowstart.commands.cli import invoke

SCRIPTS = Path(__file__).parents[2] / "conformance/packetdrill"
SCRIPT = """
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""
WRITE = "+0 write(4, ..., 2000) = 2000\n"


def _script(folder: Path, name: str, lines: str) -> str:
    path = folder / f"{name}.pkt"
    path.write_text(SCRIPT + lines)
    return str(path)


def test_a_script_that_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _script(tmp_path, "good", WRITE + "+0 > P. 1:2001(2000) ack 1\n")
    assert invoke(["packetdrill", file, "-a", "reno"]) == 0
    assert capsys.readouterr().out == f"{file}: passed (2 packets, 0 assertions)\n"


@pytest.mark.usefixtures("right")
def test_the_kernel_passes_each_script(capsys: pytest.CaptureFixture[str]) -> None:
    status = invoke(["packetdrill", str(SCRIPTS), "--stack", "linux"])
    assert status == 0, capsys.readouterr().out


def test_the_first_difference_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _script(tmp_path, "bad", WRITE + "+0 > P. 1:2002(2001) ack 1\n")
    assert invoke(["packetdrill", file]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{file}:10: +0 > P. 1:2002(2001) ack 1"
    assert printed[1].startswith("  expected: P. 1:2002(2001) ack 1")
    assert printed[2] == "  got:      no packet from 2001 on"
    assert "snd_cwnd 10" in printed[3]


def test_what_is_not_in_scope_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = _script(tmp_path, "good", WRITE)
    bad = _script(tmp_path, "bad", "+0 sendfile(4, 5, [0], 10) = 10\n")
    assert invoke(["packetdrill", good, bad, "--json"]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [report["passed"] for report in document["scripts"]] == [True]
    reason = f"{bad}:9:4: not in scope: the system call sendfile"
    assert document["refused"] == [{"file": bad, "reason": reason}]
    assert reason in captured.err


@pytest.mark.parametrize("name", ["missing.pkt", "."])
def test_files_that_are_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert invoke(["packetdrill", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith("slowstart: ")


def test_an_unknown_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["packetdrill", str(SCRIPTS), "--stack", "bsd"]) == 2
    assert "unknown stack `bsd`" in capsys.readouterr().err


@pytest.mark.usefixtures("right")
def test_streams_on_both_stacks() -> None:
    # Streams that never reach what the simulation does differently
    # (docs/reference/evidence.md, "Streams").
    from slowstart._native import compare_stream

    streams = [("cubic", 400), ("reno", 400), ("nosack", 401), ("nosack", 403), ("ecn", 401),
               ("small-mss", 401), ("small-mss", 403), ("small-mss", 409)]  # fmt: skip
    reports = [json.loads(compare_stream(*each, False)) for each in streams]
    for report in reports:
        assert report["identical"] is not False, report
        assert report["events"] > 10
    if any(report["identical"] is None for report in reports):
        pytest.skip("host stalled")


def test_streams_have_no_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["validate", "geo", "--streams", "1"]) == 2
    assert "--streams has its own paths" in capsys.readouterr().err
