"""The command ``slowstart check-stack``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from slowstart.commands.options import Json  # noqa: TC001 (Typer reads it)
from slowstart.errors import InputError

EPILOG = """\b
Examples:
  slowstart check-stack ./mine.so
  slowstart check-stack "worker: ./my-program --quiet"
  cc -shared -fPIC -I"$(slowstart check-stack --include)" -o mine.so mine.c

\b
Then run it, beside others:
  slowstart compare wired geo -a own -a cubic+search --stack ./mine.so --stack quinn
docs/reference/stack-interface.md describes the interface, and the protocol of workers.

\b
Exit status: 0 all rules hold, 1 one does not, 2 invalid input.
"""
INCLUDE = Path(__file__).parent.parent / "include"


def check_stack(
    stack: Annotated[
        str | None,
        typer.Argument(metavar="STACK", show_default=False,
                       help="A shared object (./mine.so), or a worker (\"worker: ./my-program\")."),
    ] = None,
    include: Annotated[
        bool,
        typer.Option("--include", help="Instead: print the folder of slowstart_stack.h."),
    ] = False,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Check that your own transport stack keeps the contract of the stack interface."""
    from slowstart._native import conform_stack
    from slowstart.stacks import is_foreign

    if include:
        if stack is not None or as_json:
            raise InputError("--include prints a folder: leave out the stack and --json")
        sys.stdout.write(f"{INCLUDE}\n")
        return 0
    if stack is None:
        raise InputError('name a stack: ./mine.so, or "worker: ./my-program"')
    if not is_foreign(stack):
        raise InputError(
            f'{stack} is neither a shared object (./mine.so) nor a worker ("worker: ./my-program")'
        )
    found = conform_stack(stack)
    failed = sum(fault is not None for _, fault in found)
    if as_json:
        rules = [{"rule": rule, "holds": fault is None, "fault": fault} for rule, fault in found]
        sys.stdout.write(json.dumps({"stack": stack, "rules": rules}, indent=1) + "\n")
        return int(failed > 0)
    for rule, fault in found:
        words = f"passed  {rule}" if fault is None else f"failed  {rule}: {fault}"
        sys.stdout.write(f"{words}\n")
    sys.stdout.write(f"{len(found) - failed} passed, {failed} failed\n")
    return int(failed > 0)
