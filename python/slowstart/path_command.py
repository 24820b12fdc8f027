"""The command ``slowstart path``."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  slowstart path leo
  slowstart path docsis --duration 10s -o look
  slowstart path trace:FILE --seed 3 --json
  slowstart path scenarios/busy-path.toml -o busy

\b
What its links give a queue that is never empty, from the same seed as in a run:
rates of 100 ms and their coefficient of variation, gaps, bursts. And what a ping
of 84 bytes takes that meets nobody. With other traffic on the path ([[traffic]]), also
the share of the rate that it takes, and the round trips of full packets that meet it.
-o also draws it (path.svg, path.png).
"""


def look_at(
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
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        look.show(document)
        if output is not None:
            sys.stdout.write(f"The figure is {os.path.join(output, 'path.svg')}\n")  # noqa: PTH118
