"""Claims about some states only: where no state is a case of one, it is vacuous and does not hold."""

from __future__ import annotations

import functools
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, evolve

from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.evaluation import evaluator
from kraftcheck.solvers.program.program import Premise, Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, PropertyVerdict, Unknown, Vacuous, Verdict

NO_STATE = "no reachable state satisfies its premise, so it says nothing of any"
NO_STEPS = "no step is taken, so it says nothing of any"
NO_STEP = "no step that happens satisfies its premise, so it says nothing of any"
SHIPPED = ("kraftcheck.properties.", "kraftcheck.model.systems.")
"""Where the claims are written that come with kraftcheck."""

NO_CONTENT = "every state that the domains allow satisfies it, so it checks nothing"
NO_CONTENT_OF_STEPS = "every step that the domains allow satisfies it, so it checks nothing"
NO_CONTENT_OF_GOALS = "every state that the domains allow satisfies it, so it shows nothing"
EMPTY = (NO_CONTENT, NO_CONTENT_OF_STEPS, NO_CONTENT_OF_GOALS)
"""What is said of claims that no state or step could break: no search need look for one that they speak of."""


def premises_of(program: Program, says: Sequence[Term], empty: Container[str]) -> dict[str, Premise]:
    """The properties that say something of some states or steps only, by id, without a goal; arguments as below."""
    found = {
        claim.id: Premise("", NO_CONTENT if term.op == "const" else NO_STATE)
        for claim, term in zip(program.always, says, strict=True) if term.op != "const" or not term.value
    }  # fmt: skip
    found |= {claim.id: Premise("", NO_STEP) for claim in _of_some_steps(program).values()}
    found |= {claim.id: Premise("", NO_CONTENT) for claim in program.always if claim.id in empty}
    found |= {claim.id: Premise("", NO_CONTENT_OF_GOALS) for claim in program.sometimes if claim.id in empty}
    return found | {claim.id: Premise("", NO_CONTENT_OF_STEPS) for claim in program.steps if claim.id in empty}


def with_premises(program: Program, says: Sequence[Term], empty: Container[str]) -> Program:
    """The program with a hidden goal for each property that says something of some states or steps only.

    Args:
        program: without such goals.
        says: for each `always` property the truth that it says something of the state.
        empty: ids of the properties that say nothing, see `content`; no goal shows them.
    """
    steps = {number: claim for number, claim in _of_some_steps(program).items() if claim.id not in empty}
    spoken = ((claim, term) for claim, term in zip(program.always, says, strict=True) if claim.id not in empty)
    state = _StateValues(program)
    states = {claim.id: (_state_goal(claim, state, term), term) for claim, term in spoken if term.op != "const"}
    happens = {claim.id: _step_goal(claim, state, program, number) for number, claim in steps.items()}
    goals = {**{id_: goal for id_, (goal, _) in states.items()}, **happens}
    premises = {
        id_: evolve(premise, goal=goals[id_].id) if id_ in goals else premise
        for id_, premise in premises_of(program, says, empty).items()
    }
    graph = program.graph
    judged = (
        evolve(kind, steps=(*kind.steps, *(graph.lift(graph.negate(kind.says[number])) for number in steps)))
        for kind in program.kinds
    )
    return evolve(
        program, kinds=tuple(judged), sometimes=(*program.sometimes, *(goal for goal, _ in states.values())),
        happens=(*program.happens, *happens.values()),
        sometimes_terms=(*program.sometimes_terms, *(term for _, term in states.values())), premises=premises,
        lenient=lenient(program),
    )  # fmt: skip


def lenient(program: Program) -> frozenset[str]:
    """Ids of the claims that come with kraftcheck: other scopes and rule sets show what they speak of."""
    return frozenset(one.id for one in (*program.always, *program.steps) if _is_shipped(one.predicate))


def _is_shipped(rule: Any) -> bool:
    """Whether a rule is of a module of kraftcheck; what `eval` makes may have none, or say that it is of one."""
    module = getattr(rule, "__module__", None) or ""
    names = getattr(rule, "__globals__", None)
    return module.startswith(SHIPPED) and (names is None or names is vars(sys.modules.get(module, sys)))


def _of_some_steps(program: Program) -> dict[int, Property]:
    """The step properties, by number, that do not say something of every step; not those that the rules make true."""
    found = {}
    for number, claim in enumerate(program.steps):
        kinds = [kind for kind in program.kinds if kind.instances or not program.layout.packed]
        by_rule = all(kind.steps[number].op == "const" for kind in kinds)
        if not by_rule and not all(kind.says[number].op == "const" and kind.says[number].value for kind in kinds):
            found[number] = claim
    return found


def _goal(claim: Property, kind: str, predicate: Any) -> Property:
    return Property(f"premise of {claim.id}", kind, f"{claim.id} says something", predicate, claim.source)


def _state_goal(claim: Property, state: _StateValues, term: Term) -> Property:
    """The goal as a predicate of states on ints, by the term's definition."""
    value = functools.cache(lambda: evaluator(term))
    return _goal(claim, "sometimes", lambda subject: bool(value()(state.of(subject))))


