"""Workers: who answers obligations, and with which premises first.

A claim about any number of participants is proven from few invariants, and each
that is assumed besides costs instances at every place of interest. Which are
needed a proof with few participants tells at once: its unsat core. So those are
assumed first, then those that are short as well, and all only in the end. A
proof from fewer premises is a proof; what none of them proves is asked from all.
Where claims speak of three places together, they are quantifiers of Z3 at first,
which chooses places from its models, and are asked part by part (`kraftcheck.solvers.smt.reading.goals`);
their instances are asked after that. Claims about any epoch and offset too have no such instances, for
these are too many. There a second proof with few participants, without the bounds of the first,
tells what else is needed: what the bounds said by themselves.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import z3
from attrs import define, evolve

from kraftcheck.model.language.system import Property
from kraftcheck.model.language.terms import Term
from kraftcheck.properties.kinds import STAYS
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.smt.queries import (
    AFTER,
    PREMISE,
    PROVEN,
    REFUTED,
    UNDECIDED,
    Clock,
    Countermodel,
    Effort,
    FieldsLeft,
    Obligation,
    ObligationAnswer,
    Premises,
    Questions,
    SolverAnswer,
    fields_left,
    new_solver,
)
from kraftcheck.solvers.smt.reading.goals.proof import STEP
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, EndlessEngine, conjuncts_of
from kraftcheck.solvers.smt.theory import DOMAINS, INITIATION, Theory
from kraftcheck.solvers.smt.z3terms import conjunction, value_of

MARK = "premise!"  # prefix of the literals; no field's path has it


class BitwuzlaEngine:
    """Some premises, and what Bitwuzla says to goals; each goal is a query of its own.

    Raises:
        LoweringError: where a word has no bound.
    """

    def __init__(self, premises: Premises, effort: Effort) -> None:
        if premises.numbers():
            raise LoweringError("bitwuzla knows bit-vectors only, and a field here has no bound; use Z3")
        self._premises, self._effort = premises, effort
        self._module: Any = importlib.import_module("bitwuzla")
        self._marks = {f"{MARK}{number}": name for number, name in enumerate(premises.truths)}

    def check(self, goal: Any) -> SolverAnswer:
        """See `kraftcheck.solvers.smt.worker.Engine.check`."""
        module, options = self._module, self._module.Options()
        options.set(module.Option.TIME_LIMIT_PER, self._effort.milliseconds())
        options.set(module.Option.SEED, self._effort.seed)
        options.set(module.Option.PRODUCE_MODELS, True)
        options.set(module.Option.PRODUCE_UNSAT_ASSUMPTIONS, True)
        parser = module.Parser(module.TermManager(), options)
        parser.parse(self._text(goal), True, False)
        solver, declared = parser.bitwuzla(), {name.symbol(): name for name in parser.get_declared_funs()}
        result = solver.check_sat(*(declared[mark] for mark in self._marks))
        if result == module.Result.UNSAT:
            return SolverAnswer(
                PROVEN, core=tuple(self._marks[mark.symbol()] for mark in solver.get_unsat_assumptions())
            )
        if result != module.Result.SAT:
            return SolverAnswer(UNDECIDED, reason=f"bitwuzla says {result}")
        pairs = zip(self._premises.names, self._premises.symbols, strict=True)
        return SolverAnswer(REFUTED, values=tuple(_value(solver, term, declared.get(s.sexpr())) for term, s in pairs))

    def _text(self, goal: Any) -> str:
        """The premises, each behind its literal, and the negated goal."""
        solver = z3.Solver(ctx=goal.ctx)
        for mark, premise in zip(self._marks, self._premises.truths.values(), strict=True):
            solver.add(z3.Implies(z3.Bool(mark, goal.ctx), premise))
        solver.add(z3.Not(goal))
        return f"(set-logic QF_BV)\n{solver.to_smt2()}"


def _value(solver: Any, term: Term, symbol: Any) -> int:
    """The value of a symbol in Bitwuzla's model; 0 where the query does not have it."""
    if symbol is None:
        return 0
    constant = solver.get_value(symbol)
    if term.is_truth:
        return int(constant.value())
    value, width = int(constant.value(10)), symbol.sort().bv_size()
    return value - (1 << width) if term.lo < 0 and value >> width - 1 else value


PARTS = {"z3": 12, "bitwuzla": 84}
"""Conjuncts of a claim that each solver is asked for at a time: the hard ones of many brokers together cost more than
apart, but Bitwuzla reads the premises anew for each query."""

