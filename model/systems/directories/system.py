"""The `directories` system: actions, bounds and scopes.

Moves of a replica between directories of one broker, and the queue of assignments that they and metadata fill.
Source: `ReplicaAlterLogDirsThread`, `AssignmentsManager`; KIP-858, KIP-113.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import all_records, numbers
from kraftcheck.model.language.system import (
    ANY,
    Action,
    Arrow,
    Bound,
    Conjuncts,
    Legend,
    Outcome,
    Setting,
    System,
    event,
    events,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule, word
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.rules.groups import CONTROLLER_GROUPS
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.control import Control
from kraftcheck.model.systems.directories.process import Process
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    ACCEPTED,
    IDLE,
    MIGRATION,
    NOTHING,
    QUEUED,
    UPGRADE,
    Placement,
    Slots,
    decided,
    failing,
    initial,
    layout,
)
from kraftcheck.model.systems.elections import system as guards
from kraftcheck.model.systems.elections.system import (
    BROKER,
    CONTROLLER,
    CONTROLLER_ARROWS,
    OPERATOR,
    STRIP,
    lanes,
    replica_lists,
)
from kraftcheck.model.systems.elections.triggers import Triggers, gate, start
from kraftcheck.model.triggers.leadership import answers_uncommitted


@frozen
class Moves:
    """The effects and guards of AlterReplicaLogDirs and AssignReplicasToDirs under one rule set."""

    rules: RuleSet  # the rule set
    keeps_metadata: bool = False  # whether the first directory of a broker has the metadata log too

    @rule("cordoning.takes-no-move", source="KIP-1066; ReplicaManager.alterReplicaLogDirs",
          switches=("cordoned-target-accepted",), says="No move into a cordoned directory begins.")  # fmt: skip
    def may_move(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator asks for another directory; refused while any directory is offline, or a move runs."""
        host = state.host(broker)
        return {
            "replica is served": host.serving(),
            "every directory works": negate(host.some_offline()),
            "no move runs": host.future == NOTHING,
            "it is another directory": negate(host.current() == slot),
            "a move is left": state.left.moves > 0,
            **self._not_cordoned(state, broker, slot, self.rules.directories.cordoned_target_accepted),
        }

    def _not_cordoned(self, state: Placement, broker: Word, slot: Word, ignored: bool) -> Conjuncts:
        """Guard of an operator's request: the directory that it names is not cordoned."""
        barred = state.barred(broker)
        return {} if ignored or barred is None else {"it is not cordoned": negate(barred.has(slot))}

    def move(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """AlterReplicaLogDirs: an empty future log is made."""
        host = evolve(state.host(broker), future=slot, copied=False, promotion=IDLE)
        return state.spend("moves").with_host(broker, host)

    @rule("cordoning.move-can-be-taken-back", source="KIP-113; KIP-1066; ReplicaManager.alterReplicaLogDirs",
          switches=("cordoned-source-keeps-move",),
          says="A move is taken back although the directory where the replica is has been cordoned.")  # fmt: skip
    def may_cancel(self, state: Placement, broker: Word) -> Conjuncts:
        """An operator asks for the directory where the replica is."""
        host, ignored = state.host(broker), not self.rules.directories.cordoned_source_keeps_move
        barred = self._not_cordoned(state, broker, host.current(), ignored)
        return {"a move runs": host.moving(), "a move is left": state.left.moves > 0, **barred}

    def cancel(self, state: Placement, broker: Word) -> Placement:
        """AlterReplicaLogDirs back: the future log is deleted, its assignment taken back."""
        host = state.host(broker)
        reverted = host.enqueue(negate(host.promotion == IDLE), host.actual())
        reverted = evolve(reverted, future=NOTHING, copied=False, promotion=IDLE)
        return state.spend("moves").with_host(broker, reverted)

    def may_copy(self, state: Placement, broker: Word) -> Conjuncts:
        """The future log is behind."""
        host = state.host(broker)
        return {"a move runs": host.moving(), "future log is behind": negate(host.copied)}

    def copy(self, state: Placement, broker: Word) -> Placement:
        """The future log catches up."""
        return state.with_host(broker, evolve(state.host(broker), copied=True))

    def may_request(self, state: Placement, broker: Word) -> Conjuncts:
        """The future log is level for the first time."""
        host = state.host(broker)
        return {
            "a move runs": host.moving(),
            "future log is level": host.copied,
            "no assignment was asked for": host.promotion == IDLE,
        }

    def request(self, state: Placement, broker: Word) -> Placement:
        """The assignment of the future log's directory is queued."""
        host = state.host(broker)
        asked = host.enqueue(True, host.directory(host.future))
        return state.with_host(broker, evolve(asked, promotion=QUEUED))

    @rule("move.promoted-when-level",
          source="KIP-113; semantics 6.6; ReplicaAlterLogDirsThread.maybePromoteFutureReplica",
          switches=("promotion-ignores-offsets",),
          says="A future log replaces the current one only when it has caught up.")  # fmt: skip
    @rule("move.promoted-when-accepted",
          source="KIP-858; semantics 6.6; ReplicaAlterLogDirsThread.maybePromoteFutureReplica",
          switches=("promotion-unacknowledged",),
          says="A future log replaces the current one only after the controller has accepted its "
               "directory.")  # fmt: skip
    def may_promote(self, state: Placement, broker: Word) -> Conjuncts:
        """The controller has accepted the assignment, and the future log is level."""
        host = state.host(broker)
        return {
            "a move runs": host.moving(),
            "assignment is accepted": any_of(
                self.rules.directories.promotion_unacknowledged, host.promotion == ACCEPTED
            ),
            "future log is level": any_of(self.rules.directories.promotion_ignores_offsets, host.copied),
        }

    def promote(self, state: Placement, broker: Word) -> Placement:
        """The future log becomes the current one; the old one is deleted."""
        host = state.host(broker)
        level = all_of(host.copied, host.whole.has(host.current()))
        old, new = host.disks.just(host.current()), host.disks.just(host.future)
        after = evolve(
            host,
            logs=host.logs.minus(old).plus(new),
            whole=host.whole.minus(old).plus(choose(level, new, Slots())),
            future=NOTHING, copied=False, promotion=IDLE,
        )  # fmt: skip
        return state.with_host(broker, after)

    @rule("move.promoted-log-serves", source="Partition.maybeReplaceCurrentWithFutureReplica; KIP-113",
          switches=("promoted-log-stays-closed",),
          says="A future log that has its new name serves the replica, whatever becomes of the old log.")  # fmt: skip
    @rule("move.replaced-log-is-marked", source="LogManager.replaceCurrentWithFutureLog; KIP-113",
          switches=("replaced-log-unmarked",),
          says="A log is marked before the future log takes its name, and no start opens a marked log.")  # fmt: skip
    def tear(self, state: Placement, broker: Word) -> Placement:
        """The disk of the old log fails after the future log was renamed, and before the old one is.

        Both stay. An old log with a mark is as good as none: no start opens it, and the next one deletes it.
        """
        rules, host = self.rules.directories, state.host(broker)
        source = host.current()
        old, promoted = host.disks.just(source), self.promote(state, broker).host(broker)
        if rules.promoted_log_stays_closed:  # the thread of the move has not ended it: it is taken back as any other
            after = failing(host, source, rules, self.keeps_metadata)
            after = evolve(after, logs=promoted.logs, whole=promoted.whole, future=NOTHING, copied=False)
        else:
            after = failing(promoted, source, rules, self.keeps_metadata)
        if rules.duplicate_log_stops_start or rules.replaced_log_unmarked:
            after = evolve(after, logs=after.logs.plus(old), whole=after.whole.plus(host.whole.keep(old)))
        return state.spend("failures").with_host(broker, after)

    def may_tear(self, state: Placement, broker: Word) -> Conjuncts:
        """A promotion begins."""
        return {**self.may_promote(state, broker), "a failure is left": state.left.failures > 0}

    def may_send(self, state: Placement, broker: Word) -> Conjuncts:
        """One request is in flight at a time; what is no replica any more is dropped, not sent."""
        host = state.host(broker)
        return {
            "broker runs": host.up,
            "an assignment waits": negate(host.ready == NOTHING),
            "none is in flight": host.sent == NOTHING,
            "broker is a replica": negate(host.replica == ABSENT),
        }

    def send(self, state: Placement, broker: Word) -> Placement:
        """AssignReplicasToDirs leaves the broker."""
        host = state.host(broker)
        return state.with_host(broker, evolve(host, sent=host.ready, ready=NOTHING, answered=False))

    def may_assign(self, state: Placement, broker: Word) -> Conjuncts:
        """The controller processes the request in flight; else NOT_LEADER_OR_FOLLOWER or STALE_BROKER_EPOCH."""
        host = state.host(broker)
        return {
            **guards.may_assign(state.controller, broker, host.sent),
            "a request is in flight": all_of(host.up, negate(host.sent == NOTHING)),
            "it is not processed": negate(host.answered),
        }

    def assign(self, state: Placement, broker: Word) -> Outcome:
        """AssignReplicasToDirs."""
        host = state.host(broker)
        told = self._assigned(state, broker, host.sent)
        return decided(state.with_host(broker, evolve(host, answered=True)), told, self.rules.directories)

    def lose_decision(self, state: Placement, broker: Word) -> Outcome:
        """Another controller takes over before the assignment is committed: it has the state as it was."""
        host = evolve(state.host(broker), answered=True)
        heard = state.with_host(broker, host) if answers_uncommitted(self.rules.data_plane) else state
        return decided(heard, nothing(heard), self.rules.directories)

    @rule("assignment.offline-directory-leads-away", source="KIP-858; catalogue 46; semantics 6.2",
          switches=("offline-assignment-ignored",),
          says="An assignment to an offline directory ends the broker's leadership and ISR membership.")  # fmt: skip
    def _assigned(self, state: Placement, broker: Word, directory: Word) -> Outcome:
        if not self.rules.directories.offline_assignment_ignored:
            return Triggers(self.rules).assign(state.controller, broker, directory)
        # The defect: the entry changes, and nothing else.
        changed = evolve(state.controller, directories=state.controller.directories.moved(broker, directory))
        written = choose(directory == state.assigned(broker), 0, 1)
        return Outcome(changed, evolve(start(state.controller).event, records=written, partition_epoch_bumps=written))

    def may_answer(self, state: Placement, broker: Word) -> Conjuncts:
        """The reply is on its way."""
        host = state.host(broker)
        return {"a request is in flight": negate(host.sent == NOTHING), "it is processed": host.answered}

    def answer(self, state: Placement, broker: Word) -> Placement:
        """The reply arrives; a move whose assignment it confirms is accepted."""
        host = state.host(broker)
        confirmed = all_of(host.moving(), host.directory(host.future) == host.sent)
        promotion = choose(confirmed, ACCEPTED, host.promotion)
        return state.with_host(broker, evolve(host, sent=NOTHING, answered=False, promotion=promotion))

    def may_lose(self, state: Placement, broker: Word, copy: Truth) -> Conjuncts:
        """A request or its reply is lost or late; a copy may still be on its way."""
        host = state.host(broker)
        able = all_of(state.left.copies > 0, negate(host.answered), host.late == NOTHING)
        return {
            "a request is in flight": negate(host.sent == NOTHING),
            "a copy may survive": any_of(negate(copy), able),
        }

    def lose(self, state: Placement, broker: Word, copy: Truth) -> Placement:
        """It is sent again, unless a newer assignment waits or the replica is gone."""
        host = state.host(broker)
        again = host.enqueue(all_of(host.ready == NOTHING, negate(host.replica == ABSENT)), host.sent)
        lost = evolve(again, sent=NOTHING, answered=False, late=choose(copy, host.sent, host.late))
        return state.spend("copies", word(copy)).with_host(broker, lost)

    def may_assign_late(self, state: Placement, broker: Word) -> Conjuncts:
        """A copy of an abandoned request reaches the controller."""
        return {"a copy is under way": negate(state.host(broker).late == NOTHING)}

    @rule("assignment.abandoned-is-refused", source="KIP-858; semantics 6.5",
          switches=("abandoned-assignments-accepted",),
          says="A copy of an assignment that its broker has given up is refused.")  # fmt: skip
    @rule("assignment.of-current-incarnation", source="KIP-858; semantics 6.2",
          switches=("assignment-ignores-broker-epoch",),
          says="An assignment of an earlier incarnation is refused.")  # fmt: skip
    def assign_late(self, state: Placement, broker: Word) -> Outcome:
        """The controller processes it, or refuses it: STALE_BROKER_EPOCH, NOT_LEADER_OR_FOLLOWER.

        The right rule also refuses what is out of order; no request of Kafka's says so much.
        """
        host = state.host(broker)
        known = guards.may_assign(state.controller, broker, host.late)
        current = True if self.rules.directories.assignment_ignores_broker_epoch else negate(host.late_stale)
        ordered = all_of(negate(host.late_stale), not self.rules.directories.abandoned_assignments_accepted)
        accepted = self.rules.granted(all_of(current, negate(ordered), *known.values()))
        spent = state.with_host(broker, evolve(host, late=NOTHING, late_stale=False))
        done = decided(spent, self._assigned(state, broker, host.late), self.rules.directories)
        refused = decided(spent, nothing(state), self.rules.directories, True)
        return choose_outcome(accepted, done, refused)

    @rule("assignment.authorized", source="KIP-858", switches=("assignment-unauthorized",),
          says="An assignment needs CLUSTER_ACTION on CLUSTER.")  # fmt: skip
    def intrude(self, state: Placement, broker: Word, directory: Word) -> Outcome:
        """A client without CLUSTER_ACTION on CLUSTER sends an assignment: CLUSTER_AUTHORIZATION_FAILED."""
        if self.rules.directories.assignment_unauthorized:
            return decided(state, self._assigned(state, broker, directory), self.rules.directories)
        return decided(state, nothing(state), self.rules.directories, True)

    def may_intrude(self, state: Placement, broker: Word, directory: Word) -> Conjuncts:
        """The request names a replica and its current broker epoch."""
        return dict(guards.may_assign(state.controller, broker, directory))


def nothing(state: Placement) -> Outcome:
    """The controller's outcome of an event that changes nothing."""
    return Outcome(state.controller, start(state.controller).event)


def choose_outcome(condition: Truth, then: Outcome, otherwise: Outcome) -> Outcome:
    """One of two outcomes, the second of which writes no record."""
    written = tuple(gate(change, condition) for change in then.records)
    chosen = choose(condition, then.state, otherwise.state)
    return Outcome(chosen, choose(condition, then.event, otherwise.event), written)


DIRECTORY_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    **{name: CONTROLLER_ARROWS[name] for name in ("fence", "unfence", "elect_preferred", "reassign")},
    "start": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "register_again": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "report": sent(BROKER, CONTROLLER, "heartbeat: reports failed directories"),
    **events(
        BROKER,
        "lose_report",
        "fail_while_reporting",
        "log_dir_timeout",
        "fail_directory",
        "crash",
        "stop",
        "send",
        "lose",
        "copy",
        "promote",
        "request_promotion",
    ),
    "shut_down": CONTROLLER_ARROWS["controlled_shutdown"],
    "assign": sent(BROKER, CONTROLLER, "AssignReplicasToDirs"),
    "lose_decision": sent(BROKER, CONTROLLER, "AssignReplicasToDirs, before another controller takes over"),
    "assign_late": sent(BROKER, CONTROLLER, "AssignReplicasToDirs, an abandoned one"),
    "intrude": sent(BROKER, CONTROLLER, "AssignReplicasToDirs for another broker"),
    "answer": sent(CONTROLLER, BROKER, "answer to AssignReplicasToDirs"),
    "move": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
    "cancel_move": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
    "repair": sent(OPERATOR, BROKER, "a new disk"),
    "replace_disk": sent(OPERATOR, BROKER, "another disk"),
    "copy_meta_properties": sent(OPERATOR, BROKER, "a copy of meta.properties"),
    "cordon": sent(OPERATOR, BROKER, "cordoned.log.dirs"),
}

