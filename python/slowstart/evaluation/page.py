"""The scorecard as a single self-contained HTML page, a document and a table."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowstart import plots
from slowstart._version import __version__
from slowstart.evaluation import drawing, words
from slowstart.evaluation.scores import outliers
from slowstart.report import page as report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slowstart.evaluation.kernel import Kernel
    from slowstart.evaluation.scores import Card, Outlier, Reader, Value
    from slowstart.evaluation.table import Criterion, Row
    from slowstart.figures import colors

# Of a strip that shows the values of a row side by side, in pixels.
_STRIP, _MARGIN, _TALL = 110, 8, 18


def document(card: Card, command: str, kernel: Kernel | None = None) -> dict[str, Any]:
    """The scorecard as one JSON document. The same runs give the same bytes."""
    marked = {id(each.row): each for each in outliers(card) if each.but is None}
    return {
        "format": 1,
        "kind": "evaluation",
        "version": __version__,
        "algorithm": card.algorithm,
        "baselines": list(card.baselines),
        "quick": card.quick,
        "command": command,
        "stands_out": [_outlier(each) for each in outliers(card)],
        "criteria": [
            {
                "id": criterion.name,
                "section": criterion.section,
                "group": group.name,
                "title": criterion.title,
                "strength": criterion.strength,
                "asks": criterion.asks,
                "missing": criterion.missing,
                "inapplicable": words.inapplicable(card, criterion),
                "rows": [_row(row, card, marked.get(id(row))) for row in criterion.rows],
            }
            for group in card.table.groups
            for criterion in group.criteria
        ],
        **({kernel.stack: kernel.document()} if kernel else {}),
    }


def _outlier(each: Outlier) -> dict[str, Any]:
    return {
        "criterion": each.criterion.name,
        "row": each.row.words,
        "worse": each.worse,
        "but": each.but[0] if each.but else None,
        "severity": each.severity,
        "sentence": words.sentence(each),
    }


def _row(row: Row, card: Card, outlier: Outlier | None) -> dict[str, Any]:
    setup = card.table.setups[row.setup]
    return {
        "words": row.words,
        "scenario": setup.name,
        "about": setup.about,
        "select": dict(row.select),
        "measure": row.measure,
        "among": row.among,
        "over": row.over,
        "against": row.against,
        "as": row.relation,
        "unit": row.unit,
        "better": row.better,
        "limit": row.limit,
        "headline": row.headline,
        "position": _position(outlier),
        "values": {name: _value(each) for name, each in card.values.get(row, {}).items()},
    }


def _value(value: Value) -> dict[str, Any]:
    return {
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "confidence": value.confidence,
        "runs": value.runs,
        "count": value.count,
        "of": value.of,
        "censored": value.censored,
        "at": value.at,
    }


def _position(outlier: Outlier | None) -> str | None:
    if outlier is None:
        return None
    return {True: "worse", False: "better", None: "outside"}[outlier.worse]


def write(
    folder: Path, card: Card, reader: Reader, command: str, kernel: Kernel | None = None
) -> str:
    """The page as a string; its figures are drawn in a temporary folder."""
    styles = drawing.styles(card.algorithm, card.baselines)
    found = outliers(card)
    marked = {id(each.row): _position(each) for each in found if each.but is None}
    groups = []
    with tempfile.TemporaryDirectory(prefix="slowstart-evaluation-", dir=folder) as aside:
        for group in card.table.groups:
            sections = []
            for criterion in group.criteria:
                figures = []
                for number, figure in enumerate(criterion.figures):
                    picture = drawing.draw(
                        figure, card.table, reader, card.algorithm, card.baselines,
                        quick=card.quick,
                    )  # fmt: skip
                    if picture is not None:
                        name = f"{report.slug(criterion.name)}-{number}"
                        plots.save(picture, Path(aside), name)
                        figures.append((figure.title, report.inline(Path(aside), name)))
                sections.append(
                    {
                        "name": criterion.name,
                        "section": criterion.section,
                        "title": criterion.title,
                        "strength": criterion.strength,
                        "asks": criterion.asks,
                        "missing": criterion.missing,
                        "rows": [_cells(row, card, marked.get(id(row)), styles)
                                 for row in criterion.rows
                                 if any(card.applies(row, name) for name in card.algorithms)],
                        "inapplicable": words.inapplicable(card, criterion),
                        "figures": figures,
                    }
                )  # fmt: skip
            groups.append({"group": group, "criteria": sections})
    worse = [each for each in found if each.worse and each.but is None]
    better = [each for each in found if each.worse is False and each.but is None]
    nearly = [each for each in found if each.but is not None]
    return report.render(
        "evaluation.html.j2",
        version=__version__,
        card=card,
        colors={name: style.color for name, style in styles.items()},
        groups=groups,
        worse=[_mention(each) for each in worse[: words.MOST]],
        better=[_mention(each) for each in better[: words.MOST]],
        nearly_worse=[_mention(each) for each in nearly if each.worse][: words.MOST],
        nearly_better=[_mention(each) for each in nearly if each.worse is False][: words.MOST],
        more=(max(0, len(worse) - words.MOST), max(0, len(better) - words.MOST)),
        missing=_missing(card.table.criteria),
        headlines=[
            _cells(row, card, marked.get(id(row)), styles)
            for criterion in card.table.criteria
            for row in criterion.rows
            if row.headline
        ],
        note=words.note_on_runs(card),
        command=command,
        scenarios=[
            each for each in card.table.setups.values()
            if any(row.setup == each.name for row in card.values)
        ],
        kernel=kernel.lines() if kernel else None,
    )  # fmt: skip


def _mention(each: Outlier) -> tuple[str, str]:
    return each.criterion.name, words.sentence(each)


def _missing(criteria: Sequence[Criterion]) -> list[Criterion]:
    return [each for each in criteria if each.missing is not None]


def _cells(
    row: Row, card: Card, position: str | None, styles: Mapping[str, colors.Style]
) -> dict[str, Any]:
    values = card.values.get(row, {})
    return {
        "words": row.words,
        "better": row.better,
        "position": position,
        "strip": _strip(values, card.algorithm, styles),
        "cells": [
            (name, words.shown(values[name], row), words.interval(values[name], row))
            if name in values else (name, words.absent(card, row, name), "")
            for name in card.algorithms
        ],
    }  # fmt: skip


def _strip(
    values: Mapping[str, Value], algorithm: str, styles: Mapping[str, colors.Style]
) -> list[tuple[float, str, bool]]:
    """Place, colour and whether it is the evaluated algorithm, of a dot for each value."""
    numbers = [each.value for each in values.values()]
    if not numbers:
        return []
    low, high = min(numbers), max(numbers)
    width = _STRIP - 2 * _MARGIN
    order = sorted(values, key=lambda name: name == algorithm)
    return [
        (
            round(_MARGIN + width * ((values[name].value - low) / (high - low or 1.0)), 1),
            styles[name].color,
            name == algorithm,
        )
        for name in order
    ]
