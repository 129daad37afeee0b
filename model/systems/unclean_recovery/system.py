"""The `unclean-recovery` system: actions, bounds and scopes."""

from __future__ import annotations

from kraftcheck.model.language.system import Action, Bound, Setting, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.rules.groups import PartitionRules, UncleanRecoveryRules
from kraftcheck.model.systems.unclean_recovery.cluster import STATUSES, Cluster, designation
from kraftcheck.model.systems.unclean_recovery.legend import LEGEND
from kraftcheck.model.systems.unclean_recovery.state import IDLE, Recovery, initial, layout
from kraftcheck.model.systems.unclean_recovery.tool import OUTCOMES, Tool

_MANY = 1000
"""What proofs take where exploration takes a few."""

BOUNDS = (
    Bound("brokers", 2, 5, "number of brokers, each a replica of every partition; broker 0 is gone at the start"),
    Bound("partitions", 1, 3, "number of partitions"),
    Bound("histories", 0, 1, "partitions whose replicas may have every log; the others have one each"),
    Bound("limit", 1, 3, "partitions that one request is served for: 1,000 scaled down"),
    Bound("ticks", 1, 3, "parts of --recovery-duration-ms", _MANY),
    Bound("retries", 0, 3, "retries of a request for elections", _MANY),
    Bound("runs", 1, 3, "budget: runs of the tool", _MANY),
    Bound("returns", 0, 3, "budget: brokers that come back", _MANY),
    Bound("faults", 0, 3, "budget: brokers that die, or are cut off from the controller", _MANY),
    Bound("disks", 0, 2, "budget: directories that fail", _MANY),
    Bound("writes", 0, 2, "budget: records that a leader commits", _MANY),
    Bound("replacements", 0, 2, "budget: brokers that come back with an empty disk", _MANY),
)

_BASE = {
    "brokers": 3, "partitions": 1, "histories": 1, "limit": 1, "ticks": 1, "retries": 1, "runs": 1, "returns": 0,
    "faults": 0, "disks": 0, "writes": 0, "replacements": 0,
}  # fmt: skip

SCOPES = {
    "tiny": {**_BASE, "faults": 1, "disks": 1},
    "returning": {**_BASE, "returns": 1, "faults": 1, "writes": 1},
    "requests": {**_BASE, "partitions": 2, "histories": 0, "ticks": 2, "runs": 2, "returns": 1, "disks": 1},
    "small": {**_BASE, "retries": 3, "runs": 2, "returns": 1, "faults": 1, "writes": 1},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of the tool, of the controller, and what goes wrong as far as there is budget for it."""
    tool = Tool(setting.rules, setting["limit"], setting["retries"], setting["ticks"], designation)
    brokers = {"broker": tuple(range(setting["brokers"]))}
    return [
        Action("start", tool.start, tool.may_start, {}, "kafka-unclean-recovery.sh"),
        Action("answer", tool.answer, tool.may_answer, brokers, "GetReplicaLogInfo"),
        Action("tick", tool.tick, tool.may_tick, {}, "--recovery-duration-ms"),
        Action("decide", tool.decide, tool.may_decide, {}, "Proposed Changes"),
        Action("request", tool.request, tool.may_request, {"outcome": OUTCOMES}, "ElectLeaders, DESIGNATED"),
        Action("interrupt", tool.interrupt, tool.may_interrupt, {}, "SIGTERM"),
        Action("fail_tool", tool.fail, tool.may_fail, {}, "rejected alternatives"),
        Action("finish", tool.finish, tool.may_finish, {}, "exit status"),
        *_environment(setting),
    ]


def _environment(setting: Setting) -> list[Action]:
    cluster = Cluster(setting.rules)
    brokers = {"broker": tuple(range(setting["brokers"]))}
    partitions = {"partition": tuple(range(setting["partitions"]))}
    listed = []
    if setting["returns"]:
        listed.append(Action("come_back", cluster.come_back, cluster.may_return, brokers, "unfencing"))
    if setting["faults"]:
        failing = {**brokers, "status": STATUSES}
        listed.append(Action("fail", cluster.fail, cluster.may_fail, failing, "fencing; caveats"))
    if setting["disks"]:
        both = {**partitions, **brokers}
        listed.append(Action("fail_disk", cluster.fail_disk, cluster.may_fail_disk, both, "KIP-858"))
    if setting["replacements"]:
        listed.append(Action("replace_disk", cluster.replace_disk, cluster.may_replace_disk, brokers, "catalogue 51"))
    if setting["writes"] and setting["returns"]:
        listed += [
            Action("write", cluster.write, cluster.may_write, partitions, "produce"),
            Action("replicate", cluster.replicate, cluster.may_replicate, {**partitions, **brokers}, "fetch"),
        ]
    return listed


def settled(state: Recovery) -> Truth:
    """No tool runs: its budget may be spent."""
    return state.phase == IDLE


UNCLEAN_RECOVERY = System(
    name="unclean-recovery",
    summary="the tool that elects the most complete replica of offline partitions, and what may come between",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=settled,
    rules=(PartitionRules, UncleanRecoveryRules),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
