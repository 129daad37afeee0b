"""The load-bearing table as a JSON document, and read back from one, so that pages need no new exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.dataset.documents.values import (
    Reader,
    as_it_is,
    listed,
    mapped,
    optional,
    read_fields,
    shown,
    whole,
)
from kraftcheck.ci.mutants.memory import KINDS, TEXT, TEXTS
from kraftcheck.ci.mutants.table import WORDS, MutantRow, counts
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.register.mutants import LEFT
from kraftcheck.solvers.mutants.explore import GoalLost, Killed, LeavesDomain, Survived, Undecided
from kraftcheck.solvers.mutants.mutate import Mutant

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
    outcome = kind(**{name: values[name] for name in readers})
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
