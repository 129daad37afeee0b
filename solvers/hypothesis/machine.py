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
What implements the system may follow each run, and is compared with it.

A failing run is shortened on ints (`solvers.reference.interpreter`); Hypothesis knows draws only, and shrinks nothing.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, Phase, core, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from kraftcheck.model.language.system import LIVENESS, Step
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


Implementation = Callable[[Any], Callable[[Step], None]]
"""What is made of the state that a run begins in, and is then called with each step, to take it too and to compare."""


class NotJudgedWarning(UserWarning):
    """Of properties that runs say nothing of."""


class FaultyRun(AssertionError):
    """A run whose last step is at fault, but for what the properties say."""

    def __init__(self, start: Any, transitions: Sequence[Transition], message: str, claim: str) -> None:
        self.start, self.transitions = start, tuple(transitions)
        trace = Trace(start, tuple(transition.trace_step() for transition in self.transitions), claim, "always")
        super().__init__("\n".join([message, *lines(trace)]))


class LeavesDomainError(FaultyRun):
    """A run whose last step takes a field out of its domain where no cap is declared."""

    def __init__(self, start: Any, transitions: Sequence[Transition], fault: str) -> None:
        message = f"{fault} after {_last(transitions)}: widen it, declare its cap, or mend the rules"
        super().__init__(start, transitions, message, "domains")


class DiffersError(FaultyRun):
    """A run whose last step an implementation takes in another way; its cause is what the implementation raised."""

    def __init__(self, start: Any, transitions: Sequence[Transition], fault: str) -> None:
        after = f"after {_last(transitions)}" if transitions else "at the start"
        super().__init__(start, transitions, f"the implementation differs {after}: {fault}", "implementation")


def _last(transitions: Sequence[Transition]) -> str:
    return call(transitions[-1].step.action, transitions[-1].step.arguments)


class SystemMachine(RuleBasedStateMachine):
    """One example: a run of a system from one of its starts.

    Attributes:
        engine, starts, tally, implementation: set by `machine`.
        pool: the actions, each as often as it weighs.
        start, state: the state it began in, and the present one; None before the first step.
        transitions: the steps so far.
        follow: what the implementation does with a step.
    """

    engine: ClassVar[Integers]
    starts: ClassVar[tuple[Any, ...]]
    tally: ClassVar[Tally]
    pool: ClassVar[tuple[int, ...]]
    implementation: ClassVar[tuple[Implementation, ...]]  # none, or one

    def __init__(self) -> None:
        super().__init__()
        self.start: Any = None
        self.state: Any = None
        self.swarm: frozenset[int] = frozenset()
        self.transitions: list[Transition] = []
        self.follow: tuple[Callable[[Step], None], ...] = ()

    @initialize(start=CHOICES, omitted=CHOICES)
    def begin(self, start: int, omitted: int) -> None:
        """Draw the initial state, and the actions that this example does without: each with probability 1/2."""
        omitted_bits = omitted * SPREAD >> 24
        self.swarm = frozenset(kind for kind in range(len(self.engine.actions)) if not omitted_bits >> kind % 40 & 1)
        self.begin_at(self.starts[start % len(self.starts)])
        self.tally.examples += 1
        self.tally.add_goals(self.engine.reached_goals(self.state, None))

    @rule(action=CHOICES, row=CHOICES)
    def act(self, action: int, row: int) -> None:
        """Take one of the enabled steps."""
        move = self.enabled(action, row)
        if move is None:
            self._fail(self.engine.deadlock(self.state))
            return
        note(call(self.engine.actions[move.action].name, self.engine.arguments(move)))
        field_cut = self.take(move)
        if field_cut is not None:
            self.tally.cut[field_cut] += 1
            return
        step = self.transitions[-1].step
        self.tally.add_action(step.action)
        self.tally.add_goals(self.engine.reached_goals(self.state, step))

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

    def begin_at(self, start: Any) -> None:
        """Begin in a state, and let the implementation do so."""
        self.start = self.state = start
        with self._compared():
            self.follow = tuple(make(start) for make in self.implementation)
        for follow in self.follow:
            if not callable(follow):
                raise TypeError(
                    f"the implementation is {follow!r}, which cannot be called with a step; give it __call__"
                )

    def take(self, move: Move) -> str | None:
        """Take a step; the field by which a cap cuts it, None where it is taken.

        Raises:
            LeavesDomainError, DiffersError: where the step is at fault.
        """
        transition = self.engine.take(self.state, move)
        field_cut = self.engine.field_outside(transition.step.after)
        if field_cut is not None:
            fault = self.engine.domain_fault(transition.step.after)
            if fault is not None:
                raise LeavesDomainError(self.start, [*self.transitions, transition], fault)
            return field_cut
        self.transitions.append(transition)
        self.state = transition.step.after
        for follow in self.follow:
            with self._compared():
                _check_silent(follow(transition.step))
        return None

    @contextlib.contextmanager
    def _compared(self) -> Iterator[None]:
        """Raise whatever the implementation raises as a difference."""
        try:
            yield
        except Exception as error:
            raise DiffersError(self.start, self.transitions, f"{type(error).__name__}: {error}") from error

    def _fail(self, broken: BrokenProperty | None) -> None:
        if broken is not None:
            raise Violation(self.start, self.transitions, broken)


