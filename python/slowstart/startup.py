"""Algorithms written in Python: start-ups, avoidances and whole congestion controls.

The name of a class is ``module:Class[:option=value,...]``. Its place in the name of an algorithm is
its kind:

======================  ============================  ==========================
kind                    name                          interface
======================  ============================  ==========================
start-up                ``cubic+mine:Glide``          :class:`Startup`
avoidance               ``mine:Rise+standard``        :class:`Avoidance`
congestion control      ``mine:Steady``, alone        :class:`CongestionControl`
======================  ============================  ==========================

An avoidance names its start-up, which may be a class, too: ``mine:Rise+mine:Glide``.

Each connection creates one instance, ``Class(smss, initial_window)``, both in bytes. A class need
not inherit from the interface; it must have the methods that the interface marks as required, and
slowstart calls the others only if the class has them.

Options become further keyword arguments: ``cubic+mine:Glide:divisor=4`` creates
``Glide(smss, initial_window, divisor=4)``. A value is a number, ``true`` or ``false``, or a string.

Times are integers in nanoseconds, amounts are integers in bytes. For reproducible results the
behaviour may depend on the arguments of these calls only: use no clock, no unseeded randomness, and
no state shared between instances.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from slowstart._native import Ack, Congestion, Sent, Window
from slowstart.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = [
    "Ack",
    "Avoidance",
    "Congestion",
    "CongestionControl",
    "Exit",
    "Sent",
    "Set",
    "Startup",
    "Window",
]


@dataclass(frozen=True)
class Set:
    """Sets the window and stays in slow start."""

    cwnd: int
    """The new window, in bytes."""


@dataclass(frozen=True)
class Exit:
    """Ends slow start and sets window and threshold, and says why.

    ``Exit(cwnd, cwnd, reason="slope", measured=0.4, threshold=0.35)`` appears in results as
    ``slope: 0.40 > 0.35``.
    """

    cwnd: int
    """The new window, in bytes."""
    ssthresh: int
    """The new slow-start threshold, in bytes. Slow start ends if it is at most ``cwnd``."""
    reason: str = "decision"
    """A word of lowercase letters, digits and hyphens."""
    measured: float | None = None
    """What was measured, in ``unit``, if there is a number; given together with ``threshold``."""
    threshold: float | None = None
    """What ``measured`` was compared with, in ``unit``."""
    unit: str = ""
    """Unit of ``measured`` and ``threshold``: ``"ns"``, ``"bytes"``, ``"bit/s"``, ``"count"``, or
    ``""`` for a ratio."""


class Startup(Protocol):
    """A start-up: what happens to the window in slow start. Only ``on_ack`` is required.

    The optional attribute ``pacing_rate`` of the class, or of an instance from ``__init__`` on, is
    the pacing rate during slow start in bit/s, or ``None`` for no pacing.
    """

    def on_ack(self, ack: Ack, window: Window) -> int | Set | Exit | None:
        """Required: an ACK in slow start that may grow the window.

        Returns the bytes to grow by, a :class:`Set`, an :class:`Exit`, or ``None`` for no change.
        """

    def on_delivery(self, ack: Ack, window: Window) -> int | Set | Exit | None:
        """Each ACK in slow start that delivered data, before losses are marked and ``on_ack``.

        Returns the same as ``on_ack``.
        """

    def on_sent(self, sent: Sent) -> None:
        """A segment was sent, also after slow start."""

    def on_congestion(self, kind: str, now_ns: int) -> None:
        """A congestion episode begins: ``"loss"``, ``"ecn"`` or ``"timeout"``, and the time in ns.

        Other parts reduce the window.
        """


class Avoidance(Protocol):
    """An avoidance: growth above the threshold, and the threshold after congestion.

    ``on_ack`` and ``on_congestion`` are required. The recovery, Linux's ``prr`` unless the name of
    the algorithm ends with another one, takes the window to the threshold.
    """

    def on_ack(self, acked: int, ack: Ack, window: Window) -> int | None:
        """Required: an ACK above the threshold, while the window limits the sender.

        ``acked`` is what is left of ``ack.delivered`` for avoidance, in bytes. Returns the bytes to
        grow by. The window grows in whole segments; a rest is kept for the next ACK.
        """

    def on_congestion(self, congestion: Congestion, window: Window) -> int:
        """Required: a congestion episode begins.

        Returns the new threshold in bytes, at least two segments of which are applied.
        """

    def on_delivery(self, ack: Ack, window: Window) -> None:
        """Each ACK that delivered data, in any state, before losses are marked."""

    def decide(self, ack: Ack, window: Window) -> Set | Exit | None:
        """Each ACK that advances outside of a reduction, in slow start, too; before ``on_ack``.

        A :class:`Set` or an :class:`Exit` is the window from now on, and nothing else grows it on
        this ACK. With ``None`` the usual growth follows.
        """

    def on_recovery_exit(self, window: Window) -> int | None:
        """A reduction ends.

        Returns window and threshold in bytes, or ``None`` to keep the threshold.
        """

    def on_timeout(self) -> None:
        """A retransmission timeout expired; ``on_congestion`` came before."""

    def on_undo(self) -> None:
        """The last congestion episode was a mistake; window and threshold are restored."""

    def on_idle(self, now_ns: int, idle_since_ns: int) -> None:
        """Sending resumes at ``now_ns``; nothing was in flight since the send at the other time."""


class CongestionControl(Protocol):
    """A whole congestion control: window, threshold and pace at all times.

    ``on_ack``, ``on_congestion`` and the attribute ``cwnd`` are required. slowstart reads the
    attributes after ``__init__`` and after each call. Loss detection and retransmission remain the
    transport's.
    """

    cwnd: int
    """The window in bytes; slowstart rounds it down to whole segments, one at least."""
    ssthresh: int | None
    """The slow-start threshold in bytes, which tables and figures show; without it ``None``."""
    pacing_rate: int | None
    """The rate at which segments leave, in bit/s; without it ``None``: the transport does not pace
    unless the flow asks for it."""
    slow_start_exit: Exit | None
    """``None`` until the first slow start has ended, then why. Without this attribute slow start
    ends at the first congestion, or when ``cwnd`` reaches ``ssthresh``."""

    def on_ack(self, ack: Ack) -> None:
        """Required: each ACK, after losses are marked; ``ack.phase`` is the sender's state."""

    def on_congestion(self, congestion: Congestion) -> None:
        """Required: a loss was detected, a mark arrived, or the retransmission timer expired."""

    def on_delivery(self, ack: Ack) -> None:
        """Each ACK that delivered data, before losses are marked."""

    def on_sent(self, sent: Sent) -> None:
        """A segment was sent."""

    def on_recovery_exit(self, now_ns: int) -> None:
        """The states ``cwr`` or ``recovery`` end."""

    def on_undo(self, now_ns: int) -> None:
        """The last congestion episode was a mistake: restore what it took."""


