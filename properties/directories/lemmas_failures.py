"""Lemmas of `directories` about failures: what a broker still has to tell, and which logs hold every record."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, same_truth
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING
from kraftcheck.model.systems.directories.state import ABSENT, NOTHING, OFFLINE, RUNNING, UNOPENED, Host, Placement
from kraftcheck.properties.kinds import always


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
