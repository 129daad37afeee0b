"""The exceptions of failing disks as values, and the decisions of their handler.

Source: the JBOD KIP on ZooKeeper, "IO Errors", "ExceptionHandler", and its open questions 1, 2 and 4.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate, rule
from kraftcheck.model.rules.groups import ZkJbodRules

APPEND = 0
"""LogAppendException(log)."""
READ = 1
"""LogReadException(log)."""
WATERMARK = 2
"""HighWatermarkIOException(file): a directory, and no log."""

KINDS = (APPEND, READ, WATERMARK)
NONE = -1
"""No partition, no directory."""

NOTHING = 0
"""Nobody handles it."""
PARTITION = 1
"""One log goes offline."""
DIRECTORY = 2
"""The whole directory goes offline."""
HALT = 3
"""The broker stops."""


@frozen
class IOFailure:
    """A failed operation with its context.

    Attributes:
        kind: APPEND to WATERMARK.
        partition: whose log it is; NONE for WATERMARK.
        directory: where.
    """

    kind: Word
    partition: Word
    directory: Word


def raised(kind: Word, partition: Word, directory: Word) -> IOFailure:
    """The exception of an operation on a log; that of a high-watermark file knows no log."""
    return IOFailure(kind, choose(kind == WATERMARK, NONE, partition), directory)


@rule("zk-jbod.error.broker-lives-on", source="JBOD KIP on ZooKeeper, motivation", switches=("disk-errors-halt",),
      says="A disk error does not stop the broker.")  # fmt: skip
@rule("zk-jbod.error.operation-is-retried", source="JBOD KIP on ZooKeeper, open question 4",
      switches=("failed-operation-not-retried",),
      says="An operation that fails is tried again before anything is restarted.")  # fmt: skip
@rule("zk-jbod.error.reads-are-attributed", source="JBOD KIP on ZooKeeper, open question 2",
      switches=("read-errors-unattributed",),
      says="An error while a log is read is known to be that log's.")  # fmt: skip
def decision(failure: IOFailure, available: Truth, transient: Truth, rules: ZkJbodRules) -> Word:
    """What the handler does: NOTHING to HALT.

    Args:
        failure: the exception.
        available: what the check of the directory says (question 1).
        transient: the same operation would succeed if it were tried again (question 4).
        rules: the rule set.
    """
    if rules.disk_errors_halt:
        return HALT
    healed: Truth = all_of(transient, available)
    if rules.failed_operation_not_retried:
        healed = False
    alone = all_of(available, negate(failure.partition == NONE))
    handled = choose(alone, PARTITION, DIRECTORY)
    unknown = all_of(rules.read_errors_unattributed, failure.kind == READ)
    return choose(unknown, NOTHING, choose(healed, NOTHING, handled))
