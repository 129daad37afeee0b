"""A slow explorer on ints is the oracle: the native one finds the same space and the same shortest witnesses."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from attrs import define, field

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Property, Step, System
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference.confirm import successor
from tests import toys


@define
class Oracle:
    """Breadth-first search on ints with everything the native explorer reports.

    Attributes:
        program: what to explore.
        levels: distinct states by depth.
        depths: for each property the steps of its shortest witness or counterexample.
        fired: transitions taken, by action.
        pruned: number of transitions that left the domain.
        conjuncts: values that each guard conjunct took.
    """

    program: Program
    levels: list[int] = field(factory=list)
    depths: dict[str, int] = field(factory=dict)
    fired: Counter[str] = field(factory=Counter)
    pruned: int = 0
    conjuncts: dict[tuple[str, str], set[bool]] = field(factory=dict)

    def run(self) -> Oracle:
        """Search all levels."""
        seen, level = set(self.program.initial), sorted(self.program.initial)
        while level:
            self.levels.append(len(level))
            following: list[tuple[int, ...]] = []
            for packed in level:
                for after in self.expand(self.program.layout.unpack(packed)):
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
            level = following
        return self

    def note(self, claim: Property, subject: Any, steps: int) -> None:
        """Remember the first occasion of a property."""
        occurs = claim.holds(subject) == (claim.kind in ("sometimes", "happens"))
        if occurs:
            self.depths.setdefault(claim.id, steps)

    def expand(self, state: Any) -> list[tuple[int, ...]]:
        """Judge a state, take its transitions."""
        program, depth = self.program, len(self.levels) - 1
        for claim in (*program.always, *program.sometimes):
            self.note(claim, state, depth)
        enabled, results = False, []
        for instance in range(program.instances):
            action, arguments = program.instance(instance)
            for name, part in action.guards(state, arguments).items():
                self.conjuncts.setdefault((action.name, name), set()).add(bool(part))
            enabled = enabled or bool(action.enabled(state, arguments))
            try:
                step = successor(program, state, instance)
            except DomainError:
                self.pruned += 1
                continue
            if step is None:
                continue
            self.fired[action.name] += 1
            results.append(program.layout.pack(step.state))
            for claim in (*program.steps, *program.happens):
                self.note(claim, Step(state, step.state, step.action, step.arguments, step.event), depth + 1)
        quiescent = program.system.quiescent
        if not enabled and not (quiescent is not None and quiescent(state)):
            self.depths.setdefault(DEADLOCK, depth)
        return results


def agree(system: System, found: Exploration, oracle: Oracle) -> None:
    """Assert that both explorers saw the same."""
    assert list(found.levels) == oracle.levels
    assert {name: count for name, count in found.fired.items() if count} == dict(oracle.fired)
    hidden = {premise.goal for premise in found.program.premises.values()}
    shown = {name: depth for name, depth in oracle.depths.items() if name not in hidden}
    assert {v.claim: v.depth for v in found.verdicts if v.depth is not None} == shown
    assert (sum(found.pruned.values()) > 0) == (oracle.pruned > 0)
    guarded = {action.name for action in system.actions(found.program.setting) if action.guard is not None}
    took = {key: values for key, values in oracle.conjuncts.items() if key[0] in guarded}
    assert set(found.never_true) == {key for key, values in took.items() if True not in values}
    assert set(found.never_false) == {key for key, values in took.items() if False not in values}


SYSTEMS = [toys.CLOCK, toys.DIGRAPH, toys.COUNTER, toys.STUCK, toys.RESTING, toys.TWO_PHASE, toys.HASTY]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_native_and_int_explorers_agree(system: System) -> None:
    """Levels, fired counts, shortest witnesses, deadlocks and coverage are those of a search on ints."""
    program = trace(system, system.setting())
    agree(system, explore(program, SearchBudget(threads=2), clock=time.perf_counter), Oracle(program).run())
