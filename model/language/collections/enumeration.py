"""Words with names: the states of a resource manager, the phases of a protocol."""

from __future__ import annotations

import enum
from typing import Any

from kraftcheck.model.language.collections.names import Name
from kraftcheck.model.language.layout import LayoutError, Range


class Enum(Name, enum.IntEnum):
    """Named words 0, 1, 2, ...; subclass it. Traces, SQL, ITF and pictures show the names.

    Members of two such classes never meet, though their numbers are equal, unless both give the same names to the same
    numbers. Nothing is counted with one.

    >>> class Phase(Enum):
    ...     WORKING = enum.auto()
    ...     PREPARED = enum.auto()
    >>> int(Phase.WORKING), str(Phase.PREPARED)
    (0, 'PREPARED')
    """

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        """The number of the next name, counted from 0."""
        return count

    def __str__(self) -> str:
        """The name, as traces show it."""
        return self.name

    @classmethod
    def domain(cls) -> Any:
        """The layout of a word that is one of the names.

        Raises:
            LayoutError: when the names' values are not 0, 1, 2, ...
        """
        if sorted(int(member) for member in cls) != list(range(len(cls))) or not len(cls):
            raise LayoutError(f"the values of {cls.__name__} are not 0, 1, 2, ...; let enum.auto() number the names")
        return Range(0, len(cls) - 1, names=cls)
