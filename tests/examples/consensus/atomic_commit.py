"""Atomic commitment by simple broadcast (specifications/acp, ACP_SB), of Babaoglu and Toueg."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any

import kraftcheck as kc

EACH = range(3)
ONE = {"i": EACH}


class Vote(kc.Enum):
    """What the coordinator knows of a vote, and what a participant votes."""

    WAITING = enum.auto()
    YES = enum.auto()
    NO = enum.auto()


class Decision(kc.Enum):
    """What somebody has decided, or the coordinator has sent."""

    UNDECIDED = enum.auto()
    COMMIT = enum.auto()
    ABORT = enum.auto()


@dataclass(frozen=True)
class Participant:
    """A participant: its vote, whether it is alive, what it decided, and whether its vote is sent."""

    vote: kc.Word
    alive: kc.Truth
    decision: kc.Word
    voted: kc.Truth


@dataclass(frozen=True)
class Coordinator:
    """The coordinator: whom it asked, what came back, what it sent, what it decided, and whether it is alive."""

    asked: kc.IntSet
    votes: tuple[kc.Word, ...]
    sent: tuple[kc.Word, ...]
    decision: kc.Word
    alive: kc.Truth


@dataclass(frozen=True)
class Commitment:
    """The participants and the coordinator."""

    participants: tuple[Participant, ...]
    coordinator: Coordinator


def _of(s: Commitment, i: kc.Word) -> Participant:
    return kc.get(s.participants, i)


def _coordinated(s: Commitment, **changes: Any) -> Commitment:
    return replace(s, coordinator=replace(s.coordinator, **changes))


def _taking_part(s: Commitment, i: kc.Word, **changes: Any) -> Commitment:
    return replace(s, participants=kc.put(s.participants, i, replace(_of(s, i), **changes)))


def _aborts(s: Commitment, i: kc.Word) -> Commitment:
    return _taking_part(s, i, decision=Decision.ABORT)


def _decides(s: Commitment) -> Commitment:
    agreed = kc.each(s.coordinator.votes, lambda vote: vote == Vote.YES)
    return _coordinated(s, decision=kc.choose(agreed, Decision.COMMIT, Decision.ABORT))


def _may_decide(s: Commitment) -> kc.Truth:
    one = s.coordinator
    voted = kc.each(one.votes, lambda vote: vote != Vote.WAITING)
    return kc.all_of(one.alive, one.decision == Decision.UNDECIDED, voted)


def _may_send(s: Commitment, i: kc.Word) -> kc.Truth:
    one = s.coordinator
    return kc.all_of(one.alive, one.decision != Decision.UNDECIDED, kc.get(one.sent, i) == Decision.UNDECIDED)


def _waits_for(s: Commitment, i: kc.Word) -> kc.Truth:
    one = s.coordinator
    whole = one.asked.size() == len(EACH)
    return kc.all_of(one.alive, one.decision == Decision.UNDECIDED, whole, kc.get(one.votes, i) == Vote.WAITING)


def _is_open(s: Commitment, i: kc.Word) -> kc.Truth:
    return kc.all_of(_of(s, i).alive, _of(s, i).decision == Decision.UNDECIDED)


def _somebody(s: Commitment, decision: Decision) -> kc.Truth:
    return kc.some(s.participants, lambda one: one.decision == decision)


def _votes_yes(s: Commitment) -> kc.Truth:
    return kc.each(s.participants, lambda one: one.vote == Vote.YES)


def _votes_no(s: Commitment) -> kc.Truth:
    return kc.some(s.participants, lambda one: one.vote == Vote.NO)


def _faults(s: Commitment) -> kc.Truth:
    return kc.any_of(kc.negate(s.coordinator.alive), kc.some(s.participants, lambda one: kc.negate(one.alive)))


def _stays(t: kc.Step, decision: Decision) -> kc.Truth:
    pairs = zip(t.before.participants, t.after.participants, strict=True)
    return kc.all_of(*(kc.implies(a.decision == decision, b.decision == decision) for a, b in pairs))


def _starts(s: Commitment) -> dict[str, kc.Truth]:
    one = s.coordinator
    return {
        "nobody has begun": kc.all_of(*(
            kc.all_of(p.vote != Vote.WAITING, p.alive, p.decision == Decision.UNDECIDED, kc.negate(p.voted))
            for p in s.participants
        )),
        "nobody was asked": kc.all_of(one.asked.is_empty(), one.alive, one.decision == Decision.UNDECIDED),
        "nothing came back": kc.each(one.votes, lambda vote: vote == Vote.WAITING),
        "nothing was sent": kc.each(one.sent, lambda sent: sent == Decision.UNDECIDED),
    }  # fmt: skip


ACTIONS = [
    kc.Action("request", lambda s, i: _coordinated(s, asked=s.coordinator.asked.plus(s.coordinator.asked.just(i))),
              lambda s, i: kc.all_of(s.coordinator.alive, kc.negate(s.coordinator.asked.has(i))), ONE),
    kc.Action("get_vote", lambda s, i: _coordinated(s, votes=kc.put(s.coordinator.votes, i, _of(s, i).vote)),
              lambda s, i: kc.all_of(_waits_for(s, i), _of(s, i).voted), ONE),
    kc.Action("detect_fault", lambda s, i: _coordinated(s, decision=Decision.ABORT),
              lambda s, i: kc.all_of(_waits_for(s, i), kc.none_of(_of(s, i).alive, _of(s, i).voted)), ONE),
    kc.Action("make_decision", _decides, _may_decide),
    kc.Action("broadcast", lambda s, i: _coordinated(s, sent=kc.put(s.coordinator.sent, i, s.coordinator.decision)),
              _may_send, ONE),
    kc.Action("coordinator_dies", lambda s: _coordinated(s, alive=False), lambda s: s.coordinator.alive),
    kc.Action("send_vote", lambda s, i: _taking_part(s, i, voted=True),
              lambda s, i: kc.all_of(_of(s, i).alive, s.coordinator.asked.has(i)), ONE),
    kc.Action("abort_on_vote", _aborts,
              lambda s, i: kc.all_of(_is_open(s, i), _of(s, i).voted, _of(s, i).vote == Vote.NO), ONE),
    kc.Action("abort_on_timeout", _aborts,
              lambda s, i: kc.all_of(_is_open(s, i), kc.none_of(s.coordinator.alive, s.coordinator.asked.has(i))), ONE),
    kc.Action("decide", lambda s, i: _taking_part(s, i, decision=kc.get(s.coordinator.sent, i)),
              lambda s, i: kc.all_of(_is_open(s, i), kc.get(s.coordinator.sent, i) != Decision.UNDECIDED), ONE),
    kc.Action("dies", lambda s, i: _taking_part(s, i, alive=False), lambda s, i: _of(s, i).alive, ONE),
]  # fmt: skip

PROPERTIES = [
    kc.always("AC1", "all that decide decide alike",
              lambda s: kc.none_of(kc.all_of(_somebody(s, Decision.COMMIT), _somebody(s, Decision.ABORT)))),
    kc.always("AC2", "where one commits all have voted yes",
              lambda s: kc.implies(_somebody(s, Decision.COMMIT), _votes_yes(s))),
    kc.always("AC3_1", "where one aborts somebody voted no, or there is a fault",
              lambda s: kc.implies(_somebody(s, Decision.ABORT), kc.any_of(_votes_no(s), _faults(s)))),
    kc.step("AC4", "a decision is kept", lambda t: kc.all_of(_stays(t, Decision.COMMIT), _stays(t, Decision.ABORT))),
    kc.eventually("AC3_2", "without a fault all decide", lambda s: kc.any_of(
        kc.each(s.participants, lambda p: p.decision != Decision.UNDECIDED), _faults(s))),
    kc.eventually("AC5", "all decide or die, which this broadcast does not bring about", lambda s: kc.each(
        s.participants, lambda p: kc.any_of(p.decision != Decision.UNDECIDED, kc.negate(p.alive)))),
    kc.always("AbortImpliesNoVote", "where one aborts somebody voted no, which is wrong",
              lambda s: kc.implies(_somebody(s, Decision.ABORT), _votes_no(s))),
]  # fmt: skip

ATOMIC_COMMIT = kc.System(
    name="atomic-commit", summary="Participants commit or abort, and any may die.",
    layout=Commitment(
        (Participant(Vote.domain(), kc.truth(), Decision.domain(), kc.truth()),) * len(EACH),
        Coordinator(kc.IntSet(kc.subset_of(len(EACH))), (Vote.domain(),) * len(EACH), (Decision.domain(),) * len(EACH),
                    Decision.domain(), kc.truth()),
    ),
    initial=kc.all_where(_starts), actions=ACTIONS, properties=PROPERTIES, quiescent=lambda s: True,
    fairness=[
        kc.weak_fairness("send_vote", "abort_on_vote", "abort_on_timeout", "decide", each=["i"]),
        kc.weak_fairness("request", "get_vote", "detect_fault", "broadcast", "make_decision"),
    ],
)  # fmt: skip
