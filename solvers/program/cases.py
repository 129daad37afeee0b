"""Claims about some states only: where no state is a case of one, it is vacuous and does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Unknown, Vacuous


def vacuous_without_case(verdicts: Sequence[PropertyVerdict], claims: Iterable[Property]) -> list[PropertyVerdict]:
    """The verdicts, where what would hold is vacuous if no state shows its case (`Property.case`).

    It is unknown where no goal of that name was judged.
    """
    cases = {claim.id: claim.case for claim in claims if claim.case}
    goals = {one.claim: one.verdict for one in verdicts if one.kind in ("sometimes", "happens")}

    def judged(one: PropertyVerdict) -> PropertyVerdict:
        case = cases.get(one.claim)
        if case is None or not isinstance(one.verdict, Holds) or isinstance(goals.get(case), Holds):
            return one
        if isinstance(goals.get(case), Vacuous):
            return evolve(one, verdict=Vacuous(case, f"nothing reachable shows {case}"))
        return evolve(one, verdict=Unknown(f"no goal {case!r} was judged, so nothing shows a case of it"))

    return [judged(one) for one in verdicts]


def claims_without_content(program: Program) -> Iterator[str]:
    """A warning for each invariant that the domains make true: no state could break it, so it checks nothing."""
    for claim, term in zip(program.always, program.always_terms, strict=True):
        if term.op == "const" and term.value:
            yield f"{claim.id} checks nothing: every state that the domains allow satisfies it"
