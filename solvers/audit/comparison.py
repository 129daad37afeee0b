"""Comparison of one state: the report of the compiled code against the rules on Python ints."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from attrs import define, field, frozen

from kraftcheck.model.language.layout import DomainError, leaves
from kraftcheck.model.language.system import UNNAMED, Action, Step
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.audit.sampling import Packed
from kraftcheck.solvers.blocks.expansion import Expansion
from kraftcheck.solvers.blocks.tasks import CLAIMS_PER_WORD, BlockKernel
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION, Crossing, FramePlan
from kraftcheck.solvers.program.orders import Orders
from kraftcheck.solvers.program.parts import RAISED
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import description, given_states
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.reference.interpreter import Integers, Move
from kraftcheck.solvers.search.symmetry import canonical
from kraftcheck.solvers.search.visited import CandidateBuffers, ThreadBuffers
from kraftcheck.solvers.traces.render import call, fields, show


@frozen
class EngineReport:
    """The report of an engine about one state."""

    # for each claim that occurs, by its number in a `FramePlan`, the first action instance that shows it; NO_ACTION for
    # claims about the state
    occurrences: Mapping[int, int]
    # action instances taken, each with the packed state that it leads to
    after: tuple[tuple[int, tuple[int, ...]], ...]
    pruned: Mapping[Crossing, int]  # for each bound of a domain that cut transitions of a kind, how many
    marks: int  # bits of the `recovers` properties, as the backward search sets them from the state alone

    @classmethod
    def of(cls, plan: FramePlan, frame: Any, records: Any, marks: int, claims: Mapping[int, int]) -> EngineReport:
        """The report of one expansion: its frame, zero before, its records, and the claims about the state."""
        first_instances = frame[plan.claims : plan.claims + plan.claim_count]
        occurrences = {n: (int(first_instances[n]) - 1) & NO_ACTION for n in np.flatnonzero(first_instances).tolist()}
        cuts = {
            crossing: int(frame[plan.pruned + n]) for n, crossing in enumerate(plan.crossings) if frame[plan.pruned + n]
        }
        after = tuple((row[-1], tuple(row[:-1])) for row in records.tolist())
        return cls({**claims, **occurrences}, after, cuts, marks)


class StateEngine(Protocol):
    """Compiled code that can be asked for one state."""

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """The report about a packed state."""


class NativeEngine:
    """The native search's own expansion, of a visited set that holds one state."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._buffers, self._piece = kernel, ThreadBuffers(kernel), CandidateBuffers(kernel)
        self._stores = np.zeros(SHARDS, dtype=np.int64)
        self._ranges = np.zeros((SHARDS, 2), dtype=np.int64)
        self._ranges[0] = 0, 1

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """See `StateEngine`."""
        kernel, buffers, piece, plan = self._kernel, self._buffers, self._piece, self._kernel.plan
        source = np.array(packed, dtype=np.uint64)
        self._stores[0] = address(source)
        buffers.frame[:] = piece.counts[:] = 0
        kernel.expand(
            buffers.frame_place, address(self._stores), address(self._ranges), piece.records_place,
            piece.counts_place, buffers.recent_place, buffers.scratch_place, 0,
        )  # fmt: skip
        transitions, size = int(buffers.frame[plan.fired : plan.pruned].sum()), kernel.geometry.record
        return EngineReport.of(
            plan, buffers.frame, buffers.scratch[: transitions * size].reshape(-1, size), self._marks(source), {}
        )

    def _marks(self, source: Any) -> int:
        kernel = self._kernel
        if not kernel.program.recovers:
            return 0
        mark = np.zeros(1, dtype=f"u{kernel.geometry.mark}")
        kernel.library.function("survey", 3)(address(source), address(mark), 1)
        return int(mark[0])


