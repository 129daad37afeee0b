"""Promises of the unclean-recovery KIP: nothing clean is overridden, and no more is lost than has to be.

Lemmas of `unclean-recovery`: what makes its promises inductive.

Liveness of `unclean-recovery`: a run of the tool finally ends.

`FAIR_UNCLEAN_RECOVERY` is the system with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, pick, word
from kraftcheck.model.systems.unclean_recovery.state import (
    ASKING,
    COMMITTED,
    CUT,
    ELECTED,
    ELECTING,
    FAILED,
    IDLE,
    LOGS,
    OFFLINE_EPOCH,
    ONLINE,
    PENDING,
    SERVED,
    UP,
    Recovered,
    Recovery,
    Replica,
)
from kraftcheck.model.systems.unclean_recovery.state import Recovered as Partition
from kraftcheck.model.systems.unclean_recovery.system import UNCLEAN_RECOVERY
from kraftcheck.model.unclean_recovery.tool import NOBODY, SILENT, ReplicaReport
from kraftcheck.properties.kinds import always, fair_system, happens, leads_to, recovers, step, weak_fairness

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
            happens(
                "shows-race",
                "the ELR replica is back before the request for an election",
                lambda t: _some(t, lambda p, q: all_of(p.result == PENDING, q.result == ONLINE, p.leader == 0)),
            ),
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


def _above(a: ReplicaReport, b: ReplicaReport) -> Truth:
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


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under the mended rules, and explored as such."""
    return (*_of_the_tool(), *_of_logs(), *_of_answers(), *_of_bounds(setting))


