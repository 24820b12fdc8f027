"""Stacks in virtual time: the simulated TCP, QUIC stacks, and stacks of others.

A stack of others is a shared object (``./mine.so``) or a worker (``worker: ./my-program``). It runs
its own controllers only, in a process of its own for each connection.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slowstart._native import Scenario, foreign_stack
from slowstart._native import stacks as quic_stacks
from slowstart.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

SIMULATED = "simulated"
PLACEHOLDER = "cubic"
"""The algorithm of a scenario whose flows have a stack's own controller."""
_STACK = re.compile(r'^"?stack"? = "([^"]*)"\n', re.MULTILINE)
_TABLE = re.compile(r"^\[", re.MULTILINE)
_OWN = re.compile(r'("?algorithm"? = )"(own(?::[^"]*)?)"')
_ALGORITHM = re.compile(r'"?algorithm"? = "([^"]*)"')


def known() -> list[str]:
    """The stacks in virtual time."""
    return [SIMULATED, *(each["name"] for each in quic_stacks())]


def is_foreign(stack: str) -> bool:
    """Whether it names a stack of others: a shared object or a worker."""
    return stack.startswith("worker:") or stack.endswith((".so", ".dylib"))


def is_quic(stack: str) -> bool:
    """Whether it names a stack in virtual time other than the simulated TCP."""
    return is_foreign(stack) or stack in known()[1:]


def described(stack: str) -> dict[str, Any]:
    """``name``, ``version`` and own controllers (``own``) of a QUIC stack or a stack of others.

    Raises:
        InputError: The stack of others cannot be started.
    """
    if is_foreign(stack):
        return foreign_stack(stack)
    return next(each for each in quic_stacks() if each["name"] == stack)


def is_own(algorithm: str) -> bool:
    """Whether it is a stack's own controller: ``own``, ``own:bbr``."""
    return algorithm == "own" or algorithm.startswith("own:")


def placeholder(algorithm: str) -> str:
    """The algorithm of a scenario whose flows have ``algorithm``: any for a stack's own."""
    return PLACEHOLDER if is_own(algorithm) else algorithm


def own_name(stack: str, algorithm: str) -> str:
    """``own`` with the name of the controller that it stands for; others as they are."""
    if algorithm != "own" or not is_quic(stack):
        return algorithm
    return f"own:{described(stack)['own'][0][0]}"


def check_names(given: Sequence[str], more: tuple[str, ...] = ()) -> None:
    """Rejects a stack that is unknown or given twice; ``more`` are known, too.

    Raises:
        InputError: With the known ones.
    """
    every = [*known(), *more]
    for name in given:
        if is_foreign(name):
            foreign_stack(name)
        elif name not in every:
            raise InputError(
                f"unknown stack {name}: there are {', '.join(every)}, and your own (./mine.so, "
                '"worker: ./my-program")'
            )
        if list(given).count(name) > 1:
            raise InputError(f"the stack {name} is given twice")
    shown: dict[str, str] = {}
    for name in filter(is_foreign, given):
        stated = str(described(name)["name"])
        if stated in shown:
            raise InputError(
                f"{shown[stated]} and {name} both state the name {stated}: rename one, so that "
                "results tell them apart"
            )
        shown[stated] = name


def check_clock(given: Sequence[str], clock: str | None) -> None:
    """Rejects a clock that a stack does not have: ``virtual``, ``real``, or that of the stack.

    Raises:
        InputError: With the reason.
    """
    if clock not in (None, "virtual", "real"):
        raise InputError(f"unknown clock {clock}: there are virtual and real")
    for stack in given:
        if clock == "virtual" and stack == "linux":
            raise InputError(
                "the running kernel has the real clock only: --stack linux-vm is a kernel in "
                "virtual time"
            )
        if clock != "real" or stack == "linux":
            continue
        if stack == SIMULATED:
            raise InputError(
                "the simulated TCP runs in virtual time only: it has no sockets; quinn and linux "
                "run in real time"
            )
        if stack == "linux-vm" or is_foreign(stack):
            raise InputError(f"{stack} runs in virtual time only: quinn and linux run in real time")
        if len(given) > 1:
            raise InputError(
                "in real time a stack runs alone: beside others, every stack runs in virtual time "
                "over the same links"
            )


def title(stack: str) -> str:
    """The name in tables: that which a stack of others states."""
    return str(described(stack)["name"]) if is_foreign(stack) else stack


def placed(scenario: Scenario, stack: str, algorithm: str | None = None) -> Scenario:
    """The scenario on a stack; if ``algorithm`` is the stack's own, all flows have it.

    Raises:
        InputError: The stack does not support it.
    """
    if algorithm is None or not is_own(algorithm):
        return scenario.on(stack, scenario.own if stack == scenario.stack else None)
    names = dict.fromkeys(scenario.flows, own_name(stack, algorithm))
    return scenario.on(stack, algorithm).with_names(flows=names)


def _split(text: str) -> tuple[str, str]:
    """The keys of a run, and its tables, in which a flow may name a stack of its own."""
    table = _TABLE.search(text)
    return (text, "") if table is None else (text[: table.start()], text[table.start() :])


def is_named(text: str) -> bool:
    """Whether the text of :func:`read` names a stack, or a controller of one."""
    return _STACK.search(_split(text)[0]) is not None or _OWN.search(text) is not None


def plain(text: str) -> str:
    """The text of :func:`read` as a scenario file has it, without its stack."""
    head, tables = _split(text)
    return _OWN.sub(rf'\1"{PLACEHOLDER}"', _STACK.sub("\n", head) + tables)


def read(text: str, *, name: str = "text", folder: str = "") -> Scenario:
    """The scenario of a text that a program wrote, in which ``stack`` names the stack.

    Its ``algorithm`` may be ``own`` or ``own:bbr``, then of all flows.

    Raises:
        InputError: The scenario is wrong, or the stack does not support it.
    """
    stack = _STACK.search(_split(text)[0])
    own = dict.fromkeys(each[1] for each in _OWN.findall(text))
    if own and len(dict.fromkeys(_ALGORITHM.findall(text))) > 1:
        raise InputError(f"{next(iter(own))}: either all flows have it or none")
    made = Scenario.from_toml(plain(text), name=name, folder=folder)
    if stack is not None:
        check_names([stack[1]])
    elif not own:
        return made
    return placed(made, stack[1] if stack else SIMULATED, next(iter(own), None))
