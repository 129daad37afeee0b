"""The report of a tour, as text for people."""

from __future__ import annotations

from typing import Any

from attrs import asdict, define, evolve, field, frozen

from kraftcheck.ci.conformance.kafka.columns import answer_lines, named

MOST_CAUSES = 8  # how many causes are shown


@frozen
class ShortestDifference:
    """Differences in the same columns of the same action: how many transitions, and the shortest sequence to one."""

    action: str  # the action that differs
    columns: tuple[str, ...]  # names of what differs
    transitions: int  # how many differ so
    sequence: tuple[str, ...]  # action by action from a new partition; the last one differs
    # expected, actual: Kafka's answer and the model's, as far as they differ
    expected: dict[str, Any]
    actual: dict[str, Any]


@define
class Differences:
    """The transitions whose answers differ, with the shortest of each action and columns."""

    transitions: set[tuple[Any, int]] = field(factory=set)  # that differ so
    _shortest: dict[tuple[str, tuple[str, ...]], ShortestDifference] = field(factory=dict)

    def note(self, shown: ShortestDifference) -> None:
        """Count a difference with those of its action and columns, and keep the shortest."""
        known = self._shortest.get((shown.action, shown.columns), shown)
        shortest = min(known, shown, key=lambda one: len(one.sequence))
        count = known.transitions + (known is not shown)
        self._shortest[shown.action, shown.columns] = evolve(shortest, transitions=count)

    def shown(self) -> tuple[ShortestDifference, ...]:
        """Those that most transitions show."""
        return tuple(sorted(self._shortest.values(), key=lambda one: -one.transitions)[:MOST_CAUSES])


@frozen
class TourDeath:
    """A sequence that killed the process with Kafka's managers."""

    reason: str  # how it ended
    sequence: tuple[str, ...]  # action by action from a new partition; the last one killed it
    alone: bool  # whether it kills a process that was asked nothing before


@frozen
class TourRow:
    """A tour of one release."""

    version: str
    system: str
    scope: str
    sampled: bool  # whether the states are drawn
    # states, reachable: of the explored graph: states, and transitions that the model can take
    states: int
    reachable: int
    # silent, refused: those that ask nothing of Kafka's managers, and that are refused before they are asked
    silent: int
    refused: int
    # asked, impossible: of the others as many as were looked at, all or those of drawn states; how many of them cannot
    # be put to the managers
    asked: int
    impossible: int
    executed: int  # transitions whose question was put to managers in their state
    # walks, steps, unbroken: shortest paths that were taken from a new partition, the steps of them that ask something,
    # and how many of these found the managers in the state that the rules foretold
    walks: int
    steps: int
    unbroken: int
    actions: tuple[str, ...]  # those of which a transition was executed
    missed: tuple[str, ...]  # actions that ask something and can happen, of which none was executed
    differing: int  # transitions whose records or state after differ
    seconds: float
    shown: tuple[ShortestDifference, ...]
    # steps that killed a process; what it would have been asked after them was not asked
    deaths: tuple[TourDeath, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether Kafka's managers differ from the model, or end where it goes on."""
        return bool(self.differing or self.deaths)

    def document(self) -> dict[str, Any]:
        """The row as plain values."""
        return {**asdict(self), "share": self.share}

    @property
    def share(self) -> float:
        """The share of the reachable transitions that was executed on Kafka's managers."""
        return self.executed / self.reachable


def tour_lines(row: TourRow, rules: str) -> list[str]:
    """The tour for a reader."""
    extent = "a sample of the states" if row.sampled else "every state"
    among = f"of {row.asked:,} of drawn states" if row.sampled else f"of the other {row.asked:,}"
    classes, start = ("image classes", "an empty image") if row.system == "images" else ("managers", "a new partition")
    text = [
        f"Kafka {row.version} tour of {row.system} at {row.scope}, {extent}: {row.states:,} states, "
        f"{row.reachable:,} reachable transitions",
        f"  {row.silent:,} ask nothing of the {classes}, {row.refused:,} are refused before they are asked; "
        f"{among}, {row.impossible:,} cannot be put to them",
        f"  executed on Kafka's {classes}: {row.executed:,} ({row.share:.2%}), each in its state",
        f"  walks from {start}: {row.walks:,} with {row.steps:,} steps, {row.unbroken:,} of them in the state "
        f"that the rules foretell, {row.seconds:.0f} s",
        f"{rules}: {row.differing:,} transitions differ",
    ]
    if row.missed:
        text.insert(-1, f"  not executed at all: {', '.join(row.missed)}")
    for cause in row.shown:
        text.append(f"  {cause.transitions:,} of {cause.action} differ in {', '.join(cause.columns)}; the shortest:")
        text += [f"    {number}. {call}" for number, call in enumerate(cause.sequence, 1)]
        text += answer_lines(named(cause.expected), named(cause.actual))
    for death in row.deaths:
        text.append(f"  the process died, and the rest was not asked: {death.reason}")
        text.append("  it died of the last of these steps" + ("" if death.alone else ", not without others before"))
        text += [f"    {number}. {call}" for number, call in enumerate(death.sequence, 1)]
    if sum(cause.transitions for cause in row.shown) < row.differing:
        text.append("  and others")
    return text
