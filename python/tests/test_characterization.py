"""The characterization of a path: its statistics, figure and command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from slowstart import InputError, characterization
from slowstart.commands.cli import invoke
from slowstart.report import tables

TRACES = Path(__file__).parents[3] / "shared" / "data" / "traces"


def link(times: list[float] | np.ndarray, end: float) -> characterization.Link:
    return characterization.Link("forward", end, 1250, np.asarray(times, dtype=np.float64))


def test_rates_count_whole_bins() -> None:
    # One packet of 10,000 bits per 10 ms is 1 Mbit/s; the last, incomplete bin is ignored.
    found = characterization.rates(link(np.arange(105) * 0.01 + 0.005, 1.05), 0.1)
    assert found.tolist() == pytest.approx([1e6] * 10)


def test_variation_and_autocorrelation_are_those_of_the_formula() -> None:
    wave = 1 + 0.5 * np.sin(np.arange(1000) * math.pi / 10)
    assert characterization.variation(wave) == pytest.approx(0.5 / math.sqrt(2))
    assert characterization.autocorrelation(wave, 20) == pytest.approx(1, abs=0.02)
    assert characterization.autocorrelation(wave, 10) == pytest.approx(-1, abs=0.02)
    assert characterization.autocorrelation(wave, 5) == pytest.approx(0, abs=0.02)
    assert characterization.autocorrelation(np.ones(100), 1) is None
    assert characterization.autocorrelation(wave[:15], 10) is None
    assert characterization.variation(np.zeros(10)) is None


def test_bursts_are_distinguished_from_even_spacing() -> None:
    # Five packets 0.1 ms apart, every 4 ms.
    times = (np.arange(500)[:, None] * 0.004 + np.arange(5) * 0.0001).ravel()
    starts, sizes = characterization.bursts(link(times, 2.0))
    assert set(sizes) == {5.0}
    assert np.diff(starts) == pytest.approx(0.004)
    # They are bursts at a fifth of the rate, too: gaps are relative to the local rate.
    slow = np.concatenate([times, 2 + times * 5])
    assert set(characterization.bursts(link(slow, 12.0))[1]) == {5.0}
    even = characterization.bursts(link(np.arange(1000) * 0.001, 1.0))
    assert len(even[0]) == 0


def test_a_path_matches_its_file(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        '[path]\nrate = "12 Mbit/s"\nrtt = "40 ms"\nloss = "10 %"\noverhead = "0 B"\n'
        'reverse.jitter = "5 ms"\n'
    )
    seen = characterization.watch(str(file), duration="20 s", every="5 ms")
    found = characterization.numbers(seen)["characterization"]
    (forward,) = found["links"]
    assert forward["mean_bps"] == pytest.approx(12e6, rel=1e-3)
    assert forward["gap_ms"] == pytest.approx({"p50": 1, "p90": 1, "p99": 1, "max": 1})
    assert forward["bursts"] is None
    probes = found["probes"]
    assert probes["sent"] == 4000
    assert 330 < probes["lost_forward"] < 470
    assert probes["lost_reverse"] == 0
    delays = probes["delay_ms"]
    # 84 bytes at 12 Mbit/s are 56 us.
    assert delays["forward"]["min"] == pytest.approx(20.056)
    assert delays["forward"]["max"] == pytest.approx(20.056)
    assert delays["reverse"]["min"] == pytest.approx(20, abs=0.1)
    assert delays["reverse"]["max"] == pytest.approx(25, abs=0.1)
    assert delays["round_trip"]["p50"] == pytest.approx(42.556, abs=0.4)
    again = characterization.watch(str(file), duration="20 s", every="5 ms")
    assert again.probes.equals(seen.probes)
    other = characterization.watch(str(file), seed=2, duration="20 s", every="5 ms")
    assert not other.probes.equals(seen.probes)


def test_background_traffic_uses_its_fraction_and_delays_a_probe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        '[path]\nrate = "10 Mbit/s"\nrtt = "40 ms"\nbuffer = "100 packets"\noverhead = "0 B"\n'
        '[[traffic]]\nkind = "datagrams"\nrate = "6 Mbit/s"\nwarm_up = "2 s"\nspread = "1 ms"\n'
        '[[flow]]\nalgorithm = "cubic"\n'
    )
    out = tmp_path / "out"
    assert invoke(["path", str(file), "--duration", "10 s", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "background traffic" in shown
    found = json.loads((out / "result.json").read_text())["characterization"]
    # The links without traffic, for the same time.
    assert found["links"][0]["end_s"] == pytest.approx(12)
    assert found["links"][0]["mean_bps"] == pytest.approx(10e6, rel=0.01)
    busy = found["busy"]
    assert busy["warm_up_s"] == 2
    # 60 % load, plus 1 % for the probe.
    assert busy["links"][0]["share_mean"] == pytest.approx(0.61, abs=0.005)
    assert busy["traffic"][0]["kind"] == "datagrams"
    assert busy["probe"]["lost"] == 0
    assert busy["probe"]["sent"] == pytest.approx(10e6 / 12e3 / 100 * 10, abs=3)
    # A full packet of 1.2 ms, after at most one datagram.
    trips = busy["probe"]["round_trip_ms"]
    assert 41.1 < trips["min"] < trips["max"] < 42.5
    assert len(pl.read_parquet(out / "round_trips.parquet")) > 80
    assert characterization.watch("wired", duration="1 s").busy is None


def test_a_recorded_cell_matches_the_reference() -> None:
    file = TRACES / "TMobile-UMTS-driving.down"
    if not file.exists():
        pytest.skip("the folder of recorded traces is missing")
    found = characterization.numbers(
        characterization.watch(f"trace:{file}", duration="928 s", every="1 s")
    )
    forward = found["characterization"]["links"][0]
    # docs/reference/sources.md, "Recorded traces"; an opportunity is 1500 bytes, as packets here.
    assert forward["mean_bps"] == pytest.approx(2.02e6, abs=0.01e6)
    rates = [value / 1e6 for value in forward["rate_100ms_bps"].values()]
    assert rates == pytest.approx([0, 0.6, 1.8, 2.9, 5.6], abs=0.12)
    assert forward["variation"]["1000_ms"] == pytest.approx(0.78, abs=0.006)
    values = list(forward["autocorrelation_100ms"].values())
    assert values == pytest.approx([0.92, 0.79, 0.46, 0.24], abs=0.02)
    assert forward["gaps_over_200_ms"] == pytest.approx(165, abs=1)


def test_the_command_replaces_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["path", "docsis", "--duration", "5 s", "-o", str(out)]
    assert invoke(arguments) == 0
    shown = capsys.readouterr().out
    assert "forward, Mbit/s" in shown
    assert " 150 " in shown
    assert "round trip" in shown
    names = sorted(each.name for each in out.iterdir())
    assert names == ["packets.parquet", "path.png", "path.svg", "probes.parquet", "result.json"]
    document = json.loads((out / "result.json").read_text())
    assert document["format"] == 1
    assert document["characterization"]["links"][0]["packets"] == len(
        pl.read_parquet(out / "packets.parquet").filter(pl.col("link") == "forward")
    )
    drawn = (out / "path.svg").read_bytes()
    assert invoke([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document
    assert (out / "path.svg").read_bytes() == drawn


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["goe"], "did you mean"),
        (["wired", "--duration", "1 ms"], "the duration must be at least 1 s, not 1 ms"),
        (["wired", "--every", "0 s"], "the probe interval must be at least 100 us, not 0 s"),
        (["wired", "--seed", "-1"], "the seed"),
    ],
)
def test_invalid_input_gets_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert invoke(["path", *arguments, "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("width", [60, 72, 80, 160])
def test_no_number_is_cut_in_a_narrow_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = characterization.numbers(characterization.watch("geo", duration="2 s"))
    monkeypatch.setattr(tables, "console", lambda: Console(width=width, highlight=False))
    characterization.show(document)
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    for each in document["characterization"]["links"]:
        assert tables.rate(each["mean_bps"]).partition(" ")[0] in shown
        assert tables.number(each["gap_ms"]["max"]) in shown
        assert tables.number(each["gap_ms"]["p90"]) in shown


def test_an_early_end_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    document = characterization.numbers(characterization.watch("wired", duration="2 s"))
    characterization.show(document)
    assert "was watched for" not in capsys.readouterr().out
    document["characterization"]["links"][0].update(packets=4_000_000, end_s=48.44)
    characterization.show(document)
    assert "forward was observed for 48.4 s only" in capsys.readouterr().out


def test_a_reverse_link_without_a_rate_is_not_observed() -> None:
    seen = characterization.watch("wired", duration="1 s")
    assert [each.name for each in seen.links] == ["forward"]
    with pytest.raises(InputError):
        characterization.watch("wired", duration="never")


def test_equal_gaps_have_an_axis_whose_ticks_differ() -> None:
    drawn = characterization.figure(characterization.watch("wired", duration="5 s"))
    drawn.canvas.draw()
    (gaps,) = (axes for axes in drawn.axes if axes.get_xlabel().startswith("gap"))
    ticks = [each.get_text() for each in gaps.get_xticklabels()]
    assert len(ticks) == len(set(ticks)), ticks
