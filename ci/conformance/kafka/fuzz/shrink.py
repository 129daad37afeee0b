"""Shrinking: a sequence that differs is shortened by Hypothesis to one that differs in the same way.

What is drawn is a mask over the steps of the sequence. A zero leaves a step out; Hypothesis looks for the mask with
most zeros.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable

from kraftcheck.ci.conformance.kafka.fuzz.draws import Plan
from kraftcheck.ci.conformance.kafka.fuzz.run import FuzzDifference, FuzzProcess, differs
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.ruleset import RuleSet

ATTEMPTS = 200
"""Masks that are drawn at most, until one leaves the difference as it is."""

HIGHEST_BIT = 63
"""A mask is drawn as numbers up to this, of which only 0 counts as a zero: most of them keep most of a sequence."""


def shortened(kafka: FuzzProcess, version: str, rules: RuleSet, difference: FuzzDifference) -> FuzzDifference:
    """The shortest sequence that Hypothesis finds with a difference of the same cause.

    Raises:
        Refusal: where Hypothesis is not installed.
    """
    best = difference

    def attempt(plan: Plan) -> bool:
        nonlocal best
        again = differs(kafka, version, rules, plan)
        if again is None or again.cause != difference.cause:
            return False
        best = min(again, best, key=lambda known: len(known.exchanges))
        return True

    steps = difference.plan.steps[: difference.exchanges[-1].step + 1]
    _shrink(Plan(difference.plan.brokers, steps), attempt)
    return best


Mask = tuple[bool, ...]


def _masked(plan: Plan, mask: Mask) -> Plan:
    return Plan(plan.brokers, tuple(step for step, keep in zip(plan.steps, mask, strict=True) if keep))


def _shrink(plan: Plan, attempt: Callable[[Plan], bool]) -> None:
    """Attempt the plan under masks with ever more zeros."""
    try:
        from hypothesis import HealthCheck, Phase, Verbosity, find, settings
        from hypothesis.errors import NoSuchExample
        from hypothesis.strategies import integers, lists
    except ImportError as error:
        raise Refusal(f"shrinking needs Hypothesis ({error}); pip install 'kraftcheck[test]'") from error
    options = settings(
        max_examples=ATTEMPTS, database=None, deadline=None, derandomize=True, phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    size = len(plan.steps)
    masks = lists(integers(0, HIGHEST_BIT).map(bool), min_size=size, max_size=size).map(tuple)
    # No mask that differs is not an error: the sequence stays as it was drawn.
    with contextlib.suppress(NoSuchExample):
        find(masks, functools.cache(lambda mask: attempt(_masked(plan, mask))), settings=options)
