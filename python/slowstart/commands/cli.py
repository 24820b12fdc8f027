"""The command ``slowstart``.

Exit status: 0 success, 1 a run failed or a vector did not pass, 2 invalid input, 130
interrupted. Errors are one sentence on standard error. Only the module of the command that runs is
imported. Such a module imports at its top what its help needs, and its functions import tables,
figures and their libraries where they use them.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import signal
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import extras
from slowstart._version import __version__
from slowstart.commands import plain
from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError, RunError, complain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

EXAMPLES = """\b
Examples:
  slowstart compare geo lte -a cubic+search -a cubic+hystart --size 20MB -n 20
  slowstart compare trace:FILE my-path.toml -o report
  slowstart run scenario.toml --json
  slowstart plot result exit-shares --format pdf --width 3.3in
  slowstart emulate geo --server-command "iperf3 -s" -- iperf3 -c 10.77.0.2 -R
  slowstart sweep scenarios/sweeps/sweep.toml
  slowstart study suss-testbed --quick
  slowstart conformance conformance
  slowstart packetdrill conformance/packetdrill
  slowstart check suite/startup --stack quinn -a own
  slowstart check-stack ./mine.so
  slowstart validate --quick
  slowstart kernel status
  slowstart analyze flow.pcapng
  slowstart census captures -o result
  slowstart path geo
  slowstart list algorithms
"""

FIRST = """\
slowstart measures how a transport sender finds the capacity of an unknown path.

Three things to try:
  slowstart compare geo lte       four start-ups over a satellite and an LTE link
  slowstart analyze flow.pcapng   when and why slow start ended in your own capture
  slowstart list                  the algorithms, paths, networks and studies

All commands: slowstart --help.  Completion of words: slowstart --install-completion
"""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"slowstart {__version__}")  # noqa: T201
        raise typer.Exit


def _options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        sys.stdout.write(FIRST)


def _interruptible(command: Callable[..., Any]) -> Callable[..., Any]:
    """Passes Ctrl-C and a closed pipe on to :func:`invoke`; Typer would exit without a message."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt as error:
            raise typer.Abort from error
        except BrokenPipeError:
            # Typer knows one by its number, which this one does not have.
            raise BrokenPipeError from None

    return run


def _described(command: Callable[..., Any]) -> Callable[[], None]:
    """A command without parameters that has the description of ``command``."""

    def described() -> None:
        """Does nothing."""

    described.__doc__ = command.__doc__
    return described


class Side(str, Enum):
    """Where a path is captured: at an end of its forward link, or between."""

    SENDER = "sender"
    RECEIVER = "receiver"
    MIDDLE = "middle"


class Topic(str, Enum):
    """The topics of ``list``."""

    ALGORITHMS = "algorithms"
    PATHS = "paths"
    NETWORKS = "networks"
    SCENARIOS = "scenarios"
    SUITES = "suites"
    STUDIES = "studies"
    STACKS = "stacks"


LIST_EPILOG = """\b
Examples:
  slowstart list
  slowstart list algorithms --short
  slowstart list algorithms --since 2026
  slowstart list paths --json
  slowstart list networks
  slowstart list scenarios
"""


