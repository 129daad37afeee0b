"""ElectLeaders, and the two timers that elect by themselves.

Source: `ReplicationControlManager.electLeaders`, `maybeBalancePartitionLeaders`,
`maybeElectUncleanLeaders`.
"""

from __future__ import annotations

from attrs import frozen

from model.change import Target
from model.controller.errors import NONE, RequestError, TooManyRecords
from model.controller.passes import Trigger, acceptable, decide, has_preferred_leader, imbalanced, leaderless
from model.controller.state import Controller, Outcome, Place
from model.elections import Candidates, may_designate
from model.records import PartitionChangeRecord
from model.rules import RuleSet
from model.words import NO_LEADER

PREFERRED, UNCLEAN, DESIGNATED = 0, 1, 2
"""The types of an election, as requests number them; the snapshot does not know the third."""

MOST_DESIGNATED = 1000
"""Partitions of one request for designated elections; further ones are not served."""


@frozen
class Elected:
    """The answer for one partition, named by its topic."""

    topic: str
    partition: int
    error: str


def elect_leaders(
    controller: Controller,
    kind: int,
    partitions: tuple[tuple[str, int], ...] | None,
    rules: RuleSet,
    designated: tuple[int, ...] | None = None,
) -> Outcome[tuple[Elected, ...]]:
    """Elections in the partitions listed, or in all; of all, those that need none are not reported.

    Args:
        controller: the state.
        kind: PREFERRED, UNCLEAN or DESIGNATED.
        partitions: pairs of topic and index; None takes all.
        rules: the rule set.
        designated: for a DESIGNATED election the leader wanted of each partition listed.

    Raises:
        RequestError: INVALID_REQUEST for an unknown type, or leaders that do not
            match the partitions; POLICY_VIOLATION for too many records.

    Source: `electLeaders`; DESIGNATED from the unclean-recovery KIP, "Designated Leader Elections".
    """
    known = (PREFERRED, UNCLEAN, DESIGNATED) if rules.designated_elections else (PREFERRED, UNCLEAN)
    if kind not in known:
        raise RequestError("INVALID_REQUEST", "unknown_election_type")
    ballots = _designated(partitions, designated) if kind == DESIGNATED else _ordinary(controller, partitions)
    results: list[Elected] = []
    records: list[PartitionChangeRecord] = []
    for topic, index, wanted in ballots:
        error, record = _elect(controller, topic, index, _trigger(kind, wanted), rules)
        if partitions is not None or error != "ELECTION_NOT_NEEDED":
            results.append(Elected(topic, index, error))
        records += [] if record is None else [record]
    if len(records) > controller.settings.max_records:
        raise TooManyRecords
    return Outcome(tuple(records), tuple(results), controller.soft)


Ballot = tuple[str, int, int | None]
"""Topic and index of a partition, and the leader designated for it."""


def _ordinary(controller: Controller, partitions: tuple[tuple[str, int], ...] | None) -> list[Ballot]:
    if partitions is not None:
        return [(topic, index, None) for topic, index in partitions]
    return [(controller.topic(place.topic_id).name, place.index, None) for place in controller.places()]


def _designated(partitions: tuple[tuple[str, int], ...] | None, leaders: tuple[int, ...] | None) -> list[Ballot]:
    if partitions is None or leaders is None or len(leaders) != len(partitions):
        raise RequestError("INVALID_REQUEST", "no_leader_for_each_partition")
    listed: list[Ballot] = [(*place, leader) for place, leader in zip(partitions, leaders, strict=True)]
    return listed[:MOST_DESIGNATED]


def _elect(
    controller: Controller, topic: str, index: int, trigger: Trigger, rules: RuleSet
) -> tuple[str, PartitionChangeRecord | None]:
    topic_id = controller.topic_id(topic)
    p = None if topic_id is None else controller.image.partition(topic_id, index)
    if topic_id is None or p is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", None
    if has_preferred_leader(p) if trigger.preferred else p.leader != NO_LEADER:
        return "ELECTION_NOT_NEEDED", None
    unavailable = "PREFERRED_LEADER_NOT_AVAILABLE" if trigger.preferred else "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    place = Place(topic_id, index, p)
    if trigger.designated is not None and not _may_designate(controller, place, trigger.designated, rules):
        return unavailable, None
    record = decide(controller, place, Target.of(p), trigger, rules)
    return (unavailable, None) if record is None else (NONE, record)


def _may_designate(controller: Controller, place: Place, broker: int, rules: RuleSet) -> bool:
    """Whether a broker may be designated: an unfenced replica on an online directory, and not on its way out."""
    p = place.partition
    eligible = acceptable(controller, p, Trigger(), rules)
    candidates = Candidates(p.replicas, p.isr, p.elr, p.leader, p.last_known_elr, eligible)
    leaving = bool(p.removing.has(broker)) and not rules.designated_may_be_leaving
    return not leaving and all(may_designate(candidates, broker).values())


def _trigger(kind: int, designated: int | None = None) -> Trigger:
    """An unclean election ignores what the topic's configuration says."""
    return Trigger(preferred=kind == PREFERRED, unclean=kind == UNCLEAN, designated=designated)


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
