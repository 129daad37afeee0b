"""One row of `kraftcheck check`: its search and its proofs, as values that one process can give another.

Of a proof for any number, searches and proofs with few brokers say the same.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from kraftcheck.ci.prove.command import check_certificate, write_certificate
from kraftcheck.ci.prove.question import run_proof, with_lemmas
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.judged import HOLDS, JudgedProperty, JudgedRun, claims_of, expecting, judged, not_judged
from kraftcheck.ci.run.questions import SearchQuestion, run
from kraftcheck.ci.run.reports import unwritten
from kraftcheck.ci.run.result import write_traces
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.model.language.system import ANY
from kraftcheck.properties.register.verdicts import ANY_NUMBER, CERTIFIED, EVERY, EXPECTED, NOT_PROVEN, OF_NOTHING, Row
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.trace import Pruning
from kraftcheck.solvers.program.verdict import PropertyVerdict, Refuted
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import REFUTED, Effort
from kraftcheck.solvers.smt.smtlib import installed
from kraftcheck.solvers.smt.verdicts import SearchEvidence, confirm_proven

EXPLORED, FINITE = (2, 3), 5  # numbers of brokers that are explored; the number for which the same is proven again


def of_number(request: ProofRequest, number: int) -> ProofRequest:
    """A request with a number for what may be any, and for what that bounds, as the replicas of a partition."""
    bounds = request.subject().system.bounds
    counted = [bound.name for bound in bounds if request.bounds.get(bound.name) == ANY]
    numbers = {bound.name: number for bound in bounds if bound.name in counted or bound.freed_by in counted}
    return evolve(request, bounds={**request.bounds, **numbers})


def explored_with(request: ProofRequest, proof: Proof, number: int, budget: SearchBudget, quiet: bool) -> bool:
    """Whether a search with few was whole, and reached what proofs speak of; raises EngineDisagreement."""
    found = run(program(with_lemmas(of_number(request, number).subject(proof=False))), budget, quiet)
    evidence = SearchEvidence(others=(found,))
    confirm_proven(proof, evidence)
    return found.cut is None and all(evidence.reaches(claim) for claim in proof.targets if proof.proven(claim))


def proven_with(
    request: ProofRequest, claims: Sequence[str], number: int, effort: Effort, workers: int, quiet: bool
) -> bool:
    """Whether what is proven for any number is proven here; False for no answer; raises EngineDisagreement."""
    finite = run_proof(of_number(request, number), effort, claims, workers, quiet)
    refuted = [a.obligation for claim in claims for a in finite.failures(claim) if a.result == REFUTED]
    if refuted:
        claim, action = refuted[0].claim, refuted[0].action
        raise EngineDisagreement(f"{claim} is proven for any number of brokers, and with {number} {action} breaks it")
    return all(map(finite.proven, claims))


def numbers_that_agree(
    request: ProofRequest, proof: Proof, effort: Effort, budget: SearchBudget, quiet: bool
) -> tuple[int, ...]:
    """The numbers of brokers for which what is proven for any holds; open ones left out; raises EngineDisagreement."""
    if not (proven := [claim for claim in proof.targets if proof.proven(claim)]):
        return ()
    agreeing = [number for number in EXPLORED if explored_with(request, proof, number, budget, quiet)]
    if proven_with(request, proven, FINITE, effort, budget.threads, quiet):
        agreeing.append(FINITE)
    return tuple(agreeing)


EFFORT = Effort(timeout=120)


@frozen
class ProofRow:
    """A proof of the check."""

    row: Row  # system, scope, rule set
    proofs: Mapping[str, bool]  # of every claim that was to be proven, whether it is
    # queries, seconds: how many were answered, and in what time
    queries: int
    seconds: float
    stopped: bool  # whether it was stopped before it was finished
    bounds: Mapping[str, int] = field(factory=dict)  # those that are not the scope's
    certified: bool | None = None  # whether cvc5 confirmed the certificate; None where it was not asked
    numbers: tuple[int, ...] = ()  # of a proof for any number of brokers, the numbers for which the same was found

    @property
    def proven(self) -> list[str]:
        """The ids of the claims that are proven."""
        return [id_ for id_, proven in self.proofs.items() if proven]

    def run(self) -> JudgedRun:
        """The claims beside what is expected of them, and the numbers of brokers with which none is decided."""
        chosen, open_claims = self.subject(), NOT_PROVEN.get(self.row, ())
        claims, failed = claims_of(chosen), "incomplete" if self.stopped else "unknown"
        rows = [
            expecting(
                JudgedProperty(id_, claims[id_].kind if id_ in claims else "always", HOLDS if proven else failed,
                               "for any number of steps" if proven else "not proven", proven, claim=claims.get(id_)),
                "unknown" if id_ in open_claims else HOLDS,
            )
            for id_, proven in self.proofs.items()
        ]  # fmt: skip
        if self.bounds and self.proven:
            rows += [JudgedProperty(f"with {number} brokers", "always", "incomplete", "not decided", False)
                     for number in sorted({*EXPLORED, FINITE} - {*self.numbers})]  # fmt: skip
        missing = not_judged(chosen, sorted({*open_claims} - {*self.proofs}), "nothing to prove has this name")
        rows += [expecting(one, "unknown") for one in missing]
        return JudgedRun(chosen, "prove", tuple(rows), self.seconds)

    def subject(self) -> Subject:
        """The proven subject."""
        return subject(self.row[0], self.row[1], self.bounds, self.row[2], proof=True)

    def line(self, outcome: str) -> str:
        """The proof as the check prints it."""
        few = f" (so with {', '.join(map(str, self.numbers))})" if self.numbers else ""
        number = "".join(f" and of {name}" for name in self.bounds) + few
        confirmed = {None: "", True: ", confirmed by cvc5", False: "; cvc5 is not installed, and was not asked"}
        return (
            f"{' '.join(self.row):34} {self.queries:>12,} queries for any number of steps{number}, "
            f"{self.seconds:.1f} s in Z3{confirmed[self.certified]}  {outcome}"
        )


def row_proofs(row: Row, proven: bool, budget: SearchBudget, quiet: bool) -> Iterator[ProofRow]:
    """A row's proofs, by as many processes as threads, none after one that was stopped; raises EngineDisagreement."""
    if proven:
        yield (of_scope := _of_scope(row, budget.threads, quiet))
        if of_scope.stopped:
            return
    if row in ANY_NUMBER:
        yield _of_any_number(row, budget, quiet)


