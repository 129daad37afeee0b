"""Claims about some states only: where no state is a case of one, it is vacuous and does not hold."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, evolve

from kraftcheck.model.language.collections import has_bit
from kraftcheck.model.language.layout import Domain, Endless, Layout, leaves
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Property, Setting, Step
from kraftcheck.model.language.terms import MASK_BITS, TRUTH_OPERATORS, WORD_OPERATORS, Graph, Term, Truth, lower
from kraftcheck.solvers.program.evaluation import closure, evaluator
from kraftcheck.solvers.program.parts import SystemFault, free_arguments
from kraftcheck.solvers.program.program import Premise, Program
from kraftcheck.solvers.program.starts import WIDEST, Pair, TooWideError, Values, bounds_of
from kraftcheck.solvers.program.symbols import in_domain, state_symbols
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, PropertyVerdict, Truths, Unknown, Vacuous, Verdict

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
    """
    shown = {one.claim for one in verdicts if isinstance(one.verdict, Holds)}
    return frozenset(claim for claim, premise in program.premises.items() if premise.goal in shown)


def lenient_warnings(verdicts: Sequence[PropertyVerdict], program: Program) -> Iterator[str]:
    """A warning for each property that holds by leniency (`Program.lenient`).

    Args:
        verdicts: of the claims and of all goals, the hidden ones too.
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


BOXES = 1 << 12  # boxes at once, at most; a truth that takes more is not decided
POINTS = 1 << 9  # points that are drawn: most truths that are not valid are false of some


def without_content(program: Program, kept: frozenset[str]) -> frozenset[str]:
    """Ids of the properties that hold of every state, or of every step, that the domains allow; goals of states too.

    A claim about steps is asked of any two states: what the rules make true of steps is a claim about the rules.

    Args:
        kept: ids of claims that are not asked.
    """
    states = zip((*program.always, *program.sometimes), (*program.always_terms, *program.sometimes_terms), strict=True)
    found = {claim.id for claim, truth in states if claim.id not in kept and is_valid(truth)}
    left = [(n, claim) for n, claim in enumerate(program.steps) if claim.id not in kept and claim.initially is None]
    for kind in program.kinds:
        if left and (kind.instances or not program.layout.packed):
            of_any = _of_any_step(kind.action, program.layout)
            left = [(n, claim) for n, claim in left if _is_true(of_any, claim) and is_valid(kind.steps[n])]
    return frozenset(found | {claim.id for _, claim in left})


def _is_true(of_any: Callable[[Property], Term], claim: Property) -> bool:
    """Whether a claim is true of any step; one that can be asked of steps of the rules alone is about these."""
    try:
        return is_valid(of_any(claim))
    except SystemFault:
        return False


def _of_any_step(action: Action, layout: Layout) -> Callable[[Property], Term]:
    """What a claim about steps says of any two states of the domains and any arguments of an action."""
    truths = Truths(Graph(), ask_twice=False)
    if any(isinstance(slot.domain, Endless) for slot in layout.slots):
        return lambda _: truths.graph.constant(False)
    (_, before), (_, after) = (state_symbols(truths.graph, layout) for _ in range(2))
    arguments = free_arguments(action, truths.graph).arguments
    if action.parameters and not arguments:  # a parameter without values: it never happens
        return lambda _: truths.graph.constant(True)
    step = Step(before, after, action.name, arguments, action.outcome(before, arguments).event)
    return lambda claim: truths.claim(claim, step)


def is_valid(truth: Term) -> bool:
    """Whether a truth is known to be true, whatever its variables are worth."""
    if truth.op == "const":
        return bool(truth.value)
    nodes = closure([truth])
    variables = [node for node in nodes if node.op == "var"]
    if not variables or any(max(-node.lo, node.hi) >= WIDEST for node in nodes):
        return False
    low = np.array([[node.lo for node in variables]], dtype=np.int64)
    high = np.array([[node.hi for node in variables]], dtype=np.int64)
    try:
        return _holds_everywhere(truth, nodes, variables, low, high)
    except (TooWideError, ValueError):  # a word beyond 64 bits, an operator without intervals: not decided
        return False


def _holds_everywhere(
    truth: Term, nodes: Sequence[Term], variables: Sequence[Term], low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> bool:  # fmt: skip
    """Draw points, then halve the boxes, a row each, until all are decided; False also where they become too many."""
    drawn = np.random.default_rng(0).integers(low[0], high[0], size=(POINTS, len(variables)), endpoint=True)
    if not _judged(truth, nodes, variables, drawn, drawn)[0].all():
        return False
    while len(low) <= BOXES:
        must, may = _judged(truth, nodes, variables, low, high)
        if not may.all() or not _judged(truth, nodes, variables, low, low)[0].all():
            return False
        low, high = low[~must], high[~must]
        if not len(low):
            return True
        rows, widest = np.arange(len(low)), np.argmax(high - low, axis=1)
        middle = low[rows, widest] + (high[rows, widest] - low[rows, widest]) // 2
        below, above = high.copy(), low.copy()
        below[rows, widest], above[rows, widest] = middle, middle + 1
        low, high = np.concatenate([low, above]), np.concatenate([below, high])
    return False


def _judged(
    truth: Term, nodes: Sequence[Term], variables: Sequence[Term], low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:  # fmt: skip
    """Of each box whether the truth must hold in it, and whether it may."""
    pairs = {
        node.index: (low[:, at].astype(bool), high[:, at].astype(bool)) if node.is_truth else (low[:, at], high[:, at])
        for at, node in enumerate(variables)
    }
    must, may = bounds_of(nodes, pairs)[truth.index]
    return np.broadcast_to(must, len(low)), np.broadcast_to(may, len(low))


COMPUTED = TRUTH_OPERATORS | WORD_OPERATORS | {"const", "ite"}
"""Operators whose value follows from those of their operands."""

MOST_ROWS, MOST_VALUES = 1 << 16, 1 << 8
"""Most values, of all words together that a doubt reads and of one of them, that are gone through."""


def check_program(program: Program) -> None:
    """Refuse a system whose claims, guards or effects read a collection where it may have lost something.

    Raises:
        UntraceableRule: naming the line of the operation.
    """
    if not program.graph.notes.doubts:
        return
    live = (*program.liveness.terms, *(term for one in program.recovers for term in (one.when, one.goal)))
    of_state = (*program.always_terms, *program.sometimes_terms, program.quiescent, *live, *program.starts.values())
    check_settled((*of_state, *program.initially.values(), *(() if program.within is None else (program.within,))))
    for kind in program.kinds:
        enabled = functools.reduce(_both, kind.guard.values(), program.graph.constant(True))
        check_settled([enabled])
        words = [(a, slot.domain) for a, slot in zip(kind.after, program.layout.slots, strict=True) if not a.is_truth]
        within = [truth(*word) for word in words for truth in (in_domain, _without_mark)]
        check_settled((*kind.after, *kind.steps, *kind.says), [enabled, *within])


def _without_mark(word: Term, domain: Domain) -> Term:
    """Of a mask in its domain the truth that it has not the bit above, which marks what was lost."""
    is_mask = domain.lo == 0 and domain.hi < 1 << MASK_BITS and domain.hi & (domain.hi + 1) == 0
    marked = is_mask and has_bit(lower(word), domain.hi.bit_length())
    return word.graph.lift(word.graph.negate(marked))


def _both(one: Term, other: Term) -> Term:
    return one.graph.lift(one.graph.apply("and", one, other))


def check_settled(terms: Iterable[Term], premises: Sequence[Term] = ()) -> None:
    """Refuse terms that read a collection where it may have lost something.

    Args:
        terms: what a rule answered.
        premises: truths without which nobody asks: of an effect its guard, and that the state is in its domains.

    Raises:
        UntraceableRule: naming the line of the operation.
    """
    for term in terms:
        doubts = term.graph.notes.doubts
        read = [one for one in closure([term]) if one.index in doubts] if doubts else []
        if read and not _is_always(_right(term.graph, term), premises):
            mend = "ask first whether it fits: choose() between it and what is true otherwise"
            raise UntraceableRule(f"{doubts[read[-1].index][1]}, and is read; {mend}")


def _right(graph: Graph, term: Term) -> Truth:
    """The truth that nothing is read of a collection that has lost something."""
    known: dict[int, Term] = {}
    for one in closure([term]):
        parts = [known[arg.index] for arg in one.args]
        whole = functools.reduce(_both, parts, graph.constant(True))
        if one.op in ("and", "or"):
            for arg, part in zip(one.args, parts, strict=True):
                alone = graph.lift(graph.negate(arg)) if one.op == "and" else arg
                whole = graph.lift(graph.apply("or", whole, _both(part, alone)))
        elif one.op == "ite":
            whole = _both(parts[0], graph.lift(graph.ite(one.args[0], *parts[1:])))
        if one.index in graph.notes.doubts:
            whole = _both(whole, graph.notes.doubts[one.index][0])
        known[one.index] = whole
    right: Truth = lower(known[term.index])
    return right


def _is_always(right: Truth, premises: Sequence[Term]) -> bool:
    """Whether a truth holds of all values of the words that it reads of which the premises hold."""
    if not isinstance(right, Term):
        return right
    chosen_by = {one.args[0].index for one in closure([right, *premises]) if one.op == "ite"}
    read, near = _inputs([right], chosen_by), list[Term]()
    for one in premises:  # to leave one out is to ask for more
        more = read | _inputs([one], chosen_by)
        if read.keys() & _inputs([one], chosen_by).keys() and _combinations(more) <= MOST_ROWS:
            read, near = more, [*near, one]
    if _combinations(read) > MOST_ROWS:
        return False
    grid = np.indices([one.hi - one.lo + 1 for one in read.values()]).reshape(len(read), -1)
    given = {index: _column(one, row) for (index, one), row in zip(read.items(), grid, strict=True)}
    pairs = bounds_of(closure([right, *near], given), given)
    wrong: Values = ~pairs[right.index][0]
    for one in near:
        wrong = wrong & pairs[one.index][1]
    return not wrong.any()


def _combinations(words: Mapping[int, Term]) -> int:
    return math.prod(one.hi - one.lo + 1 for one in words.values())


def _column(word: Term, row: Values) -> Pair:
    values = row.astype(np.bool_) if word.is_truth else (row + word.lo).astype(np.int64)
    return values, values


def _inputs(terms: Sequence[Term], chosen_by: Container[int]) -> dict[int, Term]:
    """The words of few values that terms read, and the truths about other words: whatever these are, they may hold.

    Args:
        chosen_by: the conditions of choices; one about words of many values is taken as a whole.
    """
    large, wide = set[int](), set[int]()
    for one in closure(terms):
        small = one.op in COMPUTED or (one.op == "var" and one.hi - one.lo < MOST_VALUES)
        if not one.is_truth and (not small or any(arg.index in large for arg in one.args)):
            large.add(one.index)
        if one.index in large or any(arg.index in wide for arg in one.args):
            wide.add(one.index)
    found, pending, seen = dict[int, Term](), list(terms), set[int]()
    while pending:
        one = pending.pop()
        if one.index in seen:
            continue
        seen.add(one.index)
        whole = one.is_truth and one.index in wide and one.index in chosen_by
        if whole or one.op not in COMPUTED or any(arg.index in large for arg in one.args):
            found[one.index] = one
        else:
            pending += one.args
    return found
