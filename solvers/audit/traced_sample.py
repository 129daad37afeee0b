"""Comparison of a traced system with its rules on ints, in a sample of states.

Python lets no class answer `is` and `type()`: a rule that applies them to a word gets another answer when it is traced
than on ints. So the traced terms are evaluated in some states of the layout, reachable or not, and compared with the
rules themselves, which must take no other way there either. The states are all initial ones up to a few, the smallest
and the largest values, and values drawn from a hash, the same in every run; each value of a short domain is in one.
Where domains are longer, some states hold the numbers that the rules name, and those beside them.

A system of any number has no such states: its terms are read with each of few numbers, and compared with the rules of
that number.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Counter, Endless, LayoutError, NoStateError, leaves, rebuild
from kraftcheck.model.language.symbolic import of_one_kind
from kraftcheck.model.language.system import UNNAMED, Action, Property, Setting, Step, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.audit.numbers import OfNumber, Own, answered, is_of_kafka
from kraftcheck.solvers.audit.ways import OF_CLASS, Way, asked_of_shape, check_questions, followed, turn_of
from kraftcheck.solvers.program.parts import SystemFault, free_arguments, line_of
from kraftcheck.solvers.program.premises import hidden_goals
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.program.symbols import state_symbols
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import start_parts
from kraftcheck.solvers.traces.render import show

RANDOM_STATES = 12  # states drawn besides the smallest, the largest and the initial ones
STARTS = 4  # initial states looked at
ROWS = 3  # instances of each action looked at in a state

EACH = 4
"""Values of single arguments besides: in turn, so that in all states together those of a short list are all asked."""

_PARTS = ("layout", "actions", "properties", "lemmas")  # of a system, which it makes of a setting

RANDOM_LIMIT = 1 << 10  # values drawn of a word without bound
MOST_NAMED = 48  # numbers that rules name, of which states are made


def check_sample(program: Program, few: Iterable[tuple[System, Setting]] = ()) -> None:
    """Compare a program with the rules that it was traced from.

    Args:
        few: where it is of any number, the system with few, with whose rules it is compared.

    Raises:
        SystemFault: naming the part that answers otherwise on ints, or takes another way.
        UntraceableRule: for a rule that compares by identity, or what is of two classes.
    """
    ways = _Ways(program)
    asked = set[str]()
    for name, rule, subject in ways.rules():  # those of steps that no sampled state takes, too
        ways.of(name, rule, *subject)
        if name in asked:
            raise SystemFault(f"two rules are called {name!r}; rename a property")
        asked.add(name)
    if not any(isinstance(slot.domain, Endless) for slot in program.layout.slots):
        ways.compare(Own(program))
    for system, setting in few:
        ways.compare_parts(system, setting)
        try:
            of = OfNumber(program, system, setting)
        except NoStateError:
            continue  # of none of these numbers is there a state of which to prove anything
        if is_of_kafka(system, program.layout, of.layout):  # tests compare the fields of these
            own = _Ways(trace(system, setting, free=True))
            own.compare(Own(own.program))
            ways.compare_rules(own)
        else:
            ways.check_classes(system)
            ways.compare(of)


def _states(of: Own | OfNumber, named: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Collection[int]]]:
    """The leaves of the sampled states, not of initial ones, each with the numbers that its arguments are among.

    Args:
        named: the numbers that rules name, and those beside them.
    """
    domains = [slot.domain for slot in of.layout.slots]
    ends = [(d.lo, RANDOM_LIMIT if isinstance(d, Counter) else d.hi) for d in domains]
    yield tuple(lo for lo, _ in ends), ()
    yield tuple(top for _, top in ends), ()

    def drawn(number: int, place: int) -> int:
        lo, top = ends[place]
        return lo + _chosen(number, place, top - lo + 1)

    for number in range(RANDOM_STATES):
        yield tuple(drawn(number, place) for place in range(len(ends))), ()
    if all(top - lo < RANDOM_STATES for lo, top in ends):
        return
    within = [[one for one in named if lo <= one <= top] for lo, top in ends]
    for number, one in enumerate(named):  # wherever it may be
        yield tuple(one if one in values else drawn(number, place) for place, values in enumerate(within)), named
    for number in range(RANDOM_STATES):
        yield tuple(values[_draw(number, place) % len(values)] if values else drawn(number, place)
                    for place, values in enumerate(within)), named  # fmt: skip


def _named(program: Program) -> list[int]:
    """The numbers that rules name, and those beside them."""
    constants = sorted({term.value for term in program.graph.nodes if term.op == "const"}, key=_draw)
    return [*dict.fromkeys(one + by for by in (0, 1, -1) for one in constants)][:MOST_NAMED]


def _chosen(number: int, place: int, values: int) -> int:
    """One of so many values: of few each in turn."""
    return (number + _draw(place) if values <= RANDOM_STATES else _draw(number, place)) % values


def _draw(*key: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big")


@define
class _Ways:
    """The ways that the rules of a program take with words."""

    program: Program
    state: Any = field(init=False)  # words of a state that are no terms of the program
    _graph: Graph = field(init=False, factory=Graph)
    _steps: dict[str, Step] = field(init=False, factory=dict)
    _ways: dict[str, Way] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        """Make the words."""
        self._graph.notes.least |= self.program.graph.notes.least
        self.state = _watched(state_symbols(self._graph, self.program.layout)[1])
        for goal in hidden_goals(self.program):  # they are asked of ints alone
            names = [f"property {goal.id}", *(_of_action(goal, kind) for kind in self.program.kinds)]
            self._ways |= {name: set() for name in names}

    def step(self, action: Action) -> Step:
        """A step of words."""
        if action.name not in self._steps:
            given = {name: _watched(one) for name, one in free_arguments(action, self._graph).arguments.items()}
            outcome = action.outcome(self.state, given)
            self._steps[action.name] = Step(self.state, _watched(outcome.state), action.name, given, outcome.event)
        return self._steps[action.name]

    def of(self, name: str, rule: Callable[..., Any], *subject: Any) -> Way:
        """The way of a rule, by what it is called; empty where all of it is kraftcheck's."""
        if name not in self._ways:
            self._ways[name] = set()
            followed(lambda: rule(*subject), self._ways[name])
            check_questions(self._ways[name])
        return self._ways[name]

    def compare_parts(self, system: System, few: Setting) -> None:
        """Compare the ways in which a system makes its parts for any number, and with few."""
        for name in _PARTS:
            make, taken = getattr(system, name), set[Any]()
            way = self.of(name, make, self.program.setting)
            followed(lambda make=make: answered(make, few), taken)  # type: ignore[misc]
            if line := turn_of(taken, way):
                raise SystemFault(f"{line}: {name} goes another way with {few.text()} than with any number, so what is "
                                  "proven of any number is not of each")  # fmt: skip

    def check_classes(self, system: System) -> None:
        """Refuse what asks of what class a value is: with any number it is another one than with a number."""
        ways = {name: self.of(name, rule, *subject) for name, rule, subject in self.rules()}
        ways |= {name: self.of(name, getattr(system, name), self.program.setting) for name in _PARTS}
        if begins := description(given_states(system, self.program.setting)):
            ways["initial"] = self.of("initial", begins.rule, self.state)
        for name, way in ways.items():
            if line := asked_of_shape(way, OF_CLASS):
                raise SystemFault(f"{line}, and so {name} may tell any number from a number by the class of a value; "
                                  "ask what it holds")  # fmt: skip

    def rules(self) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
        """The rules, each by what it is called, and the words that it is asked of."""
        program, state = self.program, self.state
        for claim in program.always:
            yield f"property {claim.id}", claim.parts, (state,)
        for claim in self.starting():
            yield _at_start(claim), functools.partial(start_parts, claim), (state,)
        for kind in program.kinds:
            if not all(isinstance(values, Family) or values for values in kind.action.parameters.values()):
                continue  # it has no instance
            label, step = f"action {kind.action.name}", self.step(kind.action)
            yield f"{label}, guard", kind.action.guards, (state, step.arguments)
            yield f"{label}, effect", kind.action.outcome, (state, step.arguments)
            own = (claim for claim in program.steps if not claim.id.endswith(OF_PROVERS))
            yield from ((_of_action(claim, kind), claim.parts, (step,)) for claim in own)

    def starting(self) -> list[Property]:
        """The claims of steps that claim something of initial states."""
        return [claim for claim in self.program.steps if claim.id in self.program.starts]

    def compare_rules(self, few: _Ways) -> None:
        """Compare the ways of rules that are traced for any number with those of few, whose fields are others."""
        said = few.program.setting.text()
        ways = {name: self.of(name, rule, *subject) for name, rule, subject in self.rules()}
        for name, way in ways.items():
            if line := asked_of_shape(way):
                raise SystemFault(f"{line}: {name} may tell few from any number by what a value is; ask what it holds")
        for name, rule, subject in few.rules():
            if line := turn_of(few.of(name, rule, *subject), ways.get(name, set())):
                raise SystemFault(f"{line}: {name} goes another way with {said} than with any number, so what is "
                                  "proven of any number is not of each")  # fmt: skip

    def compare(self, of: Own | OfNumber) -> None:
        """Compare the rules of the program, or of a number, in the sampled states."""
        starts = list(of.starts())[:STARTS]
        states = itertools.chain(((start, ()) for start in starts), _states(of, _named(self.program)))
        for number, (values, named) in enumerate(states):
            _StateComparison(self, of, number, values, named).check()


