"""The states that an exploration reached, as records and as columns."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import field, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import Flag
from kraftcheck.solvers.program.columns import field_values, names_of, set_slots, set_texts
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
        layout = self.exploration.program.layout
        packed = np.asfortranarray(self.exploration.packed())  # a field is read from one word of all states
        columns = {}
        for slot in layout.slots:
            values = field_values(packed, slot)
            columns[layout.name(slot.path)] = values.astype(bool) if isinstance(slot.domain, Flag) else values
        return columns

    def arrow(self) -> Any:
        """The states as an Arrow table, one row a state; a set of brokers is its mask.

        Raises:
            Refusal: without pyarrow, which comes with `kraftcheck[spark]`.
        """
        return _extra("pyarrow", "spark").table(self.columns())

    def to_pandas(self) -> Any:
        """The states as a pandas data frame: one row a state, one plain column a field.

        Numbers are numbers, truths are truths, words with names are categories, and a set of brokers is a string such
        as `{0,2}`.

        Raises:
            Refusal: without pandas, which comes with `kraftcheck[notebook]`.
        """
        pandas, layout = _extra("pandas", "notebook"), self.exploration.program.layout
        sets = {layout.name(path) for path in set_slots(layout)}
        columns = {name: set_texts(values) if name in sets else values for name, values in self.columns().items()}
        for slot in layout.slots:
            if names := names_of(slot.domain):
                name = layout.name(slot.path)
                columns[name] = pandas.Categorical.from_codes(columns[name], dtype=pandas.CategoricalDtype(names))
        return pandas.DataFrame(columns, copy=False)  # the columns are nobody else's


def _extra(package: str, extra: str) -> Any:
    """A package of an extra.

    Raises:
        Refusal: where it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise Refusal(f"{package} is not installed; pip install 'kraftcheck[{extra}]'") from error
