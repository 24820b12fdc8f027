"""``slowstart study show CLAIM``: from a claim to its measure, its runs and its command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

FOUND = {
    "id": "throughput-geo",
    "stack": "simulated",
    "verdict": "agrees",
    "reason": "at least 1.03",
    "explanation": "",
    "holds": True,
    "measured": {"value": 1.5, "low": 1.25, "high": 2.0, "confidence": 0.95, "runs": 77},
}


def test_a_claim_without_results_has_its_measure_and_its_command(command: Command) -> None:
    done = command("study", "show", "throughput-geo", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["study"] == "search-thesis"
    assert made["measure"] == "median of the ratios of goodput_bps between runs with equal seeds"
    assert made["runs"]["select"] == {"network": "geo", "algorithm": "cubic+search"}
    assert made["runs"]["against"] == {"network": "geo", "algorithm": "cubic+hystart"}
    # The thesis has 77 downloads on this network.
    assert (made["runs"]["cells"], made["runs"]["runs_of_each"]) == (1, [77])
    assert made["agrees_if"] == "at least 1.03"
    assert made["found"] == []
    assert made["command"] == "slowstart study search-thesis --only active"
    assert "2024" in made["source"]


def test_a_claim_with_results_has_what_they_found(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    result = {"quick": True, "claims": [{**FOUND, "id": "other"}, FOUND]}
    (tmp_path / "mine" / "result.json").write_text(json.dumps(result))
    done = command("study", "show", "search-thesis/throughput-geo", "-o", "mine")
    assert done.returncode == 0, done.stderr
    assert "found 1.5 (95 % interval 1.25 to 2) in 77 runs: agrees of a quick run" in done.stdout
    assert "mine/report.html#throughput-geo" in done.stdout
    assert "slowstart study search-thesis --only active -o mine" in done.stdout


def test_a_claim_that_does_not_exist_is_refused(command: Command) -> None:
    for words, said in (
        (("show", "throughput-gio"), "did you mean throughput-geo?"),
        (("show", "search-thesis/throughput-gio"), "did you mean throughput-geo?"),
        (("show",), "study show needs the id of a claim"),
        (("show", "throughput-geo", "--quick"), "study show runs nothing"),
        (("search-thesis", "throughput-geo"), "for a claim, study show throughput-geo"),
    ):
        done = command("study", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
