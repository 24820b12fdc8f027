"""A study on a user's file of Tmix connection vectors: what it replays, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

from slowstart import InputError, studies

# Forty connections of one request in 200 s.
VECTORS = "".join(
    f"SEQ {5_000_000 * number} 1 1 {number}\nm 1460 1460\n> 400\nt 20000\n< {size}\n"
    for number in range(40)
    for size in [2_000 + 1_000 * number]
)
STUDY = """title = "A study"
document = "none"
summary = "One sentence."
minutes = { full = 1, quick = 1 }
[[experiment]]
name = "web"
about = "What it is."
runs = { full = 4, quick = 2 }
[experiment.scenario]
duration = "2 s"
path = { rate = "1 Gbit/s", rtt = "20 ms" }
traffic = [{ kind = "synthetic", load = "0.4 %", mean = "20 kB", requests = 2 }]
[experiment.grid]
"traffic.algorithm" = ["cubic", "reno"]
[[experiment]]
name = "flows"
about = "What it is."
[experiment.scenario]
path = { rate = "10 Mbit/s", rtt = "20 ms" }
flow = [{ algorithm = "cubic", size = "1 MB" }]
"""
CLAIMS = """[[claim]]
id = "carried"
where = "page 1"
words = "Words."
experiment = "web"
select = { algorithm = "cubic" }
table = "links"
metric = "packets"
statistic = "mean"
expected = { low = 1 }
reason = "because"
[[claim]]
id = "other"
where = "page 1"
words = "Words."
experiment = "flows"
metric = "fct_s"
expected = { low = 0 }
reason = "because"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "study.toml").write_text(STUDY, encoding="utf-8")
    (place / "claims.toml").write_text(CLAIMS, encoding="utf-8")
    (place / "README.md").write_text("Choices.\n", encoding="utf-8")
    (tmp_path / "trace.cvec").write_text(VECTORS, encoding="utf-8")
    return place


def connections(definition: str) -> list[Any]:
    """The connections of the only traffic of a scenario."""
    (traffic,) = json.loads(definition)["path"]["traffic"]
    return list(traffic["kind"]["Exchanges"]["Recorded"]["connections"])


def test_it_replays_the_file_and_gives_no_verdict(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.cvec"
    mine = studies.load(folder, tmix=file)
    found = mine.run(tmp_path / "out", quick=True)
    by_name = {each.claim.name: each for each in found.verdicts}
    assert by_name["carried"].word == "cannot-test"
    assert by_name["carried"].estimate is not None
    assert by_name["carried"].reason == "no verdict: measured on the connections of trace.cvec"
    assert by_name["other"].reason == "the experiment flows does not replay connection vectors"
    # Run n of each algorithm has the n-th order of the file's responses.
    jobs = mine.experiments["web"].jobs("simulated", quick=True)
    assert [each.chosen for each in jobs] == [(0,), (1,), (0,), (1,)]
    first, second, other, _ = (each.scenario.definition() for each in jobs)
    assert "41000" in first
    assert len(connections(first)) == 40
    assert connections(first) == connections(other) != connections(second)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert mine.replay is not None
    assert mine.replay.said in page.replace("&#39;", "'")
    document = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert document["tmix"]["sha256"] == mine.replay.sha256
    assert not found.equal_runs
    again = studies.load(folder, tmix=file).run(tmp_path / "again", quick=True)
    assert again.document() == found.document()


def test_it_says_where_the_orders_are_equal(folder: Path, tmp_path: Path) -> None:
    # A part of the file has 500 Mbit, and the file has 7.
    text = STUDY.replace("1 Gbit/s", "10 Mbit/s").replace("0.4 %", "20 %")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    found = studies.load(folder, tmix=tmp_path / "trace.cvec").run(quick=True)
    (said,) = found.equal_runs
    assert said.startswith("2 of 2 cells of web replay the file in the same order")


def test_without_it_the_study_has_its_own_workload(folder: Path) -> None:
    found = studies.load(folder).run(quick=True)
    assert [each.word for each in found.verdicts] == ["agrees", "agrees"]
    assert "tmix" not in found.document()


def test_another_content_is_another_run_and_folder(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.cvec"

    def key() -> str:
        (job, *_) = studies.load(folder, tmix=file).experiments["web"].jobs("simulated", quick=True)
        return job.key

    before = key()
    studies.load(folder, tmix=file).run(tmp_path / "out", quick=True)
    assert key() == before
    file.write_text(VECTORS.replace("< 2000\n", "< 2001\n"), encoding="utf-8")
    assert key() != before
    with pytest.raises(InputError, match="holds another study"):
        studies.load(folder, tmix=file).run(tmp_path / "out", quick=True)


REFUSED = {
    "nothing.cvec": (None, "cannot read the connection vectors"),
    "empty.cvec": ("", "the file has no connection"),
    "words.cvec": ("hello\n", "expected a line SEQ, CONC, S or C"),
    "short.cvec": ("SEQ 0 1 1 1\n> 400\n", "start at once"),
    "large.cvec": ("#" * 4_000_001, "at most 4 MB"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_file_is_refused(command: Command, folder: Path, tmp_path: Path, name: str) -> None:
    content, reason = REFUSED[name]
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    out = tmp_path / "out"
    result = command("study", str(folder), "--tmix", str(tmp_path / name), "-o", str(out))
    assert result.returncode == 2
    assert reason in result.stderr
    assert name in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--only", "flows"], "the experiment flows does not replay connection vectors"),
        (["-n", "4"], "at most 3 runs"),
        (["--seal"], "--seal runs nothing"),
        (["--calibrate"], "--traces and --tmix"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    command: Command, folder: Path, tmp_path: Path, words: list[str], reason: str
) -> None:
    out, file = tmp_path / "out", tmp_path / "trace.cvec"
    result = command("study", str(folder), "--tmix", str(file), "-o", str(out), *words)
    assert result.returncode == 2
    assert reason in result.stderr
    assert not out.exists()


def test_a_study_without_such_traffic_is_refused(folder: Path, tmp_path: Path) -> None:
    text = STUDY.replace('kind = "synthetic"', 'kind = "http10"').replace(", requests = 2", "")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="leave out --tmix"):
        studies.load(folder, tmix=tmp_path / "trace.cvec")
