"""The study of document 001: its closed forms, and a short run from end to end."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from slowstart import studies
from slowstart.studies.search_norm import crossing, loss_seen, norm, spectrum

# The normalized difference so many RTTs after capacity, for windows of 2, 3.5 and 5 RTTs.
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


def test_where_it_crosses() -> None:
    assert crossing(0.26) == pytest.approx(1.452, abs=1e-3)
    assert crossing(0.35) == pytest.approx(2.205, abs=1e-3)
    assert crossing(0.26, queue=True) == pytest.approx(3.88, abs=0.005)
    assert crossing(0.35, queue=True) == pytest.approx(4.74, abs=0.005)
    assert crossing(0.51) == math.inf
    assert loss_seen(np.array([2.0]))[0] == pytest.approx(4.557, abs=1e-3)


def test_a_spectrum_finds_what_swings() -> None:
    time = np.linspace(0, 8, 400)
    found = spectrum(time, 600 + 20 * time + 100 * np.sin(2 * np.pi * 0.5 * time), 8)
    assert found is not None
    frequency, amplitude = found
    assert frequency[int(np.argmax(amplitude))] == pytest.approx(0.5, abs=0.05)
    assert spectrum(time, time, 0.1) is None


def test_end_to_end(tmp_path: Path) -> None:
    only = ["passive", "wifi", "noiseless", "limited"]
    study = studies.load("search-thesis")
    findings = study.run(tmp_path / "out", quick=True, runs=1, only=only)
    found = {each.claim.name: each for each in findings.verdicts}
    assert found["norm-maximum"].word == "agrees"
    assert found["none-late-geo"].reason == "the experiment active was left out"
    leave = found["exit-geo"].estimate
    assert leave is not None
    assert 10 < leave.value < 20
    # At 1 MB of buffer the loss comes first, so there is no decision to speak of.
    late = found["search-late-leo"].estimate
    assert late is not None
    assert late.value == 1
    error = found["bins-error-at-ends"].estimate
    assert error is not None
    assert 0 < error.value < 0.2
    drawn = {each.stem for each in (tmp_path / "out").glob("*.svg")}
    assert {"norm", "spectra", "examples", "latency", "wifi-downloads"} <= drawn
    # The simulated flow is where the closed form is: half of the windows are full of capacity.
    flows = findings.table("noiseless", "simulated")
    (exit_s,) = flows["passive_exit_s"].to_list()
    (capacity_s,) = flows["capacity_true_s"].to_list()
    assert (exit_s - capacity_s) / 0.1 - 1 == pytest.approx(crossing(0.35, queue=True), abs=0.8)
