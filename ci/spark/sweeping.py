"""The sweep on workers: the compiled rules compared with the rules on ints, state by state.

Unlike the tasks of an exploration these import the model: ints are what they are for.
"""

from __future__ import annotations

import functools
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from kraftcheck.ci.dataset.jobs.exchange import Batches
from kraftcheck.ci.systems.subject import program
from kraftcheck.model.language.layout import DomainError
from kraftcheck.solvers.blocks.tasks import BlockSpec, Words, load_block_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import successor

SCHEMA = "payload string"


@frozen
class SweepResult:
    """The result of a sweep.

    Attributes:
        states, transitions: compared.
        examples: disagreements, the first few in words.
        disagreements: how many.
    """

    states: int = 0
    transitions: int = 0
    disagreements: int = 0
    examples: tuple[str, ...] = field(factory=tuple)

    def plus(self, other: SweepResult) -> SweepResult:
        """Both together."""
        examples = (*self.examples, *other.examples)[:5]
        return SweepResult(
            self.states + other.states, self.transitions + other.transitions,
            self.disagreements + other.disagreements, examples,
        )  # fmt: skip


def by_ints(traced: Program, packed: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """The transitions of a state by the rules on ints: action instance to packed state."""
    state = traced.layout.unpack(packed)
    after = {}
    for instance in range(traced.instances):
        try:
            step = successor(traced, state, instance)
        except DomainError:
            continue
        if step is not None:
            after[instance] = traced.layout.pack(step.state)
    return after


def claims_by_ints(traced: Program, packed: tuple[int, ...]) -> list[bool]:
    """For each claim about states whether this state breaks or shows it, by the rules on ints."""
    state = traced.layout.unpack(packed)
    broken = [not claim.holds(state) for claim in traced.always]
    return broken + [bool(claim.holds(state)) for claim in traced.sometimes]


def compare(traced: Program, spec: BlockSpec, states: Words) -> SweepResult:
    """Both readings of the rules on states, one row each."""
    kernel = load_block_kernel(spec)
    records, counts = kernel.transitions(states)
    ends = np.cumsum(counts)
    bits = kernel.claims(states)
    total = SweepResult()
    for number, row in enumerate(states.tolist()):
        own = records[ends[number] - counts[number] : ends[number]].tolist()
        native = {record[-1]: tuple(record[:-1]) for record in own}
        ints = by_ints(traced, tuple(row))
        on_ints = claims_by_ints(traced, tuple(row))
        compiled = [bool(int(bits[number, at // 63]) >> at % 63 & 1) for at in range(len(on_ints))]
        examples = [_difference(traced, tuple(row), ints, native)] if ints != native or len(own) != len(native) else []
        if compiled != on_ints:
            at = next(i for i, pair in enumerate(zip(compiled, on_ints, strict=True)) if pair[0] != pair[1])
            claim = (*traced.always, *traced.sometimes)[at]
            examples.append(
                f"{traced.layout.unpack(row)}: {claim.id} is {on_ints[at]} on ints and {compiled[at]} compiled"
            )
        total = total.plus(SweepResult(1, len(native), len(examples), tuple(examples)))
    return total


def _difference(traced: Program, row: tuple[int, ...], ints: dict[int, Any], native: dict[int, Any]) -> str:
    differ = [i for i in sorted({*ints, *native}) if ints.get(i) != native.get(i)]
    if not differ:
        return f"{traced.layout.unpack(row)}: compiled rules give an action instance twice"
    action, arguments = traced.instance(differ[0])
    on_ints, compiled = (
        traced.layout.unpack(transitions[differ[0]]) if differ[0] in transitions else "not enabled"
        for transitions in (ints, native)
    )
    return (
        f"{traced.layout.unpack(row)}: {action.name}({dict(arguments)}) gives {on_ints} on ints and {compiled} compiled"
    )


@functools.lru_cache(maxsize=1)
def _traced(chosen: bytes) -> Program:
    return program(pickle.loads(chosen), compared=False)


def sweep_task(shipped: Callable[[], tuple[BlockSpec, bytes]]) -> Callable[[Batches], Batches]:
    """Compares the packed states of its rows; one result for each batch."""

    def compare_batches(batches: Batches) -> Iterator[Any]:
        spec, chosen = shipped()
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = [batch.column(i).to_numpy(zero_copy_only=False) for i in range(spec.words)]
            states = np.ascontiguousarray(np.column_stack(columns)).view(np.uint64)
            result = compare(_traced(chosen), spec, states)
            payload = [result.states, result.transitions, result.disagreements, list(result.examples)]
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(payload)])], names=["payload"])

    return compare_batches
