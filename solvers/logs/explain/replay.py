"""A whole log: every batch explained, every step judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import frozen

from kraftcheck.model.controller.state import Controller, Settings
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch
from kraftcheck.solvers.logs.explain.explain import Explanation, explain
from kraftcheck.solvers.logs.explain.judge import Violation, judge
from kraftcheck.solvers.logs.explain.state import METADATA_VERSION, State, elected, empty, load

HEADER, FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"
"""What the quorum writes before and after a snapshot's records."""


@frozen
class Replayed:
    """What became of one batch.

    Attributes:
        batch: the batch.
        explanation: None for what is taken as it is: a snapshot's records, and what the quorum wrote for itself.
        violations: the properties that do not hold after it, each once a partition.
        state: the state after it.
        rules: the rule set that it was explained with.
    """

    batch: Batch
    explanation: Explanation | None
    violations: tuple[Violation, ...]
    state: State
    rules: RuleSet


def replay_log(
    batches: Iterable[Batch], rules: Callable[[int | None], RuleSet], settings: Settings | None = None
) -> Iterator[Replayed]:
    """Replay a log; it ends early after a batch that cannot be replayed.

    Args:
        batches: in the order of their offsets.
        rules: the rule set for a level of the metadata version, None while the log names none.
        settings: the controller's static configuration.

    Raises:
        EntryError: when a record's fields are not those of its kind.
        ReplayError: when a snapshot's records do not fit together.
    """
    state, in_snapshot = empty(Controller(settings=settings or Settings())), False
    for batch in batches:
        chosen = rules(state.levels.get(METADATA_VERSION))
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            in_snapshot = (in_snapshot or HEADER in kinds) and FOOTER not in kinds
            state = elected(state, batch)
            yield Replayed(batch, None, (), state, chosen)
        elif in_snapshot:
            state = load(state.at(batch.base_offset), batch, chosen)
            yield Replayed(batch, None, (), state, chosen)
        else:
            found = explain(state, batch, chosen)
            state = found.after
            yield Replayed(batch, found, tuple(judged(found, chosen)), state, chosen)
            if found.broken:
                return


def judged(found: Explanation, rules: RuleSet) -> Iterator[Violation]:
    """Violations after each event; of what no event explains, after all of it."""
    states, told = found.states, set()
    spans = [(step.start, step.end, step.guess) for step in found.steps]
    if not found.explained and found.prefix < len(states) - 1:
        spans = [*spans, (found.prefix, len(states) - 1, None)]  # type: ignore[list-item]
    for start, end, guess in spans:
        if end >= len(states):
            return
        before, after = states[start].controller, states[end].controller
        for violation in judge(before, after, found.records[start:end], guess, rules):
            if violation not in told:
                told.add(violation)
                yield violation
