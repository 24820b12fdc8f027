"""The command ``slowstart``.

Exit status: 0 done, 2 the input was wrong, 1 a run failed or a vector does not hold, 130
interrupted. Errors are one
sentence on standard error. Only what every command needs is imported here, so that help is there
at once; tables, figures and their libraries are imported where they are used.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart import (
    InputError,
    RunError,
    Scenario,
    __version__,
    compare,
    run,
    study_command,
    vm_command,
)
from slowstart._native import check_linux, check_vm, enter_user_namespace, run_linux, run_vm
from slowstart.fidelity import command as fidelity
from slowstart.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from slowstart import Result

ALGORITHMS = ("cubic+hystart", "cubic+hystart++", "cubic+search", "cubic+standard")
SIZE = "20 MB"

_SYNTAX = """\b
Algorithms are written avoidance+startup[:option=value,...], for example
  cubic+search   cubic+search:version=4.0,exit=drain   reno+hystart++   bbr
and "cubic" alone is Linux's default, cubic+hystart.  See: slowstart list algorithms

\b
Paths are presets (geo, lte, wired, ...; see: slowstart list paths), recorded
traces in Mahimahi's format (trace:FILE, trace:DOWN,UP, and with recorded delays
trace:FILE,delay=FILE), or path files:
  [path]
  rate = "50 Mbit/s"
  rtt = "100 ms"
  buffer = "1.5 bdp"
"""

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

{_SYNTAX}""",
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Write result.json, Parquet and CSV tables, figures and report.html into this "
        "folder. It is whole or absent; an earlier result there is replaced.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result document, and nothing else.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no table and no progress.")]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=4096,
        help="Runs at a time [default: one for each core]; the result does not depend on it.",
        show_default=False,
    ),
]


class Stack(str, Enum):
    """What runs a scenario."""

    SIMULATED = "simulated"
    LINUX = "linux"
    LINUX_VM = "linux-vm"


StackChoice = Annotated[
    Stack,
    typer.Option(
        "--stack",
        help="What runs: our TCP in virtual time; the running kernel's over an emulated path, in "
        "real time and one run after the other (needs root); or that of a kernel in a virtual "
        "machine, in virtual time and the same in each repetition (see: slowstart vm).",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="On a kernel, count runs that the emulator's check of itself does not trust.",
    ),
]
SwitchHyStart = Annotated[
    bool,
    typer.Option(
        "--switch-hystart",
        help="With --stack linux, switch HyStart off for the whole machine while a run of "
        "cubic+standard lasts, if the kernel has no other way.",
    ),
]


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


@app.command(
    "compare",
    epilog=f"""\b
Examples:
  slowstart compare geo -a cubic+search -a cubic+hystart -a cubic+standard --size 20MB -n 50
  slowstart compare lte wifi-strong my-path.toml -a bbr -a cubic --json
  slowstart compare trace:FILE -a cubic+search --duration 10s -o report
  slowstart compare wired -a reno --flows 4 --stagger "500 ms" --size 5MB
  sudo slowstart compare wired -a cubic -a bbr --size 5MB --stack linux
  slowstart compare wired -a cubic -a westwood --size 5MB --stack linux-vm

{_SYNTAX}""",
)
def _compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Presets, trace:FILE, or path files.",
                       show_default=False),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", metavar="ALG", show_default=False,
                     help=f"An algorithm; repeat it [default: {', '.join(ALGORITHMS)}]."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", show_default=False,
                     help=f'Bytes that each flow sends, with unit [default: "{SIZE}"].'),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False,
                     help='How long each flow sends instead, with unit ("10 s").'),
    ] = None,
    runs: Annotated[
        int, typer.Option("-n", "--runs", metavar="N", help="Runs of each algorithm.")
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed of the first run. Runs of one number meet the same "
                     "channel, whatever the algorithm."),
    ] = 1,
    initial_window: Annotated[
        int, typer.Option(metavar="N", help="Initial window in segments.")
    ] = 10,
    pacing: Annotated[bool, typer.Option("--pacing", help="Pace segments, as under fq.")] = False,
    flows: Annotated[int, typer.Option(metavar="N", help="Flows in each run.")] = 1,
    stagger: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time from one flow's start to the next.",
                     show_default=False),
    ] = None,
    stack: StackChoice = Stack.SIMULATED,
    force: Force = False,
    switch_hystart: SwitchHyStart = False,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compare algorithms over one or several paths."""
    settings: dict[str, Any] = {
        "runs": runs,
        "seed": seed,
        "initial_window": initial_window,
        "pacing": pacing,
        "flows": flows,
        "stagger": stagger,
    }
    amount = SIZE if size is None and duration is None else size
    algorithms = algorithm or list(ALGORITHMS)
    scenarios = compare(paths, algorithms, size=amount, duration=duration, **settings)

    def at_size(smaller: str) -> list[Scenario]:
        return compare(paths, algorithms, size=smaller, **settings)

    how = _How(stack, force, switch_hystart, threads)
    _execute(scenarios, how, as_json, output, quiet, at_size=at_size)


@app.command(
    "run",
    epilog="""\b
