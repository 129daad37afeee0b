"""Candidates: events that may have written some records. Those of one change of one partition are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.partitions import (
    UNCHECKED,
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    reassign,
)
from kraftcheck.model.controller.state import Controller, LogRecord, Outcome
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.words import Maybe
from kraftcheck.model.partition.registration import LOST, DirectoryList, Partition
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, ids
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
    """An event that may have written the records ahead."""

    words: Words = field(converter=_as_words)  # the event; a text that names no broker may stand for itself
    # what the model says that it writes; raises where the controller refuses it
    records: Callable[[], Sequence[ModelRecord]]
    # how many records ahead it is compared with where it writes another number; None: as many as it writes
    length: int | None = None
    action: str = ""  # what `elections` calls such an event; empty where it has none
    # its arguments there that properties read: `broker`, `isr`, `clean`, `failed`, as the log names them
    arguments: Mapping[str, Any] = field(factory=dict)

    @property
    def name(self) -> str:
        """The event in words."""
        return words_text(self.words)


def granted_records(outcome: Outcome[Any]) -> tuple[LogRecord, ...]:
    """The records of a request with one row; raises RequestError with the row's error where nothing is written."""
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
        candidate: the event, without its records.
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


@frozen
class _ObservedChange:
    """A partition, and the change of it that is to be explained."""

    controller: Controller
    record: PartitionChangeRecord
    topic: str
    partition: Partition
    rules: RuleSet

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.record.partition_id}"


def partition_candidates(controller: Controller, record: PartitionChangeRecord, rules: RuleSet) -> Iterator[Candidate]:
    """Every request, and every pass of a timer, that may have written this change, as far as it shows its arguments."""
    observed = _observed(controller, record, rules)
    if observed is None:
        return
    p = observed.partition
    yield from _isr_candidates(observed, _shown_proposals(observed))
    yield Candidate(f"preferred election in {observed.name}", _election(observed, PREFERRED), 1, "elect_preferred")
    if not p.leader >= 0:
        yield Candidate(f"unclean election in {observed.name}", _election(observed, UNCLEAN), 1, "elect_unclean")
    yield from _reassignment_candidates(observed)
    yield from _assignment_candidates(observed, hidden=False)


def hidden_change_candidates(
    controller: Controller, record: PartitionChangeRecord, rules: RuleSet
) -> Iterator[Candidate]:
    """Requests whose arguments the change hides: it says what came of them, and that may come of several.

    They count where no other event explains the change: else each election would have a dozen explanations.
    """
    observed = _observed(controller, record, rules)
    if observed is None:
        return
    yield from _isr_candidates(observed, _hidden_proposals(observed))
    if observed.partition.recovering and not record.change.recovering.present:
        yield from _isr_candidates(observed, _shown_proposals(observed), recovering=True)
    change = record.change
    if not (change.replicas.present or change.adding.present or change.removing.present):
        yield from _target_candidates(observed)
    yield from _assignment_candidates(observed, hidden=True)


def _observed(controller: Controller, record: PartitionChangeRecord, rules: RuleSet) -> _ObservedChange | None:
    p = controller.image.partition(record.topic_id, record.partition_id)
    if p is None:
        return None
    return _ObservedChange(controller, record, controller.topic(record.topic_id).name, p, rules)


def _value_or(field: Maybe[Brokers], otherwise: Brokers) -> Ids:
    return ids(field.value if field.present else otherwise)


def _shown_proposals(observed: _ObservedChange) -> Iterator[Ids]:
    """The ISR of the record, or one that the change hides; one of each set, as its order shows in most records."""
    p, change = observed.partition, observed.record.change
    current, proposed = ids(p.isr), _value_or(change.isr, p.isr)
    proposals = [proposed, current, (*proposed, *(b for b in ids(p.removing) if b not in proposed))]
    proposals += [(*current, broker) for broker in ids(p.replicas) if broker not in current]
    distinct: dict[frozenset[int], Ids] = {}
    for isr in proposals:
        distinct.setdefault(frozenset(isr), isr)
    yield from distinct.values()


