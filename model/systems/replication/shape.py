"""Layout and initial states of the `replication` system."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import (
    UNBOUNDED,
    Flag,
    all_where,
    anything,
    counter,
    endless,
    filled,
    ints,
    subset_of,
    truth,
)
from kraftcheck.model.language.system import ANY, ScopeError, Setting
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import DirectoryMap
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.replication import any_number
from kraftcheck.model.systems.replication.any_number import LAST_EPOCH
from kraftcheck.model.systems.replication.endless import EndlessLog, allows, unbounded
from kraftcheck.model.systems.replication.log import VACANT, Log
from kraftcheck.model.systems.replication.settle import (
    fixes_min_isr,
    late_replies,
    limits_lag,
    settle,
    smallest_min_isr,
)
from kraftcheck.model.systems.replication.state import (
    INELIGIBLE,
    NONE,
    RUNNING,
    STOPPED_UNCLEAN,
    UNKNOWN,
    Broker,
    Replication,
    ReplicationBudgets,
    Reply,
    Request,
    no_reply,
    no_request,
)

BUDGETS = (
    "records", "unclean_stops", "clean_stops", "fences", "shrinks", "reassignments", "unclean_elections",
    "config_changes", "late_replies",
)  # fmt: skip


NEVER: Any = Flag(0, 0)
"""The domain of a truth that is always false."""

FURTHEST_BEHIND = "the bound lag is how many leader epochs a running broker may be behind; more is left out"
"""Caps: what a Kafka cluster may do, and the scope leaves out."""


def layout(setting: Setting) -> Replication:
    """The domain of each field; what a scope cannot change has one value and costs no bits."""
    if setting["brokers"] == ANY:
        return any_number.layout(setting, _left(setting), _reply(setting))
    brokers, records, epochs = setting["brokers"], setting["records"], setting["epochs"]
    some, epoch = BrokerSet(subset_of(brokers)), counter() if unbounded(setting) else ints(0, epochs, cap=LAST_EPOCH)
    offset, known = (counter(), counter(UNKNOWN)) if unbounded(setting) else (ints(0, records), ints(UNKNOWN, records))
    someone, never = ints(NO_LEADER, brokers - 1), ints(UNKNOWN, UNKNOWN)
    log = Log((ints(VACANT, epochs + 1),) * records)
    if unbounded(setting):
        log = EndlessLog(endless(VACANT, UNBOUNDED), counter())
    low = smallest_min_isr(setting)
    minimum = ints(low, low if fixes_min_isr(setting) else brokers)

    def broker(number: int) -> Broker:
        ends = tuple(never if b == number else known for b in range(brokers))
        return Broker(
            status=ints(RUNNING, STOPPED_UNCLEAN), log=log, high_watermark=offset, epoch=epoch, current=truth(),
            unseen=truth() if setting.rules.data_plane.equal_epoch_ends_proposal else NEVER,
            isr=some, min_isr=minimum, proposed=some,
            answer=ints(NONE, INELIGIBLE), ends=ends, stale=some,
            empty_epoch=ints(VACANT, epochs + 1 if setting.rules.data_plane.noop_truncation_keeps_epochs else VACANT),
        )  # fmt: skip

    history: tuple[Any, Any, Any] = (someone,) * (epochs + 1), (some,) * (epochs + 1), (minimum,) * (epochs + 1)
    if unbounded(setting):
        history = (endless(NO_LEADER, brokers - 1), endless(0, (1 << brokers) - 1), endless(minimum.lo, minimum.hi))
    return Replication(
        controller=_registration(setting),
        leader_epoch=epoch,
        leaders=history[0], isrs=history[1], minimums=history[2],
        brokers=tuple(broker(number) for number in range(brokers)),
        request=Request(some, some, truth()),
        committed=log, acknowledged=offset, commit_epoch=epoch if unbounded(setting) else ints(0, 0), lossy=truth(),
        lag=ints(0, setting["lag"], cap=FURTHEST_BEHIND) if limits_lag(setting) else ints(0, 0),
        left=_left(setting), deaths=counter() if unbounded(setting) else ints(0, 0),
        reply=_reply(setting),
    )  # fmt: skip


def _reply(setting: Setting) -> Reply:
    """The domain of a late reply: one value where none may be late."""
    if not late_replies(setting):
        nobody, zero = ints(NO_LEADER, NO_LEADER), ints(0, 0)
        return Reply(nobody, nobody, zero, zero, ints(UNKNOWN, UNKNOWN), zero, zero, Log(()))
    someone, offset = ints(NO_LEADER, setting["brokers"] - 1), ints(0, setting["records"])
    entry = setting["epochs"] + 1
    return Reply(
        someone, someone, ints(0, setting["epochs"], cap=LAST_EPOCH), offset, ints(UNKNOWN, entry), offset, offset,
        Log((ints(VACANT, entry),) * setting["records"]),
    )  # fmt: skip


def _left(setting: Setting) -> ReplicationBudgets:
    """The domain of each budget."""
    bounded = {name: ints(0, number) for name, number in _budgets(setting).items()}
    return ReplicationBudgets(**(dict.fromkeys(BUDGETS, counter()) | bounded))


def _budgets(setting: Setting) -> dict[str, int]:
    """The budgets that have a bound."""
    bounds = {name: name.replace("_", "-") for name in BUDGETS}
    return {name: setting[bound] for name, bound in bounds.items() if bound not in setting.freed}


def _registration(setting: Setting) -> Elections:
    """The controller's part: one directory for each broker, nobody unregisters."""
    brokers, shape, start = setting["brokers"], elections.layout(setting), _start(setting)
    moves, everyone = setting["reassignments"] > 0, (1 << brokers) - 1
    minimum, none = setting["min-isr"], BrokerSet(ints(0, 0))
    return evolve(
        shape,
        replicas=shape.replicas if moves else Replicas(_constants(start.replicas.slots)),
        directories=DirectoryMap(_constants(start.directories.slots)),
        adding=shape.adding if moves else none,
        removing=shape.removing if moves else none,
        registered=BrokerSet(ints(everyone, everyone)),
        shutting_down=shape.shutting_down if allows(setting, "clean-stops") else none,
        online_dirs=(BrokerSet(ints(1, 1)),) * brokers,
        min_insync_replicas=shape.min_insync_replicas if setting["config-changes"] else ints(minimum, minimum),
        unclean_election=NEVER,
    )


