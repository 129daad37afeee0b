"""Replay of registration records: every small registration, and every record that changes it."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.columns import (
    OWN_DIRECTORY,
    REGISTRATION_INPUTS,
    REGISTRATION_OUTPUTS,
    VACANT,
    Columns,
    Rows,
)
from kraftcheck.model.records.brokers import Registration, changed
from kraftcheck.model.records.records import BrokerRegistrationChangeRecord, Ids
from kraftcheck.model.rules.ruleset import RuleSet

DIRECTORIES = 3
"""Directories that a registration, a record and a question may name, each beside the reserved ids."""

FIRST_OWN = 1 << 70
"""Ids of directories as the model has them: no reserved ones."""


def every_registration() -> Rows:
    """Every case."""
    sets = range(1 << DIRECTORIES)
    choices = (
        sets, (0, 1), (0, 1), (-1, 0, 1), (0, 1), (VACANT, *sets), sets, range(OWN_DIRECTORY + DIRECTORIES),
    )  # fmt: skip
    return np.array(list(itertools.product(*choices)), dtype=np.int32)


class RegistrationModel:
    """`changed` and the questions about directories on rows, on ints: there are few enough."""

    def __init__(self, rules: RuleSet) -> None:
        self.inputs = Columns.of(REGISTRATION_INPUTS, 0)
        self.outputs = Columns.of(REGISTRATION_OUTPUTS, 0)
        self._rules = rules

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One row of answers for each row of questions."""
        return np.array([self._answer_row(*row) for row in rows.tolist()], dtype=np.int64).reshape(
            -1, self.outputs.width
        )

    def _answer_row(
        self, dirs: int, fenced: int, leaving: int, fencing: int, leaves: int, new: int, others: int, queried: int
    ) -> tuple[int, ...]:
        before = Registration(0, 7, "process", fenced=fenced == 1, in_controlled_shutdown=leaving == 1, dirs=_ids(dirs))
        new_dirs = None if new == VACANT else _ids(new)
        after = changed(before, BrokerRegistrationChangeRecord(0, 7, fencing, leaves, new_dirs), self._rules.partition)
        directory = queried if queried < OWN_DIRECTORY else FIRST_OWN + queried - OWN_DIRECTORY
        return (
            int(after.fenced), int(after.in_controlled_shutdown), _mask(after.dirs),
            int(after.has_online_dir(directory)), _mask(after.directory_intersection(_ids(others))),
            _mask(after.directory_difference(_ids(others))),
        )  # fmt: skip


def _ids(mask: int) -> Ids:
    return tuple(FIRST_OWN + number for number in range(DIRECTORIES) if mask >> number & 1)


def _mask(directories: Ids) -> int:
    return sum(1 << directory - FIRST_OWN for directory in directories)
