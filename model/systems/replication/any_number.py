"""Any number of brokers of the `replication` system: the fields of a state and its initial states, for proofs.

What a broker knows of each other one is a function of two brokers. Logs, leader epochs and budgets are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from kraftcheck.model.language.anynumber import all_records, each_record, for_any_number, same_leaves
from kraftcheck.model.language.layout import UNBOUNDED, Flag, counter, endless, ints, truth
from kraftcheck.model.language.system import Conjuncts, ScopeError, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import layout as registration
from kraftcheck.model.systems.replication.endless import EndlessLog, allows, unbounded
from kraftcheck.model.systems.replication.log import VACANT, Log, first_kept, of_each
from kraftcheck.model.systems.replication.settle import limits_lag
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
    if limits_lag(setting):
        raise ScopeError("replication: any number of brokers takes no bound lag below epochs")
    epochs = setting["epochs"]
    some, epoch, minimum = elections.some_set(), ints(0, epochs, cap=LAST_EPOCH), counter(1)
    offset, known = ints(0, setting["records"]), ints(UNKNOWN, setting["records"])
    log = Log((ints(VACANT, epochs + 1),) * setting["records"])
    kept: tuple[Any, ...] = (counter(NO_LEADER, none=NO_LEADER), some, minimum)
    history = [(domain,) * (epochs + 1) for domain in kept]
    if unbounded(setting):
        epoch, offset, known = counter(), counter(), counter(UNKNOWN)
        log = EndlessLog(endless(VACANT, UNBOUNDED), counter())
        history = [for_any_number(domain) if domain is some else endless(domain.lo, UNBOUNDED) for domain in kept]
    never: Any = Flag(0, 0)
    broker = Broker(
        status=ints(RUNNING, STOPPED_UNCLEAN), log=log, high_watermark=offset, epoch=epoch, current=truth(),
        unseen=truth() if setting.rules.data_plane.equal_epoch_ends_proposal else never,
        isr=some, min_isr=minimum, proposed=some, answer=ints(NONE, INELIGIBLE),
        ends=for_any_number(known), stale=some,
        empty_epoch=ints(VACANT, epochs + 1 if setting.rules.data_plane.noop_truncation_keeps_epochs else VACANT),
    )  # fmt: skip
    controller, none = registration(setting), evolve(some, members=endless(0, 0, truths=True))
    moves = setting["reassignments"] > 0
    fixed = {} if moves else {"adding": none, "removing": none}
    return Replication(
        controller=evolve(
            controller, unclean_election=never, **fixed,
            shutting_down=controller.shutting_down if allows(setting, "clean-stops") else none,
        ),
        leader_epoch=epoch,
        leaders=history[0], isrs=history[1], minimums=history[2],
        brokers=for_any_number(broker), request=Request(some, some, truth()),
        committed=log, acknowledged=offset, commit_epoch=epoch if unbounded(setting) else ints(0, 0), lossy=truth(),
        lag=ints(0, 0), left=left, deaths=counter() if unbounded(setting) else ints(0, 0), reply=reply,
    )  # fmt: skip


def new_topic(setting: Setting, state: Replication, left: Mapping[str, int]) -> Conjuncts:
    """What holds of a topic that is new on any of the brokers that have registered; the others do not run.

    `left` are the budgets that have a bound: of the others there is any number.
    """
    controller = state.controller
    elr = bool(setting["elr"]) and setting.rules.partition.elr_available
    none = controller.isr.none()

    def begins(n: Word, b: Broker) -> Truth:
        leads = controller.leader == n
        led = Broker(
            choose(controller.registered.has(n), RUNNING, STOPPED_CLEAN), b.log, 0, 0, leads, unseen=False,
            isr=choose(leads, controller.isr, none), min_isr=choose(leads, controller.effective_min_isr(), 1),
            proposed=none, answer=NONE,
            ends=b.ends, stale=none,
        )  # fmt: skip
        sets = all_of(*(getattr(b, name).same(getattr(led, name)) for name in ("isr", "proposed", "stale")))
        unknown = all_records(b.ends, lambda _, end: end == UNKNOWN)
        return all_of(sets, unknown, b.log.end() == 0, same_words(b, led))

    return {
        **elections.new_topic(controller, 1, elr),
        "the first epoch is the leader's": first_kept(state.leaders) == controller.leader,
        "nothing is kept of other epochs": all_of(
            *of_each(state.leaders, lambda epoch, leader: any_of(epoch == 0, leader == NO_LEADER)).values(),
            *of_each(state.isrs, lambda _, isr: isr.is_empty()).values(),
            *of_each(state.minimums, lambda _, minimum: minimum == 1).values(),
        ),
        "nothing is in flight": all_of(
            state.request.isr.is_empty(), state.request.stated.is_empty(), negate(state.request.stale)
        ),
        "nothing has happened": all_of(
            state.leader_epoch == 0, state.acknowledged == 0, state.commit_epoch == 0, negate(state.lossy),
            state.committed.end() == 0, state.deaths == 0,
            *(getattr(state.left, name) == number for name, number in left.items()),
        ),
        **{f"state of {name}": truth_ for name, truth_ in each_record(state.brokers, begins).items()},
    }  # fmt: skip


def same_words(a: Broker, b: Broker) -> Truth:
    """Whether two brokers are equal in all that is one word or truth."""
    names = ("status", "high_watermark", "epoch", "current", "unseen", "min_isr", "answer", "empty_epoch")
    return same_leaves(tuple(getattr(a, name) for name in names), tuple(getattr(b, name) for name in names))
