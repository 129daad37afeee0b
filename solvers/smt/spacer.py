"""Property-directed reachability: Z3's Spacer searches for an inductive strengthening.

States are handed to it bit by bit, which suits it better than bit-vectors.
Komuravelli et al., "SMT-Based Model Checking for Recursive Programs" (2014);
Bradley, "SAT-Based Model Checking without Unrolling" (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3
from attrs import frozen

from kraftcheck.model.language.layout import cap_of
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.symbols import in_domain
from kraftcheck.solvers.program.verdict import Holds, Unknown, Verdict
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.starts import check_described
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction, is_number, width_of


def domain_obligations(program: Program, kind: Kind) -> dict[str, Term]:
    """For each field that an action might take out of its domain where no cap is declared: that it does not."""
    slots, name = program.layout.slots, program.layout.name
    stays = {name(slots[i].path): in_domain(kind.after[i], slots[i].domain, or_capped=True) for i in kind.unchecked}
    return {path: term for path, term in stays.items() if term is not term.graph.constant(True)}


def capped(program: Program) -> list[str]:
    """The fields beyond whose declared cap a step may go."""
    slots = program.layout.slots
    beyond = {i for kind in program.kinds for i in kind.unchecked if kind.after[i].hi > slots[i].domain.hi}
    return [program.layout.name(slots[i].path) for i in sorted(beyond) if cap_of(slots[i].domain)]


def cap_text(path: str) -> str:
    """The words on steps beyond the cap of a field, which are left out."""
    return f"steps beyond the bound on {path} are left out"


def leaves_text(paths: Sequence[str], where: str = "") -> str:
    """The words on fields that may leave their domain: where, and the mend."""
    place = f" {where}" if where else ""
    return "; ".join(f"{path} may leave its domain{place}: widen it, or declare its cap" for path in paths)


@frozen
class Inference:
    """The result of Spacer for a claim."""

    verdict: Verdict  # Holds with a strengthening, else Unknown
    lemma: str = ""  # the strengthening in Z3's words, checked to be inductive; empty without one


def infer(subject: Theory, claim: str, effort: Effort) -> Inference:
    """An inductive strengthening of one invariant, within a time limit.

    What Spacer answers is not trusted: its lemma is checked anew by an ordinary solver.

    Args:
        subject: the theory; its other invariants and its lemmas are not assumed.
        claim: an invariant.
        effort: `timeout` limits the whole search.
    """
    if any(is_number(term) for term in subject.program.state):
        return Inference(Unknown("Spacer is given bits, and a field has no bound"))
    check_described(subject, effort)
    horn = Horn(subject, claim)
    engine = horn.engine(effort)
    try:
        result = engine.query(horn.failed_relation())
    except z3.Z3Exception as error:
        said = error.args[0] if error.args else ""
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        text = f"Spacer found no strengthening in {effort.timeout:g} s"
        return Inference(Unknown(text if reason == "canceled" else f"{text}: {reason}"))
    if result == z3.sat:
        return Inference(Unknown("Spacer reaches a state that breaks it, or leaves a domain; --bmc finds the run"))
    if result != z3.unsat:
        return Inference(Unknown(f"Spacer found no strengthening in {effort.timeout:g} s: {engine.reason_unknown()}"))
    lemma = z3.substitute_vars(engine.get_cover_delta(-1, horn.reached_relation), *horn.bits)
    if not horn.confirms(lemma, effort):
        return Inference(Unknown("Spacer's strengthening is not inductive when checked"))
    return Inference(Holds("any number of steps, by Spacer's strengthening"), z3.simplify(lemma).sexpr())


class Horn:
    """A theory and one claim as Horn clauses over the bits of states.

    Attributes:
        bits: the bits of a state; `later` those of the state after a step.
        reached_relation, failed_relation: the relations: a state is reached, the claim fails.
        steps: for each action the truth that a step leads from the bits to the later ones.
        faults: for each action the truth that a step leaves a domain where no cap is declared.
        holds: the claim's truth.
        starts: truths about the bits; each initial state has one of them.
    """

    def __init__(self, subject: Theory, claim: str) -> None:
        program, self._read = subject.program, Z3Reader()
        paths = [slot.path for slot in program.layout.slots]
        self.bits = [bit for term, path in zip(program.state, paths, strict=True) for bit in self._bits(term, path)]
        self.later = [z3.Bool(f"later {bit}") for bit in self.bits]
        names = [v.graph.variables[v.value] for kind in program.kinds for v in kind.variables]
        variables = [v for kind in program.kinds for v in kind.variables]
        self._arguments = [bit for v, name in zip(variables, names, strict=True) for bit in self._bits(v, name)]
        self.reached_relation = z3.Function("reached", *[z3.BoolSort()] * len(self.bits), z3.BoolSort())
        self.failed_relation = z3.Function("failed", z3.BoolSort())
        self.steps = [self._step(program.state, kind) for kind in program.kinds]
        self.faults = [self._domain_fault(program, kind) for kind in program.kinds if domain_obligations(program, kind)]
        self.holds = bit_blast(self._read.expression(subject.state_truths()[claim]))
        self.starts = self._starts(program)

    def _starts(self, program: Program) -> list[Any]:
        """Truths about the bits, one of which each initial state has."""
        if program.initially:
            domains = [self._read.within(t, t.lo, t.hi) for t in program.state]
            return [bit_blast(conjunction([*domains, *map(self._read.expression, program.initially.values())]))]
        return [
            conjunction(
                [
                    bit == z3.BoolVal(bool(v >> i & 1))
                    for bit, (v, i) in zip(
                        self.bits,
                        [(v, i) for t, v in zip(program.state, state, strict=True) for i in range(_size(t))],
                        strict=True,
                    )
                ]
            )
            for state in program.initial
        ]

    def _bits(self, term: Term, name: str) -> list[Any]:
        """Symbols for the bits of a variable, which is bound to them."""
        if term.is_truth:
            self._read.bind(term, z3.Bool(f"truth {name}"))
            return [z3.Bool(f"truth {name}")]
        bits = [z3.Bool(f"bit {place} of {name}") for place in range(_size(term))]
        self._read.bind(term, self._read.from_bits(bits))
        return bits

    def _step(self, state: Sequence[Term], kind: Kind) -> Any:
        read, places, parts = self._read, iter(self.later), self._enabled(kind)
        for before, after in zip(state, kind.after, strict=True):
            value = read.expression(after)
            if after.is_truth:
                parts.append(next(places) == value)
                continue
            value_bits = read.resize(value, after, _size(before))
            parts += [next(places) == (z3.Extract(i, i, value_bits) == 1) for i in range(_size(before))]
        return bit_blast(conjunction(parts))

    def _enabled(self, kind: Kind) -> list[Any]:
        """The truths by which the argument symbols are an enabled instance of an action."""
        parts = [self._read.within(v, v.lo, v.hi) for v in kind.variables]
        return parts + [self._read.expression(term) for term in (*kind.allowed.values(), *kind.guard.values())]

    def _domain_fault(self, program: Program, kind: Kind) -> Any:
        stays = conjunction([self._read.expression(term) for term in domain_obligations(program, kind).values()])
        return bit_blast(conjunction([*self._enabled(kind), z3.Not(stays)]))

    def engine(self, effort: Effort) -> Any:
        """Spacer with the clauses."""
        engine = z3.Fixedpoint()
        engine.set(engine="spacer", timeout=max(1, int(effort.timeout * 1000)))
        engine.set("spacer.random_seed", effort.seed)
        # Its lemma is wanted for all bits and all clauses: nothing may be sliced off or inlined.
        for transformation in ("xform.slice", "xform.inline_eager", "xform.inline_linear"):
            engine.set(transformation, False)
        engine.register_relation(self.reached_relation, self.failed_relation)
        engine.declare_var(*self.bits, *self.later, *self._arguments)
        for start in self.starts:
            engine.rule(self.reached_relation(*self.bits), [start])
        for step in self.steps:
            engine.rule(self.reached_relation(*self.later), [self.reached_relation(*self.bits), step])
        for failure in (z3.Not(self.holds), *self.faults):
            engine.rule(self.failed_relation(), [self.reached_relation(*self.bits), failure])
        return engine

    def confirms(self, lemma: Any, effort: Effort) -> bool:
        """Whether a lemma holds initially, is kept by every step, and implies the claim and that no step is a fault."""
        after = z3.substitute(lemma, *zip(self.bits, self.later, strict=True))
        refutable = [z3.And(lemma, step, z3.Not(after)) for step in self.steps]
        refutable += [z3.And(lemma, failure) for failure in (z3.Not(self.holds), *self.faults)]
        refutable += [z3.And(start, z3.Not(lemma)) for start in self.starts]
        for truth in refutable:
            solver = z3.Solver()
            solver.set("timeout", max(1, int(effort.timeout * 1000)))
            solver.add(truth)
            if solver.check() != z3.unsat:
                return False
        return True


def _size(term: Term) -> int:
    return 1 if term.is_truth else width_of(term.lo, term.hi)


def bit_blast(truth: Any) -> Any:
    """A truth over bits without bit-vectors."""
    goal = z3.Goal()
    goal.add(truth)
    return conjunction(z3.Then("simplify", "bit-blast", "simplify")(goal)[0])
