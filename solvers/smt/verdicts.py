"""Verdicts of proofs: the outcome of an induction for each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.model.language.layout import DomainError, rebuild
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.premises import EMPTY, NO_STEPS
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.program.trace import is_within
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    TraceStep,
    Unknown,
    Vacuous,
    Verdict,
    start_parts,
)
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, UNDECIDED, ObligationAnswer
from kraftcheck.solvers.smt.spacer import leaves_text
from kraftcheck.solvers.smt.theory import INITIATION, Theory


@frozen
class ModelAction:
    """An action that a model takes."""

    action: str  # its name
    leaves: tuple[int, ...] = ()  # the leaves of its arguments


def kind_of_action(subject: Theory, action: str) -> Kind:
    """The traced action of a name."""
    return next(kind for kind in subject.program.kinds if kind.action.name == action)


def arguments_of(subject: Theory, chosen: ModelAction) -> dict[str, Any]:
    """The arguments of an action that a model takes."""
    kind = kind_of_action(subject, chosen.action)
    values = iter([bool(x) if v.is_truth else x for x, v in zip(chosen.leaves, kind.variables, strict=True)])
    return {name: _concrete(value, lambda: next(values)) for name, value in kind.arguments.items()}


def _concrete(value: Any, take: Any) -> Any:
    """An argument with its terms replaced."""
    return take() if isinstance(value, Term) else rebuild(value, take)


def step_on_ints(subject: Theory, before: Any, chosen: ModelAction) -> TraceStep:
    """The step of an action on ints; raises EngineDisagreement when it is not enabled there, or leaves the layout."""
    kind, arguments = kind_of_action(subject, chosen.action), arguments_of(subject, chosen)
    if not kind.action.enabled(before, arguments):
        raise EngineDisagreement(f"{chosen.action}({arguments}) is not enabled on ints in {before}")
    outcome = kind.action.outcome(before, arguments)
    try:
        subject.program.layout.values(outcome.state)
    except DomainError as error:
        raise EngineDisagreement(f"{chosen.action}: the step leaves the layout on ints: {error}") from error
    return TraceStep(chosen.action, arguments, subject.program.layout.named(outcome.state), outcome.event)


def run_on_ints(
    subject: Theory, first: Sequence[int], actions: Sequence[ModelAction]
) -> tuple[Any, tuple[TraceStep, ...]]:
    """The state of some leaves, and the steps of actions from there.

    Raises:
        EngineDisagreement: when a step is not enabled on ints, or leaves the layout.
    """
    initial = state = subject.program.layout.state(first)
    steps: list[TraceStep] = []
    for chosen in actions:
        steps.append(step_on_ints(subject, state, chosen))
        state = steps[-1].state
    return initial, tuple(steps)


def trace_on_ints(subject: Theory, claim: Property, first: Sequence[int], actions: Sequence[ModelAction]) -> Trace:
    """The run from a state that breaks a claim at its end.

    Args:
        claim: what fails: of the last state, or of the last step.
        first: leaves of the state it starts in.

    Raises:
        EngineDisagreement: when ints do not agree.
    """
    initial, steps = run_on_ints(subject, first, actions)
    before, state = [initial, initial, *(step.state for step in steps)][-2:]
    subject_judged: Any = state
    if claim.kind == "step" and not steps and claim.initially is None:
        raise EngineDisagreement(f"{claim.id}: a claim about steps fails without a step")
    if claim.kind == "step" and steps:
        subject_judged = Step(before, state, steps[-1].action, steps[-1].arguments, steps[-1].event)
    begins = claim.kind == "step" and not steps
    parts = start_parts(claim, initial) if begins else claim.parts(subject_judged)
    failing = tuple(name for name, part in parts.items() if not part)
    if not failing:
        raise EngineDisagreement(f"{claim.id}: Z3 and ints differ on {subject_judged}")
    return Trace(initial, steps, claim.id, claim.kind, failing)


REACHABLE, UNREACHABLE, NOT_DECIDED = "reachable", "unreachable", "not decided"


@frozen
class Counterexample:
    """A counterexample to induction."""

    step: Trace  # from a state that the invariants allow; its initial state need not be reachable
    reach: str  # REACHABLE, UNREACHABLE or NOT_DECIDED
    where: str  # the space in which the state was looked up, in words
    trace: Trace | None = None  # a run from an initial state to the end of the step, if reachable
    numbers: str = ""  # of a claim about any number the bounds with the few participants that have it; empty of others


def replay_countermodel(subject: Theory, answer: ObligationAnswer, assumed: Sequence[str]) -> Trace:
    """A countermodel as a step on ints.

    Args:
        answer: refuted, with its countermodel.
        assumed: the invariants that were assumed of the state before.

    Raises:
        EngineDisagreement: when ints do not agree that it is one.
    """
    countermodel, obligation = answer.counterexample, answer.obligation
    if countermodel is None:
        raise EngineDisagreement(f"{obligation.claim}, {obligation.action}: refuted without a countermodel")
    if obligation.action == INITIATION:
        if not is_initial(subject.program, countermodel.state):
            raise EngineDisagreement(f"{obligation.claim}: {countermodel.state} is not an initial state on ints")
        return trace_on_ints(subject, subject.claim(obligation.claim), countermodel.state, ())
    before = subject.program.layout.state(countermodel.state)
    for name in assumed:
        if not subject.claim(name).holds(before):
            raise EngineDisagreement(f"{obligation.claim}, {obligation.action}: {name} is false on ints in {before}")
    action = ModelAction(obligation.action, countermodel.arguments)
    return trace_on_ints(subject, subject.claim(obligation.claim), countermodel.state, [action])


def is_initial(program: Program, leaves: tuple[int, ...]) -> bool:
    """Whether a state is initial: among those that are listed, or described on ints."""
    rule = description(given_states(program.system, program.setting)) if program.initially else None
    if rule is None:
        return leaves in program.initial
    return bool(all_of(*rule.holds(program.layout.state(leaves)).values()))


def locate(
    step: Trace, claim: Property, explored: Exploration | None, reason: str = "", numbers: str = ""
) -> Counterexample:
    """A counterexample with its tag.

    Args:
        explored: the search of a scope, its states kept; None where there is none.
        reason: why there is none.
        numbers: see `Counterexample`.
    """
    if explored is None or explored.store is None:
        return Counterexample(step, NOT_DECIDED, reason, numbers=numbers)
    program = explored.program
    where = f"{explored.distinct:,} states" + ("" if numbers else _space(program))
    try:
        packed = program.layout.pack(step.initial)
    except DomainError as error:
        return Counterexample(step, NOT_DECIDED, f"the scope has no such state: {error}", numbers=numbers)
    identity = explored.store.identify(packed)
    if identity is None:
        if explored.cut is not None:
            return Counterexample(step, NOT_DECIDED, f"not among {where}; {explored.cut}", numbers=numbers)
        return Counterexample(step, UNREACHABLE, f"not among all {where}", numbers=numbers)
    if not is_within(program.system, step.initial):
        outside = "outside within=, from where the search did not go on"
        return Counterexample(step, NOT_DECIDED, f"among {where}, {outside}", numbers=numbers)
    first, instances = explored.store.path(identity)
    instances += [_instance(program, step_) for step_ in step.steps]
    trace = confirm(program, claim, explored.store.state(first), instances, None)
    return Counterexample(step, REACHABLE, f"among {where}", trace, numbers)


def _space(program: Program) -> str:
    """The scope that a program is of, or its bounds, where these are not the scope's."""
    scope, setting = program.setting.scope, program.setting
    preset = program.system.scopes.get(scope, {})
    is_preset = all(preset.get(name) == value for name, value in setting.bounds.items())
    return f" of scope {scope}" if is_preset else f" with {setting.text()}"


