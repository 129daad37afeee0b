"""The `directories` system: actions, bounds and scopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kraftcheck.model.language.anynumber import all_records, numbers
from kraftcheck.model.language.system import ANY, Action, Bound, Setting, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.rules.groups import DataPlaneRules, DirectoryRules, PartitionRules
from kraftcheck.model.systems.directories.control import Control
from kraftcheck.model.systems.directories.legend import LEGEND
from kraftcheck.model.systems.directories.moves import Moves
from kraftcheck.model.systems.directories.process import Process
from kraftcheck.model.systems.directories.state import MIGRATION, UPGRADE, Placement, initial, layout
from kraftcheck.model.systems.elections.system import replica_lists

Parameters = Mapping[str, Sequence[Any]]

_MANY = 1000
"""What proofs take where exploration takes a few."""

BOUNDS = (
    Bound("brokers", 1, 3, "number of brokers", proven_to=5, takes_any=True),
    Bound("directories", 1, 3, "log directories of each broker"),
    Bound("replication", 1, 3, "replicas at the start, on the first brokers", proven_to=5, freed_by="brokers"),
    Bound("elr", 0, 1, "whether ELR is on"),
    Bound("metadata-slot", 0, 1, "whether the first directory has the metadata log too, as by default"),
    Bound("start", 0, 2, "0: a new partition; 1: brokers leaving ZooKeeper mode; 2: no directory on file yet"),
    Bound("failures", 0, 3, "budget: disks that fail", _MANY),
    Bound("crashes", 0, 3, "budget: processes that die", _MANY),
    Bound("clean-stops", 0, 2, "budget: controlled shutdowns", _MANY),
    Bound("fences", 0, 3, "budget: running brokers that are fenced", _MANY),
    Bound("moves", 0, 3, "budget: moves between directories of a broker, and their cancellations", _MANY),
    Bound("copies", 0, 2, "budget: abandoned assignment requests of which a copy arrives later", _MANY),
    Bound("repairs", 0, 2, "budget: disks that come back with what was on them", _MANY),
    Bound("disk-changes", 0, 2, "budget: disks replaced by empty ones, meta.properties files copied", _MANY),
    Bound("reassignments", 0, 2, "budget: reassignments to other brokers", _MANY),
    Bound("records", 0, 2, "budget: records committed", _MANY),
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
}


def actions(setting: Setting) -> list[Action]:
    """What brokers and the controller do, what breaks, and what operators do."""
    rules = setting.rules
    keeps = setting["metadata-slot"] > 0
    process, control, moves = Process(rules, keeps), Control(rules, keeps), Moves(rules)
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
        if setting.rules.directories.reported_while_in_flight:
            listed.append(Action("fail_while_reporting", control.report_late, control.may_report_late, slots, "B16"))
        if setting.rules.directories.failure_reported_once:
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
    if setting["repairs"]:
        listed.append(Action("repair", process.repair, process.may_repair, slots, "operator"))
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
    rules=(PartitionRules, DataPlaneRules, DirectoryRules),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
