"""Which parts of a long invariant a goal is about: those that share most terms with it.

A part of an invariant after a step mostly rests on the part that says the same before it, and on few others. So of
an invariant with many parts the most relevant are assumed first. A term counts for the more, the fewer premises have
it (as in Meng and Paulson, "Lightweight relevance filtering for machine-generated resolution problems", 2009).
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping

from attrs import define, field

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.smt.queries import Premises
from kraftcheck.solvers.smt.reading.goals.premises import chosen

LENGTH = 0.7
"""Power of its weight by which a premise is divided: a long one shares more terms with anything."""


@define(slots=False)
class Relevance:
    """Ranks premises for goals.

    Attributes:
        premises: all of them, in parts.
        whole: the name of the premise that one is, or is a part of.
    """

    premises: Premises
    whole: Callable[[str], str]
    _terms: dict[int, frozenset[int]] = field(factory=dict)

    def most(self, premises: Premises, part: Term, count: int) -> Premises:
        """Premises with so many parts of each invariant, those most relevant to a part of a goal, and all the rest."""
        parts: dict[str, list[str]] = {}
        for name in premises.terms:
            parts.setdefault(self.whole(name), []).append(name)
        left_out = {
            name for names in parts.values() if len(names) > count
            for name in sorted(names, key=lambda name: self._score(name, part))[:-count]
        }  # fmt: skip
        return chosen(premises, {*premises.truths} - left_out)

    def _score(self, name: str, part: Term) -> float:
        """How relevant a premise is to a part of a goal; the larger, the more."""
        terms = self._terms_of(self.premises.terms[name])
        shared = terms & self._terms_of(part)
        weights = self._weights
        return sum(weights[term] for term in sorted(shared)) / self._lengths[name]

    @functools.cached_property
    def _weights(self) -> Mapping[int, float]:
        count = Counter(term for premise in self.premises.terms.values() for term in self._terms_of(premise))
        return {term: math.log(1 + len(self.premises.terms) / often) for term, often in count.items()}

    @functools.cached_property
    def _lengths(self) -> Mapping[str, float]:
        weights = self._weights
        lengths = {name: sum(weights[term] for term in sorted(self._terms_of(premise)))
                   for name, premise in self.premises.terms.items()}  # fmt: skip
        return {name: length**LENGTH or 1.0 for name, length in lengths.items()}

    def _terms_of(self, truth: Term) -> frozenset[int]:
        if truth.index not in self._terms:
            self._terms[truth.index] = frozenset(n.index for n in closure([truth]) if n.op not in ("const", "bound"))
        return self._terms[truth.index]
