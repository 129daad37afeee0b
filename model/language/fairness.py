"""Fairness: the actions that cannot be put off for ever, as TLA+ has them.

An action A stands for the steps of its instances. `<A>_v` is a step of A that changes the state: a step that leaves
every variable as it is is a stuttering step, and no step of anything. A step is judged by the states before and after
it: where two actions lead from one state to another, that step is one of both.

Weak: `WF_v(A)`, that is `[]<>~ENABLED <A>_v  \\/  []<><A>_v`. Who stays able to take the step takes it.
Strong: `SF_v(A)`, that is `<>[]~ENABLED <A>_v  \\/  []<><A>_v`. Who is able again and again takes it again and again.

With `unless`, A is conjoined with its negation: `WF_v(A /\\ ~unless)`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.nearest import nearest

Parameters = Mapping[str, Mapping[str, Sequence[Any]]]
"""For each action the values of each of its parameters."""

LIVENESS = ("eventually", "leads_to", "always_eventually", "eventually_always")
"""Kinds of property that are about whole behaviours, under fairness."""


@frozen
class Fairness:
    """Fairness of an action: of all its instances together, or of each value of some of its arguments.

    Attributes:
        actions: names of actions of the system, which together are the one that is fair: a step of any is a step of it.
        strong: strong fairness instead of weak.
        each: parameters for each of whose values the action is fair by itself; the others may take any value. Empty:
            the action is fair as a whole, whatever its arguments.
        having: the values that arguments must have (a tuple: one of them); those of other instances are not fair.
        unless: `(state, **each)`, a truth; the action need not be taken while it holds.
    """

    actions: tuple[str, ...]
    strong: bool = False
    each: tuple[str, ...] = ()
    having: Mapping[str, Any] = field(factory=dict)
    unless: Callable[..., Any] | None = None

    @property
    def text(self) -> str:
        """What is fair in words, as `WF(heartbeat(each broker))`."""
        shown = [f"each {name}" for name in self.each]
        shown += [f"{name}={' or '.join(map(str, several(value)))}" for name, value in self.having.items()]
        action = " or ".join(self.actions) + (f"({', '.join(shown)})" if shown else "")
        return f"{'SF' if self.strong else 'WF'}({action})"

    def fault(self, actions: Parameters) -> str | None:
        """What it names that the system does not have, with the nearest names; None where all exist."""
        for action in self.actions:
            if action not in actions:
                return f"fairness names the action {action!r}; {nearest(action, actions)}"
            parameters = actions[action]
            for name in (*self.each, *self.having):
                if name not in parameters:
                    return f"fairness of {action} names the argument {name!r}; {nearest(name, parameters)}"
            for name, value in self.having.items():
                missing = [one for one in several(value) if one not in parameters[name]]
                if missing:
                    return f"fairness of {action} gives {name} the value {missing[0]}, which it never has"
        return None if self.actions else "fairness names no action"


@frozen
class FairSteps:
    """The steps of one fairness constraint: an action with some of its arguments given.

    Attributes:
        fairness: where it comes from.
        given: the values of the arguments named by `each`.
    """

    fairness: Fairness
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The constraint in words, as `WF(heartbeat(broker=0))`."""
        shown = {**self.fairness.having, **self.given}
        arguments = ", ".join(f"{name}={' or '.join(map(str, several(value)))}" for name, value in shown.items())
        action = " or ".join(self.fairness.actions)
        return f"{'SF' if self.fairness.strong else 'WF'}({action}{f'({arguments})' * bool(shown)})"

    def covers(self, action: str, arguments: Mapping[str, Any]) -> bool:
        """Whether an action instance is one of these steps, where it is not excused."""
        return (
            action in self.fairness.actions
            and all(arguments[name] == value for name, value in self.given.items())
            and all(arguments[name] in several(value) for name, value in self.fairness.having.items())
        )

    def excused(self, state: Any) -> Any:
        """Whether none of them need be taken in a state: a truth."""
        return False if self.fairness.unless is None else self.fairness.unless(state, **self.given)


def several(value: Any) -> tuple[Any, ...]:
    """The values that a restriction allows."""
    return value if isinstance(value, tuple) else (value,)


def constraints(declared: Iterable[Fairness], actions: Parameters) -> Iterator[FairSteps]:
    """One constraint for each value of the arguments that fairness is for each of."""
    for fairness in declared:
        columns = [[value for action in fairness.actions for value in actions[action][name]] for name in fairness.each]
        for values in itertools.product(*map(dict.fromkeys, columns)):
            given = dict(zip(fairness.each, values, strict=True))
            if all(value in several(fairness.having.get(name, value)) for name, value in given.items()):
                yield FairSteps(fairness, given)
