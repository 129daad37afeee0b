"""States as tables of Arrow, spelled as SQL spells them: lists of ids, names, and null for none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kraftcheck.ci.dataset.documents import Column, FieldColumn, columns_of, fields_of, slots_of
from kraftcheck.model.language.layout import Layout, Range, Slot
from kraftcheck.solvers.program.columns import SET, TRUTH, field_values


def states_table(layout: Layout, packed: npt.NDArray[np.uint64]) -> pa.Table:
    """A row for each packed state, and a column for each field; raises ValueError for a name that no table takes."""
    columns = columns_of(fields_of(layout))
    return pa.table({name: _array(column, packed) for name, column in columns.items()})


def _array(column: Column, packed: npt.NDArray[np.uint64]) -> pa.Array:
    if slots := slots_of(column):
        ids = np.column_stack([_values(one, packed) for one in slots])
        there = ids != [one.none for one in slots]
        return _lists(there.sum(axis=1), pa.array(ids[there].astype(np.int32)))
    if not isinstance(column, FieldColumn):
        parts = [_array(one, packed) for one in column.values()]
        rows = np.arange(len(packed) * len(parts)).reshape(len(parts), len(packed)).T.ravel()
        return _lists(np.full(len(packed), len(parts)), pa.concat_arrays(parts).take(pa.array(rows)))
    values = _values(column, packed)
    if column.kind == SET:
        members = np.arange((column.lo + (1 << column.bits) - 1).bit_length())
        there = (values[:, None] >> members) & 1 == 1
        return _lists(there.sum(axis=1), pa.array(np.nonzero(there)[1].astype(np.int32)))
    if column.names:
        return pa.array(column.names).take(pa.array(values - column.lo))
    if column.kind == TRUTH:
        return pa.array(values == 1)
    return pa.array(values, mask=None if column.none is None else values == column.none)


def _values(field: FieldColumn, packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    domain = Range(field.lo, field.lo + (1 << field.bits) - 1)
    return field_values(packed, Slot(field.name, domain, field.word, field.shift))


def _lists(sizes: Any, values: pa.Array) -> pa.Array:
    """A list of so many of the values for each row."""
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)), values)
