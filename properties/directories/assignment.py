"""Leaders and their directories, and the controller's knowledge of where replicas are."""

from __future__ import annotations

from kraftcheck.model.language.anynumber import Claim, each_broker, each_record
from kraftcheck.model.language.system import ANY, Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.partition.registration import MIGRATING, UNASSIGNED
from kraftcheck.model.systems.directories.state import NOTHING, SERVING, Host, Placement
from kraftcheck.properties.directories.loss import forgiven
from kraftcheck.properties.elections.outsiders import may_be_online, working
from kraftcheck.properties.kinds import always, step

ASSIGNING = ("assign", "assign_late")  # the actions by which a broker changes its own assignment


def properties(setting: Setting) -> list[Property]:
    """The claims on leaders' directories and on assignments."""
    several, sized = setting["directories"] > 1, setting["brokers"] == ANY or setting["brokers"] > 1
    claims = [
        *_places(setting),
        step("assigned-by-its-broker", "an assignment changes only by a request of that broker, or with its replica",
             _assigned_by_broker, "invariant 38; KIP-858", ("assignment-unauthorized",),
             rules=("assignment.authorized", "directory.kept-until-assigned")),
        step("unfenced-when-caught-up", "a broker is unfenced only by a heartbeat after it has applied its metadata",
             _unfenced, "invariant 37; KIP-631", ("unfence-unasked",),
             rules=("unfence.asked-when-caught-up",)),
        step("decided-on-latest", "no record of an event is decided on the partition before an earlier record of it",
             lambda t: True if t.event is None else negate(t.event.event.stale_base), "B8; KAFKA-13173",
             ("passes-share-one-base",),
             rules=("assignment.one-pass", "heartbeat.directories-first", "event.later-pass-sees-earlier")),
    ]  # fmt: skip
    if several:
        claims.append(
            step("fenced-until-settled", "a broker is unfenced only when its replica is assigned to where it is",
                 _fenced_until_settled, "KIP-858",
                 ("unfence-ignores-assignments", "one-directory-awaits-nothing"),
                 rules=("unfence.assignments-settled", "unfence.directories-known")))  # fmt: skip
    if sized:
        claims.append(
            always("isr-directory-online", "while there is a leader, no ISR member is on a directory told offline",
                   lambda s: _told(s, lambda b: all_of(s.controller.leader >= 0, s.controller.isr.has(b))),
                   "KIP-858; X8", ("alter-partition-ignores-directories",),
                   rules=("isr.join.directory-online", "directory.failure-leads-away")))  # fmt: skip
    return claims


def _places(setting: Setting) -> list[Property]:
    """Where leaders and replicas are."""
    return [
        always("leader-active", "the leader is registered, unfenced and not shutting down",
               lambda s: implies(s.controller.leader >= 0, working(s.controller).has(s.controller.leader)),
               "invariant 10; KIP-841", ("fenced-leader-acceptable",),
               rules=("leader.unfenced", "registration.again-keeps-fencing")),
        always("leader-directory-online", "the leader is on no directory that the controller was told is offline",
               lambda s: _told(s, lambda b: s.controller.leader == b), "invariant 11; KIP-858",
               ("offline-directory-leader-kept", "passes-share-one-base", "one-directory-means-all-online"),
               rules=("directory.failure-leads-away", "assignment.one-pass",
                      "heartbeat.directories-first", "event.later-pass-sees-earlier",
                      "directory.last-one-hides-none", "directory.online-when-registered")),
        always("failure-leads-away", "a broker with nothing left to tell leads no partition whose log it cannot read",
               lambda s: _led_away(s, _once(setting)), "invariant 45; KIP-858",
               ("catch-up-as-coded+added-replica-unreported", "failure-reported-once", "lost-source-unreported"),
               rules=("catchup.one-table", "catchup.added-replica-reports",
                      "directory-failure.in-every-heartbeat", "move.failed-source-is-lost",
                      "assignment.offline-directory-leads-away")),
        always("candidates-complete", "every ISR or ELR member that serves its log has every committed record",
               lambda s: _complete(s, setting), "invariant 26; KAFKA-16234", ("failure-recreates-log",),
               rules=("catchup.no-empty-log-for-a-hidden-one", "move.replaced-log-is-marked",
                      "startup.future-log-replaces-only-when-level")),
        always("assignment-settles", "a broker with nothing left to tell is assigned to where its replica is",
               lambda s: _settled(s, setting), "invariant 44; KIP-858",
               ("revert-only-while-queued", "catch-up-as-coded+added-replica-unreported", "answered-before-commit"),
               rules=("answer.waits-for-commit", "move.failed-target-takes-assignment-back", "catchup.one-table",
                      "catchup.added-replica-reports", "move.metadata-keeps-its-state",
                      "move.promoted-when-accepted", "assignment.abandoned-is-refused",
                      "catchup.log-elsewhere-is-reported")),
    ]  # fmt: skip


