"""Z3 with quantifiers as a solver of queries about endless sequences.

Z3 tries a model, and says of the places where a claim about every place fails in
it that it holds there (Ge and de Moura, "Complete instantiation for quantified
formulas", 2009). What has no model is proven, as ever; a model is none of the
system, for not all that is true of sizes is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, permutations, product
from typing import Any

import z3
from attrs import define, frozen

from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Premises, SolverAnswer
from kraftcheck.solvers.smt.reading.set_shapes import assuming
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN
from kraftcheck.solvers.smt.z3terms import BINDERS, Substitution, Z3Reader, is_number


@frozen
class CountedSet:
    """A set whose size is asked for, in Z3."""

    number: int  # tells sets apart
    size: Any  # its size, a function of the parameters
    parameters: tuple[Any, ...]  # constants that stand for what an outer place gives
    place: Any  # a constant that stands for any place
    claim: Any  # the truth that the place is a member

    def has(self, place: Any) -> Any:
        """The truth that a place is a member."""
        return z3.And(place >= 0, z3.substitute(self.claim, (self.place, place)))

    def renamed(self, suffix: str) -> CountedSet:
        """The same with other constants for its parameters, so that it may stand beside itself."""
        fresh = tuple(z3.Const(f"{p} {suffix}", p.sort()) for p in self.parameters)
        pairs = [*zip(self.parameters, fresh, strict=True)]
        if not pairs:
            return self
        size, claim = (z3.substitute(part, *pairs) for part in (self.size, self.claim))
        return CountedSet(self.number, size, fresh, self.place, claim)


@frozen
class SetShape:
    """A set as its claim with a blank for each largest part that an outer place gives, and for who keeps the set."""

    place: Term  # the bound place of the claim
    claim: Term | None  # the claim with blanks; None where it binds places itself, so that it has no such form
    # what the blanks stand for, and each blank; without a claim, the outer places themselves
    parameters: tuple[tuple[Term, Term], ...]


@define
class SetShapes:
    """Finds the shapes of sets."""

    substitution: Substitution  # knows which terms depend on a bound place

    def condition(self, of: Term) -> Term | None:
        """A truth in the claim of a set that does not depend on its place, so that it is one of two; None: none is.

        A claim that binds places itself has none: what depends on these is no truth of the set.
        """
        if self._binds(of):
            return None
        for term in self._parts(of):
            if of.args[0].value in self.substitution.free(term) or term.op in ("const", "bound", "sequence"):
                continue
            if term.is_truth:
                return term
            if term.op == "ite":
                return term.args[0]
        return None

    def assuming(self, of: Term, condition: Term, holds: bool) -> Term:
        """The set where a condition holds, or does not."""
        return assuming(self.substitution, of, condition, holds)

    def of(self, counted: Term) -> SetShape:
        """The shape of a set."""
        own = counted.args[0]
        if self._binds(counted):
            graph, outer = counted.graph, sorted(self.substitution.free(counted))
            places = [graph.intern("bound", (), number, own.lo, own.hi, False) for number in outer]
            return SetShape(own, None, tuple((place, place) for place in places))
        place = counted.graph.intern("bound", (), 0, own.lo, own.hi, False)
        blanks: dict[tuple[int, bool], tuple[Term, Term]] = {}

        def blank(term: Term, keeper: bool = False) -> Term:
            if term is own:
                return place
            if self._is_outer(term, counted) or (keeper and own.value not in self.substitution.free(term)):
                key = term.index, keeper
                if key not in blanks:
                    blanks[key] = term, self._keeper(len(blanks)) if keeper else self._blank(len(blanks), term)
                return blanks[key][1]
            if not self.substitution.free(term):
                return term
            args = (blank(arg, term.op == "read" and number > 0) for number, arg in enumerate(term.args))
            return self.substitution.rebuilt(term, tuple(args))

        claim = blank(counted.args[1])
        return SetShape(place, claim, tuple(blanks.values()))

    def _blank(self, number: int, term: Term) -> Term:
        """The blank with a number; other words have other blanks, for a claim may be simpler within their interval."""
        if term.is_truth:
            return self.substitution.named_place(f"blank {number}", truth=True)
        name = f"blank {number} of {term.lo} to {term.hi}"
        return self.substitution.named_word(name, term.lo, term.hi)

    def _keeper(self, number: int) -> Term:
        """The blank of who keeps what a claim reads: the same for every word, for only its value matters there."""
        return self.substitution.named_place(f"keeper {number}")

    def _binds(self, of: Term) -> bool:
        """Whether a set's claim binds places itself, where it depends on the set's own."""
        own = of.args[0].value
        return any(term.op in BINDERS and own in self.substitution.free(term) for term in self._parts(of))

    def _is_outer(self, term: Term, of: Term) -> bool:
        """Whether a term depends on an outer place, and not on the set's own."""
        free = self.substitution.free(term)
        return bool(free) and of.args[0].value not in free

    def _parts(self, of: Term) -> list[Term]:
        """The parts of a set's claim that depend on its place, and the largest others; the outermost first."""
        pending, parts, seen = [of.args[1]], list[Term](), set[int]()
        while pending:
            term = pending.pop()
            if term.index not in seen:
                seen.add(term.index)
                parts.append(term)
                if of.args[0].value in self.substitution.free(term):
                    pending.extend(reversed(term.args))
        return parts


