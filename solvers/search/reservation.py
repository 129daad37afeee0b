"""Address space for arrays that grow in place: what was never written takes no memory."""

from __future__ import annotations

import mmap
import sys
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""MAP_NORESERVE, which this module of Python lacks: the size does not count as memory in use."""


def reserve(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of zeros whose pages take memory once they are written.

    It never moves: threads may read what is there while another thread writes behind it.

    Args:
        shape: of the array; no length is 0.
        dtype: of its elements.

    Raises:
        OSError: when the process may not have so much address space.
    """
    element = np.dtype(dtype)
    size = prod(shape) * element.itemsize
    space = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    return np.frombuffer(space, dtype=element).reshape(shape)