ALONE = 1
"""As many of a claim about any number: each names places of its own, and every place has instances of all premises."""


class SolverEngine(Protocol):
    """A solver that holds some premises."""

    def check(self, goal: Any) -> SolverAnswer:
        """Whether the premises imply a goal, a Z3 truth of the context that the premises are in."""


class SolverSession:
    """One solver for several obligations that share their premises.

    Args:
        questions, premises, effort, clock: whose obligations, what they share, limits of each query, and seconds.
    """

    def __init__(self, questions: Questions, premises: Premises, effort: Effort, clock: Clock) -> None:
        self._questions, self._premises, self._clock = questions, premises, clock
        self._names = {premise.get_id(): name for name, premise in premises.truths.items()}
        self._part = ALONE if premises.endless() else PARTS[effort.solver]
        self._engine: SolverEngine | EndlessEngine
        if premises.endless():
            self._engine = EndlessEngine(premises, effort, questions.read, clock)
        else:
            self._engine = (BitwuzlaEngine if effort.solver == "bitwuzla" else Z3Engine)(premises, effort)

    def ask(self, obligation: Obligation) -> ObligationAnswer:
        """The solver's answer to an obligation."""
        start, goal = self._clock(), self._questions.goal(obligation)
        premise = self._names.get(goal.get_id())
        if premise is not None or z3.is_true(goal):
            return ObligationAnswer(obligation, PROVEN, self._clock() - start, () if premise is None else (premise,))
        answer = self._check(goal, self._questions.goals(obligation))
        seconds, width = self._clock() - start, self._premises.width
        assignment = None if answer.values is None else Countermodel(answer.values[:width], answer.values[width:])
        return ObligationAnswer(
            obligation, answer.result, seconds, tuple(sorted(answer.core)), assignment, answer.reason
        )

    def _check(self, goal: Any, terms: Sequence[Term]) -> SolverAnswer:
        """Whether the premises imply a goal, which is that some terms hold: its conjuncts, until some are not proven.

        A few are asked for at a time.
        """
        engine, core = self._engine, set[str]()
        parts: Sequence[Any]
        implied: Callable[[Sequence[Any]], SolverAnswer]
        if isinstance(engine, EndlessEngine):
            parts, implied = conjuncts_of(terms), engine.refute
        else:
            parts, implied = conjuncts(goal), lambda part: engine.check(conjunction(part))
        for start in range(0, len(parts), self._part):
            answer = implied(parts[start : start + self._part])
            if answer.result != PROVEN:
                return answer
            core.update(answer.core)
        return SolverAnswer(PROVEN, core=tuple(core))

    def fields_left(self, action: str, or_capped: bool = False) -> FieldsLeft:
        """The fields that a step of an action is not shown to leave within their domain, or (`or_capped`) its caps."""
        bounds, read = self._questions.bounds_of(action, or_capped), self._questions.read
        return fields_left({name: self._check(read.expression(term), [term]) for name, term in bounds.items()})


class Z3Engine:
    """Z3 in a context of its own, so that other queries do not slow it down."""

    def __init__(self, premises: Premises, effort: Effort) -> None:
        self._premises, self._effort = premises, effort
        self._begin()

    def _begin(self) -> None:
        """A solver with the premises."""
        premises = self._premises
        self._context = z3.Context()
        self._truths = z3.And(z3.BoolVal(True), *premises.truths.values()).translate(self._context).children()[1:]
        self._solver = new_solver(premises, self._effort, self._context)
        self._tracked = {f"p{number}": name for number, name in enumerate(premises.truths)}
        self._literals = [z3.Bool(mark, self._context) for mark in self._tracked]
        for literal, premise in zip(self._literals, self._truths, strict=True):
            self._solver.add(z3.Implies(literal, premise))

    def check(self, goal: Any) -> SolverAnswer:
        """See `Engine.check`."""
        denial = z3.Not(goal.translate(self._context))
        self._solver.push()
        self._solver.add(denial)
        answer = self._answer(denial)
        self._solver.pop()
        if answer.result == UNDECIDED:
            # What is cut in the middle of reading its assertions may have lost some of them.
            self._begin()
        return answer

    def _answer(self, denial: Any) -> SolverAnswer:
        result = self._solver.check(*self._literals)
        if result == z3.unsat:
            return SolverAnswer(PROVEN, core=tuple(self._tracked[str(mark)] for mark in self._solver.unsat_core()))
        if result != z3.sat:
            return SolverAnswer(UNDECIDED, reason=self._solver.reason_unknown())
        model = self._solver.model()
        if not holds_of([*self._truths, denial], model):
            return SolverAnswer(UNDECIDED, reason="the solver was cut: its model does not satisfy the query")
        symbols = [symbol.translate(self._context) for symbol in self._premises.symbols]
        values = [value_of(model, term, symbol) for term, symbol in zip(self._premises.names, symbols, strict=True)]
        return SolverAnswer(REFUTED, values=tuple(values))


