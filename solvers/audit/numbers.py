"""The values of terms in a state on ints: of a number, and of any number read with few participants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck import model
from kraftcheck.model.language.anynumber import AnySet, PerBroker
from kraftcheck.model.language.layout import Described, Endless, Filled, Layout, Slot, leaves, rebuild
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.system import Action, Property, Setting, System
from kraftcheck.model.language.terms import Term, evaluate
from kraftcheck.solvers.program.evaluation import add_values
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.parts import RAISED, SystemFault, ask, line_of
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.traces.render import show


def answered(rule: Callable[..., Any], *subject: Any) -> Any:
    """The answer of a rule on ints; None where it raises: no rule need make sense in an unreachable state."""
    try:
        return rule(*subject)
    except RAISED:
        return None


OWN = tuple(place.removesuffix("model") for place in model.__path__)
"""The folders of kraftcheck's files."""

FARTHEST = 8
"""So far beyond the last place that there is claims about every place are asked, at most: a word may name one."""


MOST_VALUES = 100  # values of bounds that bound nothing: with each the system must be the same
MOST_TOGETHER = 16  # of several such bounds of Kafka's systems together; beyond, each bound is asked alone


class OtherFields(SystemFault):
    """A state with few has other fields than one with any number."""


def check_freed(made: Callable[[Setting], Program], system: System, setting: Setting) -> None:
    """Trace a system with every value of each bound that bounds nothing: it must be the same.

    Args:
        system, setting: the system, and where bounds may bound nothing.

    Raises:
        SystemFault: naming the bound with which it is another, or that takes too many values to tell.
    """
    bounds = {bound.name: bound for bound in system.bounds}
    own = Meaning.of(made(setting)).whole if setting.freed else ""
    free = [bounds[name] for name in setting.freed]
    for bound in free:
        if (count := bound.hi - bound.lo + 1) > MOST_VALUES:
            raise SystemFault(f"{bound.name} is any with {bound.freed_by}, and takes {count:,} values, with each of "
                              f"which the system must be the same; let it take at most {MOST_VALUES}")  # fmt: skip
    asked = [{bound.name: value} for bound in free for value in range(bound.lo, bound.hi + 1)]
    together = math.prod(bound.hi - bound.lo + 1 for bound in free)
    if system.plain is None and together > MOST_VALUES:
        raise SystemFault(f"{' and '.join(setting.freed)} are any, and take {together:,} values together, with each of "
                          f"which the system must be the same; let them take at most {MOST_VALUES}")  # fmt: skip
    if together <= (MOST_VALUES if system.plain is None else MOST_TOGETHER):
        every = itertools.product(*(range(bound.lo, bound.hi + 1) for bound in free))
        asked = [dict(zip(setting.freed, values, strict=True)) for values in every]
    for values in asked if free else ():
        if Meaning.of(made(evolve(setting, bounds={**setting.bounds, **values}))).whole != own:
            by = " and ".join(f"{name} is any with {bounds[name].freed_by}" for name in values)
            said = ", ".join(f"{name} {value}" for name, value in values.items())
            raise SystemFault(f"{by}, and with {said} the system is not the same: no rule, domain or initial state may "
                              "depend on it")  # fmt: skip


def by_place(
    layout: Layout, few: Layout, numbers: Mapping[str, int], values: Sequence[int]
) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """The leaves of a state with few as those of one with any number: path, places and word.

    Of the mask of a set it is a truth for each number.

    Args:
        layout, few: of states with any number, and with few.
        numbers: how many there are, by bound.
        values: the leaves of a state with few.

    Raises:
        OtherFields: for a layout whose leaves are not the same.
    """
    for (_, of, row), value in zip(matched(layout, few), values, strict=True):
        if isinstance(of.domain, Endless) and len(row) < of.domain.places:
            count = numbers[of.domain.numbers[-1] or ""]
            yield from ((of.path, (*row, member), value >> member & 1) for member in range(count))
        else:
            yield of.path, row, value


