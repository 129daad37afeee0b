"""The load-bearing table: a row for each mutant, with what it breaks in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.systems.subject import Subject
from kraftcheck.model.language.words import BRANCH, CONJUNCT
from kraftcheck.properties.mutants.survivors import JUDGEMENTS, Judgement
from kraftcheck.properties.mutants.tables import NAMESAKES
from kraftcheck.solvers.mutants.explore import Explanation
from kraftcheck.solvers.mutants.mutate import ALWAYS, GUARD, Mutant
from kraftcheck.solvers.mutants.outcome import GoalLost, Killed, LeavesDomain, Outcome, Survived, Undecided
from kraftcheck.solvers.mutants.sites import first_sentence
from kraftcheck.solvers.program.verdict import DEADLOCK

WORDS: Mapping[type, str] = {
    Killed: "killed", LeavesDomain: "leaves its domain", GoalLost: "goal lost", Survived: "survives",
    Undecided: "undecided",
}  # fmt: skip
"""Name of each outcome in tables and documents."""

SHORT = 3
"""Traces of at most so many steps are told in full."""

NO_EFFECT, STEPS_ONLY, ELSEWHERE, OPEN = "no effect", "steps only", "elsewhere", "not judged"
COMPUTED = (NO_EFFECT, STEPS_ONLY, ELSEWHERE)
"""What the counts and the other systems say of survivors; the rest is judged in `properties.mutants.survivors`."""


@frozen
class Row:
    """A mutant and what became of it.

    Attributes:
        system: name of the system.
        scope: where the outcome was found, as the user names it.
        mutant, outcome: what was changed, and what came of it.
        sentences: the claims of the system by id.
        judgement: for a survivor what that means, and why; None for others.
    """

    system: str
    scope: str
    mutant: Mutant
    outcome: Outcome
    sentences: Mapping[str, str]
    judgement: tuple[str, str] | None = None

    @property
    def word(self) -> str:
        """The outcome in a word."""
        return WORDS[type(self.outcome)]

    def change(self) -> str:
        """What the mutant does, in words."""
        if self.mutant.how == BRANCH:
            return "taken always" if self.mutant.change == ALWAYS else "taken never"
        return {GUARD: "dropped", CONJUNCT: "condition dropped"}.get(self.mutant.how, "alternative dropped")

    def told(self) -> str:
        """What the mutant breaks, in words."""
        match self.outcome:
            case Killed(by, steps, shortest):
                also = f" (also {', '.join(by[1:])})" if by[1:] else ""
                return f"{by[0]} in {_length(steps, shortest)}{also}: {self.sentences[by[0]]}"
            case LeavesDomain(by, steps, shortest):
                return f"{', '.join(by)} takes a value that it cannot have, in {_length(steps, shortest)}"
            case GoalLost((), idle):
                return f"{idle[0]} has no case any more: {self.sentences[idle[0]]}"
            case GoalLost(goals, _):
                more = f", nor {len(goals) - 1} other goals" if len(goals) > 1 else ""
                return f"{goals[0]} is not reached any more{more}: {self.sentences[goals[0]]}"
            case Undecided(cut):
                return f"undecided: {cut}"
        kind, why = self.judgement or (OPEN, "")
        return f"nothing; {kind}: {why}" if why else f"nothing; {kind}"


def _length(steps: Sequence[str], shortest: bool) -> str:
    text = f"{'' if shortest else 'at most '}{len(steps)} step{'' if len(steps) == 1 else 's'}"
    return f"{text}, {' '.join(steps)}" if len(steps) <= SHORT else text


def rows(chosen: Subject, found: Explanation, scope: str) -> list[Row]:
    """The rows of an explanation, survivors not judged yet."""
    claims = chosen.system.properties(chosen.setting)
    sentences = {claim.id: claim.sentence for claim in claims}
    sentences[DEADLOCK] = "a state that is not quiescent has a successor"
    return [Row(chosen.name, scope, mutant, outcome, sentences) for mutant, outcome in found.outcomes]


def identity(row: Row) -> tuple[str, ...]:
    """What a mutant is known by among systems: those that share a rule share its mutants."""
    apart = row.mutant.how == GUARD and row.mutant.group in NAMESAKES.get(row.system, ())
    return (row.system, *row.mutant.key) if apart else row.mutant.key


def combined(first: Sequence[Row], further: Iterable[Row]) -> list[Row]:
    """Rows, where what a further scope kills replaces what survived before."""
    better = {row.mutant.key: row for row in further if not isinstance(row.outcome, Survived | Undecided)}
    return [better.get(r.mutant.key, r) if isinstance(r.outcome, Survived | Undecided) else r for r in first]


def judged(listed: Sequence[Row]) -> list[Row]:
    """The rows, survivors judged: by data, else by what other systems or the counts say."""
    carried = {identity(row): row for row in listed if not isinstance(row.outcome, Survived | Undecided)}
    return [
        evolve(row, judgement=_judgement(row, carried.get(identity(row))))
        if isinstance(row.outcome, Survived) else row
        for row in listed
    ]  # fmt: skip


def _judgement(row: Row, elsewhere: Row | None) -> tuple[str, str]:
    effect = row.outcome.effect if isinstance(row.outcome, Survived) else ""
    if elsewhere is not None:
        return ELSEWHERE, f"see {elsewhere.system}"
    if effect == "none":
        return NO_EFFECT, ""
    found = next(judgements_of(row), None)
    if found is not None:
        return found.kind, found.why
    return (STEPS_ONLY, "") if effect == "transitions" else (OPEN, "")


def judgements_of(row: Row) -> Iterator[Judgement]:
    """The judgements that are about a row."""
    return (one for one in JUDGEMENTS if one.about(row.system, row.mutant.group, row.mutant.part, row.mutant.change))


def grouped(listed: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each action, then of each rule, in the order of the trace."""
    order: dict[str, int] = {}
    for row in listed:
        order.setdefault(row.mutant.group, len(order))
    ranked = sorted(listed, key=lambda row: (row.mutant.how != GUARD, order[row.mutant.group], row.mutant.number))
    for group, members in groupby(ranked, key=lambda row: row.mutant.group):
        yield group, list(members)


