"""The store of finished runs: a kill loses no stored run, and no run is executed twice."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import slowstart
from slowstart import InputError, running
from slowstart.studies import store as module
from slowstart.studies.store import Extract, Job, Store, time_to


def jobs(runs: int = 3, size: str = "300 kB", traces: int = 0) -> list[Job]:
    scenarios = slowstart.compare("lte", ["cubic+search", "reno+standard"], size=size, seed=7)
    return [
        Job(each, runs, labels={"detector": each.flows[0]}, traces=traces) for each in scenarios
    ]


def test_stored_runs_equal_those_of_a_plain_run(tmp_path: Path) -> None:
    wanted = jobs()
    with Store(tmp_path / "store") as store:
        store.complete(wanted)
        flows, links, runs = store.flows(wanted), store.links(wanted), store.runs(wanted)
    plain = slowstart.run([each.scenario.with_runs(runs=3) for each in wanted])
    expected = pl.DataFrame(plain.flows())
    shared = [name for name in expected.columns if name in flows.columns]
    # The labels of a job say which scenario a row is of.
    assert set(expected.columns) - {"scenario"} == set(shared)
    assert flows.select(shared).equals(expected.select(shared))
    assert flows["detector"].to_list() == ["cubic+search"] * 3 + ["reno+standard"] * 3
    assert flows["job"].to_list() == [0, 0, 0, 1, 1, 1]
    columns = ["path", "run", "link", "utilization", "packets", "drops", "marks"]
    assert links.select(columns).equals(pl.DataFrame(plain.links()).select(columns))
    assert runs["counts"].all()
    assert runs["end_s"].min() > 0  # type: ignore[operator]


def test_only_missing_runs_are_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int]] = []
    original = running.on_stack

    def counted(scenarios: list[slowstart.Scenario], stack: str, **rest: Any) -> slowstart.Result:
        made.extend((each.flows[0], each.seed) for each in scenarios)
        return original(scenarios, stack, **rest)

    monkeypatch.setattr(module, "on_stack", counted)
    with Store(tmp_path / "store") as store:
        store.complete(jobs(runs=2))
    with Store(tmp_path / "store") as store:
        assert store.missing(jobs(runs=5)) == 6
        reported: list[tuple[int, int]] = []
        store.complete(jobs(runs=5), progress=lambda done, total: reported.append((done, total)))
        assert store.missing(jobs(runs=5)) == 0
        assert store.missing(jobs(runs=5, size="400 kB")) == 10
        assert len(store.flows(jobs(runs=5))) == 10
        assert len(store.flows(jobs(runs=2))) == 4
    assert len(made) == len(set(made)) == 10
    assert all(total == 6 for _, total in reported)


def test_a_number_reads_the_links_only_if_it_says_so(tmp_path: Path) -> None:
    def count(_: Any, series: pl.DataFrame, of_links: pl.DataFrame) -> float:
        return float(1000 * len(series) + min(1, len(of_links)))

    found = {}
    for links in (True, False):
        extracts = (Extract("rows", count, links=links),)
        wanted = [dataclasses.replace(each, extracts=extracts) for each in jobs(traces=1)]
        with Store(tmp_path / f"store-{links}") as store:
            store.complete(wanted)
            found[links] = store.flows(wanted), store.link_traces(wanted)
    with_links, without = found[True][0], found[False][0]
    assert with_links.drop("rows").equals(without.drop("rows"))
    # Of each job the first run keeps its series, and the others have none of the links.
    assert (with_links["rows"] - without["rows"]).to_list() == [1.0] * len(without)
    assert found[True][1].equals(found[False][1])
    assert not found[True][1].is_empty()


def test_time_series_are_stored_for_the_requested_runs(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        store.complete(jobs())
        assert store.flow_traces(jobs(traces=1)).is_empty()
        store.complete(jobs(traces=1))
        series = store.flow_traces(jobs(traces=1))
        assert series["run"].unique().to_list() == [0]
        assert series["detector"].n_unique() == 2
        assert not store.link_traces(jobs(traces=1)).is_empty()
        # A run that is stored twice counts once.
        assert len(store.flows(jobs(traces=1))) == 6


def test_rows_keep_their_order_when_some_are_chosen(tmp_path: Path) -> None:
    """A join without an order returns the parts of a long table as its threads finish them."""
    count = 400_000
    seeds = pl.Series(range(count), dtype=pl.UInt64) % 4
    rows = pl.DataFrame({"seed": seeds, "row": range(count)}).with_columns(key=pl.lit("one"))
    with Store(tmp_path / "store") as store:
        store.write("one", {"flow_traces": rows})
        batch = store.read("flow_traces")["batch"][0]
        chosen = pl.DataFrame({"key": "one", "seed": [1, 3], "batch": batch}).cast(
            {"seed": pl.UInt64}
        )
        for _ in range(6):
            found = store.read("flow_traces", chosen)
            assert found["row"].to_list() == [row for row in range(count) if row % 2]


def test_an_extract_is_a_column(tmp_path: Path) -> None:
    plain = jobs(runs=1)[0]
    reach = (time_to("time_to_100kB_s", 100_000), time_to("time_to_1MB_s", 1_000_000))
    wanted = [Job(plain.scenario, 2, extracts=reach)]
    with Store(tmp_path / "store") as store:
        store.complete(wanted)
        flows = store.flows(wanted)
        assert store.flow_traces(wanted).is_empty()
    assert flows["time_to_1MB_s"].null_count() == 2
    early = flows["time_to_100kB_s"].to_list()
    assert all(0 < time < done for time, done in zip(early, flows["fct_s"], strict=True))
    assert wanted[0].key != plain.key


def rows(_: Any, series: pl.DataFrame, of_links: pl.DataFrame) -> float:
    return float(len(series) + 1e6 * len(of_links))


def window(_: Any, series: pl.DataFrame, __: pl.DataFrame) -> float:
    return float(series["cwnd_bytes"].max())  # type: ignore[arg-type]


def sharing() -> list[Job]:
    """Jobs that differ in what is computed from the same runs, and in what is kept of them."""
    (scenario,) = slowstart.compare("lte", ["cubic+search"], size="300 kB", seed=7)
    largest = Extract("largest", window, links=False, columns=("cwnd_bytes",))
    early = time_to("time_to_100kB_s", 100_000)
    return [
        Job(scenario, 3),
        Job(scenario, 3, extracts=(largest,)),
        Job(scenario, 2, extracts=(largest, early), traces=1),
        Job(scenario, 2, extracts=(Extract("rows", rows),)),
        # Its runs have seeds 8 to 10.
        Job(scenario.with_runs(runs=1, seed=8), 3, extracts=(early,)),
    ]


def tables(folder: Path, wanted: list[Job]) -> list[dict[str, pl.DataFrame]]:
    """What the store has of each job; it executes all of them together."""
    with Store(folder) as store:
        store.complete(wanted)
        return [
            {
                "flows": store.flows([job]),
                "links": store.links([job]),
                # Times of the clock.
                "runs": store.runs([job]).drop("wall_s"),
                "flow_traces": store.flow_traces([job]),
                "link_traces": store.link_traces([job]),
            }
            for job in wanted
        ]


def test_a_run_that_jobs_share_is_simulated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    original = running.on_stack

    def counted(scenarios: list[slowstart.Scenario], stack: str, **rest: Any) -> slowstart.Result:
        made.extend(each.seed for each in scenarios)
        return original(scenarios, stack, **rest)

    reported: list[tuple[int, int]] = []
    monkeypatch.setattr(module, "on_stack", counted)
    with Store(tmp_path / "store") as store:
        count = store.missing(sharing())
        store.complete(sharing(), progress=lambda done, total: reported.append((done, total)))
        assert store.missing(sharing()) == 0
    assert sorted(made) == [7, 8, 9, 10]
    # Progress counts the runs of the jobs, not the simulations.
    assert count == sum(job.runs for job in sharing())
    assert reported[-1] == (count, count)
    assert all(done <= total == count for done, total in reported)


def test_a_job_has_the_same_tables_alone_and_with_others(tmp_path: Path) -> None:
    together = tables(tmp_path / "together", sharing())
    for place, (job, found) in enumerate(zip(sharing(), together, strict=True)):
        (alone,) = tables(tmp_path / f"alone-{place}", [job])
        for name, table in alone.items():
            assert found[name].equals(table), (place, name)
            assert found[name].schema == table.schema, (place, name)
    # Only the job that asks for time series has them.
    for name in ("flow_traces", "link_traces"):
        kept = [place for place, each in enumerate(together) if not each[name].is_empty()]
        assert kept == [2], name
    # Equal numbers of different jobs: the largest window, and those of the seeds 8 and 9.
    assert together[1]["flows"]["largest"][:2].equals(together[2]["flows"]["largest"])
    assert together[4]["flows"]["time_to_100kB_s"][0] == together[2]["flows"]["time_to_100kB_s"][1]


def test_what_an_extract_reads_does_not_change_with_its_columns(tmp_path: Path) -> None:
    def kinds(_: Any, series: pl.DataFrame, __: pl.DataFrame) -> float:
        return float(len(series.columns))

    scenario = sharing()[0].scenario
    found = []
    for columns in (("cwnd_bytes",), None):
        extracts = (
            Extract("largest", window, links=False, columns=columns),
            Extract("kinds", kinds, links=False, columns=columns),
        )
        with Store(tmp_path / f"store-{columns is None}") as store:
            job = Job(scenario, 2, extracts=extracts)
            store.complete([job])
            found.append(store.flows([job]))
    some, every = found
    assert some.drop("kinds").equals(every.drop("kinds"))
    # The column and the flow's number, against all.
    assert some["kinds"].to_list() == [2, 2]
    assert every["kinds"][0] > 10
    # One extract that reads all gives all to the others.
    mixed = (Extract("kinds", kinds, links=False, columns=("time_s",)), Extract("rows", rows))
    with Store(tmp_path / "mixed") as store:
        job = Job(scenario, 1, extracts=mixed)
        store.complete([job])
        assert store.flows([job])["kinds"][0] == every["kinds"][0]


def test_the_key_depends_on_everything_that_determines_a_run(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    keys = set()
    for text in ("1\n2\n3\n4\n", "1\n2\n2\n4\n"):  # equal count and duration
        trace.write_text(text)
        (scenario,) = slowstart.compare(f"trace:{trace}", "cubic", size="100 kB")
        keys.add(Job(scenario, 1).key)
        keys.add(Job(scenario.with_runs(runs=9, seed=9), 1).key)
        keys.add(Job(scenario, 1, stack="linux").key)
    assert len(keys) == 4


BATCH_BY_BATCH = """
import sys
sys.path.insert(0, sys.argv[2])
from slowstart.studies import store as module
from test_store import jobs
module._MOST_IN_BATCH = 1
with module.Store(sys.argv[1]) as store:
    store.complete(jobs(runs=200, size="5 MB"), threads=1)
