"""`kraftcheck bugs --engine z3`: a variant that refutes a proven property must break its proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.questions import run_to_end, search_budget
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import PRESETS, RuleSet, parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS, with_variant
from kraftcheck.properties.register.verdicts import ANY_PLACES, BEYOND, NOT_FOR_ANY, PROOF_SCOPES, unproven
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.verdict import EXIT_VACUOUS, Refuted, Trace
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Obligation, ObligationAnswer, Questions
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN
from kraftcheck.solvers.smt.theory import INITIATION, Theory
from kraftcheck.solvers.smt.worker import SolverSession


@frozen
class BoundedScope:
    """A scope with bounds of its own."""

    scope: str
    bounds: Mapping[str, int] = field(factory=dict)

    def words(self) -> str:
        """As flags of the command line."""
        return " ".join([self.scope, *(f"--{name} {value}" for name, value in self.bounds.items())])


@frozen
class BrokenProofRow:
    """A variant of a system and the proven properties that it must refute."""

    system: str  # its name
    variant: str  # choices switched on (or off, with a leading hyphen), joined by `+`
    claims: tuple[str, ...]  # ids of properties
    shown: tuple[BoundedScope, ...] = ()  # where the matrix shows the variant
    base: str = "fixed"  # the rule set that is right there

    @property
    def rules(self) -> str:
        """The rule set with the variant."""
        return with_variant(self.base, self.variant)

    def places(self) -> list[BoundedScope]:
        """The scopes of the proofs, and then where the matrix shows the variant, which may take other bounds."""
        return self.places_after(of_proofs(self.system))

    def places_after(self, first: Sequence[BoundedScope]) -> list[BoundedScope]:
        """Some places, and then where else the matrix shows the variant."""
        return [*first, *(place for place in self.shown if place not in first)]


def of_proofs(system: str) -> list[BoundedScope]:
    """The scopes of the proofs, where the right rules have every claim proven."""
    return [BoundedScope(scope) for scope in PROOF_SCOPES[system]]


def rows() -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties, without what it refutes only where nothing is proven."""
    asked = (evolve(row, claims=within_proofs(row)) for row in every_row())
    return [row for row in asked if row.claims]


def within_proofs(row: BrokenProofRow) -> tuple[str, ...]:
    """The properties of a row but those that `BEYOND` has."""
    outside = BEYOND.get((row.system, row.variant))
    return tuple(claim for claim in row.claims if outside is None or claim not in outside.claims)


def every_row() -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties, by system and variant."""
    return sorted((row for name in PROOF_SCOPES for row in refuting(name)), key=lambda row: (row.system, row.variant))


def chosen(names: Sequence[str], every: Sequence[BrokenProofRow]) -> list[BrokenProofRow]:
    """The rows of these variants, all of them for none; raises Refusal for an unknown name, with the nearest ones."""
    for name in names:
        if name not in {row.variant for row in every}:
            raise Refusal(f"no proven property names {name!r}; {nearest(name, [row.variant for row in every])}")
    return [row for row in every if not names or row.variant in names]


def refuting(system: str) -> list[BrokenProofRow]:
    """Every rule set that refutes proven properties of a system, by what a property names or the matrix shows."""
    provable = proven_claims(system)
    shown = (
        BrokenProofRow(system, bug.variant, tuple(claim for claim in bug.refutes if claim in provable),
                       (BoundedScope(bug.scope, bug.bounds),), bug.base)
        for bug in BUGS if bug.system == system
    )  # fmt: skip
    named = (BrokenProofRow(system, variant, (claim,)) for claim, variants in provable.items() for variant in variants)
    return [row for row in _merged([*shown, *named]) if row.claims]


def proven_claims(system: str) -> dict[str, tuple[str, ...]]:
    """The properties that are proven in some scope of the proofs, with the variants that each names."""
    claims: dict[str, tuple[str, ...]] = {}
    for scope in PROOF_SCOPES[system]:
        for claim in SYSTEMS[system].properties(SYSTEMS[system].setting(scope, rules=PRESETS["fixed"])):
            if claim.kind in ("always", "step") and claim.id not in unproven(system):
                claims[claim.id] = tuple(dict.fromkeys((*claims.get(claim.id, ()), *claim.refuted_by)))
    return claims


def _merged(every: Sequence[BrokenProofRow]) -> list[BrokenProofRow]:
    """One row for each rule set, as it is written first: a property and the matrix may write it in two ways."""
    by_rules: dict[RuleSet, BrokenProofRow] = {}
    for row in every:
        rules = parse(row.rules)
        first = by_rules.get(rules, evolve(row, claims=(), shown=()))
        claims = tuple(dict.fromkeys((*first.claims, *row.claims)))
        by_rules[rules] = evolve(first, claims=claims, shown=(*first.shown, *row.shown))
    return list(by_rules.values())


EFFORT = Effort(timeout=120)

TIME_UP = "; the solver's time was up"


@frozen
class BrokenClaim:
    """How the proof of a claim breaks."""

    claim: str  # its id
    by: str  # the actions that break it, and where
    answered: bool = True  # whether a solver had an answer, that nothing refutes the step; without, its time was up


@frozen
class BrokenProof:
    """The outcome of the proofs under a variant."""

    row: BrokenProofRow  # the variant
    broken: tuple[BrokenClaim, ...]  # the properties whose proofs broke
    refused: dict[str, str] = field(factory=dict)  # for each property about which provers cannot be asked, why

    @property
    def actions(self) -> dict[str, str]:
        """For each property whose proof broke, the actions that break it and where."""
        return {one.claim: one.by for one in self.broken}

    @property
    def proven(self) -> list[str]:
        """Properties that are still proven everywhere: their proofs prove nothing."""
        return [claim for claim in self.row.claims if claim not in {*self.actions, *self.refused}]

    @property
    def unanswered(self) -> list[str]:
        """Properties whose proofs broke only because the solver's time was up."""
        return [one.claim for one in self.broken if not one.answered]

    @property
    def faults(self) -> list[str]:
        """What must not be: properties that are proven all the same, or refused though `NOT_FOR_ANY` has no reason."""
        reviewed = (self.row.system, self.row.variant) in NOT_FOR_ANY
        return self.proven + ([] if reviewed else list(self.refused))


