"""``slowstart sweep --worst``: the search for the path where an algorithm does worst."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

import typer

from slowstart.commands import options as command_options
from slowstart.commands.grouping import Group
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.report.progress import Meter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.commands.options import RunOptions
    from slowstart.sweeps.adversary import Worst

_AGAINST = " against "
_OBJECTIVES = ("completion", "cost", "harm")


@dataclass(frozen=True)
class SearchOptions(Group):
    """What a search for the worst path takes."""

    worst: Annotated[
        str | None,
        typer.Option(
            metavar='"ALG against ALG"',
            show_default=False,
            help="Search for the path where the first algorithm does worst against the other one, "
            "in the ranges of FILE or else in those that the guide lists. --objective cost takes "
            "one algorithm.",
        ),
    ] = None
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_OBJECTIVES),
            show_default=False,
            help="completion: the ratio of completion times. cost: the seconds lost against an "
            "ideal slow-start exit. harm: the ratio of the completion times of a competing flow. "
            "[default: completion]",
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="RUNS",
            min=1,
            max=100_000_000,
            show_default=False,
            help="Runs of the search, the final ones among them [default: 30000].",
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=(1 << 62),
            show_default=False,
            help="Seed of the search, instead of the file's.",
        ),
    ] = None

    def check_unused(self) -> None:
        """Rejects the other options without --worst.

        Raises:
            InputError: One is given.
        """
        for each in fields(self):
            if getattr(self, each.name) is not None:
                raise InputError(f"--{each.name} needs --worst")


def search(what: Sequence[str], given: SearchOptions, options: RunOptions) -> int:
    """Searches, and prints what was found.

    Raises:
        InputError: An argument is not valid.
        RunError: A run failed.
    """
    from slowstart.sweeps import adversary

    need_report("slowstart sweep --worst")
    if len(what) > 1:
        raise InputError("--worst takes one file of ranges, or none")
    named = [each.strip() for each in str(given.worst).split(_AGAINST)]
    if not 1 <= len(named) <= 2 or not all(named):
        raise InputError(
            '--worst: write "cubic+hystart against cubic+standard", or with --objective cost one '
            "algorithm"
        )
    short = re.sub(r"[^\w.+-]+", "-", named[0])
    folder = options.folder(f"worst-{short}")
    try:
        with Meter("searching", quiet=options.quiet) as meter:
            found = adversary.worst(
                named[0],
                *named[1:],
                objective=given.objective or _OBJECTIVES[0],
                space=what[0] if what else None,
                budget=given.budget or adversary.BUDGET,
                runs=options.runs,
                seed=given.seed,
                folder=folder,
                threads=options.threads,
                progress=meter,
            )
    except KeyboardInterrupt:
        return command_options.interrupted(folder)
    found.write()
    options.print(
        lambda: json.dumps(found.document(), indent=1, ensure_ascii=False), lambda: _print(found)
    )
    return 0


def _print(found: Worst) -> None:
    from slowstart.report import tables

    search, worst = found.search, found.worst
    heads = [*found.path(), "in the search", "with fresh seeds"]
    rows = []
    for each in sorted(found.finalists, key=type(worst).sure, reverse=True):
        cells = [*map(str, found.path(each.candidate).values())]
        rows.append([*cells, f"{each.candidate.value:.3g}", each.said])
    out = tables.console()
    tables.grid(out, heads, [[tables.Cell(cell) for cell in row] for row in rows],
                left=len(heads) - 2)  # fmt: skip
    path = ", ".join(f"{name} {value}" for name, value in found.path().items())
    lines = [
        f"{len(search.seen)} paths, {search.used} runs. The worst path: {path}.",
        f"There {found.sentence()}",
        f"(median and 95 % interval of {len(worst.mine)} pairs of runs with fresh seeds).",
    ]
    if not found.found:
        lines.append("The interval includes no difference: the search found no path of this kind.")
    for name, count in zip(search.algorithms, worst.incomplete, strict=True):
        if count:
            lines.append(f"{count} runs with {name} did not complete in time and count as that.")
    lines.append(f"{found.folder / 'worst.toml'} is a scenario, {found.folder / 'worst.png'} the "
                 "picture.")  # fmt: skip
    sys.stdout.write("\n".join(lines) + "\n")
