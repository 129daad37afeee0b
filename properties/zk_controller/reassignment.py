"""Promises of the early controller design about reassignments, deleted topics and a deposed controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.zk_controller.state import Partition, ZkController
from kraftcheck.properties.kinds import always, happens, recovers, step

_DESIGN = "early controller design"
COPYING = ("fetch", "change_isr", "start_replicas", "check_isr", "recheck", "complete", "shrink_isr", "replace",
           "end_reassignment")  # fmt: skip
"""What a reassignment takes besides what happens by itself."""


def properties(setting: Setting, way: Mapping[str, Mapping[str, Any]], known: set[str]) -> list[Property]:
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
