"""Using symmetry: states that differ by names alone are explored once, after the symmetry was looked into.

A declared symmetry is not believed. Before and after a search, states are
renamed and compared in all that the search notes: successors, ways out,
properties, deadlock. Counterexamples are run again with the names as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field

from kraftcheck.model.language.layout import DomainError, Flag, leaves
from kraftcheck.model.language.symmetry import Fields, SymmetryError
from kraftcheck.model.language.system import Property, Step
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.reduction import Reduction
from kraftcheck.solvers.program.verdict import TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement, successor
from kraftcheck.solvers.search.visited import Store

LOOKED_AT = 256
"""States that are renamed and compared before a search, and again after it."""

Packed = tuple[int, ...]
Successors = dict[Packed, tuple[int, int]]
"""For each successor, bits of the properties whose way out leads there, and an action instance that does."""


def reduced(program: Program) -> Program:
    """The program with states reduced by the symmetries that its system declares.

    Raises:
        SymmetryError: when there are none, or one does not fit the layout.
    """
    declared = [s for s in program.system.symmetries(program.setting) if s.size > 1]
    if not declared:
        raise SymmetryError(f"{program.system.name} has no symmetry at this setting")
    paths = tuple(slot.path for slot in program.layout.slots)
    fields = tuple(Fields(one, paths) for one in declared)
    values: list[Any] = list(program.state)
    for one in fields:
        values = one.least(values)
    least = tuple(program.graph.lift(value) for value in values)
    made = evolve(program, reduction=Reduction(fields, least))
    return evolve(made, initial=tuple(sorted({canonical(made, state) for state in program.initial})))


def canonical(program: Program, packed: Sequence[int]) -> Packed:
    """The packed state that stands for a packed state, by the same rule on ints."""
    values = values_of(program, packed)
    for one in program.reduction.fields if program.reduction is not None else ():
        values = one.least(values)
    return pack(program, values)


def values_of(program: Program, packed: Sequence[int]) -> list[Any]:
    """The leaves of a packed state."""
    return [value for _, value in leaves(program.layout.unpack(packed))]


def pack(program: Program, values: Sequence[Any]) -> Packed:
    """The packed state with these leaves."""
    words = [0] * program.layout.words
    for value, slot in zip(values, program.layout.slots, strict=True):
        words[slot.word] |= (int(value) - (0 if isinstance(slot.domain, Flag) else slot.domain.lo)) << slot.shift
    return tuple(words)


@define
class Inspection:
    """Compares what the search notes of a state and of its images.

    Attributes:
        kernel: the compiled, reduced program.
    """

    kernel: Kernel
    _out: Any = field(init=False)
    _ways: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Room for successors; for each instance the properties whose way out may use it."""
        program, geometry = self.kernel.program, self.kernel.geometry
        self._out = np.empty((geometry.instances + 1) * geometry.record, dtype=np.uint64)
        self._ways = [
            sum(1 << n for n, one in enumerate(program.recoveries) if one.allowed[number])
            for number in range(program.instances)
        ]

    def noted(self, packed: Packed) -> tuple[tuple[str, ...], Successors]:
        """What the search notes of a state: claims that occur; for each successor its ways and an instance."""
        kernel, plan = self.kernel, self.kernel.plan
        frame, source = np.zeros(plan.size, dtype=np.int64), np.array(packed, dtype=np.uint64)
        inspect = kernel.library.function("inspect", 3)
        used = inspect(address(source), address(self._out), address(frame)) // 8
        after: Successors = {}
        for row in self._out[:used].reshape(-1, kernel.geometry.record).tolist():
            state, number = tuple(row[:-1]), row[-1]
            ways, first = after.get(state, (0, number))
            after[state] = ways | self._ways[number], first
        program = kernel.program
        names = [c.id for c in (*program.always, *program.sometimes)] + ["deadlock"]
        names += [c.id for c in (*program.steps, *program.happens)]
        occur = [names[n] for n in np.flatnonzero(frame[plan.claims : plan.claims + plan.claim_count]).tolist()]
        return (*occur, *self._recovering(source)), after

    def _recovering(self, source: Any) -> list[str]:
        """Names of the `recovers` properties that are about the state, or satisfied in it."""
        program = self.kernel.program
        if not program.recoveries:
            return []
        mark, n = np.zeros(1, dtype=f"u{self.kernel.geometry.mark}"), len(program.recoveries)
        self.kernel.library.function("survey", 3)(address(source), address(mark), 1)
        return [one.claim.id for group in (0, 2 * n) for k, one in enumerate(program.recoveries)
                if int(mark[0]) >> group + k & 1]  # fmt: skip

    def check(self, packed: Packed) -> None:
        """Raises `SymmetryError` where a renamed state is not the state renamed."""
        program = self.kernel.program
        claims, after = self.noted(packed)
        for one in program.reduction.fields if program.reduction is not None else ():
            for order in one.symmetry.swaps():
                renamed_claims, renamed = self.noted(self._image(one, packed, order))
                odd = sorted(set(claims) ^ set(renamed_claims))
                if odd or list(claims) != list(renamed_claims):
                    raise _apart(program, one, f"property {odd[0] if odd else claims[0]}")
                self._compare(one, {self._image(one, state, order): led for state, led in after.items()}, renamed)

    def _compare(self, one: Fields, expected: Successors, found: Successors) -> None:
        program = self.kernel.program
        for state in expected.keys() ^ found.keys():
            number = (found.get(state) or expected[state])[1]
            raise _apart(program, one, f"action {program.instance(number)[0].name}")
        for state, (ways, _) in found.items():
            if expected[state][0] != ways:
                odd = (expected[state][0] ^ ways).bit_length() - 1
                raise _apart(program, one, f"the way out of property {program.recoveries[odd].claim.id}")

    def _image(self, one: Fields, packed: Packed, order: tuple[int, ...]) -> Packed:
        return pack(self.kernel.program, one.image(values_of(self.kernel.program, packed), order))


