"""Verdicts of proofs: the outcome of an induction for each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.premises.hidden_goals import EMPTY
from kraftcheck.solvers.program.program import Program
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
        smallest: by claim about any number of brokers, a counterexample to induction with few.
    """

    explored: Exploration | None = None
    reason: str = "nothing was explored"
    others: tuple[Exploration, ...] = ()
    smallest: Mapping[str, Counterexample] = field(factory=dict)

    @property
    def searches(self) -> Sequence[Exploration]:
        """All of them."""
        return self.others if self.explored is None else (self.explored, *self.others)

    def shows(self, goal: str) -> bool:
        """Whether a search has a run to a goal."""
        return any(v.claim == goal and isinstance(v.verdict, Holds) for one in self.searches for v in one.verdicts)

    def reaches(self, claim: str) -> bool:
        """Whether a search, whole or cut, reached a state or step that a claim speaks of."""
        return any(
            claim in one.premises_shown or claim not in one.program.premises
            for one in self.searches if any(v.claim == claim for v in one.verdicts)
        )  # fmt: skip

    def extent(self) -> str:
        """What was searched, for a claim of which nothing was reached."""
        if not self.searches:
            return self.reason
        return "; ".join(one.cut or f"{one.distinct:,} states{_with(one.program)} have none" for one in self.searches)

    def vacuous(self, claim: str) -> Vacuous | None:
        """That the search of the scope reached nothing of what a claim is about; None where it did, or is not whole."""
        found = [] if self.explored is None else [v.verdict for v in self.explored.verdicts if v.claim == claim]
        return next((verdict for verdict in found if isinstance(verdict, Vacuous)), None)

    def refutation(self, claim: str) -> tuple[Refuted, Exploration] | None:
        """The first search that refutes a claim, if any, and how: its trace is the shortest there."""
        for search in self.searches:
            for verdict in search.verdicts:
                if verdict.claim == claim and isinstance(verdict.verdict, Refuted):
                    return verdict.verdict, search
        return None


def _with(program: Program) -> str:
    bounds = program.setting.text()
    return f" with {bounds}" if bounds else ""


def unshown(program: Program, claim: Property, evidence: SearchEvidence, is_lemma: bool = False) -> Verdict | None:
    """What a proven claim is that no run shows a case of: vacuous where none can, else unknown; None where a run does.

    That a premise is consistent with what is proven does not say that a run reaches it, so no solver is asked.

    Args:
        program: the system as provers take it.
        claim: what is proven.
        evidence: the search for such a run.
        is_lemma: whether it serves other claims, and may say what the domains say.
    """
    if claim.case and not evidence.shows(claim.case):
        return Unknown(f"proven, but no run shows {claim.case}")
    if is_lemma:
        return None
    vacuous = evidence.vacuous(claim.id)
    premise = program.premises.get(claim.id)
    if vacuous is not None or premise is None or claim.id in program.lenient or evidence.reaches(claim.id):
        return vacuous
    if premise.reason in EMPTY:
        return Vacuous(claim.id, premise.reason)
    about = "step" if claim.kind == "step" else "state"
    return Unknown(f"proven, but no run shows a {about} that satisfies its premise ({evidence.extent()})")


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
        missing = unshown(proof.theory.program, claim, evidence, name in proof.theory.lemmas)
        return ClaimJudgement(PropertyVerdict(name, claim.kind, missing or Holds(bound_text(proof))))
    failures = proof.failures(name)
    refuted = [answer for answer in failures if answer.result == REFUTED]
    steps = [replay_countermodel(proof.theory, answer, proof.assumed()) for answer in refuted]
    counterexamples = [locate(step, claim, evidence.explored, evidence.reason) for step in steps]
    counterexamples += [evidence.smallest[name]] if name in evidence.smallest else []
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
    if counterexample is not None and not counterexample.numbers:
        actions = [a.obligation.action for a in failures if a.result == REFUTED]
        return Unknown(
            f"not inductive: {', '.join(actions)}; counterexample {counterexample.reach} ({counterexample.where})"
        )
    if counterexample is not None:
        actions = [a.obligation.action for a in failures]
        return Unknown(
            f"not proven for any number: {', '.join(actions)}; counterexample with {counterexample.numbers} "
            f"{counterexample.reach} ({counterexample.where})"
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
