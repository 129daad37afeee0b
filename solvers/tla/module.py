"""A system as a module of TLA+, with the configuration that TLC runs it by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from kraftcheck.model.language.layout import Flag, Slot
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.terms import MASK_BITS, Term
from kraftcheck.solvers.program.evaluation import closure, conjuncts
from kraftcheck.solvers.program.premises import without_premises
from kraftcheck.solvers.program.program import FairConstraint, Kind, LivenessClaim, Program
from kraftcheck.solvers.program.trace import WITHIN

LARGEST = (1 << 31) - 1  # TLC's numbers have 32 bits

WIDE_OPERATORS = f"""\
RECURSIVE MaskOf(_)
BitsOf(a) == {{i \\in 0..30 : (a \\div 2^i) % 2 = 1}}
MaskOf(a) == IF a = {{}} THEN 0 ELSE LET b == CHOOSE i \\in a : TRUE IN 2^b + MaskOf(a \\ {{b}})
LowestOf(a) == IF a = {{}} THEN -1 ELSE CHOOSE i \\in a : \\A b \\in a : i <= b
SingleOf(a) == IF a >= 0 /\\ a < {MASK_BITS} THEN {{a}} ELSE {{}}"""
"""Operators on masks that are sets of bits, and from one form to the other."""

NAMES = frozenset({"BitsOf", "MaskOf", "LowestOf", "SingleOf", "Cardinality", "IsFiniteSet"})
"""Names that a module with such masks has besides."""


class TooWide(ValueError):
    """A word that TLC has no number for."""


def refusal(term: Term) -> TooWide:
    """The error for a term that has neither a number nor a set of bits."""
    return TooWide(f"a {term.op} has values {term.lo}..{term.hi}, and TLC's numbers have 32 bits: lower a bound")


def is_wide(term: Term) -> bool:
    """Whether a term is written as a set of bits: a word that is never negative and may be beyond a number."""
    return term.lo >= 0 and term.hi > LARGEST


def bits_text(mask: int) -> str:
    """A mask as the set of its bits."""
    return "{" + ", ".join(str(place) for place in range(mask.bit_length()) if mask >> place & 1) + "}"


def subsets_text(lo: int, hi: int) -> str:
    """The sets of bits of the masks lo..hi; raises TooWide unless these are all masks of some bits."""
    if lo != 0 or hi & (hi + 1):
        raise TooWide(f"a field has values {lo}..{hi}, and TLC's numbers have 32 bits: lower a bound")
    return f"SUBSET (0..{hi.bit_length() - 1})"


def wide_text(term: Term, texts: Sequence[str]) -> str | None:
    """A term as text where it or an argument of it is a set of bits; None where neither is.

    Args:
        texts: its arguments, each a set where `is_wide` says so.

    Raises:
        TooWide: for arithmetic on words that have no number.
    """
    if not is_wide(term) and not any(map(is_wide, term.args)):
        return None
    if term.op not in _ON_SETS:
        raise refusal(next((one for one in (term, *term.args) if is_wide(one)), term))
    in_sets, whole = _ON_SETS[term.op]
    args = [as_set(arg, text) if place in in_sets else text
            for place, (arg, text) in enumerate(zip(term.args, texts, strict=True))]  # fmt: skip
    text = whole(args)
    return text if is_wide(term) or term.op in _TO_OTHERS else f"MaskOf({text})"


def as_set(term: Term, text: str) -> str:
    """An operand as a set of bits."""
    if is_wide(term):
        return text
    if term.lo < 0:
        raise refusal(term)
    return bits_text(term.value) if term.op == "const" else f"BitsOf({text})"


_TO_OTHERS = frozenset({"member", "count", "lowest", "eq"})  # what gives no mask

_ON_SETS: Mapping[str, tuple[tuple[int, ...], Callable[[Sequence[str]], str]]] = {
    "band": ((0, 1), lambda args: f"({args[0]} \\cap {args[1]})"),
    "bor": ((0, 1), lambda args: f"({args[0]} \\cup {args[1]})"),
    "bclear": ((0, 1), lambda args: f"({args[0]} \\ {args[1]})"),
    "ite": ((1, 2), lambda args: f"(IF {args[0]} THEN {args[1]} ELSE {args[2]})"),
    "single": ((), lambda args: f"SingleOf({args[0]})"),
    "member": ((0,), lambda args: f"({args[1]} \\in {args[0]})"),
    "count": ((0,), lambda args: f"Cardinality({args[0]})"),
    "lowest": ((0,), lambda args: f"LowestOf({args[0]})"),
    "eq": ((0, 1), lambda args: f"({args[0]} = {args[1]})"),
}
"""For each operator which operands are sets of bits, and its text."""


OPERATORS = """\
RECURSIVE BitAnd(_, _), BitOr(_, _), BitCount(_), BitLowest(_)
BitAnd(a, b) ==
  IF a = 0 \\/ b = 0 THEN 0
  ELSE 2 * BitAnd(a \\div 2, b \\div 2) + (IF a % 2 = 1 /\\ b % 2 = 1 THEN 1 ELSE 0)
