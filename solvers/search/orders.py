"""Independence derived from the traced rules: which action instances can neither disturb nor see each other.

Two instances are independent where neither writes what the other reads or writes. Then neither enables, disables or
changes the other, and both orders lead to the same state. What an instance reads is all that decides its guard,
its effect, whether it leaves a domain, and the step properties and goals of the step that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import (
    BLOCK_WORDS,
    CONTROLS,
    ENDS,
    FIRSTS,
    HIDDEN,
    LEFT_OUT,
    PARTS,
    REDUCED,
    ROWS,
    WORK,
    work_words,
)
from kraftcheck.solvers.machine_code.transition import live_kinds
from kraftcheck.solvers.program.evaluation import closure, conjuncts
from kraftcheck.solvers.program.orders import Orders, as_words
from kraftcheck.solvers.program.program import Kind, Program

ALL = -1  # every bit of a word; the value of a truth
Bits = dict[int, int]  # bits by the index of a variable of the state; a variable that is absent has none


@define
class BitReader:
    """Follows bits through the terms of one graph; what it found of a term is kept."""

    # ones, zeros: by index of a term, the bits of it that are set, and clear, in every state
    ones: Bits = field(factory=dict)
    zeros: Bits = field(factory=dict)

    def read(self, roots: Iterable[tuple[Term, int]]) -> Bits:
        """The bits of each variable that decide the wanted bits of the roots.

        Args:
            roots: terms, each with the bits of its value that are wanted.
        """
        wanted: Bits = {}
        terms = []
        for term, bits in roots:
            if bits:
                wanted[term.index] = wanted.get(term.index, 0) | bits
                terms.append(term)
        self._note(terms)
        read: Bits = {}
        for term in reversed(closure(terms)):  # users before their arguments
            bits = wanted.get(term.index, 0)
            if term.op == "var" and bits:
                read[term.index] = bits
            for arg, of_arg in zip(term.args, self._wanted_of(term, bits), strict=True) if bits else ():
                wanted[arg.index] = wanted.get(arg.index, 0) | of_arg
        return read

    def _wanted_of(self, term: Term, bits: int) -> Sequence[int]:
        """The bits of each argument that decide these bits of a term."""
        match term.op:
            case "ite":
                return ALL, bits, bits
            case "narrow":
                return bits, 0, 0
            case "bor" | "band" | "bclear":
                x, y = (arg.index for arg in term.args)
                deciding = self.ones if term.op == "bor" else self.zeros  # a bit of one decides, whatever the other's
                of_x = self.ones if term.op == "bclear" else deciding
                return bits & ~of_x[y], bits & ~deciding[x]
            case "member":
                return _places(term.args[1]), ALL
        return [ALL] * len(term.args)

    def changed(self, before: Term, after: Term) -> int:
        """The bits of a field that a step may change.

        Args:
            before, after: the variable of the field, and its value after the step.
        """
        self._note([before, after])
        kept: Bits = {before.index: ALL}
        for term in closure([after], kept):
            own = self._kept_of(term, kept)
            kept[term.index] = own if term.is_truth else own | self.zeros[before.index] & self.zeros[term.index]
        return ~kept[after.index]

    def _kept_of(self, term: Term, kept: Bits) -> int:
        """The bits of a term that are those of the variable whose bits its arguments keep."""
        of = [kept[arg.index] for arg in term.args]
        match term.op:
            case "narrow":
                return of[0]
            case "ite":
                return of[1] & of[2]
            case "bor" | "band":
                x, y = (arg.index for arg in term.args)
                neutral = self.zeros if term.op == "bor" else self.ones
                return of[0] & of[1] | of[0] & neutral[y] | of[1] & neutral[x]
            case "bclear":
                return of[0] & self.zeros[term.args[1].index]
        return 0

    def _note(self, roots: Sequence[Term]) -> None:
        for term in closure(roots, self.zeros):
            self.ones[term.index] = self._ones_of(term)
            self.zeros[term.index] = self._zeros_of(term)

    def _ones_of(self, term: Term) -> int:
        match term.op:
            case "const":
                return term.value
            case "bor":
                return self.ones[term.args[0].index] | self.ones[term.args[1].index]
        return 0

    def _zeros_of(self, term: Term) -> int:
        above = ~((1 << term.hi.bit_length()) - 1) if term.lo >= 0 else 0
        of = [self.zeros[arg.index] for arg in term.args]
        match term.op:
            case "const":
                return ~term.value
            case "bor" | "ite":
                return above | of[-2] & of[-1]
            case "band":
                return above | of[0] | of[1]
            case "bclear":
                return above | of[0] | self.ones[term.args[1].index]
            case "single":
                return above | ~_places(term.args[0])
        return above


def _places(index: Term) -> int:
    """The bits of a mask that an index may name; no bit outside 0..61."""
    lo, hi = max(index.lo, 0), min(index.hi, MASK_BITS - 1)
    return (1 << hi + 1) - (1 << lo) if lo <= hi else 0


@frozen
class Instance:
    """An action instance."""

    number: int
    guard: tuple[Term, ...]  # truths of the state that must all hold; a constant one is false
    after: tuple[Term, ...]  # for each layout slot, the leaf after the effect
    unchecked: tuple[int, ...]  # slots whose new value may leave the domain
    steps: tuple[Term, ...]  # as those of the kind


@define
class Specialiser:
    """Rewrites terms of a program into a graph of its own, with given values of some variables."""

    program: Program
    graph: Graph = field(factory=Graph)
    # what stands for the state there, one term for each layout slot; new variables unless given
    state: tuple[Term, ...] = ()
    _of_state: dict[int, Term] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Make the variables of the state, where none are given."""
        variables = self.program.state
        self.state = self.state or tuple(self._like(variable) for variable in variables)
        self._of_state = {variable.index: own for variable, own in zip(variables, self.state, strict=True)}

    def _like(self, variable: Term) -> Term:
        name = self.program.graph.variables[variable.value]
        if variable.is_truth:
            return self.graph.truth_variable(name)
        return self.graph.variable(name, variable.lo, variable.hi)

    def of_state(self, terms: Sequence[Term]) -> list[Term]:
        """Terms of the state alone."""
        self._rewrite(terms, self._of_state)
        return [self._of_state[term.index] for term in terms]

    def instances(self) -> Iterator[Instance]:
        """Every action instance, in order of their numbers."""
        for _, kind in live_kinds(self.program):
            arguments = {variable.index for variable in kind.variables}
            roots = (*kind.guard.values(), *kind.after, *kind.steps)
            needed = closure(roots)
            by_argument = set(arguments)
            for term in needed:
                if any(arg.index in by_argument for arg in term.args):
                    by_argument.add(term.index)
            self._rewrite([term for term in needed if term.index not in by_argument], self._of_state)
            own = [term for term in needed if term.index in by_argument and term.index not in arguments]
            for row, values in enumerate(kind.table):
                yield self._instance(kind, row, own, values)

    def _instance(self, kind: Kind, row: int, own: Sequence[Term], values: Sequence[int]) -> Instance:
        known = dict(self._of_state)
        for variable, value in zip(kind.variables, values, strict=True):
            known[variable.index] = self.graph.constant(bool(value) if variable.is_truth else int(value))
        self._rewrite_each(own, known)
        after = tuple(known[term.index] for term in kind.after)
        slots = self.program.layout.slots
        unchecked = tuple(
            slot for slot in kind.unchecked
            if after[slot].lo < slots[slot].domain.lo or after[slot].hi > slots[slot].domain.hi
        )  # fmt: skip
        guard = tuple(conjuncts(known[part.index] for part in kind.guard.values()))
        return Instance(kind.first + row, guard, after, unchecked, tuple(known[term.index] for term in kind.steps))

    def _rewrite(self, roots: Sequence[Term], known: dict[int, Term]) -> None:
        self._rewrite_each(closure(roots, known), known)

    def _rewrite_each(self, terms: Sequence[Term], known: dict[int, Term]) -> None:
        """Rewrite terms, arguments first, and note each."""
        for term in terms:
            if term.index not in known:
                known[term.index] = self._rewritten(term, known)

    def _rewritten(self, term: Term, known: Mapping[int, Term]) -> Term:
        args = [known[arg.index] for arg in term.args]
        match term.op:
            case "const":
                return self.graph.constant(bool(term.value) if term.is_truth else term.value)
            case "var":
                raise ValueError(f"the variable {term.described()} has no value")
            case "ite":
                condition, then, otherwise = args
                if condition.op == "const":
                    return then if condition.value else otherwise
                return self.graph.lift(self.graph.ite(condition, then, otherwise))
        return self.graph.lift(self.graph.apply(term.op, *args))


