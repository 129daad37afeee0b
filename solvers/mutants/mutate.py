"""Mutants of a system: each drops one condition of its rules, and all are in one traced program.

The state gets one more word, the number of the mutant (0: the rules as they
are), which no action changes. While a rule is traced, every condition it
decides by is joined with a comparison of that word, so one compiled kernel
holds every mutant, and an exploration is one mutant by its initial states.
Properties are traced as they are: a mutant changes what happens, not what
ought to hold.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

from attrs import define, evolve, field, frozen

from kraftcheck.model.language.layout import Described, ints, leaves
from kraftcheck.model.language.system import Action, Conjuncts, Fairness, Outcome, Property, Setting, Step, System
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import BRANCH, CONJUNCT, any_of, negate
from kraftcheck.solvers.mutants.source import SourceMutant, applied
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace

_MACHINERY = (
    "kraftcheck.model.language.terms",
    "kraftcheck.model.language.words",
    "kraftcheck.model.language.brokersets",
    "kraftcheck.model.language.idlists",
    "kraftcheck.solvers.mutants.mutate",
)
_FIELDS = frozenset({"set_when", "clear_when", "or_else"})
_DECIDING = frozenset({"choose", "all_of", "any_of", "none_of", "implies", "word"}) | _FIELDS
"""Functions and methods of `model.language.words` by which a rule decides; a lookup (`pick`) is no decision."""

_INNER = re.compile(r"\.<locals>\.<(genexpr|listcomp|setcomp|dictcomp|lambda)>")


@frozen
class Site:
    """A condition of a rule."""

    # module, rule: where it is written; the rule is a function or method
    module: str
    rule: str
    kind: str  # `branch`, `conjunct` or `disjunct`, as `kraftcheck.model.language.words` names them
    call: str  # the call that decides, as written
    part: str  # the condition, as written
    line: int = field(eq=False)  # its line, which is no part of its identity


def find_site(kind: str, position: int) -> Site | None:
    """The condition by which the traced rule decides; None for conditions of the machinery itself.

    Args:
        kind: how the innermost operation decides.
        position: which of its operands is meant.
    """
    frame: FrameType | None = sys._getframe(1)
    outermost = None
    while frame is not None and _is_machinery(frame):
        outermost = (
            frame.f_code.co_qualname if frame.f_globals.get("__name__") == "kraftcheck.model.language.words" else None
        )
        frame = frame.f_back
    if frame is None or outermost is None:
        return None
    name = outermost.rpartition(".")[2]
    if name not in _DECIDING or (name in _FIELDS and kind != BRANCH):
        return None
    return _site(frame.f_code, frame.f_lasti, str(frame.f_globals.get("__name__")), kind, position)


def _is_machinery(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _MACHINERY or frame.f_code.co_filename.startswith("<attrs")


@functools.cache
def _site(code: CodeType, at: int, module: str, kind: str, position: int) -> Site | None:
    start, end, left, right = next(itertools.islice(code.co_positions(), at // 2, None))
    if start is None or end is None or left is None or right is None:
        return None
    call = _call(_source(code.co_filename, start, end, left, right))
    part = None if call is None else _part(call, kind, position)
    if call is None or part is None:
        return None
    rule = _INNER.sub("", code.co_qualname).replace(".<locals>", "")
    return Site(module, rule, kind, ast.unparse(call), part, start)


def _source(filename: str, start: int, end: int, left: int, right: int) -> str:
    """The text between two positions; columns count bytes."""
    lines = [linecache.getline(filename, number).encode() for number in range(start, end + 1)]
    lines[-1] = lines[-1][:right]
    lines[0] = lines[0][left:]
    return b"".join(lines).decode()


def _call(text: str) -> ast.Call | None:
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return None
    return parsed if isinstance(parsed, ast.Call) else None


def _part(call: ast.Call, kind: str, position: int) -> str | None:
    """The condition among the arguments; None where they are drawn from a collection."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "or_else":
        return f"{ast.unparse(call.func.value)} is present"
    index = 0 if kind == BRANCH else position
    if index >= len(call.args) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    return ast.unparse(call.args[index])


