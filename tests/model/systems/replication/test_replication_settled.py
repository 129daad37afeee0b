"""The `replication` system: what is given one value, or not kept, changes no verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from attrs import evolve

from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.replication.settle import settle
from kraftcheck.model.systems.replication.system import unsettled_actions
from kraftcheck.properties.catalogue import REPLICATION
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search.explore import Exploration, explore
from tests.shared.samples import one_in

UNSETTLED = evolve(REPLICATION, actions=unsettled_actions)
"""The system without settling."""

FEW = {"unclean-stops": 0, "shrinks": 0}

CASES = [
    ("fixed", {"unclean-stops": 0}),
    ("kafka-3.9", {"fences": 0, "unclean-elections": 1}),
    ("kip", {**FEW, "clean-stops": 1}),
    ("kafka-4.0", {**FEW, "config-changes": 1}),
    ("fixed+removed-replicas-stay-in-elr", {"unclean-stops": 0, "fences": 0, "reassignments": 1}),
    ("kafka-4.0+stale-truncation-applied", {**FEW, "late-replies": 1}),
    ("fixed+reelected-leader-keeps-ends+unknown-outcome-is-failure", {"unclean-stops": 0}),
]
"""Every kind of event, and rules that read more than the right ones; 2 brokers."""


def explored(system: System, at: Setting) -> Exploration:
    """The whole exploration of a system."""
    return explore(trace(system, at), clock=time.perf_counter, cache_dir=cache_folder())


def setting(rules: str, bounds: Mapping[str, int]) -> Setting:
    """A setting of 2 brokers."""
    return REPLICATION.setting("tiny", bounds, parse(rules))


@pytest.mark.parametrize("case", one_in(8, CASES), ids=[f"{rules} {bounds}" for rules, bounds in CASES])
def test_settling_changes_no_verdict(case: tuple[str, Mapping[str, int]]) -> None:
    """Without settling the reachable states are the same ones once settled, and so are verdicts and shortest traces."""
    rules, bounds = case
    at = setting(rules, bounds)
    plain, settled = explored(UNSETTLED, at), explored(REPLICATION, at)
    assert [(v.claim, type(v.verdict), v.depth) for v in plain.verdicts] == [
        (v.claim, type(v.verdict), v.depth) for v in settled.verdicts
    ]
    layout = settled.program.layout
    found = {layout.pack(settle(layout.unpack(state), at)) for state in plain.states()}
    assert found == set(settled.states())
    assert settled.distinct < plain.distinct
    assert (dict(plain.pruned), dict(settled.pruned)) == ({}, {})