LEGEND = Legend(
    lanes,
    {
        **DIRECTORY_ARROWS,
        "fail_while_promoting": event(BROKER),
        "apply_metadata": sent(CONTROLLER, BROKER, "metadata records"),
        "expand_isr": sent("broker {leader}", CONTROLLER, "AlterPartition"),
        "shrink_isr": sent("broker {leader}", CONTROLLER, "AlterPartition"),
        "replicate": sent("broker {leader}", BROKER, "records"),
        "write": event("broker {leader}"),
    },
    {"directories": "controller.directories", **{label: f"controller.{path}" for label, path in STRIP.items()}},
)


Parameters = Mapping[str, Sequence[Any]]

_MANY = 1000  # what proofs take where exploration takes a few

BOUNDS = (
    Bound("brokers", 1, 3, "number of brokers", proven_to=5, takes_any=True),
    Bound("directories", 1, 3, "log directories of each broker"),
    Bound(
        "replication",
        1,
        3,
        "replicas at the start, on the first brokers",
        proven_to=5,
        freed_by="brokers",
        at_most="brokers",
    ),
    Bound("elr", 0, 1, "whether ELR is on"),
    Bound("metadata-slot", 0, 1, "whether the first directory has the metadata log too, as by default"),
    Bound("start", 0, 2, "0: a new partition; 1: brokers leaving ZooKeeper mode; 2: no directory on file yet"),
    Bound("failures", 0, 3, "budget: disks that fail", _MANY),
    Bound("crashes", 0, 3, "budget: processes that die", _MANY),
    Bound("clean-stops", 0, 2, "budget: controlled shutdowns", _MANY),
    Bound("fences", 0, 3, "budget: running brokers that are fenced", _MANY),
    Bound("moves", 0, 3, "budget: moves between directories of a broker, and their cancellations", _MANY),
    Bound("torn-moves", 0, 1, "whether a disk may fail between the two renames that end a move"),
    Bound("copies", 0, 2, "budget: abandoned assignment requests of which a copy arrives later", _MANY),
    Bound("repairs", 0, 2, "budget: disks that come back with what was on them", _MANY),
    Bound("disk-changes", 0, 2, "budget: disks replaced by empty ones, meta.properties files copied", _MANY),
    Bound("reassignments", 0, 2, "budget: reassignments to other brokers", _MANY),
    Bound("records", 0, 2, "budget: records committed", _MANY),
    Bound("cordons", 0, 1, "whether operators cordon directories"),
    Bound("takeovers", 0, 1, "whether another controller may take over before a decision is committed"),
    Bound("reassignment", 0, 0, "for the controller: replicas at the start are as given"),
)