def matched(layout: Layout, few: Layout) -> list[tuple[Slot, Slot, tuple[int, ...]]]:
    """The fields of a state with few, each with the field of one with any number that it is of, and its places there.

    Raises:
        OtherFields: for a layout whose leaves are not the same.
    """

    def below(of: Any, other: Any, row: tuple[int, ...]) -> Iterator[tuple[Slot, Slot, tuple[int, ...]]]:
        if isinstance(of, PerBroker) and isinstance(other, tuple):
            for at, one in enumerate(other):
                yield from below(of.item, one, (*row, at))
            return
        names, parts = (_parts(of), _parts(other))
        if names and [*names] == [*parts]:
            if type(of) is not type(other) and not isinstance(of, tuple):
                raise OtherFields(f"a state with few has {type(other).__name__}, and one with any number has "
                                  f"{type(of).__name__} there")  # fmt: skip
            for name, part in names.items():
                yield from below(part, parts[name], row)
            return
        own, found = ([one.slots[at] for _, at in leaves(part)] for one, part in ((layout, of), (few, other)))
        places = [getattr(leaf.domain, "places", 0) for leaf in own]
        if len(found) != 1 or places != [len(row) + isinstance(of, AnySet)]:
            path = next((leaf.path for leaf in (*found, *own)), "")
            raise OtherFields(f"{few.name(path)} of a state with few is no field of one with any number")
        yield found[0], own[0], row

    ours, theirs = (iter(range(len(one.slots))) for one in (layout, few))
    return [*below(rebuild(layout.shape, lambda: next(ours)), rebuild(few.shape, lambda: next(theirs)), ())]


def _parts(of: Any) -> dict[Any, Any]:
    """The parts of a tuple or a record, by place or name."""
    if isinstance(of, tuple):
        return dict(enumerate(of))
    return {name: getattr(of, name) for name in record_fields(type(of)) or ()}


def is_of_kafka(system: System, layout: Layout, few: Layout) -> bool:
    """Whether a system is one of Kafka's, if with changes, whose fields with few are not those with any number."""
    code = getattr(system.layout, "__code__", None)
    if system.plain is None or code is None or not code.co_filename.startswith(OWN):
        return False
    try:
        return not matched(layout, few)
    except OtherFields:
        return True


@frozen
class Own:
    """A program beside its own rules."""

    program: Program

    @property
    def layout(self) -> Layout:
        """Of the states on ints."""
        return self.program.layout

    def starts(self) -> Iterator[tuple[int, ...]]:
        """The leaves of the initial states that are listed on ints."""
        layout = self.layout
        for packed in self.program.initial:
            start = layout.split(packed) if layout.packed else packed
            if all(isinstance(leaf, int) for leaf in start):
                yield start

    def described(self) -> Described | None:
        """The description of the initial states on ints, if there is one."""
        return description(given_states(self.program.system, self.program.setting))

    def action(self, traced: Action) -> Action:
        """The rules on ints of an action."""
        return traced

    def claim(self, traced: Property) -> Property:
        """The rule on ints of a claim."""
        return traced

    def read(self, values: Sequence[int]) -> StateWords:
        """The terms in a state."""
        state = {term.index: int(value) for term, value in zip(self.program.state, values, strict=True)}
        return StateWords(self.program, state)


@frozen
class StateWords:
    """The terms of a program in a state; each is evaluated once there, and once for each step."""

    program: Program
    values: dict[int, int]

    def worth(self, term: Term) -> int:
        """The value of a term."""
        add_values([term], self.values)
        return self.values[term.index]

    def given(self, kind: Kind, arguments: Sequence[int]) -> StateWords:
        """The same with the arguments of an action: what follows from them is of this step alone."""
        pairs = zip(kind.variables, arguments, strict=True)
        return StateWords(self.program, self.values | {term.index: value for term, value in pairs})

    def effects(self, kind: Kind, after: Sequence[Any]) -> Iterator[tuple[str, int, Any]]:
        """Each field after a step: its path, what the term is worth, and what it is."""
        for slot, term, value in zip(self.program.layout.slots, kind.after, after, strict=True):
            yield slot.path, self.worth(term), value


