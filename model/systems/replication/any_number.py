"""Any number of brokers of the `replication` system: the fields of a state and its initial states, for proofs.

What a broker knows of each other one is a function of two brokers. Logs, leader epochs and budgets are bounded.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.anynumber.maps import all_records, each_record, for_any_number, same_leaves
from kraftcheck.model.language.layout import Flag, counter, endless, ints, truth
from kraftcheck.model.language.system import Conjuncts, ScopeError, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, choose, negate
from kraftcheck.model.systems.elections import any_number as elections
from kraftcheck.model.systems.elections.state import layout as registration
from kraftcheck.model.systems.replication.endless import unbounded
from kraftcheck.model.systems.replication.log import VACANT, Log
from kraftcheck.model.systems.replication.state import (
    INELIGIBLE,
    NONE,
    RUNNING,
    STOPPED_CLEAN,
    STOPPED_UNCLEAN,
    UNKNOWN,
    Broker,
    Replication,
    ReplicationBudgets,
    Reply,
    Request,
)

LAST_EPOCH = "the bound epochs is the last leader epoch; an election after it is left out"


def layout(setting: Setting, left: ReplicationBudgets, reply: Reply) -> Replication:
    """The domain of each field, with those of budgets and of a late reply.

    Raises:
        ScopeError: for a scope that bounds how far brokers are behind, or leaves logs or epochs without bound.
    """
    if unbounded(setting) or setting["lag"] < setting["epochs"]:
        raise ScopeError("replication: any number of brokers takes no bound lag below epochs, nor --unbounded")
    epochs = setting["epochs"]
    some, epoch, minimum = elections.some_set(), ints(0, epochs, cap=LAST_EPOCH), counter(1)
    offset, log = ints(0, setting["records"]), Log((ints(VACANT, epochs + 1),) * setting["records"])
    never: Any = Flag(0, 0)
    broker = Broker(
        status=ints(RUNNING, STOPPED_UNCLEAN), log=log, high_watermark=offset, epoch=epoch, current=truth(),
        unseen=truth() if setting.rules.data_plane.equal_epoch_ends_proposal else never,
        isr=some, min_isr=minimum, proposed=some, answer=ints(NONE, INELIGIBLE),
        ends=for_any_number(ints(UNKNOWN, setting["records"])), stale=some,
        empty_epoch=ints(VACANT, epochs + 1 if setting.rules.data_plane.noop_truncation_keeps_epochs else VACANT),
    )  # fmt: skip
    controller, none = registration(setting), evolve(some, members=endless(0, 0, truths=True))
    moves = setting["reassignments"] > 0
    fixed = {} if moves else {"adding": none, "removing": none}
    return Replication(
        controller=evolve(
            controller, unclean_election=never, **fixed,
            shutting_down=controller.shutting_down if setting["clean-stops"] else none,
        ),
        leader_epoch=epoch,
        leaders=(counter(NO_LEADER),) * (epochs + 1), isrs=(some,) * (epochs + 1), minimums=(minimum,) * (epochs + 1),
        brokers=for_any_number(broker), request=Request(some, some, truth()),
        committed=log, acknowledged=offset, lossy=truth(), lag=ints(0, 0),
        left=left, reply=reply,
    )  # fmt: skip


def new_topic(setting: Setting, state: Replication, left: ReplicationBudgets) -> Conjuncts:
    """What holds of a topic that is new on any of the brokers that have registered; the others do not run."""
    controller = state.controller
    elr = bool(setting["elr"]) and setting.rules.partition.elr_available
    empty, none = Log((VACANT,) * setting["records"]), controller.isr.none()

    def begins(n: Word, b: Broker) -> Truth:
        leads = controller.leader == n
        led = Broker(
            choose(controller.registered.has(n), RUNNING, STOPPED_CLEAN), empty, 0, 0, leads, False,
            choose(leads, controller.isr, none), choose(leads, controller.effective_min_isr(), 1), none, NONE,
            b.ends, none,
        )  # fmt: skip
        sets = all_of(*(getattr(b, name).same(getattr(led, name)) for name in ("isr", "proposed", "stale")))
        unknown = all_records(b.ends, lambda _, end: end == UNKNOWN)
        return all_of(sets, unknown, same_words(b, led))

    past = zip(state.leaders[1:], state.isrs[1:], state.minimums, strict=False)
    return {
        **elections.new_topic(controller, 1, elr),
        "the first epoch is the leader's": state.leaders[0] == controller.leader,
        "nothing is kept of other epochs": all_of(
            *(all_of(leader == NO_LEADER, isr.is_empty(), minimum == 1) for leader, isr, minimum in past),
            state.isrs[0].is_empty(), state.minimums[-1] == 1,
        ),
        "nothing is in flight": all_of(
            state.request.isr.is_empty(), state.request.stated.is_empty(), negate(state.request.stale)
        ),
        "nothing has happened": all_of(
            state.leader_epoch == 0, state.acknowledged == 0, negate(state.lossy),
            *(entry == VACANT for entry in state.committed.entries), same_leaves(state.left, left),
        ),
        **{f"state of {name}": truth_ for name, truth_ in each_record(state.brokers, begins).items()},
    }  # fmt: skip


def same_words(a: Broker, b: Broker) -> Truth:
    """Whether two brokers are equal in all that is one word or truth."""
    names = ("status", "log", "high_watermark", "epoch", "current", "unseen", "min_isr", "answer", "empty_epoch")
    return same_leaves(tuple(getattr(a, name) for name in names), tuple(getattr(b, name) for name in names))