def _of_scope(row: Row, workers: int, quiet: bool) -> ProofRow:
    """The proof of every claim at the bounds of the scope; its certificate is checked where that is expected."""
    proof = run_proof(ProofRequest(row[0], row[1], {}, row[2]), EFFORT, (), workers, quiet)
    certified = None if row != CERTIFIED or proof.stopped else _confirmed(row, proof)
    return _proof_row(row, proof, {}, certified)


def _of_any_number(row: Row, budget: SearchBudget, quiet: bool) -> ProofRow:
    """The proof of some claims for any number of brokers, from each other alone; and what numbers say of them."""
    whole, names = find_system(row[0]), ANY_NUMBER[row]
    few = evolve(
        whole,
        properties=lambda setting: [claim for claim in whole.properties(setting) if claim.id in names],
        lemmas=lambda setting: [claim for claim in whole.lemmas(setting) if claim.id in names],
    )
    bounds = {bound.name: ANY for bound in whole.bounds if bound.takes_any}
    request = ProofRequest(few, row[1], bounds, row[2], compared=False)
    proof = run_proof(request, EFFORT, (), 1, quiet)
    numbers = () if proof.stopped else numbers_that_agree(request, proof, EFFORT, evolve(budget, threads=1), quiet)
    return evolve(_proof_row(row, proof, bounds), numbers=numbers)


def _proof_row(row: Row, proof: Proof, bounds: Mapping[str, int], certified: bool | None = None) -> ProofRow:
    claims = {claim.id: proof.proven(claim.id) for claim in proof.theory.claims}
    seconds = sum(answer.seconds for answer in proof.answers.values())
    return ProofRow(row, claims, len(proof.answers), seconds, proof.stopped, bounds=bounds, certified=certified)


