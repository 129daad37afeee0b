"""Promises of the unclean-recovery KIP: nothing clean is overridden, and no more is lost than has to be."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate, none_of, pick
from kraftcheck.model.systems.unclean_recovery.state import (
    CUT,
    ELECTED,
    FAILED,
    IDLE,
    ONLINE,
    PENDING,
    UP,
    Recovered,
)
from kraftcheck.model.systems.unclean_recovery.tool import SERVED
from kraftcheck.model.unclean_recovery.choice import NOBODY, SILENT, Answer
from kraftcheck.properties.kinds import happens, recovers, step

_KIP = "unclean-recovery KIP"
_CHOICES = ("recovery-trusts-current-epoch", "recovery-prefers-length", "recovery-takes-first-answer")


def properties(setting: Setting) -> list[Property]:
    """The promises, and what must be seen for them to mean something."""
    claims = [
        step("leader-not-overridden", "the tool changes no partition that has a leader", _kept,
             f"{_KIP}, Designated Leader Elections", ("designated-over-leader+recovery-ignores-new-epochs",),
             rules=("election.designated.leaderless-only", "recovery.choice-of-this-leadership")),
        step("elected-may-lead", "whoever is elected is unfenced, and the directory online", _may_lead,
             f"{_KIP}, Designated Leader Elections", ("designated-may-be-fenced",),
             rules=("election.designated.online-replica",)),
        step("chosen-has-answered", "whom the tool chooses has answered, without an error", _answered,
             f"{_KIP}, Proposed Changes", ("recovery-counts-errors",),
             rules=("recovery.errors-are-no-candidates",)),
        step("chosen-is-maximal", "no candidate has a record of a higher epoch, or a longer log of the same", _maximal,
             f"{_KIP}, Proposed Changes", _CHOICES,
             rules=("recovery.highest-written-epoch", "recovery.epoch-before-length")),
        step("ties-go-to-the-first", "of equal answers that of the first replica is chosen", _first,
             f"{_KIP}, choice by order of replicas", ("recovery-ties-to-last",),
             rules=("recovery.ties-to-first-replica",)),
        step("loses-least", "no candidate has more committed records than the one that the tool elects", _least,
             f"{_KIP}, Motivation", (*_CHOICES, "recovery-ignores-new-epochs",
                                   "designated-election-without-broker-epoch"),
             rules=("recovery.highest-written-epoch", "recovery.epoch-before-length",
                    "recovery.choice-of-this-leadership", "recovery.elected-as-it-answered")),
        step("loss-is-marked", "a partition whose leader the tool chose outside ISR and ELR is RECOVERING", _marked,
             f"{_KIP}, Motivation; KIP-704", ("unclean-without-recovering",),
             rules=("election.unclean.marks-recovering", "election.designated.unclean-unless-eligible")),
        step("eligible-leads-at-once", "an eligible broker that comes back leads, whatever the tool does or did", _led,
             f"{_KIP}, rejected alternatives", ("recovery-run-blocks-elections",),
             rules=("recovery.controller-goes-on",)),
        step("decides-on-whole-answers", "before the deadline the tool decides only once every replica has answered",
             _whole, f"{_KIP}, HasMoreData", ("recovery-ignores-more-data",),
             rules=("recovery.asks-until-whole",)),
        step("zero-exactly-when-led", "the exit status is zero exactly when every partition was found or got led",
             _status, f"{_KIP}, exit status",
             ("recovery-online-is-failure", "partial-recovery-succeeds", "interrupted-recovery-succeeds",
              "recovery-ignores-request-limit"),
             rules=("recovery.online-is-success", "recovery.zero-only-for-all",
                    "recovery.unserved-is-sent-again")),
        recovers("run-can-end", "a run can always end without another answer from a broker",
                 lambda s: s.phase == IDLE, f"{_KIP}, --recovery-duration-ms", ("recovery-waits-for-every-broker",),
                 rules=("recovery.deadline",),
                 by={"tick": {}, "decide": {}, "request": {"outcome": SERVED}, "finish": {}}),
    ]  # fmt: skip
    return [*claims, *_goals(setting)]


def _goals(setting: Setting) -> list[Property]:
    goals = [
        happens("shows-recovery", "a run elects one of several candidates and exits zero", _recovers),
        happens("shows-late-answer", "a replica that answered too late had more than the one elected", _late),
    ]
    if setting["retries"]:
        goals.append(happens("shows-last-retry", "a partition fails when its request has been sent again to no avail",
                             _spent))  # fmt: skip
    if setting["faults"]:
        goals.append(happens("shows-fenced-choice", "a fenced broker answers, and is chosen in vain", _in_vain))
    if setting["returns"]:
        goals += [
            happens("shows-race", "the ELR replica is back before the request for an election", _race),
            happens("shows-late-return", "the ELR replica is back after the election, with more records", _too_late),
        ]
    if setting["partitions"] > 1:
        goals.append(happens("shows-partial-success", "a run recovers one partition and not another", _partly))
    if setting["attempts"] > 1:
        goals.append(happens("shows-second-run", "a run ends that found every partition online", _again))
    return goals


def _requested(t: Step, claim: Callable[[Recovered, Recovered], Truth]) -> dict[str, Truth]:
    """What is claimed of each partition before and after a request for elections."""
    if t.action != "request":
        return {"no request": True}
    pairs = zip(t.before.partitions, t.after.partitions, strict=True)
    return {f"partition {n}": claim(p, q) for n, (p, q) in enumerate(pairs)}


def _decided(t: Step, claim: Callable[[Recovered, Recovered], Truth]) -> dict[str, Truth]:
    """What is claimed of each partition for which a leader is chosen."""
    if t.action != "decide":
        return {"no choice": True}
    pairs = zip(t.before.partitions, t.after.partitions, strict=True)
    return {f"partition {n}": implies(q.chosen != NOBODY, claim(p, q)) for n, (p, q) in enumerate(pairs)}


def _moved(p: Recovered, q: Recovered) -> Truth:
    """Whether a step elected a leader."""
    return all_of(q.is_led(), negate(p.epoch == q.epoch))


def _leader_held(p: Recovered) -> Word:
    """How many committed records the leader has; without a leader, those of broker 0."""
    return pick(p.replicas, p.leader, p.replicas[0]).held


def _kept(t: Step) -> Conjuncts:
    return _requested(t, lambda p, q: implies(p.is_led(), all_of(q.leader == p.leader, q.epoch == p.epoch)))


def _may_lead(t: Step) -> Conjuncts:
    def fit(p: Recovered, q: Recovered) -> Truth:
        replica = pick(q.replicas, q.leader, q.replicas[0])
        return implies(_moved(p, q), all_of(pick(t.after.brokers, q.leader, CUT) == UP, negate(replica.offline)))

    pairs = zip(t.before.partitions, t.after.partitions, strict=True)
    return {f"partition {n}": fit(p, q) for n, (p, q) in enumerate(pairs)}


def _marked(t: Step) -> Conjuncts:
    def marked(p: Recovered, q: Recovered) -> Truth:
        unclean = negate(p.isr.plus(p.elr).has(q.leader))
        return implies(all_of(_moved(p, q), unclean), q.recovering)

    return _requested(t, marked)


def _led(t: Step) -> Conjuncts:
    if t.action != "come_back":
        return {"no return": True}
    back = t.arguments["broker"]
    pairs = zip(t.before.partitions, t.after.partitions, strict=True)
    return {
        f"partition {n}": implies(
            all_of(p.isr.plus(p.elr).has(back), negate(pick(p.replicas, back, p.replicas[0]).offline)), q.is_led()
        )
        for n, (p, q) in enumerate(pairs)
    }


def _answered(t: Step) -> Conjuncts:
    def known(p: Recovered, q: Recovered) -> Truth:
        answer = pick(p.answers, q.chosen, SILENT)
        return all_of(answer.given, negate(answer.failed))

    return _decided(t, known)


def _above(a: Answer, b: Answer) -> Truth:
    """Whether a candidate's log is above another answer."""
    higher = any_of(a.written > b.written, all_of(a.written == b.written, a.length > b.length))
    return all_of(a.given, negate(a.failed), higher)


