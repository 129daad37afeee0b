"""Contents of a broker's disks: no log is lost by a move, by filling another directory, or by a mistaken id."""

from __future__ import annotations

from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate, none_of
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    METADATA,
    UNOPENED,
    UPGRADE,
    Host,
    Placement,
    Slots,
    drawn_by,
)
from kraftcheck.properties.directories.assignment import ASSIGNING
from kraftcheck.properties.kinds import always, happens, sometimes, step


def properties(setting: Setting) -> list[Property]:
    """Safety of logs, moves and directory ids."""
    several = setting["directories"] > 1
    claims = [
        step("no-copy-is-filled-over", "no empty log is made while the broker has the replica in an offline directory",
             _filled, "KIP-858; KAFKA-16234", ("failure-recreates-log", "unassigned-fills-while-offline"),
             rules=("catchup.no-empty-log-for-a-hidden-one",)),
    ]  # fmt: skip
    if setting["failures"] and several and setting["start"] != UPGRADE:
        claims.append(
            always("told-is-told", "an acknowledged failure is not registered as online", _told_is_told,
                   "KIP-858; B16", ("reported-while-in-flight",),
                   rules=("directory-failure.in-flight-is-not-reported",
                          "failover.directory-failure-replayed")))  # fmt: skip
    if setting["moves"]:
        claims.append(
            step("moves-keep-the-copy", "no move, start or failure makes a broker lose its only complete log",
                 _keeps, "KIP-113; B14", ("promotion-ignores-offsets",),
                 rules=("move.promoted-when-level", "startup.future-log-replaces-only-when-level")))  # fmt: skip
        claims.append(
            step("moves-go-forward", "an accepted move whose log is level is not assigned back while both disks work",
                 _forward, "invariant 47; B13", ("correction-ignores-future-log",),
                 rules=("assignment.not-corrected-during-a-move",)))  # fmt: skip
    if setting["disk-changes"]:
        claims.append(
            always("duplicate-ids-never-start", "the directories of a running broker have different ids",
                   lambda s: each_record(s.hosts, lambda _, h: implies(h.up, h.distinct_ids())),
                   "KIP-858", ("duplicate-ids-start",),
                   rules=("startup.directory-ids-differ",)))  # fmt: skip
    if setting["metadata-slot"]:
        claims += [
            always("runs-with-its-metadata", "a broker runs only while the directory of its metadata log works",
                   lambda s: each_record(s.hosts, lambda _, h: implies(h.up, h.disks.has(METADATA))),
                   "KIP-858", ("metadata-failure-survived",), rules=("metadata-directory.failure-stops-broker",)),
        ]  # fmt: skip
        if not setting.rules.directories.metadata_failure_survived:
            claims.append(happens("shows-halt", "a broker stops with a directory that still works", _halts))
    if drawn_by(setting.bounds):
        claims.append(
            always("ids-are-not-reserved", "every directory of a running broker has an id that is not reserved",
                   _named, "KIP-858", ("reserved-ids-drawn",),
                   rules=("directory-id.reserved-not-drawn",)))  # fmt: skip
    if setting["copies"]:
        claims.append(
            step("incarnations-do-not-mix", "an assignment of an earlier incarnation changes nothing", _incarnations,
                 "KIP-858; KIP-380", ("assignment-ignores-broker-epoch",),
                 rules=("assignment.of-current-incarnation",)))  # fmt: skip
    return [*claims, *_of_cordons(setting)] if setting["cordons"] else claims


def _of_cordons(setting: Setting) -> list[Property]:
    """The claims on logs that come to a cordoned directory, or stay in it."""
    rules = setting.rules.directories
    claims = [
        step("cordoned-takes-no-new-log", "no log, and no future log, is made in a cordoned directory", _newcomers,
             "KIP-1066", ("cordoned-directory-as-last-resort", "cordoned-target-accepted"),
             rules=("cordoning.takes-no-new-log", "cordoning.takes-no-move")),
        step("cordoned-keeps-what-it-has", "whoever cordons a directory closes no replica, and changes no assignment",
             _stays, "KIP-1066", ("cordoning-closes-replicas",), rules=("cordoning.keeps-what-is-there",)),
        sometimes("shows-cordoned-leader", "a replica leads from a cordoned directory",
                  lambda s: any_of(*(all_of(h.serving(), h.leads, s.cordoned_of(b).has(h.current()))
                                     for b, h in enumerate(s.hosts)))),
    ]  # fmt: skip
    if setting["directories"] > 1:
        claims.append(happens("shows-log-elsewhere", "a log is made while another directory is cordoned",
                              lambda t: False if t.action != "apply_metadata" else _elsewhere(t)))  # fmt: skip
    if setting["reassignments"]:
        claims += [
            step("cordoned-broker-gets-no-replica", "no replica comes to a broker whose directories are all cordoned",
                 _added, "KIP-1066", ("cordoned-brokers-assignable",),
                 rules=("assignment-by-hand.on-brokers-that-take-replicas",)),
            happens("shows-evacuation", "a replica is moved away from a broker whose directories are all cordoned",
                    lambda t: False if t.action != "reassign" else any_of(*(
                        all_of(_cordoned(t.before, b), t.before.controller.replicas.has(b),
                               negate(t.arguments["target"].has(b))) for b in range(len(t.before.hosts))))),
        ]  # fmt: skip
    if not rules.cordoned_directory_as_last_resort:
        claims.append(
            sometimes("shows-waiting", "a replica waits for a directory that is not cordoned",
                      lambda s: any_of(*(all_of(h.up, h.replica == UNOPENED, h.disks.within(s.cordoned_of(b)))
                                         for b, h in enumerate(s.hosts)))))  # fmt: skip
    return claims


