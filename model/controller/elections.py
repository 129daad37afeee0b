"""ElectLeaders, and the two timers that elect by themselves.

Source: `ReplicationControlManager.electLeaders`, `maybeBalancePartitionLeaders`,
`maybeElectUncleanLeaders`.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.controller.errors import NONE, RequestError, TooManyRecords
from kraftcheck.model.controller.partitions import decide, eligible, imbalanced, leaderless, permits
from kraftcheck.model.controller.state import Controller, Outcome, Place
from kraftcheck.model.language.words import rule
from kraftcheck.model.partition.election import LEADERLESS, may_designate
from kraftcheck.model.records.records import PartitionChangeRecord
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers import table as triggers
from kraftcheck.model.triggers.table import (
    Pass,
    elect_designated,
    elect_preferred,
    is_as_it_answered,
    needs_leader,
    needs_preferred,
)

PREFERRED, UNCLEAN, DESIGNATED = 0, 1, 2
"""The types of an election, as requests number them; the snapshot does not know the third."""

MOST_DESIGNATED = 1000  # partitions of one request for designated elections; further ones are not served


@frozen
class Elected:
    """The answer for one partition, named by its topic."""

    topic: str
    partition: int
    error: str


@rule("elect-leaders.designated-type", source="unclean-recovery KIP, Designated Leader Elections; KIP-966",
      switches=("designated-elections",),
      says="ElectLeaders has a third type, by which an operator designates the leader of a leaderless "
           "partition.")  # fmt: skip
def elect_leaders(
    controller: Controller,
    kind: int,
    partitions: tuple[tuple[str, int], ...] | None,
    rules: RuleSet,
    designated: tuple[int, ...] | None = None,
    epochs: tuple[int | None, ...] | None = None,
) -> Outcome[tuple[Elected, ...]]:
    """Elections in the partitions listed, or in all; of all, those that need none are not reported.

    Args:
        kind: PREFERRED, UNCLEAN or DESIGNATED.
        partitions: pairs of topic and index; None takes all.
        designated: for a DESIGNATED election the leader wanted of each partition listed.
        epochs: the broker epoch in which each of them answered; the document's request has no field for it.

    Raises:
        RequestError: INVALID_REQUEST for an unknown type, or leaders that do not
            match the partitions; POLICY_VIOLATION for too many records.

    Source: `electLeaders`; DESIGNATED from the unclean-recovery KIP, "Designated Leader Elections".
    """
    known = (PREFERRED, UNCLEAN, DESIGNATED) if rules.partition.designated_elections else (PREFERRED, UNCLEAN)
    if kind not in known:
        raise RequestError("INVALID_REQUEST", "unknown_election_type")
    ballots = _designated(partitions, designated, epochs) if kind == DESIGNATED else _ordinary(controller, partitions)
    results: list[Elected] = []
    records: list[PartitionChangeRecord] = []
    for ballot in ballots:
        error, record = _elect(controller, ballot, kind, rules)
        if partitions is not None or error != "ELECTION_NOT_NEEDED":
            results.append(Elected(ballot.topic, ballot.index, error))
        records += [] if record is None else [record]
    if len(records) > controller.settings.max_records:
        raise TooManyRecords
    return Outcome(tuple(records), tuple(results), controller.soft)


@frozen
class Ballot:
    """A partition by topic and index, the leader designated for it, and the broker epoch in which that one answered."""

    topic: str
    index: int
    designated: int | None = None
    epoch: int | None = None


def _ordinary(controller: Controller, partitions: tuple[tuple[str, int], ...] | None) -> list[Ballot]:
    if partitions is not None:
        return [Ballot(topic, index) for topic, index in partitions]
    return [Ballot(controller.topic(place.topic_id).name, place.index) for place in controller.places()]


def _designated(
    partitions: tuple[tuple[str, int], ...] | None,
    leaders: tuple[int, ...] | None,
    epochs: tuple[int | None, ...] | None,
) -> list[Ballot]:
    if partitions is None or leaders is None or len(leaders) != len(partitions):
        raise RequestError("INVALID_REQUEST", "no_leader_for_each_partition")
    answered = (None,) * len(leaders) if epochs is None else epochs
    listed = [Ballot(*place, *wanted) for place, *wanted in zip(partitions, leaders, answered, strict=True)]
    return listed[:MOST_DESIGNATED]


def _elect(
    controller: Controller, ballot: Ballot, kind: int, rules: RuleSet
) -> tuple[str, PartitionChangeRecord | None]:
    topic_id = controller.topic_id(ballot.topic)
    p = None if topic_id is None else controller.image.partition(topic_id, ballot.index)
    if topic_id is None or p is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", None
    place = Place(topic_id, ballot.index, p)
    needed, possible = _checks(controller, place, kind, ballot, rules)
    if not needed:
        return "ELECTION_NOT_NEEDED", None
    unavailable = "PREFERRED_LEADER_NOT_AVAILABLE" if kind == PREFERRED else "ELIGIBLE_LEADERS_NOT_AVAILABLE"
    wanted = _wanted(controller, place, kind, ballot.designated, rules.partition)
    record = decide(controller, place, wanted, rules) if possible else None
    return (unavailable, None) if record is None else (NONE, record)


def _checks(controller: Controller, place: Place, kind: int, ballot: Ballot, rules: RuleSet) -> tuple[bool, bool]:
    """Whether an election is needed, and whether the leader that is designated may be elected."""
    p, designated = place.partition, ballot.designated
    if designated is None:
        return bool(needs_preferred(p) if kind == PREFERRED else needs_leader(p)), True
    named = may_designate(p, eligible(controller, place, rules.partition), designated, rules)
    broker = controller.registration(designated)
    if broker is not None and ballot.epoch is not None:
        named["as it answered"] = is_as_it_answered(ballot.epoch, broker.epoch, rules.unclean_recovery)
    return bool(named.pop(LEADERLESS, True)), all(named.values())


def _wanted(controller: Controller, place: Place, kind: int, designated: int | None, rules: PartitionRules) -> Pass:
    p, allowed = place.partition, permits(controller, place, rules)
    if designated is not None:
        return elect_designated(p, allowed, designated)
    return elect_preferred(p, allowed) if kind == PREFERRED else triggers.elect_unclean(p, allowed, rules)


def balance_leaders(controller: Controller, rules: RuleSet) -> Outcome[bool]:
    """The balance timer: first replicas take over where they can.

    The reply says whether the limit was reached, so that there may be more to do.
    """
    return _some(controller, imbalanced(controller), PREFERRED, rules)


@rule("timer.unclean", source="semantics 3; ReplicationControlManager.maybeElectUncleanLeaders",
      says="The unclean timer holds unclean elections in leaderless partitions whose topic allows them.")  # fmt: skip
def elect_unclean(controller: Controller, rules: RuleSet) -> Outcome[bool]:
    """The unclean timer: elections in leaderless partitions whose topic allows unclean ones."""
    places, allows = leaderless(controller), controller.unclean_election
    allowed = tuple(place for place in places if allows(place.topic_id, rules.partition))
    return _some(controller, allowed, UNCLEAN, rules)


def _some(controller: Controller, places: tuple[Place, ...], kind: int, rules: RuleSet) -> Outcome[bool]:
    limit = controller.settings.max_elections
    records: list[PartitionChangeRecord] = []
    for place in places:
        if len(records) >= limit:
            break
        record = decide(controller, place, _wanted(controller, place, kind, None, rules.partition), rules)
        records += [] if record is None else [record]
    return Outcome(tuple(records), len(records) >= limit, controller.soft)
