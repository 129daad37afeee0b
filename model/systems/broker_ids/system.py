"""The `broker-ids` system: actions, bounds and scopes.

Faults of machines, lost sessions among them.

What the controller keeps up: the garbage collection of hostname nodes, and the nodes of missing ids.
Source: the broker-id KIP, "Garbage Collection of ZooKeeper Nodes" and "Another Way of Looking for Missing Broker Id".
Each access to ZooKeeper is a step.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import (
    Action,
    Bound,
    Legend,
    Outcome,
    Setting,
    System,
    event,
    events,
    numbered,
    sent,
)
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, none_of, pick, rule
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.broker_ids.state import (
    DOWN,
    FAILED,
    NONE,
    BrokerIds,
    BrokerIdsEvent,
    Startup,
    initial,
    late,
    layout,
    registered,
)
from kraftcheck.model.systems.parts import reporting


@frozen
class Faults:
    """Stops, lost disks, other hostnames, lost sessions; and the topics that operators create."""

    rules: BrokerIdRules

    def may_stop(self, state: BrokerIds, machine: Word, clean: Truth) -> dict[str, Truth]:
        """A broker stops or dies, live or while it starts."""
        m = state.machine(machine)
        return {"a process runs": negate(m.is_down()), "a stop is left": state.left.stops > 0}

    def stop(self, state: BrokerIds, machine: Word, clean: Truth) -> BrokerIds:
        """After a clean stop the ephemeral node is gone at once; otherwise it stays until the session expires."""
        m = state.machine(machine)
        after = state.with_machine(machine, m.ended(DOWN)).spend("stops")
        held = all_of(m.is_live(), pick(state.sessions, m.id, NONE) == machine)
        return choose(all_of(clean, held), self._unregistered(after, m.id), after)

    def may_expire(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """The session of a process that is gone."""
        owner = pick(state.sessions, id, NONE)
        holder = state.machine(owner)
        return {
            "id is registered": owner >= 0,
            "its process is gone": negate(all_of(holder.is_live(), holder.id == id)),
        }

    def expire(self, state: BrokerIds, id: Word) -> BrokerIds:  # noqa: A002
        """ZooKeeper removes the ephemeral node."""
        return self._unregistered(state, id)

    def may_lose_session(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A broker that works is cut off from ZooKeeper for longer than its session."""
        m = state.machine(machine)
        return {
            "broker is live": m.is_live(),
            "its session lasts": negate(state.zombie(machine)),
            "a session loss is left": state.left.session_losses > 0,
        }

    def lose_session(self, state: BrokerIds, machine: Word) -> BrokerIds:
        """The node goes, the broker does not know."""
        return self._unregistered(state.spend("session_losses"), state.machine(machine).id)

    def may_return(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A broker without a session learns of it."""
        return {"session is gone": state.zombie(machine)}

    def come_back(self, state: BrokerIds, machine: Word) -> BrokerIds:
        """It registers again under its id; where somebody else has, it stops."""
        m = state.machine(machine)
        back = registered(state, machine, m, self.rules)
        free = pick(state.sessions, m.id, NONE) < 0
        return choose(free, back, state.with_machine(machine, m.ended(FAILED)))

    def may_lose_disk(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """Hardware fails while no process runs."""
        m = state.machine(machine)
        return {
            "machine is down": m.is_down(),
            "there is an id on its disk": m.meta >= 0,
            "a disk loss is left": state.left.disk_losses > 0,
        }

    def lose_disk(self, state: BrokerIds, machine: Word) -> BrokerIds:
        """Data and meta.properties are gone; the machine, or its replacement, keeps the hostname."""
        m = state.machine(machine)
        homes = tuple(choose(home == machine, NONE, home) for home in state.homes)
        empty = evolve(m, meta=NONE, before=m.meta)
        return evolve(state.with_machine(machine, empty).spend("disk_losses"), homes=homes)

    def may_rename(self, state: BrokerIds, machine: Word, name: Word) -> dict[str, Truth]:
        """A machine comes up under a hostname that no other has."""
        others = [m.name == name for m in state.machines]
        return {
            "machine is down": state.machine(machine).is_down(),
            "hostname is free": none_of(*others),
            "a rename is left": state.left.renames > 0,
        }

    def rename(self, state: BrokerIds, machine: Word, name: Word) -> BrokerIds:
        """Another address, another hostname."""
        return state.with_machine(machine, evolve(state.machine(machine), name=name)).spend("renames")

    def may_rewrite_host(self, state: BrokerIds, machine: Word) -> dict[str, Truth]:
        """A replacement that is down has no id on its disk, and its hostname's node is not that of the id it had."""
        m = state.machine(machine)
        return {
            "machine is down": m.is_down(),
            "it replaces another disk": all_of(m.meta == NONE, m.before >= 0),
            "the node is another": negate(pick(state.hosts, m.name, NONE) == m.before),
            "a rewrite is left": state.left.rewrites > 0,
        }

    def rewrite_host(self, state: BrokerIds, machine: Word) -> BrokerIds:
        """A tool writes the id that the machine had into /brokers/hosts/<hostname>."""
        m = state.machine(machine)
        return evolve(state.spend("rewrites"), hosts=put(state.hosts, m.name, m.before))

    def may_create_topic(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """Partitions are placed on registered brokers."""
        return {"id is registered": state.registered().has(id), "no topic uses it yet": negate(state.used.has(id))}

    def create_topic(self, state: BrokerIds, id: Word) -> BrokerIds:  # noqa: A002
        """A topic now uses the id."""
        return evolve(state, used=state.used.plus(state.used.just(id)))

    @rule("broker-id.missing-ids-noted-at-once", source="broker-id KIP, rejected alternatives",
          switches=("missing-ids-noted-late",),
          says="The node of a missing id is there as soon as its registration goes.")  # fmt: skip
    def _unregistered(self, state: BrokerIds, id: Word) -> BrokerIds:  # noqa: A002
        gone = evolve(state, sessions=put(state.sessions, id, NONE), places=put(state.places, id, 0))
        if self.rules.missing_ids_noted_late or self.rules.search_reads_every_topic:
            return gone
        noted = self.rules.identity_by_elimination
        return evolve(gone, noted=state.noted.plus(state.noted.just(id))) if noted else gone


@frozen
class Upkeep:
    """The steps of the controller under one rule set."""

    rules: BrokerIdRules

    def may_sweep(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """The controller looks for garbage, one registered id at a time."""
        return {"id is registered": state.registered().has(id), "sweep is idle": state.swept_id < 0}

    def sweep(self, state: BrokerIds, id: Word) -> Outcome:  # noqa: A002
        """Read /brokers/ids/<id>: its hostname."""
        return Outcome(evolve(state, swept_id=id, swept_host=pick(state.places, id, 0)), BrokerIdsEvent(reads=1))

    def may_read_host(self, state: BrokerIds, name: Word) -> dict[str, Truth]:
        """The node of another hostname has the id that was read."""
        return {
            "sweep has read an id": state.swept_id >= 0,
            "no node is about to go": state.swept_node < 0,
            "hostname is another": negate(state.swept_host == name),
            "its node has that id": pick(state.hosts, name, NONE) == state.swept_id,
        }

    def read_host(self, state: BrokerIds, name: Word) -> Outcome:
        """Read /brokers/hosts/<hostname>: it is garbage."""
        return Outcome(evolve(state, swept_node=name), BrokerIdsEvent(reads=1))

    @rule("broker-id.garbage-is-as-it-was-read", source="broker-id KIP, garbage collection",
          switches=("garbage-deleted-unseen",),
          says="A hostname node is deleted only while it is as it was read.")  # fmt: skip
    def may_remove_garbage(self, state: BrokerIds) -> dict[str, Truth]:
        """It has read a node that is garbage; a conditional delete is refused where something has changed."""
        same: Truth = pick(state.hosts, state.swept_node, NONE) == state.swept_id
        if self.rules.garbage_deleted_unseen:
            same = True
        return {
            "a node is about to go": state.swept_node >= 0,
            "the registration is as it was read": self._stands(state),
            "the node is as it was read": same,
        }

    @rule("broker-id.sweep-is-conditional", source="broker-id KIP, garbage collection",
          switches=("sweep-trusts-first-read",),
          says="A hostname node is deleted only while the registration that was read still stands.")  # fmt: skip
    def _stands(self, state: BrokerIds) -> Truth:
        """Whether the id is registered from the hostname that was read; who trusts the first read does not ask."""
        if self.rules.sweep_trusts_first_read:
            return True
        owner = pick(state.sessions, state.swept_id, NONE)
        return all_of(owner >= 0, pick(state.places, state.swept_id, 0) == state.swept_host)

    def remove_garbage(self, state: BrokerIds) -> Outcome:
        """Delete /brokers/hosts/<hostname>."""
        hosts = put(state.hosts, state.swept_node, NONE)
        return Outcome(evolve(state, hosts=hosts, swept_node=NONE), BrokerIdsEvent(reads=1))

    def may_end_sweep(self, state: BrokerIds) -> dict[str, Truth]:
        """It has read an id."""
        return {"sweep has read an id": state.swept_id >= 0}

    def end_sweep(self, state: BrokerIds) -> BrokerIds:
        """All nodes of this id were looked at, or a conditional delete was refused."""
        return evolve(state, swept_id=NONE, swept_host=NONE, swept_node=NONE)

    def may_list_registered(self, state: BrokerIds) -> dict[str, Truth]:
        """Its watch on the children of /brokers/ids has fired, and it has written what it saw the last time."""
        return {
            "the children have changed": negate(state.listed.same(state.registered())),
            "nothing is left to write": all_of(state.owed.is_empty(), state.noted.keep(state.listed).is_empty()),
        }

    def list_registered(self, state: BrokerIds) -> Outcome:
        """List /brokers/ids, which sets the watch again; what came and went in between is not seen."""
        now = state.registered()
        return Outcome(evolve(state, listed=now, owed=state.listed.minus(now)), BrokerIdsEvent(reads=1))

    def may_note(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """An id that was gone has no node yet, or one that is back still has one."""
        back = all_of(state.noted.has(id), state.listed.has(id))
        return {"its node is to change": any_of(state.owed.has(id), back)}

    def note(self, state: BrokerIds, id: Word) -> BrokerIds:  # noqa: A002
        """Create /brokers/missing_ids/<id>, or delete it."""
        one = state.noted.just(id)
        noted = choose(state.owed.has(id), state.noted.plus(one), state.noted.minus(one))
        return evolve(state, noted=noted, owed=state.owed.minus(one))


SWEEP, ZOOKEEPER, MACHINE, OPERATOR = "sweep", "ZooKeeper", "machine {machine}", "operator"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, what removes garbage, ZooKeeper, and each machine."""
    return (OPERATOR, SWEEP, ZOOKEEPER, *numbered("machine", bounds["machines"]))


LEGEND = Legend(
    lanes,
    {
        **events(MACHINE, "start", "stop", "lose_disk", "rename"),
        "decide": sent(ZOOKEEPER, MACHINE, "/brokers/hosts"),
        "read_used_ids": sent(ZOOKEEPER, MACHINE, "/brokers/topics"),
        "list_ids": sent(ZOOKEEPER, MACHINE, "/brokers/ids"),
        "register": sent(MACHINE, ZOOKEEPER, "/brokers/ids"),
        "record": sent(MACHINE, ZOOKEEPER, "/brokers/hosts"),
        "come_back": sent(MACHINE, ZOOKEEPER, "/brokers/ids"),
        "lose_session": sent(ZOOKEEPER, MACHINE, "session expiry"),
        **events(ZOOKEEPER, "expire", "create_topic"),
        "rewrite_host": sent(OPERATOR, ZOOKEEPER, "/brokers/hosts"),
        "sweep": sent(ZOOKEEPER, SWEEP, "/brokers/ids"),
        "read_host": sent(ZOOKEEPER, SWEEP, "/brokers/hosts"),
        "remove_garbage": sent(SWEEP, ZOOKEEPER, "/brokers/hosts"),
        "end_sweep": event(SWEEP),
    },
    {"registered at": "places", "hosts": "hosts", "used ids": "used"},
)


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
    return reporting([*listed, *_failures(setting, faults)], BrokerIdsEvent())


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
    quiet=lambda state: BrokerIdsEvent(),
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
