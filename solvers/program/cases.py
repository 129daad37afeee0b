"""Claims about some states only: where no state is a case of one, it is vacuous and does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Vacuous


def vacuous_without_case(verdicts: Sequence[PropertyVerdict], claims: Iterable[Property]) -> list[PropertyVerdict]:
    """The verdicts, where what would hold is vacuous if no state shows its case (`Property.case`)."""
    cases = {claim.id: claim.case for claim in claims if claim.case}
    unreached = {one.claim for one in verdicts if isinstance(one.verdict, Vacuous)}

    def judged(one: PropertyVerdict) -> PropertyVerdict:
        case = cases.get(one.claim)
        if case not in unreached or not isinstance(one.verdict, Holds):
            return one
        return evolve(one, verdict=Vacuous(case, f"no reachable state has {case}"))

    return [judged(one) for one in verdicts]
