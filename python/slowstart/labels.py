"""Labels of algorithms: names of one's own in tables, figures, reports and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from slowstart.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl

    from slowstart import Result

# Columns that hold the name of a flow.
_NAMES = ("name", "flows")


def split(given: Sequence[str]) -> tuple[list[str], list[str | None]]:
    """Splits the values of ``--algorithm`` into algorithms and their labels.

    In ``Ours=cubic+search:threshold=0.3`` the label stands before the first ``=``. An equals sign
    behind a colon belongs to an option.

    Raises:
        InputError: A label is empty or given twice.
    """
    algorithms: list[str] = []
    labels: list[str | None] = []
    for each in given:
        before, equals, after = each.partition("=")
        if not equals or ":" in before:
            algorithms.append(each)
            labels.append(None)
            continue
        label = before.strip()
        if not label or not label.isprintable():
            raise InputError(f"`{each}` has an empty label: write LABEL=ALGORITHM")
        if label in labels:
            raise InputError(f"the label {label} is given twice: give each algorithm its own")
        algorithms.append(after.strip())
        labels.append(label)
    return algorithms, labels


def names(algorithms: Sequence[str], labels: Sequence[str | None]) -> dict[str, str]:
    """The label of each labelled algorithm, by its canonical name.

    Raises:
        InputError: A label is the name of another algorithm in the comparison.
    """
    found = {}
    for algorithm, label in zip(algorithms, labels, strict=True):
        if label is None or label == algorithm:
            continue
        if label in algorithms:
            raise InputError(f"the label {label} of {algorithm} is another algorithm's name")
        found[algorithm] = label
    return found


def meanings(labels: Mapping[str, str]) -> list[str]:
    """A sentence that says which algorithm each label stands for; none without labels."""
    if not labels:
        return []
    words = ", ".join(f"{label} is {algorithm}" for algorithm, label in labels.items())
    return [f"Labels: {words}."]


class _Labelled:
    """A result with labels in place of names: in its tables, its overview and its document."""

    def __init__(self, result: Result, labels: Mapping[str, str]) -> None:
        self._result = result
        self._labels = labels

    def __len__(self) -> int:
        return len(self._result)

    def __getattr__(self, table: str) -> Any:
        made = getattr(self._result, table)
        return made if table == "untrusted" else lambda: self._renamed(made())

    def select(self, index: int) -> _Labelled:
        return _Labelled(self._result.select(index), self._labels)

    def to_json(self) -> str:
        document = json.loads(self._result.to_json())
        scenario = document["scenario"]
        for each in scenario.get("scenarios", [scenario]):
            self._rename(each["flows"])
            each["name"] = self._labels.get(each["name"], each["name"])
        for run in document["runs"]:
            self._rename(run["flows"])
        self._rename(document["summary"])
        return json.dumps(document, indent=2, ensure_ascii=False)

    def write_json(self, file: str | os.PathLike[str]) -> None:
        with open(file, "x", encoding="utf-8") as opened:  # noqa: PTH123 (a name of any kind)
            opened.write(self.to_json() + "\n")

    def overview(self) -> str:
        overview = json.loads(self._result.overview())
        for rows in overview.values():
            if isinstance(rows, list):
                self._rename([row for row in rows if isinstance(row, dict)])
        return json.dumps(overview)

    def _rename(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            for column in _NAMES:
                if isinstance(row.get(column), str):
                    row[column] = self._text(row[column])

    def _text(self, text: str) -> str:
        """A name, or the names of a run's flows with spaces between them."""
        if text in self._labels:
            return self._labels[text]
        return " ".join(self._labels.get(each, each) for each in text.split(" "))

    def _renamed(self, table: Any) -> pl.DataFrame:
        import polars as pl

        frame = pl.DataFrame(table)
        columns = [each for each in _NAMES if frame.schema.get(each) == pl.String]
        return frame.with_columns(
            pl.col(each).map_elements(self._text, return_dtype=pl.String) for each in columns
        )


def labelled(result: Result, labels: Mapping[str, str]) -> Result:
    """``result`` with labels in place of the names that are the keys of ``labels``."""
    return cast("Result", _Labelled(result, labels)) if labels else result
