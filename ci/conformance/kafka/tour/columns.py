"""The columns of a step of a tour: state and request before it, records and state after it.

A row is 32-bit ints, and starts with the leaves of the state in the order of its layout. `TourDriver.java` reads and
writes the same columns in the same order.
"""

from __future__ import annotations

from kraftcheck.ci.conformance.kafka.columns import Columns
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.packing import Layout

MOST_RECORDS = 2
"""Changes of the partition that one event writes at most."""

REFUSED, RESIGNED = -1, -2
"""The column `records` of an event that was answered with an error, or with an exception; else how many changes."""


def state_names(layout: Layout) -> tuple[tuple[str, int], ...]:
    """The fields of a state with how many columns each takes, in order."""
    widths: dict[str, int] = {}
    for path, _ in leaves(layout.shape):
        name = path.partition("[")[0]
        widths[name] = widths.get(name, 0) + 1
    return tuple(widths.items())


def step_columns(layout: Layout, brokers: int) -> Columns:
    """The columns of a question: the state before, the number of the action kind, and its arguments."""
    request = (("action", 1), ("broker", 1), ("first", 1), ("second", 1), ("target", brokers))
    return _columns((*state_names(layout), *request))


def answer_columns(layout: Layout, brokers: int) -> Columns:
    """The columns of an answer: how many records, the error, each record, the state after, how the epochs rose."""
    head = (("records", 1), ("error", 1), ("continued", 1))
    change = (
        ("leader", 1), ("recovery", 1), ("isr?", 1), ("isr", 1), ("replicas?", 1), ("replicas", brokers),
        ("directories?", 1), ("directories", brokers), ("elr?", 1), ("elr", 1), ("last_known?", 1), ("last_known", 1),
        ("removing?", 1), ("removing", 1), ("adding?", 1), ("adding", 1),
    )  # fmt: skip
    records = [(f"record{n}.{name}", width) for n in range(MOST_RECORDS) for name, width in change]
    after = [(f"after.{name}", width) for name, width in state_names(layout)]
    return _columns((*head, *records, *after, ("after.leader_epoch", 1), ("after.partition_epoch", 1)))


def _columns(names: tuple[tuple[str, int], ...]) -> Columns:
    places, at = {}, 0
    for name, width in names:
        places[name] = (at, width)
        at += width
    return Columns(places, at)
