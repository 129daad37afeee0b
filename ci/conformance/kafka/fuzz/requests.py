"""Drawn requests of the fuzz, each from small numbers: of leaders, brokers, operators, topics and the controller."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from attrs import evolve, frozen

from kraftcheck.ci.conformance.kafka.fuzz.model import (
    CLUSTER_ID,
    Decide,
    Decided,
    ModelController,
    Request,
    failed_over,
)
from kraftcheck.model.controller.alter_configs import alter_config, elr_safety
from kraftcheck.model.controller.brokers import (
    METADATA_VERSION,
    HeartbeatReply,
    HeartbeatRequest,
    RegistrationContext,
    RegistrationRequest,
    fence_stale_broker,
    heard,
    heartbeat,
    register_broker,
    unregister,
)
from kraftcheck.model.controller.elections import balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.partitions import (
    Altered,
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    ongoing,
    reassign,
)
from kraftcheck.model.controller.state import (
    CLUSTER,
    DEFAULTS,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Controller,
    Outcome,
    Place,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Feature, Ids, ids
from kraftcheck.model.rules.ruleset import RuleSet

T = TypeVar("T")

UNKNOWN, NOT_CREATED = "unknown", 999  # the id of a topic that there is not, and its number
MOST_PARTITIONS = 10_000  # partitions that one request may add
WIDTH = 24  # numbers of one step
LIMIT = 10_000  # each number is below this
Step = tuple[int, ...]  # the numbers of one step
WIDE, LONGER = 64, 40  # one plan of so many is wide, and has so many times the steps of another


@frozen
class Plan:
    """A sequence before it meets a controller: its brokers, and numbers for each step; a wide one has more of all."""

    brokers: Step
    steps: tuple[Step, ...]
    wide: bool = False


class Draws:
    """The numbers of a step, taken one after the other; zeros once they are spent."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rest: Iterator[int] = iter(numbers)

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        return next(self._rest, 0) % limit

    def percent(self, share: int) -> bool:
        """True in so many of a hundred draws; never for 0."""
        return next(self._rest, 0) % 100 >= 100 - share

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], count: int) -> tuple[T, ...]:
        """So many of some options, or all, in a drawn order."""
        left, seed = list(options), next(self._rest, 0)
        chosen: list[T] = []
        while left and len(chosen) < count:
            chosen.append(left.pop(seed % len(left)))
            seed //= len(left) + 1
        return tuple(chosen)


def _decided(event: Callable[[Controller, RuleSet], Outcome[T]], reply: Callable[[T], str]) -> Decide:
    """What an event decides, with its response as text."""

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        outcome = event(controller, rules)
        return outcome, reply(outcome.response)

    return decide


def _errors(rows: Iterable[Any]) -> str:
    return ",".join(row.error for row in rows)


def _due(again: bool) -> str:
    """The reply of a timer; empty where it is not due again."""
    return "due" * again


def drawn_plan(seed: int, number: int, steps: int) -> Plan:
    """The plan of a number among those of a seed."""
    source, wide = random.Random(f"{seed}/{number}"), number % WIDE == WIDE - 1
    count = 1 + steps * (LONGER if wide else 1)
    rows = [tuple(source.randrange(LIMIT) for _ in range(WIDTH)) for _ in range(count)]
    return Plan(rows[0], tuple(rows[1:]), wide)


HIGHEST = 2**31 - 1  # the highest broker id
FIRST_DIRECTORY = 1000  # the lowest directory id; those below 100 are reserved
RESERVED = 77  # a directory id that no directory may have

SMALL, HASHED, MIXED = tuple(range(8)), (15, 16, 17, 31, 32, 33, 34, 48, 63, 64), (0, 1, 16, 34, 1000, 2**16, HIGHEST)
"""Pools of broker ids: ascending in hash order, not ascending from 16 on, and over the whole range."""


@frozen
class Brokers:
    """The brokers of a sequence."""

    ids: Ids  # theirs, registered or not
    directories: int  # how many each has at most

    def directories_of(self, broker: int) -> Ids:
        """The directories of a broker."""
        first = FIRST_DIRECTORY + 10 * self.ids.index(broker)
        return tuple(range(first, first + self.directories))


