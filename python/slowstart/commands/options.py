"""The options that several commands share, and what follows from them for each command."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart.commands.figure_options import (  # noqa: TC001 (Typer reads them)
    Formats,
    ThemeFile,
    Width,
)
from slowstart.commands.grouping import Group
from slowstart.errors import InputError
from slowstart.extras import need_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slowstart.figure_style import Look


class Stack(str, Enum):
    """What runs a scenario."""

    SIMULATED = "simulated"
    LINUX = "linux"
    LINUX_VM = "linux-vm"
    REAL = "real"
    """A QUIC stack in real time (``--clock real``)."""


Quick = Annotated[
    bool,
    typer.Option("--quick", help="Fewer repetitions and values: results in about a minute."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no tables and no progress.")]
Runs = Annotated[int | None, typer.Option("-n", "--runs", metavar="N", show_default=False)]
Stacks = Annotated[
    list[str] | str | None, typer.Option("--stack", metavar="STACK", show_default=False)
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR|FILE",
        help="Write result.json, Parquet and CSV tables, figures and report.html to this folder. "
        "A name that ends with .parquet is a file: only the table of flows is written, while the "
        "simulations run. Either appears only when complete, and replaces an earlier result.",
        show_default=False,
    ),
]


def runs(most: int, what: str) -> Any:
    """The option ``--runs``: at most ``most`` runs of ``what``, instead of its own number."""
    return Annotated[
        int | None,
        typer.Option(
            "-n",
            "--runs",
            metavar="N",
            min=1,
            max=most,
            show_default=False,
            help=f"Runs of {what}, instead of its own number.",
        ),
    ]


def folder(content: str, name: str) -> Any:
    """The option ``--output``: a folder for ``content``, by default ``name``."""
    return Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            show_default=False,
            help=f"Folder for {content} [default: {name}].",
        ),
    ]


@dataclass(frozen=True)
class RunOptions(Group):
    """How runs are made, and what is printed: of compare, run, study, evaluate and sweep.

    Each command words ``runs``, ``stack`` and ``output`` for itself.
    """

    runs: Runs = None
    stack: Stacks = None
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Include kernel runs that failed the emulator's timing self-check.",
        ),
    ] = False
    switch_hystart: Annotated[
        bool,
        typer.Option(
            "--switch-hystart",
            help="With --stack linux, allow switching HyStart off for the whole machine during "
            "runs of cubic+standard, if the kernel offers no other way.",
        ),
    ] = False
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=4096,
            help="Number of runs to execute in parallel [default: one per core]. It does not "
            "affect the result.",
            show_default=False,
        ),
    ] = None
    output: Output = None
    as_json: Json = False
    quiet: Quiet = False

    @property
    def stacks(self) -> list[str]:
        """The stacks to run on."""
        given = [self.stack] if isinstance(self.stack, str) else self.stack
        return list(given or ["simulated"])

    @property
    def real(self) -> bool:
        """Whether the command asks for real time."""
        return False

    def check_stacks(self, kernels: Sequence[str] = ("linux", "linux-vm")) -> None:
        """Rejects options of the kernel without one of ``kernels``.

        Raises:
            InputError: One is given.
        """
        if self.force and not self.real and not any(each in kernels for each in self.stacks):
            raise InputError(f"--force needs --stack {' or '.join(kernels)}")
        if self.switch_hystart and "linux" not in self.stacks:
            raise InputError("--switch-hystart needs --stack linux")

    def enter_namespace(self) -> None:
        """Enters a user namespace, if runs are in real time and the user is not root.

        A process with threads cannot enter one, so a command calls this before it imports
        libraries that start threads.
        """
        if self.real or "linux" in self.stacks:
            from slowstart._native import enter_user_namespace

            with contextlib.suppress(InputError):  # check_linux reports it better
                enter_user_namespace()

    def folder(self, name: str) -> Path:
        """The folder that keeps the runs, by default ``name``."""
        return Path(self.output or name)

    def print(self, document: Callable[[], str], tables: Callable[[], object]) -> None:
        """Prints ``document`` with --json, nothing with --quiet, and otherwise ``tables``."""
        if self.as_json:
            sys.stdout.write(document() + "\n")
        elif not self.quiet:
            tables()


@dataclass(frozen=True)
class ReportOptions(RunOptions):
    """What compare and run have beside :class:`RunOptions`: the clock, and what they write."""

    clock: Annotated[
        str | None,
        typer.Option(
            metavar="CLOCK",
            show_default=False,
            help="virtual or real [default: virtual; real with --stack linux]. With --stack quinn "
            "--clock real, quinn has its own sockets, timers and TLS, over an emulated path (root "
            "or /dev/net/tun).",
        ),
    ] = None
    links: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With -o FILE.parquet, write the table of links, too.",
            show_default=False,
        ),
    ] = None
    traffic: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With -o FILE.parquet, write the table of background traffic, too.",
            show_default=False,
        ),
    ] = None
    cost: Annotated[
        bool,
        typer.Option(
            "--cost",
            help="Print what each slow-start exit cost: the completion time less that of the same "
            "run with an ideal exit (avoidance+oracle), what it cost others, and more about the "
            "start-up. A report of compare (-o DIR) always has it.",
        ),
    ] = False
    traces: Annotated[
        bool,
        typer.Option("--traces", help="With -o, write the time series of every run as Parquet."),
    ] = False
    formats: Formats = None
    width: Width = None
    theme: ThemeFile = None

    @property
    def real(self) -> bool:
        """Whether the command asks for real time."""
        return self.clock == "real"

    def files(self) -> dict[str, str]:
        """The Parquet file of each table; empty if ``output`` is not such a file.

        Raises:
            InputError: The file of a table is given without that of the flows.
        """
        others = {"links": self.links, "traffic": self.traffic}
        asked = {table: file for table, file in others.items() if file is not None}
        if self.output is not None and self.output.endswith(".parquet"):
            return {"flows": self.output, **asked}
        for table in asked:
            raise InputError(f"--{table} needs -o FILE.parquet; a folder (-o DIR) has every table")
        return {}

    @property
    def report(self) -> bool:
        """Whether a folder with a report is written."""
        return self.output is not None and not self.files()

    def look(self) -> Look:
        """How the figures of the report look.

        Raises:
            InputError: An option is not valid, there is no report, or a library is missing.
        """
        from slowstart.commands import figure_options

        given = {"--format": self.formats, "--width": self.width, "--theme": self.theme}
        for option, value in given.items():
            if value and not self.report:
                raise InputError(f"{option} is for figures: write a folder, -o DIR")
        if self.report:
            need_report("a report (-o DIR)")
        return figure_options.look(self.formats, self.width, self.theme)

    def check_cost(self, *, kernel: bool, sized: bool, remedy: str) -> None:
        """Rejects ``--cost`` where it has no meaning.

        Raises:
            InputError: It is given for a kernel, for Parquet files, or for flows without a size,
                or a library is missing.
        """
        if not self.cost:
            return
        if kernel:
            raise InputError(
                "--cost compares with the start-up `oracle`, which needs the simulator's knowledge "
                "of the path: leave out --stack"
            )
        if self.files():
            raise InputError("--cost compares completed runs: write a folder (-o DIR) or none")
        if not sized:
            raise InputError(f"--cost is a difference of completion times: {remedy}")
        need_report("--cost")


def interrupted(folder: Path) -> int:
    """Says that an interrupted command keeps its runs, and returns its exit status."""
    sys.stderr.write(
        f"slowstart: interrupted; finished runs are kept in {folder}, and the same command "
        "resumes there\n"
    )
    return 130
