"""Leadership: a live replica on a live directory leads, in an epoch of its own."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.anynumber import each_broker
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL, MIGRATING, UNASSIGNED
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections.outsiders import PREFERRED, may_be_online, working
from kraftcheck.properties.kinds import always, step

OF_SEVERAL_DIRECTORIES = ("failed-directories-unregistered", "unfenced-where-known", "isr-directory-online")
"""Claims that say nothing of brokers with one directory."""


def properties(setting: Setting) -> list[Property]:
    """Invariants 10-12, 18, 28-30 and 32."""
    claims = [*_leaders(), *_events()]
    return [c for c in claims if c.id not in OF_SEVERAL_DIRECTORIES or setting["directories"] > 1]


def _leaders() -> list[Property]:
    """Of the leader and the ISR around it."""
    return [
        always("leader-active", "the leader is registered, unfenced and not shutting down",
               lambda s: implies(s.leader >= 0, working(s).has(s.leader)),
               "invariant 10; KIP-841",
               ("dead-last-known-leader-electable", "stale-reregistration-keeps-isr",
                "unfence-ignores-controlled-shutdown", "fenced-leader-acceptable"),
               rules=("election.last-known.alive", "restart.leaves-isr",
                      "unfence.not-active-while-shutting-down", "leader.unfenced", "leader.active",
                      "isr.leave.not-elected-again", "fence.leaves-isr")),
        always("leader-directory-online", "the leader's directory is online",
               lambda s: online(s, lambda b: s.leader == b),
               "invariant 11; KIP-858", ("offline-directory-leader-kept", "passes-share-one-base",
                "one-directory-means-all-online"),
               rules=("directory.failure-leads-away", "assignment.one-pass",
                      "heartbeat.directories-first", "event.later-pass-sees-earlier",
                      "directory.last-one-hides-none", "directory.online-when-registered")),
        always("isr-directory-online", "while there is a leader, no ISR member is on a directory told offline",
               lambda s: online(s, lambda b: all_of(s.leader >= 0, s.isr.has(b))), "KIP-858; X8",
               ("alter-partition-ignores-directories", "offline-directory-leader-kept"),
               rules=("isr.join.directory-online", "directory.failure-leads-away")),
        always("isr-active-while-led", "while there is a leader, every ISR member is active", _isr_active,
               "invariant 12; KIP-841", ("stale-reregistration-keeps-isr",),
               rules=("restart.leaves-isr", "leader.active", "fence.leaves-isr")),
    ]  # fmt: skip


def _events() -> list[Property]:
    """Of epochs, and of what events record."""
    return [
        step("partition-epoch-covers-leader-epoch", "the partition epoch rises at least as often as the leader epoch",
             lambda t: t.event.partition_epoch_bumps >= t.event.leader_epoch_bumps,
             "invariant 18; KIP-497", ("leader-epoch-rises-twice",),
             rules=("leader-epoch.rises-with-leader-field",)),
        step("partition-epoch-counts-records", "the partition epoch rises by one for each record",
             lambda t: t.event.partition_epoch_bumps == t.event.records,
             "invariant 28; KIP-497", ("partition-epoch-follows-leader",),
             rules=("partition-epoch.rises-with-each-record",)),
        step("new-leader-new-epoch", "another leader means a higher leader epoch, by at most one for each record",
             _new_epoch, "invariant 29; KIP-101", ("leader-change-keeps-epoch", "leader-epoch-rises-twice"),
             rules=("leader-epoch.rises-with-leader-field",)),
        step("removal-bumps-leader-epoch", "removing a replica raises the leader epoch",
             lambda t: any_of(t.before.replicas.within(t.after.replicas), t.event.leader_epoch_bumps > 0),
             "invariant 30; KAFKA-15021", ("no-bump-on-replica-removal",),
             rules=("replicas.removal.bumps-leader-epoch",)),
        step("shutdown-until-restart", "controlled shutdown ends only with the incarnation", _shutdown_stays,
             "invariant 32; KIP-841", ("unfence-clears-controlled-shutdown",),
             rules=("shutdown.ends-with-incarnation",)),
        step("controller-stays", "no event makes the controller look up a broker that is no replica",
             lambda t: negate(t.event.resigned),
             "B1, B4; PartitionRegistration.directory", ("removed-replicas-stay-in-elr",),
             rules=("elr.within-replicas", "election.outsider-lookup-resigns")),
        step("decided-on-latest", "no record of an event is decided on the partition before an earlier record of it",
             lambda t: negate(t.event.stale_base), "B8; KAFKA-13173",
             ("passes-share-one-base", "fences-share-one-base"),
             rules=("assignment.one-pass", "heartbeat.directories-first",
                    "event.later-pass-sees-earlier", "session.expiry-sees-earlier-fencing")),
        step("unfenced-candidate-leads",
             "a candidate that is unfenced, and may lead, ends the time without a leader", _candidate_leads,
             "KIP-966; semantics 3", ("unfence-retries-isr-only",), rules=("unfence.retries-leaderless",)),
        step("leader-stays",
             "a leader of the ISR that may lead before and after a step stays, but for a preferred election",
             _leader_stays, "KIP-858; semantics 2.3 and 6.2", ("unknown-directory-is-offline",),
             rules=("assignment.one-pass", "directory.unknown-is-online", "election.clean.keeps-valid-leader",
                    "alter-partition.isr-of-replicas-with-leader")),
        step("directory-is-as-assigned", "a replica stays in its directory until an assignment; a new one is "
             "UNASSIGNED, in its broker's only directory, or MIGRATING where its broker lists none", _as_assigned,
             "KIP-858; semantics 8", ("default-directory-migrating",),
             rules=("directory.default-for-new-replica", "directory.kept-until-assigned")),
        step("unfenced-where-known",
             "a broker with several directories is unfenced only when the controller knows where its replica is",
             _unfenced_where_known, "KIP-858", ("unfence-ignores-assignments",),
             rules=("unfence.directories-known",)),
        step("failed-directories-unregistered", "a directory reported as failed is no longer registered",
             _failures_recorded, "KIP-858; X6", ("empty-directory-list-means-no-change",),
             rules=("registration.empty-directory-list-is-none-left",)),
    ]  # fmt: skip


def online(s: Elections, concerned: Callable[[Word], Truth]) -> Conjuncts:
    """Judged strictly, whatever the rule set believes: reserved ids other than LOST say nothing."""
    return each_broker(s.online_dirs, lambda b: implies(concerned(b), may_be_online(s, b)))


def _isr_active(s: Elections) -> Conjuncts:
    active = working(s)
    return each_broker(s.online_dirs, lambda b: implies(all_of(s.leader >= 0, s.isr.has(b)), active.has(b)))


def _new_epoch(t: Step) -> Conjuncts:
    moved = negate(t.before.leader == t.after.leader)
    return {
        "epoch rises": implies(moved, t.event.leader_epoch_bumps > 0),
        "at most once for each record": t.event.leader_epoch_bumps <= t.event.records,
    }


def _failures_recorded(t: Step) -> Truth:
    if t.action not in ("directories_offline", "heartbeat"):
        return True
    after: Elections = t.after
    return after.dirs_of(t.arguments["broker"]).keep(t.arguments["failed"]).is_empty()


def _candidate_leads(t: Step) -> Truth:
    """An ELR member is a candidate only once the ISR is empty, the last known leader once both are, before any other.

    Who shuts down, or is removed, need not lead.
    """
    if t.action != "unfence":
        return True
    before, broker = t.before, t.arguments["broker"]
    candidates = choose(before.isr.is_empty(), before.elr, before.isr).keep(before.replicas).minus(before.removing)
    last = all_of(before.elr_enabled, before.last_known_elr.has(broker), before.isr.plus(before.elr).is_empty())
    stays = all_of(before.replicas.has(broker), negate(before.removing.has(broker)))
    able = all_of(negate(before.shutting_down.has(broker)), may_be_online(before, broker), before.leader == NO_LEADER)
    return all_of(
        implies(all_of(able, candidates.has(broker)), t.after.leader >= 0),
        implies(all_of(able, last, stays), t.after.leader == broker),
    )


def _leader_stays(t: Step) -> Truth:
    if t.action in (*PREFERRED, "elect_designated"):
        return True
    leader, after = t.before.leader, t.after
    able = t.before.isr.keep(working(t.before)).keep(working(after)).keep(after.replicas)
    return implies(all_of(leader >= 0, able.has(leader), may_be_online(after, leader)), after.leader == leader)


def _as_assigned(t: Step) -> Conjuncts:
    before: Elections = t.before
    after: Elections = t.after

    def as_given(b: Word) -> Truth:
        now, listed = after.directories.of(b), before.dirs_of(b)
        only = all_of(listed.size() == 1, listed.has(now - FIRST_LOCAL))
        new = any_of(now == UNASSIGNED, only, all_of(listed.is_empty(), now == MIGRATING))
        given = choose(before.replicas.has(b), now == before.directories.of(b), new)
        if t.action == "assign":
            given = choose(t.arguments["broker"] == b, now == t.arguments["directory"], given)
        return any_of(t.event.resigned, negate(after.replicas.has(b)), given)

    return each_broker(before.online_dirs, as_given)


def _unfenced_where_known(t: Step) -> Conjuncts:
    before: Elections = t.before

    def known(b: Word) -> Truth:
        directory = before.directories.of(b)
        unfenced = all_of(before.fenced.has(b), t.after.registered.has(b), negate(t.after.fenced.has(b)))
        unknown = any_of(directory == UNASSIGNED, directory == MIGRATING)
        return negate(all_of(unfenced, before.replicas.has(b), before.dirs_of(b).size() > 1, unknown))

    return each_broker(before.online_dirs, known)


def _shutdown_stays(t: Step) -> Truth:
    ended: BrokerSet = t.before.shutting_down.minus(t.after.shutting_down)
    if t.action in ("new_incarnation", "unregister"):
        ended = ended.minus(ended.just(t.arguments["broker"]))
    return ended.is_empty()
