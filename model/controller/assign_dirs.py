"""AssignReplicasToDirs: a broker reports in which directories its replicas live.

Source: `ReplicationControlManager.handleAssignReplicasToDirs`; KIP-858.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.controller.errors import NONE, RequestError
from kraftcheck.model.controller.passes import decide, permits
from kraftcheck.model.controller.state import Controller, Outcome, Place
from kraftcheck.model.language.rule import rule
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers.directory_assignment import assign


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
        place, offline = _place(controller, assignment), not known.has_online_dir(assignment.directory, rules.partition)
        allowed = permits(controller, place, rules.partition)
        first, *further = assign(place.partition, allowed, broker, assignment.directory, offline, rules.partition)
        placed.append(decide(controller, place, first, rules))
        for wanted in further:
            if wanted.when:
                withdrawn[place.topic_id, place.index] = place, wanted
    placed += [decide(controller, place, wanted, rules) for place, wanted in withdrawn.values()]
    return Outcome(tuple(change for change in placed if change is not None), tuple(results), controller.soft)


@rule("assignment.own-replicas-only", source="KIP-858; semantics 6.2",
      says="A broker assigns directories of its own replicas only.")  # fmt: skip
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