Attempt = Callable[[BrokenProofRow, int, bool], BrokenProof]
"""Tries to prove what a variant must refute, with so many workers, quietly or not."""


def attempt(row: BrokenProofRow, workers: int, quiet: bool) -> BrokenProof:
    """Try to prove what a variant must refute, where right rules are proven, until all broke; raises Interrupted."""
    broken: list[BrokenClaim] = []
    for place in row.places():
        request = ProofRequest(row.system, place.scope, place.bounds, row.rules)
        claim_ids = {claim.id for claim in request.build().claims}
        remaining = [c for c in row.claims if c in claim_ids and c not in {one.claim for one in broken}]
        if remaining:
            failures = _failures(_proof(request, remaining, workers, quiet, row), remaining, place)
            if failures and not (row.base == "fixed" and place in of_proofs(row.system)):
                right = ProofRequest(row.system, place.scope, place.bounds, row.base)
                standing = _proof(right, [one.claim for one in failures], workers, quiet, row)
                failures = [one for one in failures if standing.proven(one.claim)]
            broken += failures
    return BrokenProof(row, tuple(broken))


def _proof(request: ProofRequest, claims: Sequence[str], workers: int, quiet: bool, row: BrokenProofRow) -> Proof:
    proof = run_proof(request, EFFORT, claims, workers, quiet)
    if proof.stopped:  # what was not asked any more is not broken
        raise Interrupted(f"stopped in the proofs of {row.system} {row.variant}")
    return proof


def _failures(proof: Proof, claims: Sequence[str], place: BoundedScope) -> list[BrokenClaim]:
    """The claims that are not inductive, with the actions that break them."""
    broken = []
    for claim in claims:
        if not proof.inductive(claim):
            answers = proof.failures(claim)
            by = sorted({answer.obligation.action for answer in answers})
            answered = not answers or any(map(is_answered, answers))
            broken.append(BrokenClaim(claim, f"{', '.join(by) or 'what it rests on'} in {place.words()}", answered))
    return broken


def is_answered(answer: ObligationAnswer) -> bool:
    """Whether the solver came to an end: for any number the end may be that the instances refute nothing."""
    return answer.result != UNDECIDED or answer.reason == NOT_SHOWN


def of_any_number(name: str) -> bool:
    """Whether a system has a bound that may be any."""
    return any(bound.takes_any for bound in SYSTEMS[name].bounds)


def broken_proofs(
    names: Sequence[str], workers: int, target: str | None, quiet: bool, method: Attempt | None = None
) -> int:
    """Break the proofs of variants, all if none is named; report; exit code 0 or 21; raises Refusal for names."""
    every = rows() if method is None else every_row()
    selected = [row for row in chosen(names, every) if method is None or of_any_number(row.system)]
    if not selected:
        raise Refusal(f"no property that {', '.join(names)} refutes is proven for any number; leave out --brokers")
    if target is not None:
        check_writable(target)
    screen, results = console(to_stderr=target == "-"), []
    for row in selected:
        results.append((method or attempt)(row, workers, quiet))
        _print(screen, results[-1], method is not None)
    code = EXIT_VACUOUS if any(result.faults for result in results) else 0
    if target is not None:
        write_json(target, document(results, code) | ({} if method is None else {"brokers": "any"}))
    screen.plain(closing(results, code))
    return code


def _print(screen: Screen, result: BrokenProof, of_any: bool) -> None:
    screen.plain(f"{result.row.system} {result.row.variant}")
    for one in result.broken:
        screen.plain(f"    {one.claim}: proof broken by {one.by}{'' if one.answered else TIME_UP}")
    for claim, reason in result.refused.items():
        screen.plain(f"    {'UNEXPECTED ' if claim in result.faults else ''}{claim} cannot be asked: {reason}")
    for claim in result.proven:
        also = ", or no run with few brokers refutes it" if of_any else ""
        screen.plain(f"    UNEXPECTED {claim} is proven all the same{also}")


