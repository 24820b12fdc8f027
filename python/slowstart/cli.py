"""The command ``slowstart``.

Exit status: 0 done, 2 the input was wrong, 1 a run failed or a vector does not hold, 130
interrupted. Errors are one sentence on standard error. Only what every command needs is imported
here and in the modules of the commands, so that help is there at once; tables, figures and their
libraries are imported where they are used.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import (
    __version__,
    path_command,
    plain,
    run_command,
    study_command,
    traces_command,
    vm_command,
)
from slowstart.errors import InputError, RunError, complain
from slowstart.fidelity import command as fidelity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

app = typer.Typer(
    name="slowstart",
    help="Compare how TCP start-up algorithms find the capacity of a path.",
    epilog=f"""\b
Examples:
  slowstart compare geo lte -a cubic+search -a cubic+hystart --size 20MB -n 20
  slowstart compare trace:FILE my-path.toml -o report
  slowstart run scenario.toml --json
  slowstart emulate geo --server-command "iperf3 -s" -- iperf3 -c 10.77.0.2 -R
  slowstart study suss-testbed --quick
  slowstart conformance conformance
  slowstart validate --quick
  slowstart kernel status
  slowstart path geo
  slowstart list algorithms

{run_command.SYNTAX}""",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"slowstart {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def _interruptible(command: Callable[..., Any]) -> Callable[..., Any]:
    """Has Ctrl-C reach :func:`invoke`; the library for command lines would end without a word."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt as error:
            raise typer.Abort from error

    return run


app.command("compare", epilog=run_command.COMPARE_EPILOG)(_interruptible(run_command.compare_paths))
app.command("run", epilog=run_command.RUN_EPILOG)(_interruptible(run_command.run_file))
app.command("path", epilog=path_command.EPILOG)(_interruptible(path_command.look_at))


class Side(str, Enum):
    """An end of a path, by who sends on its forward link."""

    SENDER = "sender"
    RECEIVER = "receiver"


class Topic(str, Enum):
    """What ``list`` lists."""

    ALGORITHMS = "algorithms"
    PATHS = "paths"
    STUDIES = "studies"


