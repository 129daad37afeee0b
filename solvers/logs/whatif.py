"""How many faults a partition of a real cluster is away from being offline, and from losing acknowledged data.

Faults are those of brokers and disks; the controller answers each as its rules
say. Partitions do not influence each other, so each is explored by itself, with
the brokers of its replicas. A broker that only lost touch may come back at any
time, which is no fault.

Data are followed as sets of replicas that hold all that was acknowledged. At the
start these are the members of ISR and ELR. A stop without flush, or a failed
directory, takes a replica out of them; while the ISR has its minimum, whatever is
written next is acknowledged by the ISR alone. Data are lost once a leader is not
among the holders, or nobody is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import evolve, frozen

from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.configs import MIN_ISR, UNCLEAN_ELECTION, Configs
from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.lifecycle import Records, directories_failed, fenced, unfenced
from kraftcheck.model.controller.registration import RegistrationContext, RegistrationRequest, register_broker
from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import ids
from kraftcheck.model.records.replay import ReplayError, Topic
from kraftcheck.model.rules.ruleset import RIGHT, RuleSet

Key: TypeAlias = tuple[Any, ...]

TOPIC_ID = "what-if"


@frozen
class World:
    """One partition with its brokers.

    Attributes:
        controller: holds nothing but them.
        holders: replicas that hold all acknowledged data.
        dead: brokers that have no directory left, and never come back.
        lost: whether acknowledged data are lost.
    """

    controller: Controller
    holders: frozenset[int]
    dead: frozenset[int] = frozenset()
    lost: bool = False

    @property
    def partition(self) -> Partition:
        """The partition."""
        return self.controller.image.topics[TOPIC_ID].partitions[0]

    @property
    def offline(self) -> bool:
        """Whether nobody leads."""
        return bool(self.partition.leader == NO_LEADER)

    def key(self) -> Key:
        """What tells two worlds apart: all but epochs and offsets."""
        p = self.partition
        brokers = tuple(
            (b, known.fenced, known.in_controlled_shutdown, known.dirs)
            for b, known in sorted(self.controller.image.registrations.items())
        )
        lists = (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing)
        placed = tuple(int(p.directories.of(b)) for b in ids(p.replicas))
        shape = (*(ids(members) for members in lists), placed, int(p.leader), bool(p.recovering))
        return shape, brokers, self.holders, self.dead, self.lost


@frozen
class Distance:
    """How far a partition is from trouble: for each kind the shortest way there, None beyond the faults allowed."""

    topic: str
    partition: int
    offline: tuple[str, ...] | None
    loss: tuple[str, ...] | None


@frozen
class SlotUpdate:
    """Something that happens to a broker: its name, whether it is a fault, and the world after it."""

    name: str
    fault: bool
    after: Callable[[], World]


def distances(controller: Controller, faults: int, rules: RuleSet) -> Iterator[Distance]:
    """The distance of every partition.

    Args:
        controller: the state.
        faults: how many are looked at.
        rules: the rule set.
    """
    known: dict[Key, tuple[tuple[str, ...] | None, tuple[str, ...] | None]] = {}
    for place in controller.places():
        world = alone(controller, place, rules)
        limits = world.controller.configs.topics[TOPIC_ID]
        key = (world.key(), tuple(sorted(limits.items())))
        if key not in known:
            known[key] = search(world, faults, rules)
        yield Distance(controller.topic(place.topic_id).name, place.index, *known[key])


def alone(controller: Controller, place: Place, rules: RuleSet) -> World:
    """A partition with the brokers of its replicas, and with the configuration that counts for it."""
    p = place.partition
    brokers = {b: r for b, r in controller.image.registrations.items() if p.replicas.has(b)}
    unclean = str(controller.unclean_election(place.topic_id)).lower()
    min_isr = str(controller.min_isr(place.topic_id, place.index, rules.controller))
    configured = {MIN_ISR: min_isr, UNCLEAN_ELECTION: unclean}
    image = evolve(controller.image, topics={TOPIC_ID: Topic(TOPIC_ID, {0: p})}, registrations=brokers)
    reduced = evolve(controller, image=image, configs=Configs(topics={TOPIC_ID: configured}))
    return _settled(World(reduced, frozenset(ids(p.isr)) | frozenset(ids(p.elr))))


def search(world: World, faults: int, rules: RuleSet) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The shortest ways to a partition that is offline, and to one that lost data; fewest faults, then fewest moves."""
    offline: tuple[str, ...] | None = () if world.offline else None
    loss: tuple[str, ...] | None = () if world.lost else None
    seen = {world.key()}
    layer: list[tuple[World, tuple[str, ...]]] = [(world, ())]
    for spent in range(faults + 1):
        waiting, beyond = deque(layer), []
        while waiting:
            here, way = waiting.popleft()
            if here.offline and offline is None:
                offline = way
            if here.lost and loss is None:
                loss = way
            for move in moves(here, rules):
                if move.fault and spent == faults:
                    continue
                after, there = move.after(), (*way, move.name)
                if move.fault:
                    beyond.append((after, there))
                elif after.key() not in seen:
                    seen.add(after.key())
                    waiting.append((after, there))
        layer = []
        for after, there in beyond:
            if after.key() not in seen:
                seen.add(after.key())
                layer.append((after, there))
        if offline is not None and loss is not None:
            break
    return offline, loss


