"""From proofs to verdicts: what a finished or failed induction says about each claim."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Unknown, Verdict
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.smt.bounds import leaves_text
from kraftcheck.solvers.smt.cti import REACHABLE, Counterexample, locate, reached, replayed
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, UNDECIDED, Answer


@frozen
class Judged:
    """A claim and what came of its proof.

    Attributes:
        verdict: proven claims hold; one that the explorer refutes is refuted; the rest is unknown.
        counterexample: the counterexample to induction that says most; None where there is none.
    """

    verdict: PropertyVerdict
    counterexample: Counterexample | None = None


@frozen
class Searched:
    """What may tell whether a counterexample is reachable.

    Attributes:
        explored: the search of the scope, states kept; None where there is none.
        why_not: why there is none.
    """

    explored: Exploration | None = None
    why_not: str = "nothing was explored"


def judge(proof: Proof, searched: Searched) -> list[Judged]:
    """The verdict of each claim that was asked for; domains are part of the bound.

    What the claims rest on is confronted with the search too, but not judged.

    Raises:
        EngineDisagreement: when the search refutes what is proven, or ints do not confirm a countermodel.
    """
    known = {claim.id for claim in proof.theory.claims}
    judged = [_judged(proof, name, searched) for name in proof.claims if name in known]
    return [one for one in judged if one.verdict.claim in proof.asked]


def _judged(proof: Proof, name: str, searched: Searched) -> Judged:
    claim, broken = proof.theory.claim(name), _refutation(name, searched)
    if proof.proven(name):
        if broken is not None:
            raise EngineDisagreement(f"{name} is proven, and a run of {len(broken.trace.steps)} steps refutes it")
        return Judged(PropertyVerdict(name, claim.kind, Holds(bound_text(proof))))
    failures = proof.failures(name)
    refuted = [answer for answer in failures if answer.result == REFUTED]
    found = [locate(replayed(proof.theory, a, proof.assumed()), claim, searched.explored, searched.why_not)
             for a in refuted]  # fmt: skip
    best = min(found, key=lambda one: one.reach != REACHABLE, default=None)
    if broken is not None and searched.explored is not None:
        # Z3's countermodel may start from a state that nothing reaches; the search has a run that ends in one.
        if best is not None and best.reach != REACHABLE:
            best = reached(broken.trace, searched.explored)
        return Judged(PropertyVerdict(name, claim.kind, broken, len(broken.trace.steps)), best)
    return Judged(PropertyVerdict(name, claim.kind, _verdict(proof, failures, best)), best)


def _refutation(name: str, searched: Searched) -> Refuted | None:
    """What the search refutes: it has the shortest trace, whichever countermodel Z3 found."""
    told = {} if searched.explored is None else {found.claim: found.verdict for found in searched.explored.verdicts}
    found = told.get(name)
    return found if isinstance(found, Refuted) else None


def _verdict(proof: Proof, failures: list[Answer], best: Counterexample | None) -> Verdict:
    if best is not None:
        actions = [a.obligation.action for a in failures if a.result == REFUTED]
        return Unknown(f"not inductive: {', '.join(actions)}; counterexample {best.reach} ({best.where})")
    if failures:
        undecided = [a for a in failures if a.result == UNDECIDED]
        return Unknown(f"no answer: {', '.join(f'{a.obligation.action} ({a.reason})' for a in undecided)}")
    if proof.faults() and not proof.stopped:
        return Incomplete(leaves_text(proof.faults()))
    return Incomplete("stopped on request")


def bound_text(proof: Proof) -> str:
    """What a proof covers: any number of steps, at these bounds."""
    bounds = proof.theory.program.setting.text()
    text = f"any number of steps of {proof.theory.program.system.name}" + (f" with {bounds}" if bounds else "")
    cuts = proof.bounded()
    return text + (f"; steps beyond the bound on {', '.join(cuts)} are left out" if cuts else "")
