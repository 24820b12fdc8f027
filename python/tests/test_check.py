"""``slowstart check``: rules, baselines, what it writes, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from slowstart.checking import judge, rules, runs
from slowstart.checking.kinds import KINDS, METRICS
from slowstart.commands.cli import invoke

RULES = """\
algorithm = "cubic+search"

[[case]]
name = "wired"
path = "wired"
size = "2 MB"
[case.rules]
completes = true
exit_window_at_least = "0.1 bdp"
loss_at_most = "0 %"
completion_within = "1.5 s"
not_worse = ["completion", "loss"]

[[case]]
name = "slow"
source = "chosen"
[case.scenario.path]
rate = "10 Mbit/s"
rtt = "40 ms"
buffer = "4 bdp"
[[case.scenario.flow]]
algorithm = "cubic"
size = "1 MB"
[case.rules]
completion_within = "1 s"
not_worse = "completion"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "rules.toml"
    made.write_text('baseline = "baseline.json"\n' + RULES)
    assert invoke(["check", str(made), "--record", str(tmp_path / "baseline.json"), "-q"]) == 0
    return made


def verdicts(file: Path, *words: str, status: int = 0) -> list[dict[str, object]]:
    out = file.parent / "check.json"
    assert invoke(["check", str(file), *words, "--json", str(out), "-q"]) == status
    found: list[dict[str, object]] = json.loads(out.read_text())["rules"]
    return found


def test_the_recorded_algorithm_meets_its_own_baseline(file: Path) -> None:
    found = verdicts(file)
    assert {each["outcome"] for each in found} == {"passed"}
    # The rules of both cases, in the order of the file.
    assert [each["line"] for each in found] == [9, 10, 11, 12, 13, 13, 26, 27]


def test_an_algorithm_made_worse_on_purpose_fails(file: Path) -> None:
    found = verdicts(file, "-a", "cubic+limited", status=1)
    failed = [(each["case"], each["rule"]) for each in found if each["outcome"] == "failed"]
    # Limited slow start grows by half a segment for each ACK beyond 100 segments.
    assert failed == [("wired", "not_worse completion")]


def test_a_stack_with_another_algorithm_is_compared_with_the_recorded_one(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["check", str(file), "-a", "cubic+limited"]) == 1
    out = capsys.readouterr().out
    (line,) = (each for each in out.splitlines() if each.startswith("failed"))
    assert line.startswith("failed  wired (simulated, cubic+limited): has no worse completion time")
    assert line.endswith("of cubic+search")
    assert out.splitlines()[-1] == "7 passed, 1 failed, 0 skipped"


def test_a_quic_stack_made_worse_on_purpose_fails(tmp_path: Path) -> None:
    made = tmp_path / "rules.toml"
    text = """\
stack = "quinn"
algorithm = "own"
runs = 6
[[case]]
name = "deep"
size = "20 MB"
path = "deep.toml"
[case.rules]
completes = true
"""
    made.write_text(text)
    (tmp_path / "deep.toml").write_text(
        '[path]\nrate = "50 Mbit/s"\nrtt = "100 ms"\nbuffer = "2000 packets"\n'
    )
    # quinn's receiver closes the connection after 1024 gaps; SEARCH leaves slow start earlier.
    (closed,) = verdicts(made, status=1)
    assert closed["algorithm"] == "own:cubic"
    assert "0 of 6 flows; closed: " in str(closed["sentence"])
    (whole,) = verdicts(made, "-a", "cubic+search")
    assert whole["sentence"] == "delivers all of its data: 6 of 6 flows"


def test_the_same_bytes_each_time_and_for_any_number_of_threads(file: Path) -> None:
    written = []
    for threads in ("1", "2", "2"):
        junit, document = file.parent / "junit.xml", file.parent / "check.json"
        words = ["--junit", str(junit), "--json", str(document), "--threads", threads, "-q"]
        assert invoke(["check", str(file), *words, "-a", "cubic+limited"]) == 1
        written.append((junit.read_bytes(), document.read_bytes()))
    assert written[0] == written[1] == written[2]


