"""Single-decree Paxos for any number of acceptors, quorums, rounds and values, with switches of its defects."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

NONE = -1  # no round, no value, no quorum
SILENT = -2  # no promise was given in this round


@frozen
class Acceptor:
    """One acceptor."""

    promised: kc.Word  # the highest round that it has heard of; NONE at first
    last: kc.Word  # the highest round in which it voted, or NONE
    voted: Any  # the rounds in which it voted: its messages of phase 2b
    reported: Any  # by round, which last vote its promise reports, or SILENT: its messages of phase 1b


@frozen
class Paxos:
    """The acceptors, the quorums, which stay as they are, and by round the value that its leader proposes.

    That every round has one leader is what makes a proposal the function of a round. A leader may begin its round at
    any time and messages may come late, twice or never, so that messages of phase 1a need no record.
    """

    acceptors: Any
    quorums: Any
    proposals: Any


def meet(s: Paxos) -> kc.Truth:
    """Whether every two quorums have an acceptor in common."""
    return kc.each(kc.keys(s.quorums), lambda q: kc.each(
        kc.keys(s.quorums), lambda other: kc.some(kc.get(s.quorums, q), kc.get(s.quorums, other).has)))  # fmt: skip


def majorities(s: Paxos, least: int = 1) -> kc.Truth:
    """Whether every quorum has most of the acceptors; with `least` 0 half of them are enough."""
    count = kc.count(kc.keys(s.acceptors), lambda _: True)
    return kc.each(kc.keys(s.quorums), lambda q: 2 * kc.get(s.quorums, q).size() >= count + least)


def halves(s: Paxos) -> kc.Truth:
    """Whether every quorum has half of the acceptors."""
    return majorities(s, 0)


def paxos(forgets: bool = False, quorums: Callable[[Paxos], kc.Truth] | None = meet) -> kc.System:
    """Lamport's single-decree Paxos, "Paxos made simple" (2001).

    Quorums stay as they are, and are what is said of them. With a defect an acceptor votes in spite of its promise.
    """

    def initial(setting: kc.Setting) -> list[Any]:
        if kc.ANY in setting.bounds.values():
            return [kc.all_where(lambda s: _new(s) | ({} if quorums is None else {"quorums": quorums(s)}))]
        acceptors, rounds = setting["acceptors"], setting["rounds"]
        idle = Acceptor(NONE, NONE, kc.IntSet(), (SILENT,) * rounds)
        new = (Paxos((idle,) * acceptors, chosen, (NONE,) * rounds) for chosen in _quorum_systems(setting))
        return [state for state in new if quorums is None or quorums(state)]

    def promise(s: Paxos, acceptor: kc.Word, number: kc.Word) -> Paxos:
        old = kc.get(s.acceptors, acceptor)
        return _with(s, acceptor, evolve(old, promised=number, reported=kc.put(old.reported, number, old.last)))

    def may_propose(s: Paxos, number: kc.Word, quorum: kc.Word, newest: kc.Word, value: kc.Word) -> dict[str, Any]:
        def reported(acceptor: kc.Word) -> Any:
            return kc.get(s.acceptors, acceptor).reported

        members = kc.get(s.quorums, quorum)
        return {
            "nothing is proposed": kc.get(s.proposals, number) == NONE,
            "a quorum has promised": kc.each(members, lambda a: kc.get(reported(a), number) != SILENT),
            "no newer vote is reported": kc.each(members, lambda a: kc.get(reported(a), number) <= newest),
            "that vote is reported, or none is": kc.any_of(
                newest == NONE, kc.some(members, lambda a: kc.get(reported(a), number) == newest)),
            "its value is taken": kc.any_of(newest == NONE, kc.get(s.proposals, newest, otherwise=NONE) == value),
        }  # fmt: skip

    def propose(s: Paxos, number: kc.Word, quorum: kc.Word, newest: kc.Word, value: kc.Word) -> Paxos:
        return evolve(s, proposals=kc.put(s.proposals, number, value))

    def may_vote(s: Paxos, acceptor: kc.Word, number: kc.Word) -> dict[str, Any]:
        kept = True if forgets else kc.get(s.acceptors, acceptor).promised <= number
        return {"there is a proposal": kc.get(s.proposals, number) != NONE, "no promise forbids it": kept}

    def vote(s: Paxos, acceptor: kc.Word, number: kc.Word) -> Paxos:
        old = kc.get(s.acceptors, acceptor)
        voted = old.voted.plus(old.voted.just(number))
        return _with(s, acceptor, evolve(old, promised=number, last=number, voted=voted))

    def actions(setting: kc.Setting) -> list[kc.Action]:
        rounds, below = setting["rounds"], kc.numbers_below
        acts = {"acceptor": below(setting["acceptors"]), "number": below(rounds)}
        asks = {
            "number": below(rounds),
            "quorum": below(setting["quorums"]),
            "newest": below(rounds, NONE),
            "value": below(setting["values"]),
        }
        return [
            kc.Action("promise", promise, lambda s, acceptor, number: (
                kc.get(s.acceptors, acceptor).promised < number), acts),
            kc.Action("propose", propose, may_propose, asks),
            kc.Action("vote", vote, may_vote, acts),
        ]  # fmt: skip

    return kc.System(
        name="paxos",
        summary="Acceptors that agree on one value, by quorums of which every two have one in common.",
        bounds=[
            kc.Bound("acceptors", 2, 3, "number of acceptors", takes_any=True),
            kc.Bound("quorums", 2, 3, "number of quorums", takes_any=True),
            kc.Bound("rounds", 2, 3, "number of rounds", takes_any=True),
            kc.Bound("values", 2, 3, "number of values", takes_any=True),
        ],
        scopes={"default": {"acceptors": 2, "quorums": 2, "rounds": 2, "values": 2}},
        layout=_layout,
        initial=initial,
        actions=actions,
        properties=[kc.always("agreement", "no two rounds decide differently", _agreement)],
        lemmas=_lemmas(quorums),
        quiescent=lambda s: True,
    )  # fmt: skip


def _layout(setting: kc.Setting) -> Paxos:
    rounds = setting["rounds"]
    number = kc.word_below(rounds, NONE)
    reported = kc.map_below(rounds, kc.word_below(rounds, SILENT))
    return Paxos(
        kc.map_below(setting["acceptors"], Acceptor(number, number, kc.set_below(rounds), reported)),
        kc.map_below(setting["quorums"], kc.set_below(setting["acceptors"])),
        kc.map_below(rounds, kc.word_below(setting["values"], NONE)),
    )


def _quorum_systems(setting: kc.Setting) -> Iterator[tuple[Any, ...]]:
    """Every choice of quorums, of one or more acceptors each, in one order; of two acceptors only both are most."""
    masks = map(kc.IntSet, range(1, 1 << setting["acceptors"]))
    return itertools.combinations_with_replacement(masks, setting["quorums"])


def _new(s: Paxos) -> dict[str, Any]:
    """What holds before anything happens, but of the quorums."""

    def idle(a: Acceptor) -> Any:
        silent = kc.each(kc.keys(a.reported), lambda r: kc.get(a.reported, r) == SILENT)
        return kc.all_of(a.promised == NONE, a.last == NONE, a.voted.is_empty(), silent)

    return {
        "acceptors are idle": kc.each(kc.keys(s.acceptors), lambda a: idle(kc.get(s.acceptors, a))),
        "nothing is proposed": kc.each(kc.keys(s.proposals), lambda r: kc.get(s.proposals, r) == NONE),
    }


def _with(s: Paxos, acceptor: kc.Word, new: Acceptor) -> Paxos:
    return evolve(s, acceptors=kc.put(s.acceptors, acceptor, new))


def _all_voted(s: Paxos, quorum: kc.Word, number: kc.Word) -> kc.Truth:
    return kc.each(kc.get(s.quorums, quorum), lambda a: kc.get(s.acceptors, a).voted.has(number))


def _rounds(s: Paxos, claim: Any) -> kc.Truth:
    return kc.each(kc.keys(s.proposals), claim)


def _acceptors(s: Paxos, claim: Any) -> kc.Truth:
    return kc.each(kc.keys(s.acceptors), lambda a: claim(kc.get(s.acceptors, a)))


def _agreement(s: Paxos) -> kc.Truth:
    """Whether what a quorum has voted for in a round is what any quorum has voted for in any round."""

    def same(one: kc.Word, other: kc.Word) -> kc.Truth:
        decided = kc.all_of(*(kc.some(kc.keys(s.quorums), lambda q, r=r: _all_voted(s, q, r)) for r in (one, other)))
        return kc.implies(decided, kc.get(s.proposals, one) == kc.get(s.proposals, other))

    return _rounds(s, lambda one: _rounds(s, lambda other: same(one, other)))


def _safe(s: Paxos) -> kc.Truth:
    """Of an earlier round with another proposal, every quorum has an acceptor that did not vote and never will."""

    def out(acceptor: Acceptor, early: kc.Word) -> kc.Truth:
        return kc.all_of(acceptor.promised > early, kc.negate(acceptor.voted.has(early)))

    def blocked(early: kc.Word, quorum: kc.Word) -> kc.Truth:
        return kc.some(kc.get(s.quorums, quorum), lambda a: out(kc.get(s.acceptors, a), early))

    def of(early: kc.Word, late: kc.Word) -> kc.Truth:
        differ = kc.get(s.proposals, early) != kc.get(s.proposals, late)
        concerned = kc.all_of(early < late, kc.get(s.proposals, late) != NONE, differ)
        return kc.implies(concerned, kc.each(kc.keys(s.quorums), lambda q: blocked(early, q)))

    return _rounds(s, lambda early: _rounds(s, lambda late: of(early, late)))


def _lemmas(quorums: Callable[[Paxos], kc.Truth] | None) -> list[kc.Property]:
    """What is inductive together with agreement, and what is said of quorums: that they meet among it."""

    def reported(s: Paxos, r: kc.Word, earlier: kc.Word) -> kc.Truth:
        def of(a: Acceptor) -> kc.Truth:
            skipped = kc.all_of(kc.get(a.reported, r) < earlier, earlier < r, kc.get(a.reported, r) != SILENT)
            return kc.implies(skipped, kc.negate(a.voted.has(earlier)))

        return _acceptors(s, of)

    def votes(a: Acceptor, r: kc.Word) -> kc.Truth:
        return kc.implies(a.voted.has(r), kc.all_of(r <= a.last, a.last <= a.promised))

    def promised(a: Acceptor, r: kc.Word) -> kc.Truth:
        return kc.any_of(kc.get(a.reported, r) == SILENT, r <= a.promised)

    def is_vote(a: Acceptor, r: kc.Word, earlier: kc.Word) -> kc.Truth:
        return kc.implies(kc.get(a.reported, r) == earlier, kc.all_of(earlier < r, a.voted.has(earlier)))

    lemmas = [
        kc.always("votes-are-for-proposals", "nobody votes where nothing is proposed", lambda s: _rounds(s, lambda r: (
            kc.implies(kc.get(s.proposals, r) == NONE, _acceptors(s, lambda a: kc.negate(a.voted.has(r))))))),
        kc.always("last-vote-is-the-last", "no vote is later than the last vote, nor that than the promise",
                  lambda s: _rounds(s, lambda r: _acceptors(s, lambda a: votes(a, r)))),
        kc.always("last-is-voted", "a last vote is a vote", lambda s: _acceptors(
            s, lambda a: kc.any_of(a.last == NONE, a.voted.has(a.last)))),
        kc.always("promises-are-remembered", "who has promised a round has heard of it", lambda s: _rounds(
            s, lambda r: _acceptors(s, lambda a: promised(a, r)))),
        kc.always("promises-report-a-vote", "a promise reports a vote in an earlier round, or none", lambda s: _rounds(
            s, lambda r: _rounds(s, lambda earlier: _acceptors(s, lambda a: is_vote(a, r, earlier))))),
        kc.always("promises-report-the-last-vote", "no vote is between the one that a promise reports and its round",
                  lambda s: _rounds(s, lambda r: _rounds(s, lambda earlier: reported(s, r, earlier)))),
        kc.always("proposals-are-safe", "no other value can be decided in an earlier round", _safe),
    ]  # fmt: skip
    if quorums is not None:
        lemmas.append(kc.always("quorums-meet", "every two quorums have an acceptor in common", meet))
    if quorums not in (None, meet):
        lemmas.append(kc.always("quorums-are-large", "every quorum has as many acceptors as it needs", quorums))
    return lemmas


PAXOS, FORGETFUL, DISJOINT = paxos(), paxos(forgets=True), paxos(quorums=None)
COUNTED, HALVES = paxos(quorums=majorities), paxos(quorums=halves)
