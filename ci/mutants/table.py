"""The load-bearing table: a row for each mutant, with what it breaks, and outcomes in a file to go on with."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from kraftcheck.ci.dataset.values import (
    Reader,
    as_it_is,
    boolean,
    listed,
    mapped,
    matching,
    one_of,
    optional,
    read_fields,
    shown,
    whole,
)
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.report import steps_text
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import parse_json, read_bytes, read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import BRANCH, CONJUNCT
from kraftcheck.model.visible import visible
from kraftcheck.properties.register.mutants import JUDGEMENTS, LEFT, NAMESAKES, Judgement
from kraftcheck.solvers.mutants.explore import (
    GoalLost,
    Killed,
    LeavesDomain,
    MutantExplanation,
    MutantOutcome,
    Refused,
    Survived,
    Undecided,
)
from kraftcheck.solvers.mutants.mutate import ALWAYS, GUARD, Mutant, first_sentence
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.verdict import DEADLOCK

Row = Mapping[str, Any]
MOST_BYTES = 1 << 28

TEXT = matching(re.compile(".{0,100000}", re.DOTALL))
TEXTS = listed(TEXT, 1 << 12)


def _some(value: Any) -> tuple[str, ...]:
    if not (texts := TEXTS(value)):
        raise ValueError("takes one text at least")
    return texts


_BROKEN = {"by": _some, "steps": TEXTS, "shortest": boolean}
KINDS: Mapping[str, tuple[type, Mapping[str, Reader[Any]]]] = {
    "Killed": (Killed, _BROKEN), "LeavesDomain": (LeavesDomain, _BROKEN),
    "GoalLost": (GoalLost, {"goals": TEXTS, "idle": TEXTS}), "Survived": (Survived, {"effect": TEXT}),
    "Undecided": (Undecided, {"cut": TEXT}), "Refused": (Refused, {"why": TEXT}),
}  # fmt: skip
_OUTCOME_ROW: Mapping[str, Reader[Any]] = {
    "right": TEXT, "mutant": TEXT, "whole": listed(TEXT, 2), "says": listed(optional(TEXT), 2),
    "limit": whole(1, 1 << 62), "kind": one_of(*KINDS), "of": as_it_is,  # read with its kind
}  # fmt: skip


def outcome_of(kind: type, values: Mapping[str, Any]) -> MutantOutcome:
    """An outcome from its values; raises ValueError for a goal that is lost and is none."""
    outcome: MutantOutcome = kind(**values)
    if isinstance(outcome, GoalLost) and not (outcome.goals or outcome.idle):
        raise ValueError("it names no goal that is lost")
    return outcome


@define
class Outcomes:
    """The outcomes in a file."""

    path: Path | None  # the file; None: kept for this run only
    limit: int  # most states of a mutant: what was cut by a lower one is asked again
    _rows: dict[tuple[str, str], list[Row]] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        """Read what is there; raises Refusal for a file that is none of these."""
        if self.path is None or not self.path.exists():
            return
        for number, line in enumerate(read_bytes(self.path, MOST_BYTES).splitlines(), start=1):
            place = f"{self.path}:{number}"
            try:
                row = read_fields(parse_json(place, line), _OUTCOME_ROW)
                kind, readers = KINDS[row["kind"]]
                row["of"] = outcome_of(kind, read_fields(row["of"], readers))
            except ValueError as error:
                raise Refusal(f"{place}: no outcome of a mutant: {error}; name another file") from error
            self._rows.setdefault((row["right"], row["mutant"]), []).append(row)

    def recall(self, right: Meaning, mutant: Meaning) -> MutantOutcome | None:
        """See `kraftcheck.solvers.mutants.campaign.Memory`."""
        for row in self._rows.get((right.behaviour, mutant.behaviour), ()):
            outcome: MutantOutcome = row["of"]
            same = row["whole"] == (right.whole, mutant.whole)
            said = isinstance(outcome, Killed) and row["says"] == _says(right, mutant, outcome.by[0])
            if (same or said) and (not isinstance(outcome, Undecided) or row["limit"] >= self.limit):
                return outcome
        return None

    def note(self, right: Meaning, mutant: Meaning, outcome: MutantOutcome) -> None:
        """See `kraftcheck.solvers.mutants.campaign.Memory`."""
        says = _says(right, mutant, outcome.by[0]) if isinstance(outcome, Killed) else ()
        row = {
            "right": right.behaviour, "mutant": mutant.behaviour, "whole": (right.whole, mutant.whole), "says": says,
            "limit": self.limit, "kind": type(outcome).__name__, "of": outcome,
        }  # fmt: skip
        with self._lock:
            self._rows.setdefault((right.behaviour, mutant.behaviour), []).append(row)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, default=asdict) + "\n")


def _says(right: Meaning, mutant: Meaning, claim: str) -> tuple[str | None, ...]:
    """What a claim says of each; that there is no deadlock follows from the steps."""
    return (DEADLOCK,) if claim == DEADLOCK else (right.claims.get(claim), mutant.claims.get(claim))


WORDS: Mapping[type, str] = {
    Killed: "killed", LeavesDomain: "leaves its domain", GoalLost: "goal lost", Survived: "survives",
    Undecided: "undecided",
}  # fmt: skip
"""Name of each outcome in tables and documents."""

SHORT = 3  # traces of at most so many steps are told in full

NO_EFFECT, STEPS_ONLY, ELSEWHERE, OPEN = "no effect", "steps only", "elsewhere", "not judged"
COMPUTED = (NO_EFFECT, STEPS_ONLY, ELSEWHERE)
"""What the counts and the other systems say of survivors; the rest is judged in `properties/register/mutants.toml`."""


@frozen
class MutantRow:
    """A mutant and what became of it."""

    system: str  # name of the system
    scope: str  # where the outcome was found, as the user names it
    # mutant, outcome: what was changed, and what came of it
    mutant: Mutant
    outcome: MutantOutcome
    sentences: Mapping[str, str]  # the claims of the system by id
    actions: tuple[str, ...] = ()  # the actions that meet the condition
    judgement: tuple[str, str] | None = None  # for a survivor what that means, and why; None for others

    @property
    def word(self) -> str:
        """The outcome in a word."""
        return WORDS[type(self.outcome)]

    @property
    def judged(self) -> tuple[str, str]:
        """The judgement of a mutant that nothing kills, and why."""
        return self.judgement or (OPEN, "")

    def properties(self) -> tuple[str, ...]:
        """The properties that need the condition: broken, or not shown, without it."""
        match self.outcome:
            case Killed(by, _, _):
                return by
            case GoalLost(goals, idle):
                return (*goals, *idle)
        return ()

    def change(self) -> str:
        """The change of the mutant, in words."""
        if self.mutant.kind == BRANCH:
            return "taken always" if self.mutant.change == ALWAYS else "taken never"
        return {GUARD: "dropped", CONJUNCT: "condition dropped"}.get(self.mutant.kind, "alternative dropped")

    def breaks_text(self) -> str:
        """The broken properties of the mutant, in words."""
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
        kind, reason = self.judged
        return f"nothing; {kind}: {reason}" if reason else f"nothing; {kind}"


def _length(steps: Sequence[str], shortest: bool) -> str:
    text = f"{'' if shortest else 'at most '}{steps_text(len(steps))}"
    return f"{text}, {' '.join(steps)}" if len(steps) <= SHORT else text


def sentences_of(chosen: Subject) -> dict[str, str]:
    """The sentences of a subject's properties, by id."""
    claims = chosen.system.properties(chosen.setting)
    return {**{claim.id: claim.sentence for claim in claims}, DEADLOCK: "a state that is not quiescent has a successor"}


