"""Dispatch of a vector to the function that runs it."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.ci.conformance.vectors import brokers, changes, partitions, placements, reassignments, sessions
from kraftcheck.ci.conformance.vectors.core import (
    FAILED,
    UNSUPPORTED,
    Function,
    Vector,
    VectorDifference,
    VectorOutcome,
    judge,
)
from kraftcheck.ci.conformance.vectors.reassignments import read_partition, write_partition
from kraftcheck.ci.conformance.vectors.scenarios import run as scenarios
from kraftcheck.model.partition.registration import DirectoryMismatch
from kraftcheck.model.rules.ruleset import RuleSet

FUNCTIONS: Mapping[str, Function] = {
    **changes.FUNCTIONS,
    **reassignments.FUNCTIONS,
    **partitions.FUNCTIONS,
    **brokers.FUNCTIONS,
    **sessions.FUNCTIONS,
    **placements.FUNCTIONS,
    **scenarios.FUNCTIONS,
}
"""Every function that is supported, by name."""


def function_of(vector: Vector) -> Function | None:
    """The function that runs a vector, or None.

    Partitions and registrations share a function name; what is given tells them apart.
    """
    function = FUNCTIONS.get(vector.function)
    for subject in ("partition", "registration"):
        if function is None and vector.given.has(subject):
            function = FUNCTIONS.get(f"{subject}.{vector.function}")
    return function


def run_vector(vector: Vector, rules: RuleSet, before: Vector | None = None) -> VectorOutcome:
    """Run one vector.

    Args:
        vector: what to run.
        rules: the rule set to run it under.
        before: the vector whose result it says that it starts from, if at hand.

    Raises:
        FormError: when the vector is malformed, naming the key.
    """
    function = function_of(vector)
    if function is None:
        return VectorOutcome(UNSUPPORTED, reason=f"unknown function {vector.function}")
    outcome = judge(function, vector, rules)
    if before is None or outcome.status == UNSUPPORTED:
        return outcome
    broken = _broken_chain(vector, before, rules)
    return VectorOutcome(FAILED, (*outcome.differences, *broken)) if broken else outcome


def _broken_chain(vector: Vector, before: Vector, rules: RuleSet) -> tuple[VectorDifference, ...]:
    """Where the state that a vector starts from is not what the vector before leads to."""
    try:
        state = changes.state_after(before, rules)
    except DirectoryMismatch as mismatch:
        return (VectorDifference("given.partition", "the state before", str(mismatch)),)
    if state is None:
        return ()
    expected, actual = write_partition(vector.given.read("partition", read_partition)), write_partition(state)
    differing = (key for key in expected if expected[key] != actual[key])
    return tuple(VectorDifference(f"given.partition.{key}", expected[key], actual[key]) for key in differing)
