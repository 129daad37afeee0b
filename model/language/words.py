"""What rules are written with: `choose`, truths, optional fields; and rules with a name, a source and switches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar, overload

from attrs import Attribute, frozen

from kraftcheck.model.language.symbolic import (
    Untold,
    brief,
    check_alike,
    check_place,
    class_of,
    described,
    is_record,
    named,
    place,
    record_fields,
    with_article,
)
from kraftcheck.model.language.terms import (
    ENDLESS,
    MASK_BITS,
    Graph,
    Term,
    Truth,
    TruthOperator,
    Word,
    WordOperator,
    evaluate,
)

T = TypeVar("T")

NO_LEADER = -1  # the leader of a leaderless partition, and the content of a vacant replica slot
EMPTY = -2  # content of an `AtMostOne` that holds nothing; -1 is a member there (defect B5)

BRANCH, CONJUNCT, DISJUNCT = "branch", "conjunct", "disjunct"
"""How a rule decides by a truth: it chooses between two values, or the truth is part of all_of or any_of."""


def choose(condition: Truth, then: T, otherwise: T) -> T:
    """`then` where the condition holds, else `otherwise`.

    Args:
        then, otherwise: words, truths, tuples or records (attrs' or dataclasses) of one shape;
            records are chosen field by field.

    Raises:
        UntraceableRule: when a symbolic condition chooses between two shapes.

    >>> choose(True, 1, 2)
    1
    """
    condition = _decision(condition, BRANCH)
    if isinstance(condition, Term):
        found: T = _merge(condition, then, otherwise)
        return found
    return then if condition else otherwise


def _decision(truth: Truth, kind: str, position: int = 0) -> Truth:
    """The truth, once the graph has seen that a rule decides by it; raises as `_concrete_truth` does."""
    return truth.graph.decision(truth, kind, position) if isinstance(truth, Term) else _concrete_truth(truth)


def _concrete_truth(value: Any) -> Any:
    """The value, which Python would take for true whatever it is.

    Raises:
        TypeError: where it is no truth: a collection, a record, a function that was not called.
    """
    if isinstance(value, int):
        return value
    if isinstance(value, Iterable):
        raise TypeError(
            f"{with_article(type(value).__name__)} where one truth is expected; write all_of(*truths), any_of(*truths)"
        )
    mend = "; call it" if callable(value) else ""
    if is_record(value):
        mend = "; an action has two functions: its effect gives a state, and its guard a truth"
    raise TypeError(f"{brief(value)} where a truth is expected{mend}")


def _merge(condition: Term, a: Any, b: Any) -> Any:
    if isinstance(a, int | Term) and isinstance(b, int | Term):
        kind, graph = class_of(a), condition.graph
        check_alike(graph, a, b)
        return named(graph, graph.ite(condition, a, b), kind if class_of(b) is kind else None)
    if a is b:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(_merge(condition, x, y) for x, y in zip(a, b, strict=True))
    if type(a) is type(b):
        if hasattr(type(a), "chosen_by_place"):
            return a.chosen_by_place(condition, b)  # a sequence without end is chosen place by place
        names = record_fields(type(a))
        if names is not None and not getattr(type(a), "concrete_only", False):
            return type(a)(**{n: _merge(condition, getattr(a, n), getattr(b, n)) for n in names})
        if a == b:
            return a
    raise condition.graph.refusal(
        f"choose() on a symbolic condition between {described(a)} and {described(b)}, which differ in shape"
    )


def pick(items: Sequence[T], index: Word, otherwise: T) -> T:
    """The item at an index, which may be symbolic; `otherwise` outside the items.

    >>> pick((7, 8, 9), 1, 0), pick((7, 8, 9), -1, 0)
    (8, 0)
    """
    check_place(index)
    result = otherwise
    for position, item in enumerate(items):
        result = choose(index == position, item, result)
    return result


def negate(value: Truth) -> Truth:
    """The negation of a truth."""
    if not isinstance(value, Term):
        return not _concrete_truth(value)
    result = value.graph.negate(value)
    if isinstance(result, Term):
        value.graph.implications.note_negation(result, value)
    return result


def all_of(*truths: Truth) -> Truth:
    """The truth that every argument holds; true for none.

    >>> all_of(True, 1 < 2), all_of()
    (True, True)
    """
    result: Truth = True
    for position, argument in enumerate(truths):
        truth = _decision(argument, CONJUNCT, position)
        result = truth if result is True else result & truth
        if result is False:
            return False
    return result


def any_of(*truths: Truth) -> Truth:
    """The truth that some argument holds; false for none.

    `any_of(negate(p), q)` is `implies(p, q)`, and a property that says nothing else is judged like it.
    """
    result = _disjunction(*truths)
    graph = next((truth.graph for truth in truths if isinstance(truth, Term)), None)
    if graph is not None:
        graph.implications.note_disjunction(result if isinstance(result, Term) else None, truths)
    return result


def _disjunction(*truths: Truth) -> Truth:
    result: Truth = False
    for position, argument in enumerate(truths):
        truth = _decision(argument, DISJUNCT, position)
        result = truth if result is False else result | truth
        if result is True:
            return True
    return result


def none_of(*truths: Truth) -> Truth:
    """The truth that no argument holds."""
    return negate(any_of(*truths))


def implies(premise: Truth, conclusion: Truth) -> Truth:
    """The truth that the conclusion holds wherever the premise does.

    A property that says nothing but this of states that are never reached is vacuous, and does not hold.
    """
    result = _disjunction(negate(premise), conclusion)
    if isinstance(premise, Term):
        whole = result if isinstance(result, Term) else None
        premise.graph.implications.note(whole, (premise,), (conclusion,))
    return result


def same_truth(a: Truth, b: Truth) -> Truth:
    """Whether two truths are equal."""
    return choose(a, b, negate(b))


def word(value: Truth) -> Word:
    """A truth as the word 1 or 0."""
    return choose(value, 1, 0)


@overload
def apply(op: TruthOperator, *operands: Word) -> Truth: ...


@overload
def apply(op: WordOperator, *operands: Word) -> Word: ...


def apply(op: str, *operands: Word) -> Any:
    """An operator of the term graph on ints or terms; for the collections, not for rules."""
    graph: Graph | None = next((o.graph for o in operands if isinstance(o, Term)), None)
    if graph is None:
        return evaluate(op, [int(o) for o in operands])
    return graph.apply(op, *(graph.lift(o) for o in operands))


def concrete(value: Word) -> int:
    """The word as an int; raises UntraceableRule when it is symbolic."""
    if isinstance(value, Term):
        raise value.graph.refusal("a symbolic word where only a concrete one can be; ask has() of each member")
    return value


def largest(value: Word) -> int:
    """The largest value that a word may have."""
    return value.hi if isinstance(value, Term) else value


def bit_of(broker: Word) -> Word:
    """The id of a broker, which a mask has a bit for; raises ValueError when it has none, and as `check_place` does."""
    check_place(broker)
    if largest(broker) >= MASK_BITS:
        what = "a word that no number bounds" if largest(broker) >= ENDLESS else largest(broker)
        raise ValueError(f"{what} in a set: its numbers are 0..{MASK_BITS - 1}")
    return broker


@frozen
class Maybe(Generic[T], Untold):
    """An optional field of a record: absent, or present with a value.

    Absent, empty and "the same value again" are three different things in
    Kafka's records. The value of an absent field has the right shape and no
    meaning.
    """

    present: Truth
    value: T

    def or_else(self, default: T) -> T:
        """The value where present, else the default."""
        return choose(self.present, self.value, default)

    def set_when(self, condition: Truth, value: T) -> Maybe[T]:
        """The field with `value` where the condition holds, else as it was."""
        condition = _decision(condition, BRANCH)
        return Maybe(any_of(self.present, condition), choose(condition, value, self.value))

    def clear_when(self, condition: Truth) -> Maybe[T]:
        """The field made absent where the condition holds."""
        return Maybe(all_of(self.present, negate(_decision(condition, BRANCH))), self.value)


def absent(shape: T) -> Maybe[T]:
    """An absent field; `shape` is any value of the field's type."""
    return Maybe(False, shape)


def present(value: T) -> Maybe[T]:
    """A present field."""
    return Maybe(True, value)


_MARK = "__kraftcheck_rules__"
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")

F = TypeVar("F", bound=Callable[..., Any])


class RuleError(ValueError):
    """A rule, or a name, that is none, or cannot be where it is: the message names the place."""


def readable(part: Any, attribute: Attribute[str], name: Any) -> None:
    """Refuse a name that nobody can read in a report, a trace or the name of a file: a validator of a part's name.

    Raises:
        RuleError: which begins with the file and the line where it is given.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        at, what = place().rpartition("/")[2], type(part).__name__.lower()
        raise RuleError(f"{at}: {name!r} is no {attribute.name} of {with_article(what)}; give "
                        "one of characters that show")  # fmt: skip


@frozen
class Rule:
    """One statement about Kafka's behaviour.

    Attributes:
        id: words joined by hyphens, from the general to the particular, joined by dots.
        source: citations, separated by semicolons; their forms are in `kraftcheck.properties.register.citations`.
        switches: the choices of a rule set that change the rule, as the command line spells them.
        says: the rule as one sentence.
    """

    id: str
    source: str
    switches: tuple[str, ...]
    says: str


NOTED: dict[str, Callable[..., Any]] = {}
"""The function on which each rule is noted, by its id: of the modules that are imported."""


def rule(id: str, *, source: str, switches: tuple[str, ...] = (), says: str = "") -> Callable[[F], F]:  # noqa: A002
    """A decorator that notes a rule on a function and returns that function itself.

    There is no wrapper, so a trace, a mutant and a traceback see the function as it is written.

    >>> @rule("example.join.unfenced", source="KIP-841")
    ... def may_join(fenced: bool) -> bool:
    ...     '''A broker joins the ISR only while it is unfenced.'''
    >>> rules_of(may_join)[0].says
    'A broker joins the ISR only while it is unfenced.'

    Args:
        id: see `Rule`.
        source: see `Rule`.
        switches: see `Rule`.
        says: the sentence; where it is empty, the first one of the function's docstring.

    Raises:
        RuleError: for an id that is not well formed.
    """
    if not _ID.fullmatch(id):
        raise RuleError(f"{id!r} is no rule id: words of a-z and digits, joined by hyphens and at least one dot")

    def note(function: F) -> F:
        noted = Rule(id, source, switches, says or first_sentence(function.__doc__))
        setattr(function, _MARK, (noted, *rules_of(function)))
        NOTED[id] = function
        return function

    return note


def rules_of(function: object) -> tuple[Rule, ...]:
    """The rules that are noted on a function, in the order in which they are written."""
    return getattr(function, _MARK, ())


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring on one line; a paragraph that has no full stop is one sentence.

    >>> first_sentence('''The ISR shrinks. Then the epoch rises.''')
    'The ISR shrinks.'
    """
    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", paragraph)[0]
