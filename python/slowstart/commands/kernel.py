"""The command ``slowstart kernel``: this project's congestion controls in the running kernel."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from slowstart._native import kernel_load, kernel_status, kernel_unload
from slowstart._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


def load(algorithms: Sequence[str]) -> None:
    """Loads ``algorithms`` and prints how to select them."""
    loaded = kernel_load(list(algorithms))
    for name, _, summary in loaded:
        sys.stdout.write(f"loaded {name}: {summary}\n")
    sys.stdout.write(
        "Select one for a socket with TCP_CONGESTION, or for a network namespace with\n"
        f"sysctl net.ipv4.tcp_congestion_control={loaded[0][0]}.\n"
        "They stay loaded until slowstart kernel unload or a restart of the machine.\n"
    )


def unload(algorithms: Sequence[str]) -> None:
    """Unloads ``algorithms``."""
    unloaded = kernel_unload(list(algorithms))
    for name, _, _ in unloaded:
        sys.stdout.write(f"unloaded {name}; sockets that use it keep it\n")
    if not unloaded:
        sys.stdout.write("none of this project's congestion controls was loaded\n")


def status(algorithms: Sequence[str], *, as_json: bool) -> None:
    """Prints what is loaded, how to select it, and what loading needs."""
    document: dict[str, Any] = json.loads(kernel_status(list(algorithms)))
    if as_json:
        document = {"format": 1, "version": __version__, **document}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    from rich import box
    from rich.table import Table

    from slowstart.report import tables

    needs = Table("loading needs", "found", "missing", box=box.SIMPLE_HEAD)
    for need in document["needs"]:
        needs.add_row(need["what"], need["found"], need["missing"] or "-")
    controls = Table("name", "loaded", "algorithm", "options", "description", box=box.SIMPLE_HEAD)
    controls.columns[2].overflow = "fold"
    for control in document["controls"]:
        loaded = "yes" if control["loaded"] else "no"
        options = ", ".join(control["options"])
        controls.add_row(control["name"], loaded, control["algorithm"], options, control["summary"])
    console = tables.console()
    console.print(needs)
    console.print(controls)
    sys.stdout.write(
        "Select a loaded one by its name: for a socket with TCP_CONGESTION, for a network\n"
        "namespace with sysctl net.ipv4.tcp_congestion_control (here: "
        f"{document['default'] or 'unknown'}).\n"
    )
