"""The command ``slowstart artifact``."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from slowstart._version import __version__
from slowstart.errors import InputError, RunError
from slowstart.extras import LIBRARIES, need_report

EPILOG = """\b
Examples:
  slowstart study suss-testbed -o testbed
  slowstart artifact testbed -o testbed.tar.gz
  slowstart artifact verify testbed.tar.gz
  slowstart artifact verify testbed.tar.gz --repeat
  slowstart artifact part --words "--only wired -n 5" -o part.tar.gz

\b
DIR is the output folder of slowstart study. The archive has its results and figures, the
study's inputs, the versions of everything that ran, and the commands that repeat it. The
same results on the same machine give the same bytes. `verify` checks every file against
its checksum. With --repeat it also runs the study again from the archive, and compares
the verdicts and the values behind them. zenodo.json has the metadata of a deposit.
Exit status: 0 done, 1 the repeated results differ, 2 invalid input.
"""
RESULT = "results/result.json"


def artifact(
    words: Annotated[
        list[str],
        typer.Argument(metavar="DIR | verify FILE", show_default=False,
                       help="The folder of a study's results; or an archive to verify."),
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", show_default=False,
                     help="The archive [default: DIR.tar.gz]."),
    ] = None,
    made_with: Annotated[
        str, typer.Option("--words", metavar="WORDS",
                          help="Options of slowstart study that made the results, beside --quick "
                          "and --stack.")
    ] = "",
    repeat: Annotated[
        bool, typer.Option("--repeat", help="With verify: run the study again, and compare.")
    ] = False,
) -> int:  # fmt: skip
    """Pack a study's results into one archive that another machine verifies."""
    if words[0] == "verify":
        if len(words) != 2 or output or made_with:
            raise InputError("give verify one archive: slowstart artifact verify FILE [--repeat]")
        return _verify(Path(words[1]), repeat=repeat)
    if len(words) != 1 or repeat:
        raise InputError("give one folder: slowstart artifact DIR [-o FILE]")
    folder = Path(words[0])
    _pack(folder, Path(output or f"{folder.resolve().name}.tar.gz"), made_with)
    return 0


def _pack(folder: Path, target: Path, made_with: str) -> None:
    """Writes the archive of a folder."""
    from slowstart.store import artifact as archive
    from slowstart.store.output import replace_file_with
    from slowstart.studies.catalogue import FOLDERS

    document = _document(folder)
    if "tmix" in document:
        raise InputError(
            f"{folder} has results on the connections of {document['tmix']['file']}, which an "
            "archive of the study would not hold"
        )
    name = str(document["study"])
    inputs = FOLDERS / Path(name).name
    if not inputs.is_dir():
        raise InputError(f"{folder} has results of `{name}`, which is no study of this version")
    if document["version"] != __version__:
        raise InputError(
            f"{folder} was made by slowstart {document['version']}, and this is {__version__}"
        )
    if target.exists():
        raise InputError(f"{target} exists: name a new file with -o")
    options = ["--quick"] if document["quick"] else []
    for each in document["stacks"]:
        options += ["--stack", each["stack"]] if each["stack"] != "simulated" else []
    options += shlex.split(made_with)
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "libraries": {each: _version_of(each) for each in (*LIBRARIES, "rich", "typer")},
        "options": options,
        "commands": [
            f"pip install 'slowstart[report]=={__version__}'",
            f"slowstart artifact verify {target.name} --repeat",
            shlex.join(["slowstart", "study", name, *options]),
        ],
    }
    files = archive.contents(name, str(document["title"]), inputs, folder, facts)
    data = archive.packed(files, target.name.removesuffix(".tar.gz"))
    replace_file_with(target, data)
    sys.stdout.write(f"{target}: {len(files)} files, {len(data) / 1e6:.1f} MB\n")


def _document(folder: Path) -> dict[str, Any]:
    """The result of a study in a folder."""
    file = folder / "result.json"
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is not the output folder of a study: no {file.name}") from error
    if not isinstance(document, dict) or document.get("kind") != "study":
        raise InputError(f"{file} is not the result of a study")
    return document


def _version_of(module: str) -> str | None:
    import importlib.metadata

    distribution = {"markdown_it": "markdown-it-py"}.get(module, module)
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _verify(file: Path, *, repeat: bool) -> int:
    """Checks an archive, and with ``repeat`` its results."""
    from slowstart.store import artifact as archive

    files = archive.read(file)
    facts = json.loads(files[archive.FACTS])
    sys.stdout.write(f"{file}: {len(files)} files, each as listed in {archive.SUMS}\n")
    if not repeat:
        return 0
    need_report("slowstart artifact verify --repeat")
    if facts["version"] != __version__:
        raise InputError(
            f"{file} was made by slowstart {facts['version']}, and this is {__version__}: "
            f"{facts['commands'][0]}"
        )
    with tempfile.TemporaryDirectory() as place:
        inputs = Path(place) / archive.INPUTS / Path(str(facts["study"])).name
        for name, data in files.items():
            if name.startswith(f"{archive.INPUTS}/"):
                copy = Path(place) / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(data)
        made = Path(place) / "made"
        words = ["study", str(inputs), *map(str, facts["options"]), "-q", "-o", str(made)]
        code = "from slowstart.commands.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code, *words], check=False)  # noqa: S603
        if done.returncode:
            raise RunError("the study of the archive did not run")
        return _compare(json.loads(files[RESULT]), _document(made))


def _compare(there: dict[str, Any], here: dict[str, Any]) -> int:
    """Says whether two results of a study agree, claim by claim."""
    claims = {each["id"]: each for each in here["claims"]}
    other = [each["id"] for each in there["claims"] if claims.get(each["id"]) != each]
    if other:
        sys.stdout.write(f"{len(other)} of {len(there['claims'])} claims differ: {other}\n")
        return 1
    sys.stdout.write(f"repeated: all {len(there['claims'])} claims are the same\n")
    return 0
