"""Checked access to the parts of a system: rules are called twice, and their answers must agree.

A rule may depend on nothing but its arguments. It cannot change them, for
states are frozen. It is called twice, and both answers must be the same terms.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import itertools
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from attrs import define, field, frozen
from attrs.exceptions import FrozenInstanceError

from kraftcheck.model.language import sequences, system
from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import DOMAINS, Anything, Filled, LayoutError, leaves, rebuild
from kraftcheck.model.language.symbolic import (
    Symbolic,
    UntraceableRule,
    clash,
    class_of,
    described,
    place_of,
    record_fields,
    variable,
    with_article,
)
from kraftcheck.model.language.system import Action, Property, Setting, Step
from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import RuleError, all_of, any_of
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.symbols import symbol


class SystemFault(ValueError):
    """A system that raises, or answers with the wrong type; the message names the part."""


@frozen
class Choices:
    """The arguments of one action kind."""

    arguments: Mapping[str, Any]  # by name, records of terms
    variables: tuple[Term, ...]  # their leaves
    # argument values by name, one mapping for each instance; none when free
    instances: tuple[Mapping[str, Any], ...] = ()
    table: tuple[tuple[int, ...], ...] = ()  # for each instance, the value of each leaf
    # for each parameter the truth that its argument is one of its values; none when listed
    allowed: Mapping[str, Term] = field(factory=dict)


def listed_arguments(action: Action, graph: Graph) -> Choices:
    """The arguments over the table of all instances.

    Raises:
        SystemFault: when values are no words, or differ in shape.
    """
    names = list(_checked(action))
    rows = [dict(zip(names, row, strict=True)) for row in itertools.product(*action.parameters.values())]
    table = tuple(tuple(_leaf(action, path, v) for path, v in leaves(tuple(row.values()))) for row in rows)
    if not rows:
        return Choices({}, ())
    paths = [path for name, value in rows[0].items() for path, _ in leaves(value, name)]
    if any(len(row) != len(paths) for row in table):
        raise SystemFault(f"action {action.name}: argument values differ in shape")
    columns = list(zip(*table, strict=True)) if paths else []
    variables = tuple(_variable(graph, action, path, column) for path, column in zip(paths, columns, strict=True))
    feed = iter(variables)
    arguments = {name: rebuild(value, lambda: next(feed)) for name, value in rows[0].items()}
    return Choices(arguments, variables, tuple(rows), tuple(tuple(map(_plain, row)) for row in table))


def free_arguments(action: Action, graph: Graph) -> Choices:
    """The arguments as terms that stand for any of their values.

    Raises:
        SystemFault: when values are no words, or differ in shape.
    """
    arguments, variables, allowed = {}, list[Term](), {}
    for name, values in _checked(action).items():
        if isinstance(values, Family):
            symbols = [symbol(graph, f"{action.name}.{path}", d) for path, d in leaves(values.shape, name)]
            shape: Any = values.shape
        else:
            rows = [[_leaf(action, path, v) for path, v in leaves(value, name)] for value in values]
            if not rows:
                return Choices({}, (), allowed={name: graph.constant(False)})
            if any(len(row) != len(rows[0]) for row in rows):
                raise SystemFault(f"action {action.name}: argument values differ in shape")
            shape = values[0]
            paths = [path for path, _ in leaves(shape, name)]
            symbols = [_variable(graph, action, p, c) for p, c in zip(paths, zip(*rows, strict=True), strict=True)]
        feed = iter(symbols)
        arguments[name] = rebuild(shape, lambda feed=feed: next(feed))  # type: ignore[misc]
        variables += map(sequences.symbol_of, symbols)
        member = values.member(arguments[name]) if isinstance(values, Family) else _one_of(rows, symbols)
        allowed[name] = graph.lift(member)
    return Choices(arguments, tuple(variables), allowed=allowed)


def _checked(action: Action) -> Mapping[str, Sequence[Any]]:
    """The values of each parameter; raises SystemFault when one of them has no values to go through."""
    for name, values in action.parameters.items():
        if not isinstance(values, Sequence | Family):
            raise SystemFault(f"action {action.name}: the values of {name} are {described(values)}, no range or list")
        if not isinstance(values, Family | range):
            same_classes(f"action {action.name}: argument {name}", values[0] if values else (), values, "the first")
    return action.parameters


def _one_of(rows: Sequence[Sequence[int]], variables: Sequence[Term]) -> Truth:
    """The truth that the variables are one of the rows; their intervals already hold."""
    if len(variables) == 1:
        values, only = {int(row[0]) for row in rows}, variables[0]
        if len(values) == only.hi - only.lo + 1:
            return True
    return any_of(*(all_of(*(v == x for v, x in zip(variables, row, strict=True))) for row in rows))


def _leaf(action: Action, path: str, value: Any) -> int:
    if not isinstance(value, int):
        what = f"action {action.name}, parameter {path}"
        raise SystemFault(f"{what} ranges over {described(value)}; use words, truths or records of them")
    return value


def _plain(value: int) -> int:
    """A truth or a number; the text of a member of an Enum would be its name."""
    return value if isinstance(value, bool) else int(value)


def _variable(graph: Graph, action: Action, path: str, column: Sequence[int]) -> Term:
    name = graph.free_name(f"{action.name}.{path}")
    if len({isinstance(value, bool) for value in column}) > 1:
        raise SystemFault(f"action {action.name}, parameter {path} ranges over truths and numbers; use one of them")
    if isinstance(column[0], bool):
        return graph.truth_variable(name)
    enums = {class_of(value) for value in column}
    if len(enums - {None}) > 1:
        raise SystemFault(f"action {action.name}, parameter {path}: {clash(*sorted(enums - {None}, key=str))}")
    numbers = list(map(int, column))
    word: Term = variable(graph, name, min(numbers), max(numbers), enums.pop() if len(enums) == 1 else None)
    return word


T = TypeVar("T")

_OF_PYTHONS_SETS = {
    "add": "plus(s.just(x))", "append": "append() of a Queue, or put() of a tuple", "remove": "minus(s.just(x))",
    "discard": "minus(s.just(x))", "union": "plus()", "update": "plus()", "intersection": "keep()",
    "pop": "head() and tail() of a Queue", "popleft": "head() and tail()", "push": "append()",
    "difference": "minus()", "issubset": "within()",
}  # fmt: skip

_OF_TYPE_ERRORS = {
    "has no len()": "use size() of a set, the field size of a Queue, or count()",
    "'Term' object is not callable": "a field is no function: leave the parentheses out",
    "'int' object is not callable": "a field is no function: leave the parentheses out",
    "not supported between instances of 'IntSet'": "use within() of a set, and just(x) for the set of one number",
    "for |: 'IntSet'": "use plus() of a set, and just(x) for the set of one number",
    "for &: 'IntSet'": "use keep() of a set, and just(x) for the set of one number",
    "for -: 'IntSet'": "use minus() of a set, and just(x) for the set of one number",
    "() takes no arguments": "write @attrs.frozen above the class of a record",
    "argument: 'predicate'": "a property takes an id, a sentence and a predicate, and leads_to a premise before that",
    "object is not callable": "give a function, such as lambda s: True",
    "is not iterable": "use has() of a set, or some() of a tuple",
    "does not support item assignment": "use put(), which gives a new tuple",
    "object is not subscriptable": "use get() of a tuple, head() or tail() of a Queue, or has() of a set",
    "takes 0 positional arguments": "what gives a layout, states or actions takes the setting, a rule the state",
    "unexpected keyword argument": "a rule takes the state and the action's parameters, a record its fields",
    "missing": "a rule takes the state and the action's parameters, a record all its fields; evolve() changes some",
}


_HAVE_NO_LINE = ("kraftcheck/model/language/system.py", "kraftcheck/model/language/refinement.py")
"""Where the functions are that answer with a list which a system was given, and that compare two systems."""


def mend_of(error: BaseException, what: str = "") -> str:
    """What to write instead, after a semicolon; empty where an error, and what raised it, do not say enough."""
    if isinstance(error, AttributeError) and error.name == "domain" and isinstance(error.obj, enum.EnumMeta):
        return "; make it a kc.Enum"
    if isinstance(error, TypeError) and what.startswith("property ") and "missing" in str(error):
        return "; a property takes the state, or a step, alone: give a list of one property for each value"
    if isinstance(error, (FrozenInstanceError, dataclasses.FrozenInstanceError)):
        return "; a state never changes: return evolve(state, field=value)"
    if isinstance(error, AttributeError) and error.name in ("before", "after", "event"):
        return "; kc.step and kc.happens are asked of steps, kc.always and kc.sometimes of states"
    if isinstance(error, AttributeError) and error.name is not None:
        if error.name in _OF_PYTHONS_SETS and not hasattr(error.obj, "__path__"):
            return f"; use {_OF_PYTHONS_SETS[error.name]}"
        parts = [name for name in dir(error.obj) if not name.startswith("_")]
        if "bit_count" in parts:
            return "; it is a number, which has no parts: compare it, as in `state.leader < 0` where nobody leads"
        hint = nearest(error.name, parts)
        return f"; {hint}" if hint else ""
    if isinstance(error, TypeError):
        if (names := _fields_missed(error)) is not None:
            return names
        return next((f"; {mend}" for sign, mend in _OF_TYPE_ERRORS.items() if sign in str(error)), "")
    return ""


def _fields_missed(error: TypeError) -> str | None:
    """The nearest names of fields, where a record was given one that it does not have."""
    found = re.match(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if found is None:
        return None
    known = [*vars(system).values()]
    for frame, _ in traceback.walk_tb(error.__traceback__):
        known += [*frame.f_locals.values(), *frame.f_globals.values()]
    kinds = (one if isinstance(one, type) else type(one) for one in known)
    names = next((record_fields(kind) for kind in kinds if kind.__name__ == found[1] and record_fields(kind)), None)
    return None if names is None else f"; {nearest(found[2], names)}"


def one_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())


def line_of(*rules: Callable[..., Any] | None) -> str:
    """The lines of rules in parentheses, each once; empty for what is no function of a system's author."""
    codes = [getattr(inspect.unwrap(rule), "__code__", None) for rule in rules if rule is not None]
    lines = dict.fromkeys(
        f"{code.co_filename}:{code.co_firstlineno}"
        for code in codes
        if code is not None and not code.co_filename.endswith(_HAVE_NO_LINE)
    )
    return f" ({', '.join(lines)})" if lines else ""


