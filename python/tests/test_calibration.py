"""Calibrations: what the plain baseline allows, and verdicts over it."""

from __future__ import annotations

import json
import math
import re
import subprocess
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command
from scipy.stats import norm
from test_verdicts import CLAIM

from slowstart import InputError, studies
from slowstart.studies import claims, seals
from slowstart.studies.bands import Expected
from slowstart.studies.calibration import Target, applied, takes
from slowstart.studies.catalogue import FOLDERS, names
from slowstart.studies.claims import Verdict, decide, over_points
from slowstart.studies.estimates import Estimate, censor, place
from slowstart.studies.files import Scalar
from slowstart.studies.weights import Sample, compared, weigh

STUDY = """title = "A study"
document = "none"
summary = "One sentence."
minutes = { full = 1, quick = 1 }
[[experiment]]
name = "one"
about = "What it is."
runs = 6
calibrated = true
scenario = { path = { preset = "wired" }, flow = [{ algorithm = "cubic+standard", size = "8 MB" }] }
[experiment.grid]
"flow.algorithm" = ["cubic+standard", "cubic+hystart"]
[[experiment]]
name = "other"
about = "Its own buffer."
runs = 2
[experiment.scenario]
path = { preset = "wired", buffer = "50 packets" }
flow = [{ algorithm = "cubic", size = "1 MB" }]
"""
CLAIMS = """[[claim]]
id = "lost"
where = "page 1"
words = "More than 400 packets are lost."
experiment = "one"
select = { algorithm = "cubic+standard" }
metric = "segments_dropped"
expected = { low = 1, high = LIMIT }
reason = "because"
"""
CALIBRATION = """[[calibration]]
name = "path"
about = "One network."
presets = ["wired"]
runs = 6
judged = 2
scenario = { path = { preset = "wired" }, flow = [{ algorithm = "cubic+standard", size = "8 MB" }] }
search = { kind = "grid" }
[calibration.parameters.buffer]
keys = ["path.buffer"]
values = ["200 packets", "413 packets", "800 packets"]
reason = "not published"
[[calibration.target]]
id = "time"
words = "8 MB take 2 s"
where = "page 1"
metric = "fct_s"
published = 2.1
sd = 0.5
n = 10
rounding = 0.3
discrepancy = 0
"""


def write(folder: Path, calibration: str = CALIBRATION, limit: int = 5000) -> Path:
    made = folder / "mine"
    made.mkdir(exist_ok=True)
    (made / "study.toml").write_text(STUDY)
    (made / "claims.toml").write_text(CLAIMS.replace("LIMIT", str(limit)))
    (made / "calibration.toml").write_text(calibration)
    (made / "README.md").write_text("Chosen.\n")
    return made


def test_a_chosen_value_on_the_edge_of_its_range_is_named(tmp_path: Path) -> None:
    def edges(text: str) -> list[str]:
        found = studies.load(write(tmp_path, text), sets=False).calibrations["path"]
        return found.edges({"buffer": "800 packets"})

    assert edges(CALIBRATION) == ["buffer"]
    reason = 'reason = "not published"'
    assert edges(CALIBRATION.replace(reason, f'{reason}\nedge = "the router has no more"')) == []
    assert edges(CALIBRATION.replace("800", "900").replace("413", "800")) == []


@pytest.mark.parametrize("name", names())
def test_no_chosen_point_of_a_shipped_study_is_on_an_edge_without_a_reason(name: str) -> None:
    study = studies.load(name)
    for each, allowed in study.allowed.items():
        assert study.calibrations[each].edges(allowed.chosen) == []


@pytest.mark.parametrize("name", names())
def test_each_preset_is_the_chosen_point_or_says_why_not(name: str) -> None:
    study = studies.load(name)
    for each, allowed in study.allowed.items():
        calibration = study.calibrations[each]
        if not calibration.targets:
            assert allowed.presets == ()
            for preset in calibration.presets:
                # A preset that leaves a key to its model has no point.
                assert calibration.at_preset(preset) in (None, calibration.fixed)
            continue
        # A preset that changes needs a new search.
        assert [one.preset for one in allowed.presets] == list(calibration.presets)
        for one in allowed.presets:
            assert dict(one.point) == calibration.at_preset(one.preset)
            same = calibration.parts(one.point) == calibration.parts(allowed.chosen)
            assert (one.preset in calibration.apart) == (not same), one.preset
            assert one.met or not same