_BASE = {
    "brokers": 1, "directories": 2, "replication": 1, "elr": 0, "metadata-slot": 0, "start": 0, "failures": 1,
    "crashes": 1, "clean-stops": 0, "fences": 0, "moves": 1, "copies": 0, "repairs": 0, "disk-changes": 0,
    "reassignments": 0, "records": 1, "reassignment": 0,
}  # fmt: skip

_PAIR = {**_BASE, "brokers": 2, "replication": 2, "moves": 0}

SCOPES = {
    "tiny": _BASE,
    "small": _PAIR,
    "medium": {**_PAIR, "fences": 1},
    "migration": {**_BASE, "start": MIGRATION, "crashes": 2, "repairs": 1},
    "upgrade": {**_BASE, "start": UPGRADE},
    "metadata": {**_PAIR, "metadata-slot": 1, "crashes": 0},
    "restarts": {**_PAIR, "elr": 1, "clean-stops": 1, "crashes": 0},
    "torn": {**_BASE, "torn-moves": 1, "repairs": 1},
    "cordons": {**_BASE, "cordons": 1, "crashes": 0, "records": 0, "moves": 2},
    "takeovers": {**_BASE, "takeovers": 1},
    "placement": {
        **_PAIR,
        "directories": 1,
        "replication": 1,
        "cordons": 1,
        "failures": 0,
        "records": 0,
        "reassignments": 1,
    },
}


