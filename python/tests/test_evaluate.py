"""The scorecard: its table, its numbers, and the command."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import polars as pl
import pytest
from conftest import Command

import slowstart
from slowstart import InputError, Scenario
from slowstart.evaluation import jobs, kernel, leaderboard, scores, table, words
from slowstart.store import runs as stored
from slowstart.studies.store import Store

# Sections of RFC 9743 with criteria.
SECTIONS = [
    *(f"5.1.{each}" for each in range(1, 6)), "5.2", *(f"5.2.{each}" for each in range(1, 4)),
    "5.3.1", "5.3.2", *(f"6.{each}" for each in range(1, 5)),
    *(f"7.{each}" for each in range(1, 12)),
]  # fmt: skip
SCENARIOS = """
[[scenario]]
name = "one"
about = "a transfer"
runs = { full = 3, quick = 2 }
oracle = true
[scenario.base]
path = { rate = "20 Mbit/s", rtt = "40 ms", jitter = "500 us" }
flow = [{ algorithm = "$ALGORITHM", size = "1 MB" }]
[scenario.grid]
"path.buffer" = ["0.5 bdp", "5 bdp"]
[scenario.quick]
buffer = ["5 bdp"]
[[scenario]]
name = "beside"
about = "a flow joins another"
runs = { full = 2, quick = 2 }
windows = [[2, 4]]
share = 10.0
[scenario.base]
duration = "4 s"
path = { rate = "20 Mbit/s", rtt = "40 ms", buffer = "1 bdp", jitter = "500 us" }
[[scenario.base.flow]]
algorithm = "reno"
name = "running"
[[scenario.base.flow]]
algorithm = "$ALGORITHM"
name = "joining"
start = "2 s"
[[scenario]]
name = "alone"
about = "the other"
runs = { full = 2, quick = 2 }
windows = [[2, 4]]
[scenario.base]
duration = "4 s"
path = { rate = "20 Mbit/s", rtt = "40 ms", buffer = "1 bdp", jitter = "500 us" }
flow = [{ algorithm = "reno", name = "running" }]
[[scenario]]
name = "asking"
about = "a flow that asks a router joins another"
runs = { full = 2, quick = 2 }
windows = [[2, 4]]
[scenario.base]
duration = "4 s"
[scenario.base.path]
rate = "20 Mbit/s"
rtt = "40 ms"
buffer = "1 bdp"
jitter = "500 us"
router_support = { kind = "$ROUTER" }
[[scenario.base.flow]]
algorithm = "reno"
name = "running"
[[scenario.base.flow]]
algorithm = "$ALGORITHM"
name = "joining"
start = "2 s"
[scenario.grid.router]
honest = {}
lying = { path = { router_support = { overstate = 4 } } }
"""
CRITERIA = """
[group]
name = "g"
title = "G"
about = "A group."
[[criterion]]
id = "5.1.1"
title = "First"
strength = "MUST"
asks = "Something."
[[criterion.row]]
words = "completion"
scenario = "one"
measure = "completion"
headline = true
stands_out = 0.01
[[criterion.row]]
words = "queue"
scenario = "one"
select = { buffer = "5 bdp" }
measure = "start-up queue"
stands_out = 0.1
[[criterion.row]]
words = "cost"
scenario = "one"
measure = "completion"
against = "oracle"
as = "difference"
stands_out = 0.05
[[criterion.row]]
words = "worst"
scenario = "one"
measure = "completion"
over = "worst"
[[criterion.row]]
words = "harm"
scenario = "beside"
flow = "running"
measure = "rate"
window = "2-4"
against = "alone"
as = "harm"
[[criterion.row]]
words = "late exits"
scenario = "one"
measure = "late exit"
over = "share"
[[criterion.row]]
words = "completion after a late exit"
scenario = "one"
measure = "completion"
among = "late exit"
[[criterion.row]]
words = "harm by a lying router"
scenario = "asking"
flow = "running"
select = { router = "lying" }
measure = "rate"
window = "2-4"
against = "alone"
as = "harm"
[[criterion.row]]
words = "harm by an honest router"
scenario = "asking"
flow = "running"
select = { router = "honest" }
measure = "rate"
window = "2-4"
against = "alone"
as = "harm"
[[criterion.row]]
words = "fairness"
scenario = "beside"
measure = "rate"
window = "2-4"
over = "jain"
[[criterion.row]]
words = "settled"
scenario = "beside"
flow = "joining"
measure = "settled"
limit = 2.0
"""
BAD = '''"""Start-ups that are bad on purpose."""
from slowstart.startup import Exit

class Never:
    """Doubles the window until a loss."""
    def __init__(self, smss, initial_window):
        pass
    def on_ack(self, ack, window):
        return ack.delivered

class AtOnce:
    """Leaves slow start at the first ACK."""
    def __init__(self, smss, initial_window):
        pass
    def on_ack(self, ack, window):
        return Exit(window.cwnd, window.cwnd, reason="at-once")
'''


@pytest.fixture
def small(tmp_path: Path) -> table.Table:
    """A small table."""
    folder = tmp_path / "table"
    (folder / "criteria").mkdir(parents=True)
    (folder / "scenarios.toml").write_text(SCENARIOS)
    (folder / "criteria" / "1.toml").write_text(CRITERIA)
    return table.read(folder)


def scored(
    known: table.Table, folder: Path, names: list[str], *, quick: bool = False, threads: int = 2
) -> scores.Card:
    made = jobs.cells(known, names, quick=quick)
    runs = jobs.execute(made, folder, threads=threads)
    return scores.score(known, runs, names[0], names[1:], quick=quick)


def value(card: scores.Card, called: str, algorithm: str) -> scores.Value:
    (row,) = (each for each in card.values if each.words == called)
    return card.values[row][algorithm]


# --- the table ------------------------------------------------------------------------------------


def test_every_section_of_the_rfc_is_answered_or_its_gap_explained() -> None:
    known = table.read()
    assert [each.section for each in known.criteria if each.section] == SECTIONS
    assert all(each.rows or each.missing for each in known.criteria)


def test_every_scenario_of_the_table_can_be_built_and_is_used() -> None:
    known = table.read()
    made = jobs.cells(known, ["cubic+hystart", "rcp"], quick=False)
    assert {each.setup for each in made} == set(known.setups)
    assert {each.algorithm for each in made if known.setups[each.setup].fixed} == {None}


def test_no_two_rows_have_the_same_words() -> None:
    """A sentence about a row has no other context."""
    found = [row.words for each in table.read().criteria for row in each.rows]
    assert len(found) == len(set(found))
    assert not [each for each in found if re.search(r"\bthe same\b|\bthem\b", each)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('measure = "rate"', 'measure = "rat"', "did you mean rate?"),
        ('buffer = "5 bdp" }\nmeasure', 'buffer = "6 bdp" }\nmeasure', "buffer has no value 6 bdp"),
        ('window = "2-4"', 'window = "2-5"', "has no window 2-5"),
        ('against = "alone"', 'against = "oracle"', "not run with an ideal exit"),
        ('as = "harm"\n', "", "against and as belong together"),
        ('among = "late exit"', 'among = "late exits"', "did you mean late exit?"),
        ('scenario = "one"', 'scenario = "two"', "scenario = "),
    ],
)
def test_an_error_in_the_table_names_file_and_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    (tmp_path / "criteria").mkdir()
    (tmp_path / "scenarios.toml").write_text(SCENARIOS)
    changed = CRITERIA.replace(old, new, 1)
    assert changed != CRITERIA
    (tmp_path / "criteria" / "1.toml").write_text(changed)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        table.read(tmp_path)
    assert re.match(r".*1\.toml:\d+: ", str(refused.value))


# --- the numbers ----------------------------------------------------------------------------------


def test_numbers_are_those_of_plain_runs(small: table.Table, tmp_path: Path) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "bbr"])
    times = []
    costs = []
    for run in range(3):
        by_algorithm: dict[str, list[float]] = {}
        for buffer in ("0.5 bdp", "5 bdp"):
            for algorithm in ("cubic+hystart", "cubic+oracle"):
                text = f"""[path]
