"""The virtual machine of ``--stack linux-vm``: checks its requirements and fetches its kernel.

The package manager fetches the kernel as a Debian package, which is unpacked to a folder of the
user without being installed. Only the kernel, its configuration, the modules needed and the
copyright file are kept.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from slowstart.errors import InputError, RunError

QEMU = "qemu-system-x86_64"
# Depends on Debian's newest kernel for virtual machines, which has every module needed.
PACKAGE = "linux-image-cloud-amd64"
# The program that runs in the machine; `make guest` puts it here.
GUEST = Path(__file__).parent / "slowstart-guest"
# Modules to keep, by the end of their path; newer kernels compress them.
_MODULES = ("drivers/net/tun.ko*", "net/ipv4/tcp_*.ko*")
# Modules that are named like congestion controls but are none.
_OTHERS = ("tcp_diag",)
_PATIENCE_S = 1800


def folder() -> Path:
    """The folder of kernels: ``$SLOWSTART_VM_CACHE``, or a folder in the user's cache."""
    named = os.environ.get("SLOWSTART_VM_CACHE")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification requires ignoring a relative XDG_CACHE_HOME.
    base = Path(cache) if cache and cache.startswith("/") else Path.home() / ".cache"
    return base / "slowstart" / "vm"


def _current() -> Path | None:
    """The folder of the most recently prepared kernel."""
    try:
        name = (folder() / "current").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    kernel = folder() / name
    return kernel if name and (kernel / "vmlinuz").is_file() else None


def missing() -> str | None:
    """Says in one sentence what ``--stack linux-vm`` lacks on this machine, if anything."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "--stack linux-vm needs Linux on x86-64"
    steps = []
    if shutil.which(QEMU) is None:
        steps.append("QEMU (apt install qemu-system-x86)")
    if _current() is None:
        steps.append("a kernel (slowstart vm prepare)")
    if not GUEST.is_file():
        steps.append("the guest program (in a checkout: make guest, then make demo)")
    return f"--stack linux-vm needs {' and '.join(steps)}" if steps else None


def parts() -> tuple[str, str, str, str]:
    """QEMU, the kernel, the folder of its modules, and the program that runs in the machine.

    Raises:
        InputError: Something is missing.
    """
    lacks = missing()
    qemu, kernel = shutil.which(QEMU), _current()
    if lacks is not None or qemu is None or kernel is None:
        raise InputError(lacks or "--stack linux-vm is not installed completely")
    return qemu, str(kernel / "vmlinuz"), str(kernel / "modules"), str(GUEST)


def kernel() -> str | None:
    """The package and version of the prepared kernel."""
    current = _current()
    return current.name if current is not None else None


def tick_us() -> int:
    """The length of the prepared kernel's tick, in microseconds (``CONFIG_HZ``).

    Raises:
        InputError: The kernel was prepared without its configuration, by an earlier version.
    """
    current = _current()
    try:
        text = (current / "config").read_text(encoding="utf-8") if current is not None else ""
    except OSError:
        text = ""
    hertz = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    if hertz is None:
        raise InputError("the kernel's configuration is missing: run slowstart vm prepare again")
    return round(1e6 / int(hertz[1]))


def prepare(package: str = PACKAGE) -> str:
    """Fetches a kernel with the package manager and keeps it; returns the same as :func:`kernel`.

    Raises:
        InputError: The package manager is missing, or does not know the package.
        RunError: The package cannot be fetched or unpacked.
    """
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise InputError(f"fetching a kernel needs {program}, as on Debian, which is missing")
    image = _image(package)
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=place) as aside:
            name = _fetch(image, Path(aside))
            target = place / name
            if not (target / "vmlinuz").is_file() or not (target / "config").is_file():
                shutil.rmtree(target, ignore_errors=True)
                (Path(aside) / "kept").rename(target)
            pointer = Path(aside) / "current"
            pointer.write_text(name + "\n", encoding="utf-8")
            pointer.replace(place / "current")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write the folder {place}: {reason}") from error
    return name


def _image(package: str) -> str:
    """The package of the kernel itself, if ``package`` merely depends on it."""
    if not re.fullmatch(r"linux-image-[a-z0-9.+-]+", package):
        raise InputError(f"{package} is not a kernel package: their names are linux-image-...")
    shown = _run(["apt-cache", "show", "--no-all-versions", package])
    if shown is None:
        raise InputError(
            f"the package manager has no {package}: try apt-get update, or name another package"
        )
    depends = re.search(r"^Depends:.*?\b(linux-image-[0-9][a-z0-9.+-]*)", shown, re.MULTILINE)
    return package if depends is None else depends[1]


def _fetch(image: str, aside: Path) -> str:
    """Fetches and unpacks ``image`` in ``aside``, and moves the files to keep to ``aside/kept``."""
    if _run(["apt-get", "-q", "download", image], aside) is None:
        raise RunError(f"apt-get download {image} failed: try apt-get update first")
    archives = list(aside.glob("*.deb"))
    if len(archives) != 1 or _run(["dpkg-deb", "-x", archives[0].name, "all"], aside) is None:
        raise RunError(f"cannot unpack the package {image}")
    kept = aside / "kept"
    (kept / "modules").mkdir(parents=True)
    kernels = list(aside.glob("all/boot/vmlinuz-*"))
    if len(kernels) != 1:
        raise InputError(f"the package {image} contains no kernel")
    kernels[0].rename(kept / "vmlinuz")
    for config in aside.glob("all/boot/config-*"):
        config.rename(kept / "config")
    for pattern in _MODULES:
        for module in aside.glob(f"all/**/lib/modules/*/kernel/{pattern}"):
            if module.name.split(".")[0] not in _OTHERS:
                module.rename(kept / "modules" / module.name)
    if not any(kept.glob("modules/tun.ko*")):
        raise InputError(f"the package {image} lacks the module tun: name another")
    for text in aside.glob(f"all/usr/share/doc/{image}/copyright"):
        text.rename(kept / "copyright")
    # The file name encodes the colon of an epoch as %3a.
    return archives[0].stem


def _run(command: list[str], where: Path | None = None) -> str | None:
    """The output of a command, or ``None`` if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 (the package's name is checked above)
            command,
            cwd=where,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
