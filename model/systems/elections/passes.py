"""One pass over the partition: build a change, replay it, note what happened.

An event is one or more passes. Kafka computes all passes of an event from the
state before it (defect B8 where that matters); the rules say which base a
second pass uses.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, fields, frozen

from model.brokersets import BrokerSet
from model.change import Build, BuildContext, Target, build
from model.directories import FIRST_LOCAL, MIGRATING, UNASSIGNED
from model.partition import Partition, PartitionChange, merge, no_change
from model.rules import RuleSet
from model.systems.elections.state import Elections, Event, replicas_online
from model.terms import Truth, Word
from model.words import NO_LEADER, Maybe, all_of, any_of, choose, negate, word


@frozen
class Trigger:
    """Who may lead and how, for one pass; the columns of the trigger table.

    Attributes:
        barred: brokers that may not lead, whatever their status.
        counted: brokers that count as active although still fenced.
        preferred: a preferred election.
        unclean: whether an unclean election is allowed.
        elr: whether the build has ELR on.
        unclean_shutdown: brokers that stopped uncleanly.
        designated: elect exactly this broker.
    """

    barred: BrokerSet
    counted: BrokerSet
    preferred: bool
    unclean: Truth
    elr: Truth
    unclean_shutdown: BrokerSet
    designated: Word | None = None


def trigger(state: Elections, broker: Word = NO_LEADER) -> Trigger:
    """An ordinary trigger that bars a broker: unclean election as the topic says, ELR as enabled."""
    barred = BrokerSet().just(broker)
    return Trigger(barred, BrokerSet(), False, state.unclean_election, state.elr_enabled, BrokerSet())


@frozen
class Progress:
    """The partition after the passes so far, what they did, and the change that each wrote."""

    partition: Partition
    event: Event
    changes: tuple[PartitionChange, ...] = ()


def start(state: Elections) -> Progress:
    """No pass yet."""
    event = Event(0, 0, 0, False, False, False, False, False, False, False, BrokerSet(), state.effective_min_isr())
    return Progress(state.partition(), event)


def acceptable(state: Elections, trig: Trigger, rules: RuleSet) -> BrokerSet:
    """Brokers that pass the leader test.

    An active broker that is no replica has no directory to look up: Kafka
    throws there. Such brokers are kept in the set, so that choosing one shows
    that the lookup was reached; `run` turns that into a resignation.
    """
    active = state.active()
    if rules.fenced_leader_acceptable:
        active = state.registered.minus(state.shutting_down)
    counted = trig.counted if rules.unfence_ignores_controlled_shutdown else trig.counted.minus(state.shutting_down)
    offline = BrokerSet(state.replicas.mask).minus(replicas_online(state, rules))
    return active.plus(counted).minus(trig.barred).minus(offline)


def default_directory(state: Elections, broker: Word, rules: RuleSet) -> Word:
    """Directory of a replica that is new on a broker.

    Source: `ClusterControlManager.defaultDir`; KIP-858 says UNASSIGNED always.
    """
    if rules.default_directory_unassigned:
        return UNASSIGNED
    dirs = state.dirs_of(broker)
    count = dirs.size()
    single = choose(count == 1, dirs.first() + FIRST_LOCAL, UNASSIGNED)
    return choose(state.registered.has(broker), choose(count == 0, MIGRATING, single), UNASSIGNED)


def run(
    state: Elections, base: Partition, sofar: Progress, when: Truth, target: Target, trig: Trigger, rules: RuleSet
) -> Progress:
    """One pass, if `when` holds: build from `base`, replay onto what the passes so far left."""
    eligible = acceptable(state, trig, rules)
    context = BuildContext(
        acceptable=eligible, min_isr=state.effective_min_isr(), preferred=trig.preferred, unclean=trig.unclean,
        elr=trig.elr, use_last_known_leader=True, unclean_shutdown=trig.unclean_shutdown,
        directory_assignment=True, leader_recovery=True, bump_on_isr_shrink=rules.bump_on_isr_shrink,
        default_directory=lambda b: default_directory(state, b, rules), designated=trig.designated,
    )  # fmt: skip
    built = build(base, target, context, rules)
    change = gate(built.change, when)
    written = negate(change.is_noop())
    after = merge(sofar.partition, change, rules)
    # A change without fields is not written; replaying it would only raise the partition epoch.
    after = evolve(after, partition_epoch=choose(written, after.partition_epoch, sofar.partition.partition_epoch))
    event = _note(base, sofar, when, built, written, after, eligible)
    event = evolve(event, stale_base=any_of(event.stale_base, _stale(base, sofar, written)))
    stopped = BrokerSet(choose(when, trig.unclean_shutdown.mask, 0))
    event = evolve(event, unclean_shutdown=event.unclean_shutdown.plus(stopped))
    return Progress(after, event, (*sofar.changes, change))


def _stale(base: Partition, sofar: Progress, written: Truth) -> Truth:
    """Whether a record is decided on the partition before an earlier record of the event."""
    return False if base is sofar.partition else all_of(written, sofar.event.records > 0)


def _note(
    base: Partition, sofar: Progress, when: Truth, built: Build, written: Truth, after: Partition, eligible: BrokerSet
) -> Event:
    seen, won, isr = sofar.event, built.election, built.target_isr
    moved = all_of(when, negate(won.leader == base.leader), won.leader >= 0)
    clean_outsider = all_of(moved, negate(won.unclean), negate(isr.has(won.leader)))
    return evolve(
        seen,
        records=seen.records + word(written),
        leader_epoch_bumps=after.leader_epoch,
        partition_epoch_bumps=after.partition_epoch,
        unclean=any_of(seen.unclean, all_of(moved, won.unclean)),
        last_known=any_of(seen.last_known, all_of(moved, won.last_known)),
        from_elr=any_of(seen.from_elr, clean_outsider),
        over_isr=any_of(seen.over_isr, all_of(clean_outsider, negate(isr.is_empty()))),
        completed=any_of(seen.completed, all_of(when, built.completed)),
        resigned=any_of(seen.resigned, all_of(when, _lookup_failed(base, built, eligible))),
    )


def _lookup_failed(base: Partition, built: Build, eligible: BrokerSet) -> Truth:
    """Whether the election asked for the directory of a broker that is no replica."""
    won = built.election
    outsider = all_of(won.leader >= 0, negate(base.replicas.has(won.leader)))
    return all_of(outsider, any_of(negate(won.last_known), eligible.has(won.leader)))


def gate(change: PartitionChange, when: Truth) -> PartitionChange:
    """The change with every field absent unless `when` holds."""

    def gated(field: Any) -> Any:
        return Maybe(all_of(field.present, when), field.value)

    return PartitionChange(**{f.name: gated(getattr(change, f.name)) for f in fields(PartitionChange)})


def clear_elr(p: Partition, when: Truth) -> PartitionChange:
    """The record that clears ELR and last-known ELR, where one is not empty."""
    change = no_change(p)
    listed = all_of(when, negate(all_of(p.elr.is_empty(), p.last_known_elr.is_empty())))
    return evolve(
        change,
        elr=change.elr.set_when(listed, p.elr.none()),
        last_known_elr=change.last_known_elr.set_when(listed, p.last_known_elr.none()),
    )
