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


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("fixed", (UNOPENED, slots(0), LOST)),
        ("kip", (SERVING, slots(0, 1), DIR1)),
        ("kafka-4.0", (SERVING, slots(0, 1), DIR1)),
    ],
)
def test_an_unassigned_replica_with_a_directory_offline_at_start(rules: str, expected: tuple[object, ...]) -> None:
    """Its log may be in the dead directory: the KIP and the code make another, the mended rules report it LOST."""
    before = host(logs=slots(0), whole=slots(0), disks=slots(1))
    found = taken(before, assigned(UNASSIGNED), 1, parse(rules).directories)
    assert outcome(found) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("fixed", (UNOPENED, slots(0), LOST)),
        ("kip", (SERVING, slots(0, 1), NOTHING)),
        ("kafka-4.0", (SERVING, slots(0, 1), NOTHING)),
    ],
)
def test_an_assigned_directory_without_the_log_while_another_is_offline(
    rules: str, expected: tuple[object, ...]
) -> None:
    """The log may be in the dead directory, from which a move was on its way."""
    found = taken(host(logs=slots(0), whole=slots(0), disks=slots(1)), assigned(DIR1), 1, parse(rules).directories)
    assert outcome(found) == expected


@pytest.mark.parametrize(
    ("rules", "led", "expected"),
    [
        ("fixed", False, (SERVING, slots(0), DIR0)),
        ("kip", False, (UNOPENED, slots(0), NOTHING)),
        ("kafka-4.0", False, (UNOPENED, slots(0), DIR0)),
        ("kafka-4.0", True, (UNOPENED, slots(0), NOTHING)),
    ],
)
def test_a_readable_log_behind_an_assignment_to_a_dead_directory(
    rules: str, led: bool, expected: tuple[object, ...]
) -> None:
    """No action in the KIP; the code opens nothing and corrects the assignment, unless there is a leader (B15)."""
    known = assigned(DIR1, online=False, led=led)
    found = taken(host(logs=slots(0), whole=slots(0), disks=slots(0)), known, 0, parse(rules).directories)
    assert outcome(found) == expected


@pytest.mark.parametrize(
    ("rules", "expected"), [("fixed", (SERVING, slots(0), DIR0)), ("kafka-4.0", (UNOPENED, slots(0), DIR0))]
)
def test_a_migrated_log_while_another_directory_is_offline(rules: str, expected: tuple[object, ...]) -> None:
    """MIGRATING names no directory, so the code hides the log while any directory is offline (B15)."""
    found = taken(host(logs=slots(0), whole=slots(0), disks=slots(0)), assigned(MIGRATING), 0, parse(rules).directories)
    assert outcome(found) == expected


def test_a_running_broker_makes_new_partitions_whatever_is_offline() -> None:
    """A partition that is new to the broker cannot be in the dead directory; the seeded defect waits for that one."""
    new = host(seen=True, known=NEW, disks=slots(1))
    for rules in ("fixed", "kip", "kafka-4.0"):
        assert outcome(taken(new, assigned(UNASSIGNED), 1, parse(rules).directories)) == (SERVING, slots(1), DIR1)
    waits = taken(new, assigned(UNASSIGNED), 1, parse("fixed+offline-directory-stops-new-logs").directories)
    assert (waits.replica, waits.logs) == (UNOPENED, slots())


def test_a_failed_replica_stays_offline_until_the_restart() -> None:
    """Later metadata opens nothing; the historical defect makes an empty log elsewhere (KAFKA-16234)."""
    dead = host(seen=True, known=DIR0, replica=OFFLINE, logs=slots(0), whole=slots(0), disks=slots(1), failed=slots(0))
    assert outcome(taken(dead, assigned(DIR0), 1, parse("fixed").directories)) == (OFFLINE, slots(0), NOTHING)
    again = taken(dead, assigned(DIR0), 1, parse("fixed+failure-recreates-log").directories)
    assert (outcome(again), again.whole) == ((SERVING, slots(0, 1), DIR1), slots(0))


def test_the_code_reads_only_what_was_rewritten() -> None:
    """Where the entry was not rewritten the code neither compares nor corrects it."""
    known = host(seen=True, known=DIR1, replica=SERVING, logs=slots(0))
    assert taken(known, assigned(DIR1), 0, parse("kafka-4.0").directories).ready == NOTHING
    assert taken(evolve(known, moved=True), assigned(DIR1), 0, parse("kafka-4.0").directories).ready == DIR0
    assert taken(known, assigned(DIR1), 0, parse("fixed").directories).ready == DIR0


def test_a_broker_that_becomes_a_replica_does_not_report_it() -> None:
    """B12: the assignment of a replica that a reassignment adds is never read."""
    entering = host(seen=True, known=NOTHING, replica=ABSENT, moved=True)
    assert taken(entering, assigned(UNASSIGNED), 0, parse("kafka-4.0").directories).ready == NOTHING
    assert taken(entering, assigned(UNASSIGNED), 0, parse("fixed").directories).ready == DIR0


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


def test_a_single_directory_is_silent_in_the_kip() -> None:
    """Only LOST is corrected by a broker with one directory."""
    one = evolve(Cluster(directories=1).host(), seen=False, known=NOTHING, behind=False)
    assert taken(one, assigned(UNASSIGNED), 0, parse("kip").directories).ready == NOTHING
    assert taken(one, assigned(LOST, online=False), 0, parse("kip").directories).ready == DIR0
    assert taken(one, assigned(UNASSIGNED), 0, parse("fixed").directories).ready == DIR0


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
