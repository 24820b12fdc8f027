"""Arithmetic over the numbers of a sweep's point, for derived keys.

``rate * rtt / 8`` has the numbers of the axes of these names in bit/s, seconds, bytes, or, for
per cent, as a fraction. ``path.rtt`` is a key of the scenario, swept or not.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from slowstart.errors import InputError
from slowstart.studies.files import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "ceil": math.ceil, "exp": math.exp, "floor": math.floor, "log": math.log,
    "log2": math.log2, "log10": math.log10, "max": max, "min": min, "round": round,
    "sqrt": math.sqrt,
}  # fmt: skip
_KNOWN = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.BoolOp, ast.Call, ast.Name,
    ast.Constant, ast.Load, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.USub, ast.UAdd, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.And, ast.Or,
)  # fmt: skip
_LONGEST = 1000


class Expression:
    """A formula."""

    def __init__(self, text: str, known: Callable[[str], bool], words: list[str]) -> None:
        """Reads it.

        Args:
            text: The formula.
            known: Whether a name, which may have dots, has a number.
            words: The names to suggest.

        Raises:
            InputError: Without a place.
        """
        if len(text) > _LONGEST:
            raise InputError(f"the limit is {_LONGEST} characters")
        try:
            tree = _Dots().visit(ast.parse(text, mode="eval"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"`{text}` is not a formula such as rate * rtt / 8") from None
        self.names: set[str] = set()
        calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                function = node.func.id if isinstance(node.func, ast.Name) else "this"
                if function not in _FUNCTIONS or node.keywords:
                    raise InputError(
                        f"there is no function {function}{nearest(function, _FUNCTIONS)}"
                    )
            elif isinstance(node, ast.Name) and id(node) not in calls:
                if not known(node.id):
                    raise InputError(f"{node.id} has no number{nearest(node.id, words)}")
                self.names.add(node.id)
            elif isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)):
                raise InputError(f"`{text}` has a part that is not a number")
            elif not isinstance(node, _KNOWN):
                raise InputError(f"`{text}` is not a formula of numbers, names, + - * / ** and ( )")
        # Only the checked names and functions are in reach: there are no builtins.
        self._code = compile(tree, "<formula>", "eval")
        self._scope: dict[str, Any] = {"__builtins__": {}, **_FUNCTIONS}
        self.text = text

    def value(self, numbers: Mapping[str, float]) -> float:
        """Its value.

        Raises:
            InputError: It has none, as after a division by zero.
        """
        try:
            found = float(eval(self._code, self._scope, dict(numbers)))  # noqa: S307 (checked)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise InputError(f"`{self.text}`: {error.args[-1]}") from None
        if not math.isfinite(found):
            raise InputError(f"`{self.text}` is not a finite number")
        return found


class _Dots(ast.NodeTransformer):
    """Makes a name of ``path.rtt``, and floats of integers, whose powers could be endless."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is not int:
            return node
        return ast.copy_location(ast.Constant(float(node.value)), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        inside = self.visit(node.value)
        if not isinstance(inside, ast.Name):
            return node
        return ast.copy_location(ast.Name(f"{inside.id}.{node.attr}", ast.Load()), node)