def heading(group: str, members: Sequence[Row]) -> tuple[str, str]:
    """What a group is called, and what its rule does."""
    if members[0].mutant.how == GUARD:
        return f"action {group}", ""
    module, _, rule = group.partition(":")
    line = min(row.mutant.line for row in members)
    path = module.removeprefix("kraftcheck.").replace(".", "/")
    return f"{rule} ({path}.py:{line})", first_sentence(module, rule)


def lines(listed: Sequence[Row]) -> Iterator[str]:
    """The table as text."""
    for group, members in grouped(listed):
        title, sentence = heading(group, members)
        yield f"\n{title}" + (f": {sentence}" if sentence else "")
        for row in members:
            yield f"  {row.mutant.part}  [{row.change()}]"
            yield f"      {row.told()}"


def counts(listed: Sequence[Row]) -> dict[str, int]:
    """How many rows have each outcome, absent ones left out."""
    words = [row.word for row in listed]
    return {word: words.count(word) for word in WORDS.values() if word in words}


def document(row: Row, met: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """A row as plain values."""
    mutant, outcome = row.mutant, row.outcome
    known: dict[str, Any] = {
        "group": mutant.group, "kind": mutant.how, "condition": mutant.part, "call": mutant.call,
        "change": mutant.change, "line": mutant.line or None, "actions": list(met.get(mutant.number, ())),
        "scope": row.scope, "outcome": row.word,
    }  # fmt: skip
    match outcome:
        case Killed(by, steps, shortest) | LeavesDomain(by, steps, shortest):
            known |= {"by": list(by), "depth": len(steps), "steps": list(steps), "shortest": shortest}
        case GoalLost(goals, idle):
            known |= {"goals": list(goals), "idle": list(idle)}
        case Undecided(cut):
            known |= {"cut": cut}
        case Survived(effect):
            kind, why = row.judgement or (OPEN, "")
            known |= {"effect": effect, "judgement": kind, "why": why}
    return known
