"""The search of an answered system: every state that Kafka's own managers lead to, level by level, in blocks."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.drivers import DriverError, JavaProcess
from kraftcheck.ci.conformance.kafka.tour.answers import (
    COUNTS,
    DOUBTS,
    HEAD,
    MOST_RAISED,
    AnsweredSystem,
    answer_rows,
    takes,
)
from kraftcheck.ci.conformance.kafka.tour.model import States, differs, keys_of
from kraftcheck.ci.conformance.kafka.tour.requests import CHECKED
from kraftcheck.ci.terminal.interrupts import called_on
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.solvers.liveness.backward import RecoverabilityFinding
from kraftcheck.solvers.machine_code.closure import HeldArcs
from kraftcheck.solvers.machine_code.compile import RowFunction
from kraftcheck.solvers.machine_code.transition import CONJUNCTS_PER_WORD, NO_ACTION, FramePlan, live_kinds
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.verdict import PackedRun
from kraftcheck.solvers.search.levels import OUT_OF_MEMORY, Limits

BLOCK = 4096  # states that are expanded at a time
PORTION = 8192  # questions that one process is asked at a time

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@define(eq=False)
class Managers:
    """Processes with Kafka's managers, which share questions, and a memo of their answers."""

    processes: Sequence[JavaProcess]  # that run
    remembers: bool  # whether questions may come again: not where they hold the whole state
    # asked, remembered: how many questions were put to them, and how many the memo answered
    asked: int = 0
    remembered: int = 0
    _memo: dict[bytes, Rows] = field(factory=dict)

    def ask(self, questions: Rows) -> Rows:
        """One answer for each question; raises DriverError when a process ends before it has answered."""
        if not len(questions):
            return self.processes[0].ask(questions)
        # Questions about one state follow each other: its records are replayed once.
        keys, first, places = np.unique(keys_of(questions), return_index=True, return_inverse=True)
        names = [key.tobytes() for key in keys] if self.remembers else []
        new = np.array([n for n, name in enumerate(names) if name not in self._memo], dtype=np.int64)
        new = new if self.remembers else np.arange(len(first))
        answers = self._put(questions[first[new]])
        self.asked, self.remembered = self.asked + len(new), self.remembered + len(questions) - len(new)
        if not self.remembers:
            return answers[places]
        self._memo.update((names[n], answer) for n, answer in zip(new.tolist(), answers, strict=True))
        return np.stack([self._memo[name] for name in names])[places]

    @contextmanager
    def ended_by(self, stop: threading.Event) -> Iterator[None]:
        """Meanwhile a stop ends the processes, whatever they are asked; new ones follow them."""

        def end() -> None:
            for process in self.processes:
                process.kill()

        with called_on(stop, end):
            yield
        for process in self.processes if stop.is_set() else ():
            process.restart()

    def _put(self, questions: Rows) -> Rows:
        portions = [questions[n : n + PORTION] for n in range(0, len(questions), PORTION)]
        count = len(self.processes)

        def drive(number: int) -> list[Rows]:
            return [self.processes[number].ask(portion) for portion in portions[number::count]]

        if len(portions) < 2:
            return self.processes[0].ask(questions)
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(drive, range(count)))
        return np.concatenate([answers[n % count][n // count] for n in range(len(portions))])


@frozen
class KindRows:
    """An action kind on rows of values."""

    # number, kind: of the program
    number: int
    kind: Kind
    asks: bool  # whether it asks the managers
    guard: RowFunction  # the conjuncts, of the leaves of a state and of arguments
    step: RowFunction  # the leaves after it and the truths of claims about it, of these and of the columns of an answer


@define(eq=False)
class Found:
    """The states found, by number in the order of discovery, and the steps between them."""

    # packed, parents, instances: of each state, and how it was reached first
    packed: list[tuple[int, ...]] = field(factory=list)
    parents: list[int] = field(factory=list)
    instances: list[int] = field(factory=list)
    # of each block of steps the states before, the action instances, and the states after
    edges: list[tuple[Numbers, Numbers, Numbers]] = field(factory=list)
    ends: list[int] = field(factory=list)  # of each level the number of states up to its end
    _numbers: dict[tuple[int, ...], int] = field(factory=dict)

    def add(self, packed: npt.NDArray[np.uint64], before: Numbers, by: Numbers) -> None:
        """Add steps, and the states that are new among those they lead to."""
        _, first, places = np.unique(keys_of(packed), return_index=True, return_inverse=True)
        numbers = np.empty(len(first), dtype=np.int64)
        for n in np.argsort(first).tolist():
            state = tuple(packed[first[n]].tolist())
            number = self._numbers.setdefault(state, len(self.packed))
            if number == len(self.packed):
                self.packed.append(state)
                self.parents.append(int(before[first[n]]))
                self.instances.append(int(by[first[n]]))
            numbers[n] = number
        self.edges.append((before, by, numbers[places]))

    def run_to(self, number: int) -> PackedRun:
        """How a state is reached."""
        way, at = list[int](), number
        while self.parents[at] >= 0:
            way.append(self.instances[at])
            at = self.parents[at]
        return PackedRun(self.packed[at], tuple(way[::-1]), self.packed[number])

    def occurrence(self, mark: tuple[int, int]) -> tuple[PackedRun, int]:
        """The run to the state of a mark, and the action instance taken there."""
        return self.run_to(mark[0]), mark[1]


@define(eq=False)
class AnsweredSearch:
    """The search of an answered system; see `kraftcheck.solvers.exploration.explore.SearchResult`."""

    # answered, program: the system, and it traced
    answered: AnsweredSystem
    program: Program
    managers: Managers  # who answers
    # limits, stop: where the search is cut
    limits: Limits
    stop: threading.Event
    on_block: Callable[[AnsweredSearch], None] = lambda search: None  # called after each block
    levels: list[int] = field(factory=list)
    claims: dict[int, tuple[int, int]] = field(factory=dict)
    cut: str | None = None
    whole: bool = False  # whether every state found was expanded
    store: Found = field(factory=Found)
    queue: int = 0  # states of the level that wait
    impossible: int = 0  # steps of the model that cannot be put to the managers; they are left out
    refused: int = 0  # requests that the rules grant, and Kafka does not; they are no steps
    beyond: int = 0  # requests that the rules refuse, and that make Kafka do something
    # by action, the first state and instance of those that Kafka alone refuses
    refusals: dict[str, tuple[int, int]] = field(factory=dict)
    # compared, differing: steps whose answers were compared with those of the rules, by action those that differ
    compared: int = 0
    differing: dict[str, int] = field(factory=dict)
    # strays, stray: answers that the system cannot hold, how many, and the first; they are not followed
    strays: int = 0
    stray: str = ""
    undecided: set[int] = field(factory=set)  # numbers of claims about steps that no answer tells
    plan: FramePlan = field(init=False)
    _kinds: tuple[KindRows, ...] = field(init=False)
    _judge: RowFunction = field(init=False)
    _counters: Numbers = field(init=False)
    _open: set[int] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        """Compile the rules on rows."""
        program, answer = self.program, self.answered.variables(self.program)
        self.plan = FramePlan(program)
        self._counters = np.zeros(self.plan.size, dtype=np.int64)

        def rows(variables: Iterable[Any], roots: Iterable[Any]) -> RowFunction:
            return RowFunction(program.graph, [*program.state, *variables], list(roots), cache_folder())

        self._kinds = tuple(
            KindRows(number, kind, self.answered.model.kinds[number].rules is not None,
                     rows(kind.variables, kind.guard.values()),
                     rows((*kind.variables, *answer), (*kind.after, *kind.steps)))
            for number, kind in live_kinds(program)
        )  # fmt: skip
        backward = [term for one in program.recovers for term in (one.when, one.goal)]
        self._judge = rows((), [*program.always_terms, *program.sometimes_terms, program.quiescent, *backward])

    @property
    def distinct(self) -> int:
        """Distinct states so far."""
        return len(self.store.packed)

    @property
    def generated(self) -> int:
        """Transitions taken so far, and the initial states."""
        return int(self._counters[self.plan.fired : self.plan.pruned].sum()) + len(self.program.initial)

    def counters(self) -> Numbers:
        """The frame."""
        return self._counters

    def bytes_in_use(self) -> int:
        """Bytes in use, about."""
        edges = sum(part.nbytes for block in self.store.edges for part in block)
        return edges + self.distinct * (200 + 40 * self.program.layout.words)

    def run(self) -> None:
        """Search until nothing is left or the search is cut."""
        initial = np.array(self.program.initial, dtype=np.uint64)
        none = np.full(len(initial), -1)
        self.store.add(initial, none, none)
        self.store.edges.clear()
        begin = 0
        while begin < self.distinct and self.cut is None:
            end = self.distinct
            self.levels.append(end - begin)
            self.store.ends.append(end)
            judge_only = self.limits.max_depth is not None and len(self.levels) > self.limits.max_depth
            for first in range(begin, end, BLOCK):
                try:
                    self._block(np.arange(first, min(end, first + BLOCK)), judge_only)
                except DriverError:
                    if not self.stop.is_set():
                        raise
                self.queue = max(0, end - first - BLOCK)
                self.on_block(self)
                if self.cut is None:
                    self.cut = self._limit(unfinished=self.queue > 0 or self.distinct > end)
                if self.cut is not None:
                    break
            if judge_only and self.cut is None:
                self.cut = f"depth limit {self.limits.max_depth}"
            begin = end
        self.whole = self.cut is None
        if self.whole and self.strays:
            answers = f"{self.strays:,} answer{'s' * (self.strays != 1)}"
            self.cut = f"{answers} of Kafka beyond what the system can hold, as to {self.stray}"
        if self.distinct > sum(self.levels):
            self.levels.append(self.distinct - sum(self.levels))

    def _limit(self, *, unfinished: bool) -> str | None:
        if self.bytes_in_use() > self.limits.memory:
            return f"{OUT_OF_MEMORY} {self.limits.memory:,} bytes"
        refuted = not self.plan.goals.issuperset(self.claims)
        return self.limits.reached(self.stop, self.distinct if unfinished else -1, refuted)

    def _block(self, numbers: Numbers, judge_only: bool) -> None:
        """Judge some states, and take every step from them."""
        packed = np.array([self.store.packed[n] for n in numbers.tolist()], dtype=np.uint64)
        states = self.answered.model.unpack(packed)
        quiescent = self._judged(numbers, states)
        if judge_only:
            self._open.update(numbers.tolist())
            return
        able = np.zeros(len(states), dtype=np.bool_)
        asking, silent = list[tuple[KindRows, int, Numbers, Bits]](), list[tuple[KindRows, int, Numbers]]()
        questions: list[Rows] = []
        for one, row, at, ruled in self._enabled(states):
            if not one.asks:
                silent.append((one, row, at))
                continue
            possible, put = self.answered.model.requests(states[at], one.kind.first + row)
            self.impossible += int((~possible & ruled).sum())
            asking.append((one, row, at[possible], ruled[possible]))
            questions.append(put[possible])
        put = np.concatenate(questions) if questions else self.answered.model.inputs.empty(0)
        raw = self.managers.ask(put)
        answers, done = answer_rows(self.answered.model, put, raw), 0
        for one, row, at in silent:
            able[at] = True
            self._steps(one, row, numbers[at], states[at], np.zeros((len(at), answers.shape[1]), dtype=np.int64))
        width = self.answered.model.managed_width
        for one, row, at, ruled in asking:
            own = slice(done, done + len(at))
            done += len(at)
            taken = takes(answers[own], states[at, :width], ruled, self.answered.reports_refusals)
            refused = np.flatnonzero(ruled & ~taken)
            self.refused += len(refused)
            if len(refused):
                mark = int(numbers[at[refused[0]]]), one.kind.first + row
                self.refusals[one.kind.action.name] = min(mark, self.refusals.get(one.kind.action.name, mark))
            otherwise = ~ruled
            otherwise[ruled] = self._differs(one, row, states[at[ruled]], raw[own][ruled])
            self._note(one.kind.action.name, ruled, otherwise, taken)
            able[at[taken]] = True
            self._steps(one, row, numbers[at[taken]], states[at[taken]], answers[own][taken], otherwise[taken])
        stuck = np.flatnonzero(~able & ~quiescent)
        if len(stuck):
            self.claims.setdefault(self.plan.deadlock, (int(numbers[stuck[0]]), NO_ACTION))

    def _judged(self, numbers: Numbers, states: States) -> Bits:
        """Note the claims about states that occur in some; which of them may rest."""
        program = self.program
        truths = self._judge(states) != 0
        always = len(program.always)
        for claim in range(self.plan.deadlock):
            occurs = np.flatnonzero(truths[:, claim] != (claim < always))
            if len(occurs):
                self.claims.setdefault(claim, (int(numbers[occurs[0]]), NO_ACTION))
        quiescent: Bits = truths[:, self.plan.deadlock]
        return quiescent

    def _enabled(self, states: States) -> Iterable[tuple[KindRows, int, Numbers, Bits]]:
        """Each action instance with the states that enable it, but for what Kafka checks, and whether the rules do."""
        for one in self._kinds:
            own = np.array([name not in CHECKED or not one.asks for name in one.kind.guard], dtype=np.bool_)
            for row, arguments in enumerate(one.kind.table):
                parts = one.guard(_with(states, np.array(arguments, dtype=np.int64))) != 0
                self._cover(one, parts)
                at = np.flatnonzero(parts[:, own].all(axis=1))
                if len(at):
                    yield one, row, at, parts[at].all(axis=1)

    def _cover(self, one: KindRows, parts: Bits) -> None:
        first, words = self.plan.covered[one.number], self.plan.coverage_words(one.kind)
        for offset, met in ((0, parts.any(axis=0)), (words, ~parts.all(axis=0))):
            for position in np.flatnonzero(met).tolist():
                word, bit = divmod(position, CONJUNCTS_PER_WORD)
                self._counters[first + offset + word] |= np.int64(np.uint64(1 << bit).view(np.int64))

    def _differs(self, one: KindRows, row: int, states: States, raw: Rows) -> Bits:
        if not len(states):
            return np.zeros(0, dtype=np.bool_)
        ruled = self.answered.model.decide(states, one.kind.first + row)[0]
        otherwise: Bits = np.logical_or.reduce(differs(self.answered.model.outputs, raw, ruled), axis=1)
        return otherwise

    def _note(self, action: str, ruled: Bits, differs: Bits, taken: Bits) -> None:
        """Count what was compared: of requests that the rules refuse, whether Kafka does nothing either."""
        self.compared += len(ruled)
        self.beyond += int((~ruled & taken).sum())
        if count := int((differs & (ruled | taken)).sum()):
            self.differing[action] = self.differing.get(action, 0) + count

    def _steps(
        self, one: KindRows, row: int, before: Numbers, states: States, answers: Numbers, differs: Bits | None = None
    ) -> None:
        """Take the steps of an action instance from some states, with the answers that each has."""
        within = self._within(one, before, answers)
        before, states, answers = before[within], states[within], answers[within]
        if not len(states):
            return
        rows = _with(states, np.array(one.kind.table[row], dtype=np.int64), answers)
        values, slots = one.step(rows), self.program.layout.slots
        broken = values[:, len(slots) :] == 0
        if differs is not None and (doubtful := np.flatnonzero(differs[within])).size:
            broken[doubtful] = self._undoubted(one, rows[doubtful], answers.shape[1])
        kept = self._uncut(one, before, values)
        instance = one.kind.first + row
        for claim in np.flatnonzero(broken[kept].any(axis=0)).tolist():
            first = int(before[kept][np.flatnonzero(broken[kept, claim])[0]])
            self.claims.setdefault(self.plan.first_step + claim, (first, instance))
        self._counters[self.plan.fired + one.number] += len(kept)
        packed = np.zeros((len(kept), self.program.layout.words), dtype=np.uint64)
        for slot, column in zip(slots, values[kept].T, strict=False):
            packed[:, slot.word] |= (column - slot.domain.lo).astype(np.uint64) << np.uint64(slot.shift)
        self.store.add(packed, before[kept], np.full(len(kept), instance))

    def _undoubted(self, one: KindRows, rows: Numbers, width: int) -> Bits:
        """Which claims steps break whatever is in doubt of their answers, in the last columns; others are noted."""
        answer, read = self.answered.variables(self.program), {term.index for term in closure(one.kind.steps)}
        columns = [HEAD.index(name) for name in DOUBTS if answer[HEAD.index(name)].index in read]
        every: list[Bits] = []
        for doubts in itertools.product((0, 1), repeat=len(columns)):
            rows[:, [column - width for column in columns]] = doubts
            every.append(one.step(rows)[:, len(self.program.layout.slots) :] == 0)
        broken: Bits = np.logical_and.reduce(every)
        self.undecided.update(np.flatnonzero((np.logical_or.reduce(every) & ~broken).any(axis=0)).tolist())
        return broken

    def _within(self, one: KindRows, before: Numbers, answers: Numbers) -> Numbers:
        """The answers whose values the system can have; the search is not complete where there are others."""
        if not one.asks:
            return np.arange(len(answers))
        slots = self.program.layout.slots[: answers.shape[1] - len(HEAD)]
        lo = np.array([0] * len(HEAD) + [slot.domain.lo for slot in slots])
        hi = np.array([MOST_RAISED if name in COUNTS else 1 for name in HEAD] + [slot.domain.hi for slot in slots])
        strays = (answers < lo) | (answers > hi)
        if strays.any():
            at, column = np.argwhere(strays)[0].tolist()
            name = [*HEAD, *(self.program.layout.name(slot.path) for slot in slots)][column]
            self.strays += int(strays.any(axis=1).sum())
            self.stray = self.stray or f"{one.kind.action.name} with {name} = {answers[at, column]}"
            self._open.update(before[strays.any(axis=1)].tolist())
        return np.flatnonzero(~strays.any(axis=1))

    def _uncut(self, one: KindRows, before: Numbers, values: Numbers) -> Numbers:
        """The steps that leave no field's domain; the others are counted."""
        kept = np.ones(len(values), dtype=np.bool_)
        for place, crossing in self.plan.crossings_of(one.number):
            domain = self.program.layout.slots[crossing.slot].domain
            column = values[:, crossing.slot]
            crosses = column > domain.hi if crossing.above else column < domain.lo
            self._counters[place] += int(crosses.sum())
            kept &= ~crosses
        self._open.update(before[~kept].tolist())
        return np.flatnonzero(kept)

    def recoverability(self) -> tuple[RecoverabilityFinding, ...]:
        """What a search backward over all steps finds of each `recovers` property."""
        packed = np.array(self.store.packed, dtype=np.uint64)
        truths, edges = self._judge(self.answered.model.unpack(packed)) != 0, self.edges()
        unfollowed = self.unfollowed()
        return tuple(self._recovers(number, truths, edges, unfollowed) for number in range(len(self.program.recovers)))

    def edges(self) -> list[Numbers]:
        """All steps: the states before, the action instances, and the states after."""
        none = np.zeros(0, dtype=np.int64)
        return [np.concatenate(column) for column in zip((none,) * 3, *self.store.edges, strict=True)]

    def unfollowed(self) -> Bits:
        """The states some of whose steps are not known."""
        unfollowed: Bits = np.arange(self.distinct) >= (self.store.ends[-1] if self.whole else self._followed())
        unfollowed[list(self._open)] = True
        return unfollowed

    def _followed(self) -> int:
        """How many states were expanded, at least, when the search was cut."""
        return 0 if len(self.store.ends) < 2 else self.store.ends[-2]

    def _recovers(self, number: int, truths: Bits, edges: Sequence[Numbers], unfollowed: Bits) -> RecoverabilityFinding:
        claim, at = self.program.recovers[number], self.plan.deadlock + 1 + 2 * number
        concerned, goal = truths[:, at], truths[:, at + 1]
        flows = np.array(claim.allowed)[edges[1]]
        before, after = edges[0][flows], edges[2][flows]
        marks = goal | unfollowed.astype(np.uint8) << 1
        HeldArcs.of([3], marks, (after, before, np.zeros_like(after))).close()
        reaches, leaves = marks & 1 != 0, marks & 2 != 0
        lost = np.flatnonzero(concerned & ~reaches & ~leaves)
        unsure = np.flatnonzero(concerned & ~reaches & leaves)
        return RecoverabilityFinding(
            claim.claim, int(concerned.sum()), int((concerned & ~goal).sum()),
            self.store.run_to(int(lost[0])) if len(lost) else None,
            len(self.store.run_to(int(unsure[0])).instances) if len(unsure) else None, satisfied=bool(goal.any()),
        )  # fmt: skip


def _with(states: States, *columns: Numbers) -> Numbers:
    """States with further columns: of one row for all of them, or of a row each."""
    width = sum(column.shape[-1] for column in columns)
    rows = np.empty((len(states), states.shape[1] + width), dtype=np.int64)
    rows[:, : states.shape[1]], at = states, states.shape[1]
    for column in columns:
        rows[:, at : at + column.shape[-1]] = column
        at += column.shape[-1]
    return rows
