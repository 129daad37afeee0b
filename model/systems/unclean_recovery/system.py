"""The `unclean-recovery` system: actions, bounds and scopes.

The cluster around the tool: elections by the partition change build, and faults of brokers and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import Brokers, BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Bound, Legend, Setting, System, event, events, numbered, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.partition.change import Target, build_change
from kraftcheck.model.partition.election import may_designate
from kraftcheck.model.partition.registration import UNASSIGNED, DirectoryMap, Partition, merge
from kraftcheck.model.rules.groups import PartitionRules, UncleanRecoveryRules
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.parts import reporting
from kraftcheck.model.systems.unclean_recovery.state import (
    CUT,
    DOWN,
    IDLE,
    OUTCOMES,
    UP,
    Recovered,
    Recovery,
    Replica,
    Tool,
    UncleanRecoveryEvent,
    initial,
    layout,
)
from kraftcheck.model.triggers.leadership import Registered, may_lead
from kraftcheck.model.triggers.table import Permits, context, is_as_it_answered, ordinary, without

MIN_ISR = 1  # of every topic


def registration(p: Recovered) -> Partition:
    """The partition as the controller's rules take it."""
    brokers = len(p.replicas)
    return Partition(
        replicas=Replicas.of(range(brokers), brokers), directories=DirectoryMap((UNASSIGNED,) * brokers),
        isr=p.isr, elr=p.elr, last_known_elr=AtMostOne(), removing=BrokerSet(), adding=BrokerSet(),
        leader=p.leader, recovering=p.recovering, leader_epoch=p.epoch, partition_epoch=0,
    )  # fmt: skip


def acceptable(p: Recovered, up: BrokerSet, rules: PartitionRules) -> Brokers:
    """Brokers that may lead: unfenced, and their replica online."""
    everyone, none = BrokerSet.of(range(len(p.replicas))), BrokerSet()
    offline: Word = 0
    for broker, replica in enumerate(p.replicas):
        offline = offline | choose(replica.offline, 1 << broker, 0)
    cluster = Registered(everyone, everyone.minus(up), none)
    return may_lead(cluster, BrokerSet(offline), none, none, rules)


def changed(
    p: Recovered, isr: Brokers, eligible: Brokers, rules: PartitionRules, designated: Word | None = None
) -> Recovered:
    """The partition after the build that wants this ISR, and elects where there is need."""
    before = registration(p)
    trigger = evolve(ordinary(before, Permits(unclean=False, elr=True)), designated=designated)
    given = context(trigger, eligible, MIN_ISR, lambda broker: UNASSIGNED, directory_assignment=False)
    after = merge(before, build_change(before, evolve(Target.of(before), isr=isr), given, rules), rules)
    isr_after, elr_after = cast(BrokerSet, after.isr), cast(BrokerSet, after.elr)
    return evolve(
        p, isr=isr_after, elr=elr_after, leader=after.leader, recovering=after.recovering, epoch=after.leader_epoch
    )


@rule("recovery.choice-of-this-leadership", source="unclean-recovery KIP, caveats",
      switches=("recovery-ignores-new-epochs",),
      says="A designated election is refused when the partition had a leader since its replicas were "
           "asked.")  # fmt: skip
def designation(p: Recovered, up: BrokerSet, registered_in: Word, rules: RuleSet) -> tuple[Truth, Recovered]:
    """Whether the chosen broker is elected, and the partition afterwards.

    The document binds an election to nothing but that there is no leader; here,
    unless `recovery_ignores_new_epochs`, it is also bound to the leader epoch
    at which the tool began, and, unless `designated_election_without_broker_epoch`,
    to the incarnation of the broker that answered.
    """
    eligible = acceptable(p, up, rules.partition)
    conditions = may_designate(registration(p), eligible, p.chosen, rules)
    if not rules.unclean_recovery.recovery_ignores_new_epochs:
        conditions["no leader since the tool began"] = p.epoch == p.asked_at
    conditions["the broker is as it answered"] = is_as_it_answered(p.chosen_in, registered_in, rules.unclean_recovery)
    allowed = all_of(*conditions.values())
    return allowed, choose(allowed, changed(p, p.isr, eligible, rules.partition, p.chosen), p)


