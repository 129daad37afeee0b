"""A question to a prover, as every door asks it: the proof, the search beside it, and the report."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

import z3
from attrs import evolve, field, frozen
from rich.text import Text

from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.fanout import Cluster
from kraftcheck.ci.run.judged import judged
from kraftcheck.ci.run.questions import run, search, search_budget
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import Subject, check_ids, faults_refused, program, traced, with_added
from kraftcheck.ci.terminal.console import Column, Screen, Table
from kraftcheck.ci.terminal.interrupts import overdue, passed, within
from kraftcheck.ci.terminal.progress import interruptible, progress_tally, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.system import LIVENESS, Property
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Holds, Refuted, Trace, worst_exit_code
from kraftcheck.solvers.smt.induction import Proof, obligations, prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, Effort, ObligationAnswer, Questions
from kraftcheck.solvers.smt.spacer import cap_text, leaves_text
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import (
    ClaimJudgement,
    SearchEvidence,
    judge,
    locate,
    must_show_a_step,
    replay_countermodel,
    sized,
    unshown,
)
from kraftcheck.solvers.smt.worker import SolverSession, TheoryBuilder
from kraftcheck.solvers.traces.itf import trace_document
from kraftcheck.solvers.traces.render import lines


@frozen
class ProofAnswer:
    """The answer of a prover."""

    subject: Subject  # what was proven
    proof: Proof  # every query with its answer
    judgements: tuple[ClaimJudgement, ...]  # one for each claim that was asked for
    seconds: float  # of the proof
    effort: Effort  # of each query
    only: tuple[str, ...]  # the claims that were asked for; none: all
    workers: int  # processes
    second: str | None = None  # the solver that answered every query too, if one did
    # how many states were explored beside it, with which bounds, and whether all there are
    searched: tuple[str, ...] = ()
    refuted_lemmas: Mapping[str, int] = field(factory=dict)  # steps to where one is false that is not asked for

    def result(self) -> Result:
        """The record of which every report is made."""
        verdicts = tuple(one.verdict for one in self.judgements)
        code, notes = worst_exit_code(one.verdict for one in verdicts), tuple(line.strip() for line in self.notes())
        return Result(
            self.subject, "prove", verdicts, tuple(self.proof.theory.claims), notes, code,
            document(self, code), program=self.proof.theory.program, rows=judged(self.subject, verdicts),
            last_line=report.last_line(verdicts, code), size=f"{len(self.proof.answers):,} queries",
            seconds=self.seconds,
        )  # fmt: skip

    def notes(self) -> list[str]:
        """The notes on a proof beside its verdicts."""
        solver = self.effort.solver
        lines_ = [
            *summary(self.proof, self.seconds, solver),
            *self._lemmas(),
            *not_judged_lines(self.subject, self.proof.theory, self.only),
        ]
        return [*lines_, assurance_line(self.proof, solver, self.second)]

    def _lemmas(self) -> Iterator[str]:
        """What is said of lemmas that nobody asked for: false ones, and those without which a claim is not proven."""
        proof = self.proof
        for name, steps in self.refuted_lemmas.items():
            number = f"{steps} step{'s' * (steps != 1)}"
            yield f"{name}, a lemma, is refuted in {number}, so nothing may rest on it: --property {name} shows how"
        if not all(map(proof.inductive, proof.targets)):
            fallen = proof.theory.lemmas.intersection(proof.unproven).difference(proof.targets, self.refuted_lemmas)
            yield from (f"{name}, a lemma, is not proven: --property {name} shows why" for name in sorted(fallen))


def print_proof(screen: Screen, answer: ProofAnswer, flags: Mapping[str, Any]) -> None:
    """Print what was proven, verdicts, counterexamples, and the optional parts: cores and times."""
    proof, judgements = answer.proof, answer.judgements
    screen.plain(answer.subject.title())
    by_claim = {judgement.verdict.claim: judgement for judgement in judgements}
    worst_first = report.in_order([judgement.verdict for judgement in judgements], flags["verbose"])
    listed = [by_claim[verdict.claim] for verdict in worst_first]
    if listed:
        screen.table(_table(proof, listed))
    if len(judgements) > len(listed):
        screen.plain(report.held(len(judgements) - len(listed), "are proven"))
    if flags["core"]:
        _print_cores(screen, proof)
    if flags["times"]:
        for obligation, one in proof.answers.items():
            screen.plain(f"{one.seconds:8.3f} s  {one.result:13}  {obligation.claim}, {obligation.action}")
    _print_counterexamples(screen, proof, judgements, flags["number"])
    for line in answer.notes():
        screen.plain(line)


def not_judged(subject: Subject, judged_: Theory, only: Sequence[str]) -> list[Property]:
    """The properties that a theory has not, unless others were asked for by name."""
    claims, ids = () if only else subject.system.properties(subject.setting), {claim.id for claim in judged_.claims}
    return [claim for claim in claims if claim.id not in ids]


def not_judged_lines(subject: Subject, judged_: Theory, only: Sequence[str]) -> list[str]:
    """A line about them, if there are any."""
    claims = not_judged(subject, judged_, only)
    by_name = [(word, [claim.id for claim in claims if claim.kind in kinds])
               for word, kinds in (("recovers", ("recovers",)), ("liveness", LIVENESS))]  # fmt: skip
    goals = len(claims) - sum(len(ids) for _, ids in by_name)
    parts = [f"{', '.join(ids)} ({word})" for word, ids in by_name if ids]
    parts += [f"{goals} goal{'s' * (goals > 1)}"] * bool(goals)
    return [f"not judged by proofs: {' and '.join(parts)}; `kraftcheck explore` judges them"] if parts else []


def assurance_line(proof: Proof, solver: str, second: str | None) -> str:
    """The solvers that answered the queries of a proof, and the bounds that it rests on."""
    capped = [path for path in proof.bounded() if path not in proof.faults()]
    return assurance.of_proof(version(solver), second, proof.faults(), capped)


def _table(proof: Proof, judgements: Sequence[ClaimJudgement]) -> Table:
    numbers = [Column(name, to_right=True) for name in ("queries", "seconds")]
    table = Table((Column("claim"), Column("verdict"), *numbers, Column("slowest"), Column("says", is_prose=True)))
    for judgement in judgements:
        property_verdict = judgement.verdict
        word = report.WORDS[type(property_verdict.verdict)]
        answers = proof.of(property_verdict.claim)
        slowest = max(answers, key=lambda answer: answer.seconds, default=None)
        action = slowest.obligation.action if slowest is not None else ""
        sentence = proof.theory.claim(property_verdict.claim).sentence
        holds = isinstance(property_verdict.verdict, Holds)
        verdict_text = "proven" if holds else word
        says = sentence if holds else f"{sentence}: {report.detail(property_verdict)}"
        table.add(
            property_verdict.claim, Text(verdict_text, style=report.STYLES[word]), str(len(answers)),
            f"{sum(answer.seconds for answer in answers):.2f}", action, says,
        )  # fmt: skip
    return table


def _print_cores(screen: Screen, proof: Proof) -> None:
    screen.plain("\nwhat each proof used")
    for name in proof.claims:
        by_group: dict[str, list[str]] = {}
        for premise in proof.core(name):
            group, _, rest = premise.partition(": ")
            if rest != name:
                by_group.setdefault(group, []).append(rest)
        groups = [f"{kind}s {', '.join(names)}" for kind, names in by_group.items() if kind in ("invariant", "guard")]
        screen.plain(f"  {name}: " + ("; ".join(groups) or "the rules alone"))


def _print_counterexamples(screen: Screen, proof: Proof, judgements: Sequence[ClaimJudgement], number: int) -> None:
    broken = [judgement for judgement in judgements if judgement.counterexample is not None]
    for judgement in broken[:number]:
        property_verdict, cti = judgement.verdict, judgement.counterexample
        assert cti is not None
        few = f" with {cti.numbers}" if cti.numbers else ""
        screen.plain(f"\n{property_verdict.claim}: counterexample to induction{few}, {cti.reach} ({cti.where})")
        if isinstance(property_verdict.verdict, Refuted):
            screen.plain(
                f"  a run of {len(property_verdict.verdict.trace.steps)} steps from an initial state refutes it:"
            )
            screen.plain("\n".join(lines(property_verdict.verdict.trace)))
        else:
            screen.plain("  the state it starts from is one that the proven invariants allow:")
            screen.plain("\n".join(lines(cti.step)).replace("initial state", "some state", 1))
            screen.plain(f"  {_next_step(judgement, proof.theory.endless)}")
    if len(broken) > number:
        others = ", ".join(judgement.verdict.claim for judgement in broken[number:])
        screen.plain(f"\nalso with a counterexample (--traces {len(broken)} shows all): {others}")


def _next_step(judgement: ClaimJudgement, endless: bool) -> str:
    """The next step of somebody whose claim has a counterexample to induction that refutes nothing."""
    lemma = "`lemmas=` of the system, an invariant that the state breaks"
    searched = judgement.verdict.kind == "always" and not endless
    return f"to exclude the state add a lemma: {lemma}" + "; or let --pdr search one" * searched


def summary(proof: Proof, seconds: float, solver: str) -> list[str]:
    """Size and speed, what is bounded, and lemmas that no proof uses."""
    answers = list(proof.answers.values())
    proven = sum(answer.result == PROVEN for answer in answers)
    solving = sum(answer.seconds for answer in answers)
    text = [
        f"\n{len(answers):,} queries, {proven:,} proven, in {seconds:.1f} s ({solving:.1f} s in "
        f"{version(solver)}); rounds: {proof.rounds}"
    ]
    text += [cap_text(path) for path in proof.bounded() if path not in proof.faults()]
    text += [f"incomplete: {leaves_text([path])}" for path in proof.faults()]
    text += [f"{claim} rests on {', '.join(names)}, proven too" for claim, names in supports(proof).items()]
    whole = all(map(proof.inductive, proof.targets))
    text += [f"lemma that no proof uses: {name}" for name in proof.idle_lemmas() if whole]
    return text


def refuted_lemmas(proof: Proof, evidence: SearchEvidence) -> dict[str, int]:
    """For each lemma that is no target, and that a search refutes, the steps to where it is false."""
    found = {name: evidence.refutation(name) for name in sorted(proof.theory.lemmas.difference(proof.targets))}
    return {name: len(refuted[0].trace.steps) for name, refuted in found.items() if refuted is not None}


def supports(proof: Proof) -> dict[str, list[str]]:
    """For each proven target, the claims that are no targets and are proven because it rests on them."""
    supports_ = {claim: [name for name in proof.support(claim) if name not in proof.targets] for claim in proof.targets}
    return {claim: names for claim, names in supports_.items() if names and proof.proven(claim)}


def _others(*solvers: str | None) -> dict[str, str]:
    """The versions of the solvers that are not Z3."""
    return {solver: metadata.version(solver) for solver in solvers if solver not in (None, "z3")}


def version(solver: str) -> str:
    """A solver with its version."""
    return f"Z3 {z3.get_version_string()}" if solver == "z3" else f"{solver} {metadata.version(solver)}"


def document(answer: ProofAnswer, code: int) -> dict[str, Any]:
    """A proof as plain values."""
    subject, proof, effort = answer.subject, answer.proof, answer.effort
    meaning = Meaning.of(proof.theory.program)
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": effort.solver,
        "second_solver": answer.second,
        **subject.document(),
        "exit_code": code,
        "complete": not proof.stopped,
        "timeout": effort.timeout,
        "seed": effort.seed,
        "seconds": answer.seconds,
        "behaviour": meaning.behaviour,
        "claims": [_claim(proof, judgement, meaning) for judgement in answer.judgements],
        "bounded_by": proof.bounded(),
        "undeclared": proof.faults(),
        "idle_lemmas": proof.idle_lemmas(),
        "refuted_lemmas": dict(answer.refuted_lemmas),
        "searched": list(answer.searched),
        "not_judged": [claim.id for claim in not_judged(subject, proof.theory, answer.only)],
        "versions": {**report.versions(), "z3": z3.get_version_string(), **_others(effort.solver, answer.second)},
    }


def _claim(proof: Proof, judgement: ClaimJudgement, meaning: Meaning) -> dict[str, Any]:
    property_verdict, cti = judgement.verdict, judgement.counterexample
    return {
        "id": property_verdict.claim,
        "kind": "lemma" if property_verdict.claim in proof.theory.lemmas else property_verdict.kind,
        "digest": meaning.claims.get(property_verdict.claim),
        "verdict": report.WORDS[type(property_verdict.verdict)],
        "bound": property_verdict.verdict.bound if isinstance(property_verdict.verdict, Holds) else None,
        "detail": report.detail(property_verdict),
        "depth": property_verdict.depth,
        "trace": trace_document(property_verdict.verdict),
        "used": proof.core(property_verdict.claim),
        "rests_on": proof.support(property_verdict.claim),
        "counterexample": None if cti is None else {"reach": cti.reach, "where": cti.where},
        "queries": [
            {"action": a.obligation.action, "result": a.result, "seconds": a.seconds, "reason": a.reason}
            for a in proof.of(property_verdict.claim)
        ],
    }


MOST_MORE = 3  # so many participants more than the fewest are tried
SECONDS = 10.0  # how long one query may take


def smallest_steps(request: ProofRequest, proof: Proof, claims: Sequence[str]) -> Mapping[str, tuple[int, Trace]]:
    """For each open claim the step with few that breaks it, and how many more than the fewest.

    Raises:
        EngineDisagreement: when ints do not confirm a step.
    """
    steps: dict[str, tuple[int, Trace]] = {}
    for more in range(MOST_MORE + 1):
        if not (pending := [claim for claim in claims if claim not in steps]) or passed():
            break
        few = traced(request.of_more(more), theory)
        for answer in _refuted(few, proof, pending):
            steps.setdefault(answer.obligation.claim, (more, replay_countermodel(few, answer, _known(few, proof))))
    return steps


def _known(few: Theory, proof: Proof) -> list[str]:
    """The invariants that the proof assumes, of those that there are with few participants."""
    assumed = proof.assumed()
    return [claim.id for claim in few.invariants if claim.id in assumed]


def _refuted(few: Theory, proof: Proof, claims: Sequence[str]) -> Iterator[ObligationAnswer]:
    """The answers of few participants that have a countermodel, to what is not proven of some claims."""
    known, questions = _known(few, proof), Questions(few)
    failing = {answer.obligation for claim in claims for answer in proof.failures(claim)}
    pending = [obligation for obligation in obligations(few, claims) if obligation in failing]
    for action, group in itertools.groupby(pending, key=lambda obligation: obligation.action):
        effort = Effort(within(SECONDS))
        session = SolverSession(questions, questions.premises(action, known), effort, time.monotonic)
        yield from (answer for obligation in group if (answer := session.ask(obligation)).result == REFUTED)


NO_SEARCH = "--search 0"  # why nothing was explored, where the user says so
Explorer = Callable[[Program, int], Exploration]  # a search of at most so many states

FIRST_STATES = 100_000
"""States that are explored first where runs have only to show what claims speak of: such runs are short."""


def search_evidence(request: ProofRequest, proof: Proof, most: int, explore: Explorer) -> SearchEvidence:
    """The search that a proof needs, of so many states; none without counterexamples, and nothing to be shown."""
    of_any = request.of_any()
    wanted = of_any or any(answer.result == REFUTED for claim in proof.targets for answer in proof.of(claim))
    if not wanted and not needs_case(proof.theory, proof.targets):
        return SearchEvidence()
    if proof.stopped:
        return SearchEvidence(reason=proof.stop_reason)
    if not most or passed():
        none = SearchEvidence(reason=NO_SEARCH if not most else "no time is left")
        return with_smallest(request, proof, none, {}) if of_any and not passed() else none
    if of_any:
        return _of_numbers(request, proof, most, explore)
    first = of_scope(request, min(most, FIRST_STATES), explore)
    if all(one.cut is None for one in first.searches) or (not wanted and not _open(proof, first)):
        return first
    few: tuple[Exploration, ...] = ()
    if not wanted and (fewer := request.of_few()) is not None:
        few = (explore(program(with_lemmas(fewer)), most),)
        evidence = evolve(first, others=(*first.others, *few))
        if not _open(proof, evidence):
            return evidence
    whole = of_scope(request, most, explore)
    return evolve(whole, others=(*whole.others, *few))


def _open(proof: Proof, evidence: SearchEvidence) -> bool:
    """Whether a claim is proven of which no run shows what it speaks of, or neither proven nor refuted."""
    program, lemmas = proof.theory.program, proof.theory.lemmas

    def is_open(name: str) -> bool:
        if not proof.proven(name):
            return evidence.refutation(name) is None
        return unshown(program, proof.theory.claim(name), evidence, name in lemmas) is not None

    return any(map(is_open, proof.targets))


def needs_case(subject: Theory, claims: Iterable[str]) -> bool:
    """Whether a run has to show what one of some claims speaks of, or a step."""
    asked = [*map(subject.claim, claims)]
    of_steps = must_show_a_step(subject.program) and any(one.kind == "step" for one in asked)
    return of_steps or any(one.id in subject.program.premises or one.case for one in asked)


def of_scope(request: ProofRequest, most: int, explore: Explorer) -> SearchEvidence:
    """The search of the scope that was proven; where explorers do not take a bound, with the largest that they take."""
    beyond = request.beyond_searches()
    try:
        explored_program = program(with_lemmas(request.of_more(0) if beyond else request.subject(proof=False)))
    except (Refusal, LayoutError) as error:
        return SearchEvidence(reason=f"the explorer has no such scope: {error}")
    explored = explore(explored_program, most)
    if not beyond:
        return SearchEvidence(explored)
    return SearchEvidence(reason=f"the explorer takes no such {', '.join(beyond)}", others=(explored,))


def _of_numbers(request: ProofRequest, proof: Proof, most: int, explore: Explorer) -> SearchEvidence:
    """Searches with few brokers, for a proof about any number: the fewest always, one more where claims stay open.

    What is proven for any number has to hold there too. What is not may be refuted there. A claim is open also while no
    run shows what it speaks of. Where a counterexample to induction needs more brokers, so many are explored as well.
    """
    searches: dict[int, Exploration] = {}
    for more in (0, 1):
        searches[more] = explore(program(with_lemmas(request.of_more(more))), most)
        evidence = SearchEvidence(others=tuple(searches.values()))
        if not _open(proof, evidence):
            return evidence
    return with_smallest(request, proof, evidence, searches, lambda traced: explore(traced, most))


def with_smallest(
    request: ProofRequest, proof: Proof, evidence: SearchEvidence, searches: dict[int, Exploration],
    explore: Callable[[Program], Exploration] | None = None,
) -> SearchEvidence:  # fmt: skip
    """Evidence with the smallest counterexample of each open claim, from searches with few by how many more."""
    unproven = [claim for claim in proof.targets if not proof.inductive(claim) and evidence.refutation(claim) is None]
    steps = smallest_steps(request, proof, unproven)
    for more in sorted({more for more, _ in steps.values()} - {*searches}):
        if explore is not None and not passed():
            searches[more] = explore(program(with_lemmas(request.of_more(more))))
    located = {}
    for claim, (more, step) in steps.items():
        numbers = request.of_more(more).setting.text()
        located[claim] = locate(step, proof.theory.claim(claim), searches.get(more), evidence.reason, numbers)
    return evolve(evidence, others=tuple(searches.values()), smallest=located)


def with_lemmas(chosen: Subject) -> Subject:
    """The subject with its lemmas as properties, so that the explorer judges them too; without what no proof judges."""
    claims = (*chosen.system.properties(chosen.setting), *chosen.system.lemmas(chosen.setting))
    judged_ = [claim for claim in claims if claim.kind not in ("recovers", *LIVENESS)]
    return evolve(chosen, system=evolve(chosen.system, properties=lambda _: judged_))


MOST_STATES = 5_000_000
"""States explored for runs to counterexamples, and to what a claim speaks of, unless the user says otherwise."""


def run_proof(
    request: ProofRequest, effort: Effort, only: Sequence[str], workers: int, quiet: bool | None,
    cluster: Cluster | None = None,
) -> Proof:  # fmt: skip
    """Prove with progress on standard error; Ctrl-C and SIGTERM cut it. `quiet` is None where Python asks."""
    request.compare()
    asked = request if cluster is None else request.carried()
    build: TheoryBuilder = functools.partial(ProofRequest.build, asked)
    ask = functools.partial(
        prove, build, effort=effort, clock=time.monotonic, only=only, few=asked.builders(),
        workers=workers if cluster is None else functools.partial(cluster.executor, bool(quiet)),
    )  # fmt: skip
    with faults_refused(request.subject):
        if quiet is None:
            return interruptible(lambda stop: ask(stop=stop))
        with stop_flag() as stop, progress_tally(quiet, "queries") as tally:
            begun = threading.Event()
            begun.set()
            told = ask if tally is None else functools.partial(ask, progress=tally)
            return run_interruptibly(lambda: told(stop=stop), stop, begun)


def check_only(name: str, subject_: Theory, only: Sequence[str], invariants: Sequence[str] = ()) -> tuple[str, ...]:
    """The ids to judge, those of expressions too; refuses ids that are no claim, and a theory without claims."""
    check_ids(only)
    claims = [claim.id for claim in subject_.claims]
    if not claims:
        raise Refusal(f"{name} has no claim to prove: prove judges neither goals, `recovers` nor liveness; "
                      "give it one of `always` or `step`, or ask `kraftcheck explore`")  # fmt: skip
    for id_ in only:
        if id_ not in claims:
            near = nearest(id_, claims, f"kraftcheck list {name}")
            raise Refusal(f"{name} has nothing to prove named {id_!r} at this setting; {near}")
    return with_added(only, [text.strip() for text in invariants])


@frozen
class ProofQuestion:
    """The question for a prover: which claims hold after any number of steps."""

    request: ProofRequest  # what is to be proven
    effort: Effort  # of each query
    only: Sequence[str] = ()  # the claims that are asked for; none: all
    workers: int = 1  # processes
    # of the search beside the proof; its `max_states` is 0 for none
    budget: SearchBudget = field(factory=lambda: search_budget(max_states=MOST_STATES, keep=True))
    # whether no progress is shown; None where Python asks, whose Ctrl-C is raised in the caller
    quiet: bool | None = None
    cluster: Cluster | None = None  # what answers the queries, a few of one action a task; None: this machine

    def answer(self) -> ProofAnswer:
        """The proof with its judgements, in its own seconds; raises Refusal for a fault, EngineDisagreement."""
        start = time.monotonic()
        proof = run_proof(self.request, self.effort, self.only, self.workers, self.quiet, self.cluster)
        seconds = time.monotonic() - start
        evidence = search_evidence(self.request, proof, self.budget.max_states or 0, self._explore)
        judgements = judge(proof, evidence)
        timely = [evolve(one, verdict=evolve(one.verdict, verdict=overdue(one.verdict.verdict))) for one in judgements]
        chosen = self.request.subject()
        return ProofAnswer(
            chosen, proof, tuple(timely), seconds, self.effort, tuple(self.only), self.workers,
            searched=tuple(("the first " if one.cut else "all ") + sized(one) for one in evidence.searches),
            refuted_lemmas=refuted_lemmas(proof, evidence),
        )  # fmt: skip

    def _explore(self, traced: Program, most: int) -> Exploration:
        budget = evolve(self.budget, max_states=most)
        if self.quiet is None:
            return interruptible(lambda stop: search(traced, budget, stop))
        return run(traced, budget, self.quiet)