def closing(results: Sequence[BrokenProof], code: int) -> str:
    """How many proofs were to break, and how many did not."""
    count = sum(len(result.row.claims) for result in results)
    kinds = (
        (sum(len(result.proven) for result in results), "do not break"),
        (sum(len(result.unanswered) for result in results), "break without an answer"),
        (sum(len(result.refused) for result in results), "cannot be asked"),
    )
    told = ", ".join(f"{n} {what}" for n, what in kinds)
    return f"{len(results)} variants, {count} proofs: {told} (exit {code})"


def document(results: Sequence[BrokenProof], code: int) -> dict[str, object]:
    """The column as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "bugs",
        "engine": "z3",
        "exit_code": code,
        "bugs": [
            {"system": result.row.system, "variant": result.row.variant, "broken": dict(result.actions),
             "unbroken": result.proven, "unanswered": result.unanswered, "refused": dict(result.refused)}
            for result in results
        ],
        "versions": report.versions(),
    }  # fmt: skip


EFFORT_FOR_ANY = Effort(timeout=10)  # no answer in this time is no proof


def freed(system: str, bounds: Mapping[str, int]) -> dict[str, int]:
    """The bounds with any number where a bound takes any, and without those that this frees."""
    free = {bound.name: ANY for bound in SYSTEMS[system].bounds if bound.takes_any}
    without = {bound.name for bound in SYSTEMS[system].bounds if bound.freed_by in free}
    return {name: number for name, number in bounds.items() if name not in without} | free


def attempt_any(row: BrokenProofRow, workers: int, quiet: bool) -> BrokenProof:
    """Try to prove the last steps of runs with few in which a variant refutes, in the first such place.

    Raises:
        Interrupted: when a signal stopped it.
    """
    broken: dict[str, BrokenClaim | None] = {}
    refused: dict[str, str] = {}
    for place in places(row):
        open_claims = [claim for claim in row.claims if claim not in broken]
        if open_claims:
            few = ProofRequest(row.system, place.scope, place.bounds, row.rules)
            traces = refutations(few, open_claims, search_budget(workers, default_memory()), quiet)
            try:
                broken |= _broken(few, place, traces)
            except Refusal as refusal:
                refused = dict.fromkeys(traces, f"{refusal} (refuted in {place.words()})") | refused
    shown = tuple(one for one in broken.values() if one is not None)
    return BrokenProof(row, shown, {claim: why for claim, why in refused.items() if claim not in broken})


def places(row: BrokenProofRow) -> list[BoundedScope]:
    """Where runs are looked for: where the proofs are made with few brokers, and then where the matrix shows it."""
    return row.places_after([BoundedScope(scope, bounds) for scope, bounds in ANY_PLACES[row.system]])


def _broken(few: ProofRequest, place: BoundedScope, traces: Mapping[str, Trace]) -> dict[str, BrokenClaim | None]:
    """The claims refuted with few brokers, with their steps; None: proven; raises Refusal where provers cannot."""
    if not traces:
        return {}
    of = evolve(few, bounds=freed(str(few.name), few.bounds)).build()
    broken: dict[str, BrokenClaim | None] = {}
    for claim, trace in traces.items():
        last = trace.steps[-1].action if trace.steps else INITIATION
        answer = answer_there(of, claim, last, held_before(of, trace))
        by = f"{last} for any number, and by {len(trace.steps)} steps in {place.words()}"
        broken[claim] = None if answer.result == PROVEN else BrokenClaim(claim, by, is_answered(answer))
    return broken


def refutations(few: ProofRequest, claims: Sequence[str], budget: SearchBudget, quiet: bool) -> Mapping[str, Trace]:
    """The shortest traces of the claims that a variant refutes with few brokers."""
    chosen = few.subject(proof=False)
    offered = [claim.id for claim in chosen.system.properties(chosen.setting) if claim.id in claims]
    if not offered:
        return {}
    judged = subject(few.name, few.scope, few.bounds, few.rules, offered)
    result = run_to_end(program(judged), budget, quiet, str(few.rules))
    return {one.claim: one.verdict.trace for one in result.verdicts
            if isinstance(one.verdict, Refuted) and one.claim in offered}  # fmt: skip


def held_before(of: Theory, trace: Trace) -> list[str]:
    """The invariants that hold in every state of a run but its last one."""
    states = [trace.initial, *(step.state for step in trace.steps)][:-1]
    return [claim.id for claim in of.invariants if all(_holds(claim.predicate(state)) for state in states)]


def _holds(value: object) -> bool:
    return all(value.values()) if isinstance(value, Mapping) else bool(value)


def answer_there(of: Theory, claim: str, action: str, assumed: Sequence[str]) -> ObligationAnswer:
    """Whether an action is proven to keep a claim, for any number of brokers, where some invariants hold."""
    questions = Questions(of)
    session = SolverSession(questions, questions.premises(action, assumed), EFFORT_FOR_ANY, time.monotonic)
    return session.ask(Obligation(claim, action))