def _made(t: Step) -> Slots:
    """Where the broker of a step has a log, or a future log, for the first time."""
    before, after = (state.host(t.arguments["broker"]) for state in (t.before, t.after))
    had: Slots = before.logs.plus(Slots().just(before.future))
    has: Slots = after.logs.plus(Slots().just(after.future))
    return has.minus(had)


def _elsewhere(t: Step) -> Truth:
    return none_of(_made(t).is_empty(), t.before.cordoned_of(t.arguments["broker"]).is_empty())


def _newcomers(t: Step) -> Truth:
    if t.action not in ("apply_metadata", "move"):
        return True
    return _made(t).keep(t.before.cordoned_of(t.arguments["broker"])).is_empty()


def _cordoned(s: Placement, broker: int) -> Truth:
    """Whether each directory of a broker is cordoned."""
    return s.cordoned_of(broker).size() == len(s.hosts[broker].names)


def _added(t: Step) -> Conjuncts | Truth:
    if t.action != "reassign":
        return True
    before, after = (state.controller.replicas for state in (t.before, t.after))
    return {
        f"broker {b}": implies(all_of(after.has(b), negate(before.has(b))), negate(_cordoned(t.before, b)))
        for b in range(len(t.before.hosts))
    }


def _stays(t: Step) -> Truth:
    if t.action != "cordon":
        return True
    before, after = (state.host(t.arguments["broker"]) for state in (t.before, t.after))
    return all_of(implies(before.serving(), after.serving()), before.ready == after.ready, before.logs.same(after.logs))


def _halts(t: Step) -> Truth:
    if t.action != "fail_directory":
        return False
    before, after = t.before.host(t.arguments["broker"]), t.after.host(t.arguments["broker"])
    return all_of(before.up, negate(after.up), negate(after.disks.is_empty()))


def _filled(t: Step) -> Conjuncts:
    if t.action != "apply_metadata":
        return {"no log is made": True}
    after: Placement = t.after

    def of(broker: Word, old: Host) -> Truth:
        hidden = old.whole.minus(old.disks)
        return any_of(after.host(broker).logs.within(old.logs), hidden.is_empty())

    return each_record(t.before.hosts, of)


def _told_is_told(s: Placement) -> Conjuncts:
    return each_record(s.hosts, lambda b, h: implies(h.up, h.ids(h.told).keep(s.controller.dirs_of(b)).is_empty()))


def _keeps(t: Step) -> Conjuncts:
    """Judged of brokers that stay replicas; a record written and a disk thrown away are other matters."""
    if t.action in ("write", "replace_disk"):
        return {"no move": True}
    after: Placement = t.after

    def of(broker: Word, old: Host) -> Truth:
        new = after.host(broker)
        stays = any_of(negate(new.replica == ABSENT), negate(new.seen))
        had = negate(old.whole.is_empty())
        return implies(all_of(stays, had), negate(new.whole.is_empty()))

    return each_record(t.before.hosts, of)


def _forward(t: Step) -> Conjuncts:
    if t.action not in ASSIGNING:
        return {"no assignment": True}
    before: Placement = t.before

    def of(broker: Word, host: Host) -> Truth:
        reached = all_of(host.moving(), host.copied, before.assigned(broker) == host.directory(host.future))
        return implies(reached, before.assigned(broker) == t.after.assigned(broker))

    return each_record(before.hosts, of)


def _named(s: Placement) -> Conjuncts:
    def of(host: Host) -> Truth:
        return all_of(*(implies(all_of(host.up, host.disks.has(slot)), name >= 0)
                        for slot, name in enumerate(host.names)))  # fmt: skip

    return each_record(s.hosts, lambda _, host: of(host))


def _incarnations(t: Step) -> Conjuncts:
    if t.action != "assign_late":
        return {"no late request": True}
    before: Placement = t.before
    after: Placement = t.after
    same = before.controller.directories.same(after.controller.directories)
    return each_record(before.hosts, lambda b, host: implies(all_of(t.arguments["broker"] == b, host.late_stale), same))
