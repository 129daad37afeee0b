"""The transitions of states as an Arrow function, which the engines of SQL call: computed by the compiled rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.solvers.blocks.kernel import block_spec
from kraftcheck.solvers.blocks.tasks import BlockSpec, load_block_kernel
from kraftcheck.solvers.machine_code.objectcache import ObjectCache

ROWS_AT_ONCE = 4096
"""States whose transitions are computed together; it bounds the memory for them."""


def spec_of(data: Dataset) -> BlockSpec:
    """The kernel of the system that was explored, for any process.

    Raises:
        Refusal: when the system is not the same any more.
    """
    cache = ObjectCache(cache_folder())
    spec = block_spec(data.traced()[1], data.bucket_bits, cache)
    sys.stderr.writelines(f"warning: {warning}\n" for warning in cache.warnings)
    return spec


def successors(shipped: Callable[[], BlockSpec]) -> Callable[[Sequence[Any]], Any]:
    """The function from columns of words to the column of lists of transitions.

    Args:
        shipped: gives the kernel in the process that computes.
    """

    def compute(words: Sequence[Any]) -> Any:
        kernel = load_block_kernel(shipped())
        parts = [part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part for part in words]
        states = np.column_stack([part.to_numpy(zero_copy_only=False) for part in parts]).view(np.uint64)
        pieces, counts = [], []
        for at in range(0, len(states), ROWS_AT_ONCE):
            after, count = kernel.transitions(np.ascontiguousarray(states[at : at + ROWS_AT_ONCE]))
            pieces.append(after)
            counts.append(count)
        return _lists(kernel.spec.words, pieces, counts)

    return compute


def _lists(words: int, pieces: Sequence[Any], counts: Sequence[Any]) -> Any:
    """Lists of transitions: of each state as many of the records as its count says."""
    after = np.concatenate(pieces) if pieces else np.empty((0, words + 1), dtype=np.uint64)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts)) if counts else []]).astype(np.int32)
    columns = [pa.array(after[:, words].astype(np.int32))]
    columns += [pa.array(np.ascontiguousarray(after[:, i]).view(np.int64)) for i in range(words)]
    steps = pa.StructArray.from_arrays(columns, names=["instance", *(f"v{i}" for i in range(words))])
    return pa.ListArray.from_arrays(pa.array(offsets), steps)
