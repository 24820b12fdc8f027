"""Start-ups written in Python, named ``avoidance+module:Class[:option=value,...]``.

Each connection creates one instance, ``Class(smss, initial_window)``, both in bytes. The class must
have this method:

``on_ack(ack, window)``
    Called for each ACK in slow start that may grow the window. Returns the bytes to grow by, a
    :class:`Set`, an :class:`Exit`, or ``None`` to change nothing.

These are optional:

``on_delivery(ack, window)``
    Called for every ACK in slow start that delivered data, before loss marking and before
    ``on_ack``. Returns the same as ``on_ack``.
``on_sent(sent)``
    Called for each segment sent.
``on_congestion(kind, now_ns)``
    Called on ``"loss"``, ``"ecn"`` or ``"timeout"``; other parts reduce the window.
``pacing_rate``
    An attribute: the pacing rate during slow start in bit/s, or ``None`` for no pacing.

Options become further keyword arguments: ``cubic+mine:Glide:divisor=4`` creates
``Glide(smss, initial_window, divisor=4)``. A value is a number, ``true`` or ``false``, or a string.

Times are integers in nanoseconds, amounts are bytes. For reproducible results the behaviour may
depend on the arguments of these calls only: use no clock, no unseeded randomness, and no state
shared between instances.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart._native import Ack, Sent, Window
from slowstart.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Ack", "Exit", "Sent", "Set", "Window"]


@dataclass(frozen=True)
class Set:
    """Sets the window and stays in slow start."""

    cwnd: int


@dataclass(frozen=True)
class Exit:
    """Ends slow start and sets window and threshold, and says why.

    ``Exit(cwnd, cwnd, reason="slope", measured=0.4, threshold=0.35)`` appears in results as
    ``slope: 0.40 > 0.35``.
    """

    cwnd: int
    ssthresh: int
    reason: str = "decision"
    """A word of lowercase letters, digits and hyphens."""
    measured: float | None = None
    """What was measured, if there is a number, and what it was compared with."""
    threshold: float | None = None
    unit: str = ""
    """Unit of ``measured`` and ``threshold``: ``"ns"``, ``"bytes"``, ``"bit/s"``, ``"count"``, or
    ``""`` for a ratio."""


def load(module: str, name: str, options: str = "") -> type[Any]:
    """Loads the class ``name`` of ``module``, which may be in the working directory.

    Args:
        module: The name of a module, as in ``import``.
        name: A class with a method ``on_ack``.
        options: ``option=value,...``: further arguments of the class.

    Returns:
        The class; with ``options`` a subclass that passes them on.

    Raises:
        InputError: The class does not exist, is not a start-up, or does not take an option.

    Example:
        >>> load("collections", "OrderedDict")
        Traceback (most recent call last):
        slowstart.errors.InputError: `collections:OrderedDict` is not a start-up: ...
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(
                f"there is no start-up and no module `{module}`; modules are searched for in the "
                "working directory and on Python's path"
            ) from None
        raise InputError(f"the module `{module}` cannot be loaded: {describe(error)}") from None
    except Exception as error:
        raise InputError(f"the module `{module}` cannot be loaded: {describe(error)}") from None
    finally:
        if added:
            sys.path.remove(here)
    if not isinstance(found, type):
        raise InputError(f"the module `{module}` has no class `{name}`")
    if not callable(getattr(found, "on_ack", None)):
        raise InputError(
            f"`{module}:{name}` is not a start-up: it has no method `on_ack(ack, window)`"
        )
    return _with_options(found, f"{module}:{name}", options) if options else found


def _with_options(found: type[Any], named: str, options: str) -> type[Any]:
    values: dict[str, Any] = {}
    for each in options.split(","):
        key, equals, value = each.partition("=")
        if not key.isidentifier() or not equals or not value:
            raise InputError(f"`{each}` is not an option of `{named}`: write option=value")
        if key in values:
            raise InputError(f"the option `{key}` of `{named}` is given twice")
        values[key] = _value(value)
    parameters = inspect.signature(found).parameters.values()
    takes = [each.name for each in list(parameters)[2:] if each.kind is not each.VAR_KEYWORD]
    anything = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for key in values:
        if key not in takes and not anything:
            known = f" (it takes: {', '.join(takes)})" if takes else ": it takes none"
            raise InputError(f"`{named}` has no option `{key}`{known}")

    class Configured(found):  # type: ignore[misc]
        def __init__(self, smss: int, initial_window: int) -> None:
            super().__init__(smss, initial_window, **values)

    return Configured


def _value(text: str) -> Any:
    """``text`` as a number or a Boolean, if it is one."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def describe(error: BaseException, where: TracebackType | None = None) -> str:
    """Describes an exception in one line: its origin and its text.

    Args:
        error: The exception.
        where: The traceback that has the origin, instead of the exception's own.

    Returns:
        File, line and function, if known, then the kind and the text of the exception.

    Example:
        >>> describe(ValueError("too large"))
        'ValueError: too large'
    """
    text = " ".join(str(error).split())
    text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, SyntaxError):
        return text
    frames = [
        frame
        for frame in traceback.extract_tb(where or error.__traceback__)
        if "importlib" not in frame.filename and Path(frame.filename) != Path(__file__)
    ]
    if not frames:
        return text
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}, in {last.name}: {text}"
