"""The properties of `elections`, checked on the steps of a real controller.

Each explained event is one step; what its explanation does not say is taken from the states before and after it. A
partition is judged as a state of `elections`: brokers are numbered from 0 in the order of their ids, each broker's
directories in the order of registrations; the numbers are the same before and after a step. Sets hold 62 brokers:
where a cluster has more, those that the partition names come first, and sets leave out others that have no place.
What `elections` cannot hold is checked separately: see `has_several_last_known`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, ClearElrRecord, ConfigRecord, Controller, Place
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.system import Step as Transition
from kraftcheck.model.language.terms import MASK_BITS
from kraftcheck.model.language.words import EMPTY, NO_LEADER
from kraftcheck.model.partition.election import clears
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, DirectoryMap, Partition, is_reserved
from kraftcheck.model.records.records import PartitionChangeRecord, directory_order, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.logs.explain.partition_guesses import Candidate
from kraftcheck.solvers.logs.explain.state import ModelRecord


@frozen
class ElectionsNumbering:
    """The numbers that brokers and directories have in a state of `elections`."""

    brokers: tuple[int, ...]  # their ids in order
    directories: Mapping[int, tuple[int, ...]]  # of each broker, in order

    def broker(self, broker: int) -> int:
        """A broker's number; no leader stays none."""
        return NO_LEADER if broker == NO_LEADER else self.brokers.index(broker)

    def broker_set(self, brokers: Iterable[int]) -> BrokerSet:
        """The brokers as a set of their numbers; -1 in a list (defect B5) is no broker."""
        numbers = (self.broker(broker) for broker in brokers if broker != NO_LEADER)
        return BrokerSet.of(number for number in numbers if number < MASK_BITS)

    def directory(self, broker: int, directory: int) -> int:
        """A directory's number; reserved ids keep theirs."""
        if directory in self.directories[broker]:
            return FIRST_LOCAL + self.directories[broker].index(directory)
        return min(directory, UNASSIGNED + 1) if is_reserved(directory) else FIRST_LOCAL

    def directory_set(self, broker: int, directories: Iterable[int]) -> BrokerSet:
        """Directories of one broker as a set of their numbers from 0; reserved ids, which none can have, are none."""
        local = (directory for directory in directories if not is_reserved(directory))
        return BrokerSet.of(self.directory(broker, directory) - FIRST_LOCAL for directory in local)


def elections_numbering(
    controllers: Collection[Controller], partitions: Iterable[Partition], named: Iterable[int] = ()
) -> ElectionsNumbering:
    """The numbering of all brokers and directories that these states and partitions name.

    Where there are more brokers than a set holds, only those of the partitions, and those that are named besides.
    """
    mentioned, directories = set(named), dict[int, set[int]]()
    for p in partitions:
        for members in (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing, (int(p.leader),)):
            mentioned |= {broker for broker in members if broker != NO_LEADER}  # type: ignore[union-attr]
        for broker in ids(p.replicas):
            directories.setdefault(broker, set()).add(int(p.directories.of(broker)))
    known = [controller.image.registrations for controller in controllers]
    every = mentioned.union(*known) if all(len(one) <= MASK_BITS for one in known) else mentioned
    ordered = tuple(sorted(every if len(every) <= MASK_BITS else mentioned))
    for registrations in known:
        for broker in ordered:
            own = registrations.get(broker)
            directories.setdefault(broker, set()).update(() if own is None else own.dirs)
    local = {broker: (d for d in directories.get(broker, ()) if not is_reserved(d)) for broker in ordered}
    return ElectionsNumbering(
        ordered, {broker: tuple(sorted(directory_ids, key=directory_order)) for broker, directory_ids in local.items()}
    )


def with_broker(part: str, name: Callable[[int], int]) -> str:
    """A part of a property that names a broker, `broker 0`, with another name; any other part as it is."""
    word, _, number = part.partition(" ")
    return f"broker {name(int(number))}" if word == "broker" and number.isdigit() else part


def has_several_last_known(p: Partition) -> bool:
    """Whether a partition has more than one last known leader, which `elections` cannot hold."""
    return bool(p.last_known_elr.size() > 1)