@frozen
class OfNumber:
    """A program of any number beside the rules of a number."""

    program: Program
    system: System
    setting: Setting
    # layout, numbers: of its states, and how many there are, by bound
    layout: Layout = field(init=False)
    numbers: Mapping[str, int] = field(init=False)
    _actions: Mapping[str, Action] = field(init=False)
    _claims: Mapping[str, Property] = field(init=False)
    _initial: list[Any] = field(init=False)
    _free: dict[int, frozenset[int]] = field(init=False, factory=dict, eq=False)

    def __attrs_post_init__(self) -> None:
        """Ask the system for the rules of the number, and for its initial states.

        Raises:
            SystemFault: where it has other actions, or another shape.
        """
        system, setting, said = self.system, self.setting, self.setting.text()
        numbers = {name: setting[name] for name in self.program.graph.notes.numbers}
        actions = {one.name: one for one in ask("actions", lambda: tuple(system.actions(setting)))}
        for name in sorted({*actions} ^ {kind.action.name for kind in self.program.kinds}):
            raise SystemFault(f"action {name} is there with {said if name in actions else self.program.setting.text()} "
                              f"only, so what is proven of any number is not of each: {said}")  # fmt: skip
        claims = (*system.properties(setting), *system.lemmas(setting))
        layout = Layout(ask("layout", lambda: system.layout(setting)), packed=False)
        for name, value in {
            "layout": layout, "numbers": numbers, "_actions": actions, "_claims": {claim.id: claim for claim in claims},
            "_initial": given_states(system, setting),
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    def starts(self) -> Iterator[tuple[int, ...]]:
        """As those of a program."""
        for state in self._initial if self.described() is None else ():
            self.check_initial(state)
            yield self.layout.values(state)

    def check_initial(self, state: Any) -> None:
        """Raise a SystemFault where a state of the number is none that any number has, by the terms that are proven."""
        rule, read = description(given_states(self.program.system, self.program.setting)), self.read(
            self.layout.values(state))  # fmt: skip
        if not (read.is_listed() if rule is None else all(map(read.worth, self.program.initially.values()))):
            raise SystemFault(f"initial has {show(state)} with {self.setting.text()}, and has no such state for any "
                              "number" + line_of(None if rule is None else rule.rule))  # fmt: skip

    def described(self) -> Described | None:
        """As that of a program."""
        return description(self._initial)

    def action(self, traced: Action) -> Action:
        """As that of a program."""
        return self._actions[traced.name]

    def claim(self, traced: Property) -> Property:
        """The claim as a program has it; of any number where there is no other."""
        return self._claims.get(traced.id, traced)

    def read(self, values: Sequence[int]) -> ByPlace:
        """As that of a program."""
        graph, held = self.program.graph, self.held(values)
        count = self._most() + min(max(held.values(), default=0), FARTHEST) + 2
        words = {graph.variables[term.value]: [self.numbers[name]] for name, term in graph.notes.numbers.items()}
        for slot, symbol in zip(self.program.layout.slots, self.program.state, strict=True):
            words[graph.variables[symbol.value]] = self._nested(held, slot.path, getattr(slot.domain, "places", 0))
        return ByPlace(self, Interpretation(count, words, free=self._free), held)

    def held(self, values: Sequence[int]) -> Mapping[tuple[str, tuple[int, ...]], int]:
        """The words of a state by field and place."""
        found = by_place(self.program.layout, self.layout, self.numbers, values)
        return {(path, row): int(value) for path, row, value in found}

    def _nested(self, held: Mapping[Any, int], path: str, places: int, *row: int) -> list[Any]:
        if not places:
            return [held[path, row]]
        return [self._nested(held, path, places - 1, *row, at) if places > 1 else held.get((path, (*row, at)), 0)
                for at in range(self._most())]  # fmt: skip

    def _most(self) -> int:
        return max(self.numbers.values(), default=0)


@frozen
class ByPlace:
    """The terms of any number in a state with few."""

    of: OfNumber
    places: Interpretation
    held: Mapping[tuple[str, tuple[int, ...]], int]  # the words of the state by field and place

    def worth(self, term: Term) -> int:
        """As that of `StateWords`."""
        return self.places.value(term)

    def given(self, kind: Kind, arguments: Sequence[int]) -> ByPlace:
        """As that of `StateWords`."""
        graph, words = self.of.program.graph, dict[str, Any]()
        for term, value in zip(kind.variables, arguments, strict=True):
            masked = [value >> at & 1 for at in range(self.places.count)] if term.op == "sequence" else [value]
            words[graph.variables[term.value]] = masked
        return evolve(self, places=self.places.given(words))

    def effects(self, kind: Kind, after: Sequence[Any]) -> Iterator[tuple[str, int, Any]]:
        """As those of `StateWords`."""
        terms = dict(zip((slot.path for slot in self.of.program.layout.slots), kind.after, strict=True))
        for (path, row), value in self.of.held(after).items():
            yield f"{path}{[*row] or ''}", self.places.value(terms[path], dict(enumerate(row))), value

    def is_listed(self) -> bool:
        """Whether it is a state that is listed as initial of any number."""
        program = self.of.program
        return any(all(itertools.starmap(self._has, zip(program.layout.slots, start, strict=True)))
                   for start in program.initial)  # fmt: skip

    def _has(self, slot: Any, leaf: Any) -> bool:
        """Whether a field is what an initial state of any number lists."""
        rows = {row: value for (path, row), value in self.held.items() if path == slot.path}
        if isinstance(leaf, Filled):
            return all(value == (leaf.rest if any(row) else leaf.first) for row, value in rows.items())
        return not isinstance(leaf, int) or all(value == leaf for value in rows.values())


_BINDERS = {"every": 2, "least": 2, "greatest": 2, "cardinality": 2, "least_by": 3, "above": 2}
"""What binds a place, and the first of its arguments that is outside."""


@frozen
class Interpretation:
    """An interpretation: each sequence by the words at its first places; it is 0 at all others."""

    count: int  # how many places a binder looks at; what is said of others must be false there
    # the words of a sequence, or those of each sequence of one of sequences, by the name of its symbol
    words: Mapping[str, Sequence[Any]]
    _known: dict[Any, int] = field(factory=dict, eq=False, repr=False, kw_only=True)
    _free: dict[int, frozenset[int]] = field(factory=dict, eq=False, repr=False, kw_only=True)

    def given(self, more: Mapping[str, Sequence[Any]]) -> Interpretation:
        """The same with more words; what is known of terms without them stays known."""
        return Interpretation(self.count, {**self.words, **more}, known=dict(self._known), free=self._free)

    def value(self, term: Term | int, bound: Mapping[int, int] | None = None) -> int:
        """The value of a term, where bound places stand for some."""
        if not isinstance(term, Term):
            return int(term)
        env = bound or {}
        key = term.index, *(env[at] for at in sorted(self._bound(term)))
        if key not in self._known:
            self._known[key] = self._value(term, env)
        return self._known[key]

    def _bound(self, term: Term) -> frozenset[int]:
        """The bound places that a term depends on."""
        if term.index not in self._free:
            inside = frozenset[int]().union(*map(self._bound, term.args))
            if term.op == "bound":
                inside = frozenset([term.value])
            elif term.op in _BINDERS:
                outside = frozenset[int]().union(*map(self._bound, term.args[_BINDERS[term.op] :]))
                inside = (inside - {term.args[0].value}) | outside
            self._free[term.index] = inside
        return self._free[term.index]

    def _value(self, term: Term, env: Mapping[int, int]) -> int:
        match term.op:
            case "const":
                return term.value
            case "var":
                return int(self.words[term.graph.variables[term.value]][0])
            case "bound":
                return env[term.value]
            case "read":
                found: Any = self.words[term.graph.variables[term.args[0].value]]
                for at in (self.value(place, env) for place in term.args[1:]):
                    found = found[at] if found and 0 <= at < len(found) else 0
                return int(found)
            case "ite":
                return self.value(term.args[1] if self.value(term.args[0], env) else term.args[2], env)
            case "and" | "or":
                return int((all if term.op == "and" else any)(self.value(arg, env) for arg in term.args))
            case "every":
                place = term.args[0].value
                return int(all(self.value(term.args[1], {**env, place: at}) for at in range(self.count)))
            case "least" | "greatest":
                return self._extreme_place(term, env)
            case "cardinality" | "least_by" | "above":
                return self._of_every_place(term, env)
        return int(evaluate(term.op, [self.value(arg, env) for arg in term.args]))

    def _extreme_place(self, term: Term, env: Mapping[int, int]) -> int:
        """The first place before a limit, which is the limit or 0 where there is none; or the last up to one, or -1."""
        limit, place = self.value(term.args[2], env), term.args[0].value

        def holds(at: int) -> bool:
            return bool(self.value(term.args[1], {**env, place: at}))

        if term.op == "least":
            return next(filter(holds, range(limit)), max(limit, 0))
        return next(filter(holds, range(limit, -1, -1)), -1)

    def _of_every_place(self, term: Term, env: Mapping[int, int]) -> int:
        place = term.args[0].value
        members = [at for at in range(self.count) if self.value(term.args[1], {**env, place: at})]
        match term.op:
            case "cardinality":
                return len(members)
            case "above":
                return max(members, default=-1) + 1
        return min(members, key=lambda at: self.value(term.args[2], {**env, place: at}), default=-1)
