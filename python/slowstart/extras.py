"""The optional libraries, and the one sentence about those that are missing.

The package itself runs simulations and prints tables. The extra ``report`` of the package installs
what figures, reports, studies and statistics need. A command that needs it calls
:func:`need_report` before it runs or writes anything.
"""

from __future__ import annotations

from importlib.util import find_spec

from slowstart.errors import InputError

LIBRARIES = ("jinja2", "markdown_it", "matplotlib", "numpy", "polars", "scipy")
"""The modules that the extra ``report`` installs."""
INSTALL = "pip install 'slowstart[report]'"


def missing() -> list[str]:
    """The libraries of the extra ``report`` that are not installed."""
    return [each for each in LIBRARIES if find_spec(each) is None]


def sentence(what: str, libraries: list[str]) -> str:
    """Says that ``what`` needs ``libraries``, and how to install them."""
    *first, last = libraries
    names = f"{', '.join(first)} and {last}" if first else last
    return f"{what} needs {names}: {INSTALL}"


def need_report(what: str) -> None:
    """Rejects ``what`` if a library of the extra ``report`` is missing.

    Raises:
        InputError: It names the libraries and the command that installs them.
    """
    libraries = missing()
    if libraries:
        raise InputError(sentence(what, libraries))