rate = "20 Mbit/s"
rtt = "40 ms"
jitter = "500 us"
buffer = "{buffer}"
[[flow]]
algorithm = "{algorithm}"
size = "1 MB"
"""
                scenario = Scenario.from_toml(text).with_runs(runs=1, seed=1 + run)
                flows = pl.DataFrame(slowstart.run(scenario).flows())
                by_algorithm.setdefault(algorithm, []).append(flows["fct_s"][0])
        mine, ideal = by_algorithm["cubic+hystart"], by_algorithm["cubic+oracle"]
        times.append(statistics.mean(mine))
        costs.append(statistics.mean(a - b for a, b in zip(mine, ideal, strict=True)))
    found = value(card, "completion", "cubic+hystart")
    assert found.value == pytest.approx(statistics.median(times), rel=1e-12)
    assert (found.low, found.high) == (min(times), max(times))
    assert found.confidence == pytest.approx(0.75)
    assert (found.runs, found.count, found.of) == (3, 6, 6)
    cost = value(card, "cost", "cubic+hystart").value
    assert cost == pytest.approx(statistics.median(costs), rel=1e-9, abs=1e-12)


def test_the_worst_point_is_named(small: table.Table, tmp_path: Path) -> None:
    made = jobs.cells(small, ["cubic+hystart", "bbr"], quick=False)
    runs = jobs.execute(made, tmp_path / "runs", threads=2)
    card = scores.score(small, runs, "cubic+hystart", ["bbr"], quick=False)
    rows = {each.words: each for each in card.values}
    for algorithm in ("cubic+hystart", "bbr"):
        found = scores.Reader(runs).rows(rows["completion"], algorithm)
        by_point = found.group_by("point").agg(pl.col("value").median()).sort("value")
        worst = value(card, "worst", algorithm)
        assert worst.value == pytest.approx(by_point["value"][-1], rel=1e-12)
        assert worst.at is not None
        assert repr(worst.at) in by_point["point"][-1]
        assert (worst.runs, worst.count, worst.of) == (3, 3, 3)
        assert words.shown(worst, rows["worst"]).endswith(f"({worst.at})")


def test_harm_compares_with_the_flow_alone(small: table.Table, tmp_path: Path) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "bbr"])
    runs = []
    for run in range(2):
        rates = []
        for second in ("", '[[flow]]\nalgorithm = "bbr"\nname = "joining"\nstart = "2 s"\n'):
            text = f"""duration = "4 s"
