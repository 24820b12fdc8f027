"""Figures as SVG, with text as text, with text as outlines, or both from one drawing.

Nothing here changes the layout: :func:`slowstart.figures.canvas.finish` has fixed it. Equal figures
give equal bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends import backend_mixed, backend_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Any: matplotlib's renderers have no types.
_Svg: Any = backend_svg.RendererSVG
_mixed: Any = backend_mixed.MixedModeRenderer
# Points in an inch, which are the user units of the files.
_POINTS = 72


def with_text(figure: Figure) -> bytes:
    """The figure with its text as text."""
    return _draw(figure, text=True, outlines=False)[0]


def outlined(figure: Figure) -> bytes:
    """The figure with its text as outlines."""
    return _draw(figure, text=False, outlines=True)[1]


def both(figure: Figure) -> tuple[bytes, bytes]:
    """What :func:`with_text` and :func:`outlined` return, in the time of one of them."""
    return _draw(figure, text=True, outlines=True)


class _Files:
    """Two texts, of which some receive what is written."""

    def __init__(self) -> None:
        self.parts: tuple[list[str], list[str]] = ([], [])
        self.open: tuple[list[str], ...] = self.parts

    def write(self, words: str) -> None:
        for each in self.open:
            each.append(words)


class _Renderer(_Svg):  # type: ignore[misc]
    """Writes each text twice: as text into the first file, as outlines into the second."""

    def __init__(self, width: float, height: float, dpi: float, *, text: bool, outlines: bool):
        self._files = _Files()
        self._forms = [
            (part, form)
            for part, form, wanted in zip(
                self._files.parts, ("none", "path"), (text, outlines), strict=True
            )
            if wanted
        ]
        self._files.open = tuple(part for part, _ in self._forms)
        stream: Any = self._files
        super().__init__(width, height, stream, image_dpi=dpi, metadata={"Date": None})

    def draw_text(self, *given: Any, **named: Any) -> None:
        """As the base class does, once for each file."""
        every = self._files.open
        # The writer ends a tag that is still open where it writes next, so in the first file only.
        is_open = not every[0][-1].endswith("\n")
        for number, (part, form) in enumerate(self._forms):
            if is_open and number:
                part.append(">\n")
            self._files.open = (part,)
            mpl.rcParams["svg.fonttype"] = form
            super().draw_text(*given, **named)
        self._files.open = every

    def result(self) -> tuple[bytes, bytes]:
        """The bytes of both files; empty if a file was not wanted."""
        one, other = ("".join(part).encode() for part in self._files.parts)
        return one, other


def _draw(figure: Figure, *, text: bool, outlines: bool) -> tuple[bytes, bytes]:
    dpi, (width, height) = figure.dpi, figure.get_size_inches()
    with mpl.rc_context():
        figure.set_dpi(_POINTS)
        inner = _Renderer(_POINTS * width, _POINTS * height, dpi, text=text, outlines=outlines)
        renderer = _mixed(figure, width, height, dpi, inner)
        figure.draw(renderer)
        renderer.finalize()
        figure.set_dpi(dpi)
    return inner.result()
