"""Symmetry reduction: states that differ by names alone are explored once; the symmetry is checked, not assumed.

A declared symmetry is not assumed. Before and after a search, states are
renamed and compared in all that the search observes: successors, ways out,
properties, deadlock. Counterexamples are replayed with the original names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve, field

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.symmetry import SymmetryError, SymmetryFields
from kraftcheck.model.language.system import Property, Step
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.program.program import Program, Reduction
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import TraceStep
from kraftcheck.solvers.reference.confirm import EngineDisagreement, successor
from kraftcheck.solvers.search.visited import VisitedSet

STATES_COMPARED = 256  # states that are renamed and compared before a search, and again after it

Packed = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)
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
    fields = tuple(SymmetryFields(entry, paths) for entry in declared)
    values: list[Any] = list(program.state)
    for entry in fields:
        values = entry.canonical(values)
    canonical_leaves = tuple(program.graph.lift(value) for value in values)
    program_ = evolve(program, reduction=Reduction(fields, canonical_leaves))
    return evolve(program_, initial=tuple(sorted({canonical(program_, state) for state in program.initial})))


def canonical(program: Program, packed: Sequence[int]) -> Packed:
    """The packed state that stands for a packed state, by the same rule on ints."""
    values: list[Any] = list(program.layout.split(packed))
    for entry in program.reduction.fields if program.reduction is not None else ():
        values = entry.canonical(values)
    return program.layout.join(values)


@define
class Inspection:
    """Compares the observations of the search in a state and in its images."""

    kernel: Kernel
    _successors: Any = field(init=False)
    _action_bits: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Room for successors; for each instance the properties whose way out may use it."""
        program, geometry = self.kernel.program, self.kernel.geometry
        self._successors = np.empty((geometry.instances + 1) * geometry.record, dtype=np.uint64)
        self._action_bits = [
            sum(1 << n for n, claim in enumerate(program.recovers) if claim.allowed[number])
            for number in range(program.instances)
        ]

    def observe(self, packed: Packed) -> tuple[tuple[str, ...], Successors]:
        """The claims that occur in a state; for each successor the `recovers` bits that flow back, and an instance."""
        kernel, plan = self.kernel, self.kernel.plan
        frame, source = np.zeros(plan.size, dtype=np.int64), np.array(packed, dtype=np.uint64)
        inspect = kernel.library.function("inspect", 3)
        used = inspect(address(source), address(self._successors), address(frame)) // 8
        after: Successors = {}
        for row in self._successors[:used].reshape(-1, kernel.geometry.record).tolist():
            state, number = tuple(row[:-1]), row[-1]
            bits, first = after.get(state, (0, number))
            after[state] = bits | self._action_bits[number], first
        program = kernel.program
        names = [c.id for c in (*program.always, *program.sometimes)] + ["deadlock"]
        names += [c.id for c in (*program.steps, *program.happens)]
        occur = [names[n] for n in np.flatnonzero(frame[plan.claims : plan.claims + plan.claim_count]).tolist()]
        return (*occur, *self._recovers(source)), after

    def _recovers(self, source: Any) -> list[str]:
        """Names of the `recovers` properties that are about the state, or satisfied in it."""
        program = self.kernel.program
        if not program.recovers:
            return []
        mark, n = np.zeros(1, dtype=f"u{self.kernel.geometry.mark}"), len(program.recovers)
        self.kernel.library.function("survey", 3)(address(source), address(mark), 1)
        return [recovers.claim.id for group in (0, 2 * n) for k, recovers in enumerate(program.recovers)
                if int(mark[0]) >> group + k & 1]  # fmt: skip

    def check(self, packed: Packed) -> None:
        """Raises `SymmetryError` where a renamed state is not the state renamed."""
        program = self.kernel.program
        claims, after = self.observe(packed)
        for entry in program.reduction.fields if program.reduction is not None else ():
            for order in entry.symmetry.swaps():
                renamed_claims, renamed = self.observe(self._image(entry, packed, order))
                difference = sorted(set(claims) ^ set(renamed_claims))
                if difference or list(claims) != list(renamed_claims):
                    raise _asymmetry(program, entry, f"property {difference[0] if difference else claims[0]}")
                self._compare(
                    entry, {self._image(entry, state, order): reached for state, reached in after.items()}, renamed
                )

    def _compare(self, entry: SymmetryFields, expected: Successors, observed: Successors) -> None:
        program = self.kernel.program
        for state in expected.keys() ^ observed.keys():
            number = (observed.get(state) or expected[state])[1]
            raise _asymmetry(program, entry, f"action {program.instance(number)[0].name}")
        for state, (bits, _) in observed.items():
            if expected[state][0] != bits:
                position = (expected[state][0] ^ bits).bit_length() - 1
                raise _asymmetry(program, entry, f"the way out of property {program.recovers[position].claim.id}")

    def _image(self, entry: SymmetryFields, packed: Packed, order: tuple[int, ...]) -> Packed:
        layout = self.kernel.program.layout
        return layout.join(entry.image(layout.split(packed), order))


