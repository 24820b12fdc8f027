"""The command ``slowstart vm``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from slowstart import vm
from slowstart.errors import InputError

app = typer.Typer(
    help="A kernel in virtual time, for --stack linux-vm: what it needs, and how to get it.",
    rich_markup_mode=None,
    epilog="""\b
Examples:
  slowstart vm
  slowstart vm prepare
  slowstart compare wired -a cubic --size 5MB --stack linux-vm

\b
A kernel of Debian runs in QEMU, without root and without hardware help; time in it
passes with its instructions, so that the same run has the same result to the bit.
QEMU is installed by you (apt install qemu-system-x86); the kernel's package is
fetched and unpacked into $SLOWSTART_VM_CACHE, or ~/.cache/slowstart/vm.
""",
)


def _say_whether_ready() -> None:
    lacks = vm.missing()
    if lacks is not None:
        raise InputError(lacks)
    sys.stdout.write(f"Ready: {vm.kernel()} in {vm.folder()}\n")


@app.callback(invoke_without_command=True)
def _state(context: typer.Context) -> None:
    """A kernel in virtual time, for --stack linux-vm: what it needs, and how to get it."""
    if context.invoked_subcommand is None:
        _say_whether_ready()


@app.command("prepare")
def _prepare(
    package: Annotated[
        str,
        typer.Argument(metavar="PACKAGE", help="A kernel's package, or one that depends on it."),
    ] = vm.PACKAGE,
) -> None:
    """Fetch a kernel with apt-get and keep it in your cache; nothing is installed."""
    sys.stderr.write(f"Fetching {package} ...\n")
    vm.prepare(package)
    _say_whether_ready()
