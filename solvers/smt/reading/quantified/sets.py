"""Sets as claims about a place, in one form for all that differ only in what an outer place gives."""

from __future__ import annotations

from typing import Any

import z3
from attrs import define, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.places import BINDERS, Substitution
from kraftcheck.solvers.smt.reading.set_shapes import assuming


@frozen
class CountedSet:
    """A set whose size is asked for, in Z3.

    Attributes:
        number: tells sets apart.
        size: its size, a function of the parameters.
        parameters: constants that stand for what an outer place gives.
        place: a constant that stands for any place.
        claim: the truth that the place is a member.
    """

    number: int
    size: Any
    parameters: tuple[Any, ...]
    place: Any
    claim: Any

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
    """A set as its claim with a blank for each largest part that an outer place gives, and for who keeps the set.

    Attributes:
        place: the bound place of the claim.
        claim: the claim with blanks; None where it binds places itself, so that it has no such form.
        parameters: what the blanks stand for, and each blank; without a claim, the outer places themselves.
    """

    place: Term
    claim: Term | None
    parameters: tuple[tuple[Term, Term], ...]


@define
class SetShapes:
    """Finds the shapes of sets.

    Attributes:
        substitution: knows which terms depend on a bound place.
    """

    substitution: Substitution

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
        name = f"blank {number} of {term.lo}..{term.hi}"
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
