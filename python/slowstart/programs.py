"""``slowstart kernel``: this project's congestion controls in the running kernel."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from slowstart import __version__
from slowstart._native import kernel_load, kernel_status, kernel_unload

if TYPE_CHECKING:
    from collections.abc import Sequence


def load(algorithms: Sequence[str]) -> None:
    """Loads them, and says how they are chosen."""
    loaded = kernel_load(list(algorithms))
    for name, _, summary in loaded:
        sys.stdout.write(f"loaded {name}: {summary}\n")
    sys.stdout.write(
        "A socket chooses one by TCP_CONGESTION, a network namespace by\n"
        f"sysctl net.ipv4.tcp_congestion_control={loaded[0][0]}.\n"
        "They stay until slowstart kernel unload, or the machine restarts.\n"
    )


def unload(algorithms: Sequence[str]) -> None:
    """Unloads them."""
    unloaded = kernel_unload(list(algorithms))
    for name, _, _ in unloaded:
        sys.stdout.write(f"unloaded {name}; sockets that use it go on with it\n")
    if not unloaded:
        sys.stdout.write("nothing of this project was loaded\n")


def status(algorithms: Sequence[str], *, as_json: bool) -> None:
    """Says what is loaded, how it is chosen, and what loading needs."""
    document: dict[str, Any] = json.loads(kernel_status(list(algorithms)))
    if as_json:
        document = {"format": 1, "version": __version__, **document}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    from rich import box
    from rich.table import Table

    from slowstart import tables

    needs = Table("loading needs", "found", "missing", box=box.SIMPLE_HEAD)
    for need in document["needs"]:
        needs.add_row(need["what"], need["found"], need["missing"] or "-")
    controls = Table("name", "loaded", "algorithm", "what it is", box=box.SIMPLE_HEAD)
    for control in document["controls"]:
        loaded = "yes" if control["loaded"] else "no"
        controls.add_row(control["name"], loaded, control["algorithm"], control["summary"])
    console = tables.console()
    console.print(needs)
    console.print(controls)
    sys.stdout.write(
        "One that is loaded is chosen by its name: for a socket by TCP_CONGESTION, for a network\n"
        "namespace by sysctl net.ipv4.tcp_congestion_control, which here is "
        f"{document['default'] or 'unknown'}.\n"
    )
