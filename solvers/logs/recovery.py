"""The way back of a cluster: its partitions as brokers start and stop, and leaders are elected.

Each step is what the controller's rules make of it. Partitions do not influence each other; those that are alike are
one situation, and those that are alike but for the names of brokers and directories have one shape, looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter, sub
from typing import Any, TypeAlias

from attrs import evolve, frozen

from kraftcheck.model.controller.brokers import leaving, restarted, unfenced
from kraftcheck.model.controller.elections import UNCLEAN, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import UNCHECKED, AlterPartitionRequest, Proposal, alter_partition, eligible
from kraftcheck.model.controller.state import Controller, LogRecord, Place
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.records.records import ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.memo.situation import Form, ShapeNames, brokers_of, names_of
from kraftcheck.solvers.logs.whatif import (
    TOPIC_ID,
    FaultState,
    Holders,
    Key,
    PartitionKey,
    apply,
    configured_isr,
    count_faults,
    fence_broker,
    isolate,
    lose_power,
    moves,
    return_broker,
    search,
    settle,
)

Move: TypeAlias = Callable[[FaultState, int, RuleSet], FaultState]
Become: TypeAlias = Mapping[int, int]
"""Of each situation at the end of the log the number of the one that has become of it."""

Loss: TypeAlias = tuple[int, ...]
"""How much may be lost, the gravest kind first: all; since when is not known; for how long; what was not flushed."""
NOTHING: Loss = (0, 0, 0, 0)
Weigh: TypeAlias = Callable[[PartitionKey, int], Loss]  # what a partition may lose with a leader
Losing: TypeAlias = Callable[[int, int], tuple[Loss, Loss]]
"""Of a situation and what becomes of it with harm: what it loses beyond what it must, and all that it loses."""

MOST_STEPS = 300_000
"""Steps of situations that the search for a shortest order takes, some seconds; beyond it an order may be longer."""


def start(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """A broker comes back with all that it had, and whoever may be in the ISR has caught up."""
    return catch_up(return_broker(state, broker, rules), broker, rules)


def stop(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """A broker is shut down as one should: it hands over, and is fenced once it is gone."""
    return fence_broker(settle(apply(state, lambda c: leaving(c, broker, rules), rules)), broker, rules)


def catch_up(state: FaultState, broker: int, rules: RuleSet) -> FaultState:
    """The leader has every replica in the ISR that it may have there."""
    p, controller = state.partition, state.controller
    leader = controller.registration(int(p.leader))
    able = eligible(controller, Place(TOPIC_ID, 0, p), rules.partition)
    members = [*ids(p.isr), *(b for b in ids(p.replicas) if able.has(b) and not p.isr.has(b))]
    if leader is None or len(members) == len(ids(p.isr)):
        return state
    isr = tuple((broker, UNCHECKED) for broker in members)
    proposal = Proposal(TOPIC_ID, 0, int(p.leader_epoch), int(p.partition_epoch), isr)
    request = AlterPartitionRequest(leader.id, leader.epoch, (proposal,))

    def records(controller: Controller) -> tuple[LogRecord, ...]:
        try:
            return alter_partition(controller, request, rules).records
        except RequestError:  # the leader is asked again later, and until then nothing changes
            return ()

    after = apply(state, records, rules)
    if leader.id in state.holders:
        after = evolve(after, holders=after.holders | frozenset(ids(after.partition.isr)))
    return settle(after)


def is_harmed(before: FaultState, after: FaultState) -> bool:
    """Whether acknowledged records may have been lost on the way: a leader without them, or an unclean election."""
    recovering = bool(after.partition.recovering) and not bool(before.partition.recovering)
    led = before.offline and not after.offline and int(after.partition.leader) not in before.holders
    return recovering or led or (after.lost and not before.lost)


@frozen
class Prospect:
    """One way in which a partition without leader gets one."""

    broker: int | None  # who is started first; None where nobody has to be
    asked: bool  # whether an operator has to ask for an unclean election then
    leader: int  # who leads
    harmed: bool  # whether acknowledged records may be lost
    killed: int | None  # where the broker lost what it had not flushed, as after a kill: the leader, None for nobody


def down(controller: Controller) -> tuple[int, ...]:
    """The registered brokers that are fenced, or about to be as they shut down."""
    return tuple(b for b, known in sorted(controller.image.registrations.items()) if not known.is_active())


def single_faults(state: FaultState, rules: RuleSet) -> Iterator[tuple[str, FaultState]]:
    """The single faults of a partition, in words, with what becomes of it."""
    yield from ((move.name, move.after()) for move in moves(state, rules) if move.fault)


def resigns(state: FaultState, broker: int, rules: RuleSet) -> bool:
    """Whether the controller resigns as a broker that is down registers anew, or is unfenced."""
    if state.partition.replicas.has(broker) and state.controller.registration(broker) is not None:
        try:
            restarted(state.controller, broker, False, rules)
            unfenced(state.controller, broker, rules)
        except Resignation:
            return True
    return False


def prospects(state: FaultState, rules: RuleSet) -> Iterator[Prospect]:
    """The ways in which a partition without leader gets one: by the controller's timer, a broker, or an election."""
    able = (b for b in down(state.controller) if state.partition.replicas.has(b) and b not in state.dead)
    for broker in (None, *able):
        if broker is None:
            after = settle(apply(state, lambda c: elect_unclean(c, rules).records, rules))
        else:
            after = return_broker(state, broker, rules)
        asked = after.offline
        if asked:
            after = settle(apply(after, lambda c: elect_leaders(c, UNCLEAN, ((TOPIC_ID, 0),), rules).records, rules))
        if not after.offline:
            killed = state if broker is None or asked else lose_power(state, broker, rules)
            leader = None if killed.offline else int(killed.partition.leader)
            yield Prospect(broker, asked, int(after.partition.leader), is_harmed(state, after), leader)


