"""A study's files: every error is reported in one sentence with file and line."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Command

from slowstart import InputError, studies
from slowstart.studies import headline
from slowstart.studies.bands import plain
from slowstart.studies.store import Extract

STUDY = """title = "A study"
document = "none"
summary = "One sentence."
minutes = { full = 1, quick = 1 }
[[experiment]]
name = "one"
about = "What it is."
runs = { full = 4, quick = 2 }
traces = 1
[experiment.scenario]
path = { preset = "wired" }
flow = [{ algorithm = "cubic", size = "1 MB" }, { algorithm = "reno", size = "1 MB" }]
[experiment.grid]
"flow.0.algorithm" = ["cubic", "bbr"]
buffer = { small = { path = { buffer = "0.5 bdp" } }, large = { path = { buffer = "4 bdp" } } }
[[figure]]
name = "f"
kind = "points"
title = "T"
where = "W"
caption = "C"
experiment = "one"
x = "buffer"
metric = "fct_s"
label = "s"
"""
CLAIMS = """[[claim]]
id = "c"
where = "page 1"
words = "Words."
experiment = "one"
select = { algorithm = "bbr" }
metric = "fct_s"
expected = { value = 1, tolerance = "5 %" }
reason = "because"
explanation = "{large:.3f} s with a large buffer, {share:.0%} of {ratio}"
[claim.evidence]
large = { select = { buffer = "large" } }
share = { metric = "fct_s < 0", statistic = "share", expected = { high = 0.5 } }
ratio = { select = { buffer = "large" }, against = { buffer = "small" }, metric = "fct_s" }
"""
SENTENCE = 'explanation = "{large:.3f} s with a large buffer, {share:.0%} of {ratio}"'
SECOND = """[[claim]]
id = "d"
where = "page 1"
words = "Words."
experiment = "one"
metric = "fct_s"
expected = { high = 0 }
reason = "because"
explanation_of = "c"
"""


def write(folder: Path, study: str = STUDY, claims: str = CLAIMS) -> Path:
    made = folder / "mine"
    made.mkdir(exist_ok=True)
    (made / "study.toml").write_text(study)
    (made / "claims.toml").write_text(claims)
    (made / "README.md").write_text("Chosen.\n")
    return made


def test_the_grid_is_merged_into_the_base(tmp_path: Path) -> None:
    study = studies.load(write(tmp_path))
    cells = study.experiments["one"].cells
    assert [dict(cell.labels) for cell in cells] == [
        {"algorithm": "cubic", "buffer": "small"},
        {"algorithm": "cubic", "buffer": "large"},
        {"algorithm": "bbr", "buffer": "small"},
        {"algorithm": "bbr", "buffer": "large"},
    ]
    resolved = [json.loads(cell.scenario.to_json()) for cell in cells if cell.scenario]
    assert [each["flows"][0]["algorithm"] for each in resolved][1:3] == ["cubic+hystart", "bbr"]
    assert {each["flows"][1]["algorithm"] for each in resolved} == {"reno+standard"}
    assert resolved[0]["path"]["buffer_bytes"] < resolved[1]["path"]["buffer_bytes"]
    # The same seeds, and so the same channel realization.
    assert {cell.scenario.seed for cell in cells if cell.scenario} == {1}
    assert study.cost() == (16, 1.0)
    assert study.cost(quick=True) == (8, 1.0)


def test_a_point_may_change_one_table_of_a_list(tmp_path: Path) -> None:
    point = (
        'half = { flow = { 1 = { algorithm = "bbr" } } }, all = { flow = { algorithm = "bbr" } }'
    )
    text = re.sub(r"buffer = \{ small.*", f"other = {{ {point} }}", STUDY)
    text = text.replace('"flow.0.algorithm" = ["cubic", "bbr"]\n', "")
    study = studies.load(write(tmp_path, text.replace('x = "buffer"', 'x = "other"'), ""))
    cells = study.experiments["one"].cells
    flows = [[flow["algorithm"] for flow in cell.scenario.resolved["flows"]]
             for cell in cells if cell.scenario]  # fmt: skip
    assert flows == [["cubic+hystart", "bbr"], ["bbr", "bbr"]]


ANSWER = """
def answer(findings, stack):
    median = findings.table("one", stack)["fct_s"].median()
    return [f"A transfer takes {median:.3f} s on {stack}."]


