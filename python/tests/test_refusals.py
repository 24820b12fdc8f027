"""Invalid input: one sentence on standard error, status 2, no other output, no files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Command

import slowstart

FILES = {
    "unit.toml": '[path]\nrate = "50 Mparsec/s"\nrtt = "100 ms"\n',
    "negative.toml": '[path]\nrate = "-5 Mbit/s"\nrtt = "100 ms"\n',
    "key.toml": '[path]\nrate = "50 Mbit/s"\nrtt = "100 ms"\nbufer = "1 bdp"\n',
    "no-toml.toml": "path = [\n",
    "no-flow.toml": '[path]\npreset = "wired"\n',
    "one.toml": '[path]\npreset = "wired"\n[[flow]]\nalgorithm = "reno"\nsize = "1 B"\n',
    "text.parquet": "years of work",
    "empty.trace": "",
    "descending.trace": "5\n3\n9\n",
    "words.trace": "one\ntwo\n",
}
SHORT = ("--size", "100 kB")
REFUSED = {
    "unknown algorithm": (("compare", "wired", "-a", "cubik"), "cubik"),
    "bytes that are no text": (("compare", "wired", "-a", "cubic+\udcff"), "`cubic+\\xff` is not"),
    "unknown start-up": (("compare", "wired", "-a", "cubic+serach"), "search"),
    "unknown option": (("compare", "wired", "-a", "cubic+search:speed=9"), "speed"),
    "unknown value": (("compare", "wired", "-a", "cubic+search:version=9"), "version"),
    "the same algorithm twice": (
        ("compare", "wired", "-a", "cubic", "-a", "cubic+hystart"),
        "same",
    ),
    "the same path twice": (("compare", "wired", "wired"), "wired"),
    "unknown path": (("compare", "goe"), "geo"),
    "unknown unit": (("compare", "unit.toml"), "unit.toml:2"),
    "unknown unit of size": (("compare", "wired", "--size", "20 parsec"), "parsec"),
    "negative rate": (("compare", "negative.toml"), "negative.toml:2"),
    "unknown key": (("compare", "key.toml"), "buffer"),
    "invalid TOML": (("compare", "no-toml.toml"), "no-toml.toml:"),
    "no flow": (("run", "no-flow.toml"), "no-flow.toml"),
    "absent file": (("run", "absent.toml"), "absent.toml"),
    "a folder as file": (("run", "."), "."),
    "empty trace": (("compare", "trace:empty.trace"), "empty.trace"),
    "descending trace": (("compare", "trace:descending.trace"), "descending.trace:2"),
    "trace of words": (("compare", "trace:words.trace"), "words.trace:1"),
    "absent trace": (("compare", "trace:absent"), "absent"),
    "zero bytes": (("compare", "wired", "--size", "0 B"), "one byte"),
    "negative size": (("compare", "wired", "--size", "-5 MB"), "-5 MB"),
    "zero time": (("compare", "wired", "--duration", "0 s"), "zero"),
    "size and duration": (("compare", "wired", "--size", "1MB", "--duration", "1s"), "not both"),
    "no runs": (("compare", "wired", "-n", "0"), "runs"),
    "negative runs": (("compare", "wired", "-n", "-3"), "runs"),
    "endless runs": (("compare", "wired", "-n", "9" * 30), "runs"),
    "negative seed": (("compare", "wired", "--seed", "-1"), "seed"),
    "no window": (("compare", "wired", "--initial-window", "0"), "window"),
    "no flows": (("compare", "wired", "--flows", "0"), "flows"),
    "no threads": (("compare", "wired", "--threads", "0"), "threads"),
    "a word for a number": (("compare", "wired", "-n", "many"), "--runs: expected an integer"),
    "several algorithms in one word": (("compare", "wired", "-a", "cubic,bbr"), "repeat -a"),
    "an unknown command": (("cmopare", "wired"), "compare"),
    "a sweep without a file": (("sweep", "x"), "x: the file does not exist"),
    "an option of the command": (("emulate", "wired", "curl", "-o", "x"), "put -- before"),
    "no path": (("compare",), "PATH"),
    "unknown command": (("compose",), "compose"),
    "unknown flag": (("compare", "wired", "--sice", "1MB"), "--sice"),
    "a vector without an end": (("conformance", "/dev/zero"), "/dev/zero"),
    "a scenario without an end": (("run", "/dev/zero"), "/dev/zero"),
    "unknown topic": (("list", "algorithmz"), "did you mean algorithms?"),
    "traces without a folder": (("run", "no-flow.toml", "--traces"), "-o"),
    "output below nothing": (("compare", "wired", *SHORT, "-o", "absent/out"), "absent/out"),
    "output in a file": (("compare", "wired", *SHORT, "-o", "unit.toml/out"), "unit.toml/out"),
    "output is a file": (("compare", "wired", *SHORT, "-o", "unit.toml"), "unit.toml"),
    "output where nothing is written": (("compare", "wired", *SHORT, "-o", "/proc/out"), "/proc"),
    "a table below nothing": (("compare", "wired", *SHORT, "-o", "no/x.parquet"), "no/x.parquet"),
    "a table where nothing is written": (
        ("compare", "wired", *SHORT, "-o", "/proc/x.parquet"),
        "/proc/x.parquet",
    ),
    "a table that is a folder": (("compare", "wired", *SHORT, "-o", "old.parquet"), "not a file"),
    "a table over another file": (
        ("compare", "wired", *SHORT, "-o", "x.parquet", "--links", "text.parquet"),
        "text.parquet",
    ),
    "two tables in one file": (
        ("compare", "wired", *SHORT, "-o", "x.parquet", "--links", "./x.parquet"),
        "a file of its own",
    ),
    "links in another format": (
        ("compare", "wired", *SHORT, "-o", "x.parquet", "--links", "x.csv"),
        "x.csv",
    ),
    "links beside a folder": (("compare", "wired", "--links", "x.parquet"), "--links needs -o"),
    "a document beside a table": (
        ("compare", "wired", *SHORT, "-o", "x.parquet", "--json"),
        "--json",
    ),
    "time series in a table": (
        ("run", "one.toml", "-o", "x.parquet", "--traces"),
        "--traces",
    ),
    "a table of kernel runs": (
        ("compare", "wired", *SHORT, "-o", "x.parquet", "--stack", "linux"),
        "only simulations",
    ),
    "output in a foreign folder": (("compare", "wired", *SHORT, "-o", "foreign"), "foreign"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_in_one_sentence(command: Command, tmp_path: Path, name: str) -> None:
    words, named = REFUSED[name]
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("years of work")
    (tmp_path / "old.parquet").mkdir()
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    before = sorted(tmp_path.rglob("*"))
    done = command(*words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("slowstart: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("words", [("conformance", "pipe"), ("run", "pipe"), ("study", "folder")])
def test_a_pipe_does_not_block(command: Command, tmp_path: Path, words: tuple[str, str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder" / "study.toml")
    done = command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert words[1] in done.stderr


WORKING = {
    "0 ms": '[path]\nrate = "50 Mbit/s"\nrtt = "0 ms"\nbuffer = "100 packets"\n',
    "100 Gbit/s": '[path]\nrate = "100 Gbit/s"\nrtt = "10 ms"\nbuffer = "1 bdp"\n',
    "one packet of buffer": '[path]\nrate = "50 Mbit/s"\nrtt = "10 ms"\nbuffer = "1 packets"\n',
}


@pytest.mark.parametrize("name", WORKING)
def test_extremes_work_or_are_rejected(command: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "path.toml").write_text(WORKING[name])
    done = command("compare", "path.toml", "-a", "cubic", "-a", "bbr", *SHORT)
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert " of " not in done.stdout.split("\n", 1)[1], "a transfer did not complete"


def test_python_raises_a_value_error_with_the_same_sentence() -> None:
    with pytest.raises(slowstart.InputError, match="cubik") as error:
        slowstart.compare("wired", "cubik", size="1 MB")
    assert isinstance(error.value, ValueError)
    with pytest.raises(slowstart.InputError, match="runs"):
        slowstart.compare("wired", "cubic", size="1 MB", runs=-1)
    untraced = slowstart.run(slowstart.compare("wired", "cubic", size="100 kB"))
    with pytest.raises(slowstart.InputError, match="traces=True"):
        untraced.flow_traces()
