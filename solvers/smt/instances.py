"""Instantiation: claims about every place of endless sequences become claims about the places of interest.

To refute a query, instances of a claim about every place at some places are
enough: weaker assumptions have more models. So each `every` is a truth of its
own. It implies the claim at each place of interest; and its negation implies
that the claim fails at some place, which gets a name (Skolem). Places of
interest are those named so, those that a rule reads, and the first places that
`least` names. For claims that only compare places that is nearly complete
(Bradley, Manna and Sipma, "What's decidable about arrays?", 2006); nothing
rests on that: what is not refuted is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field

from kraftcheck.model.language.terms import Graph, Term, Truth, lower
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.reading.set_shapes import assuming, condition_of, kept_by
from kraftcheck.solvers.smt.z3terms import BINDERS, Substitution

POSITIVE, NEGATIVE = 1, 2
BOTH = POSITIVE | NEGATIVE  # where a truth stands in another: that one needs it to hold, to fail, or asks for both


def arguments_with_polarity(term: Term, polarity: int) -> Iterator[tuple[Term, int]]:
    """The arguments of a term that stands at a polarity, with theirs."""
    match term.op:
        case "not":
            yield term.args[0], (polarity & POSITIVE) << 1 | polarity >> 1
        case "and" | "or":
            yield from ((arg, polarity) for arg in term.args)
        case "ite" if term.is_truth:
            yield term.args[0], BOTH
            yield from ((arg, polarity) for arg in term.args[1:])
        case _:
            yield from ((arg, BOTH) for arg in term.args)


Sort = int | None
"""The number of one of the sequences read at such places, negative for their second ones; None: any place will do."""


def apart(one: Sort, other: Sort) -> bool:
    """Whether places of two sorts are never places of both."""
    return None not in (one, other) and one != other


@define
class Sorts:
    """Sequences that some claim reads at one place have places of one sort."""

    substitution: Substitution  # knows which terms depend on a bound place
    _same: dict[int, int] = field(factory=dict)
    _read: dict[int, tuple[int, ...]] = field(factory=dict)

    def copy(self) -> Sorts:
        """These sorts, to learn more."""
        return Sorts(self.substitution, dict(self._same), dict(self._read))

    def of(self, claim: Term) -> Sort:
        """The sort of the places that a binder speaks of."""
        if claim.index not in self._read:
            bound = claim.args[0]
            read = {
                sequence
                for n in self._dependent_terms(claim) if n.op == "read"
                for place, sequence in _places_read(n) if _base_place(place) is bound
            }  # fmt: skip
            self._read[claim.index] = tuple(sorted(read))
            for other in self._read[claim.index][1:]:
                self._same[self._first(other)] = self._first(self._read[claim.index][0])
        read_at = self._read[claim.index]
        return self._first(read_at[0]) if read_at else None

    def comparable(self, one: Term, other: Term) -> bool:
        """Whether the sizes of two sets are compared: those of two sorts have no members in common."""
        return not apart(self.of(one), self.of(other))

    def merges(self) -> int:
        """How many sequences are known to have the places of others."""
        return len(self._same)

    def current(self, sort: Sort) -> Sort:
        """The sort that a sort has been merged into."""
        return None if sort is None else self._first(sort)

    def _first(self, sequence: int) -> int:
        while self._same.get(sequence, sequence) != sequence:
            sequence = self._same[sequence]
        return sequence

    def _dependent_terms(self, claim: Term) -> list[Term]:
        """The terms of a claim that depend on its place: one that does not may bind another by the same number."""
        bound, pending, terms = claim.args[0], [*claim.args[1:]], dict[int, Term]()
        while pending:
            term = pending.pop()
            if term.index not in terms and bound.value in self.substitution.free(term):
                terms[term.index] = term
                pending.extend(term.args)
        return list(terms.values())

    def places_of(self, node: Term) -> Iterator[tuple[Term, Sort]]:
        """The places that a term names: that it reads, or singles out among all."""
        if node.op == "read":
            yield from ((place, self._first(sequence)) for place, sequence in _places_read(node))
        elif node.op in BINDERS:
            bound, sort = node.args[0], self.of(node)
            for term in self._dependent_terms(node):
                if term.op == "eq" and any(arg is bound for arg in term.args):
                    yield from ((arg, sort) for arg in term.args if arg is not bound)


def _places_read(node: Term) -> Iterator[tuple[Term, int]]:
    """The places of a word that is read, each with a number of its own for each sequence."""
    for position, place in enumerate(node.args[1:]):
        yield place, (-1 if position else 1) * node.args[0].index


def _base_place(place: Term) -> Term:
    """A place without what is added to it."""
    while place.op in ("add", "sub") and place.args[1].op == "const":
        place = place.args[0]
    return place


def _sizes(node: Term) -> int:
    """How many operands of a term are sizes of sets."""
    return sum(arg.op == "cardinality" for arg in node.args)


@define
class DeniedPart:
    """One of the truths of which one is to fail."""

    number: int = 0  # 0 for what holds whichever fails
    chosen: Term | None = None  # the truth that it is this one; None for part 0
    place_count: int = 0  # how many places it has named


@define
class Instances:
    """Instances of claims about every place, which follow from some truths."""

    graph: Graph  # holds every term
    facts: list[Term] = field(factory=list)  # truths that follow from the required and denied ones, in order
    places: list[tuple[Term, Sort]] = field(factory=list)  # the places of interest, each with its sort
    denied_places: list[tuple[Term, Sort]] = field(factory=list)  # those of them where a denied truth fails
    _substitution: Substitution = field(init=False)
    _polarities: dict[tuple[int, int], int] = field(factory=dict)
    _read: set[int] = field(factory=set)
    _ranged: set[int] = field(factory=set)
    _claims: dict[int, Term] = field(factory=dict)
    _said: set[int] = field(factory=set)
    sets: list[Term] = field(factory=list)  # the sizes of sets that some truth asks for
    # of a size by its index, the condition, and the sizes that it is equal to if that holds, and if not
    cases: dict[int, tuple[Term, Term, Term]] = field(factory=dict)
    sums: bool = False  # whether some truth adds two sizes, or multiplies one
    _made: set[tuple[int, ...]] = field(factory=set)
    sorts: Sorts = field(init=False)  # which places are those of which sequences

    def __attrs_post_init__(self) -> None:
        """Nothing is substituted yet."""
        self._substitution = Substitution(self.graph)
        self.sorts = Sorts(self._substitution)

    def branch(self) -> Instances:
        """A copy that knows what this one does and has no facts to tell; this one stays as it is."""
        copy = Instances(self.graph, [], [*self.places], [])
        copy._substitution = self._substitution
        copy._polarities, copy._read, copy._claims = dict(self._polarities), set(self._read), dict(self._claims)
        copy.sets, copy.cases, copy._made, copy._said = [*self.sets], dict(self.cases), set(self._made), set(self._said)
        copy._ranged, copy.sorts, copy.sums = set(self._ranged), self.sorts.copy(), self.sums
        return copy

    def require(self, truths: Iterable[Term]) -> None:
        """Say what truths mean that are asserted elsewhere."""
        roots = list(truths)
        self._range_words(roots)
        self._add_places_read(roots)
        self._unfold([(truth, POSITIVE) for truth in roots], DeniedPart())

    def expect(self, denial: Instances) -> bool:
        """Say what is known of the places at which truths are denied, which is the same for every denial.

        The sorts that the denial shows to be one are one from now on. Returns whether anything is new.
        """
        fresh = [(place, sort) for place, sort in denial.denied_places if not self._knows(place, sort)]
        merged = denial.sorts.merges() > self.sorts.merges()
        if merged:
            self.sorts = denial.sorts.copy()
            for place, sort in [*self.places]:
                self._at_place(place, sort)
        for place, sort in fresh:
            self._add_place(place, sort)
        return merged or bool(fresh)

    def deny(self, conjuncts: Sequence[Term]) -> None:
        """Say that one of some truths fails.

        Which one is chosen by a truth of its own, so that all can give the place where
        they fail the same name: only the chosen one says anything of it.
        """
        self._range_words(conjuncts)
        self._add_places_read(conjuncts)
        named, numbers = self._substitution.named_place, range(len(conjuncts))
        chosen = [named(f"part {number} fails", truth=True) for number in numbers]
        self._add_fact(any_of(*chosen))
        for number, (choice, conjunct) in enumerate(zip(chosen, conjuncts, strict=True)):
            self._add_fact(implies(choice, negate(conjunct)))
            self._unfold([(conjunct, NEGATIVE)], DeniedPart(number + 1, choice))

    def _add_fact(self, fact: Truth) -> None:
        if fact is not True:
            self.facts.append(self.graph.lift(fact))
            self._range_words([self.facts[-1]])

    def _range_words(self, roots: Iterable[Term]) -> None:
        """Words of sequences are in their domains."""
        for node in closure(roots, self._ranged):
            self._ranged.add(node.index)
            if node.op == "read" and not node.is_truth and not self._substitution.free(node):
                self.facts += self._substitution.within(node)

    def _add_places_read(self, roots: Iterable[Term]) -> None:
        """Places that rules read, or single out, are of interest."""
        for node in closure(roots, self._read):
            self._read.add(node.index)
            self.sums |= node.op in ("add", "sub", "mul") and _sizes(node) > (node.op != "mul")
            for place, sort in self.sorts.places_of(node):
                if not self._substitution.free(place):
                    self._add_place(place, sort)

    def _unfold(self, roots: Iterable[tuple[Term, int]], part: DeniedPart) -> None:
        """Find what truths say of every place, each at its polarity, and say what it means."""
        pending = list(roots)
        while pending:
            term, polarity = pending.pop()
            key = (term.index, part.number)
            polarities = self._polarities.get(key, 0) | self._polarities.get((term.index, 0), 0)
            fresh = polarity & ~polarities
            if not fresh:
                continue
            self._polarities[key] = polarities | polarity
            if term.op == "every":
                if fresh & POSITIVE:
                    self._general(term)
                if fresh & NEGATIVE:
                    self._witness(term, part)
            elif term.op in ("least", "greatest"):
                self._extreme_place(term)
            elif term.op in ("least_by", "above", "cardinality"):
                self._named_word(term)
            else:
                pending.extend(arguments_with_polarity(term, fresh))

    def _general(self, claim: Term) -> None:
        """A claim says something of every place of interest."""
        if claim.index not in self._claims:
            self._claims[claim.index] = claim
            for place, sort in [*self.places]:
                self._instance(claim, place, sort)

    def _instance(self, claim: Term, place: Term, sort: Sort) -> None:
        key, strangers = (claim.index, place.index), apart(self.sorts.of(claim), self.sorts.current(sort))
        if strangers or key in self._made or not self._substitution.near(claim, place):
            return
        self._made.add(key)
        body = lower(self._substitution.at(claim, place))
        if claim.op in ("least_by", "above"):
            self._member(claim, place, body)
            return
        if claim.op in ("least", "greatest"):
            body = negate(body)
            before = place < claim if claim.op == "least" else all_of(claim < place, place <= claim.args[2])
            self._add_fact(any_of(place < 0, negate(before), body))
        else:
            self._add_fact(any_of(place < 0, negate(claim), body))
        self._unfold([(self.graph.lift(body), POSITIVE)], DeniedPart())

    def _witness(self, claim: Term, part: DeniedPart) -> None:
        """Where a claim fails, it does at some place."""
        if part.chosen is None:
            place = self._substitution.witness(f"place of {claim.index}", claim)
        else:
            place, part.place_count = self._substitution.named_place(f"place {part.place_count}"), part.place_count + 1
        if place is None:
            return
        body = self._substitution.at(claim, place)
        fails = any_of(claim, all_of(place >= 0, negate(lower(body))))
        self._add_fact(fails if part.chosen is None else implies(part.chosen, fails))
        sort = self.sorts.of(claim)
        if part.chosen is not None:
            self.denied_places.append((place, sort))
        self._add_place(place, sort)
        self._unfold([(body, NEGATIVE)], part)

    def _extreme_place(self, claim: Term) -> None:
        """What is said of a first place holds there, or there is none, and nowhere before; of a last one, not after."""
        body, limit = self._substitution.at(claim, claim), claim.args[2]
        self.facts += self._substitution.within(claim)
        if claim.op == "least":
            no_place = any_of(claim == limit, all_of(limit < 0, claim == 0))
            self._add_fact(any_of(no_place, all_of(claim < limit, lower(body))))
        else:
            self._add_fact(any_of(claim == -1, all_of(claim <= limit, lower(body))))
        self._unfold([(body, POSITIVE)], DeniedPart())
        self._add_place(claim, self.sorts.of(claim))
        self._general(claim)

    def _named_word(self, claim: Term) -> None:
        """A word that a binder names is what it says of one place, and of every member."""
        if claim.index in self._claims:
            return
        self.facts += self._substitution.within(claim)
        if claim.op == "cardinality":
            self._claims[claim.index] = claim
            self.sets.append(claim)
            self._size(claim)
            return
        self._general(claim)
        if claim.op == "least_by":
            self._member_unless(claim, claim, claim == -1)

    def _size(self, claim: Term) -> None:
        """A set that is one of two by a condition has the size of that one; others are compared."""
        if (condition := condition_of(self._substitution, claim)) is None:
            return
        one, other = (assuming(self._substitution, claim, condition, holds) for holds in (True, False))
        self.cases[claim.index] = condition, one, other
        self._add_fact(all_of(any_of(negate(condition), claim == one), any_of(condition, claim == other)))
        self._unfold([(condition, BOTH), (one, BOTH), (other, BOTH)], DeniedPart())

    def _member_unless(self, claim: Term, place: Term, none: Truth) -> None:
        """A place is a member, unless there is none."""
        body = self._substitution.at(claim, place)
        self._add_fact(any_of(none, all_of(place >= 0, lower(body))))
        self._unfold([(body, BOTH)], DeniedPart())
        self._add_place(place, self.sorts.of(claim))

    def _member(self, claim: Term, place: Term, body: Truth) -> None:
        """What a binder's word says of a place, if that is a member."""
        outside = any_of(place < 0, negate(body))
        if claim.op == "least_by":
            key = self._substitution.key_at
            smaller = lower(key(claim, claim)) <= lower(key(claim, place))
            self._add_fact(any_of(outside, all_of(claim >= 0, smaller)))
        else:
            self._add_fact(any_of(outside, place < claim))
        self._unfold([(self.graph.lift(body), BOTH)], DeniedPart())

    def _knows(self, place: Term, sort: Sort) -> bool:
        return any(place is listed and sort == other for listed, other in self.places)

    def _add_place(self, place: Term, sort: Sort) -> None:
        if not self._knows(place, sort):
            self.places.append((place, sort))
            self._at_place(place, sort)

    def _at_place(self, place: Term, sort: Sort) -> None:
        for claim in [*self._claims.values()]:
            if claim.op != "cardinality":
                self._instance(claim, place, sort)

    def member(self, claim: Term, place: Term) -> Term:
        """Whether a place is a member of the set whose size a term is."""
        return self.graph.lift(all_of(place >= 0, lower(self._substitution.at(claim, place))))

    def places_of(self, claim: Term) -> list[Term]:
        """The places of interest that may be members of a set."""
        sort = self.sorts.of(claim)
        return [place for place, other in self.places if not apart(sort, self.sorts.current(other))]

    def same_owners(self, one: Term, other: Term) -> Truth:
        """A truth that, if it holds, makes two sets the same: they are kept by the same brokers. False: they differ."""
        (shape, owners), (shape_too, others) = (kept_by(self._substitution, claim) for claim in (one, other))
        return shape is shape_too and all_of(*(a == b for a, b in zip(owners, others, strict=True)))

    def outsider(self, name: str, *sets: Term) -> Term | None:
        """The place with a name, a member of the first of some sets where there is one; None: too far away."""
        numbers = " ".join(str(claim.index) for claim in sets)
        return self._substitution.witness(f"{name} {numbers}", *sets)

    def say(self, fact: Truth, *sets: Term, place: Term | None = None) -> None:
        """Add a fact about the members of some sets, and a place of interest that it names."""
        if (term := self.graph.lift(fact)).index not in self._said:
            self._said.add(term.index)
            self._add_fact(term)
            self._unfold([(term, POSITIVE)], DeniedPart())
        if place is not None:
            self._add_place(place, next((s for s in map(self.sorts.of, sets) if s is not None), None))
