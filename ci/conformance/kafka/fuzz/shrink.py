"""Shrinking: steps are left out of a sequence that differs, as long as it differs in the same way."""

from __future__ import annotations

from kraftcheck.ci.conformance.kafka.fuzz.draws import Plan
from kraftcheck.ci.conformance.kafka.fuzz.run import FuzzDifference, FuzzProcess, differs
from kraftcheck.model.rules.ruleset import RuleSet


def shortened(kafka: FuzzProcess, version: str, rules: RuleSet, difference: FuzzDifference) -> FuzzDifference:
    """A sequence with a difference of the same cause, which has no step that can be left out.

    Runs of steps are left out first, each half as long as the ones before; then single steps, until none is left out.
    """
    best, steps = difference, difference.plan.steps[: difference.exchanges[-1].step + 1]
    size = max(1, len(steps) // 2)
    while True:
        at, before = 0, len(steps)
        while at < len(steps):
            plan = Plan(difference.plan.brokers, (*steps[:at], *steps[at + size :]))
            again = differs(kafka, version, rules, plan)
            if again is not None and again.cause == difference.cause:
                best, steps = again, plan.steps[: again.exchanges[-1].step + 1]
            else:
                at += size
        if size == 1 and len(steps) == before:
            return best
        size = max(1, size // 2)