def _apart(program: Program, one: Fields, what: str) -> SymmetryError:
    return SymmetryError(f"{program.system.name}: {what} tells {one.symmetry.name} apart; explore without symmetry")


def look_before(kernel: Kernel) -> None:
    """Where states are reduced, compare the first of the unreduced space with their images, and all initial states.

    Raises:
        SymmetryError: where the system or a property is not symmetric.
    """
    program = kernel.program
    if program.reduction is None:
        return
    inspection = Inspection(kernel)
    given = {program.layout.pack(state) for state in program.system.initial(program.setting)}
    for one in program.reduction.fields:
        for order in one.symmetry.swaps():
            if {inspection._image(one, state, order) for state in given} != given:
                raise _apart(program, one, "the set of initial states")
    seen = dict.fromkeys(sorted(given))
    for number, state in enumerate(list_growing(seen)):
        if number == LOOKED_AT:
            return
        inspection.check(state)
        seen.update(dict.fromkeys(after for _, after in kernel.successors(state)))


def list_growing(seen: dict[Packed, None]) -> Iterator[Packed]:
    """The keys of a mapping in order, those included that are added meanwhile."""
    done = 0
    while done < len(seen):
        batch = list(seen)[done:]
        done += len(batch)
        yield from batch


def look_after(kernel: Kernel, store: Store) -> None:
    """Where states are reduced, compare some from all over the explored space with their images.

    Raises:
        SymmetryError: where the system or a property is not symmetric.
    """
    if kernel.program.reduction is None:
        return
    inspection = Inspection(kernel)
    for shard in store.shards:
        count = max(1, LOOKED_AT // len(store.shards))
        for index in np.unique(np.linspace(0, shard.count - 1, count, dtype=np.int64)) if shard.count else ():
            inspection.check(tuple(shard.states[int(index)].tolist()))


def concrete(
    program: Program, claim: Property | None, initial: Packed, instances: Sequence[int]
) -> tuple[Packed, list[int]]:
    """A real run like a run of reduced states: the names are those that the system gives.

    Args:
        program: the reduced program.
        claim: what the run is a witness of; its last step must show that.
        initial: packed initial state, reduced.
        instances: action instances, each taken in a reduced state.

    Raises:
        EngineDisagreement: when ints find no such run.
    """
    first = program.layout.unpack(initial)
    like, real, chosen = first, first, list[int]()
    for number, instance in enumerate(instances):
        step = _taken(program, like, instance)
        if step is None:
            raise EngineDisagreement(f"step {number + 1} of a reduced run is not enabled on ints")
        goal = canonical(program, program.layout.pack(step.state))
        last = claim if number == len(instances) - 1 else None
        found = _match(program, real, goal, last)
        chosen.append(found[0])
        like, real = program.layout.unpack(goal), found[1].state
    return initial, chosen


def _taken(program: Program, state: Any, instance: int) -> TraceStep | None:
    try:
        return successor(program, state, instance)
    except DomainError:
        return None


def _match(program: Program, state: Any, goal: Packed, claim: Property | None) -> tuple[int, TraceStep]:
    """An instance that leads to a state like the goal, by a step that shows what the claim is about."""
    for number in range(program.instances):
        step = _taken(program, state, number)
        if step is None or canonical(program, program.layout.pack(step.state)) != goal:
            continue
        if claim is None or claim.kind not in ("step", "happens"):
            return number, step
        subject = Step(state, step.state, step.action, step.arguments, step.event)
        if all(claim.parts(subject).values()) == (claim.kind == "happens"):
            return number, step
    raise EngineDisagreement(f"no step on ints from {state} leads to a state like {program.layout.unpack(goal)}")