class _StateComparison:
    """A state, on which terms and rules are compared."""

    def __init__(
        self, ways: _Ways, of: Own | OfNumber, number: int, values: Sequence[int], named: Collection[int]
    ) -> None:
        self._ways, self._program, self._of, self._number, self._named = (
            ways,
            ways.program,
            of,
            number,
            frozenset(named),
        )
        self._state, self._read = of.layout.state(values), of.read(values)
        self._turns: list[str] = []

    def check(self) -> None:
        """Compare every rule; raises SystemFault for the first that differs."""
        program = self._program
        if (rule := self._of.described()) is not None and program.initially:
            traced = description(given_states(program.system, program.setting)) or rule
            asked = self._answer("initial", traced.holds, rule.holds, (self._ways.state,), (self._state,))
            said = all(map(self._read.worth, program.initially.values()))
            self._same("initial", said, None if asked is None else all(asked.values()), rule.rule)
        for claim, term in self._claims():
            self._property(f"property {claim.id}", term, claim)
        for claim in self._ways.starting():
            ours, theirs = (functools.partial(start_parts, one) for one in (claim, self._of.claim(claim)))
            asked = self._answer(_at_start(claim), ours, theirs, (self._ways.state,), (self._state,))
            truth = None if asked is None else all(asked.values())
            self._same(_at_start(claim), self._read.worth(program.starts[claim.id]), truth, claim.initially)
        for recovers in program.recovers:
            self._rule(f"property {recovers.claim.id}, when", recovers.when, recovers.claim.concerns)
        for live in program.liveness.claims:
            self._rule(f"property {live.claim.id}, premise", live.premise, live.claim.concerns)
        for fair in program.liveness.constraints:
            self._rule(f"fairness {fair.steps.name}, unless", fair.excused, fair.steps.excused)
        if program.system.quiescent is not None:
            self._rule("quiescent", program.quiescent, program.system.quiescent)
        for kind in program.kinds:
            for arguments in self._instances(kind):
                self._check_step(kind, arguments)
        for turn in self._turns:
            raise SystemFault(turn)

    def _bounds(self) -> str:
        return "" if isinstance(self._of, Own) else self._of.setting.text()

    def _claims(self) -> Iterator[tuple[Property, Term]]:
        """The claims about states."""
        program = self._program
        yield from zip(program.always, program.always_terms, strict=True)
        yield from zip(program.sometimes, program.sometimes_terms, strict=True)
        yield from ((recovers.claim, recovers.goal) for recovers in program.recovers)
        yield from ((live.claim, live.goal) for live in program.liveness.claims)

    def _property(self, name: str, term: Term, claim: Property) -> None:
        asked = self._answer(name, claim.parts, self._of.claim(claim).parts, (self._ways.state,), (self._state,))
        self._same(name, self._read.worth(term), None if asked is None else all(asked.values()))

    def _rule(self, name: str, term: Term, rule: Callable[..., Any]) -> None:
        self._same(name, self._read.worth(term), self._answer(name, rule, rule, (self._ways.state,), (self._state,)))

    def _answer(
        self, name: str, traced: Callable[..., Any], on_ints: Callable[..., Any], words: Sequence[Any],
        subject: Sequence[Any], source: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """The answer of a rule on ints, whose way must be that of the one that was traced."""
        way, taken = self._ways.of(name, traced, *words), set[Any]()
        if not way:
            return answered(on_ints, *subject)
        answer = followed(lambda: answered(on_ints, *subject), taken)
        if answer is not None and (line := turn_of(taken, way)):
            self._turns.append(f"{line}: {name} goes another way on ints than when traced, {self._where()}{MEND}"
                               f"{line_of(source)}")  # fmt: skip
        return answer

    def _instances(self, kind: Kind) -> Iterator[Mapping[str, Any]]:
        """Some argument values of an action; none where a family has no end."""
        try:
            listed = {name: values[:] for name, values in self._of.action(kind.action).parameters.items()}
        except LayoutError:
            return
        if kind.instances:
            rows = {_draw(self._number, place) % len(kind.instances) for place in range(ROWS)}
            yield from (kind.instances[row] for row in sorted(rows))
        else:
            ends = ([*values[:1], *values[-1:]] for values in listed.values())
            for row in itertools.islice(itertools.product(*ends), ROWS):
                yield dict(zip(listed, row, strict=True))
        if listed and all(listed.values()):
            first = {name: values[0] for name, values in listed.items()}
            each = [{**first, name: value} for name, values in listed.items() for value in values]
            for place in range(self._number * EACH, self._number * EACH + min(EACH, len(each))):
                yield each[place % len(each)]
            among = (one for one in each if any(leaf in self._named for _, leaf in leaves((*one.values(),))))
            yield from itertools.islice(among, MOST_NAMED)

    def _check_step(self, kind: Kind, arguments: Mapping[str, Any]) -> None:
        label, program, state, traced = f"action {kind.action.name}", self._program, self._state, kind.action
        action, words = self._of.action(traced), (self._ways.state, self._ways.step(traced).arguments)
        read = self._read.given(kind, [int(value) for _, value in leaves(tuple(arguments.values()))])
        given = (state, arguments)
        for name, term in kind.allowed.items():
            self._same(f"{label}, argument {name}", read.worth(term), True)
        guard = self._answer(f"{label}, guard", traced.guards, action.guards, words, given, traced.guard)
        for name, part in ({} if guard is None else guard).items() if [*(guard or ())] == [*kind.guard] else ():
            what = f"{label}, guard" if name == UNNAMED else f"{label}, guard {name}"
            self._same(what, read.worth(kind.guard[name]), part, traced.guard)
        if guard is not None:
            self._same(f"{label}, guard", all(map(read.worth, kind.guard.values())), all(guard.values()), traced.guard)
        if guard is None or not all(guard.values()):
            return
        outcome = self._answer(f"{label}, effect", traced.outcome, action.outcome, words, given, traced.effect)
        if outcome is None:
            return
        after = [value for _, value in leaves(outcome.state)]
        if not all(s.domain.lo <= v <= s.domain.hi for v, s in zip(after, self._of.layout.slots, strict=True)):
            return  # such a step is not taken, so nothing is claimed of it
        for path, worth, value in read.effects(kind, after):
            self._same(f"{label}, effect on {path or 'the state'}", worth, value, traced.effect)
        step = Step(state, outcome.state, traced.name, arguments, outcome.event)
        claims = (*((claim, True) for claim in program.steps), *((goal, False) for goal in program.happens))
        for (claim, expected), term in zip(claims, kind.steps, strict=True):
            if claim.id.endswith(OF_PROVERS):
                continue
            name = f"property {claim.id}"
            asked = self._answer(_of_action(claim, kind), claim.parts, self._of.claim(claim).parts,
                                 (self._ways.step(traced),), (step,), claim.predicate)  # fmt: skip
            held = None if asked is None else all(asked.values()) == expected
            self._same(name, read.worth(term), held, claim.predicate)

    def _where(self) -> str:
        bounds = self._bounds()
        return f"in the state {show(self._state)}" + (f" with {bounds}" if bounds else "")

    def _same(self, name: str, traced: int, on_ints: Any, rule: Callable[..., Any] | None = None) -> None:
        if on_ints is None:
            return
        if isinstance(on_ints, Term):
            raise SystemFault(f"{name} kept a word of an earlier call; use its arguments only{line_of(rule)}")
        if traced != on_ints:
            raise SystemFault(f"{name} says {int(on_ints)} on ints and {int(traced)} when traced, {self._where()}{MEND}"
                              + line_of(rule))  # fmt: skip


def _of_action(claim: Property, kind: Kind) -> str:
    return f"property {claim.id} of {kind.action.name}"


def _at_start(claim: Property) -> str:
    return f"property {claim.id} at the start"


OF_PROVERS = (STAYS, " of any outcome")
"""How the names of claims end that provers add: they repeat what a system claims."""

MEND = "; a rule depends on its arguments alone, so not on chance, and may not ask what a word is (is, type())"


class _Tuple(tuple[Any, ...]):
    """A tuple of the words of a state: it refuses to be compared with what is none, which it never equals."""

    __slots__ = ()
    __eq__, __ne__, __hash__ = of_one_kind(tuple.__eq__), of_one_kind(tuple.__ne__), tuple.__hash__


_Tuple.__name__ = "tuple"  # as a refusal calls it


def _watched(value: Any) -> Any:
    """A value with its tuples as such."""
    feed = iter([leaf for _, leaf in leaves(value)])
    return rebuild(value, lambda: next(feed), _Tuple)