Examples:
  slowstart run scenario.toml
  slowstart run scenario.toml --seed 7 -n 20 --json
  slowstart run scenario.toml -o report --traces

\b
A scenario file says the path, the flows, and how often they run:
  runs = 20
  [path]
  preset = "geo"
  [[flow]]
  algorithm = "cubic+search"
  size = "20 MB"
""",
)
def _run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A scenario file (TOML).", show_default=False)
    ],
    runs: Annotated[
        int | None,
        typer.Option("-n", "--runs", metavar="N", help="Runs, instead of the file's.",
                     show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Seed of the first run, instead of the file's.",
                     show_default=False),
    ] = None,
    traces: Annotated[
        bool,
        typer.Option("--traces", help="With -o, write the time series of every run as Parquet."),
    ] = False,
    stack: StackChoice = Stack.SIMULATED,
    force: Force = False,
    switch_hystart: SwitchHyStart = False,
    threads: Threads = None,
    as_json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Run a scenario file."""
    if traces and output is None:
        raise InputError("--traces writes files, so it needs -o DIR")
    scenario = Scenario.from_file(file).with_runs(runs=runs, seed=seed)
    how = _How(stack, force, switch_hystart, threads)
    _execute([scenario], how, as_json, output, quiet, traces=traces)


@app.command(
    "path",
    epilog="""\b
Examples:
  slowstart path leo
  slowstart path docsis --duration 10s -o look
  slowstart path trace:FILE --seed 3 --json

\b
What its links give a queue that is never empty, from the same seed as in a run:
rates of 100 ms and their coefficient of variation, gaps, bursts. And what a ping
of 84 bytes takes that meets nobody. -o also draws it (path.svg, path.png).
""",
)
def _path(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A preset, trace:FILE, or a path file.",
                       show_default=False),
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the channel.")] = 1,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="How long it is watched, with unit.")
    ] = "60 s",
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Time from one probe to the next, with unit.")
    ] = "10 ms",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Write result.json, the figure, and packets and probes as Parquet into "
                     "this folder. It is whole or absent; an earlier result there is replaced."),
    ] = None,
) -> None:  # fmt: skip
    """Look at a path without TCP: its rate, its bursts, its delay."""
    from slowstart import look
    from slowstart.output import output_folder

    with output_folder(output) as folder:
        seen = look.watch(path, seed=seed, duration=duration, every=every)
        document = look.numbers(seen)
        if folder is not None:
            look.write(folder, seen)
    if as_json:
        _print_json(json.dumps(document, indent=2))
    else:
        look.show(document)
        if output is not None:
            sys.stdout.write(f"The figure is {os.path.join(output, 'path.svg')}\n")  # noqa: PTH118


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
        server_command=server_command,
        live=live,
    )


app.command("study", epilog=study_command.EPILOG)(study_command.study)
app.add_typer(vm_command.app, name="vm")
app.command("validate", epilog=fidelity.EPILOG)(fidelity.validate)


