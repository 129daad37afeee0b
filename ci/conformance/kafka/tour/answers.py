"""The columns of the model's answer to a step, from the changes that the model decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.columns import KEEP_LEADER, KEEP_RECOVERY, NO_LAST_KNOWN, VACANT, Columns
from kraftcheck.ci.conformance.kafka.tour.columns import MOST_RECORDS
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import choose, negate, word
from kraftcheck.model.partition.directories import FIRST_LOCAL, UNASSIGNED
from kraftcheck.model.partition.registration import PartitionChange


def blank(brokers: int) -> list[int]:
    """The columns of a record that is not written."""
    lists = [0, 0, 0, *([VACANT] * brokers), 0, *([UNASSIGNED] * brokers)]
    return [KEEP_LEADER, KEEP_RECOVERY, *lists, 0, 0, 0, NO_LAST_KNOWN, 0, 0, 0, 0]


def change_roots(change: PartitionChange) -> list[Word]:
    """Whether a change is written, then its columns."""

    def chosen(field: Any, absent: int) -> list[Word]:
        return [word(field.present), *(choose(field.present, leaf, absent) for _, leaf in leaves(field.value))]

    recovery = choose(change.recovering.present, word(change.recovering.value), KEEP_RECOVERY)
    return [
        word(negate(change.is_noop())), choose(change.leader.present, change.leader.value, KEEP_LEADER), recovery,
        *chosen(change.isr, 0), *chosen(change.replicas, VACANT), *chosen(change.directories, UNASSIGNED),
        *chosen(change.elr, 0), *chosen(change.last_known_elr, NO_LAST_KNOWN), *chosen(change.removing, 0),
        *chosen(change.adding, 0),
    ]  # fmt: skip


def compact(outputs: Columns, raw: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Answers: records that were written first, none where the controller resigned or refused.

    Args:
        outputs: the columns of an answer.
        raw: whether it did (RESIGNED, REFUSED or 0), for each record whether it is written and its columns, the rest.
    """
    record_width = (outputs.places["record1.leader"][0] - outputs.places["record0.leader"][0]) + 1
    brokers = outputs.places["record0.replicas"][1]
    status, records, remainder = (
        raw[:, 0],
        raw[:, 1 : 1 + MOST_RECORDS * record_width],
        raw[:, 1 + MOST_RECORDS * record_width :],
    )
    first, second = records[:, :record_width].copy(), records[:, record_width:].copy()
    empty = np.array([0, *blank(brokers)])
    late = (first[:, 0] == 0) & (second[:, 0] != 0)
    first[late], second[late] = second[late], empty
    for record in (first, second):
        record[(status != 0) | (record[:, 0] == 0)] = empty
    count = np.where(status != 0, status, first[:, 0] + second[:, 0])
    head = np.stack([count, np.zeros_like(count), np.zeros_like(count)], axis=1)
    return np.concatenate([head, first[:, 1:], second[:, 1:], remainder], axis=1)


def as_listed(
    inputs: Columns, outputs: Columns, states: npt.NDArray[np.int8], answers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The answers with directories as records list them: another order of replicas is another list.

    The explored system knows the directory of each broker, not the order in which records list them.
    """
    before = states[:, inputs.slice("directories")]
    old = _ids(states[:, inputs.slice("replicas")], before)
    for n in range(MOST_RECORDS):
        replicas_changed = answers[:, outputs.places[f"record{n}.replicas?"][0]] != 0
        flag, place = outputs.places[f"record{n}.directories?"][0], outputs.slice(f"record{n}.directories")
        by_broker = np.where((answers[:, flag] != 0)[:, None], answers[:, place], before)
        replicas = answers[:, outputs.slice(f"record{n}.replicas")]
        reordered = replicas_changed & (_ids(replicas, by_broker) != old).any(axis=1)
        held = np.stack([(replicas == broker).any(axis=1) for broker in range(replicas.shape[1])], axis=1)
        answers[reordered, flag] = 1
        answers[:, place] = np.where(reordered[:, None], np.where(held, by_broker, UNASSIGNED), answers[:, place])
    return answers


def _ids(replicas: npt.NDArray[Any], by_broker: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each position of the replicas an id of its directory, distinct for those of two brokers."""
    replicas, by_broker = replicas.astype(np.int64), by_broker.astype(np.int64)
    local = np.take_along_axis(by_broker, np.maximum(replicas, 0), axis=1)
    ids: npt.NDArray[np.int64] = np.where(local < FIRST_LOCAL, local, FIRST_LOCAL + 100 * replicas + local)
    return np.where(replicas == VACANT, VACANT, ids)
