"""AlterPartitionReassignments: to other replicas, or back to those before.

Source: `ReplicationControlManager.alterPartitionReassignments`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from model.change import Target
from model.controller.assignments import check_assignment
from model.controller.errors import NONE, RequestError, Resignation
from model.controller.passes import Trigger, acceptable, decide
from model.controller.state import Controller, Outcome, Place
from model.directories import DirectoryMismatch
from model.idlists import IdList
from model.partition import Partition
from model.reassignment import plan_for, revert
from model.records import Ids, PartitionChangeRecord, ids
from model.rules import RuleSet


@frozen
class Reassignment:
    """The replicas wanted for a partition, named by its topic; None cancels."""

    topic: str
    partition: int
    replicas: Ids | None


@frozen
class Reassigned:
    """The answer for one partition."""

    reassignment: Reassignment
    error: str


@frozen
class Ongoing:
    """A reassignment that runs."""

    topic: str
    partition: int
    removing: Ids
    adding: Ids
    replicas: Ids


def reassign(
    controller: Controller, reassignments: tuple[Reassignment, ...], rules: RuleSet
) -> Outcome[tuple[Reassigned, ...]]:
    """Every row is judged for itself; an exception, or one record too many, only fails its row."""
    results: list[Reassigned] = []
    records: list[PartitionChangeRecord] = []
    for wanted in reassignments:
        try:
            record = _row(controller, wanted, rules)
            if record is not None and len(records) >= controller.settings.max_records:
                raise Resignation("too many records for one request")
        except RequestError as refusal:
            results.append(Reassigned(wanted, refusal.error))
            continue
        except (Resignation, DirectoryMismatch):
            results.append(Reassigned(wanted, Resignation.error))
            continue
        results.append(Reassigned(wanted, NONE))
        records += [] if record is None else [record]
    return Outcome(tuple(records), tuple(results), controller.soft, atomic=True)


def _row(controller: Controller, wanted: Reassignment, rules: RuleSet) -> PartitionChangeRecord | None:
    topic_id = controller.topic_id(wanted.topic)
    p = None if topic_id is None else controller.image.partition(topic_id, wanted.partition)
    if topic_id is None or p is None:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION")
    place = Place(topic_id, wanted.partition, p)
    if wanted.replicas is None:
        return _cancel(controller, place, rules)
    check_assignment(controller, wanted.replicas)
    return decide(controller, place, _target(p, wanted.replicas, rules), Trigger(unclean=False), rules)


def _target(p: Partition, replicas: Ids, rules: RuleSet) -> Target:
    """The start of a reassignment; an empty removing (adding) set does not replace an old one (defect B10)."""
    plan = plan_for(p, IdList(replicas))
    listed = IdList((*replicas, *ids(p.replicas))) if rules.reassignment_repeats_replicas else plan.replicas
    keeps = rules.retarget_keeps_old_reassignment
    removing = p.removing if keeps and plan.removing.is_empty() else plan.removing
    adding = p.adding if keeps and plan.adding.is_empty() else plan.adding
    return evolve(Target.of(p), replicas=listed, removing=removing, adding=adding)


def _cancel(controller: Controller, place: Place, rules: RuleSet) -> PartitionChangeRecord | None:
    """Back to the original replicas; where none of them is in sync, the topic must allow unclean elections.

    The code seats the first replica silently (defect B11); mended, one that can lead is elected uncleanly.
    """
    p = place.partition
    if not p.reassigning():
        raise RequestError("NO_REASSIGNMENT_IN_PROGRESS")
    back = revert(p)
    if not back.possible:
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "no_original_replica")
    if back.unclean and not controller.unclean_election(place.topic_id):
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "unclean_election_needed")
    isr = back.isr
    if back.unclean and not rules.unclean_cancel_is_silent:
        if acceptable(controller, p, Trigger(), rules).keep(back.replicas).is_empty():
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "no_original_replica_can_lead")
        isr = p.isr.none()
    none = p.removing.none()
    target = evolve(Target.of(p), replicas=back.replicas, isr=isr, removing=none, adding=none)
    return decide(controller, place, target, Trigger(), rules)


def ongoing(controller: Controller, topics: Mapping[str, Ids] | None = None) -> tuple[Ongoing, ...]:
    """The reassignments that run, of all partitions or of those listed by topic."""
    found = []
    for place in controller.places():
        name, p = controller.topic(place.topic_id).name, place.partition
        if p.reassigning() and (topics is None or place.index in topics.get(name, ())):
            found.append(Ongoing(name, place.index, ids(p.removing), ids(p.adding), ids(p.replicas)))
    return tuple(found)
