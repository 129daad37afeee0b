"""The controller as a state machine: nine brokers of four directories, several topics and partitions.

Requests are legal, at the edge, or wrong; every reply's error codes are counted.
After each event the candidate invariants must hold, and the log must replay.
"""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    HeartbeatRequest,
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    heartbeat,
    register_broker,
    taken_over,
    unclean_shutdown,
    unregister,
)
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import CODES, NONE, RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    reassign,
)
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, UNCLEAN_ELECTION, ConfigRecord, Controller, Outcome, Place
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.records.records import Feature
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.hypothesis.tally import Tally
from tests.model.controller.controller_invariants import Event, broken, noted_bases
from tests.model.controller.controllers import FIXED, cluster, directory, with_topic

SIZE, DIRECTORIES = 9, 4
BROKERS = st.integers(0, SIZE)  # the last is unknown
NAMES = st.sampled_from(["foo", "bar", "baz", "a.b", "a_b", "", "no such"])
PICKS = st.integers(0, 999)
REPLICAS = st.lists(BROKERS, max_size=5).map(tuple)
LEGAL = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=4, unique=True).map(tuple)
CHANCE = st.integers(0, 7).map(lambda drawn: drawn == 7)

GOALS = ("leaderless", "recovering", "elr", "empty isr", "reassigning", "offline directory", "three topics")


def reached(controller: Controller) -> list[str]:
    """Which goals a state shows."""
    partitions = [place.partition for place in controller.places()]
    known = controller.image.registrations.values()
    shown = {
        "leaderless": any(p.leader == NO_LEADER for p in partitions),
        "recovering": any(p.recovering for p in partitions),
        "elr": any(not p.elr.is_empty() for p in partitions),
        "empty isr": any(p.isr.is_empty() for p in partitions),
        "reassigning": any(p.reassigning() for p in partitions),
        "offline directory": any(0 < len(broker.dirs) < DIRECTORIES for broker in known),
        "three topics": len(controller.image.topics) >= 3,
    }
    return [name for name, holds in shown.items() if holds]


class InvariantBroken(AssertionError):
    """An event that breaks invariants.

    Attributes:
        step: the event.
        numbers: of the invariants.
    """

    def __init__(self, step: tuple[Any, ...], numbers: set[int | str]) -> None:
        super().__init__(f"{step} breaks {sorted(map(str, numbers))}")
        self.step, self.numbers = step, numbers


def attempt(handler: Any, *arguments: Any) -> Outcome[Any] | str:
    """What a request decides, or the error that refuses it."""
    try:
        decided: Outcome[Any] = handler(*arguments)
    except (RequestError, Resignation) as refusal:
        return refusal.error
    return decided


