"""Verdicts of proofs: the outcome of an induction for each claim."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Unknown, Vacuous, Verdict
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.smt.bounds import leaves_text
from kraftcheck.solvers.smt.cti import REACHABLE, Counterexample, locate, reachable_counterexample, replay_countermodel
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, UNDECIDED, ObligationAnswer


@frozen
class ClaimJudgement:
    """A claim with the outcome of its proof.

    Attributes:
        verdict: proven claims hold; one that the explorer refutes is refuted; the rest is unknown.
        counterexample: the counterexample to induction that says most; None where there is none.
    """

    verdict: PropertyVerdict
    counterexample: Counterexample | None = None


@frozen
class SearchEvidence:
    """The search that decides whether a counterexample is reachable.

    Attributes:
        explored: the search of the scope, states kept; None where there is none.
        reason: why there is none.
        others: searches of further scopes, where the claims are of any number of brokers; the smallest first.
    """

    explored: Exploration | None = None
    reason: str = "nothing was explored"
    others: tuple[Exploration, ...] = ()

    def shows(self, goal: str) -> bool:
        """Whether a search has a run to a goal."""
        searches = self.others if self.explored is None else (self.explored, *self.others)
        return any(v.claim == goal and isinstance(v.verdict, Holds) for one in searches for v in one.verdicts)

    def vacuous(self, claim: str) -> Vacuous | None:
        """That the search of the scope reached nothing of what a claim is about; None where it did, or is not whole."""
        found = [] if self.explored is None else [v.verdict for v in self.explored.verdicts if v.claim == claim]
        return next((verdict for verdict in found if isinstance(verdict, Vacuous)), None)

    def refutation(self, claim: str) -> tuple[Refuted, Exploration] | None:
        """The first search that refutes a claim, if any, and how: its trace is the shortest there."""
        for search in self.others if self.explored is None else (self.explored, *self.others):
            for verdict in search.verdicts:
                if verdict.claim == claim and isinstance(verdict.verdict, Refuted):
                    return verdict.verdict, search
        return None


def judge(proof: Proof, evidence: SearchEvidence) -> list[ClaimJudgement]:
    """The verdict of each target claim; domains are part of the bound.

    What the claims rest on is confronted with the search too, but not judged.

    Raises:
        EngineDisagreement: when the search refutes what is proven, or ints do not confirm a countermodel.
    """
    confirm_proven(proof, evidence)
    names = {claim.id for claim in proof.theory.claims}
    judgements = [_judge_claim(proof, name, evidence) for name in proof.claims if name in names]
    return [judgement for judgement in judgements if judgement.verdict.claim in proof.targets]


def confirm_proven(proof: Proof, evidence: SearchEvidence) -> None:
    """Compare what is proven, and what it rests on, with searches.

    Raises:
        EngineDisagreement: when one refutes what is proven.
    """
    for name in filter(proof.proven, proof.claims):
        if (broken := evidence.refutation(name)) is not None:
            raise EngineDisagreement(f"{name} is proven, and a run of {len(broken[0].trace.steps)} steps refutes it")


def _judge_claim(proof: Proof, name: str, evidence: SearchEvidence) -> ClaimJudgement:
    claim = proof.theory.claim(name)
    if proof.proven(name):
        shown = not claim.case or evidence.shows(claim.case)
        proven: Verdict = Holds(bound_text(proof)) if shown else Unknown(f"proven, but no run shows {claim.case}")
        if shown and name not in proof.theory.lemmas:  # a lemma serves other claims, and may say what domains say
            proven = evidence.vacuous(name) or proven
        return ClaimJudgement(PropertyVerdict(name, claim.kind, proven))
    failures = proof.failures(name)
    refuted = [answer for answer in failures if answer.result == REFUTED]
    steps = [replay_countermodel(proof.theory, answer, proof.assumed()) for answer in refuted]
    counterexamples = [locate(step, claim, evidence.explored, evidence.reason) for step in steps]
    counterexample = min(counterexamples, key=lambda candidate: candidate.reach != REACHABLE, default=None)
    if (broken := evidence.refutation(name)) is not None:
        refuted_verdict, search = broken
        # Z3's countermodel may start from a state that nothing reaches; the search has a run that ends in one.
        if counterexample is None or counterexample.reach != REACHABLE:
            counterexample = reachable_counterexample(refuted_verdict.trace, search)
        steps_taken = len(refuted_verdict.trace.steps)
        return ClaimJudgement(PropertyVerdict(name, claim.kind, refuted_verdict, steps_taken), counterexample)
    return ClaimJudgement(PropertyVerdict(name, claim.kind, _verdict(proof, failures, counterexample)), counterexample)


def _verdict(proof: Proof, failures: list[ObligationAnswer], counterexample: Counterexample | None) -> Verdict:
    if counterexample is not None:
        actions = [a.obligation.action for a in failures if a.result == REFUTED]
        return Unknown(
            f"not inductive: {', '.join(actions)}; counterexample {counterexample.reach} ({counterexample.where})"
        )
    if failures:
        undecided = [a for a in failures if a.result == UNDECIDED]
        return Unknown(f"no answer: {', '.join(f'{a.obligation.action} ({a.reason})' for a in undecided)}")
    if proof.faults() and not proof.stopped:
        return Incomplete(leaves_text(proof.faults()))
    return Incomplete(proof.stop_reason)


def bound_text(proof: Proof) -> str:
    """The coverage of a proof: any number of steps, at these bounds."""
    bounds = proof.theory.program.setting.text()
    text = f"any number of steps of {proof.theory.program.system.name}" + (f" with {bounds}" if bounds else "")
    cuts = proof.bounded()
    return text + (f"; steps beyond the bound on {', '.join(cuts)} are left out" if cuts else "")
