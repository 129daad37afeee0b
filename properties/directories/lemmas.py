"""Lemmas of `directories`: what must hold besides its invariants for fencing until settled to be inductive.

Lemmas of `directories` about failures: what a broker still has to tell, and which logs hold every record.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.brokersets import Replicas
from kraftcheck.model.language.system import ANY, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, same_truth
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    IDLE,
    NEW,
    NOTHING,
    OFFLINE,
    RUNNING,
    SERVING,
    UNOPENED,
    Host,
    Placement,
)
from kraftcheck.properties.directories.loss import paid_for
from kraftcheck.properties.elections.lemmas import of_controller
from kraftcheck.properties.kinds import always


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state, and explored as such."""
    return (
        *of_brokers(setting), *of_cordons(setting), *of_moves(setting), *of_the_kip(setting), *of_failures(setting),
        *of_records(setting), *of_controller(setting), *_of_one_broker(setting),
    )  # fmt: skip


def _of_one_broker(setting: Setting) -> tuple[Property, ...]:
    """With others, `loss-is-paid-for` says it."""
    lemma = always("lemma-alone-is-no-outsider", "one broker alone leads from inside, until a disk is thrown away",
                   lambda s: paid_for(s, setting))  # fmt: skip
    return (lemma,) if setting["brokers"] == 1 else ()


def of_brokers(setting: Setting) -> tuple[Property, ...]:
    """The lemmas on the knowledge, logs and requests of brokers."""
    return (
        claim("lemma-unseen-knows-nothing", "before it has seen the partition, a broker has nothing open",
              lambda s, b, h: any_of(all_of(h.up, h.seen), all_of(h.replica == ABSENT, negate(h.queued()),
                                                                 h.promotion == IDLE, negate(h.seen)))),
        claim("lemma-failed-does-not-work", "a directory that failed under the process does not work",
              lambda s, b, h: h.failed.keep(h.disks).is_empty()),
        claim("lemma-serving-has-a-log", "an open log is in a working directory",
              lambda s, b, h: implies(h.replica == SERVING, h.has_log())),
        claim("lemma-readable-log-is-open", "a broker that has seen the partition has opened its readable log",
              lambda s, b, h: implies(all_of(h.up, h.seen, h.has_log()), h.replica == SERVING)),
        claim("lemma-answered-is-assigned", "an answered assignment is the controller's",
              lambda s, b, h: implies(all_of(h.answered, negate(h.sent == NOTHING)), s.assigned(b) == h.sent)),
        claim("lemma-wanted-where-it-is", "what a broker wants assigned is where its log is, or where it moves to",
              lambda s, b, h: _wanted(s, b, h)),
        claim("lemma-one-log", "a readable log is in one directory",
              lambda s, b, h: implies(h.up, h.logs.keep(h.disks).size() <= 1)),
        claim("lemma-absent-asks-nothing", "a broker without replica has no assignment under way",
              lambda s, b, h: implies(h.replica == ABSENT, negate(h.queued()))),
        claim("lemma-absent-is-new", "without reassignments only a partition not yet seen has no replica",
              lambda s, b, h: any_of(setting["reassignments"] > 0, _is_added(s, b, setting),
                                     implies(all_of(h.up, h.seen, h.replica == ABSENT), h.known == NEW))),
        claim("lemma-new-has-nothing", "a broker that has yet to see the partition for the first time has no log of it",
              lambda s, b, h: implies(h.known == NEW, all_of(h.logs.is_empty(), h.replica == ABSENT))),
        claim("lemma-closed-for-cause", "a replica without an open log is so because a directory does not work, or "
              "each was cordoned",
              lambda s, b, h: implies(any_of(h.replica == UNOPENED, h.replica == OFFLINE),
                                      any_of(h.some_offline(), all_of(h.replica == UNOPENED, _barred(s, b, h))))),
        claim("lemma-placed-is-a-replica", "who is no replica is assigned to no directory",
              lambda s, b, h: any_of(s.controller.replicas.has(b), s.assigned(b) == UNASSIGNED)),
        claim("lemma-logs-of-replicas", "without reassignments only replicas have logs",
              lambda s, b, h: any_of(setting["reassignments"] > 0, s.controller.replicas.has(b),
                                     all_of(h.replica == ABSENT, h.logs.is_empty(), h.future == NOTHING))),
        always("lemma-replicas-stay", "without reassignments the replicas are those of the start",
               lambda s: any_of(setting["reassignments"] > 0, _as_at_start(s, setting))),
    )  # fmt: skip


