"""Systems whose controller is Kafka's own managers: in place of what rules decide, their actions have its answers.

What brokers, logs, disks and operators do stays the model's. On ints an action asks the managers; where a system is
traced, an answer is made of variables, whose values a search puts in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import asdict, define, evolve, field, frozen

from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.tour.model import REFUSED, RESIGNED, STATE_ONLY, States, TourKind, TourModel
from kraftcheck.ci.conformance.kafka.tour.requests import CHECKED, managed_name, managed_part
from kraftcheck.model.language.anynumber import same_leaves
from kraftcheck.model.language.layout import Flag, Layout, leaves, rebuild
from kraftcheck.model.language.system import Action, Conjuncts, Outcome, System
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.traces.render import call

MOST_RAISED = 7  # most records of an event, and most that an epoch rises by, of which a system is told

DOUBTS = ("unclean", "last_known", "from_elr", "over_isr", "completed", "stale_base")
"""What an event says of how it was decided, which no answer tells."""

COUNTS = ("records", "leader_epoch", "partition_epoch")
HEAD = ("refused", "resigned", *DOUBTS, *COUNTS)  # the columns of an answer before those of the state after it


@frozen
class Answer:
    """The answer of Kafka's managers to one request, on ints or on terms.

    Attributes:
        refused, resigned: an error, or an exception that ends the controller; nothing is written then.
        doubts: what is said of each of `DOUBTS` where the rules do not decide as Kafka does.
        records, leader_epoch, partition_epoch: how many records there are, and how often the epochs rose.
        after: what the managers have then.
    """

    refused: Truth
    resigned: Truth
    doubts: Mapping[str, Truth]
    records: Word
    leader_epoch: Word
    partition_epoch: Word
    after: Any


def answer_rows(model: TourModel, questions: Rows, answers: Rows) -> npt.NDArray[np.int64]:
    """Answers of the driver as rows with the columns HEAD, those of doubts 0, and those of the state after."""
    columns, width = model.outputs, model.managed_width
    status = columns.get(answers, "records").astype(np.int64)
    first = columns.width - 2 - width
    silent = status < 0
    none = [np.zeros_like(status)] * len(DOUBTS)
    head = [status == REFUSED, status == RESIGNED, *none, np.where(silent, 0, status)]
    raised = np.where(silent[:, None], 0, answers[:, -2:])
    after = np.where(silent[:, None], questions[:, :width], answers[:, first : first + width])
    return np.concatenate([np.stack(head, axis=1), raised, after], axis=1)


def takes(rows: npt.NDArray[np.int64], before: npt.NDArray[Any], ruled: Any, reports: bool) -> npt.NDArray[np.bool_]:
    """Which answers are steps: those `ruled`, and refused ones where Kafka does something, or the system reports."""
    acts = rows[:, HEAD.index("resigned") : len(HEAD)].any(axis=1) | (rows[:, len(HEAD) :] != before).any(axis=1)
    granted = rows[:, 0] == 0
    taken: npt.NDArray[np.bool_] = np.where(ruled, granted | reports, granted & acts)
    return taken


@define(eq=False)
class Answered:
    """The answer that actions have now, with the name and arguments of the one that is asked."""

    current: tuple[Answer, str, Mapping[str, Any]] | None = None


@frozen
class AnsweredRules(RuleSet):
    """Rules of which the controller's decisions are answers."""

    answered: Answered = field(factory=Answered, eq=False)  # the answer

    def outcome(self, before: Elections, ruled: Outcome) -> Outcome:
        """See `RuleSet.outcome`."""
        assert self.answered.current is not None
        answer, action, arguments = self.answered.current
        return Outcome(answer.after, told(before, ruled, answer, action, arguments))

    def granted(self, ruled: Truth) -> Truth:
        """See `RuleSet.granted`."""
        assert self.answered.current is not None
        return negate(self.answered.current[0].refused)