class BlockEngine:
    """The functions on blocks that workers run, for a block of one state."""

    def __init__(self, program: Program, kernel: BlockKernel) -> None:
        self._plan, self._kernel = FramePlan(program), kernel
        self._expansion = Expansion(kernel, 0)

    def __call__(self, packed: Sequence[int]) -> EngineReport:
        """See `StateEngine`."""
        kernel, expansion, program = self._kernel, self._expansion, self._plan.program
        states = np.array([packed], dtype=np.uint64)
        expansion.frame[:] = 0
        for _ in expansion.take(states, 0):
            pass
        expansion.empty()
        records, _ = kernel.transitions(states)
        bits = kernel.claims(states)[0].tolist()
        occur = [n for n in range(len(program.always) + len(program.sometimes)) if _bit(bits, n)]
        marks = int(kernel.marks(states)[0]) if program.recovers else 0
        return EngineReport.of(self._plan, expansion.frame, records, marks, dict.fromkeys(occur, NO_ACTION))


def _bit(words: Sequence[int], number: int) -> int:
    """A bit of a state's claim words."""
    return words[number // CLAIMS_PER_WORD] >> number % CLAIMS_PER_WORD & 1


Take = Callable[[Any, int], tuple[bool, Step | None]]
"""Whether a state enables an action instance on ints, and its step; None where there is none or it leaves a domain."""


@frozen
class Dependence:
    """Two action instances that are said to be independent, and are not."""

    # one, other: which
    one: int
    other: int
    what: str  # how they disturb each other


def find_dependence(orders: Orders, taken: Mapping[int, tuple[bool, Step | None]], take: Take) -> Dependence | None:
    """The first two instances that are said to be independent, of which one disturbs the other in a state.

    Args:
        taken: what some instances do in the state.
    """
    moving = {number: step for number, (_, step) in taken.items() if step is not None}
    for one, step in moving.items():
        for other, (enabled, its) in taken.items():
            if one == other or orders.dependent[one] >> other & 1:
                continue
            still, after = take(step.after, other)
            if still != enabled or (after is None) != (its is None):
                return Dependence(one, other, "the first decides whether the second can be taken")
    for one, other in itertools.combinations(moving, 2):
        if not orders.dependent[one] >> other & 1:
            (_, last), (_, also) = take(moving[one].after, other), take(moving[other].after, one)
            if last is None or also is None or last.after != also.after:
                return Dependence(one, other, "their two orders lead to different states")
    return None


NEIGHBOURS = 8
"""Of so many initial states that are compared, one where they are described: its neighbours are compared too."""


@frozen
class IntsAnswer:
    """The answer of the rules on ints about an action instance in a state."""

    step: Step | None = None  # the transition; None where the guard is false
    packed: Packed | None = None  # the state it leads to; None where it leaves a domain
    crossed: tuple[Crossing, ...] = ()  # the bounds of domains that it crosses


@define
class StateComparison:
    """Compares states of one program."""

    program: Program
    # whether a packed state is among those found; None where the search is not complete
    visited: Callable[[Packed], bool] | None = None
    integers: Integers = field(init=False)  # the system, whose parts are read a second time
    owner: tuple[int, ...] = field(init=False)  # for each action instance the number of its kind
    _plan: FramePlan = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Ask the system for its parts a second time."""
        program = self.program
        self._plan = FramePlan(program)
        self.owner = tuple(number for number, kind in enumerate(program.kinds) for _ in kind.instances)
        try:
            self.integers = Integers(program.system, program.setting)
        except RAISED as error:
            raise EngineDisagreement(f"asked a second time, the system raised {_error_text(error)}") from error
        before = [(kind.action.name, len(kind.instances)) for kind in program.kinds]
        after = [(action.name, self.integers.rows(number)) for number, action in enumerate(self.integers.actions)]
        if before != after or len(self.integers.properties) != len(program.claims):
            raise EngineDisagreement("asked a second time, the system has other actions or properties")

    def initial(self, count: int) -> None:
        """Compare the first `count` initial states; of those that are described, some from all over."""
        initial = set(self.program.initial)
        if self.program.initially:
            self._described_states(initial, count)
            return
        for state in self.integers.initial[:count]:
            packed = self._canonical(self.program.layout.pack(state))
            if packed not in initial or (self.visited is not None and not self.visited(packed)):
                raise EngineDisagreement(f"the engine does not know the initial state {described(state)}")

    def _described_states(self, initial: Collection[Packed], count: int) -> None:
        """Ask the description, on ints, of some initial states, and of states that differ from these in one field."""
        program, listed = self.program, self.program.initial
        rule = description(given_states(program.system, program.setting))
        if rule is None:
            raise EngineDisagreement("asked a second time, the system lists its initial states")
        for packed in listed[:: -(-len(listed) // max(1, count // NEIGHBOURS))]:
            values = program.layout.split(packed)
            for place, slot in enumerate(program.layout.slots):
                near = range(max(slot.domain.lo, values[place] - 1), min(slot.domain.hi, values[place] + 1) + 1)
                for value in near:
                    state = program.layout.state((*values[:place], value, *values[place + 1 :]))
                    on_ints = bool(all_of(*rule.holds(state).values()))
                    known = self._canonical(program.layout.pack(state))
                    if on_ints != (known in initial) or (on_ints and self.visited and not self.visited(known)):
                        told = "does not know" if on_ints else "begins in"
                        raise EngineDisagreement(f"the engine {told} the state {described(state)}, against initial")

    def state(self, packed: Packed, report: EngineReport, instances: Collection[int]) -> int:
        """Compare a state, and some of its action instances; returns how many of those are transitions.

        Raises:
            EngineDisagreement: for the first difference.
        """
        state = self.program.layout.unpack(packed)
        try:
            return self._compare(state, report, instances)
        except EngineDisagreement as error:
            raise EngineDisagreement(f"{error}; in the state {described(state)}") from error
        except RAISED as error:
            where = f"in the state {described(state)}"
            raise EngineDisagreement(f"on ints the rules raise {_error_text(error)}; {where}") from error

    def _compare(self, state: Any, report: EngineReport, instances: Collection[int]) -> int:
        after = dict(report.after)
        if len(after) != len(report.after):
            raise EngineDisagreement("the engine takes an action instance twice")
        self._compare_state(state, report)
        answers = {number: self.answer(state, number) for number in sorted(instances)}
        for number, answer in answers.items():
            self._compare_instance(state, number, answer, after.get(number))
            if answer.packed is not None and answer.step is not None:
                self._compare_step(answer.step, number, report)
        self._compare_orders(report, answers)
        self._compare_cuts(
            report, answers, exhaustive=self.program.instances - len(after) == len(answers.keys() - after.keys())
        )
        return sum(answer.packed is not None for answer in answers.values())

    def answer(self, state: Any, instance: int) -> IntsAnswer:
        """The answer of the rules on ints about an action instance."""
        number = self.owner[instance]
        move = Move(number, instance - self.program.kinds[number].first)
        if not self.integers.is_enabled(state, move):
            return IntsAnswer()
        step = self.integers.take(state, move).step
        try:
            return IntsAnswer(step, self.program.layout.pack(step.after))
        except DomainError:
            slots = enumerate(zip(leaves(step.after), self.program.layout.slots, strict=True))
            crossings = [
                Crossing(number, n, above=value > slot.domain.hi)
                for n, ((_, value), slot) in slots if not slot.domain.lo <= value <= slot.domain.hi
            ]  # fmt: skip
            return IntsAnswer(step, None, tuple(crossings))

    def _compare_instance(self, state: Any, instance: int, answer: IntsAnswer, compiled: Packed | None) -> None:
        """Guard, domains and successor of an action instance."""
        layout = self.program.layout
        if answer.packed is None:
            if compiled is not None:
                names = ", ".join(
                    layout.name(layout.slots[on_ints_fields.slot].path) for on_ints_fields in answer.crossed
                )
                on_ints = f"leaves the domain of {names}" if names else f"is not enabled{self._false(state, instance)}"
                raise EngineDisagreement(f"{self.called(instance)} {on_ints} on ints, and is taken by the engine")
            return
        if compiled is None:
            raise EngineDisagreement(f"{self.called(instance)} is enabled on ints, and not taken by the engine")
        packed = self._canonical(answer.packed)
        if packed != compiled:
            on_ints_fields, compiled_fields = fields(layout.unpack(packed)), fields(layout.unpack(compiled))
            name = next(name for name in on_ints_fields if on_ints_fields[name] != compiled_fields[name])
            raise EngineDisagreement(
                f"{self.called(instance)} leads to {name} = {show(on_ints_fields[name])} on ints, "
                f"and to {show(compiled_fields[name])} by the engine"
            )
        if self.visited is not None and self.program.orders is None and not self.visited(packed):
            raise EngineDisagreement(f"{self.called(instance)} leads to a state that the search did not visit")

    def _compare_orders(self, report: EngineReport, answers: Mapping[int, IntsAnswer]) -> None:
        """Where orders are left out: some successor is visited, and what is independent commutes."""
        orders = self.program.orders
        if orders is None:
            return
        if self.visited is not None and report.after and not any(self.visited(after) for _, after in report.after):
            raise EngineDisagreement("the search visited no successor")

        def taken(answer: IntsAnswer) -> tuple[bool, Step | None]:
            return answer.step is not None, None if answer.packed is None else answer.step

        found = find_dependence(
            orders, {number: taken(answer) for number, answer in answers.items()},
            lambda state, instance: taken(self.answer(state, instance)),
        )  # fmt: skip
        if found is not None:
            pair = f"{self.called(found.one)} and {self.called(found.other)}"
            raise EngineDisagreement(f"{pair} are taken for independent, and {found.what} on ints")

    def _canonical(self, packed: Packed) -> Packed:
        """The state that stands for a state, where symmetry reduces them."""
        return packed if self.program.reduction is None else canonical(self.program, packed)

    def _false(self, state: Any, instance: int) -> str:
        """The named conjuncts of a guard that are false."""
        action, arguments = self._action(instance)
        false = [name for name, part in action.guards(state, arguments).items() if name != UNNAMED and not part]
        return f" ({', '.join(false)})" if false else ""

    def _compare_cuts(self, report: EngineReport, answers: Mapping[int, IntsAnswer], *, exhaustive: bool) -> None:
        """The transitions that a domain cut, by kind, field and side; all of them where each instance was asked."""
        counts = Counter(crossing for answer in answers.values() for crossing in answer.crossed)
        for crossing in {**counts, **report.pruned}:
            on_ints, compiled = counts[crossing], report.pruned.get(crossing, 0)
            if on_ints > compiled or (exhaustive and on_ints != compiled):
                layout, action = self.program.layout, self.program.kinds[crossing.kind].action.name
                name = layout.name(layout.slots[crossing.slot].path)
                difference = f"{on_ints} transitions of {action} on ints, and {compiled} compiled"
                raise EngineDisagreement(f"the domain of {name} cuts {difference}")

    def _compare_state(self, state: Any, report: EngineReport) -> None:
        """Properties of the state, and deadlock."""
        program, plan = self.program, self._plan
        for number, claim in enumerate((*program.always, *program.sometimes)):
            true = claim.holds(state)
            self._same(claim.id, true, (number in report.occurrences) == (number in plan.goals))
        for number, recovers in enumerate(program.recovers):
            goal, when = (bool(report.marks >> n & 1) for n in (number, 2 * len(program.recovers) + number))
            self._same(recovers.claim.id, recovers.claim.holds(state), goal)
            self._same(f"{recovers.claim.id}, when", bool(all_of(recovers.claim.concerns(state))), when)
        rests = bool(report.after or report.pruned) or self.integers.may_rest(state)
        self._same("that the state has a successor or is quiescent", rests, plan.deadlock not in report.occurrences)

    def _compare_step(self, step: Step, instance: int, report: EngineReport) -> None:
        """Properties of a transition; the engine notes the first instance that breaks or shows one."""
        program, plan = self.program, self._plan
        for number, claim in enumerate((*program.steps, *program.happens), plan.first_step):
            first = report.occurrences.get(number, NO_ACTION)
            if first < instance:
                continue
            true = claim.holds(step)
            compiled = (first == instance) == (number in plan.goals)
            self._same(f"{claim.id}, of {self.called(instance)},", true, compiled)

    def _same(self, name: str, on_ints: Any, compiled: bool) -> None:
        if bool(on_ints) != compiled:
            words = {True: "true", False: "false"}
            raise EngineDisagreement(f"{name} is {words[bool(on_ints)]} on ints, and {words[compiled]} by the engine")

    def _action(self, instance: int) -> tuple[Action, Mapping[str, Any]]:
        return self.program.instance(instance)

    def called(self, instance: int) -> str:
        """An action instance in words."""
        action, arguments = self._action(instance)
        return call(action.name, arguments)


def described(state: Any) -> str:
    """A state on one line."""
    return ", ".join(f"{name} = {show(value)}" for name, value in fields(state).items())


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
