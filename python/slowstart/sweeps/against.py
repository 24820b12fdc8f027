"""Ratios to a baseline in a sweep: the same point, run and flow with another algorithm."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import polars as pl

from slowstart.errors import InputError

if TYPE_CHECKING:
    from slowstart.sweeps.definition import Definition

PAIR = ("run", "flow")


def column(definition: Definition, baseline: str) -> tuple[str, str]:
    """The column of words that has the baseline among its values, and how it writes it.

    Raises:
        InputError: No swept key takes this value, or several do.
    """
    from slowstart.labels import canonical

    words = [axis for axis in definition.axes if axis.unit is None and len(axis.values) > 1]
    wanted = {baseline}
    with contextlib.suppress(InputError):  # a label, or a value of another key
        wanted.add(canonical(baseline))
    found = [
        (axis.column(), str(cell)) for axis in words for cell in axis.cells() if str(cell) in wanted
    ]
    if len(found) == 1:
        return found[0]
    known = ", ".join(str(cell) for axis in words for cell in axis.cells())
    if found:
        raise InputError(f"the baseline {baseline} is a value of several swept keys")
    raise InputError(
        f"the baseline {baseline} is no value of a swept key of words"
        + (f": name one of {known}" if known else ", and this sweep has none")
    )


def ratios(
    definition: Definition, table: pl.DataFrame, measure: str, baseline: str
) -> pl.DataFrame:
    """The rows of all but the baseline, with ``measure`` as ratio to it in the same run.

    A row without a partner, or whose partner is zero or missing, has no value.
    """
    name, value = column(definition, baseline)
    swept = [axis.column() for axis in definition.axes]
    swept += [span.head().column() for span in definition.spans]
    keys = [each for each in dict.fromkeys((*swept, *PAIR)) if each != name]
    number = pl.col(measure).cast(pl.Float64)
    base = table.filter(pl.col(name) == value)
    base = base.select(*keys, pl.when(number > 0).then(number).alias("_base"))
    others = table.filter(pl.col(name) != value)
    joined = others.join(
        base, on=keys, how="left", nulls_equal=True, maintain_order="left", validate="m:1"
    )
    return joined.with_columns((number / pl.col("_base")).alias(measure)).drop("_base")
