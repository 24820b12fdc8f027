"""picoquic and quicly with our C tables, where the environment names their sources.

SLOWSTART_PICOQUIC and SLOWSTART_QUICLY are folders as `make picoquic` and `make quicly` take them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
# 50 Mbit/s, 100 ms, buffers of 1 and 4 BDP, 20 MB.
SHALLOW, DEEP = 413, 1652


class Line(NamedTuple):
    """What a transfer printed."""

    reason: str
    window: int
    packets: int
    dropped: int
    whole: str


class Stack(NamedTuple):
    """A stack that is built."""

    source: str
    program: str
    own: str

    def call(self, algorithm: str, buffer: int) -> subprocess.CompletedProcess[str]:
        words = [self.program, self.source, algorithm, "50", "100", str(buffer), "20000000"]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    def run(self, algorithm: str, buffer: int = DEEP) -> Line:
        done = self.call(algorithm, buffer)
        assert done.returncode == 0, done.stderr
        words = done.stdout.split()[1:]
        found = dict(zip(words[::2], words[1::2], strict=True))
        assert found["received"] == "20000000"
        window, packets, dropped = (int(found[key]) for key in ("window", "packets", "dropped"))
        return Line(found["reason"], window, packets, dropped, done.stdout)


@pytest.fixture(scope="module", params=["picoquic", "quicly"])
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    name: str = request.param
    variable = f"SLOWSTART_{name.upper()}"
    source = os.environ.get(variable)
    if not source:
        pytest.skip(f"{variable} names no folder with the source of {name}")
    words = [str(ROOT / "stacks/transfer"), name, source, str(tmp_path_factory.mktemp(name))]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return Stack(source, built.stdout.strip(), {"picoquic": "newreno", "quicly": "reno"}[name])


def test_equal_arguments_give_equal_lines(stack: Stack) -> None:
    assert stack.run("cubic+search").whole == stack.run("cubic+search").whole


def test_standard_slow_start_ends_where_the_queue_is_full(stack: Stack) -> None:
    """One BDP of 412 packets and the buffer fit, and the loss is found one round later: at twice
    that. The simulated TCP leaves at 1657 segments with 413 packets of buffer."""
    for buffer in (SHALLOW, DEEP):
        line = stack.run("reno+standard", buffer)
        assert line.reason == "loss"
        assert line.packets == pytest.approx(2 * (412 + buffer), rel=0.03)


def test_search_and_hystart_pp_leave_before_the_loss(stack: Stack) -> None:
    standard = stack.run("cubic+standard")
    search = stack.run("cubic+search")
    assert search.reason == "search"
    assert search.packets < 0.75 * standard.packets
    assert search.dropped < 0.5 * standard.dropped
    hystart_pp = stack.run("cubic+hystart++")
    assert hystart_pp.reason in {"css-rounds", "loss"}
    assert hystart_pp.packets < 0.75 * standard.packets


def test_the_stacks_own_controllers_are_still_its_own(stack: Stack) -> None:
    assert stack.run(f"own:{stack.own}").reason == "stack"


@pytest.mark.parametrize("algorithm", ["xcp", "cubic+halfback", "cubic+suss", "cubic+serch"])
def test_what_a_stack_cannot_do_is_refused(stack: Stack, algorithm: str) -> None:
    done = stack.call(algorithm, SHALLOW)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert algorithm in done.stderr
