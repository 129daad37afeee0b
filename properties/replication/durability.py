"""Durability: logs agree, what is acknowledged survives, and a leader is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from kraftcheck.model.language.anynumber import Claim, PerBroker, each_pair, each_record, record_of, some_records
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.log import first_kept, kept_at, of_each, smaller
from kraftcheck.model.systems.replication.settle import remembered
from kraftcheck.model.systems.replication.state import Broker, Replication
from kraftcheck.properties.elections.outsiders import needed_isr, working
from kraftcheck.properties.kinds import always, happens, sometimes, step
from kraftcheck.properties.replication.loss import died, excused, forgiven, permitted, quorum, untouched

EpochClaim = Callable[[Word, Word, Word], Truth]  # a claim about a broker, an epoch and its leader

LeaderClaim = Callable[[Word, Word, Broker], Truth]
"""A claim about a broker that believes that it leads: of its number, its epoch and its record."""


def endless(s: Replication) -> bool:
    """Whether there are any number of brokers and of epochs."""
    return isinstance(s.brokers, PerBroker) and isinstance(s.leaders, Sequence)


def needed_isr_at(s: Replication, epoch: Word) -> Word:
    """How many ISR members a commit of a leader epoch needs, by the controller's last word in that epoch."""
    past: Word = kept_at(s.minimums, epoch, first_kept(s.minimums))
    return choose(epoch == s.leader_epoch, needed_isr(s.controller), past)


def leading(s: Replication) -> Iterator[tuple[str, Word, Word, Broker, Truth]]:
    """Each broker that may believe that it leads, by a name, with its epoch and record, and whether it does."""
    if not isinstance(s.brokers, PerBroker):
        for n, b in enumerate(s.brokers):
            yield f"broker {n}", n, b.epoch, b, s.leads(n, b)
        return
    for epoch, leader in enumerate(s.leaders):
        b = record_of(s.brokers, leader)
        yield f"leader of epoch {epoch}", leader, epoch, b, all_of(leader >= 0, b.running(), b.epoch == epoch)


def each_leading(s: Replication, claim: LeaderClaim) -> Conjuncts:
    """A claim about each broker that believes that it leads, of its epoch and its record."""
    if endless(s):
        return each_record(s.brokers, lambda n, b: implies(s.leads(n, b), claim(n, b.epoch, b)))
    return {name: implies(leads, claim(n, epoch, b)) for name, n, epoch, b, leads in leading(s)}


def each_follower(s: Replication, claim: Callable[[Word, Word, Broker, Word, Broker], Truth]) -> Conjuncts:
    """A claim about each broker that believes that it leads, as above, and each other broker."""
    if endless(s):
        return each_leading(s, lambda n, epoch, b: all_of(
            *each_other(s, n, lambda f, other: claim(n, epoch, b, f, other)).values()))  # fmt: skip
    parts: dict[str, Truth] = {}
    for name, n, epoch, b, leads in leading(s):
        others = each_other(s, n, lambda f, other, n=n, epoch=epoch, b=b: claim(n, epoch, b, f, other))  # type: ignore[misc]
        parts |= {f"{name} of {other}": implies(leads, truth) for other, truth in others.items()}
    return parts


def each_other(s: Replication, number: Word, claim: Callable[[Word, Broker], Truth]) -> Conjuncts:
    """A claim about every broker but one."""
    if isinstance(s.brokers, PerBroker):
        return each_record(s.brokers, lambda f, other: implies(negate(number == f), claim(f, other)))
    return {f"broker {f}": claim(f, other) for f, other in enumerate(s.brokers) if f != number}


def each_led(s: Replication, claim: EpochClaim) -> Conjuncts:
    """A claim about every broker and epoch; of any number of brokers only about the leader of each epoch."""
    if endless(s):
        return each_record(s.brokers, lambda n, _: all_of(
            *of_each(s.leaders, lambda epoch, leader: claim(n, epoch, leader)).values()))  # fmt: skip
    if isinstance(s.brokers, PerBroker):
        return of_each(s.leaders, lambda epoch, leader: implies(leader >= 0, claim(leader, epoch, leader)))
    numbers = range(len(s.brokers))
    parts = {n: of_each(s.leaders, lambda epoch, leader, n=n: claim(n, epoch, leader)) for n in numbers}  # type: ignore[misc]
    return {f"broker {n}, {name}": truth for n, of in parts.items() for name, truth in of.items()}


