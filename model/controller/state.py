"""The controller's state, its configurations and records, and the outcome of an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Contacts, Sessions
from kraftcheck.model.controller.placement import RandomStream, UsableBroker
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import rule
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.fields import INT32
from kraftcheck.model.records.records import Record, Registration
from kraftcheck.model.records.replay import ClusterImage, ElrIndex, Topic
from kraftcheck.model.rules.groups import ControllerRules, PartitionRules
from kraftcheck.model.triggers.leadership import Registered
from kraftcheck.model.triggers.table import effective_min_isr

TOPIC, NODE, CLUSTER = "topic", "node", "cluster"


@frozen
class ConfigRecord:
    """A configuration is set, or removed."""

    scope: str  # TOPIC, NODE or CLUSTER
    name: str  # the topic, or the id of the node; empty for the cluster
    key: str
    value: str | None  # None removes it


@frozen
class RegisterControllerRecord:
    """A controller registers."""

    controller: int
    incarnation: str = ""
    supports: int | None = None  # the highest metadata version that it supports; None where the record does not say


@frozen
class UnregisterControllerRecord:
    """A controller's registration goes; metadata version 4.4-IV2 brought it."""

    controller: int


@frozen
class ClearElrRecord:
    """The ELRs and last known leaders of a topic are emptied; an empty name means every topic.

    The partition epoch of each partition that has either rises, as by a change record.
    Source: `ClearElrRecord`, `ReplicationControlManager.replay`, Kafka 4.0 (KAFKA-16540).
    """

    topic: str


LogRecord: TypeAlias = Record | ConfigRecord | RegisterControllerRecord | UnregisterControllerRecord | ClearElrRecord
"""Every record that the controller writes."""


MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"

DEFAULTS = {MIN_ISR: "1", UNCLEAN_ELECTION: "false"}  # what holds where nothing is configured


TOPIC_CONFIGS = frozenset((
    "cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type",
    "compression.zstd.level", "delete.retention.ms", "errors.deadletterqueue.group.enable", "file.delete.delay.ms",
    "flush.messages", "flush.ms", "follower.replication.throttled.replicas", "index.interval.bytes",
    "internal.segment.bytes", "leader.replication.throttled.replicas", "local.retention.bytes",
    "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes", "max.message.bytes",
    "message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type",
    "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
    "remote.copy.lag.bytes", "remote.copy.lag.ms", "remote.log.copy.disable", "remote.log.delete.on.disable",
    "remote.storage.enable", "retention.bytes", "retention.ms", "segment.bytes", "segment.index.bytes",
    "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
))  # fmt: skip
"""What a topic may be configured with in 4.4.0; 4.2.1 and 4.3 have all but four of them. Source: `LogConfig`."""


@frozen
class Configs:
    """Every dynamic configuration."""

    # topics, nodes: key to value, by topic name and by node id
    topics: Mapping[str, Mapping[str, str]] = field(factory=dict)
    nodes: Mapping[str, Mapping[str, str]] = field(factory=dict)
    cluster: Mapping[str, str] = field(factory=dict)  # the default of all nodes

    def of(self, scope: str, name: str) -> Mapping[str, str]:
        """The configurations of one topic, of one node, or of the cluster."""
        if scope == CLUSTER:
            return self.cluster
        return (self.topics if scope == TOPIC else self.nodes).get(name, {})

    @rule("config.resolution-order", source="KafkaConfigSchema.resolveEffectiveTopicConfig; semantics 1",
          says="A configuration resolves from the topic to its node, the cluster, the static value "
               "and the default.")  # fmt: skip
    def resolve(self, topic: str, key: str, node: str, static: Mapping[str, str]) -> str:
        """The value that counts for a topic: its own, its node's, the cluster's, the static one, the default.

        Args:
            topic: name of the topic.
            key: what is asked for.
            node: the active controller's own node.
        """
        sources = (self.of(TOPIC, topic), self.nodes.get(node, {}), self.cluster, static, DEFAULTS)
        return next((source[key] for source in sources if key in source), "")

    def replay(self, record: ConfigRecord) -> Configs:
        """The configurations after a record."""
        values = {key: value for key, value in self.of(record.scope, record.name).items() if key != record.key}
        if record.value is not None:
            values[record.key] = record.value
        if record.scope == CLUSTER:
            return evolve(self, cluster=values)
        if record.scope == TOPIC:
            return evolve(self, topics={**self.topics, record.name: values})
        return evolve(self, nodes={**self.nodes, record.name: values})

    def without_topic(self, topic: str) -> Configs:
        """The configurations after a topic is removed."""
        return evolve(self, topics={name: values for name, values in self.topics.items() if name != topic})