def claim(id: str, sentence: str, of: Callable[[Recovery, Partition], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each partition."""
    return always(id, sentence, lambda s: {f"partition {n}": of(s, p) for n, p in enumerate(s.partitions)})


def _at_least(a: Replica, b: Replica) -> Truth:
    """Whether a log is at least another: by the epoch of the last record, then by length."""
    return any_of(a.written > b.written, all_of(a.written == b.written, a.length >= b.length))


def _unmoved(p: Partition) -> Truth:
    """Whether the partition still waits for the tool, and had no leader since it began."""
    return all_of(p.result == PENDING, p.epoch == p.asked_at)


def _of_the_tool() -> tuple[Property, ...]:
    return (
        claim("lemma-chosen-while-electing", "before it decides, the tool has chosen nobody",
              lambda s, p: any_of(s.phase == ELECTING, all_of(p.chosen == NOBODY, p.candidates.is_empty()))),
        claim("lemma-finished-while-asking", "a broker is expected to answer no more only while the tool asks",
              lambda s, p: any_of(s.phase == ASKING, s.finished.is_empty())),
        claim("lemma-finished-has-answered", "a broker that has finished has answered for every pending partition",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ASKING, p.result == PENDING, s.finished.has(b)), answer.given)
                  for b, answer in enumerate(p.answers)))),
        claim("lemma-recovered-was-led", "a partition that is told to be recovered had a leader then",
              lambda s, p: implies(any_of(p.result == ELECTED, p.result == ONLINE), p.led)),
    )  # fmt: skip


def _of_logs() -> tuple[Property, ...]:
    return (
        claim("lemma-epoch-bounds-logs", "no record is of a later epoch than the partition's",
              lambda s, p: all_of(*(r.written <= p.epoch for r in p.replicas))),
        claim("lemma-newest-follow", "who has records of the newest epoch has them from a leader that has them all",
              lambda s, p: all_of(*(implies(r.written == p.epoch, _follows(p, r)) for r in p.replicas))),
        claim("lemma-held-is-committed", "no replica holds more committed records than there are",
              lambda s, p: all_of(*(r.held <= p.committed for r in p.replicas))),
        claim("lemma-held-is-in-the-log", "no replica holds more committed records than its log has records",
              lambda s, p: all_of(*(r.held <= r.length for r in p.replicas))),
        claim("lemma-order-is-completeness", "of two logs the one with the later last record holds what the other does",
              lambda s, p: all_of(*(
                  implies(_at_least(a, b), a.held >= b.held) for a in p.replicas for b in p.replicas if a is not b))),
    )  # fmt: skip


def _follows(p: Partition, r: Replica) -> Truth:
    leader = pick(p.replicas, p.leader, p.replicas[0])
    return all_of(p.is_led(), leader.written == p.epoch, r.length <= leader.length)


def _of_answers() -> tuple[Property, ...]:
    return (
        claim("lemma-asked-before", "the tool began at the partition's epoch, or before",
              lambda s, p: p.asked_at <= p.epoch),
        claim("lemma-unmoved-is-offline", "a pending partition whose epoch is that of the start has no leader",
              lambda s, p: implies(all_of(_unmoved(p), negate(s.phase == IDLE)), negate(p.is_led()))),
        claim("lemma-answers-are-logs", "as long as there was no leader, answers are what logs are, or a disk is new",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ASKING, _unmoved(p), a.given, negate(a.failed)),
                          choose(a.incarnation == now,
                                 all_of(a.written == r.written, a.length == r.length), _is_empty(r)))
                  for a, r, now in zip(p.answers, p.replicas, s.incarnations, strict=True)))),
        claim("lemma-answered-before", "nobody has answered in an incarnation that is still to come",
              lambda s, p: all_of(
                  p.chosen_in <= pick(s.incarnations, p.chosen, p.chosen_in),
                  *(a.incarnation <= now for a, now in zip(p.answers, s.incarnations, strict=True)))),
        claim("lemma-chosen-is-best", "as long as there was no leader, no candidate's log is above the chosen one's, "
              "unless the chosen one has a new disk",
              lambda s, p: all_of(*(
                  implies(all_of(s.phase == ELECTING, _unmoved(p), p.chosen != NOBODY, p.candidates.has(b),
                                 pick(s.incarnations, p.chosen, p.chosen_in) == p.chosen_in),
                          _at_least(pick(p.replicas, p.chosen, p.replicas[0]), r))
                  for b, r in enumerate(p.replicas)))),
    )  # fmt: skip


def _is_empty(r: Replica) -> Truth:
    """Whether a log has no record."""
    return all_of(r.written == 0, r.length == 0)


def _of_bounds(setting: Setting) -> tuple[Property, ...]:
    """Why no field leaves its domain: what grows is paid for from a budget."""
    longest = max(end for _, end, _ in LOGS)

    def written(s: Recovery) -> Word:
        return setting["writes"] - s.left.writes

    def failed(s: Recovery) -> Word:
        return setting["faults"] - s.left.faults

    return (
        always("lemma-disks-pay-for-incarnations", "a broker has had no more new disks than were spent",
               lambda s: all_of(*(now <= setting["replacements"] - s.left.replacements for now in s.incarnations))),
        always("lemma-running-tool-may-try", "a tool that runs may send its request once more",
               lambda s: any_of(s.phase == IDLE, s.tries > 0)),
        claim("lemma-leader-may-lead", "a leader is unfenced, in the ISR, and its directory online",
              lambda s, p: all_of(*(
                  implies(p.leader == b, all_of(s.up().has(b), p.isr.has(b), negate(r.offline)))
                  for b, r in enumerate(p.replicas)))),
        claim("lemma-leader-alone-in-isr", "nobody is in the ISR but the leader",
              lambda s, p: all_of(*(implies(p.isr.has(b), p.leader == b) for b in range(len(p.replicas))))),
        claim("lemma-faults-pay-for-epochs", "after the first election leaders come and go only with brokers that fail",
              lambda s, p: p.epoch + word(negate(p.is_led())) <= OFFLINE_EPOCH + 1 + failed(s) + failed(s)),
        claim("lemma-writes-pay-for-records", "no log is longer, and no more is committed, than what was written",
              lambda s, p: all_of(p.committed <= COMMITTED + written(s),
                                  *(r.length <= longest + written(s) for r in p.replicas))),
    )  # fmt: skip


def fairness(setting: Setting) -> list[Fairness]:
    """Time passes and the tool goes on; no broker need answer, and each request may be refused or lost."""
    return [weak_fairness(name) for name in ("tick", "decide", "request", "finish")]


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties."""
    return [
        leads_to("run-ends", "a run finally ends, though no broker answers and requests are lost",
                 lambda s: s.phase > IDLE, lambda s: s.phase == IDLE, "unclean-recovery KIP, --recovery-duration-ms",
                 ("recovery-waits-for-every-broker",), ("recovery.deadline",)),
    ]  # fmt: skip


FAIR_UNCLEAN_RECOVERY = fair_system(
    UNCLEAN_RECOVERY, "where time passes: does a run of the tool end?", liveness, fairness
)
"""The system with its liveness."""
