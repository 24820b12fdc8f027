"""The command ``slowstart probe``."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import sys
import tempfile
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import extras
from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError, complain

if TYPE_CHECKING:
    from slowstart.analysis.identify import Identification
    from slowstart.analysis.probe import Download

EPILOG = """\b
Examples:
  head -c 30M /dev/zero > file
  slowstart probe --url "http://{server}:8000/file" -- python3 -m http.server 8000
  slowstart probe --url "https://{server}/30MB.bin" -o probed -- ./server --port 443
  slowstart probe --url "http://{server}/file" --path geo --path my-path.toml --repeat 3
  slowstart probe --client "iperf3 -c {server} -R -t 8" -- iperf3 -s
  slowstart probe --url "http://{server}:8000/file" --at receiver -- python3 -m http.server 8000

\b
The server command runs at the sending end of an emulated path, {server} is its address
there, and a client of slowstart downloads over five paths (wired, deep, shallow, geo,
dsl). The packets are captured at the server's end, and all downloads together name the
likeliest start-up with its probability, as slowstart analyze --identify does for one file.

\b
Without a server command, the server must listen on this host already, on all addresses;
only the client is then behind the path. --at receiver captures at the client, as if nothing
but the client were yours; that costs certainty (docs/guides/probe.md).

\b
The file should have 12 MB or more, which the client reads at most. The sender's congestion
control is the server's own. To probe another one of the kernel:
  -- sh -c "sysctl -qw net.ipv4.tcp_congestion_control=bbr; exec python3 -m http.server 8000"