@rule("config.unsupported-skipped-at-replay", source="KAFKA-19851; SupportedConfigChecker",
      switches=("unsupported-configs-kept",),
      says="From 4.2.1 on a record that configures a topic by a name that is known no more is skipped.")  # fmt: skip
def is_skipped(record: ConfigRecord, rules: ControllerRules) -> bool:
    """Whether a record leaves the configurations as they are; of a node or the cluster every name counts."""
    return record.scope == TOPIC and record.key not in TOPIC_CONFIGS and not rules.unsupported_configs_kept


def is_true(value: str) -> bool:
    """Whether a configured text means true, as `Boolean.parseBoolean` reads it."""
    return value.lower() == "true"


@lru_cache(maxsize=1 << 10)
def whole_number(value: str) -> int | None:
    """A configured text as a number, as `Integer.parseInt` reads it; None where that throws.

    It takes the decimal digits of every script that a single `char` holds, a sign, and no space.
    """
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not digits or not all(digit.isdecimal() and ord(digit) < 1 << 16 for digit in digits):
        return None
    number = int(value)
    return number if INT32[0] <= number <= INT32[1] else None


def trimmed(value: str) -> str:
    """The text without control characters and spaces around it, as `String.trim` cuts it."""
    return value.strip("".join(map(chr, range(33))))


def is_valid(key: str, value: str) -> bool:
    """Whether a topic may have this value; only keys that the controller's rules read are judged.

    Spaces around a value do not count. Source: `LogConfig`, `ConfigDef.parseType`.
    """
    if key == MIN_ISR:
        number = whole_number(trimmed(value))
        return number is not None and number >= 1
    return key != UNCLEAN_ELECTION or trimmed(value).lower() in ("true", "false")


@rule("config.stored-trimmed", source="KAFKA-20532; ConfigDef.parseType", switches=("padded-configs-stored",),
      says="A value is stored without the spaces around it.")  # fmt: skip
def as_stored(key: str, value: str, rules: ControllerRules) -> str:
    """The text that is written for a value that is valid."""
    reads = key in DEFAULTS and not rules.padded_configs_stored
    return trimmed(value) if reads else value


T = TypeVar("T")

SESSION_TIMEOUT = 9000  # default of `broker.session.timeout.ms`


@frozen
class Features:
    """The features of the metadata version, and ELR's own switch."""

    leader_recovery: bool = True  # an unclean election marks the partition RECOVERING (3.2-IV0)
    registration_changes: bool = True  # one record changes registrations (3.3-IV2)
    controlled_shutdown: bool = True  # registrations record it (3.3-IV3)
    bump_on_isr_shrink: bool = False  # an ISR shrink raises the leader epoch (before 3.6-IV0)
    controller_registration: bool = True  # controllers register (3.7-IV0)
    directories: bool = True  # replicas are assigned to directories (3.7-IV2)
    cordoning: bool = True  # registrations record cordoned directories (4.3-IV0)
    elr_supported: bool = True  # ELR exists (4.0-IV1)
    elr_enabled: bool = False  # the controller is configured to use it
    clear_elr: bool = False  # a change of min ISR writes a record that empties ELRs (Kafka 4.0)
    elr_switched_off: bool = False  # ELR was on, and is off again

    @rule("elr.needs-metadata-version", source="KIP-966; semantics 1", switches=("elr-available",),
          says="ELR exists from a metadata version on, and has to be switched on.")  # fmt: skip
    def elr(self, rules: PartitionRules) -> bool:
        """Whether builds maintain the ELR."""
        return self.elr_supported and self.elr_enabled and rules.elr_available


