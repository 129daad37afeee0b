"""The comparison of a system of any number with each number that searches take, and with some more.

The rules of a number are traced with the words of any number, and must be the same terms: so a proof of any number is
one of each, whatever a system knows of its bounds. The fields, arguments and initial states of a number must be those
of any as well.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.collections import equal
from kraftcheck.model.language.layout import (
    Counter,
    Described,
    Domain,
    Endless,
    EndlessSet,
    Flag,
    Layout,
    LayoutError,
    NoStateError,
    Range,
    leaves,
)
from kraftcheck.model.language.symbolic import UntraceableRule, record_fields
from kraftcheck.model.language.system import Action, Bound, Setting, System, exceeding, freed, is_any
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.audit.numbers import MOST_VALUES, OfNumber, is_of_kafka, matched
from kraftcheck.solvers.audit.ways import is_of_rules
from kraftcheck.solvers.program.fingerprint import meanings
from kraftcheck.solvers.program.parts import RAISED, SystemFault, ask, line_of, same_classes
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import description, given_states

FURTHER = (*range(1, 9), 50)
"""By so much are there more participants than searches take, where those of any number are compared with theirs."""

MOST_LISTED = 1000  # initial states of a number beyond those: the next number may have many more
MOST_COMPARED = 100_000  # initial states of a number that searches take

Made = Callable[[System, Setting], Program]


def check_each(made: Made, system: System, setting: Setting) -> None:
    """Compare a system of any number with itself with each number.

    Args:
        made: traces it.
        system, setting: the system, and where bounds may be any.

    Raises:
        SystemFault: naming what differs, and the number; or the bounds, where they take too many values to tell.
    """
    free = [bound for bound in system.bounds if is_any(setting[bound.name])]
    if not free:
        return
    names = [bound.name for bound in free]
    free += [bound for bound in system.bounds if bound.freed_by in names]  # with a number these bound something
    program = made(system, setting)
    if system.plain is not None:  # tests compare what is Kafka's
        few = system.layout(_with(system, setting, {bound.name: bound.lo for bound in free}))
        if is_of_kafka(system, program.layout, Layout(few, packed=False)):
            _check_added(made, system, program, _searched(system, setting, free))
            return
    if (count := math.prod(bound.hi - bound.lo + 1 for bound in free)) > MOST_VALUES:
        several = " and ".join(bound.name for bound in free)
        raise SystemFault(f"{several} may be any, and take{'s' * (len(free) == 1)} {count:,} values, with each of "
                          f"which the system must be the same; let it take at most {MOST_VALUES}")  # fmt: skip
    of_any = _AnyNumber(program, system, given_states(system, setting), _texts(program))
    for taken in _searched(system, setting, free):
        _Number.of(of_any, taken).check(made, MOST_COMPARED)
    for more in FURTHER:
        try:
            beyond = _with(system, setting, {one.name: one.hi + more * (one.name in names) for one in free})
            number = _Number.of(of_any, beyond)
        except (SystemFault, LayoutError, UntraceableRule):  # the system has no such number
            return
        number.check(made)
        if len(number.states) > MOST_LISTED:
            return


def _searched(system: System, setting: Setting, bounds: Sequence[Bound]) -> Iterator[Setting]:
    """The setting with each value of each of the bounds that a search takes."""
    for values in itertools.product(*(range(bound.lo, bound.hi + 1) for bound in bounds)):
        taken = _with(system, setting, {bound.name: value for bound, value in zip(bounds, values, strict=True)})
        if all(name in taken.freed for name, _ in exceeding(system.bounds, taken.bounds)):
            yield taken


def _check_added(made: Made, system: System, program: Program, numbers: Iterable[Setting]) -> None:
    """Compare what is added to a system of Kafka: tests compare what is Kafka's."""
    plain, setting = system.plain, program.setting
    assert plain is not None
    shape, given = system.layout(setting), given_states(system, setting)
    known = record_fields(type(plain.layout(setting))) or ()
    fields = [name for name in record_fields(type(shape)) or () if name not in known]
    ours, shipped = _named(system, setting), _named(plain, setting)
    claims, lemmas = ([one.id for one in part(setting)] for part in (system.properties, system.lemmas))
    of_any, rule = _AnyNumber(program, system, (), _texts(program)), description(given)
    begins: Any = None
    for taken in numbers:
        try:
            with _globals_kept(taken):
                theirs = ask("a part", lambda taken=taken: _named(system, taken))  # type: ignore[misc]
                state = next(iter(given_states(system, taken)), None)
        except GlobalSet:
            raise
        except SystemFault:  # nor these: it would raise the same
            continue
        mixed = {name: theirs.get(name, one) if name not in shipped else one for name, one in ours.items()}
        actions = {one.name: (ours[key], one) for key, one in mixed.items() if isinstance(one, Action)}
        starts = {name: getattr(state, name) for name in fields} if state is not None else begins

        def begun(words: Any, starts: Any = starts) -> dict[str, Any]:
            alike = {f"{name} is as at the start": equal(getattr(words, name), one) for name, one in starts.items()}
            return {**(rule.holds(words) if rule else {}), **alike}

        swapped = evolve(
            system, layout=lambda _: shape, initial=[Described(begun)] if rule and starts else given,
            actions=[_with_values(one, our) for our, one in actions.values()],
            properties=[mixed[f"property {id_}"] for id_ in claims],
            lemmas=[mixed[f"property {id_}"] for id_ in lemmas],
        )  # fmt: skip
        few = system.layout(taken)
        number = _Number(of_any, taken, (), None, swapped, actions)
        number._check_arguments()
        for name in fields:
            own = [Layout((getattr(of, name),), packed=False) for of in (few, shape)]
            number._check_fields(*own)
        if starts != begins or not all(alike(ours[name], one) for name, one in mixed.items()):
            number._check_rules(made)
        begins = starts


