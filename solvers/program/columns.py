"""Packed states as columns: the values of one field, of many states at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kraftcheck.model.language.layout import Slot


def field_values(packed: npt.NDArray[np.uint64], slot: Slot) -> npt.NDArray[np.int64]:
    """The value of a field in each packed state, one row of `packed` a state; a truth is 0 or 1."""
    numbers = (packed[:, slot.word] >> np.uint64(slot.shift)) & np.uint64((1 << slot.domain.bits) - 1)
    return numbers.astype(np.int64) + slot.domain.lo
