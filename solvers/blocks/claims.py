"""Claims about states, as bits of rows."""

from __future__ import annotations

import numpy as np

from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD, Words


def first_claims(bits: Words) -> dict[int, int]:
    """For each claim that occurs in rows of claim bits, the first row that shows it."""
    first_rows: dict[int, int] = {}
    for at in range(bits.shape[1]):
        column = bits[:, at]
        bits_left = int(np.bitwise_or.reduce(column)) if len(column) else 0
        while bits_left:
            position = (bits_left & -bits_left).bit_length() - 1
            first_rows[at * CLAIMS_PER_WORD + position] = int(np.argmax(column & np.uint64(1 << position) != 0))
            bits_left &= bits_left - 1
    return first_rows
