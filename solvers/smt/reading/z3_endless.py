"""Z3 as a solver of queries about endless sequences."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term, Truth, lower
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Clock, Effort, Premises, Remaining, SolverAnswer
from kraftcheck.solvers.smt.z3terms import Z3Reader

AT_A_TIME = 4  # comparisons of sets that are added before the solver is asked again
Value = Callable[[Term], int]  # the value of a term in a model


@frozen
class Sized:
    """A set as a model has it."""

    term: Term  # its size
    size: int  # what the model says of it
    members: Mapping[int, Term]  # those of the places of interest that are members, by their value
    inside: Sequence[Term]  # all of them

    def beyond(self, *others: Sized) -> list[Term]:
        """Members that are in none of some other sets."""
        return [place for at, place in self.members.items() if not any(at in other.members for other in others)]


def answer(
    query: Instances,
    solver: z3.Solver,
    read: Z3Reader,
    say: Callable[[Sequence[Term]], Any],
    literals: Callable[[], Sequence[Any]],
    remaining: Remaining,
) -> Any:
    """The solver's answer to a query, once no axiom contradicts its model; unknown where its time is up before.

    Args:
        query: what is to be said; it learns what the axioms say.
        solver, read: the solver, and how it reads terms.
        say: asserts facts.
        literals: what is assumed beside what is asserted.
        remaining: how long the rounds may still take; each has its own models, and there may be thousands.
    """
    said = 0
    while True:
        say(query.facts[said:])
        said = len(query.facts)
        result = _check(solver, literals(), remaining)
        if result != z3.sat:
            return result
        value = value_in(solver.model(), read)
        sized = _all_sized(query, value)
        blamed, counted = _blamed(query, sized, solver, read, literals(), remaining)
        if counted is not None:
            # The model whose sets have as many members as it names: what contradicts that one is no guess of a size.
            value, sized = counted, _all_sized(query, counted)
        if not any(_refined(query, some, value) for some in (blamed, sized) if some):
            return z3.sat


def _check(solver: z3.Solver, literals: Sequence[Any], remaining: Remaining) -> Any:
    milliseconds = remaining()
    if milliseconds <= 0:
        return z3.unknown
    solver.set("timeout", milliseconds)
    return solver.check(*literals)


def _all_sized(query: Instances, value: Value) -> list[Sized]:
    return [_sized(query, term, value) for term in _live(query, value)]


def _live(query: Instances, value: Value) -> list[Term]:
    """The sizes that others are equal to under the conditions of a model."""
    found = {}
    for term in query.sets:
        size = term
        while size.index in query.cases:
            condition, one, other = query.cases[size.index]
            size = one if value(condition) else other
        found[size.index] = size
    return list(found.values())


def _blamed(
    query: Instances,
    sized: list[Sized],
    solver: z3.Solver,
    read: Z3Reader,
    literals: Sequence[Any],
    remaining: Remaining,
) -> tuple[list[Sized], Value | None]:
    """The sets that cannot all have as many members as a model names; none, and a model, where all can."""
    solver.push()
    marks = {}
    for number, one in enumerate(sized):
        for place in query.places_of(one.term):
            inside = read.expression(query.member(one.term, place))
            solver.add(inside if any(place is member for member in one.inside) else z3.Not(inside))
        mark = z3.Bool(f"size {number}", read.context)
        solver.add(z3.Implies(mark, read.expression(one.term) == len(one.members)))
        marks[str(mark)] = one
    result = _check(solver, [*literals, *(z3.Bool(mark, read.context) for mark in marks)], remaining)
    core = {str(mark) for mark in solver.unsat_core()} if result == z3.unsat else set(marks)
    counted = value_in(solver.model(), read) if result == z3.sat else None
    solver.pop()
    return ([] if counted else [one for mark, one in marks.items() if mark in core]), counted


def value_in(model: z3.ModelRef, read: Z3Reader) -> Value:
    """The values of words and truths in a model."""

    def value(term: Term) -> int:
        found = model.eval(read.expression(term), model_completion=True)
        return int(z3.is_true(found)) if term.is_truth else int(found.as_long())

    return value


def _refined(instances: Instances, sized: list[Sized], value: Value) -> bool:
    before = len(instances.facts)
    for axioms in (_same, _members, _compared, _larger_by_two, _covered, _apart, _overlapping):
        axioms(instances, sized, value)
        if len(instances.facts) > before:
            return True
    return False


def _sized(instances: Instances, term: Term, value: Value) -> Sized:
    inside = [place for place in instances.places_of(term) if value(instances.member(term, place))]
    members: dict[int, Term] = {}
    for place in inside:
        members.setdefault(value(place), place)
    return Sized(term, value(term), members, inside)


def _is_in(instances: Instances, place: Term, one: Sized) -> Truth:
    found: Truth = lower(instances.member(one.term, place))
    return found


def _same(instances: Instances, sized: list[Sized], value: Value) -> None:
    """Sets that the same brokers keep are of one size."""
    for one, other in itertools.combinations(sized, 2):
        if one.size != other.size:
            same = instances.same_owners(one.term, other.term)
            if same is not False and value(instances.graph.lift(same)):
                instances.say(implies(same, one.term == other.term), one.term)


def _members(instances: Instances, sized: list[Sized], _: Value) -> None:
    """Members count, up to two; and a set of one, or of two, has as many."""
    for one in sized:
        places = list(one.members.values())
        if places and one.size < 1:
            instances.say(implies(_is_in(instances, places[0], one), one.term >= 1), one.term)
        for place, other in itertools.combinations(places, 2) if one.size < 2 else ():
            inside = all_of(negate(place == other), _is_in(instances, place, one), _is_in(instances, other, one))
            instances.say(implies(inside, one.term >= 2), one.term)
        for count in range(len(places), min(one.size, 2)):
            _name_member(instances, one, count)


def _name_member(instances: Instances, one: Sized, count: int) -> None:
    first, second = (instances.outsider(name, one.term) for name in ("member of", "second member of"))
    if first is None or second is None:
        return
    place = second if count else first
    differ = negate(first == second) if count else True
    instances.say(any_of(one.term <= count, all_of(_is_in(instances, place, one), differ)), one.term, place=place)


def _pairs(instances: Instances, sized: list[Sized]) -> list[tuple[Sized, Sized]]:
    pairs = itertools.permutations(reversed(sized), 2)
    return [(one, other) for one, other in pairs if instances.sorts.comparable(one.term, other.term)]


def _compared(instances: Instances, sized: list[Sized], _: Value) -> None:
    """A set that is larger than another, or as large and lacks a member of it, has a member outside it."""
    said = 0
    for one, other in _pairs(instances, sized):
        if one.beyond(other) or one.size < other.size:
            continue
        lacking = other.beyond(one)[:1]
        if one.size == other.size and not lacking:
            continue
        place = instances.outsider("outside", one.term, other.term)
        if place is None:
            continue
        before = len(instances.facts)
        beyond = all_of(_is_in(instances, place, one), negate(_is_in(instances, place, other)))
        if one.size > other.size:
            instances.say(any_of(one.term <= other.term, beyond), one.term, other.term, place=place)
        for lacked in lacking:
            lacks = all_of(_is_in(instances, lacked, other), negate(_is_in(instances, lacked, one)))
            instances.say(any_of(one.term < other.term, negate(lacks), beyond), one.term, other.term, place=place)
        said += len(instances.facts) > before
        if said == AT_A_TIME:
            return


def _larger_by_two(instances: Instances, sized: list[Sized], _: Value) -> None:
    """A set that is larger than another by two has two members outside it."""
    for one, other in _pairs(instances, sized):
        if one.size < other.size + 2 or len(one.beyond(other)) > 1:
            continue
        first, second = (instances.outsider(name, one.term, other.term) for name in ("outside", "also outside"))
        if first is None or second is None:
            continue
        both = [all_of(_is_in(instances, at, one), negate(_is_in(instances, at, other))) for at in (first, second)]
        instances.say(any_of(one.term <= other.term, both[0]), one.term, other.term, place=first)
        fact = any_of(one.term <= other.term + 1, all_of(*both, negate(first == second)))
        instances.say(fact, one.term, other.term, place=second)


def _covered(instances: Instances, sized: list[Sized], _: Value) -> None:
    """A set that two others cover is no larger than both together."""
    for one in sized:
        for other, third in itertools.combinations((s for s in sized if s is not one), 2):
            if one.size <= other.size + third.size or one.beyond(other, third):
                continue
            if not all(instances.sorts.comparable(one.term, s.term) for s in (other, third)):
                continue
            place = instances.outsider("uncovered", one.term, other.term, third.term)
            if place is None:
                continue
            inside = all_of(
                _is_in(instances, place, one), *(negate(_is_in(instances, place, s)) for s in (other, third))
            )
            fact = any_of(one.term <= other.term + third.term, inside)
            instances.say(fact, one.term, other.term, third.term, place=place)


def _apart(instances: Instances, sized: list[Sized], _: Value) -> None:
    """Two sets within a third that have no member in common are together no larger: asked where sizes are summed."""
    _together(instances, sized, (None,))


def _overlapping(instances: Instances, sized: list[Sized], _: Value) -> None:
    """Two sets within a third, whose common members are in a fourth, are together no larger than both of these."""
    _together(instances, sized, sized)


def _together(instances: Instances, sized: list[Sized], sharing: Sequence[Sized | None]) -> None:
    said = 0
    for whole, (one, other) in itertools.product(sized if instances.sums else (), itertools.combinations(sized, 2)):
        if one.size + other.size <= whole.size or one.beyond(whole) or other.beyond(whole):
            continue
        common = {at for at in one.members if at in other.members}
        for shared in sharing:
            if shared is one or shared is other or common.difference(shared.members if shared is not None else ()):
                continue
            if one.size + other.size <= whole.size + (0 if shared is None else shared.size):
                continue
            said += _say_together(instances, whole, one, other, shared)
            if said == AT_A_TIME:
                return


def _say_together(instances: Instances, whole: Sized, one: Sized, other: Sized, shared: Sized | None) -> bool:
    """Whether something is said that was not: two sets are no larger than a third and perhaps a fourth, or a place."""
    sets = [each.term for each in (whole, one, other, shared) if each is not None]
    place = instances.outsider("shared", *sets)
    if place is None or not all(instances.sorts.comparable(whole.term, size) for size in sets[1:]):
        return False
    before = len(instances.facts)
    inside = [_is_in(instances, place, each) for each in (one, other)]
    beyond = all_of(any_of(*inside), negate(_is_in(instances, place, whole)))
    if shared is None:
        fact = any_of(one.term + other.term <= whole.term, all_of(*inside), beyond)
    else:
        within = one.term + other.term <= whole.term + shared.term
        fact = any_of(within, all_of(*inside, negate(_is_in(instances, place, shared))), beyond)
    instances.say(fact, *sets, place=place)
    return len(instances.facts) > before


NOT_SHOWN = "no state is shown where sequences have no end"
"""Why what is not proven of them is undecided: their instances do not refute it, which makes no counterexample."""

TIMEOUT = "timeout"  # why what has no answer in its time is undecided, in the word of Z3


class EndlessEngine:
    """Z3 with instances of the claims about every place."""

    def __init__(self, premises: Premises, effort: Effort, read: Z3Reader, clock: Clock) -> None:
        self._premises, self._effort, self._read, self._clock = premises, effort, read, clock
        self._instances = Instances(premises.names[0].graph)
        self._instances.require(premises.terms.values())
        self._assumed = {
            conjunct.index: name for name, term in premises.terms.items() for conjunct in conjuncts_of([term])
        }
        self._begin()

    def _begin(self) -> None:
        self._solver = z3.Solver(ctx=self._read.context)
        self._solver.set("random_seed", self._effort.seed)
        if self._effort.minimise:
            self._solver.set("core.minimize", True)
        self._tracked = {f"premise {number}": name for number, name in enumerate(self._premises.truths)}
        self._literals = [z3.Bool(mark, self._read.context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._premises.truths.values(), strict=True):
            self._solver.add(z3.Implies(literal, premise))
        self._solver.add(*map(self._read.expression, self._instances.facts))

    def refute(self, conjuncts: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply all of some truths, none of which is a conjunction."""
        open_conjuncts = [conjunct for conjunct in conjuncts if conjunct.index not in self._assumed]
        shared = {self._assumed[conjunct.index] for conjunct in conjuncts if conjunct.index in self._assumed}
        if not open_conjuncts:
            return SolverAnswer(PROVEN, core=tuple(sorted(shared)))
        query, remaining = self._denial(open_conjuncts), self._effort.remaining(self._clock)
        self._solver.push()
        result = answer(query, self._solver, self._read, self._assert, lambda: self._literals, remaining)
        core = tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()) if result == z3.unsat else ()
        reason = NOT_SHOWN
        if result == z3.unknown:
            reason = TIMEOUT if remaining() <= 0 else self._solver.reason_unknown()
        self._solver.pop()
        if result == z3.unsat:
            return SolverAnswer(PROVEN, core=tuple(sorted({*core, *shared})))
        if result == z3.unknown:
            self._begin()
        return SolverAnswer(UNDECIDED, reason=reason)

    def _assert(self, facts: Sequence[Term]) -> None:
        self._solver.add(*map(self._read.expression, facts))

    def _denial(self, conjuncts: Sequence[Term]) -> Instances:
        """What follows from the denial of some truths; what it has in common with others is asserted for all."""
        query = self._instances.branch()
        query.deny(conjuncts)
        before = len(self._instances.facts)
        if not self._instances.expect(query):
            return query
        self._solver.add(*map(self._read.expression, self._instances.facts[before:]))
        query = self._instances.branch()
        query.deny(conjuncts)
        return query


def conjuncts_of(truths: Sequence[Term]) -> list[Term]:
    """The conjuncts of some truths, each once."""
    by_index: dict[int, Term] = {}
    pending = list(truths)
    while pending:
        term = pending.pop()
        if term.op == "and":
            pending.extend(reversed(term.args))
        else:
            by_index[term.index] = term
    return list(by_index.values())
