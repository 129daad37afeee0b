"""Promises of the early controller design: clean leaders, no avoidable loss, no lost decision, few operations.

Promises of the early controller design about reassignments, deleted topics and a deposed controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, implies, negate
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.state import READ, Partition, ZkController
from kraftcheck.model.systems.zk_controller.system import actions
from kraftcheck.properties.kinds import always, happens, recovers, sometimes, step

FEW_OPERATIONS = 10
"""ZooKeeper operations that one step of a change of leaders may take, however many partitions there are."""

WAY = (
    "take_over", "load", "list_brokers", "read_node", "write_one", "write_all", "retry", "abandon",
    "publish", "finish", "expire", "resign", "start_replicas", "check_isr", "recheck", "complete", "shrink_isr",
    "replace", "end_reassignment", "delete_partition", "stop_replica",
    "reconnect", "read_decisions", "subscribe", "set_watch", "stop_fetcher", "act", "doze",
)  # fmt: skip
"""What happens by itself: nothing fails, nothing is restarted, no leader changes the ISR."""

WRITES = ("write_one", "write_all")
_DESIGN = "early controller design"


def properties(setting: Setting) -> list[Property]:
    """The promises, and what must be seen for them to mean something."""
    claims = [
        *_decisions(),
        always("decisions-are-published", "a decision in ZooKeeper waits in the queue of whoever has not followed it",
               _published, f"{_DESIGN}, A 5", ("decisions-one-by-one",),
               rules=("zk-controller.decision.one-transaction",)),
        always("leader-does-not-fetch", "a broker that leads a partition runs no fetcher for it", _no_fetcher,
               f"{_DESIGN}, B 2.1", ("leads-before-fetcher-stops",),
               rules=("zk-controller.leader.fetcher-stops-first",)),
        step("few-operations", f"no step of a change takes more than {FEW_OPERATIONS} ZooKeeper operations",
             lambda t: t.event.operations <= FEW_OPERATIONS, f"{_DESIGN}, end-to-end latency",
             ("decisions-one-by-one",),
             rules=("zk-controller.decision.one-transaction",)),
        recovers("partition-is-led", "a partition with a broker that works comes to have a leader that works",
                 lambda s: is_led(s, setting.rules.zk_controller.outsiders_wait),
                 f"{_DESIGN}, question A.3",
                 ("replica-failure-unnoticed", "reassignment-keeps-leader", "controller-writes-unfenced",
                  "zombie-refreshes-epoch"),
                 rules=("zk-controller.replica.failure-halts-broker",
                        "zk-controller.reassignment.new-replica-leads",
                        "zk-controller.failover.old-writes-are-fenced"),
                 when=lambda s: s.some_broker_works(), by=_way(setting)),
    ]  # fmt: skip
    if leaders_change(setting):
        claims.append(
            recovers("decisions-arrive", "every broker that works comes to follow the leader that ZooKeeper names",
                     arrived, f"{_DESIGN}, D and question A.2",
                     ("failover-skips-republishing+decisions-one-by-one", "down-brokers-not-told",
                      "subscription-ignores-backlog", "watch-set-after-read"),
                     rules=("zk-controller.failover.publishes-again",
                            "zk-controller.decision.one-transaction",
                            "zk-controller.decision.every-replica-is-told",
                            "zk-controller.backlog-read",
                            "zk-controller.broker.reading-sets-the-watch"), by=_way(setting))
        )  # fmt: skip
    if setting.rules.zk_controller.outsiders_wait:
        claims.append(
            step("nothing-is-given-up", "no decision gives up an acknowledged record", _kept, "KAFKA-1028",
                 ("outsider-preferred+outsiders-wait",), rules=("zk-controller.decision.outsiders-may-lead",
                                                                "zk-controller.decision.live-isr-member-first"))
        )  # fmt: skip
    if setting["partitions"] > 1:
        claims.append(
            always("change-is-whole", "a controller that has written a decision has written every one of that change",
                   _whole, f"{_DESIGN}, A 4", ("decisions-one-by-one",),
                   rules=("zk-controller.decision.one-transaction",))
        )  # fmt: skip
    known = {action.name for action in actions(setting)}
    return [*claims, *_goals(setting), *of_moves(setting, _way(setting), known)]


def _decisions() -> list[Property]:
    """What decisions lead to."""
    return [
        always("leader-in-isr", "the leader is in the ISR", _in_isr, f"{_DESIGN}, A 3.2",
               ("outsider-keeps-isr", "reassignment-keeps-leader"),
               rules=("zk-controller.decision.live-isr-member-first",
                      "zk-controller.reassignment.new-replica-leads")),
        always("isr-complete", "every member of the ISR has every acknowledged record",
               lambda s: {f"partition {n}": p.node.isr.within(p.holds) for n, p in enumerate(s.partitions)},
               f"{_DESIGN}, B 2.1.2", ("isr-update-unconditional", "decision-write-unconditional",
                                         "older-decisions-followed", "leavers-rejoin",
                                         "backlog-revives-replica+reassignment-skips-leader"),
               rules=("zk-controller.isr.update-is-conditional",
                      "zk-controller.decision.write-is-conditional",
                      "zk-controller.broker.older-decisions-ignored",
                      "zk-controller.backlog-outdated")),
        step("clean-change-elects-member", "the new leader is from the ISR while a member of it lives", _elects_member,
             f"{_DESIGN}, A 3.2", ("outsider-preferred",),
             rules=("zk-controller.decision.live-isr-member-first",)),
        step("no-avoidable-loss", "no decision gives up records that a registered member of the last ISR has",
             _avoidable, f"{_DESIGN}, A 3.2 and question A.1",
             ("outsider-preferred", "hopeless-isr-emptied", "outsiders-by-old-list"),
             rules=("zk-controller.decision.live-isr-member-first",
                    "zk-controller.decision.hopeless-is-left",
                    "zk-controller.decision.outsider-by-current-list")),
    ]  # fmt: skip


def _way(setting: Setting) -> dict[str, dict[str, int]]:
    """The actions of `WAY` that this setting has."""
    known = {action.name for action in actions(setting)}
    return {name: {} for name in WAY if name in known}


def leaders_change(setting: Setting) -> bool:
    """Whether the controller ever has to look for another leader."""
    rules: ZkControllerRules = setting.rules.zk_controller
    return bool(setting["stops"] or setting["session-losses"] or not rules.replica_failure_unnoticed)


def _goals(setting: Setting) -> list[Property]:
    goals = []
    if leaders_change(setting):
        goals.append(happens("shows-clean-change", "a member of the ISR takes over from a leader that is gone",
                             lambda t: _some(t, _clean)))  # fmt: skip
    if leaders_change(setting) and setting["controller-failures"]:
        goals.append(happens("shows-failover", "the controller fails in the middle of a change",
                             lambda t: t.action == "controller_fails" and t.before.controller.working))  # fmt: skip
    if setting["stops"] and setting["isr-changes"] and not setting.rules.zk_controller.outsiders_wait:
        goals.append(happens("shows-loss", "an outsider takes over, and what only others have is given up",
                             lambda t: _some(t, _outsider)))  # fmt: skip
    if setting["stops"] and setting["isr-changes"]:
        goals.append(happens("shows-rejoin", "a follower joins the ISR of a broker that has taken over", _rejoins))
    if setting["session-losses"]:
        goals.append(sometimes("shows-two-leaders", "two brokers act as leader of one partition", _two_leaders))
    rules: ZkControllerRules = setting.rules.zk_controller
    if setting["session-losses"] and setting["isr-changes"] and not rules.decision_write_unconditional:
        goals.append(happens("shows-refused-write", "a decision is refused because the node has changed",
                             lambda t: t.action == "retry"))  # fmt: skip
    if setting["controller-is-broker"] and setting["stops"]:
        goals.append(happens("shows-shared-fate", "a broker dies that is leader and controller", _shared_fate))
    if setting["new-topic"]:
        goals.append(happens("shows-new-topic", "leaders are initialised", lambda t: _some(t, _initialised)))
    return goals


def _some(t: Step, predicate: Callable[[Step, int], Truth]) -> Truth:
    """Whether a decision step does this to some partition."""
    return all_of(_writes(t), any_of(*(predicate(t, p) for p in range(len(t.before.partitions)))))


def _writes(t: Step) -> bool:
    return t.action in WRITES


def _changed(t: Step, p: int) -> Truth:
    """Whether a decision step wrote this partition."""
    return negate(t.before.partitions[p].node.version == t.after.partitions[p].node.version)


def _clean(t: Step, p: int) -> Truth:
    old, new = t.before.partitions[p].node, t.after.partitions[p].node
    return all_of(_changed(t, p), old.isr.has(new.leader), negate(old.leader == new.leader))


def _rejoins(t: Step) -> Truth:
    if t.action != "change_isr":
        return False
    nodes = [(old.node, new.node) for old, new in zip(t.before.partitions, t.after.partitions, strict=True)]
    return any_of(*(all_of(negate(new.isr.within(old.isr)), new.leader > 0) for old, new in nodes))


def _outsider(t: Step, p: int) -> Truth:
    old, new = t.before.partitions[p], t.after.partitions[p]
    return all_of(_changed(t, p), old.node.version > 0, new.node.leader >= 0, negate(old.last.has(new.node.leader)))


def _initialised(t: Step, p: int) -> Truth:
    return all_of(t.before.partitions[p].node.version == 0, t.after.partitions[p].node.version > 0)


def _in_isr(s: ZkController) -> Conjuncts:
    return {
        f"partition {n}": any_of(p.node.leader == NO_LEADER, p.node.isr.has(p.node.leader))
        for n, p in enumerate(s.partitions)
    }


def _elects_member(t: Step) -> Conjuncts:
    if not _writes(t):
        return {"nothing is decided": True}
    c = t.before.controller
    return {
        f"partition {n}": implies(
            all_of(_changed(t, n), negate(c.seen[n].isr.keep(c.live).is_empty())), c.seen[n].isr.has(p.node.leader)
        )
        for n, p in enumerate(t.after.partitions)
    }


def _avoidable(t: Step) -> Conjuncts:
    if not _writes(t):
        return {"nothing is decided": True}
    live = t.before.registered()
    parts: dict[str, Truth] = {}
    for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True)):
        decided = all_of(_changed(t, n), old.node.version > 0, new.node.leader >= 0)
        complete = old.last.keep(old.holds).keep(live)
        parts[f"partition {n}"] = implies(decided, any_of(old.holds.has(new.node.leader), complete.is_empty()))
    return parts


def _kept(t: Step) -> Conjuncts:
    """Where no replica has every acknowledged record any more, nothing is left to give up."""
    if not _writes(t):
        return {"nothing is decided": True}
    return {
        f"partition {n}": any_of(old.holds.is_empty(), new.node.leader < 0, old.holds.has(new.node.leader))
        for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True))
    }


def _replica(partition: Partition, broker: int) -> Truth:
    """Whether a broker has a replica that works, and that no request takes away."""
    stays = any_of(partition.target.is_empty(), partition.target.has(broker))
    return all_of(partition.exists(), partition.assigned.has(broker), stays, negate(partition.failed.has(broker)))


def _published(s: ZkController) -> Conjuncts:
    """Not judged of a broker that has yet to read all decisions, nor of a partition that has lost its leader."""
    parts: dict[str, Truth] = {}
    for p, partition in enumerate(s.partitions):
        leader = partition.node.leader
        for b, broker in enumerate(s.brokers):
            r = broker.replicas[p]
            concerned = all_of(broker.works(), broker.status >= READ, leader >= 0, _replica(partition, b))
            known = any_of(r.role.leader == leader, r.entry.leader == leader)
            parts[f"broker {b} and partition {p}"] = implies(concerned, known)
    return parts


def _no_fetcher(s: ZkController) -> Conjuncts:
    return {
        f"broker {b} and partition {p}": negate(all_of(broker.up, r.fetching, r.role.leader == b))
        for b, broker in enumerate(s.brokers)
        for p, r in enumerate(broker.replicas)
    }


def arrived(s: ZkController) -> Conjuncts:
    """Every broker that works follows the leader that ZooKeeper names, of each of its replicas."""
    parts: dict[str, Truth] = {}
    for p, partition in enumerate(s.partitions):
        for b, broker in enumerate(s.brokers):
            concerned = all_of(broker.works(), partition.node.leader >= 0, _replica(partition, b))
            follows = broker.replicas[p].role.leader == partition.node.leader
            parts[f"broker {b} and partition {p}"] = implies(concerned, follows)
    return parts


def _leaders(s: ZkController, p: int) -> list[Truth]:
    """For each broker whether it leads a partition, and ZooKeeper says so."""
    node = s.partitions[p].node
    return [all_of(b.works(), node.leader == n, s.leads(n, p)) for n, b in enumerate(s.brokers)]


def is_led(s: ZkController, waits: bool) -> Conjuncts:
    """Each partition with a broker that may lead it is led; `waits`: only members of the ISR may."""
    parts: dict[str, Truth] = {}
    for p, partition in enumerate(s.partitions):
        able = [
            all_of(b.works(), _replica(partition, n), any_of(not waits, partition.node.isr.has(n)))
            for n, b in enumerate(s.brokers)
        ]
        parts[f"partition {p}"] = implies(all_of(partition.exists(), any_of(*able)), any_of(*_leaders(s, p)))
    return parts


def _whole(s: ZkController) -> Conjuncts:
    """Not judged of a topic that is created meanwhile."""
    c = s.controller
    return {
        f"partition {p}": negate(all_of(c.wrote, seen.version > 0, negate(c.live.has(c.decided[p].leader))))
        for p, seen in enumerate(c.seen)
    }


def _shared_fate(t: Step) -> Truth:
    if t.action != "crash":
        return False
    host, broker = t.before.controller.host, t.arguments["broker"]
    return all_of(host == broker, any_of(*(t.before.leads(broker, p) for p in range(len(t.before.partitions)))))


def _two_leaders(s: ZkController) -> Truth:
    return any_of(*(
        all_of(s.leads(a, p), s.leads(b, p))
        for p in range(len(s.partitions))
        for a in range(len(s.brokers))
        for b in range(a)
    ))  # fmt: skip


COPYING = ("fetch", "change_isr", "start_replicas", "check_isr", "recheck", "complete", "shrink_isr", "replace",
           "end_reassignment")  # fmt: skip
"""What a reassignment takes besides what happens by itself."""


def of_moves(setting: Setting, way: Mapping[str, Mapping[str, Any]], known: set[str]) -> list[Property]:
    """The promises, and what must be seen for them to mean something.

    Args:
        setting: bounds and rules.
        way: what happens by itself.
        known: names of the actions of this setting.
    """
    claims = []
    if setting["reassignments"]:
        claims += [
            step("last-copy-is-not-stopped", "no StopReplica deletes the only log with every acknowledged record",
                 _survives, f"{_DESIGN}, F 3.1",
                 ("reassignment-ignores-isr", "backlog-revives-replica+reassignment-skips-leader",
                  "decision-write-unconditional", "reassignment-keeps-leader"),
                 rules=("zk-controller.reassignment.new-replicas-in-sync",
                        "zk-controller.backlog-outdated",
                        "zk-controller.decision.write-is-conditional",
                        "zk-controller.reassignment.new-replica-leads")),
            always("isr-within-replicas", "the ISR has only old and new replicas of the partition",
                   lambda s: {f"partition {n}": p.node.isr.within(p.replicas()) for n, p in enumerate(s.partitions)},
                   f"{_DESIGN}, F", ("leavers-rejoin",), rules=("zk-controller.isr.update-is-conditional",)),
            step("reassignment-informs-leader", "the ISR that a reassignment writes is on its way to the leader",
                 _informed, f"{_DESIGN}, F 4", ("reassignment-skips-leader",),
                 rules=("zk-controller.reassignment.leader-is-told",)),
            recovers("reassignment-completes", "with a leader and new replicas that all work a reassignment completes",
                     lambda s: {f"partition {n}": p.target.is_empty() for n, p in enumerate(s.partitions)},
                     f"{_DESIGN}, F 3", ("reassignment-waits-for-all",),
                     rules=("zk-controller.reassignment.new-replicas-in-sync",), when=_hope,
                     by={**way, **{name: {} for name in COPYING if name in known}}),
            happens("shows-reassignment", "a reassignment away from the leader comes to its end", _moved),
        ]  # fmt: skip
    if setting["deletions"]:
        claims += [
            always("deleted-stays-deleted", "nothing writes leader and ISR of a topic that is gone",
                   lambda s: {f"partition {n}": any_of(p.created, negate(p.deleted), p.node.version == 0)
                              for n, p in enumerate(s.partitions)},
                   f"{_DESIGN}, C", ("deletion-forgets-topic+decision-write-unconditional",),
                   rules=("zk-controller.deletion.is-marked-first",
                          "zk-controller.decision.write-is-conditional")),
            recovers("deletion-completes", "of a deleted topic every working broker comes to have no replica",
                     _forgotten, f"{_DESIGN}, C and D", ("deletion-forgets-topic",),
                     rules=("zk-controller.deletion.is-marked-first",),
                     when=lambda s: any_of(*(b.works() for b in s.brokers)), by=way),
            happens("shows-deletion", "a replica of a deleted topic is stopped", _stopped),
        ]  # fmt: skip
    if setting["depositions"]:
        claims.append(happens("shows-deposed", "a deposed controller learns of it after another has begun",
                              lambda t: all_of(t.action == "resign", t.before.controller.present)))  # fmt: skip
    return claims


def _survives(t: Step) -> Conjuncts:
    """Not judged of a deleted topic, nor where no replica is complete any more."""
    if t.action != "stop_replica":
        return {"no replica is stopped": True}
    parts: dict[str, Truth] = {}
    for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True)):
        had = all_of(old.exists(), negate(old.holds.keep(old.replicas().plus(old.stopping)).is_empty()))
        parts[f"partition {n}"] = implies(had, negate(new.holds.keep(new.replicas()).is_empty()))
    return parts


def _informed(t: Step) -> Conjuncts:
    """It is in the leader's queue, or the controller has it on its list."""
    if t.action not in ("complete", "shrink_isr"):
        return {"no reassignment completes": True}
    parts: dict[str, Truth] = {}
    for n, (old, new) in enumerate(zip(t.before.partitions, t.after.partitions, strict=True)):
        queued = [all_of(old.node.leader == b, broker.replicas[n].entry.version == new.node.version)
                  for b, broker in enumerate(t.after.brokers)]  # fmt: skip
        listed = t.after.controller.tell[n].has(old.node.leader)
        parts[f"partition {n}"] = implies(t.arguments["partition"] == n, any_of(listed, *queued))
    return parts


