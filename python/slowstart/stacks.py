"""Stacks in virtual time: the simulated TCP, and QUIC stacks with controllers of their own."""

from __future__ import annotations

from slowstart._native import stacks as quic_stacks
from slowstart.errors import InputError

SIMULATED = "simulated"
PLACEHOLDER = "cubic"
"""The algorithm of a scenario whose flows have a stack's own controller."""


def known() -> list[str]:
    """The stacks in virtual time."""
    return [SIMULATED, *(each["name"] for each in quic_stacks())]


def is_own(algorithm: str) -> bool:
    """Whether it is a stack's own controller: ``own``, ``own:bbr``."""
    return algorithm == "own" or algorithm.startswith("own:")


def placeholder(algorithm: str) -> str:
    """The algorithm of a scenario whose flows have ``algorithm``: any for a stack's own."""
    return PLACEHOLDER if is_own(algorithm) else algorithm


def own_name(stack: str, algorithm: str) -> str:
    """``own`` with the name of the controller that it stands for; others as they are."""
    if algorithm != "own":
        return algorithm
    first = next((each["own"][0][0] for each in quic_stacks() if each["name"] == stack), None)
    return algorithm if first is None else f"own:{first}"


def check_names(given: list[str], more: tuple[str, ...] = ()) -> None:
    """Rejects a stack that is unknown or given twice; ``more`` are known, too.

    Raises:
        InputError: With the known ones.
    """
    every = [*known(), *more]
    for name in given:
        if name not in every:
            raise InputError(f"unknown stack {name}: there are {', '.join(every)}")
        if given.count(name) > 1:
            raise InputError(f"the stack {name} is given twice")