def of_moves(setting: Setting) -> tuple[Property, ...]:
    """The lemmas on the remains of moves between directories."""
    return (
        claim("lemma-moves-from-somewhere", "a move has a log to move",
              lambda s, b, h: implies(h.future >= 0, negate(h.logs.is_empty()))),
        claim("lemma-first-move-asks-first", "before its first move, a broker asks for nothing but where its log is; "
              "before that for LOST, where each directory was cordoned",
              lambda s, b, h: implies(all_of(s.left.moves == setting["moves"], h.serving()),
                                      any_of(_only(h, h.actual()),
                                             all_of(setting["cordons"] > 0, h.sent == LOST, h.ready == h.actual())))),
        claim("lemma-first-move-from-there", "before its first move, a readable log is where it is assigned",
              lambda s, b, h: implies(all_of(s.left.moves == setting["moves"], h.has_log()),
                                      any_of(s.assigned(b) == h.actual(), h.slot_of(s.assigned(b)) == NOTHING))),
        claim("lemma-move-unasked", "while a move's assignment was not asked for, it is not under way",
              lambda s, b, h: implies(all_of(h.serving(), h.moving(), h.promotion == IDLE),
                                      all_of(negate(h.sent == h.directory(h.future)),
                                             negate(h.ready == h.directory(h.future)),
                                             negate(s.assigned(b) == h.directory(h.future))))),
        claim("lemma-only-move-asks-last", "with a single move, nothing is asked for after its assignment",
              lambda s, b, h: any_of(setting["moves"] > 1, negate(h.moving()), _asked_last(s, b, h))),
        claim("lemma-no-move-without-a-move", "before its first move, a broker has no future log",
              lambda s, b, h: implies(s.left.moves == setting["moves"], h.future == NOTHING)),
        claim("lemma-closed-moves-nothing", "a replica without an open log has no assignment of a move accepted",
              lambda s, b, h: any_of(h.replica == SERVING, h.promotion == IDLE)),
        claim("lemma-moves-elsewhere", "a move leads to a directory without a log of the partition",
              lambda s, b, h: negate(h.logs.has(h.future))),
    )  # fmt: skip


def of_cordons(setting: Setting) -> tuple[Property, ...]:
    """What a replica asks for that waits until a directory is cordoned no more; reassignments choose one for it."""
    if not setting["cordons"] or any(setting[name] for name in ("reassignments", "disk-changes", "start")):
        return ()
    lemma = claim("lemma-waiting-is-lost", "a replica that never had a log asks for LOST at most, and has no directory",
                  lambda s, b, h: any_of(_is_added(s, b, setting), negate(h.logs.is_empty()),
                                         all_of(_only(h, LOST), h.slot_of(s.assigned(b)) == NOTHING)))  # fmt: skip
    return (lemma,)


UNMOVED = ("moves", "copies", "repairs", "disk-changes", "reassignments", "start")
"""Bounds that are zero where a log never leaves its directory, and a failed disk never comes back."""


def of_the_kip(setting: Setting) -> tuple[Property, ...]:
    """Why the table of KIP-858 hides no readable log as long as nothing is moved; with moves it does."""
    rules = setting.rules
    as_written = rules.directories.unknown_directory_hides_log and rules.directories.unassigned_fills_while_offline
    if not (as_written and rules.directories.assigned_fills_while_offline) or any(setting[name] for name in UNMOVED):
        return ()
    return (
        claim("lemma-lost-for-cause", "a replica is LOST only where a directory does not work",
              lambda s, b, h: implies(any_of(*(one == LOST for one in assignments(s, b, h))), h.some_offline())),
        claim("lemma-one-readable-log", "a readable log is in one directory, whether or not the process runs",
              lambda s, b, h: h.logs.keep(h.disks).size() <= 1),
        claim("lemma-told-where-it-is", "what the controller is told, or will be, of a readable log is its directory",
              lambda s, b, h: implies(h.has_log(), all_of(*(
                  any_of(one == NOTHING, one == UNASSIGNED, one == h.actual()) for one in assignments(s, b, h))))),
        claim("lemma-unopened-is-elsewhere", "a replica whose log was not looked for is in no directory that works",
              lambda s, b, h: implies(all_of(h.up, h.replica == UNOPENED), all_of(*(
                  all_of(negate(one == UNASSIGNED), h.slot_of(one) == NOTHING) for one in assignments(s, b, h))))),
    )  # fmt: skip


def _is_added(s: Placement, b: Word, setting: Setting) -> Truth:
    """Whether a broker is none of the replicas of the start."""
    return negate(s.controller.replicas.has(b)) if setting["brokers"] == ANY else b >= setting["replication"]


def _barred(s: Placement, b: Word, h: Host) -> Truth:
    """Whether each working directory is cordoned, or metadata is to be applied since one is no more."""
    barred = s.barred(b)
    return False if barred is None else any_of(h.behind, h.disks.within(barred))


def _wanted(s: Placement, b: Word, h: Host) -> Truth:
    goes = all_of(h.moving(), negate(h.promotion == IDLE))
    place = choose(goes, h.directory(h.future), h.actual())
    return implies(all_of(h.serving(), h.seen, s.controller.replicas.has(b)), wanted(s, b, h) == place)


def _only(h: Host, directory: Word) -> Truth:
    """Whether nothing but one assignment is under way."""
    return all_of(*(any_of(one == NOTHING, one == directory) for one in (h.ready, h.sent)))


