"""Verdicts: the answers of an engine about a property. Only `Holds` is a pass.

A verdict is one of five classes, never a bare bool. Exit codes follow TLC
where TLC has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from attrs import field, frozen

from kraftcheck.model.language.symbolic import brief, is_record
from kraftcheck.model.language.system import LIVENESS, UNNAMED, Action, Outcome, Property, conjuncts
from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.solvers.program.evaluation import conjuncts as parts_of
from kraftcheck.solvers.program.parts import Given, SystemFault, ask, ask_twice, line_of

DEADLOCK = "deadlock"  # id of the built-in property that a state without successors is quiescent
RUN = "run"  # what a trace is about that is no witness: a run that somebody took


@frozen
class TraceStep:
    """One step of a trace.

    Attributes:
        state: the state it led to.
        event: what the effect reported besides the state.
    """

    action: str
    arguments: Mapping[str, Any]
    state: Any
    event: Any = None


@frozen
class Closure:
    """The states that can follow a state that never recovers, by the rules on ints."""

    states: int  # how many of the states that can follow (itself included) were checked; none satisfies the claim
    complete: bool  # whether those are all
    actions: str = ""  # the actions that may follow, in words; empty: every action


@frozen
class FairnessShown:
    """How the cycle of a lasso satisfies a fairness constraint."""

    name: str  # the constraint, as `WF(elect)`
    taken: tuple[int, ...]  # numbers of the steps of the trace that are steps of it
    disabled: tuple[int, ...]  # numbers of the states of the cycle where its steps are not enabled, or are excused
    always: bool  # whether those are all states of the cycle


@frozen
class Loop:
    """The cycle at the end of a lasso, which is repeated for ever.

    Attributes:
        start: number of the state where it begins; the last state of the trace is this one again. The number of the
            last state itself: the behaviour stays there.
        fairness: how it satisfies each constraint.
    """

    start: int
    fairness: tuple[FairnessShown, ...]


@frozen
class Trace:
    """A witness: a run of the system, confirmed on ints.

    Attributes:
        initial: the state it starts in.
        claim: id of the property it is about.
        kind: `always`, `step`, `sometimes`, `happens`, `recovers`, `deadlock`, `run`, or one of `LIVENESS`.
        failing: names of the conjuncts that fail at its end (none for goals and `deadlock`).
        closure: for `recovers`, what can follow its end.
        loop: for liveness, what is repeated for ever.
    """

    initial: Any
    steps: tuple[TraceStep, ...]
    claim: str
    kind: str
    failing: tuple[str, ...] = ()
    closure: Closure | None = None
    loop: Loop | None = None

    @property
    def states(self) -> tuple[Any, ...]:
        """All states, the initial one first."""
        return (self.initial, *(step.state for step in self.steps))


@frozen
class Holds:
    """The property holds, of what the bound says; goals have a witness, `recovers` counts its cases."""

    bound: str
    witness: Trace | None = None
    cases: int | None = None


@frozen
class Refuted:
    """The property is broken, as the trace shows."""

    trace: Trace


@frozen
class Incomplete:
    """No counterexample was found, but the search is not complete."""

    cut: str


@frozen
class Unknown:
    """The engine could not decide."""

    reason: str


@frozen
class Vacuous:
    """A goal that had to be reached is not reachable, or a claim has no case."""

    goal: str
    reason: str = "no reachable case shows it"


Verdict: TypeAlias = Holds | Refuted | Incomplete | Unknown | Vacuous

EXIT_HOLDS = 0
EXIT_DEADLOCK = 11
EXIT_SAFETY = 12
EXIT_LIVENESS = 13
EXIT_INCOMPLETE = 20
EXIT_VACUOUS = 21
EXIT_UNKNOWN = 22

_REFUTED = {"deadlock": EXIT_DEADLOCK, "recovers": EXIT_LIVENESS, **dict.fromkeys(LIVENESS, EXIT_LIVENESS)}
_WORST_FIRST = (EXIT_SAFETY, EXIT_DEADLOCK, EXIT_LIVENESS, EXIT_INCOMPLETE, EXIT_UNKNOWN, EXIT_VACUOUS)


def exit_code(verdict: Verdict) -> int:
    """The exit code of one verdict."""
    match verdict:
        case Holds():
            return EXIT_HOLDS
        case Refuted(trace):
            return _REFUTED.get(trace.kind, EXIT_SAFETY)
        case Incomplete():
            return EXIT_INCOMPLETE
        case Unknown():
            return EXIT_UNKNOWN
        case Vacuous():
            return EXIT_VACUOUS


def worst_exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of several verdicts: refuted beats incomplete beats unknown beats vacuous beats holds."""
    return worst_first(exit_code(verdict) for verdict in verdicts)


def worst_first(codes: Iterable[int]) -> int:
    """The worst of several exit codes; a code of the command line's own comes last before 0."""
    seen = set(codes)
    ranked = [code for code in _WORST_FIRST if code in seen]
    return ranked[0] if ranked else max(seen, default=EXIT_HOLDS)


@frozen
class PropertyVerdict:
    """A property and what was found about it."""

    claim: str
    kind: str  # `always`, `step`, `sometimes`, `happens`, `recovers`, `deadlock` or one of `LIVENESS`
    verdict: Verdict
    depth: int | None = None  # steps of the witness or counterexample, if any


T = TypeVar("T")


def start_parts(claim: Property, state: Any) -> dict[str, Truth]:
    """The claims of a property about an initial state, by name; none where it has none."""
    return {} if claim.initially is None else conjuncts(claim.initially(state), "initially")


