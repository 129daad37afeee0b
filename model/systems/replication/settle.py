"""Settled states: a field that no rule can read any more has one value.

Two states that differ only in such fields have the same future, so giving the
fields one value after every step changes no verdict and no shortest trace; a test
compares explorations with and without. What is dead:

* what a broker knows as a leader, while it does not lead;
* the leader epoch of a broker that does not run: it registers at the newest one;
* which broker epochs a request states, once one of them is out of date: it can only
  be refused with INELIGIBLE_REPLICA;
* a late reply to a follower that has stopped;
* the newest leader epoch with a commit, of which only claims about any number of epochs speak;
* the leader of an epoch that every running broker has passed; the last ISR and min
  ISR of an epoch whose leader does not run, or has applied it.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from kraftcheck.model.language.anynumber import rewritten_records, some_records
from kraftcheck.model.language.system import ANY, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, none_of
from kraftcheck.model.systems.replication.endless import unbounded
from kraftcheck.model.systems.replication.log import isrs_rewritten, kept_at, larger, rewritten
from kraftcheck.model.systems.replication.state import NONE, Broker, Replication, Reply, no_reply
from kraftcheck.model.triggers.table import effective_min_isr


def settling(effect: Callable[..., Replication], setting: Setting) -> Callable[..., Replication]:
    """An action's effect, followed by `settle`."""

    def settled(state: Replication, **arguments: Word) -> Replication:
        return settle(effect(state, **arguments), setting)

    return settled


def settle(state: Replication, setting: Setting) -> Replication:
    """The state with one value for everything that is dead, and its lag counted if the scope limits it."""
    low, request = smallest_min_isr(setting), state.request
    brokers = rewritten_records(state.brokers, lambda number, broker: _broker(state, number, broker, low))
    return evolve(
        state if unbounded(setting) else _without_history(state, low),
        brokers=brokers,
        request=evolve(request, stated=choose(request.stale, request.stated.none(), request.stated)),
        commit_epoch=state.commit_epoch if unbounded(setting) else 0,
        deaths=state.deaths if unbounded(setting) else 0,
        lag=_lag(state) if limits_lag(setting) else 0,
        reply=_reply(state, setting) if late_replies(setting) else state.reply,
    )


def _without_history(state: Replication, low: int) -> Replication:
    """The state with one value for what is kept of past leader epochs and nobody may ask for."""
    return evolve(
        state,
        leaders=rewritten(state.leaders, lambda e, old: choose(remembered(state, e), old, NO_LEADER)),
        isrs=isrs_rewritten(state.isrs, lambda e, old: choose(_unread(state, e), old.none(), old)),
        minimums=rewritten(state.minimums, lambda e, old: choose(_unread(state, e), low, old)),
    )


def _broker(state: Replication, number: Word, broker: Broker, low: int) -> Broker:
    follower = evolve(
        broker.without_ends(), current=False, unseen=False, isr=broker.isr.none(), min_isr=low,
        proposed=broker.proposed.none(), answer=NONE,
    )  # fmt: skip
    used = choose(state.leads(number, broker), broker, follower)
    return evolve(used, epoch=choose(broker.running(), broker.epoch, 0))


def _reply(state: Replication, setting: Setting) -> Reply:
    """A reply to who has stopped is lost."""
    waits = state.broker(state.reply.follower).running()
    return choose(all_of(state.reply.is_under_way(), waits), state.reply, no_reply(setting["records"]))


def remembered(state: Replication, epoch: Word) -> Truth:
    """Whether somebody may still ask for the leader of an epoch."""
    behind = some_records(state.brokers, lambda _, b: all_of(b.running(), b.epoch <= epoch))
    return any_of(state.leader_epoch == epoch, *behind)


def _unread(state: Replication, epoch: Word) -> Truth:
    """Whether the leader of an epoch has applied it, or never will."""

    def waits(n: Word, b: Broker) -> Truth:
        led = kept_at(state.leaders, epoch, NO_LEADER) == n
        return all_of(led, b.running(), b.epoch < epoch, state.leader_epoch > epoch)

    return none_of(*some_records(state.brokers, waits))


def _lag(state: Replication) -> Word:
    most: Word = 0
    for broker in state.brokers:
        most = larger(most, choose(broker.running(), state.leader_epoch - broker.epoch, 0))
    return most


def late_replies(setting: Setting) -> bool:
    """Whether replies to fetches may be late."""
    return setting["late-replies"] > 0


def limits_lag(setting: Setting) -> bool:
    """Whether the scope limits how far brokers may be behind."""
    return setting["lag"] < setting["epochs"] and not unbounded(setting)


def fixes_min_isr(setting: Setting) -> bool:
    """Whether the effective min ISR can never change in a scope."""
    return setting["config-changes"] == 0 and setting["reassignments"] == 0 and setting["brokers"] != ANY


def smallest_min_isr(setting: Setting) -> int:
    """The smallest effective min ISR there can be; what stands where none is known."""
    return int(effective_min_isr(setting["min-isr"], setting["replication"])) if fixes_min_isr(setting) else 1
