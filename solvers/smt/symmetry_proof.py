"""Symmetries that a layout suggests: tuples with an item for each element, sets of elements, words that name one.

A suggestion is no more than that: whoever uses one proves it first (`kraftcheck.solvers.smt.symmetry_proof`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import z3
from attrs import define, evolve, field, frozen

from kraftcheck.model.language.layout import Domain, Flag, Range, cap_of
from kraftcheck.model.language.symmetry import MOST_MEMBERS, Symmetry, SymmetryError, SymmetryFields
from kraftcheck.model.language.terms import Graph, Term, Truth
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.solvers.program.columns import set_slots
from kraftcheck.solvers.program.evaluation import value_of
from kraftcheck.solvers.program.parts import line_of
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.search.orders import Instance, Specialiser
from kraftcheck.solvers.search.symmetry import iterate_growing, reduced
from kraftcheck.solvers.smt.z3terms import Z3Reader


@define
class SampleValues:
    """Evaluates the terms of a graph in given states; a value that is known is kept."""

    graph: Graph  # of which terms
    # for each state the values of the graph's variables, in the order in which they were made
    rows: Sequence[Sequence[int]]
    _known: list[list[int]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Nothing is known yet."""
        self._known = [[] for _ in self.rows]

    def always(self, truth: Term) -> bool:
        """Whether a truth holds in all of the states."""
        return all(self._value(known, row, truth) for known, row in zip(self._known, self.rows, strict=True))

    def _value(self, known: list[int], row: Sequence[int], term: Term) -> int:
        for node in self.graph.nodes[len(known) : term.index + 1]:
            args = [known[arg.index] for arg in node.args]
            known.append(int(row[node.value]) if node.op == "var" else value_of(node, args))
        return known[term.index]


