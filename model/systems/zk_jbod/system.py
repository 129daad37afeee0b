"""The `zk-jbod` system: actions, bounds and scopes."""

from __future__ import annotations

from kraftcheck.model.language.system import Action, Bound, Setting, System
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.zk_jbod.control import Control
from kraftcheck.model.systems.zk_jbod.errors import KINDS
from kraftcheck.model.systems.zk_jbod.faults import Faults
from kraftcheck.model.systems.zk_jbod.handler import Handler
from kraftcheck.model.systems.zk_jbod.legend import LEGEND
from kraftcheck.model.systems.zk_jbod.state import initial, layout, settled

BOUNDS = (
    Bound("brokers", 1, 4, "number of brokers; each has a replica of every partition"),
    Bound("partitions", 1, 4, "number of partitions"),
    Bound("directories", 1, 4, "directories of each broker"),
    Bound("jobs", 0, 1, "whether scheduled jobs write to the directories"),
    Bound("cleaner", 0, 1, "whether the log cleaner runs"),
    Bound("disk-failures", 0, 4, "budget: directories that fail"),
    Bound("log-failures", 0, 2, "budget: single logs that fail"),
    Bound("glitches", 0, 2, "budget: operations that fail once, on a disk that works"),
    Bound("stops", 0, 2, "budget: brokers that stop for good"),
    Bound("controller-failures", 0, 2, "budget: controllers that fail while they restart partitions"),
    Bound("reassignments", 0, 2, "budget: reassignments that begin"),
    Bound("repairs", 0, 2, "budget: failed disks that are replaced by empty ones"),
)