def no_state(state: Any, shape: Any, differing: Iterable[str]) -> str:
    """What is wrong with an effect's answer that has not the fields of the layout, and what to return."""
    if state is None:
        return "; it gave None: return the next state"
    if record_fields(type(shape)) is not None and not isinstance(state, type(shape)):
        return f"; it gave no {type(shape).__name__}: return evolve(state, field=value)"
    first = next(iter(differing), "").partition("[")[0]
    given = getattr(state, first, None) if first else None
    return f"; {first} is a {type(given).__name__}: make it a tuple" if isinstance(given, (list, set, dict)) else ""


RAISED = (Exception, SystemExit)
"""What a part of a user's system may raise; the second would end the process as if it had a verdict."""


def ask(what: str, question: Callable[[], T], rule: Callable[..., Any] | None = None) -> T:
    """Call a part of the system; blame that part for what it raises, at its line or at that of the rule called."""
    try:
        return question()
    except (UntraceableRule, LayoutError, RuleError):
        raise
    except system.ScopeError as error:
        raise SystemFault(f"{what.partition(':')[0]}: {one_line(error)}") from error
    except RAISED as error:
        line = place_of(error)
        at = line_of(rule) if line is None else f" ({line})"
        text = f"{type(error).__name__}: {one_line(error)}{mend_of(error, what)}{at}"
        raise SystemFault(f"{what} raised {text}") from error