def _asked_last(s: Placement, b: Word, h: Host) -> Truth:
    """Whether what follows the assignment to a move's target, in flight or at the controller, is that one again."""
    target = h.directory(h.future)
    ready, sent = (any_of(one == NOTHING, one == target) for one in (h.ready, h.sent))
    return all_of(implies(h.sent == target, ready), implies(s.assigned(b) == target, all_of(ready, sent)))


def _as_at_start(s: Placement, setting: Setting) -> Truth:
    """Whether the replicas are the first brokers, if there is a number of them, and none is being reassigned."""
    c = s.controller
    still = all_of(c.adding.is_empty(), c.removing.is_empty())
    if setting["brokers"] == ANY:
        return still
    return all_of(c.replicas.same(Replicas.of(range(setting["replication"]), setting["brokers"])), still)


def claim(id: str, sentence: str, of: Callable[[Placement, Word, Host], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each broker."""
    return always(id, sentence, lambda s: each_record(s.hosts, lambda b, h: of(s, b, h)))


def assignments(s: Placement, b: Word, h: Host) -> tuple[Word, Word, Word]:
    """The assignment that the controller has, that in flight, and that which waits."""
    return s.assigned(b), h.sent, h.ready


def wanted(s: Placement, b: Word, h: Host) -> Word:
    """The assignment that will be the controller's once all messages have arrived."""
    sent = choose(h.sent == NOTHING, s.assigned(b), h.sent)
    return choose(h.ready == NOTHING, sent, h.ready)


def of_failures(setting: Setting) -> tuple[Property, ...]:
    """Why a broker with nothing left to tell leads no partition whose log it cannot read."""
    return (
        claim("lemma-never-migrating", "a partition that began in KRaft mode has no directory from ZooKeeper mode",
              lambda s, b, h: any_of(
                  setting["start"] != RUNNING, none_of(*(one == MIGRATING for one in assignments(s, b, h))))),
        claim("lemma-running-is-registered", "a running broker is registered",
              lambda s, b, h: implies(h.up, s.controller.registered.has(b))),
        claim("lemma-stopped-remembers-nothing", "a stopped process remembers no failure and no metadata",
              lambda s, b, h: any_of(h.up, all_of(h.failed.is_empty(), h.told.is_empty(),
                                                  none_of(h.behind, h.leads)))),
        claim("lemma-registered-works-or-failed", "a registered directory of a running broker works, or has failed",
              lambda s, b, h: implies(h.up, s.controller.dirs_of(b).within(h.ids(h.disks.plus(h.failed))))),
        claim("lemma-working-is-registered", "a working directory of a running broker is registered, once any is",
              lambda s, b, h: any_of(negate(h.up), s.controller.dirs_of(b).is_empty(),
                                     h.ids(h.disks).within(s.controller.dirs_of(b)))),
        claim("lemma-absent-is-behind", "a replica that has applied all metadata knows that it is one",
              lambda s, b, h: implies(all_of(h.up, h.seen, h.replica == ABSENT, s.controller.replicas.has(b)),
                                      h.behind)),
        claim("lemma-closed-is-no-longer-online", "a closed replica is, or will be, on a directory told offline",
              lambda s, b, h: implies(any_of(h.replica == UNOPENED, h.replica == OFFLINE), _offline(s, b, h))),
    )  # fmt: skip


def _offline(s: Placement, b: Word, h: Host) -> Truth:
    """Whether the directory that a broker wants is LOST, has failed under its process, or is not registered."""
    directory = wanted(s, b, h)
    listed = s.controller.dirs_of(b).minus(h.ids(h.failed)).has(directory - FIRST_LOCAL)
    return any_of(directory == LOST, all_of(directory >= FIRST_LOCAL, negate(listed)))


def of_records(setting: Setting) -> tuple[Property, ...]:
    """Why no candidate lacks a record, and no log is made beside one that has them all."""
    enabled = bool(setting["elr"]) and setting.rules.partition.elr_available
    return (
        always("lemma-elr-stays-as-set", "ELR is on where the scope says so",
               lambda s: same_truth(s.controller.elr_enabled, enabled)),
        claim("lemma-complete-logs-are-logs", "what holds every record is a log",
              lambda s, b, h: h.whole.within(h.logs)),
        claim("lemma-readable-candidates-are-complete", "a readable log of a candidate has every record",
              lambda s, b, h: implies(_candidate(s, b), h.logs.keep(h.disks).within(h.whole))),
        claim("lemma-candidates-have-a-log", "once there is a record, every candidate has a log",
              lambda s, b, h: implies(all_of(s.written, _candidate(s, b)), negate(h.logs.is_empty()))),
    )  # fmt: skip


def _candidate(s: Placement, b: Word) -> Truth:
    """Whether a broker may become leader without loss."""
    return all_of(negate(s.lossy), s.controller.isr.plus(s.controller.elr).has(b))
