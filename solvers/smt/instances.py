"""Claims about every place of endless sequences, as claims about the places of interest.

To refute a query it is enough to know what a claim about every place says of
some places: whoever assumes less has more models. So each `every` is a truth of its
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
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.smt.places import Swap
from kraftcheck.solvers.smt.sorts import Sort, Sorts

POSITIVE, NEGATIVE = 1, 2
BOTH = POSITIVE | NEGATIVE
"""Where a truth stands in another: that one needs it to hold, to fail, or asks for both."""


def below(term: Term, polarity: int) -> Iterator[tuple[Term, int]]:
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


@define
class Part:
    """One of the truths of which one is to fail.

    Attributes:
        number: 0 for what holds whichever fails.
        chosen: the truth that it is this one; None for part 0.
        named: how many places it has named.
    """

    number: int = 0
    chosen: Term | None = None
    named: int = 0


@define
class Instances:
    """What holds besides some truths: instances of what they say of every place.

    Attributes:
        graph: holds every term.
        facts: truths that follow from what was told, in order; whoever asserts them takes them out.
        places: the places of interest, each with its sort.
    """

    graph: Graph
    facts: list[Term] = field(factory=list)
    places: list[tuple[Term, Sort]] = field(factory=list)
    _swap: Swap = field(init=False)
    _seen: dict[tuple[int, int], int] = field(factory=dict)
    _read: set[int] = field(factory=set)
    _typed: set[int] = field(factory=set)
    _claims: dict[int, Term] = field(factory=dict)
    _sorts: Sorts = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Nothing is substituted yet."""
        self._swap = Swap(self.graph)
        self._sorts = Sorts(self._swap)

    def branch(self) -> Instances:
        """A copy that knows what this one does and has no facts to tell; this one stays as it is."""
        made = Instances(self.graph, [], [*self.places])
        made._swap = self._swap
        made._seen, made._read, made._claims = dict(self._seen), set(self._read), dict(self._claims)
        made._typed, made._sorts = set(self._typed), self._sorts.copy()
        return made

    def require(self, truths: Iterable[Term]) -> None:
        """Say what truths mean that are asserted elsewhere."""
        listed = list(truths)
        self._type(listed)
        self._reads(listed)
        self._walk([(truth, POSITIVE) for truth in listed], Part())

    def deny(self, conjuncts: Sequence[Term]) -> None:
        """Say that one of some truths fails.

        Which one is chosen by a truth of its own, so that all can give the place where
        they fail the same name: only the chosen one says anything of it.
        """
        self._type(conjuncts)
        self._reads(conjuncts)
        chosen = [self._swap.named(f"part {number} fails", truth=True) for number in range(len(conjuncts))]
        self._tell(any_of(*chosen))
        for number, (one, conjunct) in enumerate(zip(chosen, conjuncts, strict=True)):
            self._tell(implies(one, negate(conjunct)))
            self._walk([(conjunct, NEGATIVE)], Part(number + 1, one))

    def _tell(self, fact: Truth) -> None:
        if fact is not True:
            self.facts.append(self.graph.lift(fact))
            self._type([self.facts[-1]])

    def _type(self, roots: Iterable[Term]) -> None:
        """Words of sequences are in their domains."""
        for node in closure(roots, self._typed):
            self._typed.add(node.index)
            if node.op == "read" and not self._swap.free(node):
                self.facts += self._swap.within(node)

    def _reads(self, roots: Iterable[Term]) -> None:
        """Places that rules read, or single out, are of interest."""
        for node in closure(roots, self._read):
            self._read.add(node.index)
            for place, sort in self._sorts.named(node):
                if not self._swap.free(place):
                    self._interest(place, sort)

    def _walk(self, roots: Iterable[tuple[Term, int]], part: Part) -> None:
        """Find what truths say of every place, each at its polarity, and say what it means."""
        pending = list(roots)
        while pending:
            term, polarity = pending.pop()
            key = (term.index, part.number)
            known = self._seen.get(key, 0) | self._seen.get((term.index, 0), 0)
            fresh = polarity & ~known
            if not fresh:
                continue
            self._seen[key] = known | polarity
            if term.op == "every":
                if fresh & POSITIVE:
                    self._general(term)
                if fresh & NEGATIVE:
                    self._witness(term, part)
            elif term.op in ("least", "greatest"):
                self._singled_out(term)
            else:
                pending.extend(below(term, fresh))

    def _general(self, claim: Term) -> None:
        """A claim says something of every place of interest."""
        if claim.index not in self._claims:
            self._claims[claim.index] = claim
            for place, sort in [*self.places]:
                self._instance(claim, place, sort)

    def _instance(self, claim: Term, place: Term, sort: Sort) -> None:
        wanted, sort = self._sorts.of(claim), self._sorts.now(sort)
        if None not in (wanted, sort) and wanted != sort:
            return
        said = lower(self._swap.at(claim, place))
        if claim.op in ("least", "greatest"):
            said = negate(said)
            passed = place < claim if claim.op == "least" else all_of(claim < place, place <= claim.args[2])
            self._tell(any_of(place < 0, negate(passed), said))
        else:
            self._tell(any_of(place < 0, negate(claim), said))
        self._walk([(self.graph.lift(said), POSITIVE)], Part())

    def _witness(self, claim: Term, part: Part) -> None:
        """Where a claim fails, it does at some place."""
        name = f"place of {claim.index}" if part.chosen is None else f"place {part.named}"
        place, part.named = self._swap.named(name), part.named + 1
        said = self._swap.at(claim, place)
        fails = any_of(claim, all_of(place >= 0, negate(lower(said))))
        self._tell(fails if part.chosen is None else implies(part.chosen, fails))
        self._interest(place, self._sorts.of(claim))
        self._walk([(said, NEGATIVE)], part)

    def _singled_out(self, claim: Term) -> None:
        """What is said of a first place holds there, or there is none, and nowhere before; of a last one, not after."""
        said, limit = self._swap.at(claim, claim), claim.args[2]
        self.facts += self._swap.within(claim)
        if claim.op == "least":
            none = any_of(claim == limit, all_of(limit < 0, claim == 0))
            self._tell(any_of(none, all_of(claim < limit, lower(said))))
        else:
            self._tell(any_of(claim == -1, all_of(claim <= limit, lower(said))))
        self._walk([(said, POSITIVE)], Part())
        self._interest(claim, self._sorts.of(claim))
        self._general(claim)

    def _interest(self, place: Term, sort: Sort) -> None:
        if all(place is not known or sort != other for known, other in self.places):
            self.places.append((place, sort))
            for claim in [*self._claims.values()]:
                self._instance(claim, place, sort)