@frozen
class Started:
    """One step of a way back."""

    broker: int  # who is started
    # led, writable: partitions that have a leader again, and that take acks=all again
    led: tuple[PartitionKey, ...]
    writable: tuple[PartitionKey, ...]
    harmed: tuple[PartitionKey, ...]  # partitions that may lose acknowledged records by it
    syncs: bool  # whether some partition that it has a replica of has a leader then, to be in sync with


@frozen
class WayBack:
    """The order in which brokers are started."""

    # in order; first until every partition leads that can, then until each takes acks=all, then the others
    steps: tuple[Started, ...]
    shortest: bool  # whether no shorter order loses as little
    after: Become  # the situations at its end, once every replica that may be in sync is


def _named(move: str, names: ShapeNames) -> str:
    """A move of a broker of a shape, which it begins with, with the broker's id."""
    broker, _, rest = move.partition(" ")
    return f"{names.to_ids.brokers[int(broker)]} {rest}"


Trouble: TypeAlias = Callable[[FaultState], bool]
OFFLINE, UNWRITABLE = attrgetter("offline"), attrgetter("unwritable")
"""Troubles of a partition: nobody leads it; it refuses acks=all."""


class Recovery:
    """The partitions of a cluster at the end of its log, and what becomes of them.

    Args:
        controller: the state there.
        dead: brokers that never come back.

    Attributes:
        now: of each partition the number of its situation there.
        until_writable: the starts until a situation takes acks=all.
    """

    def __init__(
        self, controller: Controller, holders: Holders, rules: RuleSet, dead: frozenset[int] = frozenset()
    ) -> None:
        self._controller, self._losses, self._rules, self._dead = controller, holders.losses, rules, dead
        self._down = tuple(broker for broker in down(controller) if broker not in dead)
        self._shapes: list[FaultState] = []
        self._shape_numbers: dict[Key, int] = {}
        self._names: list[ShapeNames] = []
        self._own: list[Mapping[int, int]] = []
        self._names_numbers: dict[ShapeNames, int] = {}
        self._forms: dict[Form, int] = {}
        self._situations: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._memo: dict[tuple[Move, int, int], int] = {}
        self._faults = cache(lambda shape: tuple(single_faults(self._shapes[shape], rules)))
        self._prospects = cache(lambda shape: tuple(prospects(self._shapes[shape], rules)))
        self._ways = cache(lambda shape, faults: search(self._shapes[shape], faults, rules))
        self._resigns = cache(lambda shape, broker: resigns(self._shapes[shape], broker, rules))
        self.until_writable = cache(self._until_writable)
        self.now: Mapping[PartitionKey, int] = {
            key: self._situation_at(place, holders.members.get(key))
            for place in controller.places()
            for key in [(place.topic_id, place.index)]
        }
        self._rank = {key: rank for rank, key in enumerate(self.now)}
        self._places, self._hosted = dict[int, list[PartitionKey]](), dict[int, list[int]]()
        for key, number in self.now.items():
            self._places.setdefault(number, []).append(key)
        for number in self._places:
            for broker in self._replicas(number):
                self._hosted.setdefault(broker, []).append(number)

    def distances(self, faults: int) -> list[Mapping[str, Any]]:
        """How many faults each partition is from each trouble, up to so many, with the shortest way there.

        `lost_at` is the offset of the last record of the log with which data may have been lost already.
        """
        rows: list[Mapping[str, Any]] = []
        for key, number in self.now.items():
            shape, names = self._shape_and_names(number)
            ways = self._ways(shape, faults)
            rows.append({
                "topic": self._controller.topic(key[0]).name, "partition": key[1],
                **{f"faults_to_{name}": count_faults(way) for name, way in ways.items()},
                **{f"to_{name}": None if way is None else [_named(move, names) for move in way]
                   for name, way in ways.items()},
                "lost_at": self._losses.get(key),
            })  # fmt: skip
        return rows

    def all_resigning(self) -> dict[int, tuple[PartitionKey, ...]]:
        """Of each broker that is down, and whose return makes the controller resign, the partitions concerned."""
        return {broker: keys for broker in self._down if (keys := self.resigning(broker))}

    def resigning(self, broker: int) -> tuple[PartitionKey, ...]:
        """The partitions whose change makes the controller resign as a broker registers anew, or is unfenced."""
        situations = ((n, *self._situations[n]) for n in self._of(broker))
        return self._keys(n for n, shape, names in situations if self._resigns(shape, self._own[names][broker]))

    def _until_writable(self, number: int) -> list[int] | None:
        """The fewest brokers whose start makes a partition take acks=all, in order; None where none do without harm.

        Live replicas catch up first, so that it may be none at all.
        """
        return self._search_one(self._caught_up(number), self._down, UNWRITABLE)[0]

    def _caught_up(self, number: int) -> int:
        """A situation once whoever may be in the ISR is."""
        leader = int(self.shape(number).partition.leader)
        return number if leader == NO_LEADER else self._after(number, catch_up, *self._real(number, [leader]))

    def shape(self, number: int) -> FaultState:
        """A situation with the names of its shape, which tells no broker, but what a partition is."""
        return self._shapes[self._situations[number][0]]

    def state(self, number: int) -> FaultState:
        """A situation with its own names."""
        shape, names = self._shape_and_names(number)
        return self._shapes[shape].renamed(names.to_ids)

    def _shape_and_names(self, number: int) -> tuple[int, ShapeNames]:
        shape, names = self._situations[number]
        return shape, self._names[names]

    def _situation_at(self, place: Place, holders: frozenset[int] | None) -> int:
        """The situation of a partition; of those that are alike but for names only the first is isolated."""
        form, names = self.form_and_names(place, holders)
        shape = None if form is None else self._forms.get(form)
        if names is None or shape is None:
            state = isolate(self._controller, place, self._rules, holders, self._dead)
            names = state.names()
            shape = self._shape_number(state.renamed(names.to_shape))
            self._forms.update({} if form is None else {form: shape})
        number = self._names_numbers.setdefault(names, len(self._names))
        if number == len(self._names):
            self._names.append(names)
            self._own.append({broker: names.to_shape.brokers[broker] for broker in names.brokers})
        return self._number(shape, number)

    def form_and_names(self, place: Place, holders: frozenset[int] | None) -> tuple[Form | None, ShapeNames | None]:
        """All that the shape of a partition depends on, and the names in it; None where names need not be all of it."""
        c, p, topic_id = self._controller, place.partition, place.topic_id
        brokers = brokers_of(p)
        if holders is None or c.stale_dirs or c.elr_index.differing:
            return None, None
        if not holders <= {*brokers} == {*ids(p.replicas), *ids(p.last_known_elr)}:
            return None, None
        registered = [(broker, c.image.registrations.get(broker)) for broker in brokers]
        names = names_of(p, registered, None, c.features.elr_enabled)
        to_shape = names.to_shape
        form = (
            names.renamed or names, to_shape.form_of_partition(p), frozenset(to_shape.broker_ids(holders)),
            *(to_shape.form_of_registration(known) for _, known in registered),
            *(configured_isr(c, topic_id, broker) for broker in ids(p.replicas)), names.numbers,
            c.min_isr(topic_id, place.index, self._rules.controller),
            c.unclean_election(topic_id, self._rules.partition),
            frozenset(to_shape.broker_ids(self._dead.intersection(brokers))),
        )  # fmt: skip
        return form, names

    def _shape_number(self, state: FaultState) -> int:
        number = self._shape_numbers.setdefault(state.key(), len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(state)
        return number

    def _number(self, shape: int, names: int) -> int:
        number = self._numbers.setdefault((shape, names), len(self._situations))
        if number == len(self._situations):
            self._situations.append((shape, names))
        return number

    def _replicas(self, number: int) -> list[int]:
        return self._real(number, ids(self.shape(number).partition.replicas))

    def _real(self, number: int, brokers: Iterable[int]) -> list[int]:
        """The ids of brokers of a shape."""
        ids_of = self._shape_and_names(number)[1].to_ids.brokers
        return [ids_of[broker] for broker in brokers]

    def fatal_fault(self, number: int) -> str | None:
        """A single fault that takes a situation offline, in words; None where it survives each."""
        return self._fault(number, OFFLINE)

    def refusing_fault(self, number: int) -> str | None:
        """A single fault after which a situation refuses acks=all, in words; None where it survives each."""
        return self._fault(number, UNWRITABLE)

    def _fault(self, number: int, is_bad: Trouble) -> str | None:
        shape, names = self._shape_and_names(number)
        fault = next((name for name, after in self._faults(shape) if is_bad(after)), None)
        return None if fault is None else _named(fault, names)

    def prospects(self, number: int) -> list[Prospect]:
        """The ways in which a situation without leader gets one."""
        shape, names = self._shape_and_names(number)
        real = names.to_ids.brokers
        return [
            evolve(
                one, broker=None if one.broker is None else real[one.broker], leader=real[one.leader],
                killed=None if one.killed is None else real[one.killed],
            )
            for one in self._prospects(shape)
        ]  # fmt: skip

    def _after(self, number: int, move: Move, broker: int) -> int:
        """The situation after a move of a broker; the same where it has no replica, or is not registered."""
        shape, names = self._situations[number]
        own = self._own[names].get(broker)
        if own is None:
            return number
        after = self._memo.get((move, shape, own))
        if after is None:
            state = self._shapes[shape]
            concerned = state.partition.replicas.has(own) and state.controller.registration(own) is not None
            after = self._shape_number(move(state, own, self._rules)) if concerned else shape
            self._memo[move, shape, own] = after
        return number if after == shape else self._number(after, names)

    def _harms(self, before: int, after: int) -> bool:
        return before != after and is_harmed(self.shape(before), self.shape(after))

    def troubles_of_stop(self, at: Become, broker: int) -> dict[str, tuple[PartitionKey, ...]]:
        """The partitions that stopping a broker takes offline, and those that refuse acks=all by it, as far as any.

        `short` are those that refuse already, and have it in sync.
        """
        found: dict[str, list[int]] = {"offline": [], "unwritable": [], "short": []}
        for first in self._of(broker):
            before, after = self.shape(at[first]), self.shape(self._after(at[first], stop, broker))
            if after.offline and not before.offline:
                found["offline"].append(first)
            elif after.unwritable and not before.unwritable:
                found["unwritable"].append(first)
            if before.unwritable and self._leads_on(before, after, self._own[self._situations[first][1]][broker]):
                found["short"].append(first)
        return {name: self._keys(numbers) for name, numbers in found.items()}

    def _leads_on(self, before: FaultState, after: FaultState, broker: int) -> bool:
        """Whether a partition has a broker in sync, and leads on, or may, without it."""
        leader = int(before.partition.leader)
        leads_on = leader not in (NO_LEADER, broker) if before.offline else not after.offline
        return leads_on and bool(before.partition.isr.has(broker))

    def restarted(self, at: Become, broker: int) -> Become:
        """The situations that a broker has a replica in, after it is stopped and started."""
        return self._moves(self._moves(at, stop, broker), start, broker)

    def _moves(self, at: Become, move: Move, broker: int) -> Become:
        """What becomes of the situations that a broker has a replica in."""
        return {first: self._after(at[first], move, broker) for first in self._of(broker)}

    def _of(self, broker: int) -> Sequence[int]:
        """The situations at the end of the log that a broker has a replica in: a move of it changes no other."""
        return self._hosted.get(broker, ())

    def _newly(
        self, broker: int, before: Become, after: Become, has: Callable[[FaultState], bool]
    ) -> tuple[PartitionKey, ...]:
        """The partitions that have what they did not have, after a move of a broker."""
        shape = self.shape
        return self._keys(n for n in self._of(broker) if has(shape(after[n])) and not has(shape(before[n])))

    def _keys(self, numbers: Iterable[int]) -> tuple[PartitionKey, ...]:
        """The partitions that are in these situations at the end of the log."""
        return tuple(sorted((key for number in numbers for key in self._places[number]), key=self._rank.__getitem__))

    def way_back(self, weigh: Weigh = lambda key, leader: (0, 0, 0, 1), first: Collection[int] = ()) -> WayBack:
        """The order in which to start the brokers that are down: as few as can be until each partition leads.

        Args:
            weigh: how much each loss counts: an order that loses less is better, however long.
            first: who is started first, where nothing else tells.
        """
        order, shortest, at, steps = list[int](), True, {**self.unchanged}, list[Started]()
        for trouble, lossy in ((OFFLINE, False), (UNWRITABLE, False), (OFFLINE, True), (None, True)):
            waiting = [broker for broker in self._down if broker not in order]
            waiting.sort(key=lambda broker: broker not in first)
            found = waiting
            if trouble is not None:
                found, proved = self._order(at, waiting, trouble, weigh, lossy)
                shortest = shortest and proved
            for broker in found:
                after = self._moves(at, start, broker)
                if any(at[number] != now for number, now in after.items()):
                    steps.append(self._step(broker, at, after))
                order.append(broker)
                at.update(after)
        return WayBack(tuple(steps), shortest, {first: self._caught_up(number) for first, number in at.items()})

    @cached_property
    def unchanged(self) -> Become:
        """Every situation at the end of the log, before anything is done."""
        return {number: number for number in self.now.values()}

    def _step(self, broker: int, before: Become, after: Become) -> Started:
        led = self._newly(broker, before, after, lambda state: not state.offline)
        writable = self._newly(broker, before, after, lambda state: not state.unwritable)
        harmed = self._keys(n for n in self._of(broker) if self._harms(before[n], after[n]))
        syncs = any(not self.shape(after[number]).offline for number in self._of(broker))
        return Started(broker, led, writable, harmed, syncs)

    def _order(
        self, at: Become, brokers: Sequence[int], trouble: Trouble, weigh: Weigh, lossy: bool
    ) -> tuple[list[int], bool]:
        """The fewest brokers, in order, whose start ends a trouble of every situation in which it can be ended.

        Of all situations as little is lost on the way as can be; where no such order is found in time, one that
        starts each time who harms least, and then who helps most, and whether it is the shortest.

        Args:
            at: what has become of the situations so far.
            lossy: whether it is ended where that is not possible without loss, too.
        """
        keys: dict[int, list[PartitionKey]] = {}
        for first, number in at.items():
            keys.setdefault(number, []).extend(self._places[first])

        def lost(number: int, after: int) -> tuple[Loss, Loss]:
            names, leader = self._shape_and_names(after)[1], int(self.shape(after).partition.leader)
            leader = names.to_ids.brokers.get(leader, NO_LEADER)
            loss = _total(NOTHING, *(weigh(key, leader) for key in keys[number]))
            return loss, loss

        def beyond(number: int, after: int) -> tuple[Loss, Loss]:
            _, loss = lost(number, after)
            return tuple(map(sub, loss, least(number))), loss

        least = cache(lambda number: self._search_one(number, brokers, OFFLINE, lost)[1])
        single = {number: self._search_one(number, brokers, trouble, lost if lossy else None) for number in keys}
        targets = tuple(number for number, (order, _, _) in single.items() if order)
        watched = tuple(number for number in keys if number not in targets and OFFLINE(self.shape(number)))
        found, _, _ = self._search(targets, brokers, trouble, beyond, watched)
        if found is not None:
            return found, all(is_whole for _, _, is_whole in single.values())
        return self._greedy(targets, watched, brokers, trouble, beyond), False

    def _greedy(
        self, targets: tuple[int, ...], watched: tuple[int, ...], brokers: Sequence[int], trouble: Trouble,
        losing: Losing,
    ) -> list[int]:  # fmt: skip
        """An order that starts each time who harms least, and then who ends a trouble of most situations."""
        order, waiting, at = [], list(brokers), {number: number for number in (*targets, *watched)}
        hosted = {broker: [n for n in at if broker in self._replicas(n)] for broker in brokers}

        def cost(broker: int) -> tuple[Loss, int]:
            after = {number: self._after(at[number], start, broker) for number in hosted[broker]}
            harmed = [losing(number, now)[0] for number, now in after.items() if self._harms(at[number], now)]
            return _total(NOTHING, *harmed), sum(
                trouble(self.shape(after[n])) - trouble(self.shape(at[n])) for n in after
            )

        while waiting and any(trouble(self.shape(at[number])) for number in targets):
            broker = min(waiting, key=cost)
            at |= {number: self._after(at[number], start, broker) for number in hosted[broker]}
            order.append(broker)
            waiting.remove(broker)
        return order

    def _search_one(
        self, number: int, brokers: Sequence[int], trouble: Trouble, losing: Losing | None = None
    ) -> tuple[list[int] | None, Loss, bool]:
        """As `_search`, for one situation, among the brokers that it has replicas on."""
        replicas = self._replicas(number)
        return self._search((number,), [broker for broker in brokers if broker in replicas], trouble, losing)

    def _search(
        self, targets: tuple[int, ...], brokers: Sequence[int], trouble: Trouble, losing: Losing | None = None,
        watched: tuple[int, ...] = (),
    ) -> tuple[list[int] | None, Loss, bool]:  # fmt: skip
        """The order that ends a trouble of all of some situations; None where none is found.

        The one that loses least beyond what must be lost, then the shortest, then the one that loses least. Beside
        it what it loses, and whether all orders were looked at, or as many as it took.

        Args:
            losing: of a loss how much it is; None allows none.
            watched: situations that must lose no more than they must, either.
        """
        first, number, seen, budget = (*targets, *watched), count(), set[tuple[int, ...]](), MOST_STEPS
        queue = [(NOTHING, 0, NOTHING, next(number), first, list[int]())]
        while queue:
            beyond, starts, lost, _, at, order = heappop(queue)
            if not any(trouble(self.shape(one)) for one in at[: len(targets)]):
                return order, lost, True
            if at in seen:
                continue
            seen.add(at)
            for broker in brokers:
                if budget <= 0:
                    return None, NOTHING, False
                after = tuple(self._after(one, start, broker) for one in at)
                budget -= len(at)
                if after in seen:
                    continue
                harmed = [(one, now) for one, was, now in zip(first, at, after, strict=True) if self._harms(was, now)]
                if losing is None and harmed:
                    continue
                more = [losing(one, now) for one, now in harmed] if losing is not None else []
                paid = _total(beyond, *(one for one, _ in more)), starts + 1, _total(lost, *(one for _, one in more))
                heappush(queue, (*paid, next(number), after, [*order, broker]))
        return None, NOTHING, True


def _total(*losses: Loss) -> Loss:
    """The sum of losses."""
    return tuple(map(sum, zip(*losses, strict=True)))
