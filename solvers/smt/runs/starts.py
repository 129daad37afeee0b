"""Whether there is an initial state at all, where a rule describes them: of none, everything would hold."""

from __future__ import annotations

from collections.abc import Callable

import z3

from kraftcheck.solvers.audit.traced_sample import answered
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.starts import description, given_states, none_described
from kraftcheck.solvers.smt.queries import Effort, Questions, new_solver
from kraftcheck.solvers.smt.theory import INITIATION, Theory

SECONDS = 2.0
"""Most seconds for a description of any number of brokers, which Z3 may not decide."""


def check_described(subject: Theory, effort: Effort, few: Callable[[], Theory] | None = None) -> bool:
    """Refuse a description of initial states that no state satisfies.

    Args:
        subject, effort: the theory, and the limits of the query.
        few: makes that with few participants, where it is about any number.

    Returns:
        Whether there is such a state; False where that is not known, as it may not be of any number.

    Raises:
        SystemFault: for such a description, and for one of bounded fields that Z3 could not decide in time.
    """
    if not subject.program.initially:
        return True
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
    return not endless or (few is not None and _is_of_few(subject, few(), effort))


def _is_of_few(subject: Theory, few: Theory, effort: Effort) -> bool:
    """Whether the initial states with few participants are some that the description of any number is of."""
    if few.program.initially:
        return check_described(few, effort)
    rule = description(given_states(subject.program.system, subject.program.setting))
    told = [answered(rule.holds, few.program.layout.state(one)) for one in few.program.initial] if rule else []
    return bool(told) and all(parts is not None and all(parts.values()) for parts in told)
