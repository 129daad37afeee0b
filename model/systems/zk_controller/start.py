"""Initial states and layout of the `zk-controller` system."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Domain, Flag, Range, ints, leaves, rebuild, subset_of, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, none_of
from kraftcheck.model.systems.zk_controller.state import (
    AWAKE,
    NOTHING,
    REPLACED,
    RESTING,
    STARTING,
    UNREAD,
    WATCHING,
    Broker,
    Controller,
    Decision,
    Partition,
    Replica,
    ZkController,
    ZkControllerBudgets,
    blank,
)


def only(value: Any) -> Any:
    """The domains of a value that nothing changes: each leaf has the one that it has.

    >>> only(3), only(False)
    (Range(lo=3, hi=3), Flag(lo=0, hi=0))
    """
    values = iter([leaf for _, leaf in leaves(value)])

    def alone() -> Domain:
        leaf = next(values)
        return Flag(int(leaf), int(leaf)) if isinstance(leaf, bool) else Range(leaf, leaf)

    return rebuild(value, alone)

BUDGETS = (
    "stops", "session_losses", "controller_failures", "replica_failures", "isr_changes", "depositions",
    "reassignments", "deletions",
)  # fmt: skip


def versions(setting: Setting) -> int:
    """The largest version.

    Changes of the ISR, and two writes for each leader that can be lost; where replicas are reassigned, also one for
    each time that a new replica joins, and for each controller that completes it.
    """
    losses = setting["stops"] + setting["session-losses"] + setting["replica-failures"]
    last = 2 + setting["isr-changes"] + 2 * losses
    joins = setting["brokers"] + setting["isr-changes"] + losses + setting["controller-failures"]
    return last + (joins if setting["reassignments"] else 0)


def layout(setting: Setting) -> ZkController:
    """The domain of each field; what no budget can change has one value."""
    brokers, partitions = setting["brokers"], setting["partitions"]
    some, moves = BrokerSet(subset_of(brokers)), bool(setting["reassignments"])
    decision = Decision(ints(0, versions(setting)), ints(NO_LEADER, brokers - 1), some)
    replica = Replica(decision, truth(), decision)
    broker = Broker(truth(), truth(), ints(STARTING, AWAKE), (replica,) * partitions)
    nobody, partition = only(BrokerSet()), Partition(
        created=truth(), deleted=truth() if setting["deletions"] else only(False),
        assigned=some if moves else only(_assigned(setting)), target=some if moves else only(BrokerSet()),
        stopping=some, node=decision, failed=some, holds=some, last=some, floor=decision.version,
    )  # fmt: skip
    if not moves and not setting["deletions"]:
        partition = evolve(partition, stopping=nobody)
    return ZkController(
        partitions=(partition,) * partitions, brokers=(broker,) * brokers, controller=_memory(setting),
        deposed=_memory(setting) if setting["depositions"] else only(blank(partitions)), changed=truth(),
        left=ZkControllerBudgets(**{name: ints(0, setting[name.replace("_", "-")]) for name in BUDGETS}),
    )  # fmt: skip


def _memory(setting: Setting) -> Controller:
    brokers, partitions, last = setting["brokers"], setting["partitions"], versions(setting)
    some, someone = BrokerSet(subset_of(brokers)), ints(NO_LEADER, brokers - 1)
    moves = bool(setting["reassignments"])
    return Controller(
        present=truth(), unread=truth(), working=truth(), wrote=truth(), live=some,
        seen=(Decision(ints(UNREAD, last), someone, some),) * partitions,
        decided=(Decision(ints(0, last), someone, some),) * partitions, tell=(some,) * partitions,
        checked=(ints(UNREAD, last) if moves else only(UNREAD),) * partitions,
        moved=(ints(RESTING, REPLACED) if moves else only(RESTING),) * partitions,
        host=someone if setting["controller-is-broker"] else only(NO_LEADER),
    )  # fmt: skip


def _assigned(setting: Setting) -> BrokerSet:
    """Everybody; where replicas are reassigned, everybody but the last broker."""
    brokers = setting["brokers"]
    return BrokerSet.of(range(brokers - 1 if setting["reassignments"] and brokers > 1 else brokers))


def _first_host(setting: Setting) -> int:
    return 0 if setting["controller-is-broker"] else NO_LEADER


def initial(setting: Setting) -> list[ZkController]:
    """Broker 0 leads, and who has a replica follows; with `new-topic` the last partition does not exist yet."""
    brokers, partitions, assigned = setting["brokers"], setting["partitions"], _assigned(setting)
    new = partitions - 1 if setting["new-topic"] else partitions
    nodes = tuple(NOTHING if p == new else Decision(1, 0, assigned) for p in range(partitions))
    listed = tuple(
        Broker(True, True, WATCHING, tuple(
            Replica(n, b > 0 and n.version > 0, NOTHING) if assigned.has(b) else Replica(NOTHING, False, NOTHING)
            for n in nodes
        ))
        for b in range(brokers)
    )  # fmt: skip
    return [
        ZkController(
            partitions=tuple(
                Partition(n.version > 0, False, assigned, BrokerSet(), BrokerSet(), n, BrokerSet(), n.isr, n.isr, 0)
                for n in nodes
            ),
            brokers=listed,
            controller=evolve(blank(partitions), present=True, decided=nodes, host=_first_host(setting)),
            deposed=blank(partitions),
            changed=False,
            left=ZkControllerBudgets(**{name: setting[name.replace("_", "-")] for name in BUDGETS}),
        )
    ]


def settled(state: ZkController) -> Truth:
    """Nobody has anything to do: brokers are gone or watch their queues, the controller waits for its watches."""
    resting = [any_of(none_of(b.up, b.registered), b.status == WATCHING) for b in state.brokers]
    idle = all_of(state.controller.idle(), none_of(state.changed, state.deposed.present))
    return all_of(*resting, any_of(idle, state.registered().is_empty()))
