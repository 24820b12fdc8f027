"""The virtual machine of ``--stack linux-vm``: what it needs, and how the kernel is fetched.

The kernel is a package of Debian, fetched by the package manager and unpacked into a folder of the
user; nothing is installed. Of it stay the kernel, the modules that are loaded, and its copyright.
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
# What depends on the newest kernel for virtual machines, which has every module that is wanted.
PACKAGE = "linux-image-cloud-amd64"
# The program that runs in the machine, where `make guest` puts it.
GUEST = Path(__file__).parent / "slowstart-guest"
# Modules that are kept, by the end of their path; those of newer kernels are compressed.
_MODULES = ("drivers/net/tun.ko*", "net/ipv4/tcp_*.ko*")
# Modules named like congestion controls that are none.
_OTHERS = ("tcp_diag",)
_PATIENCE_S = 1800


def folder() -> Path:
    """Where kernels are kept: ``$SLOWSTART_VM_CACHE``, or a folder of the user's cache."""
    named = os.environ.get("SLOWSTART_VM_CACHE")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    # The specification of XDG_CACHE_HOME has relative paths ignored.
    base = Path(cache) if cache and cache.startswith("/") else Path.home() / ".cache"
    return base / "slowstart" / "vm"


def _current() -> Path | None:
    """The folder of the kernel that was prepared last."""
    try:
        name = (folder() / "current").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    kernel = folder() / name
    return kernel if name and (kernel / "vmlinuz").is_file() else None


def missing() -> str | None:
    """What ``--stack linux-vm`` lacks on this machine, in one sentence."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "--stack linux-vm needs Linux on x86-64"
    steps = []
    if shutil.which(QEMU) is None:
        steps.append("QEMU (apt install qemu-system-x86)")
    if _current() is None:
        steps.append("a kernel (slowstart vm prepare)")
    if not GUEST.is_file():
        steps.append("the program that runs in the machine (make guest, before the installation)")
    return f"--stack linux-vm needs {' and '.join(steps)}" if steps else None


def parts() -> tuple[str, str, str, str]:
    """QEMU, the kernel, the folder of its modules, and the program that runs in the machine.

    Raises:
        InputError: What is missing, in one sentence.
    """
    lacks = missing()
    qemu, kernel = shutil.which(QEMU), _current()
    if lacks is not None or qemu is None or kernel is None:
        raise InputError(lacks or "--stack linux-vm lacks its parts")
    return qemu, str(kernel / "vmlinuz"), str(kernel / "modules"), str(GUEST)


def kernel() -> str | None:
    """The package and version of the kernel that is prepared."""
    current = _current()
    return current.name if current is not None else None


def prepare(package: str = PACKAGE) -> str:
    """Fetches a kernel with the package manager and keeps it; returns what :func:`kernel` says.

    Raises:
        InputError: The package manager is missing, or knows no such package.
        RunError: The package cannot be fetched or unpacked.
    """
    for program in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(program) is None:
            raise InputError(f"a kernel is fetched with {program}, as on Debian, and there is none")
    image = _image(package)
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=place) as aside:
            name = _fetch(image, Path(aside))
            target = place / name
            if not (target / "vmlinuz").is_file():
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
    """The kernel's own package, where ``package`` merely depends on it."""
    if not re.fullmatch(r"linux-image-[a-z0-9.+-]+", package):
        raise InputError(f"{package} is no package of a kernel: their names are linux-image-...")
    shown = _run(["apt-cache", "show", "--no-all-versions", package])
    if shown is None:
        raise InputError(
            f"the package manager knows no {package}: try apt-get update, or name another package"
        )
    depends = re.search(r"^Depends:.*?\b(linux-image-[0-9][a-z0-9.+-]*)", shown, re.MULTILINE)
    return package if depends is None else depends[1]


def _fetch(image: str, aside: Path) -> str:
    """Fetches and unpacks ``image`` in ``aside``, and leaves what is kept in ``aside/kept``."""
    if _run(["apt-get", "-q", "download", image], aside) is None:
        raise RunError(f"apt-get download {image} failed: try apt-get update first")
    archives = list(aside.glob("*.deb"))
    if len(archives) != 1 or _run(["dpkg-deb", "-x", archives[0].name, "all"], aside) is None:
        raise RunError(f"the package {image} cannot be unpacked")
    kept = aside / "kept"
    (kept / "modules").mkdir(parents=True)
    kernels = list(aside.glob("all/boot/vmlinuz-*"))
    if len(kernels) != 1:
        raise InputError(f"the package {image} has no kernel")
    kernels[0].rename(kept / "vmlinuz")
    for pattern in _MODULES:
        for module in aside.glob(f"all/**/lib/modules/*/kernel/{pattern}"):
            if module.name.split(".")[0] not in _OTHERS:
                module.rename(kept / "modules" / module.name)
    if not any(kept.glob("modules/tun.ko*")):
        raise InputError(f"the package {image} has no module tun: name one for virtual machines")
    for text in aside.glob(f"all/usr/share/doc/{image}/copyright"):
        text.rename(kept / "copyright")
    # The colon of an epoch is %3a in the name of the file.
    return archives[0].stem


def _run(command: list[str], where: Path | None = None) -> str | None:
    """What a command prints, or ``None`` if it fails."""
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