def test_a_mixture_gives_each_part_its_share_of_the_runs() -> None:
    first = [takes(number, 0.0, 0.6) for number in range(100)]
    rest = [takes(number, 0.6, 1.0) for number in range(100)]
    assert sum(first) == 60
    assert all(one != other for one, other in zip(first, rest, strict=True))
    # Any beginning has nearly the share.
    assert all(abs(sum(first[:count]) - 0.6 * count) <= 1.5 for count in range(1, 100))


def test_a_setting_keeps_the_rest_of_a_presets_table() -> None:
    tree = {"path": {"preset": "wifi-testbed"}, "flow": [{"algorithm": "cubic"}]}
    made = applied(tree, {"path.rate.busy": "70 %", "path.buffer": "2 MB"})
    assert made["path"]["rate"]["busy"] == "70 %"
    assert made["path"]["rate"]["model"] == "wifi"
    assert made["path"]["buffer"] == "2 MB"
    assert tree["path"] == {"preset": "wifi-testbed"}
    # What a cell sets itself stays, unless it is the calibration's own scenario.
    own = {"path": {"preset": "wired", "buffer": "1 MB"}}
    assert applied(own, {"path.buffer": "2 MB"}) == own
    assert applied(own, {"path.buffer": "2 MB"}, force=True)["path"]["buffer"] == "2 MB"


def test_points_that_mean_the_same_are_tried_once(tmp_path: Path) -> None:
    text = CALIBRATION.replace(
        '[calibration.parameters.buffer]\nkeys = ["path.buffer"]\n',
        """[calibration.parameters.share]
values = [0.5, 1.0]
reason = "half of the runs, or all"
[calibration.parameters.other]
keys = ["path.buffer"]
part = 2
values = ["200 packets", "413 packets"]
reason = "not published"
[calibration.parameters.buffer]
part = 1
keys = ["path.buffer"]
""",
    )
    points = studies.load(write(tmp_path, text)).calibrations["path"].points()
    # The other part has no runs beside a share of 1, so its value is no edge.
    calibration = studies.load(write(tmp_path, text), sets=False).calibrations["path"]
    alone: dict[str, Scalar] = {"share": 1.0, "other": "200 packets", "buffer": "413 packets"}
    assert calibration.edges(alone) == ["share"]
    assert calibration.edges({**alone, "share": 0.5}) == ["share", "other"]
    # Three single buffers, {200, 413} in either order, and 800 with each of the two.
    assert len(points) == 6
    assert sum(each["share"] == 1.0 for each in points) == 1


def target(statistic: str = "mean", **changed: Any) -> Target:
    made = Target(
        statistic, "", "", "x", statistic, published=10.0, sd=None, n=100, rounding=0.0,
        discrepancy=0.0, limit=None, labels={},
    )  # fmt: skip
    return replace(made, **changed)


def test_a_distance_counts_both_samples() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(10, 2, 400)
    found = compared(values, target(sd=3.0))
    assert found.value == pytest.approx(10, abs=0.3)
    assert found.error == pytest.approx(math.sqrt(9 / 100 + 4 / 400), rel=0.05)
    # A normal sample's deviation has a standard error of sd / sqrt(2 n).
    spread = compared(values, target("sd", published=2.0, n=400))
    assert spread.error == pytest.approx(2 / math.sqrt(400), rel=0.15)


def points(means: list[float], runs: int, targets: list[Target], sd: float = 2.0) -> list[Any]:
    """Points whose runs are normal around a mean, on the same channels."""
    noise = np.random.default_rng(2).normal(0, sd, runs)
    noise = (noise - noise.mean()) * sd / noise.std(ddof=1)
    number = np.arange(runs)
    return [{each.name: Sample(mean + noise, number) for each in targets} for mean in means]


def test_a_weight_is_the_likelihood_of_the_published_number() -> None:
    targets = [target(sd=2.0)]
    found = weigh(targets, points([9.5, 10.0, 11.0], 400, targets), 400)
    # The variance of the difference is 4 / 100 + 4 / 400.
    expected = np.exp(-0.5 * np.array([0.25, 0.0, 1.0]) / 0.05)
    assert found.of == pytest.approx(expected / expected.sum(), rel=1e-6)
    # The heaviest points that hold 95 %.
    assert found.inside.tolist() == [1, 0]
    # A stated discrepancy is a variance. The print is an interval: any number in it fits as well.
    wider = [target(sd=2.0, rounding=0.3, discrepancy=0.4)]
    found = weigh(wider, points([9.5, 10.0, 11.0], 400, wider), 400)
    one = norm(0, math.sqrt(0.05 + 0.16))
    expected = np.array([one.cdf(gap + 0.3) - one.cdf(gap - 0.3) for gap in (-0.5, 0.0, 1.0)])
    assert found.of == pytest.approx(expected / expected.sum(), rel=1e-6)
    wide = [target(sd=2.0, rounding=1.5)]
    found = weigh(wide, points([9.5, 10.0, 14.0], 400, wide), 400)
    assert found.of == pytest.approx([0.5, 0.5, 0.0], abs=1e-4)