def rows(chosen: Subject, explanation: MutantExplanation, scope: str) -> list[MutantRow]:
    """The rows of an explanation, survivors not judged yet."""
    sentences = sentences_of(chosen)
    actions = explanation.mutations.actions_of
    return [
        MutantRow(chosen.name, scope, mutant, outcome, sentences, tuple(actions.get(mutant.number, ())))
        for mutant, outcome in explanation.outcomes
    ]


def identity(row: MutantRow) -> tuple[str, ...]:
    """The identity of a mutant among systems: those that share a rule share its mutants."""
    namesake = row.mutant.kind == GUARD and row.mutant.group in NAMESAKES.get(row.system, ())
    return (row.system, *row.mutant.key) if namesake else row.mutant.key


def combine(first: Sequence[MutantRow], further: Iterable[MutantRow]) -> list[MutantRow]:
    """Rows, where what a further scope kills replaces what survived before, and what only that one has is added."""
    more = {row.mutant.key: row for row in further}
    killed = {key: row for key, row in more.items() if not isinstance(row.outcome, Survived | Undecided)}
    known = [killed.get(r.mutant.key, r) if isinstance(r.outcome, Survived | Undecided) else r for r in first]
    return [*known, *(row for key, row in more.items() if key not in {r.mutant.key for r in first})]


