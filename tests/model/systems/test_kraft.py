"""The `kraft` system: the halves and two partitions stay together, and some defects show only there."""

import functools
import time

import pytest

from kraftcheck.model.language.system import Setting
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.kraft.pair import EITHER, SETTLED, SHARED
from kraftcheck.model.systems.kraft.second import OF_PARTITION, OF_REPLICA
from kraftcheck.model.systems.kraft.system import DISKS
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from tests.shared.samples import one_in

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


ONLY_WITH_TWO = (
    "unfence-awaits-one-partition", "failure-moves-one-partition", "min-isr-from-first-partition",
    "deleted-partition-stays-indexed",
)  # fmt: skip


def setting(rules: str = "fixed", **bounds: int) -> Setting:
    """The scope `pair` with other bounds."""
    given = {name.replace("_", "-"): value for name, value in bounds.items()}
    return KRAFT.setting("pair", given, parse(rules))


def refuted(found: Exploration) -> dict[str, int]:
    """Refuted properties, with the lengths of their traces."""
    return {v.claim: len(v.verdict.trace.steps) for v in found.verdicts if isinstance(v.verdict, Refuted)}


@pytest.mark.parametrize("variant", one_in(4, ONLY_WITH_TWO))
def test_one_partition_does_not_show_it(variant: str) -> None:
    """In the scope with one partition the same variant adds no step and changes none."""
    one = {"failures": 1, "fences": 0, "records": 1}
    wrong = trace(KRAFT, KRAFT.setting("tiny", one, parse(f"fixed+{variant}")))
    right = trace(KRAFT, KRAFT.setting("tiny", one, parse("fixed")))
    a, b = (explore(program, SearchBudget(threads=1), clock=time.perf_counter) for program in (wrong, right))
    assert sorted(a.states()) == sorted(b.states())
    assert (a.generated, refuted(a)) == (b.generated, {})


def test_what_brokers_have_is_shared() -> None:
    """The second partition has fields of its own for nothing that belongs to a broker."""
    (begin,) = KRAFT.initial(setting())
    (second,) = begin.others
    seen = second.placement(begin.placement())
    for name in ("registered", "fenced", "online_dirs"):
        assert getattr(seen.controller, name) == getattr(begin.data.controller, name)
        assert name not in OF_PARTITION
    for name in ("up", "seen", "disks", "failed", "told", "answered"):
        assert [getattr(h, name) for h in seen.hosts] == [getattr(h, name) for h in begin.hosts]
        assert name not in OF_REPLICA
    assert second.after(seen) == second


def test_guards_are_those_of_directories() -> None:
    """What is joined by name, and the actions that are shared, exist in `directories`."""
    at = setting("fixed+failure-reported-once+reported-while-in-flight", moves=1, copies=1)
    assert set(SHARED) <= {*DISKS, "start"}
    actions = {action.name: action for action in KRAFT.actions(at)}
    (begin,) = KRAFT.initial(at)
    named = set()
    for action in actions.values():
        named |= set(action.guards(begin, {name: values[0] for name, values in action.parameters.items()}))
    assert {*EITHER, *SETTLED} <= named
