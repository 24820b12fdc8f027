"""The command ``slowstart plot``."""

from __future__ import annotations

import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from slowstart.commands import figure_options
from slowstart.commands.figure_options import (  # noqa: TC001 (Typer reads them)
    Formats,
    Height,
    Panels,
    ThemeFile,
    Width,
)
from slowstart.errors import InputError
from slowstart.extras import need_report
from slowstart.report.kinds import NAMES

EPILOG = f"""\b
Examples:
  slowstart compare geo lte -a cubic+search -a cubic+hystart -o result --traces
  slowstart plot result evolution --format pdf --width 7in
  slowstart plot result exit-shares completion --format pdf --width 3.3in -o paper
  slowstart plot result distributions --theme paper.toml
  slowstart plot result evolution --paths geo --algorithms cubic+search --height 6in

\b
Figures: {textwrap.fill(", ".join(NAMES), 80, initial_indent=" " * 9).strip()}.
"evolution" and "rate-changes" need a result that was made with --traces.
"""


def plot(
    result: Annotated[
        str,
        typer.Argument(metavar="RESULT_DIR", show_default=False,
                       help="The folder that compare or run wrote (-o DIR)."),
    ],
    kinds: Annotated[
        list[str], typer.Argument(metavar="KIND...", help="Figures.", show_default=False)
    ],
    paths: Annotated[
        list[str] | None,
        typer.Option("--paths", metavar="PATH", show_default=False,
                     help="Draw these paths only; repeatable, or separated by commas."),
    ] = None,
    algorithms: Annotated[
        list[str] | None,
        typer.Option("--algorithms", metavar="ALG", show_default=False,
                     help="Draw these algorithms only, by label or name; repeatable, or separated "
                     "by commas. Colours stay."),
    ] = None,
    panels: Panels = None,
    formats: Formats = None,
    width: Width = None,
    height: Height = None,
    theme: ThemeFile = None,
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="DIR",
                     help="Write the files to this folder; files of the same names are replaced."),
    ] = ".",
) -> None:  # fmt: skip
    """Draw figures of a saved result again, in another format, width or theme."""
    need_report("slowstart plot")
    look = figure_options.look(formats, width, theme, height, panels)
    from slowstart import figure_style
    from slowstart.report.redraw import redraw
    from slowstart.store.output import writing

    target = Path(output)
    if target.exists() and not target.is_dir():
        raise InputError(f"-o {output} is not a folder")
    with tempfile.TemporaryDirectory() as aside, figure_style.using(look), writing(output):
        made = redraw(result, kinds, Path(aside), paths or (), algorithms or ())
        try:
            target.mkdir(parents=True, exist_ok=True)
            for name in made:
                (target / name).write_bytes((Path(aside) / name).read_bytes())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot write the folder -o {output}: {reason}") from error
    for name in made:
        sys.stdout.write(f"{target / name}\n")
