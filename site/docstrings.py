"""Reads the docstrings of the package for the site: one example, and the roles of Sphinx."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Makes ``Example:`` a section of examples, and roles plain code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Changes the docstring of one object before it is parsed."""
        if obj.docstring:
            text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
            obj.docstring.value = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