def reachable_counterexample(run: Trace, explored: Exploration) -> Counterexample:
    """The end of a run that refutes a claim: what is proven holds wherever a run leads, so before its last step too.

    Args:
        run: confirmed on ints; its last step breaks the claim, or its initial state does.
        explored: the search that found it.
    """
    step = evolve(run, initial=run.states[-2:][0], steps=run.steps[-1:])
    where = f"among {explored.distinct:,} states of {explored.program.setting.text()}"
    return Counterexample(step, REACHABLE, where, run)


def _instance(program: Program, step: TraceStep) -> int:
    """The number of the instance that a step takes."""
    for kind in program.kinds:
        if kind.action.name == step.action:
            for position, arguments in enumerate(kind.instances):
                if dict(arguments) == dict(step.arguments):
                    return kind.first + position
    raise EngineDisagreement(f"{step.action}({step.arguments}) is no action instance of the explored scope")


@frozen
class ClaimJudgement:
    """A claim with the outcome of its proof."""

    verdict: PropertyVerdict  # proven claims hold; one that the explorer refutes is refuted; the rest is unknown
    # the counterexample to induction that says most; None where there is none
    counterexample: Counterexample | None = None


@frozen
class SearchEvidence:
    """The search that decides whether a counterexample is reachable."""

    explored: Exploration | None = None  # the search of the scope, states kept; None where there is none
    reason: str = "nothing was explored"  # why there is none
    # searches of further scopes, where the claims are of any number of brokers; the smallest first
    others: tuple[Exploration, ...] = ()
    # by claim about any number of brokers, a counterexample to induction with few
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
        """The extent of the search, for a claim without a reached case."""
        if not self.searches:
            return self.reason
        return "; ".join(one.cut or f"{sized(one)} have none" for one in self.searches)

    def vacuous(self, claim: str) -> Vacuous | None:
        """That the search of the scope reached nothing of what a claim is about; None where it did, or is not whole.

        A search lets claims that come with kraftcheck hold of nothing (`Program.lenient`); a proof does not.
        """
        if (one := self.explored) is None:
            return None
        found = [v.verdict for v in one.verdicts if v.claim == claim]
        if one.cut is None and claim in one.program.lenient and not self.reaches(claim):
            premise = one.program.premises[claim]
            return Vacuous(premise.goal, premise.reason)
        return next((verdict for verdict in found if isinstance(verdict, Vacuous)), None)

    def refutation(self, claim: str) -> tuple[Refuted, Exploration] | None:
        """The first search that refutes a claim, if any, and how: its trace is the shortest there."""
        for search in self.searches:
            for verdict in search.verdicts:
                if verdict.claim == claim and isinstance(verdict.verdict, Refuted):
                    return verdict.verdict, search
        return None


