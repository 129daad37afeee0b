"""A candidate: a controller event that may have written some records, and the records that the model predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen

from kraftcheck.model.controller.errors import NONE, RequestError
from kraftcheck.model.controller.records import LogRecord
from kraftcheck.model.controller.state import Outcome
from kraftcheck.model.records.records import Ids
from kraftcheck.solvers.logs.explain.state import ModelRecord

Words: TypeAlias = tuple[str | int | Ids, ...]
"""A text in parts, so that brokers can be renamed: an int is a broker, a tuple several brokers."""


def words_text(words: Words) -> str:
    """The text.

    >>> words_text(("leader ", 1, " proposes ISR ", (1, 0)))
    'leader 1 proposes ISR [1, 0]'
    """
    return "".join(str(list(word)) if isinstance(word, tuple) else str(word) for word in words)


def _as_words(text: str | Words) -> Words:
    return (text,) if isinstance(text, str) else text


@frozen
class Candidate:
    """An event that may have written the records ahead.

    Attributes:
        words: the event; a text that names no broker may stand for itself.
        records: what the model says that it writes; raises where the controller refuses it.
        action: what `elections` calls such an event; empty where it has none.
        arguments: its arguments there that properties read: `broker`, `isr`, `clean`, `failed`, as the log names them.
        length: how many records ahead it is compared with where it writes another number; None: as many as it writes.
    """

    words: Words = field(converter=_as_words)
    records: Callable[[], Sequence[ModelRecord]]
    length: int | None = None
    action: str = ""
    arguments: Mapping[str, Any] = field(factory=dict)

    @property
    def name(self) -> str:
        """The event in words."""
        return words_text(self.words)


def granted_records(outcome: Outcome[Any]) -> tuple[LogRecord, ...]:
    """The records of a request with one row.

    Raises:
        RequestError: the row's error, where nothing is written.
    """
    if not outcome.records and outcome.response:
        row = outcome.response[0]
        error = row[1] if isinstance(row, tuple) else row.error
        if error != NONE:
            raise RequestError(error)
    return outcome.records
