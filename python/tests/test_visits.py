"""Visits of one client: pairs by number, phases of Careful Resume, the figure, and `run -a`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import slowstart
from slowstart.commands.cli import invoke
from slowstart.errors import InputError
from slowstart.metrics import visits

FILE = str(Path(__file__).parents[2] / "scenarios" / "visits.toml")
MEMORY, WITHOUT = "cubic+careful-resume", "cubic+hystart"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("visits") / "result"
    assert invoke(["run", FILE, "-a", MEMORY, "-a", WITHOUT, "-o", str(made), "-q"]) == 0
    return made


@pytest.fixture(scope="module")
def table(out: Path) -> pl.DataFrame:
    return visits(json.loads((out / "result.json").read_text()), WITHOUT)


def test_each_visit_is_compared_with_that_of_its_number(table: pl.DataFrame) -> None:
    assert table["visit"].to_list() == [*range(1, 13)] * 2
    assert table["start_s"].to_list() == [20.0 * visit for visit in range(12)] * 2
    without = table.filter(pl.col("name") == WITHOUT)
    assert without["gain_s"].to_list() == [0.0] * 12
    assert without["end"].null_count() == 12
    mine = table.filter(pl.col("name") == MEMORY)
    assert mine["against_s"].to_list() == without["fct_s"].to_list()
    assert mine["lost_more"].to_list() == [
        one - other
        for one, other in zip(mine["segments_lost"], without["segments_lost"], strict=True)
    ]


def test_the_phases_follow_each_other_and_a_retreat_deletes_what_was_saved(
    table: pl.DataFrame,
) -> None:
    mine = table.filter(pl.col("name") == MEMORY)
    second, third, fourth = mine[1:4].to_dicts()
    # The age counts from the end of the visit before.
    assert second["age_s"] == pytest.approx(20 - mine["fct_s"][0] + 0.05, abs=0.1)
    assert second["jump_cwnd_bytes"] == pytest.approx(second["saved_cwnd_bytes"] / 2, abs=1448)
    # One round trip for the handshake, one for the initial window, one for the jump.
    assert second["reconnaissance_s"] == pytest.approx(0.1, abs=0.002)
    assert second["unvalidated_s"] == pytest.approx(0.2, abs=0.005)
    assert second["unvalidated_s"] < second["validating_s"] < second["normal_s"]
    assert (second["end"], second["safe_retreat_s"]) == ("validated", None)
    assert second["gain_s"] > 0.3
    # Half of what a full queue delivered is above the BDP.
    assert third["end"] == "retreated"
    assert third["validating_s"] < third["safe_retreat_s"] < third["normal_s"]
    assert (fourth["end"], fourth["saved_cwnd_bytes"]) == (None, None)
    # The rate fell to an eighth of what is remembered: no gain, and losses.
    sixth = mine.row(5, named=True)
    assert sixth["end"] == "retreated"
    assert abs(sixth["gain_s"]) < 0.2
    assert sixth["lost_more"] > 300


def test_a_flow_that_reads_no_memory_does_not_keep_others_from_it() -> None:
    text = f"""
    [path]
    rate = "50 Mbit/s"
    rtt = "100 ms"
    [[flow]]
    name = "client"
    algorithm = "{MEMORY}"
    count = 2
    stagger = "20 s"
    size = "2 MB"
    [[flow]]
    name = "beside"
    algorithm = "ALGORITHM"
    start = "10 s"
    duration = "15 s"
    """
    for algorithm, used in (("reno", 1), (MEMORY, 0)):
        scenario = slowstart.Scenario.from_toml(text.replace("ALGORITHM", algorithm))
        mine = visits(slowstart.run(scenario)).filter(pl.col("name") == "client")
        assert mine["saved_cwnd_bytes"].is_not_null().sum() == used, algorithm


def test_the_figure_of_a_saved_result(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["plot", str(out), "visits", "-o", str(out)]) == 0
    assert (out / "visits-visits.svg").stat().st_size > 10_000
    once = json.loads((out / "result.json").read_text())
    for run in once["runs"]:
        run["flows"] = run["flows"][:1]
    plain = out / "plain"
    plain.mkdir()
    (plain / "result.json").write_text(json.dumps(once))
    capsys.readouterr()
    assert invoke(["plot", str(plain), "visits", "-o", str(plain)]) == 2
    assert "a client visits a server again with --flows N --stagger TIME" in capsys.readouterr().err


def test_what_run_and_visits_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", FILE, "-a", "own", "-a", "cubic", "--stack", "quinn"]) == 2
    assert "own is the stack's own controller: it stands alone" in capsys.readouterr().err
    assert invoke(["run", FILE, "-a", "reno", "-a", "cubic", "--cost"]) == 2
    assert "--cost is about one algorithm: give -a once" in capsys.readouterr().err
    flow = {"flow": 0, "name": "a", "start_s": 0.0, "fct_s": None, "segments_lost": 0}
    with pytest.raises(InputError, match="the result has no b: it has a"):
        visits({"runs": [{"run": 0, "path": "p", "flows": [flow]}]}, "b")
