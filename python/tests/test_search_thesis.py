"""The study of Kachooei 2024: its closed forms, and a short run from end to end."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from slowstart import studies
from slowstart.studies.analysis import load_analysis
from slowstart.studies.catalogue import FOLDERS

analysis = load_analysis(FOLDERS / "search-thesis")
assert analysis is not None
closed = importlib.import_module(f"{analysis.__name__}.norm")
LN2, crossing, loss_seen = closed.LN2, closed.crossing, closed.loss_seen
measured_norm, norm, spectrum = closed.measured_norm, closed.norm, closed.spectrum

# RTTs since capacity, and the normalized difference for windows of 2, 3.5 and 5 RTTs.
CLOSED_FORM = [
    (-1, 0, 0, 0),
    (0, 0, 0, 0),
    (1, 0.204568546, 0.168302379, 0.158375649),
    (2, 0.419059784, 0.329734722, 0.306626722),
    (3, 0.5, 0.416468996, 0.374375669),
    (4, 0.5, 0.488686173, 0.421689992),
    (5, 0.5, 0.5, 0.470490154),
]


@pytest.mark.parametrize("row", CLOSED_FORM)
def test_the_closed_form(row: tuple[float, ...]) -> None:
    for window, expected in zip((2, 3.5, 5), row[1:], strict=True):
        assert norm(np.array([float(row[0])]), window)[0] == pytest.approx(expected, abs=1e-9)


def test_threshold_crossings_of_the_closed_form() -> None:
    assert crossing(0.26) == pytest.approx(1.452, abs=1e-3)
    assert crossing(0.35) == pytest.approx(2.205, abs=1e-3)
    assert crossing(0.26, queue=True) == pytest.approx(3.88, abs=0.005)
    assert crossing(0.35, queue=True) == pytest.approx(4.74, abs=0.005)
    assert crossing(0.51) == math.inf
    assert loss_seen(np.array([2.0]))[0] == pytest.approx(4.557, abs=1e-3)


def test_a_spectrum_finds_an_oscillation() -> None:
    time = np.linspace(0, 8, 400)
    found = spectrum(time, 600 + 20 * time + 100 * np.sin(2 * np.pi * 0.5 * time), 8)
    assert found is not None
    frequency, amplitude = found
    assert frequency[int(np.argmax(amplitude))] == pytest.approx(0.5, abs=0.05)
    assert spectrum(time, time, 0.1) is None


def test_sent_and_delivered_agree_while_doubling() -> None:
    # 10 kB, doubling every 100 ms until 1 s, then at constant rate; an ACK every millisecond.
    time = np.arange(0, 2, 0.001)
    acked = np.where(time < 1, 1e4 * 2 ** (10 * time), 1e4 * 2**10 * (1 + 10 * LN2 * (time - 1)))
    series = pl.DataFrame(
        {
            "time_s": time,
            "acked_bytes": acked,
            "in_flight_bytes": acked,
            "rtt_ms": np.full(len(time), 100.0),
        }
    )
    for of_sent in (False, True):
        before, after = measured_norm(series, np.array([0.9, 1.8]), 0.35, of_sent=of_sent)[2]
        assert before == pytest.approx(0, abs=0.02)
        if not of_sent:
            assert after == pytest.approx(0.5, abs=0.01)


def test_end_to_end(tmp_path: Path) -> None:
    only = ["passive", "wifi", "rssi", "noiseless", "limited"]
    study = studies.load("search-thesis")
    findings = study.run(tmp_path / "out", quick=True, runs=1, only=only)
    found = {each.claim.name: each for each in findings.verdicts}
    assert found["norm-maximum"].word == "agrees"
    assert found["none-late-geo"].reason == "the experiment active was left out"
    leave = found["exit-geo"].estimate
    assert leave is not None
    assert 10 < leave.value < 20
    # A decision after the first loss, or none, is a late exit.
    passive = findings.table("passive", "simulated").filter(
        network="leo", algorithm="cubic+search:passive=true"
    )
    ((decided_s, lost_s),) = passive.select("passive_exit_s", "first_loss_s").rows()
    late = found["search-late-leo"].estimate
    assert late is not None
    assert late.value == (0 if decided_s is not None and decided_s < lost_s else 1)
    error = found["bins-error-at-ends"].estimate
    assert error is not None
    assert 0 < error.value < 0.2
    drawn = {each.stem for each in (tmp_path / "out").glob("*.svg")}
    assert {"norm", "spectra", "examples", "latency", "wifi-downloads"} <= drawn
    assert {"bins-norm", "sent", "rounds", "windows", "rate", "rssi", "heuristic-errors"} <= drawn
    # The simulated exit is where the closed form puts it.
    flows = findings.table("noiseless", "simulated")
    (exit_s,) = flows["passive_exit_s"].to_list()
    (capacity_s,) = flows["capacity_true_s"].to_list()
    assert (exit_s - capacity_s) / 0.1 - 1 == pytest.approx(crossing(0.35, queue=True), abs=0.8)


def test_a_run_without_a_norm_from_bins_has_no_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [
        {"first_rtt_ms": first_rtt_ms, "name": name}
        for first_rtt_ms, name in ((40.0, "left at once"), (40.0, "tested"), (None, "no sample"))
    ]
    norms = {
        "left at once": (np.array([0.1, 0.2]), np.array([math.nan, math.nan])),
        "tested": (np.array([0.1, 0.2, 0.3]), np.array([math.nan, 0.1, 0.5])),
    }

    def norms_of(name: str, *_: object, **__: object) -> tuple[object, object, object]:
        return (None, *norms[name])

    def deviation(count: int) -> float | None:
        kept = [(flow, flow["name"]) for flow in flows[:count]]
        monkeypatch.setattr(analysis, "kept_runs", lambda *_: kept)
        assert analysis is not None
        found = analysis.bin_error(None, None, {"hold": True})
        return None if found is None else found.value

    monkeypatch.setattr(analysis, "left_at", lambda _: 1.0)
    monkeypatch.setattr(analysis, "norms_of", norms_of)
    assert deviation(1) is None
    assert deviation(3) == pytest.approx(0.15)
