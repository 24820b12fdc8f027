"""The command ``slowstart path``."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.extras import need_report

if TYPE_CHECKING:
    from pathlib import Path

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

\b
If there is an ad-hoc network or a constellation ([network]), also list the routes between the
flows' nodes; -o draws its map (network.svg, network.png): nodes, links between those that hear
each other, and routes, at several moments if it moves. --duration counts after the warm-up; a
constellation is observed for 100 min unless it is given.
"""


def look_at(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", show_default=False,
                       help="A preset, trace:FILE, a path file, or the name of a scenario."),
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the channel.")] = 1,
    duration: Annotated[
        str | None,
        typer.Option(metavar="TIME", show_default=False,
                     help="Time to observe the path for, with unit [default: 60 s]."),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between probes, with unit.")
    ] = "10 ms",
    as_json: Json = False,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="DIR", show_default=False,
                     help="Write result.json, the figure, and packets and probes as Parquet to "
                     "this folder. It appears only when complete, and replaces an earlier "
                     "result."),
    ] = None,
) -> None:  # fmt: skip
    """Characterize a path without TCP: its rate, burstiness and delay."""
    need_report("slowstart path")
    from slowstart import characterization
    from slowstart.figures import networks as network_plots
    from slowstart.report import tables
    from slowstart.store.output import output_folder
    from slowstart.store.shipped import AsFile

    with output_folder(output) as folder, AsFile(path) as file:
        span = duration or "60 s"
        network = network_plots.read(file, seed=seed, duration=span)
        if network is not None and network["kind"] == "constellation" and duration is None:
            network = network_plots.read(file, seed=seed, duration="100 min")
        if network is not None and characterization.is_pathless(file):
            _show_network(file, network, seed, folder, as_json=as_json, output=output)
            return
        seen = characterization.watch(file, seed=seed, duration=span, every=every)
        document = characterization.numbers(seen)
        if folder is not None:
            characterization.write(folder, seen)
        if network is not None:
            document["characterization"]["network"] = network_plots.numbers(network)
            if folder is not None:
                _draw(folder, network, tables.short(seen.path["name"]), seed)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        characterization.show(document)
        if network is not None:
            network_plots.show(network)
        if output is not None:
            sys.stdout.write(f"The figure is {os.path.join(output, 'path.svg')}\n")  # noqa: PTH118
            if seen.topology is not None:
                drawn = os.path.join(output, "topology.svg")  # noqa: PTH118
                sys.stdout.write(f"The topology is {drawn}\n")


def _draw(folder: Path, network: dict[str, Any], name: str, seed: int) -> None:
    from slowstart import plots
    from slowstart.figures import networks as network_plots

    title = f"{name}: nodes, links in range, and routes; seed {seed}"
    plots.save(network_plots.figure(network, title), folder, "network", png=True)


def _show_network(
    file: str,
    network: dict[str, Any],
    seed: int,
    folder: Path | None,
    *,
    as_json: bool,
    output: str | None,
) -> None:
    """Reports about a network without a path."""
    from slowstart import characterization
    from slowstart.figures import networks as network_plots
    from slowstart.figures import topology
    from slowstart.report import tables

    path = characterization.resolved(file)
    found = topology.read(file)
    document = {
        "format": 2,
        "characterization": {
            "path": path,
            "seed": seed,
            "topology": found,
            "network": network_plots.numbers(network),
        },
    }
    if folder is not None:
        text = json.dumps(document, indent=2) + "\n"
        (folder / "result.json").write_text(text)
        _draw(folder, network, tables.short(path["name"]), seed)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    out = tables.console()
    out.print(f"{tables.short(path['name'])}  {tables.describe(path)}")
    if found["links"] or found["hosts"]:
        topology.show(found)
    network_plots.show(network)
    if output is not None:
        out.print(f"The figure is {os.path.join(output, 'network.svg')}")  # noqa: PTH118