@app.command(
    "list",
    epilog="""\b
Examples:
  slowstart list
  slowstart list algorithms
  slowstart list paths --json
""",
)
def _list(
    topic: Annotated[
        Topic | None, typer.Argument(help="What to list; everything if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the algorithms, paths and studies there are."""
    from slowstart import listing

    topics = [each.value for each in Topic] if topic is None else [topic.value]
    found = {each: listing.CATALOGUE[each]() for each in topics}
    if as_json:
        _print_json(json.dumps({"format": 1, "version": __version__, **found}, indent=2))
    else:
        listing.show(found)


@app.command(
    "conformance",
    epilog="""\b
Examples:
  slowstart conformance conformance/hystart++-exit.vec
  slowstart conformance conformance
  slowstart conformance my.vec other.vec --json

\b
A vector is a text file with a timeline of sends, ACKs and losses, and what window,
threshold and state must be after each; see docs/reference/conformance.md.
Exit status: 0 all hold, 1 an answer differs, 2 a file is no vector.
""",
)
def _conformance(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Vectors, or folders with vectors (*.vec).",
                       show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:  # fmt: skip
    """Run conformance vectors against the algorithms they name."""
    from slowstart import vectors

    found = vectors.reports(files)
    if as_json:
        for report in found:
            del report["text"]
        document = {"format": 1, "version": __version__, "vectors": found}
        _print_json(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        vectors.show(found)
    return 0 if all(report["passed"] for report in found) else 1


class Verb(str, Enum):
    """What ``kernel`` does."""

    LOAD = "load"
    UNLOAD = "unload"
    STATUS = "status"


@app.command(
    "kernel",
    epilog="""\b
Examples:
  slowstart kernel status
  sudo slowstart kernel load cubic+search
  sudo slowstart kernel load cubic+search:version=4.0 cubic+hystart++
  sudo sysctl net.ipv4.tcp_congestion_control=ss_search
  sudo slowstart kernel unload

\b
For servers that want these start-ups without an experiment; runs with --stack linux load
what they need by themselves. cubic+search (version, exit, threshold, missed, alpha and
passive may be said), cubic+hystart++ (with form), cubic+hystart:variant=paper, cubic+suss,
cubic+standard, bic and westwood can be loaded, also by the names that the kernel has for
them, which the status lists. What is loaded stays until it is unloaded or the machine
restarts; to use it needs no rights. Loading needs root, Linux 5.13 to 7.0 with BTF, and a
slowstart that was built with clang and libbpf; the status says what is missing. The
programs are MIT or GPL-2.0, which the kernel asks for.
""",
)
def _kernel(
    verb: Annotated[Verb, typer.Argument(help="What to do.", show_default=False)],
    algorithm: Annotated[
        list[str] | None,
        typer.Argument(metavar="ALGORITHM...", show_default=False,
                       help="Which; if left out, a small selection is loaded, all are unloaded."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the status as one JSON document.")
    ] = False,
) -> None:  # fmt: skip
    """Load SEARCH, HyStart++ or CUBIC without HyStart into the running kernel (Linux; root)."""
    from slowstart import programs

    algorithms = algorithm or []
    if as_json and verb is not Verb.STATUS:
        raise InputError("--json is for the status")
    if verb is Verb.LOAD:
        programs.load(algorithms)
    elif verb is Verb.UNLOAD:
        programs.unload(algorithms)
    else:
        programs.status(algorithms, as_json=as_json)


@app.command(
    "emulate",
    epilog="""\b
Examples:
  slowstart emulate lte --server-command "python3 -m http.server" -- \\
    curl -o /dev/null http://10.77.0.2:8000/file
  slowstart emulate geo --server-command "iperf3 -s" -- iperf3 -c 10.77.0.2 -R
  slowstart emulate my-path.toml --capture run.pcapng --log run.log -- ./client
  slowstart emulate geo --server-command ./server -- slowstart emulate wifi-weak -- ./client

\b
The command is the client, at 10.77.0.1, and downloads over the path's forward link;
with --upload it sends on it. The server command runs at the other end, at 10.77.0.2.
Both addresses are in the environment: SLOWSTART_ADDRESS, SLOWSTART_PEER. Emulations
nest: the client behind both paths reaches the outer server, and SLOWSTART_PEER is the
nearest server command's address. Nothing leaves the machine, and names are not resolved.
The exit status is the command's.
""",
)
def _emulate(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A preset, trace:FILE, or a path file.",
                       show_default=False),
    ],
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.",
                       show_default=False),
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the channel.")] = 1,
    upload: Annotated[
        bool, typer.Option("--upload", help="The command sends on the forward link.")
    ] = False,
    capture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the packets that pass one end, as pcapng.",
                     show_default=False),
    ] = None,
    capture_side: Annotated[
        Side | None,
        typer.Option(help="Which end: that of the forward link's sender, where drops are said in "
                     "comments, or of its receiver [default: sender].", show_default=False),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the forward link's log, in Mahimahi's format.",
                     show_default=False),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a capture or log that exists.")
    ] = False,
    server_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Run this (by sh -c) at the other end, and wait until it "
                     "listens.", show_default=False),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show rate, queue and drops on standard error.")
    ] = False,
) -> int:  # fmt: skip
    """Run a program behind a path, in real time (Linux; needs root or /dev/net/tun)."""
    from slowstart import behind

    if capture_side is not None and capture is None:
        raise InputError("--capture-side is about a capture, so it needs --capture FILE")
    return behind.run(
        path,
        command,
        seed=seed,
        upload=upload,
        capture=capture,
        capture_side=(capture_side or Side.SENDER).value,
        log=log,
        force=force,
        server_command=server_command,
        live=live,
    )


app.command("study", epilog=study_command.EPILOG)(study_command.study)
app.add_typer(traces_command.app, name="traces")
app.add_typer(vm_command.app, name="vm")
app.command("validate", epilog=fidelity.EPILOG)(fidelity.validate)


def _print_json(text: str) -> None:
    sys.stdout.write(text + "\n")


def _terminated(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _undecodable(arguments: Sequence[str]) -> str | None:
    r"""The first of ``arguments`` whose bytes are not UTF-8, with these as ``\xff``."""
    for each in arguments:
        shown = os.fsencode(each).decode(errors="backslashreplace")
        if shown != each:
            return shown
    return None


def invoke(arguments: Sequence[str]) -> int:
    """Runs the command with ``arguments`` and returns its exit status."""
    try:
        status = app(args=list(arguments), prog_name="slowstart", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return complain(str(error), 2)
    except RunError as error:
        return complain(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return complain("interrupted, and nothing was written", 130)
    except BrokenPipeError:
        # The reader has seen enough. Nothing may be left for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'output'}: {(error.strerror or '').lower()}", 1)
    except UnicodeEncodeError as error:
        culprit = _undecodable(arguments) or repr(error.object)
        return complain(f"`{culprit}` is not UTF-8 text", 2)
    except MemoryError:
        return complain("this machine does not have enough memory for these runs", 1)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            kind = type(error).__name__
            return complain(f"internal error (please report this bug): {kind}: {error}", 1)
        command = getattr(getattr(error, "ctx", None), "command_path", "slowstart")
        names = [each.name or "" for each in typer.main.get_group(app).commands.values()]
        return complain(f"{plain.usage(usage(), command, names)} (see {command} --help)", 2)
    return status if isinstance(status, int) else 0


def main() -> None:
    """The entry point of the command."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(invoke(sys.argv[1:]))
