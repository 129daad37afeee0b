"""The operators and words of the rules' language, each with its meaning on plain Python values.

The meanings are written from the documentation of `model`, and never call it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.collections import maximum, minimum
from kraftcheck.model.language.places import get
from kraftcheck.model.language.words import (
    Maybe,
    absent,
    all_of,
    any_of,
    choose,
    implies,
    negate,
    none_of,
    pick,
    present,
    word,
)
from tests.random_systems.nodes import Operator, Span

MASK_BITS = 62  # numbers of brokers are below this; as numbers of others, no broker has them


def signature(sorts: str) -> tuple[str, tuple[str, ...]]:
    """The result and the operands of `"set id -> truth"`."""
    takes, _, result = sorts.partition(" -> ")
    return result, tuple(takes.split())


def function(
    name: str, sorts: str, plain: Callable[..., Any], rule: Callable[..., Any], text: str = "", **more: Any
) -> Operator:
    """A function or an infix operator."""
    result, takes = signature(sorts)
    text = text or name + "(" + ", ".join(f"{{{n}}}" for n in range(len(takes))) + ")"
    return Operator(name, result, takes, plain, rule, text, **more)


def method(name: str, sorts: str, plain: Callable[..., Any], **more: Any) -> Operator:
    """A method of a collection."""
    result, takes = signature(sorts)
    text = f"{{0}}.{name}(" + ", ".join(f"{{{n}}}" for n in range(1, len(takes))) + ")"

    def rule(first: Any, *others: Any) -> Any:
        return getattr(first, name)(*others)

    return Operator(name, result, takes, plain, rule, text, **more)


def _around(*spans: Span) -> Span:
    return min(lo for lo, _ in spans), max(hi for _, hi in spans)


def _product(spans: Sequence[Span]) -> Span:
    corners = [a * b for a in spans[0] for b in spans[1]]
    return min(corners), max(corners)


def _chosen(spans: Sequence[Span]) -> Span:
    return _around(*spans[1:])


def _picked(items: Sequence[Any], index: int, otherwise: Any) -> Any:
    return items[index] if 0 <= index < len(items) else otherwise


def _or_else(there: bool, value: int, when: bool, new: int, unless: bool, default: int) -> int:
    if when:
        there, value = True, new
    if unless:
        there = False
    return value if there else default


def _maybe(there: Any, value: Any, when: Any, new: Any, unless: Any, default: Any) -> Any:
    return Maybe(there, value).set_when(when, new).clear_when(unless).or_else(default)


def _inside(ids: Any) -> frozenset[int]:
    """The members that are brokers: the bit mask of a list of at most one leaves -1 out."""
    return frozenset(b for b in ids if b >= 0)


def _first(ids: Sequence[int]) -> int:
    return ids[0] if ids else -1


WORDS = [
    function("+", "word word -> word", lambda a, b: a + b, lambda a, b: a + b, "({0} + {1})",
             span=lambda s: (s[0][0] + s[1][0], s[0][1] + s[1][1])),
    function("-", "word word -> word", lambda a, b: a - b, lambda a, b: a - b, "({0} - {1})",
             span=lambda s: (s[0][0] - s[1][1], s[0][1] - s[1][0])),
    function("*", "word word -> word", lambda a, b: a * b, lambda a, b: a * b, "({0} * {1})", span=_product),
    function("//", "word word -> word", lambda a, b: a // b, lambda a, b: a // b, "({0} // {1})", divides=True,
             span=lambda s: _around(s[0], (-s[0][1], -s[0][0]))),
    function("%", "word word -> word", lambda a, b: a % b, lambda a, b: a % b, "({0} % {1})", divides=True,
             span=lambda s: (min(0, s[1][0] + 1), max(0, s[1][1] - 1))),
    function("abs", "word -> word", abs, abs, span=lambda s: (0, max(map(abs, s[0])))),
    function("-", "word -> word", lambda a: -a, lambda a: -a, "(-{0})", span=lambda s: (-s[0][1], -s[0][0])),
    function("minimum", "word word -> word", min, minimum, span=lambda s: _around(*s)),
    function("maximum", "word word -> word", max, maximum, span=lambda s: _around(*s)),
    function("get", "words word word -> word", _picked, lambda items, place, other: get(items, place, otherwise=other),
             span=lambda s: _around(s[0], s[2]), ordered=True),
    function("&", "word word -> word", lambda a, b: a & b, lambda a, b: a & b, "({0} & {1})", masks=True,
             span=lambda s: (0, min(s[0][1], s[1][1]))),
    function("|", "word word -> word", lambda a, b: a | b, lambda a, b: a | b, "({0} | {1})", masks=True,
             span=lambda s: (0, (1 << max(s[0][1].bit_length(), s[1][1].bit_length())) - 1)),
    function("choose", "truth word word -> word", lambda c, a, b: a if c else b, choose, span=_chosen),
    function("word", "truth -> word", lambda t: 1 if t else 0, word, span=lambda s: (0, 1)),
    function("pick", "words word word -> word", _picked, pick, span=lambda s: _around(s[0], s[2]), ordered=True),
    function("pick", "words id word -> word", _picked, pick, span=lambda s: _around(s[0], s[2])),
    function("maybe", "truth word truth word truth word -> word", _or_else, _maybe,
             "Maybe({0}, {1}).set_when({2}, {3}).clear_when({4}).or_else({5})",
             span=lambda s: _around(s[1], s[3], s[5])),
    function("absent", "word truth word word -> word", lambda a, c, n, d: n if c else d,
             lambda a, c, n, d: absent(a).set_when(c, n).or_else(d), "absent({0}).set_when({1}, {2}).or_else({3})",
             span=lambda s: _around(s[0], s[2], s[3])),
    function("present", "word truth word -> word", lambda a, c, d: d if c else a,
             lambda a, c, d: present(a).clear_when(c).or_else(d), "present({0}).clear_when({1}).or_else({2})",
             span=lambda s: _around(s[0], s[2])),
    function("number", "id -> word", lambda b: b, lambda b: b, "{0}", ordered=True, span=lambda s: (-1, MASK_BITS)),
    *(method("size", f"{kind} -> word", len) for kind in ("set", "list", "one", "idlist")),
]  # fmt: skip

TRUTHS = [
    function("==", "word word -> truth", lambda a, b: a == b, lambda a, b: a == b, "{0} == {1}"),
    function("!=", "word word -> truth", lambda a, b: a != b, lambda a, b: a != b, "{0} != {1}"),
    function("<", "word word -> truth", lambda a, b: a < b, lambda a, b: a < b, "{0} < {1}"),
    function("<=", "word word -> truth", lambda a, b: a <= b, lambda a, b: a <= b, "{0} <= {1}"),
    function(">", "word word -> truth", lambda a, b: a > b, lambda a, b: a > b, "{0} > {1}"),
    function(">=", "word word -> truth", lambda a, b: a >= b, lambda a, b: a >= b, "{0} >= {1}"),
    function("==", "id id -> truth", lambda a, b: a == b, lambda a, b: a == b, "{0} == {1}"),
    function("!=", "id id -> truth", lambda a, b: a != b, lambda a, b: a != b, "{0} != {1}"),
    function("==", "truth truth -> truth", lambda a, b: a == b, lambda a, b: a == b, "({0}) == ({1})"),
    function("!=", "truth truth -> truth", lambda a, b: a != b, lambda a, b: a != b, "({0}) != ({1})"),
    function("negate", "truth -> truth", lambda a: not a, negate),
    function("all_of", "truth truth -> truth", lambda a, b: a and b, all_of),
    function("all_of", "truth truth truth -> truth", lambda a, b, c: a and b and c, all_of),
    function("any_of", "truth truth -> truth", lambda a, b: a or b, any_of),
    function("any_of", "truth truth truth -> truth", lambda a, b, c: a or b or c, any_of),
    function("none_of", "truth truth -> truth", lambda a, b: not a and not b, none_of),
    function("implies", "truth truth -> truth", lambda a, b: not a or b, implies),
    function("&", "truth truth -> truth", lambda a, b: a and b, lambda a, b: a & b, "({0}) & ({1})"),
    function("|", "truth truth -> truth", lambda a, b: a or b, lambda a, b: a | b, "({0}) | ({1})"),
    function("choose", "truth truth truth -> truth", lambda c, a, b: a if c else b, choose),
    function("pick", "truths word truth -> truth", _picked, pick, ordered=True),
    function("pick", "truths id truth -> truth", _picked, pick),
    method("has", "set word -> truth", lambda s, b: b in s, ordered=True),
    *(method("has", f"{kind} id -> truth", lambda s, b: b in _inside(s)) for kind in ("set", "list")),
    method("has", "one id -> truth", lambda s, b: b in s),
    *(method("is_empty", f"{kind} -> truth", lambda s: not s) for kind in ("set", "list", "one", "idlist")),
    *(
        method("within", f"{a} {b} -> truth", lambda s, other: set(s) <= _inside(other))
        for a in ("set", "list", "one") for b in ("set", "list")
    ),
    method("within", "set one -> truth", lambda s, other: s <= _inside(other)),
    method("within", "one one -> truth", lambda s, other: set(s) <= set(other)),
    *(method("same", f"{kind} {kind} -> truth", lambda s, other: s == other) for kind in ("set", "list", "one")),
    method("same", "set list -> truth", lambda s, other: s == set(other)),
    method("has", "idlist number -> truth", lambda s, b: b in s),
    *(method(name, "idlist idlist -> truth", plain) for name, plain in (
        ("within", lambda s, other: set(s) <= set(other)), ("same", lambda s, other: s == other))),
]  # fmt: skip

IDS = [
    *(method("first", f"{kind} -> id", _first) for kind in ("list", "one")),
    method("first", "set -> id", lambda s: min(s, default=-1), ordered=True),
    *(
        method("first_in", f"list {kind} -> id", lambda s, other: _first([b for b in s if b in other]))
        for kind in ("set", "list", "one")
    ),
    *(
        method("first_in", f"set {kind} -> id", lambda s, other: min(s & _inside(other), default=-1), ordered=True)
        for kind in ("set", "list", "one")
    ),
    *(
        method("first_in", f"one {kind} -> id", lambda s, other: _first([b for b in s if b in _inside(other)]))
        for kind in ("set", "list")
    ),
    function("choose", "truth id id -> id", lambda c, a, b: a if c else b, choose),
    method("first", "idlist -> id", _first, ordered=True),
    method("first_in", "idlist idlist -> id", lambda s, other: _first([b for b in s if b in other]), ordered=True),
]  # fmt: skip

COLLECTIONS = [
    *(method("minus", f"set {kind} -> set", lambda s, other: s - _inside(other)) for kind in ("set", "list", "one")),
    *(method("keep", f"set {kind} -> set", lambda s, other: s & _inside(other)) for kind in ("set", "list", "one")),
    *(method("plus", f"set {kind} -> set", lambda s, other: s | _inside(other)) for kind in ("set", "list", "one")),
    method("just", "set id -> set", lambda s, b: frozenset({b} if b >= 0 else ())),
    method("just", "set word -> set", lambda s, b: frozenset({b} if 0 <= b < MASK_BITS else ()), ordered=True),
    method("none", "set -> set", lambda s: frozenset()),
    method("ascending", "set -> set", lambda s: s),
    function("choose", "truth set set -> set", lambda c, a, b: a if c else b, choose),
    *(
        method("minus", f"list {kind} -> list", lambda s, other: tuple(b for b in s if b not in other))
        for kind in ("set", "list", "one")
    ),
    *(
        method("keep", f"list {kind} -> list", lambda s, other: tuple(b for b in s if b in other))
        for kind in ("set", "list", "one")
    ),
    method("plus", "list list -> list", lambda s, other: s + tuple(b for b in other if b not in s)),
    method("plus", "list set -> list", lambda s, other: s + tuple(sorted(other - set(s))), ordered=True),
    method("plus", "list one -> list", lambda s, other: s + tuple(b for b in other if b >= 0 and b not in s)),
    method("just", "list id -> list", lambda s, b: (b,) if b >= 0 else ()),
    method("none", "list -> list", lambda s: ()),
    method("ascending", "list -> list", lambda s: tuple(sorted(s)), ordered=True),
    function("choose", "truth list list -> list", lambda c, a, b: a if c else b, choose),
    *(
        method("minus", f"one {kind} -> one", lambda s, other: tuple(b for b in s if b not in other))
        for kind in ("set", "list", "one")
    ),
    *(
        method("keep", f"one {kind} -> one", lambda s, other: tuple(b for b in s if b in other))
        for kind in ("set", "list", "one")
    ),
    method("just", "one id -> one", lambda s, b: (b,)),
    method("none", "one -> one", lambda s: ()),
    method("ascending", "one -> one", lambda s: s),
    function("choose", "truth one one -> one", lambda c, a, b: a if c else b, choose),
    *(method(name, "idlist idlist -> idlist", plain) for name, plain in (
        ("minus", lambda s, other: tuple(b for b in s if b not in other)),
        ("keep", lambda s, other: tuple(b for b in s if b in other)),
        ("plus", lambda s, other: s + tuple(b for b in other if b not in s)))),
    method("just", "idlist number -> idlist", lambda s, b: (b,)),
    method("none", "idlist -> idlist", lambda s: ()),
    method("ascending", "idlist -> idlist", lambda s: tuple(sorted(s)), ordered=True),
]  # fmt: skip

SHAPES = [
    *(function("choose", f"truth {kind} {kind} -> {kind}", lambda c, a, b: a if c else b, choose)
      for kind in ("words", "truths", "record", "records")),
    function("pick", "records word record -> record", _picked, pick, ordered=True),
    function("pick", "records id record -> record", _picked, pick),
]  # fmt: skip

OPERATORS: dict[str, Operator] = {operator.key: operator for operator in (*WORDS, *TRUTHS, *IDS, *COLLECTIONS, *SHAPES)}
"""Every operator by its key."""