def as_elections(controller: Controller, place: Place, numbering: ElectionsNumbering, rules: RuleSet) -> Elections:
    """The partition and its brokers as `elections` holds them; of several last known leaders the first."""
    p, known = place.partition, ((broker, controller.registration(broker)) for broker in numbering.brokers)
    registrations = {broker: registration for broker, registration in known if registration is not None}
    replicas = tuple(broker for broker in ids(p.replicas) if broker != NO_LEADER)
    last_known = ids(p.last_known_elr)
    assigned = {b: numbering.directory(b, int(p.directories.of(b))) for b in replicas}
    online = (
        numbering.directory_set(b, registrations[b].dirs) if b in registrations else BrokerSet()
        for b in numbering.brokers
    )
    return Elections(
        replicas=Replicas.of((numbering.broker(b) for b in replicas), len(numbering.brokers)),
        directories=DirectoryMap(tuple(assigned.get(b, UNASSIGNED) for b in numbering.brokers)),
        isr=numbering.broker_set(ids(p.isr)),
        elr=numbering.broker_set(ids(p.elr)),
        last_known_elr=AtMostOne(numbering.broker(last_known[0]) if last_known else EMPTY),
        removing=numbering.broker_set(ids(p.removing)),
        adding=numbering.broker_set(ids(p.adding)),
        leader=numbering.broker(int(p.leader)),
        recovering=bool(p.recovering),
        registered=numbering.broker_set(registrations),
        fenced=numbering.broker_set(b for b, registration in registrations.items() if registration.fenced),
        shutting_down=numbering.broker_set(
            b for b, registration in registrations.items() if registration.in_controlled_shutdown
        ),
        online_dirs=tuple(online),
        min_insync_replicas=controller.min_isr(place.topic_id, place.index, rules.controller),
        unclean_election=controller.unclean_election(place.topic_id, rules.partition),
        elr_enabled=controller.features.elr(rules.partition),
    )


ELECTIONS = SYSTEMS["elections"]

UNLOGGED = (
    "controller-stays", "decided-on-latest", "reassignment-ends-at-target", "reassignment-is-under-way",
    "directory-is-as-assigned",
)  # fmt: skip
"""Steps that a log does not show: an exception writes nothing, and a record does not say what it was decided on, nor
which replicas or directory were asked for."""

LAST_KNOWN = "last-known-is-one-replica"
STAYS = "controller-stays"

_DEPARTURES = (
    "fence", "controlled_shutdown", "unregister", "new_incarnation", "directories_offline", "heartbeat", "assign",
)  # fmt: skip


@frozen
class LogViolation:
    """A property that does not hold of one partition."""

    property: str
    topic: str
    partition: int
    parts: tuple[str, ...]


@lru_cache(maxsize=16)
def log_properties(rules: RuleSet) -> tuple[Property, ...]:
    """The invariants and action properties that a log can violate."""
    return tuple(one for one in _properties(rules) if one.kind in ("always", "step") and one.id not in UNLOGGED)


def sentences(rules: RuleSet) -> dict[str, str]:
    """The sentences of properties by their ids, and of what a log shows besides."""
    besides = {STAYS: "no change makes the controller resign", LAST_KNOWN: "there is one last known leader at most"}
    return {**{claim.id: claim.sentence for claim in _properties(rules)}, **besides}


def _properties(rules: RuleSet) -> Sequence[Property]:
    return ELECTIONS.properties(Setting("log", {bound.name: bound.hi for bound in ELECTIONS.bounds}, rules))


