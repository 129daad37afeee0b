"""The states that an exploration reached, as records and as columns."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import Flag
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.search.explore import Exploration


@frozen
class States:
    """The states that an exploration reached.

    Attributes:
        exploration: what reached them, with its states kept.
    """

    exploration: Exploration = field(repr=False)

    def __len__(self) -> int:
        """How many."""
        return self.exploration.distinct

    def __iter__(self) -> Iterator[Any]:
        """Each state as a record of the system."""
        layout = self.exploration.program.layout
        return (layout.unpack(words) for words in self.exploration.states())

    def columns(self) -> dict[str, Any]:
        """One NumPy array for each field of a state, by the field's path; a set of brokers is its mask."""
        layout, packed = self.exploration.program.layout, self.exploration.packed()
        columns = {}
        for slot in layout.slots:
            values = field_values(packed, slot)
            columns[layout.name(slot.path)] = values.astype(bool) if isinstance(slot.domain, Flag) else values
        return columns

    def arrow(self) -> Any:
        """The states as an Arrow table, one row a state.

        Raises:
            Refusal: without pyarrow, which comes with `kraftcheck[spark]`.
        """
        return _extra("pyarrow").table(self.columns())

    def pandas(self) -> Any:
        """The states as a pandas data frame, one row a state.

        Raises:
            Refusal: without pandas, which comes with `kraftcheck[spark]`.
        """
        return _extra("pandas").DataFrame(self.columns())


def _extra(package: str) -> Any:
    """A package of an extra.

    Raises:
        Refusal: where it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise Refusal(f"{package} is not installed; pip install 'kraftcheck[spark]'") from error