@frozen
class Truths:
    """Asks rules, and reads their answers."""

    graph: Graph
    ask_twice: bool  # whether each rule has to give its answer twice; a graph that mutates rules answers once
    # the actions by name as the system gave them when it was asked again, which are asked the second time
    anew: Mapping[str, Action] = field(factory=dict)
    _given: Given = field(init=False, factory=Given)

    def answer(
        self, what: str, question: Callable[[], T], rule: Callable[..., Any] | None = None,
        anew: Callable[[], T] | None = None, given: Any = (),
    ) -> T:  # fmt: skip
        """The answer of a rule; what the rule raises is reported as its fault, and what it changes of what is given."""
        if not self.ask_twice:
            return ask(what, question, rule)
        return self._given.unchanged_by(what, given, lambda: ask_twice(what, question, rule, anew), rule)

    def outcome(self, action: Action, state: Any, arguments: Mapping[str, Any]) -> Outcome:
        """The outcome of a step of an action."""
        again = self.anew.get(action.name, action)
        return self.answer(
            f"action {action.name}, effect", lambda: action.outcome(state, arguments), action.effect,
            lambda: again.outcome(state, arguments), state,
        )  # fmt: skip

    def guard(self, action: Action, state: Any, arguments: Mapping[str, Any]) -> dict[str, Term]:
        """The named conjuncts of an action's guard."""
        what, again = f"action {action.name}, guard", self.anew.get(action.name, action)
        parts = self.answer(
            what, lambda: action.guards(state, arguments), action.guard, lambda: again.guards(state, arguments), state
        )
        return {
            name: self.truth(what if name == UNNAMED else f"{what} {name}", part, action.guard)
            for name, part in parts.items()
        }

    def claim(self, claim: Property, subject: Any) -> Term:
        """The truth of a property."""
        return self._conjunction(f"property {claim.id}", lambda: claim.parts(subject), claim.predicate, subject)

    def content(self, claim: Property, subject: Any) -> tuple[Term, Term]:
        """The truth of a property, and the truth that it says something of the subject.

        A rule may be such that a claim about its steps is true whatever they are. It says something nonetheless
        wherever a premise holds.
        """
        self.graph.implications.clear()
        truth = self.claim(claim, subject)
        self.graph.implications.negations.clear()  # what is said below of the claim is no claim
        if claim.kind == "step" and truth.op == "const":
            says = any_of(*(all_of(*premises) for premises in self.graph.implications.trivial))
        else:
            says = says_something(self.graph, truth)
        return truth, self.graph.lift(says)

    def start(self, claim: Property, state: Any) -> Term:
        """The claim of a property about initial states."""
        return self._conjunction(f"property {claim.id}, initially", lambda: start_parts(claim, state), claim.predicate,
                                 state)  # fmt: skip

    def _conjunction(
        self, what: str, question: Callable[[], Mapping[str, Truth]], rule: Callable[..., Any], given: Any
    ) -> Term:
        result = self.graph.constant(True)
        for name, part in self.answer(what, question, rule, given=given).items():
            result = self.graph.lift(self.graph.apply("and", result, self.truth(f"{what} ({name})", part, rule)))
        return result

    def truth_of(self, what: str, question: Callable[[], Truth]) -> Term:
        """The truth that a rule answers."""
        return self.truth(what, self.answer(what, question))

    def truth(self, what: str, value: Any, rule: Callable[..., Any] | None = None) -> Term:
        """An answer that has to be a truth; raises SystemFault when it is none."""
        if isinstance(value, bool):  # of a term it says so where the term is a truth
            return self.graph.lift(value)
        mend = "return one" if value is None else "return a comparison, or all_of() of some"
        if what.startswith("action ") and is_record(value):
            mend += "; Action() takes the effect before the guard"
        raise SystemFault(f"{what} gave {brief(value)}, not a truth; {mend}{line_of(rule)}")


def says_something(graph: Graph, truth: Term) -> Truth:
    """The truth that a claim says something of a state: some conjunct is no implication, or has a premise that holds.

    `implies(premise, conclusion)` says something of a state that satisfies the premise, and so does
    `any_of(negate(premise), conclusion)`. A claim all of whose conjuncts are implications says nothing where no premise
    holds; where that is so in every reachable state, it checks nothing.

    Args:
        graph: which noted the implications of this claim.
        truth: the claim. A constant claim says nothing.
    """
    return any_of(*(_of_conjunct(graph, part) for part in parts_of([truth])))


def _of_conjunct(graph: Graph, part: Term) -> Truth:
    noted = graph.implications.parts.get(part.index)
    if noted is None:
        return True
    return any_of(*(all_of(*premises, *_of_conclusion(graph, conclusion)) for premises, conclusion in noted))


def _of_conclusion(graph: Graph, conclusion: Sequence[Truth]) -> tuple[Truth, ...]:
    """That a conclusion says something; of several, none is asked: they are no implication."""
    return tuple(says_something(graph, graph.lift(one)) for one in conclusion) if len(conclusion) == 1 else ()


Mark_contra = TypeVar("Mark_contra", contravariant=True)
"""What an engine notes of an occurrence: one of its own numbers for a state, and the action instance."""


@frozen
class PackedRun:
    """The run by which a state is reached."""

    initial: tuple[int, ...]  # packed initial state
    instances: tuple[int, ...]  # action instances from there
    end: tuple[int, ...]  # the packed state they lead to


class Origins(Protocol[Mark_contra]):
    """Where an engine's states came from."""

    def occurrence(self, mark: Mark_contra) -> tuple[PackedRun, int]:
        """The run to the state of a mark, and the action instance taken there, or NO_ACTION."""