def _constants(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(ints(value, value) for value in values)


def _start(setting: Setting) -> Elections:
    """A partition on live brokers, with the scope's replication factor, min ISR and ISR.

    Raises:
        ScopeError: when there are fewer brokers than replicas, or fewer replicas or ISR members than the min ISR.
    """
    brokers, factor, minimum = setting["brokers"], setting["replication"], setting["min-isr"]
    members = setting["initial-isr"] or factor
    if not minimum <= factor <= brokers:
        raise ScopeError(
            f"replication: min-isr {minimum} must be at most replication {factor}, and that at most brokers {brokers}"
        )
    if not minimum <= members <= factor:
        raise ScopeError(f"replication: initial-isr {members} must be from min-isr {minimum} to replication {factor}")
    starts = elections.initial(setting)
    found = next(s for s in starts if s.min_insync_replicas == minimum and s.replicas.size() == factor)
    elr_enabled = bool(setting["elr"]) and setting.rules.partition.elr_available
    return evolve(found, isr=BrokerSet.of(range(members)), elr_enabled=elr_enabled)


def initial(setting: Setting) -> list[Replication]:
    """An empty partition on live brokers, everything applied everywhere."""
    if setting["brokers"] == ANY:
        return [all_where(lambda state: any_number.new_topic(setting, state, _budgets(setting)))]
    brokers, epochs, low = setting["brokers"], setting["epochs"], smallest_min_isr(setting)
    empty, controller = Log((VACANT,) * setting["records"]), _start(setting)
    left = ReplicationBudgets(**(dict.fromkeys(BUDGETS, anything()) | _budgets(setting)))
    if unbounded(setting):
        empty = EndlessLog(anything(), 0)
    broker = Broker(
        RUNNING, empty, 0, 0, True, False, controller.isr, controller.effective_min_isr(), BrokerSet(), NONE,
        (UNKNOWN,) * brokers, BrokerSet(),
    )  # fmt: skip
    state = Replication(
        controller=controller, leader_epoch=0,
        leaders=(0, *(NO_LEADER,) * epochs), isrs=(BrokerSet(),) * (epochs + 1), minimums=(low,) * (epochs + 1),
        brokers=(broker,) * brokers, request=no_request(), committed=empty, acknowledged=0, commit_epoch=0,
        lossy=False, lag=0, left=left, reply=no_reply(setting["records"] if late_replies(setting) else 0),
    )  # fmt: skip
    settled = settle(state, setting)
    if unbounded(setting):
        return [evolve(settled, leaders=filled(0, NO_LEADER), isrs=anything(), minimums=anything())]
    return [settled]
