"""The score of operator mutants, per system: from outcomes to data, to a file, and as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import asdict, evolve, field, frozen

from kraftcheck.ci.systems import report
from kraftcheck.model.language.words import BRANCH, CONJUNCT, DISJUNCT
from kraftcheck.properties.register.mutants import JUDGEMENTS, OPERATOR_JUDGEMENTS, Judgement
from kraftcheck.solvers.mutants.campaign import Campaign
from kraftcheck.solvers.mutants.explore import GoalLost, Killed, LeavesDomain, MutantOutcome, Refused, Same, Survived
from kraftcheck.solvers.mutants.mutate import GUARD
from kraftcheck.solvers.mutants.source.names import ROOT

COMMAND = "explain --operators"


@frozen
class Alive:
    """A mutant that nothing kills in its system.

    Attributes:
        name: the mutant.
        before, after: what it changes.
        cut: why it is undecided; empty where every property holds and every goal is reached.
        elsewhere: the system whose properties kill it, if there is one; with its scope where that is a further one.
    """

    name: str
    before: str
    after: str
    cut: str = ""
    elsewhere: str = ""

    @property
    def group(self) -> str:
        """The module and the function, as judgements name them."""
        group, kind, _ = self.name.rsplit(":", 2)
        return group.rpartition(" ")[2] if kind == GUARD else f"{ROOT}{group}"

    @property
    def is_condition(self) -> bool:
        """Whether a condition is dropped; the load-bearing table has it too."""
        return self.name.split(":")[-2] in (GUARD, BRANCH, CONJUNCT, DISJUNCT)


@frozen
class SystemScore:
    """What became of the operator mutants that a system meets.

    Attributes:
        system, title: its name; system, scope and rules in words.
        distinct: states without a mutant.
        refused: mutants whose rules cannot be traced.
        left: those that take a field out of its domain, and break nothing else.
        same: those with the same program.
        without_effect: those that change no state and no step of the scope.
        killed: by property, the mutants that it kills.
        lost: by goal, the mutants that lose it.
        alive: the others.
        sample, seed: how many mutants of the model were drawn for it, and how; a sample of 0 is all.
    """

    system: str
    title: str
    distinct: int
    refused: int
    left: int
    same: int
    without_effect: int
    killed: Mapping[str, int]
    lost: Mapping[str, int]
    alive: tuple[Alive, ...] = field(factory=tuple)
    sample: int = 0
    seed: int = 0

    @property
    def mutants(self) -> int:
        """How many there are."""
        parts = (self.refused, self.left, self.same, self.without_effect, len(self.alive))
        return sum((*parts, *self.killed.values(), *self.lost.values()))


def score(name: str, title: str, found: Campaign, sample: int = 0, seed: int = 0) -> SystemScore:
    """The score of a campaign; the arguments are as the attributes."""
    kinds = Counter(_kind(result) for _, result in found.outcomes)
    killed = Counter(result.by[0] for _, result in found.outcomes if isinstance(result, Killed))
    lost = Counter((*r.goals, *r.idle)[0] for _, r in found.outcomes if isinstance(r, GoalLost))
    alive = tuple(
        Alive(one.name, one.before, one.after, getattr(result, "cut", ""))
        for one, result in found.outcomes if _kind(result) == "alive"
    )  # fmt: skip
    return SystemScore(
        name, title, found.distinct, kinds["refused"], kinds["left"], kinds["same"], kinds["none"],
        dict(sorted(killed.items())), dict(sorted(lost.items())), alive, sample, seed,
    )  # fmt: skip


def _kind(result: MutantOutcome) -> str:
    match result:
        case Refused():
            return "refused"
        case LeavesDomain():
            return "left"
        case Same():
            return "same"
        case Survived("none"):
            return "none"
        case Killed() | GoalLost():
            return "killed"
    return "alive"


def alive(campaigns: Iterable[Campaign]) -> set[str]:
    """The names of the mutants that live in one, and that none kills."""
    results = [(one.name, _kind(result)) for found in campaigns for one, result in found.outcomes]
    return {name for name, kind in results if kind == "alive"} - {name for name, kind in results if kind == "killed"}


def with_others(scores: Sequence[SystemScore], campaigns: Mapping[str, Campaign]) -> list[SystemScore]:
    """The scores, where a mutant that lives names a system that kills it."""
    killers: dict[str, str] = {}
    for system, found in campaigns.items():
        for mutant, result in found.outcomes:
            if _kind(result) == "killed":
                killers.setdefault(mutant.name, system)
    return [
        evolve(one, alive=tuple(evolve(row, elsewhere=killers.get(row.name, "")) for row in one.alive))
        for one in scores
    ]


def judgement(
    system: str, row: Alive, judgements: Sequence[Judgement] = OPERATOR_JUDGEMENTS
) -> Judgement | None:  # fmt: skip
    """What people said of exactly this change, where it lives; that a property is missing leaves it open.

    Of a condition that is dropped they said it in the load-bearing table.
    """
    of_conditions = JUDGEMENTS if row.is_condition else ()
    judged = (
        one for one in (*of_conditions, *judgements)
        if row.is_condition or (one.part and one.change)
    )  # fmt: skip
    return next((one for one in judged if one.about(system, row.group, row.before, row.after)), None)


def text(scores: Sequence[SystemScore]) -> str:
    """The scores as a JSON document, a line for each mutant that lives."""
    systems = []
    for one in scores:
        values = asdict(one)
        rows = [_row(row) for row in values.pop("alive")]
        head = json.dumps(values).removesuffix("}")
        systems.append(f'{head}, "alive": [' + "".join(f"\n  {row}," for row in rows).removesuffix(",") + "]}")
    head = json.dumps({"version": report.DOCUMENT_VERSION, "command": COMMAND, "versions": report.versions()})
    return head.removesuffix("}") + ', "systems": [\n' + ",\n".join(systems) + "\n]}\n"


def _row(values: Mapping[str, str]) -> str:
    return json.dumps({name: value for name, value in values.items() if value})


def listed(one: SystemScore) -> Iterator[str]:
    """The mutants that live, as lines of text."""
    for row in one.alive:
        judged = judgement(one.system, row)
        why = f"undecided: {row.cut}" if row.cut else f"see {row.elsewhere}" if row.elsewhere else "open"
        yield f"{row.name}\n    {row.before}  ->  {row.after}\n    {f'{judged.kind}: {judged.why}' if judged else why}"