def first_sentence(module: str, rule: str) -> str:
    """The first sentence of a rule's docstring, or nothing."""
    rule_object: object = sys.modules.get(module)
    for name in rule.split("."):
        rule_object = getattr(rule_object, name, None)
    paragraph = (getattr(rule_object, "__doc__", None) or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())


GUARD, OPERATOR = "guard", "operator"
DROPPED, ALWAYS, NEVER = "dropped", "always", "never"

Leave = Collection[str]  # rules to leave as they are: modules, or `module:function` with everything below it


@frozen
class Mutant:
    """One change of the rules."""

    number: int  # its value of the state's extra word, from 1
    group: str  # the action (for a guard) or `module:rule` it belongs to
    kind: str  # `guard`, `branch`, `conjunct` or `disjunct`; `operator` for a change of the text
    part: str  # the condition: the conjunct's name, or as written in the rule; for an operator the expression
    change: str  # `dropped`, or for a branch `always` or `never` taken; for an operator the expression in its place
    call: str  # the call that decides, as written; the part for a guard; the name of an operator mutant
    line: int  # line of the rule; 0 for a guard

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the mutant: group, call, condition, change."""
        return self.group, self.call, self.part, self.change


@frozen
class Mutated:
    """A state with the number of the active mutant."""

    state: Any
    mutant: Word


@frozen
class MutantEvent:
    """The event of an effect, and whether the unmutated rules have no such step."""

    event: Any
    differs: Truth


DIFFERS = Property(
    "differs from the rules as they are", "happens", "A step is none of the rules as they are.",
    lambda step: step.event.differs,
)  # fmt: skip
"""A claim beside those of the system: where no step shows it, a mutant adds no step and changes none."""


@define(eq=False)
class MutatingGraph(Graph):
    """A graph that joins every condition a rule decides by with the mutants of it.

    Attributes:
        mutant: the variable that holds the mutant's number, once it exists.
    """

    leave: Leave = ()  # rules to leave as they are
    mutants: list[Mutant] = field(factory=list)  # those registered so far, in order of number
    # for each mutant the actions in which its condition was met
    actions_of: dict[int, dict[str, None]] = field(factory=dict)
    _action: str | None = None
    _mutant: Term | None = None
    _numbers: dict[tuple[object, ...], tuple[int, ...]] = field(factory=dict)
    _joined: set[tuple[Site, int]] = field(factory=set)

    @contextmanager
    def within(self, action: str, mutant: Term) -> Iterator[None]:
        """Mutate what is traced meanwhile, as part of an action."""
        self._action, self._mutant = action, mutant
        try:
            yield
        finally:
            self._action = None

    def decision(self, truth: Term, kind: str, position: int = 0) -> Truth:
        """See `Graph.decision`: the condition, as the active mutant changes it."""
        site = None if self._action is None else find_site(kind, position)
        if site is None or self._is_left(site) or (site, truth.index) in self._joined:
            return truth
        group = f"{site.module}:{site.rule}"
        if kind == BRANCH:
            always, never = self._register(group, site, (ALWAYS, NEVER))
            changed = self._or(self._is(always), self._and(self.negate(self._is(never)), truth))
        elif kind == CONJUNCT:
            changed = self._or(self._is(*self._register(group, site, (DROPPED,))), truth)
        else:
            changed = self._and(self.negate(self._is(*self._register(group, site, (DROPPED,)))), truth)
        if isinstance(changed, Term):
            self._joined.add((site, changed.index))
        return changed

    def guarded(self, action: str, name: str, part: Truth, mutant: Term) -> Truth:
        """A conjunct of an action's guard, which a mutant drops; one that always holds stays."""
        if part is True:
            return part
        self._action, self._mutant = action, mutant
        site = Site(action, GUARD, GUARD, name, name, 0)
        dropped = self._is(*self._register(action, site, (DROPPED,)))
        self._action = None
        return any_of(part, dropped)

    def _is_left(self, site: Site) -> bool:
        names = site.rule.split(".")
        owners = [f"{site.module}:{'.'.join(names[:depth])}" for depth in range(1, len(names) + 1)]
        return any(name in self.leave for name in (site.module, *owners))

    def _register(self, group: str, site: Site, changes: Sequence[str]) -> tuple[int, ...]:
        numbers = self._numbers.get((group, site))
        if numbers is None:
            first = len(self.mutants) + 1
            numbers = tuple(range(first, first + len(changes)))
            self._numbers[group, site] = numbers
            self.mutants += [
                Mutant(number, group, site.kind, site.part, change, site.call, site.line)
                for number, change in zip(numbers, changes, strict=True)
            ]
        for number in numbers:
            self.actions_of.setdefault(number, {})[str(self._action)] = None
        return numbers

    def _is(self, number: int) -> Truth:
        assert self._mutant is not None
        return self.apply("eq", self._mutant, self.constant(number))

    def _or(self, a: Truth, b: Truth) -> Truth:
        return self.apply("or", self.lift(a), self.lift(b))

    def _and(self, a: Truth, b: Truth) -> Truth:
        return self.apply("and", self.lift(a), self.lift(b))


