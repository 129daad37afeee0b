"""The `kraft` system: the halves stay together, machine code agrees with ints, and its claims can fail."""

from __future__ import annotations

import functools
import time

import pytest

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kraft.both import OF_DATA, OF_DISKS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.samples import few, one_in
from tests.shared.successors import agree_with_ints

KRAFT = SYSTEMS["kraft"]

REFUTES = {
    "failure-recreates-log": {"leader-complete": 5, "candidates-complete": 5, "no-survivor-passed-over": 8},
    "unclean-election-unasked": {
        "leader-complete": 6, "candidates-complete": 6, "no-survivor-passed-over": 6, "loss-is-paid-for": 4,
        "unclean-only-when-allowed": 4,
    },
    "hw-uses-committed-isr-only": {"leader-complete": 9, "candidates-complete": 7, "acknowledged-survives-disks": 12},
    "fenced-may-join-isr": {"isr-active": 5},
    "leader-change-keeps-epoch": {"epochs-monotone": 1, "one-leader-per-epoch": 1},
    "offline-directory-leader-kept": {
        "leader-directory-online": 2, "isr-directory-online": 2, "failure-leads-away": 2,
    },
    "one-directory-means-all-online": {
        "leader-directory-online": 4, "isr-directory-online": 4, "failure-leads-away": 5,
    },
    "failure-reported-once": {"failure-leads-away": 2, "told-is-told": 2},
    "reported-while-in-flight": {"told-is-told": 1},
}  # fmt: skip
"""What variants break in `tiny`, with the lengths of shortest traces."""


TWO_PASSES = {"decided-on-latest": 6}
"""What entry 13 of the catalogue breaks in `moves`."""


@functools.cache
def explored(rules: str) -> Exploration:
    """The scope `tiny` under a rule set."""
    setting = KRAFT.setting("tiny", rules=parse(rules))
    return explore(trace(KRAFT, setting), SearchBudget(threads=1, memory=4 << 30), clock=time.perf_counter)


def refuted(found: Exploration) -> dict[str, int]:
    """Refuted properties, with the lengths of their traces."""
    return {v.claim: len(v.verdict.trace.steps) for v in found.verdicts if isinstance(v.verdict, Refuted)}


@pytest.mark.parametrize("variant", one_in(6, REFUTES))
def test_a_defect_breaks_what_is_known_of_it(variant: str) -> None:
    """Exactly the named properties, with traces of just these lengths."""
    assert refuted(explored(f"fixed+{variant}")) == REFUTES[variant]


def test_an_intruder_moves_replicas() -> None:
    """Without the permission check anybody assigns a replica to another directory, in one step."""
    setting = KRAFT.setting("tiny", {"failures": 0, "fences": 0}, parse("fixed+assignment-unauthorized"))
    found = explore(trace(KRAFT, setting), SearchBudget(threads=1), clock=time.perf_counter)
    assert refuted(found)["assigned-by-its-broker"] == 1


@pytest.mark.slow
def test_two_passes_on_one_base_are_found() -> None:
    """An assignment to a directory that is offline writes two records, the second decided on a stale partition."""
    setting = KRAFT.setting("moves", rules=parse("fixed+passes-share-one-base"))
    assert refuted(explore(trace(KRAFT, setting), SearchBudget(threads=1), clock=time.perf_counter)) == TWO_PASSES


def test_mended_rules_hold() -> None:
    """Everything holds, every goal is reached, and no bound prunes."""
    found = explored("fixed")
    assert [v.claim for v in found.verdicts if not isinstance(v.verdict, Holds)] == []
    assert (found.cut, dict(found.pruned)) == (None, {})


def test_every_claim_names_what_breaks_it() -> None:
    """The variants that a property names are known to refute it."""
    known = {**REFUTES, "assignment-unauthorized": {"assigned-by-its-broker": 1}, "passes-share-one-base": TWO_PASSES}
    claims = {claim.id: claim for claim in KRAFT.properties(KRAFT.setting("tiny", rules=parse("fixed")))}
    assert {*OF_DATA, *OF_DISKS} <= set(claims)
    for claim in claims.values():
        for name in claim.refuted_by:
            assert claim.id in known[name]


def test_halves_agree_in_every_reachable_state() -> None:
    """A process runs in both halves or in neither, and a broker without a log on any disk has an empty one."""
    found = explored("fixed")
    layout = found.program.layout
    for packed in list(found.states())[::50]:
        state = layout.unpack(packed)
        for host, broker in zip(state.hosts, state.data.brokers, strict=True):
            assert host.up == broker.running()
            assert host.whole == host.logs
            assert not host.logs.is_empty() or broker.log.end() == 0


def test_machine_code_agrees_with_ints() -> None:
    """All action instances have the same result both ways, in a sample of states."""
    found = explored("fixed")
    program = found.program
    sample = list(found.states())[::1000]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))