def properties(setting: Setting) -> list[Property]:
    """Safety of the data plane, and goals."""
    claims = [
        *_records(setting),
        always("watermark-within-log", "a high watermark is within its log",
               lambda s: each_record(s.brokers, lambda _, b: b.high_watermark <= b.log.end()),
               "invariant 23", ("truncation-keeps-watermark",),
               rules=("follower.truncation-lowers-watermark",)),
        always("isr-active", "while there is a leader, every ISR member is active",
               lambda s: implies(s.controller.leader >= 0, s.controller.isr.within(working(s.controller))),
               "invariant 12; KIP-841", ("fenced-may-join-isr", "shutting-down-may-join-isr"),
               rules=("isr.join.unfenced", "isr.join.not-shutting-down"),
               follows_from=("lemma-controller-isr-active-while-led",)),
        always("metadata-match", "a leader that has applied all metadata knows the controller's ISR", _metadata_match,
               "KIP-497; semantics 4", ("refusal-taken-for-success", "answered-before-commit"),
               rules=("proposal.refusal-ends-it", "answer.waits-for-commit")),
        always("recovery-quorum", "ISR and ELR hold min ISR brokers, less one for each unclean stop",
               lambda s: _recovery_quorum(s, setting), "KIP-966; KAFKA-18635", ("every-restart-is-unclean",),
               rules=("restart.clean-keeps-elr",),
               follows_from=("lemma-living-quorum", "loss-is-paid-for")),
        step("epochs-monotone", "the leader epoch never falls, and another leader means a higher epoch",
             _epochs, "KIP-101, KIP-497", ("leader-change-keeps-epoch",),
             rules=("leader-epoch.rises-with-leader-field",)),
        step("one-leader-per-epoch", "the leader of a leader epoch never changes once it is set", _one_leader,
             "invariant 21; KIP-101", ("leader-change-keeps-epoch",),
             rules=("leader-epoch.rises-with-leader-field",)),
        step("watermark-monotone", "a leader's high watermark does not fall within its epoch", _monotone,
             "invariant 39; KIP-101", ("watermark-may-fall",),
             rules=("watermark.never-falls",)),
        sometimes("shows-acknowledged", "a record is acknowledged", lambda s: s.acknowledged > 0),
        sometimes("shows-two-leaders", "two brokers believe that they lead", _two_leaders),
        happens("shows-truncation", "a follower cuts a diverging log",
                lambda t: t.action == "fetch" and _log_shrinks(t)),
    ]  # fmt: skip
    if setting["takeovers"]:
        claims.append(happens("shows-takeover", "a controller is deposed before its decision is committed",
                              lambda t: t.action == "lose_alter_partition"))  # fmt: skip
    if setting["unclean-elections"]:
        claims.append(sometimes("shows-loss", "after an unclean election a committed record is gone", _lost))
    if setting["elr"] and setting.rules.partition.elr_available:
        claims.append(sometimes("shows-elr", "a partition with an ELR", lambda s: negate(s.controller.elr.is_empty())))
    return claims