def _hidden_proposals(observed: _ObservedChange) -> Iterable[Ids]:
    """The ISR of the record with members that a completing reassignment takes out again.

    The order of what stays is that of the proposal. The leader is a member of what it proposes; the others were in sync
    before, or have caught up since.
    """
    p = observed.partition
    kept = _value_or(observed.record.change.isr, p.isr)
    hidden = [broker for broker in ids(p.removing) if broker not in kept]
    in_sync = [broker for broker in ids(p.isr) if broker not in kept]
    leader = [int(p.leader)] if int(p.leader) not in kept else []
    lists = (in_sync, [broker for broker in in_sync if broker in hidden], hidden, leader)
    return dict.fromkeys((*kept, *more) for more in lists)


def _isr_candidates(
    observed: _ObservedChange, proposals: Iterable[Ids], recovering: bool = False
) -> Iterator[Candidate]:
    """The leader proposes one of these ISRs, and that it has recovered from an unclean election, or has not."""
    p = observed.partition
    leader = observed.controller.registration(int(p.leader))
    if leader is None:
        return
    for isr in proposals:
        members = tuple((broker, UNCHECKED) for broker in isr)
        epochs = int(p.leader_epoch), int(p.partition_epoch)
        proposal = Proposal(observed.record.topic_id, observed.record.partition_id, *epochs, members, recovering)
        request = AlterPartitionRequest(leader.id, leader.epoch, (proposal,))
        words = ("leader ", leader.id, f" of {observed.name} proposes ISR ", isr)
        yield Candidate(words, _isr_records(observed, request), 1, "alter_partition", {"isr": isr})


def _isr_records(observed: _ObservedChange, request: AlterPartitionRequest) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        try:
            return granted_records(alter_partition(observed.controller, request, observed.rules))
        except RequestError as refusal:
            raise RequestError(refusal.error, _ineligibility(observed, request)) from None

    return records


def _ineligibility(observed: _ObservedChange, request: AlterPartitionRequest) -> str:
    """The reasons for which proposed members are ineligible, and what is required of them."""
    reasons = []
    for broker, _ in request.proposals[0].new_isr:
        registration = observed.controller.registration(broker)
        if registration is None:
            reasons.append(f"broker {broker} is unregistered")
        elif not registration.is_active():
            shutting_down = registration.in_controlled_shutdown
            reasons.append(f"broker {broker} has fenced={registration.fenced}, in_controlled_shutdown={shutting_down}")
        elif not observed.partition.replicas.has(broker):
            reasons.append(f"broker {broker} is no replica of {list(ids(observed.partition.replicas))}")
    if not reasons:
        return f"leader {int(observed.partition.leader)} proposes {[b for b, _ in request.proposals[0].new_isr]}"
    return "; ".join(reasons) + "; required: replicas that are registered, unfenced and not shutting down"


def _granted(decide: Callable[..., Outcome[Any]], *arguments: Any) -> Callable[[], tuple[LogRecord, ...]]:
    """What a request with one row writes."""
    return lambda: granted_records(decide(*arguments))


def _election(observed: _ObservedChange, kind: int) -> Callable[[], tuple[LogRecord, ...]]:
    place = ((observed.topic, observed.record.partition_id),)
    return _granted(elect_leaders, observed.controller, kind, place, observed.rules)


def _reassignment_candidates(observed: _ObservedChange) -> Iterator[Candidate]:
    p, change = observed.partition, observed.record.change
    if p.reassigning():
        yield Candidate(f"cancel the reassignment of {observed.name}", _reassignment(observed, None), 1, "cancel")
    if change.replicas.present or change.adding.present or change.removing.present:
        yield from _target_candidates(observed)


def _target_candidates(observed: _ObservedChange) -> Iterator[Candidate]:
    """A reassignment to what the record, or else the partition, is on its way to."""
    p, change = observed.partition, observed.record.change
    removing, replicas = _value_or(change.removing, p.removing), _value_or(change.replicas, p.replicas)
    targets = [tuple(broker for broker in replicas if broker not in removing)]
    if not change.removing.present:
        # The set on file may be the old one of a target that keeps every replica (B10).
        targets.append(replicas)
    for target in dict.fromkeys(targets):
        words = (f"reassign {observed.name} to ", target)
        yield Candidate(words, _reassignment(observed, target), 1, "reassign")


