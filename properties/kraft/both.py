"""Claims of `kraft`: those of `replication` and of `directories` about one state, and those that need both.

Claims of `kraft` about a second partition: those of `directories`, and those that take two partitions to break.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of
from kraftcheck.model.systems.directories.state import OFFLINE
from kraftcheck.model.systems.kraft.state import Kraft
from kraftcheck.model.systems.replication.state import Replication
from kraftcheck.properties.directories import assignment as placement
from kraftcheck.properties.directories import disks
from kraftcheck.properties.directories import loss as restarts
from kraftcheck.properties.elections.outsiders import ObservedStep, by_permission, needed_isr, only_when_allowed
from kraftcheck.properties.kinds import always, happens, recovers, sometimes, step
from kraftcheck.properties.replication import durability, loss

OF_DATA = {
    "isr-active": ("fenced-may-join-isr",),
    "epochs-monotone": ("leader-change-keeps-epoch",),
    "one-leader-per-epoch": ("leader-change-keeps-epoch",),
}
"""Claims of `replication` that are made of the composition, and what refutes them in its scope `tiny`."""

OF_RECORDS = {"leader-complete": durability.leader_complete, "candidates-complete": durability.candidates_complete}
"""The same of claims about records, which disks may lose, too."""

OF_DISKS = {
    "leader-directory-online": ("offline-directory-leader-kept", "one-directory-means-all-online"),
    "isr-directory-online": ("offline-directory-leader-kept",),
    "failure-leads-away": ("failure-reported-once",),
    "told-is-told": ("reported-while-in-flight",),
    "assigned-by-its-broker": ("assignment-unauthorized",),
}
"""The same of `directories`."""

OF_RESTARTS = {
    "clean-return-stays-eligible": ("every-restart-is-unclean",),
    "partial-return-is-unclean": ("clean-with-any-directory",),
    "shows-clean-return": (),
    "shows-partial-return": (),
}
"""The same of `directories` where brokers stop cleanly, in the scope `restarts`."""

UNASKED = ("unclean-election-unasked",)  # what refutes claims about loss in the scope `tiny`, which has no ELR
CHECKED = ("election.unclean.only-where-allowed",)  # the rule that this breaks

RULES = {
    "failure-recreates-log": "catchup.no-empty-log-for-a-hidden-one",
    "hw-uses-committed-isr-only": "watermark.waits-for-maximal-isr",
    "fenced-may-join-isr": "isr.join.unfenced",
    "leader-change-keeps-epoch": "leader-epoch.rises-with-leader-field",
    "offline-directory-leader-kept": "directory.failure-leads-away",
    "one-directory-means-all-online": "directory.last-one-hides-none",
    "failure-reported-once": "directory-failure.in-every-heartbeat",
    "reported-while-in-flight": "directory-failure.in-flight-is-not-reported",
    "assignment-unauthorized": "assignment.authorized",
    "every-restart-is-unclean": "restart.clean-keeps-elr",
    "clean-with-any-directory": "restart.clean-with-every-directory",
}
"""The rule that each variant breaks: a claim of the composition checks those whose breaking it notices here."""


def properties(setting: Setting) -> list[Property]:
    """Claims of both systems, and what takes both to say."""
    data = {claim.id: claim for claim in durability.properties(setting)}
    placed = {claim.id: claim for part in (placement, disks, restarts) for claim in part.properties(setting)}
    listed = [_lifted(data[name], "data", refuted) for name, refuted in OF_DATA.items() if name in data]
    listed += [*_records(setting), *_losses(setting)]
    of_disks = {**OF_DISKS, **OF_RESTARTS}
    listed += [_lifted(placed[name], "placement", refuted) for name, refuted in of_disks.items() if name in placed]
    listed += [
        always("acknowledged-survives-disks",
               "while fewer processes and disks failed than min ISR, a working disk holds every acknowledged record",
               lambda s: _survives(s, setting), "KIP-858, KIP-966", ("hw-uses-committed-isr-only",),
               rules=("watermark.waits-for-maximal-isr",)),
        sometimes("shows-acknowledged", "a record is acknowledged", lambda s: s.data.acknowledged > 0),
    ]  # fmt: skip
    if setting["failures"]:
        listed += [
            sometimes("shows-dead-leader", "a leader has lost its directory, and nobody knows", _dead_leader),
            happens("shows-report", "a reported failure ends a leadership", _reported),
        ]
    if "shows-clean-return" in placed and not setting.rules.partition.every_restart_is_unclean:
        sentence = "a broker leads out of the ELR, and a record is acknowledged"
        listed.append(happens("shows-eligible-leader", sentence, _leads_again))
    if setting["takeovers"]:
        lost, sentence = ("lose_alter_partition", "lose_decision"), "a controller is deposed before it has committed"
        listed.append(happens("shows-takeover", sentence, lambda t: t.action in lost))
    if setting["repairs"]:
        listed.append(happens("shows-repair", "a disk comes back with the only log of a record", _repaired))
    listed.append(
        step("decided-on-latest", "no record of an event is decided on the partition before an earlier record of it",
             lambda t: negate(t.event.event.stale_base) if t.event is not None else True, "KAFKA-13173; B8",
             ("passes-share-one-base",),
             rules=("assignment.one-pass", "heartbeat.directories-first",
                    "event.later-pass-sees-earlier")))  # fmt: skip
    return [*listed, *of_second(setting)]


def _leads_again(t: Step) -> Truth:
    before, after = t.before.data, t.after.data
    return all_of(before.acknowledged > 0, before.controller.elr.has(after.controller.leader))


def _repaired(t: Step) -> Truth:
    if t.action != "repair":
        return False
    brokers = enumerate(t.before.data.brokers)
    others = (any_of(t.arguments["broker"] == n, broker.log.end() == 0) for n, broker in brokers)
    return all_of(t.before.data.acknowledged > 0, *others)


def _records(setting: Setting) -> list[Property]:
    """Who holds which records; a disk that has failed is one log fewer."""
    data = {claim.id: claim for claim in durability.properties(setting)}
    variants = ("failure-recreates-log", "hw-uses-committed-isr-only", *UNASKED)
    listed = []
    for name, holds in OF_RECORDS.items():
        rules = ("watermark.waits-for-maximal-isr", "catchup.no-empty-log-for-a-hidden-one", *CHECKED)
        predicate = partial(_of_records, holds, setting)
        listed.append(evolve(data[name], predicate=predicate, refuted_by=variants, rules=rules))
    return listed


def _of_records(holds: Callable[[Replication, Truth], Conjuncts], setting: Setting, s: Kraft) -> Conjuncts:
    return holds(s.data, _excused(s, setting))


def _losses(setting: Setting) -> list[Property]:
    """The claims on leaders from outside ISR and ELR, and on their losses."""
    return [
        evolve(only_when_allowed(lambda t: by_permission(_change(t)), CHECKED), refuted_by=UNASKED),
        always("loss-is-paid-for", f"{loss.PAID}, failed disks counted",
               lambda s: loss.paid_for(s.data, _excused(s, setting)), "KIP-966", UNASKED, rules=CHECKED),
        step("no-survivor-passed-over", loss.PASSED_OVER,
             lambda t: loss.survivors_lead(_of_data(t), _change(t), _excused(t.after, setting)), "KIP-966", UNASKED,
             rules=CHECKED),
    ]  # fmt: skip


def _change(t: Step) -> ObservedStep:
    """A step as the controller sees it; who starts has lost its log, unless all of it was closed, and is there."""
    found = loss.change(_of_data(t))
    if t.action != "start":
        return found
    broker = t.arguments["broker"]
    whole = restarts.closed(t.before.host(broker))
    return evolve(found, lost=choose(whole, found.lost, found.lost.just(broker)))


def _failed(s: Kraft, setting: Setting) -> Word:
    return setting["failures"] - s.left.failures


def _excused(s: Kraft, setting: Setting) -> Truth:
    return loss.excused(s.data, setting, _failed(s, setting))


def _of_data(t: Step) -> Step:
    return evolve(t, before=t.before.data, after=t.after.data)


def _lifted(claim: Property, half: str, refuted_by: tuple[str, ...]) -> Property:
    """A claim about one half of the state."""

    def part(state: Kraft) -> Any:
        return state.data if half == "data" else state.placement()

    def of_step(t: Step) -> Any:
        return claim.predicate(evolve(t, before=part(t.before), after=part(t.after)))

    predicate = of_step if claim.kind in ("step", "happens") else lambda s: claim.predicate(part(s))
    return evolve(claim, predicate=predicate, refuted_by=refuted_by, rules=tuple(RULES[name] for name in refuted_by))


def _survives(s: Kraft, setting: Setting) -> Truth:
    lost = loss.died(s.data, setting) + _failed(s, setting)
    readable = [
        all_of(host.has_log(), broker.log.agrees(s.data.committed, s.data.acknowledged))
        for host, broker in zip(s.hosts, s.data.brokers, strict=True)
    ]
    safe = any_of(*readable)
    asked = negate(loss.forgiven(s.data, _excused(s, setting)))
    return implies(all_of(lost < needed_isr(s.data.controller), asked), safe)


def _dead_leader(s: Kraft) -> Truth:
    return any_of(*(all_of(s.data.controller.leader == b, h.replica == OFFLINE) for b, h in enumerate(s.hosts)))


def _reported(t: Step) -> Truth | Conjuncts:
    if t.action != "report":
        return False
    leader = t.before.data.controller.leader
    moved = negate(leader == t.after.data.controller.leader)
    return all_of(leader >= 0, leader == t.arguments["broker"], moved)


OF_SECOND = {
    "leader-active": ("fenced-leader-acceptable",),
    "leader-directory-online": ("failure-moves-one-partition",),
    "isr-directory-online": ("failure-moves-one-partition",),
    "failure-leads-away": ("failure-moves-one-partition",),
    "fenced-until-settled": ("unfence-awaits-one-partition",),
}
"""Claims of `directories` that are made of the second partition, and what refutes them."""

RULES_OF_SECOND = {
    "fenced-leader-acceptable": "leader.unfenced",
    "failure-moves-one-partition": "directory.failure-leads-every-partition-away",
    "unfence-awaits-one-partition": "unfence.every-partition-settled",
}
"""The rule that each variant breaks."""


def of_second(setting: Setting) -> list[Property]:
    """Claims about the second partition; none where the scope has one partition."""
    if not setting["second"]:
        return []
    placed = {claim.id: claim for claim in placement.properties(setting)}
    claims = [_of_second(placed[name], refuted) for name, refuted in OF_SECOND.items() if name in placed]
    if setting["elr"] and setting.rules.partition.elr_available:
        claims.append(
            step("second-stays-eligible", "below min ISR, a fenced ISR member of the second partition enters its ELR",
                 _eligible, "invariant 35; X7", ("min-isr-from-first-partition",),
                 rules=("min-isr.own-replicas",)))  # fmt: skip
    if setting["second"] > 1:
        claims.append(
            recovers("second-first-replica-can-lead", "an active first replica of the second partition, in sync there, "
                     "can lead it at once", lambda s: negate(_owed(s)), "KAFKA-20708; PR 22934",
                     ("preferred-waits-for-other-partitions",), rules=("election.preferred.of-each-partition",),
                     when=_owed, by={"elect_second_preferred": {}}))  # fmt: skip
    if setting["deletions"]:
        claims.append(
            step("controller-stays", "no heartbeat makes the controller look up a partition that is deleted",
                 lambda t: negate(t.event.event.resigned) if t.event is not None else True,
                 "invariant 20; B7", ("deleted-partition-stays-indexed",),
                 rules=("topic.deletion-unindexes-directories",)))  # fmt: skip
    claims.append(
        sometimes("shows-one-settled", "a broker's replica is settled in one partition and not in the other", _apart)
    )
    if setting["moves"]:
        claims.append(happens("shows-two-assigned", "one request assigns replicas of both partitions", _together))
    return claims


def _second(state: Kraft) -> Any:
    return state.others[0].placement(state.placement())


def _of_second(claim: Property, refuted_by: tuple[str, ...]) -> Property:
    """A claim about a partition, of the second one."""

    def of_step(t: Step) -> Any:
        return claim.predicate(evolve(t, before=_second(t.before), after=_second(t.after)))

    predicate = of_step if claim.kind in ("step", "happens") else lambda s: claim.predicate(_second(s))
    sentence = f"of the second partition: {claim.sentence}"
    rules = tuple(RULES_OF_SECOND[variant] for variant in refuted_by)
    return evolve(
        claim, id=f"second-{claim.id}", sentence=sentence, predicate=predicate, refuted_by=refuted_by, rules=rules
    )


def _eligible(t: Step) -> Truth:
    if t.action != "fence":
        return True
    before, after = _second(t.before).controller, _second(t.after).controller
    below = after.isr.size() < needed_isr(before)
    return implies(below, before.isr.minus(after.isr).within(after.elr))


def _owed(s: Kraft) -> Truth:
    """Whether the first replica of the second partition may lead it, and another one does."""
    c = _second(s).controller
    first = c.replicas.first()
    active = all_of(c.registered.has(first), none_of(c.fenced.has(first), c.shutting_down.has(first)))
    return all_of(c.isr.has(first), active, c.leader >= 0, negate(c.leader == first))


def _apart(s: Kraft) -> Conjuncts | Truth:
    hosts = zip(s.placement().hosts, _second(s).hosts, strict=True)
    return any_of(*(all_of(a.up, a.seen, b.seen, a.settled(), negate(b.settled())) for a, b in hosts))


def _together(t: Step) -> Truth:
    if t.action != "assign":
        return False
    first, second = t.before.placement(), _second(t.before)
    named = [p.host(t.arguments["broker"]).sent >= 0 for p in (first, second)]
    return all_of(*named)