def sized(one: Exploration) -> str:
    """How many states a search has, and with which bounds."""
    bounds = one.program.setting.text()
    return f"{one.distinct:,} states" + (f" with {bounds}" if bounds else "")


def unshown(program: Program, claim: Property, evidence: SearchEvidence, is_lemma: bool = False) -> Verdict | None:
    """The verdict on a proven claim of which no run shows a case: vacuous, unknown where one may; None where one does.

    That a premise is consistent with what is proven does not say that a run reaches it, so no solver is asked.

    Args:
        program: the system as provers take it.
        evidence: the search for such a run.
        is_lemma: whether it serves other claims, and may say what the domains say.
    """
    if claim.case and not evidence.shows(claim.case):
        return Unknown(f"proven, but no run shows {claim.case}")
    if is_lemma:
        return None
    if claim.kind == "step" and claim.id not in program.starts and (none := _of_no_step(program, claim, evidence)):
        return none
    vacuous = evidence.vacuous(claim.id)
    premise = program.premises.get(claim.id)
    if vacuous is not None or premise is None or evidence.reaches(claim.id):
        return vacuous
    if premise.reason in EMPTY:
        return Vacuous(claim.id, premise.reason)
    about = "step" if claim.kind == "step" else "state"
    return Unknown(f"proven, but no run shows a {about} that satisfies its premise ({evidence.extent()})")


def must_show_a_step(program: Program) -> bool:
    """Whether only a search tells that a step is taken: initial states are described, or bounds are any."""
    return bool(program.initially) or None in program.setting.values().values()


def _of_no_step(program: Program, claim: Property, evidence: SearchEvidence) -> Verdict | None:
    """What a proven claim about steps is where no step within the domains is known; None where one is."""
    if any(sum(one.fired.values()) for one in evidence.searches):
        return None
    whole = evidence.explored is not None and evidence.explored.cut is None
    if must_show_a_step(program) and not whole:
        return Unknown(f"proven, but no run shows a step ({evidence.extent()})")
    return None if not whole and _takes_a_step(program) else Vacuous(claim.id, NO_STEPS)


def _takes_a_step(program: Program) -> bool:
    """Whether a listed initial state has a step within the domains."""
    engine = Integers(program.system, program.setting)
    steps = (engine.take(state, move).step for state in engine.initial for move in engine.enabled(state))
    return any(engine.field_outside(step.after) is None for step in steps)


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
        if missing is None and not evidence.searches and not proof.begins():
            missing = Unknown(f"proven, but no state is known to be initial ({evidence.extent()})")
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