def judge(
    before: Controller, after: Controller, records: Sequence[ModelRecord], candidate: Candidate | None, rules: RuleSet
) -> Iterator[LogViolation]:
    """Every violation after some records.

    Args:
        before, after: the states around them.
        records: what was written between.
        candidate: the event that explains them; None: unexplained, so that only invariants are judged.
        rules: the rule set that they were explained with.
    """
    changed = Counter((r.topic_id, r.partition_id) for r in records if isinstance(r, PartitionChangeRecord))
    changed.update(_cleared_partitions(before, records))
    rules = _rules_of_the_log(rules, after.features.elr_switched_off)
    named = {record.broker_id for record in records if hasattr(record, "broker_id")}
    if candidate is not None:
        named.update(candidate.arguments.get("isr", ()), (candidate.arguments.get("broker", NO_LEADER),))
    named.discard(int(NO_LEADER))
    for place in _affected_places(before, after, records, changed):
        fault = _min_isr_fault(after, place, rules)
        if fault:
            yield LogViolation(STAYS, after.topic(place.topic_id).name, place.index, (fault,))
        if fault or _min_isr_fault(before, place, rules):
            continue
        partition_before = before.image.partition(place.topic_id, place.index)
        numbering = elections_numbering(
            (before, after),
            (place.partition,) if partition_before is None else (partition_before, place.partition),
            named,
        )
        state_after, topic = as_elections(after, place, numbering, rules), after.topic(place.topic_id).name
        transition = None
        if candidate is not None and partition_before is not None and candidate.action:
            state_before = as_elections(before, Place(place.topic_id, place.index, partition_before), numbering, rules)
            count = changed[place.topic_id, place.index]
            states, partitions = (state_before, state_after), (partition_before, place.partition)
            transition = _transition(states, partitions, count, candidate, numbering)
        for name, parts in (
            *_violated_invariants(state_after, rules),
            *(() if transition is None else _violated_by_transition(transition, rules)),
        ):
            named_parts = tuple(with_broker(part, numbering.brokers.__getitem__) for part in parts)
            yield LogViolation(name, topic, place.index, named_parts)
        if has_several_last_known(place.partition):
            yield LogViolation(LAST_KNOWN, topic, place.index, ("more than one broker",))


@lru_cache(maxsize=16)
def _rules_of_the_log(rules: RuleSet, elr_switched_off: bool) -> RuleSet:
    """The rules by which a log is judged: it shows whether ELR was ever on, without which partitions have less."""
    return rules.switched(elr_downgrade=elr_switched_off)


def _min_isr_fault(controller: Controller, place: Place, rules: RuleSet) -> str:
    """Why a partition has no min ISR, and so no state to judge; empty where it has, or does not exist.

    Each change of such a partition makes the controller resign (KAFKA-20532).
    """
    if controller.image.partition(place.topic_id, place.index) is None:
        return ""
    try:
        controller.min_isr(place.topic_id, place.index, rules.controller)
    except Resignation as reason:
        return f"{reason}: any change of the partition makes the controller resign"
    return ""


def broken_invariants(controller: Controller, place: Place, rules: RuleSet) -> Mapping[str, tuple[str, ...]]:
    """The invariants that a partition breaks, with the parts that do not hold."""
    rules = _rules_of_the_log(rules, controller.features.elr_switched_off)
    if fault := _min_isr_fault(controller, place, rules):
        return {STAYS: (fault,)}
    numbering = elections_numbering((controller,), (place.partition,))
    found = dict(_violated_invariants(as_elections(controller, place, numbering, rules), rules))
    several = {LAST_KNOWN: ("more than one broker",)} if has_several_last_known(place.partition) else {}
    return {**found, **several}


