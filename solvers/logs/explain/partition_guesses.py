"""The events of the controller that may have written one change of one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from kraftcheck.model.controller.alter_partition import UNCHECKED, AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.controller.assign_dirs import Assignment, assign_replicas_to_dirs
from kraftcheck.model.controller.elect_leaders import PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.reassign import Reassignment, reassign
from kraftcheck.model.controller.records import LogRecord
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.words import Maybe
from kraftcheck.model.partition.directories import DirectoryList
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guess import Guess, granted


@frozen
class _Ahead:
    """A partition, and the change of it that is to be explained."""

    controller: Controller
    record: PartitionChangeRecord
    topic: str
    partition: Partition
    rules: RuleSet

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.record.partition_id}"


def partition_guesses(controller: Controller, record: PartitionChangeRecord, rules: RuleSet) -> Iterator[Guess]:
    """Every request, and every pass of a timer, that may have written this change."""
    p = controller.image.partition(record.topic_id, record.partition_id)
    if p is None:
        return
    ahead = _Ahead(controller, record, controller.topic(record.topic_id).name, p, rules)
    yield from _alterations(ahead)
    yield Guess(f"preferred election in {ahead.name}", _elected(ahead, PREFERRED), 1, "elect_preferred")
    if not p.leader >= 0:
        yield Guess(f"unclean election in {ahead.name}", _elected(ahead, UNCLEAN), 1, "elect_unclean")
    yield from _reassignments(ahead)
    yield from _assignments(ahead)


def _given(field: Maybe[Brokers], otherwise: Brokers) -> Ids:
    return ids(field.value if field.present else otherwise)


def _alterations(ahead: _Ahead) -> Iterator[Guess]:
    """The leader proposes an ISR: the one in the record, or one that the change hides."""
    p, change = ahead.partition, ahead.record.change
    leader = ahead.controller.registration(int(p.leader))
    if leader is None:
        return
    now, told = ids(p.isr), _given(change.isr, p.isr)
    wanted = [told, now, (*told, *(b for b in ids(p.removing) if b not in told))]
    wanted += [(*now, broker) for broker in ids(p.replicas) if broker not in now]
    seen: set[frozenset[int]] = set()
    for isr in wanted:
        # The order of a proposal shows in the record unless the record hides it, so one of each set is enough.
        if frozenset(isr) in seen:
            continue
        seen.add(frozenset(isr))
        members = tuple((broker, UNCHECKED) for broker in isr)
        proposal = Proposal(
            ahead.record.topic_id, ahead.record.partition_id, int(p.leader_epoch), int(p.partition_epoch), members
        )
        request = AlterPartitionRequest(leader.id, leader.epoch, (proposal,))
        words = ("leader ", leader.id, f" of {ahead.name} proposes ISR ", isr)
        yield Guess(words, _altered(ahead, request), 1, "alter_partition", {"isr": isr})


def _altered(ahead: _Ahead, request: AlterPartitionRequest) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        try:
            return granted(alter_partition(ahead.controller, request, ahead.rules))
        except RequestError as refusal:
            raise RequestError(refusal.error, _ineligible(ahead, request)) from None

    return records


def _ineligible(ahead: _Ahead, request: AlterPartitionRequest) -> str:
    """What each proposed member is that may not be one, beside what it must be."""
    found = []
    for broker, _ in request.proposals[0].new_isr:
        known = ahead.controller.registration(broker)
        if known is None:
            found.append(f"broker {broker} is unregistered")
        elif not known.is_active():
            leaving = known.in_controlled_shutdown
            found.append(f"broker {broker} has fenced={known.fenced}, in_controlled_shutdown={leaving}")
        elif not ahead.partition.replicas.has(broker):
            found.append(f"broker {broker} is no replica of {list(ids(ahead.partition.replicas))}")
    if not found:
        return f"leader {int(ahead.partition.leader)} proposes {[b for b, _ in request.proposals[0].new_isr]}"
    return "; ".join(found) + "; required: replicas that are registered, unfenced and not shutting down"


def _elected(ahead: _Ahead, kind: int) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        place = ((ahead.topic, ahead.record.partition_id),)
        return granted(elect_leaders(ahead.controller, kind, place, ahead.rules))

    return records


def _reassignments(ahead: _Ahead) -> Iterator[Guess]:
    p, change = ahead.partition, ahead.record.change
    if p.reassigning():
        yield Guess(f"cancel the reassignment of {ahead.name}", _reassigned(ahead, None), 1, "cancel")
    if not (change.replicas.present or change.adding.present or change.removing.present):
        return
    removing = _given(change.removing, p.removing)
    target = tuple(broker for broker in _given(change.replicas, p.replicas) if broker not in removing)
    yield Guess((f"reassign {ahead.name} to ", target), _reassigned(ahead, target), 1, "reassign")


def _reassigned(ahead: _Ahead, replicas: Ids | None) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        wanted = Reassignment(ahead.topic, ahead.record.partition_id, replicas)
        return granted(reassign(ahead.controller, (wanted,), ahead.rules))

    return records


def _assignments(ahead: _Ahead) -> Iterator[Guess]:
    """A broker reports the directory of its replica."""
    p, change = ahead.partition, ahead.record.change
    if not change.directories.present or change.replicas.present:
        return
    told = change.directories.value
    placed = told.ids if isinstance(told, DirectoryList) else ()
    moved = [(b, d) for b, d in zip(ids(p.replicas), placed, strict=False) if int(p.directories.of(b)) != d]
    for broker, directory in moved:
        known = ahead.controller.registration(broker)
        if known is None:
            continue
        words = ("broker ", broker, f" reports a directory of {ahead.name}")
        yield Guess(words, _assigned(ahead, broker, known.epoch, directory), None, "assign", {"broker": broker})


def _assigned(ahead: _Ahead, broker: int, epoch: int, directory: int) -> Callable[[], tuple[LogRecord, ...]]:
    assignment = Assignment(directory, ahead.record.topic_id, ahead.record.partition_id)

    def records() -> tuple[LogRecord, ...]:
        return granted(assign_replicas_to_dirs(ahead.controller, broker, epoch, (assignment,), ahead.rules))

    return records