@frozen
class Mutations:
    """A system with all its mutants."""

    program: Program  # the traced system; its initial states are those of mutant 0
    original: System  # the system without mutants
    mutants: tuple[Mutant, ...]  # in order of number
    # for each mutant the actions in which its condition was met
    actions_of: Mapping[int, tuple[str, ...]] = field(factory=dict)
    sources: Mapping[int, SourceMutant] = field(factory=dict)  # the operator mutants by number

    def rules_of(self, mutant: Mutant) -> AbstractContextManager[None]:
        """The rules on ints, meanwhile as an operator mutant has them."""
        source = self.sources.get(mutant.number)
        return nullcontext() if source is None else applied(source)

    def on_ints(self, program: Program) -> Program:
        """A program whose actions are made anew, by the rules as they run now; the traced ones choose a mutant."""
        made = numbered(self.original, 1, lambda mutated: mutated.state, _numbered).actions(program.setting)
        actions = {action.name: action for action in made}
        return evolve(program, kinds=tuple(evolve(kind, action=actions[kind.action.name]) for kind in program.kinds))

    def of(self, number: int) -> Program:
        """The program that starts as a mutant; 0 is none."""
        slot = self.program.layout.slots[-1]
        words = [list(state) for state in self.program.initial]
        for state in words:
            state[slot.word] |= number << slot.shift
        return evolve(self.program, initial=tuple(sorted(tuple(state) for state in words)))


def mutate(system: System, setting: Setting, leave: Leave = ()) -> Mutations:
    """A system traced with all its mutants; raises as `kraftcheck.solvers.program.trace.trace` does."""
    first_pass = _traced(system, setting, 1, leave)[1]
    program, graph = _traced(system, setting, max(1, len(first_pass.mutants)), leave)
    actions_of = {number: tuple(actions) for number, actions in graph.actions_of.items()}
    return Mutations(program, system, tuple(graph.mutants), actions_of)


def _traced(system: System, setting: Setting, limit: int, leave: Leave) -> tuple[Program, MutatingGraph]:
    graph = MutatingGraph(leave=leave)
    return trace(numbered(system, limit, lambda mutated: mutated.state, _mutated), setting, graph=graph), graph


def numbered(system: System, limit: int, state_of: Callable[[Any], Any], mutated: Callable[[Action], Action]) -> System:
    """A system whose states have the number of a mutant."""
    quiescent, within = system.quiescent, system.within
    return evolve(
        system,
        initial=lambda setting: [_start(state) for state in system.initial(setting)],
        layout=lambda setting: Mutated(system.layout(setting), ints(0, limit)),
        actions=lambda setting: [mutated(action) for action in system.actions(setting)],
        properties=lambda setting: [*(_of_state(claim, state_of) for claim in system.properties(setting)), DIFFERS],
        quiescent=None if quiescent is None else lambda mutated: quiescent(state_of(mutated)),
        within=None if within is None else lambda mutated: within(state_of(mutated)),
        fairness=lambda setting: [_fair(one, state_of) for one in system.fairness(setting)],
    )


