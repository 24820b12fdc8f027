"""Start-ups written in Python, named ``avoidance+module:Class[:option=value,...]``.

A class is made once for each connection, ``Class(smss, initial_window)`` in bytes, and must have

``on_ack(ack, window)``
    An ACK in slow start that may grow the window. The answer: bytes to grow by, a :class:`Set`, an
    :class:`Exit`, or ``None`` for nothing.

It may have

``on_delivery(ack, window)``
    Any ACK in slow start that delivered data, before losses are marked and before ``on_ack``. The
    answer is the same; ``None`` changes nothing.
``on_sent(sent)``
    A segment left.
``on_congestion(kind, now_ns)``
    ``"loss"``, ``"ecn"`` or ``"timeout"``; the window is reduced by others.
``pacing_rate``
    An attribute: bits per second while slow start shall be paced, or ``None``.

Options are keyword arguments of the class beside these two: ``cubic+mine:Glide:divisor=4`` makes
``Glide(smss, initial_window, divisor=4)``. A value is a number, ``true`` or ``false``, or a text.

Times are whole nanoseconds, amounts bytes. Nothing but what a class is told may decide what it
does: no clock, no unseeded randomness, no state shared between instances. Then the same seed gives
the same result.
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
    """The window from now on, staying in slow start."""

    cwnd: int


@dataclass(frozen=True)
class Exit:
    """Slow start is over: window and threshold from now on."""

    cwnd: int
    ssthresh: int


def load(module: str, name: str, options: str = "") -> type[Any]:
    """The class ``name`` of ``module``, which may lie in the working directory.

    With ``options``, ``option=value,...``, a class that passes them on.

    Raises:
        InputError: There is none, it is no start-up, or it does not take an option.
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
                f"there is no start-up and no module `{module}`; a module is looked for in the "
                "working directory and where Python looks"
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
            f"`{module}:{name}` is no start-up: it has no method `on_ack(ack, window)`"
        )
    return _with_options(found, f"{module}:{name}", options) if options else found


def _with_options(found: type[Any], named: str, options: str) -> type[Any]:
    values: dict[str, Any] = {}
    for each in options.split(","):
        key, equals, value = each.partition("=")
        if not key.isidentifier() or not equals or not value:
            raise InputError(f"`{each}` is not an option of `{named}`: write option=value")
        if key in values:
            raise InputError(f"`{named}` is given the option `{key}` twice")
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
    """A number or a truth where ``text`` is one."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def describe(error: BaseException, where: TracebackType | None = None) -> str:
    """An exception in one line: where it came from, by ``where`` or itself, and what it is."""
    said = " ".join(str(error).split())
    said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, SyntaxError):
        return said
    frames = [
        frame
        for frame in traceback.extract_tb(where or error.__traceback__)
        if "importlib" not in frame.filename and Path(frame.filename) != Path(__file__)
    ]
    if not frames:
        return said
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}, in {last.name}: {said}"
