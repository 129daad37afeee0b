"""What compiled code says of one state, compared with the rules on Python ints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import define, field, frozen

from kraftcheck.model.language.layout import DomainError, leaves
from kraftcheck.model.language.system import UNNAMED, Action, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.audit.sampling import Packed
from kraftcheck.solvers.audit.single_state import Noted
from kraftcheck.solvers.machine_code.frame import NO_ACTION, Crossing, FramePlan
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.reference.interpreter import Integers, Move
from kraftcheck.solvers.search.symmetry import canonical
from kraftcheck.solvers.traces.render import call, fields, show


@frozen
class Answer:
    """What the rules on ints say of an action instance in a state.

    Attributes:
        step: the transition; None where the guard is false.
        packed: the state it leads to; None where it leaves a domain.
        crossed: the bounds of domains that it crosses.
    """

    step: Step | None = None
    packed: Packed | None = None
    crossed: tuple[Crossing, ...] = ()


@define
class Comparison:
    """Compares states of one program.

    Attributes:
        program: what was traced and compiled.
        visited: whether a packed state is among those found; None where the search is not complete.
        integers: the system, asked for its parts anew.
        owner: for each action instance the number of its kind.
    """

    program: Program
    visited: Callable[[Packed], bool] | None = None
    integers: Integers = field(init=False)
    owner: tuple[int, ...] = field(init=False)
    _plan: FramePlan = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Ask the system for its parts a second time."""
        program = self.program
        self._plan = FramePlan(program)
        self.owner = tuple(number for number, kind in enumerate(program.kinds) for _ in kind.instances)
        try:
            self.integers = Integers(program.system, program.setting)
        except Exception as error:
            raise EngineDisagreement(f"asked a second time, the system raised {_told(error)}") from error
        before = [(kind.action.name, len(kind.instances)) for kind in program.kinds]
        after = [(action.name, self.integers.rows(number)) for number, action in enumerate(self.integers.actions)]
        if before != after or len(self.integers.properties) != len(program.claims):
            raise EngineDisagreement("asked a second time, the system has other actions or properties")

    def initial(self, most: int) -> None:
        """Compare so many of the initial states."""
        known = set(self.program.initial)
        for state in self.integers.initial[:most]:
            packed = self._least(self.program.layout.pack(state))
            if packed not in known or (self.visited is not None and not self.visited(packed)):
                raise EngineDisagreement(f"the engine does not know the initial state {described(state)}")

    def state(self, packed: Packed, noted: Noted, instances: Collection[int]) -> int:
        """Compare a state, and some of its action instances; returns how many of those are transitions.

        Raises:
            EngineDisagreement: for the first difference.
        """
        state = self.program.layout.unpack(packed)
        try:
            return self._state(state, noted, instances)
        except EngineDisagreement as error:
            raise EngineDisagreement(f"{error}; in the state {described(state)}") from error
        except Exception as error:
            where = f"in the state {described(state)}"
            raise EngineDisagreement(f"on ints the rules raise {_told(error)}; {where}") from error

    def _state(self, state: Any, noted: Noted, instances: Collection[int]) -> int:
        after = dict(noted.after)
        if len(after) != len(noted.after):
            raise EngineDisagreement("the engine takes an action instance twice")
        self._of_state(state, noted)
        answers = {number: self.answer(state, number) for number in sorted(instances)}
        for number, answer in answers.items():
            self._instance(state, number, answer, after.get(number))
            if answer.packed is not None and answer.step is not None:
                self._of_step(answer.step, number, noted)
        self._cut(noted, answers, whole=self.program.instances - len(after) == len(answers.keys() - after.keys()))
        return sum(answer.packed is not None for answer in answers.values())

    def answer(self, state: Any, instance: int) -> Answer:
        """What the rules on ints say of an action instance."""
        number = self.owner[instance]
        move = Move(number, instance - self.program.kinds[number].first)
        if not self.integers.is_enabled(state, move):
            return Answer()
        step = self.integers.take(state, move).step
        try:
            return Answer(step, self.program.layout.pack(step.after))
        except DomainError:
            slots = enumerate(zip(leaves(step.after), self.program.layout.slots, strict=True))
            cut = [
                Crossing(number, n, above=value > slot.domain.hi)
                for n, ((_, value), slot) in slots if not slot.domain.lo <= value <= slot.domain.hi
            ]  # fmt: skip
            return Answer(step, None, tuple(cut))

    def _instance(self, state: Any, instance: int, answer: Answer, compiled: Packed | None) -> None:
        """Guard, domains and successor of an action instance."""
        layout = self.program.layout
        if answer.packed is None:
            if compiled is not None:
                cut = ", ".join(layout.name(layout.slots[one.slot].path) for one in answer.crossed)
                on_ints = f"leaves the domain of {cut}" if cut else f"is not enabled{self._false(state, instance)}"
                raise EngineDisagreement(f"{self.called(instance)} {on_ints} on ints, and is taken by the engine")
            return
        if compiled is None:
            raise EngineDisagreement(f"{self.called(instance)} is enabled on ints, and not taken by the engine")
        packed = self._least(answer.packed)
        if packed != compiled:
            one, other = fields(layout.unpack(packed)), fields(layout.unpack(compiled))
            name = next(name for name in one if one[name] != other[name])
            raise EngineDisagreement(
                f"{self.called(instance)} leads to {name} = {show(one[name], name)} on ints, "
                f"and to {show(other[name], name)} by the engine"
            )
        if self.visited is not None and not self.visited(packed):
            raise EngineDisagreement(f"{self.called(instance)} leads to a state that the search did not visit")

    def _least(self, packed: Packed) -> Packed:
        """The state that stands for a state, where symmetry reduces them."""
        return packed if self.program.reduction is None else canonical(self.program, packed)

    def _false(self, state: Any, instance: int) -> str:
        """The named conjuncts of a guard that are false."""
        action, arguments = self._action(instance)
        false = [name for name, part in action.guards(state, arguments).items() if name != UNNAMED and not part]
        return f" ({', '.join(false)})" if false else ""

    def _cut(self, noted: Noted, answers: Mapping[int, Answer], *, whole: bool) -> None:
        """The transitions that a domain cut, by kind, field and side; all of them where each instance was asked."""
        counts = Counter(crossing for answer in answers.values() for crossing in answer.crossed)
        for crossing in {**counts, **noted.pruned}:
            one, other = counts[crossing], noted.pruned.get(crossing, 0)
            if one > other or (whole and one != other):
                layout, action = self.program.layout, self.program.kinds[crossing.kind].action.name
                name = layout.name(layout.slots[crossing.slot].path)
                told = f"{one} transitions of {action} on ints, and {other} compiled"
                raise EngineDisagreement(f"the domain of {name} cuts {told}")

    def _of_state(self, state: Any, noted: Noted) -> None:
        """Properties of the state, and deadlock."""
        program, plan = self.program, self._plan
        for number, claim in enumerate((*program.always, *program.sometimes)):
            true = all_of(*claim.parts(state).values())
            self._same(claim.id, true, (number in noted.occasions) == (number in plan.goals))
        for number, one in enumerate(program.recoveries):
            goal, when = (bool(noted.marks >> n & 1) for n in (number, 2 * len(program.recoveries) + number))
            self._same(one.claim.id, all_of(*one.claim.parts(state).values()), goal)
            self._same(f"{one.claim.id}, when", bool(all_of(one.claim.concerns(state))), when)
        rests = bool(noted.after or noted.pruned) or self.integers.may_rest(state)
        self._same("that the state has a successor or is quiescent", rests, plan.deadlock not in noted.occasions)

    def _of_step(self, step: Step, instance: int, noted: Noted) -> None:
        """Properties of a transition; the engine notes the first instance that breaks or shows one."""
        program, plan = self.program, self._plan
        for number, claim in enumerate((*program.steps, *program.happens), plan.first_step):
            first = noted.occasions.get(number, NO_ACTION)
            if first < instance:
                continue
            true = all_of(*claim.parts(step).values())
            told = (first == instance) == (number in plan.goals)
            self._same(f"{claim.id}, of {self.called(instance)},", true, told)

    def _same(self, what: str, on_ints: Any, compiled: bool) -> None:
        if bool(on_ints) != compiled:
            words = {True: "true", False: "false"}
            raise EngineDisagreement(f"{what} is {words[bool(on_ints)]} on ints, and {words[compiled]} by the engine")

    def _action(self, instance: int) -> tuple[Action, Mapping[str, Any]]:
        return self.program.instance(instance)

    def called(self, instance: int) -> str:
        """An action instance in words."""
        action, arguments = self._action(instance)
        return call(action.name, arguments)


def described(state: Any) -> str:
    """A state on one line."""
    return ", ".join(f"{name} = {show(value, name)}" for name, value in fields(state).items())


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