def test_two_targets_that_depend_on_each_other_count_once() -> None:
    one, both = [target(sd=2.0)], [target(sd=2.0), target(sd=2.0, name="again")]
    alone = weigh(one, points([9.5, 10.0], 400, one), 400).of
    # The second is the same number: it adds nothing.
    with_both = points([9.5, 10.0], 400, both)
    assert weigh(both, with_both, 400).of == pytest.approx(alone, rel=1e-6)
    # An independent one adds as much again.
    for each in with_both:
        each["again"] = Sample(np.roll(each["mean"].values, 7), each["mean"].runs)
    assert weigh(both, with_both, 400).of[0] < 0.5 * alone[0]


def test_the_error_of_a_weight_falls_with_the_number_of_runs() -> None:
    # Independent channels: the runs decide between equal points by chance.
    targets = [target(sd=2.0, n=400)]
    errors, low = [], []
    for runs in (10, 1000):
        rng = np.random.default_rng(3)
        tried = [
            {"mean": Sample(mean + rng.normal(0, 2, runs), np.arange(runs))}
            for mean in (10.0, 10.0, 12.0)
        ]
        found = weigh(targets, tried, runs)
        errors.append(float(found.errors.max()))
        low.append(found.low)
    assert errors[1] < 0.6 * errors[0]
    assert 0.5 < low[0] <= low[1] <= 1.0
    # The far point is not worth further runs.
    assert found.candidates.tolist() in ([0, 1], [1, 0])


def test_a_point_without_a_value_weighs_nothing() -> None:
    targets = [target(sd=2.0)]
    tried = points([10.0, 10.0], 20, targets)
    tried[1] = {"mean": Sample(np.array([]), np.array([], dtype=int))}
    assert weigh(targets, tried, 20).of.tolist() == [1.0, 0.0]


def test_a_search_makes_more_runs_until_the_set_is_stable(tmp_path: Path) -> None:
    # The lossy link makes the runs differ, and six do not settle two equal points.
    text = CALIBRATION.replace("runs = 6", "runs = 4\nmost = 16").replace(
        '{ preset = "wired" }', '{ preset = "wired", loss = "0.2 %" }'
    )
    text = text.replace("published = 2.1\nsd = 0.5", "published = 2.1\nsd = 0.2")
    (found,) = studies.load(write(tmp_path, text), sets=False).calibrate(tmp_path / "out")
    assert found.allowed.stable or found.allowed.runs == 16
    assert sum(each.weight for each in found.tried) == pytest.approx(1)
    assert sum(found.allowed.shares) == pytest.approx(1)
    # An explicit number of runs is that number.
    (fixed,) = studies.load(write(tmp_path, text), sets=False).calibrate(tmp_path / "out", runs=4)
    assert fixed.allowed.runs == 4


def test_a_target_states_its_discrepancy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="discrepancy is missing"):
        studies.load(write(tmp_path, CALIBRATION.replace("discrepancy = 0\n", "")))
    with pytest.raises(InputError, match="0 or more"):
        studies.load(write(tmp_path, CALIBRATION.replace("discrepancy = 0", "discrepancy = -1")))
    with pytest.raises(InputError, match="begins with 6 runs"):
        studies.load(write(tmp_path, CALIBRATION.replace("judged = 2", "judged = 2\nmost = 3")))


def test_a_published_mean_is_judged_by_both_standard_errors() -> None:
    expected = Expected(12.0, 15.4, 13.7, 1.7, 77, 0.05)
    band = expected.beside(13.5, 14.3)
    tolerance = 0.05 + math.hypot(1.959964 * 1.7 / math.sqrt(77), 0.4)
    assert (band.low, band.high) == pytest.approx((13.7 - tolerance, 13.7 + tolerance))
    # It never exceeds one standard deviation of runs, however few ours are.
    wide = expected.beside(0, 100)
    assert (wide.low, wide.high) == pytest.approx((12.0, 15.4))