def judge_survivors(rows: Sequence[MutantRow]) -> list[MutantRow]:
    """The rows, survivors judged: by data, else by what other systems or the counts say."""
    carried = {identity(row): row for row in rows if not isinstance(row.outcome, Survived | Undecided)}
    return [
        evolve(row, judgement=_judgement(row, carried.get(identity(row)))) if isinstance(row.outcome, Survived) else row
        for row in rows
    ]


def _judgement(row: MutantRow, other_row: MutantRow | None) -> tuple[str, str]:
    effect = row.outcome.effect if isinstance(row.outcome, Survived) else ""
    if other_row is not None:
        return ELSEWHERE, f"see {other_row.system}"
    if effect == "none":
        return NO_EFFECT, ""
    judgement = next(judgements_of(row), None)
    if judgement is not None:
        return judgement.kind, judgement.why
    return (STEPS_ONLY, "") if effect == "transitions" else (OPEN, "")


def judgements_of(row: MutantRow) -> Iterator[Judgement]:
    """The judgements that are about a row."""
    return (
        judgement
        for judgement in JUDGEMENTS
        if judgement.about(row.system, row.mutant.group, row.mutant.part, row.mutant.change)
    )


def groups_of(rows: Sequence[MutantRow]) -> Iterator[tuple[str, list[MutantRow]]]:
    """The rows of each action, then of each rule, in the order of the trace."""
    order: dict[str, int] = {}
    for row in rows:
        order.setdefault(row.mutant.group, len(order))
    ordered = sorted(rows, key=lambda row: (row.mutant.kind != GUARD, order[row.mutant.group], row.mutant.number))
    for group, members in groupby(ordered, key=lambda row: row.mutant.group):
        yield group, list(members)


def place(mutant: Mutant) -> str:
    """Where a mutant's condition is, in words: the action, or the rule and its file."""
    if mutant.kind == GUARD:
        return f"action {mutant.group}"
    module, _, rule = mutant.group.partition(":")
    return f"{rule} ({module.removeprefix('kraftcheck.').replace('.', '/')}.py)"


def heading(group: str, members: Sequence[MutantRow]) -> tuple[str, str]:
    """The heading of a group, and the first sentence of its rule."""
    where = place(members[0].mutant)
    if members[0].mutant.kind == GUARD:
        return where, ""
    line = min(row.mutant.line for row in members)
    module, _, rule = group.partition(":")
    return f"{where.removesuffix(')')}:{line})", first_sentence(module, rule)


def lines(rows: Sequence[MutantRow]) -> Iterator[str]:
    """The table as text."""
    for group, members in groups_of(rows):
        title, sentence = heading(group, members)
        yield f"\n{title}" + (f": {sentence}" if sentence else "")
        for row in members:
            yield f"  {row.mutant.part}  [{row.change()}]"
            yield f"      {row.breaks_text()}"


def counts(rows: Sequence[MutantRow]) -> dict[str, int]:
    """How many rows have each outcome, absent ones left out."""
    words = [row.word for row in rows]
    return {word: words.count(word) for word in WORDS.values() if word in words}


COMMAND = "explain"


@frozen
class TablePart:
    """The rows of one system, and what they are of."""

    system: str  # its name
    title: str  # system, scope and rules in words
    # distinct, generated: size of the space without a mutant
    distinct: int
    generated: int
    refuted: tuple[str, ...]  # what the rules as they are break
    sentences: Mapping[str, str]  # what each property says, by id
    rows: tuple[MutantRow, ...]  # a row for each mutant


