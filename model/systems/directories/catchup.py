"""The catch-up decision table: the step of a broker whose replica metadata assigns to a directory.

Both tables are here: that of KIP-858 ("as the broker catches up with
metadata"), and that of the code (`Partition.createLogInAssignedDirectoryId`,
`LogManager.getOrCreateLog`, `ReplicaManager.maybeUpdateTopicAssignment`).
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, none_of, rule
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.rules.groups import DirectoryRules
from kraftcheck.model.systems.directories.host import (
    ABSENT,
    ACCEPTED,
    IDLE,
    NEW,
    NOTHING,
    OFFLINE,
    SERVING,
    UNOPENED,
    Host,
    Slots,
)


@frozen
class Assigned:
    """The partition in the metadata that a broker applies.

    Attributes:
        directory: the assignment of the broker's replica.
        online: whether the controller takes that directory to be online.
        led: whether the partition has a leader.
        mine: whether the broker leads it.
        written: whether records were written, so that an empty log lacks something.
    """

    directory: Word
    online: Truth
    led: Truth
    mine: Truth
    written: Truth


@frozen
class Verdict:
    """What the table says.

    Attributes:
        read: the assignment is known; the code knows it only where it was rewritten.
        hidden: no log is opened, whether or not one is there.
        opens: an existing log is opened.
        makes: a new log is made.
        fails: the replica is marked offline.
        free: where a log is made, the broker chooses the directory.
    """

    read: Truth
    hidden: Truth
    opens: Truth
    makes: Truth
    fails: Truth
    free: Truth


@rule("catchup.one-table", source="KIP-858; semantics 6.4; Partition.createLogInAssignedDirectoryId",
      switches=("catch-up-as-coded",),
      says="A broker opens, makes or leaves a log by the directory that metadata assigns and by what "
           "its disks hold.")  # fmt: skip
@rule("catchup.readable-log-is-opened", source="B15; KIP-858; semantics 6.4",
      switches=("unknown-directory-hides-log",),
      says="A readable log is opened, whatever directory metadata names.")  # fmt: skip
def decide(host: Host, assigned: Assigned, rules: DirectoryRules) -> Verdict:
    """The table, for a broker that is a replica.

    The host is as after `swapped`: a start may have replaced the log.
    """
    directory, some_offline = assigned.directory, host.some_offline()
    read = _read(host, rules)
    online = host.slot_of(directory) >= 0
    nowhere_here = none_of(online, directory == UNASSIGNED)
    hidden: Truth = False
    if rules.unknown_directory_hides_log:
        counts = nowhere_here if rules.catch_up_as_coded else all_of(nowhere_here, negate(directory == MIGRATING))
        hidden = all_of(read, counts, some_offline)
    skipped: Truth = False if rules.failure_recreates_log else host.replica == OFFLINE
    missing = none_of(host.has_log(), hidden, skipped)
    fillable = _fillable(host, assigned, read, rules)
    fails: Truth = False
    if rules.catch_up_as_coded and not rules.failure_recreates_log:
        fails = all_of(missing, some_offline, negate(host.replica == ABSENT))
    makes = all_of(missing, fillable, negate(fails))
    opens = all_of(host.has_log(), none_of(hidden, skipped))
    return Verdict(read, hidden, opens, makes, fails, all_of(makes, negate(all_of(read, online))))


@rule("catchup.added-replica-reports", source="B12; TopicDelta.localChanges", switches=("added-replica-unreported",),
      says="A broker that becomes a replica reports the directory of its log.")  # fmt: skip
def _read(host: Host, rules: DirectoryRules) -> Truth:
    if not rules.catch_up_as_coded and not rules.added_replica_unreported:
        return True
    known = negate(host.replica == ABSENT) if rules.added_replica_unreported else True
    if rules.catch_up_as_coded:
        known = all_of(known, host.moved)
    return any_of(negate(host.seen), host.known == NEW, known)


@rule("catchup.no-empty-log-for-a-hidden-one", source="KAFKA-16234; KIP-858; catalogue 44",
      switches=("failure-recreates-log", "unassigned-fills-while-offline", "assigned-fills-while-offline"),
      says="No empty log is made while an offline directory may hold the replica.")  # fmt: skip
@rule("catchup.new-partition-gets-a-log", source="KIP-858; KIP-112", switches=("offline-directory-stops-new-logs",),
      says="A partition that is new to a broker gets a log although a directory is offline.")  # fmt: skip
@rule("catchup.no-directory-offline-makes-a-log", source="KIP-858", switches=("unknown-directory-stays-empty",),
      says="With every directory online a replica without a log gets one, even if it is LOST, or "
           "assigned to an unknown directory.")  # fmt: skip
def _fillable(host: Host, assigned: Assigned, read: Truth, rules: DirectoryRules) -> Truth:
    """Whether a log may be made although another directory, which may hold it, is offline."""
    if rules.failure_recreates_log:
        return True
    if rules.offline_directory_stops_new_logs:
        return negate(host.some_offline())
    directory = assigned.directory
    # Only a partition that is new to the broker surely has no log in the directory that is offline.
    enters = any_of(host.known == NEW, all_of(host.seen, host.replica == ABSENT))
    unassigned: Truth = True if rules.unassigned_fills_while_offline else enters
    here: Truth = True if rules.assigned_fills_while_offline else enters
    online = host.slot_of(directory) >= 0
    known = choose(directory == UNASSIGNED, unassigned, all_of(online, here))
    safe = negate(host.some_offline())
    if rules.unknown_directory_stays_empty:
        safe = all_of(safe, any_of(online, directory == UNASSIGNED))
    return any_of(safe, negate(read), known)


@rule("startup.future-log-replaces-only-when-level",
      source="B14; LogManager.recoverAbandonedFutureLogs; catalogue 29", switches=("startup-swap-ignores-offsets",),
      says="At start a future log replaces the current one only where it is as long.")  # fmt: skip
def swapped(host: Host, assigned: Assigned, rules: DirectoryRules) -> Host:
    """At start: a future log in the assigned directory replaces the current one, without comparing offsets (B14).

    Source: `LogManager.recoverAbandonedFutureLogs`.
    """
    if not rules.startup_swap_ignores_offsets:
        return host
    there = all_of(host.disks.has(host.future), host.directory(host.future) == assigned.directory)
    one = host.disks.just(host.future)
    level = all_of(host.copied, negate(host.whole.is_empty()))
    old = host.logs.keep(host.disks)
    after = evolve(
        host,
        logs=host.logs.minus(old).plus(one),
        whole=host.whole.minus(old).plus(choose(level, one, Slots())),
        future=NOTHING,
        copied=False,
    )
    return choose(all_of(negate(host.seen), there), after, host)


def taken(host: Host, assigned: Assigned, slot: Word, rules: DirectoryRules) -> Host:
    """A replica's host after it has applied the metadata; `slot` is where it makes a log, if it may choose."""
    host = swapped(host, assigned, rules)
    verdict = decide(host, assigned, rules)
    place = choose(verdict.free, slot, host.slot_of(assigned.directory))
    made = choose(verdict.makes, host.disks.just(place), Slots())
    opened = any_of(verdict.opens, verdict.makes)
    kept = any_of(host.replica == SERVING, all_of(host.replica == OFFLINE, negate(opened)))
    closed = choose(kept, host.replica, choose(verdict.fails, OFFLINE, UNOPENED))
    after = evolve(
        host,
        seen=True, behind=False, moved=False, known=assigned.directory, leads=assigned.mine,
        logs=host.logs.plus(made),
        whole=host.whole.plus(choose(assigned.written, Slots(), made)),
        replica=choose(opened, SERVING, closed),
    )  # fmt: skip
    return _corrected(_moved_on(after, assigned, rules), assigned, verdict, rules)


