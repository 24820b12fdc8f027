"""The command ``slowstart vm``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from slowstart import vm
from slowstart.errors import InputError

app = typer.Typer(
    help="Check or prepare the virtual machine of --stack linux-vm.",
    rich_markup_mode=None,
    epilog="""\b
Examples:
  slowstart vm
  slowstart vm prepare
  slowstart compare wired -a cubic --size 5MB --stack linux-vm

\b
A Debian kernel runs in QEMU, without root and without hardware virtualization. Its clock
counts executed instructions, so a repeated run gives the same result to the bit. Install
QEMU yourself (apt install qemu-system-x86). `prepare` fetches the kernel's package and
unpacks it to $SLOWSTART_VM_CACHE, or ~/.cache/slowstart/vm.
""",
)


def _say_whether_ready() -> None:
    lacks = vm.missing()
    if lacks is not None:
        raise InputError(lacks)
    sys.stdout.write(f"Ready: {vm.kernel()} in {vm.folder()}\n")


@app.callback(invoke_without_command=True)
def _state(context: typer.Context) -> None:
    """Check or prepare the virtual machine of --stack linux-vm."""
    if context.invoked_subcommand is None:
        _say_whether_ready()


PREPARE_EPILOG = """\b
Examples:
  slowstart vm prepare
  slowstart vm prepare linux-image-cloud-amd64
"""


@app.command("prepare", epilog=PREPARE_EPILOG)
def _prepare(
    package: Annotated[
        str,
        typer.Argument(metavar="PACKAGE", help="A kernel package, or one that depends on it."),
    ] = vm.PACKAGE,
) -> None:
    """Fetch a kernel with apt-get and keep it in your cache, without installing it."""
    sys.stderr.write(f"Fetching {package} ...\n")
    vm.prepare(package)
    _say_whether_ready()