def test_one_published_run_differs_only_beyond_what_our_number_of_runs_can_show() -> None:
    band = Expected(0.025, 0.975)
    for count, refuted in ((20, False), (38, False), (40, True)):
        found = place(np.arange(1.0, count + 1), 0.5)
        assert found.value == 0
        # A run like ours is the smallest of all with a probability of one in count + 1.
        assert found.high == pytest.approx(1 / (count + 1))
        assert band.refutes(found) == refuted
    assert place(np.array([1.0, 2.0, 2.0, 3.0]), 2.0).value == 0.5


def test_what_ends_at_the_limit_counts_as_at_least_that() -> None:
    rows = pl.DataFrame({"value": [1.0, 2.0, None, None, 3.0]})
    found = censor(rows, 10, "median")
    assert found is not None
    assert (found[0]["value"].median(), found[1]) == (3.0, 2)
    # Of a median beyond the limit only a bound is known.
    assert censor(pl.DataFrame({"value": [1.0, None, None]}), 10, "median") is None
    assert censor(pl.DataFrame({"value": [1.0, None, None]}), 10, "mean") is not None


@pytest.mark.parametrize(
    ("values", "word"),
    [([1.0, 1.05], "agrees"), ([1.0, 1.5], "not-identified"), ([2.0, 1.5], "differs")],
)
def test_a_verdict_over_the_allowed_points(values: list[float], word: str) -> None:
    first, *others = [
        decide(CLAIM, Estimate(value, None, None, None, 5, 5), "simulated") for value in values
    ]
    found = over_points(first, {f"point {each}": verdict for each, verdict in enumerate(others)})
    assert found.word == word
    assert (found.points, found.low, found.high) == (2, min(values), max(values))
    # The weight of a set is that of the points at which the claim agrees.
    shares = {"": 0.5, "point 0": 0.25, "point 1": 0.25}
    weighed = over_points(first, {"point 0": others[0]}, shares)
    agreeing = sum(
        shares[name] for name, each in (("", first), ("point 0", others[0])) if each.agreeing
    )
    assert weighed.weight == pytest.approx(agreeing / 0.75)
    assert found.weight is None
    # A point without a value says nothing.
    none = Verdict(CLAIM, "simulated", claims.CANNOT_TEST, "")
    assert over_points(first, {"point 2": none}) == first


def test_a_search_finds_what_the_baseline_allows(command: Command, tmp_path: Path) -> None:
    folder = write(tmp_path)
    out = tmp_path / "out"
    done = command("study", str(folder), "--calibrate", "-o", str(out), "--json")
    (found,) = json.loads(done.stdout)["calibrations"]
    by_buffer = {each["point"]["buffer"]: each for each in found["points"]}
    assert found["searched"] == 3
    assert found["allowed"] == sum(each["allowed"] for each in by_buffer.values())
    assert 0 < found["allowed"] < 3 or all(each["allowed"] for each in by_buffer.values())
    weights = [each["weight"] for each in found["points"]]
    assert weights == sorted(weights, reverse=True)
    # The preset's own point is in the set, so it stays the chosen one.
    assert found["chosen"] == {"buffer": "413 packets"}
    assert by_buffer["413 packets"]["allowed"]
    (shipped,) = found["presets"]
    assert (shipped["point"], shipped["meets_targets"]) == (found["chosen"], True)
    # The set is in the study's folder, and the study uses it.
    study = studies.load(folder)
    assert dict(study.allowed["path"].chosen) == found["chosen"]
    cells = study.experiments["one"].cells
    assert {cell.calibrations for cell in cells} == {("path",)}
    assert study.experiments["one"].points == len(found["judged"])
    buffer_bytes = [
        cell.scenario.resolved["path"]["buffer_bytes"] for cell in cells if cell.scenario
    ]
    assert len(set(buffer_bytes)) == 1
    other = study.experiments["other"].cells[0].scenario
    assert other is not None
    assert other.resolved["path"]["buffer_bytes"] == 50 * 1514
    # Finished runs are not repeated.
    again = command("study", str(folder), "--calibrate", "-o", str(out), "--json")
    assert again.stdout == done.stdout


