"""A result folder: its contents, and that it is complete or absent."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Command

from slowstart import InputError, RunError
from slowstart.report.redraw import KINDS
from slowstart.store.output import output_folder

WORDS = ("-a", "cubic+search", "-a", "bbr", "--size", "500 kB", "-n", "6", "-q")


def test_the_folder_is_complete_and_self_contained(command: Command, tmp_path: Path) -> None:
    done = command("compare", "wired", "leo", *WORDS, "-o", "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    out = tmp_path / "out"
    figures = ["completion-by-size", "distributions", "evolution-leo", "evolution-wired"]
    figures += ["exit-cost", "exit-shares", "throughput-delay"]
    tables = [
        "completion_by_size.csv",
        "exit_cost.csv",
        "flows.parquet",
        "links.parquet",
        "pairs.csv",
        "report.html",
        "result.json",
        "summary.csv",
        "tables",
    ]
    expected = [f"{name}.svg" for name in figures] + tables
    assert sorted(each.name for each in out.iterdir()) == sorted(expected)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    kinds = {"pairs", "startups", "summary"}
    assert {each.name for each in (out / "tables").iterdir()} == {
        f"{kind}-{path}.{suffix}"
        for kind in kinds
        for path in ("wired", "leo")
        for suffix in ("csv", "tex")
    }

    document = json.loads((out / "result.json").read_text())
    flows = pl.read_parquet(out / "flows.parquet")
    assert len(flows) == len(document["runs"]) == 24
    assert flows["fct_s"].to_list() == [run["flows"][0]["fct_s"] for run in document["runs"]]
    assert len(pl.read_csv(out / "summary.csv")) == 4

    page = (out / "report.html").read_text()
    # Each figure once for a wide screen and once for a phone.
    assert page.count("data:image/svg+xml;base64,") == 2 * len(figures)
    assert not re.search(r"https?:|<script|<link|@import|src=\"(?!data:)|url\(", page)
    assert str(tmp_path) not in page
    # Six runs are enough for an interval, and the figures state their number.
    assert re.search(r"\[0\.\d+, 0\.\d+\]", page)


def test_the_same_command_writes_the_same_bytes(command: Command, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert command("compare", "lte", *WORDS, "-o", name).returncode == 0
    files = [each for each in (tmp_path / "one").rglob("*") if each.is_file()]
    assert len(files) > 10
    for file in files:
        other = tmp_path / "two" / file.relative_to(tmp_path / "one")
        assert file.read_bytes() == other.read_bytes(), file.name


def test_timed_flows_and_single_runs_are_drawn_too(command: Command, tmp_path: Path) -> None:
    done = command("compare", "wired", "-a", "reno", "--duration", "1s", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "out/report.html" in done.stdout
    assert (tmp_path / "out" / "throughput-delay.svg").exists()
    # One value has no distribution.
    assert not (tmp_path / "out" / "distributions.svg").exists()


def test_a_scenario_is_written_with_its_traces(command: Command, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(
        'runs = 2\n[path]\npreset = "wired"\nloss = "0.01 %"\n'
        '[[flow]]\nname = "first"\nalgorithm = "cubic"\nsize = "1 MB"\n'
        '[[flow]]\nname = "second"\nalgorithm = "reno"\nsize = "1 MB"\nstart = "100 ms"\n'
    )
    done = command("run", "two.toml", "--traces", "-o", "out", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    traces = pl.read_parquet(tmp_path / "out" / "flow_traces.parquet")
    assert traces.select("run", "flow").unique().height == 4
    assert len(pl.read_parquet(tmp_path / "out" / "link_traces.parquet")) > 1000
    assert len(list((tmp_path / "out").glob("evolution-*.svg"))) == 1


def test_only_an_earlier_result_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for number, text in enumerate(("one", "two"), start=1):
        with output_folder(str(target)) as folder:
            assert folder is not None
            (folder / "result.json").write_text(f'{{"format": {number}, "runs": []}}')
            (folder / text).touch()
    assert sorted(each.name for each in target.iterdir()) == ["result.json", "two"]
    (target / "result.json").write_text('{"format": "a letter"}')
    with pytest.raises(InputError, match="something other"), output_folder(str(target)):
        pass


def test_a_failure_keeps_the_earlier_result(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with output_folder(str(target)) as folder:
        assert folder is not None
        (folder / "result.json").write_text('{"format": 1, "runs": []}')

    def fail() -> None:
        with output_folder(str(target)) as folder:
            assert folder is not None
            (folder / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert [each.name for each in target.iterdir()] == ["result.json"]


def test_a_new_folder_has_the_modes_of_any_folder(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with output_folder(str(tmp_path / "out")):
        pass
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    left = tmp_path / ".out.slowstart-new-abcdefgh"
    left.mkdir()
    (left / "flows.parquet").write_bytes(b"half")
    foreign = tmp_path / ".outlook"
    foreign.mkdir()
    with output_folder(str(tmp_path / "out")) as folder:
        assert folder is not None
        (folder / "result.json").write_text('{"format": 1, "runs": []}')
    assert sorted(each.name for each in tmp_path.iterdir()) == [".outlook", "out"]


def test_the_folder_of_another_process_stays(tmp_path: Path) -> None:
    target = str(tmp_path / "out")
    with output_folder(target) as first:
        assert first is not None
        with output_folder(target) as second:
            assert second is not None
            (second / "result.json").write_text('{"format": 1, "runs": []}')
        assert first.is_dir()
        (first / "result.json").write_text('{"format": 1, "runs": [1]}')
    assert (tmp_path / "out" / "result.json").read_text() == '{"format": 1, "runs": [1]}'


def test_an_earlier_result_is_restored(tmp_path: Path) -> None:
    # Killed between the two renames: the result has only its temporary name.
    earlier = tmp_path / ".out.slowstart-earlier-abcdefgh"
    earlier.mkdir()
    (earlier / "result.json").write_text('{"format": 1, "runs": []}')
    with pytest.raises(RuntimeError), output_folder(str(tmp_path / "out")):
        raise RuntimeError
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("length", [200, 246, 255])
def test_a_long_name_works(tmp_path: Path, length: int) -> None:
    with output_folder(str(tmp_path / ("x" * length))) as folder:
        assert folder is not None
    assert [len(each.name) for each in tmp_path.iterdir()] == [length]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    for error in (OSError(errno.ENOSPC, "x"), ValueError("parquet: No space left on device")):
        name = str(tmp_path / "out")
        with pytest.raises(RunError, match=r"out: no space left"), output_folder(name):
            raise error
        assert list(tmp_path.iterdir()) == []


def test_below_each_figure_is_the_command_that_draws_it(command: Command, tmp_path: Path) -> None:
    done = command("compare", "leo", *WORDS, "--traces", "-o", "out")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    figures = {each.name: each.read_bytes() for each in out.glob("*.svg")}
    page = (out / "report.html").read_text()
    lines = re.findall(r"Draw it again: <code>slowstart ([^<]+)</code>", page)
    assert len(lines) == len(figures)
    assert "plot . evolution --paths leo" in lines
    words = [word for line in lines for word in line.split() if word in KINDS]
    assert sorted(words) == sorted(
        ["completion", "distributions", "evolution", "exit-cost", "exit-shares", "throughput-delay"]
    )
    # One command draws several figures; in the page's folder it gives the same bytes.
    made = command("plot", "out", *words, "-o", "again")
    assert made.returncode == 0, made.stderr
    assert {each.name: each.read_bytes() for each in (tmp_path / "again").iterdir()} == figures
