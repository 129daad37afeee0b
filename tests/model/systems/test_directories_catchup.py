"""The catch-up decision tables of the KIP and of the code, row by row."""

from __future__ import annotations

import pytest
from attrs import evolve

from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.directories.process import Assigned, Verdict, decide, left, swapped, taken
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    ACCEPTED,
    IDLE,
    NEW,
    NOTHING,
    OFFLINE,
    QUEUED,
    SERVING,
    UNOPENED,
    Host,
)
from tests.shared.directories import DIR0, DIR1, Cluster, slots

UNKNOWN = FIRST_LOCAL + 7
"""The id of a directory that the broker does not have."""


def host(**changes: object) -> Host:
    """A broker that starts: two working directories, no log, no metadata applied."""
    base = Cluster().change(seen=False, behind=False, known=NOTHING).host()
    return evolve(base, **changes)


def assigned(directory: int, online: bool = True, led: bool = False, written: bool = True) -> Assigned:
    """Metadata with this assignment."""
    return Assigned(directory, online, led, False, written)


def outcome(found: Host) -> tuple[object, ...]:
    """What the table decides about: the replica, its logs, and the assignment that waits."""
    return found.replica, found.logs, found.ready


@pytest.mark.parametrize(
    ("directory", "logs", "disks", "expected"),
    [
        # Not assigned: report where it is, or choose a directory.
        (UNASSIGNED, slots(0), slots(0, 1), (SERVING, slots(0), DIR0)),
        (UNASSIGNED, slots(), slots(0, 1), (SERVING, slots(1), DIR1)),
        # Assigned to a working directory.
        (DIR0, slots(), slots(0, 1), (SERVING, slots(0), NOTHING)),
        (DIR0, slots(0), slots(0, 1), (SERVING, slots(0), NOTHING)),
        (DIR0, slots(1), slots(0, 1), (SERVING, slots(1), DIR1)),
        # Assigned to an unknown directory, or LOST: a new one where nothing is offline.
        (UNKNOWN, slots(), slots(0, 1), (SERVING, slots(1), DIR1)),
        (LOST, slots(), slots(0, 1), (SERVING, slots(1), DIR1)),
        (UNKNOWN, slots(), slots(1), (UNOPENED, slots(), NOTHING)),
        (LOST, slots(), slots(1), (UNOPENED, slots(), NOTHING)),
    ],
)
@pytest.mark.parametrize("rules", ["fixed", "kip", "kafka-4.0"])
def test_rows_that_kip_code_and_mended_rules_share(
    directory: int, logs: object, disks: object, expected: tuple[object, ...], rules: str
) -> None:
    """At start, with slot 1 the broker's own choice."""
    known = assigned(directory, online=directory not in (LOST, UNKNOWN))
    found = taken(host(logs=logs, whole=logs, disks=disks), known, 1, parse(rules).directories)
    assert outcome(found) == expected


START = {"logs": slots(0), "whole": slots(0)}
"""A start with a log in the first directory."""
RUNNING = {"seen": True, "known": NEW, "disks": slots(1)}
DEAD = {**START, **RUNNING, "known": DIR0, "replica": OFFLINE, "failed": slots(0)}
SERVED = {"seen": True, "known": DIR1, "replica": SERVING, "logs": slots(0)}
ENTERING = {"seen": True, "known": NOTHING, "replica": ABSENT, "moved": True}

NOWHERE, GONE = assigned(UNASSIGNED), assigned(DIR1, online=False)

