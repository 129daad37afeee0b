"""Logs in which ELR is switched on and off: the switch is an event, and only what it costs is reported."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import elr_safety
from kraftcheck.model.controller.brokers import fenced, unfenced
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.state import CLUSTER, MIN_ISR, NODE, TOPIC, ConfigRecord, Controller, LogRecord
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Feature, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.explain.explain import Explanation, explain_model_records, violations_of
from kraftcheck.solvers.logs.explain.state import (
    ELR_FEATURE,
    Batch,
    FeatureRecord,
    LogEntry,
    ModelRecord,
    State,
    features,
    load,
)
from tests.model.controller.controllers import changed, cluster, configured, with_topic
from tests.shared.captures import NO_ELR, batches, json_lines
from tests.shared.commands import kraftcheck

RULES, MENDED = parse("kafka-4.4.0"), parse("kafka-4.4.0-switched-off-elr-is-neglected")
LEVELS = {"metadata.version": 29, ELR_FEATURE: 1}
ON, OFF = FeatureRecord(ELR_FEATURE, 1), FeatureRecord(ELR_FEATURE, 0)


def offline(*, down: tuple[int, ...] = (0, 1), **fields: Any) -> State:
    """A partition on brokers 0 and 1 with ELR on; unless said otherwise neither is there, and 0 alone is eligible."""
    controller = with_topic(cluster(3), "foo", (0, 1), min_insync_replicas="2")
    for broker in down:
        controller = replay_record(controller, BrokerRegistrationChangeRecord(broker, 100 + broker, fenced=1), RULES)
    controller = evolve(controller, features=features(LEVELS, {}))
    return State(changed(controller, **{"isr": (), "elr": (0,), "leader": -1, **fields}), LEVELS)


def explained(state: State, records: Sequence[ModelRecord], rules: RuleSet = RULES) -> Explanation:
    """The explanation of a batch of these records."""
    first = state.controller.image.next_offset
    log_batch = Batch(first, first + len(records) - 1, 1, (), "here")
    return explain_model_records(state, log_batch, tuple(records), rules)


def violated(found: Explanation, rules: RuleSet = RULES) -> set[str]:
    """The properties that its steps break."""
    return {violation.property for violation in violations_of(found, rules)}


def events(found: Explanation) -> list[str]:
    """The events of an explanation."""
    return [step.name for step in found.steps]


def test_switching_off_is_an_event_that_breaks_nothing() -> None:
    """A downgrade of the feature is one event; ELRs and empty ISRs that it leaves are no violations."""
    found = explained(offline(), (OFF,))
    assert (found.count, events(found), violated(found)) == (1, ["switch ELR off"], set())
    state = found.after
    assert state.controller.features.elr_switched_off
    back = explained(state, unfenced(state.controller, 0, MENDED), MENDED)
    assert back.count == 1
    assert violated(back, MENDED) == set()
    assert int(back.after.controller.topic(state.controller.topic_id("foo") or "").partitions[0].leader) == 0


def test_the_last_holders_lose_their_right() -> None:
    """With ELR off, the return of any broker empties the ELR that alone could elect a leader: that is reported."""
    state = explained(offline(), (OFF,)).after
    found = explained(state, unfenced(state.controller, 1, RULES))
    assert found.count == 1
    assert violated(found) == {"elr-leavers-have-a-reason", "clean-candidate-kept"}
    kept = explained(state, unfenced(state.controller, 1, MENDED), MENDED)
    assert (kept.count, violated(kept, MENDED)) == (1, set())


def test_an_elr_beside_members_of_the_isr_goes_silently() -> None:
    """With ELR off, the next change of a partition whose ISR has members empties its ELR, which costs nothing."""
    state = explained(offline(down=(0,), isr=(1,), elr=(0,), leader=1), (OFF,)).after
    found = explained(state, fenced(state.controller, 1, RULES))
    assert found.count == 1
    assert violated(found) == set()


def test_a_stop_that_the_log_does_not_tell_is_not_judged() -> None:
    """With ELR off, a broker of an ELR returns from either stop by the same record, which breaks nothing for sure."""
    state = explained(offline(), (OFF,)).after
    controller, offset = state.controller, state.controller.image.next_offset
    record = RegisterBrokerRecord(
        0,
        offset,
        "another",
        features=(Feature("metadata.version", 1, 29),),
        log_dirs=controller.image.registrations[0].dirs,
    )
    found = explained(state, (record,))
    assert (found.count, violated(found)) == (2, set())


def test_without_a_downgrade_an_empty_isr_is_a_violation() -> None:
    """Where the log never had ELR on, an ISR without members is reported as before."""
    levels = {"metadata.version": 29}
    state = State(
        evolve(offline(down=(0,), isr=(1,), elr=(), leader=1).controller, features=features(levels, {})), levels
    )
    emptied = changed(state.controller, isr=(), leader=-1)
    record = fenced(state.controller, 1, RULES)[-1]
    found = evolve(explained(state, (record,)), states=(state, State(emptied, levels)))
    assert "isr-kept-without-elr" in violated(found)


def test_switching_on_configures_the_cluster_first() -> None:
    """ELR is switched on together with a min ISR of the cluster, where it has none, and without that of any node."""
    controller = cluster(2)
    controller = evolve(controller, configs=controller.configs.replay(ConfigRecord(NODE, "1", MIN_ISR, "2")))
    state = State(controller, {"metadata.version": 29})
    safety: tuple[LogRecord, ...] = elr_safety(controller, "1")
    assert safety == (ConfigRecord(CLUSTER, "", MIN_ISR, "1"), ConfigRecord(NODE, "1", MIN_ISR, None))
    found = explained(state, (*safety, ON))
    assert (found.count, events(found)) == (1, ["switch ELR on"])
    assert not found.after.controller.features.elr_switched_off
    again = explained(found.after, (OFF,)).after
    assert events(explained(again, (ON,))) == ["switch ELR on"]
    assert explained(state, (ON,)).count == 0


def test_other_features_are_not_read() -> None:
    """A level of another feature is passed through."""
    found = explained(offline(), (FeatureRecord("group.version", 1),))
    assert events(found) == ["not read by replica logic"]


@pytest.mark.parametrize(("left", "isr", "elr"), [(True, [], [0]), (True, [0], [1]), (True, [], []), (False, [0], [])])
def test_a_snapshot_shows_that_elr_was_on(left: bool, isr: list[int], elr: list[int]) -> None:
    """A snapshot without the feature comes from a downgrade if partitions have an ELR, or an ISR without members."""
    data = {
        "partitionId": 0, "topicId": "id", "replicas": [0, 1], "isr": isr, "removingReplicas": [],
        "addingReplicas": [], "leader": -1, "leaderRecoveryState": 0, "leaderEpoch": 1, "partitionEpoch": 1,
    }  # fmt: skip
    data |= {"eligibleLeaderReplicas": elr} if elr else {}
    entries = (
        LogEntry(0, "TOPIC_RECORD", 0, {"name": "foo", "topicId": "id"}), LogEntry(1, "PARTITION_RECORD", 2, data),
    )  # fmt: skip
    state = load(State(Controller(), {"metadata.version": 29}), Batch(0, 1, 1, entries, "here"), RULES)
    assert state.controller.features.elr_switched_off == left


@pytest.mark.parametrize("value", [" 2", "2 ", "two", "", "2147483648", "1_0"])
def test_a_min_isr_that_is_no_number_is_reported(value: str) -> None:
    """A min.insync.replicas that Kafka cannot read is named with the partitions where it makes controllers resign."""
    state = offline(down=(), isr=(0, 1), elr=(), leader=0)
    found = explained(state, (ConfigRecord(TOPIC, "foo", MIN_ISR, value),))
    (violation,) = violations_of(found, RULES)
    assert (violation.property, violation.topic, violation.partition) == ("controller-stays", "foo", 0)
    assert repr(value) in violation.parts[0]
    garbage = configured(state.controller, "foo", MIN_ISR, value)
    stuck = explained(State(garbage, LEVELS), fenced(state.controller, 0, RULES))
    assert stuck.count == 0
    assert stuck.nearest is not None
    assert "which is no number" in stuck.nearest.refusal
    repaired = explained(State(garbage, LEVELS), (ConfigRecord(TOPIC, "foo", MIN_ISR, "2"),))
    assert violated(repaired) == set()


def test_a_log_with_such_a_min_isr_is_reported_or_refused(tmp_path: Path) -> None:
    """At the end of a real log, a padded value is a violation of every partition of its topic; `whatif` refuses it."""
    log = batches(NO_ELR)
    name = next(e.data["name"] for b in log for e in b.entries if e.data and e.type == "TOPIC_RECORD")
    offset = log[-1].last_offset + 1
    data = {"resourceType": 2, "resourceName": name, "name": MIN_ISR, "value": " 2"}
    padded = Batch(offset, offset, log[-1].epoch, (LogEntry(offset, "CONFIG_RECORD", 0, data),), "")
    path = tmp_path / "padded.jsonl"
    path.write_text(json_lines([*log, padded]), encoding="utf-8")
    replayed = kraftcheck("replay", path)
    assert replayed.code == 12
    assert re.search(r"VIOLATED: KAFKA-20532: .*\n    controller-stays: ", replayed.out)
    assert f"offset {offset} to the end: {name}-0" in replayed.out
    assert f"{MIN_ISR} of topic {name} is ' 2', which is no number" in replayed.out
    assert f"topic {name} is ' 2', which is no number" in kraftcheck("whatif", path).refusal()