def _reassignment(observed: _ObservedChange, replicas: Ids | None) -> Callable[[], tuple[LogRecord, ...]]:
    rows = (Reassignment(observed.topic, observed.record.partition_id, replicas),)
    return _granted(reassign, observed.controller, rows, observed.rules)


def _assignment_candidates(observed: _ObservedChange, hidden: bool) -> Iterator[Candidate]:
    """A broker reports the directory of its replica: another one than before or, where that is hidden, any.

    Args:
        hidden: whether the directory may not show: it is the one that it was, or the replica is taken out.
    """
    p, change = observed.partition, observed.record.change
    replicas = ids(p.replicas)
    after = _value_or(change.replicas, p.replicas)
    told = _told(observed.record, after)
    for broker in replicas:
        before, registration = int(p.directories.of(broker)), observed.controller.registration(broker)
        directory = told.get(broker, before)
        if registration is None or (directory == before or change.replicas.present) != hidden:
            continue
        words = ("broker ", broker, f" reports a directory of {observed.name}")
        # What a replica that is taken out was in does not show, but whether it is lost has consequences.
        for one in (directory,) if broker in after else (directory, LOST):
            wanted = (Assignment(one, observed.record.topic_id, observed.record.partition_id),)
            sender = (observed.controller, broker, registration.epoch)
            records = _granted(assign_replicas_to_dirs, *sender, wanted, observed.rules)
            yield Candidate(words, records, None, "assign", {"broker": broker})


def _told(record: PartitionChangeRecord, replicas: Ids) -> dict[int, int]:
    """The directory of each of these replicas, where the change lists them."""
    told = record.change.directories
    listed = told.present and isinstance(told.value, DirectoryList)
    return dict(zip(replicas, told.value.ids, strict=False)) if listed else {}  # type: ignore[attr-defined]


def lost_directory_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """A broker reports, in one request, directories of several replicas, some of which are lost.

    The controller writes all that the request tells before it leads the first partition away. Such records are not
    those of requests with one row each.
    """
    c, run = tail.controller, tail.records[: tail.run_length(PartitionChangeRecord)]
    changes = tuple(one for one in run if isinstance(one, PartitionChangeRecord))
    first = c.image.partition(changes[0].topic_id, changes[0].partition_id)
    for broker in () if first is None else ids(first.replicas):
        registration = c.registration(broker)
        if registration is None:
            continue
        words = ("broker ", broker, " reports lost directories")
        for rows in dict.fromkeys(_rows_of_one_request(c, changes, broker)):
            records = _granted(assign_replicas_to_dirs, c, broker, registration.epoch, rows, tail.rules)
            if len(rows) > 1:
                yield Candidate(words, records, None, "assign", {"broker": broker})


_Key: TypeAlias = tuple[str, int]
"""A partition: its topic's id, and its index."""


def _rows_of_one_request(
    controller: Controller, changes: Sequence[PartitionChangeRecord], broker: int
) -> Iterator[tuple[Assignment, ...]]:
    """The rows of a request that changes may be the answer of: directories, and then partitions that are led away.

    A row that tells the directory that was assigned may show in the second part alone: then its place among the others
    is one of two.
    """
    told, shown, again = dict[_Key, Assignment](), dict[_Key, Assignment](), list[_Key]()
    for one in changes:
        key, p = (one.topic_id, one.partition_id), controller.image.partition(one.topic_id, one.partition_id)
        if p is None or not p.replicas.has(broker):
            break
        before, after = int(p.directories.of(broker)), _value_or(one.change.replicas, p.replicas)
        # What a replica that is taken out was in does not show: it is led away only from what is lost.
        now = _told(one, after).get(broker, before if broker in after else LOST)
        row = shown.setdefault(key, Assignment(now, *key))
        if row.directory == before or key in told:
            again.append(key)
        else:
            told[key] = row
    yield tuple(shown.values())
    rows, rest = dict[_Key, Assignment](), iter(told.items())
    for key in again:
        while key in told and key not in rows:
            rows.update([next(rest)])
        rows.setdefault(key, shown[key])
    yield tuple((rows | told).values())
