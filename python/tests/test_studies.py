"""Complete studies: their verdicts, their output files, and reproducibility."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import Command

import slowstart
from slowstart import InputError, plots, studies
from slowstart.studies import figures as study_figures

STUDY = """
title = "A small study"
document = "none"
summary = "Two start-ups over a short path."
minutes = { full = 0.1, quick = 0.1 }

[[experiment]]
name = "short"
about = "Two start-ups, two sizes."
runs = { full = 8, quick = 2 }
traces = 1
time_to = ["100 kB"]
scenario = { path = { rate = "20 Mbit/s", rtt = "40 ms" }, flow = [{ algorithm = "cubic" }] }
quick = { size = ["1 MB"] }

[experiment.grid]
"flow.algorithm" = ["cubic+hystart", "cubic+standard", "cubic+teleport"]
"flow.size" = ["200 kB", "1 MB"]

[[experiment]]
name = "named"
about = "Points that lay parts over the base."
runs = 2
scenario = { path = { preset = "wired" }, flow = [{ algorithm = "reno", size = "100 kB" }] }

[experiment.grid.network]
near = { path = { rtt = "10 ms" } }
far = { path = { rtt = "300 ms" }, flow = { initial_window = 20 }, runs = 3 }
elsewhere = { path = { preset = "moon" } }

[[figure]]
name = "time"
kind = "lines"
title = "Time"
where = "nowhere"
caption = "Medians."
experiment = "short"
x = "size"
series = "algorithm"
metric = "fct_s"
label = "time (s)"

[[figure]]
name = "distribution"
kind = "ecdf"
title = "Distribution"
where = "nowhere"
caption = "All runs."
experiment = "short"
series = "algorithm"
columns = "size"
metric = "fct_s"
label = "time (s)"

[[figure]]
name = "series"
kind = "evolution"
title = "Over time"
where = "nowhere"
caption = "The first run."
experiment = "short"
select = { size = "1 MB" }
series = "algorithm"
panels = ["window", "queue"]

[[figure]]
name = "list"
kind = "table"
title = "Table"
where = "nowhere"
caption = "Medians."
experiment = "named"
x = "network"
metric = "1000 * fct_s"
label = "time (ms)"

[[figure]]
name = "own"
kind = "function"
title = "Own"
where = "nowhere"
caption = "From the module."
experiment = "named"
function = "picture"
"""

CLAIMS = """
[[claim]]
id = "wide"
number = "time"
where = "page 1"
words = "It takes some time."
experiment = "short"
select = { algorithm = "cubic+hystart", size = "1 MB" }
metric = "fct_s"
expected = { value = 0.6, tolerance = 0.5 }
reason = "wide"

[[claim]]
id = "missed"
number = "time"
where = "page 1"
words = "It takes no time."
experiment = "short"
select = { algorithm = "cubic+hystart", size = "1 MB" }
metric = "fct_s"
expected = { value = 0.01, tolerance = "10 %" }
reason = "narrow"

[[claim]]
id = "absent"
where = "page 1"
words = "It is there before it left."
experiment = "short"
select = { algorithm = "cubic+teleport", size = "1 MB" }
metric = "fct_s"
expected = { high = 0 }
reason = "none"

[[claim]]
id = "small"
where = "page 2"
words = "Small ones are faster."
experiment = "short"
select = { algorithm = "cubic+hystart", size = "200 kB" }
against = { size = "1 MB" }
metric = "fct_s"
expected = { high = 1 }
reason = "an order"

[[claim]]
id = "moon"
where = "page 3"
words = "The moon is far."
experiment = "named"
select = { network = "elsewhere" }
against = { network = "near" }
metric = "fct_s"
expected = { low = 1 }
reason = "an order"

[[claim]]
id = "own"
where = "page 4"
words = "Three and two runs."
experiment = "named"
function = "runs"
expected = { value = 5, tolerance = 0 }
reason = "counted"

