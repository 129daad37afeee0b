"""Counts of the actions, errors and goals that occurred in a run: a run without the demanded ones is vacuous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attrs import define, field

from kraftcheck.solvers.program.verdict import Vacuous


class VacuousRun(AssertionError):
    """Examples that never reached something they had to; what they did not refute says little.

    Attributes:
        verdicts: one for each action, error or goal that never occurred.
    """

    def __init__(self, verdicts: tuple[Vacuous, ...], counts: str) -> None:
        super().__init__(f"never reached: {', '.join(v.goal for v in verdicts)}\n{counts}")
        self.verdicts = verdicts


@define
class Tally:
    """Counts over all examples of a run.

    Attributes:
        actions, errors, goals: what has to occur at least once.
        examples: runs from an initial state.
        counts: occurrences, by what kind of thing it is and its name.
        cut: steps that a bound cut, by field.
    """

    actions: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    examples: int = 0
    counts: Counter[tuple[str, str]] = field(factory=Counter)
    cut: Counter[str] = field(factory=Counter)

    def add_action(self, name: str) -> None:
        """An action was taken."""
        self.counts["action", name] += 1

    def add_error(self, name: str) -> None:
        """An error code was returned."""
        self.counts["error", name] += 1

    def add_goals(self, goals: Iterable[str]) -> None:
        """Goals were shown."""
        self.counts.update(("goal", goal) for goal in goals)

    def missing(self) -> tuple[Vacuous, ...]:
        """A vacuous verdict for each demanded item that did not occur."""
        required = [("action", name) for name in self.actions]
        required += [("error", name) for name in self.errors]
        required += [("goal", name) for name in self.goals]
        return tuple(Vacuous(f"{kind} {name}") for kind, name in required if not self.counts[kind, name])

    def lines(self) -> list[str]:
        """The counts, a line for each kind of thing."""
        lines = [f"{self.examples:,} examples"]
        for kind in ("action", "error", "goal"):
            counts = sorted((name, count) for (of, name), count in self.counts.items() if of == kind)
            if counts:
                lines.append(f"{kind}s: " + ", ".join(f"{name} {count:,}" for name, count in counts))
        lines += [f"bound on {path} cut {count:,} steps" for path, count in sorted(self.cut.items())]
        return lines

    def verify(self) -> None:
        """Refuse a run that shows too little; raises VacuousRun naming what never occurred."""
        missing = self.missing()
        if missing or not self.examples:
            raise VacuousRun(missing or (Vacuous("any example"),), "\n".join(self.lines()))