MOST_INSTANCES = 4096  # most action instances: the tables grow with the square


class OrdersError(ValueError):
    """A program whose orders cannot be reduced soundly, or not at this size."""


@frozen
class Footprint:
    """The reads and writes of an instance: bits by the index of a variable of the state."""

    reads: Bits
    writes: Bits


def by_orders(program: Program) -> Program:
    """The program, to be searched in some orders of independent steps only.

    Raises:
        OrdersError: naming what cannot be judged that way, and what to do instead.
    """
    for claim in (*(one.claim for one in program.recovers), *(one.claim for one in program.liveness.claims)):
        mend = "judge it without the reduction, and the others, by name, with it"
        raise OrdersError(f"property {claim.id} ({claim.kind}) is about all that may follow, in every order; {mend}")
    if program.reduction is not None:
        raise OrdersError("states are reduced by symmetry already; take one of the two")
    if program.instances > MOST_INSTANCES:
        raise OrdersError(f"{program.instances:,} action instances; the limit is {MOST_INSTANCES:,}: lower a bound")
    return evolve(program, orders=_Tables(program).orders())


@define
class _Tables:
    """Collects the tables of a program."""

    program: Program
    made: Specialiser = field(init=False)
    reader: BitReader = field(factory=BitReader)

    def __attrs_post_init__(self) -> None:
        """Begin a graph of the state alone."""
        self.made = Specialiser(self.program)

    def orders(self) -> Orders:
        """The tables."""
        instances = list(self.made.instances())
        footprints = [self.footprint(one) for one in instances]
        writers, readers = _InstanceBits(f.writes for f in footprints), _InstanceBits(f.reads for f in footprints)
        dependent = tuple(
            writers.touching(one.reads) | writers.touching(one.writes) | readers.touching(one.writes) | 1 << n
            for n, one in enumerate(footprints)
        )
        conjuncts = {part.index: part for one in instances for part in one.guard}
        numbers = {index: number for number, index in enumerate(conjuncts)}
        enabling = tuple(writers.touching(self.reader.read([(part, ALL)])) for part in conjuncts.values())
        guards = tuple(
            tuple(sorted((numbers[part.index] for part in one.guard), key=lambda n: (enabling[n].bit_count(), n)))
            for one in instances
        )
        visible = writers.touching(self.reader.read((term, ALL) for term in self._observed()))
        return Orders(self.made.state, tuple(conjuncts.values()), guards, dependent, enabling, visible=visible)

    def footprint(self, one: Instance) -> Footprint:
        """The reads and writes of an instance."""
        slots, writes = self.program.layout.slots, dict[int, int]()
        wanted = [(term, ALL) for term in (*one.guard, *one.steps)]
        for place, (before, after) in enumerate(zip(self.made.state, one.after, strict=True)):
            changed = self.reader.changed(before, after) if slots[place].domain.bits else 0
            if changed:
                writes[before.index] = changed
            wanted.append((after, ALL if place in one.unchecked else changed))
        return Footprint(self.reader.read(wanted), writes)

    def _observed(self) -> Sequence[Term]:
        """What is judged of a state alone, and whether the search goes on from it."""
        program = self.program
        truths = [*program.always_terms, *program.sometimes_terms]
        return self.made.of_state(truths if program.within is None else [*truths, program.within])


