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
  slowstart path scenarios/parking-lot.toml -o lot

\b
Report the throughput of each link under saturation, and the RTT of 84-byte pings on the
idle path. The throughput is given as the distribution of rates over 100 ms, their
coefficient of variation (CV), packet gaps and bursts. A run with the same seed gets the
same channel. If the path has background traffic ([[traffic]]), also report the fraction
of each link's rate that it uses, and the RTT of full-size packets alongside it.
-o also draws a figure (path.svg, path.png).

\b
If the path is part of a network ([[node]], [[link]], [[hosts]]), also list its links, hosts
and the routes of the file's flows; -o draws the topology (topology.svg, topology.png).
"""


def look_at(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", show_default=False,
                       help="A preset, trace:FILE, a path file, or the name of a scenario."),
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the channel.")] = 1,
    duration: Annotated[
        str, typer.Option(metavar="TIME", help="Time to observe the path for, with unit.")
    ] = "60 s",
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between probes, with unit.")
    ] = "10 ms",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Write result.json, the figure, and packets and probes as Parquet to "
                     "this folder. It appears only when complete, and replaces an earlier "
                     "result."),
    ] = None,
) -> None:  # fmt: skip
    """Characterize a path without TCP: its rate, burstiness and delay."""
    from slowstart import look
    from slowstart.output import output_folder
    from slowstart.shipped import AsFile

    with output_folder(output) as folder, AsFile(path) as file:
        seen = look.watch(file, seed=seed, duration=duration, every=every)
        document = look.numbers(seen)
        if folder is not None:
            look.write(folder, seen)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        look.show(document)
        if output is not None:
            sys.stdout.write(f"The figure is {os.path.join(output, 'path.svg')}\n")  # noqa: PTH118
            if seen.topology is not None:
                drawn = os.path.join(output, "topology.svg")  # noqa: PTH118
                sys.stdout.write(f"The topology is {drawn}\n")
