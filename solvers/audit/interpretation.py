"""The meaning of terms that speak of places, evaluated place by place up to a number of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.terms import Term, evaluate

_BINDERS = {"every": 2, "least": 2, "greatest": 2, "cardinality": 2, "least_by": 3, "above": 2}
"""What binds a place, and the first of its arguments that is outside."""


@frozen
class Places:
    """An interpretation: each sequence by the words at its first places; it is 0 at all others.

    Attributes:
        count: how many places a binder looks at; what is said of others must be false there.
        words: the words of a sequence, or those of each sequence of one of sequences, by the name of its symbol.
    """

    count: int
    words: Mapping[str, Sequence[Any]]
    _known: dict[Any, int] = field(factory=dict, eq=False, repr=False, kw_only=True)
    _free: dict[int, frozenset[int]] = field(factory=dict, eq=False, repr=False, kw_only=True)

    def given(self, more: Mapping[str, Sequence[Any]]) -> Places:
        """The same with more words; what is known of terms without them stays known."""
        return Places(self.count, {**self.words, **more}, known=dict(self._known), free=self._free)

    def value(self, term: Term | int, bound: Mapping[int, int] | None = None) -> int:
        """The value of a term, where bound places stand for some."""
        if not isinstance(term, Term):
            return int(term)
        env = bound or {}
        key = term.index, *(env[at] for at in sorted(self._bound(term)))
        if key not in self._known:
            self._known[key] = self._value(term, env)
        return self._known[key]

    def _bound(self, term: Term) -> frozenset[int]:
        """The bound places that a term depends on."""
        if term.index not in self._free:
            inside = frozenset[int]().union(*map(self._bound, term.args))
            if term.op == "bound":
                inside = frozenset([term.value])
            elif term.op in _BINDERS:
                outside = frozenset[int]().union(*map(self._bound, term.args[_BINDERS[term.op] :]))
                inside = (inside - {term.args[0].value}) | outside
            self._free[term.index] = inside
        return self._free[term.index]

    def _value(self, term: Term, env: Mapping[int, int]) -> int:
        match term.op:
            case "const":
                return term.value
            case "var":
                return int(self.words[term.graph.variables[term.value]][0])
            case "bound":
                return env[term.value]
            case "read":
                found: Any = self.words[term.graph.variables[term.args[0].value]]
                for at in (self.value(place, env) for place in term.args[1:]):
                    found = found[at] if found and 0 <= at < len(found) else 0
                return int(found)
            case "ite":
                return self.value(term.args[1] if self.value(term.args[0], env) else term.args[2], env)
            case "and" | "or":
                return int((all if term.op == "and" else any)(self.value(arg, env) for arg in term.args))
            case "every":
                place = term.args[0].value
                return int(all(self.value(term.args[1], {**env, place: at}) for at in range(self.count)))
            case "least" | "greatest":
                return self._extreme_place(term, env)
            case "cardinality" | "least_by" | "above":
                return self._of_every_place(term, env)
        return int(evaluate(term.op, [self.value(arg, env) for arg in term.args]))

    def _extreme_place(self, term: Term, env: Mapping[int, int]) -> int:
        """The first place before a limit, which is the limit or 0 where there is none; or the last up to one, or -1."""
        limit, place = self.value(term.args[2], env), term.args[0].value

        def holds(at: int) -> bool:
            return bool(self.value(term.args[1], {**env, place: at}))

        if term.op == "least":
            return next(filter(holds, range(limit)), max(limit, 0))
        return next(filter(holds, range(limit, -1, -1)), -1)

    def _of_every_place(self, term: Term, env: Mapping[int, int]) -> int:
        place = term.args[0].value
        members = [at for at in range(self.count) if self.value(term.args[1], {**env, place: at})]
        match term.op:
            case "cardinality":
                return len(members)
            case "above":
                return max(members, default=-1) + 1
        return min(members, key=lambda at: self.value(term.args[2], {**env, place: at}), default=-1)
