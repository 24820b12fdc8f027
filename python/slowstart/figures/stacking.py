"""Figures for narrow screens: panels that lie side by side are stacked.

Code that draws a figure needs no change: within :func:`stacking`,
:func:`slowstart.plots.new_figure` returns a :class:`StackedFigure`, whose ``subplots`` has the
usual shape and lays out one column.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

_STACKING: ContextVar[bool] = ContextVar("stacking", default=False)
# Inches: at this width a letter of 9 points is legible on a phone.
_NARROW = 5.0
# The width of a character of a tick label, in inches.
_CHARACTER = 0.075


@contextmanager
def stacking() -> Iterator[None]:
    """Figures that are begun within the block stack their panels."""
    token = _STACKING.set(True)
    try:
        yield
    finally:
        _STACKING.reset(token)


def is_stacking() -> bool:
    """Whether a figure that is begun now stacks its panels."""
    return _STACKING.get()


class StackedFigure(Figure):
    """A figure whose columns of panels lie below each other."""

    grid: Any = None
    """Its panels, in the shape that the code asked for; ``None`` as long as there are none."""

    def subplots(self, nrows: int = 1, ncols: int = 1, **how: Any) -> Any:
        """As :meth:`matplotlib.figure.Figure.subplots`, in one column."""
        self.set_size_inches(_NARROW, self.get_figheight() * ncols)
        ratios = list(how.get("height_ratios") or [1] * nrows) * ncols
        places = self.add_gridspec(nrows * ncols, 1, height_ratios=ratios)
        made = np.empty((nrows, ncols), dtype=object)
        sharex, sharey = (_sharing(how.get(key, False)) for key in ("sharex", "sharey"))
        for column in range(ncols):
            for row in range(nrows):
                panel = self.add_subplot(
                    places[column * nrows + row],
                    sharex=_first(made, sharex, row, column),
                    sharey=_first(made, sharey, row, column),
                )
                if sharex in ("all", "col") and row < nrows - 1:
                    panel.tick_params(axis="x", labelbottom=False)
                made[row, column] = panel
        self.grid = made
        if how.get("squeeze", True):
            return made.squeeze() if made.size > 1 else made.item()
        return made

    def label_panels(self) -> None:
        """Gives each panel the axis label that its row has only once; turns words that collide."""
        if self.grid is None:
            return
        for row in self.grid:
            words = next((each.get_ylabel() for each in row if each.get_ylabel()), "")
            for panel in row:
                if not panel.get_ylabel():
                    panel.set_ylabel(words)
                ticks = panel.get_xticklabels()
                longest = max((len(each.get_text()) for each in ticks), default=0)
                if longest * len(ticks) * _CHARACTER > _NARROW - 1:
                    for each in ticks:
                        each.set(rotation=35, ha="right", rotation_mode="anchor")


def _sharing(word: bool | str) -> str:
    if isinstance(word, str):
        return word
    return "all" if word else "none"


def _first(made: Any, sharing: str, row: int, column: int) -> Any:
    """The earlier panel with which a panel shares an axis; ``None`` if there is none."""
    place = {"all": (0, 0), "row": (row, 0), "col": (0, column), "none": (row, column)}[sharing]
    return made[place]