def _hope(s: ZkController) -> Truth:
    """Every topic exists and has a leader that works, and so does every new replica's broker."""
    working: list[Truth] = []
    for n, p in enumerate(s.partitions):
        led = [all_of(p.node.leader == b, broker.works(), s.leads(b, n)) for b, broker in enumerate(s.brokers)]
        new = [implies(p.target.has(b), broker.works()) for b, broker in enumerate(s.brokers)]
        working += [p.exists(), any_of(*led), *new]
    return all_of(*working)


def _moved(t: Step) -> Truth:
    """The request goes, and the first leader is no replica any more."""
    if t.action not in ("complete", "end_reassignment"):
        return False
    ended = t.after.partition(t.arguments["partition"])
    return all_of(ended.target.is_empty(), negate(ended.assigned.has(0)))


def _forgotten(s: ZkController) -> Conjuncts:
    parts: dict[str, Truth] = {}
    for n, p in enumerate(s.partitions):
        idle = [
            any_of(negate(b.works()), all_of(b.replicas[n].role.version == 0, b.replicas[n].entry.version == 0))
            for b in s.brokers
        ]
        parts[f"partition {n}"] = implies(p.deleted, all_of(negate(p.created), p.node.version == 0, *idle))
    return parts


def _stopped(t: Step) -> Truth:
    if t.action != "stop_replica":
        return False
    stopped: Partition = t.before.partition(t.arguments["partition"])
    return stopped.deleted