@frozen
class Cluster:
    """The events outside the tool."""

    rules: RuleSet

    def may_return(self, state: Recovery, broker: Word) -> dict[str, Truth]:
        """A broker that is gone, or cut off, comes back."""
        return {"broker is not up": negate(pick(state.brokers, broker, UP) == UP), "budget": state.left.returns > 0}

    @rule("recovery.controller-goes-on", source="unclean-recovery KIP, rejected alternatives",
          switches=("recovery-run-blocks-elections",),
          says="A run of the tool, or its failure, changes nothing that the controller decides by "
               "itself.")  # fmt: skip
    def come_back(self, state: Recovery, broker: Word) -> Recovery:
        """It is unfenced; partitions without a leader are elected, cleanly only."""
        after = evolve(state.spend("returns"), brokers=put(state.brokers, broker, UP))
        elected = self._each(after, lambda p: p.isr, after.up())
        if self.rules.unclean_recovery.recovery_run_blocks_elections:
            elected = choose(state.phase == IDLE, elected, after)
        return elected

    def may_fail(self, state: Recovery, broker: Word, status: Word) -> dict[str, Truth]:
        """A broker dies, or is cut off from the controller."""
        return {"broker is up": pick(state.brokers, broker, DOWN) == UP, "budget": state.left.faults > 0}

    def fail(self, state: Recovery, broker: Word, status: Word) -> Recovery:
        """It is fenced: out of every ISR, and followed by an election where it led."""
        after = evolve(state.spend("faults"), brokers=put(state.brokers, broker, status))
        return self._each(after, lambda p: without(registration(p), broker).isr, after.up())

    def _each(self, state: Recovery, isr: Callable[[Recovered], Brokers], up: BrokerSet) -> Recovery:
        rules = self.rules.partition
        partitions = tuple(changed(p, isr(p), acceptable(p, up, rules), rules) for p in state.partitions)
        return evolve(state, partitions=partitions)

    def may_fail_disk(self, state: Recovery, partition: Word, broker: Word) -> dict[str, Truth]:
        """The directory of a replica outside ISR and ELR fails; the others are the system `directories`' matter."""
        p = pick(state.partitions, partition, state.partitions[0])
        return {
            "replica is online": negate(pick(p.replicas, broker, p.replicas[0]).offline),
            "replica is in neither ISR nor ELR": negate(p.isr.plus(p.elr).has(broker)),
            "budget": state.left.disks > 0,
        }

    def fail_disk(self, state: Recovery, partition: Word, broker: Word) -> Recovery:
        """The log cannot be read, and may not lead."""
        p = pick(state.partitions, partition, state.partitions[0])
        replica = pick(p.replicas, broker, p.replicas[0])
        failed = evolve(p, replicas=put(p.replicas, broker, evolve(replica, offline=True)))
        return evolve(state.spend("disks"), partitions=put(state.partitions, partition, failed))

    def may_replace_disk(self, state: Recovery, broker: Word) -> dict[str, Truth]:
        """A broker outside every ISR and ELR restarts on a new disk; members of them are the matter of `elections`."""
        members = [p.isr.plus(p.elr).has(broker) for p in state.partitions]
        return {
            "broker is up": pick(state.brokers, broker, DOWN) == UP,
            "broker is in neither ISR nor ELR": negate(any_of(*members)),
            "budget": state.left.replacements > 0,
        }

    def replace_disk(self, state: Recovery, broker: Word) -> Recovery:
        """It registers with a new broker epoch, is unfenced, and has no record of any partition."""
        partitions = tuple(
            evolve(p, replicas=put(p.replicas, broker, Replica(p.epoch, 0, 0, 0, False))) for p in state.partitions
        )
        later = pick(state.incarnations, broker, 0) + 1
        incarnations = put(state.incarnations, broker, later)
        return evolve(state.spend("replacements"), partitions=partitions, incarnations=incarnations)

    def may_write(self, state: Recovery, partition: Word) -> dict[str, Truth]:
        """A leader that has every committed record takes another; after a loss, nothing more is counted."""
        p = pick(state.partitions, partition, state.partitions[0])
        leader = pick(p.replicas, p.leader, p.replicas[0])
        return {
            "there is a leader": p.is_led(),
            "it has every committed record": leader.held == p.committed,
            "budget": state.left.writes > 0,
        }

    def write(self, state: Recovery, partition: Word) -> Recovery:
        """The leader is its whole ISR, which is enough: the record is committed at once."""
        p = pick(state.partitions, partition, state.partitions[0])
        old = pick(p.replicas, p.leader, p.replicas[0])
        new = evolve(old, current=p.epoch, written=p.epoch, length=old.length + 1, held=old.held + 1)
        grown = evolve(p, committed=p.committed + 1, replicas=put(p.replicas, p.leader, new))
        return evolve(state.spend("writes"), partitions=put(state.partitions, partition, grown))

    def may_replicate(self, state: Recovery, partition: Word, broker: Word) -> dict[str, Truth]:
        """A live follower of a leader that has every committed record lacks some of its log."""
        p = pick(state.partitions, partition, state.partitions[0])
        leader, follower = pick(p.replicas, p.leader, p.replicas[0]), pick(p.replicas, broker, p.replicas[0])
        return {
            "there is a leader": negate(p.leader == NO_LEADER),
            "it has every committed record": leader.held == p.committed,
            "follower is up": pick(state.brokers, broker, DOWN) == UP,
            "follower's directory is online": negate(follower.offline),
            "logs differ": negate(leader.same_log(follower)),
        }

    def replicate(self, state: Recovery, partition: Word, broker: Word) -> Recovery:
        """It truncates and fetches until it has the leader's log; it stays outside the ISR."""
        p = pick(state.partitions, partition, state.partitions[0])
        copy = evolve(pick(p.replicas, p.leader, p.replicas[0]), current=p.epoch, offline=False)
        same = evolve(p, replicas=put(p.replicas, broker, copy))
        return evolve(state, partitions=put(state.partitions, partition, same))