"""


def test_a_killed_process_loses_no_finished_run(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    tests = str(Path(__file__).parent)
    child = subprocess.Popen([sys.executable, "-c", BATCH_BY_BATCH, str(folder), tests])
    try:
        while len(list((folder / "batches").glob("[!.]*"))) < 5:
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    finished = len(list((folder / "batches").glob("[!.]*")))
    (folder / "batches" / ".half").mkdir()
    wanted = jobs(runs=200, size="5 MB")
    with Store(folder) as store:
        assert store.missing(wanted) == 400 - finished
        few = jobs(runs=4, size="5 MB")
        store.complete(few)
        resumed = store.flows(few)
        assert not (folder / "batches" / ".half").exists()
    with Store(tmp_path / "whole") as store:
        store.complete(few)
        assert store.flows(few).equals(resumed)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "store"),
        pytest.raises(InputError, match="another process"),
        Store(tmp_path / "store"),
    ):
        pass


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="something other"), Store(tmp_path):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def cut(batch: Path) -> None:
    file = batch / "flows.parquet"
    file.write_bytes(file.read_bytes()[:-20])


def flip(batch: Path) -> None:
    file = batch / "links.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def replace(batch: Path) -> None:
    (batch / "runs.parquet").unlink()
    (batch / "runs.parquet").mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a table cut short": cut,
    "a bit that flipped": flip,
    "a table that is gone": lambda batch: (batch / "flows.parquet").unlink(),
    "no checksums": lambda batch: (batch / "checksums.json").unlink(),
    "empty checksums": lambda batch: (batch / "checksums.json").write_text(""),
    "a table that is a folder": replace,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_batch_is_reported_and_repeated(tmp_path: Path, damage: str) -> None:
    wanted = jobs(runs=1)
    with Store(tmp_path / "store") as store:
        store.complete(wanted)
        whole = store.flows(wanted)
    (batch,) = (tmp_path / "store" / "batches").iterdir()
    DAMAGES[damage](batch)
    said: list[str] = []
    with Store(tmp_path / "store", said.append) as store:
        assert store.missing(wanted) == 2
        store.complete(wanted)
        assert store.flows(wanted).equals(whole)
    (sentence,) = said
    assert str(batch) in sentence
    assert [each.name for each in (tmp_path / "store" / "damaged").iterdir()] == [batch.name]
    with Store(tmp_path / "store", said.append) as store:
        assert store.missing(wanted) == 0
    assert len(said) == 1


def test_runs_of_an_earlier_format_are_set_aside(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    (folder / "batches" / "old").mkdir(parents=True)
    (folder / "store.json").write_text('{"format": 1}')
    said: list[str] = []
    with Store(folder, said.append) as store:
        assert store.missing(jobs(runs=1)) == 2
    assert len(said) == 1
    assert (folder / "damaged" / "format-1" / "old").is_dir()


@pytest.mark.parametrize("mark", ["", "{", "[]"])
def test_a_damaged_mark_does_not_block_the_store(tmp_path: Path, mark: str) -> None:
    with Store(tmp_path / "store") as store:
        store.complete(jobs(runs=1))
    (tmp_path / "store" / "store.json").write_text(mark)
    with Store(tmp_path / "store") as store:
        assert store.missing(jobs(runs=1)) == 0
