"""A replicated log by MultiPaxos: MultiPaxos_MC_small of the TLA+ Examples, with its symmetry of replicas."""

import enum
import itertools
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

REPLICAS, BALLOTS, SLOTS, MAJORITY = range(3), (1, 2), range(2), 2
NONE, NOBODY, ONE = 0, -1, {"r": range(3)}
SOMEBODY = kc.ints(NOBODY, 2, none=NOBODY)


class Command(kc.Enum):
    """The commands of clients, in the order in which they come."""

    NONE = enum.auto()
    WRITE = enum.auto()
    READ = enum.auto()


COMMANDS = (Command.WRITE, Command.READ)


class Status(kc.Enum):
    """The states of a slot."""

    EMPTY = enum.auto()
    PREPARING = enum.auto()
    ACCEPTING = enum.auto()
    COMMITTED = enum.auto()


class Event(kc.Enum):
    """What clients see: a request, or an answer with the value before it."""

    WRITE = enum.auto()
    READ = enum.auto()
    WRITTEN_OVER_NOTHING = enum.auto()
    WRITTEN_OVER_WRITE = enum.auto()
    NOTHING_READ = enum.auto()
    WRITE_READ = enum.auto()


VOTES = ((NONE, Command.NONE), *itertools.product(BALLOTS, COMMANDS))


class Sent(kc.SetOf):
    """Messages that a replica has sent."""

    members = (
        *itertools.product(["prepare"], BALLOTS),
        *(("promise", ballot, *votes) for ballot, *votes in itertools.product(BALLOTS, VOTES, VOTES)),
        *itertools.product(["accept"], BALLOTS, SLOTS, COMMANDS),
        *itertools.product(["accepted"], BALLOTS, SLOTS),
    )


class Waiting(kc.SetOf):
    """The commands that nobody has committed."""

    members = COMMANDS


class Events(kc.Queue):
    """What clients have seen, in order."""


@frozen
class Vote:
    """The ballot and the command that a replica has accepted."""

    ballot: kc.Word = NONE
    command: kc.Word = Command.NONE


@frozen
class Slot:
    """A slot of a log."""

    status: kc.Word = Status.EMPTY
    command: kc.Word = Command.NONE
    vote: Vote = Vote()


@frozen
class Replica:
    """A replica: whom it follows, whether the key is written, its ballots, its log, and whether it has ended."""

    leader: kc.Word
    written: kc.Truth
    committed: kc.Word
    prepared: kc.Word
    ballot: kc.Word
    log: tuple[Slot, ...]
    ended: kc.Truth = False


@frozen
class Cluster:
    """The replicas, their messages, the slots announced as committed, commands that wait, and what clients saw."""

    replica: tuple[Replica, ...]
    sent: tuple[Sent, ...]
    announced: kc.IntSet
    waiting: Waiting
    events: Events


def change(s: Cluster, r: kc.Word, new: Replica, *messages: Any) -> Cluster:
    """The cluster with another state of a replica, which sends messages; each is there if its truth holds."""
    sent = kc.get(s.sent, r)
    for condition, message in messages:
        sent = kc.choose(condition, sent.plus(sent.just(message)), sent)
    return evolve(s, replica=kc.put(s.replica, r, new), sent=kc.put(s.sent, r, sent))


def voted(replica: Replica) -> tuple[Any, ...]:
    """The votes of a replica as they stand in its promises."""
    return tuple((slot.vote.ballot, slot.vote.command) for slot in replica.log)


def withdrawn(own: Replica) -> tuple[Slot, ...]:
    """The log of a replica that follows another ballot."""
    return tuple(evolve(slot, status=kc.choose(slot.status == Status.ACCEPTING, Status.PREPARING, slot.status))
                 for slot in own.log)  # fmt: skip


def lead(s: Cluster, r: kc.Word, b: kc.Word) -> Cluster:
    """A replica starts a ballot, and promises it to itself."""
    own = kc.get(s.replica, r)
    new = evolve(own, leader=r, prepared=NONE, ballot=b, log=withdrawn(own))
    return change(s, r, new, (True, ("prepare", b)), (True, ("promise", b, *voted(new))))


def may_lead(s: Cluster, r: kc.Word, b: kc.Word) -> kc.Truth:
    """It does not lead, and the ballot is a later one that nobody has started."""
    own = kc.get(s.replica, r)
    fresh = kc.each(s.sent, lambda sent: kc.negate(sent.has(("prepare", b))))
    return kc.all_of(own.leader != r, b > own.ballot, fresh)


def promise(s: Cluster, r: kc.Word, source: kc.Word, b: kc.Word) -> Cluster:
    """A replica follows a later ballot."""
    own = kc.get(s.replica, r)
    new = evolve(own, leader=source, ballot=b, log=withdrawn(own))
    return change(s, r, new, (True, ("promise", b, *voted(new))))


def may_promise(s: Cluster, r: kc.Word, source: kc.Word, b: kc.Word) -> kc.Truth:
    """The ballot was started, and is a later one."""
    return kc.all_of(kc.get(s.sent, source).has(("prepare", b)), b > kc.get(s.replica, r).ballot)


