"""A module of TLA+ for people to review: sets, names, definitions and operators as in the source of the system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from kraftcheck.model.language.layout import Flag, Slot, leaves, rebuild
from kraftcheck.model.language.symbolic import class_of
from kraftcheck.model.language.system import UNNAMED, Property, Step, conjuncts
from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import all_of, first_sentence
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.evaluation import conjuncts as parts_of
from kraftcheck.solvers.program.premises import without_premises
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.symbols import state_symbols
from kraftcheck.solvers.program.trace import WITHIN
from kraftcheck.solvers.tla.formulas import HELPERS, NUMBER, SET, Formulas, Named, Sorts, value_text
from kraftcheck.solvers.tla.module import Module, Writer, identifier
from kraftcheck.solvers.tla.source_names import SourceNames, source_names

NAMED, UNNAMED_SHARED, LARGE = 4, 2, 14  # from how many operators on a term is defined: named, shared, or any
DEEPEST = 3  # definitions of a state that are nested: TLC evaluates one at each use


def readable(trace: Callable[[], Program], name: str, about: str) -> Module:
    """The module of a system for people, the same states and steps as `kraftcheck.solvers.tla.module.module` writes.

    Args:
        trace: traces the system; what its source calls its terms is noted meanwhile.
        about: a line that says what it is made from.

    Raises:
        TooWide: for a word that may be beyond 32 bits.
    """
    with source_names() as names:
        program = without_premises(trace())
    writer = _Readable(program, names)
    body = [
        *writer.initial(),
        *writer.definitions(),
        *(line for kind in program.kinds for line in writer.action(kind)),
        *writer.next(),
        *writer.behaviours(),
        *writer.properties(),
    ]
    used = [text for helper, text in HELPERS.items() if helper in writer.formulas.used]
    lines = [
        f"---- MODULE {name} ----",
        f"\\* {about}",
        "EXTENDS Integers, FiniteSets, TLC",
        "",
        f"VARIABLES {', '.join(field.name for field in writer.fields)}",
        "",
        f"vars == <<{', '.join(field.name for field in writer.fields)}>>",
        "",
        *([*used, ""] if used else []),
        *writer.constants(),
        *body,
        "====",
    ]
    left_out = [claim.id for claim in program.claims if claim.id not in writer.ids]
    return Module("\n".join(lines) + "\n", writer.configuration(), tuple(left_out))


@frozen
class _Variable:
    """A variable of the module: a leaf of the state, or a function of the leaves of a tuple."""

    name: str
    slots: tuple[int, ...]  # the places of the leaves in the layout
    is_function: bool

    def named(self, place: int, prime: str = "") -> str:
        """The leaf at a place of the layout."""
        return self.name + prime + (f"[{self.slots.index(place)}]" if self.is_function else "")


def _fields(program: Program) -> list[_Variable]:
    """The variables of the module."""
    by_path: dict[str, list[int]] = {}
    for place, slot in enumerate(program.layout.slots):
        path = program.layout.name(slot.path)
        at = re.search(r"\[(\d+)\]", path)
        base = path.replace(at[0], "", 1) if at is not None and path.count("[") == 1 else path
        by_path.setdefault(base, []).append(place)
    names: list[str] = []
    for path in by_path:
        names.append(identifier(path, names))
    places = by_path.values()
    return [_Variable(name, tuple(slots), len(slots) > 1) for name, slots in zip(names, places, strict=True)]


class _Readable(Writer):
    """The parts of a readable module."""

    def __init__(self, program: Program, source: SourceNames) -> None:
        super().__init__(program)
        self.fields = _fields(program)
        self.taken += [*HELPERS, *(one.name for one in self.fields)]
        self.source = source
        self.result, self.decided, self.place = self._new("next"), self._new("decided"), self._new("place")
        after, self.after = state_symbols(program.graph, program.layout)
        self.events = [self._event(kind) for kind in program.kinds]
        self.claims = {claim.id: self._claim(claim) for claim in program.steps}
        self.parameters = {kind.action.name: self._parameters(kind) for kind in program.kinds}
        same = [*zip(program.state, after, strict=True)]
        same += [pair for kind in program.kinds for pair in zip(program.state, kind.after, strict=True)]
        words = [*program.state, *(term for kind in program.kinds for term in kind.variables)]
        enums = {term.index: enum for term in words if (enum := class_of(term)) is not None}
        self.sorts = Sorts(program.graph.nodes, same, enums)
        by_place = {place: one for one in self.fields for place in one.slots}
        self.names = [one.named(place) for place, one in sorted(by_place.items())]
        words_of = [(program.state, ""), (after, "'")]
        sorts = [self.sorts.of(word) for word in words]
        self.counted = {one.enum: None for one in sorts if isinstance(one, Named) and one.counted}
        self.taken += {member.name for enum in self.counted for member in enum}
        self.formulas = Formulas(
            self.sorts,
            {term.index: by_place[at].named(at, prime) for terms, prime in words_of for at, term in enumerate(terms)},
            {
                terms[place].index: (one.name + prime, at)
                for terms, prime in words_of
                for one in self.fields
                if one.is_function
                for at, place in enumerate(one.slots)
            },
            {one.name + prime: len(one.slots) for one in self.fields for prime in ("", "'")},
            self.place,
        )
        for kind, names in ((kind, self.parameters[kind.action.name]) for kind in program.kinds):
            self.formulas.names |= {term.index: text for term, text in zip(kind.variables, names, strict=True)}
        self.taken += {text for names in self.parameters.values() for text in names}
        self.reported = dict(zip(self.actions, self._reported(), strict=True))

    def _event(self, kind: Kind) -> Any:
        return kind.action.outcome(state_of(self.program), kind.arguments).event if kind.instances else None

    def _claim(self, claim: Property) -> tuple[Term, ...]:
        """A claim asked of a step to any state, for each action."""
        found, state = list[Term](), state_of(self.program)
        for kind, event in zip(self.program.kinds, self.events, strict=True):
            step = Step(state, self.after, kind.action.name, kind.arguments, event)
            truth = all_of(*conjuncts(claim.predicate(step), UNNAMED).values()) if kind.instances else True
            found.append(self.program.graph.lift(truth))
        return tuple(found)

    def _reported(self) -> Iterator[dict[str, Term]]:
        """For each action what it reports besides the next state, as far as claims read it and it is long."""
        for at, event in enumerate(self.events):
            read = {term.index for term in closure([claim[at] for claim in self.claims.values()])}
            words = [(path, leaf) for path, leaf in leaves(event, "event") if isinstance(leaf, Term)]
            yield {identifier(path): leaf for path, leaf in words if leaf.index in read and self._size(leaf) >= NAMED}

    def _parameters(self, kind: Kind) -> list[str]:
        names: list[str] = []
        for term in kind.variables:
            path = self.program.graph.variables[term.value].removeprefix(f"{kind.action.name}.")
            names.append(identifier(path, [*self.taken, *names]))
        return names

    def _sort(self, place: int) -> Any:
        return self.sorts.of(self.program.state[place])

    def _domain(self, slot: Slot, place: int) -> str:
        lo, hi = slot.domain.lo, slot.domain.hi
        if isinstance(slot.domain, Flag):
            return "BOOLEAN" if lo < hi else self._values({lo}, NUMBER, True)
        if self._sort(place) == SET and lo == 0 and not hi & (hi + 1):
            return f"SUBSET (0..{hi.bit_length() - 1})"
        return f"{lo}..{hi}" if self._sort(place) == NUMBER else self._values(range(lo, hi + 1), self._sort(place))

    @staticmethod
    def _values(values: Iterable[int], sort: Any, truth: bool = False) -> str:
        """A set of values."""
        listed = sorted({*values})
        if sort == NUMBER and not truth and len(listed) > 1 and listed == [*range(listed[0], listed[-1] + 1)]:
            return f"{listed[0]}..{listed[-1]}"
        return "{" + ", ".join(value_text(value, sort, truth) for value in listed) + "}"

    def _rows(
        self, names: Sequence[str], rows: Sequence[Sequence[int]], sorts: Sequence[Any], truths: Sequence[bool]
    ) -> str:  # fmt: skip
        """Bounds for names that together have the values of some rows."""
        columns = [{*column} for column in zip(*rows, strict=True)]
        count = 1
        for column in columns:
            count *= len(column)
        if count == len({*map(tuple, rows)}):
            of = zip(names, columns, sorts, truths, strict=True)
            return ", ".join(f"{name} \\in {self._values(values, sort, truth)}" for name, values, sort, truth in of)
        texts = [
            "<<" + ", ".join(value_text(*each) for each in zip(row, sorts, truths, strict=True)) + ">>" for row in rows
        ]
        return f"<<{', '.join(names)}>> \\in {{\n      " + ",\n      ".join(texts) + "}"

    def _listed(self) -> Iterator[str]:
        layout, places = self.program.layout, range(len(self.names))
        rows = [[*map(int, layout.values(layout.unpack(packed)))] for packed in self.program.initial]
        sorts, truths = [*map(self._sort, places)], [isinstance(slot.domain, Flag) for slot in layout.slots]
        varied = [place for place in places if len({row[place] for row in rows}) > 1]
        texts = {place: value_text(rows[0][place], sorts[place], truths[place]) for place in places}
        texts |= {place: self._new(f"{self.names[place]}_0") for place in varied}
        yield "Init =="
        space = "  "
        if varied:
            some = [[row[place] for place in varied] for row in rows]
            names, of = [texts[place] for place in varied], [sorts[place] for place in varied]
            yield f"  \\E {self._rows(names, some, of, [truths[place] for place in varied])} :"
            space = "    "
        for one in self.fields:
            yield f"{space}/\\ {one.name} = {self._whole(one, [texts[place] for place in one.slots])}"
        yield ""

    def _whole(self, one: _Variable, texts: Sequence[str]) -> str:
        """The value of a variable, of the values of its leaves."""
        if not one.is_function:
            return texts[0]
        if len({*texts}) == 1:
            return f"[{self.place} \\in 0..{len(texts) - 1} |-> {texts[0]}]"
        return " @@ ".join(f"{at} :> {text if text.isalnum() else f'({text})'}" for at, text in enumerate(texts))

    def _described(self) -> Iterator[str]:
        yield "Init =="
        for one in self.fields:
            domains = [self._domain(self.program.layout.slots[place], place) for place in one.slots]
            if not one.is_function:
                yield f"  /\\ {one.name} \\in {domains[0]}"
                continue
            if len({*domains}) == 1:
                yield f"  /\\ {one.name} \\in [0..{len(domains) - 1} -> {domains[0]}]"
                continue
            starts = [self._new(f"{self.names[place]}_0") for place in one.slots]
            bounds = ", ".join(f"{start} \\in {domain}" for start, domain in zip(starts, domains, strict=True))
            yield f"  /\\ \\E {bounds} : {one.name} = {self._whole(one, starts)}"
        for part in parts_of(self.program.initially.values()):
            branches = any(term.op == "or" for term in closure([part]))  # TLC would go on once for each that is true
            yield f"  /\\ TRUE = ({self._block([part], 14)})" if branches else f"  /\\ {self._block([part], 5)}"
        yield ""

    def constants(self) -> Iterator[str]:
        """The names of numbers."""
        members = [member for enum in self.counted for member in enum]
        yield from (f"{member.name} == {int(member)}" for member in members)
        yield from [""] * bool(members)

    def definitions(self) -> Iterator[str]:
        """The terms that several actions and properties read of a state, defined once."""
        variables, shared, depth = {term.index for term in self.program.state}, Counter[int](), dict[int, int]()
        for roots in self._scopes():
            shared.update(term.index for term in closure(roots))
        of_state = dict.fromkeys(variables, True)
        for term in self.program.graph.nodes:
            of_state[term.index] = of_state.get(term.index, bool(term.args) or term.op == "const") and all(
                of_state[arg.index] for arg in term.args
            )
            depth[term.index] = max((depth[arg.index] for arg in term.args), default=0)
            if not of_state[term.index] or shared[term.index] < 2 or term.op in ("not", "const", "narrow"):
                continue
            if depth[term.index] < DEEPEST and self._size(term) >= NAMED and (names := [*self.source.of(term)]):
                name = self._free(names, self.taken)
                yield f"{name} =="
                yield f"  {self._block([term], 2)}"
                yield ""
                self.taken.append(name)
                self.formulas.names[term.index] = name
                depth[term.index] += 1

    def _scopes(self) -> Iterator[list[Term]]:
        for kind in self.program.kinds:
            yield [*kind.guard.values(), *kind.after]
        yield from ([term] for term in (*self.program.always_terms, *self.program.sometimes_terms))
        yield from ([*claim] for claim in self.claims.values())

    def _size(self, term: Term) -> int:
        """Operators of a term, written out as far as none has a name; no more than are asked about."""
        pending, count = [term], 0
        while pending and count < LARGE:
            one = pending.pop()
            if one.args and (one is term or one.index not in self.formulas.names):
                count += one.op not in ("not", "narrow")
                pending += one.args
        return count

    @staticmethod
    def _free(names: Sequence[str], taken: Iterable[str]) -> str:
        """The first name that is free, or the last with a number."""
        taken = {*taken}
        found = [identifier(name) for name in names]
        free = [name for name in found if name not in taken]
        return free[0] if free else next(n for at in range(2, 1 << 30) if (n := f"{found[-1]}_{at}") not in taken)

    def _lets(self, roots: Sequence[Term], column: int) -> tuple[list[str], list[int]]:
        """The definitions that some terms need before them, and which terms those name."""
        names, taken = self.formulas.names, [*self.taken]
        needed = closure(roots, names)
        uses = Counter(arg.index for term in needed for arg in term.args)
        uses.update(root.index for root in roots)
        ends = {root.index for root in roots}
        pairs = [(term, arg) for term in needed for arg in term.args]
        joined = {arg.index for term, arg in pairs if arg.op == term.op in ("and", "or") and uses[arg.index] == 1}
        lines, bound = [], []
        for term in needed:
            if not term.args or term.op in ("not", "narrow") or (uses[term.index] == 1 and term.index in ends):
                continue
            size, own = self._size(term), [*self.source.of(term)]
            is_long = size >= LARGE and term.index not in joined
            if is_long or (own and size >= NAMED) or (uses[term.index] > 1 and size >= UNNAMED_SHARED):
                name = self._free(own or [f"{term.op}_part"], taken)
                lines.append(f"{name} == {self.formulas.shown(term, column + len(name) + 4)}")
                names[term.index] = name
                taken.append(name)
                bound.append(term.index)
        return lines, bound

    def _block(self, roots: Sequence[Term], column: int, write: Callable[[int], str] | None = None) -> str:
        """A term, or what is written of several, after the definitions that it needs."""
        write = write or (lambda at: self.formulas.shown(roots[0], at))
        lines, bound = self._lets(roots, column + 4)
        if not lines:
            return write(column)
        space = "\n" + " " * column
        text = f"LET {(space + '    ').join(lines)}{space}IN  {write(column + 4)}"
        for index in bound:
            del self.formulas.names[index]
        return text

    def action(self, kind: Kind) -> Iterator[str]:
        """An action as an operator on its arguments."""
        if self.reported[kind.action.name]:
            yield f"{self._call(kind, '_decides')} =="
            yield f"  {self._record(kind, 2)}"
            yield ""
        says = first_sentence(kind.action.effect.__doc__)
        if says:
            yield f"\\* {says}"
        yield self._call(kind) + " =="
        if not kind.instances:
            yield "  FALSE"
        for name, term in kind.guard.items():
            if name != WITHIN and not (term.op == "const" and term.value):
                comment = f"  \\* {name}" if name != UNNAMED else ""
                text = self._block([term], 5)
                yield f"  /\\ {text}{comment}" if "\n" not in text else f"  /\\ {text}"
        yield from self._effect(kind)
        yield ""

    def _call(self, kind: Kind, part: str = "") -> str:
        names = self.parameters[kind.action.name]
        return self.actions[kind.action.name] + part + (f"({', '.join(names)})" if names else "")

    def _changed(self, kind: Kind) -> list[_Variable]:
        state = self.program.state
        return [one for one in self.fields if any(kind.after[place] is not state[place] for place in one.slots)]

    def _new_value(self, kind: Kind, one: _Variable, column: int) -> str:
        """The next value of a variable."""
        before, after = ([terms[place] for place in one.slots] for terms in (self.program.state, kind.after))
        sort = self._sort(one.slots[0])
        if not one.is_function:
            return self.formulas.assigned(after[0], column, sort)
        found = self.formulas.replaced(before, after)
        if found is not None:
            at, value = (self.formulas.flat(term, of)[0] for term, of in zip(found, (None, sort), strict=True))
            return f"[{one.name} EXCEPT ![{at}] = {value}]"
        return self._whole(
            one, [self.formulas.flat(term, self._sort(p))[0] for p, term in zip(one.slots, after, strict=True)]
        )

    def _record(self, kind: Kind, column: int) -> str:
        """What an action decides, as a record; empty where that needs no definition before it."""
        changed, reported = self._changed(kind), self.reported[kind.action.name]
        roots = [kind.after[place] for one in changed for place in one.slots if kind.after[place].args]
        lines, bound = self._lets([*roots, *reported.values()], column + 4)
        space = "\n" + " " * column
        at = column + 5
        fields = [f"{one.name} |-> {self._new_value(kind, one, at + len(one.name) + 5)}" for one in changed]
        fields += [f"{name} |-> {self.formulas.shown(term, at + len(name) + 5)}" for name, term in reported.items()]
        for index in bound:
            del self.formulas.names[index]
        if not lines and not reported:
            return ""
        before = f"LET {(space + '    ').join(lines)}{space}IN  " if lines else "    "
        return f"{before}[{f',{space}     '.join(fields)}]"

    def _effect(self, kind: Kind) -> Iterator[str]:
        if not kind.instances:
            return
        changed, record, space = self._changed(kind), self._record(kind, 9), "  "
        if self.reported[kind.action.name]:
            yield f"  /\\ \\E {self.result} \\in {{{self._call(kind, '_decides')}}} :"
        elif record:
            yield f"  /\\ \\E {self.result} \\in {{"
            yield f"         {record}}} :"
        if record:
            space = "       "
        for one in changed:
            value = f"{self.result}.{one.name}" if record else self._new_value(kind, one, 8 + len(one.name))
            yield f"{space}/\\ {one.name}' = {value}"
            for place in one.slots:
                if place in kind.unchecked:
                    domain = self._domain(self.program.layout.slots[place], place)
                    yield f"{space}/\\ {one.named(place, chr(39))} \\in {domain}"
        kept = [one.name for one in self.fields if one not in changed]
        if kept:
            yield f"  /\\ UNCHANGED <<{', '.join(kept)}>>"

    def next(self) -> Iterator[str]:
        """Any action with any of its arguments."""
        yield "Next =="
        yield from (f"  \\/ {self._some(kind)}{self._call(kind)}" for kind in self.program.kinds)
        yield ""

    def _some(self, kind: Kind, sign: str = "\\E", table: Sequence[Sequence[int]] | None = None) -> str:
        if not kind.variables:
            return ""
        sorts, truths = [self.sorts.of(term) for term in kind.variables], [term.is_truth for term in kind.variables]
        return f"{sign} {self._rows(self.parameters[kind.action.name], table or kind.table, sorts, truths)} : "

    def _steps_of(self, kind: Kind, rows: Sequence[int]) -> str:
        table = [kind.table[row] for row in rows]
        if len(table) > 1 or not kind.variables:
            return f"({self._some(kind, table=table)}{self._call(kind)})" if kind.variables else self._call(kind)
        values = zip(table[0], kind.variables, strict=True)
        texts = [value_text(value, self.sorts.of(term), term.is_truth) for value, term in values]
        return f"{self.actions[kind.action.name]}({', '.join(texts)})"

    def written(self, term: Term, prefix: str = "") -> Iterator[str]:
        """A truth of a state as lines."""
        if not prefix:
            yield f"  {self._block([term], 2)}"
        else:
            yield f"  {prefix}({self._block([term], 3 + len(prefix))})"

    def _of_steps(self, claim: Property, place: int) -> Iterator[str]:
        said = self.claims[claim.id]
        begins = self.program.starts.get(claim.id)
        parts = [] if begins is None else [self._block([begins], 5)]
        if all(term is said[0] for term in said) and not self._reads_arguments(said[0]):
            parts.append(f"[][{self._block([said[0]], 8)}]_vars")
        else:
            kinds = [
                one for one in zip(self.program.kinds, said, strict=True) if one[1].op != "const" or not one[1].value
            ]
            operators = dict[str, str]()
            for text, count in Counter(self._of_decided(*one, 2) for one in kinds).items():
                if text and count > 1:
                    operators[text] = self._new(f"{self.ids[claim.id]}_of")
                    yield f"{operators[text]}({self.decided}) ==\n  {text}\n"
            parts += [self._of_action(kind, term, operators) for kind, term in kinds]
        yield from self._define(claim)
        yield from (f"  /\\ {part}" for part in parts)
        yield ""

    def _of_action(self, kind: Kind, term: Term, operators: Mapping[str, str]) -> str:
        """A claim about the steps of one action, by the operator that says the same of others where there is one."""
        decides = self._call(kind, "_decides")
        if (operator := operators.get(self._of_decided(kind, term, 2))) is not None:
            text = f"{operator}({decides})"
        elif text := self._of_decided(kind, term, 13):
            text = f"(LET {self.decided} == {decides}\n         IN  {text})"
        else:
            text = f"({self._block([term], 9)})"
        return "[][" + self._some(kind, "\\A") + f"{self._call(kind)} =>\n        {text}]_vars"

    def _of_decided(self, kind: Kind, term: Term, column: int) -> str:
        """A claim about what an action decided; empty where it reads nothing of that."""
        needed, before = {one.index for one in closure([term])}, dict(self.formulas.names)
        reported = {one.index: name for name, one in self.reported[kind.action.name].items() if one.index in needed}
        self.formulas.names |= {index: f"{self.decided}.{name}" for index, name in reported.items()}
        text = self._block([term], column) if reported and not self._reads_arguments(term) else ""
        self.formulas.names = before
        return text

    def _reads_arguments(self, term: Term) -> bool:
        """Whether a claim reads an argument of an action, besides by what the action decided."""
        arguments = {one.index for kind in self.program.kinds for one in kind.variables}
        known = self.formulas.names.keys() - arguments
        return any(one.index in arguments for one in closure([term], known))


def state_of(program: Program) -> Any:
    """The state of symbols that a program was traced with."""
    feed = iter(program.state)
    return rebuild(program.layout.shape, lambda: next(feed))
