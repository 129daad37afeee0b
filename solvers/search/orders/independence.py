"""Independence derived from the traced rules: which action instances can neither disturb nor see each other.

Two instances are independent where neither writes what the other reads or writes. Then neither enables, disables or
changes the other, and both orders lead to the same state. What an instance reads is all that decides its guard,
its effect, whether it leaves a domain, and the step properties and goals of the step that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import define, evolve, field, frozen

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.orders.bits import ALL, BitReader, Bits
from kraftcheck.solvers.search.orders.instances import Instance, Specialiser
from kraftcheck.solvers.search.orders.plan import Orders

MOST_INSTANCES = 4096
"""Most action instances: the tables grow with the square."""


class OrdersError(ValueError):
    """A program whose orders cannot be reduced soundly, or not at this size."""


@frozen
class Footprint:
    """What an instance reads and writes: bits by the index of a variable of the state."""

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
    """Collects the tables of a program.

    Attributes:
        program: of which.
        made: its terms as those of the state alone.
        reader: follows bits through them.
    """

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
        writers, readers = _Table(f.writes for f in footprints), _Table(f.reads for f in footprints)
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
        return Orders(self.made.state, tuple(conjuncts.values()), guards, dependent, enabling, visible)

    def footprint(self, one: Instance) -> Footprint:
        """What an instance reads and writes."""
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


class _Table:
    """Which instances have which bits of which variable.

    Args:
        all_bits: for each instance its bits.
    """

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
