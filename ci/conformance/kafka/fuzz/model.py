"""The controller on ints as one side of the fuzz: it answers requests as texts, and goes on after a resignation."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, evolve, field, fields, frozen

from kraftcheck.model.controller import state
from kraftcheck.model.controller.brokers import taken_over
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.partitions import imbalanced, leaderless
from kraftcheck.model.partition.registration import DirectoryMismatch, Partition, PartitionChange
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    partition_record,
)
from kraftcheck.model.records.replay import ClusterImage, ReplayError
from kraftcheck.model.rules.ruleset import RuleSet, parse

TopicNumbers = Mapping[str, int]  # the number of each topic id: topics count up as they are created


def record_text(record: state.LogRecord, topics: TopicNumbers) -> str:
    """The text of a record; raises TypeError for a kind of record that no request writes."""
    match record:
        case PartitionChangeRecord():
            return _change(record, topics)
        case PartitionRecord():
            return f"partition {_partition(record, topics)}"
        case BrokerRegistrationChangeRecord():
            flags = f"{record.fenced} {record.in_controlled_shutdown}"
            dirs = f"{_ids(record.log_dirs or ())} {_or_null(record.cordoned)}"
            return f"broker {record.broker_id} {record.broker_epoch} {flags} {dirs}"
        case RegisterBrokerRecord():
            flags = f"{_flag(record.fenced)} {_flag(record.in_controlled_shutdown)}"
            name = f"{record.broker_id} {record.broker_epoch} {record.incarnation}"
            dirs = f"{_ids(record.log_dirs)} {record.rack or 'null'} {_or_null(record.cordoned)}"
            return f"register {name} {flags} {dirs}"
        case UnregisterBrokerRecord():
            return f"unregister {record.broker_id} {record.broker_epoch}"
        case TopicRecord():
            return f"topic {record.name} {topics[record.topic_id]}"
        case RemoveTopicRecord():
            return f"remove {topics[record.topic_id]}"
        case state.ConfigRecord():
            value = "null" if record.value is None else record.value
            return f"config {record.scope} {record.name} {record.key} {value}"
        case state.ClearElrRecord():
            return f"clear-elr {record.topic}"
    raise TypeError(f"{record!r} has no text")


def answer_text(reply: str, records: Iterable[str]) -> str:
    """The text of an answer with records, in the one order of all that differ only between partitions, or nodes.

    The managers visit partitions in the order of hashes of topic ids, which are random, and nodes whose min ISR is
    removed in that of a set whose size depends on its past.
    """
    return "|".join((f"ok {reply}", *in_order(list(records))))


def in_order(records: list[str]) -> list[str]:
    """Records, those of each run of changes by partition, or of configurations of nodes by node; else as they are."""
    ordered: list[str] = []
    for kind, run in itertools.groupby(records, key=_visited):
        members = list(run)
        ordered += members if kind is None else sorted(members, key=kind)
    return ordered


def _visited(record: str) -> Callable[[str], str] | None:
    """What orders a record among those beside it that Kafka writes in the order of its own maps."""
    if record.startswith("change "):
        return _partition_name
    return _node_name if record.startswith("config node ") else None


def _partition_name(record: str) -> str:
    return record.split(" ", 2)[1]


def _node_name(record: str) -> str:
    return record.split(" ", 3)[2]


def image_text(controller: state.Controller, topics: TopicNumbers) -> str:
    """Every partition in the order of topics and indexes; whether some have no leader, or not their first replica."""
    known = sorted((topics[place.topic_id], place.index, place.partition) for place in controller.places())
    due = f"{_flag(bool(leaderless(controller)))} {_flag(bool(imbalanced(controller)))};"
    return due + "".join(f"{topic}-{index} {_state(p)};" for topic, index, p in known)


def _state(p: Partition) -> str:
    lists = ("replicas", "isr", "removing", "adding", "elr", "last_known_elr")
    members = " ".join(f"{name}={_ids(getattr(p, name))}" for name in lists)
    directories = partition_record(p, "", 0).directories or ()
    epochs = f"epochs={p.leader_epoch},{p.partition_epoch}"
    return f"{members} leader={p.leader} recovering={int(p.recovering)} {epochs} directories={_ids(directories)}"


def _partition(record: PartitionRecord, topics: TopicNumbers) -> str:
    lists = ("replicas", "isr", "removing", "adding")
    members = " ".join(f"{name}={_ids(getattr(record, name))}" for name in lists)
    epochs = f"epochs={record.leader_epoch},{record.partition_epoch} directories={_ids(record.directories or ())}"
    elr = f"elr={_ids(record.elr or ())} last_known_elr={_ids(record.last_known_elr or ())}"
    head = f"{topics[record.topic_id]}-{record.partition_id} {members} leader={record.leader}"
    return f"{head} recovering={int(record.recovering)} {epochs} {elr}"


def _change(record: PartitionChangeRecord, topics: TopicNumbers) -> str:
    present = {
        field.name: getattr(record.change, field.name).value
        for field in fields(PartitionChange)
        if getattr(record.change, field.name).present
    }
    texts = [f"{name}={_value(present[name])}" for name in sorted(present)]
    return " ".join((f"change {topics[record.topic_id]}-{record.partition_id}", *texts))


def _value(value: object) -> str:
    if isinstance(value, int):
        return str(int(value))
    return _ids(getattr(value, "ids", ()))


def _ids(members: Iterable[int]) -> str:
    return ",".join(map(str, members))


def _or_null(members: Iterable[int] | None) -> str:
    return "null" if members is None else _ids(members)


def _flag(value: bool) -> str:
    return "true" if value else "false"


CLUSTER_ID = "cluster"  # the cluster id of both sides
CORDONING = "4.3"  # the first release whose metadata has cordoned directories
FEW, MANY = 2, 1000  # the most elections of a timer before it is due again

RESIGNED, HALTED = "resign", "halt"
"""Answers of a controller that another one replaces, and of a log that no controller can replay."""

Decided = tuple[state.Outcome[Any], str]  # what a request decides, and its reply as text

Decide = Callable[[state.Controller, RuleSet], Decided]


@frozen
class Request:
    """One request, or one event of the controller."""

    line: str  # its text, as `FuzzDriver.java` reads it
    decide: Decide | None = None  # what the model decides; None for what only changes the controller itself
    changed: Callable[[state.Controller, RuleSet], state.Controller] | None = (
        None  # the controller after an event without records
    )
    # the controller once the request is there, before anything of it is checked
    arrived: Callable[[state.Controller, RuleSet], state.Controller] = lambda controller, _: controller
    # the text of a last record that switches a feature, and the controller once it is replayed
    after: tuple[str, Callable[[state.Controller], state.Controller]] | None = None
    # whether it is a timer that is due again at once where it says so; then its rounds are one answer
    repeats: bool = False

    @property
    def kind(self) -> str:
        """Its kind: the first word."""
        return self.line.partition(" ")[0]


@define
class ModelController:
    """The model's side of a sequence."""

    rules: RuleSet  # the rule set
    controller: state.Controller  # the active controller
    topics: dict[str, int] = field(factory=dict)  # the number of each topic id, in the order of creation
    halted: bool = False  # whether its log cannot be replayed
    forbids: bool = False  # whether a request of the release has the field that forbids another replication factor
    # whether release and rules refuse too many partitions of new topics, and of topics that grow; where they do not,
    # such a request makes them all, and is not drawn
    limits: tuple[bool, bool] = (False, False)
    wide: bool = False  # whether topics have many partitions and replicas, and stay

    @classmethod
    def start(
        cls, version: str, rules: RuleSet, elr: bool, few: bool, wide: bool = False, first: int = 0
    ) -> ModelController:
        """A controller at offset `first`, without topics and brokers; where `few`, a timer elects FEW at a time."""
        late, cordons = not version.startswith("3."), version >= CORDONING
        features = state.Features(elr_supported=late, clear_elr=late, elr_enabled=elr, cordoning=cordons)
        configs = state.Configs(cluster={state.MIN_ISR: state.DEFAULTS[state.MIN_ISR]} if elr else {})
        image = ClusterImage(next_offset=first + (3 if elr else 1))
        settings = state.Settings(CLUSTER_ID, max_elections=FEW if few else MANY)
        controller = state.Controller(image, configs=configs, features=features, settings=settings)
        release, own = parse(f"kafka-{version}").controller, rules.controller
        created = not (release.created_partitions_uncounted or own.created_partitions_uncounted)
        added = not (release.added_partitions_uncounted or own.added_partitions_uncounted)
        return cls(rules, controller, forbids=release.factor_change_can_be_forbidden, limits=(created, added),
                   wide=wide)  # fmt: skip

    def answer(self, request: Request) -> str:
        """The answer to a request; the controller is the one after it."""
        if self.halted:
            return HALTED
        if request.line == "image":
            return answer_text(image_text(self.controller, self.topics), ())
        if request.changed is not None:
            self.controller = request.changed(self.controller, self.rules)
            return answer_text("", ())
        if request.decide is None:
            raise TypeError(f"nobody decides {request.line}")
        if request.repeats:
            return self._repeated(request.decide)
        self.controller = request.arrived(self.controller, self.rules)
        try:
            outcome, reply = request.decide(self.controller, self.rules)
        except RequestError as refusal:
            return f"error {refusal.error}"
        except (Resignation, DirectoryMismatch):
            self.controller = failed_over(self.controller, self.rules)
            return RESIGNED
        texts = self._committed(outcome)
        if texts is None:
            return HALTED
        if request.after is not None:
            text, switched = request.after
            texts.append(text)
            self.controller = switched(self.controller)
        return answer_text(reply, texts)

    def others(self, request: Request) -> tuple[str, ...]:
        """What else the answer to a session check may be, were another session that is over the first of a table."""
        texts, controller = list[str](), self.controller
        while request.kind == "session-check" and request.decide is not None and not self.halted:
            soft = controller.soft
            ended = soft.contacts.first_ended(soft.now, soft.sessions.timeout)
            if ended is None:
                break
            with contextlib.suppress(Resignation):
                outcome, reply = request.decide(controller, self.rules)
                texts.append(answer_text(reply, [record_text(one, self.topics) for one in outcome.records]))
            left = soft.contacts.without(ended.broker, ended.epoch)
            controller = evolve(controller, soft=evolve(soft, contacts=left))
        return tuple(texts[1:])

    def _repeated(self, timer: Decide) -> str:
        """Rounds of a timer until none is due, which hashes order: where one resigns, none of their records counts."""
        before, rounds, texts, is_due = self.controller, 0, list[str](), "due"
        while is_due:
            try:
                outcome, is_due = timer(self.controller, self.rules)
            except (Resignation, DirectoryMismatch):
                self.controller = failed_over(before, self.rules)
                return RESIGNED
            written = self._committed(outcome)
            if written is None:
                return HALTED
            rounds, texts = rounds + 1, texts + written
        return answer_text(str(rounds), texts)

    def _committed(self, outcome: state.Outcome[Any]) -> list[str] | None:
        """The texts of what was decided, once it is replayed; None where no controller can replay it."""
        try:
            self.controller = commit(self.controller, outcome, self.rules)
        except ReplayError:
            self.halted = True
            return None
        for record in outcome.records:
            if isinstance(record, TopicRecord):
                self.topics[record.topic_id] = len(self.topics)
        return [record_text(record, self.topics) for record in outcome.records]


def failed_over(controller: state.Controller, rules: RuleSet) -> state.Controller:
    """Another controller takes over: all that it knows is in the log; both placed replicas by one random stream."""
    return taken_over(controller, rules.controller)
