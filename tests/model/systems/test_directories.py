"""The `directories` system: each step by hand, catch-up row by row, known traces, and properties that can fail."""

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.verdicts import defects as bugs
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
from kraftcheck.properties.register.defects import Bug
from kraftcheck.solvers.program.verdict import Holds, Refuted
from tests.shared.directories import DIR0, DIR1, Cluster, slots


def trace_of(row: Bug, rules: str, claim: str) -> list[str] | None:
    """The actions of a shortest trace in a row's scope; None where the property holds."""
    found: Any = bugs.explore_defect(row, rules, search_budget(1, 4 << 30), quiet=True)
    (verdict,) = [v.verdict for v in found.verdicts if v.claim == claim]
    if isinstance(verdict, Holds):
        return None
    assert isinstance(verdict, Refuted)
    return [step.action for step in verdict.trace.steps]


@pytest.mark.parametrize(
    ("directories", "rules", "verdict"),
    [
        (2, "kip", None),
        (2, "kip-one-directory-awaits-nothing", ["start", "fail_directory"]),
        (3, "kip", ["fail_directory", "start"]),
        (1, "kip", None),
        (1, "kip-one-directory-awaits-nothing", ["start"]),
    ],
)
def test_the_kip_fences_a_migrating_broker_for_ever(directories: int, rules: str, verdict: list[str] | None) -> None:
    """The broker does not say where its replica is, and is awaited: in steady state where two directories are left."""
    row = Bug("", "", "directories", "migration", {}, {"directories": directories})
    assert trace_of(row, rules, "broker-can-return") == verdict


@pytest.mark.parametrize(("scope", "length"), [("migration", 4), ("upgrade", 5)])
def test_the_kip_unfences_a_broker_that_has_one_directory_left(scope: str, length: int) -> None:
    """A failure leaves one directory registered, of which the document awaits nothing in steady state."""
    found = trace_of(Bug("", "", "directories", scope, {}), "kip", "fenced-until-settled")
    assert found is not None
    assert (len(found), found[-1]) == (length, "unfence")
    assert found[0] == "fail_directory"


def test_a_failure_is_reported_until_the_restart() -> None:
    """Every heartbeat lists every failed directory; the draft stops once one is acknowledged."""
    c = Cluster().settle().do("fail_directory", broker=0, slot=1).report()
    assert (c.host().told, c.host().reports(c.setting.rules.directories)) == (slots(1), slots(1))
    draft = Cluster("fixed+reported-until-acknowledged").settle().do("fail_directory", broker=0, slot=1)
    assert draft.report(delivered=False).host().reports(draft.setting.rules.directories) == slots(1)
    assert draft.report().host().reports(draft.setting.rules.directories) == slots()


@pytest.mark.parametrize(
    ("rules", "refused"), [("fixed", []), ("fixed+reports-wait-for-assignments", ["assignments are sent first"])]
)
def test_a_report_waits_for_no_assignment(rules: str, refused: list[str]) -> None:
    """A failure is reported though an assignment waits; in the variant the assignment goes first."""
    c = Cluster(rules).apply(slot=0).do("fail_directory", broker=0, slot=1)
    assert c.host().queued()
    assert c.refusals("report", broker=0, delivered=True) == refused


def test_the_timeout_stops_a_broker_that_cannot_report() -> None:
    """Unconditionally in the code; in the KIP only a broker that leads in the failed directory."""
    c = Cluster().settle().do("fail_directory", broker=0, slot=0)
    assert c.refusals("log_dir_timeout", broker=0) == []
    assert c.report().refusals("log_dir_timeout", broker=0) == ["a failure is not acknowledged"]
    for slot, leads, stops in ((0, True, True), (0, False, False), (1, True, False)):
        c = Cluster("fixed+timeout-only-if-leading").settle().do("fail_directory", broker=0, slot=slot)
        assert (c.change(leads=leads).refusals("log_dir_timeout", broker=0) == []) == stops


def test_the_last_directory_halts_the_broker() -> None:
    """A broker without a working directory stops, and cannot start."""
    c = Cluster(directories=1).apply().do("fail_directory", broker=0, slot=0)
    assert (c.host().up, c.host().replica) == (False, ABSENT)
    assert c.refusals("start", broker=0) == ["a directory works"]


def test_the_directory_of_the_metadata_log_halts_the_broker() -> None:
    """Where the first directory has that log its failure stops the broker, until it is repaired; another's does not."""
    c = Cluster(metadata_slot=1).apply(slot=1).do("fail_directory", broker=0, slot=0)
    assert (c.host().up, list(c.host().disks)) == (False, [1])
    assert c.refusals("start", broker=0) == ["the metadata log can be read"]
    assert c.do("repair", broker=0, slot=0).do("start", broker=0).host().up
    assert c.do("fail_directory", broker=0, slot=1).host().up
    assert Cluster().apply(slot=1).do("fail_directory", broker=0, slot=0).host().up
    survived = Cluster("fixed+metadata-failure-survived", metadata_slot=1)
    assert survived.do("fail_directory", broker=0, slot=0).host().up


def test_a_new_disk_gets_a_new_id() -> None:
    """A replaced directory has no id; the start draws one that the broker never had."""
    c = Cluster().settle().do("crash", broker=0).do("replace_disk", broker=0, slot=1)
    assert c.host().names == (0, NOTHING)
    assert c.do("start", broker=0).host().names == (0, 2)
    assert c.state.controller.online_dirs[0] == slots(0, 2)


UNKNOWN = FIRST_LOCAL + 7  # the id of a directory that the broker does not have


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


START = {"logs": slots(0), "whole": slots(0)}  # a start with a log in the first directory
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


def test_a_replica_waits_while_each_directory_is_cordoned() -> None:
    """Its log is made once a directory is cordoned no more; by the released rule it is made at once."""
    released = Cluster("fixed+cordoned-directory-as-last-resort", cordons=1)
    for c in (Cluster(cordons=1), released):
        c.do("cordon", broker=0, slot=0, cordoned=True).do("cordon", broker=0, slot=1, cordoned=True)
    assert released.apply(slot=0).host().logs == slots(0)
    waiting = Cluster(cordons=1).do("cordon", broker=0, slot=0, cordoned=True)
    waiting.do("cordon", broker=0, slot=1, cordoned=True).apply()
    assert (waiting.host().replica, waiting.host().logs) == (UNOPENED, slots())
    waiting.do("cordon", broker=0, slot=1, cordoned=False).apply(slot=1)
    assert (waiting.host().replica, waiting.host().logs) == (SERVING, slots(1))


@pytest.mark.parametrize(
    ("rules", "refused"), [("fixed", []), ("fixed+cordoned-source-keeps-move", ["it is not cordoned"])]
)
def test_a_move_out_of_a_cordoned_directory_is_taken_back(rules: str, refused: list[str]) -> None:
    """A cordoned directory takes no move, and keeps none from being taken back but by the released rule."""
    c = Cluster(rules, cordons=1).settle().do("cordon", broker=0, slot=1, cordoned=True)
    assert c.refusals("move", broker=0, slot=1) == ["it is not cordoned"]
    c.do("cordon", broker=0, slot=1, cordoned=False).do("move", broker=0, slot=1)
    assert c.do("cordon", broker=0, slot=0, cordoned=True).refusals("cancel_move", broker=0) == refused