def drawn_brokers(draws: Draws, wide: bool) -> Brokers:
    """Two to five brokers, or all of a pool, with one to three directories each."""
    pool = draws.pick((SMALL, HASHED, MIXED))
    count = 2 + draws.below(4)
    return Brokers(draws.some(pool, len(pool) if wide else count), 1 + draws.below(3))


def register(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A broker registers: a new process, or the same one once more."""
    broker = draws.pick(brokers.ids)
    known = world.controller.registration(broker)
    again = known is not None and draws.percent(20)
    incarnation = known.incarnation if known is not None and again else str(world.controller.image.next_offset)
    own = brokers.directories_of(broker)
    dirs = draws.some(own, len(own) - (draws.below(len(own)) if draws.percent(30) else 0))
    previous = known.epoch if known is not None and not draws.percent(50) else -1
    rack = draws.pick((None, None, "a", "b"))
    cluster = "another" if draws.percent(2) else CLUSTER_ID
    if draws.percent(6):
        other = brokers.directories_of(draws.pick(brokers.ids))[0]
        dirs = draws.pick(((), (RESERVED,), (*dirs, dirs[0]), (*dirs, other)))
    form = draws.pick((*"-" * 28, *("old",) * 3, "zk"))  # an old request says nothing of a clean stop that would count
    request = RegistrationRequest(
        cluster, broker, incarnation, features=(Feature(METADATA_VERSION, 1, 1),), rack=rack, dirs=dirs,
        previous_epoch=-1 if form == "old" else previous, is_migrating_zk_broker=form == "zk",
    )  # fmt: skip
    line = f"register {broker} {incarnation} {_joined(dirs)} {previous} {rack or '-'} {cluster} {form}"
    context = RegistrationContext({METADATA_VERSION: 1})
    return Request(line, _decided(lambda known, rules: register_broker(known, request, context, rules), str))


def beat(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A registered broker sends a heartbeat; most are caught up, want to serve, and have no failed directory."""
    registered = [broker for broker in brokers.ids if world.controller.registration(broker) is not None]
    if not registered:
        return None
    broker = draws.pick(brokers.ids if draws.percent(2) else registered)
    known = world.controller.registration(broker)
    epoch = (0 if known is None else known.epoch) - (1 if draws.percent(4) else 0)
    fence, stop = (3, 3) if world.wide else (6, 10)
    wish = Wish(draws.percent(fence), draws.percent(stop), _offset(world, draws))
    failed = draws.some(brokers.directories_of(broker), 1 + draws.below(2)) if draws.percent(8) else ()
    cordoned = _cordoned(world, brokers.directories_of(broker), draws)
    request = HeartbeatRequest(broker, epoch, wish, failed, cordoned)
    flags = f"{'fence' if wish.fence else '-'} {'stop' if wish.shutdown else '-'}"

    def arrived(controller: Controller, rules: RuleSet) -> Controller:
        return evolve(controller, soft=heard(controller.soft, broker, epoch, rules.controller))

    shown = "null" if cordoned is None else _joined(cordoned)
    line = f"heartbeat {broker} {epoch} {flags} {wish.metadata_offset} {_joined(failed)} {shown}"
    decide = _decided(lambda known, rules: heartbeat(known, request, rules), _reply)
    return Request(line, decide, arrived=arrived)


def _cordoned(world: ModelController, own: Ids, draws: Draws) -> Ids | None:
    """The directories that take no new replica; None where the release has none, or the broker does not say."""
    if not world.controller.features.cordoning or draws.percent(50):
        return None
    return draws.some(own, 1 + draws.below(3)) if draws.percent(6) else ()


def _offset(world: ModelController, draws: Draws) -> int:
    end = world.controller.image.next_offset - 1
    return max(end - draws.below(12), -1) if draws.percent(25) else end


def _reply(reply: HeartbeatReply) -> str:
    flags = (reply.caught_up, reply.fenced, reply.in_controlled_shutdown, reply.should_shut_down)
    return ",".join("true" if flag else "false" for flag in flags)


def unregistered(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """An administrator removes a broker, registered or not."""
    broker = draws.pick(brokers.ids)
    return Request(f"unregister {broker}", lambda controller, rules: (unregister(controller, broker, rules), ""))


def waited(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """Time passes; seldom so much that all sessions end, or just do not."""
    percent, most = (2, 1) if world.wide else (30, 8)
    milliseconds = draws.pick((9001, 9001, 9000)) if draws.percent(percent) else 500 * (1 + draws.below(most))
    return Request(f"wait {milliseconds}", changed=lambda known, _: evolve(known, soft=known.soft.after(milliseconds)))


def session_check(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The controller looks for one broker whose session has ended."""
    return Request("session-check", lambda controller, rules: (fence_stale_broker(controller, rules), ""))


def fail_over(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """Another controller takes over."""
    return Request("fail-over", changed=failed_over)


def _joined(members: Ids) -> str:
    return ",".join(map(str, members)) or "-"


def _place(world: ModelController, draws: Draws) -> Place | None:
    places = list(world.controller.places())
    return draws.pick(places) if places else None


def alter(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A leader proposes other ISRs; seldom with a wrong epoch, a member twice, or by a broker that does not lead."""
    place = _place(world, draws)
    if place is None:
        return None
    p, controller = place.partition, world.controller
    sender = draws.pick(brokers.ids) if p.leader < 0 or draws.percent(5) else int(p.leader)
    proposals = [_proposal(world, place, sender, brokers, draws)]
    if draws.percent(50 if world.wide else 12):
        led = [other for other in controller.places() if other.partition.leader == sender]
        led.sort(key=lambda other: other.topic_id != place.topic_id)  # those of one topic are rows of it
        proposals += [_proposal(world, other, sender, brokers, draws)
                      for other in led[: 24 if world.wide else 1] if other != place]  # fmt: skip
    known = controller.registration(sender)
    epoch = -1 if known is None else known.epoch - draws.percent(4)  # seldom that before a restart
    request = AlterPartitionRequest(sender, epoch, tuple(proposals))
    decide = _decided(
        lambda known, rules: alter_partition(known, request, rules), lambda of: ",".join(map(_altered, of))
    )
    rows = ";".join(_proposal_text(world, one) for one in proposals)
    return Request(f"alter {sender} {request.broker_epoch} {rows}", decide)


def _proposal(world: ModelController, place: Place, sender: int, brokers: Brokers, draws: Draws) -> Proposal:
    p = place.partition
    isr, joining = list(ids(p.isr)), [broker for broker in ids(p.replicas) if not p.isr.has(broker)]
    if world.wide:
        joining = [broker for broker in joining if world.controller.is_active(broker)]
    if joining and not draws.percent(10 if world.wide else 40):
        isr += draws.some(joining, len(joining) if world.wide else 1 + draws.below(3))
    elif len(isr) > 1:
        isr.remove(draws.pick([broker for broker in isr if broker != sender] or isr))
    odd = draws.below(100)
    more = isr[:1] if odd == 98 else [draws.pick(brokers.ids)] if odd > 94 else []
    isr = [] if odd == 99 else [*isr, *more]
    wrong = (draws.below(5), draws.below(5)) if draws.percent(6) else (1, 1)
    recovering = bool(p.recovering) and draws.percent(30)
    known = [(broker, -1 if (one := world.controller.registration(broker)) is None else one.epoch) for broker in isr]
    topic_id, index = _misnamed(place.topic_id, place.index, UNKNOWN, draws)
    odd, less = draws.below(12 * len(isr) + 1) - 1, draws.below(3)  # who has restarted since, or states no epoch
    members = tuple((id_, epoch if n != odd else epoch - less if less else -1) for n, (id_, epoch) in enumerate(known))
    return Proposal(
        topic_id, index, int(p.leader_epoch) + wrong[0] - 1, int(p.partition_epoch) + wrong[1] - 1, members, recovering
    )


def _misnamed(topic: str, index: int, other: str, draws: Draws) -> tuple[str, int]:
    """Topic and index of a partition; seldom of one that there is not, or of another topic."""
    odd = draws.below(100)
    return other if odd > 97 else topic, index + (10 if odd in (96, 97) else 0)


def _proposal_text(world: ModelController, one: Proposal) -> str:
    epochs = f"{one.leader_epoch}/{one.partition_epoch}/{int(one.recovering)}"
    members = ",".join(f"{broker}:{epoch}" for broker, epoch in one.new_isr) or "-"
    return f"{_number(world, one.topic)}/{one.partition}/{epochs}/{members}"


def _number(world: ModelController, topic_id: str) -> int:
    return world.topics.get(topic_id, NOT_CREATED)


def _altered(row: Altered) -> str:
    """What a leader is told: the error, and of what was accepted the partition as it is then."""
    p = row.state
    if p is None:
        return row.error
    fields = (p.leader, p.leader_epoch, "+".join(map(str, ids(p.isr))), int(p.recovering), p.partition_epoch)
    return "=".join((row.error, *map(str, fields)))


def reassigned(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """One or two partitions are reassigned, to other replicas or another order, or a reassignment is cancelled."""
    places = list(world.controller.places())
    if not places:
        return None
    fixed = world.forbids and world.rules.controller.factor_change_can_be_forbidden and draws.percent(20)
    rows = tuple(_wanted(world, draws.pick(places), brokers, draws) for _ in range(1 + draws.percent(20)))
    if (moved := [place for place in places if _is_moved(place.partition)]) and draws.percent(70):
        rows = (Reassignment(world.controller.topic(moved[0].topic_id).name, moved[0].index, None),)
    decide = _decided(lambda known, rules: reassign(known, rows, rules, factor_may_change=not fixed), _errors)
    return Request(f"reassign {';'.join(map(_row_text, rows))} {'same-factor' if fixed else '-'}", decide)


def _is_moved(p: Partition) -> bool:
    """Whether only replicas that a reassignment adds are in sync: to cancel it may cost what they have."""
    return bool(ids(p.isr)) and set(ids(p.isr)) <= set(ids(p.adding))


def _wanted(world: ModelController, place: Place, brokers: Brokers, draws: Draws) -> Reassignment:
    p, name = place.partition, world.controller.topic(place.topic_id).name
    old, odd = ids(p.replicas), draws.below(100)
    if odd > 94:
        faulty = ((), (*old, old[0]), (*old[1:], -1), old, old)
        place_of = (name, place.index) if odd < 98 else (name, place.index + 10) if odd == 98 else ("absent", 0)
        return Reassignment(*place_of, faulty[odd - 95])
    if draws.percent(20):
        return Reassignment(name, place.index, None)
    if draws.percent(50):
        return Reassignment(name, place.index, draws.some(brokers.ids, len([b for b in old if not p.adding.has(b)])))
    return Reassignment(name, place.index, draws.some(old if draws.percent(40) else brokers.ids, _factor(world, draws)))


def _row_text(row: Reassignment) -> str:
    replicas = "cancel" if row.replicas is None else _joined(row.replicas)
    return f"{row.topic}/{row.partition}/{replicas}"


def elect(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """Elections are asked for, in one partition, often one that its first replica does not lead, or in all."""
    places = list(world.controller.places())
    elsewhere = [place for place in places if place.partition.leader != ids(place.partition.replicas)[0]]
    place = draws.pick(elsewhere) if elsewhere and not draws.percent(20) else _place(world, draws)
    kind = draws.below(2)
    if place is None:
        return None
    name = world.controller.topic(place.topic_id).name
    listed: tuple[tuple[str, int], ...] | None
    listed = None if draws.percent(25) else (_misnamed(name, place.index, "absent", draws),)
    if listed is not None and draws.percent(20):
        other = draws.pick(places)
        listed = tuple(dict.fromkeys((*listed, (world.controller.topic(other.topic_id).name, other.index))))
    decide = _decided(
        lambda known, rules: elect_leaders(known, kind, listed, rules),
        lambda rows: ",".join(sorted(f"{row.topic}/{row.partition}={row.error}" for row in rows)),
    )
    rows = "all" if listed is None else ";".join(f"{name}/{index}" for name, index in listed)
    return Request(f"elect {kind} {rows}", decide)


def list_ongoing(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The running reassignments are listed, of all topics or of one."""
    place = _place(world, draws)
    every = place is None or draws.percent(60)
    asked = None if every or place is None else {world.controller.topic(place.topic_id).name: (place.index,)}

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        rows = (
            f"{one.topic}/{one.partition}={'/'.join('+'.join(map(str, row)) for row in (one.removing, one.adding))}"
            f"/{'+'.join(map(str, one.replicas))}"
            for one in ongoing(controller, asked)
        )
        return Outcome((), None, controller.soft), ",".join(sorted(rows))

    shown = "all" if asked is None else ";".join(f"{name}/{index}" for name, (index,) in asked.items())
    return Request(f"list {shown}", decide)


def balance(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The balance timer, until there is no more to do."""
    return Request("balance", _decided(balance_leaders, _due), repeats=True)


def unclean(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """The timer of unclean elections, until there is no more to do."""
    return Request("unclean", _decided(elect_unclean, _due), repeats=True)


def assign(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A broker assigns a replica to one of its directories, or seldom to another's, or a replica of another."""
    place = _place(world, draws)
    if place is None:
        return None
    broker = draws.pick(brokers.ids if draws.percent(5) else ids(place.partition.replicas))
    known = world.controller.registration(broker)
    epoch = (0 if known is None else known.epoch) - (1 if draws.percent(3) else 0)
    own = brokers.directories_of(broker if broker in brokers.ids and not draws.percent(4) else draws.pick(brokers.ids))
    rows = [(draws.pick(own), *_misnamed(place.topic_id, place.index, UNKNOWN, draws))]
    if draws.percent(15):
        held = [other for other in world.controller.places() if broker in ids(other.partition.replicas)]
        held.sort(key=lambda other: other.topic_id == place.topic_id)
        rows += [(draws.pick(own), one.topic_id, one.index) for one in held[-1:] if one != place]
    wanted = tuple(Assignment(*row) for row in rows)
    decide = _decided(lambda known, rules: assign_replicas_to_dirs(known, broker, epoch, wanted, rules), _errors)
    shown = ";".join(f"{directory}/{_number(world, topic)}/{index}" for directory, topic, index in rows)
    return Request(f"assign {broker} {epoch} {shown}", decide)


FEATURE = "feature eligible.leader.replicas.version"  # the text of the record that switches ELR, without the level


def switch_elr(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """ELR is switched on or off, as an upgrade or a safe downgrade, where the release has it; seldom to what it is."""
    features = world.controller.features
    if not features.elr_supported:
        return None
    on = features.elr_enabled if draws.percent(10) else not features.elr_enabled

    def decide(controller: Controller, rules: RuleSet) -> Decided:
        records = elr_safety(controller, DEFAULTS[MIN_ISR]) if on else ()
        return Outcome(records, None, controller.soft, atomic=True), "NONE"

    def switched(controller: Controller) -> Controller:
        image = evolve(controller.image, next_offset=controller.image.next_offset + 1)
        off = controller.features.elr_switched_off or (controller.features.elr_enabled and not on)
        features = evolve(controller.features, elr_enabled=on, elr_switched_off=off and not on)
        return evolve(controller, image=image, features=features)

    return Request(f"elr {'on' if on else 'off'}", decide, after=(f"{FEATURE} {int(on)}", switched))


NAMES = ("foo", "bar", "a.b")


def create(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A topic is created: placed by the controller, or by hand."""
    name, partitions, factor = draws.pick(NAMES), 1 + draws.below(3), _factor(world, draws)
    partitions = 24 if world.wide and partitions == 3 else partitions
    key = draws.pick((MIN_ISR, MIN_ISR, UNCLEAN_ELECTION, ""))
    value = ("true" if draws.percent(70) else "false") if key == UNCLEAN_ELECTION else str(2 + draws.below(2))
    configs = {key: value} if key else {}
    lists: tuple[Ids, ...] = ()
    if draws.percent(60):
        lists = tuple(_replicas(world, brokers, draws, factor) for _ in range(partitions))
        partitions, factor = -1, -1
    elif draws.percent(15):
        most = MOST_PARTITIONS + 1 if world.limits[0] else 0
        partitions, factor = draws.pick(((most, 1), (0, 1), (1, 0), (-1, 2), (2, -1)))
    first, apart = draws.pick(((0, 0), (1, 1))) if draws.percent(10) else (0, 1)
    topic = NewTopic(name, partitions, factor, tuple((first + i * apart, one) for i, one in enumerate(lists)), configs)
    decide = _decided(lambda known, rules: create_topics(known, CreateTopicsRequest((topic,)), rules), _errors)
    shown = ",".join(f"{key}={value}" for key, value in configs.items()) or "-"
    return Request(f"create {name} {partitions} {factor} {_rows(lists)} {shown} {first} {apart}", decide)


def delete(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A topic is deleted, by its id."""
    if not world.topics or (world.wide and not draws.percent(10)):
        return None
    topic_id = UNKNOWN if draws.percent(10) else draws.pick(list(world.topics))
    decide = _decided(lambda known, _: delete_topics(known, (topic_id,)), lambda rows: rows[0][1])
    return Request(f"delete {_number(world, topic_id)}", decide)


def grow(world: ModelController, brokers: Brokers, draws: Draws) -> Request:
    """A topic gets more partitions, or seldom as many as it has, fewer, or lists of replicas for more or fewer."""
    present_names = [topic.name for topic in world.controller.image.topics.values()]
    name = draws.pick(NAMES if draws.percent(10) or not present_names else present_names)
    topic = next((one for one in world.controller.image.topics.values() if one.name == name), None)
    present = 0 if topic is None else len(topic.partitions)
    added = 1 + draws.below(2) if draws.percent(90) else -draws.below(2)
    lists: tuple[Ids, ...] | None = None
    if draws.percent(50):
        count = max(added + draws.pick((*(0,) * 8, 1, -1)), 1)
        own = 0 if topic is None or draws.percent(30) else int(topic.first_partition().replicas.size())
        lists = tuple(_replicas(world, brokers, draws, own or _factor(world, draws)) for _ in range(count))
    elif draws.percent(4) and world.limits[1]:
        added = MOST_PARTITIONS + 1
    growth = Growth(name, present + added, lists)
    decide = _decided(lambda known, rules: create_partitions(known, (growth,), rules), _errors)
    return Request(f"grow {name} {present + added} {_rows(lists or ())}", decide)


def configure(world: ModelController, brokers: Brokers, draws: Draws) -> Request | None:
    """A configuration is set or removed: of a topic that exists, of a registered broker, of the cluster.

    Where a topic has no leader somewhere, it is often allowed to elect uncleanly: the timer has its work then. Where it
    is in sync on added replicas alone, that is often forbidden: the reassignment must not be cancelled then.
    """
    controller = world.controller
    leaderless = [place.topic_id for place in controller.places() if place.partition.leader < 0]
    if leaderless and draws.percent(50):
        return _configured(ConfigRecord(TOPIC, controller.topic(leaderless[0]).name, UNCLEAN_ELECTION, "true"))
    moved = [place.topic_id for place in controller.places() if _is_moved(place.partition)]
    if moved and draws.percent(70):
        return _configured(ConfigRecord(TOPIC, controller.topic(moved[0]).name, UNCLEAN_ELECTION, "false"))
    scope = draws.pick((TOPIC, TOPIC, TOPIC, CLUSTER, NODE))
    names = {
        TOPIC: [topic.name for topic in controller.image.topics.values()],
        NODE: sorted(str(broker) for broker in controller.image.registrations),
        CLUSTER: [""],
    }[scope]
    if not names:
        return None
    name = draws.pick(names)
    key = MIN_ISR if draws.percent(75) else UNCLEAN_ELECTION
    value = str(1 + draws.below(4)) if key == MIN_ISR else ("true" if draws.percent(60) else "false")
    return _configured(ConfigRecord(scope, name, key, None if draws.percent(15) else value))


def _configured(record: ConfigRecord) -> Request:
    def decide(controller: Controller, rules: RuleSet) -> Decided:
        try:
            return alter_config(controller, record, rules), "NONE"
        except RequestError as refusal:
            return Outcome((), None, controller.soft), refusal.error

    value = "-" if record.value is None else record.value
    return Request(f"config {record.scope} {record.name or '-'} {record.key} {value}", decide)


def _replicas(world: ModelController, brokers: Brokers, draws: Draws, factor: int) -> Ids:
    """A list of brokers that are registered, or seldom of any, or with one twice, or of none."""
    registered = tuple(broker for broker in brokers.ids if world.controller.registration(broker) is not None)
    odd = draws.below(100)
    if odd > 97:
        return () if odd == 99 else (brokers.ids[0], brokers.ids[0])
    return draws.some(brokers.ids if draws.percent(5) or not registered else registered, factor)


def _factor(world: ModelController, draws: Draws) -> int:
    return (4 if world.wide else 1) + draws.below(4)


def _rows(lists: tuple[Ids, ...]) -> str:
    return ";".join(",".join(map(str, replicas)) or "none" for replicas in lists) or "-"