_BASE = {
    "brokers": 2, "partitions": 2, "directories": 2, "jobs": 0, "cleaner": 0, "disk-failures": 1, "log-failures": 0,
    "glitches": 0, "stops": 0, "controller-failures": 0, "reassignments": 0, "repairs": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "jobs": {**_BASE, "jobs": 1, "cleaner": 1},
    "log": {**_BASE, "log-failures": 1, "glitches": 1},
    "writers": {**_BASE, "disk-failures": 2, "stops": 1},
    "controller": {**_BASE, "directories": 1, "controller-failures": 1, "reassignments": 1},
    "repair": {**_BASE, "stops": 1, "repairs": 1},
    "small": {**_BASE, "brokers": 3, "disk-failures": 2, "stops": 1},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of brokers and controller, and what goes wrong."""
    return [*_handler(setting), *_background(setting), *_control(setting), *_failures(setting)]


def _names(setting: Setting, *bounds: str) -> dict[str, tuple[int, ...]]:
    return {bound[:-1] if bound != "directories" else "directory": tuple(range(setting[bound])) for bound in bounds}


def _handler(setting: Setting) -> list[Action]:
    h = Handler(setting.rules.zk_jbod)
    each, both = _names(setting, "brokers"), _names(setting, "brokers", "partitions")
    kinds = {**both, "kind": KINDS}
    listed = [
        Action("fail_operation", h.fail_operation, h.may_fail_operation, kinds, "ExceptionHandler, steps 1 and 3"),
        Action("stop_cleaning", h.stop_cleaning, h.may_stop_cleaning, each, "directory offline, step 2"),
        Action("cut_checkpoints", h.cut_checkpoints, h.may_cut_checkpoints, each, "directory offline, step 3; 2.1"),
        Action("remove_logs", h.remove_logs, h.may_remove_logs, each, "directory offline, step 4; 2.2 and 2.3"),
        Action("recreate", h.recreate, h.may_recreate, both, "the replica starts anew"),
    ]
    if setting.rules.zk_jbod.restart_node_shared:
        listed += [
            Action("read_node", h.read_node, h.may_enqueue, each, "/restart_partitions is read, step 2.4"),
            Action("write_node", h.write_node, h.may_write_node, each, "/restart_partitions is written, step 2.4"),
        ]
    else:
        listed.append(Action("enqueue", h.enqueue, h.may_enqueue, each, "a sequential node, open question 3"))
    if setting["glitches"]:
        listed.append(Action("glitch", h.glitch, h.may_glitch, kinds, "open question 4"))
    return listed


def _background(setting: Setting) -> list[Action]:
    h = Handler(setting.rules.zk_jbod)
    each, both = _names(setting, "brokers"), _names(setting, "brokers", "partitions")
    listed = []
    if setting["jobs"] and setting.rules.zk_jbod.jobs_without_lock:
        disks = _names(setting, "brokers", "directories")
        listed += [
            Action("begin_job", h.begin_job, h.may_begin_job, each, "a scheduled job reads the directories"),
            Action("write_job", h.write_job, h.may_write_job, disks, "a scheduled job writes to one"),
        ]
    elif setting["jobs"]:
        listed.append(Action("run_job", h.run_job, h.may_begin_job, each, "a scheduled job, in the lock"))
    if setting["cleaner"]:
        listed += [
            Action("begin_cleaning", h.begin_cleaning, h.may_begin_cleaning, both, "the cleaner chooses a log"),
            Action("clean", h.clean, h.may_clean, each, "the cleaner writes"),
        ]
    return listed


def _control(setting: Setting) -> list[Action]:
    c = Control(setting.rules.zk_jbod)
    parts, both = _names(setting, "partitions"), _names(setting, "brokers", "partitions")
    listed = [
        Action("read_requests", c.read_requests, c.may_read_requests, {}, "Partitions Restart, step 1"),
        Action("restart", c.restart, c.may_restart, both, "Partitions Restart, step 2"),
        Action("remove_requests", c.remove_requests, c.may_remove_requests, {}, "Partitions Restart, step 3"),
        Action("rejoin", c.rejoin, c.may_rejoin, both, "a follower catches up"),
        Action("commit", c.commit, c.may_commit, parts, "a record is acknowledged"),
    ]
    if setting.rules.zk_jbod.last_member_stays_in_isr:  # else no live member is left, and no broker comes back here
        listed.append(Action("elect", c.elect, c.may_elect, parts, "OfflinePartition to OnlinePartition"))
    return listed


def _failures(setting: Setting) -> list[Action]:
    f, c = Faults(setting.rules.zk_jbod), Control(setting.rules.zk_jbod)
    each, parts = _names(setting, "brokers"), _names(setting, "partitions")
    both, disks = {**each, **parts}, _names(setting, "brokers", "directories")
    listed = []
    if setting["disk-failures"]:
        listed.append(Action("break_disk", f.break_disk, f.may_break_disk, disks, "disk failure"))
    if setting["repairs"]:
        listed.append(Action("repair", f.repair, f.may_repair, disks, "a new disk, and a broker that starts"))
    if setting["log-failures"]:
        listed.append(Action("spoil_log", f.spoil_log, f.may_spoil_log, both, "a log fails"))
    if setting["stops"]:
        listed.append(Action("stop", f.stop, f.may_stop, each, "broker failure"))
    if setting["stops"] or setting.rules.zk_jbod.disk_errors_halt:
        listed.append(Action("drop_broker", c.drop_broker, c.may_drop_broker, both, "onBrokerFailure"))
    if setting["controller-failures"]:
        listed.append(Action("controller_fails", c.fail, c.may_fail, {}, "controller failure"))
    if setting["reassignments"]:
        listed += [
            Action("reassign", c.reassign, c.may_reassign, parts, "partitions that are being reassigned"),
            Action("end_reassignment", c.end_reassignment, c.may_end_reassignment, parts, "a reassignment ends"),
        ]
    return listed


ZK_JBOD = System(
    name="zk-jbod",
    summary="brokers that outlive a failed disk, on ZooKeeper: directories go offline, partitions are restarted",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=settled,
    rules=(ZkJbodRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