def ask_twice(
    what: str, question: Callable[[], T], rule: Callable[..., Any] | None = None, anew: Callable[[], T] | None = None
) -> T:
    """The answer of a rule, once it has given the same twice.

    Args:
        rule: has its line.
        anew: asks the rule that the system gave when it was asked for its parts again.

    Raises:
        SystemFault: when it gave two answers: it depends on more than its arguments.
    """
    first, again = ask(what, question, rule), ask(what, anew or question, rule)
    if not _same(first, again):
        raise SystemFault(
            f"{what} gave two answers to the same question; a rule may depend on its arguments alone: "
            f"no counter, clock, random number, or memory of earlier calls{line_of(rule)}"
        )
    return first


@define
class Given:
    """What rules are asked of, one after the other, and may not change."""

    _given: Any = None
    _held: list[Any] = field(factory=list)

    def unchanged_by(self, what: str, given: Any, question: Callable[[], T], rule: Callable[..., Any] | None) -> T:
        """The answer to a question that is asked of a state or a step.

        Raises:
            SystemFault: when the rule changes what it is given: the next rule would be asked about another state.
        """
        if given is not self._given:  # else it is as the last rule left it
            self._given, self._held = given, _held_by(given)
        answer = question()
        now = _held_by(given)
        pairs = zip(self._held, now, strict=False)
        if len(self._held) != len(now) or not all(a is b or _same_leaf(a, b) for a, b in pairs):
            mend = "return evolve(state, field=value)"
            raise SystemFault(f"{what} changes the state that it is given; {mend}{line_of(rule)}")
        return answer


def _held_by(given: Any) -> list[Any]:
    states = (given.before, given.after) if isinstance(given, Step) else (given,)
    return [value for _, value in leaves(states)]