class ControllerMachine(RuleBasedStateMachine):
    """One example: requests to one controller, in any order."""

    rules_of_kafka: ClassVar[RuleSet] = FIXED
    tally: ClassVar[Tally]

    def __init__(self) -> None:
        super().__init__()
        self.controller = cluster(0)

    @initialize(elr=st.booleans(), fenced=st.sets(st.integers(0, SIZE - 1), max_size=3))
    def begin(self, elr: bool, fenced: set[int]) -> None:
        """Nine brokers of which some are fenced, a topic that may lose data, one with min ISR 2."""
        controller = cluster(0, elr_enabled=elr)
        controller = evolve(controller, image=evolve(controller.image, next_offset=1000))
        for broker in range(SIZE):
            dirs = tuple(directory(broker, number) for number in range(DIRECTORIES))
            request = RegistrationRequest("cluster", broker, f"process-{broker}", dirs=dirs)
            controller = self.played(controller, register_broker, request, RegistrationContext())
        for broker in set(range(SIZE)) - fenced:
            wish = Wish(False, False, controller.image.next_offset)
            epoch = controller.registration(broker).epoch
            controller = self.played(controller, heartbeat, HeartbeatRequest(broker, epoch, wish, ()))
        live = [broker for broker in range(SIZE) if broker not in fenced]
        controller = with_topic(controller, "foo", tuple(live[:3]), tuple(live[1:4]), min_insync_replicas="2")
        self.controller = with_topic(controller, "baz", tuple(live[2:4]), unclean_leader_election_enable="true")
        self.tally.examples += 1

    def played(self, controller: Controller, handler: Any, *arguments: Any) -> Controller:
        """The controller after a request that must succeed."""
        return commit(controller, handler(controller, *arguments, self.rules_of_kafka), self.rules_of_kafka)

    def ask(self, step: tuple[Any, ...], handler: Any, *arguments: Any) -> None:
        """One event: decided, judged, replayed; a refusal must leave the state as it was."""
        before = self.controller
        image = repr(before)
        self.tally.add_action(str(step[0]))
        with noted_bases() as bases:
            outcome = attempt(handler, before, *arguments)
        assert repr(before) == image
        if isinstance(outcome, str):
            self.tally.add_error(outcome)
            return
        for row in outcome.response if isinstance(outcome.response, tuple) else ():
            self.tally.add_error(row[1] if isinstance(row, tuple) else row.error)
        assert {name for kind, name in self.tally.counts if kind == "error"} <= CODES.keys()
        after = commit(before, outcome, self.rules_of_kafka)
        assert repr(before) == image
        elr = before.features.elr_enabled
        found = broken(Event(before, step, outcome, after, self.rules_of_kafka, elr, tuple(bases)))
        if found:
            raise InvariantBroken(step, found)
        self.tally.add_goals(reached(after))
        self.controller = evolve(after, soft=after.soft.after(4000))

    def epoch(self, broker: int, stale: bool = False) -> int:
        """A broker's epoch, or a wrong one."""
        known = self.controller.registration(broker)
        return -7 if known is None or stale else known.epoch

    def place(self, pick: int) -> tuple[str, int, Place | None]:
        """A partition: mostly one that exists, by its topic's name and its index."""
        places = list(self.controller.places())
        if pick % 10 == 9 or not places:
            return "foo", 99, None
        place = places[pick // 10 % len(places)]
        return self.controller.topic(place.topic_id).name, place.index, place

    @rule(broker=BROKERS, fence=CHANCE, shutdown=CHANCE, stale=CHANCE, failed=st.none() | st.integers(0, DIRECTORIES))
    def heartbeat(self, broker: int, fence: bool, shutdown: bool, stale: bool, failed: int | None) -> None:
        """A heartbeat, caught up; a broker keeps its last directory, for without one it would halt."""
        known = self.controller.registration(broker)
        lost = () if failed is None else (directory(broker, failed),)
        if known is not None and set(known.dirs) <= set(lost):
            lost = ()
        wish = Wish(fence, shutdown, self.controller.image.next_offset)
        request = HeartbeatRequest(broker, self.epoch(broker, stale), wish, lost)
        self.ask(("heartbeat", broker, fence, shutdown, lost), heartbeat, request, self.rules_of_kafka)

    @rule(broker=BROKERS, how=st.sampled_from(["expire", "unclean", "unregister"]))
    def lose(self, broker: int, how: str) -> None:
        """A session expires, a broker stops uncleanly, an administrator removes one."""
        handler = {"expire": expire_session, "unclean": unclean_shutdown, "unregister": unregister}[how]
        self.ask((how, broker), handler, broker, self.rules_of_kafka)

    @rule(
        broker=BROKERS, how=st.sampled_from(["again", "clean", "unclean"]), dirs=st.integers(1, 15),
        fault=st.sampled_from(["", "", "", "cluster", "reserved", "owned", "zookeeper", "feature"]),
    )  # fmt: skip
    def register(self, broker: int, how: str, dirs: int, fault: str) -> None:
        """A registration, with one fault or none."""
        known = self.controller.registration(broker)
        same = how == "again" and known is not None
        placed = tuple(directory(broker, number) for number in range(DIRECTORIES) if dirs >> number & 1)
        placed = {"reserved": (1,), "owned": (directory((broker + 1) % SIZE),)}.get(fault, placed)
        request = RegistrationRequest(
            "other" if fault == "cluster" else "cluster", broker,
            known.incarnation if same and known is not None else f"at-{self.controller.image.next_offset}",
            dirs=placed, is_migrating_zk_broker=fault == "zookeeper",
            features=(Feature("metadata.version", 1, 2),) if fault == "feature" else (),
            previous_epoch=self.epoch(broker) if how == "clean" else None,
        )  # fmt: skip
        context = RegistrationContext({"metadata.version": 9} if fault == "feature" else {})
        self.ask(("register", broker, how), register_broker, request, context, self.rules_of_kafka)

    @rule(
        name=NAMES, lists=st.none() | st.lists(REPLICAS, min_size=1, max_size=3), factor=st.integers(-1, 10),
        number=st.integers(-1, 4), config=st.sampled_from([None, "1", "2", "many"]), quota=CHANCE, policy=CHANCE,
    )  # fmt: skip
    def create(
        self, name: str, lists: list[tuple[int, ...]] | None, factor: int, number: int, config: str | None,
        quota: bool, policy: bool,
    ) -> None:  # fmt: skip
        """A topic, placed by the caller or by the controller."""
        placed = {"assignments": tuple(enumerate(lists))} if lists else {"partitions": number}
        numbers = {} if lists else {"replication_factor": factor}
        topic = NewTopic(name, **placed, **numbers, config={} if config is None else {MIN_ISR: config})
        answer = "POLICY_VIOLATION" if policy else "NONE"
        request = CreateTopicsRequest((topic,), quota_exceeded=quota, policy=lambda _: answer)
        self.ask(("create", name), create_topics, request, self.rules_of_kafka)

    @rule(name=NAMES, count=st.integers(0, 6), lists=st.none() | st.lists(REPLICAS, max_size=2), quota=CHANCE)
    def grow(self, name: str, count: int, lists: list[tuple[int, ...]] | None, quota: bool) -> None:
        """More partitions."""
        growth = Growth(name, count, None if lists is None else tuple(lists))
        self.ask(("grow", name), create_partitions, (growth,), self.rules_of_kafka, quota)

    @rule(name=NAMES, quota=CHANCE)
    def delete(self, name: str, quota: bool) -> None:
        """A topic goes."""
        self.ask(("delete", name), delete_topics, (self.controller.topic_id(name) or "none",), quota)

    @rule(pick=PICKS, goal=st.none() | REPLICAS)
    def reassign(self, pick: int, goal: tuple[int, ...] | None) -> None:
        """A reassignment, or its cancellation."""
        name, index, _ = self.place(pick)
        wanted = (Reassignment(name, index, goal),)
        self.ask(("reassign", (name, index), goal), reassign, wanted, self.rules_of_kafka)

    def running(self, pick: int) -> tuple[str, int, Place | None]:
        """A partition that is being reassigned, if one is; else any."""
        running = [place for place in self.controller.places() if place.partition.reassigning()]
        if not running:
            return self.place(pick)
        chosen = running[pick % len(running)]
        return self.controller.topic(chosen.topic_id).name, chosen.index, chosen

    @rule(pick=PICKS, goal=st.none() | LEGAL)
    def reassign_again(self, pick: int, goal: tuple[int, ...] | None) -> None:
        """Another target for a reassignment that runs, or its cancellation."""
        name, index, _ = self.running(pick)
        wanted = (Reassignment(name, index, goal),)
        self.ask(("reassign", (name, index), goal), reassign, wanted, self.rules_of_kafka)

    @rule(pick=PICKS)
    def catch_up(self, pick: int) -> None:
        """The leader proposes every replica that may be in the ISR, which completes a reassignment."""
        name, index, place = self.running(pick)
        if place is None:
            return
        p, leader = place.partition, int(place.partition.leader)
        alive = [broker for broker in p.replicas if self.epoch(broker) != -7]
        members = tuple((broker, self.epoch(broker)) for broker in alive)
        proposal = Proposal(place.topic_id, index, int(p.leader_epoch), int(p.partition_epoch), members, False)
        request = AlterPartitionRequest(leader, self.epoch(leader), (proposal,), 3)
        self.ask(("alter", (name, index), tuple(alive), False), alter_partition, request, self.rules_of_kafka)

    @rule(
        pick=PICKS, joins=BROKERS, leaves=BROKERS, recovering=CHANCE, version=st.integers(1, 3),
        behind=st.integers(-1, 1) | st.just(0), stale=st.integers(-1, 1) | st.just(0), other=CHANCE,
    )  # fmt: skip
    def alter(
        self, pick: int, joins: int, leaves: int, recovering: bool, version: int, behind: int, stale: int, other: bool
    ) -> None:
        """A proposal of a partition's leader: one member joins, one leaves; or with wrong epochs."""
        name, index, place = self.place(pick)
        topic_id = self.controller.topic_id(name) or "none"
        isr, leader, epochs = (joins,), 0, (0, 0)
        if place is not None:
            p = place.partition
            isr = tuple(dict.fromkeys([*(b for b in p.isr if b != leaves), joins]))
            leader, epochs = int(p.leader), (int(p.leader_epoch), int(p.partition_epoch))
        sender = joins if other else leader
        members = tuple((broker, self.epoch(broker) if pick % 2 else -1) for broker in isr)
        proposal = Proposal(
            topic_id if version > 1 else name, index, epochs[0] + behind, epochs[1] + stale, members, recovering
        )
        request = AlterPartitionRequest(sender, self.epoch(sender), (proposal,), version)
        self.ask(("alter", (name, index), isr, recovering), alter_partition, request, self.rules_of_kafka)

    @rule(broker=BROKERS, pick=PICKS, number=st.integers(0, DIRECTORIES), stale=CHANCE, unknown=CHANCE)
    def assign(self, broker: int, pick: int, number: int, stale: bool, unknown: bool) -> None:
        """A replica is in a directory of its broker, or in none that is online."""
        name, index, place = self.place(pick)
        if place is not None and pick % 3:
            broker = list(place.partition.replicas)[pick % place.partition.replicas.size()]
        topic_id = "none" if unknown else self.controller.topic_id(name) or "none"
        wanted = (Assignment(directory(broker, number), topic_id, index),)
        step = ("assign", broker, (name, index), number)
        self.ask(step, assign_replicas_to_dirs, broker, self.epoch(broker, stale), wanted, self.rules_of_kafka)

    @rule(kind=st.integers(0, 3), pick=st.none() | PICKS)
    def elect(self, kind: int, pick: int | None) -> None:
        """Elections in all partitions, or in one; one kind there is not."""
        where = None if pick is None else (self.place(pick)[:2],)
        self.ask(("elect", kind), elect_leaders, kind, where, self.rules_of_kafka)

    @rule(how=st.sampled_from(["balance", "sweep", "failover"]))
    def tick(self, how: str) -> None:
        """A timer, or another controller that takes over."""
        if how == "failover":
            soft = taken_over(self.controller, self.rules_of_kafka.controller).soft
            self.ask((how,), lambda controller: Outcome((), None, soft))
            return
        handler = balance_leaders if how == "balance" else elect_unclean
        self.ask((how,), handler, self.rules_of_kafka)

    @rule(name=NAMES, key=st.sampled_from([MIN_ISR, UNCLEAN_ELECTION]), value=st.sampled_from(["1", "2", "3", "true"]))
    def configure(self, name: str, key: str, value: str) -> None:
        """A topic's configuration, or a value that its key does not take."""
        wanted = ConfigRecord(TOPIC, name, key, value)
        self.ask(("minimum", name, key), alter_config, wanted, self.rules_of_kafka)


UNREACHED = ("UNKNOWN_SERVER_ERROR",)
"""Codes that a mended controller does not answer with: it meets no exception of its own."""

def demanded() -> Tally:
    """What the examples of a run must show: every kind of event, every error code, every goal."""
    kinds = (
        "heartbeat", "expire", "unclean", "unregister", "register", "create", "grow", "delete", "reassign", "alter",
        "assign", "elect", "balance", "sweep", "failover", "minimum",
    )  # fmt: skip
    errors = tuple(code for code in CODES if code not in (*UNREACHED, NONE))
    return Tally(actions=kinds, errors=errors, goals=GOALS)


def machine(rules: RuleSet, tally: Tally, name: str = "controller") -> type[ControllerMachine]:
    """The machine under a rule set."""
    return type(name, (ControllerMachine,), {"rules_of_kafka": rules, "tally": tally, "__module__": __name__})