def _numbered(action: Action) -> Action:
    """An action of states that have the number of a mutant, which it does not read."""

    def guard(mutated: Mutated, **arguments: Any) -> Conjuncts:
        return action.guards(mutated.state, arguments)

    def effect(mutated: Mutated, **arguments: Any) -> Outcome:
        outcome = action.outcome(mutated.state, arguments)
        return Outcome(Mutated(outcome.state, mutated.mutant), MutantEvent(outcome.event, False))

    return evolve(action, guard=guard, effect=effect)


def _start(state: Any) -> Any:
    """An initial state, or a description of some, of no mutant."""
    if isinstance(state, Described):
        return Described(lambda mutated: {**state.holds(mutated.state), "no mutant": mutated.mutant == 0})
    return Mutated(state, 0)


def _mutated(action: Action) -> Action:
    def guard(mutated: Mutated, **arguments: Any) -> Conjuncts:
        mutant, graph = _parts(mutated)
        with graph.within(action.name, mutant):
            parts = action.guards(mutated.state, arguments)
        return {name: graph.guarded(action.name, name, part, mutant) for name, part in parts.items()}

    def effect(mutated: Mutated, **arguments: Any) -> Outcome:
        mutant, graph = _parts(mutated)
        with graph.within(action.name, mutant):
            outcome = action.outcome(mutated.state, arguments)
        right = action.outcome(mutated.state, arguments)
        return compared(mutant, outcome, right, action.enabled(mutated.state, arguments))

    return evolve(action, guard=guard, effect=effect)


def compared(mutant: Word, outcome: Outcome, right: Outcome, enabled: Truth) -> Outcome:
    """The outcome of a mutant, with what tells it from the unmutated rules'."""
    differs = any_of(negate(enabled), *_differences(right.state, outcome.state),
                     *_differences(right.event, outcome.event))  # fmt: skip
    return Outcome(Mutated(outcome.state, mutant), MutantEvent(outcome.event, differs))


def _parts(mutated: Mutated) -> tuple[Term, MutatingGraph]:
    mutant = mutated.mutant
    if not isinstance(mutant, Term) or not isinstance(mutant.graph, MutatingGraph):
        raise TypeError("a mutated system is traced on a MutatingGraph; it does not run on ints")
    return mutant, mutant.graph


def _differences(right: Any, mutated: Any) -> Iterator[Truth]:
    """For each leaf of two values of one shape the truth that it differs."""
    for (_, a), (_, b) in zip(leaves(right), leaves(mutated), strict=True):
        if isinstance(a, Term) or isinstance(b, Term):
            yield negate(a == b)
        elif a != b:
            yield True


def _of_state(claim: Property, state_of: Callable[[Any], Any]) -> Property:
    """The property of a system, of its mutants' states."""
    predicate: Callable[[Any], Any] = claim.predicate
    begins_ = claim.initially
    begins = None if begins_ is None else lambda mutated: begins_(state_of(mutated))
    if claim.kind in ("step", "happens"):
        return evolve(claim, predicate=lambda step: predicate(plain(step, state_of)), initially=begins)
    when_, fairness = claim.when, tuple(_fair(one, state_of) for one in claim.fairness)
    when = None if when_ is None else lambda mutated: when_(state_of(mutated))
    return evolve(claim, predicate=lambda mutated: predicate(state_of(mutated)), when=when, fairness=fairness)


def _fair(declared: Fairness, state_of: Callable[[Any], Any]) -> Fairness:
    """The fairness of a system, of its mutants' states."""
    unless = declared.unless
    if unless is None:
        return declared
    return evolve(declared, unless=lambda mutated, **given: unless(state_of(mutated), **given))


def plain(step: Step, state_of: Callable[[Any], Any] = lambda mutated: mutated.state) -> Step:
    """A step between mutated states as a step between the states."""
    return evolve(step, before=state_of(step.before), after=step.after.state, event=step.event.event)
