"""One pass over the partition: a change is built, replayed and counted.

An event is one or more passes. Kafka computes all passes of an event from the
state before it (defect B8 where that matters); the rules say which base a
second pass uses.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve, fields, frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import Maybe, all_of, any_of, choose, negate, word
from kraftcheck.model.partition.change import Build, build
from kraftcheck.model.partition.registration import FIRST_LOCAL, Partition, PartitionChange, merge
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent, replicas_offline
from kraftcheck.model.triggers.leadership import lookup_failed, may_lead
from kraftcheck.model.triggers.table import Pass, Permits, Trigger, context, default_directory, ordinary


def permits(state: Elections) -> Permits:
    """What topic and cluster allow."""
    return Permits(state.unclean_election, state.elr_enabled)


@frozen
class Progress:
    """The partition after the passes so far, what they did, and the change that each wrote."""

    partition: Partition
    event: ElectionsEvent
    changes: tuple[PartitionChange, ...] = ()


def start(state: Elections) -> Progress:
    """No pass yet."""
    event = ElectionsEvent(0, 0, 0, False, False, False, False, False, False, False, False, state.isr.none())
    return Progress(state.partition(), event)


def acceptable(state: Elections, trig: Trigger, rules: PartitionRules) -> Brokers:
    """Brokers that pass the leader test for a trigger."""
    return may_lead(state, replicas_offline(state, rules), trig.barred, trig.counted, rules)


def eligible(state: Elections, rules: PartitionRules) -> Brokers:
    """Brokers that may lead as the partition is."""
    return acceptable(state, ordinary(state.partition(), permits(state)), rules)


def directory_of_new_replica(state: Elections, broker: Word, rules: PartitionRules) -> Word:
    """Directory of a replica that is new on a broker."""
    dirs = state.dirs_of(broker)
    return default_directory(state.registered.has(broker), dirs.size(), dirs.first() + FIRST_LOCAL, True, rules)


def run(state: Elections, base: Partition, sofar: Progress, wanted: Pass, rules: PartitionRules) -> Progress:
    """One pass: build from `base`, replay onto what the passes so far left."""
    when, trig = wanted.when, wanted.trigger
    moved = state.directories if wanted.placed is None else state.directories.moved(*wanted.placed)
    able = acceptable(evolve(state, directories=moved), trig, rules)
    given = context(
        trig, able, state.effective_min_isr(), lambda b: directory_of_new_replica(state, b, rules),
        bump_on_isr_shrink=rules.bump_on_isr_shrink,
    )  # fmt: skip
    built = build(base, wanted.target, given, rules)
    change = gate(built.change, when)
    written = negate(change.is_noop())
    after = merge(sofar.partition, change, rules)
    # A change without fields is not written; replaying it would only raise the partition epoch.
    after = evolve(after, partition_epoch=choose(written, after.partition_epoch, sofar.partition.partition_epoch))
    event = _note(base, sofar, when, built, written, after, able)
    event = evolve(event, stale_base=any_of(event.stale_base, _stale(base, sofar, written)))
    stopped = choose(when, trig.unclean_shutdown, trig.unclean_shutdown.none())
    event = evolve(event, unclean_shutdown=event.unclean_shutdown.plus(stopped))
    return Progress(after, event, (*sofar.changes, change))


def _stale(base: Partition, sofar: Progress, written: Truth) -> Truth:
    """Whether a record is decided on the partition before an earlier record of the event."""
    return False if base is sofar.partition else all_of(written, sofar.event.records > 0)


def _note(
    base: Partition, sofar: Progress, when: Truth, built: Build, written: Truth, after: Partition, able: Brokers
) -> ElectionsEvent:
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
        resigned=any_of(seen.resigned, all_of(when, lookup_failed(won, base.replicas, able))),
    )


def gate(change: PartitionChange, when: Truth) -> PartitionChange:
    """The change with every field absent unless `when` holds."""

    def gated(field: Any) -> Any:
        return Maybe(all_of(field.present, when), field.value)

    return PartitionChange(**{f.name: gated(getattr(change, f.name)) for f in fields(PartitionChange)})
