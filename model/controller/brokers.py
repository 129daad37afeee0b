"""Brokers: registration, heartbeats, sessions, and the records of fencing, leaving, stopping and losing directories."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attrs import evolve, field, frozen

from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.errors import RequestError, Resignation, TooManyRecords
from kraftcheck.model.controller.heartbeat import BrokerState, Contacts, Sessions, Wish, contact
from kraftcheck.model.controller.partitions import always, decide_each, in_elr, in_isr, led_by
from kraftcheck.model.controller.state import Controller, LogRecord, Outcome, RegisterControllerRecord, Soft
from kraftcheck.model.language.words import rule
from kraftcheck.model.partition.registration import is_reserved
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    Feature,
    FenceBrokerRecord,
    Ids,
    Listener,
    RegisterBrokerRecord,
    Registration,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.rules.groups import ControllerRules, DirectoryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers import table as triggers
from kraftcheck.model.triggers.leadership import (
    STATE,
    directory_known,
    heard_at_takeover,
    passes_in_order,
    registered_epoch,
    second_sees_first,
    unfencing_offset,
)

Records = tuple[LogRecord, ...]


def fenced(controller: Controller, broker: int, rules: RuleSet) -> Records:
    """A broker is fenced: it leaves ISRs and leadership, the registration follows.

    Raises:
        Resignation: for a broker that is not registered.
    """
    known = _registered(controller, broker)
    changes = decide_each(controller, in_isr(controller, broker), partial(triggers.fence, broker=broker), rules)
    if controller.features.registration_changes:
        return (*changes, BrokerRegistrationChangeRecord(broker, known.epoch, fenced=1))
    return (*changes, FenceBrokerRecord(broker, known.epoch))


def unfenced(controller: Controller, broker: int, rules: RuleSet) -> Records:
    """A broker is unfenced: the registration first, then an election wherever there is no leader."""
    epoch = _registered(controller, broker).epoch
    record: LogRecord = UnfenceBrokerRecord(broker, epoch)
    if controller.features.registration_changes:
        record = BrokerRegistrationChangeRecord(broker, epoch, fenced=-1)
    again = partial(triggers.unfence, broker=broker, rules=rules.partition)
    return (record, *decide_each(controller, controller.places(), again, rules))


def leaving(controller: Controller, broker: int, rules: RuleSet) -> Records:
    """A broker begins a controlled shutdown: the registration says so, then it leaves as if fenced."""
    known = _registered(controller, broker)
    changes = decide_each(controller, in_isr(controller, broker), partial(triggers.fence, broker=broker), rules)
    if controller.features.controlled_shutdown and not known.in_controlled_shutdown:
        return (BrokerRegistrationChangeRecord(broker, known.epoch, in_controlled_shutdown=1), *changes)
    return changes


def unregistered(controller: Controller, broker: int, rules: RuleSet) -> Records:
    """A broker is removed: it leaves ISRs, then ELRs, then its registration goes."""
    known = _registered(controller, broker)
    removed = always(partial(triggers.unregister, broker=broker, rules=rules.partition))
    visited = (*in_isr(controller, broker), *in_elr(controller, broker))
    return (*decide_each(controller, visited, removed, rules), UnregisterBrokerRecord(broker, known.epoch))


def stopped_uncleanly(controller: Controller, broker: int, rules: RuleSet) -> Records:
    """A broker is known to have stopped uncleanly: it leaves ISRs and ELRs; where ELR exists at all."""
    return restarted(controller, broker, False, rules) if controller.features.elr_supported else ()


def restarted(controller: Controller, broker: int, clean: bool, rules: RuleSet) -> Records:
    """A new incarnation ends the membership of ISRs of the earlier one, and after an unclean stop that of ELRs."""
    known = controller.features.elr_supported
    ended = partial(triggers.restart, broker=broker, clean=clean, known=known, rules=rules.partition)
    changes = decide_each(controller, in_isr(controller, broker), ended, rules)
    if not triggers.visits_elr(clean, controller.features.elr(rules.partition), rules.partition):
        return changes
    return (*changes, *decide_each(controller, in_elr(controller, broker), always(ended), rules))


@rule("topic.deletion-unindexes-directories",
      source="B7; semantics 6.3; ReplicationControlManager.handleDirectoriesOffline",
      switches=("deleted-partition-stays-indexed",),
      says="A deleted partition leaves the index of directories, whatever its ISR was.")  # fmt: skip
def directories_failed(controller: Controller, broker: int, failed: Ids, rules: RuleSet) -> Records:
    """Directories of a broker are offline: those that were online count, once.

    The record lists the directories left; where none is left, the code's replay
    takes the empty list for no change (defect X6).

    Raises:
        Resignation: where the index lists a deleted partition (defect B7), or see `decide`.
    """
    known = _registered(controller, broker)
    lost = known.directory_intersection(failed)
    if not lost:
        return ()
    changes: Records = ()
    for directory in lost:
        if rules.controller.deleted_partition_stays_indexed and directory in controller.stale_dirs:
            raise Resignation(f"directory {directory} is indexed for a partition that does not exist")
        if is_reserved(directory):
            continue
        visited = (place for place in controller.places() if _lists(place.partition.directories, directory))
        failure = partial(triggers.directory_failure, broker=broker, failed=True, rules=rules.partition)
        changes = (*changes, *decide_each(controller, visited, failure, rules))
    left = known.directory_difference(failed)
    return (*changes, BrokerRegistrationChangeRecord(broker, known.epoch, log_dirs=left))


@rule("cordoning.reported-by-heartbeat", source="KIP-1066; ReplicationControlManager.processBrokerHeartbeat",
      says="A heartbeat that names other cordoned directories than are on file changes the registration.")  # fmt: skip
def directories_cordoned(controller: Controller, broker: int, cordoned: Ids | None) -> Records:
    """These directories of a broker take no new replica; None of a broker that has not said which.

    The first heartbeat after a registration is a change, also when it names
    none: until then nothing is on file.
    """
    known = _registered(controller, broker)
    on_file = None if known.cordoned is None else set(known.cordoned)
    if cordoned is None or not controller.features.cordoning or on_file == set(cordoned):
        return ()
    return (BrokerRegistrationChangeRecord(broker, known.epoch, cordoned=cordoned),)


@rule("registration.amendment-moves-leaders", source="invariant 11; ClusterControlManager.registerBroker",
      switches=("amendment-keeps-leaders",),
      says="A process that registers again without a directory loses what it leads there.")  # fmt: skip
def amended(controller: Controller, broker: int, dirs: Ids, rules: RuleSet) -> Records:
    """The same process registers again with these directories: replicas on others are no longer led or in sync.

    The code looks at no partition then, so leaders may stay on directories that are registered no more.
    """
    known = controller.registration(broker)
    if rules.controller.amendment_keeps_leaders or known is None or not controller.features.directories:
        return ()
    after = evolve(known, dirs=dirs)
    placed = (place for place in controller.places() if place.partition.replicas.has(broker))
    lost = (p for p in placed if not after.has_online_dir(int(p.partition.directories.of(broker)), rules.partition))
    return decide_each(controller, lost, partial(triggers.leave, broker=broker, when=True), rules)


def _lists(directories: object, directory: int) -> bool:
    return directory in getattr(directories, "ids", ())


def _registered(controller: Controller, broker: int) -> Registration:
    known = controller.registration(broker)
    if known is None:
        raise Resignation(f"broker {broker} is not registered")
    return known


@rule("session.expiry-fences", source="semantics 5; ReplicationControlManager.maybeFenceOneStaleBroker; invariant 40",
      says="A broker whose session has ended is fenced.")  # fmt: skip
def expire_session(controller: Controller, broker: int, rules: RuleSet) -> Outcome[None]:
    """The session of one broker has ended: the broker is fenced.

    Raises:
        Resignation: for a broker that is not registered.
    """
    soft, epoch = controller.soft, _registered(controller, broker).epoch
    after = evolve(soft, sessions=soft.sessions.fence(broker), contacts=soft.contacts.without(broker, epoch))
    return Outcome(fenced(controller, broker, rules), None, after)


@rule("session.expiry-in-table-order", source="KAFKA-17793; ReplicationControlManager.maybeFenceOneStaleBroker",
      switches=("sessions-by-contact", "contacts-hashed-as-lists"),
      says="From 4.0.0 on a session check ends one session that is over, the first in the order of a hash table, and "
           "fences its broker, also a fenced one, unless the epoch is not the broker's.")  # fmt: skip
def fence_stale_broker(controller: Controller, rules: RuleSet) -> Outcome[bool]:
    """The session check: at most one broker is fenced a time; the reply says whether to check again at once.

    Until 3.9 it is the longest silent of the live brokers. From 4.0.0 on it may be no broker: an epoch that a
    heartbeat stated wrongly, or that is an earlier incarnation's, has a session too.
    """
    soft = controller.soft
    if not rules.controller.sessions_by_contact:
        stale = soft.sessions.stale(soft.now)
        return Outcome((), False, soft) if stale is None else _expired(controller, stale, rules)
    ended = soft.contacts.first_ended(soft.now, soft.sessions.timeout)
    if ended is None:
        return Outcome((), False, soft)
    known = controller.registration(ended.broker)
    if known is not None and known.epoch == ended.epoch:
        return _expired(controller, ended.broker, rules)
    sessions = soft.sessions if known is not None else soft.sessions.remove(ended.broker)
    contacts = soft.contacts.without(ended.broker, ended.epoch)
    return Outcome((), True, evolve(soft, sessions=sessions, contacts=contacts))


def _expired(controller: Controller, broker: int, rules: RuleSet) -> Outcome[bool]:
    outcome = expire_session(controller, broker, rules)
    return Outcome(outcome.records, True, outcome.soft)


def unregister(controller: Controller, broker: int, rules: RuleSet) -> Outcome[None]:
    """An administrator removes a broker.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED; POLICY_VIOLATION for a broker in so
            many ISRs that the records are too many for one request.
    """
    if controller.registration(broker) is None:
        raise RequestError("BROKER_ID_NOT_REGISTERED")
    records = unregistered(controller, broker, rules)
    if len(records) > controller.settings.max_records:
        raise TooManyRecords
    return Outcome(records, None, controller.soft)


def unclean_shutdown(controller: Controller, broker: int, rules: RuleSet) -> Outcome[None]:
    """The controller learns that a broker stopped uncleanly; its registration stays as it is."""
    return Outcome(stopped_uncleanly(controller, broker, rules), None, controller.soft)


def directories_offline(
    controller: Controller, broker: int, broker_epoch: int, failed: Ids, rules: RuleSet
) -> Outcome[None]:
    """A broker reports failed directories outside a heartbeat.

    Raises:
        RequestError: STALE_BROKER_EPOCH.
    """
    controller.check_epoch(broker, broker_epoch)
    return Outcome(directories_failed(controller, broker, failed, rules), None, controller.soft)


@rule("session.of-each-contact", source="KAFKA-17793; QuorumController.processBrokerHeartbeat; BrokerHeartbeatTracker",
      switches=("sessions-by-contact", "contacts-hashed-as-lists"),
      says="A heartbeat renews the session of a broker that is unfenced.")  # fmt: skip
def heard(soft: Soft, broker: int, epoch: int, rules: ControllerRules) -> Soft:
    """A heartbeat arrives; that counts even where the heartbeat is refused later."""
    if not rules.sessions_by_contact:
        return soft
    of = contact(broker, epoch, rules.contacts_hashed_as_lists)
    return evolve(soft, contacts=soft.contacts.heard(of, soft.now))


@rule(
    "session.valid-though-fenced",
    source="KAFKA-17793; BrokerHeartbeatManager.hasValidSession",
    switches=("sessions-by-contact",),
    says="A broker is in session while it is heard of and unfenced.",
)
def in_session(soft: Soft, known: Registration, rules: ControllerRules) -> bool:
    """Whether a registered broker is in session, so that no other process may register its id."""
    if not rules.sessions_by_contact:
        return soft.sessions.is_valid(known.id, soft.now)
    return soft.contacts.is_valid(known.id, known.epoch, soft.now, soft.sessions.timeout)


def taken_over(controller: Controller, rules: ControllerRules) -> Controller:
    """The state of a controller that takes over now: what only its predecessor knew is gone.

    The order in which the registrations are visited shows where sessions share a bin of the table.
    """
    soft = evolve(controller.soft, sessions=Sessions(controller.soft.sessions.timeout), contacts=Contacts())
    for known in controller.image.registrations_in_order():
        soft = evolve(soft, sessions=soft.sessions.register(known.id, known.fenced, soft.now))
        if heard_at_takeover(known.fenced, rules):
            soft = heard(soft, known.id, known.epoch, rules)
    return evolve(controller, soft=soft)


METADATA_VERSION = "metadata.version"
"""The feature that every broker supports; until 3.9 one that names no range is assumed to support its first level."""


@frozen
class RegistrationRequest:
    """A broker asks to be registered.

    Attributes:
        cluster_id: the cluster it believes to be in.
        broker, incarnation: its id and the identity of its process.
        dirs: its online directories.
        is_migrating_zk_broker: whether it runs in ZooKeeper mode.
        previous_epoch: epoch before a clean stop, if there was one; read only
            where the rules tell clean stops from others.
    """

    cluster_id: str | None
    broker: int
    incarnation: str
    listeners: tuple[Listener, ...] = ()
    features: tuple[Feature, ...] = ()
    rack: str | None = None
    dirs: Ids = ()
    is_migrating_zk_broker: bool = False
    previous_epoch: int | None = None


@frozen
class RegistrationContext:
    """Everything but the state that a registration depends on.

    Attributes:
        finalized: level of each finalized feature.
        new_epoch: epoch of a new incarnation; None takes `next_epoch`.
    """

    finalized: Mapping[str, int] = field(factory=dict)
    new_epoch: int | None = None


@rule("registration.live-broker-is-duplicate", source="semantics 5; ClusterControlManager.registerBroker",
      says="Another process may not register an id while its broker is in session.")  # fmt: skip
def register_broker(
    controller: Controller, request: RegistrationRequest, context: RegistrationContext, rules: RuleSet
) -> Outcome[int]:
    """A registration; the reply is the broker's epoch.

    A new incarnation starts fenced and out of controlled shutdown, with a new
    session; the same incarnation only amends what it told before, and (mended)
    leads nothing on a directory that it tells of no more.

    Raises:
        RequestError: in this order INCONSISTENT_CLUSTER_ID,
            DUPLICATE_BROKER_REGISTRATION, BROKER_ID_NOT_REGISTERED,
            INVALID_REGISTRATION (INVALID_REQUEST in the document, where no
            directory is named), UNSUPPORTED_VERSION.
    """
    broker, soft = request.broker, controller.soft
    known = controller.registration(broker)
    if controller.settings.cluster_id != request.cluster_id:
        raise RequestError("INCONSISTENT_CLUSTER_ID")
    amends = known is not None and known.incarnation == request.incarnation
    if known is not None and not amends and in_session(soft, known, rules.controller):
        raise RequestError("DUPLICATE_BROKER_REGISTRATION")
    if request.is_migrating_zk_broker:
        raise RequestError("BROKER_ID_NOT_REGISTERED", "zookeeper_mode")
    if controller.features.directories:
        _check_directories(controller, request, rules.controller)
    features = _supported(request.features, context.finalized, rules.controller)
    new_epoch = next_epoch(controller, rules.controller) if context.new_epoch is None else context.new_epoch
    current = new_epoch if known is None else known.epoch
    epoch = int(registered_epoch(amends, current, new_epoch, rules.controller))
    record = RegisterBrokerRecord(
        broker_id=broker,
        broker_epoch=epoch,
        incarnation=request.incarnation,
        listeners=request.listeners,
        features=features,
        rack=request.rack,
        fenced=known.fenced if known is not None and amends else True,
        in_controlled_shutdown=known.in_controlled_shutdown if known is not None and amends else False,
        log_dirs=request.dirs if controller.features.directories else (),
    )
    dirs = record.log_dirs
    ended = amended(controller, broker, dirs, rules) if amends else _ended(controller, known, request, rules)
    sessions = soft.sessions if amends else soft.sessions.remove(broker)
    sessions = sessions.register(broker, record.fenced, soft.now)
    return _written(ended, record, evolve(soft, sessions=sessions), rules.controller)


@rule("broker-epoch.is-offset-of-record", source="KAFKA-15213",
      switches=("epoch-passes-over-quorum",),
      says="The epoch of a new incarnation is the offset of its record; until 3.5 records that the quorum wrote for "
           "itself just before are not counted.")  # fmt: skip
def next_epoch(controller: Controller, rules: ControllerRules) -> int:
    """The epoch of a registration that is written now."""
    end = controller.image.next_offset
    first, after = controller.soft.quorum
    return first if rules.epoch_passes_over_quorum and after == end else end


@rule("registration.record-is-written-last", source="ClusterControlManager.registerBroker",
      switches=("registration-is-one-batch",),
      says="A registration writes first what it ends, and then the broker's record, which from 4.0.0 on may be in a "
           "later batch.")  # fmt: skip
def _written(ended: Records, record: RegisterBrokerRecord, soft: Soft, rules: ControllerRules) -> Outcome[int]:
    """Where a controller fails between two batches, the broker is not registered: it asks again."""
    return Outcome((*ended, record), record.broker_epoch, soft, atomic=rules.registration_is_one_batch)


@rule("registration.directories-own-and-unreserved", source="semantics 5; KIP-858; invariant 19",
      switches=("no-directories-is-invalid-request",),
      says="A registration names at least one directory, none reserved, none twice and none of "
           "another broker.")  # fmt: skip
def _check_directories(controller: Controller, request: RegistrationRequest, rules: ControllerRules) -> None:
    """The document answers a list that is empty as a malformed request, the code as any list that it refuses.

    The right rules answer as the code does: one error for every fault of the list, and the one that brokers of all
    releases know. Nothing else differs, since a broker treats both as a registration to try again.
    """
    if not request.dirs:
        error = "INVALID_REQUEST" if rules.no_directories_is_invalid_request else "INVALID_REGISTRATION"
        raise RequestError(error, "no_directories")
    if any(is_reserved(directory) for directory in request.dirs):
        raise RequestError("INVALID_REGISTRATION", "reserved_directory")
    if len(set(request.dirs)) != len(request.dirs):
        raise RequestError("INVALID_REGISTRATION", "duplicate_directory")
    for directory in request.dirs:
        if controller.image.directory_owner(directory) not in (None, request.broker):
            raise RequestError("INVALID_REGISTRATION", "directory_owned_by_other_broker")


@rule("registration.supports-finalized-features", source="semantics 5; ClusterControlManager.registerBroker",
      switches=("metadata-version-range-required",),
      says="A broker supports the level of each finalized feature, and from 4.0.0 on names its range of "
           "metadata.version.")  # fmt: skip
def _supported(
    features: tuple[Feature, ...], finalized: Mapping[str, int], rules: ControllerRules
) -> tuple[Feature, ...]:
    """The features to register, once each finalized level is in the broker's range.

    A feature that the broker does not name has the range 0 to 0, the metadata
    version, where it may be left out, the range 1 to 1.
    """
    named, registered = {feature.name for feature in features}, features
    for feature in features:
        _check_level(feature, finalized)
    if METADATA_VERSION not in named:
        if rules.metadata_version_range_required:
            raise RequestError("INVALID_REGISTRATION", "no_metadata_version")
        registered = (*features, Feature(METADATA_VERSION, 1, 1))
        _check_level(registered[-1], finalized)
    for name in sorted(finalized.keys() - named - {METADATA_VERSION}):
        if finalized[name] != 0:
            _check_level(Feature(name, 0, 0), finalized)
    return registered


def _check_level(feature: Feature, finalized: Mapping[str, int]) -> None:
    level = finalized.get(feature.name, 1 if feature.name == METADATA_VERSION else 0)
    if not feature.min_level <= level <= feature.max_level:
        accepted = [feature.min_level, feature.max_level]
        raise RequestError("UNSUPPORTED_VERSION", feature=feature.name, finalized=level, accepted_range=accepted)


def _ended(controller: Controller, known: Registration | None, request: RegistrationRequest, rules: RuleSet) -> Records:
    """The memberships that a new incarnation ends: of ISRs, and after an unclean stop of ELRs.

    The code takes every stop for unclean (KAFKA-18635), and does nothing below
    the metadata versions with ELR (defect B6).
    """
    clean = known is not None and request.previous_epoch == known.epoch
    return restarted(controller, request.broker, clean, rules)


def register_controller(controller: Controller, record: RegisterControllerRecord) -> Outcome[None]:
    """A controller registers.

    Raises:
        RequestError: UNSUPPORTED_VERSION.
    """
    if not controller.features.controller_registration:
        raise RequestError("UNSUPPORTED_VERSION", "no_controller_registration")
    return Outcome((record,), None, controller.soft, atomic=True)


@frozen
class HeartbeatRequest:
    """A heartbeat.

    Attributes:
        broker, broker_epoch: the sender and the epoch it registered with.
        wish: what it asks for, and how far it has applied the log.
        offline_dirs: every directory that failed since it started.
        cordoned_dirs: every directory that takes no new replica; None before the broker knows that it may say so.
    """

    broker: int
    broker_epoch: int
    wish: Wish
    offline_dirs: Ids = ()
    cordoned_dirs: Ids | None = None


@frozen
class HeartbeatReply:
    """The answer to a heartbeat."""

    caught_up: bool
    fenced: bool
    in_controlled_shutdown: bool
    should_shut_down: bool


def heartbeat(
    controller: Controller, request: HeartbeatRequest, rules: RuleSet, registration_offset: int | None = None
) -> Outcome[HeartbeatReply]:
    """A heartbeat is processed, at the time when it arrives.

    Args:
        registration_offset: where the broker's registration record is; None
            takes what was replayed.

    Raises:
        RequestError: STALE_BROKER_EPOCH; the sender is `heard` of all the same.
        Resignation: when the broker has no session, or see `decide`.
    """
    broker, wish = request.broker, request.wish
    soft = heard(controller.soft, broker, request.broker_epoch, rules.controller)
    if registration_offset is None:
        registration_offset = controller.image.registration_offsets.get(broker)
    if registration_offset is None:
        raise RequestError("STALE_BROKER_EPOCH", "not_registered")
    controller.check_epoch(broker, request.broker_epoch)
    leads = bool(led_by(controller, broker))
    known = directories_known(controller, broker, rules.directories)
    current = soft.sessions.state(broker)
    offset = int(unfencing_offset(registration_offset, controller.image.next_offset - 1, rules.controller))
    after = soft.sessions.next_state(broker, wish, offset, leads, known)
    records = _records(controller, request, after if after is not current else None, rules)
    sessions = soft.sessions.touch(broker, after.fenced, wish.metadata_offset, soft.now)
    leaves = after is BrokerState.CONTROLLED_SHUTDOWN
    caught_up = wish.metadata_offset >= registration_offset
    reply = HeartbeatReply(caught_up, after.fenced, leaves, after.should_shut_down)
    return Outcome(records, reply, evolve(soft, sessions=sessions), broker if leaves else None)


def directories_known(controller: Controller, broker: int, rules: DirectoryRules) -> bool:
    """Whether the controller knows, as far as it asks, in which directory each replica of a broker is."""
    known = controller.registration(broker)
    if known is None or not controller.features.directories:
        return True
    placed = (place.partition for place in controller.places() if place.partition.replicas.has(broker))
    return all(directory_known(True, p.directories.of(broker), len(known.dirs), rules) for p in placed)


def _records(controller: Controller, request: HeartbeatRequest, becomes: BrokerState | None, rules: RuleSet) -> Records:
    """The two passes, the change of state and the failed directories; then the cordoned ones, which move nothing."""
    failed = request.offline_dirs if controller.features.directories else ()
    decided: Records = ()
    for step in passes_in_order(rules.partition):
        if step == STATE:
            records = _change_of_state(controller, request.broker, becomes, rules)
        else:
            records = directories_failed(controller, request.broker, failed, rules)
        if second_sees_first(rules.partition):
            controller = replay_all(controller, records, rules)
        decided = (*decided, *records)
    return (*decided, *directories_cordoned(controller, request.broker, request.cordoned_dirs))


def _change_of_state(controller: Controller, broker: int, becomes: BrokerState | None, rules: RuleSet) -> Records:
    if becomes is None:
        return ()
    if becomes is BrokerState.UNFENCED:
        return unfenced(controller, broker, rules)
    if becomes is BrokerState.CONTROLLED_SHUTDOWN:
        return leaving(controller, broker, rules)
    return fenced(controller, broker, rules)


@rule("heartbeat.expired-counts-as-contact",
      source="semantics 5; ReplicationControlManager.processExpiredBrokerHeartbeat",
      says="A heartbeat that waited too long counts as contact and does nothing else.")  # fmt: skip
def expired_heartbeat(controller: Controller, request: HeartbeatRequest, rules: RuleSet) -> Outcome[None]:
    """A heartbeat that waited too long: it counts as contact and does nothing else.

    Raises:
        RequestError: STALE_BROKER_EPOCH; the sender is `heard` of all the same.
    """
    known = controller.check_epoch(request.broker, request.broker_epoch)
    soft = heard(controller.soft, request.broker, request.broker_epoch, rules.controller)
    sessions = soft.sessions.touch(request.broker, known.fenced, request.wish.metadata_offset, soft.now)
    return Outcome((), None, evolve(soft, sessions=sessions))
