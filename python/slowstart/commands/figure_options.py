"""The options of commands that write figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowstart.figure_style import Look

Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Formats of the figures: pdf, svg or png; repeatable, or separated by commas "
        "[default: svg]. Text remains text in SVG and PDF files.",
        show_default=False,
    ),
]
Width = Annotated[
    str | None,
    typer.Option(
        metavar="WIDTH",
        help="Width of the figures' files, with unit: 3.3in, 8.4cm, 84mm. Panels that do not fit "
        "side by side lie below each other [default: what the panels need].",
        show_default=False,
    ),
]
Height = Annotated[
    str | None,
    typer.Option(
        metavar="HEIGHT",
        help="Height of each figure, with unit [default: what the panels need].",
        show_default=False,
    ),
]
Panels = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=20,
        help="The most panels side by side; the others lie below them [default: what fits].",
        show_default=False,
    ),
]
ThemeFile = Annotated[
    str | None,
    typer.Option(
        "--theme",
        metavar="FILE",
        help="A theme of the figures (TOML): font, font_size, line_width, title, and the colour of "
        "each label under [colors].",
        show_default=False,
    ),
]


def look(
    formats: Sequence[str] | None,
    width: str | None,
    theme: str | None,
    height: str | None = None,
    panels: int | None = None,
) -> Look:
    """The look that these options choose.

    Raises:
        InputError: One of them is not valid.
    """
    from slowstart import figure_style

    chosen = figure_style.Look(
        figure_style.formats(formats or ()),
        figure_style.width(width),
        figure_style.width(height, "--height"),
        panels,
    )
    if theme is None:
        return chosen
    from slowstart.figures import theme as figure_theme

    return replace(chosen, theme=figure_theme.read(theme))
