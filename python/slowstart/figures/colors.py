"""The colour and line style of each algorithm, the same in every figure and report.

The colours are those of Okabe and Ito (2008), which readers with any common form of colour
blindness can tell apart. The start-up determines the colour and the avoidance the dashes, so that
``cubic+search`` and ``reno+search`` look related. A well-known name with options gets a colour of
Tol (2021, "muted") that no well-known name has. An unknown name gets one of the remaining colours.
Both are assigned in the order of the names.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
WINE = "#882255"
OLIVE = "#999933"
INDIGO = "#332288"
GREY = "#777777"

BY_STARTUP = {
    "standard": BLACK,
    "hystart": BLUE,
    "hystart++": GREEN,
    "search": VERMILLION,
    "suss": ORANGE,
    "limited": SKY_BLUE,
}
BY_MONOLITHIC = {"bbr": PURPLE}
# Yellow last: it is faint on white.
ORDER = (VERMILLION, BLUE, GREEN, BLACK, ORANGE, PURPLE, SKY_BLUE, YELLOW)
VARIANTS = (WINE, OLIVE, INDIGO, GREY, YELLOW)
# Routes over a network, in the order in which a figure draws them.
ROUTES = (
    BLUE,
    VERMILLION,
    GREEN,
    ORANGE,
    PURPLE,
    SKY_BLUE,
    WINE,
    OLIVE,
    INDIGO,
    BLACK,
)
DASHES_BY_AVOIDANCE = {"cubic": "-", "reno": "--", "westwood": "-.", "bic": ":"}
OTHER_DASHES = ("-", "--", "-.", ":")


CHOSEN: ContextVar[Mapping[str, str]] = ContextVar("chosen", default=MappingProxyType({}))
"""The colours that a theme chooses, by name."""


@dataclass(frozen=True)
class Style:
    """The style of an algorithm: a colour (``#rrggbb``) and a matplotlib line style."""

    color: str
    dashes: str


def _well_known(name: str) -> Style | None:
    if name in BY_MONOLITHIC:
        return Style(BY_MONOLITHIC[name], "-")
    avoidance, plus, startup = name.partition("+")
    if plus and startup in BY_STARTUP and avoidance in DASHES_BY_AVOIDANCE:
        return Style(BY_STARTUP[startup], DASHES_BY_AVOIDANCE[avoidance])
    return None


def styles(names: Iterable[str]) -> dict[str, Style]:
    """The style of each of ``names``; the first 32 names get different styles.

    The result depends on the set of names only, not on their order. A well-known name always has
    the same style, unless a theme chooses its colour.
    """
    chosen: dict[str, Style] = {}
    unknown = []
    for name in dict.fromkeys(names):
        known = _well_known(name)
        if name in CHOSEN.get():
            chosen[name] = Style(CHOSEN.get()[name], "-" if known is None else known.dashes)
        elif known is None:
            unknown.append(name)
        else:
            chosen[name] = known
    used = set(chosen.values())
    colors_used = {style.color for style in used}
    fresh = [Style(color, "-") for color in ORDER if color not in colors_used]
    again = [Style(color, dashes) for dashes in OTHER_DASHES for color in ORDER]
    variants = [Style(color, "-") for color in VARIANTS]
    for name in sorted(unknown):
        kin = _well_known(name.partition(":")[0]) is not None
        queue = [*variants, *fresh, *again] if kin else [*fresh, *again, *variants]
        left = (style for style in queue if style not in used)
        chosen[name] = next(left, queue[0])
        used.add(chosen[name])
    return chosen
