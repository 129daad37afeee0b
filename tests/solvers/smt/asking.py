"""Theories of any number, premises, and what provers say of an action."""

import functools
import time
from collections.abc import Mapping, Sequence

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import ANY, System
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.induction import obligations
from kraftcheck.solvers.smt.queries import PROVEN, Clock, Effort, Premises, Questions
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.worker import SolverSession
from kraftcheck.solvers.smt.z3terms import Z3Reader


@functools.lru_cache(maxsize=2)
def of_any(system: str, scope: str | None = None, rules: str = "fixed", *bounds: tuple[str, int]) -> Theory:
    """The theory of a shipped system with any number of brokers, and other bounds."""
    chosen = subject(system, scope, {"brokers": ANY, **dict(bounds)}, rules, proof=True)
    return theory(chosen.system, chosen.setting)


def any_theory(system: System) -> Theory:
    """The theory of a system with any number for each bound that takes any."""
    free = {bound.name: ANY for bound in system.bounds if bound.takes_any}
    return theory(system, system.setting(None, free, proof=True))


def premises_of(read: Z3Reader, symbols: Sequence[Term], terms: Mapping[str, Term]) -> Premises:
    """Premises about some symbols, by their names."""
    truths = {name: read.expression(term) for name, term in terms.items()}
    return Premises(truths, tuple(map(read.expression, symbols)), tuple(symbols), len(symbols), terms)


def session(of: Theory, action: str, timeout: float = 60.0, clock: Clock = time.monotonic) -> SolverSession:
    """A session about an action that may assume every invariant."""
    questions = Questions(of)
    premises = questions.premises(action, [claim.id for claim in of.invariants])
    return SolverSession(questions, premises, Effort(timeout=timeout), clock)


def open_claims(of: Theory, action: str, names: Sequence[str], timeout: float = 60.0) -> list[str]:
    """Of some claims those that are not proven of an action."""
    solver = session(of, action, timeout)
    asked = [one for one in obligations(of, names) if one.action == action]
    assert asked
    return [one.claim for one in asked if solver.ask(one).result != PROVEN]


def is_possible(of: Theory, action: str) -> bool:
    """Whether false is not proven of an action: else all that is proven of it says nothing."""
    false = of.program.graph.constant(False)
    return session(of, action)._check(Questions(of).read.expression(false), [false]).result != PROVEN