@define(eq=False)
class AnsweredSystem:
    """A system whose requests to the controller Kafka's managers answer.

    Attributes:
        reports_refusals: whether a refused request is a step; in `elections` it is none.
    """

    model: TourModel  # the requests of the system
    ask: Callable[[Rows], Rows]  # puts questions to the managers, row by row
    system: System = field(init=False)  # the system with their answers
    _layout: Layout = field(init=False)
    _now: Answered = field(factory=Answered)
    _symbols: list[tuple[Graph, Answer, tuple[Term, ...]]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Put answers into the actions."""
        program = self.model.program
        self._layout = Layout(managed_part(managed_name(program.system.name), program.layout.shape))
        rules = AnsweredRules(**asdict(program.setting.rules, recurse=False), answered=self._now)
        setting = evolve(program.setting, rules=rules)
        firsts = dict(zip((kind.name for kind in self.model.kinds), self._firsts(), strict=True))
        kinds = {kind.name: kind for kind in self.model.kinds if kind.rules is not None}
        actions = tuple(
            self._answered(action, kinds[action.name], firsts[action.name]) if action.name in kinds else action
            for action in program.system.actions(setting)
        )
        self.system = evolve(program.system, actions=lambda setting: actions)

    @property
    def reports_refusals(self) -> bool:
        """Whether a refused request is a step."""
        return managed_name(self.model.program.system.name) != "elections"

    def _firsts(self) -> Iterator[int]:
        first = 0
        for kind in self.model.kinds:
            yield first
            first += len(kind.table)

    def variables(self, program: Program) -> tuple[Term, ...]:
        """The variables of an answer, in the order of a row."""
        return self._symbolic(program.graph)[1]

    def values(self, program: Program, before: Any, action: str, arguments: Mapping[str, Any]) -> dict[int, int]:
        """Their values in a step on ints, by index; empty where the action asks nothing."""
        for kind, first in zip(self.model.kinds, self._firsts(), strict=True):
            if kind.name == action and kind.rules is not None:
                _, row = self._put(before, first + kind.calls.index(call(action, arguments)))
                return {v.index: int(value) for v, value in zip(self.variables(program), row, strict=True)}
        return {}

    def _answered(self, action: Action, kind: TourKind, first: int) -> Action:
        def effect(state: Any, **arguments: Any) -> Outcome:
            graph = _graph_of(state)
            if graph is not None:
                return self._outcome(action, state, arguments, self._symbolic(graph)[0])
            _, row = self._put(state, first + kind.calls.index(call(action.name, arguments)))
            return self._outcome(action, state, arguments, self._of_row(row))

        def guard(state: Any, **arguments: Any) -> Conjuncts:
            parts = action.guards(state, arguments)
            own = {name: part for name, part in parts.items() if name not in CHECKED}
            if _graph_of(state) is not None or not all_of(*own.values()):
                return parts
            possible, row = self._put(state, first + kind.calls.index(call(action.name, arguments)))
            before = np.array([leaf for _, leaf in leaves(state)][: self.model.managed_width])
            taken = takes(row[None], before, bool(all_of(*parts.values())), self.reports_refusals)
            return {**own, "Kafka takes it": possible and bool(taken[0])}

        return evolve(action, effect=effect, guard=guard)

    def _put(self, state: Any, number: int) -> tuple[bool, npt.NDArray[np.int64]]:
        """Whether a request can be put to the managers, and the row of their answer."""
        rows: States = np.array([[int(leaf) for _, leaf in leaves(state)]], dtype=np.int8)
        possible, questions = self.model.requests(rows, number)
        return bool(possible[0]), answer_rows(self.model, questions, self.ask(questions))[0]

    def _of_row(self, row: npt.NDArray[np.int64]) -> Answer:
        head = {name: value if name in COUNTS else bool(value) for name, value in zip(HEAD, row.tolist(), strict=False)}
        return _answer(head, self._layout.state(row[len(HEAD) :].tolist()))

    def _symbolic(self, graph: Graph) -> tuple[Answer, tuple[Term, ...]]:
        """An answer of variables of a graph, always the same ones."""
        for known, answer, variables in self._symbols:
            if known is graph:
                return answer, variables
        head = {
            name: graph.variable(f"Kafka's {name}", 0, MOST_RAISED) if name in COUNTS
            else graph.truth_variable(f"Kafka's {name}")
            for name in HEAD
        }  # fmt: skip
        after = [
            graph.truth_variable(f"Kafka's {slot.path}") if isinstance(slot.domain, Flag)
            else graph.variable(f"Kafka's {slot.path}", slot.domain.lo, slot.domain.hi)
            for slot in self._layout.slots
        ]  # fmt: skip
        feed = iter(after)
        answer = _answer(head, rebuild(self._layout.shape, lambda: next(feed)))
        variables = (*head.values(), *after)
        self._symbols.append((graph, answer, variables))
        return answer, variables

    def _outcome(self, action: Action, state: Any, arguments: Mapping[str, Any], answer: Answer) -> Outcome:
        self._now.current = answer, action.name, arguments
        found = action.outcome(state, arguments)
        managed = [leaf for _, leaf in leaves(answer.after)]
        feed = iter([*managed, *[leaf for _, leaf in leaves(found.state)][len(managed) :]])
        return Outcome(rebuild(found.state, lambda: next(feed)), found.event)


def _graph_of(state: Any) -> Graph | None:
    return next((leaf.graph for _, leaf in leaves(state) if isinstance(leaf, Term)), None)


def _answer(head: Mapping[str, Any], after: Any) -> Answer:
    others = {name: value for name, value in head.items() if name not in DOUBTS}
    return Answer(**others, doubts={name: head[name] for name in DOUBTS}, after=after)


def told(
    before: Elections, ruled: Outcome, answer: Answer, action: str, arguments: Mapping[str, Any]
) -> ElectionsEvent:
    """The event of an answer: the rules' where they decide the same, else in doubt as far as registrations leave it."""
    after: Elections = answer.after
    event: ElectionsEvent = ruled.event
    # What Kafka does not write as a change of the partition counts as often as it raises the partition epoch.
    records = answer.partition_epoch if action in STATE_ONLY else answer.records
    same = all_of(
        same_leaves(ruled.state, after), event.records == records,
        event.leader_epoch_bumps == answer.leader_epoch, event.partition_epoch_bumps == answer.partition_epoch,
        any_of(all_of(event.resigned, answer.resigned), negate(any_of(event.resigned, answer.resigned))),
    )  # fmt: skip
    moved = all_of(negate(before.leader == after.leader), after.leader >= 0)
    open_ = dict.fromkeys(DOUBTS, moved)
    open_ |= {"completed": after.adding.plus(after.removing).is_empty(), "stale_base": records > 1}
    seen = {name: all_of(answer.doubts[name], open_[name]) for name in DOUBTS}
    misdirected: Truth = False
    if action == "reassign":
        left = after.replicas.minus(after.removing)
        misdirected = negate(any_of(answer.resigned, left.same(arguments["target"])))
    return evolve(
        event, records=records, leader_epoch_bumps=answer.leader_epoch,
        partition_epoch_bumps=answer.partition_epoch, resigned=answer.resigned, misdirected=misdirected,
        **{name: choose(same, getattr(event, name), value) for name, value in seen.items()},
    )  # fmt: skip
