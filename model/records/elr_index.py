"""The index by which the controller finds the partitions whose ELR a broker is in, as Kafka keeps it.

The index lists, for each broker and topic, partitions of that topic. A change of a partition adds and removes
entries; ClearElrRecord changes the ELR and leaves the index as it was. So a broker may be listed that is in no ELR any
more, twice if it enters the ELR again, and for a topic that is deleted. Only lists that differ from the ELRs are held
here: all others follow from the partitions. Lists are sorted, since the order in which partitions are visited shows in
the order of records of different partitions alone.

Source: `BrokersToElrs`, `ReplicationControlManager.removeTopicElrs`, and its replay of RemoveTopicRecord.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, frozen

from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, Record, RemoveTopicRecord, ids
from kraftcheck.model.records.replay import Topic

Topics = Mapping[str, Topic]


@frozen
class ElrIndex:
    """The lists of the index that differ from the ELRs.

    Attributes:
        differing: by broker and topic id the partitions listed, some twice, some without the broker in their ELR.
    """

    differing: Mapping[tuple[int, str], Ids] = field(factory=dict)

    def topics_of(self, broker: int) -> tuple[str, ...]:
        """The topics for which a broker's list differs from the ELRs."""
        return tuple(topic_id for listed, topic_id in self.differing if listed == broker)

    def partitions(self, broker: int, topic_id: str, topic: Topic | None) -> Ids:
        """The partitions of one topic that are listed for a broker; `topic` is None where it is deleted."""
        return self.differing.get((broker, topic_id), in_elrs(broker, topic))

    def without(self, broker: int) -> ElrIndex:
        """The index in which a broker's lists are those of the ELRs, as after a snapshot is loaded."""
        return evolve(self, differing={key: listed for key, listed in self.differing.items() if key[0] != broker})

    def cleared(self, topic_id: str, topic: Topic) -> ElrIndex:
        """The index once the topic's ELRs are emptied: its lists stay.

        Args:
            topic_id: of the topic.
            topic: as it was before.
        """
        members = {broker for p in topic.partitions.values() for broker in ids(p.elr)}
        kept = {(broker, topic_id): self.partitions(broker, topic_id, topic) for broker in members}
        return evolve(self, differing={**self.differing, **kept}) if kept else self

    def after(self, record: Record, before: Topics, after: Topics) -> ElrIndex:
        """The index after one more record, with the topics before and after it."""
        if not self.differing:
            return self
        if isinstance(record, RemoveTopicRecord):
            return self._without(record.topic_id, before[record.topic_id])
        if isinstance(record, PartitionRecord | PartitionChangeRecord):
            return self._changed(record.topic_id, record.partition_id, before, after)
        return self

    def _without(self, topic_id: str, topic: Topic) -> ElrIndex:
        """The index after a deletion: only brokers that are in an ELR of the topic then lose their list."""
        members = {broker for p in topic.partitions.values() for broker in ids(p.elr)}
        left = {key: listed for key, listed in self.differing.items() if key[1] != topic_id or key[0] not in members}
        return evolve(self, differing=left)

    def _changed(self, topic_id: str, partition: int, before: Topics, after: Topics) -> ElrIndex:
        old, topic = before[topic_id].partitions.get(partition), after[topic_id]
        left, entered = (() if old is None else ids(old.elr)), ids(topic.partitions[partition].elr)
        differing = dict(self.differing)
        for broker in {*left, *entered}:
            listed = differing.pop((broker, topic_id), None)
            if listed is None:
                continue
            if broker not in entered:
                listed = _removed(listed, partition)
            elif broker not in left:
                listed = tuple(sorted((*listed, partition)))
            if listed != in_elrs(broker, topic):
                differing[broker, topic_id] = listed
        return evolve(self, differing=differing)


def in_elrs(broker: int, topic: Topic | None) -> Ids:
    """The partitions of a topic whose ELR a broker is in, in order: what the index ought to list."""
    partitions = () if topic is None else topic.partitions.items()
    return tuple(sorted(index for index, p in partitions if p.elr.has(broker)))


def _removed(listed: Ids, partition: int) -> Ids:
    """A list without a partition.

    Kafka copies the other entries into an array that is one shorter. Where the partition is listed more than once,
    what is left of that array stays zero, which reads as partition 0.
    """
    kept = tuple(other for other in listed if other != partition)
    return tuple(sorted((*kept, *((0,) * (len(listed) - 1 - len(kept))))))
