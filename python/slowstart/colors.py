"""Which colour and line an algorithm has, the same in every figure and report.

The colours are those of Okabe and Ito (2008), which readers with any common form of colour
blindness can tell apart. The start-up gives the colour and the avoidance the dashes, so that
``cubic+search`` and ``reno+search`` are kin. Whatever has options, or a name that is not known
here, takes the colours that are left, in the order of its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"

BY_STARTUP = {
    "standard": BLACK,
    "hystart": BLUE,
    "hystart++": GREEN,
    "search": VERMILLION,
    "limited": ORANGE,
}
BY_WHOLE = {"bbr": PURPLE}
# Yellow last: it is faint on white.
ORDER = (VERMILLION, BLUE, GREEN, BLACK, ORANGE, PURPLE, SKY_BLUE, YELLOW)
DASHES_BY_AVOIDANCE = {"cubic": "-", "reno": "--"}
OTHER_DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Style:
    """How an algorithm is drawn: a colour (``#rrggbb``) and a matplotlib line style."""

    color: str
    dashes: str


def _well_known(name: str) -> Style | None:
    if name in BY_WHOLE:
        return Style(BY_WHOLE[name], "-")
    avoidance, plus, startup = name.partition("+")
    if plus and startup in BY_STARTUP:
        return Style(BY_STARTUP[startup], DASHES_BY_AVOIDANCE.get(avoidance, "-."))
    return None


def styles(names: Iterable[str]) -> dict[str, Style]:
    """The style of each of ``names``, no two the same for the first 32 names.

    Depends on the set of names alone, not on their order; a well-known name always has the same.
    """
    chosen: dict[str, Style] = {}
    unknown = []
    for name in dict.fromkeys(names):
        known = _well_known(name)
        if known is None:
            unknown.append(name)
        else:
            chosen[name] = known
    used = set(chosen.values())
    colors_used = {style.color for style in used}
    free = [Style(color, "-") for color in ORDER if color not in colors_used]
    free += [Style(color, dashes) for dashes in OTHER_DASHES for color in ORDER]
    queue = [style for style in dict.fromkeys(free) if style not in used]
    for place, name in enumerate(sorted(unknown)):
        chosen[name] = queue[place % len(queue)]
    return chosen