def test_claims_are_judged_over_the_set(tmp_path: Path) -> None:
    folder = write(tmp_path)
    studies.load(folder, sets=False).calibrate(folder, command="test")
    text = (folder / "calibration" / "path.toml").read_text()
    judged = '{ "buffer" = "200 packets" }, { "buffer" = "800 packets" }'
    text = re.sub("shares = .*", "shares = [0.5, 0.2, 0.3]", text)
    text = re.sub(r"judged = \[.*?\n\]", f"judged = [{judged}]", text, flags=re.DOTALL)
    (folder / "calibration" / "path.toml").write_text(text)
    full = studies.load(folder).run(tmp_path / "out")
    (verdict,) = full.verdicts
    assert verdict.word == "agrees"
    assert verdict.points == 3
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < verdict.high
    # Between the two ends the publication does not decide.
    write(tmp_path, limit=round((verdict.low + verdict.high) / 2))
    (verdict,) = studies.load(folder).run(tmp_path / "out").verdicts
    assert verdict.word == "not-identified"
    assert verdict.weight is not None
    assert f"({verdict.weight:.0%} of the weight)" in verdict.reason
    (quick,) = studies.load(folder).run(tmp_path / "out", quick=True).verdicts
    assert quick.points == 1
    document = full.document()
    assert document["totals"]["agrees"] == 1
    assert document["claims"][0]["points"]["judged"] == 3


READING = """
[[reading]]
name = "buffer"
about = "The publication does not say how large the buffer is."
answer = "one BDP"
experiments = ["one"]
cells = { algorithm = ["cubic+standard"] }
[reading.further]
"eight packets" = { path = { buffer = "8 packets" } }
"ten BDP" = { path = { buffer = "10 bdp" } }
"""


def test_claims_are_judged_with_each_reading(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "calibration.toml").unlink()
    study = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(study + READING)
    read = studies.load(folder)
    assert read.points == ("eight packets", "ten BDP")
    # The cell of the other algorithm does not depend on the answer.
    assert [bool(cell.at(1)) for cell in read.experiments["one"].cells] == [True, False]
    full = read.run(tmp_path / "out")
    (verdict,) = full.verdicts
    # Nothing is lost with ten BDP, and the claim asks for at least one lost packet.
    assert (verdict.word, verdict.points, verdict.low) == ("not-identified", 3, 0.0)
    assert verdict.reason.endswith("otherwise at: ten BDP")
    (quick,) = read.run(tmp_path / "out", quick=True).verdicts
    assert quick.word == "agrees"
    assert full.document()["readings"][0]["further"] == ["eight packets", "ten BDP"]
    assert "ten BDP" in (tmp_path / "out" / "report.html").read_text()


def test_a_reading_names_cells_by_experiment(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "calibration.toml").unlink()
    experiment = STUDY.split("[[experiment]]")[1].replace('name = "one"', 'name = "two"')
    study = f"{STUDY}[[experiment]]{experiment}"
    by_experiment = (
        'cells = { one = { algorithm = "cubic+standard" }, two = { algorithm = "cubic+hystart" } }'
    )
    text = READING.replace('experiments = ["one"]\n', "").replace(
        'cells = { algorithm = ["cubic+standard"] }', by_experiment
    )
    (folder / "study.toml").write_text(study + text)
    read = studies.load(folder)
    has = {
        name: [bool(cell.at(1)) for cell in each.cells] for name, each in read.experiments.items()
    }
    assert has == {"one": [True, False], "other": [False], "two": [False, True]}
    wrong = [
        (text.replace("two = {", "three = {"), "there is no cell with algorithm.* in three"),
        (text.replace("two = { algorithm = ", "two = { buffer = "), "no cell with buffer.* in two"),
        (text.replace("two = {", "algorithm = 1, two = {"), "labels by experiment"),
        (text.replace("cells = {", 'experiments = ["one"]\ncells = {'), "leave out experiments"),
    ]
    for changed, message in wrong:
        (folder / "study.toml").write_text(study + changed)
        with pytest.raises(InputError, match=message):
            studies.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('experiments = ["one"]', 'experiments = ["two"]', "there is no cell with algorithm"),
        ('"cubic+standard"', '"cubic+none"', "there is no cell with algorithm"),
        ("[reading.further]", "[reading.others]", "others"),
        ('{ buffer = "8 packets" }', '{ bufer = "8 packets" }', "bufer"),
        ('name = "buffer"', 'label = "buffer"', "label"),
    ],
)
def test_a_wrong_reading_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    folder = write(tmp_path)
    text = READING.replace(old, new)
    (folder / "study.toml").write_text((folder / "study.toml").read_text() + text)
    with pytest.raises(InputError, match=message):
        studies.load(folder)