@lru_cache(maxsize=1 << 14)
def _violated_invariants(state: Elections, rules: RuleSet) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Invariants that a state breaks, with the parts that do not hold; clusters come back to the same few states."""
    return _failures([claim for claim in log_properties(rules) if claim.kind == "always"], state)


def _violated_by_transition(t: Transition, rules: RuleSet) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return _violated_actions(t.before, t.after, t.action, tuple(sorted(t.arguments.items())), t.event, rules)


@lru_cache(maxsize=1 << 14)
def _violated_actions(
    before: Elections, after: Elections, action: str, arguments: tuple[tuple[str, Any], ...], event: ElectionsEvent,
    rules: RuleSet,
) -> tuple[tuple[str, tuple[str, ...]], ...]:  # fmt: skip
    """Action properties that a step violates; brokers and directories are numbered, so that few steps differ."""
    transition = Transition(before, after, action, dict(arguments), event)
    return _failures([claim for claim in log_properties(rules) if claim.kind == "step"], transition)


def _failures(properties: Sequence[Property], subject: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    failures = ((claim.id, claim.failing(subject)) for claim in properties)
    return tuple((name, parts) for name, parts in failures if parts)


def _cleared_partitions(before: Controller, records: Sequence[ModelRecord]) -> Iterator[tuple[str, int]]:
    """Partitions whose ELR or last known leader a ClearElrRecord empties: that is a change of each."""
    topics = {r.topic for r in records if isinstance(r, ClearElrRecord)}
    cleared = before.image.topics.items() if topics else ()
    for topic_id, topic in cleared:
        if "" in topics or topic.name in topics:
            yield from ((topic_id, index) for index in sorted(topic.partitions) if clears(topic.partitions[index]))


def _affected_places(
    before: Controller, after: Controller, records: Sequence[ModelRecord], changed: Collection[tuple[str, int]]
) -> Iterator[Place]:
    """The partitions that some records touch: their own, and all of their brokers and topics."""
    partitions = {(r.topic_id, getattr(r, "partition_id", None)) for r in records if hasattr(r, "topic_id")}
    brokers = {r.broker_id for r in records if hasattr(r, "broker_id")}
    topics = {r.name for r in records if isinstance(r, ConfigRecord)}
    general = any(isinstance(r, ConfigRecord) and r.scope != TOPIC and r.key == MIN_ISR for r in records)
    own = {topic_id for topic_id, _ in (*partitions, *changed)}
    for topic_id, topic in after.image.topics.items():
        every = general or topic.name in topics
        if not (every or brokers or topic_id in own):
            continue
        for index, p in sorted(topic.partitions.items()):
            key = topic_id, index
            if every or key in partitions or key in changed or any(p.replicas.has(broker) for broker in brokers):
                yield Place(topic_id, index, p)


def _transition(
    states: tuple[Elections, Elections], partitions: tuple[Partition, Partition], count: int, candidate: Candidate,
    numbering: ElectionsNumbering,
) -> Transition:  # fmt: skip
    """The step of an event, from the states and partitions before and after it, and how many records it wrote."""
    (partition_before, partition_after), action = partitions, candidate.action
    arguments = _arguments(candidate.arguments, numbering)
    target = set(ids(partition_before.isr)) | set(candidate.arguments.get("isr", ()))
    if action in _DEPARTURES:
        target -= {candidate.arguments["broker"]}
    leader_changes = int(partition_after.leader) not in (int(partition_before.leader), NO_LEADER)
    eligible = bool(partition_before.elr.has(partition_after.leader))
    unclean = leader_changes and int(partition_after.leader) not in target and not eligible
    last_known = unclean and bool(partition_before.last_known_elr.has(partition_after.leader)) and states[1].elr_enabled
    from_elr = leader_changes and eligible and int(partition_after.leader) not in target
    unclean_stop = action == "new_incarnation" and not candidate.arguments["clean"]
    completes = (
        bool(partition_before.reassigning())
        and not partition_after.reassigning()
        and action not in ("cancel", "reassign")
    )
    event = ElectionsEvent(
        records=count,
        leader_epoch_bumps=int(partition_after.leader_epoch) - int(partition_before.leader_epoch),
        partition_epoch_bumps=int(partition_after.partition_epoch) - int(partition_before.partition_epoch),
        unclean=unclean, last_known=last_known, from_elr=from_elr, over_isr=from_elr and bool(target),
        completed=completes, misdirected=False, resigned=False, stale_base=False,
        unclean_shutdown=numbering.broker_set([candidate.arguments["broker"]]) if unclean_stop else BrokerSet(),
    )  # fmt: skip
    return Transition(*states, action, arguments, event)


def _arguments(log_arguments: Mapping[str, Any], numbering: ElectionsNumbering) -> dict[str, Any]:
    """The arguments with the numbers of brokers and directories."""
    arguments = dict(log_arguments)
    if "isr" in log_arguments:
        arguments["isr"] = numbering.broker_set(log_arguments["isr"])
    if "failed" in log_arguments:
        arguments["failed"] = numbering.directory_set(log_arguments["broker"], log_arguments["failed"])
    if "broker" in log_arguments:
        arguments["broker"] = numbering.broker(log_arguments["broker"])
    return arguments
