"""Broker processes and their disks: failures, stops, starts, and what operators do to disks.

The catch-up decision table: the step of a broker whose replica metadata assigns to a directory.
Both tables are here: that of KIP-858 ("as the broker catches up with
metadata"), and that of the code (`Partition.createLogInAssignedDirectoryId`,
`LogManager.getOrCreateLog`, `ReplicaManager.maybeUpdateTopicAssignment`).
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, none_of, rule, word
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.rules.groups import DirectoryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    ACCEPTED,
    IDLE,
    METADATA,
    NEW,
    NOTHING,
    OFFLINE,
    SERVING,
    UNOPENED,
    Host,
    Placement,
    Slots,
    decided,
    failing,
)
from kraftcheck.model.systems.elections.triggers import Triggers


@frozen
class Assigned:
    """The partition in the metadata that a broker applies."""

    directory: Word  # the assignment of the broker's replica
    online: Truth  # whether the controller takes that directory to be online
    led: Truth  # whether the partition has a leader
    mine: Truth  # whether the broker leads it
    written: Truth  # whether records were written, so that an empty log lacks something
    barred: Slots | None = None  # the broker's cordoned directories; None where the scope cordons none


@frozen
class Verdict:
    """The entry of the table."""

    read: Truth  # the assignment is known; the code knows it only where it was rewritten
    hidden: Truth  # no log is opened, whether or not one is there
    opens: Truth  # an existing log is opened
    makes: Truth  # a new log is made
    fails: Truth  # the replica is marked offline
    free: Truth  # where a log is made, the broker chooses the directory


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
    if assigned.barred is not None and not rules.cordoned_directory_as_last_resort:
        places = takes_logs(host, assigned.barred, rules)
        online = places.has(host.slot_of(directory))
        makes = all_of(makes, negate(places.is_empty()))
    opens = all_of(host.has_log(), none_of(hidden, skipped))
    return Verdict(read, hidden, opens, makes, fails, free=all_of(makes, negate(all_of(read, online))))


@rule("cordoning.takes-no-new-log", source="KIP-1066; LogManager.nextLogDirs",
      switches=("cordoned-directory-as-last-resort",),
      says="No log is made in a cordoned directory: a replica for which there is no other waits for one.")  # fmt: skip
def takes_logs(host: Host, barred: Slots | None, rules: DirectoryRules) -> Slots:
    """The directories where a broker makes a log for which metadata names none."""
    if barred is None:
        return host.disks
    others = host.disks.minus(barred)
    if rules.cordoned_directory_as_last_resort:
        return choose(others.is_empty(), host.disks.just(host.disks.first()), others)
    return others


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


def _with_one_log(host: Host, slot: Word) -> Host:
    """A host that deletes the other log it can read where there are two."""
    other = host.logs.keep(host.disks).minus(host.disks.just(slot))
    fewer = evolve(host, logs=host.logs.minus(other), whole=host.whole.minus(other))
    return choose(host.logs.keep(host.disks).size() > 1, fewer, host)


@frozen
class Process:
    """The effects and guards under one rule set."""

    rules: RuleSet  # the rule set
    keeps_metadata: bool = False  # whether the first directory of a broker has the metadata log too
    tears: bool = False  # whether a promotion may have left two logs of the partition

    def may_fail(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """Any working disk may fail, under a running process or not."""
        return {"disk works": state.host(broker).disks.has(slot), "a failure is left": state.left.failures > 0}

    def fail(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """A disk fails."""
        after = failing(state.host(broker), slot, self.rules.directories, self.keeps_metadata)
        return state.spend("failures").with_host(broker, after)

    def may_crash(self, state: Placement, broker: Word) -> Conjuncts:
        """Any running process may stop."""
        return {"broker runs": state.host(broker).up, "a crash is left": state.left.crashes > 0}

    def crash(self, state: Placement, broker: Word) -> Placement:
        """The process dies; what is on its disks stays."""
        return state.spend("crashes").with_host(broker, state.host(broker).stopped())

    def may_stop(self, state: Placement, broker: Word) -> Conjuncts:
        """A controlled shutdown is granted once the broker leads nothing."""
        return {
            "broker runs": state.host(broker).up,
            "broker is in controlled shutdown": state.controller.shutting_down.has(broker),
            "broker leads nothing": negate(state.controller.leader == broker),
        }

    def stop(self, state: Placement, broker: Word) -> Placement:
        """The process ends, and marks every directory that works as closed."""
        host = state.host(broker)
        return state.with_host(broker, evolve(host.stopped(), clean=host.disks))

    @rule("restart.clean-with-every-directory", source="KIP-966; LogManager",
          switches=("clean-with-any-directory",),
          says="A start is clean only where each directory works and has the mark of the last clean stop.")  # fmt: skip
    def starts_clean(self, host: Host) -> Truth:
        """Whether the broker says that its last process stopped cleanly."""
        marked = host.clean.keep(host.disks)
        any_is_enough = self.rules.directories.clean_with_any_directory
        return negate(marked.is_empty()) if any_is_enough else marked.size() == len(host.names)

    @rule("directory-failure.unreported-stops-broker", source="KIP-858; semantics 6.7; semantics 9",
          switches=("timeout-only-if-leading",),
          says="A broker that cannot report a failed directory in time stops; in the document only if "
               "it leads in that directory.")  # fmt: skip
    @rule("assignment.into-failed-directory-stops-broker", source="KIP-858", switches=("assignments-never-time-out",),
          says="A broker that cannot tell in time which replica was in a failed directory stops.")  # fmt: skip
    def may_time_out(self, state: Placement, broker: Word) -> Conjuncts:
        """A failure, or an assignment into what failed, was not acknowledged for log.dir.failure.timeout.ms."""
        host, rules = state.host(broker), self.rules.directories
        untold = negate(host.failed.within(host.told))
        if not rules.assignments_never_time_out:
            untold = any_of(untold, host.assigns_what_failed())
        leading = all_of(host.leads, host.replica == OFFLINE) if rules.timeout_only_if_leading else True
        return {"broker runs": host.up, "a failure is not acknowledged": all_of(untold, leading)}

    def time_out(self, state: Placement, broker: Word) -> Placement:
        """The broker stops, so that the controller will elect another leader."""
        return state.with_host(broker, state.host(broker).stopped())

    @rule("startup.directory-ids-differ", source="KIP-858; LogManager.loadDirectoryIds",
          switches=("duplicate-ids-start",),
          says="A broker with two directories of one id does not start.")  # fmt: skip
    @rule("startup.keeps-the-log-that-metadata-names", source="LogManager.loadLog; KIP-858",
          switches=("duplicate-log-stops-start",),
          says="Of two logs of a partition a start keeps the one in the directory that metadata names.")  # fmt: skip
    def may_start(self, state: Placement, broker: Word) -> Conjuncts:
        """A stopped process comes back: LogManager refuses two equal ids, and two logs unless one is named."""
        host = state.host(broker)
        named: Truth = False
        if self.tears and not self.rules.directories.duplicate_log_stops_start:
            named = host.logs.keep(host.disks).has(host.slot_of(state.assigned(broker)))
        return {
            "broker is stopped": negate(host.up),
            "a directory works": negate(host.disks.is_empty()),
            "the metadata log can be read": any_of(not self.keeps_metadata, host.disks.has(METADATA)),
            "directory ids differ": any_of(self.rules.directories.duplicate_ids_start, host.distinct_ids()),
            "the partition is in one directory": any_of(host.logs.keep(host.disks).size() <= 1, named),
        }

    @rule("directory-id.reserved-not-drawn", source="KIP-858; DirectoryId.random; semantics 6.1",
          switches=("reserved-ids-drawn",), says="No reserved id is drawn for a directory.")  # fmt: skip
    def start(self, state: Placement, broker: Word) -> Outcome:
        """Missing ids are generated, and a new incarnation registers with the working directories."""
        host = state.host(broker)
        if self.tears:
            host = _with_one_log(host, host.slot_of(state.assigned(broker)))
        names, drawn = [], host.drawn
        for slot, name in enumerate(host.names):
            missing = all_of(host.disks.has(slot), name == NOTHING)
            # A drawn id was never seen before; the defect draws LOST.
            fresh = NOTHING if self.rules.directories.reserved_ids_drawn else len(host.names) + drawn
            names.append(choose(missing, fresh, name))
            drawn = drawn if self.rules.directories.reserved_ids_drawn else drawn + word(missing)
        begun, clean = evolve(host, up=True, names=tuple(names), drawn=drawn, clean=Slots()), self.starts_clean(host)
        told = Triggers(self.rules).new_incarnation(state.controller, broker, clean, begun.ids(begun.disks))
        return decided(state.with_host(broker, begun), told, self.rules.directories)

    @rule("registration.again-once-directories-are-known",
          source="KAFKA-16162; BrokerLifecycleManager.resendBrokerRegistrationUnlessZkMode",
          switches=("registration-without-directories",),
          says="A broker registers again when its registration lists no directory.")  # fmt: skip
    def may_register_again(self, state: Placement, broker: Word) -> Conjuncts:
        """The metadata version knows directories now, and the registration lists none (KAFKA-16162)."""
        return {
            "broker runs": state.host(broker).up,
            "no directory is on file": state.controller.dirs_of(broker).is_empty(),
            "broker is registered": state.controller.registered.has(broker),
            "brokers register again": not self.rules.directories.registration_without_directories,
        }

    @rule("registration.again-keeps-fencing", source="KAFKA-16757; catalogue 45", switches=("reregistration-fences",),
          says="Registering again in the same incarnation does not fence the broker.")  # fmt: skip
    def register_again(self, state: Placement, broker: Word) -> Placement:
        """The same incarnation registers with the directories it started with; failed ones are among them."""
        host, controller = state.host(broker), state.controller
        amended = controller.with_dirs(broker, host.ids(host.disks.plus(host.failed)))
        if self.rules.directories.reregistration_fences:
            amended = evolve(amended, fenced=amended.fenced.plus(BrokerSet().just(broker)))
        # The code looks at assignments again only where they change.
        looks = not self.rules.directories.catch_up_as_coded
        host = evolve(host, behind=any_of(host.behind, all_of(looks, state.controller.replicas.has(broker))))
        return evolve(state, controller=amended).with_host(broker, host)

    def may_repair(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator repairs a disk of a stopped broker."""
        host = state.host(broker)
        return {
            "broker is stopped": negate(host.up),
            "disk does not work": negate(host.disks.has(slot)),
            "a repair is left": state.left.repairs > 0,
        }

    def repair(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """The disk is back, with what was on it."""
        host = state.host(broker)
        return state.spend("repairs").with_host(broker, evolve(host, disks=host.disks.plus(host.disks.just(slot))))

    def may_replace(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator puts in another disk."""
        return {"broker is stopped": negate(state.host(broker).up), "a change is left": state.left.disk_changes > 0}

    def replace(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """An empty disk without meta.properties; what was on the old one is gone."""
        host = state.host(broker)
        one = host.disks.just(slot)
        gone = host.future == slot
        fresh = evolve(
            host,
            disks=host.disks.plus(one), logs=host.logs.minus(one), whole=host.whole.minus(one),
            clean=host.clean.minus(one),
            future=choose(gone, NOTHING, host.future), copied=all_of(host.copied, negate(gone)),
            names=tuple(choose(slot == s, NOTHING, name) for s, name in enumerate(host.names)),
        )  # fmt: skip
        after = state.spend("disk_changes").with_host(broker, fresh)
        return evolve(after, lossy=any_of(state.lossy, host.logs.has(slot)))

    def may_clone(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator copies a meta.properties file from the first directory to another."""
        host = state.host(broker)
        return {
            "broker is stopped": negate(host.up),
            "a change is left": state.left.disk_changes > 0,
            "both disks work": all_of(host.disks.has(0), host.disks.has(slot)),
            "it is another directory": negate(slot == 0),
        }

    def clone(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """Two directories have one id now."""
        host = state.host(broker)
        names = tuple(choose(slot == s, host.names[0], name) for s, name in enumerate(host.names))
        return state.spend("disk_changes").with_host(broker, evolve(host, names=names))

    def may_cordon(self, state: Placement, broker: Word, slot: Word, cordoned: Truth) -> Conjuncts:
        """An operator changes `cordoned.log.dirs`, also of a stopped broker."""
        return {"it is a change": negate(state.cordoned_of(broker).has(slot) == cordoned)}

    @rule("cordoning.keeps-what-is-there", source="KIP-1066", switches=("cordoning-closes-replicas",),
          says="A cordoned directory serves the replicas that it has; only new ones go elsewhere.")  # fmt: skip
    def cordon(self, state: Placement, broker: Word, slot: Word, cordoned: Truth) -> Placement:
        """A directory is cordoned, or is so no more; then a replica that waits for a directory gets its log."""
        host, one = state.host(broker), Slots().just(slot)
        found = state.cordoned_of(broker)
        after = choose(cordoned, found.plus(one), found.minus(one))
        changed = tuple(choose(broker == b, after, old) for b, old in enumerate(state.cordoned))
        waits = all_of(negate(cordoned), host.replica == UNOPENED)
        closes = self.rules.directories.cordoning_closes_replicas
        closed = all_of(closes, cordoned, host.serving(), host.current() == slot)
        host = evolve(host, behind=any_of(host.behind, waits), replica=choose(closed, UNOPENED, host.replica))
        return evolve(state, cordoned=changed).with_host(broker, host)

    def assignment(self, state: Placement, broker: Word) -> Assigned:
        """The partition in the newest metadata, as a broker reads it."""
        controller, directory = state.controller, state.assigned(broker)
        return Assigned(
            directory, state.online(broker, directory, self.rules.partition), controller.leader >= 0,
            controller.leader == broker, state.written, state.barred(broker),
        )  # fmt: skip

    def may_apply(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """There is metadata to apply; a directory is chosen only where a log is made."""
        host, assigned = state.host(broker), self.assignment(state, broker)
        replica = state.controller.replicas.has(broker)
        verdict = decide(swapped(host, assigned, self.rules.directories), assigned, self.rules.directories)
        chooses = all_of(replica, verdict.free)
        return {
            "broker runs": host.up,
            "metadata is newer": any_of(host.behind, negate(host.seen)),
            "the directory chosen works": choose(
                chooses, takes_logs(host, assigned.barred, self.rules.directories).has(slot), slot == 0
            ),
        }

    def apply(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """The broker applies all metadata there is: it opens, makes or deletes its log, and corrects its assignment."""
        host = state.host(broker)
        replica = state.controller.replicas.has(broker)
        after = choose(replica, taken(host, self.assignment(state, broker), slot, self.rules.directories), left(host))
        return state.with_host(broker, after)
