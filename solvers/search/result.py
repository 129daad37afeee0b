"""The result of a search, as verdicts are concluded from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from kraftcheck.solvers.traces.path import Origins

Mark = TypeVar("Mark")
"""What an engine notes of the first occurrence of a claim; only its own store can read it."""


class SearchResult(Protocol[Mark]):
    """The result of a search by any engine; the attributes are those of `Search`."""

    @property
    def levels(self) -> list[int]:
        """Distinct states by depth."""

    @property
    def claims(self) -> Mapping[int, Mark]:
        """For each claim that occurred, the mark of its first occurrence."""

    @property
    def cut(self) -> str | None:
        """Why it is not complete."""

    @property
    def distinct(self) -> int:
        """Distinct states."""

    @property
    def generated(self) -> int:
        """Transitions taken, and the initial states."""

    @property
    def store(self) -> Origins[Mark]:
        """Where states came from."""

    def counters(self) -> npt.NDArray[np.int64]:
        """All frames added up."""

    def bytes_in_use(self) -> int:
        """Bytes in use."""
