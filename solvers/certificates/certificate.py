"""The certificate of a proof: one text that defines the system and what is claimed of it, for other programs to check.

The text is VMT-LIB 2, which is SMT-LIB 2 with annotations: state variables and what they are next, inputs, initial
states, transitions, invariants (Cimatti, Griggio and Tonetta, "The VMT-LIB language and tools", 2022). It has no
obligations: who checks it makes them. These are its definitions, each under a name of its own:

    domain: FIELD                the field is in its domain
    initially                    the initial states
    A, argument: P               an argument of action A is one of its values
    A, guard: G                  a conjunct of its guard
    A, bound: FIELD              its step leaves the field in its domain; one that does not is left out
    A, next: FIELD               what the field is after the step
    action: A                    a step of A: all of these
    next                         a step: of one of the actions
    invariant: ID                an invariant or a lemma
    A, step: ID                  a claim about steps, of a step of A
    initially, step: ID          what it claims of initial states
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.certificates.quantifiers import DefiningReader, places
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.printer import Printer, one_line, symbol
from kraftcheck.solvers.smt.queries import Questions
from kraftcheck.solvers.smt.theory import INITIATION, Theory

_NO_NAME = re.compile(r"[|\\]|'\Z|, (argument|guard|bound|next|step): ")
"""What makes a name none of a certificate's; nor may it hold a character that is not shown."""


@frozen
class Certificate:
    """The claims that a proof has shown."""

    invariants: tuple[str, ...]  # ids of the invariants and lemmas that are proven; together they are inductive
    steps: tuple[str, ...]  # ids of the step properties that are proven
    text: str  # the definition of the system and of these claims


def certificate(proof: Proof) -> Certificate | None:
    """The certificate of what a proof has shown; None where it has shown none of its targets."""
    proven = [claim.id for claim in proof.theory.claims if claim.id in proof.claims and proof.proven(claim.id)]
    if not set(proven) & set(proof.targets):
        return None
    invariants = tuple(claim.id for claim in proof.theory.invariants if claim.id in proven)
    steps = tuple(claim.id for claim in proof.theory.steps if claim.id in proven)
    return Certificate(invariants, steps, definition(proof.theory, invariants, steps))


def unnamed(of: Theory) -> str | None:
    """A name of the system that is no symbol of a certificate, or could be read as a part's; None where none is."""
    names = [*(claim.id for claim in of.claims), *(slot.path for slot in of.program.layout.slots)]
    for kind in of.program.kinds:
        names += [kind.action.name, *kind.guard, *(of.program.graph.variables[v.value] for v in kind.variables)]
    return next((name for name in names if _NO_NAME.search(name) or not name.isprintable()), None)


def definition(of: Theory, invariants: Sequence[str], steps: Sequence[str]) -> str:
    """The definition of a system, and of claims by their ids.

    Raises:
        NotDefined: where it asks for something of any number that a certificate has no definition of.
    """
    return "\n".join([*_Definition(of, invariants, steps).lines(), ""])


@frozen
class _Field:
    """A field of the state: its name and term, the places of a sequence, and the word now and after a step."""

    name: str
    term: Term
    given: Sequence[Any]
    now: Any
    after: Any


