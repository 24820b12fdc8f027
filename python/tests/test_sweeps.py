"""Sweeps: what their files mean, what they refuse, and that interrupted ones end alike."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import slowstart
from slowstart import InputError, RunError, Scenario
from slowstart.sweeps import Archive, Definition, Point, run_points
from slowstart.sweeps.sweep import RUNS, Sweep

if TYPE_CHECKING:
    from collections.abc import Callable

BASE: dict[str, Any] = {
    "scenario": {
        "path": {"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "1 bdp"},
        "flow": [{"algorithm": "cubic+search", "size": "100 kB"}],
    }
}
EXAMPLE = Path(__file__).parents[2] / "scenarios" / "sweeps" / "sweep.toml"


def swept(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(BASE), **more}


def table(**more: Any) -> pl.DataFrame:
    return slowstart.sweep(swept(**more)).table


def bytes_of(folder: Path) -> bytes:
    return (folder / "flows.parquet").read_bytes()


def test_the_table_has_a_row_for_each_run_in_the_order_of_the_points() -> None:
    found = table(
        grid={"path.rate": ["5 Mbit/s", "20 Mbit/s"], "flow.algorithm": ["cubic", "reno+search"]}
    )
    assert found["rate_bps"].to_list() == [5e6, 5e6, 20e6, 20e6]
    assert found["algorithm"].to_list() == ["cubic", "reno+search"] * 2
    slow, fast = found["fct_s"][0], found["fct_s"][2]
    assert slow > 8 * 100_000 / 5e6
    assert fast < slow


def test_a_sweep_measures_what_single_runs_measure() -> None:
    found = table(runs=3, seed=7, grid={"path.loss": ["1 %", "3 %"]})
    assert found["seed"].to_list() == [7, 8, 9] * 2
    text = (
        'path = { rate = "20 Mbit/s", rtt = "20 ms", buffer = "1 bdp", loss = "3 %" }\n'
        'flow = [{ algorithm = "cubic+search", size = "100 kB" }]\n'
    )
    alone = slowstart.run(Scenario.from_toml(text, name="sweep").with_runs(runs=3, seed=7))
    expected = pl.DataFrame(alone.flows())
    for column in ("fct_s", "segments_lost", "rtt_p95_ms"):
        assert found[column].to_list()[3:] == expected[column].to_list()


def test_ranges_are_linear_or_logarithmic_and_whole_numbers_stay_whole() -> None:
    definition = Definition.load(
        swept(
            grid={
                "path.rate": {"from": "1 Mbit/s", "to": "1 Gbit/s", "points": 4, "scale": "log"},
                "path.rtt": {"from": "10 ms", "to": "40 ms", "step": "10 ms"},
                "flow.initial_window": {"from": 1, "to": 4, "points": 7},
            }
        )
    )
    rate, rtt, window = definition.axes
    assert rate.cells() == [1e6, 1e7, 1e8, 1e9]
    assert rtt.cells() == [0.01, 0.02, 0.03, 0.04]
    assert window.cells() == [1, 2, 3, 4]
    assert [axis.column() for axis in definition.axes] == ["rate_bps", "rtt_s", "initial_window"]


def test_a_latin_hypercube_has_one_value_in_each_interval_and_the_seed_decides() -> None:
    keys = {
        "path.rate": {"from": "10 Mbit/s", "to": "20 Mbit/s"},
        "path.rtt": {"from": "10 ms", "to": "1 s", "scale": "log"},
    }
    first = table(latin_hypercube={"points": 20, "seed": 3, "keys": keys})
    places = sorted(int((rate / 1e6 - 10) * 2) for rate in first["rate_bps"])
    assert places == list(range(20))
    assert first["rtt_s"].is_between(0.01, 1).all()
    again = table(latin_hypercube={"points": 20, "seed": 3, "keys": keys})
    assert again.equals(first)
    other = table(latin_hypercube={"points": 20, "seed": 4, "keys": keys})
    assert not other["rate_bps"].equals(first["rate_bps"])


def test_the_grid_is_run_at_every_point_of_the_sample() -> None:
    found = table(
        grid={"flow.algorithm": ["cubic", "cubic+search"]},
        latin_hypercube={"points": 3, "keys": {"path.rtt": {"from": "5 ms", "to": "50 ms"}}},
    )
    halves = found.partition_by("algorithm", maintain_order=True)
    assert [len(each) for each in halves] == [3, 3]
    assert halves[0]["rtt_s"].equals(halves[1]["rtt_s"])


def test_derived_quantities_set_keys_and_become_columns() -> None:
    found = table(
        grid={"path.rate": ["10 Mbit/s", "40 Mbit/s"]},
        derived={
            "bdp": {"value": "rate * path.rtt / 8", "unit": "B"},
            "flow.size": {"value": "4 * bdp", "unit": "kB"},
            "rounds": "size / bdp",
        },
    )
    assert found["bdp_bytes"].to_list() == [25e3, 100e3]
    assert found["size_bytes"].to_list() == [100e3, 400e3]
    assert found["rounds"].to_list() == [4, 4]
    assert found["bytes_acked"].to_list() == [100_000, 400_000]


def test_named_points_set_several_keys() -> None:
    found = table(
        grid={
            "network": {
                "dsl": {"path": {"rate": "16 Mbit/s", "rtt": "30 ms"}},
                "fibre": {"path": {"rate": "200 Mbit/s"}, "flow": {"initial_window": 20}},
            }
        }
    )
    assert found["network"].to_list() == ["dsl", "fibre"]
    assert found["rtt_min_ms"][0] > 30 > found["rtt_min_ms"][1]


def test_a_swept_key_hides_no_measurement() -> None:
    found = table(runs=2, grid={"path.loss": ["2 %", "4 %"], "flow": {"a": {}, "b": {}}})
    assert found["path_loss_ratio"].to_list() == [0.02] * 4 + [0.04] * 4
    assert found["swept_flow"].to_list() == ["a", "a", "b", "b"] * 2
    assert found["flow"].to_list() == [0] * 8
    assert found["loss_ratio"].n_unique() > 2


def test_where_nothing_is_random_one_run_stands_for_all() -> None:
    assert len(table(runs=5, grid={"path.rate": ["5 Mbit/s"]})) == 1
    assert len(table(runs=5, grid={"path.loss": ["1 %"]})) == 5


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('[grid]\n"path.rat" = ["1 Mbit/s", "2 Mbit/s"]', 7, "rat"),
        ('[grid]\n"path.rate" = ["1 Mbit/s", "2 Mbps/s"]', 7, "2 Mbps/s"),
        ('[grid]\n"path.rate" = ["1 Mbit/s", "1 Mbit/s"]', 7, "twice"),
        ('[grid]\n"flow.algorithm" = ["cubic", "cubic+serch"]', 7, "did you mean"),
        ('[grid]\n"path.rate" = { from = "1 Mbit/s", to = "9 ms", points = 3 }', 7, "units"),
        ('[grid]\n"path.rate" = { from = "1 Mbit/s", to = "9 Mbit/s" }', 7, "points"),
        ('[grid]\n"path.rate" = { from = "1 Mbit/s", upto = "9 Mbit/s" }', 7, "upto"),
        ('[grid]\n"path.rate.kbit" = [1]', 7, "not a table"),
        ('[grd]\n"path.rate" = []', 6, "did you mean grid"),
        ('[derived]\n"flow.size" = "2 * rat"', 7, "rat has no number"),
        ('[derived]\n"flow.size" = "__import__(1)"', 7, "no function"),
        ('[derived]\n"flow.size" = "1 / 0"', 7, "division"),
        ("[latin_hypercube]\npoints = 3", 6, "keys"),
        ("[latin_hypercube]\nkeys.a = { from = 1, to = 2, points = 3 }", 7, "points"),
        ('[grid]\n"path.rate" = 3', 7, "a list of values, a range"),
        ('[grid]\n"seed" = [1, 2]', 7, "belongs at the top"),
        ("[scenario.flw]", 6, "flw"),
    ],
)
def test_a_refusal_names_file_and_line(tmp_path: Path, text: str, line: int, word: str) -> None:
    base = (
        "[scenario]\n"
        'path = { rate = "20 Mbit/s", rtt = "20 ms", buffer = "1 bdp" }\n'
        "[[scenario.flow]]\n"
        'algorithm = "cubic"\n'
        'size = "100 kB"\n'
    )
    file = tmp_path / "bad.toml"
    file.write_text(base + text + "\n")
    with pytest.raises(InputError) as caught:
        slowstart.sweep(file, folder=tmp_path / "out")
    assert str(caught.value).startswith(f"{file}:{line}: ")
    assert word in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_values_that_do_not_go_together_are_refused_before_anything_runs(tmp_path: Path) -> None:
    both = swept(
        grid={"flow.start": ["0 s", "10 s"], "duration": ["20 s", "5 s"]},
    )
    with pytest.raises(InputError, match=r"start = 10 s, duration = 5 s: .*already over"):
        slowstart.sweep(both, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="something other than a sweep"):
        slowstart.sweep(swept(), folder=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def stop_after(runs: int) -> Callable[[int, int], None]:
    def progress(done: int, _: int) -> None:
        if done >= runs:
            raise KeyboardInterrupt

    return progress


RANDOM = swept(runs=40, grid={"path.loss": ["1 %", "2 %", "3 %"]})


def test_shards_threads_and_interruptions_do_not_change_a_byte(tmp_path: Path) -> None:
    slowstart.sweep(RANDOM, folder=tmp_path / "whole", threads=2)
    for part in (3, 1, 2):
        slowstart.sweep(RANDOM, folder=tmp_path / "parts", shard=(part, 3), threads=1)
    interrupted = tmp_path / "interrupted"
    for stop in (1, 30):
        with pytest.raises(KeyboardInterrupt):
            slowstart.sweep(RANDOM, folder=interrupted, progress=stop_after(stop))
    assert not (interrupted / "flows.parquet").exists()
    slowstart.sweep(RANDOM, folder=interrupted)
    expected = bytes_of(tmp_path / "whole")
    assert bytes_of(tmp_path / "parts") == expected
    assert bytes_of(interrupted) == expected


def test_only_what_is_missing_runs(tmp_path: Path) -> None:
    counts: list[int] = []
    small = swept(runs=5, grid={"path.loss": ["1 %"]})
    slowstart.sweep(small, folder=tmp_path / "out")
    larger = swept(runs=7, grid={"path.loss": ["1 %", "2 %"]})
    slowstart.sweep(larger, folder=tmp_path / "out", progress=lambda _, most: counts.append(most))
    assert set(counts) == {2 + 7}
    counts.clear()
    slowstart.sweep(larger, folder=tmp_path / "out", progress=lambda _, most: counts.append(most))
    assert counts == []


def test_a_record_that_was_cut_off_or_changed_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    done = slowstart.sweep(RANDOM, folder=folder)
    expected = bytes_of(folder)
    (file,) = (folder / RUNS).glob("*.runs")
    whole = file.read_bytes()
    for cut in (10, 60, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        assert done.status().missing > 0
        slowstart.sweep(RANDOM, folder=folder)
        assert bytes_of(folder) == expected
        for other in (folder / RUNS).glob("*.runs"):
            if other != file:
                other.unlink()
    file.write_bytes(whole[:-40] + b"x" + whole[-39:])
    assert done.status().missing > 0
    assert "damaged" in capsys.readouterr().err


def test_files_of_other_machines_can_be_copied_in(tmp_path: Path) -> None:
    slowstart.sweep(RANDOM, folder=tmp_path / "whole")
    for part in (1, 2):
        slowstart.sweep(RANDOM, folder=tmp_path / f"machine-{part}", shard=(part, 2))
    for file in (tmp_path / "machine-2" / RUNS).glob("*.runs"):
        (tmp_path / "machine-1" / RUNS / file.name).write_bytes(file.read_bytes())
    done = slowstart.sweep(RANDOM, folder=tmp_path / "machine-1")
    assert done.status().missing == 0
    assert bytes_of(tmp_path / "machine-1") == bytes_of(tmp_path / "whole")


def test_two_processes_do_not_write_the_same_runs(tmp_path: Path) -> None:
    with Archive(tmp_path), pytest.raises(InputError, match="another process"), Archive(tmp_path):
        pass
    with Archive(tmp_path, (1, 2)):
        with Archive(tmp_path, (2, 2)):
            pass
        for other in ((1, 2), (1, 1)):
            with pytest.raises(InputError, match="another process"), Archive(tmp_path, other):
                pass


def test_two_points_may_have_the_same_runs() -> None:
    names = {name: {"path": {"loss": "1 %"}} for name in ("one", "other")}
    done = slowstart.sweep(swept(runs=3, grid={"network": names}))
    assert done.table["network"].to_list() == ["one"] * 3 + ["other"] * 3
    assert done.table["fct_s"].to_list()[:3] == done.table["fct_s"].to_list()[3:]
    assert done.status().total == 3


def test_points_of_any_scenarios_have_their_labels_as_columns(tmp_path: Path) -> None:
    scenarios = slowstart.compare(["wired", "geo"], ["cubic", "bbr"], size="50 kB")
    points = [Point(each, 2, {"case": f"{each.path} {each.flows[0]}"}) for each in scenarios]
    found = run_points(points, tmp_path / "runs", tables=["links"])
    flows, links = found["flows"], found["links"]
    assert flows["case"].n_unique() == 4
    assert set(links["case"]) == set(flows["case"])
    alone = pl.DataFrame(slowstart.run(scenarios[1], runs=1).links())
    mine = links.filter((pl.col("case") == points[1].labels["case"]) & (pl.col("run") == 0))
    assert mine["packets"].to_list() == alone["packets"].to_list()


def test_runs_without_flows_are_stored() -> None:
    traffic = {
        "duration": "2 s",
        "path": {"rate": "20 Mbit/s", "rtt": "20 ms", "buffer": "1 bdp"},
        "traffic": [{"kind": "datagrams", "rate": "1 Mbit/s"}],
    }
    done = slowstart.sweep({"scenario": traffic, "runs": 2, "tables": ["links"]})
    assert done.status().missing == 0
    assert len(done.table) == 0
    assert len(done.read("links")) > 0


def test_the_example_is_valid() -> None:
    assert Sweep.load(EXAMPLE).definition.points == 2 * 7 * 4


def test_missing_runs_make_no_table(tmp_path: Path) -> None:
    sweep = Sweep.load(RANDOM, tmp_path / "out")
    sweep.execute(shard=(1, 2))
    with pytest.raises(RunError, match="60 of 120 runs are missing"):
        sweep.write()
