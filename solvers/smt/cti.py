"""Counterexamples to induction: replayed on ints, and looked up among the reachable states.

A countermodel is a state that the invariants allow and a step after which a
claim fails. It refutes the claim only if the state is reachable.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.pruning import is_within
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.smt.countermodels import ModelAction, trace_on_ints
from kraftcheck.solvers.smt.queries import INITIATION, ObligationAnswer
from kraftcheck.solvers.smt.theory import Theory

REACHABLE, UNREACHABLE, NOT_DECIDED = "reachable", "unreachable", "not decided"


@frozen
class Counterexample:
    """A counterexample to induction.

    Attributes:
        step: from a state that the invariants allow; its initial state need not be reachable.
        reach: REACHABLE, UNREACHABLE or NOT_DECIDED.
        where: the space in which the state was looked up, in words.
        trace: a run from an initial state to the end of the step, if reachable.
        numbers: of a claim about any number the bounds with the few participants that have it; empty of others.
    """

    step: Trace
    reach: str
    where: str
    trace: Trace | None = None
    numbers: str = ""


def replay_countermodel(subject: Theory, answer: ObligationAnswer, assumed: Sequence[str]) -> Trace:
    """A countermodel as a step on ints.

    Args:
        subject: the theory.
        answer: refuted, with its countermodel.
        assumed: the invariants that were assumed of the state before.

    Raises:
        EngineDisagreement: when ints do not agree that it is one.
    """
    countermodel, obligation = answer.counterexample, answer.obligation
    if countermodel is None:
        raise EngineDisagreement(f"{obligation.claim}, {obligation.action}: refuted without a countermodel")
    if obligation.action == INITIATION:
        if not _is_initial(subject.program, countermodel.state):
            raise EngineDisagreement(f"{obligation.claim}: {countermodel.state} is not an initial state on ints")
        return trace_on_ints(subject, subject.claim(obligation.claim), countermodel.state, ())
    before = subject.program.layout.state(countermodel.state)
    for name in assumed:
        if not subject.claim(name).holds(before):
            raise EngineDisagreement(f"{obligation.claim}, {obligation.action}: {name} is false on ints in {before}")
    action = ModelAction(obligation.action, countermodel.arguments)
    return trace_on_ints(subject, subject.claim(obligation.claim), countermodel.state, [action])


def _is_initial(program: Program, leaves: tuple[int, ...]) -> bool:
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
        step: the replayed step.
        claim: what it breaks.
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