@frozen
class Settings:
    """The static configuration of the active controller."""

    cluster_id: str | None = None  # what brokers must name when they register
    node: str = "0"  # its own id, as configurations name it
    # replication_factor, partitions: of topics that name none
    replication_factor: int = 3
    partitions: int = 1
    max_elections: int = 1000  # records of one balancing or unclean-election event
    max_records: int = 10_000  # records of one batch of the log, and of one request of a user
    max_partitions: int = 10_000  # partitions that one request may add
    static: Mapping[str, str] = field(factory=dict)  # configuration file


@frozen
class Soft:
    """The state of the active controller alone; none of it is in the log."""

    # what brokers reported, and, until 3.9, when live ones were last heard of
    sessions: Sessions = field(factory=lambda: Sessions(SESSION_TIMEOUT))
    contacts: Contacts = field(factory=Contacts)  # from 4.0.0 on, when brokers were last heard of
    now: int = 0  # the time
    random: RandomStream = field(factory=RandomStream)  # what placements draw from
    # the first offset that the quorum's newest records for itself have, and the one after them
    quorum: tuple[int, int] = (0, 0)

    def after(self, milliseconds: int) -> Soft:
        """The same, later."""
        return evolve(self, now=self.now + milliseconds)


@frozen
class Place:
    """A partition where it is."""

    topic_id: str
    index: int
    partition: Partition


