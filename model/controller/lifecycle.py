"""Broker lifecycle: the records of fencing, unfencing, leaving, stopping and losing directories.

Each function gives the records of one trigger; the handlers at the end are
the events that are nothing else. Source: `ReplicationControlManager`,
`handleBroker...` and `handleDirectoriesOffline`.
"""

from __future__ import annotations

from functools import partial

from attrs import evolve

from kraftcheck.model.controller.errors import RequestError, Resignation, TooManyRecords
from kraftcheck.model.controller.passes import always, decide_each, in_elr, in_isr
from kraftcheck.model.controller.records import LogRecord
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.language.rule import rule
from kraftcheck.model.partition.directories import is_reserved
from kraftcheck.model.records.brokers import Registration
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    Ids,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.triggers import table as triggers

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
