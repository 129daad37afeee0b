"""Of brokers without end all but finitely many are far: in no set of the state, and as they began.

They have no part in what is said of some broker, of how many there are, or of the first one, and no step changes one
without naming it. So a run of any finite number of brokers is one of brokers without end, whose sets stay finite, and
what is claimed of that is true of it.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from attrs import define, evolve, field

import kraftcheck as kc
from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.anynumber import where
from kraftcheck.model.language.layout import UNBOUNDED, Endless
from kraftcheck.model.language.sequences import cardinality, every, some, word_at
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import ANY, Action, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import negate
from kraftcheck.properties.kinds import always
from kraftcheck.solvers.smt.instances import BOTH, NEGATIVE, POSITIVE, arguments_with_polarity
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.z3terms import BINDERS, Substitution

BOUNDS: Mapping[str, Mapping[str, int]] = {"elections": {}, "directories": {}, "replication": {"epochs": 1}}
"""Only brokers are without end here."""


def of_any(
    name: str, change: Callable[[System], System] = lambda system: system, bounds: Mapping[str, int] | None = None
) -> Theory:
    """The theory of a system of any number, once something is changed, or with other bounds."""
    taken = BOUNDS[name] if bounds is None else bounds
    chosen = subject(name, "tiny", {"brokers": ANY, **taken}, "fixed", proof=True)
    return theory(change(chosen.system), chosen.setting)


@define
class Far:
    """A far broker: no set has it, no field or argument names it, and it is as it began."""

    graph: Graph  # of a theory
    # what the initial states say of its words and truths, by their number; of sets nothing
    began: dict[int, Term] = field(factory=dict)
    substitution: Substitution = field(init=False)
    broker: Term = field(init=False)

    def __attrs_post_init__(self) -> None:
        """It has a name."""
        self.substitution = Substitution(self.graph)
        self.broker = self.substitution.named_place("far")

    def of(self, claim: Term) -> Term:
        """The body of a binder of a far broker."""
        return self._folded(self.substitution.at(claim, self.broker), {})

    def after(self, term: Term, places: int) -> Term:
        """What a field has of a far broker, kept by whomever."""
        bound = self.graph.intern("bound", (), places - 1, 0, UNBOUNDED, False)
        return self._folded(self.substitution._with(term, bound, self.broker), {})

    def learn(self, truth: Term) -> None:
        """Note what a truth about every broker says of a far one."""
        for part in truth.args if truth.op == "and" else (truth,):
            if part.op == "every":
                said = self.of(part)
                self.began |= dict(self._said(said))

    def _said(self, said: Term) -> Iterator[tuple[int, Term]]:
        if said.op == "and":
            yield from (one for part in said.args for one in self._said(part))
        elif said.op == "eq" and said.args[0].op == "const" and said.args[1].op == "read":
            yield said.args[1].index, said.args[0]
        elif said.op == "read":
            yield said.index, self.graph.constant(True)

    def _folded(self, term: Term, memo: dict[int, Term]) -> Term:
        if term.index not in memo:
            memo[term.index] = self._fold(term, memo)
        return memo[term.index]

    def _fold(self, term: Term, memo: dict[int, Term]) -> Term:
        if term.op in ("const", "bound", "sequence", "var"):
            return term
        args = tuple(self._folded(arg, memo) for arg in term.args)
        made = term if all(map(operator.is_, args, term.args)) else self.substitution.rebuilt(term, args)
        if made.index in self.began:
            return self.began[made.index]
        if made.op == "every" and made.args[1].op == "const":
            return made.args[1]
        far = bool(made.args) and made.args[-1] is self.broker
        others = [arg for arg in made.args if arg is not self.broker]
        named = made.op == "eq" and len(others) == 1 and is_named(others[0])
        return self.graph.constant(False) if named or (far and made.op == "read" and made.is_truth) else made


def is_named(place: Term) -> bool:
    """Whether a place is a word of the state or an argument, or a member of a set, or nobody; then it is not far."""
    if place.op == "ite":
        return all(map(is_named, place.args[1:]))
    return place.op in ("var", "read", "least_by", "bound") or (place.op == "const" and place.value < 0)


def far_of(of: Theory) -> Far:
    """A far broker of a theory."""
    far = Far(of.program.graph)
    for truth in of.program.initially.values():
        far.learn(truth)
    return far


def strangers(far: Far, truth: Term, polarity: int) -> Iterator[str]:
    """What a truth says of some broker, of how many, or of the first, of which a far broker may be one."""
    pending, seen = [(truth, polarity)], set[tuple[int, int]]()
    while pending:
        term, sign = pending.pop()
        if (term.index, sign) in seen:
            continue
        seen.add((term.index, sign))
        if term.op in BINDERS:
            said, wanted = far.of(term), term.op == "every"
            if (sign & NEGATIVE or not wanted) and said is not far.graph.constant(wanted):
                yield term.op
            pending += [(arg, sign if wanted else BOTH) for arg in term.args[1:]]
        else:
            pending += arguments_with_polarity(term, sign)


def of_far_brokers(of: Theory) -> set[str]:
    """Where far brokers have a part in claims, guards and effects, or are others after a step."""
    far, found = far_of(of), set[str]()
    for claim, truth in of.state_truths().items():
        found |= {f"claim: {claim}" for _ in strangers(far, truth, POSITIVE)}
    for kind in of.program.kinds:
        action = kind.action.name
        for term in (*kind.guard.values(), *kind.allowed.values(), *kind.after):
            found |= {f"action: {action}" for _ in strangers(far, term, BOTH)}
        for claim in of.steps:
            found |= {f"claim: {claim.id}" for _ in strangers(far, of.step_truth(kind, claim.id), POSITIVE)}
        for slot, before, after in zip(of.program.layout.slots, of.program.state, kind.after, strict=True):
            if isinstance(slot.domain, Endless) and (slot.domain.truths or slot.domain.places == 1):
                was = far.after(word_at(before, *places(far.graph, slot.domain.places)), slot.domain.places)
                if far.after(after, slot.domain.places) is not was and not slot.path.endswith("ranks"):
                    found.add(f"far: {action}: {slot.path}")
    return found


def places(graph: Graph, count: int) -> Iterator[Term]:
    """Bound places that give a word of a sequence."""
    return (graph.intern("bound", (), number, 0, UNBOUNDED, False) for number in range(count))


@pytest.mark.parametrize("name", BOUNDS)
def test_far_brokers_have_no_part_in_what_is_claimed(name: str) -> None:
    """Of each claim, guard and effect far brokers are no case, and sets stay finite in each step."""
    assert of_far_brokers(of_any(name)) == set()


def test_far_brokers_have_no_part_where_nothing_has_a_bound() -> None:
    """The same without bounds, where offsets and epochs have no end either, and logs are searched for offsets."""
    found = of_far_brokers(of_any("replication", bounds={"unbounded": 1}))
    others = {one for one in found if not one.endswith((": leaders", ": committed.entries"))}
    claims = {"claim: watermark-monotone", "claim: no-survivor-passed-over"}
    assert others == {"action: fetch", "action: propose_expand", *claims}


def said(claim: Callable[[Any], Any]) -> Callable[[System], System]:
    """A system of which a claim about the controller is made, and nothing else."""
    planted = always("planted", "it is planted", lambda s: claim(getattr(s, "controller", s)))
    return lambda system: evolve(system, properties=lambda _: [planted], lemmas=lambda _: [])


def some_broker(c: Any, claim: Callable[[Any], Any]) -> Any:
    """Whether a claim holds of some broker."""
    return some(c.isr.graph, claim)


def beyond(c: Any) -> Any:
    """Whether there is a broker with a larger number than all replicas."""
    top = c.replicas.ascending().top
    return some_broker(c, lambda b: b == top)


PLANTED = {
    "some broker is unregistered": lambda c: some_broker(c, lambda b: negate(c.registered.has(b))),
    "some broker is no replica": lambda c: some_broker(c, lambda b: negate(c.replicas.has(b))),
    "there are eight brokers": lambda c: some_broker(c, lambda b: b == 7),
    "some broker has a larger number than all replicas": beyond,
    "not all brokers are in sync": lambda c: negate(every(c.isr.graph, c.isr.has)),
    "all brokers are two": lambda c: cardinality(c.isr.graph, lambda b: b >= 0) == 2,
}
"""What is another claim of brokers without end than of any number of them."""


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("claim", PLANTED)
def test_a_claim_of_which_a_far_broker_is_a_case_is_told(name: str, claim: str) -> None:
    """A claim that is true since brokers have no end has far brokers among its cases."""
    assert "claim: planted" in of_far_brokers(of_any(name, said(PLANTED[claim])))


def with_action(action: Action) -> Callable[[System], System]:
    """`elections` with another action, and no claims."""
    return lambda system: evolve(system, properties=lambda _: [], lemmas=lambda _: [],
                                 actions=lambda setting: [*system.actions(setting), action])  # fmt: skip


def test_a_step_that_makes_a_set_of_all_brokers_is_told() -> None:
    """Sets stay finite only if no step puts into one whom it does not name: one of all brokers is told."""
    everybody = Action("join", lambda s: evolve(s, fenced=where(s.isr.graph, lambda b: b >= 0)))
    others = Action("flip", lambda s: evolve(s, fenced=where(s.isr.graph, lambda b: negate(s.fenced.has(b)))))
    for action in (everybody, others):
        assert f"far: {action.name}: fenced" in of_far_brokers(of_any("elections", with_action(action)))


def test_a_guard_that_only_the_last_broker_meets_is_told() -> None:
    """A guard that all brokers have registered is never met without end, and with any number it is."""
    full = Action("fill", lambda s: s, lambda s: every(s.isr.graph, s.registered.has))
    assert "action: fill" in of_far_brokers(of_any("elections", with_action(full)))


KEYS = {
    "elections": lambda s: kc.keys(s.online_dirs),
    "directories": lambda s: kc.keys(s.hosts),
    "replication": lambda s: kc.keys(s.brokers),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_all_brokers_without_end_are_refused(name: str) -> None:
    """To go through all brokers of any number is refused with the line, in claims of users too."""
    planted = always("planted", "broker 7 is there", lambda s: kc.some(KEYS[name](s), lambda b: b == 7))
    with pytest.raises(UntraceableRule, match=r"test_far_brokers.py:\d+: keys\(\) whose numbers have no end"):
        of_any(name, lambda system: evolve(system, properties=lambda _: [planted]))
