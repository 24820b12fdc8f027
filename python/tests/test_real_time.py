"""quinn in real time beside virtual time. Most tests need root, as those of the real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

import slowstart
from slowstart import InputError
from slowstart._native import check_real

PATH = '[path]\nrate = "50 Mbit/s"\nrtt = "100 ms"\nbuffer = "1 bdp"\n'
WORDS = ("-a", "cubic+search", "-a", "own", "--size", "5 MB", "--stack", "quinn", "--json")


@pytest.fixture(scope="module")
def real(right: None) -> None:  # noqa: ARG001 (it skips first)
    """Skips the test if this build has no QUIC stack in real time."""
    try:
        check_real([])
    except InputError as error:
        pytest.skip(str(error))


def flows(text: str) -> list[dict[str, Any]]:
    return [run["flows"][0] for run in json.loads(text)["runs"]]


@pytest.mark.usefixtures("real")
def test_the_same_comparison_in_both_clocks(command: Command, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(PATH)
    virtual = command("compare", "w.toml", *WORDS)
    assert virtual.returncode == 0, virtual.stderr
    for _ in range(3):
        done = command("compare", "w.toml", *WORDS, "--clock", "real")
        if done.returncode == 0:
            break
        # No run passed the timing self-check, in three attempts.
        assert done.returncode == 1, done.stderr
        assert "self-check" in done.stderr
    else:
        pytest.skip("host stalled")
    document = json.loads(done.stdout)
    for run in document["runs"]:
        assert (run["stack"], run["stack_version"]) == ("quinn", "0.11.19")
        assert run["clock"] == "real"
        assert run["check"]["valid"] == run["counts"]
        (sent,) = run["sent"]
        assert 0 < sent["calls"] <= sent["datagrams"]
    judged = [run["counts"] for run in document["runs"]]
    assert any(judged)
    pairs = zip(flows(virtual.stdout), flows(done.stdout), judged, strict=True)
    for expected, flow, counts in pairs:
        assert (flow["algorithm"], flow["name"]) == (expected["algorithm"], expected["name"])
        assert flow["completed"]
        assert flow["bytes_acked"] == 5_000_000
        if counts:
            # The last packets may need one round trip more or less.
            assert flow["fct_s"] == pytest.approx(expected["fct_s"], abs=0.1)
            ends = [each["slow_start_exit"] for each in (flow, expected)]
            assert [each["reason"] for each in ends] == ["loss", "loss"]
            assert ends[0]["cwnd_bytes"] == pytest.approx(ends[1]["cwnd_bytes"], rel=0.05)


@pytest.mark.usefixtures("real")
def test_a_scenario_file_with_a_report(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        f'{PATH}[[flow]]\nalgorithm = "cubic+search"\nsize = "500 kB"\n'
    )
    words = ("run", "one.toml", "--stack", "quinn", "--clock", "real", "--force")
    done = command(*words, "--traces", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "Run on quinn 0.11.19 in real time, on Linux" in done.stdout
    out = tmp_path / "out"
    assert set(pl.read_parquet(out / "flows.parquet")["stack"]) == {"quinn"}
    assert len(pl.read_parquet(out / "flow_traces.parquet")) > 10
    assert "Run on quinn 0.11.19 in real time, on Linux" in (out / "report.html").read_text()


@pytest.mark.usefixtures("real")
def test_from_python() -> None:
    made = slowstart.compare("wired", "own", size="200 kB", stack="quinn")
    result = slowstart.run(made, clock="real", force=True)
    (run,) = json.loads(result.to_json())["runs"]
    assert (run["stack"], run["clock"]) == ("quinn", "real")
    assert run["flows"][0]["algorithm"] == "own:cubic"
    plain = slowstart.compare("wired", "cubic", size="200 kB")
    again = slowstart.run(plain, stack="quinn", clock="real", force=True)
    assert json.loads(again.to_json())["runs"][0]["stack"] == "quinn"


TRAFFIC = (
    "`[[traffic]]` is not supported on QUIC stacks in real time: background traffic beside QUIC "
    "stacks is simulated TCP"
)
NAMED = (
    "flow `cubic+search on quinn` names its stack: leave out `stack`, or run the scenario without "
    "--stack"
)


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            '[[traffic]]\nkind = "bulk"\n',
            TRAFFIC,
        ),
        ('stack = "quinn"\n', NAMED),
    ],
)
def test_what_a_scenario_asks_for_in_vain(
    command: Command, tmp_path: Path, more: str, sentence: str
) -> None:
    (tmp_path / "one.toml").write_text(
        f'{PATH}[[flow]]\nalgorithm = "cubic+search"\nsize = "500 kB"\n{more}'
    )
    done = command("run", "one.toml", "--stack", "quinn", "--clock", "real", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"slowstart: {sentence}\n"
    assert not (tmp_path / "out").exists()


ONLY_VIRTUAL = "runs in virtual time only"


@pytest.mark.parametrize(
    ("stacks", "clock", "words"),
    [
        (["simulated"], "real", f"the simulated TCP {ONLY_VIRTUAL}: it has no sockets"),
        (["linux-vm"], "real", f"linux-vm {ONLY_VIRTUAL}: quinn and linux run in real time"),
        (["noq"], "real", "noq runs in virtual time only: of the QUIC stacks, quinn runs in real"),
        (["quinn", "noq"], "real", "in real time a stack runs alone"),
        (["linux"], "virtual", "the running kernel has the real clock only"),
        (["quinn"], "wall", "unknown clock wall: there are virtual and real"),
    ],
)
def test_a_stack_without_the_clock_is_refused(
    command: Command, tmp_path: Path, stacks: list[str], clock: str, words: str
) -> None:
    if stacks == ["noq"]:
        try:
            check_real([])
        except InputError as error:
            words = str(error)
    given = [word for stack in stacks for word in ("--stack", stack)]
    done = command("compare", "wired", "-a", "cubic", *given, "--clock", clock, "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_clock_from_python() -> None:
    plain = slowstart.compare("wired", "cubic", size="1 MB")
    with pytest.raises(InputError, match="the simulated TCP runs in virtual time only"):
        slowstart.run(plain, clock="real")
    with pytest.raises(InputError, match="unknown stack 'real'"):
        slowstart.run(plain, stack="real")
    with pytest.raises(InputError, match="one at a time"):
        slowstart.run(plain, stack="quinn", clock="real", threads=2)
    result = slowstart.run(plain, stack="quinn", clock="virtual")
    assert "clock" not in json.loads(result.to_json())["runs"][0]
