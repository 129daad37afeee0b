"""The cost of finding missing ids, in ZooKeeper reads.

Source: the broker-id KIP, "Look for Missing Broker Ids" (1,000 topics at 1 ms
each take about a second) and "Another Way of Looking for Missing Broker Id".
"""

from __future__ import annotations

HOST_READS = 1
"""Reads of step a): the node of the hostname."""

LIST_READS = 1
"""Reads that tell what is registered: the children of /brokers/ids."""


def missing_id_reads(topics: int, every_topic: bool) -> int:
    """ZooKeeper reads until the missing ids are known, but for the list of what is registered.

    Args:
        topics: how many topics the cluster has.
        every_topic: each topic's node is read, after their list; otherwise the
            controller keeps the children of /brokers/missing_ids, one read.

    >>> missing_id_reads(1000, every_topic=True), missing_id_reads(1000, every_topic=False)
    (1001, 1)
    """
    return topics + 1 if every_topic else 1


def search_milliseconds(topics: int, every_topic: bool, read_ms: int = 1) -> int:
    """How long step b) reads, in milliseconds, at one read after another.

    >>> search_milliseconds(1000, every_topic=True)
    1002
    """
    lists = LIST_READS if every_topic else 0
    return (missing_id_reads(topics, every_topic) + lists) * read_ms
