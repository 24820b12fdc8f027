"""The Python interface: scenarios, results, and tables without copying."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slowstart
from slowstart.report import tables

TABLES = ("flows", "links", "summary", "flow_traces", "link_traces")


@pytest.mark.parametrize("name", TABLES)
def test_polars_pandas_and_pyarrow_read_tables(small: slowstart.Result, name: str) -> None:
    table = getattr(small, name)()
    with_polars = pl.DataFrame(table)
    with_pyarrow = pa.table(table)
    with_pandas = with_pyarrow.to_pandas()
    assert with_polars.columns == with_pyarrow.column_names == table.column_names
    assert len(with_polars) == len(with_pyarrow) == len(with_pandas) == len(table) > 0
    if hasattr(pd.DataFrame, "from_arrow"):
        pd.testing.assert_frame_equal(pd.DataFrame.from_arrow(table), with_pandas)
    first = with_polars.row(0)
    assert list(with_pyarrow.slice(0, 1).to_pylist()[0].values()) == list(first)


def test_polars_and_pyarrow_do_not_copy(small: slowstart.Result) -> None:
    table = small.flow_traces()
    column = table.column_names.index("time_s")
    one, two = (pa.table(table).column(column).chunk(0).buffers()[1].address for _ in range(2))
    assert one == two


def test_results_of_one_scenario(small: slowstart.Result) -> None:
    assert len(small) == 2
    flows = pl.DataFrame(small.flows())
    for index, algorithm in enumerate(("cubic+search", "reno+standard")):
        part = pl.DataFrame(small.select(index).flows())
        assert part.equals(flows.filter(pl.col("algorithm") == algorithm))
        document = json.loads(small.select(index).to_json())
        assert document["scenario"]["flows"][0]["algorithm"] == algorithm
        assert len(document["runs"]) == 2
    with pytest.raises(IndexError):
        small.select(2)


def test_document_and_tables_agree(small: slowstart.Result) -> None:
    document = json.loads(small.to_json())
    flows = pl.DataFrame(small.flows())
    for run, row in zip(document["runs"], flows.iter_rows(named=True), strict=True):
        flow = run["flows"][0]
        for key in ("fct_s", "goodput_bps", "segments_sent", "rtt_mean_ms", "exit_class"):
            assert flow[key] == row[key]
    summary = pl.DataFrame(small.summary())
    medians = [row["fct_s"]["median"] for row in document["summary"]]
    assert summary["fct_s_median"].to_list() == medians


def test_traces_agree_with_the_result(small: slowstart.Result) -> None:
    traces = pl.DataFrame(small.flow_traces())
    last = traces.group_by("run", "algorithm").agg(pl.col("delivered_bytes").max())
    assert last["delivered_bytes"].to_list() == [2_000_000] * 4
    assert traces["cwnd_bytes"].min() >= 1448  # type: ignore[operator]


def test_chosen_columns_of_time_series_are_those_of_the_whole_table() -> None:
    scenarios = slowstart.compare("lte", ["cubic+search", "bbr"], size="300 kB")
    result = slowstart.run([each.with_runs(runs=2) for each in scenarios], traces=True)
    assert isinstance(result, slowstart.Result)
    whole = pl.DataFrame(result.flow_traces())
    assert whole["run"].n_unique() == whole["algorithm"].n_unique() == 2
    assert whole["ssthresh_bytes"].null_count() > 0  # nulls stay nulls
    for name in whole.columns:
        one = pl.DataFrame(result.flow_traces(columns=[name]))
        assert one.equals(whole.select(name)), name
        assert one.schema == whole.select(name).schema, name
    # In the order of the whole table, and each once.
    wanted = ["time_s", "algorithm", "rtt_ms", "flow", "time_s"]
    some = pl.DataFrame(result.flow_traces(wanted))
    assert some.equals(whole.select("flow", "algorithm", "time_s", "rtt_ms"))
    assert pl.DataFrame(result.flow_traces(whole.columns)).equals(whole)
    assert pl.DataFrame(result.flow_traces(None)).equals(whole)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["cwnd"], "the time series of flows have no column cwnd"),
        (["time_s", "Time_s", "cwnd"], "the time series of flows have no column Time_s"),
        ([], "columns names no column of the time series"),
    ],
)
def test_unknown_columns_of_time_series_are_refused(columns: list[str], message: str) -> None:
    (scenario,) = slowstart.compare("wired", ["cubic"], size="10 kB")
    traced, plain = slowstart.run(scenario, traces=True), slowstart.run(scenario)
    assert isinstance(traced, slowstart.Result)
    assert isinstance(plain, slowstart.Result)
    with pytest.raises(slowstart.InputError) as refused:
        traced.flow_traces(columns=columns)
    assert str(refused.value) == message
    # What is missing first comes first.
    with pytest.raises(slowstart.InputError, match="no time series were recorded"):
        plain.flow_traces(columns=columns)


def test_the_lock_is_released_while_it_runs() -> None:
    class Enough(Exception):
        pass

    ticks = 0
    before = None
    calls = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0)

    def progress(_done: int, _total: int) -> None:
        nonlocal before, calls
        before = ticks if before is None else before
        calls += 1
        # If a run held the lock, the other thread would run at most once per call.
        if ticks - before > 20 * calls:
            raise Enough

    other = threading.Thread(target=tick)
    other.start()
    scenarios = slowstart.compare("ethernet", "cubic", size="2 GB", runs=4)
    try:
        with pytest.raises(Enough):
            slowstart.run(scenarios, threads=1, progress=progress)
    finally:
        over.set()
        other.join()


def test_an_exception_in_progress_stops_the_runs() -> None:
    class Enough(Exception):
        pass

    calls = 0

    def progress(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        assert 0 <= done <= total == 50
        raise Enough

    # It takes an hour unless stopped.
    scenario = slowstart.compare("ethernet", "cubic", duration="1000 s", runs=50)
    with pytest.raises(Enough):
        slowstart.run(scenario, progress=progress)
    assert calls == 1


def test_scenarios_from_text_and_with_other_runs() -> None:
    text = '[path]\npreset = "geo"\n[[flow]]\nalgorithm = "bbr"\nsize = "1 MB"\n'
    scenario = slowstart.Scenario.from_toml(text)
    assert (scenario.runs, scenario.seed, scenario.flows) == (1, 1, ["bbr"])
    assert scenario.path == "text"
    other = scenario.with_runs(runs=3, seed=11)
    assert (other.runs, other.seed) == (3, 11)
    assert (scenario.runs, scenario.seed) == (1, 1)
    assert json.loads(other.to_json())["runs"] == 3
    with pytest.raises(slowstart.InputError, match=r"mine\.toml:1"):
        slowstart.Scenario.from_toml("paht = 1", name="mine.toml")


def test_the_registry_is_complete() -> None:
    for part in slowstart.algorithms():
        assert part["summary"]
        assert part["source"]
        assert part["provenance"]
        assert all(option["help"] for option in part["options"])
    needs = {part["name"]: part["needs"] for part in slowstart.algorithms()}
    assert needs["cubic"] == []
    assert [name for name in needs if "routers" in needs[name]] == ["quick-start", "rcp", "xcp"]
    assert [name for name in needs if "memory" in needs[name]] == ["careful-resume", "stateful"]
    assert [name for name in needs if "known-path" in needs[name]] == ["oracle"]
    assert {"wired", "ethernet", "geo", "leo", "lte", "wifi-strong", "wifi-weak"} <= {
        path["name"] for path in slowstart.paths()
    }


WORDS = st.text(
    alphabet=st.sampled_from("cubireno+search:=.,0123456789 -mskMGbit/µ\n\0é"), max_size=24
)


@settings(max_examples=300, deadline=None)
@given(path=WORDS, algorithm=WORDS, size=WORDS)
def test_any_text_is_accepted_or_rejected(path: str, algorithm: str, size: str) -> None:
    for words in ((path, "cubic", "1 MB"), ("wired", algorithm, "1 MB"), ("wired", "cubic", size)):
        try:
            slowstart.compare(words[0], words[1], size=words[2])
        except slowstart.InputError as error:
            sentence = str(error)
            assert sentence
            assert "\n" not in sentence


def test_marks_are_counted_and_shown_where_there_are_any(tmp_path: Path) -> None:
    file = tmp_path / "marks.toml"
    text = """path = { rate = "50 Mbit/s", rtt = "100 ms", aqm = "codel", ecn = true }
    flow = [{ algorithm = "cubic", size = "5 MB", ecn = FLAG }]"""
    heads = []
    for flag in ("true", "false"):
        file.write_text(text.replace("FLAG", flag))
        result = slowstart.run([slowstart.Scenario.from_file(file)])
        document = json.loads(result.to_json())
        marks = [link["marks"] for link in document["runs"][0]["links"]]
        assert pl.DataFrame(result.links())["marks"].to_list() == marks
        assert (sum(marks) > 0) == (flag == "true")
        summary = document["summary"]
        assert summary[0]["marks"]["median"] == sum(marks)
        heads.append([tables.COLUMNS[place].head for place in tables.columns(summary)])
    assert "marked" in heads[0]
    assert "marked" not in heads[1]


def test_amounts_without_a_unit_are_rejected() -> None:
    with pytest.raises(slowstart.InputError, match="size must be a string with a unit"):
        slowstart.compare("wired", "cubic", size=20)  # type: ignore[arg-type]
    for wrong in (b"x", range(3), 7, ["cubic+search", None]):
        with pytest.raises(slowstart.InputError, match="algorithm must be a string such as"):
            slowstart.compare("wired", wrong)  # type: ignore[arg-type]
        with pytest.raises(slowstart.InputError, match="path must be a string such as"):
            slowstart.compare(wrong, "cubic+search")  # type: ignore[arg-type]
    with pytest.raises(slowstart.InputError, match="at least one"):
        slowstart.compare([], "cubic", size="1 MB")
    with pytest.raises(slowstart.InputError, match="at least one"):
        slowstart.run([])
    with pytest.raises(slowstart.InputError, match=r"slowstart\.compare"):
        slowstart.run("geo")  # type: ignore[arg-type]


def test_methods_have_docstrings() -> None:
    for each in (slowstart.Result, slowstart.Scenario, slowstart.Table):
        for name, member in vars(each).items():
            if not name.startswith("_"):
                assert member.__doc__, f"{each.__name__}.{name}"


def test_the_resolved_scenario_is_made_once() -> None:
    (scenario,) = slowstart.compare("wired", "cubic", size="1 MB")
    assert scenario.resolved == json.loads(scenario.to_json())
    assert scenario.resolved is scenario.resolved