@frozen
class Controller:
    """The active controller."""

    image: ClusterImage = field(factory=ClusterImage)  # topics and brokers
    # directories that the code's index still lists deleted partitions for (defect B7)
    stale_dirs: frozenset[int] = frozenset()
    elr_index: ElrIndex = field(factory=ElrIndex)  # where the code's index of ELR members differs from the ELRs
    configs: Configs = field(factory=Configs)  # dynamic configurations
    controllers: Mapping[int, RegisterControllerRecord] = field(factory=dict)  # registrations of controllers, by id
    soft: Soft = field(factory=Soft)
    features: Features = field(factory=Features)
    settings: Settings = field(factory=Settings)

    def topic_id(self, name: str) -> str | None:
        """The id of a topic by its name."""
        return next((known for known, topic in self.image.topics.items() if topic.name == name), None)

    def topic(self, topic_id: str) -> Topic:
        """A topic that exists."""
        return self.image.topics[topic_id]

    def places(self) -> Iterator[Place]:
        """Every partition, topic by topic."""
        for topic_id, topic in self.image.topics.items():
            for index in sorted(topic.partitions):
                yield Place(topic_id, index, topic.partitions[index])

    def registration(self, broker: int) -> Registration | None:
        """A broker's registration, or None."""
        return self.image.registrations.get(broker)

    def cluster(self) -> Registered:
        """The registered brokers, as rules take them."""
        known = self.image.registrations
        fenced = IdList.of(broker for broker, registration in known.items() if registration.fenced)
        leaving = IdList.of(broker for broker, registration in known.items() if registration.in_controlled_shutdown)
        return Registered(IdList.of(known), fenced, leaving)

    def is_active(self, broker: int) -> bool:
        """Whether a broker is registered, not fenced and not leaving."""
        known = self.registration(broker)
        return known is not None and known.is_active()

    @rule("broker-epoch.current", source="semantics 5; ClusterControlManager.checkBrokerEpoch",
          says="A request of a broker states its current epoch, else STALE_BROKER_EPOCH.")  # fmt: skip
    def check_epoch(self, broker: int, epoch: int) -> Registration:
        """The broker's registration, once the epoch is its own; raises RequestError with STALE_BROKER_EPOCH."""
        known = self.registration(broker)
        if known is None or known.epoch != epoch:
            raise RequestError("STALE_BROKER_EPOCH")
        return known

    def config(self, topic: str, key: str) -> str:
        """The value of a configuration that counts for a topic."""
        return self.configs.resolve(topic, key, self.settings.node, self.settings.static)

    @rule("election.unclean.by-configuration", source="KAFKA-12670",
          switches=("unclean-election-unconfigurable",),
          says="From 3.9 on a topic's configuration allows unclean elections, before only a request.")  # fmt: skip
    def unclean_election(self, topic_id: str, rules: PartitionRules) -> bool:
        """Whether a topic allows unclean elections."""
        allowed = is_true(self.config(self.topic(topic_id).name, UNCLEAN_ELECTION))
        return allowed and not rules.unclean_election_unconfigurable

    @rule("min-isr.own-replicas", source="X7; ReplicationControlManager.getTopicEffectiveMinIsr",
          switches=("min-isr-from-first-partition",),
          says="The effective min ISR of a partition is at most the number of its own replicas.")  # fmt: skip
    def min_isr(self, topic_id: str, index: int, rules: ControllerRules) -> int:
        """The effective min ISR of a partition: at most its replicas now; as the code has it, those of partition 0.

        Source: `ReplicationControlManager.getTopicEffectiveMinIsr`; X7.

        Raises:
            Resignation: without that partition, or without a number.
        """
        topic = self.topic(topic_id)
        counted = topic.partitions.get(0 if rules.min_isr_from_first_partition else index)
        value = self.config(topic.name, MIN_ISR)
        configured = whole_number(value)
        if configured is None:
            raise Resignation(f"{MIN_ISR} of topic {topic.name} is {value!r}, which is no number")
        if counted is None:
            raise Resignation(f"{topic.name} has no effective min ISR")
        return int(effective_min_isr(configured, counted.replicas.size()))

    def min_isr_of(self, topic_id: str, broker: int | str) -> int:
        """The min ISR that a broker has configured for a topic: the topic's, its own, that of all, the static one.

        Raises:
            Resignation: where that is no number.
        """
        topic = self.topic(topic_id)
        value = self.configs.resolve(topic.name, MIN_ISR, str(broker), self.settings.static)
        configured = whole_number(value)
        if configured is None:
            raise Resignation(f"{MIN_ISR} of topic {topic.name} is {value!r} for broker {broker}, which is no number")
        return configured

    def usable_brokers(self) -> tuple[UsableBroker, ...]:
        """Brokers that new replicas may be placed on: those that take some."""

        def rack(broker: int) -> str | None:
            known = self.registration(broker)
            return None if known is None else known.rack

        known = self.image.registrations
        usable = self.soft.sessions.usable(rack)
        return tuple(broker for broker in usable if broker.id not in known or known[broker.id].takes_replicas())


@rule("acks-all.min-isr-of-leader", source="KAFKA-15583",
      switches=("acks-all-needs-configured-min-isr",),
      says="A leader takes acks=all with as many replicas in sync as configured, since 3.7 at most all.")  # fmt: skip
def acks_all_needs(configured: int, replicas: int, rules: ControllerRules) -> int:
    """The replicas in sync without which a leader refuses acks=all, of its configured min ISR and all replicas."""
    return configured if rules.acks_all_needs_configured_min_isr else int(effective_min_isr(configured, replicas))


@frozen
class Outcome(Generic[T]):
    """The decision on an event.

    Attributes:
        records: to be replayed in order.
        response: the reply, sent once the records are committed.
        soft: the soft state when the records are replayed.
        shutting_down: a broker whose controlled shutdown the event began or goes on with.
        atomic: whether the records must be one batch of the log; others may be split.
    """

    records: tuple[LogRecord, ...]
    response: T
    soft: Soft
    shutting_down: int | None = None
    atomic: bool = False
