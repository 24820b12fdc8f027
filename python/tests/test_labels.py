"""Labels of algorithms and names of scenarios, in Python, in files, and in sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import slowstart

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

OURS = "cubic+search:threshold=30"
NAMES = {"Ours": OURS, "cubic+hystart": "cubic+hystart"}


def named(flows: Any) -> dict[str, str]:
    table = pl.DataFrame(flows)
    return dict(table.select("name", "algorithm").unique().iter_rows())


def test_a_label_is_the_name_of_flows_in_every_table(tmp_path: Path) -> None:
    given = slowstart.compare("wired", [f"Ours={OURS}", "cubic"], size="100 kB")
    result = slowstart.run(given, traces=True)
    assert named(result.flows()) == NAMES
    assert set(pl.DataFrame(result.links())["flows"]) == {"Ours", "cubic+hystart"}
    assert set(pl.DataFrame(result.summary())["name"]) == {"Ours", "cubic+hystart"}
    # The same with a dictionary, of `compare` or of `run`, and in a file.
    other = slowstart.compare("wired", [OURS, "cubic"], size="100 kB", labels={"Ours": OURS})
    assert slowstart.run(other).to_json() == slowstart.run(given).to_json()
    plain = slowstart.compare("wired", [OURS, "cubic"], size="100 kB")
    assert slowstart.run(plain, labels={"Ours": OURS}).to_json() == slowstart.run(given).to_json()
    slowstart.run(plain, labels={"Ours": OURS}, to=tmp_path / "flows.parquet")
    assert named(pl.read_parquet(tmp_path / "flows.parquet")) == NAMES


def test_labels_change_no_measurement() -> None:
    plain = slowstart.compare("lte", [OURS, "bbr"], size="1 MB", runs=2)
    mine = pl.DataFrame(slowstart.run(plain).flows())
    labelled = pl.DataFrame(slowstart.run(plain, labels={"Ours": OURS, "B": "bbr"}).flows())
    assert labelled.drop("name").equals(mine.drop("name"))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"Ours": "reno"}, "the label Ours is of reno+standard, which does not run"),
        ({"": OURS}, "has an empty label"),
        ({"A": OURS, "B": OURS}, "has two labels, A and B"),
        ({"cubic+hystart": OURS}, "is another algorithm's name"),
        ({"Ours": 3}, "which is not an algorithm"),
        ({"Ours": "cubic+serach"}, "serach"),
    ],
)
def test_refuses_a_label_that_is_not_one(labels: dict[str, str], said: str) -> None:
    scenarios = slowstart.compare("wired", [OURS, "cubic"], size="100 kB")
    with pytest.raises(slowstart.InputError, match="serach" if "serach" in said else None) as error:
        slowstart.run(scenarios, labels=labels)
    assert said in str(error.value)
    with pytest.raises(slowstart.InputError):
        slowstart.compare("wired", [OURS, "cubic"], size="100 kB", labels=labels)


def test_a_label_is_given_once() -> None:
    with pytest.raises(slowstart.InputError, match="given twice"):
        slowstart.compare("wired", [f"A={OURS}"], size="1 MB", labels={"B": OURS})


def test_a_flow_that_is_not_there_is_refused() -> None:
    (scenario,) = slowstart.compare("wired", ["cubic"], size="1 MB")
    said = "wired has no flow `cubic`; it has cubic\\+hystart$"
    with pytest.raises(slowstart.InputError, match=said):
        scenario.with_names(flows={"cubic": "Linux"})
    with pytest.raises(slowstart.InputError, match=said):
        scenario.with_algorithms({"cubic": "reno"})


def test_scenarios_of_one_path_stay_apart() -> None:
    text = """
path = {{ rate = "10 Mbit/s", rtt = "20 ms", buffer = "{}" }}
flow = [{{ algorithm = "cubic", size = "1 MB" }}]
"""
    scenarios = [
        slowstart.Scenario.from_toml(text.format(buffer)).with_names(f"buffer {buffer}")
        for buffer in ("5 packets", "1 bdp")
    ]
    assert [each.name for each in scenarios] == ["buffer 5 packets", "buffer 1 bdp"]
    result = slowstart.run(scenarios, traces=True)
    tables = (result.flows(), result.links(), result.flow_traces(), result.link_traces())
    for table in tables:
        frame = pl.DataFrame(table)
        assert frame["path"].n_unique() == 1
        assert list(frame["scenario"].unique(maintain_order=True)) == [
            "buffer 5 packets", "buffer 1 bdp",
        ]  # fmt: skip


def test_the_table_in_a_file_has_the_labels(command: Command, tmp_path: Path) -> None:
    done = command(
        "compare", "wired", "-a", f"Ours={OURS}", "-a", "cubic", "--size", "100kB",
        "-o", "flows.parquet",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert named(pl.read_parquet(tmp_path / "flows.parquet")) == NAMES
    assert f"Labels: Ours is {slowstart.compare('wired', OURS, size='1 kB')[0].flows[0]}." in (
        done.stdout
    )


SWEEP = {
    "scenario": {
        "path": {"rtt": "20 ms", "buffer": "1 bdp", "rate": "20 Mbit/s"},
        "flow": [{"size": "100 kB"}],
    },
    "grid": {"flow.algorithm": [OURS, "cubic"], "flow.size": ["100 kB", "200 kB"]},
}


def test_a_sweep_shows_labels_and_keeps_its_runs(tmp_path: Path) -> None:
    plain = slowstart.sweep(SWEEP, folder=tmp_path)
    before = plain.table
    done = slowstart.sweep(SWEEP, folder=tmp_path, labels={"Ours": OURS})
    assert done.table["algorithm"].unique(maintain_order=True).to_list() == ["Ours", "cubic"]
    assert done.table["name"].unique(maintain_order=True).to_list() == ["Ours", "cubic+hystart"]
    assert done.table.drop("algorithm", "name").equals(before.drop("algorithm", "name"))
    same = slowstart.sweep({**SWEEP, "labels": {"Ours": OURS}}, folder=tmp_path)
    assert same.table.equals(done.table)


def test_a_sweep_file_refuses_a_label_of_nothing(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        '[scenario]\npath = { rate = "1 Mbit/s", rtt = "20 ms", buffer = "1 bdp" }\n'
        'flow = [{ algorithm = "reno", size = "1 kB" }]\n'
        '[grid]\n"path.rtt" = ["10 ms"]\n[labels]\nOurs = "cubic"\n'
    )
    with pytest.raises(slowstart.InputError, match=r"s\.toml:6: .*cubic\+hystart, which does not"):
        slowstart.sweep(file, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()
