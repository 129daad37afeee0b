"""Claims of `kraft` about a second partition: those of `directories`, and those that take two partitions to break."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.kraft.state import Kraft
from kraftcheck.properties.directories import assignment as placement
from kraftcheck.properties.elections.stated import needed_isr
from kraftcheck.properties.kinds import happens, sometimes, step

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


def properties(setting: Setting) -> list[Property]:
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

    predicate = of_step if claim.kind == "step" else lambda s: claim.predicate(_second(s))
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


def _apart(s: Kraft) -> Conjuncts | Truth:
    hosts = zip(s.placement().hosts, _second(s).hosts, strict=True)
    return any_of(*(all_of(a.up, a.seen, b.seen, a.settled(), negate(b.settled())) for a, b in hosts))


def _together(t: Step) -> Truth:
    if t.action != "assign":
        return False
    first, second = t.before.placement(), _second(t.before)
    named = [p.host(t.arguments["broker"]).sent >= 0 for p in (first, second)]
    return all_of(*named)
