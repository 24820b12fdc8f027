"""Scenarios that ship with the package."""

from __future__ import annotations

import json
import math
import re
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import slowstart
from slowstart.store import shipped

if TYPE_CHECKING:
    from conftest import Command

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "suite.md"
EVERY = {each.name: each for each in shipped.scenarios()}


def expanded(family: str) -> list[str]:
    """The names of ``suite/name-{a,b}-{c,d}``."""
    parts = re.split(r"\{(.*?)\}", family)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


@pytest.mark.parametrize("name", EVERY)
def test_every_scenario_is_read_and_resolved(name: str) -> None:
    scenario = shipped.load(name)
    resolved = scenario.resolved
    assert resolved["name"] == name
    assert resolved["duration_s"] > 0
    assert "$" not in EVERY[name].text()
    assert len(EVERY[name].summary) > 20
    for each in (*resolved["flows"], *resolved["path"]["traffic"]):
        assert each.get("algorithm", "reno+standard") == "reno+standard"


def test_the_families_are_the_names_and_the_page_has_them() -> None:
    families = {each.family for each in EVERY.values()}
    assert {name for family in families for name in expanded(family)} == set(EVERY)
    page = PAGE.read_text()
    named = set(re.findall(r"\| `(suite/.*?)` \|", page))
    assert families <= named
    # The table of run times has scenarios.
    assert named - families <= set(EVERY)


def rtts_ms(path: dict[str, Any]) -> list[float]:
    """The RTTs of the nine pairs, in the order in which connections take them."""
    far, near = (hosts["delays_ms"] for hosts in path["hosts"])
    count = path["hosts"][0]["count"]
    pairs = {(far[turn % len(far)], near[turn % len(near)]) for turn in range(count)}
    assert len(pairs) in (4, 9)  # The data centre has two delays.
    core = path["base_rtt_ms"]
    return sorted({round(core + 2 * (a + b), 3) for a, b in pairs})


# Hayes, Ros, Andrew and Floyd 2014: the RTTs with a central link of no delay, rates of both
# directions in Mbit/s, one-way delay of the central link in ms, buffers in ms.
BASE_MS = [4, 28, 54, 74, 98, 124, 150, 174, 200]
DRAFT = {
    "access": ((100, 100), 2, (100, 100)),
    "trans-oceanic": ((1000, 1000), 65, (100, 100)),
    "geo": ((40, 4), 300, (100, 1000)),
    "dial-up": ((0.064, 0.064), 5, (1250, 1250)),
}


@pytest.mark.parametrize("name", DRAFT)
def test_the_dumbbells_are_those_of_the_draft(name: str) -> None:
    rates, delay_ms, buffers_ms = DRAFT[name]
    for load in (60, 85, 110):
        path = shipped.load(f"suite/{name}-{load}").resolved["path"]
        assert rtts_ms(path) == [each + 2 * delay_ms for each in BASE_MS]
        links = (path["forward"], path["reverse"])
        for link, rate, buffer_ms in zip(links, rates, buffers_ms, strict=True):
            assert link["service"]["rate_bps"] == rate * 1e6
            assert link["queue_limit_bytes"] == pytest.approx(rate * 1e3 * buffer_ms / 8)
        down, up = path["traffic"]
        for traffic, rate, part in ((down, rates[0], 1), (up, rates[1], 0.5)):
            # A connection has 1/0.35 responses of 14 kB on average, in segments of two sizes.
            wire = 14_000 / 0.35 * (0.9 * (1 + 52 / 1460) + 0.1 * (1 + 52 / 496))
            offered = traffic["arrivals_per_s"] * wire * 8 / (rate * 1e6)
            assert offered == pytest.approx(load / 100 * part)


def test_the_data_centre_has_its_delays() -> None:
    path = shipped.load("suite/data-centre-60").resolved["path"]
    assert rtts_ms(path) == [0.04, 0.22, 0.4]
    assert path["warm_up_s"] == 72


def test_ramp_up_has_its_rtts() -> None:
    for first, second in ((80, 80), (120, 30), (30, 120)):
        resolved = shipped.load(f"suite/ramp-up-10M-{first}-{second}").resolved
        delays = {hosts["name"]: hosts["delays_ms"][0] for hosts in resolved["path"]["hosts"]}
        for flow, rtt in zip(resolved["flows"], (first, second), strict=True):
            assert 4 + 2 * (delays[flow["from"]] + delays[flow["to"]]) == rtt


def test_steps_of_datagrams_add_up() -> None:
    traffic = shipped.load("suite/transient-steps").resolved["path"]["traffic"]
    assert [each["start_s"] for each in traffic] == list(range(100, 130))
    assert math.isclose(sum(each["rate_bps"] for each in traffic), 75e6)


def test_the_algorithm_under_test() -> None:
    for name, expected in (
        ("suite/access-60", {"cubic+search"}),
        ("suite/impact-50-mix", {"cubic+search", "reno+standard"}),
        ("suite/impact-50-base", {"reno+standard"}),
    ):
        traffic = shipped.load(name, "cubic+search").resolved["path"]["traffic"]
        assert {each["algorithm"] for each in traffic} == expected


def test_a_scenario_runs_by_name(command: Command) -> None:
    name = "suite/transient-decrease"
    done = command("run", name, "--json", "-a", "cubic")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["scenario"]["name"] == name
    assert document["runs"][0]["flows"][0]["bytes_acked"] > 1e9
    assert document["runs"][0]["traffic"][0]["bytes_delivered"] > 9e8


def test_a_path_is_looked_at_by_name(command: Command) -> None:
    done = command("path", "suite/transient-increase", "--duration", "1 s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["characterization"]["path"]["name"] == "suite/transient-increase"


def test_scenarios_are_listed(command: Command) -> None:
    done = command("list", "scenarios", "--json")
    listed = json.loads(done.stdout)["scenarios"]
    assert [each["name"] for each in listed] == list(EVERY)
    for each in listed[:3]:
        assert slowstart.Scenario.from_toml(each["toml"]).resolved["name"] == each["name"]
    done = command("list", "scenarios")
    assert "suite/access-60" in done.stdout


def test_refusals(command: Command) -> None:
    for arguments, message in (
        (
            ("run", "suite/acess-60"),
            'there is no scenario "suite/acess-60"; did you mean suite/access-60?',
        ),
        (("path", "suite/nothing-at-all"), 'there is no scenario "suite/nothing-at-all"'),
        (("run", "some.toml", "-a", "cubic"), "some.toml: "),
    ):
        done = command(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
