"""Terms as formulas of TLA+ for people: sets as sets, enumerations by name, few parentheses, long ones broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.tla.module import LARGEST, bits_text, constant, refusal

WIDTH = 110  # of a line

NUMBER = "number"
SET = "set"


@frozen
class Named:
    """The sort of members of an enumeration, which are numbers with names where they are counted with."""

    enum: Any
    counted: bool

    def text(self, value: int) -> str:
        """A member by its name."""
        name: str = self.enum(value).name
        return name if self.counted else f'"{name}"'


LOOSEST, IMPLIES, JUNCTION, NOT, COMPARES, OF_SETS, SUM, PRODUCT, ATOM = 0, 1, 3, 4, 5, 8, 10, 13, 20

_OF_SETS = {"band": "\\cap", "bor": "\\cup", "bclear": "\\"}
_JUNCTIONS = {"and": "/\\", "or": "\\/"}
QUANTIFIERS = {"/\\": "\\A", "\\/": "\\E"}
_DIVISIONS = {"div": "\\div", "mod": "%"}
_SUMS = {"add": "+", "sub": "-", "mul": "*"}

HELPERS: Mapping[str, str] = {
    "Just": "Just(i) == IF i >= 0 THEN {i} ELSE {}",
    "Lowest": "Lowest(S) == IF S = {} THEN -1 ELSE CHOOSE i \\in S : \\A j \\in S : i <= j",
    "Rest": "Rest(x, y) == IF y > 0 THEN x % y ELSE -((-x) % (-y))",
    "Quotient": "Quotient(x, y) == (x - Rest(x, y)) \\div y",
    "BitAnd": (
        "RECURSIVE BitAnd(_, _)\nBitAnd(x, y) == IF x = 0 \\/ y = 0 THEN 0 ELSE "
        "2 * BitAnd(x \\div 2, y \\div 2) + (x % 2) * (y % 2)"
    ),
    "BitCount": "RECURSIVE BitCount(_)\nBitCount(x) == IF x = 0 THEN 0 ELSE (x % 2) + BitCount(x \\div 2)",
    "BitLowest": (
        "RECURSIVE BitLowest(_)\n"
        "BitLowest(x) == IF x = 0 THEN -1 ELSE IF x % 2 = 1 THEN 0 ELSE 1 + BitLowest(x \\div 2)"
    ),
    "BitMember": "BitMember(x, i) == i >= 0 /\\ i < 31 /\\ (x \\div 2^i) % 2 = 1",
    "BitSingle": "BitSingle(i) == IF i >= 0 /\\ i < 31 THEN 2^i ELSE 0",
}
"""Operators that TLA+ has not, in an order in which each uses earlier ones; a module has those that it needs."""

_USED_BY_HELPERS = {"Quotient": "Rest"}


def _number_asked(truth: Term) -> tuple[Term | None, int]:
    """The word of which a truth says that it is a number, and the number; None where it says something else."""
    if truth.op == "eq" and not truth.args[0].is_truth:
        for word, other in (truth.args, truth.args[::-1]):
            if other.op == "const" and word.op != "const":
                return word, other.value
    return None, -1


class Sorts:
    """Which words are sets, numbers or names: what is compared or chosen between is of one sort."""

    def __init__(self, nodes: Iterable[Term], same: Iterable[tuple[Term, Term]], enums: Mapping[int, Any]) -> None:
        """Find the sorts.

        Args:
            nodes: every term.
            same: pairs of terms that have to be of one sort besides.
            enums: the enumeration of a variable, by its index.
        """
        self._above: dict[int, int] = {}
        self._marks: dict[int, set[Any]] = {}
        constants: list[tuple[Term, Term]] = []
        for term in nodes:
            self._read(term, constants)
        for one, other in same:
            self._join(one, other, constants)
        for index, enum in enums.items():
            self._marks.setdefault(self._root(index), set()).add(enum)
        for beside, const in constants:
            sort = self.of(beside)
            if isinstance(sort, Named) and const.value not in {int(member) for member in sort.enum}:
                self._mark(beside, SET)

    def of(self, term: Term) -> Any:
        """SET, NUMBER, or what names a word."""
        marks = self._marks.get(self._root(term.index), set())
        enums = [mark for mark in marks if mark not in (SET, NUMBER)]
        if len(enums) == 1 and SET not in marks:
            return Named(enums[0], NUMBER in marks)
        return SET if marks == {SET} else NUMBER

    def _root(self, index: int) -> int:
        while (above := self._above.get(index, index)) != index:
            self._above[index] = index = self._above.get(above, above)
        return index

    def _mark(self, term: Term, mark: Any) -> None:
        if term.op != "const":
            self._marks.setdefault(self._root(term.index), set()).add(mark)

    def _join(self, one: Term, other: Term, constants: list[tuple[Term, Term]]) -> None:
        if one.op == "const" or other.op == "const":
            constants += [(a, b) for a, b in ((one, other), (other, one)) if a.op != "const"]
            return
        root, below = self._root(one.index), self._root(other.index)
        if root != below:
            self._above[below] = root
            self._marks.setdefault(root, set()).update(self._marks.pop(below, set()))

    def _read(self, term: Term, constants: list[tuple[Term, Term]]) -> None:
        match term.op:
            case "eq" if not term.args[0].is_truth:
                self._join(term.args[0], term.args[1], constants)
            case "ite" if not term.is_truth:
                self._join(term, term.args[1], constants)
                self._join(term, term.args[2], constants)
            case "narrow":
                self._join(term, term.args[0], constants)
            case "band" | "bor" | "bclear":
                for arg in term.args:
                    self._join(term, arg, constants)
                self._mark(term, SET)
            case "single":
                self._mark(term, SET)
                self._mark(term.args[0], NUMBER)
            case "member":
                self._mark(term.args[0], SET)
                self._mark(term.args[1], NUMBER)
            case "count" | "lowest":
                self._mark(term.args[0], SET)
                self._mark(term, NUMBER)
            case "add" | "sub" | "mul" | "div" | "mod" | "lt":
                for word in (term, *term.args):
                    if not word.is_truth:
                        self._mark(word, NUMBER)


def value_text(value: int, sort: Any, truth: bool = False) -> str:
    """A value of a sort."""
    if truth or sort == NUMBER:
        return constant(value, truth).strip("()")
    return bits_text(value) if sort == SET else sort.text(value)


@define
class Formulas:
    """Writes terms; those that have a name by their name."""

    sorts: Sorts
    names: dict[int, str]  # of variables, and of terms that are defined, by their index
    # of variables that are values of a function, by their index: its name, and the place
    values: dict[int, tuple[str, int]] = field(factory=dict)
    sizes: dict[str, int] = field(factory=dict)  # of functions by name: how many values
    place: str = "place"  # a name for any place
    used: set[str] = field(factory=set)  # the operators of `HELPERS` that were written

    def shown(self, term: Term, column: int, sort: Any = None) -> str:
        """A term that begins in a column; its later lines are indented so that they stand under it."""
        flat, _ = self.flat(term, sort)
        if column + len(flat) <= WIDTH or term.index in self.names:
            return flat
        space = "\n" + " " * column
        whole, negated = (term.args[0], True) if term.op == "not" else (term, False)
        if whole.op in _JUNCTIONS and whole.index not in self.names and (not negated or self._turns(whole)):
            sign, parts = self._junction(whole, negated)
            return space.join(f"{sign} {self._part(*part, column + 3)}" for part in parts)
        if term.op == "ite" and self._looked_up(term) is None:
            condition, then, otherwise = term.args
            sort = sort or self.sorts.of(term)
            return (
                f"IF {self.shown(condition, column + 3)}{space}THEN {self.shown(then, column + 5, sort)}"
                f"{space}ELSE {self.shown(otherwise, column + 5, sort)}"
            )
        return flat

    def assigned(self, term: Term, column: int, sort: Any = None) -> str:
        """A term behind an equality: what binds as loosely, or looser, is in parentheses."""
        if self.flat(term, sort)[1] > COMPARES:
            return self.shown(term, column, sort)
        return f"({self.shown(term, column + 1, sort)})"

    def _part(self, negated: bool, term: Term, column: int) -> str:
        return self._negated(term)[0] if negated else self.shown(term, column)

    def flat(self, term: Term, sort: Any = None) -> tuple[str, int]:
        """A term in one line, and how tightly it binds."""
        if term.index in self.names:
            return self.names[term.index], ATOM
        if term.lo < -LARGEST or (
            term.hi > LARGEST and self.sorts.of(term) != SET and (term.op != "const" or sort != SET)
        ):
            raise refusal(term)
        match term.op:
            case "const":
                text = value_text(term.value, sort or NUMBER, term.is_truth)
                return text, (SUM if text.startswith("-") else ATOM)
            case "narrow":
                return self.flat(term.args[0], sort)
            case "not":
                return self._negated(term.args[0])
            case "and" | "or":
                return self._chain(term)
            case "ite" if (found := self._looked_up(term)) is not None:
                return found, ATOM
            case "ite":
                sort = sort or self.sorts.of(term)
                condition, then, otherwise = (
                    self.flat(arg, None if at == 0 else sort)[0] for at, arg in enumerate(term.args)
                )
                return f"IF {condition} THEN {then} ELSE {otherwise}", LOOSEST
            case "eq" | "lt" | "member":
                return self._comparison(term, False)
        return self._word(term)

    def _quantified(self, sign: str, parts: Sequence[tuple[bool, Term]]) -> str | None:
        """A junction of the same comparison of each value of a function, as a quantifier."""
        found, texts = set[tuple[str, bool, str]](), set[int]()
        for negated, part in parts:
            if part.op != "eq" or part.index in self.names:
                return None
            word, _ = _number_asked(part)
            other = next((arg for arg in part.args if arg is not word), part)
            name, place = self.values.get(word.index if word is not None else -1, ("", -1))
            if word is None or not name:
                return None
            found.add((name, negated, self.flat(other, self.sorts.of(word))[0]))
            texts.add(place)
        if len(found) != 1 or texts != {*range(len(texts))} or len(texts) != self.sizes[next(iter(found))[0]]:
            return None
        ((name, negated, text),) = found
        bound = f"{QUANTIFIERS[sign]} {self.place} \\in 0..{len(texts) - 1}"
        return f"{bound} : {name}[{self.place}] {'#' if negated else '='} {text}"

    def _looked_up(self, term: Term) -> str | None:
        """The value of a function at a computed place, where a choice between variables is one."""
        places, at, one, function = set[int](), None, term, ""
        while one.op == "ite" and one.index not in self.names:
            asked, then, one = one.args
            word, number = _number_asked(asked)
            if word is None or (at is not None and word is not at):
                return None
            at = word
            name, place = self.values.get(then.index, ("", -1))
            if place != number or name != (function or name):
                return None
            function = name
            places.add(place)
        name, place = self.values.get(one.index, ("", -1))
        if at is None or name != function or not {*range(at.lo, at.hi + 1)} <= {*places, place}:
            return None
        return f"{function}[{self.flat(at)[0]}]"

    def replaced(self, before: Sequence[Term], after: Sequence[Term]) -> tuple[Term, Term] | None:
        """At which computed place a function has another value, and which, where that is all that changes."""
        found: tuple[Term, Term] | None = None
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            if new is old:
                continue
            at, number = _number_asked(new.args[0]) if new.op == "ite" and new.args[2] is old else (None, -1)
            if at is None or number != place:
                return None
            value = new.args[1]
            if found is not None and (found[0] is not at or found[1] is not value):
                return None
            found = (at, value)
        if found is None:
            return None
        same = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old is new]
        return None if any(found[0].lo <= place <= found[0].hi for place in same) else found

    def tight(self, term: Term, least: int, sort: Any = None) -> str:
        """A term in one line, in parentheses unless it binds at least so tightly."""
        text, strength = self.flat(term, sort)
        return text if strength >= least else f"({text})"

    def _helper(self, name: str, *args: str) -> tuple[str, int]:
        self.used |= {name, _USED_BY_HELPERS.get(name, name)}
        return f"{name}({', '.join(args)})", ATOM

    def _word(self, term: Term) -> tuple[str, int]:
        sort = self.sorts.of(term)
        if term.op in ("single", "band", "bor", "bclear"):
            return self._set(term) if sort == SET else self._mask(term)
        if term.op in ("count", "lowest"):
            of = self.sorts.of(term.args[0])
            text = self.flat(term.args[0], of)[0]
            if of == SET:
                return (f"Cardinality({text})", ATOM) if term.op == "count" else self._helper("Lowest", text)
            return self._helper("BitCount" if term.op == "count" else "BitLowest", text)
        a, b = term.args
        if term.op in ("div", "mod"):
            if b.op == "const" and b.value > 0:
                return f"{self.tight(a, ATOM)} {_DIVISIONS[term.op]} {b.value}", PRODUCT
            return self._helper("Rest" if term.op == "mod" else "Quotient", self.flat(a)[0], self.flat(b)[0])
        strength = PRODUCT if term.op == "mul" else SUM
        if term.op == "add" and b.op == "const" and -LARGEST < b.value < 0:
            return f"{self.tight(a, SUM)} - {-b.value}", SUM
        if term.op == "sub" and a.op == "const" and a.value == 0:
            return f"-{self.tight(b, ATOM)}", SUM
        return f"{self.tight(a, strength)} {_SUMS[term.op]} {self.tight(b, strength + 1)}", strength

    def _mask(self, term: Term) -> tuple[str, int]:
        """A set that is counted with too, and so a number."""
        texts = [self.flat(arg)[0] for arg in term.args]
        if term.op == "single":
            return self._helper("BitSingle", *texts)
        common = self._helper("BitAnd", *texts)[0]
        if term.op == "band":
            return common, ATOM
        a, b = (self.tight(arg, PRODUCT) for arg in term.args)
        return (f"{a} - {common}" if term.op == "bclear" else f"{a} + {b} - {common}"), SUM

    def _set(self, term: Term) -> tuple[str, int]:
        if term.op == "single":
            text = self.flat(term.args[0])[0]
            return (f"{{{text}}}", ATOM) if term.args[0].lo >= 0 else self._helper("Just", text)
        parts = [*self._parts(term)]
        if term.op == "bor" and all(part.op == "single" for part in parts):
            text = "{" + ", ".join(dict.fromkeys(self.flat(part.args[0])[0] for part in parts)) + "}"
            least = min(part.args[0].lo for part in parts)
            if least == -1:
                return f"{text} \\ {{-1}}", OF_SETS
            if least >= 0:
                return text, ATOM
        first, *others = parts
        left = self.tight(first, OF_SETS + 1, SET)
        return f" {_OF_SETS[term.op]} ".join([left, *(self._operand(term.op, part) for part in others)]), OF_SETS

    def _operand(self, op: str, part: Term) -> str:
        """What is taken from a set, or kept of one: there a word that is no member may be."""
        if part.op == "single" and part.index not in self.names and op != "bor":
            return f"{{{self.flat(part.args[0])[0]}}}"
        return self.tight(part, OF_SETS + 1, SET)

    def _parts(self, term: Term) -> Iterator[Term]:
        """The operands of a chain of one operator; of a difference two."""
        if term.op == "bclear":
            yield from term.args
            return
        for arg in term.args:
            if arg.op == term.op and arg.index not in self.names:
                yield from self._parts(arg)
            else:
                yield arg

    def _comparison(self, term: Term, negated: bool) -> tuple[str, int]:
        a, b = term.args
        if term.op == "member":
            of = self.sorts.of(a) if a.op != "const" else SET
            if of != SET:
                text = self._helper("BitMember", self.flat(a)[0], self.flat(b)[0])[0]
                return (f"~{text}", NOT) if negated else (text, ATOM)
            sign = "\\notin" if negated else "\\in"
            return f"{self.tight(b, SUM)} {sign} {self.tight(a, OF_SETS, SET)}", COMPARES
        if term.op == "lt":
            return f"{self.tight(a, SUM)} {'>=' if negated else '<'} {self.tight(b, SUM)}", COMPARES
        if a.op == "const":
            a, b = b, a
        if a.is_truth:
            a_text, b_text = self.tight(a, OF_SETS), self.tight(b, OF_SETS)
            return f"{a_text} {'#' if negated else '='} {b_text}", COMPARES
        sort = self.sorts.of(a)
        if b.op == "const" and b.value == 0 and a.op == "bclear" and sort == SET and a.index not in self.names:
            inner, outer = (self.tight(arg, OF_SETS + 1, SET) for arg in a.args)
            text = f"{inner} \\subseteq {outer}"
            return (f"~({text})", NOT) if negated else (text, COMPARES)
        return f"{self.tight(a, OF_SETS, sort)} {'#' if negated else '='} {self.tight(b, OF_SETS, sort)}", COMPARES

    def _negated(self, term: Term) -> tuple[str, int]:
        if term.index not in self.names:
            if term.op in ("eq", "lt", "member"):
                return self._comparison(term, True)
            if term.op in _JUNCTIONS and self._turns(term):
                return self._chain(term, True)
        return f"~{self.tight(term, ATOM)}", NOT

    def _turns(self, term: Term) -> bool:
        """Whether the negation of a junction reads better as one of negations."""
        return any(part.op == "not" for part in self._junction_parts(term))

    def _junction_parts(self, term: Term) -> Iterator[Term]:
        for arg in term.args:
            if arg.op == term.op and arg.index not in self.names:
                yield from self._junction_parts(arg)
            else:
                yield arg

    def _junction(self, whole: Term, negated: bool) -> tuple[str, list[tuple[bool, Term]]]:
        """The sign of a junction, or of its negation, and its parts, each with whether it is negated."""
        parts = list[tuple[bool, Term]]()
        for part in self._junction_parts(whole):
            turned = part.op == "not" and part.index not in self.names
            parts.append((turned is not negated, part.args[0] if turned else part))
        return _JUNCTIONS[{"and": "or", "or": "and"}[whole.op] if negated else whole.op], parts

    def _chain(self, whole: Term, negated: bool = False) -> tuple[str, int]:
        sign, parts = self._junction(whole, negated)
        if len(parts) > 1 and (every := self._quantified(sign, parts)) is not None:
            return every, LOOSEST
        if sign == "\\/" and len(parts) == 2 and any(one for one, _ in parts):
            (_, premise), conclusion = sorted(parts, key=lambda part: (not part[0], part[1].op != "eq"))
            said = self._negated(conclusion[1]) if conclusion[0] else self.flat(conclusion[1])
            after = said[0] if said[1] > JUNCTION else f"({said[0]})"
            return f"{self.tight(premise, JUNCTION + 1)} => {after}", IMPLIES
        texts = []
        for one, part in parts:
            text, strength = self._negated(part) if one else self.flat(part)
            texts.append(text if strength > JUNCTION else f"({text})")
        return f" {sign} ".join(texts), JUNCTION