@rule("move.metadata-keeps-its-state", source="X4; B13; ReplicaAlterLogDirsThread.addPartitions",
      switches=("epoch-change-forgets-promotion",),
      says="New metadata of a partition keeps the state of a move between directories.")  # fmt: skip
def _moved_on(host: Host, assigned: Assigned, rules: DirectoryRules) -> Host:
    """What metadata does to a move: where the assignment names its target, it is accepted."""
    if rules.epoch_change_forgets_promotion:
        return evolve(host, promotion=choose(host.moving(), IDLE, host.promotion))
    if rules.correction_ignores_future_log:
        return host
    arrived = all_of(host.moving(), assigned.directory == host.directory(host.future))
    return evolve(host, promotion=choose(arrived, ACCEPTED, host.promotion))


@rule("assignment.not-corrected-during-a-move", source="X5; B13; ReplicaManager.maybeUpdateTopicAssignment",
      switches=("correction-ignores-future-log",),
      says="An assignment is not corrected back while a future log waits in the directory that it names.")  # fmt: skip
@rule("assignment.closed-replica-is-lost", source="KIP-858; semantics 6.4", switches=("offline-replica-unreported",),
      says="A replica that stays closed because a directory is offline is reported LOST.")  # fmt: skip
@rule("assignment.single-directory-is-silent", source="KIP-858; semantics 9", switches=("single-directory-silent",),
      says="In the document a broker with one directory corrects only assignments to LOST; in the "
           "code it corrects all.")  # fmt: skip
