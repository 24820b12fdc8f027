"""How often ``slowstart probe`` is right about servers of the running kernel.

A server of HTTP sets the congestion control of its sockets, so that the host's default stays.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart.analysis import identify, identify_kernel, probe
from slowstart.report import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONTROLS = ("cubic", "reno", "bbr")
SIDES = ("sender", "receiver")
# A response of 12 MB to each request, with the congestion control of the first argument.
SERVER = r"""
import socket, sys
listening = socket.create_server(("0.0.0.0", 8000))
listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[1].encode())
head = b"HTTP/1.1 200 OK\r\nContent-Length: 12000000\r\n\r\n"
while True:
    link, _ = listening.accept()
    try:
        link.recv(65536)
        link.sendall(head + bytes(12000000))
        link.shutdown(socket.SHUT_WR)
        while link.recv(65536):
            pass
    except OSError:
        pass
    link.close()
"""


def missing() -> str | None:
    """Why this machine cannot make the probes, in a sentence."""
    return "probes with each congestion control need root" if os.geteuid() else None


def controls() -> list[str]:
    """Those of :data:`CONTROLS` that the kernel has."""
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    usable = file.read_text(encoding="ascii").split() if file.exists() else []
    return [each for each in CONTROLS if each in usable]


def run(
    runs: int, folder: Path, progress: Callable[[int, int], None], *, quick: bool
) -> list[dict[str, Any]]:
    """Probes a server with each congestion control ``runs`` times at each place of capture."""
    models = [(name, str(probe.path_file(name, folder))) for name in probe.PATHS]
    target = probe.Target(f"http://{probe.SERVER}:8000/")
    cases = [
        (side, control, number)
        for side in (SIDES[:1] if quick else SIDES)
        for number in range(runs)
        for control in controls()
    ]
    rows: list[dict[str, Any]] = []
    progress(0, len(cases))
    for done, (side, control, number) in enumerate(cases, 1):
        server = shlex.join([sys.executable, "-I", "-c", SERVER, control])
        downloads = [
            probe.download(path, number, target, server, side=side, folder=folder)
            for path in models
        ]
        rows.append(_row(side, control, number, downloads))
        progress(done, len(cases))
    for each in folder.glob("*.toml"):
        with contextlib.suppress(OSError):
            each.unlink()
    return rows


def _is_right(found: identify.Identification | None, truth: str) -> bool:
    best = None if found is None else found.best
    return best is not None and truth in best.names


def _row(
    side: str, control: str, number: int, downloads: Sequence[probe.Download]
) -> dict[str, Any]:
    truth = identify_kernel.truth(control)
    found = probe.together(downloads)
    alone = {each.path: _is_right(each.alone, truth) for each in downloads}
    return {
        "place": side, "algorithm": control, "run": number, "start_up": truth,
        "right": _is_right(found, truth), "alone": alone,
        "names": list(found.candidates[0].names) if found.candidates else [],
        "late": sum(bool(each.late) for each in downloads),
        "identification": found.document(),
        "downloads": [each.document() for each in downloads],
    }  # fmt: skip


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Prints how many probes are right, and how many single downloads."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["place"], row["algorithm"], row["start_up"]), []).append(row)
    heads = ("place", "control", "start-up", "probes", "right", "one name", "least probability",
             *(f"{path} alone" for path in probe.PATHS), "late downloads")  # fmt: skip
    tables.print_table(heads, [
        [*key, str(len(each)), str(sum(one["right"] for one in each)),
         str(sum(one["right"] and len(one["names"]) == 1 for one in each)),
         f"{min(_probability(one) for one in each):.3f}",
         *(str(sum(one["alone"][path] for one in each)) for path in probe.PATHS),
         str(sum(one["late"] for one in each))]
        for key, each in groups.items()
    ])  # fmt: skip


def _probability(row: dict[str, Any]) -> float:
    made = row["identification"]["candidates"]
    return made[0]["probability"] if made else 0.0
