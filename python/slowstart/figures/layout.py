"""The layout of figures: matplotlib's constrained layout, with decorations measured once.

Matplotlib measures all labels twice and draws the figure once more to place them, which takes
longer than to write the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib import _constrained_layout
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import IdentityTransform, blended_transform_factory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Any: these functions have no types, and are not part of matplotlib's public interface.
_parts: Any = _constrained_layout


class OnePass(ConstrainedLayoutEngine):
    """Constrained layout in one pass.

    The second pass of the usual one finds the margins of tick labels that the first has changed;
    the panels of our figures begin with nearly their final size.
    """

    def execute(self, fig: Any) -> None:
        """Moves and resizes the panels of a figure."""
        if any(
            axes.get_label() == "<colorbar>" or axes.get_aspect() != "auto" for axes in fig.axes
        ):
            # A colour bar lies beside the panel of the previous pass, and a panel of fixed aspect
            # within the place of that pass.
            super().execute(fig)
            return
        given: Any = self.get()
        width, height = fig.get_size_inches()
        pads = {
            "w_pad": given["w_pad"] / width,
            "h_pad": given["h_pad"] / height,
        }
        spaces = {"wspace": given["wspace"], "hspace": given["hspace"]}
        renderer = fig.canvas.get_renderer()
        grids = _parts.make_layoutgrids(fig, None, rect=given["rect"])
        if not grids["hasgrids"]:
            return
        _parts.make_layout_margins(grids, fig, renderer, **pads, **spaces)
        _parts.make_margin_suptitles(grids, fig, renderer, **pads)
        _parts.match_submerged_margins(grids, fig)
        grids[fig].update_variables()
        if _parts.check_no_collapsed_axes(grids, fig):
            _parts.reposition_axes(grids, fig, renderer, **pads, **spaces)
        _parts.reset_margins(grids, fig)


def fix_labels(figure: Figure) -> None:
    """Aligns the y labels of each column of panels, and fixes the places of all axis labels.

    Otherwise each drawing measures the tick labels of all panels of a column for each of them
    (:meth:`matplotlib.figure.Figure.align_ylabels`), which takes most of its time.
    """
    canvas: Any = figure.canvas
    renderer = canvas.get_renderer()
    width, height = figure.bbox.width, figure.bbox.height
    edges: dict[tuple[int, str, int], list[Axis]] = {}
    for axes in figure.axes:
        locate: Any = axes.get_axes_locator()
        axes.apply_aspect(None if locate is None else locate(axes, renderer))
        if axes.get_xlabel():
            axes.xaxis.get_tightbbox(renderer)  # places the label
            x, y = axes.xaxis.label.get_position()
            across = blended_transform_factory(axes.transAxes, figure.transFigure)
            axes.xaxis.set_label_coords(x, y / height, transform=across)
        edges.setdefault(_column(axes), []).append(axes.yaxis)
    for (_, side, _), group in edges.items():
        if any(axis.label.get_text() for axis in group):
            _align(figure, group, side, renderer, width)


def free_labels(figure: Figure) -> None:
    """Undoes :func:`fix_labels`, so that a new layout can place the labels."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            label: Any = axis.label
            across = axis is axes.xaxis
            x, y = label.get_position()
            label.set_position((x, 0) if across else (0, y))
            still = IdentityTransform()
            label.set_transform(
                blended_transform_factory(axes.transAxes, still)
                if across
                else blended_transform_factory(still, axes.transAxes)
            )
            free: Any = axis
            free._autolabelpos = True


def _column(axes: Axes) -> tuple[int, str, int]:
    """The column of panels, and its side, at which an axis has its y label."""
    place, side = axes.get_subplotspec(), str(axes.yaxis.get_label_position())
    if place is None:
        return id(axes), side, -1
    column = place.colspan.start if side == "left" else place.colspan.stop
    return id(place.get_gridspec()), side, column


def _align(figure: Figure, group: list[Axis], side: str, renderer: Any, width: float) -> None:
    for axis in group:
        axis.get_tightbbox(renderer)  # places the label
    # An axis without a label has no place for one, but its ticks count as theirs do.
    outermost = (min if side == "left" else max)(each.label.get_position()[0] for each in group)
    for axis in group:
        down = blended_transform_factory(figure.transFigure, axis.axes.transAxes)
        at = outermost
        if side == "left" and axis.label.get_text():
            # A label of more lines than the others' would be cut at the edge of the figure.
            lines = axis.label.get_window_extent().width
            at = min(axis.label.get_position()[0], max(outermost, lines + 1))
        axis.set_label_coords(at / width, axis.label.get_position()[1], transform=down)
