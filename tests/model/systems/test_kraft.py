"""The `kraft` system: the halves stay together, machine code agrees with ints, and its claims can fail."""

from __future__ import annotations

import functools
import time

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace

KRAFT = SYSTEMS["kraft"]


@functools.cache
def explored(rules: str) -> Exploration:
    """The scope `tiny` under a rule set."""
    setting = KRAFT.setting("tiny", rules=parse(rules))
    return explore(trace(KRAFT, setting), SearchBudget(threads=1, memory=4 << 30), clock=time.perf_counter)


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