def number(findings, stack, parameters):
    from slowstart.studies.estimates import Estimate

    value = float(len(parameters["select"]["algorithm"]))
    return Estimate(value, None, None, None, 1, 1)
"""


def test_a_study_answers_its_question_first(command: Command, tmp_path: Path) -> None:
    claims = CLAIMS.partition("metric")[0] + 'function = "number"\n'
    claims += 'expected = { value = 3, tolerance = "1 %" }\nreason = "because"\n'
    folder = write(tmp_path, 'answer = "answer"\n' + STUDY, claims)
    (folder / "analysis.py").write_text(ANSWER)
    findings = studies.load(folder).run(tmp_path / "out", runs=1)
    (sentence,) = findings.answer
    assert re.fullmatch(r"A transfer takes [\d.]+ s on simulated\.", sentence)
    assert findings.document()["answer"] == [sentence]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index(sentence) < page.index("One sentence.")
    # A function knows the runs of its claim.
    assert [each.word for each in findings.verdicts] == ["agrees"]
    shown = command("study", str(folder), "-o", str(tmp_path / "out"), "--runs", "1")
    assert sentence in shown.stdout
    write(tmp_path, 'answer = "nothing"\n' + STUDY, claims)
    with pytest.raises(InputError, match=r"study\.toml:1: .*no function nothing"):
        studies.load(folder)


HEADLINE = """[[headline]]
row = "small"
[headline.claims]
"it" = "c"
[[experiment]]"""

REFUSED = {
    "no TOML": ("study.toml", 'title = "A study"', "title = A study", 1, "invalid TOML"),
    "unknown key": ("study.toml", "summary", "sumary", 3, "did you mean summary?"),
    "a number for a string": ("study.toml", 'document = "none"', "document = 0", 2, "string"),
    "no runs": ("study.toml", "full = 4", "full = 0", 8, "at least 1"),
    "unknown kind of runs": ("study.toml", "quick = 2 }", "quik = 2 }", 8, "quick"),
    "runs in the scenario": ("study.toml", "path = {", "runs = 3\npath = {", 11, "experiment"),
    "unknown key of a path": ("study.toml", "{ preset", '{ rat = 1, preset', 5, "rat"),
    "wrong unit": ("study.toml", '"0.5 bdp"', '"0.5 bpd"', 5, "bdp"),
    "the same value twice": ("study.toml", '"bbr"]', '"cubic"]', 14, "twice"),
    "unknown kind of figure": ("study.toml", '"points"', '"pie"', 18, "pie"),
    "figure of nothing": ("study.toml", 'experiment = "one"', 'experiment = "two"', 22, "one"),
    "unknown axis": ("study.toml", 'x = "buffer"', 'x = "bufer"', 23, "buffer"),
    "unknown column in a figure": ("study.toml", '"fct_s"', '"fct_m"', 24, "fct_s"),
    "missing label": ("study.toml", 'label = "s"', "", 16, "label is missing"),
    "unknown stack": ("study.toml", "traces = 1", 'stacks = ["windows"]', 9, "windows"),
    "unknown extract": ("study.toml", "traces = 1", 'extract = ["magic"]', 9, "magic"),
    "wrong size": ("study.toml", "traces = 1", 'time_to = ["5 parsec"]', 9, "parsec"),
    "unknown experiment": ("claims.toml", '"one"', '"won"', 5, "did you mean one?"),
    "unknown label": ("claims.toml", '"bbr"', '"bbr9"', 6, "did you mean bbr?"),
    "unknown axis in a claim": ("claims.toml", "algorithm =", "algoritm =", 6, "algorithm"),
    "unknown metric": ("claims.toml", '"fct_s"', '"fct"', 7, "fct_s"),
    "an invalid expression": ("claims.toml", '"fct_s"', '"fct_s +"', 7, "not a valid"),
    "no tolerance": ("claims.toml", ', tolerance = "5 %"', "", 8, "tolerance is missing"),
    "a tolerance of words": ("claims.toml", '"5 %"', '"some"', 8, "percentage"),
    "a negative tolerance": ("claims.toml", '"5 %"', "-1", 8, "negative"),
    "no expectation": ("claims.toml", 'expected = { value = 1, tolerance = "5 %" }', "", 1,
                       "expected is missing"),
    "an empty band": ("claims.toml", 'value = 1, tolerance = "5 %"', "low = 2, high = 1", 8,
                      "above high"),
    "no reason": ("claims.toml", 'reason = "because"', "", 1, "reason is missing"),
    "unknown statistic": ("claims.toml", 'reason = "because"',
                          'reason = "b"\nstatistic = "medium"', 10, "did you mean median?"),
    "unknown function": ("claims.toml", 'metric = "fct_s"', 'function = "magic"', 7, "magic"),
    "a relation to nothing": ("claims.toml", 'reason = "because"',
                              'reason = "b"\nrelation = "ratio"', 10, "against"),
    "a text without its number": ("claims.toml", "{large:.3f} s", "{huge} s", 10, "huge"),
    "a number without a text": ("claims.toml", "{large:.3f} s", "Some s", 12, "{large}"),
    "a sentence not closed": ("claims.toml", "{large:.3f} s", "{large s", 10, "explanation"),
    "a number without a name": ("claims.toml", "{large:.3f} s", "{} s", 10, "{}"),
    "no format": ("claims.toml", "{large:.3f} s", "{large:three} s", 10, "three"),
    "evidence without a sentence": ("claims.toml", SENTENCE, "", 11, "an explanation"),
    "evidence that is no table": ("claims.toml", 'large = { select = { buffer = "large" } }',
                                  "large = 3", 12, "a table"),
    "unknown key of evidence": ("claims.toml", "{ select = ", "{ selct = ", 12, "select?"),
    "evidence of no experiment": ("claims.toml", "{ select = ", '{ experiment = "onne", select = ',
                                  12, "did you mean one?"),
    "evidence of no runs": ("claims.toml", 'buffer = "large" } }\nshare',
                            'buffer = "larger" } }\nshare', 12, "did you mean large?"),
    "evidence above nothing": ("claims.toml", "high = 0.5", 'above = "larg"', 13,
                               "did you mean large?"),
    "evidence above itself": ("claims.toml", "high = 0.5", 'above = "share"', 13,
                              "no other evidence share"),
    "evidence above and nothing known": ("claims.toml", "high = 0.5", 'above = "large", hig = 1',
                                         13, "high?"),
    "an argument that can fail": ("claims.toml", SENTENCE, f"{SENTENCE}\nargument = true", 11,
                                  "no argument"),
    "an argument without a sentence": ("claims.toml", CLAIMS[CLAIMS.index("explanation"):],
                                       "argument = true", 10, "needs an explanation"),
    "evidence of no column": ("claims.toml", '"fct_s < 0"', '"fct < 0"', 13, "fct_s"),
    "a figure beside no claim": ("study.toml", 'label = "s"', 'label = "s"\nclaims = ["x*"]', 26,
                                 "no claim is called x*"),
    "a headline of no claim": ("study.toml", "[[experiment]]", HEADLINE.replace('"c"', '"cc"'), 8,
                               "did you mean c?"),
    "a headline without claims": ("study.toml", "[[experiment]]",
                                  HEADLINE.replace('"it" = "c"', ""), 5, "claims"),
    "a column without claims": ("study.toml", "[[experiment]]", HEADLINE.replace('"c"', "[]"), 8,
                                "names no claim"),
    "a headline row twice": ("study.toml", "[[experiment]]",
                             HEADLINE.replace("[[experiment]]", HEADLINE), 10, "two rows"),
    "a sentence of nothing": ("claims.toml", SENTENCE, 'explanation_of = "b"', 10, "claim b"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_file_and_line(tmp_path: Path, name: str) -> None:
    file, old, new, line, word = REFUSED[name]
    texts = {"study.toml": STUDY, "claims.toml": CLAIMS}
    assert texts[file].count(old) >= 1
    texts[file] = texts[file].replace(old, new, 1)
    folder = write(tmp_path, texts["study.toml"], texts["claims.toml"])
    with pytest.raises(InputError) as caught:
        studies.load(folder)
    sentence = str(caught.value)
    assert sentence.startswith(f"{folder / file}:{line}: ")
    assert word in sentence
    assert "\n" not in sentence


def test_an_explanation_shows_measured_numbers(tmp_path: Path) -> None:
    study = studies.load(write(tmp_path))
    found = study.run(tmp_path / "out", runs=1)
    entry = found.document()["claims"][0]
    # The evidence inherits from the claim: bbr, the metric, its median.
    flows = found.table("one", "simulated").filter(pl.col("algorithm") == "bbr")
    small, large = (flows.filter(pl.col("buffer") == each)["fct_s"] for each in ("small", "large"))
    ratio = (large.to_numpy() / small.to_numpy()).tolist()
    median = plain(float(pl.Series(ratio).median()), 3)  # type: ignore[arg-type]
    middle = float(large.median())  # type: ignore[arg-type]
    assert entry["explanation"] == f"{middle:.3f} s with a large buffer, 0 % of {median}"
    assert entry["holds"]
    assert entry["evidence"]["large"]["value"] == large.median()
    assert entry["evidence"]["large"]["select"] == {"algorithm": "bbr", "buffer": "large"}
    elsewhere = study.claims[0].explanation.fill(found, ["linux"])
    assert elsewhere.text == "(not run) s with a large buffer, (not run) of (not run)"
    assert elsewhere.numbers == {"large": None, "share": None, "ratio": None}
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"Explanation: {entry['explanation']}" in page


def test_an_explanation_that_does_not_hold_is_reported(command: Command, tmp_path: Path) -> None:
    claims = CLAIMS.replace("fct_s < 0", "fct_s > 0")
    folder = write(tmp_path, claims=claims + SECOND)
    shown = command("study", str(folder), "-n", "1", "-o", "out").stdout
    assert "The explanation does not hold in these runs: c, d" in shown
    first, second = studies.load(folder).run(tmp_path / "out", runs=1).document()["claims"]
    assert first["explanation"].endswith(
        "(In these runs this explanation does not hold: it requires at most 50 %, "
        "and 100 % was measured.)"
    )
    assert not first["holds"]
    assert second["explanation"] == first["explanation"]


@pytest.mark.parametrize(
    ("side", "other", "said"),
    [
        ("above", "small", None),
        ("below", "small", "it requires less than 0.3, and 0.5 was measured"),
        ("above", "claim", "it requires more than 0.5, and 0.5 was measured"),
        ("below", "absent", None),
    ],
)
def test_an_explanation_may_require_an_order(
    tmp_path: Path, side: str, other: str, said: str | None
) -> None:
    evidence = f"""[claim.evidence]
