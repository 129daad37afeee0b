"""Looked-up records of all shares of a log, put together to batches and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from kraftcheck.ci.logs.spark.rows import BATCHES, COLUMNS, SCHEMA

MOST = 62
"""Binary digits of a number of explanations that a column holds."""


class TooAmbiguousError(OverflowError):
    """A batch has more explanations than a column of the dataset holds."""


@frozen
class Counted:
    """What was counted.

    Attributes:
        actions: by what events are called how often they happened, and the first offset.
        ambiguous: batches by the number of their explanations, where there are several.
    """

    actions: dict[str, tuple[int, int]] = field(factory=dict)
    ambiguous: dict[int, int] = field(factory=dict)

    def add(self, other: Counted) -> None:
        """Count what another counted too."""
        for action, (times, first) in other.actions.items():
            before = self.actions.get(action, (0, first))
            self.actions[action] = (before[0] + times, min(before[1], first))
        for explanations, times in other.ambiguous.items():
            self.ambiguous[explanations] = self.ambiguous.get(explanations, 0) + times


def join(tables: Sequence[pa.Table], whole: Any) -> tuple[pa.Table, Counted]:
    """The batches of a block of one log, without those that are explained as a whole.

    Args:
        tables: what each share has looked up.
        whole: the first offsets of the batches to leave out, an array.

    Raises:
        TooAmbiguousError: for a batch whose explanations are too many to write down.
    """
    every = pa.concat_tables(tables).combine_chunks() if tables else None
    if every is not None:
        every = every.filter(pa.array(~np.isin(every.column("base").to_numpy(), whole)))
    if every is None or not len(every):
        return pa.table({name: pa.nulls(0, SCHEMA.field(name).type) for name in COLUMNS[BATCHES]}), Counted()
    records = every.sort_by("offset")
    base = records.column("base").to_numpy()
    starts = np.flatnonzero(np.append(True, base[1:] != base[:-1]))
    products = _products(records.column("explanations").to_numpy(), starts)
    bounds = pa.array(np.append(starts, len(records)).astype(np.int32))
    heads = records.take(pa.array(starts))
    columns = {
        "cluster": heads.column("cluster"),
        "offset": heads.column("base"),
        "records": heads.column("records"),
        "explanations": pa.array(products),
        "events": pa.ListArray.from_arrays(bounds, records.column("event").combine_chunks().cast(pa.string())),
        "text": pa.repeat(pa.scalar(""), len(starts)),
    }
    return pa.table(columns), Counted(_actions(records), _several(products))


def _products(counts: Any, starts: Any) -> Any:
    """The product of each batch's numbers."""
    if np.add.reduceat(np.log2(counts), starts).max() > MOST:
        raise TooAmbiguousError(f"a batch has more than 2 to the power of {MOST} explanations")
    return np.multiply.reduceat(counts, starts)


def _actions(records: pa.Table) -> dict[str, tuple[int, int]]:
    column = records.column("action").combine_chunks().cast(pa.string()).dictionary_encode()
    names, offsets = column.dictionary.to_pylist(), records.column("offset").to_numpy()
    codes, first, times = np.unique(column.indices.to_numpy(), return_index=True, return_counts=True)
    rows = zip(codes.tolist(), first.tolist(), times.tolist(), strict=True)
    return {names[code]: (count, int(offsets[place])) for code, place, count in rows}


def _several(products: Any) -> dict[int, int]:
    values, times = np.unique(products[products > 1], return_counts=True)
    return dict(zip(values.tolist(), times.tolist(), strict=True))


__all__ = ["Counted", "TooAmbiguousError", "join"]