@dataclass(frozen=True)
class _How:
    """How scenarios are run."""

    stack: Stack
    force: bool
    switch_hystart: bool
    threads: int | None

    @property
    def kernel(self) -> bool:
        """Whether a kernel runs them."""
        return self.stack is not Stack.SIMULATED

    def check(self, scenarios: Sequence[Scenario]) -> None:
        """Refuses what cannot be, before anything is made."""
        if self.force and not self.kernel:
            raise InputError("--force needs --stack linux or linux-vm")
        if self.switch_hystart and self.stack is not Stack.LINUX:
            raise InputError("--switch-hystart needs --stack linux")
        if self.stack is Stack.SIMULATED:
            return
        if self.stack is Stack.LINUX_VM:
            from slowstart.vm import parts

            check_vm(parts(), scenarios)
            return
        if self.threads not in (None, 1):
            raise InputError("runs on the kernel are made one at a time: leave out --threads")
        with contextlib.suppress(InputError):  # the check says it better
            enter_user_namespace()
        check_linux(scenarios, switch_hystart=self.switch_hystart)

    def run(self, scenarios: Sequence[Scenario], traces: str, meter: Meter) -> Result:
        """Runs them. ``traces`` are those that are kept of runs on a kernel."""
        if self.stack is Stack.SIMULATED:
            return run(scenarios, threads=self.threads, progress=meter)
        if self.stack is Stack.LINUX_VM:
            from slowstart.vm import parts

            return run_vm(
                parts(),
                scenarios,
                traces=traces,
                threads=self.threads,
                force=self.force,
                progress=meter,
            )
        return run_linux(
            scenarios,
            traces=traces,
            force=self.force,
            switch_hystart=self.switch_hystart,
            progress=meter,
        )


def _execute(
    scenarios: Sequence[Scenario],
    how: _How,
    as_json: bool,
    output: str | None,
    quiet: bool,
    **extras: Any,
) -> None:
    """Runs scenarios, prints what is wanted, and writes ``output``."""
    from slowstart.output import output_folder

    how.check(scenarios)
    kept = "none" if output is None else "all" if extras.get("traces") else "first"
    with output_folder(output) as folder:
        with Meter("running", quiet=quiet) as meter:
            result = how.run(scenarios, kept, meter)
        text = result.to_json()
        _say_untrusted(scenarios, result, how.force)
        if folder is not None:
            from slowstart import artifacts

            artifacts.write(
                folder,
                scenarios,
                result,
                text,
                threads=how.threads,
                quiet=quiet,
                linux=how.kernel,
                **extras,
            )
    if as_json:
        _print_json(text)
    elif not quiet:
        _print_tables(scenarios, result, output)


def _say_untrusted(scenarios: Sequence[Scenario], result: Result, force: bool) -> None:
    """Says which runs the emulator does not trust, and refuses a result without any other."""
    untrusted = result.untrusted()
    for place, number, reasons in untrusted:
        names = " and ".join(dict.fromkeys(scenarios[place].flows))
        which = f"{names} over {scenarios[place].path}, run {number}"
        fate = "counts, as forced" if force else "is left out"
        _complain(f"{which}, {fate}: {'; '.join(reasons)}", 0)
    if untrusted and not force and len(result.flows()) == 0:
        raise RunError("no run can be trusted on this machine as it is now; --force counts them")


def _print_json(text: str) -> None:
    sys.stdout.write(text + "\n")


def _print_tables(scenarios: Sequence[Scenario], result: Result, output: str | None) -> None:
    from slowstart import tables

    document = json.loads(result.to_json())
    paths = {each.path: json.loads(each.to_json())["path"] for each in scenarios}
    tables.show(document, paths)
    if output is not None:
        sys.stdout.write(f"The report is {os.path.join(output, 'report.html')}\n")  # noqa: PTH118


def _terminated(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def invoke(arguments: Sequence[str]) -> int:
    """Runs the command with ``arguments`` and returns its exit status."""
    try:
        status = app(args=list(arguments), prog_name="slowstart", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        return _complain(str(error), 2)
    except RunError as error:
        return _complain(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted, and nothing was written", 130)
    except BrokenPipeError:
        # The reader has seen enough. Nothing may be left for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {(error.strerror or '').lower()}", 1)
    except MemoryError:
        return _complain("the memory of this machine does not suffice for these runs", 1)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is None:
            kind = type(error).__name__
            return _complain(f"a mistake in slowstart, please report it: {kind}: {error}", 1)
        command = getattr(getattr(error, "ctx", None), "command_path", "slowstart")
        return _complain(f"{usage().rstrip('.')} (see {command} --help)", 2)
    return status if isinstance(status, int) else 0


def _complain(sentence: str, status: int) -> int:
    line = " ".join(sentence.split())
    sys.stderr.write(f"slowstart: {line}\n")
    return status


def main() -> None:
    """The entry point of the command."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(invoke(sys.argv[1:]))