def actions(setting: Setting) -> list[Action]:
    """The actions of brokers, controller and operators, and the failures."""
    rules = setting.rules
    keeps = setting["metadata-slot"] > 0
    process = Process(rules, keeps, setting["torn-moves"] > 0)
    control, moves = Control(rules, keeps), Moves(rules, keeps)
    each = _each(setting)
    slots = {**each, "slot": tuple(range(setting["directories"]))}
    replied = {**each, "delivered": (False, True)}
    listed = [
        Action("apply_metadata", process.apply, process.may_apply, slots, "ReplicaManager.applyDelta"),
        Action("start", process.start, process.may_start, each, "LogManager, registerBroker"),
        Action("log_dir_timeout", process.time_out, process.may_time_out, each, "log.dir.failure.timeout.ms"),
        Action("unfence", control.unfence, _ignoring(control.may_unfence), replied, "processBrokerHeartbeat"),
        Action("report", control.report, _ignoring(control.may_report), replied, "OfflineLogDirs in BrokerHeartbeat"),
        Action("fence", control.fence, control.may_fence, each, "handleBrokerFenced"),
        Action("send", moves.send, moves.may_send, each, "AssignmentsManager"),
        Action("assign", moves.assign, moves.may_assign, each, "handleAssignReplicasToDirs"),
        Action("answer", moves.answer, moves.may_answer, each, "AssignmentsManager"),
        Action("lose", moves.lose, moves.may_lose, {**each, "copy": (False, True)[: 1 + (setting["copies"] > 0)]},
               "AssignmentsManager"),
        Action("elect_preferred", control.elect_preferred, control.may_elect_preferred, {}, "electLeaders PREFERRED"),
        Action("expand_isr", control.expand, control.may_expand, each, "alterPartition"),
        Action("shrink_isr", control.shrink, control.may_shrink, each, "alterPartition"),
        Action("replicate", control.replicate, control.may_replicate, each, "ReplicaManager.fetchMessages"),
        Action("intrude", moves.intrude, moves.may_intrude,
               {**each, "directory": tuple(FIRST_LOCAL + d for d in range(setting["directories"]))},
               "CLUSTER_AUTHORIZATION_FAILED"),
    ]  # fmt: skip
    return [*listed, *_failures(setting, process, control, slots), *_operations(setting, process, control, moves)]