def test_a_changed_calibration_needs_a_new_search(tmp_path: Path) -> None:
    folder = write(tmp_path)
    studies.load(folder, sets=False).calibrate(folder, command="slowstart study mine --calibrate")
    write(tmp_path, CALIBRATION.replace("rounding = 0.3", "rounding = 0.2"))
    with pytest.raises(InputError, match="repeat the calibration"):
        studies.load(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('presets = ["wired"]', 'presets = ["wird"]', "did you mean wired?"),
        ('kind = "grid"', 'kind = "gird"', "did you mean grid?"),
        ('values = ["200', 'valus = ["200', "unknown key valus"),
        ("published = 2.1", "", "published is missing"),
        ('metric = "fct_s"', 'metric = "fct_s +"', "not a valid expression"),
        ('keys = ["path.buffer"]\n', "", "it is a share"),
        ("runs = 6", 'runs = 6\napart = { lte = "why" }', "unknown key lte"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    folder = write(tmp_path, CALIBRATION.replace(old, new))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        studies.load(folder)
    assert re.search(r"calibration\.toml:\d+: ", str(error.value))


@pytest.mark.parametrize("name", names())
def test_the_stored_sets_belong_to_the_calibrations(name: str) -> None:
    # Loading a study refuses a set of another search.
    study = studies.load(name)
    assert set(study.allowed) == set(study.calibrations)
    for each in study.allowed.values():
        assert each.size >= 1
        assert each.command.startswith(f"slowstart study {name} --calibrate")


@pytest.mark.parametrize("name", names())
def test_no_claim_changes_silently(name: str) -> None:
    """``slowstart study NAME --seal`` writes a new claim's line into ``claims.lock``.

    The line of a claim whose measure or band changes has to be deleted by hand first.
    """
    assert seals.differences(studies.load(name).claims, FOLDERS / name) == []


def test_a_changed_band_has_its_reason_in_the_changelog() -> None:
    """Each seal that changed in the history is named below a heading of ``CHANGELOG.md``."""
    root = Path(__file__).parents[2]
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = text.partition("### Claims whose measure or band changed")[2].partition("\n##")[0]
    reasons: dict[str, list[str]] = {}
    for entry in section.split("\n- `")[1:]:
        name, _, rest = entry.partition("`")
        reasons.setdefault(name, []).extend(re.findall("`([^`]+)`", rest))

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else ""

    if not git("rev-parse", "HEAD"):
        pytest.skip("no git history: changes of claims.lock were not checked")
    for name in names():
        path = f"python/slowstart/studies/folders/{name}/claims.lock"
        commits = git("log", "--reverse", "--format=%H", "--", path).split()
        texts = [git("show", f"{each}:{path}") for each in commits]
        texts.append((root / path).read_text(encoding="utf-8"))
        states = [seals.read(each) for each in texts if each]
        for before, after in pairwise(states):
            for claim, seal in before.items():
                if after.get(claim, seal) != seal:
                    known = reasons.get(name, [])
                    assert any(fnmatchcase(claim, each) for each in known), f"{name}: {claim}"


def test_a_seal_is_written_before_the_first_run_only(command: Command, tmp_path: Path) -> None:
    folder = write(tmp_path)
    out = tmp_path / "out"
    done = command("study", str(folder), "--seal", "-o", str(out))
    assert "sealed lost" in done.stdout
    lock = folder / "claims.lock"
    assert list(seals.read(lock.read_text())) == ["lost"]
    assert "its seal already" in command("study", str(folder), "--seal", "-o", str(out)).stdout
    # A changed band is refused.
    before = lock.read_text()
    write(tmp_path, limit=1)
    done = command("study", str(folder), "--seal", "-o", str(out))
    assert done.returncode == 2
    assert "lost is not what was sealed" in done.stderr
    # So is a seal after the first run.
    lock.unlink()
    out.mkdir()
    (out / "result.json").write_text("{}")
    done = command("study", str(folder), "--seal", "-o", str(out))
    assert done.returncode == 2
    assert "has results" in done.stderr
    assert not lock.exists()
    assert before


def test_calibrating_a_built_in_study_leaves_the_package_alone(
    command: Command, tmp_path: Path
) -> None:
    # The output folder has the study's name, and it is there when the search ends.
    place = FOLDERS / "hsdpa-live" / "calibration"
    before = {each.name: each.read_bytes() for each in place.iterdir()}
    done = command("study", "hsdpa-live", "--calibrate", "--quick", "-o", "hsdpa-live", "-q")
    assert done.returncode == 0, done.stderr
    made = tmp_path / "hsdpa-live" / "calibration"
    assert {each.name for each in made.iterdir()} == set(before)
    assert {each.name: each.read_bytes() for each in place.iterdir()} == before
