"""One row of `kraftcheck check`: its search and its proofs, as values that one process can give another."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from kraftcheck.ci.run.judged import HOLDS, JudgedProperty, JudgedRun, expecting, judged, not_judged
from kraftcheck.ci.run.questions import SearchQuestion, run
from kraftcheck.ci.run.result import write_traces
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.verdicts.proofs import ProofRow, row_proofs
from kraftcheck.properties.register.verdicts import EVERY, OF_NOTHING, Row
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.trace import Pruning
from kraftcheck.solvers.program.verdict import PropertyVerdict, Refuted
from kraftcheck.solvers.reference.confirm import EngineDisagreement


@frozen
class RowOptions:
    """How rows are checked; each has its counterexamples in a folder below a place, unless that is None."""

    budget: SearchBudget
    quiet: bool
    place: Path | None
    documented: bool


@frozen
class ExploredRow:
    """The search of a row.

    Attributes:
        row: system, scope, rule set.
        verdicts, distinct, generated, depth, seconds, compile_seconds, prunings, cut, audit: as of an `Exploration`.
        document: the search as plain values; None where nobody asked.
        nothing: properties that hold because no state or step is a case of them.
    """

    row: Row
    verdicts: tuple[PropertyVerdict, ...]
    distinct: int
    generated: int
    depth: int
    seconds: float
    compile_seconds: float
    prunings: tuple[Pruning, ...]
    cut: str | None
    audit: Audit
    document: dict[str, Any] | None = None
    nothing: frozenset[str] = frozenset()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped from outside."""
        return is_stop(self.cut)

    def run(self) -> JudgedRun:
        """The verdicts beside the expected ones; what is expected and was not judged is no pass."""
        chosen = subject(self.row[0], self.row[1], {}, self.row[2])
        rows = [self._of_some_case(one) for one in judged(chosen, self.verdicts, EVERY[self.row])]
        unseen = sorted({*EVERY[self.row]} - {one.id for one in rows})
        missing = not_judged(chosen, unseen, "expected, and the system has no such property")
        rows += [expecting(one, EVERY[self.row][one.id]) for one in missing]
        return JudgedRun(chosen, "explore", tuple(rows), self.seconds)

    def _of_some_case(self, one: JudgedProperty) -> JudgedProperty:
        """A property that must hold of nothing is no pass where it holds of some case."""
        of_nothing = OF_NOTHING.get((self.row[0], self.row[2]), ())
        if one.verdict != HOLDS or one.id not in of_nothing or one.id in self.nothing:
            return one
        return evolve(one, verdict="holds of some case", expected="vacuous", passed=False)

    def verdict(self, claim: str) -> PropertyVerdict:
        """The verdict of a property by its id; raises KeyError for another."""
        return {verdict.claim: verdict for verdict in self.verdicts}[claim]

    def line(self, outcome: str) -> str:
        """The search as the check prints it."""
        return (
            f"{' '.join(self.row):34} {self.distinct:>12,} distinct {self.generated:>14,} generated  "
            f"depth {self.depth:>3} {self.seconds:6.1f} s (+{self.compile_seconds:.1f} s compile)  {outcome}"
        )


RowPart = ExploredRow | ProofRow
"""What is printed of a row: its search first, then its proofs."""


@define
class CheckedRows:
    """What was found of rows.

    Attributes:
        parts: searches and proofs, in the order of the rows.
        runs: the verdicts of each beside the expected ones.
    """

    parts: list[RowPart] = field(factory=list)
    runs: list[JudgedRun] = field(factory=list)

    def add(self, part: RowPart) -> str:
        """Add a search or a proof; returns its line."""
        self.parts.append(part)
        self.runs.append(part.run())
        count = sum(not one.passed for one in self.runs[-1].properties)
        return part.line(f"[bold red]{count} UNEXPECTED[/]" if count else "as expected")

    @property
    def explored(self) -> list[ExploredRow]:
        """The searches."""
        return [part for part in self.parts if isinstance(part, ExploredRow)]

    @property
    def claims(self) -> int:
        """How many properties were judged and claims proven, or not."""
        return sum(len(run.properties) for run in self.runs)

    @property
    def unexpected(self) -> list[tuple[RowPart, JudgedProperty]]:
        """Every verdict that is not the expected one, in either direction, with the search or the proof."""
        pairs = zip(self.parts, self.runs, strict=True)
        return [(part, one) for part, run in pairs for one in run.properties if not one.passed]


def row_parts(row: Row, proven: bool, options: RowOptions) -> Iterator[RowPart]:
    """Search a row, then prove it, at its scope's bounds if asked; nothing follows a part that was stopped.

    Raises:
        Interrupted: when the search was stopped before it began.
        EngineDisagreement: when it refutes what is proven.
    """
    chosen = subject(row[0], row[1], {}, row[2])
    native = functools.partial(run, quiet=options.quiet)
    result = SearchQuestion(chosen, options.budget).result(program(chosen), native)
    if options.place is not None:
        write_traces(options.place / "-".join(row), chosen, result.program, result.traces(), result.shortest)
    found = result.exploration
    assert found is not None
    explored = ExploredRow(
        row, found.verdicts, found.distinct, found.generated, found.depth, seconds=found.seconds,
        compile_seconds=found.compile_seconds,
        prunings=found.prunings, cut=found.cut, audit=found.audit,
        document=dict(result.document) if options.documented else None,
        nothing=frozenset(found.program.lenient) & frozenset(found.program.premises) - found.premises_shown,
    )  # fmt: skip
    yield explored
    if not explored.stopped:
        for proof in row_proofs(row, proven, options.budget, options.quiet):
            _compare(explored, proof)
            yield proof


def _compare(explored: ExploredRow, proof: ProofRow) -> None:
    """Raises EngineDisagreement where the search of a row refutes what is proven of it, whatever is expected."""
    for verdict in explored.verdicts:
        if verdict.claim in proof.proven and isinstance(verdict.verdict, Refuted):
            raise EngineDisagreement(f"{' '.join(explored.row)}: {verdict.claim} is proven, and refuted")
