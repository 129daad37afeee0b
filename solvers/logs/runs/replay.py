"""A log in stretches: what is known of their batches is replayed in runs, the others one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kraftcheck.model.controller.state import Settings
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Compact
from kraftcheck.solvers.logs.explain.judge import claims
from kraftcheck.solvers.logs.explain.state import State, known
from kraftcheck.solvers.logs.memo.ask import BROKER_RECORDS, BrokerEvent, broker_events
from kraftcheck.solvers.logs.memo.replay import QuickReplay
from kraftcheck.solvers.logs.memo.situation import Situation, Step
from kraftcheck.solvers.logs.runs.runs import Run, Runner
from kraftcheck.solvers.logs.runs.stretches import Stretch


class StretchReplay(QuickReplay):
    """The replay of a log, or of those of its partitions that it owns, in stretches."""

    def __init__(self, rules: Callable[[int | None], RuleSet], settings: Settings | None = None) -> None:
        super().__init__(rules, settings)
        self._claims: tuple[RuleSet | None, int] = (None, 0)
        self._runner = Runner(self.owns)

    def owns(self, key: bytes) -> bool:
        """Whether the changes of a partition are replayed."""
        return True

    @property
    def state(self) -> State:
        """The state after the batches so far."""
        self._runner.settle()
        return super().state

    def _along(self, stretch: Stretch) -> Iterator[Run | Compact]:
        """What becomes of the batches of a stretch; a batch itself where it is to be replayed in another way."""
        at, runner = 0, self._runner
        while at < len(stretch):
            if stretch.other is None and not self._in_snapshot and not self._leaving:
                run = runner.run(self._ledger, stretch, at, self._judged())
                if run.last > at:
                    at = run.last
                    yield run
                    continue
                if runner.learn(stretch, at, partial(self._single, stretch)):
                    continue
            happened = self._happening(stretch) if stretch.other is not None else None
            if happened is not None:
                yield happened
            else:
                runner.settle()
                yield stretch.batch(at)
            at += 1

    def _single(self, stretch: Stretch, at: Situation, record: int) -> Step:
        """What a change of a stretch comes to by itself."""
        body = stretch.names.bodies[stretch.bodies[record]]
        step = at.changes.get(body)
        if step is None:
            step = self._ask_single(at, body, stretch.entry, record)
        return step

    def _happening(self, stretch: Stretch) -> Run | None:
        """A batch with a record of a broker as one event, if all that it comes to is known or can be kept."""
        assert stretch.other is not None
        record, runner = known(stretch.other), self._runner
        if not isinstance(record, BROKER_RECORDS) or self._ledger.odd or self._in_snapshot:
            return None
        if any(self._leaving.values()):
            return None
        runner.look(self._ledger, stretch)
        base = self._ledger.base.at(stretch.base_offset)
        changes_first = len(stretch.keys) > 1 and stretch.other.offset != stretch.base_offset
        visits = []
        try:
            for event in broker_events(base, record, changes_first, self._rules):
                number = self._tokens.setdefault(event.identity, len(self._tokens))
                ask = partial(self._of_event, stretch, event, number)
                found = runner.visit(
                    stretch, event.broker, number + 1, event.visits_leaderless, event.visits_all, ask
                )
                visits += [] if found is None else [(event, found)]
        except LookupError:
            return None
        if not visits:
            return None
        fits = tuple((event.name, event.action) for event, _ in visits)
        run = runner.happen(stretch, visits[0][1], fits, self._judged())
        self._ledger.base = base.at(stretch.other.offset).after(record, self._rules)
        self._look_for_leaving_in_runs()
        return run

    def _of_event(self, stretch: Stretch, event: BrokerEvent, number: int, at: Situation, record: int) -> Step:
        """What an event comes to in a situation, with a change of a stretch or without."""
        steps = at.events.setdefault(number, {})
        body = None if record < 0 else stretch.names.bodies[stretch.bodies[record]]
        step = steps.get(body)
        if step is None:
            step = steps[body] = self._ask_event(at, event, body, stretch.entry, record)
        return step

    def _look_for_leaving_in_runs(self) -> None:
        """As `_look_for_leaving`; the ledger is brought up to date only where some partition would change."""
        leaving = self._shutting_down()
        if any(self._runner.goes_on(b, partial(self._goes_on, broker=b)) for b in leaving):
            self._runner.settle()
            self._look_for_leaving()
        else:
            self._leaving = {broker: set() for broker in leaving}

    def _judged(self) -> int:
        """How many properties are checked; asked of the rules once, they are long to compare."""
        if self._claims[0] is not self._rules:
            self._claims = (self._rules, len(claims(self._rules)))
        return self._claims[1]


__all__ = ["StretchReplay"]