def test_junit_has_a_suite_for_each_case_and_a_test_for_each_rule(file: Path) -> None:
    junit = file.parent / "junit.xml"
    assert invoke(["check", str(file), "-a", "cubic+limited", "--junit", str(junit), "-q"]) == 1
    root = ET.parse(junit).getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "8", "1")
    assert [each.get("name") for each in root] == ["wired", "slow"]
    (failure,) = root.iter("failure")
    assert str(failure.get("message")).startswith("has no worse completion time than the baseline")
    assert f"{file}:13: failed" in str(failure.text)


def test_a_rule_fails_one_step_beyond_its_limit(tmp_path: Path) -> None:
    made = tmp_path / "rules.toml"

    def status(limit: str) -> int:
        made.write_text(
            '[[case]]\nname = "a"\npath = "wired"\nsize = "1 MB"\nalgorithm = "reno"\n'
            f'[case.rules]\ncompletion_within = "{limit}"\n'
        )
        return invoke(["check", str(made), "-q"])

    suite = rules.load(str(_written(tmp_path)), rules.Override())
    (outcome,) = runs.execute(runs.jobs(suite), 1, lambda *_: None)
    nanoseconds = round(outcome.runs[0]["flows"][0]["fct_s"] * 1e9)
    assert status(f"{nanoseconds} ns") == 0
    assert status(f"{nanoseconds - 1} ns") == 1


def _written(folder: Path) -> Path:
    made = folder / "one.toml"
    made.write_text(
        '[[case]]\nname = "a"\npath = "wired"\nsize = "1 MB"\nalgorithm = "reno"\n'
        "[case.rules]\ncompletes = true\n"
    )
    return made


def test_a_baseline_allows_its_interval_and_the_margin(tmp_path: Path) -> None:
    made = tmp_path / "rules.toml"
    text = """\
algorithm = "cubic+search"
baseline = "baseline.json"
runs = 12
[[case]]
name = "lte"
path = "lte"
size = "2 MB"
[case.rules]
not_worse = "completion"
"""
    made.write_text(text)
    baseline = tmp_path / "baseline.json"
    assert invoke(["check", str(made), "--record", str(baseline), "-q"]) == 0
    document = json.loads(baseline.read_text())
    value, low, high = document["baseline"][0]["measurements"]["completion"]
    assert low < value < high
    (found,) = verdicts(made)
    assert (found["value"], found["limit"]) == (value, high)
    # An interval that ends below the median is exceeded; a margin allows it.
    document["baseline"][0]["measurements"]["completion"] = [low, low, low]
    baseline.write_text(json.dumps(document))
    verdicts(made, status=1)
    made.write_text(text.replace("[case.rules]", 'margin = "1000 %"\n[case.rules]'))
    verdicts(made)


def test_what_never_happens_is_beyond_every_limit() -> None:
    never = float("inf")
    metric = METRICS["completion"]
    assert judge.measured([1.0, 2.0, never], metric, "median").value == 2.0
    assert judge.measured([1.0, never, never], metric, "median").value == never
    assert judge.amount(never, "s") == "never"
    assert judge.measured([1.0, 2.0, 4.0], metric, "greatest").value == 4.0
    assert judge.measured([0.0, 1.0, 1.0, 0.0], METRICS["early"], "median").value == 0.5