def _check_silent(answer: object) -> None:
    """Refuse an answer: a comparison that is returned, and a coroutine that nobody awaits, would compare nothing."""
    if answer is not None:
        raise TypeError(f"it returned {answer!r}; assert what must be equal, and return nothing")


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
    implementation: Implementation | None = None,
) -> type[SystemMachine]:
    """The machine of a system at a setting.

    Args:
        starts: states to begin in; the initial states by default.
        weights: how often to prefer an action, by name; 1 where it is not named.
        tally: what counts, shared by machines that are run together; one that demands every action and goal by default.
        name: of the class, as failures show it.
        implementation: what follows each run, and is compared with it; nothing by default.

    Raises:
        ValueError: when a start is outside the domains of the setting, where no rule need make sense; when the system
            has liveness properties, of which no finite run says anything.
    """
    if unjudged := [claim.id for claim in engine.of_kind("recovers")]:
        names = ", ".join(unjudged)
        text = f"{engine.system.name}: not judged by machines: {names} (recovers); `kraftcheck explore` judges it"
        warnings.warn(f"{text}; filter {NotJudgedWarning.__name__} to go without", NotJudgedWarning, _callers_level())
    live = [claim.id for claim in engine.of_kind(*LIVENESS)]
    if live:
        raise ValueError(f"{engine.system.name}: machines check safety only; leave the liveness out: {', '.join(live)}")
    weight_of, begins = weights or {}, tuple(map(engine.layout.named, starts or engine.initial))
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
        "implementation": () if implementation is None else (implementation,),
        "__doc__": SystemMachine.__doc__,
        "__module__": __name__,
    }
    title = name or "".join(part.title() for part in (*engine.system.name.split("-"), "machine"))
    made = type(title, (SystemMachine,), body)
    _shorten_in_tests(made)
    return made


def _callers_level() -> int:
    """The `stacklevel` of the first caller that is not of this package: who asked for the machine."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("kraftcheck."):
        frame, level = frame.f_back, level + 1
    return level


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
    """Settings without the phases in which Hypothesis runs a failing example again and again, nor limits of time.

    Time is left alone as Hypothesis leaves it for state machines whose settings nobody chose.
    """
    phases = [phase for phase in chosen.phases if phase not in (Phase.shrink, Phase.explain)]
    return settings(chosen, phases=phases, deadline=None, suppress_health_check=list(HealthCheck))


@contextlib.contextmanager
def shortened(machine_class: type[SystemMachine]) -> Iterator[None]:
    """Raise what breaks in the block with the shortest run that shrinking finds."""
    try:
        yield
    except Violation as violation:
        moves = [transition.move for transition in violation.transitions]
        short = shrink(machine_class.engine, violation.start, moves, violation.broken.claim, machine_class.starts)
        raise Violation(short.start, short.transitions, short.broken) from violation
    except FaultyRun as error:
        least = _without_detours(machine_class, error)
        raise least from (least.__cause__ or error)


def _without_detours(machine_class: type[SystemMachine], error: FaultyRun) -> FaultyRun:
    """The fault after fewer steps: each is left out, the last first, where the rest still is at the same fault."""
    best, at = error, len(error.transitions) - 2
    while at >= 0:
        moves = [transition.move for transition in best.transitions]
        shorter = _fault_of(machine_class, best.start, moves[:at] + moves[at + 1 :])
        if shorter is not None and type(shorter) is type(error):
            best, at = shorter, min(at, len(shorter.transitions) - 1)
        at -= 1
    return best


def _fault_of(machine_class: type[SystemMachine], start: Any, moves: Sequence[Move]) -> FaultyRun | None:
    """The first fault of a run of those moves that are enabled; a step that a cap cuts is not taken."""
    example = machine_class()
    try:
        example.begin_at(start)
        for move in moves:
            if example.engine.is_enabled(example.state, move):
                example.take(move)
    except FaultyRun as fault:
        return fault
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
        DiffersError: when an implementation takes a step in another way; likewise.
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
