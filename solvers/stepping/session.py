"""A session: a run that somebody takes step by step, with what can happen next and why the rest cannot.

A session is a value: each operation gives another one. So an earlier one stays as it was, several can be held at once,
and undoing is going back. Everything is asked of the rules on Python ints: no engine is compiled.

An action with given arguments has one effect. Where the real system could do several things, the action has an
argument for them, so each outcome is an instance of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from attrs import evolve, frozen

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Action, Property, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, RUN, Trace, TraceStep
from kraftcheck.solvers.reference.confirm import successor
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import call, refusal

Finding = Literal["holds", "fails", "shown", "not shown", "open", "no case", "whole runs"]
"""What one step says of a property.

`holds` and `fails` are said of invariants and of step properties; `shown` and `not shown` of goals. A `recovers`
property holds here, is `open` (some run from here has to satisfy it) or has `no case` (it is not about this state).
A step property or a goal about steps has `no case` in the initial state. A property of any other kind is judged on
`whole runs`.
"""


@frozen
class PropertyStatus:
    """One property at one step."""

    claim: Property
    finding: Finding
    failing: tuple[str, ...] = ()  # the conjuncts that are false there, also of a goal that is not shown


def statuses(program: Program, before: Any, step: TraceStep | None, state: Any) -> tuple[PropertyStatus, ...]:
    """Every property of a program at one step.

    Args:
        step: the step; None where the state is the initial one.
    """
    transition = None if step is None else Step(before, state, step.action, step.arguments, step.event)
    return tuple(_status(claim, transition, state) for claim in program.claims)


def _status(claim: Property, transition: Step | None, state: Any) -> PropertyStatus:
    if claim.kind not in _HOLDING:
        return PropertyStatus(claim, "whole runs")
    about_steps = claim.kind in ("step", "happens")
    if (about_steps and transition is None) or not (about_steps or all_of(claim.concerns(state))):
        return PropertyStatus(claim, "no case")
    failing = claim.failing(transition if about_steps else state)
    return PropertyStatus(claim, (_FAILING if failing else _HOLDING)[claim.kind], failing)


_HOLDING: dict[str, Finding] = {
    "always": "holds", "step": "holds", "recovers": "holds", "sometimes": "shown", "happens": "shown"
}  # fmt: skip
_FAILING: dict[str, Finding] = {
    "always": "fails", "step": "fails", "recovers": "open", "sometimes": "not shown", "happens": "not shown"
}  # fmt: skip


class StepRefused(ValueError):
    """A step that cannot be taken, or does not exist; the message says why."""


@frozen
class EnabledInstance:
    """An action instance in some state."""

    instance: int  # its number in the program; the same in every state
    # action, arguments: what it stands for
    action: str
    arguments: Mapping[str, Any]
    failing: tuple[str, ...] = ()  # the conjuncts of its guard that are false in the state; none where it is enabled

    @property
    def enabled(self) -> bool:
        """Whether its guard is true."""
        return not self.failing

    def __str__(self) -> str:
        """As traces show it, such as `fence(broker=0)`."""
        return call(self.action, self.arguments)


@frozen
class Session:
    """A run of a system, from an initial state to the present one."""

    program: Program  # the system, traced; without symmetry, which would rename states on the way
    start: int  # number of the initial state among `program.initial`
    instances: tuple[int, ...] = ()  # the action instances taken, in order
    steps: tuple[TraceStep, ...] = ()  # what they led to

    @classmethod
    def begin(cls, program: Program, start: int = 0) -> Session:
        """A session in an initial state; raises StepRefused where there is none of this number."""
        if not 0 <= start < len(program.initial):
            raise StepRefused(f"there is no initial state {start}; numbers are 0..{len(program.initial) - 1}")
        return cls(program, start)

    @classmethod
    def along(cls, program: Program, start: int, instances: Sequence[int]) -> Session:
        """A session at the end of a run; raises as `begin` and `take` do, and names the step."""
        session = cls.begin(program, start)
        for number, instance in enumerate(instances, start=1):
            try:
                session = session.take(instance)
            except StepRefused as error:
                raise StepRefused(f"step {number}: {error}") from error
        return session

    @classmethod
    def of_recipe(cls, program: Program, recipe: itf.Recipe) -> Session:
        """A session at the end of a trace document, whose states have to be those that the rules lead to.

        Raises:
            TraceError: where the document does not fit the system, or its states are others.
            StepRefused: where the rules do not allow a step; the message names it.
        """
        initial, instances = itf.instances(recipe, program)
        session = cls.along(program, program.initial.index(initial), instances)
        itf.check_states(recipe, session.trace())
        return session

    @cached_property
    def initial(self) -> Any:
        """The state that the run begins in."""
        return self.program.layout.unpack(self.program.initial[self.start])

    @property
    def state(self) -> Any:
        """The present state."""
        return self.steps[-1].state if self.steps else self.initial

    @cached_property
    def choices(self) -> tuple[EnabledInstance, ...]:
        """Every action instance, in the program's order, with the conjuncts that disable it in the present state."""
        return tuple(
            _choice(kind.action, kind.first + place, arguments, self.state)
            for kind in self.program.kinds
            for place, arguments in enumerate(kind.instances)
        )

    @property
    def enabled(self) -> tuple[EnabledInstance, ...]:
        """The action instances whose guard is true."""
        return tuple(choice for choice in self.choices if choice.enabled)

    @property
    def disabled(self) -> tuple[EnabledInstance, ...]:
        """The action instances whose guard is false."""
        return tuple(choice for choice in self.choices if not choice.enabled)

    @cached_property
    def beyond(self) -> Mapping[int, str]:
        """The enabled instances whose effect leaves the domain of a field, with the field: no step can be taken.

        It runs every enabled effect, which costs more than everything else here.
        """
        return {c.instance: text for c in self.enabled if (text := _beyond(self.program, self.state, c.instance))}

    @property
    def deadlock(self) -> bool:
        """Whether no action is enabled in a state that is not quiescent."""
        quiescent = self.program.system.quiescent
        return not self.enabled and not (quiescent is not None and all_of(quiescent(self.state)))

    def take(self, instance: int) -> Session:
        """The session after one more step.

        Raises:
            StepRefused: where there is no such instance, its guard is false, or its effect leaves a field's domain.
        """
        if not 0 <= instance < self.program.instances:
            raise StepRefused(f"there is no action instance {instance}; numbers are 0..{self.program.instances - 1}")
        action, arguments = self.program.instance(instance)
        try:
            step = successor(self.program, self.state, instance)
        except DomainError as error:
            raise StepRefused(f"{call(action.name, arguments)} leads beyond the scope: {error}") from error
        if step is None:
            reason = refusal(action, self.state, arguments)
            raise StepRefused(f"{call(action.name, arguments)} is not enabled: {reason}")
        return evolve(self, instances=(*self.instances, instance), steps=(*self.steps, step))

    def at(self, step: int) -> Session:
        """The session as it was after a step; 0 is the initial state.

        Raises:
            StepRefused: where the run has no such step.
        """
        if not 0 <= step <= len(self.steps):
            raise StepRefused(f"there is no step {step}; the run has steps 0..{len(self.steps)}")
        return evolve(self, instances=self.instances[:step], steps=self.steps[:step])

    def undo(self, steps: int = 1) -> Session:
        """The session some steps earlier; raises as `at` does."""
        return self.at(len(self.steps) - steps)

    @cached_property
    def properties(self) -> tuple[PropertyStatus, ...]:
        """Every property, at the last step of the run."""
        step = self.steps[-1] if self.steps else None
        before = self.steps[-2].state if len(self.steps) > 1 else self.initial
        return statuses(self.program, before, step, self.state)

    def properties_by_step(self) -> tuple[tuple[PropertyStatus, ...], ...]:
        """Every property at every step, the initial state first."""
        return tuple(self.at(step).properties for step in range(len(self.steps) + 1))

    def trace(self) -> Trace:
        """The run as a trace, of the first property that fails at its end; of none where none does."""
        failing = next((status for status in self.properties if status.finding == "fails"), None)
        if failing is not None:
            return Trace(self.initial, self.steps, failing.claim.id, failing.claim.kind, failing.failing)
        kind = DEADLOCK if self.deadlock else RUN
        return Trace(self.initial, self.steps, kind, kind)

    def document(self, system: str, rules: str | None) -> dict[str, Any]:
        """The run as an ITF document, which `of_recipe` reads back.

        Args:
            system: the name by which the system is found again.
            rules: the rule set as it was given; None for a system without.
        """
        return itf.document(self.trace(), self.program, system, rules, shortest=False)


def _choice(action: Action, instance: int, arguments: Mapping[str, Any], state: Any) -> EnabledInstance:
    failing = tuple(name for name, part in action.guards(state, arguments).items() if not part)
    return EnabledInstance(instance, action.name, arguments, failing)


def _beyond(program: Program, state: Any, instance: int) -> str:
    """The field whose domain the effect of an enabled instance leaves; empty where it leaves none."""
    try:
        successor(program, state, instance)
    except DomainError as error:
        return str(error)
    return ""