NAMED = ("ite", "every", "and", "or")
"""Operators whose terms have a constant of their own where no place in them is free."""


class QuantifiedReader(Z3Reader):
    """Z3 expressions of the terms of one graph, in a context of its own.

    Attributes:
        meanings: truths that say what constants stand for.
        sets: the sets whose sizes are asked for, by the term of their claim.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(z3.Context())
        self.meanings: list[Any] = []
        self.sets: dict[int, CountedSet] = {}
        self._substitution = Substitution(graph)
        self._shapes = SetShapes(self._substitution)
        self._symbols: dict[int, Term] = {}

    def ranges(self) -> list[Any]:
        """Truths that every word of the sequences that were read is in its domain."""
        return [truth for symbol in self._symbols.values() for truth in self._range(symbol)]

    def _range(self, symbol: Term) -> list[Any]:
        if symbol.is_truth:
            return []
        places = [z3.Int(f"place {number}", self.context) for number in range(symbol.args[0].value)]
        word = self._substitution.named_word(f"word of {symbol.lo} to {symbol.hi}", symbol.lo, symbol.hi)
        self.bind(word, self.expression(symbol)(*places))
        reached = self.below_number(symbol, self.expression(word), places)
        return [z3.ForAll(places, z3.And(self.within(word, symbol.lo, symbol.hi), *reached))]

    def _read(self, node: Term) -> Any:
        read = super()._read(node)
        if node.op not in NAMED or self._substitution.free(node):
            return read
        constant = z3.Const(f"term {node.index}", read.sort())
        self.meanings.append(constant == read)
        return constant

    def _place_operator(self, node: Term) -> Any:
        match node.op:
            case "bound":
                return super()._place_operator(node)
            case "read":
                self._symbols[node.args[0].index] = node.args[0]
                return super()._place_operator(node)
            case "every":
                place = self.expression(node.args[0])
                return z3.ForAll([place], z3.Implies(place >= 0, self.expression(node.args[1])))
            case "cardinality":
                return self._size(node)
        word = super()._place_operator(node)
        self.meanings += self._named_word(node, word)
        return word

    def _named_word(self, node: Term, word: Any) -> list[Any]:
        """What a word that a binder names is: `kraftcheck.model.language.sequences` defines each."""
        place, inside = (self.expression(arg) for arg in node.args[:2])
        of_word, least = z3.substitute(inside, (place, word)), node.lo
        member = z3.And(place >= 0, inside)
        result = [word >= least]
        if node.hi < UNBOUNDED:
            result.append(word <= node.hi)
        match node.op:
            case "least":
                limit = self._as_int(node.args[2])
                end = z3.If(limit < 0, z3.IntVal(0, self.context), limit)
                before = z3.ForAll([place], z3.Not(z3.And(member, place < word)))
                return [*result, word <= end, z3.Or(word == end, of_word), before]
            case "greatest":
                limit = self._as_int(node.args[2])
                after = z3.ForAll([place], z3.Implies(z3.And(member, place <= limit), place <= word))
                return [*result, z3.Or(word == -1, z3.And(word <= limit, of_word)), after]
            case "least_by":
                key = self._as_int(node.args[2])
                smallest = z3.And(word >= 0, z3.substitute(key, (place, word)) <= key)
                return [*result, z3.Or(word == -1, of_word), z3.ForAll([place], z3.Implies(member, smallest))]
            case _:
                return [*result, z3.ForAll([place], z3.Implies(member, place < word))]

    def _size(self, node: Term) -> Any:
        """The size of a set: of one of two sets by a condition that is the same at every place, else a function."""
        if (condition := self._shapes.condition(node)) is not None:
            chosen = (self._shapes.assuming(node, condition, holds) for holds in (True, False))
            return z3.If(self.expression(condition), *map(self.expression, chosen))
        shape = self._shapes.of(node)
        values = [self._as_sort_of(blank, term) for term, blank in shape.parameters]
        if shape.claim is None:
            return self._function(f"size {node.index}", values)
        if shape.claim.index not in self.sets:
            parameters = [self.expression(blank) for _, blank in shape.parameters]
            place, claim = self.expression(shape.place), self.expression(shape.claim)
            size = self._function(f"size {shape.claim.index}", parameters)
            self.sets[shape.claim.index] = CountedSet(len(self.sets), size, tuple(parameters), place, claim)
        return self._function(f"size {shape.claim.index}", values)

    def _as_sort_of(self, blank: Term, term: Term) -> Any:
        """The expression of a term in the sort of the blank that stands for it."""
        value = self.expression(term)
        return self._as_int(term) if is_number(blank) else value

    def _function(self, name: str, arguments: list[Any]) -> Any:
        if not arguments:
            return z3.Int(name, self.context)
        return z3.Function(name, *(value.sort() for value in arguments), z3.IntSort(self.context))(*arguments)


MOST_PARAMETERS = 2  # parameters of two sets that are compared: more are seldom needed, and cost much
MODEL_RESOURCES = 1_500_000  # what Z3 may do to see that an axiom is true in a model; else it is said


def of_members(sets: Sequence[CountedSet]) -> list[Any]:
    """Members count, up to two; and a set of one, or of two, has as many."""
    return [axiom for counted in sets for axiom in _of_members(counted)]


def _of_members(counted: CountedSet) -> list[Any]:
    size, given, has = counted.size, counted.parameters, counted.has
    place, other = (z3.Int(name, size.ctx) for name in ("place", "other"))
    first, second = (_witness(f"{name} of {counted.number}", given, size.ctx) for name in ("member", "second member"))
    return [
        _every(given, size >= 0),
        _every(given, z3.Or(size < 1, has(first))),
        _every(given, z3.Or(size < 2, z3.And(has(first), has(second), first != second))),
        _every([*given, place], z3.Implies(has(place), size >= 1)),
        _every([*given, place, other], z3.Implies(z3.And(has(place), has(other), place != other), size >= 2)),
    ]


@frozen
class SizeAxioms:
    """The axioms on the sizes of two sets, or of three."""

    numbers: tuple[int, ...]  # of the sets
    truths: tuple[Any, ...]  # in Z3

    def may_fail(self, model: z3.ModelRef, options: Mapping[str, Any]) -> bool:
        """Whether one of them is not shown to be true in a model."""
        return any(_may_fail(truth, model, options) for truth in self.truths)


def of_pairs(sets: Sequence[CountedSet]) -> Iterator[SizeAxioms]:
    """Of each two sets: who is larger has a member outside the other, or two; who lacks one is smaller, or has one."""
    for one, other in permutations(sets, 2):
        if len(one.parameters) + len(other.parameters) <= MOST_PARAMETERS:
            yield SizeAxioms((one.number, other.number), tuple(_of_pair(one, other.renamed("of the other"))))


def of_covers(sets: Sequence[CountedSet], model: z3.ModelRef) -> Iterator[SizeAxioms]:
    """Of each two sets that a model makes smaller together than a third: that has a member in neither.

    Sets that an outer place gives are left out.
    """
    single = [counted for counted in sets if not counted.parameters]
    size = {one.number: model.eval(one.size, model_completion=True).as_long() for one in single}
    for whole, (one, other) in product(single, combinations(single, 2)):
        if size[whole.number] > size[one.number] + size[other.number]:
            numbers = (whole.number, one.number, other.number)
            place = _witness(f"outside of both {numbers}", (), whole.size.ctx)
            outside = z3.And(whole.has(place), z3.Not(one.has(place)), z3.Not(other.has(place)))
            yield SizeAxioms(numbers, (z3.Or(whole.size <= one.size + other.size, outside),))


def _may_fail(truth: Any, model: z3.ModelRef, options: Mapping[str, Any]) -> bool:
    solver = z3.Solver(ctx=truth.ctx)
    solver.set(rlimit=MODEL_RESOURCES, **options)
    solver.add(z3.Not(model.eval(truth)))
    return bool(solver.check() != z3.unsat)


def _of_pair(one: CountedSet, other: CountedSet) -> list[Any]:
    given, context = [*one.parameters, *other.parameters], one.size.ctx
    names = f"outside of {one.number} and {other.number}"
    first, second = (_witness(f"{name}{names}", given, context) for name in ("", "second "))
    place = z3.Int("place", context)

    def beyond(at: Any) -> Any:
        return z3.And(one.has(at), z3.Not(other.has(at)))

    lacked = z3.And(other.has(place), z3.Not(one.has(place)))
    return [
        _every(given, z3.Or(one.size <= other.size, beyond(first))),
        _every([*given, place], z3.Or(one.size < other.size, z3.Not(lacked), beyond(first))),
        _every(given, z3.Or(one.size <= other.size + 1, z3.And(beyond(first), beyond(second), first != second))),
    ]


def _every(constants: Sequence[Any], truth: Any) -> Any:
    return z3.ForAll([*constants], truth) if constants else truth


def _witness(name: str, given: Sequence[Any], context: z3.Context) -> Any:
    """A place that some parameters give."""
    if not given:
        return z3.Int(name, context)
    return z3.Function(name, *(constant.sort() for constant in given), z3.IntSort(context))(*given)


OPTIONS = {
    "auto_config": False, "mbqi": True, "ematching": False, "mbqi.max_iterations": 1_000_000,
    "pull_nested_quantifiers": True, "case_split": 3,
}  # fmt: skip
"""Places are chosen from models alone: triggers would say each claim about three places of every three in a query."""

AT_A_TIME = 6  # so many times more sets are compared after each model
GUARD = "guard: "  # group of the premises that are guards


def cases_of(terms: Mapping[str, Term]) -> list[tuple[str, Term]]:
    """The cases of the first guard that is a disjunction, each with the guard's name: one of them is given."""
    guards = {name: term for name, term in terms.items() if name.startswith(GUARD) and term.op == "or"}
    return next(([(name, case) for case in term.args] for name, term in guards.items()), [])