class _Definition:
    """Writes the definition of a system and of some claims.

    Args:
        of: the theory of the system.
        invariants, steps: ids of the claims.
    """

    def __init__(self, of: Theory, invariants: Sequence[str], steps: Sequence[str]) -> None:
        self._of, self._invariants, self._steps = of, invariants, steps
        program = of.program
        self._read, self._printer = DefiningReader(program.graph), Printer()
        self._questions = Questions(of, self._read)
        numbers = {f"how many {bound}": number for bound, number in program.graph.notes.numbers.items()}
        self._fields = [
            *(self._field(slot.path, term) for term, slot in zip(program.state, program.layout.slots, strict=True)),
            *(self._field(name, number) for name, number in numbers.items()),
        ]
        self._sets = 0

    def _field(self, name: str, term: Term) -> _Field:
        given = places(term.args[0].value) if term.op == "sequence" else []
        now, after = self._read.expression(term), self._read.variable(term, f"{name}'")
        return _Field(name, term, given, now(*given) if given else now, after(*given) if given else after)

    def lines(self) -> Iterator[str]:
        """The text, a line at a time; each name is defined before it is used."""
        ints = any(field.given or z3.is_int(field.now) for field in self._fields)
        yield "; VMT-LIB 2: a system, and the invariants and claims about its steps that are said to be proven"
        yield f"(set-logic {'ALL' if ints else 'QF_BV'})"
        for word in ("now", "after"):
            for field in self._fields:
                yield from self._printer.open(getattr(field, word))[0]
        for field in self._fields:
            state = f"(! {one_line(field.now)} :next {symbol(field.after.decl().name())})"
            yield defined(f"field: {field.name}", state, given=field.given, sort=field.now.sort().sexpr())
        domains, start = self._questions.domains(), self._questions.premises(INITIATION, ()).truths
        for number, (name, truth) in enumerate(domains.items()):
            yield from self._truths({name: truth}, f":invar-property {number}")
        yield from self._truths({name: truth for name, truth in start.items() if name not in domains})
        yield joined("initially", "and", {**domains, **start}, ":init true")
        kinds = self._of.program.kinds
        for kind in kinds:
            yield from self._action(kind)
        yield joined("next", "or", [f"action: {kind.action.name}" for kind in kinds], ":trans true")
        truths, starts = self._of.state_truths(), self._of.program.starts
        for number, name in enumerate(self._invariants, len(domains)):
            yield from self._terms({f"invariant: {name}": truths[name]}, f":invar-property {number}")
        yield from self._terms({f"{INITIATION}, step: {name}": starts[name] for name in self._steps if name in starts})

    def _action(self, kind: Kind) -> Iterator[str]:
        """The definitions of an action, and of claims about its steps."""
        name = kind.action.name
        given = self._questions.premises(name, (), within=False).truths
        own = ("argument: ", "guard: ")
        parts = {f"{name}, {part}": truth for part, truth in given.items() if part.startswith(own)}
        bounds = self._questions.bounds(kind, there=True)
        parts |= {f"{name}, {part}": self._read.expression(term) for part, term in bounds.items()}
        yield from self._truths(parts)
        effects = [f"{name}, next: {field.name}" for field in self._fields]
        ends = [*kind.after, *(field.term for field in self._fields[len(kind.after) :])]
        for effect, field, end in zip(effects, self._fields, ends, strict=True):
            value = self._read.fitted(end, field.term)
            yield from self._new_sets()
            lines, text = self._printer.open(value) if field.given else ([*self._printer.lines([value])], "")
            yield from lines
            equal = f"(= {one_line(field.after)} {text or self._printer.reference(value)})"
            yield defined(effect, f"(forall ({bound(field.given)}) {equal})" if field.given else equal)
        yield joined(f"action: {name}", "and", [*parts, *effects])
        yield from self._terms({f"{name}, step: {one}": self._of.step_truth(kind, one) for one in self._steps})

    def _new_sets(self) -> Iterator[str]:
        """The definitions of sets whose sizes were asked for since."""
        for one in self._read.sets[self._sets :]:
            lines, text = self._printer.open(one.member)
            yield from lines
            yield defined(one.name, text, given=one.given)
            yield from self._printer.open(one.size)[0]
        self._sets = len(self._read.sets)

    def _terms(self, terms: Mapping[str, Term], annotation: str = "") -> Iterator[str]:
        return self._truths({name: self._read.expression(term) for name, term in terms.items()}, annotation)

    def _truths(self, truths: Mapping[str, Any], annotation: str = "") -> Iterator[str]:
        """The definition of each truth, after what it needs."""
        yield from self._new_sets()
        yield from self._printer.lines([*truths.values()])
        for name, truth in truths.items():
            yield defined(name, self._printer.reference(truth), annotation)


def joined(name: str, operator: str, names: Collection[str], annotation: str = "") -> str:
    """The definition of a conjunction or disjunction of truths that have names."""
    words = [*map(symbol, names)]
    return defined(name, f"({operator} {' '.join(words)})" if len(words) > 1 else words[0], annotation)


def defined(name: str, truth: str, annotation: str = "", given: Collection[Any] = (), sort: str = "Bool") -> str:
    """The definition of a truth, or of a word of another sort, of some places."""
    body = f"(! {truth} {annotation})" if annotation else truth
    return f"(define-fun {symbol(name)} ({bound(given)}) {sort} {body})"


def bound(given: Collection[Any]) -> str:
    """Places as what binds them declares them."""
    return " ".join(f"({one_line(place)} Int)" for place in given)