def _named(system: System, setting: Setting) -> dict[str, Any]:
    """The actions and claims of a system, by kind and name."""
    claims = (*system.properties(setting), *system.lemmas(setting))
    return {f"action {one.name}": one for one in system.actions(setting)} | {
        f"property {one.id}": one for one in claims
    }


def alike(one: Any, other: Any, deep: int = 20) -> bool:
    """Whether rules, or what they are made of, are the same code with the same values: False where that is unknown.

    >>> alike(lambda: 1, lambda: 1), alike([1, "a"], [1, "a"])
    (False, True)
    """
    if isinstance(one, FunctionType) and _reads_what_changes(one):
        return False
    if one is other or not deep or type(one) is not type(other):
        return one is other
    first, second = map(_parts, (one, other))
    if first is None or second is None:
        return isinstance(one, int | str) and one == other
    return len(first) == len(second) and all(alike(a, b, deep - 1) for a, b in zip(first, second, strict=True))


def _reads_what_changes(rule: FunctionType) -> bool:
    """Whether a rule names something of its module that may hold another value with another number."""
    codes = [rule.__code__]
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    named = (rule.__globals__.get(name) for code in codes for name in code.co_names)
    return any(isinstance(one, dict | list | set | bytearray) or (hasattr(one, "__dict__") and not isinstance(
        one, type | ModuleType | FunctionType) and record_fields(type(one)) is None) for one in named)  # fmt: skip


def _parts(of: Any) -> Sequence[Any] | None:
    """What a rule, or a collection, is made of; None for a value without parts."""
    match of:
        case FunctionType():
            cells = [cell.cell_contents for cell in of.__closure__ or ()]
            return [of.__code__, of.__defaults__, of.__kwdefaults__, *cells]
        case MethodType():
            return [of.__func__, of.__self__]
        case functools.partial():
            return [of.func, of.args, of.keywords]
        case Mapping():
            return [*of, *of.values()]
        case list() | tuple():
            return of
    names = record_fields(type(of))
    return None if names is None else [getattr(of, name) for name in names]


def _with(system: System, setting: Setting, numbers: Mapping[str, int]) -> Setting:
    """A setting with numbers for bounds that are any, and for those that these free."""
    bounds = {**setting.bounds, **numbers}
    return evolve(setting, bounds=bounds, freed=freed({bound.name: bound for bound in system.bounds}, bounds))


class GlobalSet(SystemFault):
    """A part of a system that sets a name of a module when it is asked for, which rules of any number then read."""


@contextlib.contextmanager
def _globals_kept(setting: Setting) -> Iterator[None]:
    """Refuse parts that set a name of a module anew; raises GlobalSet, naming it."""
    before = _globals()
    yield
    for (module, name), value in _globals().items():
        if value is not before.get((module, name), value):
            raise GlobalSet(f"{module}: {name} is set anew where the system is asked for its parts with "
                            f"{setting.text()}, so rules may read what it is of another number; let these depend on "
                            "the setting alone")  # fmt: skip


def _globals() -> dict[tuple[str, str], Any]:
    """What the names of the modules of users stand for."""
    files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
    own = [name for name, file in files.items() if file and "site-packages" not in file and is_of_rules(file)]
    return {(module, name): value for module in own for name, value in vars(sys.modules[module]).items()}


