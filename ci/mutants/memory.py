"""Outcomes of operator mutants in a file, one a line, so that a campaign that was stopped goes on.

A property that breaks says so of every later program that takes the same
steps, as long as it says the same itself; any other outcome rests on all
properties.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, define, field

from kraftcheck.ci.dataset.documents.values import (
    Reader,
    as_it_is,
    boolean,
    listed,
    matching,
    one_of,
    optional,
    read_fields,
    whole,
)
from kraftcheck.ci.terminal.files import parse_json, read_bytes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.mutants.campaign import Memory
from kraftcheck.solvers.mutants.explore import (
    GoalLost,
    Killed,
    LeavesDomain,
    MutantOutcome,
    Refused,
    Survived,
    Undecided,
)
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
_ROW: Mapping[str, Reader[Any]] = {
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
    """The outcomes in a file.

    Attributes:
        path: the file; None: kept for this run only.
        limit: most states of a mutant: what was cut by a lower one is asked again.
    """

    path: Path | None
    limit: int
    _rows: dict[tuple[str, str], list[Row]] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)

    def __attrs_post_init__(self) -> None:
        """Read what is there.

        Raises:
            Refusal: for a file that is none of these.
        """
        if self.path is None or not self.path.exists():
            return
        for number, line in enumerate(read_bytes(self.path, MOST_BYTES).splitlines(), start=1):
            place = f"{self.path}:{number}"
            try:
                row = read_fields(parse_json(place, line), _ROW)
                kind, readers = KINDS[row["kind"]]
                row["of"] = outcome_of(kind, read_fields(row["of"], readers))
            except ValueError as error:
                raise Refusal(f"{place}: no outcome of a mutant: {error}; name another file") from error
            self._rows.setdefault((row["right"], row["mutant"]), []).append(row)

    def memory(self) -> Memory:
        """The outcomes as a campaign asks for them."""
        return Memory(self._recall, self._note)

    def _recall(self, right: Meaning, mutant: Meaning) -> MutantOutcome | None:
        for row in self._rows.get((right.behaviour, mutant.behaviour), ()):
            outcome: MutantOutcome = row["of"]
            same = row["whole"] == (right.whole, mutant.whole)
            said = isinstance(outcome, Killed) and row["says"] == _says(right, mutant, outcome.by[0])
            if (same or said) and (not isinstance(outcome, Undecided) or row["limit"] >= self.limit):
                return outcome
        return None

    def _note(self, right: Meaning, mutant: Meaning, outcome: MutantOutcome) -> None:
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