def _each(setting: Setting) -> Parameters:
    """An argument that names a broker."""
    return {"broker": numbers() if setting["brokers"] == ANY else tuple(range(setting["brokers"]))}


def _ignoring(guard: Any) -> Any:
    """A guard that does not depend on whether the reply arrives."""

    def without(state: Placement, broker: Any, delivered: Truth) -> Any:
        return guard(state, broker)

    return without


def _failures(setting: Setting, process: Process, control: Control, slots: Parameters) -> list[Action]:
    """What ends processes and breaks disks, as far as there is budget for it."""
    each, listed = {"broker": slots["broker"]}, []
    if setting["failures"]:
        listed.append(Action("fail_directory", process.fail, process.may_fail, slots, "handleLogDirFailure"))
        rules = setting.rules.directories
        if rules.reported_while_in_flight or (rules.second_reported_while_in_flight and setting["directories"] > 2):
            listed.append(Action("fail_while_reporting", control.report_late, control.may_report_late, slots, "B16"))
        if rules.failure_reported_once:
            listed.append(Action("lose_report", control.lose_report, control.may_report, each, "catalogue 46"))
    if setting["crashes"]:
        listed.append(Action("crash", process.crash, process.may_crash, each, "power failure"))
    if setting["clean-stops"]:
        listed += [
            Action("shut_down", control.shut_down, control.may_shut_down, each, "handleBrokerInControlledShutdown"),
            Action("stop", process.stop, process.may_stop, each, "LogManager.shutdown"),
        ]
    return listed


