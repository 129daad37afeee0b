"""The load-bearing table as a JSON document, and read back from one, so that pages need no new exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.mutants.table import WORDS, MutantRow, counts
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.mutants.tables import LEFT
from kraftcheck.solvers.mutants.mutate import Mutant
from kraftcheck.solvers.mutants.outcome import GoalLost, Killed, LeavesDomain, MutantOutcome, Survived, Undecided

COMMAND = "explain"


@frozen
class TablePart:
    """The rows of one system, and what they are of.

    Attributes:
        system: its name.
        title: system, scope and rules in words.
        distinct, generated: size of the space without a mutant.
        refuted: what the rules as they are break.
        sentences: what each property says, by id.
        rows: a row for each mutant.
    """

    system: str
    title: str
    distinct: int
    generated: int
    refuted: tuple[str, ...]
    sentences: Mapping[str, str]
    rows: tuple[MutantRow, ...]


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


def read_parts(path: Path) -> list[TablePart]:
    """The parts of a document that `kraftcheck explain --json` wrote.

    Raises:
        Refusal: for anything else.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("command") != COMMAND:
        raise Refusal(f"{path}: not a table of `kraftcheck explain --json`; write one first")
    try:
        return [_part(one) for one in content["systems"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refusal(f"{path}: not a whole table of this version ({error!r}); write it again") from error


def _part(values: Mapping[str, Any]) -> TablePart:
    rows = [_row(values, number, one) for number, one in enumerate(values["mutants"], start=1)]
    return TablePart(
        values["system"], values["title"], values["distinct"], values["generated"],
        tuple(values["refuted_without_mutant"]), dict(values["properties"]), tuple(rows),
    )  # fmt: skip


def _row(system: Mapping[str, Any], number: int, values: Mapping[str, Any]) -> MutantRow:
    mutant = Mutant(
        number, values["group"], values["kind"], values["condition"], values["change"], values["call"],
        values["line"] or 0,
    )  # fmt: skip
    outcome = _outcome(values)
    row = MutantRow(
        system["system"], values["scope"], mutant, outcome, system["properties"], tuple(values["actions"])
    )
    return evolve(row, judgement=(values["judgement"], values["why"])) if isinstance(outcome, Survived) else row


def _outcome(values: Mapping[str, Any]) -> MutantOutcome:
    word = values["outcome"]
    if word in (WORDS[Killed], WORDS[LeavesDomain]):
        kind = Killed if word == WORDS[Killed] else LeavesDomain
        return kind(tuple(values["by"]), tuple(values["steps"]), values["shortest"])
    if word == WORDS[GoalLost]:
        return GoalLost(tuple(values["goals"]), tuple(values["idle"]))
    if word == WORDS[Undecided]:
        return Undecided(values["cut"])
    if word == WORDS[Survived]:
        return Survived(values["effect"])
    raise ValueError(f"no outcome {word!r}")