_KINDS: dict[str, tuple[type[Any], tuple[str, ...], str]] = {
    "start-up": (Startup, ("on_ack",), "after the avoidance, as in cubic+{}"),
    "avoidance": (
        Avoidance,
        ("on_ack", "on_congestion"),
        "in front of a start-up, as in {}+standard",
    ),
    "congestion control": (CongestionControl, ("on_ack", "on_congestion"), "alone, as in {}"),
}
"""Each kind: its interface, what is required of it, and its place in the name of an algorithm."""


def load(module: str, name: str, options: str = "", kind: str = "start-up") -> type[Any]:
    """Loads the class ``name`` of ``module``, which may be in the working directory.

    Args:
        module: The name of a module, as in ``import``.
        name: A class with the required methods of its kind.
        options: ``option=value,...``: further arguments of the class.
        kind: ``start-up``, ``avoidance`` or ``congestion control``.

    Returns:
        The class; with ``options`` a subclass that passes them on.

    Raises:
        InputError: The class does not exist, is not of this kind, or does not take an option.

    Example:
        >>> load("collections", "OrderedDict")
        Traceback (most recent call last):
        slowstart.errors.InputError: `collections:OrderedDict` is not a start-up: ...
    """
    found = find(module, name, kind)
    _check(found, f"{module}:{name}", kind)
    return _with_options(found, f"{module}:{name}", options) if options else found


def find(module: str, name: str, kind: str = "class") -> type[Any]:
    """Imports the class ``name`` of ``module``, which may be in the working directory.

    Args:
        module: The name of a module, as in ``import``.
        name: A class.
        kind: The word for it in messages.

    Returns:
        The class.

    Raises:
        InputError: There is no such module or class, or the module cannot be loaded.

    Example:
        >>> find("collections", "OrderedDict").__name__
        'OrderedDict'
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
                f"there is no {kind} and no module `{module}`; modules are searched for in the "
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
    return found


def _check(found: type[Any], named: str, kind: str) -> None:
    """Rejects a class that is not of this kind."""
    wrong = _first_wrong(found, kind)
    if wrong is None:
        return
    said = f"`{named}` is not {'an' if kind == 'avoidance' else 'a'} {kind}: {wrong}"
    fitting = (other for other in _KINDS if _first_wrong(found, other) is None)
    other = next(fitting, None)
    if other is not None:
        place = _KINDS[other][2].format(named)
        said += f"; as {'an' if other == 'avoidance' else 'a'} {other} it stands {place}"
    raise InputError(said)


def _first_wrong(found: type[Any], kind: str) -> str | None:
    """The first method that is missing or takes other arguments than a class of this kind has."""
    interface, required, _ = _KINDS[kind]
    hooks = [name for name in vars(interface) if callable(getattr(interface, name))]
    for name in (each for each in hooks if not each.startswith("_")):
        method = getattr(found, name, None)
        takes = [each.name for each in _parameters(getattr(interface, name))]
        called = f"`{name}({', '.join(takes[1:])})`"
        if not callable(method):
            if name in required or hasattr(found, name):
                return f"it has no method {called}"
            continue
        # A static method, a class method or something else is called without the instance.
        given = takes if inspect.isfunction(inspect.getattr_static(found, name)) else takes[1:]
        with contextlib.suppress(ValueError):  # it has no signature
            try:
                inspect.signature(method).bind(*given)
            except TypeError:
                return f"its method `{name}` cannot be called as {called}"
    return None


def _parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _with_options(found: type[Any], named: str, options: str) -> type[Any]:
    values: dict[str, Any] = {}
    for each in options.split(","):
        key, equals, value = each.partition("=")
        if not key.isidentifier() or not equals or not value:
            raise InputError(f"`{each}` is not an option of `{named}`: write option=value")
        if key in values:
            raise InputError(f"the option `{key}` of `{named}` is given twice")
        values[key] = _value(value)
    parameters = _parameters(found)
    takes = [each.name for each in parameters[2:] if each.kind is not each.VAR_KEYWORD]
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
        File, line and function, if known, then the kind and the text of the exception. With
        ``where``, if another function called that function: the first of them.

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
    first, last = frames[0], frames[-1]
    origin = f"{Path(last.filename).name}:{last.lineno}, in {last.name}"
    if where is not None and first.name != last.name:
        origin += f", called by {first.name}"
    return f"{origin}: {text}"
