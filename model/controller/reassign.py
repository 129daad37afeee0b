"""AlterPartitionReassignments: to other replicas, or back to those before.

Source: `ReplicationControlManager.alterPartitionReassignments`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from kraftcheck.model.controller.assignments import check_assignment
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.passes import decide, eligible, permits
from kraftcheck.model.controller.state import Controller, Outcome, Place
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.partition.directories import DirectoryMismatch
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers import reassignment as reassigning


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


@rule("reassignment.rows-are-independent",
      source="semantics 3; ReplicationControlManager.alterPartitionReassignments",
      says="Each row of a reassignment request succeeds or fails for itself.")  # fmt: skip
def reassign(
    controller: Controller, reassignments: tuple[Reassignment, ...], rules: RuleSet, factor_may_change: bool = True
) -> Outcome[tuple[Reassigned, ...]]:
    """Every row is judged for itself; an exception, or one record too many, only fails its row.

    Args:
        controller: the state.
        reassignments: the rows.
        rules: the rule set.
        factor_may_change: False refuses a row with another number of replicas, where the rules know that request.
    """
    fixed_factor = rules.controller.factor_change_can_be_forbidden and not factor_may_change
    results: list[Reassigned] = []
    records: list[PartitionChangeRecord] = []
    for wanted in reassignments:
        try:
            record = _row(controller, wanted, rules, fixed_factor)
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


def _row(
    controller: Controller, wanted: Reassignment, rules: RuleSet, fixed_factor: bool
) -> PartitionChangeRecord | None:
    topic_id = controller.topic_id(wanted.topic)
    p = None if topic_id is None else controller.image.partition(topic_id, wanted.partition)
    if topic_id is None or p is None:
        raise RequestError("UNKNOWN_TOPIC_OR_PARTITION")
    place = Place(topic_id, wanted.partition, p)
    if wanted.replicas is None:
        return _cancel(controller, place, rules)
    check_assignment(controller, wanted.replicas, rules.controller)
    if fixed_factor:
        _check_factor(p, wanted.replicas)
    permitted = permits(controller, place, rules.partition)
    started = reassigning.reassign(p, permitted, IdList(wanted.replicas), rules.partition)
    return decide(controller, place, started, rules)


@rule("reassignment.factor-kept-on-request",
      source="KIP-860; ReplicationControlManager.validatePartitionReplicationFactorUnchanged",
      switches=("factor-change-can-be-forbidden",),
      says="From 4.1.0 on a request may forbid another number of replicas than the partition has, or is to have once "
           "its reassignment completes.")  # fmt: skip
def _check_factor(p: Partition, replicas: Ids) -> None:
    """Refuse another number of replicas; cancelling is never refused for it.

    Raises:
        RequestError: INVALID_REPLICATION_FACTOR.
    """
    if len({*ids(p.replicas), *ids(p.adding)} - {*ids(p.removing)}) != len(replicas):
        raise RequestError("INVALID_REPLICATION_FACTOR", "changed")


def _cancel(controller: Controller, place: Place, rules: RuleSet) -> PartitionChangeRecord | None:
    """Back to the original replicas, if nothing forbids it."""
    p, allowed = place.partition, permits(controller, place, rules.partition)
    checks = reassigning.may_cancel(p, eligible(controller, place, rules.partition), allowed.unclean, rules.partition)
    for name, (error, reason) in reassigning.CANCEL_ERRORS.items():
        if not checks[name]:
            raise RequestError(error, reason)
    return decide(controller, place, reassigning.cancel(p, allowed, rules.partition), rules)


def ongoing(controller: Controller, topics: Mapping[str, Ids] | None = None) -> tuple[Ongoing, ...]:
    """The reassignments that run, of all partitions or of those listed by topic."""
    found = []
    for place in controller.places():
        name, p = controller.topic(place.topic_id).name, place.partition
        if p.reassigning() and (topics is None or place.index in topics.get(name, ())):
            found.append(Ongoing(name, place.index, ids(p.removing), ids(p.adding), ids(p.replicas)))
    return tuple(found)
