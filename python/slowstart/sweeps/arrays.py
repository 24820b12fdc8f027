"""The table of a sweep as an ``xarray.Dataset``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from slowstart.errors import InputError

if TYPE_CHECKING:
    from slowstart.sweeps.definition import Definition
    from slowstart.sweeps.plan import Plan

_NOT_MEASURED = ("run", "seed", "key", "flow")


def dataset(definition: Definition, plan: Plan, table: pl.DataFrame) -> Any:
    """See :meth:`slowstart.sweeps.Sweep.to_xarray`.

    Raises:
        InputError: xarray is not installed.
    """
    try:
        import xarray
    except ModuleNotFoundError:
        raise InputError("to_xarray() needs the package xarray: pip install xarray") from None
    # The rows of a point follow each other, so its number follows from those of its rows.
    flows = 0 if table.is_empty() else int(table["flow"].max()) + 1  # type: ignore[arg-type]
    counts = plan.counts
    runs = int(counts.max()) if plan.count else 0
    shape = definition.shape
    dims = [axis.name for axis in definition.axes]
    coords: dict[str, Any] = {
        axis.name: (axis.name, axis.cells(), {"key": axis.key, "column": axis.column()})
        for axis in definition.axes
    }
    if definition.sample:
        dims.append("sample")
        for span, places in zip(definition.spans, definition.sample, strict=True):
            values = [span.quick(place)[1] for place in places]
            coords[span.name] = ("sample", values, {"key": span.key})
    whole = (*shape, runs, flows)
    rows = (np.repeat(np.arange(plan.count), counts * flows),)
    if len(rows[0]) != len(table):
        raise InputError("only runs of equally many flows make an array")
    place = (*np.unravel_index(rows[0], shape), table["run"].to_numpy(), table["flow"].to_numpy())
    shown = [axis.column() for axis in definition.axes]
    shown += [span.head().column() for span in definition.spans]
    data: dict[str, Any] = {}
    for name in table.columns:
        if name in shown or name in _NOT_MEASURED:
            continue
        column = table[name]
        if column.dtype.is_numeric():
            array = np.full(whole, np.nan)
            array[place] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        else:
            array = np.full(whole, None, dtype=object)
            array[place] = column.to_numpy()
        data[name] = array
    names = [*dims, "run", "flow"]
    if flows == 1:
        names.pop()
        data = {name: array[..., 0] for name, array in data.items()}
    return xarray.Dataset({name: (names, array) for name, array in data.items()}, coords)
