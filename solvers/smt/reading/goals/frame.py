"""The frame of a step: the words of a state that it is proven to leave as they are.

A rule may compute anew what the step cannot change: who leads after an ISR was altered is elected
again, and is who led. Where a prover knows that, all that depends on it is as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.solvers.smt.queries import PROVEN, Effort, Questions
from kraftcheck.solvers.smt.reading.goals.decisions import Equal
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine

FRAME_RESOURCES = 5_000_000
"""What Z3 may do to prove that a word stays: it only saves time."""


@frozen
class Frame:
    """What a step leaves as it is.

    Attributes:
        facts: each word after the step, and the word before it that is equal.
        core: the premises that their proofs used.
    """

    facts: Sequence[Equal] = ()
    core: frozenset[str] = frozenset()


def frame_of(questions: Questions, action: str, assumed: Sequence[str]) -> Frame:
    """The words that a step of an action leaves as they are.

    Args:
        questions: of the theory.
        action: its name.
        assumed: the invariants that are assumed before the step.
    """
    program = questions.subject.program
    premises = questions.premises(action, assumed)
    facts, core = list[Equal](), set[str]()
    for before, after in zip(program.state, questions.after(action), strict=True):
        if before is after or "sequence" in (before.op, after.op) or after.op == "const":
            continue
        stays = program.graph.lift(program.graph.apply("eq", after, before))
        answer = QuantifiedEngine(premises, Effort(resources=FRAME_RESOURCES)).refute([stays])
        if answer.result == PROVEN:
            facts.append((after, before))
            core.update(answer.core)
    return Frame(facts, frozenset(core))