def holds_of(truths: Sequence[Any], model: z3.ModelRef) -> bool:
    """Whether a model makes all of some truths true."""
    return all(z3.is_true(model.eval(truth, model_completion=True)) for truth in truths)


def conjuncts(truth: Any) -> list[Any]:
    """The truths that a truth is the conjunction of, in order; none of them is a conjunction."""
    result, pending = [], [truth]
    while pending:
        part = pending.pop()
        if z3.is_and(part):
            pending.extend(reversed(part.children()))
        else:
            result.append(part)
    return result


TheoryBuilder = Callable[[], Theory]  # makes the theory anew in a worker process; it must be picklable

SHARES = (0.25, 0.25, 1)
"""Of the time of a query, what each seed has: what takes one seed minutes takes another seconds."""

FEW_SECONDS = 10.0  # how long a query with few participants may take: it only saves time


@define
class ProofWorker:
    """Answers obligations about one theory."""

    # questions, effort, clock: of the theory, of each query, and the seconds from any origin
    questions: Questions
    effort: Effort
    clock: Clock
    # questions about the same system with few participants, and, for claims about three places, with few and without
    # other bounds; none: all invariants are assumed at once
    few: tuple[Questions, ...] = ()

    def answer(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers to obligations about one action, in order."""
        following = {obligation: self._goals.from_others(obligation, assumed) for obligation in batch}
        answers = {obligation: answer for obligation, answer in following.items() if answer is not None}
        rest = [obligation for obligation in batch if obligation not in answers]
        answers |= {answer.obligation: answer for answer in self._from_before(rest, assumed)} if rest else {}
        return [answers[obligation] for obligation in batch]

    @functools.cached_property
    def _goals(self) -> GoalProver:
        return GoalProver(self.questions, self.effort, self.clock)

    def _from_before(self, batch: Sequence[Obligation], assumed: Sequence[str]) -> list[ObligationAnswer]:
        """The answers to obligations about one action, from what holds before it."""
        used = self._used_by(self.few[0], batch, assumed) if self.few else {}
        more = self._used_by(self.few[1], batch, assumed) if self._has_no_instances() else {}
        start, whole, answers = self.clock(), list[SolverSession](), list[ObligationAnswer]()
        for obligation in batch:
            first = self._from_some(obligation, used.get(obligation), more.get(obligation), assumed)
            if first is None and not whole:
                whole.append(self._session(batch[0].action, assumed, self.effort, batch[0].claim not in DOMAINS))
            answers.append(whole[0].ask(obligation) if first is None else evolve(first, seconds=self.clock() - start))
            start = self.clock()
        return [self._with_fields(whole, a, assumed) if a.obligation.claim in DOMAINS else a for a in answers]

    def _has_no_instances(self) -> bool:
        """Whether only quantifiers are asked: the instances of claims about any epoch and offset are too many."""
        return bool(self.few[1:]) and self._goals.is_needed

    def _session(self, action: str, assumed: Sequence[str], effort: Effort, within: bool = True) -> SolverSession:
        premises = self.questions.premises(action, assumed, within)
        return SolverSession(self.questions, premises, effort, self.clock)

    def _used_by(
        self, few: Questions, batch: Sequence[Obligation], assumed: Sequence[str]
    ) -> Mapping[Obligation, list[str]]:
        """The invariants that the proof of each obligation with few participants uses, if it is proven there."""
        action, of = batch[0].action, few.subject
        if action == INITIATION or batch[0].claim in DOMAINS:
            return {}
        if action not in {kind.action.name for kind in of.program.kinds}:
            return {}
        known = [claim.id for claim in of.invariants if claim.id in assumed and not self._follows(claim)]
        claims = {claim.id for claim in of.claims}
        effort = Effort(min(FEW_SECONDS, self.effort.timeout), self.effort.seed, minimise=True)
        session = SolverSession(few, few.premises(action, known), effort, self.clock)
        answers = [session.ask(obligation) for obligation in batch if obligation.claim in claims]
        strangers = {obligation: list[str]() for obligation in batch if obligation.claim not in claims}
        return strangers | {answer.obligation: rests_on(answer) for answer in answers if answer.result == PROVEN}

    def _follows(self, claim: Property) -> bool:
        """Whether a claim says no more than others do, which are assumed instead of it where claims are long."""
        return bool(claim.follows_from) and self._goals.is_needed

    def _from_some(
        self, obligation: Obligation, used: Sequence[str] | None, more: Sequence[str] | None, assumed: Sequence[str]
    ) -> ObligationAnswer | None:
        """An answer from some of the invariants that may be assumed; None where all are to be.

        Args:
            used, more: what its proofs with few participants use; None where they are not proven.
            assumed: what may be assumed.
        """
        if self._is_in_parts(obligation, used):
            answer = self._in_parts(obligation, used, more, assumed)
            if answer.result == PROVEN or self._has_no_instances():
                return answer
        if used is None:
            return None
        first = {obligation.claim, *used, *self._strangers(assumed)}
        return self._from_choices(obligation, (first, first | self._goals.short(assumed)), assumed)

    def _from_choices(
        self, obligation: Obligation, choices: Sequence[Collection[str]], assumed: Sequence[str]
    ) -> ObligationAnswer | None:
        """A proof from one of some choices of invariants, by one of several seeds."""
        open_choices = [[name for name in assumed if name in choice] for choice in choices]
        for number, share in enumerate(SHARES):
            effort = evolve(self.effort, seed=self.effort.seed + number, timeout=self.effort.timeout * share)
            undecided = list[list[str]]()
            for chosen in open_choices:
                answer = self._session(obligation.action, chosen, effort).ask(obligation)
                if answer.result == PROVEN:
                    return answer
                if answer.reason != NOT_SHOWN:  # premises that are too weak are so for every seed
                    undecided.append(chosen)
            open_choices = undecided
        return None

    def _is_in_parts(self, obligation: Obligation, used: Sequence[str] | None) -> bool:
        """Whether an obligation is asked with quantifiers: where instances may be asked, only what few also prove."""
        asked = self._has_no_instances() or used is not None or obligation.claim in DOMAINS
        return asked and bool(self.few) and self._goals.is_needed and obligation.action != INITIATION

    def _in_parts(
        self, obligation: Obligation, used: Sequence[str] | None, more: Sequence[str] | None, assumed: Sequence[str]
    ) -> ObligationAnswer:
        """The answer with quantifiers, from some of the invariants."""
        if obligation.claim in DOMAINS:
            return self._goals.domains(obligation, assumed)
        return self._goals.from_before(obligation, used or (), more or (), self._strangers(assumed), assumed)

    def _strangers(self, assumed: Sequence[str]) -> list[str]:
        """The invariants that few participants do not have."""
        shared = {claim.id for claim in self.few[0].subject.invariants}
        return [name for name in assumed if name not in shared]

    def _with_fields(
        self, whole: Sequence[SolverSession], answer: ObligationAnswer, assumed: Sequence[str]
    ) -> ObligationAnswer:
        """An answer about domains, with the fields that may leave theirs, and what shows that the others stay."""

        def left(or_capped: bool) -> FieldsLeft:
            if whole:
                return whole[0].fields_left(answer.obligation.action, or_capped)
            return self._goals.fields_left(answer.obligation, assumed, or_capped)

        proven = answer.result == PROVEN
        if proven and not self.questions.has_caps(answer.obligation.action):
            return answer
        nothing: FieldsLeft = ((), ())
        (fields, of_fields), (faults, of_faults) = left(False), nothing if proven else left(True)
        core = tuple(sorted({*answer.core, *of_fields, *of_faults}))
        return evolve(answer, fields=fields, faults=faults, core=core)


def proof_worker(subject: Theory, few: Sequence[TheoryBuilder], effort: Effort, clock: Clock) -> ProofWorker:
    """A worker for a theory, which makes those with few participants itself."""
    return ProofWorker(Questions(subject), effort, clock, tuple(Questions(build()) for build in few))


def rests_on(answer: ObligationAnswer) -> list[str]:
    """The invariants that a proof used."""
    names = (name.removeprefix(group) for group in (PREMISE, AFTER) for name in answer.core if name.startswith(group))
    return [*dict.fromkeys(names)]


def cites(answer: ObligationAnswer) -> list[str]:
    """The claims that a proof used: the invariants, and what was proven of the step."""
    names = (name.removeprefix(STEP).removesuffix(STAYS) for name in answer.core if name.startswith(STEP))
    return [*dict.fromkeys([*rests_on(answer), *names])]
