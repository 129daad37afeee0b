"""The system `elr-index`: its steps agree with the controller in full, and releases are found to resign."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import expire_session, unregister
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, ConfigRecord, Controller
from kraftcheck.model.controller.topics import delete_topics
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import RELEASES, parse
from kraftcheck.model.systems.elr_index.state import ElrIndexed
from kraftcheck.model.systems.elr_index.system import ELR_INDEX
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.model.controller.controllers import cluster, play, with_topic

WITH_CLEAR_ELR = [name for name in RELEASES if not RELEASES[name].partition.min_isr_change_keeps_elr]


def start(rules: str) -> ElrIndexed:
    """A topic on both brokers with ELR on and two replicas wanted in sync."""
    setting = ELR_INDEX.setting("tiny", rules=parse(rules))
    first = next(s for s in ELR_INDEX.initial(setting) if s.controller.min_insync_replicas == 2)
    return evolve(first, controller=evolve(first.controller, elr_enabled=True))


def taken(rules: str, *steps: tuple[str, dict[str, object]]) -> tuple[ElrIndexed, bool]:
    """The state after some actions, and whether the controller resigned over the last."""
    setting = ELR_INDEX.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in ELR_INDEX.actions(setting)}
    state, resigned = start(rules), False
    for name, arguments in steps:
        assert actions[name].enabled(state, arguments) is True
        done = actions[name].outcome(state, arguments)
        assert isinstance(done, Outcome)
        state, resigned = done.state, bool(done.event.resigned)
    return state, resigned


FENCE, LOWER, DELETE = ("fence", {"broker": 1}), ("set_min_isr", {"minimum": 1}), ("delete_topic", {})
GONE = ("unregister", {"broker": 1})


def in_full(rules: str) -> Controller:
    """The controller in full after the same: broker 1 is fenced, min ISR is lowered, the topic is deleted."""
    rule_set = parse(rules)
    controller = with_topic(cluster(2, elr_enabled=True, clear_elr=True), "foo", (0, 1), min_insync_replicas="2")
    controller = play(controller, expire_session(controller, 1, rule_set), rule_set)
    lowered = alter_config(controller, ConfigRecord(TOPIC, "foo", MIN_ISR, "1"), rule_set)
    controller = play(controller, lowered, rule_set)
    return play(controller, delete_topics(controller, (controller.topic_id("foo") or "",)), rule_set)


@pytest.mark.parametrize("rules", ["kafka-4.4.0", "kafka-4.4.0-cleared-elr-stays-indexed"])
def test_the_controller_in_full_resigns_alike(rules: str) -> None:
    """Where the system says that the controller resigns, the controller with topics and an index does."""
    state, resigned = taken(rules, FENCE, LOWER, DELETE, GONE)
    assert resigned == bool(in_full(rules).elr_index.topics_of(1))
    assert resigned == ("-" not in rules.removeprefix("kafka-"))
    if resigned:
        assert state.dead.has(1)
        with pytest.raises(Resignation):
            unregister(in_full(rules), 1, parse(rules))
    else:
        assert len(unregister(in_full(rules), 1, parse(rules)).records) == 1


def test_a_deletion_unlists_those_in_an_elr() -> None:
    """A broker that is eligible again when its topic is deleted is listed no more; nor is any after a snapshot."""
    state, _ = taken("kafka-4.4.0", FENCE, LOWER)
    assert state.left.same(BrokerSet.of([1]))
    again = evolve(state, controller=evolve(state.controller, elr=BrokerSet.of([1])))
    setting = ELR_INDEX.setting("tiny", rules=parse("kafka-4.4.0"))
    delete, snapshot = (a for a in ELR_INDEX.actions(setting) if a.name in ("delete_topic", "load_snapshot"))
    assert delete.outcome(again, {}).state.dead.is_empty()
    deleted = delete.outcome(state, {}).state
    assert deleted.dead.has(1)
    assert snapshot.outcome(deleted, {}).state.dead.is_empty()


@pytest.mark.slow
@pytest.mark.parametrize("release", WITH_CLEAR_ELR)
def test_each_release_with_clear_elr_resigns(release: str, tmp_path: Path) -> None:
    """The explorer finds the resignation from the rules of each release, and that the mend alone ends it."""
    assert verdict(release, tmp_path) == 5
    assert verdict(f"{release}-cleared-elr-stays-indexed", tmp_path) is None


def verdict(rules: str, code: Path) -> int | None:
    """The length of the shortest way to a resignation; None where there is none."""
    system = SYSTEMS["elr-index"]
    at = system.setting("tiny", rules=parse(rules))
    found = explore(trace(system, at), SearchBudget(threads=1, cache_dir=code, keep=False), clock=time.perf_counter)
    (stays,) = (v.verdict for v in found.verdicts if v.claim == "controller-stays")
    assert isinstance(stays, Holds | Refuted)
    return len(stays.trace.steps) if isinstance(stays, Refuted) else None
