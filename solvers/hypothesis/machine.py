"""A stateful Hypothesis test of any system: long runs on ints, at bounds that no packed state could hold.

    setting = ELECTIONS.unlimited_setting(overrides={"brokers": 9}, rules=parse("fixed"))
    Machine = machine(Integers(ELECTIONS, setting))
    TestElections = Machine.TestCase          # pytest and unittest run it
    run(Machine)                              # or so, with its statistics checked

Each step draws an action from those that are enabled, then one of its enabled
instances: nothing drawn is ever rejected. An example uses only a drawn subset
of the actions (swarm testing: Groce et al., ISSTA 2012) as long as one of them
is enabled. Every `always` and `step` property is checked after every step, and
a state in which nothing is enabled must be quiescent. Safety only is checked: of liveness no finite run says anything,
so a system with liveness properties is refused. Nor does a run say anything of `recovers`, of which a warning says so.

A failing run is shortened on ints (`solvers.reference.interpreter`); Hypothesis knows draws only, and shrinks nothing.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import Phase, core, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.hypothesis.tally import Tally
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.interpreter import (
    BrokenProperty,
    Integers,
    Move,
    Transition,
    permutation,
    shrink,
    trace_of,
)
from kraftcheck.solvers.traces.render import call, lines

CHOICES = st.integers(0, (1 << 16) - 1)  # what picks among enabled things, modulo their number; shrinks to the first


SPREAD = 0x9E3779B97F4A7C15  # spreads the bits of a choice over 64 bits (Knuth's multiplicative hashing)


Machine = TypeVar("Machine", bound=RuleBasedStateMachine)


class Violation(AssertionError):
    """A run that breaks a property.

    Attributes:
        start: the state that it began in.
    """

    def __init__(self, start: Any, transitions: Sequence[Transition], broken: BrokenProperty) -> None:
        self.start, self.transitions, self.broken = start, tuple(transitions), broken
        self.trace: Trace = trace_of(start, transitions, broken)
        super().__init__("\n".join([f"{broken.claim} does not hold", *lines(self.trace)]))


class LeavesDomainError(AssertionError):
    """A run whose last step takes a field out of its domain where no cap is declared."""

    def __init__(self, start: Any, transitions: Sequence[Transition], fault: str) -> None:
        self.start, self.transitions = start, tuple(transitions)
        step = self.transitions[-1].step
        message = f"{fault} after {call(step.action, step.arguments)}: widen it, declare its cap, or mend the rules"
        trace = Trace(start, tuple(transition.trace_step() for transition in self.transitions), "domains", "always")
        super().__init__("\n".join([message, *lines(trace)]))


class SystemMachine(RuleBasedStateMachine):
    """One example: a run of a system from one of its starts.

    Attributes:
        engine, starts, tally: set by `machine`.
        pool: the actions, each as often as it weighs.
        start, state: the state it began in, and the present one; None before the first step.
        transitions: the steps so far.
    """

    engine: ClassVar[Integers]
    starts: ClassVar[tuple[Any, ...]]
    tally: ClassVar[Tally]
    pool: ClassVar[tuple[int, ...]]

    def __init__(self) -> None:
        super().__init__()
        self.start: Any = None
        self.state: Any = None
        self.swarm: frozenset[int] = frozenset()
        self.transitions: list[Transition] = []

    @initialize(start=CHOICES, omitted=CHOICES)
    def begin(self, start: int, omitted: int) -> None:
        """Draw the initial state, and the actions that this example does without: each with probability 1/2."""
        omitted_bits = omitted * SPREAD >> 24
        self.swarm = frozenset(kind for kind in range(len(self.engine.actions)) if not omitted_bits >> kind % 40 & 1)
        self.start = self.state = self.starts[start % len(self.starts)]
        self.tally.examples += 1
        self.tally.add_goals(self.engine.reached_goals(self.state, None))

    @rule(action=CHOICES, row=CHOICES)
    def act(self, action: int, row: int) -> None:
        """Take one of the enabled steps."""
        move = self.enabled(action, row)
        if move is None:
            self._fail(self.engine.deadlock(self.state))
            return
        transition = self.engine.take(self.state, move)
        note(call(transition.step.action, transition.step.arguments))
        field_cut = self.engine.field_outside(transition.step.after)
        if field_cut is not None:
            self._check_domain(transition)
            self.tally.cut[field_cut] += 1
            return
        self.transitions.append(transition)
        self.state = transition.step.after
        self.tally.add_action(transition.step.action)
        self.tally.add_goals(self.engine.reached_goals(self.state, transition.step))

    @invariant()
    def keeps_its_properties(self) -> None:
        """Every safety property holds of the state and of the step that led to it."""
        if self.state is not None:
            step = self.transitions[-1].step if self.transitions else None
            for broken in self.engine.broken(self.state, step):
                self._fail(broken)

    def enabled(self, action: int, row: int) -> Move | None:
        """An enabled instance of an action of the swarm; of another action where the swarm has none."""
        kinds = dict.fromkeys(self.pool[position] for position in permutation(len(self.pool), action))
        preferred = sorted(kinds, key=lambda kind: kind not in self.swarm)
        enabled = (self.engine.first_enabled(self.state, kind, row) for kind in preferred)
        return next((move for move in enabled if move is not None), None)

    def _check_domain(self, transition: Transition) -> None:
        fault = self.engine.domain_fault(transition.step.after)
        if fault is not None:
            raise LeavesDomainError(self.start, [*self.transitions, transition], fault)

    def _fail(self, broken: BrokenProperty | None) -> None:
        if broken is not None:
            raise Violation(self.start, self.transitions, broken)


def demanded(*engines: Integers) -> Tally:
    """A tally that demands every action and every goal of some settings of a system."""
    actions = [action.name for engine in engines for action in engine.actions]
    goals = [goal.id for engine in engines for goal in engine.of_kind("sometimes", "happens")]
    return Tally(actions=tuple(dict.fromkeys(actions)), goals=tuple(dict.fromkeys(goals)))


def machine(
    engine: Integers,
    starts: Sequence[Any] = (),
    weights: Mapping[str, int] | None = None,
    tally: Tally | None = None,
    name: str | None = None,
) -> type[SystemMachine]:
    """The machine of a system at a setting.

    Args:
        starts: states to begin in; the initial states by default.
        weights: how often to prefer an action, by name; 1 where it is not named.
        tally: what counts, shared by machines that are run together; one that demands every action and goal by default.
        name: of the class, as failures show it.

    Raises:
        ValueError: when a start is outside the domains of the setting, where no rule need make sense; when the system
            has liveness properties, of which no finite run says anything.
    """
    if unjudged := [claim.id for claim in engine.of_kind("recovers")]:
        names = ", ".join(unjudged)
        warnings.warn(
            f"{engine.system.name}: not judged by machines: {names} (recovers); `kraftcheck explore` judges it",
            stacklevel=2,
        )
    live = [claim.id for claim in engine.of_kind(*LIVENESS)]
    if live:
        raise ValueError(f"{engine.system.name}: machines check safety only; leave the liveness out: {', '.join(live)}")
    weight_of, begins = weights or {}, tuple(starts) or engine.initial
    for state in begins:
        stray = engine.field_outside(state)
        if stray is not None:
            raise ValueError(f"{engine.system.name}: {stray} of a state to start in is outside its domain")
    pool = [kind for kind, action in enumerate(engine.actions) for _ in range(weight_of.get(action.name, 1))]
    body = {
        "engine": engine,
        "starts": begins,
        "tally": tally or demanded(engine),
        "pool": tuple(pool),
        "__doc__": SystemMachine.__doc__,
        "__module__": __name__,
    }
    title = name or "".join(part.title() for part in (*engine.system.name.split("-"), "machine"))
    made = type(title, (SystemMachine,), body)
    _shorten_in_tests(made)
    return made


def _shorten_in_tests(made: type[SystemMachine]) -> None:
    """Let the test case of a machine shorten its failing run as `run` does, whatever its settings."""
    case, as_made = made.TestCase, made.TestCase.runTest

    @functools.wraps(as_made)
    def run_test(self: Any) -> None:
        self.settings = unshrunk(self.settings)
        with shortened(made):
            as_made(self)

    case.runTest = run_test  # type: ignore[method-assign]


def unshrunk(chosen: settings) -> settings:
    """Settings without the phases in which Hypothesis runs a failing example again and again."""
    return settings(chosen, phases=[phase for phase in chosen.phases if phase not in (Phase.shrink, Phase.explain)])


@contextlib.contextmanager
def shortened(machine_class: type[SystemMachine]) -> Iterator[None]:
    """Raise what breaks in the block with the shortest run that shrinking finds."""
    try:
        yield
    except Violation as violation:
        moves = [transition.move for transition in violation.transitions]
        short = shrink(machine_class.engine, violation.start, moves, violation.broken.claim, machine_class.starts)
        raise Violation(short.start, short.transitions, short.broken) from violation
    except LeavesDomainError as error:
        raise _without_detours(machine_class.engine, error) from error


def _without_detours(engine: Integers, error: LeavesDomainError) -> LeavesDomainError:
    """The fault after fewer steps: each is left out, the last first, where the rest still leaves its domain."""
    best, at = error, len(error.transitions) - 2
    while at >= 0:
        moves = [transition.move for transition in best.transitions]
        shorter = _fault_of(engine, best.start, moves[:at] + moves[at + 1 :])
        if shorter is not None:
            best, at = shorter, min(at, len(shorter.transitions) - 1)
        at -= 1
    return best


def _fault_of(engine: Integers, start: Any, moves: Sequence[Move]) -> LeavesDomainError | None:
    """The first fault of a run of those moves that are enabled; a step that a cap cuts is not taken."""
    state, taken = start, list[Transition]()
    for move in moves:
        if not engine.is_enabled(state, move):
            continue
        transition = engine.take(state, move)
        fault = engine.domain_fault(transition.step.after)
        if fault is not None:
            return LeavesDomainError(start, [*taken, transition], fault)
        if engine.field_outside(transition.step.after) is None:
            taken, state = [*taken, transition], transition.step.after
    return None


def other_examples(machine_class: type[Machine], suffix: str) -> type[Machine]:
    """A machine that draws other examples, though always the same ones for the same suffix where draws are fixed.

    Derandomised, Hypothesis derives what it draws from the name of a class, among other things. Where a seed is given
    (`--hypothesis-seed`) it draws from that alone, so that every round of a test would repeat the first.
    """
    name = machine_class.__name__ + suffix
    renamed = type(name, (machine_class,), {"__module__": machine_class.__module__})
    forced_seed = core.global_force_seed
    return renamed if forced_seed is None else seed(f"{forced_seed} {name}")(renamed)


def run(*machines: type[SystemMachine], chosen: settings | None = None, rounds: int = 1) -> None:
    """Run the examples of machines, and see that they show something.

    Args:
        machines: run one after the other in each round.
        chosen: settings of one machine in one round; those of the profile by default.
        rounds: how often to go on at most, with other examples, while something was not reached.

    Raises:
        Violation: when a property is broken; `solvers.reference.interpreter` has shortened the run.
        LeavesDomainError: when a step leaves a domain where no cap is declared; without steps that it does not need.
        VacuousRun: when an action or a goal never occurred.
    """
    for number in range(rounds):
        for position, machine_class in enumerate(machines):
            with shortened(machine_class):
                examples = other_examples(machine_class, f"{position}Round{number}")
                run_state_machine_as_test(examples, settings=unshrunk(chosen or settings()))
        if not any(machine_class.tally.missing() for machine_class in machines):
            break
    for machine_class in machines:
        machine_class.tally.verify()