def _asymmetry(program: Program, entry: SymmetryFields, part: str) -> SymmetryError:
    return SymmetryError(f"{program.system.name}: {part} tells {entry.symmetry.name} apart; explore without symmetry")


def check_before(kernel: Kernel) -> None:
    """Where states are reduced, compare the first of the unreduced space with their images, and all initial states.

    Raises:
        SymmetryError: where the system or a property is not symmetric.
    """
    program = kernel.program
    if program.reduction is None:
        return
    inspection = Inspection(kernel)
    initial = {program.layout.pack(state) for state in initial_states(program.system, program.setting)}
    for entry in program.reduction.fields:
        for order in entry.symmetry.swaps():
            if {inspection._image(entry, state, order) for state in initial} != initial:
                raise _asymmetry(program, entry, "the set of initial states")
    seen = dict.fromkeys(sorted(initial))
    for number, state in enumerate(iterate_growing(seen)):
        if number == STATES_COMPARED:
            return
        inspection.check(state)
        seen.update(dict.fromkeys(after for _, after in kernel.successors(state)))


def iterate_growing(mapping: Mapping[Key, object]) -> Iterator[Key]:
    """The keys of a mapping in order, those included that are added meanwhile."""
    position = 0
    while position < len(mapping):
        batch = list(mapping)[position:]
        position += len(batch)
        yield from batch


def check_after(kernel: Kernel, store: VisitedSet) -> None:
    """Where states are reduced, compare some from all over the explored space with their images.

    Raises:
        SymmetryError: where the system or a property is not symmetric.
    """
    if kernel.program.reduction is None:
        return
    inspection = Inspection(kernel)
    for shard in store.shards:
        count = max(1, STATES_COMPARED // len(store.shards))
        for index in np.unique(np.linspace(0, shard.count - 1, count, dtype=np.int64)) if shard.count else ():
            inspection.check(tuple(shard.states[int(index)].tolist()))


def concrete(
    program: Program, claim: Property | None, initial: Packed, instances: Sequence[int]
) -> tuple[Packed, list[int]]:
    """A real run like a run of reduced states: the names are those that the system gives.

    Args:
        claim: what the run is a witness of; its last step must show that.
        initial: packed initial state, reduced.
        instances: action instances, each taken in a reduced state.

    Raises:
        EngineDisagreement: when ints find no such run.
    """
    first = program.layout.unpack(initial)
    reduced_state, real, chosen = first, first, list[int]()
    for number, instance in enumerate(instances):
        step = _successor(program, reduced_state, instance)
        if step is None:
            raise EngineDisagreement(f"step {number + 1} of a reduced run is not enabled on ints")
        goal = canonical(program, program.layout.pack(step.state))
        last = claim if number == len(instances) - 1 else None
        match = _match(program, real, goal, last)
        chosen.append(match[0])
        reduced_state, real = program.layout.unpack(goal), match[1].state
    return initial, chosen


def _successor(program: Program, state: Any, instance: int) -> TraceStep | None:
    try:
        return successor(program, state, instance)
    except DomainError:
        return None


def _match(program: Program, state: Any, goal: Packed, claim: Property | None) -> tuple[int, TraceStep]:
    """An instance that leads to a state like the goal, by a step that shows what the claim is about."""
    for number in range(program.instances):
        step = _successor(program, state, number)
        if step is None or canonical(program, program.layout.pack(step.state)) != goal:
            continue
        if claim is None or claim.kind not in ("step", "happens"):
            return number, step
        subject = Step(state, step.state, step.action, step.arguments, step.event)
        if claim.holds(subject) == (claim.kind == "happens"):
            return number, step
    raise EngineDisagreement(f"no step on ints from {state} leads to a state like {program.layout.unpack(goal)}")
