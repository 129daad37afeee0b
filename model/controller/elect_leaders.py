"""ElectLeaders, and the two timers that elect by themselves.

Source: `ReplicationControlManager.electLeaders`, `maybeBalancePartitionLeaders`,
`maybeElectUncleanLeaders`.
"""

from __future__ import annotations

from attrs import frozen

from model.change import Target
from model.controller.errors import NONE, RequestError
from model.controller.passes import Trigger, decide, has_preferred_leader, imbalanced, leaderless
from model.controller.state import Controller, Outcome, Place
from model.partition import Partition
from model.records import PartitionChangeRecord
from model.rules import RuleSet
from model.words import NO_LEADER

PREFERRED, UNCLEAN = 0, 1
"""The types of an election, as requests number them."""


@frozen
class Elected:
    """The answer for one partition, named by its topic."""

    topic: str
    partition: int
    error: str


def elect_leaders(
    controller: Controller, kind: int, partitions: tuple[tuple[str, int], ...] | None, rules: RuleSet
) -> Outcome[tuple[Elected, ...]]:
    """Elections in the partitions listed, or in all; of all, those that need none are not reported.

    Raises:
        RequestError: INVALID_REQUEST for an unknown type.
    """
    if kind not in (PREFERRED, UNCLEAN):
        raise RequestError("INVALID_REQUEST", "unknown_election_type")
    listed = partitions
    if listed is None:
        listed = tuple((controller.topic(place.topic_id).name, place.index) for place in controller.places())
    results, records = [], []
    for topic, index in listed:
        error, record = _elect(controller, topic, index, kind, rules)
        if partitions is not None or error != "ELECTION_NOT_NEEDED":
            results.append(Elected(topic, index, error))
        records += [] if record is None else [record]
    return Outcome(tuple(records), tuple(results), controller.soft)


def _elect(
    controller: Controller, topic: str, index: int, kind: int, rules: RuleSet
) -> tuple[str, PartitionChangeRecord | None]:
    topic_id = controller.topic_id(topic)
    p = None if topic_id is None else controller.image.partition(topic_id, index)
    if topic_id is None or p is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", None
    if not _is_needed(p, kind):
        return "ELECTION_NOT_NEEDED", None
    record = decide(controller, Place(topic_id, index, p), Target.of(p), _trigger(kind), rules)
    return (_UNAVAILABLE[kind], None) if record is None else (NONE, record)


_UNAVAILABLE = {PREFERRED: "PREFERRED_LEADER_NOT_AVAILABLE", UNCLEAN: "ELIGIBLE_LEADERS_NOT_AVAILABLE"}


def _is_needed(p: Partition, kind: int) -> bool:
    return not has_preferred_leader(p) if kind == PREFERRED else bool(p.leader == NO_LEADER)


def _trigger(kind: int) -> Trigger:
    """An unclean election ignores what the topic's configuration says."""
    return Trigger(preferred=kind == PREFERRED, unclean=kind == UNCLEAN)


def balance_leaders(controller: Controller, rules: RuleSet) -> Outcome[bool]:
    """The balance timer: first replicas take over where they can.

    The reply says whether the limit was reached, so that there may be more to do.
    """
    return _some(controller, imbalanced(controller), PREFERRED, rules)


def elect_unclean(controller: Controller, rules: RuleSet) -> Outcome[bool]:
    """The unclean timer: elections in leaderless partitions whose topic allows unclean ones."""
    allowed = (place for place in leaderless(controller) if controller.unclean_election(place.topic_id))
    return _some(controller, tuple(allowed), UNCLEAN, rules)


def _some(controller: Controller, places: tuple[Place, ...], kind: int, rules: RuleSet) -> Outcome[bool]:
    limit = controller.settings.max_elections
    records: list[PartitionChangeRecord] = []
    for place in places:
        if len(records) >= limit:
            break
        record = decide(controller, place, Target.of(place.partition), _trigger(kind), rules)
        records += [] if record is None else [record]
    return Outcome(tuple(records), len(records) >= limit, controller.soft)
