"""Evaluation of terms on ints, by the definition of the operators: slow, and part of no compiled engine.

What a mutant's counterexample is confirmed with: a mutated graph has no
counterpart among the rules on ints.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.evaluation import evaluated
from kraftcheck.solvers.program.program import Kind, Program


def holds(claim: Term, program: Program, state: Sequence[int]) -> bool:
    """Whether a truth about a state holds; the state as its leaves."""
    return bool(evaluated([claim], _state(program, state))[claim.index])


def _state(program: Program, state: Sequence[int]) -> dict[int, int]:
    return {variable.index: value for variable, value in zip(program.state, state, strict=True)}


def _at(program: Program, kind: Kind, row: int, state: Sequence[int]) -> dict[int, int]:
    arguments = zip(kind.variables, kind.table[row], strict=True) if kind.variables else ()
    return {**_state(program, state), **{variable.index: int(value) for variable, value in arguments}}


def kind_of(program: Program, instance: int) -> tuple[Kind, int]:
    """The kind of an action instance, and its row there."""
    kind = next(k for k in program.kinds if k.first <= instance < k.first + len(k.instances))
    return kind, instance - kind.first


def enabled(program: Program, instance: int, state: Sequence[int]) -> bool:
    """Whether every conjunct of an instance's guard holds."""
    kind, row = kind_of(program, instance)
    parts = list(kind.guard.values())
    values = evaluated(parts, _at(program, kind, row, state))
    return all(values[part.index] for part in parts)


def successor(program: Program, instance: int, state: Sequence[int]) -> tuple[int, ...]:
    """The leaves after an action instance, whether or not they are in their domains."""
    kind, row = kind_of(program, instance)
    values = evaluated(kind.after, _at(program, kind, row, state))
    return tuple(values[leaf.index] for leaf in kind.after)


def step_holds(claim: int, program: Program, instance: int, state: Sequence[int]) -> bool:
    """Whether the step property of a number holds of a transition."""
    kind, row = kind_of(program, instance)
    return bool(evaluated([kind.steps[claim]], _at(program, kind, row, state))[kind.steps[claim].index])


def fields_outside(program: Program, leaves: Sequence[int]) -> list[str]:
    """The fields that are outside their domains."""
    pairs = zip(program.layout.slots, leaves, strict=True)
    return [slot.path for slot, value in pairs if not slot.domain.lo <= value <= slot.domain.hi]
