"""Start-ups that are Python classes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from conftest import flows

import slowstart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Command

MODULE = "own_start_up"
DOUBLING = """
class Doubling:
    def __init__(self, smss, initial_window):
        self.smss = smss

    def on_ack(self, ack, window):
        return ack.delivered
"""


def test_a_class_that_doubles_is_slow_start(module: Callable[[str], str]) -> None:
    own = f"cubic+{module(DOUBLING)}:Doubling"
    ours, builtin = flows(own, "cubic+standard", size="10 MB")
    assert ours.pop("algorithm") == own
    builtin.pop("algorithm")
    for flow in (ours, builtin):
        flow.pop("name", None)
    assert ours == builtin
    assert ours["slow_start_exit"]["reason"] == "loss"


def test_every_method_and_every_return_value(module: Callable[[str], str]) -> None:
    name = module("""
        from slowstart.startup import Exit, Set

        class Careful:
            pacing_rate = None

            def __init__(self, smss, initial_window):
                self.target, self.sent, self.smss = 40 * smss, 0, smss
                assert (smss, initial_window) == (1448, 14480)

            def on_sent(self, sent):
                self.sent += sent.size
                self.pacing_rate = 8_000_000 if self.sent < 20 * self.smss else None

            def on_delivery(self, ack, window):
                assert window.ssthresh is None and ack.latest_rtt_ns >= ack.min_rtt_ns > 0
                if window.cwnd >= self.target:
                    return Exit(window.cwnd, window.cwnd)
                if window.cwnd == 30 * self.smss:
                    return Set(35 * self.smss)

            def on_ack(self, ack, window):
                return self.smss

            def on_congestion(self, kind, now_ns):
                raise AssertionError(kind)
    """)
    (flow,) = flows(f"reno+{name}:Careful+plain")
    assert flow["algorithm"] == f"reno+{name}:Careful+plain"
    assert flow["completed"]
    assert flow["slow_start_exit"]["reason"] == "decision"
    assert flow["slow_start_exit"]["cwnd_bytes"] == 40 * 1448


def test_the_same_seed_gives_the_same_result(module: Callable[[str], str]) -> None:
    own = f"cubic+{module(DOUBLING)}:Doubling"
    scenarios = slowstart.compare("lte", [own, "cubic"], size="1 MB", runs=3)
    assert slowstart.run(scenarios).to_json() == slowstart.run(scenarios).to_json()


def test_an_error_in_a_class_is_one_sentence_with_its_line(module: Callable[[str], str]) -> None:
    name = module("""
        class Broken:
            def __init__(self, smss, initial_window):
                self.count = 0

            def on_ack(self, ack, window):
                self.count += 1
                return ack.delivered // (20 - self.count)
    """)
    with pytest.raises(slowstart.RunError) as caught:
        flows(f"cubic+{name}:Broken")
    message = str(caught.value)
    assert message == (
        f"{name}:Broken: {name}.py:8, in on_ack: ZeroDivisionError: "
        "integer division or modulo by zero"
    )
    # One failure does not affect later runs.
    assert flows("cubic+standard")[0]["completed"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("-1", "the window growth must be a whole number from 0 to 2^50"),
        ("1.5", "the window growth must be a whole number from 0 to 2^50"),
        ("'many'", "the window growth must be a whole number from 0 to 2^50"),
        ("Set(-5)", "cwnd must be a whole number from 0 to 2^50"),
        ("Exit(14480, 1 << 60)", "ssthresh must be a whole number from 0 to 2^50"),
    ],
)
def test_invalid_return_values(module: Callable[[str], str], answer: str, said: str) -> None:
    name = module(f"""
        from slowstart.startup import Exit, Set

        class Odd:
            def __init__(self, smss, initial_window):
                pass

            def on_ack(self, ack, window):
                return {answer}
    """)
    with pytest.raises(slowstart.RunError) as caught:
        flows(f"cubic+{name}:Odd")
    assert str(caught.value) == f"{name}:Odd: ValueError: {said}"


def test_other_classes_are_rejected(module: Callable[[str], str]) -> None:
    name = module("class Empty:\n    pass\n\nnumber = 3\n")
    for algorithm, said in [
        (f"cubic+{name}:Missing", f"the module `{name}` has no class `Missing`"),
        (f"cubic+{name}:number", f"the module `{name}` has no class `number`"),
        (f"cubic+{name}:Empty", f"`{name}:Empty` is not a start-up: it has no method"),
        ("cubic+nowhere_to_be:Found", "there is no start-up and no module `nowhere_to_be`"),
        ("cubic+search:version", "option `version` has no value"),
        (f"bbr+{name}:Empty", "is a monolithic congestion control and stands alone"),
    ]:
        with pytest.raises(slowstart.InputError, match=r"^[^\n]*$") as caught:
            slowstart.compare("wired", algorithm, size="1 MB")
        assert said in str(caught.value)


def test_a_module_that_cannot_be_loaded_is_rejected(module: Callable[[str], str]) -> None:
    name = module("import os\nraise KeyError('key')\n")
    with pytest.raises(slowstart.InputError) as caught:
        slowstart.compare("wired", f"cubic+{name}:Any", size="1 MB")
    assert f"the module `{name}` cannot be loaded: {name}.py:2" in str(caught.value)


def test_the_command_accepts_a_class(command: Command, tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(DOUBLING)
    words = ("compare", "wired", "-a", "cubic+my_module:Doubling", "-a", "cubic", "--size", "1MB")
    done = command(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cubic+my_module:Doubling" in done.stdout


def test_the_command_reports_an_error_in_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(DOUBLING.replace("ack.delivered", "ack.delivred"))
    done = command("compare", "wired", "-a", "cubic+my_module:Doubling", "--size", "1MB")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "my_module.py:7, in on_ack: AttributeError" in done.stderr
    done = command("compare", "wired", "-a", "cubic+my_modul:Doubling", "--size", "1MB")
    assert done.returncode == 2
    assert "no module `my_modul`" in done.stderr


HALVING = """
class Halving:
    def __init__(self, smss, initial_window, *, divisor=1):
        self.divisor = divisor

    def on_ack(self, ack, window):
        return ack.delivered // self.divisor
"""


def test_a_class_accepts_options(module: Callable[[str], str]) -> None:
    own = f"cubic+{module(HALVING)}:Halving"
    plain, same, slower = flows(own, f"{own}:divisor=1", f"{own}:divisor=4")
    assert plain["fct_s"] == same["fct_s"] < slower["fct_s"]
    assert slower["algorithm"] == f"{own}:divisor=4"
    for options, words in (
        ("divsor=4", r"no option `divsor` \(it takes: divisor\)"),
        ("divisor", "write option=value"),
        ("divisor=1,divisor=2", "twice"),
    ):
        with pytest.raises(slowstart.InputError, match=words):
            slowstart.compare("wired", f"{own}:{options}", size="1 MB")


def test_a_file_names_a_class(module: Callable[[str], str]) -> None:
    own = f"cubic+{module(DOUBLING)}:Doubling"
    text = f'[path]\npreset = "wired"\n[[flow]]\nalgorithm = "{own}"\nsize = "2 MB"\n'
    found = json.loads(slowstart.run(slowstart.Scenario.from_toml(text)).to_json())
    (flow,) = found["runs"][0]["flows"]
    assert flow["algorithm"] == own
    assert flow["fct_s"] == flows(own)[0]["fct_s"]
    with pytest.raises(slowstart.InputError, match=r"has no class `Missing`"):
        slowstart.Scenario.from_toml(text.replace(":Doubling", ":Missing"))
