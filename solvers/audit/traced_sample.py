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

import ast
import builtins
import dis
import functools
import gc
import hashlib
import itertools
import linecache
import re
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from attrs import define, field

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Counter, Endless, NoStateError, leaves, rebuild
from kraftcheck.model.language.symbolic import UntraceableRule, of_one_kind, record_fields
from kraftcheck.model.language.system import UNNAMED, Action, Property, Setting, Step, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.audit.numbers import OWN, OfNumber, Own, answered, is_of_kafka
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
            if line := asked_of_shape(way, _OF_CLASS):
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
        """Some argument values of an action; those of a family that is not listed are left out."""
        parameters = self._of.action(kind.action).parameters
        if kind.instances:
            rows = {_draw(self._number, place) % len(kind.instances) for place in range(ROWS)}
            yield from (kind.instances[row] for row in sorted(rows))
        elif not any(isinstance(values, Family) for values in parameters.values()):
            ends = ([*values[:1], *values[-1:]] for values in parameters.values())
            for row in itertools.islice(itertools.product(*ends), ROWS):
                yield dict(zip(parameters, row, strict=True))
        if parameters and not any(isinstance(values, Family) or not values for values in parameters.values()):
            first = {name: values[0] for name, values in parameters.items()}
            each = [{**first, name: value} for name, values in parameters.items() for value in values]
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


Way = set[tuple[CodeType, int, int]]
"""The turns that were taken: the code, an instruction, and the one after it, or UNEQUAL; of a library LIBRARY."""

UNEQUAL = -2  # after a comparison of a record with what is of another class
LIBRARY = -3  # where a rule calls what is neither its own nor kraftcheck's

T = TypeVar("T")

_PYTHON = sysconfig.get_path("stdlib")
_HARMLESS = ("functools.py", "enum.py", "typing.py", "operator.py", "collections/", "dataclasses.py", "_abc", "abc.py")
_LIBRARIES = ("attr/", "attrs/", "numpy/", "hypothesis/", "_pytest/", "pluggy/", "coverage/")


def followed(question: Callable[[], T], way: Way) -> T:
    """The answer of a question; the turns that are taken in what is no part of kraftcheck are added to the way."""

    def compared(frame: FrameType, event: str, answer: Any) -> Any:
        if event == "return" and answer is NotImplemented:
            asking, values = frame, (frame.f_locals.get("self"), frame.f_locals.get("other"))
            while asking.f_code.co_name in ("__eq__", "__ne__") and asking.f_back is not None:
                asking = asking.f_back
            of_words = any(isinstance(leaf, Term) for value in values for _, leaf in leaves(value))
            if of_words and _is_a_rule(asking):
                way.add((asking.f_code, asking.f_lasti, UNEQUAL))
        return compared

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        if _is_made_equality(frame):
            return compared
        if not _is_a_rule(frame):
            if frame.f_back is not None and _is_a_rule(frame.f_back) and _is_of_library(frame.f_code.co_filename):
                way.add((frame.f_code, LIBRARY, LIBRARY))
            return None
        frame.f_trace_opcodes, frame.f_trace_lines, last = True, False, -1

        def taken(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "opcode":
                way.add((frame.f_code, last, frame.f_lasti))
                last = frame.f_lasti
            return taken

        return taken

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what it calls for the garbage of others is no part of the answer
    sys.settrace(called)
    try:
        return question()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()


def check_questions(way: Way) -> None:
    """Refuse what Python answers alike for every state.

    Raises:
        UntraceableRule: for a function on the way that compares by identity, or a record with what is of another
            class, or asks a method that it does not call for its truth, with its line.
    """
    unequal = [(code, one) for code, at, after in way if after == UNEQUAL
               for one in dis.get_instructions(code) if one.offset == at]  # fmt: skip
    found = [f"{_quoted(code, one, str(one.argval))} {OF_TWO_CLASSES}" for code, one in unequal]
    for text in sorted([*found, *(one for code in _codes(way) for one in _misread(code))]):
        raise UntraceableRule(text)


_OF_SHAPE = frozenset({
    "hasattr", "getattr", "isinstance", "issubclass", "type", "dir", "vars", "id", "repr", "str", "format", "callable",
    "len", "__class__", "__dict__", "__name__", "__slots__", "attrgetter", "methodcaller",
})  # fmt: skip
"""What tells a value by what it is, and not by what it holds."""


_HIDDEN = re.compile(r"__(?!name__|module__|qualname__|class_getitem__)\w+__")
"""Members that Python gives every value, and that rules read of none but by an operator."""

_OF_CLASS = _OF_SHAPE.difference(("len", "repr", "str", "format", "id", "__name__")).union(
    ("length_hint", "largest", "freed", "builtins", "getsizeof"))  # fmt: skip
"""What tells a map of any number from a tuple, or what bounds a word, and raises in neither."""

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_FROM")  # instructions that look a function up, and not a field

_PARTS = ("layout", "actions", "properties", "lemmas")  # of a system, which it makes of a setting


def asked_of_shape(way: Way, names: frozenset[str] = _OF_SHAPE) -> str:
    """The first function on a way that asks what a value is, with its line; empty where none does."""
    found = [
        (code, name)
        for code in _codes(way)
        for name in sorted({*code.co_names})
        if _HIDDEN.fullmatch(name) or (name in names and (names is _OF_SHAPE or _asks_of_class(code, name)))
    ]
    said = [f"{code.co_filename}:{code.co_firstlineno}: it asks {name}" for code, name in found]
    called = [f"{code.co_filename}: its {code.co_name} is called" for code, at, _ in way if at == LIBRARY]
    return min([*said, *called], default="")


def _codes(way: Way) -> set[CodeType]:
    """The code of rules on a way."""
    return {code for code, at, _ in way if at != LIBRARY}


def _asks_of_class(code: CodeType, name: str) -> bool:
    """Whether a function looks a name up to ask by it: a field may be called `type`, and a member read by its name."""
    if not hasattr(builtins, name):
        return True
    looked_up = any(one.argval == name and one.opname in _GLOBAL for one in dis.get_instructions(code))
    return looked_up and not (name == "getattr" and _names_members(code))


def _names_members(code: CodeType) -> bool:
    """Whether each getattr of a function is a call without a default, which says nothing of what has no such member."""
    lines = {line for _, _, line in code.co_lines() if line}
    try:
        nodes = [one for one in ast.walk(_tree(code.co_filename)) if getattr(one, "lineno", 0) in lines]
    except (OSError, SyntaxError, ValueError):
        return False
    calls = [one for one in nodes if isinstance(one, ast.Call) and len(one.args) == 2 and not one.keywords
             and isinstance(one.func, ast.Name) and one.func.id == "getattr"]  # fmt: skip
    return len(calls) == sum(isinstance(one, ast.Name) and one.id == "getattr" for one in nodes)


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_bytes())


