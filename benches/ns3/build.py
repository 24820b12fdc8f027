"""Compiles a program against the ns-3 of the Python package ``ns3``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMON = ("core", "network", "internet", "traffic-control", "bridge", "stats")


def compiled(name: str, parts: tuple[str, ...], prefix: Path, folder: Path) -> Path:
    """Compiles ``name``.cc, which uses these modules beside the common ones, into a folder.

    ``prefix`` has ns-3's ``include`` and ``lib64``: the folder ``ns3`` of site-packages.
    """
    source, program = HERE / f"{name}.cc", folder / f"ns3-{name}"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    libraries = prefix / "lib64"
    core = next(libraries.glob("libns3*-core.so"), None)
    if core is None:
        sys.exit(f"{prefix} has no ns-3: pip install ns3, and name the folder ns3 of site-packages")
    version = core.name.split("-core")[0].removeprefix("lib")
    command = ["g++", "-std=c++20", "-O2", f"-I{prefix}/include", str(source), "-o", str(program),
               f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-Wl,-rpath-link,{libraries}",
               *(f"-l{version}-{part}" for part in (*parts, *COMMON))]  # fmt: skip
    subprocess.run(command, check=True)  # noqa: S603
    return program