def moves(world: World, rules: RuleSet) -> Iterator[SlotUpdate]:
    """Everything that may happen to a broker of the partition next."""
    for broker, known in world.controller.image.registrations.items():
        if known.fenced:
            if broker not in world.dead:
                yield SlotUpdate(f"{broker} returns", False, lambda b=broker: _returned(world, b, rules))  # type: ignore[misc]
            continue
        yield SlotUpdate(f"{broker} is fenced", True, lambda b=broker: _fenced(world, b, rules))  # type: ignore[misc]
        yield SlotUpdate(f"{broker} loses power", True, lambda b=broker: _powerless(world, b, rules))  # type: ignore[misc]
        directory = int(world.partition.directories.of(broker))
        if directory in known.dirs:
            yield SlotUpdate(
                f"{broker} loses its directory", True,
                lambda b=broker, d=directory: _disk_lost(world, b, d, rules),  # type: ignore[misc]
            )  # fmt: skip


def _played(world: World, write: Callable[[Controller], Records], rules: RuleSet) -> World:
    """The world once the controller has decided and its records are replayed."""
    controller = world.controller
    try:
        records = write(controller)
        for record in records:
            controller = replay_record(controller, record, rules)
    except (Resignation, ReplayError):
        return world  # the controller resigns, and its successor is where this one was
    return evolve(world, controller=controller)


def _fenced(world: World, broker: int, rules: RuleSet) -> World:
    return _settled(_played(world, lambda c: fenced(c, broker, rules), rules))


def _returned(world: World, broker: int, rules: RuleSet) -> World:
    known = world.controller.image.registrations[broker]
    if known.in_controlled_shutdown:
        world = _registered(world, broker, True, rules)
    return _settled(_played(world, lambda c: unfenced(c, broker, rules), rules))


def _powerless(world: World, broker: int, rules: RuleSet) -> World:
    """A stop without flush: the broker is fenced, comes back as another incarnation, and is unfenced."""
    world = evolve(world, holders=world.holders - {broker})
    world = _settled(_played(world, lambda c: fenced(c, broker, rules), rules))
    world = _settled(_registered(world, broker, False, rules))
    return _settled(_played(world, lambda c: unfenced(c, broker, rules), rules))


def _registered(world: World, broker: int, clean: bool, rules: RuleSet) -> World:
    c = world.controller
    known = c.image.registrations[broker]
    late = evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1)
    expired = evolve(c, soft=late, settings=evolve(c.settings, cluster_id=None))
    request = RegistrationRequest(
        None, broker, f"{known.incarnation}'", known.listeners, (), known.rack, known.dirs,
        previous_epoch=known.epoch if clean else None,
    )  # fmt: skip
    return _played(world, lambda _: register_broker(expired, request, RegistrationContext(), rules).records, rules)


def _disk_lost(world: World, broker: int, directory: int, rules: RuleSet) -> World:
    """The directory of the broker's replica fails; a broker without directories halts."""
    world = evolve(world, holders=world.holders - {broker})
    known = world.controller.image.registrations[broker]
    if known.dirs == (directory,):
        return evolve(_fenced(world, broker, rules), dead=world.dead | {broker})
    return _settled(_played(world, lambda c: directories_failed(c, broker, (directory,), rules), rules))


def _settled(world: World) -> World:
    """The world once it is judged and clients have written to it."""
    p = world.partition
    leader, isr = int(p.leader), frozenset(ids(p.isr))
    lost = world.lost or not world.holders or (leader != NO_LEADER and leader not in world.holders)
    holders = world.holders
    least = world.controller.min_isr(TOPIC_ID, 0, RIGHT.controller)  # the only partition, which every rule set asks
    if leader != NO_LEADER and len(isr) >= least:
        holders = holders & isr
    return evolve(world, lost=lost or not holders, holders=holders)


def count_faults(way: tuple[str, ...] | None) -> int | None:
    """How many moves of a way are faults."""
    return None if way is None else sum(not move.endswith(" returns") for move in way)


def as_rows(found: list[Distance]) -> list[Mapping[str, Any]]:
    """The distances as plain values."""
    return [
        {
            "topic": one.topic,
            "partition": one.partition,
            "faults_to_offline": count_faults(one.offline),
            "faults_to_loss": count_faults(one.loss),
            "to_offline": None if one.offline is None else list(one.offline),
            "to_loss": None if one.loss is None else list(one.loss),
        }
        for one in found
    ]