def _operations(setting: Setting, process: Process, control: Control, moves: Moves) -> list[Action]:
    """What operators do, as far as there is budget for it."""
    each = _each(setting)
    slots = {**each, "slot": tuple(range(setting["directories"]))}
    listed = []
    if setting["takeovers"]:
        listed.append(Action("lose_decision", moves.lose_decision, moves.may_assign, each, "a takeover"))
    if setting["copies"]:
        listed.append(Action("assign_late", moves.assign_late, moves.may_assign_late, each, "STALE_BROKER_EPOCH"))
    if setting["moves"]:
        listed += [
            Action("move", moves.move, moves.may_move, slots, "alterReplicaLogDirs"),
            Action("cancel_move", moves.cancel, moves.may_cancel, each, "alterReplicaLogDirs"),
            Action("copy", moves.copy, moves.may_copy, each, "ReplicaAlterLogDirsThread"),
            Action("request_promotion", moves.request, moves.may_request, each, "maybePromoteFutureReplica"),
            Action("promote", moves.promote, moves.may_promote, each, "maybeReplaceCurrentWithFutureReplica"),
        ]
    if setting["torn-moves"]:
        listed.append(Action("fail_while_promoting", moves.tear, moves.may_tear, each, "LogManager"))
    if setting["repairs"]:
        listed.append(Action("repair", process.repair, process.may_repair, slots, "operator"))
    if setting["cordons"]:
        cordons = {**slots, "cordoned": (False, True)}
        listed.append(Action("cordon", process.cordon, process.may_cordon, cordons, "cordoned.log.dirs"))
    if setting["disk-changes"]:
        listed += [
            Action("replace_disk", process.replace, process.may_replace, slots, "operator"),
            Action("copy_meta_properties", process.clone, process.may_clone, slots, "operator"),
        ]
    if setting["reassignments"]:
        targets = {"target": replica_lists(setting["brokers"], setting["brokers"])}
        changed = "changePartitionReassignment"
        listed.append(Action("reassign", control.reassign, control.may_reassign, targets, changed))
    if setting["records"]:
        listed.append(Action("write", control.write, control.may_write, {}, "Partition.appendRecordsToLeader"))
    if setting["start"] in (MIGRATION, UPGRADE):
        listed.append(
            Action("register_again", process.register_again, process.may_register_again, each, "registerBroker")
        )
    return listed


def at_rest(state: Placement) -> Truth:
    """Nothing runs that could do anything: every process is stopped, or has all metadata and nothing to send."""
    return all_records(state.hosts, lambda _, host: negate(all_of(host.up, host.queued())))


DIRECTORIES = System(
    name="directories",
    summary="log directories of a partition's brokers: is the controller told where each replica is, and what failed?",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=at_rest,
    rules=CONTROLLER_GROUPS,
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