def _records(setting: Setting) -> list[Property]:
    """Who holds which records."""
    return [
        always("leader-complete", "a leader holds every committed record, while none may be lost",
               lambda s: leader_complete(s, excused(s, setting)),
               "invariant 25; KIP-966",
               ("hw-advances-under-min-isr", "alter-partition-ignores-broker-epoch", "answered-before-commit"),
               rules=("answer.waits-for-commit", "watermark.waits-for-maximal-isr", "watermark.frozen-below-min-isr",
                      "isr.join.current-broker-epoch", "elr.needs-metadata-version", "elr.within-replicas",
                      "elr.excludes-unclean-stops", "min-isr.change-clears-elr", "restart.leaves-isr",
                      "restart.marked-clean-once-recovered"),
               follows_from=("candidates-complete", "lemma-controller-leader-in-isr")),
        always("candidates-complete", "every running ISR or ELR member holds every committed record",
               lambda s: candidates_complete(s, excused(s, setting)), "invariant 26; KIP-966",
               ("hw-uses-committed-isr-only", "hw-uses-proposed-isr", "min-isr-raise-is-silent",
                "brokers-disagree-on-min-isr"),
               rules=("watermark.waits-for-maximal-isr", "watermark.frozen-below-min-isr",
                      "min-isr.raise-bumps-partition-epoch",
                      "min-isr.leader-and-controller-agree",
                      "watermark.counts-fetches-of-this-epoch", "fetch.epochs-are-equal",
                      "isr.join.past-start-of-epoch", "proposal.states-epoch-of-fetch",
                      "leader.forgets-ends-of-earlier-epoch", "isr.join.current-broker-epoch",
                      "leader.notes-served-fetches", "follower.replies-are-of-its-epoch",
                      "follower.appends-up-to-epoch-of-fetch"),
               follows_from=("lemma-candidates-hold-committed", "loss-is-paid-for")),
        always("consistent-reads", "what a running replica shows below its high watermark is what was committed",
               lambda s: _visible(s, excused(s, setting)), "invariant 24; KIP-101, KIP-392",
               ("truncate-to-high-watermark",), rules=("follower.truncates-by-epoch",),
               follows_from=("lemma-shown-is-committed", "loss-is-paid-for")),
        always("logs-match", "running replicas agree below both high watermarks",
               lambda s: _logs_match(s, excused(s, setting)),
               "invariant 27; KIP-279", ("kip101-epoch-lookup",),
               rules=("follower.truncates-to-common-epoch", "leader.notes-start-of-its-epoch",
                      "follower.appends-up-to-epoch-of-fetch"), follows_from=("consistent-reads",)),
        always("quorum-superset", "a current leader's maximal ISR covers ISR and ELR while its ISR is at its min ISR",
               _quorum, "invariant 22; KIP-966",
               ("alter-partition-ignores-partition-epoch", "answered-request-survives",
                "unknown-outcome-is-failure", "equal-epoch-ends-proposal", "elr-winner-keeps-elr"),
               rules=("alter-partition.partition-epoch-current", "proposal.answered-once",
                      "proposal.lost-answer-keeps-it", "metadata.known-epoch-keeps-proposal",
                      "election.elr.others-leave-at-min-isr")),
        always("acknowledged-survives", "while fewer brokers died than min ISR, a disk holds every acknowledged record",
               lambda s: _survives(s, setting), "KIP-966", ("hw-uses-proposed-isr",),
               rules=("watermark.waits-for-maximal-isr",),
               follows_from=("lemma-acknowledged-is-committed", "lemma-candidates-hold-committed",
                             "lemma-living-quorum", "lemma-elr-as-configured", "loss-is-paid-for",
                             "lemma-controller-isr-within-replicas", "lemma-controller-elr-within-replicas")),
    ]  # fmt: skip


def leader_complete(s: Replication, excuse: Truth) -> Conjuncts:
    """The controller's leader, if it runs, has all that was committed; `excuse`: whether records may be lost."""
    return _complete(s, lambda n: s.controller.leader == n, excuse)


def candidates_complete(s: Replication, excuse: Truth) -> Conjuncts:
    """The same of everybody who may be elected cleanly."""
    return _complete(s, s.controller.isr.plus(s.controller.elr).has, excuse)


def _complete(s: Replication, concerned: Claim, excuse: Truth) -> Conjuncts:
    asked = negate(forgiven(s, excuse))
    return each_record(s.brokers, lambda n, b: implies(
        all_of(concerned(n), b.running(), asked), b.log.agrees(s.committed, s.committed.end())
    ))  # fmt: skip


