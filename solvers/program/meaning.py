"""The meaning of a program: what it does, and what is claimed of it, each as a digest.

A verdict is of a meaning. Where the digests are those of another program, it says nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.fingerprint import meanings
from kraftcheck.solvers.program.program import Program


@frozen
class Meaning:
    """What a program does and claims, whatever the order of its terms; terms that nothing uses do not count.

    Attributes:
        behaviour: a digest of its states and steps.
        claims: for each property a digest of what it says; of the rest that is judged, under the empty name.
    """

    behaviour: str
    claims: Mapping[str, str]

    @classmethod
    def of(cls, program: Program) -> Meaning:
        """The meaning of a program."""
        digests = meanings(program.graph)

        def digest(what: str, *terms: Term) -> str:
            return hashlib.sha256(" ".join([what, *(digests[term.index] for term in terms)]).encode()).hexdigest()[:16]

        does = [
            digest(repr((program.initial, program.layout.slots)), program.quiescent, *_some(program.within)),
            digest(repr([*program.initially]), *program.initially.values()),
        ]
        for kind in program.kinds:
            guard = [digest(name, part) for name, part in kind.guard.items()]
            named = f"{kind.action.name} {kind.unchecked} {kind.table} {guard}"
            does.append(digest(named, *kind.variables, *kind.after))
        truths = (*program.always_terms, *program.sometimes_terms)
        of_states = zip((*program.always, *program.sometimes), truths, strict=True)
        says = {claim.id: digest(claim.kind, term) for claim, term in of_states}
        for position, claim in enumerate((*program.steps, *program.happens)):
            says[claim.id] = digest(claim.kind, *(kind.steps[position] for kind in program.kinds))
        for one in program.recovers:
            says[one.claim.id] = digest(f"recovers {one.allowed}", one.when, one.goal)
        for name, term in program.starts.items():
            says[name] = digest(f"at the start, and {says.get(name)}", term)
        live = program.liveness.terms if program.liveness.claims else ()
        says[""] = digest("the rest", *live)
        return cls(digest(" ".join(does)), says)

    @property
    def whole(self) -> str:
        """A digest of all."""
        return hashlib.sha256(f"{self.behaviour} {sorted(self.claims.items())}".encode()).hexdigest()[:16]


def _some(term: Term | None) -> tuple[Term, ...]:
    return () if term is None else (term,)
