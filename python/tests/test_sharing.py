"""How flows that run at the same time share a path: shares, Jain's index, harm."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import slowstart
from slowstart import Scenario, metrics
from slowstart.commands.cli import invoke
from slowstart.report import sharing

if TYPE_CHECKING:
    from pathlib import Path

MIX = """
name = "mix"
runs = 6
[path]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
[[flow]]
name = "tcp"
algorithm = "cubic"
duration = "1 s"
count = 2
stagger = "100 ms"
[[flow]]
name = "quic"
stack = "quinn"
algorithm = "cubic+search"
duration = "1 s"
"""
APART = """
[path]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
[[flow]]
algorithm = "cubic"
size = "20 kB"
count = 2
stagger = "5 s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "mix.toml"
    file.write_text(MIX)
    return file


def test_shares_and_harm_are_those_of_the_flows() -> None:
    mix = Scenario.from_toml(MIX)
    main, made = slowstart.run(mix), sharing.others([mix])
    result = slowstart.run(made)
    beside = [result.select(place) for place in range(len(made))]
    tcp, quic, whole = sharing.shares([mix], main, beside)
    assert [tcp.name, quic.name, whole.name] == ["tcp", "quic", ""]
    assert [tcp.flows, quic.flows, whole.flows] == [2, 1, 3]
    assert [tcp.fair, quic.fair] == pytest.approx([2 / 3, 1 / 3])

    # The medians again, from the plain rows.
    rates: dict[str, list[list[float]]] = {"tcp": [], "quic": []}
    for _, run in pl.DataFrame(main.flows()).group_by("run", maintain_order=True):
        for name, some in rates.items():
            some.append(run.filter(pl.col("name") == name)["goodput_bps"].to_list())
    both = list(zip(rates["tcp"], rates["quic"], strict=True))
    parts = [sum(mine) / (sum(mine) + sum(other)) for mine, other in both]
    assert tcp.share is not None
    assert tcp.share.median == pytest.approx(pl.Series(parts).median())
    assert whole.jain is not None
    index = [metrics.jain([*mine, *other]) for mine, other in both]
    assert whole.jain.median == pytest.approx(pl.Series(index).median())

    # Alone, the one flow of QUIC has the link: it loses what it does not get beside TCP.
    alone = pl.DataFrame(beside[2].flows())
    assert alone["name"].unique().to_list() == ["quic"]
    lost = [
        1 - some[0] / solo
        for some, solo in zip(rates["quic"], alone["goodput_bps"].to_list(), strict=True)
    ]
    assert quic.harm is not None
    assert quic.harm.median == pytest.approx(pl.Series(lost).median())


def test_flows_for_the_harm_have_the_kind_of_the_name() -> None:
    mix = Scenario.from_toml(MIX)
    tcp_alone, all_tcp, quic_alone, all_quic = sharing.others([mix])
    assert [each.flows for each in (tcp_alone, quic_alone)] == [["tcp", "tcp"], ["quic"]]
    for made, stack in ((all_tcp, None), (all_quic, "quinn")):
        flows = made.resolved["flows"]
        assert [flow["name"] for flow in flows] == ["tcp", "tcp", "quic"]
        assert [flow.get("stack") for flow in flows] == [stack] * 3
        starts = [flow["start_s"] for flow in flows]
        assert starts == [flow["start_s"] for flow in mix.resolved["flows"]]


def test_flows_one_after_the_other_share_nothing() -> None:
    apart = Scenario.from_toml(APART)
    assert sharing.shares([apart], slowstart.run(apart)) == []


def test_run_prints_and_writes_the_shares(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert invoke(["run", str(file), "--harm", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "mix: flows together" in printed
    assert "harm by own kind" in printed
    assert "all of tcp, quic" in printed
    table = pl.read_csv(out / "sharing.csv")
    assert table["name"].to_list() == ["tcp", "quic", "all"]
    assert table["harm"].null_count() == 1
    assert "How the flows share the path" in (out / "report.html").read_text()
    assert (out / "sharing.svg").is_file()
    drawn = tmp_path / "drawn"
    assert invoke(["plot", str(out), "sharing", "-o", str(drawn)]) == 0
    # The document has the runs of the scenario only.
    assert len(json.loads((out / "result.json").read_text())["runs"]) == 6


def test_harm_without_others_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    apart = tmp_path / "apart.toml"
    apart.write_text(APART)
    assert invoke(["run", str(apart), "--harm"]) == 2
    assert "--harm needs flows of two names: the file has flows of one" in capsys.readouterr().err
