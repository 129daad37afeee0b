"""The examples as a system of one action each, and what every engine computes for them."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import z3
from attrs import evolve, frozen
from hypothesis import HealthCheck, settings

import kraftcheck as kc
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.words import word
from kraftcheck.solvers.hypothesis.machine import machine, run
from kraftcheck.solvers.hypothesis.tally import Tally
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.model.language.words.examples import LAYOUT, STATES, Example, Inputs

PLACES = 6  # numbers of the widest value

Values = dict[tuple[int, int], tuple[int, ...]]  # by the place of the state and of the example: the value, as numbers


@frozen
class Noted:
    """A state, the last example that was computed, and its value."""

    inputs: Inputs  # what examples read; it never changes
    last: kc.Word  # the place of an example; -1 before the first one
    out: tuple[kc.Word, ...]  # the numbers of its value, and 0 beyond them


def numbers(value: Any) -> tuple[Any, ...]:
    """The numbers of a value: of its parts in order, a truth as 0 or 1."""
    parts = [part for _, part in leaves(value)]
    assert len(parts) <= PLACES, value
    return tuple(word(part) if _is_truth(part) else part for part in parts) + (0,) * (PLACES - len(parts))


def _is_truth(part: Any) -> bool:
    return isinstance(part, bool) or getattr(part, "is_truth", False)


def system(examples: Sequence[Example]) -> kc.System:
    """A system whose actions compute the examples."""

    def action(place: int, example: Example) -> kc.Action:
        return kc.Action(f"example_{place}", lambda s: evolve(s, last=place, out=numbers(example.value(s.inputs))))

    return kc.System(
        name="words",
        summary="Every word of rules.",
        layout=Noted(LAYOUT, kc.ints(-1, len(examples) - 1), (kc.ints(-20, 20),) * PLACES),
        initial=[Noted(state, -1, (0,) * PLACES) for state in STATES],
        actions=[action(place, example) for place, example in enumerate(examples)],
        properties=[kc.sometimes("computed", "the last example is computed", lambda s: s.last == len(examples) - 1)],
    )  # fmt: skip


def on_ints(examples: Sequence[Example]) -> Values:
    """The values by Python."""
    return {(at, place): tuple(map(int, numbers(example.value(state))))
            for at, state in enumerate(STATES) for place, example in enumerate(examples)}  # fmt: skip


def by_machine_code(examples: Sequence[Example]) -> Values:
    """The values in the states that a search finds."""
    found: Values = {}
    for state in kc.explore(system(examples)).states():
        if state.last >= 0:
            key = STATES.index(state.inputs), int(state.last)
            assert key not in found, f"two values of {key}"
            found[key] = tuple(map(int, state.out))
    return found


def by_z3(examples: Sequence[Example]) -> Values:
    """The values that Z3 simplifies the formula of each action to, the state given."""
    words = system(examples)
    program = trace(words, words.setting())
    found: Values = {}
    for at, state in enumerate(STATES):
        reader = Z3Reader(z3.Context())
        given = [value for _, value in leaves(Noted(state, -1, (0,) * PLACES))]
        for variable, value in zip(program.state, given, strict=True):
            reader.bind(variable, reader.constant(variable, int(value)))
        for place, kind in enumerate(program.kinds):
            found[at, place] = tuple(_simplified(reader, term) for term in kind.after[-PLACES:])
    return found


def _simplified(reader: Z3Reader, term: Any) -> int:
    value = z3.simplify(reader.expression(term))
    if z3.is_int_value(value):
        return int(value.as_long())
    assert z3.is_bv_value(value), value
    return int(value.as_signed_long() if term.lo < 0 else value.as_long())


def by_hypothesis(examples: Sequence[Example], runs: int) -> Tally:
    """What random runs of Hypothesis did."""
    words = system(examples)
    tested = machine(Integers(words, words.setting()))
    run(tested, chosen=settings(max_examples=runs, stateful_step_count=60, derandomize=True, database=None,
                                suppress_health_check=[HealthCheck.too_slow]))  # fmt: skip
    return tested.tally


@functools.cache
def methods(collection: type) -> frozenset[str]:
    """The words of a collection that rules may use: its public functions, without what makes a layout."""
    names = {name for name in dir(collection) if not name.startswith("_") and name != "domain"}
    return frozenset(name for name in names if callable(getattr(collection, name)) or name == "mask")


def differing(one: Mapping[Any, Any], other: Mapping[Any, Any], examples: Sequence[Example]) -> Iterable[str]:
    """The examples of which two engines say different things."""
    return [f"{examples[key[1]].text} in state {key[0]}: {one.get(key)} and {other.get(key)}"
            for key in sorted({*one, *other}) if one.get(key) != other.get(key)]  # fmt: skip