BitOr(a, b) ==
  IF a = 0 THEN b ELSE IF b = 0 THEN a
  ELSE 2 * BitOr(a \\div 2, b \\div 2) + (IF a % 2 = 1 \\/ b % 2 = 1 THEN 1 ELSE 0)
BitCount(a) == IF a = 0 THEN 0 ELSE (a % 2) + BitCount(a \\div 2)
BitLowest(a) == IF a = 0 THEN -1 ELSE IF a % 2 = 1 THEN 0 ELSE 1 + BitLowest(a \\div 2)
BitMember(a, i) == i >= 0 /\\ i < 31 /\\ (a \\div 2^i) % 2 = 1
BitSingle(i) == IF i >= 0 /\\ i < 31 THEN 2^i ELSE 0
Rest(a, b) == IF b > 0 THEN a % b ELSE -((-a) % (-b))
Quotient(a, b) == (a - Rest(a, b)) \\div b"""
"""Operators on masks, which are numbers here, and on words of any sign; TLA+ has no own."""

_TEXTS: Mapping[str, str] = {
    "not": "~({})", "and": "({} /\\ {})", "or": "({} \\/ {})", "eq": "({} = {})", "lt": "({} < {})",
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "Quotient({}, {})", "mod": "Rest({}, {})",
    "ite": "(IF {} THEN {} ELSE {})", "member": "BitMember({}, {})", "single": "BitSingle({})",
    "count": "BitCount({})", "lowest": "BitLowest({})", "band": "BitAnd({}, {})", "bor": "BitOr({}, {})",
    "bclear": "({0} - BitAnd({0}, {1}))",
}  # fmt: skip


def number(value: int) -> str:
    """A number as TLA+ writes it."""
    return str(value) if value >= 0 else f"({value})"


def constant(value: int, truth: bool) -> str:
    """A truth or a number as TLA+ writes it."""
    return str(bool(value)).upper() if truth else number(value)


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name for TLA+, which none of those taken is; a1, n1 and the like name arguments and shared terms."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    name = name if name[0].isalpha() else f"x_{name}"
    others = {*taken}
    while name in others or name in RESERVED or re.fullmatch(r"[an]\d+", name):
        name += "_"
    return name


RESERVED = frozenset({
    "ASSUME", "ASSUMPTION", "AXIOM", "BOOLEAN", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "DOMAIN", "ELSE", "ENABLED",
    "EXCEPT", "EXTENDS", "FALSE", "IF", "IN", "INSTANCE", "LET", "LOCAL", "MODULE", "OTHER", "RECURSIVE", "STRING",
    "SUBSET", "THEN", "THEOREM", "TRUE", "UNCHANGED", "UNION", "VARIABLE", "VARIABLES", "WITH", "Init", "Next", "vars",
    "Spec", "Int", "Nat",
    "BitAnd", "BitOr", "BitCount", "BitLowest", "BitMember", "BitSingle", "Rest", "Quotient", "a", "b",
    "i", "Just", "Lowest", "Any", "Assert", "JavaTime", "Permutations", "Print", "PrintT", "RandomElement", "SortSeq",
    "TLCEval", "TLCGet", "TLCSet", "ToString",
}) | NAMES  # fmt: skip
"""Words of TLA+, and of every module that is written."""


@frozen
class SharedTerms:
    """Terms as text: shared terms by name, and the roots in terms of them."""

    # name and text of each shared term, in an order in which each uses earlier ones only
    definitions: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]  # the text of each root

    def before(self, body: str, indent: str) -> str:
        """A text with the names that it needs before it.

        Each is bound to the one member of a set: TLC evaluates that once, and a definition of `LET` at every use.
        """
        lines = [f"\\E {name} \\in {{{text}}} :" for name, text in self.definitions]
        return "\n".join(f"{indent}{line}" for line in [*lines, body])


def written(roots: Sequence[Term], names: Mapping[int, str], earlier: SharedTerms | None = None) -> SharedTerms:
    """Terms as text.

    Args:
        names: the names of variables, by the index of their terms.
        earlier: shared terms whose names are bound already.

    Raises:
        TooWide: for a word that may be beyond 32 bits.
    """
    needed = closure(roots)
    uses = Counter(arg.index for term in needed for arg in term.args)
    texts: dict[int, str] = {}
    definitions = []
    bound = {name for name, _ in earlier.definitions} if earlier else set()
    for term in needed:
        text, name = _text(term, texts, names), f"n{term.index}"
        if term.args and (uses[term.index] > 1 or name in bound):
            if name not in bound:
                definitions.append((name, text))
            text = name
        texts[term.index] = text
    return SharedTerms(tuple(definitions), tuple(texts[root.index] for root in roots))


def _text(term: Term, texts: Mapping[int, str], names: Mapping[int, str]) -> str:
    if term.lo < -LARGEST or (term.hi > LARGEST and not is_wide(term)):
        raise refusal(term)
    if term.op == "const":
        return bits_text(term.value) if is_wide(term) else constant(term.value, term.is_truth)
    if term.op == "var":
        return names[term.index]
    if term.op == "narrow":  # its bounds are no operands
        inner = term.args[0]
        return f"MaskOf({texts[inner.index]})" if is_wide(inner) and not is_wide(term) else texts[inner.index]
    args = [texts[arg.index] for arg in term.args]
    wide = wide_text(term, args)
    if wide is not None:
        return wide
    return _TEXTS[term.op].format(*args)


_TEMPORAL = {"eventually": "<>", "always_eventually": "[]<>", "eventually_always": "<>[]"}
"""What is before the goal of a property about behaviours, by its kind."""


@frozen
class Module:
    """A module and its configuration."""

    text: str  # the module
    configuration: str  # what TLC is told to check
    left_out: tuple[str, ...]  # ids of properties that the module does not have, as TLA+ has no safety formula for them


def module(program: Program, name: str, about: str) -> Module:
    """The module of a system.

    Steps that leave a domain are no steps, as in the search. Goals are defined, and not in the configuration: TLC shows
    the way to a goal as the counterexample of its negation.

    Args:
        about: a line that says what it is made from.

    Raises:
        TooWide: for a word that may be beyond 32 bits.
    """
    writer = Writer(program := without_premises(program))
    wide = any(map(is_wide, program.graph.nodes))
    lines = [
        f"---- MODULE {name} ----",
        f"\\* {about}",
        "EXTENDS Integers" + ", FiniteSets" * wide,
        "",
        f"VARIABLES {', '.join(writer.names)}",
        "",
        f"vars == <<{', '.join(writer.names)}>>",
        "",
        OPERATORS,
        *[WIDE_OPERATORS] * wide,
        "",
        *writer.initial(),
        *(line for kind in program.kinds for line in writer.action(kind)),
        "Next == " + " \\/ ".join(writer.actions[kind.action.name] for kind in program.kinds),
        "",
        *writer.behaviours(),
        *writer.properties(),
        "====",
    ]
    left_out = [claim.id for claim in program.claims if claim.id not in writer.ids]
    return Module("\n".join(lines) + "\n", writer.configuration(), tuple(left_out))


class Writer:
    """The parts of a module."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: list[str] = []
        for slot in program.layout.slots:
            self.names.append(identifier(program.layout.name(slot.path), self.names))
        self.variables = {term.index: name for term, name in zip(program.state, self.names, strict=True)}
        self.taken = [*self.names]
        self.actions = {kind.action.name: self._new(kind.action.name) for kind in program.kinds}
        self.live = program.liveness.claims
        claims = (*program.always, *program.sometimes, *program.steps, *(one.claim for one in self.live))
        self.ids = {claim.id: self._new(claim.id) for claim in claims}
        self.deadlock = self._new("OnlyQuiescentStatesEnd")
        self.constraint = self._new("Within")
        self.fair: dict[int, str] = {}  # the names of what is fair, by the number of the constraint

    def _new(self, text: str) -> str:
        self.taken.append(identifier(text, self.taken))
        return self.taken[-1]

    def initial(self) -> Iterator[str]:
        """The initial states: described, or listed."""
        if self.program.initially:
            yield from self._described()
        else:
            yield from self._listed()

    def _listed(self) -> Iterator[str]:
        yield "Init == \\E i \\in {"
        layout = self.program.layout
        rows = [layout.values(layout.unpack(packed)) for packed in self.program.initial]
        texts = (", ".join(map(_constant, row, layout.slots)) for row in rows)
        yield ",\n".join(f"    <<{text}>>" for text in texts)
        yield "  } : " + " /\\ ".join(f"{name} = i[{at}]" for at, name in enumerate(self.names, start=1))
        yield ""

    def _described(self) -> Iterator[str]:
        """Each field is in its domain; a conjunct stands as soon as TLC has given its fields values.

        A conjunct is compared with TRUE, so that TLC evaluates it. It would go on once for each disjunct that is true.
        """
        yield "Init =="
        waiting = conjuncts(self.program.initially.values())
        given = {term.index for term in self.program.state}
        for name, term, slot in zip(self.names, self.program.state, self.program.layout.slots, strict=True):
            yield f"  /\\ {name} \\in {_domain(slot)}"
            given.discard(term.index)
            ready = [one for one in waiting if given.isdisjoint(node.index for node in closure([one]))]
            waiting = [one for one in waiting if not any(one is other for other in ready)]
            for one in ready:
                text = written([one], self.variables)
                yield "  /\\ TRUE = (\n" + text.before(text.roots[0], "     ") + ")"
        yield ""

    def action(self, kind: Kind) -> Iterator[str]:
        """An action, for some of its arguments."""
        yield f"{self.actions[kind.action.name]} =="
        yield self._some_instance(kind)
        yield ""

    def _some_instance(self, kind: Kind, *denied: Term, rows: Sequence[int] | None = None) -> str:
        """For some arguments, or some rows of them: the guard, the next state within its domains, what is denied."""
        table = kind.table if rows is None else [kind.table[row] for row in rows]
        if not kind.instances:
            return "  FALSE"
        arguments = {term.index: f"a{place}" for place, term in enumerate(kind.variables, start=1)}
        names = self.variables | arguments
        guard = written([term for part, term in kind.guard.items() if part != WITHIN], names)
        effect = written([*kind.after, *denied], names, guard)
        claims = effect.roots[len(kind.after) :]
        values = map(_value, kind.after, effect.roots[: len(kind.after)], self.program.layout.slots)
        parts = []
        for place, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if place in kind.unchecked:
                parts.append(f"({value}) \\in {_domain(self.program.layout.slots[place])}")
            parts.append(f"{name}' = {value}")
        step = effect.before("\n     ".join(f"/\\ {part}" for part in [*parts, *claims]), "     ")
        body = guard.before("\n    ".join(f"/\\ {part}" for part in guard.roots), "    ") + f"\n    /\\\n{step}"
        if not kind.variables:
            return body
        columns = [
            f"      a{place} == <<{', '.join(_argument(row[place - 1], term) for row in table)}>>[i]"
            for place, term in enumerate(kind.variables, start=1)
        ]
        return "\n".join([f"  \\E i \\in 1..{len(table)} :", "    LET", *columns, "    IN", body])

    def behaviours(self) -> Iterator[str]:
        """What is fair, where properties are about that: of all of them in `Spec`, of one as its premise."""
        if not self.live:
            return
        for place in sorted({place for one in self.live for place in one.constraints}):
            self.fair[place] = self._new(f"Fair{place + 1}")
            yield from self._fairness(self.fair[place], self.program.liveness.constraints[place])
        shared = [text for place, text in self.fair.items() if self._is_shared(place)]
        yield "Spec =="
        yield from (f"  /\\ {part}" for part in ("Init", "[][Next]_vars", *shared))
        yield ""

    def _is_shared(self, place: int) -> bool:
        return all(place in one.constraints for one in self.live)

    def _fairness(self, name: str, fair: FairConstraint) -> Iterator[str]:
        """A constraint: which steps are fair, unless they are excused."""
        rows = [(kind, [at - kind.first for at in fair.instances if 0 <= at - kind.first < len(kind.instances)])
                for kind in self.program.kinds]  # fmt: skip
        steps = " \\/ ".join(self._steps_of(*one) for one in rows if one[1]) or "FALSE"
        if fair.excused.op != "const" or fair.excused.value:
            steps = f"~{self._in_brackets(fair.excused)} /\\ ({steps})"
        yield f"\\* {fair.steps.name}"
        yield f"{name} == {'SF' if fair.strong else 'WF'}_vars({steps})"
        yield ""

    def _steps_of(self, kind: Kind, rows: Sequence[int]) -> str:
        """The steps of an action with the arguments of some rows."""
        if len(rows) == len(kind.instances):
            return self.actions[kind.action.name]
        return f"(\n{self._some_instance(kind, rows=rows)})"

    def _of_behaviours(self, one: LivenessClaim) -> Iterator[str]:
        own = [text for place, text in self.fair.items() if place in one.constraints and not self._is_shared(place)]
        parts = [one.premise, one.goal] if one.claim.kind == "leads_to" else [one.goal]
        texts = [self._in_brackets(part) for part in parts]
        formula = " ~> ".join(texts) if len(texts) > 1 else _TEMPORAL[one.claim.kind] + texts[0]
        yield from self._define(one.claim)
        premise = " /\\ ".join(own)
        yield f"  {premise} => ({formula})" if own else f"  {formula}"
        yield ""

    def _in_brackets(self, term: Term) -> str:
        """A truth of a state, on lines of its own where it has several."""
        text = "\n".join(self.written(term, self._of_variables(term)))
        return f"(\n{text})" if "\n" in text else f"({text.strip()})"

    @staticmethod
    def _of_variables(term: Term) -> str:
        """What makes a truth of a state of one that reads no variable, which TLC does not take for one."""
        return "vars = vars /\\ " if term.op == "const" else ""

    def properties(self) -> Iterator[str]:
        """The properties: liveness, invariants, claims about steps, goals, and that only quiescent states end."""
        for one in self.live:
            yield from self._of_behaviours(one)
        for claim, term in zip(self.program.always, self.program.always_terms, strict=True):
            yield from self._of_state(claim, term)
        for claim, term in zip(self.program.sometimes, self.program.sometimes_terms, strict=True):
            yield from self._of_state(claim, term)
        for place, claim in enumerate(self.program.steps):
            yield from self._of_steps(claim, place)
        yield f"{self.deadlock} =="
        yield from self.written(self.program.quiescent, "ENABLED Next \\/ ")
        yield ""
        if self.program.within is not None:
            yield f"{self.constraint} =="
            yield from self.written(self.program.within, "vars = vars /\\ ")
            yield ""

    def written(self, term: Term, prefix: str = "") -> Iterator[str]:
        """A truth of a state as lines, after what is before it in its formula."""
        text = written([term], self.variables)
        yield text.before(f"{prefix}{text.roots[0]}", "  ")

    def _define(self, claim: Property) -> Iterator[str]:
        yield f"\\* {claim.sentence}"
        yield f"{self.ids[claim.id]} =="

    def _of_state(self, claim: Property, term: Term) -> Iterator[str]:
        yield from self._define(claim)
        yield from self.written(term, self._of_variables(term))
        yield ""

    def _of_steps(self, claim: Property, place: int) -> Iterator[str]:
        """No step of any action breaks the claim; TLC asks it of steps that change the state."""
        broken = []
        for kind in self.program.kinds:
            truth = kind.steps[place]
            if truth.op == "const" and truth.value:
                continue
            graph = self.program.graph
            denied = graph.lift(graph.negate(truth))
            broken.append(self._some_instance(kind, denied))
        yield from self._define(claim)
        if claim.id in self.program.starts:
            begins = written([self.program.starts[claim.id]], self.variables)
            yield "  (" + begins.before(begins.roots[0], "   ").lstrip() + ") /\\"
        yield "  [][~(\n" + "\n  \\/\n".join(f"  ({text})" for text in broken or ["  FALSE"]) + "\n  )]_vars"
        yield ""

    def configuration(self) -> str:
        """The configuration of TLC: invariants and claims about steps; goals are left to the reader."""
        invariants = [self.ids[claim.id] for claim in self.program.always] + [self.deadlock]
        begins = ["SPECIFICATION Spec"] if self.live else ["INIT Init", "NEXT Next"]
        lines = [*begins, "CHECK_DEADLOCK FALSE", *(f"INVARIANT {name}" for name in invariants)]
        over_steps = (*self.program.steps, *(one.claim for one in self.live))
        lines += [f"PROPERTY {self.ids[claim.id]}" for claim in over_steps]
        lines += [f"CONSTRAINT {self.constraint}"] * (self.program.within is not None)
        return "\n".join(lines) + "\n"


def _domain(slot: Slot) -> str:
    lo, hi = slot.domain.lo, slot.domain.hi
    if isinstance(slot.domain, Flag):
        return "{" + ", ".join(str(bool(value)).upper() for value in range(lo, hi + 1)) + "}"
    if hi > LARGEST:
        return subsets_text(lo, hi)
    return f"{number(lo)}..{number(hi)}"


def _value(term: Term, text: str, slot: Slot) -> str:
    """The next value of a field, in the form that the field has.

    Raises:
        TooWide: for a number that only its domain keeps small.
    """
    if slot.domain.hi > LARGEST:
        return as_set(term, text)
    if is_wide(term):
        raise refusal(term)
    return text


def _constant(value: int, slot: Slot) -> str:
    if slot.domain.hi > LARGEST:
        return bits_text(value)
    return constant(value, isinstance(slot.domain, Flag))


def _argument(value: int, term: Term) -> str:
    return bits_text(value) if is_wide(term) else constant(value, term.is_truth)
