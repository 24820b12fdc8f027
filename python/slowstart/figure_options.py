"""The options of commands that write figures."""

from __future__ import annotations

from typing import Annotated

import typer

Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Formats of the figures: pdf, svg or png; repeatable, or separated by commas "
        "[default: svg,png]. Text remains text in SVG and PDF files.",
        show_default=False,
    ),
]
Width = Annotated[
    str | None,
    typer.Option(
        metavar="WIDTH",
        help="Width of the figures, with unit: 3.3in, 8.4cm, 84mm. Panels that do not fit side by "
        "side lie below each other [default: what the panels need].",
        show_default=False,
    ),
]
