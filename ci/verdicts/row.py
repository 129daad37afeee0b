"""One row of `kraftcheck check`: its search and its proofs, as values that one process can give another."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from kraftcheck.ci.run.questions import SearchQuestion, run
from kraftcheck.ci.run.result import write_traces
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.verdicts.proofs import ProofRow, UnexpectedVerdict, row_proofs
from kraftcheck.properties.register.verdicts import EVERY, OF_NOTHING, Row, expected
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.trace import Pruning
from kraftcheck.solvers.program.verdict import EXIT_VACUOUS, PropertyVerdict, Refuted, exit_code
from kraftcheck.solvers.reference.confirm import EngineDisagreement


@frozen
class RowOptions:
    """How rows are checked.

    Attributes:
        budget: of each search.
        quiet: whether no progress is shown.
        place: the folder for counterexamples, a folder in it for each row; None: they are not written.
        documented: whether each search comes with its document.
    """

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

    @property
    def claims(self) -> int:
        """How many properties were judged."""
        return len(self.verdicts)

    @property
    def unexpected(self) -> tuple[UnexpectedVerdict, ...]:
        """Every verdict that is not the expected one, in either direction."""
        return tuple(_unexpected(self))

    def verdict(self, claim: str) -> PropertyVerdict:
        """The verdict of a property by its id; raises KeyError for another."""
        return {verdict.claim: verdict for verdict in self.verdicts}[claim]

    def line(self) -> str:
        """The search as the check prints it."""
        count = len(self.unexpected)
        text = "as expected" if not count else f"[bold red]{count} UNEXPECTED[/]"
        return (
            f"{' '.join(self.row):34} {self.distinct:>12,} distinct {self.generated:>14,} generated  "
            f"depth {self.depth:>3} {self.seconds:6.1f} s (+{self.compile_seconds:.1f} s compile)  {text}"
        )


RowPart = ExploredRow | ProofRow
"""What is printed of a row: its search first, then its proofs."""


@define
class CheckedRows:
    """What was found of rows, in their order.

    Attributes:
        explored, proofs: searches and proofs.
    """

    explored: list[ExploredRow] = field(factory=list)
    proofs: list[ProofRow] = field(factory=list)

    def add(self, part: RowPart) -> None:
        """Add a search or a proof."""
        if isinstance(part, ExploredRow):
            self.explored.append(part)
        else:
            self.proofs.append(part)

    @property
    def claims(self) -> int:
        """How many properties were judged and claims proven, or not."""
        return sum(one.claims for one in self.explored) + sum(one.claims for one in self.proofs)

    @property
    def unexpected(self) -> list[UnexpectedVerdict]:
        """Every verdict that is not the expected one, those of searches first."""
        found = [verdict for one in self.explored for verdict in one.unexpected]
        return found + [verdict for one in self.proofs for verdict in one.unexpected]


def row_parts(row: Row, proven: bool, options: RowOptions) -> Iterator[RowPart]:
    """Search a row, then prove it; nothing follows a part that was stopped.

    Args:
        row: system, scope, rule set.
        proven: whether it is proven at its scope's bounds.
        options: for all rows.

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


def _unexpected(explored: ExploredRow) -> Iterator[UnexpectedVerdict]:
    row, claims = explored.row, set()
    for verdict in explored.verdicts:
        claims.add(verdict.claim)
        expected_word, actual_word = expected(row, verdict.claim), report.word_of(verdict)
        if expected_word != actual_word:
            code = exit_code(verdict.verdict) or EXIT_VACUOUS
            yield UnexpectedVerdict(row, verdict.claim, expected_word, actual_word, code)
    for claim in OF_NOTHING.get((row[0], row[2]), ()):
        if claim in claims - explored.nothing:
            yield UnexpectedVerdict(row, claim, "vacuous", "holds of some case", EXIT_VACUOUS)
    for claim in sorted(set(EVERY[row]) - claims):
        yield UnexpectedVerdict(row, claim, EVERY[row][claim], "not judged", EXIT_VACUOUS)
