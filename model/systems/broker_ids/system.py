"""The `broker-ids` system: actions, bounds and scopes."""

from __future__ import annotations

from kraftcheck.model.language.system import Action, Bound, Setting, System
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.broker_ids.faults import Faults
from kraftcheck.model.systems.broker_ids.legend import LEGEND
from kraftcheck.model.systems.broker_ids.startup import Startup
from kraftcheck.model.systems.broker_ids.state import BrokerIds, initial, late, layout
from kraftcheck.model.systems.broker_ids.upkeep import Upkeep

BOUNDS = (
    Bound("machines", 1, 4, "number of machines"),
    Bound("running", 0, 4, "machines that are live members at the start; the others are new"),
    Bound("ids", 1, 6, "number of broker ids"),
    Bound("hostnames", 1, 6, "number of hostnames"),
    Bound("configured", 0, 1, "whether every machine has an id in its configuration"),
    Bound("shared", 0, 1, "whether machines 0 and 1 are brokers on one host"),
    Bound("topics", 0, 100_000, "topics of the cluster: what a search for missing ids reads"),
    Bound("stops", 0, 4, "budget: processes that stop or die"),
    Bound("disk-losses", 0, 3, "budget: disks that are lost"),
    Bound("renames", 0, 2, "budget: machines that change their hostname"),
    Bound("session-losses", 0, 2, "budget: live brokers that lose their ZooKeeper session"),
    Bound("older", 0, 4, "machines that run the release before: they neither look for an id nor write their hostname"),
    Bound("rewrites", 0, 2, "budget: hostname nodes that a tool writes for a replacement"),
)

_BASE = {
    "machines": 2, "running": 2, "ids": 4, "hostnames": 3, "configured": 0, "shared": 0, "topics": 1000,
    "stops": 2, "disk-losses": 1, "renames": 0, "session-losses": 0, "older": 0, "rewrites": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "newcomer": {**_BASE, "machines": 3, "ids": 5},
    "renames": {**_BASE, "renames": 1},
    "shared": {**_BASE, "shared": 1},
    "sessions": {**_BASE, "machines": 3, "ids": 5, "session-losses": 1},
    "static": {**_BASE, "machines": 3, "configured": 1},
    "small": {**_BASE, "machines": 3, "ids": 5, "hostnames": 4, "renames": 1},
}


def _startup(setting: Setting) -> Startup:
    return Startup(setting.rules.broker_ids, setting["topics"], setting["machines"] - setting["older"])


def actions(setting: Setting) -> list[Action]:
    """Steps of a start, what happens to machines, and the sweep."""
    up, faults = _startup(setting), Faults(setting.rules.broker_ids)
    keep = Upkeep(setting.rules.broker_ids)
    each = {"machine": tuple(range(setting["machines"]))}
    ids, names = {"id": tuple(range(setting["ids"]))}, {"name": tuple(range(setting["hostnames"]))}
    listed = [
        Action("start", up.start, up.may_start, each, "Determining Broker Id on Broker Startup"),
        Action("decide", up.decide, up.may_decide, each, "steps 1, 2 and a)"),
        Action("register", up.register, up.may_register, each, "/brokers/ids"),
        Action("record", up.record, up.may_record, each, "Persisting (Hostname, Broker Id) Mapping"),
        Action("expire", faults.expire, faults.may_expire, ids, "ZooKeeper session expiry"),
        Action("create_topic", faults.create_topic, faults.may_create_topic, ids, "/brokers/topics"),
    ]
    if setting.rules.broker_ids.identity_by_elimination:
        listed.append(Action("read_used_ids", up.read_used_ids, up.may_read_used_ids, each, "step b), first read"))
        if setting.rules.broker_ids.search_reads_every_topic:
            listed.append(Action("list_ids", up.list_ids, up.may_list_ids, each, "step b), second read"))
    if setting.rules.broker_ids.identity_by_hostname:
        listed += [
            Action("sweep", keep.sweep, keep.may_sweep, ids, "Garbage Collection of ZooKeeper Nodes"),
            Action("read_host", keep.read_host, keep.may_read_host, names, "garbage collection"),
            Action("remove_garbage", keep.remove_garbage, keep.may_remove_garbage, {}, "garbage collection"),
            Action("end_sweep", keep.end_sweep, keep.may_end_sweep, {}, "garbage collection"),
        ]
    if late(setting):
        listed += [
            Action("list_registered", keep.list_registered, keep.may_list_registered, {}, "the controller's watch"),
            Action("note", keep.note, keep.may_note, ids, "/brokers/missing_ids"),
        ]
    return [*listed, *_failures(setting, faults)]


def _failures(setting: Setting, faults: Faults) -> list[Action]:
    """What goes wrong, as far as there is budget for it."""
    each = {"machine": tuple(range(setting["machines"]))}
    listed = []
    if setting["stops"]:
        listed.append(Action("stop", faults.stop, faults.may_stop, {**each, "clean": (False, True)}, "process end"))
    if setting["disk-losses"]:
        listed.append(Action("lose_disk", faults.lose_disk, faults.may_lose_disk, each, "disk failure"))
    if setting["renames"]:
        names = {**each, "name": tuple(range(setting["hostnames"]))}
        listed.append(Action("rename", faults.rename, faults.may_rename, names, "another hostname"))
    if setting["rewrites"]:
        listed.append(Action("rewrite_host", faults.rewrite_host, faults.may_rewrite_host, each, "a third-party tool"))
    if setting["session-losses"]:
        listed += [
            Action("lose_session", faults.lose_session, faults.may_lose_session, each, "ZooKeeper session expiry"),
            Action("come_back", faults.come_back, faults.may_return, each, "handleNewSession"),
        ]
    return listed


def settled(state: BrokerIds) -> Truth:
    """Every machine is live and known: only faults are left, and their budget may be spent."""
    return all_of(*(any_of(m.is_live(), m.is_down()) for m in state.machines))


BROKER_IDS = System(
    name="broker-ids",
    summary="how a broker without an id finds one: by configuration, disk, hostname, elimination, or a new id",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=settled,
    rules=(BrokerIdRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
