"""An engine of SQL over a dataset: what `kraftcheck query` asks, and what it gets."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from typing import Any, Protocol

from attrs import frozen


@frozen
class Answer:
    """The answer to a question.

    Attributes:
        columns: names.
        rows: the first ones, as many as were asked for.
        more: whether there are others.
        complete: whether the space is whole; else the answer is about the levels so far.
    """

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    more: bool
    complete: bool = True

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]], limit: int) -> Answer:
        """The answer from one row more than was asked for, if there is one; its values are of JSON."""
        return cls(columns, [tuple(map(_plain, row)) for row in rows[:limit]], len(rows) > limit)

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; raises ImportError without pandas, which comes with `kraftcheck[notebook]`.
        """
        import pandas

        return pandas.DataFrame.from_records(list(self.rows), columns=list(self.columns))


class Engine(Protocol):
    """An engine with the views of a dataset; closed by whoever opened it."""

    def ask(self, sql: str, limit: int) -> Answer:
        """Columns and the first rows of one question.

        Raises:
            Refusal: in one line, for what is no question, is not understood, or reads a damaged file.
        """


def _plain(value: Any) -> Any:
    """A value as JSON has it, the same whichever engine computed it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta | bytes):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value