@frozen
class _AnyNumber:
    """A system of any number, as it is compared with each."""

    program: Program
    system: System
    states: Sequence[Any]  # what it gives of initial states
    texts: Mapping[str, tuple[str, Callable[..., Any] | None]]  # see `_texts`


@frozen
class _Number:
    """A system of any number beside what it gives for a number."""

    of_any: _AnyNumber
    setting: Setting  # with the number
    states: Sequence[Any]  # what it gives of initial states
    layout: Layout | None  # None where no field has a value
    swapped: System  # the system of any number, with the rules of the number
    actions: Mapping[str, tuple[Action, Action]]  # of any number, and of the number

    @classmethod
    def of(cls, of_any: _AnyNumber, setting: Setting) -> _Number:
        """Ask the system for its parts with the number."""
        program, system = of_any.program, of_any.system
        shape = system.layout(program.setting)  # before what the number has: a layout may set what rules read
        ours = {one.name: one for one in system.actions(program.setting)}
        with _globals_kept(setting):
            states = given_states(system, setting)
            theirs = {one.name: one for one in ask("actions", lambda: tuple(system.actions(setting)))}
        both = {name: (ours[name], theirs[name]) for name in ours if name in theirs}
        try:
            with _globals_kept(setting):
                layout = Layout(ask("layout", lambda: system.layout(setting)), packed=False)
        except NoStateError:
            layout = None
        swapped = evolve(
            system, layout=lambda _: shape,
            actions=[_with_values(their, our) for our, their in both.values()] + [
                theirs[name] for name in theirs if name not in ours],
            properties=ask("properties", lambda: tuple(system.properties(setting))),
            lemmas=ask("lemmas", lambda: tuple(system.lemmas(setting))),
            initial=states if description(of_any.states) and description(states) else of_any.states,
        )  # fmt: skip
        return cls(of_any, setting, states, layout, swapped, both)

    def check(self, made: Made, most: int = 0) -> None:
        """Compare all; `most` initial states, if told, or the number has too many."""
        said = self.setting.text()
        if most and len(self.states) > most:
            raise SystemFault(f"initial lists {len(self.states):,} states with {said}, too many to look for each "
                              "among those of any number; describe them with all_where, or lower it")  # fmt: skip
        rule, described = description(self.of_any.states), description(self.states)
        if rule is not None and described is None:
            of = OfNumber(self.of_any.program, self.of_any.system, self.setting)
            for state in self.states:
                of.check_initial(state)
        if rule is None and described is not None:
            raise SystemFault(f"initial describes states with {said}, and lists those of any number; describe these"
                              + line_of(described.rule))  # fmt: skip
        self._check_rules(made)
        self._check_arguments()
        if self.layout is not None:
            self._check_fields(self.layout, self.of_any.program.layout)
            if rule is None:
                list(OfNumber(self.of_any.program, self.of_any.system, self.setting).starts())

    def _differs(self, what: str, rule: Callable[..., Any] | None = None, why: str = "") -> SystemFault:
        return SystemFault(f"{what} is another with {self.setting.text()} than with any number, so what is proven of "
                           f"any number is not of each{why}{line_of(rule)}")  # fmt: skip

    def _check_rules(self, made: Made) -> None:
        """Compare the terms of the rules with those of the number, traced with the same words."""
        try:
            with _globals_kept(self.setting):
                theirs = made(self.swapped, self.of_any.program.setting)
        except GlobalSet:
            raise
        except RAISED as error:
            raise self._differs("a rule", why=f": {error}") from error
        ours, others = self.of_any.texts, _texts(theirs)
        for name in sorted({*ours} | {*others}):
            (text, rule), (other, their) = ours.get(name, ("", None)), others.get(name, ("", None))
            if text != other:
                raise self._differs(name, rule or their)

    def _check_arguments(self) -> None:
        """Compare the values of arguments: those of any number that are below the number are those of the number."""
        for name, (our, their) in self.actions.items():
            for parameter, values in our.parameters.items():
                if [*their.parameters] != [*our.parameters] or not self._same_values(
                    values, their.parameters[parameter]
                ):
                    raise self._differs(f"argument {parameter} of action {name}")

    def _same_values(self, ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
        if not isinstance(ours, Family):
            return not isinstance(theirs, Family) and alike([*ours], [*theirs])
        of = ours.shape
        if isinstance(of, Counter) and of.below and theirs != range(of.lo, self.setting[of.below]):
            return False
        if isinstance(theirs, Family):
            return repr(ours.shape) == repr(theirs.shape)
        if isinstance(of, Counter) and not of.below and [*theirs[:1]] != [of.lo]:
            return False
        return all(self._is_of(of, one) and ours.member(one) for one in itertools.islice(theirs, MOST_COMPARED))

    def _is_of(self, shape: Any, value: Any) -> bool:
        """Whether a value of an argument lies in the domains that it has with any number."""
        same_classes("a value", shape, [value])
        domains, found = ([leaf for _, leaf in leaves(one)] for one in (shape, value))
        ends = [self._ends(domain, isinstance(domain, Endless)) for domain in domains]
        return len(ends) == len(found) and all(lo <= one <= hi for (lo, hi), one in zip(ends, found, strict=True))

    def _check_fields(self, few: Layout, of_any: Layout) -> None:
        """Compare the domains of the fields, each by its places, and these with the numbers that bound them."""
        found = dict[str, set[tuple[int, ...]]]()
        for slot, of, row in matched(of_any, few):
            found.setdefault(of.path, set()).add(row)
            member = isinstance(of.domain, Endless) and len(row) < of.domain.places
            truths = isinstance(of.domain, Flag) or (getattr(of.domain, "truths", False) and not member)
            ends = self._ends(of.domain, member)
            if ends != (slot.domain.lo, slot.domain.hi) or truths != isinstance(slot.domain, Flag):
                raise self._differs(f"the domain of {slot.path}")
            if bool(getattr(slot.domain, "cap", "")) != bool(getattr(of.domain, "cap", "")):
                raise self._differs(f"the cap of {slot.path}")
        for of in of_any.slots:
            if isinstance(of.domain, Endless):
                names = of.domain.numbers[: of.domain.places - isinstance(of.domain, EndlessSet)]
                whole = itertools.product(*(range(self.setting[name]) for name in names if name is not None))
                if None not in names and found.get(of.path, set()) != {*whole}:
                    raise self._differs(f"which places {of.path} has")

    def _ends(self, of: Domain, member: bool) -> tuple[int, int]:
        """The least and the largest value of a field of any number, with the number."""
        if member and isinstance(of, Endless):
            return 0, (1 << self.setting[of.numbers[-1] or ""]) - 1
        if not isinstance(of, Range | Flag) and of.below:
            return of.lo, self.setting[of.below] - 1
        return of.lo, of.hi


def _with_values(their: Action, our: Action) -> Action:
    """An action of a number with the values of any number, or with its own condition of which these are."""
    families = {name: one for name, one in their.parameters.items() if isinstance(one, Family)}
    return evolve(their, parameters={
        name: families.get(name, one) if isinstance(one, Family) else one for name, one in our.parameters.items()
    })  # fmt: skip


def _texts(program: Program) -> dict[str, tuple[str, Callable[..., Any] | None]]:
    """What each rule of a program says, whatever else its graph holds, and the rule."""
    digests = meanings(program.graph)

    def said(of: Mapping[str, Term]) -> str:
        return repr({name: digests[term.index] for name, term in of.items()})

    def of_claims() -> Iterator[tuple[str, Mapping[str, Term], Callable[..., Any]]]:
        for claim, term in zip(program.always, program.always_terms, strict=True):
            yield f"property {claim.id}", {"": term}, claim.predicate
        for position, claim in enumerate(program.steps):
            truths = {kind.action.name: kind.steps[position] for kind in program.kinds}
            yield f"property {claim.id}", truths, claim.predicate
        for claim in program.steps:
            if claim.id in program.starts:
                yield f"property {claim.id} at the start", {"": program.starts[claim.id]}, claim.predicate

    def of_actions() -> Iterator[tuple[str, Mapping[str, Term], Callable[..., Any] | None]]:
        for kind in program.kinds:
            label, action = f"action {kind.action.name}", kind.action
            parts = {"guard": kind.guard, "argument": kind.allowed}
            named = {f"{of} {name}": term for of, terms in parts.items() for name, term in terms.items()}
            yield f"{label}, guard", named, action.guard
            yield f"{label}, effect", {str(place): term for place, term in enumerate(kind.after)}, action.effect

    rules = [*of_actions(), *of_claims()]
    found = {name: (said(terms), rule) for name, terms, rule in rules}
    for name in [name for name, _, _ in rules] if len(found) < len(rules) else ():
        if sum(name == other for other, _, _ in rules) > 1:
            raise SystemFault(f"two rules are called {name!r}; rename a property")
    begins = description(given_states(program.system, program.setting))
    return found | {
        "initial": (said(program.initially) + repr(program.initial), None if begins is None else begins.rule)
    }