def _maximal(t: Step) -> Conjuncts:
    return _decided(t, lambda p, q: none_of(*(_above(a, pick(p.answers, q.chosen, SILENT)) for a in p.answers)))


def _first(t: Step) -> Conjuncts:
    def foremost(p: Recovered, q: Recovered) -> Truth:
        mine = pick(p.answers, q.chosen, SILENT)
        equal = [
            all_of(
                a.given, negate(a.failed), a.current == mine.current, a.written == mine.written, a.length == mine.length
            )
            for a in p.answers
        ]
        return none_of(*(all_of(same, q.chosen > broker) for broker, same in enumerate(equal)))

    return _decided(t, foremost)


def _least(t: Step) -> Conjuncts:
    def no_better(p: Recovered, q: Recovered) -> Truth:
        elected = pick(p.replicas, q.leader, p.replicas[0]).held
        better = [all_of(p.candidates.has(broker), r.held > elected) for broker, r in enumerate(p.replicas)]
        return implies(_moved(p, q), none_of(*better))

    return _requested(t, no_better)


def _whole(t: Step) -> Conjuncts:
    if t.action != "decide":
        return {"no choice": True}
    return {
        f"partition {n}": implies(
            all_of(t.before.clock > 0, p.result == PENDING), all_of(*(answer.given for answer in p.answers))
        )
        for n, p in enumerate(t.before.partitions)
    }


