"""Figures for narrow screens: panels that lie side by side are stacked.

Code that draws a figure needs no change: :func:`slowstart.plots.new_figure` returns a
:class:`PanelFigure`, which knows its panels, and :func:`slowstart.figures.canvas.stacked` moves
them below each other without drawing anything again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist

# Inches: at this width a letter of 9 points is legible on a phone.
_NARROW = 5.0
# The width of a character of a tick label, in inches.
_CHARACTER = 0.075
# Inches between labels that are written upwards.
LINE = 0.12


class PanelFigure(Figure):
    """A figure that knows its panels, so that they can be put below each other."""

    grid: Any = None
    """Its panels, rows by columns, ``None`` where one was left out; ``None`` without panels."""
    title: str = ""
    """Its title, in one line."""
    handles: Sequence[Artist] = ()
    """Those of its legend."""
    note: str = ""
    """A sentence for its caption; empty if there is nothing to say."""

    def subplots(self, nrows: int = 1, ncols: int = 1, **how: Any) -> Any:
        """As :meth:`matplotlib.figure.Figure.subplots`."""
        squeeze = how.pop("squeeze", True)
        made = super().subplots(nrows, ncols, squeeze=False, **how)
        self.grid = made
        self._ratios = list(how.get("height_ratios") or [1] * nrows)
        self._shared = str(how.get("sharex", "none"))
        if squeeze:
            return made.squeeze() if made.size > 1 else made.item()
        return made

    def can_stack(self) -> bool:
        """Whether it is wider than :meth:`stack` makes it, and knows its panels."""
        if self.grid is None:
            return False
        # One panel that is a little wider gains nothing.
        return bool(self.get_figwidth() > _NARROW + (0.5 if self.grid.shape[1] == 1 else 0.0))

    def stack(self) -> None:
        """Puts the panels below each other, all of a column before the next column."""
        rows, columns = self.grid.shape
        kept = [
            (row, column)
            for column, row in np.ndindex(columns, rows)
            if self.grid[row, column] is not None
        ]
        ratios = [self._ratios[row] for row, _ in kept]
        self.set_size_inches(_NARROW, self.get_figheight() * sum(ratios) / sum(self._ratios))
        places = self.add_gridspec(len(kept), 1, height_ratios=ratios)
        for place, (row, column) in enumerate(kept):
            panel = self.grid[row, column]
            panel.set_subplotspec(places[place])
            # Panels that share an axis have lost these.
            panel.tick_params(axis="y", which="both", labelleft=True)
            panel.yaxis.offsetText.set_visible(True)
            if self._shared in ("row", "all") and row == rows - 1:
                panel.tick_params(axis="x", which="both", labelbottom=True)
        self._label_panels()

    def _label_panels(self) -> None:
        """Gives each panel the axis label that its row has only once; turns words that collide."""
        for whole in self.grid:
            row = [each for each in whole if each is not None]
            words = next((each.get_ylabel() for each in row if each.get_ylabel()), "")
            for panel in row:
                if not panel.get_ylabel():
                    panel.set_ylabel(words)
                ticks = panel.get_xticklabels()
                longest = max((len(each.get_text()) for each in ticks), default=0)
                if any(each.get_rotation() for each in ticks):
                    _thin(panel)
                elif longest * len(ticks) * _CHARACTER > _NARROW - 1:
                    for each in ticks:
                        each.set(rotation=35, ha="right", rotation_mode="anchor")


def _thin(panel: Any) -> None:
    """Leaves out labels that are written upwards, until the others fit."""
    places, words = panel.get_xticks(), [each.get_text() for each in panel.get_xticklabels()]
    every = -(-len(words) // int((_NARROW - 0.8) / LINE))
    panel.set_xticks(places[::every], words[::every])