def scattered(spans: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    """Rows of values from all over their spans (both ends included): the same at every call.

    >>> scattered([(0, 9), (-1, 1)], 2)
    [[8, 0], [3, 0]]
    """
    number, rows = 1, list[list[int]]()
    for _ in range(count):
        rows.append([])
        for lo, hi in spans:
            number = (number * 6364136223846793005 + 1442695040888963407) % (1 << 64)  # Knuth's MMIX
            rows[-1].append(lo + (number >> 32) % (hi - lo + 1))
    return rows


SAMPLES = 12  # scattered states on which an instance and its likely image are compared before Z3 is asked


@frozen
class SymmetryProof:
    """The proof of the symmetries of a program, and its cost."""

    obligations: int  # statements proven
    asked: int  # how many of them Z3 was asked; the others folded to the same terms

    def text(self) -> str:
        """The proof in a line of a report."""
        return f"symmetry: proven for every state of the layout, {self.obligations:,} statements, {self.asked:,} by Z3"


def prove_symmetries(program: Program, timeout: float = 10.0) -> SymmetryProof:
    """Prove the symmetries by which the states of a program are reduced.

    Args:
        timeout: seconds that Z3 may take for one statement.

    Raises:
        SymmetryError: naming the actions and properties that tell elements apart or are not proven in time.
    """
    fields = () if program.reduction is None else program.reduction.fields
    _check_caps(program)
    prover = _Prover(program, timeout)
    for entry in fields:
        for order in entry.symmetry.swaps():
            prover.start(entry, order)
            prover.swap(entry, order)
        if prover.obstacles:
            raise SymmetryError(f"{program.system.name}: {'; '.join(prover.obstacles)}")
        prover.orders(entry)
    return SymmetryProof(prover.obligations, prover.asked)


def of_every_item(path: str) -> str:
    """A path with stars for its numbers, as symmetries name fields."""
    return re.sub(r"\[\d+\]", "[*]", path)


def _check_caps(program: Program) -> None:
    """Refuse items of a tuple whose bounds have different reasons: a cap cuts one step, a fault its image."""
    caps: dict[str, str] = {}
    for slot in program.layout.slots:
        name = of_every_item(slot.path)
        if caps.setdefault(name, cap_of(slot.domain)) != cap_of(slot.domain):
            why = f"the items of {name} have bounds with different reasons; give one"
            raise SymmetryError(f"{program.system.name}: {why}")


@define
class _Prover:
    """Proves exchanges of two elements, one after the other."""

    # program, timeout: as `prove_symmetries` takes them
    program: Program
    timeout: float
    # obligations, asked: counted so far
    obligations: int = 0
    asked: int = 0
    # for each action and property that tells elements apart what a refusal says of it, each once
    obstacles: dict[str, None] = field(factory=dict)
    _made: Specialiser = field(init=False)
    _instances: list[Instance] = field(init=False)
    _reader: Z3Reader = field(factory=Z3Reader)
    _samples: SampleValues = field(init=False)
    _undecided: bool = False

    def __attrs_post_init__(self) -> None:
        """Make terms of the state, and states to try them on."""
        self._made = Specialiser(self.program)
        self._instances = list(self._made.instances())
        layout = self.program.layout
        rows = [list(layout.split(packed)) for packed in self.program.initial[:4]]
        rows += scattered([(slot.domain.lo, slot.domain.hi) for slot in layout.slots], SAMPLES)
        self._samples = SampleValues(self._made.graph, rows)

    def start(self, entry: SymmetryFields, order: tuple[int, ...]) -> None:
        """Compare the initial states, all of them, with their images."""
        layout = self.program.layout
        values = {tuple(layout.values(state)) for state in initial_states(self.program.system, self.program.setting)}
        if {tuple(map(int, entry.image(row, order))) for row in values} != values:
            name = self.program.system.name
            raise SymmetryError(f"{name}: the set of initial states tells {entry.symmetry.name} apart")

    def swap(self, entry: SymmetryFields, order: tuple[int, ...]) -> None:
        """Prove that exchanging two elements changes nothing."""
        graph, slots = self._made.graph, self.program.layout.slots
        image = tuple(graph.lift(value) for value in entry.image(list(self._made.state), order))
        inside = [all_of(*_inside(value, slot.domain)) for value, slot in zip(image, slots, strict=True)]
        back = [x == y for x, y in zip(entry.image(image, order), self._made.state, strict=True)]
        self._require(all_of(*inside, *back), entry, "the layout")
        renamed = Specialiser(self.program, graph, image)
        for name, here, there in zip(*self._state_truths(renamed), strict=True):
            self._undecided = False
            if not self._holds(here == there):
                self._obstacle(entry, name)
        images = list(renamed.instances())
        for kind in self.program.kinds:
            for row in range(len(kind.instances)):
                self._undecided = False
                others = [images[kind.first + other] for other in _likely(kind, row, order)]
                if not any(self._is_image(entry, order, kind.first + row, other) for other in others):
                    self._of_action(entry, order, kind, row, others)

    def _of_action(
        self, entry: SymmetryFields, order: tuple[int, ...], kind: Kind, row: int, others: list[Instance]
    ) -> None:
        """Note why an instance has no image: claims of steps where it has one without them, or else the action."""
        claims, number = [*self.program.steps, *self.program.happens], kind.first + row
        for other in others:
            told = [n for n in range(len(claims)) if not self._is_image(entry, order, number, other, (n,))]
            if self._is_image(entry, order, number, other, ()):
                for position in told:
                    self._obstacle(entry, f"property {claims[position].id}")
                return
        self._obstacle(entry, f"action {kind.action.name}", line_of(kind.action.effect))

    def orders(self, entry: SymmetryFields) -> None:
        """Prove that each order of the elements renames a state as exchanges of neighbours do, one after the other."""
        swaps = list(entry.symmetry.swaps()) if entry.symmetry.members else []
        reached = {tuple(range(entry.symmetry.size)): list[Any](self._made.state)}
        for order in iterate_growing(reached) if swaps else ():
            values = reached[order]
            directly = zip(entry.image(list(self._made.state), order), values, strict=True)
            self._require(all_of(*(x == y for x, y in directly)), entry, "an order of the elements")
            for swap in swaps:
                reached.setdefault(tuple(swap[i] for i in order), entry.image(values, swap))

    def _is_image(
        self, entry: SymmetryFields, order: tuple[int, ...], number: int, other: Instance,
        claims: tuple[int, ...] | None = None,
    ) -> bool:  # fmt: skip
        """Whether an instance does in the renamed state what one does in the state, as these claims (or all) see it."""
        own, graph = self._instances[number], self._made.graph
        if any(claim.allowed[number] != claim.allowed[other.number] for claim in self.program.recovers):
            return False
        enabled = all_of(*own.guard)
        after = [graph.lift(value) for value in entry.image(list(own.after), order)]
        told = range(len(own.steps)) if claims is None else claims
        here, there = ([one.steps[n] for n in told] for one in (own, other))
        same = [x == y for x, y in zip((*after, *here), (*other.after, *there), strict=True)]
        same.append(graph.lift(self._stays(own)) == self._stays(other))
        like = graph.lift(enabled) == all_of(*other.guard)
        return self._holds(all_of(like, any_of(negate(enabled), all_of(*same))))

    def _stays(self, one: Instance) -> Truth:
        """Whether an instance stays within the domains."""
        slots = self.program.layout.slots
        return all_of(*itertools.chain.from_iterable(_inside(one.after[n], slots[n].domain) for n in one.unchecked))

    def _state_truths(self, renamed: Specialiser) -> tuple[list[str], list[Term], list[Term]]:
        """The truths of a state that a search observes, with their names: in the state, and in the renamed one."""
        program = self.program
        named = [(f"property {c.id}", t) for c, t in zip(program.always, program.always_terms, strict=True)]
        named += [(f"property {c.id}", t) for c, t in zip(program.sometimes, program.sometimes_terms, strict=True)]
        named += [(f"property {r.claim.id}", t) for r in program.recovers for t in (r.when, r.goal)]
        named += [(f"property {name}, initially", t) for name, t in program.starts.items()]
        named.append(("the truth of quiescent states", program.quiescent))
        named += [] if program.within is None else [("within", program.within)]
        terms = [term for _, term in named]
        return [name for name, _ in named], self._made.of_state(terms), renamed.of_state(terms)

    def _require(self, truth: Truth, entry: SymmetryFields, name: str) -> None:
        if not self._holds(truth):
            self._obstacle(entry, name)
            raise SymmetryError(f"{self.program.system.name}: {'; '.join(self.obstacles)}")

    def _obstacle(self, entry: SymmetryFields, name: str, line: str = "") -> None:
        told = f"{name} tells {entry.symmetry.name} apart in a state of the layout{line}"
        if self._undecided:
            told = f"whether {name} tells {entry.symmetry.name} apart is not decided in {self.timeout:g} s{line}"
        self.obstacles[told], self._undecided = None, False

    def _holds(self, truth: Truth) -> bool:
        """Whether a truth holds in every state of the layout."""
        term = self._made.graph.lift(truth)
        holds = bool(term.value) if term.op == "const" else self._samples.always(term) and self._asked(term)
        self.obligations += holds
        return holds

    def _asked(self, truth: Term) -> bool:
        """Whether Z3 finds no state in which a truth does not hold."""
        solver = z3.Solver(ctx=self._reader.context)
        solver.set("timeout", int(1000 * self.timeout))
        for variable, slot in zip(self._made.state, self.program.layout.slots, strict=True):
            solver.add(self._reader.within(variable, slot.domain.lo, slot.domain.hi))
        solver.add(z3.Not(self._reader.expression(truth)))
        answer = solver.check()
        self.asked += answer == z3.unsat
        self._undecided = self._undecided or answer == z3.unknown
        return bool(answer == z3.unsat)


def _likely(kind: Kind, row: int, order: tuple[int, ...]) -> list[int]:
    """The instances of a kind, those first whose argument values are the renamed ones or the same."""
    moved = dict(enumerate(order))
    renamed = [moved.get(int(value), int(value)) for value in kind.table[row]]
    same = [list(map(int, values)) == renamed for values in kind.table]
    return sorted(range(len(kind.table)), key=lambda other: (not same[other], other != row))


def _inside(value: Term, domain: Domain) -> list[Truth]:
    """That a value is in a domain, as truths."""
    return [] if value.is_truth else [value >= domain.lo, value <= domain.hi]


def suggestions(program: Program) -> list[list[Symmetry]]:
    """For each number of elements the symmetries that the layout suggests, the most telling first."""
    sets, tuples, words = _sets(program), _tuples(program), _words(program)
    found = []
    for size in sorted({*sets.values(), *tuples.values()} - {0, 1}):
        of_sets = tuple(name for name, n in sets.items() if n == size)
        of_tuples = tuple(name for name, n in tuples.items() if n == size)
        members = {name: 0 for name, n in words.items() if n == size}
        name = f"elements 0..{size - 1} of {', '.join((*of_tuples, *of_sets))}"
        plain = Symmetry(name, size, of_sets, {}, of_tuples)
        named = [evolve(plain, members=members)] if members and size <= MOST_MEMBERS else []
        found.append([*named, plain])
    return found


def by_proven_symmetry(program: Program, timeout: float = 10.0) -> Program:
    """The program, its states reduced by symmetries that are proven: those declared, or else what the layout suggests.

    Raises:
        SymmetryError: naming the action or property that tells elements apart, with its line.
    """
    if any(one.size > 1 for one in program.system.symmetries(program.setting)):
        whole = reduced(program)
        return _noted(whole, prove_symmetries(whole, timeout))
    parts = list[tuple[Symmetry, SymmetryProof]]()
    refused = SymmetryError(f"{program.system.name} has neither tuples nor sets of elements")
    for group in suggestions(program):
        for one in group:
            try:
                parts.append((one, prove_symmetries(_with(program, [one]), timeout)))
            except SymmetryError as error:
                refused = error
                continue
            break
    if not parts:
        raise refused
    proof = SymmetryProof(sum(of.obligations for _, of in parts), sum(of.asked for _, of in parts))
    return _noted(_with(program, [one for one, _ in parts]), proof)


def _with(program: Program, symmetries: Sequence[Symmetry]) -> Program:
    return reduced(evolve(program, system=evolve(program.system, symmetries=lambda setting: symmetries)))


def _noted(program: Program, proof: SymmetryProof) -> Program:
    """The reduced program with what was proven of it."""
    assert program.reduction is not None
    return evolve(program, reduction=evolve(program.reduction, proof=proof.text()))


def _sets(program: Program) -> dict[str, int]:
    """Sets by path, with the number of elements that each may have; 0 where sets of one path differ in that."""
    masks = set_slots(program.layout)
    sizes = ((s.path, s.domain.hi.bit_length()) for s in program.layout.slots if s.path in masks)
    return _agreeing(sizes)


def _tuples(program: Program) -> dict[str, int]:
    """Tuples by path, with their number of items; 0 where tuples of one path differ in that."""
    items: dict[str, set[int]] = {}
    for slot in program.layout.slots:
        for found in re.finditer(r"\[(\d+)\]", slot.path):
            items.setdefault(slot.path[: found.start()], set()).add(int(found[1]))
    return _agreeing((path, len(numbers)) for path, numbers in items.items())


def _words(program: Program) -> dict[str, int]:
    """Words that may name an element, or none by -1, with the number of elements; enumerations name none."""
    masks = set_slots(program.layout)
    sizes = (
        (s.path, s.domain.hi + 1 if s.domain.lo in (-1, 0) else 0)
        for s in program.layout.slots
        if isinstance(s.domain, Range) and not isinstance(s.domain, Flag) and not s.domain.names and s.path not in masks
    )
    return _agreeing(sizes)


def _agreeing(sizes: Iterator[tuple[str, int]]) -> dict[str, int]:
    """Sizes by path without the numbers in it, 0 where they differ."""
    found: dict[str, int] = {}
    for path, size in sizes:
        name = of_every_item(path)
        found[name] = size if found.get(name, size) == size else 0
    return found