def _confirmed(row: Row, proof: Proof) -> bool:
    """Whether cvc5 confirmed a proof's certificate; not where it is not installed; raises EngineDisagreement."""
    if not installed("cvc5"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "certificate"
        write_certificate(subject(row[0], row[1], {}, row[2], proof=True), proof, place)
        checked = check_certificate(place)
    if checked.returncode:
        fault = (checked.stdout + checked.stderr).strip().partition("\n")[0]
        raise EngineDisagreement(f"{' '.join(row)}: cvc5 does not confirm the certificate: {fault}")
    return True


@frozen
class RowOptions:
    """How rows are checked; each has its counterexamples in a folder below a place, unless that is None."""

    budget: SearchBudget
    quiet: bool
    place: Path | None
    documented: bool


@frozen
class ExploredRow:
    """The search of a row."""

    row: Row  # system, scope, rule set
    # verdicts, distinct, generated, depth, seconds, compile_seconds, prunings, cut, audit: as of an `Exploration`
    verdicts: tuple[PropertyVerdict, ...]
    distinct: int
    generated: int
    depth: int
    seconds: float
    compile_seconds: float
    prunings: tuple[Pruning, ...]
    cut: str | None
    audit: Audit
    document: dict[str, Any] | None = None  # the search as plain values; None where nobody asked
    nothing: frozenset[str] = frozenset()  # properties that hold because no state or step is a case of them

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

    def line(self, outcome: str) -> str:
        """The search as the check prints it."""
        return (
            f"{' '.join(self.row):34} {self.distinct:>12,} distinct {self.generated:>14,} generated  "
            f"depth {self.depth:>3} {self.seconds:6.1f} s (+{self.compile_seconds:.1f} s compile)  {outcome}"
        )


RowPart = ExploredRow | ProofRow  # what is printed of a row: its search first, then its proofs


@define
class CheckedRows:
    """The findings on rows."""

    parts: list[RowPart] = field(factory=list)  # searches and proofs, in the order of the rows
    runs: list[JudgedRun] = field(factory=list)  # the verdicts of each beside the expected ones
    lost: dict[Row, str] = field(factory=dict)  # rows whose process has ended before its time, with the reason

    def add(self, part: RowPart) -> str:
        """Add a search or a proof; returns its line."""
        self.parts.append(part)
        self.runs.append(part.run())
        count = sum(not one.passed for one in self.runs[-1].properties)
        return part.line(f"[bold red]{count} UNEXPECTED[/]" if count else "as expected")

    def close(self) -> None:
        """What holds of nothing in each row of a system and a rule set passes in none, unless the data says so."""
        searched = {one.row: one for one in self.explored}
        for number, part in enumerate(self.parts):
            of = part.row[0], part.row[2]
            rows = [row for row in EXPECTED if (row[0], row[2]) == of]
            if isinstance(part, ExploredRow) and rows and searched.keys() >= {*rows}:
                alike = [one for row, one in searched.items() if (row[0], row[2]) == of]
                shown = {found.claim for one in alike for found in one.verdicts if found.claim not in one.nothing}
                said = part.nothing - shown - {*OF_NOTHING.get(of, ())}
                run = self.runs[number]
                odd = {one.id for one in run.properties if one.id in said and one.verdict == HOLDS}
                told = (evolve(x, verdict="vacuous", passed=False) if x.id in odd else x for x in run.properties)
                self.runs[number] = evolve(run, properties=tuple(told))

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
    """Search a row, then prove it; nothing follows a part that was stopped; raises Interrupted, EngineDisagreement."""
    chosen = subject(row[0], row[1], {}, row[2])
    native = functools.partial(run, quiet=options.quiet)
    result = SearchQuestion(chosen, options.budget).result(program(chosen), native)
    found = result.exploration
    assert found is not None
    explored = ExploredRow(
        row, found.verdicts, found.distinct, found.generated, found.depth, seconds=found.seconds,
        compile_seconds=found.compile_seconds,
        prunings=found.prunings, cut=found.cut, audit=found.audit,
        document=dict(result.document) if options.documented else None,
        nothing=frozenset(found.program.lenient) & frozenset(found.program.premises) - found.premises_shown,
    )  # fmt: skip
    if options.place is not None:
        with unwritten(lambda: not all(one.passed for one in explored.run().properties)):
            write_traces(options.place / "-".join(row), chosen, result.program, result.traces(), result.shortest)
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
