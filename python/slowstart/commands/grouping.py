"""Options that several commands share, declared once as the fields of a class.

Typer reads a command's options from the parameters of its function. A command with a shared group
has a single keyword parameter of the group's class, :class:`Group`; :func:`spread` replaces it by
one parameter for each field, and passes the values on as one object.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Group:
    """The base of groups: each field is an option, annotated as a parameter of a command."""


def spread(**own: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command the options of its group.

    Args:
        own: By the name of a field, what this command has instead: ``None`` if it lacks the
            option, an annotation, or an annotation and a default.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        name, group = next(
            (each.name, each.annotation)
            for each in signature.parameters.values()
            if inspect.isclass(each.annotation) and issubclass(each.annotation, Group)
        )
        kept = [each for each in signature.parameters.values() if each.name != name]
        options = _parameters(group, own)

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            chosen = {each.name: given.pop(each.name) for each in options}
            return command(**given, **{name: group(**chosen)})

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in kept + options]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _parameters(group: type[Group], own: dict[str, Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found = []
    for each in fields(group):
        annotation, default = hints[each.name], each.default
        if each.name in own:
            if own[each.name] is None:
                continue
            annotation = own[each.name]
            if isinstance(annotation, tuple):
                annotation, default = annotation
        found.append(
            inspect.Parameter(
                each.name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
            )
        )
    return found