def promises(s: Cluster, b: kc.Word, claim: Any) -> kc.Word:
    """How many promises of a ballot there are whose votes satisfy a claim."""
    cases = itertools.product(s.sent, itertools.product(VOTES, repeat=len(SLOTS)))
    return kc.count(cases, lambda case: kc.all_of(claim(case[1]), case[0].has(("promise", b, *case[1]))))


def highest(s: Cluster, b: kc.Word, slot: int) -> kc.Word:
    """The command with the highest ballot that the promises of a ballot name for a slot."""
    result: kc.Word = Command.NONE
    for vote in VOTES[1:]:
        result = kc.choose(promises(s, b, lambda votes, vote=vote: votes[slot] == vote) > 0, vote[1], result)
    return result


def prepare(s: Cluster, r: kc.Word) -> Cluster:
    """A leader takes over what the promises say, and proposes it."""
    own = kc.get(s.replica, r)
    log, messages = [], []
    for number, slot in enumerate(own.log):
        command = highest(s, own.ballot, number)
        resumes = kc.any_of(slot.status == Status.PREPARING,
                            kc.all_of(slot.status == Status.EMPTY, command != Command.NONE))  # fmt: skip
        log.append(evolve(slot, status=kc.choose(resumes, Status.ACCEPTING, slot.status), command=command))
        messages.append((log[-1].status == Status.ACCEPTING, ("accept", own.ballot, number, command)))
    return change(s, r, evolve(own, prepared=own.ballot, log=tuple(log)), *messages)


def may_prepare(s: Cluster, r: kc.Word) -> kc.Truth:
    """It leads, and a majority has promised."""
    own = kc.get(s.replica, r)
    return kc.all_of(own.leader == r, own.prepared == NONE, promises(s, own.ballot, lambda votes: True) >= MAJORITY)


def is_prepared(own: Replica, r: kc.Word) -> kc.Truth:
    """Whether a replica leads its ballot."""
    return kc.all_of(own.leader == r, own.prepared == own.ballot)


def unseen(s: Cluster, own: Replica) -> kc.Word:
    """The first command that waits and is not in a log; NONE if there is none."""
    result: kc.Word = Command.NONE
    for command in reversed(COMMANDS):
        fresh = kc.all_of(s.waiting.has(command), kc.each(own.log, lambda slot, c=command: slot.command != c))
        result = kc.choose(fresh, command, result)
    return result


def observe(s: Cluster, event: kc.Word) -> Events:
    """What clients have seen, with an event if it is new."""
    return kc.choose(s.events.has(event), s.events, s.events.append(event))


def take(s: Cluster, r: kc.Word) -> Cluster:
    """A leader proposes a command in the first empty slot."""
    own = kc.get(s.replica, r)
    command = unseen(s, own)
    place = kc.choose(own.log[0].status == Status.EMPTY, 0, 1)
    log = kc.put(own.log, place, Slot(Status.ACCEPTING, command, Vote(own.prepared, command)))
    after = change(s, r, evolve(own, log=log), (True, ("accept", own.prepared, place, command)),
                   (True, ("accepted", own.prepared, place)))  # fmt: skip
    return evolve(after, events=observe(s, kc.choose(command == Command.WRITE, Event.WRITE, Event.READ)))


def may_take(s: Cluster, r: kc.Word) -> kc.Truth:
    """It leads its ballot, a slot is empty, and a command waits."""
    own = kc.get(s.replica, r)
    return kc.all_of(is_prepared(own, r), kc.some(own.log, lambda slot: slot.status == Status.EMPTY),
                     unseen(s, own) != Command.NONE)  # fmt: skip


def accept(s: Cluster, r: kc.Word, source: kc.Word, b: kc.Word, slot: kc.Word, command: kc.Word) -> Cluster:
    """A replica accepts a proposal."""
    own = kc.get(s.replica, r)
    log = kc.put(own.log, slot, Slot(Status.ACCEPTING, command, Vote(b, command)))
    return change(s, r, evolve(own, leader=source, ballot=b, log=log), (True, ("accepted", b, slot)))


def may_accept(s: Cluster, r: kc.Word, source: kc.Word, b: kc.Word, slot: kc.Word, command: kc.Word) -> kc.Truth:
    """The proposal is of a ballot that it has not left, and later than its vote."""
    own = kc.get(s.replica, r)
    return kc.all_of(kc.get(s.sent, source).has(("accept", b, slot, command)), b >= own.ballot,
                     b > kc.get(own.log, slot).vote.ballot)  # fmt: skip


def next_slot(own: Replica) -> Slot:
    """The slot that is committed next."""
    return kc.get(own.log, own.committed, otherwise=Slot())


def apply(own: Replica) -> Replica:
    """A replica commits the next slot."""
    slot = next_slot(own)
    log = kc.put(own.log, own.committed, evolve(slot, status=Status.COMMITTED))
    return evolve(own, log=log, committed=own.committed + 1, written=own.written | (slot.command == Command.WRITE))