\b
Needs root (or /dev/net/tun and user namespaces, with a server command). It takes about a minute.
"""


class At(str, Enum):
    """Where the packets are captured."""

    SENDER = "sender"
    RECEIVER = "receiver"


def probe(
    server: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- SERVER...]", show_default=False,
                       help="The server's command and its arguments; without it, a server that "
                       "listens on this host."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default=False,
                     help="What to download: http, https or tcp; {server} is the address."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(metavar="CMD", show_default=False,
                     help="Instead of --url, a client command (with sh -c) that downloads."),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="PATH", show_default=False,
                     help="A path to download over: wired, deep, shallow, geo, dsl (as above), "
                     "another preset, or a path file; repeatable [default: these five]."),
    ] = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", min=1, max=100, help="Downloads over each path.")
    ] = 1,
    at: Annotated[At, typer.Option(help="Where the packets are captured.")] = At.SENDER,
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="The client closes after so many bytes.")
    ] = "12 MB",
    seconds: Annotated[
        float, typer.Option(metavar="S", min=1, max=600, help="The client closes after S seconds.")
    ] = 20.0,
    as_json: Json = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Keep the captures, and write result.json and report.html."),
    ] = None,
) -> None:  # fmt: skip
    """Name the start-up of a server from downloads over emulated paths (Linux, root)."""
    from slowstart._native import enter_user_namespace
    from slowstart.analysis import probe as probing
    from slowstart.report.progress import Meter
    from slowstart.store.output import output_folder

    extras.need_report("slowstart probe")
    target = probing.Target(url, client, _bytes(size), seconds)
    command = _command(server, url, client)
    if url is not None:
        probing.address(url)
    if command is None and os.geteuid():
        raise InputError(
            "a server that runs already is on this host's own network, which needs root: use sudo, "
            "or name the server's command"
        )
    with output_folder(output) as folder, tempfile.TemporaryDirectory() as aside:
        chosen = [_path(each, Path(aside)) for each in path or probing.PATHS]
        if command is not None:
            with contextlib.suppress(InputError):  # emulate() reports what is missing
                enter_user_namespace()
        captures = Path(aside) if folder is None else folder
        with Meter("downloading", quiet=False) as meter:
            downloads = probing.run(
                chosen, repeat, target, command, side=at.value, folder=captures, progress=meter
            )
        found = probing.together(downloads)
        document = _document(found, downloads, target, command, at.value)
        if folder is not None:
            _write(folder, document, found, downloads)
    for each in downloads:
        if each.late:
            complain(f"{each.path}: the emulation failed its timing self-check three times: "
                     f"{'; '.join(each.late)}")  # fmt: skip
    if as_json:
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        _show(found, downloads)
        if output is not None:
            sys.stdout.write(f"The report is {os.path.join(output, 'report.html')}\n")  # noqa: PTH118


def _bytes(text: str) -> int:
    """The bytes of a size.

    Raises:
        InputError: It is none.
    """
    from slowstart import quantities

    found = quantities.read(text)
    if found is None or found.base != quantities.base("MB") or found.value < 1:
        raise InputError(f"--size {text}: a size has a unit, as in 12 MB")
    return int(found.value)


def _command(server: list[str] | None, url: str | None, client: str | None) -> str | None:
    """The server's command as the shell takes it.

    Raises:
        InputError: There is no such program, or not one client.
    """
    if (url is None) == (client is None):
        raise InputError(
            "name what to download with --url http://{server}:PORT/FILE, or a client with --client"
        )
    if not server:
        return None
    if shutil.which(server[0]) is None:
        raise InputError(f"cannot run `{server[0]}`: there is no such program")
    return f"exec {shlex.join(server)}"


def _path(name: str, folder: Path) -> tuple[str, str]:
    """The name of a path for files, and what an emulation takes.

    Raises:
        InputError: It is no path.
    """
    from slowstart.analysis import probe as probing
    from slowstart.running import compare

    if name in probing.PATHS:
        return name, str(probing.path_file(name, folder))
    compare(name, "cubic", size="1 kB")  # refuses what is no path
    return Path(name).stem.replace(":", "-"), name


def _document(
    found: Identification, downloads: list[Download], target: Any, command: str | None, place: str
) -> dict[str, Any]:
    from slowstart._version import __version__
    from slowstart.analysis import probe as probing

    return {
        "format": 2, "version": __version__, "analysis": True,
        "server": command, "url": target.url, "client": target.client, "captured_at": place,
        "identification": {**found.document(), "sentence": probing.sentence(found, downloads)},
        "alike": [list(names) for names in probing.alike(found)],
        "downloads": [each.document() for each in downloads],
    }  # fmt: skip


def _rest(found: Identification, downloads: list[Download]) -> list[str]:
    """Sentences after the table."""
    from slowstart.analysis import probe as probing

    lines = [probing.sentence(found, downloads)]
    if found.unlike:
        others = ", ".join(f"{name} ({nearest})" for name, nearest in found.unlike)
        lines.append(f"By themselves, these downloads look like another start-up: {others}.")
    alike = probing.alike(found)
    if alike:
        sets = "; ".join(", ".join(names) for names in alike)
        lines.append(f"Not distinguished by these downloads: {sets}.")
    return lines


def _show(found: Identification, downloads: list[Download]) -> None:
    from slowstart.analysis import identify
    from slowstart.analysis import probe as probing
    from slowstart.report.tables import print_table

    print_table(probing.HEADS, [each.row() for each in downloads], left={0, 2, 4, 5})
    if found.candidates:
        heads = (identify.HEADS[0], identify.HEADS[1])
        print_table(heads, [row[:2] for row in found.rows()])
    sys.stdout.writelines(f"{line}\n" for line in _rest(found, downloads))


def _write(
    folder: Path, document: dict[str, Any], found: Identification, downloads: list[Download]
) -> None:
    """Writes ``result.json`` and the report, with a figure of each download."""
    from slowstart.analysis import connections as analysis

    reports = [{**each.report, "file": each.file} for each in downloads]
    chosen, answers = [], []
    for place, each in enumerate(downloads, 1):
        if each.connection is None or each.alone is None:
            continue
        name = f"{each.connection['sender']} over {each.row()[0]}"
        chosen.append({**each.connection, "file": each.file, "number": place, "sender": name})
        answers.append(dataclasses.replace(each.alone, connections=(place,)))
    asked = analysis.Asked()
    asked.document = {"probe": document}
    asked.lines = _rest(found, downloads)
    asked.identified = answers
    analysis.write(folder, reports, chosen, len(chosen), asked)
    (folder / "result.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
