"""A system as a module of TLA+, with the configuration that TLC runs it by."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.packing import Slot
from kraftcheck.model.language.system import Property
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.enumeration import conjuncts_of
from kraftcheck.solvers.program.premises.hidden_goals import without_premises
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.pruning import WITHIN
from kraftcheck.solvers.tla.expressions import OPERATORS, constant, identifier, number, written
from kraftcheck.solvers.tla.wide import LARGEST, as_set, bits_text, is_wide, refusal, subsets_text
from kraftcheck.solvers.tla.wide import OPERATORS as ON_BITS


@frozen
class Module:
    """A module and its configuration.

    Attributes:
        text: the module.
        configuration: what TLC is told to check.
        left_out: ids of properties that the module does not have, as TLA+ has no safety formula for them.
    """

    text: str
    configuration: str
    left_out: tuple[str, ...]


def module(program: Program, name: str, about: str) -> Module:
    """The module of a system.

    Steps that leave a domain are no steps, as in the search. Goals are defined, and not in the configuration: TLC shows
    the way to a goal as the counterexample of its negation.

    Args:
        program: the system.
        name: the module's name.
        about: a line that says what it is made from.

    Raises:
        TooWide: for a word that may be beyond 32 bits.
    """
    writer = _Writer(program := without_premises(program))
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
        *[ON_BITS] * wide,
        "",
        *writer.initial(),
        *(line for kind in program.kinds for line in writer.action(kind)),
        "Next == " + " \\/ ".join(writer.actions[kind.action.name] for kind in program.kinds),
        "",
        *writer.properties(),
        "====",
    ]
    left_out = [claim.id for claim in program.claims if claim.id not in writer.ids]
    return Module("\n".join(lines) + "\n", writer.configuration(), tuple(left_out))


class _Writer:
    """The parts of a module."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: list[str] = []
        for slot in program.layout.slots:
            self.names.append(identifier(program.layout.name(slot.path), self.names))
        self.variables = {term.index: name for term, name in zip(program.state, self.names, strict=True)}
        self.taken = [*self.names]
        self.actions = {kind.action.name: self._new(kind.action.name) for kind in program.kinds}
        safety = (*program.always, *program.sometimes, *program.steps)
        self.ids = {claim.id: self._new(claim.id) for claim in safety}
        self.deadlock = self._new("OnlyQuiescentStatesEnd")
        self.constraint = self._new("Within")

    def _new(self, text: str) -> str:
        self.taken.append(identifier(text, self.taken))
        return self.taken[-1]

    def initial(self) -> Iterator[str]:
        """The initial states: described, or listed."""
        if self.program.initially:
            yield from self._described()
            return
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
        waiting = conjuncts_of([*self.program.initially.values()])
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

    def _some_instance(self, kind: Kind, *denied: Term) -> str:
        """For some arguments: the guard, then the next state within its domains, and what is denied of the step."""
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
            f"      a{place} == <<{', '.join(_argument(row[place - 1], term) for row in kind.table)}>>[i]"
            for place, term in enumerate(kind.variables, start=1)
        ]
        return "\n".join([f"  \\E i \\in 1..{len(kind.table)} :", "    LET", *columns, "    IN", body])

    def properties(self) -> Iterator[str]:
        """Invariants, claims about steps, goals, and that only quiescent states have no successor."""
        for claim, term in zip(self.program.always, self.program.always_terms, strict=True):
            yield from self._of_state(claim, term)
        for claim, term in zip(self.program.sometimes, self.program.sometimes_terms, strict=True):
            yield from self._of_state(claim, term)
        for place, claim in enumerate(self.program.steps):
            yield from self._of_steps(claim, place)
        text = written([self.program.quiescent], self.variables)
        yield f"{self.deadlock} =="
        yield text.before(f"ENABLED Next \\/ {text.roots[0]}", "  ")
        yield ""
        if self.program.within is not None:
            bound = written([self.program.within], self.variables)
            yield f"{self.constraint} =="
            yield bound.before(f"vars = vars /\\ {bound.roots[0]}", "  ")
            yield ""

    def _define(self, claim: Property) -> Iterator[str]:
        yield f"\\* {claim.sentence}"
        yield f"{self.ids[claim.id]} =="

    def _of_state(self, claim: Property, term: Term) -> Iterator[str]:
        text = written([term], self.variables)
        root = text.roots[0]
        yield from self._define(claim)
        # TLC takes no invariant that reads no variable.
        yield text.before(f"vars = vars /\\ {root}" if term.op == "const" else root, "  ")
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
        """What TLC checks: invariants and claims about steps; goals are left to the reader."""
        invariants = [self.ids[claim.id] for claim in self.program.always] + [self.deadlock]
        lines = ["INIT Init", "NEXT Next", "CHECK_DEADLOCK FALSE", *(f"INVARIANT {name}" for name in invariants)]
        lines += [f"PROPERTY {self.ids[claim.id]}" for claim in self.program.steps]
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
