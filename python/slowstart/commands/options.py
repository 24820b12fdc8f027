"""Options that several commands share, and how a command ends that was interrupted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pathlib import Path

Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=4096,
        help="Number of runs to execute in parallel [default: one per core]. It does not affect "
        "the result.",
        show_default=False,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Include kernel runs that failed the emulator's timing self-check.",
    ),
]
SwitchHyStart = Annotated[
    bool,
    typer.Option(
        "--switch-hystart",
        help="With --stack linux, allow switching HyStart off for the whole machine during runs of "
        "cubic+standard, if the kernel offers no other way.",
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="Fewer repetitions and values: results in about a minute."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no tables and no progress.")]


def runs(most: int, what: str) -> Any:
    """The option ``--runs``: at most ``most`` runs of ``what``, instead of its own number."""
    return typer.Option(
        "-n",
        "--runs",
        metavar="N",
        min=1,
        max=most,
        show_default=False,
        help=f"Runs of {what}, instead of its own number.",
    )


def folder(content: str, name: str) -> Any:
    """The option ``--output``: a folder for ``content``, by default ``name``."""
    return typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        show_default=False,
        help=f"Folder for {content} [default: {name}].",
    )


def interrupted(folder: Path) -> int:
    """Says that an interrupted command keeps its runs, and returns its exit status."""
    sys.stderr.write(
        f"slowstart: interrupted; finished runs are kept in {folder}, and the same command "
        "resumes there\n"
    )
    return 130
