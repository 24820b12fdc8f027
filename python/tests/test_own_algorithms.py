"""Avoidances and congestion controls that are Python classes."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from conftest import flows

import slowstart
from slowstart.store import runs
from slowstart.store.runs import run_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Command

MODULE = "own_algorithm"
RENO = """
class Reno:
    def __init__(self, smss, initial_window):
        self.smss, self.credit = smss, 0

    def on_ack(self, acked, ack, window):
        growth = 0
        if self.credit >= window.cwnd:
            self.credit, growth = 0, self.smss
        self.credit += acked
        segments = self.credit // window.cwnd
        self.credit -= segments * window.cwnd
        return growth + segments * self.smss

    def on_congestion(self, congestion, window):
        self.credit = 0
        return max(window.cwnd // self.smss // 2, 2) * self.smss

    def on_timeout(self):
        self.credit = 0
"""

# Standard slow start, Reno and plain recovery in one.
NEWRENO = """
class NewReno:
    def __init__(self, smss, initial_window):
        self.smss, self.cwnd, self.ssthresh = smss, initial_window, None
        self.credit, self.before = 0, None

    def on_ack(self, ack):
        if ack.phase in ("cwr", "recovery"):
            self.cwnd = self.ssthresh
            return
        if not ack.advanced or not ack.cwnd_limited:
            return
        acked = ack.delivered
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            room = (1 << 50) if self.ssthresh is None else self.ssthresh - self.cwnd
            self.cwnd += min(acked, room)
            acked = max(acked - room, 0)
            if acked == 0:
                return
        growth = 0
        if self.credit >= self.cwnd:
            self.credit, growth = 0, self.smss
        self.credit += acked
        segments = self.credit // self.cwnd
        self.credit -= segments * self.cwnd
        self.cwnd += growth + segments * self.smss

    def on_congestion(self, congestion):
        timeout = congestion.kind == "timeout"
        if not timeout and congestion.phase in ("cwr", "recovery"):
            return
        if not timeout or congestion.first_of_window:
            segments = self.cwnd // self.smss
            kept = (segments // 2 + segments // 4) * self.smss
            self.before = self.cwnd, self.ssthresh and max(self.ssthresh, kept)
            self.ssthresh = max(segments // 2, 2) * self.smss
            self.credit = 0
        self.cwnd = congestion.in_flight + self.smss if timeout else self.ssthresh

    def on_recovery_exit(self, now_ns):
        self.cwnd = self.ssthresh

    def on_undo(self, now_ns):
        if self.before is not None:
            self.cwnd = max(self.cwnd, self.before[0])
            self.ssthresh = self.before[1] and max(self.ssthresh, self.before[1])
            self.before = None
"""

# Sends at the delivery rate, and looks for more every eighth round trip.
STEADY = """
from slowstart.startup import Exit

class Steady:
    def __init__(self, smss, initial_window, *, gain=2):
        self.smss, self.cwnd, self.gain = smss, initial_window, gain
        self.pacing_rate, self.slow_start_exit = None, None
        self.best, self.rounds, self.round_ends, self.flat = 0, 0, 0, 0

    def on_ack(self, ack):
        if ack.snd_una >= self.round_ends:
            self.rounds, self.round_ends = self.rounds + 1, ack.snd_nxt
            self.flat += 1
        rate = ack.delivery_rate
        if rate is not None and rate > self.best:
            if rate > self.best * 5 // 4:
                self.flat = 0
            self.best = rate
        if not self.best:
            return
        if self.slow_start_exit is None and self.flat >= 3:
            self.slow_start_exit = Exit(self.cwnd, self.cwnd, reason="full-pipe",
                measured=self.flat, threshold=3, unit="count")
        searching = self.slow_start_exit is None
        self.pacing_rate = self.best * (3 if searching else 1)
        bdp = self.best * ack.min_rtt_ns // 8_000_000_000
        self.cwnd = max(self.gain * bdp, self.cwnd if searching else 4 * self.smss)

    def on_congestion(self, congestion):
        pass
"""


def traced(algorithm: str, path: str) -> tuple[Any, ...]:
    """All that a run of an algorithm measures, without its name."""
    scenarios = slowstart.compare(path, algorithm, size="5 MB")
    result = slowstart.run(scenarios, traces=True)
    series = pl.DataFrame(result.flow_traces()).drop("scenario", "name", "algorithm", strict=False)
    found = [run["flows"] for run in json.loads(result.to_json())["runs"]]
    for flow in (flow for each in found for flow in each):
        flow.pop("algorithm")
        flow.pop("name", None)
    return json.dumps(found), series.write_csv()


@pytest.mark.parametrize("path", ["wired", "lte", "wifi-weak"])
@pytest.mark.parametrize("startup", ["standard", "hystart", "search", "hystart+++plain"])
def test_reno_in_python_is_reno(module: Callable[[str], str], path: str, startup: str) -> None:
    own = f"{module(RENO)}:Reno+{startup}"
    assert traced(own, path) == traced(f"reno+{startup}", path)


@pytest.mark.parametrize("path", ["wired", "lte", "geo"])
def test_newreno_in_python_is_reno_with_plain_recovery(
    module: Callable[[str], str], path: str
) -> None:
    own = f"{module(NEWRENO)}:NewReno"
    assert traced(own, path) == traced("reno+standard+plain", path)


def test_a_control_sets_its_pace_and_states_its_exit(module: Callable[[str], str]) -> None:
    name = module(STEADY)
    (flow, larger, cubic) = flows(
        f"{name}:Steady", f"{name}:Steady:gain=4", "cubic+standard", size="10 MB"
    )
    assert flow["algorithm"] == f"{name}:Steady"
    assert flow["slow_start_exit"]["reason"] == "full-pipe"
    assert flow["slow_start_exit"]["cwnd_bytes"] % 1448 == 0
    # Paced at the delivery rate: no queue, so no loss and a round-trip time near the base.
    assert flow["segments_lost"] == 0 < cubic["segments_lost"]
    assert flow["rtt_p95_ms"] < cubic["rtt_p95_ms"]
    assert larger["algorithm"] == f"{name}:Steady:gain=4"


def test_a_class_in_both_places(module: Callable[[str], str]) -> None:
    name = module(RENO + "\nclass Half:\n    def __init__(self, smss, initial_window):\n"
                  "        pass\n    def on_ack(self, ack, window):\n"
                  "        return ack.delivered // 2\n")  # fmt: skip
    (flow,) = flows(f"{name}:Reno+{name}:Half+plain")
    assert flow["algorithm"] == f"{name}:Reno+{name}:Half+plain"
    assert flow["completed"]


def test_the_same_seed_gives_the_same_result(module: Callable[[str], str]) -> None:
    name = module(RENO + STEADY)
    own = [f"{name}:Reno+standard", f"{name}:Steady"]
    scenarios = slowstart.compare("lte", own, size="1 MB", runs=3)
    assert slowstart.run(scenarios).to_json() == slowstart.run(scenarios).to_json()


ALL = """
from slowstart.startup import Exit, Set

class Everything:
    seen = set()

    def __init__(self, smss, initial_window):
        self.smss = smss
        self.decided = False

    def on_ack(self, acked, ack, window):
        self.seen.add("on_ack")
        assert 0 < acked <= ack.delivered and ack.delivery_rate is None
        assert ack.phase in ("open", "disorder", "loss"), ack.phase
        # In bytes, as RFC 5681 (equation 3) has it: less than a segment.
        return self.smss * self.smss // window.cwnd

    def on_congestion(self, congestion, window):
        self.seen.add("on_congestion")
        self.seen.add(congestion.kind)
        assert congestion.in_flight <= congestion.snd_nxt
        return window.cwnd // 2

    def on_delivery(self, ack, window):
        self.seen.add("on_delivery")
        assert ack.newly_lost == 0

    def decide(self, ack, window):
        self.seen.add("decide")
        if window.ssthresh is None and window.cwnd >= 40 * self.smss:
            return Exit(window.cwnd, window.cwnd, reason="enough")
        if window.ssthresh is not None and not self.decided:
            self.decided = True
            return Set(window.cwnd + 5 * self.smss)

    def on_recovery_exit(self, window):
        self.seen.add("on_recovery_exit")
        return window.ssthresh - self.smss

    def on_timeout(self):
        self.seen.add("on_timeout")

    def on_undo(self):
        self.seen.add("on_undo")

    def on_idle(self, now_ns, idle_since_ns):
        self.seen.add("on_idle")
        assert now_ns >= idle_since_ns
"""

SMALL = """
[path]
rate = "20 Mbit/s"
rtt = "20 ms"
buffer = "20 packets"
loss = "1 %"

[[flow]]
algorithm = "{}"
size = "8 MB"
"""


def test_every_method_of_an_avoidance(module: Callable[[str], str]) -> None:
    name = module(ALL)
    scenario = slowstart.Scenario.from_toml(SMALL.format(f"{name}:Everything+standard"))
    (run,) = json.loads(slowstart.run(scenario).to_json())["runs"]
    assert run["flows"][0]["completed"]
    (flow,) = flows(f"{name}:Everything+standard")
    assert flow["slow_start_exit"]["reason"] == "enough"
    seen = sys.modules[name].Everything.seen
    assert {"on_ack", "on_congestion", "loss", "on_delivery", "decide", "on_recovery_exit"} <= seen


def test_a_file_names_a_class(module: Callable[[str], str]) -> None:
    name = module(RENO + STEADY)
    for own in (f"{name}:Reno+standard", f"{name}:Steady"):
        scenario = slowstart.Scenario.from_toml(SMALL.format(own))
        (run,) = json.loads(slowstart.run(scenario).to_json())["runs"]
        assert run["flows"][0]["algorithm"] == own
        with pytest.raises(slowstart.InputError, match=r"has no class `Missing`"):
            slowstart.Scenario.from_toml(SMALL.format(f"{name}:Missing"))


def test_a_sweep_takes_classes_and_sees_their_changes(
    module: Callable[[str], str], tmp_path: Path
) -> None:
    name = module(RENO + STEADY)
    own = [f"{name}:Reno+standard", f"{name}:Steady"]
    definition = {
        "scenario": {
            "path": {"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "1 bdp"},
            "flow": [{"algorithm": "cubic", "size": "200 kB"}],
        },
        "grid": {"flow.0.algorithm": [*own, "cubic+search:version=4.0"]},
    }
    done = slowstart.sweep(definition, folder=tmp_path / "runs")
    assert set(done.table["algorithm"]) == {*own, "cubic+search:version=4.0"}
    for algorithm in own:
        (scenario,) = slowstart.compare("wired", algorithm, size="1 MB")
        before = run_key(scenario, "simulated")
        module(RENO + STEADY + f"\n# changed: {algorithm}\n")
        runs._digest.cache_clear()
        assert run_key(scenario, "simulated") != before


def test_each_definition_in_a_notebook_is_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    for _ in range(2):
        exec(RENO, vars(sys.modules["__main__"]))
        (scenario,) = slowstart.compare("wired", "__main__:Reno+standard", size="100 kB")
        assert run_key(scenario, "simulated") == run_key(scenario, "simulated")
        keys.add(run_key(scenario, "simulated"))
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("text", "algorithm", "said"),
    [
        ("class A: pass", "{}:A", "is not a congestion control: it has no method `on_ack(ack)`"),
        ("class A: pass", "{}:A+standard", "is not an avoidance: it has no method `on_ack(acked, "),
        (RENO, "{}:Reno", "as an avoidance it stands in front of a start-up, as in "),
        (RENO, "cubic+{}:Reno", "`on_ack` cannot be called as `on_ack(ack, window)`"),
        (STEADY, "{}:Steady+standard", "as a congestion control it stands alone, as in "),
        (STEADY, "{}:Steady:loss=3", "has no option `loss` (it takes: gain)"),
        ("class A:\n    on_ack = None", "{}:A", "it has no method `on_ack(ack)`"),
        (
            RENO.replace("on_timeout(self)", "on_timeout(self, now)"),
            "{}:Reno+standard",
            "its method `on_timeout` cannot be called as `on_timeout()`",
        ),
        (
            RENO.replace("on_congestion", "on_loss"),
            "{}:Reno+standard",
            "it has no method `on_congestion(congestion, window)`",
        ),
        (RENO, "{}:Other+standard", "has no class `Other`"),
        (RENO, "{}s:Reno+standard", "there is no avoidance and no module "),
        (RENO, "{}s:Reno", "there is no congestion control and no module "),
        (RENO, "{}:Reno+nothing", "unknown start-up `nothing`"),
        (RENO, "bbr+{}:Reno", "is a monolithic congestion control and stands alone"),
    ],
)
def test_other_classes_are_rejected(
    module: Callable[[str], str], text: str, algorithm: str, said: str
) -> None:
    with pytest.raises(slowstart.InputError, match=r"^[^\n]*$") as caught:
        slowstart.compare("wired", algorithm.format(module(text)), size="1 MB")
    assert said in str(caught.value)


CONTROL = """
class Odd:
    def __init__(self, smss, initial_window):
        self.cwnd = initial_window

    def on_ack(self, ack):
        {}

    def on_congestion(self, congestion):
        pass
"""
AVOIDANCE = """
class Odd:
    def __init__(self, smss, initial_window):
        pass

    def on_ack(self, acked, ack, window):
        {}

    def on_congestion(self, congestion, window):
        return {}
"""


@pytest.mark.parametrize(
    ("text", "algorithm", "said"),
    [
        (CONTROL.format("self.cwnd = 1.5"), "{}:Odd", "cwnd must be a whole number from 0"),
        (CONTROL.format("del self.cwnd"), "{}:Odd", "the attribute cwnd is missing"),
        (CONTROL.format("self.pacing_rate = -1"), "{}:Odd", "pacing_rate must be a whole number"),
        (CONTROL.format("self.ssthresh = 'x'"), "{}:Odd", "ssthresh must be a whole number"),
        (
            CONTROL.format("self.slow_start_exit = 'now'"),
            "{}:Odd",
            "TypeError: slow_start_exit must be an Exit or None",
        ),
        (
            CONTROL.format("self.cwnd = self.helper(0)")
            + "\n    def helper(self, value):\n        return 1 // value\n",
            "{}:Odd",
            "own_algorithm.py:13, in helper, called by on_ack: ZeroDivisionError: ",
        ),
        (
            AVOIDANCE.format("return 1.5", "3000"),
            "{}:Odd+standard",
            "the window growth that on_ack returns must be a whole number from 0 to 2^50",
        ),
        (
            AVOIDANCE.format("pass", "None"),
            "{}:Odd+standard",
            "the threshold that on_congestion returns must be a whole number from 0 to 2^50",
        ),
        (
            AVOIDANCE.format("pass", "3000") + "\n    def decide(self, ack, window):\n"
            "        return 14480\n",
            "{}:Odd+standard",
            "TypeError: decide must return a Set, an Exit or None",
        ),
        (
            AVOIDANCE.format("return acked // (ack.now_ns * 0)", "3000"),
            "{}:Odd+standard",
            "own_algorithm.py:7, in on_ack: ZeroDivisionError: ",
        ),
        (
            CONTROL.format("pass").replace("self.cwnd = initial_window", "self.cwnd = 1 // 0"),
            "{}:Odd",
            "own_algorithm.py:4, in __init__: ZeroDivisionError: ",
        ),
    ],
)
def test_an_error_in_a_class_is_one_sentence(
    module: Callable[[str], str], text: str, algorithm: str, said: str
) -> None:
    name = module(text)
    with pytest.raises(slowstart.RunError, match=r"^[^\n]*$") as caught:
        flows(algorithm.format(name), size="10 MB")
    assert str(caught.value).startswith(f"{name}:Odd: ")
    assert said in str(caught.value)
    # One failure does not affect later runs.
    assert flows("cubic+standard")[0]["completed"]


def test_a_start_up_may_set_its_pace_in_init(module: Callable[[str], str]) -> None:
    text = """
        class Paced:
            def __init__(self, smss, initial_window, *, rate=0):
                if rate:
                    self.pacing_rate = rate

            def on_ack(self, ack, window):
                return ack.delivered
    """
    own = f"cubic+{module(text)}:Paced"
    free, paced = flows(own, f"{own}:rate=4000000", size="500 kB")
    assert paced["fct_s"] > 1 > free["fct_s"]


def test_commands_accept_classes(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RENO + STEADY)
    algorithms = ("-a", "mine:Reno+standard", "-a", "Ours=mine:Steady", "-a", "cubic")
    done = command("compare", "wired", *algorithms, "--size", "1MB", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    names = [row["algorithm"] for row in json.loads(done.stdout)["summary"]]
    assert names == ["mine:Reno+standard", "mine:Steady", "cubic+hystart"]
    done = command("compare", "wired", "-a", "mine:Reno", "--size", "1MB")
    assert (done.returncode, done.stdout) == (2, "")
    assert "as in mine:Reno+standard" in done.stderr


def test_the_classes_of_the_guide_run(module: Callable[[str], str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "python.md").read_text()
    part = guide.partition("## Algorithms of your own")[2]
    classes = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert len(classes) == 3
    name = module("\n".join(classes))
    found = flows(
        f"cubic+{name}:Cautious",
        f"{name}:Rise+standard",
        f"{name}:Rise:keep=0.7+{name}:Cautious",
        f"{name}:Steady",
        size="10 MB",
    )
    assert all(each["completed"] for each in found)
    assert [each["slow_start_exit"]["reason"] for each in found[:3]] == ["rise", "loss", "rise"]


LOSSY = SMALL.replace("1 %", "15 %").replace("8 MB", "300 kB")
REORDERED = SMALL.replace(
    'loss = "1 %"', 'reordering = {{ probability = "0.2 %", delay = "40 ms" }}'
)


@pytest.mark.parametrize(
    ("text", "expected"), [(LOSSY, {"on_timeout", "timeout"}), (REORDERED, {"on_undo"})]
)
def test_timeouts_and_mistakes_are_reported(
    module: Callable[[str], str], text: str, expected: set[str]
) -> None:
    name = module(ALL)
    scenario = slowstart.Scenario.from_toml(text.format(f"{name}:Everything+standard"))
    slowstart.run(scenario.with_runs(runs=20))
    assert expected <= sys.modules[name].Everything.seen


@pytest.mark.parametrize("text", [SMALL, LOSSY, REORDERED], ids=["small", "lossy", "reordered"])
@pytest.mark.parametrize(
    ("own", "builtin"),
    [("{}:Reno+hystart", "reno+hystart"), ("{}:NewReno", "reno+standard+plain")],
)
def test_they_are_the_same_where_much_goes_wrong(
    module: Callable[[str], str], text: str, own: str, builtin: str
) -> None:
    name = module(RENO + NEWRENO)

    def measured(algorithm: str) -> list[dict[str, Any]]:
        scenario = slowstart.Scenario.from_toml(text.format(algorithm)).with_runs(runs=10)
        return pl.DataFrame(slowstart.run(scenario).flows()).drop("algorithm", "name").to_dicts()

    assert measured(own.format(name)) == measured(builtin)