[path]
rate = "20 Mbit/s"
rtt = "40 ms"
buffer = "1 bdp"
jitter = "500 us"
[[flow]]
algorithm = "reno"
name = "running"
{second}"""
            scenario = Scenario.from_toml(text).with_runs(runs=1, seed=1 + run)
            series = pl.DataFrame(slowstart.run(scenario, traces=True).flow_traces())
            series = series.filter(pl.col("flow") == 0)
            before = series.filter(pl.col("time_s") <= 2)["delivered_bytes"].max()
            after = series.filter(pl.col("time_s") <= 4)["delivered_bytes"].max()
            assert isinstance(before, int)
            assert isinstance(after, int)
            rates.append(after - before)
        runs.append(100 * (rates[0] - rates[1]) / rates[0])
    assert value(card, "harm", "bbr").value == pytest.approx(statistics.median(runs), rel=1e-9)
    assert 0.5 <= value(card, "fairness", "bbr").value <= 1.0


def test_a_flow_that_never_settles_counts_as_at_least_the_limit(
    small: table.Table, tmp_path: Path
) -> None:
    name = "cubic+limited:max_ssthresh=2"
    (limited,) = jobs.canonical([name]).values()
    card = scored(small, tmp_path / "runs", [limited, "cubic+standard"])
    (row,) = (each for each in card.values if each.words == "settled")
    found = card.values[row][limited]
    assert found.censored == 2
    assert words.shown(found, row) == "> 2.00 s"


def test_among_leaves_out_the_other_flows(small: table.Table, tmp_path: Path) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "reno"])
    rows = {each.words: each for each in card.values}
    late = value(card, "late exits", "reno")
    found = value(card, "completion after a late exit", "reno")
    assert 0 < found.count == found.of == round(late.value / 100 * late.of)
    assert rows["completion after a late exit"].among == "late exit"


def test_lying_routers_harm_others_through_those_who_ask(
    small: table.Table, tmp_path: Path
) -> None:
    card = scored(small, tmp_path / "runs", ["rcp", "bbr"])
    rows = {each.words: each for each in card.values}
    lying, honest = rows["harm by a lying router"], rows["harm by an honest router"]
    assert set(card.values[lying]) == {"rcp"}
    mine = {row: card.values[row]["rcp"].value for row in (lying, honest)}
    assert mine[lying] > mine[honest] + 20
    assert [words.absent(card, lying, name) for name in card.algorithms] == ["-", "n/a"]
    (criterion,) = card.table.criteria
    assert words.inapplicable(card, criterion) == (
        "n/a: bbr asks no routers, so that lying ones do not matter."
    )
    assert not [each for each in jobs.cells(small, ["bbr"], quick=True) if each.setup == "asking"]
    others = scores.Card(small, "reno", ("bbr",), False, {})
    assert str(words.inapplicable(others, criterion)).startswith(
        "No algorithm here asks routers, so these rows are left out: harm by a lying router;"
    )


def test_saved_state_matters_only_to_algorithms_with_memory(tmp_path: Path) -> None:
    known = table.read()
    names = ["cubic+careful-resume", "cubic+standard", "bbr"]
    mine = [row for each in known.criteria for row in each.rows if row.setup == "second visit"]
    made = jobs.cells(known, names, quick=True, runs=1, only=lambda row: row in mine)
    card = scores.score(known, jobs.execute(made, tmp_path / "runs"), names[0], names[1:],
                        quick=True)  # fmt: skip
    found = {
        (row.words, name): each.value for row in mine for name, each in card.values[row].items()
    }
    for (words_, name), each in found.items():
        assert (each == 0) == (name != names[0]), (words_, name, each)
    gain, *_, lost = [found[row.words, names[0]] for row in mine]
    # docs/concepts/careful-resume.md: half a second of five, and 200 segments.
    assert -1 < gain < -0.2
    assert lost > 50


def test_quick_keeps_the_chosen_points(small: table.Table) -> None:
    quick = [each for each in jobs.cells(small, ["bbr"], quick=True) if each.setup == "one"]
    assert {each.labels["buffer"] for each in quick} == {"5 bdp"}
    assert {each.job.runs for each in quick} == {2}
    full = [each for each in jobs.cells(small, ["bbr"], quick=False) if each.setup == "one"]
    assert {each.labels["buffer"] for each in full} == {"0.5 bdp", "5 bdp"}


def test_the_ideal_exit_runs_once_for_algorithms_that_share_it(small: table.Table) -> None:
    made = jobs.cells(small, ["cubic+hystart", "cubic+search", "bbr"], quick=True)
    names = [each.algorithm for each in made if each.setup == "one"]
    assert names == ["cubic+hystart", "cubic+search", "bbr", "cubic+oracle"]


# --- what stands out ------------------------------------------------------------------------------


def test_bad_start_ups_stand_out(
    small: table.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    others = ["cubic+hystart", "bbr"]
    (never,) = jobs.canonical(["cubic+bad:Never"]).values()
    found = scores.outliers(scored(small, tmp_path / "runs", [never, *others]))
    worse = {each.row.words for each in found if each.worse}
    assert "queue" in worse
    assert "cost" not in worse
    (at_once,) = jobs.canonical(["cubic+bad:AtOnce"]).values()
    found = scores.outliers(scored(small, tmp_path / "runs", [at_once, *others]))
    assert {"completion", "cost"} <= {each.row.words for each in found if each.worse}
    assert "queue" in {each.row.words for each in found if each.worse is False}
    text = words.sentence(next(each for each in found if each.row.words == "cost"))
    assert re.fullmatch(r"Cost \(5\.1\.1\): \+\S+ m?s; the others: .*\.", text)


def test_equal_algorithms_do_not_stand_out(small: table.Table, tmp_path: Path) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "bbr"])
    same = scores.Card(
        card.table,
        "cubic+hystart",
        ("copy",),
        card.quick,
        {row: {**each, "copy": each["cubic+hystart"]} for row, each in card.values.items()},
    )
    assert scores.outliers(same) == []


def test_an_outlier_needs_an_interval_that_excludes_the_nearest(
    small: table.Table, tmp_path: Path
) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "bbr"])
    (row,) = (each for each in card.values if each.words == "completion")

    def made(low: float) -> list[scores.Outlier]:
        mine = scores.Value(3.0, low, 4.0, 0.95, 10, 10, 10)
        other = scores.Value(2.0, 1.9, 2.1, 0.95, 10, 10, 10)
        values = {row: {"cubic+hystart": mine, "bbr": other}}
        return scores.outliers(scores.Card(small, "cubic+hystart", ("bbr",), False, values))

    assert [each.worse for each in made(2.5)] == [True]
    assert made(1.5) == []


def test_all_but_one_needs_a_headline_and_enough_others(small: table.Table, tmp_path: Path) -> None:
    card = scored(small, tmp_path / "runs", ["cubic+hystart", "bbr"])
    rows = {each.words: each for each in card.values}

    def made(row: table.Row, others: list[float]) -> list[scores.Outlier]:
        names = tuple(f"other{n}" for n in range(len(others)))
        values = {"mine": scores.Value(3.0, 2.9, 3.1, 0.95, 10, 10, 10)}
        values |= {
            name: scores.Value(each, each, each, 0.95, 10, 10, 10)
            for name, each in zip(names, others, strict=True)
        }
        return scores.outliers(scores.Card(small, "mine", names, False, {row: values}))

    (found,) = made(rows["completion"], [3.0, 1.0, 1.1, 1.2])
    assert found.worse
    assert found.but is not None
    assert found.but[0] == "other0"
    assert words.sentence(found) == (
        "Completion (5.1.1): 3.00 s; other0: 3.00 s; the others: 1.00 s to 1.20 s."
    )
    assert made(rows["completion"], [3.0, 1.0, 1.1]) == []
    assert made(rows["cost"], [3.0, 1.0, 1.1, 1.2]) == []
    assert made(rows["completion"], [3.0, 3.0, 1.1, 1.2]) == []


# --- running --------------------------------------------------------------------------------------


def test_a_second_run_makes_only_what_is_missing(small: table.Table, tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []
    some = jobs.cells(small, ["cubic+hystart"], quick=True)
    jobs.execute(some, tmp_path / "runs", progress=lambda *each: counts.append(each))
    first = counts[-1][1]
    assert first == sum(each.job.runs for each in some)
    counts.clear()
    more = jobs.cells(small, ["cubic+hystart", "bbr"], quick=True)
    with Store(tmp_path / "runs") as store:
        missing = store.missing([each.job for each in more])
    assert missing == sum(each.job.runs for each in more if each.algorithm == "bbr")
    jobs.execute(more, tmp_path / "runs", progress=lambda *each: counts.append(each))
    assert counts[-1] == (missing, missing)


def test_a_changed_python_file_is_run_again(
    small: table.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "worse.py").write_text(BAD)
    (name,) = jobs.canonical(["cubic+worse:Never"]).values()
    before = [each.job.key for each in jobs.cells(small, [name], quick=True)]
    (tmp_path / "worse.py").write_text(BAD + "\n# another version\n")
    stored._digest.cache_clear()
    after = [each.job.key for each in jobs.cells(small, [name], quick=True)]
    stored._digest.cache_clear()
    changed = [a != b for a, b in zip(before, after, strict=True)]
    cells = jobs.cells(small, [name], quick=True)
    assert changed == [each.algorithm == name for each in cells]


def test_a_built_in_start_up_has_no_file() -> None:
    for name in ("cubic+search:version=4.0,exit=drain", "bbr"):
        (scenario,) = slowstart.compare("wired", name, size="1 kB")
        assert stored.sources(scenario.definition()) == []


def test_the_kernel_answers_rows_without_an_ideal_exit() -> None:
    known = table.read()
    rows = [row for each in known.criteria for row in each.rows]
    mine = [row for row in rows if kernel.answers(row, known, quick=True)]
    assert mine
    assert all(row.against is None for row in mine)
    assert len(mine) < len([row for row in rows if kernel.answers(row, known, quick=False)])


# --- the command ----------------------------------------------------------------------------------


def test_command_writes_a_page_and_a_document(command: Command, tmp_path: Path) -> None:
    words_given = ("evaluate", "cubic+search", "-a", "bbr", "--quick", "-n", "1", "-o", "card")
    done = command(*words_given, "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert "Scorecard of cubic+search" in done.stdout
    assert "Not evaluated: 5.3.1" in done.stdout
    document = json.loads((tmp_path / "card" / "result.json").read_text())
    assert document["kind"] == "evaluation"
    assert [each["section"] for each in document["criteria"] if each["section"]] == SECTIONS
    for criterion in document["criteria"]:
        for row in criterion["rows"]:
            there = set(row["values"])
            if row["scenario"].startswith("routers"):
                assert not there, row["words"]
            elif row["among"] is None:
                assert there == {"cubic+search", "bbr"}, row["words"]
    page = (tmp_path / "card" / "report.html").read_text()
    assert page.count("<figure>") == sum(len(each.figures) for each in table.read().criteria)
    assert "http" not in re.sub(r"http://www.w3.org\S+", "", page)
    # The same command makes no run again, and the same bytes with another number of threads.
    before = {
        each: (tmp_path / "card" / each).read_bytes() for each in ("result.json", "report.html")
    }
    batches = sorted((tmp_path / "card" / "store" / "batches").iterdir())
    again = command(*words_given, "--threads", "1", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout) == document
    assert sorted((tmp_path / "card" / "store" / "batches").iterdir()) == batches
    assert {each: (tmp_path / "card" / each).read_bytes() for each in before} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one algorithm"),
        (["cubic+search", "--all"], "name one algorithm"),
        (["cubic+serch"], "unknown start-up"),
        (["cubic+nothing:There"], "no module `nothing`"),
        (["bbr", "-a", "bbr"], "nothing to be compared with"),
        (["bbr", "-a", "vegass"], "vegass"),
        (["bbr", "--stack", "freebsd"], "unknown stack freebsd"),
        (["bbr", "--force"], "--force needs --stack linux"),
        (["--all", "-a", "bbr"], "leave out --stack and --against"),
        (["bbr", "-o", "taken"], "taken"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    command: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("mine")
    done = command("evaluate", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["taken"]


def test_leaderboard_has_every_start_up_and_the_reference() -> None:
    names = leaderboard.entrants()
    starts = [each["name"] for each in slowstart.algorithms() if each["kind"] == "start-up"]
    assert {each for each in names if each.startswith("cubic+")} == {
        *(f"cubic+{each}" for each in starts), "cubic+search:version=4.0",
    }  # fmt: skip
    others = [each["name"] for each in slowstart.algorithms() if each["kind"] == "avoidance"]
    assert {f"{each}+standard" for each in others if each != "cubic"} < set(names)
    assert {"bbr3", "c4"} < set(names)
    known = table.read()
    made = jobs.cells(known, list(names), quick=True,
                      only=lambda row: leaderboard.chosen(row, known))  # fmt: skip
    wanted = {row.setup for row in leaderboard.rows(known)}
    assert {each.setup for each in made} == wanted | {"running alone"}
