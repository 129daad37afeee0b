"""Whether there is an initial state at all, where a rule describes them: of none, everything would hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import z3

from kraftcheck.solvers.audit.numbers import answered
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.starts import description, given_states, none_described
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.theory import INITIATION, Theory

SECONDS = 2.0  # most seconds for a description of any number of brokers, which Z3 may not decide


def check_described(subject: Theory, effort: Effort) -> None:
    """Refuse a description of initial states that no state satisfies.

    Raises:
        SystemFault: for such a description, and for one of bounded fields that Z3 could not decide in time.
    """
    if not subject.program.initially:
        return
    premises = Questions(subject).premises(INITIATION, ())
    endless = premises.endless()
    seconds = min(SECONDS, effort.timeout) if endless else effort.timeout
    solver = new_solver(premises, Effort(seconds, effort.seed), z3.main_ctx())
    solver.add(*premises.truths.values())
    answer = solver.check()
    if answer == z3.unsat:
        raise SystemFault(none_described(subject.program.setting))
    if answer == z3.unknown and not endless:
        raise SystemFault(f"no answer in {seconds:g} s whether initial describes a state: give --timeout more seconds")


def is_of_few(subject: Theory, few: Sequence[Callable[[], Theory]], effort: Effort) -> bool:
    """Whether a state is known to be initial: of a description of any number, that those with few participants are.

    Args:
        subject, effort: the theory, whose description is checked, and the limits of the query.
        few: make that with few participants.
    """
    if not (subject.endless and subject.program.initially):
        return True
    if not few:
        return False
    small = few[0]()
    if small.program.initially:
        check_described(small, effort)
        return True
    rule = description(given_states(subject.program.system, subject.program.setting))
    told = [answered(rule.holds, small.program.layout.state(one)) for one in small.program.initial] if rule else []
    return bool(told) and all(parts is not None and all(parts.values()) for parts in told)
