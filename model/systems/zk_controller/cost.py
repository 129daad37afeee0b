"""The cost of a broker failure, in ZooKeeper operations on the critical path.

Source: the early controller design, "End-to-end latency during a broker failure"
(10,000 partitions at 2 ms a write take 20 s; multi is the way out it names).
"""

from __future__ import annotations


def decision_writes(partitions: int, batch: int) -> int:
    """Writes of leaderAndISR, one after another, when a broker that led so many partitions fails.

    Args:
        partitions: how many it led.
        batch: how many decisions one multi may carry; 1: a plain write each.

    >>> decision_writes(10_000, batch=1), decision_writes(10_000, batch=10_000)
    (10000, 1)
    """
    return -(-partitions // batch)


def change_milliseconds(partitions: int, brokers: int, batch: int, write_ms: int = 2) -> int:
    """How long decisions and their publication take, in milliseconds.

    A multi carries the entries of the queues too; otherwise each broker's queue is one more write.

    >>> change_milliseconds(10_000, 10, batch=1)
    20020
    """
    queues = brokers if batch == 1 else 0
    return (decision_writes(partitions, batch) + queues) * write_ms
