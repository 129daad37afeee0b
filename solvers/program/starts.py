"""The initial states of a system: listed by it, or described by a rule and listed here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.model.language.initially import Anything, Described, Filled, anything
from kraftcheck.model.language.layout import DomainError, LayoutError
from kraftcheck.model.language.packing import Layout
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.solvers.program.answers import Truths
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.enumeration import described_states
from kraftcheck.solvers.program.parts import ask, check_refusals, line_of, same_classes
from kraftcheck.solvers.program.symbols import state_symbols

NO_STATE = "initial gave no state"


def none_described(at: Setting | None) -> str:
    """What is said of a description that no state satisfies: with other bounds some may."""
    with_bounds = f" with {at.text()}" if at is not None and at.bounds else ""
    return f"initial describes no state{with_bounds}: no values of the declared fields satisfy it"


def given_states(system: System, setting: Setting) -> list[Any]:
    """What a system says of its initial states: a list of them, or a single description."""
    states = ask("initial", lambda: list(system.initial(setting)))
    if len(states) > 1 and any(isinstance(state, Described) for state in states):
        raise SystemFault("initial gave a description beside other states; it takes a single one")
    return states


def description(states: Sequence[Any]) -> Described | None:
    """The description among initial states; None where they are listed."""
    return next((state for state in states if isinstance(state, Described)), None)


def described_truths(truths: Truths, states: Sequence[Any], state: Any) -> dict[str, Term]:
    """What is described of initial states, as named truths; nothing where they are listed."""
    rule = description(states)
    parts = {} if rule is None else truths.answer("initial", lambda: rule.holds(state))
    return {name: truths.truth(f"initial {name}", part) for name, part in parts.items()}


def initial_leaves(
    layout: Layout, states: Sequence[Any], variables: Sequence[Term], described: Sequence[Term],
    rule: Callable[..., Any] | None = None, at: Setting | None = None,
) -> tuple[tuple[int, ...], ...]:  # fmt: skip
    """The initial states, packed where the layout is, distinct and sorted.

    Args:
        layout: the layout.
        states: as `given_states` has them.
        variables: the term of each field.
        described: the truths that are described, of these.
        rule: what gave the states, whose line a refusal names.
        at: the setting, whose bounds it names.

    Raises:
        SystemFault: when there are none, or one does not fit the layout.
    """
    if description(states) is not None:
        if not layout.packed:
            return (tuple(anything() for _ in layout.slots),)
        found = described_states(layout, variables, described)
        if not found:
            raise SystemFault(none_described(at))
        return found
    try:
        packed = {layout.pack(state) if layout.packed else layout.values(state) for state in states}
    except (DomainError, LayoutError) as error:
        raise SystemFault(f"initial gave a state that does not fit the layout: {error}{line_of(rule)}") from error
    if not packed:
        raise SystemFault(NO_STATE)
    same_classes("initial", layout.shape, states)
    return tuple(sorted(packed, key=_order))


def _order(state: tuple[Any, ...]) -> list[int]:
    return [-1 if isinstance(leaf, Anything | Filled) else leaf for leaf in state]


class DescribedStates(Sequence[Any]):
    """The states of a description, found when the first of them is wanted."""

    def __init__(self, layout: Layout, rule: Described) -> None:
        self._layout, self._rule = layout, rule

    @functools.cached_property
    def packed(self) -> tuple[tuple[int, ...], ...]:
        """All of them, packed."""
        truths = Truths(Graph(), ask_twice=True)
        variables, state = state_symbols(truths.graph, self._layout)
        described = described_truths(truths, [self._rule], state)
        check_refusals(truths.graph)
        return initial_leaves(self._layout, [self._rule], variables, [*described.values()])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.packed)

    def __getitem__(self, place: Any) -> Any:
        """One of them, or some."""
        if isinstance(place, slice):
            return tuple(map(self._layout.unpack, self.packed[place]))
        return self._layout.unpack(self.packed[place])


def initial_states(system: System, setting: Setting) -> Sequence[Any]:
    """The initial states of a system, on ints."""
    states = given_states(system, setting)
    rule = description(states)
    return tuple(states) if rule is None else DescribedStates(Layout(system.layout(setting)), rule)