def turn_of(way: Way, traced: Way) -> str:
    """The line of the first turn of a way that another one has not; empty where there is none."""
    turns = sorted((code.co_filename, _line(code, at)) for code, at, after in way - traced)
    return ":".join(map(str, turns[0])) if turns else ""


def _line(code: CodeType, at: int) -> int:
    return next((line for first, end, line in code.co_lines() if line and first <= at < end), code.co_firstlineno)


def _is_a_rule(frame: FrameType) -> bool:
    """Whether code is no part of kraftcheck, of Python or of a library that rules are made with.

    What `eval` has made is of the module whose names it knows, whatever its file is called.
    """
    module = sys.modules.get(frame.f_globals.get("__name__") or "")
    of_module = module is not None and vars(module) is frame.f_globals
    file, said = frame.f_code.co_filename, (getattr(module, "__file__", None) if of_module else None)
    return _is_of_rules(said or file) or (not file.startswith("<") and _is_of_rules(file))


def _is_made_equality(frame: FrameType) -> bool:
    """Whether code is the comparison that a class of records was given, by attrs or as a dataclass."""
    code = frame.f_code
    return (code.co_name in ("__eq__", "__ne__") and record_fields(type(frame.f_locals.get("self"))) is not None
            and (code.co_filename.startswith("<") or "/attr/" in code.co_filename))  # fmt: skip


@functools.cache
def _is_of_rules(file: str) -> bool:
    if file.startswith(("<attrs ", "<frozen ", *OWN)):
        return False
    installed = file.rpartition("site-packages/")[2]
    return not (installed.startswith(_LIBRARIES) if installed != file else file.startswith(_PYTHON))


@functools.cache
def _is_of_library(file: str) -> bool:
    """Whether code is of a library that rules have no use for."""
    if _is_of_rules(file) or file.startswith(("<", *OWN)) or "/attr" in file:
        return False
    return not file.removeprefix(_PYTHON + "/").startswith(_HARMLESS)


IDENTITY = ("asks whether both are one object, and these are others while a rule is traced; "
            "compare values and classes with == (is None is allowed)")  # fmt: skip
OF_TWO_CLASSES = ("compares a record with a value of another class, which it never equals, whatever they hold; compare "
                  "records of one class (is None is allowed)")  # fmt: skip
UNCALLED = "is a condition, and a method that is not called is always true; call it"
ANSWERS = frozenset({"has", "is_empty", "is_full", "same", "within"})
"""The methods of collections whose answers are truths."""


@functools.cache
def _misread(code: CodeType) -> tuple[str, ...]:
    """What a function asks of Python that Python answers alike for every state: the line, the text, and why.

    Comparisons by identity with anything but None, and methods of collections as conditions.
    """
    found, last = list[str](), None
    for one in dis.get_instructions(code):
        name = "" if last is None else last.argval
        decides = one.opname in ("UNARY_NOT", "TO_BOOL") or ("JUMP" in one.opname and "_IF_" in one.opname)
        if one.opname == "IS_OP" and not (last is not None and last.opname == "LOAD_CONST" and name is None
                                          and not one.is_jump_target):  # fmt: skip
            found.append(f"{_quoted(code, one, ' is ')} {IDENTITY}")
        elif decides and last is not None and last.opname in ("LOAD_ATTR", "LOAD_METHOD") and name in ANSWERS:
            found.append(f"{_quoted(code, last, f'.{name}')} {UNCALLED}")
        last = one
    return tuple(found)


def _quoted(code: CodeType, one: dis.Instruction, part: str) -> str:
    """The line of an instruction, and its text where that is of one line; else the part that matters."""
    at = one.positions or dis.Positions()
    line = linecache.getline(code.co_filename, at.lineno or 0).encode()
    text = line[at.col_offset : at.end_col_offset].decode()
    shown = text if part in text and at.lineno == at.end_lineno else part.strip()
    return f"{code.co_filename}:{at.lineno or code.co_firstlineno}: `{shown}`"