def _list(
    topic: Annotated[
        Topic | None, typer.Argument(help="What to list [default: everything].")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Leave out the options of algorithms.")
    ] = False,
    since: Annotated[
        int | None,
        typer.Option(help="Only algorithms whose source has a text of this year or later."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the available algorithms, paths, networks, scenarios, suites, studies and stacks."""
    from slowstart.commands import listing

    if since is not None and topic not in (None, Topic.ALGORITHMS):
        raise InputError(f"--since is for algorithms; {topic.value} have no year")
    topics = [each.value for each in Topic] if topic is None else [topic.value]
    if since is not None:
        topics = [Topic.ALGORITHMS.value]
    found = {each: listing.CATALOGUE[each]() for each in topics}
    if since is not None:
        found["algorithms"] = [dict(each) for each in listing.since(found["algorithms"], since)]
    if as_json:
        _print_json(json.dumps({"format": 1, "version": __version__, **found}, indent=2))
    else:
        listing.show(found, short=short)


CONFORMANCE_EPILOG = """\b
Examples:
  slowstart conformance conformance/hystart++-exit.vec
  slowstart conformance conformance
  slowstart conformance my.vec other.vec --json

\b
A vector is a text file with a timeline of sends, ACKs and losses, and the expected
window, threshold and state after each; see docs/reference/conformance.md.
Exit status: 0 all passed, 1 a value differs, 2 a file is not a valid vector.
"""


def _conformance(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Vectors, or folders of vectors (*.vec).",
                       show_default=False),
    ],
    as_json: Json = False,
) -> int:  # fmt: skip
    """Run conformance vectors against the algorithms they name."""
    from slowstart.commands import vectors

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
    """The actions of ``kernel``."""

    LOAD = "load"
    UNLOAD = "unload"
    STATUS = "status"


KERNEL_EPILOG = """\b
Examples:
  slowstart kernel status
  sudo slowstart kernel load cubic+search
  sudo slowstart kernel load cubic+search:version=4.0 cubic+hystart++
  sudo sysctl net.ipv4.tcp_congestion_control=ss_search
  sudo slowstart kernel unload

\b
Use this on servers, outside of experiments; runs with --stack linux load what they need
themselves. `slowstart kernel status` lists what is available, with the options that can
be chosen; the names that the kernel uses work as well. A loaded algorithm stays until
it is unloaded or the machine restarts; using it needs no privileges. Loading needs
root, Linux 5.13 to 7.0 with BTF, and a slowstart built with clang and libbpf; the
status also reports what is missing. The programs are licensed MIT or GPL-2.0, as the
kernel requires.
"""


def _kernel(
    verb: Annotated[Verb, typer.Argument(help="The action.", show_default=False)],
    algorithm: Annotated[
        list[str] | None,
        typer.Argument(metavar="ALGORITHM...", show_default=False,
                       help="Algorithms to load or unload [default: load a standard set; unload "
                       "all]."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the status as one JSON document.")
    ] = False,
) -> None:  # fmt: skip
    """Load SEARCH, HyStart++ or CUBIC without HyStart into the running kernel (Linux; root)."""
    from slowstart.commands import kernel as programs

    algorithms = algorithm or []
    if as_json and verb is not Verb.STATUS:
        raise InputError("--json works with status only")
    if verb is Verb.LOAD:
        programs.load(algorithms)
    elif verb is Verb.UNLOAD:
        programs.unload(algorithms)
    else:
        programs.status(algorithms, as_json=as_json)


EMULATE_EPILOG = """\b
Examples:
  slowstart emulate lte --server-command "python3 -m http.server" -- \\
    curl -o /dev/null http://10.77.0.2:8000/file
  slowstart emulate geo --server-command "iperf3 -s" -- iperf3 -c 10.77.0.2 -R
  slowstart emulate my-path.toml --capture run.pcapng --log run.log -- ./client
  slowstart emulate geo --server-command ./server -- slowstart emulate wifi-weak -- ./client

\b
The command is the client, at 10.77.0.1, and downloads over the path's forward link;
with --upload it uploads over it. The server command runs at the other end, at 10.77.0.2.
The environment variables SLOWSTART_ADDRESS and SLOWSTART_PEER hold both addresses.
Emulations nest: the client behind both paths reaches the outer server, and
SLOWSTART_PEER is the address of the nearest server command. No packet leaves the
machine, and host names are not resolved. The exit status is that of the command.
"""


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
        bool, typer.Option("--upload", help="The command sends over the forward link.")
    ] = False,
    capture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Capture the packets at one point, as pcapng.",
                     show_default=False),
    ] = None,
    capture_side: Annotated[
        Side | None,
        typer.Option(help="Where to capture: at the forward link's sender, where packet comments "
                     "mark drops, at its receiver, or in the middle, half of the link's delay "
                     "before the receiver [default: sender].", show_default=False),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Log the forward link, in Mahimahi's format.",
                     show_default=False),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an existing capture or log.")
    ] = False,
    server_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Run this at the other end (with sh -c), and wait until "
                     "it listens on a port.", show_default=False),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Show rate, queue and drops on standard error.")
    ] = False,
) -> int:  # fmt: skip
    """Run a program behind an emulated path, in real time (Linux; root or /dev/net/tun)."""
    from slowstart.commands import emulate as behind

    if capture_side is not None and capture is None:
        raise InputError("--capture-side needs --capture FILE")
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


# The module, the function and the epilog of each command, in the order of the help.
COMMANDS = {
    "compare": ("run", "compare_paths", "COMPARE_EPILOG"),
    "run": ("run", "run_file", "RUN_EPILOG"),
    "check": ("check", "check", "EPILOG"),
    "check-stack": ("check_stack", "check_stack", "EPILOG"),
    "path": ("path", "look_at", "EPILOG"),
    "plot": ("plot", "plot", "EPILOG"),
    "analyze": ("analyze", "analyze", "EPILOG"),
    "census": ("census", "census", "EPILOG"),
    "export": ("export", "export", "EPILOG"),
    "packetdrill": ("packetdrill", "packetdrill", "EPILOG"),
    "list": ("cli", "_list", "LIST_EPILOG"),
    "conformance": ("cli", "_conformance", "CONFORMANCE_EPILOG"),
    "kernel": ("cli", "_kernel", "KERNEL_EPILOG"),
    "emulate": ("cli", "_emulate", "EMULATE_EPILOG"),
    "probe": ("probe", "probe", "EPILOG"),
    "study": ("study", "study", "EPILOG"),
    "evaluate": ("evaluate", "evaluate", "EPILOG"),
    "sweep": ("sweep", "sweep", "EPILOG"),
    "validate": ("validate", "validate", "EPILOG"),
    "artifact": ("artifact", "artifact", "EPILOG"),
}
# How rarely garbage is searched for. Figures are thousands of objects that live until their file is
# written: searching them at the usual rate takes a tenth of the time of a report.
GARBAGE = (50_000, 20, 20)
# Commands with subcommands of their own, each with the attribute `app`.
GROUPS = ("traces", "vm")


def program(words: Sequence[str] = ()) -> typer.Typer:
    """The program with all its commands, or with that alone which the first of ``words`` names.

    A command is imported only if it is part of the program. For the program's own help, a command
    has its description alone: Typer takes a third of the time to evaluate what 22 commands accept.
    """
    first = words[0] if words else ""
    names_only = list(words) in (["--help"], ["-h"])
    every = first not in (*COMMANDS, *GROUPS)
    made = typer.Typer(
        name="slowstart",
        help="Compare how TCP start-up algorithms find the capacity of a path.",
        epilog=f"{EXAMPLES}\n{_module('run').SYNTAX}" if every else None,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    made.callback()(_options)
    for name, (module, function, epilog) in COMMANDS.items():
        if every or name == first:
            found = _module(module)
            command = getattr(found, function)
            command = _described(command) if names_only else _interruptible(command)
            made.command(name, epilog=getattr(found, epilog))(command)
    for name in GROUPS:
        if every or name == first:
            made.add_typer(_module(name).app, name=name)
    return made


def _module(name: str) -> Any:
    return importlib.import_module(f"slowstart.commands.{name}")


def _print_json(text: str) -> None:
    sys.stdout.write(text + "\n")


def _terminated(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _undecodable(arguments: Sequence[str]) -> str | None:
    r"""The first of ``arguments`` that is not UTF-8, with its invalid bytes as ``\xff``."""
    for each in arguments:
        shown = os.fsencode(each).decode(errors="backslashreplace")
        if shown != each:
            return shown
    return None


def _run(arguments: Sequence[str]) -> object:
    # Typer imports Pydantic to read arguments, which takes as long as the rest of `list`.
    if len(arguments) == 1 and arguments[0] == "list":
        _list()
        return None
    return program(arguments)(args=list(arguments), prog_name="slowstart", standalone_mode=False)


def invoke(arguments: Sequence[str]) -> int:
    """Runs the command with ``arguments`` and returns its exit status."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except InputError as error:
        return complain(str(error), 2)
    except RunError as error:
        return complain(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return complain("interrupted; nothing was written", 130)
    except BrokenPipeError:
        # The reader closed the pipe. The interpreter must find nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'output'}: {(error.strerror or '').lower()}", 1)
    except UnicodeEncodeError as error:
        culprit = _undecodable(arguments) or repr(error.object)
        return complain(f"`{culprit}` is not UTF-8 text", 2)
    except MemoryError:
        return complain("not enough memory for these runs", 1)
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        if library not in extras.LIBRARIES:
            raise
        return complain(extras.sentence("this", [library]), 2)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            kind = type(error).__name__
            return complain(f"internal error (please report this bug): {kind}: {error}", 1)
        command = getattr(getattr(error, "ctx", None), "command_path", "slowstart")
        names = [*COMMANDS, *GROUPS]
        return complain(f"{plain.usage(usage(), command, names)} (see {command} --help)", 2)
    return status if isinstance(status, int) else 0


def main() -> None:
    """The entry point of the command."""
    gc.set_threshold(*GARBAGE)
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(invoke(sys.argv[1:]))
