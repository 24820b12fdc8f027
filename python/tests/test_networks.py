"""Ad-hoc networks and constellations: examples, documents, tables, figures and maps."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import slowstart
from slowstart import InputError, characterization
from slowstart.commands.cli import invoke
from slowstart.figures import networks as network_plots
from slowstart.figures import topology

if TYPE_CHECKING:
    from conftest import Command

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EXAMPLES = ("adhoc", "adhoc-mobile", "wired-and-wireless", "iridium")


def example(name: str) -> Path:
    return SCENARIOS / f"{name}.toml"


def brief(name: str, seconds: int = 5) -> slowstart.Scenario:
    """An example with one run of a few seconds."""
    text = example(name).read_text().replace("runs = 3", "runs = 1")
    for duration in ("30 s", "60 s"):
        text = text.replace(f'duration = "{duration}"', f'duration = "{seconds} s"')
    return slowstart.Scenario.from_toml(text, name=f"{name}.toml", folder=SCENARIOS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_runs(name: str) -> None:
    result = slowstart.run(brief(name))
    run = json.loads(result.to_json())["runs"][0]
    network = run["network"]
    packets, data = network["packets"], network["data"]
    assert packets["offered"] > 100
    inside_or_out = packets["delivered"] + packets["dropped"] + packets["inside"]
    assert packets["offered"] == inside_or_out
    assert packets["dropped"] == sum(packets["drops"].values())
    assert 0 < data["delivered"] <= data["sent"] <= data["copies"]
    assert data["bytes_delivered"] == sum(node["bytes_delivered"] for node in network["nodes"])
    assert any(flow["bytes_acked"] > 0 for flow in run["flows"])
    assert ("air" in network) == (name != "iridium")
    row = pl.DataFrame(result.networks()).row(0, named=True)
    assert row["data_sent"] == data["sent"]
    assert row["delay_mean_ms"] == data["delay_mean_ms"]
    assert len(pl.DataFrame(result.nodes())) == len(network["nodes"])
    drops = pl.DataFrame(result.network_drops())
    assert dict(drops.select("cause", "packets").iter_rows()) == packets["drops"]


def test_a_network_alone_has_no_path() -> None:
    path = brief("adhoc").resolved["path"]
    assert path["network"]["kind"] == "adhoc"
    assert not {"rate_bps", "bdp_bytes", "base_rtt_ms", "forward", "reverse"} & set(path)
    run = json.loads(slowstart.run(brief("adhoc", 2)).to_json())["runs"][0]
    assert run["links"] == []
    assert all(flow["capacity"]["true_s"] is None for flow in run["flows"])


def test_a_comparison_meets_the_same_nodes() -> None:
    scenarios = slowstart.compare(
        str(example("adhoc")), ["cubic+hystart", "reno"], duration="2 s", flows=3, stagger="200 ms"
    )
    nodes = pl.DataFrame(slowstart.run(scenarios).nodes())
    parties = [
        set(mine.filter(pl.col("data_sent") > 0)["node"])
        for _, mine in nodes.group_by("flows", maintain_order=True)
    ]
    assert parties[0] == parties[1]
    assert parties[0]


def test_a_comparison_without_a_bottleneck_judges_no_exit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", str(example("iridium")), "-a", "cubic", "-a", "bbr", "-n", "1", "--cost"]
    assert invoke([*words, "--size", "200kB", "-o", str(tmp_path / "report")]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("cubic"))
    assert row.split()[-1] == "-"


def test_a_report_has_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "few.toml"
    text = example("adhoc").read_text().replace('duration = "30 s"', 'duration = "3 s"')
    file.write_text(text)
    folder = tmp_path / "report"
    assert invoke(["run", str(file), "-n", "2", "-o", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "ad-hoc network: 20 nodes in 600 m x 600 m, 802.11, dsdv" in shown
    assert "network with" in shown
    for name in ("networks", "nodes", "network_drops"):
        assert not pl.read_parquet(folder / f"{name}.parquet").is_empty()
    assert {each.stem for each in folder.glob("*.svg")} >= {"network-adhoc", "nodes-adhoc"}
    assert "network with" in (folder / "report.html").read_text()


def test_the_map_of_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "map"
    file = str(example("adhoc"))
    assert invoke(["path", file, "--duration", "10 s", "-o", str(folder)]) == 0
    assert "mean number of neighbours" in capsys.readouterr().out
    assert (folder / "network.svg").stat().st_size > 10_000
    found = network_plots.read(file, seed=1, duration="10 s")
    assert found is not None
    assert not found["moves"]
    (frame,) = found["frames"]
    assert len(frame["points"]) == 20
    for (x, y), route in zip(frame["points"], frame["routes"], strict=False):
        assert 0 <= x <= 600
        assert 0 <= y <= 600
        links = {tuple(each) for each in frame["links"]}
        passed = route["points"] or []
        hops = [tuple(sorted(pair)) for pair in itertools.pairwise(passed)]
        assert set(hops) <= links
    assert network_plots.read("wired", seed=1, duration="1 s") is None


def test_the_map_of_a_constellation() -> None:
    found = network_plots.read(str(example("iridium")), seed=1, duration="100 min")
    assert found is not None
    assert found["moves"]
    assert len(found["frames"]) == 6
    assert all(len(frame["points"]) == 2 + 66 for frame in found["frames"])
    (numbers,) = network_plots.numbers(found)
    assert numbers["routed"] == 1.0
    # Two links to the ground of 780 km each are 5.2 ms.
    assert 5.2 < numbers["delay_min_ms"] < numbers["delay_max_ms"] < 140
    figure = network_plots.figure(found, "iridium")
    maps = [axes for axes in figure.axes if axes.get_xlim() == (-180, 180)]
    assert len(maps) == 6
    assert [axes.get_ylabel() for axes in maps[::2]] == ["latitude (°)"] * 3
    assert [axes.get_xlabel() for axes in maps[-2:]] == ["longitude (°)"] * 2


def test_coast_lines_are_on_the_map_and_have_both_capes() -> None:
    points = [point for piece in network_plots.coasts() for point in piece]
    assert all(-180 <= x <= 180 and -90 <= y <= 84 for x, y in points)
    # Cape Horn at 67 W, 56 S, and the North Cape at 26 E, 71 N.
    for cape in ((-67, -56), (26, 71)):
        assert min(abs(x - cape[0]) + abs(y - cape[1]) for x, y in points) < 3


def test_nodes_that_move_are_drawn_at_six_moments() -> None:
    found = network_plots.read(str(example("adhoc-mobile")), seed=1, duration="60 s")
    assert found is not None
    assert found["moves"]
    first, *_, last = found["frames"]
    assert len(found["frames"]) == 6
    assert first["points"] != last["points"]


def test_wires_are_drawn_without_the_radio_nodes() -> None:
    found = topology.read(str(example("wired-and-wireless")))
    drawn = [each["name"] for each in topology._wired(found)["nodes"]]
    assert drawn == ["left", "right", "node 0"]
    assert topology.figure(found, "wires") is not None


def test_only_the_simulator_has_networks(command: Command) -> None:
    with pytest.raises(InputError, match=r"there is no \[path\] to measure"):
        characterization.watch(str(example("adhoc")))
    refused = command("compare", str(example("adhoc")), "-a", "cubic", "--stack", "linux")
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_the_list_names_every_kind_and_an_example(command: Command) -> None:
    shown = json.loads(command("list", "networks", "--json").stdout)["networks"]
    assert [each["name"] for each in shown] == ["adhoc", "constellation", "ideal"]
    root = SCENARIOS.parent
    for each in shown:
        assert (root / each["page"]).exists()
        assert (root / each["example"]).exists()