class _InstanceBits:
    """Which instances have which bits of which variable."""

    def __init__(self, all_bits: Iterable[Mapping[int, int]]) -> None:
        self._by_variable: dict[int, list[tuple[int, int]]] = {}
        for number, bits in enumerate(all_bits):
            for variable, own in bits.items():
                self._by_variable.setdefault(variable, []).append((number, own))

    def touching(self, bits: Mapping[int, int]) -> int:
        """The instances that have one of these bits, as a set."""
        found = 0
        for number in self._numbers(bits):
            found |= 1 << number
        return found

    def _numbers(self, bits: Mapping[int, int]) -> Iterator[int]:
        for variable, wanted in bits.items():
            yield from (number for number, own in self._by_variable.get(variable, ()) if own & wanted)


@frozen
class OrdersFound:
    """The steps that were left out."""

    reduced: int  # states of which some successors were not followed
    left_out: int  # successors that were not followed

    def text(self) -> str:
        """The steps that were left out, in a line of a report."""
        if not self.reduced:
            return "orders: in no state were steps independent enough to leave one out"
        states = "1 state" if self.reduced == 1 else f"{self.reduced:,} states"
        steps = "1 step" if self.left_out == 1 else f"{self.left_out:,} steps"
        return f"orders: of {states} {steps} not followed, as another order of independent steps; traces may be longer"

    def document(self) -> dict[str, int]:
        """The same as plain values."""
        return {"reduced": self.reduced, "left_out": self.left_out}


@define
class OrderBlocks:
    """The memory that the threads of a search share, and that of each."""

    orders: Orders
    threads: int
    controls: npt.NDArray[np.int64]  # the address of each shard's control block
    # for each shard the states up to the end of the level that is expanded
    ends: npt.NDArray[np.int64] = field(init=False)
    blocks: npt.NDArray[np.int64] = field(init=False)  # one row for each thread
    _kept: list[npt.NDArray[np.generic]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Lay out the tables, and tell each block where they are."""
        self.ends = np.zeros(len(self.controls), dtype=np.int64)
        self.blocks = np.zeros((self.threads, BLOCK_WORDS), dtype=np.int64)
        guards = self.orders.guards
        firsts = np.concatenate([[0], np.cumsum([len(one) for one in guards])]).astype(np.int64)
        parts = np.array([part for one in guards for part in one] or [0], dtype=np.int64)
        hidden = as_words([~self.orders.visible & (1 << len(guards)) - 1], self.orders.words)
        work = np.zeros((self.threads, work_words(self.orders)), dtype=np.uint64)
        shared = {CONTROLS: self.controls, ENDS: self.ends, ROWS: self.orders.rows(), FIRSTS: firsts, PARTS: parts,
                  HIDDEN: hidden}  # fmt: skip
        for entry, array in shared.items():
            self.blocks[:, entry] = address(array)
        for thread in range(self.threads):
            self.blocks[thread, WORK] = address(work[thread])
        self._kept = [*shared.values(), work]  # the blocks hold only addresses

    def block(self, thread: int) -> int:
        """The address of a thread's block."""
        return address(self.blocks[thread])

    def found(self) -> OrdersFound:
        """The steps that all threads left out."""
        return OrdersFound(int(self.blocks[:, REDUCED].sum()), int(self.blocks[:, LEFT_OUT].sum()))