def test_every_kind_of_rule_reads_a_value_with_its_unit(tmp_path: Path) -> None:
    examples = {
        "s": '"9 s"', "1": '"1 %"', "packets": '"2 bdp"', "B": '"1 MB"', "bit/s": '"1 kbit/s"',
        "": "3",
    }  # fmt: skip
    lines = [f"{key} = {examples[METRICS[kind.metric].unit]}" for key, kind in KINDS.items()]
    made = tmp_path / "rules.toml"
    made.write_text(
        '[[case]]\nname = "a"\npath = "wired"\nsize = "20 MB"\nalgorithm = "cubic+standard"\n'
        "[case.rules]\n" + "\n".join(lines) + "\n"
    )
    found = verdicts(made, status=1)
    assert [each["rule"] for each in found] == list(KINDS)
    assert all(each["value"] is not None and each["limit"] is not None for each in found)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('name = "slow"', 'name = "wired"', '15: "wired" is also the name of the case in line 3'),
        ("completes", "completed", "8: unknown key completed; did you mean completes?"),
        ('"1.5 s"', '"1.5 MB"', '11: completion_within: expected a value such as "1.5 s"'),
        ('"1.5 s"', '"1e400 s"', '11: completion_within: expected a value such as "1.5 s"'),
        ('"1.5 s"', "nan", '11: completion_within: expected a value such as "1.5 s"'),
        ('"cubic+search"', '["reno", "reno+standard"]', "1: reno and reno+standard are the same"),
        ('"1.5 s"', "1.5", '11: completion_within: expected a value such as "1.5 s"'),
        ('["completion", "loss"]', '["exit"]', '12: not_worse: "exit" is not known'),
        ('"cubic+search"', '"cubic+serch"', "1: unknown start-up `serch`"),
        ('path = "wired"', 'path = "wird"', "5: wired: "),
        ('rate = "10 Mbit/s"', 'rate = "10 Mbits"', '18: rate = "10 Mbits": unknown unit'),
        ('algorithm = "cubic"', 'algorithm = "cubi"', '21: algorithm = "cubi"'),
        ('path = "wired"', 'path = "wired"\nskip = "not now"', "a case with skip has no path"),
        ('path = "wired"', "", "3: a case needs either path or scenario"),
        ('size = "2 MB"', 'stack = "quin"\nsize = "2 MB"', "6: unknown stack quin"),
        ('size = "2 MB"', 'size = "2 MBit"', "5: wired: "),
        ('source = "chosen"', 'under_test = "x"', '16: under_test: there is no flow "x"'),
    ],
)
def test_wrong_input_is_one_sentence_with_its_line(
    before: str, after: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "rules.toml"
    assert before in RULES
    made.write_text(RULES.replace(before, after, 1))
    junit = tmp_path / "junit.xml"
    words = ["check", str(made), "--record", str(tmp_path / "baseline.json")]
    assert invoke(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"rules.toml:{sentence}" in error or sentence in error
    assert not junit.exists()


def test_a_baseline_of_something_else_is_refused(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = file.parent / "baseline.json"
    file.write_text(file.read_text().replace('size = "2 MB"', 'size = "3 MB"'))
    assert invoke(["check", str(file)]) == 2
    assert "was recorded with another scenario, seed or number of runs" in capsys.readouterr().err
    assert invoke(["check", str(file), "--stack", "quinn"]) == 2
    assert "nothing is recorded of case wired on quinn" in capsys.readouterr().err
    baseline.write_text("{}")
    assert invoke(["check", str(file)]) == 2
    assert "this is not a baseline" in capsys.readouterr().err
    baseline.unlink()
    assert invoke(["check", str(file)]) == 2
    file.write_text(RULES)
    assert invoke(["check", str(file)]) == 2
    assert f"{file}:12: not_worse needs a baseline" in capsys.readouterr().err


def test_shipped_suites_run_by_name(tmp_path: Path) -> None:
    names = ("bbr-draft", "c4", "rfc8867", "satellite", "stack-faults", "startup")
    assert rules.suites() == [f"suite/{name}" for name in names]
    out = tmp_path / "check.json"
    assert invoke(["check", "suite/startup", "-a", "cubic+oracle", "-q"]) == 0
    assert invoke(["check", "suite/bbr-draft", "--json", str(out), "-q"]) == 1
    document = json.loads(out.read_text())
    assert len({each["case"] for each in document["rules"]}) == 22
    assert all(each["source"] for each in document["rules"])
    (failed,) = (each for each in document["rules"] if each["outcome"] == "failed")
    # A finding: over one minute BBRv3 loses a little more than BBR.LossThresh at a policer.
    assert (failed["case"], failed["rule"]) == ("17 a policer", "loss_at_most")
    assert 0.021 < failed["value"] < 0.022


def test_the_ideal_exit_meets_the_satellite_suite_and_hystart_does_not(tmp_path: Path) -> None:
    out = tmp_path / "check.json"
    assert invoke(["check", "suite/satellite", "-a", "cubic+oracle", "-q"]) == 0
    assert invoke(["check", "suite/satellite", "--json", str(out), "-q"]) == 1
    document = json.loads(out.read_text())
    assert len({each["case"] for each in document["rules"]}) == 25
    failed = {each["case"] for each in document["rules"] if each["outcome"] == "failed"}
    # The return link assigns capacity on demand, so the RTT rises without a queue.
    assert failed == {"GEO, the model, 1 MB", "GEO, the model, 20 MB", "GEO, simple form"}


def test_every_case_of_rfc_8867_names_its_section(tmp_path: Path) -> None:
    out = tmp_path / "check.json"
    assert invoke(["check", "suite/rfc8867", "--json", str(out), "-q"]) == 0
    document = json.loads(out.read_text())
    sections = {each["source"].split()[0] for each in document["rules"]}
    assert sections == {f"5.{number}" for number in range(1, 9)}
    (skipped,) = {each["case"] for each in document["rules"] if each["outcome"] == "skipped"}
    assert skipped == "5.8 pause and resume"


def test_known_faults_of_stacks_are_still_there(tmp_path: Path) -> None:
    # If one passes, its stack was mended: then docs/reference/stack-faults.md must say so.
    out = tmp_path / "check.json"
    assert invoke(["check", "suite/stack-faults", "--json", str(out), "-q"]) == 1
    found = {
        (each["case"], each["stack"]): each["outcome"]
        for each in json.loads(out.read_text())["rules"]
    }
    assert found == {
        ("reassembly", "quinn"): "failed",
        ("reassembly", "noq"): "failed",
        ("handshake", "quinn"): "passed",
        ("handshake", "noq"): "failed",
    }
    assert invoke(["check", "suite/stack-faults", "--stack", "simulated", "-a", "cubic", "-q"]) == 0


def test_an_unknown_suite_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "suite/startp"]) == 2
    assert 'no suite "suite/startp"; did you mean suite/startup?' in capsys.readouterr().err


def test_a_case_that_is_meant_for_a_stack_is_skipped_on_others(tmp_path: Path) -> None:
    made = tmp_path / "rules.toml"
    made.write_text(
        '[[case]]\nname = "a"\nstack = "noq"\npath = "wired"\nsize = "1 MB"\nalgorithm = "cubic"\n'
        "[case.rules]\ncompletes = true\n"
    )
    (found,) = verdicts(made, "--stack", "quinn")
    assert (found["outcome"], found["sentence"]) == (
        "skipped", "not run on quinn: it is meant for noq"
    )  # fmt: skip
    (found,) = verdicts(made)
    assert (found["outcome"], found["stack"], found["version"]) == ("passed", "noq", "1.4.0")


def test_it_needs_no_heavy_library(file: Path) -> None:
    heavy = ("matplotlib", "polars", "pyarrow", "jinja2", "numpy", "scipy", "pandas")
    code = (
        f"import sys; from slowstart.commands import cli; cli.invoke(['check', {str(file)!r}]);"
        f"sys.stderr.write(' '.join(m for m in {heavy!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "8 passed, 0 failed, 0 skipped" in done.stdout