def _status(t: Step) -> Conjuncts:
    """A zero is judged by what was so when the tool looked, another status by what the tool was told."""
    if t.action != "finish":
        return {"no end": True}
    told = [any_of(p.result == ELECTED, p.result == ONLINE) for p in t.before.partitions]
    return {
        "zero": implies(t.event.zero, all_of(*(p.led for p in t.before.partitions))),
        "not zero": implies(negate(t.event.zero), negate(all_of(*told))),
    }


def _some(t: Step, claim: Callable[[Recovered, Recovered], Truth]) -> Truth:
    """Whether a request shows something in some partition."""
    return any_of(*_requested(t, claim).values()) if t.action == "request" else False


def _recovers(t: Step) -> Truth:
    if t.action != "finish":
        return False
    return all_of(t.event.zero, any_of(*(all_of(p.result == ELECTED, p.candidates.size() > 1)
                                         for p in t.before.partitions)))  # fmt: skip


def _spent(t: Step) -> Truth:
    return _some(t, lambda p, q: all_of(t.arguments["outcome"] != SERVED, p.result == PENDING, q.result == FAILED))


def _late(t: Step) -> Truth:
    def missed(p: Recovered, q: Recovered) -> Truth:
        unheard = [
            all_of(t.before.up().has(broker), negate(p.candidates.has(broker)), r.held > _leader_held(q))
            for broker, r in enumerate(p.replicas)
        ]
        return all_of(_moved(p, q), any_of(*unheard))

    return _some(t, missed)


def _in_vain(t: Step) -> Truth:
    def refused(p: Recovered, q: Recovered) -> Truth:
        cut = any_of(*(all_of(p.chosen == broker, status == CUT) for broker, status in enumerate(t.before.brokers)))
        return all_of(cut, t.arguments["outcome"] == SERVED, p.result == PENDING, q.result == FAILED)

    return _some(t, refused)


def _race(t: Step) -> Truth:
    return _some(t, lambda p, q: all_of(p.result == PENDING, q.result == ONLINE, p.leader == 0))


def _too_late(t: Step) -> Truth:
    if t.action != "come_back":
        return False
    behind = [all_of(p.is_led(), _leader_held(p) < p.committed) for p in t.before.partitions]
    return all_of(t.arguments["broker"] == 0, any_of(*behind))


def _partly(t: Step) -> Truth:
    if t.action != "finish":
        return False
    results = [p.result for p in t.before.partitions]
    return all_of(any_of(*(r == ELECTED for r in results)), any_of(*(r == FAILED for r in results)))


def _again(t: Step) -> Truth:
    return all_of(*(p.result == ONLINE for p in t.before.partitions)) if t.action == "finish" else False
