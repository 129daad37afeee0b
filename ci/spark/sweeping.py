"""The rules on ints against the compiled rules, state by state, on workers: this guards the compiler itself.

Unlike the tasks of an exploration these import the model: ints are what they are for.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from kraftcheck.ci.spark.tasks import Batches
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.layout import DomainError
from kraftcheck.solvers.blocks.tasks import BlockSpec, Words, loaded
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import successor

SCHEMA = "payload string"


@frozen
class Wanted:
    """What is to be traced on a worker: the words of the command line."""

    system: str
    scope: str
    bounds: tuple[tuple[str, int], ...]
    rules: str | None
    properties: tuple[str, ...]


@frozen
class Swept:
    """What a sweep found.

    Attributes:
        states, transitions: compared.
        wrong: disagreements, the first few in words.
        disagreements: how many.
    """

    states: int = 0
    transitions: int = 0
    disagreements: int = 0
    wrong: tuple[str, ...] = field(factory=tuple)

    def plus(self, other: Swept) -> Swept:
        """Both together."""
        wrong = (*self.wrong, *other.wrong)[:5]
        return Swept(
            self.states + other.states, self.transitions + other.transitions,
            self.disagreements + other.disagreements, wrong,
        )  # fmt: skip


@functools.lru_cache(maxsize=2)
def _traced(wanted: Wanted) -> Program:
    return program(subject(wanted.system, wanted.scope, dict(wanted.bounds), wanted.rules, wanted.properties))


def by_ints(traced: Program, packed: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """The transitions of a state by the rules on ints: action instance to packed state."""
    state = traced.layout.unpack(packed)
    found = {}
    for instance in range(traced.instances):
        try:
            step = successor(traced, state, instance)
        except DomainError:
            continue
        if step is not None:
            found[instance] = traced.layout.pack(step.state)
    return found


def claims_by_ints(traced: Program, packed: tuple[int, ...]) -> list[bool]:
    """For each claim about states whether this state breaks or shows it, by the rules on ints."""
    state = traced.layout.unpack(packed)
    broken = [not all(claim.parts(state).values()) for claim in traced.always]
    return broken + [all(claim.parts(state).values()) for claim in traced.sometimes]


def compare(traced: Program, spec: BlockSpec, states: Words) -> Swept:
    """Both readings of the rules on states, one row each."""
    kernel = loaded(spec)
    records, counts = kernel.transitions(states)
    ends = np.cumsum(counts)
    bits = kernel.claims(states)
    found = Swept()
    for number, row in enumerate(states.tolist()):
        mine = records[ends[number] - counts[number] : ends[number]].tolist()
        native = {record[-1]: tuple(record[:-1]) for record in mine}
        ints = by_ints(traced, tuple(row))
        told = claims_by_ints(traced, tuple(row))
        seen = [bool(int(bits[number, at // 63]) >> at % 63 & 1) for at in range(len(told))]
        wrong = [_odd(traced, tuple(row), ints, native)] if ints != native or len(mine) != len(native) else []
        if seen != told:
            at = next(i for i, pair in enumerate(zip(seen, told, strict=True)) if pair[0] != pair[1])
            claim = (*traced.always, *traced.sometimes)[at]
            wrong.append(f"{traced.layout.unpack(row)}: {claim.id} is {told[at]} on ints and {seen[at]} compiled")
        found = found.plus(Swept(1, len(native), len(wrong), tuple(wrong)))
    return found


def _odd(traced: Program, row: tuple[int, ...], ints: dict[int, Any], native: dict[int, Any]) -> str:
    differ = [i for i in sorted({*ints, *native}) if ints.get(i) != native.get(i)]
    if not differ:
        return f"{traced.layout.unpack(row)}: compiled rules give an action instance twice"
    action, arguments = traced.instance(differ[0])
    one, other = (
        traced.layout.unpack(known[differ[0]]) if differ[0] in known else "not enabled" for known in (ints, native)
    )
    return f"{traced.layout.unpack(row)}: {action.name}({dict(arguments)}) gives {one} on ints and {other} compiled"


def sweep_task(shipped: Callable[[], BlockSpec], wanted: Wanted) -> Callable[[Batches], Batches]:
    """Compares the packed states of its rows; one result for each batch."""

    def work(batches: Batches) -> Iterator[Any]:
        spec = shipped()
        for batch in batches:
            if not batch.num_rows:
                continue
            columns = [batch.column(i).to_numpy(zero_copy_only=False) for i in range(spec.words)]
            states = np.ascontiguousarray(np.column_stack(columns)).view(np.uint64)
            found = compare(_traced(wanted), spec, states)
            told = [found.states, found.transitions, found.disagreements, list(found.wrong)]
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(told)])], names=["payload"])

    return work