[[claim]]
id = "never"
where = "page 5"
words = "It is beautiful."
cannot_test = "there is no measure of this"
"""

MODULE = """
from matplotlib.figure import Figure
from slowstart import plots
from slowstart.studies.estimates import Estimate

def runs(findings, stack, parameters):
    count = len(findings.table("named", stack, "runs"))
    return Estimate(float(count), None, None, None, count, count)

def picture(findings, drawing, stack):
    with plots.styled():
        figure = plots.new_figure(4, 3)
        figure.subplots().plot([1, 2], [1, 2])
        return plots.finish(figure, drawing.title)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small user-defined study."""
    made = tmp_path / "small"
    made.mkdir()
    (made / "study.toml").write_text(STUDY)
    (made / "claims.toml").write_text(CLAIMS)
    (made / "README.md").write_text("- **Chosen.** Everything <script>.\n")
    (made / "analysis.py").write_text(MODULE)
    return made


def test_a_full_run_judges_every_claim(folder: Path, tmp_path: Path) -> None:
    findings = studies.load(folder).run(tmp_path / "out")
    words = {each.claim.name: each.word for each in findings.verdicts}
    assert words == {
        "wide": "agrees",
        "missed": "differs",
        "absent": "cannot-test",
        "small": "agrees",
        "moon": "cannot-test",
        "own": "agrees",
        "never": "cannot-test",
    }
    reasons = {each.claim.name: each.reason for each in findings.verdicts}
    assert reasons["absent"].startswith("this version cannot run cubic+teleport: unknown start-up")
    assert reasons["moon"] == "this version has no path moon"
    flows = findings.table("short", "simulated")
    assert flows["time_to_100kB_s"].null_count() == 0
    assert len(flows) == 2 * 2 * 8
    assert len(findings.table("named", "simulated")) == 2 + 3
    small = next(each for each in findings.verdicts if each.claim.name == "small")
    assert small.estimate is not None
    assert small.estimate.test == "Wilcoxon"

    out = tmp_path / "out"
    document = json.loads((out / "result.json").read_text())
    # The claims wide and missed are about one number, which differs in one of them.
    rest = {"undecided": 0, "not-identified": 0, "cannot-test": 3}
    assert document["totals"] == {"agrees": 2, "differs": 1, **rest}
    assert document["claims_totals"] == {"agrees": 3, "differs": 1, **rest}
    assert pl.read_csv(out / "claims.csv")["verdict"].to_list() == list(words.values())
    page = (out / "report.html").read_text()
    # Each figure once for a wide screen, and once for a phone if it is wider than that.
    figures = [
        study_figures.draw(findings, each, findings.stacks) for each in findings.study.drawings
    ]
    narrow = [plots.stacked(each) for each in figures if each is not None]
    assert page.count("data:image/svg+xml;base64,") == 4 + sum(each is not None for each in narrow)
    assert "<script>" not in page
    assert not re.search(r"https?:|<link|@import|src=\"(?!data:)|url\(", page)
    assert not list(out.glob(".*"))


def test_a_full_run_reuses_a_quick_one(folder: Path, tmp_path: Path) -> None:
    study = studies.load(folder)
    quick = study.run(tmp_path / "out", quick=True)
    reasons = {each.claim.name: each.reason for each in quick.verdicts}
    assert reasons["small"] == "a quick run leaves this out"
    assert "quick run" in (tmp_path / "out" / "report.html").read_text()
    told: list[tuple[int, int]] = []
    study.run(tmp_path / "out", progress=lambda done, total: told.append((done, total)))
    # Of 32 + 5 runs, 4 + 4 are stored: two of each algorithm, and two of each network.
    assert {total for _, total in told} == {29}


def test_a_study_is_reproducible(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        studies.load(folder).run(tmp_path / name, threads=1 if name == "one" else 3)
    for file in (tmp_path / "one").iterdir():
        # The report and the table of runs contain wall-clock times.
        other = tmp_path / "two" / file.name
        if file.suffix == ".parquet":
            frames = [pl.read_parquet(each).drop("wall_s", strict=False) for each in (file, other)]
            assert frames[0].equals(frames[1]), file.name
        elif file.is_file() and file.name != "report.html":
            assert file.read_bytes() == other.read_bytes(), file.name


def test_a_single_experiment_can_be_run(folder: Path, tmp_path: Path) -> None:
    other = studies.load(folder).run(tmp_path / "other", only=["short"], runs=1)
    own = next(each for each in other.verdicts if each.claim.name == "own")
    assert (own.word, own.reason) == ("cannot-test", "the experiment named was left out")
    assert "Left out: the experiment named" in (tmp_path / "other" / "report.html").read_text()
    findings = studies.load(folder).run(tmp_path / "out", only=["named"], runs=1)
    reasons = {each.claim.name: each.reason for each in findings.verdicts}
    assert reasons["wide"] == "the experiment short was left out"
    assert len(findings.table("named", "simulated")) == 2
    with pytest.raises(InputError, match="did you mean named"):
        studies.load(folder).run(tmp_path / "out", only=["name"])


def test_a_folder_of_another_study_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.json").write_text('{"format": 1, "study": "other"}')
    with pytest.raises(InputError, match="another study"):
        studies.load(folder).run(tmp_path / "out")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").touch()
    with pytest.raises(InputError, match="something else"):
        studies.load(folder).run(tmp_path / "thesis")


@pytest.mark.parametrize("name", studies.names())
def test_built_in_studies_can_be_loaded(name: str) -> None:
    study = studies.load(name)
    assert study.claims
    assert study.readme


def test_the_testbed_end_to_end(command: Command, tmp_path: Path) -> None:
    done = command("study", "suss-testbed", "--quick", "--only", "wired", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["version"] == slowstart.__version__
    found = {each["id"]: each for each in document["claims"]}
    assert found["wired-bdp"]["measured"]["value"] == 413
    lost = found["wired-none-lost"]["measured"]
    assert lost["runs"] == 4
    assert 800 < lost["value"] < 1500
    assert found["wired-hystart-before-none"]["verdict"] == "agrees"
    out = tmp_path / "study-suss-testbed"
    assert json.loads((out / "result.json").read_text()) == document
    again = command("study", "suss-testbed", "--quick", "--only", "wired")
    assert "cannot be tested" in again.stdout
    assert "This was a quick run" in again.stdout
    # Not on a terminal: one line of tab-separated cells per claim.
    lines = again.stdout.splitlines()
    table = [line.split("\t") for line in lines if "\t" in line]
    assert {len(cells) for cells in table} == {8}
    assert len(table) == 1 + len(document["claims"])
    assert [cells[6] for cells in table[1:]] == [each["verdict"] for each in document["claims"]]


def test_the_list_is_complete(command: Command) -> None:
    assert "suss-testbed" in command("study").stdout
    listed = json.loads(command("study", "--json").stdout)["studies"]
    assert [each["name"] for each in listed] == [*studies.names(), "linux-fidelity"]
    assert listed == json.loads(command("list", "studies", "--json").stdout)["studies"]
    lines = command("list", "studies").stdout.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    assert [cells[0] for cells in rows] == ["study", *(each["name"] for each in listed)]


def test_the_list_loads_no_data_library() -> None:
    program = (
        "import sys; from slowstart.commands.cli import invoke; "
        "invoke(['list', 'studies', '--json']); "
        "sys.exit(bool({'polars', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    entries = {each["name"]: each for each in json.loads(done.stdout)["studies"]}
    study = studies.load("suss-testbed")
    entry = entries["suss-testbed"]
    assert entry["claims"] == len(study.claims)
    assert entry["runs"] == study.cost()[0]
    kernel = [job for group in study.jobs("linux").values() for job in group]
    assert entry["runs_linux"] == sum(job.runs for job in kernel)