def _visible(s: Replication, excuse: Truth) -> Conjuncts:
    """Consumers read from leaders, stale ones included, and from followers.

    An entry of `committed` is set when it first becomes readable and never changes, so
    two reads of an offset that both agree with it agree with each other.
    """
    asked = negate(forgiven(s, excuse))
    return each_record(
        s.brokers, lambda _, b: implies(all_of(b.running(), asked), b.log.agrees(s.committed, b.high_watermark))
    )


def _logs_match(s: Replication, excuse: Truth) -> Conjuncts:
    asked = negate(forgiven(s, excuse))
    return each_pair(s.brokers, lambda _, a, __, b: implies(
        all_of(a.running(), b.running(), asked),
        a.log.agrees(b.log, smaller(a.high_watermark, b.high_watermark)),
    ))  # fmt: skip


def _quorum(s: Replication) -> Conjuncts:
    candidates = s.controller.isr.plus(s.controller.elr)
    return each_leading(s, lambda _, epoch, b: implies(
        all_of(epoch == s.leader_epoch, b.isr.size() >= b.min_isr), candidates.within(b.maximal_isr())
    ))  # fmt: skip


def _survives(s: Replication, setting: Setting) -> Truth:
    # Only the acknowledged prefix counts, whatever else was committed; and of brokers without end only some.
    def holds(n: Word, b: Broker) -> Truth:
        known = any_of(s.controller.registered.has(n), s.controller.replicas.has(n))
        return all_of(known, b.log.agrees(s.committed, s.acknowledged))

    safe = any_of(*some_records(s.brokers, holds))
    asked = negate(forgiven(s, excused(s, setting)))
    return implies(all_of(died(s, setting) < quorum(s, setting), asked), safe)


def _monotone(t: Step) -> Conjuncts:
    before: Replication = t.before
    after: Replication = t.after

    def of(n: Word, b: Broker) -> Truth:
        later = after.broker(n)
        return implies(
            all_of(before.leads(n, b), after.leads(n, later), b.epoch == later.epoch),
            b.high_watermark <= later.high_watermark,
        )

    return each_record(before.brokers, of)


def _metadata_match(s: Replication) -> Conjuncts:
    return each_leading(s, lambda _, epoch, b: implies(
        all_of(epoch == s.leader_epoch, b.current), b.isr.same(s.controller.isr)
    ))  # fmt: skip


def _recovery_quorum(s: Replication, setting: Setting) -> Truth:
    """Judged until an operator changes the configuration, reassigns, or asks for a leader that loses records."""
    eligible = s.controller.isr.plus(s.controller.elr).size()
    asked = negate(forgiven(s, permitted(s, setting)))
    judged = all_of(s.controller.elr_enabled, asked, untouched(s, setting))
    return implies(judged, eligible + died(s, setting) >= needed_isr(s.controller))


def _epochs(t: Step) -> Conjuncts:
    before: Replication = t.before
    after: Replication = t.after
    moved = negate(before.controller.leader == after.controller.leader)
    return {
        "leader epoch": before.leader_epoch <= after.leader_epoch,
        "another leader": implies(moved, before.leader_epoch < after.leader_epoch),
    }


def _one_leader(t: Step) -> Conjuncts:
    before: Replication = t.before
    after: Replication = t.after
    return of_each(before.leaders, lambda epoch, old: implies(
        all_of(before.leader_epoch >= epoch, remembered(after, epoch)),
        old == kept_at(after.leaders, epoch, NO_LEADER),
    ))  # fmt: skip


def _two_leaders(s: Replication) -> Truth:
    leading = [s.leads(n, b) for n, b in enumerate(s.brokers)]
    return any_of(*(all_of(a, b) for a, b in combinations(leading, 2)))


def _lost(s: Replication) -> Truth:
    end = s.committed.end()
    gone = [
        all_of(s.controller.leader == n, b.running(), negate(b.log.agrees(s.committed, end)))
        for n, b in enumerate(s.brokers)
    ]
    return all_of(s.lossy, any_of(*gone))


def _log_shrinks(t: Step) -> Truth:
    pairs = zip(t.before.brokers, t.after.brokers, strict=True)
    return any_of(*(b.log.end() < a.log.end() for a, b in pairs))
