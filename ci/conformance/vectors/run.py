"""Which function runs a vector."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.ci.conformance.vectors import brokers, changes, partitions, placements, reassignments, sessions
from kraftcheck.ci.conformance.vectors.core import FAILED, UNSUPPORTED, Difference, Function, Outcome, Vector, judge
from kraftcheck.ci.conformance.vectors.forms import read_partition, write_partition
from kraftcheck.ci.conformance.vectors.scenarios import run as scenarios
from kraftcheck.model.partition.directories import DirectoryMismatch
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
    known = FUNCTIONS.get(vector.function)
    for subject in ("partition", "registration"):
        if known is None and vector.given.has(subject):
            known = FUNCTIONS.get(f"{subject}.{vector.function}")
    return known


def run_vector(vector: Vector, rules: RuleSet, before: Vector | None = None) -> Outcome:
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
        return Outcome(UNSUPPORTED, reason=f"unknown function {vector.function}")
    outcome = judge(function, vector, rules)
    if before is None or outcome.status == UNSUPPORTED:
        return outcome
    broken = _broken_chain(vector, before, rules)
    return Outcome(FAILED, (*outcome.differences, *broken)) if broken else outcome


def _broken_chain(vector: Vector, before: Vector, rules: RuleSet) -> tuple[Difference, ...]:
    """Where the state that a vector starts from is not what the vector before leads to."""
    try:
        reached = changes.state_after(before, rules)
    except DirectoryMismatch as mismatch:
        return (Difference("given.partition", "the state before", str(mismatch)),)
    if reached is None:
        return ()
    given, actual = write_partition(vector.given.read("partition", read_partition)), write_partition(reached)
    differing = (key for key in given if given[key] != actual[key])
    return tuple(Difference(f"given.partition.{key}", given[key], actual[key]) for key in differing)