def made_twice(
    what: str, make: Callable[[], Iterable[T]], values: Callable[[T], Any]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """The parts of a system as it gives them, and as it gives them when it is asked again.

    Args:
        values: what of each has to be the same.

    Raises:
        SystemFault: where they are not: a proof would be of some of them.
    """
    one, other = ask(what, make), ask(what, make)
    mend = "give a list, or a function that makes a new one from the setting alone"
    if one is other and isinstance(one, Iterator):
        raise SystemFault(f"{what} gave an iterator, which can be gone through only once; {mend}")
    first, again = (ask(what, lambda made=made: tuple(made)) for made in (one, other))  # type: ignore[misc]
    if [*map(values, first)] != [*map(values, again)]:
        raise SystemFault(f"{what} gave others when asked again; {mend}")
    return first, again


def claims_of(what: str, make: Callable[[Setting], Iterable[Property]], setting: Setting) -> tuple[Property, ...]:
    """The properties, or lemmas, of a system, once it has given some of the same ids and kinds twice."""
    return made_twice(what, lambda: make(setting), lambda one: (one.id, one.kind))[0]


def _same(a: Any, b: Any) -> bool:
    """Whether two answers are the same terms in the same places."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(_same(a[name], b[name]) for name in a)
    ours, theirs = list(leaves(a)), list(leaves(b))
    return [path for path, _ in ours] == [path for path, _ in theirs] and all(
        _same_leaf(x, y) for (_, x), (_, y) in zip(ours, theirs, strict=True)
    )


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, Symbolic) and isinstance(b, Symbolic):
        # Equal terms are one object; a sequence is a new one each time, known by its word at any place.
        return a is b if isinstance(a, Term) else a.described() == b.described()
    return not isinstance(a, Symbolic) and not isinstance(b, Symbolic) and type(a) is type(b) and bool(a == b)


def check_refusals(graph: Graph) -> None:
    """Refuse a system one of whose rules caught what it was refused: it went on with a decision that was none."""
    if graph.refusals:
        raise UntraceableRule(graph.refusals[0])


def file_part(text: str) -> str:
    """A name as a part of the name of a file that no folder hides: without `/`, and without a dot at its start.

    >>> file_part("../odd id")
    '%2E.%2Fodd id'
    """
    name = quote(text, safe=" +")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def check_names(what: str, named: Iterable[tuple[str, Callable[..., Any]]]) -> None:
    """Refuse two things of one name: reports would take one for the other.

    Args:
        named: the name of each, and a rule that shows its line.

    Raises:
        SystemFault: naming the first, with the lines of its rules.
    """
    rules: dict[str, list[Callable[..., Any]]] = {}
    for name, rule in named:
        rules.setdefault(name, []).append(rule)
    for name, same in rules.items():
        if len(same) > 1:
            raise SystemFault(f"two {what} have the name {name!r}; rename one{line_of(*same)}")


def check_frozen(what: str, value: Any) -> None:
    """Refuse a record that a rule could change in place, so that the next rule would be asked about another state.

    And one that equals itself alone: a rule would take two of the same words for unequal.

    Raises:
        SystemFault: naming its class.
    """
    if isinstance(value, tuple):
        for item in value:
            check_frozen(what, item)
        return
    names = None if isinstance(value, Symbolic) else record_fields(type(value))
    if names is None:
        return
    held = with_article(type(value).__name__)
    if not _is_frozen(type(value), names):
        raise SystemFault(f"{what} has {held}, which rules could change; make it attrs.frozen")
    if type(value).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        raise SystemFault(f"{what} has {held}, which equals itself alone; leave out eq=False")
    for name in names:
        check_frozen(what, getattr(value, name))


def _is_frozen(kind: type, names: Sequence[str]) -> bool:
    """Whether a class of records refuses assignment, tried on an instance that nobody else has."""
    if not names:
        return True
    try:
        setattr(object.__new__(kind), names[0], None)
    except (FrozenInstanceError, dataclasses.FrozenInstanceError):
        return True
    except Exception:
        return False  # it looks at what is assigned, so it can be assigned
    return False


def same_classes(what: str, shape: Any, values: Sequence[Any], of: str = "the layout") -> None:
    """Refuse values whose records are of other classes than the layout's: another class may answer otherwise.

    Raises:
        SystemFault: naming both classes.
    """
    expected = _classes(shape)
    for value in values:
        for ours, theirs in zip(expected, _classes(value), strict=False):
            if ours is not theirs:
                where = f"where {of} has {with_article(ours.__name__)}; use one class"
                raise SystemFault(f"{what} gave {with_article(theirs.__name__)} {where}")


def _classes(value: Any) -> list[type]:
    """The classes of the records in a value, in order."""
    leaf = isinstance(value, (Symbolic, Anything, Filled, *DOMAINS))
    names = () if isinstance(value, tuple) else record_fields(type(value))
    if leaf or names is None:
        return []
    below: list[Any] = list(value) if isinstance(value, tuple) else [getattr(value, name) for name in names]
    return [type(value), *(kind for item in below for kind in _classes(item))]