def quiet(s: Placement, broker: Word, once: bool) -> Truth:
    """Whether a running broker has applied all metadata, and has no failure to report and no assignment to send.

    While no directory is on file, it has yet to register again. What failed and is on file is reported again, unless
    the broker reports a failure `once` only.
    """
    host, registered = s.host(broker), s.controller.dirs_of(broker)
    on_file = registered.none() if once else host.ids(host.failed).keep(registered)
    return all_of(
        host.up,
        host.seen,
        negate(host.behind),
        negate(registered.is_empty()),
        host.failed.within(host.told),
        on_file.is_empty(),
        all_of(host.ready == NOTHING, host.sent == NOTHING),
        host.late == NOTHING,
    )


def _once(setting: Setting) -> bool:
    """Whether brokers report a failure until it is acknowledged, and not in every heartbeat."""
    rules = setting.rules.directories
    return bool(rules.failure_reported_once or rules.reported_until_acknowledged)


def _told(s: Placement, concerned: Claim) -> Conjuncts:
    return each_broker(s.hosts, lambda b: implies(concerned(b), may_be_online(s.controller, b)))


def _led_away(s: Placement, once: bool) -> Conjuncts:
    return each_record(
        s.hosts, lambda b, h: implies(all_of(quiet(s, b, once), s.controller.leader == b), h.replica == SERVING)
    )


def _complete(s: Placement, setting: Setting) -> Conjuncts:
    candidates, asked = s.controller.isr.plus(s.controller.elr), negate(forgiven(s, setting))
    return each_record(s.hosts, lambda b, h: implies(all_of(candidates.has(b), h.serving(), asked), h.healthy()))


def _settled(s: Placement, setting: Setting) -> Conjuncts:
    """Not asked while a move runs, nor of single directories in the KIP, which need no assignment."""
    if setting["directories"] == 1 and setting.rules.directories.single_directory_silent:
        return {"nothing is claimed of single directories": True}
    once = _once(setting)

    def settled(broker: Word, host: Host) -> Truth:
        still = all_of(quiet(s, broker, once), host.replica == SERVING, negate(host.moving()))
        return implies(still, s.assigned(broker) == host.actual())

    return each_record(s.hosts, settled)


def _assigned_by_broker(t: Step) -> Conjuncts:
    before: Placement = t.before
    after: Placement = t.after

    def of(broker: Word) -> Truth:
        same = before.assigned(broker) == after.assigned(broker)
        entered = negate(all_of(before.controller.replicas.has(broker), after.controller.replicas.has(broker)))
        sent: Truth = t.arguments["broker"] == broker if t.action in ASSIGNING else False
        return any_of(same, entered, sent)

    return each_broker(before.hosts, of)


def _unfenced(t: Step) -> Conjuncts:
    before: Placement = t.before
    after: Placement = t.after

    def of(broker: Word, host: Host) -> Truth:
        freed = all_of(before.controller.fenced.has(broker), negate(after.controller.fenced.has(broker)))
        asked: Truth = t.arguments["broker"] == broker if t.action == "unfence" else False
        return implies(freed, all_of(asked, host.up, host.seen))

    return each_record(before.hosts, of)


def _fenced_until_settled(t: Step) -> Conjuncts:
    """A readable log is assigned to its directory, or to that of a move which the controller has accepted.

    A log that cannot be read is assigned to a known directory that does not work, and a replica without any log to a
    known one. Nothing is promised of a broker whose registration lists no directory: it, or the metadata version, does
    not have them yet.
    """
    if t.action != "unfence":
        return {"no broker is unfenced": True}
    before: Placement = t.before

    def of(broker: Word, host: Host) -> Truth:
        directory = before.assigned(broker)
        known = negate(any_of(directory == UNASSIGNED, directory == MIGRATING))
        accepted = all_of(host.moving(), directory == host.directory(host.future))
        waits = any_of(host.logs.is_empty(), host.slot_of(directory) == NOTHING)
        there = choose(host.has_log(), any_of(directory == host.actual(), accepted), all_of(known, waits))
        listed = negate(before.controller.dirs_of(broker).is_empty())
        concerned = all_of(t.arguments["broker"] == broker, before.controller.replicas.has(broker), listed)
        return implies(concerned, there)

    return each_record(before.hosts, of)