STATUSES = (DOWN, CUT)  # what a failing broker becomes


OPERATOR, TOOL, CONTROLLER, BROKER = "operator", "tool", "controller", "broker {broker}"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, the tool, the controller, and each broker."""
    return (OPERATOR, TOOL, CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(
    lanes,
    {
        "start": sent(OPERATOR, TOOL, "a run"),
        "answer": sent(BROKER, TOOL, "GetReplicaLogInfo"),
        **events(TOOL, "tick", "decide", "fail_tool"),
        "request": sent(TOOL, CONTROLLER, "ElectLeaders DESIGNATED"),
        "interrupt": sent(OPERATOR, TOOL, "SIGTERM"),
        "finish": sent(TOOL, OPERATOR, "exit status"),
        **events(BROKER, "fail", "fail_disk", "replicate"),
        "replace_disk": sent(OPERATOR, BROKER, "another disk"),
        "come_back": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced"),
        "write": event(CONTROLLER),
    },
    {"leader": "partitions[0].leader", "ISR": "partitions[0].isr", "ELR": "partitions[0].elr",
     "leader epoch": "partitions[0].epoch", "chosen": "partitions[0].chosen"},
)  # fmt: skip


_MANY = 1000  # what proofs take where exploration takes a few

BOUNDS = (
    Bound("brokers", 2, 5, "number of brokers, each a replica of every partition; broker 0 is gone at the start"),
    Bound("partitions", 1, 3, "number of partitions"),
    Bound("histories", 0, 1, "partitions whose replicas may have every log; the others have one each"),
    Bound("served", 1, 3, "partitions that one request is served for: 1,000 scaled down"),
    Bound("ticks", 1, 3, "parts of --recovery-duration-ms", _MANY),
    Bound("retries", 0, 3, "retries of a request for elections", _MANY),
    Bound("attempts", 1, 3, "budget: runs of the tool", _MANY),
    Bound("returns", 0, 3, "budget: brokers that come back", _MANY),
    Bound("faults", 0, 3, "budget: brokers that die, or are cut off from the controller", _MANY),
    Bound("disks", 0, 2, "budget: directories that fail", _MANY),
    Bound("writes", 0, 2, "budget: records that a leader commits", _MANY),
    Bound("replacements", 0, 2, "budget: brokers that come back with an empty disk", _MANY),
)

_BASE = {
    "brokers": 3, "partitions": 1, "histories": 1, "served": 1, "ticks": 1, "retries": 1, "attempts": 1, "returns": 0,
    "faults": 0, "disks": 0, "writes": 0, "replacements": 0,
}  # fmt: skip

SCOPES = {
    "tiny": {**_BASE, "faults": 1, "disks": 1},
    "returning": {**_BASE, "returns": 1, "faults": 1, "writes": 1},
    "requests": {**_BASE, "partitions": 2, "histories": 0, "ticks": 2, "attempts": 2, "returns": 1, "disks": 1},
    "small": {**_BASE, "retries": 3, "attempts": 2, "returns": 1, "faults": 1, "writes": 1},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of the tool, of the controller, and what goes wrong as far as there is budget for it."""
    tool = Tool(setting.rules, setting["served"], setting["retries"], setting["ticks"], designation)
    brokers = {"broker": tuple(range(setting["brokers"]))}
    return reporting([
        Action("start", tool.start, tool.may_start, {}, "kafka-unclean-recovery.sh"),
        Action("answer", tool.answer, tool.may_answer, brokers, "GetReplicaLogInfo"),
        Action("tick", tool.tick, tool.may_tick, {}, "--recovery-duration-ms"),
        Action("decide", tool.decide, tool.may_decide, {}, "Proposed Changes"),
        Action("request", tool.request, tool.may_request, {"outcome": OUTCOMES}, "ElectLeaders, DESIGNATED"),
        Action("interrupt", tool.interrupt, tool.may_interrupt, {}, "SIGTERM"),
        Action("fail_tool", tool.fail, tool.may_fail, {}, "rejected alternatives"),
        Action("finish", tool.finish, tool.may_finish, {}, "exit status"),
        *_environment(setting),
    ], UncleanRecoveryEvent())  # fmt: skip


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
    quiet=lambda state: UncleanRecoveryEvent(),
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