large = {{ metric = "0.5 + 0 * fct_s", expected = {{ {side} = "{other}" }} }}
small = {{ metric = "0.3 + 0 * fct_s" }}
absent = {{ metric = "CASE WHEN fct_s < 0 THEN fct_s END" }}
"""
    claims = CLAIMS.replace('metric = "fct_s"\nexpected', 'metric = "0.5 + 0 * fct_s"\nexpected')
    head = claims.split("explanation")[0]
    text = f'{head}explanation = "{{large:.1f}}, {{small}}, {{absent}}"\n{evidence}'
    found = studies.load(write(tmp_path, claims=text)).run(tmp_path / "out", runs=1)
    entry = found.document()["claims"][0]
    assert entry["holds"] is (said is None)
    assert (said or "0.5, 0.3, (no run has a value)") in entry["explanation"]
    required = {name: each["required"] for name, each in entry["evidence"].items()}
    assert required == {"large": True, "small": False, "absent": False}


def test_an_argument_is_called_one(tmp_path: Path) -> None:
    claims = CLAIMS.replace(", expected = { high = 0.5 }", "")
    claims = claims.replace(SENTENCE, f"{SENTENCE}\nargument = true")
    found = studies.load(write(tmp_path, claims=claims)).run(tmp_path / "out", runs=1)
    entry = found.document()["claims"][0]
    assert entry["explanation"].endswith(
        "(This is an argument: no number here could contradict it.)"
    )
    assert entry["holds"]


def test_evidence_is_measured_like_a_claim(tmp_path: Path) -> None:
    # A comparison elsewhere, and a function with other parameters.
    claims = """[[claim]]
