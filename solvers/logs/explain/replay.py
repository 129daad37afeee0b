"""The replay of a whole log: every batch is explained, and the properties are checked on every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import frozen

from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import Explanation, explain
from kraftcheck.solvers.logs.explain.judge import LogViolation, judge
from kraftcheck.solvers.logs.explain.state import Batch, State, Undone, effective, elected, empty, load

HEADER, FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"
"""The control records before and after a snapshot's records."""


@frozen
class ReplayedBatch:
    """The replay of one batch.

    Attributes:
        batch: the batch.
        explanation: None for what is taken as it is: a snapshot's records, and what the quorum wrote for itself.
        violations: the properties that do not hold after it, each once a partition.
        state: the state after it.
        rules: the rule set that it was explained with.
        undone: why its records have not happened; None for those that have.
    """

    batch: Batch
    explanation: Explanation | None
    violations: tuple[LogViolation, ...]
    state: State
    rules: RuleSet
    undone: Undone | None = None


def replay_log(
    batches: Iterable[Batch], rules: Callable[[int | None], RuleSet], settings: Settings | None = None
) -> Iterator[ReplayedBatch]:
    """Replay a log; it ends early after a batch that cannot be replayed.

    Args:
        batches: in the order of their offsets.
        rules: the rule set for the highest metadata version that the controller supports, None while the log names
            none.
        settings: the controller's static configuration.

    Raises:
        EntryError: when a record's fields are not those of its kind.
        ReplayError: when a snapshot's records do not fit together.
    """
    state, in_snapshot = empty(Controller(settings=settings or Settings())), False
    for batch in effective(batches):
        rule_set = rules(state.supported_level())
        if isinstance(batch, Undone):
            state = state.at(batch.batch.last_offset + 1)
            yield ReplayedBatch(batch.batch, None, (), state, rule_set, batch)
            continue
        assert isinstance(batch, Batch)  # none of those given is compact
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            in_snapshot = (in_snapshot or HEADER in kinds) and FOOTER not in kinds
            state = elected(state, batch)
            yield ReplayedBatch(batch, None, (), state, rule_set)
        elif in_snapshot:
            state = load(state.at(batch.base_offset), batch, rule_set)
            yield ReplayedBatch(batch, None, (), state, rule_set)
        else:
            explanation = explain(state, batch, rule_set)
            state = explanation.after
            yield ReplayedBatch(batch, explanation, tuple(violations_of(explanation, rule_set)), state, rule_set)
            if explanation.replay_error:
                return


def violations_of(explanation: Explanation, rules: RuleSet) -> Iterator[LogViolation]:
    """Violations after each event; of what no event explains, and of a transaction, after all of it.

    A transaction is one step, which begins before its first record and ends with its last. It shows no single events,
    so only invariants are judged.
    """
    states, reported = explanation.states, set()
    spans = [(step.start, step.end, step.candidate) for step in explanation.steps]
    if not explanation.explained and explanation.prefix < len(states) - 1:
        spans = [*spans, (explanation.prefix, len(states) - 1, None)]  # type: ignore[list-item]
    for start, end, candidate in spans:
        if end >= len(states):
            return
        if states[end].transaction is not None:
            continue
        before, records, transaction = states[start], explanation.records[start:end], states[start].transaction
        if transaction is not None:
            before, records, candidate = transaction.before, (*transaction.records(), *records), None  # type: ignore[assignment]
        for violation in judge(before.controller, states[end].controller, records, candidate, rules):
            if violation not in reported:
                reported.add(violation)
                yield violation
