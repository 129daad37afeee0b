"""AssignReplicasToDirs: a broker reports in which directories its replicas live.

Source: `ReplicationControlManager.handleAssignReplicasToDirs`; KIP-858.
"""

from __future__ import annotations

from attrs import evolve, frozen

from model.change import Target
from model.controller.errors import NONE, RequestError
from model.controller.passes import Trigger, decide, leave, online, without
from model.controller.state import Controller, Outcome, Place
from model.directories import DirectoryList
from model.records import PartitionChangeRecord, ids
from model.rules import RuleSet
from model.terms import Word
from model.words import Maybe


@frozen
class Assignment:
    """One replica of the sender and its directory."""

    directory: int
    topic_id: str
    partition: int


@frozen
class AssignmentResult:
    """The answer for one assignment."""

    assignment: Assignment
    error: str


def assign_replicas_to_dirs(
    controller: Controller, broker: int, broker_epoch: int, assignments: tuple[Assignment, ...], rules: RuleSet
) -> Outcome[tuple[AssignmentResult, ...]]:
    """A broker's assignments; a directory that is offline also ends leadership and ISR membership there.

    Raises:
        RequestError: UNSUPPORTED_VERSION, STALE_BROKER_EPOCH.
    """
    if not controller.features.directories:
        raise RequestError("UNSUPPORTED_VERSION", "no_directory_assignment")
    known = controller.check_epoch(broker, broker_epoch)
    results, placed, withdrawn = [], [], {}
    for assignment in assignments:
        error = _error(controller, broker, assignment)
        results.append(AssignmentResult(assignment, error))
        if error != NONE:
            continue
        place = _place(controller, assignment)
        is_online = online(known, assignment.directory, rules)
        placed.append(_assigned(controller, place, broker, assignment.directory, is_online, rules))
        if not is_online:
            withdrawn[place.topic_id, place.index] = place
    changes = tuple(change for change in placed if change is not None)
    if rules.passes_share_one_base:
        changes = (*changes, *leave(controller, withdrawn.values(), broker, Trigger(), rules))
    return Outcome(changes, tuple(results), controller.soft)


def _error(controller: Controller, broker: int, assignment: Assignment) -> str:
    if assignment.topic_id not in controller.image.topics:
        return "UNKNOWN_TOPIC_ID"
    p = controller.image.partition(assignment.topic_id, assignment.partition)
    if p is None:
        return "UNKNOWN_TOPIC_OR_PARTITION"
    return NONE if p.replicas.has(broker) else "NOT_LEADER_OR_FOLLOWER"


def _place(controller: Controller, assignment: Assignment) -> Place:
    topic = controller.topic(assignment.topic_id)
    return Place(assignment.topic_id, assignment.partition, topic.partitions[assignment.partition])


def _assigned(
    controller: Controller, place: Place, broker: int, directory: int, is_online: bool, rules: RuleSet
) -> PartitionChangeRecord | None:
    """The record of one assignment, built with ELR off (defect B2).

    Mended where passes do not share one base: one record, decided on the
    directory that the replica will have.
    """
    elr = not rules.assignment_clears_elr
    p = place.partition
    target = evolve(Target.of(p), directory=lambda b: Maybe(b == broker, _word(directory)))
    if rules.passes_share_one_base:
        return decide(controller, place, target, Trigger(unclean=False, elr=elr), rules)
    if not is_online:
        target = evolve(target, isr=without(p, broker).isr)
    barred = () if is_online else (broker,)
    trigger = Trigger(barred=barred, unclean=False if is_online else None, elr=elr)
    return decide(controller, place, target, trigger, rules, judged_on=_moved(place, broker, directory))


def _moved(place: Place, broker: int, directory: int) -> DirectoryList:
    """The partition's directories once the replica is in the new one."""
    p = place.partition
    replicas = ids(p.replicas)
    return DirectoryList(replicas, tuple(directory if b == broker else int(p.directories.of(b)) for b in replicas))


def _word(directory: int) -> Word:
    return directory