id = "c"
where = "page 1"
words = "Words."
experiment = "one"
select = { algorithm = "bbr", buffer = "small" }
against = { algorithm = "cubic" }
metric = "fct_s"
statistic = "mean"
expected = { high = -1 }
relation = "difference"
reason = "because"
explanation = "{same:interval} {large} {own:interval}"
evidence = { same = {}, large = { select = { buffer = "large" } }, own = { function = "times" } }
[[claim]]
id = "d"
where = "page 1"
words = "Words."
function = "times"
parameters = { a = 1.0, b = 2.0 }
expected = { high = -1 }
reason = "because"
explanation = "{other}"
evidence = { other = { parameters = { b = 5.0 } } }
"""
    folder = write(tmp_path, claims=claims)
    (folder / "analysis.py").write_text(
        "from slowstart.studies.estimates import Estimate\n"
        "def times(findings, stack, parameters):\n"
        "    value = parameters.get('a', 3.0) * parameters.get('b', 3.0)\n"
        "    return Estimate(value, None, None, None, 0, 0)\n"
    )
    found = studies.load(folder).run(tmp_path / "out", runs=1)
    first, second = found.document()["claims"]
    assert first["evidence"]["same"]["value"] == first["measured"]["value"]
    assert first["evidence"]["large"]["against"] == {"algorithm": "cubic", "buffer": "large"}
    assert first["evidence"]["large"]["value"] != first["measured"]["value"]
    assert first["evidence"]["own"]["value"] == 9
    assert (second["measured"]["value"], second["explanation"]) == (2, "5")
    more = studies.load(folder).run(tmp_path / "more", runs=6).document()["claims"][0]
    low, high = (plain(more["measured"][each], 3) for each in ("low", "high"))
    value = plain(more["measured"]["value"], 3)
    assert more["explanation"].startswith(f"{value} [{low}, {high}] ")
    assert more["explanation"].endswith(" 9")


def test_a_study_without_a_readme_is_refused(tmp_path: Path) -> None:
    (write(tmp_path) / "README.md").unlink()
    with pytest.raises(InputError, match=r"README\.md is missing"):
        studies.load(tmp_path / "mine")


def test_everything_missing_is_reported_at_once(tmp_path: Path) -> None:
    folder = write(tmp_path, STUDY.replace('title = "A study"\ndocument = "none"\n', ""))
    (folder / "README.md").unlink()
    with pytest.raises(InputError, match=r"title and document are missing; .*README\.md"):
        studies.load(folder)


def test_a_study_without_claims_needs_neither_readme_nor_where(
    command: Command, tmp_path: Path
) -> None:
    head, _, rest = STUDY.partition("[[experiment]]")
    assert "summary" in head
    folder = write(tmp_path, f"[[experiment]]{rest}".replace('where = "W"\n', ""))
    (folder / "claims.toml").unlink()
    (folder / "README.md").unlink()
    done = command("study", str(folder), "-n", "1", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert "agree" not in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h2>Claims</h2>" not in page
    assert "data:image/svg+xml" in page


PUBLICATION = """
[publication]
authors = "A. Author and B. Other"
title = "On Start-ups"
year = 2024
url = "https://example.org/start"
"""


def test_the_report_begins_with_the_publication_and_the_verdicts(tmp_path: Path) -> None:
    head, experiment, rest = STUDY.partition("[[experiment]]")
    study = studies.load(write(tmp_path, head + PUBLICATION + experiment + rest))
    study.run(tmp_path / "out", runs=1)
    page = (tmp_path / "out" / "report.html").read_text()
    words = ["A. Author and B. Other", "On Start-ups", "2024", "https://example.org/start"]
    places = [page.index(f">{each}<" if each.startswith("http") else each) for each in words]
    places += [page.index(each) for each in (" agree</span>", "data:image/", 'class="claims"')]
    assert places == sorted(places)


def test_the_first_table_is_that_of_headline_statements(command: Command, tmp_path: Path) -> None:
    study = 'claimed = "That it is so."\n' + STUDY.replace("[[experiment]]", HEADLINE, 1)
    folder = write(tmp_path, study, CLAIMS + SECOND)
    findings = studies.load(folder).run(tmp_path / "out", runs=1)
    assert findings.document()["headline"] == [{"row": "small", "claims": {"it": ["c"]}}]
    page = (tmp_path / "out" / "report.html").read_text()
    table = page.partition('class="headline"')[2].partition("</table>")[0]
    assert '<a href="#c"' in table
    assert "published 1<" in table  # beside what was found
    places = [page.index(each) for each in ("That it is so.", 'class="headline"', "data:image/")]
    assert places == sorted(places)
    shown = command("study", str(folder), "-o", str(tmp_path / "out"), "--runs", "1")
    lines = shown.stdout.splitlines()
    assert any(line.startswith("The publication claims: That it is so.") for line in lines)
    assert lines.index("small") < next(n for n, line in enumerate(lines) if "Words." in line)


def test_claims_are_beside_the_figures_they_rest_on(tmp_path: Path) -> None:
    two = STUDY.partition("[[figure]]")[2]
    study = STUDY.replace('where = "W"', 'where = "figures 3 and 4.2b"')
    study += "[[figure]]" + two.replace('"f"', '"g"').replace('where = "W"', 'where = "table 1"')
    places = ["figure 4.2", "section 5, figure 4.2(b)", "figure 4.2a", "table 1", "figure 30"]
    claims = "".join(
        CLAIMS.replace('id = "c"', f'id = "c{number}"\nnumber = "one"').replace(
            '"page 1"', f'"{where}"'
        )
        for number, where in enumerate(places)
    )
    read = studies.load(write(tmp_path, study, claims))
    found = headline.beside(read.drawings, read.claims, read.experiments)
    names = {name: [each.name for each in those] for name, those in found.items()}
    assert names == {"f": ["c0", "c1"], "g": ["c3"]}
    # A list of its own decides alone.
    read = studies.load(write(tmp_path, study + 'claims = ["c4", "c0"]\n', claims))
    found = headline.beside(read.drawings, read.claims, read.experiments)
    names = {name: [each.name for each in those] for name, those in found.items()}
    assert names == {"f": ["c1"], "g": ["c0", "c4"]}


def test_claims_are_filtered_by_verdict_without_a_script(tmp_path: Path) -> None:
    studies.load(write(tmp_path)).run(tmp_path / "out", runs=1)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script" not in page
    assert 'id="show-differs"' in page
    assert re.search(r'<tr id="c" class="v-(agrees|differs) ', page)


def test_panels_are_stacked_for_a_narrow_screen(tmp_path: Path) -> None:
    study = STUDY + 'columns = "algorithm"\n'
    folder = write(tmp_path, study)
    studies.load(folder).run(tmp_path / "out", runs=1)
    page = (tmp_path / "out" / "report.html").read_text()
    (narrow,) = re.findall(r'<source media="[^"]*max-width[^"]*" srcset="data:[^,]*,([^"]*)"', page)
    (wide,) = re.findall(r'<img[^>]* src="data:[^,]*,([^"]*)"', page)
    sizes = []
    for each in (wide, narrow):
        text = base64.b64decode(each).decode()
        found = [re.search(rf'<svg [^>]*{side}="([\d.]+)pt"', text) for side in ("width", "height")]
        sizes.append([float(each[1]) for each in found if each is not None])
    assert sizes[1][0] == 360  # 5 inches
    assert sizes[1][1] > 1.5 * sizes[0][1]


@pytest.mark.parametrize(
    ("old", "new", "line", "word"),
    [
        ('title = "On', 'titel = "On', 8, "did you mean title?"),
        ("year = 2024", "", 6, "year is missing"),
        ("year = 2024", "year = 2024.5", 9, "integer"),
        ("https://", "javascript:", 10, "https://"),
    ],
)
def test_a_wrong_publication_is_refused(
    tmp_path: Path, old: str, new: str, line: int, word: str
) -> None:
    head, experiment, rest = STUDY.partition("[[experiment]]")
    folder = write(tmp_path, head + PUBLICATION.replace(old, new) + experiment + rest)
    with pytest.raises(InputError, match=rf"study\.toml:{line}: .*{re.escape(word)}"):
        studies.load(folder)


@pytest.mark.parametrize("name", ["study.json", "store/store.json"])
def test_a_mark_that_is_a_pipe_is_refused(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "out" / name
    mark.parent.mkdir(parents=True)
    (tmp_path / "out" / "study.json").write_text('{"format": 1, "study": "mine"}')
    mark.unlink(missing_ok=True)
    os.mkfifo(mark)
    with pytest.raises(InputError, match="not a regular file"):
        studies.load(write(tmp_path)).run(tmp_path / "out", runs=1)


def test_a_damaged_mark_locks_no_run_out(tmp_path: Path) -> None:
    study = studies.load(write(tmp_path))
    first = study.run(tmp_path / "out", runs=1).document()
    (tmp_path / "out" / "study.json").write_text("")
    (tmp_path / "out" / ".report.abcdefgh").mkdir()
    assert study.run(tmp_path / "out", runs=1).document() == first
    assert not list((tmp_path / "out").glob(".*"))


def test_an_analysis_may_be_a_package(tmp_path: Path) -> None:
    folder = write(tmp_path, STUDY.replace("traces = 1", 'traces = 1\nextract = ["found"]'))
    (folder / "analysis").mkdir()
    (folder / "analysis" / "__init__.py").write_text("from .parts import found\n")
    (folder / "analysis" / "parts.py").write_text(
        "from slowstart.studies import Extract\n"
        'found = Extract("found", lambda flow, series, links: float(len(series)))\n'
    )
    (extract,) = studies.load(folder).experiments["one"].extracts
    assert extract.name == "found"


def test_an_extract_comes_from_the_analysis(tmp_path: Path) -> None:
    folder = write(tmp_path, STUDY.replace("traces = 1", 'traces = 1\nextract = ["found"]'))
    (folder / "analysis.py").write_text(
        "from slowstart.studies import Extract\n"
        'found = Extract("found", lambda flow, series, links: float(len(series)))\n'
    )
    (extract,) = studies.load(folder).experiments["one"].extracts
    assert isinstance(extract, Extract)
    (folder / "analysis.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(InputError, match=r"analysis\.py: ModuleNotFoundError"):
        studies.load(folder)


ABSENT = {
    "algorithm": ('"bbr"]', '"teleport"]', "teleport"),
    "preset": ('preset = "wired"', 'preset = "moon"', "no path moon"),
    "trace": ('preset = "wired"', 'rtt = "1 ms", trace = "a/b.trace"', "traces of a are not"),
    "trace of delays": ('preset = "wired"', 'rate = "1 Mbit/s", delay = { trace = "d" }', "d is"),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_claim_about_something_absent_cannot_be_tested(tmp_path: Path, name: str) -> None:
    old, new, word = ABSENT[name]
    claims = CLAIMS.replace('select = { algorithm = "bbr" }\n', "")
    study = studies.load(write(tmp_path, STUDY.replace(old, new), claims))
    reasons = [cell.unavailable for cell in study.experiments["one"].cells if cell.unavailable]
    assert len(reasons) == (2 if name == "algorithm" else 4)
    assert all(word in reason for reason in reasons)
    (verdict,) = study.run(only=["one"], runs=1).verdicts
    assert (verdict.word, verdict.reason) == ("cannot-test", reasons[0])


def test_the_command_refuses_in_one_sentence(command: Command, tmp_path: Path) -> None:
    folder = write(tmp_path, STUDY.replace("summary", "sumary"))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("years of work")
    before = sorted(tmp_path.rglob("*"))
    for words, named in {
        ("study", "sus-testbed"): "did you mean suss-testbed?",
        ("study", str(folder)): "study.toml:3: unknown key sumary",
        ("study", "suss-testbed", "--only", "wird"): "did you mean wired?",
        ("study", "suss-testbed", "--stack", "windows"): "windows",
        ("study", "suss-testbed", "--force"): "--stack linux",
        ("study", "suss-testbed", "-n", "0"): "--runs",
        ("study", "suss-testbed", "-o", "foreign"): "something else",
        ("study", "suss-testbed", "-o", "absent/out"): "absent/out",
        ("study", "suss-testbed", "-o", "/proc/out"): "/proc/out",
    }.items():
        done = command(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("slowstart: ")
        assert done.stderr.count("\n") == 1
        assert named in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_the_guides_example_is_a_study(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "studies.md"
    blocks = re.findall(r"```toml\n(.*?)```", guide.read_text(), flags=re.DOTALL)
    study = next(each for each in blocks if "[[experiment]]" in each)
    claims = next(each for each in blocks if "[[claim]]" in each)
    read = studies.load(write(tmp_path, study, claims))
    assert [claim.certain for claim in read.claims] == [False, True]
    assert {cell.in_quick for cell in read.experiments["buffers"].cells} == {True, False}
    assert [each.kind for each in read.drawings] == ["lines"]