def commit(s: Cluster, r: kc.Word) -> Cluster:
    """A leader commits a slot, answers the client, and tells all."""
    own = kc.get(s.replica, r)
    command = next_slot(own).command
    over = kc.choose(own.written, Event.WRITTEN_OVER_WRITE, Event.WRITTEN_OVER_NOTHING)
    read = kc.choose(own.written, Event.WRITE_READ, Event.NOTHING_READ)
    return evolve(change(s, r, apply(own)), events=observe(s, kc.choose(command == Command.WRITE, over, read)),
                  waiting=s.waiting.minus(s.waiting.just(command)),
                  announced=s.announced.plus(s.announced.just(own.committed)))  # fmt: skip


def may_commit(s: Cluster, r: kc.Word) -> kc.Truth:
    """It leads its ballot, and a majority has accepted the next slot."""
    own = kc.get(s.replica, r)
    answers = kc.count(s.sent, lambda sent: sent.has(("accepted", own.prepared, own.committed)))
    return kc.all_of(is_prepared(own, r), next_slot(own).status == Status.ACCEPTING, answers >= MAJORITY)


def may_hear(s: Cluster, r: kc.Word) -> kc.Truth:
    """It follows, and the next slot is known to be committed."""
    own = kc.get(s.replica, r)
    return kc.all_of(own.leader != r, next_slot(own).status == Status.ACCEPTING, s.announced.has(own.committed))


def is_done(s: Cluster) -> kc.Truth:
    """Whether every request was answered."""
    return kc.all_of(s.waiting.is_empty(), s.events.size == 2 * len(COMMANDS))


def comes_before(s: Cluster, a: Event, b: Event) -> kc.Truth:
    """Whether clients saw an event before another."""
    pairs = itertools.combinations(s.events.items, 2)
    return kc.some(pairs, lambda pair: kc.all_of(pair[0] == a, pair[1] == b))


def is_linear(s: Cluster) -> kc.Truth:
    """Whether an order of the two commands explains what clients saw."""
    write_first = kc.all_of(s.events.has(Event.WRITE_READ),
                            kc.negate(comes_before(s, Event.WRITE_READ, Event.WRITE)))  # fmt: skip
    read_first = kc.all_of(s.events.has(Event.NOTHING_READ),
                           kc.negate(comes_before(s, Event.WRITTEN_OVER_NOTHING, Event.READ)))  # fmt: skip
    return kc.all_of(s.events.has(Event.WRITTEN_OVER_NOTHING), kc.any_of(write_first, read_first))


def end(s: Cluster, r: kc.Word) -> Cluster:
    """A replica ends."""
    return change(s, r, evolve(kc.get(s.replica, r), ended=True))


def action(effect: Any, guard: Any, **more: Any) -> kc.Action:
    """A step of a replica while there are requests to answer."""
    return kc.Action(effect.__name__, effect, lambda s, r, **others: kc.all_of(
        kc.negate(is_done(s)), guard(s, r, **others)), {**ONE, **more})  # fmt: skip


def hear(s: Cluster, r: kc.Word) -> Cluster:
    """A replica commits what was announced."""
    return change(s, r, apply(kc.get(s.replica, r)))


BALLOT = kc.ints(0, 2)
SLOT = Slot(Status.domain(), Command.domain(), Vote(BALLOT, Command.domain()))
TWO = kc.IntSet(kc.subset_of(2))

MULTI_PAXOS = kc.System(
    name="multi-paxos",
    summary="A replicated log.",
    layout=Cluster((Replica(SOMEBODY, kc.truth(), BALLOT, BALLOT, BALLOT, (SLOT,) * 2, kc.truth()),) * 3,
                   (Sent.domain(),) * 3, TWO, Waiting.domain(), Events.domain(Event.domain(), 4)),
    initial=[Cluster((Replica(NOBODY, False, 0, NONE, NONE, (Slot(),) * 2),) * 3, (Sent.of([]),) * 3, kc.IntSet(),
                     Waiting.of(COMMANDS), Events.of([], 4))],
    actions=[
        action(lead, may_lead, b=BALLOTS),
        action(promise, may_promise, source=REPLICAS, b=BALLOTS),
        action(prepare, may_prepare),
        action(take, may_take),
        action(accept, may_accept, source=REPLICAS, b=BALLOTS, slot=SLOTS, command=COMMANDS),
        action(commit, may_commit),
        action(hear, may_hear),
        kc.Action("end", end, lambda s, r: kc.all_of(is_done(s), kc.negate(kc.get(s.replica, r).ended)), ONE),
    ],
    properties=[
        kc.always("linearizable", "what clients saw is explained by an order of the commands",
                  lambda s: kc.implies(is_done(s), is_linear(s))),
        kc.sometimes("answers", "every request is answered", is_done),
    ],
    symmetries=[kc.Symmetry("replicas", 3, members={"replica[*].leader": 0}, tuples=("replica", "sent"))],
    quiescent=lambda s: kc.each(s.replica, lambda replica: replica.ended),
)  # fmt: skip