def _step_goal(claim: Property, state: _StateValues, program: Program, number: int) -> Property:
    """The goal as a predicate of steps on ints, by the term of the step's action."""
    kinds = {kind.action.name: kind for kind in program.kinds}
    value = functools.cache(lambda action: evaluator(kinds[action].says[number]))

    def shows(step: Step) -> bool:
        arguments = [int(value) for _, value in leaves(tuple(step.arguments.values()))]
        variables = (variable.index for variable in kinds[step.action].variables)
        return bool(value(step.action)({**state.of(step.before), **dict(zip(variables, arguments, strict=True))}))

    return _goal(claim, "happens", shows)


@define
class _StateValues:
    """The variables of a state on ints; those of the state that was asked for last are kept: many goals ask in turn."""

    program: Program
    _last: tuple[Any, dict[int, int]] | None = None

    def of(self, subject: Any) -> dict[int, int]:
        """Value of each variable by its index."""
        if self._last is None or self._last[0] is not subject:
            values = self.program.layout.values(subject)
            pairs = zip(self.program.state, values, strict=True)
            self._last = subject, {variable.index: int(value) for variable, value in pairs}
        return self._last[1]


def without_premises(program: Program) -> Program:
    """The program without hidden goals, for what follows no premise, and for other tools."""
    states = len(program.sometimes) - sum(one.kind == "sometimes" for one in hidden_goals(program))
    happens = len(program.happens) - sum(one.kind == "happens" for one in hidden_goals(program))
    steps = len(program.steps) + happens
    return evolve(
        program, kinds=tuple(evolve(kind, steps=kind.steps[:steps]) for kind in program.kinds),
        sometimes=program.sometimes[:states], happens=program.happens[:happens],
        sometimes_terms=program.sometimes_terms[:states],
        premises={id_: premise for id_, premise in program.premises.items() if premise.reason in EMPTY},
    )  # fmt: skip


def hidden_goals(program: Program) -> tuple[Property, ...]:
    """The goals that show premises."""
    names = {premise.goal for premise in program.premises.values()}
    return tuple(goal for goal in (*program.sometimes, *program.happens) if goal.id in names)


NO_PROPERTIES = "the system has no properties, so nothing else is checked"


def deadlock_alone(setting: Setting) -> tuple[Property, ...]:
    """No properties, on purpose: what a system is given of which only deadlock is to be judged."""
    return ()


def checks_nothing(program: Program) -> dict[str, str]:
    """The properties that no state and no step could break, by id, with the reason; deadlock where there are none."""
    if not program.claims and program.system.properties is not deadlock_alone:
        return {DEADLOCK: NO_PROPERTIES}
    strict = {id_: one.reason for id_, one in program.premises.items() if id_ not in program.lenient}
    return {id_: reason for id_, reason in strict.items() if reason in EMPTY}


def vacuous_without_case(verdicts: Sequence[PropertyVerdict], program: Program, stepped: bool) -> list[PropertyVerdict]:
    """The verdicts without those of hidden goals, where what would hold is vacuous if nothing shows a case of it.

    A case is the goal that a claim names (`Property.case`), or a state or step that satisfies a premise of it
    (`Program.premises`), or any step at all, of which there is one where it has `stepped`. A claim whose goal was not
    judged is unknown.
    """
    goals = {one.claim: one.verdict for one in verdicts if one.kind in ("sometimes", "happens")}
    cases = {claim.id: claim.case for claim in program.claims if claim.case}
    hidden = {premise.goal for premise in program.premises.values()}
    starts = program.starts

    def judged(one: PropertyVerdict) -> PropertyVerdict:
        if not isinstance(one.verdict, Holds):
            return one
        if one.claim in cases:
            verdict = _of_case(one.verdict, cases[one.claim], goals)
            if verdict is not one.verdict:
                return evolve(one, verdict=verdict)
        if one.kind == "step" and not stepped and one.claim not in starts:
            return evolve(one, verdict=Vacuous("", NO_STEPS))
        premise = program.premises.get(one.claim)
        if premise is None or one.claim in program.lenient or isinstance(goals.get(premise.goal), Holds):
            return one
        return evolve(one, verdict=Vacuous(premise.goal, premise.reason))

    return [judged(one) for one in verdicts if one.claim not in hidden]


def premises_shown(verdicts: Sequence[PropertyVerdict], program: Program) -> frozenset[str]:
    """Ids of the properties of whose premises a state or step was reached, also by a search that was cut.

    Args:
        verdicts: of all goals, the hidden ones too.
        program: what was explored.
    """
    shown = {one.claim for one in verdicts if isinstance(one.verdict, Holds)}
    return frozenset(claim for claim, premise in program.premises.items() if premise.goal in shown)


def lenient_warnings(verdicts: Sequence[PropertyVerdict], program: Program) -> Iterator[str]:
    """A warning for each property that holds by leniency (`Program.lenient`).

    Args:
        verdicts: of the claims and of all goals, the hidden ones too.
        program: what was explored.
    """
    holding = {one.claim for one in verdicts if isinstance(one.verdict, Holds)}
    shown = premises_shown(verdicts, program)
    for claim, premise in program.premises.items():
        if claim in program.lenient and claim in holding and claim not in shown:
            yield f"{claim} holds of nothing here: {premise.reason}"


def _of_case(holds: Verdict, case: str, goals: Mapping[str, Verdict]) -> Verdict:
    if isinstance(goals.get(case), Holds):
        return holds
    if isinstance(goals.get(case), Vacuous):
        return Vacuous(case, f"nothing reachable shows {case}")
    return Unknown(f"no goal {case!r} was judged, so nothing shows a case of it")