@rule("catchup.log-elsewhere-is-reported", source="KIP-858",
      switches=("unassigned-log-unreported", "misplaced-log-unreported"),
      says="A replica whose log is not in its assigned directory is reported where it is, also an "
           "UNASSIGNED one.")  # fmt: skip
def _corrected(host: Host, assigned: Assigned, verdict: Verdict, rules: DirectoryRules) -> Host:
    """An assignment is corrected where a readable log is elsewhere, or where the log may be in a dead directory."""
    actual, directory = host.actual(), assigned.directory
    elsewhere = all_of(verdict.read, host.has_log(), negate(actual == directory))
    if not rules.correction_ignores_future_log:
        waiting = all_of(host.moving(), host.directory(host.future) == directory)
        elsewhere = all_of(elsewhere, negate(waiting), host.promotion == IDLE)
    if rules.catch_up_as_coded:  # A partition without log makes the rest of the delta fail where it has a leader.
        able = any_of(host.replica == SERVING, negate(assigned.led))
    else:
        able = all_of(host.replica == SERVING, negate(verdict.hidden))
    if rules.unassigned_log_unreported:
        elsewhere = all_of(elsewhere, any_of(verdict.makes, negate(directory == UNASSIGNED)))
    if rules.misplaced_log_unreported:
        elsewhere = all_of(elsewhere, host.slot_of(directory) == NOTHING)
    correct = all_of(elsewhere, able)
    if rules.single_directory_silent and len(host.names) == 1:
        correct = all_of(correct, directory == LOST)
    after = host.enqueue(correct, actual)
    if rules.offline_replica_unreported:
        return after
    closed = any_of(host.replica == UNOPENED, host.replica == OFFLINE)
    reported = host.ids(host.failed).has(directory - FIRST_LOCAL)
    lost = all_of(closed, negate(host.has_log()), assigned.online, negate(reported))
    return after.enqueue(lost, LOST)


def left(host: Host) -> Host:
    """A host after it has applied metadata in which it is no replica: it deletes what it can reach."""
    reachable = host.disks.has(host.future)
    return evolve(
        host, seen=True, behind=False, moved=False, known=NOTHING, leads=False, replica=ABSENT,
        logs=host.logs.minus(host.disks), whole=Slots(),
        future=choose(reachable, NOTHING, host.future), copied=all_of(host.copied, negate(reachable)),
        promotion=IDLE, ready=NOTHING,
    )  # fmt: skip
