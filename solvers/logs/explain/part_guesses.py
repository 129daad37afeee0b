"""Candidates for the first batch of an event whose records are more than one batch holds.

Such an event is written in batches of as many records as one may have. A log may end between two of them, or
go on with what another controller decides. Which partitions come first is the order of a hash table, so the
model says what the batch holds of each partition, and the batch says of which. The last batch, which has the
broker's record, is what the same event writes on the state after the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.model.controller.brokers import fenced, leaving, restarted
from kraftcheck.model.controller.state import Controller, LogRecord
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, PartitionChangeRecord, ids
from kraftcheck.solvers.logs.explain.guess import BatchTail, Candidate, RecordsOf
from kraftcheck.solvers.logs.explain.state import ModelRecord


def part_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """Events of the brokers that the first change may be about, where the records ahead fill a batch with changes."""
    limit, first = tail.controller.settings.max_records, tail.first()
    announced = isinstance(first, BrokerRegistrationChangeRecord)
    if announced + tail.run_length(PartitionChangeRecord, int(announced)) < limit:
        return
    window = tail.records[:limit]
    if isinstance(first, BrokerRegistrationChangeRecord):
        yield _part(tail, window, first.broker_id, "begins a controlled shutdown", _leaving(tail, first.broker_id))
        return
    for broker in _concerned(tail):
        yield _part(tail, window, broker, "is fenced", _fenced(tail, broker))
        yield _part(tail, window, broker, "registers after a clean stop", _restarted(tail, broker, True))
        yield _part(tail, window, broker, "registers after an unclean stop", _restarted(tail, broker, False))


def _concerned(tail: BatchTail) -> tuple[int, ...]:
    """Members of the ISR and the ELR of the partition that changes first."""
    first = tail.first()
    if not isinstance(first, PartitionChangeRecord):
        return ()
    p = tail.controller.image.partition(first.topic_id, first.partition_id)
    return () if p is None else tuple(dict.fromkeys((*ids(p.isr), *ids(p.elr))))


def _part(tail: BatchTail, window: Sequence[ModelRecord], broker: int, what: str, records: RecordsOf) -> Candidate:
    """The event as far as its first batch goes; nothing where one batch holds it all."""
    named = {(r.topic_id, r.partition_id) for r in window if isinstance(r, PartitionChangeRecord)}

    def first_batch() -> Sequence[ModelRecord]:
        written = records(tail.controller)
        if len(written) <= len(window):
            return ()
        changes = [r for r in written if isinstance(r, PartitionChangeRecord)]
        head = () if written[0] is changes[0] else written[:1]
        return (*head, *(r for r in changes if (r.topic_id, r.partition_id) in named))

    words = ("broker ", broker, f" {what}, the first {len(window)} records")
    return Candidate(words, first_batch, len(window))


def _fenced(tail: BatchTail, broker: int) -> RecordsOf:
    return lambda controller: fenced(controller, broker, tail.rules)


def _leaving(tail: BatchTail, broker: int) -> RecordsOf:
    return lambda controller: leaving(controller, broker, tail.rules)


def _restarted(tail: BatchTail, broker: int, clean: bool) -> RecordsOf:
    """The changes of a registration and, as its own record is one more, that of a fencing after them."""
    if tail.rules.controller.registration_is_one_batch:
        return lambda controller: ()

    def written(controller: Controller) -> tuple[LogRecord, ...]:
        return (*restarted(controller, broker, clean, tail.rules), BrokerRegistrationChangeRecord(broker, 0, 1))

    return written
