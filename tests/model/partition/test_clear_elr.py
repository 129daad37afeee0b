"""What Kafka 4.0 writes when min ISR changes: a record that empties ELRs."""

import pytest

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, UNCLEAN_ELECTION, ClearElrRecord, ConfigRecord, Controller
from kraftcheck.model.records.replay import ReplayError
from tests.model.controller.controllers import FIXED, KAFKA, changed, cluster, lists, partition, play, with_topic


def small(clear_elr: bool = True) -> Controller:
    """Two topics of one partition whose last replicas in sync have gone."""
    controller = with_topic(with_topic(cluster(3, elr_enabled=True, clear_elr=clear_elr), "foo", (0, 1)), "bar", (1, 2))
    fields = {"isr": (), "elr": (1,), "last_known_elr": (0,), "leader": -1}
    return changed(changed(controller, **fields), "bar", **fields)


def test_a_topics_min_isr_empties_its_elrs() -> None:
    """The configuration is followed by the record; replayed, ELR and last known leader go as by a change."""
    controller = small()
    outcome = alter_config(controller, ConfigRecord(TOPIC, "foo", MIN_ISR, "2"), KAFKA)
    assert outcome.records[1:] == (ClearElrRecord("foo"),)
    after = play(controller, outcome)
    assert lists(partition(after)) == ([], [], -1)
    assert partition(after).last_known_elr.is_empty()
    epochs = partition(controller).partition_epoch, partition(controller).leader_epoch
    assert (partition(after).partition_epoch, partition(after).leader_epoch) == (epochs[0] + 1, epochs[1])
    assert lists(partition(after, "bar")) == lists(partition(controller, "bar"))
    assert after.image.next_offset == controller.image.next_offset + 2


def test_mended_an_offline_partition_keeps_its_elr() -> None:
    """By the right rules the ELR of a partition without ISR stays, and its return is led by the ELR member."""
    outcome = alter_config(small(), ConfigRecord(TOPIC, "foo", MIN_ISR, "2"), FIXED)
    assert not any(isinstance(record, ClearElrRecord) for record in outcome.records)
    assert lists(partition(play(small(), outcome, FIXED))) == ([], [1], -1)


@pytest.mark.parametrize(("key", "clear_elr"), [(UNCLEAN_ELECTION, True), (MIN_ISR, False)])
def test_nothing_else_does(key: str, clear_elr: bool) -> None:
    """Neither another configuration nor a version without the record writes one."""
    value = "true" if key == UNCLEAN_ELECTION else "2"
    outcome = alter_config(small(clear_elr), ConfigRecord(TOPIC, "foo", key, value), KAFKA)
    assert not any(isinstance(record, ClearElrRecord) for record in outcome.records)


def test_a_record_for_no_topic_cannot_be_replayed() -> None:
    """Replaying the record of an unknown topic is an error that names it."""
    with pytest.raises(ReplayError, match="there is no topic baz"):
        replay_record(small(), ClearElrRecord("baz"), KAFKA)
