"""A candidate: a controller event that may have written some records, and the records that the model predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.state import Controller, LogRecord, Outcome
from kraftcheck.model.records.records import Ids
from kraftcheck.model.rules.ruleset import RuleSet
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
class BatchTail:
    """The records of a batch that are not yet explained, and the state before them."""

    controller: Controller
    levels: Mapping[str, int]
    records: Sequence[ModelRecord]
    rules: RuleSet

    def first(self) -> ModelRecord:
        """The next record."""
        return self.records[0]

    def run_length(self, kinds: type | tuple[type, ...], start: int = 0) -> int:
        """How many records from `start` on are of these kinds."""
        end = start
        while end < len(self.records) and isinstance(self.records[end], kinds):
            end += 1
        return end - start


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


RecordsOf: TypeAlias = Callable[[Controller], tuple[LogRecord, ...]]
"""What an event writes, given the controller that decides it."""

FROM_SNAPSHOT = ", by a controller that has loaded a snapshot"


def by_either_index(
    controller: Controller, broker: int, candidate: Candidate, records: RecordsOf
) -> Iterator[Candidate]:
    """The candidates of an event that reads a broker's lists in the index of ELR members.

    A controller that has replayed the whole log has the index that the log adds up to. One that has loaded a snapshot
    since has one that agrees with the ELRs. The log does not say which of them was active.

    Args:
        controller: the state before the event, with the first of these indexes.
        broker: the broker.
        candidate: the event, without its records.
        records: what it writes.
    """
    yield evolve(candidate, records=lambda: records(controller))
    if not controller.elr_index.topics_of(broker):
        return
    fresh = evolve(controller, elr_index=controller.elr_index.without(broker))

    def other_records() -> tuple[LogRecord, ...]:
        written = records(fresh)
        try:
            return () if written == records(controller) else written
        except Resignation:
            return written

    yield evolve(candidate, words=(*candidate.words, FROM_SNAPSHOT), records=other_records)
