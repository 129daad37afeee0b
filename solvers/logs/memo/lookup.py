"""A batch whose explanation was looked up: what became of it, record by record."""

from __future__ import annotations

from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Compact
from kraftcheck.solvers.logs.explain.judge import Violation
from kraftcheck.solvers.logs.memo.ledger import Ledger, Slot
from kraftcheck.solvers.logs.memo.situation import TOPIC, Guessed, Step

NOT_READ = Guessed("not read by replica logic", "")
"""What stands for a record that replica logic does not read."""

Move = tuple[bytes, Slot]
"""A partition and what it is after a record."""


class Quick:
    """What became of one batch that was looked up.

    Attributes:
        batch: the batch.
        count: how many shortest explanations there are.
        steps: of each record what it comes to, None for one that is not read; of an event of a broker the event.
        moves: of each record the partition that it changes and its state after it, None of others.
        violations: the properties that do not hold after it.
        rules: the rule set.
    """

    __slots__ = ("_ledger", "batch", "count", "moves", "rules", "steps", "violations")

    def __init__(
        self, batch: Compact, count: int, steps: list[Step | None] | Guessed, moves: list[Move | None],
        violations: tuple[Violation, ...], rules: RuleSet, ledger: Ledger,
    ) -> None:  # fmt: skip
        self.batch, self.count, self.steps, self.moves = batch, count, steps, moves
        self.violations, self.rules, self._ledger = violations, rules, ledger

    def guessed(self) -> list[Guessed]:
        """The events of the first explanation, with TOPIC where a topic is named."""
        if isinstance(self.steps, Guessed):
            return [self.steps]
        return [NOT_READ if step is None or step.guessed is None else step.guessed for step in self.steps]

    def names(self) -> list[str]:
        """The events in words."""
        found = self.guessed()
        if isinstance(self.steps, Guessed):
            return [found[0].name]
        keys = (None if move is None else move[0] for move in self.moves)
        pairs = zip(found, keys, strict=True)
        return [guess.name if key is None else in_words(guess, self.partition(key)) for guess, key in pairs]

    def partition(self, key: bytes) -> tuple[str, int]:
        """Topic and index of a partition; asked before the next batch is replayed."""
        return self._ledger.topic(key), self._ledger.place(key)[1]


def in_words(guess: Guessed, place: tuple[str, int]) -> str:
    """An event with the topic and index that it is about."""
    return guess.name.replace(f"{TOPIC}-0", f"{place[0]}-{place[1]}")