class QuantifiedEngine:
    """Z3 with claims about every place as quantifiers."""

    def __init__(self, premises: Premises, effort: Effort) -> None:
        self._effort = effort
        self._read = QuantifiedReader(premises.names[0].graph)
        context = self._read.context
        self._truths = {
            name: self._read.expression(premises.terms[name]) if name in premises.terms else truth.translate(context)
            for name, truth in premises.truths.items()
        }
        self._cases = [(name, self._read.expression(case)) for name, case in cases_of(premises.terms)]

    def refute(self, conjuncts: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply all of some truths: in each case that they tell apart, if they do."""
        read = self._read
        denial = z3.Not(z3.And(z3.BoolVal(True, read.context), *map(read.expression, conjuncts)))
        core = set[str]()
        for name, case in self._cases or [("", z3.BoolVal(True, read.context))]:
            answer = self._refute(z3.And(case, denial))
            if answer.result != PROVEN:
                return answer
            core.update(answer.core, [name] if name else [])
        return SolverAnswer(PROVEN, core=tuple(sorted(core)))

    def _refute(self, denial: Any) -> SolverAnswer:
        """Whether the premises contradict a denial.

        What is true of the sizes of two sets, or three, is said where a model of the rest contradicts it.
        """
        said = dict[tuple[int, ...], SizeAxioms]()
        while True:
            answer, model = self._check(denial, [*said.values()])
            wrong = [] if model is None else self._wrong(model, said)
            if not wrong:
                return answer
            said |= {axioms.numbers: axioms for axioms in wrong}

    def _wrong(self, model: z3.ModelRef, said: Mapping[tuple[int, ...], SizeAxioms]) -> list[SizeAxioms]:
        """Some axioms of sizes that are not said yet, and may be false in a model."""
        sets = [*self._read.sets.values()]
        unsaid = (axioms for axioms in chain(of_pairs(sets), of_covers(sets, model)) if axioms.numbers not in said)
        return [*islice((axioms for axioms in unsaid if axioms.may_fail(model, OPTIONS)), AT_A_TIME)]

    def _check(self, denial: Any, sizes: Sequence[SizeAxioms]) -> tuple[SolverAnswer, z3.ModelRef | None]:
        """Whether a denial contradicts the premises and some axioms, and a model if it does not."""
        read = self._read
        solver = z3.Solver(ctx=read.context)
        effort = self._effort
        solver.set(timeout=effort.milliseconds(), rlimit=effort.resources, random_seed=effort.seed, **OPTIONS)
        literals = {f"premise {number}": name for number, name in enumerate(self._truths)}
        for mark, name in literals.items():
            solver.add(z3.Implies(z3.Bool(mark, read.context), self._truths[name]))
        solver.add(*read.meanings, *read.ranges(), *of_members([*read.sets.values()]), denial)
        solver.add(*(truth for axioms in sizes for truth in axioms.truths))
        result = solver.check(*(z3.Bool(mark, read.context) for mark in literals))
        if result == z3.unsat:
            core = tuple(sorted(literals[str(mark)] for mark in solver.unsat_core()))
            return SolverAnswer(PROVEN, core=core), None
        if result == z3.unknown:
            return SolverAnswer(UNDECIDED, reason=solver.reason_unknown()), None
        return SolverAnswer(UNDECIDED, reason=NOT_SHOWN), solver.model()