def document(parts: Sequence[TablePart], code: int) -> dict[str, Any]:
    """The parts as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": COMMAND,
        "exit_code": code,
        "systems": [_system(part) for part in parts],
        "left": dict(LEFT),
        "versions": report.versions(),
    }


def _system(part: TablePart) -> Mapping[str, Any]:
    return {
        "system": part.system,
        "title": part.title,
        "distinct": part.distinct,
        "generated": part.generated,
        "refuted_without_mutant": list(part.refuted),
        "counts": counts(part.rows),
        "properties": dict(part.sentences),
        "mutants": [row_document(row) for row in part.rows],
    }


def row_document(row: MutantRow) -> dict[str, Any]:
    """A row as plain values."""
    mutant, outcome = row.mutant, row.outcome
    values: dict[str, Any] = {
        "group": mutant.group, "kind": mutant.kind, "condition": mutant.part, "call": mutant.call,
        "change": mutant.change, "line": mutant.line or None, "actions": list(row.actions),
        "scope": row.scope, "outcome": row.word,
    }  # fmt: skip
    match outcome:
        case Killed(by, steps, shortest) | LeavesDomain(by, steps, shortest):
            values |= {"by": list(by), "depth": len(steps), "steps": list(steps), "shortest": shortest}
        case GoalLost(goals, idle):
            values |= {"goals": list(goals), "idle": list(idle)}
        case Undecided(cut):
            values |= {"cut": cut}
        case Survived(effect):
            kind, why = row.judged
            values |= {"effect": effect, "judgement": kind, "why": why}
    return values


def _shown(document: Any) -> Any:
    """A document whose texts may be shown, on pages too."""
    if isinstance(document, dict):
        return {visible(key): _shown(value) for key, value in document.items()}
    if isinstance(document, list):
        return list(map(_shown, document))
    return visible(document) if isinstance(document, str) else document


def read_parts(path: Path) -> list[TablePart]:
    """The parts of a document that `kraftcheck explain --json` wrote; raises Refusal for anything else."""
    content = _shown(read_json(path))
    if not isinstance(content, dict) or content.get("command") != COMMAND:
        raise Refusal(f"{path}: not a table of `kraftcheck explain --json`; write one first")
    try:
        return [_part(one) for one in listed(as_it_is, 1 << 8)(content.get("systems"))]
    except ValueError as error:
        raise Refusal(f"{path}: not a whole table of this version: {error}; write it again") from error


_COUNT = whole(0, 1 << 62)
_PART: Mapping[str, Reader[Any]] = {
    "system": TEXT, "title": TEXT, "distinct": _COUNT, "generated": _COUNT, "refuted_without_mutant": TEXTS,
    "counts": as_it_is, "properties": mapped(TEXT, TEXT, 1 << 12), "mutants": listed(as_it_is, 1 << 16),
}  # fmt: skip
_ROW: Mapping[str, Reader[Any]] = {
    "group": TEXT, "kind": TEXT, "condition": TEXT, "call": TEXT, "change": TEXT, "line": optional(_COUNT),
    "actions": TEXTS, "scope": TEXT,
}  # fmt: skip
_MORE: Mapping[type, Mapping[str, Reader[Any]]] = {
    Killed: {"depth": _COUNT}, LeavesDomain: {"depth": _COUNT}, Survived: {"judgement": TEXT, "why": TEXT},
}  # fmt: skip
"""Keys of a row beside those of its outcome."""


def _part(document: Any) -> TablePart:
    values = read_fields(document, _PART)
    rows = [_row(values, number, one) for number, one in enumerate(values["mutants"], start=1)]
    return TablePart(
        values["system"], values["title"], values["distinct"], values["generated"],
        values["refuted_without_mutant"], values["properties"], tuple(rows),
    )  # fmt: skip


def _row(system: Mapping[str, Any], number: int, document: Any) -> MutantRow:
    word = document.get("outcome") if isinstance(document, dict) else None
    known = [(kind, readers) for kind, readers in KINDS.values() if kind in WORDS and word == WORDS[kind]]
    if not known:
        raise ValueError(f"mutants: {number}: no outcome {shown(word)}")
    ((kind, readers),) = known
    values = read_fields(document, {**_ROW, **readers, **_MORE.get(kind, {}), "outcome": as_it_is})
    outcome = outcome_of(kind, {name: values[name] for name in readers})
    named = () if kind is LeavesDomain else ("by", "goals", "idle")  # what leaves a domain breaks no property
    for claim in (claim for key in named for claim in values.get(key, ())):
        if claim not in system["properties"]:
            raise ValueError(f"mutants: {number}: no property {shown(claim)}")
    mutant = Mutant(
        number, values["group"], values["kind"], values["condition"], values["change"], values["call"],
        values["line"] or 0,
    )  # fmt: skip
    row = MutantRow(system["system"], values["scope"], mutant, outcome, system["properties"], values["actions"])
    return evolve(row, judgement=(values["judgement"], values["why"])) if isinstance(outcome, Survived) else row
