"""Clusters with more brokers than a set has bits for: a partition is judged by its own brokers."""

from types import SimpleNamespace
from typing import Any

from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.terms import MASK_BITS
from kraftcheck.model.partition.registration import DirectoryList, Partition
from kraftcheck.solvers.logs.explain.judge import elections_numbering

REPLICAS = (7, 180, 93)


def _cluster(brokers: int) -> Any:
    registrations = {broker: SimpleNamespace(dirs=()) for broker in range(brokers)}
    return SimpleNamespace(image=SimpleNamespace(registrations=registrations))


def _partition() -> Partition:
    none = IdList(())
    return Partition(
        replicas=IdList(REPLICAS), directories=DirectoryList(REPLICAS, (0, 0, 0)), isr=IdList((180,)),
        elr=IdList((93,)), last_known_elr=none, removing=none, adding=none, leader=180, recovering=False,
        leader_epoch=1, partition_epoch=1,
    )  # fmt: skip


def test_a_partition_of_a_large_cluster_keeps_its_brokers() -> None:
    """Of 200 brokers those of the partition and of the event are numbered, so that every set tells them apart."""
    numbering = elections_numbering([_cluster(200)], [_partition()], named=[150])
    assert numbering.brokers == (7, 93, 150, 180)
    isr = numbering.broker_set((180,))
    assert [isr.has(numbering.broker(broker)) for broker in REPLICAS] == [False, True, False]


def test_a_small_cluster_is_numbered_by_id() -> None:
    """As many brokers as a set holds are numbered in the order of their ids."""
    numbering = elections_numbering([_cluster(MASK_BITS - 2)], [_partition()])
    assert numbering.brokers == (*range(MASK_BITS - 2), 93, 180)
    assert numbering.broker_set(numbering.brokers).size() == MASK_BITS
