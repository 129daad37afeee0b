"""Outcomes of operator mutants in a file, one a line, so that a campaign that was stopped goes on.

A property that breaks says so of every later program that takes the same
steps, as long as it says the same itself; any other outcome rests on all
properties.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, define, field

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.mutants.campaign import Memory
from kraftcheck.solvers.mutants.operators import Meaning
from kraftcheck.solvers.mutants.outcome import (
    GoalLost,
    Killed,
    LeavesDomain,
    MutantOutcome,
    Refused,
    Survived,
    Undecided,
)
from kraftcheck.solvers.program.verdict import DEADLOCK

Row = Mapping[str, Any]
_KINDS: Mapping[str, type] = {
    kind.__name__: kind for kind in (Killed, LeavesDomain, GoalLost, Survived, Undecided, Refused)
}


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
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                row = json.loads(line)
                self._rows.setdefault((row["right"], row["mutant"]), []).append(row)
                _outcome(row)
            except (ValueError, KeyError, TypeError) as error:
                raise Refusal(f"{self.path}:{number}: no outcome of a mutant ({error!r}); name another file") from error

    def memory(self) -> Memory:
        """The outcomes as a campaign asks for them."""
        return Memory(self._recall, self._note)

    def _recall(self, right: Meaning, mutant: Meaning) -> MutantOutcome | None:
        for row in self._rows.get((right.behaviour, mutant.behaviour), ()):
            same = row["whole"] == [right.whole, mutant.whole]
            said = row["kind"] == Killed.__name__ and row["says"] == _says(right, mutant, row["of"]["by"][0])
            if (same or said) and (row["kind"] != Undecided.__name__ or row["limit"] >= self.limit):
                return _outcome(row)
        return None

    def _note(self, right: Meaning, mutant: Meaning, outcome: MutantOutcome) -> None:
        says = _says(right, mutant, outcome.by[0]) if isinstance(outcome, Killed) else []
        row = {
            "right": right.behaviour, "mutant": mutant.behaviour, "whole": [right.whole, mutant.whole], "says": says,
            "limit": self.limit, "kind": type(outcome).__name__, "of": asdict(outcome),
        }  # fmt: skip
        with self._lock:
            self._rows.setdefault((right.behaviour, mutant.behaviour), []).append(row)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


def _says(right: Meaning, mutant: Meaning, claim: str) -> list[str | None]:
    """What a claim says of each; that there is no deadlock follows from the steps."""
    return [DEADLOCK] if claim == DEADLOCK else [right.claims.get(claim), mutant.claims.get(claim)]


def _outcome(row: Row) -> MutantOutcome:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row["of"].items()}
    outcome: MutantOutcome = _KINDS[row["kind"]](**values)
    return outcome
