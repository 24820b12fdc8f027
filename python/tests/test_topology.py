"""The map of a topology: layout, figure and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowstart import InputError, characterization
from slowstart.commands.cli import invoke
from slowstart.figures import topology

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture
def lot() -> dict[str, object]:
    return topology.read(str(SCENARIOS / "parking-lot.toml"))


def test_a_chain_stands_on_a_line_from_left_to_right(lot: dict[str, object]) -> None:
    placed = topology._lay_out(lot)
    nodes = [placed.nodes[name] for name in ("left", "right", "r3", "r4")]
    assert len({y for _, y in nodes}) == 1
    assert [x for x, _ in nodes] == sorted({x for x, _ in nodes})
    # No box lies on a node or on another box.
    boxes = list(placed.hosts.values())
    assert len(boxes) == 8
    for place, (x, y) in enumerate(boxes):
        for other_x, other_y in [*boxes[:place], *nodes]:
            apart = abs(x - other_x) >= topology._BOX_WIDTH
            assert apart or abs(y - other_y) >= topology._BOX_HEIGHT


def test_the_layout_is_the_same_each_time() -> None:
    found = topology.read(str(SCENARIOS / "graph.toml"))
    one, other = topology._lay_out(found), topology._lay_out(found)
    assert one == other
    assert len(set(one.nodes.values())) == len(found["nodes"])


def test_a_route_passes_its_nodes_and_hosts(lot: dict[str, object]) -> None:
    placed = topology._lay_out(lot)
    long = lot["routes"][0]  # type: ignore[index]
    names = ["left", "right", "r3", "r4"]
    between = [placed.nodes[name] for name in names]
    points = topology._points(lot, placed, long)
    assert points == [placed.hosts["host 1"], *between, placed.hosts["host 8"]]


def test_nine_hundred_hosts_are_two_boxes() -> None:
    found = topology.read(str(SCENARIOS / "dumbbell.toml"))
    assert topology.is_worth_drawing(found)
    placed = topology._lay_out(found)
    assert set(placed.hosts) == {"servers", "clients"}
    label = topology._host_label(found["hosts"][0])
    assert label == "servers x 450\n100 Mbit/s\n0 to 25 ms"


def test_a_preset_has_no_topology() -> None:
    assert not topology.is_worth_drawing(topology.read("wired"))
    with pytest.raises(InputError, match="wirde"):
        topology.read("wirde")


def test_the_command_writes_the_figure_and_lists_routes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(SCENARIOS / "parking-lot.toml")
    out = tmp_path / "lot"
    assert invoke(["path", file, "--duration", "1s", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "forward second third" in printed
    assert (out / "topology.png").stat().st_size > 10_000
    assert (out / "topology.svg").read_text().startswith("<?xml")
    document = characterization.numbers(characterization.watch(file, duration="1 s"))
    routes = document["characterization"]["topology"]["routes"]
    assert [route["base_rtt_min_ms"] for route in routes] == [60.0] * 4


def test_a_link_that_differs_in_reverse_says_so() -> None:
    found = topology.read(str(SCENARIOS / "graph.toml"))
    labels = [
        topology._link_label(link).replace("\N{NO-BREAK SPACE}", " ") for link in found["links"]
    ]
    assert labels[0] == "50.0 Mbit/s, 5 ms\n83 packets\nback: 20.0 Mbit/s, 1000 packets"
    assert labels[1] == "1.00 Gbit/s, 3 ms\n500 packets"


def test_proxies_are_listed_and_drawn_as_squares(capsys: pytest.CaptureFixture[str]) -> None:
    found = topology.read(str(SCENARIOS / "satellite-proxies.toml"))
    topology.show(found)
    assert capsys.readouterr().out.count("4.00 MB") == 2
    axes = topology.figure(found, "satellite").axes[0]
    assert sum(line.get_marker() == "s" for line in axes.lines) == 2
    assert {"left\n(proxy)", "right\n(proxy)"} <= {text.get_text() for text in axes.texts}
