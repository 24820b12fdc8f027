"""The command: its output, its files, and its exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Command, stop_at_once
from rich.console import Console
from typer.testing import CliRunner

from slowstart.commands.cli import COMMANDS, GROUPS, invoke, program
from slowstart.report import definitions, tables

LIBRARIES = ("matplotlib", "numpy", "pandas", "polars", "pyarrow", "jinja2", "scipy")
HEAVY = (*LIBRARIES, "rich.table")


@pytest.mark.parametrize("words", [[], *([each] for each in (*COMMANDS, *GROUPS))])
def test_help_has_examples(words: list[str]) -> None:
    result = CliRunner().invoke(program(), [*words, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"slowstart {' '.join(words)}".strip() in result.output


@pytest.mark.parametrize(
    ("words", "shown", "light"),
    [
        (["--help"], "compare", HEAVY),
        (["compare", "--help"], "--size", HEAVY),
        (["list"], "cubic", LIBRARIES),
        (["compare", "wired", "-a", "cubic", "--size", "100 kB", "--json"], '"format"', HEAVY),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_nothing_heavy_is_imported(words: list[str], shown: str, light: tuple[str, ...]) -> None:
    code = (
        f"import sys; from slowstart.commands import cli; cli.invoke({words!r});"
        f"sys.stderr.write(' '.join(m for m in {light!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert shown in done.stdout


def test_a_command_imports_no_other() -> None:
    code = (
        "import sys; from slowstart.commands import cli; cli.invoke(['list', 'paths']);"
        "sys.stderr.write(' '.join(m for m in sys.modules if m.startswith('slowstart.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stderr.split()}
    assert loaded & {module for module, _, _ in COMMANDS.values()} == {"cli"}


def test_without_arguments_it_names_three_things_to_try(command: Command) -> None:
    done = command()
    assert (done.returncode, done.stderr) == (0, "")
    tried = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  slow")]
    assert tried == ["compare", "analyze", "list"]
    assert set(tried) <= set(COMMANDS)
    assert "slowstart --help" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell: str) -> None:
    words = {"bash": ("COMP_WORDS", "slowstart comp"), "zsh": ("_TYPER_COMPLETE_ARGS",
             "slowstart comp"), "fish": ("_TYPER_COMPLETE_ARGS", "slowstart comp")}  # fmt: skip
    name, given = words[shell]
    environment = {**os.environ, "_SLOWSTART_COMPLETE": f"complete_{shell}", name: given,
                   "COMP_CWORD": "1", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}  # fmt: skip
    code = "import sys; sys.argv = ['slowstart']; from slowstart.commands.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "compare" in done.stdout, done
    assert "evaluate" not in done.stdout


def test_version(command: Command) -> None:
    printed = command("--version").stdout
    assert re.fullmatch(r"slowstart \d+\.\d+\.\d+\n", printed)
    module = [sys.executable, "-m", "slowstart", "--version"]
    assert subprocess.run(module, capture_output=True, text=True, check=True).stdout == printed


def test_a_comparison_prints_a_table_for_each_path(command: Command, path_file: Path) -> None:
    done = command("compare", "wired", path_file.name, "-a", "cubic+search", "--size", "1MB")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("cubic+search") == 2
    assert "50.0 Mbit/s, base RTT 100 ms" in done.stdout
    assert "20.0 Mbit/s, base RTT 40.0 ms" in done.stdout


def test_json_is_one_document_with_the_right_numbers(command: Command) -> None:
    done = command(
        "compare", "wired", "-a", "reno", "-a", "cubic", "--size", "1 MB", "-n", "3", "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["format"] == 2
    # Nothing is random here, so one run of each algorithm stands for three.
    assert len(document["runs"]) == 2
    assert [row["algorithm"] for row in document["summary"]] == ["reno+standard", "cubic+hystart"]
    for run in document["runs"]:
        (flow,) = run["flows"]
        assert flow["completed"]
        assert flow["bytes_acked"] == 1_000_000
        # At most nine round trips, and at least the transmission time.
        assert 0.1 + 8e6 / 50e6 < flow["fct_s"] < 1.0


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_threads(command: Command) -> None:
    words = ("compare", "lte", "-a", "bbr", "-a", "cubic+search", "--size", "2MB", "-n", "4")
    one, two, again = (
        command(*words, "--json", "--threads", threads).stdout for threads in ("1", "2", "2")
    )
    assert one == two == again
    other = command(*words, "--json", "--seed", "9").stdout
    assert json.loads(other)["runs"][0]["flows"] != json.loads(one)["runs"][0]["flows"]


def test_several_flows_start_one_after_the_other(command: Command) -> None:
    done = command(
        "compare", "wired", "-a", "reno", "--size", "1MB", "--flows", "3", "--stagger", "200ms",
        "--json",
    )  # fmt: skip
    flows = json.loads(done.stdout)["runs"][0]["flows"]
    assert [flow["start_s"] for flow in flows] == [0, 0.2, 0.4]


def test_run_takes_a_scenario_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        '[path]\npreset = "wired"\nloss = "0.01 %"\n'
        '[[flow]]\nname = "first"\nalgorithm = "cubic"\nsize = "1 MB"\n'
        '[[flow]]\nname = "second"\nalgorithm = "reno"\nsize = "1 MB"\nstart = "100 ms"\n'
    )
    done = command("run", "two.toml", "-n", "2", "--seed", "5", "--json")
    document = json.loads(done.stdout)
    assert [run["seed"] for run in document["runs"]] == [5, 6]
    assert [row["name"] for row in document["summary"]] == ["first", "second"]
    table = command("run", "two.toml").stdout
    assert "first" in table
    assert "second" in table


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_tables_fit_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tables, "console", lambda: Console(width=width, highlight=False))
    monkeypatch.setattr(tables, "is_piped", lambda: False)
    monkeypatch.setattr(definitions, "_width", lambda: width)
    file = tmp_path / "busy.toml"
    file.write_text(
        '[path]\nrate = "20 Mbit/s"\nrtt = "50 ms"\n[[traffic]]\nkind = "web"\nload = "30 %"\n'
    )
    assert invoke(["compare", str(file), "-a", "cubic+hystart++", "--size", "1 MB", "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    # Without space for a table, each row is a paragraph, with all values.
    for word in ("cubic+hystart++", "goodput", "capacity", "none", "web", "offered"):
        assert word in shown
    assert invoke(["study"]) == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    for word in ("Westwood+,", "HSDPA,", "search-thesis", "quick"):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= width


def test_a_run_stopped_at_its_limit_is_reported(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    file.write_text(
        'runs = 2\ntime_limit = "3 s"\n[path]\nrate = "1 Mbit/s"\nrtt = "100 ms"\n'
        'loss = "0.01 %"\n[[flow]]\nalgorithm = "reno"\nsize = "1 MB"\n'
    )
    done = command("run", str(file))
    assert done.returncode == 0
    assert done.stderr == "slowstart: 2 of 2 runs over slow were stopped at their time limit, 3 s\n"
    # A flow with a duration is not expected to complete.
    assert command("compare", "wired", "-a", "reno", "--duration", "2 s").stderr == ""


@pytest.mark.parametrize("topic", ["algorithms", "paths"])
def test_list_has_all_topics(command: Command, topic: str) -> None:
    names = [entry["name"] for entry in json.loads(command("list", topic, "--json").stdout)[topic]]
    shown = command("list", topic).stdout
    assert {"algorithms": "hystart++", "paths": "geo"}[topic] in names
    assert all(name in shown for name in names)


def test_list_shows_the_provenance(command: Command) -> None:
    found = json.loads(command("list", "algorithms", "--json").stdout)["algorithms"]
    shown = command("list", "algorithms").stdout
    assert {"from the standard", "from the paper"} <= {entry["provenance"] for entry in found}
    assert all(entry["provenance"] in shown for entry in found)


def test_list_selects_algorithms_by_the_year_of_their_source(command: Command) -> None:
    def names(*words: str) -> list[str]:
        done = command("list", "algorithms", "--json", *words)
        return [entry["name"] for entry in json.loads(done.stdout)["algorithms"]]

    recent = names("--since", "2026")
    assert "rapid-start" in recent
    # Liu et al. 2007 and RFC 7661; Ha and Rhee 2011; RFC 2018 would be no year.
    assert not {"jump-start", "hystart", "standard", "abc"} & set(recent)
    assert set(recent) < set(names("--since", "2007")) < set(names())


def test_list_knows_years_of_algorithms_alone(command: Command) -> None:
    done = command("list", "paths", "--since", "2026")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--since is for algorithms; paths have no year" in done.stderr


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    run = f"{sys.executable} -c 'from slowstart.commands.cli import main; main()'"
    many = "compare wired --size 2MB --json"
    for words in ("list algorithms", "list studies", "list scenarios --json", many, "--help"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {run} {words} | head -c 1"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_run_stops_at_once_and_leaves_nothing(tmp_path: Path, number: int) -> None:
    words = ["compare", "ethernet", "--duration", "3000s", "-o", "out", "--threads", "1"]
    stop_at_once(words, tmp_path, number)


def test_the_hosts_at_both_ends_count_in_the_base_rtt(command: Command, tmp_path: Path) -> None:
    groups = """
        [[hosts]]
        name = "servers"
        at = "left"
        rate = "1 Gbit/s"
        delay = ["1 ms", "12 ms"]
        [[hosts]]
        name = "clients"
        at = "right"
        rate = "1 Gbit/s"
        delay = ["3 ms", "88 ms"]
    """
    head = '[path]\nrate = "10 Mbit/s"\ndelay = "0 s"\n'
    (tmp_path / "dumbbell.toml").write_text(head + groups)
    done = command("path", "dumbbell.toml")
    assert "10.0 Mbit/s, base RTT 8.00 to 200 ms, BDP 10.0 kB to 250 kB" in done.stdout


def test_the_help_lists_the_commands_as_the_whole_program_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["--help"]) == 0
    shown = capsys.readouterr().out
    program()(args=["--help"], prog_name="slowstart", standalone_mode=False)
    assert shown == capsys.readouterr().out