ROWS = [
    # Unassigned while a directory is offline: KIP and code make another log, the mended rules report it LOST.
    ("fixed", {**START, "disks": slots(1)}, NOWHERE, 1, (UNOPENED, slots(0), LOST)),
    ("kip kafka-4.0", {**START, "disks": slots(1)}, NOWHERE, 1, (SERVING, slots(0, 1), DIR1)),
    # Assigned without the log while another directory is offline, from which a move may have been on its way.
    ("fixed", {**START, "disks": slots(1)}, assigned(DIR1), 1, (UNOPENED, slots(0), LOST)),
    ("kip kafka-4.0", {**START, "disks": slots(1)}, assigned(DIR1), 1, (SERVING, slots(0, 1), NOTHING)),
    # A readable log behind an assignment to a dead directory: the code corrects it, unless there is a leader (B15).
    ("fixed", {**START, "disks": slots(0)}, GONE, 0, (SERVING, slots(0), DIR0)),
    ("kip", {**START, "disks": slots(0)}, GONE, 0, (UNOPENED, slots(0), NOTHING)),
    ("kafka-4.0", {**START, "disks": slots(0)}, GONE, 0, (UNOPENED, slots(0), DIR0)),
    ("kafka-4.0", {**START, "disks": slots(0)}, evolve(GONE, led=True), 0, (UNOPENED, slots(0), NOTHING)),
    # MIGRATING names no directory, so the code hides the log while any directory is offline (B15).
    ("fixed", {**START, "disks": slots(0)}, assigned(MIGRATING), 0, (SERVING, slots(0), DIR0)),
    ("kafka-4.0", {**START, "disks": slots(0)}, assigned(MIGRATING), 0, (UNOPENED, slots(0), DIR0)),
    # A partition that is new to a running broker cannot be in the dead directory; the seeded defect waits for that one.
    ("fixed kip kafka-4.0", RUNNING, NOWHERE, 1, (SERVING, slots(1), DIR1)),
    ("fixed+offline-directory-stops-new-logs", RUNNING, NOWHERE, 1, (UNOPENED, slots(), LOST)),
    # A failed replica stays offline until the restart; the historical defect makes an empty log (KAFKA-16234).
    ("fixed", DEAD, assigned(DIR0), 1, (OFFLINE, slots(0), NOTHING)),
    ("fixed+failure-recreates-log", DEAD, assigned(DIR0), 1, (SERVING, slots(0, 1), DIR1)),
    # Where the entry was not rewritten the code neither compares nor corrects it.
    ("kafka-4.0", SERVED, assigned(DIR1), 0, (SERVING, slots(0), NOTHING)),
    ("kafka-4.0", {**SERVED, "moved": True}, assigned(DIR1), 0, (SERVING, slots(0), DIR0)),
    ("fixed", SERVED, assigned(DIR1), 0, (SERVING, slots(0), DIR0)),
    # B12: the assignment of a replica that a reassignment adds is never read.
    ("kafka-4.0", ENTERING, NOWHERE, 0, (SERVING, slots(0), NOTHING)),
    ("fixed", ENTERING, NOWHERE, 0, (SERVING, slots(0), DIR0)),
]
"""Rule sets, the broker, its metadata, the slot that it would choose, and what comes of it."""


@pytest.mark.parametrize(("rules", "changes", "known", "slot", "expected"), ROWS, ids=str)
def test_rows_in_which_rules_differ(
    rules: str, changes: dict[str, object], known: Assigned, slot: int, expected: tuple[object, ...]
) -> None:
    """The replica, its logs, and the assignment that waits, as the row says."""
    for name in rules.split():
        assert outcome(taken(host(**changes), known, slot, parse(name).directories)) == expected


def test_a_future_log_in_the_assigned_directory() -> None:
    """The KIP finishes the move; the code goes back (X5), and forgets that the move was accepted (X4)."""
    waiting = host(
        seen=True, known=DIR0, replica=SERVING, logs=slots(0), future=1, promotion=QUEUED, moved=True, copied=True
    )
    found = taken(waiting, assigned(DIR1), 0, parse("fixed").directories)
    assert (found.ready, found.promotion) == (NOTHING, ACCEPTED)
    found = taken(waiting, assigned(DIR1), 0, parse("kafka-4.0").directories)
    assert (found.ready, found.promotion) == (DIR0, IDLE)


def test_the_swap_at_start_compares_no_offsets() -> None:
    """B14: a future log in the assigned directory replaces the current one, level or not."""
    moving = host(logs=slots(0), whole=slots(0), future=1)
    rules = parse("fixed+startup-swap-ignores-offsets")
    for copied, whole in ((True, slots(1)), (False, slots())):
        found = swapped(evolve(moving, copied=copied), assigned(DIR1), rules.directories)
        assert (found.logs, found.whole, found.future) == (slots(1), whole, NOTHING)
    assert swapped(moving, assigned(DIR0), rules.directories) == moving
    assert swapped(moving, assigned(DIR1), parse("fixed").directories) == moving


@pytest.mark.parametrize(("rules", "known", "ready"), [
    ("kip", NOWHERE, NOTHING), ("kip", assigned(LOST, online=False), DIR0), ("fixed", NOWHERE, DIR0),
])  # fmt: skip
def test_a_single_directory_is_silent_in_the_kip(rules: str, known: Assigned, ready: int) -> None:
    """Only LOST is corrected by a broker with one directory."""
    one = evolve(Cluster(directories=1).host(), seen=False, known=NOTHING, behind=False)
    assert taken(one, known, 0, parse(rules).directories).ready == ready


def test_a_broker_that_is_no_replica_deletes_what_it_can_reach() -> None:
    """Logs on working disks go; the queue is dropped."""
    before = host(seen=True, replica=SERVING, logs=slots(0, 1), disks=slots(1), whole=slots(1), future=1, ready=DIR1)
    after = left(before)
    assert (after.logs, after.whole, after.future, after.ready, after.replica) == (
        slots(0), slots(), NOTHING, NOTHING, ABSENT,
    )  # fmt: skip


def test_a_directory_is_chosen_only_where_metadata_names_none() -> None:
    """The verdict says whether the broker chooses."""
    free = decide(host(), assigned(UNASSIGNED), parse("fixed").directories)
    assert free == Verdict(read=True, hidden=False, opens=False, makes=True, fails=False, free=True)
    assert not decide(host(), assigned(DIR1), parse("fixed").directories).free
